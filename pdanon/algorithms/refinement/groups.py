"""Rows move between groups that are published alike, or change places with rows of others.

The algorithms that form groups decide row by row, or split by split, and never look back. Here a row goes to
another group, or two rows swap theirs, as long as that loses less and no group gets smaller than k.
"""

from __future__ import annotations

import numpy as np

from pdanon.algorithms.refinement.cuts import (
    base_of,
    check_mapping,
    cover_of,
    groups_of,
    published_occurrences,
)
from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.algorithms.states.groups_search import GroupRefinement
from pdanon.algorithms.states.leaf_rows import LeafRows, by_first_row, empty_alike
from pdanon.guarantees import TransactionalK
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["refined_groups"]


def refined_groups(task: Task) -> Anonymized:
    """Refine groups of rows that are published alike."""
    itemsets, result = empty_alike(task.itemsets), task.result
    tree, leaves = cover_of(result.parameters["hierarchy"], itemsets)
    groups = groups_of(result)
    guarantee = result.guarantee
    assert groups is not None  # it is a local recoding
    assert isinstance(guarantee, TransactionalK)
    bags, mapping = ALGORITHMS[result.parameters["algorithm"]].repeats, result.mapping
    rows = LeafRows.of(itemsets.codes, itemsets.offsets, leaves)
    silent = ~np.isin(groups, mapping["group"][mapping["generalized"].notna()])
    group_of = np.where(silent, -1, groups)
    search = GroupRefinement(rows, tree, group_of, guarantee.k, bags, base_of(task), task.started)
    before = search.nodes if bags else published_occurrences(result, itemsets, tree, leaves, groups)
    check_mapping(result, itemsets, Recoding.of_cut(before, tree, groups, repeats=bags))
    search.descend(task.limit)
    cut_short = task.cut_short
    of_row = by_first_row(search.group_of)
    recoding = Recoding.of_cut(search.nodes, tree, of_row, repeats=bags)
    return task.released(itemsets, recoding, search.trace(before), cut_short)
