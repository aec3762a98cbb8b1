"""Depth-first searches for itemsets, rare and minimal ones, and rows with rare ones.

Rows are as in ``counting``: CSR with weights, and the transpose.
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
    size_t,
    uint as uint32,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    Rows,
    count_local_pairs,
    grown,
    int32s,
    int64s,
    sort_part,
    uint8s,
)
from numpy.typing import NDArray

__all__ = ["Lists", "RareSearch", "mark_items", "mark_pairs", "minimal"]


# --- Itemsets found


@final
@cclass
class Lists:
    """Lists of codes in CSR form, with a number each: the itemsets that a search finds."""

    def __init__(self) -> None:
        self.n, self.codes = 0, np.empty(256, np.int32)
        self.bounds, self.numbers = np.zeros((2, 128), np.int64)

    def add(self, codes: int32s, size: Py_ssize_t, number: int64) -> int32:
        """Append the first codes of an array."""
        n = self.n
        begin = self.bounds[n]
        if n + 2 > self.bounds.shape[0]:
            self.bounds = grown(self.bounds, n + 1, 2 * n + 2)
            self.numbers = grown(self.numbers, n, 2 * n + 2)
        if begin + size > self.codes.shape[0]:
            self.codes = grown(self.codes, begin, 2 * (begin + size))
        for i in range(size):
            self.codes[begin + i] = codes[i]
        self.bounds[n + 1], self.numbers[n] = begin + size, number
        self.n = n + 1
        return 0

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Return the codes, where each list begins, and the numbers."""
        codes, bounds = np.asarray(self.codes), np.asarray(self.bounds)
        return codes[: bounds[self.n]], bounds[: self.n + 1], np.asarray(self.numbers)[: self.n]


# --- Nodes of a search, each with the rows that contain its prefix


@final
@cclass
class Nodes:
    """Room for one node of each depth, with the largest numbers of occurrences, rows and names in a node.

    A node has the rows of its prefix, reduced to the items that extend the prefix, which have local numbers.
    Row i is ``items[depth, bounds[depth, i]:bounds[depth, i + 1]]``, from row ``sources[depth, i]`` of all
    rows. There are ``n_rows[depth]`` rows and ``n_names[depth]`` items; local number j is item ``names[depth,
    j]``, and number ``origins[depth, j]`` of the node above. ``counts[depth]`` is the matrix of the supports
    of pairs of local items.
    """

    def __init__(
        self, depths: Py_ssize_t, occurrences: Py_ssize_t, rows: Py_ssize_t, names: Py_ssize_t
    ) -> None:
        # One place more: an item that is left out is written, and then overwritten.
        self.items = np.empty((depths, occurrences + 1), np.uint32)
        self.bounds = np.zeros((depths, rows + 1), np.int64)
        self.sources = np.empty((depths, rows), np.int32)
        self.n_rows = np.zeros(depths, np.int64)
        self.names = np.empty((depths, names), np.int32)
        self.origins = np.empty((depths, names), np.int32)
        self.n_names = np.zeros(depths, np.int64)
        self.counts = np.empty((depths, names * names), np.int32)

    def count_pairs(self, depth: Py_ssize_t, weights: Numbers) -> void:
        """Count the pairs of local items of a node."""
        count_local_pairs(
            self.counts[depth],
            self.n_names[depth],
            self.items[depth],
            self.bounds[depth],
            self.n_rows[depth],
            self.sources[depth],
            weights,
        )

    def fill_child(self, depth: Py_ssize_t, b: Py_ssize_t, floor: int64, keep: int32s) -> bint:
        """Write the child whose prefix is extended by local item b; return whether it has rows."""
        # An item extends the child if its pair with b has at least support ``floor``. ``keep`` is -1 before
        # and after.
        d = self.n_names[depth]
        n: int32 = 0
        for c in range(b + 1, d):
            if self.counts[depth, b * d + c] >= floor:
                keep[c] = n
                self.names[depth + 1, n] = self.names[depth, c]
                self.origins[depth + 1, n] = c
                n += 1
        self.n_names[depth + 1] = n
        self._fill_rows(depth, b, keep)
        for c in range(b + 1, d):
            keep[c] = -1
        return self.n_rows[depth + 1] > 0

    def _fill_rows(self, depth: Py_ssize_t, b: Py_ssize_t, keep: int32s) -> void:
        """Write the rows of a child: those with local item b and at least two of the kept items."""
        items = self.items[depth]
        found = self.items[depth + 1]
        item: Py_ssize_t
        begin: Py_ssize_t
        at: Py_ssize_t = 0
        n: Py_ssize_t = 0
        for i in range(self.n_rows[depth]):
            begin = at
            inside = False
            for p in range(self.bounds[depth, i], self.bounds[depth, i + 1]):
                item = items[p]
                if item == b:
                    inside = True
                elif item > b:
                    if not inside:
                        break
                    found[at] = keep[item]
                    at += keep[item] >= 0
            if at - begin < 2:
                at = begin
                continue
            self.sources[depth + 1, n] = self.sources[depth, i]
            n += 1
            self.bounds[depth + 1, n] = at
        self.n_rows[depth + 1] = n


