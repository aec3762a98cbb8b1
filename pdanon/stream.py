"""Data larger than memory: Parquet files are read twice, row group by row group, and written once.

The first reading collects the distinct transactions, with how often each is there; the algorithm decides on
those. The second one recodes, and the new files are read again to audit them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from uuid import NAMESPACE_URL, uuid5

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.engines import SAMPLE, Recoder, check_algorithm, decide
from pdanon.errors import FormatError, ParameterError, cause_of, read_safely
from pdanon.guarantees import check_recountable
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.files import Draft, check_name, is_at, name_in_errors
from pdanon.io.parquet import list_dtype
from pdanon.io.tables import write_confidential
from pdanon.io.trees import ArrowReader, ParquetTree, TreeFile, open_writer
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.list_columns import ListColumns, collapse_columns
from pdanon.itemsets.mapping import relabel, relabel_by_groups
from pdanon.itemsets.multisets import encode_visible
from pdanon.itemsets.threads import prefetch
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import check_path, is_uri
from pdanon.recoding.decision import Decision
from pdanon.recoding.release import Facts, release
from pdanon.recoding.result import Labelled
from pdanon.recoding.unmodified_columns import Passing, judged_columns, judged_labels, passing

__all__ = [
    "Streamed",
    "anonymize",
    "appearing",
    "audit",
    "check_absent",
    "check_mapping_file",
    "check_target",
    "claimed",
    "write_mapping",
]


def check_target(target: Path, tree: ParquetTree) -> None:
    """Check that a release can be written to a path, which nothing has yet, and that none of it is read."""
    check_absent(target)
    if not target.absolute().parent.is_dir():
        raise ParameterError("the directory of the target does not exist", where="target", got=str(target))
    if tree.holds(target):
        hint = "the release would become part of what is read"
        raise ParameterError("the target is within the source", where="target", got=str(target), hint=hint)


def check_absent(target: Path) -> None:
    """Check that nothing has the name of a target: a directory cannot be replaced in one step."""
    _check_length(target)
    if os.path.lexists(target):
        hint = "remove it, or choose another name; nothing was read or written"
        raise ParameterError("the target exists", where="target", got=str(target), hint=hint)


def check_mapping_file(path: Path, target: Path, tree: ParquetTree) -> Path:
    """The path of the mapping, if a file can be written there that is neither read nor released."""
    _check_length(path)
    problem = hint = None
    if path.suffix.lower() not in (".parquet", ".csv"):
        problem = "must end in .parquet or .csv"
    elif path.is_dir():
        problem = "is a directory"
    elif tree.reads(path):
        problem, hint = "is within the source", "it would become part of what is read"
    elif Path(os.path.realpath(target)) in (real := Path(os.path.realpath(path)), *real.parents):
        problem, hint = "is within the target", "it would become part of the release"
    elif not path.absolute().parent.is_dir():
        problem = "is in a directory that does not exist"
    if problem:
        raise ParameterError(f"the mapping {problem}", where="mapping", got=str(path), hint=hint)
    return path


def _check_length(path: Path) -> None:
    """Check that the system can be asked for a file of this name, which may be too long."""
    with name_in_errors(path), suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


@contextmanager
def claimed(target: Path) -> Iterator[None]:
    """Keep other runs from a target until the block, or the process, ends in whatever way."""
    # Of two runs the one that ends last would else replace the mapping of the other, whose target stays.
    lock = target.with_name(f".{uuid5(NAMESPACE_URL, target.name).hex}.lock")
    try:
        number = _locked(lock)
    except BlockingIOError:
        number = None
    except OSError as error:
        raise _unwritten("release", target, error) from error
    if number is None:
        hint = "wait until it has ended, or choose another name; nothing was read or written"
        raise ParameterError("another run writes to the target", where="target", got=str(target), hint=hint)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # first, so that nobody else can have locked what is removed
        os.close(number)


def _locked(path: Path) -> int:
    """Open and lock a file of this path."""
    import fcntl  # which not all systems have

    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(path, number):
                return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)  # removed in the meantime, by the run that had locked it


@contextmanager
def appearing(target: Path, before: Callable[[], object], *, directory: bool) -> Iterator[Path]:
    """Make a draft, a file or a directory, which becomes the target when the block ends well.

    ``before`` is called when all is ready but for the name.
    """
    draft = None
    try:
        draft = Draft(target, directory=directory)
        yield draft.path
        if os.path.lexists(target):
            raise ParameterError("the target has appeared in the meantime", where="target", got=str(target))
        for each in (path for path in (draft.path, *draft.path.rglob("*")) if path.is_dir()):
            _sync(each)
        before()
        draft.publish()
    except OSError as error:  # of writing: whatever cannot be read is a FormatError already
        raise _unwritten("release", target, error) from error
    finally:
        if draft is not None:
            draft.remove()
    _sync(target.absolute().parent)


def write_mapping(mapping: pd.DataFrame, path: Path | None) -> None:
    """Write the mapping, if it is asked for, so that it is there for good before what follows is."""
    if path is None:
        return
    try:
        write_confidential(mapping, path)
        _sync(Path(os.path.realpath(path)).parent)
    except OSError as error:
        raise _unwritten("mapping", path, error) from error


def _unwritten(what: str, path: Path, error: OSError) -> FormatError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    hint = "free some space, or write to another disk" if full else "check its directory"
    hint = f"{hint}; nothing is left of the release"
    return FormatError(f"the {what} cannot be written", where=str(path), got=cause_of(error), hint=hint)


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


# --- Data larger than memory: Parquet files are read twice, row group by row group, and written once


_Publisher: TypeAlias = Callable[[Itemsets], Itemsets | None]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Streamed(Labelled):
    """What is known about a release that was written to files.

    Parameters
    ----------
    paths : tuple of pathlib.Path
        The files.
    mapping : pandas.DataFrame
        What each item became: ``group, item, generalized, support``. Not part of the release.
    guarantee : Guarantee
        The privacy model, audited on the files.
    loss : pandas.Series
        Information loss by measure.
    rows : int
        Number of rows of all files.
    parameters : dict
        What was asked.
    """

    paths: tuple[Path, ...]
    mapping: pd.DataFrame
    guarantee: Guarantee
    loss: pd.Series[float]
    rows: int
    parameters: dict[str, Any]

    def __repr__(self) -> str:
        return f"Streamed(rows={self.rows}, files={len(self.paths)}, guarantee={self.guarantee!r})"


def anonymize(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    algorithm: str = "pcta",
    column: str | None = None,
    mapping: str | os.PathLike[str] | None = None,
    **parameters: Any,
) -> Streamed:
    """Anonymize Parquet files that do not fit into memory.

    Parameters
    ----------
    source : path
        A Parquet file, a directory with files that end in ``.parquet``, in subdirectories or not, or a path
        with the wildcards ``*``, ``?`` and ``[...]``. Or the URI of one that `pyarrow.fs` opens, such as
        ``s3://bucket/baskets``. Files and directories that begin with ``.`` or ``_`` are left out. Links are
        followed, and each file must be reached in one way only.
    target : path
        What to write, a local path: a file for a file, else a directory. It must not exist, nor be within the
        source.
    algorithm : str
        One that recodes an item alike in the whole table, such as ``pcta``, or at least equal rows, such as
        ``lra``. If another one is named, the error lists them.
    column : str, optional
        The list column. By default the only one, apart from a private column.
    mapping : path, optional
        Where to write the mapping: a file outside of the source and the target that ends in ``.parquet`` or
        ``.csv``. If it exists it is replaced; a new one can be read by its owner alone.
    **parameters
        Those of the algorithm, such as ``k``, ``m`` and ``hierarchy``.

    Returns
    -------
    Streamed
        The paths, the mapping, the guarantee and the loss; what the algorithm would return but for the frame.

    Raises
    ------
    FormatError
        If there is no Parquet file, one cannot be read (the message names it, and the row group) or is
        reached in two ways, files have different columns, or change while they are read; if something else
        than Parquet files would be left out; or if the release or the mapping cannot be written, as on a
        full disk.
    ParameterError
        If the target exists or another run writes to it, it or the mapping is within the source, the mapping
        is within the target or not a file of its kind, or the algorithm does not recode equal rows alike.
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError
        As the algorithm.

    Warns
    -----
    IdentifierWarning
        If other columns tell rows apart, as far as ``keep`` does not name them; counted in the first rows, up
        to 10,000 of them.
    UselessWarning
        If next to nothing is left of the items.

    Notes
    -----
    Guarantee: that of the algorithm, audited on the files as written. Rows, and the recoding, are those of
    the algorithm on a frame with all rows.

    Each file becomes one of the same relative path, with the same row groups, compression and other columns;
    these pass through as they are, and may identify. The list column becomes lists of text, or of items of
    their own type where items are only suppressed; a private column is built anew. Of the metadata, the names
    and types of columns are kept, so that pandas reads the same index and dtypes.

    The files are written to a hidden directory beside the target, which only its owner can read. It gets
    the target's name, and the permissions of the umask, when all of it is safe on the disk. Just before, the
    mapping appears, whole and safe on the disk: a target that is there has its mapping. A locked hidden file
    keeps other runs from the target for as long, so that none of them replaces the mapping. When the process
    is killed before, there is no target, the mapping may be there, and the next run to the same target
    removes what is hidden. After an error, at most the mapping is there.

    Cost: the source is read twice, its first row group once more, and the target once. Memory is bounded by
    what the algorithm takes for the distinct transactions (at least 16 bytes an occurrence and 40 bytes for
    each of them) and one row group, however many files and rows there are; or two, if more than one thread
    may work (`pdanon.set_threads`): then the next row group is read while one is counted or written.

    Examples
    --------
    >>> import pathlib, tempfile, pdanon, pdanon.datasets, pdanon.stream
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     directory = pathlib.Path(name)
    ...     pdanon.to_parquet(baskets, directory / "baskets.parquet")
    ...     target = directory / "released.parquet"
    ...     result = pdanon.stream.anonymize(directory / "baskets.parquet", target, k=5, m=2)
    ...     released = pdanon.read_parquet(target)
    >>> result
    Streamed(rows=1000, files=1, guarantee=KmAnonymity(k=5, m=2))
    >>> released.txanon.audit(result.guarantee).holds
    True
    """
    check_algorithm(algorithm, parameters, ("items", "rows"))
    source, target = check_path(source, "source"), check_path(target, "target")
    mapping = None if mapping is None else check_path(mapping, "mapping")
    if is_uri(target):
        hint = "choose a local path, and copy the release when it is complete"
        raise ParameterError("the target is a URI", where="target", got=target, hint=hint)
    tree, released = ParquetTree.find(source), Path(target)
    for path in (released, mapping or released):
        check_name(path)
    check_target(released, tree)
    kept = None if mapping is None else check_mapping_file(Path(mapping), released, tree)
    with claimed(released):
        files = _Files.find(tree, released, kept, column, parameters.get("private"))
        return release(files, partial(files.decide, algorithm, parameters), parameters.get("keep", ()))


def audit(
    source: str | os.PathLike[str],
    guarantee: Guarantee,
    column: str | None = None,
    *,
    progress: bool = False,
) -> Audit:
    """Recount from scratch whether Parquet files that do not fit into memory have a guarantee.

    Parameters
    ----------
    source : path
        Released files, or original ones: what `anonymize` takes as its source.
    guarantee : Guarantee
        One of items: `KmAnonymity`, `PrivacyConstraints`, `PSRules`, `LmDiversity`, `RhoUncertainty`,
        `Coherence` or `PublicK`.
    column : str, optional
        The list column. By default the only one, apart from a private column.
    progress : bool
        Show that it goes on: the parts of the count that are done.

    Returns
    -------
    Audit

    Raises
    ------
    FormatError
        If there is no Parquet file, one cannot be read or is reached in two ways, files have different
        columns, or change while they are read; or if something else than Parquet files would be left out.
    ColumnError, ItemsetDtypeError, ParameterError
        If there is nothing to audit, or the guarantee speaks of other columns.

    Notes
    -----
    The rows of all files count together, as one table. Cost: the files are read once; memory as `anonymize`
    takes it for the distinct transactions and the row groups.

    Examples
    --------
    >>> import pathlib, tempfile, pdanon, pdanon.datasets, pdanon.stream
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     pdanon.to_parquet(baskets, pathlib.Path(name) / "baskets.parquet")
    ...     pdanon.stream.audit(name, pdanon.KmAnonymity(k=5, m=1))
    Audit(holds=True, rows_at_risk=0, guarantee=KmAnonymity(k=5, m=1))
    """
    counted = check_recountable(guarantee)
    tree = ParquetTree.find(check_path(source, "source"))
    with show_activity(progress, "audit"), _unchanged(tree, tree.stamps()):
        positions = tree.find_columns(column, getattr(guarantee, "private", None))
        names = tree.schema().names
        return counted.recount(_collapsed(tree, [names[each] for each in positions], read=encode_visible))


@dataclass(frozen=True, eq=False, slots=True)
class _Files:
    """The rows of Parquet files, and where the release is written.

    Parameters
    ----------
    tree : ParquetTree
        The files.
    target : Path
        The release.
    mapping : Path or None
        The file of the mapping.
    positions : tuple of int
        The list column, and the private column if there is one.
    stamps : list
        The state of the files when they were found.
    """

    tree: ParquetTree
    target: Path
    mapping: Path | None
    positions: tuple[int, ...]
    stamps: list[object]

    @classmethod
    def find(
        cls, tree: ParquetTree, target: Path, mapping: Path | None, column: str | None, private: Any
    ) -> _Files:
        """Find the columns that are recoded."""
        stamps = tree.stamps()
        with _unchanged(tree, stamps):
            return cls(tree, target, mapping, tree.find_columns(column, private), stamps)

    @property
    def labels(self) -> list[str]:
        """The columns that are recoded."""
        names = self.tree.schema().names
        return [names[position] for position in self.positions]

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has judged."""
        with _unchanged(self.tree, self.stamps):
            return judged_labels(_shown(self.tree.schema().names, self.positions), self.labels, keep)

    def decide(self, algorithm: str, parameters: dict[str, Any]) -> Decision[_FileRows]:
        """Decide for the distinct transactions."""
        with _unchanged(self.tree, self.stamps):
            columns = _collapsed(self.tree, self.labels)
            n_rows, decision = columns.n_rows, decide(columns, algorithm, parameters)
            return decision.with_rows(_FileRows(n_rows, decision.rows))

    @contextmanager
    def written(self, decision: Decision[_FileRows]) -> Iterator[_WrittenFiles]:
        """Write a draft when it is audited; with the mapping it becomes the target at the end."""
        mapped = partial(write_mapping, decision.mapping, self.mapping)
        with appearing(self.target, mapped, directory=not self.tree.is_file) as draft:
            yield _WrittenFiles(self, decision.rows, draft)


