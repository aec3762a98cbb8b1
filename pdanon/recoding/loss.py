"""Information loss of a recoding: NCP, LM, UL and the share of suppressed occurrences.

Which definition each number follows is said in :func:`information_loss`; they are not interchangeable.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.recoding import Changes, Recoding

__all__ = ["LOSSES", "information_loss", "with_measure"]

# The names of all losses that a result may have, in the order of tables.
LOSSES = ("NCP", "LM", "UL", "suppressed", "S/N", "GGD", "NCP_relational", "gap")


def information_loss(itemsets: Itemsets, recoding: Recoding) -> pd.Series[float]:
    """Measure what a recoding of a column loses.

    Parameters
    ----------
    itemsets : Itemsets
        The original column.
    recoding : Recoding
        What became of its items.

    Returns
    -------
    pandas.Series
        By name:

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
        ``suppressed``
            Share of the original occurrences that were suppressed.

    Notes
    -----
    Each original occurrence is charged, also where several collapse into one generalized item. A table
    without occurrences loses nothing.
    """
    changes = recoding.changes(itemsets)
    published = changes.targets >= 0
    stands_for = np.append(recoding.covered, recoding.domain)[changes.targets]  # -1: the whole domain
    share = np.where(published & (stands_for == 1), 0.0, stands_for / max(recoding.domain, 1))
    loss = {"NCP": _average(share, changes.supports)}
    if recoding.hierarchical:
        lost = np.where(published, (stands_for - 1) / max(recoding.domain - 1, 1), 1.0)
        loss["LM"] = _average(lost, changes.supports)
    if recoding.hierarchical and recoding.groups is not None:
        of_occurrence = lost[changes.of_occurrence]
        if not recoding.repeats:
            of_occurrence[_repeated(itemsets, recoding)] = 1.0
        weights = itemsets.occurrence_weights
        loss["GGD"] = float(np.average(of_occurrence, weights=weights)) if len(of_occurrence) else 0.0
    loss["UL"] = _utility_loss(itemsets, changes)
    loss["suppressed"] = _average(~published, changes.supports)
    return pd.Series(loss, name="loss", dtype="float64")


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


def _utility_loss(itemsets: Itemsets, changes: Changes) -> float:
    """log2 of the utility loss; sizes go beyond what a float can hold as powers of two."""
    n = itemsets.n_items
    if n == 0:
        return -np.inf
    published = changes.targets >= 0
    sets = changes.groups * (int(changes.targets.max()) + 1) + changes.targets
    _, set_of, members = np.unique(sets[published], return_inverse=True, return_counts=True)
    numbers = np.full(len(published), -1, np.int32)
    numbers[published] = set_of
    column = itemsets.relabel(
        numbers[changes.of_occurrence], pa.array(np.arange(len(members), dtype=np.int32))
    )
    suppressed = changes.supports[~published].sum(keepdims=True)
    index = SupportIndex.of(column)
    terms = _log2_less_one(members) + np.log2(index.singles) - _log2_less_one(np.array([n]))
    terms = np.append(terms, np.log2(suppressed[suppressed > 0]))
    return float(np.logaddexp2.reduce(terms, initial=-np.inf) - np.log2(index.n_rows))


def _log2_less_one(exponent: np.ndarray) -> np.ndarray:
    """log2(2**exponent - 1)."""
    return exponent + np.log1p(-np.exp2(-exponent.astype(np.float64))) / np.log(2)
