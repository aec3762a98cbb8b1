"""How `ps_rules` parts sets, as slow and obvious as can be: all rules are counted anew at each step."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from naive.coat import Blocks
from naive.itemsets import support
from naive.rules import needed


class Sets:
    """Public items in sets. Rules are pairs of frozensets; all other items are published as they are."""

    def __init__(self, rows, rules, k, c, public, weights=None):
        self.rows, self.rules, self.k, self.c, self.public = rows, rules, k, Fraction(str(c)), public
        self.weights = weights or {}
        self.parts = []

    def published(self):
        own = {item: part for part in self.parts for item in part}
        return [frozenset(own.get(item, item) for item in row) for row in self.rows]

    def image(self, known):
        return frozenset(part for part in self.parts if part & known)

    def broken(self):
        """The rules that are not protected: what they know, and whether it is rare or sure."""
        published = self.published()
        for known, sensitive in self.rules:
            image = self.image(known)
            count = support(published, image)
            if 0 < count < self.k:
                yield image, "rare"
            elif support(published, image | sensitive) > self.c * count:
                yield image, "sure"

    def begin(self):
        """One set of what may be known, or else of all public items; tell whether it protects all rules."""
        for items in (frozenset().union(*(known for known, _ in self.rules)), self.public):
            self.parts = [items]
            if not any(self.broken()):
                return True
        return False

    def loss(self, part):
        rows = sum(bool(row & part) for row in self.rows)
        return (2 ** len(part) - 1) * max(self.weights.get(item, 1) for item in part) * rows

    def frequent_first(self, items):
        return sorted(items, key=lambda item: (-sum(item in row for row in self.rows), item))

    def bisected(self, whole):
        items = self.frequent_first(whole)
        seeds = max(
            combinations(items, 2), key=lambda pair: self.loss(frozenset(pair))
        )  # the first of equals
        one, two = ({seed} for seed in seeds)
        for item in items:
            if item not in seeds:
                grown = [
                    self.loss(frozenset(part | {item})) - self.loss(frozenset(part)) for part in (one, two)
                ]
                (one if grown[0] <= grown[1] else two).add(item)
        return frozenset(one), frozenset(two)

    def without_single_items(self, whole):
        rest = whole
        for item in sorted(self.frequent_first(whole), key=lambda item: -self.loss(frozenset([item]))):
            if len(rest) > 1 and self.accepts(rest, (frozenset([item]), rest - {item})):
                rest -= {item}
        return rest

    def accepts(self, whole, parts):
        before = self.parts
        self.parts = [part for part in before if part != whole] + [*parts]
        if any(self.broken()):
            self.parts = before
            return False
        return True

    def part(self):
        open_sets, stuck = [*self.parts], []
        while open_sets or stuck:
            waiting = open_sets or stuck
            whole = min(waiting, key=lambda part: (-self.loss(part), min(part)))
            waiting.remove(whole)
            if len(whole) == 1:
                continue
            if waiting is stuck:
                rest = self.without_single_items(whole)
                open_sets += [rest] if rest != whole else []
                continue
            parts = self.bisected(whole)
            if self.accepts(whole, parts):
                open_sets += parts
            else:
                stuck.append(whole)

    def repair(self, m=None, *, listed=True):
        """Merge until no rule is broken: what is rare as `pcta` does it, then what is sure, in turns."""
        clusters = Blocks(
            [row & frozenset().union(*self.parts) for row in self.rows], {}, 0, False, self.weights
        )
        for part in self.parts:
            for item in part:
                clusters.label[item] = min(part)
        clusters.block = dict.fromkeys(clusters.label, 0)
        known = antecedents(self.rules)
        while True:
            if listed:
                clusters.satisfy(known, self.k)
            else:
                clusters.satisfy_km(self.k, m)
            self.parts = [clusters.members(label) for label in clusters.labels]
            sure = [frozenset(map(min, image)) for image, why in self.broken() if why == "sure"]
            if not sure:
                return
            changed = set()
            for image in in_turn(sure, listed):
                if not image & changed:
                    one, other = clusters.cheapest(image)
                    clusters.merge(one, other)
                    changed |= {one, other}

    def partition(self):
        return sorted(sorted(part) for part in self.parts)


def antecedents(rules):
    """What is known in rules that no other implies, in their order."""
    kept = needed(rules)
    return list(dict.fromkeys(known for known, sensitive in rules if (known, sensitive) in kept))


def in_turn(images, listed):
    """Each once: in the order of the rules; or minimal ones, by size, then by items."""
    distinct = list(dict.fromkeys(images))
    if listed:
        return distinct
    minimal = [each for each in distinct if not any(other < each for other in distinct)]
    return sorted(minimal, key=lambda each: (len(each), sorted(each)))
