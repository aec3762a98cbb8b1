"""Quasi-identifiers as integers: ranges of what has an order, nodes of a hierarchy, and sets of values.

The values of a column are numbered in order, a missing value last. The three kinds answer the same
questions: what covers some values, how much that says less than the values (the penalty), and what it
looks like when it is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.relational.cells import (
    Cells,
    Numbers,
    Taxonomy,
    bounds,
    flat,
    halves,
    recode_groups,
    shares,
    with_leaf,
)
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.compatibility import text_column
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.set_labels import set_labels

__all__ = ["Attribute", "Grades", "Intervals", "Numbers", "Ranges", "Sets", "Tree"]


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


# --- Quasi-identifiers as integers: ranges of what has an order, nodes of a hierarchy, and sets of values


@dataclass(frozen=True, eq=False)
class Tree:
    """Values with a hierarchy, published as the names of its nodes.

    Parameters
    ----------
    codes : ndarray of int32, shape (rows,)
        The value of each row, numbered in the order of the leaves.
    taxonomy : Taxonomy
        The hierarchy. Its last leaf, right below the root, stands for a missing value, if there is one.
    missing : bool
        Whether there are missing values.
    unit : int
        What is lost where nothing is known.
    """

    codes: Codes
    taxonomy: Taxonomy
    missing: bool
    unit: int

    @classmethod
    def of(cls, codes: Codes, hierarchy: Hierarchy, nodes: Codes, missing: bool, unit: int) -> Tree:
        """Number the values by their leaves.

        Parameters
        ----------
        codes : ndarray of int32, shape (rows,)
            The value of each row; a missing one is numbered last.
        hierarchy : Hierarchy
            The hierarchy, which knows of no missing value.
        nodes : ndarray of int32
            The leaf of each value that is not missing.
        missing : bool
            Whether there are missing values.
        unit : int
            What is lost where nothing is known.
        """
        if missing:
            nodes = np.append(nodes, np.int32(hierarchy.n_nodes))
            hierarchy = with_leaf(hierarchy)
        leaves, rank = np.unique(nodes, return_inverse=True)
        covered = hierarchy.leaves.astype(np.int64)
        penalties = np.where(covered > 1, shares(covered, hierarchy.n_leaves, unit), 0)
        taxonomy = Taxonomy(hierarchy, leaves.astype(np.int64), penalties)
        return cls(rank.astype(np.int32)[codes], taxonomy, missing, unit)

    @property
    def n_values(self) -> int:
        """Number of distinct values, the missing one included."""
        return len(self.taxonomy.leaves)

    def digest(self, codes: Codes) -> Codes:
        """The least and the largest of some values, which are covered by the same."""
        return np.array([codes.min(), codes.max()], np.int32)

    def lost(self, lines: Codes) -> Numbers:
        """What is lost by the lowest node above the values of each line."""
        return self.taxonomy.penalties[self._digests(lines.min(axis=1), lines.max(axis=1))]

    def widened(self, codes: Codes) -> Numbers:
        """What is lost by the lowest node above some values and one more, for each value."""
        tree, leaves, penalties = self._parts
        low, high = np.array([codes.min()]), np.array([codes.max()])
        result = np.empty(self.n_values, np.int64)
        for node in tree.ancestors_of(int(self._digests(low, high)[0]))[::-1].tolist():
            first, last = np.searchsorted(leaves, [node, node + tree.size[node]])
            result[first:last] = penalties[node]
        return result

    def split(self, codes: Codes) -> Numbers | None:
        """Cut into the children of the lowest node above the values."""
        tree, leaves, _ = self._parts
        node = int(self._digests(np.array([codes.min()]), np.array([codes.max()]))[0])
        if codes.min() == codes.max():
            return None
        children = np.searchsorted(tree.children(node), leaves[codes], side="right")
        return np.unique(children, return_inverse=True)[1]

    @property
    def whole(self) -> int:
        """What is lost by the root."""
        return int(self.taxonomy.penalties[0])

    def generalize(
        self, classes: Numbers, codes: Codes, n_classes: int, suppressed: int | None = None
    ) -> Cells:
        """Publish each class as the lowest node above its values, and a suppressed one as the root."""
        low, high = bounds(classes, codes, n_classes)
        if suppressed is None:
            return self._publish(self._digests(low, high))
        low[suppressed] = high[suppressed] = 0
        nodes = self._digests(low, high)
        nodes[suppressed] = 0
        return self._publish(nodes)

    def recode(self, groups: Numbers) -> Cells:
        """Publish each value as its node, and one more, and those of node -1, as the root."""
        return self._publish(np.append(np.maximum(groups, 0), 0))

    def by_height(self) -> Tree:
        """The same, where a node loses its height above the leaves, not their number."""
        tree = self.taxonomy.hierarchy
        height = tree.depth.astype(np.int64)
        for node in range(tree.n_nodes - 1, 0, -1):  # depth of the deepest leaf below each node
            height[tree.parent[node]] = max(height[tree.parent[node]], height[node])
        height -= tree.depth
        penalties = shares(height, tree.height, self.unit)
        return replace(self, taxonomy=replace(self.taxonomy, penalties=penalties))

    @property
    def _parts(self) -> tuple[Hierarchy, Numbers, Numbers]:
        return self.taxonomy.hierarchy, self.taxonomy.leaves, self.taxonomy.penalties

    def _digests(self, low: Numbers, high: Numbers) -> Numbers:
        """Lowest common ancestors: in pre-order, the one of the first and the last leaf covers all."""
        tree, leaves, _ = self._parts
        nodes, last = leaves[low], leaves[high]
        while True:
            below = nodes + tree.size[nodes] <= last
            if not below.any():
                return nodes
            nodes = np.where(below, tree.parent[nodes], nodes)

    def _publish(self, nodes: Numbers) -> Cells:
        tree, _, penalties = self._parts
        used, numbers = np.unique(nodes, return_inverse=True)
        lacking = tree.n_nodes - 1 if self.missing else -1
        labels = [None if node == lacking else tree.labels[node] for node in used.tolist()]
        return Cells(numbers, penalties[used], text_column(labels))


@dataclass(frozen=True, eq=False)
class Sets:
    """Values without order or hierarchy, published as the set of those that occur in a class.

    Parameters
    ----------
    codes : ndarray of int32, shape (rows,)
        The value of each row.
    texts : sequence of str
        The distinct values that are not missing, in order.
    missing : bool
        Whether there are missing values.
    prices : ndarray of int64, shape (values + 1,)
        What is lost by a set, by its size.
    unit : int
        What is lost where nothing is known.
    """

    codes: Codes
    texts: Sequence[str]
    missing: bool
    prices: Numbers
    unit: int

    @classmethod
    def of(cls, codes: Codes, texts: Sequence[str], missing: bool, unit: int) -> Sets:
        """Values that lose, as a set, its share of all values."""
        n = len(texts) + missing
        prices = shares(np.arange(n + 1), n, unit)
        prices[:2] = 0
        return cls(codes, texts, missing, prices, unit)

    @property
    def n_values(self) -> int:
        """Number of distinct values, the missing one included."""
        return len(self.texts) + self.missing

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """All values right below the root."""
        tree = flat(self.n_values)
        penalties = np.zeros(tree.n_nodes, np.int64)
        penalties[0] = self.prices[-1]
        return Taxonomy(tree, np.arange(1, self.n_values + 1), penalties)

    def digest(self, codes: Codes) -> Codes:
        """The distinct ones of some values."""
        return np.unique(codes)

    def lost(self, lines: Codes) -> Numbers:
        """What is lost by the set of the values of each line."""
        ordered = np.sort(lines, axis=1)
        return self.prices[1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)]

    def widened(self, codes: Codes) -> Numbers:
        """What is lost by the set of some values and one more, for each value."""
        members = np.unique(codes)
        sizes = np.full(self.n_values, len(members) + 1)
        sizes[members] = len(members)
        return self.prices[sizes]

    def split(self, codes: Codes) -> Numbers | None:
        """Cut in the order of the values, where the two parts are most alike in size."""
        return halves(codes)

    @property
    def whole(self) -> int:
        """What is lost by the set of all values."""
        return int(self.prices[-1])

    def generalize(
        self, classes: Numbers, codes: Codes, n_classes: int, suppressed: int | None = None
    ) -> Cells:
        """Publish each class as the set of its values, and a suppressed one as that of all."""
        if suppressed is not None:
            classes = np.append(classes, np.full(self.n_values, suppressed))
            codes = np.append(codes, np.arange(self.n_values, dtype=np.int32))
        members, offsets = self._members(classes, codes, n_classes)
        sizes = np.diff(offsets)
        values = pa.array([*self.texts, None], pa.string())
        labels = set_labels(values, members, sizes).dictionary_encode()
        numbers = labels.indices.to_numpy().astype(np.int64)
        first = np.unique(numbers, return_index=True)[1]
        lacking = (sizes[first] == 1) & (members[offsets[first]] == len(self.texts))
        texts = labels.dictionary.to_pylist()
        published = [None if lacks else text for lacks, text in zip(lacking.tolist(), texts, strict=True)]
        return Cells(numbers, self.prices[sizes[first]], text_column(published))

    def recode(self, groups: Numbers) -> Cells:
        """Publish each value as the set of the values of its group, and one more as that of all."""
        return recode_groups(self, groups)

    def by_height(self) -> Sets:
        """The same, where any set of several values loses all."""
        return replace(self, prices=np.where(self.prices > 0, self.unit, 0))

    def _members(self, classes: Numbers, codes: Codes, n_classes: int) -> tuple[Numbers, Numbers]:
        """The distinct values of each class, ascending, and where those of each class begin."""
        keys = distinct(classes * max(self.n_values, 1) + codes)
        owners, members = np.divmod(keys, max(self.n_values, 1))
        return members, np.searchsorted(owners, np.arange(n_classes + 1))


# One quasi-identifier.
Attribute: TypeAlias = Ranges | Tree | Sets
