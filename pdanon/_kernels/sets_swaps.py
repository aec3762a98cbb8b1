"""Kernels that exchange two items of two clusters, where neither of them could go alone.

To make an exchange and to take it back takes long. So what can be told from the rows of the two items alone
is looked at first: nearly all that is not safe is seen there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.sets_constraints import constraints_stay, mark_rows
from pdanon._kernels.sets_moves import (
    clear,
    list_broken,
    list_few,
    list_pairs,
    meets_new,
    meets_new_pair,
    price_of_two,
    tally,
    tally_pairs,
)
from pdanon._kernels.sets_state import Rows, Space, State, changed, move_to, spot

__all__ = ["swap_each"]

Array = NDArray[Any]


class Leaver(NamedTuple):
    """What an item brings to another cluster, and what its own lacks without it."""

    beside: Array  # transactions that hold it and another item of each cluster
    few: Array  # clusters that few rows hold beside it
    few_pairs: Array  # pairs of such clusters
    lacking: Array  # pairs of clusters that get rare with its own
    left: Array  # transactions that each of these has left with its own


@inner
def _joint(c: int, d: int, joint: Array, place: Array) -> int:
    """Transactions that hold the item in hand and two clusters."""
    one, other = place[c] - 1, place[d] - 1
    return joint[max(one, other), min(one, other)] if min(one, other) >= 0 else 0


@inner
def _leaver(x: int, state: State, rows: Rows, space: Space) -> Leaver:
    a, cube = state.label[x], state.cube
    n_touched, _ = tally(x, state, rows, space)
    n_pairs = tally_pairs(x, state, rows, space) if state.asked[1] == 3 else np.int64(0)
    few_pairs, lacking = list_pairs(a, n_pairs, state, space)
    left = np.zeros(len(lacking), np.int64)
    for i in range(len(lacking)):
        c, d = lacking[i]
        left[i] = cube[spot(a, c, d)] - _joint(c, d, space.lone, space.place)
    few = list_few(a, n_touched, state, space)
    leaver = Leaver(space.beside.copy(), few.copy(), few_pairs.copy(), lacking.copy(), left)
    clear(n_touched, n_pairs, space)
    return leaver


@inner
def _may_leave_for(b: int, leaver: Leaver, state: State) -> bool:
    """Whether some item of cluster b may be fit to replace the leaver."""
    k, cube, lacking, left = state.asked[0], state.cube, leaver.lacking, leaver.left
    if meets_new(b, leaver.few, state.co) or meets_new_pair(b, leaver.few_pairs, cube):
        return False
    for i in range(len(lacking)):
        c, d = lacking[i]
        if c != b and d != b and left[i] + cube[spot(b, c, d)] < k:
            return False
    return True


@inner
def _pairs_stay(y: int, a: int, leaver: Leaver, n_touched: int, state: State, space: Space) -> bool:
    """Whether the exchange may leave no pair of clusters rare, as far as the rows of each item alone tell."""
    b, k, co, alone, beside = state.label[y], state.asked[0], state.co, space.alone, leaver.beside
    if meets_new(a, list_few(b, n_touched, state, space), co):
        return False
    for c in list_broken(b, n_touched, state, space):
        if c != a and co[b, c] - alone[c] + beside[c] < k:
            return False
    return True


@inner
def _triples_stay(y: int, a: int, leaver: Leaver, n_pairs: int, state: State, space: Space) -> bool:
    """The same for three clusters."""
    b, k, cube, place, beside = state.label[y], state.asked[0], state.cube, space.place, leaver.beside
    for i in range(len(leaver.lacking)):
        c, d = leaver.lacking[i]
        if c != b and d != b and leaver.left[i] + _joint(c, d, space.joint, place) < k:
            return False
    few_pairs, broken = list_pairs(b, n_pairs, state, space)
    for i in range(len(broken)):
        c, d = broken[i]
        left = cube[spot(b, c, d)] - _joint(c, d, space.lone, place)
        if c != a and d != a and left + min(beside[c], beside[d]) < k:
            return False
    return not meets_new_pair(a, few_pairs, cube)


@inner
def _may_replace(y: int, x: int, leaver: Leaver, state: State, rows: Rows, space: Space) -> bool:
    """Whether an item may be fit to replace the leaver x."""
    n_pairs = np.int64(0)
    if state.asked[1] == 0:
        return constraints_stay(x, y, state, rows, space)
    n_touched, _ = tally(y, state, rows, space)
    a = state.label[x]
    safe = _pairs_stay(y, a, leaver, n_touched, state, space)
    if safe and state.asked[1] == 3:
        n_pairs = tally_pairs(y, state, rows, space)
        safe = _triples_stay(y, a, leaver, n_pairs, state, space)
    clear(n_touched, n_pairs, space)
    return safe


@inner
def _exchange(x: int, y: int, state: State, rows: Rows, space: Space) -> bool:
    """Exchange two items if that is safe and a gain; whether it was."""
    a, b = state.label[x], state.label[y]
    scale = max(state.size[a], state.size[b])
    before = price_of_two(a, b, scale, state)
    move_to(x, b, state, rows, space)
    move_to(y, a, state, rows, space)
    if state.short[0] == 0 and price_of_two(a, b, scale, state) < before - 1e-12 * before:
        changed(a, state)
        changed(b, state)
        return True
    move_to(y, b, state, rows, space)
    move_to(x, a, state, rows, space)
    return False


@inner
def _swap(x: int, members: Array, starts: Array, state: State, rows: Rows, space: Space) -> bool:
    """Exchange an item with one of another cluster, if that is safe and a gain; whether it was."""
    a, size, home, worth, by_support = (
        state.label[x],
        state.size,
        state.home,
        state.worth,
        state.asked[2] == 2,
    )
    if a < 0 or size[a] == 1:
        return False
    leaver = _leaver(x, state, rows, space)
    if state.asked[1] == 0:
        mark_rows(x, np.int64(0), state, rows, space)
    for b in range(state.top[0]):
        if b == a or size[b] == 0 or home[b] != state.block[x]:
            continue
        if size[b] >= size[a] and not by_support:  # NCP and LM fall if the dearer item gets less company
            continue
        if worth[members[starts[b]]] >= worth[x] and not by_support:
            continue
        if not _may_leave_for(b, leaver, state):
            continue
        for i in range(starts[b], starts[b + 1]):
            y = members[i]
            if worth[y] >= worth[x] and not by_support:
                break
            if _may_replace(y, x, leaver, state, rows, space) and _exchange(x, y, state, rows, space):
                return True
    return False


@inner
def _list_members(order: Array, state: State, members: Array, starts: Array) -> None:
    """List the members of each cluster, those that are worth least first."""
    starts[0] = 0
    for c in range(len(state.size)):
        starts[c + 1] = starts[c] + state.size[c]
    at = starts.copy()
    for x in order[::-1]:
        c = state.label[x]
        if c >= 0:
            members[at[c]] = x
            at[c] += 1


@kernel
def swap_each(items: Array, order: Array, state: State, rows: Rows, space: Space) -> None:
    """Exchange some items, one after the other, where that is safe and a gain."""
    members, starts = space.members, np.zeros(len(state.size) + 1, np.int64)
    _list_members(order, state, members, starts)
    for x in items:
        if _swap(x, members, starts, state, rows, space):
            _list_members(order, state, members, starts)
