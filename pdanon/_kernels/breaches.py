"""Known items that reveal others: breaches of a guarantee, and the moles that coherence suppresses.

The two parts share no code, so that an audit does not repeat an error of the algorithm that it checks.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Flag, Number, grown
from numpy.typing import NDArray

__all__ = ["Breaches", "MoleRows", "eliminate", "minimal_moles", "private_begins", "private_peaks"]

Array = NDArray[Any]


# --- Breaches of diversity and coherence: known items with a sensitive item in too many of their rows


@cython.final
@cython.cclass
class Breaches:
    """Itemsets of 1 to m known items in at least k rows, with a secret item in too large a share of the rows.

    The upper bound on the share is ``above / below``. Rows are codes and offsets, with the number of items.

    The search is depth first, in item order, and tests all extensions of an itemset together. It does not
    extend an itemset that breaches, or is in fewer than k rows, or has too few rows with each secret item. An
    item that cannot extend a prefix extends no itemset with this prefix.

    With ``listing``, breaches are returned as CSR with supports; some may have subsets that breach. Without,
    their rows are marked in ``held``, and an itemset is skipped if all its rows are marked. Its extensions
    would mark no other row. So the result depends neither on the order nor on which thread marks a row.

    The search stops when more than ``room[0]`` itemsets are listed, or when ``halt[0]`` is set.

    One search visits single items. The others divide the larger itemsets by ranges of their first item.

    A node is a list of rows, each with the number of leading items that the search has passed. The node of
    the current itemset is ``rows[start:stop]`` and ``after[start:stop]``.
    """

    cython.declare(k=cython.longlong, above=cython.longlong, below=cython.longlong, m=cython.Py_ssize_t)
    cython.declare(listing=cython.bint, room=cython.longlong[::1])
    halt: Flag[::1]
    weights: Number[::1]
    held: cython.uchar[::1]
    codes: Code[::1]  # known items of each row
    offsets: Number[::1]
    secret_codes: Code[::1]
    secret_offsets: Number[::1]
    # By known item, 0 between nodes: support in the node with the current secret item, the maximum over
    # secret items, support in the node, and its unweighted number of rows.
    cython.declare(count=cython.longlong[::1], most=cython.longlong[::1], support=cython.longlong[::1])
    n_rows: cython.longlong[::1]
    names: cython.int[::1]  # the items tested in the node
    # By secret item: support in the node, and its unweighted number of rows; items with rows; the end of the
    # rows of each, and their positions in the node.
    cython.declare(shared=cython.longlong[::1], slots=cython.longlong[::1], ends=cython.longlong[::1])
    cython.declare(met=cython.int[::1], members=cython.int[::1])
    # For itemsets of each size: the items that extend it, their number, the start of the rows of each, the
    # current one, and a flag for each item. Then the nodes, one after the other; the first has all rows.
    cython.declare(following=cython.int[:, ::1], n_following=cython.longlong[::1])
    cython.declare(cursor=cython.longlong[::1], bounds=cython.longlong[::1], supports=cython.longlong[::1])
    cython.declare(begins=cython.longlong[:, ::1], follows=cython.uchar[:, ::1], rows=cython.int[::1])
    cython.declare(after=cython.int[::1], itemset=cython.int[::1], found=cython.int[::1])
    cython.declare(start=cython.Py_ssize_t, stop=cython.Py_ssize_t, n_found=cython.Py_ssize_t)
    widest: cython.longlong

    def __init__(
        self,
        k: int,
        m: int,
        above: int,
        below: int,
        known: tuple[Array, Array, int],
        secrets: tuple[Array, Array, int],
        weights: Array,
        listing: bool,
        held: Array,
        room: Array,
        halt: Array,
    ) -> None:
        codes, offsets, n_items = known
        secret_codes, secret_offsets, n_secrets = secrets
        self.k, self.m, self.above, self.below, self.listing = k, m, above, below, listing
        self.weights, self.held, self.room, self.halt = weights, held, room, halt
        self.codes, self.offsets = codes, offsets
        self.secret_codes, self.secret_offsets = secret_codes, secret_offsets
        self.count, self.most, self.support, self.n_rows = np.zeros((4, n_items), np.int64)
        self.names = np.empty(n_items, np.int32)
        self.shared, self.slots = np.zeros((2, n_secrets), np.int64)
        self.met, self.ends = np.empty(n_secrets, np.int32), np.zeros(n_secrets + 1, np.int64)
        self.members = np.empty(len(secret_codes), np.int32)
        self.following, self.n_following = np.empty((m, n_items), np.int32), np.zeros(m, np.int64)
        self.begins, self.cursor = np.zeros((m, n_items + 1), np.int64), np.zeros(m, np.int64)
        self.follows = np.zeros((m + 1, n_items), np.uint8)
        self.itemset = np.empty(m, np.int32)
        self.n_found, self.found = 0, np.empty(256, np.int32)
        self.bounds, self.supports = np.zeros(128, np.int64), np.zeros(128, np.int64)

    def single_items(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Find the breaches of one item."""
        n_rows = self.weights.shape[0]
        self._take_room(n_rows + (len(self.codes) if self.m > 1 else 0))
        np.asarray(self.rows)[:n_rows] = np.arange(n_rows)
        self.follows[0, :] = 1
        self.begins[0, 0] = self.stop = n_rows
        with cython.nogil:
            self._visit(0)
            self.widest = self._widest() if self.m > 2 else 0
        return self._result()

    def first_items(self) -> NDArray[np.int64]:
        """Return the start of the rows of each item that can begin a larger itemset, and the end of all.

        The caller divides the work between threads by these numbers.
        """
        begins = np.asarray(self.begins)[0, : self.n_following[0] + 1]
        return begins - begins[0]

    def larger(
        self, singles: Breaches, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Find larger itemsets whose first item is number ``begin..end - 1`` of the search of singles."""
        start: cython.Py_ssize_t = singles.begins[0, begin]
        stop: cython.Py_ssize_t = singles.begins[0, end]
        i: cython.Py_ssize_t
        self._take_room(stop - start + (self.m - 2) * singles.widest)
        with cython.nogil:
            self.rows[: stop - start] = singles.rows[start:stop]
            self.after[: stop - start] = singles.after[start:stop]
            self.follows[1, :] = singles.follows[1]
            for i in range(end - begin):
                self.following[0, i] = singles.following[0, begin + i]
                self.begins[0, i + 1] = singles.begins[0, begin + i + 1] - start
            self.n_following[0], self.cursor[0] = end - begin, -1
            self._run()
        return self._result()

    def _take_room(self, room: cython.Py_ssize_t) -> None:
        """Allocate the rows of all nodes."""
        self.rows, self.after = np.empty(room, np.int32), np.zeros(room, np.int32)

    def _result(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets found as codes, bounds and supports."""
        n: cython.Py_ssize_t = self.n_found
        found, bounds = np.asarray(self.found), np.asarray(self.bounds)
        return found[: self.bounds[n]], bounds[: n + 1], np.asarray(self.supports)[:n]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _widest(self) -> cython.longlong:
        """Return the maximum over items of the number of items that follow it in its rows; uses ``most``."""
        widest: cython.longlong = 0
        cython.declare(row=cython.Py_ssize_t, place=cython.Py_ssize_t)
        for row in range(self.weights.shape[0]):
            for place in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[place]
                self.most[item] += self.offsets[row + 1] - place - 1
                widest = max(widest, self.most[item])
        self.most[:] = 0
        return widest

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _run(self) -> cython.int:
        """Visit all itemsets that begin with one of the first items."""
        size: cython.Py_ssize_t = self._next(0)
        while size >= 0 and not self.halt[0] and self.room[0] >= 0:
            self.itemset[size] = self.following[size, self.cursor[size]]
            size += 1
            self._visit(size)
            size = self._next(size if size + 1 < self.m else size - 1)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _visit(self, size: cython.Py_ssize_t) -> cython.int:
        """Test all extensions of the current itemset of ``size`` items."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = self._count_shares(self._group(), size)
        cython.declare(n_left=cython.Py_ssize_t, n_broken=cython.Py_ssize_t)
        n_left, n_broken = self._judge(n)
        if n_broken and not self.listing:
            self._mark()
        for i in range(n_left, n_left + n_broken if self.listing else 0):
            self.itemset[size] = self.names[i]
            self._list(size + 1)
        if size + 1 < self.m:
            self._divide(n_left, size)
        for i in range(n):
            item = self.names[i]
            self.most[item] = self.support[item] = self.n_rows[item] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _list(self, size: cython.Py_ssize_t) -> cython.int:
        """Append the current itemset of ``size`` items to those found."""
        n: cython.Py_ssize_t = self.n_found
        begin: cython.Py_ssize_t = self.bounds[n]
        i: cython.Py_ssize_t
        if n + 2 > self.bounds.shape[0]:
            self.bounds = grown(self.bounds, n + 1, 2 * self.bounds.shape[0])
            self.supports = grown(self.supports, n, self.bounds.shape[0])
        while begin + size > self.found.shape[0]:
            self.found = grown(self.found, begin, 2 * self.found.shape[0])
        for i in range(size):
            self.found[begin + i] = self.itemset[i]
        self.supports[n] = self.support[self.itemset[size - 1]]
        self.bounds[n + 1] = begin + size
        self.n_found += 1
        self.room[0] -= 1  # threads share it without a lock: a lost update only delays the stop
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _group(self) -> cython.Py_ssize_t:
        """List the rows of the node by secret item; return the number of secret items listed.

        A secret item is left out if it has too few rows for a breach: the itemset has at least k.
        """
        n_met: cython.Py_ssize_t = 0
        n_blocks: cython.Py_ssize_t = 0
        cython.declare(row=cython.Py_ssize_t, i=cython.Py_ssize_t)
        for i in range(self.start, self.stop):
            row = self.rows[i]
            for place in range(self.secret_offsets[row], self.secret_offsets[row + 1]):
                item = self.secret_codes[place]
                if self.slots[item] == 0:
                    self.met[n_met] = item
                    n_met += 1
                self.slots[item] += 1
                self.shared[item] += self.weights[row]
        for i in range(n_met):
            item = self.met[i]
            if self.shared[item] * self.below > self.above * self.k:
                self.ends[n_blocks + 1] = self.ends[n_blocks] + self.slots[item]
                self.slots[item] = self.ends[n_blocks]
                n_blocks += 1
            else:
                self.slots[item] = -1
        for i in range(self.start, self.stop if n_blocks else self.start):
            row = self.rows[i]
            for place in range(self.secret_offsets[row], self.secret_offsets[row + 1]):
                item = self.secret_codes[place]
                if self.slots[item] >= 0:
                    self.members[self.slots[item]] = cython.cast(cython.int, i)
                    self.slots[item] += 1
        for i in range(n_met):
            self.slots[self.met[i]] = self.shared[self.met[i]] = 0
        return n_blocks

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_shares(self, n_blocks: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """List the items that can breach: enough rows with the item share a secret item.

        Count in ``most`` the rows with the most frequent secret item. Return the number of items.
        """
        n: cython.Py_ssize_t = 0
        cython.declare(row=cython.Py_ssize_t, member=cython.Py_ssize_t, block=cython.Py_ssize_t)
        for block in range(n_blocks):
            for i in range(self.ends[block], self.ends[block + 1]):
                member = self.members[i]
                row = self.rows[member]
                for place in range(self.offsets[row] + self.after[member], self.offsets[row + 1]):
                    item = self.codes[place]
                    if self.follows[size, item]:
                        self.count[item] += self.weights[row]
            for i in range(self.ends[block], self.ends[block + 1]):
                member = self.members[i]
                row = self.rows[member]
                for place in range(self.offsets[row] + self.after[member], self.offsets[row + 1]):
                    item = self.codes[place]
                    if self.count[item] * self.below > self.above * self.k:
                        if self.most[item] == 0:
                            self.names[n] = item
                            n += 1
                        self.most[item] = max(self.most[item], self.count[item])
                    self.count[item] = 0
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _judge(self, n: cython.Py_ssize_t) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
        """Count the rows of the n listed items, and move those that breach behind those that do not.

        ``most`` becomes -1 for an item that breaches, and 0 for an item in fewer than k rows.
        """
        n_left: cython.Py_ssize_t = 0
        n_enough: cython.Py_ssize_t = 0
        cython.declare(row=cython.Py_ssize_t, i=cython.Py_ssize_t)
        for i in range(self.start, self.stop if n else self.start):
            row = self.rows[i]
            for place in range(self.offsets[row] + self.after[i], self.offsets[row + 1]):
                item = self.codes[place]
                if self.most[item]:
                    self.support[item] += self.weights[row]
                    self.n_rows[item] += 1
        for i in range(n):
            item = self.names[i]
            if self.support[item] < self.k:
                self.most[item] = 0
                continue
            self.names[i] = self.names[n_enough]
            self.names[n_enough] = item
            if self.most[item] * self.below > self.above * self.support[item]:
                self.most[item] = -1
            else:
                self.names[n_enough] = self.names[n_left]
                self.names[n_left] = item
                n_left += 1
            n_enough += 1
        return n_left, n_enough - n_left

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _mark(self) -> cython.void:
        """Mark the rows that contain an item that breaches."""
        row: cython.Py_ssize_t
        for i in range(self.start, self.stop):
            row = self.rows[i]
            if not self.held[row]:
                for place in range(self.offsets[row] + self.after[i], self.offsets[row + 1]):
                    if self.most[self.codes[place]] < 0:
                        self.held[row] = True
                        break

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _divide(self, n: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.void:
        """Extend the itemset by the first n listed items; write their rows after those of its prefixes."""
        free: cython.longlong[::1] = self.n_rows  # from here on the position of the next row of each item
        cython.declare(row=cython.Py_ssize_t, i=cython.Py_ssize_t, place=cython.Py_ssize_t)
        for i in range(self.n_following[size]):
            self.follows[size + 1, self.following[size, i]] = False
        if size:
            self.begins[size, 0] = self.begins[size - 1, self.n_following[size - 1]]
        for i in range(n):
            item = self.names[i]
            self.following[size, i] = item
            self.follows[size + 1, item] = True
            self.begins[size, i + 1] = self.begins[size, i] + free[item]
            free[item] = self.begins[size, i]
        self.n_following[size] = n
        self.cursor[size] = -1
        for i in range(self.start, self.stop if n else self.start):
            row = self.rows[i]
            for place in range(self.offsets[row] + self.after[i], self.offsets[row + 1]):
                item = self.codes[place]
                if self.most[item] > 0:
                    self.rows[free[item]] = self.rows[i]
                    self.after[free[item]] = cython.cast(cython.int, place + 1 - self.offsets[row])
                    free[item] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _next(self, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Select the next itemset with an unmarked row, and its rows.

        It extends the current prefix of ``size`` items or a shorter one. Return the length of that prefix, or
        -1.
        """
        i: cython.Py_ssize_t
        while size >= 0:
            self.cursor[size] += 1
            if self.cursor[size] == self.n_following[size]:
                size -= 1
                continue
            now: cython.Py_ssize_t = self.cursor[size]
            self.start, self.stop = self.begins[size, now], self.begins[size, now + 1]
            for i in range(self.start, self.stop):
                if not self.held[self.rows[i]]:
                    return size
        return size


# --- Minimal moles, and the selection of items that hit all of them
#
# A mole is a set of public items that is rare, or has a private item in too many of its rows.


@cython.final
@cython.cclass
class MoleRows:
    """Rows with the public items first; the private items start at ``ends`` in ``codes``.

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
    """Return the position in ``codes`` where the private items of each row begin."""
    result = np.empty(len(offsets) - 1, np.int64)
    begins: cython.longlong[::1] = result
    cython.declare(row=cython.Py_ssize_t, place=cython.Py_ssize_t)
    with cython.nogil:
        for row in range(begins.shape[0]):
            place = offsets[row]
            while place < offsets[row + 1] and codes[place] < n_public:
                place += 1
            begins[row] = place
    return result


def private_peaks(rows: MoleRows, starts: Number[::1], tids: Code[::1], n_items: int) -> NDArray[np.int64]:
    """Return the support of the most frequent private item in the rows of each public item."""
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
    rows: MoleRows,
    counts: cython.longlong[::1],
) -> cython.longlong:
    """Return the largest support of a private item in the rows ``tids[start:stop]``.

    ``counts`` is 0 before and after.
    """
    peak: cython.longlong = 0
    cython.declare(slot=cython.Py_ssize_t, row=cython.Py_ssize_t)
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
    rows: MoleRows,
    starts: Array,
    tids: Array,
    places: Array,
    supports: Array,
    peaks: Array,
    n_items: int,
    most: cython.longlong,
    halt: Flag[::1],
) -> tuple[NDArray[np.int32], NDArray[np.int64], bool]:
    """Find the minimal moles of 2 to p items, as CSR; return also whether the search is complete.

    No single item is a mole.

    The search is depth first, and visits the last child of a node first. So it visits all subsets of an
    itemset before the itemset. For the same reason, the rows of the extensions of a prefix,
    ``tids[starts[item]:]``, and the positions of the items in them may overwrite those of the previous
    prefix: only earlier items still need theirs. If an extension cannot be extended, only its rows with
    private items are listed.

    The search stops when it has more than ``most`` moles, or four times as many other itemsets, or when
    ``halt[0]`` is set.
    """
    search = _MoleSearch(k, p, above, below, rows, starts, tids, places, supports, peaks, n_items)
    with cython.nogil:
        is_done = search.run(most, halt)
    n_found = search.n_found
    bounds = np.asarray(search.bounds)[: n_found + 1]
    return np.asarray(search.found)[: bounds[n_found]], bounds, bool(is_done)


@cython.final
@cython.cclass
class _MoleSearch:
    """The prefix tree of the itemsets that are no moles, the moles found, and the current position."""

    cython.declare(k=cython.longlong, above=cython.longlong, below=cython.longlong, p=cython.Py_ssize_t)
    rows: MoleRows
    starts: Number[::1]
    cython.declare(tids=cython.int[::1], places=cython.longlong[::1], supports=cython.longlong[::1])
    peaks: cython.longlong[::1]
    filled: cython.longlong[::1]  # number of rows listed for each item
    prefix_of: cython.longlong[::1]  # the node that these rows belong to
    counts: cython.longlong[::1]  # supports of private items, 0 between two itemsets
    n_nodes: cython.Py_ssize_t
    names: cython.int[::1]  # item of each node
    first: cython.longlong[::1]  # start of its children, ascending
    last: cython.longlong[::1]  # and their end
    path: cython.longlong[::1]  # the ancestors of the current node
    cursor: cython.longlong[::1]  # the current child of each of them
    cython.declare(itemset=cython.int[::1], found=cython.int[::1], n_found=cython.Py_ssize_t)
    bounds: cython.longlong[::1]

    def __init__(
        self,
        k: int,
        p: int,
        above: int,
        below: int,
        rows: MoleRows,
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
        """Visit all itemsets; return whether the search is complete."""
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
        """List the extensions of a node by one item: moles, and children."""
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
            self.peaks[other] = self.peaks[item]  # an upper bound; counted only if it exceeds the share
            risky: cython.bint = not mole and self._exceeds_share(other)
            if length == self.p and not mole and not risky:
                continue
            if not self._contains_subsets(length):
                continue
            if risky:
                self._count_peak(other)
                mole = self._exceeds_share(other)
            if mole:
                self._list(length)
            elif length < self.p:
                self._add_node(other)
        self.last[node] = self.n_nodes
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _exceeds_share(self, item: cython.Py_ssize_t) -> cython.bint:
        """Return whether a private item is in too many rows of an item."""
        return self.peaks[item] * self.below > self.above * self.supports[item]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count_peak(self, item: cython.Py_ssize_t) -> cython.void:
        """Count the largest support of a private item in the rows of an extension."""
        start: cython.Py_ssize_t = self.starts[item]
        self.peaks[item] = _peak(start, start + self.filled[item], self.tids, self.rows, self.counts)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _list(self, length: cython.Py_ssize_t) -> cython.int:
        """Append the itemset to those found."""
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
        """Add a node to the tree."""
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
        """List and count the rows of each item that follows the itemset."""
        cython.declare(slot=cython.Py_ssize_t, row=cython.Py_ssize_t, free=cython.Py_ssize_t)
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
    def _contains_subsets(self, length: cython.Py_ssize_t) -> cython.bint:
        """Return whether the tree contains all subsets with one item less.

        The two subsets without one of the last two items are known to be in the tree.
        """
        left_out: cython.Py_ssize_t
        for left_out in range(length - 2):
            node: cython.Py_ssize_t = self.path[left_out]
            for i in range(left_out + 1, length):
                node = self._find_child(node, self.itemset[i])
                if node < 0:
                    return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _find_child(self, node: cython.Py_ssize_t, item: cython.int) -> cython.Py_ssize_t:
        """Return the child of a node for an item, -1 if there is none."""
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
    """Select items until each mole contains one; return them in the order chosen.

    Each step takes the item with the highest score: the number of moles left, or 1 without ``by_moles``,
    divided by the loss, or by 1 without ``by_loss``. A tie goes to more moles, then to less loss, then to the
    lower item.
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
    most: cython.longlong = 0  # moles that contain the best item so far
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
                    if best < 0 or _comes_before(moles, losses[item], most, least, by_moles, by_loss):
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
def _comes_before(
    moles: cython.longlong,
    loss: cython.longlong,
    other_moles: cython.longlong,
    other_loss: cython.longlong,
    by_moles: cython.bint,
    by_loss: cython.bint,
) -> cython.bint:
    """Return whether an item comes before another with a lower number.

    The scores are compared as products, so exactly.
    """
    one: cython.longlong = (moles if by_moles else 1) * (other_loss if by_loss else 1)
    other: cython.longlong = (other_moles if by_moles else 1) * (loss if by_loss else 1)
    if one != other:
        return one > other
    if moles != other_moles:
        return moles > other_moles
    return loss < other_loss
