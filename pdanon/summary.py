"""What can be told about a release without showing it: the counts behind reprs, pictures and reports."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.columns import is_list_column
from pdanon.errors import ParameterError
from pdanon.hierarchy import Hierarchy
from pdanon.metrics.risk import risk
from pdanon.values import check_frame

if TYPE_CHECKING:
    from pdanon.result import Anonymized

__all__ = [
    "asked",
    "changed_items",
    "changes",
    "class_sizes",
    "exposure",
    "headline",
    "is_kept",
    "label_sizes",
    "losses",
    "recoded_lists",
]

# Parameters whose texts name a way to do it.
_NAMES = (
    "algorithm",
    "criterion",
    "loss",
    "refine_loss",
    "merge",
    "order",
    "score",
    "tum",
    "cluster",
    "transaction",
)


def headline(result: Anonymized) -> Iterator[tuple[str, str]]:
    """The lines of a result that say the most: names and texts."""
    yield "guarantee", f"{result.guarantee!r}, {'audited' if result.holds else 'which does NOT hold'}"
    if result.classes is not None:
        sizes = class_sizes(result)
        yield "classes", f"{len(sizes)}" + (f", the smallest of {sizes.min()} rows" if len(sizes) else "")
    if result.classes is None or len(result.mapping):
        counted = "" if result.groups is None else ", counted in each group"
        yield "items", changed_items(result.mapping) + counted
    yield "loss", losses(result.loss)


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


def class_sizes(result: Anonymized) -> NDArray[np.int64]:
    """How many rows each class of a relational result has."""
    if result.classes is None:
        return np.zeros(0, np.int64)
    return result.classes.iloc[:, 1].to_numpy(np.int64)  # by position: a column may be called size too


def recoded_lists(result: Anonymized) -> list[Hashable]:
    """Labels of the list columns that were recoded."""
    frame = result.frame
    lists = [label for i, label in enumerate(frame) if is_list_column(frame.iloc[:, i])]
    return [label for label in lists if label not in result.passed_through]


def exposure(
    result: Anonymized,
    original: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    k: int | None = None,
    m: int | None = None,
) -> dict[str, pd.DataFrame]:
    """Measure the risk of all rows before and after.

    Parameters
    ----------
    result : Anonymized
        The release.
    original : pandas.DataFrame, optional
        What it was made from. Without it there is no ``before``.
    column : hashable, optional
        The list column. By default the only one that was recoded.
    k, m : int, optional
        As for `risk`. By default those of the guarantee; m is 2 if it has none.

    Returns
    -------
    dict of DataFrame
        ``before`` and ``after``: the rows of `risk` for the whole table, as many of both: who knows more
        than the longest row has knows no more than that.

    Raises
    ------
    ParameterError
        If there is no k, or the original does not have the rows of the release.
    """
    k = k if k is not None else getattr(result.guarantee, "k", None)
    m = m if m is not None else getattr(result.guarantee, "m", None) or 2
    if k is None:
        hint = "say how many rows are enough: k=5"
        raise ParameterError("the guarantee has no k", got=repr(result.guarantee), hint=hint)
    if column is None:
        lists = recoded_lists(result)
        column = lists[0] if len(lists) == 1 else None
    frames = {"after": result.frame}
    if original is not None:
        check_frame(original, "original")
        if not original.index.equals(result.frame.index):
            got = f"{len(original)} rows, and {len(result.frame)} in the release, or another index"
            hint = "give the frame that the release was made from"
            raise ParameterError("these are not the same rows", where="original", got=got, hint=hint)
        frames = {"before": original, **frames}
    tables = {name: _of_all_rows(risk(frame, column, k=k, m=m)) for name, frame in frames.items()}
    known = pd.RangeIndex(1, max(map(len, tables.values())) + 1, name="known")
    return {name: table.reindex(known, method="ffill").reset_index() for name, table in tables.items()}


def _of_all_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The part of `risk` that is about the whole table, by the number of known items."""
    return table[table["items"].isna()].set_index("known")


def asked(result: Anonymized) -> dict[str, str]:
    """What was asked, by parameter; sizes in place of whatever may hold the text of an item."""
    given = {name: value for name, value in result.parameters.items() if value is not None or name == "m"}
    return {name: _described(name, value, result.frame) for name, value in given.items()}


def _described(name: str, value: Any, frame: pd.DataFrame) -> str:
    if value is None:
        return "all items of a row"
    if isinstance(value, (bool, int, float, np.number)) or (name in _NAMES and isinstance(value, str)):
        return str(value)
    if isinstance(value, Hierarchy):
        return f"{value.n_leaves:,} leaves, height {value.height}"
    names = [value] if isinstance(value, str) else value
    if isinstance(names, (list, tuple)) and names and all(_is_column(each, frame) for each in names):
        return ", ".join(str(each) for each in names)
    if isinstance(value, Sized) and not isinstance(value, (str, bytes)):
        return f"{len(value):,} given"
    return "given"


def _is_column(label: Any, frame: pd.DataFrame) -> bool:
    return isinstance(label, Hashable) and label in frame.columns
