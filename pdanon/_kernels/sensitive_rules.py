"""Kernel that lists sensitive rules: known items, and a sensitive one that is in too many of their rows."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag, Number, grown
from cython.cimports.pdanon._kernels.counting import Rows
from numpy.typing import NDArray

__all__ = ["Search", "restorable"]


@cython.final
@cython.cclass
class Search:
    """Rules of a number of known items whose share of the rows is more than ``above / below``.

    Depth first, in item order. Nothing is added to a set of items unless a row with all of it then has a
    sensitive item besides. The rows of the set in hand come after those of its prefixes: their numbers, and
    how many items of each are left out, from the first one.

    Parameters
    ----------
    table : Rows
        Sets of items, and which rows hold each.
    codes, offsets : ndarray of int32, int64
        The sensitive items of the same rows, which may also be known.
    above, below : int
        The share. ``below`` times the number of rows is below 2**63.
    size : int
        Number of known items, at least 1.
    room : ndarray of int64, shape (1,)
        It ends early when more rules than that are listed.
    halt : ndarray of bool, shape (1,)
        It ends early when that is set.
    """

    items: Code[::1]  # of each row
    bounds: Number[::1]
    weights: Number[::1]
    starts: Number[::1]
    tids: Code[::1]
    positions: Number[::1]
    codes: Code[::1]  # sensitive items of each row
    offsets: Number[::1]
    above: cython.longlong
    below: cython.longlong
    size: cython.Py_ssize_t
    room: cython.longlong[::1]
    halt: Flag[::1]
    # By item, 0 between sets: transactions that hold it, those that have a sensitive item besides, how many
    # rows these are when each counts once; and whether it is in the set in hand.
    support: cython.longlong[::1]
    shared: cython.longlong[::1]
    n_rows: cython.longlong[::1]
    within: cython.uchar[::1]
    names: cython.int[::1]  # items that are met
    # For sets of each size, which items follow, and where the rows with each begin.
    following: cython.int[:, ::1]
    begins: cython.longlong[:, ::1]
    rows: cython.int[::1]
    after: cython.int[::1]
    itemset: cython.int[::1]
    n_found: cython.Py_ssize_t
    found: cython.int[::1]

    def __init__(
        self,
        table: Rows,
        codes: Code[::1],
        offsets: Number[::1],
        above: cython.longlong,
        below: cython.longlong,
        size: cython.Py_ssize_t,
        room: cython.longlong[::1],
        halt: Flag[::1],
    ) -> None:
        n_items = len(table.starts) - 1
        self.items, self.bounds, self.weights = table.codes, table.offsets, table.weights
        self.starts, self.tids, self.positions = table.starts, table.tids, table.positions
        self.codes, self.offsets = codes, offsets
        self.above, self.below, self.size, self.room, self.halt = above, below, size, room, halt
        self.support, self.shared, self.n_rows = np.zeros((3, n_items), np.int64)
        self.within = np.zeros(n_items, np.uint8)
        self.names, self.itemset = np.empty(n_items, np.int32), np.empty(size, np.int32)
        self.following = np.empty((size, n_items), np.int32)
        self.begins = np.empty((size, n_items + 1), np.int64)
        self.rows, self.after = np.empty(256, np.int32), np.empty(256, np.int32)
        self.n_found, self.found = 0, np.empty(256, np.int32)

    def beginning(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> NDArray[np.int32]:
        """List the rules of which the first known item is one of ``begin..end - 1``.

        Returns
        -------
        ndarray of int32, shape (rules, size + 1)
            The known items, ascending, and last the sensitive one.
        """
        first: cython.Py_ssize_t
        with cython.nogil:
            for first in range(begin, end):
                self._begin(first)
        return np.asarray(self.found)[: self.n_found * (self.size + 1)].reshape(-1, self.size + 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin(self, first: cython.Py_ssize_t) -> cython.int:
        """Visit all sets that begin with an item."""
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        begin: cython.Py_ssize_t = self.starts[first]
        n: cython.Py_ssize_t = self.starts[first + 1] - begin
        self._take_room(n)
        for i in range(n):
            row = self.tids[begin + i]
            self.rows[i] = row
            place = self.positions[begin + i] - self.bounds[row]
            self.after[i] = cython.cast(cython.int, place + 1)
        self._visit(first, 0, 0, n, n)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _visit(
        self,
        item: cython.Py_ssize_t,
        size: cython.Py_ssize_t,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        free: cython.Py_ssize_t,
    ) -> cython.int:
        """Add an item to the set in hand, of so many items; from ``free`` on no row is in use."""
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        if self.halt[0] or self.room[0] < 0:
            return 0
        self.itemset[size] = cython.cast(cython.int, item)
        self.within[item] = True
        size += 1
        if size == self.size:
            self._judge(start, stop)
        else:
            n = self._divide(size, start, stop, free)
            free = self.begins[size, n]  # behind the rows of all that follow
            for i in range(n):
                self._visit(
                    self.following[size, i], size, self.begins[size, i], self.begins[size, i + 1], free
                )
        self.within[item] = False
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _judge(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.int:
        """List the rules of the set in hand."""
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        total: cython.longlong = 0
        for i in range(start, stop):
            row = self.rows[i]
            total += self.weights[row]
            for place in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[place]
                if not self.within[item]:
                    if self.shared[item] == 0:
                        self.names[n] = item
                        n += 1
                    self.shared[item] += self.weights[row]
        for i in range(n):
            item = self.names[i]
            if self.shared[item] * self.below > self.above * total:
                self._list(item)
            self.shared[item] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _list(self, about: cython.int) -> cython.int:
        """Write a rule of the set in hand to those found."""
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t = self.n_found * (self.size + 1)
        while begin + self.size + 1 > self.found.shape[0]:
            self.found = grown(self.found, begin, 2 * self.found.shape[0])
        for i in range(self.size):
            self.found[begin + i] = self.itemset[i]
        self.found[begin + self.size] = about
        self.n_found += 1
        self.room[0] -= 1  # threads may lose one of each other's: it only ends later then
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _divide(
        self,
        size: cython.Py_ssize_t,
        start: cython.Py_ssize_t,
        stop: cython.Py_ssize_t,
        free: cython.Py_ssize_t,
    ) -> cython.Py_ssize_t:
        """Write the rows of each item that may follow the set in hand, from ``free`` on; how many do."""
        n_met: cython.Py_ssize_t = self._share(start, stop)
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        end: cython.Py_ssize_t = free
        self._count(start, stop if n_met else start)
        for i in range(n_met):
            item = self.names[i]
            # One sensitive item has no more rows than all that have any.
            if size + 1 < self.size or self.shared[item] * self.below > self.above * self.support[item]:
                self.following[size, n] = item
                self.begins[size, n] = end
                end += self.n_rows[item]
                self.n_rows[item] = self.begins[size, n]  # from now on where its next row goes
                n += 1
            else:
                self.shared[item] = 0
            self.support[item] = 0
        self.begins[size, n] = end
        self._take_room(end)
        for i in range(start, stop if n else start):
            row = self.rows[i]
            for place in range(self.bounds[row] + self.after[i], self.bounds[row + 1]):
                item = self.items[place]
                if self.shared[item]:
                    self.rows[self.n_rows[item]] = row
                    self.after[self.n_rows[item]] = cython.cast(cython.int, place + 1 - self.bounds[row])
                    self.n_rows[item] += 1
        for i in range(n_met):
            item = self.names[i]
            self.shared[item] = self.n_rows[item] = 0
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _share(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Name the items that rows with a sensitive item besides hold, and count these rows; how many."""
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        n_besides: cython.Py_ssize_t
        one: cython.int = 0
        for i in range(start, stop):
            row = self.rows[i]
            n_besides = 0
            for place in range(self.offsets[row], self.offsets[row + 1]):
                if not self.within[self.codes[place]]:
                    one = self.codes[place]
                    n_besides += 1
            if n_besides == 0:
                continue
            for place in range(self.bounds[row] + self.after[i], self.bounds[row + 1]):
                item = self.items[place]
                if n_besides > 1 or item != one:
                    if self.shared[item] == 0:
                        self.names[n] = item
                        n += 1
                    self.shared[item] += self.weights[row]
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count(self, start: cython.Py_ssize_t, stop: cython.Py_ssize_t) -> cython.void:
        """Count the rows of the items that are named."""
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        place: cython.Py_ssize_t
        for i in range(start, stop):
            row = self.rows[i]
            for place in range(self.bounds[row] + self.after[i], self.bounds[row + 1]):
                item = self.items[place]
                if self.shared[item]:
                    self.support[item] += self.weights[row]
                    self.n_rows[item] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _take_room(self, room: cython.Py_ssize_t) -> cython.int:
        """Make room for so many rows, and keep those that are there."""
        size: cython.Py_ssize_t = self.rows.shape[0]
        if size < room:
            self.rows = grown(self.rows, size, 2 * room)
            self.after = grown(self.after, size, 2 * room)
        return 0


def restorable(
    starts: Number[::1],
    sets_of: Code[::1],
    gone: Number[::1],
    missing: cython.longlong[::1],
) -> NDArray[np.int64]:
    """Of items that are gone, one after the other, those without which something is gone of each set, too.

    ``sets_of`` has the sets of item after item, beginning at ``starts``, and ``missing`` how many items of
    each set are gone, which is kept current.
    """
    result = np.empty(len(gone), np.int64)
    chosen: cython.longlong[::1] = result
    n: cython.Py_ssize_t = 0
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    item: cython.Py_ssize_t
    for i in range(gone.shape[0]):
        item = gone[i]
        for place in range(starts[item], starts[item + 1]):
            if missing[sets_of[place]] < 2:
                break
        else:
            for place in range(starts[item], starts[item + 1]):
                missing[sets_of[place]] -= 1
            chosen[n] = item
            n += 1
    return result[:n]
