"""Kernels that move single items between clusters, each to where it gains most and nothing gets rare.

Supports are 0 or at least k at all times. So only what an item brings to a cluster that was never beside
another one can be rare: to check a move takes a look at each cluster, or pair of clusters, that is beside the
item.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.sets_constraints import refuse
from pdanon._kernels.sets_state import (
    Rows,
    Space,
    State,
    changed,
    clusters_beside,
    first_empty,
    move_to,
    spot,
)

__all__ = [
    "clear",
    "descend",
    "list_broken",
    "list_few",
    "list_pairs",
    "meets_new",
    "meets_new_pair",
    "price_of_two",
    "tally",
    "tally_pairs",
]

Array = NDArray[Any]


@inner
def _price(size: int, held: int, support: int, loss: int, scale: int) -> float:
    """What a cluster costs; UL, which is loss 2, over 2**scale."""
    if loss == 2:
        return (2.0 ** (size - scale) - 2.0**-scale) * support
    return float(size - loss) * held if size > 1 else 0.0


@inner
def price_of_two(a: int, b: int, scale: int, state: State) -> float:
    """What two clusters cost together; UL over 2**scale."""
    size, held, support, loss = state.size, state.held, state.support, state.asked[2]
    return _price(size[a], held[a], support[a], loss, scale) + _price(
        size[b], held[b], support[b], loss, scale
    )


@inner
def tally(x: int, state: State, rows: Rows, space: Space) -> tuple[int, int]:
    """Fill the work space; the number of clusters touched, and the rows that x's cluster loses."""
    beside, alone, touched, place = space.beside, space.alone, space.touched, space.place
    near, stamp, token = space.near, space.stamp, space.token
    label, codes, offsets, weights, tids = state.label, rows.codes, rows.offsets, rows.weights, rows.tids
    a, n_touched, lost = label[x], 0, 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = tids[slot]
        weight = weights[row]
        n = clusters_beside(x, codes[offsets[row] : offsets[row + 1]], label, stamp, near, token)
        leaves = a >= 0 and stamp[a] != token[0]
        if leaves:
            lost += weight
        for i in range(n):
            cluster = near[i]
            if place[cluster] == 0:
                touched[n_touched] = cluster
                n_touched += 1
                place[cluster] = n_touched
            beside[cluster] += weight
            if leaves:
                alone[cluster] += weight
    return n_touched, lost


@inner
def tally_pairs(x: int, state: State, rows: Rows, space: Space) -> int:
    """Fill the work space with pairs of clusters touched; return their number."""
    place, pairs, joint, lone = space.place, space.pairs, space.joint, space.lone
    near, stamp, token = space.near, space.stamp, space.token
    label, codes, offsets, weights, tids = state.label, rows.codes, rows.offsets, rows.weights, rows.tids
    a, n_pairs = label[x], 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = tids[slot]
        weight = weights[row]
        n = clusters_beside(x, codes[offsets[row] : offsets[row + 1]], label, stamp, near, token)
        leaves = a >= 0 and stamp[a] != token[0]
        for i in range(n):
            here = place[near[i]] - 1
            for j in range(i):
                there = place[near[j]] - 1
                high, low = max(here, there), min(here, there)
                if joint[high, low] == 0:
                    pairs[n_pairs, 0], pairs[n_pairs, 1] = high, low
                    n_pairs += 1
                joint[high, low] += weight
                if leaves:
                    lone[high, low] += weight
    return n_pairs


@inner
def clear(n_touched: int, n_pairs: int, space: Space) -> None:
    touched, beside, alone, place = space.touched, space.beside, space.alone, space.place
    pairs, joint, lone = space.pairs, space.joint, space.lone
    for i in range(n_touched):
        cluster = touched[i]
        beside[cluster] = alone[cluster] = place[cluster] = 0
    for i in range(n_pairs):
        joint[pairs[i, 0], pairs[i, 1]] = lone[pairs[i, 0], pairs[i, 1]] = 0


@inner
def list_pairs(a: int, n_pairs: int, state: State, space: Space) -> tuple[Array, Array]:
    """List pairs of clusters that few rows hold beside the item, and those that break with its own."""
    k, cube, touched, n_few, n_broken = state.asked[0], state.cube, space.touched, 0, 0
    pairs, joint, lone, few, broken = (
        space.pairs,
        space.joint,
        space.lone,
        space.few_pairs,
        space.broken_pairs,
    )
    for i in range(n_pairs):
        high, low = pairs[i]
        c, d = touched[high], touched[low]
        if c == a or d == a:
            continue
        if joint[high, low] < k:
            few[n_few, 0], few[n_few, 1] = c, d
            n_few += 1
        if lone[high, low] and 0 < cube[spot(a, c, d)] - lone[high, low] < k:
            broken[n_broken, 0], broken[n_broken, 1] = c, d
            n_broken += 1
    return few[:n_few], broken[:n_broken]


@inner
def meets_new_pair(b: int, few: Array, cube: Array) -> bool:
    """Whether a cluster was never beside a pair of those that few rows hold beside the item."""
    for i in range(len(few)):
        c, d = few[i]
        if c != b and d != b and cube[spot(b, c, d)] == 0:
            return True
    return False


@inner
def _triples_stay(a: int, b: int, n_touched: int, state: State, space: Space) -> bool:
    """Whether the item's old and new cluster do not get rare beside any third when it moves from a to b."""
    k, cube, touched, place, joint = state.asked[0], state.cube, space.touched, space.place, space.joint
    at_a, at_b = place[a] - 1, place[b] - 1
    for i in range(n_touched):
        c = touched[i]
        if c in (a, b):
            continue
        change = joint[max(i, at_a), min(i, at_a)] if at_a >= 0 else 0
        if at_b >= 0:
            change -= joint[max(i, at_b), min(i, at_b)]
        if 0 < cube[spot(a, b, c)] + change < k:
            return False
    return True


