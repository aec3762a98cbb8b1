"""The result of a release of a Dask frame, also as files that the workers write, and the tasks of workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple
from warnings import catch_warnings, filterwarnings

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
from dask.core import flatten
from distributed import get_client

from pdanon.algorithms.engines import SAMPLE
from pdanon.errors import FormatError, GuaranteeError, ItemsetDtypeError, ParameterError
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.files import check_name, join_name, locate_target, resolve
from pdanon.io.parquet import open_parquet, read_parquet, to_parquet
from pdanon.io.trees import ParquetTree, check_target, lock_target, schema_difference, shared_target
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import counts_rows, label_positions
from pdanon.itemsets.encoded_columns import Reader
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import read_part
from pdanon.itemsets.memory import returning_unused
from pdanon.itemsets.validation import FilePath, check_path, is_uri
from pdanon.recoding.release import Facts, Writer
from pdanon.recoding.result import Distant
from pdanon.recoding.unmodified_columns import RecodedColumns, UnmodifiedColumns

# --- Tasks for the workers of a cluster, all with this version of pdanon, and for the rows counted


_FAN_IN = 8  # parts that are merged in one task


def compute(tasks: Any) -> Any:
    """Compute a task of Dask, or each of a list."""
    # Refuse workers with another version of pdanon, or none: they may count or recode in another way.
    check_workers()
    return dask.compute(tasks)[0]


def persist(tasks: Sequence[Any]) -> list[Any]:
    """Start tasks, and keep their results on the workers; those of one process are computed at once."""
    check_workers()
    with catch_warnings():
        filterwarnings("ignore", "Sending large graph")  # the decisions of regions, which Dask can repeat
        return list(dask.persist(*tasks))


def check_workers() -> None:
    """Check that the workers of the current client have this version of pdanon."""
    try:
        client = get_client()
    except ValueError:  # the threads of this process
        return
    here = version("pdanon")
    # A function of the standard library: workers without pdanon can call it.
    found = client.run(version, "pdanon", on_error="return")
    gone = OSError  # from the connection to a worker that was killed, which computes nothing
    others = {
        worker: known for worker, known in found.items() if known != here and not isinstance(known, gone)
    }
    if others:
        worker = min(others)
        known = others[worker] if isinstance(others[worker], str) else "no pdanon"
        hint = f"install pdanon=={here} on all workers, and start them again"
        got = f"{known} instead of {here}, on {len(others)} of {len(found)} workers"
        raise ParameterError("workers have another version of pdanon", where=worker, got=got, hint=hint)


def change_error(got: str) -> ParameterError:
    """Return the error for rows that differ from those that were counted."""
    hint = "persist the frame first, or write it to files"
    return ParameterError("the rows have changed since they were counted", where="frame", got=got, hint=hint)


def once(value: Any) -> Any:
    """Return a node of the graph, instead of a copy in each task."""
    return dask.delayed(value, traverse=False)


def each_part(function: Callable[..., Any], frame: dd.DataFrame, *given: Any) -> list[Any]:
    """Return the results of a function of each partition and its number, not computed yet."""
    call = dask.delayed(function)
    return [call(part, number, *given) for number, part in enumerate(frame.to_delayed())]


def merge_parts(parts: list[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Merge adjacent parts, some at a time, until there is one."""
    while len(parts) > 1:
        groups = range(0, len(parts), _FAN_IN)
        parts = [dask.delayed(join)(parts[first : first + _FAN_IN]) for first in groups]
    return parts[0]


