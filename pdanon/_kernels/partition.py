"""The kernel that splits rows from the root of a hierarchy downwards, as long as k rows stay alike.

A part is a set of rows that are published alike. Each occurrence has the node that it is published as:
``node`` while that may still be expanded, ``~node`` when it may not (a leaf, or blocked in its part).
Leaves are ascending within a row, and therefore nodes are too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["partition"]

Array = NDArray[Any]
# weight and depth by node, path[d, node]: the ancestor of a node at depth d, size of the subtree
Tree = tuple[Array, Array, Array, Array]
Rows = tuple[Array, Array, Array]  # offsets, leaves, nodes


@kernel
def partition(k: int, members: Array, rows: Rows, tree: Tree) -> Array:
    """Part of each row, -1 for rows that are no members; sets the nodes of the members' occurrences."""
    offsets, leaves, _ = rows
    n_rows = len(offsets) - 1
    part_of = np.full(n_rows, -1, np.int32)
    order = members.copy()  # part after part, ascending within each
    bounds = np.empty((len(members) // k + 2, 2), np.int64)  # of the parts that are not done
    bounds[0, 0], bounds[0, 1] = 0, len(members)
    todo, n_parts = min(len(members), 1), 0
    gains = np.zeros(len(tree[0]), np.int64)
    row_gain = np.zeros(n_rows, np.int64)
    bucket = np.zeros(n_rows, np.int64)
    children = np.empty(len(leaves), np.int32)
    n_children = np.empty(n_rows, np.int64)
    while todo:
        todo -= 1
        start, stop = bounds[todo, 0], bounds[todo, 1]
        part = order[start:stop]
        node = _most_gain(part, rows, tree, gains)
        if node < 0:
            for row in part:  # assigning to all at once takes seconds to compile
                part_of[row] = n_parts
            n_parts += 1
            continue
        for row in part:
            n_children[row], row_gain[row] = _expand(row, node, rows, tree, children)
        n_buckets = _fill(part, offsets, children, n_children, bucket)
        sizes = _balance(k, part, n_buckets, bucket, row_gain)
        _publish(part, node, n_buckets, bucket, rows, tree)
        for number in range(n_buckets + 1):
            if sizes[number]:
                bounds[todo, 0], bounds[todo, 1] = start, start + sizes[number]
                todo += 1
            start += sizes[number]
            sizes[number] = start - sizes[number]  # from now on where its next row goes
        for row in part.copy():
            order[sizes[bucket[row]]] = row
            sizes[bucket[row]] += 1
    return part_of


@inner
def _most_gain(part: Array, rows: Rows, tree: Tree, gains: Array) -> int:
    """The node whose expansion gains most (then: the first), -1 if none can be expanded."""
    offsets, leaves, nodes = rows
    weight, depth, path, _ = tree
    for row in part:
        for place in range(offsets[row], offsets[row + 1]):
            node = nodes[place]
            if node >= 0:
                gains[node] += weight[node] - weight[path[depth[node] + 1, leaves[place]]]
    best, most = -1, np.int64(-1)
    for place in range(offsets[part[0]], offsets[part[0] + 1]):  # all rows have the same nodes
        node = nodes[place]
        if node >= 0 and gains[node] > most:
            best, most = node, gains[node]
    for place in range(offsets[part[0]], offsets[part[0] + 1]):
        gains[max(nodes[place], 0)] = 0
    return best


@inner
def _expand(row: int, node: int, rows: Rows, tree: Tree, children: Array) -> tuple[int, int]:
    """Write the children of a node that a row has into its place; their number, and the gain."""
    offsets, leaves, nodes = rows
    weight, depth, path, _ = tree
    end, gain = offsets[row], 0
    for place in range(offsets[row], offsets[row + 1]):
        if nodes[place] == node:
            child = path[depth[node] + 1, leaves[place]]
            gain += weight[node] - weight[child]
            if end == offsets[row] or children[end - 1] != child:
                children[end] = child
                end += 1
    return end - offsets[row], gain


@inner
def _fill(part: Array, offsets: Array, children: Array, n_children: Array, bucket: Array) -> int:
    """Number the sets of children in the order in which they first come; return how many there are."""
    size = 2
    while size < 2 * len(part):
        size *= 2
    table = np.full(size, -1, np.int64)  # the first row of each bucket, by hash
    n_buckets = 0
    for row in part:
        key = np.int64(0)
        for place in range(offsets[row], offsets[row] + n_children[row]):
            key = (key * 1000003 + children[place]) & 0x7FFFFFFF
        slot = (key ^ (key >> 15)) & (size - 1)
        while table[slot] >= 0 and not _alike(row, table[slot], offsets, children, n_children):
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = row
            bucket[row] = n_buckets
            n_buckets += 1
        bucket[row] = bucket[table[slot]]
    return n_buckets


@inner
def _alike(a: int, b: int, offsets: Array, children: Array, n_children: Array) -> bool:
    if n_children[a] != n_children[b]:
        return False
    for i in range(n_children[a]):
        if children[offsets[a] + i] != children[offsets[b] + i]:
            return False
    return True


@inner
def _balance(k: int, part: Array, n_buckets: int, bucket: Array, row_gain: Array) -> Array:
    """Gather the rows of small buckets in one more bucket, of k rows at least; return all sizes."""
    sizes = np.zeros(n_buckets + 1, np.int64)
    totals = np.zeros(n_buckets + 1, np.int64)
    for row in part:
        sizes[bucket[row]] += 1
        totals[bucket[row]] += row_gain[row]
    rest = 0
    for number in range(n_buckets):
        if sizes[number] < k:
            rest += sizes[number]
            sizes[number] = 0
    while 0 < rest < k:
        least = -1
        for row in part:
            if sizes[bucket[row]] > k and (least < 0 or row_gain[row] < row_gain[least]):
                least = row
        if least < 0:
            break
        sizes[bucket[least]] -= 1
        totals[bucket[least]] -= row_gain[least]
        bucket[least] = n_buckets
        rest += 1
    while 0 < rest < k:
        least = -1
        for number in range(n_buckets):
            if sizes[number] and (least < 0 or totals[number] < totals[least]):
                least = number
        rest += sizes[least]
        sizes[least] = 0
    for row in part:
        if sizes[bucket[row]] == 0:
            bucket[row] = n_buckets
    sizes[n_buckets] = rest
    return sizes


@inner
def _publish(part: Array, node: int, n_buckets: int, bucket: Array, rows: Rows, tree: Tree) -> None:
    """Replace a node by its children; block it where the last bucket has its occurrences."""
    offsets, leaves, nodes = rows
    _, depth, path, size = tree
    for row in part:
        for place in range(offsets[row], offsets[row + 1]):
            if nodes[place] == node:
                child = path[depth[node] + 1, leaves[place]]
                if bucket[row] == n_buckets:
                    nodes[place] = ~node
                else:
                    nodes[place] = ~child if size[child] == 1 else child
