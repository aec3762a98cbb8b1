"""Horizontal partition of disassociation: split rows at the most frequent term.

A task is a range of rows, and a chain of terms that must not split it again. A split separates the rows
with a term from the rows without. The smaller part becomes a new task that counts its terms again; the
larger part stays, and the counts of the smaller part are subtracted. So a row is counted again only in a
task of at most half as many rows. That bounds the time even if each split removes a single row.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    uchar as uint8,
    void,
)
from cython.cimports.pdanon._kernels.counting import Code, Number, grown
from numpy.typing import NDArray

__all__ = ["split_rows"]


def split_rows(
    least: int64,
    most: int64,
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
    n_rows: Py_ssize_t = len(offsets) - 1
    row: Py_ssize_t
    begin: Py_ssize_t = 0
    with nogil:
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


@final
@cclass
class _Parts:
    """The rows in their current order, and the terms of the current task as a heap by frequency."""

    codes: Code[::1]
    offsets: Number[::1]
    block: Code[::1]
    rows: int64[::1]
    place: int64[::1]  # position of each row
    begins: uint8[::1]  # whether a cluster begins at each position
    count: int64[::1]  # rows of each term in the task that are not split off
    known: int64[::1]  # that count when the heap last read it
    first: int64[::1]  # start of the rows of each term in `holders`
    total: int64[::1]  # their number, including rows split off
    declare(holders=int64[::1], heap=int64[::1], touched=int64[::1])
    closed: int64[::1]  # the last task that a term must not split
    declare(n_heap=Py_ssize_t, n_touched=Py_ssize_t)
    current: int64  # block of the last term that split the rows, or -1
    number: int64  # number of the current task
    n_tasks: Py_ssize_t
    tasks: int64[::1]  # begin, end and chain of each
    n_links: Py_ssize_t
    links: int64[::1]  # term, and the rest of the chain

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

    @cfunc
    @nogil
    @exceptval(-1)
    def run(self, most: int64) -> int32:
        """Split all rows."""
        declare(begin=int64, end=int64, chain=int64)
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

    @cfunc
    @nogil
    @exceptval(-1)
    def _add_task(self, begin: int64, end: int64, chain: int64) -> int32:
        """Push a task."""
        if 3 * self.n_tasks + 3 > self.tasks.shape[0]:
            self.tasks = grown(self.tasks, 3 * self.n_tasks, 2 * self.tasks.shape[0])
        self.tasks[3 * self.n_tasks] = begin
        self.tasks[3 * self.n_tasks + 1] = end
        self.tasks[3 * self.n_tasks + 2] = chain
        self.n_tasks += 1
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _extend_chain(self, item: int64, chain: int64) -> int64:
        """Return the chain with one more term."""
        if 2 * self.n_links + 2 > self.links.shape[0]:
            self.links = grown(self.links, 2 * self.n_links, 2 * self.links.shape[0])
        self.links[2 * self.n_links] = item
        self.links[2 * self.n_links + 1] = chain
        self.n_links += 1
        return self.n_links - 1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _begin_task(self, begin: int64, end: int64, chain: int64) -> void:
        """Count the terms of a task, and list the rows of each."""
        declare(at=int64, slot=int64, item=int64, row=int64)
        running: int64 = 0
        number: Py_ssize_t
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _end_task(self) -> void:
        """Reset the counts of the task."""
        for number in range(self.n_touched):
            self.count[self.touched[number]] = 0
        self.n_touched = 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _split(
        self,
        begin: int64,
        end: int64,
        chain: int64,
        most: int64,
    ) -> int32:
        """Split the rows of a task; rows with the term come first."""
        declare(item=int64, held=int64)
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

    @cfunc
    @nogil
    @exceptval(-1)
    def _close_term(self, item: int64, chain: int64) -> int64:
        """Exclude a term that all rows of the task contain; return the chain with it."""
        self.closed[item] = self.number
        if self.block[item] != self.current:
            self.current = self.block[item]
            self._build_heap()
        return self._extend_chain(item, chain)

    @cfunc
    @nogil
    @exceptval(check=False)
    def _bring_forward(self, item: int64, begin: int64, end: int64) -> void:
        """Move the rows with a term to the front."""
        declare(number=int64, row=int64, other=int64)
        place: int64
        to: int64 = begin
        for number in range(self.first[item], self.first[item] + self.total[item]):
            row = self.holders[number]
            place = self.place[row]
            if place < begin or place >= end:  # already split off
                continue
            other = self.rows[to]
            self.rows[to], self.rows[place] = row, other
            self.place[row], self.place[other] = to, place
            to += 1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _subtract_counts(self, begin: int64, end: int64) -> void:
        """Subtract rows that are split off from the counts."""
        declare(at=int64, slot=int64)
        for at in range(begin, end):
            for slot in range(self.offsets[self.rows[at]], self.offsets[self.rows[at] + 1]):
                if self.closed[self.codes[slot]] != self.number:
                    self.count[self.codes[slot]] -= 1

    # --- The heap. Counts only fall, so an outdated count is too high: update it when it comes to the top.

    @cfunc
    @nogil
    @exceptval(check=False)
    def _build_heap(self) -> void:
        """Build a heap of the terms with rows that are not in the chain."""
        declare(number=Py_ssize_t, item=int64)
        self.n_heap = 0
        for number in range(self.n_touched):
            item = self.touched[number]
            if self.count[item] > 0 and self.closed[item] != self.number:
                self.known[item] = self.count[item]
                self.heap[self.n_heap] = item
                self.n_heap += 1
        for number in range(self.n_heap // 2 - 1, -1, -1):
            self._sift(number)

    @cfunc
    @nogil
    @exceptval(check=False)
    def _pop_most_frequent(self) -> int64:
        """Remove the first term from the heap and return it; -1 if there is none."""
        item: int64
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _pop(self) -> void:
        """Remove the first entry of the heap."""
        self.n_heap -= 1
        self.heap[0] = self.heap[self.n_heap]
        self._sift(0)

    @cfunc
    @nogil
    @exceptval(check=False)
    def _sift(self, number: Py_ssize_t) -> void:
        """Move a term down to its position in the heap."""
        declare(below=Py_ssize_t, item=int64)
        while 2 * number + 1 < self.n_heap:
            below = 2 * number + 1
            if below + 1 < self.n_heap and self._comes_before(self.heap[below + 1], self.heap[below]):
                below += 1
            if not self._comes_before(self.heap[below], self.heap[number]):
                return
            item = self.heap[number]
            self.heap[number], self.heap[below] = self.heap[below], item
            number = below

    @cfunc
    @nogil
    @exceptval(check=False)
    def _comes_before(self, one: int64, other: int64) -> bint:
        """Return whether a term comes before another: by block, then by support, then by number."""
        mine: int64 = self._preference(one)
        yours: int64 = self._preference(other)
        if mine != yours:
            return mine > yours
        if self.known[one] != self.known[other]:
            return self.known[one] > self.known[other]
        return one < other

    @cfunc
    @nogil
    @exceptval(check=False)
    def _preference(self, item: int64) -> int64:
        """Return 2 for a term of the last block, 1 for a term of another block, otherwise 0."""
        if self.block[item] < 0:
            return 0
        return 2 if self.block[item] == self.current else 1
