"""Slow, obvious answers to queries, by their definitions in fractions; nothing of pdanon.

Rows are frozensets. ``meaning`` says which items a label stands for.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, product

# --- items


def subsets(items):
    return [
        frozenset(chosen) for size in range(len(items) + 1) for chosen in combinations(sorted(items), size)
    ]


def odds(wanted, members, mode):
    """Probability that a label which stands for the members means all wanted ones."""
    if mode == "subset":  # count the non-empty sets that the label may have been
        possible = [each for each in subsets(members) if each]
        return Fraction(sum(wanted <= each for each in possible), len(possible))
    if mode == "uniform":
        return Fraction(1, len(members)) ** len(wanted)
    return Fraction(mode == "optimistic" or len(members) == 1)


def row_odds(query, row, meaning, mode):
    """Probability that a released row held all items of a query."""
    needed = {}
    for item in query:
        labels = [label for label in row if item in meaning[label]]
        if not labels:
            return Fraction(0)
        needed.setdefault(min(labels, key=lambda label: (len(meaning[label]), label)), set()).add(item)
    product = Fraction(1)
    for label, items in needed.items():
        product *= odds(frozenset(items), meaning[label], mode)
    return product


def estimate(query, released, meaning, mode, factors=None):
    """Expected number of rows that held a query; factors are the odds of other conditions, row by row."""
    factors = factors or [Fraction(1)] * len(released)
    pairs = zip(released, factors, strict=True)
    return sum((row_odds(query, row, meaning, mode) * factor for row, factor in pairs), Fraction(0))


def relative_errors(actual, estimates, sanity=0):
    """Error of each query; None where nothing is there to relate to."""
    return [
        abs(a - e) / Fraction(max(a, sanity)) if max(a, sanity) else None
        for a, e in zip(actual, estimates, strict=True)
    ]


# --- conditions


def whole_numbers(low, high, first, last):
    """Share of the whole numbers from first to last that are from low to high."""
    inside = [number for number in range(first, last + 1) if low <= number <= high]
    return Fraction(len(inside), last - first + 1)


def length(low, high, first, last):
    """Share of the line from first to last that is from low to high."""
    if first == last:
        return Fraction(low <= first <= high)
    common = min(Fraction(high), Fraction(last)) - max(Fraction(low), Fraction(first))
    return max(common, Fraction(0)) / (Fraction(last) - Fraction(first))


def label_share(wanted, label, values, labels):
    """Share of the values published as a label that are wanted."""
    members = {value for value, published in zip(values, labels, strict=True) if published == label}
    return Fraction(sum(bool(wanted(member)) for member in members), len(members))


# --- patterns and classes


def frequent(rows, least, most=None):
    """Support of each itemset that at least so many rows hold."""
    found = Counter(each for row in rows for each in subsets(row) if each)
    return {
        each: count for each, count in found.items() if count >= least and len(each) <= (most or len(each))
    }


def top(rows, n):
    order = sorted(frequent(rows, 1).items(), key=lambda each: (-each[1], len(each[0]), sorted(each[0])))
    return {itemset for itemset, _ in order[:n]}


def ml2(rows, paths, published, least):
    """ML2 and dML2; the path of an item leads from the leaf to the root, and it is published as places.

    ``published`` holds, for each item, the height in its path of what it became in each group; None where it
    was suppressed.
    """
    height = max(map(len, paths.values()))
    totals, found = [0, 0], [0, 0]
    previous = []
    for level in range(height):
        node_of = {item: path[min(level, len(path) - 1)] for item, path in paths.items()}
        patterns = frequent([frozenset(node_of[item] for item in row) for row in rows], least)
        below = {}
        for item, node in node_of.items():
            below.setdefault(node, []).append(item)
        for pattern in patterns:
            kept = all(
                place is not None and place <= min(level, len(paths[item]) - 1)
                for node in pattern
                for item in below[node]
                for place in published[item]
            )
            # A pattern of the level below whose items, one step up, are these.
            implied = any(step_up(each, paths, level) == pattern for each in previous)
            for number, counts in enumerate((True, not implied)):
                totals[number] += counts
                found[number] += counts and kept
        previous = list(patterns)
    return [1 - Fraction(f, t) if t else Fraction(0) for f, t in zip(found, totals, strict=True)]


def step_up(pattern, paths, level):
    above = {}
    for path in paths.values():
        above[path[min(level - 1, len(path) - 1)]] = path[min(level, len(path) - 1)]
    return frozenset(above[node] for node in pattern)


def class_sizes(keys):
    """Sizes of the classes of equal keys, in the order of their first rows."""
    return list(Counter(keys).values())


# --- bags, and items that a row must not hold


def bag_odds(query, bag, meaning):
    """Probability that a bag stands for all items: each label for as many different ones as it has copies."""
    copies = Counter(bag)
    choices = [[*combinations(sorted(meaning[label]), count)] for label, count in copies.items()]
    possible = [frozenset().union(*chosen) for chosen in product(*choices)]
    return Fraction(sum(frozenset(query) <= each for each in possible), len(possible))


def count_without(present, absent, rows):
    """Rows that hold some items, and none of others."""
    return sum(present <= row and not absent & row for row in rows)


def estimate_without(present, absent, odds):
    """The same for rows of which only the odds of itemsets are known."""
    return sum((-1) ** len(more) * odds(present | more) for more in subsets(absent))
