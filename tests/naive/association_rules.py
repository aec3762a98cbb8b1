"""Slow, obvious association rules and their errors, by their definitions in fractions; nothing of pdanon.

Rows are frozensets. ``meaning`` says which items a label stands for. A rule is a pair of frozensets.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from naive.queries import estimate, frequent, subsets


def support(rows, itemset):
    return sum(itemset <= row for row in rows)


def rules(rows, least, share, most=None):
    """Support and confidence of each rule."""
    found = {}
    for whole, count in frequent(rows, least, most).items():
        for left in subsets(whole):
            if left and left < whole:
                confidence = Fraction(count, support(rows, left))
                if confidence >= share:
                    found[left, whole - left] = count, confidence
    return found


def lift(rows, rule):
    left, right = rule
    return Fraction(support(rows, left | right) * len(rows), support(rows, left) * support(rows, right))


def read(row, meaning):
    """The labels that a row of the original contains."""
    return frozenset(label for label, items in meaning.items() if items & row)


def stands_for(labels, items, meaning):
    """Whether replacing each item by one of its labels can give the labels."""
    choices = [[label for label in labels if item in meaning[label]] for item in items]
    return any(frozenset(chosen) == labels for chosen in product(*choices))


def verdicts(rows, released, meaning, least, share, most=None):
    """The verdict of each rule of the original, and of each rule of the release."""
    before, after = rules(rows, least, share, most), rules(released, least, share, most)
    as_read = [read(row, meaning) for row in rows]
    true = {}
    for left, right in after:
        count = support(as_read, left | right)
        true[left, right] = count >= least and Fraction(count, support(as_read, left)) >= share
    originals, releases = dict.fromkeys(before, "lost"), {}
    for rule in after:
        alone = all(len(meaning[label]) == 1 for label in rule[0] | rule[1])
        releases[rule] = "new" if true[rule] else "false"
        for wanted in before:
            if true[rule] and all(map(stands_for, rule, wanted, [meaning, meaning])):
                releases[rule] = "kept" if alone else "generalized"
                if alone or originals[wanted] == "lost":
                    originals[wanted] = releases[rule]
    return originals, releases


def actual_confidence(rows, meaning, rule):
    as_read = [read(row, meaning) for row in rows]
    return Fraction(support(as_read, rule[0] | rule[1]), support(as_read, rule[0]))


def estimated_confidence(released, meaning, rule, mode):
    base = estimate(rule[0], released, meaning, mode)
    return estimate(rule[0] | rule[1], released, meaning, mode) / base if base else Fraction(0)
