"""Moves of a refinement: clusters, their supports and losses, and the best safe move of each item.

Clusters have numbers below the number of slots; some are empty. A state is safe if no support that it counts
is rare, that is, in (0, k). ``lack`` is the missing support. A search only makes moves that keep a safe state
safe; an annealing may pass through others.

A move from a safe state can only make two kinds of support rare: those of the cluster that an item leaves,
and those with a cluster that its new cluster shared no row with before. The checks visit the clusters, or
pairs of clusters, in the rows of the item. If more items may be known, a move that passes them is checked by
``rare_clusters``.

``set_moves.pxd`` documents the attributes. Numbers of rows are below 2**31.
"""

from math import comb
from typing import Any

import numpy as np
from cython import (
    bint,
    cast,
    cclass,
    cfunc,
    double as float64,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    ulonglong as uint64,
    void,
)
from cython.cimports.libc.math import ldexp, log2
from cython.cimports.pdanon._kernels.counting import Code, Numbers, Rows, int64s, weigh
from cython.cimports.pdanon._kernels.odds import cluster_cost
from cython.cimports.pdanon._kernels.rare_clusters import LargerItemsets
from cython.cimports.pdanon._kernels.set_moves import (
    clusters_beside,
    contains,
    contains_member,
    distance,
    distance_with,
    first_empty,
    lacking,
    span_without,
    spot,
)
from numpy.typing import NDArray

__all__ = ["Space", "State", "count", "count_constraints", "descend", "relocate", "wake"]

Array = NDArray[Any]


# --- The state


@cclass
class State:
    """Clusters and supports, all 0 until they are counted."""

    # A support that the guarantee does not need has an empty array.

    def __init__(
        self,
        *,
        k: int,
        largest: int,
        loss: int,
        change: float,
        label: Array,
        slots: int,
        singles: Array,
        worth: Array,
        block: Array,
        itemsets: Array,
        bounds: Array,
        words: int,
        mass: Array | None = None,
        square: Array | None = None,
        near: float = 0.0,
        rank: Array | None = None,
        path: Array | None = None,
    ) -> None:
        n, kept = len(label), np.flatnonzero(label >= 0)
        self.k, self.largest, self.loss, self.change = k, largest, loss, change
        self.label, self.top, self.lack = label.copy(), int(label.max(initial=-1)) + 1, 0
        self.singles, self.worth, self.block = singles, worth, block
        self.itemsets, self.bounds = itemsets, bounds
        mass = np.ones(n, np.int64) if mass is None else mass
        square = worth.astype(np.float64) ** 2 if square is None else square
        self.mass, self.square, self.n_members = mass, square, int(mass.sum())
        size, held, home = np.zeros((3, slots), np.int64)
        np.add.at(size, label[kept], mass[kept])
        np.add.at(held, label[kept], worth[kept])
        home[label[kept]] = block[kept]
        self.size, self.held, self.home = size, held, home
        self.squares = np.bincount(label[kept], square[kept], minlength=slots).astype(np.float64)
        self.support = np.zeros(slots, np.int64)
        self.co = np.zeros((slots if largest >= 2 else 0, slots), np.int32)
        self.cube = np.zeros(comb(slots, 3) if largest == 3 else 0, np.int32)
        self.asleep = np.zeros(n, np.uint8)
        self.met = np.zeros(len(bounds) - 1, np.int64)
        self.bits = np.zeros((slots if words else 0, words), np.uint64)
        self.near, self.rank = near, np.zeros(n, np.int64) if rank is None else rank
        self.path = np.zeros((1, 0), np.int32) if path is None else path
        lowest, highest = np.full(slots, n), np.full(slots, -1)
        np.minimum.at(lowest, label[kept], np.asarray(self.rank)[kept])
        np.maximum.at(highest, label[kept], np.asarray(self.rank)[kept])
        self.lowest, self.highest = lowest, highest

    def grow(self, slots: int) -> None:
        """Make room for more clusters, without triples of them."""
        more, pairs = slots - len(self.size), len(self.co)
        self.size, self.held, self.home = np.pad((self.size, self.held, self.home), ((0, 0), (0, more)))
        self.support, self.squares = np.pad(self.support, (0, more)), np.pad(self.squares, (0, more))
        self.lowest, self.highest = np.pad((self.lowest, self.highest), ((0, 0), (0, more)))
        co = np.zeros((slots if pairs else 0, slots), np.int32)
        co[:pairs, :pairs] = np.asarray(self.co)[:, :pairs]
        self.co, self.bits = co, np.pad(self.bits, ((0, more if len(self.bits) else 0), (0, 0)))


