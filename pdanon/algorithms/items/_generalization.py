"""Common steps of the algorithms that generalize items to nodes of a hierarchy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pdanon.algorithms.items._starting import StartCut
from pdanon.algorithms.states.cuts import CutTask, NodePrices, Scenario, merge_empty_rows
from pdanon.algorithms.weights import item_weights
from pdanon.guarantees import KmAnonymity, TransactionalK
from pdanon.guarantees.parameters import check_k
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import SupportIndex, check_feasible
from pdanon.itemsets.validation import check_known
from pdanon.recoding.decision import ListDecision, decide_lists, labels_to_suppress
from pdanon.recoding.recoding import Recoding


def cut_task(itemsets: Itemsets, hierarchy: HierarchyLike, k: int, m: int | None) -> CutTask:
    """Return the task to publish items as nodes of a hierarchy; check that k rows can be equal."""
    rows = SupportIndex.of(itemsets)
    check_feasible(rows, k, itemsets.n_present)
    tree, leaves = Hierarchy.over(hierarchy, itemsets.vocabulary)
    return CutTask(rows, tree, leaves, k, m)


def started_task(
    itemsets: Itemsets, hierarchy: HierarchyLike, guarantee: KmAnonymity, start: Any, *, drop: bool
) -> tuple[CutTask, dict[str, str]]:
    """Return the task as `cut_task`, from the nodes of an earlier release on, and parameters to record."""
    task = cut_task(itemsets, hierarchy, check_k(guarantee.k), guarantee.m)
    started = StartCut.of(start, itemsets, guarantee, task.tree, task.leaves, drop=drop)
    return task._replace(lowest=started.nodes, hidden=started.hidden), started.parameters


def decide_nodes(
    nodes: Callable[..., Codes],
    columns: ListColumns,
    *,
    guarantee: KmAnonymity,
    hierarchy: HierarchyLike,
    start: Any = None,
) -> ListDecision:
    """Recode each item in the same way in all rows, to the node that ``nodes`` returns; -1 suppresses it."""
    task, read = started_task(columns.itemsets, hierarchy, guarantee, start, drop=True)
    return decide_lists(columns, Recoding.of_cut(nodes(task), task.tree), guarantee, read)


def decide_priced_nodes(
    nodes: Callable[..., Codes], columns: ListColumns, *, loss: str, weights: Any, **others: Any
) -> ListDecision:
    """Recode as `decide_nodes`, where ``nodes`` lowers a loss and weighs the items."""
    check_known(loss, ("LM", "NCP"), "loss", where="loss")
    priced = partial(nodes, loss=loss, weights=item_weights(weights, columns.itemsets))
    return decide_nodes(priced, columns, **others)


def choose_scenario(path: Sequence[Scenario], task: CutTask, prices: NodePrices) -> Codes:
    """Return the nodes of the cheapest scenario after it hides its emptied rows."""
    # If a scenario empties fewer than k rows, more of its nodes are suppressed. Ties: the first scenario.
    # ``path``: safe scenarios, by descending cost. ``task``: the rows and the hierarchy. If any row is
    # emptied, at least k are. ``prices``: the losses, which are those of the scenarios. Returns the node of
    # each item, -1 where it is suppressed.
    index = task.rows
    itemsets = index.to_rows(pa.array(task.leaves))
    best, least = None, 0
    for scenario in reversed(path):
        if best is not None and scenario.cost > least:  # earlier scenarios cost even more
            break
        nodes = scenario.nodes_of(task.leaves)
        gone = labels_to_suppress(nodes[index.codes].astype(np.int64), itemsets, task.k)
        nodes[np.isin(nodes, gone)] = -1
        cost = prices.sum_over(nodes, index.singles)
        if best is None or cost <= least:
            best, least = nodes, cost
        if not len(gone):
            break
    assert best is not None  # a path is not empty
    return best


def decide_groups(
    nodes: Callable[..., tuple[Codes, Codes]],
    columns: ListColumns,
    *,
    guarantee: TransactionalK,
    hierarchy: HierarchyLike,
    repeats: bool = False,
) -> ListDecision:
    """Recode groups of rows to the nodes that ``nodes`` returns; the rows of a group become equal."""
    columns = replace(columns, itemsets=merge_empty_rows(columns.itemsets))
    every_row = columns.itemsets.missing_as_empty()  # k missing rows hide each other, too
    task = cut_task(every_row, hierarchy, guarantee.k, None)
    became, groups = nodes(task)
    return decide_lists(columns, Recoding.of_cut(became, task.tree, groups, repeats=repeats), guarantee)
