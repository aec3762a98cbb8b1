"""Clusters of rows: take the rows nearest to a seed, measure covers of values, split clusters."""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    declare,
    double as float64,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Code,
    Codes,
    Numbers,
    float64s,
    grown,
    int64s,
    uint8s,
)
from numpy.typing import NDArray

__all__ = [
    "NearestRows",
    "ancestor_losses",
    "farthest",
    "joined",
    "range_losses",
    "set_losses",
    "split_rows",
]

# --- The rows nearest to a seed, taken again and again
#
# Rows with equal values are equally near, so distances are computed for each combination of values.


@final
@cclass
class NearestRows:
    """The rows that are left, by their combination of values."""

    codes: Code[:, ::1]  # the values of each combination
    kinds: Numbers  # the combination of each row
    rows: Numbers  # the rows of each combination, ascending, one combination after the other
    begins: int64s  # first row of each combination that may be left
    ends: Numbers
    counts: int64s  # rows left of each combination
    live: int64s  # combinations with rows left
    n_live: Py_ssize_t
    is_left: uint8s
    sums: int64s  # a Fenwick tree: rows left in ranges whose lengths are powers of two
    losses: int64s
    near: int64s  # the nearest combinations, or the first rows, by ascending key
    keys: int64s
    n_near: Py_ssize_t

    def __init__(self, codes: NDArray[np.int32], kinds: NDArray[np.int64]) -> None:
        n_rows, n_kinds = len(kinds), len(codes)
        counts = np.bincount(kinds, minlength=n_kinds)
        ends = np.cumsum(counts)
        self.codes, self.kinds, self.counts = codes, kinds, counts
        self.rows, self.begins, self.ends = np.argsort(kinds, kind="stable"), ends - counts, ends
        self.live, self.n_live = np.arange(n_kinds), n_kinds
        self.is_left = np.ones(n_rows, np.uint8)
        places = np.arange(n_rows + 1)
        self.sums = places & -places
        self.losses = np.empty(n_kinds, np.int64)
        self.near, self.keys = np.empty((2, n_rows + 1), np.int64)

    @property
    def left(self) -> NDArray[np.int64]:
        """The rows that are left, ascending."""
        return np.flatnonzero(self.is_left)

    def row_at(self, place: Py_ssize_t) -> int:
        """Return the row at a place among those left."""
        found: Py_ssize_t = 0
        step: Py_ssize_t = 1
        while 2 * step < self.sums.shape[0]:
            step *= 2
        while step:
            if found + step < self.sums.shape[0] and self.sums[found + step] <= place:
                found += step
                place -= self.sums[found]
            step //= 2
        return found

    def take(self, seed: Py_ssize_t, tables: Numbers, starts: Numbers, k: int64) -> NDArray[np.int64]:
        """Take a row and the ``k - 1`` rows nearest to it, of equally near ones the first in the table."""
        # The row is left, and at least k rows are. ``tables`` has the distance of each value from that of the
        # row, column by column, from ``starts`` on. That of a row is their sum.
        chosen = np.empty(k, np.int64)
        taken: int64s = chosen
        with nogil:
            taken[0] = seed
            self.remove(seed)
            self.measure(tables, starts)
            if k > 1:
                self.collect(k - 1, taken)
        return chosen

    @cfunc
    @nogil
    @exceptval(check=False)
    def remove(self, row: Py_ssize_t) -> void:
        place = row + 1
        self.is_left[row] = 0
        self.counts[self.kinds[row]] -= 1
        while place < self.sums.shape[0]:
            self.sums[place] -= 1
            place += place & -place

    @cfunc
    @nogil
    @exceptval(check=False)
    def measure(self, tables: Numbers, starts: Numbers) -> void:
        """Compute the distance of each combination with rows left, and forget the others."""
        declare(kept=Py_ssize_t, loss=int64)
        kept = 0
        for i in range(self.n_live):
            kind = self.live[i]
            if self.counts[kind] == 0:
                continue
            loss = 0
            for column in range(starts.shape[0]):
                loss += tables[starts[column] + self.codes[kind, column]]
            self.losses[kind] = loss
            self.live[kept] = kind
            kept += 1
        self.n_live = kept

    @cfunc
    @nogil
    @exceptval(check=False)
    def collect(self, n: int64, taken: int64s) -> void:
        """Take the n nearest rows, from ``taken[1]`` on."""
        size: Py_ssize_t
        bound, size = self.bound(n), 1
        for i in range(self.n_live):
            kind = self.live[i]
            if self.losses[kind] < bound:
                for j in range(self.begins[kind], self.ends[kind]):
                    row = self.rows[j]
                    if self.is_left[row]:
                        self.remove(row)
                        taken[size] = row
                        size += 1
        n -= size - 1
        self.n_near = 0  # from here on the first n rows at the bound
        for i in range(self.n_live):
            kind = self.live[i]
            if self.losses[kind] == bound:
                while self.begins[kind] < self.ends[kind] and not self.is_left[self.rows[self.begins[kind]]]:
                    self.begins[kind] += 1
                for j in range(self.begins[kind], self.ends[kind]):
                    row = self.rows[j]
                    if self.n_near == n and row > self.near[n - 1]:
                        break
                    if self.is_left[row]:
                        self.push(row, row)
                        self.n_near = min(self.n_near, n)
        for i in range(n):
            self.remove(self.near[i])
            taken[size + i] = self.near[i]

    @cfunc
    @nogil
    @exceptval(check=False)
    def bound(self, n: int64) -> int64:
        """Return the distance of the n-th nearest row."""
        total, self.n_near = 0, 0
        for i in range(self.n_live):
            kind = self.live[i]
            if total >= n and self.losses[kind] >= self.keys[self.n_near - 1]:
                continue
            self.push(kind, self.losses[kind])
            total += self.counts[kind]
            while total - self.counts[self.near[self.n_near - 1]] >= n:
                self.n_near -= 1
                total -= self.counts[self.near[self.n_near]]
        return self.keys[self.n_near - 1]

    @cfunc
    @nogil
    @exceptval(check=False)
    def push(self, entry: int64, key: int64) -> void:
        """Insert an entry among the nearest, which are few."""
        place = self.n_near
        self.n_near += 1
        while place and self.keys[place - 1] > key:
            self.near[place], self.keys[place] = self.near[place - 1], self.keys[place - 1]
            place -= 1
        self.near[place], self.keys[place] = entry, key


