"""Kernels that move single items between clusters, each to where it gains most and nothing gets rare.

Supports are 0 or at least k at all times. So only what an item brings to a cluster that was never beside
another one can be rare: to check a move takes a look at each cluster, or pair of clusters, that is beside the
item. Constraints are few and of any size: there a move is made, counted, and taken back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.refine_state import Rows, Space, State, changed, clusters_beside, move_to, spot

__all__ = ["descend", "price"]

Array = NDArray[Any]


@inner
def price(size: int, held: int, support: int, loss: int, scale: int) -> float:
    """What a cluster costs; UL, which is loss 2, over 2**scale."""
    if loss == 2:
        return (2.0 ** (size - scale) - 2.0**-scale) * support
    return float(size - loss) * held if size > 1 else 0.0


@inner
def _tally(x: int, state: State, rows: Rows, space: Space) -> tuple[int, int]:
    """Fill the work space; the number of clusters touched, and the rows that x's cluster loses."""
    beside, alone, touched, place = space.beside, space.alone, space.touched, space.place
    near, triples = space.near, state.asked[1] == 3
    a, n_touched, lost = state.label[x], 0, 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = np.int64(rows.tids[slot])
        weight = rows.weights[row]
        n = clusters_beside(x, row, state.label, rows, space)
        leaves = a >= 0 and space.stamp[a] != space.token[0]
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
            for j in range(i if triples else 0):
                one, other = place[cluster] - 1, place[near[j]] - 1
                space.joint[max(one, other), min(one, other)] += weight
                if leaves:
                    space.lone[max(one, other), min(one, other)] += weight
    return n_touched, lost


@inner
def _clear(n_touched: int, state: State, space: Space) -> None:
    for i in range(n_touched):
        cluster = space.touched[i]
        space.beside[cluster] = space.alone[cluster] = space.place[cluster] = 0
        if state.asked[1] == 3:
            space.joint[i, :i] = 0
            space.lone[i, :i] = 0


@inner
def _rare_pairs(a: int, n_touched: int, state: State, space: Space) -> tuple[int, int]:
    """List pairs of clusters that few rows hold beside the item, and those that break with its own."""
    k, n_pairs, n_broken = state.asked[0], 0, 0
    for i in range(n_touched):
        c = space.touched[i]
        for j in range(i):
            d = space.touched[j]
            if space.joint[i, j] == 0 or c == a or d == a:
                continue
            if space.joint[i, j] < k:
                space.pairs[n_pairs, 0], space.pairs[n_pairs, 1] = c, d
                n_pairs += 1
            if space.lone[i, j] and 0 < state.cube[spot(a, c, d)] - space.lone[i, j] < k:
                space.broken[n_broken, 0], space.broken[n_broken, 1] = c, d
                n_broken += 1
    return n_pairs, n_broken


@inner
def _triples_stay(
    a: int, b: int, n_touched: int, n_pairs: int, n_broken: int, state: State, space: Space
) -> bool:
    """Whether no three clusters get rare when the item moves from a to b."""
    for i in range(n_broken):
        if space.broken[i, 0] != b and space.broken[i, 1] != b:
            return False
    for i in range(n_pairs):
        c, d = space.pairs[i]
        if c != b and d != b and state.cube[spot(b, c, d)] == 0:
            return False
    if a < 0:
        return True
    at_a, at_b = space.place[a] - 1, space.place[b] - 1
    for i in range(n_touched):
        c = space.touched[i]
        if c in (a, b):
            continue
        change = space.joint[max(i, at_a), min(i, at_a)] if at_a >= 0 else 0
        if at_b >= 0:
            change -= space.joint[max(i, at_b), min(i, at_b)]
        if 0 < state.cube[spot(a, b, c)] + change < state.asked[0]:
            return False
    return True


@inner
def _gain(x: int, b: int, lost: int, state: State, space: Space) -> float:
    """How good it is to move an item to cluster b; 0 if nothing is gained.

    UL has terms of very different size: the logarithm of what is gained is told, plus what makes it
    positive. A gain that rounding may have made does not count.
    """
    loss, a, worth, singles = state.asked[2], state.label[x], state.worth[x], state.singles[x]
    size, held, support = state.size, state.held, state.support
    scale = 0
    if loss == 2:
        scale = max(size[b] + 1, size[a] if a >= 0 else len(state.label))
    before = price(size[b], held[b], support[b], loss, scale)
    after = price(size[b] + 1, held[b] + worth, support[b] + singles - space.beside[b], loss, scale)
    if a >= 0:
        before += price(size[a], held[a], support[a], loss, scale)
        after += price(size[a] - 1, held[a] - worth, support[a] - lost, loss, scale)
    elif loss == 2:
        before += price(len(state.label), np.int64(0), singles, loss, scale)
    else:
        before += float(len(state.label) - loss) * worth
    gain = before - after
    if loss != 2:
        return max(gain, 0.0)
    return np.log2(gain) + scale + 64.0 if gain > 1e-12 * before else 0.0


@inner
def _best_target(x: int, state: State, rows: Rows, space: Space) -> int:
    """The cluster to which an item moves safely with the most gain; -1 if there is none.

    Of equal gains the cluster with the lowest number, and an own cluster last.
    """
    size, co, beside, near, touched = state.size, state.co, space.beside, space.near, space.touched
    k, largest, a = state.asked[0], state.asked[1], state.label[x]
    if a >= 0 and size[a] == 1:
        return -1
    n_touched, lost = _tally(x, state, rows, space)
    # What gets rare without the item can be mended only by the cluster itself that receives it.
    n_broken, broken, n_near, n_pairs, n_triples = 0, -1, 0, 0, 0
    for i in range(n_touched if largest >= 2 else 0):
        c = touched[i]
        if c == a:
            continue
        if a >= 0 and 0 < co[a, c] - space.alone[c] < k:
            n_broken, broken = n_broken + 1, c
        if beside[c] < k:
            near[n_near] = c
            n_near += 1
    stays = largest > 0 and a >= 0 and 0 < state.support[a] - lost < k
    if largest == 3 and n_broken < 2 and not stays:
        n_pairs, n_triples = _rare_pairs(a, n_touched, state, space)
    best, most, empty = -1, 0.0, -1
    for i in range(0 if stays or n_broken > 1 else state.top[0] + 1):
        b = i
        if i == state.top[0]:
            b = empty if empty >= 0 else i
            if b == len(size) or (largest and state.singles[x] < k):
                break
        elif size[b] == 0:
            empty = b if empty < 0 else empty
            continue
        elif b == a or state.home[b] != state.block[x]:
            continue
        if n_broken == 1 and broken != b:
            continue
        gain = _gain(x, b, lost, state, space)
        if gain <= most:
            continue
        if largest >= 2 and a >= 0 and 0 < co[a, b] + beside[a] - beside[b] < k:
            continue
        safe = True
        for j in range(n_near):
            if co[b, near[j]] == 0 and near[j] != b:
                safe = False
                break
        if safe and largest == 3:
            safe = _triples_stay(a, b, n_touched, n_pairs, n_triples, state, space)
        elif largest == 0:
            safe = _may_move(x, b, state, rows, space)
        if safe:
            best, most = b, gain
    _clear(n_touched, state, space)
    return best


@inner
def _may_move(x: int, b: int, state: State, rows: Rows, space: Space) -> bool:
    """Whether nothing is rare after a move, which is taken back."""
    a, top = state.label[x], state.top[0]
    move_to(x, b, state, rows, space)
    safe = state.short[0] == 0
    move_to(x, a, state, rows, space)
    state.top[0] = top
    return safe


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
