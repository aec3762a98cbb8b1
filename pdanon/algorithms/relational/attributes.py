"""Quasi-identifiers as integers: ranges of numbers, nodes of a hierarchy, and sets of values.

The values of a column are numbered in order, a missing value last. The three kinds answer the same
questions: what covers some values, how much that says less than the values (the penalty), and what it
looks like when it is published.

Penalties are integers, ``unit`` for a value of which nothing is known. It is a multiple of what shares are of
(a number of leaves, the length of a range), so that shares and their sums are exact, and equal ones compare
equal. What is too large for that, see `common_unit`, is rounded down; a range of several numbers loses at
least 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.versions import text_column
from pdanon.recoding.recoding import set_labels

__all__ = ["Attribute", "Cells", "Numbers", "Ranges", "Sets", "Taxonomy", "Tree", "common_unit", "shares"]

_FINE = 2**32  # shares that cannot be exact are finer than one in half as many

Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """A generalized column, class by class.

    Parameters
    ----------
    numbers : ndarray of int64, shape (classes,)
        Which of the values each class has.
    penalties : ndarray of int64, shape (values,)
        What is lost by each value.
    values : pandas array, length (values,)
        The values as they are published.
    """

    numbers: Numbers
    penalties: Numbers
    values: pd.api.extensions.ExtensionArray


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree over the values of a column, for recodings that treat equal values alike.

    Parameters
    ----------
    hierarchy : Hierarchy
        The tree.
    leaves : ndarray of int64, shape (values,)
        The leaf of each value, ascending.
    penalties : ndarray of int64, shape (nodes,)
        What is lost by each node.
    """

    hierarchy: Hierarchy
    leaves: Numbers
    penalties: Numbers


@dataclass(frozen=True, eq=False)
class Ranges:
    """Numbers and times, published as intervals closed on both sides.

    Parameters
    ----------
    codes : ndarray of int32, shape (rows,)
        The value of each row.
    lower, upper : pandas.Index
        Where an interval begins and ends that has each of the distinct numbers at its end, ascending: the
        number, or what is next to it in the type of the intervals.
    positions : ndarray of int64, shape (numbers,)
        Where they are between the least, 0, and the largest, ``unit``.
    missing : bool
        Whether there are missing values.
    unit : int
        What is lost where nothing is known.

    Notes
    -----
    Together with numbers, a missing value is covered by the whole range only, which says nothing. One number
    has no such range: beside missing values it is one of `Sets`.
    """

    codes: Codes
    lower: pd.Index[Any]
    upper: pd.Index[Any]
    positions: Numbers
    missing: bool
    unit: int

    @property
    def n_values(self) -> int:
        """Number of distinct values, the missing one included."""
        return len(self.positions) + self.missing

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """Pairs of consecutive numbers, pairs of those, and so on; a missing value is below the root."""
        n = len(self.positions)
        tree = Hierarchy.balanced(map(str, range(n)), 2) if n else _flat(0)
        if self.missing:
            tree = _with_leaf(tree)
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
        return _halves(codes)

    def generalize(self, classes: Numbers, codes: Codes, n_classes: int) -> Cells:
        """Publish each class as the interval of its values."""
        low, high = _bounds(classes, codes, n_classes)
        n = len(self.positions)
        mixed = (high == n) & (low < n)
        low, high = np.where(mixed, 0, low), np.where(mixed, n - 1, high)
        # Numbers that end an interval alike are one.
        low = np.append(self.lower.searchsorted(self.lower), n)[low]
        high = np.append(self.upper.searchsorted(self.upper, side="right") - 1, n)[high]
        keys, numbers = np.unique(low * (n + 1) + high, return_inverse=True)
        low, high = np.divmod(keys, n + 1)
        penalties = self.between(low, high)
        lower, upper = (ends.insert(n, None) if self.missing else ends for ends in (self.lower, self.upper))
        values = pd.arrays.IntervalArray.from_arrays(lower.take(low), upper.take(high), closed="both")
        return Cells(numbers, penalties, values)

    def recode(self, groups: Numbers) -> Cells:
        """Publish each value as the interval of the values of its group."""
        return _recode_groups(self, groups)

    def by_height(self) -> Ranges:
        """The same."""
        return self


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
            hierarchy = _with_leaf(hierarchy)
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

    def generalize(self, classes: Numbers, codes: Codes, n_classes: int) -> Cells:
        """Publish each class as the lowest node above its values."""
        return self._publish(self._digests(*_bounds(classes, codes, n_classes)))

    def recode(self, groups: Numbers) -> Cells:
        """Publish each value as its node."""
        return self._publish(groups)

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
        tree = _flat(self.n_values)
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
        return _halves(codes)

    def generalize(self, classes: Numbers, codes: Codes, n_classes: int) -> Cells:
        """Publish each class as the set of its values."""
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
        """Publish each value as the set of the values of its group."""
        return _recode_groups(self, groups)

    def by_height(self) -> Sets:
        """The same, where any set of several values loses all."""
        return replace(self, prices=np.where(self.prices > 0, self.unit, 0))

    def _members(self, classes: Numbers, codes: Codes, n_classes: int) -> tuple[Numbers, Numbers]:
        """The distinct values of each class, ascending, and where those of each class begin."""
        keys = np.unique(classes * max(self.n_values, 1) + codes)
        owners, members = np.divmod(keys, max(self.n_values, 1))
        return members, np.searchsorted(owners, np.arange(n_classes + 1))


