"""Decisions for rows outside memory: in files, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_hashable

from pdanon.algorithms.choice import choose
from pdanon.algorithms.items.lra import Parts
from pdanon.algorithms.losses import WITH_MEANING
from pdanon.algorithms.registry import (
    ALGORITHMS,
    OF_LISTS,
    REQUEST_PARAMETERS,
    Parameters,
    Recodes,
    algorithm as find_algorithm,
    functions,
    of_lists,
    parameters_of,
    read_request,
    region_parameters,
    with_defaults,
)
from pdanon.errors import ColumnError, HierarchyError, InfeasibleError, ParameterError
from pdanon.guarantees import check_recountable
from pdanon.guarantees.class_audit import refuse_counts
from pdanon.guarantees.km import KmAnonymity
from pdanon.guarantees.parameters import materialize
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.units import UnitRows
from pdanon.itemsets import row_loops
from pdanon.itemsets.arguments import check_call, moved
from pdanon.itemsets.codes import Codes, Itemsets, encode_visible, find_items, first_copies
from pdanon.itemsets.columns import same_label
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, PairCounts, collapse_columns
from pdanon.itemsets.equality import DistinctRows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.mapping import global_mapping, relabel, relabel_by_groups
from pdanon.itemsets.memory import large_arrays_apart, return_unused
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import check_flag, check_known
from pdanon.recoding.decision import Decision, ListDecision
from pdanon.recoding.labels import check_labels, rename_sets, with_names
from pdanon.recoding.meaning import level_shares
from pdanon.recoding.unit_release import (
    UnitLines,
    check_countable,
    exposure_error,
    lines_of,
    local_error,
)

SAMPLE = 10_000  # rows in which unmodified columns are counted, and rows on which an algorithm is chosen
_REQUEST = ("guarantee", *REQUEST_PARAMETERS, "hierarchy")  # parameters without an algorithm


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
    algorithm: str | None, parameters: Parameters, count_rows: Callable[[], int | None] | None = None
) -> Plan:
    """Check a call, before any row is read, and return what decides."""
    # ``algorithm``: the name of the algorithm. None: the one that loses least on a sample. ``parameters``:
    # its parameters. Without an algorithm, those of `pdanon.anonymize`. ``count_rows``: returns the number of
    # rows, for messages, if it is known without a reading of the rows.
    if algorithm is not None:
        _check_algorithm(algorithm, parameters, count_rows)
        # Iterators are read in each round.
        given = {name: materialize(each) for name, each in parameters.items()}
        check_labels(given.get("labels", "set"))
        given = ALGORITHMS[algorithm].read_guarantee(given)
        by_pairs = partial(_decide_by_pairs, algorithm, given) if suffices(algorithm, given) else None
        return Plan(partial(decide, algorithm=algorithm, parameters=given), by_pairs)
    for name in parameters:
        what = "parameter of anonymize, as no algorithm is named"
        check_known(name, _REQUEST, what, where=name, hint=moved(name, {}))
    return Plan(partial(_decide_by_sample, *read_request(parameters)))


def _decide_by_pairs(
    algorithm: str, parameters: Parameters, counts: PairCounts, fetch: Fetch
) -> Decision[Recoder]:
    def decide_once(columns: ListColumns) -> tuple[Decision[Recoder], Codes]:
        decision = _decide_lists(columns, algorithm, parameters)
        sets = decision.rows.recoding.targets
        # The rows are not those of the table, so the risk beyond the guarantee cannot be counted.
        return replace(_with_recoder(decision, algorithm), risk=None), sets

    decision, rounds = decide_in_rounds(counts, fetch, decide_once)
    return replace(decision, rounds=rounds)


def _decide_by_sample(guarantee: Guarantee, options: Parameters, columns: ListColumns) -> Decision[Recoder]:
    """Decide by the two algorithms that lose least on a sample, and keep the better decision."""
    sample = pd.DataFrame({"items": columns.sample(SAMPLE).to_pandas()})
    labels = options.get("labels", "set")
    given = {name: value for name, value in options.items() if name != "labels"}
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


MACHINE_GB = 16  # memory of the machine that messages and docs/cluster.md take as an example


def rows_held(name: str) -> int:
    """Return about how many rows of six items a machine of that memory holds for an algorithm."""
    return int(float(f"{MACHINE_GB * 1e9 / ALGORITHMS[name].bytes_per_row:.1e}"))


def _check_algorithm(name: str, parameters: Parameters, count_rows: Callable[[], int | None] | None) -> None:
    """Check that distinct transactions suffice for an algorithm; the error has the memory of all rows."""
    function = find_algorithm(name)
    accepted = sorted(functions(*_RECODES))
    if name not in accepted:
        reason, memory = "it groups rows with similar quasi-identifiers", _memory_of(name, count_rows)
        if ALGORITHMS[name].recodes in OF_LISTS:
            reason = "it groups similar rows of the whole table, which blocks of rows would separate"
        raise ParameterError(
            f"the algorithm needs all rows at once: {reason}",
            where="algorithm",
            got=name,
            hint=f"read the table into memory{memory}; or pass one of {', '.join(accepted)}",
        )
    named = ["labels"] * ALGORITHMS[name].publishes_sets + ["start"] * ALGORITHMS[name].starts
    check_call(function, (None,), {key: each for key, each in parameters.items() if key not in named})


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


def decide(columns: ListColumns, algorithm: str, parameters: Parameters) -> Decision[Recoder]:
    """Decide for distinct transactions by an algorithm for which these suffice."""
    decision = _decide_lists(columns, algorithm, parameters)
    if decision.problem is not None:
        raise decision.problem
    return _with_recoder(decision, algorithm)


def _decide_lists(columns: ListColumns, algorithm: str, parameters: Parameters) -> ListDecision:
    record = ALGORITHMS[algorithm]
    given = with_defaults(record.function, parameters)
    labels = given.pop("labels", "set")
    decision = record.decision(columns, given)
    if labels == "set":
        return decision
    # Sets have their other names from the start: rows outside memory are written once.
    rows, mapping = decision.rows, decision.mapping
    if not rows.recoding.hierarchical:
        names = rename_sets(mapping, rows.recoding.apply(rows.columns.itemsets), labels)
        mapping = with_names(mapping, names) if names else mapping
    known, own = decision.guarantee.with_mapping(mapping), {**decision.parameters, "labels": labels}
    return replace(decision, mapping=mapping, guarantee=known, parameters=own)


def _with_recoder(decision: ListDecision, algorithm: str) -> Decision[Recoder]:
    """Extract the recoding of other rows from a decision; the transactions are dropped."""
    itemsets, recoding = decision.rows.columns.itemsets, decision.rows.recoding
    is_same = recoding.labels.type == itemsets.vocabulary.type  # not if items are joined
    keeps_type = ALGORITHMS[algorithm].keeps_type and is_same
    parts = None if recoding.groups is None else Parts(itemsets, recoding.groups)
    return decision.with_rows(Recoder(decision.mapping, keeps_type, not itemsets.nulls.any(), parts))


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


# --- Decisions without all distinct rows: by the supports of pairs, and the rows that merges need

# `docs/proofs/lemmas.md` has the proof that the last decision equals that for all rows. It holds for
# algorithms whose steps depend only on the supports of one and two sets. Interim decisions only choose the
# rows to fetch.

Rows = TypeVar("Rows")

_LEAST = 3  # items of a row that the supports of pairs do not describe
# If an interim decision fails, one in so many rows is fetched, the longest ones; then twice as many.
_FIRST_SHARE = 64


def suffices(algorithm: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a decision for a skeleton equals that for all rows."""
    # ``parameters`` have the guarantee. Suppressed items and listed constraints need other rows, sensitive
    # items and refined sets need supports of more items, and a generator would draw another order in each
    # round.
    record = ALGORITHMS[algorithm]
    if not record.by_pairs:
        return False
    given = with_defaults(record.function, parameters)
    guarantee, seed, share = given["guarantee"], given.get("random_state"), given.get("max_suppressed", 0)
    return (
        isinstance(guarantee, KmAnonymity)
        and guarantee.m in (1, 2)
        and given["refine"] is False
        and isinstance(share, Real)
        and share == 0
        and not isinstance(seed, np.random.Generator)
    )


