"""Itemsets: the one door between Arrow or object columns of lists and integer codes.

Everything behind this door works on NumPy arrays of codes. Nothing else in the package reads or builds
Arrow buffers of lists, so what is true here (sets, sorted, no nulls, nothing left over from the input)
is true everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.columns import LISTS_HINT, ROW_TYPES, is_list_type, is_missing
from pdanon.errors import ItemsetDtypeError

__all__ = [
    "Codes",
    "Itemsets",
    "Offsets",
    "arrow_lists",
    "as_itemsets",
    "beside",
    "canonical_rows",
    "compact",
    "encode",
    "relabelled_rows",
]

Codes: TypeAlias = NDArray[np.int32]
Offsets: TypeAlias = NDArray[np.int64]

_OFFSET_LIMIT = 2**31 - 1  # of Arrow's list and string types; the large_ types have none
_TIME_INDEXES = {
    "datetime": pd.DatetimeIndex,
    "datetime64": pd.DatetimeIndex,
    "timedelta": pd.TimedeltaIndex,
    "timedelta64": pd.TimedeltaIndex,
}
_ITEM_HINT = "items must be numbers, text, booleans, dates or times, all of one type"


@dataclass(frozen=True, eq=False, slots=True)
class Itemsets:
    """A column of sets of items, as codes into a sorted vocabulary.

    Parameters
    ----------
    codes : ndarray of int32, shape (occurrences,)
        Item codes, row after row; ascending and distinct within a row.
    offsets : ndarray of int64, shape (rows + 1,)
        Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    vocabulary : pyarrow.Array, length (items,)
        The distinct items that occur, in ascending order; code ``c`` stands for ``vocabulary[c]``.
    nulls : ndarray of bool, shape (rows,)
        Rows that are missing, as opposed to empty.
    weights : ndarray of int64, shape (rows,), optional
        How many transactions a row stands for. By default 1.

    Notes
    -----
    Memory: 4 bytes an occurrence, 9 bytes a row, and the vocabulary.
    """

    codes: Codes
    offsets: Offsets
    vocabulary: pa.Array
    nulls: NDArray[np.bool_]
    weights: NDArray[np.int64] | None = None

    @classmethod
    def from_arrow(cls, lists: pa.Array | pa.ChunkedArray) -> Itemsets:
        """Encode an Arrow list array of any layout.

        Parameters
        ----------
        lists : pyarrow.Array or pyarrow.ChunkedArray
            ``list``, ``large_list``, ``fixed_size_list``, ``list_view`` or ``large_list_view`` of a
            primitive, string or dictionary type. Slices, chunks and null rows are fine.

        Returns
        -------
        Itemsets

        Raises
        ------
        ItemsetDtypeError
            If the array is not a list array, its items have no order or no text, or an item is null.
        """
        codes, offsets, values, nulls = encode(lists)
        codes, offsets, vocabulary = relabelled_rows(codes, offsets, np.arange(len(values)), values)
        return cls(codes, offsets, vocabulary, nulls)

    @classmethod
    def as_they_come(cls, lists: pa.Array | pa.ChunkedArray) -> Itemsets:
        """As `from_arrow`, but rows and vocabulary are in any order, with repeats: to be recoded at once."""
        return cls(*encode(lists))

    @classmethod
    def from_series(cls, series: pd.Series[Any]) -> Itemsets:
        """Encode a pandas Series of Arrow lists, or of objects that are lists, tuples, sets or arrays.

        Parameters
        ----------
        series : pandas.Series
            The column. Missing values are null rows.

        Returns
        -------
        Itemsets

        Raises
        ------
        ItemsetDtypeError
            If a row is not list-like (text that looks like a list is refused, not parsed), an item is
            null, or the items are of several types.
        """
        return cls.from_arrow(arrow_lists(series))

    @property
    def n_rows(self) -> int:
        """Number of rows, missing and empty ones included."""
        return len(self.offsets) - 1

    @property
    def n_items(self) -> int:
        """Number of distinct items that occur."""
        return len(self.vocabulary)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of distinct items of each row; 0 for missing rows."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Row number of each occurrence."""
        return np.repeat(np.arange(self.n_rows), self.lengths)

    @property
    def occurrence_weights(self) -> NDArray[np.int64] | None:
        """How many transactions the row of each occurrence stands for; None: one."""
        return None if self.weights is None else np.repeat(self.weights, self.lengths)

    def texts(self) -> list[str]:
        """Text of each item, by code."""
        texts: list[str] = self.vocabulary.cast(pa.large_string()).to_pylist()
        return texts

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the occurrences of some rows are among all, row after row."""
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        before = np.cumsum(ends - starts) - (ends - starts)
        return np.arange((ends - starts).sum()) + np.repeat(starts - before, ends - starts)

    def take(self, rows: NDArray[np.int64]) -> Itemsets:
        """Some of the rows, with the vocabulary of all: an item of it may not occur in them."""
        weights = None if self.weights is None else self.weights[rows]
        offsets = _offsets(self.offsets[rows + 1] - self.offsets[rows])
        return Itemsets(self.codes[self.places(rows)], offsets, self.vocabulary, self.nulls[rows], weights)

    def lookup(self, items: Iterable[Any]) -> Codes:
        """Codes of some items.

        Parameters
        ----------
        items : iterable
            Items of the vocabulary's type.

        Returns
        -------
        ndarray of int32
            The code of each item, -1 for an item that does not occur.
        """
        if isinstance(items, pa.ChunkedArray):
            wanted = items.combine_chunks()
        else:
            wanted = items if isinstance(items, pa.Array) else _object_items(list(items))
        wanted = _plain(wanted, _item_type(wanted.type))
        try:
            found = pc.index_in(wanted.cast(self.vocabulary.type), value_set=self.vocabulary)
            return _to_numpy(found.fill_null(-1)).astype(np.int32)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            pass
        # One item without a counterpart in the vocabulary's type makes the cast fail as a whole.
        if len(wanted) <= 1:
            return np.full(len(wanted), -1, np.int32)
        return np.concatenate([self.lookup(wanted.slice(i, 1)) for i in range(len(wanted))])

    def recode(self, targets: NDArray[Any], vocabulary: pa.Array) -> Itemsets:
        """Replace each item by another, or remove it.

        Parameters
        ----------
        targets : ndarray of int, shape (items,)
            New code of each item; -1 removes it.
        vocabulary : pyarrow.Array
            What the new codes stand for. Entries that end up unused are dropped.

        Returns
        -------
        Itemsets
            Duplicates within a row are collapsed. Shares no buffer with this object.
        """
        return Itemsets(
            *relabelled_rows(self.codes, self.offsets, targets, vocabulary), self.nulls.copy(), self.weights
        )

    def relabel(self, occurrences: Codes, vocabulary: pa.Array) -> Itemsets:
        """Replace each occurrence on its own; as ``recode``, with a new code for each occurrence."""
        return replace(self, codes=occurrences).recode(np.arange(len(vocabulary)), vocabulary)

    def to_arrow(self, *, dictionary: bool = False) -> pa.Array:
        """Build the list array, from codes and vocabulary alone.

        Parameters
        ----------
        dictionary : bool
            Whether items are codes into a dictionary, as long texts that are there often should be.

        Returns
        -------
        pyarrow.ListArray or pyarrow.LargeListArray
            One list a row with items in vocabulary order. No byte of it comes from the array that was
            encoded except the vocabulary's own entries.
        """
        if dictionary:
            items = pa.DictionaryArray.from_arrays(pa.array(self.codes), self.vocabulary)
        else:
            items = _wide_enough(self.vocabulary, self.codes).take(pa.array(self.codes))
        mask = pa.array(self.nulls) if self.nulls.any() else None
        if len(self.codes) <= _OFFSET_LIMIT:
            return pa.ListArray.from_arrays(self.offsets.astype(np.int32), items, mask=mask)
        return pa.LargeListArray.from_arrays(self.offsets, items, mask=mask)

    def to_pandas(self) -> pd.api.extensions.ExtensionArray:
        """Build the column as a pandas array of Arrow list dtype."""
        lists = self.to_arrow()
        column: pd.api.extensions.ExtensionArray = pd.array(lists, dtype=pd.ArrowDtype(lists.type))
        return column

    def __repr__(self) -> str:
        return f"Itemsets(rows={self.n_rows}, items={self.n_items}, occurrences={len(self.codes)})"


def arrow_lists(series: pd.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """The lists of a column as Arrow has them; text that looks like a list is refused."""
    if isinstance(series.dtype, pd.ArrowDtype):
        return pa.chunked_array(series)
    if pd.api.types.is_object_dtype(series.dtype):
        return _objects_to_arrow(series.array)
    raise ItemsetDtypeError("the column does not hold lists", got=f"dtype {series.dtype}", hint=LISTS_HINT)


def encode(lists: pa.Array | pa.ChunkedArray) -> tuple[Codes, Offsets, pa.Array, NDArray[np.bool_]]:
    """Codes as they come, offsets, values that they stand for, in any order, and which rows are missing."""
    chunks = lists.chunks if isinstance(lists, pa.ChunkedArray) else [lists]
    if not is_list_type(lists.type):
        raise ItemsetDtypeError("the column does not hold lists", got=f"type {_kind(lists.type)}")
    lengths = _concatenate([_lengths(chunk) for chunk in chunks], np.int64)
    nulls = _concatenate([_to_numpy(chunk.is_null()) for chunk in chunks], np.bool_)
    item_type = _item_type(lists.type.value_type)
    parts = [chunk.flatten() for chunk in chunks]
    found = _from_dictionary(parts, item_type)
    if found is None:
        flat = pa.chunked_array([_plain(part, item_type) for part in parts], type=item_type)
        found = _dictionary(flat, lengths)
    codes, values = found
    return codes, _offsets(lengths), values, nulls


def as_itemsets(lists: Any, *, index: pd.Index[Any] | None = None) -> pd.Series[Any]:
    """Turn anything list-like by row into a Series of Arrow lists.

    Parameters
    ----------
    lists : Series, Arrow array, or iterable of list-likes
        One list, tuple, set or array a row; None for a missing row.
    index : pandas.Index, optional
        Index of the result. A Series keeps its own by default.

    Returns
    -------
    pandas.Series
        Dtype ``ArrowDtype(list<...>)``. Each row is sorted and holds an item once.

    Raises
    ------
    ItemsetDtypeError
        If a row is not list-like, an item is null or the items are of several types.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.as_itemsets([{"tea"}, ["rice", "tea", "tea"], None])
    0            ['tea']
    1    ['rice' 'tea']
    2              <NA>
    dtype: list<item: string>[pyarrow]
    """
    if isinstance(lists, pd.Series):
        index = lists.index if index is None else index
        return pd.Series(Itemsets.from_series(lists).to_pandas(), index=index, name=lists.name)
    arrow = lists if isinstance(lists, (pa.Array, pa.ChunkedArray)) else _objects_to_arrow(lists)
    return pd.Series(Itemsets.from_arrow(arrow).to_pandas(), index=index)


def beside(columns: Sequence[Itemsets]) -> tuple[Itemsets, Codes]:
    """Put the items of several columns into one, where an item of one column is none of another.

    Parameters
    ----------
    columns : sequence of Itemsets
        Columns of the same rows.

    Returns
    -------
    itemsets : Itemsets
        The items are numbered column by column; their text has the number of the column before it.
    column_of : ndarray of int32, shape (items,)
        The column that each item is from.
    """
    if len(columns) == 1:
        return columns[0], np.zeros(columns[0].n_items, np.int32)
    counts = [column.n_items for column in columns]
    first = np.cumsum([0, *counts])
    rows = np.concatenate([column.rows for column in columns])
    codes = np.concatenate([column.codes + start for column, start in zip(columns, first, strict=False)])
    order = np.lexsort((codes, rows))
    lengths = np.sum([column.lengths for column in columns], axis=0)
    texts = [f"{number}: {text}" for number, column in enumerate(columns) for text in column.texts()]
    nulls = np.logical_and.reduce([column.nulls for column in columns])
    itemsets = Itemsets(codes[order].astype(np.int32), _offsets(lengths), pa.array(texts, pa.string()), nulls)
    return itemsets, np.repeat(np.arange(len(columns), dtype=np.int32), counts)


def _kind(kind: pa.DataType) -> str:
    # A dictionary or extension type may print more than its name; the first word never holds data.
    return str(kind).split("<")[0]


def _wide_enough(vocabulary: pa.Array, codes: Codes) -> pa.Array:
    # Labels of generalized items are long: their text, row after row, may exceed a string array.
    if not pa.types.is_string(vocabulary.type):
        return vocabulary
    lengths = _to_numpy(pc.binary_length(vocabulary)).astype(np.int64)
    if len(codes) * int(lengths.max(initial=0)) <= _OFFSET_LIMIT:
        return vocabulary
    too_long = np.bincount(codes, minlength=len(vocabulary)) @ lengths > _OFFSET_LIMIT
    return vocabulary.cast(pa.large_string()) if too_long else vocabulary


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    # flatten() skips what lies under null rows, and so must the lengths that go with it.
    return _to_numpy(lists.value_lengths().fill_null(0)).astype(np.int64)


def _item_type(kind: pa.DataType) -> pa.DataType:
    """Type under which items of a type are held: dictionaries decoded, kinds without an order widened."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal(kind):
        return kind if kind.bit_width >= 128 else pa.decimal128(kind.precision, kind.scale)
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if text or (pa.types.is_primitive(kind) and not pa.types.is_interval(kind)):
        return kind
    raise ItemsetDtypeError(
        "the items have no order or no text", got=f"items of type {_kind(kind)}", hint=_ITEM_HINT
    )


