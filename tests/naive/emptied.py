"""Rows that lost all their items, counted with the original at hand, which no audit has."""

from __future__ import annotations

from fractions import Fraction


def emptied(before, after):
    """The number of rows that had an item before and have no label after."""
    return sum(bool(one) and not other for one, other in zip(before, after, strict=True))


def singled_out(before, after, k, classes=None):
    """The number of emptied rows that are fewer than k of their class, of which other rows show labels."""
    classes = [0] * len(before) if classes is None else classes
    found = 0
    for each in set(classes):
        own = [place for place, one in enumerate(classes) if one == each]
        count = emptied([before[place] for place in own], [after[place] for place in own])
        if 0 < count < k and any(after[place] for place in own):
            found += count
    return found


def few_without_public(before, after, k, private):
    """The number of rows without public items where some lost all of them, if they are fewer than k."""
    (had, has) = ([frozenset(row or ()) - frozenset(private) for row in rows] for rows in (before, after))
    bare = sum(not row for row in has)
    return bare if emptied(had, has) and bare < k and any(has) else 0


def occurrences(rows, became):
    """How many items of rows each label stands for."""
    counts = {}
    for row in rows:
        for item in row or ():
            counts[became[item]] = counts.get(became[item], 0) + 1
    return counts


def order_of(became):
    """Labels by the first of their items."""
    labels = {}
    for item in sorted(became):
        labels.setdefault(became[item], len(labels))
    return labels


def hidden(rows, became, k):
    """What items become, by name, when so much more is suppressed that k rows are emptied, or all.

    The labels of one row after the other go, of which the fewest occurrences are lost for a row. Those that
    need not go come back.
    """
    shown = [frozenset(became[item] for item in row or ()) - {None} for row in rows]
    count = emptied(rows, shown)
    if not 0 < count < k or not any(shown):
        return became
    lost, order = occurrences(rows, became), order_of(became)
    shown = [row for row in shown if row]
    gone = set()
    while True:
        left = [row - gone for row in shown]
        lacking = k - count - left.count(frozenset())
        if lacking <= 0:
            break
        if not any(left):
            break
        price = {
            row: Fraction(sum(lost[label] for label in row), min(left.count(row), lacking))
            for row in {*left} - {frozenset()}
        }
        gone |= min(price, key=lambda row: (price[row], len(row), sorted(order[label] for label in row)))
    for label in sorted(gone, key=lambda each: (-lost[each], order[each])):
        without = gone - {label}
        if count + sum(row <= without for row in shown) >= k:
            gone = without
    return {item: None if label in gone else label for item, label in became.items()}


def hidden_under(rows, became, k, constraints):
    """The same, when each of some itemsets has to become nothing, or what is in no row or in k."""
    while True:
        became = hidden(rows, became, k)
        shown = [frozenset(became[item] for item in row) - {None} for row in rows]
        images = {frozenset(became[item] for item in each) - {None} for each in constraints}
        threats = [each for each in images if each and 0 < sum(each <= row for row in shown) < k]
        if not threats:
            return became
        lost, order = occurrences(rows, became), order_of(became)
        gone = {min(each, key=lambda label: (lost.get(label, 0), order[label])) for each in threats}
        became = {item: None if label in gone else label for item, label in became.items()}
