"""Classes of equal rows: refined item by item, against rows that are grouped again each time."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kernels.arrays import TIMES, draw_rows, rows_of
from pdanon._kernels import local_recoding


def test_release_items():
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
        found = local_recoding.release_items(order, rows_of(rows, weights, 6), k)
        assert set(np.flatnonzero(found)) == released
