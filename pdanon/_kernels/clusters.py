"""Clusters of items: merge or suppress them until itemsets are not rare; distances between sets.

A cluster is identified by its smallest member, its label. ``clusters.pxd`` documents the attributes. There
are fewer than 2**31 rows and weights are below 2**16, so a loss without its power of two is below 2**47.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Flag, Number, Rows
from numpy.typing import NDArray

from pdanon._kernels.counting import item_supports

__all__ = [
    "Bitmaps",
    "RarePartners",
    "State",
    "begin_lines",
    "coarsen_each",
    "count_rows",
    "drop",
    "farthest",
    "itemset_supports",
    "joined",
    "merge",
    "satisfy_itemsets",
    "satisfy_pairs",
    "together",
]


# --- The state, and one merge


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
    """Give each item a line without counts, unless lines are too few or one is in use."""
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_rows(begin: cython.Py_ssize_t, end: cython.Py_ssize_t, state: State, rows: Rows) -> cython.void:
    cython.declare(row=cython.Py_ssize_t, p=cython.Py_ssize_t, q=cython.Py_ssize_t)
    for row in range(begin, end):
        weight: cython.int = cython.cast(cython.int, rows.weights[row])
        for p in range(rows.offsets[row], rows.offsets[row + 1]):
            a = rows.codes[p]
            for q in range(rows.offsets[row], rows.offsets[row + 1]):
                state.co[a, rows.codes[q]] += weight
            state.co[a, a] -= weight


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def together(a: cython.int, b: cython.int, state: State) -> cython.int:
    """Rows that hold two clusters."""
    if state.line[a] < 0 and state.line[b] >= 0:
        return state.co[state.line[b], a]
    return state.co[line_of(a, -1, state), b]


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cheapest_merge(begin: cython.int, end: cython.int, state: State) -> tuple[cython.int, cython.int]:
    """The merge of a cluster of the image with another of its block that costs least, or (-1, -1).

    Clusters of the image are looked at from one place to before another. Order: utility loss of the union,
    its size, then its members (which the two labels, sorted, decide).
    """
    cython.declare(x=cython.int, y=cython.int)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark_rows(a: cython.int, mark: cython.uchar, state: State, rows: Rows) -> cython.void:
    """Mark the rows that hold a cluster."""
    member: cython.int = a
    while member >= 0:
        for slot in range(rows.starts[member], rows.starts[member + 1]):
            state.row_stamp[rows.tids[slot]] = mark
        member = state.after[member]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.ccall
@cython.nogil
@cython.exceptval(check=False)
def drop(a: cython.int, state: State) -> cython.void:
    """Suppress a cluster with all its members; supports of the others do not change."""
    member: cython.int = a
    while member >= 0:
        state.label[member] = -1
        member = state.after[member]
    state.strike(a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def coarsen(n: cython.int, least_first: cython.bint, state: State) -> tuple[cython.int, cython.int]:
    """Make an image of n clusters coarser by one merge; where no block allows one, suppress the least.

    With ``least_first`` only the least cluster is merged with others. Returns a, b if b was merged into a,
    and a, a if a was suppressed. If too many items would be suppressed, returns -1, -1 and sets ``refused``.
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
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


# --- Merges until pairs, or given itemsets, are not rare


@cython.final
@cython.cclass
class RarePartners:
    """For each cluster that with which it is rarest: most often together of all rare pairs.

    Parameters
    ----------
    k : int
        A support in (0, k) is rare.
    n_items : int
        Number of items.
    """

    def __init__(self, k: cython.longlong, n_items: cython.Py_ssize_t) -> None:
        self.k = k
        self.partner = np.full(n_items, -2, np.int32)
        self.support = np.zeros(n_items, np.int32)

    def look_up_some(self, begin: cython.int, end: cython.int, state: State) -> None:
        """Look for the partners of the clusters in use that are labelled ``begin..end - 1``.

        Those that are rare alone are left out: `_largest_rare` asks for none of theirs.
        """
        i: cython.int
        with cython.nogil:
            for i in range(state.n_active):
                a = state.active[i]
                if begin <= a < end and state.support[a] >= self.k:
                    self.look_up(a, state)

    def look_up(self, a: cython.int, state: State) -> cython.void:
        """Look for the partner of a cluster."""
        i: cython.int
        self.support[a], self.partner[a] = 0, -1
        if state.line[a] < 0 and state.walk[a] < state.n_active:  # too little to take a line for
            n: cython.int = counted(a, state.counts, state, state.rows)
            for i in range(n):
                self.consider(a, state.touched[i], state.counts[state.touched[i]])
                state.counts[state.touched[i]] = 0
            return
        line: cython.Py_ssize_t = line_of(a, -1, state)
        for i in range(state.n_active):
            r = state.active[i]
            if r != a:
                self.consider(a, r, state.co[line, r])

    def consider(self, a: cython.int, r: cython.int, both: cython.int) -> cython.void:
        """Make r the partner of a if it is more often with a than the known one, or as often and first."""
        if 0 < both < self.k and (
            both > self.support[a] or (both == self.support[a] and r < self.partner[a])
        ):
            self.support[a], self.partner[a] = both, r

    def refresh(self, a: cython.int, b: cython.int, state: State) -> cython.void:
        """Renew what is known after b was merged into a, or a, which then is b, was suppressed."""
        is_merged: cython.bint = state.label[a] >= 0
        line: cython.Py_ssize_t = line_of(a, -1, state) if is_merged else -1
        for i in range(state.n_active):
            r = state.active[i]
            if self.partner[r] == -2:
                continue
            if self.partner[r] == a or self.partner[r] == b:
                if not is_merged or state.co[line, r] >= self.k:
                    self.partner[r] = -2
                else:  # with the union r is as often together, or more: no other comes before it
                    self.support[r], self.partner[r] = state.co[line, r], a
            elif is_merged:
                self.consider(r, a, state.co[line, r])
        self.partner[a] = -2


