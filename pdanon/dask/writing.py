"""Releases of Dask frames as directories of Parquet files, written by the workers, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from pdanon.dask.versions import change_error, compute
from pdanon.errors import FormatError, GuaranteeError
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.files import check_name, join_name, locate_target, resolve
from pdanon.io.parquet import open_parquet, read_parquet, to_parquet
from pdanon.io.targets import check_target, lock_target, shared_target
from pdanon.io.trees import ParquetTree, schema_difference
from pdanon.itemsets.memory import returning_unused
from pdanon.itemsets.validation import check_path, is_uri


class Origin(NamedTuple):
    """The input of a release, and the audit of its rows."""

    sources: tuple[str, ...]  # directories and URIs that the input was read from, as far as Dask knows them
    recount: Callable[[dd.DataFrame, Guarantee], Audit]  # audits a frame with the columns of the release

    @classmethod
    def of(cls, frame: dd.DataFrame, recount: Callable[[dd.DataFrame, Guarantee], Audit]) -> Origin:
        """Find the sources of a frame."""
        return cls(tuple(sorted(set(_find_sources(frame)))), recount)


def write_release(
    frame: dd.DataFrame, n_rows: int, guarantee: Guarantee, origin: Origin, target: str | os.PathLike[str]
) -> tuple[Path | str, ...]:
    """Write a release, as `LazyRelease.to_parquet`."""
    place = locate_target(check_path(target, "target"))
    if isinstance(place, Path):
        check_name(place)
    check_target(place, *map(ParquetTree.of_directory, origin.sources))
    names = [f"part-{number:05}.parquet" for number in range(frame.npartitions)]
    with lock_target(place), shared_target(place) as draft:
        paths, write = [os.fspath(join_name(draft, name)) for name in names], dask.delayed(_write_part)
        parts = zip(frame.to_delayed(), paths, strict=True)
        written = compute(dask.delayed(list)([write(part, path, os.fspath(place)) for part, path in parts]))
        _check_parts(written, n_rows, os.fspath(place))
        meta = compute(dask.delayed(_read_head)(paths[0]))
        audit = origin.recount(dd.from_map(read_parquet, paths, meta=meta, enforce_metadata=False), guarantee)
        if not audit.holds:
            raise GuaranteeError(
                "the written files do not have the guarantee of the release and are withheld",
                got=f"{audit.rows_at_risk} rows at risk under {audit.guarantee!r}",
                hint="if the input may have changed, persist the frame first; else please report it: this is "
                "a defect of pdanon",
            )
    return tuple(join_name(place, name) for name in names)


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


def _read_head(path: str) -> pd.DataFrame:
    return read_parquet(path).head(0)


def _find_sources(frame: dd.DataFrame) -> Iterator[str]:
    """Yield the directories and URIs that a frame is read from."""
    for step in frame.expr.walk():
        for name in {"path", "iterables"}.intersection(step._parameters):
            for each in _flatten(step.operand(name)):
                if isinstance(each, str | os.PathLike) and (is_uri(each) or os.path.isdir(each)):
                    yield os.fspath(each)


def _flatten(value: Any) -> Iterator[Any]:
    if not isinstance(value, list | tuple):
        yield value
        return
    for each in value:
        yield from _flatten(each)
