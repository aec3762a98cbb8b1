"""Slow, obvious cuts of hierarchies to compare with; a tree is (name, list of trees), a leaf (name, None)."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pandas as pd
from conftest import row_lists
from hypothesis import assume, strategies as st

import pdanon
from naive import itemsets as naive

# Two data sets with all their safe cuts worked out by hand, and for both: m, what changes, NCP.
SMALL_TREE = ("*", [("A", [("a1", None), ("a2", None)]), ("B", [("b1", None), ("b2", None)])])
FIRST = [{"a1", "b1", "b2"}, {"a2", "b1"}, {"a2", "b1", "b2"}, {"a1", "a2", "b2"}]
SECOND = [{"a1"}, {"a1", "a2"}, *[{"b1", "b2"}] * 2, *[{"a1", "a2", "b2"}] * 2, {"a1", "a2", "b1", "b2"}]
WORKED = [
    (FIRST, 1, {}, 0),
    (FIRST, 2, {"a1": "A", "a2": "A"}, 2.5 / 11),
    (FIRST, 3, {"a1": "A", "a2": "A"}, 2.5 / 11),
    (SECOND, 2, {"b1": "B", "b2": "B"}, 4 / 17),
    (SECOND, 4, {"b1": "B", "b2": "B"}, 4 / 17),
]


@st.composite
def problems(draw, **shape):
    """A tree, rows over its leaves of which at least k hold an item, or none does, and k; no rows, or k."""
    tree = draw(trees())
    rows = draw(row_lists(items=naive.leaves(tree), **shape))
    k = draw(st.integers(2, 4))
    assume(not any(rows) or sum(map(bool, rows)) >= k)
    assume(not naive.is_too_few(rows, k))
    return tree, rows, k


@st.composite
def trees(draw, most=8, items="abcdefgh"):
    """Ragged trees over the first few letters, with categories of one child."""
    nodes = [(item, None) for item in items[: draw(st.integers(1, most))]]
    for number in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(nodes) - 1))
        stop = draw(st.integers(start + 1, len(nodes)))
        nodes[start:stop] = [(f"node {number}", nodes[start:stop])]
    return ("*", nodes)


def subtrees(tree):
    """The tree and all trees in it, in pre-order."""
    return [tree, *(each for child in tree[1] or () for each in subtrees(child))]


def hierarchy_of(tree):
    edges = [(child[0], each[0]) for each in subtrees(tree) for child in each[1] or ()]
    return pdanon.Hierarchy.from_frame(pd.DataFrame(edges, columns=["child", "parent"]))


def lattice_search(rows, tree, k, m):
    """Least NCP of a safe cut, breadth first from the leaves upwards."""
    below = {each[0]: [child[0] for child in each[1] or ()] for each in subtrees(tree)}
    leaves = {each[0]: naive.leaves(each) for each in subtrees(tree)}
    queue, seen, best = [frozenset(naive.leaves(tree))], set(), None
    while queue:
        cut = queue.pop(0)
        became = {leaf: (node, len(leaves[node])) for node in cut for leaf in leaves[node]}
        loss = naive.cut_ncp(rows, became)
        if best is not None and loss >= best:
            continue  # and so is whatever is above it
        if not naive.km_threats([frozenset(became[item] for item in row) for row in rows], k, m):
            best = loss
            continue
        for node, children in below.items():
            if children and cut.issuperset(children):
                above = cut.difference(children) | {node}
                if above not in seen:
                    seen.add(above)
                    queue.append(above)
    return best


def choices(tree):
    """All that leaves can become: (name, number of leaves) of a published node, None if suppressed."""
    here = dict.fromkeys(naive.leaves(tree), (tree[0], len(naive.leaves(tree))))
    if tree[1] is None:
        return [here, dict.fromkeys(here)]
    below = product(*map(choices, tree[1]))
    return [here, *({leaf: node for part in parts for leaf, node in part.items()} for parts in below)]


def safe_choices(rows, tree, k, m):
    """The LM of each safe choice and the rows that it publishes, in the order of these losses."""
    n_leaves = len(naive.leaves(tree))
    losses = []
    for number, became in enumerate(choices(tree)):
        share = {
            leaf: Fraction(node[1] - 1, max(n_leaves - 1, 1)) if node else 1 for leaf, node in became.items()
        }
        losses.append((naive.ncp(rows, share), number, became))
    for loss, _, became in sorted(losses, key=lambda each: each[:2]):
        published = [frozenset(became[item] for item in row if became[item]) for row in rows]
        if not naive.km_threats(published, k, m):
            yield loss, published


def best_choice(rows, tree, k, m):
    """Least LM of a safe choice."""
    return next(safe_choices(rows, tree, k, m))[0]  # to suppress everything is safe


class NaiveCut:
    """A cut that is raised; nodes are numbered in pre-order."""

    def __init__(self, rows, tree):
        self.rows = rows
        self.names = [each[0] for each in subtrees(tree)]
        number = {name: place for place, name in enumerate(self.names)}
        self.parent = {
            number[child[0]]: number[each[0]] for each in subtrees(tree) for child in each[1] or ()
        }
        self.leaves = [frozenset(naive.leaves(each)) for each in subtrees(tree)]
        self.above = {each[0]: number[each[0]] for each in subtrees(tree) if each[1] is None}

    def path(self, node):
        return [node, *(self.path(self.parent[node]) if node else ())]

    def support(self, nodes):
        return sum(all(self.leaves[node] & row for node in nodes) for row in self.rows)

    def cost(self, node):
        """NCP of all occurrences below a node, times the number of leaves."""
        size = len(self.leaves[node])
        return size * (size > 1) * sum(len(self.leaves[node] & row) for row in self.rows)

    def published(self):
        return [frozenset(self.above[item] for item in row) for row in self.rows]

    def lift(self, nodes):
        for node in nodes:
            self.above |= dict.fromkeys(self.leaves[node], node)

    def uppermost(self, nodes):
        return tuple(sorted(node for node in set(nodes) if not set(self.path(node)[1:]) & set(nodes)))

    def added(self, nodes):
        covered = {self.above[leaf] for node in nodes for leaf in self.leaves[node]}
        return sum(map(self.cost, nodes)) - sum(map(self.cost, covered))

    def generalize(self, nodes, k):
        """Lift to the combination of ancestors that adds least loss, then affects fewest leaves."""
        if len(nodes) > 3:
            self.lift(self.stepwise(nodes, k))
            return
        combinations = {self.uppermost(each) for each in product(*map(self.path, nodes))}
        enough = [each for each in combinations if self.support(each) >= k]
        self.lift(
            min(enough, key=lambda each: (self.added(each), sum(len(self.leaves[n]) for n in each), each))
        )

    def stepwise(self, nodes, k):
        """Ancestors reached one step at a time, up where it is cheapest, then back down where it can."""
        at = list(nodes)
        while self.support(at) < k:
            ups = [place for place, node in enumerate(at) if node]
            place = min(ups, key=lambda each: self.added([self.parent[at[each]]]) - self.added([at[each]]))
            at[place] = self.parent[at[place]]
        for place, node in enumerate(nodes):
            others = at[:place] + at[place + 1 :]
            enough = (each for each in self.path(node) if self.support([each, *others]) >= k)
            at[place] = next(enough)
        return self.uppermost(at)

    def satisfy(self, sets, k):
        for each in sets:
            image = self.uppermost(self.above[min(self.leaves[node])] for node in each)
            if 0 < self.support(image) < k:
                self.generalize(image, k)

    def threats(self, k, m):
        return naive.km_threats(self.published(), k, m)

    def result(self):
        return {leaf: self.names[node] for leaf, node in self.above.items()}


def protect(cut, k, m):
    """Nodes in pre-order, pairs in pre-order until none is rare, then size by size what is still rare."""
    nodes = range(len(cut.names))
    cut.satisfy([(node,) for node in nodes if node in cut.above.values()], k)
    changed = m != 1
    while changed:
        before = dict(cut.above)
        for a in nodes:
            for b in nodes[a + 1 :]:
                if {a, b} <= set(cut.above.values()):
                    cut.satisfy([(a, b)], k)
        changed = cut.above != before
    if m is None or m > 2:
        longest = max(map(len, cut.published()), default=0)
        for size in [None] if m is None or m >= longest else range(3, m + 1):
            while threats := cut.threats(k, size):
                cut.satisfy(naive.by_size(threats), k)
    return cut


def apriori(rows, tree, k, m):
    return protect(NaiveCut(rows, tree), k, m).result()


def direct(rows, tree, k, m):
    """What is rare, of any size, in the order of a prefix tree, until nothing is."""
    cut = NaiveCut(rows, tree)
    while threats := cut.threats(k, m):
        cut.satisfy(sorted(tuple(sorted(each)) for each in threats), k)
    return cut.result()


def vpa(rows, tree, k, m, parts):
    """Subtree by subtree, then all rows from there."""
    order = [each[0] for each in subtrees(tree)]
    roots = [tree]
    while len(roots) < parts and any(len(naive.leaves(root)) > 1 for root in roots):
        widest = max(roots, key=lambda root: (len(naive.leaves(root)), -order.index(root[0])))
        roots = [root for root in roots if root is not widest] + list(widest[1])
    start = {leaf: leaf for leaf in naive.leaves(tree)}
    for root in roots:
        inside = [row & set(naive.leaves(root)) for row in rows]
        if sum(map(bool, inside)) >= k:
            start |= apriori(inside, root, k, m)
    cut = NaiveCut(rows, tree)
    cut.above = {leaf: order.index(node) for leaf, node in start.items()}
    return protect(cut, k, m).result()


def gray_order(rows):
    """Row numbers by the rank of their bits, most frequent item first, in a Gray code."""
    items = sorted(set().union(*rows))
    items.sort(key=lambda item: -naive.support(rows, {item}))

    def rank(number):
        return [len(rows[number] & set(items[: digit + 1])) % 2 for digit in range(len(items))]

    return sorted(range(len(rows)), key=rank)


def lra(rows, tree, k, m, parts):
    """Block of each row, and what it is published as."""
    order = gray_order(rows)
    filled = [number for number in order if rows[number]]
    parts = max(min(parts, len(filled) // k), 1)
    # A row goes where the first row that equals it goes; blocks that are too small go to the next.
    members = [[] for _ in range(parts)]
    for number in filled:
        first = next(place for place, other in enumerate(filled) if rows[other] == rows[number])
        members[first * parts // len(filled)].append(number)
    blocks = [[]]
    for part in members:
        if len(blocks[-1]) >= k:
            blocks.append([])
        blocks[-1] += part
    if len(blocks) > 1 and len(blocks[-1]) < k:
        rest = blocks.pop()
        blocks[-1] += rest
    block = dict.fromkeys(order, 0)
    published = dict.fromkeys(order, frozenset())
    for number_of_block, inside in enumerate(blocks):
        became = apriori([rows[number] for number in inside], tree, k, m)
        for number in inside:
            block[number] = number_of_block
            published[number] = frozenset(became[item] for item in rows[number])
    return [block[number] for number in range(len(rows))], [published[number] for number in range(len(rows))]
