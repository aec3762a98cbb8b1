"""Releases in which items have labels of sets, and some rows lack labels: what the rows alone show.

Items are single letters. A label is an item, or ``(a,b)`` for a set of them.
"""

from __future__ import annotations

from itertools import combinations
from math import sqrt


def members(label):
    """The items that a label stands for."""
    return frozenset(label.strip("()").split(","))


def candidates(released, known):
    """The number of rows that have a label for each known item."""
    return sum(all(any(item in members(label) for label in row) for item in known) for row in released)


def untrue_rows(rows, released):
    """The numbers of rows with a label that stands for none of their items."""
    pairs = enumerate(zip(rows, released, strict=True))
    return [number for number, (before, now) in pairs if not all(members(label) & before for label in now)]


def overlaps(released):
    """The pairs of labels that have an item in common: a label would then be in a row for another's item."""
    labels = sorted(frozenset().union(*released))
    return [(one, other) for one, other in combinations(labels, 2) if members(one) & members(other)]


def found(rows, released, k, m):
    """The known items, up to m of an original row, that between 1 and k - 1 released rows match."""
    most = max(map(len, rows), default=0) if m is None else m
    known = {
        frozenset(chosen)
        for row in rows
        for size in range(1, most + 1)
        for chosen in combinations(sorted(row), size)
    }
    return {each for each in known if 0 < candidates(released, each) < k}


def cost(mapping, price):
    """What the size and the spread of each set cost its published occurrences, and deletions at a price."""
    root = sqrt(mapping["item"].nunique())
    published = mapping[mapping["generalized"].notna()]
    total = price * int(mapping["support"].sum() - published["support"].sum())
    for label, own in published.groupby(published["generalized"].astype(str)):
        counts = own.groupby(own["item"].astype(str))["support"].sum().tolist()
        counts += [0] * (label.count(",") + 1 - len(counts))  # items of the set that are always deleted
        size, held = len(counts), sum(counts)
        if size > 1:
            total += held * (1 + size / root) + sqrt(size * sum(count**2 for count in counts) - held**2)
    return total
