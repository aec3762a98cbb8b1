"""Kernel that counts frequent itemsets, to tell whether they can be listed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["bits", "count_frequent"]

Array = NDArray[Any]

_DEEPEST = 64  # more items than an itemset has that may still be counted: it has 2**64 subsets


@kernel
def bits(starts: Array, tids: Array, items: Array, n_rows: int) -> Array:
    """Rows that hold each of some items, as bits, 64 rows a word."""
    words = np.zeros((len(items), (n_rows + 63) // 64), np.uint64)
    for number in range(len(items)):
        for slot in range(starts[items[number]], starts[items[number] + 1]):
            row = tids[slot]
            words[number, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    return words


@kernel
def count_frequent(words: Array, least: int, max_size: int, most: int) -> int:
    """Count the sets of up to max_size of some items that ``least`` rows hold; beyond ``most`` just any more.

    The items are those of `bits`, each of them frequent. Depth-first: a node is an itemset with its rows and
    the items that it can be extended by.
    """
    n, width = words.shape
    rows = np.empty((_DEEPEST, width), np.uint64)
    extensions = np.empty((_DEEPEST, n), np.int32)
    n_extensions, cursor = np.zeros(_DEEPEST, np.int64), np.zeros(_DEEPEST, np.int64)
    rows[0] = ~np.uint64(0)
    for number in range(n):
        extensions[0, number] = number
    n_extensions[0] = n
    total, depth = n, 0
    while depth >= 0 and total <= most:
        here = cursor[depth]
        if here >= n_extensions[depth] or depth + 1 >= max_size:
            depth -= 1
            continue
        cursor[depth] += 1
        child = depth + 1
        if child == _DEEPEST:
            return most + 1
        added = words[extensions[depth, here]]
        for word in range(width):
            rows[child, word] = rows[depth, word] & added[word]
        found = 0
        for slot in range(here + 1, n_extensions[depth]):
            if _common(rows[child], words[extensions[depth, slot]]) >= least:
                extensions[child, found] = extensions[depth, slot]
                found += 1
        total += found
        if found >= 2:
            n_extensions[child], cursor[child] = found, 0
            depth = child
    return total


@inner
def _common(one: Array, other: Array) -> int:
    """How many bits are set in both."""
    total = np.uint64(0)
    for word in range(len(one)):
        x = one[word] & other[word]
        x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
        x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
        x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return int(total)
