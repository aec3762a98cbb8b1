"""Coherence: k rows match known public items, and no private item is in too many of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import Breaches, likeliest_secrets, minimal_sets, secret_totals
from pdanon.guarantees.models import Checks, ListModel
from pdanon.guarantees.named import MappedItems, NamedItems, named_items, refuse_members, refuse_overlaps
from pdanon.guarantees.verdict import Audit, add_emptied, count_emptied, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, find_items, item_array
from pdanon.itemsets.columns import names_column
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import append_rows, offsets_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, empty_itemset
from pdanon.itemsets.validation import check_count, list_first

# --- Efforts of learning items: an attacker knows itemsets up to a total effort

_MOST = 2**31 - 1  # sums of efforts fit into 63 bits


@frozen
class Efforts:
    """The effort of learning that a person has an item; 1 for items that are not listed."""

    # The paper announces such weights.

    items: pa.Array  # distinct
    values: Numbers

    @classmethod
    def of(cls, effort: Any) -> Efforts | None:
        """Read a mapping or Series of items to positive integers; None stays."""
        if effort is None or isinstance(effort, cls):
            return effort
        if not isinstance(effort, (Mapping, pd.Series)):
            hint = "pass a dict or a Series: item -> positive integer"
            raise ParameterError("effort must map items to integers", got=type(effort).__name__, hint=hint)
        items = item_array(effort.keys(), "effort")
        twice = len(items) - len(items.unique())
        if twice:
            got = f"{twice} of {len(items)} items are repeated"
            raise ParameterError("effort lists an item twice", where="effort", got=got, hint="list each once")
        hint = "pass whole numbers, such as 1 for easily known items and 3 for others"
        given = effort.values() if isinstance(effort, Mapping) else effort.tolist()
        values = [check_count(each, "an effort", least=1, most=_MOST, hint=hint) for each in given]
        return cls(items, np.array(values, np.int64))

    def __repr__(self) -> str:
        return f"{len(self.values)} items"

    def find(self, items: pa.Array) -> Numbers:
        """Return the effort of each item."""
        return np.append(self.values, 1)[find_items(items, self.items)]


def most_items(efforts: Numbers, budget: int) -> int:
    """Return the largest number of items with a total effort of at most a budget."""
    return int(np.searchsorted(np.cumsum(np.sort(efforts)), budget, side="right"))


def affordable(itemsets: ItemsetTable, efforts: Numbers, budget: int) -> Mask:
    """Return whether the total effort of each itemset is at most a budget."""
    totals = offsets_of(efforts[itemsets.codes])[itemsets.offsets]
    return np.diff(totals) <= budget


# --- The guarantee


def private_items(private: Any) -> Any:
    """Read ``private=``: return the label of a column unchanged, and items as `NamedItems`."""
    return private if names_column(private) else NamedItems.of(private, "private")


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Coherence(ListModel):
    """At least k rows match up to p known public items, and at most a share h of them have a private item.

    The empty itemset is included: in all rows, and in those that are not missing, also in a private column.
    With a private column, an item can be private for some persons and public for others. Known items match
    rows in which they are public, and the share counts all matching rows with the private item.

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
    ParameterError, ItemsetDtypeError
        If a parameter is out of range, a Series of booleans has an item twice with different values, the
        mapping generalizes a private item, or the private items are of several types.

    Notes
    -----
    A share is read as the fraction that its digits denote, so that all comparisons are exact. Items with an
    effort above p are never known, and published as they are. With h = 1 and no private item, this is
    ``KmAnonymity(k, p)`` for k or more rows.

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

    _checks: ClassVar[Checks] = {
        "p": partial(check_count, name="p", least=1),
        "private": private_items,
        "effort": Efforts.of,
        "mapping": partial(MappedItems.of_named, named=NamedItems.of([], "private")),  # beside a column
    }

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` are the minimal moles: the minimal public itemsets that violate the guarantee. ``why``
        # is ``support`` or ``breach``. ``private`` is the private item in most of the ``support`` rows, and
        # ``probability`` its share of them. If the empty itemset is a threat, all rows are at risk. With a
        # mapping: if rows lost all public items, and fewer than k rows have none, ``threats`` is the empty
        # itemset with ``emptied`` as ``why``. `ParameterError`: if a private item does not occur, because a
        # support of 0 would prove nothing; if one is a member of a published set; if two published sets in a
        # row share a member; if an item is public and private in the same row; or if the private column does
        # not exist. Exact. Time grows with the number of public itemsets of at most p items that k rows
        # contain. With ``effort``, it is the largest number of items with a total effort of at most p.
        parts = PublicAndPrivate.of(columns, self.private)
        if self.mapping is None:  # with a mapping, an item has one label in a row
            refuse_overlaps(parts.itemsets)
            if columns.private is not None:
                refuse_members(parts.itemsets, NamedItems.of(columns.private.vocabulary, "private"), None)
        if isinstance(self.private, NamedItems):
            refuse_members(parts.itemsets, self.private, self.mapping)
        # If the empty itemset is a threat, it is the only minimal one.
        lost, list_empty = np.zeros(len(parts.index.weights), np.bool_), None
        for mask, rows in parts.crowds():
            n_rows, most = rows.index.n_rows, int(rows.totals.max(initial=0))
            if 0 < n_rows < self.k or most * self.h.denominator > self.h.numerator * n_rows:
                list_empty = list_empty or partial(self._list_threats, rows, empty_itemset(n_rows))
                lost |= mask
        if list_empty is not None and lost.all():
            return Audit(self, parts.index.n_rows, list_empty)
        knowable, efforts = knowable_items(self, parts)
        most = self.p if efforts is None else max(most_items(efforts, self.p), 1)
        crowds, private = [parts], parts.columns.private
        has_private = ~parts.itemsets.nulls if private is None else ~private.nulls
        if private is not None and not has_private.all():
            crowds.append(parts.within_rows(has_private))
        searches = [
            Breaches(each.index.select(knowable), each.secrets, self.h, most, self.k, parts.copies)
            for each in crowds
        ]

        def find_threats(breaches: Breaches) -> ItemsetTable:
            found = breaches.threats()
            return found if efforts is None else found.take(affordable(found, efforts, self.p))

        def find_rows(breaches: Breaches) -> Mask:
            if efforts is None:
                return breaches.rows_at_risk()
            return breaches.known.contains_any(find_threats(breaches))

        def list_threats() -> pd.DataFrame:
            found = concatenate([*map(find_threats, searches)])
            return self._list_threats(parts, minimal_sets(found.distinct()))

        at_risk = lost | find_rows(searches[0])
        for each in searches[1:]:
            at_risk[has_private] |= find_rows(each)
        audit = Audit(self, int(parts.index.weights[at_risk].sum()), list_empty or list_threats)
        if list_empty is not None:
            return audit
        return add_emptied(audit, self._count_emptied(parts), parts.index.n_rows, parts.itemsets)

    @property
    def covered(self) -> int:
        """The number of public items that an attacker may know, whichever they are."""
        return self.p if self.effort is None else int(self.p // self.effort.values.max(initial=1))

    def _count_emptied(self, parts: PublicAndPrivate) -> int:
        """Count the rows that lost all public items, if fewer than k rows have none; otherwise return 0."""
        if self.mapping is None:
            return 0
        bare = self.mapping.rows_without_public
        known = parts.itemsets_of(knowable_items(self, parts)[0])
        return count_emptied(known, self.k - bare, replace(self.mapping, empty_rows=bare))

    def _list_threats(self, parts: PublicAndPrivate, threats: ItemsetTable) -> pd.DataFrame:
        """Return threats over the public items as a DataFrame, with the likeliest private item of each."""
        knowable, _ = knowable_items(self, parts)
        vocabulary = parts.itemsets.vocabulary.take(pa.array(np.flatnonzero(knowable)))
        why = np.where(threats.supports < self.k, "support", "breach")
        table = threat_table(replace(parts.itemsets, vocabulary=vocabulary), threats, why)
        items, counts = likeliest_secrets(
            parts.index.select(knowable), parts.secrets, threats, copies=parts.copies
        )
        private = parts.private_vocabulary.take(pa.array(items, mask=items < 0))
        table["private"] = pd.arrays.ArrowExtensionArray(private)
        table["probability"] = counts / threats.supports
        return table


def knowable_items(guarantee: Coherence, parts: PublicAndPrivate) -> tuple[Mask, Numbers | None]:
    """Return whether an attacker can know each item; with efforts, also their efforts."""
    if guarantee.effort is None:
        return ~parts.is_private, None
    efforts = guarantee.effort.find(parts.itemsets.vocabulary)
    known = ~parts.is_private
    known[: len(efforts)] &= efforts <= guarantee.p
    return known, efforts[known[: len(efforts)]]


# --- Transactions of public items, which may be known, and private items, which must not be inferred


@frozen
class PublicAndPrivate:
    """Rows of public and private items with common codes."""

    # Private items are some items of the list column, or all items of a second list column. With a second
    # column, an item can be public in some rows and private in others. The items of the list column have the
    # first codes, and those of the private column the next ones.

    columns: ListColumns  # the recoded list column, and the private column, if there is one
    index: SupportIndex  # the items of each row, in both columns, with the weights of the rows
    is_private: Mask  # by code
    # number among the private items of each public item that is private in other rows, else -1; None: there
    # is no such item
    twins: Codes | None = None

    @classmethod
    def of(cls, columns: ListColumns, private: Any) -> PublicAndPrivate:
        """Split the items of a table; ``private`` is the value of `private_items`."""
        # An item that is both in a row, or a private item that does not occur, is an error.
        itemsets, hidden = columns.itemsets, columns.private
        if isinstance(private, NamedItems):
            return cls.within(columns, named_items(itemsets, private))
        if hidden is None:
            hint = "pass both columns to collapse"
            raise ParameterError("the private column was not collapsed", where="private", hint=hint)
        # The codes of the second column are higher, so those of a row stay ascending.
        secret = hidden.codes + np.int32(itemsets.n_items), hidden.offsets
        n_items = itemsets.n_items + hidden.n_items
        rows = append_rows([(itemsets.codes, itemsets.offsets), secret])
        index = SupportIndex(*rows, n_items, itemsets.weights)
        public_codes = itemsets.lookup(hidden.vocabulary)
        shared = np.flatnonzero(public_codes >= 0).astype(np.int32)
        twins = np.full(n_items, -1, np.int32)
        twins[public_codes[shared]] = shared
        found = cls(columns, index, np.arange(n_items) >= itemsets.n_items, twins)
        if not len(shared):
            return replace(found, twins=None)
        found._refuse_contradictions()
        return found

    def _refuse_contradictions(self) -> None:
        """Raise an error if an item is public and private in the same row."""
        own, n_hidden = self.secrets, int(self.is_private.sum())
        items = own.recode(np.tile(np.arange(n_hidden), 2), n_hidden)
        rows = np.flatnonzero(items.lengths < own.lengths)
        if len(rows):
            place = f"private, rows {list_first(rows)}" if self.itemsets.weights is None else "private"
            raise ParameterError(
                "an item is both public and private in a row",
                where=place,
                got=f"{len(rows)} rows with an item in both columns",
                hint="remove it from one of the columns of the row",
            )

    @classmethod
    def within(cls, columns: ListColumns, is_private: Mask) -> PublicAndPrivate:
        """Split the items of one column."""
        return cls(columns, SupportIndex.of(columns.itemsets), is_private)

    @property
    def itemsets(self) -> Itemsets:
        """The list column that is recoded."""
        return self.columns.itemsets

    def crowds(self) -> list[tuple[Mask, PublicAndPrivate]]:
        """Return all rows, and the candidate rows if an attacker knows in which columns a row is missing."""
        # A mask tells which rows these are.
        masks = [~each.nulls for each in self.columns.columns]
        found = [(np.ones(len(self.index.weights), np.bool_), self)]
        for mask in [*masks, *([masks[0] & masks[1]] if len(masks) > 1 else [])]:
            found += [] if mask.all() else [(mask, self.within_rows(mask))]
        return found

    def within_rows(self, chosen: Mask) -> PublicAndPrivate:
        """Select rows by mask."""
        columns = ListColumns(*(each.take(np.flatnonzero(chosen)) for each in self.columns.columns))
        return replace(self, columns=columns, index=self.index.within(chosen))

    def itemsets_of(self, chosen: Mask) -> Itemsets:
        """Return the list column that is recoded with some of its items only, by the same numbers."""
        is_chosen = chosen[self.itemsets.codes]
        offsets = offsets_of(is_chosen)[self.itemsets.offsets]
        return replace(self.itemsets, codes=self.itemsets.codes[is_chosen], offsets=offsets)

    @property
    def private_vocabulary(self) -> pa.Array:
        """The private items, in the order of their codes."""
        hidden = self.columns.private
        if hidden is not None:
            return hidden.vocabulary
        return self.itemsets.vocabulary.take(pa.array(np.flatnonzero(self.is_private)))

    @property
    def copies(self) -> bool:
        """Whether an item is public in some rows and private in others."""
        return self.twins is not None

    @property
    def secrets(self) -> SupportIndex:
        """The private items of each row; with `copies`, code ``n + s`` is item ``s`` where it is public."""
        if self.twins is None:
            return self.index.select(self.is_private)
        n_hidden = int(self.is_private.sum())
        public = np.where(self.twins >= 0, self.twins + n_hidden, -1)
        return self.index.recode(
            np.where(self.is_private, np.cumsum(self.is_private) - 1, public), 2 * n_hidden
        )

    @property
    def totals(self) -> Numbers:
        """The rows with each private item, also those in which it is public."""
        return secret_totals(self.secrets, self.copies)

    def with_copies(self) -> SupportIndex:
        """Return the rows; further codes, in the same order, mark private items where they are public."""
        n_items = len(self.is_private)
        if self.twins is None:
            return self.index
        n_hidden = int(self.is_private.sum())
        copies = self.index.recode(
            np.where(self.twins >= 0, self.twins + np.int32(n_items), -1), n_items + n_hidden
        )
        rows = append_rows([(each.codes, each.offsets) for each in (self.index, copies)])
        return SupportIndex(*rows, n_items + n_hidden, self.itemsets.weights)

    def without(self, dropped: Mask) -> PublicAndPrivate:
        """Drop items, by code, from the counted rows; the columns stay."""
        return replace(self, index=self.index.keep_items(~dropped))
