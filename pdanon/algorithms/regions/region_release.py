"""Releases of tables with quasi-identifiers beyond memory, region by region."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.regions.table_parts import (
    LISTS,
    Assignment,
    Counts,
    Drawn,
    Encoder,
    Histogram,
    PairSample,
    TableValues,
    count_drawn,
    cut_regions,
    look_near,
    read_lists,
)
from pdanon.algorithms.registry import ALGORITHMS, Algorithm, Parameters, parameters_of, with_defaults
from pdanon.algorithms.relational.publishing import form_classes, no_items, with_classes
from pdanon.algorithms.relational.quasi import Classes, Formation, QuasiTable
from pdanon.algorithms.rt.dataset import Block, Dataset, Decided, Parts, trace_steps
from pdanon.errors import InfeasibleError, ItemsetDtypeError, ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.guarantees.named import MappedItems
from pdanon.guarantees.parameters import check_k, check_share
from pdanon.guarantees.verdict import Suppression
from pdanon.io.grouping import pack, read_bucket, read_rows, unpack, write_rows
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.columns import quasi_names
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Mask, offsets_of, to_numpy
from pdanon.itemsets.support import check_rows
from pdanon.itemsets.threads import Share
from pdanon.itemsets.timing import count_steps
from pdanon.itemsets.validation import check_count, random_generator
from pdanon.recoding.counts import is_nearly_all
from pdanon.recoding.decision import Decision
from pdanon.recoding.loss import join_losses, part_losses, part_losses_of_rows
from pdanon.recoding.warnings import columns_left, items_left

# --- The rows of a region, and the place of what is decided for them


@frozen
class FileStorage:
    """A region in files."""

    n_rows: int
    rows: list[Path]  # files of the rows, which have those of other regions, too
    number: int  # place of the region in these files
    path: Path  # tables are stored in files of this name with a suffix

    def read(self) -> pa.Table:
        """Return the rows as codes."""
        return read_bucket(self.rows, self.number)

    def write(self, name: str, table: pa.Table) -> None:
        """Store a table of the region, and replace one of the same name."""
        write_rows(table, self.place(name))

    def written(self, name: str) -> pa.Table:
        """Return a stored table."""
        return read_rows(self.place(name))

    def place(self, name: str) -> Path:
        """Return the file of a table."""
        return self.path.with_name(f"{self.path.name}.{name}")


ROWS = "rows"  # the name of the rows of a region in memory


@frozen
class MemoryStorage:
    """A region in memory, of a worker of a cluster."""

    n_rows: int
    # The rows and the stored tables, as `pack` returns them; empty on the client.
    tables: dict[str, bytes] = field(default_factory=dict)

    def read(self) -> pa.Table:
        """Return the rows as codes."""
        return self.written(ROWS)

    def write(self, name: str, table: pa.Table) -> None:
        """Store a table of the region, and replace one of the same name."""
        self.tables[name] = pack(table)

    def written(self, name: str) -> pa.Table:
        """Return a stored table."""
        return unpack(self.tables[name])


# The rows of a region, which only the process that works on them reads.
Storage: TypeAlias = FileStorage | MemoryStorage


@frozen
class RegionFacts:
    """Facts about a region whose rows were decided and written."""

    n_groups: int  # number of its clusters
    known: Any = None  # what its guarantee reads from its mapping
    hides_missing: bool = False  # whether missing rows must be published as empty
    useless: str = ""  # what is almost empty
    # Published values of classes in which suppression emptied all rows with items, fewer than k.
    lost: frozenset[tuple[str, ...]] = frozenset()


# --- Quasi-identifiers and items


@frozen
class Region:
    """A region of a table with quasi-identifiers and items, a `Part`."""

    data: Dataset  # values and items of the whole table, without rows
    pairs: Codes  # pairs of items to count, shape (pairs, 2)
    storage: Storage  # the rows, and the place of their release

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.storage.n_rows

    def open(self) -> Block:
        """Read the rows."""
        data = self.data
        codes, itemsets = read_region(self.storage.read(), data.columns[0].vocabulary)
        assert itemsets is not None
        side = replace(data.transactions, itemsets=itemsets)
        return Block(data.guarantee.k, replace(data.table, codes=codes), side)

    def keep(self, *decided: NDArray[Any]) -> int:
        """Store arrays beside the rows; return how many."""
        for number, values in enumerate(decided):
            self.storage.write(f"kept-{number}", pa.table({"kept": values}))
        return len(decided)

    def kept(self, known: int) -> list[NDArray[Any]]:
        """Return the arrays that `keep` stored."""
        return [to_numpy(self.storage.written(f"kept-{number}")["kept"]) for number in range(known)]

    def close(self, block: Block, groups: Numbers, numbers: Codes) -> RegionFacts:
        """Write the released rows, the mapping and the losses, and store the decision."""
        self.keep(groups, numbers)
        data, itemsets = self.data, block.transactions.itemsets
        frame = pd.DataFrame(block.table.codes, columns=data.frame.columns[: block.table.codes.shape[1]])
        frame[data.frame.columns[-1]] = 0  # its place
        own = replace(
            data, frame=frame, columns=[itemsets], table=block.table, transactions=block.transactions
        )
        decision = own.decision(groups, numbers, {})
        written = decision.rows.write(frame, data.positions).frame
        self.storage.write("released", _to_table(written))
        self.storage.write("mapping", _to_table(decision.mapping))
        (column, recoding), known = decision.rows.lists[0], itemsets.codes
        if block.transactions.hidden is not None:
            known = known[~block.transactions.hidden[known]]
        losses = part_losses(decision.loss, itemsets, recoding, self.pairs, len(known))
        self.storage.write("losses", losses)
        suppressed = recoding.targets < 0
        return RegionFacts(
            int(decision.rows.of_row.max(initial=-1)) + 1,
            getattr(decision.guarantee, "mapping", None),
            bool(suppressed.any() or (itemsets.nulls.any() and not column.nulls.any())),
            items_left(decision.mapping, decision.loss, self.n_rows, decision.guarantee),
            _lost_classes(decision.rows.classes, itemsets.rows, suppressed, data.guarantee.k),
        )

    def clear(self, lost: frozenset[tuple[str, ...]]) -> RegionFacts | None:
        """Suppress all items of some classes, and write the region again; None if it has none of them."""
        block, (groups, numbers) = self.open(), self.kept(2)
        classes = Classes.of_members(block.table, groups)
        cleared = np.array([key in lost for key in _keys(classes)], np.bool_)
        shown = cleared[classes.of_row[block.transactions.itemsets.rows]] & (numbers >= 0)
        if not shown.any():
            return None
        count_steps()
        return self.close(block, groups, np.where(shown, np.int32(-1), numbers))


def _keys(classes: Classes) -> Iterator[tuple[str, ...]]:
    """Return the texts of the published values of each class."""
    cells = [map(str, each.values.take(each.numbers)) for each in classes.cells]
    return zip(*cells, strict=True)


def _lost_classes(classes: Classes, rows: Numbers, suppressed: Mask, k: int) -> frozenset[tuple[str, ...]]:
    """Return the classes with emptied rows, but fewer than k; they have no labels left."""
    if not suppressed.any():
        return frozenset()
    has_items, shown = np.zeros((2, len(classes.of_row)), np.bool_)
    has_items[rows] = True
    shown[rows[~suppressed]] = True
    emptied = np.bincount(classes.of_row[has_items & ~shown])
    few = np.flatnonzero((emptied > 0) & (emptied < k))
    keys = list(_keys(classes)) if len(few) else []
    return frozenset(keys[each] for each in few.tolist())


# --- Quasi-identifiers alone


@frozen
class RelationalRegion:
    """A region of a table with quasi-identifiers, decided by a relational algorithm."""

    guarantee: KAnonymity
    table: QuasiTable  # values of the whole table, without rows
    share: Fraction  # upper bound on the share of suppressed rows
    form: Formation
    storage: Storage | None = None  # the rows, and the place of their release

    def decide(self, rng: np.random.Generator) -> RegionFacts:
        """Form the classes, and write the released rows."""
        assert self.storage is not None
        table = replace(self.table, codes=read_region(self.storage.read(), None)[0])
        classes, released, loss = self.publish(table, rng)
        self.storage.write("released", released)
        self.storage.write("losses", part_losses_of_rows(loss, table.n_rows))
        return RegionFacts(len(classes))

    def publish(
        self, table: QuasiTable, rng: np.random.Generator
    ) -> tuple[Classes, pa.Table, pd.Series[float]]:
        """Form classes; return also the published values and the losses."""
        k, quasi = self.guarantee.k, [*map(str, self.guarantee.quasi)]
        classes, loss = form_classes(self.form, table, k, self.share, rng)
        published = with_classes(pd.DataFrame(table.codes, columns=quasi), table, classes)
        return classes, _to_table(published), loss


def read_region(rows: pa.Table, vocabulary: pa.Array | None) -> tuple[Codes, Itemsets | None]:
    """Return the values and items of a region."""
    columns = [to_numpy(rows[name]) for name in rows.column_names if name != LISTS]
    codes = np.column_stack(columns).astype(np.int32)
    return codes, None if vocabulary is None else read_lists(rows, vocabulary, None)


def _to_table(frame: pd.DataFrame) -> pa.Table:
    """Return a frame as Arrow, without its index."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except TypeError:
        pass  # raised outside the handler: the error is one of pandas 2
    hint = "pass times without one, such as frame['seen'].dt.tz_convert(None); or update pandas to version 3"
    raise ItemsetDtypeError("this pandas stores no intervals of times with a zone", where="quasi", hint=hint)


