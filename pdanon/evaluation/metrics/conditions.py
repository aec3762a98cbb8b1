"""Conditions of queries on single-valued columns: which values fulfil them, and which released ones may."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import csr

__all__ = ["Condition", "Factors", "check_condition", "draw_conditions"]

Floats = NDArray[np.float64]


def _is_measured(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers or times, of which there are ranges."""
    dtype = column.dtype
    other = pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_complex_dtype(dtype)
    number = pd.api.types.is_numeric_dtype(dtype) and not other
    return bool(number or pd.api.types.is_datetime64_any_dtype(dtype))


@dataclass(frozen=True, eq=False, slots=True)
class Factors:
    """How likely each value of a column fulfils the condition of each query.

    Parameters
    ----------
    values : ndarray of int64, shape (rows,)
        Which of the distinct values each row has.
    n_values : int
        How many there are.
    shares : callable
        Likelihood for some of the queries, shape (queries, values); 1 where there is no condition.
    """

    values: NDArray[np.int64]
    n_values: int
    shares: Callable[[slice], Floats]


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """The conditions of all queries on one column, and that column before and after the release.

    Parameters
    ----------
    wanted : pandas.Series
        Intervals closed on both sides, or values; missing where a query has no condition.
    original, released : pandas.Series
        The column.
    """

    wanted: pd.Series[Any]
    original: pd.Series[Any]
    released: pd.Series[Any]

    @classmethod
    def of(cls, wanted: pd.Series[Any], original: pd.Series[Any], released: pd.Series[Any]) -> Condition:
        """Check conditions against the column that they are about.

        Raises
        ------
        ParameterError
            If a range is asked of a column without an order, or a value does not occur.
        """
        where = f"column {original.name!r}"
        if isinstance(wanted.dtype, pd.IntervalDtype):
            if not _is_measured(original):
                got = f"dtype {str(original.dtype).split('[')[0]}"
                raise ParameterError("a range needs a column of numbers or times", where=where, got=got)
        else:
            unknown = wanted.notna() & ~wanted.isin(original.dropna().unique())
            if unknown.any():
                raise ParameterError(
                    "a query asks for a value that does not occur in the original",
                    where=where,
                    got=f"{int(unknown.sum())} of {len(wanted)} queries",
                    hint="check the spelling and type of the values",
                )
        return cls(wanted, original, released)

    def before(self) -> Factors:
        """1 where an original value fulfils the condition of a query, else 0."""
        codes, values = pd.factorize(self.original, use_na_sentinel=False)
        if isinstance(self.wanted.dtype, pd.IntervalDtype):
            numbers = _numbers(pd.Series(values))
            low, high = _ends(self.wanted)
        else:  # numbered by their places, a value is a range too
            numbers = np.arange(len(values), dtype=np.float64)
            asked = pd.Index(values, dtype=object).get_indexer(pd.Index(self.wanted, dtype=object))
            low = high = asked[:, None]
        free = self._free

        def shares(queries: slice) -> Floats:
            met = (low[queries] <= numbers) & (numbers <= high[queries])
            return (met | free[queries]).astype(np.float64)

        return Factors(codes, len(values), shares)

    def after(self) -> Factors:
        """Share of the values that a released one stands for which fulfil the condition of a query.

        A released interval stands for all numbers in it; for the whole ones if the original has only those.
        Anything else stands for the values that were released as it, row by row.
        """
        if isinstance(self.released.dtype, pd.IntervalDtype) and _is_measured(self.original):
            return self._within_intervals()
        before = self.before()
        codes, labels = pd.factorize(self.released, use_na_sentinel=False)
        pairs = np.unique(np.stack((codes, before.values)), axis=1)
        members = np.bincount(pairs[0], minlength=len(labels))
        bounds = offsets_of(members)
        stands_for = csr((1 / members[pairs[0]], pairs[1], bounds), len(labels), before.n_values)
        return Factors(codes, len(labels), lambda queries: (stands_for @ before.shares(queries).T).T)

    def _within_intervals(self) -> Factors:
        codes, intervals = pd.factorize(self.released, use_na_sentinel=False)
        low, high = (ends.T for ends in _ends(pd.Series(intervals)))
        if isinstance(self.wanted.dtype, pd.IntervalDtype):
            first, last = _ends(self.wanted)
        else:
            first = last = _numbers(self.wanted)[:, None]
        whole, free = pd.api.types.is_integer_dtype(self.original.dtype), self._free

        def shares(queries: slice) -> Floats:
            start, stop = np.maximum(first[queries], low), np.minimum(last[queries], high)
            if whole:
                share = (np.floor(stop) - np.ceil(start) + 1) / (np.floor(high) - np.ceil(low) + 1)
            else:
                width = np.where(high > low, high - low, 1.0)
                share = np.where(high > low, (stop - start) / width, stop >= start)
            return np.where(free[queries], 1.0, np.nan_to_num(np.clip(share, 0.0, 1.0)))

        return Factors(codes, len(intervals), shares)

    @property
    def _free(self) -> NDArray[np.bool_]:
        """Whether a query asks for nothing here, as one column."""
        return self.wanted.isna().to_numpy(np.bool_)[:, None]


def draw_conditions(
    column: pd.Series[Any], rows: NDArray[Any], asked: NDArray[np.bool_], width: float
) -> pd.Series[Any]:
    """Make conditions that some rows fulfil: ranges around their values, or the values.

    Parameters
    ----------
    column : pandas.Series
        The original column.
    rows : ndarray of int, shape (queries,)
        The row of each query.
    asked : ndarray of bool, shape (queries,)
        Whether a query has a condition.
    width : float
        Width of ranges, as a share of the range of the column.
    """
    values = column.iloc[rows].reset_index(drop=True)
    if not _is_measured(column):
        return values.astype(object).where(asked, None)
    label, column, values = column.name, _plain(column), _plain(values)
    with np.errstate(over="ignore", invalid="ignore"):
        half = (column.max() - column.min()) * (width / 2)
    if isinstance(half, float) and np.isinf([column.max(), column.min(), half]).any():
        raise ParameterError("the range of a column of queries is infinite", where=f"column {label!r}")
    low, high = (values - half).where(asked), (values + half).where(asked)
    return pd.Series(pd.arrays.IntervalArray.from_arrays(low, high, closed="both"))


def _plain(values: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers as floats, or times as they are, whatever the column holds them in."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return pd.Series(pd.DatetimeIndex(values).as_unit("ns"))
    return pd.Series(values.to_numpy(np.float64, na_value=np.nan))


def _ends(intervals: pd.Series[Any]) -> tuple[Floats, Floats]:
    """Both ends of intervals, each as one column."""
    array = pd.arrays.IntervalArray(intervals)
    return _numbers(pd.Series(array.left))[:, None], _numbers(pd.Series(array.right))[:, None]


def _numbers(values: pd.Series[Any]) -> Floats:
    """Numbers, or times as nanoseconds; NaN where missing."""
    values = _plain(values)
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return np.where(values.isna(), np.nan, pd.DatetimeIndex(values).asi8.astype(np.float64))
    return values.to_numpy()


def check_condition(wanted: pd.Series[Any], label: Hashable) -> None:
    """Check that the conditions on a column are intervals or values."""
    if is_list_column(wanted):
        problem = "a condition is an interval or a value, not a list"
    elif isinstance(wanted.dtype, pd.IntervalDtype) and wanted.dtype.closed != "both":
        problem = "an interval of a condition must be closed on both sides"
    else:
        return
    raise ParameterError(problem, where=f"column {label!r}")
