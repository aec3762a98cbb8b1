"""Facts that all releases of files share: their result, their other columns, and that they do not change."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.algorithms.engines import SAMPLE
from pdanon.errors import FormatError, PdanonError, read_safely
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.files import check_name, join_name, locate_target
from pdanon.io.parquet import to_frame
from pdanon.io.tables import write_confidential
from pdanon.io.trees import (
    ParquetTree,
    TreeFile,
    check_mapping_file,
    check_target,
    draft_target,
    open_writer,
    write_mapping,
)
from pdanon.itemsets.columns import counts_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.memory import fits
from pdanon.itemsets.timing import count_steps, progress_bar, shows_progress
from pdanon.itemsets.validation import FilePath, check_known, check_path, is_uri, read_list
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, Writer
from pdanon.recoding.result import Distant
from pdanon.recoding.unmodified_columns import (
    RecodedColumns,
    UnmodifiedColumns,
    judged_columns,
)

LOG = logging.getLogger("pdanon.stream")
_BYTES = 100  # of each value of a table, and of what decides in memory


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Streamed(Distant):
    """A release written to files, and all facts about it.

    Parameters
    ----------
    paths : tuple of pathlib.Path or str
        The files, or their URIs.
    mapping : pandas.DataFrame
        The label of each item: ``group, item, generalized, support``. Not part of the release. That
        of a table with quasi-identifiers may be larger than memory. It is only in its file, and empty here.
    guarantee : Guarantee
        The privacy guarantee, audited on the files.
    loss : pandas.Series
        Information loss by measure.
    rows : int
        Number of rows of all files.
    parameters : dict
        The parameters of the call.
    tried, sample, levels : pandas.DataFrame or None, int or None, pandas.DataFrame or None
        If no algorithm was named: those tried on a sample, its number of rows, and as in `pdanon.Anonymized`.
    risk, trace : pandas.DataFrame or None
        As in `pdanon.Anonymized`. There is no risk of tables with quasi-identifiers, nor if not all distinct
        transactions were in memory.
    rounds : pandas.DataFrame or None
        If not all distinct transactions were in memory: ``labels, rows, bytes`` of each interim decision and
        of the last, with the transactions that it read.
    unmodified : UnmodifiedColumns
        The unmodified columns, and the number of rows that they identify among the first 10,000 rows.
        Confidential.
    """

    paths: tuple[Path | str, ...]

    def __repr__(self) -> str:
        return f"Streamed(rows={self.rows}, files={len(self.paths)}, guarantee={self.guarantee!r})"


def row_bar(label: str, tree: ParquetTree) -> AbstractContextManager[None]:
    """Show or log the progress in the rows of all files."""
    return progress_bar(label, "rows", tree.rows() if shows_progress() else None)


@contextmanager
def expect_unchanged(tree: ParquetTree) -> Iterator[None]:
    """Raise an error if files changed since they were found, instead of any error that this caused."""
    problem = None
    try:
        yield
    except Exception as error:
        problem = error
    if tree.stamps() != tree.found:
        raise change_error(tree)
    if problem is not None:
        raise problem


def first_rows(tree: ParquetTree, columns: list[str] | None = None) -> pd.DataFrame:
    """Return the first 10,000 rows of some columns, by default all."""
    # An index without a name is a column that pandas calls ``__index_level_0__``. It is left out if it only
    # counts the rows.
    n_left, parts = SAMPLE, []
    with closing(tree.groups()) as groups:
        for file, number in groups:
            if file.n_rows(number):
                table = file.read(number, columns).slice(0, n_left)
                n_left -= len(table)
                read = partial(to_frame, table, ignore_metadata=True)
                parts.append(read_safely(read, file.path, "Parquet", f", row group {number}"))
            if not n_left:
                break
    none = pd.DataFrame(columns=tree.schema().names if columns is None else columns)
    frame = pd.concat(parts or [none], ignore_index=True)
    index = [name for name in frame if str(name).startswith("__index_level_")]
    return frame.drop(columns=[name for name in index if counts_rows(pd.Index(frame[name].array))])


@frozen
class Source(Writer[Any, Path, Streamed]):
    """Parquet files to release, the place of the release, and the columns that it recodes."""

    # ``target``: the release, or its URI. ``mapping``: the file of the mapping.

    tree: ParquetTree
    target: Path | str
    mapping: Path | None
    columns: RecodedColumns

    @property
    def is_file(self) -> bool:
        """Whether the release is one file."""
        return self.tree.is_file

    @property
    def labels(self) -> list[str]:
        """Names of the recoded columns, in the order of a decision."""
        return [*map(str, self.columns.labels)]

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed, and in the first rows their values."""
        with expect_unchanged(self.tree):
            names = self.tree.schema().names
            judged = self.columns.check_keep(names, keep)
            others = [name for name in names if name not in self.labels]
            return judged_columns(first_rows(self.tree, others), [], judged) if judged else judged

    def write(self, decision: Decision[Any]) -> AbstractContextManager[Path]:
        """Create a draft, which the audit fills. At the end it becomes the target, after the mapping."""
        write_first = partial(write_mapping, partial(self.write_mapping, decision), self.mapping)
        return draft_target(self.target, write_first, directory=not self.is_file)

    def write_mapping(self, decision: Decision[Any], path: Path) -> None:
        """Write the mapping to a file."""
        write_confidential(decision.mapping, path)

    def check_unmodified(
        self, draft: Path, guarantee: Guarantee, judged: Sequence[Hashable]
    ) -> UnmodifiedColumns:
        """Count rows that the unmodified columns identify among the first written ones, and warn."""
        written = ParquetTree.find(draft)
        return self.columns.count_others(first_rows(written), written.rows(), guarantee, judged)

    def result(self, draft: Path, facts: Facts) -> Streamed:
        """Return the result for the caller."""
        names = [None] if self.is_file else self.tree.names
        paths = tuple(join_name(self.target, name) for name in names)
        return Streamed(paths, **facts.of_distant(self.n_rows(facts.decision)))