# --- Released rows


def without_missing(released: pa.Table) -> pa.Table:
    """Return released rows with empty lists in place of missing ones, in the last column."""
    place = released.num_columns - 1
    column = pa.concat_arrays(released.column(place).chunks)
    offsets = offsets_of(pc.fill_null(pc.list_value_length(column), 0).to_numpy())
    lists = pa.ListArray.from_arrays(offsets.astype(np.int32), column.flatten())
    return released.set_column(place, released.schema.field(place).with_type(lists.type), lists)


def number_groups(mapping: pa.Table, first: int) -> pa.Table:
    """Return the mapping of a region, whose groups count on from those before."""
    groups = pa.array(mapping["group"].to_numpy() + first)
    return mapping.set_column(mapping.schema.get_field_index("group"), "group", groups)


# --- Tables


BLOCK_ROWS = 10_000  # rows of a region, unless the caller says otherwise


class TableRows(Protocol):
    """The rows of a table in parts outside memory, with its values and items in memory."""

    # The parts are in files, or on the workers of a cluster. They are read as codes, by an encoder.

    @property
    def values(self) -> TableValues:
        """The values and items."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def each(self, function: Callable[..., Any], encoder: Encoder, *shared: Any) -> Iterable[Any]:
        """Apply a function to each part, with further arguments."""

    def merge(self, function: Callable[..., Any], join: Callable[..., Any], encoder: Encoder) -> Any:
        """Apply a function to each part and `Encoder.sizes`, and join the results two by two."""

    def split(
        self, encoder: Encoder, assignment: Assignment, own: Sequence[tuple[Numbers, Drawn]]
    ) -> Sequence[Codes]:
        """Split each part as `SplitPart`, bring the rows of each region together, and return the pairs."""

    @property
    def storages(self) -> Sequence[Storage]:
        """The rows of each region after a `split`, and the place of their release."""

    def written(self, name: str) -> Iterator[pa.Table]:
        """Yield a table that each region stored, in their order."""

    def publish(self, facts: Sequence[RegionFacts], hides_missing: bool) -> Any:
        """Release the decided regions; missing rows are empty in all of them, or in none."""

    def publish_values(self, encoder: Encoder, histogram: Histogram, released: pa.Table) -> Any:
        """Release equal values equally, given the published values of each combination."""


def cut_table(rows: TableRows, encoder: Encoder, most: int) -> tuple[Codes, Numbers]:
    """Cut a table into regions of a maximum number of rows; return sampled pairs of items, and how often."""
    counts: Counts = rows.merge(Counts.of, Counts.merge, encoder)
    regions = cut_regions(encoder.table.attributes, counts.histogram, most)
    sample, assignment = PairSample.of(counts), Assignment(counts.histogram, regions)
    near, held = zip(*rows.each(look_near, encoder, sample, assignment), strict=True)
    before = np.cumsum([assignment.none, *held[:-1]], axis=0)
    return count_drawn(rows.split(encoder, assignment, [*zip(before, sample.draw(near), strict=True)]))


@frozen
class ReleasedTable:
    """The released rows of a table."""

    n_rows: int
    rows: Any  # where the original ones are, as `TableRows.publish` returns them
    useless: str = ""  # description of the items, if they are almost empty

    def columns_left(self, before: pd.DataFrame, after: pd.DataFrame) -> str:
        """Describe what is almost empty: items, or quasi-identifiers in some rows before and after."""
        left = columns_left(before, after, range(after.shape[1]))
        return ". ".join(filter(None, (self.useless, left)))


def decide_table(
    rows: TableRows, name: str, given: Mapping[str, Any], share: Share
) -> Decision[ReleasedTable]:
    """Decide for the rows of a table outside memory."""
    # ``share`` applies a function to each region, where its rows are. Regions differ only in their storage.
    # The given parameters include ``block_rows``.
    record = ALGORITHMS[name]
    asked = with_defaults(record.function, given)
    most = asked.pop("block_rows", None)
    most = BLOCK_ROWS if most is None else most
    hint = "a block is cut in two, and each half needs k rows"
    asked["block_rows"] = check_count(most, "block_rows", least=2 * check_k(asked["k"]), hint=hint)
    if record.recodes == "both":
        return _decide_both(rows, record, asked, share)
    return _decide_quasi(rows, record, asked, share)


def _decide_both(
    rows: TableRows, record: Algorithm, asked: Parameters, share: Share
) -> Decision[ReleasedTable]:
    """Decide region by region for quasi-identifiers and items."""
    given = {name: asked[name] for name in parameters_of(Dataset.of) if name in asked}
    data = Dataset.of(rows.values.frame(), rows.values.label, **given, n_rows=rows.n_rows)
    encoder = Encoder(rows.values, data.table, data.columns[0].vocabulary)
    pairs, times = cut_table(rows, encoder, asked["block_rows"])
    stripped = _without_rows(data)
    parts = [Region(stripped, pairs, storage) for storage in rows.storages]
    assert record.parts is not None
    own = {name: asked[name] for name in parameters_of(record.parts)}
    decided: Decided = record.parts(Parts(parts, data.table, share), **own)
    facts: list[RegionFacts] = decided.parts
    lost = frozenset().union(*(each.lost for each in facts))
    if lost and len(parts) > 1:  # fewer than k rows of a class were emptied in a region: it loses all items
        cleared = share(Region.clear, parts, [lost] * len(parts))
        facts = [old if new is None else new for old, new in zip(facts, cleared, strict=True)]
    loss = join_losses(rows.written("losses"), times)
    tum = float(loss[data.transactions.measured_as or "NCP"])
    if record.name == "tum_bound" and tum > float(own["delta"]) + 1e-9:
        raise InfeasibleError(
            "hiding emptied rows of classes in several blocks loses more than delta allows",
            where="delta",
            got=f"delta={own['delta']:g}, the items lose {tum:.6f}",
            hint="pass a larger delta",
        )
    guarantee = data.guarantee.with_mapping(_join_known([each.known for each in facts]))
    parameters = {"algorithm": record.name, **asked}
    trace = trace_steps(decided.steps, tum)
    released = rows.publish(facts, any(each.hides_missing for each in facts))
    useless = _describe_useless(facts, [part.n_rows for part in parts])
    known = ReleasedTable(rows.n_rows, released, useless)
    return Decision(known, guarantee, no_items(), decided.with_rum(loss), parameters, trace)


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


def _join_known(known: Sequence[Any]) -> Any:
    """Join what a guarantee reads from the mappings of several regions."""
    suppresses = any(each.suppresses for each in known)
    if not isinstance(known[0], MappedItems):
        return Suppression(suppresses, 0, 0)
    left_out, plain = (
        frozenset().union(*(getattr(each, name) for each in known)) for name in ("left_out", "plain_labels")
    )
    return MappedItems(suppresses, 0, 0, left_out, plain)


def _decide_quasi(
    rows: TableRows, record: Algorithm, asked: Parameters, share: Share
) -> Decision[ReleasedTable]:
    """Decide for quasi-identifiers: by region, or for distinct values if these are published equally."""
    guarantee = KAnonymity(asked["k"], quasi=quasi_names(asked["quasi"]))
    table = QuasiTable.of(rows.values.frame(), asked["quasi"], rows.n_rows)
    check_rows(rows.n_rows, guarantee.k)
    bound = check_share(asked["max_suppressed"], "max_suppressed")
    assert record.form is not None
    region = RelationalRegion(guarantee, table.take(np.empty(0, np.int64)), bound, record.form)
    encoder, rng = Encoder(rows.values, table, None), random_generator(asked.get("random_state"))
    most = asked["block_rows"]
    if record.by_value:
        del asked["block_rows"]
        if not Histogram(encoder.sizes).is_exact:
            hint = "pass fewer columns, or one of cluster, k_member and mondrian"
            raise ParameterError("the columns have too many combinations of values", where="quasi", hint=hint)
        histogram = rows.merge(Histogram.of, Histogram.merge, encoder)
        own = replace(table, codes=histogram.combinations(), counts=histogram.rows)
        _, published, loss = region.publish(own, rng)
        released = rows.publish_values(encoder, histogram, published)
    else:
        _, times = cut_table(rows, encoder, most)
        parts = [replace(region, storage=storage) for storage in rows.storages]
        seeds = rng.spawn(len(parts)) if len(parts) > 1 else [rng]
        facts = share(RelationalRegion.decide, parts, seeds)
        loss = join_losses(rows.written("losses"), times)
        released = rows.publish(facts, False)
    parameters = {"algorithm": record.name, **asked}
    return Decision(ReleasedTable(rows.n_rows, released), guarantee, no_items(), loss, parameters)
