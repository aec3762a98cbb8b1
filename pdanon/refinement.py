"""Refinement: how much of the loss of a set-based release is not necessary.

The algorithms that merge items into sets never part what they have merged. Here items move between the sets
of a release, one by one, as long as that loses less and the guarantee stays.
"""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.clusters import Clusters
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import KmAnonymity
from pdanon.itemsets import Itemsets, is_list_column
from pdanon.parameters import check_known
from pdanon.recoding import Recoding, global_mapping, release
from pdanon.result import Anonymized, Guarantee
from pdanon.support import SupportIndex
from pdanon.utility import check_release, item_blocks

__all__ = ["Refinement", "check_refinable", "refine"]

_BASES = {"ncp": 0, "lm": 1}
_FIRST = 8  # items of the first stage
_ENOUGH = 10_000  # a stage ends when a round gains less than this part of the loss
_KINDS = "the results of pcta, coat and upcta can be refined, without constraints="


def refine(
    original: pd.DataFrame,
    result: Anonymized,
    *,
    loss: str = "ncp",
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Anonymized:
    """Move items between the sets of a release as long as it loses less and keeps its guarantee.

    Parameters
    ----------
    original : pandas.DataFrame
        What the release was made from. It is not modified.
    result : Anonymized
        A result of `pcta`, `coat` or `upcta` with the guarantee ``KmAnonymity``.
    loss : {"ncp", "lm"}
        What is to fall: each occurrence costs the size of its set, over the number of items; or the size
        less one, over the number of items less one. A single item costs 0, a suppressed one 1.
    time_limit : float, optional
        Seconds, above 0. When no move is left, sets are merged at random and items move again, until the
        time is over; the best is kept. Without a limit this is not done.
    random_state : int, Generator or None
        Seed, or source of randomness, of these merges.

    Returns
    -------
    Anonymized
        A global recoding with the same guarantee and never more of this loss. ``trace`` has the loss over
        time: columns ``seconds`` and ``loss``.

    Raises
    ------
    ParameterError
        If the result is of another kind, of another frame, or without its guarantee, or a parameter is out
        of range.

    Notes
    -----
    Guarantee: that of the result. With m up to 2, each move leaves every set and every pair of sets with a
    support of 0 or at least k. With a larger m, the sets that hold a rare larger itemset are merged in the
    end, as `pcta` does, and what came in is returned if that loses more. The release is audited.

    A move takes an item to another set, or to one of its own; a suppressed item may come back. Sets stay
    within the blocks of ``utility``. Items take turns, the most frequent first (then: the last in item order
    first), each to where it gains most (then: the set with the lowest number, the new one last): first
    the 8 most frequent until a round gains no more than 1/10,000 of the loss, then half
    as many more, and so on; all items until none moves. In the end no single move is both
    safe and a gain. That is a local optimum, not the least loss.

    With a time limit the outcome depends on the speed of the machine. The limit is looked at between rounds
    over the items.

    Cost: items squared times 4 bytes of memory; each round takes time linear in the sum of the squared
    lengths of the distinct rows, and in the items times the sets.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"], ["salt"], ["milk"], ["milk"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.pcta(k=2, m=2)
    >>> refined = df.txanon.refine(result)
    >>> bool(refined.loss["NCP"] <= result.loss["NCP"])
    True
    """
    started = time.perf_counter()
    base = _BASES[check_known(loss, _BASES, "loss", where="loss")]
    limit = _check_limit(time_limit)
    position = _recoded_column(original, result)
    itemsets = Itemsets.from_series(original.iloc[:, position])
    labels = _clusters_of(result, itemsets)
    utility = result.parameters.get("utility")
    search = Refinement(
        SupportIndex.of(itemsets), labels, result.guarantee, item_blocks(utility, itemsets), base, started
    )
    search.descend(limit)
    if limit is not None:
        search.restart(limit, np.random.default_rng(random_state))
    recoding = Recoding.of_clusters(search.best.astype(np.int32), itemsets)
    asked = {"refine": True, "loss": loss, "time_limit": time_limit, "random_state": random_state}
    refined = release(
        original, position, itemsets, recoding, result.guarantee, {**result.parameters, **asked}
    )
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
        while not self._over(limit):
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
        while not self._over(limit):
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

    def _over(self, limit: float | None) -> bool:
        return limit is not None and time.perf_counter() - self._started >= limit

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
            "a release with this guarantee cannot be refined", where="result", got=got, hint=_KINDS
        )
    return guarantee


def _check_limit(limit: Any) -> float | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (Real, np.number)) or not float(limit) > 0:
        got = str(limit) if isinstance(limit, (int, float)) else type(limit).__name__
        raise ParameterError("time_limit must be a number of seconds above 0", where="time_limit", got=got)
    return float(limit)


def _recoded_column(original: pd.DataFrame, result: Any) -> int:
    """The position of the column that was recoded, in a result that can be refined."""
    if not isinstance(result, Anonymized):
        hint = "give what pcta, coat or upcta returned"
        raise ParameterError("there is no result", where="result", got=type(result).__name__, hint=hint)
    if result.groups is not None or result.classes is not None:
        raise ParameterError("a local recoding cannot be refined", where="result", hint=_KINDS)
    if "hierarchy" in result.parameters:
        raise ParameterError("a hierarchical recoding cannot be refined", where="result", hint=_KINDS)
    check_refinable(result.guarantee)
    if not result.holds:
        hint = "it is the partial result of an algorithm that found no release"
        raise ParameterError("the result does not have its guarantee", where="result", hint=hint)
    columns = [i for i, label in enumerate(original.columns) if label not in result.passed_through]
    if (
        len(original) != len(result.frame)
        or len(columns) != 1
        or [*original.columns] != [*result.frame.columns]
        or not is_list_column(original.iloc[:, columns[0]])
    ):
        raise _other_frame(f"{len(original)} rows, the result has {len(result.frame)}")
    return columns[0]


def _clusters_of(result: Anonymized, itemsets: Itemsets) -> NDArray[np.int64]:
    """The cluster of each item, -1 if it is suppressed, read from the mapping table."""
    items, texts = global_mapping(result.mapping)
    supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)
    if items.n_items != itemsets.n_items:
        raise _other_frame(f"{itemsets.n_items} items, the result has {items.n_items}")
    if (items.lookup(itemsets.vocabulary) < 0).any():
        raise _other_frame("other items")
    labels = np.empty(itemsets.n_items, np.int64)
    labels[items.codes], _ = pd.factorize(texts.to_numpy(zero_copy_only=False))
    counted = np.empty_like(supports)
    counted[items.codes] = result.mapping["support"].to_numpy()
    if (counted != supports).any():
        raise _other_frame(f"{int((counted != supports).sum())} items with other supports")
    sets = Recoding.of_clusters(labels.astype(np.int32), itemsets)
    targets = sets.targets[items.codes]
    became = sets.labels.take(pa.array(targets, mask=targets < 0))
    if not became.equals(texts.cast(became.type)):
        raise ParameterError("the release is not one of sets", where="result", hint=_KINDS)
    return labels


def _other_frame(got: str) -> ParameterError:
    hint = "give the frame that the result was made from"
    return ParameterError("the result is not of this frame", where="original", got=got, hint=hint)
