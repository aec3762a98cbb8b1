"""rho-uncertainty: whatever items of a row are known, no sensitive one can be inferred with more than rho.

Cao, Karras, Raïssi, Tan, "rho-uncertainty: Inference-Proof Transaction Anonymization", PVLDB 3(1), 2010.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import inferences, itemset_search
from pdanon._kernels.counting import sort_rows
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, named_items, refuse_overlaps, refuse_within_labels
from pdanon.guarantees.parameters import check_m, check_open_share, shown_share
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.lists import Offsets, offsets_of
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.parallel import first_equal_rows
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import (
    MOST_ITEMSETS,
    ItemsetTable,
    concatenate,
    empty_itemset,
    no_itemsets,
    refuse_long_list,
)
from pdanon.itemsets.threads import count_threads, even_parts, many_parts, search, share
from pdanon.itemsets.timing import halt_flag

__all__ = ["Inferences", "Owners", "RhoUncertainty", "proven"]

_STEPS = 8 * 10**8  # items of rows that a search with a limit looks at: some seconds
_UNLIMITED = 2**62


@dataclass(frozen=True, eq=False, slots=True)
class Inferences:
    """Rules from an itemset to a sensitive item that is in too many of its rows.

    Parameters
    ----------
    antecedents : ItemsetTable
        The itemsets, with their supports.
    sensitive : ndarray of int32, shape (rules,)
        The item of each.
    together : ndarray of int64, shape (rules,)
        In how many rows both are.
    """

    antecedents: ItemsetTable
    sensitive: Codes
    together: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sensitive)

    def take(self, which: NDArray[Any]) -> Inferences:
        """Some of the rules, by number or mask."""
        return Inferences(self.antecedents.take(which), self.sensitive[which], self.together[which])

    @classmethod
    def joined(cls, parts: Sequence[Inferences]) -> Inferences:
        """Those of some parts, one after the other."""
        nothing = cls(no_itemsets(), np.empty(0, np.int32), np.empty(0, np.int64))
        parts = [nothing, *parts]
        return cls(
            concatenate([part.antecedents for part in parts]),
            np.concatenate([part.sensitive for part in parts]),
            np.concatenate([part.together for part in parts]),
        )

    def recode(self, codes: Codes) -> Inferences:
        """The same with other codes for the items, in order."""
        items, offsets = codes[self.antecedents.codes], self.antecedents.offsets
        sort_rows(items, offsets[:-1], np.diff(offsets))
        table = ItemsetTable(items, offsets, self.antecedents.supports)
        return Inferences(table, codes[self.sensitive], self.together)

    def minimal(self, n_items: int) -> Inferences:
        """Those without a part of their antecedent that has the same item; by item, size, and codes."""
        rules = self.rules(n_items)
        numbers = np.arange(len(self))
        once = first_equal_rows(rules.codes, rules.offsets) == numbers
        order = ItemsetTable(rules.codes, rules.offsets, numbers).take(once).ordered().supports
        rules = rules.take(order)
        order = order[itemset_search.minimal(rules.codes, rules.offsets)]
        items = self.sensitive[order]
        return self.take(order[np.argsort(items, kind="stable")])

    def rules(self, shift: int = 0) -> ItemsetTable:
        """Each antecedent with its item, which comes first; to the codes of the others a number is added."""
        known, items = self.antecedents, self.sensitive
        codes = np.insert(known.codes + np.int32(shift), known.offsets[:-1], items)
        return ItemsetTable(codes, offsets_of(np.diff(known.offsets) + 1), self.together)


def proven(
    index: SupportIndex, sensitive: NDArray[np.bool_], rho: Fraction, n_present: int
) -> tuple[Inferences, int | None]:
    """Look for inferences of any size, with a limit.

    Parameters
    ----------
    index : SupportIndex
        The rows.
    sensitive : ndarray of bool, shape (items,)
        Which items are sensitive.
    rho : Fraction
        Largest share, in (0, 1), of the rows of an antecedent in which the item may be.
    n_present : int
        How many rows are not missing: of these the share counts where nothing is known.

    Returns
    -------
    found : Inferences
        Some, unless none is found; their antecedents need not be minimal.
    m : int or None
        If none is found: the size up to which there is none; None: any.

    Notes
    -----
    The limit is a number of steps, not of seconds: the same rows have the same answer. A time limit stops it.
    """
    owners = Owners.of(index, sensitive, rho, n_present, in_time=True)
    found, is_all = owners.empty(), True
    if not len(found):
        found, is_all = owners.of_any_size()
    if len(found) or is_all:
        return found.recode(owners.order), None
    found, m = owners.listed_in_time()
    return found.recode(owners.order), m


@dataclass(frozen=True, eq=False, slots=True)
class Owners:
    """The rows that hold each sensitive item, and how often all else that they hold is in rows without it.

    Rows are distinct, and items are numbered by their supports.

    Parameters
    ----------
    index : SupportIndex
        The rows.
    order : ndarray of int32, shape (items,)
        The code of each item.
    rho : Fraction
        The largest share.
    n_present : int
        How many rows are not missing.
    frequent : ndarray of int32
        Sensitive items that are in too many of these: nothing need be known. The others are searched.
    items : ndarray of int32, shape (items that are searched,)
        These items.
    starts : ndarray of int64, shape (items that are searched + 1,)
        Where the rows of each begin.
    rows : ndarray of int32
        Which rows, by ascending ``apart``.
    together, apart : ndarray of int64
        For each of them, in how many rows all else is with the item, and without it.
    in_time : bool
        Whether searches end with the time limit; an audit goes on.
    """

    index: SupportIndex
    order: Codes
    rho: Fraction
    n_present: int
    frequent: Codes
    items: Codes
    starts: Offsets
    rows: Codes
    together: NDArray[np.int64]
    apart: NDArray[np.int64]
    in_time: bool

    @classmethod
    def of(
        cls,
        index: SupportIndex,
        sensitive: NDArray[np.bool_],
        rho: Fraction,
        n_present: int,
        *,
        in_time: bool = False,
    ) -> Owners:
        """Look up the rows of each item; parameters are those of `proven`."""
        order, ranked = index.distinct().ranked
        too_many = ranked.singles * rho.denominator > rho.numerator * n_present
        searched = sensitive[order] & ~too_many
        lengths = np.diff(ranked.offsets)
        held = searched[ranked.codes] & np.repeat(lengths > 1, lengths)
        items = ranked.codes[held]
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)[held]
        together, apart = _beyond(ranked, rows, items)
        place = np.lexsort((apart, items))
        found, begins = np.unique(items[place], return_index=True)
        return cls(
            ranked,
            order,
            rho,
            n_present,
            np.flatnonzero(sensitive[order] & too_many).astype(np.int32),
            found,
            np.append(begins, len(items)),
            rows[place],
            together[place],
            apart[place],
            in_time,
        )

    def empty(self) -> Inferences:
        """The inferences from knowing nothing."""
        table = concatenate([no_itemsets(), *[empty_itemset(self.n_present)] * len(self.frequent)])
        return Inferences(table, self.frequent, self.index.singles[self.frequent])

    def whole(self) -> Inferences:
        """The inferences from all else that a row holds."""
        broken = self.together * (self.rho.denominator - self.rho.numerator) > self.rho.numerator * self.apart
        items = np.repeat(self.items, np.diff(self.starts))[broken]
        rows = self.index.within(self.rows[broken])
        rest = rows.codes != np.repeat(items, np.diff(rows.offsets))
        together = self.together[broken]
        offsets = offsets_of(np.diff(rows.offsets) - 1)
        return Inferences(
            ItemsetTable(rows.codes[rest], offsets, together + self.apart[broken]), items, together
        )

    def listed(self, m: int | None) -> Inferences:
        """All minimal antecedents of 1 to m items, and some that are not minimal."""
        return self._search(self._every(), self._size(m), _UNLIMITED)[0]

    def mark(self, m: int | None, marked: NDArray[np.bool_]) -> None:
        """Mark the rows that hold an antecedent of 1 to m items."""
        self._search(self._every(), self._size(m), _UNLIMITED, marked)

    def of_any_size(self) -> tuple[Inferences, bool]:
        """Some inferences of any size, but `empty`; and, if these are none, whether there is none."""
        found = self.whole()
        if len(found):
            return found, True
        found, is_all, _, _ = self._in_time(0, _STEPS)
        return found.recode(np.arange(self.index.n_items, dtype=np.int32)), is_all

    def listed_in_time(self) -> tuple[Inferences, int | None]:
        """As `listed`, for the largest m that the limit allows; and this m, None: any."""
        last, left = Inferences.joined([]), _STEPS
        for m in count(1):
            found, is_all, is_larger, left = self._in_time(m, left)
            if not is_all:
                return (last if len(last) else found), m - 1
            if not is_larger:
                return found, None
            last = found
        raise AssertionError

    def mark_in_time(self, marked: NDArray[np.bool_]) -> int | None:
        """As `mark`, for the largest m that the limit allows: it is returned, None: any."""
        left = _STEPS
        for m in count(1):
            _, is_all, is_larger, left = self._in_time(m, left, marked)
            if not is_all or not is_larger:
                return m - 1 if not is_all else None
        raise AssertionError

    def at_risk(self, m: int | None) -> tuple[int, int | None]:
        """How many rows hold an antecedent of 1 to m items; if none, up to which size that is so; None: any.

        With m=None there are at least as many.
        """
        found, is_all = self.of_any_size()
        marked = np.zeros(len(self.index.weights), np.bool_)
        if is_all and not len(found):
            return 0, m
        if m is not None:
            self.mark(m, marked)
        else:
            m = self.mark_in_time(marked)
            marked |= self.index.contains_any(found.antecedents)
        return int(self.index.weights[marked].sum()), m

    def told(self, m: int | None) -> Inferences:
        """The minimal inferences of up to m items, with the codes of the items.

        With m=None those of as many items as the limit allows, and some larger ones that hold none of these.
        """
        found = [self.listed_in_time()[0], self.of_any_size()[0]] if m is None else [self.listed(m)]
        return Inferences.joined([self.empty(), *found]).recode(self.order).minimal(self.index.n_items)

    def _every(self) -> Codes:
        return np.arange(len(self.items), dtype=np.int32)

    def _size(self, m: int | None) -> int:
        """The size to search to: no antecedent is larger than the longest row."""
        return max(self.index.longest if m is None else min(m, self.index.longest), 1)

    def _in_time(
        self, m: int, left: int, marked: NDArray[np.bool_] | None = None
    ) -> tuple[Inferences, bool, bool, int]:
        """Search to a size, in so many steps; what an item leaves of its share is for those that need more.

        Returns
        -------
        tuple
            What is found; whether it is all; whether there may be more of larger sizes; steps that are left.
        """
        limit, chosen, is_larger = 0, self._every(), False
        found, rest = [], Inferences.joined([])
        while len(chosen) and (most := _UNLIMITED if m == 1 else left // len(chosen)) > 2 * limit:
            limit = most
            some, outcome = self._search(chosen, m, limit, marked, limited=True)
            is_open = outcome[0] < 0
            items = some.sensitive
            ended = np.isin(items, self.items[chosen[~is_open]])
            found.append(some.take(ended))
            rest = some.take(~ended)
            is_larger |= bool(outcome[1].any())
            left -= int(np.where(is_open, limit, outcome[0]).sum())
            chosen = chosen[is_open]
        return Inferences.joined([*found, rest]), not len(chosen), is_larger, left

    def _search(
        self,
        chosen: Codes,
        m: int,
        limit: int,
        marked: NDArray[np.bool_] | None = None,
        limited: bool = False,
    ) -> tuple[Inferences, NDArray[np.int64]]:
        """Search for some of the items to a size, each for so many steps.

        Returns
        -------
        tuple
            What is found, codes in no order, if no rows are to be marked; and of each item its steps, -1: too
            many, and whether there may be more of larger sizes.
        """
        table, room = self.index.rows, np.array([MOST_ITEMSETS])
        before = marked.copy() if marked is not None and limited else None
        share, size = self.rho, m or self.index.longest

        def part(begin: int, end: int) -> tuple[Inferences, NDArray[np.int64]]:
            found = inferences.Found(room)
            marks = None if marked is None else inferences.Marks(marked, before)
            weighed = self.index.singles, self.rows, self.apart, share.numerator, share.denominator
            what: Any = *weighed, m, marks, found, halt_flag()
            outcome = inferences.Inferences(table, *what).run(
                self.items, self.starts, chosen[begin:end], limit
            )
            codes, offsets, items, together, apart = found.arrays()
            antecedents = ItemsetTable(codes, offsets, together + apart)
            return Inferences(antecedents, items.astype(np.int32), together), outcome

        sizes = np.diff(self.starts)[chosen]
        parts = many_parts(offsets_of(sizes * self.index.longest), 4 * count_threads())
        results = search(part, parts, self.index.search_bound(size), limited=self.in_time)
        found = Inferences.joined([each for each, _ in results])
        refuse_long_list(found.antecedents)
        return found, np.hstack([told for _, told in results])


def _beyond(index: SupportIndex, rows: Codes, items: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """In how many rows all else of some rows is, with an item of each and without it."""
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first = index.codes[index.offsets[rows]]
    rarest = np.where(first == items, index.codes[index.offsets[rows] + 1], first)
    looked_at = offsets_of(np.diff(index.transpose[0])[rarest])
    table = index.rows
    parts = share(
        lambda begin, end: inferences.rows_beyond(table, rows, items, begin, end), even_parts(looked_at)
    )
    together, apart = (np.concatenate(each) for each in zip(*parts, strict=True))
    return together, apart


# --- rho-uncertainty: whatever items of a row are known, no sensitive one can be inferred with more than rho


_REMEDY = (
    "cahd keeps all of them, as counts of groups of rows; where only a few items of a row can be known, m=1 "
    "or a larger rho may keep some"
)


@dataclass(frozen=True, repr=False)
class RhoUncertainty:
    """Of the rows that hold some items, no more than a share rho hold any one sensitive item besides.

    Precisely: for each sensitive item, and each set of other items that is in a row with it, the item is in
    at most a share rho of the rows that hold the set. The items of the set may be sensitive themselves. The
    empty set is one of them: the item is in at most that share of the rows that are not missing.

    Parameters
    ----------
    rho : float
        Largest share, above 0 and below 1.
    sensitive : iterable
        The sensitive items, with the type that they have in the frame.
    m : int, optional
        Most items that the attacker knows; at least 1. By default any number.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label.

    Raises
    ------
    ParameterError
        If a parameter is out of range, no sensitive item is given, or one has become something else.
    ItemsetDtypeError
        If the sensitive items are of several types.

    Notes
    -----
    Without m, a set of any size is meant, and the audit searches for one: over closed sets of the rows that
    hold the sensitive item, and with a limit. If that is reached, the guarantee of the audit, and of a
    release, has an m: the size up to which it is proven.

    A set of sensitive items is in no more rows than each of its items, so it needs no test. That a person
    has some sensitive item, whichever it is, may be certain. Identity is not protected.

    Rows are counted by label: it is the same for items only if no item has two labels in a row, so that who
    knows the item finds the rows of its label.

    References
    ----------
    .. [1] J. Cao, P. Karras, C. Raïssi, K.-L. Tan, "rho-uncertainty: Inference-Proof Transaction
       Anonymization", PVLDB 3(1), 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "flu"], ["rice", "tea"], ["tea"]]})
    >>> audit = df.txanon.audit(pdanon.RhoUncertainty(rho=0.5, sensitive=["flu"]))
    >>> audit
    Audit(holds=False, rows_at_risk=3, guarantee=RhoUncertainty(rho=0.5, sensitive=1 items))
    >>> audit.threats
        itemset  support        why sensitive  confidence
    0  ['rice']        3  inference       flu    0.666667
    """

    rho: Any
    sensitive: Any
    m: int | None = None
    mapping: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        hint = "1 would allow certainty, and with 0 no sensitive item could be in a row: rho=0.5"
        object.__setattr__(self, "rho", check_open_share(self.rho, "rho", hint))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "mapping", Told.of(self.mapping, self.sensitive, "sensitive"))

    def is_sensitive(self, itemsets: Itemsets) -> NDArray[np.bool_]:
        """Return whether each item of a column is sensitive.

        Raises
        ------
        ParameterError
            If a sensitive item does not occur: a support of 0 would prove nothing.
        """
        return named_items(itemsets, self.sensitive, "sensitive", self.mapping)

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with a list column that holds the sensitive items, released or not.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` has a line for each inference: ``itemset``, what is known; ``support``, how many rows
            hold it; ``why`` (``inference``); ``sensitive``, the item; ``confidence``, the share of the rows
            that hold it, too. No subset of an itemset leads to the same item. All rows that are not missing
            are at risk if the empty itemset is one.

            Without m, and if something is found, at least as many rows are at risk as are counted, and
            threats of more items than could be listed need not be minimal.

            ``guarantee`` has the m up to which it was proven, if that is not any.

        Raises
        ------
        ParameterError
            If a sensitive item does not occur, or is a member of a published set; or two published sets in a
            row share a member.

        Notes
        -----
        Exact for an m that is given: time grows with the itemsets of fewer than m items that so many of the
        rows with a sensitive item hold that it may be a breach, and with the rows that hold each. Before that
        each row with a sensitive item is compared with those that hold the rarest of its other items. Without
        m it ends after some hundred million steps of each part of the search.
        """
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=read_visible))

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        itemsets = columns.itemsets
        refuse_within_labels(itemsets, self.sensitive, "sensitive", self.mapping)
        if self.mapping is None:  # with a mapping, an item has one label in a row
            refuse_overlaps(itemsets)
        sensitive = self.is_sensitive(itemsets)
        owners = Owners.of(SupportIndex.of(itemsets), sensitive, self.rho, itemsets.n_present)
        if len(owners.frequent):
            return Audit(self, itemsets.n_present, lambda: self._threats(itemsets, owners))
        at_risk, m = owners.at_risk(self.m)
        return Audit(
            self if at_risk else replace(self, m=m), at_risk, lambda: self._threats(itemsets, owners)
        )

    def _threats(self, itemsets: Itemsets, owners: Owners) -> pd.DataFrame:
        """The inferences as a DataFrame."""
        told = owners.told(self.m)
        table = threat_table(itemsets, told.antecedents, "inference")
        items = itemsets.vocabulary.take(pa.array(told.sensitive))
        table["sensitive"] = pd.array(items, dtype=pd.ArrowDtype(items.type))
        table["confidence"] = told.together / told.antecedents.supports
        return table

    def with_mapping(self, mapping: pd.DataFrame) -> RhoUncertainty:
        """Return the guarantee for a release with this mapping."""
        return replace(self, mapping=mapping)

    def gone(self) -> tuple[str, str]:
        """That all sensitive items are suppressed, and what to do; two empty texts if one is left."""
        if self.mapping is None or len(self.mapping.left_out) < len(self.sensitive):
            return "", ""
        return f"All sensitive items ({len(self.sensitive):,}) are suppressed", _REMEDY

    def __repr__(self) -> str:
        m = "" if self.m is None else f", m={self.m}"
        return f"RhoUncertainty(rho={shown_share(self.rho)}, sensitive={len(self.sensitive)} items{m})"
