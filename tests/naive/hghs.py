"""HgHs and mHgHs as slow and obvious as can be: all minimal threats of all cuts first; nothing of pdanon.

A tree is ``(name, list of trees)``, a leaf ``(name, None)``; names are unique. A cut is a frozenset of names.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from naive.emptied import hidden
from naive.itemsets import leaves


def collapsed(tree):
    """The tree with each node of one child replaced by that child."""
    name, children = tree
    if children is None:
        return tree
    if len(children) == 1:
        return collapsed(children[0])
    return name, [collapsed(child) for child in children]


def pruned(tree, cut):
    """The tree without what is below a cut."""
    name, children = tree
    if children is None or name in cut:
        return name, None
    return name, [pruned(child, cut) for child in children]


class Taxonomy:
    """A tree over the items of some rows; losses and occurrences are those of its original leaves."""

    def __init__(self, rows, tree, k, m, original=None, loss="LM", weights=None):
        self.rows = rows
        self.loss = loss
        self.weights = weights or {}
        self.k = k
        self.m = max(map(len, rows), default=0) if m is None else m
        self.tree = tree
        self.original = original or tree
        self.order = []
        self.children = {}
        self.above = {}
        self._visit(tree, ())
        self.below = self._leaves_below(self.original)
        self.threats = self._minimal_threats()

    def _visit(self, tree, above):
        name, children = tree
        self.order.append(name)
        self.above[name] = above
        self.children[name] = [child[0] for child in children or ()]
        for child in children or ():
            self._visit(child, (*above, name))

    def _leaves_below(self, tree):
        below = {tree[0]: frozenset(leaves(tree))}
        for child in tree[1] or ():
            below |= self._leaves_below(child)
        return below

    def extended(self, row):
        """The nodes that a row holds."""
        return [name for name in self.order if self.below[name] & row]

    def is_antichain(self, nodes):
        return not any(other in self.above[node] for node in nodes for other in nodes)

    def _minimal_threats(self):
        """Antichains of up to m nodes that some but fewer than k rows hold, with no such subset."""
        supports = {}
        for row in self.rows:
            held = self.extended(row)
            for size in range(1, self.m + 1):
                for nodes in combinations(held, size):
                    if self.is_antichain(nodes):
                        supports[frozenset(nodes)] = supports.get(frozenset(nodes), 0) + 1
        rare = {nodes for nodes, support in supports.items() if support < self.k}
        return {nodes for nodes in rare if not any(nodes - {node} in rare for node in nodes)}

    # --- costs

    def occurrences(self, node):
        """Original occurrences: two leaves in a row count twice."""
        return sum(len(self.below[node] & row) for row in self.rows)

    def weighted(self, node):
        """Original occurrences, each with the importance of its item."""
        held = [leaf for row in self.rows for leaf in self.below[node] & row]
        return sum((self.weights.get(leaf, Fraction(1)) for leaf in held), Fraction(0))

    def loss_if_kept(self, node):
        """LM or NCP of one occurrence."""
        n, whole = len(self.below[node]), len(leaves(self.original))
        if self.loss == "LM":
            return Fraction(n - 1, max(whole - 1, 1))
        return Fraction(n if n > 1 else 0, whole)

    def cost_to_suppress(self, node):
        return self.weighted(node) * (1 - self.loss_if_kept(node))

    def cost(self, cut, suppressed):
        generalized = sum(self.weighted(node) * self.loss_if_kept(node) for node in cut)
        return generalized + sum(map(self.cost_to_suppress, suppressed))

    # --- the inner loop

    def relevant(self, cut):
        return {threat for threat in self.threats if threat <= cut}

    def decisions(self, cut):
        """Each node of a cut in the order that it is looked at, and whether it is kept."""
        order = sorted(
            cut,
            key=lambda node: (
                -self.cost_to_suppress(node),
                -self.occurrences(node),
                node,
                self.order.index(node),
            ),
        )
        head = set()
        decided = []
        for node in order:
            keep = not any(threat <= head | {node} for threat in self.relevant(cut))
            head |= {node} if keep else set()
            decided.append((node, keep))
        return decided

    def suppressed(self, cut):
        return frozenset(node for node, keep in self.decisions(cut) if not keep)

    def evaluated(self, cut):
        """What is suppressed of a cut, and what the two cost together."""
        suppressed = self.suppressed(cut)
        return suppressed, self.cost(cut, suppressed)

    # --- the outer loop

    def child_cuts(self, cut):
        """Cuts with the children of one node in its place, by the order of these nodes."""
        return [
            cut - {node} | frozenset(self.children[node])
            for node in self.order
            if node in cut and self.children[node]
        ]

    def descent(self):
        """Each cut from the root down, with what is suppressed and what it costs."""
        cut = frozenset([self.order[0]])
        suppressed, cost = self.evaluated(cut)
        yield cut, suppressed, cost
        while candidates := self.child_cuts(cut):
            best = min(candidates, key=lambda each: self.evaluated(each)[1])  # of equals the first
            if self.evaluated(best)[1] >= cost:
                return
            cut = best
            suppressed, cost = self.evaluated(cut)
            yield cut, suppressed, cost

    def became(self, cut, suppressed):
        """What each original leaf is published as; None where suppressed."""
        return {
            leaf: None if node in suppressed else node for node in cut for leaf in sorted(self.below[node])
        }


def hghs(rows, tree, k, m, **priced):
    """The taxonomy, and the last step of the descent."""
    taxonomy = Taxonomy(rows, collapsed(tree), k, m, **priced)
    *_, last = taxonomy.descent()
    return taxonomy, last


def mhghs(rows, tree, k, m, **priced):
    """The same for each of the m rounds."""
    original = remaining = collapsed(tree)
    for size in range(1, (max(map(len, rows), default=0) if m is None else m) + 1):
        taxonomy = Taxonomy(rows, remaining, k, size, original, **priced)
        *_, last = taxonomy.descent()
        yield taxonomy, last
        remaining = pruned(remaining, last[0])


def hiding_emptied(rows, taxonomy, k):
    """What each item becomes by a descent when none or k rows have to be emptied, and what that costs."""
    items = sorted(frozenset().union(*rows))
    best = None
    for cut, suppressed, cost in reversed([*taxonomy.descent()]):
        if best and cost > best[1]:
            break
        all_of = taxonomy.became(cut, suppressed)
        became = {item: all_of[item] for item in items}
        found = hidden(rows, became, k)
        gone = {became[item] for item in items if found[item] is None and became[item] is not None}
        cost = taxonomy.cost(cut, suppressed | gone)
        if not best or cost <= best[1]:
            best = found, cost
        if not gone:
            break
    return best