@final
@cclass
class Space:
    """Work space."""

    # ``beside``, ``alone``, ``place``, ``joint`` and ``lone`` are 0 between two steps. ``larger`` is needed
    # if more items may be known than the state counts.

    def __init__(self, *, slots: int, largest: int, words: int, larger: LargerItemsets | None = None) -> None:
        self.larger = larger
        side = slots if largest == 3 else 0
        self.beside, self.alone, self.touched, self.place = np.zeros((4, slots), np.int64)
        self.stamp, self.near, self.few, self.broken = np.zeros((4, slots), np.int64)
        self.gains = np.zeros(slots)
        self.token = 0
        self.joint, self.lone = np.zeros((2, side, side), np.int32)
        self.pairs, self.few_pairs, self.broken_pairs = np.zeros((3, comb(side, 2), 2), np.int32)
        self.refused = np.zeros(slots, np.uint8)
        self.brought, self.left = np.zeros((2, words), np.uint64)


@cfunc
@nogil
@exceptval(check=False)
def _count(c: int64, weight: int64, n: int64, state: State, space: Space) -> void:
    """Add a row to the supports of a cluster, alone and with the first n others in ``near``."""
    k = state.k
    short = 0
    old: int64
    if state.largest:
        short = lacking(state.support[c] + weight, k) - lacking(state.support[c], k)
    state.support[c] += weight
    for i in range(n if state.largest >= 2 else 0):
        d = space.near[i]
        old = state.co[c, d]
        short += lacking(old + weight, k) - lacking(old, k)
        state.co[c, d] = state.co[d, c] = old + weight
        for j in range(i if state.largest == 3 else 0):
            at = spot(c, d, space.near[j])
            old = state.cube[at]
            short += lacking(old + weight, k) - lacking(old, k)
            state.cube[at] = old + weight
    state.lack += short


@cfunc
@inline
@nogil
@exceptval(check=False)
def _flip(cluster: int64, row: int64, state: State) -> void:
    """Flip the bit of a row in the rows of a cluster."""
    state.bits[cluster, row >> 6] ^= cast(uint64, 1) << (row & 63)


@cfunc
@nogil
@exceptval(check=False)
def _recount(constraint: int64, state: State, rows: Rows, space: Space) -> void:
    """Count the support of the image of a constraint again, up to k."""
    now = support_after(constraint, -1, -1, state, rows, space)
    state.lack += lacking(now, state.k) - lacking(state.met[constraint], state.k)
    state.met[constraint] = now


def recount_constraints(x: int64, a: int64, b: int64, state: State, rows: Rows, space: Space) -> void:
    """Count each constraint again that contains x, or an item of cluster a or b."""
    for constraint in range(state.met.shape[0]):
        for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
            item = state.itemsets[position]
            cluster = state.label[item]
            if item == x or (cluster >= 0 and cluster in (a, b)):
                _recount(constraint, state, rows, space)
                break


def enter(x: int64, b: int64, state: State) -> void:
    """Note that an item is in cluster b; no support changes."""
    a = state.label[x]
    if a >= 0:
        span_without(x, state)
        state.lowest[a], state.highest[a] = state.rest_from, state.rest_to
        state.size[a] -= state.mass[x]
        state.held[a] -= state.worth[x]
        state.squares[a] -= state.square[x]
    if b >= 0:
        is_first: bint = state.size[b] == 0
        state.lowest[b] = state.rank[x] if is_first else min(state.lowest[b], state.rank[x])
        state.highest[b] = state.rank[x] if is_first else max(state.highest[b], state.rank[x])
        state.size[b] += state.mass[x]
        state.held[b] += state.worth[x]
        state.squares[b] += state.square[x]
        state.home[b] = state.block[x]
        state.top = max(state.top, b + 1)
    state.label[x] = b


