"""Decisions for rows outside memory: in files, or on the workers of a cluster.

Distinct transactions suffice if an algorithm recodes an item equally in the whole table, or in equal rows.
The engine that holds the rows recodes and audits them.
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
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.mapping import global_mapping
from pdanon.recoding.decision import Decision, ListRows

SAMPLE = 10_000  # number of first rows in which unmodified columns are counted


def check_algorithm(name: str, parameters: dict[str, Any], recodes: tuple[Recodes, ...] = ("items",)) -> None:
    """Check, before any row is read, that distinct transactions suffice for an algorithm.

    Parameters
    ----------
    name : str
        The name of the algorithm.
    parameters : dict
        Its parameters.
    recodes : tuple of str
        The recodings that the engine supports, as in `Algorithm`.

    Raises
    ------
    ParameterError
        If the algorithm needs all rows at once, or does not exist.
    CallError
        If the algorithm has no such parameters.
    """
    function = find_algorithm(name)
    accepted = sorted(functions(*recodes))
    if name not in accepted:
        raise ParameterError(
            "the algorithm needs all rows at once",
            where="algorithm",
            got=name,
            hint=f"pass one of {', '.join(accepted)}",
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
    assert record.decide is not None  # required of all algorithms for list columns
    given = {name: each.default for name, each in parameters_of(record.function).items()} | parameters
    labels, progress = given.pop("labels", "set"), given.pop("progress", False)
    given.pop("keep", None)  # a parameter of the release
    decision = record.decision(columns, partial(record.decide, **given), labels, progress)
    if decision.problem is not None:
        raise decision.problem
    return decision.with_rows(Recoder.of(decision.rows, decision.mapping, keeps_type=record.keeps_type))


@dataclass(frozen=True, eq=False, slots=True)
class Recoder:
    """The recoding of rows, without the transactions that it was decided for.

    Parameters
    ----------
    mapping : pandas.DataFrame
        The label of each item: ``group, item, generalized, support``.
    keeps_type : bool
        Whether released items keep their type, as they are only suppressed.
    missing_as_empty : bool
        Whether missing rows are published as empty.
    parts : Parts, optional
        Finds the group of a row in a local recoding.
    """

    mapping: pd.DataFrame
    keeps_type: bool = False
    missing_as_empty: bool = False
    parts: Parts | None = None

    @classmethod
    def of(cls, rows: ListRows, mapping: pd.DataFrame, *, keeps_type: bool) -> Recoder:
        """Extract the recoding of other rows from a decision; the transactions are dropped."""
        itemsets, groups = rows.columns.itemsets, rows.recoding.groups
        parts = None if groups is None else Parts(itemsets, groups)
        return cls(mapping, keeps_type, not itemsets.nulls.any(), parts)

    def labels(self) -> tuple[Itemsets, pa.DictionaryArray]:
        """Return the items and their labels, as for `pdanon.itemsets.mapping.relabel`."""
        items, labels = global_mapping(self.mapping)
        if self.keeps_type:  # including large text types
            values = labels.dictionary.cast(items.vocabulary.type)
            labels = pa.DictionaryArray.from_arrays(labels.indices, values)
        return items, labels
