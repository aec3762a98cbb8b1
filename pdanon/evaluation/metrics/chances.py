"""Chances: how likely a row has the sensitive items that only counts of its group tell of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.evaluation.metrics.conditions import Factors
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.sensitive_groups import group_numbers
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.table import ItemsetTable

__all__ = ["Chances"]


@dataclass(frozen=True, eq=False, slots=True)
class Chances:
    """What a release says of sensitive items that no row shows: in what share of each group they are.

    Parameters
    ----------
    groups : ndarray of int64, shape (rows,)
        The place of the group of each row.
    shares : sparse array, shape (items, groups)
        The share of the rows of a group that have an item, of those that are counted by groups.
    is_hidden : ndarray of bool, shape (items,)
        Which items these are.
    """

    groups: NDArray[np.int64]
    shares: Any
    is_hidden: NDArray[np.bool_]

    @classmethod
    def of(cls, frame: pd.DataFrame, guarantee: object, items: Itemsets) -> Chances | None:
        """Read what the guarantee of a released frame counts; None if it counts nothing by groups."""
        if not isinstance(guarantee, SensitiveGroups) or guarantee.classes is None:
            return None
        from scipy.sparse import coo_array

        counted = guarantee.classes
        item_of = items.lookup(counted.items)
        there = item_of >= 0
        shares = counted.counts / counted.sizes[counted.group]
        cells = item_of[there], counted.group[there]
        table = coo_array((shares[there], cells), shape=(items.n_items, len(counted.groups)))
        return cls(counted.places(group_numbers(frame)), table.tocsr(), guarantee.is_sensitive(items))

    def shown(self, queries: ItemsetTable) -> ItemsetTable:
        """The queries without the items that no row shows."""
        is_shown = ~self.is_hidden[queries.codes]
        kept = np.append(0, np.cumsum(is_shown))[queries.offsets]
        return ItemsetTable(queries.codes[is_shown], kept, queries.supports)

    def factors(self, queries: ItemsetTable) -> Factors:
        """How likely a row of each group has those items of each query that no row shows."""
        hidden = self.is_hidden[queries.codes]
        codes = queries.codes[hidden]
        offsets = offsets_of(np.diff(np.append(0, np.cumsum(hidden))[queries.offsets]))

        def shares(asked: slice) -> NDArray[np.float64]:
            begins, ends = offsets[:-1][asked], offsets[1:][asked]
            product = np.ones((len(begins), self.shares.shape[1]))
            for place in range(int((ends - begins).max(initial=0))):
                having = np.flatnonzero(ends - begins > place)
                product[having] *= self.shares[codes[begins[having] + place]].toarray()
            return product

        return Factors(self.groups, self.shares.shape[1], shares)
