"""rho-uncertainty, the slow and obvious way: all subsets of all rows. None is a missing row."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from naive.itemsets import support


def subsets(row, m=None):
    """All subsets of a row, of up to m items."""
    longest = len(row) if m is None else min(m, len(row))
    return [frozenset(each) for size in range(longest + 1) for each in combinations(sorted(row), size)]


def confidence(rows, antecedent, item):
    """The share of the rows with an antecedent that hold an item besides; missing rows do not count."""
    rows = [row for row in rows if row is not None]
    return Fraction(support(rows, antecedent | {item}), support(rows, antecedent))


def breaking_rules(rows, rho, sensitive, m=None):
    """All pairs of an antecedent, of up to m items, and a sensitive item that are surer than rho."""
    rules = {
        (antecedent, item)
        for row in rows
        if row is not None
        for item in row & sensitive
        for antecedent in subsets(row - {item}, m)
    }
    return {(antecedent, item) for antecedent, item in rules if confidence(rows, antecedent, item) > rho}


def minimal_rules(rules):
    """Those of which no other has the same item and fewer of the items of the antecedent."""
    return {
        (antecedent, item)
        for antecedent, item in rules
        if not any(other < antecedent and same == item for other, same in rules)
    }


def rows_at_risk(rows, rules):
    """How many rows hold an antecedent."""
    return sum(row is not None and any(antecedent <= row for antecedent, _ in rules) for row in rows)
