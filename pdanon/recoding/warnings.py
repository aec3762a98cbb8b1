"""Warnings about releases: almost empty, or proven for fewer known items than requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ReleaseWarning, UselessWarning, warn
from pdanon.guarantees.k_anonymity import PublicK
from pdanon.guarantees.km import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.rho import RhoUncertainty
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.equality import value_numbers
from pdanon.itemsets.lists import Mask, Numbers, distinct, mask_at, sums
from pdanon.itemsets.mapping import has_one_label, is_kept, mapping_values
from pdanon.recoding.counts import FEW, is_nearly_all, percent
from pdanon.recoding.risk import hidden_items

SHORT = "The guarantee is proven for"  # first words of every shortfall


def shortfall(parameters: Mapping[str, Any], guarantee: Guarantee) -> str:
    """Describe for how many known items a guarantee is proven, if any number was requested."""
    # Empty if all of the requested guarantee is proven.
    m = getattr(guarantee, "m", None)
    if "m" not in parameters or parameters["m"] is not None or m is None:
        return ""
    known = "1 known item" if m == 1 else f"up to {m:,} known items"
    return f"{SHORT} {known}; any number was requested"


def warn_if_short(parameters: Mapping[str, Any], guarantee: Guarantee) -> None:
    """Warn of a `shortfall`, if there is one."""
    if short := shortfall(parameters, guarantee):
        hint = (
            "publish it only where attackers know no more items of a row; or suppress sensitive items first, "
            "or shorten the longest rows, in which the search for itemsets at risk ended early"
        )
        warn(ReleaseWarning(short, hint=hint))


# --- Releases that are almost empty: their guarantee holds, but they cannot be used


_SOME = 5  # percent of the occurrences
_MILLION = 10**6  # errors are compared in millionths, as integers, so that equal ones compare equal
_TWO_THIRDS = round(2 * _MILLION / 3)

REMEDY = (
    "try pdanon.anonymize, which chooses among algorithms, or a smaller k or m; for items also "
    "pdanon.refine, sets (pcta) instead of a hierarchy, or a hierarchy with more levels; for other columns "
    "fewer of them in quasi=, or hierarchies with more levels; pdanon.alternatives measures other releases"
)


def items_left(
    mapping: pd.DataFrame,
    loss: pd.Series[float],
    n_rows: int,
    guarantee: Guarantee | None = None,
) -> str:
    """Describe the items of a release that is almost empty; empty if something is left."""
    # Fewer than 20 rows are not checked. There are four conditions, and the first one that holds is
    # described. Items that the guarantee protects are not counted if there are others: they can only be
    # published as they are, or suppressed.
    #
    # 1. At least 95 % of the occurrences of a column are lost. A suppressed occurrence is lost. An occurrence
    #    whose label stands for several items is lost in two cases: the label is the most frequent one of this
    #    kind (ties: the one for most items), or it stands for at least 95 % of the items of the column.
    # 2. The rows are recoded in groups. Groups with several items each, and together at least 5 % of the
    #    occurrences, have lost at least 95 % of theirs. They are suppressed, or their labels stand for at
    #    least 95 % of the items of the column.
    # 3. At least 95 % of the occurrences are changed, and the average error of the count of a pair is at
    #    least 95 % (``loss["pairs"]``). Nodes of a hierarchy can be counted themselves: for them, NCP must be
    #    at least 50 % as well.
    # 4. All items that the guarantee protects are suppressed, as `RhoUncertainty` allows.
    #
    # All comparisons are of integers; errors are rounded to millionths.
    if n_rows < FEW:
        return ""
    judged, kind = _unprotected_items(mapping, guarantee)
    of_rows = isinstance(guarantee, (KmAnonymity, LmDiversity, PrivacyConstraints)) and judged["group"].any()
    if of_rows and has_one_label(judged):
        judged = judged.assign(group=0)  # its groups are rows that lose the same items
    if "column" not in mapping:
        return (
            _describe_loss(judged, kind)
            or _describe_errors(judged, loss, kind)
            or _describe_suppressed(guarantee)[0]
        )
    parts = judged.groupby("column", sort=False)
    texts = ". ".join(filter(None, (_describe_loss(part, f"{kind} in {label}") for label, part in parts)))
    return texts or _describe_errors(judged, loss, kind)


def unanswered(loss: pd.Series[float], guarantee: Guarantee, n_rows: int) -> str:
    """Describe errors of counts above two thirds, for items, pairs and combinations; empty unless all are."""
    kinds = {"singles": "an item", "pairs": "a pair", "values": "a combination of quasi-identifiers"}
    kinds = {name: kind for name, kind in kinds.items() if name in loss}
    needed = {"singles", "pairs", *(["values"] if getattr(guarantee, "quasi", None) else [])}
    errors = [round(_MILLION * float(loss[name])) for name in kinds]
    if n_rows < FEW or not needed <= kinds.keys() or min(errors) <= _TWO_THIRDS:
        return ""
    found = ", ".join(f"{percent(loss[name])} of {kind}" for name, kind in kinds.items())
    return f"No count answers a question: they are off by {found}"


def columns_left(frame: pd.DataFrame, released: pd.DataFrame, positions: Sequence[int]) -> str:
    """Describe the columns in which at least 95 % of the rows have the same value only in the release."""
    # Fewer than 20 rows are not checked.
    if len(frame) < FEW:
        return ""
    emptied = [
        str(frame.columns[place])
        for place in positions
        if _has_one_value(released.iloc[:, place]) and not _has_one_value(frame.iloc[:, place])
    ]
    return f"Almost all rows have the same value in {', '.join(emptied)}" if emptied else ""


def warn_if_useless(left: str, guarantee: Guarantee) -> None:
    """Warn if there are descriptions of `items_left` and `columns_left`, or of `unanswered`."""
    # The guarantee provides the hint if all that it protects is suppressed.
    if left:
        gone, remedy = _describe_suppressed(guarantee)
        warn(UselessWarning(left, hint=remedy if left == gone else REMEDY))


def _describe_loss(mapping: pd.DataFrame, items: str) -> str:
    """Describe the items of one column, see `items_left`."""
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
    sizes = np.bincount(pairs // n_items, minlength=len(labels) + 1)  # the last, 0, is for suppressed items
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
    return _describe_groups(pd.factorize(mapping["group"])[0], item, supports, suppressed | broad, items)


def _unprotected_items(mapping: pd.DataFrame, guarantee: Guarantee | None) -> tuple[pd.DataFrame, str]:
    """Return the lines of a mapping about items that a guarantee does not protect, and their name."""
    named = hidden_items(guarantee)
    if isinstance(guarantee, PublicK):  # lists the items that it does not protect
        named = guarantee.public
    if named is not None:
        protected = (named.find(mapping_values(mapping, "item")) >= 0) != isinstance(guarantee, PublicK)
        if protected.any() and not protected.all():
            return mapping[~protected], "public items"
    return mapping, "items"


def _describe_errors(mapping: pd.DataFrame, loss: pd.Series[float], items: str) -> str:
    """Describe a release with almost all occurrences changed, where no pairs can be counted."""
    pairs, ncp = (round(_MILLION * float(loss.get(name, 0.0))) for name in ("pairs", "NCP"))
    if not is_nearly_all(pairs, _MILLION) or ("LM" in loss and 2 * ncp < _MILLION):  # nodes can be counted
        return ""
    supports = mapping["support"].to_numpy(np.int64)
    changed, total = int(supports[~is_kept(mapping).to_numpy()].sum()), int(supports.sum())
    if not (total and is_nearly_all(changed, total)):
        return ""
    return (
        f"{percent(changed / total)} of the occurrences of {items} are changed, and counts are off by "
        f"{percent(loss['singles'])} of an item and {percent(loss['pairs'])} of a pair"
    )


def _describe_suppressed(guarantee: Guarantee | None) -> tuple[str, str]:
    """Describe that all protected items are suppressed, with a hint; else return two empty texts."""
    return guarantee.gone() if isinstance(guarantee, RhoUncertainty) else ("", "")


def _describe_groups(
    group: NDArray[np.intp],
    item: NDArray[np.intp],
    supports: Numbers,
    gone: Mask,
    items: str,
) -> str:
    """Describe the groups of rows that are almost empty; items of a group are adjacent."""
    held, lost = sums(group, supports), sums(group, np.where(gone, supports, 0))
    has_several = mask_at(len(held), group[1:][(group[1:] == group[:-1]) & (item[1:] != item[:-1])])
    emptied = is_nearly_all(lost, held) & has_several
    number, total = int(held[emptied].sum()), int(supports.sum())
    if 100 * number < _SOME * total or not emptied.any():
        return ""
    return (
        f"In {int(emptied.sum()):,} of {len(held):,} groups of rows, with {percent(number / total)} of the "
        f"occurrences of {items}, almost only labels for almost all items are left"
    )


def _has_one_value(column: pd.Series[Any]) -> bool:
    """Return whether almost all rows have the same value, or a missing one."""
    numbers = value_numbers(column)
    return numbers is not None and bool(is_nearly_all(np.bincount(numbers).max(initial=0), len(column)))
