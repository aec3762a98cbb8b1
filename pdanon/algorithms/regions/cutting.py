"""Regions of similar rows of a table that is read in parts.

Counts of the parts give a histogram of the quasi-identifiers, and this the region of each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.regions.values import LISTS, code_lists
from pdanon.algorithms.relational.attributes import Attribute, cover_loss
from pdanon.algorithms.relational.quasi import QuasiTable
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.lists import sums
from pdanon.recoding.loss import (
    HASH_BITS,
    count_pairs,
    find_places,
    first_bits,
    hash_rows,
    pair_codes,
    sample_places,
)

# --- The histogram, and its cuts


_ALL_KEYS = 2**62  # keys fit 64 bits
_CUT_KEYS = 2**20  # bound the memory of cuts, whatever the number of rows


class Histogram:
    """The number of rows with each combination of values. Parts are added in any order.

    With ``coarse``, at most a million combinations are counted, which suffice to cut regions. With more,
    adjacent values of the columns with the most are counted together. Regions may cut them anywhere.
    ``is_exact`` is then False. ``sizes`` has the number of values of each column.
    """

    def __init__(self, sizes: Sequence[int], *, coarse: bool = False) -> None:
        self._shifts, self._sizes = [0] * len(sizes), [max(size, 1) for size in sizes]
        while prod(self._sizes) > (_CUT_KEYS if coarse else _ALL_KEYS):
            place = int(np.argmax(self._sizes))
            self._sizes[place] = -(-self._sizes[place] // 2)
            self._shifts[place] += 1
        self.keys: Numbers = np.empty(0, np.int64)
        self.rows: Numbers = np.empty(0, np.int64)

    @property
    def is_exact(self) -> bool:
        """Whether each combination is counted alone."""
        return not any(self._shifts)

    def keys_of(self, codes: Codes) -> Numbers:
        """Return the key of each row; keys ascend as combinations do."""
        keys = np.zeros(len(codes), np.int64)
        for column, shift, size in zip(codes.T, self._shifts, self._sizes, strict=True):
            keys = keys * size + (column >> shift)
        return keys

    def add(self, codes: Codes) -> None:
        """Count the rows of a part."""
        self._add(*np.unique(self.keys_of(codes), return_counts=True))

    def merge(self, other: Histogram) -> Histogram:
        """Return a histogram with the rows of another one of the same table."""
        both = copy(self)
        both._add(other.keys, other.rows)
        return both

    def find(self, codes: Codes) -> Codes:
        """Return the number of the combination of each row."""
        return np.searchsorted(self.keys, self.keys_of(codes)).astype(np.int32)

    def _add(self, keys: Numbers, rows: Numbers) -> None:
        keys, place = np.unique(np.concatenate((self.keys, keys)), return_inverse=True)
        self.rows = np.bincount(place, np.concatenate((self.rows, rows)), len(keys)).astype(np.int64)
        self.keys = keys

    def combinations(self) -> Codes:
        """Return the values of each combination; the first ones if several are counted together."""
        columns, keys = [], self.keys
        for shift, size in zip(self._shifts[::-1], self._sizes[::-1], strict=True):
            keys, codes = np.divmod(keys, size)
            columns.append((codes << shift).astype(np.int32))
        return np.column_stack(columns[::-1]) if len(self.keys) else np.empty((0, len(columns)), np.int32)


def cut_regions(
    attributes: Sequence[Attribute], histogram: Histogram, most: int
) -> list[tuple[Numbers, Numbers]]:
    """Cut a table into the fewest regions of a maximum number of rows, which differ little in size.

    A region is cut in its widest column, in the order of the values, then of their combinations. A cut may
    separate equal rows: the first ones are then in the first region. Return the combinations of each region,
    and their rows in it: in all at least ``(most + 1) // 2``, unless there is one region only.
    """
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

    def __init__(self, histogram: Histogram, regions: Sequence[tuple[Numbers, Numbers]]) -> None:
        self.n_regions = len(regions)
        self._histogram = histogram
        self._region = np.zeros(len(histogram.keys), np.int32)  # the last region of each combination
        shares: dict[int, list[tuple[int, int]]] = {}
        times = np.zeros(len(histogram.keys), np.int64)
        for which, _ in regions:
            times[which] += 1
        for number, (which, rows) in enumerate(regions):
            self._region[which] = number
            for place in np.flatnonzero(times[which] > 1).tolist():
                shares.setdefault(int(which[place]), []).append((number, int(rows[place])))
        self._split = np.array(sorted(shares), np.int64)  # combinations in several regions
        self._shares = [
            (np.array([number for number, _ in own]), np.cumsum([rows for _, rows in own]))
            for own in map(shares.__getitem__, self._split.tolist())
        ]

    @property
    def none(self) -> Numbers:
        """The counts of no rows."""
        return np.zeros(len(self._split), np.int64)

    def count(self, codes: Codes) -> Numbers:
        """Return the number of rows with each combination that is in several regions."""
        which, rows = np.unique(self._histogram.find(codes), return_counts=True)
        counts = np.zeros(len(self._region), np.int64)
        counts[which] = rows
        return counts[self._split]

    def of(self, codes: Codes, before: Numbers) -> NDArray[np.int32]:
        """Return the region of each row, given the counts of all rows before them."""
        which = self._histogram.find(codes)
        regions = self._region[which]
        for place in np.flatnonzero(np.isin(self._split, which)).tolist():
            rows = np.flatnonzero(which == self._split[place])
            numbers, ends = self._shares[place]
            ranks = before[place] + np.arange(len(rows))
            regions[rows] = numbers[np.searchsorted(ends, ranks, side="right")]
        return regions


# --- Counts and rows of a part


class Counts(NamedTuple):
    """Counts of some parts of a table."""

    histogram: Histogram  # rows with each combination of quasi-identifiers
    held: Numbers  # for the first 16 bits of hashes, the pairs of items in the rows with such a hash

    @classmethod
    def of(cls, sizes: Sequence[int], codes: Codes, itemsets: Itemsets | None) -> Counts:
        """Count a part, given the number of values of each column."""
        histogram, held = Histogram(sizes, coarse=True), np.zeros(2**HASH_BITS, np.int64)
        histogram.add(codes)
        if itemsets is not None:
            held += sums(first_bits(hash_rows(itemsets)), count_pairs(itemsets), len(held))
        return cls(histogram, held)

    def merge(self, other: Counts) -> Counts:
        """Add the counts of other parts."""
        return Counts(self.histogram.merge(other.histogram), self.held + other.held)


class PairSample(NamedTuple):
    """Sampled pairs of a table, as `pdanon.recoding.loss.draw_pairs` samples them."""

    near: NDArray[np.bool_]  # of the first 16 bits of the hashes of rows, those of sampled pairs
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


def merge_counts(parts: Iterable[Counts]) -> Counts:
    """Merge the counts of some parts."""
    return reduce(lambda one, other: one.merge(other), parts)


def assign_regions(table: QuasiTable, counts: Counts, most: int) -> Assignment:
    """Cut a table into regions of a maximum number of rows."""
    return Assignment(counts.histogram, cut_regions(table.attributes, counts.histogram, most))


@dataclass(frozen=True, eq=False, slots=True)
class SplitPart:
    """The rows of a part by region."""

    rows: pa.Table  # as codes, sorted by region
    order: Numbers  # place of each of them in the part
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
        return cls(pa.table(columns).take(pa.array(order)), order, counts, pairs)


_NO_PAIRS: Codes = np.empty((0, 2), np.int32)


def count_drawn(pairs: Sequence[Codes]) -> tuple[Codes, Numbers]:
    """Return the distinct pairs of all parts, and how often each was sampled."""
    codes, times = np.unique(np.concatenate([_NO_PAIRS, *pairs]), axis=0, return_counts=True)
    return codes, times


def in_order(released: pa.Table, order: Numbers) -> pa.Table:
    """Return the released rows of a part in their order, given those sorted by region."""
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return released.take(pa.array(places))
