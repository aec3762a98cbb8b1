"""Kernels that divide the terms of a cluster of rows into chunks, so that each chunk alone is k^m-anonymous.

The rows of a term are bits, 64 a word. Terms are in the order in which they are put into chunks.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from numpy.typing import NDArray

__all__ = ["Terms", "split_terms"]


@cython.final
@cython.cclass
class Terms:
    """The terms of some rows, and the chunks that they are divided into."""

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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def open(self, n_terms: cython.Py_ssize_t, n_rows: cython.Py_ssize_t) -> cython.int:
        """Make room for some terms, none of which any row has."""
        word: cython.Py_ssize_t
        n_words: cython.Py_ssize_t = (n_rows + 63) // 64
        needed: cython.Py_ssize_t = (n_terms + 1) * n_words
        if n_terms > self.items.shape[0] or needed > self.words.shape[0]:
            self._make_room(max(2 * n_terms, self.items.shape[0]), max(2 * needed, self.words.shape[0]))
        self.n_terms, self.n_words, self.n_chunks = n_terms, n_words, 0
        for word in range(n_terms * n_words):
            self.words[word] = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def note(self, term: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.void:
        """Note that a row has a term."""
        one: cython.ulonglong = 1
        self.words[term * self.n_words + (row >> 6)] |= one << (row & 63)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def divide(self) -> cython.void:
        """Put each term that k rows have into the first chunk that it fits in; a chunk has one block."""
        term: cython.Py_ssize_t
        leader: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _has_twin(self, term: cython.Py_ssize_t) -> cython.bint:
        """Whether the same rows have a member of the chunk: then a term fits, and makes nothing rarer.

        An itemset with it is in the rows of the one with the member in its place. So it need be no member.
        """
        number: cython.Py_ssize_t
        word: cython.Py_ssize_t
        other: cython.longlong
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fits(self, term: cython.Py_ssize_t) -> cython.bint:
        """Whether the chunk in hand stays k^m-anonymous with a term more."""
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_shared(self, term: cython.Py_ssize_t) -> cython.bint:
        """Whether k rows have all that any row with the term would have in the chunk."""
        row: cython.Py_ssize_t
        word: cython.Py_ssize_t
        number: cython.Py_ssize_t
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _spread(
        self,
        depth: cython.Py_ssize_t,
        begin: cython.Py_ssize_t,
        left: cython.longlong,
        support: cython.longlong,
    ) -> cython.bint:
        """Whether all itemsets that some members make of the one in hand are in no row, or in k."""
        number: cython.Py_ssize_t
        found: cython.longlong
        for number in range(begin, self.n_members):
            self._meet(depth, self.members[number], depth + 1)
            found = self._count(depth + 1)
            if 0 < found < self.k:
                return False
            # A term that all the rows have makes no itemset rarer.
            if left > 1 and 0 < found < support and not self._spread(depth + 1, number + 1, left - 1, found):
                return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def has(self, term: cython.Py_ssize_t, row: cython.Py_ssize_t) -> cython.bint:
        """Whether a row has a term."""
        return (self.words[term * self.n_words + (row >> 6)] >> (row & 63)) & 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _meet(self, depth: cython.Py_ssize_t, term: cython.Py_ssize_t, to: cython.Py_ssize_t) -> cython.void:
        """Keep the rows that have a term, too."""
        word: cython.Py_ssize_t
        for word in range(self.n_words):
            self.held[to * self.n_words + word] = (
                self.held[depth * self.n_words + word] & self.words[term * self.n_words + word]
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count(self, depth: cython.Py_ssize_t) -> cython.longlong:
        """How many rows the itemset in hand has."""
        word: cython.Py_ssize_t
        total: cython.longlong = 0
        for word in range(depth * self.n_words, (depth + 1) * self.n_words):
            total += bits(self.held[word])
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def rows_of(self, chunk: cython.longlong) -> cython.longlong:
        """How many rows have a term of a chunk."""
        word: cython.Py_ssize_t
        term: cython.Py_ssize_t
        for word in range(self.n_words):
            self.held[word] = 0
        for term in range(self.n_terms):
            if self.chunk[term] == chunk:
                for word in range(self.n_words):
                    self.held[word] |= self.words[term * self.n_words + word]
        return self._count(0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.overflowcheck(False)
def bits(word: cython.ulonglong) -> cython.longlong:
    """How many bits of a word are set."""
    twos: cython.ulonglong = 0x5555555555555555
    fours: cython.ulonglong = 0x3333333333333333
    eights: cython.ulonglong = 0x0F0F0F0F0F0F0F0F
    bytes_: cython.ulonglong = 0x0101010101010101
    word -= (word >> 1) & twos
    word = (word & fours) + ((word >> 2) & fours)
    word = (word + (word >> 4)) & eights
    return (word * bytes_) >> 56


# --- The clusters one by one


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
    """The chunk of each occurrence, by its place in ``codes``: from 1 on, 0 for the term chunk.

    Also how many sub-records each cluster has, and how many chunks. Cluster ``c`` is
    ``rows[starts[c]:starts[c + 1]]``. With ``safe`` no two terms of different chunks are
    in so many rows that some row must have both.
    """
    chunk_of: cython.int[::1] = np.zeros(len(codes), np.int32)
    totals: cython.longlong[::1]
    n_chunks: cython.longlong[::1]
    totals, n_chunks = np.zeros((2, len(starts) - 1), np.int64)
    count: cython.longlong[::1]
    slot_of: cython.longlong[::1]
    found: cython.longlong[::1]
    count, slot_of, found = np.zeros((3, len(block)), np.int64)
    terms = Terms(k, m)
    cluster: cython.Py_ssize_t
    n_found: cython.Py_ssize_t
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
    """Count the terms of a cluster, and list them."""
    n_found: cython.Py_ssize_t = 0
    at: cython.Py_ssize_t
    slot: cython.Py_ssize_t
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
    """Tell of each term which rows have it."""
    number: cython.Py_ssize_t
    at: cython.Py_ssize_t
    slot: cython.Py_ssize_t
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
    at: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    for at in range(starts[cluster], starts[cluster + 1]):
        for slot in range(offsets[rows[at]], offsets[rows[at] + 1]):
            chunk_of[slot] = cython.cast(cython.int, terms.chunk[slot_of[codes[slot]]])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _leave_none_empty(terms: Terms, n_rows: cython.longlong) -> cython.void:
    """Move the rarest term to the term chunk, if it is empty and sub-records are too few.

    Whoever puts k of them on the same rows for each of several chunks must have some left for all other
    rows, as none of these is empty.
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
    """How many sub-records there are, and how many chunks that have some."""
    chunk: cython.longlong
    rows: cython.longlong
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
    """Move the most frequent term to the term chunk as long as one of another chunk cannot be without it."""
    term: cython.Py_ssize_t
    first: cython.Py_ssize_t
    second: cython.longlong
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
    """Sort terms by descending count, then in order; a heap sort."""
    number: cython.Py_ssize_t
    item: cython.longlong
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
    below: cython.Py_ssize_t
    item: cython.longlong
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
    return count[one] < count[other] or (count[one] == count[other] and one > other)
