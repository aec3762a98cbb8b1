"""Sets of known items that are merged, and at worst suppressed, until none of them gives a secret away."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pdanon.guarantees.breaches import breaches
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.support import SupportIndex

__all__ = ["DiverseSets"]


class DiverseSets:
    """Sets of the known items of some rows, beside the secrets of the same rows.

    To merge sets, or to suppress one, lowers no support: what has k rows keeps them. Where no set is left,
    nobody who knows items learns anything.

    Parameters
    ----------
    known, secrets : SupportIndex
        The same rows, none of which counts more than once.
    labels : ndarray of int32, shape (items,)
        The set of each known item, -1 if it is suppressed or a secret; k^m-anonymous.
    kinds : ndarray of int64, shape (items,)
        The block of each item; those of a set have the same one, and sets of different ones do not merge.
    diversity : int
        Of the rows that hold some sets, at most one in so many may hold a secret.
    domain : int
        What a suppressed occurrence loses: the number of items of the table.

    Attributes
    ----------
    labels : ndarray of int32
        The set of each item now.

    Notes
    -----
    Memory: a byte for each set and row.
    """

    def __init__(
        self,
        known: SupportIndex,
        secrets: SupportIndex,
        labels: Codes,
        kinds: NDArray[np.int64],
        diversity: int,
        domain: int,
    ) -> None:
        self.labels, self._known, self._secrets = labels.copy(), known, secrets
        self._diversity, self._domain = diversity, domain
        kept = labels >= 0
        n_sets = int(labels.max(initial=-1)) + 1
        self._size = np.bincount(labels[kept], minlength=n_sets)
        self._held = np.zeros(n_sets, np.int64)
        np.add.at(self._held, labels[kept], known.singles[kept])
        self._kind = np.zeros(n_sets, np.int64)
        self._kind[labels[kept]] = kinds[kept]
        self._rows = _table(known.recoded(labels, max(n_sets, 1)), n_sets)
        told = secrets.singles > 0
        self._told = _table(secrets, secrets.n_items)[told].T.astype(np.int32)

    def protect(self, k: int, m: int | None) -> None:
        """Merge and suppress until of the rows that hold up to m sets few enough hold each secret."""
        asked = {"share": Fraction(1, self._diversity), "m": m, "k": k}
        while True:
            rows = self._known.recoded(self.labels, max(len(self._size), 1))
            found = breaches(rows, self._secrets, **asked).sets()  # type: ignore[arg-type]
            if not found:
                return
            now = np.arange(len(self._size))
            for sets in found:
                self._mend(np.unique([now[each] for each in sets if now[each] >= 0]), now)

    def _mend(self, image: NDArray[np.int64], now: NDArray[np.int64]) -> None:
        """Make one step, if some sets together still give a secret away: that which loses least."""
        if not len(image) or not self._gives_away(np.logical_and.reduce(self._rows[image], keepdims=True))[0]:
            return
        steps = [step for one in image.tolist() for step in self._steps(one, image)]
        _, one, other = min(steps, key=lambda step: step[0])
        self.labels[self.labels == one] = now[now == one] = other
        if other >= 0:
            self._rows[other] |= self._rows[one]
            self._size[other] += self._size[one]
            self._held[other] += self._held[one]
        self._rows[one], self._size[one], self._held[one] = False, 0, 0

    def _steps(self, one: int, image: NDArray[np.int64]) -> list[tuple[int, int, int]]:
        """What can become of a set, so that these give nothing away: the loss, the set, and what it joins.

        It joins the set with which least is lost, if there is any that will do, or -1: it is suppressed.
        """
        own = int(self._price(self._size[one], self._held[one]))
        steps = [(self._domain * int(self._held[one]) - own, one, -1)]
        beside = self._rows[image[image != one]].all(axis=0)
        together = self._rows[:, beside] | self._rows[one, beside]
        fit = ~self._gives_away(together, beside) & (self._size > 0) & (self._kind == self._kind[one])
        fit[image] = False
        others = np.flatnonzero(fit)
        if len(others):
            size, held = self._size[others], self._held[others]
            lost = self._price(size + self._size[one], held + self._held[one]) - self._price(size, held)
            best = int(np.argmin(lost))
            steps.insert(0, (int(lost[best]) - own, one, int(others[best])))
        return steps

    def _gives_away(
        self, matches: NDArray[np.bool_], of: NDArray[np.bool_] | slice = slice(None)
    ) -> NDArray[np.bool_]:
        """Whether a secret is in too many of the rows of each line."""
        shared = matches.astype(np.int32) @ self._told[of]
        return (shared.astype(np.int64) * self._diversity > matches.sum(axis=1)[:, None]).any(axis=1)

    @staticmethod
    def _price(size: NDArray[np.int64], held: NDArray[np.int64]) -> NDArray[np.int64]:
        """NCP of sets, times the number of items of the table."""
        return np.where(size > 1, size * held, 0)


def _table(index: SupportIndex, n_items: int) -> NDArray[np.bool_]:
    """Which rows hold each item."""
    table = np.zeros((n_items, len(index.weights)), np.bool_)
    table[index.codes, np.repeat(np.arange(len(index.weights)), np.diff(index.offsets))] = True
    return table
