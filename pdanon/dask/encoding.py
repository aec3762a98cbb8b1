"""The list columns of partitions as codes, and the error for partitions that changed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import Reader
from pdanon.itemsets.lists import read_part


def item_types(meta: pd.DataFrame, labels: list[Hashable]) -> list[pa.DataType]:
    """Return the types of the items of columns."""
    return [Itemsets.from_series(meta[label]).vocabulary.type for label in labels]


def encode_lists(column: pd.Series[Any], kind: pa.DataType, number: int, read: Reader) -> Itemsets:
    """Encode a column of a partition, with items of a given type."""
    itemsets = read_part(lambda: read(column), f"partition {number}")
    if not itemsets.n_items:  # an empty partition may have any type
        return replace(itemsets, vocabulary=pa.array([], kind))
    if itemsets.vocabulary.type != kind:
        raise ItemsetDtypeError(
            "the items of a partition have another type than those of the frame",
            where=f"partition {number}",
            got=f"items of type {itemsets.vocabulary.type} instead of {kind}",
        )
    return itemsets


def change_error(got: str) -> ParameterError:
    """Return the error for rows that differ from those that were counted."""
    hint = "persist the frame first, or write it to files"
    return ParameterError("the rows have changed since they were counted", where="frame", got=got, hint=hint)
