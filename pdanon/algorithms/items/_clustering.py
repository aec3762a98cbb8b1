"""Common steps of the algorithms that merge items into clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items._starting import Start, clusters_of
from pdanon.algorithms.states.clusters import Clusters, ItemOrder
from pdanon.algorithms.states.diverse_sets import DiverseSets, check_diverse
from pdanon.algorithms.states.sets_search import Refinement, check_refinable
from pdanon.algorithms.weights import check_penalty, importance, item_weights
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.breaches import split_rows
from pdanon.guarantees.parameters import check_k, check_share, constraint_table
from pdanon.guarantees.utility import check_release, item_blocks, partition
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, canonical_rows
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import ItemsetTable, SupportIndex, check_feasible, check_rows
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_flag
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding


def merge_items(
    itemsets: Itemsets,
    guarantee: KmAnonymity | PrivacyConstraints | LmDiversity,
    report: Report,
    *,
    first: Codes,
    weights: Numbers | None = None,
    blocks: Numbers | None = None,
    spare: int = 0,
    least_first: bool = False,
) -> tuple[Codes, InfeasibleError | None]:
    """Merge and suppress items until they satisfy a guarantee, from the sets of an earlier release on.

    ``first`` is the first item of the set of each item there.

    Returns
    -------
    labels : ndarray of int32, shape (items,)
        The set of each item, -1 if it is suppressed.
    problem : InfeasibleError or None
        The reason why the guarantee is not reached with ``spare`` suppressed items.
    """
    options: Any = {"spare": spare, "least_first": least_first, "report": report}
    if isinstance(guarantee, LmDiversity):
        return _merge_known(itemsets, guarantee, weights, blocks, options)
    clusters = clusters_of(SupportIndex.of(itemsets), first, weights, blocks, **options)
    try:
        if isinstance(guarantee, KmAnonymity):
            clusters.satisfy_km(guarantee.k, guarantee.m)
        else:
            listed = constraint_table(guarantee.constraints, itemsets)
            images = canonical_rows(first[listed.codes], listed.offsets, itemsets.n_items)
            clusters.satisfy(ItemsetTable.listed(*images), guarantee.k)
    except InfeasibleError as problem:
        return clusters.labels[first], problem
    return clusters.labels[first], None


def _merge_known(
    itemsets: Itemsets,
    guarantee: LmDiversity,
    weights: Numbers | None,
    blocks: Numbers | None,
    options: Any,
) -> tuple[Codes, InfeasibleError | None]:
    """Merge the known items until none of the sensitive items, each a set of its own, can be inferred."""
    hidden = guarantee.is_sensitive(itemsets)
    k, diversity = check_k(guarantee.k), min(guarantee.l, itemsets.n_rows + 1)
    known, secrets = split_rows(itemsets, hidden)
    check_feasible(known, k, itemsets.n_present)
    check_diverse(known, secrets, diversity, itemsets.n_present)
    items = np.flatnonzero(~hidden).astype(np.int32)
    kinds = np.zeros(itemsets.n_items, np.int64) if blocks is None else blocks
    own = known.recode(np.searchsorted(items, np.arange(itemsets.n_items)), len(items))
    clusters = Clusters(own, None if weights is None else weights[items], kinds[items], **options)
    labels = np.arange(itemsets.n_items, dtype=np.int32)
    try:
        clusters.satisfy_km(k, guarantee.m)
        merged = np.where(hidden, np.int32(-1), labels)
        merged[items] = np.where(clusters.labels < 0, -1, items[clusters.labels])
        rows = SupportIndex.of(itemsets).distinct()
        spare = options["spare"] - int(np.count_nonzero(clusters.labels < 0))
        both = rows.keep_items(~hidden), rows.keep_items(hidden)
        sets = DiverseSets(*both, merged, kinds, diversity, itemsets.n_items, spare)
        sets.protect(k, guarantee.m)
        return np.where(hidden, labels, sets.labels), None
    except InfeasibleError as problem:
        labels[items] = np.where(clusters.labels < 0, -1, items[clusters.labels])
        return labels, problem


def decide_within_blocks(
    least_first: bool,
    columns: ListColumns,
    report: Report,
    *,
    guarantee: KmAnonymity | PrivacyConstraints | LmDiversity,
    weights: Any,
    refine: bool,
    start: Any,
    random_state: Any = None,
    utility: Any = None,
    max_suppressed: float = 0,
    penalty: float = 1,
    one_set: bool = False,
) -> ListDecision:
    """Decide as COAT, which merges the least frequent item first (``least_first``), or as UPCTA.

    With ``one_set``, decide as PCTA: in the worst case all items become one set.
    """
    itemsets = columns.itemsets
    share, penalty = check_share(max_suppressed, "max_suppressed"), check_penalty(penalty)
    blocks = None if utility is None else partition(utility)
    if check_flag(refine, "refine"):
        check_refinable(guarantee)
    started = Start.of(start, itemsets, guarantee)
    order = ItemOrder.draw(itemsets, random_state)
    if one_set:
        check_feasible(SupportIndex.of(itemsets), check_k(guarantee.k), itemsets.n_present)
    allowed = int(share * itemsets.n_items)  # a fraction: rounded down exactly
    steps, block_of = item_weights(weights, order.itemsets), item_blocks(blocks, order.itemsets.vocabulary)
    options: Any = {"weights": steps, "blocks": block_of, "spare": allowed, "least_first": least_first}
    first = started.first(order, block_of)
    labels, problem = merge_items(order.itemsets, guarantee, report, first=first, **options)
    if problem is None:
        try:
            n_rows = SupportIndex.of(itemsets).n_rows if (labels < 0).any() else itemsets.n_present
            check_rows(n_rows, check_k(guarantee.k))
        except InfeasibleError as error:
            problem = error
    trace = None
    if refine and problem is None:
        labels, trace = refine_sets(order.itemsets, labels, guarantee, block_of, started.kept(order))
    recoding = Recoding.of_clusters(order.restore(labels), itemsets)
    valued = importance(weights, itemsets)
    read = started.parameters if one_set else {**started.parameters, "utility": blocks}
    measured: Any = {"weights": valued, "penalty": penalty}
    decided = decide_lists(columns, recoding, guarantee, read, trace=trace, problem=problem, **measured)
    if problem is not None or one_set:
        return decided
    suppressed = int((decided.rows.recoding.targets < 0).sum())
    if decided.rows.recoding is not recoding and suppressed > allowed:
        digits = -(-suppressed * 10**4 // itemsets.n_items) / 10**4  # rounded up, so that it suffices
        problem = InfeasibleError(
            "hiding fewer than k rows that lose all items takes more suppression than max_suppressed allows",
            where="max_suppressed",
            got=f"max_suppressed={float(share):g} allows {allowed} items; {suppressed} are required",
            hint=f"pass max_suppressed={digits:g}",
        )
        return decide_lists(columns, recoding, guarantee, read, problem=problem, **measured)
    check_release(decided.mapping, blocks, allowed)
    return decided


def refine_sets(
    itemsets: Itemsets,
    labels: Codes,
    guarantee: Guarantee,
    block_of: Numbers | None = None,
    kept: Codes | None = None,
) -> tuple[Codes, pd.DataFrame]:
    """Lower the balanced loss as `pdanon.refine` does; return the set of each item, and the trace.

    ``kept`` is the first item of the set of each item in an earlier release, whose sets are not split.
    """
    search = Refinement(itemsets, labels, guarantee, block_of, "balanced", first=kept)
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
    state = Clusters(index, weights, blocks, spare=spare, least_first=least_first, report=report)
    state.satisfy_km(k, m)
    return state.labels[index.codes]
