"""SuppressControl, the slow and obvious way: rows are sets, and all subsets of all rows are looked at."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from naive.inferences import breaking_rules


def without(rows, gone):
    """The rows as they are published: missing ones are empty then, which changes no rule."""
    return [None if row is None else row - gone for row in rows]


def rules_of(rows, rho, sensitive, m):
    """What each rule that is too sure consists of, one entry a rule, by how many items are known."""
    found = breaking_rules(rows, rho, frozenset(sensitive), m)
    by_size = {}
    for known, item in found:
        by_size.setdefault(len(known), []).append(known | {item})
    return by_size


def greedy(rules, among, sensitive, losses):
    """Items that meet all rules: those with the most rules for their loss first."""
    chosen, left = set(), [rule & among for rule in rules]
    while left:
        counts = {item: sum(item in rule for rule in left) for rule in left for item in rule}

        def rank(item, counts=counts):
            free = losses[item] == 0
            score = 0 if free else Fraction(counts[item], losses[item])
            return not free, -score, -counts[item], item in sensitive, item

        best = min(counts, key=rank)
        chosen.add(best)
        left = [rule for rule in left if best not in rule]
    return chosen


def repaired(rows, rho, sensitive, m, among, losses, gone, known):
    """What is gone when, size by size, no rule is too sure; rules that were met are added to ``known``."""
    longest = max((len(row) for row in rows if row is not None), default=0)
    for size in range((longest if m is None else m) + 1):
        rules = rules_of(without(rows, gone), rho, sensitive, m).get(size, [])
        known += rules
        gone = gone | greedy(rules, among, sensitive, losses)
    return gone


def returning(gone, known, losses):
    """Which items come back, the largest loss first, so that of each known rule something is gone."""
    back = set()
    for item in sorted(gone, key=lambda each: (-losses[each], each)):
        if all(rule & (gone - back - {item}) for rule in known if item in rule):
            back.add(item)
    return back


def suppressed(rows, rho, sensitive, m, may_go, losses):
    """The items that are suppressed, if only some may be."""
    known = []
    gone = repaired(rows, rho, sensitive, m, may_go, losses, frozenset(), known)
    while back := returning(gone, known, losses):
        gone = repaired(rows, rho, sensitive, m, back, losses, gone - back, known)
    return gone


def supports(rows):
    items = sorted({item for row in rows for item in row or ()})
    return {item: sum(item in (row or ()) for row in rows) for item in items}


def suppress_control(rows, rho, sensitive, m=None, scope="all"):
    """The items that are suppressed: the better one of both scopes."""
    losses = supports(rows)
    scopes = [losses, sensitive] if scope == "all" else [sensitive]
    found = [suppressed(rows, rho, sensitive, m, frozenset(each), losses) for each in scopes]
    return min(found, key=lambda gone: sum(losses[item] for item in gone))


def optimum(rows, rho, sensitive, m=None):
    """The least number of occurrences whose suppression leaves no rule too sure."""
    losses = supports(rows)
    return min(
        sum(losses[item] for item in gone)
        for size in range(len(losses) + 1)
        for gone in combinations(losses, size)
        if not breaking_rules(without(rows, frozenset(gone)), rho, frozenset(sensitive), m)
    )


class Tree:
    """A hierarchy from a nested dict with one root, its nodes numbered in reading order."""

    def __init__(self, tree, sensitive):
        self.names, self.children = [], []
        self._add(*next(iter(tree.items())))
        self.n_given = len(self.names)
        self.n_leaves = len(self.leaves(0))  # which nodes may stand for, unlike what is added
        for item in sorted(set(sensitive) - {self.names[leaf] for leaf in self.leaves(0)}):
            self.children[0].append(self._new(item))
        self.leaf = {self.names[leaf]: leaf for leaf in self.leaves(0)}

    def _new(self, name):
        self.names.append(name)
        self.children.append([])
        return len(self.names) - 1

    def _add(self, name, below):
        node = self._new(name)
        for each in below:
            child = self._add(each, below[each]) if isinstance(below, dict) else self._new(each)
            self.children[node].append(child)
        return node

    def leaves(self, node):
        below = self.children[node]
        return [leaf for child in below for leaf in self.leaves(child)] if below else [node]

    def lower(self, node):
        """The node itself, or below it where each was given with one child, the last."""
        children = [child for child in self.children[node] if child < self.n_given]
        return self.lower(children[0]) if len(children) == 1 else node

    def expanded(self, node):
        return [self.lower(child) for child in self.children[node]]


class Cut:
    """Which node each item is, and what of the nodes and of the sensitive items is gone."""

    def __init__(self, rows, rho, sensitive, m, scope, tree):
        self.rows, self.rho, self.m, self.tree = rows, rho, m, tree
        self.sensitive = {tree.leaf[item] for item in sensitive}
        self.all = set(range(len(tree.names)))
        self.may_go = self.all if scope == "all" else self.sensitive
        self.supports = {tree.leaf[item]: support for item, support in supports(rows).items()}
        self.of = {leaf: leaf for leaf in self.supports}
        self.gone = frozenset()

    def occurrences(self, node):
        if node in self.sensitive:
            return self.supports[node]
        return sum(self.supports.get(leaf, 0) for leaf in set(self.tree.leaves(node)) - self.sensitive)

    def ncp(self, node):
        covered = min(len(self.tree.leaves(node)), self.tree.n_leaves)
        return covered * self.occurrences(node) if self.tree.children[node] else 0

    def to_suppress(self, node):
        return self.tree.n_leaves * self.occurrences(node) - self.ncp(node)

    def published(self, of, gone):
        leaf = self.tree.leaf
        return [None if row is None else {of[leaf[item]] for item in row} - gone for row in self.rows]

    def settle(self):
        """Suppress anew; what becomes of the leaves, and the loss."""
        rows, losses = self.published(self.of, set()), {node: self.to_suppress(node) for node in self.all}
        scopes = [self.may_go, self.sensitive, self.sensitive | (self.gone & self.may_go)]
        found = [
            suppressed(rows, self.rho, self.sensitive, self.m, frozenset(each), losses) for each in scopes
        ]
        self.gone = min(found, key=lambda gone: sum(losses[node] for node in gone))
        loss = sum(map(self.ncp, {*self.of.values()})) + sum(losses[node] for node in self.gone)
        return {leaf: None if node in self.gone else node for leaf, node in self.of.items()}, loss

    def inner(self):
        return sorted(
            {
                node
                for leaf, node in self.of.items()
                if leaf not in self.sensitive and self.tree.children[node]
            }
        )

    def bound(self, node):
        cost = self.ncp(node) + (self.to_suppress(node) if node in self.gone else 0)
        return cost - sum(map(self.ncp, self.tree.expanded(node)))

    def step(self, node):
        """What the leaves become if a node is expanded, what is gone then besides, and what that saves."""
        children = self.tree.expanded(node)
        of = self.of | {
            leaf: next(child for child in children if leaf in self.tree.leaves(child))
            for leaf, above in self.of.items()
            if above == node and leaf not in self.sensitive
        }
        gone, more = self.gone - {node}, frozenset()
        losses = {each: self.to_suppress(each) for each in self.all}
        longest = max((len(row) for row in self.rows if row is not None), default=0)
        for size in range(1, (longest if self.m is None else self.m) + 1):
            rules = rules_of(self.published(of, gone | more), self.rho, self.sensitive, self.m).get(size, [])
            more |= greedy(rules, self.may_go, self.sensitive, losses)
        return of, gone | more, self.bound(node) - sum(losses[each] for each in more)

    def descend(self):
        """Expand the node that saves most, by what is known, which is looked at anew when it is the next."""
        taken = False
        waiting = {node: self.bound(node) for node in self.inner()}
        while waiting:
            current = set()
            while waiting:
                node = min(waiting, key=lambda each: (-waiting[each], each))
                if waiting[node] <= 0:
                    break
                of, gone, saved = self.step(node)
                if node not in current:
                    waiting[node], current = saved, current | {node}
                    continue
                self.of, self.gone, taken = of, gone, True
                del waiting[node]
                current = set()
                children = {
                    of[leaf] for leaf in of if leaf in self.tree.leaves(node) and leaf not in self.sensitive
                }
                waiting |= {child: self.bound(child) for child in children if self.tree.children[child]}
            steps = {node: self.step(node)[2] for node in self.inner() if self.bound(node) > 0}
            waiting = {node: saved for node, saved in steps.items() if saved > 0}
        return taken


def stops(rows, rho, sensitive, m, scope, tree):
    """What becomes of each item, None if it is suppressed, and the loss times the leaves: uncut, then cut."""
    tree = Tree(tree, sensitive)
    cut = Cut(rows, rho, sensitive, m, scope, tree)
    found = [cut.settle()]
    cut.gone = frozenset()
    cut.of = {leaf: leaf if leaf in cut.sensitive else tree.lower(0) for leaf in cut.of}
    found.append(cut.settle())
    while cut.descend():
        found.append(cut.settle())
    names = {None: None} | dict(enumerate(tree.names))
    return [({names[leaf]: names[node] for leaf, node in became.items()}, loss) for became, loss in found]


def least(found):
    """The first of those that lose least."""
    return min(found, key=lambda each: each[1])
