"""What the algorithms that replace items by nodes of a hierarchy have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pdanon.algorithms.states.cuts import empty_alike
from pdanon.guarantees import KmAnonymity, TransactionalK
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex, check_feasible
from pdanon.itemsets.timing import Report
from pdanon.recoding.decision import Decision, ListRows, decide_lists
from pdanon.recoding.recoding import Recoding

__all__ = ["covered", "decide_groups", "decide_nodes", "of_occurrences"]


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
    guarantee = TransactionalK(k)
    columns = replace(columns, itemsets=empty_alike(columns.itemsets))
    every_row = columns.itemsets.missing_as_empty()  # missing ones hide in each other, too
    index, tree, leaves = covered(every_row, hierarchy, guarantee.k)
    became, groups = nodes(index, tree, leaves, guarantee.k, report)
    return decide_lists(columns, Recoding.of_cut(became, tree, groups, repeats=repeats), guarantee)


def of_occurrences(nodes: Callable[..., Codes], index: SupportIndex, *task: Any, **options: Any) -> Codes:
    """The node of each occurrence, where ``nodes`` says that of each item."""
    return nodes(index, *task, **options)[index.codes]
