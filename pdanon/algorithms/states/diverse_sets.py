"""Diversity: sets of known items are merged and suppressed until no sensitive item can be inferred."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees.breaches import Breaches
from pdanon.itemsets.codes import Codes, Mask, Numbers
from pdanon.itemsets.lists import rows_of, sums
from pdanon.itemsets.support import SupportIndex


def check_diverse(known: SupportIndex, secrets: SupportIndex, diversity: int, n_present: int) -> None:
    """Check that l can hold for all rows that are not missing, and for the rows with known items."""
    if not len(known.codes):
        hint = "leave out of sensitive the items that an attacker may know"
        raise ParameterError("all items are sensitive", where="sensitive", hint=hint)
    beside = secrets.within(known.lengths > 0)
    most_in = (int(rows.singles.max(initial=0)) for rows in (secrets, beside))
    shares = [*zip(most_in, (n_present, beside.n_rows), strict=True)]
    # The largest l that holds for both sets of rows.
    largest = min(n_rows // most for most, n_rows in shares if most)
    for (most, n_rows), what in zip(
        shares, ("rows that are not missing", "rows that contain other items"), strict=True
    ):
        if most * diversity > n_rows:
            raise InfeasibleError(
                "a sensitive item is in more than 1/l of the rows",
                where="sensitive",
                got=f"l={diversity}, an item in {most} of {n_rows} {what}",
                hint=f"the largest l that works is {largest}" if largest > 1 else "leave it out of the table",
            )


class DiverseSets:
    """Sets of the known items of some rows, and the sensitive items of the same rows."""

    # Merging sets and suppressing one lower no support, so k^m-anonymity is kept.

    def __init__(
        self,
        known: SupportIndex,
        secrets: SupportIndex,
        labels: Codes,  # k^m-anonymous set of each known item; -1 if suppressed or sensitive
        kinds: Numbers,  # block of each item; only sets of the same block are merged
        diversity: int,  # at most one in so many of the rows with some sets may have a sensitive item
        domain: int,  # loss of a suppressed occurrence: the number of items of the table
        spare: int | None = None,  # upper bound on the number of suppressed items
    ) -> None:
        self.labels, self._known, self._secrets = labels.copy(), known, secrets
        self._diversity, self._domain, self._spare = diversity, domain, spare
        kept = labels >= 0
        n_sets = int(labels.max(initial=-1)) + 1
        self._size = np.bincount(labels[kept], minlength=n_sets)
        self._held = sums(labels[kept], known.singles[kept], n_sets)
        self._kind = np.zeros(n_sets, np.int64)
        self._kind[labels[kept]] = kinds[kept]
        self._rows = _table(known.recode(labels, max(n_sets, 1)), n_sets)
        self._weights = known.weights
        # As integers, so that a matrix product counts the rows that sets share with a sensitive item.
        self._secret = secrets.lengths > 0
        incidence = _table(secrets.within(self._secret), secrets.n_items)[secrets.singles > 0]
        self._incidence = incidence.T * self._weights[self._secret, None]

    def protect(self, k: int, m: int | None) -> None:
        """Merge and suppress until up to m sets reveal each sensitive item of few enough of their rows."""
        while True:
            rows = self._known.recode(self.labels, max(len(self._size), 1))
            found = Breaches(rows, self._secrets, Fraction(1, self._diversity), m, k).breaches().sets()
            if not found:
                return
            now = np.arange(len(self._size))
            for sets in found:
                self._repair(np.unique([now[each] for each in sets if now[each] >= 0]), now)

    def _repair(self, image: Numbers, now: Numbers) -> None:
        """Apply the step with the lowest loss, if some sets together still reveal a sensitive item."""
        if not len(image):
            return
        matches: Mask = np.logical_and.reduce(self._rows[image], axis=0)
        if not self._reveals(matches[None, matches], matches)[0]:
            return
        one, other = self._choose(image)
        self.labels[self.labels == one] = now[now == one] = other
        if other >= 0:
            self._rows[other] |= self._rows[one]
            self._size[other] += self._size[one]
            self._held[other] += self._held[one]
        self._rows[one], self._size[one], self._held[one] = False, 0, 0

    def _choose(self, image: Numbers) -> tuple[int, int]:
        """Return the set of the next step, and the one to merge it with; -1 to suppress it."""
        steps = [step for one in image.tolist() for step in self._steps(one, image)]
        if self._spare is not None:
            fit = [step for step in steps if step[2] >= 0]
            steps = fit or [step for one in image.tolist() for step in self._merges(one, self._partners(one))]
        if steps:
            _, one, other = min(steps, key=lambda step: step[0])
            return one, other
        one = min(image.tolist(), key=lambda each: (self._held[each], self._size[each], each))
        assert self._spare is not None
        if self._size[one] > self._spare:
            raise InfeasibleError(
                "sets of a block reveal a sensitive item, and max_suppressed does not allow to suppress them",
                where="l",
                got=f"l={self._diversity}, {self._size[one]} items to suppress, {self._spare} allowed",
                hint="pass a larger max_suppressed",
            )
        self._spare -= int(self._size[one])
        return one, -1

    def _partners(self, one: int) -> Numbers:
        """Return the other sets of the block of a set."""
        fit = (self._size > 0) & (self._kind == self._kind[one])
        fit[one] = False
        return np.flatnonzero(fit)

    def _merges(self, one: int, others: Numbers) -> list[tuple[int, int, int]]:
        """Return the merge of a set with the lowest loss, if there are others: loss, set, other."""
        if not len(others):
            return []
        size, held = self._size[others], self._held[others]
        lost = self._price(size + self._size[one], held + self._held[one]) - self._price(size, held)
        best = int(np.argmin(lost))
        own = int(self._price(self._size[one], self._held[one]))
        return [(int(lost[best]) - own, one, int(others[best]))]

    def _steps(self, one: int, image: Numbers) -> list[tuple[int, int, int]]:
        """Return the steps for a set after which these sets reveal nothing: loss, set, set to merge with."""
        # The best merge comes first, if one is possible. Then comes suppression, with -1 instead of a set.
        beside: Mask = np.logical_and.reduce(self._rows[image[image != one]], axis=0)
        together = self._rows[:, beside] | self._rows[one, beside]
        fit = ~self._reveals(together, beside) & (self._size > 0) & (self._kind == self._kind[one])
        fit[image] = False
        own = int(self._price(self._size[one], self._held[one]))
        suppression = (self._domain * int(self._held[one]) - own, one, -1)
        return [*self._merges(one, np.flatnonzero(fit)), suppression]

    def _reveals(self, matches: Mask, of: Mask) -> Mask:
        """Return whether a sensitive item is in too many of the rows of each line."""
        secret, weights = self._secret[of], self._weights[of]
        shared = matches[:, secret].astype(np.int64) @ self._incidence[of[self._secret]]
        n_rows = matches.sum(axis=1) if (weights == 1).all() else matches.astype(np.int64) @ weights
        revealed: Mask = np.logical_or.reduce(shared * self._diversity > n_rows[:, None], axis=1)
        return revealed

    @staticmethod
    def _price(size: Numbers, held: Numbers) -> Numbers:
        """Return the NCP of sets, times the number of items of the table."""
        return np.where(size > 1, size * held, 0)


def _table(index: SupportIndex, n_items: int) -> Mask:
    """Return for each item which rows have it."""
    table = np.zeros((n_items, len(index.weights)), np.bool_)
    table[index.codes, rows_of(index.offsets)] = True
    return table
