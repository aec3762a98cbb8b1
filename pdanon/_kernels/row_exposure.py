"""Exposure of single rows: the size of the smallest rare itemset of a row, against the supports of all rows.

And exposure of secret items: the one that most rows with an itemset have.

The cost is that of the searched rows, however many others there are. The rows of an item are a list or, if
the item is frequent, a bitmap. A search reads the rows of the item with the fewest, and stops as soon as a
support is known to reach the threshold.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    declare,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    Rows,
    contains,
    int32s,
    int64s,
    rarest,
    sort_part,
)
from numpy.typing import NDArray

__all__ = ["RowSearch", "join_rows", "likeliest_secrets", "mark_items", "mark_pairs"]

WORD = declare(Py_ssize_t, 64)
ONE = declare(uint64, 1)


@final
@cclass
class RowSearch:
    """A search for rare itemsets of rows, one by one, whose items are sorted by their number of rows."""

    # The search ends after ``work`` steps of one or two nanoseconds. A row that takes as many steps again is
    # not finished. Hidden items do not count.

    chosen: Numbers
    m: Py_ssize_t
    n: Py_ssize_t
    work: int64
    steps: int64
    codes: Codes
    offsets: Numbers
    weights: Numbers
    supports: Numbers
    order: int64s
    rank: int32s
    items: int32s
    prefix: int64s
    n_words: Py_ssize_t
    bitmap_of: int32s  # -1: none
    bitmaps: uint64[:, ::1]
    starts: int64s
    tids: int32s
    # The rows of the first items of the prefix, at each depth.
    bits: uint64[:, ::1]
    rows: int32[:, ::1]
    n_rows: int64s

    def __init__(
        self,
        chosen: Numbers,
        m: Py_ssize_t,
        work: int64,
        codes: Codes,
        offsets: Numbers,
        weights: Numbers,
        supports: Numbers,
        is_hidden: Flags,
    ) -> None:
        self.m, self.work, self.codes, self.offsets, self.weights = m, work, codes, offsets, weights
        self.supports, self.chosen = supports, chosen
        self.n, n_items, longest = 0, len(supports), 1
        counts = np.bincount(codes, minlength=n_items)
        self.order, self.rank = np.argsort(counts, kind="stable"), np.empty(n_items, np.int32)
        for i in range(n_items):
            self.rank[self.order[i]] = -1 if is_hidden[self.order[i]] else i
        for i in range(chosen.shape[0]):
            longest = max(longest, offsets[chosen[i] + 1] - offsets[chosen[i]])
        self.items, self.prefix = np.empty(longest, np.int32), np.empty(min(m, longest), np.int64)
        self.n_words = (weights.shape[0] + WORD - 1) // WORD
        is_dense = counts > self.n_words
        self.bitmap_of = np.where(is_dense, np.cumsum(is_dense) - 1, -1).astype(np.int32)
        self.bitmaps = np.zeros((is_dense.sum(), self.n_words), np.uint64)
        self.starts = np.append(0, np.cumsum(np.where(is_dense, 0, counts)))
        self.tids = np.empty(self.starts[n_items], np.int32)
        self.bits = np.empty((len(self.prefix), self.n_words), np.uint64)
        self.rows = np.empty((len(self.prefix), self.n_words), np.int32)
        self.n_rows = np.zeros(len(self.prefix), np.int64)
        free: int64s = np.array(self.starts)
        with nogil:
            self._place_rows(free)
        self.steps = 2 * codes.shape[0]

    def smallest_rare(self, thresholds: Numbers, least: Py_ssize_t) -> NDArray[np.int32]:
        """Return the size of the smallest rare itemset of chosen rows, for descending thresholds."""
        # A support below the threshold is rare. Itemsets have ``least`` to m items; no smaller one is rare.
        # The result has the shape (finished rows, thresholds); 0 if no itemset is rare.
        found = np.zeros((len(self.chosen), len(thresholds)), np.int32)
        sizes: int32[:, ::1] = found
        n_done: Py_ssize_t = 0
        with nogil:
            for i in range(self.chosen.shape[0]):
                if self.steps > self.work:
                    break
                self.load(self.chosen[i])
                for t in range(thresholds.shape[0]):
                    sizes[i, t] = self.smallest(thresholds[t], sizes[i, t - 1] if t else least)
                    if not sizes[i, t]:
                        break
                if self.is_late():
                    break
                n_done += 1
        return found[:n_done]

    @cfunc
    @nogil
    @exceptval(check=False)
    def _place_rows(self, free: int64s) -> void:
        """Set the bit of each row with an item, or list the row if the item has no bitmap."""
        item: Py_ssize_t
        own: Py_ssize_t
        for row in range(self.weights.shape[0]):
            for position in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[position]
                own = self.bitmap_of[item]
                if own >= 0:
                    self.bitmaps[own, row // WORD] |= ONE << (row % WORD)
                else:
                    self.tids[free[item]] = row
                    free[item] += 1

    @cfunc
    @nogil
    @exceptval(check=False)
    def is_late(self) -> bint:
        """Return whether one row alone has taken too many steps."""
        return self.steps > 2 * self.work

    @cfunc
    @nogil
    @exceptval(check=False)
    def load(self, row: Py_ssize_t) -> void:
        """Sort the items of a row by their number of rows."""
        self.n = 0
        for i in range(self.offsets[row], self.offsets[row + 1]):
            self.items[self.n] = self.rank[self.codes[i]]
            self.n += self.items[self.n] >= 0
        sort_part(self.items, 0, self.n)
        for i in range(self.n):
            self.items[i] = self.order[self.items[i]]
        self.steps += 4 * self.n + 50

    @cfunc
    @nogil
    @exceptval(check=False)
    def smallest(self, k: int64, least: Py_ssize_t) -> int32:
        """Return the size of the smallest itemset with a support below k; there is none below ``least``."""
        most = min(self.m, self.n)
        if most < least or not self._has_rare(k, most):
            return 0
        for size in range(least, most):
            if self._has_rare(k, size):
                return size
        return most

    @cfunc
    @nogil
    @exceptval(check=False)
    def _has_rare(self, k: int64, size: Py_ssize_t) -> bint:
        """Return whether an itemset of a size is rare; then each smaller rare one is part of such a one."""
        changed = 0  # the first place where the prefix differs from the previous one
        for depth in range(self.n):
            if self.supports[self.items[depth]] < k:
                return True
        if size == 1:
            return False
        for depth in range(size - 1):
            self.prefix[depth] = depth
        while not self.is_late():
            if self._is_rare(k, size - 1, changed):
                return True
            depth = size - 2  # the next prefix in lexicographic order
            while depth >= 0 and self.prefix[depth] == self.n - size + depth:
                depth -= 1
            if depth < 0:
                return False
            changed = depth
            self.prefix[changed] += 1
            for depth in range(changed + 1, size - 1):
                self.prefix[depth] = self.prefix[depth - 1] + 1
        return False

    @cfunc
    @nogil
    @exceptval(check=False)
    def _is_rare(self, k: int64, length: Py_ssize_t, changed: Py_ssize_t) -> bint:
        """Return whether the prefix is rare together with a later item of the row."""
        is_dense: bint = self.bitmap_of[self.items[self.prefix[0]]] >= 0  # then so is each later item
        for depth in range(changed, length):
            if is_dense:
                self._intersect_bitmaps(depth)
            else:
                self._intersect_lists(depth)
        for last in range(self.prefix[length - 1] + 1, self.n):
            if is_dense:
                if self._shares_few_bits(k, length - 1, self.bitmap_of[self.items[last]]):
                    return True
            elif self._shares_few_rows(k, length - 1, self.items[last]):
                return True
        return False

    @cfunc
    @nogil
    @exceptval(check=False)
    def _intersect_bitmaps(self, depth: Py_ssize_t) -> void:
        """Write the bitmap of the prefix up to a depth."""
        own: Py_ssize_t = self.bitmap_of[self.items[self.prefix[depth]]]
        if depth:
            for word in range(self.n_words):
                self.bits[depth, word] = self.bits[depth - 1, word] & self.bitmaps[own, word]
        else:
            self.bits[0, :] = self.bitmaps[own, :]
        self.steps += self.n_words // 2

    @cfunc
    @nogil
    @exceptval(check=False)
    def _shares_few_bits(self, k: int64, depth: Py_ssize_t, own: Py_ssize_t) -> bint:
        """Return whether the rows that a prefix shares with a bitmap have a weight below k."""
        both: uint64
        left = k
        for word in range(self.n_words):
            both = self.bits[depth, word] & self.bitmaps[own, word]
            place = word * WORD
            while both:
                if both & ONE:
                    left -= self.weights[place]
                both >>= ONE
                place += 1
            if left <= 0:
                self.steps += word + 20
                return False
        self.steps += self.n_words + 20
        return True

    @cfunc
    @nogil
    @exceptval(check=False)
    def _intersect_lists(self, depth: Py_ssize_t) -> void:
        """Write the list of the rows of the prefix up to a depth."""
        item: Py_ssize_t = self.items[self.prefix[depth]]
        place = self.starts[item]
        if not depth:
            n = self.starts[item + 1] - place
            for i in range(n):
                self.rows[0, i] = self.tids[place + i]
        else:
            n = 0
            for i in range(self.n_rows[depth - 1]):
                place = self._find(item, self.rows[depth - 1, i], place)
                if place < 0:
                    place = -place - 1
                else:
                    self.rows[depth, n] = self.rows[depth - 1, i]
                    n += 1
            self.steps += 2 * self.n_rows[depth - 1]
        self.n_rows[depth] = n
        self.steps += n + 10

    @cfunc
    @nogil
    @exceptval(check=False)
    def _shares_few_rows(self, k: int64, depth: Py_ssize_t, item: Py_ssize_t) -> bint:
        """Return whether the rows that a prefix shares with an item have a weight below k."""
        left: int64 = k
        place = self.starts[item]
        for i in range(self.n_rows[depth]):
            place = self._find(item, self.rows[depth, i], place)
            if place < 0:
                place = -place - 1
                continue
            left -= self.weights[self.rows[depth, i]]
            if left <= 0:
                self.steps += 2 * i + 10
                return False
        self.steps += 2 * self.n_rows[depth] + 10
        return True

    @cfunc
    @nogil
    @exceptval(check=False)
    def _find(self, item: Py_ssize_t, row: Py_ssize_t, place: Py_ssize_t) -> Py_ssize_t:
        """Return the place of a row in an item's list from ``place`` on; absent: -1 less where to go on."""
        own: Py_ssize_t
        step: Py_ssize_t
        own = self.bitmap_of[item]
        if own >= 0:
            return place if self.bitmaps[own, row // WORD] >> (row % WORD) & ONE else -1 - place
        end, step = self.starts[item + 1], 1
        while place + step < end and self.tids[place + step] <= row:  # in growing steps, then in halves
            place += step
            step *= 2
        while step > 1:
            step //= 2
            if place + step < end and self.tids[place + step] <= row:
                place += step
        return place if place < end and self.tids[place] == row else -1 - place


# --- Rows that contain a rare item or pair


def mark_items(codes: Codes, offsets: Numbers, is_rare: Flags, exposed: int32s) -> None:
    """Set ``exposed[row] = 1`` in rows that contain a rare item."""
    with nogil:
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                if is_rare[codes[position]]:
                    exposed[row] = 1
                    break


def mark_pairs(
    codes: Codes,
    offsets: Numbers,
    rare_starts: Numbers,
    rare_items: Codes,
    exposed: int32s,
) -> None:
    """Set ``exposed[row] = 2`` in rows that contain a rare pair and are not exposed yet."""
    # ``rare_items[rare_starts[a]:rare_starts[a + 1]]`` are the partners b > a of the rare pairs.
    last_row: int64s = np.zeros(len(rare_starts) - 1, np.int64)  # with each item, plus one
    with nogil:
        for row in range(offsets.shape[0] - 1):
            if exposed[row]:
                continue
            for position in range(offsets[row], offsets[row + 1]):
                last_row[codes[position]] = row + 1
            for position in range(offsets[row], offsets[row + 1]):
                if _has_partner(codes[position], row, rare_starts, rare_items, last_row):
                    exposed[row] = 2
                    break


@cfunc
@nogil
@exceptval(check=False)
def _has_partner(
    a: Py_ssize_t,
    row: Py_ssize_t,
    rare_starts: Numbers,
    rare_items: Codes,
    last_row: int64s,
) -> bint:
    """Return whether an item forms a rare pair with another item of the row."""
    for slot in range(rare_starts[a], rare_starts[a + 1]):
        if last_row[rare_items[slot]] == row + 1:
            return True
    return False


# --- Secret items in the rows with an itemset


def likeliest_secrets(
    known: Rows,
    secret_codes: Codes,
    secret_offsets: Numbers,
    n_secrets: int32,
    sets: Codes,
    bounds: Numbers,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Find the secret item in most of the rows with each itemset of known items, and its number of rows."""
    # Itemsets are not empty. Of equal secret items the lowest is found, and -1 if there is none. Secret code
    # ``n_secrets + s`` marks a row in which ``s`` is public; it counts if ``s`` is secret in another row.
    n_sets = bounds.shape[0] - 1
    items, peaks = np.full(n_sets, -1, np.int32), np.zeros(n_sets, np.int64)
    found: int32s = items
    counts: int64s = peaks
    shared: int64s = np.zeros(n_secrets, np.int64)
    met: int32s = np.empty(n_secrets, np.int32)
    row: Py_ssize_t
    item: Py_ssize_t
    n_met: Py_ssize_t
    turn: Py_ssize_t
    n_turns: Py_ssize_t
    n_turns = 2 if np.asarray(secret_codes).max(initial=0) >= n_secrets else 1
    with nogil:
        for i in range(n_sets):
            n_met = 0
            least = rarest(sets, bounds[i], bounds[i + 1], known.starts)
            for turn in range(n_turns):
                for slot in range(known.starts[least], known.starts[least + 1]):
                    row = known.tids[slot]
                    begin = known.offsets[row]
                    if contains(known.codes, begin, known.offsets[row + 1], sets, bounds[i], bounds[i + 1]):
                        for place in range(secret_offsets[row], secret_offsets[row + 1]):
                            item = secret_codes[place] - turn * n_secrets
                            if item < 0 or item >= n_secrets or (turn and shared[item] == 0):
                                continue
                            if shared[item] == 0:
                                met[n_met] = item
                                n_met += 1
                            shared[item] += known.weights[row]
            for place in range(n_met):
                item = met[place]
                if shared[item] > counts[i] or (shared[item] == counts[i] and item < found[i]):
                    counts[i] = shared[item]
                    found[i] = item
                shared[item] = 0
    return items, peaks


# --- Joint rows of several releases


def join_rows(
    codes: Codes,
    offsets: Numbers,
    labels: Codes,
    label_offsets: Numbers,
    starts: Numbers,
    needed: Codes,
    first_known: Codes,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Extend the joint rows of some releases by one release. Items and labels ascend within a row.

    Joint item ``c`` is extended to the joint items from ``starts[c]`` to ``starts[c + 1] - 1``. ``needed``
    has the label of the next release that each one needs; -1 if it needs none. ``first_known`` has the
    extended joint item of each label alone, if some item has no label before; -1 if there is none. These
    items have the lowest codes.
    """
    size: Py_ssize_t
    row_of: int64s = np.full(len(first_known), -1, np.int64)  # last row with each label
    ends = np.zeros(len(offsets), np.int64)
    bounds: int64s = ends
    nothing: int32s = np.empty(0, np.int32)
    with nogil:
        for row in range(offsets.shape[0] - 1):
            size = _join_row(
                row, codes, offsets, labels, label_offsets, starts, needed, first_known, row_of, nothing, -1
            )
            bounds[row + 1] = bounds[row] + size
    joined = np.empty(int(ends[len(ends) - 1]), np.int32)
    found: int32s = joined
    row_of[:] = -1
    with nogil:
        for row in range(offsets.shape[0] - 1):
            size = bounds[row]
            _join_row(
                row, codes, offsets, labels, label_offsets, starts, needed, first_known, row_of, found, size
            )
    return joined, ends


@cfunc
@nogil
@exceptval(check=False)
def _join_row(
    row: Py_ssize_t,
    codes: Codes,
    offsets: Numbers,
    labels: Codes,
    label_offsets: Numbers,
    starts: Numbers,
    needed: Codes,
    first_known: Codes,
    row_of: int64s,
    found: int32s,
    begin: Py_ssize_t,
) -> Py_ssize_t:
    """Write the extended joint items of a row from ``begin`` on, unless it is -1; return their number."""
    size: Py_ssize_t
    size = 0
    for place in range(label_offsets[row], label_offsets[row + 1]):
        row_of[labels[place]] = row
        if first_known[labels[place]] >= 0:
            if begin >= 0:
                found[begin + size] = first_known[labels[place]]
            size += 1
    for place in range(offsets[row], offsets[row + 1]):
        for joint in range(starts[codes[place]], starts[codes[place] + 1]):
            if needed[joint] < 0 or row_of[needed[joint]] == row:
                if begin >= 0:
                    found[begin + size] = joint
                size += 1
    return size
