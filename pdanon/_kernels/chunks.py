"""Chunks of disassociation: split the terms of a cluster of rows, and share chunks between clusters.

Each chunk alone is k^m-anonymous. The rows of a term are bits, 64 to a word. Terms are numbered in the order
in which they are assigned to chunks.
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
    ulonglong as uint64,
    void,
    with_gil,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    count_bits,
    grown,
    int32s,
    int64s,
    sort_by,
)
from numpy.typing import NDArray

__all__ = ["JointClusters", "Terms", "split_terms"]

Array = NDArray[Any]


# --- Vertical partition: split terms into chunks


@final
@cclass
class Terms:
    """The terms of a cluster of rows, and the chunk of each."""

    def __init__(self, k: int64, m: int64) -> None:
        self.k, self.m = k, m
        self.n_terms, self.n_words, self.n_members, self.n_chunks = 0, 0, 0, 0
        self._make_room(64, 64)

    @cfunc
    @with_gil
    @exceptval(-1)
    def _make_room(self, n_terms: Py_ssize_t, n_words: Py_ssize_t) -> int32:
        self.items, self.supports, self.blocks, self.chunk, self.members = np.zeros((5, n_terms), np.int64)
        self.words, self.held = np.zeros((2, n_words), np.uint64)
        return 0

    def open(self, n_terms: Py_ssize_t, n_rows: Py_ssize_t) -> int32:
        """Make room for ``n_terms`` terms, and clear their rows."""
        n_words = (n_rows + 63) // 64
        needed = (n_terms + 1) * n_words
        if n_terms > self.items.shape[0] or needed > self.words.shape[0]:
            self._make_room(max(2 * n_terms, self.items.shape[0]), max(2 * needed, self.words.shape[0]))
        self.n_terms, self.n_words, self.n_chunks = n_terms, n_words, 0
        for word in range(n_terms * n_words):
            self.words[word] = 0
        return 0

    def note(self, term: Py_ssize_t, row: Py_ssize_t) -> void:
        """Note that a row contains a term."""
        one: uint64 = 1
        self.words[term * self.n_words + (row >> 6)] |= one << (row & 63)

    def divide(self) -> void:
        """Put each term with support k or more into the first chunk that accepts it."""
        # All terms of a chunk have the same block. Chunks are filled one after the other, each in the order
        # of the terms.
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

    def _has_twin(self, term: Py_ssize_t) -> bint:
        """Return whether a member of the chunk is in the same rows as a term."""
        # Such a term fits: it can replace the member in any itemset without a change of support. For the same
        # reason it is not listed as a member.
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

    def _fits(self, term: Py_ssize_t) -> bint:
        """Return whether the current chunk stays k^m-anonymous if a term is added."""
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

    def _is_shared(self, term: Py_ssize_t) -> bint:
        """Return whether each row with the term would keep support k in the chunk."""
        # The support of a row is the number of rows that contain the term and all members that the row
        # contains.
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

    def _spread(self, depth: Py_ssize_t, begin: Py_ssize_t, left: int64, support: int64) -> bint:
        """Return whether no itemset of the term and up to m - 1 members is rare."""
        # ``held[depth]`` has the rows of the current itemset, ``support`` counts them, and ``left`` is the
        # number of members that may still be added, from ``begin`` on.
        for number in range(begin, self.n_members):
            self._meet(depth, self.members[number], depth + 1)
            found = self._count(depth + 1)
            if 0 < found < self.k:
                return False
            # If all rows of the itemset contain the member, its supersets are visited without the member.
            if left > 1 and 0 < found < support and not self._spread(depth + 1, number + 1, left - 1, found):
                return False
        return True

    def has(self, term: Py_ssize_t, row: Py_ssize_t) -> bint:
        """Return whether a row contains a term."""
        return (self.words[term * self.n_words + (row >> 6)] >> (row & 63)) & 1

    def _meet(self, depth: Py_ssize_t, term: Py_ssize_t, to: Py_ssize_t) -> void:
        """Intersect the rows of the current itemset with those of a term."""
        for word in range(self.n_words):
            self.held[to * self.n_words + word] = (
                self.held[depth * self.n_words + word] & self.words[term * self.n_words + word]
            )

    def _count(self, depth: Py_ssize_t) -> int64:
        """Count the rows of the current itemset."""
        total = 0
        for word in range(depth * self.n_words, (depth + 1) * self.n_words):
            total += count_bits(self.held[word])
        return total

    def rows_of(self, chunk: int64) -> int64:
        """Count the rows that contain a term of a chunk."""
        for word in range(self.n_words):
            self.held[word] = 0
        for term in range(self.n_terms):
            if self.chunk[term] == chunk:
                for word in range(self.n_words):
                    self.held[word] |= self.words[term * self.n_words + word]
        return self._count(0)


# --- Chunks of each cluster


def split_terms(
    k: int64,
    m: int64,
    safe: bint,
    rows: Numbers,
    starts: Numbers,
    codes: Codes,
    offsets: Numbers,
    block: Codes,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Split the terms of each cluster into chunks.

    Cluster ``c`` is ``rows[starts[c]:starts[c + 1]]``. With ``safe``, two terms of different chunks never
    have so many rows that at least one row must contain both.

    Return the chunk of each occurrence, by its position in ``codes``: 1 or more, 0 for the term chunk. Return
    also the number of sub-records and of chunks of each cluster.
    """
    chunk_of: int32s = np.zeros(len(codes), np.int32)
    totals: int64s
    n_chunks: int64s
    totals, n_chunks = np.zeros((2, len(starts) - 1), np.int64)
    count: int64s
    slot_of: int64s
    found: int32s = np.empty(len(block), np.int32)
    count, slot_of = np.zeros((2, len(block)), np.int64)
    terms = Terms(k, m)
    with nogil:
        for cluster in range(starts.shape[0] - 1):
            n_found = _gather(cluster, rows, starts, codes, offsets, count, found)
            terms.open(n_found, starts[cluster + 1] - starts[cluster])
            sort_by(found, 0, n_found, count, -1)
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


