"""Coherence: known public items lead neither to few rows nor to a private item.

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

from pdanon.guarantees.breaches import minimal_sets, rows_at_risk, threats
from pdanon.guarantees.emptied import emptied_row, few_emptied, with_emptied
from pdanon.guarantees.named import NamedItems, Told, refuse_overlaps, refuse_within_labels
from pdanon.guarantees.parameters import check_k, check_share, shown_share
from pdanon.guarantees.private import PublicAndPrivate, private_items
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.multisets import add_first_copies, read_visible
from pdanon.itemsets.table import ItemsetTable, concatenate, empty_itemset
from pdanon.itemsets.validation import check_count

__all__ = ["Coherence"]


@dataclass(frozen=True, eq=False, repr=False)
class Coherence:
    """Rows that hold up to p given public items are k or more, and share no private item too often.

    Precisely: an itemset of at most p public items that occurs is in at least k rows, and no private item is
    in more than a share h of these rows. The empty itemset is one of them, twice: in all rows, and in those
    that are not missing, where a person whose public items were suppressed must be. With a private column
    all of this is also true of the rows that are not missing in it: an attacker may know that a row holds
    private data.

    Parameters
    ----------
    h : float
        Largest share, in [0, 1], of the rows that hold the known items in which a private item may be.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    p : int
        Most public items that the attacker knows; at least 1.
    private : list of items, Series of bool, or str
        The private items; or whether an item is private, by item; or the name of a second list column, all of
        whose items are private. Other items are public.
    mapping : DataFrame, optional
        The mapping table of the release, which says what labels stand for. Without it, labels are read. With
        it, rows are counted that lost all public items: if there are some, at least k rows have no public
        item, or all have none.

    Raises
    ------
    ParameterError
        If a parameter is out of range, a Series of booleans says both of an item, or a private item has
        become something else.
    ItemsetDtypeError
        If the private items are of several types.

    Notes
    -----
    A share is read as the fraction that it was written as, and all comparisons are of integers. Several
    private items together are never in more rows than one of them, and need no check.

    With h = 1 and no private item this is ``KmAnonymity(k, p)`` (of k rows or more).

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
        itemset  support     why
    0  ['salt']        2  breach
    """

    h: Any
    k: int
    p: int
    private: Any
    mapping: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", check_share(self.h, "h"))
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "p", check_count(self.p, "p", least=1))
        object.__setattr__(self, "private", private_items(self.private))
        named = self.private if isinstance(self.private, NamedItems) else NamedItems.of([], "private")
        object.__setattr__(self, "mapping", Told.of(self.mapping, named, "private"))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with the list column, and the private one if there is one; released or not.
        column : hashable, optional
            The list column. By default the only one, apart from the private column.

        Returns
        -------
        Audit
            ``threats`` are the minimal moles: public itemsets that violate the guarantee and have no subset
            that does. ``why`` is ``support`` or ``breach``. All rows are at risk if the empty itemset is one.
            With the mapping, the empty itemset and ``emptied`` as ``why``, if rows lost all public items, and
            fewer than k rows have none.

        Raises
        ------
        ParameterError
            If private items do not occur, which would prove nothing, or one is a member of a published set;
            two published sets in a row share a member; or the private column does not exist.

        Notes
        -----
        Exact. Time grows with the public itemsets of size at most p that k rows hold.
        """
        positions = find_columns(frame, column, self.private)
        return self.recount(ListColumns.of(frame, positions, read=read_visible))

    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are; `audit` reads them from a frame and does this."""
        parts = PublicAndPrivate.of(columns, self.private)
        if self.mapping is None:  # it has one label for an item
            refuse_overlaps(parts.itemsets)
        if isinstance(self.private, NamedItems):
            refuse_within_labels(parts.itemsets, self.private, "private", self.mapping)
        for rows in parts.crowds():
            n_rows, most = rows.n_rows, int(rows.supports[rows.is_private].max(initial=0))
            if 0 < n_rows < self.k or self._too_many(most, n_rows):
                return Audit(self, n_rows, partial(self._table, parts, empty_itemset(n_rows)))
        asked: Any = {"share": self.h, "m": self.p, "k": self.k}
        told = np.ones(len(parts.index.weights), np.bool_)
        at_risk, crowds = ~told, [parts]
        if parts.columns.private is not None and parts.columns.private.nulls.any():
            told = ~parts.columns.private.nulls
            crowds.append(parts.within_rows(told))
        divided = [(each.part(~each.is_private), each.part(each.is_private)) for each in crowds]

        def list_threats() -> pd.DataFrame:
            found = concatenate([threats(*each, **asked) for each in divided])
            return self._table(parts, minimal_sets(found.distinct()))

        at_risk |= rows_at_risk(*divided[0], **asked)
        for each in divided[1:]:
            at_risk[told] |= rows_at_risk(*each, **asked)
        audit = Audit(self, int(parts.index.weights[at_risk].sum()), list_threats)
        emptied = self._few_emptied(parts)
        return with_emptied(audit, emptied, parts.n_rows, partial(emptied_row, parts.itemsets, emptied))

    def _few_emptied(self, parts: PublicAndPrivate) -> int:
        """How many rows lost all public items, if fewer than k rows have none; others have some."""
        told = None if self.mapping is None else self.mapping.suppression
        if told is None or not told.suppresses:
            return 0
        bare = told.rows_without_public
        return few_emptied(parts.public, self.k - bare, replace(told, empty_rows=bare))

    def _too_many(self, private: Any, support: Any) -> Any:
        """Whether so many rows with a private item, out of so many, are a breach."""
        return private * self.h.denominator > self.h.numerator * support

    def _table(self, parts: PublicAndPrivate, threats: ItemsetTable) -> pd.DataFrame:
        """Threats over the public items as a DataFrame."""
        public = np.flatnonzero(~parts.is_private)[: parts.itemsets.n_items]
        vocabulary = parts.itemsets.vocabulary.take(pa.array(public))
        codes, offsets = add_first_copies(threats.codes, threats.offsets, vocabulary)
        sets = Itemsets(codes, offsets, vocabulary, np.zeros(len(threats), np.bool_))
        why = np.where(threats.supports < self.k, "support", "breach")
        return pd.DataFrame({"itemset": sets.to_pandas(), "support": threats.supports, "why": why})

    def with_mapping(self, mapping: pd.DataFrame) -> Coherence:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        private = f"{len(self.private)} items" if isinstance(self.private, NamedItems) else "a column"
        return f"Coherence(h={shown_share(self.h)}, k={self.k}, p={self.p}, private={private})"
