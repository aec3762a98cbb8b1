"""Common steps of the algorithms that only suppress public items."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from pdanon.algorithms.states.rules import too_many
from pdanon.errors import InfeasibleError
from pdanon.guarantees import Coherence, PublicK
from pdanon.guarantees.coherence import PublicAndPrivate, knowable_items
from pdanon.guarantees.emptied import ROWS_WITHOUT_PUBLIC
from pdanon.itemsets.codes import Itemsets, Mask
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import SupportIndex, check_rows
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.emptied import with_enough_emptied
from pdanon.recoding.recoding import Recoding, mapping_table


def check_coherent_without_public(parts: PublicAndPrivate, guarantee: Coherence) -> None:
    """Check that the empty itemset, which no suppression removes, is not a mole.

    Missing rows may be published as empty rows. Knowing which rows are missing, an attacker can exclude
    them, so the check also holds for the other rows alone.
    """
    check_rows(parts.n_rows, guarantee.k)
    crowds = parts, parts.within_rows(~parts.itemsets.nulls)
    supports, n_rows = max(
        ((rows.supports[rows.is_private], rows.n_rows) for rows in crowds),
        key=lambda each: Fraction(int(each[0].max(initial=0)), max(each[1], 1)),
    )
    frequent = int(np.sum(too_many(supports, n_rows, guarantee.h)))
    if frequent:
        most = int(supports.max())
        digits = -(-most * 10**4 // n_rows) / 10**4  # rounded up, so that it suffices
        share = f"more than h={float(guarantee.h):g} of the rows"
        raise InfeasibleError(
            "private items are so frequent that they can be inferred without any knowledge",
            where="h",
            got=f"{frequent} of {len(supports)} private items are in {share}",
            hint=f"the least h that works is {most}/{n_rows}, about {digits:g}",
        )


def too_frequent_where_public(parts: PublicAndPrivate, guarantee: Coherence) -> Mask:
    """Mark the public items that are private in other rows, and in too many rows altogether.

    They can be inferred without any knowledge. Only their suppression where they are public prevents this.
    """
    marked = np.zeros(len(parts.is_private), np.bool_)
    if parts.twins is None:
        return marked
    frequent = np.zeros(len(parts.totals) + 1, np.bool_)  # -1 is the last
    for rows in parts.crowds():
        frequent[:-1] |= too_many(rows.totals, rows.n_rows, guarantee.h)
    marked[:] = frequent[parts.twins]
    return marked


def decide_suppressed(
    parts: PublicAndPrivate, suppressed: Mask, guarantee: Coherence | PublicK
) -> ListDecision:
    """Remove the suppressed items; rebuild the private column, if there is one.

    Missing rows of a private column become empty, so that the release does not show which rows have private
    data. If nothing is suppressed, missing rows become empty only if the guarantee requires it.
    """
    columns, itemsets = parts.columns, parts.itemsets
    if columns.private is not None:
        columns = replace(columns, private=columns.private.missing_as_empty())
    recoding = Recoding.of_suppressed(suppressed[: itemsets.n_items], itemsets)
    if itemsets.nulls.any() and not suppressed.any():
        with_table = guarantee.with_mapping(mapping_table(itemsets, recoding))  # items may equal labels
        if not with_table.recount(columns).holds:
            columns = replace(columns, itemsets=itemsets.missing_as_empty())
    if isinstance(guarantee, Coherence) and suppressed.any():
        decided = _hide_emptied(
            columns, recoding, guarantee, parts.itemsets_of(knowable_items(guarantee, parts)[0])
        )
    else:
        decided = decide_lists(columns, recoding, guarantee)
    supports = parts.supports
    lost = int(supports[: itemsets.n_items][decided.rows.recoding.targets < 0].sum())
    share = lost / int(supports.sum()) if lost else 0.0
    return decided.with_loss("S/N", share)


def _hide_emptied(
    columns: ListColumns, recoding: Recoding, guarantee: Coherence, public: Itemsets
) -> ListDecision:
    """Suppress more public items, if rows lose all of them and fewer than k rows have none.

    An attacker knows public items only. Rows without public items in the original, missing ones included,
    therefore hide the emptied rows. If all public items are suppressed, all rows are equal to the attacker.
    """
    bare = SupportIndex.of(public).n_rows - SupportIndex.of(public).n_non_empty
    recoding = with_enough_emptied(recoding, public, guarantee.k - bare)
    return decide_lists(
        columns, recoding, guarantee, attributes={ROWS_WITHOUT_PUBLIC: bare} if bare else None
    )
