"""Releases of files with list columns, and of lines in which a person has several, over row groups."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pdanon.algorithms.engines import (
    Plan,
    RecodedRows,
    Recoder,
    Request,
    Units,
    decide_lines,
    plan,
)
from pdanon.algorithms.registry import Algorithm, watch
from pdanon.evaluation.metrics.risk import risk_of
from pdanon.guarantees import check_recountable, read_guarantee
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.files import sync_file
from pdanon.io.grouping import gather_units
from pdanon.io.trees import ArrowReader, ParquetTree, TreeFile, lock_target
from pdanon.itemsets.arguments import called_by_name, unknown_method
from pdanon.itemsets.codes import Itemsets, encode_visible
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.encoded_columns import Gathered, ListColumns, collapse_columns, gather
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.threads import prefetch
from pdanon.itemsets.timing import count_steps, progress_bar, show_activity
from pdanon.itemsets.validation import FilePath, check_path, check_text
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, check_max_loss, recount, release
from pdanon.recoding.unit_release import UnitLines
from pdanon.recoding.unmodified_columns import RecodedColumns, check_max_risk
from pdanon.stream.streamed import (
    Source,
    Streamed,
    change_error,
    expect_unchanged,
    open_paths,
    row_bar,
    write_files,
)


class ListFiles(Source):
    """Parquet files whose list column is recoded; a private column is written again."""

    def decide(self, decide: Plan) -> Decision[RecodedRows]:
        """Decide for the distinct transactions, or by the supports of pairs."""
        with expect_unchanged(self.tree):
            read = gather_files if decide.by_pairs is not None else collapse_files
            rows = read(self.tree, self.labels)
            decision = decide.decide(rows, partial(_fetch, self.tree, self.labels[0]))
            return decision.with_rows(RecodedRows(rows.n_rows, decision.rows))

    def audit(self, decision: Decision[RecodedRows], draft: Path) -> Audit:
        """Write the recoded files, and recount their rows."""
        with expect_unchanged(self.tree):
            recode_files(self.tree, draft, self.labels, decision.rows.recoder)
            written = ParquetTree.find(draft), self.labels
            options: dict[str, Any] = {"read": encode_visible, "task": "audit"}
            count = partial(collapse_files, *written, **options)
            by_pairs = decision.rounds is not None
            rows = gather_files(*written, **options) if by_pairs else count()
            if rows.n_rows != decision.rows.n_rows:
                raise change_error(self.tree)
            return recount(decision.guarantee, rows, count)


# --- The distinct rows


def collapse_files(tree: ParquetTree, labels: list[str], **options: Any) -> ListColumns:
    """Return the distinct rows of the list column, with the private column if there is one."""
    with _batches(tree, labels, **options) as batches:
        return collapse_columns(batches, len(labels))


def gather_files(tree: ParquetTree, labels: list[str], **options: Any) -> Gathered:
    """Return the distinct rows of the list column, or the supports of their pairs if these are fewer."""
    with _batches(tree, labels, **options) as batches:
        return gather((ListColumns(*columns) for columns in batches), tree.rows())


@contextmanager
def _batches(
    tree: ParquetTree, labels: list[str], *, read: ArrowReader = Itemsets.from_arrow, task: str = "read"
) -> Iterator[Iterator[list[Itemsets]]]:
    """Yield the row groups of some list columns, with a progress bar."""
    batches = prefetch(tree.columns(labels, read), lambda columns: len(columns[0].codes))
    with row_bar(task, tree):
        yield _count_rows(batches)


def _count_rows(batches: Iterable[list[Itemsets]]) -> Iterator[list[Itemsets]]:
    """Yield batches, and count the rows of each when it is done."""
    for batch in batches:
        yield batch
        count_steps(batch[0].n_rows)


def _fetch(tree: ParquetTree, label: str, request: Request) -> Iterator[SupportIndex]:
    """Return the rows that an interim decision requests, by row group."""
    task = f"round {len(request.labels)}"
    with _batches(tree, [label], read=Itemsets.from_arrow_unsorted, task=task) as batches:
        for (rows,) in batches:
            found = request.find(rows)
            if found is None:
                raise change_error(tree)
            yield found


# --- The recoded rows


def recode_files(tree: ParquetTree, draft: Path, labels: Sequence[str], recoder: Recoder) -> None:
    """Write each file with recoded items, as text or in their type."""
    kinds = {label: tree.item_type(label) for label in labels}
    if not recoder.keeps_type:
        kinds[labels[0]] = pa.string()

    def recode(file: TreeFile, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the recoded row groups of a file."""
        label, *hidden = kinds
        for number in range(file.plain.num_row_groups):
            table = file.read(number)
            recoded = recoder.publish(file.itemsets(table, label, number, Itemsets.from_arrow_unsorted))
            if recoded is None:
                raise change_error(tree)
            columns = {label: recoded}
            private = {other: file.itemsets(table, other, number) for other in hidden}
            columns |= {other: itemsets.missing_as_empty() for other, itemsets in private.items()}
            for each, column in columns.items():
                lists = column.to_arrow(dictionary=is_text_type(kinds[each]))
                table = table.set_column(table.column_names.index(each), schema.field(each), lists)
            yield table.cast(schema)
            return_unused()

    write_files(tree, draft, labels, lambda file, schema: prefetch(recode(file, schema), len), kinds)


