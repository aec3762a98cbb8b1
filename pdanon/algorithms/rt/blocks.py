"""Blocks of rows: what an algorithm sees of a table with quasi-identifiers and items, whole or in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pdanon.algorithms.registry import ALGORITHMS
from pdanon.algorithms.relational.attributes import Numbers
from pdanon.algorithms.relational.mondrian import cut_evenly
from pdanon.algorithms.relational.quasi import Classes, Formation, QuasiTable
from pdanon.algorithms.rt.transaction_side import TransactionSide
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_count, check_known

__all__ = ["Block", "check_cluster"]


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Rows, as the algorithms see them: integers, which can be sent to another process.

    Parameters
    ----------
    k : int
        Least number of rows of a cluster.
    table : QuasiTable
        Their quasi-identifiers. What is lost of them is a share of the whole table.
    transactions : TransactionSide
        Their transactions, and how these are anonymized.
    """

    k: int
    table: QuasiTable
    transactions: TransactionSide

    @property
    def most(self) -> int:
        """The loss of all rows together, if nothing were known of their quasi-identifiers."""
        return self.table.unit * len(self.table.attributes) * self.table.n_rows

    def take(self, rows: Numbers) -> Block:
        """Some of the rows."""
        itemsets = self.transactions.itemsets.take(rows)
        return Block(self.k, self.table.take(rows), replace(self.transactions, itemsets=itemsets))

    def cut(self, block_rows: Any) -> list[Numbers]:
        """The rows of blocks of at most so many rows; of a single one if that is None.

        Raises
        ------
        ParameterError
            If a block might have too few rows for a cluster.
        """
        if block_rows is None:
            return [np.arange(self.table.n_rows)]
        hint = "a block is cut in two, and either half needs k rows"
        return cut_evenly(self.table, check_count(block_rows, "block_rows", least=2 * self.k, hint=hint))

    def groups(self, cluster: str, rng: np.random.Generator, report: Report) -> Numbers:
        """Small clusters of rows that are alike in their quasi-identifiers; by the algorithm ``cluster``."""
        classes: Classes = _formations()[cluster](self.table, self.k, rng, report)
        return classes.of_row

    def protect(self, groups: Numbers, report: Report) -> Codes:
        """What each occurrence becomes, cluster of rows by cluster of rows."""
        numbers = np.full(len(self.transactions.itemsets.codes), -1, np.int32)
        order = np.argsort(groups, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            places, own = self.transactions.protect(rows)
            numbers[places] = own
            report(1)
        return numbers

    def joined(
        self, blocks: Sequence[Numbers], parts: Sequence[tuple[Numbers, Codes]]
    ) -> tuple[Numbers, Codes]:
        """The clusters, and what each occurrence becomes, of these rows, given those of their blocks."""
        groups = np.empty(self.table.n_rows, np.int64)
        numbers = np.empty(len(self.transactions.itemsets.codes), np.int32)
        first = 0
        for rows, (own, became) in zip(blocks, parts, strict=True):
            groups[rows] = own + first
            numbers[self.transactions.itemsets.places(rows)] = became
            first += int(own.max(initial=-1)) + 1
        return groups, numbers


def check_cluster(name: Any) -> None:
    """Check which algorithm is wanted for the quasi-identifiers."""
    check_known(name, _formations(), "algorithm for quasi-identifiers", where="cluster")


def _formations() -> dict[str, Formation]:
    """How classes are formed, by the algorithm that does so."""
    return {name: each.form for name, each in ALGORITHMS.items() if each.form is not None}
