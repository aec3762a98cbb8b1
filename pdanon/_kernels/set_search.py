"""Moves of a refinement: move one item, split a cluster, or swap two items, while nothing becomes rare.

All supports are 0 or at least k between two moves. So a move can only make two kinds of support rare: those
of the cluster that an item leaves, and those with a cluster that its new cluster shared no row with before.
The checks visit the clusters, or pairs of clusters, in the rows of the item. If more items may be known, a
move that passes them is checked by ``rare_clusters``.
"""

import numpy as np
from cython import (
    bint,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    void,
)
from cython.cimports.pdanon._kernels.counting import Code, Numbers, Rows, int64s
from cython.cimports.pdanon._kernels.set_moves import (
    Space,
    State,
    Tallies,
    changed,
    clear,
    constraints_stay,
    fill_gains,
    first_empty,
    joining_keeps_larger,
    keeps_larger,
    leaving_keeps_larger,
    list_broken,
    list_few,
    list_pairs,
    mark_rows,
    meets_new,
    meets_new_pair,
    move_to,
    note,
    price_of_two,
    refuse,
    spot,
    tally,
    tally_pairs,
)

__all__ = ["descend", "split_each", "swap_each"]


# --- Moves of single items, each to the cluster with the largest gain


@cfunc
@nogil
@exceptval(check=False)
def _move_keeps_triples(a: int64, b: int64, n_touched: int64, state: State, space: Space) -> bint:
    """Return whether no triple of a, b and a third cluster becomes rare when the item moves from a to b."""
    at_a = space.place[a] - 1
    at_b = space.place[b] - 1
    for i in range(n_touched):
        c = space.touched[i]
        if c in (a, b):
            continue
        change: int64 = space.joint[max(i, at_a), min(i, at_a)] if at_a >= 0 else 0
        if at_b >= 0:
            change -= space.joint[max(i, at_b), min(i, at_b)]
        if 0 < state.cube[spot(a, b, c)] + change < state.k:
            return False
    return True


@cfunc
@nogil
@exceptval(check=False)
def _is_in_each_pair(b: int64, n_broken: int64, space: Space) -> bint:
    """Return whether b is in each pair of clusters that becomes rare with the item's own cluster."""
    for i in range(n_broken):
        if space.broken_pairs[i, 0] != b and space.broken_pairs[i, 1] != b:
            return False
    return True


@cfunc
@nogil
@exceptval(check=False)
def _best_target(x: int64, state: State, rows: Rows, space: Space) -> int64:
    """Find the cluster with the largest gain that an item can safely move to; return -1 if there is none.

    Of equal gains the cluster with the lowest number wins, and an empty cluster comes last.
    """
    a = state.label[x]
    if a >= 0 and state.size[a] == state.mass[x]:
        return -1
    n_touched, lost = tally(x, state.label, rows, space)
    # If a cluster becomes rare with a when the item leaves, only that cluster may receive the item.
    n_broken = list_broken(a, n_touched, state, space)
    n_few = list_few(a, n_touched, state, space)
    n_pairs = -1
    n_few_pairs = 0
    n_broken_pairs = 0
    best = -1
    most = 0.0
    leaves: int32 = -1  # whether leaving makes no larger itemset rare; -1: unknown
    gets_rare: bint = state.largest > 0 and a >= 0 and 0 < state.support[a] - lost < state.k
    stays: bint = n_broken > 1 or gets_rare
    if not stays:
        fill_gains(x, lost, state, space)
        if state.largest == 0:
            refuse(x, state, rows, space)
    for i in range(0 if stays else state.top + 1):
        b = i if i < state.top else first_empty(state.top, state.size)
        if i == state.top and (b < 0 or (state.largest and state.singles[x] < state.k)):
            break
        if i < state.top and (b == a or state.size[b] == 0 or state.home[b] != state.block[x]):
            continue
        if space.gains[b] <= most or (n_broken and space.broken[0] != b):
            continue
        if state.largest >= 2 and a >= 0:
            if 0 < state.co[a, b] + space.beside[a] - space.beside[b] < state.k:
                continue
        if meets_new(b, space.few, n_few, state):
            continue
        if state.largest == 0 and space.refused[b]:
            continue
        if state.largest == 3:
            if n_pairs < 0:  # counted late: few items reach this check
                n_pairs = tally_pairs(x, state.label, rows, space)
                n_few_pairs, n_broken_pairs = list_pairs(a, n_pairs, state, space)
            if not _is_in_each_pair(b, n_broken_pairs, space):
                continue
            if meets_new_pair(b, space.few_pairs, n_few_pairs, state):
                continue
            if a >= 0 and not _move_keeps_triples(a, b, n_touched, state, space):
                continue
        if space.larger is not None:
            if leaves < 0:  # counted late, and the same for all targets
                leaves = leaving_keeps_larger(x, state, space)
            if space.refused[b] or not joining_keeps_larger(x, b, leaves, state, space):
                continue
        best, most = b, space.gains[b]
    clear(n_touched, n_pairs, space)
    return best


