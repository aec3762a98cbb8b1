"""Kernels of rho-uncertainty: how often all else of a row is without an item; what is found, or marked."""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number, grown
from cython.cimports.pdanon._kernels.counting import Rows
from numpy.typing import NDArray

__all__ = ["Found", "Marks", "rows_beyond"]

Array = NDArray[Any]


def rows_beyond(
    rows: Rows, owners: Code[::1], items: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows hold all that some rows hold besides an item: those with the item, and those without it.

    The rows are ``owners[begin:end]``, the item of each, which it holds, is in ``items``. Items are numbered
    by their supports, so that the first one of a row is its rarest. 0 where a row holds nothing else.
    """
    together, apart = np.zeros((2, end - begin), np.int64)
    a: cython.longlong[::1] = together
    b: cython.longlong[::1] = apart
    codes: Code[::1] = rows.codes
    offsets: Number[::1] = rows.offsets
    first: cython.Py_ssize_t
    last: cython.Py_ssize_t
    i: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    row: cython.Py_ssize_t
    with cython.nogil:
        for i in range(begin, end):
            first, last = offsets[owners[i]], offsets[owners[i] + 1]
            if last - first < 2:
                continue
            rarest: cython.Py_ssize_t = codes[first] if codes[first] != items[i] else codes[first + 1]
            for slot in range(rows.starts[rarest], rows.starts[rarest + 1]):
                row = rows.tids[slot]
                held: cython.int = _holds(codes, offsets[row], offsets[row + 1], first, last, items[i])
                if held == 2:
                    a[i - begin] += rows.weights[row]
                elif held == 1:
                    b[i - begin] += rows.weights[row]
    return together, apart


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _holds(
    codes: Code[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    item: cython.int,
) -> cython.int:
    """Whether a row holds all of another: 2, or 1 if all but an item, or 0. Both are parts of the codes."""
    found: cython.int = 2
    place: cython.Py_ssize_t
    for place in range(first, last):
        while start < stop and codes[start] < codes[place]:
            start += 1
        if start < stop and codes[start] == codes[place]:
            start += 1
        elif codes[place] == item:
            found = 1
        else:
            return 0
    return found


@cython.final
@cython.cclass
class Found:
    """Itemsets, in how many owners of which sensitive item each is, and in how many rows.

    Codes are in the order in which they are added. There are too many when ``room[0]`` is below 0.
    """

    def __init__(self, room: Array) -> None:
        self.room, self.n = room, 0
        self.codes, self.bounds = np.empty(256, np.int32), np.zeros(128, np.int64)
        self.owners, self.others, self.items = np.zeros((3, 128), np.int64)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def add(
        self,
        members: cython.int[::1],
        size: cython.Py_ssize_t,
        item: cython.int,
        owners: cython.longlong,
        others: cython.longlong,
    ) -> cython.int:
        """Add an itemset: so many members, for a sensitive item."""
        n: cython.Py_ssize_t = self.n
        begin: cython.Py_ssize_t = self.bounds[n]
        i: cython.Py_ssize_t
        if n + 2 > self.bounds.shape[0]:
            self.bounds = grown(self.bounds, n + 1, 2 * self.bounds.shape[0])
            self.owners = grown(self.owners, n, self.bounds.shape[0])
            self.others = grown(self.others, n, self.bounds.shape[0])
            self.items = grown(self.items, n, self.bounds.shape[0])
        while begin + size > self.codes.shape[0]:
            self.codes = grown(self.codes, begin, 2 * self.codes.shape[0])
        for i in range(size):
            self.codes[begin + i] = members[i]
        self.owners[n], self.others[n], self.items[n] = owners, others, item
        self.bounds[n + 1] = begin + size
        self.n += 1
        self.room[0] -= 1  # threads may lose one of each other's: it only ends later then
        return 0

    def arrays(self) -> tuple[Array, ...]:
        """Codes, bounds, sensitive items, and in how many of their owners and other rows each itemset is."""
        n: cython.Py_ssize_t = self.n
        codes, bounds = np.asarray(self.codes)[: self.bounds[n]], np.asarray(self.bounds)[: n + 1]
        items, owners, others = np.asarray(self.items), np.asarray(self.owners), np.asarray(self.others)
        return codes, bounds, items[:n], owners[:n], others[:n]


@cython.final
@cython.cclass
class Marks:
    """Rows that are marked, one search after the other.

    Parameters
    ----------
    marked : ndarray of bool, shape (rows,)
        The marks, which are set.
    before : ndarray of bool, shape (rows,), optional
        Those that each search begins with, so that none depends on what others did. By default they do.
    """

    def __init__(self, marked: Array, before: Array | None) -> None:
        self.result, self.apart = marked, before is not None
        self.before = marked if before is None else before
        self.marked = marked if before is None else before.copy()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def begin(self) -> cython.void:
        """Begin a search."""
        if self.apart:
            self.marked[:] = self.before

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def end(self) -> cython.void:
        """End a search."""
        row: cython.Py_ssize_t
        for row in range(self.marked.shape[0] if self.apart else 0):
            if self.marked[row]:
                self.result[row] = True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def set_all(self, rows: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Mark rows."""
        i: cython.Py_ssize_t
        for i in range(begin, end):
            self.marked[rows[i]] = True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def set_both(
        self, rows: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t, which: cython.uchar[::1]
    ) -> cython.void:
        """Mark those of some rows that are among others."""
        i: cython.Py_ssize_t
        for i in range(begin, end):
            if which[rows[i]]:
                self.marked[rows[i]] = True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def has_all(self, rows: Code[::1], begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.bint:
        """Whether rows are all marked."""
        i: cython.Py_ssize_t
        for i in range(begin, end):
            if not self.marked[rows[i]]:
                return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def set_if(
        self,
        row: cython.Py_ssize_t,
        codes: Code[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        values: cython.longlong[::1],
    ) -> cython.void:
        """Mark a row if one of its items, ``codes[begin:end]``, has a value below 0."""
        place: cython.Py_ssize_t
        if not self.marked[row]:
            for place in range(begin, end):
                if values[codes[place]] < 0:
                    self.marked[row] = True
                    break
