"""Rows of a table on disk, as numbers of values and items, and their regions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.regions.region_release import FileStorage, RegionFacts, number_groups, without_missing
from pdanon.algorithms.regions.table_parts import (
    Counts,
    Encoder,
    Histogram,
    PairSample,
    SplitPart,
    TableValues,
    assign_regions,
    count_drawn,
    in_order,
    merge_counts,
)
from pdanon.algorithms.relational.publishing import no_items
from pdanon.io.buckets import Buckets, read_rows, regroup, write_rows
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.memory import return_unused


class FileRows:
    """The rows of a table on disk, in parts, with its values and items in memory.

    The directory is empty at the start. The schema is that of the quasi-identifiers.
    """

    def __init__(self, directory: Path, schema: pa.Schema, label: str | None) -> None:
        self.values, self.n_rows = TableValues(schema, schema.names, label), 0
        self._directory = directory
        self._paths: list[Path] = []

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self._paths)

    def add(self, quasi: Sequence[pa.ChunkedArray], itemsets: Itemsets | None) -> None:
        """Add a part: its quasi-identifiers and its list column."""
        rows = self.values.add(quasi, itemsets)
        path = self._directory / f"rows-{self.n_parts}"
        write_rows(rows, path)
        self._paths.append(path)
        self.n_rows += len(rows)

    def cut(self, encoder: Encoder, most: int) -> FileRegions:
        """Cut the table into regions of a maximum number of rows."""
        counts = merge_counts(Counts.of(*part, encoder.sizes) for part in self._parts(encoder))
        assignment, sample = assign_regions(encoder.table, counts, most), PairSample.of(counts)
        drawn = sample.draw([sample.rows(itemsets) for _, itemsets in self._parts(encoder)])
        starts = np.arange(0, assignment.n_regions, max(_GATHERED // most, 1))
        buckets, before = Buckets(self._directory, "regions", len(starts)), assignment.none
        by_part, orders, pairs = [], [], []
        for number, (codes, itemsets) in enumerate(self._parts(encoder)):
            split = SplitPart.of(codes, itemsets, assignment, before, drawn[number])
            before = before + assignment.count(codes)
            buckets.add_sorted(split.rows, np.add.reduceat(split.counts, starts))
            by_part.append(split.counts.astype(np.int32))
            pairs.append(split.pairs)
            orders.append(self._directory / f"order-{number}.npy")
            np.save(orders[-1], split.order.astype(np.int32))
        self._forget()
        bundles = _Bundle.of(self._directory, np.array(by_part), starts)
        for number, bundle in enumerate(bundles):
            bundle.write_regions(buckets.read(number))
            return_unused()
        buckets.remove()
        released = Buckets(self._directory, "released", len(orders))
        return FileRegions(self.values.label, bundles, released, orders, *count_drawn(pairs))

    def count(self, encoder: Encoder) -> Histogram:
        """Count the rows with each combination of quasi-identifiers."""
        histogram = Histogram(encoder.sizes)
        for codes, _ in self._parts(encoder):
            histogram.add(codes)
        return histogram

    def publish_values(self, encoder: Encoder, histogram: Histogram, released: pa.Table) -> ReleasedValues:
        """Release equal values equally, given the published values of each combination."""
        numbers = []
        for number, (codes, _) in enumerate(self._parts(encoder)):
            numbers.append(self._directory / f"combination-{number}.npy")
            np.save(numbers[-1], histogram.find(codes))
        self._forget()
        return ReleasedValues(released, numbers)

    def _parts(self, encoder: Encoder) -> Iterator[tuple[Codes, Itemsets | None]]:
        for path in self._paths:
            yield encoder.encode(read_rows(path), self.values)

    def _forget(self) -> None:
        for path in self._paths:
            path.unlink()


# Rows of adjacent regions that go to and come from the parts together. One by one, the number of reads would
# be that of the regions times that of the parts.
_GATHERED = 10_000


@frozen
class _Bundle:
    """Adjacent regions, whose rows are exchanged with the parts together."""

    counts: NDArray[np.int32]  # rows of each part in each region, shape (parts, regions)
    storages: list[FileStorage]

    @classmethod
    def of(cls, directory: Path, by_part: NDArray[np.int32], starts: Numbers) -> list[_Bundle]:
        """Bundle regions, given their counts by part, and the first region of each bundle."""
        bundles = []
        for number, (start, counts) in enumerate(
            zip(starts, np.split(by_part, starts[1:], axis=1), strict=True)
        ):
            rows = directory / f"bundle-{number}"
            storages = [
                FileStorage(size, rows, place, directory / f"decided-{start + place}")
                for place, size in enumerate(counts.sum(axis=0).tolist())
            ]
            bundles.append(cls(counts, storages))
        return bundles

    def write_regions(self, rows: pa.Table) -> None:
        """Write the rows of each region, given all by part."""
        write_rows(regroup(rows, self.counts), self.storages[0].rows, self.counts.sum(axis=0).tolist())

    def release_parts(self, released: Buckets) -> None:
        """Move the released rows to the buckets of their parts."""
        written = (each.written("released") for each in self.storages)
        rows = regroup(pa.concat_tables(written), self.counts.T)
        released.add_sorted(rows, self.counts.sum(axis=1))
        for each in self.storages:
            each.place("released").unlink()


@frozen
class FileRegions:
    """The rows of a table in regions, on disk."""

    label: Hashable | None  # the list column
    bundles: list[_Bundle]
    released: Buckets  # place of the released rows, by part
    # For each part, the file with the place in the part of each of its rows, sorted by region.
    orders: list[Path]
    pairs: Codes  # sampled from all rows, shape (pairs, 2)
    times: Numbers  # how often each pair was sampled

    @property
    def storages(self) -> list[FileStorage]:
        """The rows of each region, and the place of their release."""
        return [storage for bundle in self.bundles for storage in bundle.storages]

    def written(self, name: str) -> Iterator[pa.Table]:
        """Yield a table that each region stored, in their order."""
        return (storage.written(name) for storage in self.storages)

    def publish(self, facts: Sequence[RegionFacts], hides_missing: bool) -> ReleasedRegions:
        """Release the decided regions."""
        for bundle in self.bundles:
            bundle.release_parts(self.released)
            return_unused()
        n_groups = None if self.label is None else [each.n_groups for each in facts]
        return ReleasedRegions(self.released, self.orders, self.storages, n_groups, hides_missing)


@frozen
class ReleasedRegions:
    """Rows that were released region by region."""

    released: Buckets  # rows by part
    orders: list[Path]  # as in `FileRegions`
    storages: list[FileStorage]  # place of the mapping of each region
    n_groups: list[int] | None  # number of clusters of each region; None if no items were recoded
    hides_missing: bool  # whether missing rows are published as empty

    def part(self, number: int) -> pa.Table:
        """Return the released columns of a part, in the order of its rows."""
        rows = self.released.read(number)
        return_unused()
        released = in_order(rows, np.load(self.orders[number]))
        return without_missing(released) if self.hides_missing else released

    def mappings(self) -> Iterator[pa.Table]:
        """Yield the mapping, region by region; at least one table."""
        if self.n_groups is None:
            yield _no_mapping()
            return
        first = 0
        for n_groups, storage in zip(self.n_groups, self.storages, strict=True):
            yield number_groups(storage.written("mapping"), first)
            first += n_groups


@frozen
class ReleasedValues:
    """Rows whose equal values were released equally."""

    released: pa.Table  # published values of each combination of values
    numbers: list[Path]  # for each part, the file with the combination of each row

    def part(self, number: int) -> pa.Table:
        """Return the released columns of a part, in the order of its rows."""
        return self.released.take(pa.array(np.load(self.numbers[number])))

    def mappings(self) -> Iterator[pa.Table]:
        """Yield a mapping without rows: no item was recoded."""
        yield _no_mapping()


# The released values and lists of all rows, on disk.
ReleasedFiles: TypeAlias = ReleasedRegions | ReleasedValues


def _no_mapping() -> pa.Table:
    return pa.Table.from_pandas(no_items(), preserve_index=False)