def descend(order: Numbers, state: State, rows: Rows, space: Space) -> None:
    """Apply the best safe move of each item that is awake, in the given order.

    An item without a safe move with a gain falls asleep until its cluster changes.
    """
    with nogil:
        for i in range(order.shape[0]):
            x = order[i]
            if state.asleep[x]:
                continue
            a = state.label[x]
            b = _best_target(x, state, rows, space)
            if b >= 0:
                move_to(x, b, state, rows, space)
                changed(a, state)
                changed(b, state)
            else:
                state.asleep[x] = True


# --- Splits: split a cluster in two where no single item can leave it
#
# The items with the largest worth form the new cluster, up to half of the sum. Then items change sides while
# that lowers the missing support. If nothing is rare in the end and the loss is lower, the parts stay;
# otherwise all items go back.


PASSES = declare(int32, 6)


@cfunc
@nogil
@exceptval(check=False)
def _may_split(c: int64, state: State) -> bint:
    """Return whether the parts of a cluster could have enough rows if almost no row contains both.

    A filter: the parts of most clusters cannot. ``split_each`` skips it with ``any_rows``.
    """
    together: int64
    if state.largest and state.support[c] < 2 * state.k:
        return False
    for d in range(state.top if state.largest >= 2 else 0):
        together = state.co[c, d]
        if 0 < 2 * together < 3 * state.k:
            return False
    return True


@cfunc
@nogil
@exceptval(check=False)
def _distribute(n: int64, c: int64, new: int64, state: State, rows: Rows, space: Space) -> void:
    """Distribute the first n members over two clusters until nothing is rare.

    Give up after ``PASSES`` passes, or when a pass does not halve the missing support.
    """
    half = state.held[c] // 2
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


@cfunc
@nogil
@exceptval(check=False)
def _split_keeps_larger(n: int64, c: int64, new: int64, state: State, space: Space) -> bint:
    """Return whether no larger itemset is rare after some of the first n members moved from c to new."""
    n_moved: int64 = 0
    for i in range(n if space.larger is not None else 0):
        if state.label[space.members[i]] == new:
            space.larger.moved[n_moved] = space.members[i]
            n_moved += 1
    return keeps_larger(c, new, n_moved, state, space)


@cfunc
@nogil
@exceptval(check=False)
def _split(c: int64, order: Numbers, any_rows: bint, state: State, rows: Rows, space: Space) -> bint:
    """Split a cluster in two if that is safe and lowers the loss; return whether it was split."""
    new, top = first_empty(state.top, state.size), state.top
    if new < 0 or state.size[c] < 2 or state.tried[c] or not (any_rows or _may_split(c, state)):
        return False
    n: int64 = 0
    scale = state.size[c]
    for i in range(order.shape[0]):
        if state.label[order[i]] == c:
            space.members[n] = order[i]
            n += 1
    before = price_of_two(c, new, scale, state)
    _distribute(n, c, new, state, rows, space)
    # A margin: rounding errors must not count as gains, or steps could alternate forever.
    gains: bint = price_of_two(c, new, scale, state) < before - 1e-12 * before
    if state.lack == 0 and gains and _split_keeps_larger(n, c, new, state, space):
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
    clusters: Numbers,
    order: Numbers,
    any_rows: bint,
    state: State,
    rows: Rows,
    space: Space,
) -> int:
    """Split clusters, one after the other, where that is safe and lowers the loss; return their number.

    With ``any_rows``, also try clusters whose parts have enough rows only if many rows contain both.
    """
    done: int64 = 0
    with nogil:
        for i in range(clusters.shape[0]):
            done += _split(clusters[i], order, any_rows, state, rows, space)
    return done


# --- Swaps: exchange two items of two clusters where neither can move alone
#
# To make and revert an exchange takes long. So checks of the rows of the two items come first: they find
# almost all unsafe exchanges. The tallies reject most items even without reading their rows.