@inner
def _all_hold(b: int, pairs: Array) -> bool:
    for i in range(len(pairs)):
        if pairs[i, 0] != b and pairs[i, 1] != b:
            return False
    return True


@inner
def _fill_gains(x: int, lost: int, state: State, space: Space) -> None:
    """Work out what it gains to move an item to each cluster; 0 if nothing.

    UL has terms of very different size: the logarithm of what is gained is told, plus what makes it
    positive. A gain that rounding may have made does not count.
    """
    n, loss, a = len(state.label), state.asked[2], state.label[x]
    worth, singles, beside, gains = state.worth[x], state.singles[x], space.beside, space.gains
    size, held, support = state.size, state.held, state.support
    for b in range(min(state.top[0] + 1, len(size))):
        scale = max(size[b] + 1, size[a] if a >= 0 else n) if loss == 2 else 0
        before = _price(size[b], held[b], support[b], loss, scale)
        after = _price(size[b] + 1, held[b] + worth, support[b] + singles - beside[b], loss, scale)
        if a >= 0:
            before += _price(size[a], held[a], support[a], loss, scale)
            after += _price(size[a] - 1, held[a] - worth, support[a] - lost, loss, scale)
        elif loss == 2:
            before += _price(n, np.int64(0), singles, loss, scale)
        else:
            before += float(n - loss) * worth
        gains[b] = before - after
        if loss == 2:
            gains[b] = np.log2(gains[b]) + scale + 64.0 if gains[b] > 1e-12 * before else 0.0


@inner
def list_few(a: int, n_touched: int, state: State, space: Space) -> Array:
    """List clusters other than a that few rows hold beside the item."""
    k, touched, beside, few, n_few = state.asked[0], space.touched, space.beside, space.few, 0
    for i in range(n_touched if state.asked[1] >= 2 else 0):
        if touched[i] != a and beside[touched[i]] < k:
            few[n_few] = touched[i]
            n_few += 1
    return few[:n_few]


@inner
def meets_new(b: int, few: Array, co: Array) -> bool:
    """Whether a cluster was never beside one of those that few rows hold beside the item."""
    for c in few:
        if c != b and co[b, c] == 0:
            return True
    return False


@inner
def list_broken(a: int, n_touched: int, state: State, space: Space) -> Array:
    """List clusters that get rare with the item's own when it leaves."""
    k, co, touched, alone, broken, n = state.asked[0], state.co, space.touched, space.alone, space.broken, 0
    for i in range(n_touched if state.asked[1] >= 2 and a >= 0 else 0):
        c = touched[i]
        if c != a and 0 < co[a, c] - alone[c] < k:
            broken[n] = c
            n += 1
    return broken[:n]


@inner
def _best_target(x: int, state: State, rows: Rows, space: Space) -> int:
    """The cluster to which an item moves safely with the most gain; -1 if there is none.

    Of equal gains the cluster with the lowest number, and an own cluster last.
    """
    size, co, beside, gains = state.size, state.co, space.beside, space.gains
    k, largest, a = state.asked[0], state.asked[1], state.label[x]
    if a >= 0 and size[a] == 1:
        return -1
    n_touched, lost = tally(x, state, rows, space)
    # What gets rare without the item can be mended only by the cluster itself that receives it.
    broken = list_broken(a, n_touched, state, space)
    few = list_few(a, n_touched, state, space)
    n_pairs, few_pairs, broken_pairs = np.int64(-1), space.few_pairs, space.broken_pairs
    stays = len(broken) > 1 or (largest > 0 and a >= 0 and 0 < state.support[a] - lost < k)
    best, most, top = -1, 0.0, state.top[0]
    if not stays:
        _fill_gains(x, lost, state, space)
        if largest == 0:
            refuse(x, state, rows, space)
    for i in range(0 if stays else top + 1):
        b = i if i < top else first_empty(state)
        if i == top and (b < 0 or (largest and state.singles[x] < k)):
            break
        if i < top and (b == a or size[b] == 0 or state.home[b] != state.block[x]):
            continue
        if gains[b] <= most or (len(broken) and broken[0] != b):
            continue
        if largest >= 2 and a >= 0 and 0 < co[a, b] + beside[a] - beside[b] < k:
            continue
        if meets_new(b, few, co):
            continue
        if largest == 0 and space.refused[b]:
            continue
        if largest == 3:
            if n_pairs < 0:  # most items do not come so far
                n_pairs = tally_pairs(x, state, rows, space)
                few_pairs, broken_pairs = list_pairs(a, n_pairs, state, space)
            if not _all_hold(b, broken_pairs) or meets_new_pair(b, few_pairs, state.cube):
                continue
            if a >= 0 and not _triples_stay(a, b, n_touched, state, space):
                continue
        best, most = b, gains[b]
    clear(n_touched, n_pairs, space)
    return best


@kernel
def descend(order: Array, state: State, rows: Rows, space: Space) -> None:
    """Give each item that is awake its best safe move, in the given order.

    An item without such a move falls asleep until its cluster changes.
    """
    for x in order:
        if state.asleep[x]:
            continue
        a, b = state.label[x], _best_target(x, state, rows, space)
        if b >= 0:
            move_to(x, b, state, rows, space)
            changed(a, state)
            changed(b, state)
        else:
            state.asleep[x] = True
