"""Packing of conflicts: a lower bound on the weight of the items that must change.

An itemset is a conflict if a release cannot publish all its items as they are. Of a clique of conflicting
pairs, at most one item can be.
"""

import numpy as np
from cython import (
    Py_ssize_t,
    cast,
    cclass,
    declare,
    double as float64,
    final,
    int as int32,
    longlong as int64,
    nogil,
    uchar as uint8,
    void,
)
from cython.cimports.pdanon._kernels.counting import Code, Number, Real, grown
from numpy.typing import NDArray

__all__ = ["Packing"]


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
        starts: Number[::1],
        partners: Code[::1],
        sets: Code[::1],
        set_offsets: Number[::1],
        weights: Number[::1],
    ) -> None:
        n: Py_ssize_t = weights.shape[0]
        self.starts, self.partners = starts, partners
        self.sets, self.set_offsets, self.weights = sets, set_offsets, weights
        self.left = np.empty(n, np.int64)
        self.urgency = np.ones(n, np.float64)
        self.members, self.candidates = np.empty(n + 1, np.int32), np.empty(n, np.int32)
        self.mark, self.stamp = np.zeros(n, np.int64), 0
        self.bound, self.steps = 0, 0
        self.codes, self.n_codes = np.empty(1024, np.int32), 0
        self.offsets, self.n_cliques = np.zeros(256, np.int64), 0

    def improve(self) -> tuple[int, int]:
        """Make one pass, and store its cliques.

        Return the lower bound of this pass, and the number of steps of all passes.
        """
        declare(i=Py_ssize_t, n=Py_ssize_t, item=int32)
        n = self.weights.shape[0]
        is_open: uint8[::1] = np.ones(n, np.uint8)
        with nogil:
            self.left[:] = self.weights
            self.bound = self.n_codes = self.n_cliques = 0
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

    def next_item(self, is_open: uint8[::1]) -> int32:
        """Return the open item with the most unused weight times urgency (then: the lowest), or -1."""
        declare(i=Py_ssize_t, worth=float64)
        found: int32 = -1
        most: float64 = 0
        for i in range(is_open.shape[0]):
            if is_open[i]:
                worth = self.left[i] * self.urgency[i]
                if worth > most:
                    most, found = worth, cast(int32, i)
        self.steps += is_open.shape[0]
        return found

    def find_violated(self, order: Code[::1], shares: Real[::1], least: float64, limit: Py_ssize_t) -> None:
        """Store cliques whose shares sum to more than ``least``, some of them repeatedly.

        They grow by the weights of the packing, which are above 0. ``order`` has items with positive shares.
        Each begins cliques with its conflicting items of positive shares, until it has a clique with each of
        them. Once there are ``limit`` cliques, no other item begins one.
        """
        declare(i=Py_ssize_t, j=Py_ssize_t, p=Py_ssize_t, first=int32)
        declare(size=Py_ssize_t, total=float64)
        beside: int32[::1] = np.full(shares.shape[0], -1, np.int32)  # last item in a clique with each
        with nogil:
            self.left[:] = self.weights
            self.n_codes = self.n_cliques = 0
            for i in range(order.shape[0]):
                first = order[i]
                if self.n_cliques >= limit:
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
                        self.store(size)

    def cliques(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the stored cliques in CSR form."""
        return np.array(self.codes[: self.n_codes]), np.array(self.offsets[: self.n_cliques + 1])

    def store(self, size: Py_ssize_t) -> int32:
        """Store the clique of the first members."""
        while self.n_codes + size > self.codes.shape[0]:
            self.codes = grown(self.codes, self.n_codes, 2 * self.codes.shape[0])
        self.codes[self.n_codes : self.n_codes + size] = self.members[:size]
        self.n_codes += size
        self.n_cliques += 1
        if self.n_cliques == self.offsets.shape[0]:
            self.offsets = grown(self.offsets, self.n_cliques, 2 * self.n_cliques)
        self.offsets[self.n_cliques] = self.n_codes
        return 0

    def price_clique(self, first: int32) -> int32:
        """Price a clique with an item by the least unused weight of a member; return whether there is one."""
        declare(i=Py_ssize_t, price=int64)
        size: Py_ssize_t = self.grow(first, first)
        if size == 1:
            return 0
        price = self.left[first]
        for i in range(size):
            price = min(price, self.left[self.members[i]])
        for i in range(size):
            self.left[self.members[i]] -= price
        self.bound += price * (size - 1)
        self.store(size)
        return 1

    def grow(self, first: int32, second: int32) -> Py_ssize_t:
        """Find a clique with an item, and a second one if it differs, of items with unused weight.

        Of the items that conflict with all members, the one with the most unused weight times urgency
        follows (then: the first partner of the first item). Return the size.
        """
        declare(i=Py_ssize_t, item=int32, best=int32, chosen=int32)
        declare(n=Py_ssize_t, kept=Py_ssize_t, worth=float64, most=float64)
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
        i: Py_ssize_t
        price: int64 = self.left[self.sets[self.set_offsets[number]]]
        for i in range(self.set_offsets[number], self.set_offsets[number + 1]):
            price = min(price, self.left[self.sets[i]])
        if price:
            for i in range(self.set_offsets[number], self.set_offsets[number + 1]):
                self.left[self.sets[i]] -= price
        self.steps += self.set_offsets[number + 1] - self.set_offsets[number]
        self.bound += price
