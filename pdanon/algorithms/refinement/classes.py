"""The transactions of classes of equal quasi-identifiers: each class is refined on its own.

What is safe in each class is safe altogether, so a class is a small table of its own: its sets or its cut
are refined as those of a table are. The quasi-identifiers, and who is in which class, stay.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.algorithms.refinement.cuts import base_of, equal_mappings, published_nodes
from pdanon.algorithms.refinement.task import Task, reached
from pdanon.algorithms.relational.attributes import Numbers
from pdanon.algorithms.rt.dataset import Dataset
from pdanon.algorithms.rt.transaction_side import ClassSearch, held
from pdanon.algorithms.states.cuts_search import CutRefinement
from pdanon.algorithms.states.sets_search import Refinement, trace_of
from pdanon.errors import GuaranteeError, ParameterError, ReleaseWarning
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.compatibility import arrow_values
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import is_over
from pdanon.recoding.release import release
from pdanon.recoding.result import Anonymized, other_frame

__all__ = ["ClassRefinement", "refined_classes"]

_ASKED = ("k", "m", "quasi", "hierarchies", "transaction")


def refined_classes(task: Task) -> Anonymized:
    """Refine the transactions of a table with quasi-identifiers, class by class."""
    original, result = task.original, task.result
    asked = {name: result.parameters[name] for name in _ASKED}
    label = original.columns[task.position]
    data = Dataset.of(original, label, **asked, refine=True)
    (itemsets,) = data.columns
    assert result.groups is not None  # it has classes
    groups = result.groups.to_numpy().astype(np.int64)
    class_search = data.transactions.search
    assert class_search is not None  # who calls has seen to it
    became = _became(result, itemsets, groups, class_search)
    made = _check(result, data, groups, became)
    class_search = replace(class_search, base=base_of(task))
    search = ClassRefinement(itemsets, groups, became, class_search, task.started)
    cut_short = task.run(search)
    numbers = _of_occurrences(search.best, itemsets, groups)
    decide = partial(data.decision, groups, numbers, task.parameters)
    refined = release(data.writer, decide, result.passing.judged)
    trace = search.trace
    if refined.mapping["generalized"].isna().any():  # more than the search has found: to hide emptied rows
        found = search.cost(_became(refined, itemsets, groups, class_search))
        before = search.cost(became)
        if found >= before:
            refined, trace = replace(made, parameters=refined.parameters), trace.head(1)
        else:
            trace = reached(trace, found, before)
    return replace(refined, trace=trace, cut_short=cut_short)


def _became(result: Anonymized, itemsets: Itemsets, groups: Numbers, search: ClassSearch) -> Codes:
    """The node, or a number of the set, of each item in each class; -1 if it is suppressed or not there."""
    if search.cover is None:
        return _numbers(result, itemsets, groups)
    return published_nodes(result, itemsets, *search.cover, groups)


def _numbers(result: Anonymized, itemsets: Itemsets, groups: Numbers) -> Codes:
    """A number of the set of each item in each class, -1 where it is suppressed or not there."""
    mapping = result.mapping
    items = itemsets.lookup(arrow_values(mapping["item"]))
    if (items < 0).any():
        raise other_frame(f"{int((items < 0).sum())} other items")
    labels, texts = pd.factorize(mapping["generalized"])
    group = mapping["group"].to_numpy()
    _, first, number = np.unique(group * len(texts) + labels, return_index=True, return_inverse=True)
    became = np.full(
        (int(max(groups.max(initial=0), group.max(initial=0))) + 1, itemsets.n_items), -1, np.int32
    )
    became[group, items] = np.where(labels < 0, -1, items[first[number]])
    return became


def _of_occurrences(became: Codes, itemsets: Itemsets, groups: Numbers) -> Codes:
    return became[groups[itemsets.rows], itemsets.codes]


def _check(result: Anonymized, data: Dataset, groups: Numbers, became: Codes) -> Anonymized:
    """Check that what was read from the result makes that result again, and return it."""
    numbers = _of_occurrences(became, data.columns[0], groups)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleaseWarning)  # nothing is released here
            made = release(data.writer, partial(data.decision, groups, numbers, {}))
    except GuaranteeError:
        hint = "give the frame that the result was made from"
        problem = "the classes of the result are not safe in this frame"
        raise ParameterError(problem, where="result", hint=hint) from None
    assert made.classes is not None  # it has quasi-identifiers
    assert result.classes is not None
    if not made.classes.equals(result.classes) or not equal_mappings(made.mapping, result.mapping):
        raise other_frame("other classes, or items with other supports")
    return made


@dataclass(frozen=True, eq=False, slots=True)
class _Class:
    """A class: its number, its rows, with the items that they hold, and the codes of these items."""

    number: int
    rows: Itemsets
    items: Codes

    @property
    def singles(self) -> NDArray[np.int64]:
        """Support of each item within the class."""
        return SupportIndex.of(self.rows).singles


class ClassRefinement:
    """What each item became in each class of rows, each class with a search of its own.

    Parameters
    ----------
    itemsets : Itemsets
        The transactions.
    groups : ndarray of int, shape (rows,)
        The class of each row.
    became : ndarray of int32, shape (classes, items)
        The node, or a number of the set, of each item in each class; -1 where it is suppressed or not there.
        In each class they have the guarantee.
    search : ClassSearch
        How a class is refined.
    started : float
        Since when seconds are counted; a value of ``time.perf_counter()``.
    """

    def __init__(
        self, itemsets: Itemsets, groups: Numbers, became: Codes, search: ClassSearch, started: float
    ) -> None:
        self._started, self._class_search = started, search
        self._domain = itemsets.n_items if search.cover is None else search.cover[0].n_leaves
        self._most = max(self._domain - search.base, 1) * len(itemsets.codes)
        self.best = became.copy()
        order = np.argsort(groups, kind="stable")
        bounds = np.flatnonzero(np.diff(groups[order])) + 1
        found = (
            _Class(int(groups[rows[0]]), *held(itemsets.take(rows)))
            for rows in np.split(order, bounds)
            if len(rows)
        )
        costs = [(each, self._cost(each, self.best[each.number, each.items])) for each in found]
        self._classes = [each for each, cost in costs if cost]
        self._least = sum(cost for _, cost in costs)
        self._curve = [(time.perf_counter() - started, self._least)]

    def cost(self, became: Codes) -> int:
        """Loss of the classes that had some to begin with, by what their items became."""
        return sum(self._cost(each, became[each.number, each.items]) for each in self._classes)

    def _search(self, each: _Class) -> Refinement | CutRefinement:
        """A search that begins with the best so far."""
        became = self.best[each.number, each.items]
        return self._class_search.begin(each.rows, each.items, became, self._started)

    @property
    def trace(self) -> pd.DataFrame:
        """The least loss over time: columns ``seconds`` and ``loss``."""
        return trace_of((seconds, cost / max(self._most, 1)) for seconds, cost in self._curve)

    def descend(self, limit: float | None) -> None:
        """Make moves in each class until none gains, or the limit in seconds is reached."""
        for each in self._classes:
            if not is_over(self._started, limit):
                search = self._search(each)
                search.descend(limit)
                self._keep(each, search.best.reshape(-1))

    def restart(self, limit: float, rng: np.random.Generator) -> None:
        """Search on in each class for an equal share of what is left of the time."""
        for done, each in enumerate(self._classes):
            if is_over(self._started, limit):
                break
            passed = time.perf_counter() - self._started
            search = self._search(each)
            search.restart(passed + (limit - passed) / (len(self._classes) - done), rng)
            self._keep(each, search.best.reshape(-1))

    def _keep(self, each: _Class, numbers: NDArray[Any]) -> None:
        before = self.best[each.number, each.items]
        if self._class_search.cover is None:  # one of the items says which set
            kept = numbers >= 0
            _, first, of_item = np.unique(numbers[kept], return_index=True, return_inverse=True)
            numbers = np.full(len(numbers), -1)
            numbers[kept] = each.items[kept][first[of_item]]
        saved = self._cost(each, before) - self._cost(each, numbers)
        if saved > 0:
            self.best[each.number, each.items] = numbers
            self._least -= saved
            self._curve.append((time.perf_counter() - self._started, self._least))

    def _cost(self, each: _Class, numbers: NDArray[Any]) -> int:
        """Loss of a class, by what its items became."""
        base, cover = self._class_search.base, self._class_search.cover
        if cover is None:
            sizes = np.bincount(numbers[numbers >= 0], minlength=int(numbers.max(initial=0)) + 1)[numbers]
        else:
            sizes = cover[0].leaves[numbers].astype(np.int64)
        lost = np.where(sizes > 1, sizes - base, 0)
        lost[numbers < 0] = max(self._domain - base, 1)
        return int(lost @ each.singles)
