"""Exposure: rare itemsets of single rows, and known items with a secret item in many of their rows.

A search of single rows costs as much as they do, however many others there are. The rows of an item are a
list or, if the item is frequent, a bitmap. A search reads the rows of the item with the fewest, and stops as
soon as a support is known to reach the threshold.

The file shares no code with ``conflicts``: an audit must not repeat an error of the algorithm that it checks.
"""

from typing import Any

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
    uchar as uint8,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    Rows,
    contains,
    first_bit,
    int32s,
    int64s,
    rarest,
    sort_part,
    uint8s,
)
from cython.cimports.pdanon._kernels.itemset_search import Lists
from numpy.typing import NDArray

__all__ = ["Breaches", "RowSearch", "likeliest_secrets"]

Array = NDArray[Any]

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
            while both and left > 0:
                left -= self.weights[WORD * word + first_bit(both)]
                both &= both - 1
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


# --- Secret items in the rows with an itemset


def likeliest_secrets(
    known: Rows, secret_codes: Codes, secret_offsets: Numbers, n_secrets: int32, sets: Codes, bounds: Numbers
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


# --- Breaches


@final
@cclass
class Breaches:
    """Itemsets of 1 to m known items in at least k rows, with a secret item in too large a share of the rows.

    The upper bound on the share is ``above / below``. Rows are codes and offsets, with the number of items.
    Secret code ``n + s`` marks a row in which the secret item ``s`` of ``n`` is public. It counts only
    together with a row in which ``s`` is secret.

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

    k: int64
    above: int64
    below: int64
    m: Py_ssize_t
    listing: bint
    room: int64s
    halt: Flags
    weights: Numbers
    held: uint8s
    codes: Codes  # known items of each row
    offsets: Numbers
    secret_codes: Codes
    secret_offsets: Numbers
    # By known item, 0 between nodes: support in the node with the current secret item, the maximum over
    # secret items, support in the node, and its unweighted number of rows.
    count: int64s
    most: int64s
    support: int64s
    n_rows: int64s
    names: int32s  # the items tested in the node
    # By secret item: support in the node, and its unweighted number of rows; items with rows; the end of the
    # rows of each, their positions in the node, and the end of its rows where it is secret.
    shared: int64s
    slots: int64s
    ends: int64s
    met: int32s
    members: int32s
    splits: int64s
    n_secrets: int32
    has_public: bint
    # For itemsets of each size: the items that extend it, their number, the start of the rows of each, the
    # current one, and a flag for each item. Then the nodes, one after the other; the first has all rows.
    following: int32[:, ::1]
    n_following: int64s
    cursor: int64s
    begins: int64[:, ::1]
    follows: uint8[:, ::1]
    rows: int32s
    after: int32s
    itemset: int32s
    found: Lists
    start: Py_ssize_t
    stop: Py_ssize_t
    widest: int64

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
        self.n_secrets, self.has_public = n_secrets, bool((secret_codes >= n_secrets).any())
        self.k, self.m, self.above, self.below, self.listing = k, m, above, below, listing
        self.weights, self.held, self.room, self.halt = weights, held, room, halt
        self.codes, self.offsets = codes, offsets
        self.secret_codes, self.secret_offsets = secret_codes, secret_offsets
        self.count, self.most, self.support, self.n_rows = np.zeros((4, n_items), np.int64)
        self.names = np.empty(n_items, np.int32)
        self.shared, self.slots = np.zeros((2, n_secrets), np.int64)
        self.met = np.empty(n_secrets, np.int32)
        self.ends, self.splits = np.zeros((2, n_secrets + 1), np.int64)
        self.members = np.empty(len(secret_codes), np.int32)
        self.following, self.n_following = np.empty((m, n_items), np.int32), np.zeros(m, np.int64)
        self.begins, self.cursor = np.zeros((m, n_items + 1), np.int64), np.zeros(m, np.int64)
        self.follows = np.zeros((m + 1, n_items), np.uint8)
        self.itemset, self.found = np.empty(m, np.int32), Lists()

    def single_items(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Find the breaches of one item."""
        n_rows = self.weights.shape[0]
        self._take_room(n_rows + (len(self.codes) if self.m > 1 else 0))
        np.asarray(self.rows)[:n_rows] = np.arange(n_rows)
        self.follows[0, :] = 1
        self.begins[0, 0] = self.stop = n_rows
        with nogil:
            self._visit(0)
            self.widest = self._widest() if self.m > 2 else 0
        return self.found.arrays()

    def first_items(self) -> NDArray[np.int64]:
        """Return the start of the rows of each item that can begin a larger itemset, and the end of all."""
        # The caller divides the work between threads by these numbers.
        begins = np.asarray(self.begins)[0, : self.n_following[0] + 1]
        return begins - begins[0]

    def larger(
        self, singles: Breaches, begin: Py_ssize_t, end: Py_ssize_t
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Find larger itemsets whose first item is number ``begin..end - 1`` of the search of singles."""
        start = singles.begins[0, begin]
        stop = singles.begins[0, end]
        self._take_room(stop - start + (self.m - 2) * singles.widest)
        with nogil:
            self.rows[: stop - start] = singles.rows[start:stop]
            self.after[: stop - start] = singles.after[start:stop]
            self.follows[1, :] = singles.follows[1]
            for i in range(end - begin):
                self.following[0, i] = singles.following[0, begin + i]
                self.begins[0, i + 1] = singles.begins[0, begin + i + 1] - start
            self.n_following[0], self.cursor[0] = end - begin, -1
            self._run()
        return self.found.arrays()

    def _take_room(self, room: Py_ssize_t) -> None:
        """Allocate the rows of all nodes."""
        self.rows, self.after = np.empty(room, np.int32), np.zeros(room, np.int32)

    @cfunc
    @nogil
    @exceptval(check=False)
    def _widest(self) -> int64:
        """Return the maximum over items of the number of items that follow it in its rows; uses ``most``."""
        widest = 0
        for row in range(self.weights.shape[0]):
            for place in range(self.offsets[row], self.offsets[row + 1]):
                item = self.codes[place]
                self.most[item] += self.offsets[row + 1] - place - 1
                widest = max(widest, self.most[item])
        self.most[:] = 0
        return widest

    @cfunc
    @nogil
    @exceptval(-1)
    def _run(self) -> int32:
        """Visit all itemsets that begin with one of the first items."""
        size = self._next(0)
        while size >= 0 and not self.halt[0] and self.room[0] >= 0:
            self.itemset[size] = self.following[size, self.cursor[size]]
            size += 1
            self._visit(size)
            size = self._next(size if size + 1 < self.m else size - 1)
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _visit(self, size: Py_ssize_t) -> int32:
        """Test all extensions of the current itemset of ``size`` items."""
        n = self._count_shares(self._group(), size)
        n_left, n_broken = self._judge(n)
        if n_broken and not self.listing:
            self._mark()
        for i in range(n_left, n_left + n_broken if self.listing else 0):
            self.itemset[size] = self.names[i]
            self.found.add(self.itemset, size + 1, self.support[self.names[i]])
            self.room[0] -= 1  # threads share it without a lock: a lost update only delays the stop
        if size + 1 < self.m:
            self._divide(n_left, size)
        for i in range(n):
            item = self.names[i]
            self.most[item] = self.support[item] = self.n_rows[item] = 0
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _group(self) -> Py_ssize_t:
        """List the rows of the node by secret item; return the number of secret items listed."""
        # A secret item is left out if it has too few rows for a breach: the itemset has at least k.
        n_met: Py_ssize_t = 0
        n_blocks: Py_ssize_t = 0
        row: Py_ssize_t
        for i in range(self.start, self.stop):
            row = self.rows[i]
            for place in range(self.secret_offsets[row], self.secret_offsets[row + 1]):
                item = self.secret_codes[place]
                if item >= self.n_secrets:
                    break
                if self.slots[item] == 0:
                    self.met[n_met] = item
                    n_met += 1
                self.slots[item] += 1
                self.shared[item] += self.weights[row]
        for i in range(n_met):  # from here on the number of rows in which the item is secret
            self.splits[i] = self.slots[self.met[i]]
        if self.has_public:
            self._add_public()
        for i in range(n_met):
            item = self.met[i]
            if self.shared[item] * self.below > self.above * self.k:
                self.ends[n_blocks + 1] = self.ends[n_blocks] + self.slots[item]
                self.splits[n_blocks] = self.ends[n_blocks] + self.splits[i]
                self.slots[item] = self.ends[n_blocks]
                n_blocks += 1
            else:
                self.slots[item] = -1
        if n_blocks:
            self._place(False)
            if self.has_public:
                self._place(True)
        for i in range(n_met):
            self.slots[self.met[i]] = self.shared[self.met[i]] = 0
        return n_blocks

    @cfunc
    @nogil
    @exceptval(check=False)
    def _add_public(self) -> void:
        """Count the rows of the node in which a secret item of other rows is public."""
        row: Py_ssize_t
        item: Py_ssize_t
        for i in range(self.start, self.stop):
            row = self.rows[i]
            for place in range(self.secret_offsets[row], self.secret_offsets[row + 1]):
                item = self.secret_codes[place] - self.n_secrets
                if item >= 0 and self.shared[item]:
                    self.slots[item] += 1
                    self.shared[item] += self.weights[row]

    @cfunc
    @nogil
    @exceptval(check=False)
    def _place(self, public: bint) -> void:
        """List the rows of the node in which each secret item is secret, or those in which it is public."""
        row: Py_ssize_t
        item: Py_ssize_t
        for i in range(self.start, self.stop):
            row = self.rows[i]
            for place in range(self.secret_offsets[row], self.secret_offsets[row + 1]):
                item = self.secret_codes[place]
                if (item >= self.n_secrets) == public:
                    item -= self.n_secrets if public else 0
                    if self.shared[item] and self.slots[item] >= 0:
                        self.members[self.slots[item]] = i
                        self.slots[item] += 1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _count_shares(self, n_blocks: Py_ssize_t, size: Py_ssize_t) -> Py_ssize_t:
        """List the items that can breach, as their rows share an item often enough; return their number."""
        # ``most`` has the rows with the most frequent secret item. A row in which the secret item is public
        # counts after one in which it is secret.
        n: Py_ssize_t = 0
        row: Py_ssize_t
        member: Py_ssize_t
        for block in range(n_blocks):
            for i in range(self.ends[block], self.ends[block + 1]):
                member = self.members[i]
                row = self.rows[member]
                for place in range(self.offsets[row] + self.after[member], self.offsets[row + 1]):
                    item = self.codes[place]
                    if self.follows[size, item] and (i < self.splits[block] or self.count[item]):
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _judge(self, n: Py_ssize_t) -> tuple[Py_ssize_t, Py_ssize_t]:
        """Count the rows of the n listed items, and move those that breach behind those that do not."""
        # ``most`` becomes -1 for an item that breaches, and 0 for an item in fewer than k rows.
        n_left: Py_ssize_t = 0
        n_enough: Py_ssize_t = 0
        row: Py_ssize_t
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _mark(self) -> void:
        """Mark the rows that contain an item that breaches."""
        row: Py_ssize_t
        for i in range(self.start, self.stop):
            row = self.rows[i]
            if not self.held[row]:
                for place in range(self.offsets[row] + self.after[i], self.offsets[row + 1]):
                    if self.most[self.codes[place]] < 0:
                        self.held[row] = True
                        break

    @cfunc
    @nogil
    @exceptval(check=False)
    def _divide(self, n: Py_ssize_t, size: Py_ssize_t) -> void:
        """Extend the itemset by the first n listed items; write their rows after those of its prefixes."""
        free = self.n_rows  # from here on the position of the next row of each item
        row: Py_ssize_t
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
                    self.after[free[item]] = place + 1 - self.offsets[row]
                    free[item] += 1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _next(self, size: Py_ssize_t) -> Py_ssize_t:
        """Select the next itemset with an unmarked row, and its rows; return its prefix's length, or -1."""
        # The prefix is the current one of ``size`` items, or a shorter one.
        while size >= 0:
            self.cursor[size] += 1
            if self.cursor[size] == self.n_following[size]:
                size -= 1
                continue
            now = self.cursor[size]
            self.start, self.stop = self.begins[size, now], self.begins[size, now + 1]
            for i in range(self.start, self.stop):
                if not self.held[self.rows[i]]:
                    return size
        return size
