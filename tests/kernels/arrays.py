"""Small random rows, as lists and as the arrays that kernels take."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np

from pdanon._kernels.counting import Rows

__all__ = [
    "TIMES",
    "Tree",
    "contained_sets",
    "csr",
    "draw_rows",
    "draw_tree",
    "lists",
    "rows_of",
    "support_of",
]

TIMES = 150  # random cases of a test


def csr(sets):
    """Return the codes and offsets of lists."""
    codes = np.array([code for each in sets for code in each], np.int32)
    return codes, np.cumsum([0, *(len(each) for each in sets)], dtype=np.int64)


def lists(codes, offsets):
    """Return codes and offsets as lists."""
    return [np.asarray(codes)[begin:end].tolist() for begin, end in pairwise(offsets)]


def draw_rows(rng, n_items=6, most=12):
    """Draw rows of ascending items, and their weights."""
    rows = [np.flatnonzero(rng.random(n_items) < rng.random()).tolist() for _ in range(rng.integers(1, most))]
    return rows, rng.integers(1, 4, len(rows))


def arrays_of(sets, weights, n_items):
    """Return the rows, and the rows of each item, by the names of `Rows`."""
    codes, offsets = csr(sets)
    number = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(offsets))
    order = np.lexsort((number, codes))
    starts = np.searchsorted(codes[order], np.arange(n_items + 1)).astype(np.int64)
    rows = {"codes": codes, "offsets": offsets, "weights": np.asarray(weights, np.int64)}
    return rows | {"starts": starts, "tids": number[order], "positions": order.astype(np.int64)}


def rows_of(sets, weights, n_items):
    """Return the rows as kernels take them."""
    return Rows(**arrays_of(sets, weights, n_items))


def support_of(items, sets, weights):
    """Return the weight of the rows that contain all items."""
    return sum(int(weight) for row, weight in zip(sets, weights, strict=True) if set(items) <= set(row))


def contained_sets(sets, sizes):
    """Return the itemsets of these sizes in the rows."""
    return {each for row in sets for size in sizes for each in combinations(row, size)}


class Tree:
    """A tree with nodes numbered in pre-order, given the parent of each."""

    def __init__(self, parent):
        self.parent, self.n = parent, len(parent)
        self.above = [self._above(node) for node in range(self.n)]  # from the node itself to the root
        self.below = [
            [other for other in range(self.n) if node in self.above[other]] for node in range(self.n)
        ]
        self.leaves_below = [[each for each in below if len(self.below[each]) == 1] for below in self.below]
        self.all_cuts = self._cuts(0)

    def _above(self, node):
        return [node] if node == 0 else [node, *self._above(self.parent[node])]

    def children(self, node):
        return [each for each in range(self.n) if self.parent[each] == node]

    def _cuts(self, node):
        found = [frozenset([node])]
        if children := self.children(node):
            found += [frozenset().union(*parts) for parts in product(*map(self._cuts, children))]
        return found


def draw_tree(rng, least=3, most=6):
    """Draw a tree with two or three children of each inner node."""
    parent = [-1]

    def grow(node, n_leaves):
        if n_leaves > 1:
            n = int(rng.integers(2, min(n_leaves, 3) + 1))
            ends = sorted(rng.choice(np.arange(1, n_leaves), n - 1, replace=False))
            for part in np.diff([0, *ends, n_leaves]):
                parent.append(node)
                grow(len(parent) - 1, int(part))

    grow(0, int(rng.integers(least, most)))
    return Tree(parent)
