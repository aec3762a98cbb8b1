"""k^m-anonymity of disassociated records: the links between the published parts of a record are hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise
from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.models import Model
from pdanon.guarantees.verdict import Audit, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.codes import read_visible
from pdanon.itemsets.lists import (
    Codes,
    Mask,
    Numbers,
    distinct,
    inverse_order,
    mask_at,
    offsets_of,
    ranges,
    sums,
)
from pdanon.itemsets.support import ItemsetTable, SupportIndex, empty_itemsets, no_itemsets

Range = tuple[int, int]

# Upper bounds on the exhaustive search of small clusters.
RECORDS = 8  # records of a cluster or joint cluster: the sub-records with a term are the bits of a byte
ITEMSETS = 1_000  # itemsets of known terms
_BITS = 63  # bits of a table: one for each distinct term in each record
TABLES = 2_000  # tables that differ in more than the order of records, complete or partial
_TRIED = 20_000  # tables of one step, before those that differ in the order of records only are merged
_KINDS = 500  # kinds of clusters, the most frequent ones
_NODE = 1 << 40  # larger than the label of any term


class _Term(NamedTuple):
    place: int  # position among the values of its tree
    label: int  # equal for the same term in other chunks
    chunk: int
    records: Range  # of its cluster or joint cluster


class _Tree(NamedTuple):
    leaves: list[Range]  # the records of each cluster
    terms: list[_Term]  # in the order of their bits
    parts: dict[int, tuple[Range, list[int]]]  # the sub-records of each record chunk, as bits


def find_refuted(
    table: ChunkTable, k: int, m: int | None, safe: bool, doubted: Mask
) -> tuple[Numbers, ItemsetTable]:
    """Find small clusters whose reconstructions violate the guarantee, by exhaustive search."""
    # The number of records is the maximum over all reconstructions if it is below k, otherwise the minimum.
    trees, values, codes = _encode_trees(table, m, doubted)
    begins = np.flatnonzero(np.diff(trees, prepend=-1))
    bounds, text = np.append(begins, len(trees)).tolist(), values.tobytes()
    kinds = [text[8 * begin : 8 * end] for begin, end in pairwise(bounds)]
    found = {}
    for kind, _ in Counter(kinds).most_common(_KINDS):
        threat = _find_threat(_decode_tree(np.frombuffer(kind, np.int64).tolist()), k, m, safe)
        if threat is not None:
            found[kind] = threat
    failed = [number for number, kind in enumerate(kinds) if kind in found]
    itemsets = [
        np.sort(codes[begins[number] + np.array(found[kinds[number]][0], np.int64)]) for number in failed
    ]
    lengths = np.array([len(each) for each in itemsets], np.int64)
    supports = np.array([found[kinds[number]][1] for number in failed], np.int64)
    listed = ItemsetTable(np.concatenate([codes[:0], *itemsets]), offsets_of(lengths), supports)
    return trees[begins[failed]], listed


# --- Trees of clusters, independent of the names of their terms


def _encode_trees(table: ChunkTable, m: int | None, doubted: Mask) -> tuple[Numbers, Numbers, Codes]:
    """Encode the small trees, and return the topmost cluster, the value and the term of each position."""
    # A cluster or joint cluster is encoded by its range of records, followed by the terms of its term chunk.
    # Each record chunk follows with the negative number of its sub-records, and, for each of its terms, the
    # set of sub-records with the term. Trees with equal values differ only in the names of terms.
    tops = np.where(table.joints >= 0, table.joints, np.arange(len(table.joints)))
    while (tops[tops] != tops).any():
        tops = tops[tops]
    small = table.sizes <= RECORDS
    small[tops[doubted]] = False
    small = small[tops]
    nodes = np.flatnonzero(small)
    begins = table.first_records[nodes] - table.first_records[tops[nodes]]
    spans = _NODE + 256 * table.is_cluster[nodes] + 16 * begins + table.sizes[nodes]
    owners, counts = table.parts
    parts = np.flatnonzero(small[owners])
    term, part, owner, code = _terms(table, m, tops, np.flatnonzero(small[table.owners]))

    node = np.concatenate((nodes, owners[parts], owner))
    part = np.concatenate((np.full(len(nodes), -2), parts, part))
    value = np.concatenate((spans, -counts[parts], term))
    codes = np.concatenate((np.zeros(len(nodes) + len(parts), np.int32), code))
    rank = inverse_order(np.argsort(tops, kind="stable"))
    keys = rank[node] * np.int64(len(counts) + 2) + part
    order = np.lexsort((value, keys))
    again = (np.diff(keys[order], prepend=-1) == 0) & (np.diff(value[order], prepend=-1) == 0)
    # Terms of a record chunk in the same sub-records are interchangeable: keep one of them.
    order = order[~again | (part[order] < 0)]
    return tops[node[order]], value[order], codes[order]


def _terms(
    table: ChunkTable, m: int | None, tops: Numbers, rows: Numbers
) -> tuple[Numbers, Numbers, Numbers, Codes]:
    """Return the terms in some rows of chunks: value, chunk or -1, cluster, and code."""
    rows = rows[np.argsort(table.part_of[rows], kind="stable")]
    within = np.arange(len(rows)) - np.searchsorted(table.part_of[rows], table.part_of[rows])
    row, places = ranges(table.itemsets.offsets[rows], table.itemsets.lengths[rows])
    codes = table.itemsets.codes[places]
    part, owner = table.part_of[rows][row], table.owners[rows][row]
    n_items = np.int64(max(table.itemsets.n_items, 1))
    # A term that is in several chunks of a tree has a label; others of a term chunk are interchangeable.
    keys, chunk = tops[owner] * n_items, np.where(part < 0, owner, len(table.sizes) + part)
    known, first, of = np.unique(keys + codes, return_index=True, return_inverse=True)
    several = np.bincount(of.ravel(), chunk != chunk[first[of.ravel()]], len(known)) > 0
    labels = np.where(several[of.ravel()], 1 + of.ravel() - np.searchsorted(known, keys), 0)
    before = np.cumsum(labels == 0) - (labels == 0)
    number = before - before[np.searchsorted(row, row)]
    alone = np.flatnonzero((part < 0) & ((labels > 0) | (m is None or number <= m)))
    shared = np.flatnonzero(part >= 0)
    _, first, of = np.unique(part[shared] * n_items + codes[shared], return_index=True, return_inverse=True)
    bits = np.bincount(of.ravel(), 2.0 ** within[row[shared]], len(first)).astype(np.int64)
    which = np.append(alone, shared[first])
    values = 256 * labels[which] + np.append(np.zeros(len(alone), np.int64), bits)
    return values, part[which], owner[which], codes[which]


def _decode_tree(values: list[int]) -> _Tree:
    """Build a tree from its values."""
    leaves: list[Range] = []
    terms: list[_Term] = []
    parts: dict[int, tuple[Range, list[int]]] = {}
    records, chunk = (0, 0), 0
    for place, value in enumerate(values):
        if value >= _NODE:
            is_leaf, begin, size = (value - _NODE) >> 8, value >> 4 & 15, value & 15
            records, chunk = (begin, begin + size), chunk + 1
            leaves += [records] * is_leaf
        elif value < 0:
            chunk += 1
            parts[chunk] = records, [0] * -value
        else:
            for number in range(RECORDS):
                if value >> number & 1:
                    parts[chunk][1][number] |= 1 << len(terms)
            terms.append(_Term(place, value >> 8 or -place, chunk, records))
    return _Tree(leaves, terms, parts)


# --- All reconstructions of a tree


def _find_threat(tree: _Tree, k: int, m: int | None, safe: bool) -> tuple[list[int], int] | None:
    """Return the positions of terms that violate the guarantee, and the number of records; or None."""
    places = {term.label: term.place for term in tree.terms}
    bits = {label: _bits_of(tree, label) for label in places}
    n_terms = len(bits)
    most_known = n_terms if m is None else min(m, n_terms)
    if sum(comb(n_terms, size) for size in range(1, most_known + 1)) > ITEMSETS:
        return None
    tables = _reconstructions(tree)
    if tables is None:
        return None
    if len(tables) == 0:
        return [], 0
    for size in range(1, most_known + 1):
        for labels in combinations(bits, size):
            holds = np.all([tables & bits[label] > 0 for label in labels], axis=0)
            most = int(holds.sum(axis=1).max())
            if 0 < most < k:
                return [places[label] for label in labels], most
    for one, other in combinations(tree.terms, 2) if safe else ():
        fewest = _min_together(tables, tree, one, other)
        if fewest > 0:
            return [one.place, other.place], fewest
    return None


def _min_together(tables: Numbers, tree: _Tree, one: _Term, other: _Term) -> int:
    """Return the minimum number of records with two terms; 0 for terms of one chunk or of other records."""
    wide, other = sorted((one, other), key=lambda term: term.records[0] - term.records[1])
    begin, end = wide.records
    if wide.label == other.label or wide.chunk == other.chunk or not begin <= other.records[0] < end:
        return 0
    held = tables[:, begin:end]
    both = (held >> tree.terms.index(wide) & 1 > 0) & (held & _bits_of(tree, other.label) > 0)
    return int(both.sum(axis=1).min())


def _bits_of(tree: _Tree, label: int) -> int:
    """Return the bits of a term in all of its chunks."""
    return sum(1 << bit for bit, term in enumerate(tree.terms) if term.label == label)


def _reconstructions(tree: _Tree) -> Numbers | None:
    """Return all reconstructions of a tree up to the order of records, or None if they are too many."""
    # A row is a reconstruction, a column a record, and the bits of a value are the terms of the record.
    n_records, n_terms = max(end for _, end in tree.leaves), len(tree.terms)
    if n_records * n_terms > _BITS or _lower_bound(tree) > TABLES:
        return None
    tables = np.zeros((1, n_records), np.int64)
    shifts = n_terms * np.arange(n_records)
    for (begin, end), ways in _placements(tree):
        if len(tables) * len(ways) > _TRIED:
            return None
        tables = np.repeat(tables, len(ways), axis=0)
        tables[:, begin:end] |= np.tile(ways, (len(tables) // len(ways), 1))
        # Sort the records of each cluster, and pack each table into an integer, to find equal tables.
        for first, last in tree.leaves:
            tables[:, first:last].sort(axis=1)
        packed = distinct((tables << shifts).sum(axis=1))
        if len(packed) > TABLES:
            return None
        tables = packed[:, np.newaxis] >> shifts & (1 << n_terms) - 1
    return tables[(tables > 0).all(axis=1)]


def _lower_bound(tree: _Tree) -> float:
    """Return a lower bound on the number of tables: all placements, divided by all orders of records."""
    sizes = [end - begin for begin, end in tree.leaves]
    terms = [term for term in tree.terms if term.chunk not in tree.parts]
    ways = prod((1 << term.records[1] - term.records[0]) - 1 for term in terms)
    for (begin, end), parts in tree.parts.values():
        times = [*Counter(parts).values(), end - begin - len(parts)]
        ways *= factorial(end - begin) // prod(map(factorial, times))
    return ways / prod(map(factorial, sizes))


def _placements(tree: _Tree) -> Iterator[tuple[Range, Numbers]]:
    """Yield, for each record chunk and each term of a term chunk, its records and all its placements."""
    for (begin, end), parts in tree.parts.values():
        counts = Counter(parts + [0] * (end - begin - len(parts)))
        yield (begin, end), np.array([*counts])[_permutations(tuple(counts.values()))]
    for bit, term in enumerate(tree.terms):
        if term.chunk not in tree.parts:
            size = term.records[1] - term.records[0]
            yield term.records, (np.arange(1, 1 << size)[:, np.newaxis] >> np.arange(size) & 1) << bit


@lru_cache(maxsize=1024)
def _permutations(counts: tuple[int, ...]) -> NDArray[np.int8]:
    """Return all permutations of a multiset of numbers, given the count of each number, one per row."""
    if not any(counts):
        return np.zeros((1, 0), np.int8)
    found = []
    for number, count in enumerate(counts):
        if count:
            rest = _permutations((*counts[:number], count - 1, *counts[number + 1 :]))
            found.append(np.column_stack((np.full(len(rest), number, np.int8), rest)))
    return np.concatenate(found)


# --- The guarantee


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
            - ``covered``, with ``safe``: a term must be in a record with a term of another chunk;
            - ``refuted``: an itemset passes the conditions above, but not the search of the reconstructions.

        Raises
        ------
        ColumnError, ItemsetDtypeError, ParameterError
            If the frame is not a release by disassociation.

        Notes
        -----
        For all clusters, sufficient conditions are counted, as integers. They are not necessary: a cluster
        that violates them may still have the guarantee. Small clusters must also pass an exhaustive search,
        by code that does not use these conditions. It lists all reconstructions of a cluster, or of a joint
        cluster with its parts, and searches them for k records with each itemset of known terms.

        A cluster is small if it has up to 8 records, 2,000 reconstructions that differ in more than the order
        of records, 1,000 itemsets of up to m terms, and 63 pairs of a record and a distinct term. Clusters
        that differ only in the names of terms are searched once. If they are of more than 500 kinds, only the
        most frequent kinds are searched.

        Time and memory are those of `KmAnonymity` over the sub-records, and at most milliseconds per kind.
        """
        table = ChunkTable.of(frame, column, read=read_visible)
        checks = [
            self._find_rare(table),
            _find_repeated(table),
            self._find_few_records(table),
            self._find_few_parts(table),
        ]
        checks += [_find_covered(table)] if self.safe else []
        failed = mask_at(len(table.sizes), np.concatenate([clusters for clusters, _, _ in checks]))
        checks += [(*find_refuted(table, self.k, self.m, self.safe, failed), "refuted")]
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
