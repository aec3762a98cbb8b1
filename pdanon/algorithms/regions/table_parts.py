"""Tables that are read in parts: their values and items as numbers, and regions of similar rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.relational.attributes import Attribute, cover_loss
from pdanon.algorithms.relational.quasi import QuasiTable
from pdanon.errors import ItemsetDtypeError
from pdanon.io.parquet import to_frame
from pdanon.io.trees import pandas_metadata
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, canonical_rows, find_items
from pdanon.itemsets.dtype import type_name
from pdanon.itemsets.encoded_columns import number_items
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import (
    QUASI_HINT,
    Mask,
    inverse_order,
    item_type,
    offsets_of,
    plain,
    sums,
    to_numpy,
)
from pdanon.recoding.loss import (
    HASH_BITS,
    count_pairs,
    find_places,
    first_bits,
    hash_rows,
    pair_codes,
    sample_places,
)

# --- Values and items


LISTS = "items"  # the column of lists in rows as numbers; others are numbered


class ColumnValues:
    """The distinct values of a column, a missing one included, and its categories if it has some."""

    def __init__(self, field: pa.Field) -> None:
        self._field = field
        self._values = pa.array([], self._comparable(field.type))
        self._categories = self._values if pa.types.is_dictionary(field.type) else None

    def add(self, column: pa.ChunkedArray) -> Codes:
        """Add the values of a part, and return the number of each."""
        column = _one_array(pa.chunked_array(column.chunks, column.type))
        if self._categories is not None:
            self._categories, _ = number_items(plain(column.dictionary, self._values.type), self._categories)
        column = plain(column, self._values.type)
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        coded = column.dictionary_encode(null_encoding="encode")
        self._values, numbers = number_items(coded.dictionary, self._values)
        return numbers[coded.indices.to_numpy()]

    def _comparable(self, kind: pa.DataType) -> pa.DataType:
        """Return the type that stores values of a type, as `Itemsets` does in memory."""
        try:
            return item_type(kind)
        except ItemsetDtypeError:
            pass  # raised outside the handler: that error is about items
        raise ItemsetDtypeError(
            "the values of a quasi-identifier cannot be compared",
            where=f"column {self._field.name!r}",
            got=f"type {type_name(self._field.type)}",
            hint=QUASI_HINT,
        )

    def merge(self, other: ColumnValues, where: str) -> None:
        """Add the values of the same column of a part."""
        if not other._has_type:
            self._values, _ = number_items(other._values.cast(self._values.type), self._values)
            return
        if not self._has_type:
            self._field, self._values = other._field, self._values.cast(other._values.type)
            self._categories = None if other._categories is None else other._categories.slice(0, 0)
        kinds = [each.type for each in (self._values, other._values)]
        if kinds[0] != kinds[1] or (self._categories is None) != (other._categories is None):
            raise ItemsetDtypeError(
                "the values of a partition have another type than those before",
                where=f"{where}, column {self._field.name!r}",
                got=f"{other._field.type} instead of {self._field.type}",
                hint="convert the column first, such as ddf.astype(...)",
            )
        self._values, _ = number_items(other._values, self._values)
        if other._categories is not None:
            self._categories, _ = number_items(other._categories, self._categories)

    def find(self, other: ColumnValues) -> Codes:
        """Return the number of each value of a part of the table, or of all parts."""
        if other is self:
            return np.arange(len(self), dtype=np.int32)
        return number_items(other._values.cast(self._values.type), self._values)[1]

    def to_arrow(self, size: int) -> pa.Array:
        """Return all values, and then copies of the last."""
        places = np.minimum(np.arange(size), max(len(self) - 1, 0))
        taken = pa.array(places, mask=places >= len(self))
        if self._categories is None:
            return self._values.take(taken)
        codes = pc.index_in(self._values, value_set=self._categories).take(taken)
        return pa.DictionaryArray.from_arrays(codes, self._categories, ordered=self._field.type.ordered)

    @property
    def _has_type(self) -> bool:
        """Whether a value or a category is known."""
        return self._values.null_count < len(self) or self._categories is not None

    def __len__(self) -> int:
        return len(self._values)


def value_frame(columns: Sequence[ColumnValues], schema: pa.Schema) -> pd.DataFrame:
    """Return a frame in which the first rows of each column are its values, as pandas reads them."""
    size = max(map(len, columns), default=0)
    arrays = [each.to_arrow(size) for each in columns]
    fields = [field.with_type(each.type) for field, each in zip(schema, arrays, strict=True)]
    noted = pa.schema(fields, pandas_metadata(schema, {}))
    table = pa.table(arrays, schema=noted)
    try:
        frame = to_frame(table)
    except (NotImplementedError, TypeError):  # pandas notes dtypes that it cannot read
        frame = to_frame(table, ignore_metadata=True)
    return frame.reset_index(drop=True)


class TableValues:
    """The distinct values and items of a table that is read in parts."""

    # The schema is that of the quasi-identifiers, with the metadata of the table. The labels are theirs.
    # ``label`` is that of the list column, if there is one. ``where`` names a part of the table for errors.

    def __init__(
        self, schema: pa.Schema, labels: Sequence[Hashable], label: Hashable | None, where: str = ""
    ) -> None:
        self.label, self.where = label, where
        self._labels, self._schema = list(labels), schema
        self._columns = [ColumnValues(field) for field in schema]
        self._items: pa.Array | None = None

    def add(self, quasi: Sequence[pa.ChunkedArray], itemsets: Itemsets | None) -> pa.Table:
        """Add the quasi-identifiers and the list column of a part, and return its rows as numbers."""
        codes = [each.add(column) for each, column in zip(self._columns, quasi, strict=True)]
        columns = {str(place): pa.array(own) for place, own in enumerate(codes)}
        if itemsets is not None:
            self._items, numbers = number_items(itemsets.vocabulary, self._items)
            columns[LISTS] = code_lists(numbers[itemsets.codes], itemsets.offsets, itemsets.nulls)
        return pa.table(columns)

    @classmethod
    def join(cls, parts: Sequence[TableValues]) -> TableValues:
        """Return the values and items of several parts, in order."""
        first = parts[0]
        joint = cls(first._schema, first._labels, first.label, first.where)
        for part in parts:
            for own, column in zip(joint._columns, part._columns, strict=True):
                own.merge(column, part.where)
            if part._items is not None:
                joint._items, _ = number_items(part._items, joint._items)
        return joint

    def frame(self) -> pd.DataFrame:
        """Return a frame with all values and items: those of each column in its first rows."""
        frame = value_frame(self._columns, self._schema)
        frame.columns = pd.Index(self._labels)
        if self.label is not None:
            items = pa.array([], pa.string()) if self._items is None else self._items
            offsets = np.minimum(np.arange(len(frame) + 1), 1) * len(items)
            lists = pa.ListArray.from_arrays(offsets.astype(np.int32), items)
            frame[self.label] = pd.arrays.ArrowExtensionArray(lists)
        return frame

    def places(self, own: TableValues) -> list[Codes]:
        """Return the row of `frame` with each value of a part of the table."""
        return [column.find(part) for column, part in zip(self._columns, own._columns, strict=True)]

    def find_items(self, vocabulary: pa.Array) -> Codes | None:
        """Return the code of each item in a vocabulary."""
        return None if self._items is None else find_items(self._items, vocabulary)


@frozen
class Encoder:
    """Encodes rows of numbers by the codes of a whole table."""

    values: TableValues
    table: QuasiTable  # quasi-identifiers of the frame of all values
    vocabulary: pa.Array | None  # items by code, if there is a list column

    @property
    def sizes(self) -> list[int]:
        """Number of values of each column."""
        return [each.n_values for each in self.table.attributes]

    def encode(self, rows: pa.Table, own: TableValues) -> tuple[Codes, Itemsets | None]:
        """Return the codes of values and items, given the values and items that the rows number."""
        places = enumerate(self.values.places(own))
        columns = [self.table.codes[of[to_numpy(rows[str(place)])], place] for place, of in places]
        itemsets = None
        if self.vocabulary is not None:
            itemsets = read_lists(rows, self.vocabulary, own.find_items(self.vocabulary))
        return np.column_stack(columns).astype(np.int32), itemsets


def code_lists(codes: Codes, offsets: Any, nulls: Any) -> pa.Array:
    """Return lists of codes as Arrow."""
    mask = pa.array(nulls) if nulls.any() else None
    return pa.ListArray.from_arrays(offsets.astype(np.int32), pa.array(codes.astype(np.int32)), mask=mask)


def read_lists(rows: pa.Table, vocabulary: pa.Array, numbers: Codes | None) -> Itemsets:
    """Return the lists of rows, with the code of each number if they are not codes yet."""
    lists = _one_array(rows[LISTS])
    nulls = lists.is_null().to_numpy(zero_copy_only=False)
    codes = to_numpy(lists.flatten()).astype(np.int32)
    offsets = offsets_of(to_numpy(pc.fill_null(pc.list_value_length(lists), 0)))
    if numbers is not None:
        codes, offsets = canonical_rows(numbers[codes], offsets, len(vocabulary))
    return Itemsets(codes, offsets, vocabulary, nulls)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


# --- The histogram, and its cuts


_ALL_KEYS = 2**62  # keys fit 64 bits
_CUT_KEYS = 2**20  # bound the memory of cuts, whatever the number of rows


class Histogram:
    """The number of rows with each combination of values. Parts are merged in any order."""

    # With ``coarse``, at most a million combinations are counted, which suffice to cut regions. With more,
    # adjacent values of the columns with the most are counted together. Regions may cut them anywhere.
    # ``is_exact`` is then False. ``sizes`` has the number of values of each column.

    def __init__(self, sizes: Sequence[int], *, coarse: bool = False) -> None:
        self._shifts, self._sizes = [0] * len(sizes), [max(size, 1) for size in sizes]
        while prod(self._sizes) > (_CUT_KEYS if coarse else _ALL_KEYS):
            place = int(np.argmax(self._sizes))
            self._sizes[place] = -(-self._sizes[place] // 2)
            self._shifts[place] += 1
        self.keys: Numbers = np.empty(0, np.int64)
        self.rows: Numbers = np.empty(0, np.int64)

    @classmethod
    def of(cls, codes: Codes, itemsets: object, sizes: Sequence[int], *, coarse: bool = False) -> Histogram:
        """Count the rows of a part."""
        histogram = cls(sizes, coarse=coarse)
        histogram.keys, histogram.rows = np.unique(histogram._keys_of(codes), return_counts=True)
        return histogram

    @property
    def is_exact(self) -> bool:
        """Whether each combination is counted alone."""
        return not any(self._shifts)

    def merge(self, other: Histogram) -> Histogram:
        """Return a histogram with the rows of another one of the same table."""
        both = copy(self)
        both.keys, places = np.unique(np.concatenate((self.keys, other.keys)), return_inverse=True)
        both.rows = sums(places, np.concatenate((self.rows, other.rows)), len(both.keys))
        return both

    def find(self, codes: Codes) -> Codes:
        """Return the number of the combination of each row."""
        return np.searchsorted(self.keys, self._keys_of(codes)).astype(np.int32)

    def combinations(self) -> Codes:
        """Return the values of each combination; the first ones if several are counted together."""
        codes = np.column_stack(np.unravel_index(self.keys, self._sizes))
        return (codes << self._shifts).astype(np.int32)

    def _keys_of(self, codes: Codes) -> Numbers:
        """Return the key of each row; keys ascend as combinations do."""
        return np.ravel_multi_index([*(codes >> self._shifts).T], self._sizes)


def cut_regions(
    attributes: Sequence[Attribute], histogram: Histogram, most: int
) -> list[tuple[Numbers, Numbers]]:
    """Cut a table into the fewest regions of a maximum number of rows, which differ little in size."""
    # A cut may separate equal rows: each region then has ``(most + 1) // 2`` rows or more.
    combinations, rows = histogram.combinations(), histogram.rows
    waiting = [(np.arange(len(rows)), rows, -(-int(rows.sum()) // most))]
    found: list[tuple[Numbers, Numbers]] = []
    while waiting:
        which, own, parts = waiting.pop()
        if parts <= 1:
            found.append((which, own))
            continue
        columns = zip(attributes, combinations[which].T, strict=True)
        widths = [cover_loss(each, codes) for each, codes in columns]
        widest = int(np.argmax(widths))  # ties: the first column
        order = np.lexsort((which, combinations[which, widest]))
        which, own = which[order], own[order]
        ends = np.cumsum(own)
        cut = int(ends[-1]) * (parts // 2) // parts  # proportional: regions differ by one row at most
        place = int(np.searchsorted(ends, cut))
        left, right = own[: place + 1].copy(), own[place:].copy()
        left[-1], right[0] = cut - (ends[place] - own[place]), ends[place] - cut
        kept = slice(None) if right[0] else slice(1, None)
        waiting.append((which[place:][kept], right[kept], parts - parts // 2))
        waiting.append((which[: place + 1], left, parts // 2))
    return found


class Assignment:
    """The region of each row, given the number of equal rows before it; for regions of `cut_regions`."""

    # All rows of the table, sorted by combination and then as they come, are cut into stretches of a region.

    def __init__(self, histogram: Histogram, regions: Sequence[tuple[Numbers, Numbers]]) -> None:
        self.n_regions, self._histogram = len(regions), histogram
        which, rows = (np.concatenate(own) for own in zip(*regions, strict=True))
        region = np.repeat(np.arange(self.n_regions), [len(own) for own, _ in regions])
        order = np.lexsort((region, which))
        self._region, self._ends = region[order].astype(np.int32), np.cumsum(rows[order])
        self._split = np.flatnonzero(np.bincount(which) > 1)  # combinations in several regions

    @property
    def none(self) -> Numbers:
        """The counts of no rows."""
        return np.zeros(len(self._split), np.int64)

    def count(self, codes: Codes) -> Numbers:
        """Return the number of rows with each combination that is in several regions."""
        return np.bincount(self._histogram.find(codes), minlength=len(self._histogram.keys))[self._split]

    def of(self, codes: Codes, before: Numbers) -> Codes:
        """Return the region of each row, given the counts of all rows before them."""
        which, places = self._histogram.find(codes), offsets_of(self._histogram.rows)
        places[self._split] += before
        ranks = pd.Series(which).groupby(which).cumcount().to_numpy()
        return self._region[np.searchsorted(self._ends, places[which] + ranks, side="right")]


# --- Counts and rows of a part


class Counts(NamedTuple):
    """Counts of some parts of a table."""

    histogram: Histogram  # rows with each combination of quasi-identifiers
    held: Numbers  # for the first 16 bits of hashes, the pairs of items in the rows with such a hash

    @classmethod
    def of(cls, codes: Codes, itemsets: Itemsets | None, sizes: Sequence[int]) -> Counts:
        """Count a part, given the number of values of each column."""
        histogram, held = Histogram.of(codes, itemsets, sizes, coarse=True), np.zeros(2**HASH_BITS, np.int64)
        if itemsets is not None:
            held += sums(first_bits(hash_rows(itemsets)), count_pairs(itemsets), len(held))
        return cls(histogram, held)

    def merge(self, other: Counts) -> Counts:
        """Add the counts of other parts."""
        return Counts(self.histogram.merge(other.histogram), self.held + other.held)


class PairSample(NamedTuple):
    """Sampled pairs of a table, as `pdanon.recoding.loss.draw_pairs` samples them."""

    near: Mask  # of the first 16 bits of the hashes of rows, those of sampled pairs
    places: Numbers  # place of each pair among the pairs of rows with these bits

    @classmethod
    def of(cls, counts: Counts) -> PairSample:
        """Sample pairs, given the counts of all parts."""
        return cls(*sample_places(counts.held))

    def rows(self, itemsets: Itemsets | None) -> NearRows:
        """Return the rows of a part that may have a sampled pair."""
        if itemsets is None:
            return NearRows(np.empty(0, np.uint64), _NONE, _NONE)
        hashes, pairs = hash_rows(itemsets), count_pairs(itemsets)
        rows = np.flatnonzero(self.near[first_bits(hashes)] & (pairs > 0))
        return NearRows(hashes[rows], pairs[rows], rows)

    def draw(self, parts: Sequence[NearRows]) -> list[Drawn]:
        """Return the sampled pairs of each part."""
        hashes, pairs, rows = (np.concatenate(own) for own in zip(*parts, strict=True))
        found, within = find_places(hashes, pairs, pairs, self.places)
        part_of = np.repeat(np.arange(len(parts)), [len(each.rows) for each in parts])[found]
        return [
            Drawn(rows[found[part_of == number]], within[part_of == number]) for number in range(len(parts))
        ]


class NearRows(NamedTuple):
    """The hashes, numbers of pairs and row numbers of rows that may have a sampled pair."""

    hashes: NDArray[np.uint64]
    pairs: Numbers
    rows: Numbers


_NONE: Numbers = np.empty(0, np.int64)


class Drawn(NamedTuple):
    """Sampled pairs of a part."""

    rows: Numbers  # row of each pair
    within: Numbers  # number of the pair among those of its row


def look_near(
    codes: Codes, itemsets: Itemsets | None, sample: PairSample, assignment: Assignment
) -> tuple[NearRows, Numbers]:
    """Return the rows of a part that may have a sampled pair, and the counts before the next part."""
    return sample.rows(itemsets), assignment.count(codes)


@frozen
class SplitPart:
    """The rows of a part by region."""

    rows: pa.Table  # as codes, sorted by region
    places: NDArray[np.int32]  # place of each row of the part among them
    counts: Numbers  # number of rows of each region
    pairs: Codes  # sampled pairs of the part, shape (pairs, 2)

    @classmethod
    def of(
        cls, codes: Codes, itemsets: Itemsets | None, assignment: Assignment, before: Numbers, drawn: Drawn
    ) -> SplitPart:
        """Split a part, given the counts of `Assignment` before it."""
        columns, pairs = {str(place): pa.array(own) for place, own in enumerate(codes.T)}, _NO_PAIRS
        if itemsets is not None:
            columns[LISTS] = code_lists(itemsets.codes, itemsets.offsets, itemsets.nulls)
            pairs = pair_codes(itemsets, drawn.rows, drawn.within)
        region_of = assignment.of(codes, before)
        order = np.argsort(region_of, kind="stable")  # rows of a region keep their order
        counts = np.bincount(region_of, minlength=assignment.n_regions)
        places = inverse_order(order).astype(np.int32)
        return cls(pa.table(columns).take(pa.array(order)), places, counts, pairs)


_NO_PAIRS: Codes = np.empty((0, 2), np.int32)


def count_drawn(pairs: Sequence[Codes]) -> tuple[Codes, Numbers]:
    """Return the distinct pairs of all parts, and how often each was sampled."""
    codes, times = np.unique(np.concatenate([_NO_PAIRS, *pairs]), axis=0, return_counts=True)
    return codes, times
