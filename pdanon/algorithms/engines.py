"""Decisions for rows outside memory: in files, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.choice import choose
from pdanon.algorithms.items.lra import Parts
from pdanon.algorithms.losses import WITH_MEANING
from pdanon.algorithms.registry import (
    ALGORITHMS,
    Recodes,
    algorithm as find_algorithm,
    functions,
    of_lists,
    parameters_of,
    region_parameters,
    with_defaults,
)
from pdanon.algorithms.requests import REQUEST_PARAMETERS, read_request
from pdanon.algorithms.skeleton import Fetch, decide_in_rounds, suffices
from pdanon.errors import HierarchyError, InfeasibleError, ParameterError
from pdanon.guarantees.parameters import materialize
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.arguments import check_call, moved
from pdanon.itemsets.codes import Codes, Itemsets, find_items
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, PairCounts
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.mapping import global_mapping, relabel, relabel_by_groups
from pdanon.itemsets.validation import check_known
from pdanon.recoding.decision import Decision, ListDecision, ListRows, no_risk
from pdanon.recoding.labels import Labels, Names, check_labels, rename_sets, with_names
from pdanon.recoding.meaning import level_shares

SAMPLE = 10_000  # rows in which unmodified columns are counted, and rows on which an algorithm is chosen
_REQUEST = ("guarantee", *REQUEST_PARAMETERS, "hierarchy", "keep")  # parameters without an algorithm


@frozen
class Plan:
    """The decision for rows outside memory, in both forms."""

    # ``by_rows``: decides for all distinct transactions. ``by_pairs``: decides for the supports of pairs and
    # a function that fetches rows, if that suffices.

    by_rows: Callable[[ListColumns], Decision[Recoder]]
    by_pairs: Callable[[PairCounts, Fetch], Decision[Recoder]] | None = None

    def decide(self, rows: Gathered, fetch: Fetch) -> Decision[Recoder]:
        """Decide for all distinct transactions, or for the supports of pairs."""
        if isinstance(rows, ListColumns):
            return self.by_rows(rows)
        assert self.by_pairs is not None  # only then does an engine count pairs
        return self.by_pairs(rows, fetch)


def plan(
    algorithm: str | None, parameters: dict[str, Any], count_rows: Callable[[], int | None] | None = None
) -> Plan:
    """Check a call, before any row is read, and return what decides."""
    # ``algorithm``: the name of the algorithm. None: the one that loses least on a sample. ``parameters``:
    # its parameters. Without an algorithm, those of `pdanon.anonymize`. ``count_rows``: returns the number of
    # rows, for messages, if it is known without a reading of the rows.
    if algorithm is not None:
        _check_algorithm(algorithm, parameters, count_rows)
        # Iterators are read in each round, but `keep` by the release.
        given = {name: each if name == "keep" else materialize(each) for name, each in parameters.items()}
        check_labels(given.get("labels", "set"))
        given = ALGORITHMS[algorithm].read_guarantee(given)
        by_pairs = partial(_decide_by_pairs, algorithm, given) if suffices(algorithm, given) else None
        return Plan(partial(decide, algorithm=algorithm, parameters=given), by_pairs)
    for name in parameters:
        what = "parameter of anonymize, as no algorithm is named"
        check_known(name, _REQUEST, what, where=name, hint=moved(name, {}))
    return Plan(partial(_decide_by_sample, *read_request(parameters)))


def _decide_by_pairs(
    algorithm: str, parameters: dict[str, Any], counts: PairCounts, fetch: Fetch
) -> Decision[Recoder]:
    def decide_once(columns: ListColumns) -> tuple[Decision[Recoder], Codes]:
        decision = _decide_lists(columns, algorithm, parameters)
        sets = decision.rows.recoding.targets
        # The rows are not those of the table, so the risk beyond the guarantee cannot be counted.
        return replace(_with_recoder(decision, algorithm), risk=no_risk), sets

    decision, rounds = decide_in_rounds(counts, fetch, decide_once)
    return replace(decision, rounds=rounds)


def _decide_by_sample(
    guarantee: Guarantee, options: dict[str, Any], columns: ListColumns
) -> Decision[Recoder]:
    """Decide by the two algorithms that lose least on a sample, and keep the better decision."""
    sample = pd.DataFrame({"items": columns.sample(SAMPLE).to_pandas()})
    labels = options.get("labels", "set")
    given = {name: value for name, value in options.items() if name not in ("keep", "labels")}
    ways, measure, tried = choose(sample, columns.n_rows, guarantee, _RECODES, **given)
    best: Decision[Recoder] | None = None
    for name, own in ways:
        try:
            decision = decide(columns, name, own | {"labels": labels})
        except InfeasibleError as error:
            problem = error
            continue
        best = decision if best is None or measure(decision) < measure(best) else best
    if best is None:
        raise problem
    if isinstance(guarantee, WITH_MEANING) and (tree := given.get("hierarchy")) is not None:
        with suppress(HierarchyError):  # of algorithms without one, if it covers only the sample
            best = replace(best, levels=level_shares(best.mapping, tree))
    return replace(best, tried=tried, sample=len(sample))


_RECODES: tuple[Recodes, ...] = ("items", "rows")  # recodings for which distinct transactions suffice
_REASONS: dict[Recodes, str] = {
    "groups": "it groups similar rows of the whole table, which blocks of rows would separate",
    "chunks": "it groups similar rows of the whole table, which blocks of rows would separate",
    "values": "it groups rows with similar quasi-identifiers",
    "both": "it groups rows with similar quasi-identifiers",
}


MACHINE_GB = 16  # memory of the machine that messages and docs/cluster.md take as an example


def rows_held(name: str) -> int:
    """Return about how many rows of six items a machine of that memory holds for an algorithm."""
    return int(float(f"{MACHINE_GB * 1e9 / ALGORITHMS[name].bytes_per_row:.1e}"))


def _check_algorithm(
    name: str, parameters: dict[str, Any], count_rows: Callable[[], int | None] | None
) -> None:
    """Check that distinct transactions suffice for an algorithm; the error has the memory of all rows."""
    function = find_algorithm(name)
    accepted = sorted(functions(*_RECODES))
    if name not in accepted:
        reason, memory = _REASONS[ALGORITHMS[name].recodes], _memory_of(name, count_rows)
        raise ParameterError(
            f"the algorithm needs all rows at once: {reason}",
            where="algorithm",
            got=name,
            hint=f"read the table into memory{memory}; or pass one of {', '.join(accepted)}",
        )
    check_call(function, (None,), {key: each for key, each in parameters.items() if key != "labels"})


def _memory_of(name: str, count_rows: Callable[[], int | None] | None) -> str:
    """Describe the memory that all rows at once take, for an algorithm that groups rows."""
    if not ALGORITHMS[name].bytes_per_row:
        return ""
    held = f"{MACHINE_GB} GB hold about {rows_held(name):,} rows of six items"
    if count_rows is None or (rows := count_rows()) is None:
        return f": {held}"
    gigabytes = rows * ALGORITHMS[name].bytes_per_row / 1e9
    return f": its {rows:,} rows take about {max(0.1, gigabytes):,.1f} GB; {held}"


def needs_quasi(name: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether an algorithm recodes quasi-identifiers, after a check of its parameters."""
    function = find_algorithm(name)
    if not (more := region_parameters(name)):
        return False
    own = parameters_of(function)
    given = {key: value for key, value in parameters.items() if key in own or key not in (*more, "labels")}
    check_call(function, (None,), given)
    if getattr(parameters.get("transaction"), "columns", None) is not None:
        hint = "join the lists into one column, and begin each item with the name of its column"
        raise ParameterError("rows outside memory have one list column", where="columns", hint=hint)
    if parameters.get("labels", "set") != "set":
        hint = "leave labels= out, and replace the labels of the release by those of a legend"
        raise ParameterError(
            "labels of regions are counted apart, and would repeat", where="labels", hint=hint
        )
    return True


