"""What the algorithms that replace items by nodes of a hierarchy have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from pdanon.algorithms.states.cuts import empty_alike
from pdanon.algorithms.states.descent import Scenario
from pdanon.guarantees import KmAnonymity, TransactionalK
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex, check_feasible
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import Decision, ListRows, decide_lists
from pdanon.recoding.emptied import labels_to_suppress
from pdanon.recoding.recoding import Recoding

__all__ = ["covered", "decide_groups", "decide_nodes", "hiding_emptied", "of_occurrences", "summed_lm"]


def covered(itemsets: Itemsets, hierarchy: HierarchyLike, k: int) -> tuple[SupportIndex, Hierarchy, Codes]:
    """The rows, of which k can hide in each other, the hierarchy, and the leaf of each item."""
    index = SupportIndex.of(itemsets)
    check_feasible(index, k, itemsets.n_present)
    return index, *Hierarchy.over(hierarchy, itemsets.vocabulary)


def decide_nodes(
    nodes: Callable[..., Codes],
    columns: ListColumns,
    report: Report,
    *,
    k: int,
    m: int | None,
    hierarchy: HierarchyLike,
) -> Decision[ListRows]:
    """Recode each item alike in the whole table, to what ``nodes`` makes of it; -1 suppresses it."""
    guarantee = KmAnonymity(k, m)
    k, m = guarantee.k, guarantee.m
    index, tree, leaves = covered(columns.itemsets, hierarchy, k)
    became = nodes(index, tree, leaves, k, m, report)
    return decide_lists(columns, Recoding.of_cut(became, tree), guarantee)


def hiding_emptied(
    path: Sequence[Scenario], index: SupportIndex, tree: Hierarchy, leaves: Codes, k: int
) -> Codes:
    """What each item becomes by one of some scenarios, with none or at least k emptied rows.

    Where a scenario has fewer, more of its nodes are suppressed. The one that costs least is taken (then:
    the first).

    Parameters
    ----------
    path : sequence of Scenario
        Safe ones, each of less cost than the one before.
    index : SupportIndex
        The rows.
    tree : Hierarchy
        Of their items.
    leaves : ndarray of int32, shape (items,)
        The leaf of each item.
    k : int
        How many rows are to be emptied, if any is.

    Returns
    -------
    ndarray of int32
        The node of each item; -1 where it is suppressed.
    """
    missing = np.zeros(len(index.weights), np.bool_)
    itemsets = Itemsets(index.codes, index.offsets, pa.array(leaves), missing, index.weights)
    best, least = None, 0
    for scenario in reversed(path):
        if best is not None and scenario.cost > least:  # and so does each before
            break
        nodes = scenario.nodes_of(leaves)
        gone = labels_to_suppress(nodes[index.codes].astype(np.int64), itemsets, k)
        nodes[np.isin(nodes, gone)] = -1
        cost = summed_lm(nodes, index, tree)
        if best is None or cost <= least:
            best, least = nodes, cost
        if not len(gone):
            break
    assert best is not None  # a path is not empty
    return best


def summed_lm(nodes: Codes, index: SupportIndex, tree: Hierarchy) -> int:
    """LM of all occurrences, times the leaves of the hierarchy less one: the cost of a scenario."""
    lost = np.where(nodes < 0, tree.n_leaves, tree.leaves[nodes]).astype(np.int64) - 1
    return int(lost @ index.singles)


def decide_groups(
    nodes: Callable[..., tuple[Codes, Codes]],
    columns: ListColumns,
    report: Report,
    *,
    k: int,
    hierarchy: HierarchyLike,
    repeats: bool = False,
) -> Decision[ListRows]:
    """Recode groups of rows, so that they are published alike, to what ``nodes`` makes of them."""
    guarantee = TransactionalK(k=k)
    columns = replace(columns, itemsets=empty_alike(columns.itemsets))
    every_row = columns.itemsets.missing_as_empty()  # missing ones hide in each other, too
    index, tree, leaves = covered(every_row, hierarchy, guarantee.k)
    became, groups = nodes(index, tree, leaves, guarantee.k, report)
    return decide_lists(columns, Recoding.of_cut(became, tree, groups, repeats=repeats), guarantee)


def of_occurrences(nodes: Callable[..., Codes], index: SupportIndex, *task: Any, **options: Any) -> Codes:
    """The node of each occurrence, where ``nodes`` says that of each item."""
    return nodes(index, *task, **options)[index.codes]
