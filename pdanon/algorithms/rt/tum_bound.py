"""Tum-bound: minimize the loss of the quasi-identifiers within a bound on the loss of the items.

Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos, "Anonymizing Data with Relational and Transaction
Attributes", ECML PKDD 2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.rt.dataset import Clustering, Dataset, MergeStep, at_least, check_cluster
from pdanon.algorithms.rt.merging import Merging, candidates, distances
from pdanon.algorithms.rt.rum import Rum, check_rum
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.algorithms.rt.transaction_side import TransactionSide
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.parameters import ItemLimit, check_share
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Numbers
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_known, random_generator
from pdanon.recoding.result import Anonymized


@called_by_name
def tum_bound(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    quasi: Sequence[Hashable],
    delta: float,
    merge: str = "RT",
    rum: str = "NCP",
    quasi_weights: Mapping[Hashable, float] | None = None,
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    cluster: str = "cluster",
    transaction: str | Transaction = "pcta",
    refine: bool = True,
    random_state: int | np.random.Generator | None = None,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Anonymize quasi-identifiers and items, with a bound on the loss of the items.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
    k : int
        Minimum number of rows that match an attacker's knowledge; at least 2.
    m : int or None
        Maximum number of items that the attacker knows. None: all items of a row.
    quasi : sequence of hashable
        Labels of the other columns that an attacker may know.
    delta : float
        Upper bound on the loss of the items, in [0, 1]: NCP, or the measure ``tum`` of ``transaction``.
    merge : {"R", "T", "RT"}
        Similarity of the clusters to merge: in quasi-identifiers, in transactions, or in both.
    rum : {"NCP", "DM", "C_avg", "Minkowski"}
        Measure of the loss of the quasi-identifiers, in [0, 1]: the average loss of a value (NCP), or the
        root of the average squared loss of the values of a row, averaged over the rows (Minkowski); the
        average over the rows of the size of their class (DM), or the average size of a class (C_avg), as
        shares of all rows. If it is not NCP, the release reports it as ``loss["Rum"]``.
    quasi_weights : mapping, optional
        Weight of each quasi-identifier in its losses, in [0, 1], rounded to thousandths; by default 1.
    hierarchies : mapping, optional
        Hierarchy of each quasi-identifier, in any form that ``Hierarchy.of`` accepts.
    cluster : str
        The algorithm that forms the first clusters: ``"cluster"``, ``"k_member"``, ``"mondrian"``,
        ``"top_down"``, ``"incognito"`` or ``"full_subtree"``.
    transaction : str or Transaction
        The algorithm for the items of a cluster, any that gives k^m-anonymity. Pass a `pdanon.Transaction`
        for a hierarchy, several list columns or sensitive items.
    refine : bool
        Lower the loss of the items afterwards: move items between the sets of each class, or lower its cut,
        as `pdanon.refine` does. Nodes beside sensitive items and nodes of ``"lra"`` are not refined.
    random_state : int, Generator or None
        Seed or generator of the random numbers, for algorithms that use them.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``. ``loss["NCP"]`` is at most ``delta``. It is
        ``loss["NCP_known"]`` beside sensitive items, and ``loss["UL_rows"]`` with ``tum="UL"`` of
        ``transaction``. ``trace`` has the number of ``clusters`` and the losses ``Rum`` and ``Tum`` of
        quasi-identifiers and items, at the start and after each merge.

    Raises
    ------
    InfeasibleError
        If the items lose more than ``delta`` after every merge, or there is at least one row, but fewer
        than k.
    HierarchyError
        If a hierarchy is not a tree or lacks values.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``.

    Small clusters of rows are formed, and their items anonymized. While the items lose more than ``delta``,
    the cluster with the lowest loss of quasi-identifiers is merged with the first candidate. The items of
    the union are anonymized together and refined as by `pdanon.refine`, before their loss is compared with
    the bound. Nodes are refined by single moves only. Where fewer than k rows of a cluster have items, all
    items of the cluster are suppressed.

    Cost: that of the first clusters, a comparison of one cluster with all others for each merge, and
    anonymizing the transactions.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame(
    ...     {"age": [19, 22, 39, 40], "items": [["flu", "cold"], ["flu"], ["cold"], ["flu", "cold"]]}
    ... )
    >>> pdanon.tum_bound(df, k=2, m=2, quasi=["age"], delta=1, random_state=0).frame
            age           items
    0  [19, 22]  ['(cold,flu)']
    1  [19, 22]  ['(cold,flu)']
    2  [39, 40]  ['(cold,flu)']
    3  [39, 40]  ['(cold,flu)']
    >>> pdanon.tum_bound(df, k=2, m=2, quasi=["age"], delta=0.5, random_state=0).frame
            age           items
    0  [19, 40]  ['cold' 'flu']
    1  [19, 40]         ['flu']
    2  [19, 40]        ['cold']
    3  [19, 40]  ['cold' 'flu']
    """
    check_share(delta, "delta")
    check_known(merge, ("R", "T", "RT"), "way to merge", where="merge")
    check_cluster(cluster)
    data = Dataset.of(
        frame,
        column,
        k=k,
        m=m,
        quasi=quasi,
        quasi_weights=quasi_weights,
        hierarchies=hierarchies,
        transaction=transaction,
        refine=refine,
    )
    decision = partial(
        decide, delta=delta, merge=merge, rum=check_rum(rum), cluster=cluster, random_state=random_state
    )
    return data.release("tum_bound", decision, keep=keep, progress=progress)


