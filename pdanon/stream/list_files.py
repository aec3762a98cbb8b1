"""Releases of files with list columns, which are read twice, by row groups, and written once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.algorithms.engines import Plan, Publisher, Recoder
from pdanon.algorithms.skeleton import Request
from pdanon.guarantees import check_recountable
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.files import join_name
from pdanon.io.targets import draft_target, write_mapping
from pdanon.io.trees import ArrowReader, ParquetTree, TreeFile, open_writer
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, collapse_columns, gather
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.multisets import encode_visible
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.threads import prefetch
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts
from pdanon.recoding.unmodified_columns import UnmodifiedColumns
from pdanon.stream.streamed import (
    Streamed,
    change_error,
    check_keep,
    count_written,
    expect_unchanged,
    report_rows,
    row_bar,
)


@dataclass(frozen=True, eq=False, slots=True)
class ListFiles:
    """The rows of Parquet files, and the place of their release.

    Parameters
    ----------
    tree : ParquetTree
        The files.
    target : Path or str
        The release, or its URI.
    mapping : Path or None
        The file of the mapping.
    positions : tuple of int
        Position of the list column, and of the private column if there is one.
    stamps : list
        State of the files at the start.
    """

    tree: ParquetTree
    target: Path | str
    mapping: Path | None
    positions: tuple[int, ...]
    stamps: list[object]

    @property
    def labels(self) -> list[str]:
        """Names of the columns to recode."""
        names = self.tree.schema().names
        return [names[position] for position in self.positions]

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed."""
        with expect_unchanged(self.tree, self.stamps):
            return check_keep(self.tree, self.positions, keep)

    def decide(self, decide: Plan) -> Decision[_FileRows]:
        """Decide for the distinct transactions, or by the supports of pairs."""
        with expect_unchanged(self.tree, self.stamps):
            read = _gather if decide.by_pairs is not None else collapse_files
            rows = read(self.tree, self.labels)
            fetch = partial(_fetch, self.tree, self.labels[0])
            chosen = decide.decide(rows, fetch)
            decision = chosen.decision
            return decision.with_rows(_FileRows(rows.n_rows, decision.rows, *chosen[1:]))

    @contextmanager
    def write(self, decision: Decision[_FileRows]) -> Iterator[_WrittenFiles]:
        """Write a draft, which the audit fills. At the end it becomes the target, after the mapping."""
        write_first = partial(write_mapping, decision.mapping, self.mapping)
        with draft_target(self.target, write_first, directory=not self.tree.is_file) as draft:
            yield _WrittenFiles(self, decision.rows, draft)


@dataclass(frozen=True, eq=False, slots=True)
class _FileRows:
    """Number of rows and their recoding, and the facts about it of `Chosen`."""

    n_rows: int
    recoder: Recoder
    tried: pd.DataFrame | None = None
    sample: int | None = None
    rounds: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenFiles:
    """The draft of a release, written when it is audited."""

    files: ListFiles
    rows: _FileRows
    draft: Path

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> UnmodifiedColumns:
        label, *private = self.files.labels
        draft = ParquetTree.find(self.draft)
        return count_written(draft, guarantee, judged, lists=[label], private=private)

    def columns_left(self) -> str:
        return ""  # only list columns are recoded

    def audit(self, guarantee: Guarantee) -> Audit:
        tree = self.files.tree
        with expect_unchanged(tree, self.files.stamps):
            recode_files(tree, self.draft, self.files.positions, self.rows.recoder)
            draft, recountable = ParquetTree.find(self.draft), check_recountable(guarantee)
            options: dict[str, Any] = {"read": encode_visible, "task": "audit"}
            by_pairs = self.rows.rounds is not None
            written = (_gather if by_pairs else collapse_files)(draft, self.files.labels, **options)
            if written.n_rows != self.n_rows:
                raise change_error(tree)
            if isinstance(written, ListColumns):
                return recountable.recount(written)
            audit = recountable.recount(written.sort().columns())
            # Supports of pairs tell that nothing is rare, but not how many rows hold what is.
            return (
                audit
                if audit.holds
                else recountable.recount(collapse_files(draft, self.files.labels, **options))
            )

    def result(self, facts: Facts) -> Streamed:
        tree, target, decision = self.files.tree, self.files.target, facts.decision
        names = [None] if tree.is_file else tree.names
        paths = tuple(join_name(target, name) for name in names)
        known = decision.mapping, facts.guarantee, decision.loss
        choice = decision.rows.tried, decision.rows.sample
        parameters, rounds = dict(decision.parameters), decision.rows.rounds
        result = Streamed(paths, *known, self.n_rows, parameters, *choice, facts.risk, rounds=rounds)
        return replace(result, unmodified=facts.unmodified)


