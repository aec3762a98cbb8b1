"""Inferences: compare the search with all itemsets in the rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kernels.arrays import TIMES, draw_rows, lists, rows_of, support_of
from pdanon._kernels import inferences

N_ITEMS = 6
HALT = np.zeros(1, np.bool_)


def draw_cases():
    """Yield distinct rows with items numbered by support, and a share."""
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        drawn = draw_rows(rng, N_ITEMS, 12)
        rows = [list(row) for row in dict.fromkeys(map(tuple, drawn[0]))]
        weights = drawn[1][: len(rows)]
        order = sorted(range(N_ITEMS), key=lambda item: support_of([item], rows, weights))
        rows = [sorted(order.index(item) for item in row) for row in rows]
        above, below = sorted(rng.integers(1, 6, 2).tolist())
        yield rng, rows, weights, above, below + (above == below)


def owners_of(rows, weights, item):
    """Return the rows with the item, sorted by the support of their other items without the item."""
    apart = {}
    for i, row in enumerate(rows):
        if item in row and len(row) > 1:
            rest = [other for other in row if other != item]
            apart[i] = support_of(rest, rows, weights) - support_of(row, rows, weights)
    return sorted(apart, key=apart.get), apart


def test_rows_beyond():
    for _, rows, weights, _, _ in draw_cases():
        pairs = [(i, item) for i, row in enumerate(rows) for item in row]
        owners, items = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
        for begin, end in ((0, len(pairs) // 2), (len(pairs) // 2, len(pairs))):
            together, apart = inferences.rows_beyond(
                rows_of(rows, weights, N_ITEMS), owners, items, begin, end
            )
            expected = []
            for i, item in pairs[begin:end]:
                rest = [other for other in rows[i] if other != item]
                held = support_of(rows[i], rows, weights)
                expected.append((held, support_of(rest, rows, weights) - held) if rest else (0, 0))
            assert list(zip(together.tolist(), apart.tolist(), strict=True)) == expected


@pytest.mark.one_in(2)
@pytest.mark.parametrize("m", [1, 2, 6])
def test_search(m):
    for _, rows, weights, above, below in draw_cases():
        rules = {}
        for item in (0, 3, 5):
            others = [other for other in range(N_ITEMS) if other != item]
            for known in (each for size in range(1, m + 1) for each in combinations(others, size)):
                support, held = support_of(known, rows, weights), support_of([*known, item], rows, weights)
                if held * below > above * support:
                    rules[known, item] = held, support - held
        minimal = {
            rule for rule in rules if not any(set(o) < set(rule[0]) and same == rule[1] for o, same in rules)
        }
        found = search(rows, weights, above, below, m, None)
        assert found.items() <= rules.items()
        assert minimal <= set(found)
        marked = np.zeros(len(rows), np.bool_)
        search(rows, weights, above, below, m, marked)
        assert marked.tolist() == [any(set(known) <= set(row) for known, _ in rules) for row in rows]


def search(rows, weights, above, below, m, marked):
    """Return the rules that the kernel lists for items 0, 3 and 5, with both supports."""
    items = np.array([item for item in (0, 3, 5) if owners_of(rows, weights, item)[0]], np.int32)
    owners, apart, starts = [], [], [0]
    for item in items.tolist():
        listed, of_owner = owners_of(rows, weights, item)
        owners += listed
        apart += [of_owner[owner] for owner in listed]
        starts.append(len(owners))
    supports = np.array([support_of([item], rows, weights) for item in range(N_ITEMS)])
    marks = None if marked is None else inferences.Marks(marked, None)
    arrays = supports, np.array(owners, np.int32), np.array(apart, np.int64)
    kernel = inferences.Inferences(
        rows_of(rows, weights, N_ITEMS), *arrays, above, below, m, marks, np.array([10000]), HALT
    )
    outcome, codes, offsets, together, without = kernel.run(
        items, np.array(starts), np.arange(len(items), dtype=np.int32), 2**40
    )
    sensitive = np.repeat(items, outcome[2])
    rules = zip((tuple(sorted(each)) for each in lists(codes, offsets)), sensitive.tolist(), strict=True)
    return dict(zip(rules, zip(together.tolist(), without.tolist(), strict=True), strict=True))
