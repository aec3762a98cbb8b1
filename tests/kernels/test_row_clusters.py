"""Clusters of rows: compare the nearest rows, the losses of covers, and merges with naive versions."""

from __future__ import annotations

import numpy as np

from kernels.arrays import TIMES, Tree, csr, draw_rows, draw_tree
from pdanon._kernels import row_clusters


def test_nearest_rows():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        n_rows, n_values = int(rng.integers(1, 30)), int(rng.integers(1, 4))
        codes, kinds = np.unique(rng.integers(0, n_values, (n_rows, 2)), axis=0, return_inverse=True)
        kinds, starts = kinds.reshape(-1).astype(np.int64), np.array([0, n_values])
        nearest = row_clusters.NearestRows(np.ascontiguousarray(codes, np.int32), kinds)
        left = list(range(n_rows))
        while left:
            place, k = int(rng.integers(len(left))), int(rng.integers(1, len(left) + 1))
            tables = rng.integers(0, 4, 2 * n_values)
            chosen = nearest.row_at(place)
            assert chosen == left[place]
            far = (tables[starts + codes].sum(axis=1))[kinds].tolist()
            far[chosen] = -1
            expected = sorted(left, key=far.__getitem__)[:k]
            assert set(nearest.take(chosen, tables, starts, k).tolist()) == set(expected)
            left = [row for row in left if row not in expected]
            assert nearest.left.tolist() == left


def draw_lines(rng, n_values):
    """Draw lines of values, and more values, perhaps none."""
    lines = rng.integers(0, n_values, (rng.integers(0, 5), rng.integers(1, 4))).astype(np.int32)
    return np.sort(lines, axis=1), rng.integers(0, n_values, rng.integers(0, 4)).astype(np.int32)


def test_range_losses():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        positions, unit = np.cumsum(rng.integers(0, 3, 4)), 20
        lines, values = draw_lines(rng, 5)  # the last one is missing
        expected = []
        for line in lines.tolist():
            covered = {*line, *values.tolist()}
            spread = (
                positions[max(covered - {4}, default=0)] - positions[min(covered)] if covered != {4} else 0
            )
            expected.append(0 if len(covered) == 1 else unit if 4 in covered else max(spread, 1))
        assert row_clusters.range_losses(lines, values, positions, 1, unit).tolist() == expected


def test_ancestor_losses():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        tree: Tree = draw_tree(rng)
        leaves = np.array(tree.leaves_below[0], np.int64)
        lines, values = draw_lines(rng, len(leaves))
        penalties = rng.integers(0, 99, tree.n)
        sizes = np.array([len(below) for below in tree.below], np.int32)
        expected = []
        for line in lines.tolist():
            covered = {leaves[code] for code in (*line, *values.tolist())}
            common = max(node for node in range(tree.n) if covered <= set(tree.below[node]))
            expected.append(penalties[common])
        shape = leaves, sizes, np.array(tree.parent, np.int32), penalties
        assert row_clusters.ancestor_losses(lines, values, *shape).tolist() == expected


def test_set_losses():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        lines, values = draw_lines(rng, 5)
        prices = rng.integers(0, 99, 6)
        expected = [prices[len({*line, *values.tolist()})] for line in lines.tolist()]
        assert row_clusters.set_losses(lines, values, prices).tolist() == expected


def distance(one, other):
    """Return (different items + 1) / (common items + 1) * items of both."""
    return (len(one ^ other) + 1) * len(one | other) / (len(one & other) + 1)


def test_distances():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        sets, _ = draw_rows(rng, 6, 9)
        rows = np.array(sorted(range(len(sets)), key=lambda i: -len(sets[i])))
        codes, offsets = csr(sets)
        as_sets = [set(row) for row in sets]
        best = float(rng.integers(-1, 20))
        chosen, others = rows[rng.random(len(rows)) < 0.6], rows[rng.random(len(rows)) < 0.6]
        pairs = [distance(as_sets[a], as_sets[b]) for a in chosen for b in others if a != b]
        assert row_clusters.farthest(chosen, others, codes, offsets, best) == max(best, *pairs, best)
        own = max((distance(as_sets[a], as_sets[b]) for a in chosen for b in chosen if a != b), default=0.0)
        groups = [np.sort(each) for each in np.array_split(np.arange(len(others)), 2)]
        members, bounds = np.concatenate([others[each] for each in groups]), np.cumsum([0, *map(len, groups)])
        inner = rng.integers(0, 9, 2).astype(float)
        result = inner.copy()
        row_clusters.joined(chosen, members, bounds, own, codes, offsets, result)
        for i, each in enumerate(groups):
            across = [distance(as_sets[a], as_sets[b]) for a in chosen for b in others[each] if a != b]
            assert result[i] == max(own, inner[i], *across, own)