def _plain(items: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(items.type):
        items = items.dictionary.cast(kind).take(items.indices)
    items = items if items.type == kind else items.cast(kind)
    # -0.0 and 0.0 are one number, and must be one item.
    return pc.add(items, pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else items


def _dictionary(flat: pa.ChunkedArray, lengths: NDArray[np.int64]) -> tuple[NDArray[Any], pa.Array]:
    """Codes, and the values that they stand for."""
    _refuse_missing(flat, lengths)
    encoded = flat.dictionary_encode()
    if encoded.num_chunks == 0:
        return np.empty(0, np.int32), pa.array([], flat.type)
    dictionary = encoded.chunk(encoded.num_chunks - 1).dictionary
    return _concatenate([_to_numpy(chunk.indices) for chunk in encoded.chunks], np.int32), dictionary


def _from_dictionary(parts: Sequence[pa.Array], kind: pa.DataType) -> tuple[Codes, pa.Array] | None:
    """As `_dictionary`, for one array that has a dictionary already, if nothing is missing."""
    if len(parts) != 1 or not isinstance(parts[0], pa.DictionaryArray) or parts[0].null_count:
        return None
    values = _plain(parts[0].dictionary, kind)
    if pc.any(pc.is_null(values, nan_is_null=True)).as_py():
        return None
    return _to_numpy(parts[0].indices).astype(np.int32), values


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


def canonical_rows(codes: Codes, lengths: NDArray[Any], n_items: int) -> tuple[Codes, NDArray[np.int64]]:
    """Sort each row, and drop duplicates within it."""
    from pdanon._kernels import rows

    codes, offsets = codes.astype(np.int32, copy=False), _offsets(lengths)
    same, is_used = np.arange(n_items, dtype=np.int32), np.empty(n_items, np.bool_)
    codes, offsets = rows.canonical_rows(codes, offsets, same, is_used, False)
    return codes, np.diff(offsets)


def relabelled_rows(
    codes: Codes, offsets: Offsets, targets: NDArray[Any], values: pa.Array, *, repeats: bool = False
) -> tuple[Codes, Offsets, pa.Array]:
    """Rows of other items, as codes into a sorted vocabulary of what is in them.

    Parameters
    ----------
    codes : ndarray of int32
        Codes, row after row, in any order; -1 for what is removed.
    offsets : ndarray of int64, shape (rows + 1,)
        Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
    targets : ndarray of int
        What each code becomes; -1 removes it.
    values : pyarrow.Array
        What the targets stand for. A value may be there twice, or be that of no target.
    repeats : bool
        Whether an item may be in a row several times.
    """
    from pdanon._kernels import rows

    encoded = values.dictionary_encode()
    order = _to_numpy(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(order) + 1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1
    number = np.append(_to_numpy(encoded.indices), -1)  # which is the target -1, counted from the end
    is_used = np.zeros(len(order), np.bool_)
    codes, offsets = rows.canonical_rows(
        codes.astype(np.int32, copy=False), offsets, rank[number[targets]], is_used, repeats
    )
    if not is_used.all():
        codes = (np.cumsum(is_used, dtype=np.int32) - np.int32(1))[codes]
    return codes, offsets, encoded.dictionary.take(pa.array(order[is_used]))


def compact(codes: Codes, vocabulary: pa.Array) -> tuple[Codes, pa.Array]:
    """Drop vocabulary entries that no code uses, and sort what is left."""
    is_used = np.zeros(len(vocabulary), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    entries = vocabulary.take(pa.array(used))
    order = _to_numpy(pc.sort_indices(entries))
    rank = np.full(len(vocabulary), -1, np.int32)
    rank[used[order]] = np.arange(len(used), dtype=np.int32)
    return rank[codes], entries.take(pa.array(order))


def _offsets(lengths: NDArray[Any]) -> Offsets:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _to_numpy(array: pa.Array) -> NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _concatenate(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype)


def _objects_to_arrow(rows: Iterable[Any]) -> pa.Array:
    """Build an Arrow list array from Python list-likes, after checking what they are."""
    lists: list[Any] = [None if is_missing(row) else row for row in rows]
    for number, row in enumerate(lists):
        one_dimensional = not isinstance(row, np.ndarray) or row.ndim == 1
        if row is not None and not (isinstance(row, ROW_TYPES) and one_dimensional):
            raise ItemsetDtypeError(
                "a row is not a list, tuple, set or one-dimensional array",
                where=f"row {number}",
                got=type(row).__name__,
                hint=LISTS_HINT,
            )
    lengths = np.array([0 if row is None else len(row) for row in lists], np.int64)
    items = _object_items(list(chain.from_iterable(row for row in lists if row is not None)))
    mask = pa.array([row is None for row in lists], pa.bool_())
    return pa.LargeListArray.from_arrays(_offsets(lengths), items, mask=mask)


def _object_items(items: list[Any]) -> pa.Array:
    """Build the Arrow array of Python items, all of one kind."""
    kind = pd.api.types.infer_dtype(items, skipna=True)
    if kind == "date" or kind.startswith("mixed"):
        types = {type(item) for item in items if not is_missing(item)}
        if kind != "date" or any(issubclass(each, datetime) for each in types):
            names = ", ".join(sorted(each.__name__ for each in types))
            raise ItemsetDtypeError("the items are not of one known type", got=names, hint=_ITEM_HINT)
    # Arrow left to itself tries no unsigned integers.
    for arrow_type in (None, pa.uint64()) if kind == "integer" else (None,):
        try:
            # Arrow alone would cut nanoseconds off and take times with and without a zone for each other.
            values = _TIME_INDEXES[kind](items) if kind in _TIME_INDEXES else items
            return pa.array(values, arrow_type, from_pandas=True)
        except (ArithmeticError, NotImplementedError, TypeError, ValueError):
            pass
    # Raised outside the handler: Arrow's own message would carry the item along as the context.
    raise ItemsetDtypeError("the items have no Arrow type", got=f"{kind} items", hint=_ITEM_HINT)
