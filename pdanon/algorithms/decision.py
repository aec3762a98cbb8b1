"""Decisions: what becomes of rows that are not in memory, but in files or on the workers of a cluster.

Distinct transactions are enough to decide for an algorithm that recodes an item alike in the whole table, or
at least equal rows, which are then in the same block. Who has the rows recodes them, and audits what became
of them.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.algorithms.items.lra import Blocks
from pdanon.algorithms.record import Recodes
from pdanon.algorithms.registry import ALGORITHMS, functions
from pdanon.algorithms.registry import algorithm as find_algorithm
from pdanon.errors import ParameterError
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.collapsed import Collapsed
from pdanon.itemsets.mapping import global_mapping
from pdanon.recoding.result import Anonymized

__all__ = ["SAMPLE", "Decision", "check_algorithm", "decide"]

SAMPLE = 10_000  # rows in which a column that differs in nearly all of them is told


@dataclass(frozen=True, eq=False, slots=True)
class Decision:
    """What is known of a release before its rows are.

    Parameters
    ----------
    mapping : pandas.DataFrame
        What each item becomes: ``group, item, generalized, support``.
    guarantee : Guarantee
        The privacy model, which the release is to be audited for.
    loss : pandas.Series
        Information loss by measure.
    rows : int
        Number of rows.
    parameters : dict
        What was asked.
    blocks : Blocks, optional
        Finds the group of a row in a local recoding.
    missing_as_empty : bool
        Whether missing rows are published as empty ones.
    """

    mapping: pd.DataFrame
    guarantee: Guarantee
    loss: pd.Series[float]
    rows: int
    parameters: dict[str, Any]
    blocks: Blocks | None = None
    missing_as_empty: bool = False

    @property
    def keeps_type(self) -> bool:
        """Whether items are released as they were or not at all, and not as text."""
        return ALGORITHMS[self.parameters["algorithm"]].keeps_type

    def labels(self) -> tuple[Itemsets, pa.Array]:
        """The items and what each becomes, as `pdanon.recoding.relabelled` takes them."""
        items, labels = global_mapping(self.mapping)
        if self.keeps_type:
            originals = pa.chunked_array(self.mapping["item"]).combine_chunks()
            labels = pc.if_else(labels.is_valid(), originals, pa.scalar(None, originals.type))
        return items, labels


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
    TypeError
        If it does not have the parameters.
    """
    function = find_algorithm(name)
    accepted = sorted(functions(*recodes))
    if name not in accepted:
        raise ParameterError(
            "the algorithm needs all rows at once: it does not recode items alike in the whole table",
            where="algorithm",
            got=name,
            hint=f"one of {', '.join(accepted)}",
        )
    inspect.signature(function).bind(None, **parameters)


def decide(transactions: Collapsed, algorithm: str, parameters: dict[str, Any]) -> Decision:
    """Let an algorithm decide; the transactions are let go."""
    function: Any = find_algorithm(algorithm)
    result: Anonymized = function(transactions, **parameters)
    blocks = None
    if result.groups is not None:
        blocks = Blocks(transactions.itemsets, np.asarray(result.groups, np.int32))
    published: Any = result.frame
    return Decision(
        result.mapping,
        result.guarantee,
        result.loss,
        transactions.n_rows,
        result.parameters,
        blocks,
        missing_as_empty=not published.itemsets.nulls.any(),
    )
