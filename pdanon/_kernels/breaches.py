"""Kernel of the audit of coherence: itemsets whose rows share a private item too often.

Written on its own, apart from the kernels that decide what is suppressed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["breaches"]

Array = NDArray[Any]
Rows = tuple[Array, Array, int]  # codes, offsets, how many items


@kernel
def breaches(
    k: int,
    p: int,
    above: int,
    below: int,
    public: Rows,
    private: Rows,
    weights: Array,
    starts: Array,
    tids: Array,
    places: Array,
    held: Array,
) -> tuple[Array, Array, Array]:
    """Itemsets of 1 to p items in k rows or more that breach, as CSR and their supports; mark their rows.

    Depth first, in item order. Nothing is added to an itemset that is in fewer than k rows or breaches, nor
    to one whose private items are so few that no k of its rows can breach.
    """
    n_items = len(starts) - 1
    shared = np.zeros(private[2], np.int64)
    # For each depth, by the item that follows the itemset: rows that hold both, and where.
    rows = np.empty((p, len(tids)), np.int32)
    at = np.empty((p, len(tids)), np.int64)
    following = np.empty((p, n_items), np.int32)
    begins = np.zeros((p, n_items + 1), np.int64)
    n_following = np.zeros(p, np.int64)
    for i in range(len(tids)):
        rows[0, i] = tids[i]
        at[0, i] = places[i]
    for item in range(n_items):
        following[0, item] = item
        begins[0, item + 1] = starts[item + 1]
    n_following[0] = n_items
    counts = np.zeros(n_items, np.int64)
    cursor = np.full(p, -1, np.int64)
    itemset = np.empty(p, np.int32)
    found = np.empty(256, np.int32)
    bounds = np.zeros(128, np.int64)
    supports = np.zeros(128, np.int64)
    n_found = 0
    depth = 0
    while depth >= 0:
        cursor[depth] += 1
        if cursor[depth] == n_following[depth]:
            depth -= 1
            continue
        start, stop = begins[depth, cursor[depth]], begins[depth, cursor[depth] + 1]
        chosen = rows[depth, start:stop]
        support = 0
        for row in chosen:
            support += weights[row]
        if support < k:
            continue
        itemset[depth] = following[depth, cursor[depth]]
        most = _most(chosen, private, weights, shared)
        if most * below > above * support:
            length = depth + 1
            if n_found + 2 > len(bounds):
                bounds, supports = _doubled(bounds), _doubled(supports)
            while bounds[n_found] + length > len(found):
                found = _doubled(found)
            for i in range(length):
                found[bounds[n_found] + i] = itemset[i]
            supports[n_found] = support
            n_found += 1
            bounds[n_found] = bounds[n_found - 1] + length
            for row in chosen:
                held[row] = True
        elif depth + 1 < p and most * below > above * k:
            depth += 1
            n_following[depth] = _follow(
                chosen,
                at[depth - 1, start:stop],
                public,
                counts,
                following[depth],
                begins[depth],
                rows[depth],
                at[depth],
            )
            cursor[depth] = -1
    return found[: bounds[n_found]], bounds[: n_found + 1], supports[:n_found]


@inner
def _follow(
    chosen: Array,
    last: Array,
    public: Rows,
    counts: Array,
    following: Array,
    begins: Array,
    rows: Array,
    at: Array,
) -> int:
    """Write the items that follow in the chosen rows, in the order met, and for each its rows and places."""
    codes, offsets, _ = public
    n = 0
    for i in range(len(chosen)):
        for place in range(last[i] + 1, offsets[chosen[i] + 1]):
            if counts[codes[place]] == 0:
                following[n] = codes[place]
                n += 1
            counts[codes[place]] += 1
    for i in range(n):
        begins[i + 1] = begins[i] + counts[following[i]]
        counts[following[i]] = begins[i]
    for i in range(len(chosen)):
        for place in range(last[i] + 1, offsets[chosen[i] + 1]):
            slot = counts[codes[place]]
            counts[codes[place]] += 1
            rows[slot] = chosen[i]
            at[slot] = place
    for i in range(n):
        counts[following[i]] = 0
    return n


@inner
def _most(chosen: Array, private: Rows, weights: Array, shared: Array) -> int:
    """In how many of the chosen rows the most frequent private item is."""
    codes, offsets, _ = private
    most = 0
    for row in chosen:
        for place in range(offsets[row], offsets[row + 1]):
            shared[codes[place]] += weights[row]
            most = max(most, shared[codes[place]])
    for row in chosen:
        for place in range(offsets[row], offsets[row + 1]):
            shared[codes[place]] = 0
    return most


@inner
def _doubled(array: Array) -> Array:
    doubled = np.zeros(2 * len(array), array.dtype)
    for i in range(len(array)):
        doubled[i] = array[i]
    return doubled
