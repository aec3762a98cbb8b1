"""The work on a region: its rows are read, decided and written where the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.regions.region_storage import Storage
from pdanon.algorithms.regions.values import LISTS, read_lists
from pdanon.algorithms.relational.publishing import with_classes
from pdanon.algorithms.relational.quasi import Classes, Formation, QuasiTable
from pdanon.algorithms.relational.suppression import rows_allowed
from pdanon.algorithms.rt.dataset import Block, Dataset, published_classes
from pdanon.errors import ItemsetDtypeError
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.timing import Report
from pdanon.recoding.loss_sums import LossSums
from pdanon.recoding.warnings import items_left


@dataclass(frozen=True, eq=False, slots=True)
class RegionFacts:
    """Facts about a region whose rows were decided and written."""

    n_groups: int  # number of its clusters
    known: Any = None  # what its guarantee reads from its mapping
    hides_missing: bool = False  # whether missing rows must be published as empty
    useless: str = ""  # what is almost empty
    # Published values of classes in which suppression emptied all rows with items, fewer than k.
    lost: frozenset[tuple[str, ...]] = frozenset()


# --- Quasi-identifiers and items


@dataclass(frozen=True, eq=False, slots=True)
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
        return Block(data.guarantee.k, data.table.with_codes(codes), side)

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
        sums = LossSums.of(decision.loss, itemsets, recoding, self.pairs, len(known))
        self.storage.write("losses", sums.to_arrow())
        suppressed = recoding.targets < 0
        return RegionFacts(
            int(decision.rows.of_row.max(initial=-1)) + 1,
            getattr(decision.guarantee, "mapping", None),
            bool(suppressed.any() or (itemsets.nulls.any() and not column.nulls.any())),
            items_left(decision.mapping, decision.loss, self.n_rows, decision.guarantee),
            _lost_classes(decision.rows.classes, itemsets.rows, suppressed, data.guarantee.k),
        )

    def clear(self, lost: frozenset[tuple[str, ...]], report: Report) -> RegionFacts | None:
        """Suppress all items of some classes, and write the region again; None if it has none of them."""
        block, (groups, numbers) = self.open(), self.kept(2)
        classes = Classes.of_members(block.table, groups)
        cleared = np.array([key in lost for key in _keys(classes)], np.bool_)
        shown = cleared[classes.of_row[block.transactions.itemsets.rows]] & (numbers >= 0)
        if not shown.any():
            return None
        report(1)
        return self.close(block, groups, np.where(shown, np.int32(-1), numbers))


def _keys(classes: Classes) -> Iterator[tuple[str, ...]]:
    """Return the texts of the published values of each class."""
    cells = [map(str, each.values.take(each.numbers)) for each in classes.cells]
    return zip(*cells, strict=True)


def _lost_classes(
    classes: Classes, rows: Numbers, suppressed: NDArray[np.bool_], k: int
) -> frozenset[tuple[str, ...]]:
    """Return the classes with emptied rows, but fewer than k; they have no labels left."""
    if not suppressed.any():
        return frozenset()
    has_items, shown = np.zeros((2, len(classes.of_row)), np.bool_)
    has_items[rows] = True
    shown[rows[~suppressed]] = True
    class_of = published_classes(classes)
    emptied = np.bincount(class_of[has_items & ~shown], minlength=int(class_of.max(initial=0)) + 1)
    few = np.unique(classes.of_row[((emptied > 0) & (emptied < k))[class_of]])
    keys = list(_keys(classes)) if len(few) else []
    return frozenset(keys[each] for each in few.tolist())


# --- Quasi-identifiers alone


@dataclass(frozen=True, eq=False, slots=True)
class RelationalRegion:
    """A region of a table with quasi-identifiers, decided by a relational algorithm."""

    labels: list[str]
    table: QuasiTable  # values of the whole table, without rows
    k: int  # minimum number of rows of a class
    share: Fraction  # upper bound on the share of suppressed rows
    form: Formation
    storage: Storage  # the rows, and the place of their release

    def decide(self, rng: np.random.Generator, report: Report) -> RegionFacts:
        """Form the classes, and write the released rows."""
        table = self.table.with_codes(read_region(self.storage.read(), None)[0])
        most = rows_allowed(self.share, table.n_rows, self.k)
        classes = self.form(table, self.k, rng, report, most)
        self.storage.write("released", value_table(self.labels, table, classes))
        sums = LossSums.of_rows(relational_loss(classes, table.n_rows, self.share), table.n_rows)
        self.storage.write("losses", sums.to_arrow())
        return RegionFacts(len(classes))


def read_region(rows: pa.Table, vocabulary: pa.Array | None) -> tuple[Codes, Itemsets | None]:
    """Return the values and items of a region."""
    columns = [to_numpy(rows[name]) for name in rows.column_names if name != LISTS]
    codes = np.column_stack(columns).astype(np.int32)
    return codes, None if vocabulary is None else read_lists(rows, vocabulary, None)


def decide_region(region: RelationalRegion, rng: np.random.Generator, report: Report) -> RegionFacts:
    """Decide a region, in any process."""
    return region.decide(rng, report)


def clear_region(lost: frozenset[tuple[str, ...]], region: Region, report: Report) -> RegionFacts | None:
    """Suppress all items of some classes of a region, in any process."""
    return region.clear(lost, report)


def value_table(labels: list[str], table: QuasiTable, classes: Classes) -> pa.Table:
    """Return the published values of each row."""
    return _to_table(with_classes(pd.DataFrame(table.codes, columns=labels), table, classes))


def relational_loss(classes: Classes, n_rows: int, share: Fraction) -> pd.Series[float]:
    """Return the losses of a release of quasi-identifiers."""
    loss = {"NCP_relational": classes.ncp}
    if share:
        loss["suppressed_rows"] = classes.suppressed / max(n_rows, 1)
    return pd.Series(loss, name="loss", dtype="float64")


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
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
    lists = pa.ListArray.from_arrays(offsets.astype(np.int32), column.flatten())
    return released.set_column(place, released.schema.field(place).with_type(lists.type), lists)


def number_groups(mapping: pa.Table, first: int) -> pa.Table:
    """Return the mapping of a region, whose groups count on from those before."""
    groups = pa.array(mapping["group"].to_numpy() + first)
    return mapping.set_column(mapping.schema.get_field_index("group"), "group", groups)
