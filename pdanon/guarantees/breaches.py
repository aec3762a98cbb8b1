"""Breaches: itemsets of known items with a sensitive item in too many of their rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pdanon._kernels import exposure
from pdanon._kernels.itemset_search import minimal
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Mask, Numbers
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


def split_rows(itemsets: Itemsets, sensitive: Mask) -> tuple[SupportIndex, SupportIndex]:
    """Split the rows into their known and their sensitive items; both keep their codes."""
    rows = SupportIndex.of(itemsets)
    return rows.keep_items(~sensitive), rows.keep_items(sensitive)


@frozen
class Breaches:
    """The search for itemsets of known items that breach the limits of a guarantee."""

    # ``known`` and ``secrets`` are the same rows. With ``copies``, ``secrets`` has two codes for each of its
    # n items. Code ``n + s`` marks a row in which the item ``s`` is public. It counts only together with a
    # row in which ``s`` is secret.

    known: SupportIndex
    secrets: SupportIndex
    share: Fraction  # maximum share of a secret item in the rows that contain known items; in [0, 1]
    m: int | None  # maximum number of known items, at least 1; None: any
    k: int = 1  # minimum support
    copies: bool = False

    def rows_at_risk(self) -> Mask:
        """Return whether each row contains an itemset of `threats`; faster than listing them."""
        no_risk = np.zeros(len(self.known.weights), np.bool_)
        marked = self.known.at_risk(self.k, self.m) if self.k > 1 else no_risk
        self._search(marked)
        return marked

    def threats(self) -> ItemsetTable:
        """List the minimal itemsets that have a support below k, or are among `breaches`; `ordered`."""
        tables = [self._search()]
        if self.k > 1:
            tables.append(self.known.rare(self.k, self.known.longest if self.m is None else self.m))
        return minimal_sets(concatenate(tables))

    def breaches(self) -> ItemsetTable:
        """List the minimal itemsets in k rows with a secret item in more than the share; `ordered`."""
        return minimal_sets(self._search())

    def _search(self, marked: Mask | None = None) -> ItemsetTable:
        """Mark in ``marked`` the rows of breaching itemsets; without ``marked``, list the itemsets."""
        known, secrets, share, k = self.known, self.secrets, self.share, self.k
        # Below one row, every share allows no row at all. With 0, products in the kernel do not overflow.
        if share * known.n_rows < 1:
            share = Fraction(0)
        above, below = share.numerator, share.denominator
        m = max(known.longest if self.m is None else min(self.m, known.longest), 1)
        relevant = secret_totals(secrets, self.copies) * below > above * k
        if share >= 1 or not relevant.any():
            return no_itemsets()
        secrets = secrets.keep_items(np.tile(relevant, 2) if self.copies else relevant)
        rows: Any = known.codes, known.offsets, known.n_items
        hidden: Any = secrets.codes, secrets.offsets, len(relevant)
        lists, room = marked is None, np.array([MOST_ITEMSETS])
        marks = np.zeros(len(known.weights), np.bool_) if marked is None else marked
        arguments = k, m, above, below, rows, hidden, known.weights, lists, marks, room
        singles = exposure.Breaches(*arguments, halt_flag())
        found = [ItemsetTable(*singles.single_items())]

        def part(begin: int, end: int) -> ItemsetTable:
            # Several threads may write to the same element of `marks`, but all write True.
            return ItemsetTable(*exposure.Breaches(*arguments, halt_flag()).larger(singles, begin, end))

        found += search(part, many_parts(singles.first_items(), 4 * count_threads()), known.search_bound(m))
        every = concatenate(found)
        refuse_long_list(every)
        return every


def likeliest_secrets(
    known: SupportIndex, secrets: SupportIndex, itemsets: ItemsetTable, *, copies: bool = False
) -> tuple[Codes, Numbers]:
    """Find the secret item in most of the rows with each itemset of known items, and its number of rows."""
    # Of equal secret items the first is found, and -1 if no row has one.
    is_empty = itemsets.lengths == 0
    totals = secret_totals(secrets, copies)
    rows = secrets.codes, secrets.offsets, len(totals)
    larger = itemsets.take(~is_empty)
    items, counts = np.full(len(itemsets), -1, np.int32), np.zeros(len(itemsets), np.int64)
    found = exposure.likeliest_secrets(known.rows, *rows, larger.codes, larger.offsets)
    items[~is_empty], counts[~is_empty] = found
    if is_empty.any() and totals.any():
        items[is_empty], counts[is_empty] = totals.argmax(), totals.max()
    return items, counts


def secret_totals(secrets: SupportIndex, copies: bool) -> Numbers:
    """Count the rows with each secret item; with ``copies``, also those in which it is public."""
    if not copies:
        return secrets.singles
    hidden, public = np.split(secrets.singles, 2)
    return np.where(hidden > 0, hidden + public, 0)


def minimal_sets(itemsets: ItemsetTable) -> ItemsetTable:
    """Select the minimal ones of distinct itemsets, ordered by size, then by codes."""
    listed = itemsets.ordered()
    return listed.take(minimal(listed.codes, listed.offsets))
