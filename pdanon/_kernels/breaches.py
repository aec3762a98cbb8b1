"""Breaches of diversity and coherence: known items with a sensitive item in too many of their rows.

It shares no code with ``conflicts``: an audit must not repeat an error of the algorithm that it checks.
"""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cclass,
    cfunc,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    uchar as uint8,
    void,
)
from cython.cimports.pdanon._kernels.counting import Codes, Flags, Numbers, grown, int32s, int64s, uint8s
from numpy.typing import NDArray

__all__ = ["Breaches"]

Array = NDArray[Any]


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
    bounds: int64s
    supports: int64s
    begins: int64[:, ::1]
    follows: uint8[:, ::1]
    rows: int32s
    after: int32s
    itemset: int32s
    found: int32s
    start: Py_ssize_t
    stop: Py_ssize_t
    n_found: Py_ssize_t
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
        with nogil:
            self._visit(0)
            self.widest = self._widest() if self.m > 2 else 0
        return self._result()

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
        return self._result()

    def _take_room(self, room: Py_ssize_t) -> None:
        """Allocate the rows of all nodes."""
        self.rows, self.after = np.empty(room, np.int32), np.zeros(room, np.int32)

    def _result(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Return the itemsets found as codes, bounds and supports."""
        n = self.n_found
        found, bounds = np.asarray(self.found), np.asarray(self.bounds)
        return found[: self.bounds[n]], bounds[: n + 1], np.asarray(self.supports)[:n]

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
            self._list(size + 1)
        if size + 1 < self.m:
            self._divide(n_left, size)
        for i in range(n):
            item = self.names[i]
            self.most[item] = self.support[item] = self.n_rows[item] = 0
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _list(self, size: Py_ssize_t) -> int32:
        """Append the current itemset of ``size`` items to those found."""
        n = self.n_found
        begin = self.bounds[n]
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
