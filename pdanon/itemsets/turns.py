"""Rare itemsets one portion after the other, where all of them at once would take too much memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets.deadline import check_time, halt_flag
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import MOST_ITEMSETS, ItemsetTable, concatenated, refuse_long_list
from pdanon.itemsets.threads import many_parts, search

__all__ = ["MOST_LISTED", "rare_in_turn"]

MOST_LISTED = 2**22  # itemsets of a portion: some 100 bytes each while they are listed and sorted
_RUNS = 256  # parts of the search

_Runs = list[tuple[int, int]]


def rare_in_turn(index: SupportIndex, k: int, size: int, most: int = MOST_LISTED) -> Iterator[ItemsetTable]:
    """List the itemsets of one size that are rare and hold no smaller one, the largest support first.

    Parameters
    ----------
    index : SupportIndex
        Rows whose rare itemsets are of this size or larger.
    k : int
        Itemsets in fewer rows, but in some, are rare.
    size : int
        At least 3.
    most : int
        How many itemsets a portion has; more only if those of one support and few first items are more.

    Yields
    ------
    ItemsetTable
        By support, falling, then by codes; also from one portion to the next.

    Notes
    -----
    Where there may be more than a portion they are counted first, and each further search lists some.
    """
    search = _Search(index, k, size)
    if search.at_most() <= most:
        portions = [(1, k - 1, search.runs)]
    else:
        portions = list(_portions(search.counted(), search.runs, most))
    for least, largest, runs in portions:
        listed = search.listed(least, largest, runs)
        if len(listed):
            yield listed


class _Search:
    """A search for rare itemsets by first item, in the order of the codes."""

    def __init__(self, index: SupportIndex, k: int, size: int) -> None:
        self._index, self._k, self._size = index, k, size
        self._cliques = index.pairs_where(lambda supports: supports >= k)[:2]
        self._order = np.arange(index.n_items, dtype=np.int32)
        steps = np.diff(self._cliques[0]) ** 2
        self.runs = many_parts(np.concatenate(([0], np.cumsum(steps))), _RUNS)

    def at_most(self) -> float:
        """More rare itemsets than rows have itemsets of this size there are not."""
        lengths = np.diff(self._index.offsets).astype(np.float64)
        found = np.ones(len(lengths))
        for place in range(self._size):
            found *= np.maximum(lengths - place, 0) / (place + 1)
        return float(found.sum())

    def counted(self) -> NDArray[np.int64]:
        """How many there are, by run and support, shape (runs, k)."""
        counts = np.zeros((len(self.runs), self._k), np.int64)
        parts = [(*run, 1, self._k - 1, each) for run, each in zip(self.runs, counts, strict=True)]
        search(self._part, parts, self.at_most(), limited=True)
        return counts

    def listed(self, least: int, largest: int, runs: _Runs) -> ItemsetTable:
        """Those of some supports in some runs, the largest support first."""
        nothing = np.empty(0, np.int64)
        parts = [(*run, least, largest, nothing) for run in runs]
        found = concatenated(search(self._part, parts, self.at_most(), limited=True))
        return found if least == largest else found.take(np.argsort(-found.supports, kind="stable"))

    def _part(
        self, begin: int, end: int, least: int, largest: int, counts: NDArray[np.int64]
    ) -> ItemsetTable:
        from pdanon._kernels import rare

        check_time()
        asked = self._k, self._size, True, True, begin, end
        unexposed, room = np.empty(0, np.int32), np.array([MOST_ITEMSETS])
        rows = self._index.rows
        found = rare.rare_itemsets(
            *asked, rows, *self._cliques, self._order, unexposed, least, largest, counts, room, halt_flag()
        )
        listed = ItemsetTable(*found)
        refuse_long_list(listed)
        return listed


def _portions(counts: NDArray[np.int64], runs: _Runs, most: int) -> Iterator[tuple[int, int, _Runs]]:
    """Supports, from and to, and runs whose itemsets are listed at once; counts by run and support."""
    largest = counts.shape[1] - 1
    by_support = counts.sum(axis=0)
    while largest > 0:
        least = largest
        while least > 1 and by_support[least - 1 : largest + 1].sum() <= most:
            least -= 1
        begin = 0
        while begin < len(runs):
            end = begin + 1
            while end < len(runs) and counts[begin : end + 1, least : largest + 1].sum() <= most:
                end += 1
            yield least, largest, runs[begin:end]
            begin = end
        largest = least - 1
