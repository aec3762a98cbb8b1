"""Sensitive rules, from some labels of a row to a sensitive one, and what is suppressed to stop them.

A rule is too sure if more than a share of the rows that hold the known labels hold the sensitive one. To
suppress a label in all rows ends the rules with it, and changes no other rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import breaches
from pdanon._kernels import rules as rules_kernels
from pdanon.errors import ParameterError
from pdanon.guarantees import RhoUncertainty
from pdanon.guarantees.rho import find_inferences
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.parallel import transpose
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import MOST_ITEMSETS, ItemsetTable, concatenate, no_itemsets, refuse_long_list
from pdanon.itemsets.threads import many_parts, search
from pdanon.itemsets.timing import Report, check_time, halt_flag
from pdanon.itemsets.validation import check_known

__all__ = [
    "Demand",
    "Mask",
    "Scope",
    "Suppression",
    "chosen",
    "demand_of",
    "guaranteed",
    "is_feasible",
    "least_suppression",
    "reached",
    "rows_about",
    "too_sure",
]

Mask = NDArray[np.bool_]

_ALWAYS = 2  # known labels
_EASY = 10**7  # sets of labels: some seconds


@dataclass(frozen=True, eq=False, slots=True)
class Demand:
    """What must hold of rows of labels, and what may be done for it.

    Parameters
    ----------
    hidden : ndarray of bool, shape (labels,)
        Which labels are sensitive.
    share : Fraction
        Largest share, in (0, 1), of the rows with the known labels in which a sensitive one may be.
    m : int or None
        Most labels that are known; None: any number.
    n_present : int
        How many rows are not missing: of these the share counts where nothing is known.
    may_go : ndarray of bool, shape (labels,)
        Which labels may be suppressed; all sensitive ones are among them.
    """

    hidden: Mask
    share: Fraction
    m: int | None
    n_present: int
    may_go: Mask


class Suppression:
    """Which labels of some rows are suppressed, so that no rule is too sure.

    Rules are listed by how many labels are known, of those labels that are kept until then. The label with
    the most rules for its loss goes, again and again (then: more rules; labels that are not sensitive; their
    order). In the end, labels without which each rule that was listed is met as well come back, the
    largest loss first; of the rules that this makes new, one of these labels goes again.

    Parameters
    ----------
    rows : SupportIndex
        Rows of labels.
    demand : Demand
        What must hold.
    losses : ndarray of int64, shape (labels,)
        What it costs to suppress each label.
    report : callable
        Is told the number of steps.

    Attributes
    ----------
    kept : ndarray of bool, shape (labels,)
        Which labels are not suppressed.
    m : int or None
        Up to how many known labels no rule is too sure; None: whatever is known.
    """

    def __init__(self, rows: SupportIndex, demand: Demand, losses: NDArray[np.int64], report: Report) -> None:
        self._rows, self._demand, self._losses, self._report = rows.distinct(), demand, losses, report
        self._known = no_itemsets()  # rules that have been listed: the labels of each
        self.kept = np.ones(rows.n_items, np.bool_)
        self.m = self._suppress(demand.may_go)
        while (returned := self._take_back()).any():
            self.m = self._suppress(returned)

    @property
    def loss(self) -> int:
        """What all that is suppressed costs."""
        return int(self._losses[~self.kept].sum())

    def _current(self) -> SupportIndex:
        """The rows as they would be published."""
        return self._rows.relabel(np.where(self.kept, np.arange(len(self.kept)), -1))

    def _suppress(self, among: Mask) -> int | None:
        """Suppress some of these labels, so that no rule is too sure; up to which size that is proven."""
        demand, size = self._demand, 0
        while demand.m is None or size <= demand.m:
            rows = self._current()
            if size and rows_about(rows, demand.hidden).longest <= size:
                return demand.m
            if demand.m is None and not is_feasible(rows, demand.hidden, size, _EASY):
                return self._prove(size - 1, among)
            self._meet(too_sure(rows, demand, size), among)
            self._report(1)
            size += 1
        return demand.m

    def _prove(self, done: int, among: Mask) -> int | None:
        """Suppress by rules of any size, wherever one is found."""
        demand = self._demand
        while True:
            found, m = find_inferences(self._current(), demand.hidden, demand.share, demand.n_present)
            if not len(found):
                return None if m is None else max(m, done)
            self._meet(found.rules(), among)
            self._report(1)

    def _meet(self, rules: ItemsetTable, among: Mask) -> None:
        """Suppress a label of each rule, one of some labels where it has any."""
        self._known = concatenate([self._known, rules])
        for labels in (
            among,
            self._demand.may_go,
        ):  # a search with a limit may miss rules and find them later
            left = rules.take(self._n_gone(rules) == 0)
            self.kept[chosen(left, labels, self._demand.hidden, self._losses)] = False

    def _n_gone(self, rules: ItemsetTable) -> NDArray[np.int64]:
        """How many labels of each rule are suppressed."""
        return np.diff(offsets_of(~self.kept[rules.codes])[rules.offsets])

    def _take_back(self) -> Mask:
        """Keep labels again without which something of each rule that is known is suppressed, too."""
        rules = self._known
        gone = np.flatnonzero(~self.kept)
        gone = gone[np.argsort(-self._losses[gone], kind="stable")]
        starts, sets_of, _ = transpose(rules.codes, rules.offsets, len(self.kept))
        returned = np.zeros(len(self.kept), np.bool_)
        returned[rules_kernels.restorable(starts, sets_of, gone, self._n_gone(rules))] = True
        self.kept |= returned
        return returned


def least_suppression(
    rows: SupportIndex, demand: Demand, losses: NDArray[np.int64], report: Report, also: Mask | None = None
) -> Suppression:
    """Try what may be suppressed, the sensitive labels alone, and these with some others: the best of it.

    Better is what is proven for more known labels, then what loses less, then the first of these.
    """
    wider = demand.hidden if also is None else demand.hidden | (also & demand.may_go)
    scopes: list[Mask] = []
    for scope in (demand.may_go, demand.hidden, wider):
        if not any(np.array_equal(scope, each) for each in scopes):
            scopes.append(scope)
    found: list[Suppression] = []
    for scope in scopes:
        if not found or not found[0].kept.all():  # else there is nothing to suppress
            found.append(Suppression(rows, replace(demand, may_go=scope), losses, report))
    return min(found, key=lambda each: (reached(each.m), each.loss))


def reached(m: int | None) -> tuple[bool, int]:
    """A key by which a proof for any number of known labels comes first, then those for more of them."""
    return m is not None, -(m or 0)


def is_feasible(rows: SupportIndex, hidden: Mask, size: int, most: float) -> bool:
    """Whether rules of so many known labels are listed: up to two, or where there are few sets of them."""
    return size <= _ALWAYS or rows_about(rows, hidden).search_bound(size) <= most


def rows_about(rows: SupportIndex, hidden: Mask) -> SupportIndex:
    """The rows with a sensitive label."""
    return rows.within(np.diff(rows.keep_items(hidden).offsets) > 0)


def too_sure(rows: SupportIndex, demand: Demand, size: int, first: Mask | None = None) -> ItemsetTable:
    """The rules of so many known labels that are too sure.

    Parameters
    ----------
    rows : SupportIndex
        Rows of labels.
    demand : Demand
        What must hold.
    size : int
        Number of known labels.
    first : ndarray of bool, shape (labels,), optional
        One of these is known, with the size 1 or more. By default any.

    Returns
    -------
    ItemsetTable
        The labels of each rule, what is known and last the sensitive one. Supports are not counted.
    """
    share = demand.share
    if size == 0:
        sure = demand.hidden & (rows.singles * share.denominator > share.numerator * demand.n_present)
        return _rules(np.flatnonzero(sure).astype(np.int32)[:, None])
    first = np.ones(rows.n_items, np.bool_) if first is None else first
    order = np.lexsort((rows.singles, ~first)).astype(np.int32)  # rare prefixes have few rows
    number = np.empty_like(order)
    number[order] = np.arange(len(order), dtype=np.int32)
    rows = rows.within(np.diff(rows.offsets) >= size).recode(number, rows.n_items)
    about = rows.keep_items(demand.hidden[order])
    room = np.array([MOST_ITEMSETS])

    def part(begin: int, end: int) -> Codes:
        check_time()
        asked = share.numerator, share.denominator, size, room, halt_flag()
        found: Codes = rules_kernels.SensitiveRules(rows.rows, about.codes, about.offsets, *asked).beginning(
            begin, end
        )
        return found

    parts = many_parts(rows.transpose[0][: int(first.sum()) + 1], 16)
    found = search(part, parts, rows.search_bound(size), limited=True)
    rules = _rules(order[np.concatenate(found)])
    refuse_long_list(rules)
    return rules


def chosen(rules: ItemsetTable, among: Mask, hidden: Mask, losses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels that meet all rules, some of which are in each: those with the most rules for their loss first.

    Then: more rules; labels that are not sensitive; their order.
    """
    order = np.argsort(hidden, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    may_go = among[rules.codes]
    codes = number[rules.codes[may_go]].astype(np.int32)
    offsets = offsets_of(may_go)[rules.offsets]
    losses = losses[order] // max(int(np.gcd.reduce(losses)), 1)
    starts, rules_of, _ = transpose(codes, offsets, len(order))
    most, largest = int(np.diff(starts).max(initial=0)), int(losses.max(initial=0))
    if most * largest >= 2**63:
        got, hint = f"{most:,} rules of a label, in up to {largest:,} rows", "choose a smaller m"
        raise ParameterError("there are too many rules to compare exactly", where="m", got=got, hint=hint)
    found: NDArray[np.int64] = breaches.eliminate(codes, offsets, starts, rules_of, losses, True, True)
    return order[found]


def _rules(labels: Codes) -> ItemsetTable:
    """Rules of equal size, a line each."""
    n_rules, width = labels.shape
    return ItemsetTable(labels.ravel(), np.arange(n_rules + 1) * width, np.zeros(n_rules, np.int64))


# --- What the algorithms against inferences of sensitive items have in common


Scope: TypeAlias = Literal["all", "sensitive"]


def demand_of(
    guarantee: RhoUncertainty, itemsets: Itemsets, hidden: NDArray[np.bool_], scope: Scope
) -> Demand:
    """What must hold of rows of labels, of which some are sensitive; missing rows may stay missing."""
    check_known(scope, ("all", "sensitive"), "scope", where="scope")
    may_go = hidden if scope == "sensitive" else np.ones_like(hidden)
    return Demand(hidden, guarantee.rho, guarantee.m, itemsets.n_present, may_go)


def guaranteed(guarantee: RhoUncertainty, m: int | None) -> RhoUncertainty:
    """The guarantee, for as many known items as it is proven for."""
    return guarantee if guarantee.m == m else replace(guarantee, m=m)
