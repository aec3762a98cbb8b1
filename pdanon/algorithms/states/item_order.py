"""Secret orders of the items, by which algorithms break ties.

The algorithms are public. If ties are broken by the order of the items, an attacker can run an algorithm on
all tables that may have led to a release, and exclude some. A drawn order leaves more of them possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.itemsets.codes import Itemsets, Numbers, canonical_rows
from pdanon.itemsets.validation import random_generator


@dataclass(frozen=True, eq=False, slots=True)
class ItemOrder:
    """A column whose items have another order."""

    itemsets: Itemsets  # in the drawn order
    items: Numbers | None  # item of each code in the drawn order; None if the order is that of the items

    @classmethod
    def draw(cls, itemsets: Itemsets, random_state: Any) -> ItemOrder:
        """Draw an order of the items; without a seed, keep the order that they have."""
        if random_state is None:
            return cls(itemsets, None)
        items = random_generator(random_state).permutation(itemsets.n_items)
        rank = np.empty(len(items), np.int32)
        rank[items] = np.arange(len(items), dtype=np.int32)
        codes, offsets = canonical_rows(rank[itemsets.codes], itemsets.offsets, len(items))
        vocabulary = itemsets.vocabulary.take(pa.array(items))
        return cls(replace(itemsets, codes=codes, offsets=offsets, vocabulary=vocabulary), items)

    def arrange(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of items in the drawn order."""
        return values if self.items is None else values[self.items]

    def restore(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values in the drawn order by item."""
        if self.items is None:
            return values
        restored = np.empty_like(values)
        restored[self.items] = values
        return restored
