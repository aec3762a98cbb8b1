"""Cut: a level through a hierarchy that is raised until nothing rare is left."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.hierarchy import Hierarchy
from pdanon.itemsets import Codes, canonical_rows
from pdanon.support import ItemsetTable, SupportIndex

__all__ = ["Cut"]


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

    Notes
    -----
    Memory: 12 bytes for each pair of nodes that occurs in a row together.
    """

    def __init__(self, index: SupportIndex, hierarchy: Hierarchy, leaves: Codes) -> None:
        self._index = index
        self._hierarchy = hierarchy
        self._leaves = leaves
        self._extended = _extended(index, hierarchy, leaves)
        occurrences = _occurrences(index, hierarchy, leaves)
        # NCP of all occurrences below a node, times the number of leaves: an integer.
        cost = np.where(hierarchy.leaves == 1, 0, occurrences * hierarchy.leaves.astype(np.int64))
        below = np.zeros(hierarchy.n_nodes, np.int64)
        levels = hierarchy.parent, hierarchy.size, hierarchy.leaves
        self._state = (*levels, cost, hierarchy.is_leaf.copy(), below)

    @property
    def nodes(self) -> Codes:
        """The cut's node above each item."""
        from pdanon._kernels import cuts

        return cuts.node_of(self._leaves, self._state)

    def satisfy_pairs(self, k: int, *, pairs: bool = True) -> int:
        """Raise the cut until no node and no pair of nodes is rare; return the number of steps.

        Parameters
        ----------
        k : int
            A support in (0, k) is rare.
        pairs : bool
            Whether pairs count, or single nodes only.
        """
        from pdanon._kernels import cuts

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
        from pdanon._kernels import cuts

        return cuts.satisfy_itemsets(k, nodes.codes, nodes.offsets, self._state, self._supports)

    def index(self) -> SupportIndex:
        """The rows as sets of the cut's nodes, equal rows collapsed."""
        index = self._index
        codes, lengths = canonical_rows(
            self.nodes[index.codes], np.diff(index.offsets), self._hierarchy.n_nodes
        )
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        return SupportIndex(codes, offsets, self._hierarchy.n_nodes, index.weights).distinct()

    @cached_property
    def _supports(self) -> Any:
        rows = self._extended
        singles = rows.singles
        singles[0] = self._index.n_non_empty  # the root is left out of the extended rows
        pairs = rows.pairs_where(lambda supports: supports > 0)
        return (singles, *pairs, rows.codes, rows.offsets, rows.weights, *rows.transpose[:2])


def _extended(index: SupportIndex, hierarchy: Hierarchy, leaves: Codes) -> SupportIndex:
    """The rows with all ancestors of their items, except the root, as node numbers."""
    paths = [leaves]
    while paths[-1].any():
        paths.append(np.maximum(hierarchy.parent[paths[-1]], 0))
    ancestors = np.column_stack(paths)[index.codes]
    inner = ancestors > 0
    ends = np.concatenate(([0], np.cumsum(inner.sum(axis=1))))[index.offsets]
    codes, lengths = canonical_rows(ancestors[inner], np.diff(ends), hierarchy.n_nodes)
    return SupportIndex(codes, np.concatenate(([0], np.cumsum(lengths))), hierarchy.n_nodes, index.weights)


def _occurrences(index: SupportIndex, hierarchy: Hierarchy, leaves: Codes) -> NDArray[np.int64]:
    """Original occurrences of all leaves below each node."""
    by_leaf = np.zeros(hierarchy.n_nodes + 1, np.int64)
    np.add.at(by_leaf, leaves + 1, index.singles)
    total = np.cumsum(by_leaf)
    first = np.arange(hierarchy.n_nodes)
    return total[first + hierarchy.size] - total[first]
