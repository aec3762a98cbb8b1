"""Repair: sets of items are merged until all rules are protected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.states.clusters import Clusters
from pdanon.algorithms.states.rules import RuleCheck
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.progress import Report

__all__ = ["repaired"]


def repaired(rules: RuleCheck, labels: Codes, weights: NDArray[np.int64] | None, report: Report) -> Codes:
    """Merge sets until all rules are protected.

    Parameters
    ----------
    rules : RuleCheck
        The rules, which one set of all items would protect.
    labels : ndarray of int32, shape (items,)
        The smallest item of the set that each public item is in; -1 for other items.
    weights : ndarray of int64, shape (items,), optional
        Importance of the items, below 2**16.
    report : callable
        Told of each merge.

    Returns
    -------
    ndarray of int32
        As ``labels``.

    Notes
    -----
    In turns: first sets are merged until what is known is in no row or in k, as `pcta` does; then each
    itemset of sets that gives something away gets the merge of one of its sets that costs least, unless one
    before it has changed it. That can make others rare, or sure, which is seen in the next turn. Each turn
    has a merge.
    """
    n_items, kept = len(labels), labels >= 0
    sizes = np.bincount(labels[kept], minlength=n_items)
    heaviest = None
    if weights is not None:
        heaviest = np.zeros(n_items, np.int64)
        np.maximum.at(heaviest, labels[kept], weights[kept])
    clusters = Clusters(rules.index.recoded(labels, n_items), heaviest, sizes=sizes)
    while True:
        rules.hide(clusters, labels, report)
        merged = np.where(kept, clusters.labels[labels], np.int32(-1))
        breached = rules.breached(merged)
        if not len(breached):
            return merged
        report(clusters.coarsen_each(breached))
