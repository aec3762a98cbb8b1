"""Cuts of least loss: kernels against all sets of nodes."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kernels.arrays import TIMES, csr, draw_rows, lists, rows_of, support_of
from pdanon._kernels import cut_search

N_ITEMS = 6
HALT = np.zeros(1, np.bool_)
# Nodes are ranges of leaves: the leaves, then two or three of them, then all.
FIRST = np.array([0, 1, 2, 3, 4, 5, 0, 2, 4, 0])
LAST = np.array([1, 2, 3, 4, 5, 6, 2, 4, 6, 6])


def draw_cases():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        yield rng, *draw_rows(rng, N_ITEMS, 12)


def nodes_in(row, nodes):
    return [i for i, node in enumerate(nodes) if any(FIRST[node] <= leaf < LAST[node] for leaf in row)]


def test_node_supports():
    for _, sets, weights in draw_cases():
        found = cut_search.node_supports(FIRST, LAST, rows_of(sets, weights, N_ITEMS))
        held = [nodes_in(row, range(len(FIRST))) for row in sets]
        assert found.tolist() == [support_of([node], held, weights) for node in range(len(FIRST))]


def test_find_threats():
    """All that is found is rare and holds a pivot; nothing of that kind is left among the nodes kept."""
    for rng, sets, weights in draw_cases():
        nodes = np.sort([6, 2, 3, 8] if rng.random() < 0.5 else [0, 1, 7, 4, 5])
        n, size, k = len(nodes), int(rng.integers(2, 5)), int(rng.integers(2, 6))
        held = [nodes_in(row, nodes) for row in sets]
        singles = [support_of([place], held, weights) for place in range(n)]
        if any(0 < support < k for support in singles):
            continue  # rare nodes are left out before
        rank, pivots = rng.permutation(n), np.flatnonzero(rng.random(n) < 0.6)
        ranges = FIRST.copy(), LAST.copy()
        rows = rows_of(sets, weights, N_ITEMS)
        asked = size, k, nodes, pivots, rank, *ranges, rows, HALT
        codes, offsets, kept, longest = cut_search.find_threats(*asked)

        def is_threat(each, held=held, weights=weights, k=k, pivots=pivots):
            return 0 < support_of(each, held, weights) < k and set(each) & set(pivots.tolist())

        found = lists(codes, offsets)
        assert all(is_threat(each) and len(each) <= size for each in found)
        assert set(np.flatnonzero(~kept)) == {max(each, key=lambda place: rank[place]) for each in found}
        places = np.flatnonzero(kept).tolist()
        assert not any(is_threat(each) for i in range(2, size + 1) for each in combinations(places, i))
        assert longest <= max(map(len, held))


def test_keep():
    for rng, _, _ in draw_cases():
        n = 7
        order = rng.permutation(n)
        place = np.argsort(order)
        threats = [sorted(rng.choice(n, rng.integers(2, 4), replace=False).tolist()) for _ in range(5)]
        cut, rare = rng.random(n) < 0.8, rng.random(n) < 0.2
        penalty, bound, cost = rng.integers(0, 9, n), int(rng.integers(5, 40)), 3
        newest, before = np.full(n, -1), np.full(len(threats), -1)
        for i, threat in enumerate(threats):
            last = max(threat, key=lambda node: place[node])
            newest[last], before[i] = i, newest[last]
        codes, offsets = csr(threats)
        known = cut_search.Threats(codes=codes, offsets=offsets, newest=newest, before=before)
        found, reached = cut_search.keep(order, cut, rare, np.zeros(n, np.bool_), penalty, cost, bound, known)
        kept = set()
        for node in order.tolist():
            if not cut[node] or rare[node]:
                continue
            if not any(set(threat) <= kept | {node} for threat in threats if node in threat):
                kept.add(node)
                continue
            cost += int(penalty[node])
            if cost >= bound:
                break
        assert (set(np.flatnonzero(found)), reached) == (kept, cost)
