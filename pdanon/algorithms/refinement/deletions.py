"""Refinement of deletions: deleted occurrences return, and others are deleted, where less is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items.local_suppression import LabelTable, keep_labels
from pdanon.algorithms.refinement.nodes import check_mapping, mapped_items
from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.states.deletions import Start
from pdanon.algorithms.weights import importance
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.lists import Mask, Numbers, find_numbers, mask_at
from pdanon.itemsets.timing import (
    COUNTER,
    Clock,
    TimedSearch,
    TimeLimitError,
    assigned,
    limit_time,
    part_done,
)
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.result import Anonymized, other_frame

_ROUNDS = 3  # annealings without a time limit
_COOL = 0.5  # factor of the temperatures of every second one


class DeletionRefinement(TimedSearch):
    """Deletions of labels that are annealed again, each time more slowly, with the best release so far."""

    def __init__(self, table: LabelTable, kept: Mask, guarantee: Guarantee, seed: int, clock: Clock) -> None:
        super().__init__(clock)
        self._table, self._guarantee, self._seed, self._round = table, guarantee, seed, 0
        self.best = kept
        self.is_lowest(table.cost(kept))

    def _share(self, cost: float) -> float:
        return cost / max(self._table.cost(np.zeros_like(self.best)), 1.0)

    @property
    def _is_least(self) -> bool:
        """Whether nothing can be restored: with one known item, all deletions are necessary."""
        return not self._curve[-1][1] or getattr(self._guarantee, "m", None) == 1

    def descend(self) -> None:
        """Anneal some times, or until the time limit is reached."""
        while not self._is_least and self._round < _ROUNDS and not self.is_over():
            self._anneal()

    def restart(self, rng: np.random.Generator) -> None:
        """Anneal until the time limit is reached."""
        while not self._is_least and not self.is_over():
            self._anneal()

    def _anneal(self) -> None:
        """Anneal from the best release, at full heat every second time, and twice as slowly after that."""
        again, hot = divmod(self._round, 2)
        self._round += 1
        start = Start(self.best, 2 << again, 1.0 if hot else _COOL)
        left = np.inf if self.clock.limit is None else self.clock.limit - self.clock.passed
        try:
            with limit_time(left), assigned(COUNTER, part_done):
                kept = keep_labels(self._table, self._guarantee, self._seed + self._round, start)
        except TimeLimitError:
            return
        if self.is_lowest(self._table.cost(kept)):
            self.best = kept


def refine_deletions(task: Task) -> Anonymized:
    """Refine a release by deletions, also of the labels of sets."""
    itemsets, result = task.itemsets, task.result
    kept, sets = _read_occurrences(result, itemsets)
    table = LabelTable.of(itemsets, sets, _worth(task, itemsets, sets))
    kept = mask_at(len(table.joined.codes), table.places()[kept])
    before = table.recoding(kept)
    check_mapping(result, itemsets, before)
    seed = int(random_generator(task.options["random_state"]).integers(1, 2**62))
    search = DeletionRefinement(table, kept, result.guarantee, seed, task.clock)
    cut_short = task.run(search)
    recoding = table.recoding(search.best)
    return task.publish(itemsets, recoding, search.trace, cut_short, before)


def _worth(task: Task, itemsets: Itemsets, sets: Numbers | None) -> Any:
    """Return what a deletion of each item loses: its weight, or 1 less the loss of its set."""
    if not isinstance(task.options["loss"], str):
        return importance(task.options["loss"], itemsets)
    base = task.base
    if sets is None:
        return None
    sizes = np.bincount(sets)[sets]
    return 1 - np.where(sizes > 1, (sizes - base) / max(len(sets) - base, 1), 0.0)


def _read_occurrences(result: Anonymized, itemsets: Itemsets) -> tuple[Mask, Numbers | None]:
    """Return whether each occurrence is kept, and the number of the set of each item, if there are sets."""
    mapping, items = result.mapping, mapped_items(result, itemsets)
    assert result.groups is not None  # it is a local recoding
    labels, _ = pd.factorize(mapping["generalized"])
    n = np.int64(itemsets.n_items)
    keys = mapping["group"].to_numpy() * n + items
    places = find_numbers(keys, result.groups.to_numpy()[itemsets.rows] * n + itemsets.codes)
    if (places < 0).any():
        raise other_frame("rows with other items")
    sets = None
    if result.parameters["deletion_price"] is not None:
        of_item = np.arange(-itemsets.n_items, 0)
        of_item[items[labels >= 0]] = labels[labels >= 0]
        sets = np.unique(of_item, return_inverse=True)[1]
    return labels[places] >= 0, sets
