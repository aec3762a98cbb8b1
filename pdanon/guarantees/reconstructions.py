"""Small clusters, reconstruction by reconstruction: the definition itself, and nothing that follows from it.

What `DisassociatedKm` counts suffices for what it promises. Here the promise itself is looked at, where that
can be done: all tables that a cluster, or a joint one with its parts, can have come from are made, and
searched for the records that must be there. Nothing here knows what is counted.

Clusters that differ only in what their terms are called are looked at once. Terms that are in the same
sub-records are one, and of a term chunk m + 1 are enough: all that others do is fill records, which the one
that is not in an itemset of m can do alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, pairwise
from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.lists import Codes, distinct, offsets_of
from pdanon.itemsets.table import ItemsetTable

__all__ = ["refuted"]

Numbers = NDArray[np.int64]
Range = tuple[int, int]

RECORDS = 8  # of a cluster, or of a joint one: in which sub-records a term is are the bits of a byte
ITEMSETS = 1_000  # that may be known
_BITS = 63  # of a table: a bit for each term, of those that are not alike, in each record
TABLES = 2_000  # that differ in more than the order of records: whole, or in the making
_TRIED = 20_000  # with those that differ in it alone, at a step
_KINDS = 500  # of clusters: those that most are of
_NODE = 1 << 40  # more than the label of any term


class _Term(NamedTuple):
    place: int  # among the values of its tree
    label: int  # the same in other chunks; 0: it is not looked for in others
    chunk: int
    records: Range  # of its cluster or joint cluster


class _Tree(NamedTuple):
    leaves: list[Range]  # the records of each cluster
    terms: list[_Term]  # by the numbers of their bits
    parts: dict[int, tuple[Range, list[int]]]  # the sub-records of each record chunk, as bits


def refuted(
    table: ChunkTable, k: int, m: int | None, safe: bool, doubted: NDArray[np.bool_]
) -> tuple[Numbers, ItemsetTable]:
    """Clusters whose reconstructions are few, and do not have what is promised.

    Parameters
    ----------
    table : ChunkTable
        The chunks; no term is in two that a record can have parts of.
    k, m, safe : int, int or None, bool
        What is promised.
    doubted : ndarray of bool, shape (clusters,)
        Clusters that are not looked at, nor are those joined with them.

    Returns
    -------
    clusters : ndarray of int64
        The clusters, or topmost joint ones.
    threats : ItemsetTable
        An itemset of each, and how many records hold it: the most of any reconstruction, if fewer than k; the
        fewest, if they are two terms that none keeps apart.
    """
    trees, values, codes = _values(table, m, safe, doubted)
    begins = np.flatnonzero(np.diff(trees, prepend=-1))
    bounds, text = np.append(begins, len(trees)).tolist(), values.tobytes()
    kinds = [text[8 * begin : 8 * end] for begin, end in pairwise(bounds)]
    found = {}
    for kind, _ in Counter(kinds).most_common(_KINDS):
        threat = _threat(_tree(np.frombuffer(kind, np.int64).tolist()), k, m, safe)
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


# --- What the trees are, whatever their terms are called


def _values(
    table: ChunkTable, m: int | None, safe: bool, doubted: NDArray[np.bool_]
) -> tuple[Numbers, Numbers, Codes]:
    """The small trees, value after value: the topmost cluster of each, the values, and what terms they are.

    A cluster or joint cluster is which records it has; then come the terms of its term chunk, and for each
    record chunk how many sub-records it has, as a negative number, and in which of these each term is.
    """
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
    term, part, owner, code = _terms(table, m, safe, tops, np.flatnonzero(small[table.owners]))

    node = np.concatenate((nodes, owners[parts], owner))
    part = np.concatenate((np.full(len(nodes), -2), parts, part))
    value = np.concatenate((spans, -counts[parts], term))
    codes = np.concatenate((np.zeros(len(nodes) + len(parts), np.int32), code))
    rank = np.empty(len(tops), np.int64)
    rank[np.argsort(tops, kind="stable")] = np.arange(len(tops))
    keys = rank[node] * np.int64(len(counts) + 2) + part
    order = np.lexsort((value, keys))
    again = (np.diff(keys[order], prepend=-1) == 0) & (np.diff(value[order], prepend=-1) == 0)
    order = order[
        ~again | (part[order] < 0)
    ]  # terms of a record chunk that are in the same sub-records are one
    return tops[node[order]], value[order], codes[order]


def _terms(
    table: ChunkTable, m: int | None, safe: bool, tops: Numbers, rows: Numbers
) -> tuple[Numbers, Numbers, Numbers, Codes]:
    """The terms of the chunks that have some rows: value, chunk or -1, cluster, and what each is called."""
    rows = rows[np.argsort(table.part_of[rows], kind="stable")]
    within = np.arange(len(rows)) - np.searchsorted(table.part_of[rows], table.part_of[rows])
    row = np.repeat(np.arange(len(rows)), table.itemsets.lengths[rows])
    codes = table.itemsets.codes[table.itemsets.places(rows)]
    part, owner = table.part_of[rows][row], table.owners[rows][row]
    n_items = np.int64(max(table.itemsets.n_items, 1))
    labels = np.zeros(len(codes), np.int64)
    if safe:  # in a joint cluster a term may be in several chunks
        keys = tops[owner] * n_items
        known, of = np.unique(keys + codes, return_inverse=True)
        labels = np.where(table.is_cluster[tops[owner]], 0, 1 + of.ravel() - np.searchsorted(known, keys))
    number = np.arange(len(row)) - np.searchsorted(row, row)
    alone = np.flatnonzero((part < 0) & ((labels > 0) | (m is None or number <= m)))
    shared = np.flatnonzero(part >= 0)
    _, first, of = np.unique(part[shared] * n_items + codes[shared], return_index=True, return_inverse=True)
    bits = np.bincount(of.ravel(), 2.0 ** within[row[shared]], len(first)).astype(np.int64)
    which = np.append(alone, shared[first])
    values = 256 * labels[which] + np.append(np.zeros(len(alone), np.int64), bits)
    return values, part[which], owner[which], codes[which]


def _tree(values: list[int]) -> _Tree:
    """A tree, from its values."""
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
            terms.append(_Term(place, value >> 8, chunk, records))
    return _Tree(leaves, terms, parts)


# --- What is true in all tables that a tree can have come from


def _threat(tree: _Tree, k: int, m: int | None, safe: bool) -> tuple[list[int], int] | None:
    """The places of the terms that break the promise, and how many records hold them; None if none do."""
    n_terms = len(tree.terms)
    most_known = n_terms if m is None else min(m, n_terms)
    if sum(comb(n_terms, size) for size in range(1, most_known + 1)) > ITEMSETS:
        return None
    tables = _reconstructions(tree)
    if tables is None:
        return None
    if len(tables) == 0:
        return [], 0
    for size in range(1, most_known + 1):
        for bits in combinations(range(len(tree.terms)), size):
            itemset = sum(1 << bit for bit in bits)
            holds = tables & itemset == itemset
            for begin, end in tree.leaves:
                most = int(holds[:, begin:end].sum(axis=1).max())
                if 0 < most < k:
                    return [tree.terms[bit].place for bit in bits], most
    for one, other in combinations(tree.terms, 2) if safe else ():
        fewest = _together(tables, tree, one, other)
        if fewest > 0:
            return [one.place, other.place], fewest
    return None


def _together(tables: Numbers, tree: _Tree, one: _Term, other: _Term) -> int:
    """How many records hold two terms, at least; 0 for those of one chunk, or of other records."""
    wide, other = sorted((one, other), key=lambda term: term.records[0] - term.records[1])
    begin, end = wide.records
    if wide.chunk == other.chunk or not begin <= other.records[0] < end:
        return 0
    same = [term is other or term.label == other.label > 0 for term in tree.terms]
    bits = sum(1 << bit for bit, is_same in enumerate(same) if is_same)
    held = tables[:, begin:end]
    both = (held >> tree.terms.index(wide) & 1 > 0) & (held & bits > 0)
    return int(both.sum(axis=1).min())


def _reconstructions(tree: _Tree) -> Numbers | None:
    """All tables that a tree can have come from, but for the order of its records; None if they are too many.

    A row is a table, and a column a record: its terms, as bits.
    """
    n_records, n_terms = max(end for _, end in tree.leaves), len(tree.terms)
    if n_records * n_terms > _BITS or _least(tree) > TABLES:
        return None
    tables = np.zeros((1, n_records), np.int64)
    shifts = n_terms * np.arange(n_records)
    for (begin, end), ways in _placements(tree):
        if len(tables) * len(ways) > _TRIED:
            return None
        tables = np.repeat(tables, len(ways), axis=0)
        tables[:, begin:end] |= np.tile(ways, (len(tables) // len(ways), 1))
        for first, last in tree.leaves:
            tables[:, first:last].sort(axis=1)
        packed = distinct((tables << shifts).sum(axis=1))
        if len(packed) > TABLES:
            return None
        tables = packed[:, np.newaxis] >> shifts & (1 << n_terms) - 1
    return tables[(tables > 0).all(axis=1)]


def _least(tree: _Tree) -> float:
    """How many tables there are at least: all ways, none of them equal but for the order of the records."""
    sizes = [end - begin for begin, end in tree.leaves]
    terms = [term for term in tree.terms if term.chunk not in tree.parts]
    ways = prod((1 << term.records[1] - term.records[0]) - 1 for term in terms)
    for (begin, end), parts in tree.parts.values():
        times = [*Counter(parts).values(), end - begin - len(parts)]
        ways *= factorial(end - begin) // prod(map(factorial, times))
    return ways / prod(map(factorial, sizes))


def _placements(tree: _Tree) -> Iterator[tuple[Range, Numbers]]:
    """For each record chunk, and each term of a term chunk: its records, and all ways to give it to them."""
    for (begin, end), parts in tree.parts.values():
        counts = Counter(parts + [0] * (end - begin - len(parts)))
        yield (begin, end), np.array([*counts])[_orders(tuple(counts.values()))]
    for bit, term in enumerate(tree.terms):
        if term.chunk not in tree.parts:
            size = term.records[1] - term.records[0]
            yield term.records, (np.arange(1, 1 << size)[:, np.newaxis] >> np.arange(size) & 1) << bit


@lru_cache(maxsize=1024)
def _orders(counts: tuple[int, ...]) -> NDArray[np.int8]:
    """All sequences in which each number is as often as is said: one a row."""
    if not any(counts):
        return np.zeros((1, 0), np.int8)
    found = []
    for number, count in enumerate(counts):
        if count:
            rest = _orders((*counts[:number], count - 1, *counts[number + 1 :]))
            found.append(np.column_stack((np.full(len(rest), number, np.int8), rest)))
    return np.concatenate(found)
