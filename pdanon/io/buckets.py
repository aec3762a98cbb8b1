"""Rows in buckets by their values, and on disk: added part by part, and read bucket by bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def number_buckets(columns: Sequence[pa.ChunkedArray], n_buckets: int) -> NDArray[np.int64]:
    """Return a bucket for each row by its values; equal values are in the same bucket."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        for part in _plain_parts(column):
            coded = part.dictionary_encode(null_encoding="encode")
            texts = np.array([str(each) for each in coded.dictionary.to_pylist()], object)
            own = pd.util.hash_array(texts)[coded.indices.to_numpy()] if len(texts) else hashes
            hashes = hashes * np.uint64(31) + own
    return (hashes % np.uint64(n_buckets)).astype(np.int64)


def _plain_parts(column: pa.ChunkedArray) -> list[pa.Array]:
    """Return the values of a column, or their fields, without codes; NaN is missing."""
    chunks = [each.dictionary_decode() if _is_coded(each) else each for each in column.chunks]
    values = pa.concat_arrays(chunks) if chunks else pa.array([], column.type)
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    parts = values.flatten() if pa.types.is_struct(values.type) else [values]
    floats = pa.types.is_floating
    return [pc.if_else(pc.is_nan(each), None, each) if floats(each.type) else each for each in parts]


def _is_coded(values: pa.Array) -> bool:
    return bool(pa.types.is_dictionary(values.type))


@dataclass(frozen=True, eq=False, slots=True)
class Slices:
    """Rows on disk: a slice of each of several files, one after the other.

    Parameters
    ----------
    paths : list of Path
        The files.
    bounds : ndarray of int64, shape (files, 2)
        First row of each slice, and the row after its last.
    """

    paths: list[Path]
    bounds: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int((self.bounds[:, 1] - self.bounds[:, 0]).sum())

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """Read the rows into memory."""
        tables = []
        for path, (start, stop) in zip(self.paths, self.bounds.tolist(), strict=True):
            if start < stop or path is self.paths[0]:  # one is needed for the schema
                with pa.memory_map(str(path)) as file:
                    table = pa.ipc.open_file(file).read_all()
                    table = table if columns is None else table.select(columns)
                    tables.append(table.slice(start, stop - start))
        return pa.concat_tables(tables).combine_chunks()


def write_rows(table: pa.Table, path: Path) -> None:
    """Write rows to a file that `Slices` reads."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table.combine_chunks())


class Buckets:
    """Rows in buckets, sorted by bucket within the file of each part.

    Parameters
    ----------
    directory : Path
        The directory of the files.
    name : str
        First part of their names.
    n_buckets : int
        Number of buckets.
    """

    def __init__(self, directory: Path, name: str, n_buckets: int) -> None:
        self._directory, self._name, self._n_buckets = directory, name, n_buckets
        self._paths: list[Path] = []
        self._counts: list[NDArray[np.int64]] = []

    def add(self, table: pa.Table, bucket_of: NDArray[Any]) -> None:
        """Add the rows of a part, given the bucket of each. Rows of a bucket keep their order."""
        rows = table.take(pa.array(np.argsort(bucket_of, kind="stable")))
        self.add_sorted(rows, np.bincount(bucket_of, minlength=self._n_buckets))

    def add_sorted(self, table: pa.Table, counts: NDArray[np.int64]) -> None:
        """Add the rows of a part, sorted by bucket, given the number of rows of each bucket."""
        path = self._directory / f"{self._name}-{len(self._paths)}"
        write_rows(table, path)
        self._paths.append(path)
        self._counts.append(counts)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of rows by part and bucket."""
        return np.array(self._counts, np.int64).reshape(-1, self._n_buckets)

    def bucket(self, number: int) -> Slices:
        """Return the rows of a bucket, part by part."""
        ends = np.cumsum(self.counts, axis=1)[:, number]
        return Slices(self._paths, np.column_stack((ends - self.counts[:, number], ends)))

    def remove(self) -> None:
        """Delete the files."""
        for path in self._paths:
            path.unlink()
