"""What all kinds of quasi-identifiers share: published cells, trees over values, and shares as integers.

Penalties are integers, ``unit`` for a value of which nothing is known. It is a multiple of what shares are of
(a number of leaves, the length of a range), so that shares and their sums are exact, and equal ones compare
equal. What is too large for that, see `common_unit`, is rounded down; a range of several numbers loses at
least 1.
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


class _Generalizing(Protocol):
    def generalize(
        self, classes: Numbers, codes: Codes, n_classes: int, suppressed: int | None = None
    ) -> Cells: ...


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


def bounds(classes: Numbers, codes: Codes, n_classes: int) -> tuple[Numbers, Numbers]:
    """Least and largest value of each class."""
    low, high = np.full(n_classes, np.iinfo(np.int64).max), np.full(n_classes, -1)
    np.minimum.at(low, classes, codes)
    np.maximum.at(high, classes, codes)
    return low, high


def halves(codes: Codes) -> Numbers | None:
    """Cut values, in their order, where the two parts are most alike in size; None if all are one."""
    ordered = np.sort(codes)
    cuts = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
    if len(cuts) == 0:
        return None
    middle = cuts[np.argmin(np.abs(2 * cuts - len(codes)))]
    return (codes >= ordered[middle]).astype(np.int64)


def recode_groups(attribute: _Generalizing, groups: Numbers) -> Cells:
    """Publish each value as what covers the values of its group, and one more as what covers all."""
    if not len(groups):  # of nothing, nothing covers all
        return attribute.generalize(groups, groups.astype(np.int32), 0)
    names, inverse = np.unique(groups, return_inverse=True)
    values = np.arange(len(groups), dtype=np.int32)
    cells = attribute.generalize(inverse, values, len(names) + 1, suppressed=len(names))
    return replace(cells, numbers=cells.numbers[np.append(inverse, len(names))])


def flat(n: int) -> Hierarchy:
    """A tree of so many leaves right below the root."""
    return Hierarchy(("*", *map(str, range(n))), np.array([-1, *[0] * n], np.int32))


def with_leaf(tree: Hierarchy) -> Hierarchy:
    """Add a last leaf below the root; its name is empty, as that of no other node is."""
    return replace(tree, names=(*tree.names, ""), parent=np.append(tree.parent, np.int32(0)))