# --- Lines in which a person has several


@called_by_name
def by(source: FilePath, unit: str, *, item: str, counts: bool = False) -> ByPerson:
    """Take files of lines by person, where a person has several lines, in any files and row groups.

    Parameters
    ----------
    source : path
        Parquet files, in any form that `anonymize` accepts.
    unit, item, counts : str, str, bool
        As in `pdanon.by`.

    Returns
    -------
    ByPerson
        With the methods ``anonymize``, ``audit``, ``risk``, and algorithms such as ``pcta``.

    Raises
    ------
    ColumnError, ParameterError
        If a name is none, or one column is named twice.

    Notes
    -----
    Releases and audits are those of `pdanon.by`, for lines without other columns. DuckDB sorts the lines in a
    temporary directory. Memory is bounded by its limit of 1 GB and the distinct sets of persons.

    Examples
    --------
    >>> import pathlib, tempfile, pandas as pd, pdanon, pdanon.stream
    >>> lines = pd.DataFrame({"customer": [7, 7, 8, 8, 9], "item": ["rice", "tea", "rice", "tea", "tea"]})
    >>> with tempfile.TemporaryDirectory() as name:
    ...     pdanon.to_parquet(lines, pathlib.Path(name) / "lines.parquet")
    ...     customers = pdanon.stream.by(pathlib.Path(name) / "lines.parquet", "customer", item="item")
    ...     customers.pcta(pathlib.Path(name) / "released.parquet", k=2, m=2)
    Streamed(rows=5, files=1, guarantee=KmAnonymity(k=2, m=2))
    """
    items = None if item is None else check_text(item, "item")
    return ByPerson(source, Units.of(check_text(unit, "unit"), items, counts))


class ByPerson:
    """Files of lines taken by person; made by `pdanon.stream.by`."""

    def __init__(self, source: FilePath, units: Units) -> None:
        self._source, self._units = source, units

    __getattr__ = unknown_method("persons have no such method", "pdanon.stream.by(...)")

    @called_by_name
    def anonymize(
        self,
        target: FilePath,
        *,
        mapping: FilePath | None = None,
        max_loss: Mapping[str, float] | None = None,
        max_risk: float | None = None,
        drop: Sequence[str] = (),
        **request: Any,
    ) -> Streamed:
        """Anonymize the lines, so that the guarantee covers persons, and write them to one file.

        The algorithms that recode items are methods, too.

        Parameters
        ----------
        target, mapping, max_loss, max_risk, drop, **request
            As in `pdanon.stream.anonymize`, without ``keep``. No column is published unmodified, so any
            ``max_risk`` is met.

        Returns
        -------
        Streamed

        Raises
        ------
        PdanonError
            As in `pdanon.stream.anonymize`. If duckdb is not installed, or a line has no person.
        """
        return self._release(
            None, target, mapping=mapping, max_loss=max_loss, max_risk=max_risk, drop=drop, **request
        )

    @called_by_name
    def audit(
        self, guarantee: Guarantee | None = None, *, k: int | None = None, m: ItemLimit = DEFAULT_M
    ) -> Audit:
        """Recount from scratch whether a guarantee of items holds for persons.

        Parameters
        ----------
        guarantee : Guarantee
            As in `pdanon.stream.audit`, without those for quasi-identifiers.
        k, m : int, optional
            Short for the guarantee ``KmAnonymity(k, m)``.

        Returns
        -------
        Audit
            ``rows_at_risk`` counts persons.

        Raises
        ------
        FormatError, ColumnError, ItemsetDtypeError, ParameterError
            As in `pdanon.stream.audit`. If there are other columns.
        """
        guarantee, _ = read_guarantee(guarantee, None, k, m)
        recountable, tree = check_recountable(guarantee), self._tree()
        names = [name for name in tree.schema().names if "__index_level_" not in name]
        self._units.check_audit(guarantee, names)
        columns = read_units(tree, self._units, as_shown=True)
        with show_activity("audit"):
            return recountable.recount(columns)

    @called_by_name
    def risk(self, *, k: int, m: int = 2) -> pd.DataFrame:
        """Measure the risk of persons, for the distinct items of all their lines.

        Parameters
        ----------
        k, m : int
            As in `pdanon.risk`.

        Returns
        -------
        pandas.DataFrame
            As of `pdanon.risk`.

        Raises
        ------
        FormatError, ColumnError, ItemsetDtypeError, ParameterError
            As in `audit`.
        """
        columns = read_units(self._tree(), replace(self._units, counts=False))
        with show_activity("risk"):
            return risk_of(columns.itemsets, k=k, m=m)

    def _tree(self) -> ParquetTree:
        return ParquetTree.find(check_path(self._source, "source"))

    def _release(
        self,
        algorithm: str | None,
        target: FilePath,
        /,
        *,
        mapping: FilePath | None = None,
        max_loss: Mapping[str, float] | None = None,
        max_risk: float | None = None,
        drop: Sequence[str] = (),
        **parameters: Any,
    ) -> Streamed:
        self._units.check_parameters(parameters)
        decide = plan(algorithm, parameters)
        most = check_max_loss(max_loss), check_max_risk(max_risk)
        paths = open_paths(self._source, target, mapping, drop, chosen=algorithm is None)
        with lock_target(paths[1]):
            files = _LineFiles(*paths, RecodedColumns(), self._units)
            return release(files, partial(files.decide, decide), (), *most)


