"""Moves of a refinement: move one item, split a cluster, or swap two items where nothing gets rare.

Supports are 0 or at least k at all times. So only what an item brings to a cluster that was never beside
another one can be rare: checking a move examines each cluster, or pair of clusters, that is beside the item.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Number
from cython.cimports.pdanon._kernels.set_moves import (
    Rows,
    Space,
    State,
    Tallies,
    changed,
    clear,
    constraints_stay,
    fill_gains,
    first_empty,
    list_broken,
    list_few,
    list_pairs,
    mark_rows,
    move_to,
    note,
    price_of_two,
    refuse,
    spot,
    tally,
    tally_pairs,
)

__all__ = ["descend", "split_each", "swap_each"]


# --- Moves of single items, each to where it gains most


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def meets_new_pair(
    b: cython.longlong, few: Code[:, ::1], n_few: cython.longlong, state: State
) -> cython.bint:
    """Whether a cluster was never together with a pair of the clusters that few rows hold with the item."""
    for i in range(n_few):
        c, d = few[i, 0], few[i, 1]
        if c != b and d != b and state.cube[spot(b, c, d)] == 0:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _triples_stay_moved(
    a: cython.longlong, b: cython.longlong, n_touched: cython.longlong, state: State, space: Space
) -> cython.bint:
    """Whether the item's old and new cluster do not get rare beside any third when it moves from a to b."""
    at_a: cython.longlong = space.place[a] - 1
    at_b: cython.longlong = space.place[b] - 1
    i: cython.longlong
    for i in range(n_touched):
        c = space.touched[i]
        if c in (a, b):
            continue
        change: cython.longlong = space.joint[max(i, at_a), min(i, at_a)] if at_a >= 0 else 0
        if at_b >= 0:
            change -= space.joint[max(i, at_b), min(i, at_b)]
        if 0 < state.cube[spot(a, b, c)] + change < state.k:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _all_hold(b: cython.longlong, n_broken: cython.longlong, space: Space) -> cython.bint:
    """Whether a cluster is one of each pair that breaks with the item's own."""
    for i in range(n_broken):
        if space.broken_pairs[i, 0] != b and space.broken_pairs[i, 1] != b:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def first_new(b: cython.longlong, few: Number[::1], n_few: cython.longlong, state: State) -> cython.longlong:
    """The first of the clusters that few rows hold beside the item that b was never beside, or -1."""
    for i in range(n_few):
        c = few[i]
        if c != b and state.co[b, c] == 0:
            return c
    return -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_stuck(
    x: cython.longlong, one: cython.longlong, other: cython.longlong, state: State
) -> cython.void:
    """Note that an item cannot leave its cluster, and two others that are in the way."""
    state.stuck[x] = state.clock
    state.stuck_by[x, 0], state.stuck_by[x, 1] = one, other


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _explain(x: cython.longlong, n_few: cython.longlong, state: State, space: Space) -> cython.void:
    """Note why an item could not move to the only cluster that mends what gets rare without it."""
    b = space.broken[0]
    new = first_new(b, space.few, n_few, state)
    if new >= 0:
        _note_stuck(x, b, new, state)
    elif state.largest == 2:  # no gain, or rare beside its own cluster
        _note_stuck(x, b, b, state)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_stuck(x: cython.longlong, state: State) -> cython.bint:
    """Whether an item could not leave its cluster, and nothing has changed of what held it."""
    a, then = state.label[x], state.stuck[x]
    if a < 0 or then < state.since[a]:
        return False
    return then > 0 and then >= max(state.since[state.stuck_by[x, 0]], state.since[state.stuck_by[x, 1]])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _best_target(x: cython.longlong, state: State, rows: Rows, space: Space) -> cython.longlong:
    """The cluster to which an item moves safely with the most gain; -1 if there is none.

    Of equal gains the cluster with the lowest number, and an own cluster last.
    """
    a = state.label[x]
    if a >= 0 and state.size[a] == 1:
        return -1
    cython.declare(n_touched=cython.longlong, lost=cython.longlong)
    n_touched, lost = tally(x, state, rows, space)
    # What gets rare without the item can be mended only by the cluster itself that receives it.
    n_broken = list_broken(a, n_touched, state, space)
    n_few = list_few(a, n_touched, state, space)
    n_pairs: cython.longlong = -1
    n_few_pairs: cython.longlong = 0
    n_broken_pairs: cython.longlong = 0
    best: cython.longlong = -1
    most: cython.double = 0.0
    gets_rare: cython.bint = state.largest > 0 and a >= 0 and 0 < state.support[a] - lost < state.k
    stays: cython.bint = n_broken > 1 or gets_rare
    if gets_rare:
        _note_stuck(x, a, a, state)
    elif stays:
        _note_stuck(x, space.broken[0], space.broken[1], state)
    if not stays:
        fill_gains(x, lost, state, space)
        if state.largest == 0:
            refuse(x, state, rows, space)
    for i in range(0 if stays else state.top + 1):
        b = i if i < state.top else first_empty(state)
        if i == state.top and (b < 0 or (state.largest and state.singles[x] < state.k)):
            break
        if i < state.top and (b == a or state.size[b] == 0 or state.home[b] != state.block[x]):
            continue
        if space.gains[b] <= most or (n_broken and space.broken[0] != b):
            continue
        if state.largest >= 2 and a >= 0:
            if 0 < state.co[a, b] + space.beside[a] - space.beside[b] < state.k:
                continue
        if first_new(b, space.few, n_few, state) >= 0:
            continue
        if state.largest == 0 and space.refused[b]:
            continue
        if state.largest == 3:
            if n_pairs < 0:  # most items do not come so far
                n_pairs = tally_pairs(x, state, rows, space)
                n_few_pairs, n_broken_pairs = list_pairs(a, n_pairs, state, space)
            if not _all_hold(b, n_broken_pairs, space):
                continue
            if meets_new_pair(b, space.few_pairs, n_few_pairs, state):
                continue
            if a >= 0 and not _triples_stay_moved(a, b, n_touched, state, space):
                continue
        best, most = b, space.gains[b]
    if best < 0 and not stays and n_broken == 1:
        _explain(x, n_few, state, space)
    clear(n_touched, n_pairs, space)
    return best


