"""Clusters of rows: take the rows nearest to a seed, measure the cover of values, and merge clusters."""

import numpy as np
from cython import (
    Py_ssize_t,
    address,
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
    sizeof,
    uchar as uint8,
    void,
)
from cython.cimports.libc.string import memmove
from cython.cimports.pdanon._kernels.counting import Code, Number, sort_part
from numpy.typing import NDArray

__all__ = [
    "NearestRows",
    "ancestor_losses",
    "distinct_values",
    "farthest",
    "joined",
    "merge_members",
    "range_losses",
    "set_losses",
]


# --- The rows nearest to a seed, taken again and again
#
# Rows with equal values are equally near, so distances are computed for each combination of values.


@final
@cclass
class NearestRows:
    """The rows that are left, by their combination of values."""

    codes: Code[:, ::1]  # the values of each combination
    kinds: Number[::1]  # the combination of each row
    rows: Number[::1]  # the rows of each combination, ascending, one combination after the other
    begins: int64[::1]  # first row of each combination that may be left
    ends: Number[::1]
    counts: int64[::1]  # rows left of each combination
    live: int64[::1]  # combinations with rows left
    n_live: Py_ssize_t
    is_left: uint8[::1]
    sums: int64[::1]  # a Fenwick tree: rows left in ranges whose lengths are powers of two
    losses: int64[::1]
    heap: int64[::1]  # the nearest combinations, or the first rows; the largest key is on top
    keys: int64[::1]
    n_heap: Py_ssize_t

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
        self.heap, self.keys = np.empty(n_rows + 1, np.int64), np.empty(n_rows + 1, np.int64)

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

    def take(
        self,
        seed: Py_ssize_t,
        tables: Number[::1],
        starts: Number[::1],
        k: int64,
    ) -> NDArray[np.int64]:
        """Take a row and the ``k - 1`` rows nearest to it, of equally near ones the first in the table.

        The row is left, and at least k rows are. ``tables`` has the distance of each value from that of the
        row, column by column, from ``starts`` on. That of a row is their sum.
        """
        chosen = np.empty(k, np.int64)
        taken: int64[::1] = chosen
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
        place: Py_ssize_t = row + 1
        self.is_left[row] = 0
        self.counts[self.kinds[row]] -= 1
        while place < self.sums.shape[0]:
            self.sums[place] -= 1
            place += place & -place

    @cfunc
    @nogil
    @exceptval(check=False)
    def measure(self, tables: Number[::1], starts: Number[::1]) -> void:
        """Compute the distance of each combination with rows left, and forget the others."""
        declare(i=Py_ssize_t, kind=Py_ssize_t, column=Py_ssize_t)
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
    def collect(self, n: int64, taken: int64[::1]) -> void:
        """Take the n nearest rows, from ``taken[1]`` on."""
        declare(i=Py_ssize_t, j=Py_ssize_t, kind=Py_ssize_t, row=Py_ssize_t)
        declare(bound=int64, size=Py_ssize_t)
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
        self.n_heap = 0  # from here on the first n rows at the bound
        for i in range(self.n_live):
            kind = self.live[i]
            if self.losses[kind] == bound:
                while self.begins[kind] < self.ends[kind] and not self.is_left[self.rows[self.begins[kind]]]:
                    self.begins[kind] += 1
                for j in range(self.begins[kind], self.ends[kind]):
                    row = self.rows[j]
                    if self.n_heap == n and row > self.heap[0]:
                        break
                    if self.is_left[row]:
                        self.push(row, row)
                        if self.n_heap > n:
                            self.pop()
        for i in range(n):
            self.remove(self.heap[i])
            taken[size + i] = self.heap[i]

    @cfunc
    @nogil
    @exceptval(check=False)
    def bound(self, n: int64) -> int64:
        """Return the distance of the n-th nearest row."""
        declare(i=Py_ssize_t, kind=Py_ssize_t, total=int64)
        total, self.n_heap = 0, 0
        for i in range(self.n_live):
            kind = self.live[i]
            if total >= n and self.losses[kind] >= self.keys[0]:
                continue
            self.push(kind, self.losses[kind])
            total += self.counts[kind]
            while total - self.counts[self.heap[0]] >= n:
                total -= self.counts[self.heap[0]]
                self.pop()
        return self.keys[0]

    @cfunc
    @nogil
    @exceptval(check=False)
    def push(self, entry: int64, key: int64) -> void:
        place: Py_ssize_t = self.n_heap
        above: Py_ssize_t
        self.n_heap += 1
        while place:
            above = (place - 1) // 2
            if self.keys[above] >= key:
                break
            self.heap[place], self.keys[place] = self.heap[above], self.keys[above]
            place = above
        self.heap[place], self.keys[place] = entry, key

    @cfunc
    @nogil
    @exceptval(check=False)
    def pop(self) -> void:
        """Remove the entry with the largest key."""
        place: Py_ssize_t = 0
        below: Py_ssize_t = 1
        self.n_heap -= 1
        last: Py_ssize_t = self.n_heap
        while below < last:
            if below + 1 < last and self.keys[below + 1] > self.keys[below]:
                below += 1
            if self.keys[below] <= self.keys[last]:
                break
            self.heap[place], self.keys[place] = self.heap[below], self.keys[below]
            place = below
            below = 2 * place + 1
        self.heap[place], self.keys[place] = self.heap[last], self.keys[last]


