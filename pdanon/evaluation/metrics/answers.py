"""Answers: what a release says of each query, and how far that is off."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ColumnError, ParameterError
from pdanon.evaluation.metrics.conditions import Condition
from pdanon.evaluation.metrics.cover import Cover, Release
from pdanon.evaluation.metrics.estimates import Mode, expected_counts
from pdanon.guarantees.verdict import facts
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.values import check_frame

__all__ = ["Answers", "answered", "check_asked"]


@dataclass(frozen=True, eq=False, slots=True)
class Answers:
    """Answers to a workload, and how far they are off. ``are, table = answers`` unpacks the first two.

    Parameters
    ----------
    are : float
        Average relative error over the queries that have one; NaN if none has.
    table : pandas.DataFrame
        One row a query, in the order of the workload: ``actual`` (count in the original), ``estimate``
        (from the release) and ``error``; NaN where that is left out because nothing matches in the original.
    mode : str
        How a label was read.
    """

    are: float
    table: pd.DataFrame
    mode: Mode

    def __iter__(self) -> Iterator[Any]:
        return iter((self.are, self.table))

    def __repr__(self) -> str:
        queries = f"queries={len(self.table)}, left_out={self._left_out()}"
        return f"Answers(are={self.are:.4g}, {queries}, mode={self.mode!r})"

    def _repr_html_(self) -> str:
        error = f"{self.are:.4g} on average, relative to the actual count"
        queries = f"{len(self.table):,}, of which {self._left_out():,} have none"
        return facts("Answers", [("error", error), ("queries", queries), ("estimate", self.mode)])

    def _left_out(self) -> int:
        return int(self.table["error"].isna().sum())


def answered(
    queries: pd.DataFrame, column: Hashable, original: pd.DataFrame, release: Release, mode: Mode, least: int
) -> Answers:
    """Answer queries from a release and from the original; `Workload.are` says how.

    Errors are related to ``least`` where the actual count is less.
    """
    check_asked(queries, release.frame, "release")
    wanted = _encoded(queries[column], release.items)
    conditions = [
        Condition.of(queries[label], original[label], release.frame[label])
        for label in queries.columns
        if label != column
    ]
    if conditions:
        release.check_rows()
    itself = Cover.of_itself(release.items, release.items)
    before, after = [each.before() for each in conditions], [each.after() for each in conditions]
    actual = expected_counts(wanted, release.items, itself, "none", before)
    shown = wanted
    if release.chances is not None:
        shown, after = release.chances.shown(wanted), [*after, release.chances.factors(wanted)]
    estimate = expected_counts(shown, release.published, release.cover, mode, after)
    base = np.maximum(actual, least)
    error = np.divide(np.abs(actual - estimate), base, out=np.full(len(base), np.nan), where=base > 0)
    table = pd.DataFrame({"actual": actual.astype(np.int64), "estimate": estimate, "error": error})
    return Answers(float(table["error"].mean()), table, mode)


def check_asked(queries: pd.DataFrame, frame: pd.DataFrame, name: str) -> None:
    """Check that a frame has the columns that are asked about, each once."""
    check_frame(frame, name)
    for label in queries.columns:
        found = int((frame.columns == label).sum())
        if found != 1:
            raise ColumnError(
                f"the workload asks about a column that the {name} {'repeats' if found else 'lacks'}",
                where=f"column {label!r}",
                got=f"columns {list(frame.columns)}",
            )


def _encoded(wanted: pd.Series[Any], items: Itemsets) -> ItemsetTable:
    """The itemsets of the queries in codes of the original."""
    asked = Itemsets.from_series(wanted)
    code_of = items.lookup(asked.vocabulary)
    unknown = code_of[asked.codes] < 0
    if unknown.any():
        raise ParameterError(
            "a query asks for an item that does not occur in the original",
            got=f"{len(np.unique(asked.rows[unknown]))} of {asked.n_rows} queries with "
            f"{int((code_of < 0).sum())} unknown items",
            hint="check the spelling and type of the items",
        )
    return ItemsetTable(code_of[asked.codes], asked.offsets, np.zeros(asked.n_rows, np.int64))
