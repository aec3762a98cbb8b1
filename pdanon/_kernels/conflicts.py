"""Conflicts: itemsets that cannot all be published. Minimal moles, items that hit all, and a packing.

A mole is a set of public items that is rare, or has a private item in too many of its rows. A packing is a
lower bound on the weight of the items that must change.
"""

from typing import Any

import numpy as np
from cython import (
    Py_ssize_t,
    bint,
    cast,
    cclass,
    cfunc,
    double as float64,
    exceptval,
    final,
    int as int32,
    longlong as int64,
    nogil,
    void,
)
from cython.cimports.pdanon._kernels.counting import (
    Codes,
    Flags,
    Numbers,
    Reals,
    find,
    grown,
    int32s,
    int64s,
    uint8s,
)
from cython.cimports.pdanon._kernels.itemset_search import Lists
from numpy.typing import NDArray

__all__ = ["MoleRows", "MoleSearch", "Packing", "eliminate", "private_peaks"]

Array = NDArray[Any]


# --- Moles


@final
@cclass
class MoleRows:
    """Rows with the public items first; the private items start at ``ends`` in ``codes``."""

    # Code ``first_copy + i`` marks a row in which the private item of code ``first_copy - n_private + i`` is
    # public. It counts only together with a row in which the item is private.

    codes: Codes
    offsets: Numbers
    ends: Numbers
    weights: Numbers
    first_copy: int32
    n_private: int32
    has_copies: bint

    def __init__(
        self, codes: Array, offsets: Array, ends: Array, weights: Array, first_copy: int, n_private: int
    ) -> None:
        self.codes, self.offsets, self.ends, self.weights = codes, offsets, ends, weights
        self.first_copy, self.n_private = first_copy, n_private
        self.has_copies = bool((codes >= first_copy).any())


def private_peaks(rows: MoleRows, starts: Numbers, tids: Codes, n_items: int) -> NDArray[np.int64]:
    """Return the support of the most frequent private item in the rows of each public item."""
    result = np.empty(len(starts) - 1, np.int64)
    peaks: int64s = result
    counts: int64s = np.zeros(n_items, np.int64)
    item: Py_ssize_t
    with nogil:
        for item in range(peaks.shape[0]):
            peaks[item] = _peak(starts[item], starts[item + 1], tids, rows, counts)
    return result


@cfunc
@nogil
@exceptval(check=False)
def _peak(start: Py_ssize_t, stop: Py_ssize_t, tids: Codes, rows: MoleRows, counts: int64s) -> int64:
    """Return the largest support of a private item in the rows ``tids[start:stop]``."""
    # ``counts`` is 0 before and after.
    peak = 0
    row: Py_ssize_t
    item: Py_ssize_t
    for slot in range(start, stop):
        row = tids[slot]
        for position in range(rows.ends[row], rows.offsets[row + 1]):
            if rows.codes[position] < rows.first_copy:
                counts[rows.codes[position]] += rows.weights[row]
    for slot in range(start, stop if rows.has_copies else start):
        row = tids[slot]
        for position in range(rows.ends[row], rows.offsets[row + 1]):
            item = rows.codes[position] - rows.n_private
            if rows.codes[position] >= rows.first_copy and counts[item]:
                counts[item] += rows.weights[row]
    for slot in range(start, stop):
        row = tids[slot]
        for position in range(rows.ends[row], rows.offsets[row + 1]):
            peak = max(peak, counts[rows.codes[position]])
            counts[rows.codes[position]] = 0
    return peak


