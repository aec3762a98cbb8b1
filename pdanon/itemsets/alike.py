"""Values that are alike: numbered so that two have the same number if and only if nobody can tell them apart.

Values are alike if they are equal and look alike: 1, True and 1.0 are equal, but do not, as 0.0 and -0.0, or
None and NaN among Python's objects. In a column of any other type whatever is missing is alike.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import PdanonError
from pdanon.itemsets.bags import Bags
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.distinct import DistinctRows
from pdanon.itemsets.versions import arrow_values

__all__ = ["Numbers", "joined", "row_numbers", "value_numbers"]

Numbers: TypeAlias = NDArray[np.int64]

_TEXT, _WHOLE = {str, type(None)}, {int, type(None)}  # of these, values that are equal look alike


def value_numbers(column: pd.Series[Any]) -> Numbers | None:
    """Number the values of a column from 0 on, or return None if they cannot be compared.

    Lists are alike if they are the same labels in the same order, as often each; sets have none.
    """
    if is_list_column(column):
        with suppress(PdanonError):  # of items of several types; tuples of these can be compared all the same
            return row_numbers(Bags.as_seen(column)) + 1
    try:
        first, *others = [pd.factorize(values)[0] for values in _hashable(column)]  # -1: all that is missing
    except MemoryError:
        raise
    except Exception:  # objects may be of any class, whose hash, comparison or text may fail in any way
        return None
    numbers = first.astype(np.int64) + 1
    for each in others:
        numbers = joined(numbers, each.astype(np.int64) + 1)
    return numbers


def joined(one: Numbers, other: Numbers) -> Numbers:
    """Number the pairs of two numbers of a row, in their order."""
    pairs = one * (int(other.max(initial=0)) + 1) + other
    return np.unique(pairs, return_inverse=True)[1]


def row_numbers(bags: Bags) -> Numbers:
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
