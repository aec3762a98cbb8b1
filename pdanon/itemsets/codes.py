"""Itemsets: the one door between Arrow or object columns of lists and integer codes.

Everything behind this door works on NumPy arrays of codes. Nothing else in the package, but for `lists` that
it reads with, touches Arrow buffers of lists, so what is true here (sets, sorted, no nulls, nothing left over
from the input) is true everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.itemsets import parallel
from pdanon.itemsets.compatibility import as_pandas_writes
from pdanon.itemsets.dtype import ListArray, is_text_type
from pdanon.itemsets.lists import (
    Codes,
    Offsets,
    arrow_lists,
    encode,
    item_type,
    object_items,
    object_lists,
    offsets_of,
    plain,
    to_numpy,
)
from pdanon.itemsets.validation import read_list

__all__ = [
    "Codes",
    "Itemsets",
    "Offsets",
    "as_itemsets",
    "canonical_rows",
    "compact",
    "find_items",
    "item_array",
    "item_texts",
    "join_columns",
    "relabel_rows",
]

_OFFSET_LIMIT = 2**31 - 1  # of Arrow's list and string types; the large_ types have none


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
        codes, offsets, vocabulary = relabel_rows(codes, offsets, np.arange(len(values)), values)
        return cls(codes, offsets, vocabulary, nulls)

    @classmethod
    def from_arrow_unsorted(cls, lists: pa.Array | pa.ChunkedArray) -> Itemsets:
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
    def n_present(self) -> int:
        """Number of transactions that are not missing, each as often as it counts."""
        present = ~self.nulls
        return int(present.sum() if self.weights is None else self.weights[present].sum())

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
        """Text that each item is published as, by code."""
        texts: list[str] = item_texts(self.vocabulary).to_pylist()
        return texts

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the occurrences of some rows are among all, row after row."""
        starts, ends = self.offsets[rows], self.offsets[rows + 1]
        before = np.cumsum(ends - starts) - (ends - starts)
        return np.arange((ends - starts).sum()) + np.repeat(starts - before, ends - starts)

    def take(self, rows: NDArray[np.int64]) -> Itemsets:
        """Some of the rows, with the vocabulary of all: an item of it may not occur in them."""
        weights = None if self.weights is None else self.weights[rows]
        offsets = offsets_of(self.offsets[rows + 1] - self.offsets[rows])
        return Itemsets(self.codes[self.places(rows)], offsets, self.vocabulary, self.nulls[rows], weights)

    def lookup(self, items: Iterable[Any]) -> Codes:
        """Codes of some items.

        Parameters
        ----------
        items : iterable
            Items of the vocabulary's type, or of another: see `find_items`.

        Returns
        -------
        ndarray of int32
            The code of each item, -1 for an item that does not occur.
        """
        if isinstance(items, pa.ChunkedArray):
            wanted = items.combine_chunks()
        else:
            wanted = items if isinstance(items, pa.Array) else object_items(list(items))
        return find_items(wanted, self.vocabulary)

    def missing_as_empty(self) -> Itemsets:
        """The same rows, but missing ones empty: who looks for an emptied row cannot leave them out."""
        return replace(self, nulls=np.zeros_like(self.nulls))

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
            *relabel_rows(self.codes, self.offsets, targets, vocabulary), self.nulls.copy(), self.weights
        )

    def relabel(self, occurrences: Codes, vocabulary: pa.Array) -> Itemsets:
        """Replace each occurrence on its own; as ``recode``, with a new code for each occurrence."""
        return replace(self, codes=occurrences).recode(np.arange(len(vocabulary)), vocabulary)

    def to_arrow(self, *, dictionary: bool = False) -> pa.Array:
        """Build the list array, from codes and vocabulary alone.

        Parameters
        ----------
        dictionary : bool
            Whether items are codes into a dictionary, as long texts that are there often should be. Texts
            that would take more than 1 GiB row after row always are.

        Returns
        -------
        pyarrow.ListArray or pyarrow.LargeListArray
            One list a row with items in vocabulary order. No byte of it comes from the array that was
            encoded except the vocabulary's own entries.
        """
        # Building a string array takes twice its size, and beyond this limit it cannot be built.
        too_long = pa.types.is_string(self.vocabulary.type) and text_exceeds(
            self.vocabulary, self.codes, _OFFSET_LIMIT // 2
        )
        if dictionary or too_long:
            items = pa.DictionaryArray.from_arrays(pa.array(self.codes), self.vocabulary)
        else:
            items = self.vocabulary.take(pa.array(self.codes))
        mask = pa.array(self.nulls) if self.nulls.any() else None
        if len(self.codes) <= _OFFSET_LIMIT:
            return pa.ListArray.from_arrays(self.offsets.astype(np.int32), items, mask=mask)
        return pa.LargeListArray.from_arrays(self.offsets, items, mask=mask)

    def to_pandas(self) -> ListArray:
        """Build the column as a pandas array of Arrow list dtype."""
        return ListArray(self.to_arrow())

    def __repr__(self) -> str:
        return f"Itemsets(rows={self.n_rows}, items={self.n_items}, occurrences={len(self.codes)})"


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
    name: Any = None
    if isinstance(lists, pd.Series):
        index, name = lists.index if index is None else index, lists.name
        itemsets = Itemsets.from_series(lists)
    elif isinstance(lists, (pa.Array, pa.ChunkedArray)):
        itemsets = Itemsets.from_arrow(lists)
    else:
        rows = lists if isinstance(lists, str) else read_list(lists, "the lists")
        itemsets = Itemsets.from_arrow(object_lists(rows))
    if index is not None and (not isinstance(index, pd.Index) or len(index) != itemsets.n_rows):
        got = f"{type(index).__name__} for {itemsets.n_rows} rows"
        raise ParameterError("index must be a pandas Index with a label for each row", where="index", got=got)
    return pd.Series(itemsets.to_pandas(), index=index, name=name)


