"""Slow, obvious answers to compare with: frozensets, combinations and Python integers, nothing of pdanon.

Rows are a list of frozensets. Items, and the labels of clusters, are anything that sorts.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import log2

# --- supports and threats


def support(rows, itemset):
    return sum(itemset <= row for row in rows)


def supports(rows, m):
    """Support of each itemset of 1 to m items that occurs."""
    return Counter(
        frozenset(chosen)
        for row in rows
        for size in range(1, min(m, len(row)) + 1)
        for chosen in combinations(sorted(row), size)
    )


def rare_itemsets(rows, k, m):
    """Support of each itemset of up to m items that is in a row, but in fewer than k."""
    return {itemset: count for itemset, count in supports(rows, m).items() if count < k}


def minimal(itemsets):
    """Those without a proper subset among them."""
    return {itemset for itemset in itemsets if not any(other < itemset for other in itemsets)}


def km_threats(rows, k, m):
    """Support of each minimal rare itemset; with m=None of each rare row, whole."""
    if m is None:
        return {row: support(rows, row) for row in set(rows) if row and support(rows, row) < k}
    rare = rare_itemsets(rows, k, m)
    return {itemset: rare[itemset] for itemset in minimal(rare)}


def is_too_few(rows, k):
    """Whether the empty itemset, which is in all rows that are not missing, is in some, but fewer than k."""
    return 0 < sum(row is not None for row in rows) < k


def km_audit(rows, k, m):
    """Support of each minimal itemset that breaks k^m-anonymity, the empty one included; None is missing."""
    rows = [row for row in rows if row is not None]
    return {frozenset(): len(rows)} if is_too_few(rows, k) else km_threats(rows, k, m)


def lm_threats(rows, l, m, sensitive, k=None):  # noqa: E741
    """Support of each minimal set of up to m known items, none included, that breaks l^m-diversity or k.

    None is a missing row.
    """
    rows = [row for row in rows if row is not None]
    known = [row - sensitive for row in rows]
    m = max(map(len, known), default=0) if m is None else m
    broken = {}
    for itemset, count in {**supports(known, m), frozenset(): len(rows)}.items():
        shared = [support(rows, itemset | {item}) for item in sensitive]
        rare = k is not None and 0 < count < k
        if rare or any(Fraction(each, count) > Fraction(1, l) for each in shared if each):
            broken[itemset] = count
    return {itemset: broken[itemset] for itemset in minimal(broken)}


def by_size(itemsets):
    """Itemsets by size, then by their items in order."""
    return sorted((tuple(sorted(itemset)) for itemset in itemsets), key=lambda each: (len(each), each))


def exposure(rows, k, m):
    """Size of the smallest rare itemset of each row, up to m; with m=None the length of a rare row."""
    if m is None:
        return [len(row) if support(rows, row) < k else 0 for row in rows]
    rare = rare_itemsets(rows, k, m)
    return [min((len(itemset) for itemset in rare if itemset <= row), default=0) for row in rows]


def rows_at_risk(rows, k, m):
    rows = [row for row in rows if row is not None]
    return len(rows) if is_too_few(rows, k) else sum(size > 0 for size in exposure(rows, k, m))


def constraints_hold(rows, constraints, k, mapping):
    """Whether what each constraint became is in none or at least k of the published rows."""
    if is_too_few(rows, k):
        return False
    images = [frozenset(mapping[item] for item in each) - {None} for each in constraints]
    return all(not image or support(rows, image) == 0 or support(rows, image) >= k for image in images)


# --- clusters


class Clustering:
    """A partition of the items of some rows. A cluster's label is its smallest member."""

    def __init__(self, rows, weights=None):
        self.rows = rows
        self.weights = weights or {}
        self.label = {item: item for row in rows for item in row}

    @property
    def labels(self):
        return sorted(set(self.label.values()) - {None})

    def members(self, label):
        return frozenset(item for item, own in self.label.items() if own == label)

    def image(self, itemset):
        return frozenset(self.label[item] for item in itemset) - {None}

    def generalized(self):
        return [self.image(row) for row in self.rows]

    def support(self, itemset):
        image = self.image(itemset)
        return support(self.generalized(), image) if image else 0

    def merge(self, one, other):
        for item in self.members(one) | self.members(other):
            self.label[item] = min(one, other)

    def drop(self, label):
        for item in self.members(label):
            self.label[item] = None

    def loss(self, one, other):
        """The utility loss of a union, without the factors that all unions share."""
        union = self.members(one) | self.members(other)
        rows = sum(bool(row & union) for row in self.rows)
        return (2 ** len(union) - 1) * max(self.weights.get(item, 1) for item in union) * rows

    def cheapest(self, image):
        """The pair to merge: least loss, then smallest union, then first in order."""
        pairs = {tuple(sorted((x, y))) for x in image for y in self.labels if x != y}
        sizes = {label: len(self.members(label)) for label in self.labels}
        return min(pairs, key=lambda pair: (self.loss(*pair), sizes[pair[0]] + sizes[pair[1]], pair))

    def work_on(self, itemset, k):
        """Merge until one itemset has support 0 or at least k."""
        while 0 < self.support(itemset) < k and len(self.labels) > 1:
            self.merge(*self.cheapest(self.image(itemset)))

    def satisfy(self, itemsets, k):
        """List what is rare and work on it by largest support, then in order, until a list is empty."""
        while True:
            supports = {each: self.support(each) for each in itemsets}
            rare = [each for each in itemsets if 0 < supports[each] < k]
            if not rare or len(self.labels) < 2:
                return
            for each in sorted(rare, key=lambda each: -supports[each]):
                self.work_on(each, k)

    def partition(self):
        return sorted(tuple(sorted(self.members(label))) for label in self.labels)


