"""PS-rules: what may be known of a person leads neither to few rows nor to what must not be inferred.

Loukides, Gkoulalas-Divanis, Shao, "Anonymizing Transaction Data to Eliminate Sensitive Inferences",
DEXA 2010.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import rows_at_risk, threats
from pdanon.guarantees.emptied import counts_emptied
from pdanon.guarantees.generalized_itemsets import UNKNOWN, became, images, united
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, named_items, refuse_overlaps, refuse_within_labels
from pdanon.guarantees.parameters import check_k, check_open_share, shown_share
from pdanon.guarantees.rules import AllRules, Rules, read_rules
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Itemsets, canonical_rows
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.mapping import mapping_values
from pdanon.itemsets.multisets import first_copies, read_visible
from pdanon.itemsets.parallel import first_equal_rows
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable, concatenate, empty_itemset

__all__ = ["PSRules"]

_UNMAPPED = (
    "give the mapping of the release, which says what became of known items: guarantee.with_mapping(mapping)"
)
_AT_A_TIME = 10**6  # itemsets that are counted


@dataclass(frozen=True, eq=False, repr=False)
class PSRules:
    """Whoever knows what a rule knows finds no row, or k; at most a share c hold what is sensitive.

    Precisely: for a rule from known items I to sensitive items J, take the rows that hold all that I has
    become. There is none, or there are at least k, of which at most a share c hold all of J.

    Parameters
    ----------
    rules : iterable of pairs, DataFrame, path, Rules or AllRules
        Pairs of lists of original items, known and sensitive; a DataFrame with the list columns ``known`` and
        ``sensitive``; a ``.parquet`` file of it, or a ``.csv`` file with these columns, in which ``;`` is
        between two items. Or all rules of a size, as `pdanon.constraints.ps_rules` makes them, which a
        mapping or a ``.toml`` file with ``m`` and ``sensitive`` stand for as well.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    c : float
        Largest share, above 0 and below 1, of these rows that may hold the sensitive items.
    mapping : pandas.DataFrame, optional
        What the original items became in the frame that is audited: the mapping table of its release.
        Without it, the frame must hold the items of the rules as themselves.

    Raises
    ------
    ParameterError
        If a parameter is out of range, there is no rule, a side of one is empty, an item is known and
        sensitive, or, by the mapping, a sensitive item has become something else or another has become it.
    ItemsetDtypeError
        If a side of a rule is not list-like, or its items are of several types.

    Notes
    -----
    A share is read as the fraction that it was written as, and all comparisons are of integers.

    A rule protects from who knows just its known items, and from nobody who knows fewer, more or others. Who
    knows nothing of a person knows how frequent J is among all rows: no rule is about that, unless all of its
    known items are suppressed. Then rows that are missing do not count.

    References
    ----------
    .. [1] G. Loukides, A. Gkoulalas-Divanis, J. Shao, "Anonymizing Transaction Data to Eliminate Sensitive
       Inferences", DEXA 2010.
    .. [2] G. Loukides, A. Gkoulalas-Divanis, J. Shao, "Efficient and Flexible Anonymization of Transaction
       Data", Knowledge and Information Systems 36(1), 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt", "flu"], ["salt", "tea"], ["tea"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> rules = [(["rice"], ["flu"]), (["tea"], ["flu"]), (["rice", "salt"], ["flu"])]
    >>> audit = df.txanon.audit(pdanon.PSRules(rules, k=2, c=0.6))
    >>> audit
    Audit(holds=False, rows_at_risk=3, guarantee=PSRules(rules=3, k=2, c=0.6))
    >>> audit.threats
               itemset sensitive  support     why
    0         ['rice']   ['flu']        3  breach
    1  ['rice' 'salt']        []        1    rare
    2  ['rice' 'salt']   ['flu']        1  breach
    """

    rules: Any  # Rules or AllRules, once they are read
    k: int
    c: Any
    mapping: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", read_rules(self.rules))
        object.__setattr__(self, "k", check_k(self.k))
        hint = "it is the largest share of the matching rows in which sensitive items may be, such as c=0.5"
        object.__setattr__(self, "c", check_open_share(self.c, "c", hint))
        Told.of(self.mapping, self.sensitive, "sensitive")  # refuses what disguises them

    @property
    def sensitive(self) -> NamedItems:
        """The sensitive items of the rules."""
        return self.rules.sensitive_items

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            A released frame, with ``mapping`` given, or an original one.
        column : hashable, optional
            Its list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` lists what became of the known items of broken rules. Where ``why`` is ``rare``,
            ``sensitive`` is empty, and where it is ``breach``, that is what too many of the rows hold. Of all
            rules of a size, ``AllRules``, it lists the known items of which no part is a threat.

        Raises
        ------
        ParameterError
            If a rule names an item that neither the mapping nor, without one, the frame knows: that it has
            support 0 would prove nothing; if a sensitive item is a member of a published set; or if, without
            a mapping, two published sets in a row share a member.

        Notes
        -----
        Exact. Rules that are listed cost, each, the rows that hold the rarest of their items; all rules of a
        size the itemsets of fewer than m labels that more than ck rows with the same sensitive item hold, and
        the items that follow each in its rows.
        """
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=read_visible))

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are; `audit` reads them from a frame and does this."""
        published = columns.itemsets
        told = Told.of(self.mapping, self.sensitive, "sensitive")
        refuse_within_labels(published, self.sensitive, "sensitive", told)
        if self.mapping is None:  # it has one label for an item
            refuse_overlaps(published)
            refuse_within_labels(published, self.rules.known_items, "known", None, _UNMAPPED)
        is_sensitive = named_items(published, self.sensitive, "sensitive", told)
        if isinstance(self.rules, AllRules):
            return self._recount_all(published, is_sensitive, self.rules)
        return self._recount_listed(published, self.rules)

    def _recount_listed(self, published: Itemsets, rules: Rules) -> Audit:
        antecedents, numbers = rules.antecedents()
        known = images(antecedents, published, self.mapping, "rule")
        rows = _with_a_label_of_no_row(published)
        supports = rows.supports(known.codes, known.offsets)
        # Of whom all known items are suppressed is in a row that is there, and not in a missing one.
        supports[np.diff(known.offsets) == 0] = published.n_present
        known = replace(known, supports=supports)
        broken = self._broken(rows, known, numbers, _inferred(rules.sensitive, published))
        return self._verdict(published, broken)

    def _verdict(self, published: Itemsets, broken: _Broken) -> Audit:
        """The audit of rules that are broken."""
        filled = broken.known.take(np.diff(broken.known.offsets) > 0)
        some_is_empty = len(filled) < len(broken.known)
        at_risk = published.n_present if some_is_empty else SupportIndex.of(published).rows_holding(filled)
        return Audit(self, at_risk, lambda: broken.table(published))

    def _recount_all(self, published: Itemsets, is_sensitive: NDArray[np.bool_], rules: AllRules) -> Audit:
        is_known, leaves_out = self._known(published, is_sensitive, rules)
        rows = SupportIndex.of(published)
        each = _single_items(is_sensitive)
        if leaves_out:  # who knows suppressed items alone has the rules of nothing
            nothing = empty_itemset(published.n_present)
            broken = self._broken(rows, nothing, np.zeros(len(each), np.int64), each)
            if len(broken.known):
                return self._verdict(published, broken)
        known, secrets = rows.keep_items(is_known), rows.keep_items(is_sensitive)
        asked: Any = {"share": self.c, "m": rules.m, "k": self.k}

        def list_threats() -> pd.DataFrame:
            return self._inferred_from(threats(known, secrets, **asked), rows, each).table(published)

        at_risk = rows_at_risk(known, secrets, **asked)
        return Audit(self, int(rows.weights[at_risk].sum()), list_threats)

    def _known(
        self, published: Itemsets, is_sensitive: NDArray[np.bool_], rules: AllRules
    ) -> tuple[NDArray[np.bool_], bool]:
        """Which labels public items have become, and whether some are suppressed."""
        if rules.public is None and self.mapping is None:
            return ~is_sensitive, False
        public = _others(self.mapping, self.sensitive) if rules.public is None else rules.public.values
        codes = became(public, published, self.mapping)
        if (unknown := int((codes == UNKNOWN).sum())) > 0:
            raise ParameterError(
                "a public item does not occur in the data",
                where="rules",
                got=f"{unknown} of {len(public)} items",
                hint="check spelling and type of the items; labels are told by the mapping of their release",
            )
        is_known = np.zeros(published.n_items + 1, np.bool_)
        is_known[codes[codes >= 0]] = True
        return is_known[first_copies(published.vocabulary)], bool((codes < 0).any())

    def _broken(
        self, rows: SupportIndex, known: ItemsetTable, numbers: NDArray[np.int64], inferred: ItemsetTable
    ) -> _Broken:
        """Which known itemsets are in too few rows, and which rules are too sure.

        Parameters
        ----------
        rows : SupportIndex
            The rows.
        known : ItemsetTable
            Known itemsets with their supports.
        numbers : ndarray of int64, shape (rules,)
            The known itemset of each rule.
        inferred : ItemsetTable
            The sensitive itemset of each rule.
        """
        rare = known.take((known.supports > 0) & (known.supports < self.k))
        of_rules = known.take(numbers)
        both = united(of_rules, inferred, rows.n_items)
        supports = rows.supports(both.codes, both.offsets)
        sure = supports * self.c.denominator > self.c.numerator * of_rules.supports
        nothing = ItemsetTable(inferred.codes[:0], np.zeros(len(rare) + 1, np.int64), rare.supports)
        return _Broken(concatenate([rare, of_rules.take(sure)]), concatenate([nothing, inferred.take(sure)]))

    def _inferred_from(self, known: ItemsetTable, rows: SupportIndex, each: ItemsetTable) -> _Broken:
        """As `_broken`, of the rules from each of some known itemsets to each of some sensitive items."""
        step = max(_AT_A_TIME // max(len(each), 1), 1)
        bounds = range(step, len(known), step)
        parts = [known.take(numbers) for numbers in np.split(np.arange(len(known)), bounds)]
        found = [
            self._broken(
                rows,
                part,
                np.repeat(np.arange(len(part)), len(each)),
                each.take(np.tile(np.arange(len(each)), len(part))),
            )
            for part in parts
        ]
        return _Broken(
            concatenate([part.known for part in found]), concatenate([part.inferred for part in found])
        )

    def with_mapping(self, mapping: pd.DataFrame) -> PSRules:
        """The same rules of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        rules = len(self.rules) if isinstance(self.rules, Rules) else self.rules
        return f"PSRules(rules={rules}, k={self.k}, c={shown_share(self.c)})"


