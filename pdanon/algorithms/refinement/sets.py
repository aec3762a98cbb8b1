"""Refinement of sets: items move between the sets of a release, and sets are split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.relational.quasi import split_groups
from pdanon.algorithms.states.clusters import ItemOrder
from pdanon.algorithms.states.rules import ItemSet, RuleCheck, rows_of, rules_of
from pdanon.algorithms.states.sets_search import KINDS, LOSSES, Nearness, Price, Refinement
from pdanon.errors import ParameterError
from pdanon.guarantees import PSRules
from pdanon.guarantees.utility import check_release, item_blocks
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.timing import Clock, TimedSearch
from pdanon.itemsets.validation import find_name
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized, labels_of

_TRIED = 8  # sets tried for an item
_ENOUGH = 1_000  # the search ends when a round gains less than this part of the loss


class ProtectedSets(TimedSearch):
    """Sets of public items that change to lower the loss, with the best state so far."""

    # ``labels`` is the set of each item, -1 if it is suppressed. The sets protect the rules. Sensitive items
    # are sets of their own or suppressed.
    # A set is identified by its smallest item, as in `RuleCheck`. Memory: 4 bytes per item of each row.

    def __init__(self, rules: RuleCheck, labels: Numbers, price: Price, clock: Clock) -> None:
        super().__init__(clock)
        gone = labels < 0
        self._rules = rules.without(gone & rules.is_sensitive)
        self._index, self._price = rules.index, price
        self._fixed = rules.is_sensitive | gone
        self._gone = gone
        n = len(labels)
        self._labels = np.full(n, -1, np.int32)
        self._awake = np.ones(n, np.bool_)  # an item without a move sleeps until its set changes
        alone = self._fixed & ~gone
        self._size, self._worth, self._support = alone * np.stack(
            (np.ones(n, np.int64), price.worth, price.singles)
        )
        self._sets: dict[int, ItemSet] = {}
        self._place(self._list_sets(labels))
        self._best = self._labels.copy()

    def _check_start(self) -> bool:
        """Check that the sets protect the rules at the start; return whether the time sufficed."""
        if self._curve:
            return True
        for each in self._sets.values():
            if self.is_over():
                return False
            if not self._rules.holds(self._labels, each):
                raise ParameterError(
                    "the sets of the result are not safe in this frame",
                    where="result",
                    hint="pass the original frame of the result",
                )
        return self.is_lowest(self._cost())

    @property
    def best(self) -> Codes:
        """The set of each item in the best state: its smallest item, -1 if it is suppressed."""
        alone = np.where(self._gone, -1, np.arange(len(self._best)))
        return np.where(self._fixed, alone, self._best).astype(np.int32)

    def _share(self, cost: float) -> float:
        return self._price.share(cost)

    def descend(self) -> None:
        """Move items and split sets until little is gained, or the time limit is reached."""
        while self._check_start() and not self.is_over():
            all_awake, before = self._awake.all(), self._cost()
            self._split_all()
            self._move_all()
            after = self._cost()
            if self.is_lowest(after):
                self._best = self._labels.copy()
            if (before - after) * _ENOUGH <= after:
                if all_awake:
                    return
                self._awake[:] = True

    def restart(self, rng: np.random.Generator) -> None:
        """Merge sets of the best state at random and descend again, until the time limit is reached."""
        if len(np.unique(self._best)) <= 2:  # one set, and -1 for fixed items
            return
        while self._check_start() and not self.is_over():
            self._remove(list(self._sets))
            self._place(self._list_sets(self._best))
            for _ in range(rng.integers(1, 2 + len(self._sets) // 4)):
                one, other = rng.choice(sorted(self._sets), 2, replace=False)
                self._change([one, other], [self._make_set(*self._sets[one].items, *self._sets[other].items)])
            self.descend()

    # --- Steps

    def _split_all(self) -> None:
        """Split sets in two, most expensive first, and then their parts, where the rules allow it."""
        awake = [label for label, each in self._sets.items() if self._awake[each.items].all()]
        waiting = sorted(awake, key=lambda label: (self._size[label] * self._worth[label], -label))
        while waiting and not self.is_over():
            label = waiting.pop()
            for parts in self._halves(self._sets[label]):
                if self._change([label], parts):
                    waiting += [each.label for each in parts]
                    break

    def _halves(self, whole: ItemSet) -> Iterator[list[ItemSet]]:
        """Yield splits of a set: the items of most worth and the rest; every second item and the others."""
        if len(whole.items) < 2:
            return
        order = whole.items[np.argsort(-self._price.worth[whole.items], kind="stable")]
        worth = np.cumsum(self._price.worth[order])
        heavy = min(max(int(np.searchsorted(worth, worth[-1] / 2)), 1), len(order) - 1)
        yield [self._make_set(*order[:heavy]), self._make_set(*order[heavy:])]
        if len(order) > 2:
            yield [self._make_set(*order[::2]), self._make_set(*order[1::2])]

    def _move_all(self) -> None:
        """Make the best move of each item that the rules allow, most expensive items first."""
        free = np.flatnonzero(~self._fixed)
        dearest = np.argsort(-(self._price.worth * self._size[self._labels])[free], kind="stable")
        for item in free[dearest].tolist():
            if self.is_over():
                return
            if self._awake[item] and not self._move(item):
                self._awake[item] = False

    def _move(self, item: int) -> bool:
        own = self._sets[int(self._labels[item])]
        if len(own.items) == 1:
            return False
        rest = self._make_set(*own.items[own.items != item])
        for target in self._targets(item):
            joined = self._sets[target].items if target >= 0 else ()
            others = [own.label] if target < 0 else [own.label, target]
            if self._change(others, [self._make_set(item, *joined), rest]):
                return True
        return False

    def _targets(self, item: int) -> list[int]:
        """Return the sets with the largest gains for an item (then: lowest label); -1 is a new set."""
        own, labels = int(self._labels[item]), np.append(-1, np.flatnonzero(~self._fixed & (self._size > 0)))
        worth, single = self._price.worth[item], self._price.singles[item]
        shared = self._count_shared(item)
        size, worths, support = (
            np.where(labels < 0, 0, each[labels]) for each in (self._size, self._worth, self._support)
        )
        met = np.where(labels < 0, 0, shared[labels])
        scale = np.maximum(size + 1, self._size[own])
        before = self._price_sets(size, worths, support, scale)
        before += self._price_sets(self._size[own], self._worth[own], self._support[own], scale)
        after = self._price_sets(size + 1, worths + worth, support + single - met, scale)
        after += self._price_sets(
            self._size[own] - 1, self._worth[own] - worth, self._support[own] - single + shared[own], scale
        )
        # Gains within rounding error count as none.
        gains = np.where((labels == own) | (before - after <= 1e-12 * before), 0.0, before - after)
        if (
            self._price.loss == LOSSES["UL"]
        ):  # gains differ by orders of magnitude: compare logarithms above 0
            gains = np.where(gains > 0, np.log2(np.where(gains > 0, gains, 1)) + scale + 64, 0)
        order = np.argsort(-gains, kind="stable")[:_TRIED]
        return labels[order][gains[order] > 0].tolist()

    def _count_shared(self, item: int) -> Numbers:
        """Count the rows that an item shares with each set; zeros if the loss does not need them."""
        if self._price.loss != LOSSES["UL"]:
            return np.zeros(len(self._labels), np.int64)
        labels = self._labels.copy()
        labels[item] = -1
        near = self._index.within(rows_of(self._index, np.array([item])))
        return near.recode(labels, len(labels)).singles

    def _price_sets(self, size: Any, worths: Any, support: Any, scale: Any) -> Any:
        """Return the costs of sets as floats that order gains; UL is divided by 2**scale."""
        if self._price.loss == LOSSES["UL"]:
            return (np.ldexp(1.0, size - scale) - np.ldexp(1.0, -scale)) * support
        return np.where(size > 1, (size - self._price.loss) * worths.astype(np.float64), 0.0)

    # --- Changes

    def _make_set(self, *items: int) -> ItemSet:
        found = np.array(items, np.int32)
        return ItemSet(found, rows_of(self._index, found))

    def _change(self, labels: Sequence[int], sets: Sequence[ItemSet]) -> bool:
        """Replace sets by others of the same items if all rules stay protected; return whether they do."""
        for each in sets:
            self._labels[each.items] = each.label
        if not all(self._rules.holds(self._labels, each) for each in sets):
            for label in labels:
                self._labels[self._sets[label].items] = label
            return False
        self._remove(labels)
        self._place(sets)
        return True

    def _remove(self, labels: Sequence[int]) -> None:
        for label in labels:
            del self._sets[label]
            self._size[label] = self._worth[label] = self._support[label] = 0

    def _place(self, sets: Sequence[ItemSet]) -> None:
        for each in sets:
            self._sets[each.label] = each
            self._labels[each.items] = each.label
            self._awake[each.items] = True
            self._size[each.label] = len(each.items)
            self._worth[each.label] = self._price.worth[each.items].sum()
            self._support[each.label] = self._index.weights[each.rows].sum()

    def _list_sets(self, labels: NDArray[Any]) -> list[ItemSet]:
        """Return the sets of labels."""
        free = np.flatnonzero(~self._fixed)
        return [self._make_set(*free[places]) for places in split_groups(labels[free]) if len(places)]

    def _cost(self) -> float:
        """Return the loss as an exact integer."""
        return self._price.cost(self._size, self._worth, self._support, self._gone)


# --- The refinement of a release


def refine_sets(task: Task) -> Anonymized:
    """Refine a global recoding to sets."""
    itemsets, result = task.itemsets, task.result
    labels = _read_clusters(task, itemsets)
    utility = result.parameters.get("utility")
    order = ItemOrder.draw(itemsets, task.options["random_state"])
    rows, start = order.itemsets, order.arrange(labels)
    search: Refinement | ProtectedSets
    if isinstance(result.guarantee, PSRules):
        if task.options["loss"] == "balanced":
            hint = "lower NCP, LM or UL, or pass a release with KmAnonymity or PrivacyConstraints"
            problem = "the balanced loss of a release with PSRules cannot be lowered"
            raise ParameterError(problem, where="loss", hint=hint)
        rules = rules_of(result.guarantee, rows)
        price = Price.of(task.options["loss"], rows, rules.index.singles, rules.index.n_rows)
        search = ProtectedSets(rules, start, price, task.clock)
    else:
        blocks = item_blocks(utility, rows.vocabulary)
        tree = task.options.get("hierarchy")
        near = None
        if tree is not None:
            near = Nearness.of(Hierarchy.over(tree, itemsets.vocabulary)[0], rows.vocabulary)
        given = rows, start, result.guarantee, blocks, task.options["loss"], task.clock
        search = Refinement(*given, quick=task.quick, nearness=near)
    cut_short = task.run(search)
    if isinstance(search, Refinement) and search.hurried:
        cut_short = cut_short or task.hurry_note
    recoding = Recoding.of_clusters(order.restore(search.best.astype(np.int32)), itemsets)
    before = Recoding.of_clusters(labels.astype(np.int32), itemsets)
    refined = task.publish(itemsets, recoding, search.trace, cut_short, before)
    check_release(refined.mapping, utility, int((labels < 0).sum()))
    return refined


def check_loss(loss: Any) -> Any:
    """Return a loss that can be lowered: a name in `LOSSES`, or weights of items."""
    if isinstance(loss, (Mapping, pd.Series)):
        return loss
    return find_name(loss, LOSSES, "loss that refine can lower", where="loss")


def _read_clusters(task: Task, itemsets: Itemsets) -> Numbers:
    """Read the cluster of each item from the mapping table, -1 if it is suppressed."""
    texts = labels_of(task.result, itemsets)
    labels = number_texts(texts)
    sets = Recoding.of_clusters(labels.astype(np.int32), itemsets)
    target = pc.index_in(texts.dictionary.cast(sets.labels.type), value_set=sets.labels).fill_null(-2)
    if not np.array_equal(np.append(to_numpy(target), -1)[labels], sets.targets):
        raise ParameterError(
            "the labels of the release are not sets of its items", where="result", hint=KINDS
        )
    return labels
