"""Merges of clusters of rows, and their cost in quasi-identifiers (Rum) and transactions."""

# NCP: Xu et al., "Utility-based Anonymization", KDD 2006. DM: Bayardo, Agrawal, "Data Privacy through Optimal
# k-Anonymization", ICDE 2005. C_avg: LeFevre, DeWitt, Ramakrishnan, ICDE 2006.

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels import row_clusters
from pdanon.algorithms.relational.quasi import Digests, QuasiTable, number_groups
from pdanon.algorithms.rt.transaction import TransactionSide
from pdanon.itemsets.codes import Itemsets, Mask, Numbers
from pdanon.itemsets.lists import Floats, offsets_of
from pdanon.itemsets.validation import find_name

MEASURES = ("NCP", "DM", "C_avg", "Minkowski")


def check_rum(name: Any) -> str:
    """Check the name of a measure of quasi-identifiers, and return its spelling."""
    return find_name(name, MEASURES, "measure of quasi-identifiers", where="rum")


@dataclass(frozen=True, slots=True)
class Rum:
    """A measure of the loss of the quasi-identifiers. A merge never lowers it."""

    # NCP is the mean over the rows of the average loss of a value, Minkowski of the root of the average
    # squared loss. DM is the size of the cluster of a row, averaged over the rows, and C_avg the average size
    # of a cluster, as shares of all rows.

    name: str  # NCP, DM, C_avg or Minkowski
    most_of_row: int  # loss of a row if all of its values are suppressed
    most_squared: float  # sum of the squared losses of the suppressed values of a row
    n_rows: int

    @classmethod
    def of(cls, name: str, table: QuasiTable, n_rows: int) -> Rum:
        """Return a measure for a table of this many rows."""
        squared = sum(float(each.unit) ** 2 for each in table.attributes)
        return cls(name, table.most_of_row, squared, n_rows)

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

    def tabulate(self, clusters: Numbers, totals: Numbers, tum: Any) -> pd.DataFrame:
        """Return the steps of `Decided`, given the total losses and the shares of the transactions."""
        shares = [self.share(int(total)) for total in totals]
        return pd.DataFrame({"clusters": clusters, "Rum": shares, "Tum": tum})

    @property
    def _most(self) -> int:
        return self.n_rows * (self.n_rows if self.name == "DM" else self.most_of_row)


class Merging:
    """Clusters of rows in the order of their first rows, with the current loss of their quasi-identifiers."""

    # The distance (BTD) of two transactions is ``(different + 1) / (common + 1)``, times the number of items
    # in either. That of a cluster is the largest of its pairs. A merge only adds the pairs between both
    # clusters.

    def __init__(self, table: QuasiTable, groups: Numbers, itemsets: Itemsets, rum: Rum) -> None:
        self._members = np.lexsort((-itemsets.lengths, groups))
        self._bounds = offsets_of(np.bincount(groups))
        self._table = table
        self._rum = rum
        self._transactions = itemsets.codes, itemsets.offsets
        self._digests = Digests(table, self.rows, self._rum.combine)
        self.losses = self.sizes if self._rum.by_size else self._digests.losses
        self._distances: Floats | None = None

    def __len__(self) -> int:
        return len(self._bounds) - 1

    @property
    def rows(self) -> list[Numbers]:
        """The rows of each cluster, longest transactions first."""
        return [self.rows_of(cluster) for cluster in range(len(self))]

    @property
    def sizes(self) -> Numbers:
        """Number of rows of each cluster."""
        return np.diff(self._bounds)

    def rows_of(self, cluster: int) -> Numbers:
        """Return the rows of a cluster, longest transactions first."""
        return self._members[self._bounds[cluster] : self._bounds[cluster + 1]]

    @property
    def total(self) -> int:
        """Loss of all rows together."""
        return -len(self) if self._rum.name == "C_avg" else int(self.sizes @ self.losses)

    @property
    def groups(self) -> Numbers:
        """The cluster of each row."""
        return number_groups(self.rows, self._table.n_rows)

    @property
    def seed(self) -> int:
        """The cluster with the lowest loss of a row."""
        return int(np.argmin(self.losses))

    def losses_with(self, seed: int) -> Numbers:
        """Return, for each cluster, the loss of a row in its union with one cluster."""
        if self._rum.by_size:
            return self.sizes + len(self.rows_of(seed))
        return self._digests.losses_with(self._digests.of(seed))

    def totals_with(self, seed: int, losses: Numbers) -> Numbers:
        """Return the loss of all rows after each merge with a cluster; unions have the loss ``losses``."""
        if self._rum.name == "C_avg":
            return np.full(len(self), 1 - len(self))
        # Integers: rows times the loss of a row, so that equal totals compare equal.
        sizes = self.sizes
        alone = sizes * self.losses
        return self.total - alone - alone[seed] + (sizes + sizes[seed]) * losses

    def distances_with(self, seed: int) -> Floats:
        """Return, for each cluster, the distance (BTD) within its union with one cluster."""
        result = self._own_distances().copy()
        rows, own = self.rows_of(seed), float(result[seed])
        row_clusters.joined(rows, self._members, self._bounds, own, *self._transactions, result)
        return result

    def merge(self, seed: int, other: int, loss: int) -> None:
        """Merge two clusters; ``loss`` is the loss of a row of the union."""
        first, last = sorted((seed, other))
        if self._distances is not None:
            own = float(self._distances[[seed, other]].max())
            rows = self.rows_of(seed), self.rows_of(other)
            self._distances[first] = row_clusters.farthest(*rows, *self._transactions, own)
            self._distances = np.delete(self._distances, last)
        row_clusters.merge_members(self._members, self._bounds, first, last, self._transactions[1])
        self._bounds = self._bounds[:-1]
        self._digests.add(first, self._digests.of(last))
        self._digests.remove(last)
        self.losses = np.delete(self.losses, last)
        self.losses[first] = loss

    def _own_distances(self) -> Floats:
        # Computed at the first use: only some orders of merges need them.
        if self._distances is None:
            self._distances = np.array(
                [row_clusters.farthest(rows, rows, *self._transactions, -1.0) for rows in self.rows]
            )
        return self._distances


