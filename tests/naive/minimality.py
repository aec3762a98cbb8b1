"""Attackers of all tables of a few items and rows, who know the algorithm or how often items were deleted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import combinations, combinations_with_replacement, product
from math import factorial, prod

Row = frozenset[str]


def tables(items: Sequence[str], n_rows: int) -> list[tuple[Row, ...]]:
    """Return all tables of rows with an item, without regard to the order of the rows."""
    rows = [frozenset(each) for size in range(1, len(items) + 1) for each in combinations(items, size)]
    return [*combinations_with_replacement(rows, n_rows)]


def orders(table: Iterable[Row]) -> int:
    """Count the orders of the rows of a table."""
    counts = Counter(table)
    return factorial(counts.total()) // prod(map(factorial, counts.values()))


def fewest(
    before: Iterable[Row], released: Iterable[Row], possible: Callable[[Row], Collection[Row]], m: int
) -> int:
    """Return the fewest rows that may hold the same up to m items of an original row.

    ``possible`` returns the original rows that a released row may come from.
    """
    known = {
        frozenset(each) for row in before for size in range(1, m + 1) for each in combinations(row, size)
    }
    behind = [(possible(row), count) for row, count in Counter(released).items()]
    return min(sum(n for rows, n in behind if any(each <= row for row in rows)) for each in known)


def lost(before: Iterable[Row], released: Iterable[Row]) -> tuple[tuple[str, int], ...]:
    """Return how often each item was deleted."""
    counts = Counter(item for one, other in zip(before, released, strict=True) for item in one - other)
    return tuple(sorted(counts.items()))


def share_given_away(
    releases: Iterable[tuple[Sequence[Row], Sequence[Row]]],
    k: int,
    m: int,
    told: Callable[[Sequence[Row], Sequence[Row]], Hashable] = lambda before, released: None,
) -> float:
    """Return the share of tables where some known items leave fewer than k rows, for who knows the algorithm.

    ``releases`` has all tables and their releases. The attacker considers those with his release, in any
    order of the rows, and of which the owner told the same.
    """
    possible: dict[Hashable, dict[Row, set[Row]]] = defaultdict(lambda: defaultdict(set))
    found = []
    for before, released in releases:
        key = frozenset(Counter(released).items()), told(before, released)
        for row, now in zip(before, released, strict=True):
            possible[key][now].add(row)
        found.append((before, released, key))
    hurt = sum(
        orders(before)
        for before, released, key in found
        if fewest(before, released, possible[key].__getitem__, m) < k
    )
    return hurt / sum(orders(before) for before, *_ in found)


def originals(released: Sequence[Row], counts: Sequence[tuple[str, int]], items: str) -> dict[Row, set[Row]]:
    """Return the rows that each released row may come from, if items were deleted a given number of times.

    Each original row has an item. Released rows are subsets of the original ones.
    """
    found: dict[Row, set[Row]] = defaultdict(set)
    sizes = range(len(items) + 1)
    larger = {
        row: [row.union(more) for size in sizes for more in combinations(set(items) - row, size)]
        for row in released
    }
    for rows in product(*(larger[row] for row in released)):
        if all(rows) and lost(rows, released) == tuple(counts):
            for row, now in zip(rows, released, strict=True):
                found[now].add(row)
    return found
