"""What the shared parameters may be: one check for each, used by every algorithm and guarantee."""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_hashable

from pdanon.columns import is_list_column, label_position, list_column
from pdanon.errors import (
    ColumnError,
    FormatError,
    InfeasibleError,
    ItemsetDtypeError,
    ParameterError,
    cause_of,
)
from pdanon.io import read_parquet
from pdanon.itemsets import Itemsets, as_itemsets
from pdanon.support import MOST_ROWS, ItemsetTable, SupportIndex
from pdanon.values import check_path, is_integer, is_number, listed, quoted, shown

__all__ = [
    "DEFAULT_M",
    "Unsaid",
    "check_count",
    "check_feasible",
    "check_k",
    "check_known",
    "check_m",
    "check_rows",
    "check_seconds",
    "check_share",
    "check_unsaid",
    "constraint_list",
    "constraint_table",
    "find_quasi",
    "item_losses",
    "item_weights",
    "lasting",
    "quasi_labels",
]


class Unsaid(int):
    """A default that can be told from the same number said by the caller, which may contradict the rest."""


DEFAULT_M = Unsaid(2)
WEIGHT_STEPS = 2**16 - 1  # weights are compared as integers: this many steps from 0 to 1
MOST_LOSS = 10**9
MOST_DRAWN = 10**8  # of whatever is made or drawn one by one
_LONGEST_TIME = 10**9  # seconds: more is no limit


def check_k(k: Any) -> int:
    """Check a number of indistinguishable rows: an integer of at least 2."""
    hint = "k is the least number of rows that an attacker's knowledge must match"
    if not is_integer(k) or k < 2:
        raise ParameterError("k must be an integer of at least 2", got=shown(k), hint=hint)
    if int(k) >= MOST_ROWS:
        raise ParameterError(f"k must be below {MOST_ROWS}, as the number of rows", got=shown(k), hint=hint)
    return int(k)


def check_m(m: Any, *, unbounded: bool = True) -> int | None:
    """Check a number of known items: an integer of at least 1, or None for all items of a row."""
    if m is None and unbounded:
        return None
    if not is_integer(m) or m < 1:
        hint = "m is the largest number of items that an attacker knows" + (
            "; None stands for all items of a row" if unbounded else ""
        )
        raise ParameterError("m must be an integer of at least 1", got=shown(m), hint=hint)
    return int(m)


def check_unsaid(m: int | None) -> None:
    """Check that m is not given where constraints are: they say what the attacker knows."""
    if not isinstance(m, Unsaid):
        hint = "leave m out, as the constraints say what is protected; or leave them out"
        raise ParameterError("m is not used with constraints", where="m", got=shown(m), hint=hint)


def check_known(name: Any, known: Collection[str], what: str, *, where: str | None = None) -> str:
    """Check a name: it is one of those that are known, or the hint has the nearest of them."""
    if isinstance(name, str) and name in known:
        return name
    nearest = get_close_matches(name, known, 1) if isinstance(name, str) else []
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(known) or 'none'}"
    raise ParameterError(f"there is no such {what}", where=where, got=quoted(name), hint=hint)


def check_count(
    value: Any, name: str, *, least: int, most: int | None = None, hint: str | None = None
) -> int:
    """Check a number of things: an integer of at least so many, and at most so many if each takes memory."""
    if not is_integer(value) or value < least or (most is not None and value > most):
        problem = f"{name} must be an integer of at least {least}"
        problem += f" and at most {most:,}" if most is not None else ""
        raise ParameterError(problem, where=name, got=shown(value), hint=hint)
    return int(value)


def check_share(value: Any, name: str) -> Fraction:
    """Check a share, a number in [0, 1], and read it as the fraction that it was written as.

    A float is read as the nearest fraction with a denominator of up to 10**9: so 0.15 of 100 items are 15,
    and 1/3 of 3 items is 1, though both floats are a little below.
    """
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError(f"{name} must be a number in [0, 1]", got=shown(value))
    return Fraction(float(value)).limit_denominator(10**9)


