"""Breaches: known items whose rows share a sensitive item too often.

Rows are divided into known items, which somebody may know of a person, and sensitive ones, which nobody is to
learn. All comparisons are of integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets import Itemsets
from pdanon.support import ItemsetTable, SupportIndex, concatenated

__all__ = ["breaches", "divided", "minimal"]


def divided(itemsets: Itemsets, sensitive: NDArray[np.bool_]) -> tuple[SupportIndex, SupportIndex]:
    """The known and the sensitive items of each row; both keep their codes."""
    rows = SupportIndex.of(itemsets)
    return rows.holding_only(~sensitive), rows.holding_only(sensitive)


def breaches(
    known: SupportIndex, secrets: SupportIndex, *, diversity: int, m: int | None, k: int = 1
) -> ItemsetTable:
    """Itemsets in at least k rows, where a sensitive item is in more than one row in ``diversity``.

    Parameters
    ----------
    known, secrets : SupportIndex
        The same rows.
    diversity : int
        At least 2; the l of l^m-diversity.
    m : int or None
        Largest size, at least 1; None: any.
    k : int
        Least support. Other itemsets are left to :class:`pdanon.KmAnonymity`.

    Returns
    -------
    ItemsetTable
        Those that have no proper subset among them, by size, then by codes.

    Notes
    -----
    Sensitive item by sensitive item, as only itemsets of the rows that hold it can give it away. In these
    rows, items that are a breach alone are left out after they are noted, and items so rare there that no k
    rows can be a breach.
    """
    starts, tids, _ = secrets.transpose
    singles = known.singles
    found = [_none()]
    for secret in np.flatnonzero(secrets.singles * diversity > k):
        rows = known.within(tids[starts[secret] : starts[secret + 1]])
        shared = rows.singles
        alone = (shared * diversity > singles) & (singles >= k)
        items = np.flatnonzero(alone).astype(np.int32)
        found.append(ItemsetTable(items, np.arange(len(items) + 1), singles[items]))
        if m != 1:
            rows = rows.holding_only(~alone & (shared * diversity > k) & (singles >= k))
            table = rows.rare(rows.n_rows + 1, rows.longest if m is None else m, minimal=False)
            table = table.take((np.diff(table.offsets) > 1) & (table.supports * diversity > k))
            supports = known.supports(table.codes, table.offsets)
            broken = (table.supports * diversity > supports) & (supports >= k)
            found.append(ItemsetTable(table.codes, table.offsets, supports).take(broken))
    return minimal(found, known)


def minimal(tables: list[ItemsetTable], index: SupportIndex) -> ItemsetTable:
    """Of the itemsets of all tables those with no proper subset among them, by size, then by codes."""
    listed = concatenated(tables)
    sets = SupportIndex(listed.codes, listed.offsets, index.n_items).distinct()
    left = ItemsetTable(sets.codes, sets.offsets, index.supports(sets.codes, sets.offsets)).ordered()
    for size in np.unique(np.diff(left.offsets))[:-1]:
        sizes = np.diff(left.offsets)
        larger = SupportIndex(left.codes, left.offsets, index.n_items).holding(left.take(sizes == size))
        left = left.take(~larger | (sizes <= size))
    return left


def _none() -> ItemsetTable:
    return ItemsetTable(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int64))