def move_to(x: int64, b: int64, state: State, rows: Rows, space: Space) -> void:
    """Move an item to cluster b, which may be empty; -1 suppresses the item."""
    constrained: bint = state.largest == 0
    a = state.label[x]
    row: int64
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        n = clusters_beside(x, row, state.label, rows, space)
        if a >= 0 and space.stamp[a] != space.token:
            _count(a, -rows.weights[row], n, state, space)
            if constrained:
                _flip(a, row, state)
        if b >= 0 and space.stamp[b] != space.token:
            _count(b, rows.weights[row], n, state, space)
            if constrained:
                _flip(b, row, state)
    enter(x, b, state)
    if constrained:
        recount_constraints(x, a, b, state, rows, space)


@cfunc
@nogil
@exceptval(check=False)
def _changed(cluster: int64, state: State) -> void:
    """Wake the members of a cluster that has changed."""
    if cluster >= 0:
        for x in range(state.label.shape[0]):
            if state.label[x] == cluster:
                state.asleep[x] = False


def wake(state: State) -> None:
    """Wake all items."""
    state.asleep[:] = 0


def relocate(labels: Numbers, state: State, rows: Rows, space: Space) -> None:
    """Move each item to the cluster given by ``labels``, and wake all."""
    with nogil:
        for x in range(labels.shape[0]):
            if labels[x] != state.label[x]:
                move_to(x, labels[x], state, rows, space)
    wake(state)


def count(begin: int64, end: int64, state: State, rows: Rows, space: Space) -> None:
    """Count the supports of the rows from ``begin`` to ``end`` for the first time."""
    # Labels, sizes and the worth of clusters are already set.
    with nogil:
        for row in range(begin, end):
            n = clusters_beside(-1, row, state.label, rows, space)
            # Each cluster counts with those before it, so each pair and each triple counts once.
            for i in range(n):
                _count(space.near[i], rows.weights[row], i, state, space)
                if state.largest == 0:
                    _flip(space.near[i], row, state)


def count_constraints(state: State, rows: Rows, space: Space) -> None:
    """Count the supports of all constraints; needs the rows of all clusters."""
    with nogil:
        for constraint in range(state.met.shape[0]):
            _recount(constraint, state, rows, space)


# --- Constraints: find those that become rare when an item moves
#
# The check moves no item. The rows of the clusters are bits, as are the rows of the item and those of its
# cluster without it. A move can make only three kinds of constraint rare: those that contain the item, those
# that contain another item of its cluster, and those with support 0.


def mark_rows(x: int64, state: State, rows: Rows, space: Space) -> void:
    """Mark the rows of an item, and the rows of its cluster without it."""
    a = state.label[x]
    for i in range(state.bits.shape[1]):
        space.brought[i] = 0
        space.left[i] = state.bits[a, i] if a >= 0 else 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row: int64 = rows.tids[slot]
        bit = cast(uint64, 1) << (row & 63)
        space.brought[row >> 6] |= bit
        for position in range(rows.offsets[row], rows.offsets[row + 1]):
            y = rows.codes[position]
            if y != x and state.label[y] == a:
                break
        else:
            space.left[row >> 6] &= ~bit


