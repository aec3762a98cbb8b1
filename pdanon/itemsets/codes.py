"""Itemsets: list columns as integer codes, converted from and to Arrow."""

# All algorithms work on NumPy arrays of codes. Only this module and `lists` touch Arrow buffers of lists.
# So their guarantees hold everywhere: rows are sorted sets without nulls, or multisets where ``repeats`` says
# so, and nothing of the input's buffers reaches a release.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.itemsets import row_loops
from pdanon.itemsets.dtype import ListArray, as_pandas_writes, is_text_type
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import (
    Codes,
    Mask,
    Numbers,
    Offsets,
    append_rows,
    arrow_lists,
    encode,
    inverse_order,
    item_type,
    mask_at,
    object_items,
    object_lists,
    offsets_of,
    plain,
    ranges,
    rows_of,
    take_rows,
    to_numpy,
)
from pdanon.itemsets.validation import check_known, read_list

__all__ = [
    "MISSING",
    "Codes",
    "Itemsets",
    "Mask",
    "Numbers",
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

MISSING = ("refuse", "drop")  # treatments of missing items
_OFFSET_LIMIT = 2**31 - 1  # Arrow's list and string types have offsets of 32 bits, the large_ types of 64


@frozen
class Itemsets:
    """A column of sets of items, as codes into a sorted vocabulary."""

    # Row ``i`` is ``codes[offsets[i]:offsets[i + 1]]``, ascending and distinct; rows made with ``repeats``
    # are multisets. Code ``c`` stands for ``vocabulary[c]``. The vocabulary has the distinct items that
    # occur, in ascending order.
    #
    # Memory: 4 bytes per occurrence, 9 bytes per row, and the vocabulary.

    codes: Codes
    offsets: Offsets
    vocabulary: pa.Array
    nulls: Mask  # rows that are missing, as opposed to empty
    weights: Numbers | None = None  # number of transactions of each row; by default 1

    @classmethod
    def from_arrow(
        cls, lists: pa.Array | pa.ChunkedArray, *, repeats: bool = False, drop_missing: bool = False
    ) -> Itemsets:
        """Encode an Arrow list array of any layout, slices and chunks: ``list``, ``list_view``, and so on."""
        # Items are of a primitive, string or dictionary type. Refuse items that are null, or have no order or
        # text. With ``repeats``, rows keep repeated items. With ``drop_missing``, null items are left out.
        codes, offsets, values, nulls = encode(lists, drop_missing=drop_missing)
        return cls(*relabel_rows(codes, offsets, np.arange(len(values)), values, repeats=repeats), nulls)

    @classmethod
    def from_arrow_unsorted(cls, lists: pa.Array | pa.ChunkedArray) -> Itemsets:
        """Encode as `from_arrow`, but leave rows and vocabulary unsorted, with duplicates, for `recode`."""
        return cls(*encode(lists))

    @classmethod
    def from_series(cls, series: pd.Series[Any], *, repeats: bool = False) -> Itemsets:
        """Encode a pandas Series of Arrow lists, or of objects that are lists, tuples, sets or arrays."""
        # Missing values are null rows. Items have one type, and none is null. Text is never parsed, even if
        # it looks like a list.
        return cls.from_arrow(arrow_lists(series), repeats=repeats)

    @property
    def n_rows(self) -> int:
        """Number of rows, missing and empty ones included."""
        return len(self.offsets) - 1

    @property
    def n_present(self) -> int:
        """Number of transactions that are not missing."""
        present = ~self.nulls
        return int(present.sum() if self.weights is None else self.weights[present].sum())

    @property
    def n_items(self) -> int:
        """Number of distinct items that occur."""
        return len(self.vocabulary)

    @property
    def lengths(self) -> Numbers:
        """Number of distinct items of each row; 0 for missing rows."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Numbers:
        """Row number of each occurrence."""
        return rows_of(self.offsets)

    @property
    def occurrence_weights(self) -> Numbers | None:
        """Number of transactions that the row of each occurrence stands for; None if all are 1."""
        return None if self.weights is None else np.repeat(self.weights, self.lengths)

    def texts(self) -> list[str]:
        """Return the published text of each item, by code."""
        texts: list[str] = item_texts(self.vocabulary).to_pylist()
        return texts

    def places(self, rows: Numbers) -> Numbers:
        """Return the positions in ``codes`` of the occurrences of some rows."""
        starts = self.offsets[rows]
        return ranges(starts, self.offsets[rows + 1] - starts)[1]

    def take(self, rows: Numbers) -> Itemsets:
        """Take some rows. The vocabulary stays, so it may hold items that none of them has."""
        weights = None if self.weights is None else self.weights[rows]
        codes, offsets = take_rows(self.codes, self.offsets, rows)
        return Itemsets(codes, offsets, self.vocabulary, self.nulls[rows], weights)

    def lookup(self, items: Iterable[Any]) -> Codes:
        """Return the codes of items of any type, as `find_items`; -1 for those that do not occur."""
        if isinstance(items, pa.ChunkedArray):
            items = items.combine_chunks()
        wanted = items if isinstance(items, pa.Array) else object_items(list(items))
        return find_items(wanted, self.vocabulary)

    def in_codes_of(self, other: Itemsets) -> Itemsets:
        """Return the rows with the codes of another column; items that it lacks are left out."""
        targets = other.lookup(self.vocabulary)
        codes, offsets, _ = row_loops.recode_rows(self.codes, self.offsets, targets, other.n_items)
        return replace(self, codes=codes, offsets=offsets, vocabulary=other.vocabulary)

    def rename(self, names: dict[str, str], *, repeats: bool = False) -> Itemsets:
        """Replace the texts of some items by other ones."""
        texts = pa.array([names.get(text, text) for text in self.texts()], pa.string())
        return self.recode(np.arange(self.n_items), texts, repeats=repeats)

    def missing_as_empty(self) -> Itemsets:
        """Turn missing rows into empty ones, which are then indistinguishable from emptied rows."""
        return replace(self, nulls=np.zeros_like(self.nulls))

    def recode(self, targets: NDArray[Any], vocabulary: pa.Array, *, repeats: bool = False) -> Itemsets:
        """Replace each item by another of a vocabulary, or remove it with -1."""
        # Rows get no duplicates, except with ``repeats``. Unused entries of the vocabulary are dropped. No
        # buffer is shared.
        rows = relabel_rows(self.codes, self.offsets, targets, vocabulary, repeats=repeats)
        return Itemsets(*rows, self.nulls.copy(), self.weights)

    def keep_items(self, items: Mask, *, repeats: bool = False) -> Itemsets:
        """Remove all other items from the rows; a row without such an item becomes empty."""
        return self.recode(np.where(items, np.arange(self.n_items), -1), self.vocabulary, repeats=repeats)

    def relabel(self, occurrences: Codes, vocabulary: pa.Array, *, repeats: bool = False) -> Itemsets:
        """Recode with a new code for each occurrence, instead of one for each item."""
        own = replace(self, codes=occurrences)
        return own.recode(np.arange(len(vocabulary)), vocabulary, repeats=repeats)

    def to_arrow(self, *, dictionary: bool = False) -> pa.Array:
        """Build the list array, from codes and vocabulary alone: one list per row, items in vocabulary order.

        With ``dictionary``, items are codes into a dictionary, which saves memory if long texts repeat. Texts
        of more than 1 GiB are always stored so.
        """
        # Arrow's builder of strings may reserve twice the size, and cannot exceed this limit.
        is_string = pa.types.is_string(self.vocabulary.type)
        if dictionary or (is_string and text_exceeds(self.vocabulary, self.codes, _OFFSET_LIMIT // 2)):
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


def as_itemsets(lists: Any, *, index: pd.Index[Any] | None = None, missing: str = "refuse") -> pd.Series[Any]:
    """Convert a sequence of list-likes into a Series of Arrow lists.

    Parameters
    ----------
    lists : Series, Arrow array, or iterable of list-likes
        One list, tuple, set or array per row; None for a missing row.
    index : pandas.Index, optional
        Index of the result. A Series keeps its own by default.
    missing : {"refuse", "drop"}
        Whether to refuse or to leave out missing items inside lists, as spreadsheets leave them.

    Returns
    -------
    pandas.Series
        Dtype ``ArrowDtype(list<...>)``. Each row is sorted and has no duplicates.

    Raises
    ------
    ItemsetDtypeError
        If a row is not list-like, an item is missing or the items have several types.

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
        lists = arrow_lists(lists)
    elif not isinstance(lists, (pa.Array, pa.ChunkedArray)):
        lists = object_lists(lists if isinstance(lists, str) else read_list(lists, "the lists"))
    check_known(missing, MISSING, "treatment of missing items", where="missing")
    itemsets = Itemsets.from_arrow(lists, drop_missing=missing == "drop")
    if index is not None and (not isinstance(index, pd.Index) or len(index) != itemsets.n_rows):
        got = f"{type(index).__name__} for {itemsets.n_rows} rows"
        raise ParameterError("index must be a pandas Index with a label for each row", where="index", got=got)
    return pd.Series(itemsets.to_pandas(), index=index, name=name)


def item_array(items: Any, name: str) -> pa.Array:
    """Read the items of a parameter, which are of one type, and none is missing."""
    hint = f"pass a list of items, even for one: {name}=[...]"
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
    """Join several columns of the same rows into one, and return the column of each item."""
    # Equal items of different columns stay different items. They are numbered column by column, and their
    # text begins with the number of the column.
    if len(columns) == 1:
        return columns[0], np.zeros(columns[0].n_items, np.int32)
    counts = [column.n_items for column in columns]
    first = np.cumsum([0, *counts], dtype=np.int32)
    numbered = zip(columns, first, strict=False)
    codes, offsets = append_rows([(column.codes + start, column.offsets) for column, start in numbered])
    texts = [f"{number}: {text}" for number, column in enumerate(columns) for text in column.texts()]
    nulls = np.logical_and.reduce([column.nulls for column in columns])
    itemsets = Itemsets(codes, offsets, pa.array(texts, pa.string()), nulls)
    return itemsets, np.repeat(np.arange(len(columns), dtype=np.int32), counts)


def text_exceeds(vocabulary: pa.Array, codes: Codes, most: int) -> bool:
    """Return whether the texts of all codes exceed a number of bytes."""
    # Labels of sets are long, and a set of n items may be in n rows or lines.
    if not is_text_type(vocabulary.type):
        return False
    lengths = to_numpy(pc.binary_length(vocabulary)).astype(np.int64)
    if len(codes) * int(lengths.max(initial=0)) <= most:
        return False
    return bool(np.bincount(codes, minlength=len(vocabulary)) @ lengths > most)


def canonical_rows(codes: Codes, offsets: Offsets, n_items: int) -> tuple[Codes, Offsets]:
    """Sort each row and drop its duplicates."""
    codes, offsets, _ = row_loops.recode_rows(codes, offsets, np.arange(n_items), n_items)
    return codes, offsets


def relabel_rows(
    codes: Codes, offsets: Offsets, targets: NDArray[Any], values: pa.Array, *, repeats: bool = False
) -> tuple[Codes, Offsets, pa.Array]:
    """Replace the items of rows, and build the sorted vocabulary of the new ones."""
    # The result is as the fields of `Itemsets`. Codes of a row have any order. An occurrence of code -1, or
    # whose target is -1, is removed. ``values`` are the items of the targets; they may repeat or be unused.
    # With ``repeats``, rows keep duplicates.
    encoded = values.dictionary_encode()
    order = to_numpy(pc.sort_indices(encoded.dictionary))
    rank = inverse_order(order.astype(np.int32))
    number = np.append(rank[to_numpy(encoded.indices)], np.int32(-1))  # the last entry is that of target -1
    becoming = number[targets]
    codes, offsets, is_used = row_loops.recode_rows(codes, offsets, becoming, len(order), repeats=repeats)
    if not is_used.all():
        codes = (np.cumsum(is_used, dtype=np.int32) - np.int32(1))[codes]
    return codes, offsets, encoded.dictionary.take(pa.array(order[is_used]))


def compact(codes: Codes, vocabulary: pa.Array) -> tuple[Codes, pa.Array]:
    """Drop unused entries of a vocabulary, and sort the others."""
    is_used = mask_at(len(vocabulary), codes)
    used = np.flatnonzero(is_used)
    entries = vocabulary.take(pa.array(used))
    order = to_numpy(pc.sort_indices(entries))
    rank = np.full(len(vocabulary), -1, np.int32)
    rank[used[order]] = np.arange(len(used), dtype=np.int32)
    return rank[codes], entries.take(pa.array(order))


# --- Matching items of different types, and published texts


# Trailing zeros of a fraction, of a number or of a second, before the mark of UTC.
_ZEROS = r"(?:\.0+|(\.[0-9]*[1-9])0+)(Z?)$"


def item_texts(items: pa.Array) -> pa.Array:
    """Return the published text of each item; null where one is missing."""
    # Equal values have equal texts, whatever the unit, scale or time zone of their type. Fractions have no
    # trailing zeros, instants are written in UTC, and durations as pandas writes them.
    kind = items.type
    if pa.types.is_duration(kind):
        return as_pandas_writes(items)
    if pa.types.is_decimal(kind):
        return _decimal_texts(items.to_pylist())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        items = items.cast(pa.timestamp(kind.unit, "UTC"))
    texts = items.cast(pa.large_string())
    return _trim_zeros(texts) if pa.types.is_timestamp(kind) or pa.types.is_time(kind) else texts


def find_items(wanted: pa.Array, among: pa.Array) -> Codes:
    """Return the first position of each wanted item among others, -1 if it is absent or missing."""
    # Every parameter that lists items is matched by this function. Numbers, times, instants and durations
    # match if their values are equal, whatever their types and time zones. A date matches its midnight. A
    # text matches an item that pdanon, Arrow or pandas write so. Nothing else matches: a boolean is no
    # number, and an instant is no time without a zone.
    wanted, among = (plain(items, item_type(items.type)) for items in (wanted, among))
    if wanted.type == among.type:
        return _match(wanted, among)
    kinds = {_kind(wanted.type), _kind(among.type)}
    found = np.full(len(wanted), -1, np.int32)
    if "text" in kinds:
        for texts in _all_texts(wanted):
            for others in _all_texts(among):
                found = np.where(found < 0, _match(texts, others), found)
                if (found >= 0).all():
                    return found
        return found
    if kinds == {"number"}:
        # Python compares numbers of all types exactly; a cast of Arrow would round large integers.
        place: dict[object, int] = {}
        for number, value in enumerate(among.to_pylist()):
            place.setdefault(value, number)
        return np.fromiter(map(place.get, wanted.to_pylist(), repeat(-1)), np.int32, len(wanted))
    if len(kinds) == 1:
        return _match(_cast_exactly(wanted, among.type), among)
    return found


def _kind(kind: pa.DataType) -> str:
    """Return the kind of a type: only values of one kind can be equal."""
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


def _match(wanted: pa.Array, among: pa.Array) -> Codes:
    """Find items among others of the same type."""
    found = pc.index_in(wanted, value_set=among, skip_nulls=True).fill_null(-1)
    return to_numpy(found).astype(np.int32)


def _cast_exactly(items: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast items to another type; null where the value changes."""
    cast = items.cast(kind, safe=False)
    return pc.if_else(pc.equal(cast.cast(items.type, safe=False), items), cast, None)


def _all_texts(items: pa.Array) -> Iterator[pa.Array]:
    """Write items as published, as equal items of other types, and as Arrow and pandas write them."""
    kind = _kind(items.type)
    yield item_texts(items)
    if kind == "text":
        return
    if kind == "number":
        values = items.to_pylist()
        yield _decimal_texts(values)
        for width, other in ((np.float64, pa.float64()), (np.float32, pa.float32())):  # where they are exact
            with np.errstate(over="ignore"):
                floats = [None if value is None else float(width(value)) for value in values]
            same = [one if one == value else None for one, value in zip(floats, values, strict=True)]
            yield pa.array(same, other).cast(pa.large_string())
    if kind == "date":
        yield from (item_texts(_cast_exactly(items, other)) for other in (pa.date32(), pa.timestamp("s")))
    if not pa.types.is_duration(items.type):  # Arrow writes durations as bare counts, without the unit
        yield items.cast(pa.large_string())
    if kind == "instant":
        yield items.cast(pa.timestamp(items.type.unit, "UTC")).cast(pa.large_string())
    if not pa.types.is_integer(items.type):
        yield as_pandas_writes(items)


def _decimal_texts(values: list[Any]) -> pa.Array:
    """Write numbers with all digits and without an exponent."""
    texts = [None if value is None else format(Decimal(value), "f") for value in values]
    return _trim_zeros(pa.array(texts, pa.large_string()))


def _trim_zeros(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, _ZEROS, r"\1\2")


# --- Multisets: columns whose rows may repeat a label, as in releases by Clump

# A reader of such a row sees how often it repeats a label. So audits count each repetition as another label,
# a copy. Copies are entries of the vocabulary of their own, next to the first copy.


def read_in_order(series: pd.Series[Any]) -> Itemsets:
    """Encode a column of lists with their repeated items, in their order. Rows that are sets are sorted."""
    codes, offsets, values, nulls = encode(arrow_lists(series))
    encoded = values.dictionary_encode()
    codes, values = compact(to_numpy(encoded.indices)[codes], encoded.dictionary)
    if series.dtype == object:
        unordered = np.array([isinstance(row, Set) for row in series.array], np.bool_)
        rows = rows_of(offsets)
        codes = codes[np.lexsort((np.where(unordered[rows], codes, np.arange(len(codes))), rows))]
    return Itemsets(codes, offsets, values, nulls)


def read_visible(series: pd.Series[Any]) -> Itemsets:
    """Encode a column of lists as its readers see it: repetitions of a label in a row become copies."""
    return encode_visible(arrow_lists(series))


def encode_visible(lists: pa.Array | pa.ChunkedArray) -> Itemsets:
    """Encode an Arrow list array as `read_visible`."""
    bags = Itemsets.from_arrow(lists, repeats=True)
    starts = np.ones(len(bags.codes), np.bool_)  # of runs of a label within a row
    starts[1:] = bags.codes[1:] != bags.codes[:-1]
    starts[bags.offsets[:-1][bags.lengths > 0]] = True
    if starts.all():
        return bags
    places = np.arange(len(starts))
    copy = places - np.maximum.accumulate(np.where(starts, places, 0))
    most = int(copy.max()) + 1
    found, codes = np.unique(bags.codes * np.int64(most) + copy, return_inverse=True)
    vocabulary = bags.vocabulary.take(pa.array(found // most))
    return replace(bags, codes=codes.astype(np.int32), vocabulary=vocabulary)


def without_items(series: pd.Series[Any], items: pa.Array) -> pd.api.extensions.ExtensionArray:
    """Return a column of lists without some items; other repetitions stay."""
    bags = Itemsets.from_series(series, repeats=True)
    return bags.keep_items(find_items(bags.vocabulary, items) < 0, repeats=True).to_pandas()


def first_copies(vocabulary: pa.Array) -> Numbers:
    """Return the position of the first copy of each entry of a vocabulary."""
    return to_numpy(pc.index_in(vocabulary, value_set=vocabulary)).astype(np.int64)


def add_first_copies(codes: Codes, offsets: Offsets, vocabulary: pa.Array) -> tuple[Codes, Offsets]:
    """Add to each itemset the earlier copies of its items, so that it reads like a row that holds them."""
    before = np.arange(len(vocabulary)) - first_copies(vocabulary)
    if not before.any():
        return codes, offsets
    lengths = before[codes] + 1
    bounds = offsets_of(lengths)
    codes = np.repeat(codes - bounds[1:] + 1, lengths) + np.arange(bounds[-1])
    return canonical_rows(codes, bounds[offsets], len(vocabulary))
