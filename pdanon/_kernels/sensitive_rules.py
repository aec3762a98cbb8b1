"""Sensitive rules: known items, and a sensitive item in too many of their rows; and sets of rules.

Supports and the denominator of a share are below 2**31.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cast,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    uchar as uint8,
    void,
)
from cython.cimports.pdanon._kernels.counting import Code, Flag, Number, Rows, grown
from numpy.typing import NDArray

__all__ = ["SensitiveRules", "invert", "restorable", "with_some"]


# --- The search for rules


@final
@cclass
class SensitiveRules:
    """Rules with ``size`` known items whose confidence exceeds ``above / below``.

    The search is depth first, in item order. It extends a set of items only if a row with all of them
    contains a further sensitive item. The rows of the current set follow those of its prefixes in ``rows``.
    Those of a complete set are only the rows with a sensitive item, as its support is known already.
    ``after`` has the number of leading items of each row that the search has passed.

    The sensitive items of rows may also be known. ``below`` times the number of rows is below 2**63. The
    search stops when ``halt[0]`` is set.
    """

    items: Code[::1]  # of each row
    bounds: Number[::1]
    weights: Number[::1]
    starts: Number[::1]
    tids: Code[::1]
    positions: Number[::1]
    codes: Code[::1]  # sensitive items of each row
    offsets: Number[::1]
    declare(above=int64, below=int64, size=Py_ssize_t)
    # number of rules that may still be listed; the search stops when it is negative
    room: int64[::1]
    halt: Flag[::1]
    # By item, 0 between sets: support with the current set, the same in rows with a further sensitive item,
    # and the unweighted number of rows to write. Then whether the item is in the current set.
    declare(support=int64[::1], shared=int64[::1], n_rows=int64[::1])
    within: uint8[::1]
    names: int32[::1]  # items with a count
    # For sets of each size: the items that extend it, the support of each, and where its rows begin.
    declare(following=int32[:, ::1], totals=int64[:, ::1])
    declare(begins=int64[:, ::1], rows=int32[::1])
    declare(after=int32[::1], itemset=int32[::1], found=int32[::1])
    declare(n_found=Py_ssize_t, one=int32)

    def __init__(
        self,
        table: Rows,
        codes: Code[::1],
        offsets: Number[::1],
        above: int64,
        below: int64,
        size: Py_ssize_t,
        room: int64[::1],
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
        self.totals, self.begins = np.empty((2, size, n_items + 1), np.int64)
        self.rows, self.after = np.empty(256, np.int32), np.empty(256, np.int32)
        self.n_found, self.found = 0, np.empty(256, np.int32)

    def beginning(self, begin: Py_ssize_t, end: Py_ssize_t) -> NDArray[np.int32]:
        """List the rules whose first known item is one of ``begin..end - 1``.

        A line has the known items, ascending, and last the sensitive one.
        """
        first: Py_ssize_t
        with nogil:
            for first in range(begin, end):
                self._begin(first)
        return np.asarray(self.found)[: self.n_found * (self.size + 1)].reshape(-1, self.size + 1)

    @cfunc
    @nogil
    @exceptval(-1)
    def _begin(self, first: Py_ssize_t) -> int32:
        """Visit all sets whose first item is ``first``."""
        declare(i=Py_ssize_t, row=Py_ssize_t, place=Py_ssize_t)
        begin: Py_ssize_t = self.starts[first]
        total: int64 = 0
        n: Py_ssize_t = 0
        n_shared: Py_ssize_t = 0
        self._take_room(self.starts[first + 1] - begin)
        for i in range(begin, self.starts[first + 1]):
            row, place = self.tids[i], self.positions[i]
            total += self.weights[row]
            has_sensitive: bint = self.offsets[row] < self.offsets[row + 1]
            # Too few items may follow. For a complete set, only rows with a sensitive item are read.
            if place + self.size <= self.bounds[row + 1] and (self.size > 1 or has_sensitive):
                self.rows[n] = row
                self.after[n] = cast(int32, place + 1 - self.bounds[row])
                n += 1
                n_shared += has_sensitive
        if n_shared:
            self._visit(first, total, 0, 0, n, n)
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _visit(
        self,
        item: Py_ssize_t,
        total: int64,
        size: Py_ssize_t,
        start: Py_ssize_t,
        stop: Py_ssize_t,
        free: Py_ssize_t,
    ) -> int32:
        """Add an item to the current set of ``size`` items, and visit its extensions.

        ``rows[start:stop]`` are the rows of the new set, and ``total`` is its support. Positions from
        ``free`` on are unused.
        """
        declare(i=Py_ssize_t, n=Py_ssize_t)
        if self.halt[0] or self.room[0] < 0:
            return 0
        self.itemset[size] = cast(int32, item)
        self.within[item] = True
        size += 1
        if size == self.size:
            self._judge(total, start, stop)
        else:
            n = self._divide(size, start, stop, free)
            free = self.begins[size, n]  # after the rows of all extensions
            for i in range(n):
                self._visit(
                    self.following[size, i],
                    self.totals[size, i],
                    size,
                    self.begins[size, i],
                    self.begins[size, i + 1],
                    free,
                )
        self.within[item] = False
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _judge(self, total: int64, start: Py_ssize_t, stop: Py_ssize_t) -> int32:
        """List the rules of the current set, whose support is ``total``."""
        n: Py_ssize_t = 0
        declare(i=Py_ssize_t, row=Py_ssize_t, place=Py_ssize_t)
        for i in range(start, stop):
            row = self.rows[i]
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

    @cfunc
    @nogil
    @exceptval(-1)
    def _list(self, about: int32) -> int32:
        """Append the rule of the current set and a sensitive item."""
        i: Py_ssize_t
        begin: Py_ssize_t = self.n_found * (self.size + 1)
        while begin + self.size + 1 > self.found.shape[0]:
            self.found = grown(self.found, begin, 2 * self.found.shape[0])
        for i in range(self.size):
            self.found[begin + i] = self.itemset[i]
        self.found[begin + self.size] = about
        self.n_found += 1
        self.room[0] -= 1  # threads share it without a lock: a lost update only delays the stop
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _divide(
        self,
        size: Py_ssize_t,
        start: Py_ssize_t,
        stop: Py_ssize_t,
        free: Py_ssize_t,
    ) -> Py_ssize_t:
        """Write the rows of each item that extends the current set, from ``free`` on.

        Return the number of such items.
        """
        is_last: bint = size + 1 == self.size
        n_met: Py_ssize_t = self._share(start, stop, is_last)
        n: Py_ssize_t = 0
        declare(i=Py_ssize_t, row=Py_ssize_t, place=Py_ssize_t)
        end: Py_ssize_t = free
        self._count(start, stop if n_met else start, is_last)
        for i in range(n_met):
            item = self.names[i]
            # Upper bound of any confidence of the last item: rows with any further sensitive item.
            if not is_last or self.shared[item] * self.below > self.above * self.support[item]:
                self.following[size, n] = item
                self.totals[size, n] = self.support[item]
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
            n_besides: Py_ssize_t = self._count_besides(row) if is_last else 2
            for place in range(self.bounds[row] + self.after[i], self.bounds[row + 1] if n_besides else 0):
                item = self.items[place]
                if self.shared[item] and (n_besides > 1 or item != self.one):
                    self.rows[self.n_rows[item]] = row
                    self.after[self.n_rows[item]] = cast(int32, place + 1 - self.bounds[row])
                    self.n_rows[item] += 1
        for i in range(n_met):
            item = self.names[i]
            self.shared[item] = self.n_rows[item] = 0
        return n

    @cfunc
    @nogil
    @exceptval(check=False)
    def _share(self, start: Py_ssize_t, stop: Py_ssize_t, is_last: bint) -> Py_ssize_t:
        """Count, for each item that may extend the set, the rows with a further sensitive item.

        List the items with such rows; return their number. If the item completes the set, these are the rows
        to write.
        """
        n: Py_ssize_t = 0
        declare(i=Py_ssize_t, row=Py_ssize_t, place=Py_ssize_t)
        for i in range(start, stop):
            row = self.rows[i]
            n_besides: Py_ssize_t = self._count_besides(row)
            for place in range(self.bounds[row] + self.after[i], self.bounds[row + 1] if n_besides else 0):
                item = self.items[place]
                if n_besides > 1 or item != self.one:
                    if self.shared[item] == 0:
                        self.names[n] = item
                        n += 1
                    self.shared[item] += self.weights[row]
                    self.n_rows[item] += is_last
        return n

    @cfunc
    @inline
    @nogil
    @exceptval(check=False)
    def _count_besides(self, row: Py_ssize_t) -> Py_ssize_t:
        """Count the sensitive items of a row that are not in the current set; ``one`` is the last of them."""
        place: Py_ssize_t
        n: Py_ssize_t = 0
        for place in range(self.offsets[row], self.offsets[row + 1]):
            if not self.within[self.codes[place]]:
                self.one = self.codes[place]
                n += 1
        return n

    @cfunc
    @nogil
    @exceptval(check=False)
    def _count(self, start: Py_ssize_t, stop: Py_ssize_t, is_last: bint) -> void:
        """Count the support of each listed item with the set, and its rows unless it completes the set."""
        declare(i=Py_ssize_t, row=Py_ssize_t, place=Py_ssize_t)
        for i in range(start, stop):
            row = self.rows[i]
            weight: int64 = self.weights[row]
            for place in range(self.bounds[row] + self.after[i], self.bounds[row + 1]):
                item = self.items[place]
                if self.shared[item]:
                    self.support[item] += weight
                    self.n_rows[item] += not is_last

    @cfunc
    @nogil
    @exceptval(-1)
    def _take_room(self, room: Py_ssize_t) -> int32:
        """Make room for ``room`` rows, and keep those already written."""
        size: Py_ssize_t = self.rows.shape[0]
        if size < room:
            self.rows = grown(self.rows, size, 2 * room)
            self.after = grown(self.after, size, 2 * room)
        return 0


# --- Sets of items: those of each item, those that have some, and items that all of them can do without


def invert(
    codes: Code[::1], bounds: Number[::1], numbers: Code[::1], n_numbers: Py_ssize_t
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Number the items of sets, and list the sets of each number.

    Set ``i`` has the items ``codes[bounds[i]:bounds[i + 1]]``. Items with a negative number are left out.
    Return the numbers in each set, ``items, ends``, in the same form, and ``starts, sets``: the sets of
    number ``i`` are ``sets[starts[i]:starts[i + 1]]``, ascending.
    """
    numbered, ends = np.empty(len(codes), np.int32), np.zeros(len(bounds), np.int64)
    starts = np.zeros(n_numbers + 2, np.int64)  # one place ahead, while the sets are written
    items: int32[::1] = numbered
    stops: int64[::1] = ends
    free: int64[::1] = starts
    declare(i=Py_ssize_t, place=Py_ssize_t, number=int32)
    n: Py_ssize_t = 0
    with nogil:
        for i in range(bounds.shape[0] - 1):
            for place in range(bounds[i], bounds[i + 1]):
                number = numbers[codes[place]]
                if number >= 0:
                    items[n] = number
                    free[number + 2] += 1
                    n += 1
            stops[i + 1] = n
        for i in range(2, n_numbers + 2):
            free[i] += free[i - 1]
    found = np.empty(n, np.int32)
    sets: int32[::1] = found
    with nogil:
        for i in range(bounds.shape[0] - 1):
            for place in range(stops[i], stops[i + 1]):
                number = items[place]
                sets[free[number + 1]] = cast(int32, i)
                free[number + 1] += 1
    return numbered[:n], ends, starts[: n_numbers + 1], found


