"""Kernels that count rows: pairs, given itemsets, and rare itemsets of any size.

Rows are in CSR form (``codes``, ``offsets``; ascending and distinct within a row) with a weight each;
``tids``/``positions``/``tid_offsets`` are its transpose: for each item the rows that hold it and where in
``codes`` it stands there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "distinct_rows",
    "itemset_supports",
    "mark_itemsets",
    "mark_pairs",
    "pair_supports",
    "rare_itemsets",
    "transpose",
]

Array = NDArray[Any]


@njit(cache=True)
def transpose(codes: Array, offsets: Array, n_items: int) -> tuple[Array, Array, Array]:
    """For each item, the rows that hold it and the positions in ``codes``."""
    starts = np.zeros(n_items + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for item in range(n_items):
        starts[item + 1] += starts[item]
    fill = starts[:-1].copy()
    tids = np.empty(len(codes), np.int32)
    positions = np.empty(len(codes), np.int64)
    for row in range(len(offsets) - 1):
        for position in range(offsets[row], offsets[row + 1]):
            slot = fill[codes[position]]
            tids[slot] = row
            positions[slot] = position
            fill[codes[position]] += 1
    return starts, tids, positions


@njit(cache=True)
def pair_supports(
    codes: Array, offsets: Array, weights: Array, starts: Array, tids: Array, positions: Array
) -> tuple[Array, Array, Array]:
    """Upper triangle (a < b) of the co-support matrix in CSR form, columns in no order within a row."""
    n_items = len(starts) - 1
    count = np.zeros(n_items, np.int64)
    touched = np.empty(n_items, np.int32)
    indptr = np.zeros(n_items + 1, np.int64)
    capacity = max(16, 2 * len(codes))
    indices = np.empty(capacity, np.int32)
    data = np.empty(capacity, np.int64)
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
        if size + n_touched > capacity:
            capacity = max(2 * capacity, size + n_touched)
            indices = _grown(indices, size, capacity)
            data = _grown(data, size, capacity)
        for i in range(n_touched):
            b = touched[i]
            indices[size] = b
            data[size] = count[b]
            count[b] = 0
            size += 1
        indptr[a + 1] = size
    return indptr, indices[:size].copy(), data[:size].copy()


@njit(cache=True)
def _grown(array: Array, size: int, capacity: int) -> Array:
    grown = np.empty(capacity, array.dtype)
    grown[:size] = array[:size]
    return grown


@njit(cache=True)
def itemset_supports(
    sets: Array, set_offsets: Array, codes: Array, offsets: Array, weights: Array, starts: Array, tids: Array
) -> Array:
    """Support of each given itemset (ascending codes); the empty itemset is in every row."""
    supports = np.empty(len(set_offsets) - 1, np.int64)
    for i in range(len(supports)):
        itemset = sets[set_offsets[i] : set_offsets[i + 1]]
        supports[i] = _support(itemset, codes, offsets, weights, starts, tids)
    return supports


@njit(cache=True)
def _support(itemset: Array, codes: Array, offsets: Array, weights: Array, starts: Array, tids: Array) -> int:
    if len(itemset) == 0:
        return np.sum(weights)
    rarest = _rarest(itemset, starts)
    support = 0
    for slot in range(starts[rarest], starts[rarest + 1]):
        row = tids[slot]
        if _contains(codes, offsets[row], offsets[row + 1], itemset):
            support += weights[row]
    return support


@njit(cache=True)
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


@njit(cache=True)
def _rarest(itemset: Array, starts: Array) -> int:
    """The item that is in the fewest rows."""
    rarest = itemset[0]
    for item in itemset:
        if starts[item + 1] - starts[item] < starts[rarest + 1] - starts[rarest]:
            rarest = item
    return rarest


@njit(cache=True)
def _contains(codes: Array, start: int, stop: int, itemset: Array) -> bool:
    """Whether a sorted row holds all of a sorted itemset."""
    for item in itemset:
        while start < stop and codes[start] < item:
            start += 1
        if start == stop or codes[start] != item:
            return False
        start += 1
    return True


@njit(cache=True)
def distinct_rows(codes: Array, offsets: Array) -> Array:
    """For each row the number of the first row that equals it."""
    n_rows = len(offsets) - 1
    size = 16
    while size < 2 * n_rows:
        size *= 2
    table = np.full(size, -1, np.int64)
    first = np.empty(n_rows, np.int64)
    for row in range(n_rows):
        key = np.uint64(1469598103934665603)
        for position in range(offsets[row], offsets[row + 1]):
            key = (key ^ np.uint64(codes[position])) * np.uint64(1099511628211)
        slot = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(size - 1))
        while table[slot] >= 0 and not _equal(codes, offsets, table[slot], row):
            slot = (slot + 1) % size
        if table[slot] < 0:
            table[slot] = row
        first[row] = table[slot]
    return first


@njit(cache=True)
def _equal(codes: Array, offsets: Array, a: int, b: int) -> bool:
    length = offsets[a + 1] - offsets[a]
    if offsets[b + 1] - offsets[b] != length:
        return False
    for i in range(length):
        if codes[offsets[a] + i] != codes[offsets[b] + i]:
            return False
    return True


@njit(cache=True)
def mark_pairs(codes: Array, offsets: Array, rare_starts: Array, rare_items: Array, exposed: Array) -> None:
    """Set ``exposed[row] = 2`` in rows that hold a rare pair and are not exposed yet.

    ``rare_items[rare_starts[a]:rare_starts[a + 1]]`` are the partners b > a of the rare pairs.
    """
    n_items = len(rare_starts) - 1
    stamp = np.full(n_items, -1, np.int32)
    for row in range(len(offsets) - 1):
        if exposed[row]:
            continue
        for position in range(offsets[row], offsets[row + 1]):
            stamp[codes[position]] = row
        for position in range(offsets[row], offsets[row + 1]):
            a = codes[position]
            for slot in range(rare_starts[a], rare_starts[a + 1]):
                if stamp[rare_items[slot]] == row:
                    exposed[row] = 2
                    break
            if exposed[row]:
                break


@njit(cache=True)
def rare_itemsets(
    k: int,
    m: int,
    minimal: bool,
    listing: bool,
    codes: Array,
    offsets: Array,
    weights: Array,
    starts: Array,
    tids: Array,
    positions: Array,
    pair_starts: Array,
    pair_items: Array,
    original: Array,
    exposed: Array,
) -> tuple[Array, Array, Array]:
    """Itemsets of size 3..m that occur with support below k, as CSR and their supports.

    Depth-first over prefixes in code order. A node holds the rows of its prefix, cut down to the items
    that can extend it, and counts all pairs of those in one dense matrix; its children are the prefixes
    one item longer. Only cliques of ``pair_items`` are visited: with the pairs of support >= k,
    ``minimal`` itemsets come out; with all pairs that occur, all rare ones. Found itemsets are written in
    ``original`` codes, ascending. ``exposed[row]`` (0: none so far) receives the size of the smallest rare
    itemset that the row holds. Without ``listing`` only that is found out, and nodes whose rows are all
    exposed by smaller itemsets are skipped.
    """
    n_items = len(starts) - 1
    floor = k if minimal else 1
    depths = m - 2
    width = _widest(offsets, starts, tids, positions)
    tallest = _most_rows(starts)
    # The node of each depth: rows as local item numbers, and what those numbers stand for.
    items = np.empty((depths, width), np.uint32)  # unsigned: indexing with it needs no test for negatives
    bounds = np.zeros((depths, tallest + 1), np.int64)
    sources = np.empty((depths, tallest), np.int32)
    n_rows = np.zeros(depths, np.int64)
    names = np.empty((depths, n_items), np.int32)
    n_names = np.zeros(depths, np.int64)
    cursor = np.zeros(depths, np.int64)
    counts = [np.zeros(0, np.int64) for _ in range(depths)]
    local = np.full(n_items, -1, np.int32)
    keep = np.full(n_items, -1, np.int32)
    prefix = np.empty(m, np.int32)
    found = np.empty(256, np.int32)
    found_starts = np.zeros(128, np.int64)
    found_supports = np.empty(128, np.int64)
    n_found = 0
    size = 0

    for a in range(n_items):
        if pair_starts[a + 1] - pair_starts[a] < 2:
            continue
        prefix[0] = a
        n_names[0] = 0
        for slot in range(pair_starts[a], pair_starts[a + 1]):
            names[0, n_names[0]] = pair_items[slot]
            n_names[0] += 1
        names[0, : n_names[0]].sort()
        for i in range(n_names[0]):
            local[names[0, i]] = i
        n_rows[0] = 0
        at = 0
        for slot in range(starts[a], starts[a + 1]):
            row = tids[slot]
            begin = at
            for position in range(positions[slot] + 1, offsets[row + 1]):
                b = local[codes[position]]
                items[0, at] = b
                at += b >= 0
            if at - begin < 2:
                at = begin
                continue
            sources[0, n_rows[0]] = row
            n_rows[0] += 1
            bounds[0, n_rows[0]] = at
        for i in range(n_names[0]):
            local[names[0, i]] = -1
        depth = 0
        arrived = True
        while depth >= 0:
            d = n_names[depth]
            length = depth + 3
            if arrived and not listing and not _any_open(exposed, sources[depth], n_rows[depth], length):
                depth -= 1
                arrived = False
                continue
            if arrived:
                cursor[depth] = 0
                if len(counts[depth]) < d * d:
                    counts[depth] = np.zeros(d * d, np.int64)
                count = counts[depth]
                count[: d * d] = 0
                row_weights = weights[sources[depth, : n_rows[depth]]]
                _count_pairs(count, d, items[depth], bounds[depth], n_rows[depth], row_weights)
                for i in range(d):
                    local[names[depth, i]] = i
                rare = _rare_cells(count, d, k, names[depth], local, pair_starts, pair_items)
                for i in range(d):
                    local[names[depth, i]] = -1
                if listing:
                    if n_found + len(rare) + 1 > len(found_starts):
                        found_starts = _grown(found_starts, n_found + 1, 2 * (n_found + len(rare)) + 1)
                        found_supports = _grown(found_supports, n_found, len(found_starts))
                    if size + len(rare) * length > len(found):
                        found = _grown(found, size, 2 * (size + len(rare) * length))
                    n_found, size = _write(
                        rare,
                        count,
                        d,
                        names[depth],
                        prefix[:length],
                        original,
                        (found, found_starts, found_supports, n_found, size),
                        k if minimal and length > 3 else 0,
                        (codes, offsets, weights, starts, tids),
                    )
                if len(rare):
                    for i in range(n_rows[depth]):
                        row = sources[depth, i]
                        if exposed[row] and exposed[row] <= length:
                            continue
                        if _holds_rare(count, d, k, items[depth, bounds[depth, i] : bounds[depth, i + 1]]):
                            exposed[row] = length
            arrived = False
            if depth + 1 == depths or cursor[depth] + 2 >= d:
                depth -= 1
                continue
            # The child of the next extension b: rows that hold b, cut down to what extends it too.
            b = cursor[depth]
            cursor[depth] += 1
            count = counts[depth]
            child = depth + 1
            n_names[child] = 0
            for c in range(b + 1, d):
                keep[c] = -1
                if count[b * d + c] >= floor:
                    keep[c] = n_names[child]
                    names[child, n_names[child]] = names[depth, c]
                    n_names[child] += 1
            if n_names[child] < 2:
                continue
            prefix[child] = names[depth, b]
            n_rows[child] = 0
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
                sources[child, n_rows[child]] = sources[depth, i]
                n_rows[child] += 1
                bounds[child, n_rows[child]] = at
            if n_rows[child]:
                depth = child
                arrived = True
    return found[:size], found_starts[: n_found + 1], found_supports[:n_found]


@njit(cache=True)
def _insert(array: Array, start: int, stop: int, value: int) -> None:
    """Insert a value into the ascending ``array[start:stop]``."""
    while stop > start and array[stop - 1] > value:
        array[stop] = array[stop - 1]
        stop -= 1
    array[stop] = value


@njit(cache=True)
def _count_pairs(count: Array, d: int, items: Array, bounds: Array, n_rows: int, row_weights: Array) -> None:
    """Add each row's pairs of local items to the dense d x d matrix."""
    for i in range(n_rows):
        weight = row_weights[i]
        for p in range(bounds[i], bounds[i + 1]):
            line = count[items[p] * d : (items[p] + 1) * d]
            for q in range(p + 1, bounds[i + 1]):
                line[items[q]] += weight


