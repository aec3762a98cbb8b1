"""Columns of a frame: which hold lists, which one is meant, and a frame with another one in its place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_hashable

from pdanon.errors import ColumnError, ParameterError, did_you_mean
from pdanon.itemsets.compatibility import arrow_values, own_copy
from pdanon.itemsets.dtype import ListArray, is_list_type
from pdanon.itemsets.hints import describe_columns, lists_hint
from pdanon.itemsets.validation import check_frame, is_number, read_list

__all__ = [
    "ROW_TYPES",
    "added_label",
    "check_free",
    "column_labels",
    "find_column",
    "find_columns",
    "find_quasi",
    "is_list_column",
    "is_missing",
    "label_key",
    "label_position",
    "label_positions",
    "list_column",
    "may_hold_lists",
    "names_column",
    "quasi_labels",
    "release_copy",
    "same_label",
    "with_column",
]

ROW_TYPES = (list, tuple, set, frozenset, np.ndarray)


def is_list_column(series: pd.Series[Any]) -> bool:
    """Tell whether a column holds lists, by its dtype and first non-missing value only."""
    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return is_list_type(dtype.pyarrow_dtype)
    if not pd.api.types.is_object_dtype(dtype):
        return False
    first = next((row for row in series.array if not is_missing(row)), None)
    return isinstance(first, ROW_TYPES)


def may_hold_lists(series: pd.Series[Any]) -> bool:
    """Tell whether a column holds lists, or nothing but missing rows of no type that says otherwise."""
    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return is_list_type(dtype.pyarrow_dtype) or pa.types.is_null(dtype.pyarrow_dtype)
    untyped = pd.api.types.is_object_dtype(dtype) or (pd.api.types.is_float_dtype(dtype) and len(series) > 0)
    return is_list_column(series) or (untyped and bool(series.isna().all()))


def find_column(frame: pd.DataFrame, column: Hashable | None = None) -> int:
    """Find the list column of a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame.
    column : hashable, optional
        Its label. By default the only list-valued column.

    Returns
    -------
    int
        Position of the column.

    Raises
    ------
    ColumnError
        If the column does not exist or is there twice, or none was named and there is not exactly one
        list-valued column.
    """
    check_frame(frame)
    if column is not None:
        return label_position(frame, column)
    positions = [i for i in range(frame.shape[1]) if is_list_column(frame.iloc[:, i])]
    if not positions:
        raise ColumnError(
            "the frame has no list-valued column",
            got=describe_columns(frame, types=True),
            hint=lists_hint(frame),
        )
    if len(positions) > 1:
        labels = [frame.columns[i] for i in positions]
        raise ColumnError(
            "the frame has several list-valued columns", got=labels, hint="name one: column=..."
        )
    return positions[0]


def list_column(frame: pd.DataFrame, column: Hashable | None = None) -> pd.Series[Any]:
    """The list column of a frame: the one of `find_column`."""
    position = find_column(frame, column)
    return frame.iloc[:, position]


def label_position(frame: pd.DataFrame, column: Hashable) -> int:
    """The position of the column with a label, of whatever kind, and be the label None."""
    return label_positions(frame, (column,))[0]


def label_positions(frame: pd.DataFrame, columns: Iterable[Hashable]) -> list[int]:
    """Find the positions of several columns by their labels, in one pass over the frame."""
    positions: dict[Hashable, list[int]] = {}
    for position, label in enumerate(check_frame(frame).columns):
        positions.setdefault(label_key(label), []).append(position)
    return [_one_position(frame, column, positions) for column in columns]


def _can_be_label(value: Any) -> bool:
    """Tell whether a value can be looked up: a tuple of lists and a signaling NaN cannot, by their hash."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _one_position(frame: pd.DataFrame, column: Hashable, positions: dict[Hashable, list[int]]) -> int:
    """The only position of a label, or an error that says what is wrong with it."""
    if not _can_be_label(column):  # such as a hierarchy in the wrong place: its names are not shown
        unlike = "other parameters are given by name, such as hierarchy=..."
        got = type(column).__name__
        raise ColumnError("a column is named by its label", where="column", got=got, hint=unlike)
    found = positions.get(label_key(column), [])
    if len(found) != 1:
        problem = "is there more than once" if found else "does not exist"
        texts = [label for label in frame.columns if isinstance(label, str)]
        hint = None if found else did_you_mean(column, texts)
        if isinstance(column, str) and "," in column and {*column.split(",")} <= {*texts}:
            hint = "these are several columns: name each by itself, with blanks between on the command line"
        if is_number(column) and not found:
            hint = "a column is named by its label; other parameters are given by name, such as k=..."
        raise ColumnError(f"column {column!r} {problem}", got=describe_columns(frame), hint=hint)
    return found[0]


