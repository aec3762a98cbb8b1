"""Information loss of a recoding: what remains of its items, NCP, LM and UL.

Which definition each number follows is said in :func:`information_loss`; they are not interchangeable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.recoding import Changes, Recoding
from pdanon.recoding.remaining import Remaining

__all__ = ["LOSSES", "information_loss", "joint_loss", "with_measure"]

# The names of all losses that a result may have, in the order of tables.
LOSSES = (
    *("occurrences", "stands_for", "singles", "pairs", "suppressed"),
    *("NCP", "LM", "UL", "S/N", "GGD", "NCP_relational", "suppressed_rows", "gap"),
    *("term_chunks", "tlost", "re", "KL"),
)


def information_loss(
    itemsets: Itemsets, recoding: Recoding, changes: Changes | None = None
) -> pd.Series[float]:
    """Measure what a recoding of a column loses.

    Parameters
    ----------
    itemsets : Itemsets
        The original column.
    recoding : Recoding
        What became of its items.
    changes : Changes, optional
        The same by group and item, if that is known.

    Returns
    -------
    pandas.Series
        By name:

        ``occurrences``
            Share of the original occurrences that are not published as the item that they are.
        ``stands_for``
            The number of items that a changed label stands for: the median over the changed occurrences that
            are published, the lower one of two; 1 if there are none. A label stands for the items that became
            it, in whatever group.
        ``singles``
            Average relative error of the count of an item that occurs, if each label of a row is taken for
            any of its items alike; each item is weighted by its count. In a bag each copy of a label counts.
        ``pairs``
            The same of two items together, of up to 200 pairs: drawn from all pairs of all rows, always the
            same ones; 0 if no row has two. Where several labels of a row stand for an item, it is the one
            that stands for the fewest.
        ``suppressed``
            Share of the original occurrences that were suppressed.
        ``NCP``
            Normalized certainty penalty, averaged over the original occurrences: a kept item costs 0, a
            suppressed one 1, a generalized one the share of the domain that it stands for. The domain is
            the items that occur for sets, the leaves of the hierarchy for its nodes.
        ``LM``
            Loss metric, only with a hierarchy: as NCP, with ``(leaves - 1) / (all leaves - 1)``.
        ``GGD``
            Group generalization distortion over the number of occurrences, only where groups of rows have
            nodes of a hierarchy of their own: LM summed over the published labels, and 1 for each
            occurrence beyond them, be it suppressed or collapsed into a label that another has already.
        ``UL``
            Utility loss in bits: log2 of the sum over published items of ``(2**s - 1) / (2**n - 1) *
            support / rows``, where ``s`` of the ``n`` items that occur were merged into the item. A
            suppressed item costs its own support / rows. -inf if nothing is published or suppressed. In
            a local recoding items are merged, and supports counted, within a group.

    Notes
    -----
    Each original occurrence is charged, also where several collapse into one generalized item. A table
    without occurrences loses nothing.
    """
    return _measured(itemsets, recoding, recoding.changes(itemsets) if changes is None else changes)[0]


def joint_loss(columns: Sequence[tuple[Itemsets, Recoding, Changes]]) -> pd.Series[float]:
    """Measure what the recodings of several columns of the same rows lose together; as `information_loss`.

    Each measure is averaged over the occurrences of all columns, and the median is theirs; a pair is one of
    two items of the same column. There is no UL, which is of one vocabulary.
    """
    measured = [_measured(*column) for column in columns]
    if len(measured) == 1:
        return measured[0][0]
    weights = np.array([int(remaining.changes.supports.sum()) for _, remaining in measured])
    losses = pd.DataFrame([loss for loss, _ in measured]).drop(columns="UL")
    joint = losses.mul(weights / max(weights.sum(), 1), axis=0).sum().rename("loss")
    joint["stands_for"] = _median([remaining for _, remaining in measured])
    return joint


def _measured(itemsets: Itemsets, recoding: Recoding, changes: Changes) -> tuple[pd.Series[float], Remaining]:
    remaining = Remaining.of(itemsets, recoding, changes)
    published = changes.targets >= 0
    stands_for = np.append(recoding.covered, recoding.domain)[changes.targets]  # -1: the whole domain
    share = np.where(published & (stands_for == 1), 0.0, stands_for / max(recoding.domain, 1))
    loss = {
        "occurrences": _average(~remaining.is_kept, changes.supports),
        "stands_for": _median([remaining]),
        "singles": remaining.singles(),
        "pairs": remaining.pairs(),
        "suppressed": _average(~published, changes.supports),
        "NCP": _average(share, changes.supports),
    }
    if recoding.hierarchical:
        lost = np.where(published, (stands_for - 1) / max(recoding.domain - 1, 1), 1.0)
        loss["LM"] = _average(lost, changes.supports)
    if recoding.hierarchical and recoding.groups is not None:
        of_occurrence = lost[changes.of_occurrence]
        if not recoding.repeats:
            of_occurrence[_repeated(itemsets, recoding)] = 1.0
        weights = itemsets.occurrence_weights
        loss["GGD"] = float(np.average(of_occurrence, weights=weights)) if len(of_occurrence) else 0.0
    loss["UL"] = _utility_loss(itemsets, remaining)
    return pd.Series(loss, name="loss", dtype="float64"), remaining


def _median(columns: Sequence[Remaining]) -> float:
    """The lower median of what changed labels stand for, over the occurrences that became them."""
    parts = [column.stands_for() for column in columns]
    sizes, supports = (np.concatenate(each) for each in zip(*parts, strict=True))
    if not len(sizes):
        return 1.0
    order = np.argsort(sizes, kind="stable")
    until = np.cumsum(supports[order])
    return float(sizes[order][np.searchsorted(2 * until, until[-1])])


def with_measure(loss: pd.Series[float], name: str, value: float) -> pd.Series[float]:
    """Some losses and one more, as a Series of its own."""
    return pd.Series({**loss.to_dict(), name: value}, name="loss", dtype="float64")


def _average(values: np.ndarray, occurrences: np.ndarray) -> float:
    total = int(occurrences.sum())
    return float(values @ occurrences / total) if total else 0.0


def _repeated(itemsets: Itemsets, recoding: Recoding) -> np.ndarray:
    """Occurrences that became what an earlier one of their row has become."""
    first = np.zeros(len(recoding.targets), np.bool_)
    cells = itemsets.rows * np.int64(len(recoding.labels) + 1) + recoding.targets
    first[np.unique(cells, return_index=True)[1]] = True
    return ~first


def _utility_loss(itemsets: Itemsets, remaining: Remaining) -> float:
    """log2 of the utility loss; sizes go beyond what a float can hold as powers of two."""
    n, changes = itemsets.n_items, remaining.changes
    if n == 0:
        return -np.inf
    members, index = remaining.sizes, remaining.index
    if remaining.recoding.groups is not None:
        members, index = _sets_of_groups(itemsets, changes)
    used = members > 0
    suppressed = changes.supports[changes.targets < 0].sum(keepdims=True)
    terms = _log2_less_one(members[used]) + np.log2(index.singles[used]) - _log2_less_one(np.array([n]))
    terms = np.append(terms, np.log2(suppressed[suppressed > 0]))
    return float(np.logaddexp2.reduce(terms, initial=-np.inf) - np.log2(index.n_rows))


def _sets_of_groups(itemsets: Itemsets, changes: Changes) -> tuple[NDArray[np.int64], SupportIndex]:
    """How many items of its group each generalized item stands for, and the rows, each group with its own."""
    published = changes.targets >= 0
    sets = changes.groups * (int(changes.targets.max()) + 1) + changes.targets
    _, set_of, members = np.unique(sets[published], return_inverse=True, return_counts=True)
    numbers = np.full(len(published), -1, np.int32)
    numbers[published] = set_of
    rows = SupportIndex(numbers[changes.of_occurrence], itemsets.offsets, len(members), itemsets.weights)
    return members, rows.recoded(np.arange(len(members)), len(members))


def _log2_less_one(exponent: np.ndarray) -> np.ndarray:
    """log2(2**exponent - 1)."""
    return exponent + np.log1p(-np.exp2(-exponent.astype(np.float64))) / np.log(2)