# --- The loss of values together with each line of others, at least one in a line


@cfunc
@nogil
@exceptval(check=False)
def _ends(lines: Code[:, ::1], line: Py_ssize_t, values: Code[::1]) -> tuple[int32, int32]:
    """Return the smallest and the largest of some values and those of a line."""
    low: int32 = lines[line, 0]
    high: int32 = low
    place: Py_ssize_t
    for place in range(1, lines.shape[1]):
        low, high = min(low, lines[line, place]), max(high, lines[line, place])
    for place in range(values.shape[0]):
        low, high = min(low, values[place]), max(high, values[place])
    return low, high


def range_losses(
    lines: Code[:, ::1],
    values: Code[::1],
    positions: Number[::1],
    least: int64,
    unit: int64,
) -> NDArray[np.int64]:
    """Return the loss of the range of each line: its length, but ``unit`` with a missing value and others.

    ``positions`` are those of the values, and the number after them is a missing value. A range of several
    values loses at least ``least``.
    """
    losses = np.empty(lines.shape[0], np.int64)
    found: int64[::1] = losses
    line: Py_ssize_t
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
    values: Code[::1],
    leaves: Number[::1],
    sizes: Code[::1],
    parent: Code[::1],
    penalties: Number[::1],
) -> NDArray[np.int64]:
    """Return the penalty of the lowest common ancestor of each line; nodes are in pre-order."""
    losses = np.empty(lines.shape[0], np.int64)
    found: int64[::1] = losses
    declare(line=Py_ssize_t, node=Py_ssize_t)
    with nogil:
        for line in range(lines.shape[0]):
            low, high = _ends(lines, line, values)
            node = leaves[low]
            while node + sizes[node] <= leaves[high]:
                node = parent[node]
            found[line] = penalties[node]
    return losses


def set_losses(lines: Code[:, ::1], values: Code[::1], prices: Number[::1]) -> NDArray[np.int64]:
    """Return the price of the number of distinct values of each line, where equal values are neighbors."""
    losses = np.empty(lines.shape[0], np.int64)
    found: int64[::1] = losses
    is_other: uint8[::1] = np.zeros(prices.shape[0], np.uint8)
    declare(line=Py_ssize_t, place=Py_ssize_t, size=Py_ssize_t)
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


def distinct_values(codes: Code[::1], starts: Number[::1], n_values: Py_ssize_t) -> NDArray[np.int32]:
    """Return the distinct values from each start on, ascending; repeat the last one up to a common length."""
    last: int64[::1] = np.full(n_values, -1)  # the part in which each value occurred last
    values: int32[::1] = np.empty(len(codes), np.int32)
    ends: int64[::1] = np.zeros(len(starts) + 1, np.int64)
    declare(part=Py_ssize_t, place=Py_ssize_t, end=Py_ssize_t)
    declare(n=Py_ssize_t, width=Py_ssize_t)
    n, width = 0, 1
    with nogil:
        for part in range(starts.shape[0]):
            end = starts[part + 1] if part + 1 < starts.shape[0] else codes.shape[0]
            for place in range(starts[part], end):
                if last[codes[place]] != part:
                    last[codes[place]] = part
                    values[n] = codes[place]
                    n += 1
            sort_part(values, ends[part], n)
            ends[part + 1] = n
            width = max(width, n - ends[part])
    lines = np.empty((len(starts), width), np.int32)
    found: int32[:, ::1] = lines
    with nogil:
        for part in range(starts.shape[0]):
            for place in range(width):
                found[part, place] = values[min(ends[part] + place, ends[part + 1] - 1)]
    return lines