def best_candidate(
    seed: int, losses: Numbers, far: NDArray[Any] | None, merge: str, allowed: Mask | None = None
) -> int | None:
    """Return the best candidate to merge with a cluster (ties: the first); None if there is none."""
    # With both sides, R and T, their ranks are added; of equal sums the lower relational loss comes first.
    open_to = np.ones(len(losses), np.bool_) if allowed is None else allowed.copy()
    open_to[seed] = False
    found = np.flatnonzero(open_to)
    if not len(found):
        return None
    if merge == "R" or far is None:
        return int(found[np.argmin(losses[found])])
    if merge == "T":
        return int(found[np.argmin(far[found])])
    others = np.delete(np.arange(len(losses)), seed)
    rank, both = np.empty((2, len(losses)), np.int64)
    rank[others[np.argsort(losses[others], kind="stable")]] = np.arange(len(others))
    both[others[np.argsort(far[others], kind="stable")]] = np.arange(len(others))
    both += rank
    return int(found[np.argmin(both[found] * len(losses) + rank[found])])


def merge_next(
    merging: Merging, most: int | None, merge: str, transactions: TransactionSide | None
) -> tuple[int, int] | None:
    """Merge the cluster that loses least with the best candidate; return both, the first one first."""
    # Nothing is merged, and None returned, if there is no candidate, or the loss of all rows would exceed
    # ``most``. With R, only the candidate that loses least counts.
    if len(merging) < 2:
        return None
    seed = merging.seed
    losses = merging.losses_with(seed)
    allowed = None if most is None else merging.totals_with(seed, losses) <= most
    if merge == "R":
        other = best_candidate(seed, losses, None, merge)
    else:
        other = best_candidate(seed, losses, distances(merging, seed, transactions), merge, allowed)
    if other is None or (allowed is not None and not allowed[other]):
        return None
    merging.merge(seed, other, int(losses[other]))
    return min(seed, other), max(seed, other)


def distances(merging: Merging, seed: int, transactions: TransactionSide | None) -> NDArray[Any]:
    """Return the distance of the transactions of a cluster from each, or their loss in the union."""
    if transactions is None:
        return merging.distances_with(seed)
    unions = (np.concatenate((merging.rows_of(seed), rows)) for rows in merging.rows)
    return np.array([transactions.average_loss(union) for union in unions], object)
