"""Transactions first: make blocks of rows whose items are alike, and publish what covers the rest.

Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos, "Anonymizing Data with Relational and Transaction
Attributes", ECML PKDD 2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items.lra import alike_blocks
from pdanon.algorithms.progress import progress_bar
from pdanon.algorithms.record import Algorithm
from pdanon.algorithms.rt.release import Dataset
from pdanon.algorithms.states.cuts import check_parts
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.parameters import lasting
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "tfirst"]


def tfirst(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int | None = 2,
    quasi: Sequence[Hashable],
    parts: int,
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    columns: Sequence[Hashable] | None = None,
    sensitive: Iterable[Any] | None = None,
    l: int | None = None,  # noqa: E741  (its name in the literature)
    transaction: str = "pcta",
    hierarchy: HierarchyLike | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> Anonymized:
    """Anonymize the items in blocks of alike rows first, and then the quasi-identifiers of each block.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; None: all items of a row.
    quasi : sequence of hashable
        Labels of the other columns that an attacker may know.
    parts : int
        Number of blocks of rows, at least 1. There are fewer, if k rows are not left for each.
    hierarchies : mapping, optional
        By quasi-identifier, a hierarchy or what ``Hierarchy.of`` makes one of.
    columns : sequence of hashable, optional
        Labels of several list columns, instead of ``column``: their items are one transaction, of which
        the attacker knows up to m, and no set or category spans two columns.
    sensitive : iterable, optional
        Items that nobody is to learn: they are published as they are, or in no row of a cluster where they
        could not hide, and are no part of an attacker's knowledge. Goes with ``l`` and
        ``transaction="apriori"``.
    l : int, optional
        Of the rows that an attacker's knowledge matches, a sensitive item is in at most 1/l; at least 2.
    transaction : str
        The algorithm that anonymizes the transactions of a cluster: any that gives k^m-anonymity.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        The item taxonomy, if that algorithm needs one; with ``columns``, a mapping of one for each.
    options : mapping, optional
        What that algorithm is asked beyond: ``parts`` of ``lra`` and ``vpa``, ``utility`` and
        ``max_suppressed`` of ``coat`` and ``upcta``, ``time_limit`` of ``optimal``.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``.

    Raises
    ------
    InfeasibleError
        If there are fewer than k, but more than 0, rows.
    HierarchyError
        If a hierarchy is not a tree or lacks values.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``.

    The blocks are those of :func:`pdanon.lra`, made without a look at the
    quasi-identifiers, so that these lose much. In a block with items in fewer than k rows they are
    suppressed.

    Cost: that of anonymizing the transactions of each block.

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
    task: dict[str, Any] = {"k": k, "m": m, "quasi": lasting(quasi), "hierarchies": hierarchies}
    task |= {"columns": lasting(columns), "sensitive": lasting(sensitive), "l": l}
    task |= {"transaction": transaction, "hierarchy": hierarchy, "options": options}
    data = Dataset.of(frame, column, **task)
    with progress_bar(progress, "tfirst", "steps") as report:
        index = SupportIndex.of(data.transactions.itemsets)
        groups = alike_blocks(index, parts, data.guarantee.k).astype(np.int64)
        numbers = data.whole.protect(groups, report)
    return data.release(groups, numbers, {"algorithm": "tfirst", **task, "parts": parts})


RECORD = Algorithm(
    tfirst,
    (KKm, KLm),
    recodes="both",
)
