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
    Numbers,
    count_bits,
    grown,
    int32s,
    int64s,
    sort_by,
    sort_part,
    uint8s,
)
from numpy.typing import NDArray

__all__ = ["Clusters", "Terms"]

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
        self.supports, self.blocks, self.chunk, self.members = np.zeros((4, n_terms), np.int64)
        self.words, self.held = np.zeros((2, n_words), np.uint64)
        return 0

    def open(self, n_terms: Py_ssize_t, n_rows: Py_ssize_t) -> int32:
        """Make room for ``n_terms`` terms, and clear their rows."""
        n_words = (n_rows + 63) // 64
        needed = (n_terms + 1) * n_words
        if n_terms > self.supports.shape[0] or needed > self.words.shape[0]:
            self._make_room(max(2 * n_terms, self.supports.shape[0]), max(2 * needed, self.words.shape[0]))
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


# --- Chunks of each cluster, and shared chunks of the terms that term chunks have in common
#
# Clusters that share a chunk form a joint cluster, which can be joined again. A group is a cluster or a joint
# cluster. A term of a group is open if it is in term chunks only; otherwise it is closed.


@final
@cclass
class Clusters:
    """Clusters and joint clusters, numbered in order of creation, and the chunk of each occurrence.

    Each chunk has the guarantee of k and m, and all terms of a shared chunk have the same block. With
    ``safe``, two terms of different chunks never have so many rows that one row must contain both.
    """

    safe: bint
    rows: Numbers
    starts: Numbers  # cluster c is `rows[starts[c]:starts[c + 1]]`
    codes: Codes
    offsets: Numbers
    block: Codes  # of each term
    chunk_of = declare(int32s, visibility="readonly")  # of each occurrence; 0 for a term chunk
    owner_of = declare(int32s, visibility="readonly")  # group of the chunk of each occurrence
    needs_term: uint8s  # whether the term chunk of a cluster must not become empty
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
    items = declare(int64s, visibility="readonly")  # the terms, group after group, ascending
    open = declare(int64s, visibility="readonly")  # whether each is open: 0 or 1
    supports: int64s  # support of each
    shown: int64s  # published support of each: 1 in a term chunk
    end: Py_ssize_t
    found: int32s  # the terms to divide
    n_found: Py_ssize_t
    count: int64s  # support of each of them, 0 of all others
    slot: int64s  # number of each in `terms`, -1 of all others
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
    ) -> None:
        n, n_items = len(starts) - 1, len(block)
        self.safe, self.terms = safe, Terms(k, m)
        self.rows, self.starts, self.codes, self.offsets, self.block = rows, starts, codes, offsets, block
        self.chunk_of, self.owner_of = np.zeros((2, len(codes)), np.int32)
        self.needs_term, self.n_left = np.zeros(n, np.uint8), np.zeros(n, np.int64)
        # n clusters form at most n - 1 joint clusters
        self.n_groups, self.parent, self.n_clusters = n, np.full(2 * n, -1), np.ones(2 * n, np.int64)
        self.size, self.n_open, self.most, self.first, self.length = np.zeros((5, 2 * n), np.int64)
        self.head, self.tail, self.after = np.arange(2 * n), np.arange(2 * n), np.full(n, -1)
        self.items, self.supports, self.shown, self.open = np.empty((4, len(codes)), np.int64)
        self.found, self.count = np.empty(n_items, np.int32), np.zeros(n_items, np.int64)
        self.slot, self.end, self.n_found = np.full(n_items, -1), 0, 0

    def split_terms(self) -> None:
        """Split the terms of each cluster into chunks."""
        with nogil:
            for cluster in range(self.n_groups):
                n_rows = self.size[cluster] = self.starts[cluster + 1] - self.starts[cluster]
                self._gather(cluster)
                self._enter_terms(n_rows)
                self._walk(cluster, 0, -1)
                self.terms.divide()
                self._leave_none_empty(n_rows)
                if self.safe:
                    self._uncover_chunks(n_rows)
                self.needs_term[cluster] = self._is_short(n_rows)
                self._walk(cluster, 0, cluster)
                self._list_terms(cluster)
                self._forget_terms()

    @cfunc
    @nogil
    @exceptval(check=False)
    def _gather(self, cluster: Py_ssize_t) -> void:
        """Count and list the terms of a cluster."""
        self.n_found = 0
        for at in range(self.starts[cluster], self.starts[cluster + 1]):
            for place in range(self.offsets[self.rows[at]], self.offsets[self.rows[at] + 1]):
                item = self.codes[place]
                if self.count[item] == 0:
                    self.found[self.n_found] = item
                    self.n_found += 1
                self.count[item] += 1

    @cfunc
    @nogil
    @exceptval(-1)
    def _enter_terms(self, n_rows: int64) -> int32:
        """Enter the listed terms with their supports and blocks, by descending support."""
        sort_by(self.found, 0, self.n_found, self.count, -1)
        self.terms.open(self.n_found, n_rows)
        for number in range(self.n_found):
            item = self.found[number]
            self.slot[item] = number
            self.terms.supports[number], self.terms.blocks[number] = self.count[item], self.block[item]
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _walk(self, cluster: int64, begin: int64, group: int64) -> void:
        """Visit the occurrences of the entered terms in a cluster."""
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
    @exceptval(check=False)
    def _forget_terms(self) -> void:
        """Reset the listed terms."""
        for number in range(self.n_found):
            self.count[self.found[number]] = 0
            self.slot[self.found[number]] = -1

    @cfunc
    @nogil
    @exceptval(check=False)
    def _leave_none_empty(self, n_rows: int64) -> void:
        """Move the rarest term to the term chunk if that chunk is empty and there are too few sub-records."""
        for term in range(self.n_found):
            if self.terms.chunk[term] == 0:
                return
        if self._is_short(n_rows):
            self.terms.chunk[self.n_found - 1] = 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _is_short(self, n_rows: int64) -> bint:
        """Return whether a cluster without a term chunk has too few sub-records."""
        # No row is empty. If k sub-records of several chunks are joined on the same k rows, the others must
        # still suffice for all other rows.
        total = 0
        n_chunks: int64 = 0
        for chunk in range(1, self.terms.n_chunks + 1):
            rows = self.terms.rows_of(chunk)
            total += rows
            n_chunks += rows > 0
        return n_chunks == 0 or total < n_rows + self.terms.k * (min(self.terms.m, n_chunks) - 1)

    @cfunc
    @nogil
    @exceptval(check=False)
    def _uncover_chunks(self, n_rows: int64) -> void:
        """Move the most frequent term to the term chunk while it must share a row with another chunk's."""
        # Two terms must share a row if the sum of their supports exceeds the number of rows. A term chunk
        # publishes no supports, so each of its terms counts as one row.
        while True:
            first, second = -1, 0
            for term in range(self.n_found):
                if self.terms.chunk[term] > 0 and first < 0:
                    first = term
                elif self.terms.chunk[term] == 0:
                    second = max(second, 1)
                elif self.terms.chunk[term] != self.terms.chunk[first]:
                    second = max(second, self.terms.supports[term])
            if first < 0 or self.terms.supports[first] + second <= n_rows:
                return
            self.terms.chunk[first] = 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _list_terms(self, cluster: Py_ssize_t) -> void:
        """List the terms of a cluster."""
        sort_part(self.found, 0, self.n_found)
        self.first[cluster], self.length[cluster] = self.end, self.n_found
        for number in range(self.n_found):
            item = self.found[number]
            is_open: bint = self.terms.chunk[self.slot[item]] == 0
            self._add_term(cluster, item, self.count[item], 1 if is_open else self.count[item], is_open)
        self.n_left[cluster] = self.n_open[cluster]

    @cfunc
    @nogil
    @exceptval(check=False)
    def _add_term(self, group: Py_ssize_t, item: int64, support: int64, shown: int64, is_open: int64) -> void:
        """List a term of the last group."""
        self.items[self.end], self.supports[self.end] = item, support
        self.shown[self.end], self.open[self.end] = shown, is_open
        self.end += 1
        self.n_open[group] += is_open
        self.most[group] = max(self.most[group], shown)

    # --- Joint clusters

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
        self._forget_terms()
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
        least = max(self.terms.k, self.n_clusters[one] + self.n_clusters[other] + 1)
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
        self._enter_terms(self.size[group])
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
        return 0

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
            self._add_term(new, item, support, shown, is_open)
        self.length[new] = self.end - self.first[new]
        return 0
