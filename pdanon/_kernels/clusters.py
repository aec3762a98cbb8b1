"""Kernels that merge items into clusters, or suppress them, and keep the supports of clusters current.

A cluster is known by its smallest member, its label. What the attributes are is said in ``clusters.pxd``.
Rows are fewer than 2**31 and weights below 2**16, so that a loss without its power of two is below 2**47.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code
from cython.cimports.pdanon._kernels.counting import Rows
from numpy.typing import NDArray

from pdanon._kernels.counting import item_supports

__all__ = ["State", "begin_lines", "count_rows", "drop", "merge", "together"]


@cython.final
@cython.cclass
class State:
    """The clusters: each item one of its own to begin with.

    Parameters
    ----------
    rows : Rows
        Rows of items.
    size : ndarray of int64, shape (items,)
        How many members each item stands for; 0: it is in no cluster.
    support, weight : ndarray of int64, shape (items,)
        Rows that hold each item, and its importance.
    lines : int
        For how many clusters supports with all others are kept at a time; at least 2.
    block : ndarray of int32, shape (items,)
        Only clusters of items of one block are merged.
    spare : int
        How many items may be suppressed.
    """

    def __init__(
        self,
        *,
        rows: Rows,
        size: NDArray[np.int64],
        support: NDArray[np.int64],
        weight: NDArray[np.int64],
        lines: cython.Py_ssize_t,
        block: NDArray[np.int32],
        spare: int,
    ) -> None:
        n = len(size)
        used = np.flatnonzero(size).astype(np.int32)
        self.rows = rows
        self.label = np.where(size > 0, np.arange(n, dtype=np.int32), np.int32(-1))
        self.after = np.full(n, -1, np.int32)
        self.tail = np.arange(n, dtype=np.int32)
        self.size, self.support, self.weight = size.copy(), support.copy(), weight.copy()
        self.co = np.empty((lines, n), np.int32)  # memory that is not used is not taken
        self.line, self.holder = np.full(n, -1, np.int32), np.empty(lines, np.int32)
        self.n_lines = 0
        self.walk = item_supports(rows.codes, rows.offsets, np.diff(rows.offsets), n)
        self.active = np.append(used, np.zeros(n - len(used), np.int32))
        self.n_active = len(used)
        self.block = block
        self.spare, self.refused = spare, -1
        self.image, self.touched = np.empty(n, np.int32), np.empty(n, np.int32)
        self.counts = np.zeros(n, np.int32)
        self.stamp, self.stamps = np.zeros(n, np.int64), 0
        self.row_stamp = np.zeros(len(rows.weights), np.uint8)

    def strike(self, a: cython.int) -> cython.void:
        """Strike a label from those in use."""
        i: cython.int
        place: cython.int = 0
        if self.line[a] >= 0:
            self.holder[self.line[a]] = -1
            self.line[a] = -1
        while self.active[place] != a:
            place += 1
        self.n_active -= 1
        for i in range(place, self.n_active):
            self.active[i] = self.active[i + 1]


def begin_lines(state: State) -> bool:
    """Give each item a line, of which nothing is counted yet; not if there are too few, or one is in use."""
    a: cython.int
    if state.n_lines or state.holder.shape[0] < state.label.shape[0]:
        return False
    state.co[:, :] = 0
    state.holder[:] = -1
    for a in range(state.n_active):
        item = state.active[a]
        state.line[item] = state.holder[item] = item
    state.n_lines = state.holder.shape[0]
    return True


def count_rows(begin: cython.Py_ssize_t, end: cython.Py_ssize_t, state: State) -> None:
    """Add some rows to what is counted of the line of each item: the whole of it, row by row."""
    with cython.nogil:
        _count_rows(begin, end, state, state.rows)


def _count_rows(begin: cython.Py_ssize_t, end: cython.Py_ssize_t, state: State, rows: Rows) -> cython.void:
    row: cython.Py_ssize_t
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    for row in range(begin, end):
        weight: cython.int = cython.cast(cython.int, rows.weights[row])
        for p in range(rows.offsets[row], rows.offsets[row + 1]):
            a = rows.codes[p]
            for q in range(rows.offsets[row], rows.offsets[row + 1]):
                state.co[a, rows.codes[q]] += weight
            state.co[a, a] -= weight


def counted(a: cython.int, counts: cython.int[::1], state: State, rows: Rows) -> cython.int:
    """Add up in how many rows each other cluster is with a; write which, and return how many there are."""
    n: cython.int = 0
    member: cython.int = a
    while member >= 0:
        for slot in range(rows.starts[member], rows.starts[member + 1]):
            row: cython.Py_ssize_t = rows.tids[slot]
            if state.row_stamp[row]:
                continue
            state.row_stamp[row] = 1
            state.stamps += 1
            weight: cython.int = cython.cast(cython.int, rows.weights[row])
            for position in range(rows.offsets[row], rows.offsets[row + 1]):
                other = state.label[rows.codes[position]]
                if other >= 0 and other != a and state.stamp[other] != state.stamps:
                    state.stamp[other] = state.stamps
                    if counts[other] == 0:
                        state.touched[n] = other
                        n += 1
                    counts[other] += weight
        member = state.after[member]
    _mark_rows(a, 0, state, rows)
    return n


def line_of(a: cython.int, kept: cython.int, state: State) -> cython.int:
    """The line of ``co`` that a cluster has; it is counted if it has none.

    If there is no room, the line that is counted again most quickly makes it, but not that of ``kept``.
    """
    i: cython.int
    found: cython.int = state.line[a]
    if found >= 0:
        return found
    if state.n_lines < state.holder.shape[0]:
        found = state.n_lines
        state.n_lines += 1
    else:
        for i in range(state.n_lines):
            holder = state.holder[i]
            if holder < 0:
                found = i
                break
            if holder != kept and (found < 0 or state.walk[holder] < state.walk[state.holder[found]]):
                found = i
        if state.holder[found] >= 0:
            state.line[state.holder[found]] = -1
    state.line[a], state.holder[found] = found, a
    state.co[found, :] = 0
    counted(a, state.co[found], state, state.rows)
    return found


def together(a: cython.int, b: cython.int, state: State) -> cython.int:
    """Rows that hold two clusters."""
    if state.line[a] < 0 and state.line[b] >= 0:
        return state.co[state.line[b], a]
    return state.co[line_of(a, -1, state), b]


def _compare_loss(
    size_1: cython.longlong, rows_1: cython.longlong, size_2: cython.longlong, rows_2: cython.longlong
) -> cython.int:
    """Sign of (2**size_1 - 1) * rows_1 - (2**size_2 - 1) * rows_2, exactly, for rows below 2**53."""
    if size_1 < size_2:
        return -_compare_loss(size_2, rows_2, size_1, rows_1)
    if rows_1 == 0 or rows_2 == 0:
        return (rows_1 > 0) - (rows_2 > 0)
    shift: cython.longlong = size_1 - size_2
    if shift >= 54 or rows_1 > (rows_2 >> shift):
        return 1
    # Now 2**shift * rows_1 <= rows_2; the leading terms differ by -lead, the subtracted ones by rest.
    lead: cython.longlong = rows_2 - (rows_1 << shift)
    rest: cython.longlong = rows_2 - rows_1
    if size_2 >= 54:
        if lead:
            return -1
        return 1 if rest > 0 else 0
    quotient: cython.longlong = rest >> size_2
    if lead != quotient:
        return -1 if lead > quotient else 1
    return 1 if (quotient << size_2) != rest else 0


def _cheapest_merge(begin: cython.int, end: cython.int, state: State) -> tuple[cython.int, cython.int]:
    """The merge of a cluster of the image with another of its block that costs least, or (-1, -1).

    Clusters of the image are looked at from one place to before another. Order: utility loss of the union,
    its size, then its members (which the two labels, sorted, decide).
    """
    x: cython.int
    y: cython.int
    best_x: cython.int = -1
    best_y: cython.int = -1
    best_size: cython.longlong = 0
    best_rows: cython.longlong = 0
    order: cython.longlong
    for place in range(begin, end):
        x = state.image[place]
        line = line_of(x, -1, state)
        for i in range(state.n_active):
            y = state.active[i]
            if y == x or state.block[y] != state.block[x]:
                continue
            size: cython.longlong = state.size[x] + state.size[y]
            rows: cython.longlong = state.support[x] + state.support[y] - state.co[line, y]
            rows *= max(state.weight[x], state.weight[y])
            if best_x >= 0:
                order = _compare_loss(size, rows, best_size, best_rows)
                if order == 0:
                    order = size - best_size
                if order == 0:
                    order = min(x, y) - min(best_x, best_y)
                if order == 0:
                    order = max(x, y) - max(best_x, best_y)
                if order >= 0:
                    continue
            best_x, best_y, best_size, best_rows = x, y, size, rows
            if size == state.size[x] + 1 and rows == state.support[x] * state.weight[x]:
                break  # the least that a union with x can cost, and of equal ones the first label wins
    return min(best_x, best_y), max(best_x, best_y)


def merge(a: cython.int, b: cython.int, state: State) -> None:
    """Merge two clusters; the result keeps the smaller label."""
    _merge(min(a, b), max(a, b), state)


def _merge(a: cython.int, b: cython.int, state: State) -> cython.void:
    """Merge cluster b into a (a < b).

    Where the rows of one contain those of the other, the union has the co-supports of the wider, and no row
    is read: a row of very many items would be read once for each of them.
    """
    both: cython.longlong = together(a, b, state)
    if both < state.support[a] and both < state.support[b]:
        _unite_lines(a, b, state)
    elif both < state.support[b] or (both == state.support[a] and state.line[a] < 0):
        _take_over(a, b, state)  # of equal rows the line that there is, as counting it again reads rows
    member: cython.int = b
    while member >= 0:
        state.label[member] = a
        member = state.after[member]
    state.after[state.tail[a]] = b
    state.tail[a] = state.tail[b]
    state.size[a] += state.size[b]
    state.support[a] += state.support[b] - both
    state.weight[a] = max(state.weight[a], state.weight[b])
    state.walk[a] += state.walk[b]
    state.strike(b)


def _take_over(a: cython.int, b: cython.int, state: State) -> cython.void:
    """Give a the co-supports of b, whose rows are those of the union, and the line of b if it has one."""
    for i in range(state.n_active):
        other = state.active[i]
        if other != a and other != b and state.line[other] >= 0:
            state.co[state.line[other], a] = state.co[state.line[other], b]
    state.line[a], state.line[b] = state.line[b], state.line[a]
    if state.line[a] >= 0:
        state.holder[state.line[a]] = a
        state.co[state.line[a], a] = 0
    if state.line[b] >= 0:
        state.holder[state.line[b]] = b


def _unite_lines(a: cython.int, b: cython.int, state: State) -> cython.void:
    """Give a the co-supports of its union with b, correcting their sums on the rows that hold both."""
    own: cython.Py_ssize_t = line_of(a, b, state)
    gone: cython.Py_ssize_t = line_of(b, a, state)
    _mark_rows(a, 1, state, state.rows)
    _discount(a, b, state, state.rows)  # before what b has is added: no sum is more than the number of rows
    _mark_rows(a, 0, state, state.rows)
    for i in range(state.n_active):
        other = state.active[i]
        state.co[own, other] += state.co[gone, other]
        if other != a and state.line[other] >= 0:
            state.co[state.line[other], a] = state.co[own, other]


def _mark_rows(a: cython.int, mark: cython.uchar, state: State, rows: Rows) -> cython.void:
    """Mark the rows that hold a cluster."""
    member: cython.int = a
    while member >= 0:
        for slot in range(rows.starts[member], rows.starts[member + 1]):
            state.row_stamp[rows.tids[slot]] = mark
        member = state.after[member]


def _discount(a: cython.int, b: cython.int, state: State, rows: Rows) -> cython.void:
    """Take the rows that are marked and hold b off what a has with each cluster that they hold."""
    member: cython.int = b
    line: cython.Py_ssize_t = state.line[a]
    while member >= 0:
        for slot in range(rows.starts[member], rows.starts[member + 1]):
            row: cython.Py_ssize_t = rows.tids[slot]
            if state.row_stamp[row] != 1:
                continue
            state.row_stamp[row] = 2
            state.stamps += 1
            weight: cython.int = cython.cast(cython.int, rows.weights[row])
            for position in range(rows.offsets[row], rows.offsets[row + 1]):
                other = state.label[rows.codes[position]]
                if other >= 0 and state.stamp[other] != state.stamps:
                    state.stamp[other] = state.stamps
                    state.co[line, other] -= weight
        member = state.after[member]


def drop(a: cython.int, state: State) -> cython.void:
    """Suppress a cluster with all its members; supports of the others do not change."""
    member: cython.int = a
    while member >= 0:
        state.label[member] = -1
        member = state.after[member]
    state.strike(a)


def _least_supported(n: cython.int, state: State) -> cython.int:
    """The place in an image of the cluster of least support, then of fewest members, then of least label."""
    best: cython.int = 0
    order: cython.longlong
    for i in range(1, n):
        x, y = state.image[i], state.image[best]
        order = state.support[x] - state.support[y]
        if order == 0:
            order = state.size[x] - state.size[y]
        if order < 0 or (order == 0 and x < y):
            best = i
    return best


def coarsen(n: cython.int, least_first: cython.bint, state: State) -> tuple[cython.int, cython.int]:
    """Make an image of n clusters coarser by one merge; where no block allows one, suppress the least.

    With ``least_first`` only the least cluster is merged with others. Returns a, b if b was merged into a;
    a, a if a was suppressed; -1, -1 if too many items would be, which ``refused`` says of which cluster.
    """
    least: cython.int = _least_supported(n, state)
    a, b = _cheapest_merge(least, least + 1, state) if least_first else _cheapest_merge(0, n, state)
    if a >= 0:
        _merge(a, b, state)
        return a, b
    a = state.image[least]
    if state.size[a] > state.spare:
        state.refused = a
        return -1, -1
    state.spare -= state.size[a]
    drop(a, state)
    return a, a


def image_of(items: Code[::1], start: cython.longlong, stop: cython.longlong, state: State) -> cython.int:
    """Write the distinct clusters of an itemset; return their number. Suppressed items have none."""
    n: cython.int = 0
    state.stamps += 1
    for i in range(start, stop):
        cluster = state.label[items[i]]
        if cluster >= 0 and state.stamp[cluster] != state.stamps:
            state.stamp[cluster] = state.stamps
            state.image[n] = cluster
            n += 1
    return n
