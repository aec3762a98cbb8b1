"""Regions of a table that is read in parts: counts of each part, and the region of each of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.regions.value_cuts import Assignment, Histogram, cut_regions
from pdanon.algorithms.regions.values import LISTS, code_lists
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
