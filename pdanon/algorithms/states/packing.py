"""Packing: nodes of a hierarchy to publish, worth as much as threats leave room for.

What is not below a published node is suppressed. No published node is below another, and a set of published
nodes must not be in some, but fewer than k rows. Let a path go from a low node up to a higher one. If the
upper ends of some paths are together in too few rows, and the lower ends in one of these, then so are any
nodes between. So not all of these paths may have a published node: that is a clause, and one about nodes
that are published is stronger the longer its paths are. One path alone may have one published node.

Of the many clauses of a table few matter. A linear program is solved with those that were broken so far.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.states.cuts import Cut
from pdanon.algorithms.states.solver import chosen, relaxed
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Offsets
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable

__all__ = ["Packing"]

_HASTE = 0.9  # how much of what is between a choice and the bound may be left open
_BATCH = 3000  # clauses that are enforced at once: more make a program slow, of which others would do

Mask = NDArray[np.bool_]


class Packing:
    """The choice of nodes to publish as a program, and how much any choice can be worth.

    Parameters
    ----------
    cut : Cut
        The leaves of the hierarchy, with supports.
    hierarchy : Hierarchy
        Over the items.
    worth : ndarray of int64, shape (nodes,)
        What publishing a node saves; 0 if it cannot be published or saves nothing.
    k : int
        A support in (0, k) is rare.
    pairs : bool
        Whether rare pairs are threats.

    Notes
    -----
    Memory: 17 bytes for each path of a clause, those of pairs all at once.
    """

    def __init__(
        self, cut: Cut, hierarchy: Hierarchy, worth: NDArray[np.int64], *, k: int, pairs: bool
    ) -> None:
        from pdanon._kernels import packing

        self.most = int(worth.sum())  # no choice is worth more
        self._worth = worth
        self._k = k
        self._cut = cut
        self._nodes = np.flatnonzero(worth)
        self._variable = np.cumsum(worth > 0) - 1
        self._size = hierarchy.size
        self._up = _next_above(hierarchy.parent, worth > 0)
        # Products with prices are integers, too: as many binary places as 63 bits have room for.
        self._places = max(min(20, 60 - int(worth.sum()).bit_length()), 0)
        self._paths = np.empty((0, 2), np.int32)  # the lower and the upper end
        self._offsets = np.zeros(1, np.int64)
        self._enforced = np.zeros(0, np.bool_)
        self._add(*self._whole_paths())
        if pairs:
            ends = packing.pair_clauses(k, worth > 0, self._up, self._size, cut.supports)
            self._add(ends.reshape(-1, 2), np.arange(0, len(ends) // 2 + 1, 2))

    def relax(self, seconds: float) -> NDArray[np.float64] | None:
        """The share of each node in a best mixture of choices, or None if time is up; ``most`` may fall.

        Only clauses that are enforced are kept to.
        """
        rows, limits = self._program()
        worth = self._worth[self._nodes]
        found = relaxed(-worth, rows, limits, seconds)
        if found is None:
            return None
        # Whatever the prices are, if only they are not negative, this is a bound, and here it is exact.
        prices = np.rint(found[1] * 2.0**self._places).astype(np.int64)
        self._left = (worth << self._places) - prices @ rows
        self._exact = int(prices @ limits) + int(self._left[self._left > 0].sum())
        self.most = min(self.most, self._exact >> self._places)
        shares = np.zeros(len(self._worth))
        shares[self._nodes] = found[0]
        return shares

    def choose(self, known: int, seconds: float, *, hasty: bool) -> Mask | None:
        """Which nodes to publish to be worth as much as can be, if that is more than what is known.

        Only clauses that are enforced are kept to. Nodes that the last mixture proves to be in no, or in
        each, choice of more worth than is known are settled in advance. In haste a choice is good enough
        that gets some of the way from what is known to the bound.
        """
        rows, limits = self._program()
        spare = self._exact - ((known + 1) << self._places)
        allowed = self._left > spare, self._left >= -spare
        tolerance = _HASTE * (self.most - known) / max(known, 1) if hasty else 0
        yes, bound, solved = chosen(
            -self._worth[self._nodes], rows, -np.inf, limits, seconds, allowed, tolerance
        )
        if yes is not None or solved:
            self.most = min(self.most, max(known, -bound if yes is not None else known))
        if yes is None:
            return None
        published = np.zeros(len(self._worth), np.bool_)
        published[self._nodes[yes]] = True
        return published

    def allows(self, published: Mask) -> bool:
        """Whether a choice breaks no clause, enforced or not."""
        return bool((self._excess(published) < 0.5).all())

    def enforce(self, shares: NDArray[Any]) -> bool:
        """From here on keep to the clauses that shares, or a choice, break most; False if to all."""
        excess = self._excess(shares)
        broken = np.flatnonzero((excess > 1e-6) & ~self._enforced)
        self._enforced[broken[np.argsort(-excess[broken], kind="stable")[:_BATCH]]] = True
        return len(broken) > 0

    def _excess(self, shares: NDArray[Any]) -> NDArray[np.float64]:
        """By how much the shares of the nodes on the paths of each clause exceed its limit."""
        sums = np.append(self._sums(shares.astype(np.float64)), 0.0)  # what is above the top is nothing
        within = sums[self._paths[:, 0]] - sums[self._up[self._paths[:, 1]]]
        return np.add.reduceat(np.append(within, 0.0), self._offsets[:-1]) - self._limits

    def learn(self, threats: ItemsetTable) -> None:
        """Add the clauses of rare sets of nodes that can be published, none above another of its set."""
        from pdanon._kernels import packing

        fit = self._worth > 0
        sets = threats.codes, threats.offsets
        ends, bounds = packing.set_clauses(self._k, *sets, fit, self._up, self._size, self._cut.supports)
        distinct = SupportIndex(ends, bounds, len(fit)).distinct()
        self._add(distinct.codes.reshape(-1, 2), distinct.offsets // 2)

    def _add(self, paths: Codes, offsets: Offsets) -> None:
        self._paths = np.concatenate((self._paths, paths))
        self._offsets = np.concatenate((self._offsets, self._offsets[-1] + offsets[1:]))
        self._enforced = np.concatenate((self._enforced, np.zeros(len(offsets) - 1, np.bool_)))

    @property
    def _limits(self) -> NDArray[np.int64]:
        """How many of its paths each clause leaves a published node; of one path: how many nodes."""
        return np.maximum(np.diff(self._offsets) - 1, 1)

    def _whole_paths(self) -> tuple[Codes, Offsets]:
        """From each lowest node to the uppermost above it, if that is another."""
        lowest = np.setdiff1d(self._nodes[self._up[self._nodes] >= 0], self._up[self._nodes])
        tops = lowest
        while (self._up[tops] >= 0).any():
            tops = np.where(self._up[tops] >= 0, self._up[tops], tops)
        return np.column_stack((lowest, tops)).astype(np.int32), np.arange(len(lowest) + 1)

    def _sums(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shares summed from each node upwards."""
        padded = np.append(shares, 0.0)
        sums, above = shares.copy(), self._up
        while (above >= 0).any():
            sums += padded[above]
            above = np.append(self._up, -1)[above]
        return sums

    def _program(self) -> tuple[Any, NDArray[np.int64]]:
        """The enforced clauses: which nodes are on a path of each, and the most that these may sum up to."""
        from scipy.sparse import csr_array

        which = np.flatnonzero(self._enforced)
        number = np.repeat(np.arange(len(self._enforced)), np.diff(self._offsets))
        kept = self._enforced[number]
        at, ends = self._paths[kept].T
        clause = np.searchsorted(which, number[kept])
        rows, columns = [clause], [at]
        while (inner := at != ends).any():
            at, ends, clause = self._up[at[inner]], ends[inner], clause[inner]
            rows.append(clause)
            columns.append(at)
        # SciPy's solver once took no other indices than these.
        places = np.stack((np.concatenate(rows), self._variable[np.concatenate(columns)])).astype(np.int32)
        shape = len(which), len(self._nodes)
        return csr_array((np.ones(places.shape[1], np.int64), (*places,)), shape=shape), self._limits[which]


def _next_above(parent: Codes, fit: Mask) -> Codes:
    """The next fit node above each node, -1 where there is none."""
    above = parent
    while (passed := (above >= 0) & ~fit[above]).any():
        above = np.where(passed, parent[above], above)
    return above
