"""l^m-diversity by sets, as slow and obvious as can be, on top of the naive clusters; nothing of pdanon."""

from __future__ import annotations

from naive.coat import BlockError, run
from naive.itemsets import minimal, supports


class Diverse:
    """Sets of known items, merged until up to m of them reveal no sensitive item."""

    def __init__(self, rows, sensitive, clusters, l):  # noqa: E741
        self.rows, self.sensitive, self.l = rows, sensitive, l
        self.label, self.block, self.spare = dict(clusters.label), clusters.block, clusters.spare

    def labels(self):
        return sorted(set(self.label.values()) - {None})

    def members(self, label):
        return frozenset(item for item, own in self.label.items() if own == label)

    def held(self, items):
        """Original occurrences of some items."""
        return sum(len(row & items) for row in self.rows)

    def price(self, items):
        return len(items) * self.held(items) if len(items) > 1 else 0

    def reveals(self, sets):
        """Whether a sensitive item is in more than 1/l of the rows with an item of each set."""
        match = [row for row in self.rows if all(row & each for each in sets)]
        return any(sum(item in row for row in match) * self.l > len(match) for item in self.sensitive)

    def cheapest(self, one, others):
        """The merge of a set that costs least, with what it adds; then the first."""
        if not others:
            return []
        mine = self.members(one)

        def added(other):
            theirs = self.members(other)
            return self.price(mine | theirs) - self.price(theirs) - self.price(mine)

        best = min(others, key=added)
        return [(added(best), one, best)]

    def step(self, image):
        steps = []
        for one in sorted(image):
            beside = [self.members(each) for each in image - {one}]
            near = [other for other in self.labels() if self.block[other] == self.block[one]]
            ending = [
                other
                for other in near
                if other not in image and not self.reveals([*beside, self.members(one) | self.members(other)])
            ]
            steps += self.cheapest(one, ending)
        if not steps:
            for one in sorted(image):
                near = [each for each in self.labels() if self.block[each] == self.block[one] and each != one]
                steps += self.cheapest(one, near)
        if steps:
            _, one, other = min(steps, key=lambda step: step[0])
        else:
            one = min(image, key=lambda each: (self.held(self.members(each)), len(self.members(each)), each))
            if len(self.members(one)) > self.spare:
                raise BlockError(self.block[one])
            self.spare -= len(self.members(one))
            other = None
        for item in self.members(one):
            self.label[item] = other

    def breaches(self, m):
        """The minimal sets of labels that reveal something, by size, then in order."""
        published = [frozenset(map(self.label.get, row - self.sensitive)) - {None} for row in self.rows]
        m = max(map(len, published), default=0) if m is None else m
        found = [each for each in supports(published, m) if self.reveals([*map(self.members, each)])]
        return sorted(minimal(found), key=lambda each: (len(each), sorted(each)))


def diverse(rows, sensitive, block, spare, least_first, k, l, m):  # noqa: E741
    """The set of each known item, None if it is suppressed; and whether a block broke."""
    clusters, broken = run([row - sensitive for row in rows], block, spare, least_first, k, m=m)
    if broken is not None:
        return clusters.label, True
    sets = Diverse(rows, sensitive, clusters, l)
    try:
        while found := sets.breaches(m):
            for each in found:
                # A breach of the list may have ended: its labels became others.
                image = {sets.label[label] for label in each} - {None}
                if image and sets.reveals([sets.members(label) for label in image]):
                    sets.step(image)
    except BlockError:
        return sets.label, True
    return sets.label, False
