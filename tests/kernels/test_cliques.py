"""Packings of cliques, against the definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from naive.bounds import least_cover

from kernels.arrays import csr, lists
from pdanon._kernels import conflicts

TIMES = 40


def draw(rng):
    """Draw conflicting pairs, larger conflicts, and weights of items."""
    n = int(rng.integers(2, 9))
    pairs = {each for each in combinations(range(n), 2) if rng.random() < 0.5}
    larger = [each for each in combinations(range(n), 3) if rng.random() < 0.1]
    return pairs, larger, rng.integers(0, 9, n)


def pack(pairs, larger, weights):
    n = len(weights)
    partners = csr([[j for j in range(n) if (min(i, j), max(i, j)) in pairs] for i in range(n)])
    return conflicts.Packing(partners[1], partners[0], *csr(larger), weights)


def is_clique(codes, pairs):
    return all(each in pairs for each in combinations(sorted(codes), 2))


@pytest.mark.parametrize("seed", range(TIMES))
def test_each_pass_is_a_lower_bound(seed):
    pairs, larger, weights = draw(np.random.default_rng(seed))
    packing = pack(pairs, larger, weights)
    least = least_cover([*pairs, *larger], weights.tolist())
    for _ in range(5):
        bound, steps = packing.improve()
        assert 0 <= bound <= least
        assert steps > 0
        stored = lists(*packing.cliques())
        assert all(len(each) > 1 and is_clique(each, pairs) for each in stored)
    if least:
        assert bound > 0


@pytest.mark.parametrize("seed", range(TIMES))
def test_violated_cliques_exceed_the_sum_and_cover_all_violated_pairs(seed):
    rng = np.random.default_rng(seed)
    pairs, _, weights = draw(rng)
    n = len(weights)
    shares = rng.choice([0.0, 0.5, 1.0], n)
    packing = pack(pairs, [], weights + 1)
    order = np.argsort(-shares, kind="stable").astype(np.int32)[: int((shares > 0).sum())]
    packing.find_violated(order, shares, 1.01, 10**6)
    stored = lists(*packing.cliques())
    assert all(is_clique(each, pairs) and shares[each].sum() > 1.01 for each in stored)
    violated = {each for each in pairs if shares[list(each)].sum() > 1.01}
    assert violated <= {pair for each in stored for pair in combinations(sorted(each), 2)}
    packing.find_violated(order, shares, 1.01, 1)
    assert bool(len(packing.cliques()[1]) > 1) == bool(stored)
