"""The command line: anonymize a file, audit a release, measure a risk, run a policy.

Exit codes: 0 done; 1 the guarantee cannot be had, or an audit finds that it does not hold; 2 wrong usage, a
file that cannot be read or written, or any other failure; 130 interrupted; 141 nobody reads the output any
more.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from threading import Timer
from typing import Any

import pandas as pd

from pdanon import stream
from pdanon.algorithms import choice
from pdanon.algorithms.record import OF_LISTS
from pdanon.algorithms.registry import algorithm, functions, parameters_of
from pdanon.cli.checks import check_files, check_lines, check_stream, check_tables
from pdanon.cli.options import described, of_algorithm, of_guarantee
from pdanon.cli.policy import Policy
from pdanon.cli.starting import INTERRUPTED, raise_interrupts
from pdanon.cli.usage import Command, parser_of
from pdanon.errors import (
    GuaranteeError,
    IdentifierWarning,
    InfeasibleError,
    ParameterError,
    PdanonError,
    ReleaseWarning,
    cause_of,
)
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.evaluation.metrics.risk import risk
from pdanon.evaluation.profile import profile
from pdanon.evaluation.report.page import write_page
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.parameters import DEFAULT_M, check_unsaid, constraint_list
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.lines import read_lines
from pdanon.io.long import from_long
from pdanon.io.tables import (
    read_columns,
    read_table,
    read_weights,
    write_plain,
    write_table,
    write_whole,
)
from pdanon.recoding.counts import what_was_lost
from pdanon.recoding.result import Anonymized

__all__ = ["main"]

PATIENCE = 2.0  # seconds until a stage that is not done is named on stderr


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Its arguments. By default those of the process.

    Returns
    -------
    int
        The exit code.

    Raises
    ------
    SystemExit
        After ``--help`` and ``--version`` (0), and if the arguments cannot be parsed (2).

    Examples
    --------
    >>> main(["risk", "nowhere.parquet", "-k", "5"])
    2
    """
    try:
        raise_interrupts()
        with _output():
            arguments = parser_of(_COMMANDS).parse_args(argv)
            if sys.stdout is None:
                hint = "redirect it where it is not wanted: > /dev/null"
                raise ParameterError("the standard output is closed", hint=hint)
            if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
                sys.stdout.reconfigure(errors="backslashreplace")  # names of files need not be text
            code: int = arguments.run(arguments)
        return code
    except (InfeasibleError, GuaranteeError) as error:
        return _report(f"error: {error}", 1)
    except PdanonError as error:
        return _report(f"error: {error}", 2)
    except BrokenPipeError:
        return 141
    except OSError as error:
        where = "" if error.filename is None else f"\n  where: {error.filename}"
        return _report(f"error: {cause_of(error)}{where}", 2)
    except KeyboardInterrupt:
        return _report("interrupted", INTERRUPTED)
    except MemoryError:
        return _report("error: not enough memory", 2)
    except Exception:  # a defect, and no verdict: not 1
        traceback.print_exc()
        return 2


@contextmanager
def _output() -> Iterator[None]:
    """Write what is printed within when the block ends, or fail: an exit code alone would mislead."""
    try:
        yield
    finally:
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes nowhere
            raise OSError(error.errno, error.strerror, "standard output") from None


def _report(message: str, code: int) -> int:
    if sys.stderr is not None:  # else it would be printed as a result
        print(f"pdanon: {message}", file=sys.stderr)
    return code


@contextmanager
def _warned(hint: str) -> Iterator[None]:
    """Say on stderr what warns of a release, as errors are said, with what can be done about it here."""

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, ReleaseWarning):
            remedy = hint if isinstance(message, IdentifierWarning) else _IF_USELESS
            _report(f"warning: {message.what}\n  hint:  {remedy}", 0)
        else:
            usual(message, *where, **more)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.simplefilter("always", ReleaseWarning)
        warnings.showwarning = show
        yield


# --- Commands

_TO_KEEP = (
    "leave them out of the table, protect them by a policy that names them as quasi, or say --keep and their "
    "names if they may be published as they are"
)
_IF_USELESS = (
    "name no algorithm, so that all are tried, or choose a smaller k or m; for items also sets instead of a "
    "hierarchy (pcta), or a hierarchy with more levels; for other columns fewer of them as quasi"
)
_ROLES = (
    "name them in [columns] as quasi, for an algorithm that protects them, as drop, or, if they may be "
    "published as they are, as keep"
)


