"""Lists: columns of lists of any layout, Arrow or Python objects, as codes and the values they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ItemsetDtypeError
from pdanon.itemsets.columns import ROW_TYPES, is_missing, may_hold_lists
from pdanon.itemsets.compatibility import arrow_values
from pdanon.itemsets.dtype import is_list_type, is_text_type
from pdanon.itemsets.hints import column_hint, row_hint

__all__ = [
    "Codes",
    "Offsets",
    "arrow_lists",
    "distinct",
    "encode",
    "item_type",
    "object_items",
    "object_lists",
    "offsets_of",
    "plain",
    "to_numpy",
]

_Value = TypeVar("_Value", bound=np.number[Any])

Codes: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]

_TIME_INDEXES = {
    "datetime": pd.DatetimeIndex,
    "datetime64": pd.DatetimeIndex,
    "timedelta": pd.TimedeltaIndex,
    "timedelta64": pd.TimedeltaIndex,
}
_ITEM_HINT = "items must be numbers, text, booleans, dates or times, all of one type"

_DAMAGED_HINT = "the file that it was read from may be damaged: pdanon.read_parquet checks"


def arrow_lists(series: pd.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """The lists of a column as Arrow has them; text that looks like a list is refused."""
    if isinstance(series.dtype, pd.ArrowDtype) and is_list_type(series.dtype.pyarrow_dtype):
        return arrow_values(series)
    if pd.api.types.is_object_dtype(series.dtype):
        first = next((row for row in series.array if not is_missing(row)), None)
        if not isinstance(first, str):  # as pandas 2 holds text
            return object_lists(series.array)
    if may_hold_lists(series):
        return object_lists([None] * len(series))
    hint = column_hint(series)
    raise ItemsetDtypeError("the column does not hold lists", got=f"dtype {series.dtype.name}", hint=hint)


def encode(lists: pa.Array | pa.ChunkedArray) -> tuple[Codes, Offsets, pa.Array, NDArray[np.bool_]]:
    """Codes as they come, offsets, values that they stand for, in any order, and which rows are missing."""
    chunks = lists.chunks if isinstance(lists, pa.ChunkedArray) else [lists]
    if not is_list_type(lists.type):
        raise ItemsetDtypeError("the column does not hold lists", got=f"type {_kind(lists.type)}")
    _refuse_damaged(chunks, "its lists are longer than what they hold")
    lengths = _concatenate([_lengths(chunk) for chunk in chunks], np.int64)
    nulls = _concatenate([to_numpy(chunk.is_null()) for chunk in chunks], np.bool_)
    kind = item_type(lists.type.value_type)
    parts = [chunk.flatten() for chunk in chunks]
    _refuse_unknown_codes(parts)
    found = _from_dictionary(parts, kind)
    if found is None:
        flat = pa.chunked_array([plain(part, kind) for part in parts], type=kind)
        found = _dictionary(flat, lengths)
    codes, values = found
    _refuse_damaged([values], "its text is not UTF-8", full=True)
    return codes, offsets_of(lengths), values, nulls


def object_lists(rows: Iterable[Any]) -> pa.Array:
    """Build an Arrow list array from Python list-likes, after checking what they are."""
    lists: list[Any] = [None if is_missing(row) else row for row in rows]
    for number, row in enumerate(lists):
        one_dimensional = not isinstance(row, np.ndarray) or row.ndim == 1
        if row is not None and not (isinstance(row, ROW_TYPES) and one_dimensional):
            raise ItemsetDtypeError(
                "a row is not a list, tuple, set or one-dimensional array",
                where=f"row {number}",
                got=type(row).__name__,
                hint=row_hint(row),
            )
    lengths = np.array([0 if row is None else len(row) for row in lists], np.int64)
    items = object_items(list(chain.from_iterable(row for row in lists if row is not None)))
    mask = pa.array([row is None for row in lists], pa.bool_())
    return pa.LargeListArray.from_arrays(offsets_of(lengths), items, mask=mask)


def object_items(items: list[Any], where: str | None = None) -> pa.Array:
    """Build the Arrow array of Python items, all of one kind; messages say where they are from."""
    scalars = all(isinstance(item, pa.Scalar) for item in items)
    kind = "scalar" if scalars else pd.api.types.infer_dtype(items, skipna=True)
    if kind.startswith("mixed"):  # as pandas 2 says of fractions, too, where one is None
        kind = pd.api.types.infer_dtype([item for item in items if not is_missing(item)], skipna=True)
    if kind == "date" or kind.startswith("mixed"):
        types = {type(item) for item in items if not is_missing(item)}
        if kind != "date" or any(issubclass(each, datetime) for each in types):
            names = ", ".join(sorted(each.__name__ for each in types))
            what = "the items are not of one known type"
            raise ItemsetDtypeError(what, where=where, got=names, hint=_ITEM_HINT)
    # Arrow left to itself tries no unsigned integers.
    for arrow_type in (None, pa.uint64()) if kind == "integer" else (None,):
        try:
            # Arrow alone would cut nanoseconds off and take times with and without a zone for each other.
            values = _TIME_INDEXES[kind](items) if kind in _TIME_INDEXES else items
            return pa.array(values, arrow_type, from_pandas=True)
        except (ArithmeticError, NotImplementedError, TypeError, ValueError):
            pass
    # Raised outside the handler: Arrow's own message would carry the item along as the context.
    got = f"{kind} items"
    raise ItemsetDtypeError("the items have no Arrow type", where=where, got=got, hint=_ITEM_HINT)


def item_type(kind: pa.DataType) -> pa.DataType:
    """Type under which items of a type are held: dictionaries decoded, kinds without an order widened."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        return kind if kind.bit_width >= 128 else pa.decimal128(kind.precision, kind.scale)
    if is_text_type(kind) or (pa.types.is_primitive(kind) and not pa.types.is_interval(kind)):
        return kind
    raise ItemsetDtypeError(
        "the items have no order or no text", got=f"items of type {_kind(kind)}", hint=_ITEM_HINT
    )


