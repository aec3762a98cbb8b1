"""Disassociation: clusters of rows and chunks of terms, against naive versions on sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from naive import disassociation as naive

from kernels.arrays import TIMES, csr, draw_rows
from pdanon._kernels import chunks, row_partitions

N_ITEMS = 6


def draw_cases():
    """Rows with terms, some of which have a block."""
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        rows = [row for row in draw_rows(rng, N_ITEMS, 20)[0] if row]
        block = rng.integers(-1, 2, N_ITEMS) if rng.random() < 0.5 else np.full(N_ITEMS, -1)
        blocks = {item: int(number) for item, number in enumerate(block) if number >= 0}
        if rows:
            yield rng, rows, block.astype(np.int32), blocks


def test_split_rows():
    for rng, rows, block, blocks in draw_cases():
        least, most = int(rng.integers(1, 4)), int(rng.integers(4, 9))
        order, starts = row_partitions.split_rows(least, most, *csr(rows), block)
        found = [order[begin:end].tolist() for begin, end in pairwise(starts)]
        assert sorted(order.tolist()) == list(range(len(rows)))
        expected = naive.clusters_of(rows, least, most, blocks)
        assert [sorted(sorted(rows[i]) for i in each) for each in found] == [
            sorted(sorted(row) for row in each) for each in expected
        ]


@pytest.mark.parametrize("safe", [False, True])
def test_split_terms(safe):
    for rng, rows, block, blocks in draw_cases():
        k, m = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        order = rng.permutation(len(rows))
        half = len(rows) // 2
        starts = np.array(sorted({0, half, len(rows)}))
        codes, offsets = csr(rows)
        chunk, n_parts, n_chunks = chunks.split_terms(k, m, safe, order, starts, codes, offsets, block)
        for c, members in enumerate(np.split(order, starts[1:-1])):
            cluster = [frozenset(rows[i]) for i in members]
            found = {}
            for i in members.tolist():
                for place in range(offsets[i], offsets[i + 1]):
                    found.setdefault(int(chunk[place]), set()).add(int(codes[place]))
            expected, rest = naive.chunks_of(cluster, k, m, safe, blocks)
            assert found.pop(0, set()) == set(rest)
            assert [found[number] for number in sorted(found)] == [set(each) for each in expected]
            assert n_chunks[c] == len(expected)
            assert n_parts[c] == sum(bool(row & set(each)) for row in cluster for each in expected)
