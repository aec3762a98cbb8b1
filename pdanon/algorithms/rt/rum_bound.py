"""Rum-bound and Tum-bound: minimize one of two losses within a bound on the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon._kernels import row_clusters
from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.quasi import Digests, QuasiLike, QuasiTable, number_groups
from pdanon.algorithms.rt.dataset import (
    Decided,
    Part,
    Parts,
    at_least,
    check_options,
    release_clusters,
)
from pdanon.algorithms.rt.transaction import Transaction, TransactionSide, ways_of
from pdanon.errors import InfeasibleError
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.parameters import ItemLimit, check_share
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers
from pdanon.itemsets.lists import Floats, offsets_of
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import Seed, find_name
from pdanon.recoding.result import Anonymized

# --- Merges of clusters of rows, and their cost in quasi-identifiers (Rum) and transactions

# NCP: Xu et al., "Utility-based Anonymization", KDD 2006. DM: Bayardo, Agrawal, "Data Privacy through Optimal
# k-Anonymization", ICDE 2005. C_avg: LeFevre, DeWitt, Ramakrishnan, ICDE 2006.


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
        self._transactions, self._lengths = (itemsets.codes, itemsets.offsets), itemsets.lengths
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
            both = self.rows_of(seed), self.rows_of(other)
            self._distances[first] = row_clusters.farthest(*both, *self._transactions, own)
            self._distances = np.delete(self._distances, last)
        rows = np.concatenate((self.rows_of(first), self.rows_of(last)))
        ends = self._bounds[[first, first + 1, last, last + 1]]
        before, _, between, _, after = np.split(self._members, ends)
        rows = rows[np.lexsort((rows, -self._lengths[rows]))]
        self._members = np.concatenate((before, rows, between, after))
        sizes = np.delete(self.sizes, last)
        sizes[first] = len(rows)
        self._bounds = offsets_of(sizes)
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
    if far is None:
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


# --- Rum-bound: the least loss of the transactions


@called_by_name
def rum_bound(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    quasi: QuasiLike,
    delta: float,
    merge: str = "RT",
    rum: str = "NCP",
    cluster: str = "cluster",
    transaction: str | Transaction = "pcta",
    random_state: Seed = None,
    block_rows: int | None = None,
) -> Anonymized:
    """Anonymize quasi-identifiers and items, with a bound on the loss of the quasi-identifiers.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, quasi : int, int or None, sequence of hashable or mapping
        At least k rows (at least 2) match the columns ``quasi`` and any m known items; None: all items. A
        mapping has by column a weight in its losses, in [0, 1], rounded to thousandths; a hierarchy in any
        form that ``Hierarchy.of`` accepts, where an int from 2 on is a fan-out; a pair of both; or None.
    delta : float
        Upper bound on the loss of the quasi-identifiers, in [0, 1]: NCP averaged over rows and columns, or
        the measure ``rum``.
    merge : {"R", "T", "RT"}
        Similarity of the clusters to merge: in quasi-identifiers, in transactions, or in both.
    rum : {"NCP", "DM", "C_avg", "Minkowski"}
        Measure of the loss of the quasi-identifiers, in [0, 1]: the average loss of a value (NCP), or the
        root of the average squared loss of the values of a row, averaged over the rows (Minkowski); the
        average over the rows of the size of their class (DM), or the average size of a class (C_avg), as
        shares of all rows. If it is not NCP, the release reports it as ``loss["Rum"]``.
    cluster : str
        The algorithm that forms the first clusters: ``"cluster"``, ``"k_member"``, ``"mondrian"``,
        ``"top_down"``, ``"incognito"`` or ``"full_subtree"``.
    transaction : str or Transaction
        The algorithm for the items of a cluster, any for k^m-anonymity: a name, or a `Transaction`.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.
    block_rows : int, optional
        Maximum number of rows that are anonymized together; at least 2k. A larger table is cut into blocks
        of rows with similar quasi-identifiers. By default it is not cut. `config` sets the number of
        processes that work on the blocks.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``; ``loss["NCP_relational"]`` is at most ``delta``,
        unless ``rum`` selects another measure. ``trace`` has the number of ``clusters`` and the losses
        ``Rum`` and ``Tum`` of quasi-identifiers and items, at the start and after each merge. Tum is counted
        only after the last.

    Raises
    ------
    InfeasibleError
        If the first clusters already lose more than ``delta``, or there is at least one row, but fewer
        than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If a hierarchy (no tree, or values are missing), a column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``.

    Each merge joins the cluster that loses least with the first candidate whose union keeps the bound. When
    there is none, the items are anonymized cluster by cluster, and refined as by `pdanon.refine`; nodes by
    single moves only. Where fewer than k rows of a cluster have items, all its items are suppressed.

    With blocks, the table is cut in two, and each part again, along its widest column: as few blocks as
    possible, whose sizes differ by at most one row. A block may lose as much as its first clusters, plus its
    share of what the bound of the table leaves; a block of a single cluster does not use it up. All blocks
    are audited as one. Several processes pay off for many large blocks, as each takes seconds to start. A
    script must start its work below ``if __name__ == "__main__":``. If a process is killed,
    ``BrokenProcessPool`` is raised.

    Cost: that of the first clusters, a comparison of one cluster with all others for each merge, and
    anonymizing and refining the transactions. It grows with the square of the rows, or with the rows times
    those of a block. Memory: a few numbers for each row and occurrence, and as much again for blocks.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "cold"], ["flu"], ["cold"], ["flu", "cold"]]
    >>> df = pd.DataFrame({"age": [19, 22, 39, 40], "items": rows})
    >>> pdanon.rum_bound(df, k=2, m=2, quasi=["age"], delta=0.2, random_state=0).frame
            age           items
    0  [19, 22]  ['(cold,flu)']
    1  [19, 22]  ['(cold,flu)']
    2  [39, 40]  ['(cold,flu)']
    3  [39, 40]  ['(cold,flu)']
    """
    rum = check_rum(rum)
    return release_clusters(RUM_BOUND, locals())


def decide_rum_bound(
    parts: Parts, *, delta: float, merge: str, rum: str, cluster: str, random_state: Any
) -> Decided:
    """Form clusters in each part, and merge them within their shares of the bound."""
    check_options(cluster, merge)
    bound, measure = check_share(delta, "delta"), Rum.of(check_rum(rum), parts.table, sum(parts.n_rows))
    first = parts.share(partial(_form, cluster, measure), parts.parts, parts.generators(random_state))
    known, n_clusters, totals = zip(*first, strict=True)
    left, lost = measure.limit(bound) - sum(totals), at_least(measure.share(sum(totals)))
    if left < 0:
        raise InfeasibleError(
            "the first clusters lose more of the quasi-identifiers than delta allows",
            where="delta",
            got=f"delta={float(bound):g}, they lose {lost}",
            hint="pass a delta at least as large",
        )
    n_rows = max(sum(parts.n_rows), 1)  # each part gets its share of what may still be lost
    most = [total + left * own // n_rows for total, own in zip(totals, parts.n_rows, strict=True)]
    found = parts.share(partial(_anonymize, merge, measure), parts.parts, known, most)
    losses = np.cumsum(np.concatenate(([sum(totals)], *(added for _, added in found))))
    steps = measure.tabulate(sum(n_clusters) - np.arange(len(losses)), losses, np.nan)
    return Decided([closed for closed, _ in found], steps, measure.name)


def _form(cluster: str, rum: Rum, part: Part, rng: np.random.Generator) -> tuple[Any, int, int]:
    """Form the first clusters of a block; return them as `Part.keep` does, their number, and their loss."""
    block = part.open()
    groups = block.groups(cluster, rng)
    merging = Merging(block.table, groups, block.transactions.known, rum)
    return part.keep(groups), len(merging), merging.total


def _anonymize(merge: str, rum: Rum, part: Part, known: Any, most: int) -> tuple[Any, Numbers]:
    """Merge the first clusters of a block."""
    block, (groups,) = part.open(), part.kept(known)
    merging = Merging(block.table, groups, block.transactions.known, rum)
    totals = [merging.total]
    while merge_next(merging, most, merge, block.transactions.compared):
        totals.append(merging.total)
        count_steps()
    numbers = block.protect(merging.groups)
    return part.close(block, merging.groups, numbers), np.diff(totals)


RUM_BOUND = Algorithm(
    rum_bound,
    (KKm, KLm),
    recodes="both",
    parts=decide_rum_bound,
    ways=ways_of([(30, {"delta": 0.1}), (40, {"delta": 0.25}), (50, {"delta": 0.5})]),
)


# --- Tum-bound: the least loss of the quasi-identifiers


@called_by_name
def tum_bound(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: ItemLimit = 2,
    quasi: QuasiLike,
    delta: float,
    merge: str = "RT",
    rum: str = "NCP",
    cluster: str = "cluster",
    transaction: str | Transaction = "pcta",
    random_state: Seed = None,
    block_rows: int | None = None,
) -> Anonymized:
    """Anonymize quasi-identifiers and items, with a bound on the loss of the items.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        One row per person, which is not modified; and its list column, by default the only one.
    k, m, quasi : int, int or None, sequence of hashable or mapping
        As in `rum_bound`.
    delta : float
        Upper bound on the loss of the items, in [0, 1]: NCP, or the measure ``tum`` of ``transaction``.
    merge, rum : str, str
        As in `rum_bound`.
    cluster, transaction, random_state, block_rows : str, str or Transaction, int, int
        As in `rum_bound`.

    Returns
    -------
    Anonymized
        A local recoding, with the table of ``classes``. ``loss["NCP"]`` is at most ``delta``. It is
        ``loss["NCP_known"]`` beside sensitive items, and ``loss["UL_rows"]`` with ``tum="UL"`` of
        ``transaction``. ``trace`` has the number of ``clusters`` and the losses ``Rum`` and ``Tum`` of
        quasi-identifiers and items, at the start and after each merge.

    Raises
    ------
    InfeasibleError
        If the items lose more than ``delta`` after every merge, or those of a block more than its share of
        it. If there is at least one row, but fewer than k.
    HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        If a hierarchy (no tree, or values are missing), a column or a parameter is invalid.

    Notes
    -----
    Guarantee: ``KKm(k, m, quasi)``, or ``KLm(k, l, m, quasi, sensitive)``.

    The items of the first clusters are anonymized. While they lose more than ``delta``, the cluster with the
    lowest loss of quasi-identifiers is merged with the first candidate, whose items are then anonymized
    together and refined as by `pdanon.refine`; nodes by single moves only. Where fewer than k rows of a
    cluster have items, all its items are suppressed. Blocks may lose the same share of their items; what one
    leaves is left to others.

    Cost: that of the first clusters, a comparison of one cluster with all others for each merge, and
    anonymizing the transactions.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "cold"], ["flu"], ["cold"], ["flu", "cold"]]
    >>> df = pd.DataFrame({"age": [19, 22, 39, 40], "items": rows})
    >>> pdanon.tum_bound(df, k=2, m=2, quasi=["age"], delta=0.5, random_state=0).frame
            age           items
    0  [19, 40]  ['cold' 'flu']
    1  [19, 40]         ['flu']
    2  [19, 40]        ['cold']
    3  [19, 40]  ['cold' 'flu']
    """
    rum = check_rum(rum)
    return release_clusters(TUM_BOUND, locals())


def decide_tum_bound(
    parts: Parts, *, delta: float, merge: str, rum: str, cluster: str, random_state: Any
) -> Decided:
    """Merge the first clusters of each part until the loss of its transactions keeps its bound."""
    check_options(cluster, merge)
    bound, measure = check_share(delta, "delta"), Rum.of(check_rum(rum), parts.table, sum(parts.n_rows))
    first = parts.share(partial(_start, cluster, measure), parts.parts, parts.generators(random_state))
    known, lost, most = zip(*first, strict=True)
    allowed = allowed_losses(lost, most, bound)
    found = parts.share(partial(_merge_until, merge, measure), parts.parts, known, allowed)
    if any(each.least is not None for each in found):
        least = sum(float(each.steps[-1][-1] if each.least is None else each.least) for each in found)
        raise InfeasibleError(
            "the items lose more than delta allows, whatever is merged",
            where="delta",
            got=f"delta={float(bound):g}, the lowest loss reached is {at_least(least / sum(most))}",
            hint="pass a delta at least as large",
        )
    columns = [map(np.array, zip(*each.steps, strict=True)) for each in found]
    clusters, totals, losses = map(sum_steps, zip(*columns, strict=True))
    steps = measure.tabulate(clusters, totals, losses / max(sum(most), 1))
    return Decided([each.closed for each in found], steps, measure.name)


class _Merged(NamedTuple):
    """A part after its merges. If they do not suffice, nothing remains of it but its least loss."""

    # ``steps`` has, at the start and after each merge, the number of clusters, and the losses of
    # quasi-identifiers and transactions.

    closed: Any
    steps: list[tuple[int, int, float]]
    least: float | None


def _start(cluster: str, rum: Rum, part: Part, rng: np.random.Generator) -> tuple[Any, float, int]:
    """Form the first clusters of a part, and anonymize their transactions."""
    block = part.open()
    groups, transactions = block.groups(cluster, rng), block.transactions
    merging = Merging(block.table, groups, transactions.known, rum)
    decided = [transactions.protect(rows) for rows in merging.rows]
    lost = sum(transactions.loss(*each) for each in decided)
    return part.keep(groups, transactions.join(decided)), lost, transactions.most


def allowed_losses(lost: Sequence[float], most: Sequence[int], bound: Fraction) -> list[Fraction]:
    """Return the bound of each part, given the losses of the transactions of its first clusters."""
    # Parts may lose the same share of their maxima, if they lose as much. What others leave is left to them.
    limit = bound * sum(most)
    if len(lost) == 1:
        return [limit]
    losses = [Fraction(each) for each in lost]
    left, capacity, level = limit, sum(most), Fraction(1)
    for place in sorted(range(len(lost)), key=lambda each: losses[each] / max(most[each], 1)):
        level = left / max(capacity, 1)
        if losses[place] > level * most[place]:
            break
        left, capacity = left - losses[place], capacity - most[place]
    else:  # all parts keep the bound: what is left may be lost by hiding emptied rows
        spare = left / max(sum(most), 1)
        return [own + spare * maximum for own, maximum in zip(losses, most, strict=True)]
    return [min(own, level * maximum) for own, maximum in zip(losses, most, strict=True)]


def _merge_until(merge: str, rum: Rum, part: Part, known: Any, allowed: Fraction) -> _Merged:
    """Merge the first clusters of a part until its transactions keep their bound."""
    # Hiding emptied rows may lose more, and needs all clusters. It is counted once the clusters alone keep
    # the bound, and after the last merge.
    block, (groups, kept_numbers) = part.open(), part.kept(known)
    transactions = block.transactions
    merging = Merging(block.table, groups, transactions.known, rum)
    places = [transactions.itemsets.places(rows) for rows in merging.rows]
    decided = [(own, kept_numbers[own]) for own in places]
    weighed = [_weigh(transactions, *each) for each in decided]
    least: float = inf
    steps: list[tuple[int, int, float]] = []
    while True:
        is_last = len(merging) <= 1
        lost = sum(each for each, _ in weighed)  # exact for NCP, as its losses are integers
        steps.append((len(merging), merging.total, lost))
        if lost <= allowed or is_last:
            numbers = block.hide_emptied(merging.groups, transactions.join(decided))
            lost = sum(transactions.loss(places, numbers[places]) for places, _ in decided)
            if lost <= allowed:
                return _Merged(part.close(block, merging.groups, numbers), steps, None)
        if is_last or not any(suppresses for _, suppresses in weighed):
            least = min(least, lost)
        if is_last:
            return _Merged(None, steps, least)
        merged = merge_next(merging, None, merge, transactions.compared)
        assert merged is not None  # two clusters were left
        kept, last = merged
        decided[kept] = transactions.protect(merging.rows_of(kept))
        weighed[kept] = _weigh(transactions, *decided[kept])
        del decided[last], weighed[last]
        count_steps()


def _weigh(transactions: TransactionSide, places: Numbers, numbers: Codes) -> tuple[float, bool]:
    """Return the loss of a cluster, and whether any of its occurrences is suppressed."""
    return transactions.loss(places, numbers), bool((numbers < 0).any())


def sum_steps(values: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the sums over all parts after each step: those of parts before it are complete."""
    first, last = (np.array([each[end] for each in values]) for end in (0, -1))
    before, after = np.cumsum(last) - last, np.cumsum(first[::-1])[::-1] - first
    sums = [each + own for each, own in zip(values, before + after, strict=True)]
    return np.concatenate([sums[0], *(each[1:] for each in sums[1:])])


TUM_BOUND = Algorithm(tum_bound, (KKm, KLm), recodes="both", parts=decide_tum_bound)
