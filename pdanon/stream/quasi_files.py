"""Releases of files with quasi-identifiers: region by region, see `pdanon.algorithms.regions`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.engines import SAMPLE
from pdanon.algorithms.regions import FileRows, ReleasedFiles, ReleasedTable, decide_table
from pdanon.algorithms.workers import sharing
from pdanon.guarantees.class_audit import (
    AUDITED,
    HAD_NONE,
    ByClasses,
    ClassColumns,
    ClassPart,
    audit_parts,
    read_classes,
)
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.buckets import Buckets, number_buckets
from pdanon.io.files import Draft
from pdanon.io.parquet import to_frame
from pdanon.io.tables import write_confidential_parts
from pdanon.io.targets import report_write_errors
from pdanon.io.trees import ParquetTree, decode_type, open_writer
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.libraries import without_views
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.timing import SETTINGS, progress_bar
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts
from pdanon.stream.streamed import (
    Source,
    Streamed,
    WrittenFiles,
    change_error,
    expect_unchanged,
    first_rows,
    report_rows,
    row_bar,
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
    """Parquet files with quasi-identifiers, and optionally a list column that is recoded.

    Parameters
    ----------
    directory : Path
        An empty directory, for numbers of values and items.
    empty : list of ndarray of uint8
        For each released row group, the bits of the rows without items. Filled by `decide`.
    """

    directory: Path
    empty: list[NDArray[np.uint8]] = field(default_factory=list)

    def decide(self, name: str, given: Mapping[str, Any]) -> Decision[ReleasedTable[ReleasedFiles]]:
        """Read the rows, and decide region by region, in processes."""
        with report_write_errors(self.target):
            with expect_unchanged(self.tree):
                rows = self._read()
            with progress_bar(name, "steps") as report, sharing(SETTINGS["processes"], report) as share:
                return decide_table(rows, name, given, share, report)

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

        with row_bar("read", self.tree) as report:
            groups = report_rows(self.tree.groups(lists), report, lambda each: each[0].n_rows(each[1]))
            for file, number in groups:
                for table in _cut(file.read(number, self.labels)):
                    add(table, None if label is None else file.itemsets(table, label, number))
        if not rows.n_parts:
            none = schema.empty_table()
            add(none, None if label is None else Itemsets.from_arrow(none.column(label)))
        return rows

    @contextmanager
    def write(self, decision: Decision[ReleasedTable[ReleasedFiles]]) -> Iterator[_WrittenTable]:
        """Write a draft, which the audit fills. At the end it becomes the target, after the mapping."""
        with self.draft(partial(write_confidential_parts, decision.rows.rows.mappings)) as draft:
            yield _WrittenTable(self, decision, draft)


class _WrittenTable(WrittenFiles):
    """The draft of a release of files with quasi-identifiers."""

    files: TableFiles

    def columns_left(self) -> str:
        """Describe the quasi-identifiers and items that are almost empty; columns in the first rows."""
        table, quasi = self.decision.rows, [*self.files.columns.quasi]
        with expect_unchanged(self.files.tree):
            first = first_rows(self.files.tree, quasi) if self.n_rows else pd.DataFrame()
        number, released = 0, table.rows.part(0)
        while not len(released) and len(first):
            number += 1
            released = table.rows.part(number)
        return table.columns_left(first, to_frame(released.select(quasi).slice(0, SAMPLE)))

    def audit(self, guarantee: Guarantee) -> Audit:
        assert isinstance(guarantee, ByClasses)
        files = self.files
        with expect_unchanged(files.tree):
            self._write()
            draft = ParquetTree.find(self.draft)
            if draft.rows() != self.n_rows:
                raise change_error(files.tree)
            columns = ClassColumns(files.labels, len(files.columns.quasi))
            parts = ClassFiles(draft, columns, files.directory, files.empty)
            return audit_parts(guarantee, parts, columns.column)

    def _write(self) -> None:
        """Write each file with released columns, in row groups that can be recoded at once."""
        tree, numbers = self.files.tree, count()
        schema = self.decision.rows.rows.part(0).schema
        kinds = {label: schema.field(label).type for label in self.files.labels}
        with row_bar("write", tree) as report:
            for name in tree.names:
                with (
                    tree.open(name) as file,
                    open_writer(self.path(name), file, {}, kinds, schema.metadata) as writer,
                ):
                    for group in range(file.plain.num_row_groups):
                        for table in _cut(file.read(group)):
                            recoded = self._recode(table, next(numbers)).cast(writer.schema)
                            writer.write_table(recoded, max(len(table), 1))
                            report(len(table))
                            return_unused()

    def _recode(self, table: pa.Table, number: int) -> pa.Table:
        """Replace the recoded columns of a row group."""
        released = self.decision.rows.rows.part(number)
        if len(released) != len(table):
            raise change_error(self.files.tree)
        for label in self.files.labels:
            place = table.column_names.index(label)
            table = table.set_column(place, released.schema.field(label), released.column(label))
        return table

    def result(self, facts: Facts) -> Streamed:
        return replace(WrittenFiles.result(self, facts), trace=facts.decision.trace)


@frozen
class ClassFiles:
    """The rows of Parquet files in parts of whole classes. Each iteration reads them again.

    Parameters
    ----------
    tree : ParquetTree
        The files, which must not change.
    columns : ClassColumns
        The columns to audit.
    near : Path, optional
        A directory for the rows, sorted by class. By default that of temporary files.
    empty : sequence of ndarray of uint8, optional
        For each row group, the bits of the rows that had no item in the original, if it is known.
    """

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
        with row_bar("audit", self.tree) as report:
            for file, group in self.tree.groups():
                table = file.read(group, labels).replace_schema_metadata(None).cast(plain)
                bucket_of = number_buckets(table.columns[:n_quasi], n_buckets)
                if (own := next(empty, None)) is not None:
                    bits = np.unpackbits(own, count=len(table))
                    table = table.append_column(HAD_NONE, pa.array(bits.astype(np.bool_)))
                buckets.add(table, bucket_of)
                report(len(table))
                return_unused()
        if not buckets.n_parts:
            buckets.add(plain.empty_table(), np.empty(0, np.int64))
        return buckets


def _cut(group: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of a row group, some at a time, in parts of about the same size."""
    bounds = np.linspace(0, len(group), max(-(-len(group) // _ROWS), 1) + 1).astype(np.int64).tolist()
    return (group.slice(first, last - first) for first, last in pairwise(bounds))
