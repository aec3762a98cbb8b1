"""The refinement attack: linear programs rule out rows of a release, given counts of the original.

An attacker knows what each label stands for, and may know how many rows hold each item, and each pair.
Whether a row held an item is an unknown between 0 and 1. What no solution allows, no original has.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, identity, vstack


class State(NamedTuple):
    """What is known of each row and item: rows that surely hold it, and rows that may."""

    certain: np.ndarray
    possible: np.ndarray


class Knowledge(NamedTuple):
    """Labels of several items with their rows, and counts of the original, if they are known."""

    rows: np.ndarray
    members: np.ndarray  # whether a label has an item
    counts: np.ndarray | None = None
    pairs: np.ndarray | None = None


def read(
    released: Sequence[Collection[Hashable]],
    members: Mapping[Hashable, Collection[int]],
    n_items: int,
    deleted: bool = False,
) -> tuple[State, Knowledge]:
    """Return what the labels alone tell; with ``deleted``, every row may have lost any item."""
    certain = np.zeros((len(released), n_items), bool)
    possible = np.full_like(certain, deleted)
    groups = []
    for row, labels in enumerate(released):
        for label in labels:
            codes = [*members[label]]
            possible[row, codes] = True
            if len(codes) == 1:
                certain[row, codes] = True
            else:
                groups.append((row, codes))
    inside = np.zeros((len(groups), n_items), bool)
    for number, (_, codes) in enumerate(groups):
        inside[number, codes] = True
    return State(certain, possible), Knowledge(np.array([row for row, _ in groups], int), inside)


def counted(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of rows with each item, and with each pair."""
    pairs = matrix.T.astype(np.float32) @ matrix.astype(np.float32)
    return matrix.sum(axis=0), pairs.astype(np.int64)


def close(state: State, known: Knowledge) -> State | None:
    """Draw the conclusions from counts that no more or all possible rows reach; None if they contradict."""
    certain, possible = (each.copy() for each in state)
    while True:
        before = certain.sum(), possible.sum()
        left = (known.members & possible[known.rows]).sum(axis=1)
        if not left.all():
            return None
        only = left == 1
        np.logical_or.at(certain, known.rows[only], (known.members & possible[known.rows])[only])
        if known.counts is not None:
            least, most = certain.sum(axis=0), possible.sum(axis=0)
            if (known.counts < least).any() or (known.counts > most).any():
                return None
            possible &= certain | (known.counts > least)
            certain |= possible & (known.counts == most)
        if known.pairs is not None:
            least, most = counted(certain)[1], counted(possible)[1]
            if (known.pairs < least).any() or (known.pairs > most).any():
                return None
            full, over = (
                (each & ~np.eye(len(least), dtype=bool)).astype(np.float32)
                for each in (known.pairs == least, (known.pairs == most) & (known.pairs > least))
            )
            possible &= certain | (certain @ full == 0)
            certain |= possible & (possible @ over > 0)
        if before == (certain.sum(), possible.sum()):
            return State(certain, possible)


