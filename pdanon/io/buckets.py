"""Rows in buckets by their values, and on disk: added part by part, and read bucket by bucket."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ItemsetDtypeError
from pdanon.itemsets.dtype import type_name
from pdanon.itemsets.lists import QUASI_HINT, Numbers
from pdanon.itemsets.memory import return_unused


def number_buckets(columns: Sequence[pa.ChunkedArray], n_buckets: int) -> Numbers:
    """Return a bucket for each row by its values; equal values are in the same bucket."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for place, column in enumerate(columns, start=1):
        parts = _plain_parts(column)
        if not all(map(_is_readable, parts)):
            raise ItemsetDtypeError(
                "the values of a quasi-identifier cannot be compared",
                where=f"quasi-identifier {place} of {len(columns)}",
                got=f"type {type_name(column.type)}",
                hint=f"{QUASI_HINT}: convert the column first",
            )
        for part in parts:
            coded = part.dictionary_encode(null_encoding="encode")
            texts = np.array([str(each) for each in coded.dictionary.to_pylist()], object)
            own = pd.util.hash_array(texts)[coded.indices.to_numpy()] if len(texts) else hashes
            hashes = hashes * np.uint64(31) + own
    return (hashes % np.uint64(n_buckets)).astype(np.int64)


def _plain_parts(column: pa.ChunkedArray) -> list[pa.Array]:
    """Return the values of a column, or their fields, without codes; NaN is missing."""
    chunks = column.chunks or [pa.array([], column.type)]
    is_coded = pa.types.is_dictionary(column.type)
    values = pa.concat_arrays([each.dictionary_decode() if is_coded else each for each in chunks])
    values = values.storage if isinstance(values, pa.ExtensionArray) else values
    return [*map(_plain, values.flatten() if pa.types.is_struct(values.type) else [values])]


def _is_readable(values: pa.Array) -> bool:
    """Return whether Arrow encodes and selects values of a type. Its own error may show a value."""
    none, has_codes = values[:0], pa.types.is_dictionary(values.type)
    with suppress(pa.ArrowNotImplementedError):
        return has_codes or len(none.take(pa.array([], pa.int64())).dictionary_encode()) == 0
    return False


def _plain(values: pa.Array) -> pa.Array:
    """Return values of a type that Arrow can encode, and that Python writes with all their digits."""
    kind = values.type
    if kind == pa.float16():  # older Arrow does not test half floats for NaN
        return _plain(values.cast(pa.float32()))
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(values), None, values)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return values.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_string_view(kind) or kind == pa.time64("ns"):
        return values.cast(pa.large_string())
    return values


# --- Rows as bytes, and on disk


def pack(table: pa.Table) -> bytes:
    """Return compressed bytes of a table: labels of sets repeat the names of their items."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def unpack(packed: bytes) -> pa.Table:
    """Return the table that `pack` compressed."""
    return pa.ipc.open_stream(packed).read_all()


_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


def write_rows(table: pa.Table, path: Path, counts: Iterable[int] | None = None) -> None:
    """Write rows to a file that `read_rows` reads."""
    # With the number of rows of each bucket, rows are sorted by bucket, and each bucket can be read alone.
    _write(path, table.schema, _cut(table, [len(table)] if counts is None else counts))


def _cut(table: pa.Table, counts: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Yield adjacent rows: so many, then so many, and so on."""
    batches = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    first = 0
    for count in counts:
        yield batches[0].slice(first, count)
        first += count


def _write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema, options=_COMPRESSED) as writer:
        for batch in batches:
            writer.write_batch(batch)


def read_rows(path: Path) -> pa.Table:
    """Read a file that `write_rows` wrote."""
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all().combine_chunks()


def read_bucket(paths: Iterable[Path], number: int) -> pa.Table:
    """Read the rows of a bucket: those of each file, one after the other."""
    batches = []
    for path in paths:
        with pa.OSFile(str(path)) as file:
            batches.append(pa.ipc.open_file(file).get_batch(number))
    return pa.Table.from_batches(batches).combine_chunks()


def regroup(rows: pa.Table, counts: NDArray[np.integer[Any]]) -> pa.Table:
    """Return rows bucket by bucket that come part by part, or the other way round."""
    # ``counts`` has the number of rows of each part and bucket, shape (parts, buckets).
    n_parts, n_buckets = counts.shape
    bucket_of = np.repeat(np.tile(np.arange(n_buckets), n_parts), counts.ravel())
    return rows.take(pa.array(np.argsort(bucket_of, kind="stable")))


_TOGETHER = 32  # parts that are merged
_SPANS = 64  # pieces of the file of a part


class Buckets:
    """Rows on disk, added part by part, and read bucket by bucket."""

    # A part may have fewer rows than there are buckets. So its file has pieces of adjacent buckets. Before
    # the first read, some parts together become one file with a piece for each bucket: few pieces are tiny,
    # and a bucket is in few files.

    def __init__(self, directory: Path, name: str, n_buckets: int) -> None:
        self.n_buckets, self._directory, self._name = n_buckets, directory, name
        self._bounds = np.unique(np.linspace(0, n_buckets, _SPANS + 1).astype(np.int64))
        self._parts: list[tuple[Path, NDArray[np.int32]]] = []
        self._merged: list[Path] = []

    @property
    def n_parts(self) -> int:
        """Number of parts that were added, and not read yet."""
        return len(self._parts)

    def add(self, table: pa.Table, bucket_of: NDArray[Any]) -> None:
        """Add the rows of a part, given the bucket of each. Rows of a bucket keep their order."""
        rows = table.take(pa.array(np.argsort(bucket_of, kind="stable")))
        self.add_sorted(rows, np.bincount(bucket_of, minlength=self.n_buckets))

    def add_sorted(self, table: pa.Table, counts: NDArray[np.integer[Any]]) -> None:
        """Add the rows of a part, sorted by bucket, given the number of rows of each bucket."""
        path = self._directory / f"{self._name}-part-{len(self._parts)}"
        write_rows(table, path, np.add.reduceat(counts, self._bounds[:-1]).tolist())
        self._parts.append((path, counts.astype(np.int32)))

    def read(self, number: int) -> pa.Table:
        """Read the rows of a bucket, part by part."""
        while self._parts:
            self._merge(self._parts[:_TOGETHER])
            del self._parts[:_TOGETHER]
        return read_bucket(self._merged, number)

    def remove(self) -> None:
        """Delete the files."""
        for path in [*(path for path, _ in self._parts), *self._merged]:
            path.unlink()

    def _merge(self, parts: Sequence[tuple[Path, NDArray[np.int32]]]) -> None:
        """Write parts bucket by bucket to one file, and delete theirs."""
        path = self._directory / f"{self._name}-{len(self._merged)}"
        with ExitStack() as files:
            opened = [files.enter_context(pa.OSFile(str(each))) for each, _ in parts]
            readers = [*map(pa.ipc.open_file, opened)]
            counts = np.array([each for _, each in parts])
            _write(path, readers[0].schema, self._by_bucket(readers, counts))
        for each, _ in parts:
            each.unlink()
        self._merged.append(path)

    def _by_bucket(
        self, readers: Sequence[pa.ipc.RecordBatchFileReader], counts: NDArray[np.int32]
    ) -> Iterator[pa.RecordBatch]:
        for place, (start, stop) in enumerate(pairwise(self._bounds.tolist())):
            rows, own = [each.get_batch(place) for each in readers], counts[:, start:stop]
            yield from _cut(regroup(pa.Table.from_batches(rows), own), own.sum(axis=0).tolist())
            del rows
            return_unused()
