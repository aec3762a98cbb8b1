"""Rules between itemsets: PS-rules, sensitive rules, and the bisection of a set of items.

Supports and the denominator of a share are below 2**31. Weights are below 2**16, so a loss without its power
of two is below 2**47.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Flag, Number, Rows, grown
from numpy.typing import NDArray

__all__ = ["Beside", "SensitiveRules", "bisect", "compare_growth", "restorable", "rows_with_some"]


# --- PS-rules: support of a set of items, alone and with each other set


@cython.final
@cython.cclass
class Beside:
    """Supports of the other sets and of the secrets in the rows of a set of items.

    The name of another set is its number in ``labels``. The name of a secret is its code plus the number of
    items.

    Parameters
    ----------
    near : ndarray of int32
        The rows that contain an item of the set.
    labels : ndarray of int32, shape (items,)
        The set of each item; -1 for an item without a set.
    label : int
        The set.
    known, is_secret : ndarray of bool, shape (items,)
        Flags of the items that an attacker may know, and of secrets. Sets without known items do not count.
    rows : Rows
        All rows.
    """

    near: Code[::1]
    rows: Rows
    n_sets: cython.Py_ssize_t  # the first name of a secret
    names: cython.int[::1]  # name of each item; -1: not counted
    support: cython.longlong  # of the set
    supports: cython.longlong[::1]  # of the set with each other set and each secret
    met: cython.int[::1]  # names with at least one such row
    n_met: cython.Py_ssize_t
    seen: cython.longlong[::1]  # number of the last counted row that contains each
    n_seen: cython.longlong
    shared: cython.longlong[::1]  # support of the current secret with each other set
    ends: cython.longlong[::1]  # unweighted rows of each secret; then their end in `members`
    members: cython.int[::1]  # rows, secret after secret

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
            self._name_items(labels, label, known, is_secret)
            self._count()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _name_items(
        self, labels: Code[::1], label: cython.int, known: Flag[::1], is_secret: Flag[::1]
    ) -> cython.void:
        """Write the name that each item counts as."""
        item: cython.Py_ssize_t
        for item in range(labels.shape[0]):  # borrow `shared`, which is unused until later
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
        """Count the set, and each other set and secret in its rows."""
        cython.declare(row=cython.Py_ssize_t, name=cython.Py_ssize_t, i=cython.Py_ssize_t)
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
        """Return whether the set is not rare, and no secret is in more than ``above / below`` of its rows."""
        cython.declare(name=cython.Py_ssize_t, i=cython.Py_ssize_t)
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
        """Return whether the pairs of the set and another set are protected in the same way."""
        if self._is_rare_with_another(k):
            return False
        size = self._allocate_members(above * k, below)
        self.members = np.empty(size, np.int32)
        with cython.nogil:
            self._fill_members()
            is_sure = self._exceeds_share_with_another(above, below)
        return not is_sure

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_rare_with_another(self, k: cython.longlong) -> cython.bint:
        """Return whether the support with another set is less than k."""
        i: cython.Py_ssize_t
        for i in range(self.n_met):
            if self.met[i] < self.n_sets and self.supports[self.met[i]] < k:
                return True
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _allocate_members(self, enough: cython.longlong, below: cython.longlong) -> cython.Py_ssize_t:
        """Allocate a part of ``members`` to each secret with more than ``enough / below`` rows.

        Each pair of sets has at least k rows here, so a rarer secret stays within the share. Return the total
        length.
        """
        cython.declare(name=cython.Py_ssize_t, count=cython.Py_ssize_t, i=cython.Py_ssize_t)
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
        """List the rows of each allocated secret in its part of ``members``."""
        cython.declare(row=cython.Py_ssize_t, name=cython.Py_ssize_t, i=cython.Py_ssize_t)
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
    def _exceeds_share_with_another(self, above: cython.longlong, below: cython.longlong) -> cython.bint:
        """Return whether a secret is in more than ``above / below`` of the rows of a pair of sets."""
        cython.declare(stop=cython.Py_ssize_t, i=cython.Py_ssize_t, j=cython.Py_ssize_t)
        start: cython.Py_ssize_t = 0
        for i in range(self.n_met):
            stop = self.ends[self.met[i]]
            for j in range(start, stop):
                if self._exceeds_share(self.members[j], above, below):
                    return True
            for j in range(start, stop):
                self._reset_counts(self.members[j])
            start = stop
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _exceeds_share(
        self, row: cython.Py_ssize_t, above: cython.longlong, below: cython.longlong
    ) -> cython.bint:
        """Count one more row with the current secret; return whether a pair of sets exceeds the share."""
        cython.declare(name=cython.Py_ssize_t, place=cython.Py_ssize_t)
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
    def _reset_counts(self, row: cython.Py_ssize_t) -> cython.void:
        """Reset the counts of the sets in a row."""
        cython.declare(name=cython.Py_ssize_t, place=cython.Py_ssize_t)
        for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            name = self.names[self.rows.codes[place]]
            if 0 <= name < self.n_sets:
                self.shared[name] = 0


def rows_with_some(items: Code[::1], rows: Rows) -> NDArray[np.int32]:
    """Return the rows that contain at least one of the items, ascending."""
    words = np.zeros((len(rows.weights) + 7) // 8, np.uint64)
    eights: cython.ulonglong[::1] = words
    marks: cython.uchar[::1] = words.view(np.uint8)
    cython.declare(i=cython.Py_ssize_t, slot=cython.Py_ssize_t, row=cython.Py_ssize_t, byte=cython.Py_ssize_t)
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


# --- Sensitive rules: known items, and a sensitive item in too many of their rows


@cython.final
@cython.cclass
class SensitiveRules:
    """Rules with ``size`` known items whose confidence exceeds ``above / below``.

    The search is depth first, in item order. It extends a set of items only if a row with all of them
    contains a further sensitive item. The rows of the current set follow those of its prefixes in ``rows``.
    ``after`` has the number of leading items of each row that the search has passed.

    Parameters
    ----------
    table : Rows
        Sets of items, and the rows that contain each item.
    codes, offsets : ndarray of int32, int64
        The sensitive items of the same rows, which may also be known.
    above, below : int
        Numerator and denominator of the share. ``below`` times the number of rows is below 2**63.
    size : int
        Number of known items, at least 1.
    room : ndarray of int64, shape (1,)
        Number of rules that may still be listed. The search stops when it is negative.
    halt : ndarray of bool, shape (1,)
        The search stops when it is set.
    """

    items: Code[::1]  # of each row
    bounds: Number[::1]
    weights: Number[::1]
    starts: Number[::1]
    tids: Code[::1]
    positions: Number[::1]
    codes: Code[::1]  # sensitive items of each row
    offsets: Number[::1]
    cython.declare(above=cython.longlong, below=cython.longlong, size=cython.Py_ssize_t)
    room: cython.longlong[::1]
    halt: Flag[::1]
    # By item, 0 between sets: support with the current set, the same in rows with a further sensitive item,
    # and the unweighted number of rows. Then whether the item is in the current set.
    cython.declare(support=cython.longlong[::1], shared=cython.longlong[::1], n_rows=cython.longlong[::1])
    within: cython.uchar[::1]
    names: cython.int[::1]  # items with a count
    # For sets of each size: the items that extend it, and where the rows of each begin.
    cython.declare(following=cython.int[:, ::1], begins=cython.longlong[:, ::1], rows=cython.int[::1])
    cython.declare(after=cython.int[::1], itemset=cython.int[::1], found=cython.int[::1])
    n_found: cython.Py_ssize_t

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
        """List the rules whose first known item is one of ``begin..end - 1``.

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
        """Visit all sets whose first item is ``first``."""
        cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t, place=cython.Py_ssize_t)
        begin: cython.Py_ssize_t = self.starts[first]
        n: cython.Py_ssize_t = 0
        self._take_room(self.starts[first + 1] - begin)
        for i in range(begin, self.starts[first + 1]):
            row, place = self.tids[i], self.positions[i]
            if place + self.size <= self.bounds[row + 1]:  # otherwise too few items follow
                self.rows[n] = row
                self.after[n] = cython.cast(cython.int, place + 1 - self.bounds[row])
                n += 1
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
        """Add an item to the current set of ``size`` items, and visit its extensions.

        ``rows[start:stop]`` are the rows of the new set. Positions from ``free`` on are unused.
        """
        cython.declare(i=cython.Py_ssize_t, n=cython.Py_ssize_t)
        if self.halt[0] or self.room[0] < 0:
            return 0
        self.itemset[size] = cython.cast(cython.int, item)
        self.within[item] = True
        size += 1
        if size == self.size:
            self._judge(start, stop)
        else:
            n = self._divide(size, start, stop, free)
            free = self.begins[size, n]  # after the rows of all extensions
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
        """List the rules of the current set."""
        n: cython.Py_ssize_t = 0
        cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t, place=cython.Py_ssize_t)
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
        """Append the rule of the current set and a sensitive item."""
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t = self.n_found * (self.size + 1)
        while begin + self.size + 1 > self.found.shape[0]:
            self.found = grown(self.found, begin, 2 * self.found.shape[0])
        for i in range(self.size):
            self.found[begin + i] = self.itemset[i]
        self.found[begin + self.size] = about
        self.n_found += 1
        self.room[0] -= 1  # threads share it without a lock: a lost update only delays the stop
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
        """Write the rows of each item that extends the current set, from ``free`` on.

        Return the number of such items.
        """
        n_met: cython.Py_ssize_t = self._share(start, stop)
        n: cython.Py_ssize_t = 0
        cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t, place=cython.Py_ssize_t)
        end: cython.Py_ssize_t = free
        self._count(start, stop if n_met else start)
        for i in range(n_met):
            item = self.names[i]
            # Upper bound of any confidence of the last item: rows with any further sensitive item.
            if size + 1 < self.size or self.shared[item] * self.below > self.above * self.support[item]:
                self.following[size, n] = item
                self.begins[size, n] = end
                end += self.n_rows[item]
                self.n_rows[item] = self.begins[size, n]  # from here on the position of its next row
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
        """Count, for each item that may extend the set, the rows with a further sensitive item.

        List the items with such rows; return their number.
        """
        n: cython.Py_ssize_t = 0
        cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t, place=cython.Py_ssize_t)
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
        """Count the rows of each listed item."""
        cython.declare(i=cython.Py_ssize_t, row=cython.Py_ssize_t, place=cython.Py_ssize_t)
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
        """Make room for ``room`` rows, and keep those already written."""
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
    """Select suppressed items, one after the other, that can be restored.

    An item can be restored if each set that contains it also contains another suppressed item.

    Parameters
    ----------
    starts, sets_of : ndarray of int64, int32
        The sets of item ``i`` are ``sets_of[starts[i]:starts[i + 1]]``.
    gone : ndarray of int64
        The suppressed items, in the order in which they are tried.
    missing : ndarray of int64
        Number of suppressed items of each set. It is updated.
    """
    result = np.empty(len(gone), np.int64)
    chosen: cython.longlong[::1] = result
    n: cython.Py_ssize_t = 0
    cython.declare(i=cython.Py_ssize_t, place=cython.Py_ssize_t, item=cython.Py_ssize_t)
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