def decide(
    data: Dataset, report: Report, *, delta: float, merge: str, rum: str, cluster: str, random_state: Any
) -> Clustering:
    """Merge the first clusters until the loss of their transactions keeps the bound."""
    bound = check_share(delta, "delta")
    first = data.whole.groups(cluster, random_generator(random_state), report)
    measure = Rum.of(rum, data.table)
    merging = Merging(data.table, first, data.transactions.known, measure)
    numbers, steps = _merge_until(bound, merging, measure, data, merge, report)
    return Clustering(merging.groups, numbers, steps, None if rum == "NCP" else steps[-1].rum)


def _merge_until(
    bound: Fraction, merging: Merging, rum: Rum, data: Dataset, merge: str, report: Report
) -> tuple[Codes, list[MergeStep]]:
    """Merge clusters until the items keep the bound; return the new number of each occurrence, and the steps.

    Hiding emptied rows may lose more, and needs all clusters. It is counted once the clusters alone keep the
    bound, and after the last merge.
    """
    transactions, order = data.transactions, data.transaction.order
    parts = [transactions.protect(rows) for rows in merging.rows]
    losses = [transactions.loss(*part) for part in parts]
    suppresses = [bool((own < 0).any()) for _, own in parts]
    least: float = inf
    steps: list[MergeStep] = []
    while True:
        lost, is_last = sum(losses), len(merging) <= 1  # exact for NCP, as its losses are integers
        steps.append(MergeStep(len(merging), rum.share(merging.total), lost / max(transactions.most, 1)))
        if lost <= bound * transactions.most or is_last:
            numbers = data.hide_emptied(merging.groups, _join_parts(parts, transactions))
            lost = sum(transactions.loss(places, numbers[places]) for places, _ in parts)
            if lost <= bound * transactions.most:
                return numbers, steps
        if is_last or not any(suppresses):
            least = min(least, lost)
        if is_last:
            break
        seed = merging.seed
        unions = merging.losses_with(seed)
        far = None if merge == "R" else distances(merging, seed, transactions if order == "tum" else None)
        other = int(candidates(seed, unions, far, merge)[0])
        merging.merge(seed, other, int(unions[other]))
        first, last = sorted((seed, other))
        parts[first] = transactions.protect(merging.rows[first])
        losses[first] = transactions.loss(*parts[first])
        suppresses[first] = bool((parts[first][1] < 0).any())
        del parts[last], losses[last], suppresses[last]
        report(1)
    raise InfeasibleError(
        "the items lose more than delta allows, whatever is merged",
        where="delta",
        got=f"delta={float(bound):g}, the lowest loss reached is {at_least(least / transactions.most)}",
        hint="pass a delta at least as large, or another transaction= for the items",
    )


def _join_parts(parts: Sequence[tuple[Numbers, Codes]], transactions: TransactionSide) -> Codes:
    """Return the number of each occurrence, given those of each cluster."""
    numbers = np.full(len(transactions.itemsets.codes), -1, np.int32)
    for places, own in parts:
        numbers[places] = own
    return numbers


RECORD = Algorithm(tum_bound, (KKm, KLm), recodes="both")
