"""Kernels that find rare itemsets: lists of them, and the rows that hold one.

Rows are as in `counting`: CSR with a weight each, and its transpose.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag, Number, grown
from cython.cimports.pdanon._kernels.counting import Rows, support
from cython.cimports.pdanon._kernels.nodes import Nodes
from numpy.typing import NDArray

__all__ = ["mark_items", "mark_pairs", "rare_itemsets"]


def mark_items(codes: Code[::1], offsets: Number[::1], is_rare: Flag[::1], exposed: cython.int[::1]) -> None:
    """Set ``exposed[row] = 1`` in rows that hold a rare item."""
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    with cython.nogil:
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                if is_rare[codes[position]]:
                    exposed[row] = 1
                    break


def mark_pairs(
    codes: Code[::1],
    offsets: Number[::1],
    rare_starts: Number[::1],
    rare_items: Code[::1],
    exposed: cython.int[::1],
) -> None:
    """Set ``exposed[row] = 2`` in rows that hold a rare pair and are not exposed yet.

    ``rare_items[rare_starts[a]:rare_starts[a + 1]]`` are the partners b > a of the rare pairs.
    """
    last_row: cython.longlong[::1] = np.zeros(len(rare_starts) - 1, np.int64)  # with each item, plus one
    row: cython.Py_ssize_t
    position: cython.Py_ssize_t
    with cython.nogil:
        for row in range(offsets.shape[0] - 1):
            if exposed[row]:
                continue
            for position in range(offsets[row], offsets[row + 1]):
                last_row[codes[position]] = row + 1
            for position in range(offsets[row], offsets[row + 1]):
                if _has_partner(codes[position], row, rare_starts, rare_items, last_row):
                    exposed[row] = 2
                    break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _has_partner(
    a: cython.Py_ssize_t,
    row: cython.Py_ssize_t,
    rare_starts: Number[::1],
    rare_items: Code[::1],
    last_row: cython.longlong[::1],
) -> cython.bint:
    """Whether an item is rare together with another one of the row."""
    slot: cython.Py_ssize_t
    for slot in range(rare_starts[a], rare_starts[a + 1]):
        if last_row[rare_items[slot]] == row + 1:
            return True
    return False


def rare_itemsets(
    k: cython.longlong,
    m: cython.Py_ssize_t,
    minimal: cython.bint,
    listing: cython.bint,
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
    rows: Rows,
    pair_starts: Number[::1],
    pair_items: Code[::1],
    original: Code[::1],
    exposed: cython.int[::1],
    least: cython.longlong,
    largest: cython.longlong,
    counts: cython.longlong[::1],
    room: cython.longlong[::1],
    halt: Flag[::1],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Itemsets of size 3..m that occur with support below k, as CSR and their supports.

    Only those whose first item is in ``begin..end - 1``: a part of the search.

    Depth-first over prefixes in code order. A node holds the rows of its prefix, cut down to the items
    that can extend it (``pair_items``, ascending for each item), and counts all pairs of those in one dense
    matrix; its children are the prefixes one item longer. Only cliques of ``pair_items`` are visited: with
    the pairs of support >= k, ``minimal`` itemsets come out; with all pairs that occur, all rare ones.
    With ``listing`` those with a support of ``least`` to ``largest`` are written in ``original`` codes,
    ascending; or only counted by support, if there is room for ``counts``. Without, ``exposed[row]`` (0: none
    so far) receives the size of the smallest rare itemset that the row holds, and items and nodes that cannot
    expose a row by a smaller one than is known are skipped; rows that hold a rare item or pair must be
    exposed already. It ends early when more than ``room[0]`` are listed, or when ``halt[0]`` is set.
    """
    nodes = _room_for_nodes(m - 2, rows, pair_starts, begin, end)
    search = _Search(k, m, minimal, listing, rows, pair_starts, pair_items, original, exposed, nodes)
    search.least, search.largest, search.counts = least, largest, counts
    search.room, search.halt = room, halt
    with cython.nogil:
        search.run(begin, end)
    found = np.asarray(search.found)[: search.size]
    starts, supports = np.asarray(search.found_starts), np.asarray(search.found_supports)
    return found, starts[: search.n_found + 1], supports[: search.n_found]


