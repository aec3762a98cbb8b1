"""Facts that all releases of files share: their result, their other columns, and that they do not change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from pdanon.algorithms.engines import SAMPLE
from pdanon.errors import FormatError, read_safely
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.parquet import to_frame
from pdanon.io.trees import ParquetTree
from pdanon.itemsets.timing import Report, progress_bar
from pdanon.itemsets.validation import check_flag
from pdanon.recoding.result import Distant

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

    def __repr__(self) -> str:
        return f"Streamed(rows={self.rows}, files={len(self.paths)}, guarantee={self.guarantee!r})"


def row_bar(progress: bool, label: str, tree: ParquetTree) -> AbstractContextManager[Report]:
    """Return a progress bar of the rows of all files."""
    return progress_bar(progress, label, "rows", tree.rows() if check_flag(progress, "progress") else None)


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


def first_rows(tree: ParquetTree, positions: tuple[int, ...]) -> pd.DataFrame:
    """Return the first rows of the unmodified columns, up to the end of the first filled row group."""
    shown = unmodified_columns(tree.schema().names, positions)
    for name in tree.names:
        with tree.open(name) as file:
            for number in range(file.plain.num_row_groups):
                if file.plain.metadata.row_group(number).num_rows:
                    table = file.read(number, shown).slice(0, SAMPLE)
                    part = f", row group {number}"
                    frame = partial(to_frame, table, ignore_metadata=True)
                    return read_safely(frame, file.path, "Parquet", part)
    return pd.DataFrame()


def unmodified_columns(names: list[str], positions: tuple[int, ...]) -> list[str]:
    """Return the unmodified columns, without an index that has no name, which pandas names like this."""
    others = [name for position, name in enumerate(names) if position not in positions]
    return [name for name in others if "__index_level_" not in name]


def change_error(tree: ParquetTree) -> FormatError:
    """Return the error for files that changed during a run."""
    return FormatError("the files have changed since they were first read", where=tree.root)
