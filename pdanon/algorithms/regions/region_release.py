"""Decisions for tables with quasi-identifiers beyond memory."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.regions.jobs import (
    Region,
    RegionFacts,
    RelationalRegion,
    clear_region,
    decide_region,
    relational_loss,
    value_table,
)
from pdanon.algorithms.regions.region_storage import Storage
from pdanon.algorithms.regions.value_cuts import Histogram
from pdanon.algorithms.regions.values import Encoder, TableValues
from pdanon.algorithms.registry import ALGORITHMS, OF_UNITS, Algorithm, parameters_of
from pdanon.algorithms.relational.publishing import no_items
from pdanon.algorithms.relational.quasi import QuasiTable, check_feasible
from pdanon.algorithms.relational.suppression import rows_allowed
from pdanon.algorithms.rt.dataset import Dataset, Decided, Parts, trace_steps
from pdanon.algorithms.workers import Share
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.guarantees.emptied import Suppression
from pdanon.guarantees.named import MappedItems
from pdanon.guarantees.parameters import check_k, check_share
from pdanon.itemsets.codes import Codes, Numbers
from pdanon.itemsets.timing import Report
from pdanon.itemsets.validation import check_count, random_generator
from pdanon.recoding.counts import is_nearly_all
from pdanon.recoding.decision import Decision
from pdanon.recoding.loss import with_measure
from pdanon.recoding.loss_sums import LossSums, join_losses

BLOCK_ROWS = 10_000  # rows of a region, unless the caller says otherwise


Released = TypeVar("Released")
Released_co = TypeVar("Released_co", covariant=True)


class Regions(Protocol[Released_co]):
    """The rows of a table in regions: in files, or on the workers of a cluster."""

    @property
    def storages(self) -> Sequence[Storage]:
        """The rows of each region, and the place of their release."""

    @property
    def pairs(self) -> Codes:
        """Pairs of items sampled from all rows."""

    @property
    def times(self) -> Numbers:
        """How often each was sampled."""

    def written(self, name: str) -> Iterator[pa.Table]:
        """Yield a table that each region stored, in their order."""

    def publish(self, facts: Sequence[RegionFacts], hides_missing: bool) -> Released_co:
        """Release the decided regions; missing rows are empty in all of them, or in none."""


class TableRows(Protocol[Released_co]):
    """The rows of a table outside memory, with its values and items in memory."""

    @property
    def values(self) -> TableValues:
        """The values and items."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def cut(self, encoder: Encoder, most: int) -> Regions[Released_co]:
        """Cut the table into regions of a maximum number of rows."""

    def count(self, encoder: Encoder) -> Histogram:
        """Count the rows with each combination of quasi-identifiers."""

    def publish_values(self, encoder: Encoder, histogram: Histogram, released: pa.Table) -> Released_co:
        """Release equal values equally, given the published values of each combination."""


@dataclass(frozen=True, eq=False, slots=True)
class ReleasedTable(Generic[Released]):
    """The released rows of a table."""

    n_rows: int
    rows: Released  # where the original ones are
    useless: str = ""  # description of the items, if they are almost empty


def decide_table(
    rows: TableRows[Released], name: str, given: Mapping[str, Any], share: Share, report: Report
) -> Decision[ReleasedTable[Released]]:
    """Decide for the rows of a table outside memory.

    ``share`` applies a function to each region, where its rows are. Regions differ only in their storage. The
    given parameters include ``block_rows``.
    """
    record = ALGORITHMS[name]
    asked = {key: each.default for key, each in parameters_of(record.function).items()} | dict(given)
    for key in ("keep", "n_jobs", *OF_UNITS):
        asked.pop(key, None)
    most = asked.pop("block_rows", None)
    most = BLOCK_ROWS if most is None else most
    hint = "a block is cut in two, and each half needs k rows"
    asked["block_rows"] = check_count(most, "block_rows", least=2 * check_k(asked["k"]), hint=hint)
    if record.recodes == "both":
        return _decide_both(rows, record, asked, share)
    if record.by_value:
        return _decide_values(rows, record, asked, report)
    return _decide_quasi(rows, record, asked, share)


def _decide_both(
    rows: TableRows[Released], record: Algorithm, asked: dict[str, Any], share: Share
) -> Decision[ReleasedTable[Released]]:
    """Decide region by region for quasi-identifiers and items."""
    frame, names = rows.values.frame(), [*inspect.signature(Dataset.of).parameters]
    given = {key: asked[key] for key in asked if key in names}
    data = Dataset.of(frame, rows.values.label, **given, n_rows=rows.n_rows)
    encoder = Encoder(rows.values, data.table, data.columns[0].vocabulary)
    regions = rows.cut(encoder, asked["block_rows"])
    stripped = _without_rows(data)
    parts = [Region(stripped, regions.pairs, storage) for storage in regions.storages]
    assert record.parts is not None
    options = [
        each for each in inspect.signature(record.parts).parameters.values() if each.kind is each.KEYWORD_ONLY
    ]
    own = {each.name: asked[each.name] for each in options}
    decided: Decided = record.parts(Parts(parts, data.table, data.transaction.order, share), **own)
    facts = _clear_lost(parts, decided.parts, share)
    loss = _join_losses(regions)
    tum = float(loss[data.transactions.measured_as or "NCP"])
    if record.name == "tum_bound" and tum > float(own["delta"]) + 1e-9:
        raise InfeasibleError(
            "hiding emptied rows of classes in several blocks loses more than delta allows",
            where="delta",
            got=f"delta={own['delta']:g}, the items lose {tum:.6f}",
            hint="pass a larger delta",
        )
    if decided.rum is not None:
        loss = with_measure(loss, "Rum", decided.rum)
    guarantee = data.guarantee.with_mapping(_join_known([each.known for each in facts]))
    parameters = {"algorithm": record.name, **asked}
    trace = trace_steps(decided.steps, tum)
    released = regions.publish(facts, any(each.hides_missing for each in facts))
    useless = _describe_useless(facts, [storage.n_rows for storage in regions.storages])
    known = ReleasedTable(rows.n_rows, released, useless)
    return Decision(known, guarantee, no_items(), loss, parameters, trace)


