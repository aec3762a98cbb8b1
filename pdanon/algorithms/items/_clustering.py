"""What the algorithms that merge items into clusters have in common."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.algorithms.progress import Report, progress_bar
from pdanon.algorithms.states.clusters import Clusters
from pdanon.algorithms.weights import item_weights
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.constraints import privacy_model, read_constraints
from pdanon.guarantees.parameters import check_share, constraint_table
from pdanon.guarantees.utility import check_release, item_blocks, partition
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.collapsed import Collapsed, encoded
from pdanon.itemsets.support import SupportIndex, check_rows
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.release import attempt, release
from pdanon.recoding.result import Anonymized

__all__ = ["cluster_within_blocks", "encoded_with_constraints", "merged", "protect"]


def protect(
    clusters: Clusters,
    guarantee: KmAnonymity | PrivacyConstraints,
    itemsets: Itemsets,
    report: Report,
) -> None:
    """Merge and suppress until the clusters have a guarantee."""
    if isinstance(guarantee, KmAnonymity):
        clusters.satisfy_km(guarantee.k, guarantee.m, report=report)
    else:
        clusters.satisfy(constraint_table(guarantee.constraints, itemsets), guarantee.k, report=report)


def encoded_with_constraints(
    frame: pd.DataFrame | Collapsed, column: Hashable | None, constraints: Any
) -> tuple[int, Itemsets, Any]:
    """The list column, as `encoded` returns it, and the constraints on it."""
    position, itemsets = encoded(frame, column)
    name = None if isinstance(frame, Collapsed) else frame.columns[position]
    return position, itemsets, read_constraints(constraints, name)


def cluster_within_blocks(
    algorithm: str,
    frame: pd.DataFrame,
    column: Hashable | None,
    *,
    k: int,
    m: int | None,
    constraints: Any,
    utility: Any,
    max_suppressed: float,
    weights: Mapping[Any, float] | pd.Series[float] | None,
    progress: bool,
    least_first: bool,
) -> Anonymized:
    """COAT and UPCTA, which differ in the clusters they choose to merge: ``least_first``."""
    share = check_share(max_suppressed, "max_suppressed")
    blocks = None if utility is None else partition(utility)
    position, itemsets, constraints = encoded_with_constraints(frame, column, constraints)
    guarantee = privacy_model(constraints, k, m, itemsets)
    index = SupportIndex.of(itemsets)
    k = guarantee.k
    allowed = int(share * itemsets.n_items)
    clusters = Clusters(
        index,
        item_weights(weights, itemsets),
        item_blocks(blocks, itemsets),
        spare=allowed,
        least_first=least_first,
    )
    asked = {
        "algorithm": algorithm,
        "k": k,
        **({"m": guarantee.m} if isinstance(guarantee, KmAnonymity) else {}),
        "constraints": constraints,
        "utility": blocks,
        "max_suppressed": max_suppressed,
        "weights": weights,
    }
    try:
        with progress_bar(progress, algorithm, "steps") as report:
            protect(clusters, guarantee, itemsets, report)
        suppresses = bool((clusters.labels < 0).any())
        check_rows(index.n_rows if suppresses else itemsets.n_present, k)
    except InfeasibleError as error:
        recoding = Recoding.of_clusters(clusters.labels, itemsets)
        if not isinstance(frame, Collapsed):
            error.partial, _ = attempt(frame, position, itemsets, recoding, guarantee, asked)
        raise
    recoding = Recoding.of_clusters(clusters.labels, itemsets)
    result = release(frame, position, itemsets, recoding, guarantee, asked)
    check_release(result.mapping, blocks, allowed)
    return result


def merged(
    index: SupportIndex,
    blocks: NDArray[np.int64],
    spare: int,
    k: int,
    m: int | None,
    report: Report,
    *,
    least_first: bool,
) -> Codes:
    """The set of each occurrence; -1 where it is suppressed."""
    state = Clusters(index, None, blocks, spare=spare, least_first=least_first)
    state.satisfy_km(k, m, report=report)
    return state.labels[index.codes]
