"""Losses of a table that is recoded part by part, from sums over the parts.

Each group of rows is in one part. Errors of counts compare the sums of all parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.recoding.loss import Remaining, item_counts, pair_counts
from pdanon.recoding.recoding import Recoding

# Averages over the rows, and over the occurrences of items that are not sensitive; others are over all.
_BY_ROWS, _BY_KNOWN = ("NCP_relational", "UL_rows", "suppressed_rows"), ("NCP_known",)


@dataclass(frozen=True, eq=False, slots=True)
class LossSums:
    """The contribution of a part to the losses of its table.

    Parameters
    ----------
    loss : pandas.Series
        The losses of the part.
    rows, occurrences, known : int
        Numbers of its rows, its occurrences, and those of items that are not sensitive.
    singles : ndarray of float, shape (2, items)
        The count of each item, and its estimate from the release.
    pairs : ndarray of float, shape (2, pairs)
        The same for sampled pairs.
    sizes : ndarray of int64
        For each number of items, the occurrences with a changed label that stands for so many.
    """

    loss: pd.Series[float]
    rows: int
    occurrences: int
    known: int
    singles: NDArray[np.float64]
    pairs: NDArray[np.float64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(
        cls, loss: pd.Series[float], itemsets: Itemsets, recoding: Recoding, pairs: Codes, known: int
    ) -> LossSums:
        """Count a part, given its losses, its column, and the pairs that were sampled from all parts."""
        remaining = Remaining.of(itemsets, recoding, recoding.changes(itemsets))
        sizes, supports = remaining.stands_for()
        by_size = np.bincount(sizes, supports).astype(np.int64)
        counts = item_counts(remaining), pair_counts(remaining, pairs)
        return cls(loss, itemsets.n_rows, len(itemsets.codes), known, *counts, by_size)

    @classmethod
    def of_rows(cls, loss: pd.Series[float], n_rows: int) -> LossSums:
        """Return the sums of a part without items."""
        return cls(loss, n_rows, 0, 0, np.zeros((2, 0)), np.zeros((2, 0)), np.zeros(0, np.int64))


def join_losses(parts: Sequence[LossSums], times: NDArray[np.int64]) -> pd.Series[float]:
    """Return the losses of a table, given its parts and how often each pair was sampled."""
    rows, occurrences = (
        np.array([each.rows for each in parts]),
        np.array([each.occurrences for each in parts]),
    )
    known = np.array([each.known for each in parts])
    joint = {}
    for name in parts[0].loss.index:
        values = np.array([0.0 if name == "UL" else each.loss[name] for each in parts])  # UL is below
        weights = rows if name in _BY_ROWS else known if name in _BY_KNOWN else occurrences
        joint[name] = float(values @ weights / max(weights.sum(), 1))
    if "UL" in joint:
        filled = [(each.loss["UL"], each.rows) for each in parts if each.occurrences]
        total = np.logaddexp2.reduce([ul + np.log2(n) for ul, n in filled], initial=-np.inf)
        joint["UL"] = float(total - np.log2(max(rows.sum(), 1)))
    if "singles" in joint:
        actual, estimate = np.sum([each.singles for each in parts], axis=0)
        joint["singles"] = float(np.abs(actual - estimate).sum() / max(actual.sum(), 1))
        actual, estimate = np.sum([each.pairs for each in parts], axis=0)
        errors = np.abs(actual - estimate) / np.maximum(actual, 1)
        joint["pairs"] = float(np.average(errors, weights=times)) if len(times) else 0.0
        joint["stands_for"] = _median([each.sizes for each in parts])
    return pd.Series(joint, name="loss", dtype="float64")


def _median(by_size: Sequence[NDArray[np.int64]]) -> float:
    """Return the lower median of sizes, given the occurrences of each size in each part; 1 without any."""
    total = np.zeros(max(map(len, by_size)), np.int64)
    for each in by_size:
        total[: len(each)] += each
    until = np.cumsum(total)
    if not len(until) or not until[-1]:
        return 1.0
    return float(np.searchsorted(2 * until, until[-1]))