# --- The members of clusters, those with the longest transactions first


def merge_members(
    members: int64[::1],
    bounds: int64[::1],
    first: Py_ssize_t,
    last: Py_ssize_t,
    offsets: Number[::1],
) -> None:
    """Move the rows of cluster ``last`` to the earlier cluster ``first``, and renumber the clusters after it.

    The rows of a cluster are in descending order of their lengths, and those of one length ascend. Only the
    first entries of ``bounds`` are then valid, one fewer than before.
    """
    added = np.array(members[bounds[last] : bounds[last + 1]])
    moved: int64[::1] = added
    declare(i=Py_ssize_t, j=Py_ssize_t, place=Py_ssize_t, n=Py_ssize_t)
    with nogil:
        n = moved.shape[0]
        i, j, place = bounds[first + 1] - 1, n - 1, bounds[first + 1] + n - 1
        if bounds[last] > bounds[first + 1]:
            memmove(
                address(members[place + 1]),
                address(members[bounds[first + 1]]),
                (bounds[last] - bounds[first + 1]) * sizeof(int64),
            )
        while j >= 0:
            if i >= bounds[first] and _is_after(members[i], moved[j], offsets):
                members[place] = members[i]
                i -= 1
            else:
                members[place] = moved[j]
                j -= 1
            place -= 1
        for i in range(first + 1, last + 1):
            bounds[i] += n
        for i in range(last + 1, bounds.shape[0] - 1):
            bounds[i] = bounds[i + 1]


@cfunc
@nogil
@exceptval(check=False)
def _is_after(one: Py_ssize_t, other: Py_ssize_t, offsets: Number[::1]) -> bint:
    """Return whether a row is shorter than another, or equally long and later."""
    difference: int64 = offsets[one + 1] - offsets[one] - offsets[other + 1] + offsets[other]
    return difference < 0 or (difference == 0 and one > other)


# --- Distances between sets: estimates of the loss if two sets are generalized together
#
# The distance of a pair is (different items + 1) / (common items + 1) * items of both. For given sizes, it is
# largest without common items. So rows in descending order of size need few comparisons.


@cfunc
@nogil
@exceptval(check=False)
def _count_shared(
    codes: Code[::1],
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


def farthest(
    rows: Number[::1], others: Number[::1], codes: Code[::1], offsets: Number[::1], best: float64
) -> float:
    """Return the largest distance of a row to one of others, or ``best``; both by descending size."""
    with nogil:
        best = _farthest(rows, others, 0, others.shape[0], codes, offsets, best)
    return best


@cfunc
@nogil
@exceptval(check=False)
def _farthest(
    rows: Number[::1],
    others: Number[::1],
    first: Py_ssize_t,
    last: Py_ssize_t,
    codes: Code[::1],
    offsets: Number[::1],
    best: float64,
) -> float64:
    """Return the largest distance of a row to one of ``others[first:last]``, or ``best``."""
    declare(row=Py_ssize_t, other=Py_ssize_t, size=Py_ssize_t)
    declare(both=Py_ssize_t, common=Py_ssize_t)
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
    rows: Number[::1],
    members: Number[::1],
    bounds: Number[::1],
    own: float64,
    codes: Code[::1],
    offsets: Number[::1],
    result: float64[::1],
) -> None:
    """Compute the largest distance within the union of some rows and each cluster of rows.

    ``own`` is the largest distance within the rows; ``result`` has that of each cluster, and is updated.
    """
    cluster: Py_ssize_t
    with nogil:
        for cluster in range(bounds.shape[0] - 1):
            first, last = bounds[cluster], bounds[cluster + 1]
            result[cluster] = _farthest(rows, members, first, last, codes, offsets, max(own, result[cluster]))
