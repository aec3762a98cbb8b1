"""Images: what itemsets of original items have become in a release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Codes, Itemsets, canonical_rows
from pdanon.itemsets.compatibility import number_texts
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.mapping import global_mapping
from pdanon.itemsets.table import ItemsetTable

__all__ = ["SUPPRESSED", "UNKNOWN", "became", "images", "united"]

SUPPRESSED, UNKNOWN = -1, -2


def became(items: pa.Array, published: Itemsets, mapping: pd.DataFrame | None) -> Codes:
    """What original items have become.

    Parameters
    ----------
    items : pyarrow.Array
        Original items.
    published : Itemsets
        The released column, or the original one.
    mapping : pandas.DataFrame, optional
        The mapping table of the release. Without it, items are published as themselves.

    Returns
    -------
    ndarray of int32
        Code of the label of each item: ``published.n_items`` for a label that no row has, ``SUPPRESSED``, or
        ``UNKNOWN`` for an item that neither the mapping nor, without one, the column has.

    Raises
    ------
    ParameterError
        If the mapping is no global one, or lacks a label of the column.
    """
    if mapping is None:
        found = published.lookup(items)
        return np.where(found < 0, UNKNOWN, found).astype(np.int32)
    mapped, labels = global_mapping(mapping)
    codes = np.append(published.lookup(labels.dictionary), -1)[number_texts(labels)]
    if len(np.unique(codes[codes >= 0])) < pc.count_distinct(published.vocabulary).as_py():
        hint = "give the mapping that belongs to this release"
        raise ParameterError("the frame holds labels that the mapping lacks", where="mapping", hint=hint)
    targets = np.where(codes < 0, published.n_items, codes)
    targets[labels.is_null().to_numpy(zero_copy_only=False)] = SUPPRESSED
    by_item = np.full(len(targets) + 1, UNKNOWN, np.int32)  # -1, of unknown items, finds the last
    by_item[mapped.codes] = targets  # row i of the mapping holds item code mapped.codes[i]
    return by_item[mapped.lookup(items)]


def images(wanted: Itemsets, published: Itemsets, mapping: pd.DataFrame | None, what: str) -> ItemsetTable:
    """The images of itemsets in published codes, in the order given; suppressed items are left out.

    Parameters are those of `became`; ``what`` an itemset is, for messages. Supports are 0.

    Raises
    ------
    ParameterError
        If an item is unknown: that it has support 0 would prove nothing.
    """
    targets = became(wanted.vocabulary, published, mapping)
    _refuse_unknown(wanted, targets == UNKNOWN, what)
    codes = targets[wanted.codes]
    kept = codes >= 0
    offsets = offsets_of(np.bincount(wanted.rows[kept], minlength=wanted.n_rows))
    rows = canonical_rows(codes[kept], offsets, published.n_items + 1)
    return ItemsetTable(*rows, np.zeros(wanted.n_rows, np.int64))


def _refuse_unknown(wanted: Itemsets, unknown: NDArray[np.bool_], what: str) -> None:
    """Refuse itemsets with items that are unknown, given by item."""
    if not unknown.any():
        return
    rows = np.unique(wanted.rows[unknown[wanted.codes]])
    raise ParameterError(
        f"a {what} names an item that does not occur in the data",
        where=f"{what} {rows[0]}",
        got=f"{len(rows)} of {wanted.n_rows} {what}s with {int(unknown.sum())} unknown items",
        hint="an item that does not occur needs no protection; check its spelling and type",
    )


def united(first: ItemsetTable, second: ItemsetTable, n_items: int) -> ItemsetTable:
    """The union of the itemsets with the same number in two tables."""
    tables = (first, second)
    numbers = np.concatenate([np.repeat(np.arange(len(each)), np.diff(each.offsets)) for each in tables])
    codes = np.concatenate([each.codes for each in tables])[np.argsort(numbers, kind="stable")]
    return ItemsetTable(*canonical_rows(codes, first.offsets + second.offsets, n_items), first.supports)
