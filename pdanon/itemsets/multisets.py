"""Multisets: columns whose rows may repeat a label, as in releases by Clump."""

# A reader of such a row sees how often it repeats a label. So audits count each repetition as another label,
# a copy. Copies are entries of the vocabulary of their own, next to the first copy.

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.itemsets.codes import (
    Codes,
    Itemsets,
    Numbers,
    Offsets,
    canonical_rows,
    compact,
)
from pdanon.itemsets.lists import arrow_lists, encode, offsets_of, rows_of, to_numpy


def read_in_order(series: pd.Series[Any]) -> Itemsets:
    """Encode a column of lists with their repeated items, in their order. Rows that are sets are sorted."""
    codes, offsets, values, nulls = encode(arrow_lists(series))
    encoded = values.dictionary_encode()
    codes, values = compact(to_numpy(encoded.indices)[codes], encoded.dictionary)
    if series.dtype == object and any(isinstance(row, Set) for row in series.array):
        unordered = np.array([isinstance(row, Set) for row in series.array], np.bool_)
        rows = rows_of(offsets)
        codes = codes[np.lexsort((np.where(unordered[rows], codes, np.arange(len(codes))), rows))]
    return Itemsets(codes, offsets, values, nulls)


def read_visible(series: pd.Series[Any]) -> Itemsets:
    """Encode a column of lists as its readers see it: repetitions of a label in a row become copies."""
    return encode_visible(arrow_lists(series))


def encode_visible(lists: pa.Array | pa.ChunkedArray) -> Itemsets:
    """Encode an Arrow list array as `read_visible`."""
    bags = Itemsets.from_arrow(lists, repeats=True)
    starts = np.ones(len(bags.codes), np.bool_)  # of runs of a label within a row
    starts[1:] = bags.codes[1:] != bags.codes[:-1]
    starts[bags.offsets[:-1][bags.lengths > 0]] = True
    if starts.all():
        return bags
    places = np.arange(len(starts))
    copy = places - np.maximum.accumulate(np.where(starts, places, 0))
    most = int(copy.max()) + 1
    found, codes = np.unique(bags.codes * np.int64(most) + copy, return_inverse=True)
    vocabulary = bags.vocabulary.take(pa.array(found // most))
    return replace(bags, codes=codes.astype(np.int32), vocabulary=vocabulary)


def without_items(series: pd.Series[Any], items: pa.Array) -> pd.api.extensions.ExtensionArray:
    """Return a column of lists without some items; other repetitions stay."""
    bags = Itemsets.from_series(series, repeats=True)
    targets = np.arange(bags.n_items)
    found = bags.lookup(items)
    targets[found[found >= 0]] = -1
    return bags.recode(targets, bags.vocabulary, repeats=True).to_pandas()


def first_copies(vocabulary: pa.Array) -> Numbers:
    """Return the position of the first copy of each entry of a vocabulary."""
    return to_numpy(pc.index_in(vocabulary, value_set=vocabulary)).astype(np.int64)


def add_first_copies(codes: Codes, offsets: Offsets, vocabulary: pa.Array) -> tuple[Codes, Offsets]:
    """Add to each itemset the earlier copies of its items, so that it reads like a row that holds them."""
    before = np.arange(len(vocabulary)) - first_copies(vocabulary)
    if not before.any():
        return codes, offsets
    lengths = before[codes] + 1
    bounds = offsets_of(lengths)
    codes = np.repeat(codes - bounds[1:] + 1, lengths) + np.arange(bounds[-1])
    return canonical_rows(codes, bounds[offsets], len(vocabulary))
