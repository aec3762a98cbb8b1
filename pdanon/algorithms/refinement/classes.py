"""Refinement of the transactions of classes of equal quasi-identifiers, class by class.

If each class is safe, the release is safe. A class is therefore refined like a small table: its sets or its
cut change. The quasi-identifiers and the classes stay.
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

from pdanon.algorithms.refinement.nodes import equal_mappings, published_nodes
from pdanon.algorithms.refinement.task import Task, extend_trace
from pdanon.algorithms.rt.dataset import Dataset
from pdanon.algorithms.rt.transaction_side import ClassSearch, keep_occurring
from pdanon.algorithms.states.cuts_search import CutRefinement
from pdanon.algorithms.states.sets_search import Refinement, trace_of
from pdanon.errors import GuaranteeError, ParameterError, ReleaseWarning
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.dtype import arrow_values
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import is_over
from pdanon.recoding.release import release
from pdanon.recoding.result import Anonymized, other_frame

_PARAMETERS = ("k", "m", "quasi", "quasi_weights", "hierarchies", "transaction")


def refine_classes(task: Task) -> Anonymized:
    """Refine the transactions of a table with quasi-identifiers, class by class."""
    original, result = task.original, task.result
    parameters = {name: result.parameters[name] for name in _PARAMETERS}
    label = original.columns[task.position]
    data = Dataset.of(original, label, **parameters, refine=True)
    (itemsets,) = data.columns
    assert result.groups is not None  # a release with classes has groups
    groups = result.groups.to_numpy().astype(np.int64)
    class_search = data.transactions.search
    assert class_search is not None  # checked by the caller
    became = _read_nodes(result, itemsets, groups, class_search)
    made = _check_result(result, data, groups, became)
    class_search = replace(class_search, base=task.base)
    search = ClassRefinement(itemsets, groups, became, class_search, task.started)
    cut_short = task.run(search)
    numbers = _expand_to_occurrences(search.best, itemsets, groups)
    decide = partial(data.decision, groups, numbers, task.parameters)
    refined = release(data.writer, decide, result.unmodified.judged)
    trace = search.trace
    if refined.mapping["generalized"].isna().any():  # suppressed after the search, to hide emptied rows
        found = search.cost(_read_nodes(refined, itemsets, groups, class_search))
        before = search.cost(became)
        if found >= before:
            refined, trace = replace(made, parameters=refined.parameters), trace.head(1)
        else:
            trace = extend_trace(trace, found, before)
    return replace(refined, trace=trace, cut_short=cut_short)


def _read_nodes(result: Anonymized, itemsets: Itemsets, groups: Numbers, search: ClassSearch) -> Codes:
    """Return the node or set number of each item in each class; -1 if it is suppressed or absent."""
    if search.cover is not None:
        return published_nodes(result, itemsets, *search.cover, groups)
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


def _expand_to_occurrences(became: Codes, itemsets: Itemsets, groups: Numbers) -> Codes:
    return became[groups[itemsets.rows], itemsets.codes]


def _check_result(result: Anonymized, data: Dataset, groups: Numbers, became: Codes) -> Anonymized:
    """Check that the nodes or sets that were read reproduce the result, and return it."""
    numbers = _expand_to_occurrences(became, data.columns[0], groups)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReleaseWarning)  # this is only a check
            made = release(data.writer, partial(data.decision, groups, numbers, {}))
    except GuaranteeError:
        hint = "pass the original frame of the result"
        problem = "the classes of the result are not safe in this frame"
        raise ParameterError(problem, where="result", hint=hint) from None
    assert made.classes is not None  # it has quasi-identifiers
    assert result.classes is not None
    if not made.classes.equals(result.classes) or not equal_mappings(made.mapping, result.mapping):
        raise other_frame("other classes, or items with other supports")
    return made


@dataclass(frozen=True, eq=False, slots=True)
class _Class:
    """A class: its number, its rows with their items, and the codes of the items in the table."""

    number: int
    rows: Itemsets
    items: Codes

    @property
    def singles(self) -> Numbers:
        """Support of each item within the class."""
        return SupportIndex.of(self.rows).singles


class ClassRefinement:
    """The node or set of each item in each class of rows, with a separate search for each class.

    Parameters
    ----------
    itemsets : Itemsets
        The transactions.
    groups : ndarray of int, shape (rows,)
        The class of each row.
    became : ndarray of int32, shape (classes, items)
        The node or set number of each item in each class; -1 if it is suppressed or absent. Each class
        satisfies the guarantee.
    search : ClassSearch
        The search to run in each class.
    started : float
        Start of the time limit, a value of ``time.perf_counter()``.
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
            _Class(int(groups[rows[0]]), *keep_occurring(itemsets.take(rows)))
            for rows in np.split(order, bounds)
            if len(rows)
        )
        costs = [(each, self._cost(each, self.best[each.number, each.items])) for each in found]
        self._classes = [each for each, cost in costs if cost]
        self._least = sum(cost for _, cost in costs)
        self._curve = [(time.perf_counter() - started, self._least)]

    def cost(self, became: Codes) -> int:
        """Return the loss of the classes that had a loss at the start, for other nodes or sets."""
        return sum(self._cost(each, became[each.number, each.items]) for each in self._classes)

    def _search(self, each: _Class) -> Refinement | CutRefinement:
        """Return a search that starts from the best state so far."""
        became = self.best[each.number, each.items]
        return self._class_search.begin(each.rows, each.items, became, self._started)

    @property
    def trace(self) -> pd.DataFrame:
        """The least loss over time, in the columns ``seconds`` and ``loss``."""
        return trace_of((seconds, cost / max(self._most, 1)) for seconds, cost in self._curve)

    def descend(self, limit: float | None) -> None:
        """Make moves in each class until none gains, or the time limit is reached."""
        for each in self._classes:
            if not is_over(self._started, limit):
                search = self._search(each)
                search.descend(limit)
                self._keep(each, search.best.reshape(-1))

    def restart(self, limit: float, rng: np.random.Generator) -> None:
        """Continue the search in each class for an equal share of the remaining time."""
        for done, each in enumerate(self._classes):
            if is_over(self._started, limit):
                break
            passed = time.perf_counter() - self._started
            search = self._search(each)
            search.restart(passed + (limit - passed) / (len(self._classes) - done), rng)
            self._keep(each, search.best.reshape(-1))

    def _keep(self, each: _Class, numbers: NDArray[Any]) -> None:
        before = self.best[each.number, each.items]
        if self._class_search.cover is None:  # an item of the set becomes its number
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
        """Return the loss of a class for the nodes or sets of its items."""
        base, cover = self._class_search.base, self._class_search.cover
        if cover is None:
            sizes = np.bincount(numbers[numbers >= 0], minlength=int(numbers.max(initial=0)) + 1)[numbers]
        else:
            sizes = cover[0].leaves[numbers].astype(np.int64)
        lost = np.where(sizes > 1, sizes - base, 0)
        lost[numbers < 0] = max(self._domain - base, 1)
        return int(lost @ each.singles)
