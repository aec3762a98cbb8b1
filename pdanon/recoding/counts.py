"""What can be told about a release without showing it: the counts behind reprs, pictures and reports."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["changed_items", "changes", "class_sizes", "is_kept", "label_sizes", "losses"]


def changed_items(mapping: pd.DataFrame) -> str:
    """How many items are not published as they are."""
    changed = len(mapping) - int(is_kept(mapping).sum())
    return f"{changed} of {len(mapping)} generalized or suppressed"


def losses(loss: pd.Series[float]) -> str:
    """All losses, by name."""
    return ", ".join(f"{name} {value:.4g}" for name, value in loss.items())


def is_kept(mapping: pd.DataFrame) -> pd.Series[bool]:
    """Which entries of a mapping are items that are published as they are."""
    labels = mapping["generalized"]
    return (labels == mapping["item"].astype(labels.dtype)).fillna(False).astype(bool)


def changes(mapping: pd.DataFrame) -> pd.DataFrame:
    """How many items of a mapping, and occurrences of them, were kept, generalized and suppressed.

    Returns
    -------
    DataFrame
        Columns ``items, occurrences``; rows ``kept, generalized, suppressed``. An item counts once in each
        group of a local recoding.
    """
    suppressed = mapping["generalized"].isna().to_numpy(bool)
    kinds = np.select([suppressed, is_kept(mapping)], ["suppressed", "kept"], "generalized")
    supports = mapping["support"].groupby(kinds)
    table = pd.DataFrame({"items": supports.size(), "occurrences": supports.sum()})
    return table.reindex(["kept", "generalized", "suppressed"], fill_value=0).astype("int64")


def label_sizes(mapping: pd.DataFrame) -> pd.Series[int]:
    """How many items each published label stands for: the largest first, then by label."""
    published = mapping[mapping["generalized"].notna()]
    items = published.groupby(published["generalized"].astype(object))["item"].nunique().astype("int64")
    return items.sort_values(ascending=False, kind="stable")


def class_sizes(classes: pd.DataFrame | None) -> NDArray[np.int64]:
    """How many rows each class of a relational result has."""
    if classes is None:
        return np.zeros(0, np.int64)
    return classes.iloc[:, 1].to_numpy(np.int64)  # by position: a column may be called size too


def _of_all_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The part of `risk` that is about the whole table, by the number of known items."""
    return table[table["items"].isna()].set_index("known")
