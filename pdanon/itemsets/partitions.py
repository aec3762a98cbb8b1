"""Partitions: a table that comes in parts, each counted and recoded for itself, wherever that is."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column, with_column
from pdanon.itemsets.list_columns import ListColumns, Reader, collapse_columns
from pdanon.itemsets.mapping import relabelled

__all__ = ["collapse_part", "item_types", "merged", "recoded", "rows_changed"]


def item_types(meta: pd.DataFrame, labels: list[Hashable]) -> list[pa.DataType]:
    """The types of the items of some columns."""
    return [Itemsets.from_series(meta[label]).vocabulary.type for label in labels]


def collapse_part(
    part: pd.DataFrame, labels: list[Hashable], kinds: list[pa.DataType], number: int, read: Reader
) -> ListColumns:
    """The distinct transactions of a partition, whose items are to be of known types."""
    pairs = zip(labels, kinds, strict=True)
    return collapse_columns(
        [[_encoded(part[label], kind, number, read) for label, kind in pairs]], len(labels)
    )


def _encoded(column: pd.Series[Any], kind: pa.DataType, number: int, read: Reader) -> Itemsets:
    """A column of a partition as codes."""
    problem = None
    try:
        itemsets = read(column)
    except ItemsetDtypeError as error:
        problem = str(error)
    if problem is not None:
        raise ItemsetDtypeError(f"{problem}\n  in:    partition {number}")
    if not itemsets.n_items:  # and so of any type
        return replace(itemsets, vocabulary=pa.array([], kind))
    if itemsets.vocabulary.type != kind:
        raise ItemsetDtypeError(
            "the items of a partition are of another type than the frame says",
            where=f"partition {number}",
            got=f"items of type {itemsets.vocabulary.type} instead of {kind}",
        )
    return itemsets


def merged(parts: list[ListColumns]) -> ListColumns:
    """The distinct transactions of some partitions together."""
    return collapse_columns((part.columns for part in parts), len(parts[0].columns))


def recoded(
    part: pd.DataFrame, labels: list[Hashable], became: tuple[Itemsets, pa.Array, bool]
) -> pd.DataFrame:
    """A partition with other items; a private column is built anew."""
    items, texts, missing_as_empty = became
    position, *hidden = (find_column(part, label) for label in labels)
    itemsets = Itemsets.from_series(part.iloc[:, position])
    unknown = int((items.lookup(itemsets.vocabulary) < 0).sum())
    if unknown:
        raise rows_changed(f"{unknown} items that were not counted")
    published = relabelled(itemsets, items, texts, missing_as_empty=missing_as_empty)
    released = with_column(part, position, published.to_pandas())
    for each in hidden:
        private = Itemsets.from_series(part.iloc[:, each]).missing_as_empty()
        released = with_column(released, each, private.to_pandas())
    return released


def rows_changed(got: str) -> ParameterError:
    """What is raised where rows are not those that were counted."""
    hint = "persist the frame before, or write it to files"
    return ParameterError("the rows have changed since they were counted", where="frame", got=got, hint=hint)
