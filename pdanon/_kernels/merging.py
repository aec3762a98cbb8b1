"""How far apart sets are: the distance of transactions that stands in for what generalizing them loses."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["farthest", "joined"]

Array = NDArray[Any]

# What a pair loses is (different items + 1) / (common items + 1) * items of both. With sizes given it is
# most for pairs without common items, so that rows in descending order of size need few comparisons.


@inner
def _common(codes: Array, start: int, end: int, other: int, last: int) -> int:
    count = 0
    while start < end and other < last:
        if codes[start] == codes[other]:
            count += 1
            start += 1
            other += 1
        elif codes[start] < codes[other]:
            start += 1
        else:
            other += 1
    return count


@kernel
def farthest(rows: Array, others: Array, codes: Array, offsets: Array, best: float) -> float:
    """Largest distance of a row to one of others, or ``best``; both by descending size."""
    for row in rows:
        size = offsets[row + 1] - offsets[row]
        longest = True
        for other in others:
            both = size + offsets[other + 1] - offsets[other]
            if (both + 1.0) * both <= best:
                if longest:  # nor can a shorter row be farther from any
                    return best
                break
            longest = False
            if other == row:
                continue
            common = _common(codes, offsets[row], offsets[row + 1], offsets[other], offsets[other + 1])
            # Integers far below 2**53 in, so that equal quotients are equal floats.
            best = max(best, (both - 2 * common + 1.0) * (both - common) / (common + 1.0))
    return best


@kernel
def joined(
    rows: Array, members: Array, bounds: Array, own: float, codes: Array, offsets: Array, result: Array
) -> None:
    """Distance within the union of some rows with each cluster of rows; ``result`` begins with theirs."""
    for cluster in range(len(bounds) - 1):
        best = max(own, result[cluster])
        others = members[bounds[cluster] : bounds[cluster + 1]]
        result[cluster] = farthest(rows, others, codes, offsets, best)
