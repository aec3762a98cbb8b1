"""Chunks of disassociation: split the terms of a cluster of rows, and share chunks between clusters.

Each chunk alone is k^m-anonymous. The rows of a term are bits, 64 to a word. Terms are numbered in the order
in which they are assigned to chunks.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Code, Flag, Number, count_bits, grown
from numpy.typing import NDArray

__all__ = ["JointClusters", "Terms", "split_terms"]

Array = NDArray[Any]


# --- Vertical partition: split terms into chunks


@cython.final
@cython.cclass
class Terms:
    """The terms of a cluster of rows, and the chunk of each."""

    def __init__(self, k: cython.longlong, m: cython.longlong) -> None:
        self.k, self.m = k, m
        self.n_terms, self.n_words, self.n_members, self.n_chunks = 0, 0, 0, 0
        self._make_room(64, 64)

    @cython.cfunc
    @cython.with_gil
    @cython.exceptval(-1)
    def _make_room(self, n_terms: cython.Py_ssize_t, n_words: cython.Py_ssize_t) -> cython.int:
        self.items, self.supports, self.blocks, self.chunk, self.members = np.zeros((5, n_terms), np.int64)
        self.words, self.held = np.zeros((2, n_words), np.uint64)
        return 0

    def open(self, n_terms: cython.Py_ssize_t, n_rows: cython.Py_ssize_t) -> cython.int:
        """Make room for ``n_terms`` terms, and clear their rows."""
        word: cython.Py_ssize_t
        n_words: cython.Py_ssize_t = (n_rows + 63) // 64
        needed: cython.Py_ssize_t = (n_terms + 1) * n_words
        if n_terms > self.items.shape[0] or needed > self.words.shape[0]:
            self._make_room(max(2 * n_terms, self.items.shape[0]), max(2 * needed, self.words.shape[0]))
        self.n_terms, self.n_words, self.n_chunks = n_terms, n_words, 0
        for word in range(n_terms * n_words):
            self.words[word] = 0
        return 0

    def note(self, term: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.void:
        """Note that a row contains a term."""
        one: cython.ulonglong = 1
        self.words[term * self.n_words + (row >> 6)] |= one << (row & 63)

    def divide(self) -> cython.void:
        """Put each term with support k or more into the first chunk that accepts it.

        All terms of a chunk have the same block. Chunks are filled one after the other, each in the order of
        the terms.
        """
        cython.declare(term=cython.Py_ssize_t, leader=cython.Py_ssize_t)
        for term in range(self.n_terms):
            self.chunk[term] = 0 if self.supports[term] < self.k else -1
        while True:
            leader = -1
            for term in range(self.n_terms):
                if self.chunk[term] < 0 and (leader < 0 or self.blocks[leader] < 0 <= self.blocks[term]):
                    leader = term
            if leader < 0:
                return
            self.n_chunks += 1
            self.n_members = 0
            for term in range(leader, self.n_terms):
                if self.chunk[term] >= 0 or self.blocks[term] != self.blocks[leader]:
                    continue
                if self._has_twin(term):
                    self.chunk[term] = self.n_chunks
                elif self._fits(term):
                    self.chunk[term] = self.n_chunks
                    self.members[self.n_members] = term
                    self.n_members += 1

    def _has_twin(self, term: cython.Py_ssize_t) -> cython.bint:
        """Return whether a member of the chunk is in the same rows as a term.

        Such a term fits: it can replace the member in any itemset without a change of support. For the same
        reason it is not listed as a member.
        """
        cython.declare(number=cython.Py_ssize_t, word=cython.Py_ssize_t, other=cython.longlong)
        for number in range(self.n_members - 1, -1, -1):
            other = self.members[number]
            if self.supports[other] != self.supports[term]:
                return False  # members are in the order of their supports
            for word in range(self.n_words):
                if self.words[other * self.n_words + word] != self.words[term * self.n_words + word]:
                    break
            else:
                return True
        return False

    def _fits(self, term: cython.Py_ssize_t) -> cython.bint:
        """Return whether the current chunk stays k^m-anonymous if a term is added."""
        word: cython.Py_ssize_t
        if self.m == 1 or self.n_members == 0:
            return True
        if self.m > 2 or self.n_members == 1:
            if self._is_shared(term):
                return True
            if self.m > self.n_members:
                return False
        for word in range(self.n_words):
            self.held[word] = self.words[term * self.n_words + word]
        return self._spread(0, 0, self.m - 1, self.supports[term])

    def _is_shared(self, term: cython.Py_ssize_t) -> cython.bint:
        """Return whether each row with the term would keep support k in the chunk.

        The support of a row is the number of rows that contain the term and all members that the row
        contains.
        """
        cython.declare(row=cython.Py_ssize_t, word=cython.Py_ssize_t, number=cython.Py_ssize_t)
        other: cython.Py_ssize_t
        for row in range(64 * self.n_words):
            if not self.has(term, row):
                continue
            for word in range(self.n_words):
                self.held[word] = self.words[term * self.n_words + word]
            for number in range(self.n_members):
                other = self.members[number]
                if self.has(other, row):
                    self._meet(0, other, 0)
            if self._count(0) < self.k:
                return False
        return True

    def _spread(
        self,
        depth: cython.Py_ssize_t,
        begin: cython.Py_ssize_t,
        left: cython.longlong,
        support: cython.longlong,
    ) -> cython.bint:
        """Return whether no itemset of the term and up to m - 1 members is rare.

        ``held[depth]`` has the rows of the current itemset, ``support`` counts them, and ``left`` is the
        number of members that may still be added, from ``begin`` on.
        """
        cython.declare(number=cython.Py_ssize_t, found=cython.longlong)
        for number in range(begin, self.n_members):
            self._meet(depth, self.members[number], depth + 1)
            found = self._count(depth + 1)
            if 0 < found < self.k:
                return False
            # If all rows of the itemset contain the member, its supersets are visited without the member.
            if left > 1 and 0 < found < support and not self._spread(depth + 1, number + 1, left - 1, found):
                return False
        return True

    def has(self, term: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.bint:
        """Return whether a row contains a term."""
        return (self.words[term * self.n_words + (row >> 6)] >> (row & 63)) & 1

    def _meet(self, depth: cython.Py_ssize_t, term: cython.Py_ssize_t, to: cython.Py_ssize_t) -> cython.void:
        """Intersect the rows of the current itemset with those of a term."""
        word: cython.Py_ssize_t
        for word in range(self.n_words):
            self.held[to * self.n_words + word] = (
                self.held[depth * self.n_words + word] & self.words[term * self.n_words + word]
            )

    def _count(self, depth: cython.Py_ssize_t) -> cython.longlong:
        """Count the rows of the current itemset."""
        word: cython.Py_ssize_t
        total: cython.longlong = 0
        for word in range(depth * self.n_words, (depth + 1) * self.n_words):
            total += count_bits(self.held[word])
        return total

    def rows_of(self, chunk: cython.longlong) -> cython.longlong:
        """Count the rows that contain a term of a chunk."""
        cython.declare(word=cython.Py_ssize_t, term=cython.Py_ssize_t)
        for word in range(self.n_words):
            self.held[word] = 0
        for term in range(self.n_terms):
            if self.chunk[term] == chunk:
                for word in range(self.n_words):
                    self.held[word] |= self.words[term * self.n_words + word]
        return self._count(0)


# --- Chunks of each cluster


def split_terms(
    k: cython.longlong,
    m: cython.longlong,
    safe: cython.bint,
    rows: Number[::1],
    starts: Number[::1],
    codes: Code[::1],
    offsets: Number[::1],
    block: Code[::1],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Split the terms of each cluster into chunks.

    Cluster ``c`` is ``rows[starts[c]:starts[c + 1]]``. With ``safe``, two terms of different chunks never
    have so many rows that at least one row must contain both.

    Return the chunk of each occurrence, by its position in ``codes``: 1 or more, 0 for the term chunk. Return
    also the number of sub-records and of chunks of each cluster.
    """
    chunk_of: cython.int[::1] = np.zeros(len(codes), np.int32)
    cython.declare(totals=cython.longlong[::1], n_chunks=cython.longlong[::1])
    totals, n_chunks = np.zeros((2, len(starts) - 1), np.int64)
    cython.declare(count=cython.longlong[::1], slot_of=cython.longlong[::1], found=cython.longlong[::1])
    count, slot_of, found = np.zeros((3, len(block)), np.int64)
    terms = Terms(k, m)
    cython.declare(cluster=cython.Py_ssize_t, n_found=cython.Py_ssize_t)
    with cython.nogil:
        for cluster in range(starts.shape[0] - 1):
            n_found = _gather(cluster, rows, starts, codes, offsets, count, found)
            terms.open(n_found, starts[cluster + 1] - starts[cluster])
            sort_terms(found, n_found, count)
            _fill(terms, cluster, n_found, rows, starts, codes, offsets, block, count, slot_of, found)
            terms.divide()
            _leave_none_empty(terms, starts[cluster + 1] - starts[cluster])
            if safe:
                _uncover(terms, starts[cluster + 1] - starts[cluster])
            totals[cluster], n_chunks[cluster] = _counted(terms)
            _write(terms, cluster, rows, starts, codes, offsets, slot_of, chunk_of)
            for number in range(n_found):
                count[found[number]] = 0
    return np.asarray(chunk_of), np.asarray(totals), np.asarray(n_chunks)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _gather(
    cluster: cython.Py_ssize_t,
    rows: Number[::1],
    starts: Number[::1],
    codes: Code[::1],
    offsets: Number[::1],
    count: cython.longlong[::1],
    found: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Count and list the terms of a cluster; return their number."""
    n_found: cython.Py_ssize_t = 0
    cython.declare(at=cython.Py_ssize_t, slot=cython.Py_ssize_t)
    for at in range(starts[cluster], starts[cluster + 1]):
        for slot in range(offsets[rows[at]], offsets[rows[at] + 1]):
            if count[codes[slot]] == 0:
                found[n_found] = codes[slot]
                n_found += 1
            count[codes[slot]] += 1
    return n_found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(
    terms: Terms,
    cluster: cython.Py_ssize_t,
    n_found: cython.Py_ssize_t,
    rows: Number[::1],
    starts: Number[::1],
    codes: Code[::1],
    offsets: Number[::1],
    block: Code[::1],
    count: Number[::1],
    slot_of: cython.longlong[::1],
    found: Number[::1],
) -> cython.void:
    """Enter the terms of a cluster with their supports, blocks and rows."""
    cython.declare(number=cython.Py_ssize_t, at=cython.Py_ssize_t, slot=cython.Py_ssize_t)
    for number in range(n_found):
        slot_of[found[number]] = number
        terms.items[number] = found[number]
        terms.supports[number] = count[found[number]]
        terms.blocks[number] = block[found[number]]
    for at in range(starts[cluster], starts[cluster + 1]):
        for slot in range(offsets[rows[at]], offsets[rows[at] + 1]):
            terms.note(slot_of[codes[slot]], at - starts[cluster])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _write(
    terms: Terms,
    cluster: cython.Py_ssize_t,
    rows: Number[::1],
    starts: Number[::1],
    codes: Code[::1],
    offsets: Number[::1],
    slot_of: Number[::1],
    chunk_of: cython.int[::1],
) -> cython.void:
    cython.declare(at=cython.Py_ssize_t, slot=cython.Py_ssize_t)
    for at in range(starts[cluster], starts[cluster + 1]):
        for slot in range(offsets[rows[at]], offsets[rows[at] + 1]):
            chunk_of[slot] = cython.cast(cython.int, terms.chunk[slot_of[codes[slot]]])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave_none_empty(terms: Terms, n_rows: cython.longlong) -> cython.void:
    """Move the rarest term to the term chunk if that chunk is empty and there are too few sub-records.

    No row is empty. If k sub-records of several chunks are joined on the same k rows, the others must still
    suffice for all other rows.
    """
    term: cython.Py_ssize_t
    for term in range(terms.n_terms):
        if terms.chunk[term] == 0:
            return
    total, n_chunks = _counted(terms)
    if total < n_rows + terms.k * (min(terms.m, n_chunks) - 1):
        terms.chunk[terms.n_terms - 1] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _counted(terms: Terms) -> tuple[cython.longlong, cython.longlong]:
    """Count the sub-records, and the chunks that have any."""
    cython.declare(chunk=cython.longlong, rows=cython.longlong)
    total: cython.longlong = 0
    n_chunks: cython.longlong = 0
    for chunk in range(1, terms.n_chunks + 1):
        rows = terms.rows_of(chunk)
        total += rows
        n_chunks += rows > 0
    return total, n_chunks


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _uncover(terms: Terms, n_rows: cython.longlong) -> cython.void:
    """Move the most frequent term to the term chunk while it must share a row with a term of another chunk.

    Two terms must share a row if the sum of their supports exceeds the number of rows. A term chunk publishes
    no supports, so each of its terms counts as one row.
    """
    cython.declare(term=cython.Py_ssize_t, first=cython.Py_ssize_t, second=cython.longlong)
    while True:
        first, second = -1, 0
        for term in range(terms.n_terms):
            if terms.chunk[term] > 0 and first < 0:
                first = term
            elif terms.chunk[term] == 0:
                second = max(second, 1)
            elif terms.chunk[term] != terms.chunk[first]:
                second = max(second, terms.supports[term])
        if first < 0 or terms.supports[first] + second <= n_rows:
            return
        terms.chunk[first] = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_terms(found: cython.longlong[::1], n_found: cython.Py_ssize_t, count: Number[::1]) -> cython.void:
    """Sort terms by descending count, ties by ascending term.

    A heap sort: in place, and without the interpreter lock.
    """
    cython.declare(number=cython.Py_ssize_t, item=cython.longlong)
    for number in range(n_found // 2 - 1, -1, -1):
        _sift(found, number, n_found, count)
    for number in range(n_found - 1, 0, -1):
        item = found[0]
        found[0], found[number] = found[number], item
        _sift(found, 0, number, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sift(
    found: cython.longlong[::1], number: cython.Py_ssize_t, n_found: cython.Py_ssize_t, count: Number[::1]
) -> cython.void:
    """Move an entry of the heap down to its position."""
    cython.declare(below=cython.Py_ssize_t, item=cython.longlong)
    while 2 * number + 1 < n_found:
        below = 2 * number + 1
        if below + 1 < n_found and _comes_after(found[below + 1], found[below], count):
            below += 1
        if not _comes_after(found[below], found[number], count):
            return
        item = found[number]
        found[number], found[below] = found[below], item
        number = below


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _comes_after(one: cython.longlong, other: cython.longlong, count: Number[::1]) -> cython.bint:
    """Return whether a term follows another one in the order of ``sort_terms``."""
    return count[one] < count[other] or (count[one] == count[other] and one > other)


# --- Joint clusters: share chunks of the terms that term chunks have in common
#
# Clusters that share a chunk form a joint cluster, which can be joined again. A group is a cluster or a joint
# cluster. A term of a group is open if it is in term chunks only; otherwise it is closed.


@cython.final
@cython.cclass
class JointClusters:
    """Clusters and joint clusters, numbered in order of creation.

    Each shared chunk has the guarantee of k and m, and all its terms have the same block. With ``safe``, two
    terms of different chunks never have so many rows that one row must contain both.

    ``lists`` has cluster by cluster: the start of the terms of each, the terms in ascending order, the
    support of each in the cluster, and whether it is open.
    """

    cython.declare(k=cython.longlong, safe=cython.bint)
    rows: Number[::1]
    starts: Number[::1]  # cluster c is `rows[starts[c]:starts[c + 1]]`
    codes: Code[::1]
    offsets: Number[::1]
    block: Code[::1]  # of each term
    chunk_of: cython.int[::1]  # of each occurrence; 0 for a term chunk; shared chunks are written to it
    needs_term: Flag[::1]  # whether the term chunk of a cluster must not become empty
    owner_of = cython.declare(cython.int[::1], visibility="readonly")  # group of each occurrence, or -1
    n_groups = cython.declare(cython.Py_ssize_t, visibility="readonly")
    parent = cython.declare(cython.longlong[::1], visibility="readonly")  # joint cluster of a group, or -1
    size = cython.declare(cython.longlong[::1], visibility="readonly")  # rows of each group
    n_clusters: cython.longlong[::1]
    most: cython.longlong[::1]  # largest published support of a term, by group
    head: cython.longlong[::1]  # first cluster of each group
    tail: cython.longlong[::1]
    after: cython.longlong[::1]  # next cluster of the same group, or -1
    n_left: cython.longlong[::1]  # terms in the term chunk of each cluster
    n_open = cython.declare(cython.longlong[::1], visibility="readonly")
    first = cython.declare(cython.longlong[::1], visibility="readonly")  # first term of each group
    length = cython.declare(cython.longlong[::1], visibility="readonly")
    items = cython.declare(cython.longlong[::1], visibility="readonly")  # the terms, group after group
    open = cython.declare(cython.longlong[::1], visibility="readonly")  # whether each is open: 0 or 1
    supports: cython.longlong[::1]  # support of each
    shown: cython.longlong[::1]  # published support of each: 1 in a term chunk
    end: cython.Py_ssize_t
    count: cython.longlong[::1]  # support of each term to share, 0 of all others
    cython.declare(slot=cython.longlong[::1], found=cython.longlong[::1], n_found=cython.Py_ssize_t)
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
        more = np.zeros(n, np.int64)  # n clusters form at most n - 1 joint clusters
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
        """Join adjacent groups that have terms to share; return the number of joint clusters made."""
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
        """Join two groups if they have terms to share; return whether they have."""
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
        """List the terms to share: open in both groups, and frequent enough.

        The support must be at least k, and more than the number of clusters. Otherwise the term chunks
        publish as much, and the cluster in addition.
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
        """Leave out each term that would have to share a row with a term of another chunk.

        Two terms must share a row if the sum of their published supports exceeds the number of rows.
        """
        number: cython.Py_ssize_t
        most: cython.longlong = self.most[one] + self.most[other]
        for number in range(self.n_found - 1, -1, -1):
            if self.count[self.found[number]] + max(most, self.count[self.found[number]]) > n_rows:
                self._leave(self.found[number])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _spare_term_chunks(self, group: cython.longlong) -> cython.void:
        """Leave the rarest shared term in its cluster if a term chunk would become empty that must not."""
        cython.declare(place=cython.longlong, item=cython.longlong, rarest=cython.longlong)
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
        """Remove a term from the list of terms to share."""
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
        """Divide the shared terms into chunks, and write the chunk of each occurrence."""
        cython.declare(number=cython.Py_ssize_t, place=cython.longlong, item=cython.longlong)
        cython.declare(n_shared=cython.longlong, cluster=cython.longlong)
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
        """Visit the occurrences of shared terms in a cluster.

        With ``group`` -1, note the row of each. Otherwise, write its group and chunk.
        """
        cython.declare(at=cython.longlong, place=cython.longlong, number=cython.longlong)
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
        """List the terms of a joint cluster.

        A term is closed if the joint cluster shares it, or if it is closed in one of the two groups.
        """
        a: cython.longlong = self.first[one]
        b: cython.longlong = self.first[other]
        end_a: cython.longlong = a + self.length[one]
        end_b: cython.longlong = b + self.length[other]
        cython.declare(item=cython.longlong, support=cython.longlong, shown=cython.longlong)
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
