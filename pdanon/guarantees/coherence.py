"""Coherence: k rows match known public items, and no private item is in too many of them.

Xu, Wang, Fu, Yu, "Anonymizing Transaction Databases for Publication", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.guarantees.breaches import likeliest_secrets, minimal_sets, rows_at_risk, threats
from pdanon.guarantees.efforts import Efforts, affordable, most_items
from pdanon.guarantees.emptied import Suppression, add_emptied, count_emptied
from pdanon.guarantees.named import MappedItems, NamedItems, refuse_members, refuse_overlaps
from pdanon.guarantees.parameters import check_k, check_share, format_share
from pdanon.guarantees.private import PublicAndPrivate, private_items
from pdanon.guarantees.verdict import Audit, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, empty_itemset
from pdanon.itemsets.validation import check_count


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Coherence:
    """At least k rows match up to p known public items, and at most a share h of them have a private item.

    Precisely: an itemset of at most p public items that occurs is in at least k rows, and no private item is
    in more than a share h of the rows. The empty itemset is tested twice: in all rows, and in the rows that
    are not missing, because a person whose public items are all suppressed is in one of them. With a private
    column, all tests are repeated in the rows that are not missing in it, because an attacker may know that
    a row has private data.

    With a private column, an item can be private for some persons and public for others. Then no set of at
    most p public items of a person leads to one of the private items of this person. The share counts all
    matching rows with the private item, also those in which it is public. Known items match rows in which
    they are public.

    Parameters
    ----------
    h : float
        Maximum share, in [0, 1], of a private item in the rows that contain the known items.
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    p : int
        Maximum number of public items that the attacker knows; at least 1. With ``effort``, the maximum total
        effort of them.
    private : list of items, Series of bool, or str
        The private items; or whether an item is private, by item; or the label of a second list column with
        the private items of each row. Other items are public.
    effort : mapping or Series, optional
        The effort of learning that a person has an item: a positive integer by item. Other items have 1.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label. With it, the
        guarantee also requires: if rows lost all public items, at least k rows or all rows have none.

    Raises
    ------
    ParameterError
        If a parameter is out of range, a Series of booleans has an item twice with different values, or the
        mapping generalizes a private item.
    ItemsetDtypeError
        If the private items are of several types.

    Notes
    -----
    A share is read as the fraction that its digits denote, so that all comparisons are exact. A set of
    private items is in no more rows than each of its items, so it needs no test.

    With ``effort``, all subsets of a known itemset are known as well, so minimal moles are defined as before.
    Items with an effort above p are never known. They are published as they are.

    With h = 1 and no private item, this is ``KmAnonymity(k, p)`` for k or more rows.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt", "flu"], ["rice", "salt", "flu"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> audit = df.txanon.audit(pdanon.Coherence(h=0.8, k=2, p=2, private=["flu"]))
    >>> audit
    Audit(holds=False, rows_at_risk=2, guarantee=Coherence(h=0.8, k=2, p=2, private=1 items))
    >>> audit.threats
        itemset  support     why private  probability
    0  ['salt']        2  breach     flu          1.0
    """

    h: Any
    k: int
    p: int
    private: Any
    effort: Any = None
    mapping: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", check_share(self.h, "h"))
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "p", check_count(self.p, "p", least=1))
        object.__setattr__(self, "private", private_items(self.private))
        object.__setattr__(self, "effort", Efforts.of(self.effort))
        named = self.private if isinstance(self.private, NamedItems) else NamedItems.of([], "private")
        object.__setattr__(self, "mapping", MappedItems.of(self.mapping, named, "private"))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with the list column and, if there is one, the private column; released or not.
        column : hashable, optional
            The list column. By default the only one, apart from the private column.

        Returns
        -------
        Audit
            ``threats`` are the minimal moles: the minimal public itemsets that violate the guarantee. ``why``
            is ``support`` or ``breach``. ``private`` is the private item in most of the ``support`` rows, and
            ``probability`` its share of them. If the empty itemset is a threat, all rows are at risk. With a
            mapping: if rows lost all public items, and fewer than k rows have none, ``threats`` is the empty
            itemset with ``emptied`` as ``why``.

        Raises
        ------
        ParameterError
            If a private item does not occur, because a support of 0 would prove nothing; if one is a member
            of a published set; if two published sets in a row share a member; if an item is public and
            private in the same row; or if the private column does not exist.

        Notes
        -----
        Exact. Time grows with the number of public itemsets of at most p items that k rows contain. With
        ``effort``, it is the largest number of items with a total effort of at most p.
        """
        positions = find_columns(frame, column, self.private)
        return self.recount(ListColumns.of(frame, positions, read=read_visible))

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        parts = PublicAndPrivate.of(columns, self.private)
        if self.mapping is None:  # with a mapping, an item has one label in a row
            refuse_overlaps(parts.itemsets)
        if isinstance(self.private, NamedItems):
            refuse_members(parts.itemsets, self.private, "private", self.mapping)
        # If the empty itemset is a threat, it is the only minimal one.
        for rows in parts.crowds():
            n_rows, most = rows.n_rows, int(rows.totals.max(initial=0))
            if 0 < n_rows < self.k or most * self.h.denominator > self.h.numerator * n_rows:
                return Audit(self, n_rows, partial(self._list_threats, rows, empty_itemset(n_rows)))
        knowable, efforts = knowable_items(self, parts)
        most = self.p if efforts is None else max(most_items(efforts, self.p), 1)
        bounds: Any = {"share": self.h, "m": most, "k": self.k, "copies": parts.copies}
        crowds, private = [parts], parts.columns.private
        has_private = ~parts.itemsets.nulls if private is None else ~private.nulls
        if private is not None and not has_private.all():
            crowds.append(parts.within_rows(has_private))
        split = [(each.part(knowable), each.secrets) for each in crowds]

        def find_threats(known: SupportIndex, secrets: SupportIndex) -> ItemsetTable:
            found = threats(known, secrets, **bounds)
            return found if efforts is None else found.take(affordable(found, efforts, self.p))

        def find_rows(known: SupportIndex, secrets: SupportIndex) -> NDArray[np.bool_]:
            if efforts is None:
                return rows_at_risk(known, secrets, **bounds)
            return known.contains_any(find_threats(known, secrets))

        def list_threats() -> pd.DataFrame:
            found = concatenate([find_threats(*each) for each in split])
            return self._list_threats(parts, minimal_sets(found.distinct()))

        at_risk = find_rows(*split[0])
        for each in split[1:]:
            at_risk[has_private] |= find_rows(*each)
        audit = Audit(self, int(parts.index.weights[at_risk].sum()), list_threats)
        return add_emptied(audit, self._count_emptied(parts), parts.n_rows, parts.itemsets)

    @property
    def covered(self) -> int:
        """The number of public items that an attacker may know, whichever they are."""
        return self.p if self.effort is None else int(self.p // self.effort.values.max(initial=1))

    def _count_emptied(self, parts: PublicAndPrivate) -> int:
        """Count the rows that lost all public items, if fewer than k rows have none; otherwise return 0."""
        suppression = Suppression.of(self.mapping)
        if suppression is None:
            return 0
        bare = suppression.rows_without_public
        return count_emptied(
            parts.itemsets_of(knowable_items(self, parts)[0]),
            self.k - bare,
            replace(suppression, empty_rows=bare),
        )

    def _list_threats(self, parts: PublicAndPrivate, threats: ItemsetTable) -> pd.DataFrame:
        """Return threats over the public items as a DataFrame, with the likeliest private item of each."""
        knowable, _ = knowable_items(self, parts)
        vocabulary = parts.itemsets.vocabulary.take(pa.array(np.flatnonzero(knowable)))
        why = np.where(threats.supports < self.k, "support", "breach")
        table = threat_table(replace(parts.itemsets, vocabulary=vocabulary), threats, why)
        items, counts = likeliest_secrets(parts.part(knowable), parts.secrets, threats, copies=parts.copies)
        private = parts.private_vocabulary.take(pa.array(items, mask=items < 0))
        table["private"] = pd.array(private, dtype=pd.ArrowDtype(private.type))
        table["probability"] = counts / threats.supports
        return table

    def with_mapping(self, mapping: pd.DataFrame) -> Coherence:
        """Return the guarantee for a release with this mapping."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        private = f"{len(self.private)} items" if isinstance(self.private, NamedItems) else "a column"
        effort = "" if self.effort is None else f", effort={len(self.effort)} items"
        return f"Coherence(h={format_share(self.h)}, k={self.k}, p={self.p}, private={private}{effort})"


def knowable_items(
    guarantee: Coherence, parts: PublicAndPrivate
) -> tuple[NDArray[np.bool_], NDArray[np.int64] | None]:
    """Return whether an attacker can know each item; with efforts, also their efforts."""
    if guarantee.effort is None:
        return ~parts.is_private, None
    efforts = guarantee.effort.find(parts.itemsets.vocabulary)
    known = ~parts.is_private
    known[: len(efforts)] &= efforts <= guarantee.p
    return known, efforts[known[: len(efforts)]]
