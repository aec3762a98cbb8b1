"""Decisions for rows that are not in memory, but in files or on the workers of a cluster.

Distinct transactions are enough to decide for an algorithm that recodes an item alike in the whole table, or
at least equal rows, which are then in the same part. Who has the rows recodes them, and audits what became
of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.algorithms.items.lra import Parts
from pdanon.algorithms.registry import ALGORITHMS, Recodes, functions, parameters_of
from pdanon.algorithms.registry import algorithm as find_algorithm
from pdanon.errors import ParameterError
from pdanon.itemsets.arguments import check_call
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.mapping import global_mapping
from pdanon.recoding.decision import Decision, ListRows

__all__ = ["SAMPLE", "Recoder", "check_algorithm", "decide"]

SAMPLE = 10_000  # the first rows, in which it is counted what the columns tell that pass through


def check_algorithm(name: str, parameters: dict[str, Any], recodes: tuple[Recodes, ...] = ("items",)) -> None:
    """Check, before any row is read, that distinct transactions are enough for an algorithm.

    Parameters
    ----------
    name : str
        Its name.
    parameters : dict
        What is asked of it.
    recodes : tuple of str
        What becomes of a list column by the algorithms that they are enough for; as in `Algorithm`.

    Raises
    ------
    ParameterError
        If it needs all rows at once, or there is none of that name.
    CallError
        If it does not have the parameters.
    """
    function = find_algorithm(name)
    accepted = sorted(functions(*recodes))
    if name not in accepted:
        raise ParameterError(
            "the algorithm needs all rows at once",
            where="algorithm",
            got=name,
            hint=f"one of {', '.join(accepted)}",
        )
    check_call(function, (None,), parameters)


def decide(columns: ListColumns, algorithm: str, parameters: dict[str, Any]) -> Decision[Recoder]:
    """Decide for distinct transactions by an algorithm that `check_algorithm` accepted.

    Raises
    ------
    InfeasibleError
        If there is no release.
    """
    record = ALGORITHMS[algorithm]
    assert record.decide is not None  # all that recode list columns have one
    given = {name: each.default for name, each in parameters_of(record.function).items()} | parameters
    labels, progress = given.pop("labels", "set"), given.pop("progress", False)
    given.pop("keep", None)  # a parameter of the release
    decision = record.decision(columns, partial(record.decide, **given), labels, progress)
    if decision.problem is not None:
        raise decision.problem
    return decision.with_rows(Recoder.of(decision.rows, decision.mapping, keeps_type=record.keeps_type))


@dataclass(frozen=True, eq=False, slots=True)
class Recoder:
    """What becomes of rows, when those that it was decided for are let go.

    Parameters
    ----------
    mapping : pandas.DataFrame
        What each item becomes: ``group, item, generalized, support``.
    keeps_type : bool
        Whether items are released as they were or not at all, and not as text.
    missing_as_empty : bool
        Whether missing rows are published as empty ones.
    parts : Parts, optional
        Finds the group of a row in a local recoding.
    """

    mapping: pd.DataFrame
    keeps_type: bool = False
    missing_as_empty: bool = False
    parts: Parts | None = None

    @classmethod
    def of(cls, rows: ListRows, mapping: pd.DataFrame, *, keeps_type: bool) -> Recoder:
        """Keep of a decision what recodes other rows; the distinct transactions are let go."""
        itemsets, groups = rows.columns.itemsets, rows.recoding.groups
        parts = None if groups is None else Parts(itemsets, groups)
        return cls(mapping, keeps_type, not itemsets.nulls.any(), parts)

    def labels(self) -> tuple[Itemsets, pa.DictionaryArray]:
        """The items and what each becomes, as `pdanon.itemsets.mapping.relabel` takes them."""
        items, labels = global_mapping(self.mapping)
        if self.keeps_type:  # also that of large texts
            values = labels.dictionary.cast(items.vocabulary.type)
            labels = pa.DictionaryArray.from_arrays(labels.indices, values)
        return items, labels
