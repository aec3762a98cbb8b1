"""SuppressControl and TDControl: no sensitive item can be inferred with confidence above rho."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pdanon._kernels import conflicts
from pdanon._kernels.rules import SensitiveRules
from pdanon.algorithms.items.apriori import find_leaves
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.cuts import below_only_children, sum_below
from pdanon.algorithms.states.rules import rows_of, too_many
from pdanon.errors import ParameterError
from pdanon.guarantees import RhoUncertainty
from pdanon.guarantees.parameters import ItemLimit
from pdanon.guarantees.rho import find_inferences
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import distinct, inverse_order, mask_at, offsets_of, sums
from pdanon.itemsets.row_loops import holders, recode_rows
from pdanon.itemsets.support import (
    MOST_ITEMSETS,
    ItemsetTable,
    SupportIndex,
    concatenate,
    from_matrices,
    no_itemsets,
    refuse_long_list,
    search_bound,
)
from pdanon.itemsets.threads import many_parts, search
from pdanon.itemsets.timing import check_time, count_steps, halt_flag
from pdanon.itemsets.validation import check_known
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

# --- Rules from known labels of a row to a sensitive one, and their suppression


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

    def __init__(self, rows: SupportIndex, search: RuleSearch, demand: Demand, losses: Numbers) -> None:
        self._rows, self._demand, self._losses = rows, demand, losses
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
            count_steps()
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
            count_steps()

    def _remove_rules(self, rules: ItemsetTable, among: Mask) -> None:
        """Suppress a label of each rule of published rows, one of ``among`` if the rule has any."""
        self._known.append(rules)
        hidden = self._demand.hidden
        self.kept[choose_labels(rules, among, hidden, self._losses)] = False
        # A search with a limit may miss rules and find them later, with no label in ``among``.
        is_met = np.logical_or.reduceat(~self.kept[rules.codes], rules.offsets[:-1])
        if not is_met.all():
            left = rules.take(~is_met)
            self.kept[choose_labels(left, self._demand.may_go, hidden, self._losses)] = False

    def _restore_labels(self) -> Mask:
        """Restore labels whose listed rules all have another suppressed label."""
        rules, restored = concatenate(self._known), np.zeros(len(self.kept), np.bool_)
        starts, rules_of = holders(rules.codes, rules.offsets, len(self.kept))
        lacking = np.diff(offsets_of(~self.kept[rules.codes])[rules.offsets])
        gone = np.flatnonzero(~self.kept)
        for label in gone[np.argsort(-self._losses[gone], kind="stable")]:
            own = rules_of[starts[label] : starts[label + 1]]
            if (lacking[own] > 1).all():
                lacking[own] -= 1
                restored[label] = True
        self.kept |= restored
        return restored


def least_suppression(
    rows: SupportIndex, demand: Demand, losses: Numbers, also: Mask | None = None
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
            found.append(Suppression(rows, search, replace(demand, may_go=scope), losses))
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
        return cls(rows.select(order), order, int(first.sum()), demand)

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
            self._found[size] = from_matrices([self._order[self._breached(size)]])
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
            rules = SensitiveRules(rows.rows, about.codes, about.offsets, *parameters)
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
    codes, offsets, _ = recode_rows(rules.codes, rules.offsets, numbers, len(order))
    starts, rules_of = holders(codes, offsets, len(order))
    losses = losses[order] // max(int(np.gcd.reduce(losses)), 1)
    most, largest = int(np.diff(starts).max(initial=0)), int(losses.max(initial=0))
    if most * largest >= 2**63:
        got, hint = f"{most:,} rules of a label, in up to {largest:,} rows", "choose a smaller m"
        raise ParameterError("there are too many rules to compare exactly", where="m", got=got, hint=hint)
    return order[conflicts.eliminate(codes, offsets, starts, rules_of, losses, True, True)]


# --- Conditions of the algorithms against inferences of sensitive items


Scope: TypeAlias = Literal["all", "sensitive"]


def demand_of(guarantee: RhoUncertainty, itemsets: Itemsets, hidden: Mask, scope: Scope) -> Demand:
    """Return the condition of a guarantee on rows of labels; missing rows may stay missing."""
    check_known(scope, ("all", "sensitive"), "scope", where="scope")
    may_go = hidden if scope == "sensitive" else np.ones_like(hidden)
    return Demand(hidden, guarantee.rho, guarantee.m, itemsets.n_present, may_go)


# --- SuppressControl: items are only suppressed


@called_by_name
def suppress_control(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    rho: float,
    sensitive: Iterable[Any],
    m: ItemLimit = None,
    scope: Scope = "all",
) -> Anonymized:
    """Suppress items until no sensitive item can be inferred with confidence above rho.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    rho : float
        Upper bound, above 0 and below 1, on the share of the rows with some items that contain another,
        sensitive item.
    sensitive : iterable
        The sensitive items. The attacker may know any items, including these.
    m : int, optional
        Maximum number of items that the attacker knows; at least 1. By default, any number.
    scope : {"all", "sensitive"}
        Items that may be suppressed: all items, or only sensitive ones.

    Returns
    -------
    Anonymized
        A global recoding that keeps or suppresses each item. Items keep their type. If the guarantee is
        proven only for a limited number of known items, ``guarantee`` has it as ``m``.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid, or a sensitive item does not occur.

    Warns
    -----
    UselessWarning
        If all sensitive items are suppressed in a table of at least 20 rows.
    ReleaseWarning
        If no ``m`` is passed, and the guarantee is proven only for a limited number of known items.

    Notes
    -----
    Guarantee: ``RhoUncertainty(rho, sensitive, m)``. A rule leads from known items to a sensitive item, and
    is a breach if more than a share rho of their rows contain it. Suppression raises no confidence, so a
    release always exists; the page of the algorithm has the proof.

    Breaches are listed by the number of known items, from 0 on. The item with the most rules per occurrence
    is suppressed, repeatedly (then: more rules, items that are not sensitive, item order). Then items are
    restored if other suppressed items already remove their rules, those with the most occurrences first; if
    that brings a breach back, one of its items is suppressed again. ``scope="all"`` tries both scopes, and
    releases the one with the lower loss. Beyond two known items, rules are listed only while the rows with a
    sensitive item have few itemsets of that size. Then the search of the audit decides.

    Cost: memory of 40 bytes per occurrence and 4 per item of each rule. Time to visit the pairs of items of
    each row with a sensitive item, and time of the search of the audit.

    References
    ----------
    .. [1] J. Cao, P. Karras, C. Raïssi, K.-L. Tan, "rho-uncertainty: Inference-Proof Transaction
       Anonymization", PVLDB 3(1), 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "rice", "tea"], ["flu", "tea"], ["tea"], ["oil", "tea"], ["oil"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.suppress_control(rho=0.5, sensitive=["flu"])
    >>> result.frame
               items
    0  ['flu' 'tea']
    1  ['flu' 'tea']
    2        ['tea']
    3  ['oil' 'tea']
    4        ['oil']
    """
    return SUPPRESS_CONTROL.release(locals())


def decide_suppression(columns: ListColumns, *, guarantee: RhoUncertainty, scope: Scope) -> ListDecision:
    """Decide which items are suppressed."""
    itemsets = columns.itemsets
    rows = SupportIndex.of(itemsets)
    demand = demand_of(guarantee, itemsets, guarantee.is_sensitive(itemsets), scope)
    found = least_suppression(rows, demand, rows.singles)
    proven = replace(guarantee, m=found.m)
    return decide_lists(columns, Recoding.of_suppressed(~found.kept, itemsets), proven)


SUPPRESS_CONTROL = Algorithm(
    suppress_control,
    (RhoUncertainty,),
    decide=decide_suppression,
    unit="lists",
    keeps_type=True,
    ways=(Way(RhoUncertainty, 10),),
)


# --- TDControl: items are generalized from the root downwards, too


_EASY_STEP = 10**5  # sets of labels; beyond, larger rules are checked only when the cut stops


class Published(NamedTuple):
    """The published nodes, with their loss and guarantee."""

    # ``nodes`` (items,): the node of each item; -1 where it is suppressed. ``loss``: NCP summed over all
    # occurrences, times the leaves of the hierarchy. ``m``: maximum number of known labels for which no rule
    # is a breach; None: any number.

    nodes: Codes
    loss: int
    m: int | None

    @property
    def rank(self) -> tuple[tuple[bool, int], int]:
        """The sort key, best first: proven for more known labels, then lower loss."""
        return proof_order(self.m), self.loss


class _Step(NamedTuple):
    """An expansion: some items become other nodes, and nodes are suppressed; with its total saving."""

    items: Codes
    became: Codes
    gone: Codes
    saved: int


class Expansion:
    """A cut of a hierarchy, with suppressed nodes and suppressed sensitive items."""

    def __init__(
        self, index: SupportIndex, tree: Hierarchy, leaves: Codes, n_leaves: int, demand: Demand
    ) -> None:
        self._index, self._tree, self._leaves, self._demand = index.distinct(), tree, leaves, demand
        self._is_public = ~demand.hidden[leaves]
        public = np.flatnonzero(self._is_public).astype(np.int32)
        self._in_order = public[np.argsort(leaves[public], kind="stable")]  # in the order of the leaves
        supports = sums(leaves, index.singles, tree.n_nodes)
        self._occurrences = sum_below(np.where(self._is_public, index.singles, 0), tree, leaves)
        covered = np.minimum(tree.leaves, n_leaves).astype(np.int64)
        self._ncp = np.where(tree.is_leaf, 0, self._occurrences * covered)
        # Cost of suppressing a published node or a sensitive item.
        self._losses = np.where(demand.hidden, supports, self._occurrences) * n_leaves - self._ncp
        self._lower = below_only_children(covered, tree.is_leaf)
        self._gone = np.zeros(tree.n_nodes, np.bool_)
        self._nodes = leaves
        self._steps: dict[int, tuple[int, _Step]] = {}  # by node, with the turn of their computation
        self._turn = 0

    def suppress_sensitive(self) -> Published:
        """Suppress all sensitive items and nothing else, which is safe without a search."""
        nodes = np.where(self._is_public, self._leaves, -1).astype(np.int32)
        return Published(nodes, int(self._losses[self._demand.hidden].sum()), self._demand.m)

    def descend(self) -> Published:
        """Expand the cut from the root downwards; return the best cut at which that stopped."""
        self._nodes = np.where(self._is_public, self._lower[0], self._leaves).astype(np.int32)
        self._gone[:] = False
        best = self.suppress()
        while self._expand_all():
            best = min(best, self.suppress(), key=lambda each: each.rank)
        return best

    def suppress(self) -> Published:
        """Choose what is suppressed in the cut, for rules of all sizes; at first, the leaves."""
        rows = self._index.recode(self._nodes, self._tree.n_nodes)
        found = least_suppression(rows, self._demand, self._losses, also=self._gone)
        self._gone = ~found.kept
        self._turn += 1
        loss = int(self._ncp[np.unique(self._nodes)].sum()) + found.loss
        return Published(np.where(self._gone[self._nodes], -1, self._nodes), loss, found.m)

    def _expand_all(self) -> bool:
        """Expand nodes, the largest saving first, while one saves anything; return whether any did."""
        begin = self._turn
        waiting = [(-self._most_saved(node), node) for node in self._inner_nodes()]
        while waiting:
            heapify(waiting)
            self._expand_waiting(waiting)
            # Expansions without a saving may have one after others.
            waiting = [
                (-self._step(node).saved, node) for node in self._inner_nodes() if self._most_saved(node) > 0
            ]
            waiting = [each for each in waiting if each[0] < 0]
        return self._turn > begin

    def _expand_waiting(self, waiting: list[tuple[int, int]]) -> None:
        """Expand the nodes of a heap; compute the saving of the next one again if it is not current."""
        while waiting and waiting[0][0] < 0:
            _, node = heappop(waiting)
            is_current = self._steps.get(node, (-1,))[0] == self._turn
            step = self._step(node)
            if not is_current:
                heappush(waiting, (-step.saved, node))
                continue
            self._expand(node, step)
            children = np.unique(step.became)
            for child in children[~self._tree.is_leaf[children]].tolist():
                heappush(waiting, (-self._most_saved(child), child))

    def _inner_nodes(self) -> list[int]:
        """Return the nodes of the cut that have children."""
        used = np.unique(self._nodes[self._is_public])
        return [int(node) for node in used[~self._tree.is_leaf[used]]]

    def _most_saved(self, node: int) -> int:
        """Return the upper bound on the saving of an expansion: nothing is suppressed for it."""
        cost = self._ncp[node] + self._gone[node] * self._losses[node]
        return int(cost - self._ncp[self._lower[self._tree.children(node)]].sum())

    def _step(self, node: int) -> _Step:
        """Return the expansion of a node, computed once per turn."""
        turn, step = self._steps.get(node, (-1, None))
        if step is None or turn != self._turn:
            check_time()
            ends = [node, node + self._tree.size[node]]
            items = self._in_order[slice(*np.searchsorted(self._leaves[self._in_order], ends))]
            children = self._lower[self._tree.children(node)]
            became = children[np.searchsorted(children, self._leaves[items], side="right") - 1]
            gone = self._find_suppressed(items, became)
            step = _Step(items, became, gone, self._most_saved(node) - int(self._losses[gone].sum()))
            self._steps[node] = self._turn, step
        return step

    def _expand(self, node: int, step: _Step) -> None:
        """Expand a node."""
        self._nodes = self._nodes.copy()
        self._nodes[step.items] = step.became
        self._gone[node] = False
        self._gone[step.gone] = True
        self._turn += 1
        count_steps()

    def _find_suppressed(self, items: Codes, became: Codes) -> Codes:
        """Return what is suppressed so that items can become other nodes."""
        # Rules with one of the new nodes are listed as long as they are few.
        demand, kept_nodes = self._demand, np.where(self._gone[self._nodes], -1, self._nodes)
        rows = self._index.within(rows_of(self._index, items))
        is_sensitive = demand.hidden[self._nodes] & (kept_nodes >= 0)
        if not is_sensitive[rows.codes].any():
            return np.empty(0, np.int32)
        kept_nodes[items] = became
        present = mask_at(len(kept_nodes), rows.codes)
        used = distinct(kept_nodes[present & (kept_nodes >= 0)])
        demand = replace(demand, hidden=demand.hidden[used], may_go=demand.may_go[used])
        first, gone, size = np.isin(used, became), np.zeros(len(used), np.bool_), 1
        order = np.lexsort((self._occurrences[used], ~first)).astype(np.int32)
        rank = np.full(len(self._gone) + 1, -1, np.int32)  # the last entry is that of node -1
        rank[used[order]] = np.arange(len(used))
        rows = rows.recode(rank[kept_nodes], len(used)).distinct()
        search = RuleSearch(rows, order, int(first.sum()), demand)
        while demand.m is None or size <= demand.m:
            if search.longest <= size or not search.is_feasible(size, _EASY_STEP):
                break
            rules = search.breached(size)
            if len(rules):
                gone[choose_labels(rules, demand.may_go, demand.hidden, self._losses[used])] = True
                search = search.keep(~gone)
            size += 1
        return used[gone]


# --- The public function and its decision


@called_by_name
def td_control(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    rho: float,
    sensitive: Iterable[Any],
    m: ItemLimit = None,
    hierarchy: HierarchyLike,
    scope: Scope = "all",
) -> Anonymized:
    """Generalize and suppress items until no sensitive item can be inferred with confidence above rho.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    rho, sensitive, m : float, iterable, int
        As in `suppress_control`.
    hierarchy : Hierarchy, path, DataFrame, dict or int
        Hierarchy of the items, as for ``Hierarchy.of``; an int is the fan-out of a balanced one. It may lack
        sensitive items: they are not generalized.
    scope : {"all", "sensitive"}
        What may be suppressed: nodes of the hierarchy and sensitive items, or only sensitive items.

    Returns
    -------
    Anonymized
        A global recoding to a cut of the hierarchy, with suppressed nodes and suppressed sensitive items. If
        the guarantee is proven only for a limited number of known items, ``guarantee`` has it as ``m``.

    Raises
    ------
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If the hierarchy (no tree, or items are missing), a column or a parameter is invalid, or a sensitive
        item does not occur.

    Warns
    -----
    UselessWarning, ReleaseWarning
        As in `suppress_control`.

    Notes
    -----
    Guarantee: ``RhoUncertainty(rho, sensitive, m)`` for published labels. It is proven as in
    :func:`suppress_control`.

    The cut begins at the root. A node is replaced by its children if that lowers the loss, NCP of each
    original occurrence or 1 if it is suppressed, with what must be suppressed for the children, as in
    :func:`suppress_control`. What was suppressed before stays so, except the node itself. The node with the
    largest saving, computed again, is next (then: node order).

    When no node saves anything, the suppressed nodes are chosen again for the cut, and the expansion
    continues if a node then saves something. The best of the cuts at which it stopped is released, or the
    result of :func:`suppress_control`, or a release without sensitive items, if that loses no more. If
    searches ended early, the cut that is proven for more known items is preferred.

    Cost: that of :func:`suppress_control` for each stop. In addition, the rules of the rows below each
    visited node are listed, usually once or twice per node.

    References
    ----------
    .. [1] J. Cao, P. Karras, C. Raïssi, K.-L. Tan, "rho-uncertainty: Inference-Proof Transaction
       Anonymization", PVLDB 3(1), 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "rice"], ["flu", "rice"], ["rice"], ["rye"], ["rye"], ["rye"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> drinks = ["tea", "milk", "beer", "wine", "cider", "cocoa"]
    >>> tree = {"all": {"grain": ["rice", "rye"], "drink": drinks}}
    >>> result = df.txanon.td_control(rho=0.5, sensitive=["flu"], hierarchy=tree)
    >>> result.mapping
       group  item generalized  support
    0      0   flu         flu        2
    1      0  rice       grain        3
    2      0   rye       grain        3
    """
    return TD_CONTROL.release(locals())


def decide_nodes(
    columns: ListColumns, *, guarantee: RhoUncertainty, hierarchy: HierarchyLike, scope: Scope
) -> ListDecision:
    """Decide the node of each item, sensitive or not."""
    itemsets = columns.itemsets
    hidden = guarantee.is_sensitive(itemsets)
    tree, leaves, n_leaves = find_leaves(hierarchy, itemsets.vocabulary, hidden)
    is_sensitive = mask_at(tree.n_nodes, leaves[hidden])
    demand = demand_of(guarantee, itemsets, is_sensitive, scope)
    search = Expansion(SupportIndex.of(itemsets), tree, leaves, n_leaves, demand)
    at_leaves = search.suppress()
    found = at_leaves, search.descend(), search.suppress_sensitive()
    best = min(found, key=lambda each: each.rank)
    recoding = Recoding.of_cut(best.nodes, tree, n_leaves=n_leaves)
    return decide_lists(columns, recoding, replace(guarantee, m=best.m))


TD_CONTROL = Algorithm(
    td_control,
    (RhoUncertainty,),
    decide=decide_nodes,
    unit="steps",
    ways=(Way(RhoUncertainty, 20, needs="hierarchy"),),
)