def _join_losses(regions: Regions[Any]) -> pd.Series[float]:
    """Return the losses of the table."""
    return join_losses(map(LossSums.from_arrow, regions.written("losses")), regions.times)


def _describe_useless(facts: Sequence[RegionFacts], n_rows: Sequence[int]) -> str:
    """Describe what is almost empty, if it is so in almost all rows."""
    found = [(each.useless, own) for each, own in zip(facts, n_rows, strict=True) if each.useless]
    if not found or not is_nearly_all(sum(own for _, own in found), sum(n_rows)):
        return ""
    return found[0][0] if len(facts) == 1 else f"In almost all regions: {found[0][0]}"


def _without_rows(data: Dataset) -> Dataset:
    """Return the values and items of a table, without rows."""
    none = np.empty(0, np.int64)
    columns = [each.take(none) for each in data.columns]
    side = replace(data.transactions, itemsets=data.transactions.itemsets.take(none))
    return replace(
        data, frame=data.frame.iloc[:0], columns=columns, table=data.table.take(none), transactions=side
    )


def _clear_lost(parts: Sequence[Region], facts: list[RegionFacts], share: Share) -> list[RegionFacts]:
    """Suppress all items of a class in all regions, if fewer than k rows were emptied in one of them."""
    lost = frozenset().union(*(each.lost for each in facts))
    if not lost or len(parts) == 1:
        return facts
    cleared = share(partial(clear_region, lost), parts)
    return [old if new is None else new for old, new in zip(facts, cleared, strict=True)]


def _join_known(known: Sequence[Any]) -> Any:
    """Join what a guarantee reads from the mappings of several regions."""
    parts = [each.suppression if isinstance(each, MappedItems) else each for each in known]
    joint = Suppression(any(each.suppresses for each in parts), 0, 0)
    if not isinstance(known[0], MappedItems):
        return joint
    left_out, plain = (
        frozenset().union(*(getattr(each, name) for each in known)) for name in ("left_out", "plain_labels")
    )
    return MappedItems(left_out, plain, joint)


def _decide_quasi(
    rows: TableRows[Released], record: Algorithm, asked: dict[str, Any], share: Share
) -> Decision[ReleasedTable[Released]]:
    """Decide region by region for quasi-identifiers."""
    guarantee, table = _encode(rows, asked)
    regions = rows.cut(Encoder(rows.values, table, None), asked["block_rows"])
    bound, none = check_share(asked["max_suppressed"], "max_suppressed"), np.empty(0, np.int64)
    assert record.form is not None
    parts = [
        RelationalRegion(
            [*map(str, guarantee.quasi)],
            table.take(none),
            guarantee.k,
            bound,
            record.form,
            storage,
        )
        for storage in regions.storages
    ]
    rng = random_generator(asked.get("random_state"))
    facts = share(decide_region, parts, rng.spawn(len(parts)) if len(parts) > 1 else [rng])
    loss = _join_losses(regions)
    parameters = {"algorithm": record.name, **asked}
    known = ReleasedTable(rows.n_rows, regions.publish(facts, False))
    return Decision(known, guarantee, no_items(), loss, parameters)


def _decide_values(
    rows: TableRows[Released], record: Algorithm, asked: dict[str, Any], report: Report
) -> Decision[ReleasedTable[Released]]:
    """Decide for the distinct combinations of values, which are published equally in all rows."""
    guarantee, table = _encode(rows, asked)
    encoder = Encoder(rows.values, table, None)
    if not Histogram(encoder.sizes).is_exact:
        hint = "pass fewer columns, or one of cluster, k_member and mondrian"
        raise ParameterError("the columns have too many combinations of values", where="quasi", hint=hint)
    histogram = rows.count(encoder)
    bound = check_share(asked["max_suppressed"], "max_suppressed")
    own = replace(table.with_codes(histogram.combinations()), weights=histogram.rows)
    most = rows_allowed(bound, rows.n_rows, guarantee.k)
    assert record.form is not None
    classes = record.form(own, guarantee.k, random_generator(None), report, most)
    loss = relational_loss(classes, rows.n_rows, bound)
    published = value_table([*map(str, guarantee.quasi)], own, classes)
    known = ReleasedTable(rows.n_rows, rows.publish_values(encoder, histogram, published))
    del asked["block_rows"]
    return Decision(known, guarantee, no_items(), loss, {"algorithm": record.name, **asked})


def _encode(rows: TableRows[Any], asked: Mapping[str, Any]) -> tuple[KAnonymity, QuasiTable]:
    guarantee = KAnonymity(asked["k"], quasi=asked["quasi"])
    table = QuasiTable.of(rows.values.frame(), guarantee.quasi, asked["hierarchies"], n_rows=rows.n_rows)
    check_feasible(rows.n_rows, guarantee.k)
    return guarantee, table