# --- Bisection: split a set of items so that the total loss of the parts grows least


def bisect(
    items: Code[::1], singles: Number[::1], weights: Number[::1], rows: Rows, held: cython.uchar[::1]
) -> NDArray[np.bool_]:
    """Split a set of at least two items in two; return whether each item is in the second part.

    Parameters
    ----------
    items : ndarray of int32
        The items in order of descending support.
    singles, weights : ndarray of int64
        Support and importance of each item.
    rows : Rows
        The rows.
    held : ndarray of uint8, shape (rows,)
        Zeros. On return 1, 2 or 3 for a row with an item of the first part, the second, or both.

    Notes
    -----
    The two parts start with the pair of items that has the largest loss; a tie goes to the first pair in
    order. Each other item, in order, joins the part whose loss ``(2**size - 1) * weight * support`` grows
    less; a tie goes to the first part. A part has the weight of its heaviest item.
    """
    result = np.zeros(len(items), np.bool_)
    second: cython.uchar[::1] = result.view(np.uint8)
    cython.declare(i=cython.Py_ssize_t, item=cython.Py_ssize_t)
    size_1: cython.longlong = 1
    size_2: cython.longlong = 1
    with cython.nogil:
        one, two = _find_seeds(items, singles, weights, rows, held)
        _mark(items[one], 1, rows, held)
        _mark(items[two], 2, rows, held)
        second[two] = 1
        rows_1: cython.longlong = singles[items[one]]
        rows_2: cython.longlong = singles[items[two]]
        weight_1: cython.longlong = weights[items[one]]
        weight_2: cython.longlong = weights[items[two]]
        for i in range(items.shape[0]):
            if i in (one, two):
                continue
            item = items[i]
            new_1: cython.longlong = rows_1 + _count_unmarked(item, 1, rows, held)
            new_2: cython.longlong = rows_2 + _count_unmarked(item, 2, rows, held)
            heavier_1: cython.longlong = max(weight_1, weights[item])
            heavier_2: cython.longlong = max(weight_2, weights[item])
            if (
                _compare_growth(
                    size_1, rows_1 * weight_1, new_1 * heavier_1, size_2, rows_2 * weight_2, new_2 * heavier_2
                )
                <= 0
            ):
                size_1, rows_1, weight_1 = size_1 + 1, new_1, heavier_1
                _mark(item, 1, rows, held)
            else:
                size_2, rows_2, weight_2 = size_2 + 1, new_2, heavier_2
                _mark(item, 2, rows, held)
                second[i] = 1
    return result


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_seeds(
    items: Code[::1], singles: Number[::1], weights: Number[::1], rows: Rows, held: cython.uchar[::1]
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Find the positions of the two items with the most rows times the larger weight.

    A tie goes to the first pair in order.
    """
    cython.declare(i=cython.Py_ssize_t, j=cython.Py_ssize_t, slot=cython.Py_ssize_t)
    heaviest: cython.longlong = 0
    most: cython.longlong = -1
    first: cython.Py_ssize_t = 0
    second: cython.Py_ssize_t = 1
    for i in range(items.shape[0]):
        heaviest = max(heaviest, weights[items[i]])
    for i in range(items.shape[0] - 1):
        one: cython.Py_ssize_t = items[i]
        if heaviest * (singles[one] + singles[items[i + 1]]) <= most:
            break
        _mark(one, 4, rows, held)
        for j in range(i + 1, items.shape[0]):
            two: cython.Py_ssize_t = items[j]
            if heaviest * (singles[one] + singles[two]) <= most:  # all later items are rarer
                break
            loss: cython.longlong = max(weights[one], weights[two])
            loss *= singles[one] + _count_unmarked(two, 4, rows, held)
            if loss > most:
                first, second, most = i, j, loss
        for slot in range(rows.starts[one], rows.starts[one + 1]):
            held[rows.tids[slot]] = 0
    return first, second


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _mark(item: cython.Py_ssize_t, bit: cython.uchar, rows: Rows, held: cython.uchar[::1]) -> cython.void:
    """Mark the rows of an item."""
    slot: cython.Py_ssize_t
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        held[rows.tids[slot]] |= bit


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count_unmarked(
    item: cython.Py_ssize_t, bit: cython.uchar, rows: Rows, held: cython.uchar[::1]
) -> cython.longlong:
    """Count the rows of an item that are not marked."""
    slot: cython.Py_ssize_t
    found: cython.longlong = 0
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        if not held[rows.tids[slot]] & bit:
            found += rows.weights[rows.tids[slot]]
    return found


def compare_growth(
    size_1: cython.longlong,
    old_1: cython.longlong,
    new_1: cython.longlong,
    size_2: cython.longlong,
    old_2: cython.longlong,
    new_2: cython.longlong,
) -> int:
    """Compare the growth of two losses exactly; return the sign of the first less the second.

    If an item joins a set of ``size`` items, its loss grows by ``(2**(size + 1) - 1) * new - (2**size - 1) *
    old``, where ``0 <= old <= new < 2**47``.
    """
    return _compare_growth(size_1, old_1, new_1, size_2, old_2, new_2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare_growth(
    size_1: cython.longlong,
    old_1: cython.longlong,
    new_1: cython.longlong,
    size_2: cython.longlong,
    old_2: cython.longlong,
    new_2: cython.longlong,
) -> cython.int:
    if size_1 < size_2:
        return -_compare_growth(size_2, old_2, new_2, size_1, old_1, new_1)
    # Growth is 2**size * lead - rest, where rest <= lead < 2**48; all is divided by 2**size_2 below.
    lead_1: cython.longlong = 2 * new_1 - old_1
    lead_2: cython.longlong = 2 * new_2 - old_2
    rest: cython.longlong = (new_1 - old_1) - (new_2 - old_2)
    most: cython.longlong = cython.cast(cython.longlong, 1) << 48
    shift: cython.longlong = size_1 - size_2
    if lead_1 > 0 and (shift >= 50 or lead_1 > ((lead_2 + most) >> shift)):
        return 1
    lead: cython.longlong = (lead_1 << shift if lead_1 else 0) - lead_2
    if lead == 0:
        return (rest < 0) - (rest > 0)
    # The sign of 2**size_2 * lead - rest, whose first part is farther from 0 if it is not shifted out.
    size: cython.longlong = lead if lead > 0 else -lead
    if size_2 >= 50 or size > (most >> size_2):
        return 1 if lead > 0 else -1
    lead *= cython.cast(cython.longlong, 1) << size_2
    return (lead > rest) - (lead < rest)