def check_free(frame: pd.DataFrame, labels: Iterable[str]) -> None:
    """Check that neither a column nor a level of the index is called as one that a release adds."""
    for label in labels:
        taken = [*frame.columns, *frame.index.names]
        if any(same_label(each, name) for each in taken for name in (label, added_label(frame, label))):
            hint = f"give yours another name, such as df.rename(columns={{{label!r}: '{label}_before'}})"
            raise ColumnError(f"the release adds a column {label!r}, which is there already", hint=hint)


def added_label(frame: pd.DataFrame, label: str) -> Hashable:
    """What a column that a release adds is called: where columns have several levels, on the first."""
    return label if frame.columns.nlevels == 1 else (label, *[""] * (frame.columns.nlevels - 1))


def same_label(label: Any, column: Any) -> bool:
    """Tell whether two labels are equal; pandas makes NaN of a label None beside texts."""
    return bool(label_key(label) == label_key(column))


def label_key(label: Any) -> Any:
    """Return a key for sets and dicts: two labels are equal, as by `same_label`, if their keys are."""
    return None if is_missing(label) else label


def with_column(frame: pd.DataFrame, position: int, column: pd.api.extensions.ExtensionArray) -> pd.DataFrame:
    """A copy of a frame with one column replaced; index, other columns and attrs as they were."""
    copy = release_copy(frame)
    copy.isetitem(position, column)
    return copy


def release_copy(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy of a frame that no later change of it reaches, and whose lists pandas can write."""
    copy = own_copy(frame)
    for position, dtype in enumerate(frame.dtypes):
        if type(dtype) is pd.ArrowDtype and is_list_type(dtype.pyarrow_dtype):
            copy.isetitem(position, ListArray(arrow_values(copy.iloc[:, position])))
    return copy


def is_missing(row: Any) -> bool:
    """Tell whether a Python object stands for a missing row."""
    return row is None or row is pd.NA or row is pd.NaT or (isinstance(row, float) and row != row)


def column_labels(labels: Any, name: str) -> tuple[Hashable, ...]:
    """Check the labels of columns: a list, each of them once."""
    found = tuple(
        read_list(labels, name, f"one column is a list of one: {name}=['age']", "a list of columns")
    )
    if not all(is_hashable(label) for label in found):
        raise ParameterError(f"{name} must be a list of columns", where=name, got="a list of lists")
    if len(set(found)) < len(found):
        raise ParameterError(f"{name} names a column twice", where=name, got=list(found))
    return found


def quasi_labels(quasi: Any, name: str = "quasi") -> tuple[Hashable, ...]:
    """Check the labels of quasi-identifiers, or of other columns: a list of at least one, each once."""
    labels = column_labels(quasi, name)
    if not labels:
        raise ParameterError(f"{name} names no column", where=name, got=[])
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
    positions = label_positions(frame, quasi_labels(quasi))
    lists = [frame.columns[position] for position in positions if is_list_column(frame.iloc[:, position])]
    if lists:
        hint = "a quasi-identifier has one value a row"
        raise ColumnError("a quasi-identifier is a list column", where="quasi", got=lists, hint=hint)
    return positions


def names_column(private: Any) -> bool:
    """Tell whether ``private=`` is the name of a column, as opposed to items."""
    return isinstance(private, (str, int)) and not isinstance(private, bool)


def find_columns(frame: pd.DataFrame, column: Hashable | None = None, private: Any = None) -> tuple[int, ...]:
    """Find the list column of a frame, and the private column if ``private`` names one: their positions."""
    if names_column(private):
        return _two_columns(frame, column, private)
    return (find_column(frame, column),)


def _two_columns(frame: pd.DataFrame, column: Hashable | None, private: Hashable) -> tuple[int, int]:
    check_frame(frame)
    positions = [i for i, label in enumerate(frame.columns) if label == private]
    if len(positions) != 1:  # the name is not shown: it may be an item
        raise ParameterError(
            "private names a column that " + ("is there more than once" if positions else "does not exist"),
            where="private",
            got=describe_columns(frame),
            hint="a single name is that of a list column; private items are given as a list: private=[...]",
        )
    others = [i for i in range(frame.shape[1]) if i != positions[0]]
    if column is not None and column == private:
        hint = "private items of the same column are given as a list: private=[...]"
        raise ColumnError("the private column is the list column itself", got=f"{column!r}", hint=hint)
    return others[find_column(frame.iloc[:, others], column)], positions[0]
