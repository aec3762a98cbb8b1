"""The items of a class of rows lose less: a class is a table of its own, and refined as one.

What is safe in each class is safe altogether, so no class needs to know of another.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.states.cuts_search import CutRefinement
from pdanon.algorithms.states.sets_search import Refinement
from pdanon.guarantees import KmAnonymity
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.support import SupportIndex

__all__ = ["ClassSearch", "held", "rows_of"]


def held(rows: Itemsets) -> tuple[Itemsets, Codes]:
    """Some rows with the items that they hold alone, and the codes that these have among all."""
    items, codes = np.unique(rows.codes, return_inverse=True)
    vocabulary = rows.vocabulary.take(pa.array(items))
    return replace(rows, codes=codes.astype(np.int32), vocabulary=vocabulary), items


def rows_of(index: SupportIndex, items: Codes) -> Itemsets:
    """Rows that are known by the codes of their items alone."""
    missing = np.zeros(len(index.weights), np.bool_)
    return Itemsets(index.codes, index.offsets, pa.array(items), missing, index.weights)


@dataclass(frozen=True, eq=False, slots=True)
class ClassSearch:
    """How the items of a class are refined.

    Parameters
    ----------
    guarantee : KmAnonymity
        What is to be kept in each class.
    cover : tuple of Hierarchy and ndarray, optional
        The hierarchy, and the leaf of each item of the table, where nodes are published.
    joint : bool
        Whether the root joins columns, so that what is there is suppressed.
    blocks : ndarray of int64, shape (items,), optional
        Only items of one block share a set.
    base : int
        The loss that is to fall: 0 for NCP, 1 for LM.
    """

    guarantee: KmAnonymity
    cover: tuple[Hierarchy, Codes] | None = None
    joint: bool = False
    blocks: NDArray[np.int64] | None = None
    base: int = 0

    def begin(
        self, rows: Itemsets, items: Codes, became: Codes, started: float | None = None
    ) -> Refinement | CutRefinement:
        """A search in a class, whose rows and items are those of `held`.

        Parameters
        ----------
        rows : Itemsets
            The rows.
        items : ndarray of int32
            Which items of the table they hold.
        became : ndarray of int32
            The node of each of these items, or a number of its set; -1 where it is suppressed.
        started : float, optional
            Since when seconds are counted; a value of ``time.perf_counter()``.
        """
        since = time.perf_counter() if started is None else started
        if self.cover is None:
            blocks = None if self.blocks is None else self.blocks[items]
            return Refinement(rows, became, self.guarantee, blocks, "lm" if self.base else "ncp", since)
        tree, leaves = self.cover
        index = SupportIndex.of(rows)
        one = np.zeros(len(index.weights), np.int32)
        return CutRefinement(index, one, tree, leaves[items], became[None], self.guarantee, self.base, since)

    def refined(self, rows: Itemsets, items: Codes, became: Codes) -> Codes:
        """What each item becomes when no single move gains; parameters as those of `begin`."""
        search = self.begin(rows, items, became)
        if isinstance(search, CutRefinement):
            search.lower()
        else:
            search.descend()
        found = search.best.reshape(-1).astype(np.int32)
        return np.where(found == 0, -1, found) if self.joint else found
