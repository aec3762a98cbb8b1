"""Kernels that count rows: those of items, of pairs, and of given itemsets.

Rows are in CSR form (``codes``, ``offsets``; ascending and distinct within a row) with a weight each;
``tids``/``positions``/``tid_offsets`` are its transpose: for each item the rows that hold it and where in
``codes`` it stands there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.rows import total

__all__ = [
    "count_pairs",
    "item_supports",
    "itemset_supports",
    "mark_itemsets",
    "pair_supports",
    "transpose",
]

Array = NDArray[Any]
Rows = tuple[Array, Array, Array, Array, Array, Array]  # codes, offsets, weights, starts, tids, positions
# d, rows as local item numbers, their bounds, how many, where they come from; what the numbers stand for.
Node = tuple[int, Array, Array, int, Array, Array]


@kernel
def item_supports(codes: Array, offsets: Array, weights: Array, n_items: int) -> Array:
    """Support of each item."""
    supports = np.zeros(n_items, np.int64)
    for row in range(len(weights)):
        for position in range(offsets[row], offsets[row + 1]):
            supports[codes[position]] += weights[row]
    return supports


@kernel
def transpose(codes: Array, offsets: Array, starts: Array, tids: Array, positions: Array) -> None:
    """Write the rows of each item, and where in ``codes`` it stands there, one item after the other."""
    for code in codes:
        starts[code + 1] += 1
    for item in range(len(starts) - 1):
        starts[item + 1] += starts[item]
    free = starts.copy()
    for row in range(len(offsets) - 1):
        for position in range(offsets[row], offsets[row + 1]):
            slot = free[codes[position]]
            tids[slot] = row
            positions[slot] = position
            free[codes[position]] = slot + 1


@kernel
def pair_supports(
    codes: Array,
    offsets: Array,
    weights: Array,
    starts: Array,
    tids: Array,
    positions: Array,
    indptr: Array,
    indices: Array,
    data: Array,
) -> None:
    """Write the upper triangle (a < b) of the co-support matrix as CSR, columns in no order within a row."""
    n_items = len(starts) - 1
    count = np.zeros(n_items, np.int64)
    touched = np.empty(n_items, np.int32)
    size = 0
    for a in range(n_items):
        n_touched = 0
        for slot in range(starts[a], starts[a + 1]):
            row = tids[slot]
            weight = weights[row]
            for position in range(positions[slot] + 1, offsets[row + 1]):
                b = codes[position]
                if count[b] == 0:
                    touched[n_touched] = b
                    n_touched += 1
                count[b] += weight
        for i in range(n_touched):
            b = touched[i]
            indices[size] = b
            data[size] = count[b]
            count[b] = 0
            size += 1
        indptr[a + 1] = size


@kernel
def itemset_supports(
    sets: Array, set_offsets: Array, codes: Array, offsets: Array, weights: Array, starts: Array, tids: Array
) -> Array:
    """Support of each given itemset (ascending codes); the empty itemset is in every row."""
    supports = np.empty(len(set_offsets) - 1, np.int64)
    for i in range(len(supports)):
        itemset = sets[set_offsets[i] : set_offsets[i + 1]]
        supports[i] = _support(itemset, codes, offsets, weights, starts, tids)
    return supports


@inner
def _support(itemset: Array, codes: Array, offsets: Array, weights: Array, starts: Array, tids: Array) -> int:
    if len(itemset) == 0:
        return total(weights)
    rarest = _rarest(itemset, starts)
    support = 0
    for slot in range(starts[rarest], starts[rarest + 1]):
        row = tids[slot]
        if _contains(codes, offsets[row], offsets[row + 1], itemset):
            support += weights[row]
    return support


@kernel
def mark_itemsets(
    sets: Array, set_offsets: Array, codes: Array, offsets: Array, starts: Array, tids: Array, held: Array
) -> None:
    """Set ``held[row]`` in the rows that contain one of the given non-empty itemsets."""
    for i in range(len(set_offsets) - 1):
        itemset = sets[set_offsets[i] : set_offsets[i + 1]]
        rarest = _rarest(itemset, starts)
        for slot in range(starts[rarest], starts[rarest + 1]):
            row = tids[slot]
            if not held[row]:
                held[row] = _contains(codes, offsets[row], offsets[row + 1], itemset)


@inner
def _rarest(itemset: Array, starts: Array) -> int:
    """The item that is in the fewest rows."""
    rarest = itemset[0]
    for item in itemset:
        if starts[item + 1] - starts[item] < starts[rarest + 1] - starts[rarest]:
            rarest = item
    return rarest


@inner
def _contains(codes: Array, start: int, stop: int, itemset: Array) -> bool:
    """Whether a sorted row holds all of a sorted itemset."""
    for item in itemset:
        while start < stop and codes[start] < item:
            start += 1
        if start == stop or codes[start] != item:
            return False
        start += 1
    return True


@kernel
def count_pairs(count: Array, node: Node, weights: Array) -> None:
    """Count the pairs of local items of a node in the dense d x d matrix."""
    d, items, bounds, n_rows, sources, _ = node
    for i in range(d * d):
        count[i] = 0
    for i in range(n_rows):
        weight = weights[sources[i]]
        for p in range(bounds[i], bounds[i + 1]):
            line = np.uint64(items[p]) * np.uint64(d)
            for q in range(p + 1, bounds[i + 1]):
                count[line + items[q]] += weight
