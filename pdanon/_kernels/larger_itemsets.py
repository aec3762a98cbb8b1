"""Itemsets of many clusters: whether a move of items makes one of them rare.

Smaller ones are known to be safe, so that only rows with more clusters matter.

Before the move, the support of each itemset of up to m clusters is 0 or at least k. The move changes the
support of an itemset only if it contains a cluster that gains or loses rows, and a single changed row
has all its other clusters. So the search visits the itemsets of the changed rows, depth first, each with the
rows that contain it and the cluster.

If m is at least the length of all rows, only whole rows count: of all itemsets in a row, the row itself has
the least support.
"""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cast,
    cclass,
    declare,
    final,
    int as int32,
    longlong as int64,
    ulonglong as uint64,
    void,
)
from cython.cimports.pdanon._kernels.counting import Rows, sort_part
from numpy.typing import NDArray

__all__ = ["LargerItemsets"]

Array = NDArray[Any]


@final
@cclass
class LargerItemsets:
    """A check of itemsets of up to m clusters, with its work space; see ``larger_itemsets.pxd``.

    Itemsets of more than ``known`` and up to m clusters are checked, in distinct rows of items. A support in
    (0, k) is rare. ``slots`` is the number of clusters.
    """

    def __init__(self, *, k: int, known: int, m: int, rows: Rows, slots: int) -> None:
        n, n_rows, n_codes = len(rows.starts) - 1, len(rows.weights), len(rows.codes)
        longest = int(np.diff(rows.offsets).max(initial=0))
        self.k, self.known, self.rows, self.by_rows = k, known, rows, m >= longest
        levels = 0 if self.by_rows else m - 1
        self.moved, self.has_moved = np.zeros(n, np.int32), np.zeros(n, np.uint8)
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

    def is_safe(self, cluster: int64, n_moved: Py_ssize_t, label: int64[::1]) -> bint:
        """Return whether no itemset with a cluster is rare after the first ``n_moved`` of ``moved`` moved.

        ``label`` has the clusters of all items after the move; -1 stands for no cluster. If an itemset is
        rare, ``path`` has its other clusters.
        """
        i: int64
        for i in range(n_moved):
            self.has_moved[self.moved[i]] = True
        self._list_changed(cluster, n_moved, label)
        for i in range(n_moved):
            self.has_moved[self.moved[i]] = False
        if self.n_changed == 0:
            return True
        self._list_rows(cluster, label)
        if self.by_rows:
            return self._rows_are_safe()
        for i in range(self.n_rows):
            self.node_rows[i] = cast(int32, i)
            self.node_places[i] = cast(int32, self.offsets[i])
        return self._visit(0, 0, self.n_rows, self.n_rows)

    def _list_changed(self, cluster: int64, n_moved: Py_ssize_t, label: int64[::1]) -> void:
        """List the rows that the cluster has gained or lost: none of its other items is in them."""
        declare(i=Py_ssize_t, slot=int64, row=int64)
        declare(position=int64, item=int64, keeps=bint)
        self.stamp += 1
        self.changes = self.stamp
        self.n_rows = 0
        for i in range(n_moved):
            for slot in range(self.rows.starts[self.moved[i]], self.rows.starts[self.moved[i] + 1]):
                row = self.rows.tids[slot]
                if self.listed[row] == self.changes:
                    continue
                self.listed[row] = self.changes
                keeps = False
                for position in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
                    item = self.rows.codes[position]
                    if label[item] == cluster and not self.has_moved[item]:
                        keeps = True
                if not keeps:
                    self._list(row, cluster, True, label)
        self.n_changed = self.n_rows

    def _list_rows(self, cluster: int64, label: int64[::1]) -> void:
        """List the rows of the cluster, reduced to clusters of changed rows."""
        declare(x=Py_ssize_t, slot=int64, row=int64)
        self.stamp += 1
        mark: int64 = self.stamp
        for x in range(label.shape[0]):
            if label[x] != cluster:
                continue
            for slot in range(self.rows.starts[x], self.rows.starts[x + 1]):
                row = self.rows.tids[slot]
                if self.listed[row] != mark:
                    self.listed[row] = mark
                    self._list(row, cluster, False, label)

    def _list(
        self,
        row: int64,
        cluster: int64,
        changed: bint,
        label: int64[::1],
    ) -> void:
        """List a row without the cluster if it is long enough: all of it, or its clusters of changed rows."""
        declare(position=int64, c=int64, end=int64)
        sign: uint64 = 0
        whole: bint = True
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
            self.codes[end] = cast(int32, c)
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
        declare(i=int64, j=int64, support=int64)
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
        declare(position=int64, end=int64, at=int64)
        if self.signs[j] & ~self.signs[i]:
            return False
        position, end = self.offsets[i], self.offsets[i + 1]
        for at in range(self.offsets[j], self.offsets[j + 1]):
            while position < end and self.codes[position] < self.codes[at]:
                position += 1
            if position == end or self.codes[position] != self.codes[at]:
                return False
        return True

    # --- Itemsets, depth first

    def _visit(
        self,
        depth: Py_ssize_t,
        begin: int64,
        end: int64,
        free: int64,
    ) -> bint:
        """Return whether no itemset with one cluster more than a node, or below it, is rare.

        The node has the rows ``node_rows[begin:end]``, and ``depth`` clusters besides the current one. Its
        children are written from ``free`` on. If an itemset is rare, ``path`` has its other clusters.
        """
        declare(i=int64, n=int64, c=int32, after=int64)
        declare(safe=bint)
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
        """List the clusters that changed rows of a node continue with; return their number.

        ``counts`` has their supports, ``ends`` the numbers of rows of the children.
        """
        declare(i=int64, place=int64, row=int64, c=int32)
        declare(n=int64, last=int64)
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

    def _fill_children(
        self,
        depth: Py_ssize_t,
        begin: int64,
        end: int64,
        n: int64,
        free: int64,
    ) -> int64:
        """Write the rows of all children from ``free`` on, child by child; return where all end.

        ``ends`` then has where the rows of each child end. Rows that are too short are left out.
        """
        declare(i=int64, place=int64, row=int64, c=int32)
        declare(at=int64, size=int64)
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
                    self.node_rows[at] = cast(int32, row)
                    self.node_places[at] = cast(int32, place + 1)
                    self.ends[depth, c] = at + 1
        return free
