"""Kernels that tell whether constraints get rare when an item moves, or two items are exchanged.

Nothing is moved for that: the rows of the clusters are there as bits, and so are those that an item brings,
and those that its cluster has left without it. A move can make only these constraints rare: those that hold
the item, or another item of its cluster, and those in no row yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner
from pdanon._kernels.sets_state import Rows, Space, State, first_empty, weigh

__all__ = ["constraints_stay", "mark_rows", "refuse"]

Array = NDArray[Any]


@inner
def mark_rows(x: int, side: int, state: State, rows: Rows, space: Space) -> None:
    """Mark the rows of an item, and those that its cluster has without it, on one side of an exchange."""
    a, label, codes, offsets = state.label[x], state.label, rows.codes, rows.offsets
    brought, left = space.brought[side], space.left[side]
    for i in range(len(left)):  # word by word: slices would take seconds to compile
        brought[i] = left[i] = np.uint64(0)
        if a >= 0:
            left[i] = state.bits[a, i]
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row = rows.tids[slot]
        bit = np.uint64(1) << np.uint64(row & 63)
        brought[row >> 6] |= bit
        for y in codes[offsets[row] : offsets[row + 1]]:
            if y != x and label[y] == a:
                break
        else:
            left[row >> 6] &= ~bit


@inner
def _is_rare(
    image: Array,
    x: int,
    y: int,
    b: int,
    rows_a: tuple[Array, Array],
    rows_b: tuple[Array, Array],
    state: State,
    weights: Array,
) -> bool:
    """Whether a constraint would be rare with x in cluster b and y, if not -1, in that of x.

    The rows of both clusters, as they would be, are given in two parts each.
    """
    k, a, label, bits, total = state.asked[0], state.label[x], state.label, state.bits, 0
    published = False
    for z in image:
        published |= (b if z == x else label[z]) >= 0
    for i in range(bits.shape[1] if published else 0):
        word = ~np.uint64(0)
        for z in image:
            c = b if z == x else a if z == y else label[z]
            if c < 0:
                continue
            if c == a:
                word &= rows_a[0][i] | rows_a[1][i]
            elif c == b:
                word &= rows_b[0][i] | rows_b[1][i]
            else:
                word &= bits[c, i]
        total += weigh(word, 64 * i, k - total, weights)
        if total >= k:
            return False
    return total > 0


@inner
def _stands_for_one(cluster: int, image: Array, label: Array) -> bool:
    for x in image:
        if label[x] == cluster:
            return True
    return False


@inner
def refuse(x: int, state: State, rows: Rows, space: Space) -> None:
    """Mark in ``refused`` each cluster to which a move would gain, but make a constraint rare."""
    a, label, size, gains, refused = state.label[x], state.label, state.size, space.gains, space.refused
    weights, bits, left, brought = rows.weights, state.bits, space.left[0], space.brought[0]
    n, empty, nobody = min(state.top[0] + 1, len(size)), first_empty(state), np.int64(-1)
    kept = (left, left)
    for b in range(n):  # others are not asked for
        refused[b] = gains[b] <= 0.0 or b == a or (size[b] == 0 and b != empty)
    mark_rows(x, np.int64(0), state, rows, space)
    for constraint in range(len(state.met)):
        image = state.itemsets[state.bounds[constraint] : state.bounds[constraint + 1]]
        holds_x = False
        for y in image:
            holds_x |= y == x
        if holds_x:
            for b in range(n):
                if not refused[b]:
                    refused[b] = _is_rare(image, x, nobody, b, kept, (bits[b], brought), state, weights)
            continue
        holds_a = a >= 0 and _stands_for_one(a, image, label)
        if not holds_a and state.met[constraint]:
            continue
        if holds_a and _is_rare(image, x, nobody, nobody, kept, kept, state, weights):
            for b in range(n):
                refused[b] = refused[b] or not _stands_for_one(b, image, label)
        for y in image:
            b = label[y]
            if b >= 0 and not refused[b]:
                refused[b] = _is_rare(image, x, nobody, b, kept, (bits[b], brought), state, weights)


@inner
def constraints_stay(x: int, y: int, state: State, rows: Rows, space: Space) -> bool:
    """Whether no constraint gets rare when x, of which the rows are marked, is exchanged with y."""
    a, b, label, left, brought = state.label[x], state.label[y], state.label, space.left, space.brought
    mark_rows(y, np.int64(1), state, rows, space)
    rows_a, rows_b = (left[0], brought[1]), (left[1], brought[0])
    for constraint in range(len(state.met)):
        image = state.itemsets[state.bounds[constraint] : state.bounds[constraint + 1]]
        if _stands_for_one(a, image, label) or _stands_for_one(b, image, label):
            if _is_rare(image, x, y, b, rows_a, rows_b, state, rows.weights):
                return False
    return True
