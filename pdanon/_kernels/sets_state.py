"""The state of a refinement: clusters, what they are counted in, and how one item moves.

Clusters have numbers below the number of slots; some are empty. A state is safe if nothing that it counts is
rare, that is, has a support in (0, k). How much is lacking is kept current, ``lack``: so several moves can
be made one after the other, of which only the last has to lead to a safe state.

What the attributes are is said in ``sets_state.pxd``. Numbers of rows are below 2**31.
"""

from math import comb
from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Number
from numpy.typing import NDArray

__all__ = ["Rows", "Space", "State", "count", "relocate", "wake"]

Array = NDArray[Any]


@cython.final
@cython.cclass
class Rows:
    """Distinct transactions."""

    def __init__(self, *, codes: Array, offsets: Array, weights: Array, starts: Array, tids: Array) -> None:
        self.codes, self.offsets, self.weights = codes, offsets, weights
        self.starts, self.tids = starts, tids


@cython.final
@cython.cclass
class State:
    """Clusters and supports, of which nothing is counted yet; what is not to be counted has no entries."""

    def __init__(
        self,
        *,
        k: int,
        largest: int,
        loss: int,
        top: int,
        label: Array,
        size: Array,
        held: Array,
        home: Array,
        singles: Array,
        worth: Array,
        block: Array,
        itemsets: Array,
        bounds: Array,
        words: int,
    ) -> None:
        n, slots = len(label), len(size)
        self.k, self.largest, self.loss = k, largest, loss
        self.top, self.lack = top, 0
        self.label, self.size, self.held, self.home = label, size, held, home
        self.singles, self.worth, self.block = singles, worth, block
        self.itemsets, self.bounds = itemsets, bounds
        self.support = np.zeros(slots, np.int64)
        self.co = np.zeros((slots if largest >= 2 else 0, slots), np.int32)
        self.cube = np.zeros(comb(slots, 3) if largest == 3 else 0, np.int32)
        self.asleep, self.tried = np.zeros(n, np.uint8), np.zeros(slots, np.uint8)
        self.clock, self.since, self.stuck = 1, np.zeros(slots, np.int64), np.zeros(n, np.int64)
        self.stuck_by = np.zeros((n, 2), np.int64)
        self.met = np.zeros(len(bounds) - 1, np.int64)
        self.bits = np.zeros((slots if words else 0, words), np.uint64)


@cython.final
@cython.cclass
class Space:
    """Work space.

    ``beside``, ``alone``, ``place``, ``joint``, ``lone`` and ``shares`` are 0 between two steps.
    """

    def __init__(self, *, n: int, slots: int, largest: int, words: int) -> None:
        side = slots if largest == 3 else 0
        self.beside, self.alone, self.touched, self.place = np.zeros((4, slots), np.int64)
        self.stamp, self.near, self.few, self.broken = np.zeros((4, slots), np.int64)
        self.gains = np.zeros(slots)
        self.token = 0
        self.joint, self.lone = np.zeros((2, side, side), np.int32)
        self.pairs, self.few_pairs, self.broken_pairs = np.zeros((3, comb(side, 2), 2), np.int32)
        self.members = np.zeros(n, np.int64)
        self.shares = np.zeros((9, slots), np.int64)
        self.refused = np.zeros(slots, np.uint8)
        self.brought, self.left = np.zeros((2, 2, words), np.uint64)


def spot(a: cython.longlong, b: cython.longlong, c: cython.longlong) -> cython.longlong:
    """Where in ``cube`` three different clusters are."""
    low: cython.longlong = min(a, b, c)
    high: cython.longlong = max(a, b, c)
    middle: cython.longlong = a + b + c - low - high
    return high * (high - 1) * (high - 2) // 6 + middle * (middle - 1) // 2 + low


def clusters_beside(
    x: cython.longlong, row: cython.longlong, state: State, rows: Rows, space: Space
) -> cython.longlong:
    """List in ``near`` the clusters of the other items of a row, and return their number."""
    n: cython.longlong = 0
    space.token += 1
    now: cython.longlong = space.token
    for position in range(rows.offsets[row], rows.offsets[row + 1]):
        item = rows.codes[position]
        cluster = state.label[item]
        if item != x and cluster >= 0 and space.stamp[cluster] != now:
            space.stamp[cluster] = now
            space.near[n] = cluster
            n += 1
    return n


def first_empty(state: State) -> cython.longlong:
    """The first empty cluster, -1 if there is none."""
    for cluster in range(min(state.top + 1, state.size.shape[0])):
        if state.size[cluster] == 0:
            return cluster
    return -1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _lack(support: cython.longlong, k: cython.longlong) -> cython.longlong:
    return k - support if 0 < support < k else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(
    c: cython.longlong, weight: cython.longlong, n: cython.longlong, state: State, space: Space
) -> cython.void:
    """Add transactions to what a cluster is counted in together with the first n others in ``near``."""
    k: cython.longlong = state.k
    short: cython.longlong = 0
    old: cython.longlong
    i: cython.longlong
    if state.largest:
        short = _lack(state.support[c] + weight, k) - _lack(state.support[c], k)
    state.support[c] += weight
    for i in range(n if state.largest >= 2 else 0):
        d = space.near[i]
        old = state.co[c, d]
        short += _lack(old + weight, k) - _lack(old, k)
        state.co[c, d] = state.co[d, c] = cython.cast(cython.int, old + weight)
        for j in range(i if state.largest == 3 else 0):
            at = spot(c, d, space.near[j])
            old = state.cube[at]
            short += _lack(old + weight, k) - _lack(old, k)
            state.cube[at] = cython.cast(cython.int, old + weight)
    state.lack += short


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _flip(cluster: cython.longlong, row: cython.longlong, state: State) -> cython.void:
    state.bits[cluster, row >> 6] ^= cython.cast(cython.ulonglong, 1) << (row & 63)


