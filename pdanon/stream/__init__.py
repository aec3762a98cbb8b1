"""Releases of Parquet files larger than memory, which are read twice, by row groups, and written once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon.algorithms.engines import needs_quasi, plan, recodes_lists
from pdanon.algorithms.registry import ALGORITHMS, Algorithm, watch
from pdanon.errors import PdanonError, did_you_mean
from pdanon.evaluation.metrics.attack import Attack, attack_itemsets, check_attacked
from pdanon.evaluation.metrics.risk import risk_of
from pdanon.evaluation.profile import Profile, profile_of
from pdanon.guarantees import read_guarantee
from pdanon.guarantees.class_audit import ByClasses, ClassColumns, audit_parts, check_countable
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.grouping import MEMORY, group_lines
from pdanon.io.trees import ParquetTree, lock_target
from pdanon.itemsets.arguments import STEPS, MethodError, called_by_name
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import encode_visible
from pdanon.itemsets.columns import find_quasi, quasi_names
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import FilePath, Seed, check_path
from pdanon.recoding.release import check_max_loss, release
from pdanon.recoding.unmodified_columns import RecodedColumns, check_max_risk
from pdanon.stream.list_files import ByPerson, ListFiles, by, collapse_files
from pdanon.stream.quasi_files import ClassFiles, TableFiles, workspace
from pdanon.stream.streamed import Streamed, expect_unchanged, first_rows, open_paths

__all__ = ["ByPerson", "Streamed", "anonymize", "attack", "audit", "by", "from_long", "profile", "risk"]


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)


def __getattr__(name: str) -> Any:
    """Explain how to call a function that needs all rows at once, or suggest another one."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    problem, hint = "there is no such function", did_you_mean(name, [*__all__, *ALGORITHMS])
    if hasattr(pd.DataFrame.txanon, name):  # type: ignore[attr-defined]
        problem = "the function needs all rows at once"
        hint = f"read them: pdanon.read_parquet(path).txanon.{name}(...)"
    if name in STEPS:
        problem = "files have no such step"
        hint = f"pass it to the release: pdanon.stream.pcta(source, target, k=5, {STEPS[name]})"
    raise MethodError(problem, where=__name__, got=repr(name), hint=hint)


@called_by_name
def anonymize(
    source: FilePath,
    target: FilePath,
    *,
    column: str | None = None,
    mapping: FilePath | None = None,
    max_loss: Mapping[str, float] | None = None,
    max_risk: float | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    **request: Any,
) -> Streamed:
    """Anonymize Parquet files larger than memory, by the better of the two best algorithms on a sample.

    ``pdanon.stream.pcta(source, target, k=5, m=2)``, and so on, anonymizes them by an algorithm.

    Parameters
    ----------
    source : path
        A Parquet file, a directory of files that end in ``.parquet``, with subdirectories, or a path with the
        wildcards ``*``, ``?`` and ``[...]``. Or the URI of one that pyarrow or fsspec opens, such
        as ``s3://bucket/baskets``. Files and directories that begin with ``.`` or ``_`` are skipped. Links
        are followed, and each file must be found only once.
    target : path
        The path or URI to write: a file if the source is a file, else a directory. It must not exist, and not
        be within the source.
    column : str, optional
        The list column. By default, the only one, besides a private column.
    mapping : path, optional
        The file of the mapping, outside the source and the target, which ends in ``.parquet`` or ``.csv``. An
        existing file is replaced. Only the owner can read a new one.
    max_loss : mapping, optional
        Upper bounds on losses by measure, such as ``{"pairs": 0.5}``, as in `pdanon.anonymize`.
    max_risk : float, optional
        Largest share of rows that fewer than k rows match in the unmodified columns, with all that is
        published; of the first 10,000 rows. Columns of ``keep`` count, too.
    drop, keep : sequence of str
        Columns that are not published, and those that you have reviewed, which cause no warning.
    **request
        ``guarantee``, or ``k``, ``m`` and others of a policy without an algorithm. Or the parameters of the
        algorithm, such as ``hierarchy``; for quasi-identifiers also ``block_rows``, the maximum number of
        rows that are anonymized together (by default 10,000). `config` sets the number of processes.

    Returns
    -------
    Streamed
        The paths, the mapping, the guarantee and the loss: the result of the algorithm without the frame.

    Raises
    ------
    FormatError, ParameterError
        If there is no Parquet file, or other files would be skipped. If a file cannot be read (the message
        names it and the row group), is found twice, has other columns than the first, or changes while it is
        read. If the release or the mapping cannot be written. If the target exists or another run writes to
        it. If the target or the mapping is within the source, or the mapping is within the target or has
        another ending. If equal rows may be recoded differently.
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError
        As in the algorithm. If the sample cannot decide.

    Warns
    -----
    IdentifierWarning, UselessWarning
        If other columns that are not listed in ``keep`` may identify rows (up to 10,000 of the first are
        counted), or the released items are almost empty.

    Notes
    -----
    Guarantee: the requested one, audited on the written files. The release by an algorithm equals that for a
    frame with all rows. It is one that recodes an item equally in the whole table, such as ``pcta``, or in
    equal rows, such as ``lra``; the error for any other algorithm lists them. Or one for quasi-identifiers,
    such as ``rum_bound`` or ``mondrian``: more than ``block_rows`` rows are then cut into regions, which
    together have the guarantee. Without a name, the algorithms are tried on 10,000 rows, drawn with a fixed
    seed, for which the guarantee is requested as for the table, so losses in ``tried`` are above that of the
    release.

    Each file becomes one of the same relative path, with the same row groups, compression and other columns,
    which may identify rows. The list column becomes lists of text, or of the type of its items if items are
    only suppressed.

    The files appear together when they are complete: the page of streams describes this. The mapping is
    completely written just before, and may exist alone after an error. On object storage, a directory has a
    file ``_INCOMPLETE`` while files arrive, and ``_SUCCESS`` at the end; there are no locks.

    Cost: the source is read twice, its first row group once more, and the target once. Memory holds the
    distinct transactions, of at least 40 bytes and 16 an occurrence, and one row group, or two with more than
    one thread.

    Examples
    --------
    >>> import pathlib, tempfile, pdanon, pdanon.datasets, pdanon.stream
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     directory = pathlib.Path(name)
    ...     pdanon.to_parquet(baskets, directory / "baskets.parquet")
    ...     target = directory / "released.parquet"
    ...     result = pdanon.stream.pcta(directory / "baskets.parquet", target, k=5, m=2)
    ...     released = pdanon.read_parquet(target)
    >>> result
    Streamed(rows=1000, files=1, guarantee=KmAnonymity(k=5, m=2))
    >>> released.txanon.audit(result.guarantee).holds
    True
    """
    return _release(
        None,
        source,
        target,
        column=column,
        mapping=mapping,
        max_loss=max_loss,
        max_risk=max_risk,
        drop=drop,
        keep=keep,
        **request,
    )


