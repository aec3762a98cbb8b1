"""PS-rules as they are defined: rules are pairs of frozensets, and nothing is left out; nothing of pdanon."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from naive.itemsets import support


def all_rules(public, sensitive, m):
    """Every rule from 1 to m public items to one sensitive item."""
    return [
        (frozenset(known), frozenset([item]))
        for size in range(1, (len(public) if m is None else m) + 1)
        for known in combinations(sorted(public), size)
        for item in sorted(sensitive)
    ]


def became(known, mapping):
    """The labels of known items; those of suppressed ones are none."""
    return frozenset(mapping[item] for item in known) - {None}


def broken(rows, rules, k, c, mapping):
    """What is wrong with published rows: labels, what they give away (nothing: they are rare), support.

    Rows are None where they are missing; then nobody looks there for who has lost all that is known of him.
    """
    present = [row for row in rows if row is not None]
    found = set()
    for known, sensitive in rules:
        image = became(known, mapping)
        count = support(present, image)
        if 0 < count < k:
            found.add((image, frozenset(), count))
        if count and None not in [mapping[item] for item in sensitive]:
            share = Fraction(support(present, image | sensitive), count)
            if share > c:
                found.add((image, sensitive, count))
    return found


def rows_at_risk(rows, rules, k, c, mapping):
    images = {image for image, _, _ in broken(rows, rules, k, c, mapping)}
    return sum(row is not None and any(image <= row for image in images) for row in rows)


def needed(rules):
    """The rules that no other implies, each once."""
    return {
        (known, sensitive)
        for known, sensitive in rules
        if not any(known == other and fewer < sensitive for other, fewer in rules)
    }
