"""Common steps of the algorithms that merge items into clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.states.clusters import Clusters
from pdanon.algorithms.states.item_order import ItemOrder
from pdanon.algorithms.states.sets_search import Refinement, check_refinable
from pdanon.algorithms.weights import item_weights
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.constraints import privacy_model, read_constraints
from pdanon.guarantees.parameters import ItemLimit, check_share, constraint_table
from pdanon.guarantees.utility import check_release, item_blocks, partition
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import SupportIndex, check_rows
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_flag
from pdanon.recoding.decision import Decision, ListRows, decide_lists
from pdanon.recoding.recoding import Recoding


def protect(
    clusters: Clusters,
    guarantee: KmAnonymity | PrivacyConstraints,
    itemsets: Itemsets,
    report: Report,
) -> None:
    """Merge and suppress until the clusters satisfy a guarantee."""
    if isinstance(guarantee, KmAnonymity):
        clusters.satisfy_km(guarantee.k, guarantee.m, report=report)
    else:
        clusters.satisfy(constraint_table(guarantee.constraints, itemsets), guarantee.k, report=report)


def decide_within_blocks(
    least_first: bool,
    columns: ListColumns,
    report: Report,
    *,
    k: int,
    m: ItemLimit,
    constraints: Any,
    utility: Any,
    max_suppressed: float,
    weights: Any,
    refine: bool,
    random_state: Any = None,
) -> Decision[ListRows]:
    """Decide as COAT, which merges the least frequent item first (``least_first``), or as UPCTA."""
    itemsets = columns.itemsets
    share = check_share(max_suppressed, "max_suppressed")
    blocks = None if utility is None else partition(utility)
    constraints = read_constraints(constraints, columns.label)
    guarantee = privacy_model(constraints, k, m, itemsets)
    if check_flag(refine, "refine"):
        check_refinable(guarantee)
    order = ItemOrder.draw(itemsets, random_state)
    index = SupportIndex.of(order.itemsets)
    allowed = int(share * itemsets.n_items)  # a fraction: rounded down exactly
    importance, block_of = item_weights(weights, order.itemsets), item_blocks(blocks, order.itemsets)
    clusters = Clusters(index, importance, block_of, spare=allowed, least_first=least_first)
    problem = None
    try:
        protect(clusters, guarantee, order.itemsets, report)
        suppresses = bool((clusters.labels < 0).any())
        check_rows(index.n_rows if suppresses else itemsets.n_present, guarantee.k)
    except InfeasibleError as error:
        problem = error
    labels, trace = clusters.labels, None
    del clusters, index  # free memory: losses are measured with a new index
    if refine and problem is None:
        labels, trace = refine_sets(order.itemsets, labels, guarantee, block_of)
    recoding = Recoding.of_clusters(order.restore(labels), itemsets)
    read = {"constraints": constraints, "utility": blocks}
    decided = decide_lists(columns, recoding, guarantee, read, trace=trace, problem=problem)
    if problem is not None:
        return decided
    suppressed = int((decided.rows.recoding.targets < 0).sum())
    if decided.rows.recoding is not recoding and suppressed > allowed:
        digits = -(-suppressed * 10**4 // itemsets.n_items) / 10**4  # rounded up, so that it suffices
        problem = InfeasibleError(
            "hiding fewer than k rows that lose all items takes more suppression than max_suppressed allows",
            where="max_suppressed",
            got=f"max_suppressed={float(share):g} allows {allowed} items; {suppressed} are required",
            hint=f"pass max_suppressed={digits:g}, or larger blocks",
        )
        return decide_lists(columns, recoding, guarantee, read, problem=problem)
    check_release(decided.mapping, blocks, allowed)
    return decided


def refine_sets(
    itemsets: Itemsets,
    labels: Codes,
    guarantee: Guarantee,
    block_of: Numbers | None = None,
) -> tuple[Codes, pd.DataFrame]:
    """Lower the balanced loss as `pdanon.refine` does; return the set of each item, and the trace."""
    search = Refinement(itemsets, labels, guarantee, block_of, "balanced")
    search.descend()
    return search.best.astype(np.int32), search.trace


def merge_occurrences(
    index: SupportIndex,
    blocks: Numbers,
    spare: int,
    k: int,
    m: int | None,
    report: Report,
    *,
    least_first: bool,
    weights: Numbers | None = None,
) -> Codes:
    """Return the set of each occurrence, -1 where it is suppressed."""
    state = Clusters(index, weights, blocks, spare=spare, least_first=least_first)
    state.satisfy_km(k, m, report=report)
    return state.labels[index.codes]
