"""Slow, obvious (k,k^m)-anonymity to compare with: definitions and the paper's loops, nothing of pdanon.

A published row is a pair: its quasi-identifiers, hashable, and the set of its items. A cluster is a list of
row numbers, and clusters are in the order of their first rows. Losses of quasi-identifiers are those of
`naive_relational.Table`.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from naive import itemsets as naive

# --- what is promised


def matches(rows, quasi, items):
    """Rows of a class that hold items and are not missing (None)."""
    return sum(held is not None and items <= held for other, held in rows if quasi == other)


def parts(items, m):
    """Subsets of up to m items, the empty one included; with None those of all sizes."""
    sizes = range(min(len(items) if m is None else m, len(items)) + 1)
    return [frozenset(chosen) for size in sizes for chosen in combinations(sorted(items), size)]


def kkm_broken(rows, k, m):
    """For each row what may be known of it and matches fewer than k rows, with their number and why.

    Any row of the class may be that of a person whose row is missing.
    """
    found = []
    for quasi, items in rows:
        known = {part: matches(rows, quasi, part) for part in parts(items or (), m)}
        if items is None:
            known = {frozenset(): sum(quasi == other for other, _ in rows)}
        found.append(
            {
                (quasi, part): (count, "rare" if part else "class")
                for part, count in known.items()
                if count < k
            }
        )
    return found


def klm_broken(rows, k, l, m, sensitive):  # noqa: E741
    """The same, where sensitive items are not known, and one in too many of the matching rows is a threat."""
    known = [(quasi, None if items is None else items - sensitive) for quasi, items in rows]
    found = kkm_broken(known, k, m)
    for broken, (quasi, items) in zip(found, known, strict=True):
        for part in [] if items is None else parts(items, m):
            count = matches(known, quasi, part)
            most = max((matches(rows, quasi, part | {item}) for item in sensitive), default=0)
            if (quasi, part) not in broken and Fraction(most, count) > Fraction(1, l):
                broken[quasi, part] = count, "diversity"
    return found


def minimal(broken):
    """All that is broken, without what has a broken proper subset in its class."""
    union = {}
    for each in broken:  # the empty itemset may be that of a row that is missing, or of one that is not
        union |= {key: min(value, union.get(key, value)) for key, value in each.items()}
    return {
        (quasi, part): value
        for (quasi, part), value in union.items()
        if not any(other == quasi and smaller < part for other, smaller in union)
    }


# --- what is lost


def btd(rows):
    """Distance of the two transactions that are farthest apart."""
    pairs = combinations(rows, 2)
    return max(Fraction(len(a ^ b) + 1, len(a & b) + 1) * len(a | b) for a, b in pairs)


def ul(published):
    """Utility loss of a row, given the sizes of its generalized items."""
    total = sum(published)
    return Fraction(sum(2**size - 1 for size in published), 2**total - 1) if total else Fraction(0)


class Pcta:
    """Transactions that PCTA anonymizes, cluster by cluster."""

    def __init__(self, rows, k, m):
        self.rows, self.k, self.m = rows, k, m
        self.n_items = len(frozenset().union(*rows))
        self.most = self.n_items * sum(map(len, rows))

    def became(self, cluster):
        """The set that each item becomes, None where all are suppressed."""
        rows = [self.rows[row] for row in cluster]
        items = frozenset().union(*rows)
        if sum(map(bool, rows)) < self.k:
            return dict.fromkeys(items)
        sets = naive.pcta(rows, self.k, self.m)
        return {item: members for members in sets for item in members}

    def sizes(self, cluster):
        """How many items the label of each item stands for: a set's for its members, nothing for all."""
        became = self.became(cluster)
        return {item: self.n_items if own is None else len(own) for item, own in became.items()}

    def loss(self, cluster):
        """Items that labels of several items stand for, summed over the occurrences."""
        sizes, became = self.sizes(cluster), self.became(cluster)
        kept = {item for item, own in became.items() if own is not None and len(own) == 1}
        return sum(sizes[item] for row in cluster for item in self.rows[row] - kept)

    def utility_loss(self, cluster):
        """The paper's measure, summed over the rows."""
        became, sizes = self.became(cluster), self.sizes(cluster)
        return sum(ul({became[i]: sizes[i] for i in self.rows[row]}.values()) for row in cluster)

    def far(self, cluster):
        """Average loss of an occurrence."""
        occurrences = sum(len(self.rows[row]) for row in cluster)
        return Fraction(self.loss(cluster), max(self.n_items * occurrences, 1))


# --- the loops


def candidates(table, clusters, merge, far):
    """The cluster that loses least, and the others, best first; `far` is the transactions' part."""
    seed = min(clusters, key=table.penalty)
    others = [each for each in clusters if each is not seed]
    by_loss = sorted(others, key=lambda each: table.penalty(seed + each))
    if merge == "R":
        return seed, by_loss
    by_far = sorted(others, key=lambda each: far(seed + each))
    if merge == "T":
        return seed, by_far
    return seed, sorted(by_loss, key=lambda each: by_loss.index(each) + by_far.index(each))


def merged(clusters, seed, other):
    kept = [each for each in clusters if each is not seed and each is not other]
    return sorted([*kept, sorted(seed + other)], key=min)


def rum(table, clusters):
    return sum(len(each) * table.penalty(each) for each in clusters)


def rum_bound(table, clusters, most, merge, far):
    """Merge as long as the loss of quasi-identifiers is at most so much."""
    while len(clusters) > 1:
        seed, others = candidates(table, clusters, merge, far)
        tried = others[:1] if merge == "R" else others
        allowed = [each for each in tried if rum(table, merged(clusters, seed, each)) <= most]
        if not allowed:
            break
        clusters = merged(clusters, seed, allowed[0])
    return clusters


def tum_bound(table, clusters, most, merge, far, tum):
    """Merge until the loss of items is at most so much; None if it never is."""
    while sum(map(tum, clusters)) > most:
        if len(clusters) == 1:
            return None
        seed, others = candidates(table, clusters, merge, far)
        clusters = merged(clusters, seed, others[0])
    return clusters