@watch
def _offer(record: Algorithm) -> None:
    """Add a function for an algorithm, which needs not all rows at once."""
    name = record.name

    def released(source: FilePath, target: FilePath, **parameters: Any) -> Streamed:
        return _release(name, source, target, **parameters)

    released.__name__ = released.__qualname__ = name
    released.__doc__ = (
        f"Anonymize files as `pdanon.{name}`; paths and bounds as in `pdanon.stream.anonymize`."
    )
    globals()[name] = called_by_name(released)


def _release(
    algorithm: str | None,
    source: FilePath,
    target: FilePath,
    /,
    *,
    column: str | None = None,
    mapping: FilePath | None = None,
    max_loss: Mapping[str, float] | None = None,
    max_risk: float | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    **parameters: Any,
) -> Streamed:
    """Release files by an algorithm, or without one by the better of the two best on a sample."""
    with_quasi = algorithm is not None and needs_quasi(algorithm, parameters)
    decide = None if with_quasi else plan(algorithm, parameters, partial(_count_rows, source))
    most = check_max_loss(max_loss), check_max_risk(max_risk)
    paths = open_paths(source, target, mapping, drop, chosen=algorithm is None)
    tree, released, _ = paths
    with lock_target(released):
        if decide is None:
            assert algorithm is not None
            has_lists = recodes_lists(algorithm, column)
            with workspace(released) as directory:
                with expect_unchanged(tree):
                    frame = tree.empty_frame()
                    quasi = [
                        frame.columns[place] for place in find_quasi(frame, quasi_names(parameters["quasi"]))
                    ]
                    lists = tree.find_columns(column) if has_lists else []
                table = TableFiles(*paths, RecodedColumns(quasi, lists), directory)
                known = partial(table.decide, algorithm, parameters)
                return release(table, known, keep, *most)
        with expect_unchanged(tree):
            label, *private = tree.find_columns(column, parameters.get("private"))
        files = ListFiles(*paths, RecodedColumns(lists=[label], private=private))
        return release(files, partial(files.decide, decide), keep, *most)


