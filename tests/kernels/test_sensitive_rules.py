"""Sensitive rules: compare the kernel with a naive version."""

from __future__ import annotations

import numpy as np

from kernels.arrays import TIMES, contained_sets, csr, draw_rows, rows_of, support_of
from pdanon._kernels import rules

N_ITEMS = 6
HALT = np.zeros(1, np.bool_)


def test_sensitive_rules():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        sets, weights = draw_rows(rng, N_ITEMS, 10)
        about = [[item for item in row if item in (0, 3, 5)] for row in sets]
        above, below = sorted(int(each) for each in rng.integers(0, 5, 2))
        below, size = below + 1, int(rng.integers(1, 4))
        found = []
        for begin, end in ((0, 2), (2, N_ITEMS)):
            asked = above, below, size, np.array([1000]), HALT
            search = rules.SensitiveRules(rows_of(sets, weights, N_ITEMS), *csr(about), *asked)
            found += search.beginning(begin, end).tolist()
        expected = [
            [*known, item]
            for known in sorted(contained_sets(sets, [size]))
            for item in {0, 3, 5} - set(known)
            if support_of([*known, item], sets, weights) * below > above * support_of(known, sets, weights)
            and support_of([*known, item], sets, weights)
        ]
        assert sorted(found) == sorted(expected)


def draw_sets():
    """Draw sets of 6 items, some of them empty, and flags of items."""
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        sets = [np.flatnonzero(rng.random(N_ITEMS) < 0.5).tolist() for _ in range(rng.integers(0, 6))]
        yield rng, sets, rng.random(N_ITEMS) < 0.6