def recodes_lists(name: str, column: Hashable | None) -> bool:
    """Return whether an algorithm for quasi-identifiers also recodes a list column."""
    found = of_lists(find_algorithm(name))
    if column is not None and not found:
        hint = "leave column= out, and list the quasi-identifiers in quasi="
        raise ParameterError("the algorithm recodes no list column", where="column", hint=hint)
    return found


def decide(columns: ListColumns, algorithm: str, parameters: dict[str, Any]) -> Decision[Recoder]:
    """Decide for distinct transactions by an algorithm for which these suffice."""
    decision = _decide_lists(columns, algorithm, parameters)
    if decision.problem is not None:
        raise decision.problem
    return _with_recoder(decision, algorithm)


def _decide_lists(columns: ListColumns, algorithm: str, parameters: dict[str, Any]) -> ListDecision:
    record = ALGORITHMS[algorithm]
    given = with_defaults(record.function, parameters)
    given.pop("keep", None)  # a parameter of the release
    labels = given.pop("labels", "set")
    decision = record.decision(columns, given)
    return decision if labels == "set" else _with_labels(decision, labels)


def _with_labels(decision: ListDecision, labels: Labels) -> ListDecision:
    """Return the same decision with other names for sets: rows outside memory are written once."""
    rows, parameters = decision.rows, {**decision.parameters, "labels": labels}
    names: Names = {}
    if not rows.recoding.hierarchical:
        names = rename_sets(decision.mapping, rows.recoding.apply(rows.columns.itemsets), labels)
    mapping = with_names(decision.mapping, [names]) if names else decision.mapping
    known = decision.guarantee.with_mapping(mapping)
    return replace(decision, mapping=mapping, guarantee=known, parameters=parameters)