def check_seconds(value: Any, name: str, *, zero: bool = False) -> float:
    """Check a time limit: a number of seconds above 0, or from 0 on."""
    if not is_number(value) or not (value >= 0 if zero else value > 0):
        least = "from 0 on" if zero else "above 0"
        raise ParameterError(f"{name} must be a number of seconds {least}", where=name, got=shown(value))
    return float(value) if value < _LONGEST_TIME else inf


def check_rows(n_rows: int, k: int) -> None:
    """Check that a row of which nothing is published can hide: there are 0 or at least k of them."""
    if 0 < n_rows < k:
        raise InfeasibleError(
            "k is larger than the number of rows",
            got=f"k={k}, {n_rows} rows",
            hint="choose a smaller k, or more rows; missing ones count only where items are suppressed",
        )


def check_feasible(index: SupportIndex, k: int, n_present: int) -> None:
    """Check that the rows can hide in each other: 0 or at least k of them hold an item.

    Parameters
    ----------
    index : SupportIndex
        The rows.
    k : int
        How many are to look alike.
    n_present : int
        How many of them are not missing, which must be 0 or k, too.
    """
    if 0 < index.n_non_empty < k:
        raise InfeasibleError(
            "k is larger than the number of rows that hold an item",
            got=f"k={k}, {index.n_non_empty} non-empty of {index.n_rows} rows",
            hint="choose a smaller k, or more rows",
        )
    check_rows(n_present, k)


def lasting(given: Any) -> Any:
    """What was given so that it can be read again: an iterator as a list, as it is used and recorded."""
    return list(given) if isinstance(given, Iterator) else given


def quasi_labels(quasi: Any, name: str = "quasi") -> tuple[Hashable, ...]:
    """Check the labels of quasi-identifiers, or of other columns: a list of at least one, each once."""
    labels = tuple(listed(quasi, name, f"one column is a list of one: {name}=['age']", "a list of columns"))
    if not all(is_hashable(label) for label in labels):
        raise ParameterError(f"{name} must be a list of columns", where=name, got="a list of lists")
    if not labels or len(set(labels)) < len(labels):
        problem = "names a column twice" if labels else "names no column"
        raise ParameterError(f"{name} {problem}", where=name, got=list(labels))
    return labels


def find_quasi(frame: pd.DataFrame, quasi: Any) -> list[int]:
    """Find quasi-identifiers in a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame.
    quasi : iterable of hashable
        Labels of columns without lists.

    Returns
    -------
    list of int
        Their positions.

    Raises
    ------
    ColumnError
        If one does not exist, is there twice, or holds lists.
    """
    positions = [label_position(frame, label) for label in quasi_labels(quasi)]
    lists = [frame.columns[position] for position in positions if is_list_column(frame.iloc[:, position])]
    if lists:
        hint = "a quasi-identifier has one value a row"
        raise ColumnError("a quasi-identifier is a list column", where="quasi", got=lists, hint=hint)
    return positions


def constraint_list(constraints: Any) -> pd.Series[Any]:
    """Read privacy constraints, itemsets of original items, once: they may come from an iterator.

    Parameters
    ----------
    constraints : Series, iterable of list-likes, or path
        One itemset each. A path is that of a ``.parquet`` file with one list column, or of a ``.csv`` file
        without a header, with an itemset a line and an item a field.

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
        If the file cannot be read, or has no list column or several.
    """
    path = check_path(constraints, "constraints") if isinstance(constraints, (str, os.PathLike)) else ""
    if path.endswith(".parquet"):
        table = read_parquet(path)
        constraints = list_column(table)
    elif path.endswith(".csv"):
        constraints = _lines(path)
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
        with open(path, newline="", encoding="utf-8") as file:
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
    wanted = Itemsets.from_series(constraints)
    code_of = itemsets.lookup(wanted.vocabulary)
    unknown = code_of[wanted.codes] < 0
    if unknown.any():
        rows = np.unique(wanted.rows[unknown])
        raise ParameterError(
            "a constraint names an item that does not occur in the data",
            where=f"constraint {rows[0]}",
            got=f"{len(rows)} of {wanted.n_rows} constraints with {int((code_of < 0).sum())} unknown items",
            hint="an item that does not occur needs no protection; check its spelling and type",
        )
    known = wanted.recode(code_of, itemsets.vocabulary)
    codes = itemsets.lookup(known.vocabulary)[known.codes]
    return ItemsetTable(codes, known.offsets, np.zeros(known.n_rows, np.int64))


