"""Rules that sets of items must respect: from known items to items that must not be inferred."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels.rules import Beside, rows_with_some
from pdanon.algorithms.states.clusters import Clusters
from pdanon.errors import ParameterError
from pdanon.guarantees import PSRules
from pdanon.guarantees.breaches import Breaches
from pdanon.guarantees.named import generalize_itemsets, named_items, unite_itemsets
from pdanon.guarantees.ps import AllRules
from pdanon.itemsets import row_loops
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import mask_at
from pdanon.itemsets.support import ItemsetTable, SupportIndex

Rows = NDArray[np.int32]


class ItemSet(NamedTuple):
    """Public items that are published as one set."""

    items: Codes
    rows: Rows  # rows with one of the items, ascending

    @property
    def label(self) -> int:
        """Label of the set: its smallest item."""
        return int(self.items.min())


@frozen
class EveryRule:
    """All rules from 1 to m public items to one sensitive item."""

    # Rules with a set are rules without it in the rows that contain it. So only these rows are counted: for
    # the set alone, and for up to m - 1 other items.

    index: SupportIndex
    known: Mask  # items that may be known
    is_sensitive: Mask  # items that must not be inferred
    m: int | None  # maximum number of known items; None: any number
    k: int  # minimum number of rows that match the known items
    share: Fraction  # maximum share of the matching rows with a sensitive item

    def holds(self, labels: Codes, one: ItemSet) -> bool:
        """Return whether all rules with an item of a set are respected."""
        # The labels are the set of each public item; -1 for other items.
        if not self.known[one.items].any():  # no rule has an item of the set
            return True
        # Sets and pairs first: a kernel checks them without a copy of the rows.
        if not self._pairs_hold(labels, one):
            return False
        if self.m is not None and self.m <= 2:
            return True
        # The label of the set itself is left out: all these rows contain it.
        near = self.index.within(one.rows)
        others = np.where(labels == one.label, -1, self._known_of(labels))
        known, secrets = near.recode(others, near.n_items), near.keep_items(self.is_sensitive)
        m = None if self.m is None else self.m - 1
        return not Breaches(known, secrets, self.share, m, self.k).rows_at_risk().any()

    def _pairs_hold(self, labels: Codes, one: ItemSet) -> bool:
        """Return whether the rules hold for a set alone, and for the set with one other."""
        beside = Beside(one.rows, labels, one.label, self.known, self.is_sensitive, self.index.rows)
        parameters = self.k, self.share.numerator, self.share.denominator
        return beside.is_protected(*parameters) and (
            self.m == 1 or beside.is_protected_with_others(*parameters)
        )

    def breached(self, labels: Codes) -> ItemsetTable:
        """List the minimal known itemsets with support at least k that breach a rule, as sets; each once."""
        known = self.index.recode(self._known_of(labels), self.index.n_items)
        secrets = self.index.keep_items(self.is_sensitive)
        return Breaches(known, secrets, self.share, self.m, self.k).breaches()

    def _known_of(self, labels: Codes) -> Codes:
        """Return the labels without sets that have no known item."""
        of_known = mask_at(len(labels), labels[self.known])
        return np.where(of_known[labels], labels, -1)

    def hide(self, clusters: Clusters, labels: Codes) -> None:
        """Merge clusters until no known itemset is rare; ``labels`` has the set of each item."""
        clusters.satisfy_km(self.k, self.m)

    def inferred(self) -> ItemsetTable:
        """List the itemsets that must not be inferred, by item, without supports."""
        codes = np.flatnonzero(self.is_sensitive).astype(np.int32)
        return ItemsetTable.listed(codes, np.arange(len(codes) + 1))

    def without(self, suppressed: Mask) -> EveryRule:
        """Return the same rules after some sensitive items were suppressed in all rows."""
        return replace(self, is_sensitive=self.is_sensitive & ~suppressed)


@frozen
class ListedRules:
    """Rules that are listed one by one."""

    # Only rules with an item of the requested sets are checked, in the rows that contain the set. Equal
    # generalized antecedents, or rules, are counted once.

    index: SupportIndex
    is_sensitive: Mask
    antecedents: SupportIndex  # distinct itemsets of known items, as rows
    rules: SupportIndex  # all items of each rule, known and sensitive
    of_rule: Codes  # antecedent of each rule, ascending
    k: int  # minimum number of rows that match the known items
    share: Fraction  # maximum share of the matching rows with the sensitive items of a rule

    @property
    def known(self) -> Mask:
        """Mask of the items that an attacker may know by some rule."""
        return self.antecedents.singles > 0

    def holds(self, labels: Codes, one: ItemSet) -> bool:
        """Return whether all rules with an item of a set are respected; see `EveryRule.holds`."""
        touched = rows_of(self.antecedents, one.items)
        targets = np.where(self.is_sensitive, np.arange(len(labels)), labels)
        near = self.index.within(one.rows).recode(targets, self.index.n_items)
        supports = _supports(self.antecedents.within(touched), targets, near)
        if ((supports > 0) & (supports < self.k)).any():
            return False
        found = np.zeros(len(self.antecedents.weights), np.int64)
        found[touched] = supports
        rules = self._rules_of(touched[supports > 0])
        both = _supports(self.rules.within(rules), targets, near)
        return not too_many(both, found[self.of_rule[rules]], self.share).any()

    def _rules_of(self, antecedents: Rows) -> NDArray[np.intp]:
        """Return the rules with some antecedents."""
        chosen = mask_at(len(self.antecedents.weights), antecedents)
        return np.flatnonzero(chosen[self.of_rule])

    def breached(self, labels: Codes) -> ItemsetTable:
        """List the generalized antecedents of breached rules, each once, in the order of antecedents."""
        targets = np.where(self.is_sensitive, np.arange(len(labels)), labels)
        rows = self.index.recode(targets, self.index.n_items)
        images = self.antecedents.recode(targets, rows.n_items)
        supports = _supports(self.antecedents, targets, rows)
        both = _supports(self.rules, targets, rows)
        broken = np.unique(self.of_rule[too_many(both, supports[self.of_rule], self.share)])
        # Generalized antecedents may be equal: list the first of each.
        first = row_loops.first_equal_rows(images.codes, images.offsets)[broken]
        one_of_each = np.sort(np.unique(first, return_index=True)[1])
        return ItemsetTable(images.codes, images.offsets, supports).take(broken[one_of_each])

    def hide(self, clusters: Clusters, labels: Codes) -> None:
        """Merge clusters until no known itemset is rare; ``labels`` has the set of each item."""
        known = self.antecedents.recode(labels, len(labels))
        clusters.satisfy(ItemsetTable(known.codes, known.offsets, known.weights), self.k)

    def inferred(self) -> ItemsetTable:
        """List the itemsets that must not be inferred, by size and item, without supports."""
        sets = self.rules.keep_items(self.is_sensitive).distinct()
        return ItemsetTable.listed(sets.codes, sets.offsets).ordered()

    def without(self, suppressed: Mask) -> ListedRules:
        """Return the rules without suppressed items; all antecedents still need k rows."""
        kept = ~mask_at(len(self.of_rule), rows_of(self.rules, np.flatnonzero(suppressed)))
        return replace(self, rules=self.rules.within(kept), of_rule=self.of_rule[kept])


# Rules with their k and their maximum share.
RuleCheck: TypeAlias = EveryRule | ListedRules


def rules_of(guarantee: PSRules, itemsets: Itemsets) -> RuleCheck:
    """Return the rules in the codes of the data, or raise `ParameterError` if an item does not occur."""
    index, rules = SupportIndex.of(itemsets).distinct(), guarantee.rules
    if isinstance(rules, AllRules):
        sensitive = named_items(itemsets, rules.sensitive)
        known = ~sensitive if rules.public is None else named_items(itemsets, rules.public)
        if not known.any():
            hint = "leave the items that may be known out of sensitive"
            raise ParameterError("all items are sensitive", where="rules", got="no public item", hint=hint)
        return EveryRule(index, known, sensitive, rules.m, guarantee.k, guarantee.c)
    distinct, of_rule = rules.antecedents()
    order = np.argsort(of_rule, kind="stable")
    antecedents = generalize_itemsets(distinct, itemsets, None, "rule")
    inferred = generalize_itemsets(rules.sensitive, itemsets, None, "rule").take(order)
    whole = unite_itemsets(antecedents.take(of_rule[order]), inferred, itemsets.n_items)
    return ListedRules(
        index,
        named_items(itemsets, guarantee.sensitive),
        SupportIndex(antecedents.codes, antecedents.offsets, itemsets.n_items),
        SupportIndex(whole.codes, whole.offsets, itemsets.n_items),
        of_rule[order].astype(np.int32),
        guarantee.k,
        guarantee.c,
    )


def rows_of(index: SupportIndex, items: NDArray[Any]) -> Rows:
    """Return the rows with one of some items, ascending."""
    return rows_with_some(items.astype(np.int32), index.rows)


def too_many(secrets: Numbers, supports: Any, share: Fraction) -> Mask:
    """Return whether sensitive items are in more than a share of the rows with the known ones."""
    # The products fit 64 bits: supports and the denominator of a checked share are below 2**31.
    return secrets * share.denominator > share.numerator * supports


def _supports(itemsets: SupportIndex, targets: Codes, rows: SupportIndex) -> Numbers:
    """Count the rows with each generalized itemset; equal ones are counted once."""
    images = itemsets.recode(targets, rows.n_items)
    numbers, distinct = images.number_rows()
    return rows.supports(distinct.codes, distinct.offsets)[numbers]
