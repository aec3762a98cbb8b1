"""Itemsets of many clusters: whether a move of items makes one of them rare.

Before the move, the support of each itemset of up to m clusters is 0 or at least k. The move changes the
support of an itemset only if it contains a cluster that gains or loses rows, and one of these changed rows
has all its other clusters. So the search visits the itemsets of the changed rows, depth first, each with the
rows that contain it and the cluster.

If m is at least the length of all rows, only whole rows count: of all itemsets in a row, the row itself has
the least support.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.pdanon._kernels.counting import Rows, sort_part
from numpy.typing import NDArray

__all__ = ["LargerItemsets"]

Array = NDArray[Any]


@cython.final
@cython.cclass
class LargerItemsets:
    """A check of itemsets of up to m clusters, with its work space; see ``larger_itemsets.pxd``.

    Parameters
    ----------
    k : int
        A support in (0, k) is rare.
    m : int
        Largest size of an itemset.
    rows : Rows
        Distinct rows of items.
    slots : int
        Number of clusters.
    """

    def __init__(self, *, k: int, m: int, rows: Rows, slots: int) -> None:
        n, n_rows, n_codes = len(rows.starts) - 1, len(rows.weights), len(rows.codes)
        longest = int(np.diff(rows.offsets).max(initial=0))
        self.k, self.rows, self.by_rows = k, rows, m >= longest
        levels = 0 if self.by_rows else m - 1
        self.moved, self.has_moved = np.zeros(n, np.int32), np.zeros(n, np.uint8)
        self.stamp, self.changes, self.n_changed, self.n_rows = 0, 0, 0, 0
        self.listed = np.zeros(n_rows, np.int64)
        self.seen, self.used = np.zeros((2, slots), np.int64)
        self.codes, self.offsets = np.zeros(2 * n_codes, np.int32), np.zeros(2 * n_rows + 1, np.int64)
        self.weights, self.signs = np.zeros(2 * n_rows, np.int64), np.zeros(2 * n_rows, np.uint64)
        self.is_whole = np.zeros(2 * n_rows, np.uint8)
        self.node_rows, self.node_places = np.zeros((2, 2 * n_rows * levels), np.int32)
        self.counts = np.zeros((levels, slots), np.int64)
        self.extensions = np.zeros((levels, slots), np.int32)
        self.extends = np.zeros((levels, slots), np.uint8)

    def stay_safe(
        self,
        a: cython.longlong,
        b: cython.longlong,
        n_moved: cython.Py_ssize_t,
        label: cython.longlong[::1],
    ) -> cython.bint:
        """Return whether no itemset is rare after the first ``n_moved`` items of ``moved`` changed clusters.

        They moved between a and b; -1 stands for no cluster. ``label`` has the clusters of all items.
        """
        i: cython.Py_ssize_t
        for i in range(n_moved):
            self.has_moved[self.moved[i]] = True
        safe: cython.bint = (a < 0 or self._is_safe(a, n_moved, label)) and (
            b < 0 or self._is_safe(b, n_moved, label)
        )
        for i in range(n_moved):
            self.has_moved[self.moved[i]] = False
        return safe

    def _is_safe(
        self, cluster: cython.longlong, n_moved: cython.Py_ssize_t, label: cython.longlong[::1]
    ) -> cython.bint:
        """Return whether no itemset with the cluster, and otherwise clusters of a changed row, is rare."""
        self._list_changed(cluster, n_moved, label)
        total = self._list_rows(cluster, label)
        if 0 < total < self.k:
            return False
        if total == 0 or self.n_changed == 0:
            return True
        if self.by_rows:
            return self._rows_are_safe()
        i: cython.longlong
        for i in range(self.n_rows):
            self.node_rows[i] = cython.cast(cython.int, i)
            self.node_places[i] = cython.cast(cython.int, self.offsets[i])
        return self._visit(0, 0, self.n_rows, total)

    def _list_changed(
        self, cluster: cython.longlong, n_moved: cython.Py_ssize_t, label: cython.longlong[::1]
    ) -> cython.void:
        """List the rows that the cluster has gained or lost: none of its other items is in them."""
        cython.declare(i=cython.Py_ssize_t, slot=cython.longlong, row=cython.longlong)
        cython.declare(position=cython.longlong, item=cython.longlong, keeps=cython.bint)
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

    def _list_rows(self, cluster: cython.longlong, label: cython.longlong[::1]) -> cython.longlong:
        """List the rows of the cluster, reduced to clusters of changed rows; return its support."""
        cython.declare(x=cython.Py_ssize_t, slot=cython.longlong, row=cython.longlong)
        self.stamp += 1
        mark: cython.longlong = self.stamp
        total: cython.longlong = 0
        for x in range(label.shape[0]):
            if label[x] != cluster:
                continue
            for slot in range(self.rows.starts[x], self.rows.starts[x + 1]):
                row = self.rows.tids[slot]
                if self.listed[row] != mark:
                    self.listed[row] = mark
                    total += self.rows.weights[row]
                    self._list(row, cluster, False, label)
        return total

    def _list(
        self,
        row: cython.longlong,
        cluster: cython.longlong,
        changed: cython.bint,
        label: cython.longlong[::1],
    ) -> cython.void:
        """List a row without the cluster, unless it is empty: all of it, or its clusters of changed rows."""
        cython.declare(position=cython.longlong, c=cython.longlong, end=cython.longlong)
        sign: cython.ulonglong = 0
        whole: cython.bint = True
        end = self.offsets[self.n_rows]
        self.stamp += 1
        for position in range(self.rows.offsets[row], self.rows.offsets[row + 1]):
            c = label[self.rows.codes[position]]
            if c < 0 or c == cluster or self.seen[c] == self.stamp:
                continue
            self.seen[c] = self.stamp
            if changed:
                self.used[c] = self.changes
            elif self.used[c] != self.changes:
                whole = False
                continue
            sign |= cython.cast(cython.ulonglong, 1) << (c & 63)
            self.codes[end] = cython.cast(cython.int, c)
            end += 1
        if end == self.offsets[self.n_rows]:
            return
        sort_part(self.codes, self.offsets[self.n_rows], end)
        self.weights[self.n_rows], self.signs[self.n_rows] = self.rows.weights[row], sign
        self.is_whole[self.n_rows] = whole
        self.n_rows += 1
        self.offsets[self.n_rows] = end

    # --- Whole rows

    def _rows_are_safe(self) -> cython.bint:
        """Return whether each row of the cluster that is part of a changed row is in at least k of them."""
        cython.declare(i=cython.longlong, j=cython.longlong, support=cython.longlong)
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
                return False
        return True

    def _contains(self, i: cython.longlong, j: cython.longlong) -> cython.bint:
        """Return whether listed row i contains all clusters of listed row j."""
        cython.declare(position=cython.longlong, end=cython.longlong, at=cython.longlong)
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
        depth: cython.Py_ssize_t,
        begin: cython.longlong,
        end: cython.longlong,
        total: cython.longlong,
    ) -> cython.bint:
        """Return whether no itemset with one cluster more than a node, or below it, is rare.

        The node has the rows ``node_rows[begin:end]``, and support ``total``. A cluster in all its rows need
        not be added: the supports stay the same.
        """
        cython.declare(i=cython.longlong, place=cython.longlong, row=cython.longlong, c=cython.int)
        cython.declare(n=cython.longlong, after=cython.longlong, support=cython.longlong)
        n = 0
        for i in range(begin, end):
            row = self.node_rows[i]
            for place in range(self.node_places[i], self.offsets[row + 1]):
                c = self.codes[place]
                if row >= self.n_changed:
                    if self.extends[depth, c]:
                        self.counts[depth, c] += self.weights[row]
                elif not self.extends[depth, c]:
                    self.extends[depth, c], self.extensions[depth, n] = True, c
                    n += 1
        safe: cython.bint = True
        for i in range(n):
            support = self.counts[depth, self.extensions[depth, i]]
            if 0 < support < self.k:
                safe = False
        for i in range(n if depth + 1 < self.counts.shape[0] else 0):
            if not safe:
                break
            c = self.extensions[depth, i]
            support = self.counts[depth, c]
            if self.k <= support < total:
                after = self._fill_child(begin, end, c)
                if after > end:
                    safe = self._visit(depth + 1, end, after, support)
        for i in range(n):
            c = self.extensions[depth, i]
            self.extends[depth, c], self.counts[depth, c] = False, 0
        return safe

    def _fill_child(self, begin: cython.longlong, end: cython.longlong, c: cython.int) -> cython.longlong:
        """Write the rows of a node with cluster c and a later one from ``end`` on; return where they end.

        Without a changed row, there are none.
        """
        cython.declare(i=cython.longlong, place=cython.longlong, row=cython.longlong, after=cython.longlong)
        after = end
        for i in range(begin, end):
            row = self.node_rows[i]
            if after == end and row >= self.n_changed:
                break
            place = self.node_places[i]
            while place < self.offsets[row + 1] and self.codes[place] < c:
                place += 1
            if place + 1 < self.offsets[row + 1] and self.codes[place] == c:
                self.node_rows[after] = cython.cast(cython.int, row)
                self.node_places[after] = cython.cast(cython.int, place + 1)
                after += 1
        return after
