"""Quasi-identifiers as integer codes: ordered ranges, nodes of a hierarchy, and sets of values."""

# Penalties are integers: ``unit``, that of a suppressed value, is a multiple of the denominators of shares.
# So sums are exact, and equal ones compare equal. Denominators that are too large are rounded, see
# `common_unit`.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon._kernels import row_clusters
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Numbers
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.mapping import set_labels

_FINE = 2**32  # lower bound on half the unit: the precision of shares that cannot be exact


class Cells(NamedTuple):
    """A generalized column, row by row or class by class."""

    numbers: Numbers  # position of the value of each row or class
    penalties: Numbers  # loss of each value
    values: pd.api.extensions.ExtensionArray  # the published values


class Taxonomy(NamedTuple):
    """A tree over the values of a column, for recodings that treat equal values equally."""

    hierarchy: Hierarchy
    leaves: Numbers  # leaf of each value, ascending
    penalties: Numbers  # loss of each node


# --- How ranges are published


@frozen
class Intervals:
    """Ranges of numbers or times, as intervals closed on both sides."""

    # ``lower`` and ``upper`` are the ends of the interval of each distinct number alone, ascending. An end is
    # the number itself, or its neighbor in the dtype of the intervals.

    lower: pd.Index[Any]
    upper: pd.Index[Any]
    missing: bool  # whether values are missing

    def merge_equal(self, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
        """Merge the ranges that are published as the same interval: one pair of numbers for each."""
        n = len(self.lower)
        mixed = (high == n) & (low < n)
        low, high = np.where(mixed, 0, low), np.where(mixed, n - 1, high)
        # Numbers whose interval has the same end are one number.
        low = np.append(self.lower.searchsorted(self.lower), n)[low]
        high = np.append(self.upper.searchsorted(self.upper, side="right") - 1, n)[high]
        return low, high

    def write(self, low: Numbers, high: Numbers) -> pd.api.extensions.ExtensionArray:
        """Return the intervals between pairs of numbers; the interval of a missing value is missing."""
        lower, upper = (
            ends.insert(len(ends), None) if self.missing else ends for ends in (self.lower, self.upper)
        )
        return pd.arrays.IntervalArray.from_arrays(lower.take(low), upper.take(high), closed="both")


@frozen
class Grades:
    """Ranges of ordered categories, as text: ``first .. last``, or the category alone."""

    # If a category contains "..", the delimiter of all ranges is a longer run of dots than any category has.
    # A range can then be split at one position only, and its text differs from that of every category.

    texts: Sequence[str]  # distinct texts of all categories, in order, including those that do not occur
    places: Numbers  # position of each value in ``texts``, ascending

    def merge_equal(self, low: Numbers, high: Numbers) -> tuple[Numbers, Numbers]:
        """Merge the ranges that are published as the same text: one pair of numbers for each."""
        # A missing value is published with others as the range of all categories, which ends at its number.
        n = len(self.places)
        if len(self.texts) == 1:
            return low, low
        places = np.append(self.places, -1)
        everything = (places[low] == 0) & (places[high] == len(self.texts) - 1) | (high == n)
        everything &= low < high
        return np.where(everything, 0, low), np.where(everything, n, high)

    def write(self, low: Numbers, high: Numbers) -> pd.api.extensions.ExtensionArray:
        """Return the ranges between pairs of values; the range of a missing value alone is missing."""
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


# --- Quasi-identifiers


def ends_of(codes: Codes, starts: Numbers) -> Codes:
    """Return the smallest and the largest value from each start on."""
    if not len(starts):
        return np.empty((0, 2), np.int32)
    return np.stack((np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)), axis=1)


def halve(codes: Codes) -> Numbers | None:
    """Cut values in order where the two parts differ least in size; None if all are equal."""
    ordered = np.sort(codes)
    cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    if len(cuts) == 0:
        return None
    middle = cuts[np.argmin(np.abs(2 * cuts - len(codes)))]  # argmin returns the first: the lower cut
    return (codes >= ordered[middle]).astype(np.int64)


