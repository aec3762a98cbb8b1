"""Breaches: itemsets of known items with a sensitive item in too many of their rows.

The items of a row are split into known items, which are background knowledge, and secret items, which must
not be inferred: the sensitive items of diversity, the private items of coherence. All comparisons are of
integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import breaches as kernels
from pdanon._kernels import row_exposure
from pdanon._kernels.itemset_search import minimal
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.support import (
    MOST_ITEMSETS,
    ItemsetTable,
    SupportIndex,
    concatenate,
    no_itemsets,
    refuse_long_list,
)
from pdanon.itemsets.threads import count_threads, many_parts, search
from pdanon.itemsets.timing import halt_flag


def split_rows(itemsets: Itemsets, sensitive: NDArray[np.bool_]) -> tuple[SupportIndex, SupportIndex]:
    """Split the rows into their known and their sensitive items; both keep their codes."""
    rows = SupportIndex.of(itemsets)
    return rows.keep_items(~sensitive), rows.keep_items(sensitive)


def rows_at_risk(
    known: SupportIndex,
    secrets: SupportIndex,
    *,
    share: Fraction,
    m: int | None,
    k: int = 1,
    copies: bool = False,
) -> NDArray[np.bool_]:
    """Return whether each row contains an itemset of `threats`; this is faster than listing the threats.

    ``known`` and ``secrets`` are the same rows. ``share``, in [0, 1], is the maximum share of a secret item
    in the rows that contain at most m known items; m is at least 1, None: any. ``k`` is the minimum support.

    With ``copies``, ``secrets`` has two codes for each of its n items. Code ``n + s`` marks a row in which
    the item ``s`` is public. It counts only together with a row in which ``s`` is secret.
    """
    marked = known.at_risk(k, m) if k > 1 else np.zeros(len(known.weights), np.bool_)
    _search(known, secrets, share, m, k, marked, copies)
    return marked


def threats(
    known: SupportIndex,
    secrets: SupportIndex,
    *,
    share: Fraction,
    m: int | None,
    k: int = 1,
    copies: bool = False,
) -> ItemsetTable:
    """List the minimal itemsets that have a support below k, or are among `breaches`.

    The parameters are those of `rows_at_risk`. Itemsets are ordered by size, then by codes.
    """
    tables = [_search(known, secrets, share, m, k, None, copies)]
    if k > 1:
        tables.append(known.rare(k, known.longest if m is None else m))
    return minimal_sets(concatenate(tables))


def breaches(
    known: SupportIndex,
    secrets: SupportIndex,
    *,
    share: Fraction,
    m: int | None,
    k: int = 1,
    copies: bool = False,
) -> ItemsetTable:
    """List the minimal itemsets in at least k rows, with a secret item in more than a share of the rows.

    The parameters are those of `rows_at_risk`. Itemsets are ordered by size, then by codes.
    """
    return minimal_sets(_search(known, secrets, share, m, k, None, copies))


def likeliest_secrets(
    known: SupportIndex, secrets: SupportIndex, itemsets: ItemsetTable, *, copies: bool = False
) -> tuple[Codes, NDArray[np.int64]]:
    """Find the secret item in most of the rows with each itemset of known items, and its number of rows.

    Of equal secret items the first is found, and -1 if no row has one.
    """
    is_empty = np.diff(itemsets.offsets) == 0
    totals = secret_totals(secrets, copies)
    rows = secrets.codes, secrets.offsets, len(totals)
    larger = itemsets.take(~is_empty)
    items, counts = np.full(len(itemsets), -1, np.int32), np.zeros(len(itemsets), np.int64)
    found = row_exposure.likeliest_secrets(known.rows, *rows, larger.codes, larger.offsets)
    items[~is_empty], counts[~is_empty] = found
    if is_empty.any() and totals.any():
        items[is_empty], counts[is_empty] = totals.argmax(), totals.max()
    return items, counts


def secret_totals(secrets: SupportIndex, copies: bool) -> NDArray[np.int64]:
    """Count the rows with each secret item; with ``copies``, also those in which it is public."""
    if not copies:
        return secrets.singles
    hidden, public = np.split(secrets.singles, 2)
    return np.where(hidden > 0, hidden + public, 0)


def _search(
    known: SupportIndex,
    secrets: SupportIndex,
    share: Fraction,
    m: int | None,
    k: int,
    marked: NDArray[np.bool_] | None,
    copies: bool,
) -> ItemsetTable:
    """Mark in ``marked`` the rows of breaching itemsets; without ``marked``, list the itemsets."""
    # Below one row, every share allows no row at all. With 0, products in the kernel do not overflow.
    if share * known.n_rows < 1:
        share = Fraction(0)
    above, below = share.numerator, share.denominator
    m = max(known.longest if m is None else min(m, known.longest), 1)
    relevant = secret_totals(secrets, copies) * below > above * k
    if share >= 1 or not relevant.any():
        return no_itemsets()
    secrets = secrets.keep_items(np.tile(relevant, 2) if copies else relevant)
    rows: Any = [(known.codes, known.offsets, known.n_items), (secrets.codes, secrets.offsets, len(relevant))]
    lists, room = marked is None, np.array([MOST_ITEMSETS])
    marks = np.zeros(len(known.weights), np.bool_) if marked is None else marked
    arguments = k, m, above, below, rows[0], rows[1], known.weights, lists, marks, room
    singles = kernels.Breaches(*arguments, halt_flag())
    found = [ItemsetTable(*singles.single_items())]

    def part(begin: int, end: int) -> ItemsetTable:
        # Several threads may write to the same element of `marks`, but all write True.
        return ItemsetTable(*kernels.Breaches(*arguments, halt_flag()).larger(singles, begin, end))

    found += search(part, many_parts(singles.first_items(), 4 * count_threads()), known.search_bound(m))
    every = concatenate(found)
    refuse_long_list(every)
    return every


def minimal_sets(itemsets: ItemsetTable) -> ItemsetTable:
    """Select the minimal ones of distinct itemsets, ordered by size, then by codes."""
    listed = itemsets.ordered()
    return listed.take(minimal(listed.codes, listed.offsets))
