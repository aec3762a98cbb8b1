"""Groups of at least k rows by quasi-identifiers: cut from the table, or grown from rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pdanon._kernels import row_clusters
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.relational.attributes import cover_loss
from pdanon.algorithms.relational.publishing import release_classes, trim_groups
from pdanon.algorithms.relational.quasi import (
    Classes,
    QuasiLike,
    QuasiTable,
    join_nearest,
    split_groups,
)
from pdanon.guarantees import KAnonymity
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import Seed
from pdanon.recoding.result import Anonymized

# --- Mondrian: cut the table in two, and each part again, while every part keeps k rows


@called_by_name
def mondrian(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: QuasiLike,
    max_suppressed: float = 0,
) -> Anonymized:
    """Cut the rows into ever smaller boxes of at least k, and generalize each box.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi, max_suppressed : int, sequence of hashable or mapping, float
        As in `cluster`.

    Returns
    -------
    Anonymized
        A local recoding: boxes of a multidimensional cut.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. A part is cut only if each resulting part has k rows. The cut is
    along the column with the largest NCP in the part (ties: the first in ``quasi``), or along the next where
    no cut is possible. Numbers, times and values without a hierarchy are cut in two, in order, where the
    parts differ least in size: at the median or beside it (ties: the lower). Values with a hierarchy are
    split into the children of their lowest common ancestor. Parts with equal published values are one class.
    With ``max_suppressed``, rows that differ from most of their part are then suppressed if that loses less.
    Rows that gain the most for each suppressed row come first.
    Cost: time of rows times the logarithm of rows, for each column, and memory of a few numbers a row.

    References
    ----------
    .. [1] K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.mondrian(df, k=2, quasi=["age", "origin"]).frame
            age           origin
    0  [19, 22]  (France,Greece)
    1  [19, 22]  (France,Greece)
    2  [28, 39]            Spain
    3  [28, 39]            Spain
    """
    return release_classes(MONDRIAN, locals())


def cut_boxes(table: QuasiTable, k: int, rng: np.random.Generator, most: int) -> Classes:
    """Cut the boxes as `mondrian` does; nothing is random."""
    groups = np.zeros(table.n_rows, np.int64)
    waiting, n_groups = [np.arange(table.n_rows)], 0
    while waiting:
        rows = waiting.pop()
        parts = _cut(table, rows, k) if len(rows) >= 2 * k else []
        waiting += parts
        if not parts:
            groups[rows] = n_groups
            n_groups += 1
            count_steps()
    return trim_groups(table, groups, k, most)


def cut_evenly(table: QuasiTable, most: int) -> list[Numbers]:
    """Cut the rows into the fewest blocks of a maximum size, which differ little in size."""
    # A cut may separate rows of equal values, so each block has ``(most + 1) // 2`` rows or more.
    waiting, blocks = [(np.arange(table.n_rows), -(-table.n_rows // most))], []
    while waiting:
        rows, parts = waiting.pop()
        if parts <= 1:
            blocks.append(np.sort(rows))
            continue
        rows = rows[np.argsort(table.codes[rows, _widest(table, rows)[0]], kind="stable")]
        place = len(rows) * (parts // 2) // parts  # proportional, so that blocks differ by one row at most
        waiting += [(rows[place:], parts - parts // 2), (rows[:place], parts // 2)]
    return blocks


def _widest(table: QuasiTable, rows: Numbers) -> list[int]:
    """Return the columns, the one whose range is widest first."""
    widths = [cover_loss(each, codes) for each, codes in table.columns(rows)]
    return sorted(range(len(widths)), key=lambda place: -widths[place])  # stable: ties in order of `quasi`


def _cut(table: QuasiTable, rows: Numbers, k: int) -> list[Numbers]:
    """Return the parts of the first allowed cut, widest column first; none if no cut is allowed."""
    for place in _widest(table, rows):
        parts = table.attributes[place].split(table.codes[rows, place])
        if parts is not None and np.bincount(parts).min() >= k:
            return [rows[places] for places in split_groups(parts)]  # in the order of the table
    return []


MONDRIAN = Algorithm(mondrian, (KAnonymity,), recodes="values", form=cut_boxes, ways=(Way(KAnonymity, 10),))


# --- Cluster: a random row and its nearest rows, one cluster after another


@called_by_name
def cluster(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: QuasiLike,
    random_state: Seed = None,
    max_suppressed: float = 0,
) -> Anonymized:
    """Cluster rows around random seeds, and generalize each cluster.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi : int, sequence of hashable or mapping
        At least k rows (at least 2) match all values of the columns ``quasi`` that an attacker may know. A
        mapping has by column, as in `rum_bound`, a weight, a hierarchy, a pair of both, or None.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.
    max_suppressed : float
        Upper bound on the share of suppressed rows, in [0, 1]: one class, if that loses less.

    Returns
    -------
    Anonymized
        A local recoding: two clusters may publish the same value differently.

    Raises
    ------
    InfeasibleError
        If there is at least one row, but fewer than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If a hierarchy (no tree, or values are missing), a column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. While k rows are left, a random one is the seed of a cluster. The k -
    1 rows with the least NCP together with the seed join it (ties: the first in the table). Each remaining
    row joins the cluster that has the least NCP with it (ties: the oldest). Clusters with equal published
    values are one class. With ``max_suppressed``, rows that differ from most of their cluster may be
    suppressed if k rows are left in it.
    Cost: time of rows squared / k and memory of a few numbers a row, for each column.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.cluster(df, k=2, quasi=["age", "origin"], random_state=0).frame
            age           origin
    0  [19, 22]  (France,Greece)
    1  [19, 22]  (France,Greece)
    2  [28, 39]            Spain
    3  [28, 39]            Spain
    """
    return release_classes(CLUSTER, locals())


def form_clusters(table: QuasiTable, k: int, rng: np.random.Generator, most: int) -> Classes:
    """Form the clusters of `cluster`."""
    kinds, combinations = table.distinct()
    nearest, starts, clusters = row_clusters.NearestRows(combinations.codes, kinds), table.starts, []
    for n_left in range(table.n_rows, k - 1, -k):
        seed = nearest.row_at(int(rng.integers(n_left)))
        clusters.append(nearest.take(seed, table.tables_of(np.array([seed])), starts, k))
        count_steps()
    return trim_groups(table, join_nearest(table, clusters, nearest.left), k, most)


CLUSTER = Algorithm(cluster, (KAnonymity,), recodes="values", form=form_clusters, ways=(Way(KAnonymity, 20),))


# --- k-member: the row with the least loss joins next


@called_by_name
def k_member(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: QuasiLike,
    random_state: Seed = None,
    max_suppressed: float = 0,
) -> Anonymized:
    """Grow clusters of k rows, one row at a time, and generalize each.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi : int, sequence of hashable or mapping
        As in `cluster`.
    random_state, max_suppressed : int or Generator, float
        As in `cluster`; only the first row is random.

    Returns
    -------
    Anonymized
        A local recoding, as by `cluster`.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. While k rows are left, a cluster starts with the row that is furthest
    from the previous seed. The first seed is random. The cluster grows by the row that adds the least
    information loss, k - 1 times. Each remaining row joins the cluster to which it adds the least. Ties: the
    first row in the table, the oldest cluster. Clusters with equal published values are one class. With
    ``max_suppressed``, rows that differ from most of their cluster may be suppressed if k rows are left in
    it.

    Information loss is that of the paper. A range costs its share of the whole range, and a set of several
    values costs everything. A node costs its height above the leaves, divided by the height of the
    hierarchy. ``NCP_relational`` counts leaves instead of heights, as everywhere.
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
    return release_classes(K_MEMBER, locals())


def grow_members(table: QuasiTable, k: int, rng: np.random.Generator, most: int) -> Classes:
    """Grow the clusters of `k_member`."""
    measured = table.by_height()
    left, clusters = np.arange(table.n_rows), []
    place = int(rng.integers(max(len(left), 1)))
    while len(left) >= k:
        members = left[place : place + 1]
        left = np.delete(left, place)
        while len(members) < k:
            nearest = int(np.argmin(measured.losses_with_each(members, left)))
            members = np.append(members, left[nearest])
            left = np.delete(left, nearest)
        clusters.append(members)
        if len(left):
            place = int(np.argmax(measured.losses_with_each(members[:1], left)))
        count_steps()
    groups = join_nearest(measured, clusters, left, of_all=True)
    return trim_groups(table, groups, k, most)


K_MEMBER = Algorithm(
    k_member, (KAnonymity,), recodes="values", form=grow_members, ways=(Way(KAnonymity, 30),)
)
