"""Releases and audits of files with lines in which a person has several, over row groups and files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pdanon.algorithms.engines import Plan
from pdanon.algorithms.unit_engine import DecidedLines, Units, decide_lines
from pdanon.guarantees import check_recountable
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.grouping import gather_units
from pdanon.io.targets import draft_target, lock_target, write_mapping
from pdanon.io.trees import ParquetTree
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns, collapse_columns
from pdanon.itemsets.multisets import encode_visible
from pdanon.itemsets.timing import show_activity
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, release
from pdanon.recoding.unit_lines import UnitLines
from pdanon.recoding.unmodified_columns import UnmodifiedColumns
from pdanon.stream.streamed import Streamed, expect_unchanged


def anonymize_lines(
    tree: ParquetTree,
    target: Path | str,
    mapping: Path | None,
    units: Units,
    decide: Plan,
    max_loss: Mapping[str, float] | None,
) -> Streamed:
    """Release lines by what decides for distinct transactions, as `pdanon.stream.anonymize` with ``unit``."""
    with lock_target(target):
        files = _LineFiles(tree, target, mapping, units)
        return release(files, partial(files.decide, decide), (), max_loss)


def audit_file_lines(tree: ParquetTree, units: Units, guarantee: Guarantee) -> Audit:
    """Recount the persons of lines, as `pdanon.stream.audit` with ``unit``."""
    recountable = check_recountable(guarantee)
    units.check_audit(guarantee, [name for name in tree.schema().names if "__index_level_" not in name])
    columns = read_units(tree, units, as_shown=True)
    with show_activity("audit"):
        return recountable.recount(columns)


def read_units(
    tree: ParquetTree, units: Units, *, as_shown: bool = False, near: Path | str | None = None
) -> ListColumns:
    """Return the distinct sets of persons, or their bags if lines count.

    Parameters
    ----------
    tree : ParquetTree
        The lines.
    units : Units
        Their columns.
    as_shown : bool
        Read items exactly as they are written, for audits.
    near : Path or str, optional
        A path in the directory in which lines are sorted. By default, and for a URI, that of temporary files.
    """
    near = near if isinstance(near, Path) else Path(tempfile.gettempdir(), "lines")
    names = {"unit": str(units.unit), "item": str(units.item)}
    with (
        expect_unchanged(tree, tree.stamps()),
        gather_units(tree, near, **names, repeats=units.counts, as_shown=as_shown) as lists,
    ):
        read = encode_visible if units.counts else Itemsets.from_arrow
        return collapse_columns(([read(each)] for each in lists), 1)


@dataclass(frozen=True, eq=False, slots=True)
class _LineFiles:
    """The lines of Parquet files, and the place of their release.

    Parameters
    ----------
    tree : ParquetTree
        The files.
    target : Path or str
        The release, or its URI.
    mapping : Path or None
        The file of the mapping.
    units : Units
        The columns of the lines.
    """

    tree: ParquetTree
    target: Path | str
    mapping: Path | None
    units: Units

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Return no columns: `Units.check_parameters` refuses them."""
        return ()

    def decide(self, decide: Plan) -> Decision[DecidedLines]:
        """Decide for the distinct sets of persons."""
        columns = read_units(self.tree, self.units, near=self.target)
        return decide_lines(columns, decide, counts=self.units.counts)

    @contextmanager
    def write(self, decision: Decision[DecidedLines]) -> Iterator[_WrittenLines]:
        """Write a draft, which becomes the target after the mapping."""
        write_first = partial(write_mapping, decision.mapping, self.mapping)
        with draft_target(self.target, write_first, directory=False) as draft:
            lines = decision.rows.lines
            names = [name for name in self.tree.schema().names if name in (self.units.unit, self.units.item)]
            _write(lines, draft, names, str(self.units.unit))
            yield _WrittenLines(self, lines, draft)


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenLines:
    """The draft of a release of lines."""

    files: _LineFiles
    lines: UnitLines
    draft: Path

    @property
    def n_rows(self) -> int:
        return self.lines.n_units

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> UnmodifiedColumns:
        return UnmodifiedColumns()

    def columns_left(self) -> str:
        return ""

    def audit(self, guarantee: Guarantee) -> Audit:
        columns = read_units(
            ParquetTree.find(self.draft), self.files.units, as_shown=True, near=self.files.target
        )
        return check_recountable(guarantee).recount(columns)

    def result(self, facts: Facts) -> Streamed:
        decision = facts.decision
        parameters = {**decision.parameters, **self.files.units.parameters}
        known = decision.mapping, facts.guarantee, decision.loss, self.lines.n_lines, parameters
        return Streamed((self.files.target,), *known, decision.rows.tried, decision.rows.sample, facts.risk)


def _write(lines: UnitLines, path: Path, names: list[str], unit: str) -> None:
    """Write lines with some columns, the persons as numbers."""
    kinds = {name: pa.int64() if name == unit else lines.vocabulary.type for name in names}
    schema = pa.schema(list(kinds.items()))
    with pq.ParquetWriter(path, schema, write_page_checksum=True) as writer:
        for first, end in lines.parts():
            persons, labels = lines.read(first, end)
            columns = [pa.array(persons) if name == unit else labels for name in names]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
    with path.open("rb+") as written:
        os.fsync(written.fileno())
