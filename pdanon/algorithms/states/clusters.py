"""Clusters: a partition of the items; clusters are merged or suppressed until no itemset is rare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import clusters, itemset_search, rare_clusters
from pdanon.errors import InfeasibleError
from pdanon.itemsets import row_loops
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, canonical_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import inverse_order, offsets_of
from pdanon.itemsets.support import (
    MOST_ITEMSETS,
    ItemsetTable,
    SupportIndex,
    concatenate,
    refuse_long_list,
    sizes_beyond_pairs,
)
from pdanon.itemsets.threads import many_parts, search
from pdanon.itemsets.timing import Pace, check_time, count_steps, halt_flag
from pdanon.itemsets.validation import random_generator


@frozen
class ItemOrder:
    """A column whose items have another, secret order."""

    # The algorithms are public. If ties are broken by the order of the items, an attacker can run an
    # algorithm on all tables that may have led to a release, and exclude some. A drawn order leaves more of
    # them possible.

    itemsets: Itemsets  # in the drawn order
    items: Numbers | None  # item of each code in the drawn order; None if the order is that of the items

    @classmethod
    def draw(cls, itemsets: Itemsets, random_state: Any) -> ItemOrder:
        """Draw an order of the items; without a seed, keep the order that they have."""
        if random_state is None:
            return cls(itemsets, None)
        items = random_generator(random_state).permutation(itemsets.n_items)
        rank = inverse_order(items.astype(np.int32))
        codes, offsets = canonical_rows(rank[itemsets.codes], itemsets.offsets, len(items))
        vocabulary = itemsets.vocabulary.take(pa.array(items))
        return cls(replace(itemsets, codes=codes, offsets=offsets, vocabulary=vocabulary), items)

    def arrange(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of items in the drawn order."""
        return values if self.items is None else values[self.items]

    def restore(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values in the drawn order by item."""
        if self.items is None:
            return values
        restored = np.empty_like(values)
        restored[self.items] = values
        return restored


# --- Lists of rare itemsets, in batches


MOST_LISTED = 2**22  # itemsets in a batch: about 100 bytes each while they are listed and sorted
_RUNS = 256  # parts of the search, shared by threads

_Runs = list[tuple[int, int]]


def rare_in_turn(index: SupportIndex, k: int, size: int, most: int = MOST_LISTED) -> Iterator[ItemsetTable]:
    """List the rare itemsets of one size, at least 3, by descending support, then by codes."""
    # The rows have no smaller rare itemsets. A batch has at most ``most`` itemsets, unless one support in one
    # run has more. If the upper bound on their number exceeds a batch, the itemsets are counted first. Each
    # further search then lists one batch.
    search = _Search(index, k, size)
    if search.at_most <= most:
        portions = [(1, k - 1, search.runs)]
    else:
        portions = list(_portions(search.count(), search.runs, most))
    for least, largest, runs in portions:
        listed = search.list_range(least, largest, runs)
        if len(listed):
            yield listed


class _Search:
    """A search for rare itemsets, divided into runs of first items in the order of the codes."""

    def __init__(self, index: SupportIndex, k: int, size: int) -> None:
        self._index, self._k, self._size = index, k, size
        self._cliques = index.sorted_pairs(k)[:2]
        self._order = np.arange(index.n_items, dtype=np.int32)
        steps = np.diff(self._cliques[0]) ** 2
        self.runs = many_parts(offsets_of(steps), _RUNS)
        self.at_most = index.search_bound(size) / size  # upper bound on the number of rare itemsets

    def count(self) -> Numbers:
        """Count the rare itemsets by run and support, shape (runs, k)."""
        counts = np.zeros((len(self.runs), self._k), np.int64)
        parts = [(*run, 1, self._k - 1, each) for run, each in zip(self.runs, counts, strict=True)]
        search(self._part, parts, self.at_most, limited=True)
        return counts

    def list_range(self, least: int, largest: int, runs: _Runs) -> ItemsetTable:
        """List the rare itemsets of some runs with support ``least`` to ``largest``, largest first."""
        nothing = np.empty(0, np.int64)
        parts = [(*run, least, largest, nothing) for run in runs]
        found = concatenate(search(self._part, parts, self.at_most, limited=True))
        return found.take(np.argsort(-found.supports, kind="stable"))

    def _part(self, begin: int, end: int, least: int, largest: int, counts: Numbers) -> ItemsetTable:
        """List or count the rare itemsets whose first item is in ``begin..end - 1``."""
        check_time()
        query = self._k, self._size, begin, end
        unexposed, room = np.empty(0, np.int32), np.array([MOST_ITEMSETS])
        rows = self._index.rows
        kernel = itemset_search.RareSearch(
            *query, rows, *self._cliques, self._order, unexposed, least, largest, counts, room, halt_flag()
        )
        listed = ItemsetTable(*kernel.itemsets())
        refuse_long_list(listed)
        return listed


def _portions(counts: Numbers, runs: _Runs, most: int) -> Iterator[tuple[int, int, _Runs]]:
    """Yield ranges of supports, and runs whose itemsets fit a batch; ``counts`` is by run and support."""
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


# --- Clusters: a partition of the items that is merged, or suppressed in part, until no itemset is rare


ROOM = 2**26  # bytes for supports of pairs: all of them up to 4,096 items
_PART = 2**18  # itemsets between two progress reports, as there can be millions


class Clusters:
    """A partition of the items that is merged, with the current supports of its clusters."""

    # The supports of a cluster with all others are counted in its rows when they are needed. Those that take
    # long to count again are kept, up to ``room`` bytes. Rows become shorter as clusters are merged.

    def __init__(
        self,
        index: SupportIndex,
        # Importance of each item, below 2**16; that of a cluster is the maximum.
        weights: Numbers | None = None,
        blocks: Numbers | None = None,  # only clusters of the same block are merged
        *,
        spare: int = 0,  # upper bound on the number of suppressed items
        # Number of items behind each item, if these are clusters already; may be 0.
        sizes: Numbers | None = None,
        # Merge the cluster with the lowest support (COAT), instead of the cheapest merge.
        least_first: bool = False,
        room: int = ROOM,  # bytes for supports of pairs of clusters that are kept; does not change the result
        # Rare itemsets of three or more items in a batch; does not change the result.
        listed: int = MOST_LISTED,
    ) -> None:
        n = index.n_items
        self._index = index
        self._without_label = 0 if sizes is None else int(np.count_nonzero(sizes == 0))
        starts, tids = row_loops.holders(index.codes, index.offsets, n)
        self._state = clusters.State(
            codes=index.codes,
            offsets=index.offsets,
            weights=index.weights,
            starts=starts,
            tids=tids,
            size=np.ones(n, np.int64) if sizes is None else sizes,
            support=index.singles,
            weight=np.ones(n, np.int64) if weights is None else weights,
            lines=min(n, room // max(4 * n, 1)),
            block=np.zeros(n, np.int32) if blocks is None else blocks.astype(np.int32),
            spare=spare,
        )
        self._least_first, self._listed = least_first, listed
        self._pace = Pace()

    @property
    def labels(self) -> Codes:
        """Label of the cluster of each item; -1 for a suppressed item."""
        return np.array(self._state.label)

    @property
    def n_clusters(self) -> int:
        """Number of published clusters."""
        return self._state.n_active

    def satisfy_km(self, k: int, m: int | None) -> None:
        """Merge and suppress until no itemset of up to m clusters is rare."""
        self.satisfy_pairs(k, pairs=m != 1)
        for size in sizes_beyond_pairs(self.index().longest if m is None or m > 2 else 0, m):
            if size is None:
                while len(rows := self.index().rare_rows(k)):
                    self.satisfy(rows, k)
            else:
                while self._satisfy_size(k, size):
                    pass

    def _satisfy_size(self, k: int, size: int) -> bool:
        """Handle the rare itemsets of a size in order; return whether there were any."""
        # No smaller itemset becomes rare again. The rows of a generalized itemset contain an itemset that it
        # stands for, whose support was 0 or at least k.
        rows = self.index()
        bitmaps = self._bitmaps(rows)
        found = False
        for portion in rare_in_turn(rows, k, size, self._listed):
            found = True
            self._satisfy_in_order(portion, k, bitmaps)
        return found

    def satisfy_pairs(self, k: int, *, pairs: bool = True) -> None:
        """Merge and suppress until no cluster and, with ``pairs``, no pair of clusters is rare."""
        if pairs:
            self._count_lines()
        rare = rare_clusters.RarePartners(k, pairs, self._state)
        waiting = 1
        while waiting:
            with self._pace as some:
                waiting = rare.look_up_some(some, self._state)
            count_steps(0)

        def take_steps(some: int) -> int:
            return rare_clusters.satisfy_pairs(self._least_first, some, rare, self._state, halt_flag())

        steps = 1
        while steps:
            with self._pace as some:  # limited, as a single pair may take a step for each item
                (steps,) = search(take_steps, [(some,)], float(self._index.n_items**2), limited=True)
            count_steps(steps)
        self._refuse_overspending()

    def _count_lines(self) -> None:
        """Count the supports of all pairs row by row, if there are enough rows to need them all."""
        n_items, n_rows = self._index.n_items, len(self._index.weights)
        if n_items**2 > len(self._index.codes) or not clusters.begin_lines(self._state):
            return
        counted = 0
        while counted < n_rows:
            with self._pace as some:
                begin, counted = counted, min(counted + some, n_rows)
                clusters.count_rows(begin, counted, self._state)
            count_steps(0)

    def satisfy(self, itemsets: ItemsetTable, k: int) -> None:
        """Merge and suppress until no given itemset is rare; the supports in the table are ignored."""
        # Itemsets that are rare now are handled one by one, the largest support first, then in the given
        # order. A step for one can give another its first rows and make it rare. So all are checked again
        # until none is rare.
        bitmaps = self._bitmaps(self.index())
        while True:
            supports = np.empty(len(itemsets), np.int64)
            for begin, end in _parts(len(itemsets)):
                query = itemsets.codes, itemsets.offsets[begin : end + 1], k
                supports[begin:end] = rare_clusters.itemset_supports(*query, bitmaps, self._state)
                count_steps(0)
            rare = np.flatnonzero((supports > 0) & (supports < k))
            if not len(rare):
                return
            first = itemsets.take(rare[np.argsort(-supports[rare], kind="stable")])
            self._satisfy_in_order(first, k, bitmaps)

    def coarsen_each(self, itemsets: ItemsetTable) -> int:
        """Apply the cheapest merge to the sets of each itemset, unless an earlier merge changed them."""
        return rare_clusters.coarsen_each(itemsets.codes, itemsets.offsets, self._state)

    def _bitmaps(self, rows: SupportIndex) -> rare_clusters.Bitmaps:
        return rare_clusters.Bitmaps(rows.codes, rows.offsets, rows.weights, rows.n_items)

    def _satisfy_in_order(self, itemsets: ItemsetTable, k: int, bitmaps: rare_clusters.Bitmaps) -> None:
        """Merge and suppress until no given itemset is rare, one by one; bitmaps are updated."""
        cursor = 0
        for _, end in _parts(len(itemsets)):
            while cursor < end:
                with self._pace as some:
                    work = self._least_first, some, itemsets.codes, itemsets.offsets[: end + 1], cursor
                    steps, cursor = rare_clusters.satisfy_itemsets(k, *work, bitmaps, self._state)
                count_steps(steps)
                self._refuse_overspending()

    def _refuse_overspending(self) -> None:
        """Raise if a kernel stopped at a cluster that must be suppressed, but may not be."""
        state = self._state
        if state.refused < 0:
            return
        suppressed = int(np.count_nonzero(self.labels < 0)) - self._without_label
        raise InfeasibleError(
            "all items of a block would have to be suppressed, which max_suppressed does not allow",
            where=f"block {state.block[state.refused]} of utility",
            got=f"{state.size[state.refused]} items to suppress after {suppressed}, with an upper bound of "
            f"{suppressed + state.spare} of {self._index.n_items}",
            hint="pass a larger max_suppressed",
        )

    def index(self) -> SupportIndex:
        """Return the rows as sets of clusters, equal rows collapsed; the code of a cluster is its label."""
        return self._index.relabel(self.labels)


def first_members(labels: Numbers | Codes) -> Numbers:
    """Return the first item of the set of each item; -1 if its label is below 0."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.where(labels < 0, -1, first[number])


def _parts(count: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most ``_PART`` numbers."""
    for begin in range(0, count, _PART):
        yield begin, min(begin + _PART, count)
