"""Deletions of occurrences: supports, prices and safe states, compared with naive rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kernels.arrays import csr, draw_rows, lists, rows_of
from pdanon._kernels import deletions

TIMES = 150
N_ITEMS = 6


class Naive:
    """Rows, which of their occurrences are kept, and the supports of items and pairs."""

    def __init__(self, rng):
        self.rows, self.weights = draw_rows(rng)
        self.k = int(rng.integers(2, 8))
        self.worth = rng.integers(0, 4, N_ITEMS) / 2
        self.offsets = csr(self.rows)[1]

    def state(self, seed=1):
        return deletions.Deletions(rows_of(self.rows, self.weights, N_ITEMS), self.k, self.worth, seed)

    def left(self, kept):
        return [
            [item for item, own in zip(row, kept[begin:], strict=False) if own]
            for row, begin in zip(self.rows, self.offsets, strict=False)
        ]

    def supports(self, kept):
        """The support of each item and pair that a row has, with those that only deleted occurrences have."""
        found = {}
        for row, weight in zip(self.left(kept), self.weights, strict=True):
            for pair in (*combinations(row, 1), *combinations(row, 2)):
                found[pair] = found.get(pair, 0) + int(weight)
        return found

    def rare(self, kept):
        return {pair for pair, support in self.supports(kept).items() if support < self.k}

    def possible(self, kept):
        """The deleted occurrences that alone can be restored without a rare item or pair."""
        places = np.flatnonzero(~kept)
        return [place for place in places if not self.rare(kept | (np.arange(len(kept)) == place))]

    def dying(self, kept):
        """The pairs that were rare at first, and those that no row has any more."""
        original, now = self.supports(np.ones(len(kept), np.bool_)), self.supports(kept)
        return {pair for pair in original if original[pair] < self.k or pair not in now}

    def price(self, pair, support, dying):
        """The root of the distance of a rare support to 0 or k; to 0 if the pair is dying."""
        if support >= self.k:
            return 0.0
        return np.sqrt(support if pair in dying else min(support, self.k - support))

    def cost(self, kept, scale, dying):
        """Deletions cost their worth, and rare pairs a price."""
        total = sum(scale * self.price(*each, dying) for each in self.supports(kept).items())
        for row, weight, left in zip(self.rows, self.weights, self.left(kept), strict=True):
            total += weight * sum(self.worth[item] for item in {*row} - {*left})
        return total


def draw_cases():
    """Yield tables, their states, and a random choice of what each keeps."""
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        naive = Naive(rng)
        yield naive, naive.state(), rng.random(naive.offsets[-1]) < rng.random()


def test_rare_pairs_are_counted_whatever_is_kept():
    for naive, state, kept in draw_cases():
        assert state.lack == len(naive.rare(state.kept))
        state.kept = kept
        assert (state.kept == kept).all()
        assert state.lack == len(naive.rare(kept))


def test_a_cover_is_safe_and_nothing_can_be_restored_after_restore():
    for naive, state, kept in draw_cases():
        state.kept = kept
        deletions.cover(state, True)
        assert state.lack == 0
        assert not naive.rare(state.kept)
        before = state.kept
        deletions.restore(state)
        assert (state.kept >= before).all()
        assert state.lack == 0
        assert not naive.rare(state.kept)
        while True:  # a restored occurrence lets others follow
            before = state.kept
            deletions.restore(state)
            if (state.kept == before).all():
                break
        assert not naive.possible(state.kept)


def test_a_cover_of_what_is_left_deletes_only_for_pairs_left():
    for naive, state, kept in draw_cases():
        state.kept = kept
        deletions.cover(state, False)
        found = naive.supports(state.kept)
        for before, after in zip(naive.left(kept), naive.left(state.kept), strict=True):
            pairs = [*combinations(before, 1), *combinations(before, 2)]
            for item in {*before} - {*after}:
                assert any(item in pair and pair not in found for pair in pairs)
        assert not naive.rare(state.kept)


def test_only_deleted_and_rare_occurrences_move():
    """A cold sweep without a price for pairs restores what is deleted, and changes nothing else."""
    for naive, state, kept in draw_cases():
        state.kept = kept
        rare = naive.rare(kept)
        deletions.restart(state)
        deletions.scan(state, np.inf, 0.0)
        deletions.sweep(state, 1e-9, 0.0)
        is_hot = ~kept
        for row, begin, left in zip(naive.rows, naive.offsets, naive.left(kept), strict=False):
            for place, item in enumerate(row, begin):
                is_hot[place] |= any({item} <= {*pair} <= {*left} for pair in rare)
        changed = state.kept != kept
        assert not changed[~is_hot].any()
        assert (naive.worth[csr(naive.rows)[0]][changed & kept] == 0).all()
        assert state.lack == len(naive.rare(state.kept))


def test_deleted_occurrences_that_may_return_are_tried():
    """A sweep without a price for pairs restores each occurrence that is listed, and no other."""
    for seed, (naive, state, kept) in enumerate(draw_cases()):
        state.kept = kept
        deletions.restart(state)
        dying, most = naive.dying(kept), np.random.default_rng(seed).uniform(-2, 4)
        deletions.scan(state, most, 0.7)
        deletions.sweep(state, 1e-9, 0.0)
        items, before = csr(naive.rows)[0], naive.supports(kept)
        for place, row in enumerate(np.repeat(np.arange(len(naive.rows)), np.diff(naive.offsets))):
            if kept[place]:
                continue
            restored = kept | (np.arange(len(kept)) == place)
            after, cost = naive.supports(restored), naive.cost(restored, 0.7, dying)
            cost -= naive.cost(kept, 0.7, dying)
            own = {pair for pair in combinations(naive.left(restored)[row], 2) if items[place] in pair}
            rivals = [
                naive.price(pair, after[pair], dying) - naive.price(pair, before.get(pair, 0), dying)
                for pair in own
                if after[pair] < naive.k
            ]
            cost -= 0.7 * max(rivals) if 0 < len(rivals) < 3 else 0.0
            assert state.kept[place] == (cost <= most) or naive.worth[items[place]] == 0


def test_a_cold_sweep_never_raises_the_cost():
    for naive, state, kept in draw_cases():
        state.kept = kept
        deletions.restart(state)
        dying = naive.dying(kept)
        for scale in (0.5, 2.0, 8.0):
            before = naive.cost(state.kept, scale, dying)
            deletions.scan(state, np.inf, 0.0)
            deletions.sweep(state, 1e-9, scale)
            assert naive.cost(state.kept, scale, dying) <= before + 1e-9
            assert state.lack == len(naive.rare(state.kept))


def least_of(row, rare):
    """The least number of items to delete from a row, so that it has no rare item or pair."""
    for size in range(len(row) + 1):
        for gone in combinations(row, size):
            left = [item for item in row if item not in gone]
            if rare.isdisjoint([*combinations(left, 1), *combinations(left, 2)]):
                return size
    raise AssertionError


def test_no_packing_is_above_the_least_deletions_of_each_row():
    for naive, state, kept in draw_cases():
        rare = naive.rare(np.ones(len(kept), np.bool_))
        least = sum(
            int(weight) * least_of(row, rare) for row, weight in zip(naive.rows, naive.weights, strict=True)
        )
        hurt = sum(  # at least one deletion in each row with a rare pair, and one for each rare item
            int(weight) * max(sum((item,) in rare for item in row), least_of(row, rare) > 0)
            for row, weight in zip(naive.rows, naive.weights, strict=True)
        )
        assert hurt <= deletions.pack(state) <= least


def test_only_listed_pairs_count_after_exempt():
    for seed, (naive, state, kept) in enumerate(draw_cases()):
        rng = np.random.default_rng(seed)
        listed = {(a, b) for a in range(N_ITEMS) for b in range(a + 1) if rng.random() < 0.4}
        partners, starts = csr([[b for b in range(a + 1) if (a, b) in listed] for a in range(N_ITEMS)])
        deletions.exempt(state, starts, partners)
        assert state.kept.all()

        def rare(kept, naive=naive, listed=listed):
            return {pair for pair in naive.rare(kept) if (pair[-1], pair[0]) in listed}

        assert state.lack == len(rare(state.kept))
        least = [least_of(row, rare(state.kept)) for row in naive.rows]
        assert deletions.pack(state) <= sum(least * naive.weights)
        state.kept = kept
        assert state.lack == len(rare(kept))
        deletions.cover(state, True)
        assert not rare(state.kept)
        assert state.lack == 0


def test_a_clique_of_rare_pairs_keeps_one_item():
    rows = [[0, 1, 2, 3], [0, 4], [1, 4], [2, 4], [3, 4], [4, 5]]
    state = deletions.Deletions(rows_of(rows, [1, 3, 3, 3, 3, 3], N_ITEMS), 2, np.ones(N_ITEMS), 1)
    assert deletions.pack(state) == 3


def test_what_is_pressed_dies():
    """Without a press, a pair in four of five rows stays, as its way to zero is long. A press ends that."""
    rows, weights = [[0, 1, 2], [0, 1, 3], [0, 1, 4], [0, 1, 5], [0], [1]], [1, 1, 1, 1, 9, 9]
    state = deletions.Deletions(rows_of(rows, weights, N_ITEMS), 5, np.ones(N_ITEMS), 3)
    deletions.restart(state)
    assert state.lack == 4 + 1 + 8  # four items and their eight pairs are in one row; items 0 and 1 in four
    for _ in range(40):
        deletions.scan(state, np.inf, 0.0)
        deletions.sweep(state, 0.5, 0.1)
    assert state.lack
    for _ in range(40):
        deletions.press(state, 1.5, 0.5)
        deletions.scan(state, np.inf, 0.0)
        deletions.sweep(state, 0.5, 8.0)
    assert state.lack == 0


def test_listed_itemsets_are_found_and_broken_up():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        rows, weights = draw_rows(rng)
        sets = [sorted(rng.choice(N_ITEMS, rng.integers(1, 4), replace=False).tolist()) for _ in range(4)]
        arrays, (codes, bounds) = rows_of(rows, weights, N_ITEMS), csr(sets)
        counts = np.zeros(len(rows), np.int64)
        deletions.holding(arrays, codes, bounds, counts, np.empty(0, np.int32))
        inside = [[i for i, each in enumerate(sets) if {*each} <= {*row}] for row in rows]
        assert counts.tolist() == [*map(len, inside)]
        starts = np.cumsum([0, *counts], dtype=np.int64)
        found = np.empty(starts[-1], np.int32)
        deletions.holding(arrays, codes, bounds, starts[:-1].copy(), found)
        assert lists(found, starts) == inside

        price = rng.integers(-1, 3, N_ITEMS).astype(float)
        kept = (rng.random(len(arrays.codes)) < 0.5).astype(np.uint8)
        deletions.break_up(arrays, kept, codes, bounds, starts, found, price)
        for row, begin, own in zip(rows, csr(rows)[1], inside, strict=False):
            left = {item for item, flag in zip(row, kept[begin : begin + len(row)], strict=True) if flag}
            assert all(price[item] >= 0 for item in {*row} - left)
            breakable = [sets[i] for i in own if any(price[item] >= 0 for item in sets[i])]
            assert not any({*each} <= left for each in breakable)
            # each deleted item is needed
            assert all(any({*each} <= left | {item} for each in breakable) for item in {*row} - left)
