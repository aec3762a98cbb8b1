"""Clusters: a partition of the items that is made coarser, or poorer, until nothing rare is left."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.progress import Report
from pdanon.errors import InfeasibleError
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.support import SupportIndex, threats_beyond_pairs
from pdanon.itemsets.table import ItemsetTable

__all__ = ["Clusters"]

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
    batch : int
        How many steps are done between reports; also how long an interrupt from the keyboard has to wait.

    Notes
    -----
    The steps for a rare itemset: the cheapest merge of one of its clusters with another of the same block
    (least utility loss, then the smaller union, then item order); where there is none, the cluster of least
    support (then: fewest members, then item order), which is all of its block, is suppressed.

    Memory: one dense matrix of ``items * items`` numbers of 4 bytes; while itemsets of three and more items
    are satisfied, also one bit for each item and distinct row.
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
        batch: int = 500,
    ) -> None:
        from pdanon._kernels.clusters import State

        n = index.n_items
        starts, partners, supports = index.pairs
        first = np.repeat(np.arange(n), np.diff(starts))
        together = np.zeros((n, n), np.int32)
        together[first, partners] = supports
        together[partners, first] = supports
        self._index = index
        self._state = State(
            rows=index.rows,
            size=np.ones(n, np.int64) if sizes is None else sizes,
            support=index.singles,
            weight=np.ones(n, np.int64) if weights is None else weights,
            co=together,
            block=np.zeros(n, np.int32) if blocks is None else blocks.astype(np.int32),
            spare=spare,
        )
        self._least_first = least_first
        self._batch = batch

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
        return self._state.support[cluster] if other is None else self._state.co[cluster, other]

    def merge(self, cluster: int, other: int) -> None:
        """Merge two clusters; the result has the smaller label."""
        from pdanon._kernels import clusters

        clusters.merge(cluster, other, self._state)

    def drop(self, cluster: int) -> None:
        """Suppress a cluster with all its members."""
        from pdanon._kernels import clusters

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
        for threats in threats_beyond_pairs(self.index, k, m):
            self.satisfy(threats, k, report=report)

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
        from pdanon._kernels import clusters

        rare = clusters.RarePartners(k, self._index.n_items)
        while steps := clusters.satisfy_pairs(pairs, self._least_first, self._batch, rare, self._state):
            report(steps)
        self._refuse_overspending()

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
        from pdanon._kernels import clusters

        rows = self.index()
        bitmaps = clusters.Bitmaps(rows.codes, rows.offsets, rows.weights, rows.n_items)
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
            cursor = 0
            for _, end in _parts(len(first)):
                while cursor < end:
                    work = self._least_first, self._batch, first.codes, first.offsets[: end + 1], cursor
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
        return self._index.relabelled(self.labels)


def _parts(count: int) -> Iterator[tuple[int, int]]:
    """Parts of so many things, by number."""
    for begin in range(0, count, _PART):
        yield begin, min(begin + _PART, count)
