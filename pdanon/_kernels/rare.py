"""Kernels that find rare itemsets: lists of them, and the rows that hold one.

Rows are as in `counting`: CSR with a weight each, and its transpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.arrays import grown
from pdanon._kernels.counting import Node, Rows, _support, count_pairs

__all__ = ["mark_pairs", "rare_itemsets"]

Array = NDArray[Any]
# One node of each depth: rows as local item numbers, their bounds, where they come from, how many; what the
# local numbers stand for, how many; and the matrix of pair supports.
Nodes = tuple[Array, Array, Array, Array, Array, Array, Array]


@kernel
def mark_pairs(codes: Array, offsets: Array, rare_starts: Array, rare_items: Array, exposed: Array) -> None:
    """Set ``exposed[row] = 2`` in rows that hold a rare pair and are not exposed yet.

    ``rare_items[rare_starts[a]:rare_starts[a + 1]]`` are the partners b > a of the rare pairs.
    """
    last_row = np.zeros(len(rare_starts) - 1, np.int64)  # with each item, plus one
    for row in range(len(offsets) - 1):
        if exposed[row]:
            continue
        for position in range(offsets[row], offsets[row + 1]):
            last_row[codes[position]] = row + 1
        for position in range(offsets[row], offsets[row + 1]):
            a = codes[position]
            for slot in range(rare_starts[a], rare_starts[a + 1]):
                if last_row[rare_items[slot]] == row + 1:
                    exposed[row] = 2
                    break
            if exposed[row]:
                break


@kernel
def rare_itemsets(
    k: int,
    m: int,
    minimal: bool,
    listing: bool,
    begin: int,
    end: int,
    rows: Rows,
    pair_starts: Array,
    pair_items: Array,
    original: Array,
    exposed: Array,
) -> tuple[Array, Array, Array]:
    """Itemsets of size 3..m that occur with support below k, as CSR and their supports.

    Only those whose first item is in ``begin..end - 1``: a part of the search.

    Depth-first over prefixes in code order. A node holds the rows of its prefix, cut down to the items
    that can extend it (``pair_items``, ascending for each item), and counts all pairs of those in one dense
    matrix; its children are the prefixes one item longer. Only cliques of ``pair_items`` are visited: with
    the pairs of support >= k, ``minimal`` itemsets come out; with all pairs that occur, all rare ones.
    With ``listing`` they are written in ``original`` codes, ascending. Without, ``exposed[row]`` (0: none so
    far) receives the size of the smallest rare itemset that the row holds, and items and nodes that cannot
    expose a row by a smaller one than is known are skipped; rows that hold a rare item or pair must be
    exposed already.
    """
    weights, starts = rows[2], rows[3]
    n_items = len(starts) - 1
    floor = k if minimal else 1
    nodes = _room_for_nodes(m - 2, rows, pair_starts)
    items, bounds, sources, n_rows, names, n_names, counts = nodes
    cursor = np.zeros(m - 2, np.int64)
    local = np.empty(n_items, np.int32)
    for item in range(n_items):
        local[item] = -1
    wanted = np.ones(n_items, np.bool_)
    prefix = np.empty(m, np.int32)
    found = np.empty(256, np.int32)
    found_starts = np.zeros(128, np.int64)
    found_supports = np.empty(128, np.int64)
    n_found, size = np.int64(0), np.int64(0)
    for a in range(begin, end):
        if pair_starts[a + 1] - pair_starts[a] < 2:
            continue
        prefix[0] = a
        if not listing:
            for item in range(n_items):
                wanted[item] = False
            _wanted(a, rows, pair_starts, pair_items, exposed, local, wanted)
        _fill_root(a, rows, pair_starts, pair_items, wanted, local, nodes)
        depth = np.int64(0)
        arrived = True
        while depth >= 0:
            length = depth + 3
            d = n_names[depth]
            count = counts[depth]
            if arrived:
                cursor[depth] = 0
                if not listing and not _any_open(exposed, sources[depth], n_rows[depth], length):
                    depth -= 1
                    arrived = False
                    continue
                node = (d, items[depth], bounds[depth], n_rows[depth], sources[depth], names[depth])
                count_pairs(count, node, weights)
                if not listing:
                    _expose(count, k, node, length, exposed)
                else:
                    rare = _rare_cells(count, k, node, local, pair_starts, pair_items)
                    if n_found + len(rare) + 1 > len(found_starts):
                        found_starts = grown(found_starts, n_found + 1, 2 * (n_found + len(rare)) + 1)
                        found_supports = grown(found_supports, n_found, len(found_starts))
                    if size + len(rare) * length > len(found):
                        found = grown(found, size, 2 * (size + len(rare) * length))
                    out = (found, found_starts, found_supports)
                    least = k if minimal and length > 3 else 0
                    n_found, size = _write(
                        rare,
                        count,
                        d,
                        names[depth],
                        prefix,
                        length,
                        original,
                        least,
                        rows,
                        out,
                        n_found,
                        size,
                    )
            arrived = False
            if depth + 3 == m or cursor[depth] + 2 >= d:
                depth -= 1
                continue
            prefix[depth + 1] = names[depth, cursor[depth]]
            arrived = _fill_child(depth, cursor[depth], floor, local, nodes)
            cursor[depth] += 1
            depth += arrived
    return found[:size], found_starts[: n_found + 1], found_supports[:n_found]


@inner
def _room_for_nodes(depths: int, rows: Rows, pair_starts: Array) -> Nodes:
    """Arrays for one node of each depth, large enough for any item as the first of its prefix."""
    _, offsets, _, starts, tids, positions = rows
    widest, tallest, broadest = 0, 0, 0
    for item in range(len(starts) - 1):
        width = 0
        for slot in range(starts[item], starts[item + 1]):
            width += offsets[tids[slot] + 1] - positions[slot] - 1
        widest = max(widest, width)
        tallest = max(tallest, starts[item + 1] - starts[item])
        broadest = max(broadest, pair_starts[item + 1] - pair_starts[item])
    return (
        np.empty((depths, widest + 1), np.uint32),  # unsigned: an index needs no test for negatives
        np.zeros((depths, tallest + 1), np.int64),
        np.empty((depths, tallest), np.int32),
        np.zeros(depths, np.int64),
        np.empty((depths, broadest), np.int32),
        np.zeros(depths, np.int64),
        np.empty((depths, broadest * broadest), np.int32),
    )


@inner
def _wanted(
    a: int, rows: Rows, pair_starts: Array, pair_items: Array, exposed: Array, local: Array, wanted: Array
) -> None:
    """Mark the partners of a that could expose a row together with a and another one."""
    codes, offsets, _, starts, tids, positions = rows
    for slot in range(pair_starts[a], pair_starts[a + 1]):
        local[pair_items[slot]] = 0
    for slot in range(starts[a], starts[a + 1]):
        row = tids[slot]
        if exposed[row] and exposed[row] <= 3:
            continue
        first = -1
        for position in range(positions[slot] + 1, offsets[row + 1]):
            item = codes[position]
            if local[item] == 0:
                if first >= 0:
                    wanted[first] = True
                    wanted[item] = True
                first = item
    for slot in range(pair_starts[a], pair_starts[a + 1]):
        local[pair_items[slot]] = -1


@inner
def _fill_root(
    a: int, rows: Rows, pair_starts: Array, pair_items: Array, wanted: Array, local: Array, nodes: Nodes
) -> None:
    """Write the node of the prefix (a,): its rows, cut down to the wanted partners of a."""
    codes, offsets, _, starts, tids, positions = rows
    items, bounds, sources, n_rows, names, n_names, _ = nodes
    n = 0
    for slot in range(pair_starts[a], pair_starts[a + 1]):
        if wanted[pair_items[slot]]:
            names[0, n] = pair_items[slot]
            local[pair_items[slot]] = n
            n += 1
    n_names[0] = n
    n = 0
    at = 0
    for slot in range(starts[a], starts[a + 1]):
        begin = at
        for position in range(positions[slot] + 1, offsets[tids[slot] + 1]):
            item = local[codes[position]]
            items[0, at] = item
            at += item >= 0
        if at - begin < 2:
            at = begin
            continue
        sources[0, n] = tids[slot]
        n += 1
        bounds[0, n] = at
    n_rows[0] = n
    for i in range(n_names[0]):
        local[names[0, i]] = -1


@inner
def _fill_child(depth: int, b: int, floor: int, keep: Array, nodes: Nodes) -> bool:
    """Write the child whose prefix is extended by local item b; tell whether it has rows worth a look."""
    items, bounds, sources, n_rows, names, n_names, counts = nodes
    child = depth + 1
    d = n_names[depth]
    n = 0
    for c in range(b + 1, d):
        keep[c] = -1
        if counts[depth, b * d + c] >= floor:
            keep[c] = n
            names[child, n] = names[depth, c]
            n += 1
    n_names[child] = n
    n = 0
    at = 0
    for i in range(n_rows[depth]):
        begin = at
        inside = False
        for p in range(bounds[depth, i], bounds[depth, i + 1]):
            item = items[depth, p]
            if item == b:
                inside = True
            elif item > b:
                if not inside:
                    break
                items[child, at] = keep[item]
                at += keep[item] >= 0
        if at - begin < 2:
            at = begin
            continue
        sources[child, n] = sources[depth, i]
        n += 1
        bounds[child, n] = at
    n_rows[child] = n
    for c in range(b + 1, d):
        keep[c] = -1
    return n > 0


@inner
def _insert(array: Array, start: int, stop: int, value: int) -> None:
    """Insert a value into the ascending ``array[start:stop]``."""
    while stop > start and array[stop - 1] > value:
        array[stop] = array[stop - 1]
        stop -= 1
    array[stop] = value


@inner
def _rare_cells(
    count: Array, k: int, node: Node, local: Array, pair_starts: Array, pair_items: Array
) -> Array:
    """Cells (i, j) of the pair matrix that are rare although the pair itself may be extended."""
    d, _, _, _, _, names = node
    for i in range(d):
        local[names[i]] = i
    cells = np.empty((256, 2), np.int32)
    n_rare = 0
    for i in range(d):
        for slot in range(pair_starts[names[i]], pair_starts[names[i] + 1]):
            j = local[pair_items[slot]]
            if j >= 0 and 0 < count[i * d + j] < k:
                if n_rare == len(cells):
                    cells = _doubled(cells)
                cells[n_rare, 0] = i
                cells[n_rare, 1] = j
                n_rare += 1
    for i in range(d):
        local[names[i]] = -1
    return cells[:n_rare]


@inner
def _doubled(cells: Array) -> Array:
    doubled = np.empty((2 * len(cells), 2), cells.dtype)
    for i in range(len(cells)):
        doubled[i, 0] = cells[i, 0]
        doubled[i, 1] = cells[i, 1]
    return doubled


@inner
def _any_open(exposed: Array, sources: Array, n_rows: int, length: int) -> bool:
    """Whether a rare itemset of this size would be the smallest known of some row."""
    for i in range(n_rows):
        if exposed[sources[i]] == 0 or exposed[sources[i]] > length:
            return True
    return False


@inner
def _expose(count: Array, k: int, node: Node, length: int, exposed: Array) -> None:
    """Note the size of the node's rare itemsets in the rows that hold one and no smaller one."""
    d, items, bounds, n_rows, sources, _ = node
    for i in range(n_rows):
        row = sources[i]
        if exposed[row] == 0 or exposed[row] > length:
            if _holds_rare(count, d, k, items, bounds[i], bounds[i + 1]):
                exposed[row] = length


