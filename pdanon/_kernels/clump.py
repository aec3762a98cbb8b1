"""Kernels that put rows into groups, and groups under the bag of nodes that all their rows have.

Rows come with the number of their items under every node that has some: ``nodes`` ascending and
``counts``, row after row. A node's count in a group is the least count of its rows; it is kept in the
place of the row that the group began with, its seed.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from numpy.typing import NDArray

__all__ = ["Clumps", "assign", "clump"]

Array = NDArray[Any]


@cython.final
@cython.cclass
class Clumps:
    """Rows, and the groups that some of them are in; those equal the seed of theirs.

    The distortion of a group, times ``scale``, is ``scale * length - size * saved``, where ``saved`` is
    the sum of count times weight over the nodes.
    """

    scale: cython.longlong
    weight: Number[::1]
    starts: Number[::1]
    nodes: cython.int[::1]
    counts: cython.int[::1]
    lengths: Number[::1]
    group_of: cython.longlong[::1]
    seeds: Number[::1]
    near: cython.Py_ssize_t  # the first group that began with the row in hand, or one after it
    filling: cython.bint  # whether some group has fewer than k rows
    n_open: cython.longlong  # groups that may be examined; -1 before the first row
    ends = cython.declare(cython.longlong[::1], visibility="readonly")  # of the counts of each group
    size: cython.longlong[::1]  # rows of each group
    length: cython.longlong[::1]  # items that these have
    saved: cython.longlong[::1]  # sum of count times weight over the nodes of each group
    have: cython.longlong[::1]  # counts of the row or group in hand, by node; else 0
    open_after: cython.longlong[::1]  # leads to the first group from there on that may be examined
    after: cython.longlong[::1]  # next row without a group, in a ring closed by the number of rows
    before: cython.longlong[::1]  # previous one

    def __init__(
        self,
        scale: int,
        weight: Array,
        starts: Array,
        nodes: Array,
        counts: Array,
        lengths: Array,
        group_of: Array,
        seeds: Array,
    ) -> None:
        self.scale, self.weight = scale, weight
        self.starts, self.nodes, self.counts, self.lengths = starts, nodes, counts, lengths
        self.group_of, self.seeds, self.ends = group_of, seeds, starts[seeds + 1]
        size = np.bincount(group_of[group_of >= 0], minlength=len(seeds))
        self.size, self.length = size, size * lengths[seeds]  # the rows of a group so far are equal
        self.saved, self.have = np.zeros(len(seeds), np.int64), np.zeros(len(weight), np.int64)
        self.near, self.filling, self.n_open = 0, False, -1
        self.open_after = np.arange(len(seeds) + 1)
        self.after, self.before = np.empty((2, len(group_of) + 1), np.int64)


def clump(
    k: cython.longlong,
    r: cython.longlong,
    ahead: cython.longlong,
    increase: cython.bint,
    limit: cython.longlong,
    clumps: Clumps,
) -> int:
    """Put rows that are in no group (-1) into one, up to a number of rows; return how many were."""
    n_rows: cython.Py_ssize_t = clumps.group_of.shape[0]
    group: cython.Py_ssize_t
    row: cython.Py_ssize_t
    done: cython.longlong = 0
    with cython.nogil:
        if clumps.n_open < 0:
            _begin(k, clumps)
        row = clumps.after[n_rows]
        while row < n_rows and done < limit:
            while clumps.near < clumps.seeds.shape[0] and clumps.seeds[clumps.near] < row:
                clumps.near += 1  # the turns come in ascending order
            _scatter(row, clumps)
            group = _nearest(clumps.near, min(r, clumps.n_open), increase, clumps.lengths[row], clumps)
            _clear(row, clumps)
            if clumps.filling and ahead > 0:
                row = _best_row(row, ahead, group, clumps)
            _insert(row, group, clumps)
            clumps.group_of[row] = group
            clumps.after[clumps.before[row]] = clumps.after[row]
            clumps.before[clumps.after[row]] = clumps.before[row]
            if clumps.filling and clumps.size[group] == k:
                clumps.open_after[group] = group + 1
                clumps.n_open -= 1
                if clumps.n_open == 0:
                    clumps.filling = False
                    clumps.n_open = _open_all(clumps)
            done += 1
            row = clumps.after[n_rows]
    return done


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin(k: cython.longlong, clumps: Clumps) -> cython.void:
    _count_saved(clumps)
    _list_unplaced(clumps)
    clumps.n_open = _open_small(k, clumps)
    clumps.filling = clumps.n_open > 0
    if not clumps.filling:
        clumps.n_open = _open_all(clumps)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_saved(clumps: Clumps) -> cython.void:
    for group in range(clumps.seeds.shape[0]):
        for place in range(clumps.starts[clumps.seeds[group]], clumps.ends[group]):
            clumps.saved[group] += clumps.counts[place] * clumps.weight[clumps.nodes[place]]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _open_small(k: cython.longlong, clumps: Clumps) -> cython.longlong:
    """Let the groups that have fewer than k rows be examined; return how many there are."""
    n_open: cython.longlong = 0
    group: cython.Py_ssize_t
    for group in range(clumps.seeds.shape[0] - 1, -1, -1):
        if clumps.size[group] < k:
            n_open += 1
        else:
            clumps.open_after[group] = clumps.open_after[group + 1]
    return n_open


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _open_all(clumps: Clumps) -> cython.longlong:
    """Let all groups be examined; return how many there are."""
    for group in range(clumps.open_after.shape[0]):
        clumps.open_after[group] = group
    return clumps.seeds.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_unplaced(clumps: Clumps) -> cython.void:
    """Link the rows without a group."""
    n_rows: cython.Py_ssize_t = clumps.group_of.shape[0]
    last: cython.Py_ssize_t = n_rows
    for row in range(n_rows):
        if clumps.group_of[row] < 0:
            clumps.after[last] = row
            clumps.before[row] = last
            last = row
    clumps.after[last] = n_rows
    clumps.before[n_rows] = last


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _scatter(row: cython.Py_ssize_t, clumps: Clumps) -> cython.void:
    for place in range(clumps.starts[row], clumps.starts[row + 1]):
        clumps.have[clumps.nodes[place]] = clumps.counts[place]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clear(row: cython.Py_ssize_t, clumps: Clumps) -> cython.void:
    for place in range(clumps.starts[row], clumps.starts[row + 1]):
        clumps.have[clumps.nodes[place]] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find(group: cython.Py_ssize_t, clumps: Clumps) -> cython.Py_ssize_t:
    """The first group from there on that may be examined; paths are halved on the way."""
    while clumps.open_after[group] != group:
        clumps.open_after[group] = clumps.open_after[clumps.open_after[group]]
        group = clumps.open_after[group]
    return group


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _common(start: cython.Py_ssize_t, end: cython.Py_ssize_t, clumps: Clumps) -> cython.longlong:
    """What is saved by the nodes that both sides have."""
    total: cython.longlong = 0
    for place in range(start, end):
        node = clumps.nodes[place]
        count: cython.longlong = clumps.counts[place]
        total += min(count, clumps.have[node]) * clumps.weight[node]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _nearest(
    near: cython.Py_ssize_t,
    examined: cython.longlong,
    increase: cython.bint,
    added: cython.longlong,
    clumps: Clumps,
) -> cython.Py_ssize_t:
    """Of the groups from a place on, in a ring, the one that a row distorts least; then: the first."""
    best: cython.Py_ssize_t = -1
    least: cython.longlong = 0
    group: cython.Py_ssize_t = near
    for _ in range(examined):
        group = _find(group, clumps)
        if group == clumps.seeds.shape[0]:
            group = _find(0, clumps)
        common: cython.longlong = _common(clumps.starts[clumps.seeds[group]], clumps.ends[group], clumps)
        score: cython.longlong = clumps.scale * (clumps.length[group] + added)
        score -= (clumps.size[group] + 1) * common
        if increase:
            score -= clumps.scale * clumps.length[group] - clumps.size[group] * clumps.saved[group]
        if best < 0 or score < least or (score == least and group < best):
            best, least = group, score
        group += 1
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_row(
    row: cython.Py_ssize_t, ahead: cython.longlong, group: cython.Py_ssize_t, clumps: Clumps
) -> cython.Py_ssize_t:
    """Of a row and the next ones without a group, the one that distorts the group least; then: the first."""
    first: cython.Py_ssize_t = clumps.starts[clumps.seeds[group]]
    for place in range(first, clumps.ends[group]):
        clumps.have[clumps.nodes[place]] = clumps.counts[place]
    best: cython.Py_ssize_t = -1
    least: cython.longlong = 0
    other: cython.Py_ssize_t = row
    for _ in range(ahead + 1):
        if other == clumps.lengths.shape[0]:
            break
        common: cython.longlong = _common(clumps.starts[other], clumps.starts[other + 1], clumps)
        score: cython.longlong = clumps.scale * clumps.lengths[other] - (clumps.size[group] + 1) * common
        if best < 0 or score < least:
            best, least = other, score
        other = clumps.after[other]
    for place in range(first, clumps.ends[group]):
        clumps.have[clumps.nodes[place]] = 0
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _insert(row: cython.Py_ssize_t, group: cython.Py_ssize_t, clumps: Clumps) -> cython.void:
    """Put a row into a group, which keeps what it has in common with it."""
    start: cython.Py_ssize_t = clumps.starts[clumps.seeds[group]]
    end: cython.Py_ssize_t = start
    saved: cython.longlong = 0
    _scatter(row, clumps)
    for place in range(start, clumps.ends[group]):
        node = clumps.nodes[place]
        own: cython.longlong = clumps.counts[place]
        count: cython.longlong = min(own, clumps.have[node])
        if count:
            clumps.nodes[end], clumps.counts[end] = node, cython.cast(cython.int, count)
            saved += count * clumps.weight[node]
            end += 1
    clumps.ends[group], clumps.saved[group] = end, saved
    _clear(row, clumps)
    clumps.size[group] += 1
    clumps.length[group] += clumps.lengths[row]


def assign(
    group_of: Number[::1],
    offsets: Number[::1],
    leaves: Code[::1],
    parent: Code[::1],
    starts: Number[::1],
    nodes: Code[::1],
    counts: cython.int[::1],
    seeds: Number[::1],
    ends: Number[::1],
) -> NDArray[np.int32]:
    """The node of each occurrence in its group's bag, -1 where it is left over.

    Bottom up, each node takes the first occurrences below it that none has taken. Counts of groups are
    changed: they are those of items that no node below takes.
    """
    place_of: cython.longlong[::1] = np.zeros(len(parent), np.int64)
    result = np.full(len(leaves), -1, np.int32)
    became: cython.int[::1] = result
    group: cython.Py_ssize_t
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    at: cython.Py_ssize_t
    wanted: cython.int
    with cython.nogil:
        for group in range(seeds.shape[0]):
            for place in range(starts[seeds[group]], ends[group]):
                place_of[nodes[place]] = place
                if nodes[place]:
                    counts[place_of[parent[nodes[place]]]] -= counts[place]
        for row in range(group_of.shape[0]):
            group = group_of[row]
            for place in range(ends[group] - 1, starts[seeds[group]] - 1, -1):
                node = nodes[place]
                wanted = counts[place]
                at = offsets[row]
                while wanted > 0:
                    if leaves[at] >= node and became[at] < 0:
                        became[at] = node
                        wanted -= 1
                    at += 1
    return result
