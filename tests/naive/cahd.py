"""CAHD, literally: rows are sets, in the order in which they are given."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
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


def odds(row, item, stands_for):
    """How likely a row has a public item, for who takes its label for any of its items alike."""
    members = stands_for.get(item, {item})
    return Fraction(not members.isdisjoint(row), len(members))


def kl(rows, groups, secret, items, stands_for=frozenset()):
    """Reconstruction error of a query from the published tables: exact shares, and a logarithm a cell.

    ``stands_for`` has the items that the label of an item stands for, where these are several.
    """
    stands_for = dict(stands_for)
    total = sum(secret in row for row in rows)
    actual, estimate = {}, {}
    for group in groups:
        held = sum(secret in rows[row] for row in group)
        for row in group:
            cell = tuple(item in rows[row] for item in items)
            actual[cell] = actual.get(cell, 0) + Fraction(secret in rows[row], total)
            for guess in product([False, True], repeat=len(items)):
                chance = Fraction(held, len(group) * total)
                for item, there in zip(items, guess, strict=True):
                    likely = odds(rows[row], item, stands_for)
                    chance *= likely if there else 1 - likely
                estimate[guess] = estimate.get(guess, 0) + chance
    return sum(float(share) * log(share / estimate[cell]) for cell, share in actual.items() if share)


def pair_estimate(rows, groups, one, other, sensitive, stands_for=frozenset()):
    """How many rows are expected to have both items."""
    expected, stands_for = Fraction(0), dict(stands_for)
    for group in groups:
        chance = {
            item: Fraction(sum(item in rows[row] for row in group), len(group)) for item in (one, other)
        }
        for row in group:
            both = Fraction(1)
            for item in (one, other):
                both *= chance[item] if item in sensitive else odds(rows[row], item, stands_for)
            expected += both
    return expected
