"""Conversion of lists from and to one-hot tables, with one column per item."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ColumnError, NumbersWarning, ParameterError, warn
from pdanon.io.text import without_blanks
from pdanon.itemsets import row_loops
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import check_new, find_column, label_positions, quasi_labels
from pdanon.itemsets.equality import value_numbers
from pdanon.itemsets.lists import Numbers, object_items, offsets_of
from pdanon.itemsets.table_hints import text_hint
from pdanon.itemsets.validation import check_frame, check_text, describe, quote_word

_MOST_NAMED = 5  # columns in a message
_TEXTS = {"true": 1.0, "false": 0.0, "": np.nan}
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")


_Value = TypeVar("_Value", float, bool)
Tick: TypeAlias = str | bool | float | Decimal


@called_by_name
def from_onehot(
    frame: pd.DataFrame,
    *,
    columns: Sequence[Hashable] | None = None,
    prefix: str | None = None,
    tick: Tick | None = None,
    name: str = "items",
) -> pd.DataFrame:
    """Convert a table with one column per item into a table with a list column.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. A person has the item of a column if the value is true, 1 or a larger count.
        Otherwise the value is false, 0 or missing. Values are numbers, booleans or text, dense or sparse.
        The frame is not modified.
    columns : sequence of hashable, optional
        The columns of items. By default those with the prefix, or all. Blanks around a label are removed.
    prefix : str, optional
        The beginning of all labels of items, which is removed.
    tick : str, bool or number, optional
        The value of a ticked box, such as ``"x"``, ``"yes"`` or 1; case and surrounding blanks are ignored.
        Numbers have this value however they are stored or written: 1, 1.0, True and ``"1"`` are equal. A
        person then has the items of boxes with this value, and of no others.
    name : str
        The label of the list column.

    Returns
    -------
    DataFrame
        The other columns, and the lists, with the index and attrs of the frame.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column does not exist or exists twice, or no label has the prefix. If another column has the
        label of the list column, or a column of items has other values. If the labels of the columns have
        several types. If both ``columns`` and ``prefix`` are passed, an item has no name, or ``tick`` is in
        no column. If all columns hold only 1 and 2 without a ``tick``: 2 may be a count, or the code of *no*.

    Warns
    -----
    NumbersWarning
        If a column has a number in every row, most of them above 1: probably years or ages, not counts. Also
        if these are only 1 and 2, probably codes.

    Notes
    -----
    Cost: time linear in rows times columns; memory for one column, and for the items.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> ticked = pd.DataFrame({"sex": ["f", "m"], "has_tea": [1, 0], "has_rice": [True, True]})
    >>> pdanon.from_onehot(ticked, prefix="has_")
      sex           items
    0   f  ['rice' 'tea']
    1   m        ['rice']
    """
    result, numbers, _ = lists_and_numbers(frame, columns, prefix, name, tick)
    if numbers:
        hint = "years and ages are no items: pass the columns that are, columns=[...] or prefix='...'; "
        hint += "if one code means yes, pass it: tick=1"
        warn(NumbersWarning(describe_numbers(numbers), hint=hint))
    return result


def lists_and_numbers(
    frame: pd.DataFrame, columns: Sequence[Hashable] | None, prefix: str | None, name: str, tick: Tick | None
) -> tuple[pd.DataFrame, list[Hashable], list[Hashable]]:
    """Return the result of `from_onehot`, the columns that probably hold no counts, and those above 1."""
    positions = _item_positions(check_frame(frame), columns, prefix)
    labels = [frame.columns[position] for position in positions]
    if prefix is not None:
        labels = [label[len(prefix) :] for label in labels]
    if any(isinstance(label, str) and not label.strip() for label in labels):
        where, hint = "columns", "rename the column, or leave it out of columns=[...]"
        if prefix is not None:
            where, hint = "prefix", "choose a shorter prefix"
        raise ParameterError("an item has no name", where=where, hint=hint)
    others = [position for position in range(frame.shape[1]) if position not in set(positions)]
    result = frame.iloc[:, others].copy()
    check_new(result, name)
    marks = _read_columns(frame, positions, tick)
    result[name] = _build_lists([each.rows for each in marks], len(frame), labels).to_pandas()
    read = [(frame.columns[place], each) for place, each in zip(positions, marks, strict=True)]
    numbers: list[Hashable] = [label for label, each in read if each.numbers]
    counts: list[Hashable] = [label for label, each in read if max(each.counts, default=0) > 1]
    return result, numbers, counts


def describe_numbers(numbers: Sequence[Hashable]) -> str:
    """Return the text of a warning about columns that were read as items, but may hold years or ages."""
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    named = ", ".join(map(repr, numbers[:_MOST_NAMED]))
    return f"columns with a number in every row are read as items that every row has: {named}{more}"


@called_by_name
def to_onehot(frame: pd.DataFrame, column: Hashable | None = None, *, prefix: str = "") -> pd.DataFrame:
    """Convert a table with lists into a table with one boolean column per item.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame with a list column, such as a release. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    prefix : str
        Text before the item in the label of its column.

    Returns
    -------
    DataFrame
        The other columns, and a sparse boolean column per item, in the order of the items. The index is that
        of the frame.

    Raises
    ------
    ColumnError, ItemsetDtypeError
        If there is not exactly one list column of items, or another column has the label of an item.

    Notes
    -----
    Missing rows become empty, and repeated items become one. Memory: 5 bytes per occurrence, and the overhead
    of pandas per column.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"sex": ["f", "m"], "items": [["rice", "tea"], ["rice"]]})
    >>> pdanon.to_onehot(df, prefix="has_")
      sex  has_rice  has_tea
    0   f      True     True
    1   m      True    False
    """
    from scipy.sparse import csc_array

    check_text(prefix, "prefix")
    position = find_column(frame, column)
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    labels = [prefix + text for text in itemsets.texts()]
    others = [place for place in range(frame.shape[1]) if place != position]
    if taken := set(labels).intersection(frame.columns[others]):
        hint, got = "pass a prefix, such as prefix='has_'", f"{len(taken)} columns"
        raise ColumnError("other columns have the labels of items", where="prefix", got=got, hint=hint)
    starts, rows, _ = row_loops.transpose(itemsets.codes, itemsets.offsets, itemsets.n_items)
    matrix = csc_array((np.ones(len(rows), np.int8), rows, starts), shape=(len(frame), itemsets.n_items))
    make: Any = pd.DataFrame.sparse  # not in pandas-stubs
    onehot = make.from_spmatrix(matrix, index=frame.index, columns=labels)
    onehot = onehot.astype(pd.SparseDtype(np.bool_, fill_value=False))
    return pd.concat([frame.iloc[:, others], onehot], axis=1)


def _item_positions(frame: pd.DataFrame, columns: Any, prefix: str | None) -> list[int]:
    """Return the positions of the columns of items."""
    if columns is not None and prefix is not None:
        hint = "pass one of them"
        raise ParameterError("columns and prefix exclude each other", where="columns, prefix", hint=hint)
    if columns is not None:
        return label_positions(frame, quasi_labels(columns, "columns"))
    if prefix is None:
        return list(range(frame.shape[1]))
    check_text(prefix, "prefix")
    texts = {place: label for place, label in enumerate(frame.columns) if isinstance(label, str)}
    found = [place for place, label in texts.items() if label.startswith(prefix)]
    if not found:
        raise ColumnError("no column begins with the prefix", where="prefix", got=f"{frame.shape[1]} columns")
    return found


class _Marks(NamedTuple):
    """The contents of the column of an item."""

    rows: Numbers  # the rows that have the item
    numbers: bool = False  # whether all rows have it, as for years, ages and codes
    counts: frozenset[float] = frozenset()  # the values


def _read_columns(frame: pd.DataFrame, positions: list[int], tick: Tick | None) -> list[_Marks]:
    """Read the columns of items."""
    columns = [frame.iloc[:, position] for position in positions]
    if tick is not None:
        return _read_ticks(columns, tick)
    marks = [_read_counts(column) for column in columns]
    unknown = [column.name for column, each in zip(columns, marks, strict=True) if each is None]
    if unknown:
        named = "pass the columns of items: columns=[...] (--onehot) or prefix='...' (--prefix)"
        raise ColumnError(
            "columns hold other values than 0, 1, true, false and counts",
            where=", ".join(map(repr, unknown[:_MOST_NAMED])),
            got=f"{len(unknown)} of {len(positions)} columns",
            hint=f"{named}; or the value of a ticked box: tick='x' (--tick x)",
        )
    found = [each for each in marks if each is not None]
    if frozenset[float]().union(*(each.counts for each in found)) in ({2.0}, {1.0, 2.0}):
        raise ParameterError(
            "the columns hold only 1 and 2, which may be yes and no, or counts",
            where="tick",
            got=f"{len(found)} columns without a 0",
            hint="if 1 means yes, pass tick=1 (--tick 1); if they are counts, write 0 where there is none: "
            "frame.fillna(0)",
        )
    return found


def _build_lists(rows: list[Numbers], n_rows: int, labels: list[Any]) -> Itemsets:
    """Build the items of each row from the rows of each item."""
    columns = np.concatenate([np.empty(0, np.int64), *rows]).astype(np.int32)
    offsets = offsets_of(np.array([len(each) for each in rows]))
    starts, items, _ = row_loops.transpose(columns, offsets, n_rows)
    itemsets = Itemsets(items, starts, object_items(labels), np.zeros(n_rows, np.bool_))
    return without_blanks(itemsets.recode(np.arange(len(labels)), itemsets.vocabulary))


def _read_counts(column: pd.Series[Any]) -> _Marks | None:
    """Read the column of an item; return None if it holds other values than counts and booleans."""
    counts = _map_values(column, _parse_count, np.nan)
    if counts is None or (counts < 0).any():
        return None
    has = counts > 0
    codes = counts.max(initial=0) == 2
    often = 2 * int(np.count_nonzero(counts > 1)) > len(counts)
    known = frozenset(np.unique(counts[~np.isnan(counts)]).tolist())
    return _Marks(np.flatnonzero(has), bool(has.all() and (often or codes)), known)


def _read_ticks(columns: Sequence[pd.Series[Any]], tick: Tick) -> list[_Marks]:
    """Find the rows with the tick, column by column."""
    text, number = _text_and_number(_check_tick(tick))

    def is_ticked(value: Any) -> bool:
        same = _text_and_number(value)
        return same[0] == text or (number is not None and same[1] == number)

    found = [_map_values(column, is_ticked, False) for column in columns]
    unknown = [column for column, each in zip(columns, found, strict=True) if each is None]
    if unknown:
        where = ", ".join(repr(column.name) for column in unknown[:_MOST_NAMED])
        what, got = "the values of columns cannot be compared", f"{len(unknown)} of {len(columns)} columns"
        raise ColumnError(what, where=where, got=got, hint=text_hint(unknown[0]))
    marks = [_Marks(np.flatnonzero(each)) for each in found if each is not None]
    if not text or not any(len(each.rows) for each in marks):
        hint = "pass the value of a ticked box, as it is in the table"
        raise ParameterError("no box is ticked", where="tick", got=quote_word(tick), hint=hint)
    return marks


def _check_tick(tick: Any) -> Tick:
    """Check that a tick is text, a boolean or a number."""
    if isinstance(tick, str):
        return check_text(tick, "tick")
    is_number = isinstance(tick, (np.bool_, Real, Decimal)) and not isinstance(tick, np.timedelta64)
    if not is_number or "nan" in str(tick).lower():
        hint = "pass the value of a ticked box, such as tick='x' or tick=1"
        what = "tick must be text, a boolean or a number"
        raise ParameterError(what, where="tick", got=describe(tick), hint=hint)
    return tick


def _text_and_number(value: Any) -> tuple[str, Any]:
    """Return the text of a value, and its exact number if it is one or writes one."""
    value = value.item() if isinstance(value, np.generic) else value
    text = str(value).strip().casefold()
    if isinstance(value, str):
        return text, Decimal(text) if _NUMBER.fullmatch(text) else None
    return text, value if isinstance(value, (Real, Decimal)) else None


def _map_values(
    column: pd.Series[Any], function: Callable[[Any], _Value], missing: _Value
) -> NDArray[Any] | None:
    """Map each distinct value of a column; return None if its values cannot be compared."""
    numbers = value_numbers(column)
    if numbers is None:
        return None
    distinct, first = np.unique(numbers, return_index=True)
    values = column.iloc[first]
    mapped = [
        missing if lacking else function(value) for value, lacking in zip(values, values.isna(), strict=True)
    ]
    return np.array(mapped, type(missing))[np.searchsorted(distinct, numbers)]


def _parse_count(value: Any) -> float:
    """Parse a count, true or false; return NaN for a blank, and -1 for other values."""
    text = str(value).strip().lower()
    try:
        count = _TEXTS[text] if text in _TEXTS else float(text)
    except ValueError:
        return -1.0
    return count if text == "" or (count >= 0 and count.is_integer()) else -1.0