def _anonymize(arguments: argparse.Namespace) -> int:
    if arguments.stream:
        return _anonymize_files(arguments)
    check_lines(arguments)
    check_tables(arguments)
    name = arguments.algorithm
    options = of_guarantee(arguments) if name is None else _algorithm_options(arguments)
    check_files(arguments)
    _read_options(options, arguments)
    frame = _read(arguments.source, arguments)
    bar = bool(options.get("progress"))
    with _stage(f"running {name or 'the algorithms'}", announced=not bar), _warned(_TO_KEEP):
        run = _least_lossy if name is None else algorithm(name)
        result = run(frame, arguments.column, **options)
    with _stage(f"writing {arguments.target}"):
        _write_release(result, arguments, frame)
    if result.tried is not None:
        _print_tried(result.tried)
    print(result)
    print(f"  written    {arguments.target}")
    if arguments.mapping:
        print(f"  mapping    {arguments.mapping}")
    if arguments.report:
        print(f"  report     {arguments.report}")
    return 0


def _print_tried(tried: pd.DataFrame) -> None:
    """Print what was tried, and in a line for each reason what was not."""
    ran = tried["seconds"].notna()
    shown = tried[ran].dropna(axis=1, how="all")
    print(shown.to_string(index=False, na_rep="", float_format="{:.4g}".format))
    for reason, left in tried[~ran].groupby("reason", sort=False):
        print(f"not tried ({reason}): {'; '.join(left['algorithm'])}")
    print()


def _least_lossy(
    frame: pd.DataFrame, column: str | None, *, k: int, constraints: Any = None, **options: Any
) -> Anonymized:
    """What `pdanon.anonymize` finds for what is asked."""
    if constraints is None:
        return choice.anonymize(frame, None, column, k=k, **options)
    check_unsaid(options.pop("m", DEFAULT_M))
    return choice.anonymize(frame, PrivacyConstraints(constraints, k), column, **options)


def _anonymize_files(arguments: argparse.Namespace) -> int:
    """Anonymize Parquet files row group by row group."""
    check_stream(arguments)
    options = _algorithm_options(arguments)
    check_files(arguments)
    _read_options(options, arguments)
    asked: dict[str, Any] = {"algorithm": arguments.algorithm, "column": arguments.column, **options}
    bar = bool(options.get("progress"))
    with _stage(f"running {arguments.algorithm}", announced=not bar), _warned(_TO_KEEP):
        result = stream.anonymize(arguments.source, arguments.target, mapping=arguments.mapping, **asked)
    print(f"Anonymized: {result.rows} rows, {arguments.algorithm}")
    print(f"  guarantee  {result.guarantee!r}, audited")
    for name, text in what_was_lost(result.mapping, result.loss):
        print(f"  {name:<10} {text}")
    print(f"  written    {arguments.target}, {len(result.paths)} files")
    if arguments.mapping:
        print(f"  mapping    {arguments.mapping}")
    return 0


def _audit(arguments: argparse.Namespace) -> int:
    if (arguments.mapping is None) != (arguments.constraints is None):
        hint = "constraints name original items, and the mapping says what became of them"
        raise ParameterError("--constraints and --mapping go together", hint=hint)
    check_files(arguments)
    guarantee = _guarantee(arguments)
    frame = _read(arguments.source, arguments)
    with _stage("auditing"):
        audit = guarantee.audit(frame, arguments.column)
    print(f"Audit: {len(frame)} rows")
    print(f"  guarantee  {guarantee!r}")
    print(f"  verdict    {'holds' if audit.holds else 'does not hold'}")
    print(f"  at risk    {audit.rows_at_risk} rows")
    print(f"  SHA-256    {fingerprint(frame)}")
    if arguments.threats:
        with _stage("listing threats"):
            write_table(audit.threats, arguments.threats, "itemset", arguments.separator)
        print(f"  threats    {len(audit.threats)}, written to {arguments.threats}")
    return 0 if audit.holds else 1


def _risk(arguments: argparse.Namespace) -> int:
    check_files(arguments)
    frame = _read(arguments.source, arguments)
    with _stage("counting"):
        table = risk(frame, arguments.column, k=arguments.k, m=arguments.m, quasi=arguments.quasi)
    table["items"] = table["items"].astype("string").fillna("all")
    print(table.to_string(index=False, float_format="{:.4g}".format))
    return 0


