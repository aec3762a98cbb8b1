"""Kernels that exchange two items of two clusters, where neither of them could go alone.

To make an exchange and to take it back takes long. So what can be told from the rows of the two items alone
is looked at first: nearly all that is not safe is seen there. And most items that do not fit are told
without their rows, by what is remembered of when these were looked at last.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from cython.cimports.pdanon._kernels.sets_constraints import constraints_stay, mark_rows
from cython.cimports.pdanon._kernels.sets_moves import (
    clear,
    first_new,
    list_broken,
    list_few,
    list_pairs,
    meets_new_pair,
    price_of_two,
    tally,
    tally_pairs,
)
from cython.cimports.pdanon._kernels.sets_state import Rows, Space, State, changed, move_to, spot
from cython.cimports.pdanon._kernels.sets_tallies import Tallies, note

__all__ = ["swap_each"]


@cython.final
@cython.cclass
class Leaver:
    """What an item brings to another cluster, and what its own lacks without it."""

    beside: cython.longlong[::1]  # transactions that hold it and another item of each cluster
    n_few: cython.longlong
    few: cython.longlong[::1]  # clusters that few rows hold beside it
    kept: cython.longlong[::1]  # transactions that each cluster has left with its own
    n_needing: cython.longlong
    needing: cython.longlong[::1]  # clusters that get rare with its own
    needs: cython.longlong[::1]  # whether a cluster is one of these
    n_few_pairs: cython.longlong
    few_pairs: cython.int[:, ::1]  # pairs of such clusters
    n_lacking: cython.longlong
    lacking: cython.int[:, ::1]  # pairs of clusters that get rare with its own
    left: cython.longlong[::1]  # transactions that each of these has left with its own

    def __init__(self, slots: int, pairs: int) -> None:
        self.beside, self.few, self.kept, self.needing, self.needs = np.zeros((5, slots), np.int64)
        self.few_pairs, self.lacking = np.empty((2, pairs, 2), np.int32)
        self.left = np.empty(pairs, np.int64)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _joint(c: cython.longlong, d: cython.longlong, joint: Code[:, ::1], space: Space) -> cython.longlong:
    """Transactions that hold the item in hand and two clusters."""
    one: cython.longlong = space.place[c] - 1
    other: cython.longlong = space.place[d] - 1
    return joint[max(one, other), min(one, other)] if min(one, other) >= 0 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _take_out(x: cython.longlong, leaver: Leaver, state: State, rows: Rows, space: Space) -> cython.void:
    """Write what is known of an item as that of the leaver."""
    a = state.label[x]
    n_touched, _ = tally(x, state, rows, space)
    n_pairs: cython.longlong = 0
    if state.largest == 3:
        n_pairs = tally_pairs(x, state, rows, space)
    leaver.n_few_pairs, leaver.n_lacking = list_pairs(a, n_pairs, state, space)
    for i in range(leaver.n_few_pairs):
        leaver.few_pairs[i, 0], leaver.few_pairs[i, 1] = space.few_pairs[i, 0], space.few_pairs[i, 1]
    c: cython.int
    d: cython.int
    for i in range(leaver.n_lacking):
        c, d = space.broken_pairs[i, 0], space.broken_pairs[i, 1]
        leaver.lacking[i, 0], leaver.lacking[i, 1] = c, d
        leaver.left[i] = state.cube[spot(a, c, d)] - _joint(c, d, space.lone, space)
    leaver.n_few = list_few(a, n_touched, state, space)
    for i in range(leaver.n_few):
        leaver.few[i] = space.few[i]
    for i in range(leaver.beside.shape[0]):
        leaver.beside[i] = space.beside[i]
        leaver.kept[i] = state.co[a, i] - space.alone[i] if state.largest >= 2 else 0
    for i in range(leaver.n_needing):
        leaver.needs[leaver.needing[i]] = False
    leaver.n_needing = list_broken(a, n_touched, state, space)
    for i in range(leaver.n_needing):
        leaver.needing[i] = space.broken[i]
        leaver.needs[space.broken[i]] = True
    clear(n_touched, n_pairs, space)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_leave_for(b: cython.longlong, leaver: Leaver, state: State) -> cython.bint:
    """Whether some item of cluster b may be fit to replace the leaver."""
    if first_new(b, leaver.few, leaver.n_few, state) >= 0:
        return False
    if meets_new_pair(b, leaver.few_pairs, leaver.n_few_pairs, state):
        return False
    for i in range(leaver.n_needing):
        c = leaver.needing[i]
        if c != b and leaver.kept[c] + state.co[b, c] < state.k:
            return False
    for i in range(leaver.n_lacking):
        c, d = leaver.lacking[i, 0], leaver.lacking[i, 1]
        if c != b and d != b and leaver.left[i] + state.cube[spot(b, c, d)] < state.k:
            return False
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _brings_few(c: cython.longlong, beside: cython.longlong, leaver: Leaver, state: State) -> cython.bint:
    """Whether a cluster gets rare with that of the leaver, by the rows beside what replaces it."""
    return leaver.kept[c] + beside < state.k


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _leaves_few(
    c: cython.longlong, b: cython.longlong, alone: cython.longlong, leaver: Leaver, state: State
) -> cython.bint:
    """Whether a cluster gets rare with b, where the leaver replaces an item by rows that it is alone in."""
    return 0 < state.co[b, c] - alone + leaver.beside[c] < state.k


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _n_to_meet(b: cython.longlong, then: cython.longlong, leaver: Leaver, state: State) -> cython.longlong:
    """How many clusters that have not changed since then an item of b must be beside."""
    n: cython.longlong = 0
    for i in range(leaver.n_needing):
        c = leaver.needing[i]
        n += c != b and state.since[c] <= then
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_known_unfit(
    y: cython.longlong, a: cython.longlong, leaver: Leaver, tallies: Tallies, state: State
) -> cython.bint:
    """Whether an exchange would leave a pair of clusters rare by what is remembered of an item.

    What tells that comes first from then on: likely it tells the same to the next leaver.
    """
    b, then = state.label[y], tallies.when[y]
    knows_own: cython.bint = state.since[b] <= then
    c: cython.longlong
    n_met: cython.longlong = 0
    for i in range(tallies.filled[y]):
        c = tallies.entries[y, i, 0]
        if c in (a, b) or state.since[c] > then:
            continue
        if _brings_few(c, tallies.entries[y, i, 1], leaver, state) or (
            knows_own and _leaves_few(c, b, tallies.entries[y, i, 2], leaver, state)
        ):
            for j in range(3):
                entry = tallies.entries[y, i, j]
                tallies.entries[y, i, j] = tallies.entries[y, 0, j]
                tallies.entries[y, 0, j] = entry
            return True
        n_met += leaver.needs[c]
    return n_met < _n_to_meet(b, then, leaver, state) if tallies.is_whole[y] else False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pairs_stay(
    y: cython.longlong,
    a: cython.longlong,
    leaver: Leaver,
    n_touched: cython.longlong,
    state: State,
    space: Space,
) -> cython.bint:
    """Whether the exchange may leave no pair of clusters rare, as far as the rows of each item alone tell."""
    b = state.label[y]
    # Together two items have at least what one of them has, and at most the sum.
    for i in range(leaver.n_needing if state.largest >= 2 else 0):
        c = leaver.needing[i]
        if c != b and space.beside[c] == 0:
            return False
    for i in range(n_touched if state.largest >= 2 else 0):
        c = space.touched[i]
        if c in (a, b):
            continue
        if _brings_few(c, space.beside[c], leaver, state):
            return False
        if _leaves_few(c, b, space.alone[c], leaver, state):
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _triples_stay(
    y: cython.longlong,
    a: cython.longlong,
    leaver: Leaver,
    n_pairs: cython.longlong,
    state: State,
    space: Space,
) -> cython.bint:
    """The same for three clusters."""
    b = state.label[y]
    c: cython.int
    d: cython.int
    for i in range(leaver.n_lacking):
        c, d = leaver.lacking[i, 0], leaver.lacking[i, 1]
        if c != b and d != b and leaver.left[i] + _joint(c, d, space.joint, space) < state.k:
            return False
    n_few: cython.longlong
    n_broken: cython.longlong
    n_few, n_broken = list_pairs(b, n_pairs, state, space)
    for i in range(n_broken):
        c, d = space.broken_pairs[i, 0], space.broken_pairs[i, 1]
        left: cython.longlong = state.cube[spot(b, c, d)] - _joint(c, d, space.lone, space)
        if c != a and d != a and left + min(leaver.beside[c], leaver.beside[d]) < state.k:
            return False
    return not meets_new_pair(a, space.few_pairs, n_few, state)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _may_replace(
    y: cython.longlong,
    x: cython.longlong,
    leaver: Leaver,
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> cython.bint:
    """Whether an item may be fit to replace the leaver x."""
    if state.largest == 0:
        return constraints_stay(x, y, state, rows, space)
    a = state.label[x]
    if _is_known_unfit(y, a, leaver, tallies, state):
        return False
    n_touched, _ = tally(y, state, rows, space)
    note(y, n_touched, tallies, state, space)
    n_pairs: cython.longlong = 0
    safe = _pairs_stay(y, a, leaver, n_touched, state, space)
    if safe and state.largest == 3:
        n_pairs = tally_pairs(y, state, rows, space)
        safe = _triples_stay(y, a, leaver, n_pairs, state, space)
    clear(n_touched, n_pairs, space)
    return safe


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _exchange(x: cython.longlong, y: cython.longlong, state: State, rows: Rows, space: Space) -> cython.bint:
    """Exchange two items if that is safe and a gain; whether it was."""
    a, b = state.label[x], state.label[y]
    scale = max(state.size[a], state.size[b])
    before: cython.double = price_of_two(a, b, scale, state)
    move_to(x, b, state, rows, space)
    move_to(y, a, state, rows, space)
    if state.lack == 0 and price_of_two(a, b, scale, state) < before - 1e-12 * before:
        changed(a, state)
        changed(b, state)
        return True
    move_to(y, b, state, rows, space)
    move_to(x, a, state, rows, space)
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _seek(
    x: cython.longlong,
    starts: Number[::1],
    leaver: Leaver,
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> cython.bint:
    """Exchange the leaver x with the first item with which that is safe and a gain; whether there was one."""
    a = state.label[x]
    by_support: cython.bint = state.loss == 2
    b: cython.longlong
    for b in range(state.top):
        if b == a or state.size[b] == 0 or state.home[b] != state.block[x]:
            continue
        if state.size[b] >= state.size[a] and not by_support:
            continue  # NCP and LM fall if the dearer item gets less company
        if state.worth[space.members[starts[b]]] >= state.worth[x] and not by_support:
            continue
        if not _may_leave_for(b, leaver, state):
            continue
        for i in range(starts[b], starts[b + 1]):
            y = space.members[i]
            if state.worth[y] >= state.worth[x] and not by_support:
                break
            if not _may_replace(y, x, leaver, tallies, state, rows, space):
                continue
            if _exchange(x, y, state, rows, space):
                return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _swap(
    x: cython.longlong,
    starts: Number[::1],
    leaver: Leaver,
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> cython.bint:
    """Exchange an item with one of another cluster, if that is safe and a gain; whether it was.

    The members of each cluster are in ``members``, those that are worth least first.
    """
    a = state.label[x]
    if a < 0 or state.size[a] == 1:
        return False
    _take_out(x, leaver, state, rows, space)
    if state.largest == 0:
        mark_rows(x, 0, state, rows, space)
    return _seek(x, starts, leaver, tallies, state, rows, space)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_members(
    order: Number[::1],
    starts: cython.longlong[::1],
    free: cython.longlong[::1],
    state: State,
    space: Space,
) -> cython.void:
    """List the members of each cluster, those that are worth least first, and where its list starts."""
    c: cython.longlong
    i: cython.longlong
    starts[0] = 0
    for c in range(state.size.shape[0]):
        free[c] = starts[c]
        starts[c + 1] = starts[c] + state.size[c]
    for i in range(order.shape[0] - 1, -1, -1):
        c = state.label[order[i]]
        if c >= 0:
            space.members[free[c]] = order[i]
            free[c] += 1


def swap_each(
    items: Number[::1],
    order: Number[::1],
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> None:
    """Exchange some items, one after the other, where that is safe and a gain."""
    slots = len(state.size)
    starts: cython.longlong[::1] = np.zeros(slots + 1, np.int64)
    free: cython.longlong[::1] = np.zeros(slots, np.int64)
    leaver = Leaver(slots, len(space.pairs))
    with cython.nogil:
        _list_members(order, starts, free, state, space)
        for i in range(items.shape[0]):
            if _swap(items[i], starts, leaver, tallies, state, rows, space):
                _list_members(order, starts, free, state, space)