# --- The distinct rows


def collapse_files(tree: ParquetTree, labels: list[str], **options: Any) -> ListColumns:
    """Return the distinct rows of the list column, with the private column if there is one."""
    with _batches(tree, labels, **options) as batches:
        return collapse_columns(batches, len(labels))


def _gather(tree: ParquetTree, labels: list[str], **options: Any) -> Gathered:
    """Return the distinct rows of the list column, or the supports of their pairs if these are fewer."""
    with _batches(tree, labels, **options) as batches:
        return gather((ListColumns(*columns) for columns in batches), tree.rows())


@contextmanager
def _batches(
    tree: ParquetTree, labels: list[str], *, read: ArrowReader = Itemsets.from_arrow, task: str = "read"
) -> Iterator[Iterator[list[Itemsets]]]:
    """Yield the row groups of some list columns, with a progress bar."""
    batches = prefetch(tree.columns(labels, read), lambda columns: len(columns[0].codes))
    with row_bar(task, tree) as report:
        yield report_rows(batches, report, lambda each: each[0].n_rows)


def _fetch(tree: ParquetTree, label: str, request: Request) -> Iterator[SupportIndex]:
    """Return the rows that an interim decision requests, by row group."""
    options: dict[str, Any] = {"read": Itemsets.from_arrow_unsorted, "task": f"round {len(request.labels)}"}
    with _batches(tree, [label], **options) as batches:
        for (rows,) in batches:
            found = request.find(rows)
            if found is None:
                raise change_error(tree)
            yield found


# --- The recoded rows


def recode_files(tree: ParquetTree, draft: Path, positions: tuple[int, ...], recoder: Recoder) -> None:
    """Write each file with recoded items, as text or in their type."""
    position = positions[0]
    publisher = Publisher.of(recoder)
    kinds = {each: tree.item_type(each) for each in positions}
    labels = [tree.schema().names[each] for each in positions]
    if not recoder.keeps_type:
        kinds[position] = pa.string()
    with row_bar("write", tree) as report:
        for name in tree.names:
            path = draft if tree.is_file else draft / name
            with tree.open(name, labels) as file, open_writer(path, file, kinds) as writer:
                tables = prefetch(_recode_groups(tree, file, kinds, publisher, writer.schema), len)
                for table in report_rows(tables, report, len):
                    writer.write_table(table, row_group_size=max(len(table), 1))


def _recode_groups(
    tree: ParquetTree,
    file: TreeFile,
    kinds: dict[int, pa.DataType],
    publisher: Publisher,
    schema: pa.Schema,
) -> Iterator[pa.Table]:
    """Return the recoded row groups of a file."""
    position, *hidden = kinds
    for number in range(file.plain.num_row_groups):
        table = file.read(number)
        read = Itemsets.from_arrow_unsorted
        recoded = publisher.publish(file.itemsets(table, schema.names[position], number, read))
        if recoded is None:
            raise change_error(tree)
        columns = {position: recoded}
        private = {other: file.itemsets(table, schema.names[other], number) for other in hidden}
        columns |= {other: itemsets.missing_as_empty() for other, itemsets in private.items()}
        for each, column in columns.items():
            lists = column.to_arrow(dictionary=is_text_type(kinds[each]))
            table = table.set_column(each, schema.field(each), lists)
        yield table.cast(schema)
        return_unused()
