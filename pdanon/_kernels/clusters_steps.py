"""Kernels that merge or suppress clusters step by step until pairs, or given itemsets, are not rare.

Which cluster is merged with which is in ``clusters``. What the attributes are is said in
``clusters_steps.pxd``.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Flag, Number
from cython.cimports.pdanon._kernels.clusters import State, coarsen, counted, image_of, line_of, together
from numpy.typing import NDArray

__all__ = [
    "Bitmaps",
    "RarePartners",
    "coarsen_each",
    "itemset_supports",
    "satisfy_itemsets",
    "satisfy_pairs",
]


@cython.final
@cython.cclass
class RarePartners:
    """For each cluster that with which it is rarest: most often together of all rare pairs.

    Parameters
    ----------
    k : int
        A support in (0, k) is rare.
    n_items : int
        Number of items.
    """

    def __init__(self, k: cython.longlong, n_items: cython.Py_ssize_t) -> None:
        self.k = k
        self.partner = np.full(n_items, -2, np.int32)
        self.support = np.zeros(n_items, np.int32)

    def look_up_some(self, begin: cython.int, end: cython.int, state: State) -> None:
        """Look for the partners of the clusters in use that are labelled ``begin..end - 1``.

        Those that are rare alone are left out: `_largest_rare` asks for none of theirs.
        """
        i: cython.int
        with cython.nogil:
            for i in range(state.n_active):
                a = state.active[i]
                if begin <= a < end and state.support[a] >= self.k:
                    self.look_up(a, state)

    def look_up(self, a: cython.int, state: State) -> cython.void:
        """Look for the partner of a cluster."""
        i: cython.int
        self.support[a], self.partner[a] = 0, -1
        if state.line[a] < 0 and state.walk[a] < state.n_active:  # too little to take a line for
            n: cython.int = counted(a, state.counts, state, state.rows)
            for i in range(n):
                self.consider(a, state.touched[i], state.counts[state.touched[i]])
                state.counts[state.touched[i]] = 0
            return
        line: cython.Py_ssize_t = line_of(a, -1, state)
        for i in range(state.n_active):
            r = state.active[i]
            if r != a:
                self.consider(a, r, state.co[line, r])

    def consider(self, a: cython.int, r: cython.int, both: cython.int) -> cython.void:
        """Make r the partner of a if it is more often with a than the known one, or as often and first."""
        if 0 < both < self.k and (
            both > self.support[a] or (both == self.support[a] and r < self.partner[a])
        ):
            self.support[a], self.partner[a] = both, r

    def refresh(self, a: cython.int, b: cython.int, state: State) -> cython.void:
        """Renew what is known after b was merged into a, or a, which then is b, was suppressed."""
        is_merged: cython.bint = state.label[a] >= 0
        line: cython.Py_ssize_t = line_of(a, -1, state) if is_merged else -1
        for i in range(state.n_active):
            r = state.active[i]
            if self.partner[r] == -2:
                continue
            if self.partner[r] == a or self.partner[r] == b:
                if not is_merged or state.co[line, r] >= self.k:
                    self.partner[r] = -2
                else:  # with the union r is as often together, or more: no other comes before it
                    self.support[r], self.partner[r] = state.co[line, r], a
            elif is_merged:
                self.consider(r, a, state.co[line, r])
        self.partner[a] = -2


def satisfy_pairs(
    pairs: cython.bint,
    least_first: cython.bint,
    limit: cython.longlong,
    rare: RarePartners,
    state: State,
    halt: Flag[::1],
) -> int:
    """Merge and suppress until no cluster, and with ``pairs`` no pair of clusters, has a support in (0, k).

    The largest such support comes first; then a cluster before a pair, then the order of labels. At most
    about ``limit`` steps are made, so that the caller can report progress, and none when ``halt[0]`` is set;
    their number is returned.
    """
    itemset: cython.int[::1] = np.empty(2, np.int32)
    steps: cython.longlong = 0
    with cython.nogil:
        while steps < limit and state.refused < 0:
            itemset[0], itemset[1] = _largest_rare(pairs, state, rare)
            if itemset[0] < 0:
                break
            steps += _satisfy_pair(itemset, pairs, least_first, state, rare, halt)
            if halt[0]:
                break
    return steps


def _largest_rare(pairs: cython.bint, state: State, rare: RarePartners) -> tuple[cython.int, cython.int]:
    """The cluster, twice, or the pair of clusters with the largest support in (0, k), or (-1, -1)."""
    a: cython.int
    first: cython.int = -1
    second: cython.int = -1
    most: cython.longlong = 0
    for i in range(state.n_active):
        a = state.active[i]
        if most < state.support[a] < rare.k:
            first, second, most = a, a, state.support[a]
            if most == rare.k - 1:  # and no other is larger
                return first, second
    if pairs:
        for i in range(state.n_active):
            a = state.active[i]
            if state.support[a] < rare.k:
                continue  # a rare cluster comes before its pairs, whose supports are not larger
            if rare.partner[a] == -2:
                rare.look_up(a, state)
            if rare.support[a] > most:
                first, second, most = a, rare.partner[a], rare.support[a]
    return first, second


def _satisfy_pair(
    itemset: Code[::1],
    pairs: cython.bint,
    least_first: cython.bint,
    state: State,
    rare: RarePartners,
    halt: Flag[::1],
) -> cython.longlong:
    """Merge and suppress until two clusters, or one, are not rare; return the number of steps."""
    support: cython.longlong
    steps: cython.longlong = 0
    n: cython.int = image_of(itemset, 0, 2, state)
    while n > 0 and not halt[0]:
        support = state.support[state.image[0]] if n == 1 else together(state.image[0], state.image[1], state)
        if support >= rare.k:
            break
        a, b = coarsen(n, least_first, state)
        if a < 0:
            break
        steps += 1
        if pairs:
            rare.refresh(a, b, state)
        n = image_of(itemset, 0, 2, state)
    return steps


@cython.final
@cython.cclass
class Bitmaps:
    """For each item, or cluster, the rows that hold it, one bit a row."""

    def __init__(
        self, codes: Code[::1], offsets: Number[::1], weights: Number[::1], n_items: cython.Py_ssize_t
    ) -> None:
        one: cython.ulonglong = 1
        row: cython.Py_ssize_t
        self.bits = np.zeros((n_items, (len(offsets) + 62) // 64), np.uint64)
        self.weights = weights
        for row in range(offsets.shape[0] - 1):
            for position in range(offsets[row], offsets[row + 1]):
                self.bits[codes[position], row >> 6] |= one << (row & 63)

    def unite(self, a: cython.int, b: cython.int) -> cython.void:
        """Add the rows of b to those of a."""
        for i in range(self.bits.shape[1]):
            self.bits[a, i] |= self.bits[b, i]

    def support(self, n: cython.int, enough: cython.longlong, state: State) -> cython.longlong:
        """Transactions that hold all clusters of an image of n; counting stops when there are enough."""
        word: cython.ulonglong
        row: cython.Py_ssize_t
        i: cython.Py_ssize_t
        total: cython.longlong = 0
        for i in range(self.bits.shape[1] if n > 0 else 0):
            word = self.bits[state.image[0], i]
            for place in range(1, n):
                word &= self.bits[state.image[place], i]
            row = 64 * i
            while word:
                if word & 1:
                    total += self.weights[row]
                word >>= 1
                row += 1
            if total >= enough:
                break
        return total


def itemset_supports(
    sets: Code[::1], set_offsets: Number[::1], enough: cython.longlong, bitmaps: Bitmaps, state: State
) -> NDArray[np.int64]:
    """Support of the image of each itemset, or any number that is enough."""
    n: cython.int
    result = np.empty(len(set_offsets) - 1, np.int64)
    supports: cython.longlong[::1] = result
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(supports.shape[0]):
            n = image_of(sets, set_offsets[i], set_offsets[i + 1], state)
            supports[i] = bitmaps.support(n, enough, state)
    return result


def satisfy_itemsets(
    k: cython.longlong,
    least_first: cython.bint,
    limit: cython.longlong,
    sets: Code[::1],
    set_offsets: Number[::1],
    begin: cython.Py_ssize_t,
    bitmaps: Bitmaps,
    state: State,
) -> tuple[int, int]:
    """Merge and suppress until the image of no given itemset, one after the other, has a support in (0, k).

    ``bitmaps`` are those of the clusters, and are kept current. At most about ``limit`` steps are made, from
    the itemset ``begin`` on. Returns their number, and the itemset to begin with next.
    """
    n: cython.int
    steps: cython.longlong = 0
    with cython.nogil:
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


def coarsen_each(sets: Code[::1], set_offsets: Number[::1], state: State) -> int:
    """Make the image of each given itemset coarser by one merge, if none before has changed it.

    Returns the number of merges.
    """
    changed: cython.uchar[::1] = np.zeros(state.label.shape[0], np.uint8)
    i: cython.Py_ssize_t
    place: cython.Py_ssize_t
    merges: cython.longlong = 0
    with cython.nogil:
        for i in range(set_offsets.shape[0] - 1):
            is_changed: cython.bint = state.n_active < 2
            for place in range(set_offsets[i], set_offsets[i + 1]):
                is_changed |= changed[state.label[sets[place]]]
            if is_changed:
                continue
            n: cython.int = image_of(sets, set_offsets[i], set_offsets[i + 1], state)
            a, _ = coarsen(n, False, state)
            changed[a] = 1
            merges += 1
    return merges