@final
@cclass
class MoleSearch:
    """The search for the minimal moles of 2 to p items. No single item is a mole.

    The search is depth first, and visits the last child of a node first. So it visits all subsets of an
    itemset before the itemset. For the same reason, the rows of the extensions of a prefix,
    ``tids[starts[item]:]``, and the positions of the items in them may overwrite those of the previous
    prefix: only earlier items still need theirs. If an extension cannot be extended, only its rows with
    private items are listed.
    """

    k: int64
    above: int64
    below: int64
    p: Py_ssize_t
    rows: MoleRows
    starts: Numbers
    tids: int32s
    places: int64s
    supports: int64s
    peaks: int64s
    filled: int64s  # number of rows listed for each item
    prefix_of: int64s  # the node that these rows belong to
    counts: int64s  # supports of private items, 0 between two itemsets
    n_nodes: Py_ssize_t
    names: int32s  # item of each node
    first: int64s  # start of its children, ascending
    last: int64s  # and their end
    path: int64s  # the ancestors of the current node
    cursor: int64s  # the current child of each of them
    itemset: int32s
    found: Lists

    def __init__(
        self,
        k: int,
        p: int,
        above: int,
        below: int,
        rows: MoleRows,
        starts: Array,
        tids: Array,
        places: Array,
        supports: Array,
        peaks: Array,
        n_items: int,
    ) -> None:
        n_public = len(starts) - 1
        self.k, self.p, self.above, self.below = k, p, above, below
        self.rows, self.starts, self.tids, self.places = rows, starts, tids, places
        self.supports, self.peaks = supports, peaks
        self.filled, self.prefix_of = np.diff(starts), np.zeros(n_public, np.int64)
        self.counts = np.zeros(n_items, np.int64)
        names = np.empty(2 * n_public + 2, np.int32)
        names[1 : n_public + 1] = np.arange(n_public)
        self.names = names
        self.first, self.last = np.zeros((2, 2 * n_public + 2), np.int64)
        self.first[0] = 1
        self.last[0] = self.n_nodes = n_public + 1
        self.path, self.cursor = np.zeros((2, p), np.int64)
        self.itemset, self.found = np.empty(p, np.int32), Lists()

    def minimal(self, most: int64, halt: Flags) -> tuple[NDArray[np.int32], NDArray[np.int64], bool]:
        """Return the minimal moles as CSR, and whether the search is complete."""
        # It stops when it has more than ``most`` moles, or four times as many other itemsets, or when
        # ``halt[0]`` is set.
        with nogil:
            is_done = self._run(most, halt)
        codes, bounds, _ = self.found.arrays()
        return codes, bounds, bool(is_done)

    @cfunc
    @nogil
    @exceptval(-1)
    def _run(self, most: int64, halt: Flags) -> int32:
        """Visit all itemsets; return whether the search is complete."""
        depth: Py_ssize_t = 0
        self.cursor[0] = self.last[0]
        while depth >= 0:
            if halt[0] or self.found.n > most or self.n_nodes > 4 * most:
                return 0
            self.cursor[depth] -= 1
            node = self.cursor[depth]
            if node < self.first[self.path[depth]]:
                depth -= 1
                continue
            self._visit(node, depth)
            if self.first[node] < self.last[node]:
                depth += 1
                self.path[depth] = node
                self.cursor[depth] = self.last[node]
        return 1

    @cfunc
    @nogil
    @exceptval(-1)
    def _visit(self, node: Py_ssize_t, depth: Py_ssize_t) -> int32:
        """List the extensions of a node by one item: moles, and children."""
        item: Py_ssize_t = self.names[node]
        length = depth + 2
        self.itemset[depth] = self.names[node]
        self._extend(node, item, length == self.p)
        self.first[node] = self.n_nodes
        for sibling in range(node + 1, self.last[self.path[depth]]):
            other = self.names[sibling]
            if self.prefix_of[other] != node:
                continue
            self.itemset[depth + 1] = other
            mole: bint = self.supports[other] < self.k
            self.peaks[other] = self.peaks[item]  # an upper bound; counted only if it exceeds the share
            risky = not mole and self._exceeds_share(other)
            if length == self.p and not mole and not risky:
                continue
            if not self._contains_subsets(length):
                continue
            if risky:
                self._count_peak(other)
                mole = self._exceeds_share(other)
            if mole:
                self.found.add(self.itemset, length, 0)
            elif length < self.p:
                self._add_node(other)
        self.last[node] = self.n_nodes
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _exceeds_share(self, item: Py_ssize_t) -> bint:
        """Return whether a private item is in too many rows of an item."""
        return self.peaks[item] * self.below > self.above * self.supports[item]

    @cfunc
    @nogil
    @exceptval(check=False)
    def _count_peak(self, item: Py_ssize_t) -> void:
        """Count the largest support of a private item in the rows of an extension."""
        start = self.starts[item]
        self.peaks[item] = _peak(start, start + self.filled[item], self.tids, self.rows, self.counts)

    @cfunc
    @nogil
    @exceptval(-1)
    def _add_node(self, item: int32) -> int32:
        """Add a node to the tree."""
        n = self.n_nodes
        if n == self.names.shape[0]:
            self.names = grown(self.names, n, 2 * n)
            self.first, self.last = grown(self.first, n, 2 * n), grown(self.last, n, 2 * n)
        self.names[n] = item
        self.n_nodes += 1
        return 0

    @cfunc
    @nogil
    @exceptval(check=False)
    def _extend(self, node: Py_ssize_t, item: Py_ssize_t, is_last: bint) -> void:
        """List and count the rows of each item that follows the itemset."""
        row: Py_ssize_t
        for slot in range(self.starts[item], self.starts[item] + self.filled[item]):
            row = self.tids[slot]
            listed: bint = not is_last or self.rows.ends[row] < self.rows.offsets[row + 1]
            for position in range(self.places[slot] + 1, self.rows.ends[row]):
                other = self.rows.codes[position]
                if self.prefix_of[other] != node:
                    self.prefix_of[other] = node
                    self.filled[other] = 0
                    self.supports[other] = 0
                if listed:
                    free = self.starts[other] + self.filled[other]
                    self.tids[free] = self.tids[slot]
                    self.places[free] = position
                    self.filled[other] += 1
                self.supports[other] += self.rows.weights[row]

    @cfunc
    @nogil
    @exceptval(check=False)
    def _contains_subsets(self, length: Py_ssize_t) -> bint:
        """Return whether the tree contains all subsets with one item less."""
        # The two subsets without one of the last two items are known to be in the tree.
        for left_out in range(length - 2):
            node = self.path[left_out]
            for i in range(left_out + 1, length):
                node = self._find_child(node, self.itemset[i])
                if node < 0:
                    return False
        return True

    @cfunc
    @nogil
    @exceptval(check=False)
    def _find_child(self, node: Py_ssize_t, item: int32) -> Py_ssize_t:
        """Return the child of a node for an item, -1 if there is none."""
        return find(self.names, self.first[node], self.last[node], item)


