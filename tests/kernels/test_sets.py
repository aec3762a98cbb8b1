"""The state of a refinement and its moves, compared with naive clusters counted in all rows."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from kernels.arrays import csr, draw_rows, rows_of
from pdanon._kernels import rare_clusters, set_annealing, set_moves

TIMES = 60
N_ITEMS, SLOTS = 6, 6
CHANGE = 2.5  # of the balanced loss
RANK = np.array([3, 0, 4, 1, 5, 2])  # the place of each item among the leaves of a hierarchy
PATH = [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 5, -1], [0, 6, 7, 8], [0, 6, 9, -1], [0, 10, -1, -1]]


class Naive:
    """The cluster of each item, -1 for suppressed items. All items of a cluster have the same block."""

    def __init__(self, rows, weights, labels, worth, loss, block, constraints, near=0.0):
        self.rows, self.weights, self.labels = rows, weights, list(labels)
        self.worth, self.loss, self.block, self.constraints = worth.tolist(), loss, block, constraints
        self.near = near

    def support(self, *clusters, labels=None):
        labels = self.labels if labels is None else labels
        return sum(
            int(weight)
            for row, weight in zip(self.rows, self.weights, strict=True)
            if set(clusters) <= {labels[item] for item in row}
        )

    def lack(self, k, largest, labels=None):
        """Return what rare supports of sets of clusters, or with ``largest`` 0 of constraints, lack to k."""
        labels = self.labels if labels is None else labels
        used = sorted(set(labels) - {-1})
        every = [each for size in range(1, largest + 1) for each in combinations(used, size)]
        if largest == 0:
            published = [{labels[item] for item in each} - {-1} for each in self.constraints]
            every = [each for each in published if each]
        supports = [self.support(*each, labels=labels) for each in every]
        return sum(k - support for support in supports if 0 < support < k)

    def distance(self, labels=None):
        """Return the price of the levels on which the items of a cluster have no common node."""
        labels, lost = self.labels if labels is None else labels, 0
        for label in {*labels} - {-1}:
            members = [item for item, own in enumerate(labels) if own == label]
            levels = [{PATH[RANK[item]][level] for item in members} for level in range(4)]
            apart = 0 if len(members) == 1 else sum(len(each) > 1 or each == {-1} for each in levels)
            lost += apart * sum(self.worth[item] for item in members)
        return self.near * lost

    def cost(self, labels=None):
        """Return the loss and the price of distances."""
        return self.loss_of(labels) + self.distance(labels)

    def loss_of(self, labels):
        """Return NCP, LM, UL or the balanced loss.

        For NCP and LM, an item costs its worth times the size of its cluster; LM subtracts 1 from the size.
        The balanced loss adds ``CHANGE`` to the size. It also adds the standard deviation of the worth in a
        cluster, times its size and ``CHANGE``.
        """
        labels = self.labels if labels is None else labels
        if self.loss == 3:
            members = [
                [worth for worth, own in zip(self.worth, labels, strict=True) if own == label]
                for label in sorted(set(labels) - {-1})
            ]
            members = [each for each in members if len(each) > 1]
            lost = sum(each for each, label in zip(self.worth, labels, strict=True) if label < 0)
            return (N_ITEMS + CHANGE) * lost + sum(
                (len(each) + CHANGE) * sum(each) + CHANGE * len(each) * float(np.std(each))
                for each in members
            )
        if self.loss == 2:
            clusters = [
                (labels.count(label), self.support(label, labels=labels)) for label in set(labels) - {-1}
            ]
            clusters += [(N_ITEMS, self.support_alone(x)) for x in range(N_ITEMS) if labels[x] < 0]
            return sum((2**size - 1) * support for size, support in clusters)
        sizes = {label: labels.count(label) for label in labels}
        return sum(
            (N_ITEMS - self.loss if label < 0 else (sizes[label] - self.loss) * (sizes[label] > 1)) * worth
            for label, worth in zip(labels, self.worth, strict=True)
        )

    def best_move(self, x, k, largest):
        """Return the safe move with the largest gain; ties: the lowest number, an empty cluster last."""
        used = sorted({label for y, label in enumerate(self.labels) if self.block[y] == self.block[x]} - {-1})
        empty = [label for label in range(SLOTS) if label not in self.labels][:1]
        best, most = None, self.cost()
        for b in used + (empty if largest == 0 or self.support_alone(x) >= k else []):
            labels = [b if item == x else label for item, label in enumerate(self.labels)]
            if self.cost(labels) < most and self.lack(k, largest, labels) == 0:
                best, most = labels, self.cost(labels)
        return best

    def support_alone(self, x):
        return sum(int(weight) for row, weight in zip(self.rows, self.weights, strict=True) if x in row)


def state_of(naive, k, largest, m=None):
    """Return the compiled state, counted in two parts; larger itemsets than it counts are checked up to m."""
    labels, worth = np.array(naive.labels, np.int64), np.array(naive.worth, np.int64)
    itemsets, bounds = csr(naive.constraints if largest == 0 else [])
    words = 0 if largest else len(naive.rows) // 64 + 1
    rows = rows_of(naive.rows, naive.weights, N_ITEMS)
    state = set_moves.State(
        k=k,
        largest=largest,
        loss=naive.loss,
        change=CHANGE if naive.loss == 3 else -naive.loss,
        label=labels,
        slots=SLOTS,
        singles=np.array([naive.support_alone(x) for x in range(N_ITEMS)]),
        worth=worth,
        block=naive.block,
        itemsets=itemsets,
        bounds=bounds,
        words=words,
        near=naive.near,
        rank=RANK,
        path=np.array(PATH, np.int32),
    )
    larger = m and rare_clusters.LargerItemsets(k=k, known=largest, m=m, rows=rows, slots=SLOTS)
    space = set_moves.Space(slots=SLOTS, largest=largest, words=words, larger=larger)
    half = len(naive.rows) // 2
    for begin, end in ((0, half), (half, len(naive.rows))):
        set_moves.count(begin, end, state, rows, space)
    set_moves.count_constraints(state, rows, space)
    return state, rows, space


def draw_cases(largest, safe):
    """Yield a naive state; with ``safe`` nothing in it is rare."""
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        rows, weights = draw_rows(rng, N_ITEMS, 14 if rng.random() < 0.9 else 90)
        if len(set().union(*rows)) < N_ITEMS:
            continue  # each item of a column occurs in a row
        k = int(rng.integers(2, 5))
        block = rng.integers(0, rng.integers(1, 3), N_ITEMS)
        labels = np.where(rng.random(N_ITEMS) < 0.2, -1, rng.integers(0, 3, N_ITEMS) * 2 + block)
        labels = labels if rng.random() < 0.5 else block
        labels = (np.unique([-1, *labels], return_inverse=True)[1][1:] - 1).tolist()
        sizes = rng.integers(1, 4, rng.integers(1, 6))
        constraints = [sorted(rng.choice(N_ITEMS, size, replace=False).tolist()) for size in sizes]
        worth, loss = rng.integers(1, 6, N_ITEMS), int(rng.integers(0, 4))
        near = float(rng.choice([0, 0.25, 2])) if loss != 2 else 0.0  # UL has no price of distances
        naive = Naive(rows, weights, labels, worth, loss, block, constraints, near)
        if safe and naive.lack(k, largest):
            naive.labels = block.tolist() if 0 in block else [0] * N_ITEMS
        if not safe or naive.lack(k, largest) == 0:
            yield rng, naive, k


def agree(naive, state, k, largest, m=None):
    labels = np.asarray(state.label).tolist()
    assert labels == naive.labels
    for cluster in range(SLOTS):
        inside = [item for item, label in enumerate(labels) if label == cluster]
        assert state.size[cluster] == len(inside)
        assert state.held[cluster] == sum(naive.worth[item] for item in inside)
        assert state.support[cluster] == (naive.support(cluster) if inside else 0)
    assert state.lack == naive.lack(k, largest)
    assert not m or naive.lack(k, m) == 0


@pytest.mark.parametrize("largest", [0, 1, 2, 3])
def test_count_and_relocate(largest):
    for rng, naive, k in draw_cases(largest, safe=False):
        state, rows, space = state_of(naive, k, largest)
        agree(naive, state, k, largest)
        for _ in range(3):
            naive.labels = rng.integers(-1, SLOTS, N_ITEMS).tolist()
            set_moves.relocate(np.array(naive.labels, np.int64), state, rows, space)
            agree(naive, state, k, largest)


CHECKED = [(0, None), (1, None), (2, None), (3, None), (2, 3), (2, 4), (3, 4), (3, 5), (3, 6)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("largest", "m"), CHECKED)
def test_descend(largest, m):
    """Each item in order gets the safe move with the largest gain."""
    moved = 0
    for rng, naive, k in draw_cases(m or largest, safe=True):
        state, rows, space = state_of(naive, k, largest, m)
        for x in rng.permutation(N_ITEMS).tolist():
            labels = naive.best_move(x, k, m or largest)
            moved += labels is not None
            set_moves.descend(np.array([x]), state, rows, space)
            found, expected = np.asarray(state.label).tolist(), labels or naive.labels
            if naive.loss == 2 and naive.cost(found) == naive.cost(expected):
                expected = found  # logarithms of equal gains differ by rounding
            assert found == expected
            naive.labels = expected
            agree(naive, state, k, largest, m)
    assert moved > 10


@pytest.mark.parametrize("k", [2, 3])
def test_a_move_that_makes_three_clusters_rare_is_not_made(k):
    """Items 0 and 1 share a cluster. Apart, each pair of 0, 1 and 2 is in k rows, and all three in fewer."""
    rows, labels = [{0, 1, 2}, {0, 1}, {0, 2}, {1, 2}, {3}, {4}, {5}], [0, 0, 1, 2, 3, 4]
    ones = np.ones(N_ITEMS, np.int64)
    for together, expected in ((k - 1, labels), (k, [5, *labels[1:]])):
        weights = np.array([together, 1, 1, 1, k, k, k])
        naive = Naive(rows, weights, labels, ones, 0, 0 * ones, [])
        state, *arrays = state_of(naive, k, 3)
        set_moves.descend(np.array([0]), state, *arrays)
        assert np.asarray(state.label).tolist() == expected


# --- Annealing: supports and losses stay exact, and the best clusters are safe


def annealing_of(naive, k, m, change, seed):
    rows = rows_of(naive.rows, naive.weights, N_ITEMS)
    itemsets, bounds = csr([])
    clusters = set_annealing.Annealing(
        k=k,
        largest=m,
        loss=3,
        itemsets=itemsets,
        bounds=bounds,
        words=0,
        label=np.array(naive.labels, np.int64),
        slots=SLOTS,
        singles=np.array([naive.support_alone(x) for x in range(N_ITEMS)]),
        worth=np.array(naive.worth, np.int64),
        block=naive.block,
        change=change,
        seed=seed,
        near=naive.near,
        rank=RANK,
        path=np.array(PATH, np.int32),
    )
    space = set_moves.Space(slots=SLOTS, largest=m, words=0)
    set_moves.count(0, len(naive.rows), clusters, rows, space)
    set_annealing.begin(clusters)
    return clusters, rows, space


def lacking(support, k):
    return k - support if 0 < support < k else 0


def agree_on_supports(naive, state, labels, k, m):
    """Compare all counts of an annealing with those of a naive recount."""
    pairs = state["pairs"]
    top = range(len(pairs))
    single, pair = np.zeros(len(pairs), int), np.zeros(len(pairs), int)
    triples, triples_of_pairs = np.zeros(len(pairs), int), np.zeros_like(pairs)
    for c in top:
        assert pairs[c, c] == naive.support(c, labels=labels)
        single[c] = lacking(pairs[c, c], k)
    for c, d in combinations(top, 2):
        assert pairs[c, d] == pairs[d, c] == naive.support(c, d, labels=labels)
        pair[[c, d]] += lacking(pairs[c, d], k)
    assert state["short"].tolist() == (single + pair).tolist()
    if m == 3:
        ranked = sorted(combinations(top, 3), key=lambda triple: triple[::-1])
        for each, support in zip(ranked, state["triples"].tolist(), strict=True):
            assert support == naive.support(*each, labels=labels)
            triples[[*each]] += lacking(support, k)
            for low, high in combinations(each, 2):
                triples_of_pairs[high, low] += lacking(support, k)
        assert state["short_pairs"].tolist() == triples_of_pairs.tolist()
    assert state["short_triples"].tolist() == triples.tolist()
    assert state["lack"] == naive.lack(k, m, labels)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize(("change", "loss"), [(0.0, 0), (-1.0, 1), (CHANGE, 3)])
def test_annealing_counts_exactly_and_keeps_the_best_safe_clusters(change, loss, m):
    moved = unsafe = 0
    for seed, (_, naive, k) in enumerate(draw_cases(m, safe=True)):
        start, naive.loss = list(naive.labels), loss
        clusters, *arrays = annealing_of(naive, k, m, change, seed + 1)
        suppressed = sum(w for w, label in zip(naive.worth, start, strict=True) if label < 0)
        suppressed *= N_ITEMS + change  # the kernel leaves out these items
        least = naive.cost()
        for temperature in (20.0, 5.0, 1.0):
            set_annealing.sweep(temperature, temperature / 2, clusters, *arrays)
            state = clusters.state
            labels = state["label"].tolist()
            agree_on_supports(naive, state, labels, k, m)
            assert math.isclose(state["cost"] + suppressed, naive.cost(labels), abs_tol=1e-6)
            kept = [x for x in range(N_ITEMS) if labels[x] >= 0]
            assert all(naive.block[x] == naive.block[labels.index(labels[x])] for x in kept)
            assert [label < 0 for label in labels] == [label < 0 for label in start]
            best = clusters.best.tolist()
            assert naive.lack(k, m, best) == 0
            assert naive.cost(best) <= least + 1e-6
            assert math.isclose(state["least"] + suppressed, naive.cost(best), abs_tol=1e-6)
            least = naive.cost(best)
            moved, unsafe = moved + (labels != start), unsafe + (state["lack"] > 0)
    assert moved > TIMES // 4
    assert unsafe


@pytest.mark.parametrize("m", [2, 3])
def test_equal_seeds_anneal_equally(m):
    _, naive, k = next(draw_cases(m, safe=True))
    found = []
    for seed in (5, 5, 7):
        clusters, *arrays = annealing_of(naive, k, m, 0.0, seed)
        for _ in range(20):
            set_annealing.sweep(30.0, 1.0, clusters, *arrays)
        found.append(clusters.state["label"].tolist())
    assert found[0] == found[1] != found[2]
