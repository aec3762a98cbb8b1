"""What engines have in common, for rows that are not in memory, but in files or on the workers of a cluster.

Distinct transactions are enough to decide for an algorithm that recodes an item alike in the whole table, or
at least equal rows, which are then in the same part. Who has the rows recodes them, and audits what became
of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.algorithms.items.lra import Parts
from pdanon.algorithms.registry import ALGORITHMS, Recodes, functions, parameters_of
from pdanon.algorithms.registry import algorithm as find_algorithm
from pdanon.errors import ParameterError
from pdanon.guarantees.verdict import Guarantee, Recountable
from pdanon.itemsets.arguments import check_call
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.mapping import global_mapping
from pdanon.recoding.decision import Decided
from pdanon.recoding.release import demand

__all__ = ["SAMPLE", "Recoder", "check_algorithm", "decide", "demand_of_rows"]

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


def decide(columns: ListColumns, algorithm: str, parameters: dict[str, Any]) -> Decided:
    """Let an algorithm decide that `check_algorithm` has found to be able to.

    Raises
    ------
    InfeasibleError
        If there is no release.
    """
    record = ALGORITHMS[algorithm]
    asked = {name: each.default for name, each in parameters_of(record.function).items()} | parameters
    asked.pop("keep", None)  # what passes through is not decided
    decided = record.decided(columns, asked.pop("progress", False), **asked)
    if decided.problem is not None:
        raise decided.problem
    return decided


def demand_of_rows(guarantee: Guarantee, written: ListColumns) -> Guarantee:
    """Withhold rows that, as they are written, do not have their guarantee; what is proven."""
    assert isinstance(guarantee, Recountable)  # no other one is had by recoding equal rows alike
    audit = guarantee.recount(written)
    demand(audit)
    return audit.guarantee


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
    def of(cls, decided: Decided) -> Recoder:
        """Keep of a decision what recodes rows."""
        itemsets, groups = decided.columns.itemsets, decided.recoding.groups
        keeps_type = ALGORITHMS[decided.parameters["algorithm"]].keeps_type
        parts = None if groups is None else Parts(itemsets, groups)
        return cls(decided.mapping, keeps_type, not itemsets.nulls.any(), parts)

    def labels(self) -> tuple[Itemsets, pa.DictionaryArray]:
        """The items and what each becomes, as `pdanon.itemsets.mapping.relabel` takes them."""
        items, labels = global_mapping(self.mapping)
        if self.keeps_type:  # also that of large texts
            values = labels.dictionary.cast(items.vocabulary.type)
            labels = pa.DictionaryArray.from_arrays(labels.indices, values)
        return items, labels