@dataclass(frozen=True, eq=False, slots=True)
class _FileRows:
    """What rows become, and how many there are."""

    n_rows: int
    recoder: Recoder


@dataclass(frozen=True, eq=False, slots=True)
class _WrittenFiles:
    """The draft of a release, which is written when it is audited."""

    files: _Files
    rows: _FileRows
    draft: Path

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def check_unmodified(self, guarantee: Guarantee, judged: Sequence[Hashable]) -> Passing:
        with _unchanged(self.files.tree, self.files.stamps):
            first = _first_rows(self.files.tree, self.files.positions)
            judged = judged_columns(first, [], judged)  # now that there are values
            return passing(first, [], guarantee, judged, rows=self.n_rows)

    def columns_left(self) -> str:
        return ""  # list columns alone are recoded

    def audit(self, guarantee: Guarantee) -> Audit:
        tree = self.files.tree
        with _unchanged(tree, self.files.stamps):
            _recode(tree, self.draft, self.files.positions, self.rows.recoder)
            written = _collapsed(ParquetTree.find(self.draft), self.files.labels, read=encode_visible)
            if written.n_rows != self.n_rows:
                raise _changed(tree)
            return check_recountable(guarantee).recount(written)

    def result(self, facts: Facts) -> Streamed:
        tree, target, decision = self.files.tree, self.files.target, facts.decision
        paths = (target,) if tree.is_file else tuple(target / name for name in tree.names)
        parameters = dict(decision.parameters)
        return Streamed(paths, decision.mapping, facts.guarantee, decision.loss, self.n_rows, parameters)


