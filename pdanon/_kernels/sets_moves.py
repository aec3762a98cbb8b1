"""Kernels that move single items between clusters, each to where it gains most and nothing gets rare.

Supports are 0 or at least k at all times. So only what an item brings to a cluster that was never beside
another one can be rare: to check a move takes a look at each cluster, or pair of clusters, that is beside the
item.
"""

import cython
from cython.cimports.libc.math import ldexp, log2
from cython.cimports.pdanon._kernels.arrays import Code, Number
from cython.cimports.pdanon._kernels.sets_constraints import refuse
from cython.cimports.pdanon._kernels.sets_state import (
    Rows,
    Space,
    State,
    changed,
    clusters_beside,
    first_empty,
    move_to,
    spot,
)

__all__ = ["descend"]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _power_of_two(exponent: cython.longlong) -> cython.double:
    """Exact; 0 where its inverse is too large for a number."""
    return ldexp(1.0, cython.cast(cython.int, exponent)) if exponent > -1024 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _price(
    size: cython.longlong,
    held: cython.longlong,
    support: cython.longlong,
    loss: cython.longlong,
    scale: cython.longlong,
) -> cython.double:
    """What a cluster costs; UL, which is loss 2, over 2**scale."""
    if loss == 2:
        return (_power_of_two(size - scale) - _power_of_two(-scale)) * support
    return cython.cast(cython.double, size - loss) * held if size > 1 else 0.0


def price_of_two(
    a: cython.longlong, b: cython.longlong, scale: cython.longlong, state: State
) -> cython.double:
    """What two clusters cost together; UL over 2**scale."""
    one = _price(state.size[a], state.held[a], state.support[a], state.loss, scale)
    return one + _price(state.size[b], state.held[b], state.support[b], state.loss, scale)


def tally(
    x: cython.longlong, state: State, rows: Rows, space: Space
) -> tuple[cython.longlong, cython.longlong]:
    """Fill the work space; the number of clusters touched, and the rows that x's cluster loses."""
    a = state.label[x]
    n_touched: cython.longlong = 0
    lost: cython.longlong = 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        weight: cython.longlong = rows.weights[row]
        n = clusters_beside(x, row, state, rows, space)
        leaves: cython.bint = a >= 0 and space.stamp[a] != space.token
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


def tally_pairs(x: cython.longlong, state: State, rows: Rows, space: Space) -> cython.longlong:
    """Fill the work space with pairs of clusters touched; return their number."""
    a = state.label[x]
    n_pairs: cython.longlong = 0
    here: cython.longlong
    there: cython.longlong
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        weight: cython.int = cython.cast(cython.int, rows.weights[row])
        n = clusters_beside(x, row, state, rows, space)
        leaves: cython.bint = a >= 0 and space.stamp[a] != space.token
        for i in range(n):
            here = space.place[space.near[i]] - 1
            for j in range(i):
                there = space.place[space.near[j]] - 1
                high, low = max(here, there), min(here, there)
                if space.joint[high, low] == 0:
                    space.pairs[n_pairs, 0] = cython.cast(cython.int, high)
                    space.pairs[n_pairs, 1] = cython.cast(cython.int, low)
                    n_pairs += 1
                space.joint[high, low] += weight
                if leaves:
                    space.lone[high, low] += weight
    return n_pairs


def clear(n_touched: cython.longlong, n_pairs: cython.longlong, space: Space) -> cython.void:
    """Empty what `tally` and `tally_pairs` have filled."""
    for i in range(n_touched):
        cluster = space.touched[i]
        space.beside[cluster] = space.alone[cluster] = space.place[cluster] = 0
    for i in range(n_pairs):
        high, low = space.pairs[i, 0], space.pairs[i, 1]
        space.joint[high, low] = space.lone[high, low] = 0


