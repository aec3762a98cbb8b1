"""Cut: a level through a hierarchy that is raised until nothing rare is left."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import cuts
from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import breaches
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Offsets, canonical_rows
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex, threats_beyond_pairs
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.threads import even_parts, share
from pdanon.itemsets.timing import Report

__all__ = [
    "Cut",
    "LeafRows",
    "ancestors",
    "by_first_row",
    "check_parts",
    "empty_alike",
    "node_counts",
    "silent_rows",
]

_SORTED = 16  # steps that a number takes to be sorted


@dataclass(frozen=True, eq=False, slots=True)
class LeafRows:
    """Rows as leaves of a hierarchy, in its order.

    Parameters
    ----------
    leaves : ndarray of int32, shape (occurrences,)
        Leaf of each occurrence, row after row; ascending within a row.
    offsets : ndarray of int64, shape (rows + 1,)
        Row ``i`` is ``leaves[offsets[i]:offsets[i + 1]]``.
    order : ndarray of int64, shape (occurrences,)
        Where each occurrence is in the column that the rows are from.
    """

    leaves: Codes
    offsets: Offsets
    order: NDArray[np.int64]

    @classmethod
    def of(cls, codes: Codes, offsets: Offsets, leaves: Codes) -> LeafRows:
        """Sort the occurrences of each row, given the leaf of each item."""
        rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
        of_occurrence = leaves[codes]
        order = np.argsort((rows << 32) | of_occurrence, kind="stable")
        return cls(of_occurrence[order], offsets, order)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of items of each row."""
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.int64]) -> LeafRows:
        """Some of the rows, in the given order; ``order`` then leads to the same column."""
        lengths = self.lengths[rows]
        offsets = offsets_of(lengths)
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return LeafRows(self.leaves[places], offsets, self.order[places])


def empty_alike(itemsets: Itemsets) -> Itemsets:
    """The same rows, but missing ones empty if there are empty ones, so that rows without items are alike."""
    empty = (itemsets.lengths == 0) & ~itemsets.nulls
    return itemsets.missing_as_empty() if empty.any() else itemsets