def satisfy_pairs(
    pairs: cython.bint,
    least_first: cython.bint,
    limit: cython.longlong,
    rare: RarePartners,
    state: State,
    halt: Flag[::1],
) -> int:
    """Merge and suppress until no cluster, and with ``pairs`` no pair of clusters, has a support in (0, k).

    The largest such support comes first; then a cluster before a pair, then the order of labels. At most
    about ``limit`` steps are made, so that the caller can report progress, and none when ``halt[0]`` is set;
    their number is returned.
    """
    itemset: cython.int[::1] = np.empty(2, np.int32)
    steps: cython.longlong = 0
    with cython.nogil:
        while steps < limit and state.refused < 0:
            itemset[0], itemset[1] = _largest_rare(pairs, state, rare)
            if itemset[0] < 0:
                break
            steps += _satisfy_pair(itemset, pairs, least_first, state, rare, halt)
            if halt[0]:
                break
    return steps


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _largest_rare(pairs: cython.bint, state: State, rare: RarePartners) -> tuple[cython.int, cython.int]:
    """The cluster, twice, or the pair of clusters with the largest support in (0, k), or (-1, -1)."""
    a: cython.int
    first: cython.int = -1
    second: cython.int = -1
    most: cython.longlong = 0
    for i in range(state.n_active):
        a = state.active[i]
        if most < state.support[a] < rare.k:
            first, second, most = a, a, state.support[a]
            if most == rare.k - 1:  # and no other is larger
                return first, second
    if pairs:
        for i in range(state.n_active):
            a = state.active[i]
            if state.support[a] < rare.k:
                continue  # a rare cluster comes before its pairs, whose supports are not larger
            if rare.partner[a] == -2:
                rare.look_up(a, state)
            if rare.support[a] > most:
                first, second, most = a, rare.partner[a], rare.support[a]
    return first, second


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _satisfy_pair(
    itemset: Code[::1],
    pairs: cython.bint,
    least_first: cython.bint,
    state: State,
    rare: RarePartners,
    halt: Flag[::1],
) -> cython.longlong:
    """Merge and suppress until two clusters, or one, are not rare; return the number of steps."""
    support: cython.longlong
    steps: cython.longlong = 0
    n: cython.int = image_of(itemset, 0, 2, state)
    while n > 0 and not halt[0]:
        support = state.support[state.image[0]] if n == 1 else together(state.image[0], state.image[1], state)
        if support >= rare.k:
            break
        a, b = coarsen(n, least_first, state)
        if a < 0:
            break
        steps += 1
        if pairs:
            rare.refresh(a, b, state)
        n = image_of(itemset, 0, 2, state)
    return steps