# One quasi-identifier.
Attribute: TypeAlias = Ranges | Tree | Sets


def common_unit(wholes: Iterable[int], cells: int) -> int:
    """Integer of which many shares are integers, where sums of so many cells, and twice that, are of 64 bits.

    Parameters
    ----------
    wholes : iterable of int
        What shares are of. The large ones are left out if their common multiple is too large.
    cells : int
        Number of rows times columns.
    """
    most, unit = 2**60 // max(cells, 1), 1
    for whole in sorted(whole for whole in set(wholes) if whole > 0):
        if lcm(unit, whole) <= most:
            unit = lcm(unit, whole)
    return unit * max(_FINE // unit, 1)


def shares(parts: Numbers, whole: int, unit: int) -> Numbers:
    """Shares of a whole, which is ``unit``, rounded down; all products are of 64 bits."""
    each, rest = divmod(unit, max(whole, 1))
    return parts * each + parts * rest // max(whole, 1)


def _bounds(classes: Numbers, codes: Codes, n_classes: int) -> tuple[Numbers, Numbers]:
    """Least and largest value of each class."""
    low, high = np.full(n_classes, np.iinfo(np.int64).max), np.full(n_classes, -1)
    np.minimum.at(low, classes, codes)
    np.maximum.at(high, classes, codes)
    return low, high


def _halves(codes: Codes) -> Numbers | None:
    ordered = np.sort(codes)
    cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    if len(cuts) == 0:
        return None
    middle = cuts[np.argmin(np.abs(2 * cuts - len(codes)))]
    return (codes >= ordered[middle]).astype(np.int64)


def _recode_groups(attribute: Ranges | Sets, groups: Numbers) -> Cells:
    names, inverse = np.unique(groups, return_inverse=True)
    cells = attribute.generalize(inverse, np.arange(len(groups), dtype=np.int32), len(names))
    return replace(cells, numbers=cells.numbers[inverse])


def _flat(n: int) -> Hierarchy:
    return Hierarchy(("*", *map(str, range(n))), np.array([-1, *[0] * n], np.int32))


def _with_leaf(tree: Hierarchy) -> Hierarchy:
    """Add a last leaf below the root; its name is empty, as that of no other node is."""
    return replace(tree, names=(*tree.names, ""), parent=np.append(tree.parent, np.int32(0)))
