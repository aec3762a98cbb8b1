"""Suppression until each class of rows has k: the items released, compared with classes counted again."""

from __future__ import annotations

from collections import Counter

import numpy as np
from kernels.arrays import TIMES, csr, draw_rows

from pdanon.algorithms.items.suppress_to_k import _release_items
from pdanon.itemsets.support import SupportIndex


def test_an_item_is_released_while_each_class_keeps_k():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        rows, weights = draw_rows(rng, 6, 20)
        k, order = min(int(rng.integers(1, 6)), int(weights.sum())), rng.permutation(6)
        released = set()
        for item in order.tolist():
            sizes = Counter()
            for row, weight in zip(rows, weights.tolist(), strict=True):
                sizes[frozenset(row) & (released | {item})] += weight
            if min(sizes.values()) >= k:
                released.add(item)
        found = _release_items(order, SupportIndex(*csr(rows), 6, weights), k)
        assert set(np.flatnonzero(found)) == released