def pcta(rows, k, m, weights=None):
    """Clusters under k^m-anonymity: singles and pairs first, then size by size what is still rare."""
    clusters = Clustering(rows, weights)
    while True:
        rare = rare_itemsets(clusters.generalized(), k, 1 if m == 1 else 2)
        if not rare or len(clusters.labels) < 2:
            break
        clusters.work_on(min(rare, key=lambda each: (-rare[each], len(each), sorted(each))), k)
    if m is not None and m <= 2:
        return clusters.partition()
    longest = max((len(row) for row in clusters.generalized()), default=0)
    for size in [None] if m is None or m >= longest else range(3, m + 1):
        while (threats := km_threats(clusters.generalized(), k, size)) and len(clusters.labels) > 1:
            clusters.satisfy(by_size(threats), k)
    return clusters.partition()


def pcta_constraints(rows, constraints, k, weights=None):
    """Clusters under privacy constraints."""
    clusters = Clustering(rows, weights)
    clusters.satisfy(constraints, k)
    return clusters.partition()


# --- information loss


def ncp(rows, share):
    """Penalty of each original occurrence, averaged: ``share[item]`` is what its label stands for."""
    penalties = [share[item] for row in rows for item in row]
    return sum(penalties, Fraction(0)) / len(penalties) if penalties else Fraction(0)


def set_share(became):
    """Share of the items that each item's label stands for; 0 for a kept and 1 for a suppressed item."""
    members = [label for label in became.values() if label is not None]
    return {
        item: Fraction(1)
        if label is None
        else Fraction(members.count(label) * (members.count(label) > 1), len(became))
        for item, label in became.items()
    }


def ul(rows, became, weights=None):
    """log2 of the utility loss; ``became[item]`` is a label or None, and other items weigh 1."""
    weights = weights or {}
    n_items, n_rows = len(became), len(rows)
    total = Fraction(0)
    for label in set(became.values()) - {None}:
        members = {item for item in became if became[item] == label}
        in_rows = sum(bool(row & members) for row in rows)
        weight = max(weights.get(item, Fraction(1)) for item in members)
        total += weight * Fraction((2 ** len(members) - 1) * in_rows, (2**n_items - 1) * n_rows)
    for item in became:
        if became[item] is None:
            total += Fraction(support(rows, {item}), n_rows)
    return log2(total.numerator) - log2(total.denominator) if total else float("-inf")


# --- hierarchies: a tree is (name, list of trees), a leaf (name, None)


def leaves(tree):
    name, children = tree
    return [name] if children is None else [leaf for child in children for leaf in leaves(child)]


def cuts(tree):
    """All cuts, each as what every leaf becomes: (name, number of leaves below it)."""
    name, children = tree
    whole = {leaf: (name, len(leaves(tree))) for leaf in leaves(tree)}
    if children is None:
        return [whole]
    below = product(*(cuts(child) for child in children))
    return [whole, *({leaf: node for part in parts for leaf, node in part.items()} for parts in below)]


def cut_ncp(rows, cut):
    share = {leaf: Fraction(size * (size > 1), len(cut)) for leaf, (_, size) in cut.items()}
    return ncp(rows, share)


def cut_lm(rows, cut):
    return ncp(rows, {leaf: Fraction(size - 1, max(len(cut) - 1, 1)) for leaf, (_, size) in cut.items()})


def optimal_cut(rows, tree, k, m):
    """Least NCP of a cut that makes the rows k^m-anonymous, with all cuts that reach it."""
    safe = []
    for cut in cuts(tree):
        published = [frozenset(cut[item] for item in row) for row in rows]
        if not km_threats(published, k, m):
            safe.append((cut_ncp(rows, cut), cut))
    least = min(loss for loss, _ in safe)
    return least, [cut for loss, cut in safe if loss == least]
