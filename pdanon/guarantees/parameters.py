"""Checks of the parameters that guarantees and algorithms share."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias

import pandas as pd

from pdanon.errors import FormatError, ItemsetDtypeError, ParameterError
from pdanon.guarantees.named import generalize_itemsets, read_fields
from pdanon.io.parquet import read_parquet
from pdanon.itemsets.codes import Itemsets, as_itemsets, find_items
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.mapping import without_deletions
from pdanon.itemsets.support import MOST_ROWS, ItemsetTable
from pdanon.itemsets.validation import check_path, describe, is_integer, is_number, read_list

ItemLimit: TypeAlias = int | None  # largest number of items that an attacker knows; None: all of a row

_MOST_CONSTRAINTS = 20_000_000
_BYTES = 100  # peak memory per constraint


class DefaultNumber(int):
    """A default value that differs in type from a number passed by the caller."""

    # A number that is passed may contradict other parameters; a default must not raise such an error.


DEFAULT_M = DefaultNumber(2)
_LONGEST_TIME = 10**9  # seconds; a longer limit counts as none


def check_k(k: Any) -> int:
    """Check a number of indistinguishable rows: an integer of at least 2."""
    hint = "pass the minimum number of rows that match what an attacker knows, such as k=5"
    if not is_integer(k) or k < 2:
        raise ParameterError("k must be an integer of at least 2", got=describe(k), hint=hint)
    if int(k) >= MOST_ROWS:
        problem = f"k must be below {MOST_ROWS}, as the number of rows"
        raise ParameterError(problem, got=describe(k), hint=hint)
    return int(k)


def check_m(m: Any) -> int | None:
    """Check a number of known items: an integer of at least 1, or None for all items of a row."""
    return None if m is None else check_finite_m(m, ", or m=None for all items of a row")


def check_finite_m(m: Any, otherwise: str = "") -> int:
    """Check a number of known items, as `check_m` does, but refuse None."""
    if not is_integer(m) or m < 1:
        hint = f"pass the maximum number of items that an attacker knows, such as m=2{otherwise}"
        raise ParameterError("m must be an integer of at least 1", got=describe(m), hint=hint)
    return int(m)


def check_m_omitted(m: ItemLimit, given: str = "constraints") -> None:
    """Check that m is omitted if constraints or rules are given, which define what the attacker knows."""
    if not isinstance(m, DefaultNumber):
        hint = f"omit m, because the {given} define what is protected; or omit the {given}"
        raise ParameterError(f"m is not used with {given}", where="m", got=describe(m), hint=hint)


def check_share(value: Any, name: str) -> Fraction:
    """Check a share, a number in [0, 1], and return it as the fraction that its digits denote."""
    # A float is rounded to the nearest fraction with a denominator of up to 10**9. Therefore 0.15 of 100
    # items are 15, and 1/3 of 3 items is 1, although both floats are slightly below these values.
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number in [0, 1]", got=describe(value))
    if isinstance(value, Fraction) and value.denominator <= 10**9:
        return value  # a share that was checked before
    return Fraction(float(value)).limit_denominator(10**9)


def check_open_share(value: Any, name: str, hint: str) -> Fraction:
    """Check a share above 0 and below 1, and return it as `check_share` does."""
    share = check_share(value, name) if is_number(value) and 0 < value < 1 else Fraction(0)
    if not 0 < share < 1:  # rounding may have made it 0 or 1
        problem = f"{name} must be above 0 and below 1"
        raise ParameterError(problem, where=name, got=describe(value), hint=hint)
    return share


def format_share(share: Fraction) -> str:
    """Format a share as a decimal number if that is exact, otherwise as a fraction."""
    return f"{float(share):g}" if Fraction(f"{float(share):g}") == share else str(share)


def least_share(count: int, n: int) -> float:
    """Return a share of n, rounded up to 4 digits, so that passing it as the upper bound suffices."""
    return -(-count * 10**4 // n) / 10**4


def check_seconds(value: Any, *, zero: bool = False) -> float:
    """Check a time limit: a number of seconds above 0, or of at least 0 with ``zero``."""
    if not is_number(value) or not (value >= 0 if zero else value > 0):
        problem = f"time_limit must be a number of seconds {'of at least 0' if zero else 'above 0'}"
        raise ParameterError(problem, where="time_limit", got=describe(value))
    return float(value) if value < _LONGEST_TIME else inf


def materialize(given: Any) -> Any:
    """Convert an iterator to a list, so that it can be used and recorded; return other values unchanged."""
    return list(given) if isinstance(given, Iterator) else given


def constraint_list(constraints: Any, column: Hashable | None = None) -> pd.Series[Any]:
    """Read privacy constraints, one itemset per element, as sets in the same order."""
    # A path leads to a ``.parquet`` file with one list column, or to a ``.csv`` file without a header, with
    # one itemset per line and one item per field. A CSV file that starts with the label of the list column of
    # the data, ``column``, has a header, which is an error.
    path = check_path(constraints, "constraints") if isinstance(constraints, (str, os.PathLike)) else ""
    if path.lower().endswith(".parquet"):
        constraints = list_column(read_parquet(path))
    elif path.lower().endswith(".csv"):
        constraints = [*filter(None, read_fields(path))]
        if column is not None and constraints[:1] == [[str(column)]]:
            raise FormatError("the constraints have a header", where=path, hint=_LINES_HINT)
    if isinstance(constraints, (str, Mapping)) or not isinstance(constraints, Iterable):
        got, problem = type(constraints).__name__, "constraints must be a list of itemsets"
        raise ParameterError(problem, got=got, hint=_ITEMSETS_HINT)
    if isinstance(constraints, (list, tuple, set)) and any(isinstance(each, str) for each in constraints):
        problem = "a constraint is an item, not a list"
        raise ItemsetDtypeError(problem, where="constraints", hint=_ITEMSETS_HINT)
    wanted = as_itemsets(constraints)
    empty = int((Itemsets.from_series(wanted).lengths == 0).sum())
    if empty or not len(wanted):
        problem, got = "a constraint must be a non-empty itemset", f"{empty} empty of {len(wanted)}"
        raise ParameterError(problem, where="constraints", got=got, hint=_ITEMSETS_HINT)
    return wanted


def constraint_table(
    constraints: pd.Series[Any], itemsets: Itemsets, mapping: pd.DataFrame | None = None
) -> ItemsetTable:
    """Encode the published forms of privacy constraints, in the same order; supports are 0."""
    # An item that does not occur is an error. Without a mapping, items are published as is. If rows lose
    # items, what any row may show of a constraint follows.
    wanted = Itemsets.from_series(constraints)
    if mapping is not None:
        mapping, lost = without_deletions(mapping)
        if len(lost):
            gone = find_items(wanted.vocabulary, lost) >= 0
            parts = ItemsetTable.listed(wanted.codes, wanted.offsets).with_parts(gone)
            wanted = parts.to_rows(wanted.vocabulary)
    return generalize_itemsets(wanted, itemsets, mapping, "constraint")


_LINES_HINT = (
    "remove the header; a .csv file of constraints differs from the data: one itemset per line, one item per "
    "field"
)
_ITEMSETS_HINT = (
    "pass a list of lists of items, a Series of lists, the path of a .parquet file with one list column, or "
    "of a .csv file with one itemset per line and one item per field"
)


def check_columns(table: pd.DataFrame, names: Sequence[str], what: str, where: str, hint: str) -> None:
    """Check that a table has each of some columns once."""
    lacking = [name for name in names if list(table.columns).count(name) != 1]
    if lacking:
        problem = f"the table of {what} lacks a column, or has it twice"
        raise ParameterError(problem, where=where, got=lacking, hint=hint)


def rule_sides(rules: Any, names: Sequence[str], hint: str) -> list[Any]:
    """Return both sides of rules: two columns of a table, or those of pairs."""
    if isinstance(rules, pd.DataFrame):
        check_columns(rules, names, "rules", "rules", hint)
        return [rules[name].reset_index(drop=True) for name in names]
    pairs = read_list(rules, "rules", hint, "a list of pairs")
    odd = sum(not isinstance(pair, (list, tuple)) or len(pair) != 2 for pair in pairs)
    if odd:
        got = f"{odd} of {len(pairs)} are no pairs"
        raise ParameterError("a rule is a pair of lists", where="rules", got=got, hint=hint)
    return [[pair[place] for pair in pairs] for place in (0, 1)]


def check_size(count: int, given: str, where: str) -> None:
    """Check that a number of constraints fits into memory, before they are listed."""
    if count > _MOST_CONSTRAINTS:
        got = f"{given}: about {count:.2g} itemsets, {count * _BYTES / 1e9:.0f} GB"
        hint = "list fewer or smaller ones; or pass m=2 or m=3, which covers all itemsets up to that size"
        raise ParameterError("too many constraints to list", where=where, got=got, hint=hint)