@frozen
class Request:
    """Which rows a decision lacks: those with at least three items that its labels shorten."""

    items: pa.Array  # by code
    labels: tuple[Codes, ...]  # set of each item in this and all earlier interim decisions, the latest last
    longest: tuple[int, ...]  # for each of them, the number of items above which all rows are requested

    def find(self, rows: Itemsets) -> SupportIndex | None:
        """Return the distinct rows that only this decision requests; None if an item is new."""
        n, lengths = len(self.items), rows.lengths
        code = find_items(rows.vocabulary, self.items)
        if (unknown := code < 0).any() and unknown[rows.codes].any():
            return None
        latest = np.where(unknown, 0, self.labels[-1][code]).astype(np.int32)
        shortened = row_loops.mark_shortened(rows.codes, rows.offsets, latest, n)  # or with duplicate items
        some = rows.take(np.flatnonzero((lengths >= _LEAST) & (shortened | (lengths > self.longest[-1]))))
        found = SupportIndex.of(some).recode(code, n)
        lengths = found.lengths
        *earlier, now = (
            row_loops.mark_shortened(found.codes, found.offsets, labels, n) | (lengths > longest)
            for labels, longest in zip(self.labels, self.longest, strict=True)
        )
        for before in earlier:
            now &= ~before
        return found.within(now & (lengths >= _LEAST)).distinct()