def item_weights(weights: Any, itemsets: Itemsets) -> NDArray[np.int64] | None:
    """Encode the importance of items, given in [0, 1], as integers.

    Parameters
    ----------
    weights : Mapping, Series or None
        Importance by item; items that are not named have 1.
    itemsets : Itemsets
        The data.

    Returns
    -------
    ndarray of int64, shape (items,), or None
        ``round(weight * 65535)``; None if no weights are given.

    Raises
    ------
    ParameterError
        If a weight is outside [0, 1], or an item does not occur in the data.
    """
    if weights is None:
        return None
    if not isinstance(weights, (Mapping, pd.Series)):
        hint = "give a dict or a Series: item -> importance in [0, 1]"
        raise ParameterError("weights must map items to numbers", got=type(weights).__name__, hint=hint)
    values = np.array(
        [_weight(value) for value in weights.values()]
        if isinstance(weights, Mapping)
        else [_weight(value) for value in weights]
    )
    codes = _item_codes(weights.keys(), itemsets, "weights")
    steps = np.full(itemsets.n_items, WEIGHT_STEPS, np.int64)
    steps[codes] = np.round(values * WEIGHT_STEPS).astype(np.int64)
    return steps


def _weight(value: Any) -> float:
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError("weights must be numbers in [0, 1]", where="weights", got=shown(value))
    return float(value)


def _item_codes(items: Iterable[Any], itemsets: Itemsets, name: str) -> NDArray[np.int32]:
    wanted = list(items)
    problem = None
    try:
        codes = itemsets.lookup(wanted)
    except ItemsetDtypeError:
        problem = f"the {name} name items of another type than the data holds"
    if problem is None and (codes < 0).any():
        problem = f"{int((codes < 0).sum())} of {len(wanted)} {name} name items that do not occur in the data"
    elif problem is None and len(np.unique(codes)) < len(codes):
        problem = f"{len(codes) - len(np.unique(codes))} of {len(wanted)} {name} repeat an item"
    if problem:
        raise ParameterError(problem, where=name, hint="check spelling and type of the items")
    return codes


def item_losses(
    loss: Any, itemsets: Itemsets, supports: NDArray[np.int64], public: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Encode what suppressing an item costs as integers.

    Parameters
    ----------
    loss : {"support", "unit"}, Mapping or Series
        The rows that hold the item, 1, or a number from 0 by item.
    itemsets : Itemsets
        The data; its items have the first numbers.
    supports, public : ndarray
        Rows that hold each item, and whether it can be suppressed, by item number.

    Returns
    -------
    ndarray of int64
        By item number, in whatever unit makes all of them whole.

    Raises
    ------
    ParameterError
        If the loss of a public item is missing, or a loss is out of range.
    """
    if isinstance(loss, str) and loss in ("support", "unit"):
        return supports if loss == "support" else np.ones_like(supports)
    if not isinstance(loss, (Mapping, pd.Series)):
        hint = "give 'support', 'unit', or a dict or a Series: item -> loss"
        raise ParameterError("loss has no such form", where="loss", got=type(loss).__name__, hint=hint)
    given = [_loss(value) for value in (loss.values() if isinstance(loss, Mapping) else loss)]
    unit = 1 if all(value.denominator == 1 for value in given) else 10**6
    codes = _item_codes(loss.keys(), itemsets, "losses")
    losses = np.zeros(len(supports), np.int64)
    losses[codes] = [round(value * unit) for value in given]
    missing = int(public.sum() - public[codes].sum())
    if missing:
        hint = "say for each public item what suppressing it costs"
        raise ParameterError("loss lacks public items", where="loss", got=f"{missing} items", hint=hint)
    return losses


def _loss(value: Any) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)) or not 0 <= value < MOST_LOSS:
        what = f"a loss must be a number from 0 to below {MOST_LOSS:,}"
        raise ParameterError(what, where="loss", got=shown(value))
    return Fraction(value)


_ITEMSETS_HINT = (
    "give a list of lists of items, a Series of lists, the path of a .parquet file with one list column, or "
    "of a .csv file with an itemset a line and an item a field"
)