def with_some(codes: Code[::1], bounds: Number[::1], wanted: Flag[::1]) -> NDArray[np.bool_]:
    """Return whether each set has an item with a flag."""
    result = np.zeros(len(bounds) - 1, np.bool_)
    found: uint8[::1] = result.view(np.uint8)
    declare(i=Py_ssize_t, place=Py_ssize_t)
    with nogil:
        for i in range(bounds.shape[0] - 1):
            for place in range(bounds[i], bounds[i + 1]):
                if wanted[codes[place]]:
                    found[i] = True
                    break
    return result


def restorable(
    codes: Code[::1], bounds: Number[::1], is_gone: Flag[::1], gone: Number[::1]
) -> NDArray[np.int64]:
    """Select suppressed items, one after the other, that can be restored.

    An item can be restored if each set that contains it also contains another suppressed item. Set ``i`` has
    the items ``codes[bounds[i]:bounds[i + 1]]``. ``gone`` has the suppressed items in the order in which they
    are tried.
    """
    numbers, counts = np.full(len(is_gone), -1, np.int32), np.zeros(len(bounds) - 1, np.int32)
    number: int32[::1] = numbers  # of items that may be restored
    missing: int32[::1] = counts  # suppressed items of each set
    needed: uint8[::1] = np.zeros(len(is_gone), np.uint8)  # the only suppressed item of a set
    declare(i=Py_ssize_t, place=Py_ssize_t, item=Py_ssize_t)
    last: Py_ssize_t = 0
    n: Py_ssize_t = 0
    with nogil:
        for i in range(bounds.shape[0] - 1):
            for place in range(bounds[i], bounds[i + 1]):
                if is_gone[codes[place]]:
                    missing[i] += 1
                    last = codes[place]
            if missing[i] == 1:
                needed[last] = True
        for i in range(gone.shape[0]):
            if not needed[gone[i]]:
                number[gone[i]] = cast(int32, n)
                n += 1
    _, _, starts, found = invert(codes, bounds, numbers, n)
    begins: Number[::1] = starts
    sets: Code[::1] = found
    result = np.empty(n, np.int64)
    chosen: int64[::1] = result
    n = 0
    with nogil:
        for i in range(gone.shape[0]):
            item = number[gone[i]]
            if item < 0:
                continue
            for place in range(begins[item], begins[item + 1]):
                if missing[sets[place]] < 2:
                    break
            else:
                for place in range(begins[item], begins[item + 1]):
                    missing[sets[place]] -= 1
                chosen[n] = gone[i]
                n += 1
    return result[:n]
