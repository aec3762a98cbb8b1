"""Kernels that list the minimal moles of transactions, and choose items that meet them all.

A mole is a set of public items that too few rows hold, or whose rows share a private item too often.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.arrays import grown

__all__ = ["eliminate", "minimal_moles", "private_begins", "private_peaks"]

Array = NDArray[Any]
# Rows whose public items, by number, come before the private ones: codes, offsets, where in codes the private
# items begin, weights.
Rows = tuple[Array, Array, Array, Array]
# The prefix tree of the non-moles: item of each node, and where its children, ascending, begin and end.
Tree = tuple[Array, Array, Array]


@kernel
def private_begins(codes: Array, offsets: Array, n_public: int) -> Array:
    """Where in ``codes`` the private items of each row begin."""
    begins = np.empty(len(offsets) - 1, np.int64)
    for row in range(len(begins)):
        place = offsets[row]
        while place < offsets[row + 1] and codes[place] < n_public:
            place += 1
        begins[row] = place
    return begins


@kernel
def private_peaks(rows: Rows, starts: Array, tids: Array, n_items: int) -> Array:
    """For each public item the number of its rows that the most frequent private item shares."""
    counts = np.zeros(n_items, np.int64)
    peaks = np.empty(len(starts) - 1, np.int64)
    for item in range(len(peaks)):
        peaks[item] = _peak(tids[starts[item] : starts[item + 1]], rows, counts)
    return peaks


@inner
def _peak(tids: Array, rows: Rows, counts: Array) -> int:
    """The largest count of a private item in some rows; counts are 0 before and after."""
    codes, offsets, ends, weights = rows
    for row in tids:
        for position in range(ends[row], offsets[row + 1]):
            counts[codes[position]] += weights[row]
    peak = 0
    for row in tids:
        for position in range(ends[row], offsets[row + 1]):
            peak = max(peak, counts[codes[position]])
            counts[codes[position]] = 0
    return peak


@kernel
def minimal_moles(
    k: int,
    p: int,
    above: int,
    below: int,
    rows: Rows,
    starts: Array,
    tids: Array,
    places: Array,
    supports: Array,
    peaks: Array,
    n_items: int,
) -> tuple[Array, Array]:
    """Minimal moles of 2 to p items, as CSR; no single item is one.

    Itemsets are visited depth first, the last item of a prefix first. So all subsets of an itemset were
    visited before it. And the rows of the items that follow a prefix, ``tids[starts[item]:]``, and the places
    where they stand there can be written over those of the prefix before, which only earlier items still
    need. Where no other item is to follow, only rows with private items are listed.
    """
    n_public = len(starts) - 1
    names = np.empty(2 * n_public + 2, np.int32)
    first = np.zeros(2 * n_public + 2, np.int64)
    last = np.zeros(2 * n_public + 2, np.int64)
    for item in range(n_public):
        names[item + 1] = item
    first[0], last[0] = 1, n_public + 1
    n_nodes = n_public + 1
    filled = starts[1:] - starts[:-1]
    prefix_of = np.zeros(n_public, np.int64)  # the node whose rows an item has
    counts = np.zeros(n_items, np.int64)
    path = np.zeros(p, np.int64)
    cursor = np.zeros(p, np.int64)
    itemset = np.empty(p, np.int32)
    found = np.empty(256, np.int32)
    bounds = np.zeros(128, np.int64)
    n_found = 0
    depth = 0
    cursor[0] = last[0]
    while depth >= 0:
        cursor[depth] -= 1
        node = cursor[depth]
        if node < first[path[depth]]:
            depth -= 1
            continue
        item = names[node]
        itemset[depth] = item
        length = depth + 2
        _extend(node, item, length == p, rows, starts, tids, places, filled, prefix_of, supports)
        first[node] = n_nodes
        for sibling in range(node + 1, last[path[depth]]):
            other = names[sibling]
            if prefix_of[other] != node:
                continue
            itemset[depth + 1] = other
            mole = supports[other] < k
            peaks[other] = peaks[item]  # at most that many; counted only if it can be too many
            risky = not mole and peaks[other] * below > above * supports[other]
            if length == p and not mole and not risky:
                continue
            if not _subsets_known(itemset, length, path, (names, first, last)):
                continue
            if risky:
                start = starts[other]
                peaks[other] = _peak(tids[start : start + filled[other]], rows, counts)
                mole = peaks[other] * below > above * supports[other]
            if mole:
                if n_found + 2 > len(bounds):
                    bounds = grown(bounds, n_found + 1, 2 * len(bounds))
                while bounds[n_found] + length > len(found):
                    found = grown(found, bounds[n_found], 2 * len(found))
                for i in range(length):
                    found[bounds[n_found] + i] = itemset[i]
                bounds[n_found + 1] = bounds[n_found] + length
                n_found += 1
            elif length < p:
                if n_nodes == len(names):
                    names = grown(names, n_nodes, 2 * n_nodes)
                    first, last = grown(first, n_nodes, 2 * n_nodes), grown(last, n_nodes, 2 * n_nodes)
                names[n_nodes] = other
                n_nodes += 1
        last[node] = n_nodes
        if first[node] < last[node]:
            depth += 1
            path[depth] = node
            cursor[depth] = last[node]
    return found[: bounds[n_found]], bounds[: n_found + 1]


@inner
def _extend(
    node: int,
    item: int,
    is_last: bool,
    rows: Rows,
    starts: Array,
    tids: Array,
    places: Array,
    filled: Array,
    prefix_of: Array,
    supports: Array,
) -> None:
    """List the rows of all items that follow an itemset, and count them."""
    codes, offsets, ends, weights = rows
    for slot in range(starts[item], starts[item] + filled[item]):
        row = tids[slot]
        listed = not is_last or ends[row] < offsets[row + 1]
        for position in range(places[slot] + 1, ends[row]):
            other = codes[position]
            if prefix_of[other] != node:
                prefix_of[other] = node
                filled[other] = 0
                supports[other] = 0
            if listed:
                tids[starts[other] + filled[other]] = row
                places[starts[other] + filled[other]] = position
                filled[other] += 1
            supports[other] += weights[row]


@inner
def _subsets_known(itemset: Array, length: int, path: Array, tree: Tree) -> bool:
    """Whether the tree has the subsets that lack one item; those without one of the last two it has."""
    for left_out in range(length - 2):
        node = path[left_out]
        for i in range(left_out + 1, length):
            node = _child(node, itemset[i], tree)
            if node < 0:
                return False
    return True


@inner
def _child(node: int, item: int, tree: Tree) -> int:
    names, first, last = tree
    low, high = first[node], last[node]
    while low < high:
        middle = (low + high) // 2
        if names[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low if low < last[node] and names[low] == item else -1


@kernel
def eliminate(
    items: Array, bounds: Array, starts: Array, moles_of: Array, losses: Array, by_moles: bool, by_loss: bool
) -> Array:
    """Items that meet all moles, in the order chosen: the one of the highest score, again and again.

    The score is the number of moles left, or 1, divided by the loss, or by 1. Then: more moles, less loss,
    the item itself.
    """
    left = starts[1:] - starts[:-1]
    alive = np.ones(len(bounds) - 1, np.bool_)
    waiting = np.arange(len(left))
    chosen = np.empty(len(left), np.int64)
    n_waiting, n_chosen = len(left), 0
    while True:
        best = np.int64(-1)
        n_left = 0
        for i in range(n_waiting):
            item = waiting[i]
            if left[item] > 0:
                waiting[n_left] = item
                n_left += 1
                if best < 0 or _better(item, best, left, losses, by_moles, by_loss):
                    best = item
        n_waiting = n_left
        if best < 0:
            return chosen[:n_chosen]
        chosen[n_chosen] = best
        n_chosen += 1
        for slot in range(starts[best], starts[best + 1]):
            mole = moles_of[slot]
            if alive[mole]:
                alive[mole] = False
                for position in range(bounds[mole], bounds[mole + 1]):
                    left[items[position]] -= 1


@inner
def _better(a: int, b: int, left: Array, losses: Array, by_moles: bool, by_loss: bool) -> bool:
    """Whether item a comes before the item b < a."""
    one = (left[a] if by_moles else 1) * (losses[b] if by_loss else 1)
    other = (left[b] if by_moles else 1) * (losses[a] if by_loss else 1)
    if one != other:
        return one > other
    if left[a] != left[b]:
        return left[a] > left[b]
    return losses[a] < losses[b]