def eliminate(
    items: Codes,
    bounds: Numbers,
    starts: Numbers,
    moles_of: Codes,
    losses: Numbers,
    by_moles: bint,
    by_loss: bint,
) -> NDArray[np.int64]:
    """Select items until each mole contains one; return them in the order chosen."""
    # Each step takes the item with the highest score: the number of moles left, or 1 without ``by_moles``,
    # divided by the loss, or by 1 without ``by_loss``. A tie goes to more moles, then to less loss, then to
    # the lower item.
    left: int64s = np.diff(starts)
    alive: uint8s = np.ones(len(bounds) - 1, np.uint8)
    waiting: int64s = np.arange(len(starts) - 1)
    result = np.empty(len(starts) - 1, np.int64)
    chosen: int64s = result
    n_waiting: Py_ssize_t = left.shape[0]
    n_chosen: Py_ssize_t = 0
    n_left: Py_ssize_t
    best: Py_ssize_t = 0
    most: int64 = 0  # moles that contain the best item so far
    least: int64 = 0  # its loss
    mole: Py_ssize_t
    with nogil:
        while best >= 0:
            best = -1
            n_left = 0
            for i in range(n_waiting):
                item = waiting[i]
                moles = left[item]
                if moles > 0:
                    waiting[n_left] = item
                    n_left += 1
                    if best < 0 or _comes_before(moles, losses[item], most, least, by_moles, by_loss):
                        best, most, least = item, moles, losses[item]
            n_waiting = n_left
            if best >= 0:
                chosen[n_chosen] = best
                n_chosen += 1
                for slot in range(starts[best], starts[best + 1]):
                    mole = moles_of[slot]
                    if alive[mole]:
                        alive[mole] = False
                        for position in range(bounds[mole], bounds[mole + 1]):
                            left[items[position]] -= 1
    return result[:n_chosen]


@cfunc
@nogil
@exceptval(check=False)
def _comes_before(
    moles: int64,
    loss: int64,
    other_moles: int64,
    other_loss: int64,
    by_moles: bint,
    by_loss: bint,
) -> bint:
    """Return whether an item comes before another with a lower number."""
    # The scores are compared as products, so exactly.
    one = (moles if by_moles else 1) * (other_loss if by_loss else 1)
    other = (other_moles if by_moles else 1) * (loss if by_loss else 1)
    if one != other:
        return one > other
    if moles != other_moles:
        return moles > other_moles
    return loss < other_loss


# --- Packing: a lower bound on the weight of the items that must change
#
# An itemset is a conflict if a release cannot publish all its items as they are. Of a clique of conflicting
# pairs, at most one item can be.


