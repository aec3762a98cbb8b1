"""Cuts with the lowest loss: compare kernels with all sets of nodes."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from kernels.arrays import TIMES, csr, draw_rows, lists, rows_of, support_of
from kernels.test_cuts import Tree
from pdanon._kernels import cut_search

N_ITEMS = 6
HALT = np.zeros(1, np.bool_)
# Nodes are ranges of leaves: single leaves, then pairs, then all leaves.
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
    """Each threat found is rare and contains a pivot. The kept nodes contain no threat with a pivot."""
    for rng, sets, weights in draw_cases():
        nodes = np.sort([6, 2, 3, 8] if rng.random() < 0.5 else [0, 1, 7, 4, 5])
        n, size, k = len(nodes), int(rng.integers(2, 5)), int(rng.integers(2, 6))
        held = [nodes_in(row, nodes) for row in sets]
        singles = [support_of([place], held, weights) for place in range(n)]
        if any(0 < support < k for support in singles):
            continue  # the caller removes rare nodes first
        rank, pivots = rng.permutation(n), np.flatnonzero(rng.random(n) < 0.6)
        ranges = FIRST.copy(), LAST.copy()
        rows = rows_of(sets, weights, N_ITEMS)
        arguments = size, k, nodes, pivots, rank, *ranges, rows, HALT
        codes, offsets, kept, longest = cut_search.find_threats(*arguments)

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
        known = *csr(threats), newest, before
        found, reached = cut_search.keep(
            order, cut, rare, np.zeros(n, np.bool_), penalty, cost, bound, *known
        )
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


# --- Clauses


class Nodes:
    """A tree, its nodes that may be published, and the paths between them."""

    def __init__(self, rng):
        self.tree = tree = Tree(rng)
        self.k = int(rng.integers(2, 9))
        self.fit = [node > 0 and rng.random() < 0.8 for node in range(tree.n)]
        self.up = [next((each for each in above[1:] if self.fit[each]), -1) for above in tree.above]
        self.arrays = np.array(self.up, np.int32), np.array(tree.size, np.int32)

    def path(self, lower, upper=None):
        """Return the publishable nodes from a node up to an upper one, or to the top."""
        found = [node for node in self.tree.above[lower] if node == lower or self.fit[node]]
        return found if upper is None else found[: found.index(upper) + 1]

    def is_rare(self, nodes):
        """Return whether a set of nodes, none above another, is rare."""
        apart = all(
            a not in self.tree.above[b] and b not in self.tree.above[a] for a, b in combinations(nodes, 2)
        )
        return apart and 0 < support_of(nodes, self.tree.sets, self.tree.weights) < self.k


def test_pair_clauses():
    """Clauses are the largest rectangles of rare pairs above a lowest rare pair, and cover all rare pairs."""
    clauses = 0
    for seed in range(TIMES):
        nodes = Nodes(np.random.default_rng(seed))
        fit = [node for node in range(nodes.tree.n) if nodes.fit[node]]
        rare = {pair for pair in combinations(fit, 2) if nodes.is_rare(pair)}

        def rectangle(a, top_a, b, top_b, nodes=nodes):
            return {tuple(sorted(each)) for each in product(nodes.path(a, top_a), nodes.path(b, top_b))}

        expected = []
        for a, b in rare:
            lower = {(c, b) for c in fit if nodes.up[c] == a} | {(a, c) for c in fit if nodes.up[c] == b}
            if {tuple(sorted(each)) for each in lower} & rare:
                continue
            every = [(a, top_a, b, top_b) for top_a, top_b in product(nodes.path(a), nodes.path(b))]
            every = [each for each in every if rectangle(*each) <= rare]
            expected += [e for e in every if not any(rectangle(*e) < rectangle(*other) for other in every)]
        arguments = nodes.k, np.array(nodes.fit), *nodes.arrays, nodes.tree.supports()
        found = [tuple(each) for each in cut_search.pair_clauses(*arguments).reshape(-1, 4).tolist()]
        assert sorted(found) == sorted(expected)
        assert set().union(*(rectangle(*each) for each in found)) == rare
        clauses += len(found)
    assert clauses > 100


def test_set_clauses():
    """Each clause forbids only rare sets, as many as it can, and the given set."""
    clauses = 0
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        nodes = Nodes(rng)
        tree, fit = nodes.tree, [node for node in range(nodes.tree.n) if nodes.fit[node]]
        every = [each for size in (2, 3, 4) for each in combinations(fit, size) if nodes.is_rare(each)]
        sets = [every[i] for i in rng.permutation(len(every))[:6]]
        arguments = nodes.k, *csr(sets), np.array(nodes.fit), *nodes.arrays, tree.supports()
        found = [
            list(zip(each[::2], each[1::2], strict=True))
            for each in lists(*cut_search.set_clauses(*arguments))
        ]
        begin = 0
        for each in sets:
            tops = [top for _, top in found[begin]]
            rows = [row for row in tree.sets if set(tops) <= set(row)]
            assert nodes.is_rare(tops)
            for i, top in enumerate(tops):  # not rare without the node, or with the next one above it
                rest = tops[:i] + tops[i + 1 :]
                assert not rest or support_of(rest, tree.sets, tree.weights) >= nodes.k
                assert nodes.up[top] < 0 or not nodes.is_rare([*rest, nodes.up[top]])
            parts = [[node for node in each if top in nodes.path(node)] for top in tops]
            assert all(parts)  # the set has a node on each path
            for clause, row in zip(found[begin : begin + len(rows)], rows, strict=True):
                for (lower, top), part in zip(clause, parts, strict=True):
                    assert lower in row
                    assert top in nodes.path(lower)
                    assert not any(lower in tree.above[node][1:] and nodes.fit[node] for node in row)
                    if len(part) == 1 and part[0] in row:
                        assert part[0] in nodes.path(lower, top)
            begin += len(rows)
        assert begin == len(found)
        clauses += len(found)
    assert clauses > 100