def _collapsed(
    tree: ParquetTree, labels: list[str], *, read: ArrowReader = Itemsets.from_arrow
) -> ListColumns:
    """The distinct rows of the list column, or of it and the private column."""
    batches = prefetch(tree.columns(labels, read), lambda columns: len(columns[0].codes))
    return collapse_columns(batches, len(labels))


@contextmanager
def _unchanged(tree: ParquetTree, stamps: list[object]) -> Iterator[None]:
    """Tell of files that have changed, rather than of what went wrong because of it."""
    problem = None
    try:
        yield
    except Exception as error:
        problem = error
    if tree.stamps() != stamps:
        raise _changed(tree)
    if problem is not None:
        raise problem


def _publisher(recoder: Recoder) -> _Publisher:
    """What makes the released column of a row group, or None if it holds what was not there before."""
    parts = recoder.parts
    if parts is not None:

        def published_in_parts(rows: Itemsets) -> Itemsets | None:
            rows = rows.recode(np.arange(rows.n_items, dtype=np.int32), rows.vocabulary)  # as sets
            return relabel_by_groups(rows, parts.of(rows), parts.items, recoder.mapping)

        return published_in_parts
    items, labels = recoder.labels()

    def published(rows: Itemsets) -> Itemsets | None:
        unknown = items.lookup(rows.vocabulary) < 0  # and a file's dictionary may hold what no row does
        if unknown.any() and unknown[rows.codes].any():
            return None
        return relabel(rows, items, labels, missing_as_empty=recoder.missing_as_empty)

    return published


