"""Cut: a level of a hierarchy, raised until no itemset is rare."""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import cuts
from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import Breaches
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, Offsets, canonical_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import inverse_order, mask_at, offsets_of, rows_of, sums
from pdanon.itemsets.support import ItemsetTable, SupportIndex, threats_beyond_pairs
from pdanon.itemsets.threads import even_parts, share
from pdanon.itemsets.timing import Report


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
        offsets = offsets_of(lengths)
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return LeafRows(self.leaves[places], offsets, self.order[places])


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

    def protect(self, k: int, m: int | None, report: Report) -> None:
        """Raise the cut until every set of up to m nodes that occurs is in k rows and reveals no secret."""
        # A raised node can make other sets reveal a sensitive item. So these sets are listed again until
        # there are none. The caller checks the sets without nodes: the whole table, and its non-empty rows.
        report(self.satisfy_pairs(k, pairs=m != 1))
        for threats in threats_beyond_pairs(self.index, k, m):
            report(self.satisfy(threats, k))
        if not self._diversity:
            return
        share = Fraction(1, self._diversity)
        while steps := self.satisfy(Breaches(self._rows(), self._secrets, share, m, k).breaches(), k):
            report(steps)

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
        return ItemsetTable(rows.codes, rows.offsets, rows.weights)

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
    report: Report
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
        cut.protect(self.k, self.m, self.report)
        return cut


def check_parts(parts: Any) -> None:
    """Check the number of parts, each with its own cut: an integer of at least 1."""
    if isinstance(parts, bool) or not isinstance(parts, Integral) or parts < 1:
        got = str(parts) if isinstance(parts, (int, float)) else type(parts).__name__
        raise ParameterError("parts must be an integer of at least 1", got=got)


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
