"""Checks of single arguments: frames, paths, texts, numbers, switches and seeds."""

# Messages show a refused value only if it is a number, or a word where a word is expected. Otherwise they
# show its type, as the value may hold items.

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError, did_you_mean
from pdanon.itemsets.table_hints import frame_hint

FilePath: TypeAlias = str | os.PathLike[str]
Seed: TypeAlias = int | np.random.Generator | None  # of random numbers; None is `DEFAULT_SEED`

_Kind = TypeVar("_Kind")
DEFAULT_SEED = 0  # of a call without random_state=
MOST_DRAWN = 10**8  # upper bound on counts of objects that are drawn or made one by one
_LONGEST = 200  # characters of a word in a message
_MOST_BITS = 200  # of an integer in a message

_PATH_HINT = "pass the name of a file or directory, as text or as a pathlib.Path"


def describe(value: Any) -> str:
    """Return a value for a message: a number as it is, any other value by its type."""
    if value is not None and not isinstance(value, (bool, int, float, Decimal, np.number)):
        return type(value).__name__
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    return str(value)


def quote_word(value: Any) -> str:
    """Return a word for a message: quoted, or by its length or type if it is no short text."""
    if not isinstance(value, str):
        return describe(value)
    return repr(value) if len(value) <= _LONGEST else f"text of {len(value)} characters"


def list_first(values: Sequence[object] | NDArray[Any], most: int = 5) -> str:
    """Join the first of some values for a message, and count the others."""
    more = f" and {len(values) - most:,} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, and neither a boolean nor a duration."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.timedelta64))


def is_number(value: Any) -> bool:
    """Return whether a value is a real number, and neither a boolean nor a duration."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.timedelta64))


def check_frame(frame: Any, name: str = "the first argument") -> pd.DataFrame:
    """Check that an argument is a pandas DataFrame, to which public functions convert other tables."""
    if isinstance(frame, pd.DataFrame):
        return frame
    what = "a pandas DataFrame, or a table of polars, DuckDB or Arrow"
    return check_kind(frame, pd.DataFrame, name, what, frame_hint(frame))


def check_kind(value: Any, kind: type[_Kind], name: str, what: str, hint: str | None = None) -> _Kind:
    """Check that an argument is an instance of a class."""
    if not isinstance(value, kind):
        raise ParameterError(f"{name} must be {what}", got=type(value).__name__, hint=hint)
    return value


def check_flag(value: Any, name: str) -> bool:
    """Check that an argument is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False", where=name, got=describe(value))
    return bool(value)


def check_text(value: Any, name: str) -> str:
    """Check that an argument is text that UTF-8 can encode."""
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text", where=name, got=type(value).__name__)
    if not is_encodable(value):
        raise ParameterError(f"{name} holds half of a surrogate pair", where=name)
    return value


def check_delimiter(value: Any) -> str:
    """Check the delimiter of a CSV file: one character, except quotes and ends of lines."""
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n\0' or not is_encodable(value):
        hint = "pass a character other than a quote or an end of line"
        got = quote_word(value)
        raise ParameterError("delimiter must be one character", where="delimiter", got=got, hint=hint)
    return value


def check_path(path: Any, name: str = "path") -> str:
    """Check that an argument is the path of a file, which need not exist."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(text, str):
        raise ParameterError(f"{name} must be a path", where=name, got=type(path).__name__, hint=_PATH_HINT)
    if text and "\0" not in text:
        with suppress(UnicodeEncodeError):
            os.fsencode(text)  # the system's encoding, which need not be UTF-8
            return text
    hint = "a path is a text without null characters"
    raise ParameterError(f"{name} names no file", where=name, got=quote_word(text), hint=hint)


def is_code_file(items: Any) -> bool:
    """Return whether a parameter that lists items is a file of codes."""
    return isinstance(items, os.PathLike) or (
        isinstance(items, str) and items.lower().endswith((".txt", ".csv"))
    )


def is_uri(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URI, such as ``s3://bucket/name``."""
    return "://" in str(path)


def read_list(values: Any, name: str, hint: str | None = None, what: str = "a list") -> list[Any]:
    """Read an iterable once. Refuse text and mappings."""
    if not isinstance(values, (str, bytes, Mapping)) and isinstance(values, Iterable):
        with suppress(TypeError):  # such as an array without dimensions
            return list(values)
    raise ParameterError(f"{name} must be {what}", where=name, got=type(values).__name__, hint=hint)


def random_generator(random_state: Any) -> np.random.Generator:
    """Return the generator of a seed, by default `DEFAULT_SEED`, or a given generator itself."""
    # All random numbers come from here, so that a call without a seed draws the same in every process.
    known = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence, np.random.RandomState)
    seed = is_integer(random_state) and random_state >= 0
    if random_state is not None and not seed and not isinstance(random_state, known):
        hint = "pass an integer of at least 0, a NumPy Generator, or None"
        raise ParameterError("this is no seed", where="random_state", got=describe(random_state), hint=hint)
    return np.random.default_rng(DEFAULT_SEED if random_state is None else random_state)


def is_encodable(text: str) -> bool:
    """Return whether UTF-8 can encode a text, as it cannot with half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_known(
    name: Any, known: Collection[str], what: str, *, where: str | None = None, hint: str | None = None
) -> str:
    """Check that a name is known, and suggest the most similar one if it is not."""
    if isinstance(name, str) and name in known:
        return name
    hint = hint or did_you_mean(name, known) or f"known: {', '.join(known) or 'none'}"
    raise ParameterError(f"there is no such {what}", where=where, got=quote_word(name), hint=hint)


def find_name(name: Any, known: Collection[str], what: str, *, where: str | None = None) -> str:
    """Return the known name that equals a name but for case, or raise the error of `check_known`."""
    same = {each.casefold(): each for each in known}
    found = same.get(name.casefold(), name) if isinstance(name, str) else name
    return check_known(found, known, what, where=where)


def check_count(
    value: Any, name: str, *, least: int, most: int | None = None, hint: str | None = None
) -> int:
    """Check that an argument is an integer between two bounds."""
    if not is_integer(value) or value < least or (most is not None and value > most):
        problem = f"{name} must be an integer of at least {least}"
        problem += f" and at most {most:,}" if most is not None else ""
        raise ParameterError(problem, where=name, got=describe(value), hint=hint)
    return int(value)
