"""Kernel that puts rows which hold the same terms into small clusters, by splitting at the most frequent.

A task is a range of rows, and a chain of terms that are not to be split at again. Its rows are split into
those with a term and those without. The fewer of them become a task of their own, in which their terms are
counted anew; the others go on, without what these count. So a row is counted again only in a task of half as
many rows, also where rows hold one another and each split takes off a single one.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number, grown
from numpy.typing import NDArray

__all__ = ["split_rows"]


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
    holders: cython.longlong[::1]
    heap: cython.longlong[::1]
    touched: cython.longlong[::1]
    closed: cython.longlong[::1]  # the last task that a term is not to be split at in
    n_heap: cython.Py_ssize_t
    n_touched: cython.Py_ssize_t
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
        begin: cython.longlong
        end: cython.longlong
        chain: cython.longlong
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
        at: cython.longlong
        slot: cython.longlong
        item: cython.longlong
        row: cython.longlong
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
        item: cython.longlong
        held: cython.longlong
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
        number: cython.longlong
        row: cython.longlong
        other: cython.longlong
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
        at: cython.longlong
        slot: cython.longlong
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
        number: cython.Py_ssize_t
        item: cython.longlong
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
        below: cython.Py_ssize_t
        item: cython.longlong
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