@cfunc
@nogil
@exceptval(check=False)
def _gather(
    cluster: Py_ssize_t,
    rows: Numbers,
    starts: Numbers,
    codes: Codes,
    offsets: Numbers,
    count: int64s,
    found: int32s,
) -> Py_ssize_t:
    """Count and list the terms of a cluster; return their number."""
    n_found: Py_ssize_t = 0
    for at in range(starts[cluster], starts[cluster + 1]):
        for slot in range(offsets[rows[at]], offsets[rows[at] + 1]):
            if count[codes[slot]] == 0:
                found[n_found] = codes[slot]
                n_found += 1
            count[codes[slot]] += 1
    return n_found


@cfunc
@nogil
@exceptval(check=False)
def _fill(
    terms: Terms,
    cluster: Py_ssize_t,
    n_found: Py_ssize_t,
    rows: Numbers,
    starts: Numbers,
    codes: Codes,
    offsets: Numbers,
    block: Codes,
    count: Numbers,
    slot_of: int64s,
    found: Codes,
) -> void:
    """Enter the terms of a cluster with their supports, blocks and rows."""
    for number in range(n_found):
        slot_of[found[number]] = number
        terms.items[number] = found[number]
        terms.supports[number] = count[found[number]]
        terms.blocks[number] = block[found[number]]
    for at in range(starts[cluster], starts[cluster + 1]):
        for slot in range(offsets[rows[at]], offsets[rows[at] + 1]):
            terms.note(slot_of[codes[slot]], at - starts[cluster])


@cfunc
@nogil
@exceptval(check=False)
def _write(
    terms: Terms,
    cluster: Py_ssize_t,
    rows: Numbers,
    starts: Numbers,
    codes: Codes,
    offsets: Numbers,
    slot_of: Numbers,
    chunk_of: int32s,
) -> void:
    for at in range(starts[cluster], starts[cluster + 1]):
        for slot in range(offsets[rows[at]], offsets[rows[at] + 1]):
            chunk_of[slot] = terms.chunk[slot_of[codes[slot]]]


@cfunc
@nogil
@exceptval(check=False)
def _leave_none_empty(terms: Terms, n_rows: int64) -> void:
    """Move the rarest term to the term chunk if that chunk is empty and there are too few sub-records."""
    # No row is empty. If k sub-records of several chunks are joined on the same k rows, the others must still
    # suffice for all other rows.
    for term in range(terms.n_terms):
        if terms.chunk[term] == 0:
            return
    total, n_chunks = _counted(terms)
    if total < n_rows + terms.k * (min(terms.m, n_chunks) - 1):
        terms.chunk[terms.n_terms - 1] = 0


@cfunc
@nogil
@exceptval(check=False)
def _counted(terms: Terms) -> tuple[int64, int64]:
    """Count the sub-records, and the chunks that have any."""
    total = 0
    n_chunks: int64 = 0
    for chunk in range(1, terms.n_chunks + 1):
        rows = terms.rows_of(chunk)
        total += rows
        n_chunks += rows > 0
    return total, n_chunks


@cfunc
@nogil
@exceptval(check=False)
def _uncover(terms: Terms, n_rows: int64) -> void:
    """Move the most frequent term to the term chunk while it must share a row with another chunk's."""
    # Two terms must share a row if the sum of their supports exceeds the number of rows. A term chunk
    # publishes no supports, so each of its terms counts as one row.
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


# --- Joint clusters: share chunks of the terms that term chunks have in common
#
# Clusters that share a chunk form a joint cluster, which can be joined again. A group is a cluster or a joint
# cluster. A term of a group is open if it is in term chunks only; otherwise it is closed.


