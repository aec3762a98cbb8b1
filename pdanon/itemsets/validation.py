"""What single values may be, whatever they are for: frames, paths, texts, switches and sources of randomness.

A value that is refused is shown if it is a number, or a word where one is asked for, else by its type: it may
hold items.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from html import escape
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError, did_you_mean, escape_controls
from pdanon.itemsets.hints import frame_hint

__all__ = [
    "check_count",
    "check_delimiter",
    "check_flag",
    "check_frame",
    "check_kind",
    "check_known",
    "check_path",
    "check_text",
    "describe",
    "escape_html",
    "format_positions",
    "is_encodable",
    "is_integer",
    "is_number",
    "is_uri",
    "quote_word",
    "random_generator",
    "read_list",
]

_Kind = TypeVar("_Kind")
_LONGEST = 200  # characters of a word that is shown
_MOST_POSITIONS = 5
_MOST_BITS = 200  # of an integer that is shown


def describe(value: Any) -> str:
    """What a message shows of a value: a number, or else its type."""
    if value is not None and not isinstance(value, (bool, int, float, Decimal, np.number)):
        return type(value).__name__
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    return str(value)


def quote_word(value: Any) -> str:
    """What a message shows of a word: itself, if it is one of a sensible length, or else its type."""
    if not isinstance(value, str):
        return describe(value)
    return repr(value) if len(value) <= _LONGEST else f"text of {len(value)} characters"


def escape_html(text: str) -> str:
    """Write a text as HTML: it adds no element, and no character reorders what stands beside it."""
    return escape(escape_controls(text))


def format_positions(positions: Sequence[int] | NDArray[Any]) -> str:
    """Write the first of some positions for a message."""
    shown = ", ".join(map(str, positions[:_MOST_POSITIONS]))
    return f"{shown}, ..." if len(positions) > _MOST_POSITIONS else shown


def is_integer(value: Any) -> bool:
    """Tell whether a value is a whole number; True and False are none, nor is a time."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.timedelta64))


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number; True and False are none, nor is a time."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.timedelta64))


def check_frame(frame: Any, name: str = "the first argument") -> pd.DataFrame:
    """Check that an argument is a frame of pandas."""
    return check_kind(frame, pd.DataFrame, name, "a pandas DataFrame", frame_hint(frame))


def check_kind(value: Any, kind: type[_Kind], name: str, what: str, hint: str | None = None) -> _Kind:
    """Check that an argument is of a class."""
    if not isinstance(value, kind):
        raise ParameterError(f"{name} must be {what}", got=type(value).__name__, hint=hint)
    return value


def check_flag(value: Any, name: str) -> bool:
    """Check a switch: True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False", where=name, got=describe(value))
    return bool(value)


def check_text(value: Any, name: str) -> str:
    """Check that a value is text that can be written."""
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be text", where=name, got=type(value).__name__)
    if not is_encodable(value):
        raise ParameterError(f"{name} holds half of a surrogate pair", where=name)
    return value


def check_delimiter(value: Any, name: str) -> str:
    """Check what stands between two fields of a CSV file: one character that is not needed otherwise."""
    if not isinstance(value, str) or len(value) != 1 or value in '"\r\n\0' or not is_encodable(value):
        hint = "one character other than a quote or an end of line"
        raise ParameterError(f"{name} separates no fields", where=name, got=quote_word(value), hint=hint)
    return value


def check_path(path: Any, name: str = "path") -> str:
    """Check that a value names a file, which may not exist."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
    if not isinstance(text, str):
        raise ParameterError(f"{name} must be a path", where=name, got=type(path).__name__)
    if not text or "\0" in text or not _is_name(text):
        hint = "a path is a text without null characters"
        raise ParameterError(f"{name} names no file", where=name, got=quote_word(text), hint=hint)
    return text


def is_uri(path: str | os.PathLike[str]) -> bool:
    """Tell whether it is the URI of a file, which may be on another machine, such as ``s3://bucket/name``."""
    return "://" in str(path)


def read_list(values: Any, name: str, hint: str | None = None, what: str = "a list") -> list[Any]:
    """Read the values of an iterable once; a text or a mapping is none."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} must be {what}", where=name, got=type(values).__name__, hint=hint)
    try:
        return list(values)
    except TypeError:  # such as an array without dimensions
        pass
    raise ParameterError(f"{name} must be {what}", where=name, got=type(values).__name__, hint=hint)


def random_generator(random_state: Any) -> np.random.Generator:
    """Make a source of randomness from a seed, or take the one that is given."""
    known = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence, np.random.RandomState)
    seed = is_integer(random_state) and random_state >= 0
    if random_state is not None and not seed and not isinstance(random_state, known):
        hint = "give an integer of at least 0, a NumPy Generator, or None"
        raise ParameterError("this is no seed", where="random_state", got=describe(random_state), hint=hint)
    return np.random.default_rng(random_state)


def is_encodable(text: str) -> bool:
    """Tell whether a text has a form in UTF-8, which half of a surrogate pair has not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_name(text: str) -> bool:
    """Tell whether the system can be asked for a file of this name, which need not be UTF-8."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


MOST_DRAWN = 10**8  # of whatever is made or drawn one by one


def check_known(name: Any, known: Collection[str], what: str, *, where: str | None = None) -> str:
    """Check a name: it is one of those that are known, or the hint has the nearest of them."""
    if isinstance(name, str) and name in known:
        return name
    hint = did_you_mean(name, known) or f"known: {', '.join(known) or 'none'}"
    raise ParameterError(f"there is no such {what}", where=where, got=quote_word(name), hint=hint)


def check_count(
    value: Any, name: str, *, least: int, most: int | None = None, hint: str | None = None
) -> int:
    """Check a number of things: an integer of at least so many, and at most so many if each takes memory."""
    if not is_integer(value) or value < least or (most is not None and value > most):
        problem = f"{name} must be an integer of at least {least}"
        problem += f" and at most {most:,}" if most is not None else ""
        raise ParameterError(problem, where=name, got=describe(value), hint=hint)
    return int(value)
