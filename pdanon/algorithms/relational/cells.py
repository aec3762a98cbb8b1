"""Elements of all quasi-identifiers: published cells, trees over values, and shares as integers.

Penalties are integers, and ``unit`` is the penalty of a suppressed value. ``unit`` is a multiple of the
denominators of shares (numbers of leaves, lengths of ranges). Shares and their sums are therefore exact, and
equal ones compare equal. Shares of denominators that are too large, see `common_unit`, are rounded down. A
range of several numbers loses at least 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import lcm
from typing import Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes

__all__ = [
    "Cells",
    "Numbers",
    "Taxonomy",
    "bounds",
    "common_unit",
    "flat",
    "halves",
    "recode_groups",
    "shares",
    "with_leaf",
]

_FINE = 2**32  # lower bound on half the unit: the precision of shares that cannot be exact

Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """A generalized column, class by class.

    Parameters
    ----------
    numbers : ndarray of int64, shape (classes,)
        Position of the value of each class.
    penalties : ndarray of int64, shape (values,)
        Loss of each value.
    values : pandas array, length (values,)
        The published values.
    """

    numbers: Numbers
    penalties: Numbers
    values: pd.api.extensions.ExtensionArray


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A tree over the values of a column, for recodings that treat equal values equally.

    Parameters
    ----------
    hierarchy : Hierarchy
        The tree.
    leaves : ndarray of int64, shape (values,)
        The leaf of each value, ascending.
    penalties : ndarray of int64, shape (nodes,)
        Loss of each node.
    """

    hierarchy: Hierarchy
    leaves: Numbers
    penalties: Numbers


class _Generalizing(Protocol):
    def generalize(
        self, classes: Numbers, codes: Codes, n_classes: int, suppressed: int | None = None
    ) -> Cells: ...


def common_unit(wholes: Iterable[int], cells: int) -> int:
    """Return an integer that many denominators divide and whose sums over all cells fit 64 bits twice.

    Parameters
    ----------
    wholes : iterable of int
        Denominators of shares. Large ones are left out if their common multiple is too large.
    cells : int
        Number of rows times columns.
    """
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


def halves(codes: Codes) -> Numbers | None:
    """Cut values in order where the two parts differ least in size; None if all are equal."""
    ordered = np.sort(codes)
    cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    if len(cuts) == 0:
        return None
    middle = cuts[np.argmin(np.abs(2 * cuts - len(codes)))]  # argmin returns the first: the lower cut
    return (codes >= ordered[middle]).astype(np.int64)


def recode_groups(attribute: _Generalizing, groups: Numbers) -> Cells:
    """Generalize each value to the cover of its group, and one more to the cover of all values."""
    # Without values, no cover exists, so nothing is added for all of them.
    if not len(groups):
        return attribute.generalize(groups, groups.astype(np.int32), 0)
    names, inverse = np.unique(groups, return_inverse=True)
    values = np.arange(len(groups), dtype=np.int32)
    cells = attribute.generalize(inverse, values, len(names) + 1, suppressed=len(names))
    return replace(cells, numbers=cells.numbers[np.append(inverse, len(names))])


def flat(n: int) -> Hierarchy:
    """Return a tree with n leaves as children of the root."""
    return Hierarchy(("*", *map(str, range(n))), np.array([-1, *[0] * n], np.int32))


def with_leaf(tree: Hierarchy) -> Hierarchy:
    """Add a last leaf below the root; no other node has its name, the empty text."""
    return replace(tree, names=(*tree.names, ""), parent=np.append(tree.parent, np.int32(0)))