def exchange(parts: Sequence[Any], n: int) -> list[list[Any]]:
    """Return the first pieces of all parts, the second ones, and so on; some parts together."""
    # Tasks that collect adjacent pieces of adjacent parts are fewer than the pieces.
    size = isqrt(max(n, len(parts)))
    collect = dask.delayed(_collect)
    collected = [
        [
            collect([part[start : start + size] for part in parts[first : first + size]])
            for start in range(0, n, size)
        ]
        for first in range(0, len(parts), size)
    ]
    return [[own[number // size][number % size] for own in collected] for number in range(n)]


@returning_unused
def _collect(parts: list[list[Any]]) -> list[tuple[Any, ...]]:
    return [*zip(*parts, strict=True)]


# --- Lazy results


class Origin(NamedTuple):
    """The input of a release, and the audit of its rows."""

    sources: tuple[str, ...]  # directories and URIs that the input was read from, as far as Dask knows them
    recount: Callable[[dd.DataFrame, Guarantee], Audit]  # audits a frame with the columns of the release


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class LazyRelease(Distant):
    """A release that is computed on demand. ``frame, mapping = result`` unpacks the first two fields.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The released frame, with the partitions, index and other columns of the input. Publish what is
        computed from it, not the lazy frame: that contains the location of the input and the mapping.
    mapping : pandas.DataFrame
        The label of each item: ``group, item, generalized, support``. Not part of the release. That
        of a table with quasi-identifiers is in ``local_mapping``, and empty here.
    guarantee : Guarantee
        The privacy guarantee, audited on ``frame``.
    loss : pandas.Series
        Information loss by measure.
    rows : int
        Number of rows.
    parameters : dict
        The parameters of the call.
    tried, sample, levels : pandas.DataFrame or None, int or None, pandas.DataFrame or None
        If no algorithm was named: those tried on a sample, its number of rows, and as in `pdanon.Anonymized`.
    risk : pandas.DataFrame or None
        As in `pdanon.Anonymized`. None for tables with quasi-identifiers, and if the client did not get all
        distinct transactions.
    rounds : pandas.DataFrame or None
        If the client did not get all distinct transactions: ``labels, rows, bytes`` of each interim decision,
        with the transactions that it got for it.
    trace : pandas.DataFrame or None
        The merges of ``rum_bound`` and ``tum_bound``, as in `pdanon.Anonymized`.
    local_mapping : dask.dataframe.DataFrame or None
        The mapping of a table with quasi-identifiers and items, with a line for each cluster and item.
    unmodified : UnmodifiedColumns
        The unmodified columns, and the number of rows that they identify among the first 10,000 rows.
        Confidential.
    origin : Origin
        The input, and the audit that `to_parquet` makes.
    """

    frame: dd.DataFrame
    local_mapping: dd.DataFrame | None = None
    origin: Origin = field(kw_only=True)

    def to_parquet(self, target: FilePath) -> tuple[Path | str, ...]:
        """Write the release to a directory of Parquet files, whole or not at all.

        Workers write one file for each partition. Then they read all files again and count the rows at risk.
        The directory appears under its name only if the files have the guarantee.

        Parameters
        ----------
        target : path
            The directory to write, or its URI. It must not exist, and not be within the input. The client and
            all workers need access to it.

        Returns
        -------
        tuple of pathlib.Path or str
            The files, or their URIs, in the order of the partitions.

        Raises
        ------
        FormatError, GuaranteeError, ParameterError
            If a file cannot be written, a worker does not see the directory, or the partitions have columns
            of different types. If the written files do not have the guarantee, for example because the input
            has changed. If the target exists, is within the input, or another run writes to it. If the rows
            have changed.

        Notes
        -----
        The files are written to a hidden directory beside the target, as by `pdanon.stream.anonymize`, and as
        by `pdanon.to_parquet`, with the index. If the client is killed, there is no target, and the next run
        on this host removes the hidden directory. If a worker is killed, another one writes its files.

        On object storage, workers write to the URI itself. It has a file ``_INCOMPLETE`` until the files are
        audited, and then a file ``_SUCCESS``. After an error, ``_INCOMPLETE`` stays: remove the directory.
        The mapping is not written. Dask knows the input of ``dd.read_parquet`` and ``dd.from_map``; a target
        within another input is not recognized.
        Cost: the frame is computed once more, and the files are read once.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import dask.dataframe as dd
        >>> import pdanon.dask, pdanon.datasets
        >>> rows = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
        >>> baskets = dd.from_pandas(rows, npartitions=2)
        >>> result = baskets.txanon.pcta(k=5, m=2)
        >>> with tempfile.TemporaryDirectory() as name:
        ...     paths = result.to_parquet(pathlib.Path(name) / "released")
        ...     [path.name for path in paths]
        ['part-00000.parquet', 'part-00001.parquet']
        """
        place = locate_target(check_path(target, "target"))
        if isinstance(place, Path):
            check_name(place)
        check_target(place, *map(ParquetTree.of_directory, self.origin.sources))
        names = [f"part-{number:05}.parquet" for number in range(self.frame.npartitions)]
        with lock_target(place), shared_target(place) as draft:
            paths, write = [os.fspath(join_name(draft, name)) for name in names], dask.delayed(_write_part)
            parts = zip(self.frame.to_delayed(), paths, strict=True)
            written = compute([write(part, path, os.fspath(place)) for part, path in parts])
            _check_parts(written, self.rows, os.fspath(place))
            meta = compute(dask.delayed(read_parquet)(paths[0]).head(0))
            frame = dd.from_map(read_parquet, paths, meta=meta, enforce_metadata=False)
            audit = self.origin.recount(frame, self.guarantee)
            if not audit.holds:
                raise GuaranteeError(
                    "the written files do not have the guarantee of the release and are withheld",
                    got=f"{audit.rows_at_risk} rows at risk under {audit.guarantee!r}",
                    hint="if the input may have changed, persist the frame first; else please report it: "
                    "this is a defect of pdanon",
                )
        return tuple(join_name(place, name) for name in names)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.frame, self.mapping))

    def __repr__(self) -> str:
        size = f"rows={self.rows}, partitions={self.frame.npartitions}"
        return f"LazyRelease({size}, guarantee={self.guarantee!r})"


def check_frame(frame: Any) -> None:
    """Check that a value is a Dask DataFrame."""
    if not isinstance(frame, dd.DataFrame):
        raise ParameterError("the first argument must be a Dask DataFrame", got=type(frame).__name__)


class Draft(NamedTuple):
    """A released Dask DataFrame before its audit."""

    frame: dd.DataFrame
    first: pd.DataFrame  # its first rows
    n_rows: int  # of the original
    counted: Any = None  # its rows, as the audit needs them


@frozen
class Original(Writer[Any, Draft, LazyRelease]):
    """A Dask DataFrame to release, and the columns that it recodes."""

    frame: dd.DataFrame
    columns: RecodedColumns

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed. Without values, any index is a column."""
        columns = self.frame._meta.reset_index(allow_duplicates=True).columns
        return self.columns.check_keep(columns, keep)

    def check_unmodified(
        self, draft: Draft, guarantee: Guarantee, judged: Sequence[Hashable]
    ) -> UnmodifiedColumns:
        """Count rows that the unmodified columns identify among the first ones, and warn."""
        return self.columns.count_others(draft.first, draft.n_rows, guarantee, judged)

    def lazy(
        self, draft: Draft, facts: Facts, recount: Callable[[dd.DataFrame, Guarantee], Audit], **own: Any
    ) -> LazyRelease:
        """Return the result for the caller, given the audit of the columns of a written release."""
        origin = Origin(tuple(sorted(set(_find_sources(self.frame)))), recount)
        return LazyRelease(draft.frame, **facts.of_distant(draft.n_rows), origin=origin, **own)


def join_first(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join the first rows of partitions. An index that only counts the rows of each counts those of all."""
    # Empty parts may have other dtypes: they are only joined if there is no other part.
    filled = [part for part in parts if len(part)] or [*parts[:1]]
    plain = all(part.index.names == [None] and counts_rows(part.index) for part in filled)
    return pd.concat(filled, ignore_index=plain).head(SAMPLE)


class PartColumns(NamedTuple):
    """Columns of partitions: quasi-identifiers, and list columns with the types of their items."""

    quasi: list[Hashable]
    lists: list[Hashable]
    kinds: list[pa.DataType]

    @classmethod
    def of(cls, meta: pd.DataFrame, lists: Sequence[Hashable], quasi: Sequence[Hashable] = ()) -> PartColumns:
        """Read the types of the items of list columns."""
        columns = (meta.iloc[:, place] for place in label_positions(meta, lists))
        return cls([*quasi], [*lists], [Itemsets.from_series(each).vocabulary.type for each in columns])

    @property
    def labels(self) -> list[Hashable]:
        """All columns."""
        return [*self.quasi, *self.lists]

    def read(self, part: pd.DataFrame, number: int, read: Reader = Itemsets.from_series) -> list[Itemsets]:
        """Encode the list columns of a partition, with items of the types of the frame."""
        where, found = f"partition {number}", []
        for place, kind in zip(label_positions(part, self.lists), self.kinds, strict=True):
            itemsets = read_part(partial(read, part.iloc[:, place]), where)
            if not itemsets.n_items:  # an empty partition may have any type
                itemsets = replace(itemsets, vocabulary=pa.array([], kind))
            if itemsets.vocabulary.type != kind:
                what = "the items of a partition have another type than those of the frame"
                got = f"items of type {itemsets.vocabulary.type} instead of {kind}"
                raise ItemsetDtypeError(what, where=where, got=got)
            found.append(itemsets)
        return found


# --- Directories of Parquet files, written whole or not at all


class _WrittenPart(NamedTuple):
    """The columns and rows of a file, read from its footer."""

    schema: pa.Schema
    n_rows: int


@returning_unused
def _write_part(part: pd.DataFrame, path: str, target: str) -> _WrittenPart:
    """Write a partition, on a worker."""
    if not is_uri(path) and not os.path.isdir(os.path.dirname(path)):
        hint = "write to a directory that the client and all workers share, or to object storage"
        raise FormatError("a worker does not see the directory of the release", where=target, hint=hint)
    to_parquet(part, path)
    filesystem, place = resolve(path)
    with open_parquet(place, filesystem) as file:
        return _WrittenPart(file.schema_arrow.remove_metadata(), file.metadata.num_rows)


def _check_parts(written: Sequence[_WrittenPart], n_rows: int, target: str) -> None:
    """Check that all files have the same columns, and all rows together."""
    for number, part in enumerate(written):
        if difference := schema_difference(written[0].schema, part.schema):
            raise FormatError(
                "the partitions have different columns",
                where=f"partition {number}, compared with partition 0",
                got=difference,
                hint="convert the columns of the input to one type, such as ddf.astype(...)",
            )
    found = sum(part.n_rows for part in written)
    if found != n_rows:
        raise change_error(f"{found} rows instead of {n_rows}")


def _find_sources(frame: dd.DataFrame) -> Iterator[str]:
    """Yield the directories and URIs that a frame is read from."""
    for step in frame.expr.walk():
        for name in {"path", "iterables"}.intersection(step._parameters):
            for each in flatten([step.operand(name)], container=(list, tuple)):
                if isinstance(each, str | os.PathLike) and (is_uri(each) or os.path.isdir(each)):
                    yield os.fspath(each)
