"""Estimates: expected numbers of rows that hold itemsets, from what a release says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon.evaluation.metrics.conditions import Factors
from pdanon.evaluation.metrics.cover import Cover
from pdanon.itemsets.codes import Itemsets, Offsets
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.threads import even_parts, share

__all__ = ["Mode", "expected_counts"]

Mode: TypeAlias = Literal["subset", "uniform", "optimistic", "none"]

_CELLS = 2**22  # of the matrix of queries by values that is held at a time


def expected_counts(
    queries: ItemsetTable, published: Itemsets, cover: Cover, mode: Mode, factors: Sequence[Factors]
) -> NDArray[np.float64]:
    """Sum over the rows of the likelihood that they held the items of each query and fulfil its conditions.

    Parameters
    ----------
    queries : ItemsetTable
        Itemsets of original items.
    published : Itemsets
        The released column.
    cover : Cover
        Which of its labels stand for which items.
    mode : str
        How a label is read, as in `Workload.are`.
    factors : sequence of Factors
        The conditions, column by column.
    """
    from pdanon._kernels.estimates import estimates

    index = SupportIndex.of(published)
    if not factors:  # then equal rows count alike, and releases have many
        index = index.distinct()
    odds = _odds(cover.members, int(np.diff(queries.offsets).max(initial=0)), mode)
    values, classes = _classes(factors, len(index.weights))
    step = max(_CELLS // max(values.shape[1], *(each.n_values for each in factors), 1), 1)
    rows = index.rows

    def answer(begin: int, end: int) -> NDArray[np.float64]:
        part = queries.take(np.arange(begin, end))
        shares = np.ones((len(part), values.shape[1]))
        for factor, chosen in zip(factors, values, strict=True):
            shares *= factor.shares(slice(begin, end))[:, chosen]
        labels = cover.labels, cover.offsets
        return estimates(part.codes, part.offsets, *labels, odds, rows, classes, shares)

    blocks = [
        (first, min(first + step, end))
        for begin, end in even_parts(_looked_at(queries, index, cover))
        for first in range(begin, end, step)
    ]
    return np.concatenate(share(answer, blocks))


def _looked_at(queries: ItemsetTable, index: SupportIndex, cover: Cover) -> Offsets:
    """Rows that are looked at before each query, once for each of its items: those of the rarest, or all."""
    of_label = np.append(0, np.cumsum(np.diff(index.transpose[0])[cover.labels]))
    of_item = np.diff(of_label[cover.offsets])
    asked = np.diff(queries.offsets) > 0
    looked_at = np.full(len(queries), len(index.weights), np.int64)
    if asked.any():
        looked_at[asked] = np.minimum.reduceat(of_item[queries.codes], queries.offsets[:-1][asked])
    return offsets_of(looked_at * np.maximum(np.diff(queries.offsets), 1) + 1)


def _classes(factors: Sequence[Factors], n_rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The combinations of values that rows have, column by column, and the one of each row."""
    if not factors:
        return np.empty((0, 1), np.int64), np.zeros(n_rows, np.int64)
    rows = np.stack([each.values for each in factors])
    values, classes = np.unique(rows, axis=1, return_inverse=True)
    return values, classes.ravel().astype(np.int64)


def _odds(members: NDArray[np.int64], most: int, mode: Mode) -> NDArray[np.float64]:
    """Odds that a label with so many members means 0, 1, ... up to ``most`` given ones of them."""
    size, wanted = members[:, None].astype(np.float64), np.arange(most + 1)
    if mode == "subset":
        return np.exp2(-wanted) / (1 - np.exp2(-size))  # 2**(s - j) / (2**s - 1), without the large powers
    if mode == "uniform":
        return size**-wanted
    return np.ones((len(members), most + 1)) * ((size == 1) | (mode == "optimistic"))
