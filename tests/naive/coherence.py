"""Coherence as it is defined: frozensets, all itemsets, fractions; nothing of pdanon."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from naive.itemsets import minimal, support, supports


def breach(rows, itemset, private):
    """The largest share of the rows with an itemset that hold one private item."""
    holding = [row for row in rows if itemset <= row]
    return max((Fraction(support(holding, {item}), len(holding)) for item in private), default=Fraction(0))


def is_mole(rows, itemset, h, k, private):
    count = support(rows, itemset)
    return count > 0 and (count < k or breach(rows, itemset, private) > h)


def moles(rows, h, k, p, private):
    """All moles of 0 to p public items; only what occurs can be one."""
    occurring = {frozenset(), *supports([row - set(private) for row in rows], p)}
    return {each for each in occurring if is_mole(rows, each, h, k, private)}


def minimal_moles(rows, h, k, p, private):
    return minimal(moles(rows, h, k, p, private))


def rows_at_risk(rows, h, k, p, private):
    found = moles(rows, h, k, p, private)
    return sum(any(mole <= row for mole in found) for row in rows)


def is_coherent(rows, h, k, p, private):
    return not moles(rows, h, k, p, private)


def score(criterion, count, loss):
    """What the paper divides; a loss of 0 makes it infinite, which is above every fraction."""
    above, below = {"mm/il": (count, loss), "mm": (count, 1), "1/il": (1, loss)}[criterion]
    return (1, 0) if below == 0 else (0, Fraction(above) / Fraction(below))


def eliminated(found, losses, criterion):
    """Items chosen so that no minimal mole is left: single ones, then in order of the choice."""
    chosen = sorted(item for mole in found if len(mole) == 1 for item in mole)
    left = [mole for mole in found if len(mole) > 1]
    while left:
        counts = {item: sum(item in mole for mole in left) for mole in left for item in mole}

        def rank(item, counts=counts):
            infinite, value = score(criterion, counts[item], losses[item])
            return -infinite, -value, -counts[item], losses[item], item

        best = min(counts, key=rank)
        chosen.append(best)
        left = [mole for mole in left if best not in mole]
    return chosen


def parts_are_shared(rows, k, public):
    """Whether at least k rows have exactly the public items of each row, or are missing (None) as it is."""
    parts = Counter(None if row is None else row & set(public) for row in rows)
    return all(count >= k for count in parts.values())


def suppressed_to_k(rows, k, public):
    """Top-down: release what keeps all classes of equal public parts at k rows and saves most occurrences."""
    released = set()

    while True:
        fitting = [item for item in sorted(public - released) if parts_are_shared(rows, k, released | {item})]
        if not fitting:
            return public - released
        released.add(max(fitting, key=lambda item: support(rows, {item})))


# --- Private items that differ by person: rows are pairs of public and private items


def shares_by_person(rows, itemset):
    """Share of the matching rows with each item that is private in one of them, wherever it is there."""
    matching = [(public, private) for public, private in rows if itemset <= public]
    secrets = frozenset().union(*(private for _, private in matching))
    return {
        item: Fraction(sum(item in public | private for public, private in matching), len(matching))
        for item in secrets
    }


def moles_by_person(rows, h, k, p):
    """All moles of 0 to p items that are public in the same row."""
    counts = {**supports([public for public, _ in rows], p), frozenset(): len(rows)}
    return {
        itemset
        for itemset, count in counts.items()
        if count and (count < k or any(share > h for share in shares_by_person(rows, itemset).values()))
    }


def rows_at_risk_by_person(rows, h, k, p):
    found = moles_by_person(rows, h, k, p)
    return sum(any(mole <= public for mole in found) for public, _ in rows)


def without_public(rows, items):
    return [(public - set(items), private) for public, private in rows]


def eliminated_by_person(rows, h, k, p, losses, criterion):
    """Items chosen: first those that anyone can infer where they are public, then one of each mole."""
    forced = {item for item, share in shares_by_person(rows, frozenset()).items() if share > h}
    forced &= frozenset().union(*(public for public, _ in rows))
    found = minimal(moles_by_person(without_public(rows, forced), h, k, p))
    if frozenset() in found:
        return None  # infeasible
    return eliminated(found | {frozenset([item]) for item in forced}, losses, criterion)


# --- Efforts: an attacker knows itemsets up to a total effort


def moles_by_effort(rows, h, k, budget, private, efforts):
    """All moles of public items whose efforts add up to the budget or less."""
    occurring = {frozenset(), *supports([row - set(private) for row in rows], len(efforts))}
    return {
        itemset
        for itemset in occurring
        if sum(efforts[item] for item in itemset) <= budget and is_mole(rows, itemset, h, k, private)
    }
