"""PS-rules: split sets of public items while known items stay frequent and reveal no sensitive item."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels.rules import bisect
from pdanon.algorithms.items._starting import clusters_of
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.rules import ItemSet, RuleCheck, rows_of, rules_of, too_many
from pdanon.algorithms.weights import WeightsLike, item_weights
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import PSRules
from pdanon.guarantees.parameters import check_share, format_share, least_share
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Mask, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import Seed, check_flag, check_known, list_first, random_generator
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized


def repair_sets(rules: RuleCheck, labels: Codes, weights: Numbers | None) -> Codes:
    """Merge sets until no rule is broken."""
    # Rounds alternate two steps. First, sets are merged until known items are in no row or in k, as in
    # `pcta`. Then each breaching itemset of sets gets the cheapest merge of one of its sets, unless an
    # earlier merge changed it. A merge can make other itemsets rare or breaching, so the next round checks
    # again. Every round makes a merge, so the rounds end.
    # One set of all items protects the rules. ``labels`` (items,): the smallest item of the
    # set of each public item; -1 for other items. ``weights`` (items,): importance of the items, below 2**16.
    # Returns the merged sets, as ``labels``.
    clusters = clusters_of(rules.index, labels, weights)
    while True:
        rules.hide(clusters, labels)
        merged = np.where(labels >= 0, clusters.labels[labels], np.int32(-1))
        breached = rules.breached(merged)
        if not len(breached):
            return merged
        count_steps(clusters.coarsen_each(breached))


# --- Bisection: split a partition of items while all rules stay protected


class _Waiting(NamedTuple):
    """A set that may be split. Sets that can be split in two precede the others."""

    is_stuck: bool
    loss: int
    label: int
    whole: ItemSet


class Bisection:
    """A partition of items that begins with one set, which is split."""

    def __init__(self, rules: RuleCheck, items: NDArray[np.intp], weights: Numbers | None) -> None:
        self.rules = rules
        self._index = rules.index
        self._given = weights
        self._weights = np.ones(self._index.n_items, np.int64) if weights is None else weights
        self._marks = np.zeros(len(self._index.weights), np.uint8)
        frequent_first = items[np.argsort(-self._index.singles[items], kind="stable")].astype(np.int32)
        self._root = ItemSet(frequent_first, rows_of(self._index, items))
        self.labels = np.full(self._index.n_items, -1, np.int32)
        self.labels[items] = self._root.label

    def among(self, index: SupportIndex, k: int) -> Bisection:
        """Return one set of the same items for other rows and another k."""
        return Bisection(replace(self.rules, index=index, k=k), np.sort(self._root.items), self._given)

    def is_protected(self) -> bool:
        """Return whether one set of all items protects the rules."""
        return self.rules.holds(self.labels, self._root)

    def split(self) -> None:
        """Split sets until the rules allow no more; the set that loses most is next."""
        # The kernel `bisect` splits a set in two. If a rule forbids that, the set waits until no other set
        # can be split. Then single items are taken out where the rules allow it, those that lose most alone
        # first. The rest is tried again.
        queue = [_Waiting(False, *self._loss(self._root), self._root)]
        while queue:
            is_stuck, _, _, whole = heappop(queue)
            parts = self._take_out_items(whole) if is_stuck else self._in_two(whole)
            for each in parts:
                if len(each.items) > 1:
                    heappush(queue, _Waiting(each is whole, *self._loss(each), each))
            count_steps()

    def _loss(self, one: ItemSet) -> tuple[int, int]:
        """Return the sort key of a set: the largest loss first, then the smallest item."""
        # Python integers: 2**size exceeds 64 bits.
        loss = ((1 << len(one.items)) - 1) * int(self._weights[one.items].max())
        return -loss * int(self._index.weights[one.rows].sum()), one.label

    def _in_two(self, whole: ItemSet) -> tuple[ItemSet, ...]:
        """Return the two parts of a set, or the set if it cannot be split in two."""
        if len(whole.items) < 2:
            return ()
        rows, marks = self._index.rows, self._marks
        second = bisect(whole.items, self._index.singles, self._weights, rows, marks)
        in_parts = marks[whole.rows]
        marks[whole.rows] = 0  # for the next set
        sides = (~second, 1), (second, 2)
        parts = tuple(ItemSet(whole.items[own], whole.rows[(in_parts & bit) > 0]) for own, bit in sides)
        return parts if self._accept(whole, parts) else (whole,)

    def _take_out_items(self, whole: ItemSet) -> tuple[ItemSet, ...]:
        """Take out single items where the rules allow it; return the rest, or nothing if none was taken."""
        losses = self._weights[whole.items] * self._index.singles[whole.items]
        rest = whole
        for item in whole.items[np.argsort(-losses, kind="stable")]:
            others = rest.items[rest.items != item]
            parts = tuple(ItemSet(each, rows_of(self._index, each)) for each in (np.array([item]), others))
            if len(others) > 0 and self._accept(rest, parts):
                rest = parts[1]
            count_steps()
        return () if rest is whole else (rest,)

    def _accept(self, whole: ItemSet, parts: tuple[ItemSet, ...]) -> bool:
        """Split a set if all rules stay protected; return whether they do."""
        for each in parts:
            self.labels[each.items] = each.label
        if all(self.rules.holds(self.labels, each) for each in parts):
            return True
        self.labels[whole.items] = whole.label
        return False


# --- The public function and its decision


_HOW = ("tree", "sample")
_SAMPLE = Fraction(1, 10)  # default share of the rows


@called_by_name
def ps_rules(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    rules: Any,
    k: int,
    c: float,
    suppress: bool = False,
    how: str = "tree",
    sample: float | None = None,
    weights: WeightsLike | None = None,
    random_state: Seed = None,
) -> Anonymized:
    """Merge public items into sets until known items match neither few rows nor mostly sensitive items.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    rules : iterable of pairs, DataFrame, path, Rules or AllRules
        The rules: pairs of lists, the known items and those that must not be inferred from them; a DataFrame
        with the list columns ``known`` and ``sensitive``; a ``.parquet`` file of it, or a ``.csv`` file with
        items separated by ``;``. Or the result of `pdanon.constraints.ps_rules`: all rules from up to m
        public items to a sensitive item; or a ``.toml`` file with ``m`` and ``sensitive``, which stands for
        the same.
    k : int
        Minimum number of rows that match the known items of a rule; at least 2.
    c : float
        Upper bound, above 0 and below 1, on the share of the matching rows that contain the sensitive items
        of the rule.
    suppress : bool
        Suppress sensitive items that are too frequent to be protected, instead of raising an error.
    how : {"tree", "sample"}
        Split the sets by all rows, or by a random sample. After a sample, sets are merged again where a rule
        is broken in all rows.
    sample : float, optional
        Share of the rows for ``how="sample"``, above 0 and at most 1. By default, 0.1.
    weights : mapping or Series, optional
        Importance of each item, in [0, 1]; 1 for items not listed. Items of low importance stay merged
        longer.
    random_state : int, Generator or None
        Seed or generator of the sample; None is the seed 0.

    Returns
    -------
    Anonymized
        A global recoding. Merged public items are published as ``(a,b)``. Sensitive items are published as
        they are, or with ``suppress`` suppressed: NA in the mapping table, and counted in ``loss``.

    Raises
    ------
    InfeasibleError
        If one set of all public items does not protect all rules: it is in fewer than k rows, or a sensitive
        item is too frequent in its rows. The message states their number and the least ``c`` that works.
    ColumnError, ItemsetDtypeError, FormatError, ParameterError
        If the column, a file or a parameter is invalid, or an item of a rule does not occur.

    Notes
    -----
    Guarantee: ``PSRules(rules, k, c)``. It holds at every step. At first, all public items that occur in
    rules form one set; if that does not protect all rules, all public items do. A set is split only if all
    rules with its items stay protected.

    The set with the largest loss is next: ``(2**size - 1) * weight * support``, as exact integers (then: item
    order); its weight is the largest of its members. The two items that would lose most together begin one
    part each (then: the more frequent items, then item order). The others follow, most frequent first, to the
    part whose loss grows less. A set whose split a rule forbids waits. In the end single items are taken out
    where no rule forbids it, those that lose most alone first, and the rest is tried again.

    With ``how="sample"``, the sample is split in the same way, with ``k * sample``, rounded up. Then sets are
    merged on all rows, alternately as in `pcta`, until known items are in no row or in k, and at the least
    loss if a rule is broken. With ``suppress``, the rarest sensitive item of each rule is suppressed that one
    set of all public items does not protect, unless another one already is. If fewer than k rows would lose
    all their items, more items are suppressed, also public ones.

    Cost: memory of about 50 bytes per occurrence and 50 per item of each rule. There are fewer than ``2 *
    items`` sets; one that cannot be split in two takes one step per item. A step is linear in the rows of the
    set and in the listed rules with its items. For all rules up to m items, if m is 3 or more, it searches
    these rows for the rules.

    References
    ----------
    .. [1] G. Loukides, A. Gkoulalas-Divanis, J. Shao, "Anonymizing Transaction Data to Eliminate Sensitive
       Inferences", DEXA 2010.
    .. [2] G. Loukides, A. Gkoulalas-Divanis, J. Shao, "Efficient and Flexible Anonymization of Transaction
       Data", Knowledge and Information Systems 36(1), 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt", "flu"], ["salt", "tea"], ["salt"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> rules = [(["rice"], ["flu"]), (["salt"], ["flu"]), (["tea"], ["flu"])]
    >>> result = df.txanon.ps_rules(rules=rules, k=2, c=0.6)
    >>> result.frame
                             items
    0         ['(rice,tea)' 'flu']
    1               ['(rice,tea)']
    2  ['(rice,tea)' 'flu' 'salt']
    3        ['(rice,tea)' 'salt']
    4                     ['salt']
    """
    return RECORD.release(locals())


def decide(
    columns: ListColumns,
    *,
    guarantee: PSRules,
    suppress: bool,
    how: str,
    sample: float | None,
    weights: Any,
    random_state: Any,
) -> ListDecision:
    """Decide the sets of public items, and which sensitive items are suppressed."""
    itemsets = columns.itemsets
    share = _share_of_rows(check_known(how, _HOW, "way", where="how"), sample)
    importance, rng = item_weights(weights, itemsets), random_generator(random_state)
    may_suppress = check_flag(suppress, "suppress")
    rule_check = rules_of(guarantee, itemsets)
    suppressed = np.zeros(itemsets.n_items, np.bool_)
    sets = _one_set(rule_check, ~rule_check.is_sensitive, importance)
    if sets is None:
        suppressed = _too_frequent(rule_check, may_suppress)
        sets = _one_set(rule_check.without(suppressed), ~rule_check.is_sensitive, importance)
        assert sets is not None
    if share is None:
        sets.split()
        labels = sets.labels
    else:
        labels = repair_sets(sets.rules, _split_in_sample(sets, share, rng), importance)
    labels = np.where(rule_check.is_sensitive | (labels < 0), np.arange(len(labels), dtype=np.int32), labels)
    recoding = Recoding.of_clusters(np.where(suppressed, np.int32(-1), labels), itemsets)
    return decide_lists(columns, recoding, guarantee, {"rules": guarantee.rules})


def _share_of_rows(how: str, sample: Any) -> Fraction | None:
    """Return the share of the rows to draw; None for all rows."""
    if how == "tree" and sample is not None:
        problem, hint = "sample has no effect", 'leave it out, or pass how="sample"'
        raise ParameterError(problem, where="sample", got='how="tree"', hint=hint)
    if how == "tree":
        return None
    share = _SAMPLE if sample is None else check_share(sample, "sample")
    if not share:
        raise ParameterError("sample must be above 0", where="sample", got="0")
    return share


def _one_set(rules: RuleCheck, public: Mask, weights: Numbers | None) -> Bisection | None:
    """Return one set that protects the rules: of the items in rules, or of all public items; or None."""
    every = (Bisection(rules, np.flatnonzero(items), weights) for items in (rules.known, public))
    return next((sets for sets in every if sets.is_protected()), None)


def _too_frequent(rules: RuleCheck, may_suppress: bool) -> Mask:
    """Return the sensitive items to suppress, because one set of all public items does not protect them."""
    index = rules.index
    rows = index.within(rows_of(index, np.flatnonzero(~rules.is_sensitive)))
    if rows.n_rows < rules.k:
        raise InfeasibleError(
            "k is larger than the number of rows with a public item",
            got=f"k={rules.k}, {rows.n_rows} of {index.n_rows} rows",
            hint="choose a smaller k",
        )
    inferred = rules.inferred()
    supports = rows.supports(inferred.codes, inferred.offsets)
    broken = too_many(supports, rows.n_rows, rules.share)
    found = np.zeros(index.n_items, np.bool_)
    if not may_suppress:
        most, n_rows, places = int(supports.max()), rows.n_rows, np.flatnonzero(broken)
        about = least_share(most, n_rows)
        least = f"; the least c that works is {most}/{n_rows}, about {about:g}" if most < n_rows else ""
        where = f"in item order those at {list_first(places)}"
        raise InfeasibleError(
            "sensitive items are so frequent that they can be inferred from one set of all public items",
            where="c",
            got=f"{len(places)} of {len(broken)} sensitive itemsets, {where}, are in more than "
            f"c={format_share(rules.share)} of the {n_rows} rows with a public item{least}",
            hint="pass suppress=True to leave such items out",
        )
    for items in inferred.take(broken).sets():
        if not found[list(items)].any():
            found[min(items, key=lambda item: (index.singles[item], item))] = True
    return found


def _split_in_sample(sets: Bisection, share: Fraction, rng: np.random.Generator) -> Codes:
    """Split the sets by a sample of the rows, and return the labels."""
    index = sets.rules.index
    weights = rng.binomial(index.weights, float(share))  # an index row stands for equal rows
    rows = SupportIndex(index.codes, index.offsets, index.n_items, weights).within(weights > 0)
    sampled = sets.among(rows, ceil(sets.rules.k * share))
    if sampled.is_protected():
        sampled.split()
    return sampled.labels


RECORD = Algorithm(ps_rules, (PSRules,), decide=decide, unit="sets", ways=(Way(PSRules, 10),))