def item_array(items: Any, name: str) -> pa.Array:
    """Read the items that a parameter names.

    Parameters
    ----------
    items : iterable or pyarrow.Array
        Items of one type, none of which is missing.
    name : str
        The parameter, for messages.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If it is no list of items, they are of several types, or one is missing.
    """
    hint = f"give a list of items, even for one: {name}=[...]"
    if isinstance(items, pa.ChunkedArray):
        items = items.combine_chunks()
    elif not isinstance(items, pa.Array):
        items = object_items(read_list(items, name, hint, "a list of items"), name)
    items = plain(items, item_type(items.type))
    missing = pc.is_null(items, nan_is_null=True)
    if pc.any(missing).as_py():
        where = f"{name}, position {pc.index(missing, True).as_py()}"
        raise ItemsetDtypeError("an item is missing (null or NaN)", where=where, hint="leave it out")
    return items


def join_columns(columns: Sequence[Itemsets]) -> tuple[Itemsets, Codes]:
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
    itemsets = Itemsets(
        codes[order].astype(np.int32), offsets_of(lengths), pa.array(texts, pa.string()), nulls
    )
    return itemsets, np.repeat(np.arange(len(columns), dtype=np.int32), counts)


def text_exceeds(vocabulary: pa.Array, codes: Codes, most: int) -> bool:
    """Tell whether texts, repeated as often as codes refer to them, exceed a number of bytes.

    Labels of sets are long, and a set of n items may be in n rows or lines.
    """
    if not is_text_type(vocabulary.type):
        return False
    lengths = to_numpy(pc.binary_length(vocabulary)).astype(np.int64)
    if len(codes) * int(lengths.max(initial=0)) <= most:
        return False
    return bool(np.bincount(codes, minlength=len(vocabulary)) @ lengths > most)


def canonical_rows(codes: Codes, offsets: Offsets, n_items: int) -> tuple[Codes, Offsets]:
    """Sort each row, and drop duplicates within it."""
    codes, offsets, _ = parallel.recode_rows(codes, offsets, np.arange(n_items), n_items)
    return codes, offsets


