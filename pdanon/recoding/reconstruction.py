"""Reconstruction: random tables of whole records that a release in chunks may come from."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.lists import Floats, offsets_of, ranges
from pdanon.itemsets.validation import MOST_DRAWN, check_count, check_frame, random_generator
from pdanon.recoding.result import Anonymized

_MOST = 1_000_000  # tables


@called_by_name
def reconstruct(
    released: Anonymized | pd.DataFrame,
    n: int = 1,
    column: Hashable | None = None,
    *,
    random_state: Any = None,
) -> list[pd.DataFrame]:
    """Draw random tables that a release by `disassociate` may come from.

    Parameters
    ----------
    released : Anonymized or pandas.DataFrame
        The result of `disassociate`, or its frame.
    n : int
        Number of tables, at least 1.
    column : hashable, optional
        The list column. By default, the only one.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    list of pandas.DataFrame
        Each has a list column with a row per record, cluster by cluster.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the frame has no chunks, or a parameter is invalid.

    Notes
    -----
    Each sub-record is assigned to a record of its cluster or joint cluster, and two of the same chunk to
    different records. Each term of a term chunk is assigned to one record of its cluster. Records that would
    be empty come first. Measures of a table depend on the draw: average them over several tables.

    A reconstruction contains no more information than the release. It is not the original, and its rows are
    not persons.

    Cost: time and memory of a few sorts of the sub-records and of the records.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice"], ["rice", "tea", "salt"]]})
    >>> result = df.txanon.disassociate(k=2, m=2)
    >>> tables = pdanon.reconstruct(result, n=3, random_state=0)
    >>> [table["items"].itemset.support(["rice", "tea"]) for table in tables]
    [3, 3, 3]
    """
    frame = released.frame if isinstance(released, Anonymized) else check_frame(released, "released")
    n = check_count(n, "n", least=1, most=_MOST)
    label = frame.columns[find_column(frame, column)]
    table, rng = ChunkTable.of(frame, label), random_generator(random_state)
    check_count(table.n_records, "the number of records", least=0, most=MOST_DRAWN)
    return [pd.DataFrame({label: draw_records(table, rng).to_pandas()}) for _ in range(n)]


def draw_records(table: ChunkTable, rng: np.random.Generator, wanted: Mask | None = None) -> Itemsets:
    """Draw one table that chunks may come from, a row per record; only ``wanted`` items are written."""
    record_of = np.full(len(table.chunks), -1, np.int64)
    filled = np.zeros(table.n_records, np.bool_)
    own = (table.part_of >= 0) & table.is_cluster[table.owners]
    of_terms = table.chunks == 0
    terms = np.zeros(len(table.sizes), np.int64)
    terms[table.owners[of_terms]] = table.itemsets.lengths[of_terms]  # each can fill an empty record
    for chunk in np.unique(table.chunks[own]).tolist():  # in order: each chunk fills empty records first
        rows = np.flatnonzero(own & (table.chunks == chunk))
        later = own & (table.chunks > chunk)
        left = terms + np.bincount(table.owners[later], minlength=len(table.sizes))
        record_of[rows] = _assign_records(table, rows, table.owners[rows], filled, left, rng)
        filled[record_of[rows]] = True
    rows = np.flatnonzero((table.part_of >= 0) & ~own)
    record_of[rows] = _assign_records(table, rows, table.part_of[rows], filled, None, rng)
    filled[record_of[rows]] = True
    records, codes = _assign_terms(table, filled, rng)
    parts = np.flatnonzero(record_of >= 0)
    records = np.concatenate((np.repeat(record_of[parts], table.itemsets.lengths[parts]), records))
    codes = np.concatenate((table.itemsets.codes[table.itemsets.places(parts)], codes))
    if wanted is not None:
        records, codes = records[wanted[codes]], codes[wanted[codes]]
    n_items = max(table.itemsets.n_items, 1)
    codes = (np.sort(records * np.int64(n_items) + codes) % n_items).astype(np.int32)
    lengths = np.bincount(records, minlength=table.n_records)
    nulls = np.zeros(table.n_records, np.bool_)
    return Itemsets(codes, offsets_of(lengths), table.itemsets.vocabulary, nulls)


def _assign_records(
    table: ChunkTable,
    rows: Numbers,
    chunk: Numbers,
    filled: Mask,
    left: Numbers | None,
    rng: np.random.Generator,
) -> Numbers:
    """Assign a record to each sub-record, different ones within a chunk."""
    # ``left`` counts the terms and sub-records of later chunks of each cluster. As many empty records come
    # first as these could not fill.
    order = np.argsort(chunk, kind="stable")
    begins = np.flatnonzero(np.diff(chunk[order], prepend=-1))
    owners, counts = table.owners[rows[order[begins]]], np.diff(begins, append=len(rows))
    which, candidates = ranges(table.first_records[owners], table.sizes[owners])
    keys = rng.random(len(candidates))
    if left is not None:
        drawn = _order_within(2 * which + filled[candidates], keys)  # empty records of each cluster first
        rank = np.empty(len(drawn), np.int64)
        rank[drawn] = ranges(np.zeros(len(owners), np.int64), table.sizes[owners])[1]
        empty = np.bincount(which[~filled[candidates]], minlength=len(owners))
        keys[rank < np.minimum(empty, empty - left[owners])[which]] -= 1
    drawn = _order_within(which, keys)
    _, taken = ranges(offsets_of(table.sizes[owners])[:-1], counts)
    result = np.empty(len(rows), np.int64)
    result[order] = candidates[drawn[taken]]
    return result


def _assign_terms(table: ChunkTable, filled: Mask, rng: np.random.Generator) -> tuple[Numbers, Codes]:
    """Assign records to the terms of the term chunks: each term at least once, and no record stays empty."""
    rows = np.flatnonzero((table.chunks == 0) & (table.itemsets.lengths > 0))
    owners, n_terms = table.owners[rows], table.itemsets.lengths[rows]
    which, candidates = ranges(table.first_records[owners], table.sizes[owners])
    open_ = ~filled[candidates]
    n_empty = np.bincount(which[open_], minlength=len(rows))
    cluster, number = ranges(np.zeros(len(rows), np.int64), np.maximum(n_terms, n_empty))
    # Terms: those of the cluster in random order, repeated.
    place, terms = ranges(table.itemsets.offsets[:-1][rows], n_terms)
    shuffled = terms[_order_within(place, rng.random(len(terms)))]
    firsts = offsets_of(n_terms)
    codes = table.itemsets.codes[shuffled[firsts[cluster] + number % n_terms[cluster]]]
    # Records: the empty ones of the cluster, then any.
    empty = candidates[open_][_order_within(which[open_], rng.random(int(open_.sum())))]
    is_empty = number < n_empty[cluster]
    records = table.first_records[owners][cluster] + rng.integers(0, table.sizes[owners][cluster])
    records[is_empty] = empty
    return records, codes


def _order_within(groups: Numbers, keys: Floats) -> Numbers:
    """Return the order by groups, then by keys; fast for groups that are in order, or almost."""
    # Complex numbers are compared by their real part, then by their imaginary part.
    return np.argsort(groups + 1j * keys, kind="stable")
