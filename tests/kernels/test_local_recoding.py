"""Local recoding: compare each kernel with rows that are published and counted again each time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from naive import groups as naive

from kernels.arrays import TIMES, csr, draw_rows, draw_tree, rows_of
from pdanon._kernels import local_recoding

# --- Partition


def test_partition():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        tree, k = draw_tree(rng, 3, 8), int(rng.integers(1, 5))
        leaves = tree.leaves_below[0]
        rows = [[leaves[i] for i in row] for row in draw_rows(rng, len(leaves), 16)[0]]

        def named(node, tree=tree):
            return node, [named(each) for each in tree.children(node)] or None

        expected = naive.Partition([frozenset(row) for row in rows], named(0), k)
        silent = naive.silent(rows, k)
        members = np.array([row for row in range(len(rows)) if row not in silent], np.int64)
        codes, offsets = csr(rows)
        nodes = np.zeros(len(codes), np.int32)
        size = np.array([len(below) for below in tree.below], np.int32)
        weight = np.array([len(below) if len(below) > 1 else 0 for below in tree.leaves_below])
        depth = np.array([len(above) - 1 for above in tree.above], np.int32)
        path = np.zeros((depth.max() + 1, tree.n), np.int32)  # the ancestor at each depth
        for node in range(tree.n):
            path[: depth[node] + 1, node] = tree.above[node][::-1]
        arguments = k, members, offsets, codes, nodes, weight, depth, path, size
        found = local_recoding.Parts(*arguments).split()
        parts = {}
        for row, part in enumerate(found):
            parts.setdefault(part, []).append(row)
        assert parts.pop(-1, []) == sorted(silent)
        assert sorted(parts.values()) == sorted(expected.groups)
        for row in members:
            published = {~node for node in nodes[offsets[row] : offsets[row + 1]].tolist()}
            assert published == expected.published[row]


# --- Cuts of blocks


class Blocks:
    """Items of blocks of rows, and the node of each item. Each support is counted in all rows."""

    def __init__(self, rng, n_blocks):
        self.tree = tree = draw_tree(rng, 3, 6)
        self.leaves = tree.leaves_below[0]
        self.rows, self.weights = draw_rows(rng, len(self.leaves), 12)
        self.block = rng.integers(0, n_blocks, len(self.rows)).tolist()
        self.k, self.depth = (int(each) for each in rng.integers([2, 0], [6, 3]))
        self.whole, self.drop = rng.random() < 0.3, rng.random() < 0.5
        self.depth = 0 if self.whole else self.depth
        size = np.array([len(below) for below in tree.leaves_below])
        self.price = np.append(np.where(size == 1, 0, size), len(self.leaves) + 1)
        every = list(tree.all_cuts)
        cuts = [every[i] for i in rng.integers(0, len(every), n_blocks)]
        gone = [{node for node in cut if rng.random() < 0.2} for cut in cuts]
        self.became = [
            [
                next(-1 if node in out else node for node in tree.above[leaf] if node in cut)
                for leaf in self.leaves
            ]
            for cut, out in zip(cuts, gone, strict=True)
        ]

    def items(self, node):
        return [item for item, leaf in enumerate(self.leaves) if leaf in self.tree.leaves_below[node]]

    def labels(self, became):
        return [
            {became[block][item] for item in row} - {-1}
            for row, block in zip(self.rows, self.block, strict=True)
        ]

    def is_safe(self, node, became):
        """Return whether no set of the label and other labels that the state checks is rare."""
        rows = self.labels(became)

        def is_rare(each):
            weights = zip(rows, self.weights, strict=True)
            return 0 < sum(int(weight) for row, weight in weights if set(each) <= row) < self.k

        if is_rare([node]):
            return False
        held = [row for row in rows if node in row]
        if self.whole:
            return not any(map(is_rare, held))
        sizes = range(self.depth + 1)
        return not any(
            is_rare([node, *e]) for row in held for n in sizes for e in combinations(row - {node}, n)
        )

    def all_safe(self, became):
        return all(self.is_safe(node, became) for node in set().union(*self.labels(became)))

    def cost(self, became):
        rows = zip(self.rows, self.block, strict=True)
        return sum(int(self.price[became[block][item]]) for row, block in rows for item in row)

    def publish(self, became, blocks, node, label):
        items = self.items(node)
        return [
            [label if b in blocks and item in items else old for item, old in enumerate(each)]
            for b, each in enumerate(became)
        ]

    def replace(self, blocks, top, nodes, least):
        """Return the loss saved, and the new labels. A rare node is suppressed, or the attempt fails."""
        at = self.items(top)[0]
        if any(0 <= self.became[block][at] < top for block in blocks):
            return 0, self.became
        old = {self.became[block][item] for block in blocks for item in self.items(top)} - {-1}
        after = self.publish(self.became, blocks, top, -1)
        if len(blocks) < len(self.became) and not all(self.is_safe(label, after) for label in old):
            return 0, self.became
        for node in nodes:
            after = self.publish(after, blocks, node, node)
            if not self.is_safe(node, after):
                if not self.drop:
                    return 0, self.became
                after = self.publish(after, blocks, node, -1)
        saved = self.cost(self.became) - self.cost(after)
        return (saved, after) if saved > least else (0, self.became)

    def state(self):
        n_items, n_blocks = len(self.leaves), len(self.became)
        held = [[*row, n_items + block] for row, block in zip(self.rows, self.block, strict=True)]
        occurrences = np.zeros((n_blocks, n_items), np.int64)
        for row, block in zip(self.rows, self.block, strict=True):
            occurrences[block, row] += 1
        ranges = np.array([[min(self.items(node)), max(self.items(node)) + 1] for node in range(self.tree.n)])
        became = np.array(self.became, np.int32)
        first, last = ranges.T.copy()
        state = local_recoding.BlockCut(
            became=became,
            first=first,
            last=last,
            parent=np.array(self.tree.parent, np.int32),
            size=np.array([len(below) for below in self.tree.below], np.int32),
            occurrences=occurrences,
            price=self.price,
            rows=rows_of(held, self.weights, n_items + n_blocks),
            k=self.k,
            whole=self.whole,
            depth=self.depth,
            drop=self.drop,
        )
        return became, state


def draw_steps(rng, tree):
    """Draw a node, and nodes below it that cover its items."""
    top = int(rng.choice([node for node in range(tree.n) if tree.children(node)]))
    nodes = tree.children(top)
    if rng.random() < 0.4:
        nodes = [each for node in nodes for each in (tree.children(node) or [node])]
    return top, nodes


def test_replace():
    done = 0
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        blocks = Blocks(rng, int(rng.integers(1, 4)))
        became, state = blocks.state()
        for _ in range(6):
            top, nodes = draw_steps(rng, blocks.tree)
            n = int(rng.integers(1, len(blocks.became) + 1))
            some = np.sort(rng.choice(len(blocks.became), n, replace=False))
            least = int(rng.integers(0, 3))
            saved, blocks.became = blocks.replace(some.tolist(), top, nodes, least)
            assert local_recoding.replace(some, top, np.array(nodes, np.int32), least, state) == saved
            assert became.tolist() == blocks.became
            done += saved > 0
    assert done > 30


def test_force():
    """Labels that become rare are suppressed or raised, and no other label changes."""
    done = forced = 0
    for seed in range(TIMES * 2):
        rng = np.random.default_rng(seed)
        blocks = Blocks(rng, 1)
        if not blocks.all_safe(blocks.became):
            blocks.became = [[0] * len(blocks.leaves)]
        if not blocks.all_safe(blocks.became):
            continue
        became, state = blocks.state()
        top, nodes = draw_steps(rng, blocks.tree)
        above = 0 <= blocks.became[0][blocks.items(top)[0]] < top
        wanted = blocks.became
        for node in nodes:
            wanted = blocks.publish(wanted, [0], node, node)
        found = local_recoding.force(top, np.array(nodes, np.int32), state)
        if above or not found:
            assert not found
            assert above or not all(blocks.is_safe(node, wanted) for node in nodes)
            continue
        after = became.tolist()
        assert all(blocks.is_safe(node, after) for node in nodes)
        for item, (old, new) in enumerate(zip(wanted[0], after[0], strict=True)):
            allowed = {old, -1} if blocks.drop else set(blocks.tree.above[old]) if old >= 0 else {-1, new}
            assert new in allowed
            assert new == old or new < 0 or not set(nodes) & {new, old} or item not in blocks.items(top)
        if all(blocks.is_safe(node, wanted) for node in nodes):
            assert after == wanted
        done += 1
        forced += after != wanted
    assert done > 50
    assert forced > 10
