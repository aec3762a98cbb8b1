"""Releases of files with list columns, which are read twice, by row groups, and written once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from pdanon.algorithms.engines import Plan, RecodedRows, Recoder, Request
from pdanon.guarantees.verdict import Audit
from pdanon.io.trees import ArrowReader, ParquetTree, TreeFile
from pdanon.itemsets.codes import Itemsets, encode_visible
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, collapse_columns, gather
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.threads import prefetch
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import recount
from pdanon.stream.streamed import Source, change_error, expect_unchanged, report_rows, row_bar, write_files


class ListFiles(Source):
    """Parquet files whose list column is recoded; a private column is written again."""

    def decide(self, decide: Plan) -> Decision[RecodedRows]:
        """Decide for the distinct transactions, or by the supports of pairs."""
        with expect_unchanged(self.tree):
            read = gather_files if decide.by_pairs is not None else collapse_files
            rows = read(self.tree, self.labels)
            decision = decide.decide(rows, partial(_fetch, self.tree, self.labels[0]))
            return decision.with_rows(RecodedRows(rows.n_rows, decision.rows))

    def audit(self, decision: Decision[RecodedRows], draft: Path) -> Audit:
        """Write the recoded files, and recount their rows."""
        with expect_unchanged(self.tree):
            recode_files(self.tree, draft, self.labels, decision.rows.recoder)
            written = ParquetTree.find(draft), self.labels
            options: dict[str, Any] = {"read": encode_visible, "task": "audit"}
            count = partial(collapse_files, *written, **options)
            by_pairs = decision.rounds is not None
            rows = gather_files(*written, **options) if by_pairs else count()
            if rows.n_rows != decision.rows.n_rows:
                raise change_error(self.tree)
            return recount(decision.guarantee, rows, count)


# --- The distinct rows


def collapse_files(tree: ParquetTree, labels: list[str], **options: Any) -> ListColumns:
    """Return the distinct rows of the list column, with the private column if there is one."""
    with _batches(tree, labels, **options) as batches:
        return collapse_columns(batches, len(labels))


def gather_files(tree: ParquetTree, labels: list[str], **options: Any) -> Gathered:
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


def recode_files(tree: ParquetTree, draft: Path, labels: Sequence[str], recoder: Recoder) -> None:
    """Write each file with recoded items, as text or in their type."""
    kinds = {label: tree.item_type(label) for label in labels}
    if not recoder.keeps_type:
        kinds[labels[0]] = pa.string()

    def recode(file: TreeFile, schema: pa.Schema) -> Iterator[pa.Table]:
        return prefetch(_recode_groups(tree, kinds, recoder, file, schema), len)

    write_files(tree, draft, labels, recode, kinds)


def _recode_groups(
    tree: ParquetTree, kinds: dict[str, pa.DataType], recoder: Recoder, file: TreeFile, schema: pa.Schema
) -> Iterator[pa.Table]:
    """Return the recoded row groups of a file."""
    label, *hidden = kinds
    for number in range(file.plain.num_row_groups):
        table = file.read(number)
        recoded = recoder.publish(file.itemsets(table, label, number, Itemsets.from_arrow_unsorted))
        if recoded is None:
            raise change_error(tree)
        columns = {label: recoded}
        private = {other: file.itemsets(table, other, number) for other in hidden}
        columns |= {other: itemsets.missing_as_empty() for other, itemsets in private.items()}
        for each, column in columns.items():
            lists = column.to_arrow(dictionary=is_text_type(kinds[each]))
            table = table.set_column(table.column_names.index(each), schema.field(each), lists)
        yield table.cast(schema)
        return_unused()
