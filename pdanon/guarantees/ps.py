"""PS-rules: for listed background knowledge, k rows match, and sensitive items are not inferred.

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
from pdanon.guarantees.generalized_itemsets import UNKNOWN, generalize_itemsets, label_codes, unite_itemsets
from pdanon.guarantees.named import MappedItems, NamedItems, named_items, refuse_ambiguous, refuse_members
from pdanon.guarantees.parameters import check_k, check_open_share, format_share
from pdanon.guarantees.rules import AllRules, Rules, read_rules
from pdanon.guarantees.verdict import Audit, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets, canonical_rows
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.mapping import mapping_values
from pdanon.itemsets.multisets import first_copies, read_visible
from pdanon.itemsets.row_loops import first_equal_rows
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, empty_itemset, empty_itemsets

_UNMAPPED = "pass the mapping, which has the labels of known items: guarantee.with_mapping(mapping)"
_AT_A_TIME = 10**6  # rules


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PSRules:
    """The known items of a rule match no row or at least k; at most a share c have its sensitive items.

    Precisely: for a rule from known items I to sensitive items J, take the rows that contain the published
    form of I. There is no such row, or there are at least k, and at most a share c of them contain all of J.

    Parameters
    ----------
    rules : iterable of pairs, DataFrame, path, Rules or AllRules
        Pairs of lists of original items, known and sensitive; a DataFrame with the list columns ``known`` and
        ``sensitive``; a ``.parquet`` file with these columns, or a ``.csv`` file with these columns and ``;``
        as the separator of items. Or all rules of a size: a value of `pdanon.constraints.ps_rules`, a
        mapping with the keys ``m`` and ``sensitive``, or a ``.toml`` file with these keys.
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    c : float
        Maximum share of the sensitive items in these rows, above 0 and below 1.
    mapping : pandas.DataFrame, optional
        The mapping of the release. Without it, the audited frame must contain the items of the rules.

    Raises
    ------
    ParameterError
        If a parameter is out of range, there is no rule, a side of a rule is empty, an item is known and
        sensitive, or the mapping generalizes a sensitive item or gives its label to another item.
    ItemsetDtypeError
        If a side of a rule is not list-like, or its items are of several types.

    Notes
    -----
    A share is read as the fraction that its digits denote, so that all comparisons are exact.

    A rule covers attackers who know exactly its known items; it does not cover fewer, more or other items. An
    attacker without any knowledge learns the support of J. No rule covers this case, unless all known items
    of the rule are suppressed; missing rows do not count then.

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
    >>> audit = df.txanon.audit(pdanon.PSRules(rules=rules, k=2, c=0.6))
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
        hint = "pass the maximum share of the sensitive items in the matching rows, such as c=0.5"
        object.__setattr__(self, "c", check_open_share(self.c, "c", hint))
        MappedItems.of(self.mapping, self.sensitive, "sensitive")  # raises if a sensitive item is generalized

    @property
    def sensitive(self) -> NamedItems:
        """The sensitive items of the rules."""
        return self.rules.sensitive_items

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            A released frame, if ``mapping`` is given; otherwise an original frame.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` lists the published form of the known items of broken rules. If ``why`` is ``rare``,
            too few rows match, and ``sensitive`` is empty. If ``why`` is ``breach``, too many of the matching
            rows contain the items in ``sensitive``. For ``AllRules``, only minimal threats are listed.

        Raises
        ------
        ParameterError
            If an item of a rule is neither in the mapping nor, without a mapping, in the frame, because a
            support of 0 would prove nothing; if a sensitive item is a member of a published set; or if,
            without a mapping, two published sets in a row share a member.

        Notes
        -----
        Exact. Each listed rule costs the support of its rarest item. For ``AllRules``, time grows with the
        number of itemsets of fewer than m labels that more than ck rows with the same sensitive item contain,
        and with the number of items that extend each itemset.
        """
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=read_visible))

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        published = columns.itemsets
        mapping = MappedItems.of(self.mapping, self.sensitive, "sensitive")
        refuse_ambiguous(published, self.sensitive, "sensitive", mapping)
        if self.mapping is None:
            refuse_members(published, self.rules.known_items, "known", None, _UNMAPPED)
        is_sensitive = named_items(published, self.sensitive, "sensitive", mapping)
        if isinstance(self.rules, AllRules):
            return self._recount_all(published, is_sensitive, self.rules)
        return self._recount_listed(published, self.rules)

    def _recount_listed(self, published: Itemsets, rules: Rules) -> Audit:
        antecedents, numbers = rules.antecedents()
        known = generalize_itemsets(antecedents, published, self.mapping, "rule")
        # The additional last item is in no row: it stands for labels that no row contains.
        rows = SupportIndex(published.codes, published.offsets, published.n_items + 1, published.weights)
        supports = rows.supports(known.codes, known.offsets)
        # If all known items are suppressed, the row of the person is any row that is not missing.
        supports[np.diff(known.offsets) == 0] = published.n_present
        known = replace(known, supports=supports)
        broken = self._find_broken(rows, known, numbers, _sensitive_table(rules.sensitive, published))
        return self._verdict(published, broken)

    def _verdict(self, published: Itemsets, broken: _Broken) -> Audit:
        """Return the audit with the broken rules."""
        at_risk = published.n_present
        if (np.diff(broken.known.offsets) > 0).all():
            at_risk = SupportIndex.of(published).rows_holding(broken.known)
        return Audit(self, at_risk, lambda: broken.table(published))

    def _recount_all(self, published: Itemsets, is_sensitive: NDArray[np.bool_], rules: AllRules) -> Audit:
        is_known, some_are_suppressed = self._known_labels(published, is_sensitive, rules)
        rows = SupportIndex.of(published)
        codes = np.flatnonzero(is_sensitive).astype(np.int32)
        each = ItemsetTable(codes, np.arange(len(codes) + 1), np.zeros(len(codes), np.int64))
        if some_are_suppressed:  # rules from suppressed items only have an empty known itemset
            nothing = empty_itemset(published.n_present)
            broken = self._find_broken(rows, nothing, np.zeros(len(each), np.int64), each)
            if len(broken.known):
                return self._verdict(published, broken)
        known, secrets = rows.keep_items(is_known), rows.keep_items(is_sensitive)
        bounds: Any = {"share": self.c, "m": rules.m, "k": self.k}

        def list_threats() -> pd.DataFrame:
            return self._find_broken_pairs(threats(known, secrets, **bounds), rows, each).table(published)

        at_risk = rows_at_risk(known, secrets, **bounds)
        return Audit(self, int(rows.weights[at_risk].sum()), list_threats)

    def _known_labels(
        self, published: Itemsets, is_sensitive: NDArray[np.bool_], rules: AllRules
    ) -> tuple[NDArray[np.bool_], bool]:
        """Return whether each label stands for public items, and whether some public items are suppressed."""
        if rules.public is None and self.mapping is None:
            return ~is_sensitive, False
        if rules.public is not None:
            public = rules.public.values
        else:
            items = mapping_values(self.mapping, "item")  # type: ignore[arg-type]
            public = items.filter(pa.array(self.sensitive.find(items) < 0))
        codes = label_codes(public, published, self.mapping)
        if (unknown := int((codes == UNKNOWN).sum())) > 0:
            problem = "a public item does not occur in the data"
            hint = "check the spelling and type of the items; of a release, pass the mapping"
            raise ParameterError(problem, where="rules", got=f"{unknown} of {len(public)} items", hint=hint)
        is_known = np.zeros(published.n_items + 1, np.bool_)
        is_known[codes[codes >= 0]] = True
        return is_known[first_copies(published.vocabulary)], bool((codes < 0).any())

    def _find_broken(
        self, rows: SupportIndex, known: ItemsetTable, numbers: NDArray[np.int64], inferred: ItemsetTable
    ) -> _Broken:
        """Find the known itemsets in too few rows, and the rules with a confidence above c.

        Parameters
        ----------
        rows : SupportIndex
            The rows.
        known : ItemsetTable
            Known itemsets with their supports.
        numbers : ndarray of int64, shape (rules,)
            Position of the known itemset of each rule.
        inferred : ItemsetTable
            The sensitive itemset of each rule.
        """
        rare = known.take((known.supports > 0) & (known.supports < self.k))
        of_rules = known.take(numbers)
        both = unite_itemsets(of_rules, inferred, rows.n_items)
        supports = rows.supports(both.codes, both.offsets)
        sure = supports * self.c.denominator > self.c.numerator * of_rules.supports
        nothing = empty_itemsets(rare.supports)
        return _Broken(concatenate([rare, of_rules.take(sure)]), concatenate([nothing, inferred.take(sure)]))

    def _find_broken_pairs(self, known: ItemsetTable, rows: SupportIndex, each: ItemsetTable) -> _Broken:
        """Find the broken rules from each known itemset to each sensitive item, in parts."""
        step = max(_AT_A_TIME // max(len(each), 1), 1)
        bounds = range(step, len(known), step)
        parts = [known.take(numbers) for numbers in np.split(np.arange(len(known)), bounds)]
        found = []
        for part in parts:
            numbers, items = np.divmod(np.arange(len(part) * len(each)), len(each))
            found.append(self._find_broken(rows, part, numbers, each.take(items)))
        inferred = concatenate([broken.inferred for broken in found])
        return _Broken(concatenate([broken.known for broken in found]), inferred)

    def with_mapping(self, mapping: pd.DataFrame) -> PSRules:
        """Return the rules for a release with this mapping."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        rules = len(self.rules) if isinstance(self.rules, Rules) else self.rules
        return f"PSRules(rules={rules}, k={self.k}, c={format_share(self.c)})"


@dataclass(frozen=True, eq=False, slots=True)
class _Broken:
    """Broken rules in their published form; ``inferred`` is empty if too few rows match the known items."""

    known: ItemsetTable
    inferred: ItemsetTable

    def table(self, published: Itemsets) -> pd.DataFrame:
        """Return the distinct rules as a DataFrame, ordered by known itemset, then by inferred items."""
        ranks = _ranks(self.known) * (len(self.known) + 1) + _ranks(self.inferred)
        order = np.unique(ranks, return_index=True)[1]
        known, inferred = self.known.take(order), self.inferred.take(order)
        why = np.where(np.diff(inferred.offsets) == 0, "rare", "breach")
        table = threat_table(published, known, why)
        nulls = np.zeros(len(inferred), np.bool_)
        sets = Itemsets(inferred.codes, inferred.offsets, published.vocabulary, nulls)
        table.insert(1, "sensitive", pd.Series(sets.to_pandas()))
        return table


def _sensitive_table(sensitive: Itemsets, published: Itemsets) -> ItemsetTable:
    """Encode the sensitive items of each rule; a suppressed item gets the additional last code."""
    codes = published.lookup(sensitive.vocabulary)
    codes[codes < 0] = published.n_items
    rows = canonical_rows(codes[sensitive.codes], sensitive.offsets, published.n_items + 1)
    return ItemsetTable(*rows, np.zeros(sensitive.n_rows, np.int64))


def _ranks(table: ItemsetTable) -> NDArray[np.int64]:
    """Return the rank of each itemset by size, then by codes; equal itemsets have equal ranks."""
    order = replace(table, supports=np.arange(len(table))).ordered().supports
    ranks = np.empty(len(table), np.int64)
    ranks[order] = np.arange(len(table))
    return ranks[first_equal_rows(table.codes, table.offsets)]