def cover_groups(attribute: Attribute, groups: Numbers, codes: Codes) -> Cells:
    """Generalize the value of each row to the cover of its group; group -1 is suppressed."""
    names, inverse = np.unique(groups, return_inverse=True)
    cells = attribute.generalize(inverse, codes, len(names), suppressed=-1 in names[:1])
    return cells._replace(numbers=cells.numbers[inverse])


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ordered values, published as ranges that include both ends."""

    # A class with a missing value and others is published as the whole range. If only one value is possible,
    # that range would be the value itself. `Sets` then encodes the column.

    ends: Intervals | Grades
    positions: Numbers  # distance of each value from the smallest possible one, ascending, up to ``unit``
    missing: bool  # whether values are missing
    unit: int  # loss of a suppressed value

    digests, split, recode = staticmethod(ends_of), staticmethod(halve), cover_groups

    @property
    def n_values(self) -> int:
        """Number of distinct values, the missing one included."""
        return len(self.positions) + self.missing

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """Pairs of consecutive values, pairs of pairs, and so on; a missing value is below the root."""
        n = len(self.positions)
        tree = Hierarchy.balanced(map(str, range(n)), 2) if n else _flat(0)
        if self.missing:
            tree = with_leaf(tree)
        leaves = np.flatnonzero(tree.is_leaf) if self.n_values else np.empty(0, np.int64)
        first = np.searchsorted(leaves, np.arange(tree.n_nodes))
        last = np.searchsorted(leaves, np.arange(tree.n_nodes) + tree.size) - 1
        return Taxonomy(tree, leaves, self.between(first, last))

    def between(self, low: Numbers, high: Numbers) -> Numbers:
        """Return the losses of ranges from one value to another."""
        positions = np.append(self.positions, 0)
        mixed = (high >= len(self.positions)) & (low < high)
        least = (low < high) * min(self.unit, 1)  # 0 if the column does not count
        return np.where(mixed, self.unit, np.maximum(positions[high] - positions[low], least))

    def losses_with(self, lines: Codes, values: Codes) -> Numbers:
        """Return the loss of the range of the values of each line and others."""
        return row_clusters.range_losses(lines, values, self.positions, min(self.unit, 1), self.unit)

    @property
    def whole(self) -> int:
        """Loss of the whole range."""
        return int(self.between(*self.ends.merge_equal(np.array([0]), np.array([len(self.positions)])))[0])

    def generalize(self, classes: Numbers, codes: Codes, n_classes: int, *, suppressed: bool) -> Cells:
        """Generalize each class to the range of its values; class 0 may be suppressed, as the whole range."""
        low, high = bounds(classes, codes, n_classes)
        n = len(self.positions)
        if suppressed:
            low[0], high[0] = 0, n
        low, high = self.ends.merge_equal(low, high)
        keys, numbers = np.unique(low * (n + 1) + high, return_inverse=True)
        low, high = np.divmod(keys, n + 1)
        return Cells(numbers, self.between(low, high), self.ends.write(low, high))

    def by_height(self) -> Ranges:
        """Return the attribute itself: heights do not apply to ranges."""
        return self


@dataclass(frozen=True, eq=False)
class Tree:
    """Values with a hierarchy, in the order of their leaves, published as the labels of its nodes."""

    taxonomy: Taxonomy  # if values are missing, its last leaf, a child of the root, stands for them
    missing: bool  # whether values are missing
    unit: int  # loss of a suppressed value

    digests = staticmethod(ends_of)

    @classmethod
    def of(cls, hierarchy: Hierarchy, leaves: Numbers, missing: bool, unit: int) -> Tree:
        """Create the attribute; a node loses its share of all leaves, and a leaf nothing."""
        covered = hierarchy.leaves.astype(np.int64)
        penalties = np.where(covered > 1, shares(covered, hierarchy.n_leaves, unit), 0)
        return cls(Taxonomy(hierarchy, leaves, penalties), missing, unit)

    @property
    def n_values(self) -> int:
        """Number of distinct values, the missing one included."""
        return len(self.taxonomy.leaves)

    def losses_with(self, lines: Codes, values: Codes) -> Numbers:
        """Return the loss of the lowest common ancestor of the values of each line and others."""
        tree, leaves, penalties = self.taxonomy
        return row_clusters.ancestor_losses(lines, values, leaves, tree.size, tree.parent, penalties)

    def split(self, codes: Codes) -> Numbers | None:
        """Split into the children of the lowest common ancestor; None for a single value."""
        tree, leaves, _ = self.taxonomy
        low, high = codes.min(keepdims=True), codes.max(keepdims=True)
        if low == high:
            return None
        node = int(self._digests(low, high)[0])
        children = np.searchsorted(tree.children(node), leaves[codes], side="right")
        return np.unique(children, return_inverse=True)[1]

    @property
    def whole(self) -> int:
        """Loss of the root."""
        return int(self.taxonomy.penalties[0])

    def generalize(self, classes: Numbers, codes: Codes, n_classes: int, *, suppressed: bool) -> Cells:
        """Generalize each class to the lowest common ancestor of its values; class 0 may be suppressed."""
        nodes = self._digests(*bounds(classes, codes, n_classes))
        if suppressed:
            nodes[0] = 0
        return self._publish(nodes)

    def recode(self, groups: Numbers, codes: Codes) -> Cells:
        """Publish the node of each row; node -1 is suppressed, as the root."""
        return self._publish(np.maximum(groups, 0))

    def by_height(self) -> Tree:
        """Return the attribute with losses by the height of a node, not by its number of leaves."""
        tree = self.taxonomy.hierarchy
        height = tree.depth.astype(np.int64)
        for node in range(tree.n_nodes - 1, 0, -1):  # children before parents: depth of the deepest leaf
            height[tree.parent[node]] = max(height[tree.parent[node]], height[node])
        height -= tree.depth
        penalties = shares(height, tree.height, self.unit)
        return replace(self, taxonomy=self.taxonomy._replace(penalties=penalties))

    def _digests(self, low: Numbers, high: Numbers) -> Numbers:
        """Lowest common ancestors. In pre-order, that of the first and the last leaf covers all between."""
        tree, leaves, _ = self.taxonomy
        nodes, last = leaves[low], leaves[high]
        while True:
            below = nodes + tree.size[nodes] <= last
            if not below.any():
                return nodes
            nodes = np.where(below, tree.parent[nodes], nodes)

    def _publish(self, nodes: Numbers) -> Cells:
        tree, _, penalties = self.taxonomy
        used, numbers = np.unique(nodes, return_inverse=True)
        lacking = tree.n_nodes - 1 if self.missing else -1
        labels = [None if node == lacking else tree.labels[node] for node in used.tolist()]
        return Cells(numbers, penalties[used], text_column(labels))


@dataclass(frozen=True, eq=False)
class Sets:
    """Values without order or hierarchy, published as the set of the values of a class."""

    texts: Sequence[str]  # distinct values, in order
    missing: bool  # whether values are missing
    prices: Numbers  # loss of a set, by its size
    unit: int  # loss of a suppressed value

    split, recode = staticmethod(halve), cover_groups

    @classmethod
    def of(cls, texts: Sequence[str], missing: bool, unit: int) -> Sets:
        """Create the attribute; the loss of a set is its share of all values."""
        n = len(texts) + missing
        prices = shares(np.arange(n + 1), n, unit)
        prices[:2] = 0
        return cls(texts, missing, prices, unit)

    @property
    def n_values(self) -> int:
        """Number of distinct values, the missing one included."""
        return len(self.texts) + self.missing

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """Tree with all values as children of the root."""
        tree = _flat(self.n_values)
        penalties = np.zeros(tree.n_nodes, np.int64)
        penalties[0] = self.prices[-1]
        return Taxonomy(tree, np.arange(1, self.n_values + 1), penalties)

    def digests(self, codes: Codes, starts: Numbers) -> Codes:
        """Return the distinct values from each start on, the last one repeated where others have more."""
        lengths = np.diff(np.append(starts, len(codes)))
        members, offsets = self._members(np.repeat(np.arange(len(starts)), lengths), codes, len(starts))
        width = np.diff(offsets).max(initial=1)
        places = np.minimum(offsets[:-1, np.newaxis] + np.arange(width), offsets[1:, np.newaxis] - 1)
        return members[places].astype(np.int32)

    def losses_with(self, lines: Codes, values: Codes) -> Numbers:
        """Return the loss of the set of the values of each line, in order, and others."""
        return row_clusters.set_losses(lines, values, self.prices)

    @property
    def whole(self) -> int:
        """Loss of the set of all values."""
        return int(self.prices[-1])

    def generalize(self, classes: Numbers, codes: Codes, n_classes: int, *, suppressed: bool) -> Cells:
        """Generalize each class to the set of its values; class 0 may be suppressed, as the set of all."""
        if suppressed:
            classes = np.append(classes, np.zeros(self.n_values, np.int64))
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

    def by_height(self) -> Sets:
        """Return the attribute with full loss for every set of several values."""
        return replace(self, prices=np.where(self.prices > 0, self.unit, 0))

    def _members(self, classes: Numbers, codes: Codes, n_classes: int) -> tuple[Numbers, Numbers]:
        """Return the distinct values of all classes, ascending by class, and where each class begins."""
        keys = distinct(classes * max(self.n_values, 1) + codes)
        owners, members = np.divmod(keys, max(self.n_values, 1))
        return members, np.searchsorted(owners, np.arange(n_classes + 1))


# One quasi-identifier.
Attribute: TypeAlias = Ranges | Tree | Sets

# --- Common steps


_ONE = np.zeros(1, np.int64)  # starts of a single part


def digest_of(attribute: Attribute, codes: Codes) -> Codes:
    """Return few values with the same cover as some values, ascending."""
    return attribute.digests(np.ascontiguousarray(codes), _ONE)[0]


def cover_loss(attribute: Attribute, codes: Codes) -> int:
    """Return the loss of the cover of some values."""
    values = np.ascontiguousarray(codes)
    return int(attribute.losses_with(values[:1, np.newaxis], values)[0])


def common_unit(wholes: Iterable[int], cells: int) -> int:
    """Return an integer that many denominators divide and whose sums over all cells fit 64 bits twice."""
    # Large denominators are left out if the common multiple is too large.
    most, unit = 2**60 // max(cells, 1), 1
    for whole in sorted(whole for whole in set(wholes) if whole > 0):
        if lcm(unit, whole) <= most:
            unit = lcm(unit, whole)
    return unit * max(_FINE // unit, 1)


def shares(parts: Numbers, whole: int, unit: int) -> Numbers:
    """Return shares of a whole as parts of ``unit``, rounded down."""
    # divmod splits the product: parts * unit alone could exceed 64 bits.
    each, rest = divmod(unit, max(whole, 1))
    return parts * each + parts * rest // max(whole, 1)


def bounds(classes: Numbers, codes: Codes, n_classes: int) -> tuple[Numbers, Numbers]:
    """Return the smallest and the largest value of each class."""
    low, high = np.full(n_classes, np.iinfo(np.int64).max), np.full(n_classes, -1)
    np.minimum.at(low, classes, codes)
    np.maximum.at(high, classes, codes)
    return low, high


def _flat(n: int) -> Hierarchy:
    """Return a tree with n leaves as children of the root."""
    return Hierarchy(("*", *map(str, range(n))), np.array([-1, *[0] * n], np.int32))


def with_leaf(tree: Hierarchy) -> Hierarchy:
    """Add a last leaf below the root; no other node has its name, the empty text."""
    return replace(tree, names=(*tree.names, ""), parent=np.append(tree.parent, np.int32(0)))