def plain(items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Items without a dictionary, as of the type under which they are held."""
    if pa.types.is_dictionary(items.type):
        items = items.dictionary.cast(kind).take(items.indices)
    items = items if items.type == kind else items.cast(kind)
    # -0.0 and 0.0 are one number, and must be one item.
    return pc.add(items, pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else items


def to_numpy(array: pa.Array) -> NDArray[Any]:
    """An Arrow array as a NumPy array."""
    return np.asarray(array.to_numpy(zero_copy_only=False))


def offsets_of(lengths: NDArray[Any]) -> Offsets:
    """Where rows of these lengths begin and end."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def distinct(values: NDArray[_Value]) -> NDArray[_Value]:
    """The distinct numbers of an array, ascending.

    By sorting: since version 2.3 `numpy.unique` hashes them first, which is slow where most are distinct.
    """
    ascending = np.sort(values)
    is_first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=is_first[1:])
    return ascending[is_first]


def _kind(kind: pa.DataType) -> str:
    # A dictionary or extension type may print more than its name; the first word never holds data.
    return str(kind).split("<")[0]


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    # flatten() skips what lies under null rows, and so must the lengths that go with it.
    return to_numpy(lists.value_lengths().fill_null(0)).astype(np.int64)


def _dictionary(flat: pa.ChunkedArray, lengths: NDArray[np.int64]) -> tuple[NDArray[Any], pa.Array]:
    """Codes, and the values that they stand for."""
    _refuse_missing(flat, lengths)
    encoded = flat.dictionary_encode()
    if encoded.num_chunks == 0:
        return np.empty(0, np.int32), pa.array([], flat.type)
    dictionary = encoded.chunk(encoded.num_chunks - 1).dictionary
    return _concatenate([to_numpy(chunk.indices) for chunk in encoded.chunks], np.int32), dictionary


def _from_dictionary(parts: Sequence[pa.Array], kind: pa.DataType) -> tuple[Codes, pa.Array] | None:
    """As `_dictionary`, for one array that has a dictionary already, if nothing is missing."""
    if len(parts) != 1 or not isinstance(parts[0], pa.DictionaryArray) or parts[0].null_count:
        return None
    values = plain(parts[0].dictionary, kind)
    if pc.any(pc.is_null(values, nan_is_null=True)).as_py():
        return None
    return to_numpy(parts[0].indices).astype(np.int32), values


def _refuse_damaged(arrays: Sequence[pa.Array], got: str, *, full: bool = False) -> None:
    """Refuse arrays that are not what they seem, as of a damaged file: their users would read elsewhere."""
    try:
        for array in arrays:
            array.validate(full=full)
        return
    except pa.ArrowInvalid:
        pass
    raise ItemsetDtypeError("the column is damaged", got=got, hint=_DAMAGED_HINT)


def _refuse_unknown_codes(parts: Sequence[pa.Array]) -> None:
    for part in parts:
        if isinstance(part, pa.DictionaryArray) and len(part) > part.null_count:
            least, most = pc.min_max(part.indices).values()
            if least.as_py() < 0 or most.as_py() >= len(part.dictionary):
                got = f"codes that are not in a dictionary of {len(part.dictionary)} entries"
                raise ItemsetDtypeError("the column is damaged", got=got, hint=_DAMAGED_HINT)


def _refuse_missing(flat: pa.ChunkedArray, lengths: NDArray[np.int64]) -> None:
    missing = pc.is_null(flat, nan_is_null=True)
    first = int(pc.index(missing, True).as_py())
    if first >= 0:
        raise ItemsetDtypeError(
            "an item is missing (null or NaN)",
            where=f"row {np.searchsorted(np.cumsum(lengths), first, side='right')}",
            got=f"{pc.sum(missing).as_py()} missing items",
            hint="drop them first: a missing item cannot be protected or published",
        )


def _concatenate(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype)
