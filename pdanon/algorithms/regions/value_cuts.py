"""Regions of similar rows, cut from a histogram of their quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import prod

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.relational.attributes import Attribute, cover_loss
from pdanon.itemsets.codes import Codes, Numbers

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
