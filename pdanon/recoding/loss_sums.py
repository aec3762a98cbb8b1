"""Losses of a table that is recoded part by part, from sums over the parts.

Each group of rows is in one part. Errors of counts compare the sums of all parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.lists import to_numpy
from pdanon.recoding.loss import Remaining, item_counts, pair_counts
from pdanon.recoding.recoding import Recoding

# Averages over the rows, and over the occurrences of items that are not sensitive; others are over all.
_BY_ROWS, _BY_KNOWN = ("NCP_relational", "UL_rows", "suppressed_rows"), ("NCP_known",)


@dataclass(frozen=True, eq=False, slots=True)
class LossSums:
    """The contribution of a part to the losses of its table."""

    loss: pd.Series[float]  # of the part
    rows: int
    occurrences: int
    known: int  # occurrences of items that are not sensitive
    singles: NDArray[np.float64]  # the count of each item, and its estimate from the release
    pairs: NDArray[np.float64]  # the same for sampled pairs
    # for each number of items, the occurrences with a changed label that stands for so many
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

    def to_arrow(self) -> pa.Table:
        """Return a table of one row."""
        columns = {
            "names": [*self.loss.index],
            "losses": self.loss.to_numpy(),
            "numbers": np.array([self.rows, self.occurrences, self.known]),
            "singles": self.singles.ravel(),
            "pairs": self.pairs.ravel(),
            "sizes": self.sizes,
        }
        return pa.table({name: [values] for name, values in columns.items()})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> LossSums:
        """Return the sums of a table that `to_arrow` made."""
        columns = {name: table[name].combine_chunks().flatten() for name in table.column_names}
        names = columns.pop("names").to_pylist()
        values = {name: to_numpy(each) for name, each in columns.items()}
        loss, (rows, occurrences, known) = pd.Series(values["losses"], names), values["numbers"].tolist()
        singles, pairs = (values[name].reshape(2, -1) for name in ("singles", "pairs"))
        return cls(loss, rows, occurrences, known, singles, pairs, values["sizes"])

    @classmethod
    def of_rows(cls, loss: pd.Series[float], n_rows: int) -> LossSums:
        """Return the sums of a part without items."""
        return cls(loss, n_rows, 0, 0, np.zeros((2, 0)), np.zeros((2, 0)), np.zeros(0, np.int64))


def join_losses(parts: Iterable[LossSums], times: NDArray[np.int64]) -> pd.Series[float]:
    """Return the losses of a table, given its parts and how often each pair was sampled.

    Parts are read one at a time, and floats added in their order.
    """
    losses, numbers = [], []
    singles, pairs, sizes = np.zeros(()), np.zeros(()), np.zeros(0, np.int64)
    for part in parts:
        losses.append(part.loss)
        numbers.append((part.rows, part.occurrences, part.known))
        singles, pairs = singles + part.singles, pairs + part.pairs
        sizes = _add_sizes(sizes, part.sizes)
    rows, occurrences, known = np.array(numbers).T
    joint = {}
    for name in losses[0].index:
        values = np.array([0.0 if name == "UL" else each[name] for each in losses])  # UL is below
        weights = rows if name in _BY_ROWS else known if name in _BY_KNOWN else occurrences
        joint[name] = float(values @ weights / max(weights.sum(), 1))
    if "UL" in joint:
        filled = zip(losses, rows, occurrences, strict=True)
        terms = [each["UL"] + np.log2(n) for each, n, held in filled if held]
        total = np.logaddexp2.reduce(terms, initial=-np.inf)
        joint["UL"] = float(total - np.log2(max(rows.sum(), 1)))
    if "singles" in joint:
        actual, estimate = singles
        joint["singles"] = float(np.abs(actual - estimate).sum() / max(actual.sum(), 1))
        actual, estimate = pairs
        errors = np.abs(actual - estimate) / np.maximum(actual, 1)
        joint["pairs"] = float(np.average(errors, weights=times)) if len(times) else 0.0
        joint["stands_for"] = _median(sizes)
    return pd.Series(joint, name="loss", dtype="float64")


def _add_sizes(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    total = np.zeros(max(len(one), len(other)), np.int64)
    total[: len(one)] = one
    total[: len(other)] += other
    return total


def _median(by_size: NDArray[np.int64]) -> float:
    """Return the lower median of sizes, given the occurrences of each size; 1 without any."""
    until = np.cumsum(by_size)
    if not len(until) or not until[-1]:
        return 1.0
    return float(np.searchsorted(2 * until, until[-1]))
