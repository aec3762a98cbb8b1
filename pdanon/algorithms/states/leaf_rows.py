"""Groups of rows that are published alike: what their algorithms share, and what rows have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Offsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.threads import even_parts, share

__all__ = ["LeafRows", "ancestors", "by_first_row", "empty_alike", "node_counts", "silent_rows"]

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
