"""k^m-anonymity of disassociated records: the links between the published parts of a record are hidden."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pdanon.guarantees.models import Model
from pdanon.guarantees.verdict import Audit, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.codes import read_visible
from pdanon.itemsets.lists import (
    Mask,
    Numbers,
    distinct,
    inverse_order,
    mask_at,
    sums,
)
from pdanon.itemsets.support import ItemsetTable, SupportIndex, empty_itemsets, no_itemsets

_PAIRS = 32  # upper bound on pairs per term for which pairs are counted before whole sub-records


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class DisassociatedKm(Model):
    """For up to m known items of a record, some reconstruction has at least k records that match.

    A reconstruction is a possible original of the release. In it, each record of a cluster has at most one
    sub-record of each chunk of its cluster and of the joint clusters above it. Each term of a term chunk is
    in at least one record of the cluster, and no record is empty.

    Parameters
    ----------
    k : int
        Least number of records that an attacker's knowledge must match; at least 2.
    m : int or None
        Maximum number of terms that the attacker knows; at least 1. None: all terms of a record.
    safe : bool
        Also require that no two terms of different chunks are together in some record of every
        reconstruction.

    Raises
    ------
    ParameterError
        If k or m is out of range.

    Notes
    -----
    If two terms are in one record chunk, the number of records with both is published; with m of at least 2,
    it is 0 or at least k. If they are in different chunks, k records have both in some reconstruction, and
    fewer or more in others. The guarantee does not state how likely each reconstruction is.

    References
    ----------
    .. [1] M. Terrovitis, J. Liagouris, N. Mamoulis, S. Skiadopoulos, "Privacy Preservation by
       Disassociation", PVLDB 5(10), 2012.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice", "salt"], ["salt"]]})
    >>> result = df.txanon.disassociate(k=2, m=2)
    >>> result.frame.txanon.audit(pdanon.DisassociatedKm(k=2, m=2))
    Audit(holds=True, rows_at_risk=0, guarantee=DisassociatedKm(k=2, m=2, safe=False))
    """

    k: int
    m: int | None = 2
    safe: bool = False

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame of chunks from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            A release with the columns ``cluster, joint, size, chunk`` and a list column.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` are itemsets with their ``support``, the number of rows or records that is too low or
            too high, and ``why``:

            - ``rare``: an itemset in fewer than k sub-records of a chunk;
            - ``repeated``: a term in two chunks that can have parts of the same record;
            - ``few records``: a cluster has fewer than k records;
            - ``few sub-records``: a cluster without a term chunk has too few sub-records to give k records
              the same known terms and leave no record empty;
            - ``covered``, with ``safe``: a term must be in a record with a term of another chunk.

        Raises
        ------
        ColumnError, ItemsetDtypeError, ParameterError
            If the frame is not a release by disassociation.

        Notes
        -----
        The conditions suffice, and are counted as integers. They are not necessary: a cluster that violates
        them may still have the guarantee.

        Time and memory are those of `KmAnonymity` over the sub-records.
        """
        table = ChunkTable.of(frame, column, read=read_visible)
        checks = [
            self._find_rare(table),
            _find_repeated(table),
            self._find_few_records(table),
            self._find_few_parts(table),
        ]
        checks += [_find_covered(table)] if self.safe else []
        at_risk = _clusters_within(table, np.concatenate([clusters for clusters, _, _ in checks]))

        def list_threats() -> pd.DataFrame:
            tables = [threat_table(table.itemsets, threats, why) for _, threats, why in checks]
            return pd.concat(tables, ignore_index=True)

        return Audit(self, int(table.sizes[at_risk].sum()), list_threats)

    def _find_rare(self, table: ChunkTable) -> _Check:
        """Find itemsets of a chunk in fewer than k of its sub-records."""
        is_part = np.flatnonzero(table.part_of >= 0)
        parts = table.itemsets.take(is_part)
        n_items = max(table.itemsets.n_items, 1)
        keys = np.repeat(table.part_of[is_part], parts.lengths) * np.int64(n_items) + parts.codes
        terms, codes = np.unique(keys, return_inverse=True)  # a term has another code in each chunk
        index = SupportIndex(codes.astype(np.int32), parts.offsets, len(terms))
        # If no whole sub-record is rare (m=None), no itemset is; count itemsets first only if that is faster.
        n_pairs = int((parts.lengths * (parts.lengths - 1) // 2).sum())
        is_fast = self.m == 1 or (self.m == 2 and n_pairs <= _PAIRS * int(parts.lengths.sum()))
        known = self.m if is_fast else None
        at_risk = index.at_risk(self.k, known)
        if known != self.m and at_risk.any():
            at_risk = index.at_risk(self.k, self.m)
        rare = no_itemsets()
        if at_risk.any():
            found = index.rare(self.k, self.m)
            rare = replace(found, codes=(terms % n_items)[found.codes].astype(np.int32))
        return table.owners[is_part][at_risk], rare, "rare"

    def _find_few_records(self, table: ChunkTable) -> _Check:
        """Find clusters with fewer than k records."""
        small = np.flatnonzero(table.is_cluster & (table.sizes < self.k))
        return small, empty_itemsets(table.sizes[small]), "few records"

    def _find_few_parts(self, table: ChunkTable) -> _Check:
        """Find clusters without a term chunk with too few sub-records."""
        # If k records get sub-records of up to m chunks each, every other record still needs a sub-record.
        owners, counts = table.parts
        total = sums(owners, counts, len(table.sizes))
        chunks = np.bincount(owners, minlength=len(table.sizes))
        chosen = chunks if self.m is None else np.minimum(chunks, min(self.m, len(table.chunks)))
        needed = table.sizes + self.k * np.maximum(chosen - 1, 0)
        has_terms = mask_at(
            len(table.sizes), table.owners[(table.chunks == 0) & (table.itemsets.lengths > 0)]
        )
        few = np.flatnonzero(table.is_cluster & ~has_terms & (total < needed))
        return few, empty_itemsets(total[few]), "few sub-records"


_Check = tuple[Numbers, ItemsetTable, str]  # the clusters at risk, their threats, and the reason


def _find_repeated(table: ChunkTable) -> _Check:
    """Find terms in two chunks of a cluster, or in a chunk of it and a chunk of a joint cluster above it."""
    n_clusters, n_items = len(table.sizes), max(table.itemsets.n_items, 1)
    part = np.where(table.part_of >= 0, table.part_of + n_clusters, table.owners)
    keys = np.repeat(part, table.itemsets.lengths) * np.int64(n_items) + table.itemsets.codes
    part, term = np.divmod(distinct(keys), n_items)
    ends = table.first_records + table.sizes
    order = np.lexsort((-ends, table.first_records))  # clusters after the joint clusters around them
    rank = inverse_order(order)
    owner = np.append(np.arange(n_clusters), table.parts[0])[part]
    term, place = np.divmod(np.sort(term * n_clusters + rank[owner]), max(n_clusters, 1))
    owner = order[place]
    begin, end = table.first_records[owner], ends[owner]
    twice = np.flatnonzero((term[1:] == term[:-1]) & (begin[1:] < end[:-1]))
    codes, supports = term[twice].astype(np.int32), np.full(len(twice), 2, np.int64)
    terms = ItemsetTable(codes, np.arange(len(twice) + 1), supports)
    return owner[twice], terms, "repeated"


def _find_covered(table: ChunkTable) -> _Check:
    """Find a pair of terms of different chunks per cluster with more occurrences than records."""
    # By the pigeonhole principle, some record has both. In a joint cluster, one term is in a shared chunk,
    # and the other in another shared chunk, or in chunks of its parts, where its occurrences are added up.
    part, term, count = _most_frequent(table)
    owners = table.parts[0][part]
    order = np.lexsort((-count, owners))
    owner, begins = np.unique(owners[order], return_index=True)
    top, top_term = (_spread(table, owner, each[order[begins]]) for each in (count, term))
    several = begins + 1 < np.append(begins[1:], len(order))
    follows = order[begins[several] + 1]
    second, second_term = (_spread(table, owner[several], each[follows]) for each in (count, term))
    below, below_term = _most_frequent_below(table)
    rival = np.maximum(second, below)
    rival_term = np.where(second >= below, second_term, below_term)
    covered = np.flatnonzero((top > 0) & (rival > 0) & (top + rival > table.sizes))
    pairs = np.sort(np.column_stack((top_term[covered], rival_term[covered])), axis=1).astype(np.int32)
    threats = ItemsetTable(pairs.ravel(), np.arange(0, pairs.size + 1, 2), table.sizes[covered])
    return covered, threats, "covered"


def _most_frequent(table: ChunkTable) -> tuple[Numbers, Numbers, Numbers]:
    """Return the record chunks, the most frequent term of each, and the number of sub-records with it."""
    n_items = np.int64(max(table.itemsets.n_items, 1))
    parts = np.repeat(table.part_of, table.itemsets.lengths)
    within = parts >= 0
    keys, counts = np.unique(parts[within] * n_items + table.itemsets.codes[within], return_counts=True)
    part, first = _maxima(keys // n_items, counts)
    return part, keys[first] % n_items, counts[first].astype(np.int64)


def _most_frequent_below(table: ChunkTable) -> tuple[Numbers, Numbers]:
    """Return the minimum number of records with the most frequent term of the parts of each joint cluster."""
    # The second value is this term. A cluster that is not joint has 1 if it has a term chunk, otherwise 0.
    n_items = np.int64(max(table.itemsets.n_items, 1))
    most, term = np.zeros((2, len(table.sizes)), np.int64)
    cells, counts = np.unique(
        np.repeat(table.owners, table.itemsets.lengths) * n_items + table.itemsets.codes, return_counts=True
    )
    level = table.levels[cells // n_items]
    found, times = cells[:0], counts[:0]  # terms of the parts of the clusters of a level
    for depth in range(int(table.levels.max(initial=-1)), -1, -1):
        owner, first = _maxima(found // n_items, times)
        most[owner], term[owner] = times[first], found[first] % n_items
        keys, totals = np.append(found, cells[level == depth]), np.append(times, counts[level == depth])
        above = table.joints[keys // n_items]
        found, places = np.unique((above * n_items + keys % n_items)[above >= 0], return_inverse=True)
        times = sums(places.ravel(), totals[above >= 0], len(found))
    rows = np.flatnonzero((table.chunks == 0) & (table.itemsets.lengths > 0))
    most[table.owners[rows]] = 1
    term[table.owners[rows]] = table.itemsets.codes[table.itemsets.offsets[rows]]
    return most, term


def _maxima(groups: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """Return the groups, and the position of the largest count of each, the first one in a tie."""
    order = np.lexsort((-counts, groups))
    found, first = np.unique(groups[order], return_index=True)
    return found, order[first]


def _spread(table: ChunkTable, owners: Numbers, values: Numbers) -> Numbers:
    """Expand values to all clusters, with 0 for the others."""
    result = np.zeros(len(table.sizes), np.int64)
    result[owners] = values
    return result


def _clusters_within(table: ChunkTable, owners: Numbers) -> Mask:
    """Return whether each cluster is one of some clusters, or a part of a joint cluster among them."""
    among = mask_at(len(table.sizes), owners)
    for level in range(1, int(table.levels.max(initial=0)) + 1):
        members = np.flatnonzero(table.levels == level)
        among[members] |= among[table.joints[members]]
    return among & table.is_cluster
