"""Items move between the sets of a release, and sets are parted.

The algorithms that merge items into sets never part what they have merged. Here that is tried, as long as it
loses less and the guarantee stays.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.states.rules import ItemSet, RuleCheck, rows_of, rules_of
from pdanon.algorithms.states.sets_search import KINDS, LOSSES, Price, Refinement, trace_of
from pdanon.errors import ParameterError
from pdanon.guarantees import PSRules
from pdanon.guarantees.utility import check_release, item_blocks
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.compatibility import number_texts
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.timing import is_over
from pdanon.itemsets.validation import find_name
from pdanon.recoding.labels import relabelled_sets
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized, labels_of

__all__ = ["ProtectedSets", "check_loss", "refined_sets"]

_TRIED = 8  # sets that an item is tried in
_ENOUGH = 1_000  # the end is a round that gains less than this part of the loss


class ProtectedSets:
    """Sets of public items that change as long as less is lost, and the best that were found so far.

    Parameters
    ----------
    rules : RuleCheck
        What stays protected.
    labels : ndarray of int, shape (items,)
        The set of each item, -1 if it is suppressed. The sets are protected; sensitive items are by
        themselves or suppressed.
    price : Price
        What is to fall.
    started : float
        Since when seconds are counted; a value of ``time.perf_counter()``.

    Notes
    -----
    A set is known by its smallest item, as `RuleCheck` has it. Memory: 4 bytes for each item of each row.
    """

    def __init__(self, rules: RuleCheck, labels: NDArray[np.int64], price: Price, started: float) -> None:
        gone = labels < 0
        self._rules = rules.without(gone & rules.is_sensitive)
        self._index, self._price, self._started = rules.index, price, started
        self._fixed = rules.is_sensitive | gone
        self._gone = gone
        n = len(labels)
        self._labels = np.full(n, -1, np.int32)
        self._awake = np.ones(n, np.bool_)  # an item without a move is passed over until its set changes
        alone = self._fixed & ~gone
        self._size, self._held, self._support = alone * np.stack(
            (np.ones(n, np.int64), price.worth, price.singles)
        )
        self._sets: dict[int, ItemSet] = {}
        self._place(self._listed(labels))
        self._least = self._cost()
        self._best = self._labels.copy()
        self._curve: list[tuple[float, int]] = []

    def _begin(self, limit: float | None) -> bool:
        """See to it that the sets are protected to begin with; tell whether there was time for that.

        Raises
        ------
        ParameterError
            If a rule is broken.
        """
        if self._curve:
            return True
        for each in self._sets.values():
            if is_over(self._started, limit):
                return False
            if not self._rules.hold(self._labels, [each]):
                raise ParameterError(
                    "the sets of the result are not safe in this frame",
                    where="result",
                    hint="give the frame that the result was made from",
                )
        self._curve.append((time.perf_counter() - self._started, self._least))
        return True

    @property
    def best(self) -> Codes:
        """The set of each item in the best state: its smallest item, -1 if it is suppressed."""
        alone = np.where(self._gone, -1, np.arange(len(self._best)))
        return np.where(self._fixed, alone, self._best).astype(np.int32)

    @property
    def trace(self) -> pd.DataFrame:
        """The least loss over time: columns ``seconds`` and ``loss``."""
        return trace_of((seconds, self._price.share(cost)) for seconds, cost in self._curve)

    def descend(self, limit: float | None = None) -> None:
        """Move items and part sets until little is gained, or the limit is reached."""
        while self._begin(limit) and not is_over(self._started, limit):
            all_awake, before = self._awake.all(), self._cost()
            self._part_all(limit)
            self._move_all(limit)
            after = self._cost()
            self._keep(after)
            if (before - after) * _ENOUGH <= after:
                if all_awake:
                    return
                self._awake[:] = True

    def restart(self, limit: float, rng: np.random.Generator) -> None:
        """Merge sets of the best at random and descend again, until the limit in seconds is reached."""
        if len(np.unique(self._best)) <= 2:  # one set, and -1 for what is by itself
            return
        while self._begin(limit) and not is_over(self._started, limit):
            self._replace(self._listed(self._best))
            for _ in range(rng.integers(1, 2 + len(self._sets) // 4)):
                one, other = rng.choice(sorted(self._sets), 2, replace=False)
                self._change([one, other], [self._together(*self._sets[one].items, *self._sets[other].items)])
            self.descend(limit)

    # --- What is tried

    def _part_all(self, limit: float | None) -> None:
        """Part sets in two, the dearest first, and then their parts, where the rules allow it."""
        awake = [label for label, each in self._sets.items() if self._awake[each.items].all()]
        waiting = sorted(awake, key=lambda label: (self._size[label] * self._held[label], -label))
        while waiting and not is_over(self._started, limit):
            label = waiting.pop()
            for parts in self._halves(self._sets[label]):
                if self._change([label], parts):
                    waiting += [each.label for each in parts]
                    break

    def _halves(self, whole: ItemSet) -> Iterator[list[ItemSet]]:
        """Ways to part a set: what is worth most from the rest, and every second item from the others."""
        if len(whole.items) < 2:
            return
        order = whole.items[np.argsort(-self._price.worth[whole.items], kind="stable")]
        worth = np.cumsum(self._price.worth[order])
        heavy = min(max(int(np.searchsorted(worth, worth[-1] / 2)), 1), len(order) - 1)
        yield [self._together(*order[:heavy]), self._together(*order[heavy:])]
        if len(order) > 2:
            yield [self._together(*order[::2]), self._together(*order[1::2])]

    def _move_all(self, limit: float | None) -> None:
        """Give each item, the dearest first, its best move that the rules allow."""
        free = np.flatnonzero(~self._fixed)
        dearest = np.argsort(-(self._price.worth * self._size[self._labels])[free], kind="stable")
        for item in free[dearest].tolist():
            if is_over(self._started, limit):
                return
            if self._awake[item] and not self._move(item):
                self._awake[item] = False

    def _move(self, item: int) -> bool:
        own = self._sets[int(self._labels[item])]
        if len(own.items) == 1:
            return False
        rest = self._together(*own.items[own.items != item])
        for target in self._targets(item):
            joined = self._sets[target].items if target >= 0 else ()
            others = [own.label] if target < 0 else [own.label, target]
            if self._change(others, [self._together(item, *joined), rest]):
                return True
        return False

    def _targets(self, item: int) -> list[int]:
        """The sets where an item gains, most first; -1 is one of its own. Of equal gains the lowest label."""
        own, labels = int(self._labels[item]), np.append(-1, np.flatnonzero(~self._fixed & (self._size > 0)))
        worth, single = self._price.worth[item], self._price.singles[item]
        beside = self._beside(item)
        size, held, support = (
            np.where(labels < 0, 0, each[labels]) for each in (self._size, self._held, self._support)
        )
        met = np.where(labels < 0, 0, beside[labels])
        scale = np.maximum(size + 1, self._size[own])
        before = self._priced(size, held, support, scale)
        before += self._priced(self._size[own], self._held[own], self._support[own], scale)
        after = self._priced(size + 1, held + worth, support + single - met, scale)
        after += self._priced(
            self._size[own] - 1, self._held[own] - worth, self._support[own] - single + beside[own], scale
        )
        gains = np.where((labels == own) | (before - after <= 1e-12 * before), 0.0, before - after)
        if self._price.loss == LOSSES["UL"]:  # gains of very different size: their logarithms, above 0
            gains = np.where(gains > 0, np.log2(np.where(gains > 0, gains, 1)) + scale + 64, 0)
        order = np.argsort(-gains, kind="stable")[:_TRIED]
        found: list[int] = labels[order][gains[order] > 0].tolist()
        return found

    def _beside(self, item: int) -> NDArray[np.int64]:
        """Transactions in which an item is beside others of each set; the loss may not depend on them."""
        if self._price.loss != LOSSES["UL"]:
            return np.zeros(len(self._labels), np.int64)
        labels = self._labels.copy()
        labels[item] = -1
        near = self._index.within(rows_of(self._index, np.array([item])))
        return near.recode(labels, len(labels)).singles

    def _priced(self, size: Any, held: Any, support: Any, scale: Any) -> Any:
        """What sets cost, as floats that order gains; UL over 2**scale."""
        if self._price.loss == LOSSES["UL"]:
            return (np.ldexp(1.0, size - scale) - np.ldexp(1.0, -scale)) * support
        return np.where(size > 1, (size - self._price.loss) * held.astype(np.float64), 0.0)

    # --- What is changed

    def _together(self, *items: int) -> ItemSet:
        found = np.array(items, np.int32)
        return ItemSet(found, rows_of(self._index, found))

    def _change(self, labels: Sequence[int], sets: Sequence[ItemSet]) -> bool:
        """Replace sets by others of the same items, if all rules stay protected; tell whether they do."""
        for each in sets:
            self._labels[each.items] = each.label
        if not self._rules.hold(self._labels, sets):
            for label in labels:
                self._labels[self._sets[label].items] = label
            return False
        self._remove(labels)
        self._place(sets)
        return True

    def _replace(self, sets: Sequence[ItemSet]) -> None:
        self._remove(list(self._sets))
        self._place(sets)

    def _remove(self, labels: Sequence[int]) -> None:
        for label in labels:
            del self._sets[label]
            self._size[label] = self._held[label] = self._support[label] = 0

    def _place(self, sets: Sequence[ItemSet]) -> None:
        for each in sets:
            self._sets[each.label] = each
            self._labels[each.items] = each.label
            self._awake[each.items] = True
            self._size[each.label] = len(each.items)
            self._held[each.label] = self._price.worth[each.items].sum()
            self._support[each.label] = self._index.weights[each.rows].sum()

    def _listed(self, labels: NDArray[Any]) -> list[ItemSet]:
        """The sets that labels say."""
        free = np.flatnonzero(~self._fixed)
        order = free[np.argsort(labels[free], kind="stable")]
        ends = np.flatnonzero(np.diff(labels[order])) + 1
        return [self._together(*items) for items in np.split(order, ends) if len(items)]

    def _cost(self) -> int:
        """The loss as an exact integer."""
        return self._price.cost(self._size, self._held, self._support, self._gone)

    def _keep(self, cost: int) -> None:
        """Keep the sets, if they lose less than all before."""
        if cost < self._least:
            self._least, self._best = cost, self._labels.copy()
            self._curve.append((time.perf_counter() - self._started, cost))


# --- Items move between the sets of a release, and sets are parted


def refined_sets(task: Task) -> Anonymized:
    """Refine a global recoding to sets; parameters as those of `pdanon.refine`, checked."""
    itemsets, result = task.itemsets, task.result
    labels = _clusters_of(task, itemsets)
    utility = result.parameters.get("utility")
    blocks = item_blocks(utility, itemsets)
    search: Refinement | ProtectedSets
    if isinstance(result.guarantee, PSRules):
        search = _of_rules(task, result.guarantee, itemsets, labels)
    else:
        search = Refinement(itemsets, labels, result.guarantee, blocks, task.asked["loss"], task.started)
    cut_short = task.run(search)
    recoding = Recoding.of_clusters(search.best.astype(np.int32), itemsets)
    before = Recoding.of_clusters(labels.astype(np.int32), itemsets)
    refined = task.released(itemsets, recoding, search.trace, cut_short, before)
    check_release(refined.mapping, utility, int((labels < 0).sum()))
    return refined


def _of_rules(task: Task, guarantee: PSRules, itemsets: Itemsets, labels: NDArray[np.int64]) -> ProtectedSets:
    rules = rules_of(guarantee, itemsets)
    price = Price.of(task.asked["loss"], itemsets, rules.index.singles, rules.index.n_rows)
    return ProtectedSets(rules, labels, price, task.started)


def check_loss(loss: Any) -> Any:
    """Return a loss that can be lowered: a name as in `LOSSES`, or weights of items."""
    if isinstance(loss, (Mapping, pd.Series)):
        return loss
    return find_name(loss, LOSSES, "loss that refine can lower", where="loss")


def _clusters_of(task: Task, itemsets: Itemsets) -> NDArray[np.int64]:
    """The cluster of each item, -1 if it is suppressed, read from the mapping table."""
    texts = labels_of(task.result, itemsets)
    labels = number_texts(texts)
    sets = Recoding.of_clusters(labels.astype(np.int32), itemsets)
    sets = relabelled_sets(sets, itemsets, task.labels)
    target = pc.index_in(texts.dictionary.cast(sets.labels.type), value_set=sets.labels).fill_null(-2)
    if not np.array_equal(np.append(to_numpy(target), -1)[labels], sets.targets):
        raise ParameterError("the release is not one of sets", where="result", hint=KINDS)
    return labels
