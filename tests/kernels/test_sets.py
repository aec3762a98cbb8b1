"""The state of a refinement, and its moves, against naive clusters whose supports are counted in all rows."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest

from kernels.arrays import draw_rows, rows_of
from pdanon._kernels import set_moves, sets

TIMES = 60
N_ITEMS, SLOTS = 6, 6


class Naive:
    """Items in clusters: labels, -1 for suppressed ones."""

    def __init__(self, rows, weights, labels, worth, loss):
        self.rows, self.weights, self.labels = rows, weights, list(labels)
        self.worth, self.loss = worth.tolist(), loss

    def support(self, *clusters, labels=None):
        labels = self.labels if labels is None else labels
        return sum(
            int(weight)
            for row, weight in zip(self.rows, self.weights, strict=True)
            if set(clusters) <= {labels[item] for item in row}
        )

    def lack(self, k, largest, labels=None):
        """What supports of sets of clusters in (0, k) lack to k."""
        labels = self.labels if labels is None else labels
        used = sorted(set(labels) - {-1})
        every = [each for size in range(1, largest + 1) for each in combinations(used, size)]
        supports = [self.support(*each, labels=labels) for each in every]
        return sum(k - support for support in supports if 0 < support < k)

    def cost(self, labels=None):
        """NCP or LM: each item costs the size of its cluster, less the loss, times its worth."""
        labels = self.labels if labels is None else labels
        sizes = {label: labels.count(label) for label in labels}
        return sum(
            (N_ITEMS - self.loss if label < 0 else (sizes[label] - self.loss) * (sizes[label] > 1)) * worth
            for label, worth in zip(labels, self.worth, strict=True)
        )

    def best_move(self, x, k, largest):
        """The safe move of most gain; of equal ones to the lowest number, to an empty cluster last."""
        used = sorted(set(self.labels) - {-1})
        empty = [label for label in range(SLOTS) if label not in used][:1]
        best, most = None, self.cost()
        for b in used + (empty if self.support_alone(x) >= k else []):
            labels = [b if item == x else label for item, label in enumerate(self.labels)]
            if self.cost(labels) < most and self.lack(k, largest, labels) == 0:
                best, most = labels, self.cost(labels)
        return best

    def support_alone(self, x):
        return sum(int(weight) for row, weight in zip(self.rows, self.weights, strict=True) if x in row)


def state_of(naive, k, largest):
    """The compiled state, counted in two parts."""
    labels, worth = np.array(naive.labels, np.int64), np.array(naive.worth, np.int64)
    kept = labels >= 0
    counted = rows_of(naive.rows, naive.weights, N_ITEMS)
    names = ("codes", "offsets", "weights", "starts", "tids")
    rows = sets.Rows(**{name: np.asarray(getattr(counted, name)) for name in names})
    state = sets.State(
        k=k,
        largest=largest,
        loss=naive.loss,
        top=int(labels.max(initial=-1)) + 1,
        label=labels.copy(),
        size=np.bincount(labels[kept], minlength=SLOTS),
        held=np.bincount(labels[kept], worth[kept], minlength=SLOTS).astype(np.int64),
        home=np.zeros(SLOTS, np.int64),
        singles=np.array([naive.support_alone(x) for x in range(N_ITEMS)]),
        worth=worth,
        block=np.zeros(N_ITEMS, np.int64),
        itemsets=np.empty(0, np.int32),
        bounds=np.zeros(1, np.int64),
        words=0,
    )
    space = sets.Space(n=N_ITEMS, slots=SLOTS, largest=largest, words=0)
    half = len(naive.rows) // 2
    for begin, end in ((0, half), (half, len(naive.rows))):
        sets.count(begin, end, state, rows, space)
    return state, rows, space


def draw_cases(largest, safe):
    """A naive state; with ``safe`` nothing in it is rare."""
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        rows, weights = draw_rows(rng, N_ITEMS, 14)
        k = int(rng.integers(2, 5))
        labels = np.unique(
            rng.integers(-1, 4, N_ITEMS) if rng.random() < 0.5 else np.zeros(6, int), return_inverse=True
        )
        labels = (labels[1] - (-1 in labels[0])).tolist()
        naive = Naive(rows, weights, labels, rng.integers(1, 6, N_ITEMS), int(rng.integers(0, 2)))
        if safe and naive.lack(k, largest):
            naive.labels = [0] * N_ITEMS
        if not safe or naive.lack(k, largest) == 0:
            yield rng, naive, k


def agree(naive, state, k, largest):
    labels = np.asarray(state.label).tolist()
    assert labels == naive.labels
    for cluster in range(SLOTS):
        inside = [item for item, label in enumerate(labels) if label == cluster]
        assert state.size[cluster] == len(inside)
        assert state.held[cluster] == sum(naive.worth[item] for item in inside)
        assert state.support[cluster] == (naive.support(cluster) if inside else 0)
    assert state.lack == naive.lack(k, largest)


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_count_and_relocate(largest):
    for rng, naive, k in draw_cases(largest, safe=False):
        state, rows, space = state_of(naive, k, largest)
        agree(naive, state, k, largest)
        for _ in range(3):
            naive.labels = rng.integers(-1, SLOTS, N_ITEMS).tolist()
            sets.relocate(np.array(naive.labels, np.int64), state, rows, space)
            agree(naive, state, k, largest)


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_descend(largest):
    """Each item in order gets the safe move of most gain."""
    moved = 0
    for rng, naive, k in draw_cases(largest, safe=True):
        state, rows, space = state_of(naive, k, largest)
        order = rng.permutation(N_ITEMS)
        for x in order.tolist():
            labels = naive.best_move(x, k, largest)
            moved += labels is not None
            naive.labels = labels or naive.labels
        set_moves.descend(order, state, rows, space)
        agree(naive, state, k, largest)
    assert moved > 10


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_splits_and_swaps(largest):
    """They keep the state counted and safe, and only lower the loss."""
    gained = 0
    for rng, naive, k in draw_cases(largest, safe=True):
        state, rows, space = state_of(naive, k, largest)
        order = rng.permutation(N_ITEMS)
        tallies = sets.Tallies(N_ITEMS, SLOTS if largest >= 2 else 0)
        clusters = np.flatnonzero(np.asarray(state.size) > 1)
        arrays = state, rows, space
        steps = [
            partial(set_moves.split_each, clusters, order, any_rows, *arrays) for any_rows in (False, True)
        ]
        steps.append(partial(set_moves.swap_each, order, order, tallies, *arrays))
        for step in steps:
            before, done = naive.cost(), step()
            naive.labels = np.asarray(state.label).tolist()
            agree(naive, state, k, largest)
            assert state.lack == 0
            assert naive.cost() <= before
            assert not done or naive.cost() < before
            gained += naive.cost() < before
    assert gained > 5
