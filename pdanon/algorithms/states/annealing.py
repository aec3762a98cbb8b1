"""Annealing: a search for sets that may break the guarantee on its way, at a price."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

from numpy.typing import NDArray

from pdanon._kernels import constraint_annealing, counting, set_annealing, set_moves
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.support import ItemsetTable

SWEEPS = 40  # of an annealing without a time limit
_HOT, _COLD = 120.0, 10.0  # first and last temperature, where the mean weight of an occurrence is 1
_WARMER = 100  # the temperature doubles for each so many items that a changed occurrence costs
_PENALTY = 300.0  # first price of a row that is lacking, where that weight is 1
_LACKING = 0.7  # part of the sweeps in which the sets may be unsafe
_RISE, _FALL, _DROP = 1.1, 0.85, 0.7  # factors of the penalty
_PRESS = 1.25  # factor of the penalty in the last sweeps, while the sets are unsafe
_SLOTS = 2048  # sets that there is always room for
MOST_IN_CUBE = 640  # sets whose triples are all counted: 174 MB
MOST_SETS = 4096  # sets of a table that is annealed; there is room for twice as many: 270 MB for their pairs


@dataclass(frozen=True, eq=False, slots=True)
class Annealing:
    """Safe sets of items whose loss is to be lowered, with two or three known items, or with constraints.

    A set of more than one item costs ``(size + change) * held``: ``held`` is the sum of the worth of its
    items. If ``change`` is positive, it also costs ``change * sqrt(size * squares - held**2)``: ``squares``
    is the sum of the squares.

    Parameters
    ----------
    rows : counting.Rows
        The distinct transactions.
    k : int
        Supports of sets, of pairs and, with ``triples``, of triples of sets are 0 or at least k. With
        constraints, those of their images.
    triples : bool
        Whether three items may be known.
    singles, worth, blocks : ndarray of int64, shape (items,)
        Support, weight and block of each item. Only items of the same block share a set.
    change : float
        Parameter of the loss.
    constraints : ItemsetTable, optional
        The constraints. By default, all sets of up to two or three known items count.
    members : mapping
        For items that stand for several members: ``mass``, the number of members, and ``square``, the sum of
        their squared worth. They count as so many items of a set.
    """

    rows: counting.Rows
    k: int
    triples: bool
    singles: Numbers
    worth: Numbers
    blocks: Numbers
    change: float
    constraints: ItemsetTable | None = None
    members: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def anneal(
        self, labels: Numbers, sweeps: int, seed: int, spent: Callable[[], float]
    ) -> tuple[Numbers, Numbers, bool]:
        """Return safe sets that cost no more than the given ones, and the last sets.

        Parameters
        ----------
        labels : ndarray of int64, shape (items,)
            The set of each item, numbers from 0 without gaps; -1 if it is suppressed. They are safe.
        sweeps : int
            Number of sweeps. A sweep moves each item that is not suppressed once.
        seed : int
            Seed of the random moves.
        spent : callable
            Called after each sweep: the share of the time that is spent. 1 ends the search.

        Returns
        -------
        best, last : ndarray of int64, shape (items,)
            The set of each item. The last sets may be unsafe.
        bool
            Whether there was time for all sweeps.

        Notes
        -----
        The temperature falls from sweep to sweep. The penalty for a row that is lacking holds their number
        near a bound, which falls from one for each item to 0. So neither needs to be known for the data.
        Afterwards unsafe sets raise the penalty. If they are unsafe in the end, up to as many sweeps follow.
        If half of the time does not suffice, fewer sweeps go the same way in larger steps.
        """
        n = len(labels)
        clusters, sweep = self._begin(labels, _mix(seed))
        unit = float(self.worth.sum() / max(self.singles.sum(), 1)) * (1 + max(self.change, 0) / _WARMER)
        penalty, cooling = _PENALTY * unit, (_COLD / _HOT) ** (1 / max(sweeps - 1, 1))
        temperature = _HOT * unit
        done, number = 0.0 if spent() < 1 else inf, 0  # sweeps of the way that are done, and sweeps in fact
        while done < sweeps or (clusters.lack and done < 2 * sweeps):
            sweep(temperature, penalty)
            left = 1 - done / (_LACKING * sweeps)
            allowed = n * left**3 if left > 0 else 0.0
            if clusters.lack > allowed:
                factor = _RISE if left > 0 else _PRESS
            else:
                factor = _DROP if 2 * clusters.lack < allowed else _FALL
            number += 1
            step = max(1.0, 2 * sweeps * spent() - done)
            done += step
            # In larger steps the price of a row must rise as far, but may fall less.
            penalty *= factor ** min(step, SWEEPS) if factor > 1 else factor
            temperature = max(temperature * cooling**step, _COLD * unit)
        return clusters.best, clusters.state["label"], done == number

    def _begin(self, labels: Numbers, seed: int) -> tuple[Any, Callable[[float, float], None]]:
        """Return the sets with their supports, and a sweep for a temperature and a penalty."""
        n, n_sets = len(labels), int(labels.max(initial=-1)) + 1
        slots = min(n, MOST_IN_CUBE if self.triples else max(2 * n_sets, _SLOTS))
        options: dict[str, Any] = {
            "k": self.k,
            "label": labels,
            "slots": slots,
            "worth": self.worth,
            "block": self.blocks,
            "change": self.change,
            "seed": seed,
            **self.members,
        }
        sets: Any
        if self.constraints is not None:
            itemsets, bounds = self.constraints.codes, self.constraints.offsets
            sets = constraint_annealing.Annealing(rows=self.rows, itemsets=itemsets, bounds=bounds, **options)
            constraint_annealing.count(sets, self.rows)
            return sets, partial(constraint_annealing.sweep, clusters=sets, rows=self.rows)
        sets = set_annealing.Annealing(triples=self.triples, singles=self.singles, **options)
        space = set_moves.Space(n=n, slots=slots, largest=3 if self.triples else 2, words=0)
        set_annealing.count(sets, self.rows, space)
        return sets, partial(set_annealing.sweep, clusters=sets, rows=self.rows, space=space)


def _mix(seed: int) -> int:
    """Return a word that is not 0, with bits that differ for seeds next to one another."""
    return (seed * 0x9E3779B97F4A7C15 % 2**64) | 1
