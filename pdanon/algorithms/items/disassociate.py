"""Disassociate: publish rows in parts that are k^m-anonymous each, without the links between the parts."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pdanon._kernels import chunks as chunks_kernels, row_clusters
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.guarantees import DisassociatedKm
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.guarantees.utility import partition, some_blocks
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import distinct, inverse_order, mask_at, offsets_of, ranges, rows_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex, by_support, check_feasible, concatenate
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import check_count, check_flag, random_generator
from pdanon.recoding.decision import Decision, ListDecision, ListRows
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.reconstruction import draw_records
from pdanon.recoding.result import Anonymized

_COMPARED = 8  # number of terms by which term chunks are sorted
_FEW = 100  # stop when fewer than 1 in 100 clusters were joined
_MIDDLE = 200  # the rank at which items of middle frequency begin
_MEASURED = 20  # number of items that form pairs


class _Parts(NamedTuple):
    """The published place of each occurrence: a cluster or joint cluster, and a chunk within it."""

    owners: Numbers  # joint clusters are numbered after clusters
    chunks: Codes  # 0 for a term chunk
    sizes: Numbers  # of clusters and joint clusters
    joints: Numbers  # the joint cluster of each, or -1


def chunks_of(
    itemsets: Itemsets, guarantee: DisassociatedKm, most: int, joint: bool, blocks: Codes
) -> tuple[ChunkTable, Codes]:
    """Divide rows into clusters, and the occurrences of each cluster into chunks."""
    # ``most``: maximum number of rows of a cluster, unless they
    # are equal. ``joint``: whether clusters may share chunks. ``blocks``: block of each item, or -1.
    # Returns table: the published chunks, in an order that depends on their content only. Returns groups: the
    # cluster of each row, with the numbers of the table; -1 for rows without items.
    k, m = guarantee.k, min(guarantee.m or 2**31, 2**31)
    filled = np.flatnonzero(itemsets.lengths)
    offsets = np.append(itemsets.offsets[filled], len(itemsets.codes))
    rows, starts = row_clusters.split_rows(k, most, itemsets.codes, offsets, blocks)
    clusters = chunks_kernels.Clusters(k, m, guarantee.safe, rows, starts, itemsets.codes, offsets, blocks)
    clusters.split_terms()
    cluster_of = np.empty(len(rows), np.int64)
    cluster_of[rows] = rows_of(starts)
    if joint:
        _join_clusters(clusters, itemsets.n_items)
    n, owners = clusters.n_groups, np.asarray(clusters.owner_of).astype(np.int64)
    of_groups = np.asarray(clusters.size)[:n], np.asarray(clusters.parent)[:n]
    found = _Parts(owners, np.asarray(clusters.chunk_of), *of_groups)
    table, number = _publish(itemsets, rows_of(offsets), found)
    groups = np.full(itemsets.n_rows, -1, np.int32)
    groups[filled] = number[cluster_of]
    return table, groups


# --- Joint clusters


def _join_clusters(groups: Any, n_items: int) -> None:
    """Join clusters whose term chunks have items in common; these items move to shared chunks."""
    while True:
        order = _by_open_terms(groups, n_items)
        joined = groups.join_neighbours(order)
        count_steps(joined)
        if _FEW * joined < len(order) or not joined:
            break


def _by_open_terms(groups: Any, n_items: int) -> Numbers:
    """Sort the groups that can be joined by the terms in their term chunks, most frequent terms first."""
    n = groups.n_groups
    alive = np.flatnonzero((np.asarray(groups.parent)[:n] < 0) & (np.asarray(groups.n_open)[:n] > 0))
    counts = np.asarray(groups.length)[alive]
    _, places = ranges(np.asarray(groups.first)[alive], counts)
    items = np.asarray(groups.items)[places[np.asarray(groups.open)[places] == 1]].astype(np.int32)
    offsets = offsets_of(np.asarray(groups.n_open)[alive])
    ranks = by_support(SupportIndex(items, offsets, n_items))
    table = np.full((_COMPARED, len(alive)), -1, np.int64)  # groups with fewer terms come first
    for number, column in enumerate(table):
        longer = np.flatnonzero(offsets[:-1] + number < offsets[1:])
        column[longer] = ranks[offsets[longer] + number]
    return alive[np.lexsort(table[::-1])]


# --- The published table


def _publish(itemsets: Itemsets, row: Numbers, found: _Parts) -> tuple[ChunkTable, Numbers]:
    """Return the table of sub-records and term chunks, ordered by content, and the new cluster numbers."""
    n_clusters = int((np.bincount(found.joints[found.joints >= 0], minlength=len(found.sizes)) == 0).sum())
    number = _numbers(itemsets, found, n_clusters)
    is_part = found.chunks > 0
    parts, part_keys = _sub_records(itemsets, row, found, number, is_part)
    terms = _list_terms(number[found.owners[~is_part]], itemsets.codes[~is_part], n_clusters)
    owners = np.concatenate((part_keys[0], terms.supports))
    chunks = np.concatenate((part_keys[1], np.zeros(n_clusters, np.int64)))
    lists = replace(concatenate([parts, terms]), supports=np.arange(len(owners)))
    order = lists.ordered().supports  # by content: the order reveals nothing about the rows
    order = order[np.lexsort((chunks[order], owners[order]))]
    published = lists.take(order).to_rows(itemsets.vocabulary)
    back = np.argsort(number)
    joints = found.joints[back]
    joints = np.where(joints >= 0, number[joints], -1)
    return ChunkTable(published, owners[order], chunks[order], found.sizes[back], joints), number


def _numbers(itemsets: Itemsets, found: _Parts, n_clusters: int) -> Numbers:
    """Number clusters by their own terms; then joint clusters, by their first cluster and size."""
    # The numbers therefore reveal nothing about how rows came to be in a cluster.
    own = found.owners < n_clusters
    terms = _list_terms(found.owners[own], itemsets.codes[own], n_clusters)
    by_size = np.argsort(found.sizes[:n_clusters], kind="stable")
    order = terms.take(by_size).ordered().supports
    first = np.full(len(found.sizes), len(found.sizes), np.int64)
    first[order] = np.arange(n_clusters)
    for group, joint in enumerate(found.joints.tolist()):  # parts precede their joint cluster
        if joint >= 0:
            first[joint] = min(first[joint], first[group])
    joints = n_clusters + np.lexsort((found.sizes[n_clusters:], first[n_clusters:]))
    return inverse_order(np.concatenate((order, joints)))


def _sub_records(
    itemsets: Itemsets, row: Numbers, found: _Parts, number: Numbers, is_part: Mask
) -> tuple[ItemsetTable, tuple[Numbers, Numbers]]:
    """Return the sub-records, and the cluster and chunk of each; chunks are numbered from 1."""
    width = int(found.chunks.max(initial=0)) + 1
    chunk_keys = number[found.owners[is_part]] * np.int64(width) + found.chunks[is_part]
    kinds, kind = np.unique(chunk_keys, return_inverse=True)
    n_rows = int(row.max(initial=0)) + 1
    keys = kind * np.int64(n_rows) + row[is_part]
    order = np.argsort(keys, kind="stable")
    begins = np.flatnonzero(np.diff(keys[order], prepend=-1))
    offsets = np.append(begins, len(order))
    codes = itemsets.codes[is_part][order]
    of_kind = keys[order][begins] // n_rows
    owner = kinds // width
    firsts = np.searchsorted(owner, owner)
    chunk = np.arange(len(kinds)) - firsts + 1
    return ItemsetTable.listed(codes, offsets), (owner[of_kind], chunk[of_kind])


def _list_terms(owners: Numbers, codes: Codes, n_clusters: int) -> ItemsetTable:
    """Return the distinct terms of each cluster, maybe none, with the number of the cluster as support."""
    n_items = int(codes.max(initial=0)) + 1
    owner, item = np.divmod(distinct(owners * n_items + codes), n_items)
    offsets = offsets_of(np.bincount(owner, minlength=n_clusters))
    return ItemsetTable(item.astype(np.int32), offsets, np.arange(n_clusters))


# --- Losses


def measure_losses(itemsets: Itemsets, table: ChunkTable, k: int) -> pd.Series[float]:
    """Return the losses of a release of chunks: ``term_chunks``, ``tlost`` and ``re``."""
    index = SupportIndex.of(itemsets)
    parts = table.itemsets.take(np.flatnonzero(table.part_of >= 0))
    total, published = len(itemsets.codes), len(parts.codes)
    frequent = index.singles >= k
    left = mask_at(itemsets.n_items, parts.codes)
    n_frequent = int(frequent.sum())
    return pd.Series(
        {
            "term_chunks": 1 - published / total if total else 0.0,
            "tlost": int((frequent & ~left).sum()) / n_frequent if n_frequent else 0.0,
            "re": _pair_error(index, table),
        }
    )


def _pair_error(index: SupportIndex, table: ChunkTable) -> float:
    """Return the mean relative error of the supports of pairs, in a reconstruction with the default seed."""
    order = np.argsort(-index.singles, kind="stable")
    first = max(min(_MIDDLE, (len(order) - _MEASURED) // 2), 0)
    items = np.sort(order[first : first + _MEASURED]).astype(np.int32)
    left, right = np.triu_indices(len(items), 1)
    pairs = np.column_stack((items[left], items[right])).ravel()
    offsets = np.arange(0, len(pairs) + 1, 2)
    is_measured = mask_at(index.n_items, items)
    again = SupportIndex.of(draw_records(table, random_generator(None), is_measured))
    actual, found = (each.supports(pairs, offsets) for each in (index, again))
    both = actual + found
    known = both > 0
    return float(np.mean(2 * np.abs(actual - found)[known] / both[known])) if known.any() else 0.0


# --- The public function and its decision


@called_by_name
def disassociate(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = DEFAULT_M,
    max_cluster: int | None = None,
    joint: bool = True,
    safe: bool = False,
    utility: Any = None,
) -> Anonymized:
    """Anonymize by publishing each row in parts, without the links between the parts.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m : int, int or None
        At least k records match any m items that an attacker knows; None: all items. k is at least 2.
    max_cluster : int, optional
        Upper bound on the rows of a cluster, unless they are equal; at least k. By default, 2 k.
    joint : bool
        Let clusters share chunks of items that would be in the term chunks of several clusters.
    safe : bool
        Exclude that two items of different chunks must be in the same record.
    utility : DataFrame, mapping or iterable, optional
        Blocks of items to keep together. Rows are first split by items of a block, and a record chunk has
        items of one block. Items outside all blocks form another block.

    Returns
    -------
    Anonymized
        ``frame`` has one row per sub-record and per term chunk, not per row of the input. Its columns are
        ``cluster``, ``joint``, ``size``, ``chunk`` and the list column. Its order depends on its content
        only. Other columns are left out, because they cannot be linked to sub-records. ``classes`` has the
        clusters. ``groups`` has the cluster of each row, -1 for a row without items; it is not published.

    Raises
    ------
    InfeasibleError
        If some rows contain an item, but fewer than k.
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``DisassociatedKm(k, m, safe)``. Rows are split by the most frequent item (then: the first in
    order), repeatedly, down to ``max_cluster`` rows. Clusters of fewer than k rows join the next one. In each
    cluster, items in fewer than k rows go to the term chunk, chunk 0, a set. The others go to record chunks
    by descending support, if the sub-records of the chunk stay k^m-anonymous. If the term chunk is empty, and
    there are too few sub-records for all records, the rarest item goes there.

    Refinement sorts the clusters by their term chunks, and joins neighbors that have an item there in at
    least k rows, and in more rows than there are clusters. Such items go to shared chunks, with the number of
    the joint cluster as ``cluster``; ``joint`` is the joint cluster of a cluster. It ends when fewer than 1 %
    of the clusters were joined. ``loss`` has ``term_chunks``, ``tlost`` and ``re``. Nothing is random: equal
    rows in any order have the same release.

    Cost: memory of 150 bytes per occurrence. Time of a few sorts of the occurrences, of counting each once
    per split whose item its row contains and, if m is 3 or more, of visiting the itemsets of a chunk.

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
    return RECORD.release(locals())