def _profile(arguments: argparse.Namespace) -> int:
    check_lines(arguments)
    check_tables(arguments)
    check_files(arguments)
    frame = _read(arguments.source, arguments)
    with _stage("counting"):
        print(profile(frame, arguments.column, k=arguments.k, m=arguments.m))
    return 0


def _run(arguments: argparse.Namespace) -> int:
    policy = Policy.from_toml(arguments.policy)
    if "release" not in policy.outputs:
        where = f"{arguments.policy}, [outputs]"
        raise ParameterError("the policy names no release", where=where, hint='release = "released.parquet"')
    with _stage(f"running {arguments.policy}"), _warned(_ROLES):
        original = policy.read()
        result = policy.run(original)
    with _stage("writing"):
        policy.write(result, original)
    print(result)
    for name in ("release", "mapping", "loss", "report"):
        if name in policy.outputs:
            print(f"  {name:10} {policy.outputs[name]}")
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    policy = Policy.from_toml(arguments.policy)
    with _stage(f"running {arguments.policy}"):
        table = policy.compare(progress=_bar())
    policy.write_comparison(table)
    shown = table.dropna(axis=1, how="all")
    print(shown.to_string(index=False, na_rep="", float_format="{:.4g}".format))
    return 0


def _algorithms(arguments: argparse.Namespace) -> int:
    print("\n\n".join(described(name, each) for name, each in functions(*OF_LISTS).items()))
    return 0


def _guarantee(arguments: argparse.Namespace) -> Guarantee:
    if arguments.constraints is None:
        return KmAnonymity(arguments.k, arguments.m)
    check_unsaid(arguments.m)
    constraints = constraint_list(arguments.constraints, arguments.column)
    mapping = read_columns(arguments.mapping, ["group", "item", "generalized"])
    return PrivacyConstraints(constraints, arguments.k, mapping)


def _algorithm_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the algorithm that was named is called with."""
    asked = of_algorithm(arguments)
    if "progress" in parameters_of(algorithm(arguments.algorithm)):
        asked["progress"] = _bar()
    return asked


def _bar() -> bool:
    """Whether a progress bar can be shown."""
    return sys.stderr is not None and sys.stderr.isatty() and find_spec("tqdm") is not None


# --- Files


def _read_options(options: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Read the files among the options of an algorithm."""
    if "constraints" in options:
        options["constraints"] = constraint_list(arguments.constraints, arguments.column)
    if "weights" in options:
        options["weights"] = read_weights(arguments.weights)


def _read(path: Path, arguments: argparse.Namespace) -> pd.DataFrame:
    if getattr(arguments, "by", None):
        return _read_lines(arguments)
    with _stage(f"reading {path}"):
        return read_table(path, arguments.column, arguments.separator)


def _read_lines(arguments: argparse.Namespace) -> pd.DataFrame:
    """Read a table with a line for each item, and make a row a person of it."""
    with _stage(f"reading {arguments.source}"):
        text = [*arguments.by, arguments.item]
        lines = read_lines(arguments.source, text, arguments.delimiter, arguments.encoding)
        if lines.guessed:
            print(f"{arguments.source}: {lines.guessed}", file=sys.stderr)
        kept = list(getattr(arguments, "keep", []))
        return from_long(lines.frame, by=arguments.by, item=arguments.item, keep=kept)


def _write_release(result: Anonymized, arguments: argparse.Namespace, original: pd.DataFrame) -> None:
    """Write the release and what was asked for of the report and the mapping: all or none, it last."""
    files: dict[Path, Callable[[Path], object]] = {}
    if arguments.mapping:
        files[arguments.mapping] = partial(write_plain, result.mapping)
    if arguments.report:
        files[arguments.report] = partial(write_page, result, original=original)
    files[arguments.target] = partial(
        write_table, result.frame, column=arguments.column, separator=arguments.separator
    )
    write_whole(files)


@contextmanager
def _stage(what: str, *, announced: bool = True) -> Iterator[None]:
    """Say on stderr what is going on, if it takes long."""
    timer = Timer(PATIENCE, _report, [f"{what} ...", 0])
    timer.daemon = True
    if announced:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


_COMMANDS: dict[str, Command] = {
    "profile": _profile,
    "anonymize": _anonymize,
    "audit": _audit,
    "risk": _risk,
    "run": _run,
    "compare": _compare,
    "algorithms": _algorithms,
}