@final
@cclass
class JointClusters:
    """Clusters and joint clusters, numbered in order of creation.

    Each shared chunk has the guarantee of k and m, and all its terms have the same block. With ``safe``, two
    terms of different chunks never have so many rows that one row must contain both.

    ``lists`` has cluster by cluster: the start of the terms of each, the terms in ascending order, the
    support of each in the cluster, and whether it is open.
    """

    k: int64
    safe: bint
    rows: Numbers
    starts: Numbers  # cluster c is `rows[starts[c]:starts[c + 1]]`
    codes: Codes
    offsets: Numbers
    block: Codes  # of each term
    chunk_of: int32s  # of each occurrence; 0 for a term chunk; shared chunks are written to it
    needs_term: Flags  # whether the term chunk of a cluster must not become empty
    owner_of = declare(int32s, visibility="readonly")  # group of each occurrence, or -1
    n_groups = declare(Py_ssize_t, visibility="readonly")
    parent = declare(int64s, visibility="readonly")  # joint cluster of a group, or -1
    size = declare(int64s, visibility="readonly")  # rows of each group
    n_clusters: int64s
    most: int64s  # largest published support of a term, by group
    head: int64s  # first cluster of each group
    tail: int64s
    after: int64s  # next cluster of the same group, or -1
    n_left: int64s  # terms in the term chunk of each cluster
    n_open = declare(int64s, visibility="readonly")
    first = declare(int64s, visibility="readonly")  # first term of each group
    length = declare(int64s, visibility="readonly")
    items = declare(int64s, visibility="readonly")  # the terms, group after group
    open = declare(int64s, visibility="readonly")  # whether each is open: 0 or 1
    supports: int64s  # support of each
    shown: int64s  # published support of each: 1 in a term chunk
    end: Py_ssize_t
    count: int64s  # support of each term to share, 0 of all others
    slot: int64s
    found: int32s
    n_found: Py_ssize_t
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
        self.count, self.found = np.zeros(n_items, np.int64), np.empty(n_items, np.int32)
        self.slot, self.n_found = np.full(n_items, -1, np.int64), 0

    def join_neighbours(self, order: Numbers) -> int:
        """Join adjacent groups that have terms to share; return the number of joint clusters made."""
        at: Py_ssize_t = 0
        before = self.n_groups
        with nogil:
            while at + 1 < order.shape[0]:
                at += 2 if self._join(order[at], order[at + 1]) else 1
        return self.n_groups - before

    @cfunc
    @nogil
    @exceptval(-1)
    def _join(self, one: int64, other: int64) -> int32:
        """Join two groups if they have terms to share; return whether they have."""
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _find_terms(self, one: int64, other: int64) -> void:
        """List the terms to share: open in both groups, and frequent enough."""
        # The support must be at least k, and more than the number of clusters. Otherwise the term chunks
        # publish as much, and the cluster in addition.
        a = self.first[one]
        b = self.first[other]
        end_a = a + self.length[one]
        end_b = b + self.length[other]
        n_rows = self.size[one] + self.size[other]
        least = max(self.k, self.n_clusters[one] + self.n_clusters[other] + 1)
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _uncover(self, one: int64, other: int64, n_rows: int64) -> void:
        """Leave out each term that would have to share a row with a term of another chunk."""
        # Two terms must share a row if the sum of their published supports exceeds the number of rows.
        most = self.most[one] + self.most[other]
        for number in range(self.n_found - 1, -1, -1):
            if self.count[self.found[number]] + max(most, self.count[self.found[number]]) > n_rows:
                self._leave(self.found[number])

    @cfunc
    @nogil
    @exceptval(check=False)
    def _spare_term_chunks(self, group: int64) -> void:
        """Leave the rarest shared term in its cluster if a term chunk would become empty that must not."""
        n_shared: int64
        cluster = self.head[group]
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _leave(self, item: int64) -> void:
        """Remove a term from the list of terms to share."""
        kept: Py_ssize_t = 0
        self.count[item] = 0
        for number in range(self.n_found):
            if self.found[number] != item:
                self.found[kept] = self.found[number]
                kept += 1
        self.n_found = kept

    @cfunc
    @nogil
    @exceptval(-1)
    def _share(self, group: Py_ssize_t) -> int32:
        """Divide the shared terms into chunks, and write the chunk of each occurrence."""
        n_shared: int64
        begin = 0
        sort_by(self.found, 0, self.n_found, self.count, -1)
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

    @cfunc
    @nogil
    @exceptval(check=False)
    def _walk(self, cluster: int64, begin: int64, group: int64) -> void:
        """Visit the occurrences of shared terms in a cluster."""
        # With ``group`` -1, note the row of each. Otherwise, write its group and chunk.
        for at in range(self.starts[cluster], self.starts[cluster + 1]):
            for place in range(self.offsets[self.rows[at]], self.offsets[self.rows[at] + 1]):
                number = self.slot[self.codes[place]]
                if number < 0:
                    continue
                if group < 0:
                    self.terms.note(number, begin + at - self.starts[cluster])
                else:
                    self.owner_of[place] = group
                    self.chunk_of[place] = self.terms.chunk[number]

    @cfunc
    @nogil
    @exceptval(-1)
    def _merge(self, one: int64, other: int64, new: Py_ssize_t) -> int32:
        """List the terms of a joint cluster."""
        # A term is closed if the joint cluster shares it, or if it is closed in one of the two groups.
        a = self.first[one]
        b = self.first[other]
        end_a = a + self.length[one]
        end_b = b + self.length[other]
        needed = self.end + self.length[one] + self.length[other]
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
