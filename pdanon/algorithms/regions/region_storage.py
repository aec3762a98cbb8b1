"""The rows of a region, and the place of what is decided for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from pdanon.io.buckets import Slices, write_rows


class Storage(Protocol):
    """The rows of a region, which only the process that works on them reads."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def read(self) -> pa.Table:
        """Return the rows as codes."""

    def write(self, name: str, table: pa.Table) -> None:
        """Store a table of the region, and replace one of the same name."""

    def written(self, name: str) -> pa.Table:
        """Return a stored table."""


@dataclass(frozen=True, eq=False, slots=True)
class FileStorage:
    """A region in files.

    Parameters
    ----------
    rows : Slices
        The rows.
    path : Path
        Tables are stored in files of this name with a suffix.
    """

    rows: Slices
    path: Path

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def read(self) -> pa.Table:
        """Return the rows as codes."""
        return self.rows.read()

    def write(self, name: str, table: pa.Table) -> None:
        """Store a table of the region, and replace one of the same name."""
        write_rows(table, self.place(name))

    def written(self, name: str) -> pa.Table:
        """Return a stored table."""
        return read_file(self.place(name))

    def place(self, name: str) -> Path:
        """Return the file of a table."""
        return self.path.with_name(f"{self.path.name}.{name}")


def read_file(path: Path) -> pa.Table:
    """Read a file that `write_rows` wrote."""
    return Slices([path], np.array([[0, 2**62]])).read()


@dataclass(frozen=True, eq=False, slots=True)
class MemoryStorage:
    """A region in memory, of a worker of a cluster.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    rows : pyarrow.Table, optional
        The rows. None on the client.
    tables : dict
        The stored tables.
    """

    n_rows: int
    rows: pa.Table | None = None
    tables: dict[str, pa.Table] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: pa.Table, tables: Mapping[str, pa.Table]) -> MemoryStorage:
        """Return a region with tables that were stored before."""
        return cls(len(rows), rows, {**tables})

    def read(self) -> pa.Table:
        """Return the rows as codes."""
        assert self.rows is not None  # only workers read
        return self.rows

    def write(self, name: str, table: pa.Table) -> None:
        """Store a table of the region, and replace one of the same name."""
        self.tables[name] = table

    def written(self, name: str) -> pa.Table:
        """Return a stored table."""
        return self.tables[name]