class Program:
    """The linear constraints on the cells that are possible, and not certain: ``matrix @ x <= limits``."""

    def __init__(self, state: State, known: Knowledge) -> None:
        self.state = state
        self.rows, self.items = np.nonzero(state.possible & ~state.certain)
        self.n = len(self.rows)
        cell = np.full(state.certain.shape, -1)
        cell[self.rows, self.items] = np.arange(self.n)
        parts = [self._labels(cell, known)]
        if known.counts is not None:
            left = known.counts - state.certain.sum(axis=0)
            counts = coo_array((np.ones(self.n), (self.items, np.arange(self.n))), (len(left), self.n))
            parts += [(counts, left), (-counts, -left)]
        if known.pairs is not None:
            parts += self._pairs(cell, known.pairs - counted(state.certain)[1])
        self.matrix = csr_array(vstack([matrix for matrix, _ in parts]))
        self.limits = np.concatenate([limits for _, limits in parts]).astype(float)

    def _labels(self, cell: np.ndarray, known: Knowledge) -> tuple[coo_array, np.ndarray]:
        """A label stands for at least one item."""
        is_open = ~(known.members & self.state.certain[known.rows]).any(axis=1)
        cells = np.where(known.members[is_open], cell[known.rows[is_open]], -1)
        label, place = np.nonzero(cells >= 0)
        ones = -np.ones(len(label))
        return coo_array((ones, (label, cells[label, place])), (len(cells), self.n)), -np.ones(len(cells))

    def _pairs(self, cell: np.ndarray, left: np.ndarray) -> list[tuple[csr_array, np.ndarray]]:
        """Rows with a certain item of a pair hold as many others as are left, less those with both open."""
        n_items = len(left)
        sure, item = np.nonzero(self.state.certain[self.rows])
        own = self.items[sure]
        one, other = np.minimum(own, item), np.maximum(own, item)
        shape = (n_items * n_items, self.n)
        held = csr_array((np.ones(len(sure)), (one * n_items + other, sure)), shape)
        is_open = cell[self.rows] >= 0
        is_open[np.arange(self.n), self.items] = False
        both, item = np.nonzero(is_open)
        own = self.items[both]
        ones = np.ones(len(both))
        among = csr_array((ones, (own * n_items + item, both)), shape)  # by the item whose cells are counted
        flat = left.ravel()
        mirror = np.arange(n_items * n_items).reshape(n_items, n_items).T.ravel()
        upper = np.flatnonzero(np.diff(held.indptr) > flat)
        everywhere = held + held[mirror]
        lower = np.flatnonzero((np.diff((everywhere + among).indptr) > 0) & (flat > 0))
        apart = (own < item) & (flat[own * n_items + item] == 0)
        places = np.arange(apart.sum())
        cells = np.concatenate((both[apart], cell[self.rows[both[apart]], item[apart]]))
        never = coo_array((np.ones(len(cells)), (np.tile(places, 2), cells)), (len(places), self.n))
        return [
            (held[upper], flat[upper]),
            (-(everywhere + among)[lower], -flat[lower]),
            (never, np.ones(len(places))),
        ]

    def is_feasible(self) -> bool:
        """Return whether the program has a solution."""
        if not self.n:
            return bool((self.limits >= 0).all())
        found = linprog(np.zeros(self.n), self.matrix, self.limits, bounds=(0, 1), method="highs")
        return bool(found.status != 2)

    def tighten(self) -> State:
        """Return the cells that are 0 and 1 in all solutions, by one program.

        Solutions are scaled by a factor, so that each cell that can be above 0 or below 1 can be so by 1.
        """
        if not self.n:
            return self.state
        n, one = self.n, identity(self.n)
        column = csr_array(np.ones((n, 1)))
        limits = csr_array(-self.limits[:, None])
        matrix = vstack(
            [
                hstack([self.matrix, limits, csr_array((len(self.limits), 2 * n))]),
                hstack([one, -column, csr_array((n, n)), one]),
                hstack([-one, csr_array((n, 1)), one, csr_array((n, n))]),
            ]
        )
        cost = np.concatenate((np.zeros(n + 1), -np.ones(2 * n)))
        bounds = [(0, None)] * n + [(1, None)] + [(0, 1)] * 2 * n
        found = linprog(cost, csr_array(matrix), np.zeros(matrix.shape[0]), bounds=bounds, method="highs")
        if found.status:
            return self.state
        above, below = found.x[n + 1 :].reshape(2, n) > 0.5
        certain, possible = (each.copy() for each in self.state)
        possible[self.rows, self.items] = above
        certain[self.rows, self.items] = ~below
        return State(certain, possible)

    def nearest(self, prior: np.ndarray) -> np.ndarray:
        """Return the solution that differs least from given shares, by rows and items."""
        shares = self.state.certain.astype(float)
        if self.n:
            own, one = prior[self.rows, self.items], identity(self.n)
            matrix = vstack(
                [
                    hstack([self.matrix, csr_array(self.matrix.shape)]),
                    hstack([one, -one]),
                    hstack([-one, -one]),
                ]
            )
            limits = np.concatenate((self.limits, own, -own))
            cost = np.repeat((0.0, 1.0), self.n)
            bounds = [(0, 1)] * self.n + [(0, None)] * self.n
            found = linprog(cost, csr_array(matrix), limits, bounds=bounds, method="highs")
            shares[self.rows, self.items] = own if found.status else found.x[: self.n]
        return shares


def is_possible(state: State, known: Knowledge, row: int, items: Collection[int]) -> bool:
    """Return whether a row may hold all given items: no conclusion and no program rules it out."""
    if not state.possible[row, [*items]].all():
        return False
    certain = state.certain.copy()
    certain[row, [*items]] = True
    closed = close(State(certain, state.possible), known)
    return closed is not None and Program(closed, known).is_feasible()
