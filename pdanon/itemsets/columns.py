"""Columns of a frame: list columns, columns by label, and copies with one column replaced."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_hashable

from pdanon.errors import ColumnError, ParameterError, did_you_mean
from pdanon.itemsets.dtype import ListArray, arrow_values, copy_frame, is_list_type
from pdanon.itemsets.table_hints import describe_columns, lists_hint
from pdanon.itemsets.validation import check_frame, check_text, is_code_file, is_number, read_list

ROW_TYPES = (list, tuple, set, frozenset, np.ndarray)


def is_list_column(series: pd.Series[Any]) -> bool:
    """Return whether a column holds lists, from its dtype and its first non-missing value."""
    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return is_list_type(dtype.pyarrow_dtype)
    if not pd.api.types.is_object_dtype(dtype):
        return False
    first = next((row for row in series.array if not is_missing(row)), None)
    return isinstance(first, ROW_TYPES)


def may_hold_lists(series: pd.Series[Any]) -> bool:
    """Return whether a column holds lists, or only missing rows of a dtype that lists may have."""
    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return is_list_type(dtype.pyarrow_dtype) or pa.types.is_null(dtype.pyarrow_dtype)
    untyped = pd.api.types.is_object_dtype(dtype) or (pd.api.types.is_float_dtype(dtype) and len(series) > 0)
    return is_list_column(series) or (untyped and bool(series.isna().all()))


def find_column(frame: pd.DataFrame, column: Hashable | None = None) -> int:
    """Return the position of a list column, by default the only one."""
    check_frame(frame)
    if column is not None:
        return label_position(frame, column)
    positions = [i for i in range(frame.shape[1]) if is_list_column(frame.iloc[:, i])]
    if not positions:
        got, hint = describe_columns(frame, types=True), lists_hint(frame)
        raise ColumnError("the frame has no list-valued column", got=got, hint=hint)
    if len(positions) > 1:
        labels = [frame.columns[i] for i in positions]
        hint = f"name one: column={labels[0]!r}"
        raise ColumnError("the frame has several list-valued columns", got=labels, hint=hint)
    return positions[0]


def list_column(frame: pd.DataFrame, column: Hashable | None = None) -> pd.Series[Any]:
    """Return the list column of a frame, found by `find_column`."""
    position = find_column(frame, column)  # checks the frame, too
    return frame.iloc[:, position]


def label_position(frame: pd.DataFrame, column: Hashable) -> int:
    """Return the position of the column with a label of any type, including None."""
    return label_positions(frame, (column,))[0]


def label_positions(frame: pd.DataFrame, columns: Iterable[Hashable]) -> list[int]:
    """Find the positions of several columns by their labels, in one pass over the frame."""
    positions: dict[Hashable, list[int]] = {}
    for position, label in enumerate(check_frame(frame).columns):
        positions.setdefault(label_key(label), []).append(position)
    places: list[int] = []
    for column in columns:
        if not is_hashable(column):  # such as a hierarchy in the wrong place: its names must not be shown
            by_name = "pass other parameters by name, such as hierarchy='tree.csv'"
            got = type(column).__name__
            raise ColumnError("a column is named by its label", where="column", got=got, hint=by_name)
        found = positions.get(label_key(column), [])
        places += found
        if len(found) == 1:
            continue
        problem = "exists more than once" if found else "does not exist"
        texts = [label for label in frame.columns if isinstance(label, str)]
        hint = None if found else did_you_mean(column, texts)
        if isinstance(column, str) and "," in column and {*column.split(",")} <= {*texts}:
            hint = "these are several columns: pass a list, or separate them by blanks on the command line"
        if is_number(column) and not found:
            hint = "pass other parameters by name, such as k=5"
        if column is not None and not found and column in frame.index.names:
            hint = f"it is a level of the index: pass frame.reset_index({column!r})"
        raise ColumnError(f"column {column!r} {problem}", got=describe_columns(frame), hint=hint)
    return places


def check_free(frame: pd.DataFrame, labels: Iterable[str]) -> None:
    """Check that no column and no level of the index has the name of a column that a release adds."""
    for label in labels:
        taken = [*frame.columns, *frame.index.names]
        if any(same_label(each, name) for each in taken for name in (label, added_label(frame, label))):
            hint = f"rename yours, such as df.rename(columns={{{label!r}: '{label}_before'}})"
            raise ColumnError(f"the release adds a column {label!r}, which exists already", hint=hint)


def check_new(frame: pd.DataFrame, name: str) -> None:
    """Check that a new list column has a label of its own."""
    if check_text(name, "name") in frame.columns:
        hint = f"pass another label for the list column: name={name + '_2'!r}"
        raise ColumnError(f"there is a column {name!r} already", where="name", hint=hint)


def added_label(frame: pd.DataFrame, label: str) -> Hashable:
    """Return the label of an added column: of several levels of columns, the first one has the name."""
    return label if frame.columns.nlevels == 1 else (label, *[""] * (frame.columns.nlevels - 1))


def same_label(label: Any, column: Any) -> bool:
    """Return whether two labels are equal, and None and NaN too: among texts pandas turns None into NaN."""
    return bool(label_key(label) == label_key(column))


def label_key(label: Any) -> Any:
    """Return a key for sets and dicts. Labels that are equal by `same_label` have equal keys."""
    return None if is_missing(label) else label


def counts_rows(values: pd.Index[Any]) -> bool:
    """Return whether an index without a name only counts the rows from 0 on, as the default one does."""
    return values.name is None and values.nlevels == 1 and values.equals(pd.RangeIndex(len(values)))


def level_label(frame: pd.DataFrame, level: int) -> Hashable:
    """Return the label of a level of the index; without a name, that of the column by ``reset_index``."""
    index = frame.index
    if index.names[level] is not None:
        return index.names[level]
    return "index" if index.nlevels == 1 and "index" not in frame.columns else f"level_{level}"


def with_column(frame: pd.DataFrame, position: int, column: pd.api.extensions.ExtensionArray) -> pd.DataFrame:
    """Copy a frame with one column replaced. Index, other columns and attrs stay."""
    copy = release_copy(frame, replaced=position)
    copy.isetitem(position, column)
    return copy


def release_copy(frame: pd.DataFrame, *, replaced: int | None = None) -> pd.DataFrame:
    """Copy a frame, independent of its later changes, with lists that ``DataFrame.to_parquet`` can write."""
    # The column at the position ``replaced`` stays as it is.
    copy = copy_frame(frame)
    for position, dtype in enumerate(frame.dtypes):
        if position != replaced and type(dtype) is pd.ArrowDtype and is_list_type(dtype.pyarrow_dtype):
            copy.isetitem(position, ListArray(arrow_values(copy.iloc[:, position])))
    return copy


def drop_unused(frame: pd.DataFrame) -> None:
    """Remove the categories of columns that no row has: they are of rows that were left out before."""
    for position, dtype in enumerate(frame.dtypes):
        if isinstance(dtype, pd.CategoricalDtype):
            frame.isetitem(position, frame.iloc[:, position].cat.remove_unused_categories().array)


def is_missing(row: Any) -> bool:
    """Return whether a Python object stands for a missing row."""
    return row is None or row is pd.NA or row is pd.NaT or (isinstance(row, float) and row != row)


def column_labels(labels: Any, name: str) -> tuple[Hashable, ...]:
    """Check that labels of columns are a list without duplicates."""
    hint = f"pass a list, even for one column: {name}=['age']"
    found = tuple(read_list(labels, name, hint, "a list of columns"))
    if not all(is_hashable(label) for label in found):
        raise ParameterError(f"{name} must be a list of columns", where=name, got="a list of lists")
    if len(set(found)) < len(found):
        hint = "name each column once; a quasi-identifier needs no keep (--keep)"
        raise ParameterError(f"{name} names a column twice", where=name, got=list(found), hint=hint)
    return found


def quasi_labels(quasi: Any, name: str = "quasi") -> tuple[Hashable, ...]:
    """Check that labels of quasi-identifiers are a list of at least one, without duplicates."""
    labels = column_labels(quasi, name)
    if not labels:
        raise ParameterError(f"{name} names no column", where=name, got=[])
    return labels


def quasi_names(quasi: Any) -> Any:
    """Return the labels of quasi-identifiers, for a list of them or a mapping of their weights."""
    return [*quasi] if isinstance(quasi, Mapping) else quasi


def find_quasi(frame: pd.DataFrame, quasi: Any) -> list[int]:
    """Return the positions of quasi-identifiers, which hold no lists."""
    positions = label_positions(frame, quasi_labels(quasi))
    lists = [frame.columns[position] for position in positions if is_list_column(frame.iloc[:, position])]
    if lists:
        hint = "a quasi-identifier has one value a row"
        raise ColumnError("a quasi-identifier is a list column", where="quasi", got=lists, hint=hint)
    return positions


def names_column(private: Any) -> bool:
    """Return whether ``private=`` is the name of a column, and not a list or a file of items."""
    return isinstance(private, (str, int)) and not isinstance(private, bool) and not is_code_file(private)


def find_columns(frame: pd.DataFrame, column: Hashable | None = None, private: Any = None) -> tuple[int, ...]:
    """Find the positions of the list column and, if ``private`` names one, of the private column."""
    if not names_column(private):
        return (find_column(frame, column),)
    check_frame(frame)
    positions = [i for i, label in enumerate(frame.columns) if label == private]
    if len(positions) != 1:  # the name is not shown: it may be an item
        raise ParameterError(
            "private names a column that " + ("exists more than once" if positions else "does not exist"),
            where="private",
            got=describe_columns(frame),
            hint="pass a list, even for one private item: private=[...]; a name is that of a list column",
        )
    others = [i for i in range(frame.shape[1]) if i != positions[0]]
    if column is not None and column == private:
        hint = "pass private items of the same column as a list: private=[...]"
        raise ColumnError("the private column is the list column itself", got=f"{column!r}", hint=hint)
    return others[find_column(frame.iloc[:, others], column)], positions[0]