def list_pairs(
    a: cython.longlong, n_pairs: cython.longlong, state: State, space: Space
) -> tuple[cython.longlong, cython.longlong]:
    """List pairs of clusters that few rows hold beside the item, and those that break with its own.

    They are in ``few_pairs`` and ``broken_pairs``; their numbers are returned.
    """
    n_few: cython.longlong = 0
    n_broken: cython.longlong = 0
    for i in range(n_pairs):
        high, low = space.pairs[i, 0], space.pairs[i, 1]
        c, d = space.touched[high], space.touched[low]
        if c == a or d == a:
            continue
        if space.joint[high, low] < state.k:
            _write_pair(c, d, n_few, space.few_pairs)
            n_few += 1
        lone: cython.longlong = space.lone[high, low]
        if lone and 0 < state.cube[spot(a, c, d)] - lone < state.k:
            _write_pair(c, d, n_broken, space.broken_pairs)
            n_broken += 1
    return n_few, n_broken


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _write_pair(
    c: cython.longlong, d: cython.longlong, i: cython.longlong, pairs: cython.int[:, ::1]
) -> cython.void:
    pairs[i, 0], pairs[i, 1] = cython.cast(cython.int, c), cython.cast(cython.int, d)


def meets_new_pair(
    b: cython.longlong, few: Code[:, ::1], n_few: cython.longlong, state: State
) -> cython.bint:
    """Whether a cluster was never beside a pair of those that few rows hold beside the item."""
    for i in range(n_few):
        c, d = few[i, 0], few[i, 1]
        if c != b and d != b and state.cube[spot(b, c, d)] == 0:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _triples_stay(
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
def _fill_gains(x: cython.longlong, lost: cython.longlong, state: State, space: Space) -> cython.void:
    """Work out what it gains to move an item to each cluster; 0 if nothing.

    UL has terms of very different size: the logarithm of what is gained is told, plus what makes it
    positive. A gain that rounding may have made does not count.
    """
    a = state.label[x]
    n: cython.longlong = state.label.shape[0]
    loss: cython.longlong = state.loss
    worth: cython.longlong = state.worth[x]
    singles: cython.longlong = state.singles[x]
    scale: cython.longlong = 0
    size: cython.longlong
    before: cython.double
    after: cython.double
    for b in range(min(state.top + 1, state.size.shape[0])):
        size = state.size[b]
        if loss == 2:
            scale = max(size + 1, state.size[a] if a >= 0 else n)
        before = _price(size, state.held[b], state.support[b], loss, scale)
        together = state.support[b] + singles - space.beside[b]
        after = _price(size + 1, state.held[b] + worth, together, loss, scale)
        if a >= 0:
            before += _price(state.size[a], state.held[a], state.support[a], loss, scale)
            after += _price(state.size[a] - 1, state.held[a] - worth, state.support[a] - lost, loss, scale)
        elif loss == 2:
            before += _price(n, 0, singles, loss, scale)
        else:
            before += cython.cast(cython.double, n - loss) * worth
        gain: cython.double = before - after
        if loss == 2:
            gain = log2(gain) + scale + 64.0 if gain > 1e-12 * before else 0.0
        space.gains[b] = gain


def list_few(a: cython.longlong, n_touched: cython.longlong, state: State, space: Space) -> cython.longlong:
    """List in ``few`` the clusters other than a that few rows hold beside the item; return their number."""
    n_few: cython.longlong = 0
    for i in range(n_touched if state.largest >= 2 else 0):
        c = space.touched[i]
        if c != a and space.beside[c] < state.k:
            space.few[n_few] = c
            n_few += 1
    return n_few


def first_new(b: cython.longlong, few: Number[::1], n_few: cython.longlong, state: State) -> cython.longlong:
    """The first of the clusters that few rows hold beside the item that b was never beside, or -1."""
    for i in range(n_few):
        c = few[i]
        if c != b and state.co[b, c] == 0:
            return c
    return -1


def list_broken(
    a: cython.longlong, n_touched: cython.longlong, state: State, space: Space
) -> cython.longlong:
    """List in ``broken`` the clusters that get rare with the item's own when it leaves; how many."""
    n: cython.longlong = 0
    for i in range(n_touched if state.largest >= 2 and a >= 0 else 0):
        c = space.touched[i]
        if c != a and 0 < state.co[a, c] - space.alone[c] < state.k:
            space.broken[n] = c
            n += 1
    return n


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
    n_touched: cython.longlong
    lost: cython.longlong
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
        _fill_gains(x, lost, state, space)
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
            if a >= 0 and not _triples_stay(a, b, n_touched, state, space):
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
