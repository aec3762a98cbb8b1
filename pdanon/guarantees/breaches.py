"""Breaches: known items whose rows share a secret item too often.

Rows are divided into known items, which somebody may know of a person, and secret ones, which nobody is to
learn: the sensitive items of diversity, the private ones of coherence. All comparisons are of integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import breaches as kernels
from pdanon._kernels.itemset_search import minimal
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import MOST_ITEMSETS, ItemsetTable, concatenate, no_itemsets, refuse_long_list
from pdanon.itemsets.threads import count_threads, many_parts, search
from pdanon.itemsets.timing import halt_flag

__all__ = ["breaches", "divided", "minimal_sets", "rows_at_risk", "threats"]


def divided(itemsets: Itemsets, sensitive: NDArray[np.bool_]) -> tuple[SupportIndex, SupportIndex]:
    """The known and the sensitive items of each row; both keep their codes."""
    rows = SupportIndex.of(itemsets)
    return rows.keep_items(~sensitive), rows.keep_items(sensitive)


def rows_at_risk(
    known: SupportIndex, secrets: SupportIndex, *, share: Fraction, m: int | None, k: int = 1
) -> NDArray[np.bool_]:
    """Which rows hold an itemset of `threats`; that is quicker than to list these.

    Parameters
    ----------
    known, secrets : SupportIndex
        The same rows.
    share : Fraction
        Largest share, in [0, 1], of the rows that hold the known items in which a secret item may be.
    m : int or None
        Largest size, at least 1; None: any.
    k : int
        Least support.
    """
    held = known.at_risk(k, m) if k > 1 else np.zeros(len(known.weights), np.bool_)
    _search(known, secrets, share, m, k, held)
    return held


def threats(
    known: SupportIndex, secrets: SupportIndex, *, share: Fraction, m: int | None, k: int = 1
) -> ItemsetTable:
    """Itemsets that occur in fewer than k rows, and those of `breaches`.

    Parameters are those of `rows_at_risk`. None has a proper subset among them; by size, then by codes.
    """
    tables = [_search(known, secrets, share, m, k, None)]
    if k > 1:
        tables.append(known.rare(k, known.longest if m is None else m))
    return minimal_sets(concatenate(tables))


def breaches(
    known: SupportIndex, secrets: SupportIndex, *, share: Fraction, m: int | None, k: int = 1
) -> ItemsetTable:
    """Itemsets in at least k rows, where a secret item is in more than a share of these.

    Parameters are those of `rows_at_risk`. None has a proper subset among them; by size, then by codes.
    """
    return minimal_sets(_search(known, secrets, share, m, k, None))


def _search(
    known: SupportIndex,
    secrets: SupportIndex,
    share: Fraction,
    m: int | None,
    k: int,
    held: NDArray[np.bool_] | None,
) -> ItemsetTable:
    """Mark the rows of itemsets that breach; or list these, if there is nothing to be marked."""
    if share * known.n_rows < 1:  # then one row is too much, and products of large numbers do not overflow
        share = Fraction(0)
    above, below = share.numerator, share.denominator
    m = max(known.longest if m is None else min(m, known.longest), 1)
    relevant = secrets.singles * below > above * k
    if share >= 1 or not relevant.any():
        return no_itemsets()
    secrets = secrets.keep_items(relevant)
    rows: Any = [(each.codes, each.offsets, each.n_items) for each in (known, secrets)]
    marked = np.zeros(len(known.weights), np.bool_) if held is None else held
    room = np.array([MOST_ITEMSETS])
    asked = k, m, above, below, rows[0], rows[1], known.weights, held is None, marked, room
    singles = kernels.Breaches(*asked, halt_flag())
    found = [ItemsetTable(*singles.single_items())]

    def part(begin: int, end: int) -> ItemsetTable:
        # Threads may write to one place of `marked`, but then the same.
        return ItemsetTable(*kernels.Breaches(*asked, halt_flag()).larger(singles, begin, end))

    found += search(part, many_parts(singles.first_items(), 4 * count_threads()), known.search_bound(m))
    every = concatenate(found)
    refuse_long_list(every)
    return every


def minimal_sets(itemsets: ItemsetTable) -> ItemsetTable:
    """Of different itemsets those with no proper subset among them, by size, then by codes."""
    listed = itemsets.ordered()
    return listed.take(minimal(listed.codes, listed.offsets))