def write_files(
    tree: ParquetTree,
    draft: Path,
    labels: Sequence[str],
    recode: Callable[[TreeFile, pa.Schema], Iterator[pa.Table]],
    *columns: Any,
) -> None:
    """Write each file with recoded row groups, in a schema with the ``columns`` of `open_writer`."""
    with row_bar("write", tree):
        for name in tree.names:
            path = draft if tree.is_file else draft / name
            with tree.open(name, labels) as file, open_writer(path, file, *columns) as writer:
                for table in recode(file, writer.schema):
                    writer.write_table(table, row_group_size=max(len(table), 1))
                    count_steps(len(table))


def change_error(tree: ParquetTree) -> FormatError:
    """Return the error for files that changed during a run."""
    return FormatError("the files have changed since they were first read", where=tree.root)


def open_paths(
    source: FilePath,
    target: FilePath,
    mapping: FilePath | None,
    drop: Sequence[str],
    *,
    chosen: bool,
) -> tuple[ParquetTree, Path | str, Path | None]:
    """Check the paths of a release before any row is read; parameters as in `pdanon.stream.anonymize`."""
    # ``chosen``: the algorithm is chosen, in memory on all rows.
    source, target = check_path(source, "source"), check_path(target, "target")
    mapping = None if mapping is None else check_path(mapping, "mapping")
    tree, released = ParquetTree.find(source), locate_target(target)
    if dropped := read_list(drop, "drop"):
        known = tree.schema().names
        for name in dropped:
            check_known(name, known, "column", where="drop")
        tree = replace(tree, dropped=frozenset(dropped))
    for path in (each for each in (released, mapping) if each is not None and not is_uri(each)):
        check_name(path)
    check_target(released, tree)
    if chosen:
        _tell_if_it_fits(tree)
    return tree, released, None if mapping is None else check_mapping_file(Path(mapping), released, tree)


def _tell_if_it_fits(tree: ParquetTree) -> None:
    """Log that the files would fit into memory, by the values in their footers."""
    if not LOG.isEnabledFor(logging.INFO):
        return
    with suppress(PdanonError):  # of damaged files, which are refused when they are read
        footers = [*tree.footers()]
        groups = [each.row_group(number) for each in footers for number in range(each.num_row_groups)]
        n_values = sum(each.column(place).num_values for each in groups for place in range(each.num_columns))
        if fits(n_bytes := _BYTES * n_values + sum(each.total_byte_size for each in groups)):
            LOG.info(
                "the %s rows fit into memory (about %.1f GB): without --stream, pdanon.read_parquet(...)"
                ".txanon.anonymize(...) tries and refines more algorithms on all rows",
                f"{sum(each.num_rows for each in footers):,}",
                max(n_bytes / 1e9, 0.1),
            )
