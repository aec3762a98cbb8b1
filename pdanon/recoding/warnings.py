"""Proven: whether a release has all of the guarantee that was asked for, or has it for fewer known items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ReleaseWarning, UselessWarning, warn
from pdanon.guarantees.k_anonymity import PublicK
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.verdict import Guarantee, Yielding
from pdanon.itemsets.equality import value_numbers
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.mapping import mapping_values
from pdanon.recoding.counts import FEW, is_kept, is_nearly_all, percent

__all__ = ["REMEDY", "SHORT", "columns_left", "items_left", "shortfall", "warn_if_short", "warn_if_useless"]

SHORT = "The guarantee is proven for"  # how a shortfall begins


def shortfall(parameters: Mapping[str, Any], guarantee: Guarantee) -> str:
    """Say for how few known items a guarantee is proven, where any number was asked for.

    Parameters
    ----------
    parameters : mapping
        What was asked.
    guarantee : Guarantee
        What the release has.

    Returns
    -------
    str
        Empty if it is proven as far as it was asked for.
    """
    m = getattr(guarantee, "m", None)
    if "m" not in parameters or parameters["m"] is not None or m is None:
        return ""
    known = "1 known item" if m == 1 else f"up to {m:,} known items"
    return f"{SHORT} {known}; any number was asked for"


def warn_if_short(parameters: Mapping[str, Any], guarantee: Guarantee) -> None:
    """Warn of a `shortfall`.

    Warns
    -----
    ReleaseWarning
        If there is one.
    """
    if short := shortfall(parameters, guarantee):
        hint = (
            "publish it where nobody can know more items of a row; else suppress sensitive items beforehand, "
            "or shorten the longest rows, in which the search for what gives one away ended early"
        )
        warn(ReleaseWarning(short, hint=hint))


# --- Useless: releases in which almost nothing is left. Their guarantee holds, and nobody can use them


_SOME = 5  # percent of the occurrences
_MILLION = 10**6  # errors are compared in millionths, as integers

REMEDY = (
    "try pdanon.anonymize, which chooses among algorithms, or a smaller k or m; for items also "
    "pdanon.refine, sets (pcta) instead of a hierarchy, or a hierarchy with more levels; for other columns "
    "fewer of them in quasi=, or hierarchies with more levels"
)


def items_left(
    mapping: pd.DataFrame,
    loss: Mapping[str, float] | pd.Series[float],
    n_rows: int,
    guarantee: Guarantee | None = None,
) -> str:
    """Describe the items of a release of which almost nothing is left.

    Parameters
    ----------
    mapping : pandas.DataFrame
        What became of the items.
    loss : Series
        Information loss by measure.
    n_rows : int
        Rows of the release. Releases of fewer than 20 rows are not judged.
    guarantee : Guarantee, optional
        The guarantee of the release. The items that it protects are not judged, unless there are no others:
        they are published as they are, or not at all.

    Returns
    -------
    str
        Empty if something is left.

    Notes
    -----
    There are four conditions; the first one that is met is described. Only occurrences of items count that
    the guarantee does not protect.

    1. Nothing is left of at least 95 % of the occurrences of a column. Nothing is left of an occurrence that
       is suppressed. The same holds for an occurrence whose label stands for several items, if that is the
       most frequent of these labels (of equally frequent ones, the one for most items), or stands for at
       least 95 % of the items of the column.
    2. The rows are recoded in groups, and groups with several items each and at least 5 % of the occurrences
       together have lost at least 95 % of theirs: by suppression, or by labels that stand for at least 95 %
       of the items of the column.
    3. At least 95 % of the occurrences are changed, the count of a pair is off by at least 95 %
       (``loss["pairs"]``), and the count of an item by at least 50 % (``loss["singles"]``). Nodes of a
       hierarchy can be counted themselves: for them NCP must be at least 50 % as well.
    4. All that the guarantee protects is suppressed, as `RhoUncertainty` allows.

    All comparisons are of integers; errors are rounded to millionths.
    """
    if n_rows < FEW:
        return ""
    judged, kind = _judged(mapping, guarantee)
    if "column" not in mapping:
        return _left(judged, kind) or _blurred(judged, loss, kind) or _gone(guarantee)[0]
    parts = judged.groupby("column", sort=False)
    said = ". ".join(filter(None, (_left(part, f"{kind} in {label}") for label, part in parts)))
    return said or _blurred(judged, loss, kind)


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


def _judged(mapping: pd.DataFrame, guarantee: Guarantee | None) -> tuple[pd.DataFrame, str]:
    """The lines of a mapping about items that a guarantee does not protect, and what these are called."""
    protected = _is_protected(mapping, guarantee)
    if protected.all() or not protected.any():
        return mapping, "items"
    return mapping[~protected], "public items"


def _is_protected(mapping: pd.DataFrame, guarantee: Guarantee | None) -> NDArray[np.bool_]:
    """Which lines of a mapping are about items that nobody may infer; none in a column of its own."""
    known = isinstance(guarantee, PublicK)
    names = ("public",) if known else ("sensitive", "private")
    named = next((getattr(guarantee, name) for name in names if hasattr(guarantee, name)), None)
    if not isinstance(named, NamedItems):
        return np.zeros(len(mapping), np.bool_)
    return (named.find(mapping_values(mapping, "item")) >= 0) != known  # `PublicK` names the others


def _blurred(mapping: pd.DataFrame, loss: Mapping[str, float] | pd.Series[float], items: str) -> str:
    """Report that almost all occurrences are changed, and that neither items nor pairs can be counted."""
    supports = mapping["support"].to_numpy(np.int64)
    changed, total = int(supports[~is_kept(mapping).to_numpy()].sum()), int(supports.sum())
    errors = (round(_MILLION * float(loss.get(name, 0.0))) for name in ("pairs", "singles", "NCP"))
    pairs, singles, ncp = errors
    if not (total and is_nearly_all(changed, total) and is_nearly_all(pairs, _MILLION)):
        return ""
    if 2 * singles < _MILLION or ("LM" in loss and 2 * ncp < _MILLION):  # items, or nodes, can be counted
        return ""
    return (
        f"{percent(changed / total)} of the occurrences of {items} are changed, and counts are off by "
        f"{percent(loss['singles'])} of an item and {percent(loss['pairs'])} of a pair"
    )


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
