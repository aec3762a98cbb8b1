"""Greedy k-member clustering: grow clusters one row at a time, whichever row loses least.

Byun, Kamra, Bertino, Li, "Efficient k-Anonymization Using Clustering Techniques", DASFAA 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.relational.publishing import release_classes
from pdanon.algorithms.relational.quasi import Classes, Digests, QuasiTable, numbered
from pdanon.algorithms.relational.suppression import trimmed
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "grow_members", "k_member"]


@called_by_name
def k_member(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    random_state: int | np.random.Generator | None = None,
    suppress: float = 0,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Grow clusters of k rows, one row at a time, and publish what covers each.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    quasi : sequence of hashable
        Labels of the columns that an attacker may know.
    hierarchies : mapping, optional
        By quasi-identifier, a hierarchy or what ``Hierarchy.of`` makes one of.
    random_state : int, Generator or None
        Where the first seed comes from.
    suppress : float
        Share of the rows, in [0, 1], of which nothing need be published, if that loses less. They are one
        class, of at least k rows.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A local recoding: a value may be published differently in two clusters.

    Raises
    ------
    InfeasibleError
        If there are fewer than k, but more than 0, rows.
    HierarchyError
        If a hierarchy is not a tree or lacks values of its column.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. While k rows are left, a cluster begins with the row that is
    furthest from the seed before (the first seed is drawn), and takes, k - 1 times, the row that adds the
    least information loss. Each row that is left at last joins the cluster that it adds the least
    to. Ties: the first row in the table, the oldest cluster. Clusters that become equal are one class. With
    ``suppress``, a cluster of more than k rows may go on without those that differ from most of it.

    Information loss is that of the paper: a range costs its share of the whole one, a node its height
    above the leaves over the height of the hierarchy, a set of several values all. ``NCP_relational``, as
    everywhere, has leaves instead of heights.

    Cost: time of rows squared and memory of a few numbers a row, for each column.


    References
    ----------
    .. [1] J.-W. Byun, A. Kamra, E. Bertino, N. Li, "Efficient k-Anonymization Using Clustering
       Techniques", DASFAA 2007.


    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.k_member(df, k=2, quasi=["age", "origin"], random_state=0).frame
            age           origin
    0  [19, 22]  (France,Greece)
    1  [19, 22]  (France,Greece)
    2  [28, 39]            Spain
    3  [28, 39]            Spain
    """
    return release_classes(
        frame,
        "k_member",
        grow_members,
        k=k,
        quasi=quasi,
        hierarchies=hierarchies,
        suppress=suppress,
        keep=keep,
        progress=progress,
        random_state=random_state,
    )


def grow_members(
    table: QuasiTable, k: int, rng: np.random.Generator, report: Callable[[int], Any], most: int = 0
) -> Classes:
    """Decide the clusters, as `k_member` says."""
    measured = table.by_height()
    left, clusters = np.arange(table.n_rows), []
    place = int(rng.integers(max(len(left), 1)))
    while len(left) >= k:
        members = left[place : place + 1]
        left = np.delete(left, place)
        while len(members) < k:
            nearest = int(np.argmin(measured.widened(members, left)))
            members = np.append(members, left[nearest])
            left = np.delete(left, nearest)
        clusters.append(members)
        if len(left):
            place = int(np.argmax(measured.widened(members[:1], left)))
        report(1)
    digests = Digests(measured, clusters)
    groups, sizes = numbered(clusters, table.n_rows), np.array([len(rows) for rows in clusters])
    for row in left.tolist():
        values = [each.codes[row : row + 1] for each in measured.attributes]
        chosen = int(np.argmin((sizes + 1) * digests.losses_with(values) - sizes * digests.losses))
        digests.add(chosen, values)
        groups[row] = chosen
        sizes[chosen] += 1
    return trimmed(table, groups, k, most)


RECORD = Algorithm(
    k_member,
    (KAnonymity,),
    recodes="values",
    form=grow_members,
    ways=(Way(KAnonymity, 30),),
)
