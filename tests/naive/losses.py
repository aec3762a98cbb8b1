"""What remains of items in a release, by its definitions in fractions; nothing of pdanon.

Rows are lists of items, or of published labels; None is a missing row. A mapping is a list of
``(group, item, label, support)``, where the label is None if the item was suppressed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from statistics import median_low


def readable(rows, released, mapping):
    """The losses that can be read without a formula, by name; of all pairs, not of some of them."""
    changed = [(item, label, support) for _, item, label, support in mapping if label != item]
    total = sum(support for *_, support in mapping)
    meaning = meanings(mapping)
    behind = [len(meaning[label]) for _, label, support in changed if label for _ in range(support)]
    return {
        "occurrences": share(sum(support for *_, support in changed), total),
        "stands_for": median_low(behind) if behind else 1,
        "singles": single_error(rows, released, meaning),
        "pairs": pair_error(rows, released, meaning),
        "suppressed": share(sum(support for _, label, support in changed if label is None), total),
    }


def share(part, whole):
    return Fraction(part, whole) if whole else Fraction(0)


def meanings(mapping):
    """Which items each label stands for: those that became it."""
    meaning = defaultdict(set)
    for _, item, label, _ in mapping:
        if label is not None:
            meaning[label].add(item)
    return meaning


def single_error(rows, released, meaning):
    """Error of the count of an item, averaged over the occurrences of items."""
    actual = Counter(item for row in rows for item in set(row or ()))
    estimate = Counter()
    for row in released:
        for label in row or ():
            for item in meaning[label]:
                estimate[item] += Fraction(1, len(meaning[label]))
    errors = [Fraction(abs(count - estimate[item])) for item, count in actual.items()]
    return share(sum(errors), actual.total())


def pair_error(rows, released, meaning):
    """Relative error of the count of a pair, averaged over the occurrences of pairs."""
    actual = Counter(pair for row in rows for pair in combinations(sorted(set(row or ())), 2))
    errors = [abs(count - pair_estimate(pair, released, meaning)) for pair, count in actual.items()]
    return share(sum(errors, Fraction(0)), actual.total())


def pair_estimate(pair, released, meaning):
    one, other = pair
    return sum((chance(one, row, meaning) * chance(other, row, meaning) for row in released), Fraction(0))


def chance(item, row, meaning):
    """That a released row held an item: by the label of it that stands for the fewest."""
    sizes = [len(meaning[label]) for label in row or () if item in meaning[label]]
    return Fraction(1, min(sizes)) if sizes else Fraction(0)


# --- Whether anything is left


def nothing_left(mapping):
    """Whether next to nothing is left of the items of one column, in 20 rows and more."""
    total = sum(support for *_, support in mapping)
    if not total:
        return False
    meaning, items = meanings(mapping), {item for _, item, *_ in mapping}
    held = Counter()
    for _, _, label, support in mapping:
        if label is not None and len(meaning[label]) > 1:
            held[label] += support
    most = max(held.values(), default=0)
    broad = {label for label in held if Fraction(len(meaning[label]), len(items)) >= Fraction(95, 100)}
    common = max((len(meaning[label]), label) for label in [*held, ""] if held[label] == most)[1]
    gone = broad | {None, common}
    if share(sum(support for *_, label, support in mapping if label in gone), total) >= Fraction(95, 100):
        return True
    empty = 0
    for group in {group for group, *_ in mapping}:
        own = [entry for entry in mapping if entry[0] == group]
        support = sum(entry[3] for entry in own)
        gone = sum(entry[3] for entry in own if entry[2] is None or entry[2] in broad)
        if len({entry[1] for entry in own}) > 1 and share(gone, support) >= Fraction(95, 100):
            empty += support
    return empty > 0 and share(empty, total) >= Fraction(5, 100)
