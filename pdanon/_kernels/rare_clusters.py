"""Rare clusters, pairs and itemsets: merge or suppress clusters until nothing is rare, or check a move.

A support in (0, k) is rare. ``clusters`` has the state, and applies one step.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cast,
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
from cython.cimports.pdanon._kernels.clusters import (
    State,
    coarsen,
    count,
    forget,
    image_of,
    is_longer,
    together,
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
    sort_part,
    uint8s,
)
from numpy.typing import NDArray

__all__ = [
    "Bitmaps",
    "LargerItemsets",
    "RarePartners",
    "coarsen_each",
    "itemset_supports",
    "satisfy_itemsets",
    "satisfy_pairs",
]

# --- Clusters, and pairs of them


UNKNOWN = declare(int32, -2)  # a partner that must be looked up


@final
@cclass
class RarePartners:
    """The largest rare support of each cluster: its own, or that with another cluster, its partner."""

    # A support in (0, k) is rare. Without ``pairs``, only single clusters count. A pair is stored with the
    # cluster whose rows are faster to read. A tournament finds the first of all: by descending support, then
    # single clusters before pairs, then by labels.

    def __init__(self, k: int64, pairs: bint, state: State) -> None:
        i: int32
        n = state.label.shape[0]
        self.k, self.pairs = k, pairs
        self.base = 1
        while self.base < n:
            self.base *= 2
        self.partner, self.support = np.full(self.base, -1, np.int32), np.zeros(self.base, np.int32)
        self.unknown, self.n_unknown = np.empty(2 * n, np.int32), 0  # a cluster may be listed twice
        for i in range(state.n_active):
            a = state.active[i]
            if state.support[a] < k:
                self.partner[a], self.support[a] = a, state.support[a]
            elif pairs:
                self.look_up_later(a)
        self.winner = np.concatenate((np.zeros(self.base, np.int32), np.arange(self.base, dtype=np.int32)))
        for i in range(self.base - 1, 0, -1):
            self.winner[i] = self.better(self.winner[2 * i], self.winner[2 * i + 1])

    def look_up_some(self, limit: int64, state: State) -> int:
        """Find the partners of up to ``limit`` clusters; return the number of clusters left."""
        with nogil:
            while limit > 0 and self.n_unknown:
                self.look_up_one(state)
                limit -= 1
        return self.n_unknown

    def look_up_later(self, a: int32) -> void:
        """Note that the partner of a cluster is unknown."""
        self.partner[a], self.support[a] = UNKNOWN, 0
        self.unknown[self.n_unknown] = a
        self.n_unknown += 1

    def look_up_one(self, state: State) -> void:
        """Find the partner of the next cluster, if it is still unknown."""
        self.n_unknown -= 1
        a = self.unknown[self.n_unknown]
        if self.partner[a] != UNKNOWN:
            return
        self.partner[a] = -1
        n = count(a, state)
        for i in range(n):
            if is_longer(state.touched[i], a, state):
                self.consider(a, state.touched[i], state.counts[state.cell[state.touched[i]]], state)
        forget(n, state)
        self.enter(a)

    def consider(self, a: int32, r: int32, both: int32, state: State) -> bint:
        """Make r the partner of a if it comes before the current one; return whether it does."""
        if both >= self.k or state.support[r] < self.k:
            return False
        if both < self.support[a] or (both == self.support[a] and r > self.partner[a]):
            return False
        self.support[a], self.partner[a] = both, r
        return True

    def refresh(self, a: int32, b: int32, state: State) -> void:
        """Update the partners after b was merged into a."""
        # After a suppression, a is the suppressed cluster, and b equals a.
        i: int32
        n: int32 = 0
        self.support[a] = self.support[b] = 0
        self.partner[a] = self.partner[b] = -1
        if state.label[a] < 0:
            for i in range(state.n_active):
                r = state.active[i]
                if self.partner[r] == a:
                    self.look_up_later(r)
                    self.enter(r)
        elif state.support[a] < self.k:
            self.support[a], self.partner[a] = state.support[a], a
        elif self.pairs:
            n = count(a, state)
            for i in range(n):
                self.meet(a, b, state.touched[i], state)
            forget(n, state)
        self.enter(a)
        self.enter(b)

    def meet(self, a: int32, b: int32, r: int32, state: State) -> void:
        """Update the partner of r or a for their pair, after b was merged into a."""
        both = state.counts[state.cell[r]]
        if self.partner[r] == a or self.partner[r] == b:
            if both < self.k and is_longer(a, r, state):
                self.support[r], self.partner[r] = both, a  # a merge never lowers a support: it stays first
            else:
                self.look_up_later(r)
            self.enter(r)
        if is_longer(r, a, state):
            self.consider(a, r, both, state)
        elif self.partner[r] != UNKNOWN and self.partner[r] != a and state.support[r] >= self.k:
            if self.consider(r, a, both, state):
                self.enter(r)

    def better(self, a: int32, b: int32) -> int32:
        """Return the cluster that comes first in the tournament."""
        if self.support[a] != self.support[b]:
            return a if self.support[a] > self.support[b] else b
        if self.support[a] == 0:
            return a
        if (self.partner[a] == a) != (self.partner[b] == b):
            return a if self.partner[a] == a else b
        order = min(a, self.partner[a]) - min(b, self.partner[b])
        if order == 0:
            order = max(a, self.partner[a]) - max(b, self.partner[b])
        return a if order < 0 else b

    def enter(self, a: int32) -> void:
        """Update the tournament for a cluster with a new partner or support."""
        place = (self.base + a) // 2
        while place:
            self.winner[place] = self.better(self.winner[2 * place], self.winner[2 * place + 1])
            place //= 2


def satisfy_pairs(least_first: bint, limit: int64, rare: RarePartners, state: State, halt: Flags) -> int:
    """Merge and suppress until no cluster, and no pair if pairs count, is rare; return the number of steps.

    The largest rare support comes first, then single clusters before pairs, then the order of labels. The
    number of steps is limited to about ``limit``, so that the caller can report progress; the loop stops when
    ``halt[0]`` is set.
    """
    itemset: int32s = np.empty(2, np.int32)
    steps = 0
    with nogil:
        while steps < limit and state.refused < 0:
            while rare.n_unknown:
                rare.look_up_one(state)
            itemset[0] = rare.winner[1]
            itemset[1] = rare.partner[itemset[0]]
            if rare.support[itemset[0]] == 0:
                break
            steps += _satisfy_pair(itemset, least_first, state, rare, halt)
            if halt[0]:
                break
    return steps


@cfunc
@nogil
@exceptval(check=False)
def _satisfy_pair(itemset: Codes, least_first: bint, state: State, rare: RarePartners, halt: Flags) -> int64:
    """Merge and suppress until a cluster, or a pair of clusters, is not rare; return the number of steps."""
    support = 0
    steps: int64 = 0
    n = image_of(itemset, 0, 2, state)
    while n > 0 and support < rare.k and not halt[0]:
        a, b = coarsen(n, least_first, state)
        if a < 0:
            break
        steps += 1
        rare.refresh(a, b, state)
        n = image_of(itemset, 0, 2, state)
        support = state.support[state.image[0]]
        if n == 2:
            support = together(state.image[0], state.image[1], state)
    return steps


# --- Given itemsets


@final
@cclass
class Bitmaps:
    """The rows of each item or cluster, one bit a row."""

    def __init__(self, codes: Codes, offsets: Numbers, weights: Numbers, n_items: Py_ssize_t) -> None:
        one: uint64 = 1
        self.bits = np.zeros((n_items, (len(offsets) + 62) // 64), np.uint64)
        self.weights = weights
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                self.bits[codes[position], row >> 6] |= one << (row & 63)

    def unite(self, a: int32, b: int32) -> void:
        """Add the rows of b to the rows of a."""
        for i in range(self.bits.shape[1]):
            self.bits[a, i] |= self.bits[b, i]

    def support(self, n: int32, enough: int64, state: State) -> int64:
        """Return the support of an image of n clusters; stop at ``enough``."""
        common: uint64
        total = 0
        for word in range(self.bits.shape[1] if n else 0):
            common = self.bits[state.image[0], word]
            for i in range(1, n):
                common &= self.bits[state.image[i], word]
            while common:
                total += self.weights[64 * word + first_bit(common)]
                common &= common - 1
            if total >= enough:
                break
        return total


def itemset_supports(
    sets: Codes, set_offsets: Numbers, enough: int64, bitmaps: Bitmaps, state: State
) -> NDArray[np.int64]:
    """Return the support of the image of each itemset, or any number of at least ``enough``."""
    result = np.empty(len(set_offsets) - 1, np.int64)
    supports: int64s = result
    i: Py_ssize_t
    with nogil:
        for i in range(supports.shape[0]):
            n = image_of(sets, set_offsets[i], set_offsets[i + 1], state)
            supports[i] = bitmaps.support(n, enough, state)
    return result


def satisfy_itemsets(
    k: int64,
    least_first: bint,
    limit: int64,
    sets: Codes,
    set_offsets: Numbers,
    begin: Py_ssize_t,
    bitmaps: Bitmaps,
    state: State,
) -> tuple[int, int]:
    """Merge and suppress until no image of a given itemset is rare, one itemset after the other.

    ``bitmaps`` has the rows of the clusters, and is updated. The number of steps is limited to about
    ``limit``, from itemset ``begin`` on. Return the number of steps, and the itemset to continue with.
    """
    steps: int64 = 0
    with nogil:
        while begin < set_offsets.shape[0] - 1 and steps < limit and state.refused < 0:
            n = image_of(sets, set_offsets[begin], set_offsets[begin + 1], state)
            while 0 < bitmaps.support(n, k, state) < k:
                a, b = coarsen(n, least_first, state)
                if a < 0:
                    break
                bitmaps.unite(a, b)
                steps += 1
                n = image_of(sets, set_offsets[begin], set_offsets[begin + 1], state)
            begin += 1
    return steps, begin


def coarsen_each(sets: Codes, set_offsets: Numbers, state: State) -> int:
    """Generalize the image of each itemset by one merge, unless changed before; return the merges."""
    changed: uint8s = np.zeros(state.label.shape[0], np.uint8)
    merges: int64 = 0
    with nogil:
        for i in range(set_offsets.shape[0] - 1):
            is_changed: bint = state.n_active < 2
            for place in range(set_offsets[i], set_offsets[i + 1]):
                is_changed |= changed[state.label[sets[place]]]
            if is_changed:
                continue
            n = image_of(sets, set_offsets[i], set_offsets[i + 1], state)
            a, _ = coarsen(n, False, state)
            changed[a] = 1
            merges += 1
    return merges


# --- Itemsets of many clusters: whether a move of items makes one of them rare
#
# Smaller ones are known to be safe, so that only rows with more clusters matter.
#
# Before the move, the support of each itemset of up to m clusters is 0 or at least k. The move changes the
# support of an itemset only if it contains a cluster that gains or loses rows, and a single changed row has
# all its other clusters. So the search visits the itemsets of the changed rows, depth first, each with the
# rows that contain it and the cluster.
#
# If m is at least the length of all rows, only whole rows count: of all itemsets in a row, the row itself
# has the least support.


@final
@cclass
class LargerItemsets:
    """A check of itemsets of up to m clusters, with its work space; see ``rare_clusters.pxd``."""

    # Itemsets of more than ``known`` and up to m clusters are checked, in distinct rows of items. A support
    # in (0, k) is rare. ``slots`` is the number of clusters.

    def __init__(self, *, k: int, known: int, m: int, rows: Rows, slots: int) -> None:
        n_rows, n_codes = len(rows.weights), len(rows.codes)
        longest = int(np.diff(rows.offsets).max(initial=0))
        self.k, self.known, self.rows, self.by_rows = k, known, rows, m >= longest
        levels = 0 if self.by_rows else m - 1
        self.stamp, self.changes, self.n_changed, self.n_rows = 0, 0, 0, 0
        self.listed = np.zeros(n_rows, np.int64)
        self.seen, self.used = np.zeros((2, slots), np.int64)
        self.codes, self.offsets = np.zeros(2 * n_codes, np.int32), np.zeros(2 * n_rows + 1, np.int64)
        self.weights, self.signs = np.zeros(2 * n_rows, np.int64), np.zeros(2 * n_rows, np.uint64)
        self.is_whole = np.zeros(2 * n_rows, np.uint8)
        room = 2 * n_rows + 2 * n_codes * max(levels - 1, 0) if levels else 0
        self.node_rows, self.node_places = np.zeros((2, room), np.int32)
        self.counts, self.ends = np.zeros((2, levels, slots), np.int64)
        self.extensions = np.zeros((levels, slots), np.int32)
        self.extends = np.zeros((levels, slots), np.uint8)
        self.path, self.n_path = np.zeros(slots, np.int32), 0

    def is_safe(self, cluster: int64, moved: int64, label: int64s) -> bint:
        """Return whether no itemset with a cluster is rare after an item has moved to it or left it."""
        # ``label`` has the clusters of all items after the move; -1 stands for no cluster. If an itemset is
        # rare, ``path`` has its other clusters.
        self._list_changed(cluster, moved, label)
        if self.n_changed == 0:
            return True
        self._list_rows(cluster, label)
        if self.by_rows:
            return self._rows_are_safe()
        for i in range(self.n_rows):
            self.node_rows[i] = i
            self.node_places[i] = self.offsets[i]
        return self._visit(0, 0, self.n_rows, self.n_rows)

    def _list_changed(self, cluster: int64, moved: int64, label: int64s) -> void:
        """List the rows that the cluster has gained or lost: none of its other items is in them."""
        row: int64
        item: int64
        self.stamp += 1
        self.changes = self.stamp
        self.n_rows = 0
        for slot in range(self.rows.starts[moved], self.rows.starts[moved + 1]):
            row = self.rows.tids[slot]
            self.listed[row] = self.changes
            keeps = False
            for position in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
                item = self.rows.codes[position]
                if label[item] == cluster and item != moved:
                    keeps = True
            if not keeps:
                self._list(row, cluster, True, label)
        self.n_changed = self.n_rows

    def _list_rows(self, cluster: int64, label: int64s) -> void:
        """List the rows of the cluster, reduced to clusters of changed rows."""
        row: int64
        self.stamp += 1
        mark = self.stamp
        for x in range(label.shape[0]):
            if label[x] != cluster:
                continue
            for slot in range(self.rows.starts[x], self.rows.starts[x + 1]):
                row = self.rows.tids[slot]
                if self.listed[row] != mark:
                    self.listed[row] = mark
                    self._list(row, cluster, False, label)

    def _list(self, row: int64, cluster: int64, changed: bint, label: int64s) -> void:
        """List a row without the cluster if it is long enough: all of it, or its clusters of changed rows."""
        sign = 0
        whole = True
        end = self.offsets[self.n_rows]
        self.stamp += 1
        for position in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            c = label[self.rows.codes[position]]
            if c < 0 or c == cluster or self.seen[c] == self.stamp:
                continue
            self.seen[c] = self.stamp
            if not changed and self.used[c] != self.changes:
                whole = False
                continue
            sign |= cast(uint64, 1) << (c & 63)
            self.codes[end] = c
            end += 1
        if end - self.offsets[self.n_rows] < self.known:
            return
        for position in range(self.offsets[self.n_rows], end if changed else 0):
            self.used[self.codes[position]] = self.changes
        sort_part(self.codes, self.offsets[self.n_rows], end)
        self.weights[self.n_rows], self.signs[self.n_rows] = self.rows.weights[row], sign
        self.is_whole[self.n_rows] = whole
        self.n_rows += 1
        self.offsets[self.n_rows] = end

    # --- Whole rows

    def _rows_are_safe(self) -> bint:
        """Return whether each row of the cluster that is part of a changed row is in at least k of them."""
        for i in range(self.n_changed, self.n_rows):
            if not self.is_whole[i]:
                continue
            for j in range(self.n_changed):
                if self._contains(j, i):
                    break
            else:
                continue
            support = 0
            for j in range(self.n_changed, self.n_rows):
                if self._contains(j, i):
                    support += self.weights[j]
                    if support >= self.k:
                        break
            if support < self.k:
                self.n_path = 0
                for j in range(self.offsets[i], self.offsets[i + 1]):
                    self.path[self.n_path] = self.codes[j]
                    self.n_path += 1
                return False
        return True

    def _contains(self, i: int64, j: int64) -> bint:
        """Return whether listed row i contains all clusters of listed row j."""
        if self.signs[j] & ~self.signs[i]:
            return False
        begin, first = self.offsets[i], self.offsets[j]
        return contains(self.codes, begin, self.offsets[i + 1], self.codes, first, self.offsets[j + 1])

    # --- Itemsets, depth first

    def _visit(self, depth: Py_ssize_t, begin: int64, end: int64, free: int64) -> bint:
        """Return whether no itemset with one cluster more than a node, or below it, is rare."""
        # The node has the rows ``node_rows[begin:end]``, and ``depth`` clusters besides the current one. Its
        # children are written from ``free`` on. If an itemset is rare, ``path`` has its other clusters.
        n = self._count_extensions(depth, begin, end)
        safe = True
        for i in range(n if depth + 2 > self.known else 0):
            c = self.extensions[depth, i]
            if 0 < self.counts[depth, c] < self.k:
                self.path[depth], self.n_path, safe = c, depth + 1, False
                break
        if safe and depth + 1 < self.counts.shape[0]:
            after = self._fill_children(depth, begin, end, n, free)
            for i in range(n):
                c = self.extensions[depth, i]
                self.path[depth] = c
                if self.counts[depth, c] and not self._visit(depth + 1, free, self.ends[depth, c], after):
                    safe = False
                    break
                free = self.ends[depth, c]
        for i in range(n):
            c = self.extensions[depth, i]
            self.extends[depth, c], self.counts[depth, c], self.ends[depth, c] = False, 0, 0
        return safe

    def _count_extensions(self, depth: Py_ssize_t, begin: int64, end: int64) -> int64:
        """List the clusters that changed rows of a node continue with; return their number."""
        # ``counts`` has their supports, ``ends`` the numbers of rows of the children.
        row: int64
        n: int64
        n = 0
        for i in range(begin, end):
            row = self.node_rows[i]
            last = self.offsets[row + 1] - max(self.known - depth - 1, 1)
            for place in range(self.node_places[i], self.offsets[row + 1]):
                c = self.codes[place]
                if row >= self.n_changed:
                    if not self.extends[depth, c]:
                        continue
                    self.counts[depth, c] += self.weights[row]
                elif not self.extends[depth, c]:
                    self.extends[depth, c], self.extensions[depth, n] = True, c
                    n += 1
                self.ends[depth, c] += place < last
        return n

    def _fill_children(self, depth: Py_ssize_t, begin: int64, end: int64, n: int64, free: int64) -> int64:
        """Write the rows of all children from ``free`` on, child by child; return where all end."""
        # ``ends`` then has where the rows of each child end. Rows that are too short are left out.
        row: int64
        for i in range(n):
            size = self.ends[depth, self.extensions[depth, i]]
            self.ends[depth, self.extensions[depth, i]] = free
            free += size
        for i in range(begin, end):
            row = self.node_rows[i]
            for place in range(self.node_places[i], self.offsets[row + 1] - max(self.known - depth - 1, 1)):
                c = self.codes[place]
                if self.extends[depth, c]:
                    at = self.ends[depth, c]
                    self.node_rows[at] = row
                    self.node_places[at] = place + 1
                    self.ends[depth, c] = at + 1
        return free
