"""Partitions of rows: groups around each sensitive item, and clusters of rows that share terms."""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Number, grown
from numpy.typing import NDArray

__all__ = ["SensitiveGroups", "form", "split_rows"]

Array = NDArray[Any]


# --- CAHD: groups of a row with a sensitive item and p - 1 similar rows
#
# Rows come in an order where neighbors are similar, and are identified by their position in it. The rows
# without a group form a doubly linked list.


@cython.final
@cython.cclass
class SensitiveGroups:
    """Rows, the groups formed so far, and work space.

    Parameters
    ----------
    p : int
        Size of a group. A sensitive item occurs in it at most once.
    width : int
        Number of candidates on each side of a row.
    offsets, codes : ndarray of int64, int32
        Public items of each row.
    secret_offsets, secrets : ndarray of int64, int32
        Sensitive items of each row, numbered separately.
    starts, holders : ndarray of int64, int32
        The rows with each public item, if the nearest rows are searched; otherwise of no item.
    left : ndarray of int64
        Number of rows without a group that contain each sensitive item.
    """

    cython.declare(p=cython.longlong, width=cython.Py_ssize_t)
    offsets: Number[::1]
    codes: Code[::1]
    secret_offsets: Number[::1]
    secrets: Code[::1]
    starts: Number[::1]
    ends: cython.longlong[::1]  # end of the holders of each item that may still have no group
    cython.declare(holders=cython.int[::1], left=cython.longlong[::1])
    group_of = cython.declare(cython.longlong[::1], visibility="readonly")  # -1: none
    before: cython.longlong[::1]  # the previous row without a group; -1 at the beginning
    after: cython.longlong[::1]  # the next one; the number of rows at the end
    pivots: cython.longlong[::1]  # rows with a sensitive item and without a group at the start of the pass
    n_pivots: cython.Py_ssize_t
    turn: cython.Py_ssize_t  # position of the current pivot in ``pivots``
    formed: cython.bint  # whether this pass has made a group
    n_groups: cython.longlong
    remaining: cython.longlong  # number of rows without a group
    marked: cython.uchar[::1]  # flags of the public items of the pivot
    taken: cython.longlong[::1]  # the last try that chose a row with the sensitive item
    tries: cython.longlong
    chosen: cython.longlong[::1]  # rows of the current group
    candidates: cython.longlong[::1]
    likeness: cython.longlong[::1]  # similarity of each candidate to the pivot
    tally: cython.longlong[::1]  # number of candidates by similarity; 0 between two pivots
    longest: cython.longlong  # largest number of public items of a row
    shared: cython.longlong[::1]  # public items of each row shared with the pivot; 0 between two pivots
    near: cython.longlong[::1]  # rows where that is not 0; then a heap of their keys

    def __init__(
        self,
        p: int,
        width: int,
        offsets: Array,
        codes: Array,
        secret_offsets: Array,
        secrets: Array,
        starts: Array,
        holders: Array,
        left: Array,
        n_items: int,
    ) -> None:
        n_rows = len(offsets) - 1
        self.p, self.width = p, width
        self.offsets, self.codes = offsets, codes
        self.secret_offsets, self.secrets = secret_offsets, secrets
        self.starts, self.ends, self.holders = starts, starts[1:].copy(), holders.copy()
        self.left = left.copy()
        self.group_of = np.full(n_rows, -1, np.int64)
        self.before, self.after = np.arange(-1, n_rows - 1), np.arange(1, n_rows + 1)
        self.pivots = np.flatnonzero(np.diff(secret_offsets))
        self.n_pivots = len(self.pivots)
        self.turn, self.formed, self.n_groups, self.remaining = 0, False, 0, n_rows
        self.marked = np.zeros(n_items, np.uint8)
        self.taken, self.tries = np.zeros(len(left), np.int64), 0
        self.chosen = np.empty(p, np.int64)
        self.candidates, self.likeness = np.empty((2, 2 * width), np.int64)
        self.longest = int(np.diff(offsets).max(initial=0))
        self.tally = np.zeros(2 * self.longest + 1, np.int64)
        self.shared, self.near = np.zeros((2, n_rows if len(starts) > 1 else 0), np.int64)