def descend(order: Number[::1], state: State, rows: Rows, space: Space) -> None:
    """Give each item that is awake its best safe move, in the given order.

    An item without such a move falls asleep until its cluster changes.
    """
    with cython.nogil:
        for i in range(order.shape[0]):
            x = order[i]
            if state.asleep[x]:
                continue
            a = state.label[x]
            b = -1 if _is_stuck(x, state) else _best_target(x, state, rows, space)
            if b >= 0:
                move_to(x, b, state, rows, space)
                changed(a, state)
                changed(b, state)
            else:
                state.asleep[x] = True


# --- Splits: part a cluster in two, where no single item could leave it
#
# For a small cluster most attempts are first proven futile. Otherwise the items that are worth most form the
# new cluster, half of what is held. Then items change sides as long as less is lacking. If in the end nothing
# is, and less is lost, the parts stay; otherwise all items go back.


PASSES = cython.declare(cython.int, 6)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _apart(c: cython.longlong, state: State) -> cython.bint:
    """Whether the parts of a cluster could have enough rows, if hardly any hold both; most cannot."""
    together: cython.longlong
    if state.largest and state.support[c] < 2 * state.k:
        return False
    for d in range(state.top if state.largest >= 2 else 0):
        together = state.co[c, d]
        if 0 < 2 * together < 3 * state.k:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_shares(
    n: cython.longlong, c: cython.longlong, state: State, rows: Rows, space: Space
) -> cython.longlong:
    """Write what each of the first members has beside other clusters, listed in ``few``; how many."""
    last: cython.longlong = space.shares.shape[0] - 1
    n_seen: cython.longlong = 0
    for i in range(n):
        n_touched, _ = tally(space.members[i], state, rows, space)
        for j in range(n_touched):
            d = space.touched[j]
            if d != c:
                if space.shares[last, d] == 0:
                    space.few[n_seen] = d
                    n_seen += 1
                space.shares[i, d] = space.beside[d]
                space.shares[last, d] += space.beside[d]
        clear(n_touched, 0, space)
    return n_seen


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gets_rare(
    part: cython.longlong, n: cython.longlong, n_seen: cython.longlong, state: State, space: Space
) -> cython.bint:
    """Whether a part, its members as bits, or the rest has too few rows with a cluster.

    Rows of several members count for each: so what is rare here is rare indeed.
    """
    last: cython.longlong = space.shares.shape[0] - 1
    cython.declare(held=cython.longlong, j=cython.longlong)
    for i in range(n_seen):
        d = space.few[i]
        held = 0
        for j in range(n):
            if part >> j & 1:
                held += space.shares[j, d]
        if 0 < held < state.k or 0 < space.shares[last, d] - held < state.k:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cannot_part(
    n: cython.longlong, c: cython.longlong, state: State, rows: Rows, space: Space
) -> cython.bint:
    """Whether all ways to part the first members are unsafe, as far as the rows of each alone tell."""
    n_seen = _list_shares(n, c, state, rows, space)
    rare: cython.bint = True
    part: cython.longlong
    for part in range(1, cython.cast(cython.longlong, 1) << (n - 1)):
        rare = _gets_rare(part, n, n_seen, state, space)
        if not rare:
            break
    for i in range(n_seen):
        space.shares[:, space.few[i]] = 0
    return rare


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _part(
    n: cython.longlong, c: cython.longlong, new: cython.longlong, state: State, rows: Rows, space: Space
) -> cython.void:
    """Distribute the first members over two clusters until nothing is rare, if that is found."""
    half: cython.longlong = state.held[c] // 2
    for i in range(n - 1):
        x = space.members[i]
        if state.held[new] + state.worth[x] // 2 > half and state.size[new]:
            break
        move_to(x, new, state, rows, space)
    for _ in range(PASSES):
        before = state.lack
        for i in range(n):
            if state.lack == 0:
                return
            x, now = space.members[i], state.lack
            here = state.label[x]
            if state.size[here] > 1:
                move_to(x, new if here == c else c, state, rows, space)
                if state.lack >= now:
                    move_to(x, here, state, rows, space)
        if 2 * state.lack > before:
            return


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _split(
    c: cython.longlong,
    order: Number[::1],
    any_rows: cython.bint,
    state: State,
    rows: Rows,
    space: Space,
) -> cython.bint:
    """Part a cluster in two, if that is safe and a gain; whether it was."""
    new, top = first_empty(state), state.top
    if new < 0 or state.size[c] < 2 or state.tried[c] or not (any_rows or _apart(c, state)):
        return False
    n: cython.longlong = 0
    scale: cython.longlong = state.size[c]
    for i in range(order.shape[0]):
        if state.label[order[i]] == c:
            space.members[n] = order[i]
            n += 1
    if state.largest >= 2 and n < space.shares.shape[0] and _cannot_part(n, c, state, rows, space):
        state.tried[c] = True
        return False
    before: cython.double = price_of_two(c, new, scale, state)
    _part(n, c, new, state, rows, space)
    if state.lack == 0 and price_of_two(c, new, scale, state) < before - 1e-12 * before:
        changed(c, state)
        changed(new, state)
        return True
    for i in range(n):
        if state.label[space.members[i]] == new:
            move_to(space.members[i], c, state, rows, space)
    state.top = top
    state.tried[c] = True
    return False


