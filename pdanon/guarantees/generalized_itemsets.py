"""Generalized itemsets: the published form of itemsets of original items."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Codes, Itemsets, canonical_rows, find_items
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.lists import append_rows, offsets_of
from pdanon.itemsets.mapping import global_mapping
from pdanon.itemsets.support import ItemsetTable

SUPPRESSED, UNKNOWN = -1, -2


def label_codes(items: pa.Array, published: Itemsets, mapping: pd.DataFrame | None) -> Codes:
    """Return the code of the label of each original item; without a mapping, items are published as is.

    Codes are those of ``published``, or ``published.n_items`` for a label that no row contains,
    ``SUPPRESSED``, or ``UNKNOWN`` for an item that is neither in the mapping nor, without a mapping, in the
    column.
    """
    if mapping is None:
        found = published.lookup(items)
        return np.where(found < 0, UNKNOWN, found).astype(np.int32)
    mapped, labels = global_mapping(mapping)
    codes = np.append(published.lookup(labels.dictionary), -1)[number_texts(labels)]
    if len(np.unique(codes[codes >= 0])) < pc.count_distinct(published.vocabulary).as_py():
        hint = "pass the mapping of this release"
        raise ParameterError("the frame holds labels that the mapping lacks", where="mapping", hint=hint)
    targets = np.where(codes < 0, published.n_items, codes)
    targets[labels.is_null().to_numpy(zero_copy_only=False)] = SUPPRESSED
    return np.append(targets, UNKNOWN)[find_items(items, mapped)].astype(np.int32)


def generalize_itemsets(
    wanted: Itemsets, published: Itemsets, mapping: pd.DataFrame | None, what: str
) -> ItemsetTable:
    """Replace the items of itemsets by the codes of their labels, without suppressed items.

    An unknown item is an error, because a support of 0 would prove nothing. ``what`` is the noun for an
    itemset in messages. The order is kept; supports are 0.
    """
    targets = label_codes(wanted.vocabulary, published, mapping)
    unknown = targets == UNKNOWN
    if unknown.any():
        lines = np.unique(wanted.rows[unknown[wanted.codes]])
        problem = f"a {what} has an item that does not occur in the data"
        got = f"{len(lines)} of {wanted.n_rows} {what}s with {int(unknown.sum())} unknown items"
        hint = "check the spelling and type of the items; items that do not occur need no protection"
        if what == "constraint":
            hint += "; a .csv file of constraints has one itemset per line, one item per field, and no header"
        raise ParameterError(problem, where=f"{what} {lines[0]}", got=got, hint=hint)
    codes = targets[wanted.codes]
    kept = codes >= 0
    offsets = offsets_of(kept)[wanted.offsets]
    rows = canonical_rows(codes[kept], offsets, published.n_items + 1)
    return ItemsetTable(*rows, np.zeros(wanted.n_rows, np.int64))


def unite_itemsets(first: ItemsetTable, second: ItemsetTable, n_items: int) -> ItemsetTable:
    """Unite the itemsets at the same position of two tables."""
    rows = append_rows([(each.codes, each.offsets) for each in (first, second)])
    return ItemsetTable(*canonical_rows(*rows, n_items), first.supports)
