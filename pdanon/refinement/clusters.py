"""Items move between the sets of a release.

The algorithms that merge items into sets never part what they have merged. Here items move between the sets
of a release, one by one, as long as that loses less and the guarantee stays.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.clusters import Clusters
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import KmAnonymity
from pdanon.itemsets import Itemsets
from pdanon.original import labels_of
from pdanon.progress import is_over
from pdanon.recoding import Recoding, release
from pdanon.result import Anonymized, Guarantee
from pdanon.support import SupportIndex
from pdanon.utility import check_release, item_blocks

__all__ = ["KINDS", "LOSSES", "Refinement", "check_refinable", "refined_sets"]

LOSSES = {"ncp": 0, "lm": 1}
_FIRST = 8  # items of the first stage
_ENOUGH = 10_000  # a stage ends when a round gains less than this part of the loss
KINDS = "the results of pcta, coat and upcta can be refined, without constraints="


def refined_sets(
    original: pd.DataFrame,
    position: int,
    result: Anonymized,
    asked: Mapping[str, Any],
    limit: float | None,
    started: float,
) -> Anonymized:
    """Refine a global recoding to sets; parameters as those of `pdanon.refine`, checked.

    Parameters
    ----------
    original : pandas.DataFrame
        What the release was made from.
    position : int
        Which of its columns was recoded.
    result : Anonymized
        A safe release.
    asked : mapping
        ``loss`` and ``random_state``, and what else is for the record.
    limit : float or None
        Seconds.
    started : float
        Since when they are counted; a value of ``time.perf_counter()``.
    """
    itemsets = Itemsets.from_series(original.iloc[:, position])
    labels = _clusters_of(result, itemsets)
    utility = result.parameters.get("utility")
    blocks = item_blocks(utility, itemsets)
    index, base = SupportIndex.of(itemsets), LOSSES[asked["loss"]]
    search = Refinement(index, labels, result.guarantee, blocks, base, started)
    search.descend(limit)
    if limit is not None:
        search.restart(limit, np.random.default_rng(asked["random_state"]))
    recoding = Recoding.of_clusters(search.best.astype(np.int32), itemsets)
    parameters = {**result.parameters, **asked}
    refined = release(original, position, itemsets, recoding, result.guarantee, parameters)
    check_release(refined.mapping, utility, int((labels < 0).sum()))
    return replace(refined, trace=search.trace)


class Refinement:
    """Clusters of items that single items leave for others, and the best that were found so far.

    Parameters
    ----------
    index : SupportIndex
        Rows and supports of the items.
    labels : ndarray of int, shape (items,)
        Cluster of each item, -1 if it is suppressed; they have the guarantee.
    guarantee : KmAnonymity
        What is to be kept.
    blocks : ndarray of int64, shape (items,), optional
        Only items of one block share a cluster.
    base : int
        0 for NCP, 1 for LM.
    started : float, optional
        Since when seconds are counted; a value of ``time.perf_counter()``.

    Raises
    ------
    ParameterError
        If the guarantee cannot be refined, or the clusters do not have it.
    """

    def __init__(
        self,
        index: SupportIndex,
        labels: NDArray[Any],
        guarantee: Guarantee,
        blocks: NDArray[np.int64] | None = None,
        base: int = 0,
        started: float | None = None,
    ) -> None:
        from pdanon._kernels import refine as kernels

        self._guarantee = check_refinable(guarantee)
        self._started = time.perf_counter() if started is None else started
        self._index = index = index.distinct()
        self._base = base
        n = index.n_items
        kept = np.flatnonzero(labels >= 0)
        found, numbers = np.unique(labels[kept], return_inverse=True)
        cluster = np.full(n, -1)
        cluster[kept] = numbers
        held = np.bincount(numbers, index.singles[kept], minlength=n).astype(np.int64)
        self._blocks = np.zeros(n, np.int64) if blocks is None else blocks
        home = np.zeros(n, np.int64)
        home[numbers] = self._blocks[kept]
        self._state = (
            cluster,
            np.bincount(numbers, minlength=n),
            held,
            np.zeros(n, np.int64),
            np.zeros((n, n), np.int32),
            index.singles,
            self._blocks,
            home,
            np.array([len(found)]),
        )
        self._rows = (index.codes, index.offsets, index.weights, *index.transpose[:2])
        beside, alone, touched, stamp, near = np.zeros((5, n), np.int64)
        self._space = beside, alone, touched, stamp, near, np.zeros(1, np.int64)
        kernels.co_supports(self._state, self._rows, self._space)
        self._check_start()
        self._order = np.argsort(index.singles, kind="stable")[::-1].copy()
        self.best = cluster.copy()
        self._least = self._cost(cluster)
        self._curve = [(time.perf_counter() - self._started, self._least)]

    @property
    def trace(self) -> pd.DataFrame:
        """The least loss over time: columns ``seconds`` and ``loss``."""
        most = (self._index.n_items - self._base) * int(self._index.singles.sum())
        curve = [(seconds, cost / most if most else 0.0) for seconds, cost in self._curve]
        return pd.DataFrame(curve, columns=["seconds", "loss"], dtype="float64")

    def descend(self, limit: float | None = None) -> None:
        """Move items until no move gains, or the limit in seconds is reached; keep the best."""
        from pdanon._kernels import refine as kernels

        k, m, n = self._guarantee.k, self._guarantee.m, self._index.n_items
        asked = k, m != 1, self._base
        stage, cost = min(_FIRST, n), self._cost(self._state[0])
        while not is_over(self._started, limit):
            gained = kernels.descend(*asked, self._order[:stage], self._state, self._rows, self._space)
            if gained and m in (1, 2):
                self._keep(self._state[0])
            if not gained and stage == n:
                break
            cost -= gained
            if gained * _ENOUGH <= cost:
                stage = min(stage + (stage + 1) // 2, n)
        if m not in (1, 2):
            self._keep(self._repaired())

    def restart(self, limit: float, rng: np.random.Generator) -> None:
        """Merge clusters of the best at random and descend again, until the limit in seconds is reached."""
        while not is_over(self._started, limit):
            labels = self.best.copy()
            n_clusters = len(np.unique(labels[labels >= 0]))
            if n_clusters < 2:
                return
            for _ in range(rng.integers(1, 2 + n_clusters // 4)):
                one, other = rng.choice(np.flatnonzero(labels >= 0), 2)
                if self._blocks[one] == self._blocks[other]:
                    labels[labels == labels[other]] = labels[one]
            self._move(labels)
            self.descend(limit)

    def _keep(self, labels: NDArray[np.int64]) -> None:
        cost = self._cost(labels)
        if cost < self._least:
            self._least, self.best = cost, labels.copy()
            self._curve.append((time.perf_counter() - self._started, cost))

    def _cost(self, labels: NDArray[np.int64]) -> int:
        n, singles, kept = self._index.n_items, self._index.singles, labels >= 0
        sizes = np.bincount(labels[kept], minlength=n)[labels[kept]]
        each = np.full(n, n - self._base)
        each[kept] = np.where(sizes > 1, sizes - self._base, 0)
        return int(each @ singles)

    def _move(self, labels: NDArray[np.int64]) -> None:
        """Move every item to where the labels say."""
        from pdanon._kernels import refine as kernels

        for item in np.flatnonzero(labels != self._state[0]).tolist():
            kernels.move_to(item, labels[item], self._state, self._rows, self._space)

    def _repaired(self) -> NDArray[np.int64]:
        """The clusters after the merges that make larger itemsets safe, or the best, if there are none."""
        clusters = Clusters(self._index, None, self._blocks)
        labels = self._state[0]
        first = {int(label): int(item) for item, label in list(enumerate(labels))[::-1]}
        for item, label in enumerate(labels.tolist()):
            if label < 0:
                clusters.drop(item)
            elif first[label] != item:
                clusters.merge(first[label], item)
        try:
            clusters.satisfy_km(self._guarantee.k, self._guarantee.m, report=lambda steps: None)
        except InfeasibleError:
            return self.best
        return clusters.labels.astype(np.int64)

    def _check_start(self) -> None:
        k, support, together = self._guarantee.k, self._state[3], self._state[4]
        rare = bool(((support > 0) & (support < k)).any())
        if self._guarantee.m != 1:
            rare |= bool(((together > 0) & (together < k)).any())
        if rare:
            raise ParameterError(
                "the clusters of the result are not safe in this frame",
                where="result",
                hint="give the frame that the result was made from",
            )


def check_refinable(guarantee: Guarantee) -> KmAnonymity:
    """Check that a guarantee is one that refinement can keep."""
    if not isinstance(guarantee, KmAnonymity):
        got = type(guarantee).__name__
        raise ParameterError(
            "a release with this guarantee cannot be refined", where="result", got=got, hint=KINDS
        )
    return guarantee


def _clusters_of(result: Anonymized, itemsets: Itemsets) -> NDArray[np.int64]:
    """The cluster of each item, -1 if it is suppressed, read from the mapping table."""
    texts = labels_of(result, itemsets)
    labels, _ = pd.factorize(texts.to_numpy(zero_copy_only=False))
    sets = Recoding.of_clusters(labels.astype(np.int32), itemsets)
    became = sets.labels.take(pa.array(sets.targets, mask=sets.targets < 0))
    if not became.equals(texts.cast(became.type)):
        raise ParameterError("the release is not one of sets", where="result", hint=KINDS)
    return labels
