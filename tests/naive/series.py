"""Attackers who keep several releases, one by one: every span, every known itemset, every candidate.

A release is a dict of the labels of each person, a frozenset, or None for a missing row. A mapping is a dict
of the label of each item, None if it is suppressed; an item that did not occur is not in it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from naive.itemsets import minimal


def spans_of(number):
    """First and last release of each span."""
    return [(first, last) for first in range(number) for last in range(first, number)]


def present(releases, span):
    """The persons with a row in each release of a span, the first and the last one included."""
    chosen = range(span[0], span[1] + 1)
    everybody = {person for release in releases for person in release}
    return {one for one in everybody if all(releases[each].get(one) is not None for each in chosen)}


def holds(releases, mappings, span, person, item):
    """Whether the rows of a person hold the label of an item in each release of a span."""
    for each in range(span[0], span[1] + 1):
        if item not in mappings[each]:
            return False
        label = mappings[each][item]
        if label is not None and label not in releases[each][person]:
            return False
    return True


def candidates(releases, mappings, span, known, persons):
    return {one for one in persons if all(holds(releases, mappings, span, one, item) for item in known)}


def joint_label(mappings, span, item):
    """The items that no release of the span tells from an item."""

    def parts(each):
        chosen = mappings[span[0] : span[1] + 1]
        return [mapping.get(each, "absent") for mapping in chosen] if all(each in m for m in chosen) else None

    items = {each for mapping in mappings for each in mapping}
    return frozenset(each for each in items if parts(each) == parts(item))


def attackers(releases, mappings, span, m, persons):
    """The known itemsets of up to m items, each with its candidates."""
    items = sorted({item for mapping in mappings for item in mapping})
    for size in range(m + 1):
        for known in combinations(items, size):
            yield frozenset(known), candidates(releases, mappings, span, known, persons)


def km_audit(releases, mappings, span, k, m, persons=None):
    """The support of each minimal threat, of joint labels, and the persons that are at risk."""
    persons = present(releases, span) if persons is None else persons
    threats, exposed = {}, set()
    for known, found in attackers(releases, mappings, span, m, persons):
        if 0 < len(found) < k:
            threats[published(mappings, span, known)] = len(found)
            exposed |= found
    return {each: threats[each] for each in minimal(threats)}, exposed


def published(mappings, span, known):
    """The joint labels of items, without those that no release of the span publishes."""
    chosen = mappings[span[0] : span[1] + 1]
    shown = {item for item in known if any(mapping.get(item) is not None for mapping in chosen)}
    return frozenset(joint_label(mappings, span, item) for item in shown)


def lm_exposed(releases, mappings, span, k, m, l, sensitive):  # noqa: E741
    """The persons at risk: known items leave few candidates, or too many of them have a sensitive item."""
    persons, exposed = present(releases, span), set()
    for known, found in attackers(releases, mappings, span, m, persons):
        if known & sensitive or not found:
            continue
        shares = [
            Fraction(sum(item in releases[each][one] for one in found), len(found))
            for each in range(span[0], span[1] + 1)
            for item in sensitive
        ]
        if len(found) < (k or 1) or max(shares) > Fraction(1, l):
            exposed |= found
    return exposed


def constraint_exposed(releases, mappings, span, k, constraints):
    """The persons at risk of listed itemsets, or because few persons are in the releases."""
    persons = present(releases, span)
    if 0 < len(persons) < k:
        return persons
    found = [candidates(releases, mappings, span, known, persons) for known in constraints]
    shown = [each for each, known in zip(found, constraints, strict=True) if published(mappings, span, known)]
    return set().union(*(each for each in shown if len(each) < k))


def class_exposed(values, releases, span, k):
    """The persons with values of quasi-identifiers, in all releases of a span, that fewer than k have."""
    chosen, persons = range(span[0], span[1] + 1), present(releases, span)
    seen = {one: tuple(values[each][one] for each in chosen) for one in persons}
    return {one for one in persons if sum(other == seen[one] for other in seen.values()) < k}


def drop_exposed(releases, mappings, k, m):
    """The numbers of persons dropped from the newest release in each round, until its spans hold."""
    releases, dropped = [dict(each) for each in releases], []
    while True:
        spans = [span for span in spans_of(len(releases)) if span[1] == len(releases) - 1]
        exposed = set().union(*(km_audit(releases, mappings, span, k, m)[1] for span in spans))
        if not exposed:
            return dropped
        dropped.append(len(exposed))
        for one in exposed:
            del releases[-1][one]


def fits(one, other, mappings):
    """Whether some itemset has the labels of one row by the first mapping, and of the other by the second."""
    items = sorted({*mappings[0]} & {*mappings[1]})
    for size in range(len(items) + 1):
        for chosen in combinations(items, size):
            images = [{mapping[item] for item in chosen} - {None} for mapping in mappings]
            if images == [one, other]:
                return True
    return False


def shown_in_parts(releases, m):
    """The known itemsets of up to m items, a part of them for each release, and who shows all parts.

    In a release by deletions, a row shows any part of what a person has.
    """
    persons = set.intersection(*map(set, releases))
    items = sorted({item for release in releases for row in release.values() for item in row})
    for size in range(1, m + 1):
        for known in combinations(items, size):
            parts = [frozenset(each) for n in range(size + 1) for each in combinations(known, n)]
            for chosen in product(parts, repeat=len(releases)):
                pairs = [*zip(releases, chosen, strict=True)]
                yield chosen, {one for one in persons if all(part <= rows[one] for rows, part in pairs)}
