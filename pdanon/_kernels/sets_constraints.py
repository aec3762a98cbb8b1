"""Kernels that tell whether constraints get rare when an item moves, or two items are exchanged.

Nothing is moved for that: the rows of the clusters are there as bits, and so are those that an item brings,
and those that its cluster has left without it. A move can make only these constraints rare: those that hold
the item, or another item of its cluster, and those in no row yet.
"""

import cython
from cython.cimports.pdanon._kernels.sets_state import Rows, Space, State, first_empty, weigh

__all__: list[str] = []  # nothing is called from Python


def mark_rows(
    x: cython.longlong, side: cython.longlong, state: State, rows: Rows, space: Space
) -> cython.void:
    """Mark the rows of an item, and those that its cluster has without it, on one side of an exchange."""
    a = state.label[x]
    for i in range(state.bits.shape[1]):
        space.brought[side, i] = 0
        space.left[side, i] = state.bits[a, i] if a >= 0 else 0
    for slot in range(rows.starts[x], rows.starts[x + 1]):
        row: cython.longlong = rows.tids[slot]
        bit: cython.ulonglong = cython.cast(cython.ulonglong, 1) << (row & 63)
        space.brought[side, row >> 6] |= bit
        for position in range(rows.offsets[row], rows.offsets[row + 1]):
            y = rows.codes[position]
            if y != x and state.label[y] == a:
                break
        else:
            space.left[side, row >> 6] &= ~bit


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _changed_word(
    i: cython.Py_ssize_t,
    c: cython.longlong,
    a: cython.longlong,
    b: cython.longlong,
    exchanged: cython.bint,
    state: State,
    space: Space,
) -> cython.ulonglong:
    """A word of the rows of cluster c, as they would be with the first item in b, not a, or exchanged."""
    if c == a:
        return space.left[0, i] | (space.brought[1, i] if exchanged else 0)
    if c == b:
        return (space.left[1, i] if exchanged else state.bits[b, i]) | space.brought[0, i]
    return state.bits[c, i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_rare(
    constraint: cython.longlong,
    x: cython.longlong,
    y: cython.longlong,
    b: cython.longlong,
    state: State,
    rows: Rows,
    space: Space,
) -> cython.bint:
    """Whether a constraint would be rare with x in cluster b and y, if not -1, in that of x."""
    a: cython.longlong = state.label[x]
    c: cython.longlong
    start, stop = state.bounds[constraint], state.bounds[constraint + 1]
    k: cython.longlong = state.k
    total: cython.longlong = 0
    published: cython.bint = False
    i: cython.Py_ssize_t
    for position in range(start, stop):
        z = state.itemsets[position]
        if (b if z == x else state.label[z]) >= 0:
            published = True
    for i in range(state.bits.shape[1] if published else 0):
        word: cython.ulonglong = ~cython.cast(cython.ulonglong, 0)
        for position in range(start, stop):
            z = state.itemsets[position]
            c = b if z == x else a if z == y else state.label[z]
            if c >= 0:
                word &= _changed_word(i, c, a, b, y >= 0, state, space)
        total += weigh(word, 64 * i, k - total, rows)
        if total >= k:
            return False
    return total > 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _stands_for_one(cluster: cython.longlong, constraint: cython.longlong, state: State) -> cython.bint:
    for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
        if state.label[state.itemsets[position]] == cluster:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _holds(item: cython.longlong, constraint: cython.longlong, state: State) -> cython.bint:
    for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
        if state.itemsets[position] == item:
            return True
    return False


def refuse(x: cython.longlong, state: State, rows: Rows, space: Space) -> cython.void:
    """Mark in ``refused`` each cluster to which a move would gain, but make a constraint rare."""
    a = state.label[x]
    empty = first_empty(state)
    n: cython.longlong = min(state.top + 1, state.size.shape[0])
    constraint: cython.longlong
    for b in range(n):  # others are not asked for
        space.refused[b] = space.gains[b] <= 0.0 or b == a or (state.size[b] == 0 and b != empty)
    mark_rows(x, 0, state, rows, space)
    for constraint in range(state.met.shape[0]):
        if _holds(x, constraint, state):
            for b in range(n):
                if not space.refused[b]:
                    space.refused[b] = _is_rare(constraint, x, -1, b, state, rows, space)
            continue
        holds_a: cython.bint = a >= 0 and _stands_for_one(a, constraint, state)
        if not holds_a and state.met[constraint]:
            continue
        if holds_a and _is_rare(constraint, x, -1, -1, state, rows, space):
            for b in range(n):
                space.refused[b] = space.refused[b] or not _stands_for_one(b, constraint, state)
        for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
            b = state.label[state.itemsets[position]]
            if b >= 0 and not space.refused[b]:
                space.refused[b] = _is_rare(constraint, x, -1, b, state, rows, space)


def constraints_stay(
    x: cython.longlong, y: cython.longlong, state: State, rows: Rows, space: Space
) -> cython.bint:
    """Whether no constraint gets rare when x, of which the rows are marked, is exchanged with y."""
    a, b = state.label[x], state.label[y]
    constraint: cython.longlong
    mark_rows(y, 1, state, rows, space)
    for constraint in range(state.met.shape[0]):
        if _stands_for_one(a, constraint, state) or _stands_for_one(b, constraint, state):
            if _is_rare(constraint, x, y, b, state, rows, space):
                return False
    return True
