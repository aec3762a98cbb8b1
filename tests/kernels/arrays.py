"""Small random rows, as lists and as the arrays that kernels take."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from pdanon._kernels.counting import Rows

__all__ = ["contained_sets", "csr", "draw_rows", "lists", "rows_of", "support_of"]

TIMES = 150  # random cases of a test


def csr(sets):
    """Codes and offsets of lists."""
    codes = np.array([code for each in sets for code in each], np.int32)
    return codes, np.cumsum([0, *(len(each) for each in sets)], dtype=np.int64)


def lists(codes, offsets):
    """Lists of codes and offsets."""
    return [np.asarray(codes)[begin:end].tolist() for begin, end in pairwise(offsets)]


def draw_rows(rng, n_items=6, most=12):
    """Rows of ascending items, and their weights."""
    rows = [np.flatnonzero(rng.random(n_items) < rng.random()).tolist() for _ in range(rng.integers(1, most))]
    return rows, rng.integers(1, 4, len(rows))


def rows_of(sets, weights, n_items):
    """The rows as kernels take them."""
    codes, offsets = csr(sets)
    number = np.repeat(np.arange(len(sets), dtype=np.int32), np.diff(offsets))
    order = np.lexsort((number, codes))
    starts = np.searchsorted(codes[order], np.arange(n_items + 1)).astype(np.int64)
    return Rows(codes, offsets, np.asarray(weights, np.int64), starts, number[order], order.astype(np.int64))


def support_of(items, sets, weights):
    """Weight of the rows that contain all items."""
    return sum(int(weight) for row, weight in zip(sets, weights, strict=True) if set(items) <= set(row))


def contained_sets(sets, sizes):
    """All itemsets of these sizes that some row contains."""
    return {each for row in sets for size in sizes for each in combinations(row, size)}
