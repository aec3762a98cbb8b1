"""Kernel that lets clusters share chunks of the terms that their term chunks have in common.

Clusters that share a chunk are a joint cluster, which can be joined again. A group is one or the other. Its
open terms are those that are in term chunks of it, and in no other chunk; its closed ones are in others.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag, Number, grown
from cython.cimports.pdanon._kernels.chunks import Terms, sort_terms
from numpy.typing import NDArray

__all__ = ["Groups"]

Array = NDArray[Any]


@cython.final
@cython.cclass
class Groups:
    """Clusters and joint clusters, numbered in the order in which they came to be.

    Parameters
    ----------
    k, m : int
        What a shared chunk must be.
    safe : bool
        Whether no two terms of different chunks may be in so many rows that some row must have both.
    rows, starts : ndarray of int64
        Cluster ``c`` is ``rows[starts[c]:starts[c + 1]]``.
    codes, offsets : ndarray of int32, int64
        The rows.
    block : ndarray of int32
        Block of each term; a chunk has one.
    chunk_of : ndarray of int32
        Chunk of each occurrence; 0 for a term chunk. What is shared is written here.
    lists : tuple of ndarray of int64
        Cluster by cluster: where the terms of each begin, the terms in ascending order, how many rows hold
        each, and whether it is open.
    needs_term : ndarray of bool
        Whether the term chunk of a cluster may not become empty.
    """

    k: cython.longlong
    safe: cython.bint
    rows: Number[::1]
    starts: Number[::1]
    codes: Code[::1]
    offsets: Number[::1]
    block: Code[::1]
    chunk_of: cython.int[::1]
    needs_term: Flag[::1]
    owner_of = cython.declare(cython.int[::1], visibility="readonly")  # group of each occurrence; -1: its own
    n_groups = cython.declare(cython.Py_ssize_t, visibility="readonly")
    parent = cython.declare(cython.longlong[::1], visibility="readonly")  # joint cluster of a group, or -1
    size = cython.declare(cython.longlong[::1], visibility="readonly")  # rows of each group
    n_clusters: cython.longlong[::1]
    most: cython.longlong[::1]  # rows of each group that hold a term as is published, at most
    head: cython.longlong[::1]  # first cluster of each group
    tail: cython.longlong[::1]
    after: cython.longlong[::1]  # next cluster of the same group, or -1
    n_left: cython.longlong[::1]  # terms in the term chunk of each cluster
    n_open = cython.declare(cython.longlong[::1], visibility="readonly")
    first = cython.declare(cython.longlong[::1], visibility="readonly")  # where the terms of a group begin
    length = cython.declare(cython.longlong[::1], visibility="readonly")
    items = cython.declare(cython.longlong[::1], visibility="readonly")  # the terms, group after group
    open = cython.declare(cython.longlong[::1], visibility="readonly")  # whether each is open: 0 or 1
    supports: cython.longlong[::1]  # rows that hold each
    shown: cython.longlong[::1]  # as many as is published: a term chunk tells of one
    end: cython.Py_ssize_t
    count: cython.longlong[::1]  # of the terms that are to be shared: rows that hold each; else 0
    slot: cython.longlong[::1]
    found: cython.longlong[::1]
    n_found: cython.Py_ssize_t
    terms: Terms

    def __init__(
        self,
        k: int,
        m: int,
        safe: bool,
        rows: Array,
        starts: Array,
        codes: Array,
        offsets: Array,
        block: Array,
        chunk_of: Array,
        lists: tuple[Array, Array, Array, Array],
        needs_term: Array,
    ) -> None:
        n, n_items = len(starts) - 1, len(block)
        first, items, supports, is_open = lists
        self.k, self.safe, self.terms = k, safe, Terms(k, m)
        self.rows, self.starts, self.codes, self.offsets = rows, starts, codes, offsets
        self.block, self.chunk_of, self.needs_term = block, chunk_of, needs_term
        self.owner_of = np.full(len(codes), -1, np.int32)
        more = np.zeros(n, np.int64)  # as many joint clusters may come, less one
        self.n_groups, self.parent = n, np.full(2 * n, -1, np.int64)
        self.size, self.n_clusters = np.append(np.diff(starts), more), np.ones(2 * n, np.int64)
        self.head, self.tail, self.after = np.arange(2 * n), np.arange(2 * n), np.full(n, -1, np.int64)
        self.n_left = np.add.reduceat(is_open, first[:n]) if n else more
        self.n_open, self.most = np.append(self.n_left, more), np.zeros(2 * n, np.int64)
        self.first, self.length = np.append(first[:n], more), np.append(np.diff(first), more)
        if n:
            self.most = np.append(np.maximum.reduceat(np.where(is_open, 1, supports), first[:n]), more)
        self.items, self.supports, self.open = items.copy(), supports.copy(), is_open.copy()
        self.shown, self.end = np.where(is_open, 1, supports), len(items)
        self.count, self.found = np.zeros((2, n_items), np.int64)
        self.slot, self.n_found = np.full(n_items, -1, np.int64), 0

    def join_neighbours(self, order: Number[::1]) -> int:
        """Join groups that follow each other and have a term to share; return how many were made."""
        at: cython.Py_ssize_t = 0
        before: cython.Py_ssize_t = self.n_groups
        with cython.nogil:
            while at + 1 < order.shape[0]:
                at += 2 if self._join(order[at], order[at + 1]) else 1
        return self.n_groups - before

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _join(self, one: cython.longlong, other: cython.longlong) -> cython.int:
        """Join two groups if they have a term to share; whether they have."""
        number: cython.Py_ssize_t
        self._find_terms(one, other)
        self._spare_term_chunks(one)
        self._spare_term_chunks(other)
        if self.n_found > 0:
            new = self.n_groups
            self.n_groups += 1
            self.parent[one], self.parent[other] = new, new
            self.size[new] = self.size[one] + self.size[other]
            self.n_clusters[new] = self.n_clusters[one] + self.n_clusters[other]
            self.head[new], self.tail[new] = self.head[one], self.tail[other]
            self.after[self.tail[one]] = self.head[other]
            self._share(new)
            self._merge(one, other, new)
        for number in range(self.n_found):
            self.count[self.found[number]] = 0
        return self.n_found > 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _find_terms(self, one: cython.longlong, other: cython.longlong) -> cython.void:
        """List the terms that two groups are to share: those that are open in both, and in rows enough.

        These are k, and more than clusters: else the term chunks tell as much, and where.
        """
        a: cython.longlong = self.first[one]
        b: cython.longlong = self.first[other]
        end_a: cython.longlong = a + self.length[one]
        end_b: cython.longlong = b + self.length[other]
        n_rows: cython.longlong = self.size[one] + self.size[other]
        least: cython.longlong = max(self.k, self.n_clusters[one] + self.n_clusters[other] + 1)
        support: cython.longlong
        self.n_found = 0
        while a < end_a and b < end_b:
            if self.items[a] < self.items[b]:
                a += 1
            elif self.items[a] > self.items[b]:
                b += 1
            else:
                support = self.supports[a] + self.supports[b]
                if self.open[a] and self.open[b] and support >= least:
                    self.found[self.n_found] = self.items[a]
                    self.count[self.items[a]] = support
                    self.n_found += 1
                a += 1
                b += 1
        if self.safe:
            self._uncover(one, other, n_rows)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _uncover(self, one: cython.longlong, other: cython.longlong, n_rows: cython.longlong) -> cython.void:
        """Do not share a term that could not be without one of another chunk in the rows that there are."""
        number: cython.Py_ssize_t
        most: cython.longlong = self.most[one] + self.most[other]
        for number in range(self.n_found - 1, -1, -1):
            if self.count[self.found[number]] + max(most, self.count[self.found[number]]) > n_rows:
                self._leave(self.found[number])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _spare_term_chunks(self, group: cython.longlong) -> cython.void:
        """Leave the rarest of these terms where it is, if a term chunk became empty that may not."""
        place: cython.longlong
        item: cython.longlong
        rarest: cython.longlong
        n_shared: cython.longlong
        cluster: cython.longlong = self.head[group]
        while cluster >= 0 and self.n_found > 0:
            rarest, n_shared = -1, 0
            for place in range(self.first[cluster], self.first[cluster] + self.length[cluster]):
                item = self.items[place]
                if self.count[item] > 0:
                    n_shared += 1
                    if rarest < 0 or self.count[item] <= self.count[rarest]:
                        rarest = item
            if 0 < n_shared == self.n_left[cluster] and self.needs_term[cluster]:
                self._leave(rarest)
            cluster = -1 if cluster == self.tail[group] else self.after[cluster]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _leave(self, item: cython.longlong) -> cython.void:
        """Do not share a term."""
        number: cython.Py_ssize_t
        kept: cython.Py_ssize_t = 0
        self.count[item] = 0
        for number in range(self.n_found):
            if self.found[number] != item:
                self.found[kept] = self.found[number]
                kept += 1
        self.n_found = kept

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _share(self, group: cython.Py_ssize_t) -> cython.int:
        """Divide the terms into chunks, and write which occurrences are in them."""
        number: cython.Py_ssize_t
        place: cython.longlong
        item: cython.longlong
        n_shared: cython.longlong
        cluster: cython.longlong
        begin: cython.longlong = 0
        sort_terms(self.found, self.n_found, self.count)
        self.terms.open(self.n_found, self.size[group])
        for number in range(self.n_found):
            item = self.found[number]
            self.slot[item] = number
            self.terms.items[number], self.terms.supports[number] = item, self.count[item]
            self.terms.blocks[number] = self.block[item]
        cluster = self.head[group]
        while cluster >= 0:
            n_shared = 0
            for place in range(self.first[cluster], self.first[cluster] + self.length[cluster]):
                n_shared += self.count[self.items[place]] > 0
            if n_shared > 0:
                self.n_left[cluster] -= n_shared
                self._walk(cluster, begin, -1)
            begin += self.starts[cluster + 1] - self.starts[cluster]
            cluster = self.after[cluster]
        self.terms.divide()
        cluster = self.head[group]
        while cluster >= 0:
            self._walk(cluster, 0, group)
            cluster = self.after[cluster]
        for number in range(self.n_found):
            self.slot[self.found[number]] = -1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _walk(self, cluster: cython.longlong, begin: cython.longlong, group: cython.longlong) -> cython.void:
        """Note which rows of a cluster hold the terms, or write that they share them in a group."""
        at: cython.longlong
        place: cython.longlong
        number: cython.longlong
        for at in range(self.starts[cluster], self.starts[cluster + 1]):
            for place in range(self.offsets[self.rows[at]], self.offsets[self.rows[at] + 1]):
                number = self.slot[self.codes[place]]
                if number < 0:
                    continue
                if group < 0:
                    self.terms.note(number, begin + at - self.starts[cluster])
                else:
                    self.owner_of[place] = cython.cast(cython.int, group)
                    self.chunk_of[place] = cython.cast(cython.int, self.terms.chunk[number])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _merge(self, one: cython.longlong, other: cython.longlong, new: cython.Py_ssize_t) -> cython.int:
        """List the terms of a joint cluster; those that it shares, or that a part has closed, are closed."""
        a: cython.longlong = self.first[one]
        b: cython.longlong = self.first[other]
        end_a: cython.longlong = a + self.length[one]
        end_b: cython.longlong = b + self.length[other]
        item: cython.longlong
        support: cython.longlong
        shown: cython.longlong
        is_open: cython.longlong
        needed: cython.Py_ssize_t = self.end + self.length[one] + self.length[other]
        if needed > self.items.shape[0]:
            self.items = grown(self.items, self.end, 2 * needed)
            self.supports = grown(self.supports, self.end, 2 * needed)
            self.shown = grown(self.shown, self.end, 2 * needed)
            self.open = grown(self.open, self.end, 2 * needed)
        self.first[new] = self.end
        while a < end_a or b < end_b:
            if b == end_b or (a < end_a and self.items[a] < self.items[b]):
                item, support, shown, is_open = self.items[a], self.supports[a], self.shown[a], self.open[a]
                a += 1
            elif a == end_a or self.items[b] < self.items[a]:
                item, support, shown, is_open = self.items[b], self.supports[b], self.shown[b], self.open[b]
                b += 1
            else:
                item, support = self.items[a], self.supports[a] + self.supports[b]
                shown, is_open = self.shown[a] + self.shown[b], self.open[a] & self.open[b]
                a += 1
                b += 1
            if self.count[item] > 0:
                shown, is_open = support, 0
            self.items[self.end], self.supports[self.end] = item, support
            self.shown[self.end], self.open[self.end] = shown, is_open
            self.end += 1
            self.n_open[new] += is_open
            self.most[new] = max(self.most[new], shown)
        self.length[new] = self.end - self.first[new]
        return 0
