"""What the shared parameters may be: one check for each, used by every algorithm and guarantee."""

from __future__ import annotations

import csv
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from math import inf
from typing import Any

import pandas as pd

from pdanon.errors import (
    FormatError,
    ItemsetDtypeError,
    ParameterError,
    cause_of,
)
from pdanon.guarantees.generalized_itemsets import images
from pdanon.io.parquet import read_parquet
from pdanon.itemsets.codes import Itemsets, as_itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.support import MOST_ROWS
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.validation import check_path, describe, is_integer, is_number

__all__ = [
    "DEFAULT_M",
    "Unsaid",
    "check_k",
    "check_m",
    "check_open_share",
    "check_seconds",
    "check_share",
    "check_size",
    "check_unsaid",
    "constraint_list",
    "constraint_table",
    "lasting",
    "shown_share",
]

_MOST_CONSTRAINTS = 20_000_000  # that are listed
_BYTES = 100  # each, while they are made


class Unsaid(int):
    """A default that can be told from the same number said by the caller, which may contradict the rest."""


DEFAULT_M = Unsaid(2)
_LONGEST_TIME = 10**9  # seconds: more is no limit


def check_k(k: Any) -> int:
    """Check a number of indistinguishable rows: an integer of at least 2."""
    hint = "k is the least number of rows that an attacker's knowledge must match, such as k=5"
    if not is_integer(k) or k < 2:
        raise ParameterError("k must be an integer of at least 2", got=describe(k), hint=hint)
    if int(k) >= MOST_ROWS:
        raise ParameterError(
            f"k must be below {MOST_ROWS}, as the number of rows", got=describe(k), hint=hint
        )
    return int(k)


def check_m(m: Any, *, unbounded: bool = True) -> int | None:
    """Check a number of known items: an integer of at least 1, or None for all items of a row."""
    if m is None and unbounded:
        return None
    if not is_integer(m) or m < 1:
        hint = "m is the largest number of items that an attacker knows, such as m=2" + (
            "; None stands for all items of a row" if unbounded else ""
        )
        raise ParameterError("m must be an integer of at least 1", got=describe(m), hint=hint)
    return int(m)


def check_unsaid(m: int | None, given: str = "constraints") -> None:
    """Check that m is not given where constraints or rules are: they say what the attacker knows."""
    if not isinstance(m, Unsaid):
        hint = f"leave m out, as the {given} say what is protected; or leave them out"
        raise ParameterError(f"m is not used with {given}", where="m", got=describe(m), hint=hint)


def check_share(value: Any, name: str) -> Fraction:
    """Check a share, a number in [0, 1], and read it as the fraction that it was written as.

    A float is read as the nearest fraction with a denominator of up to 10**9: so 0.15 of 100 items are 15,
    and 1/3 of 3 items is 1, though both floats are a little below.
    """
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number in [0, 1]", got=describe(value))
    if isinstance(value, Fraction) and value.denominator <= 10**9:
        return value  # as it was read before
    return Fraction(float(value)).limit_denominator(10**9)


def check_open_share(value: Any, name: str, hint: str) -> Fraction:
    """Check a share that is neither 0 nor 1, and read it as `check_share` does."""
    share = check_share(value, name) if is_number(value) and 0 < value < 1 else Fraction(0)
    if not 0 < share < 1:  # also what is no fraction with a denominator of up to 10**9
        problem = f"{name} must be above 0 and below 1"
        raise ParameterError(problem, where=name, got=describe(value), hint=hint)
    return share


def shown_share(share: Fraction) -> str:
    """A share as it was written, where that is a decimal number."""
    return f"{float(share):g}" if Fraction(f"{float(share):g}") == share else str(share)


def check_seconds(value: Any, name: str, *, zero: bool = False) -> float:
    """Check a time limit: a number of seconds above 0, or from 0 on."""
    if not is_number(value) or not (value >= 0 if zero else value > 0):
        least = "from 0 on" if zero else "above 0"
        raise ParameterError(f"{name} must be a number of seconds {least}", where=name, got=describe(value))
    return float(value) if value < _LONGEST_TIME else inf