def split_each(
    clusters: Number[::1],
    order: Number[::1],
    any_rows: cython.bint,
    state: State,
    rows: Rows,
    space: Space,
) -> int:
    """Split some clusters, one after the other, if that is safe and a gain; return their number.

    With ``any_rows``, also split clusters whose parts have to share rows, as each has too few alone.
    """
    done: cython.longlong = 0
    with cython.nogil:
        for i in range(clusters.shape[0]):
            done += _split(clusters[i], order, any_rows, state, rows, space)
    return done


# --- Swaps: exchange two items of two clusters, where neither could go alone
#
# Making an exchange and taking it back takes long. So the rows of the two items alone are examined first:
# almost every unsafe exchange is found there. Most items that do not fit are rejected without their rows, by
# the tallies.


@cython.final
@cython.cclass
class Leaver:
    """Counts that an item brings to another cluster, and counts that its own cluster lacks without it."""

    beside: cython.longlong[::1]  # transactions that hold it and another item of each cluster
    n_few: cython.longlong
    few: cython.longlong[::1]  # clusters that few rows hold beside it
    kept: cython.longlong[::1]  # transactions that each cluster has left with its own
    n_needing: cython.longlong
    needing: cython.longlong[::1]  # clusters that get rare with its own
    needs: cython.longlong[::1]  # whether a cluster is in ``needing``
    n_few_pairs: cython.longlong
    few_pairs: cython.int[:, ::1]  # pairs of such clusters
    n_lacking: cython.longlong
    lacking: cython.int[:, ::1]  # pairs of clusters that get rare with its own
    left: cython.longlong[::1]  # transactions that each such pair has left with its own

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
    cython.declare(c=cython.int, d=cython.int)
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
def _triples_stay_swapped(
    y: cython.longlong,
    a: cython.longlong,
    leaver: Leaver,
    n_pairs: cython.longlong,
    state: State,
    space: Space,
) -> cython.bint:
    """The same for three clusters."""
    b = state.label[y]
    cython.declare(c=cython.int, d=cython.int)
    for i in range(leaver.n_lacking):
        c, d = leaver.lacking[i, 0], leaver.lacking[i, 1]
        if c != b and d != b and leaver.left[i] + _joint(c, d, space.joint, space) < state.k:
            return False
    cython.declare(n_few=cython.longlong, n_broken=cython.longlong)
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
        safe = _triples_stay_swapped(y, a, leaver, n_pairs, state, space)
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
    cython.declare(c=cython.longlong, i=cython.longlong)
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
