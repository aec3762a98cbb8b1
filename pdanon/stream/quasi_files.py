"""Releases of files with quasi-identifiers: region by region, see `pdanon.algorithms.regions`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial, reduce
from itertools import count, pairwise, repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.engines import SAMPLE
from pdanon.algorithms.regions import ReleasedTable, decide_table
from pdanon.algorithms.regions.region_release import (
    FileStorage,
    RegionFacts,
    number_groups,
    without_missing,
)
from pdanon.algorithms.regions.table_parts import (
    Assignment,
    Drawn,
    Encoder,
    Histogram,
    SplitPart,
    TableValues,
)
from pdanon.guarantees.class_audit import (
    AUDITED,
    HAD_NONE,
    ByClasses,
    ClassColumns,
    ClassPart,
    audit_parts,
    read_classes,
)
from pdanon.guarantees.verdict import Audit
from pdanon.io.files import Draft
from pdanon.io.grouping import Buckets, number_buckets, read_rows, write_rows
from pdanon.io.parquet import to_frame
from pdanon.io.tables import write_confidential_parts
from pdanon.io.trees import ParquetTree, TreeFile, decode_type, report_write_errors
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.libraries import without_views
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.threads import sharing
from pdanon.itemsets.timing import SETTINGS, count_steps, progress_bar
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts
from pdanon.stream.streamed import (
    Source,
    Streamed,
    change_error,
    expect_unchanged,
    first_rows,
    row_bar,
    write_files,
)

_ROWS = 20_000  # most rows of a row group that are recoded at once


@contextmanager
def workspace(target: Path | str) -> Iterator[Path]:
    """Create a directory that only its owner can read, near a target, and remove it with the block."""
    if isinstance(target, str):
        with tempfile.TemporaryDirectory(prefix="pdanon-") as name:
            yield Path(name)
        return
    draft = Draft(target.with_name(f"{target.name}.rows"), directory=True)
    try:
        yield draft.path
    finally:
        draft.remove()


@frozen
class TableFiles(Source):
    """Parquet files with quasi-identifiers, and optionally a list column that is recoded."""

    # ``directory``: an empty directory, for numbers of values and items. ``empty``: for each released row
    # group, the bits of the rows without items. Filled by `decide`.

    directory: Path
    empty: list[NDArray[np.uint8]] = field(default_factory=list)

    def decide(self, name: str, given: Mapping[str, Any]) -> Decision[ReleasedTable]:
        """Read the rows, and decide region by region, in processes."""
        with report_write_errors(self.target):
            with expect_unchanged(self.tree):
                rows = self._read()
            with progress_bar(name, "steps"), sharing(SETTINGS["processes"]) as share:
                return decide_table(rows, name, given, share)

    def _read(self) -> FileRows:
        schema, (quasi, lists, _) = self.tree.schema(), self.columns
        label = next(iter(lists), None)
        with self.tree.open(self.tree.names[0]) as file:
            noted = file.schema.metadata
        rows = FileRows(self.directory, pa.schema([schema.field(each) for each in quasi], noted), label)

        def add(table: pa.Table, itemsets: Itemsets | None) -> None:
            rows.add([table.column(each) for each in quasi], itemsets)
            if itemsets is not None:
                self.empty.append(np.packbits(itemsets.lengths == 0))

        with row_bar("read", self.tree):
            for file, number in self.tree.groups(lists):
                for table in _cut(file.read(number, self.labels)):
                    add(table, None if label is None else file.itemsets(table, label, number))
                count_steps(file.n_rows(number))
        if not rows.n_parts:
            none = schema.empty_table()
            add(none, None if label is None else Itemsets.from_arrow(none.column(label)))
        return rows

    def write_mapping(self, decision: Decision[ReleasedTable], path: Path) -> None:
        """Write the mapping to a file, region by region."""
        none = pa.Table.from_pandas(decision.mapping, preserve_index=False)  # without items
        mappings = decision.rows.rows.mappings if self.columns.lists else partial(iter, [none])
        write_confidential_parts(mappings, path)

    def columns_left(self, decision: Decision[ReleasedTable], draft: Path) -> str:
        """Describe the quasi-identifiers and items that are almost empty; columns in the first rows."""
        table, quasi = decision.rows, [*self.columns.quasi]
        with expect_unchanged(self.tree):
            first = first_rows(self.tree, quasi) if table.n_rows else pd.DataFrame()
        parts = map(table.rows.part, count())
        released = next(part for part in parts if len(part) or first.empty)
        return table.columns_left(first, to_frame(released.select(quasi).slice(0, SAMPLE)))

    def audit(self, decision: Decision[ReleasedTable], draft: Path) -> Audit:
        """Write the recoded files, and recount their rows by class."""
        guarantee, rows = decision.guarantee, decision.rows
        assert isinstance(guarantee, ByClasses)
        with expect_unchanged(self.tree):
            schema, released = rows.rows.part(0).schema, map(rows.rows.part, count())
            kinds = {label: schema.field(label).type for label in self.labels}
            write_files(self.tree, draft, (), partial(self._recode, released), {}, kinds, schema.metadata)
            written = ParquetTree.find(draft)
            if written.rows() != rows.n_rows:
                raise change_error(self.tree)
            columns = ClassColumns(self.labels, len(self.columns.quasi))
            parts = ClassFiles(written, columns, self.directory, self.empty)
            return audit_parts(guarantee, parts, columns.column)

    def _recode(self, parts: Iterator[pa.Table], file: TreeFile, schema: pa.Schema) -> Iterator[pa.Table]:
        """Return a file with the released columns of its parts, in row groups that can be recoded at once."""
        for group in range(file.plain.num_row_groups):
            for table in _cut(file.read(group)):
                released = next(parts)
                if len(released) != len(table):
                    raise change_error(self.tree)
                for label in self.labels:
                    place = table.column_names.index(label)
                    table = table.set_column(place, released.schema.field(label), released.column(label))
                yield table.cast(schema)
                return_unused()

    def result(self, draft: Path, facts: Facts) -> Streamed:
        """Return the result for the caller, with the merges."""
        return replace(Source.result(self, draft, facts), trace=facts.decision.trace)


@frozen
class ClassFiles:
    """The rows of Parquet files in parts of whole classes. Each iteration reads them again."""

    # ``tree``: the files, which must not change. ``columns``: the columns to audit. ``near``: a directory for
    # the rows, sorted by class. By default that of temporary files. ``empty``: for each row group, the bits
    # of the rows that had no item in the original, if it is known.

    tree: ParquetTree
    columns: ClassColumns
    near: Path | None = None
    empty: Sequence[NDArray[np.uint8]] = ()

    def __iter__(self) -> Iterator[ClassPart]:
        near = tempfile.TemporaryDirectory(prefix="pdanon-", dir=self.near)
        with near as name, expect_unchanged(self.tree):
            buckets = self._sort(Path(name))
            for number in range(buckets.n_buckets):
                yield from read_classes(buckets.read(number), self.columns.n_quasi)
                return_unused()

    def _sort(self, directory: Path) -> Buckets:
        """Read the files, and sort their rows by class."""
        schema, (labels, n_quasi) = self.tree.schema(), self.columns
        plain = pa.schema([(label, without_views(decode_type(schema.field(label).type))) for label in labels])
        n_buckets = self.tree.rows() // AUDITED + 1
        buckets, empty = Buckets(directory, "class", n_buckets), iter(self.empty)
        with row_bar("audit", self.tree):
            for file, group in self.tree.groups():
                table = file.read(group, labels).replace_schema_metadata(None).cast(plain)
                bucket_of = number_buckets(table.select(range(n_quasi)), n_buckets)
                if (own := next(empty, None)) is not None:
                    bits = np.unpackbits(own, count=len(table))
                    table = table.append_column(HAD_NONE, pa.array(bits.astype(np.bool_)))
                buckets.add(table, bucket_of)
                count_steps(len(table))
                return_unused()
        if not buckets.files():
            buckets.add(plain.empty_table(), np.empty(0, np.int64))
        return buckets


def _cut(group: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of a row group, some at a time, in parts of about the same size."""
    bounds = np.linspace(0, len(group), max(-(-len(group) // _ROWS), 1) + 1).astype(np.int64).tolist()
    return (group.slice(first, last - first) for first, last in pairwise(bounds))


# --- Rows on disk, as numbers of values and items, and their regions


class FileRows:
    """The rows of a table on disk, in parts, with its values and items in memory."""

    # The directory is empty at the start. The schema is that of the quasi-identifiers.

    def __init__(self, directory: Path, schema: pa.Schema, label: str | None) -> None:
        self.values, self.n_rows = TableValues(schema, schema.names, label), 0
        self._directory = directory
        self._paths: list[Path] = []
        self._counts: NDArray[np.int32]  # rows of each part in each region, shape (parts, regions)
        self.storages: list[FileStorage] = []

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self._paths)

    def add(self, quasi: Sequence[pa.ChunkedArray], itemsets: Itemsets | None) -> None:
        """Add a part: its quasi-identifiers and its list column."""
        rows = self.values.add(quasi, itemsets)
        path = self._directory / f"rows-{self.n_parts}"
        write_rows(rows, path)
        self._paths.append(path)
        self.n_rows += len(rows)

    def each(
        self, function: Callable[..., Any], encoder: Encoder, *shared: Any, own: Iterable[Any] = repeat(())
    ) -> Iterator[Any]:
        """Apply a function to each part, with further arguments: shared ones, and those of the part."""
        for path, given in zip(self._paths, own, strict=False):
            yield function(*encoder.encode(read_rows(path), self.values), *shared, *given)

    def merge(self, function: Callable[..., Any], join: Callable[..., Any], encoder: Encoder) -> Any:
        """Apply a function to each part and `Encoder.sizes`, and join the results two by two."""
        return reduce(join, self.each(function, encoder, encoder.sizes))

    def split(
        self, encoder: Encoder, assignment: Assignment, own: Sequence[tuple[Numbers, Drawn]]
    ) -> list[Codes]:
        """Split each part as `SplitPart`, bring the rows of each region together, and return the pairs."""
        counts, pairs, regions = [], [], Buckets(self._directory, "region", assignment.n_regions)
        for number, split in enumerate(self.each(SplitPart.of, encoder, assignment, own=own)):
            regions.add(split.rows, np.repeat(np.arange(regions.n_buckets), split.counts))
            np.save(self.places(number), split.places)
            counts.append(split.counts.astype(np.int32))
            pairs.append(split.pairs)
        self._forget()
        self._counts = np.array(counts)
        self.storages = [
            FileStorage(size, regions.files(), number, self._directory / f"decided-{number}")
            for number, size in enumerate(self._counts.sum(axis=0).tolist())
        ]
        return pairs

    def written(self, name: str) -> Iterator[pa.Table]:
        """Yield a table that each region stored, in their order."""
        return (storage.written(name) for storage in self.storages)

    def publish(self, facts: Sequence[RegionFacts], hides_missing: bool) -> ReleasedFiles:
        """Release the decided regions; missing rows are empty in all of them, or in none."""
        released = Buckets(self._directory, "released", self.n_parts)
        for storage, own in zip(self.storages, self._counts.T, strict=True):
            released.add(storage.written("released"), np.repeat(np.arange(len(own)), own))
            storage.place("released").unlink()
        return ReleasedFiles(self, released.read, hides_missing, [each.n_groups for each in facts])

    def publish_values(self, encoder: Encoder, histogram: Histogram, released: pa.Table) -> ReleasedFiles:
        """Release equal values equally, given the published values of each combination."""
        for number, codes in enumerate(self.each(lambda codes, _: codes, encoder)):
            np.save(self.places(number), histogram.find(codes))
        self._forget()
        return ReleasedFiles(self, lambda number: released)

    def places(self, number: int) -> Path:
        """Return the file with the place of each row of a part among the released rows."""
        return self._directory / f"places-{number}.npy"

    def _forget(self) -> None:
        for path in self._paths:
            path.unlink()


@frozen
class ReleasedFiles:
    """The released columns of the rows of a table."""

    rows: FileRows
    released: Callable[[int], pa.Table]  # returns the released rows that those of a part are taken from
    hides_missing: bool = False  # whether missing rows are published as empty
    n_groups: Sequence[int] = ()  # number of clusters of each region

    def part(self, number: int) -> pa.Table:
        """Return the released columns of a part, in the order of its rows."""
        released = self.released(number)
        return_unused()
        released = released.take(pa.array(np.load(self.rows.places(number))))
        return without_missing(released) if self.hides_missing else released

    def mappings(self) -> Iterator[pa.Table]:
        """Yield the mapping, region by region."""
        first = 0
        for n_groups, mapping in zip(self.n_groups, self.rows.written("mapping"), strict=True):
            yield number_groups(mapping, first)
            first += n_groups
