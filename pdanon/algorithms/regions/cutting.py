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
from pdanon.recoding.loss import count_pairs, draw_places, hash_rows, pair_codes


class Counts(NamedTuple):
    """Counts of some parts of a table.

    Parameters
    ----------
    histogram : Histogram
        The rows with each combination of quasi-identifiers.
    hashes, pairs : list of ndarray
        For each part, the hash and the number of pairs of each row with at least two items.
    """

    histogram: Histogram
    hashes: list[NDArray[np.uint64]]
    pairs: list[Numbers]

    @classmethod
    def of(cls, sizes: Sequence[int], codes: Codes, itemsets: Itemsets | None) -> Counts:
        """Count a part, given the number of values of each column."""
        histogram, hashes, pairs = (
            Histogram(sizes, coarse=True),
            np.empty(0, np.uint64),
            np.empty(0, np.int64),
        )
        histogram.add(codes)
        if itemsets is not None:
            counts = count_pairs(itemsets)
            filled = np.flatnonzero(counts)
            hashes, pairs = hash_rows(itemsets)[filled], counts[filled]
        return cls(histogram, [hashes], [pairs])

    def merge(self, other: Counts) -> Counts:
        """Add the counts of the parts after them."""
        histogram = self.histogram.merge(other.histogram)
        return Counts(histogram, self.hashes + other.hashes, self.pairs + other.pairs)

    def draw_pairs(self) -> list[Drawn]:
        """Sample pairs as `pdanon.recoding.loss.draw_pairs` does; return those of each part."""
        place, within = draw_places(np.concatenate(self.hashes), np.concatenate(self.pairs))
        starts = np.cumsum([0, *map(len, self.hashes)])
        part_of = np.searchsorted(starts, place, side="right") - 1
        return [
            Drawn(place[part_of == number] - starts[number], within[part_of == number])
            for number in range(len(self.hashes))
        ]


class Drawn(NamedTuple):
    """Sampled pairs of a part.

    Parameters
    ----------
    rows : ndarray of int64
        The row of each pair, among those with at least two items.
    within : ndarray of int64
        The number of the pair among those of its row.
    """

    rows: Numbers
    within: Numbers

    def codes(self, itemsets: Itemsets) -> Codes:
        """Return the items of each pair."""
        filled = np.flatnonzero(count_pairs(itemsets))
        return pair_codes(itemsets, filled[self.rows], self.within)


def merge_counts(parts: Iterable[Counts]) -> Counts:
    """Merge the counts of adjacent parts, in order."""
    return reduce(lambda one, other: one.merge(other), parts)


def assign_regions(table: QuasiTable, counts: Counts, most: int) -> Assignment:
    """Cut a table into regions of a maximum number of rows."""
    return Assignment(counts.histogram, cut_regions(table.attributes, counts.histogram, most))


@dataclass(frozen=True, eq=False, slots=True)
class SplitPart:
    """The rows of a part by region.

    Parameters
    ----------
    rows : pyarrow.Table
        The rows as codes, sorted by region.
    order : ndarray of int64
        The place in the part of each of them.
    counts : ndarray of int64, shape (regions,)
        Number of rows of each region.
    pairs : ndarray of int32, shape (pairs, 2)
        The sampled pairs of the part.
    """

    rows: pa.Table
    order: Numbers
    counts: Numbers
    pairs: Codes

    @classmethod
    def of(
        cls, codes: Codes, itemsets: Itemsets | None, assignment: Assignment, before: Numbers, drawn: Drawn
    ) -> SplitPart:
        """Split a part, given the counts of `Assignment` before it."""
        columns, pairs = {str(place): pa.array(own) for place, own in enumerate(codes.T)}, _NO_PAIRS
        if itemsets is not None:
            columns[LISTS] = code_lists(itemsets.codes, itemsets.offsets, itemsets.nulls)
            pairs = drawn.codes(itemsets)
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
