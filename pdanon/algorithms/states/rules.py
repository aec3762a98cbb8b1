"""Rules that sets of items must respect: from known items to items that must not be inferred."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels.rules import Beside
from pdanon.algorithms.states.clusters import Clusters
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import PSRules
from pdanon.guarantees.breaches import Breaches
from pdanon.guarantees.named import generalize_itemsets, named_items, unite_itemsets
from pdanon.guarantees.ps import AllRules
from pdanon.itemsets import row_loops
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import mask_at, rows_of as row_numbers, sums, take_rows
from pdanon.itemsets.support import ItemsetTable, SupportIndex


class ItemSet(NamedTuple):
    """Public items that are published as one set."""

    items: Codes
    rows: Codes  # rows with one of the items, ascending

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
        beside = Beside(one.rows, labels, one.label, self.known, self.is_sensitive, self.index.rows)
        parameters = self.k, self.share.numerator, self.share.denominator
        if not beside.is_protected(*parameters):
            return False
        if self.m != 1 and not beside.is_protected_with_others(*parameters):
            return False
        if self.m is not None and self.m <= 2:
            return True
        # The label of the set itself is left out: all these rows contain it.
        near = self.index.within(one.rows)
        others = np.where(labels == one.label, -1, self._known_of(labels))
        known, secrets = near.recode(others, near.n_items), near.keep_items(self.is_sensitive)
        m = None if self.m is None else self.m - 1
        return not Breaches(known, secrets, self.share, m, self.k).rows_at_risk().any()

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
        occurring = mask_at(len(found), touched[supports > 0])
        rules = np.flatnonzero(occurring[self.of_rule])
        both = _supports(self.rules.within(rules), targets, near)
        return not too_many(both, found[self.of_rule[rules]], self.share).any()

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
        return images.table(supports).take(broken[one_of_each])

    def hide(self, clusters: Clusters, labels: Codes) -> None:
        """Merge clusters until no known itemset is rare; ``labels`` has the set of each item."""
        known = self.antecedents.recode(labels, len(labels))
        clusters.satisfy(known.table(known.weights), self.k)

    def inferred(self) -> ItemsetTable:
        """List the itemsets that must not be inferred, by size and item; supports do not count."""
        sets = self.rules.keep_items(self.is_sensitive).distinct()
        return sets.table(sets.weights).ordered()

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


def rows_of(index: SupportIndex, items: NDArray[Any]) -> Codes:
    """Return the rows with one of some items, ascending."""
    starts, tids, _ = index.transpose
    holders, _ = take_rows(tids, starts, items)
    return np.flatnonzero(mask_at(len(index.weights), holders)).astype(np.int32)


def too_many(secrets: Numbers, supports: Any, share: Fraction) -> Mask:
    """Return whether sensitive items are in more than a share of the rows with the known ones."""
    # The products fit 64 bits: supports and the denominator of a checked share are below 2**31.
    return secrets * share.denominator > share.numerator * supports


def _supports(itemsets: SupportIndex, targets: Codes, rows: SupportIndex) -> Numbers:
    """Count the rows with each generalized itemset; equal ones are counted once."""
    images = itemsets.recode(targets, rows.n_items)
    numbers, distinct = images.number_rows()
    return rows.supports(distinct.codes, distinct.offsets)[numbers]


# --- Diversity: sets of known items are merged and suppressed until no sensitive item can be inferred


def check_diverse(known: SupportIndex, secrets: SupportIndex, diversity: int, n_present: int) -> None:
    """Check that l can hold for all rows that are not missing, and for the rows with known items."""
    if not len(known.codes):
        hint = "leave out of sensitive the items that an attacker may know"
        raise ParameterError("all items are sensitive", where="sensitive", hint=hint)
    beside = secrets.within(known.lengths > 0)
    most_in = (int(rows.singles.max(initial=0)) for rows in (secrets, beside))
    shares = [*zip(most_in, (n_present, beside.n_rows), strict=True)]
    # The largest l that holds for both sets of rows.
    largest = min(n_rows // most for most, n_rows in shares if most)
    for (most, n_rows), what in zip(
        shares, ("rows that are not missing", "rows that contain other items"), strict=True
    ):
        if most * diversity > n_rows:
            raise InfeasibleError(
                "a sensitive item is in more than 1/l of the rows",
                where="sensitive",
                got=f"l={diversity}, an item in {most} of {n_rows} {what}",
                hint=f"the largest l that works is {largest}" if largest > 1 else "leave it out of the table",
            )


class DiverseSets:
    """Sets of the known items of some rows, and the sensitive items of the same rows."""

    # Merging sets and suppressing one lower no support, so k^m-anonymity is kept.

    def __init__(
        self,
        known: SupportIndex,
        secrets: SupportIndex,
        labels: Codes,  # k^m-anonymous set of each known item; -1 if suppressed or sensitive
        kinds: Numbers,  # block of each item; only sets of the same block are merged
        diversity: int,  # at most one in so many of the rows with some sets may have a sensitive item
        domain: int,  # loss of a suppressed occurrence: the number of items of the table
        spare: int | None = None,  # upper bound on the number of suppressed items
    ) -> None:
        self.labels, self._known, self._secrets = labels.copy(), known, secrets
        self._diversity, self._domain, self._spare = diversity, domain, spare
        kept = labels >= 0
        n_sets = int(labels.max(initial=-1)) + 1
        self._size = np.bincount(labels[kept], minlength=n_sets)
        self._held = sums(labels[kept], known.singles[kept], n_sets)
        self._kind = np.zeros(n_sets, np.int64)
        self._kind[labels[kept]] = kinds[kept]
        self._rows = _table(known.recode(labels, max(n_sets, 1)), n_sets)
        self._weights = known.weights
        # As integers, so that a matrix product counts the rows that sets share with a sensitive item.
        self._secret = secrets.lengths > 0
        incidence = _table(secrets.within(self._secret), secrets.n_items)[secrets.singles > 0]
        self._incidence = incidence.T * self._weights[self._secret, None]

    def protect(self, k: int, m: int | None) -> None:
        """Merge and suppress until up to m sets reveal each sensitive item of few enough of their rows."""
        while True:
            rows = self._known.recode(self.labels, max(len(self._size), 1))
            found = Breaches(rows, self._secrets, Fraction(1, self._diversity), m, k).breaches().sets()
            if not found:
                return
            now = np.arange(len(self._size))
            for sets in found:
                self._repair(np.unique([now[each] for each in sets if now[each] >= 0]), now)

    def _repair(self, image: Numbers, now: Numbers) -> None:
        """Apply the step with the lowest loss, if some sets together still reveal a sensitive item."""
        if not len(image):
            return
        matches: Mask = np.logical_and.reduce(self._rows[image], axis=0)
        if not self._reveals(matches[None, matches], matches)[0]:
            return
        one, other = self._choose(image)
        self.labels[self.labels == one] = now[now == one] = other
        if other >= 0:
            self._rows[other] |= self._rows[one]
            self._size[other] += self._size[one]
            self._held[other] += self._held[one]
        self._rows[one], self._size[one], self._held[one] = False, 0, 0

    def _choose(self, image: Numbers) -> tuple[int, int]:
        """Return the set of the next step, and the one to merge it with; -1 to suppress it."""
        steps = [step for one in image.tolist() for step in self._steps(one, image)]
        if self._spare is not None:
            fit = [step for step in steps if step[2] >= 0]
            steps = fit or [step for one in image.tolist() for step in self._merges(one, self._partners(one))]
        if steps:
            _, one, other = min(steps, key=lambda step: step[0])
            return one, other
        one = min(image.tolist(), key=lambda each: (self._held[each], self._size[each], each))
        assert self._spare is not None
        if self._size[one] > self._spare:
            raise InfeasibleError(
                "sets of a block reveal a sensitive item, and max_suppressed does not allow to suppress them",
                where="l",
                got=f"l={self._diversity}, {self._size[one]} items to suppress, {self._spare} allowed",
                hint="pass a larger max_suppressed",
            )
        self._spare -= int(self._size[one])
        return one, -1

    def _partners(self, one: int) -> Numbers:
        """Return the other sets of the block of a set."""
        fit = (self._size > 0) & (self._kind == self._kind[one])
        fit[one] = False
        return np.flatnonzero(fit)

    def _merges(self, one: int, others: Numbers) -> list[tuple[int, int, int]]:
        """Return the merge of a set with the lowest loss, if there are others: loss, set, other."""
        if not len(others):
            return []
        size, held = self._size[others], self._held[others]
        lost = self._price(size + self._size[one], held + self._held[one]) - self._price(size, held)
        best = int(np.argmin(lost))
        own = int(self._price(self._size[one], self._held[one]))
        return [(int(lost[best]) - own, one, int(others[best]))]

    def _steps(self, one: int, image: Numbers) -> list[tuple[int, int, int]]:
        """Return the steps for a set after which these sets reveal nothing: loss, set, set to merge with."""
        # The best merge comes first, if one is possible. Then comes suppression, with -1 instead of a set.
        beside: Mask = np.logical_and.reduce(self._rows[image[image != one]], axis=0)
        together = self._rows[:, beside] | self._rows[one, beside]
        fit = ~self._reveals(together, beside) & (self._size > 0) & (self._kind == self._kind[one])
        fit[image] = False
        own = int(self._price(self._size[one], self._held[one]))
        suppression = (self._domain * int(self._held[one]) - own, one, -1)
        return [*self._merges(one, np.flatnonzero(fit)), suppression]

    def _reveals(self, matches: Mask, of: Mask) -> Mask:
        """Return whether a sensitive item is in too many of the rows of each line."""
        secret, weights = self._secret[of], self._weights[of]
        shared = matches[:, secret].astype(np.int64) @ self._incidence[of[self._secret]]
        n_rows = matches.sum(axis=1) if (weights == 1).all() else matches.astype(np.int64) @ weights
        revealed: Mask = np.logical_or.reduce(shared * self._diversity > n_rows[:, None], axis=1)
        return revealed

    @staticmethod
    def _price(size: Numbers, held: Numbers) -> Numbers:
        """Return the NCP of sets, times the number of items of the table."""
        return np.where(size > 1, size * held, 0)


def _table(index: SupportIndex, n_items: int) -> Mask:
    """Return for each item which rows have it."""
    table = np.zeros((n_items, len(index.weights)), np.bool_)
    table[index.codes, row_numbers(index.offsets)] = True
    return table