def lasting(given: Any) -> Any:
    """What was given so that it can be read again: an iterator as a list, as it is used and recorded."""
    return list(given) if isinstance(given, Iterator) else given


def constraint_list(constraints: Any, column: Hashable | None = None) -> pd.Series[Any]:
    """Read privacy constraints, itemsets of original items, once: they may come from an iterator.

    Parameters
    ----------
    constraints : Series, iterable of list-likes, or path
        One itemset each. A path is that of a ``.parquet`` file with one list column, or of a ``.csv`` file
        without a header, with an itemset a line and an item a field.
    column : hashable, optional
        Name of the list column of the data: a CSV file that starts with it is written like the data.

    Returns
    -------
    pandas.Series
        The same as sets, in the order given.

    Raises
    ------
    ParameterError
        If there is no constraint, or one is missing or empty.
    ItemsetDtypeError
        If one is not list-like, or the items are of several types.
    FormatError, ColumnError
        If the file cannot be read or has a header, or has no list column or several.
    """
    path = check_path(constraints, "constraints") if isinstance(constraints, (str, os.PathLike)) else ""
    if path.lower().endswith(".parquet"):
        table = read_parquet(path)
        constraints = list_column(table)
    elif path.lower().endswith(".csv"):
        constraints = _lines(path)
        if column is not None and constraints[:1] == [[str(column)]]:
            raise FormatError("the constraints have a header", where=path, hint=_LINES_HINT)
    if isinstance(constraints, (str, Mapping)) or not isinstance(constraints, Iterable):
        raise ParameterError(
            "constraints must be itemsets", got=type(constraints).__name__, hint=_ITEMSETS_HINT
        )
    if isinstance(constraints, (list, tuple, set)) and any(isinstance(each, str) for each in constraints):
        raise ItemsetDtypeError("a constraint is an item", where="constraints", hint=_ITEMSETS_HINT)
    wanted = as_itemsets(constraints)
    empty = int((Itemsets.from_series(wanted).lengths == 0).sum())
    if empty or not len(wanted):
        raise ParameterError(
            "a constraint must be a non-empty itemset",
            where="constraints",
            got=f"{empty} empty of {len(wanted)}",
            hint=_ITEMSETS_HINT,
        )
    return wanted


def _lines(path: str) -> list[list[str]]:
    """The fields of each line of a CSV file that is not blank."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            return [line for line in csv.reader(file, strict=True) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = cause_of(error)
    # Raised outside the handler: the reader's own message may show a line of the file.
    raise FormatError("the constraints cannot be read as CSV", where=path, got=problem)


def constraint_table(constraints: pd.Series[Any], itemsets: Itemsets) -> ItemsetTable:
    """Encode privacy constraints by the vocabulary of the data.

    Parameters
    ----------
    constraints : Series
        What `constraint_list` returned; items of the type of the data.
    itemsets : Itemsets
        The data.

    Returns
    -------
    ItemsetTable
        In the order given; supports are 0.

    Raises
    ------
    ParameterError
        If a constraint names an item that does not occur.
    """
    return images(Itemsets.from_series(constraints), itemsets, None, "constraint")


_LINES_HINT = (
    "a .csv file of constraints is not written like the data: it has no header, an itemset a line and an "
    "item a field"
)
_ITEMSETS_HINT = (
    "give a list of lists of items, a Series of lists, the path of a .parquet file with one list column, or "
    "of a .csv file with an itemset a line and an item a field"
)


def check_size(count: int, given: str, where: str) -> None:
    """Check that there is room for so many constraints, before they are made."""
    if count > _MOST_CONSTRAINTS:
        raise ParameterError(
            "there are too many constraints to list",
            where=where,
            got=f"{given}: about {count:.2g} itemsets, {count * _BYTES / 1e9:.0f} GB",
            hint="list fewer, or smaller ones; m=2 or m=3 stands for all itemsets of these sizes",
        )
