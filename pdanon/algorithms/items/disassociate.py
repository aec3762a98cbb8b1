"""Disassociate: publish rows in parts, each of which is k^m-anonymous, and not how these belong together.

Terrovitis, Liagouris, Mamoulis, Skiadopoulos, "Privacy Preservation by Disassociation", PVLDB 5(10), 2012.
Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis, "Disassociation for Electronic Health Record Privacy",
Journal of Biomedical Informatics 50, 2014.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items._chunking import chunks_of, measured
from pdanon.algorithms.record import Algorithm, Way
from pdanon.guarantees import DisassociatedKm
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.guarantees.utility import partition, some_blocks
from pdanon.itemsets.calling import called_by_name
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.progress import Report
from pdanon.itemsets.support import SupportIndex, check_feasible
from pdanon.itemsets.values import check_count, check_flag
from pdanon.recoding.decided import Decided
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "disassociate"]


@called_by_name
def disassociate(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int | None = DEFAULT_M,
    max_cluster: int | None = None,
    refine: bool = True,
    safe: bool = False,
    utility: Any = None,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Anonymize by publishing each row in parts, and not which parts belong together.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        Least number of records that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; at least 1. None: all items of a row.
    max_cluster : int, optional
        A cluster with more rows is split, unless these are equal; at least k. By default 2 k.
    refine : bool
        Let clusters share chunks of the items that would be in term chunks of several.
    safe : bool
        See to it that no two items of different chunks must be in the same record.
    utility : DataFrame, mapping or iterable, optional
        Blocks of items that are to stay together: items of a block are split at first, and a record chunk
        has items of one block. Items that are in none are another one.
    keep : sequence of hashable
        Columns that you have judged. No other column is released, so that nothing comes of it.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        ``frame`` has no row for a row of the input, but one for each sub-record and term chunk: ``cluster``,
        ``joint``, ``size``, ``chunk`` and the list column; in an order that follows from its content alone.
        Other columns are left out: they cannot be linked to sub-records. ``classes`` are the clusters,
        ``groups`` the cluster of each row, which is not published; -1 for a row without items, which is in
        none.

    Raises
    ------
    InfeasibleError
        If fewer than k, but more than 0, rows hold an item.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is not what it should be.

    See Also
    --------
    reconstruct : Tables that the release can have come from, for software that needs whole records.

    Notes
    -----
    Guarantee: ``DisassociatedKm(k, m, safe)``. Rows are split at the most frequent item (then: the first in
    order) into those with it and those without, and so on, up to ``max_cluster`` rows; clusters of fewer than
    k rows are joined with what follows. In each cluster, items that fewer than k rows have go to its term
    chunk, chunk 0, which is a set: neither whose they are nor how often is published. The others go to record
    chunks: one takes each item, by descending support, with which its sub-records stay k^m-anonymous. A
    cluster whose term chunk is empty must have sub-records enough for all its records when k of them are
    alike in several chunks; else its rarest item goes to the term chunk.

    To refine, neighbours in the order of what their term chunks hold become joint clusters, if they have an
    item there in at least k rows, and in more rows than there are clusters. Such items go to shared chunks,
    which have the number of the joint cluster as ``cluster``; ``joint`` says which clusters are part of it.
    It ends when fewer than 1 % of the clusters were joined.

    ``loss`` has ``term_chunks``, the share of the occurrences in term chunks; ``tlost``, the share of the
    items with a support of k or more that are in term chunks alone; and ``re``, the relative error of the
    supports of pairs of 20 items of middle frequency in one reconstruction, always the same.

    Nothing is drawn: equal rows in any order have the same release.

    Cost: memory of 150 bytes an occurrence; time of a few sorts of the occurrences, of counting each as often
    as its row is among those with the item that was split at, and for m of 3 and more of the itemsets that a
    chunk may hold.

    References
    ----------
    .. [1] M. Terrovitis, J. Liagouris, N. Mamoulis, S. Skiadopoulos, "Privacy Preservation by
       Disassociation", PVLDB 5(10), 2012.
    .. [2] G. Loukides, J. Liagouris, A. Gkoulalas-Divanis, M. Terrovitis, "Disassociation for Electronic
       Health Record Privacy", Journal of Biomedical Informatics 50, 2014.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "tea"], ["rice", "salt"], ["salt", "oil"], ["oil"], ["salt"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.disassociate(k=2, m=2, max_cluster=3)
    >>> result.frame
       cluster  joint  size  chunk           items
    0        1      0     3      0        ['salt']
    1        1      0     3      1         ['oil']
    2        1      0     3      1         ['oil']
    3        2      0     3      0        ['salt']
    4        2      0     3      1        ['rice']
    5        2      0     3      1  ['rice' 'tea']
    6        2      0     3      1  ['rice' 'tea']
    """
    asked = {"max_cluster": max_cluster, "refine": refine, "safe": safe, "utility": utility}
    return RECORD.released(frame, column, progress, keep=keep, k=k, m=m, **asked)


def decide(
    columns: ListColumns,
    report: Report,
    *,
    k: int,
    m: int | None,
    max_cluster: int | None,
    refine: bool,
    safe: bool,
    utility: Any,
) -> Decided:
    """Which chunk each occurrence of an item goes to."""
    guarantee = DisassociatedKm(k, m, safe)
    most = _most_rows(max_cluster, guarantee.k)
    check_flag(refine, "refine")
    itemsets = columns.itemsets
    blocks = some_blocks(None if utility is None else partition(utility), itemsets)
    check_feasible(SupportIndex.of(itemsets), guarantee.k, 0)  # rows without items are left out
    table, groups = chunks_of(itemsets, guarantee, most, refine, blocks, report)
    kept = Recoding.of_suppressed(np.zeros(itemsets.n_items, np.bool_), itemsets)
    mapping, loss = mapping_table(itemsets, kept), measured(itemsets, table, guarantee.k)
    return Decided(columns, replace(kept, groups=groups), guarantee, mapping, loss, {}, chunks=table)


def _most_rows(max_cluster: int | None, k: int) -> int:
    if max_cluster is None:
        return 2 * k
    hint = "a cluster has at least k rows; by default up to 2 k are not split"
    return min(check_count(max_cluster, "max_cluster", least=k, hint=hint), 2**62)


RECORD = Algorithm(
    disassociate,
    (DisassociatedKm,),
    recodes="chunks",
    decide=decide,
    unit="joint clusters",
    keeps_type=True,
    ways=(Way(DisassociatedKm, 10),),
)
