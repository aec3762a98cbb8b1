"""Kernel of diversity and coherence: known items whose rows share a secret item too often.

Written on its own, apart from the kernel that lists what coherence suppresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.arrays import grown

__all__ = ["breaches", "minimal"]

Array = NDArray[Any]
Rows = tuple[Array, Array, int]  # codes, offsets, how many items
Limits = tuple[int, int, int, int]  # k, m, and the share as a fraction: above / below
# Some of the rows: their numbers, and how many of the items of each are left out, from the first one.
Node = tuple[Array, Array]
# Counts by item, 0 between nodes: rows of the node with the item that share a secret item, the most of them
# for any secret item, all rows with the item, how many these are when each counts once.
Counts = tuple[Array, Array, Array, Array]
# Rows of a node by secret item: how many, by item, and when each counts once; items met; where the rows of
# each end, and their places in the node.
Blocks = tuple[Array, Array, Array, Array, Array]
# For itemsets of each size, which items follow, how many, where the rows with each begin, which it is now,
# and whether an item follows; and the nodes of all, one after the other.
Path = tuple[Array, Array, Array, Array, Array, Array, Array]


@kernel
def breaches(
    limits: Limits, known: Rows, secrets: Rows, weights: Array, listing: bool, held: Array
) -> tuple[Array, Array, Array]:
    """Itemsets of 1 to m known items, in k rows or more, with a secret item in more than a share of these.

    Depth first, in item order; the items that may follow an itemset are judged together. Nothing is added to
    an itemset that is in fewer than k rows or breaches, nor to one whose secret items are so few that no k of
    its rows can breach; and nothing is added that could not be added to a prefix.

    With ``listing`` they are returned, as CSR and their supports; some may have subsets that breach. Without,
    their rows are marked in ``held``, and itemsets of which all rows are marked are left out.
    """
    m, n_items, n_secrets = limits[1], known[2], secrets[2]
    counts = _zeros(n_items), _zeros(n_items), _zeros(n_items), _zeros(n_items)
    met, members = np.empty(n_secrets, np.int32), np.empty(len(secrets[0]), np.int32)
    blocks = _zeros(n_secrets), _zeros(n_secrets), met, _zeros(n_secrets + 1), members
    room = (len(known[0]) if m > 1 else 0) + max(m - 2, 0) * _widest(known)
    rows, after = np.empty(room, np.int32), np.empty(room, np.int32)
    following, follows = np.empty((m, n_items), np.int32), np.zeros((m + 1, n_items), np.bool_)
    path = following, _zeros(m), np.zeros((m, n_items + 1), np.int64), _zeros(m), follows, rows, after
    names = np.empty(n_items, np.int32)
    itemset = np.empty(m, np.int32)
    found = np.empty(256, np.int32)
    bounds, supports = _zeros(128), _zeros(128)
    n_found, size = np.int64(0), np.int64(0)
    node = _everything(len(weights))
    for item in range(n_items):
        follows[0, item] = True
    while True:
        n_blocks = _group(node, secrets, weights, limits, blocks)
        n = _share(node, known, weights, limits, blocks, n_blocks, follows[size], counts, names)
        n_left, n_broken = _judge(node, known, weights, limits, counts, names[:n])
        if n_broken and not listing:
            _mark(node, known, counts, held)
        for item in names[n_left : n_left + n_broken if listing else 0]:
            itemset[size] = item
            if n_found + 2 > len(bounds):
                bounds = grown(bounds, n_found + 1, 2 * len(bounds))
                supports = grown(supports, n_found, len(bounds))
            while bounds[n_found] + m > len(found):
                found = grown(found, bounds[n_found], 2 * len(found))
            for i in range(size + 1):
                found[bounds[n_found] + i] = itemset[i]
            supports[n_found] = counts[2][item]
            n_found += 1
            bounds[n_found] = bounds[n_found - 1] + size + 1
        if size + 1 < m:
            _divide(node, known, counts, names[:n_left], size, path)
        for item in names[:n]:
            counts[1][item] = counts[2][item] = counts[3][item] = 0
        size = _next(size if size + 1 < m else size - 1, path, held)
        if size < 0:
            return found[: bounds[n_found]], bounds[: n_found + 1], supports[:n_found]
        itemset[size] = following[size, path[3][size]]
        node = _chosen(size, path)
        size += 1


@inner
def _zeros(n: int) -> Array:
    return np.zeros(n, np.int64)


@inner
def _everything(n_rows: int) -> Node:
    """The node of the empty itemset."""
    rows = np.empty(n_rows, np.int32)
    for row in range(n_rows):
        rows[row] = row
    return rows, np.zeros(n_rows, np.int32)


@inner
def _widest(known: Rows) -> int:
    """How many items follow an item in its rows, for the item with most of these."""
    codes, offsets, n_items = known
    following = np.zeros(n_items, np.int64)
    widest = 0
    for row in range(len(offsets) - 1):
        for place in range(offsets[row], offsets[row + 1]):
            following[codes[place]] += offsets[row + 1] - place - 1
            widest = max(widest, following[codes[place]])
    return widest


@inner
def _group(node: Node, secrets: Rows, weights: Array, limits: Limits, blocks: Blocks) -> int:
    """Write the rows of the node by secret item; leave items out that too few of them hold for a breach."""
    k, _, above, below = limits
    codes, offsets, _ = secrets
    shared, slots, met, ends, members = blocks  # the first two are 0 before and after
    n_met = 0
    for row in node[0]:
        for place in range(offsets[row], offsets[row + 1]):
            item = codes[place]
            if slots[item] == 0:
                met[n_met] = item
                n_met += 1
            slots[item] += 1
            shared[item] += weights[row]
    n_blocks = 0
    for item in met[:n_met]:
        if shared[item] * below > above * k:
            ends[n_blocks + 1] = ends[n_blocks] + slots[item]
            slots[item] = ends[n_blocks]
            n_blocks += 1
        else:
            slots[item] = -1
    for i in range(len(node[0]) if n_blocks else 0):
        row = node[0][i]
        for place in range(offsets[row], offsets[row + 1]):
            if slots[codes[place]] >= 0:
                members[slots[codes[place]]] = i
                slots[codes[place]] += 1
    for item in met[:n_met]:
        slots[item] = shared[item] = 0
    return n_blocks


@inner
def _share(
    node: Node,
    known: Rows,
    weights: Array,
    limits: Limits,
    blocks: Blocks,
    n_blocks: int,
    follows: Array,
    counts: Counts,
    names: Array,
) -> int:
    """Name the items with which enough rows share a secret item for a breach; count the most that do."""
    k, _, above, below = limits
    codes, offsets, _ = known
    count, most, _, _ = counts
    n = 0
    for block in range(n_blocks):
        members = blocks[4][blocks[3][block] : blocks[3][block + 1]]
        for i in members:
            row = node[0][i]
            for place in range(offsets[row] + node[1][i], offsets[row + 1]):
                if follows[codes[place]]:
                    count[codes[place]] += weights[row]
        for i in members:
            row = node[0][i]
            for place in range(offsets[row] + node[1][i], offsets[row + 1]):
                item = codes[place]
                if count[item] * below > above * k:
                    if most[item] == 0:
                        names[n] = item
                        n += 1
                    most[item] = max(most[item], count[item])
                count[item] = 0
    return n


@inner
def _judge(
    node: Node, known: Rows, weights: Array, limits: Limits, counts: Counts, names: Array
) -> tuple[int, int]:
    """Count the rows of the named items. First come those that do not breach, then those that do.

    That their ``most`` is set to -1 marks these; that of items in fewer than k rows is set to 0.
    """
    k, _, above, below = limits
    codes, offsets, _ = known
    _, most, support, n_rows = counts
    for i in range(len(node[0]) if len(names) else 0):
        row = node[0][i]
        for place in range(offsets[row] + node[1][i], offsets[row + 1]):
            if most[codes[place]]:
                support[codes[place]] += weights[row]
                n_rows[codes[place]] += 1
    n_left, n_enough = 0, 0
    for i in range(len(names)):
        item = names[i]
        if support[item] < k:
            most[item] = 0
            continue
        names[i], names[n_enough] = names[n_enough], item
        if most[item] * below > above * support[item]:
            most[item] = -1
        else:
            names[n_enough], names[n_left] = names[n_left], item
            n_left += 1
        n_enough += 1
    return n_left, n_enough - n_left


@inner
def _mark(node: Node, known: Rows, counts: Counts, held: Array) -> None:
    """Mark the rows that hold an item that breaches."""
    codes, offsets, _ = known
    _, most, _, _ = counts
    for i in range(len(node[0])):
        row = node[0][i]
        if not held[row]:
            for place in range(offsets[row] + node[1][i], offsets[row + 1]):
                if most[codes[place]] < 0:
                    held[row] = True
                    break


@inner
def _divide(node: Node, known: Rows, counts: Counts, names: Array, size: int, path: Path) -> None:
    """Let the named items follow an itemset, and write their rows after those of its prefixes."""
    codes, offsets, _ = known
    _, most, _, slots = counts
    following, n_following, begins, cursor, follows, rows, after = path
    for item in following[size, : n_following[size]]:
        follows[size + 1, item] = False
    begins[size, 0] = begins[size - 1, n_following[size - 1]] if size else 0
    for i in range(len(names)):
        following[size, i] = names[i]
        follows[size + 1, names[i]] = True
        begins[size, i + 1] = begins[size, i] + slots[names[i]]
        slots[names[i]] = begins[size, i]
    n_following[size] = len(names)
    cursor[size] = -1
    for i in range(len(node[0]) if len(names) else 0):
        row = node[0][i]
        for place in range(offsets[row] + node[1][i], offsets[row + 1]):
            item = codes[place]
            if most[item] > 0:
                rows[slots[item]] = row
                after[slots[item]] = place + 1 - offsets[row]
                slots[item] += 1


@inner
def _next(size: int, path: Path, held: Array) -> int:
    """Go on to the next item that follows the itemset, or else a prefix, in rows that are not all marked."""
    _, n_following, _, cursor, _, _, _ = path
    while size >= 0:
        cursor[size] += 1
        if cursor[size] == n_following[size]:
            size -= 1
            continue
        for row in _chosen(size, path)[0]:
            if not held[row]:
                return size
    return size


@inner
def _chosen(size: int, path: Path) -> Node:
    """The rows of the itemset and the item that follows it now."""
    _, _, begins, cursor, _, rows, after = path
    start, stop = begins[size, cursor[size]], begins[size, cursor[size] + 1]
    return rows[start:stop], after[start:stop]


@kernel
def minimal(codes: Array, offsets: Array) -> Array:
    """Which of some itemsets have no proper subset among them. They are ordered by size, then by codes."""
    n = len(offsets) - 1
    longest = offsets[n] - offsets[n - 1] if n else 0
    ends = _zeros(longest + 1)  # of the itemsets of each size
    path = _zeros(longest), _zeros(longest), _zeros(longest)
    kept = np.ones(n, np.bool_)
    for i in range(n):
        itemset = codes[offsets[i] : offsets[i + 1]]
        for size in range(1, len(itemset)):
            if kept[i]:
                kept[i] = not _has_subset(itemset, ends[size - 1], ends[size], size, codes, offsets, path)
        for size in range(len(itemset), longest + 1):
            ends[size] = i + 1
    return kept


@inner
def _has_subset(
    itemset: Array,
    start: int,
    stop: int,
    size: int,
    codes: Array,
    offsets: Array,
    path: tuple[Array, Array, Array],
) -> bool:
    """Whether one of the itemsets of a size, which begin and end there, is a subset."""
    cursor, starts, stops = path
    cursor[0], starts[0], stops[0] = -1, start, stop
    depth = 0
    while depth >= 0:
        cursor[depth] += 1
        if cursor[depth] + size - depth > len(itemset):
            depth -= 1
            continue
        item = np.int64(itemset[cursor[depth]])
        first = _first(item, depth, starts[depth], stops[depth], codes, offsets)
        after = _first(item + 1, depth, first, stops[depth], codes, offsets)
        if first < after and depth + 1 == size:
            return True
        if first < after:
            depth += 1
            cursor[depth], starts[depth], stops[depth] = cursor[depth - 1], first, after
    return False


@inner
def _first(item: np.int64, depth: int, start: int, stop: int, codes: Array, offsets: Array) -> int:
    """The first itemset whose item at a depth is not below; those before have the same items."""
    while start < stop:
        middle = (start + stop) // 2
        if codes[offsets[middle] + depth] < item:
            start = middle + 1
        else:
            stop = middle
    return start
