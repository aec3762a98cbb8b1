"""Suppress public items: all of them, or until every row has the same ones as k - 1 others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.rules import too_many
from pdanon.errors import InfeasibleError
from pdanon.guarantees import Coherence, PublicK
from pdanon.guarantees.coherence import PublicAndPrivate, knowable_items
from pdanon.guarantees.named import named_items
from pdanon.guarantees.parameters import least_share
from pdanon.guarantees.verdict import ROWS_WITHOUT_PUBLIC
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Mask, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import sums
from pdanon.itemsets.support import SupportIndex, check_rows
from pdanon.itemsets.timing import count_steps
from pdanon.recoding.decision import ListDecision, decide_lists, with_enough_emptied
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized

# --- Steps that `coherence` shares


def check_coherent_without_public(parts: PublicAndPrivate, guarantee: Coherence) -> None:
    """Check that the empty itemset, which no suppression removes, is not a mole."""
    # Missing rows may be published as empty rows. Knowing which rows are missing, an attacker can exclude
    # them, so the check also holds for the other rows alone.
    check_rows(parts.index.n_rows, guarantee.k)
    crowds = parts, parts.within_rows(~parts.itemsets.nulls)
    supports, n_rows = max(
        ((rows.index.singles[rows.is_private], rows.index.n_rows) for rows in crowds),
        key=lambda each: Fraction(int(each[0].max(initial=0)), max(each[1], 1)),
    )
    frequent = int(np.sum(too_many(supports, n_rows, guarantee.h)))
    if frequent:
        most = int(supports.max())
        share = f"more than h={float(guarantee.h):g} of the rows"
        raise InfeasibleError(
            "private items are so frequent that they can be inferred without any knowledge",
            where="h",
            got=f"{frequent} of {len(supports)} private items are in {share}",
            hint=f"the least h that works is {most}/{n_rows}, about {least_share(most, n_rows):g}",
        )


def too_frequent_where_public(parts: PublicAndPrivate, guarantee: Coherence) -> Mask:
    """Mark the public items that are private in other rows, and in too many rows altogether."""
    # They can be inferred without any knowledge. Only their suppression where they are public prevents this.
    if parts.twins is None:
        return np.zeros(len(parts.is_private), np.bool_)
    frequent = np.zeros(len(parts.totals) + 1, np.bool_)  # -1 is the last
    for _, rows in parts.crowds():
        frequent[:-1] |= too_many(rows.totals, rows.index.n_rows, guarantee.h)
    return frequent[parts.twins]


def decide_suppressed(
    parts: PublicAndPrivate, suppressed: Mask, guarantee: Coherence | PublicK
) -> ListDecision:
    """Remove the suppressed items; rebuild the private column, if there is one."""
    # Missing rows of a private column become empty, so that the release does not show which rows have private
    # data. If nothing is suppressed, missing rows become empty only if the guarantee requires it.
    columns, itemsets = parts.columns, parts.itemsets
    if columns.private is not None:
        columns = replace(columns, private=columns.private.missing_as_empty())
    recoding = Recoding.of_suppressed(suppressed[: itemsets.n_items], itemsets)
    if itemsets.nulls.any() and not suppressed.any():
        with_table = guarantee.with_mapping(mapping_table(itemsets, recoding))  # items may equal labels
        if not with_table.recount(columns).holds:
            columns = replace(columns, itemsets=itemsets.missing_as_empty())
    bare = 0
    if isinstance(guarantee, Coherence) and suppressed.any():
        # An attacker knows public items only. Rows without public items in the original, missing ones
        # included, therefore hide the rows that lose all of them. If all public items are suppressed, all
        # rows are equal to the attacker.
        public = parts.itemsets_of(knowable_items(guarantee, parts)[0])
        bare = SupportIndex.of(public).n_rows - SupportIndex.of(public).n_non_empty
        recoding = with_enough_emptied(recoding, public, guarantee.k - bare)
    attributes = {ROWS_WITHOUT_PUBLIC: bare} if bare else None
    decided = decide_lists(columns, recoding, guarantee, attributes=attributes)
    supports = parts.index.singles
    lost = int(supports[: itemsets.n_items][decided.rows.recoding.targets < 0].sum())
    share = lost / int(supports.sum()) if lost else 0.0
    return decided.with_loss("S/N", share)


# --- Equal public items


@called_by_name
def suppress_to_k(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    public: Any,
) -> Anonymized:
    """Suppress public items until each row has the same public items as k - 1 other rows.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k : int
        Minimum number of rows with the same public items; at least 2.
    public : list of items, or Series of bool
        The public items; or a Series that marks each item as public. Other items are not suppressed, and are
        not part of the quasi-identifier.

    Returns
    -------
    Anonymized
        A global recoding that keeps or suppresses each item. Items keep their type. ``loss`` has ``S/N``, the
        share of suppressed occurrences.

    Raises
    ------
    InfeasibleError
        If there are fewer than k rows.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is invalid, or a public item does not occur.

    Notes
    -----
    Guarantee: ``PublicK(k, public)``. At first, all public items are suppressed. Then the item with the most
    occurrences that leaves k rows in every equivalence class is released (then: item order). An item that
    does not fit never fits later, so one pass by descending support suffices.
    Cost: memory linear in the size of the data; time of one pass over it.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "tea"], ["rice"], ["salt"]]})
    >>> df.txanon.suppress_to_k(k=2, public=["rice", "salt", "tea"]).frame
               items
    0  ['flu' 'tea']
    1        ['tea']
    2             []
    3             []
    """
    return SUPPRESS_TO_K.release(locals())


def decide_to_k(columns: ListColumns, *, guarantee: PublicK) -> ListDecision:
    """Decide which items are suppressed."""
    is_public = named_items(columns.itemsets, guarantee.public)
    parts = PublicAndPrivate.within(columns, ~is_public)
    check_rows(parts.index.n_rows, guarantee.k)
    numbers = np.flatnonzero(~parts.is_private)
    # A stable sort: ties keep the item order.
    order = numbers[np.argsort(-parts.index.singles[numbers], kind="stable")]
    released = _release_items(order, parts.index, guarantee.k)
    count_steps(len(numbers))
    return decide_suppressed(parts, ~parts.is_private & ~released, guarantee)


def _release_items(order: Numbers, index: SupportIndex, k: int) -> Mask:
    """Return whether each item, in the given order, can be published while each class of rows keeps k."""
    # Rows with equal published items are a class. The rows of a class with the item, and those without it,
    # must be 0 or at least k.
    starts, tids, _ = index.transpose
    class_of, n_classes = np.zeros(len(index.weights), np.int64), 1
    sizes = np.zeros(len(index.weights) + 1, np.int64)
    sizes[0] = index.weights.sum()
    released = np.zeros(index.n_items, np.bool_)
    for item in order:
        rows = tids[starts[item] : starts[item + 1]]
        own, places = np.unique(class_of[rows], return_inverse=True)
        held = sums(places, index.weights[rows], len(own))
        rest = sizes[own] - held
        released[item] = ((held >= k) & ((rest == 0) | (rest >= k))).all()
        if released[item]:
            new = np.where(rest > 0, n_classes - 1 + np.cumsum(rest > 0), own)
            class_of[rows], sizes[own] = new[places], rest
            sizes[new] = held
            n_classes += int((rest > 0).sum())
    return released


SUPPRESS_TO_K = Algorithm(
    suppress_to_k,
    (PublicK,),
    decide=decide_to_k,
    unit="items",
    keeps_type=True,
    ways=(Way(PublicK, 10),),
)


# --- "RmAll": no public items


@called_by_name
def suppress_public(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    h: float,
    k: int,
    p: int,
    private: Any,
) -> Anonymized:
    """Suppress all public items: the baseline of coherence.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one not
        ``private``.
    h, k, p, private : float, int, int, list of items, Series of bool, or str
        As in `coherence`. Items of a private column are private in all rows, and p has no effect.

    Returns
    -------
    Anonymized
        A global recoding that keeps only the private items, with their type. ``loss`` has ``S/N``, the share
        of suppressed occurrences among all occurrences, public and private.

    Raises
    ------
    InfeasibleError
        If there are fewer than k rows; or if a private item is in more than a share h of all rows.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``Coherence(h, k, p, private)``. Only the empty public itemset is left.
    Cost: memory and time linear in the size of the data.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt"]]})
    >>> df.txanon.suppress_public(h=0.5, k=2, p=2, private=["flu"]).frame
         items
    0  ['flu']
    1       []
    2       []
    """
    return SUPPRESS_PUBLIC.release(locals())


def decide_all(columns: ListColumns, *, guarantee: Coherence) -> ListDecision:
    """Decide which items are suppressed: all public items."""
    parts = PublicAndPrivate.of(columns, guarantee.private)
    check_coherent_without_public(parts, guarantee)
    suppressed = ~parts.is_private
    count_steps(int(suppressed.sum()))
    return decide_suppressed(parts, suppressed, guarantee)


SUPPRESS_PUBLIC = Algorithm(suppress_public, (Coherence,), decide=decide_all, unit="items", keeps_type=True)