@called_by_name
def audit(
    source: FilePath,
    guarantee: Guarantee | None = None,
    column: str | None = None,
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
) -> Audit:
    """Recount from scratch whether Parquet files that do not fit into memory have a guarantee.

    Parameters
    ----------
    source : path
        Released or original files, in any form that `anonymize` accepts.
    guarantee : Guarantee
        A guarantee for items: `KmAnonymity`, `KMap`, `PrivacyConstraints`, `PSRules`, `LmDiversity`,
        `RhoUncertainty`, `Coherence` or `PublicK`. Or for quasi-identifiers: `KAnonymity`, `KKm` or `KLm`.
    column : str, optional
        The list column. By default, the only one, besides a private column.
    k, m : int, optional
        Short for the guarantee ``KmAnonymity(k, m)``.

    Returns
    -------
    Audit

    Raises
    ------
    FormatError, ColumnError, ItemsetDtypeError, ParameterError
        If there is no Parquet file, or other files would be skipped. If a file cannot be read, is found
        twice, has other columns than the first, or changes while it is read. If there is nothing to audit, or
        the guarantee covers other columns.

    Notes
    -----
    The rows of all files are audited as one table. Cost: the files are read once; memory as for `anonymize`.

    With quasi-identifiers, rows are sorted by class in a temporary directory, and memory holds some classes.
    ``threats`` reads the files again, and lists the classes in another order than `pdanon.audit`.

    Examples
    --------
    >>> import pathlib, tempfile, pdanon, pdanon.datasets, pdanon.stream
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     pdanon.to_parquet(baskets, pathlib.Path(name) / "baskets.parquet")
    ...     pdanon.stream.audit(name, pdanon.KmAnonymity(k=5, m=1))
    Audit(holds=True, rows_at_risk=0, guarantee=KmAnonymity(k=5, m=1))
    """
    guarantee, label = read_guarantee(guarantee, column, k, m)
    countable, tree = check_countable(guarantee), ParquetTree.find(check_path(source, "source"))
    if isinstance(countable, ByClasses):
        with expect_unchanged(tree):
            read = ClassColumns.of(countable, tree.empty_frame(), label)
        return audit_parts(countable, ClassFiles(tree, read), read.column)
    with expect_unchanged(tree):
        labels = tree.find_columns(label, getattr(guarantee, "private", None))
        columns = collapse_files(tree, labels, read=encode_visible)
        with show_activity("audit"):
            return countable.recount(columns)


@called_by_name
def risk(
    source: FilePath,
    column: str | None = None,
    *,
    k: int,
    m: int = 2,
) -> pd.DataFrame:
    """Measure the share of rows that an attacker with knowledge of a few items can single out.

    Parameters
    ----------
    source, column, k, m : path, str, int, int
        Original or released files, in any form that `anonymize` accepts; the others as in `pdanon.risk`.

    Returns
    -------
    pandas.DataFrame
        As `pdanon.risk` of all rows.

    Raises
    ------
    FormatError, ColumnError, ItemsetDtypeError, ParameterError
        As in `audit`, which also has the same cost.

    Examples
    --------
    >>> import pathlib, tempfile, pdanon, pdanon.datasets, pdanon.stream
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     pdanon.to_parquet(baskets, pathlib.Path(name) / "baskets.parquet")
    ...     table = pdanon.stream.risk(name, k=5, m=1)
    >>> table.equals(pdanon.risk(baskets, k=5, m=1))
    True
    """
    columns, _ = _read_rows(source, column)
    with show_activity("risk"):
        return risk_of(columns.itemsets, k=k, m=m)


@called_by_name
def profile(
    source: FilePath,
    column: str | None = None,
    *,
    k: int = 5,
    m: int = 3,
) -> Profile:
    """Profile raw Parquet files that do not fit into memory.

    Parameters
    ----------
    source, column, k, m : path, str, int, int
        The files, in any form that `anonymize` accepts; the others as in `pdanon.profile`.

    Returns
    -------
    Profile
        As `pdanon.profile` of all rows. The other columns are counted in up to 10,000 of the first rows, and
        repeated rows are not counted.

    Raises
    ------
    FormatError, ColumnError, ItemsetDtypeError, ParameterError
        As in `audit`.

    Notes
    -----
    Cost: the files are read once, and the first row group once more; memory as for `anonymize`.

    Examples
    --------
    >>> import pathlib, tempfile, pdanon, pdanon.datasets, pdanon.stream
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     pdanon.to_parquet(baskets, pathlib.Path(name) / "baskets.parquet")
    ...     profile = pdanon.stream.profile(name, k=5, m=1)
    >>> int(profile.counts["rows"])
    1000
    """
    columns, first = _read_rows(source, column)
    return profile_of(columns.itemsets, columns.label, first, k=k, m=m)


