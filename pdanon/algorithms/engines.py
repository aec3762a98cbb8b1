"""Decisions for rows outside memory: in files, or on the workers of a cluster.

Distinct transactions suffice if an algorithm recodes an item equally in the whole table, or in equal rows.
The engine that holds the rows recodes and audits them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pandas as pd
import pyarrow as pa

from pdanon.algorithms.choice import REQUEST_PARAMETERS, choose, split_request
from pdanon.algorithms.items.lra import Parts
from pdanon.algorithms.registry import ALGORITHMS, OF_UNITS, Recodes, functions, parameters_of
from pdanon.algorithms.registry import algorithm as find_algorithm
from pdanon.errors import ParameterError
from pdanon.guarantees.requested import requested_guarantee
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.arguments import check_call
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.mapping import global_mapping
from pdanon.itemsets.validation import check_known
from pdanon.recoding.decision import Decision, ListRows

SAMPLE = 10_000  # rows in which unmodified columns are counted, and rows on which an algorithm is chosen
_REQUEST = (*REQUEST_PARAMETERS, "hierarchy", "keep", "progress")  # parameters without an algorithm


class Chosen(NamedTuple):
    """A decision. Without a named algorithm also those tried on a sample, and its number of rows."""

    decision: Decision[Recoder]
    tried: pd.DataFrame | None = None
    sample: int | None = None


Plan: TypeAlias = Callable[[ListColumns], Chosen]


def plan(
    algorithm: str | None, parameters: dict[str, Any], recodes: tuple[Recodes, ...] = ("items",)
) -> Plan:
    """Check a call, before any row is read, and return what decides for distinct transactions.

    Parameters
    ----------
    algorithm : str or None
        The name of the algorithm. None: the one that loses least on a sample.
    parameters : dict
        Its parameters. Without an algorithm, those of `pdanon.anonymize`.
    recodes : tuple of str
        The recodings that the engine supports, as in `Algorithm`.

    Raises
    ------
    ParameterError
        If the algorithm needs all rows at once, or does not exist. Without one, if a parameter is unknown, or
        they describe no guarantee.
    CallError
        If the algorithm has no such parameters.
    """
    if algorithm is not None:
        check_algorithm(algorithm, parameters, recodes)
        return lambda columns: Chosen(decide(columns, algorithm, parameters))
    for name in parameters:
        check_known(name, _REQUEST, "parameter of anonymize, as no algorithm is named", where=name)
    given, options = split_request(parameters)
    return partial(_decide_by_sample, requested_guarantee(**given), options, recodes)


def _decide_by_sample(
    guarantee: Guarantee, options: dict[str, Any], recodes: tuple[Recodes, ...], columns: ListColumns
) -> Chosen:
    """Decide by the algorithm that loses least on a sample of the transactions."""
    sample = pd.DataFrame({"items": columns.sample(SAMPLE).to_pandas()})
    given = {name: value for name, value in options.items() if name not in ("keep", "progress")}
    algorithm, parameters, tried = choose(sample, guarantee, recodes, **given)
    if "progress" in options:
        parameters["progress"] = options["progress"]
    return Chosen(decide(columns, algorithm, parameters), tried, len(sample))


_REASONS: dict[Recodes, str] = {
    "items": "",  # which each engine supports
    "rows": "it orders the rows, and recodes each part of them apart",
    "groups": "it groups similar rows of the whole table",
    "chunks": "it groups similar rows of the whole table",
    "values": "it groups rows with similar quasi-identifiers",
    "both": "it groups rows with similar quasi-identifiers",
}


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
        reason = _REASONS[ALGORITHMS[name].recodes]
        raise ParameterError(
            f"the algorithm needs all rows at once: {reason}",
            where="algorithm",
            got=name,
            hint=f"read the table into memory, or pass one of {', '.join(accepted)}",
        )
    if any(parameters.get(each) is not None and parameters[each] is not False for each in OF_UNITS):
        hint = "gather them first: pdanon.stream.from_long(source, target, by=..., item=...)"
        raise ParameterError(
            "rows of a person are not gathered over files or partitions", where="unit", hint=hint
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
    for name in ("keep", *OF_UNITS):  # parameters of the release
        given.pop(name, None)
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
