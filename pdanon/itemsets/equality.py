"""DistinctRows: each row of codes once, with the number of transactions that it stands for."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import counting
from pdanon.errors import PdanonError
from pdanon.itemsets.codes import Codes, Offsets
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.compatibility import arrow_values
from pdanon.itemsets.multisets import Multisets

__all__ = ["DistinctRows", "Numbers", "pair_numbers", "row_numbers", "value_numbers"]


class DistinctRows:
    """Distinct rows, in the order in which they came first.

    Notes
    -----
    Memory: up to twice 4 bytes an occurrence and 16 bytes a row, and 12 to 24 bytes a row to find it by.
    """

    def __init__(self) -> None:
        self._codes = np.empty(0, np.int32)
        self._offsets = np.zeros(1, np.int64)
        self._weights = np.empty(0, np.int64)
        self._table = np.full(1, -1, np.int64)
        self._count = 0

    @property
    def codes(self) -> Codes:
        """Codes, row after row."""
        return self._codes[: self._offsets[self._count]]

    @property
    def offsets(self) -> Offsets:
        """Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``."""
        return self._offsets[: self._count + 1]

    @property
    def weights(self) -> NDArray[np.int64]:
        """How many transactions each row stands for."""
        return self._weights[: self._count]

    def add(self, codes: Codes, offsets: Offsets, weights: NDArray[np.int64]) -> Codes:
        """Add rows.

        Parameters
        ----------
        codes : ndarray of int32
            Codes, row after row; equal rows have the same order.
        offsets : ndarray of int64, shape (rows + 1,)
            Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
        weights : ndarray of int64, shape (rows,)
            How many transactions each stands for.

        Returns
        -------
        ndarray of int32, shape (rows,)
            The number of the distinct row that each of them equals.
        """
        most = self._count + len(weights)
        self._codes = _with_room(self._codes, len(self.codes) + len(codes))
        self._offsets = _with_room(self._offsets, most + 1)
        self._weights = _with_room(self._weights, most)
        if 2 * len(self._table) < 3 * most:  # at most two thirds full, so that few places are tried
            table = np.full(1 << (3 * most // 2).bit_length(), -1, np.int64)
            counting.copy_places(self._table, table)
            self._table = table
        kept = self._codes, self._offsets, self._weights
        self._count, numbers = counting.collect_rows(codes, offsets, weights, *kept, self._table, self._count)
        return numbers


def _with_room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array itself if it is large enough, or one that begins like it."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)  # room that is never used takes no memory
    larger[: len(array)] = array
    return larger


# --- Equal values have equal numbers


Numbers: TypeAlias = NDArray[np.int64]

_TEXT, _WHOLE = {str, type(None)}, {int, type(None)}  # of these, values that are equal look alike


def value_numbers(column: pd.Series[Any]) -> Numbers | None:
    """Number the values of a column from 0 on, or return None if they cannot be compared.

    Lists are alike if they are the same labels in the same order, as often each; sets have none.
    """
    if is_list_column(column):
        with suppress(PdanonError):  # of items of several types; tuples of these can be compared all the same
            return row_numbers(Multisets.from_series_in_order(column)) + 1
    try:
        first, *others = [pd.factorize(values)[0] for values in _hashable(column)]  # -1: all that is missing
    except MemoryError:
        raise
    except Exception:  # objects may be of any class, whose hash, comparison or text may fail in any way
        return None
    numbers = first.astype(np.int64) + 1
    for each in others:
        numbers = pair_numbers(numbers, each.astype(np.int64) + 1)
    return numbers


def pair_numbers(one: Numbers, other: Numbers) -> Numbers:
    """Number the pairs of two numbers of a row, in their order."""
    pairs = one * (int(other.max(initial=0)) + 1) + other
    return np.unique(pairs, return_inverse=True)[1]


def row_numbers(bags: Multisets) -> Numbers:
    """A number of each row, the same for equal ones, in the order in which they come first; -1 if missing."""
    present = np.flatnonzero(~bags.nulls)
    offsets = np.append(bags.offsets[present], len(bags.codes))  # missing rows hold nothing
    numbers = np.full(len(bags.nulls), -1, np.int64)
    numbers[present] = DistinctRows().add(bags.codes, offsets, np.ones(len(present), np.int64))
    return numbers


def _hashable(column: pd.Series[Any]) -> list[Any]:
    """What must be equal: the column, or both ends of intervals, which is faster; and what else one sees."""
    if isinstance(column.dtype, pd.IntervalDtype):
        ends = pd.IntervalIndex(column.array)
        return [*_hashable(pd.Series(ends.left)), *_hashable(pd.Series(ends.right))]
    if isinstance(column.dtype, pd.StringDtype):  # of which pandas 2 compares the beginning, up to a NUL
        return [pd.arrays.ArrowExtensionArray(arrow_values(column))]
    # pandas 2 would not have the wrapper that `array` is of NumPy's values.
    own = column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array
    if pd.api.types.is_object_dtype(column.dtype):
        return _hashable_objects(own)
    if pd.api.types.is_float_dtype(column.dtype):
        numbers = column.to_numpy(np.float64, na_value=np.nan)
        negative = (numbers == 0) & np.signbit(numbers)
        return [own, negative] if negative.any() else [own]
    return [own]


def _hashable_objects(values: NDArray[Any]) -> list[Any]:
    """As `_hashable`, of objects: 1, True and 1.0 are equal, and do not look alike."""
    kinds = set(map(type, values))
    if kinds <= _TEXT:
        with suppress(UnicodeError):  # of which pandas 2 compares the beginning, up to a NUL
            return [pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, pa.large_string())]))]
    return [values] if kinds <= _WHOLE else [values, np.array([*map(repr, values)], object)]
