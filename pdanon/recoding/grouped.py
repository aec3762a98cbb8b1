"""Rows with sensitive items published as counts of groups, and the errors of queries on them."""

# Ghinita, Tao, Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.guarantees.sensitive_groups import GROUP
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.lists import Floats, Mask, Numbers, offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.loss import Remaining, draw_pairs, pair_error
from pdanon.recoding.recoding import Recoding

_QUERIES, _SIZE = 100, 4  # of the loss KL


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """The original rows, and groups with the counts of their sensitive items."""

    # A user of the release assumes that all rows of a group have a sensitive item with the same probability.
    # This *chance* is the count of the item in the group over the size of the group. A label stands for each
    # of its items with the same probability.

    itemsets: Itemsets
    recoding: Recoding  # the same in the whole table; rows do not show the suppressed items
    groups: NDArray[Any]  # of each row, from 0 on
    is_sensitive: Mask  # items that groups count, and rows do not show

    @cached_property
    def is_shown(self) -> Mask:
        """Mask of the items that rows show, as a label."""
        return self.recoding.targets >= 0

    @cached_property
    def sizes(self) -> Numbers:
        """Number of rows of each group."""
        return np.bincount(self.groups)

    @cached_property
    def counted(self) -> tuple[Numbers, Numbers, Numbers]:
        """``items, groups, counts``: the count of each sensitive item by group; by item, then by group."""
        hidden = self.is_sensitive[self.itemsets.codes]
        n_groups = len(self.sizes)
        cells = self.itemsets.codes[hidden] * np.int64(n_groups) + self.groups[self.itemsets.rows[hidden]]
        cells, counts = np.unique(cells, return_counts=True)
        return *np.divmod(cells, max(n_groups, 1)), counts

    def classes(self) -> pd.DataFrame:
        """Return the published table: ``group, size, item, count``."""
        # By group, then by item. A group without a sensitive item has one line with a missing item.
        items, groups, counts = self.counted
        without = np.setdiff1d(np.arange(len(self.sizes)), groups)
        group = np.concatenate([groups, without])
        item = np.concatenate([items, np.full(len(without), -1)])
        order = np.lexsort((item, group))
        group, item = group[order], item[order]
        values = self.itemsets.vocabulary.take(pa.array(item, mask=item < 0))
        return pd.DataFrame(
            {
                GROUP: group,
                "size": self.sizes[group],
                "item": pd.arrays.ArrowExtensionArray(values),
                "count": np.concatenate([counts, np.zeros(len(without), np.int64)])[order],
            }
        )

    def losses(self) -> dict[str, float]:
        """Return the losses of both tables together; the counts of sensitive items are exact."""
        singles = self._published.singles(exact=self.is_sensitive)
        return {"singles": singles, "pairs": self.pairs(), "KL": self.mean_kl()}

    def pairs(self) -> float:
        """Return the average relative error of the counts of pairs of items, sampled as for any release."""
        codes, times = draw_pairs(self.itemsets)
        offsets = np.arange(0, codes.size + 1, 2)
        actual = self._index.supports(codes.ravel(), offsets)
        estimate, hidden = self._published.together(codes), self.is_sensitive[codes].any(axis=1)
        estimate[hidden] = [self._together(*pair) for pair in codes[hidden].tolist()]
        return pair_error((actual, estimate), times)

    def mean_kl(self) -> float:
        """Return the mean reconstruction error of 100 queries of up to 4 public items, with a fixed seed."""
        rng = random_generator(None)
        queries = self.draw_queries(_QUERIES, _SIZE, rng)
        return float(np.mean([self.kl(secret, items) for secret, items in queries])) if queries else 0.0

    def draw_queries(self, n: int, size: int, rng: np.random.Generator) -> list[tuple[int, Numbers]]:
        """Draw queries uniformly: codes of a sensitive item and of up to ``size`` public ones."""
        secrets, public = np.flatnonzero(self.is_sensitive), np.flatnonzero(self.is_shown)
        if not len(secrets) or not len(public):
            return []
        size = min(size, len(public))
        return [(int(rng.choice(secrets)), rng.choice(public, size, replace=False)) for _ in range(n)]

    def kl(self, secret: int, items: Iterable[int]) -> float:
        """Return the reconstruction error of a query: the divergence of the estimate from the truth, in nats.

        The rows with a sensitive item are divided into cells, by the public items that they have. ``Act`` is
        the share of each cell. ``Est`` is its expectation by the chances of the groups. The error is the sum
        of ``Act * log(Act / Est)`` over the cells.
        """
        codes = np.fromiter(items, np.int64)
        labels = self.recoding.targets[codes]
        starts, tids, _ = self._index.transpose
        held = np.zeros(self.itemsets.n_rows)
        held[tids[starts[secret] : starts[secret + 1]]] = 1
        actual = self._by_cell(self._index, codes, held)
        estimate = self._by_cell(self._published.index, labels, self._chance(secret)[self.groups])
        for place, size in enumerate(self._published.sizes[labels].tolist()):
            without, having = estimate.reshape(-1, 2, 1 << place).swapaxes(0, 1)
            without += having * (1 - 1 / size)  # the rows that have the label for another of its items
            having /= size
        there = actual > 0  # the estimate is then positive: a row with the item has a chance
        share = actual[there] / held.sum()
        return float(share @ np.log(share / (estimate[there] / held.sum())))

    def _by_cell(self, index: SupportIndex, codes: NDArray[Any], weights: Floats) -> Floats:
        """Return the sums of row weights by cell, a number whose bits are the codes of a row."""
        starts, tids, _ = index.transpose
        cell, touched = self._cells, [np.empty(0, np.int32)]
        for place, code in enumerate(codes):
            holders = tids[starts[code] : starts[code + 1]]
            touched.append(holders[cell[holders] == 0])  # each row is listed once
            cell[holders] |= 1 << place
        rows = np.concatenate(touched)
        sums = np.bincount(cell[rows], weights[rows], minlength=1 << len(codes)).astype(np.float64)
        cell[rows] = 0
        sums[0] = weights.sum() - sums.sum()
        return sums

    @cached_property
    def _index(self) -> SupportIndex:
        return SupportIndex.of(self.itemsets)

    @cached_property
    def _published(self) -> Remaining:
        """The public items that rows show."""
        return Remaining.of(self.itemsets, self.recoding, self.recoding.changes(self.itemsets))

    @cached_property
    def _cells(self) -> Numbers:
        """Work space: 0 for each row, reset after each use."""
        return np.zeros(self.itemsets.n_rows, np.int64)

    @cached_property
    def _bounds(self) -> Numbers:
        """First line of each item in ``counted``."""
        return offsets_of(np.bincount(self.counted[0], minlength=self.itemsets.n_items))

    def _chance(self, secret: int) -> Floats:
        """Return the chance of a sensitive item in each group."""
        _, groups, counts = self.counted
        lines = slice(self._bounds[secret], self._bounds[secret + 1])
        chance = np.zeros(len(self.sizes))
        chance[groups[lines]] = counts[lines] / self.sizes[groups[lines]]
        return chance

    def _together(self, one: int, other: int) -> float:
        """Return the expected number of rows with two items, at least one of them sensitive."""
        if not self.is_sensitive[one]:
            one, other = other, one
        chance = self._chance(one)
        if self.is_sensitive[other]:
            return float((chance * self._chance(other)) @ self.sizes)
        label = self.recoding.targets[other]
        if label < 0:
            return 0.0
        starts, tids, _ = self._published.index.transpose
        rows = tids[starts[label] : starts[label + 1]]
        return float(chance[self.groups[rows]].sum() / self._published.sizes[label])
