"""Rows and supports: compare each kernel with a naive version."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kernels.arrays import TIMES, csr, draw_rows, lists, rows_of, support_of
from pdanon._kernels import counting

N_ITEMS = 6
CASES = [np.random.default_rng(seed) for seed in range(TIMES)]


def draw_lists(rng, n_items=N_ITEMS):
    """Draw lists of items in any order, with repeated items; some are long."""
    return [rng.integers(0, n_items, rng.integers(0, 40)).tolist() for _ in range(rng.integers(1, 8))]


@pytest.mark.parametrize("repeats", [False, True])
def test_canonical_rows(repeats):
    for rng in CASES:
        sets = draw_lists(rng)
        targets = rng.integers(-1, N_ITEMS, N_ITEMS).astype(np.int32)
        codes, offsets = csr(sets)
        codes[rng.random(len(codes)) < 0.2] = -1
        is_used, found = np.zeros(N_ITEMS, np.uint8), np.empty(len(codes), np.int32)
        ends = np.zeros(len(offsets), np.int64)
        n = counting.canonical_rows(codes, offsets, targets, is_used, repeats, found, ends[1:])
        expected = []
        for row in lists(codes, offsets):
            became = sorted(int(targets[code]) for code in row if code >= 0 and targets[code] >= 0)
            expected.append(became if repeats else sorted(set(became)))
        assert n == ends[-1]
        assert lists(found, ends) == expected
        assert np.flatnonzero(is_used).tolist() == sorted({code for row in expected for code in row})


def test_sort_rows():
    for rng in CASES:
        sets = draw_lists(rng)
        codes, offsets = csr(sets)
        chosen = np.flatnonzero(rng.random(len(sets)) < 0.7)
        again = counting.sort_rows(codes, offsets[chosen], np.diff(offsets)[chosen])
        expected = [sorted(row) if i in chosen else row for i, row in enumerate(sets)]
        assert lists(codes, offsets) == expected
        starts = [
            offsets[i] + j
            for i in chosen
            for j in range(1, len(sets[i]))
            if expected[i][j] == expected[i][j - 1]
        ]
        assert again.tolist() == starts


def test_gather():
    for rng in CASES:
        sets = draw_lists(rng)
        codes, offsets = csr(sets)
        chosen = rng.integers(0, len(sets), 5)
        gathered = counting.gather(codes, offsets[chosen], np.diff(offsets)[chosen])
        assert gathered.tolist() == [code for i in chosen for code in sets[i]]


def test_mark_shortened():
    for rng in CASES:
        sets = draw_lists(rng)
        labels = rng.integers(0, N_ITEMS, N_ITEMS).astype(np.int32)
        codes, offsets = csr(sets)
        found = np.zeros(len(sets), np.uint8)
        counting.mark_shortened(codes, offsets, labels, N_ITEMS, found)
        assert found.astype(bool).tolist() == [len({labels[code] for code in row}) < len(row) for row in sets]


def test_collect_rows():
    """Rows come in two parts. Between them, the table is copied into a larger one."""
    for rng in CASES:
        sets, weights = draw_rows(rng, 3, 20)
        n, half = len(sets), len(sets) // 2
        codes, offsets = csr(sets)
        kept = np.zeros(len(codes), np.int32), np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
        table, larger = np.full(64, -1, np.int64), np.full(128, -1, np.int64)
        count, first = counting.collect_rows(codes, offsets[: half + 1], weights[:half], *kept, table, 0)
        counting.copy_places(table, larger)
        count, second = counting.collect_rows(codes, offsets[half:], weights[half:], *kept, larger, count)
        distinct = list(dict.fromkeys(map(tuple, sets)))
        assert [*first, *second] == [distinct.index(tuple(row)) for row in sets]
        assert lists(kept[0], kept[1][: count + 1]) == [list(row) for row in distinct]
        expected = [
            sum(w for row, w in zip(sets, weights, strict=True) if tuple(row) == one) for one in distinct
        ]
        assert kept[2][:count].tolist() == expected


def test_first_alike_and_numbered():
    for rng in CASES:
        sets, weights = draw_rows(rng, 3, 20)
        codes, offsets = csr(sets)
        keys, first = np.empty(len(sets), np.int64), np.full(len(sets), -1, np.int64)
        counting.hashes(codes, offsets, keys)
        middle = int(np.median(keys))
        counting.first_alike(codes, offsets, keys, 0, middle, first)
        assert (first >= 0).tolist() == (keys < middle).tolist()
        counting.first_alike(codes, offsets, keys, middle, 2**32, first)
        assert first.tolist() == [sets.index(row) for row in sets]
        number, chosen, joint = counting.numbered(first, weights)
        distinct = list(dict.fromkeys(map(tuple, sets)))
        assert number.tolist() == [distinct.index(tuple(row)) for row in sets]
        assert chosen.tolist() == [sets.index(list(row)) for row in distinct]
        assert joint.tolist() == [weights[number == i].sum() for i in range(len(distinct))]


def test_items():
    for rng in CASES:
        sets, weights = draw_rows(rng)
        codes, offsets = csr(sets)
        items = range(N_ITEMS)
        supports = counting.item_supports(codes, offsets, weights, N_ITEMS)
        assert supports.tolist() == [support_of([item], sets, weights) for item in items]
        assert counting.occurrences(codes, N_ITEMS).tolist() == [sum(i in row for row in sets) for i in items]
        following = counting.followers(codes, offsets, N_ITEMS)
        assert following.tolist() == [sum(len(r) - r.index(i) - 1 for r in sets if i in r) for i in items]


def test_transpose():
    for rng in CASES:
        sets, weights = draw_rows(rng)
        codes, offsets = csr(sets)
        expected = rows_of(sets, weights, N_ITEMS)
        tids, positions = np.empty(len(codes), np.int32), np.empty(len(codes), np.int64)
        free, half = np.array(expected.starts[:-1]), len(sets) // 2
        for begin, end in ((0, half), (half, len(sets))):
            counting.transpose(codes, offsets, begin, end, free, tids, positions)
        assert tids.tolist() == list(expected.tids)
        assert positions.tolist() == list(expected.positions)
        assert free.tolist() == list(expected.starts)[1:]


def test_pairs():
    for rng in CASES:
        sets, weights = draw_rows(rng)
        rows = rows_of(sets, weights, N_ITEMS)
        begin = int(rng.integers(0, N_ITEMS))
        size = sum(len(row) for row in sets) * N_ITEMS
        indptr = np.zeros(N_ITEMS - begin + 1, np.int64)
        indices, data = np.empty(size, np.int32), np.empty(size, np.int64)
        counting.pair_supports(rows, begin, indptr, indices, data)
        n = indptr[-1]
        first = np.repeat(np.arange(begin, N_ITEMS), np.diff(indptr))
        found = dict(
            zip(zip(first.tolist(), indices[:n].tolist(), strict=True), data[:n].tolist(), strict=True)
        )
        pairs = {pair: support_of(pair, sets, weights) for pair in combinations(range(N_ITEMS), 2)}
        assert len(found) == n
        assert found == {pair: support for pair, support in pairs.items() if support and pair[0] >= begin}
        dense = counting.count_pairs(*csr(sets), weights, N_ITEMS).reshape(N_ITEMS, N_ITEMS)
        assert {pair: dense[pair] for pair in pairs} == pairs


def test_itemsets():
    for rng in CASES:
        sets, weights = draw_rows(rng)
        rows = rows_of(sets, weights, N_ITEMS)
        wanted = [each for size in range(4) for each in combinations(range(N_ITEMS), size)]
        supports = [support_of(each, sets, weights) for each in wanted]
        assert counting.itemset_supports(*csr(wanted), rows, 2**31).tolist() == supports
        few = counting.itemset_supports(*csr(wanted), rows, 2)  # a count may end at 2
        assert np.minimum(few, 2).tolist() == np.minimum(supports, 2).tolist()
        assert (few <= supports).all()
        some = [wanted[1:][i] for i in rng.integers(0, len(wanted) - 1, 3)]
        held = np.zeros(len(sets), np.uint8)
        counting.mark_itemsets(*csr(some), rows, held)
        assert held.tolist() == [any(set(each) <= set(row) for each in some) for row in sets]


def test_estimates():
    """Each item has its own label and that of a group of two. ``odds`` depend on the items under a label."""
    labels, label_starts = np.array([[i, 4 + i // 2] for i in range(4)], np.int32).ravel(), np.arange(0, 9, 2)
    for rng in CASES:
        sets, weights = draw_rows(rng, 6)
        odds, factors = rng.random((6, 4)), rng.random((4, 2))
        classes = rng.integers(0, 2, len(sets))
        queries = [(), (0,), (0, 1), (0, 2, 3)]
        codes, offsets = csr(queries)
        args = labels, label_starts, odds, rows_of(sets, weights, 6), classes, factors
        found = counting.estimates(codes, offsets, *args)
        for i, query in enumerate(queries):
            total = 0.0
            for row, weight, group in zip(sets, weights, classes, strict=True):
                used = [next((each for each in (item, 4 + item // 2) if each in row), None) for item in query]
                if None not in used:
                    total += weight * factors[i, group] * np.prod([odds[e, used.count(e)] for e in set(used)])
            assert found[i] == pytest.approx(total)


def test_look_up():
    for rng in CASES:
        tables = [rng.integers(0, 9, 3) for _ in range(4)]
        codes = rng.integers(0, 3, (5, 4)).astype(np.int32)
        rows = rng.integers(0, 5, 7)
        found = counting.look_up(np.concatenate(tables), np.arange(0, 12, 3), codes, rows)
        assert found.tolist() == [sum(table[codes[row, i]] for i, table in enumerate(tables)) for row in rows]
