"""Attackers of tables in which a person has several rows: every fact that they may know, one by one.

A row is a tuple: its label, or None, and then the values of other columns.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations


def parts_of(row):
    """Each part of a row that may be known: any of its columns, and that it has some label.

    The lack of a label is not known. A row of missing values shows only that there is a person.
    """
    if all(value is None for value in row):
        return
    shown = [place for place in range(len(row)) if place > 0 or row[0] is not None]
    for size in range(1, len(shown) + 1):
        for places in combinations(shown, size):
            yield tuple((place, row[place]) for place in places)
            if row[0] is not None and places[0] > 0:
                yield ("some label", *((place, row[place]) for place in places))


def facts_of(rows, counts):
    """All facts about a person: a part of some row, or with counts, of at least so many rows."""
    often = Counter(part for row in rows for part in parts_of(row))
    return {(part, n) for part, most in often.items() for n in range(1, most + 1 if counts else 2)}


def units_at_risk(table, k, m, counts):
    """The persons whom some m facts single out among fewer than k; ``table`` has the rows of each."""
    if len(table) < k:
        return {*table}
    facts = {unit: facts_of(rows, counts) for unit, rows in table.items()}
    found = set()
    for unit, own in facts.items():
        for size in range(1, m + 1):
            for known in combinations(sorted(own, key=repr), size):
                if sum(set(known) <= others for others in facts.values()) < k:
                    found.add(unit)
    return found
