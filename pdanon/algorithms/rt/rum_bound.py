"""Rum-bound: minimize the loss of the transactions within a bound on the loss of the quasi-identifiers.

Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos, "Anonymizing Data with Relational and Transaction
Attributes", ECML PKDD 2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.rt.dataset import (
    Decided,
    Part,
    Parts,
    at_least,
    check_options,
    release_clusters,
)
from pdanon.algorithms.rt.merging import Merging, Rum, check_rum, merge_next
from pdanon.algorithms.rt.transaction import Transaction, ways_of
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.parameters import ItemLimit, check_share
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized


@called_by_name
def rum_bound(
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
    block_rows: int | None = None,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Anonymize quasi-identifiers and items, with a bound on the loss of the quasi-identifiers.

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
        Upper bound on the loss of the quasi-identifiers, in [0, 1]: NCP averaged over rows and columns, or
        the measure ``rum``.
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
        Seed or generator of the random numbers; None is the seed 0.
    block_rows : int, optional
        Maximum number of rows that are anonymized together; at least 2k. A larger table is cut into blocks
        of rows with similar quasi-identifiers. By default it is not cut. `config` sets the number of
        processes that work on the blocks.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``; ``loss["NCP_relational"]`` is at most ``delta``,
        unless ``rum`` selects another measure. ``trace`` has the number of ``clusters`` and the losses
        ``Rum`` and ``Tum`` of quasi-identifiers and items, at the start and after each merge. Tum is counted
        only after the last.

    Raises
    ------
    InfeasibleError
        If the first clusters already lose more than ``delta``, or there is at least one row, but fewer
        than k.
    HierarchyError
        If a hierarchy is not a tree or lacks values.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``.

    Small clusters of rows are formed and merged. Each merge joins the cluster that loses least with the
    first candidate whose union keeps the bound. Merging stops when there is no such candidate. Larger
    clusters lose more of the quasi-identifiers and less of the items. The items are then anonymized cluster
    by cluster, and refined as by `pdanon.refine`; nodes are refined by single moves only. Where fewer than k
    rows of a cluster have items, all items of the cluster are suppressed.

    The table is cut in two, and each part again, along its widest column. The blocks are as few as possible,
    and their sizes differ by at most one row. Each block has its own clusters. It may lose as much as its
    first clusters, plus its share of what the bound of the table leaves. A block of a single cluster does
    not use its share up. The guarantee holds for the whole table: all blocks are audited as one.

    Several processes pay off for many large blocks, as each takes seconds to start. A script must start its
    work below ``if __name__ == "__main__":``, as always with processes. If a process is killed,
    ``BrokenProcessPool`` is raised.

    Cost: that of the first clusters, and a comparison of one cluster with all others for each merge.
    Anonymizing the transactions and refining them take about the same time each. The first two grow with the
    square of the rows, or with the rows times those of a block. Memory: a few numbers for each row and
    occurrence, and as much again for blocks.

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
    >>> pdanon.rum_bound(df, k=2, m=2, quasi=["age"], delta=0.2, random_state=0).frame
            age           items
    0  [19, 22]  ['(cold,flu)']
    1  [19, 22]  ['(cold,flu)']
    2  [39, 40]  ['(cold,flu)']
    3  [39, 40]  ['(cold,flu)']
    >>> pdanon.rum_bound(df, k=2, m=2, quasi=["age"], delta=1, random_state=0).frame
            age           items
    0  [19, 40]  ['cold' 'flu']
    1  [19, 40]         ['flu']
    2  [19, 40]        ['cold']
    3  [19, 40]  ['cold' 'flu']
    """
    check_share(delta, "delta")
    check_options(cluster, merge)
    rum = check_rum(rum)
    return release_clusters(RECORD, locals())


def decide_parts(
    parts: Parts, *, delta: float, merge: str, rum: str, cluster: str, random_state: Any
) -> Decided:
    """Form clusters in each part, and merge them within their shares of the bound."""
    check_options(cluster, merge)
    bound, measure = check_share(delta, "delta"), Rum.of(check_rum(rum), parts.table, sum(parts.n_rows))
    first = parts.share(partial(_form, cluster, measure), parts.parts, parts.generators(random_state))
    known, n_clusters, totals = zip(*first, strict=True)
    most = _allowed(totals, parts.n_rows, bound, measure)
    found = parts.share(partial(_anonymize, merge, measure), parts.parts, known, most)
    lost = np.cumsum(np.concatenate(([sum(totals)], *(losses for _, losses in found))))
    steps = measure.tabulate(sum(n_clusters) - np.arange(len(lost)), lost, np.nan)
    return Decided([closed for closed, _ in found], steps, measure.name)


def _form(
    cluster: str, rum: Rum, part: Part, rng: np.random.Generator, report: Report
) -> tuple[Any, int, int]:
    """Form the first clusters of a block; return them as `Part.keep` does, their number, and their loss."""
    block = part.open()
    groups = block.groups(cluster, rng, report)
    merging = Merging(block.table, groups, block.transactions.known, rum)
    return part.keep(groups), len(merging), merging.total


def _allowed(totals: Sequence[int], n_rows: Sequence[int], bound: Fraction, rum: Rum) -> list[int]:
    """Return the bound of each block: the loss of its first clusters, and its share of the remainder."""
    left = rum.limit(bound) - sum(totals)
    if left < 0:
        raise InfeasibleError(
            "the first clusters lose more of the quasi-identifiers than delta allows",
            where="delta",
            got=f"delta={float(bound):g}, they lose {at_least(rum.share(sum(totals)))}",
            hint="pass a delta at least as large",
        )
    return [total + left * own // max(sum(n_rows), 1) for total, own in zip(totals, n_rows, strict=True)]


def _anonymize(
    merge: str, rum: Rum, part: Part, known: Any, most: int, report: Report
) -> tuple[Any, Numbers]:
    """Merge the first clusters of a block.

    Return what `Part.close` returns, and the loss of the quasi-identifiers that each merge added.
    """
    block, (groups,) = part.open(), part.kept(known)
    merging = Merging(block.table, groups, block.transactions.known, rum)
    totals = [merging.total]
    while merge_next(merging, most, merge, block.transactions.compared):
        totals.append(merging.total)
        report(1)
    numbers = block.protect(merging.groups, report)
    return part.close(block, merging.groups, numbers), np.diff(totals)


RECORD = Algorithm(
    rum_bound,
    (KKm, KLm),
    recodes="both",
    parts=decide_parts,
    ways=ways_of([(30, {"delta": 0.1}), (40, {"delta": 0.25}), (50, {"delta": 0.5})]),
)
