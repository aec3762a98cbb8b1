"""Moles: the public itemsets that break coherence, and the items that are given up to meet them all."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees import Coherence
from pdanon.guarantees.private import PublicAndPrivate
from pdanon.itemsets.deadline import halt_flag
from pdanon.itemsets.parallel import transpose
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import MOST_ITEMSETS, ItemsetTable
from pdanon.itemsets.threads import search

__all__ = ["Moles"]


class Moles:
    """The minimal moles of some rows.

    Parameters
    ----------
    parts : PublicAndPrivate
        The transactions. The empty itemset is not a mole.
    guarantee : Coherence
        What makes a mole.

    Attributes
    ----------
    single : ndarray of bool
        Which items are a mole by themselves, by item number.
    larger : ItemsetTable
        The minimal moles of 2 to p items, in no order; supports are not counted.

    Notes
    -----
    Only private items that are in so many rows that k rows with them would be a breach are looked at. Rows
    that agree on these and on the public items left are counted once, with their number.
    """

    def __init__(self, parts: PublicAndPrivate, guarantee: Coherence) -> None:
        k, above, below = guarantee.k, guarantee.h.numerator, guarantee.h.denominator
        supports = parts.supports
        relevant = parts.is_private & (supports * below > above * k) & (above < below)
        public = np.flatnonzero(~parts.is_private & (supports >= k))
        public = public[np.argsort(supports[public], kind="stable")]  # rare prefixes have few rows
        peaks = _Numbered(parts, public, np.flatnonzero(relevant)).peaks()
        breaching = peaks * below > above * supports[public]
        self.single = ~parts.is_private
        self.single[public[~breaching]] = False
        rows = _Numbered(parts, public[~breaching], np.flatnonzero(relevant))
        self.larger = rows.minimal_moles(k, guarantee.p, above, below, peaks[~breaching])

    def eliminate(self, losses: NDArray[np.int64], criterion: str) -> NDArray[np.bool_]:
        """Choose items so that no mole is left.

        Parameters
        ----------
        losses : ndarray of int64
            Loss of each item, by item number.
        criterion : {"mm/il", "mm", "1/il"}
            What is chosen first.

        Returns
        -------
        ndarray of bool
            By item number; the items that are moles by themselves included.

        Raises
        ------
        ParameterError
            If losses times moles exceed 63 bits.
        """
        from pdanon._kernels import moles

        items, bounds = self.larger.codes, self.larger.offsets
        most = int(np.bincount(items).max(initial=0))
        if most * int(losses.max(initial=0)) >= 2**63:
            got = f"losses up to {losses.max():,} in the smallest unit, {most:,} moles of an item"
            hint = "give them in a larger unit, or as whole numbers"
            raise ParameterError("the losses cannot be compared exactly", where="loss", got=got, hint=hint)
        starts, holding, _ = transpose(items, bounds, len(self.single))
        by_moles, by_loss = criterion != "1/il", criterion != "mm"
        chosen = moles.eliminate(items, bounds, starts, holding, losses, by_moles, by_loss)
        suppressed = self.single.copy()
        suppressed[chosen] = True
        return suppressed


class _Numbered:
    """Rows of some public items, which have the first numbers, and of some private ones."""

    def __init__(
        self, parts: PublicAndPrivate, public: NDArray[np.int64], private: NDArray[np.int64]
    ) -> None:
        items = np.concatenate((public, private))
        numbers = np.full(len(parts.is_private), -1)
        numbers[items] = np.arange(len(items))
        self._index = parts.rows(numbers, len(items))
        self._public = public

    def peaks(self) -> NDArray[np.int64]:
        """Rows of each public item that its most frequent private item shares."""
        from pdanon._kernels import moles

        hidden = np.arange(self._index.n_items) >= len(self._public)
        index = self._index.within(np.diff(self._index.holding_only(hidden).offsets) > 0)
        starts, tids, _ = index.transpose
        rows = moles.Rows(index.codes, index.offsets, self._ends(index), index.weights)
        return moles.private_peaks(rows, starts[: len(self._public) + 1], tids, index.n_items)

    def minimal_moles(self, k: int, p: int, above: int, below: int, peaks: NDArray[np.int64]) -> ItemsetTable:
        """Minimal moles of 2 to p items; no item is one by itself."""
        from pdanon._kernels import moles

        index = self._index = self._index.distinct()  # the other rows are let go
        ends = self._ends(index)
        longest = int((ends - index.offsets[:-1]).max(initial=0))
        codes, offsets = np.empty(0, np.int32), np.zeros(1, np.int64)
        if min(p, longest) >= 2:
            supports = index.singles[: len(self._public)].copy()
            starts, tids, places = index.transpose
            given = (starts[: len(self._public) + 1], tids, places, supports, peaks, index.n_items)
            rows = moles.Rows(index.codes, index.offsets, ends, index.weights)
            asked = k, min(p, longest), above, below, rows, *given, MOST_ITEMSETS

            def listed() -> tuple[NDArray[np.int32], NDArray[np.int64], bool]:
                found: tuple[NDArray[np.int32], NDArray[np.int64], bool]
                found = moles.minimal_moles(*(*asked, halt_flag()))
                return found

            ((codes, offsets, is_done),) = search(listed, [()], index.at_most(p), limited=True)
            if not is_done:
                _refuse(p, longest)
        return ItemsetTable(
            self._public[codes].astype(np.int32), offsets, np.zeros(len(offsets) - 1, np.int64)
        )

    def _ends(self, index: SupportIndex) -> NDArray[np.int64]:
        """Where the public items of each row end."""
        from pdanon._kernels import moles

        return moles.private_begins(index.codes, index.offsets, len(self._public))


def _refuse(p: int, longest: int) -> NoReturn:
    raise ParameterError(
        "there are too many minimal moles to list",
        where="p",
        got=f"p={p}, rows of up to {longest} public items: more than {MOST_ITEMSETS:,} moles, "
        f"or {4 * MOST_ITEMSETS:,} itemsets that may become some",
        hint="choose a smaller p; or suppress_public, which lists none",
    )
