"""Ranges: quasi-identifiers whose values have an order, and what their ranges look like.

Numbers and times are published as intervals; ordered categories as the first and the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.relational.cells import (
    Cells,
    Numbers,
    Taxonomy,
    bounds,
    flat,
    halves,
    recode_groups,
    with_leaf,
)
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.versions import text_column

__all__ = ["Grades", "Intervals", "Ranges"]


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """Ranges of numbers or times, as intervals closed on both sides.

    Parameters
    ----------
    lower, upper : pandas.Index
        Where an interval begins and ends that has each of the distinct numbers at its end, ascending: the
        number, or what is next to it in the type of the intervals.
    missing : bool
        Whether there are missing values.
    """

    lower: pd.Index[Any]
    upper: pd.Index[Any]
    missing: bool

    def alike(self, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
        """One pair of numbers for all ranges, from one number to another, that are published alike."""
        n = len(self.lower)
        mixed = (high == n) & (low < n)
        low, high = np.where(mixed, 0, low), np.where(mixed, n - 1, high)
        # Numbers that end an interval alike are one.
        low = np.append(self.lower.searchsorted(self.lower), n)[low]
        high = np.append(self.upper.searchsorted(self.upper, side="right") - 1, n)[high]
        return low, high

    def published(self, low: Numbers, high: Numbers) -> pd.api.extensions.ExtensionArray:
        """The intervals from some numbers to others, missing from a missing one."""
        lower, upper = (
            ends.insert(len(ends), None) if self.missing else ends for ends in (self.lower, self.upper)
        )
        return pd.arrays.IntervalArray.from_arrays(lower.take(low), upper.take(high), closed="both")


@dataclass(frozen=True, eq=False, slots=True)
class Grades:
    """Ranges of ordered categories, as text: ``first .. last``, or the only one.

    Parameters
    ----------
    texts : sequence of str
        The texts of all categories, in their order, also of those that do not occur; no two are alike.
    places : ndarray of int64, shape (values,)
        Which of them each value is, ascending.

    Notes
    -----
    Where a category has two dots in a row, there are more dots between the first and the last: as many as
    no category has. So a range has one place to be parted at, and is no category's text.
    """

    texts: Sequence[str]
    places: Numbers

    def alike(self, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
        """One pair of numbers for all ranges, from one value to another, that are published alike.

        All categories, as which a missing value is published beside others, are the range up to this value.
        """
        n = len(self.places)
        if len(self.texts) == 1:
            return low, low
        places = np.append(self.places, -1)
        everything = (places[low] == 0) & (places[high] == len(self.texts) - 1) | (high == n)
        everything &= low < high
        return np.where(everything, 0, low), np.where(everything, n, high)

    def published(self, low: Numbers, high: Numbers) -> pd.api.extensions.ExtensionArray:
        """The ranges from some values to others, missing from a missing one."""
        mark = ".."
        while any(mark in text for text in self.texts):
            mark += "."
        n = len(self.places)

        def label(first: int, last: int) -> str | None:
            if first == n:
                return None
            ends = (0, -1) if last == n else self.places[[first, last]].tolist()
            texts = dict.fromkeys(self.texts[end] for end in ends)
            return f" {mark} ".join(texts)

        return text_column([*map(label, low.tolist(), high.tolist())])


@dataclass(frozen=True, eq=False)
class Ranges:
    """Values in an order, published as ranges that include both ends.

    Parameters
    ----------
    codes : ndarray of int32, shape (rows,)
        The value of each row.
    ends : Intervals or Grades
        What ranges look like.
    positions : ndarray of int64, shape (values,)
        Where the distinct values are, ascending, between the first there can be, 0, and the last, ``unit``.
    missing : bool
        Whether there are missing values.
    unit : int
        What is lost where nothing is known.

    Notes
    -----
    Together with others, a missing value is covered by the whole range only, which says nothing. Where there
    can be one value only, that has no such range: beside missing values it is one of `Sets`.
    """

    codes: Codes
    ends: Intervals | Grades
    positions: Numbers
    missing: bool
    unit: int

    @property
    def n_values(self) -> int:
        """Number of distinct values, the missing one included."""
        return len(self.positions) + self.missing

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """Pairs of consecutive values, pairs of those, and so on; a missing value is below the root."""
        n = len(self.positions)
        tree = Hierarchy.balanced(map(str, range(n)), 2) if n else flat(0)
        if self.missing:
            tree = with_leaf(tree)
        leaves = np.flatnonzero(tree.is_leaf) if self.n_values else np.empty(0, np.int64)
        first = np.searchsorted(leaves, np.arange(tree.n_nodes))
        last = np.searchsorted(leaves, np.arange(tree.n_nodes) + tree.size) - 1
        return Taxonomy(tree, leaves, self.between(first, last))

    def between(self, low: Numbers, high: Numbers) -> Numbers:
        """What is lost by ranges from one value to another."""
        positions = np.append(self.positions, 0)
        mixed = (high >= len(self.positions)) & (low < high)
        return np.where(mixed, self.unit, np.maximum(positions[high] - positions[low], low < high))

    def digest(self, codes: Codes) -> Codes:
        """The least and the largest of some values, which are covered by the same."""
        return np.array([codes.min(), codes.max()], np.int32)

    def lost(self, lines: Codes) -> Numbers:
        """What is lost by the range of the values of each line."""
        return self.between(lines.min(axis=1), lines.max(axis=1))

    def widened(self, codes: Codes) -> Numbers:
        """What is lost by the range of some values and one more, for each value."""
        values = np.arange(self.n_values)
        return self.between(np.minimum(values, codes.min()), np.maximum(values, codes.max()))

    def split(self, codes: Codes) -> Numbers | None:
        """Cut where the two parts are most alike in size, of two such places at the lower."""
        return halves(codes)

    @property
    def whole(self) -> int:
        """What is lost by the whole range."""
        return int(self.between(*self.ends.alike(np.array([0]), np.array([len(self.positions)])))[0])

    def generalize(
        self, classes: Numbers, codes: Codes, n_classes: int, suppressed: int | None = None
    ) -> Cells:
        """Publish each class as the range of its values, and a suppressed one as the whole range."""
        low, high = bounds(classes, codes, n_classes)
        n = len(self.positions)
        if suppressed is not None:
            low[suppressed], high[suppressed] = 0, n
        low, high = self.ends.alike(low, high)
        keys, numbers = np.unique(low * (n + 1) + high, return_inverse=True)
        low, high = np.divmod(keys, n + 1)
        return Cells(numbers, self.between(low, high), self.ends.published(low, high))

    def recode(self, groups: Numbers) -> Cells:
        """Publish each value as the range of the values of its group, and one more as the whole range."""
        return recode_groups(self, groups)

    def by_height(self) -> Ranges:
        """The same."""
        return self
