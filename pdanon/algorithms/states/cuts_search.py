"""Searches for lower cuts, while the guarantee is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import cut_search, local_recoding
from pdanon.algorithms.states.cuts import CutTask, sum_below
from pdanon.algorithms.states.timed_search import Clock, TimedSearch
from pdanon.errors import ParameterError
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Mask, Numbers, Offsets, canonical_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import inverse_order, mask_at, offsets_of, rows_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.threads import search
from pdanon.itemsets.timing import check_time, halt_flag

BASES = {"NCP": 0, "LM": 1}  # number that a loss subtracts from numbers of items or leaves


# --- Descent from the root


@frozen
class NodePrices:
    """The loss of publishing an item as a node, for one original occurrence."""

    # Losses are added over all occurrences, and are integers.

    of_node: Numbers
    suppressed: int  # at least the loss of any node
    weights: Numbers | None = None  # factor of the losses of each item

    @classmethod
    def of(cls, tree: Hierarchy, base: int = 1, weights: Numbers | None = None) -> NodePrices:
        """LM (``base`` 1) or NCP (0), times the number of leaves less the base: a leaf is free."""
        covered = tree.leaves.astype(np.int64)
        return cls(np.where(covered == 1, 0, covered - base), tree.n_leaves - base, weights)

    def weigh(self, supports: Numbers) -> Numbers:
        """Return the number of occurrences of each item, times its weight."""
        return supports if self.weights is None else supports * self.weights

    def sum_over(self, nodes: Codes, supports: Numbers) -> int:
        """Return the loss of all occurrences, given the node of each item; -1 suppresses it."""
        lost = np.where(nodes < 0, self.suppressed, self.of_node[nodes])
        return int(lost @ self.weigh(supports))


@frozen
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


def _below_only_children(tree: Hierarchy, floor: Mask) -> Numbers:
    """Return the lowest node, down to the floor, that covers the same leaves as each node."""
    # In pre-order, an only child follows its parent, and its subtree is one node smaller.
    lone = np.append(tree.size[:-1] == tree.size[1:] + 1, False) & ~floor
    return np.minimum.accumulate(np.where(lone, tree.n_nodes, np.arange(tree.n_nodes))[::-1])[::-1]


class Descent:
    """Cuts of a hierarchy with the necessary suppression, and the greedy way down through them."""

    # Threats, sets of nodes with a support in (0, k), are found on demand, as a search needs few. Nodes are
    # chosen by the known threats and checked against the rows, until a choice has no new threat.

    def __init__(
        self,
        task: CutTask,
        prices: NodePrices | None = None,  # by default LM
        floor: Mask | None = None,  # nodes of the lowest allowed cut; by default those of the task
    ) -> None:
        index, hierarchy, leaves, k, m, self._report, *_ = task
        self._hierarchy, self._k = hierarchy, k
        self._floor = task.floor if floor is None else floor
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
        self._rare = (supports > 0) & (supports < k) | task.barred
        # Losses are exact integers. Rare and barred nodes are suppressed in every cut.
        prices = prices or NodePrices.of(hierarchy)
        occurrences = sum_below(index.singles, hierarchy, leaves)
        weighted = sum_below(prices.weigh(index.singles), hierarchy, leaves)
        self._penalty = weighted * (prices.suppressed - prices.of_node)
        self._loss = weighted * prices.of_node + self._rare * self._penalty
        names = np.argsort(np.argsort(np.array(hierarchy.names, object), kind="stable"))
        self._order = np.lexsort((names, -occurrences, -self._penalty))
        self._rank = np.argsort(self._order)
        self._lower = _below_only_children(hierarchy, self._floor)
        self._gain = self._loss.copy()
        np.subtract.at(self._gain, hierarchy.parent[1:], self._loss[self._lower[1:]])
        self._threats = cut_search.Threats(
            codes=np.empty(0, np.int32),
            offsets=np.zeros(1, np.int64),
            newest=np.full(len(nodes), -1),
            before=np.empty(0, np.int64),
        )

    def steps(self) -> Iterator[Scenario]:
        """Descend from the root to the child cut of lowest cost, while that lowers the cost."""
        # A child cut has the children of a node instead of the node (ties: the first node).
        cut = mask_at(self._hierarchy.n_nodes, self._lower[0])
        scenario: Scenario | None = self.scenario(cut)
        while scenario is not None:
            yield scenario
            scenario = self._next(scenario)
            self._report(1)

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
        """Return whether no threat is kept; otherwise record the threats of the smallest size."""
        # ``proven[size]`` has no threats of up to ``size`` nodes, so every threat has a node outside it.
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


# --- Cuts of blocks of rows that are lowered


_ANY = -(2**62)  # below every gain

Move = tuple[NDArray[Any], int, Codes]  # blocks, the node to replace in them, the nodes that replace it


class CutRefinement(TimedSearch):
    """Cuts of blocks of rows that are lowered node by node, and the best ones found."""

    # Labels are counted over all blocks. If nothing is suppressed at the start, nothing will be.
    # `ParameterError`: the nodes at the start lack the guarantee, or are not of one cut.

    def __init__(
        self,
        index: SupportIndex,
        blocks: Codes,  # the block of each row
        tree: Hierarchy,
        leaves: Codes,  # the leaf of each item
        became: Codes,  # node of each item in each block, of one cut; -1 if suppressed or absent
        guarantee: KmAnonymity,
        base: int = 0,  # 0 for NCP, 1 for LM
        clock: Clock | None = None,
    ) -> None:
        super().__init__(clock)
        self._tree = tree
        order = np.argsort(leaves)
        self._place = inverse_order(order.astype(np.int32))  # position of each item in the hierarchy
        n_blocks, n_items = became.shape
        codes, _ = canonical_rows(self._place[index.codes], index.offsets, max(n_items, 1))
        marked = np.insert(codes, index.offsets[1:], n_items + blocks).astype(np.int32)
        offsets = index.offsets + np.arange(len(index.offsets), dtype=np.int64)
        rows = SupportIndex(marked, offsets, n_items + n_blocks, index.weights).distinct()
        within = np.concatenate((leaves[order], [tree.n_nodes]))
        nodes = np.arange(tree.n_nodes)
        self._first, self._last = np.searchsorted(within, (nodes, nodes + tree.size))
        row = rows_of(index.offsets)
        cells = blocks[row] * np.int64(n_items) + codes
        occurrences = np.bincount(cells, index.weights[row], minlength=became.size).astype(np.int64)
        self._most = max(tree.n_leaves - base, 1)
        self._became = np.ascontiguousarray(became[:, order])
        self._occurrences = occurrences.reshape(became.shape)
        self._price = np.append(NodePrices.of(tree, base).of_node, self._most)
        self._drop = bool(((self._became < 0) & (self._occurrences > 0)).any())
        self._lower = _below_only_children(tree, tree.is_leaf)
        self._state = self._state_of(guarantee, rows)
        self._fill()
        self._check_start(rows, guarantee)
        self.best = became
        self._cost = self._current_cost()
        self.is_lowest(self._cost)

    def _state_of(self, guarantee: KmAnonymity, rows: SupportIndex) -> local_recoding.BlockCut:
        """Return the state of kernels, with the sizes of the sets of labels that are checked."""
        whole = guarantee.m is None or guarantee.m > max(rows.longest - 1, 2)
        return local_recoding.BlockCut(
            became=self._became,
            first=self._first,
            last=self._last,
            parent=self._tree.parent,
            size=self._tree.size,
            occurrences=self._occurrences,
            price=self._price,
            rows=rows.rows,
            k=guarantee.k,
            whole=whole,
            depth=0 if whole or guarantee.m is None else guarantee.m - 1,
            drop=self._drop,
        )

    def _fill(self) -> None:
        """Give absent items of a block the published node above them; check that these nodes are a cut."""
        became, occurrences = self._became, self._occurrences
        for block, node in np.argwhere(self._published()):
            below = slice(self._first[node], self._last[node])
            if (occurrences[block, below] > 0)[became[block, below] != node].any():
                hint = "no published node may be below another"
                raise ParameterError("the release is not a cut of the hierarchy", where="result", hint=hint)
            became[block, below] = node

    def _check_start(self, rows: SupportIndex, guarantee: KmAnonymity) -> None:
        n_items = len(self._place)
        items = rows.keep_items(np.arange(rows.n_items) < n_items)
        blocks = rows.codes[rows.offsets[1:] - 1] - n_items
        nodes = self._became[np.repeat(blocks, items.lengths), items.codes]
        offsets = offsets_of(nodes >= 0)[items.offsets]
        codes, offsets = canonical_rows(nodes[nodes >= 0], offsets, self._tree.n_nodes)
        index = SupportIndex(codes, offsets, self._tree.n_nodes, rows.weights)
        if index.at_risk(guarantee.k, guarantee.m).any():
            raise ParameterError(
                "the nodes of the result are not safe in this frame",
                where="result",
                hint="pass the frame that the result was made from",
            )

    def _share(self, cost: float) -> float:
        most = self._most * int(self._occurrences.sum())
        return cost / most if most else 0.0

    def descend(self, rng: np.random.Generator | None = None) -> None:
        """Apply moves, those with the largest gain first, until none gains; keep the best."""
        # With a generator, the moves are shuffled.
        gained = 1
        while gained and not self.is_over():
            gained = self._replace_all(rng) or self._exchange()
            self._cost -= gained
            self._keep()

    def lower(self) -> None:
        """Apply single moves until none gains: a small part of the time of `descend`."""
        self._cost -= self._replace_all()
        self._keep()

    def _replace_all(self, rng: np.random.Generator | None = None) -> int:
        """Apply all moves that gain, in rounds; return the sum of the gains."""
        total, gained = 0, 1
        while gained:
            moves = self._moves()
            if rng is not None:
                rng.shuffle(moves)
            gained = sum(self._replace(move, 0) for move in moves if not self.is_over())
            total += gained
        return total

    def restart(self, rng: np.random.Generator) -> None:
        """Raise nodes of the best cuts at random and descend again, until the limit in seconds."""
        became, tree = self._became, self._tree
        while not self.is_over():
            became[:] = self.best[:, np.argsort(self._place)]
            blocks, items = np.nonzero(became > 0)
            if not len(items):
                return
            for _ in range(rng.integers(1, 5)):
                place = rng.integers(len(items))
                node = became[blocks[place], items[place]]
                if node > 0:
                    above = int(tree.parent[node])
                    self._replace((blocks[[place]], above, np.array([above], np.int32)), _ANY)
            self._cost = self._current_cost()
            self.descend(rng)

    def _keep(self) -> None:
        if self.is_lowest(self._cost):
            self.best = self._became[:, self._place].copy()

    def _current_cost(self) -> int:
        return int((self._occurrences * self._price[self._became]).sum())

    def _replace(self, move: Move, least: int) -> int:
        blocks, top, nodes = move
        return local_recoding.replace(blocks, top, nodes.astype(np.int32), least, self._state)

    def _exchange(self) -> int:
        """Apply the first move that gains together with the moves that it requires and allows."""
        became = self._became
        for _, top, nodes in self._moves() if len(became) == 1 else ():
            old = became.copy()
            if not self.is_over() and local_recoding.force(top, nodes.astype(np.int32), self._state):
                self._replace_all()
                gained = self._cost - self._current_cost()
                if gained > 0:
                    return gained
            became[:] = old
        return 0

    def _moves(self) -> list[Move]:
        """Return the moves that would gain if they were safe: largest gain first, then by node and block."""
        # A node is replaced in one block, or in all blocks that publish it.
        occurrences, price, tree = self._occurrences, self._price, self._tree

        def below(values: Numbers) -> Numbers:
            total = np.pad(np.cumsum(values, axis=1), ((0, 0), (1, 0)))
            return total[:, self._last] - total[:, self._first]

        loss, as_itself = below(occurrences * price[self._became]), below(occurrences) * price[:-1]
        as_children = np.zeros_like(loss)
        np.add.at(as_children.T, tree.parent[1:], as_itself.T[1:])
        gains = np.where(self._published(), loss - as_children[:, self._lower], 0).T
        found = []
        for node in np.flatnonzero((gains > 0).any(axis=1)).tolist():
            blocks = np.flatnonzero(gains[node] > 0)
            children = tree.children(int(self._lower[node]))
            if len(blocks) > 1:
                found.append((int(gains[node].sum()), (blocks, node, children)))
            found += [(int(gains[node, block]), (np.array([block]), node, children)) for block in blocks]
        for block, node in np.argwhere(loss > as_itself) if self._drop else ():
            gain = int(loss[block, node] - as_itself[block, node])
            found.append((gain, (np.array([block]), int(node), np.array([node], np.int32))))
        found.sort(key=lambda each: -each[0])
        return [move for _, move in found]

    def _published(self) -> Mask:
        """Return for each block which nodes it publishes."""
        became = self._became
        published = np.zeros((len(became), self._tree.n_nodes + 1), np.bool_)
        published[np.arange(len(became))[:, None], became] = True
        return published[:, :-1]
