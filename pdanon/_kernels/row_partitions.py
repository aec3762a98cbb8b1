"""Partitions of rows into groups around each row with a sensitive item."""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    longlong as int64,
    nogil,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Numbers,
    int32s,
    int64s,
    uint8s,
)
from numpy.typing import NDArray

__all__ = ["SensitiveGroups", "form"]

Array = NDArray[Any]

FARTHEST = declare(int64, 2**62)  # above the keys of rows


# --- CAHD: groups of a row with a sensitive item and p - 1 similar rows
#
# Rows come in an order where neighbors are similar, and are identified by their position in it. The rows
# without a group form a doubly linked list.


@final
@cclass
class SensitiveGroups:
    """Rows, the groups formed so far, and work space."""

    # A group has p rows, and each sensitive item at most once. Candidates are ``width`` rows on each side of
    # a row. Public and sensitive items are numbered separately.

    p: int64
    width: Py_ssize_t
    offsets: Numbers
    codes: Codes  # public items of each row
    starts: Numbers  # of the rows with each public item, in ``holders``
    holders: Codes
    secret_offsets: Numbers
    secrets: Codes  # sensitive items of each row
    left: int64s  # number of rows without a group that contain each sensitive item
    nearest: bint  # whether the nearest rows are searched among all rows
    group_of = declare(int64s, visibility="readonly")  # -1: none
    before: int64s  # the previous row without a group; -1 at the beginning
    after: int64s  # the next one; the number of rows at the end
    pivots: int64s  # rows with a sensitive item and without a group at the start of the pass
    n_pivots: Py_ssize_t
    turn: Py_ssize_t  # position of the current pivot in ``pivots``
    formed: bint  # whether this pass has made a group
    n_groups: int64
    remaining: int64  # number of rows without a group
    marked: uint8s  # flags of the public items of the pivot
    taken: int64s  # the last try that chose a row with the sensitive item
    tries: int64
    chosen: int64s  # rows of the current group
    longest: int64  # largest number of public items of a row
    shared: int32s  # number of items that each row shares with the pivot; 0 between two pivots
    near: int64s  # those rows; then a heap of the keys of candidates
    nearest_free: int64s  # a heap of the least keys of rows without a sensitive item, negated

    def __init__(
        self,
        p: int,
        width: int,
        offsets: Array,
        codes: Array,
        starts: Array,
        holders: Array,
        secret_offsets: Array,
        secrets: Array,
        left: Array,
        nearest: bool,
    ) -> None:
        n_rows = len(offsets) - 1
        self.p, self.width = p, width
        self.offsets, self.codes, self.starts, self.holders = offsets, codes, starts, holders
        self.secret_offsets, self.secrets = secret_offsets, secrets
        self.left, self.nearest = left.copy(), nearest
        self.group_of = np.full(n_rows, -1, np.int64)
        self.before, self.after = np.arange(-1, n_rows - 1), np.arange(1, n_rows + 1)
        self.pivots = np.flatnonzero(np.diff(secret_offsets))
        self.n_pivots = len(self.pivots)
        self.turn, self.formed, self.n_groups, self.remaining = 0, False, 0, n_rows
        self.marked = np.zeros(len(starts) - 1, np.uint8)
        self.taken, self.tries = np.zeros(len(left), np.int64), 0
        self.chosen = np.empty(p, np.int64)
        self.longest = int(np.diff(offsets).max(initial=0))
        self.shared, self.near = np.zeros(n_rows, np.int32), np.empty(n_rows, np.int64)
        self.nearest_free = np.empty(p - 1, np.int64)


def form(batch: Py_ssize_t, groups: SensitiveGroups) -> int:
    """Try to form a group around each of the next ``batch`` pivots; return the number tried, 0 at the end."""
    done: Py_ssize_t = 0
    with nogil:
        while done < batch:
            if groups.turn == groups.n_pivots:
                if not groups.formed:
                    break
                _begin_pass(groups)
                continue
            _form_group(groups.pivots[groups.turn], groups)
            groups.turn += 1
            done += 1
    return done


