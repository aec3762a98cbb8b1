"""Releases of files with quasi-identifiers: region by region, see `pdanon.algorithms.regions`."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.engines import SAMPLE
from pdanon.algorithms.regions import FileRows, ReleasedFiles, ReleasedTable, decide_table
from pdanon.algorithms.workers import check_jobs, sharing
from pdanon.errors import ParameterError, read_safely
from pdanon.guarantees.class_audit import (
    AUDITED,
    HAD_NONE,
    ByClasses,
    ClassPart,
    audit_parts,
    class_columns,
    read_classes,
)
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.buckets import Buckets, number_buckets
from pdanon.io.files import Draft, join_name
from pdanon.io.parquet import to_frame
from pdanon.io.targets import draft_target, report_write_errors, write_mapping_parts
from pdanon.io.trees import ParquetTree, TreeFile, decode_type, open_writer
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_quasi
from pdanon.itemsets.libraries import without_views
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.timing import progress_bar
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts
from pdanon.recoding.unmodified_columns import UnmodifiedColumns
from pdanon.recoding.warnings import columns_left
from pdanon.stream.streamed import (
    Streamed,
    change_error,
    check_keep,
    count_written,
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


@dataclass(frozen=True, eq=False, slots=True)
class TableFiles:
    """The rows of Parquet files with quasi-identifiers, and the place of their release.

    Parameters
    ----------
    tree : ParquetTree
        The files.
    target : Path or str
        The release.
    mapping : Path or None
        The file of the mapping.
    quasi : list of str
        The quasi-identifiers.
    label : str or None
        The list column, if it is recoded.
    stamps : list
        State of the files at the start.
    directory : Path
        An empty directory, for numbers of values and items.
    empty : list of ndarray of uint8
        For each released row group, the bits of the rows without items. Filled by `decide`.
    """

    tree: ParquetTree
    target: Path | str
    mapping: Path | None
    quasi: list[str]
    label: str | None
    stamps: list[object]
    directory: Path
    empty: list[NDArray[np.uint8]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        tree: ParquetTree,
        target: Path | str,
        mapping: Path | None,
        column: str | None,
        quasi: Any,
        directory: Path,
        *,
        has_lists: bool,
    ) -> TableFiles:
        """Find the columns."""
        if column is not None and not has_lists:
            hint = "leave column= out, and list the quasi-identifiers in quasi="
            raise ParameterError("the algorithm recodes no list column", where="column", hint=hint)
        stamps = tree.stamps()
        with expect_unchanged(tree, stamps):
            names = tree.schema().names
            frame = _empty_frame(tree)
            labels = [names[place] for place in find_quasi(frame, quasi)]
            label = names[tree.find_columns(column)[0]] if has_lists else None
        return cls(tree, target, mapping, labels, label, stamps, directory)

    @property
    def labels(self) -> list[str]:
        """The recoded columns."""
        return [*self.quasi, *([] if self.label is None else [self.label])]

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the recoded columns."""
        names = self.tree.schema().names
        return tuple(names.index(label) for label in self.labels)

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed."""
        with expect_unchanged(self.tree, self.stamps):
            return check_keep(self.tree, self.positions, keep)

    def decide(self, name: str, given: Mapping[str, Any]) -> Decision[ReleasedTable[ReleasedFiles]]:
        """Read the rows, and decide region by region, in processes."""
        jobs = check_jobs(given.get("n_jobs", 1))
        with report_write_errors(self.target):
            with expect_unchanged(self.tree, self.stamps):
                rows = self._read()
            with progress_bar(name, "steps") as report, sharing(jobs, report) as share:
                return decide_table(rows, name, given, share, report)

    def _read(self) -> FileRows:
        schema = self.tree.schema()
        with self.tree.open(self.tree.names[0]) as file:
            noted = file.schema.metadata
        chosen = pa.schema([schema.field(label) for label in self.quasi], noted)
        rows = FileRows(self.directory, chosen, self.label)
        with row_bar("read", self.tree) as report:
            for file, number in report_rows(self._groups(), report, lambda each: _group_rows(*each)):
                for table in _cut(file.read(number, self.labels)):
                    itemsets = None if self.label is None else file.itemsets(table, self.label, number)
                    rows.add([table.column(label) for label in self.quasi], itemsets)
                    if itemsets is not None:
                        self.empty.append(np.packbits(itemsets.lengths == 0))
        if not rows.n_parts:
            none = schema.empty_table()
            lists = None if self.label is None else Itemsets.from_arrow(none.column(self.label))
            rows.add([none.column(label) for label in self.quasi], lists)
        return rows

    def _groups(self) -> Iterator[tuple[TreeFile, int]]:
        for name in self.tree.names:
            with self.tree.open(name, [] if self.label is None else [self.label]) as file:
                for number in range(file.plain.num_row_groups):
                    yield file, number

    @contextmanager
    def write(self, decision: Decision[ReleasedTable[ReleasedFiles]]) -> Iterator[_WrittenTable]:
        """Write a draft, which the audit fills. At the end it becomes the target, after the mapping."""
        write_first = partial(write_mapping_parts, decision.rows.rows.mappings, self.mapping)
        with draft_target(self.target, write_first, directory=not self.tree.is_file) as draft:
            yield _WrittenTable(self, decision.rows, draft)


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenTable:
    """The draft of a release, written when it is audited."""

    files: TableFiles
    table: ReleasedTable[ReleasedFiles]
    draft: Path

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> UnmodifiedColumns:
        lists = [] if self.files.label is None else [self.files.label]
        draft = ParquetTree.find(self.draft)
        return count_written(draft, guarantee, judged, lists=lists, quasi=self.files.quasi)

    def columns_left(self) -> str:
        """Describe the quasi-identifiers and items that are almost empty; columns in the first rows."""
        tree = self.files.tree
        with expect_unchanged(tree, self.files.stamps):
            first = first_rows(tree, self.files.quasi) if self.n_rows else pd.DataFrame()
        number, released = 0, self.table.rows.part(0)
        while not len(released) and len(first):
            number += 1
            released = self.table.rows.part(number)
        shown = to_frame(released.select(self.files.quasi).slice(0, SAMPLE))
        return ". ".join(
            filter(None, (self.table.useless, columns_left(first, shown, range(shown.shape[1]))))
        )

    def audit(self, guarantee: Guarantee) -> Audit:
        tree = self.files.tree
        with expect_unchanged(tree, self.files.stamps):
            self._write()
            assert isinstance(guarantee, ByClasses)
            draft, files = ParquetTree.find(self.draft), self.files
            lists = [] if files.label is None else [files.label]
            if draft.rows() != self.n_rows:
                raise change_error(tree)
            given: Any = (files.directory, files.empty)
            parts = ClassFiles(draft, draft.stamps(), files.quasi, lists, *given)
            return audit_parts(guarantee, parts, files.label)

    def _write(self) -> None:
        """Write each file with released columns, in row groups that can be recoded at once."""
        tree, number = self.files.tree, 0
        kinds = self.table.rows.part(0).schema
        fields = {place: kinds.field(label) for place, label in self._recoded()}
        with row_bar("write", tree) as report:
            for name in tree.names:
                path = self.draft if tree.is_file else self.draft / name
                with tree.open(name) as file, open_writer(path, file, {}, fields, kinds.metadata) as writer:
                    for group in range(file.plain.num_row_groups):
                        for table in _cut(file.read(group)):
                            size = max(len(table), 1)
                            writer.write_table(self._recode(table, number).cast(writer.schema), size)
                            report(len(table))
                            return_unused()
                            number += 1

    def _recoded(self) -> list[tuple[int, str]]:
        return [*zip(self.files.positions, self.files.labels, strict=True)]

    def _recode(self, table: pa.Table, number: int) -> pa.Table:
        """Replace the recoded columns of a row group."""
        released = self.table.rows.part(number)
        if len(released) != len(table):
            raise change_error(self.files.tree)
        for place, label in self._recoded():
            table = table.set_column(place, released.schema.field(label), released.column(label))
        return table

    def result(self, facts: Facts) -> Streamed:
        tree, target, decision = self.files.tree, self.files.target, facts.decision
        names = [None] if tree.is_file else tree.names
        paths = tuple(join_name(target, name) for name in names)
        known = decision.mapping, facts.guarantee, decision.loss
        parameters, trace = dict(decision.parameters), decision.trace
        return Streamed(paths, *known, self.n_rows, parameters, trace=trace, unmodified=facts.unmodified)


@dataclass(frozen=True, eq=False, slots=True)
class ClassFiles:
    """The rows of Parquet files in parts of whole classes. Each iteration reads them again.

    Parameters
    ----------
    tree : ParquetTree
        The files.
    stamps : list
        Their state, which must not change.
    quasi, lists : list of str
        The quasi-identifiers, and the list columns.
    near : Path, optional
        A directory for the rows, sorted by class. By default that of temporary files.
    empty : sequence of ndarray of uint8, optional
        For each row group, the bits of the rows that had no item in the original, if it is known.
    """

    tree: ParquetTree
    stamps: list[object]
    quasi: list[str]
    lists: list[str]
    near: Path | None = None
    empty: Sequence[NDArray[np.uint8]] = ()

    @classmethod
    def of(cls, tree: ParquetTree, guarantee: ByClasses, column: str | None) -> ClassFiles:
        """Find the columns that an audit reads."""
        stamps = tree.stamps()
        with expect_unchanged(tree, stamps):
            names = tree.schema().names
            found = class_columns(guarantee, _empty_frame(tree), column)
            quasi, lists = ([names[place] for place in own] for own in found)
        return cls(tree, stamps, quasi, lists)

    @property
    def label(self) -> str | None:
        """The list column, if it is one."""
        return self.lists[0] if len(self.lists) == 1 else None

    def __iter__(self) -> Iterator[ClassPart]:
        near = tempfile.TemporaryDirectory(prefix="pdanon-", dir=self.near)
        with near as name, expect_unchanged(self.tree, self.stamps):
            buckets = self._sort(Path(name))
            for number in range(buckets.n_buckets):
                yield from read_classes(buckets.read(number), len(self.quasi))
                return_unused()

    def _sort(self, directory: Path) -> Buckets:
        """Read the files, and sort their rows by class."""
        schema, labels = self.tree.schema(), [*self.quasi, *self.lists]
        plain = pa.schema([(label, without_views(decode_type(schema.field(label).type))) for label in labels])
        n_buckets = self.tree.rows() // AUDITED + 1
        buckets, number = Buckets(directory, "class", n_buckets), 0
        with row_bar("audit", self.tree) as report:
            for name in self.tree.names:
                with self.tree.open(name) as file:
                    for group in range(file.plain.num_row_groups):
                        table = file.read(group, labels).replace_schema_metadata(None).cast(plain)
                        bucket_of = number_buckets(table.columns[: len(self.quasi)], n_buckets)
                        if self.empty:
                            bits = np.unpackbits(self.empty[number], count=len(table))
                            table = table.append_column(HAD_NONE, pa.array(bits.astype(np.bool_)))
                        buckets.add(table, bucket_of)
                        report(len(table))
                        return_unused()
                        number += 1
        if not number:
            buckets.add(plain.empty_table(), np.empty(0, np.int64))
        return buckets


def _cut(group: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of a row group, some at a time, in parts of about the same size."""
    bounds = np.linspace(0, len(group), max(-(-len(group) // _ROWS), 1) + 1).astype(np.int64).tolist()
    return (group.slice(first, last - first) for first, last in pairwise(bounds))


def _group_rows(file: TreeFile, number: int) -> int:
    return int(file.plain.metadata.row_group(number).num_rows)


def _empty_frame(tree: ParquetTree) -> pd.DataFrame:
    empty = partial(to_frame, tree.schema().empty_table(), ignore_metadata=True)
    return read_safely(empty, tree.root, "Parquet")
