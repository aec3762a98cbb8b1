"""Descent: a cut that is lowered from the root of a hierarchy, with suppression while that lowers the loss.

A threat of a cut is a set of its nodes with a support in (0, k). Threats are found on demand, because a
search needs only few threats of a hierarchy. The nodes to keep are chosen by the known threats, and checked
against the rows. New threats lead to the next choice, until a choice has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdanon._kernels import cut_search
from pdanon.algorithms.states.cuts import occurrences_below, sum_below
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Mask, Numbers, Offsets
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.threads import search
from pdanon.itemsets.timing import Report, check_time, halt_flag


@dataclass(frozen=True, eq=False, slots=True)
class NodePrices:
    """The loss of publishing an item as a node, for one original occurrence.

    Losses are added over all occurrences, and are integers.
    """

    of_node: Numbers
    suppressed: int  # at least the loss of any node
    weights: Numbers | None = None  # factor of the losses of each item

    @classmethod
    def lm(cls, hierarchy: Hierarchy, weights: Numbers | None = None) -> NodePrices:
        """LM, times the number of leaves less one."""
        return cls(hierarchy.leaves.astype(np.int64) - 1, hierarchy.n_leaves - 1, weights)

    @classmethod
    def ncp(cls, hierarchy: Hierarchy, weights: Numbers | None = None) -> NodePrices:
        """NCP, times the number of leaves: a leaf is free."""
        covered = hierarchy.leaves.astype(np.int64)
        return cls(np.where(covered == 1, 0, covered), hierarchy.n_leaves, weights)

    def weigh(self, supports: Numbers) -> Numbers:
        """Return the number of occurrences of each item, times its weight."""
        return supports if self.weights is None else supports * self.weights

    def sum_over(self, nodes: Codes, supports: Numbers) -> int:
        """Return the loss of all occurrences, given the node of each item; -1 suppresses it."""
        lost = np.where(nodes < 0, self.suppressed, self.of_node[nodes])
        return int(lost @ self.weigh(supports))


@dataclass(frozen=True, eq=False, slots=True)
class Scenario:
    """A cut of a hierarchy, and its nodes that are kept; the others are suppressed."""

    cut: Mask
    kept: Mask
    cost: int  # loss summed over all original occurrences, as in `NodePrices`

    def nodes_of(self, leaves: Codes) -> Codes:
        """Return the published node of each leaf; -1 if it is suppressed."""
        nodes = np.flatnonzero(self.cut)
        above = nodes[np.searchsorted(nodes, leaves, side="right") - 1]
        return np.where(self.kept[above], above, -1).astype(np.int32)


class Descent:
    """Cuts of a hierarchy with the necessary suppression, and the greedy way down through them.

    A node costs its loss for each original occurrence below it, and the full loss if it is suppressed. The
    nodes of a cut are kept one by one, unless one would complete a threat. The node whose suppression costs
    most comes first. Ties: occurrences, name, position in the hierarchy.

    A node with one child covers the same items as the child, so cuts only contain the lower one.

    Memory: 20 bytes for each occurrence, the threats found, and m copies of the rows of one node at a time.
    """

    def __init__(
        self,
        index: SupportIndex,
        hierarchy: Hierarchy,
        leaves: Codes,  # the leaf of each item
        *,
        k: int,
        m: int | None,  # maximum size of a threat; None: all nodes of a row
        floor: Mask | None = None,  # nodes of the lowest allowed cut; by default the leaves
        prices: NodePrices | None = None,  # by default LM
        barred: Mask | None = None,  # nodes that are always suppressed
    ) -> None:
        self._hierarchy = hierarchy
        self._k = k
        self._floor = hierarchy.is_leaf if floor is None else floor
        # Rows have nodes of the floor, by number; those below a node are a range of numbers.
        lowest = np.flatnonzero(self._floor)
        nodes = np.arange(hierarchy.n_nodes)
        ends = nodes + hierarchy.size
        self._ranges = np.searchsorted(lowest, nodes), np.searchsorted(lowest, ends)
        rows = index.recode(np.searchsorted(lowest, leaves, side="right") - 1, len(lowest)).distinct()
        self.longest = rows.longest
        self._m = rows.longest if m is None else min(m, rows.longest)
        self._rows = rows.rows
        self._steps = rows.search_bound(self._m)
        supports = cut_search.node_supports(*self._ranges, self._rows)
        self._rare = (supports > 0) & (supports < k)
        if barred is not None:
            self._rare |= barred
        # Losses are exact integers. Rare and barred nodes are suppressed in every cut.
        prices = prices or NodePrices.lm(hierarchy)
        occurrences = occurrences_below(index, hierarchy, leaves)
        weighted = sum_below(prices.weigh(index.singles), hierarchy, leaves)
        self._penalty = weighted * (prices.suppressed - prices.of_node)
        self._loss = weighted * prices.of_node + self._rare * self._penalty
        names = np.argsort(np.argsort(np.array(hierarchy.names, object), kind="stable"))
        self._order = np.lexsort((names, -occurrences, -self._penalty))
        self._rank = np.argsort(self._order)
        # In pre-order, an only child follows its parent, and its subtree is one node smaller.
        lone = np.append(hierarchy.size[:-1] == hierarchy.size[1:] + 1, False) & ~self._floor
        self._lower = np.minimum.accumulate(np.where(lone, len(nodes), nodes)[::-1])[::-1]
        self._gain = self._loss.copy()
        np.subtract.at(self._gain, hierarchy.parent[1:], self._loss[self._lower[1:]])
        self._threats = cut_search.Threats(
            codes=np.empty(0, np.int32),
            offsets=np.zeros(1, np.int64),
            newest=np.full(len(nodes), -1),
            before=np.empty(0, np.int64),
        )

    def steps(self, report: Report) -> Iterator[Scenario]:
        """Descend from the root to the child cut of lowest cost, while that lowers the cost.

        A child cut has the children of a node instead of the node (ties: the first node).
        """
        cut = np.zeros(self._hierarchy.n_nodes, np.bool_)
        cut[self._lower[0]] = True
        scenario: Scenario | None = self.scenario(cut)
        while scenario is not None:
            yield scenario
            scenario = self._next(scenario)
            report(1)

    def scenario(self, cut: Mask) -> Scenario:
        """Return the nodes of a cut to keep, with the cost."""
        kept, cost = self._suppress(cut, np.zeros(len(cut), np.bool_), np.iinfo(np.int64).max)
        return Scenario(cut, kept, cost)

    def around(self, nodes: Mask) -> Mask:
        """Return the highest cut with the given nodes; none is above another, or has an only child."""
        above = np.zeros(len(nodes), np.bool_)
        at = np.flatnonzero(nodes)
        while len(at := at[at > 0]):
            at = np.unique(self._hierarchy.parent[at])
            above[at] = True
        cut = np.zeros(len(nodes), np.bool_)
        uppermost = ~above & np.append(not above[0], above[self._hierarchy.parent[1:]])
        cut[self._lower[uppermost]] = True
        return cut

    @property
    def worth(self) -> Numbers:
        """The saving of keeping each node, as an integer; 0 for nodes that no scenario keeps."""
        lone = self._lower != np.arange(len(self._lower))
        first, last = self._ranges  # empty for nodes below the floor
        return np.where(lone | self._rare | (first == last), 0, self._penalty)

    def _next(self, current: Scenario) -> Scenario | None:
        """Return the best child cut if it costs less than the current cut."""
        best, cost, first = None, current.cost, -1
        loss = int(self._loss[current.cut].sum())
        nodes = np.flatnonzero(current.cut & ~self._floor)
        for node in nodes[np.argsort(-self._gain[nodes], kind="stable")].tolist():
            check_time()
            if loss - self._gain[node] > cost:  # the following nodes gain less
                break
            cut = current.cut.copy()
            cut[node] = False
            cut[self._lower[self._hierarchy.children(node)]] = True
            bound = cost + (node < first)
            kept, reached = self._suppress(cut, current.kept, bound)
            if reached < bound:
                best, cost, first = Scenario(cut, kept, reached), reached, node
        return best

    def _suppress(self, cut: Mask, safe: Mask, bound: int) -> tuple[Mask, int]:
        """Choose the nodes of a cut to keep, until the cost reaches the bound; ``safe`` has no threat."""
        loss = int(self._loss[cut].sum())
        proven = [safe] * (self._m + 1)
        while True:
            kept, cost = cut_search.keep(
                self._order, cut, self._rare, safe, self._penalty, loss, bound, self._threats
            )
            if self._proves(kept, proven):
                return kept, cost

    def _proves(self, kept: Mask, proven: list[Mask]) -> bool:
        """Return whether no threat is kept; otherwise record the threats of the smallest size.

        ``proven[size]`` has no threats of up to ``size`` nodes, so every threat has a node outside it.
        """
        nodes = np.flatnonzero(kept)
        done = None
        for size in range(2, self._m + 1):
            before, proven[size] = proven[size], kept
            if before is done:
                continue
            check_time()
            pivots = np.flatnonzero(~before[nodes])
            query = size, self._k, nodes, pivots, self._rank[nodes], *self._ranges, self._rows
            ((codes, offsets, still, longest),) = search(_find_threats, [query], self._steps, limited=True)
            if len(offsets) > 1:
                proven[size] = kept.copy()
                proven[size][nodes[~still]] = False
                self._learn(nodes[codes], offsets)
                return False
            if longest <= size:  # all larger sets of rows are within the proven nodes
                done = before
        return True

    def _learn(self, nodes: Numbers, offsets: Offsets) -> None:
        """Add threats, at most one for each last node in the order of keeping."""
        known, newest = self._threats, np.array(self._threats.newest)
        last = self._order[np.maximum.reduceat(self._rank[nodes], offsets[:-1])]
        before = np.concatenate((known.before, newest[last]))
        newest[last] = np.arange(len(known.before), len(before))
        self._threats = cut_search.Threats(
            codes=np.concatenate((known.codes, nodes.astype(np.int32))),
            offsets=np.concatenate((known.offsets, known.offsets[-1] + offsets[1:])),
            newest=newest,
            before=before,
        )


def _find_threats(*arguments: Any) -> tuple[Codes, Offsets, Mask, int]:
    """Find threats; the arguments are those of the kernel, except for the flag to stop."""
    return cut_search.find_threats(*(*arguments, halt_flag()))
