"""The original of a release: checks that a frame is the original, and the labels of its items."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import may_hold_lists
from pdanon.itemsets.mapping import global_mapping
from pdanon.recoding.result import Anonymized

__all__ = ["labels_of", "other_frame", "recoded_column"]


def recoded_column(original: pd.DataFrame, result: Anonymized) -> int:
    """Return the position of the only recoded list column in the original frame.

    Raises
    ------
    ParameterError
        If the rows or columns of the frame differ from the release, or there is no such column.
    """
    if not isinstance(original, pd.DataFrame):
        raise other_frame(type(original).__name__)
    others = {*result.passed_through, *getattr(result.guarantee, "quasi", ())}
    columns = [i for i, label in enumerate(original.columns) if label not in others]
    if (
        len(original) != len(result.frame)
        or len(columns) != 1
        or [*original.columns] != [*result.frame.columns]
        or not may_hold_lists(original.iloc[:, columns[0]])
    ):
        raise other_frame(f"{len(original)} rows, the result has {len(result.frame)}")
    return columns[0]


def labels_of(result: Anonymized, itemsets: Itemsets) -> pa.DictionaryArray:
    """Return the label of each item of the original, by its code; null for a suppressed item.

    Raises
    ------
    ParameterError
        If the mapping of the result has other items, or other supports, or is that of a local recoding.
    """
    items, labels = global_mapping(result.mapping)
    supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)
    if items.n_items != itemsets.n_items:
        raise other_frame(f"{itemsets.n_items} items, the result has {items.n_items}")
    if (items.lookup(itemsets.vocabulary) < 0).any():
        raise other_frame("other items")
    places = np.argsort(items.codes)  # the line of each item in the mapping
    counted = result.mapping["support"].to_numpy()[places]
    if (counted != supports).any():
        raise other_frame(f"{int((counted != supports).sum())} items with other supports")
    return labels.take(pa.array(places))


def other_frame(got: str) -> ParameterError:
    """Return the error for a frame that is not the original of a result."""
    hint = "pass the frame that the result was made from"
    return ParameterError("the result is not of this frame", where="original", got=got, hint=hint)