def support_after(constraint: int64, x: int64, b: int64, state: State, rows: Rows, space: Space) -> int64:
    """Count the support of the image of a constraint, up to k, after a move of item x to cluster b."""
    # The rows of x are marked. -1 for b is a new cluster. -1 for x leaves all items where they are. A
    # constraint without a published item has support 0.
    a = state.label[x] if x >= 0 else -1
    total = 0
    n: int64 = 0
    leaves: bint = False
    joins: bint = False
    word: uint64
    space.token += 1
    for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
        c = state.label[state.itemsets[position]]
        if state.itemsets[position] == x or (c >= 0 and c == b):
            joins = True
        elif c >= 0 and c == a:
            leaves = True
        elif c >= 0 and space.stamp[c] != space.token:
            space.stamp[c] = space.token
            space.near[n] = c
            n += 1
    for i in range(state.bits.shape[1] if n or leaves or joins else 0):
        word = ~cast(uint64, 0)
        if leaves:
            word = space.left[i]
        if joins:
            word &= space.brought[i] | (state.bits[b, i] if b >= 0 else 0)
        for j in range(n):
            word &= state.bits[space.near[j], i]
        if word:
            total += weigh(word, 64 * i, state.k - total, rows)
            if total >= state.k:
                return state.k
    return total


@cfunc
@nogil
@exceptval(check=False)
def _refuse(x: int64, state: State, rows: Rows, space: Space) -> void:
    """Mark in ``refused`` the clusters that x cannot move to."""
    # A move needs a gain, and must not make a constraint rare.
    a = state.label[x]
    empty = first_empty(state.top, state.size)
    n = min(state.top + 1, state.size.shape[0])
    for b in range(n):  # `_fill_gains` computes none for further slots
        space.refused[b] = space.gains[b] <= 0.0 or b == a or (state.size[b] == 0 and b != empty)
    mark_rows(x, state, rows, space)
    k = state.k
    for constraint in range(state.met.shape[0]):
        if contains(x, constraint, state):
            for b in range(n):
                if not space.refused[b]:
                    space.refused[b] = 0 < support_after(constraint, x, b, state, rows, space) < k
            continue
        holds_a: bint = a >= 0 and contains_member(a, constraint, state)
        if not holds_a and state.met[constraint]:
            continue
        if holds_a and 0 < support_after(constraint, x, -1, state, rows, space) < k:
            for b in range(n):
                space.refused[b] = space.refused[b] or not contains_member(b, constraint, state)
        for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
            b = state.label[state.itemsets[position]]
            if b >= 0 and not space.refused[b]:
                space.refused[b] = 0 < support_after(constraint, x, b, state, rows, space) < k


# --- Losses of clusters, and counts that decide whether a move is safe


@cfunc
@inline
@nogil
@exceptval(check=False)
def _power_of_two(exponent: int64) -> float64:
    """Return a power of two exactly, or 0 for an exponent of -1024 or less."""
    return ldexp(1.0, cast(int32, exponent)) if exponent > -1024 else 0.0


@cfunc
@nogil
@exceptval(check=False)
def _price(size: int64, held: int64, squares: float64, support: int64, scale: int64, state: State) -> float64:
    """Return the loss of a cluster; UL is divided by ``2**scale``."""
    if state.loss == 2:
        return (_power_of_two(size - scale) - _power_of_two(-scale)) * support
    return cluster_cost(size, held, squares, state.change)


def price_of(c: int64, scale: int64, state: State) -> float64:
    """Return the loss of a cluster as it is; UL is divided by ``2**scale``."""
    cost = _price(state.size[c], state.held[c], state.squares[c], state.support[c], scale, state)
    if state.near > 0 and state.size[c] > 1:
        cost += state.held[c] * distance(state.lowest[c], state.highest[c], state)
    return cost


def tally(x: int64, label: int64s, rows: Rows, space: Space) -> tuple[int64, int64]:
    """Count the clusters in the rows of x; return how many it touches, and what its own loses without x."""
    # ``beside``, ``alone``, ``touched`` and ``place`` have the counts.
    a = label[x]
    n_touched: int64 = 0
    lost = 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        weight = rows.weights[row]
        n = clusters_beside(x, row, label, rows, space)
        leaves: bint = a >= 0 and space.stamp[a] != space.token
        if leaves:
            lost += weight
        for i in range(n):
            cluster = space.near[i]
            if space.place[cluster] == 0:
                space.touched[n_touched] = cluster
                n_touched += 1
                space.place[cluster] = n_touched
            space.beside[cluster] += weight
            if leaves:
                space.alone[cluster] += weight
    return n_touched, lost


