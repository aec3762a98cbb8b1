"""Suppression: rows of which nothing is published, where to hide them among others would lose more.

Suppressed rows are one class, and there are k of them or none: so the guarantee needs no exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.relational.attributes import Attribute, Numbers
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows, sums
from pdanon.itemsets.codes import Codes

__all__ = ["lost", "published", "rows_allowed", "rows_below", "trimmed"]

# What is gained for each row, which class, and which of its rows go, and which stay.
_Trim: TypeAlias = tuple[Fraction, int, Numbers, Numbers]


def rows_allowed(share: Fraction, n_rows: int, k: int) -> int:
    """How many rows may be suppressed: none, if these would be fewer than k."""
    rows = int(share * n_rows)
    return rows if rows >= k else 0


# --- recodings that treat equal values alike: rows in classes of fewer than k go


def rows_below(keys: Sequence[NDArray[np.integer]], weights: Numbers, k: int) -> int:
    """Rows in classes of equal keys of fewer than k, given how many rows each combination stands for."""
    sizes = sums(group_rows(keys, len(weights)), weights)
    return int(sizes[sizes < k].sum())


def lost(
    attributes: Sequence[Attribute], keys: Sequence[Numbers], weights: Numbers, k: int, most: int
) -> int | None:
    """What is lost by publishing nodes, or None if more rows than allowed would have to be suppressed.

    Parameters
    ----------
    attributes : sequence of Attribute
        The columns.
    keys : sequence of ndarray of int64, one a column
        The node of each combination of values.
    weights : ndarray of int64
        How many rows each combination stands for.
    k, most
        Least size of a class, and how many rows may be suppressed.
    """
    gone = _suppressed(keys, weights, k, most)
    if gone is None:
        return None
    pairs = zip(attributes, keys, strict=True)
    each = np.sum([attribute.taxonomy.penalties[key] for attribute, key in pairs], axis=0)
    whole = sum(attribute.whole for attribute in attributes)
    return int(weights[~gone] @ each[~gone]) + int(weights[gone].sum()) * whole


def published(table: QuasiTable, groups: Sequence[Numbers], k: int, most: int) -> Classes | None:
    """Publish equal values alike, and nothing of rows in small classes; None if these are too many."""
    keys = [of_value[each.codes] for of_value, each in zip(groups, table.attributes, strict=True)]
    gone = _suppressed(keys, np.ones(table.n_rows, np.int64), k, most)
    return None if gone is None else Classes.of_values(table, groups, gone)


def _suppressed(
    keys: Sequence[NDArray[np.integer]], weights: Numbers, k: int, most: int
) -> NDArray[np.bool_] | None:
    """What is in classes of fewer than k, with the smallest other class if that is fewer than k itself."""
    classes = group_rows(keys, len(weights))
    sizes = sums(classes, weights)
    gone = sizes < k
    if 0 < sizes[gone].sum() < k and not gone.all():
        gone[np.argmin(np.where(gone, np.iinfo(np.int64).max, sizes))] = True
    rows = sizes[gone].sum()
    return gone[classes] if rows == 0 or k <= rows <= most else None


# --- recodings of groups of rows: those go that make their groups lose most


def trimmed(table: QuasiTable, groups: Numbers, k: int, most: int) -> Classes:
    """Publish groups of rows as what covers their members, without rows that make others lose more.

    Parameters
    ----------
    table : QuasiTable
        The rows.
    groups : ndarray of int64, shape (rows,)
        Group of each row, of k rows at least.
    k, most
        Least size of a class, and how many rows may be suppressed.

    Notes
    -----
    A group goes on without the rows of one value that says what covers it, with those of the commonest
    value, or with those of the largest part that it can be split into, in one column, if that loses less
    and leaves k rows. First comes what gains most for each suppressed row (ties: the first group, the first
    column), as long as no more are suppressed than allowed. If they are fewer than k, none is.
    """
    if most:
        groups = _without_outliers(table, groups, k, most)
    return Classes.of_members(table, groups)


def _without_outliers(table: QuasiTable, groups: Numbers, k: int, most: int) -> Numbers:
    order = np.argsort(groups, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    waiting = [trim for number, rows in enumerate(members) for trim in _best_trim(table, number, rows, k)]
    heapify(waiting)
    result, left = groups.copy(), most
    while waiting:
        _, number, out, rest = heappop(waiting)
        if len(out) <= left:
            result[out] = -1
            left -= len(out)
            for trim in _best_trim(table, number, rest, k):
                heappush(waiting, trim)
    return result if most - left >= k else groups


def _best_trim(table: QuasiTable, number: int, rows: Numbers, k: int) -> list[_Trim]:
    """The rows that gain most if they are suppressed, for each of them; none if nothing is gained."""
    if len(rows) == k:
        return []
    codes = table.codes[rows]
    whole, before = sum(each.whole for each in table.attributes), _loss(table, codes) * len(rows)
    best: list[_Trim] = []
    for attribute, column in zip(table.attributes, codes.T, strict=True):
        for kept in _without_few(attribute, column):
            count = len(rows) - int(kept.sum())
            if len(rows) - count < k or before <= count * whole:
                continue
            gain = before - _loss(table, codes[kept]) * (len(rows) - count) - count * whole
            each = -Fraction(gain, count)  # the least comes first
            if gain > 0 and (not best or each < best[0][0]):
                best = [(each, number, rows[~kept], rows[kept])]
    return best


def _without_few(attribute: Attribute, codes: Codes) -> list[NDArray[np.bool_]]:
    """Rows without those of one value at an end, those of the commonest value, those of the largest part."""
    found = [codes != value for value in np.unique(attribute.digest(codes))]
    parts = attribute.split(codes)
    if parts is None:  # one value
        return []
    return [*found, codes == np.bincount(codes).argmax(), parts == np.bincount(parts).argmax()]


def _loss(table: QuasiTable, codes: Codes) -> int:
    """What each of some rows loses, if they are one class."""
    columns = zip(table.attributes, codes.T, strict=True)
    return sum(int(attribute.lost(column[np.newaxis])[0]) for attribute, column in columns)
