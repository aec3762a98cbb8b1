"""Rules between itemsets: compare each kernel with a naive version that counts rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kernels.arrays import TIMES, draw_rows, rows_of, support_of
from pdanon._kernels import rules

N_ITEMS = 6


def draw_cases():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        yield rng, *draw_rows(rng, N_ITEMS, 10)


def test_beside():
    """A set alone and with each other set, compared with supports of merged items."""
    for rng, sets, weights in draw_cases():
        labels = rng.integers(-1, 3, N_ITEMS).astype(np.int32)
        known, is_secret = rng.random(N_ITEMS) < 0.8, rng.random(N_ITEMS) < 0.4
        labels[:2], known[:2], is_secret[:2] = (0, 1), True, False
        labels[is_secret] = -1
        k, (above, below) = int(rng.integers(1, 5)), sorted(rng.integers(1, 5, 2).tolist())
        members = [{int(i) for i in np.flatnonzero(labels == label)} for label in range(3)]
        near = np.array([i for i, row in enumerate(sets) if set(row) & members[0]], np.int32)
        beside = rules.Beside(near, labels, 0, known, is_secret, rows_of(sets, weights, N_ITEMS))

        def is_protected(*chosen, sets=sets, weights=weights, k=k, share=(above, below), secret=is_secret):
            weighted = zip(sets, weights.tolist(), strict=True)
            held = [(row, weight) for row, weight in weighted if all(set(row) & each for each in chosen)]
            support = sum(weight for _, weight in held)
            worst = max((sum(w for row, w in held if s in row) for s in np.flatnonzero(secret)), default=0)
            return support == 0 or (support >= k and worst * share[1] <= share[0] * support)

        others = [members[i] for i in (1, 2) if any(known[item] for item in members[i])]
        assert beside.is_protected(k, above, below) == is_protected(members[0])
        expected = all(is_protected(members[0], other) for other in others)
        assert beside.is_protected_with_others(k, above, below) == expected


def test_bisect():
    for rng, sets, weights in draw_cases():
        importance = rng.integers(1, 4, N_ITEMS)
        singles = np.array([support_of([item], sets, weights) for item in range(N_ITEMS)])
        items = np.argsort(-singles, kind="stable")[: rng.integers(2, N_ITEMS + 1)].astype(np.int32)

        def loss(part, sets=sets, weights=weights, importance=importance):
            held = sum(int(w) for row, w in zip(sets, weights, strict=True) if set(row) & set(part))
            return (2 ** len(part) - 1) * max(int(importance[i]) for i in part) * held

        order = items.tolist()
        one, other = max(
            combinations(order, 2), key=lambda pair: (loss(pair), [-order.index(i) for i in pair])
        )
        parts = [one], [other]
        for item in order:
            if item not in (one, other):
                growth = [loss([*part, item]) - loss(part) for part in parts]
                parts[growth[1] < growth[0]].append(item)
        args = singles, importance, rows_of(sets, weights, N_ITEMS), np.zeros(len(sets), np.uint8)
        assert rules.bisect(items, *args).tolist() == [item in parts[1] for item in order]