def tally_pairs(x: int64, label: int64s, rows: Rows, space: Space) -> int64:
    """Count the pairs of clusters in the rows of x, in ``joint`` and ``lone``; return their number."""
    a = label[x]
    n_pairs: int64 = 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        weight: int32 = rows.weights[row]
        n = clusters_beside(x, row, label, rows, space)
        leaves: bint = a >= 0 and space.stamp[a] != space.token
        for i in range(n):
            here = space.place[space.near[i]] - 1
            for j in range(i):
                there = space.place[space.near[j]] - 1
                high, low = max(here, there), min(here, there)
                if space.joint[high, low] == 0:
                    space.pairs[n_pairs, 0] = high
                    space.pairs[n_pairs, 1] = low
                    n_pairs += 1
                space.joint[high, low] += weight
                if leaves:
                    space.lone[high, low] += weight
    return n_pairs


def clear(n_touched: int64, n_pairs: int64, space: Space) -> void:
    """Reset the counts of ``tally`` and ``tally_pairs``."""
    for i in range(n_touched):
        cluster = space.touched[i]
        space.beside[cluster] = space.alone[cluster] = space.place[cluster] = 0
    for i in range(n_pairs):
        high, low = space.pairs[i, 0], space.pairs[i, 1]
        space.joint[high, low] = space.lone[high, low] = 0


@cfunc
@nogil
@exceptval(check=False)
def _list_pairs(a: int64, n_pairs: int64, state: State, space: Space) -> tuple[int64, int64]:
    """List the pairs of clusters that a move of the item can make rare; return the length of both lists."""
    # ``few_pairs`` has those in fewer than k rows of the item, ``broken_pairs`` those that become rare with
    # cluster a when the item leaves it.
    n_few: int64 = 0
    n_broken: int64 = 0
    for i in range(n_pairs):
        high, low = space.pairs[i, 0], space.pairs[i, 1]
        c, d = space.touched[high], space.touched[low]
        if c == a or d == a:
            continue
        if space.joint[high, low] < state.k:
            _write_pair(c, d, n_few, space.few_pairs)
            n_few += 1
        lone: int64 = space.lone[high, low]
        if lone and 0 < state.cube[spot(a, c, d)] - lone < state.k:
            _write_pair(c, d, n_broken, space.broken_pairs)
            n_broken += 1
    return n_few, n_broken


@cfunc
@inline
@nogil
@exceptval(check=False)
def _write_pair(c: int64, d: int64, i: int64, pairs: int32[:, ::1]) -> void:
    pairs[i, 0], pairs[i, 1] = c, d


@cfunc
@nogil
@exceptval(check=False)
def _fill_gains(x: int64, lost: int64, state: State, space: Space) -> void:
    """Compute the gain of a move of x to each cluster; 0 if there is none."""
    # The values of UL differ by orders of magnitude. So its gain is the logarithm, plus a constant that makes
    # it positive. A gain within the rounding error counts as 0.
    a = state.label[x]
    n = state.n_members
    loss: int64 = state.loss
    worth = state.worth[x]
    singles = state.singles[x]
    scale = 0
    mass = state.mass[x]
    square = state.square[x]
    rest = 0.0
    if a >= 0 and state.near > 0:
        span_without(x, state)
        rest = distance(state.rest_from, state.rest_to, state)
    for b in range(min(state.top + 1, state.size.shape[0])):
        size = state.size[b]
        if loss == 2:
            scale = max(size + mass, state.size[a] if a >= 0 else n)
        before = price_of(b, scale, state)
        together = state.support[b] + singles - space.beside[b]
        after = _price(size + mass, state.held[b] + worth, state.squares[b] + square, together, scale, state)
        after += (state.held[b] + worth) * distance_with(b, x, state)
        if a >= 0:
            left = state.support[a] - lost
            before += price_of(a, scale, state)
            after += _price(
                state.size[a] - mass, state.held[a] - worth, state.squares[a] - square, left, scale, state
            )
            after += (state.held[a] - worth) * rest
        elif loss == 2:
            before += _price(n, 0, 0.0, singles, scale, state)
        else:
            before += (n + state.change) * worth
        gain = before - after
        if loss == 2:
            gain = log2(gain) + scale + 64.0 if gain > 1e-12 * before else 0.0
        elif loss == 3 and gain <= 1e-12 * before:
            gain = 0.0
        space.gains[b] = gain