def relabel_rows(
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
    encoded = values.dictionary_encode()
    order = to_numpy(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(order) + 1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1
    number = np.append(to_numpy(encoded.indices), -1)  # which is the target -1, counted from the end
    becoming = rank[number[targets]]
    codes, offsets, is_used = parallel.recode_rows(codes, offsets, becoming, len(order), repeats=repeats)
    if not is_used.all():
        codes = (np.cumsum(is_used, dtype=np.int32) - np.int32(1))[codes]
    return codes, offsets, encoded.dictionary.take(pa.array(order[is_used]))


def compact(codes: Codes, vocabulary: pa.Array) -> tuple[Codes, pa.Array]:
    """Drop vocabulary entries that no code uses, and sort what is left."""
    is_used = np.zeros(len(vocabulary), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    entries = vocabulary.take(pa.array(used))
    order = to_numpy(pc.sort_indices(entries))
    rank = np.full(len(vocabulary), -1, np.int32)
    rank[used[order]] = np.arange(len(used), dtype=np.int32)
    return rank[codes], entries.take(pa.array(order))


# --- Matching: items of one type among those of another, and the text that an item is published as


# A fraction that ends with zeros, of a number or of a second, and the mark of UTC.
_ZEROS = r"(?:\.0+|(\.[0-9]*[1-9])0+)(Z?)$"


def item_texts(items: pa.Array) -> pa.Array:
    """Return the text that each item is published as.

    Parameters
    ----------
    items : pyarrow.Array
        Items of any type; null where one is missing.

    Returns
    -------
    pyarrow.LargeStringArray

    Notes
    -----
    Equal values have one text, whatever unit, scale or time zone their type has: fractions end without zeros,
    an instant is written in UTC, and a duration as pandas writes it.
    """
    kind = items.type
    if pa.types.is_duration(kind):
        return as_pandas_writes(items)
    if pa.types.is_decimal(kind):
        return _trimmed(_plain_texts(items.to_pylist()))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        items = items.cast(pa.timestamp(kind.unit, "UTC"))
    texts = items.cast(pa.large_string())
    return _trimmed(texts) if pa.types.is_timestamp(kind) or pa.types.is_time(kind) else texts


def find_items(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    """Find items among others; every parameter that names items is read by this function.

    Parameters
    ----------
    wanted : pyarrow.Array
        Items of any type; missing ones are not found.
    among : pyarrow.Array
        Items of any type.

    Returns
    -------
    ndarray of int32
        The first place of each item, -1 for one that is not there.

    Notes
    -----
    Numbers of different types are the same if their values are, and so are times, instants in any time zone
    and durations; a date is its midnight. A text is the same as an item that is published so, or that Arrow
    or pandas write so. All else is different: a truth value is no number, and a time with a zone is none
    without.
    """
    wanted, among = (plain(items, item_type(items.type)) for items in (wanted, among))
    if wanted.type == among.type:
        return _found(wanted, among)
    kinds = {_kind(wanted.type), _kind(among.type)}
    if "text" in kinds:
        return _by_text(wanted, among)
    if kinds == {"number"}:
        place: dict[object, int] = {}
        for number, value in enumerate(among.to_pylist()):
            place.setdefault(value, number)
        return np.fromiter(map(place.get, wanted.to_pylist(), repeat(-1)), np.int32, len(wanted))
    if len(kinds) == 1:
        return _found(_exactly(wanted, among.type), among)
    return np.full(len(wanted), -1, np.int32)


def _kind(kind: pa.DataType) -> str:
    """What values of a type are: only within a kind may two be the same."""
    types = pa.types
    if is_text_type(kind):
        return "text"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_timestamp(kind) and kind.tz is not None:
        return "instant"
    if types.is_timestamp(kind) or types.is_date(kind):
        return "date"
    return "clock" if types.is_time(kind) else str(kind.id)


def _found(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    found = pc.index_in(wanted, value_set=among, skip_nulls=True).fill_null(-1)
    return np.array(found.to_numpy(zero_copy_only=False), np.int32)


def _exactly(items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Items as of another type, missing where that changes them."""
    there = items.cast(kind, safe=False)
    return pc.if_else(pc.equal(there.cast(items.type, safe=False), items), there, None)


def _by_text(wanted: pa.Array, among: pa.Array) -> NDArray[np.int32]:
    found = np.full(len(wanted), -1, np.int32)
    for texts in _texts(wanted):
        for others in _texts(among):
            found = np.where(found < 0, _found(texts, others), found)
            if (found >= 0).all():
                return found
    return found


def _texts(items: pa.Array) -> Iterator[pa.Array]:
    """Write items as they are published, as an equal one of another type is, and as Arrow and pandas do."""
    kind = _kind(items.type)
    yield item_texts(items)
    if kind == "text":
        return
    if kind == "number":
        yield from _number_texts(items.to_pylist())
    if kind == "date":
        yield from (item_texts(_exactly(items, other)) for other in (pa.date32(), pa.timestamp("s")))
    if not pa.types.is_duration(items.type):  # of which Arrow writes only how many of its unit they are
        yield items.cast(pa.large_string())
    if kind == "instant":
        yield items.cast(pa.timestamp(items.type.unit, "UTC")).cast(pa.large_string())
    if not pa.types.is_integer(items.type):
        yield as_pandas_writes(items)


def _number_texts(values: list[Any]) -> Iterator[pa.Array]:
    """Write numbers as decimals, and as floats of each width where one is equal."""
    yield _trimmed(_plain_texts(values))
    for width, kind in ((np.float64, pa.float64()), (np.float32, pa.float32())):
        with np.errstate(over="ignore"):
            floats = [None if value is None else float(width(value)) for value in values]
        same = [one if one == value else None for one, value in zip(floats, values, strict=True)]
        yield pa.array(same, kind).cast(pa.large_string())


def _plain_texts(values: list[Any]) -> pa.Array:
    """Write numbers with all of their digits, and without an exponent."""
    return pa.array(
        [None if value is None else format(Decimal(value), "f") for value in values], pa.large_string()
    )


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, _ZEROS, r"\1\2")
