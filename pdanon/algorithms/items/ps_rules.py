"""PS-rules: public items are parted as long as what may be known leads neither to few rows nor to a secret.

Loukides, Gkoulalas-Divanis, Shao, "Anonymizing Transaction Data to Eliminate Sensitive Inferences", DEXA
2010; and "Efficient and Flexible Anonymization of Transaction Data", Knowledge and Information Systems 36,
2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from heapq import heappop, heappush
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels.rules import bisect
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.states.clusters import Clusters
from pdanon.algorithms.states.rules import ItemSet, RuleCheck, rows_of, rules_of, too_many
from pdanon.algorithms.weights import item_weights
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import PSRules
from pdanon.guarantees.parameters import check_share, format_share
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_flag, check_known, random_generator
from pdanon.recoding.decision import Decision, ListRows, decide_lists
from pdanon.recoding.labels import Labels
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "Bisection", "ps_rules", "repaired"]


def repaired(rules: RuleCheck, labels: Codes, weights: NDArray[np.int64] | None, report: Report) -> Codes:
    """Merge sets until all rules are protected.

    Parameters
    ----------
    rules : RuleCheck
        The rules, which one set of all items would protect.
    labels : ndarray of int32, shape (items,)
        The smallest item of the set that each public item is in; -1 for other items.
    weights : ndarray of int64, shape (items,), optional
        Importance of the items, below 2**16.
    report : callable
        Told of each merge.

    Returns
    -------
    ndarray of int32
        As ``labels``.

    Notes
    -----
    In turns: first sets are merged until what is known is in no row or in k, as `pcta` does; then each
    itemset of sets that gives something away gets the merge of one of its sets that costs least, unless one
    before it has changed it. That can make others rare, or sure, which is seen in the next turn. Each turn
    has a merge.
    """
    n_items, kept = len(labels), labels >= 0
    sizes = np.bincount(labels[kept], minlength=n_items)
    heaviest = None
    if weights is not None:
        heaviest = np.zeros(n_items, np.int64)
        np.maximum.at(heaviest, labels[kept], weights[kept])
    clusters = Clusters(rules.index.recode(labels, n_items), heaviest, sizes=sizes)
    while True:
        rules.hide(clusters, labels, report)
        merged = np.where(kept, clusters.labels[labels], np.int32(-1))
        breached = rules.breached(merged)
        if not len(breached):
            return merged
        report(clusters.coarsen_each(breached))


# --- Bisection: a partition of items that is made finer, as long as all rules stay protected


class _Waiting(NamedTuple):
    """A set that may be parted; all that can be parted in two come before those that cannot."""

    is_stuck: bool
    loss: int
    label: int
    whole: ItemSet


class Bisection:
    """A partition of items that begins with one set, and is parted.

    Parameters
    ----------
    rules : RuleCheck
        What is to stay protected.
    items : ndarray of int
        The items, at least one.
    weights : ndarray of int64, shape (items,), optional
        Importance of all items, below 2**16; that of a set is the largest of its members'.

    Notes
    -----
    A set is known by its smallest member. Memory: 5 bytes a row and 4 bytes for each occurrence of the items.
    """

    def __init__(self, rules: RuleCheck, items: NDArray[np.intp], weights: NDArray[np.int64] | None) -> None:
        self.rules = rules
        self._index = rules.index
        self._given = weights
        self._weights = np.ones(self._index.n_items, np.int64) if weights is None else weights
        self._held = np.zeros(len(self._index.weights), np.uint8)
        frequent_first = items[np.argsort(-self._index.singles[items], kind="stable")].astype(np.int32)
        self._root = ItemSet(frequent_first, rows_of(self._index, items))
        self.labels = np.full(self._index.n_items, -1, np.int32)
        self.labels[items] = self._root.label

    def among(self, index: SupportIndex, k: int) -> Bisection:
        """One set of the same items, in other rows and for another k."""
        return Bisection(self.rules.among(index, k), np.sort(self._root.items), self._given)

    def is_protected(self) -> bool:
        """Tell whether the rules are protected as long as nothing is parted."""
        return self.rules.hold(self.labels, [self._root])

    def part(self, report: Report) -> None:
        """Part sets until no rule allows more, always next the one that loses most.

        A set is parted in two by the kernel `bisect`. Where a rule forbids that, it waits until no other set
        can be parted; then single items are taken out, those that lose most by themselves first, wherever no
        rule forbids it, and what is left is tried again.

        Parameters
        ----------
        report : callable
            Told of each way that was tried.
        """
        queue = [_Waiting(False, *self._loss(self._root), self._root)]
        while queue:
            is_stuck, _, _, whole = heappop(queue)
            parts = self._without_single_items(whole, report) if is_stuck else self._in_two(whole)
            for each in parts:
                if len(each.items) > 1:
                    heappush(queue, _Waiting(each is whole, *self._loss(each), each))
            report(1)

    def _loss(self, one: ItemSet) -> tuple[int, int]:
        """What sets are ordered by: the largest loss first, then the smallest item."""
        loss = ((1 << len(one.items)) - 1) * int(self._weights[one.items].max())
        return -loss * int(self._index.weights[one.rows].sum()), one.label

    def _in_two(self, whole: ItemSet) -> tuple[ItemSet, ...]:
        """The parts of a set, or the set if it cannot be parted in two."""
        if len(whole.items) < 2:
            return ()
        parts = self._bisected(whole)
        return parts if self._accept(whole, parts) else (whole,)

    def _bisected(self, whole: ItemSet) -> tuple[ItemSet, ItemSet]:
        rows, held = self._index.rows, self._held
        second = bisect(whole.items, self._index.singles, self._weights, rows, held)
        marks = held[whole.rows]
        held[whole.rows] = 0
        one = ItemSet(whole.items[~second], whole.rows[(marks & 1) > 0])
        return one, ItemSet(whole.items[second], whole.rows[(marks & 2) > 0])

    def _without_single_items(self, whole: ItemSet, report: Report) -> tuple[ItemSet, ...]:
        """What is left of a set where items are taken out that can be; nothing if there is none."""
        losses = self._weights[whole.items] * self._index.singles[whole.items]
        rest = whole
        for item in whole.items[np.argsort(-losses, kind="stable")]:
            others = rest.items[rest.items != item]
            parts = tuple(ItemSet(each, rows_of(self._index, each)) for each in (np.array([item]), others))
            if len(others) > 0 and self._accept(rest, parts):
                rest = parts[1]
            report(1)
        return () if rest is whole else (rest,)

    def _accept(self, whole: ItemSet, parts: tuple[ItemSet, ...]) -> bool:
        """Part a set, if all rules stay protected; tell whether they do."""
        for each in parts:
            self.labels[each.items] = each.label
        if self.rules.hold(self.labels, parts):
            return True
        self.labels[whole.items] = whole.label
        return False


# --- PS-rules: public items are parted as long as what may be known leads neither to few rows nor to a secret


_HOW = ("tree", "sample")
_SAMPLE = Fraction(1, 10)  # of the rows
_MOST_PLACES = 8  # in a message


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
    weights: Mapping[Any, float] | pd.Series[float] | None = None,
    random_state: int | np.random.Generator | None = None,
    labels: Labels = "set",
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Merge public items into sets, so that known items lead neither to few rows nor to sensitive items.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    rules : iterable of pairs, DataFrame, path, Rules or AllRules
        Pairs of lists of items: what may be known, and what must not be inferred from it; a DataFrame with
        the list columns ``known`` and ``sensitive``; a ``.parquet`` file of it, or a ``.csv`` file with these
        columns, in which ``;`` is between two items; or what `pdanon.constraints.ps_rules` makes, which
        stands for all rules from up to m public items to a sensitive one; or a ``.toml`` file with ``m`` and
        ``sensitive``, which stands for the same.
    k : int
        Least number of rows that the known items of a rule must match; at least 2.
    c : float
        Largest share, above 0 and below 1, of these rows that may hold the sensitive items of the rule.
    suppress : bool
        Suppress sensitive items that are too frequent to be protected, instead of raising an error.
    how : {"tree", "sample"}
        Part the sets on all rows, or on a random sample of them; then sets are merged again where a rule is
        broken in all rows.
    sample : float, optional
        Share of the rows, above 0 and at most 1, for ``how="sample"``. By default 0.1.
    weights : mapping or Series, optional
        Importance of items in [0, 1], 1 where not given: the lower, the longer an item stays merged.
    random_state : int, Generator or None
        Seed, or source of randomness, of the sample.
    labels : {"set", "short", "first"} or callable
        Labels of the sets: ``(a,b)``, ``G017``, ``a +1``, or the text that a function returns for the list of
        their items. ``result.legend`` lists the items of each set.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding. Merged public items are published as ``(a,b)``; sensitive items as they are, or,
        with ``suppress``, not at all: then they are NA in the mapping table, and count in ``loss``.

    Raises
    ------
    InfeasibleError
        If one set of all public items protects not all rules: it is in fewer than k rows, or a sensitive item
        is too frequent in these. The message says how many are, and which is the least ``c`` that works.
    ColumnError, ItemsetDtypeError, FormatError, ParameterError
        If the column, a file or a parameter is not what it should be; or a rule names an item that does not
        occur.

    See Also
    --------
    coherence : Suppresses public items instead, for all rules of a size.
    pcta : Against identification alone.

    Notes
    -----
    Guarantee: ``PSRules(rules, k, c)``. All public items that some rule knows begin as one set, or, if that
    does not protect all rules, all public items do. A set is parted only if all rules that know an item of it
    are protected afterwards, so that at each moment all are.

    Next is always the set that loses most, by ``(2**size - 1) * weight * support``, compared as exact
    integers (then: item order); the weight of a set is the largest of its members'. It is parted so: the two
    items that would lose most as a set (then: the more frequent ones, then item order) begin a part each; the
    others, the most frequent first, go where the loss grows less. Sets for which a rule forbids that wait
    until there are no others. Then single items are taken out of them, those that lose most by themselves
    first, wherever no rule forbids this as well, and what is left is tried again. Items that no rule knows
    stay as they are, unless they are needed to begin with.

    With ``how="sample"`` the same is done on the sample, with ``k * sample``, rounded up, instead of k. Then,
    on all rows, sets are merged as `pcta` does it until what is known is in no row or in k; and those of what
    is known and gives something away, by the cheapest merge; in turns, until no rule is broken.

    Sensitive items are suppressed only for rules that one set of all public items does not protect: of each
    the rarest, if none of it is suppressed already. If fewer than k rows would lose all their items by that,
    more items are suppressed, public ones as well.

    Cost: memory of about 50 bytes for each occurrence, and 50 for each item of each rule. There are fewer
    than ``2 * items`` sets, and for each that cannot be parted in two one step for each of its items. A step
    takes time linear in the rows that hold the set, and in the listed rules that know an item of it; with
    rules from up to m items, m of 3 and more, it looks for those in these rows.

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
    decision = partial(
        decide,
        rules=rules,
        k=k,
        c=c,
        suppress=suppress,
        how=how,
        sample=sample,
        weights=weights,
        random_state=random_state,
    )
    return RECORD.release(frame, column, decision, labels=labels, keep=keep, progress=progress)


def decide(
    columns: ListColumns,
    report: Report,
    *,
    rules: Any,
    k: int,
    c: float,
    suppress: bool,
    how: str,
    sample: float | None,
    weights: Any,
    random_state: Any,
) -> Decision[ListRows]:
    """Which public items are a set, and which sensitive ones are suppressed."""
    itemsets = columns.itemsets
    guarantee = PSRules(rules=rules, k=k, c=c)
    share = _share_of_rows(check_known(how, _HOW, "way", where="how"), sample)
    importance, rng = item_weights(weights, itemsets), random_generator(random_state)
    may_suppress = check_flag(suppress, "suppress")
    asked = rules_of(guarantee, itemsets)
    suppressed = np.zeros(itemsets.n_items, np.bool_)
    sets = _one_set(asked, ~asked.is_sensitive, importance)
    if sets is None:
        suppressed = _too_frequent(asked, may_suppress)
        sets = _one_set(asked.without(suppressed), ~asked.is_sensitive, importance)
        assert sets is not None
    if share is None:
        sets.part(report)
        labels = sets.labels
    else:
        labels = repaired(sets.rules, _parted_in_sample(sets, share, rng, report), importance, report)
    labels = np.where(asked.is_sensitive | (labels < 0), np.arange(len(labels), dtype=np.int32), labels)
    recoding = Recoding.of_clusters(np.where(suppressed, np.int32(-1), labels), itemsets)
    return decide_lists(columns, recoding, guarantee, {"rules": guarantee.rules})


def _share_of_rows(how: str, sample: Any) -> Fraction | None:
    """The share of the rows that is drawn; None if all are looked at."""
    if how == "tree" and sample is not None:
        problem, hint = "sample is of no use", 'leave it out, or say how="sample"'
        raise ParameterError(problem, where="sample", got='how="tree"', hint=hint)
    if how == "tree":
        return None
    share = _SAMPLE if sample is None else check_share(sample, "sample")
    if not share:
        raise ParameterError("sample must be above 0", where="sample", got="0")
    return share


def _one_set(
    rules: RuleCheck, public: NDArray[np.bool_], weights: NDArray[np.int64] | None
) -> Bisection | None:
    """One set that protects the rules: of the items that may be known, or of all public ones; or none."""
    every = (Bisection(rules, np.flatnonzero(items), weights) for items in (rules.known, public))
    return next((sets for sets in every if sets.is_protected()), None)


def _too_frequent(rules: RuleCheck, may_suppress: bool) -> NDArray[np.bool_]:
    """The sensitive items that one set of all public items does not protect, if they may be suppressed."""
    index = rules.index
    rows = index.within(rows_of(index, np.flatnonzero(~rules.is_sensitive)))
    if rows.n_rows < rules.k:
        raise InfeasibleError(
            "k is larger than the number of rows that hold a public item",
            got=f"k={rules.k}, {rows.n_rows} of {index.n_rows} rows",
            hint="choose a smaller k, or more rows",
        )
    inferred = rules.inferred()
    supports = rows.supports(inferred.codes, inferred.offsets)
    broken = too_many(supports, rows.n_rows, rules.share)
    found = np.zeros(index.n_items, np.bool_)
    if not may_suppress:
        raise _infeasible(broken, int(supports.max()), rows.n_rows, rules.share)
    for items in inferred.take(broken).sets():
        if not found[list(items)].any():
            found[min(items, key=lambda item: (index.singles[item], item))] = True
    return found


def _infeasible(broken: NDArray[np.bool_], most: int, n_rows: int, share: Fraction) -> InfeasibleError:
    numbers = np.flatnonzero(broken)
    places = ", ".join(map(str, numbers[:_MOST_PLACES])) + (", ..." if len(numbers) > _MOST_PLACES else "")
    digits = -(-most * 10**4 // n_rows) / 10**4  # rounded up, so that it does work
    least = f"the least c that works is {most}/{n_rows}, about {digits:g}; " if most < n_rows else ""
    return InfeasibleError(
        "sensitive items are so frequent that one set of all public items gives them away",
        where="c",
        got=f"{len(numbers)} of {len(broken)} sensitive itemsets, in item order those at {places}, are in "
        f"more than c={format_share(share)} of the {n_rows} rows with a public item",
        hint=f"{least}suppress=True leaves such items out of the release",
    )


def _parted_in_sample(sets: Bisection, share: Fraction, rng: np.random.Generator, report: Report) -> Codes:
    """The sets that a sample of the rows would allow."""
    index = sets.rules.index
    weights = rng.binomial(index.weights, float(share))
    drawn = index.within(weights > 0)
    rows = SupportIndex(drawn.codes, drawn.offsets, drawn.n_items, weights[weights > 0])
    sampled = sets.among(rows, ceil(sets.rules.k * share))
    if sampled.is_protected():
        sampled.part(report)
    return sampled.labels


RECORD = Algorithm(
    ps_rules,
    (PSRules,),
    recodes="items",
    decide=decide,
    unit="sets",
    ways=(Way(PSRules, 10),),
)