@final
@cclass
class Packing:
    """Prices of cliques and conflicts that do not exceed the weight of any item, in passes.

    The prices of the cliques and conflicts with an item sum to at most its weight. In a clique, all members
    but one change, which weighs at least the price each. In another conflict, at least one changes. The
    changed items weigh at least the sum. Each pass finds such prices greedily, and the next one prefers items
    whose weight was not used.

    Item ``i`` conflicts with ``partners[starts[i]:starts[i + 1]]``, and the other way round. ``sets`` and
    ``set_offsets`` are the larger conflicts, in CSR form. The sum of the weights is below 2**53.
    """

    def __init__(
        self,
        starts: Numbers,
        partners: Codes,
        sets: Codes,
        set_offsets: Numbers,
        weights: Numbers,
    ) -> None:
        n = weights.shape[0]
        self.starts, self.partners = starts, partners
        self.sets, self.set_offsets, self.weights = sets, set_offsets, weights
        self.left = np.empty(n, np.int64)
        self.urgency = np.ones(n, np.float64)
        self.members, self.candidates = np.empty(n + 1, np.int32), np.empty(n, np.int32)
        self.mark, self.stamp = np.zeros(n, np.int64), 0
        self.bound, self.steps = 0, 0
        self.found = Lists()

    def improve(self) -> tuple[int, int]:
        """Make one pass, store its cliques, and return its lower bound and the steps of all passes."""
        n = self.weights.shape[0]
        is_open: uint8s = np.ones(n, np.uint8)
        with nogil:
            self.left[:] = self.weights
            self.bound = self.found.n = 0
            item = self.next_item(is_open)
            while item >= 0:
                is_open[item] = self.price_clique(item)
                item = self.next_item(is_open)
            for i in range(self.set_offsets.shape[0] - 1):
                self.price_set(i)
            for i in range(n):
                if self.left[i]:
                    self.urgency[i] *= 1 + cast(float64, self.left[i]) / self.weights[i]
        return self.bound, self.steps

    def next_item(self, is_open: uint8s) -> int32:
        """Return the open item with the most unused weight times urgency (then: the lowest), or -1."""
        found: int32 = -1
        most = 0
        for i in range(is_open.shape[0]):
            if is_open[i]:
                worth = self.left[i] * self.urgency[i]
                if worth > most:
                    most, found = worth, i
        self.steps += is_open.shape[0]
        return found

    def find_violated(self, order: Codes, shares: Reals, least: float64, limit: Py_ssize_t) -> None:
        """Store cliques whose shares sum to more than ``least``, some of them repeatedly."""
        # They grow by the weights of the packing, which are above 0. ``order`` has items with positive
        # shares. Each begins cliques with its conflicting items of positive shares, until it has a clique
        # with each of them. Once there are ``limit`` cliques, no other item begins one.
        beside: int32s = np.full(shares.shape[0], -1, np.int32)  # last item in a clique with each
        with nogil:
            self.left[:] = self.weights
            self.found.n = 0
            for i in range(order.shape[0]):
                first = order[i]
                if self.found.n >= limit:
                    break
                for p in range(self.starts[first], self.starts[first + 1]):
                    if shares[self.partners[p]] <= 0 or beside[self.partners[p]] == first:
                        continue
                    size = self.grow(first, self.partners[p])
                    total = 0
                    for j in range(size):
                        beside[self.members[j]] = first
                        total += shares[self.members[j]]
                    if total > least:
                        self.found.add(self.members, size, 0)

    def cliques(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the stored cliques in CSR form."""
        codes, bounds, _ = self.found.arrays()
        return codes.copy(), bounds.copy()

    def price_clique(self, first: int32) -> int32:
        """Price a clique with an item by the least unused weight of a member; return whether there is one."""
        size = self.grow(first, first)
        if size == 1:
            return 0
        price = self.left[first]
        for i in range(size):
            price = min(price, self.left[self.members[i]])
        for i in range(size):
            self.left[self.members[i]] -= price
        self.bound += price * (size - 1)
        self.found.add(self.members, size, 0)
        return 1

    def grow(self, first: int32, second: int32) -> Py_ssize_t:
        """Find a clique with an item, of items with unused weight, in ``members``; return the size."""
        # Of the items that conflict with all members, the one with the most unused weight times urgency
        # follows (then: the first partner of the first item). ``second`` is second, unless it is the first.
        n: Py_ssize_t
        kept: Py_ssize_t
        size: Py_ssize_t = 1
        self.members[0] = first
        n = 0
        for i in range(self.starts[first], self.starts[first + 1]):
            if self.left[self.partners[i]] > 0:
                self.candidates[n] = self.partners[i]
                n += 1
        self.steps += self.starts[first + 1] - self.starts[first]
        while n > 0:
            most, best = -1, second
            if size > 1 or first == second:
                for i in range(n):
                    item = self.candidates[i]
                    worth = self.left[item] * self.urgency[item]
                    if worth > most:
                        most, best = worth, item
            chosen = best
            self.members[size] = chosen
            size += 1
            self.stamp += 1
            for i in range(self.starts[chosen], self.starts[chosen + 1]):
                self.mark[self.partners[i]] = self.stamp
            self.steps += self.starts[chosen + 1] - self.starts[chosen]
            kept = 0
            for i in range(n):
                if self.mark[self.candidates[i]] == self.stamp:
                    self.candidates[kept] = self.candidates[i]
                    kept += 1
            n = kept
        return size

    def price_set(self, number: Py_ssize_t) -> void:
        """Price a larger conflict by the unused weight of its items."""
        price = self.left[self.sets[self.set_offsets[number]]]
        for i in range(self.set_offsets[number], self.set_offsets[number + 1]):
            price = min(price, self.left[self.sets[i]])
        if price:
            for i in range(self.set_offsets[number], self.set_offsets[number + 1]):
                self.left[self.sets[i]] -= price
        self.steps += self.set_offsets[number + 1] - self.set_offsets[number]
        self.bound += price
