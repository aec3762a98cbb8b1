"""Suppression of rows whose generalization would lose more.

Suppressed rows form one class of at least k rows, or there are none. The guarantee needs no exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.relational.attributes import Attribute, cover_loss, digest_of
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows
from pdanon.itemsets.codes import Codes, Mask, Numbers
from pdanon.itemsets.lists import sums

# Negative gain for each suppressed row, number of the class, its suppressed rows, its remaining rows.
_Trim: TypeAlias = tuple[Fraction, int, Numbers, Numbers]


def rows_allowed(share: Fraction, n_rows: int, k: int) -> int:
    """Return the number of rows that may be suppressed: none if it is below k."""
    rows = int(share * n_rows)
    return rows if rows >= k else 0


# --- recodings that treat equal values equally: suppress the rows in classes of fewer than k


def rows_below(keys: Sequence[NDArray[np.integer]], weights: Numbers, k: int) -> int:
    """Count rows in classes of fewer than k, given the number of rows with each combination of keys."""
    sizes = sums(group_rows(keys, len(weights)), weights)
    return int(sizes[sizes < k].sum())


def total_loss(
    attributes: Sequence[Attribute], keys: Sequence[Numbers], weights: Numbers, k: int, most: int
) -> int | None:
    """Return the loss of publishing nodes, or None if more than ``most`` rows would have to be suppressed.

    ``keys`` has the node of each combination of values, column by column; ``weights`` its number of rows.
    """
    gone = _rows_to_suppress(keys, weights, k, most)
    if gone is None:
        return None
    pairs = zip(attributes, keys, strict=True)
    each = np.sum([attribute.taxonomy.penalties[key] for attribute, key in pairs], axis=0)
    whole = sum(attribute.whole for attribute in attributes)
    return int(weights[~gone] @ each[~gone]) + int(weights[gone].sum()) * whole


def publish_values(table: QuasiTable, groups: Sequence[Numbers], k: int, most: int) -> Classes | None:
    """Publish equal values equally and suppress small classes; None if these have too many rows."""
    keys = [of_value[each.codes] for of_value, each in zip(groups, table.attributes, strict=True)]
    weights = np.ones(table.n_rows, np.int64) if table.weights is None else table.weights
    gone = _rows_to_suppress(keys, weights, k, most)
    return None if gone is None else Classes.of_values(table, groups, gone)


def _rows_to_suppress(
    keys: Sequence[NDArray[np.integer]], weights: Numbers, k: int, most: int
) -> Mask | None:
    """Mark what is in classes of fewer than k, and in the smallest other class if k rows are not reached."""
    classes = group_rows(keys, len(weights))
    sizes = sums(classes, weights)
    gone = sizes < k
    if 0 < sizes[gone].sum() < k and not gone.all():
        gone[np.argmin(np.where(gone, np.iinfo(np.int64).max, sizes))] = True
    rows = sizes[gone].sum()
    return gone[classes] if rows == 0 or k <= rows <= most else None


# --- recodings of groups of rows: suppress the rows that raise the loss of their group most


def trim_groups(table: QuasiTable, groups: Numbers, k: int, most: int) -> Classes:
    """Generalize groups of at least k rows, and suppress up to ``most`` rows that raise their group's loss.

    A group may lose the rows of a value that bounds its cover, or all rows but those of the most common
    value. It may also keep only its largest part after a split in one column. Both must lower the loss and
    leave k rows. The removal with the largest gain for each suppressed row comes first (ties: the first
    group, the first column), within the upper bound. If fewer than k rows are suppressed, none is.
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
    """Return the removal with the largest gain for each suppressed row; none if no removal gains."""
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
            each = -Fraction(gain, count)  # negative: the heap returns the smallest first
            if gain > 0 and (not best or each < best[0][0]):
                best = [(each, number, rows[~kept], rows[kept])]
    return best


def _without_few(attribute: Attribute, codes: Codes) -> list[Mask]:
    """Return masks of the rows to keep: without an extreme value, with the most common, the largest part."""
    found = [codes != value for value in np.unique(digest_of(attribute, codes))]
    parts = attribute.split(codes)
    if parts is None:  # one value
        return []
    return [*found, codes == np.bincount(codes).argmax(), parts == np.bincount(parts).argmax()]


def _loss(table: QuasiTable, codes: Codes) -> int:
    """Return the loss of each of some rows if they are one class."""
    columns = zip(table.attributes, codes.T, strict=True)
    return sum(cover_loss(attribute, column) for attribute, column in columns)
