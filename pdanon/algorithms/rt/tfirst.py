"""Transactions first: split rows by their items, anonymize each part, then generalize the rest of it.

Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos, "Anonymizing Data with Relational and Transaction
Attributes", ECML PKDD 2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items.lra import divide_rows
from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.rt.dataset import Decided, Part, Parts, release_clusters
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.algorithms.states.cuts import check_parts
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.parameters import ItemLimit
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized


@called_by_name
def tfirst(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    quasi: Sequence[Hashable],
    parts: int,
    quasi_weights: Mapping[Hashable, float] | None = None,
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    transaction: str | Transaction = "pcta",
    refine: bool = True,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Anonymize the items in parts of similar rows first, then the quasi-identifiers of each part.

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
    parts : int
        Number of parts of the rows, at least 1. There are fewer if a part would have fewer than k rows.
    quasi_weights : mapping, optional
        Weight of each quasi-identifier in its losses, in [0, 1], rounded to thousandths; by default 1.
    hierarchies : mapping, optional
        Hierarchy of each quasi-identifier, in any form that ``Hierarchy.of`` accepts.
    transaction : str or Transaction
        The algorithm for the items of a part, any that gives k^m-anonymity. Pass a `pdanon.Transaction` for
        a hierarchy, several list columns or sensitive items.
    refine : bool
        Lower the loss of the items afterwards: move items between the sets of each class, or lower its cut,
        as `pdanon.refine` does. Nodes beside sensitive items and nodes of ``"lra"`` are not refined.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``.

    Raises
    ------
    InfeasibleError
        If there is at least one row, but fewer than k.
    HierarchyError
        If a hierarchy is not a tree or lacks values.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``.

    The parts are those of :func:`pdanon.lra`. They ignore the quasi-identifiers, which therefore lose much.
    Where fewer than k rows of a part have items, all items of the part are suppressed. The other parts are
    refined as by `pdanon.rum_bound`.

    Cost: that of anonymizing the transactions of each part.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame(
    ...     {"age": [19, 22, 39, 40], "items": [["flu", "cold"], ["flu"], ["flu"], ["flu", "cold"]]}
    ... )
    >>> pdanon.tfirst(df, k=2, m=2, quasi=["age"], parts=2).frame
            age           items
    0  [19, 40]  ['cold' 'flu']
    1  [22, 39]         ['flu']
    2  [22, 39]         ['flu']
    3  [19, 40]  ['cold' 'flu']
    """
    check_parts(parts)
    return release_clusters(RECORD, locals())


def decide_parts(rows: Parts, *, parts: int) -> Decided:
    """Form clusters in each block, as many as its share of the rows, and anonymize them."""
    sizes, total = rows.n_rows, max(sum(rows.n_rows), 1)
    counts = [max(parts * own // total, 1) for own in sizes] if len(sizes) > 1 else [parts]
    return Decided(rows.share(_anonymize, rows.parts, counts))


def _anonymize(part: Part, n_parts: int, report: Report) -> Any:
    block = part.open()
    index = SupportIndex.of(block.transactions.itemsets)
    groups = divide_rows(index, n_parts, block.k).astype(np.int64)
    return part.close(block, groups, block.protect(groups, report))


RECORD = Algorithm(tfirst, (KKm, KLm), recodes="both", parts=decide_parts)
