"""What remains of the items in a release: what its labels stand for, and how far counts are off.

These are the losses that can be read without knowing a formula. They do not depend on the order of the rows,
nor on whether equal ones are one with a weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.lists import distinct, offsets_of, to_numpy
from pdanon.itemsets.matching import item_texts
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.threads import even_parts, share
from pdanon.recoding.recoding import Changes, Recoding

__all__ = ["Remaining", "drawn_pairs"]

_DRAWN = 200  # pairs


@dataclass(frozen=True, eq=False, slots=True)
class Remaining:
    """A column, what became of its items, and the rows that are published.

    Parameters
    ----------
    itemsets : Itemsets
        The original column.
    recoding : Recoding
        What became of its items.
    changes : Changes
        The same by group and item.
    covers : tuple of ndarray
        ``labels, items``: which label stands for which items, those that became it in any group; by label,
        then by item.
    sizes : ndarray of int64, shape (labels,)
        For how many items each label stands.
    index : SupportIndex
        The released rows, as sets of labels.
    """

    itemsets: Itemsets
    recoding: Recoding
    changes: Changes
    covers: tuple[NDArray[np.int64], NDArray[np.int64]]
    sizes: NDArray[np.int64]
    index: SupportIndex

    @classmethod
    def of(cls, itemsets: Itemsets, recoding: Recoding, changes: Changes) -> Remaining:
        """Find what the labels stand for, and write the rows as numbers of labels."""
        n_labels, published = len(recoding.labels), changes.targets >= 0
        cells = changes.targets[published] * np.int64(max(itemsets.n_items, 1)) + changes.items[published]
        labels, items = np.divmod(distinct(cells), max(itemsets.n_items, 1))
        if recoding.groups is None:
            index = SupportIndex.of(itemsets).recoded(recoding.targets, n_labels)
        else:
            rows = SupportIndex(recoding.targets, itemsets.offsets, n_labels, itemsets.weights)
            index = rows.recoded(np.arange(n_labels), n_labels)
        sizes = np.bincount(labels, minlength=n_labels)
        return cls(itemsets, recoding, changes, (labels, items), sizes, index)

    @property
    def is_kept(self) -> NDArray[np.bool_]:
        """Which of the changes are none: items that are published as they are."""
        labels, items = (item_texts(each) for each in (self.recoding.labels, self.itemsets.vocabulary))
        own = to_numpy(pc.index_in(labels, value_set=items).fill_null(-2))  # the item that a label names
        return np.append(own, -2)[self.changes.targets] == self.changes.items

    def stands_for(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For how many items the labels of changed items stand, and how many occurrences became them."""
        changed = (self.changes.targets >= 0) & ~self.is_kept
        return self.sizes[self.changes.targets[changed]], self.changes.supports[changed]

    def singles(self, told: NDArray[np.bool_] | None = None) -> float:
        """Average relative error of the counts of single items, weighted by these counts.

        There is none in the counts of items that are ``told`` elsewhere.
        """
        labels, items = self.covers
        if self.recoding.repeats:  # each copy of a label is that of one item
            published = self.changes.targets >= 0
            of_label, supports = self.changes.targets[published], self.changes.supports[published]
            held = np.bincount(of_label, supports, minlength=len(self.sizes))
        else:
            held = self.index.singles.astype(np.float64)
        n_items = self.itemsets.n_items
        actual = np.bincount(self.changes.items, self.changes.supports, minlength=n_items)
        estimate = np.bincount(items, (held / np.maximum(self.sizes, 1))[labels], minlength=n_items)
        error = np.abs(actual - estimate)
        if told is not None:
            error[told] = 0
        return float(error.sum() / max(actual.sum(), 1))

    def pairs(self) -> float:
        """Average relative error of the counts of pairs that occur, drawn by these counts."""
        codes, times = drawn_pairs(self.itemsets)
        if not len(times):
            return 0.0
        actual = _supports(SupportIndex.of(self.itemsets), codes)
        error = np.abs(actual - self.together(codes)) / actual
        return float(np.average(error, weights=times))

    def together(self, pairs: Codes) -> NDArray[np.float64]:
        """The estimated counts of pairs of items."""
        return self._by_one_label(pairs) if self.recoding.groups is None else self._by_any_label(pairs)

    def _by_one_label(self, pairs: Codes) -> NDArray[np.float64]:
        """The estimated counts of pairs of items, if each item has one label or none."""
        labels = np.sort(self.recoding.targets[pairs], axis=1)
        published = labels[:, 0] >= 0
        is_one = labels[:, 0] == labels[:, 1]
        found = np.zeros(len(pairs), np.int64)  # what is suppressed is nowhere
        found[published & is_one] = self.index.singles[labels[published & is_one, 0]]
        found[published & ~is_one] = _supports(self.index, labels[published & ~is_one])
        return found / np.append(self.sizes, 1)[labels].prod(axis=1)

    def _by_any_label(self, pairs: Codes) -> NDArray[np.float64]:
        """The same, if an item may have several: in a row the one that stands for the fewest."""
        from pdanon._kernels.estimates import estimates

        items = np.unique(pairs)
        pairs = np.searchsorted(items, pairs).astype(np.int32)
        labels, covered = self.covers
        asked = np.isin(covered, items)
        labels, covered = labels[asked], np.searchsorted(items, covered[asked])
        order = np.lexsort((labels, self.sizes[labels], covered))
        used, number = np.unique(labels[order], return_inverse=True)
        of_item = number.ravel().astype(np.int32), offsets_of(np.bincount(covered, minlength=len(items)))
        odds = self.sizes[used, None].astype(np.float64) ** -np.arange(3)
        index = _only(self.index, used).distinct()
        offsets, alike = np.arange(0, pairs.size + 1, 2), np.zeros(len(index.weights), np.int64)
        return estimates(pairs.ravel(), offsets, *of_item, odds, index.rows, alike, np.ones((len(pairs), 1)))


