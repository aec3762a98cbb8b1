"""Searches for itemsets: compare each kernel with all itemsets in the rows."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from kernels.arrays import TIMES, contained_sets, csr, draw_rows, lists, rows_of, support_of
from pdanon._kernels import itemset_search

N_ITEMS = 6
HALT = np.zeros(1, np.bool_)


def draw_cases():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        sets, weights = draw_rows(rng, N_ITEMS, 10)
        yield (
            rng,
            sets,
            weights,
            {each: support_of(each, sets, weights) for each in contained_sets(sets, range(1, 7))},
        )


def pairs_csr(pairs):
    return csr([[b for a, b in sorted(pairs) if a == first] for first in range(N_ITEMS)])[::-1]


def minimal_rare(supports, m, k):
    """Return the minimal rare itemsets of size 3 to m without a rare pair, with their supports."""
    pairs = [pair for pair, support in supports.items() if len(pair) == 2 and support >= k]
    found = {
        each: support
        for each, support in supports.items()
        if 3 <= len(each) <= m and support < k and all(pair in pairs for pair in combinations(each, 2))
    }
    return {each: n for each, n in found.items() if not any(set(other) < set(each) for other in found)}


@pytest.mark.parametrize("m", [3, 4, 6])
def test_rare_itemsets(m):
    for rng, sets, weights, supports in draw_cases():
        k = int(rng.integers(2, 6))
        cliques = [pair for pair in combinations(range(N_ITEMS), 2) if supports.get(pair, 0) >= k]
        expected = minimal_rare(supports, m, k)
        rows, names = rows_of(sets, weights, N_ITEMS), rng.permutation(N_ITEMS).astype(np.int32)
        exposed, room = np.zeros(len(sets), np.int32), np.array([1000])
        nothing, found = np.empty(0, np.int64), {}
        for begin, end in pairwise([0, int(rng.integers(0, N_ITEMS + 1)), N_ITEMS]):
            asked = k, m, begin, end, rows, *pairs_csr(cliques), names, exposed, 1, k - 1
            codes, offsets, counts = itemset_search.RareSearch(*asked, nothing, room, HALT).itemsets()
            found |= dict(zip(map(tuple, lists(codes, offsets)), counts.tolist(), strict=True))
        assert found == {tuple(sorted(names[list(each)].tolist())): n for each, n in expected.items()}


def test_rare_itemsets_are_counted_by_support():
    for rng, sets, weights, supports in draw_cases():
        k = int(rng.integers(2, 6))
        pairs = [each for each, support in supports.items() if len(each) == 2 and support >= k]
        counts = np.zeros(k, np.int64)
        asked = k, 6, 0, N_ITEMS, rows_of(sets, weights, N_ITEMS), *pairs_csr(pairs)
        names, exposed = np.arange(N_ITEMS, dtype=np.int32), np.zeros(len(sets), np.int32)
        itemset_search.RareSearch(*asked, names, exposed, 1, k - 1, counts, np.array([1000]), HALT).itemsets()
        rare = [*minimal_rare(supports, 6, k).values()]
        assert counts.tolist() == [rare.count(support) for support in range(k)]


def test_exposed_rows():
    """Each row gets the size of its smallest rare itemset: of items, then pairs, then larger ones."""
    for rng, sets, weights, supports in draw_cases():
        k = int(rng.integers(2, 6))
        exposed = np.zeros(len(sets), np.int32)
        is_rare = np.array([supports.get((item,), 0) < k for item in range(N_ITEMS)])
        rare_pairs = [each for each, support in supports.items() if len(each) == 2 and support < k]
        safe_pairs = [each for each, support in supports.items() if len(each) == 2 and support >= k]
        itemset_search.mark_items(*csr(sets), is_rare, exposed)
        itemset_search.mark_pairs(*csr(sets), *pairs_csr(rare_pairs), exposed)
        asked = k, 6, 0, N_ITEMS, rows_of(sets, weights, N_ITEMS), *pairs_csr(safe_pairs)
        unlisted, nothing = np.empty(0, np.int32), np.empty(0, np.int64)
        itemset_search.RareSearch(
            *asked, unlisted, exposed, 1, k - 1, nothing, np.array([1000]), HALT
        ).itemsets()
        sizes = [
            [len(each) for each, support in supports.items() if support < k and set(each) <= set(row)]
            for row in sets
        ]
        assert exposed.tolist() == [min(each, default=0) for each in sizes]


def test_minimal():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        every = [each for size in range(1, 5) for each in combinations(range(5), size)]
        chosen = [every[i] for i in np.flatnonzero(rng.random(len(every)) < rng.random())]
        expected = [not any(set(other) < set(each) for other in chosen) for each in chosen]
        assert itemset_search.minimal(*csr(chosen)).tolist() == expected
