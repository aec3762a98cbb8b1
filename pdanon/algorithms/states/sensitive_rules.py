"""Sensitive rules, from known labels of a row to a sensitive one, and their suppression."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Literal, TypeAlias

import numpy as np

from pdanon._kernels import conflicts, rules as kernels
from pdanon.algorithms.states.rules import too_many
from pdanon.errors import ParameterError
from pdanon.guarantees import RhoUncertainty
from pdanon.guarantees.rho import find_inferences
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import inverse_order, mask_at, offsets_of
from pdanon.itemsets.support import (
    MOST_ITEMSETS,
    ItemsetTable,
    SupportIndex,
    concatenate,
    no_itemsets,
    refuse_long_list,
    search_bound,
)
from pdanon.itemsets.threads import many_parts, search
from pdanon.itemsets.timing import Report, check_time, halt_flag
from pdanon.itemsets.validation import check_known

_ALWAYS = 2  # known labels; all rules up to this size are listed
_EASY = 10**7  # sets of labels that are searched in a few seconds


@frozen
class Demand:
    """The condition on rows of labels, and the labels that may be suppressed for it."""

    hidden: Mask  # sensitive labels
    share: Fraction  # maximum share, in (0, 1), of the rows with the known labels that have a sensitive one
    m: int | None  # maximum number of known labels; None: any number
    n_present: int  # rows that are not missing, the denominator of the share without known labels
    may_go: Mask  # labels that may be suppressed, including all sensitive ones


class Suppression:
    """Labels to suppress in all rows, so that no rule is breached."""

    # The label with the most rules for its loss comes first (ties: more rules, labels that are not sensitive,
    # their order). In the end, labels return if all listed rules with them have another suppressed label.

    def __init__(
        self, rows: SupportIndex, search: RuleSearch, demand: Demand, losses: Numbers, report: Report
    ) -> None:
        self._rows, self._demand, self._losses, self._report = rows, demand, losses, report
        self._known = [no_itemsets()]  # all rules listed so far: the labels of each
        self.kept = np.ones(rows.n_items, np.bool_)
        self.m = self._suppress(search, demand.may_go)
        while (restored := self._restore_labels()).any():
            # If all rules were searched, only rules with a restored label can be breached.
            first = restored if self.m == demand.m else None
            self.m = self._suppress(RuleSearch.of(self._publish(), demand, first), restored)

    @property
    def loss(self) -> int:
        """Loss of all suppressed labels."""
        return int(self._losses[~self.kept].sum())

    def _publish(self) -> SupportIndex:
        """Return the rows as they would be published."""
        return self._rows.keep_items(self.kept).distinct()

    def _suppress(self, search: RuleSearch, among: Mask) -> int | None:
        """Suppress some labels until a search lists no rule; return the proven size."""
        demand, size = self._demand, 0
        while demand.m is None or size <= demand.m:
            if size and search.longest <= size:
                return demand.m
            if demand.m is None and not search.is_feasible(size, _EASY):
                return self._prove(size - 1, among)
            rules = search.breached(size)
            if len(rules):
                self._remove_rules(rules, among)
                search = search.keep(self.kept)
            self._report(1)
            size += 1
        return demand.m

    def _prove(self, done: int, among: Mask) -> int | None:
        """Suppress labels of rules of any size, as they are found."""
        demand = self._demand
        while True:
            found, m = find_inferences(self._publish(), demand.hidden, demand.share, demand.n_present)
            if not len(found):
                return None if m is None else max(m, done)
            self._remove_rules(found.rules(), among)
            self._report(1)

    def _remove_rules(self, rules: ItemsetTable, among: Mask) -> None:
        """Suppress a label of each rule of published rows, one of ``among`` if the rule has any."""
        self._known.append(rules)
        hidden = self._demand.hidden
        self.kept[choose_labels(rules, among, hidden, self._losses)] = False
        # A search with a limit may miss rules and find them later, with no label in ``among``.
        is_met = np.diff(offsets_of(~self.kept[rules.codes])[rules.offsets]) > 0
        if not is_met.all():
            left = rules.take(~is_met)
            self.kept[choose_labels(left, self._demand.may_go, hidden, self._losses)] = False

    def _restore_labels(self) -> Mask:
        """Restore labels whose listed rules all have another suppressed label."""
        rules = concatenate(self._known)
        gone = np.flatnonzero(~self.kept)
        gone = gone[np.argsort(-self._losses[gone], kind="stable")]
        restored = mask_at(len(self.kept), kernels.restorable(rules.codes, rules.offsets, ~self.kept, gone))
        self.kept |= restored
        return restored


def least_suppression(
    rows: SupportIndex, demand: Demand, losses: Numbers, report: Report, also: Mask | None = None
) -> Suppression:
    """Return the best suppression: of any labels, of sensitive ones, or of sensitive ones with others."""
    wider = demand.hidden if also is None else demand.hidden | (also & demand.may_go)
    scopes: list[Mask] = []
    for scope in (demand.may_go, demand.hidden, wider):
        if not any(np.array_equal(scope, each) for each in scopes):
            scopes.append(scope)
    rows = rows.distinct()
    search = RuleSearch.of(rows, demand)  # it lists the first rules once for all scopes
    found: list[Suppression] = []
    for scope in scopes:
        if not found or not found[0].kept.all():  # otherwise there is nothing to suppress
            found.append(Suppression(rows, search, replace(demand, may_go=scope), losses, report))
    return min(found, key=lambda each: (proof_order(each.m), each.loss))


def proof_order(m: int | None) -> tuple[bool, int]:
    """Return a sort key of proofs: any number of known labels comes first, then larger numbers."""
    return m is not None, -(m or 0)


class RuleSearch:
    """Lists of the rules that are breached, by the number of known labels."""

    # The rows are distinct, and hold the ranks of labels; ``order`` has the label of each rank. The search is
    # fastest if labels with a low rank are rare. Rules with 1 or more known labels are listed if they have
    # one of the first ``n_first`` ranks.

    def __init__(self, rows: SupportIndex, order: Codes, n_first: int, demand: Demand) -> None:
        self._rows, self._order, self._n_first, self._demand = rows, order, n_first, demand
        self._is_hidden = demand.hidden[order]
        self._found: dict[int, ItemsetTable] = {}

    @classmethod
    def of(cls, rows: SupportIndex, demand: Demand, first: Mask | None = None) -> RuleSearch:
        """Search distinct rows for rules with one of some labels, by default all: rare labels first."""
        first = np.ones(rows.n_items, np.bool_) if first is None else first
        order = np.lexsort((rows.singles, ~first)).astype(np.int32)
        return cls(rows.recode(inverse_order(order), len(order)), order, int(first.sum()), demand)

    def keep(self, kept: Mask) -> RuleSearch:
        """Return the search of the rows without the other labels, which keep their ranks."""
        rows = self._rows.keep_items(kept[self._order]).distinct()
        return RuleSearch(rows, self._order, self._n_first, self._demand)

    @cached_property
    def _about(self) -> SupportIndex:
        """The sensitive labels of the rows."""
        return self._rows.keep_items(self._is_hidden)

    @cached_property
    def _lengths(self) -> Numbers:
        """Lengths of the rows with a sensitive label."""
        return self._rows.lengths[self._about.lengths > 0]

    @property
    def longest(self) -> int:
        """Number of labels of the longest row with a sensitive label."""
        return int(self._lengths.max(initial=0))

    def is_feasible(self, size: int, most: float) -> bool:
        """Return whether rules of a size are listed: up to two known labels, or if there are few sets."""
        return size <= _ALWAYS or search_bound(self._lengths, size) <= most

    def breached(self, size: int) -> ItemsetTable:
        """List the rules with this number of known labels that are breached."""
        # The known labels come before the sensitive one. Supports are not counted.
        if size not in self._found:
            self._found[size] = _rules(self._order[self._breached(size)])
        rules = self._found[size]
        refuse_long_list(rules)
        return rules

    def _breached(self, size: int) -> Codes:
        """List the rules with this number of known labels, one per line, as ranks."""
        rows, demand, is_hidden = self._rows, self._demand, self._is_hidden
        if size == 0:
            enough = too_many(rows.singles, demand.n_present, demand.share)
            return np.flatnonzero(is_hidden & enough).astype(np.int32)[:, None]
        found = self._search(size, 0, self._n_first, self._about)
        if self._n_first < rows.n_items and is_hidden[: self._n_first].any():  # with other known labels
            is_first = np.arange(rows.n_items) < self._n_first
            about = rows.keep_items(is_first & is_hidden)
            found += self._search(size, self._n_first, rows.n_items, about)
        return np.concatenate(found)

    def _search(self, size: int, begin: int, end: int, about: SupportIndex) -> list[Codes]:
        """List rules to labels of ``about`` whose first known label by rank is one of ``begin..end - 1``."""
        rows, share, room = self._rows, self._demand.share, np.array([MOST_ITEMSETS])
        parameters = share.numerator, share.denominator, size, room, halt_flag()

        def part(first: int, last: int) -> Codes:
            check_time()
            rules = kernels.SensitiveRules(rows.rows, about.codes, about.offsets, *parameters)
            return rules.beginning(begin + first, begin + last)

        starts = rows.transpose[0][begin : end + 1]
        parts = many_parts(starts - starts[0], 16)
        # Only the steps of a single part matter.
        return search(part, parts, rows.search_bound(size) if len(parts) == 1 else inf, limited=True)


def choose_labels(rules: ItemsetTable, among: Mask, hidden: Mask, losses: Numbers) -> Numbers:
    """Return labels that meet all rules, if each rule has some: the most rules for their loss first."""
    # Ties: more rules, labels that are not sensitive, their order.
    order = np.argsort(hidden, kind="stable")
    numbers = inverse_order(order.astype(np.int32))
    numbers[~among] = -1
    codes, offsets, starts, rules_of = kernels.invert(rules.codes, rules.offsets, numbers, len(order))
    losses = losses[order] // max(int(np.gcd.reduce(losses)), 1)
    most, largest = int(np.diff(starts).max(initial=0)), int(losses.max(initial=0))
    if most * largest >= 2**63:
        got, hint = f"{most:,} rules of a label, in up to {largest:,} rows", "choose a smaller m"
        raise ParameterError("there are too many rules to compare exactly", where="m", got=got, hint=hint)
    return order[conflicts.eliminate(codes, offsets, starts, rules_of, losses, True, True)]


def _rules(labels: Codes) -> ItemsetTable:
    """Return rules of equal size, one per line."""
    n_rules, width = labels.shape
    return ItemsetTable.listed(labels.ravel(), np.arange(n_rules + 1) * width)


# --- Conditions of the algorithms against inferences of sensitive items


Scope: TypeAlias = Literal["all", "sensitive"]


def demand_of(guarantee: RhoUncertainty, itemsets: Itemsets, hidden: Mask, scope: Scope) -> Demand:
    """Return the condition of a guarantee on rows of labels; missing rows may stay missing."""
    check_known(scope, ("all", "sensitive"), "scope", where="scope")
    may_go = hidden if scope == "sensitive" else np.ones_like(hidden)
    return Demand(hidden, guarantee.rho, guarantee.m, itemsets.n_present, may_go)


def with_proven_size(guarantee: RhoUncertainty, m: int | None) -> RhoUncertainty:
    """Return the guarantee for the proven number of known items."""
    return guarantee if guarantee.m == m else replace(guarantee, m=m)