def weigh(
    word: cython.ulonglong, row: cython.longlong, enough: cython.longlong, rows: Rows
) -> cython.longlong:
    """Transactions of the rows that a word marks, from the given one on, counted until there are enough."""
    total: cython.longlong = 0
    while word and total < enough:
        if word & 1:
            total += rows.weights[row]
        word >>= 1
        row += 1
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _recount(constraint: cython.longlong, state: State, rows: Rows) -> cython.void:
    """Count the support of the image of a constraint again, up to k."""
    k: cython.longlong = state.k
    total: cython.longlong = 0
    constraint_end: cython.longlong = state.bounds[constraint + 1]
    word: cython.ulonglong
    i: cython.longlong
    published: cython.bint = False
    for position in range(state.bounds[constraint], constraint_end):
        if state.label[state.itemsets[position]] >= 0:
            published = True
    for i in range(state.bits.shape[1] if published else 0):
        word = ~cython.cast(cython.ulonglong, 0)
        for position in range(state.bounds[constraint], constraint_end):
            cluster = state.label[state.itemsets[position]]
            if cluster >= 0:
                word &= state.bits[cluster, i]
        total += weigh(word, 64 * i, k - total, rows)
        if total >= k:
            break
    total = min(total, k)
    state.lack += _lack(total, k) - _lack(state.met[constraint], k)
    state.met[constraint] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _recount_touched(
    x: cython.longlong, a: cython.longlong, b: cython.longlong, state: State, rows: Rows
) -> cython.void:
    """Count again the constraints that hold an item, or that two clusters stand for."""
    constraint: cython.longlong
    for constraint in range(state.met.shape[0]):
        for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
            item = state.itemsets[position]
            cluster = state.label[item]
            if item == x or (cluster >= 0 and cluster in (a, b)):
                _recount(constraint, state, rows)
                break


def move_to(x: cython.longlong, b: cython.longlong, state: State, rows: Rows, space: Space) -> cython.void:
    """Move an item to cluster b, which may be empty; -1 suppresses it."""
    constrained: cython.bint = state.largest == 0
    a: cython.longlong = state.label[x]
    row: cython.longlong
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        n = clusters_beside(x, row, state, rows, space)
        if a >= 0 and space.stamp[a] != space.token:
            _count(a, -rows.weights[row], n, state, space)
            if constrained:
                _flip(a, row, state)
        if b >= 0 and space.stamp[b] != space.token:
            _count(b, rows.weights[row], n, state, space)
            if constrained:
                _flip(b, row, state)
    if a >= 0:
        state.size[a] -= 1
        state.held[a] -= state.worth[x]
    if b >= 0:
        state.size[b] += 1
        state.held[b] += state.worth[x]
        state.home[b] = state.block[x]
        state.top = max(state.top, b + 1)
    state.label[x] = b
    if constrained:
        _recount_touched(x, a, b, state, rows)


def changed(cluster: cython.longlong, state: State) -> cython.void:
    """Wake the members of a cluster, so that they are looked at again."""
    if cluster >= 0:
        state.clock += 1
        state.since[cluster] = state.clock
        state.tried[cluster] = False
        for x in range(state.label.shape[0]):
            if state.label[x] == cluster:
                state.asleep[x] = False


def wake(state: State) -> None:
    """Wake all items and clusters, so that they are looked at again."""
    state.asleep[:] = 0
    state.tried[:] = 0


def relocate(labels: Number[::1], state: State, rows: Rows, space: Space) -> None:
    """Move every item to where the labels say."""
    with cython.nogil:
        for x in range(labels.shape[0]):
            if labels[x] != state.label[x]:
                move_to(x, labels[x], state, rows, space)
    state.clock += 1
    state.since[:] = state.clock
    wake(state)


def count(begin: cython.longlong, end: cython.longlong, state: State, rows: Rows, space: Space) -> None:
    """Count the supports of some rows, to begin with; labels, sizes and what clusters hold are there."""
    row: cython.longlong
    with cython.nogil:
        for row in range(begin, end):
            n = clusters_beside(-1, row, state, rows, space)
            # Each cluster counts with those before it, so that every pair and every triple counts once.
            for i in range(n):
                _count(space.near[i], rows.weights[row], i, state, space)
                if state.largest == 0:
                    _flip(space.near[i], row, state)


def count_constraints(state: State, rows: Rows) -> None:
    """Count the supports of all constraints, when those of rows are counted."""
    constraint: cython.longlong
    with cython.nogil:
        for constraint in range(state.met.shape[0]):
            _recount(constraint, state, rows)
