"""Partitions of rows: groups around each sensitive item, and clusters of rows that share terms."""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Number, grown
from numpy.typing import NDArray

__all__ = ["SensitiveGroups", "form", "split_rows"]

Array = NDArray[Any]


# --- CAHD: rows with a sensitive item in groups, each with p - 1 similar rows
#
# Rows come in an order in which neighbours are similar, and are identified by their place in it. Those that
# are in no group yet are a doubly linked list.


@cython.final
@cython.cclass
class SensitiveGroups:
    """Rows, the groups that they are in so far, and work space.

    Parameters
    ----------
    p : int
        Size of a group, in which a sensitive item occurs at most once.
    width : int
        Number of candidates on each side of a row.
    offsets, codes : ndarray of int64, int32
        Public items of each row.
    secret_offsets, secrets : ndarray of int64, int32
        Its sensitive items, by numbers of their own.
    starts, holders : ndarray of int64, int32
        The rows that hold each public item, to search the nearest rows; of no item otherwise.
    left : ndarray of int64
        How many rows that are in no group hold each sensitive item.
    """

    cython.declare(p=cython.longlong, width=cython.Py_ssize_t)
    offsets: Number[::1]
    codes: Code[::1]
    secret_offsets: Number[::1]
    secrets: Code[::1]
    starts: Number[::1]
    ends: cython.longlong[::1]  # of the holders of each item that may still be in no group
    cython.declare(holders=cython.int[::1], left=cython.longlong[::1])
    group_of = cython.declare(cython.longlong[::1], visibility="readonly")  # -1: none
    before: cython.longlong[::1]  # the previous row without a group; -1 at the beginning
    after: cython.longlong[::1]  # the row after; as many as there are rows at the end
    pivots: cython.longlong[::1]  # rows with a sensitive item that were in no group when this pass began
    n_pivots: cython.Py_ssize_t
    turn: cython.Py_ssize_t  # the place in ``pivots`` of the row whose turn it is
    formed: cython.bint  # whether this pass has made a group
    n_groups: cython.longlong
    remaining: cython.longlong  # rows that are in no group
    marked: cython.uchar[::1]  # whether the row whose turn it is holds a public item
    taken: cython.longlong[::1]  # the try in which a row with the sensitive item was chosen last
    tries: cython.longlong
    chosen: cython.longlong[::1]  # rows of the group in hand
    candidates: cython.longlong[::1]
    likeness: cython.longlong[::1]  # of each candidate and the row whose turn it is
    tally: cython.longlong[::1]  # candidates by that number; 0 between two rows
    longest: cython.longlong  # public items of the longest row
    shared: cython.longlong[::1]  # public items that each row shares; 0 between two rows
    near: cython.longlong[::1]  # the rows for which that is not 0, then a heap of how remote they are

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
    """Give so many rows their turn to begin a group; how many had it, 0 when nothing is left to be done."""
    done: cython.Py_ssize_t = 0
    with cython.nogil:
        while done < batch:
            if groups.turn == groups.n_pivots:
                if not groups.formed:
                    break
                _begin_pass(groups)
                continue
            _try(groups.pivots[groups.turn], groups)
            groups.turn += 1
            done += 1
    return done


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin_pass(groups: SensitiveGroups) -> cython.void:
    """Have the rows that are left take their turns again: there are fewer sensitive items beside them."""
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
def _try(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.void:
    """Make a group of a row, if there are rows for it and the others can do without them."""
    n: cython.longlong = 1
    cython.declare(i=cython.Py_ssize_t, place=cython.Py_ssize_t)
    if groups.group_of[row] >= 0:
        return
    groups.tries += 1
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        groups.marked[groups.codes[place]] = True
    groups.chosen[0] = row
    _take(row, groups)
    groups.group_of[row] = groups.n_groups
    if groups.shared.shape[0]:
        n = _choose_nearest(row, groups)
    if n < groups.p:
        n = _choose_neighbours(row, n, groups)
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
def _take(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.void:
    """Note that the sensitive items of a row are in the group or among its candidates."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        groups.taken[groups.secrets[place]] = groups.tries


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _conflicts(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.bint:
    """Whether a row has a sensitive item that was taken."""
    for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
        if groups.taken[groups.secrets[place]] == groups.tries:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_safe(groups: SensitiveGroups) -> cython.bint:
    """Whether the rows that the group leaves can still be one group; counts their sensitive items."""
    item: cython.Py_ssize_t
    most: cython.longlong = (groups.remaining - groups.p) // groups.p
    safe: cython.bint = True
    _count(-1, groups)
    for item in range(groups.left.shape[0]):
        if groups.left[item] > most:
            safe = False
            break
    if not safe:
        _count(1, groups)
    return safe


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(change: cython.longlong, groups: SensitiveGroups) -> cython.void:
    """Change what is left of the sensitive items of the group."""
    cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t)
    for i in range(groups.p):
        row = groups.chosen[i]
        for place in range(groups.secret_offsets[row], groups.secret_offsets[row + 1]):
            groups.left[groups.secrets[place]] += change


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _unlink(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.void:
    before: cython.Py_ssize_t = groups.before[row]
    after: cython.Py_ssize_t = groups.after[row]
    if before >= 0:
        groups.after[before] = after
    if after < groups.before.shape[0]:
        groups.before[after] = before


# --- Neighbours in the order


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose_neighbours(
    row: cython.Py_ssize_t, n_chosen: cython.longlong, groups: SensitiveGroups
) -> cython.longlong:
    """Choose the most similar candidates, as many as are lacking or none; return the number chosen.

    Among equally similar candidates the nearest are chosen; they come first.
    """
    lacking: cython.longlong = groups.p - n_chosen
    least: cython.Py_ssize_t = groups.tally.shape[0] - 1
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = _list_neighbours(row, groups)
    if n < lacking:
        return n_chosen
    for i in range(n):
        groups.tally[groups.likeness[i]] += 1
    more: cython.longlong = 0  # candidates that are more similar than the last one chosen
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
def _list_neighbours(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.Py_ssize_t:
    """List candidates on both sides of a row, the nearest first, then the one before; how many there are."""
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
        _take(candidate, groups)
        groups.candidates[n], groups.likeness[n] = candidate, _likeness(candidate, groups)
        n += 1
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _likeness(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.longlong:
    """How many public items a row shares with the one whose turn it is.

    When the nearest rows are searched: twice that, less all that it has, plus the most that any row has.
    """
    n: cython.longlong = 0
    for place in range(groups.offsets[row], groups.offsets[row + 1]):
        n += groups.marked[groups.codes[place]]
    return 2 * n - _length(row, groups) + groups.longest if groups.shared.shape[0] else n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _length(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.longlong:
    """How many public items a row has."""
    return groups.offsets[row + 1] - groups.offsets[row]


# --- Nearest rows, wherever they are


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _choose_nearest(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.longlong:
    """Choose of the rows that share an item those that differ least; how many, with the row itself."""
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
        _take(candidate, groups)
        groups.chosen[n_chosen] = candidate
        groups.group_of[candidate] = groups.n_groups
        n_chosen += 1
    return n_chosen


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _list_sharing(row: cython.Py_ssize_t, groups: SensitiveGroups) -> cython.Py_ssize_t:
    """List the rows in no group that share a public item, and count what they share; how many there are.

    Rows that are in a group stay there, and leave the lists of holders.
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
    """A number by which rows are compared: how many items differ, then how far, then on which side."""
    differing: cython.longlong = _length(other, groups) - 2 * groups.shared[other]  # and all of the row
    far: cython.longlong = 2 * (other - row) if other > row else 2 * (row - other) - 1
    return (differing + groups.longest) * 2 * groups.before.shape[0] + far


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _row_at(
    remoteness: cython.longlong, row: cython.Py_ssize_t, groups: SensitiveGroups
) -> cython.Py_ssize_t:
    """The row that is so remote from another."""
    far: cython.Py_ssize_t = remoteness % (2 * groups.before.shape[0])
    return row - (far + 1) // 2 if far % 2 else row + far // 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sink(place: cython.Py_ssize_t, n: cython.Py_ssize_t, heap: cython.longlong[::1]) -> cython.void:
    """Let an entry of a heap sink below those that are less."""
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
# A task is a range of rows, and a chain of terms that are not to be split at again. Its rows are split into
# those with a term and those without. The fewer of them become a task of their own, in which their terms are
# counted again; the others go on, without what these count. So a row is counted again only in a task of half
# as many rows, also where rows contain one another and each split takes off a single one.


def split_rows(
    least: cython.longlong,
    most: cython.longlong,
    codes: Code[::1],
    offsets: Number[::1],
    block: Code[::1],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows by cluster, and where each cluster begins; the number of rows closes the list.

    A cluster with more than ``most`` rows is split unless they are equal; one with fewer than ``least``
    is joined with those that follow it. Terms that have a block are split at before others, and those of the
    block that was split at last before all others.
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
    """Rows in their order so far, and the terms of the task in hand as a heap of the most frequent."""

    codes: Code[::1]
    offsets: Number[::1]
    block: Code[::1]
    rows: cython.longlong[::1]
    place: cython.longlong[::1]  # where each row is
    begins: cython.uchar[::1]  # whether a cluster begins at a place
    count: cython.longlong[::1]  # rows of the task that hold each term, and are not split off
    known: cython.longlong[::1]  # that count when the heap was ordered last
    first: cython.longlong[::1]  # where the rows of each term are in `holders`
    total: cython.longlong[::1]  # how many there are, split off or not
    cython.declare(holders=cython.longlong[::1], heap=cython.longlong[::1], touched=cython.longlong[::1])
    closed: cython.longlong[::1]  # the last task that a term is not to be split at in
    cython.declare(n_heap=cython.Py_ssize_t, n_touched=cython.Py_ssize_t)
    current: cython.longlong  # the block that was split at last; -1 if there is none
    number: cython.longlong  # of the task in hand
    n_tasks: cython.Py_ssize_t
    tasks: cython.longlong[::1]  # begin, end and chain of each, three by three
    n_links: cython.Py_ssize_t
    links: cython.longlong[::1]  # term, and the rest of the chain, two by two

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
            self._open(begin, end, chain)
            self._split(begin, end, chain, most)
            self._close()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _add_task(self, begin: cython.longlong, end: cython.longlong, chain: cython.longlong) -> cython.int:
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
    def _longer(self, item: cython.longlong, chain: cython.longlong) -> cython.longlong:
        """The chain with one more term."""
        if 2 * self.n_links + 2 > self.links.shape[0]:
            self.links = grown(self.links, 2 * self.n_links, 2 * self.links.shape[0])
        self.links[2 * self.n_links] = item
        self.links[2 * self.n_links + 1] = chain
        self.n_links += 1
        return self.n_links - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _open(self, begin: cython.longlong, end: cython.longlong, chain: cython.longlong) -> cython.void:
        """Count the terms of a task, and note which rows hold each."""
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
        self._order()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _close(self) -> cython.void:
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
        """Split the rows of a task; those that hold the term that they are split at come first."""
        cython.declare(item=cython.longlong, held=cython.longlong)
        self.begins[begin] = 1
        while end - begin > most:
            item = self._most_frequent()
            if item < 0:  # the rows are equal
                return 0
            held = self.count[item]
            if held == end - begin:  # all rows hold it
                chain = self._close_term(item, chain)
                continue
            self._bring_forward(item, begin, end)
            self.begins[begin + held] = 1
            if 2 * held <= end - begin:
                self._count_no_more(begin, begin + held)
                if held > most:
                    self._add_task(begin, begin + held, self._longer(item, chain))
                begin += held
            else:
                self._count_no_more(begin + held, end)
                if end - begin - held > most:
                    self._add_task(begin + held, end, chain)
                end = begin + held
                chain = self._close_term(item, chain)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _close_term(self, item: cython.longlong, chain: cython.longlong) -> cython.longlong:
        """Split no more at a term that all rows of the task hold; the chain with it."""
        self.closed[item] = self.number
        if self.block[item] != self.current:
            self.current = self.block[item]
            self._order()
        return self._longer(item, chain)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _bring_forward(
        self, item: cython.longlong, begin: cython.longlong, end: cython.longlong
    ) -> cython.void:
        """Move the rows that hold a term to the front."""
        cython.declare(number=cython.longlong, row=cython.longlong, other=cython.longlong)
        place: cython.longlong
        to: cython.longlong = begin
        for number in range(self.first[item], self.first[item] + self.total[item]):
            row = self.holders[number]
            place = self.place[row]
            if place < begin or place >= end:  # it was split off before
                continue
            other = self.rows[to]
            self.rows[to], self.rows[place] = row, other
            self.place[row], self.place[other] = to, place
            to += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_no_more(self, begin: cython.longlong, end: cython.longlong) -> cython.void:
        """Take rows that are split off out of the counts."""
        cython.declare(at=cython.longlong, slot=cython.longlong)
        for at in range(begin, end):
            for slot in range(self.offsets[self.rows[at]], self.offsets[self.rows[at] + 1]):
                if self.closed[self.codes[slot]] != self.number:
                    self.count[self.codes[slot]] -= 1

    # --- The heap. Counts only fall, so that one which is stale is only too high.

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _order(self) -> cython.void:
        """Make a heap of the terms that rows hold, and that are not in the chain."""
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
    def _most_frequent(self) -> cython.longlong:
        """Take the first term off the heap; -1 if there is none. It is not put on again."""
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
        self.n_heap -= 1
        self.heap[0] = self.heap[self.n_heap]
        self._sift(0)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sift(self, number: cython.Py_ssize_t) -> cython.void:
        """Let a term sink to where it belongs."""
        cython.declare(below=cython.Py_ssize_t, item=cython.longlong)
        while 2 * number + 1 < self.n_heap:
            below = 2 * number + 1
            if below + 1 < self.n_heap and self._before(self.heap[below + 1], self.heap[below]):
                below += 1
            if not self._before(self.heap[below], self.heap[number]):
                return
            item = self.heap[number]
            self.heap[number], self.heap[below] = self.heap[below], item
            number = below

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _before(self, one: cython.longlong, other: cython.longlong) -> cython.bint:
        """Whether to split at one term before another: by block, by how many rows hold it, by order."""
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
        if self.block[item] < 0:
            return 0
        return 2 if self.block[item] == self.current else 1
