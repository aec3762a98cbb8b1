"""Kernels that part a cluster in two, several items at once, where no single item could leave it.

For a small cluster it is proven first, in most cases, that this cannot be. Otherwise
the items that are worth most form the new cluster, half of what is held. Then items change sides as long as
less is lacking. If in the end nothing is, and less is lost, the parts stay; else all items go back.
"""

import cython
from cython.cimports.pdanon._kernels.arrays import Number
from cython.cimports.pdanon._kernels.sets_moves import clear, price_of_two, tally
from cython.cimports.pdanon._kernels.sets_state import Rows, Space, State, changed, first_empty, move_to

__all__ = ["split_each"]

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
    held: cython.longlong
    j: cython.longlong
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
    """Part some clusters, one after the other, where that is safe and a gain; return how many.

    With ``any_rows`` those too whose parts have to share rows, of which there are too few for each.
    """
    done: cython.longlong = 0
    with cython.nogil:
        for i in range(clusters.shape[0]):
            done += _split(clusters[i], order, any_rows, state, rows, space)
    return done
