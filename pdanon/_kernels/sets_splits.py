"""Kernels that part a cluster in two, several items at once, where no single item could leave it.

The items that are worth most form the new cluster, half of what is held. Then items change sides as long as
less is lacking. If in the end nothing is, and less is lost, the parts stay; else all items go back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel
from pdanon._kernels.sets_moves import price_of_two
from pdanon._kernels.sets_state import Rows, Space, State, changed, first_empty, move_to

__all__ = ["split_each"]

Array = NDArray[Any]
PASSES = 6


@inner
def _may_part(c: int, state: State) -> bool:
    """Whether the parts of a cluster could have enough rows beside the others; most cannot."""
    k, largest = state.asked[0], state.asked[1]
    if state.size[c] < 2 or (largest and state.support[c] < 2 * k):
        return False
    for d in range(state.top[0] if largest >= 2 else 0):
        if 0 < 2 * state.co[c, d] < 3 * k:
            return False
    return True


@inner
def _part(n: int, c: int, new: int, state: State, rows: Rows, space: Space) -> None:
    """Distribute the first members over two clusters until nothing is rare, if that is found."""
    members, half = space.members, state.held[c] // 2
    for i in range(n - 1):
        if state.held[new] + state.worth[members[i]] // 2 > half and state.size[new]:
            break
        move_to(members[i], new, state, rows, space)
    for _ in range(PASSES):
        before = state.short[0]
        for i in range(n):
            if state.short[0] == 0:
                return
            x, now = members[i], state.short[0]
            here = state.label[x]
            if state.size[here] > 1:
                move_to(x, new if here == c else c, state, rows, space)
                if state.short[0] >= now:
                    move_to(x, here, state, rows, space)
        if 2 * state.short[0] > before:
            return


@inner
def _split(c: int, order: Array, state: State, rows: Rows, space: Space) -> bool:
    """Part a cluster in two, if that is safe and a gain; whether it was."""
    new, top = first_empty(state), state.top[0]
    if new < 0 or state.tried[c] or not _may_part(c, state):
        return False
    n, scale = np.int64(0), state.size[c]
    for x in order:
        if state.label[x] == c:
            space.members[n] = x
            n += 1
    before = price_of_two(c, new, scale, state)
    _part(n, c, new, state, rows, space)
    if state.short[0] == 0 and price_of_two(c, new, scale, state) < before - 1e-12 * before:
        changed(c, state)
        changed(new, state)
        return True
    for i in range(n):
        if state.label[space.members[i]] == new:
            move_to(space.members[i], c, state, rows, space)
    state.top[0] = top
    state.tried[c] = True
    return False


@kernel
def split_each(clusters: Array, order: Array, state: State, rows: Rows, space: Space) -> int:
    """Part some clusters, one after the other, where that is safe and a gain; return how many."""
    done = 0
    for c in clusters:
        done += _split(c, order, state, rows, space)
    return done