# --- The loss of values together with each line of others, at least one in a line


@cfunc
@nogil
@exceptval(check=False)
def _ends(lines: Code[:, ::1], line: Py_ssize_t, values: Codes) -> tuple[int32, int32]:
    """Return the smallest and the largest of some values and those of a line."""
    low: int32 = lines[line, 0]
    high: int32 = low
    for place in range(1, lines.shape[1]):
        low, high = min(low, lines[line, place]), max(high, lines[line, place])
    for place in range(values.shape[0]):
        low, high = min(low, values[place]), max(high, values[place])
    return low, high


def range_losses(
    lines: Code[:, ::1],
    values: Codes,
    positions: Numbers,
    least: int64,
    unit: int64,
) -> NDArray[np.int64]:
    """Return the loss of the range of each line: its length, but ``unit`` with a missing value and others."""
    # ``positions`` are those of the values, and the number after them is a missing value. A range of several
    # values loses at least ``least``.
    losses = np.empty(lines.shape[0], np.int64)
    found: int64s = losses
    with nogil:
        for line in range(lines.shape[0]):
            low, high = _ends(lines, line, values)
            if low == high:
                found[line] = 0
            elif high >= positions.shape[0]:
                found[line] = unit
            else:
                found[line] = max(positions[high] - positions[low], least)
    return losses


def ancestor_losses(
    lines: Code[:, ::1],
    values: Codes,
    leaves: Numbers,
    sizes: Codes,
    parent: Codes,
    penalties: Numbers,
) -> NDArray[np.int64]:
    """Return the penalty of the lowest common ancestor of each line; nodes are in pre-order."""
    losses = np.empty(lines.shape[0], np.int64)
    found: int64s = losses
    with nogil:
        for line in range(lines.shape[0]):
            low, high = _ends(lines, line, values)
            node = leaves[low]
            while node + sizes[node] <= leaves[high]:
                node = parent[node]
            found[line] = penalties[node]
    return losses


def set_losses(lines: Code[:, ::1], values: Codes, prices: Numbers) -> NDArray[np.int64]:
    """Return the price of the number of distinct values of each line, where equal values are neighbors."""
    losses = np.empty(lines.shape[0], np.int64)
    found: int64s = losses
    is_other: uint8s = np.zeros(prices.shape[0], np.uint8)
    size: Py_ssize_t
    n_others: Py_ssize_t = 0
    with nogil:
        for place in range(values.shape[0]):
            n_others += not is_other[values[place]]
            is_other[values[place]] = 1
        for line in range(lines.shape[0]):
            size = n_others
            for place in range(lines.shape[1]):
                if not is_other[lines[line, place]] and (
                    place == 0 or lines[line, place] != lines[line, place - 1]
                ):
                    size += 1
            found[line] = prices[size]
    return losses


