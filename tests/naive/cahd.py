"""CAHD, literally: rows are sets, in the order in which they are given."""

from __future__ import annotations

from fractions import Fraction
from math import log


def groups(rows, sensitive, p, alpha, *, nearest=False):
    """Groups of row numbers; those of p rows in the order in which they are formed, then the rest."""
    public, secret = [row - sensitive for row in rows], [row & sensitive for row in rows]
    left = [*range(len(rows))]
    held = {item: sum(item in row for row in secret) for item in sensitive}
    formed = []
    while True:
        before = len(formed)
        for row in range(len(rows)):
            if row not in left or not secret[row]:
                continue
            group = _group(row, left, public, secret, p, alpha, nearest)
            if group is None:
                continue
            after = {item: held[item] - sum(item in secret[each] for each in group) for item in held}
            if any(number * p > len(left) - p for number in after.values()):
                continue
            held, left = after, [each for each in left if each not in group]
            formed.append(group)
        if len(formed) == before:
            return [*formed, left] if left else formed


def _group(row, left, public, secret, p, alpha, nearest):
    """A row and p - 1 others, or None."""
    chosen = [row]
    if nearest:
        sharing = [each for each in left if each != row and public[each] & public[row]]
        sharing.sort(key=lambda each: (len(public[each] ^ public[row]), abs(each - row), each))
        for each in sharing:
            if len(chosen) < p and _fits(each, chosen, secret):
                chosen.append(each)
    candidates, sides = [], {True: 0, False: 0}
    others = [each for each in left if each not in chosen]
    for each in sorted(others, key=lambda each: (abs(each - row), each)):
        if sides[each < row] < alpha * p and _fits(each, chosen + candidates, secret):
            sides[each < row] += 1
            candidates.append(each)
    if len(candidates) < p - len(chosen):
        return None
    if nearest:
        candidates.sort(key=lambda each: len(public[each] ^ public[row]))
    else:
        candidates.sort(key=lambda each: -len(public[each] & public[row]))
    return chosen + candidates[: p - len(chosen)]


def _fits(row, others, secret):
    return not any(secret[row] & secret[other] for other in others)


def table(rows, groups, sensitive):
    """How often each sensitive item is in each group, by the smallest row of the group."""
    return {
        (min(group), item): number
        for group in groups
        for item in sensitive
        if (number := sum(item in rows[row] for row in group))
    }


def kl(rows, groups, secret, items):
    """Reconstruction error of a query from the published counts: exact shares, and a logarithm a cell."""
    total = sum(secret in row for row in rows)
    actual, estimate = {}, {}
    for group in groups:
        held = sum(secret in rows[row] for row in group)
        for row in group:
            cell = tuple(item in rows[row] for item in items)
            actual[cell] = actual.get(cell, 0) + Fraction(secret in rows[row], total)
            estimate[cell] = estimate.get(cell, 0) + Fraction(held, len(group) * total)
    return sum(float(share) * log(share / estimate[cell]) for cell, share in actual.items() if share)


def pair_estimate(rows, groups, one, other, sensitive):
    """How many rows are expected to have both items, of which one is sensitive."""
    expected = Fraction(0)
    for group in groups:
        chance = {
            item: Fraction(sum(item in rows[row] for row in group), len(group)) for item in (one, other)
        }
        for row in group:
            odds = [chance[item] if item in sensitive else int(item in rows[row]) for item in (one, other)]
            expected += odds[0] * odds[1]
    return expected
