"""Useless: whether next to nothing is left in a release. Its guarantee holds then, and serves nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import UselessWarning, warn
from pdanon.guarantees.verdict import Guarantee, Yielding
from pdanon.itemsets.alike import value_numbers
from pdanon.itemsets.lists import distinct
from pdanon.recoding.counts import FEW, is_nearly_all, percent

__all__ = ["REMEDY", "columns_left", "items_left", "warn_if_useless"]

_SOME = 5  # percent of the occurrences

REMEDY = (
    "try pdanon.anonymize, which chooses among algorithms, or a smaller k or m; for items also "
    "pdanon.refine, sets (pcta) instead of a hierarchy, or a hierarchy with more levels; for other columns "
    "fewer of them in quasi=, or hierarchies with more levels"
)


def items_left(mapping: pd.DataFrame, n_rows: int, guarantee: Guarantee | None = None) -> str:
    """Say of which items of a release next to nothing is left.

    Parameters
    ----------
    mapping : pandas.DataFrame
        What became of the items.
    n_rows : int
        Rows of the release; of fewer than 20 nothing is said.
    guarantee : Guarantee, optional
        What the release has: all that it protects may have been suppressed for it.

    Returns
    -------
    str
        Empty if something is left.

    Notes
    -----
    Nothing is left of an occurrence that is suppressed, or whose label stands for several items and is the
    one that most occurrences have of such labels (of equally many, the one that stands for most items), or
    stands for at least 95 % of the items of the column.
    That is said if it is so for at least 95 % of the occurrences of a column. Or else of groups of rows that
    are recoded apart, if they hold several items each, nothing is left of at least 95 % of their occurrences
    by suppression and labels that stand for at least 95 % of the items of the column, and they have at least
    5 % of the occurrences. These are comparisons of integers. Or else all that the guarantee protects is
    suppressed, as `RhoUncertainty` allows.
    """
    if n_rows < FEW:
        return ""
    if "column" not in mapping:
        return _left(mapping, "items") or _gone(guarantee)[0]
    parts = mapping.groupby("column", sort=False)
    return ". ".join(filter(None, (_left(part, f"items in {label}") for label, part in parts)))


def columns_left(frame: pd.DataFrame, released: pd.DataFrame, positions: Sequence[int]) -> str:
    """Say which columns are published with one value in at least 95 % of the rows, and were not so before.

    Parameters
    ----------
    frame, released : pandas.DataFrame
        The original and the release; of fewer than 20 rows nothing is said.
    positions : sequence of int
        The columns.
    """
    if len(frame) < FEW:
        return ""
    emptied = [
        str(frame.columns[place])
        for place in positions
        if _has_one_value(released.iloc[:, place]) and not _has_one_value(frame.iloc[:, place])
    ]
    return f"Nearly all rows have become alike in {', '.join(emptied)}" if emptied else ""


def warn_if_useless(left: str, guarantee: Guarantee | None = None) -> None:
    """Warn of what `items_left` and `columns_left` have said.

    Parameters
    ----------
    left : str
        What they said.
    guarantee : Guarantee, optional
        As of `items_left`; it knows what to do if all that it protects is suppressed.

    Warns
    -----
    UselessWarning
        If it is something.
    """
    if left:
        gone, remedy = _gone(guarantee)
        warn(UselessWarning(left, hint=remedy if left == gone else REMEDY))


def _left(mapping: pd.DataFrame, items: str) -> str:
    """As `items_left`, of one column."""
    supports = mapping["support"].to_numpy(np.int64)
    label, labels = pd.factorize(mapping["generalized"])
    item, items_there = pd.factorize(mapping["item"])
    suppressed, n_items, total = label < 0, len(items_there), int(supports.sum())
    if not total:
        return ""
    removed = int(supports[suppressed].sum())
    if is_nearly_all(removed, total):
        return f"{percent(removed / total)} of the occurrences of {items} are suppressed"
    pairs = distinct(label[~suppressed] * np.int64(n_items) + item[~suppressed])
    sizes = np.bincount(pairs // n_items, minlength=len(labels) + 1)  # the last, 0, is of what is suppressed
    of_label = np.bincount(label + 1, np.where(sizes[label] > 1, supports, 0))[1:]
    broad = ~suppressed & (sizes[label] > 1) & is_nearly_all(sizes[label], n_items)
    commonest = (label == np.lexsort((sizes[:-1], of_label))[-1]) & (sizes[label] > 1)
    lost = int(supports[suppressed | broad | commonest].sum())
    if is_nearly_all(lost, total):
        what = "one label" if not (broad & ~commonest).any() else "labels"
        most = int(sizes[label[broad | commonest]].max())
        among = " or are suppressed" if removed else ""
        many = f"{percent(lost / total)} of the occurrences of {items}"
        return f"{many} became {what}, which stands for {most:,} of {n_items:,} items{among}"
    group = pd.factorize(mapping["group"])[0]
    return _groups_left(group, item, supports, suppressed | broad, items)


def _gone(guarantee: Guarantee | None) -> tuple[str, str]:
    """That all that a guarantee protects is suppressed, and what to do about it; two empty texts if not."""
    return guarantee.gone() if isinstance(guarantee, Yielding) else ("", "")


def _groups_left(
    group: NDArray[np.intp],
    item: NDArray[np.intp],
    supports: NDArray[np.int64],
    gone: NDArray[np.bool_],
    items: str,
) -> str:
    """Say of which groups of rows, whose items follow each other, nothing is left."""
    held = np.bincount(group, supports).astype(np.int64)
    lost = np.bincount(group, np.where(gone, supports, 0)).astype(np.int64)
    has_several = np.zeros(len(held), np.bool_)
    has_several[group[1:][(group[1:] == group[:-1]) & (item[1:] != item[:-1])]] = True
    emptied = is_nearly_all(lost, held) & has_several
    number, total = int(held[emptied].sum()), int(supports.sum())
    if 100 * number < _SOME * total or not emptied.any():
        return ""
    return (
        f"In {int(emptied.sum()):,} of {len(held):,} groups of rows, with {percent(number / total)} of the "
        f"occurrences of {items}, next to nothing is left but labels that stand for nearly all items"
    )


def _has_one_value(column: pd.Series[Any]) -> bool:
    """Whether nearly all rows have the same value, which may be that it is missing."""
    numbers = value_numbers(column)
    return numbers is not None and bool(is_nearly_all(np.bincount(numbers).max(initial=0), len(column)))