# --- Rare itemsets


@final
@cclass
class RareSearch:
    """Search for minimal rare itemsets of size 3..m whose first item is in ``begin..end - 1``.

    The search is depth first over prefixes in code order. A node has the rows of its prefix, reduced to the
    items that can extend it (``pair_items``, ascending for each item), and counts all their pairs in one
    dense matrix. Its children are the prefixes with one item more. Only cliques of ``pair_items``, the pairs
    with support k or more, are visited.

    Itemsets with support ``least`` to ``largest`` are listed in ``original`` codes. If ``counts`` has
    entries, they are only counted by support.

    Without ``original``, none is listed, and ``exposed[row]`` (0: none so far) becomes the size of the
    smallest rare itemset in the row. Items and nodes that cannot lower an entry are skipped. Rows with a rare
    item or pair must be exposed already.

    The search stops when more than ``room[0]`` itemsets are listed, or when ``halt[0]`` is set.
    """

    begin: Py_ssize_t
    end: Py_ssize_t
    k: int64
    m: Py_ssize_t
    listing: bint
    rows: Rows
    pair_starts: Numbers
    pair_items: Codes
    original: Codes
    exposed: int32s
    least: int64
    largest: int64
    counts: int64s
    room: int64s
    halt: Flags
    nodes: Nodes
    cursor: int64s  # the next child of each node
    prefix: int32s
    local: int32s  # local number of each item, -1 between two nodes
    wanted: uint8s
    itemset: int32s  # the prefix in ``original`` codes
    found: Lists
    candidates: int32s  # local pairs of a node that may be listed
    others: int32s  # supports of pairs
    here: int32s  # items of a row

    def __init__(
        self,
        k: int64,
        m: Py_ssize_t,
        begin: Py_ssize_t,
        end: Py_ssize_t,
        rows: Rows,
        pair_starts: Numbers,
        pair_items: Codes,
        original: Codes,
        exposed: int32s,
        least: int64,
        largest: int64,
        counts: int64s,
        room: int64s,
        halt: Flags,
    ) -> None:
        nodes = _allocate_nodes(m - 2, rows, pair_starts, begin, end)
        self.begin, self.end = begin, end
        self.least, self.largest, self.counts = least, largest, counts
        self.room, self.halt = room, halt
        self.k, self.m, self.listing = k, m, len(original) > 0
        self.rows, self.pair_starts, self.pair_items = rows, pair_starts, pair_items
        self.original, self.exposed = original, exposed
        n_items = len(pair_starts) - 1
        self.nodes = nodes
        self.cursor = np.zeros(m - 2, np.int64)
        self.prefix, self.itemset = np.empty((2, m), np.int32)
        self.local, self.wanted = np.full(n_items, -1, np.int32), np.ones(n_items, np.bool_)
        self.found = Lists()
        n_names = nodes.names.shape[1]
        tests_subsets = self.listing and m > 3
        self.candidates = np.empty(256, np.int32)
        self.others = np.empty(n_names * n_names if tests_subsets else 0, np.int32)
        self.here = np.empty(n_names, np.int32)

    def itemsets(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Search, and return the itemsets as CSR with supports, each ascending."""
        with nogil:
            self._run()
        return self.found.arrays()

    @cfunc
    @nogil
    @exceptval(-1)
    def _run(self) -> int32:
        """Search the prefixes with each first item."""
        for a in range(self.begin, self.end):
            if self.halt[0]:
                break
            if self.pair_starts[a + 1] - self.pair_starts[a] >= 2:
                self.prefix[0] = a
                if not self.listing:
                    self._mark_wanted(a)
                self._fill_root(a)
                self._descend()
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _descend(self) -> int32:
        """Visit the node of the first item and all nodes below it."""
        depth: Py_ssize_t = 0
        b: Py_ssize_t
        arrived: bint = True
        while depth >= 0 and not self.halt[0] and self.room[0] >= 0:
            if arrived:
                self.cursor[depth] = 0
                arrived = self._visit(depth)
                if not arrived:
                    depth -= 1
                    continue
            b = self.cursor[depth]
            arrived = False
            if depth + 3 == self.m or b + 2 >= self.nodes.n_names[depth]:
                depth -= 1
                continue
            self.prefix[depth + 1] = self.nodes.names[depth, b]
            self.cursor[depth] = b + 1
            arrived = self.nodes.fill_child(depth, b, self.k, self.local)
            depth += arrived
        return 0

    @cfunc
    @nogil
    @exceptval(-1)
    def _visit(self, depth: Py_ssize_t) -> int32:
        """List or expose the rare pairs of a node; return whether to visit the nodes below it."""
        length: int32 = depth + 3
        if not self.listing and not self._has_open_row(depth, length):
            return 0
        self.nodes.count_pairs(depth, self.rows.weights)
        if self.listing:
            self._list(depth, length)
        else:
            self._expose(depth, length)
        return 1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _mark_wanted(self, a: Py_ssize_t) -> void:
        """Mark the partners of a that could expose a row as part of a triple with a."""
        row: Py_ssize_t
        self.wanted[:] = False
        for slot in range(self.pair_starts[a], self.pair_starts[a + 1]):
            self.local[self.pair_items[slot]] = 0
        for slot in range(self.rows.starts[a], self.rows.starts[a + 1]):
            row = self.rows.tids[slot]
            if self.exposed[row] and self.exposed[row] <= 3:
                continue
            first = -1
            for position in range(self.rows.positions[slot] + 1, self.rows.offsets[row + 1]):
                item = self.rows.codes[position]
                if self.local[item] == 0:
                    if first >= 0:
                        self.wanted[first] = True
                        self.wanted[item] = True
                    first = item
        for slot in range(self.pair_starts[a], self.pair_starts[a + 1]):
            self.local[self.pair_items[slot]] = -1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _fill_root(self, a: Py_ssize_t) -> void:
        """Write the node of the prefix (a,): its rows, reduced to the wanted partners of a."""
        begin: Py_ssize_t
        at: Py_ssize_t = 0
        n: int32 = 0
        for slot in range(self.pair_starts[a], self.pair_starts[a + 1]):
            if self.wanted[self.pair_items[slot]]:
                self.nodes.names[0, n] = self.pair_items[slot]
                self.local[self.pair_items[slot]] = n
                n += 1
        self.nodes.n_names[0] = n
        n = 0
        for slot in range(self.rows.starts[a], self.rows.starts[a + 1]):
            begin = at
            for position in range(self.rows.positions[slot] + 1, self.rows.offsets[self.rows.tids[slot] + 1]):
                item = self.local[self.rows.codes[position]]
                self.nodes.items[0, at] = item
                at += item >= 0
            if at - begin < 2:
                at = begin
                continue
            self.nodes.sources[0, n] = self.rows.tids[slot]
            n += 1
            self.nodes.bounds[0, n] = at
        self.nodes.n_rows[0] = n
        for i in range(self.nodes.n_names[0]):
            self.local[self.nodes.names[0, i]] = -1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _has_open_row(self, depth: Py_ssize_t, length: int32) -> bint:
        """Return whether a rare itemset of this length would lower the entry of any row of the node."""
        for i in range(self.nodes.n_rows[depth]):
            if self._is_open(self.nodes.sources[depth, i], length):
                return True
        return False

    @cfunc
    @nogil
    @exceptval(check=False)
    def _is_open(self, row: Py_ssize_t, length: int32) -> bint:
        """Return whether a rare itemset of this length would lower the entry of a row."""
        return self.exposed[row] == 0 or self.exposed[row] > length

    @cfunc
    @nogil
    @exceptval(check=False)
    def _expose(self, depth: Py_ssize_t, length: int32) -> void:
        """Write the length to the open rows that contain a rare itemset of the node."""
        row: Py_ssize_t
        d = self.nodes.n_names[depth]
        items = self.nodes.items[depth]
        count = self.nodes.counts[depth]
        for i in range(self.nodes.n_rows[depth]):
            row = self.nodes.sources[depth, i]
            if self._is_open(row, length):
                start, stop = self.nodes.bounds[depth, i], self.nodes.bounds[depth, i + 1]
                if _contains_rare_pair(count, d, self.k, items, start, stop):
                    self.exposed[row] = length

    @cfunc
    @nogil
    @exceptval(-1)
    def _list(self, depth: Py_ssize_t, length: Py_ssize_t) -> int32:
        """List the pairs of a node that have a support to list together with the prefix."""
        # The pair itself must be in ``pair_items``, and no subset without one item of the prefix may be rare.
        # The subsets without an item of the pair are not.
        i: int32
        d = self.nodes.n_names[depth]
        j: Py_ssize_t
        count: int64
        n = 0
        for i in range(d):
            self.local[self.nodes.names[depth, i]] = i
        for i in range(d):
            name: Py_ssize_t = self.nodes.names[depth, i]
            for slot in range(self.pair_starts[name], self.pair_starts[name + 1]):
                j = self.local[self.pair_items[slot]]
                if j >= 0 and self._may_list(depth, i, j):
                    if n + 2 > self.candidates.shape[0]:
                        self.candidates = grown(self.candidates, n, 2 * n + 2)
                    self.candidates[n], self.candidates[n + 1] = i, j
                    n += 2
        for omitted in range(depth):
            n = self._drop_with_rare_subset(n, depth, omitted)
        for i in range(d):
            self.local[self.nodes.names[depth, i]] = -1
        for slot in range(0, n, 2):
            count = self.nodes.counts[depth, self.candidates[slot] * d + self.candidates[slot + 1]]
            if self.counts.shape[0]:
                self.counts[count] += 1
                continue
            self.prefix[length - 2] = self.nodes.names[depth, self.candidates[slot]]
            self.prefix[length - 1] = self.nodes.names[depth, self.candidates[slot + 1]]
            self._append(length, count)
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _may_list(self, depth: Py_ssize_t, i: Py_ssize_t, j: Py_ssize_t) -> bint:
        """Return whether a pair of a node has a support to list, and is not rare in the node above."""
        if not self.least <= self.nodes.counts[depth, i * self.nodes.n_names[depth] + j] <= self.largest:
            return False
        if depth == 0:
            return True
        one: Py_ssize_t = self.nodes.origins[depth, i]
        other: Py_ssize_t = self.nodes.origins[depth, j]
        return self.nodes.counts[depth - 1, one * self.nodes.n_names[depth - 1] + other] >= self.k

    @cfunc
    @nogil
    @exceptval(check=False)
    def _drop_with_rare_subset(self, n: Py_ssize_t, depth: Py_ssize_t, omitted: Py_ssize_t) -> Py_ssize_t:
        """Drop those of n candidates rare with the prefix without one item; return the number left."""
        kept: Py_ssize_t
        d = self.nodes.n_names[depth]
        self.others[: d * d if n else 0] = 0
        if n:
            self._count_without(depth, omitted)
        kept = 0
        for slot in range(0, n, 2):
            if self.others[self.candidates[slot] * d + self.candidates[slot + 1]] >= self.k:
                self.candidates[kept] = self.candidates[slot]
                self.candidates[kept + 1] = self.candidates[slot + 1]
                kept += 2
        return kept

    @cfunc
    @nogil
    @exceptval(check=False)
    def _count_without(self, depth: Py_ssize_t, omitted: Py_ssize_t) -> void:
        """Count the pairs of a node in the rows that contain its prefix without one item."""
        row: Py_ssize_t
        first: Py_ssize_t = 1 if omitted == 0 else 0
        after: Py_ssize_t = 2 if omitted <= 1 else 1
        item: Py_ssize_t = self.prefix[first]
        for slot in range(self.rows.starts[item], self.rows.starts[item + 1]):
            row = self.rows.tids[slot]
            n: Py_ssize_t = 0
            place: Py_ssize_t = after  # of the next item of the prefix that the row must contain
            for position in range(self.rows.positions[slot] + 1, self.rows.offsets[row + 1]):
                code: Py_ssize_t = self.rows.codes[position]
                if place <= depth and code >= self.prefix[place]:
                    if code > self.prefix[place]:
                        break
                    place += 2 if place + 1 == omitted else 1
                elif self.local[code] >= 0:
                    self.here[n] = self.local[code]
                    n += 1
            if place > depth:
                self._add_pairs(n, depth, self.rows.weights[row])

    @cfunc
    @nogil
    @exceptval(check=False)
    def _add_pairs(self, n: Py_ssize_t, depth: Py_ssize_t, weight: int64) -> void:
        """Add the pairs of the first n local items in ``here``, ascending, to ``others``."""
        for p in range(n):
            line = self.here[p] * self.nodes.n_names[depth]
            for q in range(p + 1, n):
                self.others[line + self.here[q]] += weight

    @cfunc
    @nogil
    @exceptval(-1)
    def _append(self, length: Py_ssize_t, count: int64) -> int32:
        """Append the prefix to the itemsets found."""
        for i in range(length):
            self.itemset[i] = self.original[self.prefix[i]]
        sort_part(self.itemset, 0, length)
        self.found.add(self.itemset, length, count)
        self.room[0] -= 1  # threads share it without a lock: a lost update only delays the stop
        return 0


@cfunc
def _allocate_nodes(
    depths: Py_ssize_t, rows: Rows, pair_starts: Numbers, begin: Py_ssize_t, end: Py_ssize_t
) -> Nodes:
    """Allocate one node of each depth, large enough for prefixes that begin in ``begin..end - 1``."""
    widest = 0
    tallest = 0
    broadest = 0
    with nogil:
        for item in range(begin, end):
            width = 0
            for slot in range(rows.starts[item], rows.starts[item + 1]):
                width += rows.offsets[rows.tids[slot] + 1] - rows.positions[slot] - 1
            widest = max(widest, width)
            tallest = max(tallest, rows.starts[item + 1] - rows.starts[item])
            broadest = max(broadest, pair_starts[item + 1] - pair_starts[item])
    return Nodes(depths, widest, tallest, broadest)


@cfunc
@nogil
@exceptval(check=False)
def _contains_rare_pair(
    count: int32s, d: size_t, k: int64, items: uint32[::1], start: Py_ssize_t, stop: Py_ssize_t
) -> bint:
    """Return whether a row contains a pair with support below k."""
    for p in range(start, stop):
        line = items[p] * d
        for q in range(p + 1, stop):
            if count[line + items[q]] < k:
                return True
    return False


# --- Minimal itemsets: no proper subset is among the given ones


def minimal(codes: Codes, offsets: Numbers) -> NDArray[np.bool_]:
    """Return whether each itemset has no proper subset among the given itemsets."""
    # The itemsets are ordered by size, then by codes.
    n = offsets.shape[0] - 1
    longest = offsets[n] - offsets[n - 1] if n else 0
    ends: int64s = np.zeros(longest + 1, np.int64)  # end of the itemsets of each size
    path: int64[:, ::1] = np.zeros((3, longest), np.int64)
    result = np.ones(n, np.bool_)
    kept: uint8s = result
    with nogil:
        for i in range(n):
            length = offsets[i + 1] - offsets[i]
            for size in range(1, length):
                if kept[i]:
                    kept[i] = not _has_subset(i, ends[size - 1], ends[size], size, codes, offsets, path)
            for size in range(length, longest + 1):
                ends[size] = i + 1
    return result


@cfunc
@nogil
@exceptval(check=False)
def _has_subset(
    itemset: Py_ssize_t,
    start: Py_ssize_t,
    stop: Py_ssize_t,
    size: Py_ssize_t,
    codes: Codes,
    offsets: Numbers,
    path: int64[:, ::1],
) -> bint:
    """Return whether an itemset has a subset of ``size`` items among the itemsets ``start..stop - 1``."""
    # A depth-first search in the sorted list. ``path`` has three entries for each depth: the position of the
    # current item, and the first and last itemset with the current prefix.
    length = offsets[itemset + 1] - offsets[itemset]
    depth: Py_ssize_t = 0
    path[0, 0], path[1, 0], path[2, 0] = -1, start, stop
    while depth >= 0:
        path[0, depth] += 1
        if path[0, depth] + size - depth > length:
            depth -= 1
            continue
        item: int64 = codes[offsets[itemset] + path[0, depth]]
        first = _lower_bound(item, depth, path[1, depth], path[2, depth], codes, offsets)
        after = _lower_bound(item + 1, depth, first, path[2, depth], codes, offsets)
        if first < after and depth + 1 == size:
            return True
        if first < after:
            depth += 1
            path[0, depth], path[1, depth], path[2, depth] = path[0, depth - 1], first, after
    return False


@cfunc
@inline
@nogil
@exceptval(check=False)
def _lower_bound(
    item: int64, depth: Py_ssize_t, start: Py_ssize_t, stop: Py_ssize_t, codes: Codes, offsets: Numbers
) -> Py_ssize_t:
    """Find the first itemset in ``start..stop - 1`` whose item at a depth is at least ``item``."""
    # A binary search: all these itemsets have the same items before that depth.
    while start < stop:
        middle = (start + stop) // 2
        if codes[offsets[middle] + depth] < item:
            start = middle + 1
        else:
            stop = middle
    return start


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
    codes: Codes, offsets: Numbers, rare_starts: Numbers, rare_items: Codes, exposed: int32s
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
    a: Py_ssize_t, row: Py_ssize_t, rare_starts: Numbers, rare_items: Codes, last_row: int64s
) -> bint:
    """Return whether an item forms a rare pair with another item of the row."""
    for slot in range(rare_starts[a], rare_starts[a + 1]):
        if last_row[rare_items[slot]] == row + 1:
            return True
    return False
