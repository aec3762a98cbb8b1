"""Cut: a level of a hierarchy, raised until no itemset is rare, and searches for lower cuts."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import cut_search, cuts, local_recoding
from pdanon.errors import ParameterError
from pdanon.guarantees import KmAnonymity
from pdanon.guarantees.breaches import Breaches
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, Offsets, canonical_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import inverse_order, mask_at, offsets_of, ranges, rows_of, sums
from pdanon.itemsets.support import ItemsetTable, SupportIndex, threats_beyond_pairs
from pdanon.itemsets.threads import even_parts, search, share
from pdanon.itemsets.timing import Clock, TimedSearch, check_time, count_steps, halt_flag


@frozen
class LeafRows:
    """Rows as leaves of a hierarchy, in its order."""

    leaves: Codes  # row after row; ascending within a row
    offsets: Offsets  # row ``i`` is ``leaves[offsets[i]:offsets[i + 1]]``
    order: Numbers  # position of each occurrence in the column of the rows

    @classmethod
    def of(cls, codes: Codes, offsets: Offsets, leaves: Codes) -> LeafRows:
        """Sort the occurrences of each row, given the leaf of each item."""
        of_occurrence = leaves[codes]
        order = np.argsort((rows_of(offsets) << 32) | of_occurrence, kind="stable")
        return cls(of_occurrence[order], offsets, order)

    @property
    def lengths(self) -> Numbers:
        """Number of items of each row."""
        return np.diff(self.offsets)

    def take(self, rows: Numbers) -> LeafRows:
        """Select rows in the given order; ``order`` still refers to the same column."""
        lengths = self.lengths[rows]
        _, places = ranges(self.offsets[rows], lengths)
        return LeafRows(self.leaves[places], offsets_of(lengths), self.order[places])


def merge_empty_rows(itemsets: Itemsets) -> Itemsets:
    """Turn missing rows into empty ones, if there are empty ones: rows without items are then equal."""
    empty = (itemsets.lengths == 0) & ~itemsets.nulls
    return itemsets.missing_as_empty() if empty.any() else itemsets


def silent_rows(lengths: Numbers, k: int) -> Mask:
    """Mark the rows that are published without items: empty rows and, if these are too few, others."""
    # The others are the shortest rows up to k (ties: the first). All rows are marked if fewer than k would be
    # left.
    n_rows, n_silent = len(lengths), int(np.count_nonzero(lengths == 0))
    if n_silent:
        n_silent = max(n_silent, k)
    if n_rows - n_silent < k:
        n_silent = n_rows
    return mask_at(n_rows, np.argsort(lengths, kind="stable")[:n_silent])


def by_first_row(groups: NDArray[Any]) -> Codes:
    """Number groups of rows in the order of their first rows."""
    # By sorting: a hash table would take more memory.
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    return inverse_order(np.argsort(first).astype(np.int32))[number]


def ancestors(tree: Hierarchy) -> Codes:
    """Return the ancestor of each node at each depth, shape (height + 1, nodes)."""
    # A node is its own ancestor at its depth. The entries below are -1.
    path = np.full((tree.height + 1, tree.n_nodes), -1, np.int32)
    path[tree.depth, np.arange(tree.n_nodes)] = np.arange(tree.n_nodes)
    for depth in range(tree.height, 0, -1):
        inner = path[depth] >= 0
        path[depth - 1, inner] = tree.parent[path[depth, inner]]
    return path


def node_counts(rows: LeafRows, tree: Hierarchy) -> tuple[Offsets, Codes, Codes]:
    """Count the items of each row below each node, as CSR ``starts, nodes, counts``."""
    # Only positive counts are listed, ascending by node within a row. A leaf is below itself.

    def part(begin: int, end: int) -> tuple[Numbers, Codes, Codes]:
        return cuts.node_counts(rows.offsets[begin : end + 1], rows.leaves, tree.parent)

    sizes, nodes, counts = zip(*share(part, even_parts(rows.offsets * (tree.height + 1))), strict=True)
    return offsets_of(np.concatenate(sizes)), np.concatenate(nodes), np.concatenate(counts)


# --- Cut: a level of a hierarchy, raised until no itemset is rare


class Cut:
    """A cut of a hierarchy, raised from the leaves to the node that adds least to the NCP of occurrences."""

    def __init__(
        self,
        index: SupportIndex,
        hierarchy: Hierarchy,
        leaves: Codes,  # the leaf of each item
        start: Codes | None = None,  # initial node of each item, nodes of one cut; by default the leaves
        *,
        secrets: SupportIndex | None = None,  # sensitive items of the same rows; not generalized
        # A secret is in at most 1 / diversity of the rows with a set of nodes; 0: no limit.
        diversity: int = 0,
    ) -> None:
        self._index = index.distinct() if secrets is None else index
        self._hierarchy = hierarchy
        self._leaves = leaves
        occurrences = sum_below(index.singles, hierarchy, leaves)
        # NCP of all occurrences below a node, times the number of leaves: an exact integer.
        self._cost = np.where(hierarchy.leaves == 1, 0, occurrences * hierarchy.leaves.astype(np.int64))
        self._state = cuts.State(
            parent=hierarchy.parent,
            size=hierarchy.size,
            leaves=hierarchy.leaves,
            cost=self._cost,
            in_cut=hierarchy.is_leaf,
            below=np.zeros(hierarchy.n_nodes, np.int64),
        )
        if start is not None:
            self.lift(start)
        none = SupportIndex(np.empty(0, np.int32), np.zeros(1, np.int64), 0)
        self._secrets, self._diversity = none if secrets is None else secrets, diversity
        self._above = _with_ancestors(self._index, hierarchy, self.nodes)
        self._supports = self._count_supports(pairs=False)

    def copy(self) -> Cut:
        """Return another cut at the same nodes, which shares the supports."""
        other = copy(self)
        other._state = self._state.copy()
        return other

    @property
    def nodes(self) -> Codes:
        """The node of the cut above each item."""
        return cuts.node_of(self._leaves, self._state)

    @property
    def loss(self) -> int:
        """NCP summed over all occurrences, times the number of leaves of the hierarchy."""
        return self._state.loss

    def lift(self, nodes: Codes) -> None:
        """Raise the cut to nodes that are not below it; of a node and its ancestor, the ancestor."""
        cuts.lift_all(np.unique(nodes).astype(np.int32), self._state)

    def protect(self, k: int, m: int | None) -> None:
        """Raise the cut until every set of up to m nodes that occurs is in k rows and reveals no secret."""
        # A raised node can make other sets reveal a sensitive item. So these sets are listed again until
        # there are none. The caller checks the sets without nodes: the whole table, and its non-empty rows.
        count_steps(self.satisfy_pairs(k, pairs=m != 1))
        for threats in threats_beyond_pairs(self.index, k, m):
            count_steps(self.satisfy(threats, k))
        if not self._diversity:
            return
        share = Fraction(1, self._diversity)
        while steps := self.satisfy(Breaches(self._rows(), self._secrets, share, m, k).breaches(), k):
            count_steps(steps)

    def satisfy_pairs(self, k: int, *, pairs: bool = True) -> int:
        """Raise the cut until no node and, with ``pairs``, no pair is rare; return the number of steps."""
        return cuts.satisfy_pairs(k, pairs, self._state, self._supports)

    def satisfy(self, nodes: ItemsetTable, k: int) -> int:
        """Raise the cut until no given set of nodes, at or below it, is rare; return the number of steps."""
        # A table of pairs pays off if pairs are among the sets: each is looked up after every step.
        supports = self.supports if (nodes.lengths == 2).any() else self._supports
        return cuts.satisfy_itemsets(k, nodes.codes, nodes.offsets, self._state, supports)

    def index(self) -> SupportIndex:
        """Return the rows as sets of nodes of the cut, equal rows collapsed."""
        return self._rows().distinct()

    def _rows(self) -> SupportIndex:
        return self._index.recode(self.nodes, self._hierarchy.n_nodes)

    @cached_property
    def supports(self) -> cuts.Supports:
        """Supports of nodes and pairs not below the start, and rows to count further ones, for kernels."""
        return self._count_supports(pairs=True)

    def _count_supports(self, *, pairs: bool) -> cuts.Supports:
        """Count supports of nodes and, if requested, of all pairs; all rows have the root."""
        rows, secrets = self._above, self._secrets
        singles = rows.singles.copy()
        singles[0] = self._index.n_non_empty  # the root is left out of the extended rows
        nothing = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        starts, partners, together = rows.sorted_pairs() if pairs else nothing
        return cuts.Supports(
            rows=rows.rows,
            singles=singles,
            starts=starts,
            partners=partners,
            together=together,
            secret_offsets=secrets.offsets,
            secrets=secrets.codes,
            n_secrets=secrets.n_items,
            diversity=self._diversity,
        )

    @property
    def added_losses(self) -> Numbers:
        """Loss that each node adds to that of its children, for all occurrences below."""
        # Nodes of the cut, and those below, add nothing: their loss is that of the cut.
        added = self._cost.copy()
        np.subtract.at(added, self._hierarchy.parent[1:], self._cost[1:])
        nodes = np.arange(self._hierarchy.n_nodes)
        cut = np.unique(self.nodes)
        if not len(cut):
            return added
        last = cut[np.maximum(np.searchsorted(cut, nodes, side="right") - 1, 0)]
        below = (last <= nodes) & (nodes < last + self._hierarchy.size[last])
        return np.where(below, 0, added)

    def first_demands(self, k: int, *, pairs: bool = True) -> ItemsetTable:
        """Return the demands of all rare nodes and, with ``pairs``, pairs of nodes, not below the start."""
        # A cut covers a node if it contains the node or an ancestor. A demand is a set of nodes, and every
        # safe cut covers one or more of them. A cut that meets these demands has no rare node or pair.
        # Demands are distinct. Implied demands are left out, except some pairs.
        tree = self._hierarchy
        forced = cuts.forced_nodes(k, pairs, tree.parent, tree.size, self.supports)
        uppermost = np.flatnonzero(forced & ~np.where(tree.parent < 0, False, forced[tree.parent]))
        found = np.empty(0, np.int32)
        if pairs:
            found = cuts.pair_demands(k, forced, tree.parent, tree.size, self.supports)
        sizes = np.concatenate((np.ones(len(uppermost), np.int64), np.full(len(found) // 2, 2)))
        codes = np.concatenate((uppermost.astype(np.int32), found))
        rows = SupportIndex(codes, offsets_of(sizes), tree.n_nodes).distinct()
        return rows.table(rows.weights)

    def demands(self, threats: ItemsetTable, k: int) -> ItemsetTable:
        """Return the demands of rare sets of nodes, each raised while it stays rare."""
        # The sets have no node below the start, and no node with its ancestor. A cut that meets the demands
        # publishes none of them.
        tree = self._hierarchy
        sets = threats.codes, threats.offsets
        codes, starts = cuts.set_demands(k, *sets, tree.parent, tree.size, self.supports)
        return ItemsetTable.listed(codes, starts)


class CutTask(NamedTuple):
    """The task to publish items as nodes of a hierarchy."""

    rows: SupportIndex
    tree: Hierarchy
    leaves: Codes  # the leaf of each item
    k: int
    m: int | None
    # Node of each item in the lowest cut that may be published; by default the leaves.
    lowest: Codes | None = None
    hidden: Mask | None = None  # items that stay suppressed, with all nodes above them; by default none

    @property
    def floor(self) -> Mask:
        """Mask of the nodes of the lowest cut."""
        if self.lowest is None:
            return self.tree.is_leaf
        nodes, ends = np.unique(self.lowest), np.zeros(self.tree.n_nodes + 1, np.int64)
        ends[nodes] += 1
        np.subtract.at(ends, nodes + self.tree.size[nodes], 1)
        floor = self.tree.is_leaf & (np.cumsum(ends)[:-1] == 0)
        floor[nodes] = True
        return floor

    @property
    def barred(self) -> Mask:
        """Mask of the nodes that cannot be published: those of hidden items, and above them."""
        if self.hidden is None:
            return np.zeros(self.tree.n_nodes, np.bool_)
        return sum_below(self.hidden.astype(np.int64), self.tree, self.leaves) > 0

    def cut(self, start: Codes | None = None) -> Cut:
        """Return the lowest cut, or that of the nodes in ``start``."""
        return Cut(self.rows, self.tree, self.leaves, self.lowest if start is None else start)

    def protected_cut(self, start: Codes | None = None) -> Cut:
        """Return the safe cut that is reached from the lowest cut, or from the nodes in ``start``."""
        cut = self.cut(start)
        cut.protect(self.k, self.m)
        return cut


def _with_ancestors(index: SupportIndex, hierarchy: Hierarchy, nodes: Codes) -> SupportIndex:
    """Return the rows as nodes of the items and all their ancestors, except the root."""
    paths = [nodes]
    while paths[-1].any():
        paths.append(np.maximum(hierarchy.parent[paths[-1]], 0))
    ancestors = np.column_stack(paths)[index.codes]
    inner = ancestors > 0
    ends = offsets_of(inner.sum(axis=1))[index.offsets]
    codes, offsets = canonical_rows(ancestors[inner], ends, hierarchy.n_nodes)
    return SupportIndex(codes, offsets, hierarchy.n_nodes, index.weights)


def sum_below(values: Numbers, hierarchy: Hierarchy, leaves: NDArray[Any]) -> Numbers:
    """Sum the values of the items below each node, as integers."""
    total = offsets_of(sums(leaves, values, hierarchy.n_nodes))
    first = np.arange(hierarchy.n_nodes)
    return total[first + hierarchy.size] - total[first]


# --- Searches for lower cuts, while the guarantee is kept


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


def below_only_children(covered: NDArray[Any], floor: Mask) -> NDArray[Any]:
    """Return the lowest node, down to the floor, that covers the same leaves as each node."""
    # An only child directly follows its parent, and covers as many leaves. The floor includes all leaves.
    nodes = np.arange(len(covered))
    lone = np.append(covered[:-1] == covered[1:], False) & ~floor
    return np.minimum.accumulate(np.where(lone, len(covered), nodes)[::-1])[::-1]


class _Threats(NamedTuple):
    """Known threats as CSR, linked by their last nodes, as the kernel `keep` takes them."""

    codes: Codes
    offsets: Offsets
    newest: Numbers
    before: Numbers


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
        index, hierarchy, leaves, k, m, *_ = task
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
        self._lower = below_only_children(hierarchy.leaves, self._floor | hierarchy.is_leaf)
        self._gain = self._loss.copy()
        np.subtract.at(self._gain, hierarchy.parent[1:], self._loss[self._lower[1:]])
        nothing = np.empty(0, np.int32), np.zeros(1, np.int64)
        self._threats = _Threats(*nothing, np.full(len(nodes), -1), np.empty(0, np.int64))

    def steps(self) -> Iterator[Scenario]:
        """Descend from the root to the child cut of lowest cost, while that lowers the cost."""
        # A child cut has the children of a node instead of the node (ties: the first node).
        cut = mask_at(self._hierarchy.n_nodes, self._lower[0])
        scenario: Scenario | None = self.scenario(cut)
        while scenario is not None:
            yield scenario
            scenario = self._next(scenario)
            count_steps()

    def scenario(self, cut: Mask) -> Scenario:
        """Return the nodes of a cut to keep, with the cost."""
        kept, cost = self._suppress(cut, np.zeros(len(cut), np.bool_), np.iinfo(np.int64).max)
        return Scenario(cut, kept, cost)

    def around(self, nodes: Mask) -> Mask:
        """Return the highest cut with the given nodes; none is above another, or has an only child."""
        at = np.flatnonzero(nodes)
        above = sum_below(np.ones_like(at), self._hierarchy, at) > nodes
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
                self._order, cut, self._rare, safe, self._penalty, loss, bound, *self._threats
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
        known, newest = self._threats, self._threats.newest.copy()
        last = self._order[np.maximum.reduceat(self._rank[nodes], offsets[:-1])]
        before = np.concatenate((known.before, newest[last]))
        newest[last] = np.arange(len(known.before), len(before))
        self._threats = _Threats(
            np.concatenate((known.codes, nodes.astype(np.int32))),
            np.concatenate((known.offsets, known.offsets[-1] + offsets[1:])),
            newest,
            before,
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
        self._lower = below_only_children(tree.leaves, tree.is_leaf)
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
