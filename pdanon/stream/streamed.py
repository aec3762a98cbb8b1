"""Facts that all releases of files share: their result, their other columns, and that they do not change."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa

from pdanon.algorithms.engines import SAMPLE
from pdanon.errors import FormatError, read_safely
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.files import check_name, locate_target
from pdanon.io.parquet import to_frame
from pdanon.io.targets import check_mapping_file, check_target
from pdanon.io.trees import ParquetTree
from pdanon.itemsets.columns import label_positions
from pdanon.itemsets.timing import SETTINGS, Report, progress_bar
from pdanon.itemsets.validation import check_known, check_path, is_uri, read_list
from pdanon.recoding.result import Distant
from pdanon.recoding.unmodified_columns import (
    UnmodifiedColumns,
    count_unmodified,
    counts_rows,
    judged_columns,
    judged_labels,
)

_Batch = TypeVar("_Batch")


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
    tried : pandas.DataFrame or None
        If no algorithm was named: the algorithms tried on a sample, as in `Anonymized`.
    sample : int or None
        The number of rows of that sample.
    risk : pandas.DataFrame or None
        The risk beyond the guarantee, before and after, as in `pdanon.Anonymized`. None for tables with
        quasi-identifiers, and if not all distinct transactions were in memory.
    trace : pandas.DataFrame or None
        The merges of ``rum_bound`` and ``tum_bound``, as in `pdanon.Anonymized`.
    rounds : pandas.DataFrame or None
        If not all distinct transactions were in memory: ``labels, rows, bytes`` of each interim decision and
        of the last, with the transactions that it read.
    unmodified : UnmodifiedColumns
        The unmodified columns, and the number of rows that they identify among the first 10,000 rows.
        Confidential.
    """

    paths: tuple[Path | str, ...]
    mapping: pd.DataFrame
    guarantee: Guarantee
    loss: pd.Series[float]
    rows: int
    parameters: dict[str, Any]
    tried: pd.DataFrame | None = None
    sample: int | None = None
    risk: pd.DataFrame | None = None
    trace: pd.DataFrame | None = None
    rounds: pd.DataFrame | None = None
    unmodified: UnmodifiedColumns = field(default_factory=UnmodifiedColumns)

    def __repr__(self) -> str:
        return f"Streamed(rows={self.rows}, files={len(self.paths)}, guarantee={self.guarantee!r})"


def row_bar(label: str, tree: ParquetTree) -> AbstractContextManager[Report]:
    """Return a progress bar of the rows of all files."""
    return progress_bar(label, "rows", tree.rows() if SETTINGS["progress"] else None)


def report_rows(batches: Iterable[_Batch], report: Report, size: Callable[[_Batch], int]) -> Iterator[_Batch]:
    """Yield batches, and report the number of rows of each when it is done."""
    for batch in batches:
        yield batch
        report(size(batch))


@contextmanager
def expect_unchanged(tree: ParquetTree, stamps: list[object]) -> Iterator[None]:
    """Raise an error about changed files instead of any error that the change caused."""
    problem = None
    try:
        yield
    except Exception as error:
        problem = error
    if tree.stamps() != stamps:
        raise change_error(tree)
    if problem is not None:
        raise problem


def first_rows(tree: ParquetTree, columns: list[str] | None = None) -> pd.DataFrame:
    """Return the first 10,000 rows of some columns, by default all.

    An index without a name is a column that pandas calls ``__index_level_0__``. It is left out if it only
    counts the rows.
    """
    parts = [pd.DataFrame(columns=tree.schema().names if columns is None else columns)]
    for table, part in _first_tables(tree, columns):
        read = partial(to_frame, table, ignore_metadata=True)
        parts.append(read_safely(read, *part))
    frame = pd.concat(parts[1:] or parts, ignore_index=True)
    index = [name for name in frame if str(name).startswith("__index_level_")]
    return frame.drop(columns=[name for name in index if counts_rows(pd.Index(frame[name].array))])


def _first_tables(
    tree: ParquetTree, columns: list[str] | None
) -> Iterator[tuple[pa.Table, tuple[Path | str, str, str]]]:
    """Yield the filled row groups with the first rows; also their file, its format and their number."""
    n_left = SAMPLE
    for name in tree.names:
        with tree.open(name) as file:
            for number in range(file.plain.num_row_groups):
                if n_left and file.plain.metadata.row_group(number).num_rows:
                    table = file.read(number, columns).slice(0, n_left)
                    n_left -= len(table)
                    yield table, (file.path, "Parquet", f", row group {number}")
        if not n_left:
            return


def check_keep(tree: ParquetTree, positions: tuple[int, ...], keep: Any) -> tuple[Hashable, ...]:
    """Check the labels of columns that the caller has reviewed, and in the first rows their values."""
    names = tree.schema().names
    others = [name for position, name in enumerate(names) if position not in positions]
    judged = judged_labels(others, [names[position] for position in positions], keep)
    return judged_columns(first_rows(tree, others), [], judged) if judged else judged


def count_written(
    draft: ParquetTree,
    guarantee: Guarantee,
    judged: Sequence[Hashable],
    *,
    lists: Sequence[str] = (),
    quasi: Sequence[str] = (),
    private: Sequence[str] = (),
) -> UnmodifiedColumns:
    """Count the rows that unmodified columns identify among the first written ones, and warn."""
    first = first_rows(draft)
    columns, classes, hidden = (label_positions(first, labels) for labels in (lists, quasi, private))
    return count_unmodified(
        first, columns, guarantee, judged, quasi=classes, private=hidden, rows=draft.rows()
    )


def change_error(tree: ParquetTree) -> FormatError:
    """Return the error for files that changed during a run."""
    return FormatError("the files have changed since they were first read", where=tree.root)


def open_paths(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    mapping: str | os.PathLike[str] | None,
    drop: Sequence[str],
) -> tuple[ParquetTree, Path | str, Path | None]:
    """Check the paths of a release before any row is read; parameters as in `pdanon.stream.anonymize`."""
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
    return tree, released, None if mapping is None else check_mapping_file(Path(mapping), released, tree)