def form(batch: cython.Py_ssize_t, groups: SensitiveGroups) -> int:
    """Try to form a group around each of the next ``batch`` pivots; return the number tried, 0 at the end."""
    done: cython.Py_ssize_t = 0
    with cython.nogil:
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin_pass(groups: SensitiveGroups) -> cython.void:
    """Begin a pass over the pivots without a group.

    A pivot that failed may succeed now: fewer rows are left, and so fewer sensitive items conflict.
    """
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    for i in range(groups.n_pivots):
        if groups.group_of[groups.pivots[i]] < 0:
            groups.pivots[n] = groups.pivots[i]
            n += 1
    groups.n_pivots, groups.turn, groups.formed = n, 0, False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _form_group(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.void:
    """Form a group around a row, if there are enough rows and the remaining rows stay safe."""
    n: cython.longlong = 1
    cython.declare(i=cython.Py_ssize_t, place=cython.Py_ssize_t)
    if groups.group_of[row] >= 0:
        return
    groups.tries += 1
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        groups.marked[groups.codes[place]] = True
    groups.chosen[0] = row
    _note_secrets(row, groups)
    groups.group_of[row] = groups.n_groups
    if groups.shared.shape[0]:
        n = _choose_nearest(row, groups)
    if n < groups.p:
        n = _choose_neighbors(row, n, groups)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _note_secrets(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.void:
    """Note that the sensitive items of a row are in the group or among its candidates."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        groups.taken[groups.secrets[place]] = groups.tries


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _conflicts(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.bint:
    """Return whether a row has a sensitive item that is already taken."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        if groups.taken[groups.secrets[place]] == groups.tries:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_safe(groups: SensitiveGroups) -> cython.bint:
    """Return whether the remaining rows can still form one group; if so, count their sensitive items.

    No sensitive item may be in more than one p-th of the remaining rows.
    """
    item: cython.Py_ssize_t
    most: cython.longlong = (groups.remaining - groups.p) // groups.p
    safe: cython.bint = True
    _count_secrets(-1, groups)
    for item in range(groups.left.shape[0]):
        if groups.left[item] > most:
            safe = False
            break
    if not safe:
        _count_secrets(1, groups)
    return safe


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_secrets(change: cython.longlong, groups: SensitiveGroups) -> cython.void:
    """Add ``change`` to the counts of the sensitive items of the group."""
    cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t)
    for i in range(groups.p):
        row = groups.chosen[i]
        for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
            groups.left[groups.secrets[place]] += change


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _unlink(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.void:
    """Remove a row from the list of rows without a group."""
    before: cython.Py_ssize_t = groups.before[row]
    after: cython.Py_ssize_t = groups.after[row]
    if before >= 0:
        groups.after[before] = after
    if after < groups.before.shape[0]:
        groups.before[after] = before


# --- Neighbors in the order


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose_neighbors(
    row: cython.Py_ssize_t, n_chosen: cython.longlong, groups: SensitiveGroups
) -> cython.longlong:
    """Choose the most similar candidates, as many as the group needs, or none; return the size of the group.

    A tie goes to the nearest candidate; candidates are listed by distance.
    """
    lacking: cython.longlong = groups.p - n_chosen
    least: cython.Py_ssize_t = groups.tally.shape[0] - 1
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = _list_neighbors(row, groups)
    if n < lacking:
        return n_chosen
    for i in range(n):
        groups.tally[groups.likeness[i]] += 1
    more: cython.longlong = 0  # candidates more similar than the last one to choose
    while more + groups.tally[least] < lacking:
        more += groups.tally[least]
        least -= 1
    for i in range(n):
        groups.tally[groups.likeness[i]] = 0
    equal: cython.longlong = lacking - more
    for i in range(n):
        if groups.likeness[i] < least or (groups.likeness[i] == least and equal == 0):
            continue
        if groups.likeness[i] == least:
            equal -= 1
        groups.chosen[n_chosen] = groups.candidates[i]
        groups.group_of[groups.candidates[i]] = groups.n_groups
        n_chosen += 1
    return n_chosen


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_neighbors(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.Py_ssize_t:
    """List candidates on both sides of a row by distance; return their number.

    A tie goes to the row before.
    """
    n: cython.Py_ssize_t = 0
    n_rows: cython.Py_ssize_t = groups.before.shape[0]
    before: cython.Py_ssize_t = groups.before[row]
    after: cython.Py_ssize_t = groups.after[row]
    room_before: cython.Py_ssize_t = groups.width
    room_after: cython.Py_ssize_t = groups.width
    candidate: cython.Py_ssize_t
    while (before >= 0 and room_before) or (after < n_rows and room_after):
        is_before: cython.bint = before >= 0 and room_before > 0
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
        groups.candidates[n], groups.likeness[n] = candidate, _likeness(candidate, groups)
        n += 1
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _likeness(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.longlong:
    """Return the similarity of a row to the pivot: the number of public items that both have.

    If the nearest rows are searched, it is twice that number, less the length of the row, plus the largest
    length. So it is the number of differing items, negated and shifted to be at least 0.
    """
    n: cython.longlong = 0
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        n += groups.marked[groups.codes[place]]
    return 2 * n - _length(row, groups) + groups.longest if groups.shared.shape[0] else n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _length(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.longlong:
    """Return the number of public items of a row."""
    return groups.offsets[row + 1] - groups.offsets[row]


# --- Nearest rows, anywhere in the order


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose_nearest(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.longlong:
    """Choose the rows that differ least from a row, among the rows that share an item with it.

    Return the size of the group, with the row itself.
    """
    n: cython.Py_ssize_t = _list_sharing(row, groups)
    n_chosen: cython.longlong = 1
    cython.declare(candidate=cython.Py_ssize_t, i=cython.Py_ssize_t)
    for i in range(n):
        candidate = groups.near[i]
        groups.near[i] = _remoteness(candidate, row, groups)
        groups.shared[candidate] = 0
    for i in range(n // 2 - 1, -1, -1):
        _sink(i, n, groups.near)
    while n_chosen < groups.p and n:
        candidate = _row_at(groups.near[0], row, groups)
        n -= 1
        groups.near[0] = groups.near[n]
        _sink(0, n, groups.near)
        if _conflicts(candidate, groups):
            continue
        _note_secrets(candidate, groups)
        groups.chosen[n_chosen] = candidate
        groups.group_of[candidate] = groups.n_groups
        n_chosen += 1
    return n_chosen


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_sharing(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.Py_ssize_t:
    """List the rows without a group that share a public item with a row; return their number.

    Count the shared items in ``shared``. Rows with a group are removed from the lists of holders.
    """
    n: cython.Py_ssize_t = 0
    item: cython.Py_ssize_t
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        item = groups.codes[place]
        kept: cython.Py_ssize_t = groups.starts[item]
        for slot in range(groups.starts[item], groups.ends[item]):
            holder: cython.Py_ssize_t = groups.holders[slot]
            if groups.group_of[holder] >= 0 and holder != row:
                continue
            groups.holders[kept] = holder
            kept += 1
            if holder == row:
                continue
            if groups.shared[holder] == 0:
                groups.near[n] = holder
                n += 1
            groups.shared[holder] += 1
        groups.ends[item] = kept
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _remoteness(other: cython.Py_ssize_t, row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.longlong:
    """Return a key to compare rows by: number of differing items, then distance, then side.

    The key also encodes the row; see ``_row_at``.
    """
    differing: cython.longlong = _length(other, groups) - 2 * groups.shared[other]  # up to a constant
    far: cython.longlong = 2 * (other - row) if other > row else 2 * (row - other) - 1
    return (differing + groups.longest) * 2 * groups.before.shape[0] + far


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _row_at(
    remoteness: cython.longlong, row: cython.Py_ssize_t, groups: SensitiveGroups
) -> cython.Py_ssize_t:
    """Return the row with this key."""
    far: cython.Py_ssize_t = remoteness % (2 * groups.before.shape[0])
    return row - (far + 1) // 2 if far % 2 else row + far // 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sink(place: cython.Py_ssize_t, n: cython.Py_ssize_t, heap: cython.longlong[::1]) -> cython.void:
    """Move an entry of a min-heap down to its position."""
    entry: cython.longlong = heap[place]
    below: cython.Py_ssize_t = 2 * place + 1
    while below < n:
        if below + 1 < n and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= entry:
            break
        heap[place] = heap[below]
        place, below = below, 2 * below + 1
    heap[place] = entry


# --- Horizontal partition of disassociation: split rows at the most frequent term
#
# A task is a range of rows, and a chain of terms that must not split it again. A split separates the rows
# with a term from the rows without. The smaller part becomes a new task that counts its terms again; the
# larger part stays, and the counts of the smaller part are subtracted. So a row is counted again only in a
# task of at most half as many rows. That bounds the time even if each split removes a single row.


def split_rows(
    least: cython.longlong,
    most: cython.longlong,
    codes: Code[::1],
    offsets: Number[::1],
    block: Code[::1],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows by cluster, and where each cluster begins; the last entry is the number of rows.

    A cluster with more than ``most`` rows is split unless its rows are equal. A cluster with fewer than
    ``least`` rows is joined with the clusters after it. Rows are split at terms with a block before terms
    without. Terms of the last block come before those of all others.
    """
    parts = _Parts(codes, offsets, block)
    n_rows: cython.Py_ssize_t = len(offsets) - 1
    row: cython.Py_ssize_t
    begin: cython.Py_ssize_t = 0
    with cython.nogil:
        parts.run(most)
        for row in range(1, n_rows):
            if parts.begins[row]:
                if row - begin >= least:
                    begin = row
                else:
                    parts.begins[row] = 0
        if begin > 0 and n_rows - begin < least:
            parts.begins[begin] = 0
    starts = np.flatnonzero(np.asarray(parts.begins[:n_rows]))
    return np.asarray(parts.rows), np.append(starts, n_rows)


@cython.final
@cython.cclass
class _Parts:
    """The rows in their current order, and the terms of the current task as a heap by frequency."""

    codes: Code[::1]
    offsets: Number[::1]
    block: Code[::1]
    rows: cython.longlong[::1]
    place: cython.longlong[::1]  # position of each row
    begins: cython.uchar[::1]  # whether a cluster begins at each position
    count: cython.longlong[::1]  # rows of each term in the task that are not split off
    known: cython.longlong[::1]  # that count when the heap last read it
    first: cython.longlong[::1]  # start of the rows of each term in `holders`
    total: cython.longlong[::1]  # their number, including rows split off
    cython.declare(holders=cython.longlong[::1], heap=cython.longlong[::1], touched=cython.longlong[::1])
    closed: cython.longlong[::1]  # the last task that a term must not split
    cython.declare(n_heap=cython.Py_ssize_t, n_touched=cython.Py_ssize_t)
    current: cython.longlong  # block of the last term that split the rows, or -1
    number: cython.longlong  # number of the current task
    n_tasks: cython.Py_ssize_t
    tasks: cython.longlong[::1]  # begin, end and chain of each
    n_links: cython.Py_ssize_t
    links: cython.longlong[::1]  # term, and the rest of the chain

    def __init__(self, codes: Code[::1], offsets: Number[::1], block: Code[::1]) -> None:
        n_rows, n_items = len(offsets) - 1, len(block)
        self.codes, self.offsets, self.block = codes, offsets, block
        self.rows, self.place = np.arange(n_rows), np.arange(n_rows)
        self.begins = np.zeros(n_rows + 1, np.uint8)
        self.count, self.known, self.first, self.total = np.zeros((4, n_items), np.int64)
        self.heap, self.touched = np.empty((2, n_items), np.int64)
        self.closed = np.full(n_items, -1, np.int64)
        self.holders = np.empty(len(codes), np.int64)
        self.n_tasks, self.tasks = 0, np.empty(3 * 64, np.int64)
        self.n_links, self.links = 0, np.empty(2 * 64, np.int64)
        self.n_heap, self.n_touched, self.current, self.number = 0, 0, -1, 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def run(self, most: cython.longlong) -> cython.int:
        """Split all rows."""
        cython.declare(begin=cython.longlong, end=cython.longlong, chain=cython.longlong)
        self._add_task(0, self.rows.shape[0], -1)
        while self.n_tasks > 0:
            self.n_tasks -= 1
            begin = self.tasks[3 * self.n_tasks]
            end = self.tasks[3 * self.n_tasks + 1]
            chain = self.tasks[3 * self.n_tasks + 2]
            self._begin_task(begin, end, chain)
            self._split(begin, end, chain, most)
            self._end_task()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _add_task(self, begin: cython.longlong, end: cython.longlong, chain: cython.longlong) -> cython.int:
        """Push a task."""
        if 3 * self.n_tasks + 3 > self.tasks.shape[0]:
            self.tasks = grown(self.tasks, 3 * self.n_tasks, 2 * self.tasks.shape[0])
        self.tasks[3 * self.n_tasks] = begin
        self.tasks[3 * self.n_tasks + 1] = end
        self.tasks[3 * self.n_tasks + 2] = chain
        self.n_tasks += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _extend_chain(self, item: cython.longlong, chain: cython.longlong) -> cython.longlong:
        """Return the chain with one more term."""
        if 2 * self.n_links + 2 > self.links.shape[0]:
            self.links = grown(self.links, 2 * self.n_links, 2 * self.links.shape[0])
        self.links[2 * self.n_links] = item
        self.links[2 * self.n_links + 1] = chain
        self.n_links += 1
        return self.n_links - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _begin_task(
        self, begin: cython.longlong, end: cython.longlong, chain: cython.longlong
    ) -> cython.void:
        """Count the terms of a task, and list the rows of each."""
        cython.declare(at=cython.longlong, slot=cython.longlong, item=cython.longlong, row=cython.longlong)
        running: cython.longlong = 0
        number: cython.Py_ssize_t
        self.number += 1
        self.current = -1 if chain < 0 else self.block[self.links[2 * chain]]
        while chain >= 0:
            self.closed[self.links[2 * chain]] = self.number
            chain = self.links[2 * chain + 1]
        for at in range(begin, end):
            row = self.rows[at]
            for slot in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[slot]
                if self.closed[item] == self.number:
                    continue
                if self.count[item] == 0:
                    self.touched[self.n_touched] = item
                    self.n_touched += 1
                self.count[item] += 1
        for number in range(self.n_touched):
            item = self.touched[number]
            self.first[item], self.total[item] = running, 0
            running += self.count[item]
        for at in range(begin, end):
            row = self.rows[at]
            for slot in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[slot]
                if self.closed[item] != self.number:
                    self.holders[self.first[item] + self.total[item]] = row
                    self.total[item] += 1
        self._build_heap()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _end_task(self) -> cython.void:
        """Reset the counts of the task."""
        for number in range(self.n_touched):
            self.count[self.touched[number]] = 0
        self.n_touched = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _split(
        self,
        begin: cython.longlong,
        end: cython.longlong,
        chain: cython.longlong,
        most: cython.longlong,
    ) -> cython.int:
        """Split the rows of a task; rows with the term come first."""
        cython.declare(item=cython.longlong, held=cython.longlong)
        self.begins[begin] = 1
        while end - begin > most:
            item = self._pop_most_frequent()
            if item < 0:  # the rows are equal
                return 0
            held = self.count[item]
            if held == end - begin:  # all rows contain it
                chain = self._close_term(item, chain)
                continue
            self._bring_forward(item, begin, end)
            self.begins[begin + held] = 1
            if 2 * held <= end - begin:
                self._subtract_counts(begin, begin + held)
                if held > most:
                    self._add_task(begin, begin + held, self._extend_chain(item, chain))
                begin += held
            else:
                self._subtract_counts(begin + held, end)
                if end - begin - held > most:
                    self._add_task(begin + held, end, chain)
                end = begin + held
                chain = self._close_term(item, chain)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _close_term(self, item: cython.longlong, chain: cython.longlong) -> cython.longlong:
        """Exclude a term that all rows of the task contain; return the chain with it."""
        self.closed[item] = self.number
        if self.block[item] != self.current:
            self.current = self.block[item]
            self._build_heap()
        return self._extend_chain(item, chain)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _bring_forward(
        self, item: cython.longlong, begin: cython.longlong, end: cython.longlong
    ) -> cython.void:
        """Move the rows with a term to the front."""
        cython.declare(number=cython.longlong, row=cython.longlong, other=cython.longlong)
        place: cython.longlong
        to: cython.longlong = begin
        for number in range(self.first[item], self.first[item] + self.total[item]):
            row = self.holders[number]
            place = self.place[row]
            if place < begin or place >= end:  # already split off
                continue
            other = self.rows[to]
            self.rows[to], self.rows[place] = row, other
            self.place[row], self.place[other] = to, place
            to += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _subtract_counts(self, begin: cython.longlong, end: cython.longlong) -> cython.void:
        """Subtract rows that are split off from the counts."""
        cython.declare(at=cython.longlong, slot=cython.longlong)
        for at in range(begin, end):
            for slot in range(self.offsets[self.rows[at]], self.offsets[self.rows[at] + 1]):
                if self.closed[self.codes[slot]] != self.number:
                    self.count[self.codes[slot]] -= 1

    # --- The heap. Counts only fall, so an outdated count is too high: update it when it comes to the top.

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _build_heap(self) -> cython.void:
        """Build a heap of the terms with rows that are not in the chain."""
        cython.declare(number=cython.Py_ssize_t, item=cython.longlong)
        self.n_heap = 0
        for number in range(self.n_touched):
            item = self.touched[number]
            if self.count[item] > 0 and self.closed[item] != self.number:
                self.known[item] = self.count[item]
                self.heap[self.n_heap] = item
                self.n_heap += 1
        for number in range(self.n_heap // 2 - 1, -1, -1):
            self._sift(number)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _pop_most_frequent(self) -> cython.longlong:
        """Remove the first term from the heap and return it; -1 if there is none."""
        item: cython.longlong
        while self.n_heap > 0:
            item = self.heap[0]
            if self.known[item] == self.count[item]:
                break
            self.known[item] = self.count[item]
            if self.count[item] == 0:
                self._pop()
            else:
                self._sift(0)
        if self.n_heap == 0:
            return -1
        item = self.heap[0]
        self._pop()
        return item

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _pop(self) -> cython.void:
        """Remove the first entry of the heap."""
        self.n_heap -= 1
        self.heap[0] = self.heap[self.n_heap]
        self._sift(0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sift(self, number: cython.Py_ssize_t) -> cython.void:
        """Move a term down to its position in the heap."""
        cython.declare(below=cython.Py_ssize_t, item=cython.longlong)
        while 2 * number + 1 < self.n_heap:
            below = 2 * number + 1
            if below + 1 < self.n_heap and self._comes_before(self.heap[below + 1], self.heap[below]):
                below += 1
            if not self._comes_before(self.heap[below], self.heap[number]):
                return
            item = self.heap[number]
            self.heap[number], self.heap[below] = self.heap[below], item
            number = below

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _comes_before(self, one: cython.longlong, other: cython.longlong) -> cython.bint:
        """Return whether a term comes before another: by block, then by support, then by number."""
        mine: cython.longlong = self._preference(one)
        yours: cython.longlong = self._preference(other)
        if mine != yours:
            return mine > yours
        if self.known[one] != self.known[other]:
            return self.known[one] > self.known[other]
        return one < other

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _preference(self, item: cython.longlong) -> cython.longlong:
        """Return 2 for a term of the last block, 1 for a term of another block, otherwise 0."""
        if self.block[item] < 0:
            return 0
        return 2 if self.block[item] == self.current else 1