@called_by_name
def attack(
    source: FilePath,
    released: FilePath,
    mapping: pd.DataFrame,
    column: str | None = None,
    *,
    m: ItemLimit = 2,
    n: int = 1000,
    random_state: Seed = None,
) -> Attack:
    """Simulate attacks on a release of Parquet files that do not fit into memory.

    Parameters
    ----------
    source, released : path
        The original and its release, in any form that `anonymize` accepts.
    mapping : pandas.DataFrame
        The mapping of the release: ``mapping`` of its result, or the file that was written.
    column, m, n, random_state
        As in `pdanon.attack`.

    Returns
    -------
    Attack
        As `pdanon.attack`. ``row`` is the number of the attacked transaction among the distinct ones.

    Raises
    ------
    FormatError, ColumnError, ItemsetDtypeError, ParameterError
        As in `audit`. If the files are not an original and its release, or the mapping is that of a local
        recoding.

    Notes
    -----
    Cost: both are read once; memory as for `anonymize`, for both.

    Examples
    --------
    >>> import pathlib, tempfile, pdanon, pdanon.datasets, pdanon.stream
    >>> baskets = pdanon.datasets.make_baskets(1000, 50, random_state=0)[["items"]]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     source, target = pathlib.Path(name) / "baskets.parquet", pathlib.Path(name) / "released.parquet"
    ...     pdanon.to_parquet(baskets, source)
    ...     result = pdanon.stream.pcta(source, target, k=5, m=2)
    ...     pdanon.stream.attack(source, target, result.mapping, m=2, random_state=1).fewest >= 5
    True
    """
    check_attacked(mapping)
    original, published = (_read_rows(path, column)[0].itemsets for path in (source, released))
    with show_activity("attack"):
        return attack_itemsets(original, published, mapping, m=m, n=n, random_state=random_state)


@called_by_name
def from_long(
    source: FilePath,
    target: FilePath,
    *,
    by: str | Sequence[str],
    item: str,
    keep: Sequence[str] = (),
    memory: str = MEMORY,
    types: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
) -> None:
    """Convert lines that do not fit into memory, one per item, into a Parquet file with one row per person.

    Parameters
    ----------
    source : path
        The lines: CSV (``.csv``, ``.tsv``, also with ``.gz``), or Parquet in any form that `anonymize` takes.
    target : path
        The Parquet file. An existing file is replaced. Only the owner can read a new one.
    by : str or list of str
        The column that identifies the person of a line, or several columns that do so together.
    item : str
        The column of items, one per line. A line with a missing value adds no item. Blanks around a text are
        removed.
    keep : list of str
        Columns with one value per person, which become columns of the rows.
    memory : str
        The memory limit of DuckDB, such as ``"4GB"``. Beyond it, lines are sorted on disk.
    types : dict, optional
        Types of columns of a CSV file, as those of `pdanon.read_csv`. Without a type, a column is text.
    delimiter : str, optional
        The delimiter of a CSV file. By default the most frequent one.
    encoding : str
        The encoding of a CSV file.

    Raises
    ------
    ColumnError, FormatError, ItemsetDtypeError, ParameterError
        If a column does not exist, or a person has several values in a kept column. If the source cannot be
        read, the target cannot be written, or the item column holds lists. If duckdb is not installed, a line
        has no person, or 20 or more lines all have different persons.

    Notes
    -----
    Rows have the order of a hash of the person.

    Cost: DuckDB stores and sorts the lines in a hidden directory beside the target, which only its owner can
    read. It is removed at the end, unless the process is killed. Memory is bounded by the limit, one row
    group of the source, and some hundred MB.

    Examples
    --------
    >>> import pathlib, tempfile, pandas as pd, pdanon, pdanon.stream
    >>> lines = pd.DataFrame({"patient": [7, 7, 8, 7], "sex": ["f", "f", "m", "f"]})
    >>> lines["code"] = ["I10", "E11", "J45", "I10"]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     source, target = pathlib.Path(name) / "lines.csv", pathlib.Path(name) / "rows.parquet"
    ...     lines.to_csv(source, index=False)
    ...     pdanon.stream.from_long(source, target, by="patient", item="code", keep=["sex"])
    ...     pdanon.read_parquet(target).sort_values("sex", ignore_index=True)
      sex           code
    0   f  ['E11' 'I10']
    1   m        ['J45']
    """
    source, released = check_path(source, "source"), Path(check_path(target, "target"))
    group_lines(
        source,
        released,
        by=by,
        item=item,
        keep=keep,
        memory=memory,
        types=types,
        delimiter=delimiter,
        encoding=encoding,
    )


def _count_rows(source: FilePath) -> int | None:
    """Return the number of rows of files, from their metadata; None if they cannot be read."""
    with suppress(PdanonError):
        return ParquetTree.find(check_path(source, "source")).rows()
    return None


def _read_rows(source: FilePath, column: str | None) -> tuple[ListColumns, pd.DataFrame]:
    """Return the distinct rows of the list column, and the first rows of the other columns."""
    tree = ParquetTree.find(check_path(source, "source"))
    with expect_unchanged(tree):
        (label,) = tree.find_columns(column)
        names = tree.schema().names
        refuse_chunks(pd.DataFrame(columns=names))
        columns = collapse_files(tree, [label])
        return replace(columns, label=label), first_rows(tree, [name for name in names if name != label])