@final
@cclass
class Leaver:
    """Counts that an item would bring to another cluster, and that its own cluster would keep without it."""

    n_needing: int64
    n_lacking: int64
    n_tried: int64  # exchanges tried, of all leavers
    beside: int64s  # rows that contain it and another item of each cluster
    kept: int64s  # rows of its own cluster and each other one, without it
    needing: int64s  # clusters that become rare with its own
    needs: int64s  # whether a cluster is in ``needing``
    lacking: int32[:, ::1]  # pairs of clusters that become rare with its own
    left: int64s  # rows of its own cluster and each such pair, without it

    def __init__(self, slots: int, pairs: int) -> None:
        self.beside, self.kept, self.needing, self.needs = np.zeros((4, slots), np.int64)
        self.lacking = np.empty((pairs, 2), np.int32)
        self.left, self.n_tried = np.empty(pairs, np.int64), 0


@cfunc
@nogil
@exceptval(check=False)
def _joint(c: int64, d: int64, joint: Code[:, ::1], space: Space) -> int64:
    """Return the support of two clusters in the rows of the current item.

    ``joint`` is ``space.joint`` or ``space.lone``.
    """
    one = space.place[c] - 1
    other = space.place[d] - 1
    return joint[max(one, other), min(one, other)] if min(one, other) >= 0 else 0


@cfunc
@nogil
@exceptval(check=False)
def _fill_leaver(x: int64, leaver: Leaver, state: State, rows: Rows, space: Space) -> void:
    """Count the rows of an item, and store the counts in the leaver."""
    a = state.label[x]
    n_touched, _ = tally(x, state.label, rows, space)
    n_pairs = 0
    if state.largest == 3:
        n_pairs = tally_pairs(x, state.label, rows, space)
    _, leaver.n_lacking = list_pairs(a, n_pairs, state, space)
    for i in range(leaver.n_lacking):
        c, d = space.broken_pairs[i, 0], space.broken_pairs[i, 1]
        leaver.lacking[i, 0], leaver.lacking[i, 1] = c, d
        leaver.left[i] = state.cube[spot(a, c, d)] - _joint(c, d, space.lone, space)
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


@cfunc
@inline
@nogil
@exceptval(check=False)
def _brings_few(c: int64, beside: int64, leaver: Leaver, state: State) -> bint:
    """Return whether c would become rare with the leaver's cluster.

    ``beside`` is the support of c in the rows of the replacing item.
    """
    return leaver.kept[c] + beside < state.k


@cfunc
@inline
@nogil
@exceptval(check=False)
def _leaves_few(c: int64, b: int64, alone: int64, leaver: Leaver, state: State) -> bint:
    """Return whether c would become rare with b.

    ``alone`` is the support of c in the rows where the replacing item is the only item of b.
    """
    return 0 < state.co[b, c] - alone + leaver.beside[c] < state.k


@cfunc
@nogil
@exceptval(check=False)
def _n_required(b: int64, then: int64, leaver: Leaver, state: State) -> int64:
    """Count the clusters that the replacing item must share a row with.

    Without such a row they become rare with the leaver's cluster. Clusters changed after ``then`` do not
    count.
    """
    n: int64 = 0
    for i in range(leaver.n_needing):
        c = leaver.needing[i]
        n += c != b and state.since[c] <= then
    return n


@cfunc
@nogil
@exceptval(check=False)
def _is_known_unfit(y: int64, a: int64, leaver: Leaver, tallies: Tallies, state: State) -> bint:
    """Return whether the stored tally of an item proves that an exchange makes a pair of clusters rare.

    The entry with the proof moves to the front: it probably also rules out an exchange with the next leaver.
    """
    b, then = state.label[y], tallies.when[y]
    knows_own: bint = state.since[b] <= then
    c: int64
    n_met: int64 = 0
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
    return n_met < _n_required(b, then, leaver, state) if tallies.is_whole[y] else False


@cfunc
@nogil
@exceptval(check=False)
def _swap_keeps_pairs(
    y: int64,
    a: int64,
    leaver: Leaver,
    n_touched: int64,
    state: State,
    space: Space,
) -> bint:
    """Return whether the exchange can leave all pairs of clusters safe.

    The check uses the rows of each of the two items separately. So it is necessary, but not sufficient.
    """
    b = state.label[y]
    # The support of a union lies between the larger support and the sum of the two.
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


@cfunc
@nogil
@exceptval(check=False)
def _swap_keeps_triples(
    y: int64,
    a: int64,
    leaver: Leaver,
    n_pairs: int64,
    state: State,
    space: Space,
) -> bint:
    """Return whether the exchange can leave all triples of clusters safe; see ``_swap_keeps_pairs``."""
    b = state.label[y]
    for i in range(leaver.n_lacking):
        c, d = leaver.lacking[i, 0], leaver.lacking[i, 1]
        if c != b and d != b and leaver.left[i] + _joint(c, d, space.joint, space) < state.k:
            return False
    n_few, n_broken = list_pairs(b, n_pairs, state, space)
    for i in range(n_broken):
        c, d = space.broken_pairs[i, 0], space.broken_pairs[i, 1]
        left = state.cube[spot(b, c, d)] - _joint(c, d, space.lone, space)
        if c != a and d != a and left + min(leaver.beside[c], leaver.beside[d]) < state.k:
            return False
    return not meets_new_pair(a, space.few_pairs, n_few, state)