# --- Distances between sets: estimates of the loss if two sets are generalized together
#
# The distance of a pair is (different items + 1) / (common items + 1) * items of both. For given sizes, it is
# largest without common items. So rows in descending order of size need few comparisons.


@cfunc
@nogil
@exceptval(check=False)
def _count_shared(
    codes: Codes,
    start: Py_ssize_t,
    end: Py_ssize_t,
    other: Py_ssize_t,
    last: Py_ssize_t,
) -> Py_ssize_t:
    """Count the common items of two rows."""
    count: Py_ssize_t = 0
    while start < end and other < last:
        if codes[start] == codes[other]:
            count += 1
            start += 1
            other += 1
        elif codes[start] < codes[other]:
            start += 1
        else:
            other += 1
    return count


def farthest(rows: Numbers, others: Numbers, codes: Codes, offsets: Numbers, best: float64) -> float:
    """Return the largest distance of a row to one of others, or ``best``; both by descending size."""
    with nogil:
        best = _farthest(rows, others, 0, others.shape[0], codes, offsets, best)
    return best


@cfunc
@nogil
@exceptval(check=False)
def _farthest(
    rows: Numbers,
    others: Numbers,
    first: Py_ssize_t,
    last: Py_ssize_t,
    codes: Codes,
    offsets: Numbers,
    best: float64,
) -> float64:
    """Return the largest distance of a row to one of ``others[first:last]``, or ``best``."""
    for i in range(rows.shape[0]):
        row = rows[i]
        size = offsets[row + 1] - offsets[row]
        for j in range(first, last):
            other = others[j]
            both = size + offsets[other + 1] - offsets[other]
            if (both + 1.0) * both <= best:
                if j == first:  # all later rows are shorter, and so no farther
                    return best
                break
            if other == row:
                continue
            common = _count_shared(codes, offsets[row], offsets[row + 1], offsets[other], offsets[other + 1])
            # All operands are integers far below 2**53, so equal quotients are equal floats.
            best = max(best, (both - 2 * common + 1.0) * (both - common) / (common + 1.0))
    return best


def joined(
    rows: Numbers,
    members: Numbers,
    bounds: Numbers,
    own: float64,
    codes: Codes,
    offsets: Numbers,
    result: float64s,
) -> None:
    """Compute the largest distance within the union of some rows and each cluster of rows."""
    # ``own`` is the largest distance within the rows; ``result`` has that of each cluster, and is updated.
    with nogil:
        for cluster in range(bounds.shape[0] - 1):
            first, last = bounds[cluster], bounds[cluster + 1]
            result[cluster] = _farthest(rows, members, first, last, codes, offsets, max(own, result[cluster]))


# --- Horizontal partition of disassociation: split rows at the most frequent term
#
# A task is a range of rows, and a chain of terms that must not split it again. A split separates the rows
# with a term from the rows without. The smaller part becomes a new task that counts its terms again; the
# larger part stays, and the counts of the smaller part are subtracted. So a row is counted again only in a
# task of at most half as many rows. That bounds the time even if each split removes a single row.


def split_rows(
    least: int64,
    most: int64,
    codes: Codes,
    offsets: Numbers,
    block: Codes,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows by cluster, and where each cluster begins; the last entry is the number of rows."""
    # A cluster with more than ``most`` rows is split unless its rows are equal. A cluster with fewer than
    # ``least`` rows is joined with the clusters after it. Rows are split at terms with a block before terms
    # without. Terms of the last block come before those of all others.
    parts = _Parts(codes, offsets, block)
    n_rows = len(offsets) - 1
    begin = 0
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

    codes: Codes
    offsets: Numbers
    block: Codes
    rows: int64s
    place: int64s  # position of each row
    begins: uint8s  # whether a cluster begins at each position
    count: int64s  # rows of each term in the task that are not split off
    known: int64s  # that count when the heap last read it
    first: int64s  # start of the rows of each term in `holders`
    total: int64s  # their number, including rows split off
    declare(holders=int64s, heap=int64s, touched=int64s)
    closed: int64s  # the last task that a term must not split
    declare(n_heap=Py_ssize_t, n_touched=Py_ssize_t)
    current: int64  # block of the last term that split the rows, or -1
    number: int64  # number of the current task
    n_tasks: Py_ssize_t
    tasks: int64s  # begin, end and chain of each
    n_links: Py_ssize_t
    links: int64s  # term, and the rest of the chain

    def __init__(self, codes: Codes, offsets: Numbers, block: Codes) -> None:
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
        running = 0
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
    def _split(self, begin: int64, end: int64, chain: int64, most: int64) -> int32:
        """Split the rows of a task; rows with the term come first."""
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
        to = begin
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
        mine = self._preference(one)
        yours = self._preference(other)
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
