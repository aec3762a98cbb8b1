"""One-hot tables, with a column for each item: surveys with boxes to tick, and what is computed with."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ColumnError, NumbersWarning, ParameterError, warn
from pdanon.io.text import without_blanks
from pdanon.itemsets import parallel
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, label_positions, quasi_labels
from pdanon.itemsets.lists import object_items, offsets_of
from pdanon.itemsets.validation import check_frame, check_text, quote_word

__all__ = ["from_onehot", "to_onehot"]

_MOST_NAMED = 5  # columns in a message
_TEXTS = {"true": 1.0, "false": 0.0, "": 0.0}


def from_onehot(
    frame: pd.DataFrame,
    *,
    columns: Sequence[Hashable] | None = None,
    prefix: str | None = None,
    tick: str | None = None,
    name: str = "items",
) -> pd.DataFrame:
    """Make a list column of a table that has a column for each item.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. In the column of an item, a person has it where the value is true, 1 or a larger
        count, and has it not where it is false, 0 or missing; as numbers, booleans or text. Sparse columns
        are fine. It is not modified.
    columns : sequence of hashable, optional
        Which columns are items. By default those with the prefix, or all. Blanks around a label are not
        part of the item.
    prefix : str, optional
        Text that all columns of items begin with, which is no part of the item's name.
    tick : str, optional
        What is in a box that is ticked, such as ``"x"`` or ``"yes"``, whatever the capitals and the blanks
        around it. A person then has the items of the boxes in which there is this, and no others, whatever
        else is in a box.
    name : str
        What the list column is called.

    Returns
    -------
    DataFrame
        The other columns, and the lists; index and attrs as in the frame.

    Raises
    ------
    ColumnError
        If a column does not exist or is there twice, none has the prefix, another one is called like the
        list column, or values are not what they may be.
    ItemsetDtypeError
        If labels of the columns are of several types.
    ParameterError
        If both ``columns`` and ``prefix`` are given, an item had no name, or ``tick`` is in no column.

    Warns
    -----
    NumbersWarning
        If every row has a number in a column, and most of these are above 1: years and ages look so, and
        counts hardly ever.

    See Also
    --------
    to_onehot : The inverse.
    from_long, from_text : Other forms.

    Notes
    -----
    Cost: the rows times the columns; memory for the rows of one column, and the items.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> ticked = pd.DataFrame({"sex": ["f", "m"], "has_tea": [1, 0], "has_rice": [True, True]})
    >>> pdanon.from_onehot(ticked, prefix="has_")
      sex           items
    0   f  ['rice' 'tea']
    1   m        ['rice']

    >>> ticked = pd.DataFrame({"tea": ["yes", "no"], "rice": ["Yes", "yes"]})
    >>> pdanon.from_onehot(ticked, tick="yes")
                items
    0  ['rice' 'tea']
    1        ['rice']
    """
    result, numbers = lists_and_numbers(frame, columns, prefix, name, tick)
    if numbers:
        hint = "years and ages are no items: name the columns that are, columns=[...] or prefix='...'"
        warn(NumbersWarning(describe_numbers(numbers), hint=hint))
    return result


def lists_and_numbers(
    frame: pd.DataFrame, columns: Sequence[Hashable] | None, prefix: str | None, name: str, tick: str | None
) -> tuple[pd.DataFrame, list[Hashable]]:
    """What `from_onehot` makes of a frame, and the columns of items that hold numbers rather than counts."""
    positions = _positions(check_frame(frame), columns, prefix)
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
    if check_text(name, "name") in result.columns:
        hint = "give the list column another name: name=..."
        raise ColumnError(f"there is a column {name!r} already", where="name", hint=hint)
    marks = _all_marks(frame, positions, tick)
    result[name] = _lists([each.rows for each in marks], len(frame), labels).to_pandas()
    return result, [
        frame.columns[place] for place, each in zip(positions, marks, strict=True) if each.numbers
    ]


def describe_numbers(numbers: Sequence[Hashable]) -> str:
    """Which columns were taken for items, and may be none."""
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    named = ", ".join(map(repr, numbers[:_MOST_NAMED]))
    return f"columns with a number in every row are taken for items that every row has: {named}{more}"


def to_onehot(frame: pd.DataFrame, column: Hashable | None = None, *, prefix: str = "") -> pd.DataFrame:
    """Write a column for each item: whether the row holds it.

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
        The other columns, and in place of the list column a sparse one of booleans for each item, in the
        order of the items; index as in the frame.

    Raises
    ------
    ColumnError
        If there is not exactly one list column, or a column is called like an item already.
    ItemsetDtypeError
        If the column does not hold lists of items.

    See Also
    --------
    from_onehot : The inverse, but for blanks around items.

    Notes
    -----
    A missing row looks as an empty one, and an item that a row repeats as one that is there once.

    Memory: 5 bytes an occurrence, and pandas' own for each column.

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
        hint = "give a prefix, such as prefix='has_'"
        raise ColumnError(
            "columns are called like items", where="prefix", got=f"{len(taken)} columns", hint=hint
        )
    starts, rows, _ = parallel.transpose(itemsets.codes, itemsets.offsets, itemsets.n_items)
    held = csc_array((np.ones(len(rows), np.int8), rows, starts), shape=(len(frame), itemsets.n_items))
    make: Any = pd.DataFrame.sparse  # of which pandas-stubs know nothing
    onehot = make.from_spmatrix(held, index=frame.index, columns=labels)
    onehot = onehot.astype(pd.SparseDtype(np.bool_, fill_value=False))
    return pd.concat([frame.iloc[:, others], onehot], axis=1)