@cfunc
@nogil
@exceptval(check=False)
def _may_replace(
    y: int64,
    x: int64,
    leaver: Leaver,
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> bint:
    """Return whether an item can possibly replace the leaver x."""
    if state.largest == 0:
        return constraints_stay(x, y, state, rows, space)
    a = state.label[x]
    if _is_known_unfit(y, a, leaver, tallies, state):
        return False
    n_touched, _ = tally(y, state.label, rows, space)
    note(y, n_touched, tallies, state, space)
    n_pairs = 0
    safe = _swap_keeps_pairs(y, a, leaver, n_touched, state, space)
    if safe and state.largest == 3:
        n_pairs = tally_pairs(y, state.label, rows, space)
        safe = _swap_keeps_triples(y, a, leaver, n_pairs, state, space)
    clear(n_touched, n_pairs, space)
    return safe


@cfunc
@nogil
@exceptval(check=False)
def _exchange(x: int64, y: int64, state: State, rows: Rows, space: Space) -> bint:
    """Exchange two items if that is safe and lowers the loss; return whether they were exchanged."""
    a, b = state.label[x], state.label[y]
    scale = max(state.size[a], state.size[b])
    before = price_of_two(a, b, scale, state)
    move_to(x, b, state, rows, space)
    move_to(y, a, state, rows, space)
    # A margin: rounding errors must not count as gains, or steps could alternate forever.
    if space.larger is not None:
        space.larger.moved[0] = x
        space.larger.moved[1] = y
    gains: bint = price_of_two(a, b, scale, state) < before - 1e-12 * before
    if state.lack == 0 and gains and keeps_larger(a, b, 2, state, space):
        changed(a, state)
        changed(b, state)
        return True
    move_to(y, b, state, rows, space)
    move_to(x, a, state, rows, space)
    return False


@cfunc
@nogil
@exceptval(check=False)
def _replace_leaver(
    x: int64,
    starts: Numbers,
    leaver: Leaver,
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> bint:
    """Exchange the leaver x with the first item that fits; return whether one does.

    An item fits if the exchange is safe and lowers the loss.
    """
    a = state.label[x]
    by_support: bint = state.loss == 2
    for b in range(state.top):
        if b == a or state.size[b] == 0 or state.home[b] != state.block[x]:
            continue
        if state.size[b] >= state.size[a] and not by_support:
            continue  # NCP and LM fall only if the item of more worth gets to the smaller cluster
        if state.worth[space.members[starts[b]]] >= state.worth[x] and not by_support:
            continue
        for i in range(starts[b], starts[b + 1]):
            y = space.members[i]
            if state.worth[y] >= state.worth[x] and not by_support:
                break
            leaver.n_tried += 1
            if not _may_replace(y, x, leaver, tallies, state, rows, space):
                continue
            if _exchange(x, y, state, rows, space):
                return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _swap(
    x: int64,
    starts: Numbers,
    leaver: Leaver,
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> bint:
    """Exchange an item with one of another cluster if that is safe and lowers the loss.

    Return whether it was exchanged. ``members`` lists the members of each cluster by ascending worth.
    """
    a = state.label[x]
    if a < 0 or state.size[a] == 1:
        return False
    _fill_leaver(x, leaver, state, rows, space)
    if state.largest == 0:
        mark_rows(x, 0, state, rows, space)
    return _replace_leaver(x, starts, leaver, tallies, state, rows, space)


@cfunc
@nogil
@exceptval(check=False)
def _list_members(order: Numbers, starts: int64s, free: int64s, state: State, space: Space) -> void:
    """List the members of each cluster by ascending worth, and where each list starts."""
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
    items: Numbers,
    order: Numbers,
    tallies: Tallies,
    state: State,
    rows: Rows,
    space: Space,
) -> int:
    """Exchange items, one by one, where that is safe and lowers the loss; return the number of tries."""
    slots = len(state.size)
    starts: int64s = np.zeros(slots + 1, np.int64)
    free: int64s = np.zeros(slots, np.int64)
    leaver = Leaver(slots, len(space.pairs))
    with nogil:
        _list_members(order, starts, free, state, space)
        for i in range(items.shape[0]):
            if _swap(items[i], starts, leaver, tallies, state, rows, space):
                _list_members(order, starts, free, state, space)
    return leaver.n_tried
