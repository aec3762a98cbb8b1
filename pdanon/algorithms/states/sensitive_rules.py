"""Sensitive rules, from known labels of a row to a sensitive one, and their suppression.

A rule is breached if more than a share of the rows with the known labels have the sensitive one. Suppressing
a label in all rows removes the rules with it, and changes no other rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from pdanon._kernels import breaches
from pdanon._kernels import rules as rules_kernels
from pdanon.errors import ParameterError
from pdanon.guarantees import RhoUncertainty
from pdanon.guarantees.rho import find_inferences
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.row_loops import transpose
from pdanon.itemsets.support import SupportIndex, search_bound
from pdanon.itemsets.table import MOST_ITEMSETS, ItemsetTable, concatenate, no_itemsets, refuse_long_list
from pdanon.itemsets.threads import many_parts, search
from pdanon.itemsets.timing import Report, check_time, halt_flag
from pdanon.itemsets.validation import check_known

_ALWAYS = 2  # known labels; all rules up to this size are listed
_EASY = 10**7  # sets of labels that are searched in a few seconds


@dataclass(frozen=True, eq=False, slots=True)
class Demand:
    """The condition on rows of labels, and the labels that may be suppressed for it.

    Parameters
    ----------
    hidden : ndarray of bool, shape (labels,)
        Mask of the sensitive labels.
    share : Fraction
        Maximum share, in (0, 1), of the rows with the known labels that have a sensitive one.
    m : int or None
        Maximum number of known labels; None: any number.
    n_present : int
        Number of rows that are not missing, the denominator of the share without known labels.
    may_go : ndarray of bool, shape (labels,)
        Mask of the labels that may be suppressed, including all sensitive ones.
    """

    hidden: Mask
    share: Fraction
    m: int | None
    n_present: int
    may_go: Mask


class Suppression:
    """Labels to suppress in all rows, so that no rule is breached.

    Rules among the labels kept so far are listed by the number of known labels. The label with the most rules
    for its loss is suppressed, repeatedly. Ties: more rules, labels that are not sensitive, their order. In
    the end, a label is restored if all listed rules with it have another suppressed label, the largest loss
    first. Restored labels can breach new rules; then one of them is suppressed again for each such rule.

    Parameters
    ----------
    rows : SupportIndex
        Rows of labels.
    demand : Demand
        The condition.
    losses : ndarray of int64, shape (labels,)
        Loss of suppressing each label.
    report : callable
        Called with the number of steps.

    Attributes
    ----------
    kept : ndarray of bool, shape (labels,)
        Mask of the labels that are not suppressed.
    m : int or None
        Number of known labels up to which no rule is breached; None: any number.
    """

    def __init__(self, rows: SupportIndex, demand: Demand, losses: Numbers, report: Report) -> None:
        self._rows, self._demand, self._losses, self._report = rows.distinct(), demand, losses, report
        self._known = [no_itemsets()]  # all rules listed so far: the labels of each
        self.kept = np.ones(rows.n_items, np.bool_)
        self.m = self._suppress(demand.may_go)
        while (restored := self._restore_labels()).any():
            # If all rules were searched, only rules with a restored label can be breached.
            self.m = self._suppress(restored, restored if self.m == demand.m else None)

    @property
    def loss(self) -> int:
        """Loss of all suppressed labels."""
        return int(self._losses[~self.kept].sum())

    def _publish(self, rows: SupportIndex) -> SupportIndex:
        """Return rows as they would be published."""
        return rows.keep_items(self.kept).distinct()

    def _suppress(self, among: Mask, first: Mask | None = None) -> int | None:
        """Suppress some labels until no rule with one of ``first`` is breached; return the proven size."""
        demand, size = self._demand, 0
        search = RuleSearch(self._publish(self._rows), demand, first)
        while demand.m is None or size <= demand.m:
            if size and search.longest <= size:
                return demand.m
            if demand.m is None and not search.is_feasible(size, _EASY):
                return self._prove(size - 1, among)
            rules = search.breached(size)
            if len(rules):
                self._remove_rules(rules, among)
                search = RuleSearch(self._publish(search.rows), demand, first)
            self._report(1)
            size += 1
        return demand.m

    def _prove(self, done: int, among: Mask) -> int | None:
        """Suppress labels of rules of any size, as they are found."""
        demand = self._demand
        while True:
            rows = self._publish(self._rows)
            found, m = find_inferences(rows, demand.hidden, demand.share, demand.n_present)
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
        left = rules.take(self._count_suppressed(rules) == 0)
        if len(left):
            self.kept[choose_labels(left, self._demand.may_go, hidden, self._losses)] = False

    def _count_suppressed(self, rules: ItemsetTable) -> Numbers:
        """Count the suppressed labels of each rule."""
        return np.add.reduceat(~self.kept[rules.codes], rules.offsets[:-1], dtype=np.int64)

    def _restore_labels(self) -> Mask:
        """Restore labels whose listed rules all have another suppressed label."""
        rules = concatenate(self._known)
        gone = np.flatnonzero(~self.kept)
        gone = gone[np.argsort(-self._losses[gone], kind="stable")]
        starts, sets_of, _ = transpose(rules.codes, rules.offsets, len(self.kept))
        restored = np.zeros(len(self.kept), np.bool_)
        restored[rules_kernels.restorable(starts, sets_of, gone, self._count_suppressed(rules))] = True
        self.kept |= restored
        return restored


def least_suppression(
    rows: SupportIndex, demand: Demand, losses: Numbers, report: Report, also: Mask | None = None
) -> Suppression:
    """Return the best suppression: of any labels, of sensitive ones alone, or of sensitive ones with others.

    A proof for more known labels is better, then a lower loss, then the first.
    """
    wider = demand.hidden if also is None else demand.hidden | (also & demand.may_go)
    scopes: list[Mask] = []
    for scope in (demand.may_go, demand.hidden, wider):
        if not any(np.array_equal(scope, each) for each in scopes):
            scopes.append(scope)
    found: list[Suppression] = []
    for scope in scopes:
        if not found or not found[0].kept.all():  # otherwise there is nothing to suppress
            found.append(Suppression(rows, replace(demand, may_go=scope), losses, report))
    return min(found, key=lambda each: (proof_order(each.m), each.loss))


def proof_order(m: int | None) -> tuple[bool, int]:
    """Return a sort key of proofs: any number of known labels comes first, then larger numbers."""
    return m is not None, -(m or 0)


class RuleSearch:
    """Lists of the rules that are breached, by the number of known labels.

    Parameters
    ----------
    rows : SupportIndex
        Rows of labels.
    demand : Demand
        The condition.
    first : ndarray of bool, shape (labels,), optional
        Labels; rules with 1 or more known labels are listed if they have one among them. By default all.
    """

    def __init__(self, rows: SupportIndex, demand: Demand, first: Mask | None = None) -> None:
        self.rows, self._demand = rows, demand
        self._first = np.ones(rows.n_items, np.bool_) if first is None else first

    @cached_property
    def _ranked(self) -> tuple[Codes, SupportIndex]:
        """Labels by rank, and the rows of ranks: rare labels first, so that prefixes have few rows."""
        order = np.lexsort((self.rows.singles, ~self._first)).astype(np.int32)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return order, self.rows.recode(rank, len(order))

    @cached_property
    def _about(self) -> SupportIndex:
        """The sensitive labels of the ranked rows."""
        order, ranked = self._ranked
        return ranked.keep_items(self._demand.hidden[order])

    @cached_property
    def _lengths(self) -> Numbers:
        """Lengths of the rows with a sensitive label."""
        return np.diff(self.rows.offsets)[np.diff(self._about.offsets) > 0]

    @property
    def longest(self) -> int:
        """Number of labels of the longest row with a sensitive label."""
        return int(self._lengths.max(initial=0))

    def is_feasible(self, size: int, most: float) -> bool:
        """Return whether rules of a size are listed: up to two known labels, or if there are few sets."""
        return size <= _ALWAYS or search_bound(self._lengths, size) <= most

    def breached(self, size: int) -> ItemsetTable:
        """List the rules with this number of known labels that are breached.

        Returns
        -------
        ItemsetTable
            The labels of each rule, the known ones and then the sensitive one. Supports are not counted.
        """
        demand, first, share = self._demand, self._first, self._demand.share
        if size == 0:
            enough = self.rows.singles * share.denominator > share.numerator * demand.n_present
            return _rules(np.flatnonzero(demand.hidden & enough).astype(np.int32)[:, None])
        order, ranked = self._ranked
        n_first = int(first.sum())
        found = self._search(size, 0, n_first, self._about)
        if n_first < len(order) and (first & demand.hidden).any():  # with other known labels
            about = ranked.keep_items((first & demand.hidden)[order])
            found += self._search(size, n_first, len(order), about)
        rules = _rules(order[np.concatenate(found)])
        refuse_long_list(rules)
        return rules

    def _search(self, size: int, begin: int, end: int, about: SupportIndex) -> list[Codes]:
        """List rules to labels of ``about`` whose first known label by rank is one of ``begin..end - 1``."""
        ranked, share, room = self._ranked[1], self._demand.share, np.array([MOST_ITEMSETS])
        parameters = share.numerator, share.denominator, size, room, halt_flag()

        def part(first: int, last: int) -> Codes:
            check_time()
            rules = rules_kernels.SensitiveRules(ranked.rows, about.codes, about.offsets, *parameters)
            return rules.beginning(begin + first, begin + last)

        starts = ranked.transpose[0][begin : end + 1]
        return search(part, many_parts(starts - starts[0], 16), ranked.search_bound(size), limited=True)


def choose_labels(rules: ItemsetTable, among: Mask, hidden: Mask, losses: Numbers) -> Numbers:
    """Return labels that meet all rules, if each rule has some: the most rules for their loss first.

    Ties: more rules, labels that are not sensitive, their order.
    """
    order = np.argsort(hidden, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    may_go = among[rules.codes]
    codes = number[rules.codes[may_go]]
    offsets = offsets_of(may_go)[rules.offsets]
    losses = losses[order] // max(int(np.gcd.reduce(losses)), 1)
    starts, rules_of, _ = transpose(codes, offsets, len(order))
    most, largest = int(np.diff(starts).max(initial=0)), int(losses.max(initial=0))
    if most * largest >= 2**63:
        got, hint = f"{most:,} rules of a label, in up to {largest:,} rows", "choose a smaller m"
        raise ParameterError("there are too many rules to compare exactly", where="m", got=got, hint=hint)
    return order[breaches.eliminate(codes, offsets, starts, rules_of, losses, True, True)]


def _rules(labels: Codes) -> ItemsetTable:
    """Return rules of equal size, one per line."""
    n_rules, width = labels.shape
    return ItemsetTable(labels.ravel(), np.arange(n_rules + 1) * width, np.zeros(n_rules, np.int64))


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