@inner
def _holds_rare(count: Array, d: int, k: int, items: Array, start: int, stop: int) -> bool:
    for p in range(start, stop):
        line = np.uint64(items[p]) * np.uint64(d)
        for q in range(p + 1, stop):
            if count[line + items[q]] < k:
                return True
    return False


@inner
def _write(
    cells: Array,
    count: Array,
    d: int,
    names: Array,
    prefix: Array,
    length: int,
    original: Array,
    least: int,
    rows: Rows,
    out: tuple[Array, Array, Array],
    n_found: int,
    size: int,
) -> tuple[int, int]:
    """Append prefix + pair for each cell, unless a subset has a support below ``least``."""
    found, found_starts, found_supports = out
    for cell in range(len(cells)):
        i, j = cells[cell, 0], cells[cell, 1]
        prefix[length - 2] = names[i]
        prefix[length - 1] = names[j]
        if least and not _subsets_reach(prefix[:length], least, rows):
            continue
        for r in range(length):
            _insert(found, size, size + r, original[prefix[r]])
        size += length
        found_supports[n_found] = count[i * d + j]
        n_found += 1
        found_starts[n_found] = size
    return n_found, size


@inner
def _subsets_reach(itemset: Array, k: int, rows: Rows) -> bool:
    """Whether all subsets that lack one item have support >= k."""
    codes, offsets, weights, starts, tids, _ = rows
    subset = itemset[1:].copy()
    for left_out in range(len(itemset) - 1):  # without the last item it is the prefix, known to reach k
        if left_out:
            subset[left_out - 1] = itemset[left_out - 1]
        if _support(subset, codes, offsets, weights, starts, tids) < k:
            return False
    return True
