"""Attacks on rows of a release in plain loops over sets; the draws are those of the caller."""

from collections import Counter
from fractions import Fraction


def rows_with(table, predicate, members):
    """Count the rows that have an item of each label of a predicate."""
    return sum(all(members[label] & row for label in predicate) for row in table)


def matching_rows(released, known, cover):
    """Return the released rows that have a label of each known item; items without a label are ignored."""
    wanted = [cover[item] for item in known if cover[item]]
    return [row for row in released if all(labels & row for labels in wanted)] if wanted else []


def expected_counts(rows, members, sizes):
    """Return how many rows are expected to hold each item."""
    counts = Counter()
    for row in rows:
        for label in row:
            for item in members[label]:
                counts[item] += Fraction(1, sizes[label])
    return counts


def best_items(released, known, cover, members, sizes):
    """Return the items that are expected in most of the matching rows, other than the known ones."""
    rows = matching_rows(released, known, cover) or released
    counts = {item: n for item, n in expected_counts(rows, members, sizes).items() if item not in known}
    return {item for item, n in counts.items() if n == max(counts.values())}


def overlaps(released, known, cover):
    """Return the share of common labels of each released row that has any, by its place."""
    wanted = {label for item in known for label in cover[item]}
    size = min(len(wanted), len(known))
    near = {}
    for place, row in enumerate(released):
        if common := len(wanted & row):
            near[place] = Fraction(common, size + len(row) - common)
    return near


def nearest(released, known, cover, n):
    """Return the released rows that are surely among the n nearest, and those that may be."""
    near = overlaps(released, known, cover)
    order = sorted(near.values(), reverse=True)
    if len(near) <= n:
        return {*near}, {*near}
    least = order[n - 1]
    return {place for place in near if near[place] > least}, {place for place in near if near[place] >= least}


def likelier_member(released, person, other, cover):
    """Return which of two sets of items is likelier one of the release: 1, -1, or 0 if the attacker guesses.

    Items that no original row has are known not to be in the release.
    """
    scores = [
        (
            items <= cover.keys(),
            max(overlaps(released, items & cover.keys(), cover).values(), default=0),
            len(items & cover.keys()),
        )
        for items in (person, other)
    ]
    return (scores[0] > scores[1]) - (scores[0] < scores[1])
