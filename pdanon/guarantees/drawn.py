"""Drawing itemsets at random: how many of each size, and those that occur."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Codes, Itemsets
from pdanon.itemsets.values import check_count

__all__ = ["divided", "drawn"]

_AT_A_TIME = 10**6  # itemsets that are drawn


def divided(count: int, sizes: int | Mapping[int, float]) -> dict[int, int]:
    """How many itemsets of each size: the proportions by largest remainder, then by size."""
    shares = sizes if isinstance(sizes, Mapping) else {check_count(sizes, "sizes", least=1): 1.0}
    exact = {check_count(size, "sizes", least=1): _proportion(share) for size, share in shares.items()}
    total = sum(exact.values())
    if not total:
        raise ParameterError("some proportion must be above 0", where="sizes", got=f"{len(exact)} sizes")
    quotas = {size: count * exact[size] / total for size in sorted(exact)}
    counts = {size: int(quota) for size, quota in quotas.items()}
    by_remainder = sorted(counts, key=lambda size: counts[size] - quotas[size])
    for size in by_remainder[: count - sum(counts.values())]:
        counts[size] += 1
    return counts


def _proportion(share: Any) -> Fraction:
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < np.inf:
        raise ParameterError("proportions must be numbers from 0", where="sizes", got=type(share).__name__)
    return Fraction(share).limit_denominator(10**9)


def drawn(itemsets: Itemsets, size: int, count: int, rng: np.random.Generator) -> Codes:
    """Distinct itemsets of one size, in the order drawn; shape (count, size)."""
    rows = np.flatnonzero(itemsets.lengths >= size)
    found = np.empty((0, size if len(rows) else 0), np.int32)
    while len(found) < count:
        before = len(found)
        if len(rows):
            some = rng.choice(rows, min(max(1000, 10 * count), _AT_A_TIME))
            places = _distinct_places(itemsets.lengths[some], size, rng)
            drawn = np.sort(itemsets.codes[itemsets.offsets[some][:, None] + places], axis=1)
            found = np.concatenate((found, drawn))
            found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
        if len(found) == before:
            raise ParameterError(
                "the data does not have so many different itemsets",
                where="count",
                got=f"{before} of {count} itemsets of {size} items were found",
            )
    return found[:count]


def _distinct_places(lengths: NDArray[np.int64], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """For each length that many numbers below it, all different and all choices equally likely."""
    places = np.empty((len(lengths), size), np.int64)
    for i in range(size):
        last = lengths - size + i
        place = rng.integers(0, last + 1)
        taken = (places[:, :i] == place[:, None]).any(axis=1)
        places[:, i] = np.where(taken, last, place)
    return places
