"""Groups of rows published with the same nodes: compare each kernel with rows that are counted again."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from kernels.arrays import TIMES, csr, draw_tree
from pdanon._kernels import row_groups


class Rows:
    """Non-empty rows of leaves of a random tree, and the number of leaves of each row below each node."""

    def __init__(self, rng, most=9):
        self.tree = tree = draw_tree(rng)
        leaves = np.array(tree.leaves_below[0])
        self.sets = [
            sorted(rng.choice(leaves, rng.integers(1, len(leaves) + 1), replace=False).tolist())
            for _ in range(rng.integers(2, most))
        ]
        self.sets.sort(key=len, reverse=True)  # as Clump takes them
        self.counts = [
            {node: n for node in range(tree.n) if (n := len(set(row) & set(tree.leaves_below[node])))}
            for row in self.sets
        ]
        self.starts = np.cumsum([0, *map(len, self.counts)])
        self.nodes = np.array([node for each in self.counts for node in each], np.int32)
        self.numbers = np.array([n for each in self.counts for n in each.values()], np.int32)
        self.lengths = np.array([len(row) for row in self.sets])

    def bag(self, members):
        """Return the nodes that all members have, with the smallest count of each."""
        nodes = set.intersection(*(set(self.counts[row]) for row in members))
        return {node: min(self.counts[row][node] for row in members) for node in sorted(nodes)}

    def own(self, members):
        """Return the number of copies of each node that are published: those that no child takes."""
        bag, parent = self.bag(members), self.tree.parent
        return {node: n - sum(bag[each] for each in bag if parent[each] == node) for node, n in bag.items()}

    def assigned(self, members):
        """Return the node of each leaf of each member; the lowest nodes take the first free leaves."""
        own = self.own(members)
        found = {row: dict.fromkeys(self.sets[row], -1) for row in members}
        for row, node in product(members, sorted(own, reverse=True)):
            below = [leaf for leaf in self.tree.leaves_below[node] if found[row].get(leaf, 0) < 0]
            found[row] |= dict.fromkeys(below[: own[node]], node)
        return found

    def cut(self, members):
        """Return the nodes of the members at the lowest cut where their nodes are equal."""

        def nodes_of(row, cut):
            return {node for leaf in self.sets[row] for node in self.tree.above[leaf]} & cut

        equal = [
            cut for cut in self.tree.all_cuts if len({frozenset(nodes_of(row, cut)) for row in members}) == 1
        ]
        best = max(equal, key=len)
        return {
            row: {
                leaf: next(node for node in self.tree.above[leaf] if node in best) for leaf in self.sets[row]
            }
            for row in members
        }


# --- Clump


def clump(rows, weight, scale, k, r, ahead, increase, groups):
    """Put each row into the nearest group; a group is a list of row numbers, its seed first."""
    group_of = [
        next((g for g, each in enumerate(groups) if row in each), -1) for row in range(len(rows.sets))
    ]

    def distortion(members):
        saved = sum(n * weight[node] for node, n in rows.bag(members).items())
        return scale * sum(rows.lengths[row] for row in members) - len(members) * saved

    filling = any(len(group) < k for group in groups)
    while -1 in group_of:
        waiting = [row for row, group in enumerate(group_of) if group < 0]
        filling = filling and any(len(group) < k for group in groups)
        opened = [g for g, group in enumerate(groups) if len(group) < k or not filling]
        opened.sort(key=lambda g: groups[g][0] < waiting[0])  # in a ring, from the row on
        costs = {
            g: distortion([*groups[g], waiting[0]]) - (distortion(groups[g]) if increase else 0)
            for g in opened[:r]
        }
        best = min(costs, key=lambda g: (costs[g], g))
        others = waiting[1 : ahead + 1] if filling else []
        row = min([waiting[0], *others], key=lambda row: distortion([*groups[best], row]))
        groups[best].append(row)
        group_of[row] = best
    return group_of


@pytest.mark.parametrize("increase", [False, True])
def test_clump_and_assign(increase):
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        rows = Rows(rng, 14)
        n, tree = len(rows.sets), rows.tree
        k, r, ahead = (int(each) for each in rng.integers([1, 1, 0], [5, 5, 4]))
        seeds = np.flatnonzero(rng.random(n) < 0.3)
        seeds = seeds if len(seeds) else np.array([0])
        group_of = np.full(n, -1)
        group_of[seeds] = np.arange(len(seeds))
        weight, scale = rng.integers(0, 5, tree.n), int(rng.integers(1, 6))
        groups = [[int(row)] for row in seeds]
        expected = clump(rows, weight.tolist(), scale, k, r, ahead, increase, groups)
        nodes, numbers = rows.nodes.copy(), rows.numbers.copy()
        clumps = row_groups.Clumps(scale, weight, rows.starts, nodes, numbers, rows.lengths, group_of, seeds)
        while row_groups.clump(k, r, ahead, increase, int(rng.integers(1, 9)), clumps):
            pass
        assert group_of.tolist() == expected
        ends = np.asarray(clumps.ends)
        for group, row, end in zip(groups, seeds, ends, strict=True):
            places = slice(rows.starts[row], end)
            assert dict(zip(nodes[places].tolist(), numbers[places].tolist(), strict=True)) == rows.bag(group)
        codes, offsets = csr(rows.sets)
        parent = np.array(tree.parent, np.int32)
        found = row_groups.assign(group_of, offsets, codes, parent, rows.starts, nodes, numbers, seeds, ends)
        for group in groups:
            for row, became in rows.assigned(group).items():
                assert found[offsets[row] : offsets[row + 1]].tolist() == list(became.values())


# --- Moves


class Groups:
    """Groups by the number of each row. Each loss is computed again."""

    def __init__(self, rng, rows, bags):
        self.rows, self.bags, tree = rows, bags, rows.tree
        most = len(tree.leaves_below[0])
        base = int(rng.integers(0, 2))
        size = np.array([len(each) for each in tree.leaves_below])
        self.price = np.append(np.where(size == 1, 0, size - base), max(most - base, 1))
        labels = rng.integers(0, rng.integers(2, 5), len(rows.sets))
        self.group_of = np.unique(labels, return_inverse=True)[1].tolist()

    def members(self, group):
        return [row for row, each in enumerate(self.group_of) if each == group]

    @property
    def n(self):
        return max(self.group_of) + 1

    def cost(self, members):
        if not members:
            return 0
        nodes = (self.rows.assigned if self.bags else self.rows.cut)(members)
        return sum(int(self.price[node]) for each in nodes.values() for node in each.values())

    def holders(self):
        """Return, for each node, the groups with the node in all rows."""
        bags = [self.rows.bag(self.members(group)) for group in range(self.n)]
        return [[group for group in range(self.n) if node in bags[group]] for node in range(self.rows.tree.n)]

    def nearest(self, row, tried, looked_at):
        """Return the groups with the most in common, found by the nodes in the fewest groups."""
        holders, parent = self.holders(), self.rows.tree.parent
        counts, own = self.rows.counts[row], self.group_of[row]
        shared = {}
        for length in sorted({len(holders[node]) for node in counts} - {0}):
            if len(shared) == looked_at:
                break
            for node in [node for node in counts if len(holders[node]) == length]:
                above = self.price[-1] if node == 0 else self.price[parent[node]]
                for group in holders[node]:
                    if group != own and (group in shared or len(shared) < looked_at):
                        shared[group] = shared.get(group, 1) + counts[node] * (above - self.price[node])
        return sorted(shared, key=lambda group: -shared[group])[:tried]

    def options(self, row, k, most, groups):
        """Yield the gain of each move of a row to one of the groups, and of each swap with a row there."""
        own = self.group_of[row]
        rest = [each for each in self.members(own) if each != row]
        if self.cost([*rest, row]) == 0 or len(rest) + 1 > most:
            return
        for group in groups:
            others = self.members(group)
            before = self.cost([*rest, row]) + self.cost(others)
            if len(others) > most and self.cost(others):
                continue
            if len(rest) + 1 > k:
                yield before - self.cost(rest) - self.cost([*others, row]), {row: group}
            for other in others if self.cost(others) else []:
                left = [each for each in others if each != other]
                yield before - self.cost([*rest, other]) - self.cost([*left, row]), {row: group, other: own}

    def state(self, tried, looked_at):
        rows, tree = self.rows, self.rows.tree
        after = np.zeros(len(rows.sets), np.int64)
        for group in range(self.n):
            members = self.members(group)
            after[members] = members[1:] + members[:1]
        return row_groups.Groups(
            bags=self.bags,
            starts=rows.starts,
            nodes=rows.nodes,
            counts=rows.numbers,
            parent=np.array(tree.parent, np.int32),
            size=np.array([len(each) for each in tree.below], np.int32),
            price=self.price,
            group_of=np.array(self.group_of),
            after=after,
            first=np.array([self.members(group)[0] for group in range(self.n)]),
            sizes=np.bincount(self.group_of),
            tried=tried,
            looked_at=looked_at,
        )


@pytest.mark.parametrize("bags", [False, True])
def test_move_rows(bags):
    """Each turn is a move or swap with the largest gain, and the losses stay current."""
    moves = 0
    for seed in range(TIMES // 2):
        rng = np.random.default_rng(seed)
        rows = Rows(rng)
        groups = Groups(rng, rows, bags)
        tried, looked_at = (int(each) for each in rng.integers(1, 5, 2))
        k, most = int(rng.integers(1, 4)), int(rng.integers(2, 9))
        state = groups.state(tried, looked_at)
        partners = len(rows.sets)
        for row in rng.permutation(len(rows.sets)).tolist():
            assert list(state.cost) == [groups.cost(groups.members(group)) for group in range(groups.n)]
            if groups.cost(groups.members(groups.group_of[row])) == 0:
                continue
            options = list(groups.options(row, k, most, groups.nearest(row, tried, looked_at)))
            best = max([0, *(gain for gain, _ in options)])
            holders, bounds = csr(groups.holders())
            found = row_groups.move_rows(
                k, np.array([row]), partners, most, bounds, holders.astype(np.int64), state
            )
            assert found == best
            after = list(state.group_of)
            changed = {i: group for i, group in enumerate(after) if group != groups.group_of[i]}
            assert (best, changed) in options if best else not changed
            groups.group_of = after
            moves += best > 0
    assert moves > 10


@pytest.mark.parametrize("bags", [False, True])
def test_nodes_of_groups(bags):
    for seed in range(TIMES // 2):
        rng = np.random.default_rng(seed)
        rows = Rows(rng)
        groups = Groups(rng, rows, bags)
        state = groups.state(1, 1)
        least = row_groups.least_counts(state)
        cut = row_groups.cut_nodes(*reversed(csr(rows.sets)), state)
        firsts = {groups.members(group)[0]: group for group in range(groups.n)}
        offsets = csr(rows.sets)[1]
        nodes = {row: each for g in range(groups.n) for row, each in rows.cut(groups.members(g)).items()}
        for row, (begin, end) in enumerate(pairwise(rows.starts)):
            bag = rows.bag(groups.members(firsts[row])) if row in firsts else rows.counts[row]
            assert least[begin:end].tolist() == [bag.get(node, 0) for node in rows.counts[row]]
            assert cut[offsets[row] : offsets[row + 1]].tolist() == list(nodes[row].values())
