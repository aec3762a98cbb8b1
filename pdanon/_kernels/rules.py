"""Kernel of PS-rules: a set of items is counted in the rows that hold it, alone and with each other set.

Supports are below 2**31, and so is what a share is a fraction of.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag
from cython.cimports.pdanon._kernels.counting import Rows
from numpy.typing import NDArray

__all__ = ["Beside", "rows_with_some"]


@cython.final
@cython.cclass
class Beside:
    """What is beside a set of items: other sets, and secrets.

    Each has a name: another set what ``labels`` says, a secret the number of items more than its own.

    Parameters
    ----------
    near : ndarray of int32
        The rows that hold the set.
    labels : ndarray of int32, shape (items,)
        The set of each item, -1 for one that is in none.
    label : int
        The set.
    known, is_secret : ndarray of bool, shape (items,)
        Which items may be known, and which are secret. Sets of which nothing may be known do not count.
    rows : Rows
        All rows.
    """

    near: Code[::1]
    rows: Rows
    n_sets: cython.Py_ssize_t  # names from here on are of secrets
    names: cython.int[::1]  # what each item counts as, -1: nothing
    support: cython.longlong  # rows of the set
    supports: cython.longlong[::1]  # of these, with each other set and each secret
    met: cython.int[::1]  # those of which there are some
    n_met: cython.Py_ssize_t
    seen: cython.longlong[::1]  # the row, as they are counted, that had each last
    n_seen: cython.longlong
    shared: cython.longlong[::1]  # rows with each other set that have the secret in hand
    ends: cython.longlong[::1]  # rows with each secret, when each counts once; then where they end below
    members: cython.int[::1]  # rows of one secret after the other

    def __init__(
        self,
        near: Code[::1],
        labels: Code[::1],
        label: cython.int,
        known: Flag[::1],
        is_secret: Flag[::1],
        rows: Rows,
    ) -> None:
        n = len(labels)
        table = np.zeros((4, 2 * n), np.int64)
        self.near, self.rows, self.n_sets = near, rows, n
        self.supports, self.seen, self.shared, self.ends = table[0], table[1], table[2], table[3]
        self.names, self.met = np.empty(n, np.int32), np.empty(2 * n, np.int32)
        self.n_met = self.n_seen = self.support = 0
        with cython.nogil:
            self._name(labels, label, known, is_secret)
            self._count()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _name(
        self, labels: Code[::1], label: cython.int, known: Flag[::1], is_secret: Flag[::1]
    ) -> cython.void:
        item: cython.Py_ssize_t
        for item in range(labels.shape[0]):  # `shared` is not needed yet
            if known[item] and labels[item] >= 0:
                self.shared[labels[item]] = 1
        for item in range(labels.shape[0]):
            self.names[item] = -1
            if is_secret[item]:
                self.names[item] = self.n_sets + item
            elif labels[item] >= 0 and labels[item] != label and self.shared[labels[item]]:
                self.names[item] = labels[item]
        self.shared[:] = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count(self) -> cython.void:
        row: cython.Py_ssize_t
        name: cython.Py_ssize_t
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        for i in range(self.near.shape[0]):
            row = self.near[i]
            self.n_seen += 1
            self.support += self.rows.weights[row]
            for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
                name = self.names[self.rows.codes[place]]
                if name < 0 or self.seen[name] == self.n_seen:
                    continue
                self.seen[name] = self.n_seen
                if self.supports[name] == 0:
                    self.met[self.n_met] = name
                    self.n_met += 1
                self.supports[name] += self.rows.weights[row]
                self.ends[name] += 1

    def is_protected(self, k: cython.longlong, above: cython.longlong, below: cython.longlong) -> bool:
        """Whether the set is in no row, or in k, of which each secret is in at most ``above / below``."""
        name: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if 0 < self.support < k:
            return False
        for i in range(self.n_met):
            name = self.met[i]
            if name >= self.n_sets and self.supports[name] * below > above * self.support:
                return False
        return True

    def is_protected_with_others(
        self, k: cython.longlong, above: cython.longlong, below: cython.longlong
    ) -> bool:
        """The same of the set with each other one."""
        if self._is_rare_with_another(k):
            return False
        size = self._part_members(above * k, below)
        self.members = np.empty(size, np.int32)
        with cython.nogil:
            self._fill_members()
            is_sure = self._is_sure_with_another(above, below)
        return not is_sure

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_rare_with_another(self, k: cython.longlong) -> cython.bint:
        i: cython.Py_ssize_t
        for i in range(self.n_met):
            if self.met[i] < self.n_sets and self.supports[self.met[i]] < k:
                return True
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _part_members(self, enough: cython.longlong, below: cython.longlong) -> cython.Py_ssize_t:
        """Give each secret that is in enough rows to be inferred a part of ``members``; how long all are."""
        name: cython.Py_ssize_t
        count: cython.Py_ssize_t
        i: cython.Py_ssize_t
        size: cython.Py_ssize_t = 0
        n_relevant: cython.Py_ssize_t = 0
        for i in range(self.n_met):
            name = self.met[i]
            if name >= self.n_sets and self.supports[name] * below > enough:
                self.met[n_relevant] = name
                n_relevant += 1
                count = self.ends[name]
                self.ends[name] = size
                size += count
            else:
                self.ends[name] = -1
        self.n_met = n_relevant
        return size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fill_members(self) -> cython.void:
        row: cython.Py_ssize_t
        name: cython.Py_ssize_t
        i: cython.Py_ssize_t
        place: cython.Py_ssize_t
        if self.n_met == 0:
            return
        for i in range(self.near.shape[0]):
            row = self.near[i]
            for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
                name = self.names[self.rows.codes[place]]
                if name >= self.n_sets and self.ends[name] >= 0:
                    self.members[self.ends[name]] = row
                    self.ends[name] += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_sure_with_another(self, above: cython.longlong, below: cython.longlong) -> cython.bint:
        stop: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        start: cython.Py_ssize_t = 0
        for i in range(self.n_met):
            stop = self.ends[self.met[i]]
            for j in range(start, stop):
                if self._gets_sure(self.members[j], above, below):
                    return True
            for j in range(start, stop):
                self._forget(self.members[j])
            start = stop
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _gets_sure(
        self, row: cython.Py_ssize_t, above: cython.longlong, below: cython.longlong
    ) -> cython.bint:
        """Count one more row with the secret in hand; whether that is too much for a set beside."""
        name: cython.Py_ssize_t
        place: cython.Py_ssize_t
        self.n_seen += 1
        for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            name = self.names[self.rows.codes[place]]
            if 0 <= name < self.n_sets and self.seen[name] != self.n_seen:
                self.seen[name] = self.n_seen
                self.shared[name] += self.rows.weights[row]
                if self.shared[name] * below > above * self.supports[name]:
                    return True
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _forget(self, row: cython.Py_ssize_t) -> cython.void:
        name: cython.Py_ssize_t
        place: cython.Py_ssize_t
        for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            name = self.names[self.rows.codes[place]]
            if 0 <= name < self.n_sets:
                self.shared[name] = 0


def rows_with_some(items: Code[::1], rows: Rows) -> NDArray[np.int32]:
    """The rows that hold one of some items, ascending."""
    words = np.zeros((len(rows.weights) + 7) // 8, np.uint64)
    eights: cython.ulonglong[::1] = words
    marks: cython.uchar[::1] = words.view(np.uint8)
    i: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    row: cython.Py_ssize_t
    byte: cython.Py_ssize_t
    size: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(items.shape[0]):
            for slot in range(rows.starts[items[i]], rows.starts[items[i] + 1]):
                row = rows.tids[slot]
                size += not marks[row]
                marks[row] = 1
    result = np.empty(size, np.int32)
    found: cython.int[::1] = result
    size = 0
    with cython.nogil:
        for i in range(eights.shape[0]):
            if not eights[i]:
                continue
            for byte in range(8):
                if marks[8 * i + byte]:
                    found[size] = 8 * i + byte
                    size += 1
    return result
