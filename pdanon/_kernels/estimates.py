"""Kernel that answers queries from released rows: how many of the original rows hold an itemset."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["estimates"]

Array = NDArray[Any]
Rows = tuple[Array, Array, Array, Array]  # codes, offsets, and the transpose: starts, tids
Cover = tuple[Array, Array]  # labels that stand for each item, the most specific first; where each begins


@kernel
def estimates(
    sets: Array,
    set_offsets: Array,
    cover: Cover,
    odds: Array,
    rows: Rows,
    weights: Array,
    classes: Array,
    factors: Array,
) -> Array:
    """Estimate for each itemset: sum over the rows of the odds that it is there, times a factor.

    ``odds[label, j]`` belongs to a label that stands for j of the items; the factor of query ``i`` and a row
    is ``weights[row] * factors[i, classes[row]]``.
    """
    totals = np.zeros(len(set_offsets) - 1, np.float64)
    chosen = np.empty(odds.shape[1], np.int32)
    for i in range(len(totals)):
        itemset = sets[set_offsets[i] : set_offsets[i + 1]]
        if len(itemset) == 0:
            for row in range(len(classes)):
                totals[i] += weights[row] * factors[i, classes[row]]
            continue
        item = _rarest(itemset, cover, rows)
        for slot in range(cover[1][item], cover[1][item + 1]):
            label = cover[0][slot]
            for place in range(rows[2][label], rows[2][label + 1]):
                row = rows[3][place]
                factor = weights[row] * factors[i, classes[row]]
                # A row that holds several labels of the item is met once, by the first of them.
                if factor > 0 and _label_in(item, cover, rows, row) == label:
                    totals[i] += factor * _odds(itemset, cover, odds, rows, row, chosen)
    return totals


@inner
def _rarest(itemset: Array, cover: Cover, rows: Rows) -> int:
    """The item whose labels are in the fewest rows, a row counted for each."""
    rarest, fewest = itemset[0], np.int64(-1)
    for item in itemset:
        held = np.int64(0)
        for slot in range(cover[1][item], cover[1][item + 1]):
            label = cover[0][slot]
            held += rows[2][label + 1] - rows[2][label]
        if fewest < 0 or held < fewest:
            rarest, fewest = item, held
    return rarest


@inner
def _label_in(item: int, cover: Cover, rows: Rows, row: int) -> int:
    """The first label of an item that a row holds; -1 if there is none."""
    codes, offsets = rows[0], rows[1]
    for slot in range(cover[1][item], cover[1][item + 1]):
        label = cover[0][slot]
        low, high = offsets[row], offsets[row + 1]
        while low < high:
            middle = (low + high) // 2
            if codes[middle] < label:
                low = middle + 1
            else:
                high = middle
        if low < offsets[row + 1] and codes[low] == label:
            return label
    return -1


@inner
def _odds(itemset: Array, cover: Cover, odds: Array, rows: Rows, row: int, chosen: Array) -> float:
    """Odds that a released row held all items of an itemset."""
    for i in range(len(itemset)):
        chosen[i] = _label_in(itemset[i], cover, rows, row)
        if chosen[i] < 0:
            return 0.0
    product = 1.0
    for i in range(len(itemset)):
        seen, times = False, 0
        for j in range(len(itemset)):
            if chosen[j] == chosen[i]:
                seen = seen or j < i
                times += 1
        if not seen:
            product *= odds[chosen[i], times]
    return product
