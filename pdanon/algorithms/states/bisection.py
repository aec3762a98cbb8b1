"""Bisection: a partition of items that is made finer, as long as all rules stay protected."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.states.rules import ItemSet, RuleCheck, rows_of
from pdanon.itemsets.progress import Report
from pdanon.itemsets.support import SupportIndex

__all__ = ["Bisection"]


class _Waiting(NamedTuple):
    """A set that may be parted; all that can be parted in two come before those that cannot."""

    is_stuck: bool
    loss: int
    label: int
    whole: ItemSet


class Bisection:
    """A partition of items that begins with one set, and is parted.

    Parameters
    ----------
    rules : RuleCheck
        What is to stay protected.
    items : ndarray of int
        The items, at least one.
    weights : ndarray of int64, shape (items,), optional
        Importance of all items, below 2**16; that of a set is the largest of its members'.

    Notes
    -----
    A set is known by its smallest member. Memory: 5 bytes a row and 4 bytes for each occurrence of the items.
    """

    def __init__(self, rules: RuleCheck, items: NDArray[np.intp], weights: NDArray[np.int64] | None) -> None:
        self.rules = rules
        self._index = rules.index
        self._given = weights
        self._weights = np.ones(self._index.n_items, np.int64) if weights is None else weights
        self._held = np.zeros(len(self._index.weights), np.uint8)
        frequent_first = items[np.argsort(-self._index.singles[items], kind="stable")].astype(np.int32)
        self._root = ItemSet(frequent_first, rows_of(self._index, items))
        self.labels = np.full(self._index.n_items, -1, np.int32)
        self.labels[items] = self._root.label

    def among(self, index: SupportIndex, k: int) -> Bisection:
        """One set of the same items, in other rows and for another k."""
        return Bisection(self.rules.among(index, k), np.sort(self._root.items), self._given)

    def is_protected(self) -> bool:
        """Tell whether the rules are protected as long as nothing is parted."""
        return self.rules.hold(self.labels, [self._root])

    def part(self, report: Report) -> None:
        """Part sets until no rule allows more, always next the one that loses most.

        A set is parted in two by the kernel `bisect`. Where a rule forbids that, it waits until no other set
        can be parted; then single items are taken out, those that lose most by themselves first, wherever no
        rule forbids it, and what is left is tried again.

        Parameters
        ----------
        report : callable
            Told of each way that was tried.
        """
        queue = [_Waiting(False, *self._loss(self._root), self._root)]
        while queue:
            is_stuck, _, _, whole = heappop(queue)
            parts = self._without_single_items(whole, report) if is_stuck else self._in_two(whole)
            for each in parts:
                if len(each.items) > 1:
                    heappush(queue, _Waiting(each is whole, *self._loss(each), each))
            report(1)

    def _loss(self, one: ItemSet) -> tuple[int, int]:
        """What sets are ordered by: the largest loss first, then the smallest item."""
        loss = ((1 << len(one.items)) - 1) * int(self._weights[one.items].max())
        return -loss * int(self._index.weights[one.rows].sum()), one.label

    def _in_two(self, whole: ItemSet) -> tuple[ItemSet, ...]:
        """The parts of a set, or the set if it cannot be parted in two."""
        if len(whole.items) < 2:
            return ()
        parts = self._bisected(whole)
        return parts if self._accept(whole, parts) else (whole,)

    def _bisected(self, whole: ItemSet) -> tuple[ItemSet, ItemSet]:
        from pdanon._kernels.bisection import bisect

        rows, held = self._index.rows, self._held
        second = bisect(whole.items, self._index.singles, self._weights, rows, held)
        marks = held[whole.rows]
        held[whole.rows] = 0
        one = ItemSet(whole.items[~second], whole.rows[(marks & 1) > 0])
        return one, ItemSet(whole.items[second], whole.rows[(marks & 2) > 0])

    def _without_single_items(self, whole: ItemSet, report: Report) -> tuple[ItemSet, ...]:
        """What is left of a set where items are taken out that can be; nothing if there is none."""
        losses = self._weights[whole.items] * self._index.singles[whole.items]
        rest = whole
        for item in whole.items[np.argsort(-losses, kind="stable")]:
            others = rest.items[rest.items != item]
            parts = tuple(ItemSet(each, rows_of(self._index, each)) for each in (np.array([item]), others))
            if len(others) > 0 and self._accept(rest, parts):
                rest = parts[1]
            report(1)
        return () if rest is whole else (rest,)

    def _accept(self, whole: ItemSet, parts: tuple[ItemSet, ...]) -> bool:
        """Part a set, if all rules stay protected; tell whether they do."""
        for each in parts:
            self.labels[each.items] = each.label
        if self.rules.hold(self.labels, parts):
            return True
        self.labels[whole.items] = whole.label
        return False
