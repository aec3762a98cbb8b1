"""Equality of rows and values: distinct rows with weights, and equal numbers for equal values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import counting
from pdanon.errors import PdanonError
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, Offsets, read_in_order
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.dtype import arrow_values
from pdanon.itemsets.lists import item_type, number_distinct


class DistinctRows:
    """Distinct rows of codes with weights, in order of first appearance."""

    # Memory: up to twice 4 bytes per occurrence and 16 bytes per row, and 12 to 24 bytes per row of hash
    # table.

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
    def weights(self) -> Numbers:
        """Number of transactions that each row stands for."""
        return self._weights[: self._count]

    def add(self, codes: Codes, offsets: Offsets, weights: Numbers) -> Codes:
        """Add rows with weights, and return the number of the distinct row that each of them equals."""
        # Equal rows have their codes in the same order.
        most = self._count + len(weights)
        self._codes = _with_room(self._codes, len(self.codes) + len(codes))
        self._offsets = _with_room(self._offsets, most + 1)
        self._weights = _with_room(self._weights, most)
        if 2 * len(self._table) < 3 * most:  # at most two thirds full, so that probe sequences stay short
            table = np.full(1 << (3 * most // 2).bit_length(), -1, np.int64)
            counting.copy_places(self._table, table)
            self._table = table
        kept = self._codes, self._offsets, self._weights
        self._count, numbers = counting.collect_rows(codes, offsets, weights, *kept, self._table, self._count)
        return numbers


def _with_room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return an array of at least a size that begins with the values of the given one."""
    if size <= len(array):
        return array
    larger = np.empty(max(size, 2 * len(array)), array.dtype)  # pages that are never written take no memory
    larger[: len(array)] = array
    return larger


# --- Numbers of values: equal values have equal numbers


_TEXT, _WHOLE = {str, type(None)}, {int, type(None)}  # types whose equal values have equal texts


def value_numbers(column: pd.Series[Any]) -> Numbers | None:
    """Number the values of a column from 0 on, or return None if they cannot be compared."""
    # Lists are equal if they hold the same labels equally often and in the same order. Sets have no order.
    if is_list_column(column):
        with suppress(PdanonError):  # items of several types: pandas can still compare them as tuples
            return row_numbers(read_in_order(column)) + 1
    try:
        first, *others = [pd.factorize(values)[0] for values in _hashable(column)]  # -1 for missing values
    except MemoryError:
        raise
    except Exception:  # the hash, comparison or repr of an arbitrary class may raise any error
        return None
    numbers = first.astype(np.int64) + 1
    for each in others:
        numbers = pair_numbers(numbers, each.astype(np.int64) + 1)
    return numbers


def pair_numbers(one: Numbers, other: Numbers) -> Numbers:
    """Number the distinct pairs of two numbers per row, in ascending order of the pairs."""
    rows, columns = (int(each.max(initial=0)) + 1 for each in (one, other))
    return number_distinct(one * columns + other, rows * columns)[1]


def row_numbers(bags: Itemsets) -> Numbers:
    """Number the distinct rows in order of first appearance; -1 for missing rows."""
    present = np.flatnonzero(~bags.nulls)
    offsets = np.append(bags.offsets[present], len(bags.codes))  # missing rows are empty in `codes`
    numbers = np.full(len(bags.nulls), -1, np.int64)
    numbers[present] = DistinctRows().add(bags.codes, offsets, np.ones(len(present), np.int64))
    return numbers


def _hashable(column: pd.Series[Any]) -> list[Any]:
    """Return the arrays that must all be equal for two values to be equal, as a reader sees them."""
    if isinstance(column.dtype, pd.SparseDtype):
        return _hashable(column.astype(column.dtype.subtype))
    if isinstance(column.dtype, pd.IntervalDtype):  # comparing both ends is faster than comparing intervals
        ends = pd.IntervalIndex(column.array)
        return [*_hashable(pd.Series(ends.left)), *_hashable(pd.Series(ends.right))]
    if isinstance(column.dtype, pd.StringDtype):  # pandas 2 would compare only up to a NUL
        return [pd.arrays.ArrowExtensionArray(arrow_values(column))]
    # pandas 2 does not factorize the wrapper that `array` has for NumPy's values.
    own = column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array
    if pd.api.types.is_object_dtype(column.dtype):  # 1, True and 1.0 are equal, but their texts differ
        kinds = set(map(type, own))
        if kinds <= _TEXT:
            with suppress(UnicodeError):  # pandas 2 would compare only up to a NUL
                return [pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(own, pa.large_string())]))]
        return [own] if kinds <= _WHOLE else [own, np.array([*map(repr, own)], object)]
    if pd.api.types.is_float_dtype(column.dtype):
        numbers = column.to_numpy(np.float64, na_value=np.nan)  # in Arrow's columns, NaN is not missing
        negative = (numbers == 0) & np.signbit(numbers)  # -0.0 equals 0.0, but is printed differently
        values = own if isinstance(column.dtype, np.dtype) else numbers
        return [values, negative] if negative.any() else [values]
    if isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_decimal(column.dtype.pyarrow_dtype):
        kind = item_type(column.dtype.pyarrow_dtype)  # with enough digits for Arrow to encode
        return [pd.arrays.ArrowExtensionArray(arrow_values(column).cast(kind))]
    return [own]
