"""Kernels that merge items into clusters, or suppress them, and keep the supports of clusters current.

A cluster is known by its smallest member, its label. What the attributes are is said in ``clusters.pxd``.
Rows are fewer than 2**31 and weights below 2**16, so that a loss without its power of two is below 2**47.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from cython.cimports.pdanon._kernels.counting import Rows
from numpy.typing import NDArray

__all__ = [
    "Bitmaps",
    "RarePartners",
    "State",
    "drop",
    "itemset_supports",
    "merge",
    "satisfy_itemsets",
    "satisfy_pairs",
]


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
    co : ndarray of int32, shape (items, items)
        Rows that hold both of two items; 0 on the diagonal. It is changed.
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
        co: NDArray[np.int32],
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
        self.co = co
        self.active = np.append(used, np.zeros(n - len(used), np.int32))
        self.n_active = len(used)
        self.block = block
        self.spare, self.refused = spare, -1
        self.image = np.empty(n, np.int32)
        self.stamp = np.zeros(n, np.uint8)
        self.row_stamp = np.zeros(len(rows.weights), np.uint8)

    def strike(self, a: cython.int) -> cython.void:
        """Strike a label from those in use."""
        n: cython.int = 0
        for i in range(self.n_active):
            if self.active[i] != a:
                self.active[n] = self.active[i]
                n += 1
        self.n_active = n


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
        for i in range(state.n_active):
            y = state.active[i]
            if y == x or state.block[y] != state.block[x]:
                continue
            together: cython.longlong = state.size[x] + state.size[y]
            rows: cython.longlong = state.support[x] + state.support[y] - state.co[x, y]
            rows *= max(state.weight[x], state.weight[y])
            if best_x >= 0:
                order = _compare_loss(together, rows, best_size, best_rows)
                if order == 0:
                    order = together - best_size
                if order == 0:
                    order = min(x, y) - min(best_x, best_y)
                if order == 0:
                    order = max(x, y) - max(best_x, best_y)
                if order >= 0:
                    continue
            best_x, best_y, best_size, best_rows = x, y, together, rows
    return min(best_x, best_y), max(best_x, best_y)


def merge(a: cython.int, b: cython.int, state: State) -> None:
    """Merge two clusters; the result keeps the smaller label."""
    _merge(min(a, b), max(a, b), state)


def _merge(a: cython.int, b: cython.int, state: State) -> cython.void:
    """Merge cluster b into a (a < b), correcting co-supports on the rows that hold both."""
    both: cython.longlong = state.co[a, b]
    _mark_rows(a, 1, state, state.rows)
    _discount(a, b, state, state.rows)  # before what b has is added: no sum is more than the number of rows
    _mark_rows(a, 0, state, state.rows)
    for i in range(state.n_active):
        state.co[a, state.active[i]] += state.co[b, state.active[i]]
    member: cython.int = b
    while member >= 0:
        state.label[member] = a
        member = state.after[member]
    state.after[state.tail[a]] = b
    state.tail[a] = state.tail[b]
    state.size[a] += state.size[b]
    state.support[a] += state.support[b] - both
    state.weight[a] = max(state.weight[a], state.weight[b])
    state.strike(b)
    for i in range(state.n_active):
        state.co[state.active[i], a] = state.co[a, state.active[i]]


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
    while member >= 0:
        for slot in range(rows.starts[member], rows.starts[member + 1]):
            row: cython.Py_ssize_t = rows.tids[slot]
            if state.row_stamp[row] != 1:
                continue
            state.row_stamp[row] = 2
            weight: cython.int = cython.cast(cython.int, rows.weights[row])
            for position in range(rows.offsets[row], rows.offsets[row + 1]):
                other = state.label[rows.codes[position]]
                if other >= 0 and state.stamp[other] == 0:
                    state.stamp[other] = 1
                    state.co[a, other] -= weight
            for position in range(rows.offsets[row], rows.offsets[row + 1]):
                other = state.label[rows.codes[position]]
                if other >= 0:
                    state.stamp[other] = 0
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


def _coarsen(n: cython.int, least_first: cython.bint, state: State) -> tuple[cython.int, cython.int]:
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


def _image(items: Code[::1], start: cython.longlong, stop: cython.longlong, state: State) -> cython.int:
    """Write the distinct clusters of an itemset; return their number. Suppressed items have none."""
    n: cython.int = 0
    for i in range(start, stop):
        cluster = state.label[items[i]]
        if cluster >= 0 and state.stamp[cluster] == 0:
            state.stamp[cluster] = 1
            state.image[n] = cluster
            n += 1
    for i in range(n):
        state.stamp[state.image[i]] = 0
    return n


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

    def look_up(self, a: cython.int, state: State) -> cython.void:
        """Look for the partner of a cluster."""
        self.support[a], self.partner[a] = 0, -1
        for i in range(state.n_active):
            r = state.active[i]
            if r != a and self.support[a] < state.co[a, r] < self.k:
                self.support[a], self.partner[a] = state.co[a, r], r

    def refresh(self, a: cython.int, b: cython.int, state: State) -> cython.void:
        """Renew what is known after b was merged into a, or a, which then is b, was suppressed."""
        is_merged: cython.bint = state.label[a] >= 0
        for i in range(state.n_active):
            r = state.active[i]
            if self.partner[r] == a or self.partner[r] == b:
                self.partner[r] = -2
            elif is_merged and self.partner[r] != -2 and 0 < state.co[r, a] < self.k:
                support = state.co[r, a]
                if support > self.support[r] or (support == self.support[r] and a < self.partner[r]):
                    self.support[r], self.partner[r] = support, a
        self.partner[a] = -2


def satisfy_pairs(
    pairs: cython.bint, least_first: cython.bint, limit: cython.longlong, rare: RarePartners, state: State
) -> int:
    """Merge and suppress until no cluster, and with ``pairs`` no pair of clusters, has a support in (0, k).

    The largest such support comes first; then a cluster before a pair, then the order of labels. At most
    about ``limit`` steps are made, so that the caller can report progress; their number is returned.
    """
    itemset: cython.int[::1] = np.empty(2, np.int32)
    steps: cython.longlong = 0
    with cython.nogil:
        while steps < limit and state.refused < 0:
            itemset[0], itemset[1] = _largest_rare(pairs, state, rare)
            if itemset[0] < 0:
                break
            steps += _satisfy_pair(itemset, least_first, state, rare)
    return steps


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
    if pairs:
        for i in range(state.n_active):
            a = state.active[i]
            if rare.partner[a] == -2:
                rare.look_up(a, state)
            if rare.support[a] > most:
                first, second, most = a, rare.partner[a], rare.support[a]
    return first, second


def _satisfy_pair(
    itemset: Code[::1], least_first: cython.bint, state: State, rare: RarePartners
) -> cython.longlong:
    """Merge and suppress until two clusters, or one, are not rare; return the number of steps."""
    support: cython.longlong
    steps: cython.longlong = 0
    n: cython.int = _image(itemset, 0, 2, state)
    while n > 0:
        support = state.support[state.image[0]] if n == 1 else state.co[state.image[0], state.image[1]]
        if support >= rare.k:
            break
        a, b = _coarsen(n, least_first, state)
        if a < 0:
            break
        steps += 1
        rare.refresh(a, b, state)
        n = _image(itemset, 0, 2, state)
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
        word: cython.ulonglong
        row: cython.Py_ssize_t
        i: cython.Py_ssize_t
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
            n = _image(sets, set_offsets[i], set_offsets[i + 1], state)
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
            n = _image(sets, set_offsets[begin], set_offsets[begin + 1], state)
            while 0 < bitmaps.support(n, k, state) < k:
                a, b = _coarsen(n, least_first, state)
                if a < 0:
                    break
                bitmaps.unite(a, b)
                steps += 1
                n = _image(sets, set_offsets[begin], set_offsets[begin + 1], state)
            begin += 1
    return steps, begin
