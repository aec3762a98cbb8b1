"""Kernels that turn rare sets of nodes into demands on a cut.

A cut covers a node if it is at the node or above it. A set of nodes, none above another, that is in some
but too few rows demands of every safe cut that it covers the parent of one of them: otherwise the cut is at
or below each of them, and what it publishes of a row that holds the set is at least as rare. Raising a node
of a rare set gives a stronger demand as long as the set stays rare.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag, Number, grown
from cython.cimports.pdanon._kernels.cuts import Space, Supports, maximal, reached
from numpy.typing import NDArray

__all__ = ["forced_nodes", "pair_demands", "set_demands"]


def forced_nodes(
    k: cython.longlong, pairs: cython.bint, parent: Code[::1], size: Code[::1], supports: Supports
) -> NDArray[np.bool_]:
    """Nodes that a rare node, or with ``pairs`` a rare pair, demands alone; and all below them."""
    node: cython.Py_ssize_t
    result = np.zeros(len(parent), np.bool_)
    forced: cython.uchar[::1] = result
    with cython.nogil:
        for node in range(1, parent.shape[0]):
            if 0 < supports.singles[node] < k:
                forced[parent[node]] = True
        if pairs:
            _force_by_pairs(k, parent, size, supports, forced)
        for node in range(1, parent.shape[0]):
            if forced[parent[node]]:
                forced[node] = True
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _force_by_pairs(
    k: cython.longlong, parent: Code[::1], size: Code[::1], supports: Supports, forced: cython.uchar[::1]
) -> cython.void:
    a: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    b: cython.int
    u: cython.int
    v: cython.int
    for a in range(parent.shape[0]):
        for slot in range(supports.starts[a], supports.starts[a + 1]):
            b = supports.partners[slot]
            if supports.together[slot] >= k or b < a + size[a]:
                continue
            u, v = min(parent[a], parent[b]), max(parent[a], parent[b])
            if v < u + size[u]:  # the upper one is covered only together with the lower one
                forced[v] = True


def pair_demands(
    k: cython.longlong, forced: Flag[::1], parent: Code[::1], size: Code[::1], supports: Supports
) -> NDArray[np.int32]:
    """Demands of the rare pairs that stay rare with neither node raised, unless a forced node meets them."""
    a: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    demands: cython.int[::1] = np.empty(64, np.int32)
    space: Space = Space(2, supports)
    with cython.nogil:
        for a in range(1, parent.shape[0]):
            if forced[parent[a]]:
                continue
            for slot in range(supports.starts[a], supports.starts[a + 1]):
                b = supports.partners[slot]
                if supports.together[slot] >= k or b < a + size[a] or forced[parent[b]]:
                    continue
                if not _is_rare(parent[a], b, k, size, supports, space):
                    if not _is_rare(a, parent[b], k, size, supports, space):
                        if n + 2 > demands.shape[0]:
                            demands = grown(demands, n, 2 * demands.shape[0])
                        demands[n], demands[n + 1] = parent[a], parent[b]
                        n += 2
    return np.asarray(demands[:n])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_rare(
    a: cython.int, b: cython.int, k: cython.longlong, size: Code[::1], supports: Supports, space: Space
) -> cython.bint:
    """Whether a pair of nodes that is in some row, of parents that are not forced, is rare."""
    first: cython.int = min(a, b)
    last: cython.int = max(a, b)
    if last < first + size[first]:  # one node, the upper one; a rare node has a forced parent
        return False
    space.nodes[0], space.nodes[1] = first, last
    return reached(space.nodes, 2, k, supports, space) < k


def set_demands(
    k: cython.longlong,
    sets: Code[::1],
    set_offsets: Number[::1],
    parent: Code[::1],
    size: Code[::1],
    supports: Supports,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Demand of each rare set of nodes after raising it as far as it stays rare, as CSR.

    Sets whose demands are implied by those of the sets before them are passed over.
    """
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    length: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    demands: cython.int[::1] = np.empty(len(sets), np.int32)
    starts: cython.longlong[::1] = np.zeros(len(set_offsets), np.int64)
    met_with: cython.longlong[::1] = np.full(len(parent), -1, np.int64)
    space: Space = Space(np.diff(set_offsets).max(initial=0), supports)
    with cython.nogil:
        for i in range(set_offsets.shape[0] - 1):
            for place in range(set_offsets[i], set_offsets[i + 1]):
                # where one of these is covered, the demand of the set is met
                above = parent[sets[place]]
                while above >= 0 and met_with[above] != i:
                    met_with[above] = i
                    above = parent[above]
                space.at[place - set_offsets[i]] = sets[place]
            if not _any_within(demands, starts, n, met_with, i):
                length = _raise(set_offsets[i + 1] - set_offsets[i], k, parent, size, supports, space)
                starts[n + 1] = _write_lowest_parents(length, parent, size, space, starts[n], demands)
                n += 1
    return np.asarray(demands[: starts[n]]), np.asarray(starts[: n + 1])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _any_within(
    demands: Code[::1], starts: Number[::1], n: cython.Py_ssize_t, mark: Number[::1], value: cython.longlong
) -> cython.bint:
    """Whether all nodes of one of the first n demands are marked with a value."""
    i: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    for i in range(n):
        slot = starts[i]
        while slot < starts[i + 1] and mark[demands[slot]] == value:
            slot += 1
        if slot == starts[i + 1]:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _raise(
    n: cython.Py_ssize_t,
    k: cython.longlong,
    parent: Code[::1],
    size: Code[::1],
    supports: Supports,
    space: Space,
) -> cython.Py_ssize_t:
    """Raise one of n nodes, ``space.at``, after the other while the set stays rare.

    Write its antichain, ``space.nodes``, and return the length.
    """
    i: cython.Py_ssize_t
    length: cython.Py_ssize_t
    rare: cython.bint
    for i in range(n):
        rare = True
        while rare and space.at[i] > 0:
            below = space.at[i]
            space.at[i] = parent[below]
            length = maximal(space.at, n, size, space.nodes)
            rare = reached(space.nodes, length, k, supports, space) < k
            if not rare:
                space.at[i] = below
    return maximal(space.at, n, size, space.nodes)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write_lowest_parents(
    n: cython.Py_ssize_t,
    parent: Code[::1],
    size: Code[::1],
    space: Space,
    start: cython.Py_ssize_t,
    out: cython.int[::1],
) -> cython.Py_ssize_t:
    """Write the parents of an antichain that have no other parent below them, ascending; return their end."""
    i: cython.Py_ssize_t
    end: cython.Py_ssize_t = start
    for i in range(n):
        above = parent[space.nodes[i]]
        if end > start and out[end - 1] <= above < out[end - 1] + size[out[end - 1]]:
            end -= 1  # an ancestor of this one, or this one
        if end == start or out[end - 1] < above:
            out[end] = above
            end += 1
    return end
