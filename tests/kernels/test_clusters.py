"""Clusters: compare merges and suppression with a naive version on sets, with exact integers for losses."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kernels.arrays import TIMES, arrays_of, csr, draw_rows
from pdanon._kernels import clusters, rare_clusters

N_ITEMS = 6
HALT = np.zeros(1, np.bool_)


class Naive:
    """Clusters by label. Each support is counted in all rows."""

    def __init__(self, sets, weights, importance, block, spare):
        self.sets, self.weights, self.importance, self.block = sets, weights, importance, block
        self.members = {item: {item} for item in range(N_ITEMS) if any(item in row for row in sets)}
        self.spare, self.refused = spare, -1

    def support(self, *labels):
        return sum(
            int(weight)
            for row, weight in zip(self.sets, self.weights, strict=True)
            if all(self.members[label] & set(row) for label in labels)
        )

    def image(self, items):
        return sorted({label for label, inside in self.members.items() if inside & set(items)})

    def union(self, a, b):
        """Return the sort key of a merge: loss, size, labels."""
        inside = self.members[a] | self.members[b]
        support = self.support(a) + self.support(b) - self.support(a, b)
        weight = max(int(self.importance[item]) for item in inside)
        return (2 ** len(inside) - 1) * weight * support, len(inside), min(a, b), max(a, b)

    def merge(self, a, b):
        self.members[min(a, b)] |= self.members.pop(max(a, b))

    def coarsen(self, image, least_first):
        """Apply the cheapest merge of an image, or suppress its cluster with the lowest support."""
        least = min(image, key=lambda a: (self.support(a), len(self.members[a]), a))
        options = [
            self.union(a, b)
            for a in ([least] if least_first else image)
            for b in self.members
            if a != b and self.block[a] == self.block[b]
        ]
        if options:
            self.merge(*min(options)[2:])
        elif len(self.members[least]) > self.spare:
            self.refused = least
        else:
            self.spare -= len(self.members.pop(least))
        return self.refused < 0

    def satisfy_pairs(self, k, pairs, least_first):
        while True:
            rare = [(self.support(a), 1, -a, -a, (a,)) for a in self.members]
            if pairs:
                enough = [a for a in self.members if self.support(a) >= k]
                rare += [(self.support(a, b), 0, -a, -b, (a, b)) for a, b in combinations(sorted(enough), 2)]
            rare = [each for each in rare if 0 < each[0] < k]
            if not rare:
                return
            items = max(rare)[4]
            while (image := self.image(items)) and self.support(*image) < k:
                if not self.coarsen(image, least_first):
                    return

    def satisfy_itemsets(self, k, itemsets, least_first):
        for items in itemsets:
            while (image := self.image(items)) and 0 < self.support(*image) < k:
                if not self.coarsen(image, least_first):
                    return

    def labels(self):
        return [
            next((a for a, inside in self.members.items() if item in inside), -1) for item in range(N_ITEMS)
        ]


def held(sets, weights):
    """Return the rows of items as the state takes them."""
    rows = arrays_of(sets, weights, N_ITEMS)
    del rows["positions"]
    return rows


def draw_cases(times=TIMES, lines=None):
    """Yield a naive state and a compiled state of the same random rows."""
    for seed in range(times):
        rng = np.random.default_rng(seed)
        sets, weights = draw_rows(rng, N_ITEMS, 10)
        importance, spare = rng.integers(1, 4, N_ITEMS), int(rng.integers(0, 7))
        block = rng.integers(0, rng.integers(1, 3), N_ITEMS).astype(np.int32)
        naive = Naive(sets, weights, importance, block, spare)
        singles = np.array([naive.support(i) if i in naive.members else 0 for i in range(N_ITEMS)], np.int64)
        state = clusters.State(
            **held(sets, weights),
            size=(singles > 0).astype(np.int64),
            support=singles,
            weight=importance,
            lines=lines or int(rng.integers(N_ITEMS + 1)),
            block=block,
            spare=spare,
        )
        yield rng, naive, state


def agree(naive, state):
    labels = naive.labels()
    assert np.asarray(state.label).tolist() == labels
    assert state.n_active == len(naive.members)
    for a, inside in naive.members.items():
        assert (state.size[a], state.support[a]) == (len(inside), naive.support(a))
    for a, b in combinations(sorted(naive.members), 2):
        assert clusters.together(a, b, state) == clusters.together(b, a, state) == naive.support(a, b)


@pytest.mark.parametrize("counted", [False, True])
def test_merge_and_drop(counted):
    """Supports of pairs are counted row by row first, or there are few lines for them."""
    for rng, naive, state in draw_cases(lines=N_ITEMS if counted else None):
        if counted:
            assert clusters.begin_lines(state)
            clusters.count_rows(0, 1, state)
            clusters.count_rows(1, len(naive.sets), state)
        agree(naive, state)
        while len(naive.members) > 1:
            a, b = (int(each) for each in rng.choice(sorted(naive.members), 2, replace=False))
            if rng.random() < 0.7:
                naive.merge(a, b)
                clusters.merge(a, b, state)
            else:
                del naive.members[a]
                clusters.drop(a, state)
            agree(naive, state)


@pytest.mark.parametrize("least_first", [False, True])
@pytest.mark.parametrize("pairs", [False, True])
def test_satisfy_pairs(pairs, least_first):
    for rng, naive, state in draw_cases():
        k = int(rng.integers(2, 8))
        naive.satisfy_pairs(k, pairs, least_first)
        rare = rare_clusters.RarePartners(k, pairs, state)
        rare.look_up_some(2, state)
        while rare_clusters.satisfy_pairs(least_first, 1, rare, state, HALT):
            pass
        assert state.refused == naive.refused
        if naive.refused < 0:
            assert state.spare == naive.spare
        agree(naive, state)


@pytest.mark.parametrize("least_first", [False, True])
def test_satisfy_itemsets(least_first):
    for rng, naive, state in draw_cases():
        k = int(rng.integers(2, 8))
        triples = list(combinations(range(N_ITEMS), 3))
        itemsets = [triples[i] for i in rng.permutation(len(triples))[:6]]
        bitmaps = rare_clusters.Bitmaps(*csr(naive.sets), naive.weights.astype(np.int64), N_ITEMS)
        held = [each for each in itemsets if set(each) <= set(naive.members)]
        found = rare_clusters.itemset_supports(*csr(held), 2**40, bitmaps, state)
        assert found.tolist() == [naive.support(*each) for each in held]
        naive.satisfy_itemsets(k, itemsets, least_first)
        begin = 0
        while begin < len(itemsets) and state.refused < 0:
            _, begin = rare_clusters.satisfy_itemsets(
                k, least_first, 1, *csr(itemsets), begin, bitmaps, state
            )
        assert state.refused == naive.refused
        agree(naive, state)


@pytest.mark.parametrize("n_rows", [1, 64, 300])
def test_itemset_supports(n_rows):
    """Supports do not depend on the itemset before, and a count may stop once it is large enough."""
    rng = np.random.default_rng(n_rows)
    sets = [np.flatnonzero(rng.random(6) < 0.5) for _ in range(n_rows)]
    weights = rng.integers(1, 4, n_rows)
    singles = np.array([weights[[i in row for row in sets]].sum() for i in range(6)], np.int64)
    state = clusters.State(
        **held(sets, weights),
        size=np.ones(6, np.int64),
        support=singles,
        weight=np.ones(6, np.int64),
        lines=0,
        block=np.zeros(6, np.int32),
        spare=0,
    )
    bitmaps = rare_clusters.Bitmaps(*csr(sets), weights, 6)
    itemsets = [each for size in (1, 2, 3) for each in combinations(range(6), size)] + [()]
    expected = [
        sum(weight for row, weight in zip(sets, weights, strict=True) if each and set(each) <= set(row))
        for each in itemsets
    ]
    for enough in (1, 4, 2**40):
        for order in (range(len(itemsets)), rng.permutation(len(itemsets))):
            asked = [itemsets[i] for i in order]
            found = rare_clusters.itemset_supports(*csr(asked), enough, bitmaps, state)
            for support, i in zip(found.tolist(), order, strict=True):
                assert support == expected[i] or expected[i] > support >= enough


def test_coarsen_each():
    """Each itemset gets one merge, unless an earlier merge changed a cluster of its image."""
    for rng, naive, state in draw_cases():
        naive.block[:], state = 0, None
        if len(naive.members) < 3:
            continue
        singles = np.array([naive.support(i) if i in naive.members else 0 for i in range(N_ITEMS)], np.int64)
        state = clusters.State(
            **held(naive.sets, naive.weights),
            size=(singles > 0).astype(np.int64),
            support=singles,
            weight=naive.importance,
            lines=N_ITEMS,
            block=naive.block,
            spare=0,
        )
        pairs = list(combinations(sorted(naive.members), 2))
        itemsets = [pairs[i] for i in rng.permutation(len(pairs))[:4]]
        changed, merges = set(), 0
        for items in itemsets:
            image = naive.image(items)
            if not changed & set(image) and len(naive.members) > 1:
                a, b = min(naive.union(a, b) for a in image for b in naive.members if a != b)[2:]
                naive.merge(a, b)
                changed.add(a)
                merges += 1
        assert rare_clusters.coarsen_each(*csr(itemsets), state) == merges
        agree(naive, state)


def test_compare_loss():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        size_1, size_2 = (int(each) for each in rng.integers(1, 70, 2))
        rows_2 = int(rng.integers(0, 2 ** int(rng.integers(1, 47))))
        near = rows_2 * (2**size_2 - 1) // (2**size_1 - 1)
        rows_1 = min(max(near + int(rng.integers(-1, 2)), 0), 2**47 - 1)
        one, other = (2**size_1 - 1) * rows_1, (2**size_2 - 1) * rows_2
        assert clusters._compare_loss(size_1, rows_1, size_2, rows_2) == (one > other) - (one < other)


def test_compare_growth():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        sizes = rng.integers(1, 70, 2).tolist()
        news = [int(rng.integers(0, 2 ** int(rng.integers(1, 47)))) for _ in range(2)]
        olds = [int(rng.integers(0, new + 1)) for new in news]
        if rng.random() < 0.5:
            sizes[1], news[1], olds[1] = sizes[0], news[0], max(olds[0] - int(rng.integers(0, 2)), 0)
        one, other = (
            (2 ** (size + 1) - 1) * new - (2**size - 1) * old
            for size, old, new in zip(sizes, olds, news, strict=True)
        )
        found = clusters.compare_growth(sizes[0], olds[0], news[0], sizes[1], olds[1], news[1])
        assert found == (one > other) - (one < other)