@cfunc
@nogil
@exceptval(check=False)
def _begin_pass(groups: SensitiveGroups) -> void:
    """Begin a pass over the pivots without a group."""
    # A pivot that failed may succeed now: fewer rows are left, and so fewer sensitive items conflict.
    n: Py_ssize_t = 0
    for i in range(groups.n_pivots):
        if groups.group_of[groups.pivots[i]] < 0:
            groups.pivots[n] = groups.pivots[i]
            n += 1
    groups.n_pivots, groups.turn, groups.formed = n, 0, False


@cfunc
@nogil
@exceptval(check=False)
def _form_group(row: Py_ssize_t, groups: SensitiveGroups) -> void:
    """Form a group around a row, if there are enough rows and the remaining rows stay safe."""
    n = 1
    if groups.group_of[row] >= 0:
        return
    groups.tries += 1
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        groups.marked[groups.codes[place]] = True
    groups.chosen[0] = row
    _note_secrets(row, groups)
    groups.group_of[row] = groups.n_groups
    if groups.nearest:
        n = _choose(row, _list_nearest(row, groups), n, groups)
    if n < groups.p:
        n_listed = _list_neighbors(row, groups)
        if n + n_listed >= groups.p:
            groups.tries += 1  # the listed neighbors share no sensitive item
            n = _choose(row, n_listed, n, groups)
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        groups.marked[groups.codes[place]] = False
    if n == groups.p and _is_safe(groups):
        for i in range(n):
            _unlink(groups.chosen[i], groups)
        groups.remaining -= n
        groups.n_groups += 1
        groups.formed = True
        return
    for i in range(n):
        groups.group_of[groups.chosen[i]] = -1


@cfunc
@nogil
@exceptval(check=False)
def _note_secrets(row: Py_ssize_t, groups: SensitiveGroups) -> void:
    """Note that the sensitive items of a row are in the group or among its candidates."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        groups.taken[groups.secrets[place]] = groups.tries


@cfunc
@nogil
@exceptval(check=False)
def _conflicts(row: Py_ssize_t, groups: SensitiveGroups) -> bint:
    """Return whether a row has a sensitive item that is already taken."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        if groups.taken[groups.secrets[place]] == groups.tries:
            return True
    return False


@cfunc
@nogil
@exceptval(check=False)
def _is_safe(groups: SensitiveGroups) -> bint:
    """Return whether the remaining rows can still form one group; if so, count their sensitive items."""
    # No sensitive item may be in more than one p-th of the remaining rows.
    most = (groups.remaining - groups.p) // groups.p
    safe = True
    _count_secrets(-1, groups)
    for item in range(groups.left.shape[0]):
        if groups.left[item] > most:
            safe = False
            break
    if not safe:
        _count_secrets(1, groups)
    return safe


@cfunc
@nogil
@exceptval(check=False)
def _count_secrets(change: int64, groups: SensitiveGroups) -> void:
    """Add ``change`` to the counts of the sensitive items of the group."""
    for i in range(groups.p):
        row = groups.chosen[i]
        for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
            groups.left[groups.secrets[place]] += change


@cfunc
@nogil
@exceptval(check=False)
def _unlink(row: Py_ssize_t, groups: SensitiveGroups) -> void:
    """Remove a row from the list of rows without a group."""
    before = groups.before[row]
    after = groups.after[row]
    if before >= 0:
        groups.after[before] = after
    if after < groups.before.shape[0]:
        groups.before[after] = before


# --- Candidates, each with a key: how far it is from the pivot


