"""One kind first: clusters by the quasi-identifiers alone, or parts by the items alone."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items.lra import divide_rows
from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.quasi import QuasiLike
from pdanon.algorithms.rt.dataset import Decided, Part, Parts, check_options, release_clusters
from pdanon.algorithms.rt.transaction import Transaction, ways_of
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.parameters import ItemLimit
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import Seed, check_count
from pdanon.recoding.result import Anonymized

# --- Relational first: clusters by the quasi-identifiers, then the items of each cluster


@called_by_name
def rfirst(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    quasi: QuasiLike,
    cluster: str = "cluster",
    transaction: str | Transaction = "pcta",
    random_state: Seed = None,
) -> Anonymized:
    """Anonymize the quasi-identifiers first, then the items of each class.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, quasi : int, int or None, sequence of hashable or mapping
        At least k rows (at least 2) match the columns ``quasi`` and any m known items; None: all items.
    cluster, transaction, random_state : str, str or Transaction, int or Generator
        As in `pdanon.rum_bound`.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If there is at least one row, but fewer than k, or a hierarchy (no tree, or values are missing), a
        column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``. The clusters are as small as
    possible, as with :func:`pdanon.rum_bound` without a merge. Where fewer than k rows of a cluster have
    items, all its items are suppressed. The others are refined as by `pdanon.rum_bound`.
    Cost: that of the clusters and of anonymizing the transactions of each.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "cold"], ["flu"], ["cold"], ["flu", "cold"]]
    >>> df = pd.DataFrame({"age": [19, 22, 39, 40], "items": rows})
    >>> pdanon.rfirst(df, k=2, m=2, quasi=["age"], random_state=0).frame
            age           items
    0  [19, 22]  ['(cold,flu)']
    1  [19, 22]  ['(cold,flu)']
    2  [39, 40]  ['(cold,flu)']
    3  [39, 40]  ['(cold,flu)']
    """
    return release_clusters(RFIRST, locals())


def decide_rfirst(parts: Parts, *, cluster: str, random_state: Any) -> Decided:
    """Form small clusters in each part, and anonymize the transactions of each."""
    check_options(cluster)
    rngs = parts.generators(random_state)
    return Decided(parts.share(partial(_anonymize_clusters, cluster), parts.parts, rngs))


def _anonymize_clusters(cluster: str, part: Part, rng: np.random.Generator) -> Any:
    block = part.open()
    groups = block.groups(cluster, rng)
    return part.close(block, groups, block.protect(groups))


RFIRST = Algorithm(
    rfirst,
    (KKm, KLm),
    recodes="both",
    parts=decide_rfirst,
    ways=ways_of([(10, {"cluster": "mondrian"}), (20, {"cluster": "cluster"})]),
)


# --- Transactions first: parts by the items, then the quasi-identifiers of each part


@called_by_name
def tfirst(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    quasi: QuasiLike,
    parts: int,
    transaction: str | Transaction = "pcta",
) -> Anonymized:
    """Anonymize the items in parts of similar rows first, then the quasi-identifiers of each part.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, quasi : int, int or None, sequence of hashable or mapping
        At least k rows (at least 2) match the columns ``quasi`` and any m known items; None: all items.
    parts : int
        Number of parts of the rows, at least 1. There are fewer if a part would have fewer than k rows.
    transaction : str or Transaction
        As in `pdanon.rum_bound`.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `rfirst`.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``. The parts are those of
    :func:`pdanon.lra`, which ignore the quasi-identifiers. Where fewer than k rows of a part have items, all
    its items are suppressed. The others are refined as by `pdanon.rum_bound`.
    Cost: that of anonymizing the transactions of each part.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "cold"], ["flu"], ["flu"], ["flu", "cold"]]
    >>> df = pd.DataFrame({"age": [19, 22, 39, 40], "items": rows})
    >>> pdanon.tfirst(df, k=2, m=2, quasi=["age"], parts=2).frame
            age           items
    0  [19, 40]  ['cold' 'flu']
    1  [22, 39]         ['flu']
    2  [22, 39]         ['flu']
    3  [19, 40]  ['cold' 'flu']
    """
    return release_clusters(TFIRST, locals())


def decide_tfirst(rows: Parts, *, parts: int) -> Decided:
    """Form clusters in each block, as many as its share of the rows, and anonymize them."""
    check_count(parts, "parts", least=1)
    sizes, total = rows.n_rows, max(sum(rows.n_rows), 1)
    counts = [max(parts * own // total, 1) for own in sizes] if len(sizes) > 1 else [parts]
    return Decided(rows.share(_anonymize_parts, rows.parts, counts))


def _anonymize_parts(part: Part, n_parts: int) -> Any:
    block = part.open()
    index = SupportIndex.of(block.transactions.itemsets)
    groups = divide_rows(index, n_parts, block.k).astype(np.int64)
    return part.close(block, groups, block.protect(groups))


TFIRST = Algorithm(tfirst, (KKm, KLm), recodes="both", parts=decide_tfirst)
