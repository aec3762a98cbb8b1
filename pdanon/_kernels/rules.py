"""Rules between itemsets: PS-rules, the bisection of a set of items, and sensitive rules.

A sensitive rule has known items, and a sensitive item in too many of their rows. Supports and the denominator
of a share are below 2**31. Weights are below 2**16, so a loss without its power of two is below 2**47.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    exceptval,
    final,
    inline,
    int as int32,
    longlong as int64,
    nogil,
    uchar as uint8,
    void,
)
from cython.cimports.pdanon._kernels.clusters import compare_growth
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    Rows,
    grown,
    int32s,
    int64s,
    uint8s,
)
from numpy.typing import NDArray

__all__ = ["Beside", "SensitiveRules", "bisect"]

# --- PS-rules: support of a set of items, alone and with each other set


@final
@cclass
class Beside:
    """Supports of the other sets and of the secrets in the rows of a set of items."""

    # The name of another set is its number in ``labels``, -1 for an item without a set. The name of a secret
    # is its code plus the number of items. ``label`` is the set. ``known`` marks the items that an attacker
    # may know; sets without them do not count.

    near: Codes  # the rows that contain an item of the set
    rows: Rows
    n_sets: Py_ssize_t  # the first name of a secret
    names: int32s  # name of each item; -1: not counted
    support: int64  # of the set
    supports: int64s  # of the set with each other set and each secret
    met: int32s  # names with at least one such row
    n_met: Py_ssize_t
    seen: int64s  # number of the last counted row that contains each
    n_seen: int64
    shared: int64s  # support of the current secret with each other set
    ends: int64s  # unweighted rows of each secret; then their end in `members`
    members: int32s  # rows, secret after secret

    def __init__(
        self,
        near: Codes,
        labels: Codes,
        label: int32,
        known: Flags,
        is_secret: Flags,
        rows: Rows,
    ) -> None:
        n = len(labels)
        table = np.zeros((4, 2 * n), np.int64)
        self.near, self.rows, self.n_sets = near, rows, n
        self.supports, self.seen, self.shared, self.ends = table[0], table[1], table[2], table[3]
        self.names, self.met = np.empty(n, np.int32), np.empty(2 * n, np.int32)
        self.n_met = self.n_seen = self.support = 0
        with nogil:
            self._name_items(labels, label, known, is_secret)
            self._count()

    @cfunc
    @nogil
    @exceptval(check=False)
    def _name_items(self, labels: Codes, label: int32, known: Flags, is_secret: Flags) -> void:
        """Write the name that each item counts as."""
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _count(self) -> void:
        """Count the set, and each other set and secret in its rows."""
        row: Py_ssize_t
        name: Py_ssize_t
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

    def is_protected(self, k: int64, above: int64, below: int64) -> bool:
        """Return whether the set is not rare, and no secret is in more than ``above / below`` of its rows."""
        name: Py_ssize_t
        if 0 < self.support < k:
            return False
        for i in range(self.n_met):
            name = self.met[i]
            if name >= self.n_sets and self.supports[name] * below > above * self.support:
                return False
        return True

    def is_protected_with_others(self, k: int64, above: int64, below: int64) -> bool:
        """Return whether the pairs of the set and another set are protected in the same way."""
        if self._is_rare_with_another(k):
            return False
        size = self._allocate_members(above * k, below)
        self.members = np.empty(size, np.int32)
        with nogil:
            self._fill_members()
            is_sure = self._exceeds_share_with_another(above, below)
        return not is_sure

    @cfunc
    @nogil
    @exceptval(check=False)
    def _is_rare_with_another(self, k: int64) -> bint:
        """Return whether the support with another set is less than k."""
        for i in range(self.n_met):
            if self.met[i] < self.n_sets and self.supports[self.met[i]] < k:
                return True
        return False

    @cfunc
    @nogil
    @exceptval(check=False)
    def _allocate_members(self, enough: int64, below: int64) -> Py_ssize_t:
        """Allocate ``members`` of each secret with more than ``enough / below`` rows; return the length."""
        # Each pair of sets has at least k rows here, so a rarer secret stays within the share.
        name: Py_ssize_t
        size = 0
        n_relevant: Py_ssize_t = 0
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _fill_members(self) -> void:
        """List the rows of each allocated secret in its part of ``members``."""
        row: Py_ssize_t
        name: Py_ssize_t
        if self.n_met == 0:
            return
        for i in range(self.near.shape[0]):
            row = self.near[i]
            for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
                name = self.names[self.rows.codes[place]]
                if name >= self.n_sets and self.ends[name] >= 0:
                    self.members[self.ends[name]] = row
                    self.ends[name] += 1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _exceeds_share_with_another(self, above: int64, below: int64) -> bint:
        """Return whether a secret is in more than ``above / below`` of the rows of a pair of sets."""
        start = 0
        for i in range(self.n_met):
            stop = self.ends[self.met[i]]
            for j in range(start, stop):
                if self._exceeds_share(self.members[j], above, below):
                    return True
            for j in range(start, stop):
                self._reset_counts(self.members[j])
            start = stop
        return False

    @cfunc
    @nogil
    @exceptval(check=False)
    def _exceeds_share(self, row: Py_ssize_t, above: int64, below: int64) -> bint:
        """Count one more row with the current secret; return whether a pair of sets exceeds the share."""
        name: Py_ssize_t
        self.n_seen += 1
        for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            name = self.names[self.rows.codes[place]]
            if 0 <= name < self.n_sets and self.seen[name] != self.n_seen:
                self.seen[name] = self.n_seen
                self.shared[name] += self.rows.weights[row]
                if self.shared[name] * below > above * self.supports[name]:
                    return True
        return False

    @cfunc
    @nogil
    @exceptval(check=False)
    def _reset_counts(self, row: Py_ssize_t) -> void:
        """Reset the counts of the sets in a row."""
        name: Py_ssize_t
        for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            name = self.names[self.rows.codes[place]]
            if 0 <= name < self.n_sets:
                self.shared[name] = 0


# --- Bisection: split a set of items so that the total loss of the parts grows least


def bisect(items: Codes, singles: Numbers, weights: Numbers, rows: Rows, held: uint8s) -> NDArray[np.bool_]:
    """Split a set of at least two items in two; return whether each item is in the second part.

    The items come in order of descending support. ``held``, zeros before, becomes 1, 2 or 3 for a row with an
    item of the first part, the second, or both.

    The two parts start with the pair of items that has the largest loss; a tie goes to the first pair in
    order. Each other item, in order, joins the part whose loss ``(2**size - 1) * weight * support`` grows
    less; a tie goes to the first part. A part has the weight of its heaviest item.
    """
    result = np.zeros(len(items), np.bool_)
    second: uint8s = result.view(np.uint8)
    item: Py_ssize_t
    size_1: int64 = 1
    size_2: int64 = 1
    with nogil:
        one, two = _find_seeds(items, singles, weights, rows, held)
        _mark(items[one], 1, rows, held)
        _mark(items[two], 2, rows, held)
        second[two] = 1
        rows_1 = singles[items[one]]
        rows_2 = singles[items[two]]
        weight_1 = weights[items[one]]
        weight_2 = weights[items[two]]
        for i in range(items.shape[0]):
            if i in (one, two):
                continue
            item = items[i]
            new_1 = rows_1 + _count_unmarked(item, 1, rows, held)
            new_2 = rows_2 + _count_unmarked(item, 2, rows, held)
            heavier_1 = max(weight_1, weights[item])
            heavier_2 = max(weight_2, weights[item])
            if (
                compare_growth(
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


@cfunc
@nogil
@exceptval(check=False)
def _find_seeds(
    items: Codes, singles: Numbers, weights: Numbers, rows: Rows, held: uint8s
) -> tuple[Py_ssize_t, Py_ssize_t]:
    """Find the positions of the two items with the most rows times the larger weight."""
    # A tie goes to the first pair in order.
    heaviest = 0
    most = -1
    first = 0
    second = 1
    for i in range(items.shape[0]):
        heaviest = max(heaviest, weights[items[i]])
    for i in range(items.shape[0] - 1):
        one: Py_ssize_t = items[i]
        if heaviest * (singles[one] + singles[items[i + 1]]) <= most:
            break
        _mark(one, 4, rows, held)
        for j in range(i + 1, items.shape[0]):
            two: Py_ssize_t = items[j]
            if heaviest * (singles[one] + singles[two]) <= most:  # all later items are rarer
                break
            loss = max(weights[one], weights[two])
            loss *= singles[one] + _count_unmarked(two, 4, rows, held)
            if loss > most:
                first, second, most = i, j, loss
        for slot in range(rows.starts[one], rows.starts[one + 1]):
            held[rows.tids[slot]] = 0
    return first, second


@cfunc
@nogil
@exceptval(check=False)
def _mark(item: Py_ssize_t, bit: uint8, rows: Rows, held: uint8s) -> void:
    """Mark the rows of an item."""
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        held[rows.tids[slot]] |= bit


@cfunc
@nogil
@exceptval(check=False)
def _count_unmarked(item: Py_ssize_t, bit: uint8, rows: Rows, held: uint8s) -> int64:
    """Count the rows of an item that are not marked."""
    found = 0
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        if not held[rows.tids[slot]] & bit:
            found += rows.weights[rows.tids[slot]]
    return found


# --- Sensitive rules


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

    items: Codes  # of each row
    bounds: Numbers
    weights: Numbers
    starts: Numbers
    tids: Codes
    positions: Numbers
    codes: Codes  # sensitive items of each row
    offsets: Numbers
    above: int64
    below: int64
    size: Py_ssize_t
    # number of rules that may still be listed; the search stops when it is negative
    room: int64s
    halt: Flags
    # By item, 0 between sets: support with the current set, the same in rows with a further sensitive item,
    # and the unweighted number of rows to write. Then whether the item is in the current set.
    support: int64s
    shared: int64s
    n_rows: int64s
    within: uint8s
    names: int32s  # items with a count
    # For sets of each size: the items that extend it, the support of each, and where its rows begin.
    following: int32[:, ::1]
    totals: int64[:, ::1]
    begins: int64[:, ::1]
    rows: int32s
    after: int32s
    itemset: int32s
    found: int32s
    n_found: Py_ssize_t
    one: int32

    def __init__(
        self,
        table: Rows,
        codes: Codes,
        offsets: Numbers,
        above: int64,
        below: int64,
        size: Py_ssize_t,
        room: int64s,
        halt: Flags,
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
        """List the rules whose first known item is one of ``begin..end - 1``."""
        # A line has the known items, ascending, and last the sensitive one.
        with nogil:
            for first in range(begin, end):
                self._begin(first)
        return np.asarray(self.found)[: self.n_found * (self.size + 1)].reshape(-1, self.size + 1)

    @cfunc
    @nogil
    @exceptval(-1)
    def _begin(self, first: Py_ssize_t) -> int32:
        """Visit all sets whose first item is ``first``."""
        row: Py_ssize_t
        begin = self.starts[first]
        total = 0
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
                self.after[n] = place + 1 - self.bounds[row]
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
        """Add an item to the current set of ``size`` items, and visit its extensions."""
        # ``rows[start:stop]`` are the rows of the new set, and ``total`` is its support. Positions from
        # ``free`` on are unused.
        if self.halt[0] or self.room[0] < 0:
            return 0
        self.itemset[size] = item
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
        row: Py_ssize_t
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
        begin = self.n_found * (self.size + 1)
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
    def _divide(self, size: Py_ssize_t, start: Py_ssize_t, stop: Py_ssize_t, free: Py_ssize_t) -> Py_ssize_t:
        """Write the rows of each item that extends the set, from ``free`` on; return the number of items."""
        is_last: bint = size + 1 == self.size
        n_met = self._share(start, stop, is_last)
        n: Py_ssize_t = 0
        row: Py_ssize_t
        end = free
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
            n_besides = self._count_besides(row) if is_last else 2
            for place in range(self.bounds[row] + self.after[i], self.bounds[row + 1] if n_besides else 0):
                item = self.items[place]
                if self.shared[item] and (n_besides > 1 or item != self.one):
                    self.rows[self.n_rows[item]] = row
                    self.after[self.n_rows[item]] = place + 1 - self.bounds[row]
                    self.n_rows[item] += 1
        for i in range(n_met):
            item = self.names[i]
            self.shared[item] = self.n_rows[item] = 0
        return n

    @cfunc
    @nogil
    @exceptval(check=False)
    def _share(self, start: Py_ssize_t, stop: Py_ssize_t, is_last: bint) -> Py_ssize_t:
        """Count, for each item that may extend the set, the rows with a further sensitive item."""
        # List the items with such rows; return their number. If the item completes the set, these are the
        # rows to write.
        n: Py_ssize_t = 0
        row: Py_ssize_t
        for i in range(start, stop):
            row = self.rows[i]
            n_besides = self._count_besides(row)
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
        row: Py_ssize_t
        for i in range(start, stop):
            row = self.rows[i]
            weight = self.weights[row]
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
        size = self.rows.shape[0]
        if size < room:
            self.rows = grown(self.rows, size, 2 * room)
            self.after = grown(self.after, size, 2 * room)
        return 0
