"""Cuts of a hierarchy: compare each kernel with all cuts of small random trees."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from kernels import arrays
from kernels.arrays import contained_sets, csr, draw_rows, draw_tree, lists, rows_of, support_of
from pdanon._kernels import cuts

TIMES = 120


class Tree(arrays.Tree):
    """A random tree, with rows of its nodes except the root."""

    def __init__(self, rng):
        super().__init__(draw_tree(rng, 4, 8).parent)
        n = self.n
        self.size = [len(each) for each in self.below]
        self.leaf = [each == 1 for each in self.size]
        self.leaves = [sum(self.leaf[other] for other in each) for each in self.below]
        names = np.flatnonzero(self.leaf)
        rows, self.weights = draw_rows(rng, len(names), 10)
        self.items = [[int(names[i]) for i in row] for row in rows]
        self.sets = [sorted({node for leaf in row for node in self.above[leaf]} - {0}) for row in self.items]
        self.cost = rng.integers(0, 9, n) * (np.array(self.leaves) - 1)
        self.cost = np.array([sum(self.cost[each] for each in below) for below in self.below], np.int64)

    def published(self, cut):
        """Return the rows as nodes of a cut."""
        return [
            sorted({each for leaf in row for each in self.above[leaf] if each in cut}) for row in self.items
        ]

    def support(self, nodes):
        """Return the weight of the rows with an item below each node."""
        return support_of([node for node in nodes if node], self.sets_with_root(nodes), self.weights)

    def sets_with_root(self, nodes):
        return [row if row or 0 not in nodes else [-1] for row in self.sets]

    def state(self, cut):
        in_cut = np.array([node in cut for node in range(self.n)])
        loss = [sum(int(self.cost[each]) for each in below if each in cut) for below in self.below]
        arrays = (np.array(each, np.int32) for each in (self.parent, self.size, self.leaves))
        parent, size, leaves = arrays
        return cuts.State(
            parent=parent,
            size=size,
            leaves=leaves,
            cost=self.cost,
            in_cut=in_cut,
            below=np.array(loss, np.int64),
        )

    def supports(self, *, pairs=True):
        """Return supports with all pairs, or without; the kernels then count pairs on demand."""
        singles = np.array([support_of([node], self.sets, self.weights) for node in range(self.n)], np.int64)
        singles[0] = sum(int(w) for row, w in zip(self.sets, self.weights, strict=True) if row)
        found = sorted(contained_sets(self.sets, [2]))
        partners, starts = csr([[b for a, b in found if a == node] for node in range(self.n)])
        together = np.array([support_of(pair, self.sets, self.weights) for pair in found], np.int64)
        if not pairs:
            starts, partners, together = starts[:0], partners[:0], together[:0]
        return cuts.Supports(
            rows=rows_of(self.sets, self.weights, self.n),
            singles=singles,
            starts=starts,
            partners=partners,
            together=together,
            secret_offsets=np.zeros(len(self.sets) + 1, np.int64),
            secrets=np.empty(0, np.int32),
            n_secrets=0,
            diversity=0,
        )

    def maximal(self, nodes):
        return sorted(node for node in set(nodes) if not set(self.above[node][1:]) & set(nodes))

    def reached(self, nodes):
        if nodes == [0]:
            return sum(int(w) for row, w in zip(self.sets, self.weights, strict=True) if row)
        return support_of(nodes, self.sets, self.weights)

    def generalize(self, nodes, k, cut):
        """Return the cut raised to ancestors of the nodes that are not rare, with the lowest added loss."""
        options = {tuple(self.maximal(up)) for up in product(*(self.above[node] for node in nodes))}
        options = [up for up in options if self.reached(list(up)) >= k]

        def order(up):
            gone = [node for node in cut if set(self.above[node]) & set(up)]
            added = sum(int(self.cost[node]) for node in up) - sum(int(self.cost[node]) for node in gone)
            return added, sum(self.leaves[node] for node in up), up

        up = min(options, key=order)
        return {node for node in cut if not set(self.above[node]) & set(up)} | set(up)


def draw_trees():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        tree = Tree(rng)
        if any(tree.items):
            yield rng, tree, min(int(rng.integers(2, 8)), tree.reached([0]))


def leaves_of(tree):
    return {node for node in range(tree.n) if tree.leaf[node]}


def cut_of(tree, state):
    leaves = np.flatnonzero(tree.leaf).astype(np.int32)
    return set(cuts.node_of(leaves, state).tolist())


def test_lift_all():
    for rng, tree, _ in draw_trees():
        every = tree.all_cuts
        cut = every[rng.integers(len(every))]
        state = tree.state(cut)
        up = {node for node in range(tree.n) if rng.random() < 0.3 and not set(tree.above[node][1:]) & cut}
        cuts.lift_all(np.array(sorted(up), np.int32), state)
        lifted = set(tree.maximal(up))
        expected = {node for node in cut if not set(tree.above[node]) & lifted} | lifted
        assert cut_of(tree, state) == expected
        assert state.loss == sum(tree.cost[node] for node in expected)


@pytest.mark.parametrize("pairs", [False, True])
def test_satisfy_pairs(pairs):
    for _, tree, k in draw_trees():
        cut = leaves_of(tree)
        for node in range(tree.n):
            if node in cut and 0 < tree.reached([node]) < k:
                cut = tree.generalize([node], k, cut)
        more = pairs
        while more:
            more = False
            for a, b in combinations(range(tree.n), 2):
                if {a, b} <= cut and 0 < tree.reached([a, b]) < k:
                    cut, more = tree.generalize([a, b], k, cut), True
        for counted in (True, False):
            state = tree.state(leaves_of(tree))
            cuts.satisfy_pairs(k, pairs, state, tree.supports(pairs=counted))
            assert cut_of(tree, state) == cut


def test_satisfy_itemsets():
    for rng, tree, k in draw_trees():
        names = sorted(leaves_of(tree))
        triples = list(combinations(names, 3))
        sets = [triples[i] for i in rng.integers(0, len(triples), 4)]
        cut = leaves_of(tree)
        for each in sets:
            became = tree.maximal(next(iter(set(tree.above[node]) & cut)) for node in each)
            if 0 < tree.reached(became) < k:
                cut = tree.generalize(became, k, cut)
        state = tree.state(leaves_of(tree))
        cuts.satisfy_itemsets(k, *csr(sets), state, tree.supports())
        assert cut_of(tree, state) == cut


def is_safe(tree, cut, k, largest):
    rows = tree.published(cut)
    return all(
        support_of(each, rows, tree.weights) >= k for each in contained_sets(rows, range(1, largest + 1))
    )


def meets(tree, cut, demand):
    """Return whether the cut contains a node of the demand, or an ancestor of one."""
    return any(set(tree.above[node]) & cut for node in demand)


@pytest.mark.parametrize("pairs", [False, True])
def test_first_demands(pairs):
    """A cut meets all demands exactly if it has no rare node, and with ``pairs`` no rare pair of nodes."""
    for _, tree, k in draw_trees():
        parent, size = np.array(tree.parent, np.int32), np.array(tree.size, np.int32)
        supports = tree.supports()
        forced = cuts.forced_nodes(k, pairs, parent, size, supports)
        demands = [[node] for node in np.flatnonzero(forced)]
        if pairs:
            demands += cuts.pair_demands(k, forced, parent, size, supports).reshape(-1, 2).tolist()
        for cut in tree.all_cuts:
            assert all(meets(tree, cut, each) for each in demands) == is_safe(tree, cut, k, 2 if pairs else 1)


def test_set_demands():
    """Each safe cut meets the demands. A cut that meets them publishes none of the sets."""
    for rng, tree, k in draw_trees():
        parent, size = np.array(tree.parent, np.int32), np.array(tree.size, np.int32)
        triples = contained_sets(tree.items, [3])
        rare = sorted(each for each in triples if support_of(each, tree.items, tree.weights) < k)
        sets = [rare[i] for i in rng.permutation(len(rare))[:5]]
        found = lists(*cuts.set_demands(k, *csr(sets), parent, size, tree.supports()))
        for cut in tree.all_cuts:
            is_met = all(meets(tree, cut, each) for each in found)
            if is_safe(tree, cut, k, 3):
                assert is_met
            if is_met:
                assert not any(set(each) <= cut for each in sets)


def test_node_counts():
    for seed in range(TIMES):
        tree = Tree(np.random.default_rng(seed))
        expected = [
            {node: n for node in range(tree.n) if (n := len(set(row) & set(tree.leaves_below[node])))}
            for row in tree.items
        ]
        leaves, offsets = csr(tree.items)
        sizes, nodes, counts = cuts.node_counts(offsets, leaves, np.array(tree.parent, np.int32))
        assert sizes.tolist() == [len(each) for each in expected]
        assert nodes.tolist() == [node for each in expected for node in each]
        assert counts.tolist() == [n for each in expected for n in each.values()]
