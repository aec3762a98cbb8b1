"""Decoding of list columns, of any Arrow layout or of Python objects, into codes and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon._kernels.counting import gather
from pdanon.errors import ItemsetDtypeError
from pdanon.itemsets.columns import ROW_TYPES, is_missing, may_hold_lists
from pdanon.itemsets.dtype import arrow_values, is_list_type, is_text_type
from pdanon.itemsets.table_hints import column_hint, row_hint

_Value = TypeVar("_Value", bound=np.number[Any])
_Read = TypeVar("_Read")

Codes: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]

_TIME_INDEXES = {
    "datetime": pd.DatetimeIndex,
    "datetime64": pd.DatetimeIndex,
    "timedelta": pd.TimedeltaIndex,
    "timedelta64": pd.TimedeltaIndex,
}
_PORTION = 2**18  # occurrences that Arrow encodes at once
QUASI_HINT = "a quasi-identifier holds numbers, text, booleans, dates or times, all of one type"
ITEM_HINT = (
    "items must be numbers, text, booleans, dates or times, all of one type; of objects, pass a field: "
    "frame['items'] = pdanon.from_json(frame['items'], field='code') (--field code)"
)

_DAMAGED_HINT = (
    "the file that it was read from may be damaged: read it with pdanon.read_parquet, which checks"
)


def arrow_lists(series: pd.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """Convert a column to Arrow lists. Refuse text, even if it looks like a list."""
    if isinstance(series.dtype, pd.ArrowDtype) and is_list_type(series.dtype.pyarrow_dtype):
        return arrow_values(series)
    if series.dtype == object:
        first = next((row for row in series.array if not is_missing(row)), None)
        if not isinstance(first, str):  # in pandas 2, text has the dtype object, too
            return object_lists(series.array, None if series.name is None else f"column {series.name!r}")
    if may_hold_lists(series):
        return object_lists([None] * len(series))
    hint = column_hint(series)
    raise ItemsetDtypeError("the column does not hold lists", got=f"dtype {series.dtype.name}", hint=hint)


def encode(
    lists: pa.Array | pa.ChunkedArray, *, drop_missing: bool = False
) -> tuple[Codes, Offsets, pa.Array, Mask]:
    """Encode lists as unsorted codes, offsets, the values of the codes in any order, and missing rows."""
    # Missing items are refused; with ``drop_missing``, their code is -1.
    lists = lists if isinstance(lists, pa.ChunkedArray) else pa.chunked_array([lists])
    if not is_list_type(lists.type):
        raise ItemsetDtypeError("the column does not hold lists", got=f"type {_kind(lists.type)}")
    _refuse_damaged(lists.chunks, "its lists are longer than what they hold")
    # flatten() skips values under null rows, so these rows must have the length 0.
    lengths = to_numpy(pc.list_value_length(lists).fill_null(0)).astype(np.int64)
    kind = item_type(lists.type.value_type)
    parts = [chunk.flatten() for chunk in lists.chunks]
    for part in parts:
        if isinstance(part, pa.DictionaryArray) and len(part) > part.null_count:
            least, most = pc.min_max(part.indices).values()
            if least.as_py() < 0 or most.as_py() >= len(part.dictionary):
                got = f"codes that are not in a dictionary of {len(part.dictionary)} entries"
                raise ItemsetDtypeError("the column is damaged", got=got, hint=_DAMAGED_HINT)
    encoded = _reuse_dictionary(parts, kind)
    if encoded is None:
        # In portions, as the codes of a single array would be enlarged to twice their memory.
        whole = [plain(part, kind) for part in parts]
        flat = [part.slice(begin, _PORTION) for part in whole for begin in range(0, len(part), _PORTION)]
        encoded = _encode_values(pa.chunked_array(flat, type=kind), lengths, drop_missing)
    codes, values = encoded
    _refuse_damaged([values], "its text is not UTF-8", full=True)
    return codes, offsets_of(lengths), values, to_numpy(lists.is_null())


def object_lists(rows: Iterable[Any], where: str | None = None) -> pa.Array:
    """Check Python list-likes, and build an Arrow list array of them; ``where`` names those of a column."""
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
    items = object_items(list(chain.from_iterable(row for row in lists if row is not None)), where)
    mask = pa.array([row is None for row in lists], pa.bool_())
    return pa.LargeListArray.from_arrays(offsets_of(lengths), items, mask=mask)


def object_items(items: list[Any], where: str | None = None) -> pa.Array:
    """Build the Arrow array of Python items of one kind, from the parameter or column ``where``."""
    scalars = all(isinstance(item, pa.Scalar) for item in items)
    kind = "scalar" if scalars else pd.api.types.infer_dtype(items, skipna=True)
    if kind.startswith("mixed"):  # pandas 2 returns this for floats with None, too
        kind = pd.api.types.infer_dtype([item for item in items if not is_missing(item)], skipna=True)
    if kind == "date" or kind.startswith("mixed"):
        types = {type(item) for item in items if not is_missing(item)}
        if kind != "date" or any(issubclass(each, datetime) for each in types):
            names = ", ".join(sorted(each.__name__ for each in types))
            what = "the items are not of one known type"
            raise ItemsetDtypeError(what, where=where, got=names, hint=ITEM_HINT)
    # Without a type, Arrow does not try unsigned integers.
    for arrow_type in (None, pa.uint64()) if kind == "integer" else (None,):
        try:
            # Arrow alone would drop nanoseconds, and confuse times with and without a zone.
            values = _TIME_INDEXES[kind](items) if kind in _TIME_INDEXES else items
            return pa.array(values, arrow_type, from_pandas=True)
        except (ArithmeticError, NotImplementedError, TypeError, ValueError):
            pass
    # Raised outside the handler: the chained error of Arrow shows the item.
    got = f"{kind} items"
    raise ItemsetDtypeError("the items have no Arrow type", where=where, got=got, hint=ITEM_HINT)


def item_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that stores items of a type: without dictionaries, and sortable by Arrow."""
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
    got = f"items of type {_kind(kind)}"
    raise ItemsetDtypeError("the items have no order or no text", got=got, hint=ITEM_HINT)


