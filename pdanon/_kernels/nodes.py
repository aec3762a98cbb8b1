"""Nodes of a depth-first search through itemsets, each with the rows that hold its prefix."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Number
from cython.cimports.pdanon._kernels.counting import count_local_pairs


@cython.final
@cython.cclass
class Nodes:
    """Room for one node of each depth.

    The rows of a node are cut down to the items that its prefix may be extended by, which have local numbers:
    row i is ``items[depth, bounds[depth, i]:bounds[depth, i + 1]]`` and is row ``sources[depth, i]`` of all.
    It has ``n_rows[depth]`` rows and ``n_names[depth]`` items; local number j is item ``names[depth, j]``.
    ``counts[depth]`` is the matrix of the supports of pairs of local items.

    Parameters
    ----------
    depths : int
        How many nodes there are.
    occurrences, rows, names : int
        The most that a node has of each.
    """

    def __init__(
        self,
        depths: cython.Py_ssize_t,
        occurrences: cython.Py_ssize_t,
        rows: cython.Py_ssize_t,
        names: cython.Py_ssize_t,
    ) -> None:
        self.items = np.empty((depths, occurrences + 1), np.uint32)  # what is left out is written, too
        self.bounds = np.zeros((depths, rows + 1), np.int64)
        self.sources = np.empty((depths, rows), np.int32)
        self.n_rows = np.zeros(depths, np.int64)
        self.names = np.empty((depths, names), np.int32)
        self.n_names = np.zeros(depths, np.int64)
        self.counts = np.empty((depths, names * names), np.int32)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count_pairs(self, depth: cython.Py_ssize_t, weights: Number[::1]) -> cython.void:
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def fill_child(
        self, depth: cython.Py_ssize_t, b: cython.Py_ssize_t, floor: cython.longlong, keep: cython.int[::1]
    ) -> cython.bint:
        """Write the child whose prefix is extended by local item b; tell whether it has rows worth a look.

        It is not extended by items whose pair with b has a support below the floor. ``keep`` is all -1.
        """
        c: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.n_names[depth]
        n: cython.int = 0
        for c in range(b + 1, d):
            if self.counts[depth, b * d + c] >= floor:
                keep[c] = n
                self.names[depth + 1, n] = self.names[depth, c]
                n += 1
        self.n_names[depth + 1] = n
        self._fill_rows(depth, b, keep)
        for c in range(b + 1, d):
            keep[c] = -1
        return self.n_rows[depth + 1] > 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fill_rows(
        self, depth: cython.Py_ssize_t, b: cython.Py_ssize_t, keep: cython.int[::1]
    ) -> cython.void:
        """Write the rows of a child: those with local item b and two or more of the items that are kept."""
        items: cython.uint[::1] = self.items[depth]
        found: cython.uint[::1] = self.items[depth + 1]
        i: cython.Py_ssize_t
        p: cython.Py_ssize_t
        item: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        at: cython.Py_ssize_t = 0
        n: cython.Py_ssize_t = 0
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