def _recode(tree: ParquetTree, draft: Path, positions: tuple[int, ...], recoder: Recoder) -> None:
    """Write each file again with other items, of text or, if they keep it, of their type."""
    position = positions[0]
    published = _publisher(recoder)
    kinds = {each: tree.item_type(each) for each in positions}
    labels = [tree.schema().names[each] for each in positions]
    if not recoder.keeps_type:
        kinds[position] = pa.string()
    for name in tree.names:
        path = draft if tree.is_file else draft / name
        with tree.open(name, labels) as file, open_writer(path, file.plain, kinds) as writer:
            for table in prefetch(_recoded(tree, file, kinds, published, writer.schema), len):
                writer.write_table(table, row_group_size=max(len(table), 1))


def _recoded(
    tree: ParquetTree,
    file: TreeFile,
    kinds: dict[int, pa.DataType],
    published: _Publisher,
    schema: pa.Schema,
) -> Iterator[pa.Table]:
    """The row groups of a file as they are to be written."""
    position, *hidden = kinds
    for number in range(file.plain.num_row_groups):
        table = file.read(number)
        recoded = published(
            file.itemsets(table, schema.names[position], number, Itemsets.from_arrow_unsorted)
        )
        if recoded is None:
            raise _changed(tree)
        anew = {position: recoded}
        private = {other: file.itemsets(table, schema.names[other], number) for other in hidden}
        anew |= {other: itemsets.missing_as_empty() for other, itemsets in private.items()}
        for each, column in anew.items():
            lists = column.to_arrow(dictionary=is_text_type(kinds[each]))
            table = table.set_column(each, schema.field(each), lists)
        yield table.cast(schema)


def _first_rows(tree: ParquetTree, positions: tuple[int, ...]) -> pd.DataFrame:
    """The first rows of the columns that pass through, as far as they are in one row group."""
    shown = _shown(tree.schema().names, positions)
    options = {"types_mapper": list_dtype, "ignore_metadata": True}
    for name in tree.names:
        with tree.open(name) as file:
            for number in range(file.plain.num_row_groups):
                if file.plain.metadata.row_group(number).num_rows:
                    table = file.read(number, shown).slice(0, SAMPLE)
                    part = f", row group {number}"
                    return read_safely(partial(table.to_pandas, **options), file.path, "Parquet", part)
    return pd.DataFrame()


def _shown(names: list[str], positions: tuple[int, ...]) -> list[str]:
    """The columns that pass through; an index without a name, which pandas names like this, is none."""
    others = [name for position, name in enumerate(names) if position not in positions]
    return [name for name in others if "__index_level_" not in name]


def _changed(tree: ParquetTree) -> FormatError:
    return FormatError("the files have changed since they were first read", where=tree.root)
