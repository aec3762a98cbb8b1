"""Columns of a frame: which hold lists, which one is meant, and a frame with another one in its place."""

from __future__ import annotations

from collections.abc import Hashable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import ColumnError
from pdanon.values import check_frame

if TYPE_CHECKING:
    from pdanon.bags import Bags
    from pdanon.itemsets import Itemsets

__all__ = [
    "LISTS_HINT",
    "ROW_TYPES",
    "find_column",
    "is_list_column",
    "is_list_type",
    "is_missing",
    "label_position",
    "list_column",
    "may_hold_lists",
    "with_column",
]

ROW_TYPES = (list, tuple, set, frozenset, np.ndarray)
LISTS_HINT = (
    "a row is a list, tuple, set or array of items; text is never parsed: split it first, as in "
    "pdanon.as_itemsets(frame['items'].str.split(','))"
)


def is_list_type(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is one of the list types."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


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
        types = {label: str(dtype) for label, dtype in zip(frame.columns, frame.dtypes, strict=True)}
        raise ColumnError("the frame has no list-valued column", got=f"columns {types}", hint=LISTS_HINT)
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
    labels = list(check_frame(frame).columns)
    if not isinstance(column, Hashable):  # such as a hierarchy in the wrong place: its names are not shown
        hint = "other parameters are given by name, such as hierarchy=..."
        got = type(column).__name__
        raise ColumnError("a column is named by its label", where="column", got=got, hint=hint)
    positions = [i for i, label in enumerate(labels) if _is_same(label, column)]
    if len(positions) != 1:
        problem = "is there more than once" if positions else "does not exist"
        texts = [label for label in labels if isinstance(label, str)]
        nearest = get_close_matches(column, texts, 1) if isinstance(column, str) and not positions else []
        hint = f"did you mean {nearest[0]!r}?" if nearest else None
        raise ColumnError(f"column {column!r} {problem}", got=f"columns {labels}", hint=hint)
    return positions[0]


def _is_same(label: Any, column: Any) -> bool:
    """Tell whether two labels are equal; pandas makes NaN of a label None beside texts."""
    if is_missing(label) or is_missing(column):
        return is_missing(label) and is_missing(column)
    return bool(label == column)


def with_column(frame: pd.DataFrame, position: int, itemsets: Itemsets | Bags) -> pd.DataFrame:
    """A copy of a frame with one column replaced; index, other columns and attrs as they were."""
    copy = frame.copy(deep=False)
    copy.isetitem(position, itemsets.to_pandas())
    return copy


def is_missing(row: Any) -> bool:
    """Tell whether a Python object stands for a missing row."""
    return row is None or row is pd.NA or row is pd.NaT or (isinstance(row, float) and row != row)