def decide(
    columns: ListColumns, *, guarantee: DisassociatedKm, max_cluster: int | None, joint: bool, utility: Any
) -> ListDecision:
    """Decide the chunk of each occurrence."""
    most, hint = 2 * guarantee.k, "pass at least k; the default is 2 k"
    if max_cluster is not None:
        most = min(check_count(max_cluster, "max_cluster", least=guarantee.k, hint=hint), 2**62)
    check_flag(joint, "joint")
    itemsets = columns.itemsets
    blocks = some_blocks(None if utility is None else partition(utility), itemsets.vocabulary)
    check_feasible(SupportIndex.of(itemsets), guarantee.k, 0)  # rows without items are not released
    table, groups = chunks_of(itemsets, guarantee, most, joint, blocks)
    kept = Recoding.of_suppressed(np.zeros(itemsets.n_items, np.bool_), itemsets)
    mapping, loss = mapping_table(itemsets, kept), measure_losses(itemsets, table, guarantee.k)
    rows = ListRows(columns, replace(kept, groups=groups), chunks=table)
    return Decision(rows, guarantee, mapping, loss)


RECORD = Algorithm(
    disassociate,
    (DisassociatedKm,),
    recodes="chunks",
    decide=decide,
    unit="joint clusters",
    keeps_type=True,
    ways=(Way(DisassociatedKm, 10),),
    bytes_per_row=870,
)