def plain(items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decode and cast items to the type of `item_type`."""
    if pa.types.is_dictionary(items.type):
        items = items.dictionary.cast(kind).take(items.indices)
    items = items if items.type == kind else items.cast(kind)
    # -0.0 equals 0.0, so both must be one item: -0.0 + 0.0 is 0.0.
    return pc.add(items, pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else items


def to_numpy(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Convert an Arrow array to NumPy."""
    return np.asarray(array.to_numpy(zero_copy_only=False))


def sums(groups: NDArray[Any], values: Numbers, n: int | None = None) -> Numbers:
    """Return the sum of the values of each group, exactly; by default, the last group has values."""
    # np.bincount would add floats, which are exact up to 2**53 only.
    totals = np.zeros(int(groups.max(initial=-1)) + 1 if n is None else n, np.int64)
    np.add.at(totals, groups, values)
    return totals


def offsets_of(lengths: NDArray[Any]) -> Offsets:
    """Return the offsets of consecutive rows with these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def rows_of(offsets: Offsets) -> Numbers:
    """Return the row of each code of rows with these offsets."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def ranges(starts: NDArray[Any], lengths: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Return the number and the position of each element of ranges with these starts and lengths."""
    before = offsets_of(lengths)
    numbers = rows_of(before)
    return numbers, np.arange(before[-1]) + (starts - before[:-1])[numbers]


def take_rows(codes: Codes, offsets: Offsets, rows: NDArray[Any]) -> tuple[Codes, Offsets]:
    """Take some rows by number."""
    starts = offsets[rows]
    lengths = offsets[rows + 1] - starts
    return gather(codes, starts, lengths), offsets_of(lengths)


def append_rows(tables: Sequence[tuple[Codes, Offsets]]) -> tuple[Codes, Offsets]:
    """Append the codes of each row of a table to those of the same row of the tables before."""
    if len(tables) == 1:
        return tables[0]
    offsets = offsets_of(np.concatenate([np.diff(offsets) for _, offsets in tables]))
    in_turn = np.arange(len(offsets) - 1).reshape(len(tables), -1).T.ravel()
    codes, _ = take_rows(np.concatenate([codes for codes, _ in tables]), offsets, in_turn)
    return codes, np.sum([offsets for _, offsets in tables], axis=0)


def inverse_order(order: NDArray[_Value]) -> NDArray[_Value]:
    """Return the place of each number in an order of all numbers."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order), dtype=order.dtype)
    return places


def find_numbers(known: NDArray[Any], wanted: NDArray[Any]) -> Numbers:
    """Return the first position of each wanted number among known ones, or -1."""
    found = pc.index_in(pa.array(wanted, pa.int64()), value_set=pa.array(known, pa.int64()))
    return to_numpy(found.fill_null(-1)).astype(np.int64)


def mask_at(n: int, places: NDArray[Any]) -> Mask:
    """Return a mask of a length that is true at some places."""
    mask = np.zeros(n, np.bool_)
    mask[places] = True
    return mask


def distinct(values: NDArray[_Value]) -> NDArray[_Value]:
    """Return the distinct numbers of an array in ascending order."""
    # It sorts: `numpy.unique` alone hashes since version 2.3, which is slow if most numbers are distinct.
    return np.unique(values, return_counts=True)[0]


def number_distinct(values: Numbers, stop: int) -> tuple[Numbers, Numbers]:
    """Return the distinct numbers of an array in ascending order, and the place of each number among them."""
    # The numbers are below ``stop``. A table of them replaces sorting if it is no longer than the array.
    if stop > len(values):
        return np.unique(values, return_inverse=True)
    occurs = mask_at(stop, values)
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[values]


def read_part(read: Callable[[], _Read], part: str) -> _Read:
    """Read a part of a table, and name it in an error about its items."""
    try:
        return read()
    except ItemsetDtypeError as error:
        problem = str(error)
    raise ItemsetDtypeError(f"{problem}\n  in:    {part}")


def _kind(kind: pa.DataType) -> str:
    # The text of a dictionary or extension type may hold data after its name.
    return str(kind).split("<")[0]


def _encode_values(
    flat: pa.ChunkedArray, lengths: Numbers, drop_missing: bool
) -> tuple[NDArray[Any], pa.Array]:
    """Encode flat values as codes and distinct values."""
    missing = pc.is_null(flat, nan_is_null=True)
    first = int(pc.index(missing, True).as_py())
    if first >= 0 and not drop_missing:
        raise ItemsetDtypeError(
            "an item is missing (null or NaN)",
            where=f"row {np.searchsorted(np.cumsum(lengths), first, side='right')}",
            got=f"{pc.sum(missing).as_py()} missing items",
            hint="leave them out: pdanon.as_itemsets(lists, missing='drop') (--missing drop, but not with "
            "--stream); a missing item cannot be protected or published",
        )
    if first >= 0:
        flat = pc.if_else(missing, pa.scalar(None, flat.type), flat)
    encoded = flat.dictionary_encode()
    if encoded.num_chunks == 0:
        return np.empty(0, np.int32), pa.array([], flat.type)
    codes = np.concatenate([to_numpy(chunk.indices.fill_null(-1)) for chunk in encoded.chunks])
    return codes, encoded.chunk(encoded.num_chunks - 1).dictionary  # the last one holds all values


def _reuse_dictionary(parts: Sequence[pa.Array], kind: pa.DataType) -> tuple[Codes, pa.Array] | None:
    """Return the codes and values of a single array that is already encoded and has no missing values."""
    if len(parts) != 1 or not isinstance(parts[0], pa.DictionaryArray) or parts[0].null_count:
        return None
    values = plain(parts[0].dictionary, kind)
    if pc.any(pc.is_null(values, nan_is_null=True)).as_py():
        return None
    return to_numpy(parts[0].indices).astype(np.int32), values


def _refuse_damaged(arrays: Sequence[pa.Array], got: str, *, full: bool = False) -> None:
    """Refuse invalid arrays, as from a damaged file: reading them would access foreign memory."""
    try:
        for array in arrays:
            array.validate(full=full)
        return
    except pa.ArrowInvalid:
        pass
    raise ItemsetDtypeError("the column is damaged", got=got, hint=_DAMAGED_HINT)
