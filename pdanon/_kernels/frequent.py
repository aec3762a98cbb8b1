"""Kernel that counts frequent itemsets, to tell whether they can be listed."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Flag, Number
from cython.cimports.pdanon._kernels.counting import Rows

__all__ = ["count_frequent"]

# More items than an itemset has that may still be counted: it has 2**64 subsets.
_DEEPEST = cython.declare(cython.Py_ssize_t, 64)


def count_frequent(
    rows: Rows,
    items: Number[::1],
    least: cython.longlong,
    max_size: cython.Py_ssize_t,
    most: cython.longlong,
    halt: Flag[::1],
) -> int:
    """Count the sets of up to max_size of some items that ``least`` rows hold; beyond ``most`` just any more.

    Each of the items is frequent. It ends early when ``halt[0]`` is set.
    """
    search = _Search(rows, items)
    with cython.nogil:
        search.fill_words(rows, items)
        total = search.run(least, max_size, most, halt)
    return total


@cython.final
@cython.cclass
class _Search:
    """A depth-first search: a node is an itemset with its rows, and the items that it can be extended by.

    Rows are bits, 64 a word.
    """

    words: cython.ulonglong[:, ::1]  # the rows of each item
    held: cython.ulonglong[:, ::1]  # the rows of each node
    extensions: cython.int[:, ::1]
    n_extensions: cython.Py_ssize_t[64]
    cursor: cython.Py_ssize_t[64]

    def __init__(self, rows: Rows, items: Number[::1]) -> None:
        n: cython.Py_ssize_t = len(items)
        width: cython.Py_ssize_t = (len(rows.weights) + 63) // 64
        self.words = np.zeros((n, width), np.uint64)
        held, extensions = np.empty((_DEEPEST, width), np.uint64), np.empty((_DEEPEST, n), np.int32)
        held[0], extensions[0] = ~np.uint64(0), np.arange(n)  # the empty itemset
        self.held, self.extensions = held, extensions
        self.n_extensions[0], self.cursor[0] = n, 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def fill_words(self, rows: Rows, items: Number[::1]) -> cython.void:
        """Note the rows of each item."""
        number: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        row: cython.Py_ssize_t
        one: cython.ulonglong = 1
        for number in range(items.shape[0]):
            for slot in range(rows.starts[items[number]], rows.starts[items[number] + 1]):
                row = rows.tids[slot]
                self.words[number, row >> 6] |= one << (row & 63)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def run(
        self,
        least: cython.longlong,
        max_size: cython.Py_ssize_t,
        most: cython.longlong,
        halt: Flag[::1],
    ) -> cython.longlong:
        """Count the itemsets."""
        total: cython.longlong = self.words.shape[0]
        depth: cython.Py_ssize_t = 0
        here: cython.Py_ssize_t
        found: cython.Py_ssize_t
        while depth >= 0 and total <= most and not halt[0]:
            here = self.cursor[depth]
            if here >= self.n_extensions[depth] or depth + 1 >= max_size:
                depth -= 1
                continue
            self.cursor[depth] += 1
            if depth + 1 == _DEEPEST:
                return most + 1
            found = self._extend(depth, here, least)
            total += found
            if found >= 2:
                depth += 1
                self.n_extensions[depth], self.cursor[depth] = found, 0
        return total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _extend(
        self, depth: cython.Py_ssize_t, here: cython.Py_ssize_t, least: cython.longlong
    ) -> cython.Py_ssize_t:
        """Write the node with one more item: by how many items it can be extended."""
        word: cython.Py_ssize_t
        slot: cython.Py_ssize_t
        added: cython.Py_ssize_t = self.extensions[depth, here]
        found: cython.Py_ssize_t = 0
        for word in range(self.words.shape[1]):
            self.held[depth + 1, word] = self.held[depth, word] & self.words[added, word]
        for slot in range(here + 1, self.n_extensions[depth]):
            if _common(self.held[depth + 1], self.words[self.extensions[depth, slot]]) >= least:
                self.extensions[depth + 1, found] = self.extensions[depth, slot]
                found += 1
        return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
@cython.overflowcheck(False)
def _common(one: cython.ulonglong[::1], other: cython.ulonglong[::1]) -> cython.longlong:
    """How many bits are set in both."""
    word: cython.Py_ssize_t
    x: cython.ulonglong
    twos: cython.ulonglong = 0x5555555555555555
    fours: cython.ulonglong = 0x3333333333333333
    eights: cython.ulonglong = 0x0F0F0F0F0F0F0F0F
    bytes_: cython.ulonglong = 0x0101010101010101
    total: cython.longlong = 0
    for word in range(one.shape[0]):
        x = one[word] & other[word]
        x -= (x >> 1) & twos
        x = (x & fours) + ((x >> 2) & fours)
        x = (x + (x >> 4)) & eights
        total += (x * bytes_) >> 56
    return total
