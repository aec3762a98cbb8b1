"""The least loss of any release by sets or by deletions, by trying all of them; nothing of pdanon.

Rows are sets of items. An assignment gives each item its set: a number, or None if it is suppressed.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations


def assignments(items, suppress=True):
    """All partitions of some of the items into sets, as dicts; the other items are suppressed."""
    if not items:
        yield {}
        return
    *others, last = items
    for each in assignments(others, suppress):
        used = {number for number in each.values() if number is not None}
        for number in [*used, len(used)]:
            yield {**each, last: number}
        if suppress:
            yield {**each, last: None}


def holds_km(rows, assignment, k, m):
    """Whether each itemset of up to m labels of a row is in at least k rows."""
    released = [published(row, assignment) for row in rows]
    return all(
        sum(known <= row for row in released) >= k
        for known in {
            frozenset(each)
            for row in released
            for size in range(1, (len(row) if m is None else m) + 1)
            for each in combinations(sorted(row), size)
        }
    )


def holds_constraints(rows, assignment, k, constraints):
    """Whether the published form of each constraint is in no row or in at least k rows."""
    released = [published(row, assignment) for row in rows]
    forms = [published(each, assignment) for each in constraints]
    return all(not form or not 0 < sum(form <= row for row in released) < k for form in forms)


def published(row, assignment):
    return frozenset(assignment[item] for item in row if assignment[item] is not None)


def within(assignment, blocks):
    """Whether each set has items of one block only."""
    of = {item: number for number, block in enumerate(blocks) for item in block}
    met = {}
    return all(
        met.setdefault(number, of[item]) == of[item]
        for item, number in assignment.items()
        if number is not None
    )


def losses(rows, assignment):
    """The shares of changed occurrences, and NCP."""
    supports = {item: sum(item in row for row in rows) for item in assignment}
    total, n = sum(supports.values()), len(assignment)
    sizes = [list(assignment.values()).count(number) for number in assignment.values()]
    changed = ncp = Fraction(0)
    for (item, number), size in zip(assignment.items(), sizes, strict=True):
        if number is None or size > 1:
            changed += Fraction(supports[item], total)
            ncp += Fraction(supports[item] * (n if number is None else size), total * n)
    return changed, ncp


def least_cover(conflicts, weights):
    """The least weight of items that meet each conflict."""
    items = range(len(weights))
    return min(
        sum(weights[item] for item in chosen)
        for size in range(len(weights) + 1)
        for chosen in map(set, combinations(items, size))
        if all(chosen & set(each) for each in conflicts)
    )


def least_deleted(rows, holds):
    """The least number of occurrences to delete, so that the rows that are left hold."""
    places = [(number, item) for number, row in enumerate(rows) for item in sorted(row)]
    for size in range(len(places) + 1):
        for chosen in combinations(places, size):
            left = [frozenset(row) for row in rows]
            for number, item in chosen:
                left[number] -= {item}
            if holds(left):
                return size
    raise AssertionError


def rare_parts(rows, left, k, listed):
    """What 1 to k - 1 rows show of listed itemsets, without some items that a row lost."""
    lost = set().union(*(row - now for row, now in zip(rows, left, strict=True)))
    known = {
        frozenset(items) - {*part}
        for items in listed
        for size in range(len(items) + 1)
        for part in combinations(sorted(lost & {*items}), size)
    }
    return {each for each in known if each and 0 < sum(each <= row for row in left) < k}
