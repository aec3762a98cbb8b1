"""COAT and UPCTA as slow and obvious as can be, on top of the naive clusters; nothing of pdanon."""

from __future__ import annotations

from naive.itemsets import Clustering, by_size, km_threats, rare_itemsets, support


class BlockError(Exception):
    """Suppressing a cluster of this block would be too much."""

    def __init__(self, block):
        super().__init__(block)
        self.block = block


class Blocks(Clustering):
    """Clusters that stay within blocks. ``block[item]`` is a number; ``spare`` items may be suppressed."""

    def __init__(self, rows, block, spare, least_first, weights=None):
        super().__init__(rows, weights)
        self.block = block
        self.spare = spare
        self.least_first = least_first

    def step(self, image):
        least = min(image, key=lambda x: (self.support({x}), len(self.members(x)), x))
        pairs = [
            (min(x, y), max(x, y))
            for x in ({least} if self.least_first else image)
            for y in self.labels
            if x != y and self.block[x] == self.block[y]
        ]
        if pairs:
            sizes = {label: len(self.members(label)) for label in self.labels}
            self.merge(
                *min(pairs, key=lambda pair: (self.loss(*pair), sizes[pair[0]] + sizes[pair[1]], pair))
            )
        elif len(self.members(least)) > self.spare:
            raise BlockError(self.block[least])
        else:
            self.spare -= len(self.members(least))
            self.drop(least)

    def work_on(self, itemset, k):
        while 0 < self.support(itemset) < k:
            self.step(self.image(itemset))

    def satisfy(self, itemsets, k):
        while rare := [each for each in itemsets if 0 < self.support(each) < k]:
            supports = {each: self.support(each) for each in rare}
            for each in sorted(rare, key=lambda each: -supports[each]):
                self.work_on(each, k)

    def satisfy_km(self, k, m):
        while rare := rare_itemsets(self.generalized(), k, 1 if m == 1 else 2):
            self.work_on(min(rare, key=lambda each: (-rare[each], len(each), sorted(each))), k)
        if m is not None and m <= 2:
            return
        longest = max((len(row) for row in self.generalized()), default=0)
        for size in [None] if m is None or m >= longest else range(3, m + 1):
            while threats := km_threats(self.generalized(), k, size):
                self.satisfy(by_size(threats), k)

    def suppressed(self):
        return sorted(item for item, label in self.label.items() if label is None)


def run(rows, block, spare, least_first, k, *, m=2, constraints=None, weights=None):
    """The clusters in the end, with the block that broke them or None."""
    clusters = Blocks(rows, block, spare, least_first, weights)
    try:
        if constraints is None:
            clusters.satisfy_km(k, m)
        else:
            clusters.satisfy(constraints, k)
    except BlockError as error:
        return clusters, error.block
    return clusters, None


def maximal_rare_rows(rows, k):
    """Distinct non-empty rows that fewer than k rows contain, and no larger row."""
    rare = {row for row in rows if row and support(rows, row) < k}
    return {row for row in rare if not any(row < other for other in rows)}
