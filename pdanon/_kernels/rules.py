"""Rules between itemsets: PS-rules, and the bisection of a set of items.

Supports and the denominator of a share are below 2**31. Weights are below 2**16, so a loss without its power
of two is below 2**47.
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
    int as int32,
    longlong as int64,
    nogil,
    uchar as uint8,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import Code, Flag, Number, Rows
from numpy.typing import NDArray

__all__ = ["Beside", "bisect", "compare_growth", "rows_with_some"]


# --- PS-rules: support of a set of items, alone and with each other set


@final
@cclass
class Beside:
    """Supports of the other sets and of the secrets in the rows of a set of items.

    The name of another set is its number in ``labels``, -1 for an item without a set. The name of a secret is
    its code plus the number of items. ``label`` is the set. ``known`` marks the items that an attacker may
    know; sets without them do not count.
    """

    near: Code[::1]  # the rows that contain an item of the set
    rows: Rows
    n_sets: Py_ssize_t  # the first name of a secret
    names: int32[::1]  # name of each item; -1: not counted
    support: int64  # of the set
    supports: int64[::1]  # of the set with each other set and each secret
    met: int32[::1]  # names with at least one such row
    n_met: Py_ssize_t
    seen: int64[::1]  # number of the last counted row that contains each
    n_seen: int64
    shared: int64[::1]  # support of the current secret with each other set
    ends: int64[::1]  # unweighted rows of each secret; then their end in `members`
    members: int32[::1]  # rows, secret after secret

    def __init__(
        self,
        near: Code[::1],
        labels: Code[::1],
        label: int32,
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
        with nogil:
            self._name_items(labels, label, known, is_secret)
            self._count()

    @cfunc
    @nogil
    @exceptval(check=False)
    def _name_items(self, labels: Code[::1], label: int32, known: Flag[::1], is_secret: Flag[::1]) -> void:
        """Write the name that each item counts as."""
        item: Py_ssize_t
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
        declare(row=Py_ssize_t, name=Py_ssize_t, i=Py_ssize_t)
        place: Py_ssize_t
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
        declare(name=Py_ssize_t, i=Py_ssize_t)
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
        i: Py_ssize_t
        for i in range(self.n_met):
            if self.met[i] < self.n_sets and self.supports[self.met[i]] < k:
                return True
        return False

    @cfunc
    @nogil
    @exceptval(check=False)
    def _allocate_members(self, enough: int64, below: int64) -> Py_ssize_t:
        """Allocate a part of ``members`` to each secret with more than ``enough / below`` rows.

        Each pair of sets has at least k rows here, so a rarer secret stays within the share. Return the total
        length.
        """
        declare(name=Py_ssize_t, count=Py_ssize_t, i=Py_ssize_t)
        size: Py_ssize_t = 0
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
        declare(row=Py_ssize_t, name=Py_ssize_t, i=Py_ssize_t)
        place: Py_ssize_t
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
        declare(stop=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t)
        start: Py_ssize_t = 0
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
        declare(name=Py_ssize_t, place=Py_ssize_t)
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
        declare(name=Py_ssize_t, place=Py_ssize_t)
        for place in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            name = self.names[self.rows.codes[place]]
            if 0 <= name < self.n_sets:
                self.shared[name] = 0


def rows_with_some(items: Code[::1], rows: Rows) -> NDArray[np.int32]:
    """Return the rows that contain at least one of the items, ascending."""
    words = np.zeros((len(rows.weights) + 7) // 8, np.uint64)
    eights: uint64[::1] = words
    marks: uint8[::1] = words.view(np.uint8)
    declare(i=Py_ssize_t, slot=Py_ssize_t, row=Py_ssize_t, byte=Py_ssize_t)
    size: Py_ssize_t = 0
    with nogil:
        for i in range(items.shape[0]):
            for slot in range(rows.starts[items[i]], rows.starts[items[i] + 1]):
                row = rows.tids[slot]
                size += not marks[row]
                marks[row] = 1
    result = np.empty(size, np.int32)
    found: int32[::1] = result
    size = 0
    with nogil:
        for i in range(eights.shape[0]):
            if not eights[i]:
                continue
            for byte in range(8):
                if marks[8 * i + byte]:
                    found[size] = 8 * i + byte
                    size += 1
    return result


# --- Bisection: split a set of items so that the total loss of the parts grows least


def bisect(
    items: Code[::1], singles: Number[::1], weights: Number[::1], rows: Rows, held: uint8[::1]
) -> NDArray[np.bool_]:
    """Split a set of at least two items in two; return whether each item is in the second part.

    The items come in order of descending support. ``held``, zeros before, becomes 1, 2 or 3 for a row with an
    item of the first part, the second, or both.

    The two parts start with the pair of items that has the largest loss; a tie goes to the first pair in
    order. Each other item, in order, joins the part whose loss ``(2**size - 1) * weight * support`` grows
    less; a tie goes to the first part. A part has the weight of its heaviest item.
    """
    result = np.zeros(len(items), np.bool_)
    second: uint8[::1] = result.view(np.uint8)
    declare(i=Py_ssize_t, item=Py_ssize_t)
    size_1: int64 = 1
    size_2: int64 = 1
    with nogil:
        one, two = _find_seeds(items, singles, weights, rows, held)
        _mark(items[one], 1, rows, held)
        _mark(items[two], 2, rows, held)
        second[two] = 1
        rows_1: int64 = singles[items[one]]
        rows_2: int64 = singles[items[two]]
        weight_1: int64 = weights[items[one]]
        weight_2: int64 = weights[items[two]]
        for i in range(items.shape[0]):
            if i in (one, two):
                continue
            item = items[i]
            new_1: int64 = rows_1 + _count_unmarked(item, 1, rows, held)
            new_2: int64 = rows_2 + _count_unmarked(item, 2, rows, held)
            heavier_1: int64 = max(weight_1, weights[item])
            heavier_2: int64 = max(weight_2, weights[item])
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


@cfunc
@nogil
@exceptval(check=False)
def _find_seeds(
    items: Code[::1], singles: Number[::1], weights: Number[::1], rows: Rows, held: uint8[::1]
) -> tuple[Py_ssize_t, Py_ssize_t]:
    """Find the positions of the two items with the most rows times the larger weight.

    A tie goes to the first pair in order.
    """
    declare(i=Py_ssize_t, j=Py_ssize_t, slot=Py_ssize_t)
    heaviest: int64 = 0
    most: int64 = -1
    first: Py_ssize_t = 0
    second: Py_ssize_t = 1
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
            loss: int64 = max(weights[one], weights[two])
            loss *= singles[one] + _count_unmarked(two, 4, rows, held)
            if loss > most:
                first, second, most = i, j, loss
        for slot in range(rows.starts[one], rows.starts[one + 1]):
            held[rows.tids[slot]] = 0
    return first, second


@cfunc
@nogil
@exceptval(check=False)
def _mark(item: Py_ssize_t, bit: uint8, rows: Rows, held: uint8[::1]) -> void:
    """Mark the rows of an item."""
    slot: Py_ssize_t
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        held[rows.tids[slot]] |= bit


@cfunc
@nogil
@exceptval(check=False)
def _count_unmarked(item: Py_ssize_t, bit: uint8, rows: Rows, held: uint8[::1]) -> int64:
    """Count the rows of an item that are not marked."""
    slot: Py_ssize_t
    found: int64 = 0
    for slot in range(rows.starts[item], rows.starts[item + 1]):
        if not held[rows.tids[slot]] & bit:
            found += rows.weights[rows.tids[slot]]
    return found


def compare_growth(
    size_1: int64,
    old_1: int64,
    new_1: int64,
    size_2: int64,
    old_2: int64,
    new_2: int64,
) -> int:
    """Compare the growth of two losses exactly; return the sign of the first less the second.

    If an item joins a set of ``size`` items, its loss grows by ``(2**(size + 1) - 1) * new - (2**size - 1) *
    old``, where ``0 <= old <= new < 2**47``.
    """
    return _compare_growth(size_1, old_1, new_1, size_2, old_2, new_2)


@cfunc
@nogil
@exceptval(check=False)
def _compare_growth(
    size_1: int64,
    old_1: int64,
    new_1: int64,
    size_2: int64,
    old_2: int64,
    new_2: int64,
) -> int32:
    if size_1 < size_2:
        return -_compare_growth(size_2, old_2, new_2, size_1, old_1, new_1)
    # Growth is 2**size * lead - rest, where rest <= lead < 2**48; all is divided by 2**size_2 below.
    lead_1: int64 = 2 * new_1 - old_1
    lead_2: int64 = 2 * new_2 - old_2
    rest: int64 = (new_1 - old_1) - (new_2 - old_2)
    most: int64 = cast(int64, 1) << 48
    shift: int64 = size_1 - size_2
    if lead_1 > 0 and (shift >= 50 or lead_1 > ((lead_2 + most) >> shift)):
        return 1
    lead: int64 = (lead_1 << shift if lead_1 else 0) - lead_2
    if lead == 0:
        return (rest < 0) - (rest > 0)
    # The sign of 2**size_2 * lead - rest, whose first part is farther from 0 if it is not shifted out.
    size: int64 = lead if lead > 0 else -lead
    if size_2 >= 50 or size > (most >> size_2):
        return 1 if lead > 0 else -1
    lead *= cast(int64, 1) << size_2
    return (lead > rest) - (lead < rest)
