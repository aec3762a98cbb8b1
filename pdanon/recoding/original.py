"""The original of a release: whether a frame is the one, which column was recoded, what its items became."""

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
    """The position of the only list column that was recoded, in the frame that it was recoded in.

    Raises
    ------
    ParameterError
        If the frame has other rows or columns than the release, or there is no such column.
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
    """What each item of the original became, by its code; null where it was suppressed.

    Raises
    ------
    ParameterError
        If the mapping of the result is of other items, or has them in another number of rows; or is not
        that of a global recoding.
    """
    items, labels = global_mapping(result.mapping)
    supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)
    if items.n_items != itemsets.n_items:
        raise other_frame(f"{itemsets.n_items} items, the result has {items.n_items}")
    if (items.lookup(itemsets.vocabulary) < 0).any():
        raise other_frame("other items")
    places = np.argsort(items.codes)  # where in the mapping each item is
    counted = result.mapping["support"].to_numpy()[places]
    if (counted != supports).any():
        raise other_frame(f"{int((counted != supports).sum())} items with other supports")
    return labels.take(pa.array(places))


def other_frame(got: str) -> ParameterError:
    """Say that a result was made from something else."""
    hint = "give the frame that the result was made from"
    return ParameterError("the result is not of this frame", where="original", got=got, hint=hint)