def _positions(frame: pd.DataFrame, columns: Any, prefix: str | None) -> list[int]:
    """Which columns are items."""
    if columns is not None and prefix is not None:
        raise ParameterError("columns of items are named or have a prefix, not both", where="columns, prefix")
    if columns is not None:
        return label_positions(frame, quasi_labels(columns, "columns"))
    if prefix is None:
        return list(range(frame.shape[1]))
    check_text(prefix, "prefix")
    found = [
        i for i, label in enumerate(frame.columns) if isinstance(label, str) and label.startswith(prefix)
    ]
    if not found:
        raise ColumnError("no column begins with the prefix", where="prefix", got=f"{frame.shape[1]} columns")
    return found


class _Marks(NamedTuple):
    """What the column of an item says."""

    rows: NDArray[np.int64]  # which have the item
    numbers: bool  # whether all rows have it, and most of them more than once: years and ages look so


def _all_marks(frame: pd.DataFrame, positions: list[int], tick: str | None) -> list[_Marks]:
    """What the columns of items say, one by one."""
    columns = [frame.iloc[:, position] for position in positions]
    if tick is not None:
        return _ticked(columns, check_text(tick, "tick"))
    marks = [_marks(column) for column in columns]
    unknown = [column.name for column, each in zip(columns, marks, strict=True) if each is None]
    if unknown:
        named = "name the columns that are items: columns=[...] (--onehot) or prefix='...' (--prefix)"
        raise ColumnError(
            "columns hold other values than 0, 1, true, false and counts",
            where=", ".join(map(repr, unknown[:_MOST_NAMED])),
            got=f"{len(unknown)} of {len(positions)} columns",
            hint=f"{named}; or say what is in a box that is ticked: tick='x' (--tick x)",
        )
    return [each for each in marks if each is not None]


def _lists(rows: list[NDArray[np.int64]], n_rows: int, labels: list[Any]) -> Itemsets:
    """The items of each row, from the rows of each item."""
    columns = np.concatenate([np.empty(0, np.int64), *rows]).astype(np.int32)
    offsets = offsets_of(np.array([len(each) for each in rows]))
    starts, items, _ = parallel.transpose(columns, offsets, n_rows)
    nulls = np.zeros(n_rows, np.bool_)
    same = np.arange(len(labels))
    itemsets = Itemsets(items, starts, object_items(labels), nulls)
    return without_blanks(itemsets.recode(same, object_items(labels)))


def _marks(column: pd.Series[Any]) -> _Marks | None:
    """What the column of an item says; None if other values are in it."""
    if pd.api.types.is_complex_dtype(column.dtype):
        return None
    values = column.astype(object).where(column.notna(), 0)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        values = values.map(_number)
    counts = values.to_numpy(np.float64)
    fit = np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))
    if not fit.all():
        return None
    often = 2 * int(np.count_nonzero(counts > 1)) > len(counts)
    return _Marks(np.flatnonzero(counts), bool(counts.all()) and often)


def _ticked(columns: Sequence[pd.Series[Any]], tick: str) -> list[_Marks]:
    """Which rows have the tick, column by column."""
    marks = []
    for column in columns:
        texts = column.astype(object).where(column.notna(), "").map(_plain)
        marks.append(_Marks(np.flatnonzero(texts == _plain(tick)), numbers=False))
    if not tick.strip() or not any(len(each.rows) for each in marks):
        hint = "say what is in a box that is ticked, as the table has it"
        raise ParameterError("no box is ticked", where="tick", got=quote_word(tick), hint=hint)
    return marks


def _plain(value: Any) -> str:
    return str(value).strip().casefold()


def _number(value: Any) -> float:
    """What a value says, as text; NaN if it is neither a number nor true or false."""
    text = str(value).strip().lower()
    try:
        return _TEXTS[text] if text in _TEXTS else float(text)
    except ValueError:
        return float("nan")
