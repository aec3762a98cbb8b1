"""The kernel that splits rows from the root of a hierarchy downwards, as long as k rows stay alike.

A part is a set of rows that are published alike. Each occurrence has the node that it is published as:
``node`` while that may still be expanded, ``~node`` when it may not (a leaf, or blocked in its part).
Leaves are ascending within a row, and therefore nodes are too.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from numpy.typing import NDArray

__all__ = ["partition"]

Array = NDArray[Any]


@cython.final
@cython.cclass
class _Parts:
    """Rows, their parts so far, the tree, and work space."""

    offsets: Number[::1]
    leaves: Code[::1]
    nodes: cython.int[::1]
    weight: Number[::1]  # by node
    depth: Code[::1]  # by node
    path: Code[:, ::1]  # the ancestor of a node at each depth
    size: Code[::1]  # of the subtree
    part_of: cython.int[::1]  # part of each row, -1 where that is open
    order: cython.longlong[::1]  # the members, part after part, ascending within each
    bounds: cython.longlong[:, ::1]  # of the parts that are not done, in ``order``
    gains: cython.longlong[::1]  # by node, 0 between parts
    row_gain: cython.longlong[::1]  # what a row gains by the expansion
    bucket: cython.longlong[::1]  # rows that have the same children share one
    children: cython.int[::1]  # of the node that is expanded, in the place of the row
    n_children: cython.longlong[::1]
    table: cython.longlong[::1]  # the first row of each bucket, by hash
    sizes: cython.longlong[::1]  # rows of each bucket
    totals: cython.longlong[::1]  # what these gain
    part: cython.longlong[::1]  # the rows in hand, while ``order`` is written

    def __init__(
        self,
        k: int,
        members: Array,
        offsets: Array,
        leaves: Array,
        nodes: Array,
        weight: Array,
        depth: Array,
        path: Array,
        size: Array,
    ) -> None:
        n_rows, n = len(offsets) - 1, len(members)
        self.offsets, self.leaves, self.nodes = offsets, leaves, nodes
        self.weight, self.depth, self.path, self.size = weight, depth, path, size
        self.part_of = np.full(n_rows, -1, np.int32)
        self.order, self.part = members.copy(), np.empty(n, np.int64)
        self.bounds = np.empty((n // k + 2, 2), np.int64)
        self.gains = np.zeros(len(weight), np.int64)
        self.row_gain, self.bucket, self.n_children = np.zeros((3, n_rows), np.int64)
        self.children = np.empty(len(leaves), np.int32)
        self.table = np.empty(2 << max(n - 1, 1).bit_length(), np.int64)
        self.sizes, self.totals = np.empty((2, n + 1), np.int64)


def partition(
    k: int,
    members: Array,
    offsets: Array,
    leaves: Array,
    nodes: Array,
    weight: Array,
    depth: Array,
    path: Array,
    size: Array,
) -> NDArray[np.int32]:
    """Part of each row, -1 for rows that are no members; sets the nodes of the members' occurrences."""
    parts = _Parts(k, members, offsets, leaves, nodes, weight, depth, path, size)
    least: cython.longlong = k
    with cython.nogil:
        _split_all(least, parts)
    return np.asarray(parts.part_of)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split_all(k: cython.longlong, parts: _Parts) -> cython.void:
    start: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    n_parts: cython.int = 0
    todo: cython.Py_ssize_t = min(parts.order.shape[0], 1)
    parts.bounds[0, 0], parts.bounds[0, 1] = 0, parts.order.shape[0]
    while todo:
        todo -= 1
        start, stop = parts.bounds[todo, 0], parts.bounds[todo, 1]
        node = _most_gain(start, stop, parts)
        if node < 0:
            for i in range(start, stop):
                parts.part_of[parts.order[i]] = n_parts
            n_parts += 1
            continue
        for i in range(start, stop):
            _expand(parts.order[i], node, parts)
        n_buckets = _fill(start, stop, parts)
        _balance(k, start, stop, n_buckets, parts)
        _publish(start, stop, node, n_buckets, parts)
        todo = _divide(start, stop, n_buckets, todo, parts)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _divide(
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    n_buckets: cython.Py_ssize_t,
    todo: cython.Py_ssize_t,
    parts: _Parts,
) -> cython.Py_ssize_t:
    """Make each bucket with rows a part to be done; how many parts are to be done."""
    first: cython.longlong = start
    i: cython.Py_ssize_t
    for number in range(n_buckets + 1):
        size: cython.longlong = parts.sizes[number]
        if size:
            parts.bounds[todo, 0], parts.bounds[todo, 1] = first, first + size
            todo += 1
        parts.sizes[number] = first  # from now on where its next row goes
        first += size
    for i in range(start, stop):
        parts.part[i - start] = parts.order[i]
    for i in range(stop - start):
        row = parts.part[i]
        number = parts.bucket[row]
        parts.order[parts.sizes[number]] = row
        parts.sizes[number] += 1
    return todo


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _most_gain(start: cython.Py_ssize_t, stop: cython.Py_ssize_t, parts: _Parts) -> cython.Py_ssize_t:
    """The node whose expansion gains most (then: the first), -1 if none can be expanded."""
    first: cython.Py_ssize_t = parts.order[start]
    best: cython.Py_ssize_t = -1
    most: cython.longlong = -1
    for i in range(start, stop):
        row: cython.Py_ssize_t = parts.order[i]
        for place in range(parts.offsets[row], parts.offsets[row + 1]):
            node = parts.nodes[place]
            if node >= 0:
                child = parts.path[parts.depth[node] + 1, parts.leaves[place]]
                parts.gains[node] += parts.weight[node] - parts.weight[child]
    for place in range(parts.offsets[first], parts.offsets[first + 1]):  # all rows have the same nodes
        node = parts.nodes[place]
        if node >= 0 and parts.gains[node] > most:
            best, most = node, parts.gains[node]
    for place in range(parts.offsets[first], parts.offsets[first + 1]):
        node = parts.nodes[place]
        if node >= 0:
            parts.gains[node] = 0
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _expand(row: cython.Py_ssize_t, node: cython.Py_ssize_t, parts: _Parts) -> cython.void:
    """Write the children of a node that a row has into its place, their number, and the gain."""
    end: cython.Py_ssize_t = parts.offsets[row]
    gain: cython.longlong = 0
    for place in range(parts.offsets[row], parts.offsets[row + 1]):
        if parts.nodes[place] == node:
            child = parts.path[parts.depth[node] + 1, parts.leaves[place]]
            gain += parts.weight[node] - parts.weight[child]
            if end == parts.offsets[row] or parts.children[end - 1] != child:
                parts.children[end] = child
                end += 1
    parts.n_children[row], parts.row_gain[row] = end - parts.offsets[row], gain


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(start: cython.Py_ssize_t, stop: cython.Py_ssize_t, parts: _Parts) -> cython.Py_ssize_t:
    """Number the sets of children in the order in which they first come; return how many there are."""
    size: cython.longlong = 2
    n_buckets: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    key: cython.longlong
    slot: cython.longlong
    while size < 2 * (stop - start):
        size *= 2
    for i in range(size):
        parts.table[i] = -1
    for i in range(start, stop):
        row = parts.order[i]
        key = 0
        for place in range(parts.offsets[row], parts.offsets[row] + parts.n_children[row]):
            key = (key * 1000003 + parts.children[place]) & 0x7FFFFFFF
        slot = (key ^ (key >> 15)) & (size - 1)
        while parts.table[slot] >= 0 and not _alike(row, parts.table[slot], parts):
            slot = (slot + 1) & (size - 1)
        if parts.table[slot] < 0:
            parts.table[slot] = row
            parts.bucket[row] = n_buckets
            n_buckets += 1
        parts.bucket[row] = parts.bucket[parts.table[slot]]
    return n_buckets


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _alike(a: cython.Py_ssize_t, b: cython.Py_ssize_t, parts: _Parts) -> cython.bint:
    i: cython.Py_ssize_t
    if parts.n_children[a] != parts.n_children[b]:
        return False
    for i in range(parts.n_children[a]):
        if parts.children[parts.offsets[a] + i] != parts.children[parts.offsets[b] + i]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _balance(
    k: cython.longlong,
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    n_buckets: cython.Py_ssize_t,
    parts: _Parts,
) -> cython.void:
    """Gather the rows of small buckets in one more bucket, of k rows at least; count the rows of all."""
    rest: cython.longlong = 0
    least: cython.Py_ssize_t
    for number in range(n_buckets + 1):
        parts.sizes[number] = parts.totals[number] = 0
    for i in range(start, stop):
        row = parts.order[i]
        parts.sizes[parts.bucket[row]] += 1
        parts.totals[parts.bucket[row]] += parts.row_gain[row]
    for number in range(n_buckets):
        if parts.sizes[number] < k:
            rest += parts.sizes[number]
            parts.sizes[number] = 0
    while 0 < rest < k:
        least = -1
        for i in range(start, stop):
            row = parts.order[i]
            if parts.sizes[parts.bucket[row]] > k:
                if least < 0 or parts.row_gain[row] < parts.row_gain[least]:
                    least = row
        if least < 0:
            break
        parts.sizes[parts.bucket[least]] -= 1
        parts.totals[parts.bucket[least]] -= parts.row_gain[least]
        parts.bucket[least] = n_buckets
        rest += 1
    while 0 < rest < k:
        least = -1
        for number in range(n_buckets):
            if parts.sizes[number] and (least < 0 or parts.totals[number] < parts.totals[least]):
                least = number
        rest += parts.sizes[least]
        parts.sizes[least] = 0
    for i in range(start, stop):
        row = parts.order[i]
        if parts.sizes[parts.bucket[row]] == 0:
            parts.bucket[row] = n_buckets
    parts.sizes[n_buckets] = rest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _publish(
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    node: cython.Py_ssize_t,
    n_buckets: cython.Py_ssize_t,
    parts: _Parts,
) -> cython.void:
    """Replace a node by its children; block it where the last bucket has its occurrences."""
    blocked: cython.int = ~cython.cast(cython.int, node)
    for i in range(start, stop):
        row: cython.Py_ssize_t = parts.order[i]
        for place in range(parts.offsets[row], parts.offsets[row + 1]):
            if parts.nodes[place] == node:
                child: cython.int = parts.path[parts.depth[node] + 1, parts.leaves[place]]
                if parts.bucket[row] == n_buckets:
                    parts.nodes[place] = blocked
                else:
                    parts.nodes[place] = ~child if parts.size[child] == 1 else child