def silent_rows(lengths: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Rows that are published without any item: those that have none and, if they are too few, others.

    The others are the shortest (then: the first) that make k. All rows, if fewer than k were left.
    """
    n_rows, n_silent = len(lengths), int(np.count_nonzero(lengths == 0))
    if n_silent:
        n_silent = max(n_silent, k)
    if n_rows - n_silent < k:
        n_silent = n_rows
    silent = np.zeros(n_rows, np.bool_)
    silent[np.argsort(lengths, kind="stable")[:n_silent]] = True
    return silent


def by_first_row(groups: NDArray[Any]) -> Codes:
    """The same groups of rows, numbered in the order in which they first come."""
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[number]


def ancestors(tree: Hierarchy) -> Codes:
    """The ancestor of each node at each depth, shape (height + 1, nodes); itself at its own, -1 below."""
    path = np.full((tree.height + 1, tree.n_nodes), -1, np.int32)
    path[tree.depth, np.arange(tree.n_nodes)] = np.arange(tree.n_nodes)
    for depth in range(tree.height, 0, -1):
        inner = path[depth] >= 0
        path[depth - 1, inner] = tree.parent[path[depth, inner]]
    return path


def node_counts(rows: LeafRows, tree: Hierarchy) -> tuple[Offsets, Codes, Codes]:
    """Number of items that each row has below each node, as CSR ``starts, nodes, counts``.

    Only nodes with some are there, ascending within a row; a leaf is below itself.
    """
    paths = ancestors(tree)

    def part(begin: int, end: int) -> tuple[NDArray[np.int64], Codes, Codes]:
        own = slice(*rows.offsets[[begin, end]])
        row_of = np.repeat(np.arange(end - begin, dtype=np.int64), rows.lengths[begin:end])
        above = paths[:, rows.leaves[own]]
        keys, counts = np.unique((row_of * tree.n_nodes + above)[above >= 0], return_counts=True)
        row_of, nodes = np.divmod(keys, tree.n_nodes)
        sizes = np.bincount(row_of, minlength=end - begin)
        return sizes, nodes.astype(np.int32), counts.astype(np.int32)

    sizes, nodes, counts = zip(*share(part, even_parts(rows.offsets * len(paths) * _SORTED)), strict=True)
    return offsets_of(np.concatenate(sizes)), np.concatenate(nodes), np.concatenate(counts)


# --- Cut: a level through a hierarchy that is raised until nothing rare is left


class Cut:
    """A cut of a hierarchy, from the leaves upwards, with its loss kept current.

    Every item is published as the node of the cut above it; a node is in a row if one of its leaves is.
    Each step of an algorithm replaces everything below some node by that node, which is chosen so that the
    NCP summed over all occurrences, those of sibling items included, grows least.

    Parameters
    ----------
    index : SupportIndex
        Rows of items.
    hierarchy : Hierarchy
        Over the items.
    leaves : ndarray of int32, shape (items,)
        The leaf of each item.
    start : ndarray of int32, shape (items,), optional
        The node of each item that the cut begins with, nodes of one cut. By default the leaves.
    secrets : SupportIndex, optional
        The sensitive items of the same rows, which are not generalized.
    diversity : int
        Of the rows that hold a set of nodes, at most one in so many may hold a sensitive item.

    Notes
    -----
    Memory: 12 bytes for each pair of nodes, not below the start, that occurs in a row together.
    """

    def __init__(
        self,
        index: SupportIndex,
        hierarchy: Hierarchy,
        leaves: Codes,
        start: Codes | None = None,
        *,
        secrets: SupportIndex | None = None,
        diversity: int = 0,
    ) -> None:
        self._index = index.distinct() if secrets is None else index
        self._hierarchy = hierarchy
        self._leaves = leaves
        occurrences = _occurrences(index, hierarchy, leaves)
        # NCP of all occurrences below a node, times the number of leaves: an integer.
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
        rows = _extended(self._index, hierarchy, self.nodes)
        self._supports = _supports(rows, self._index.n_non_empty, self._secrets, diversity)

    def copy(self) -> Cut:
        """Another cut in the same place, which shares the supports."""
        other = copy(self)
        other._state = self._state.copy()
        return other

    @property
    def nodes(self) -> Codes:
        """The cut's node above each item."""
        return cuts.node_of(self._leaves, self._state)

    @property
    def loss(self) -> int:
        """NCP summed over all occurrences, times the number of leaves of the hierarchy."""
        return self._state.loss

    def lift(self, nodes: Codes) -> None:
        """Raise the cut to some nodes, none of which is below it; where one is above another, to that."""
        cuts.lift_all(np.unique(nodes).astype(np.int32), self._state)

    def protect(self, k: int, m: int | None, report: Report) -> None:
        """Raise the cut until every set of up to m nodes that is in a row is in k rows, and safe.

        To raise a node can make other sets give a sensitive item away: what does so is listed anew until
        there is none. That the whole table does not, and its non-empty rows, is for the caller to check.

        Parameters
        ----------
        k, m : int
            As in :class:`pdanon.KmAnonymity`.
        report : callable
            Is told the number of steps from time to time.
        """
        report(self.satisfy_pairs(k, pairs=m != 1))
        for threats in threats_beyond_pairs(self.index, k, m):
            report(self.satisfy(threats, k))
        if not self._diversity:
            return
        asked: Any = {"share": Fraction(1, self._diversity), "m": m, "k": k}
        while steps := self.satisfy(breaches(self._rows(), self._secrets, **asked), k):
            report(steps)

    def satisfy_pairs(self, k: int, *, pairs: bool = True) -> int:
        """Raise the cut until no node and no pair of nodes is rare; return the number of steps.

        Parameters
        ----------
        k : int
            A support in (0, k) is rare.
        pairs : bool
            Whether pairs count, or single nodes only.
        """
        return cuts.satisfy_pairs(k, pairs, self._state, self._supports)

    def satisfy(self, nodes: ItemsetTable, k: int) -> int:
        """Raise the cut until nothing of the given sets of nodes is rare; return the number of steps.

        Parameters
        ----------
        nodes : ItemsetTable
            Sets of nodes at or below the cut.
        k : int
            A support in (0, k) is rare.
        """
        return cuts.satisfy_itemsets(k, nodes.codes, nodes.offsets, self._state, self._supports)

    def index(self) -> SupportIndex:
        """The rows as sets of the cut's nodes, equal rows collapsed."""
        return self._rows().distinct()

    def _rows(self) -> SupportIndex:
        return self._index.recode(self.nodes, self._hierarchy.n_nodes)

    @property
    def supports(self) -> cuts.Supports:
        """Supports of the nodes and pairs not below the start, and the rows to count more, for kernels."""
        return self._supports

    @property
    def added_losses(self) -> NDArray[np.int64]:
        """Loss that each node adds to that of its children, all published for the occurrences below."""
        added = self._cost.copy()
        np.subtract.at(added, self._hierarchy.parent[1:], self._cost[1:])
        return added

    def first_demands(self, k: int, *, pairs: bool = True) -> ItemsetTable:
        """Demands of all rare nodes, and pairs of nodes, not below the start.

        A cut covers a node if it is at the node or above it. A demand is a set of nodes of which every safe
        cut covers one or more; a cut that meets these demands has no rare node or pair.

        Parameters
        ----------
        k : int
            A support in (0, k) is rare.
        pairs : bool
            Whether pairs count, or single nodes only.

        Returns
        -------
        ItemsetTable
            Distinct demands. Those that others imply are left out, except some of pairs.
        """
        tree = self._hierarchy
        forced = cuts.forced_nodes(k, pairs, tree.parent, tree.size, self._supports)
        uppermost = np.flatnonzero(forced & ~np.where(tree.parent < 0, False, forced[tree.parent]))
        found = np.empty(0, np.int32)
        if pairs:
            found = cuts.pair_demands(k, forced, tree.parent, tree.size, self._supports)
        sizes = np.concatenate((np.ones(len(uppermost), np.int64), np.full(len(found) // 2, 2)))
        codes = np.concatenate((uppermost.astype(np.int32), found))
        rows = SupportIndex(codes, offsets_of(sizes), tree.n_nodes).distinct()
        return ItemsetTable(rows.codes, rows.offsets, rows.weights)

    def demands(self, threats: ItemsetTable, k: int) -> ItemsetTable:
        """Demands of rare sets of nodes, each raised as far as it stays rare.

        Parameters
        ----------
        threats : ItemsetTable
            Sets of nodes not below the start, none above another of its set.
        k : int
            A support in (0, k) is rare.

        Returns
        -------
        ItemsetTable
            A cut that meets these demands publishes none of the given sets.
        """
        tree = self._hierarchy
        sets = threats.codes, threats.offsets
        codes, starts = cuts.set_demands(k, *sets, tree.parent, tree.size, self._supports)
        return ItemsetTable(codes, starts, np.zeros(len(starts) - 1, np.int64))


def check_parts(parts: Any) -> None:
    """Check a number of parts that a cut each is made for: an integer of at least 1."""
    if isinstance(parts, bool) or not isinstance(parts, Integral) or parts < 1:
        got = str(parts) if isinstance(parts, (int, float)) else type(parts).__name__
        raise ParameterError("parts must be an integer of at least 1", got=got)


def _supports(rows: SupportIndex, n_rows: int, secrets: SupportIndex, diversity: int) -> cuts.Supports:
    """Supports of nodes and pairs of nodes, and the rows to count more; all rows hold the root."""
    singles = rows.singles.copy()
    singles[0] = n_rows  # the root is left out of the extended rows
    starts, partners, together = rows.sorted_pairs()
    return cuts.Supports(
        rows=rows.rows,
        singles=singles,
        starts=starts,
        partners=partners,
        together=together,
        secret_offsets=secrets.offsets,
        secrets=secrets.codes,
        n_secrets=secrets.n_items,
        diversity=diversity,
    )


def _extended(index: SupportIndex, hierarchy: Hierarchy, nodes: Codes) -> SupportIndex:
    """The rows as the items' nodes and all ancestors of those, except the root."""
    paths = [nodes]
    while paths[-1].any():
        paths.append(np.maximum(hierarchy.parent[paths[-1]], 0))
    ancestors = np.column_stack(paths)[index.codes]
    inner = ancestors > 0
    ends = offsets_of(inner.sum(axis=1))[index.offsets]
    codes, offsets = canonical_rows(ancestors[inner], ends, hierarchy.n_nodes)
    return SupportIndex(codes, offsets, hierarchy.n_nodes, index.weights)


def _occurrences(index: SupportIndex, hierarchy: Hierarchy, leaves: Codes) -> NDArray[np.int64]:
    """Original occurrences of all leaves below each node."""
    by_leaf = np.zeros(hierarchy.n_nodes + 1, np.int64)
    np.add.at(by_leaf, leaves + 1, index.singles)
    total = np.cumsum(by_leaf)
    first = np.arange(hierarchy.n_nodes)
    return total[first + hierarchy.size] - total[first]
