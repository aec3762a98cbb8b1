"""Kernels that turn rare sets of nodes into clauses on what is published.

Only some nodes may be published; ``up`` is the next of them above each, -1 where there is none. A path is
what is on the way from a node up to another. A clause is a list of paths, not all of which may have a
published node: wherever the paths begin in one row, and their upper ends are together in too few rows,
so are the nodes between.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag, Number, grown
from cython.cimports.pdanon._kernels.counting import Rows, contains, rarest
from cython.cimports.pdanon._kernels.cuts import Space, Supports, maximal, reached, slot_of
from numpy.typing import NDArray

__all__ = ["pair_clauses", "set_clauses"]


def pair_clauses(
    k: cython.longlong, fit: Flag[::1], up: Code[::1], size: Code[::1], supports: Supports
) -> NDArray[np.int32]:
    """Clauses of two paths for all rare pairs of fit nodes: the lower and the upper end of each.

    Paths begin at the pairs that are rare with no lower node in place of either, and are as long as can be.
    """
    a: cython.int
    slot: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    rare: cython.uchar[::1] = np.zeros(len(supports.partners), np.uint8)
    within: cython.uchar[::1] = np.zeros(len(supports.partners), np.uint8)
    ends: cython.int[::1] = np.empty(64, np.int32)
    with cython.nogil:
        _mark_rare_pairs(k, fit, size, supports, rare)
        _mark_above(up, rare, supports, within)
        for a in range(up.shape[0]):
            for slot in range(supports.starts[a], supports.starts[a + 1]):
                if not rare[slot] or within[slot]:
                    continue
                b = supports.partners[slot]
                top_a, top_b = a, b
                while True:
                    while _rare_slot(top_a, up[top_b], rare, supports) >= 0:
                        top_b = up[top_b]
                    while _rare_slot(up[top_a], top_b, rare, supports) >= 0:
                        top_a = up[top_a]
                    if n + 4 > ends.shape[0]:
                        ends = grown(ends, n, 2 * ends.shape[0])
                    ends[n], ends[n + 1], ends[n + 2], ends[n + 3] = a, top_a, b, top_b
                    n += 4
                    top_a, top_b = up[top_a], b
                    if _rare_slot(top_a, b, rare, supports) < 0:
                        break
    return np.asarray(ends[:n])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark_rare_pairs(
    k: cython.longlong, fit: Flag[::1], size: Code[::1], supports: Supports, rare: cython.uchar[::1]
) -> cython.void:
    """Mark which pairs are rare: of two fit nodes, neither above the other."""
    a: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    for a in range(fit.shape[0]):
        for slot in range(supports.starts[a], supports.starts[a + 1]):
            b = supports.partners[slot]
            rare[slot] = fit[a] and fit[b] and supports.together[slot] < k and b >= a + size[a]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark_above(up: Code[::1], rare: Flag[::1], supports: Supports, within: cython.uchar[::1]) -> cython.void:
    """Mark the rare pairs that are rare with a lower node in place of one of theirs."""
    a: cython.int
    slot: cython.Py_ssize_t
    above: cython.Py_ssize_t
    for a in range(up.shape[0]):
        for slot in range(supports.starts[a], supports.starts[a + 1]):
            if rare[slot]:
                b = supports.partners[slot]
                above = _rare_slot(up[a], b, rare, supports)
                if above >= 0:
                    within[above] = True
                above = _rare_slot(a, up[b], rare, supports)
                if above >= 0:
                    within[above] = True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rare_slot(a: cython.int, b: cython.int, rare: Flag[::1], supports: Supports) -> cython.Py_ssize_t:
    """Place of a rare pair, -1 if it is none."""
    if a < 0 or b < 0:
        return -1
    slot: cython.Py_ssize_t = slot_of(min(a, b), max(a, b), supports)
    return slot if slot >= 0 and rare[slot] else -1


def set_clauses(
    k: cython.longlong,
    sets: Code[::1],
    set_offsets: Number[::1],
    fit: Flag[::1],
    up: Code[::1],
    size: Code[::1],
    supports: Supports,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Clauses for rare sets of fit nodes, as CSR: the lower and the upper end of each path.

    Of each set as few nodes are taken as are rare, and paths go up as far as these stay rare. There is a
    clause for each row that holds the upper ends: its paths begin as low as they can, at or below the
    nodes of the set where the row holds these.
    """
    rows: Rows = supports.rows
    i: cython.Py_ssize_t
    length: cython.Py_ssize_t
    rarest_node: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    n: cython.Py_ssize_t = 0
    ends: cython.int[::1] = np.empty(64, np.int32)
    bounds: cython.longlong[::1] = np.zeros(65, np.int64)
    longest = np.diff(set_offsets).max(initial=0)
    at: cython.int[::1] = np.empty(longest, np.int32)
    space: Space = Space(longest, supports)
    with cython.nogil:
        for i in range(set_offsets.shape[0] - 1):
            length = _shrink(sets, set_offsets[i], set_offsets[i + 1], k, supports, space, at)
            _rise(at, length, k, up, size, supports, space)
            rarest_node = rarest(space.nodes, 0, length, rows.starts)
            for slot in range(rows.starts[rarest_node], rows.starts[rarest_node + 1]):
                row = rows.tids[slot]
                if not contains(rows.codes, rows.offsets[row], rows.offsets[row + 1], space.nodes, 0, length):
                    continue
                if bounds[n] + 2 * length > ends.shape[0]:
                    ends = grown(ends, bounds[n], 2 * (ends.shape[0] + length))
                if n + 2 > bounds.shape[0]:
                    bounds = grown(bounds, n + 1, 2 * bounds.shape[0])
                for place in range(length):
                    ends[bounds[n] + 2 * place] = _lowest(at[place], space.at[place], row, rows, fit, size)
                    ends[bounds[n] + 2 * place + 1] = space.at[place]
                n += 1
                bounds[n] = bounds[n - 1] + 2 * length
    return np.asarray(ends[: bounds[n]]), np.asarray(bounds[: n + 1])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shrink(
    sets: Code[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    k: cython.longlong,
    supports: Supports,
    space: Space,
    kept: cython.int[::1],
) -> cython.Py_ssize_t:
    """Write nodes of a rare set, ascending, that are rare without the others; no fewer of them are."""
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t = stop - start
    kept[:n] = sets[start:stop]
    while place < n and n > 1:
        for i in range(n - 1):
            space.nodes[i] = kept[i + (i >= place)]
        if reached(space.nodes, n - 1, k, supports, space) < k:
            n -= 1
            kept[:n] = space.nodes[:n]
        else:
            place += 1
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rise(
    nodes: Code[::1],
    n: cython.Py_ssize_t,
    k: cython.longlong,
    up: Code[::1],
    size: Code[::1],
    supports: Supports,
    space: Space,
) -> cython.void:
    """Raise one of n nodes of a rare set after the other while it stays rare.

    Write them, ``space.at``, and the same in ascending order, ``space.nodes``. None is above another.
    """
    place: cython.Py_ssize_t
    rare: cython.bint
    space.at[:n] = nodes[:n]
    for place in range(n):
        rare = True
        while rare and up[space.at[place]] >= 0:
            below = space.at[place]
            space.at[place] = up[below]
            rare = maximal(space.at, n, size, space.nodes) == n and (
                reached(space.nodes, n, k, supports, space) < k
            )
            if not rare:
                space.at[place] = below
    maximal(space.at, n, size, space.nodes)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _lowest(
    node: cython.int, top: cython.int, row: cython.Py_ssize_t, rows: Rows, fit: Flag[::1], size: Code[::1]
) -> cython.int:
    """A fit node that a row holds, below a node if it holds that, else below the top."""
    position: cython.Py_ssize_t
    lowest: cython.int = top
    for position in range(rows.offsets[row], rows.offsets[row + 1]):
        if rows.codes[position] == node:
            lowest = node
    for position in range(rows.offsets[row], rows.offsets[row + 1]):
        code = rows.codes[position]  # in pre-order what is below a node comes right after it
        if lowest < code < lowest + size[lowest] and fit[code]:
            lowest = code
    return lowest