@watch
def _offer(record: Algorithm) -> None:
    """Add a method for an algorithm that recodes the sets of persons."""
    name = record.name

    def released(self: ByPerson, target: FilePath, **given: Any) -> Streamed:
        return self._release(name, target, **given)

    if record.takes_persons:
        released.__name__, released.__qualname__ = name, f"ByPerson.{name}"
        released.__doc__ = f"Anonymize the lines as `pdanon.{name}`; paths and bounds as in `anonymize`."
        setattr(ByPerson, name, called_by_name(released))


def read_units(
    tree: ParquetTree, units: Units, *, as_shown: bool = False, near: Path | str | None = None
) -> ListColumns:
    """Return the distinct sets of persons, or their bags if lines count."""
    # ``as_shown``: read items exactly as they are written, for audits. ``near``: a path in the directory in
    # which lines are sorted. By default, and for a URI, that of temporary files.
    near = near if isinstance(near, Path) else Path(tempfile.gettempdir(), "lines")
    names = {"unit": str(units.unit), "item": str(units.item)}
    with (
        expect_unchanged(tree),
        progress_bar("audit" if as_shown else "read", "persons"),
        gather_units(tree, near, **names, repeats=units.counts, as_shown=as_shown) as lists,
    ):
        read = encode_visible if units.counts else Itemsets.from_arrow
        return collapse_columns(_count_rows([read(each)] for each in lists), 1)


@frozen
class _LineFiles(Source):
    """Parquet files of lines, whose columns are ``units``."""

    units: Units

    @property
    def is_file(self) -> bool:
        """Whether the release is one file."""
        return True

    def decide(self, decide: Plan) -> Decision[UnitLines]:
        """Decide for the distinct sets of persons."""
        return decide_lines(read_units(self.tree, self.units, near=self.target), decide, self.units)

    def audit(self, decision: Decision[UnitLines], draft: Path) -> Audit:
        """Write the lines, and recount the persons."""
        names = [name for name in self.tree.schema().names if name in (self.units.unit, self.units.item)]
        _write(decision.rows, draft, names, str(self.units.unit))
        columns = read_units(ParquetTree.find(draft), self.units, as_shown=True, near=self.target)
        return check_recountable(decision.guarantee).recount(columns)

    def result(self, draft: Path, facts: Facts) -> Streamed:
        """Return the result for the caller, with the number of lines."""
        return replace(Source.result(self, draft, facts), rows=facts.decision.rows.n_lines)


def _write(lines: UnitLines, path: Path, names: list[str], unit: str) -> None:
    """Write lines with some columns, the persons as numbers."""
    kinds = {name: pa.int64() if name == unit else lines.vocabulary.type for name in names}
    schema = pa.schema(list(kinds.items()))
    with (
        pq.ParquetWriter(path, schema, write_page_checksum=True) as writer,
        progress_bar("write", "persons"),
    ):
        for first, end in lines.parts():
            persons, labels = lines.read(first, end)
            columns = [pa.array(persons) if name == unit else labels for name in names]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            count_steps(end - first)
    sync_file(path)
