"""rho-uncertainty: no sensitive item is inferred with a confidence above rho, whatever items are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels import inferences
from pdanon._kernels.counting import sort_rows
from pdanon.guarantees.breaches import minimal_sets
from pdanon.guarantees.models import ListModel
from pdanon.guarantees.named import named_items, named_labels
from pdanon.guarantees.verdict import Audit, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Offsets, offsets_of
from pdanon.itemsets.support import (
    MOST_ITEMSETS,
    ItemsetTable,
    SupportIndex,
    concatenate,
    empty_itemsets,
    no_itemsets,
    refuse_long_list,
)
from pdanon.itemsets.threads import count_threads, even_parts, many_parts, search, share
from pdanon.itemsets.timing import halt_flag

_STEPS = 8 * 10**8  # items of rows that a search with a limit reads, in some seconds
_UNLIMITED = 2**62


@frozen
class Inferences:
    """Rules from an itemset to a sensitive item with a confidence above rho."""

    antecedents: ItemsetTable  # the itemset of each rule
    sensitive: Codes  # its sensitive item
    together: Numbers  # rows with both

    def __len__(self) -> int:
        return len(self.sensitive)

    def take(self, which: NDArray[Any]) -> Inferences:
        """Select rules by number or mask."""
        return Inferences(self.antecedents.take(which), self.sensitive[which], self.together[which])

    @classmethod
    def concatenate(cls, parts: Sequence[Inferences]) -> Inferences:
        """Concatenate the rules of some parts."""
        nothing = cls(no_itemsets(), np.empty(0, np.int32), np.empty(0, np.int64))
        parts = [nothing, *parts]
        return cls(
            concatenate([part.antecedents for part in parts]),
            np.concatenate([part.sensitive for part in parts]),
            np.concatenate([part.together for part in parts]),
        )

    def recode(self, codes: Codes) -> Inferences:
        """Return the rules with other codes for the items, sorted within each antecedent."""
        items, offsets = codes[self.antecedents.codes], self.antecedents.offsets
        sort_rows(items, offsets[:-1], np.diff(offsets))
        return Inferences(replace(self.antecedents, codes=items), codes[self.sensitive], self.together)

    def minimal(self, n_items: int) -> Inferences:
        """Select the rules with a minimal antecedent for their item, ordered by item, size and codes."""
        rules = replace(self.rules(n_items), supports=np.arange(len(self)))
        order = minimal_sets(rules.distinct()).supports
        items = self.sensitive[order]
        return self.take(order[np.argsort(items, kind="stable")])

    def rules(self, shift: int = 0) -> ItemsetTable:
        """Return each rule as an itemset: the sensitive item, then the antecedent with shifted codes."""
        known, items = self.antecedents, self.sensitive
        codes = np.insert(known.codes + np.int32(shift), known.offsets[:-1], items)
        return ItemsetTable(codes, offsets_of(known.lengths + 1), self.together)


def find_inferences(
    index: SupportIndex, sensitive: Mask, rho: Fraction, n_present: int
) -> tuple[Inferences, int | None]:
    """Search for inferences of any size; return some, and the size up to which there are none (None: any)."""
    # The limit is a number of steps, not of seconds, so that the result is reproducible.
    owners = Owners.of(index, sensitive, rho, n_present, in_time=True)
    found, is_all, m = owners.from_nothing(), True, None
    if not len(found):
        found, is_all = owners.of_any_size()
    if not (len(found) or is_all):
        found, m = owners.search(None)
    return found.recode(owners.order), m


@frozen
class Owners:
    """The rows with each sensitive item, and the supports of their other items with and without it."""

    index: SupportIndex
    order: Codes  # the code of each item
    rho: Fraction  # maximum confidence of a rule
    n_present: int  # rows that are not missing
    # sensitive items in more than a share rho of all rows: the empty itemset is an antecedent
    frequent: Codes
    items: Codes  # the other sensitive items, which are searched
    starts: Offsets  # where the rows of each item start in `rows`
    rows: Codes  # rows with each item, by ascending `apart`
    together: Numbers  # for each of `rows`, the rows that contain its rest, with the item
    apart: Numbers  # without the item
    in_time: bool  # whether the time limit ends searches; it does not end an audit

    @classmethod
    def of(
        cls,
        index: SupportIndex,
        sensitive: Mask,
        rho: Fraction,
        n_present: int,
        *,
        in_time: bool = False,
    ) -> Owners:
        """Collect the rows of each item; the parameters are those of `find_inferences`."""
        order, ranked = index.distinct().ranked
        too_many = ranked.singles * rho.denominator > rho.numerator * n_present
        searched = sensitive[order] & ~too_many
        lengths = ranked.lengths
        held = searched[ranked.codes] & np.repeat(lengths > 1, lengths)
        items = ranked.codes[held]
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)[held]
        together, apart = _count_rests(ranked, rows, items)
        place = np.lexsort((apart, items))  # ascending `apart`: then a prefix bounds the search
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

    def from_nothing(self) -> Inferences:
        """Return the inferences from the empty itemset."""
        table = empty_itemsets(np.full(len(self.frequent), self.n_present))
        return Inferences(table, self.frequent, self.index.singles[self.frequent])

    def from_rests(self) -> Inferences:
        """Return the inferences from the rest of a row, all of its other items."""
        # On integers: together / (together + apart) > rho.
        broken = self.together * (self.rho.denominator - self.rho.numerator) > self.rho.numerator * self.apart
        items = np.repeat(self.items, np.diff(self.starts))[broken]
        rows = self.index.within(self.rows[broken])
        rest = rows.codes != np.repeat(items, rows.lengths)
        together = self.together[broken]
        offsets = offsets_of(rows.lengths - 1)
        return Inferences(
            ItemsetTable(rows.codes[rest], offsets, together + self.apart[broken]), items, together
        )

    def of_any_size(self) -> tuple[Inferences, bool]:
        """Return some inferences of any size but 0, and, if there are none, whether that is proven."""
        found = self.from_rests()
        if len(found):
            return found, True
        found, is_all, _, _ = self._search_within_limit(0, _STEPS)
        return found.recode(np.arange(self.index.n_items, dtype=np.int32)), is_all

    def search(self, m: int | None, marked: Mask | None = None) -> tuple[Inferences, int | None]:
        """List all minimal antecedents of 1 to m items, and some others; or mark the rows with one."""
        if m is not None:  # no antecedent is larger than the longest row
            size = max(min(m, self.index.longest), 1)
            return self._search(self._all_items(), size, _UNLIMITED, marked)[0], m
        last, left = Inferences.concatenate([]), _STEPS
        for most in count(1):
            found, is_all, is_larger, left = self._search_within_limit(most, left, marked)
            if not is_all:
                return (last if len(last) else found), most - 1
            if not is_larger:
                return found, None
            last = found
        raise AssertionError

    def at_risk(self, m: int | None) -> tuple[int, int | None]:
        """Count the rows that contain an antecedent of 1 to m items."""
        # With m=None, the number is a lower bound. The second value is the size up to which all antecedents
        # are counted; None: any.
        found, is_all = self.of_any_size()
        marked = np.zeros(len(self.index.weights), np.bool_)
        if is_all and not len(found):
            return 0, m
        _, proven = self.search(m, marked)
        if m is None:
            marked |= self.index.contains_any(found.antecedents)
        return int(self.index.weights[marked].sum()), proven

    def minimal(self, m: int | None) -> Inferences:
        """Return the minimal inferences of up to m items, with the original codes."""
        # With m=None, these are inferences up to the size within the limit, and some larger ones that contain
        # none of them.
        found = [self.from_nothing(), self.search(m)[0]]
        if m is None:
            found.append(self.of_any_size()[0])
        return Inferences.concatenate(found).recode(self.order).minimal(self.index.n_items)

    def _all_items(self) -> Codes:
        return np.arange(len(self.items), dtype=np.int32)

    def _search_within_limit(
        self, m: int, left: int, marked: Mask | None = None
    ) -> tuple[Inferences, bool, bool, int]:
        """Search up to a size with a number of steps, shared equally by the items."""
        limit, chosen, is_larger = 0, self._all_items(), False
        found, rest = [], Inferences.concatenate([])
        # Each search starts from scratch: repeat it only with more than twice the steps of the last one.
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
        return Inferences.concatenate([*found, rest]), not len(chosen), is_larger, left

    def _search(
        self,
        chosen: Codes,
        m: int,
        limit: int,
        marked: Mask | None = None,
        limited: bool = False,
    ) -> tuple[Inferences, Numbers]:
        """Search for some of the items up to a size, with a number of steps for each item."""
        table, room = self.index.rows, np.array([MOST_ITEMSETS])
        before = marked.copy() if marked is not None and limited else None
        share, size = self.rho, m or self.index.longest

        def part(begin: int, end: int) -> tuple[Inferences, Numbers]:
            marks = None if marked is None else inferences.Marks(marked, before)
            data = self.index.singles, self.rows, self.apart, share.numerator, share.denominator
            kernel = inferences.Inferences(table, *data, m, marks, room, halt_flag())
            outcome, codes, offsets, together, apart = kernel.run(
                self.items, self.starts, chosen[begin:end], limit
            )
            items = np.repeat(self.items[chosen[begin:end]], outcome[2])
            return Inferences(ItemsetTable(codes, offsets, together + apart), items, together), outcome

        sizes = np.diff(self.starts)[chosen]
        parts = many_parts(offsets_of(sizes * self.index.longest), 4 * count_threads())
        results = search(part, parts, self.index.search_bound(size), limited=self.in_time)
        found = Inferences.concatenate([each for each, _ in results])
        refuse_long_list(found.antecedents)
        return found, np.hstack([outcome for _, outcome in results])


def _count_rests(index: SupportIndex, rows: Codes, items: Codes) -> tuple[Numbers, Numbers]:
    """Count the rows that contain the rest of each row without an item: those with the item, and without."""
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # Codes ascend by support: the first code of the rest is its rarest item, whose rows are compared.
    first = index.codes[index.offsets[rows]]
    rarest = np.where(first == items, index.codes[index.offsets[rows] + 1], first)
    work = offsets_of(np.diff(index.transpose[0])[rarest])
    table = index.rows
    parts = share(lambda begin, end: inferences.rows_beyond(table, rows, items, begin, end), even_parts(work))
    together, apart = (np.concatenate(each) for each in zip(*parts, strict=True))
    return together, apart


# --- The guarantee


_REMEDY = (
    "use cahd, which publishes all of them as counts of groups; or, if an attacker can know few items only, "
    "pass m=1 or a larger rho"
)


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class RhoUncertainty(ListModel):
    """No sensitive item is in more than a share rho of the rows that contain some other items.

    Precisely: for each sensitive item, and each set of other items in a row with it, the item is in at most a
    share rho of the rows that contain the set. Items of the set may be sensitive themselves. The empty set is
    included: the item is in at most a share rho of the rows that are not missing.

    Parameters
    ----------
    rho : float
        Maximum share, above 0 and below 1.
    sensitive : iterable
        The sensitive items, with the type that they have in the frame.
    m : int, optional
        Maximum number of items that the attacker knows; at least 1. By default any number.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If a parameter is out of range, no sensitive item is given, the mapping generalizes one, or they are
        of several types.

    Notes
    -----
    Without m, the audit searches the closed sets of the rows with a sensitive item, of any size. If it
    reaches its limit, the guarantee of the audit, and of a release, has as m the size up to which it is
    proven. It may be certain that a person has some sensitive item, and a person may be singled out. Rows are
    counted by label, so no item may have two labels in a row.

    References
    ----------
    .. [1] J. Cao, P. Karras, C. Raïssi, K.-L. Tan, "rho-uncertainty: Inference-Proof Transaction
       Anonymization", PVLDB 3(1), 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "flu"], ["rice", "tea"], ["tea"]]})
    >>> df.txanon.audit(pdanon.RhoUncertainty(rho=0.5, sensitive=["flu"])).threats
        itemset  support        why sensitive  confidence
    0  ['rice']        3  inference       flu    0.666667
    """

    rho: Any
    sensitive: Any
    m: int | None = None
    mapping: Any = field(default=None, compare=False)

    def is_sensitive(self, itemsets: Itemsets) -> Mask:
        """Return whether each item is sensitive; all must occur, as a support of 0 would prove nothing."""
        return named_items(itemsets, self.sensitive, self.mapping)

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` has a row for each minimal inference: ``itemset``, the known items; ``support``; ``why``
        # (``inference``); ``sensitive``, the inferred item; ``confidence``, the share of the rows with the
        # itemset that have the item. If the empty itemset is a threat, all rows that are not missing are at
        # risk. Without m, if the search reaches its limit, ``rows_at_risk`` is a lower bound, and large
        # threats need not be minimal. If no inference is found, ``guarantee`` has the m up to which it is
        # proven. `ParameterError`: if a sensitive item does not occur, or is a member of a published set; or
        # two published sets in a row share a member. Exact if m is given. First, each row with a sensitive
        # item is compared with the rows that contain the rarest of its other items. Then time grows with the
        # itemsets of fewer than m items that are frequent enough among the rows with a sensitive item, and
        # with their supports. Without m, each part of the search ends after some hundred million steps.
        itemsets = columns.itemsets
        sensitive = named_labels(itemsets, self.sensitive, self.mapping)
        owners = Owners.of(SupportIndex.of(itemsets), sensitive, self.rho, itemsets.n_present)
        if len(owners.frequent):
            return Audit(self, itemsets.n_present, lambda: self._threats(itemsets, owners))
        at_risk, m = owners.at_risk(self.m)
        return Audit(
            self if at_risk else replace(self, m=m), at_risk, lambda: self._threats(itemsets, owners)
        )

    def _threats(self, itemsets: Itemsets, owners: Owners) -> pd.DataFrame:
        """Return the inferences as a DataFrame."""
        found = owners.minimal(self.m)
        table = threat_table(itemsets, found.antecedents, "inference")
        items = itemsets.vocabulary.take(pa.array(found.sensitive))
        table["sensitive"] = pd.arrays.ArrowExtensionArray(items)
        table["confidence"] = found.together / found.antecedents.supports
        return table

    def gone(self) -> tuple[str, str]:
        """Return a problem and a hint if all sensitive items are suppressed; otherwise two empty texts."""
        if self.mapping is None or len(self.mapping.left_out) < len(self.sensitive):
            return "", ""
        return f"All sensitive items ({len(self.sensitive):,}) are suppressed", _REMEDY
