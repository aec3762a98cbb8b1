"""Exposure of single rows: compare with the supports of all itemsets of a row."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kernels.arrays import TIMES, csr, draw_rows
from pdanon._kernels.counting import join_rows
from pdanon._kernels.exposure import RowSearch

N_ITEMS = 7
PLENTY = 10**9


def draw_case(seed, n_rows=15):
    """Return rows, weights and hidden items."""
    rng = np.random.default_rng(seed)
    rows, weights = draw_rows(rng, N_ITEMS, n_rows)
    return rng, rows, weights, rng.random(N_ITEMS) < 0.2


def search(rows, weights, hidden, chosen, thresholds, least, m, work=PLENTY):
    codes, offsets = csr(rows)
    supports = np.bincount(codes, np.repeat(weights, np.diff(offsets)), N_ITEMS).astype(np.int64)
    asked = np.array(chosen, np.int64), m, work, codes, offsets, weights, supports, hidden
    return RowSearch(*asked).smallest_rare(np.array(thresholds, np.int64), least)


def smallest(row, rows, weights, hidden, k, m):
    """Return the size of the smallest visible itemset of a row with a support below k, up to m; else 0."""
    visible = [item for item in row if not hidden[item]]
    for size in range(1, m + 1):
        for each in combinations(visible, size):
            if sum(int(w) for other, w in zip(rows, weights, strict=True) if {*each} <= {*other}) < k:
                return size
    return 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_empty", [0, 300, 900])  # the more rows, the fewer items have bitmaps
def test_smallest_rare_itemset_of_rows(n_empty):
    for seed in range(TIMES):
        rng, rows, weights, hidden = draw_case(seed)
        k, m = int(rng.integers(2, 8)), int(rng.integers(1, 6))
        chosen = rng.permutation(len(rows)).tolist()
        padded = rows + [[]] * n_empty, np.append(weights, np.ones(n_empty, np.int64))
        found = search(*padded, hidden, chosen, [k, 2], 1, m)
        for row, sizes in zip(chosen, found.tolist(), strict=True):
            expected = [smallest(rows[row], rows, weights, hidden, least, m) for least in (k, 2)]
            assert sizes == expected


def test_no_smaller_size_is_searched_than_is_known():
    for seed in range(TIMES):
        _, rows, weights, hidden = draw_case(seed)
        k, m = 4, 3
        known = [smallest(row, rows, weights, hidden, k, m) for row in rows]
        safe = [row for row in range(len(rows)) if known[row] != 1]
        found = search(rows, weights, hidden, safe, [k], 2, m)
        assert found.ravel().tolist() == [known[row] for row in safe]


def test_search_ends_in_the_same_row_with_the_same_work():
    _, rows, weights, hidden = draw_case(0, n_rows=200)
    whole = search(rows, weights, hidden, range(len(rows)), [5, 2], 1, 3)
    lengths = []
    for work in (0, 10**3, 10**4, 10**5, 10**6):
        found = search(rows, weights, hidden, range(len(rows)), [5, 2], 1, 3, work)
        assert (found == whole[: len(found)]).all()
        lengths.append(len(found))
    assert lengths == sorted(lengths)
    assert lengths[0] == 0
    assert 0 < lengths[2] < lengths[-1] == len(rows)


@pytest.mark.parametrize("seed", range(TIMES))
def test_joint_rows_hold_the_extended_items_whose_label_they_hold(seed):
    draw = np.random.default_rng(seed)
    n_rows, n_before, n_labels = draw.integers(1, 6, 3)
    rows = [sorted(np.flatnonzero(draw.random(n_before) < 0.5)) for _ in range(n_rows)]
    labels = [sorted(np.flatnonzero(draw.random(n_labels) < 0.5)) for _ in range(n_rows)]
    alone = np.flatnonzero(draw.random(n_labels) < 0.3)
    drawn = [(code, draw.integers(-1, n_labels)) for code in range(n_before) for _ in range(draw.integers(3))]
    pairs = sorted({*drawn})
    first_known = np.full(n_labels, -1, np.int32)
    first_known[alone] = np.arange(len(alone))
    starts = len(alone) + np.searchsorted([c for c, _ in pairs], np.arange(n_before + 1))
    needed = np.array([*alone, *(label for _, label in pairs)], np.int32)
    codes, offsets = join_rows(*csr(rows), *csr(labels), starts.astype(np.int64), needed, first_known)
    for row, own, found in zip(rows, labels, np.split(codes, offsets[1:-1]), strict=True):
        expected = [code for code, label in enumerate(alone) if label in own]
        for code, (before, label) in enumerate(pairs, len(alone)):
            if before in row and (label < 0 or label in own):
                expected.append(code)
        assert found.tolist() == expected
