"""Tables of chunks: releases of disassociation, which publish records in parts, cluster by cluster."""

# Each row is a sub-record of a record chunk, or the term chunk of a cluster. The release does not link the
# sub-records that one record has in several chunks.

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ColumnError, ParameterError
from pdanon.itemsets.codes import Itemsets, Mask, Numbers
from pdanon.itemsets.columns import find_column, label_position
from pdanon.itemsets.encoded_columns import Reader
from pdanon.itemsets.equality import pair_numbers
from pdanon.itemsets.lists import find_numbers, mask_at
from pdanon.itemsets.support import MOST_ROWS
from pdanon.itemsets.validation import check_frame

NAMES = ("cluster", "joint", "size", "chunk")  # the columns other than that of the terms
_HINT = "pass the frame that pdanon.disassociate has released, with all of its columns and rows"


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """Clusters of records, and the sub-records of each."""

    itemsets: Itemsets  # the sub-records and term chunks, one per row
    owners: Numbers  # the cluster, or joint cluster, of each row, from 0 on
    chunks: Numbers  # the chunk of each row: 0 for a term chunk, which holds each term once
    sizes: Numbers  # number of records of each cluster
    joints: Numbers  # the joint cluster that contains each cluster, or -1

    @classmethod
    def of(
        cls, frame: pd.DataFrame, column: Hashable | None = None, *, read: Reader = Itemsets.from_series
    ) -> ChunkTable:
        """Read a frame of chunks, as `to_frame` writes it, with rows and columns in any order."""
        # Refuse columns that describe no clusters of records.
        position = find_column(check_frame(frame), column)
        cluster, joint, sizes, chunks = (_integers(frame, name) for name in NAMES)
        labels, first, owners = np.unique(cluster, return_index=True, return_inverse=True)
        joints = find_numbers(labels, joint[first])
        _require(((joints >= 0) | (joint[first] == 0)).all(), "a joint cluster has no rows")
        _require((labels > 0).all(), "clusters are not numbered from 1 on")
        same = (joint == joint[first][owners]) & (sizes == sizes[first][owners])
        _require(same.all(), "a cluster has several sizes, or is part of several others")
        table = cls(read(frame.iloc[:, position]), owners.ravel(), chunks, sizes[first], joints)
        table._check()
        return table

    def _check(self) -> None:
        """Check that records with these sub-records can exist."""
        _require(((self.sizes > 0) & (self.sizes < MOST_ROWS)).all(), "a cluster has no number of records")
        _require((self.chunks >= 0).all(), "chunks are not numbered from 0 on")
        _require(not self.itemsets.nulls.any(), "a row is missing")
        term_chunks = np.bincount(self.owners[self.chunks == 0], minlength=len(self.sizes))
        _require((term_chunks == self.is_cluster).all(), "a cluster does not have one term chunk")
        below = np.bincount(self.joints[self.joints >= 0], self.sizes[self.joints >= 0], len(self.sizes))
        fits = self.is_cluster | (below.astype(np.int64) == self.sizes)
        _require(fits.all(), "a joint cluster does not have the records of its parts")
        _require(len(self.levels) == 0 or self.levels.min() >= 0, "a cluster is a part of itself")
        parts = self.chunks > 0
        _require((self.itemsets.lengths[parts] > 0).all(), "a sub-record is empty")
        owners, counts = self.parts
        _require((counts <= self.sizes[owners]).all(), "a chunk has more sub-records than there are records")

    @cached_property
    def is_cluster(self) -> Mask:
        """Whether each is a cluster of records, and not a joint cluster."""
        return ~mask_at(len(self.sizes), self.joints[self.joints >= 0])

    @cached_property
    def levels(self) -> Numbers:
        """Number of joint clusters around each cluster; -1 for all if joint clusters form a cycle."""
        return self._sum_above(np.ones(len(self.sizes), np.int64))

    def _sum_above(self, values: Numbers) -> Numbers:
        """Sum up the values of all joint clusters around each cluster; -1 for all if there is a cycle."""
        total, above = np.zeros_like(values), self.joints
        for _ in range(len(values) + 1):
            within = above >= 0
            if not within.any():
                return total
            total[within] += values[above[within]]
            above = np.where(within, self.joints[above], -1)
        return np.full(len(values), -1)

    @cached_property
    def first_records(self) -> Numbers:
        """Number of the first record of each; a joint cluster has the records of its parts."""
        ends = pd.Series(self.sizes).groupby(self.joints).cumsum().to_numpy()  # within the joint cluster
        before = ends - self.sizes
        return before + self._sum_above(before)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.sizes[self.is_cluster].sum())

    @cached_property
    def part_of(self) -> Numbers:
        """Number of the record chunk of each row, in the order of `parts`; -1 in term chunks."""
        is_part = self.chunks > 0
        # The numbers in a frame can be arbitrarily large. Renumbered from 0 on, the keys cannot overflow.
        places = np.unique(self.chunks[is_part], return_inverse=True)[1]
        numbers = np.full(len(self.chunks), -1, np.int64)
        numbers[is_part] = pair_numbers(self.owners[is_part], places)
        return numbers

    @cached_property
    def parts(self) -> tuple[Numbers, Numbers]:
        """Cluster of each record chunk, and its number of sub-records."""
        is_part = self.part_of >= 0
        _, first, counts = np.unique(self.part_of[is_part], return_index=True, return_counts=True)
        return self.owners[is_part][first], counts.astype(np.int64)

    def to_frame(self, label: Hashable) -> pd.DataFrame:
        """Write the columns ``cluster, joint, size, chunk``, and the terms under another label."""
        if label in NAMES:
            hint = "rename the list column: frame.rename(columns={...})"
            raise ColumnError("the release has another column of that name", got=repr(label), hint=hint)
        known = self.classes().iloc[self.owners].reset_index(drop=True)
        frame = known[["cluster", "joint", "size"]].assign(chunk=self.chunks)
        frame[label] = self.itemsets.to_pandas()
        return frame

    def classes(self) -> pd.DataFrame:
        """Tabulate the clusters: ``cluster, size, joint``, which is 0 outside joint clusters."""
        numbers = np.arange(1, len(self.sizes) + 1)
        return pd.DataFrame({"cluster": numbers, "size": self.sizes, "joint": self.joints + 1})


def is_in_chunks(columns: Iterable[Hashable]) -> bool:
    """Return whether these are the columns of a release in chunks."""
    return {*NAMES} <= {*columns}


def refuse_chunks(frame: pd.DataFrame) -> None:
    """Refuse a release in chunks, by its columns, where each row must be a record."""
    if is_in_chunks(frame.columns):
        got = f"columns {', '.join(NAMES[:-1])} and {NAMES[-1]}"
        hint = "audit the release, or measure the tables that pdanon.reconstruct makes of it"
        raise ParameterError("the rows of a release in chunks are no records", got=got, hint=hint)


def _integers(frame: pd.DataFrame, name: str) -> Numbers:
    """Return the integers of a column."""
    got = "none"
    if name in frame.columns:
        column: pd.Series[Any] = frame.iloc[:, label_position(frame, name)]
        if pd.api.types.is_integer_dtype(column.dtype) and not column.isna().any():
            return column.to_numpy(np.int64)
        got = f"dtype {column.dtype.name}"
    raise ColumnError("this is no frame of chunks", where=f"column {name!r}", got=got, hint=_HINT)


def _require(holds: Any, problem: str) -> None:
    if not holds:
        raise ParameterError(f"this is no frame of chunks: {problem}", where="frame", hint=_HINT)
