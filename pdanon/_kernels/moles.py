"""Kernels that list the minimal moles of transactions, and choose items that meet them all.

A mole is a set of public items that too few rows hold, or whose rows share a private item too often.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag, Number, grown
from numpy.typing import NDArray

__all__ = ["Rows", "eliminate", "minimal_moles", "private_begins", "private_peaks"]

Array = NDArray[Any]


@cython.final
@cython.cclass
class Rows:
    """Rows whose public items, by number, come before the private ones, which begin at ``ends`` in ``codes``.

    Parameters
    ----------
    codes, offsets, ends, weights : ndarray of int32, int64, int64, int64
        The rows.
    """

    codes: Code[::1]
    offsets: Number[::1]
    ends: Number[::1]
    weights: Number[::1]

    def __init__(self, codes: Array, offsets: Array, ends: Array, weights: Array) -> None:
        self.codes, self.offsets, self.ends, self.weights = codes, offsets, ends, weights


def private_begins(codes: Code[::1], offsets: Number[::1], n_public: cython.int) -> NDArray[np.int64]:
    """Where in ``codes`` the private items of each row begin."""
    result = np.empty(len(offsets) - 1, np.int64)
    begins: cython.longlong[::1] = result
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    with cython.nogil:
        for row in range(begins.shape[0]):
            place = offsets[row]
            while place < offsets[row + 1] and codes[place] < n_public:
                place += 1
            begins[row] = place
    return result


def private_peaks(rows: Rows, starts: Number[::1], tids: Code[::1], n_items: int) -> NDArray[np.int64]:
    """For each public item the number of its rows that the most frequent private item shares."""
    result = np.empty(len(starts) - 1, np.int64)
    peaks: cython.longlong[::1] = result
    counts: cython.longlong[::1] = np.zeros(n_items, np.int64)
    item: cython.Py_ssize_t
    with cython.nogil:
        for item in range(peaks.shape[0]):
            peaks[item] = _peak(starts[item], starts[item + 1], tids, rows, counts)
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _peak(
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    tids: Code[::1],
    rows: Rows,
    counts: cython.longlong[::1],
) -> cython.longlong:
    """The largest count of a private item in the rows tids[start:stop]; counts are 0 before and after."""
    peak: cython.longlong = 0
    slot: cython.Py_ssize_t
    row: cython.Py_ssize_t
    for slot in range(start, stop):
        row = tids[slot]
        for position in range(rows.ends[row], rows.offsets[row + 1]):
            counts[rows.codes[position]] += rows.weights[row]
    for slot in range(start, stop):
        row = tids[slot]
        for position in range(rows.ends[row], rows.offsets[row + 1]):
            peak = max(peak, counts[rows.codes[position]])
            counts[rows.codes[position]] = 0
    return peak


def minimal_moles(
    k: int,
    p: int,
    above: int,
    below: int,
    rows: Rows,
    starts: Array,
    tids: Array,
    places: Array,
    supports: Array,
    peaks: Array,
    n_items: int,
    most: cython.longlong,
    halt: Flag[::1],
) -> tuple[NDArray[np.int32], NDArray[np.int64], bool]:
    """Minimal moles of 2 to p items, as CSR, and whether these are all; no single item is one.

    Itemsets are visited depth first, the last item of a prefix first. So all subsets of an itemset were
    visited before it. And the rows of the items that follow a prefix, ``tids[starts[item]:]``, and the places
    where they stand there can be written over those of the prefix before, which only earlier items still
    need. Where no other item is to follow, only rows with private items are listed.

    It ends early when there are more than ``most``, or four times as many other itemsets, or when ``halt[0]``
    is set.
    """
    search = _Search(k, p, above, below, rows, starts, tids, places, supports, peaks, n_items)
    with cython.nogil:
        is_done = search.run(most, halt)
    n_found = search.n_found
    bounds = np.asarray(search.bounds)[: n_found + 1]
    return np.asarray(search.found)[: bounds[n_found]], bounds, bool(is_done)


@cython.final
@cython.cclass
class _Search:
    """The prefix tree of the itemsets that are no moles, the moles found, and where the search is."""

    k: cython.longlong
    p: cython.Py_ssize_t
    above: cython.longlong
    below: cython.longlong
    rows: Rows
    starts: Number[::1]
    tids: cython.int[::1]
    places: cython.longlong[::1]
    supports: cython.longlong[::1]
    peaks: cython.longlong[::1]
    filled: cython.longlong[::1]  # rows that an item has in hand
    prefix_of: cython.longlong[::1]  # the node whose rows these are
    counts: cython.longlong[::1]  # of private items, 0 between two itemsets
    n_nodes: cython.Py_ssize_t
    names: cython.int[::1]  # item of each node
    first: cython.longlong[::1]  # where its children, ascending, begin
    last: cython.longlong[::1]  # and end
    path: cython.longlong[::1]  # the nodes above the one in hand
    cursor: cython.longlong[::1]  # where among the children of each of them the search is
    itemset: cython.int[::1]
    n_found: cython.Py_ssize_t
    found: cython.int[::1]
    bounds: cython.longlong[::1]

    def __init__(
        self,
        k: int,
        p: int,
        above: int,
        below: int,
        rows: Rows,
        starts: Array,
        tids: Array,
        places: Array,
        supports: Array,
        peaks: Array,
        n_items: int,
    ) -> None:
        n_public = len(starts) - 1
        self.k, self.p, self.above, self.below = k, p, above, below
        self.rows, self.starts, self.tids, self.places = rows, starts, tids, places
        self.supports, self.peaks = supports, peaks
        self.filled, self.prefix_of = np.diff(starts), np.zeros(n_public, np.int64)
        self.counts = np.zeros(n_items, np.int64)
        names = np.empty(2 * n_public + 2, np.int32)
        names[1 : n_public + 1] = np.arange(n_public)
        self.names = names
        self.first, self.last = np.zeros((2, 2 * n_public + 2), np.int64)
        self.first[0] = 1
        self.last[0] = self.n_nodes = n_public + 1
        self.path, self.cursor = np.zeros((2, p), np.int64)
        self.itemset = np.empty(p, np.int32)
        self.n_found, self.found, self.bounds = 0, np.empty(256, np.int32), np.zeros(128, np.int64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def run(self, most: cython.longlong, halt: Flag[::1]) -> cython.int:
        """Visit all itemsets; tell whether it did."""
        depth: cython.Py_ssize_t = 0
        node: cython.Py_ssize_t
        self.cursor[0] = self.last[0]
        while depth >= 0:
            if halt[0] or self.n_found > most or self.n_nodes > 4 * most:
                return 0
            self.cursor[depth] -= 1
            node = self.cursor[depth]
            if node < self.first[self.path[depth]]:
                depth -= 1
                continue
            self._visit(node, depth)
            if self.first[node] < self.last[node]:
                depth += 1
                self.path[depth] = node
                self.cursor[depth] = self.last[node]
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _visit(self, node: cython.Py_ssize_t, depth: cython.Py_ssize_t) -> cython.int:
        """List the itemsets that are one item longer than that of a node: moles, and children."""
        item: cython.Py_ssize_t = self.names[node]
        length: cython.Py_ssize_t = depth + 2
        sibling: cython.Py_ssize_t
        self.itemset[depth] = self.names[node]
        self._extend(node, item, length == self.p)
        self.first[node] = self.n_nodes
        for sibling in range(node + 1, self.last[self.path[depth]]):
            other = self.names[sibling]
            if self.prefix_of[other] != node:
                continue
            self.itemset[depth + 1] = other
            mole: cython.bint = self.supports[other] < self.k
            self.peaks[other] = self.peaks[item]  # at most that many; counted only if it can be too many
            risky: cython.bint = not mole and self._is_peak(other)
            if length == self.p and not mole and not risky:
                continue
            if not self._subsets_known(length):
                continue
            if risky:
                self._count_peak(other)
                mole = self._is_peak(other)
            if mole:
                self._list(length)
            elif length < self.p:
                self._add_node(other)
        self.last[node] = self.n_nodes
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_peak(self, item: cython.Py_ssize_t) -> cython.bint:
        """Whether too many rows of an item share a private one."""
        return self.peaks[item] * self.below > self.above * self.supports[item]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_peak(self, item: cython.Py_ssize_t) -> cython.void:
        start: cython.Py_ssize_t = self.starts[item]
        self.peaks[item] = _peak(start, start + self.filled[item], self.tids, self.rows, self.counts)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _list(self, length: cython.Py_ssize_t) -> cython.int:
        """Write the itemset to those found."""
        n: cython.Py_ssize_t = self.n_found
        size: cython.Py_ssize_t = self.bounds[n]
        i: cython.Py_ssize_t
        if n + 2 > self.bounds.shape[0]:
            self.bounds = grown(self.bounds, n + 1, 2 * self.bounds.shape[0])
        while size + length > self.found.shape[0]:
            self.found = grown(self.found, size, 2 * self.found.shape[0])
        for i in range(length):
            self.found[size + i] = self.itemset[i]
        self.bounds[n + 1] = size + length
        self.n_found += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _add_node(self, item: cython.int) -> cython.int:
        n: cython.Py_ssize_t = self.n_nodes
        if n == self.names.shape[0]:
            self.names = grown(self.names, n, 2 * n)
            self.first, self.last = grown(self.first, n, 2 * n), grown(self.last, n, 2 * n)
        self.names[n] = item
        self.n_nodes += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _extend(self, node: cython.Py_ssize_t, item: cython.Py_ssize_t, is_last: cython.bint) -> cython.void:
        """List the rows of all items that follow an itemset, and count them."""
        slot: cython.Py_ssize_t
        row: cython.Py_ssize_t
        free: cython.Py_ssize_t
        for slot in range(self.starts[item], self.starts[item] + self.filled[item]):
            row = self.tids[slot]
            listed: cython.bint = not is_last or self.rows.ends[row] < self.rows.offsets[row + 1]
            for position in range(self.places[slot] + 1, self.rows.ends[row]):
                other = self.rows.codes[position]
                if self.prefix_of[other] != node:
                    self.prefix_of[other] = node
                    self.filled[other] = 0
                    self.supports[other] = 0
                if listed:
                    free = self.starts[other] + self.filled[other]
                    self.tids[free] = self.tids[slot]
                    self.places[free] = position
                    self.filled[other] += 1
                self.supports[other] += self.rows.weights[row]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _subsets_known(self, length: cython.Py_ssize_t) -> cython.bint:
        """Whether the tree has the subsets that lack one item; those without one of the last two it has."""
        left_out: cython.Py_ssize_t
        for left_out in range(length - 2):
            node: cython.Py_ssize_t = self.path[left_out]
            for i in range(left_out + 1, length):
                node = self._child(node, self.itemset[i])
                if node < 0:
                    return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _child(self, node: cython.Py_ssize_t, item: cython.int) -> cython.Py_ssize_t:
        low: cython.Py_ssize_t = self.first[node]
        high: cython.Py_ssize_t = self.last[node]
        middle: cython.Py_ssize_t
        while low < high:
            middle = (low + high) // 2
            if self.names[middle] < item:
                low = middle + 1
            else:
                high = middle
        return low if low < self.last[node] and self.names[low] == item else -1


def eliminate(
    items: Code[::1],
    bounds: Number[::1],
    starts: Number[::1],
    moles_of: Code[::1],
    losses: Number[::1],
    by_moles: cython.bint,
    by_loss: cython.bint,
) -> NDArray[np.int64]:
    """Items that meet all moles, in the order chosen: the one of the highest score, again and again.

    The score is the number of moles left, or 1, divided by the loss, or by 1. Then: more moles, less loss,
    the item itself.
    """
    left: cython.longlong[::1] = np.diff(starts)
    alive: cython.uchar[::1] = np.ones(len(bounds) - 1, np.uint8)
    waiting: cython.longlong[::1] = np.arange(len(starts) - 1)
    result = np.empty(len(starts) - 1, np.int64)
    chosen: cython.longlong[::1] = result
    n_waiting: cython.Py_ssize_t = left.shape[0]
    n_chosen: cython.Py_ssize_t = 0
    n_left: cython.Py_ssize_t
    best: cython.Py_ssize_t = 0
    most: cython.longlong = 0  # moles that the best item so far is in
    least: cython.longlong = 0  # its loss
    mole: cython.Py_ssize_t
    with cython.nogil:
        while best >= 0:
            best = -1
            n_left = 0
            for i in range(n_waiting):
                item = waiting[i]
                moles = left[item]
                if moles > 0:
                    waiting[n_left] = item
                    n_left += 1
                    if best < 0 or _better(moles, losses[item], most, least, by_moles, by_loss):
                        best, most, least = item, moles, losses[item]
            n_waiting = n_left
            if best >= 0:
                chosen[n_chosen] = best
                n_chosen += 1
                for slot in range(starts[best], starts[best + 1]):
                    mole = moles_of[slot]
                    if alive[mole]:
                        alive[mole] = False
                        for position in range(bounds[mole], bounds[mole + 1]):
                            left[items[position]] -= 1
    return result[:n_chosen]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _better(
    moles: cython.longlong,
    loss: cython.longlong,
    other_moles: cython.longlong,
    other_loss: cython.longlong,
    by_moles: cython.bint,
    by_loss: cython.bint,
) -> cython.bint:
    """Whether an item with so many moles and such a loss comes before another with a lower number."""
    one: cython.longlong = (moles if by_moles else 1) * (other_loss if by_loss else 1)
    other: cython.longlong = (other_moles if by_moles else 1) * (loss if by_loss else 1)
    if one != other:
        return one > other
    if moles != other_moles:
        return moles > other_moles
    return loss < other_loss
