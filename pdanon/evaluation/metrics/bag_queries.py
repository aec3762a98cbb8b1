"""Expected supports of itemsets in released bags, as Clump publishes them.

Each label of a bag stands for one item, and two labels for two different items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.evaluation.metrics.attacker_candidates import Factors
from pdanon.itemsets.multisets import Multisets
from pdanon.itemsets.row_loops import first_equal_rows
from pdanon.itemsets.support import csr
from pdanon.itemsets.table import ItemsetTable
from pdanon.recoding.cover import Cover


def expected_in_bags(
    queries: ItemsetTable, published: Multisets, cover: Cover, factors: Sequence[Factors]
) -> NDArray[np.float64]:
    """Estimate, for each query, the number of original rows that match it.

    A label that a row has c times stands for c different items of its s items, all choices being equally
    likely and independent of the other labels. The probability that they avoid j given items is a product of
    ``(s - j - i) / (s - i)`` for i from 0 to c - 1. The probability that a row has all items of a query
    follows by inclusion and exclusion.
    """
    first = first_equal_rows(published.codes, published.offsets)
    _, example, bag_of = np.unique(first, return_index=True, return_inverse=True)
    bags = published.take(example)
    copies = _count_copies(bags)
    estimates = np.empty(len(queries))
    for number, row in enumerate(queries.sets()):
        contains = _contain(row, copies, cover, len(example))
        matches = contains[bag_of]
        for factor in factors:
            matches = matches * factor.shares(slice(number, number + 1))[0, factor.values]
        estimates[number] = matches.sum()
    return estimates


def _count_copies(bags: Multisets) -> Any:
    """Count the copies of each label in each bag, as a sparse array, labels by bags."""
    ones = np.ones(len(bags.codes), np.int64)
    table = csr((ones, bags.codes, bags.offsets), len(bags.nulls), len(bags.vocabulary))
    table.sum_duplicates()
    return table.T.tocsr()


def _contain(items: Sequence[int], copies: Any, cover: Cover, n_bags: int) -> NDArray[np.float64]:
    """Return the probability that each bag stands for all of some items."""
    total = np.zeros(n_bags)
    for absent in _subsets(items):
        avoid = np.ones(n_bags)
        parts = [cover.labels[cover.offsets[item] : cover.offsets[item + 1]] for item in absent]
        labels, covered = np.unique(np.concatenate([np.empty(0, np.int32), *parts]), return_counts=True)
        for label, n_covered in zip(labels.tolist(), covered.tolist(), strict=True):
            own = slice(copies.indptr[label], copies.indptr[label + 1])
            avoid[copies.indices[own]] *= _avoid(int(cover.members[label]), n_covered, copies.data[own])
        total += avoid if len(absent) % 2 == 0 else -avoid
    return np.clip(total, 0.0, 1.0)


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(items) + 1):
        yield from combinations(items, size)


def _avoid(size: int, given: int, copies: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the probability that as many different items of a label are none of the given ones."""
    steps = np.arange(int(copies.max(initial=0)))
    odds = np.clip(size - given - steps, 0, None) / np.maximum(size - steps, 1)
    return np.append(1.0, np.cumprod(odds))[copies]
