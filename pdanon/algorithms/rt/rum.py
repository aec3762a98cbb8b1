"""Rum: measures of the loss of the quasi-identifiers of clusters, compared as integers.

NCP: Xu et al., "Utility-based Anonymization", KDD 2006. DM: Bayardo, Agrawal, "Data Privacy through Optimal
k-Anonymization", ICDE 2005. C_avg: LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional k-Anonymity",
ICDE 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np

from pdanon.algorithms.relational.quasi import QuasiTable
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.validation import find_name

MEASURES = ("NCP", "DM", "C_avg", "Minkowski")


def check_rum(name: Any) -> str:
    """Check the name of a measure of quasi-identifiers, and return its spelling."""
    return find_name(name, MEASURES, "measure of quasi-identifiers", where="rum")


@dataclass(frozen=True, slots=True)
class Rum:
    """A measure of the loss of the quasi-identifiers. A merge never lowers it.

    NCP is the mean over the rows of the average loss of a value, Minkowski of the root of the average squared
    loss. DM is the size of the cluster of a row, averaged over the rows, and C_avg the average size of a
    cluster, as shares of all rows.
    """

    name: str  # NCP, DM, C_avg or Minkowski
    most_of_row: int  # loss of a row if all of its values are suppressed
    most_squared: float  # sum of the squared losses of the suppressed values of a row
    n_rows: int

    @classmethod
    def of(cls, name: str, table: QuasiTable, n_rows: int | None = None) -> Rum:
        """Return a measure for a table, of its rows or of more."""
        squared = sum(float(each.unit) ** 2 for each in table.attributes)
        return cls(name, table.most_of_row, squared, table.n_rows if n_rows is None else n_rows)

    @property
    def by_size(self) -> bool:
        """Whether only the sizes of the clusters count."""
        return self.name in ("DM", "C_avg")

    def combine(self, losses: Sequence[Numbers]) -> Numbers:
        """Return the loss of a row, given the losses of its values, column by column."""
        if self.name != "Minkowski":
            return np.sum(losses, axis=0)
        squared = np.sum([each.astype(np.float64) ** 2 for each in losses], axis=0)
        lost = np.floor(self.most_of_row * np.sqrt(squared / self.most_squared)).astype(np.int64)
        return np.minimum(lost, self.most_of_row)

    def limit(self, bound: Fraction) -> int:
        """Return the maximum total loss that keeps a bound on the share."""
        if self.name == "C_avg":  # the share is 1 / clusters, and the total is -clusters
            return -ceil(1 / bound) if bound and self.n_rows else -2 * self.n_rows
        return int(bound * self._most)

    def share(self, total: int) -> float:
        """Return a total loss as a share of its maximum."""
        if self.name == "C_avg":
            return 1 / max(-total, 1) if self.n_rows else 0.0
        return total / max(self._most, 1)

    @property
    def _most(self) -> int:
        return self.n_rows * (self.n_rows if self.name == "DM" else self.most_of_row)
