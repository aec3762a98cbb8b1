"""What sets of items cost: the loss that a search lowers, as an exact integer."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.weights import item_weights
from pdanon.itemsets.codes import Itemsets

__all__ = ["LOSSES", "Price", "sums"]

LOSSES = {"ncp": 0, "lm": 1, "ul": 2}


@dataclass(frozen=True, eq=False, slots=True)
class Price:
    """A loss of sets of items.

    Parameters
    ----------
    loss : int
        Its number, in ``LOSSES``.
    worth : ndarray of int64, shape (items,)
        What each item counts: its support, times its weight.
    singles : ndarray of int64, shape (items,)
        Supports of the items.
    n_rows : int
        Number of transactions.
    """

    loss: int
    worth: NDArray[np.int64]
    singles: NDArray[np.int64]
    n_rows: int

    @classmethod
    def of(cls, loss: Any, itemsets: Itemsets, singles: NDArray[np.int64], n_rows: int) -> Price:
        """What is asked by the parameter ``loss`` of `pdanon.refine`."""
        if isinstance(loss, str):
            return cls(LOSSES[loss], singles, singles, n_rows)
        weights = item_weights(loss, itemsets)
        return cls(LOSSES["ncp"], singles if weights is None else singles * weights, singles, n_rows)

    def cost(
        self,
        size: NDArray[np.int64],
        held: NDArray[np.int64],
        support: NDArray[np.int64],
        gone: NDArray[np.bool_],
    ) -> int:
        """The loss as an exact integer.

        Parameters
        ----------
        size, held, support : ndarray of int64, shape (sets,)
            The number of items of each set, what these are worth, and how many transactions hold one.
        gone : ndarray of bool, shape (items,)
            Which items are suppressed.
        """
        n = len(self.singles)
        if self.loss == LOSSES["ul"]:
            sizes, where = np.unique(size, return_inverse=True)
            supports = sums(where, support, len(sizes))
            pairs = [
                (n, int(self.singles[gone].sum())),
                *zip(sizes.tolist(), supports.tolist(), strict=True),
            ]
            return sum(((1 << size) - 1) * support for size, support in pairs)
        each = np.where(size > 1, size - self.loss, 0)
        return int(each @ held) + (n - self.loss) * int(self.worth[gone].sum())

    def share(self, cost: int) -> float:
        """The loss as it is told, of the integer."""
        n = len(self.singles)
        if self.loss == LOSSES["ul"]:
            return log2(cost) - log2((1 << n) - 1) - log2(self.n_rows) if cost else -np.inf
        most = (n - self.loss) * int(self.worth.sum())
        return cost / most if most else 0.0


def sums(where: NDArray[Any], values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Sums of integers by number, exact."""
    total = np.zeros(n, np.int64)
    np.add.at(total, where, values)
    return total
