"""Disassociate: publish rows in parts, each of which is k^m-anonymous, and not how these belong together.

Terrovitis, Liagouris, Mamoulis, Skiadopoulos, "Privacy Preservation by Disassociation", PVLDB 5(10), 2012.
Loukides, Liagouris, Gkoulalas-Divanis, Terrovitis, "Disassociation for Electronic Health Record Privacy",
Journal of Biomedical Informatics 50, 2014.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels import chunks as chunks_kernels
from pdanon._kernels import row_partitions
from pdanon.algorithms.registry import Algorithm, Way
from pdanon.guarantees import DisassociatedKm
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.guarantees.utility import partition, some_blocks
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.lists import distinct, offsets_of
from pdanon.itemsets.support import SupportIndex, check_feasible
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_count, check_flag
from pdanon.recoding.decision import Decision, ListRows
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.reconstruction import rebuilt
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "chunks_of", "disassociate", "measured"]

Numbers = NDArray[np.int64]

_COMPARED = 8  # terms by which term chunks are sorted
_FEW = 100  # joint clusters are few if they are fewer than one in so many
_MIDDLE = 200  # the rank at which items of middle frequency begin
_MEASURED = 20  # how many of them pairs are made of


class _Parts(NamedTuple):
    """Where each occurrence is published: in a cluster or joint cluster, and there in a chunk."""

    owners: Numbers  # from 0 on; joint clusters come after clusters
    chunks: Codes  # 0 for a term chunk
    sizes: Numbers  # of clusters and joint clusters
    joints: Numbers  # the joint cluster of each, or -1


def chunks_of(
    itemsets: Itemsets,
    guarantee: DisassociatedKm,
    most: int,
    refine: bool,
    blocks: Codes,
    report: Report,
) -> tuple[ChunkTable, Codes]:
    """Divide rows into clusters, and the occurrences in these into chunks.

    Parameters
    ----------
    itemsets : Itemsets
        The rows.
    guarantee : DisassociatedKm
        What must hold.
    most : int
        Clusters of more rows are split.
    refine : bool
        Whether clusters may share chunks.
    blocks : ndarray of int32
        Block of each item, or -1.
    report : callable
        Is told how many joint clusters have come.

    Returns
    -------
    table : ChunkTable
        What is published, in an order that follows from itself.
    groups : ndarray of int32
        The cluster of each row, as the table numbers them; -1 for rows without items.
    """
    k, m = guarantee.k, min(guarantee.m or 2**31, 2**31)
    held = np.flatnonzero(itemsets.lengths)
    offsets = np.append(itemsets.offsets[held], len(itemsets.codes))
    rows, starts = row_partitions.split_rows(k, most, itemsets.codes, offsets, blocks)
    lists = itemsets.codes, offsets, blocks
    chunk, n_parts, n_chunks = chunks_kernels.split_terms(k, m, guarantee.safe, rows, starts, *lists)
    sizes = np.diff(starts)
    cluster_of = np.empty(len(rows), np.int64)
    cluster_of[rows] = np.repeat(np.arange(len(sizes)), sizes)
    row = np.repeat(np.arange(len(rows)), np.diff(offsets))
    enough = (n_chunks > 0) & (n_parts >= sizes + k * (np.minimum(n_chunks, m) - 1))
    found = _Parts(cluster_of[row], chunk, sizes, np.full(len(sizes), -1, np.int64))
    if refine:
        asked = k, m, guarantee.safe, rows, starts, *lists
        found = _joined(found, asked, itemsets.n_items, ~enough, report)
    table, number = _published(itemsets, row, found)
    groups = np.full(itemsets.n_rows, -1, np.int32)
    groups[held] = number[cluster_of]
    return table, groups


# --- Joint clusters


def _joined(
    found: _Parts, asked: tuple[Any, ...], n_items: int, needs_term: NDArray[np.bool_], report: Report
) -> _Parts:
    """Join clusters whose term chunks have items in common, which they share from then on."""
    codes, n_clusters = asked[5], len(found.sizes)
    keys, first, supports = np.unique(found.owners * n_items + codes, return_index=True, return_counts=True)
    cluster, item = np.divmod(keys, max(n_items, 1))
    begins = offsets_of(np.bincount(cluster, minlength=n_clusters))
    lists = begins, item, supports, (found.chunks[first] == 0).astype(np.int64)
    groups = chunks_kernels.JointClusters(*asked, found.chunks, lists, needs_term)  # type: ignore[call-arg]
    while True:
        order = _by_open_terms(groups, n_items)
        joined = groups.join_neighbours(order)
        report(joined)
        if _FEW * joined < len(order) or not joined:
            break
    n, owners = groups.n_groups, np.asarray(groups.owner_of)
    owners = np.where(owners >= 0, owners, found.owners).astype(np.int64)
    return _Parts(owners, found.chunks, np.asarray(groups.size)[:n], np.asarray(groups.parent)[:n])


def _by_open_terms(groups: Any, n_items: int) -> Numbers:
    """The groups that can be joined, by the terms in their term chunks: those that most have come first."""
    n = groups.n_groups
    alive = np.flatnonzero((np.asarray(groups.parent)[:n] < 0) & (np.asarray(groups.n_open)[:n] > 0))
    counts = np.asarray(groups.length)[alive]
    before = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) + np.repeat(np.asarray(groups.first)[alive] - before, counts)
    is_open = np.asarray(groups.open)[places] == 1
    items, group = (
        np.asarray(groups.items)[places[is_open]],
        np.repeat(np.arange(len(alive)), counts)[is_open],
    )
    rank = np.empty(n_items, np.int64)
    rank[np.argsort(-np.bincount(items, minlength=n_items), kind="stable")] = np.arange(1, n_items + 1)
    keys = np.sort(group * (n_items + 1) + rank[items])
    begins = np.searchsorted(group, np.arange(len(alive)))
    number = np.arange(len(keys)) - begins[group]
    compared = number < _COMPARED
    table = np.zeros((_COMPARED, len(alive)), np.int64)
    table[number[compared], group[compared]] = keys[compared] % (n_items + 1)
    return alive[np.lexsort(table[::-1])]


# --- What is published


def _published(itemsets: Itemsets, row: Numbers, found: _Parts) -> tuple[ChunkTable, Numbers]:
    """The sub-records and term chunks in an order of their own, and the number that each cluster has then."""
    n_clusters = int((np.bincount(found.joints[found.joints >= 0], minlength=len(found.sizes)) == 0).sum())
    number = _numbers(itemsets, found, n_clusters)
    is_part = found.chunks > 0
    parts, part_keys = _sub_records(itemsets, row, found, number, is_part)
    terms, term_keys = _term_chunks(itemsets, found, number, ~is_part, n_clusters)
    owners = np.concatenate((part_keys[0], term_keys))
    chunks = np.concatenate((part_keys[1], np.zeros(len(term_keys), np.int64)))
    lists = ItemsetTable(
        np.concatenate((parts.codes, terms.codes)),
        np.concatenate((parts.offsets, terms.offsets[1:] + parts.offsets[-1])),
        np.arange(len(owners)),
    )
    order = lists.ordered().supports  # by content, so that equal ones alone are in doubt
    order = order[np.lexsort((chunks[order], owners[order]))]
    ordered = lists.take(order)
    nulls = np.zeros(len(order), np.bool_)
    published = Itemsets(ordered.codes, ordered.offsets, itemsets.vocabulary, nulls)
    back = np.argsort(number)
    joints = found.joints[back]
    joints = np.where(joints >= 0, number[joints], -1)
    return ChunkTable(published, owners[order], chunks[order], found.sizes[back], joints), number


def _numbers(itemsets: Itemsets, found: _Parts, n_clusters: int) -> Numbers:
    """Number clusters by their own terms; after them joint ones, by the first of their clusters and size.

    So the numbers tell nothing of how rows came to be in a cluster.
    """
    n_items = max(itemsets.n_items, 1)
    cluster, item = np.divmod(distinct(found.owners * n_items + itemsets.codes), n_items)
    own = cluster < n_clusters
    offsets = offsets_of(np.bincount(cluster[own], minlength=n_clusters))
    terms = ItemsetTable(item[own].astype(np.int32), offsets, np.arange(n_clusters))
    by_size = np.argsort(found.sizes[:n_clusters], kind="stable")
    order = terms.take(by_size).ordered().supports
    first = np.full(len(found.sizes), len(found.sizes), np.int64)
    first[order] = np.arange(n_clusters)
    for group, joint in enumerate(found.joints.tolist()):  # a joint cluster comes after its parts
        if joint >= 0:
            first[joint] = min(first[joint], first[group])
    joints = n_clusters + np.lexsort((found.sizes[n_clusters:], first[n_clusters:]))
    number = np.empty(len(found.sizes), np.int64)
    number[np.concatenate((order, joints))] = np.arange(len(number))
    return number


def _sub_records(
    itemsets: Itemsets, row: Numbers, found: _Parts, number: Numbers, is_part: NDArray[np.bool_]
) -> tuple[ItemsetTable, tuple[Numbers, Numbers]]:
    """The sub-records, and the cluster and chunk of each; chunks are numbered from 1 on."""
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
    return ItemsetTable(codes, offsets, np.zeros(len(begins), np.int64)), (owner[of_kind], chunk[of_kind])


def _term_chunks(
    itemsets: Itemsets, found: _Parts, number: Numbers, is_term: NDArray[np.bool_], n_clusters: int
) -> tuple[ItemsetTable, Numbers]:
    """The term chunk of each cluster, which may be empty."""
    n_items = max(itemsets.n_items, 1)
    keys = distinct(number[found.owners[is_term]] * np.int64(n_items) + itemsets.codes[is_term])
    owner, item = np.divmod(keys, n_items)
    offsets = offsets_of(np.bincount(owner, minlength=n_clusters))
    nothing = np.zeros(n_clusters, np.int64)
    return ItemsetTable(item.astype(np.int32), offsets, nothing), np.arange(n_clusters)


# --- What is lost


def measured(itemsets: Itemsets, table: ChunkTable, k: int) -> pd.Series[float]:
    """The losses of a release of chunks: ``term_chunks``, ``tlost`` and ``re``."""
    index = SupportIndex.of(itemsets)
    parts = table.itemsets.take(np.flatnonzero(table.part_of >= 0))
    total, published = len(itemsets.codes), len(parts.codes)
    frequent = index.singles >= k
    left = np.zeros(itemsets.n_items, np.bool_)
    left[parts.codes] = True
    n_frequent = int(frequent.sum())
    return pd.Series(
        {
            "term_chunks": 1 - published / total if total else 0.0,
            "tlost": int((frequent & ~left).sum()) / n_frequent if n_frequent else 0.0,
            "re": _pair_error(index, table),
        }
    )


def _pair_error(index: SupportIndex, table: ChunkTable) -> float:
    """The mean relative error of the supports of pairs, in a reconstruction with the seed 0."""
    order = np.argsort(-index.singles, kind="stable")
    first = max(min(_MIDDLE, (len(order) - _MEASURED) // 2), 0)
    items = np.sort(order[first : first + _MEASURED]).astype(np.int32)
    left, right = np.triu_indices(len(items), 1)
    pairs = np.column_stack((items[left], items[right])).ravel()
    offsets = np.arange(0, len(pairs) + 1, 2)
    again = SupportIndex.of(rebuilt(table, np.random.default_rng(0)))
    actual, found = (each.supports(pairs, offsets) for each in (index, again))
    both = actual + found
    known = both > 0
    return float(np.mean(2 * np.abs(actual - found)[known] / both[known])) if known.any() else 0.0


# --- Disassociate: publish rows in parts, each of which is k^m-anonymous, and not how these belong together


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
        One row per person. It is not modified.
    column : hashable, optional
        The list column. By default, the only one.
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
        If the column or a parameter is invalid.

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
    decision = partial(decide, k=k, m=m, max_cluster=max_cluster, refine=refine, safe=safe, utility=utility)
    return RECORD.release(frame, column, decision, keep=keep, progress=progress)


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
) -> Decision[ListRows]:
    """Which chunk each occurrence of an item goes to."""
    guarantee = DisassociatedKm(k=k, m=m, safe=safe)
    most = _most_rows(max_cluster, guarantee.k)
    check_flag(refine, "refine")
    itemsets = columns.itemsets
    blocks = some_blocks(None if utility is None else partition(utility), itemsets)
    check_feasible(SupportIndex.of(itemsets), guarantee.k, 0)  # rows without items are left out
    table, groups = chunks_of(itemsets, guarantee, most, refine, blocks, report)
    kept = Recoding.of_suppressed(np.zeros(itemsets.n_items, np.bool_), itemsets)
    mapping, loss = mapping_table(itemsets, kept), measured(itemsets, table, guarantee.k)
    rows = ListRows(columns, replace(kept, groups=groups), chunks=table)
    return Decision(rows, guarantee, mapping, loss)


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