@cython.final
@cython.cclass
class _Search:
    """A search for rare itemsets: what is asked, the prefix where it is, and what was found."""

    k: cython.longlong
    m: cython.Py_ssize_t
    minimal: cython.bint
    listing: cython.bint
    rows: Rows
    pair_starts: Number[::1]
    pair_items: Code[::1]
    original: Code[::1]
    exposed: cython.int[::1]
    least: cython.longlong
    largest: cython.longlong
    counts: cython.longlong[::1]
    room: cython.longlong[::1]
    halt: Flag[::1]
    nodes: Nodes
    cursor: cython.longlong[::1]  # which child of each node is next
    prefix: cython.int[::1]
    subset: cython.int[::1]
    local: cython.int[::1]  # local number of each item, -1 between two uses
    wanted: cython.uchar[::1]
    found: cython.int[::1]
    found_starts: cython.longlong[::1]
    found_supports: cython.longlong[::1]
    n_found: cython.Py_ssize_t
    size: cython.Py_ssize_t

    def __init__(
        self,
        k: cython.longlong,
        m: cython.Py_ssize_t,
        minimal: cython.bint,
        listing: cython.bint,
        rows: Rows,
        pair_starts: Number[::1],
        pair_items: Code[::1],
        original: Code[::1],
        exposed: cython.int[::1],
        nodes: Nodes,
    ) -> None:
        self.k, self.m, self.minimal, self.listing = k, m, minimal, listing
        self.rows, self.pair_starts, self.pair_items = rows, pair_starts, pair_items
        self.original, self.exposed = original, exposed
        n_items = len(pair_starts) - 1
        self.nodes = nodes
        self.cursor = np.zeros(m - 2, np.int64)
        self.prefix, self.subset = np.empty(m, np.int32), np.empty(m, np.int32)
        self.local, self.wanted = np.full(n_items, -1, np.int32), np.ones(n_items, np.bool_)
        self.found = np.empty(256, np.int32)
        self.found_starts, self.found_supports = np.zeros(128, np.int64), np.empty(128, np.int64)
        self.n_found, self.size = 0, 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def run(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.int:
        """Search prefixes whose first item is one of ``begin..end - 1``."""
        a: cython.Py_ssize_t
        for a in range(begin, end):
            if self.halt[0]:
                break
            if self.pair_starts[a + 1] - self.pair_starts[a] >= 2:
                self.prefix[0] = a
                if not self.listing:
                    self._mark_wanted(a)
                self._fill_root(a)
                self._descend()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _descend(self) -> cython.int:
        """Visit the node of the first item and all below it."""
        floor: cython.longlong = self.k if self.minimal else 1
        depth: cython.Py_ssize_t = 0
        b: cython.Py_ssize_t
        arrived: cython.bint = True
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
            arrived = self.nodes.fill_child(depth, b, floor, self.local)
            depth += arrived
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _visit(self, depth: cython.Py_ssize_t) -> cython.int:
        """List or expose by the pairs of a node; tell whether nodes below it are worth a look."""
        length: cython.int = depth + 3
        if not self.listing and not self._any_open(depth, length):
            return 0
        self.nodes.count_pairs(depth, self.rows.weights)
        if self.listing:
            self._list(depth, length)
        else:
            self._expose(depth, length)
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _mark_wanted(self, a: cython.Py_ssize_t) -> cython.void:
        """Mark the partners of a that could expose a row together with a and another one."""
        slot: cython.Py_ssize_t
        row: cython.Py_ssize_t
        position: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fill_root(self, a: cython.Py_ssize_t) -> cython.void:
        """Write the node of the prefix (a,): its rows, cut down to the wanted partners of a."""
        slot: cython.Py_ssize_t
        position: cython.Py_ssize_t
        i: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        at: cython.Py_ssize_t = 0
        n: cython.int = 0
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _any_open(self, depth: cython.Py_ssize_t, length: cython.int) -> cython.bint:
        """Whether a rare itemset of this size would be the smallest known of some row."""
        i: cython.Py_ssize_t
        for i in range(self.nodes.n_rows[depth]):
            if self._is_open(self.nodes.sources[depth, i], length):
                return True
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_open(self, row: cython.Py_ssize_t, length: cython.int) -> cython.bint:
        return self.exposed[row] == 0 or self.exposed[row] > length

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _expose(self, depth: cython.Py_ssize_t, length: cython.int) -> cython.void:
        """Note the size of the node's rare itemsets in the rows that hold one and no smaller one."""
        i: cython.Py_ssize_t
        row: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.nodes.n_names[depth]
        items: cython.uint[::1] = self.nodes.items[depth]
        count: cython.int[::1] = self.nodes.counts[depth]
        for i in range(self.nodes.n_rows[depth]):
            row = self.nodes.sources[depth, i]
            if self._is_open(row, length):
                start, stop = self.nodes.bounds[depth, i], self.nodes.bounds[depth, i + 1]
                if _holds_rare(count, d, self.k, items, start, stop):
                    self.exposed[row] = length

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _list(self, depth: cython.Py_ssize_t, length: cython.Py_ssize_t) -> cython.int:
        """List the pairs of a node that are rare together with its prefix, although they may extend it."""
        slot: cython.Py_ssize_t
        i: cython.int
        d: cython.Py_ssize_t = self.nodes.n_names[depth]
        j: cython.Py_ssize_t
        name: cython.Py_ssize_t
        count: cython.longlong
        for i in range(d):
            self.local[self.nodes.names[depth, i]] = i
        for i in range(d):
            name = self.nodes.names[depth, i]
            self.prefix[length - 2] = name
            for slot in range(self.pair_starts[name], self.pair_starts[name + 1]):
                j = self.local[self.pair_items[slot]]
                if j >= 0:
                    count = self.nodes.counts[depth, i * d + j]
                    self.prefix[length - 1] = self.pair_items[slot]
                    if self.least <= count <= self.largest and self._is_asked(length):
                        if self.counts.shape[0]:
                            self.counts[count] += 1
                        else:
                            self._note(length, count)
        for i in range(d):
            self.local[self.nodes.names[depth, i]] = -1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_asked(self, length: cython.Py_ssize_t) -> cython.bint:
        """Whether no subset of the prefix is rare, if that matters: all that lack one item reach k."""
        i: cython.Py_ssize_t
        if not self.minimal or length == 3:  # whose pairs are not rare
            return True
        for i in range(1, length):
            self.subset[i - 1] = self.prefix[i]
        for i in range(length - 1):  # without the last item it is the prefix, known to reach k
            if i:
                self.subset[i - 1] = self.prefix[i - 1]
            if support(self.subset, 0, length - 1, self.rows) < self.k:
                return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _note(self, length: cython.Py_ssize_t, count: cython.longlong) -> cython.int:
        """Append the prefix to what was found."""
        i: cython.Py_ssize_t
        if self.size + length > self.found.shape[0]:
            self.found = grown(self.found, self.size, 2 * (self.size + length))
        if self.n_found + 1 == self.found_starts.shape[0]:
            self.found_starts = grown(self.found_starts, self.n_found + 1, 2 * self.n_found + 2)
            self.found_supports = grown(self.found_supports, self.n_found, 2 * self.n_found + 2)
        for i in range(length):
            _insert(self.found, self.size, self.size + i, self.original[self.prefix[i]])
        self.size += length
        self.found_supports[self.n_found] = count
        self.n_found += 1
        self.room[0] -= 1  # threads may lose one of each other's: it only ends later then
        self.found_starts[self.n_found] = self.size
        return 0


@cython.cfunc
def _room_for_nodes(
    depths: cython.Py_ssize_t,
    rows: Rows,
    pair_starts: Number[::1],
    begin: cython.Py_ssize_t,
    end: cython.Py_ssize_t,
) -> Nodes:
    """Nodes, one of each depth, large enough if the first item of the prefix is one of ``begin..end - 1``."""
    widest: cython.longlong = 0
    tallest: cython.longlong = 0
    broadest: cython.longlong = 0
    width: cython.longlong
    item: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    with cython.nogil:
        for item in range(begin, end):
            width = 0
            for slot in range(rows.starts[item], rows.starts[item + 1]):
                width += rows.offsets[rows.tids[slot] + 1] - rows.positions[slot] - 1
            widest = max(widest, width)
            tallest = max(tallest, rows.starts[item + 1] - rows.starts[item])
            broadest = max(broadest, pair_starts[item + 1] - pair_starts[item])
    return Nodes(depths, widest, tallest, broadest)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _holds_rare(
    count: cython.int[::1],
    d: cython.size_t,
    k: cython.longlong,
    items: cython.uint[::1],
    start: cython.Py_ssize_t,
    stop: cython.Py_ssize_t,
) -> cython.bint:
    p: cython.Py_ssize_t
    q: cython.Py_ssize_t
    line: cython.size_t
    for p in range(start, stop):
        line = items[p] * d
        for q in range(p + 1, stop):
            if count[line + items[q]] < k:
                return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _insert(
    array: cython.int[::1], start: cython.Py_ssize_t, stop: cython.Py_ssize_t, value: cython.int
) -> cython.void:
    """Insert a value into the ascending ``array[start:stop]``."""
    while stop > start and array[stop - 1] > value:
        array[stop] = array[stop - 1]
        stop -= 1
    array[stop] = value