def drawn_pairs(itemsets: Itemsets) -> tuple[Codes, NDArray[np.int64]]:
    """Draw pairs of items that are in a row together: 200, or all if there are fewer; the same each time.

    The rows are shuffled, and of all their pairs, side by side, every n-th is taken. How they are shuffled
    depends on their items alone, so that equal rows are neighbours, and may be one with a weight.

    Returns
    -------
    codes : ndarray of int32, shape (pairs, 2)
        Distinct pairs, each ascending.
    times : ndarray of int64, shape (pairs,)
        How often each was drawn.
    """
    pairs = itemsets.lengths * (itemsets.lengths - 1) // 2
    rows = np.flatnonzero(pairs)
    rows = rows[np.argsort(_mixed(itemsets, rows))]  # of equal ones any may be first
    weights = 1 if itemsets.weights is None else itemsets.weights[rows]
    ends = np.cumsum(pairs[rows] * weights)
    total = int(ends[-1]) if len(rows) else 0
    number = min(_DRAWN, total)
    drawn = np.array([(2 * i + 1) * total // (2 * number) for i in range(number)], np.int64)
    place = np.searchsorted(ends, drawn, side="right")
    row = rows[place]
    within = (drawn - ends[place]) % pairs[row]  # in each copy of a row the same
    later = np.array([(1 + isqrt(1 + 8 * each)) // 2 for each in within.tolist()], np.int64)
    earlier = within - later * (later - 1) // 2
    starts = itemsets.offsets[row]
    codes = np.stack((itemsets.codes[starts + earlier], itemsets.codes[starts + later]), axis=1)
    return np.unique(codes, axis=0, return_counts=True)


def _mixed(itemsets: Itemsets, rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number of each of some rows that hold items: alike for equal rows, as if random for others."""
    mixed = np.arange(1, itemsets.n_items + 1, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    offsets, sums = itemsets.offsets, np.zeros(itemsets.n_rows, np.uint64)

    def part(begin: int, end: int) -> None:
        filled = begin + np.flatnonzero(np.diff(offsets[begin : end + 1]))
        if len(filled):
            codes = itemsets.codes[offsets[begin] : offsets[end]]
            sums[filled] = np.add.reduceat(mixed[codes], offsets[filled] - offsets[begin])

    share(part, even_parts(offsets))
    return sums[rows]


def _supports(index: SupportIndex, pairs: Codes) -> NDArray[np.int64]:
    """In how many rows pairs are: few items are in them, and a transpose of all would take more memory."""
    items, numbers = np.unique(pairs, return_inverse=True)
    return _only(index, items).supports(numbers.astype(np.int32).ravel(), np.arange(0, pairs.size + 1, 2))


def _only(index: SupportIndex, codes: NDArray[Any]) -> SupportIndex:
    """The same rows with some of their codes only, numbered anew."""
    number = np.full(index.n_items, -1, np.int32)
    number[codes] = np.arange(len(codes), dtype=np.int32)
    return index.recoded(number, len(codes))
