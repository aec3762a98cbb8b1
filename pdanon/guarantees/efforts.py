"""Efforts of learning items: an attacker knows itemsets up to a total effort.

Xu, Wang, Fu, Yu, "Anonymizing Transaction Databases for Publication", KDD 2008, announce such weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import find_items, item_array
from pdanon.itemsets.support import ItemsetTable
from pdanon.itemsets.validation import check_count

_MOST = 2**31 - 1  # sums of efforts fit into 63 bits


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Efforts:
    """The effort of learning that a person has an item; 1 for items that are not listed.

    Parameters
    ----------
    items : pyarrow.Array
        Distinct items.
    values : ndarray of int64
        The effort of each item.
    """

    items: pa.Array
    values: NDArray[np.int64]

    @classmethod
    def of(cls, effort: Any) -> Efforts | None:
        """Read a mapping or Series of items to positive integers; None stays.

        Raises
        ------
        ParameterError
            If it is no mapping, an item is listed twice, or an effort is no positive integer.
        """
        if effort is None or isinstance(effort, cls):
            return effort
        if not isinstance(effort, (Mapping, pd.Series)):
            hint = "pass a dict or a Series: item -> positive integer"
            raise ParameterError("effort must map items to integers", got=type(effort).__name__, hint=hint)
        items = item_array(effort.keys(), "effort")
        twice = len(items) - len(items.unique())
        if twice:
            got = f"{twice} of {len(items)} items are repeated"
            raise ParameterError("effort lists an item twice", where="effort", got=got, hint="list each once")
        hint = "pass whole numbers, such as 1 for easily known items and 3 for others"
        given = effort.values() if isinstance(effort, Mapping) else effort.tolist()
        values = [check_count(each, "an effort", least=1, most=_MOST, hint=hint) for each in given]
        return cls(items, np.array(values, np.int64))

    def __len__(self) -> int:
        return len(self.values)

    def find(self, items: pa.Array) -> NDArray[np.int64]:
        """Return the effort of each item."""
        return np.append(self.values, 1)[find_items(items, self.items)]


def most_items(efforts: NDArray[np.int64], budget: int) -> int:
    """Return the largest number of items with a total effort of at most a budget."""
    return int(np.searchsorted(np.cumsum(np.sort(efforts)), budget, side="right"))


def affordable(itemsets: ItemsetTable, efforts: NDArray[np.int64], budget: int) -> NDArray[np.bool_]:
    """Return whether the total effort of each itemset is at most a budget."""
    totals = np.append(0, np.cumsum(efforts[itemsets.codes]))[itemsets.offsets]
    return np.diff(totals) <= budget