Fetch: TypeAlias = Callable[[Request], Iterable[SupportIndex]]


def merge_found(parts: Iterable[SupportIndex]) -> SupportIndex:
    """Merge the rows that several holders found for a request."""
    rows, n_items = DistinctRows(), 0
    for each in parts:
        n_items = each.n_items
        rows.add(each.codes, each.offsets, each.weights)
    return SupportIndex(rows.codes, rows.offsets, n_items, rows.weights)


@large_arrays_apart()
def decide_in_rounds(
    counts: PairCounts, fetch: Fetch, decide: Callable[[ListColumns], tuple[Decision[Rows], Codes]]
) -> tuple[Decision[Rows], pd.DataFrame]:
    """Decide for the supports of pairs, fetching rows until no further one is needed."""
    # ``decide`` returns a decision without rows, as further ones need their memory.
    counts, known = counts.sort(), DistinctRows()
    n, facts = len(counts.items), []
    same = np.arange(n, dtype=np.int32)
    request, longest, share = Request(counts.items, (), ()), len(counts.lengths), _FIRST_SHARE
    while True:
        return_unused()  # of the rows that were read
        n_known = len(known.weights)
        decision, sets, problem = _attempt(decide, counts, known)
        labels = same if sets is None else sets
        return_unused()  # of the decision
        if problem is not None and longest >= _LEAST:
            # Its labels may merge everything, so they would request all rows.
            labels, longest, share = same, min(longest - 1, _longest(counts, share)), max(share // 2, 1)
        request = replace(request, labels=(*request.labels, labels), longest=(*request.longest, longest))
        n_bytes = 0
        for each in fetch(request):
            known.add(each.codes, each.offsets, each.weights)
            n_bytes += each.codes.nbytes + each.offsets.nbytes + each.weights.nbytes
        n_found = len(known.weights) - n_known
        facts.append((len(np.unique(labels)), n_found, n_bytes))
        if not n_found and problem is not None and longest < _LEAST:
            raise problem
        if not n_found and problem is None and decision is not None:
            return decision, pd.DataFrame(facts, columns=["labels", "rows", "bytes"])


def _attempt(
    decide: Callable[[ListColumns], tuple[Decision[Rows], Codes]], counts: PairCounts, known: DistinctRows
) -> tuple[Decision[Rows] | None, Codes | None, InfeasibleError | None]:
    """Return a decision, and why it is none: the reason may be the skeleton, or the rows themselves."""
    columns = counts.columns(SupportIndex(known.codes, known.offsets, len(counts.items), known.weights))
    try:
        with np.errstate(all="ignore"):  # interim supports may be negative, and so have no logarithm
            decision, labels = decide(columns)
    except InfeasibleError as error:
        return None, None, error.with_traceback(None)  # its frames hold the rows
    problem = decision.problem
    return decision, labels, None if problem is None else problem.with_traceback(None)


def _longest(counts: PairCounts, share: int) -> int:
    """Return the largest number of items that at least one in so many rows exceed."""
    longer = np.cumsum(counts.lengths[::-1])[::-1]
    return int(np.flatnonzero(longer * share >= counts.n_rows)[-1]) - 1


# --- Lines in which a person has several


@frozen
class Units:
    """The columns of lines that name persons and their items, and whether repeated lines count."""

    # ``counts``: whether each line with an item is published or counted, instead of the distinct ones.

    unit: Hashable
    item: Hashable
    counts: bool

    @classmethod
    def of(cls, unit: Hashable, item: Hashable, counts: Any) -> Units:
        """Check the parameters that name the columns of lines."""
        if item is None:
            hint = "name the column of items, one per line: item='product' (--item product)"
            what = "files and partitions are gathered from lines with one item each, not from lists"
            raise ParameterError(what, where="item", hint=hint)
        for name, label in {"unit": unit, "item": item}.items():
            if not is_hashable(label):
                got = type(label).__name__
                raise ColumnError("a column is named by its label", where=name, got=got)
        if same_label(unit, item):
            hint = "unit names the persons, and item= what they have"
            raise ParameterError("units and items are one column", where="unit", got=f"{unit!r}", hint=hint)
        return cls(unit, item, check_flag(counts, "counts"))

    def check_parameters(self, parameters: Parameters) -> None:
        """Remove ``keep``, and refuse parameters that need all lines at once, or another column."""
        if parameters.pop("keep", ()):
            hint = "leave it out, or read the lines into memory: their labels and values are audited together"
            raise ParameterError("kept columns need all lines at once", where="keep", hint=hint)
        if parameters.get("private") is not None:
            hint = "gather the lines first: pdanon.from_long(frame, by='person', item='product')"
            raise ParameterError("private and unit do not go together", where="private", hint=hint)

    def check_audit(self, guarantee: Guarantee, columns: list[Hashable]) -> None:
        """Check that the sets or bags of persons suffice for an audit of a table with some columns."""
        refuse_counts(guarantee, self.counts)
        if others := [name for name in columns if name not in (self.unit, self.item)]:
            hint = "leave out these columns, or read the lines into memory: all columns are audited together"
            what = "other columns of lines need all lines at once"
            raise ParameterError(what, where="unit", got=f"columns {others}", hint=hint)


def encode_units(rows: UnitRows, *, repeats: bool) -> Itemsets:
    """Return the sets of persons, or their bags, for the rows of a part of a table with whole persons."""
    found = rows.gather(repeats=repeats)
    return encode_visible(found.to_arrow()) if repeats else found


def decide_lines(found: ListColumns, decide: Plan, units: Units) -> Decision[UnitLines]:
    """Decide for the sets of persons, and make the lines."""
    # ``found``: the distinct sets of persons or, if lines count, their bags, with weights. ``decide``: what
    # decides for distinct transactions. ``units``: the columns of the lines.
    distinct = found
    if units.counts:
        bags = found.itemsets
        distinct = collapse_columns([[bags.recode(first_copies(bags.vocabulary), bags.vocabulary)]], 1)
    decision = decide.by_rows(distinct)
    weights = found.itemsets.weights
    assert weights is not None  # of distinct sets
    if units.counts:
        check_countable(decision.guarantee)
        rows = _label_lines(found.itemsets, decision.rows, decision.parameters.get("algorithm"))
        shown = replace(encode_units(rows, repeats=True), weights=weights)
        audit = check_recountable(decision.guarantee).recount(collapse_columns([[shown]], 1))
        if not audit.holds:
            exposures = [f"how often: {audit.rows_at_risk:,}"]
            raise exposure_error(int(weights.sum()), exposures, counts=True)
    else:
        published = decision.rows.publish(found.itemsets)
        assert published is not None  # all items were counted
        rows, _ = lines_of(Itemsets.from_arrow(published.to_arrow(), repeats=True))
    parameters = {**decision.parameters, **asdict(units)}
    return replace(decision.with_rows(UnitLines.of(rows, weights)), parameters=parameters)


def _label_lines(bags: Itemsets, recoder: Recoder, algorithm: object) -> UnitRows:
    """Return a line for each item of each person that has a label. A person without labels has one line."""
    if recoder.parts is not None:
        raise local_error(algorithm, "leave out counts= (--counts), or ")
    n_items = len(bags.codes)
    items = Itemsets(bags.codes, np.arange(n_items + 1), bags.vocabulary, np.zeros(n_items, np.bool_))
    labels = relabel(items, *recoder.labels, missing_as_empty=True)
    offsets = labels.offsets[bags.offsets]
    lists = pa.LargeListArray.from_arrays(offsets, labels.vocabulary.take(pa.array(labels.codes)))
    return lines_of(Itemsets.from_arrow(lists, repeats=True))[0]
