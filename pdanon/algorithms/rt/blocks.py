"""Blocks of rows: the quasi-identifiers and items that an algorithm anonymizes together."""

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
    """Rows as integer codes, which can be sent to another process.

    Parameters
    ----------
    k : int
        Minimum number of rows of a cluster.
    table : QuasiTable
        The quasi-identifiers. Their losses are relative to all values of the whole table.
    transactions : TransactionSide
        The transactions, and how they are anonymized.
    """

    k: int
    table: QuasiTable
    transactions: TransactionSide

    @property
    def most(self) -> int:
        """Loss of all rows together if all quasi-identifiers were suppressed."""
        return self.table.unit * len(self.table.attributes) * self.table.n_rows

    def take(self, rows: Numbers) -> Block:
        """Select rows."""
        itemsets = self.transactions.itemsets.take(rows)
        return Block(self.k, self.table.take(rows), replace(self.transactions, itemsets=itemsets))

    def cut(self, block_rows: Any) -> list[Numbers]:
        """Return the rows of blocks of a maximum size; one block without a maximum.

        Raises
        ------
        ParameterError
            If a block might have fewer rows than a cluster needs.
        """
        if block_rows is None:
            return [np.arange(self.table.n_rows)]
        hint = "a block is cut in two, and each half needs k rows"
        return cut_evenly(self.table, check_count(block_rows, "block_rows", least=2 * self.k, hint=hint))

    def groups(self, cluster: str, rng: np.random.Generator, report: Report) -> Numbers:
        """Form small clusters of rows with similar quasi-identifiers, by the algorithm ``cluster``."""
        classes: Classes = _formations()[cluster](self.table, self.k, rng, report)
        return classes.of_row

    def protect(self, groups: Numbers, report: Report) -> Codes:
        """Anonymize the items of each cluster; return the new number of each occurrence."""
        numbers = np.full(len(self.transactions.itemsets.codes), -1, np.int32)
        order = np.argsort(groups, kind="stable")  # rows stay ascending within a cluster
        for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            places, own = self.transactions.protect(rows)
            numbers[places] = own
            report(1)
        return numbers

    def join_blocks(
        self, blocks: Sequence[Numbers], parts: Sequence[tuple[Numbers, Codes]]
    ) -> tuple[Numbers, Codes]:
        """Return the clusters and the new numbers of all rows, given those of their blocks."""
        groups = np.empty(self.table.n_rows, np.int64)
        numbers = np.empty(len(self.transactions.itemsets.codes), np.int32)
        first = 0
        for rows, (own, became) in zip(blocks, parts, strict=True):
            groups[rows] = own + first
            numbers[self.transactions.itemsets.places(rows)] = became
            first += int(own.max(initial=-1)) + 1
        return groups, numbers


def check_cluster(name: Any) -> None:
    """Check the name of an algorithm for quasi-identifiers."""
    check_known(name, _formations(), "algorithm for quasi-identifiers", where="cluster")


def _formations() -> dict[str, Formation]:
    """Return the function that forms classes, by the name of its algorithm."""
    return {name: each.form for name, each in ALGORITHMS.items() if each.form is not None}