def _with_recoder(decision: ListDecision, algorithm: str) -> Decision[Recoder]:
    rows = decision.rows
    is_same = rows.recoding.labels.type == rows.columns.itemsets.vocabulary.type  # not if items are joined
    keeps_type = ALGORITHMS[algorithm].keeps_type and is_same
    return decision.with_rows(Recoder.of(rows, decision.mapping, keeps_type=keeps_type))


@dataclass(frozen=True, eq=False)
class Recoder:
    """The recoding of rows in any process, without the transactions that it was decided for."""

    # ``mapping``: the label of each item: ``group, item, generalized, support``. ``keeps_type``: whether
    # released items keep their type, as they are only suppressed. ``missing_as_empty``: whether missing rows
    # are published as empty. ``parts``: finds the group of a row in a local recoding.

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

    @cached_property
    def labels(self) -> tuple[pa.Array, pa.DictionaryArray]:
        """The items and their labels in a global recoding, as for `pdanon.itemsets.mapping.relabel`."""
        items, labels = global_mapping(self.mapping)
        if self.keeps_type:  # including large text types
            values = labels.dictionary.cast(items.type)
            labels = pa.DictionaryArray.from_arrays(labels.indices, values)
        return items, labels

    def publish(self, rows: Itemsets) -> Itemsets | None:
        """Recode rows; return None if they have an item that was not counted, in such a row."""
        if self.count_new(rows):
            return None
        if self.parts is None:
            return relabel(rows, *self.labels, missing_as_empty=self.missing_as_empty)
        rows = rows.recode(np.arange(rows.n_items, dtype=np.int32), rows.vocabulary)  # as sets
        if self.missing_as_empty:
            rows = rows.missing_as_empty()
        groups, items = self.parts.of(rows), self.parts.items
        return relabel_by_groups(rows, groups, items, self.mapping, keeps_type=self.keeps_type)

    def count_new(self, rows: Itemsets) -> int:
        """Count the items of rows that were not counted."""
        counted = self.labels[0] if self.parts is None else self.parts.items
        unknown = find_items(rows.vocabulary, counted) < 0
        # The dictionary of a file may have items that are in no row.
        return len(np.unique(rows.codes[unknown[rows.codes]])) if unknown.any() else 0


class RecodedRows(NamedTuple):
    """Rows outside memory, and their recoding."""

    n_rows: int
    recoder: Recoder
    fingerprint: int = 0  # of rows that may be others when they are read again