@cfunc
@nogil
@exceptval(check=False)
def _list_few(a: int64, n_touched: int64, state: State, space: Space) -> int64:
    """List in ``few`` the clusters other than a in fewer than k rows of the item; return their number."""
    n_few: int64 = 0
    for i in range(n_touched if state.largest >= 2 else 0):
        c = space.touched[i]
        if c != a and space.beside[c] < state.k:
            space.few[n_few] = c
            n_few += 1
    return n_few


@cfunc
@nogil
@exceptval(check=False)
def _list_broken(a: int64, n_touched: int64, state: State, space: Space) -> int64:
    """List in ``broken`` the clusters that become rare with a when the item leaves; return their number."""
    n: int64 = 0
    for i in range(n_touched if state.largest >= 2 and a >= 0 else 0):
        c = space.touched[i]
        if c != a and 0 < state.co[a, c] - space.alone[c] < state.k:
            space.broken[n] = c
            n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _meets_new_pair(b: int64, few: Code[:, ::1], n_few: int64, state: State) -> bint:
    """Return whether b would get a rare triple of clusters by receiving the item."""
    # ``few`` lists the pairs of clusters in fewer than k rows of the item. Such a triple is rare if it had no
    # row before.
    for i in range(n_few):
        c, d = few[i, 0], few[i, 1]
        if c != b and d != b and state.cube[spot(b, c, d)] == 0:
            return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _meets_new(b: int64, few: Numbers, n_few: int64, state: State) -> bint:
    """Return whether a cluster becomes rare with b when b receives the item."""
    # ``few`` lists the clusters in fewer than k rows of the item. Such a cluster becomes rare with b if it
    # had no row with b before.
    for i in range(n_few):
        c = few[i]
        if c != b and state.co[b, c] == 0:
            return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _leaving_keeps_larger(x: int64, state: State, space: Space) -> bint:
    """Return whether no larger itemset becomes rare when the item leaves its cluster."""
    # If one does, the item can only move to one of its clusters: ``refused`` marks all others.
    a = state.label[x]
    safe = True
    if a >= 0:
        state.label[x] = -1
        safe = space.larger.is_safe(a, x, state.label)
        state.label[x] = a
    space.refused[:] = not safe
    for i in range(0 if safe else space.larger.n_path):
        space.refused[space.larger.path[i]] = False
    return safe


@cfunc
@nogil
@exceptval(check=False)
def _joining_keeps_larger(x: int64, b: int64, leaves: bint, state: State, space: Space) -> bint:
    """Return whether no larger itemset becomes rare when the item moves to b."""
    # ``leaves`` is the result of `_leaving_keeps_larger`: if it is true, only itemsets with b need a check.
    a = state.label[x]
    state.label[x] = b
    safe = leaves or space.larger.is_safe(a, x, state.label)
    safe = safe and space.larger.is_safe(b, x, state.label)
    state.label[x] = a
    return safe


# --- The descent: items move, each to the cluster with the largest gain


@cfunc
@nogil
@exceptval(check=False)
def _move_keeps_triples(a: int64, b: int64, n_touched: int64, state: State, space: Space) -> bint:
    """Return whether no triple of a, b and a third cluster becomes rare when the item moves from a to b."""
    at_a = space.place[a] - 1
    at_b = space.place[b] - 1
    for i in range(n_touched):
        c = space.touched[i]
        if c in (a, b):
            continue
        change: int64 = space.joint[max(i, at_a), min(i, at_a)] if at_a >= 0 else 0
        if at_b >= 0:
            change -= space.joint[max(i, at_b), min(i, at_b)]
        if 0 < state.cube[spot(a, b, c)] + change < state.k:
            return False
    return True


