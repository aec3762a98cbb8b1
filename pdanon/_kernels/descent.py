"""Kernels that decide which nodes of a cut are kept, and find the rare itemsets that forbid it.

The lowest nodes that are looked at have numbers from left to right, so that those below any node are a
range, ``first[node]`` to ``last[node] - 1``. Rows are sets of these numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.counting import Node, Rows, count_pairs
from pdanon._kernels.rare import Nodes, _fill_child

__all__ = ["find_threats", "keep", "node_supports"]

Array = NDArray[Any]
Known = tuple[Array, Array, Array, Array]  # threats as CSR; the newest by last node; the one before each
# Items of the threats found, their bounds, how many; which items are kept still; rank of each item.
Found = tuple[Array, Array, Array, Array, Array]
# Item of each number, or -1; first and last number of each item; which items are looked at; rows seen.
Items = tuple[Array, Array, Array, Array, Array]


@kernel
def node_supports(first: Array, last: Array, rows: Rows) -> Array:
    """Weight of the rows that hold each node."""
    _, _, weights, starts, tids, _ = rows
    supports = np.zeros(len(first), np.int64)
    seen = np.full(len(weights), -1, np.int64)
    for node in range(len(first)):
        for slot in range(starts[first[node]], starts[last[node]]):
            if seen[tids[slot]] != node:
                seen[tids[slot]] = node
                supports[node] += weights[tids[slot]]
    return supports


@kernel
def keep(
    order: Array, cut: Array, rare: Array, safe: Array, penalty: Array, cost: int, bound: int, known: Known
) -> tuple[Array, int]:
    """Keep each node of the cut, in the given order, unless a known threat would be kept with it.

    Rare nodes are never kept, and the given cost includes them; each other node that is not kept adds its
    penalty. The scan ends where the cost reaches the bound. No threat is within ``safe``.
    """
    kept = np.zeros(len(cut), np.bool_)
    within = True
    for node in order:
        if not cut[node] or rare[node]:
            continue
        within = within and safe[node]
        if within or not _completes(node, kept, known):
            kept[node] = True
            continue
        cost += penalty[node]
        if cost >= bound:
            break
    return kept, cost


@inner
def _completes(node: int, kept: Array, known: Known) -> bool:
    """Whether all other nodes of a threat that has this node as its last are kept."""
    codes, offsets, newest, before = known
    threat = newest[node]
    while threat >= 0:
        lacking = 0
        for position in range(offsets[threat], offsets[threat + 1]):
            lacking += not kept[codes[position]]
        if lacking == 1:  # the node itself
            return True
        threat = before[threat]
    return False


@kernel
def find_threats(
    size: int, k: int, nodes: Array, pivots: Array, rank: Array, first: Array, last: Array, rows: Rows
) -> tuple[Array, Array, Array, int]:
    """Find rare sets of up to ``size`` nodes that hold a pivot, until each such set lacks a node.

    The node of the highest rank of each set that is found is given up. Nodes are ascending, and none is
    below another. They are called items here and numbered by their places.

    Returns
    -------
    codes, offsets
        The sets that were found, as places in ``nodes``.
    kept
        Which nodes are not given up.
    longest
        Most nodes of a row that holds a pivot.
    """
    n_items = len(nodes)
    kept = np.ones(n_items, np.bool_)
    found = (
        np.empty(n_items * size, np.int32),
        np.zeros(n_items + 1, np.int64),
        np.zeros(1, np.int64),
        kept,
        rank,
    )
    items = _numbered(nodes, first, last, rows)
    looked_at = items[3]
    count = np.zeros(n_items, np.int64)
    prefix = np.empty(size, np.int32)
    longest = 0
    for pivot in pivots:
        looked_at[pivot] = False
        if not kept[pivot]:
            continue
        node = _gather(pivot, items, rows, count)
        for row in range(node[3]):
            longest = max(longest, node[2][row + 1] - node[2][row] + 1)
        prefix[0] = pivot
        _judge_partners(k, count, prefix, looked_at, found)
        if kept[pivot] and size > 2:
            nodes_of_depth = _root(size - 2, k, node, count)
            _descend(size, k, prefix, rows[2], nodes_of_depth, count, found)
        for item in range(n_items):
            looked_at[item] &= kept[item]
    return found[0][: found[1][found[2][0]]], found[1][: found[2][0] + 1], kept, longest


@inner
def _numbered(nodes: Array, first: Array, last: Array, rows: Rows) -> Items:
    item_of = np.full(len(rows[3]) - 1, -1, np.int32)
    begin = np.empty(len(nodes), np.int64)
    end = np.empty(len(nodes), np.int64)
    for item in range(len(nodes)):
        begin[item], end[item] = first[nodes[item]], last[nodes[item]]
        for number in range(begin[item], end[item]):
            item_of[number] = item
    return item_of, begin, end, np.ones(len(nodes), np.bool_), np.full(len(rows[2]), -1, np.int32)


@inner
def _gather(pivot: int, items: Items, rows: Rows, count: Array) -> Node:
    """The rows that hold the pivot, as sets of the items that are looked at, and the count of these."""
    item_of, begin, end, looked_at, seen = items
    codes, offsets, weights, starts, tids, _ = rows
    n_rows, size = 0, 0
    sources = np.empty(starts[end[pivot]] - starts[begin[pivot]], np.int32)
    for slot in range(starts[begin[pivot]], starts[end[pivot]]):
        row = tids[slot]
        if seen[row] != pivot:
            seen[row] = pivot
            sources[n_rows] = row
            n_rows += 1
            size += offsets[row + 1] - offsets[row]
    sets = np.empty(size + 1, np.uint32)
    bounds = np.zeros(n_rows + 1, np.int64)
    for item in range(len(count)):
        count[item] = 0
    at = 0
    for i in range(n_rows):
        before = -1
        for position in range(offsets[sources[i]], offsets[sources[i] + 1]):
            item = item_of[codes[position]]
            if item != before and item >= 0 and looked_at[item]:
                sets[at] = item
                at += 1
                count[item] += weights[sources[i]]
            before = item
        bounds[i + 1] = at
    return len(count), sets, bounds, n_rows, sources, sources


@inner
def _judge_partners(k: int, count: Array, prefix: Array, looked_at: Array, found: Found) -> None:
    """Give up an item of each rare pair of the pivot and an item that is looked at."""
    for item in range(len(count)):
        if 0 < count[item] < k and looked_at[item]:
            prefix[1] = item
            if _give_up(prefix, np.int64(2), found) == 0:
                return


@inner
def _give_up(itemset: Array, length: int, found: Found) -> int:
    """Note a rare itemset, and give up its item of the highest rank; return the place of that."""
    items, bounds, n_found, kept, rank = found
    n = n_found[0]
    worst = 0
    for place in range(length):
        items[bounds[n] + place] = itemset[place]
        if rank[itemset[place]] > rank[itemset[worst]]:
            worst = place
    bounds[n + 1] = bounds[n] + length
    n_found[0] = n + 1
    kept[itemset[worst]] = False
    return worst


@inner
def _root(depths: int, k: int, node: Node, count: Array) -> Nodes:
    """Room for a node of each depth, with the first: the gathered rows, cut down to frequent items."""
    n_items, sets, gathered, n_gathered, tids, _ = node
    n = 0
    for item in range(n_items):
        n += count[item] >= k
    items = np.empty((depths, len(sets)), np.uint32)
    bounds = np.zeros((depths, n_gathered + 1), np.int64)
    sources = np.empty((depths, n_gathered), np.int32)
    names = np.empty((depths, n), np.int32)
    n_rows, n_names = np.zeros(depths, np.int64), np.zeros(depths, np.int64)
    for item in range(n_items):
        frequent = count[item] >= k
        count[item] = n_names[0] if frequent else -1  # from here on, its number among the frequent ones
        if frequent:
            names[0, n_names[0]] = item
            n_names[0] += 1
    at = 0
    for i in range(n_gathered):
        start = at
        for p in range(gathered[i], gathered[i + 1]):
            items[0, at] = count[sets[p]]
            at += count[sets[p]] >= 0
        if at - start < 2:
            at = start
            continue
        sources[0, n_rows[0]] = tids[i]
        n_rows[0] += 1
        bounds[0, n_rows[0]] = at
    return items, bounds, sources, n_rows, names, n_names, np.empty((depths, n * n), np.int32)


@inner
def _descend(
    size: int, k: int, prefix: Array, weights: Array, nodes: Nodes, spare: Array, found: Found
) -> None:
    """Look at all itemsets that begin with the pivot, depth-first, by the pairs that extend a prefix."""
    items, bounds, sources, n_rows, names, n_names, counts = nodes
    kept = found[3]
    cursor = np.zeros(size, np.int64)
    depth = np.int64(0)
    arrived = True
    while depth >= 0:
        d = n_names[depth]
        if arrived:
            node = (d, items[depth], bounds[depth], n_rows[depth], sources[depth], names[depth])
            count_pairs(counts[depth], node, weights)
            _judge_pairs(depth + 1, k, prefix, counts[depth], node, found)
            cursor[depth] = 0
            arrived = False
        b = cursor[depth]
        cursor[depth] += 1
        if depth + 3 == size or b + 2 >= d or not _all_kept(prefix, depth + 1, kept):
            depth -= 1
        elif kept[names[depth, b]]:
            prefix[depth + 1] = names[depth, b]
            arrived = _fill_child(depth, b, k, spare, nodes)
            depth += arrived


@inner
def _judge_pairs(length: int, k: int, prefix: Array, count: Array, node: Node, found: Found) -> None:
    """Give up an item of each rare itemset that is the prefix and two more items."""
    d, items, bounds, n_rows, _, names = node
    kept = found[3]
    for row in range(n_rows):
        for p in range(bounds[row], bounds[row + 1]):
            line = np.uint64(items[p]) * np.uint64(d)
            for q in range(p + 1, bounds[row + 1]):
                if count[line + items[q]] < k and kept[names[items[p]]] and kept[names[items[q]]]:
                    prefix[length], prefix[length + 1] = names[items[p]], names[items[q]]
                    if _give_up(prefix, length + 2, found) < length:
                        return


@inner
def _all_kept(itemset: Array, length: int, kept: Array) -> bool:
    for place in range(length):
        if not kept[itemset[place]]:
            return False
    return True
