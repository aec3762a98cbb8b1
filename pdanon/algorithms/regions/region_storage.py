"""The rows of a region, and the place of what is decided for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from pdanon.io.buckets import pack, read_bucket, read_rows, unpack, write_rows


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
    """A region in files."""

    n_rows: int
    rows: Path  # file of the rows, which has those of other regions, too
    number: int  # place of the region in this file
    path: Path  # tables are stored in files of this name with a suffix

    def read(self) -> pa.Table:
        """Return the rows as codes."""
        return read_bucket([self.rows], self.number)

    def write(self, name: str, table: pa.Table) -> None:
        """Store a table of the region, and replace one of the same name."""
        write_rows(table, self.place(name))

    def written(self, name: str) -> pa.Table:
        """Return a stored table."""
        return read_rows(self.place(name))

    def place(self, name: str) -> Path:
        """Return the file of a table."""
        return self.path.with_name(f"{self.path.name}.{name}")


ROWS = "rows"  # the name of the rows of a region in memory


@dataclass(frozen=True, eq=False, slots=True)
class MemoryStorage:
    """A region in memory, of a worker of a cluster."""

    n_rows: int
    # The rows and the stored tables, as `pack` returns them; empty on the client.
    tables: dict[str, bytes] = field(default_factory=dict)

    def read(self) -> pa.Table:
        """Return the rows as codes."""
        return self.written(ROWS)

    def write(self, name: str, table: pa.Table) -> None:
        """Store a table of the region, and replace one of the same name."""
        self.tables[name] = pack(table)

    def written(self, name: str) -> pa.Table:
        """Return a stored table."""
        return unpack(self.tables[name])
