"""Clusters: a partition of the items that is made coarser, or poorer, until nothing rare is left."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import clusters, itemset_search
from pdanon.errors import InfeasibleError
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.support import SupportIndex, sizes_beyond_pairs
from pdanon.itemsets.table import MOST_ITEMSETS, ItemsetTable, concatenate, refuse_long_list
from pdanon.itemsets.threads import many_parts, search
from pdanon.itemsets.timing import Pace, Report, check_time, halt_flag

__all__ = ["MOST_LISTED", "Clusters", "rare_in_turn"]

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
        found = concatenate(search(self._part, parts, self.at_most(), limited=True))
        return found if least == largest else found.take(np.argsort(-found.supports, kind="stable"))

    def _part(
        self, begin: int, end: int, least: int, largest: int, counts: NDArray[np.int64]
    ) -> ItemsetTable:
        check_time()
        asked = self._k, self._size, True, True, begin, end
        unexposed, room = np.empty(0, np.int32), np.array([MOST_ITEMSETS])
        rows = self._index.rows
        found = itemset_search.rare_itemsets(
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


# --- Clusters: a partition of the items that is made coarser, or poorer, until nothing rare is left


ROOM = 2**29  # bytes for supports of pairs: all of them up to 11,585 items
_PART = 2**18  # itemsets looked at between reports, as there can be millions


class Clusters:
    """A partition of the items that is made coarser, with the supports of clusters kept current.

    A cluster is in a row if one of its members is. It is known by its label, its smallest member.

    Parameters
    ----------
    index : SupportIndex
        Rows and supports of the items.
    weights : ndarray of int64, shape (items,), optional
        Importance of each item, below 2**16; that of a cluster is the largest of its members'.
    blocks : ndarray of int64, shape (items,), optional
        Only clusters of items of one block are merged. By default all items are in one.
    spare : int
        How many items may be suppressed.
    sizes : ndarray of int64, shape (items,), optional
        How many items each of the index stands for, if these are clusters already; 0: it stands for none.
    least_first : bool
        Merge always the cluster of least support of an itemset (COAT), instead of the one whose merge
        costs least.
    room : int
        Bytes for the supports of pairs of clusters. It changes no outcome.
    listed : int
        How many rare itemsets of three or more items are listed at a time. It changes no outcome.

    Notes
    -----
    The steps for a rare itemset: the cheapest merge of one of its clusters with another of the same block
    (least utility loss, then the smaller union, then item order); where there is none, the cluster of least
    support (then: fewest members, then item order), which is all of its block, is suppressed.

    Supports of a cluster with all others are counted when they are first needed, and kept current. Where
    there is no room for those of all clusters, those that are counted again most quickly are given up.

    Memory: 4 bytes for each two items, but no more than ``room``; 36 bytes an item; while itemsets of three
    and more items are satisfied, also one bit for each item and distinct row.
    """

    def __init__(
        self,
        index: SupportIndex,
        weights: NDArray[np.int64] | None = None,
        blocks: NDArray[np.int64] | None = None,
        *,
        spare: int = 0,
        sizes: NDArray[np.int64] | None = None,
        least_first: bool = False,
        room: int = ROOM,
        listed: int = MOST_LISTED,
    ) -> None:
        n = index.n_items
        self._index = index
        self._state = clusters.State(
            rows=index.rows,
            size=np.ones(n, np.int64) if sizes is None else sizes,
            support=index.singles,
            weight=np.ones(n, np.int64) if weights is None else weights,
            lines=max(min(n, room // max(4 * n, 1)), 2),
            block=np.zeros(n, np.int32) if blocks is None else blocks.astype(np.int32),
            spare=spare,
        )
        self._least_first = least_first
        self._pace = Pace()
        self._listed = listed

    @property
    def labels(self) -> Codes:
        """Label of each item's cluster; -1 for a suppressed item."""
        return np.array(self._state.label)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that are published."""
        return self._state.n_active

    def support(self, cluster: int, other: int | None = None) -> int:
        """Support of a cluster, or of two together."""
        if other is None:
            return self._state.support[cluster]
        return clusters.together(cluster, other, self._state)

    def merge(self, cluster: int, other: int) -> None:
        """Merge two clusters; the result has the smaller label."""
        clusters.merge(cluster, other, self._state)

    def drop(self, cluster: int) -> None:
        """Suppress a cluster with all its members."""
        clusters.drop(cluster, self._state)

    def satisfy_km(self, k: int, m: int | None, *, report: Report) -> None:
        """Merge and suppress until no itemset of up to m clusters is rare.

        Parameters
        ----------
        k : int
            A support in (0, k) is rare.
        m : int or None
            Largest size; None: all clusters of a row.
        report : callable
            Told the number of steps, from time to time.

        Raises
        ------
        InfeasibleError
            If more items would have to be suppressed than may be.
        """
        self.satisfy_pairs(k, pairs=m != 1, report=report)
        for size in sizes_beyond_pairs(self.index().longest if m is None or m > 2 else 0, m):
            if size is None:
                while len(rows := self.index().rare_rows(k)):
                    self.satisfy(rows, k, report=report)
            else:
                while self._satisfy_size(k, size, report):
                    pass

    def _satisfy_size(self, k: int, size: int, report: Report) -> bool:
        """Satisfy the itemsets of a size that are rare now, in their order; tell whether there were any.

        That never makes a smaller one rare again: a row that holds a generalized itemset holds an itemset
        that it stands for, which had no support or enough.
        """
        rows = self.index()
        bitmaps = self._bitmaps(rows)
        found = False
        for portion in rare_in_turn(rows, k, size, self._listed):
            found = True
            self._work_off(portion, k, bitmaps, report)
        return found

    def satisfy_pairs(self, k: int, *, pairs: bool = True, report: Report) -> None:
        """Merge and suppress until no cluster and no pair of clusters is rare.

        Parameters
        ----------
        k : int
            A support in (0, k) is rare.
        pairs : bool
            Whether pairs count, or single clusters only.
        report : callable
            Told the number of steps, from time to time.

        Raises
        ------
        InfeasibleError
            If more items would have to be suppressed than may be.
        """
        if pairs:
            self._count_lines(report)
        rare = clusters.RarePartners(k, self._index.n_items)
        looked_up = 0 if pairs else self._index.n_items
        while looked_up < self._index.n_items:
            with self._pace as some:
                begin, looked_up = looked_up, min(looked_up + some, self._index.n_items)
                rare.look_up_some(begin, looked_up, self._state)
            report(0)

        def go_on(some: int) -> int:
            return clusters.satisfy_pairs(pairs, self._least_first, some, rare, self._state, halt_flag())

        steps = 1
        while steps:
            with self._pace as some:  # a single pair may take a step for each item
                (steps,) = search(go_on, [(some,)], float(self._index.n_items**2), limited=True)
            report(steps)
        self._refuse_overspending()

    def _count_lines(self, report: Report) -> None:
        """Count the supports of all pairs row by row, if there are so many rows that all are needed."""
        n_items, n_rows = self._index.n_items, len(self._index.weights)
        if n_items**2 > len(self._index.codes) or not clusters.begin_lines(self._state):
            return
        counted = 0
        while counted < n_rows:
            with self._pace as some:
                begin, counted = counted, min(counted + some, n_rows)
                clusters.count_rows(begin, counted, self._state)
            report(0)

    def satisfy(self, itemsets: ItemsetTable, k: int, *, report: Report) -> None:
        """Merge and suppress until no given itemset is rare.

        Those that are rare now are satisfied one after the other, the largest support first, then in the
        order given. Steps for one can make another, which was in no row, rare: so they are looked at
        again until none is.

        Parameters
        ----------
        itemsets : ItemsetTable
            Itemsets of items; supports are not used.
        k : int
            A support in (0, k) is rare.
        report : callable
            Told the number of steps, from time to time.

        Raises
        ------
        InfeasibleError
            If more items would have to be suppressed than may be.
        """
        bitmaps = self._bitmaps(self.index())
        while True:
            supports = np.empty(len(itemsets), np.int64)
            for begin, end in _parts(len(itemsets)):
                asked = itemsets.codes, itemsets.offsets[begin : end + 1], k
                supports[begin:end] = clusters.itemset_supports(*asked, bitmaps, self._state)
                report(0)
            rare = np.flatnonzero((supports > 0) & (supports < k))
            if not len(rare):
                return
            first = itemsets.take(rare[np.argsort(-supports[rare], kind="stable")])
            self._work_off(first, k, bitmaps, report)

    def coarsen_each(self, itemsets: ItemsetTable) -> int:
        """Make the sets of each itemset coarser by the cheapest merge, if none before has changed them.

        Parameters
        ----------
        itemsets : ItemsetTable
            Itemsets that are not suppressed.

        Returns
        -------
        int
            The number of merges; at least 1, if there are two clusters and an itemset.
        """
        return clusters.coarsen_each(itemsets.codes, itemsets.offsets, self._state)

    def _bitmaps(self, rows: SupportIndex) -> clusters.Bitmaps:
        return clusters.Bitmaps(rows.codes, rows.offsets, rows.weights, rows.n_items)

    def _work_off(self, itemsets: ItemsetTable, k: int, bitmaps: clusters.Bitmaps, report: Report) -> None:
        """Merge and suppress until no given itemset is rare, one after the other; bitmaps stay current."""
        cursor = 0
        for _, end in _parts(len(itemsets)):
            while cursor < end:
                with self._pace as some:
                    work = self._least_first, some, itemsets.codes, itemsets.offsets[: end + 1], cursor
                    steps, cursor = clusters.satisfy_itemsets(k, *work, bitmaps, self._state)
                report(steps)
                self._refuse_overspending()

    def _refuse_overspending(self) -> None:
        """Raise if a kernel stopped at a cluster that would have to be suppressed, but may not be."""
        state = self._state
        if state.refused < 0:
            return
        suppressed = int(np.count_nonzero(self.labels < 0))
        raise InfeasibleError(
            "the items of a block would have to be suppressed, which max_suppressed does not allow",
            where=f"block {state.block[state.refused]} of utility",
            got=f"{state.size[state.refused]} items to suppress after {suppressed}; "
            f"{suppressed + state.spare} of {self._index.n_items} may be",
            hint="raise max_suppressed, make the blocks larger, or choose a smaller k",
        )

    def index(self) -> SupportIndex:
        """The rows as sets of clusters, equal rows collapsed; a cluster's code is its label."""
        return self._index.relabel(self.labels)


def _parts(count: int, size: int = _PART) -> Iterator[tuple[int, int]]:
    """Parts of so many things, by number."""
    for begin in range(0, count, size):
        yield begin, min(begin + size, count)