@njit(cache=True)
def _rare_cells(
    count: Array, d: int, k: int, names: Array, local: Array, pair_starts: Array, pair_items: Array
) -> Array:
    """Cells of the pair matrix that are rare although the pair itself may be extended."""
    n_rare = 0
    for i in range(d):
        for slot in range(pair_starts[names[i]], pair_starts[names[i] + 1]):
            j = local[pair_items[slot]]
            n_rare += j >= 0 and 0 < count[i * d + j] < k
    cells = np.empty((n_rare, 2), np.int32)
    n_rare = 0
    if len(cells):
        for i in range(d):
            for slot in range(pair_starts[names[i]], pair_starts[names[i] + 1]):
                j = local[pair_items[slot]]
                if j >= 0 and 0 < count[i * d + j] < k:
                    cells[n_rare, 0] = i
                    cells[n_rare, 1] = j
                    n_rare += 1
    return cells


@njit(cache=True)
def _write(
    cells: Array,
    count: Array,
    d: int,
    names: Array,
    prefix: Array,
    original: Array,
    out: tuple[Array, Array, Array, int, int],
    floor: int,
    index: tuple[Array, Array, Array, Array, Array],
) -> tuple[int, int]:
    """Append prefix + pair for each cell whose subsets all have support >= floor."""
    found, found_starts, found_supports, n_found, size = out
    length = len(prefix)
    for cell in range(len(cells)):
        i, j = cells[cell, 0], cells[cell, 1]
        prefix[length - 2] = names[i]
        prefix[length - 1] = names[j]
        if floor and not _subsets_reach(prefix, floor, *index):
            continue
        for r in range(length):
            _insert(found, size, size + r, original[prefix[r]])
        size += length
        found_supports[n_found] = count[i * d + j]
        n_found += 1
        found_starts[n_found] = size
    return n_found, size