@dataclass(frozen=True, eq=False, slots=True)
class _Broken:
    """Rules that are broken, by what they have become; nothing is inferred where known items are too rare."""

    known: ItemsetTable
    inferred: ItemsetTable

    def table(self, published: Itemsets) -> pd.DataFrame:
        """Each of them once, by known itemset and then by what is inferred."""
        order = np.unique(
            _ranks(self.known) * (len(self.known) + 1) + _ranks(self.inferred), return_index=True
        )[1]
        known, inferred = self.known.take(order), self.inferred.take(order)
        why = np.where(np.diff(inferred.offsets) == 0, "rare", "breach")
        table = threat_table(published, known, why)
        nulls = np.zeros(len(inferred), np.bool_)
        sets = Itemsets(inferred.codes, inferred.offsets, published.vocabulary, nulls)
        table.insert(1, "sensitive", pd.Series(sets.to_pandas()))
        return table


def _others(mapping: pd.DataFrame | None, sensitive: NamedItems) -> pa.Array:
    """The items of a mapping that are not sensitive."""
    assert mapping is not None
    items = mapping_values(mapping, "item")
    return items.filter(pa.array(sensitive.find(items) < 0))


def _with_a_label_of_no_row(published: Itemsets) -> SupportIndex:
    """The rows, with one more item than is published: it stands for labels that no row has."""
    return SupportIndex(published.codes, published.offsets, published.n_items + 1, published.weights)


def _inferred(sensitive: Itemsets, published: Itemsets) -> ItemsetTable:
    """The sensitive items of each rule in published codes: they are published as themselves or not at all."""
    codes = published.lookup(sensitive.vocabulary)
    codes[codes < 0] = published.n_items
    rows = canonical_rows(codes[sensitive.codes], sensitive.offsets, published.n_items + 1)
    return ItemsetTable(*rows, np.zeros(sensitive.n_rows, np.int64))


def _single_items(chosen: NDArray[np.bool_]) -> ItemsetTable:
    """The itemsets of one item each."""
    codes = np.flatnonzero(chosen).astype(np.int32)
    return ItemsetTable(codes, np.arange(len(codes) + 1), np.zeros(len(codes), np.int64))


def _ranks(table: ItemsetTable) -> NDArray[np.int64]:
    """The place of each itemset by size, then by codes; equal ones have the same."""
    order = replace(table, supports=np.arange(len(table))).ordered().supports
    ranks = np.empty(len(table), np.int64)
    ranks[order] = np.arange(len(table))
    return ranks[first_equal_rows(table.codes, table.offsets)]