@cfunc
@nogil
@exceptval(check=False)
def _choose(row: Py_ssize_t, n: Py_ssize_t, n_chosen: int64, groups: SensitiveGroups) -> int64:
    """Choose candidates by the n keys listed, the least first; return the size of the group."""
    for i in range(n // 2 - 1, -1, -1):
        _sink(i, n, groups.near)
    while n_chosen < groups.p and n:
        candidate = _row_at(groups.near[0], row, groups)
        n -= 1
        groups.near[0] = groups.near[n]
        _sink(0, n, groups.near)
        if not _conflicts(candidate, groups):
            _note_secrets(candidate, groups)
            groups.chosen[n_chosen] = candidate
            groups.group_of[candidate] = groups.n_groups
            n_chosen += 1
    return n_chosen


@cfunc
@nogil
@exceptval(check=False)
def _key(other: Py_ssize_t, row: Py_ssize_t, differing: int64, groups: SensitiveGroups) -> int64:
    """Return a key to compare rows by: number of differing items, then distance, then side."""
    # The key also encodes the row; see ``_row_at``.
    far = 2 * (other - row) if other > row else 2 * (row - other) - 1
    return differing * 2 * groups.before.shape[0] + far


@cfunc
@nogil
@exceptval(check=False)
def _row_at(key: int64, row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """Return the row with this key."""
    far = key % (2 * groups.before.shape[0])
    return row - (far + 1) // 2 if far % 2 else row + far // 2


@cfunc
@nogil
@exceptval(check=False)
def _list_neighbors(row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """List the keys of candidates on both sides of a row, without conflicts; return their number."""
    n: Py_ssize_t = 0
    n_rows = groups.before.shape[0]
    before = groups.before[row]
    after = groups.after[row]
    room_before = groups.width
    room_after = groups.width
    while (before >= 0 and room_before) or (after < n_rows and room_after):
        is_before: bint = before >= 0 and room_before > 0
        if is_before and after < n_rows and room_after and after - row < row - before:
            is_before = False
        if is_before:
            candidate = before
            before = groups.before[before]
        else:
            candidate = after
            after = groups.after[after]
        if groups.group_of[candidate] >= 0 or _conflicts(candidate, groups):
            continue
        if is_before:
            room_before -= 1
        else:
            room_after -= 1
        _note_secrets(candidate, groups)
        groups.near[n] = _key(candidate, row, _count_differing(row, candidate, groups), groups)
        n += 1
    return n


@cfunc
@nogil
@exceptval(check=False)
def _count_differing(row: Py_ssize_t, other: Py_ssize_t, groups: SensitiveGroups) -> int64:
    """Count the public items that only one of two rows has; the first is the pivot."""
    # If only neighbors are compared, it is the number of items that they do not share, of the longest row.
    n: int64 = 0
    for place in range(groups.offsets[other], groups.offsets[other + 1]):
        n += groups.marked[groups.codes[place]]
    return _length(row, groups) + _length(other, groups) - 2 * n if groups.nearest else groups.longest - n


@cfunc
@nogil
@exceptval(check=False)
def _length(row: Py_ssize_t, groups: SensitiveGroups) -> int64:
    """Return the number of public items of a row."""
    return groups.offsets[row + 1] - groups.offsets[row]


# --- Nearest rows, anywhere in the order: count the items that each row shares with the pivot


@cfunc
@nogil
@exceptval(check=False)
def _list_nearest(row: Py_ssize_t, groups: SensitiveGroups) -> Py_ssize_t:
    """List the keys of the rows without a group that may be among the nearest; return their number."""
    # They share a public item with the row. Rows are not listed if p - 1 rows without a sensitive item, which
    # never conflict, are nearer.
    n: Py_ssize_t = 0
    n_rows: Py_ssize_t = 0
    for i in range(groups.p - 1):
        groups.nearest_free[i] = -FARTHEST
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        item: Py_ssize_t = groups.codes[place]
        for slot in range(groups.starts[item], groups.starts[item + 1]):
            other = groups.holders[slot]
            if groups.shared[other] == 0:
                groups.near[n_rows] = other
                n_rows += 1
            groups.shared[other] += 1
    for i in range(n_rows):
        other = groups.near[i]
        if groups.group_of[other] < 0:
            differing = _length(row, groups) + _length(other, groups) - 2 * groups.shared[other]
            key = _key(other, row, differing, groups)
            if key <= -groups.nearest_free[0]:
                groups.near[n] = key
                n += 1
                if groups.secret_offsets[other] == groups.secret_offsets[other + 1]:
                    groups.nearest_free[0] = -key
                    _sink(0, groups.p - 1, groups.nearest_free)
        groups.shared[other] = 0
    return n


@cfunc
@nogil
@exceptval(check=False)
def _sink(place: Py_ssize_t, n: Py_ssize_t, heap: int64s) -> void:
    """Move an entry of a min-heap down to its position."""
    entry = heap[place]
    below = 2 * place + 1
    while below < n:
        if below + 1 < n and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[place] = heap[below]
        place, below = below, 2 * below + 1
    heap[place] = entry
