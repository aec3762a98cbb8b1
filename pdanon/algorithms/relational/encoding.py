"""The one door in for quasi-identifiers: a column becomes ranges, nodes of a hierarchy, or sets of values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.relational.attributes import Attribute, Numbers, Sets, Tree
from pdanon.algorithms.relational.cells import shares
from pdanon.algorithms.relational.ranges import Grades, Intervals, Ranges
from pdanon.errors import HierarchyError, ItemsetDtypeError, ParameterError
from pdanon.hierarchy import Form, Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.versions import as_pandas_writes

__all__ = ["attribute_maker"]

_EXACT = 2**53  # integers up to here are floats
_DIGITS = 9  # after the point: numbers with more are compared by what floats hold of them


def attribute_maker(
    column: pd.Series[Any], source: HierarchyLike | None
) -> tuple[list[int], Callable[[int], Attribute]]:
    """Encode a column: with a hierarchy, in the order of its values, or as values without an order.

    Returns
    -------
    wholes : list of int
        What its losses are shares of.
    make : callable
        From the loss where nothing is known to the attribute.
    """
    if source is None and _has_grades(column):
        return _graded(column)
    values = _single_values(column)
    missing = values.lengths == 0
    n = values.n_items
    codes = np.full(values.n_rows, n, np.int32)
    codes[~missing] = values.codes
    some_missing = bool(missing.any())
    if source is not None:
        hierarchy, nodes = _cover(column.name, source, values)
        wholes = [hierarchy.n_leaves + some_missing, hierarchy.height]
        return wholes, partial(Tree.of, codes, hierarchy, nodes, some_missing)
    kind = values.vocabulary.type
    if isinstance(column.dtype, pd.CategoricalDtype) or not _is_measured(kind):
        return [n + some_missing], partial(Sets.of, codes, _texts(values.vocabulary), some_missing)
    numbers = _numbers(values.vocabulary)
    if some_missing and pa.types.is_integer(kind) and n and max(-int(numbers[0]), int(numbers[-1])) > _EXACT:
        hint = "give it a hierarchy, or turn it into text"
        raise ParameterError(
            "a column has missing values and integers beyond 2**53, which no interval can hold",
            where=f"column {column.name!r}",
            hint=hint,
        )
    if not np.isfinite(numbers.astype(np.float64)).all():
        raise ParameterError(
            "a quasi-identifier holds infinite numbers",
            where=f"column {column.name!r}",
            got=f"{int((~np.isfinite(numbers.astype(np.float64)))[values.codes].sum())} rows",
            hint="replace them, by missing values for example",
        )
    if n == 1 and some_missing:  # its range would not tell who has it from who may
        return [n + some_missing], partial(Sets.of, codes, _texts(values.vocabulary), some_missing)
    steps, ends = _steps(numbers), Intervals(*_ends(values.vocabulary, numbers), some_missing)
    return (
        [int(steps[-1])] if n and steps is not None else [],
        lambda unit: Ranges(codes, ends, _positions(numbers, steps, unit), some_missing, unit),
    )


def _has_grades(column: pd.Series[Any]) -> bool:
    """Whether a column has ordered categories, and ranges of them that are not all the same."""
    dtype = column.dtype
    if not isinstance(dtype, pd.CategoricalDtype) or not dtype.ordered:
        return False
    return len(dtype.categories) > 1 or not column.hasnans


def _graded(column: pd.Series[Any]) -> tuple[list[int], Callable[[int], Attribute]]:
    """Encode ordered categories: as far from each other as there are categories between them."""
    categories = column.cat.categories
    if isinstance(categories, pd.IntervalIndex):
        texts = [*map(str, categories)]
    else:
        sets = _single_values(pd.Series(pd.Categorical(categories, categories), name=column.name))
        by_code = _texts(sets.vocabulary)
        texts = [by_code[code] for code in sets.codes]
    places = column.cat.codes.to_numpy().astype(np.int64)
    present = np.unique(places[places >= 0])
    codes = np.where(places < 0, len(present), np.searchsorted(present, places)).astype(np.int32)
    ends, whole, missing = Grades(texts, present), len(texts) - 1, bool(column.hasnans)
    return [whole], lambda unit: Ranges(codes, ends, shares(present, whole, unit), missing, unit)


def _single_values(column: pd.Series[Any]) -> Itemsets:
    """The column as sets of one value, or none where it is missing."""
    try:
        return Itemsets.from_arrow(_single_lists(column))
    except (ItemsetDtypeError, pa.ArrowException, TypeError, ValueError):
        pass
    # Raised outside the handler: Arrow's own message would carry a value along as the context.
    hint = "a quasi-identifier holds numbers, text, booleans, dates or times, all of one type"
    raise ItemsetDtypeError(
        "the values of a quasi-identifier are not of one known type",
        where=f"column {column.name!r}",
        got=f"dtype {str(column.dtype).split('<')[0].split('[')[0]}",
        hint=hint,
    )


def _single_lists(column: pd.Series[Any]) -> pa.Array:
    if pd.api.types.is_object_dtype(column.dtype):
        lists = [[] if lacking else [value] for value, lacking in zip(column, column.isna(), strict=True)]
        return Itemsets.from_series(pd.Series(lists, dtype=object)).to_arrow()
    values = pa.array(pa.chunked_array([pa.array(column)]).combine_chunks())
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    present = pc.invert(pc.is_null(values, nan_is_null=True))
    offsets = offsets_of(present.to_numpy(zero_copy_only=False))
    return pa.LargeListArray.from_arrays(offsets, values.filter(present))


def _cover(label: Hashable, source: HierarchyLike, values: Itemsets) -> tuple[Hierarchy, NDArray[np.int32]]:
    texts = values.texts()
    try:
        return Hierarchy.of(source, texts).cover(texts, Form.of(values.vocabulary.type))
    except (HierarchyError, ParameterError) as error:
        raise type(error)(str(error), where=f"hierarchies[{label!r}]") from None


def _is_measured(kind: pa.DataType) -> bool:
    """Whether values of a type are so far from each other, and not just different."""
    types = pa.types
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return bool(number or types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind))


def _numbers(vocabulary: pa.Array) -> NDArray[Any]:
    """The values as numbers: times as a count of their unit."""
    kind = vocabulary.type
    if pa.types.is_decimal(kind):  # by way of text, which gives the nearest number
        vocabulary, wanted = vocabulary.cast(pa.string()), pa.float64()
    elif pa.types.is_floating(kind):
        wanted = pa.float64()
    elif pa.types.is_uint64(kind):
        wanted = kind
    else:
        vocabulary = vocabulary.cast(pa.int32()) if pa.types.is_date32(kind) else vocabulary
        wanted = pa.int64()
    return np.asarray(vocabulary.cast(wanted).to_numpy(zero_copy_only=False))


def _ends(vocabulary: pa.Array, numbers: NDArray[Any]) -> tuple[pd.Index[Any], pd.Index[Any]]:
    """Where intervals begin and end that have the values at their ends."""
    kind = vocabulary.type
    if pa.types.is_decimal(kind):
        exact = vocabulary.to_pylist()  # compare exactly with floats
        above = np.fromiter(map(operator.gt, numbers.tolist(), exact), np.bool_, len(exact))
        below = np.fromiter(map(operator.lt, numbers.tolist(), exact), np.bool_, len(exact))
        lower = np.where(above, np.nextafter(numbers, -np.inf), numbers)
        return pd.Index(lower), pd.Index(np.where(below, np.nextafter(numbers, np.inf), numbers))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        ends = pd.Index(vocabulary.to_pandas())
    elif pa.types.is_date(kind):
        ends = pd.Index(vocabulary.cast(pa.timestamp("ms")).to_pandas())
    else:
        ends = pd.Index(numbers)
    return ends, ends


def _texts(vocabulary: pa.Array) -> list[str]:
    """How values are published in sets; durations as pandas writes them, not as a count of their unit."""
    if pa.types.is_duration(vocabulary.type):
        vocabulary = as_pandas_writes(vocabulary)
    texts: list[str] = vocabulary.cast(pa.large_string()).to_pylist()
    return texts


def _steps(numbers: NDArray[Any]) -> NDArray[np.uint64] | None:
    """How many steps of one size the numbers are above the least; None if they have too many digits."""
    if numbers.dtype == np.float64:
        for digits in range(_DIGITS + 1):
            whole = np.rint(numbers * 10.0**digits)
            if (np.abs(whole) >= _EXACT).any():
                return None
            if (whole / 10.0**digits == numbers).all():
                numbers = whole.astype(np.int64)
                break
        else:
            return None
    above = numbers.astype(np.uint64) - numbers[:1].astype(np.uint64)  # which needs one more bit
    return above // max(np.gcd.reduce(above, initial=np.uint64(0)), np.uint64(1))


def _positions(numbers: NDArray[Any], steps: NDArray[np.uint64] | None, unit: int) -> Numbers:
    """Where the numbers are between the least, 0, and the largest, ``unit``; rounded down."""
    whole = int(steps[-1]) if steps is not None and len(steps) else 0
    if steps is not None and whole and unit % whole == 0:
        return shares(steps.astype(np.int64), whole, unit)
    # Halves: a difference of two floats may be none.
    above = numbers * 0.5 - numbers[:1] * 0.5 if steps is None else steps.astype(np.float64)
    if not above.any():  # one number, or several that floats are too coarse for
        return np.zeros(len(numbers), np.int64)
    positions = np.minimum(np.floor(above / above[-1] * unit).astype(np.int64), unit)
    positions[-1] = unit
    return positions