@cfunc
@nogil
@exceptval(check=False)
def _is_in_each_pair(b: int64, n_broken: int64, space: Space) -> bint:
    """Return whether b is in each pair of clusters that becomes rare with the item's own cluster."""
    for i in range(n_broken):
        if space.broken_pairs[i, 0] != b and space.broken_pairs[i, 1] != b:
            return False
    return True


@cfunc
@nogil
@exceptval(check=False)
def _best_target(x: int64, state: State, rows: Rows, space: Space) -> int64:
    """Find the cluster with the largest gain that an item can safely move to; return -1 if there is none."""
    # Of equal gains the cluster with the lowest number wins, and an empty cluster comes last.
    a = state.label[x]
    if a >= 0 and state.size[a] == state.mass[x]:
        return -1
    n_touched, lost = tally(x, state.label, rows, space)
    # If a cluster becomes rare with a when the item leaves, only that cluster may receive the item.
    n_broken = _list_broken(a, n_touched, state, space)
    n_few = _list_few(a, n_touched, state, space)
    n_pairs = -1
    n_few_pairs = 0
    n_broken_pairs = 0
    best = -1
    most = 0.0
    leaves: int32 = -1  # whether leaving makes no larger itemset rare; -1: unknown
    gets_rare: bint = state.largest > 0 and a >= 0 and 0 < state.support[a] - lost < state.k
    stays: bint = n_broken > 1 or gets_rare
    if not stays:
        _fill_gains(x, lost, state, space)
        if state.largest == 0:
            _refuse(x, state, rows, space)
    for i in range(0 if stays else state.top + 1):
        b = i if i < state.top else first_empty(state.top, state.size)
        if i == state.top and (b < 0 or (state.largest and state.singles[x] < state.k)):
            break
        if i < state.top and (b == a or state.size[b] == 0 or state.home[b] != state.block[x]):
            continue
        if space.gains[b] <= most or (n_broken and space.broken[0] != b):
            continue
        if state.largest >= 2 and a >= 0:
            if 0 < state.co[a, b] + space.beside[a] - space.beside[b] < state.k:
                continue
        if _meets_new(b, space.few, n_few, state):
            continue
        if state.largest == 0 and space.refused[b]:
            continue
        if state.largest == 3:
            if n_pairs < 0:  # counted late: few items reach this check
                n_pairs = tally_pairs(x, state.label, rows, space)
                n_few_pairs, n_broken_pairs = _list_pairs(a, n_pairs, state, space)
            if not _is_in_each_pair(b, n_broken_pairs, space):
                continue
            if _meets_new_pair(b, space.few_pairs, n_few_pairs, state):
                continue
            if a >= 0 and not _move_keeps_triples(a, b, n_touched, state, space):
                continue
        if space.larger is not None:
            if leaves < 0:  # counted late, and the same for all targets
                leaves = _leaving_keeps_larger(x, state, space)
            if space.refused[b] or not _joining_keeps_larger(x, b, leaves, state, space):
                continue
        best, most = b, space.gains[b]
    clear(n_touched, n_pairs, space)
    return best


def descend(order: Numbers, state: State, rows: Rows, space: Space) -> None:
    """Apply the best safe move of each item that is awake, in the given order."""
    # An item without a safe move with a gain falls asleep until its cluster changes.
    with nogil:
        for i in range(order.shape[0]):
            x = order[i]
            if state.asleep[x]:
                continue
            a = state.label[x]
            b = _best_target(x, state, rows, space)
            if b >= 0:
                move_to(x, b, state, rows, space)
                _changed(a, state)
                _changed(b, state)
            else:
                state.asleep[x] = True
