"""Disassociation: compare clusters, chunks of terms and joint clusters with naive versions on sets."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from naive import cahd, disassociation as naive

from kernels.arrays import TIMES, arrays_of, csr, draw_rows
from pdanon._kernels import chunks, row_clusters, row_partitions

N_ITEMS = 6


def draw_cases():
    """Yield rows of terms; some of the terms have a block."""
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
        order, starts = row_clusters.split_rows(least, most, *csr(rows), block)
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
        state = chunks.Clusters(k, m, safe, order, starts, codes, offsets, block)
        state.split_terms()
        for c, members in enumerate(np.split(order, starts[1:-1])):
            cluster = [frozenset(rows[i]) for i in members]
            found = {}
            for i in members.tolist():
                for place in range(offsets[i], offsets[i + 1]):
                    found.setdefault(int(state.chunk_of[place]), set()).add(int(codes[place]))
                    assert state.owner_of[place] == c
            expected, rest = naive.chunks_of(cluster, k, m, safe, blocks)
            assert found.pop(0, set()) == set(rest)
            assert [found[number] for number in sorted(found)] == [set(each) for each in expected]
            places = slice(state.first[c], state.first[c] + state.length[c])
            assert list(state.items)[places] == sorted(frozenset().union(*cluster))
            assert list(state.open)[places] == [item in rest for item in list(state.items)[places]]


def letters(row):
    """Return the terms of a row by the names of the naive version."""
    return frozenset("abcdef"[item] for item in row)


def naive_group(rows, k, m, safe, blocks):
    """Return a cluster as a group of its own."""
    found, terms = naive.chunks_of(rows, k, m, safe, blocks)
    needs = not found or naive.is_short(rows, found, k, m)
    cluster = {"rows": rows, "chunks": found, "terms": {*terms}, "first terms": {*terms}, "needs": needs}
    return naive.Group([cluster], {*terms}, {*frozenset().union(*found)})


@pytest.mark.parametrize("safe", [False, True])
def test_joint_clusters(safe):
    made = 0
    for rng, rows, block, blocks in draw_cases():
        blocks = {"abcdef"[item]: number for item, number in blocks.items()}
        k, m = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        codes, offsets = csr(rows)
        order = rng.permutation(len(rows))
        starts = np.unique([0, *rng.integers(0, len(rows), 4), len(rows)])
        clusters = [[letters(rows[i]) for i in each] for each in np.split(order, starts[1:-1])]
        groups = [naive_group(each, k, m, safe, blocks) for each in clusters]
        state = chunks.Clusters(k, m, safe, order, starts, codes, offsets, block)
        state.split_terms()
        parent = [-1] * len(groups)
        for _ in range(3):
            turns = rng.permutation([number for number, above in enumerate(parent) if above < 0])
            at, before = 0, len(groups)
            while at + 1 < len(turns):
                one, other = turns[at : at + 2]
                new = naive.join(groups[one], groups[other], k, m, safe, blocks)
                at += 1 if new is None else 2
                if new is not None:
                    parent[one] = parent[other] = len(groups)
                    groups.append(new)
                    parent.append(-1)
            assert state.join_neighbours(turns) == len(groups) - before
            made += len(groups) - before
        assert state.n_groups == len(groups)
        assert list(state.parent)[: len(groups)] == parent
        assert list(state.size)[: len(groups)] == [len(group.rows) for group in groups]
        shared = {}
        for owner, number, item in zip(state.owner_of, state.chunk_of, codes, strict=True):
            if owner >= len(clusters):
                shared.setdefault(owner, {}).setdefault(int(number), set()).add("abcdef"[item])
        for number, group in enumerate(groups):
            found = shared.get(number, {})
            assert [found[each] for each in sorted(found)] == group.shared
            places = range(state.first[number], state.first[number] + state.length[number])
            assert {"abcdef"[state.items[place]] for place in places if state.open[place]} == group.open
            assert state.n_open[number] == len(group.open)
    assert made > 20


# --- Groups around sensitive items


@pytest.mark.parametrize("nearest", [False, True])
def test_form(nearest):
    formed = 0
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        rows = [frozenset(row) for row in draw_rows(rng, 8, 24)[0]]
        sensitive = frozenset(range(6, 8))
        p, alpha = (int(each) for each in rng.integers([2, 1], [5, 4]))
        public, hidden = [sorted(row - sensitive) for row in rows], [sorted(row & sensitive) for row in rows]
        secrets, secret_offsets = csr([[item - 6 for item in row] for row in hidden])
        table = arrays_of(public, np.ones(len(rows), np.int64), 6)
        items = [table[name] for name in ("offsets", "codes", "starts", "tids")]
        left = np.array([sum(item in row for row in hidden) for item in (6, 7)])
        width = min(alpha * p, len(rows))
        state = row_partitions.SensitiveGroups(p, width, *items, secret_offsets, secrets, left, nearest)
        while row_partitions.form(int(rng.integers(1, 5)), state):
            pass
        found = {}
        for row, group in enumerate(state.group_of):
            found.setdefault(group, []).append(row)
        rest = [found.pop(-1)] if -1 in found else []
        expected = cahd.groups(rows, sensitive, p, alpha, nearest=nearest)
        assert [found[number] for number in range(len(found))] + rest == [sorted(each) for each in expected]
        formed += len(found)
    assert formed > 50