@njit(cache=True)
def _widest(offsets: Array, starts: Array, tids: Array, positions: Array) -> int:
    """Most occurrences that follow one item in all its rows, and room for one more."""
    widest = 0
    for item in range(len(starts) - 1):
        width = 0
        for slot in range(starts[item], starts[item + 1]):
            width += offsets[tids[slot] + 1] - positions[slot] - 1
        widest = max(widest, width)
    return widest + 1


@njit(cache=True)
def _most_rows(starts: Array) -> int:
    most = 0
    for item in range(len(starts) - 1):
        most = max(most, starts[item + 1] - starts[item])
    return most


@njit(cache=True)
def _any_open(exposed: Array, rows: Array, n_rows: int, length: int) -> bool:
    """Whether a rare itemset of this size would be the smallest known of some row."""
    for i in range(n_rows):
        if exposed[rows[i]] == 0 or exposed[rows[i]] > length:
            return True
    return False


@njit(cache=True)
def _holds_rare(count: Array, d: int, k: int, row: Array) -> bool:
    for i in range(len(row)):
        for j in range(i + 1, len(row)):
            if count[row[i] * d + row[j]] < k:
                return True
    return False


@njit(cache=True)
def _subsets_reach(
    itemset: Array, k: int, codes: Array, offsets: Array, weights: Array, starts: Array, tids: Array
) -> bool:
    """Whether all subsets that lack one item have support >= k."""
    for left_out in range(len(itemset) - 1):  # without the last item it is the prefix, known to reach k
        subset = np.concatenate((itemset[:left_out], itemset[left_out + 1 :]))
        if _support(subset, codes, offsets, weights, starts, tids) < k:
            return False
    return True