@cython.final
@cython.cclass
class Bitmaps:
    """For each item, or cluster, the rows that hold it, one bit a row."""

    def __init__(
        self, codes: Code[::1], offsets: Number[::1], weights: Number[::1], n_items: cython.Py_ssize_t
    ) -> None:
        one: cython.ulonglong = 1
        row: cython.Py_ssize_t
        self.bits = np.zeros((n_items, (len(offsets) + 62) // 64), np.uint64)
        self.weights = weights
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                self.bits[codes[position], row >> 6] |= one << (row & 63)

    def unite(self, a: cython.int, b: cython.int) -> cython.void:
        """Add the rows of b to those of a."""
        for i in range(self.bits.shape[1]):
            self.bits[a, i] |= self.bits[b, i]

    def support(self, n: cython.int, enough: cython.longlong, state: State) -> cython.longlong:
        """Transactions that hold all clusters of an image of n; counting stops when there are enough."""
        cython.declare(word=cython.ulonglong, row=cython.Py_ssize_t, i=cython.Py_ssize_t)
        total: cython.longlong = 0
        for i in range(self.bits.shape[1] if n > 0 else 0):
            word = self.bits[state.image[0], i]
            for place in range(1, n):
                word &= self.bits[state.image[place], i]
            row = 64 * i
            while word:
                if word & 1:
                    total += self.weights[row]
                word >>= 1
                row += 1
            if total >= enough:
                break
        return total


def itemset_supports(
    sets: Code[::1], set_offsets: Number[::1], enough: cython.longlong, bitmaps: Bitmaps, state: State
) -> NDArray[np.int64]:
    """Support of the image of each itemset, or any number that is enough."""
    n: cython.int
    result = np.empty(len(set_offsets) - 1, np.int64)
    supports: cython.longlong[::1] = result
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(supports.shape[0]):
            n = image_of(sets, set_offsets[i], set_offsets[i + 1], state)
            supports[i] = bitmaps.support(n, enough, state)
    return result


def satisfy_itemsets(
    k: cython.longlong,
    least_first: cython.bint,
    limit: cython.longlong,
    sets: Code[::1],
    set_offsets: Number[::1],
    begin: cython.Py_ssize_t,
    bitmaps: Bitmaps,
    state: State,
) -> tuple[int, int]:
    """Merge and suppress until the image of no given itemset, one after the other, has a support in (0, k).

    ``bitmaps`` are those of the clusters, and are kept current. At most about ``limit`` steps are made, from
    the itemset ``begin`` on. Returns their number, and the itemset to begin with next.
    """
    n: cython.int
    steps: cython.longlong = 0
    with cython.nogil:
        while begin < set_offsets.shape[0] - 1 and steps < limit and state.refused < 0:
            n = image_of(sets, set_offsets[begin], set_offsets[begin + 1], state)
            while 0 < bitmaps.support(n, k, state) < k:
                a, b = coarsen(n, least_first, state)
                if a < 0:
                    break
                bitmaps.unite(a, b)
                steps += 1
                n = image_of(sets, set_offsets[begin], set_offsets[begin + 1], state)
            begin += 1
    return steps, begin


def coarsen_each(sets: Code[::1], set_offsets: Number[::1], state: State) -> int:
    """Make the image of each given itemset coarser by one merge, if none before has changed it.

    Returns the number of merges.
    """
    changed: cython.uchar[::1] = np.zeros(state.label.shape[0], np.uint8)
    i: cython.Py_ssize_t
    merges: cython.longlong = 0
    with cython.nogil:
        for i in range(set_offsets.shape[0] - 1):
            is_changed: cython.bint = state.n_active < 2
            for place in range(set_offsets[i], set_offsets[i + 1]):
                is_changed |= changed[state.label[sets[place]]]
            if is_changed:
                continue
            n: cython.int = image_of(sets, set_offsets[i], set_offsets[i + 1], state)
            a, _ = coarsen(n, False, state)
            changed[a] = 1
            merges += 1
    return merges


# --- Distances between sets, which stand in for the loss of generalizing them
#
# What a pair loses is (different items + 1) / (common items + 1) * items of both. With sizes given it is
# most for pairs without common items, so that rows in descending order of size need few comparisons.


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_shared(
    codes: Code[::1],
    start: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    count: cython.Py_ssize_t = 0
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
    rows: Number[::1], others: Number[::1], codes: Code[::1], offsets: Number[::1], best: cython.double
) -> float:
    """Largest distance of a row to one of others, or ``best``; both by descending size."""
    with cython.nogil:
        best = _farthest(rows, others, 0, others.shape[0], codes, offsets, best)
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _farthest(
    rows: Number[::1],
    others: Number[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    codes: Code[::1],
    offsets: Number[::1],
    best: cython.double,
) -> cython.double:
    """Largest distance of a row to one of ``others[first:last]``, or ``best``."""
    cython.declare(row=cython.Py_ssize_t, other=cython.Py_ssize_t, size=cython.Py_ssize_t)
    cython.declare(both=cython.Py_ssize_t, common=cython.Py_ssize_t)
    for i in range(rows.shape[0]):
        row = rows[i]
        size = offsets[row + 1] - offsets[row]
        for j in range(first, last):
            other = others[j]
            both = size + offsets[other + 1] - offsets[other]
            if (both + 1.0) * both <= best:
                if j == first:  # nor can a shorter row be farther from any
                    return best
                break
            if other == row:
                continue
            common = _count_shared(codes, offsets[row], offsets[row + 1], offsets[other], offsets[other + 1])
            # Integers far below 2**53 in, so that equal quotients are equal floats.
            best = max(best, (both - 2 * common + 1.0) * (both - common) / (common + 1.0))
    return best


def joined(
    rows: Number[::1],
    members: Number[::1],
    bounds: Number[::1],
    own: cython.double,
    codes: Code[::1],
    offsets: Number[::1],
    result: cython.double[::1],
) -> None:
    """Distance within the union of some rows with each cluster of rows; ``result`` begins with theirs."""
    cluster: cython.Py_ssize_t
    with cython.nogil:
        for cluster in range(bounds.shape[0] - 1):
            first, last = bounds[cluster], bounds[cluster + 1]
            result[cluster] = _farthest(rows, members, first, last, codes, offsets, max(own, result[cluster]))
