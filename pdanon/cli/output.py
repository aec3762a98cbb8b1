"""Output of commands: results on stdout, as text or JSON; errors, warnings and long stages on stderr."""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from importlib.metadata import version
from importlib.util import find_spec
from io import TextIOWrapper
from math import isfinite
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from threading import Timer
from typing import Any

import pandas as pd

from pdanon.errors import (
    IdentifierWarning,
    PdanonError,
    PersonsWarning,
    ReleaseWarning,
    cause_of,
    escape_controls,
    mask_credentials,
)
from pdanon.evaluation.matches import Facts
from pdanon.evaluation.metrics.risk import of_few_known
from pdanon.evaluation.profile import Profile
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.files import is_taken
from pdanon.itemsets.cards import Lines
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.support import MOST_ROWS
from pdanon.itemsets.timing import LOG, SETTINGS, assigned
from pdanon.itemsets.validation import list_first
from pdanon.recoding.counts import class_sizes, level_lines, loss_lines, percent
from pdanon.recoding.result import Anonymized, headline, in_chunks, is_refined, unmodified_lines
from pdanon.recoding.risk import risk_lines
from pdanon.recoding.warnings import REMEDY
from pdanon.stream import Streamed
from pdanon.stream.streamed import LOG as STREAM_LOG

PATIENCE = 2.0  # seconds after which a running stage is named on stderr

_IF_USELESS = (
    "name no algorithm, so that all are tried, or choose a smaller k or m; for items also try sets instead "
    "of a hierarchy (pcta), or a hierarchy with more levels; for other columns name fewer of them as quasi"
)

_TO_KEEP = (
    "leave them out of the table; protect them with --quasi; or pass --keep and their names if they may be "
    "published as they are"
)

_IF_PARTS = "name that column in --by, or leave it out of the file if rows need not be persons"


@frozen
class Outcome:
    """The outcome of a command."""

    facts: Facts  # for JSON: values that `plain` converts
    show: Callable[[], object]  # prints them as text
    code: int = 0
    planned: bool = False  # the plan of a dry run
    files: Mapping[str, str | PathLike[str] | None] | None = None  # that were written, if any could be


@dataclass(slots=True)
class Messages:
    """Warnings and notes of a running command."""

    quiet: bool = False  # show neither notes nor progress
    warnings: list[dict[str, str | None]] = field(default_factory=list)  # kind, what and hint
    notes: list[str] = field(default_factory=list)


_messages: ContextVar[Messages] = ContextVar("messages")


@contextmanager
def collect_messages(*, quiet: bool) -> Iterator[Messages]:
    """Collect the warnings and notes of a block, with those that streams log."""
    messages = Messages(quiet)
    with assigned(_messages, messages), _show_records(STREAM_LOG, note):
        yield messages


def _current() -> Messages:
    return _messages.get(Messages())


def report(message: str, code: int = 0) -> int:
    """Print a message on stderr, and return the exit code."""
    print_stderr(f"pdanon: {message}")
    return code


def note(text: str) -> None:
    """Collect a note, and print it on stderr unless the command is quiet."""
    messages = _current()
    messages.notes.append(text)
    if not messages.quiet:
        report(f"note: {text}")


def print_stderr(text: str) -> None:
    """Print a line on stderr."""
    if sys.stderr is not None:  # print(file=None) would write to stdout
        with suppress(OSError):  # the terminal may be closed
            print(escape_controls(mask_credentials(text)), file=sys.stderr)


def announce_files(paths: Iterable[Path | str]) -> None:
    """Print the files that a policy writes on stderr, unless the command is quiet."""
    if not _current().quiet:
        report(f"writes {', '.join(map(str, paths))}")


@contextmanager
def stage(what: str, *, has_bar: bool = False) -> Iterator[None]:
    """Name the running stage on stderr, and what it logs, if it takes long and shows no bar."""
    if (has_bar and SETTINGS["progress"]) or _current().quiet:
        yield
        return
    timer = Timer(PATIENCE, report, [f"{what} ..."])
    timer.daemon = True
    timer.start()
    try:
        with _show_records(LOG, lambda text: timer.is_alive() or report(text)):
            yield
    finally:
        timer.cancel()


@contextmanager
def _show_records(log: logging.Logger, show: Callable[[str], object]) -> Iterator[None]:
    """Show the records of a logger until the end of a block."""
    handler, level = logging.Handler(), log.level
    handler.emit = lambda record: show(record.getMessage())  # type: ignore[assignment, method-assign]
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Print warnings of a release on stderr in the form of errors, with hints for the command line."""

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, ReleaseWarning):
            default = _IF_USELESS if message.hint == REMEDY else message.hint
            remedy = {IdentifierWarning: _TO_KEEP, PersonsWarning: _IF_PARTS}.get(type(message), default)
            kind = type(message).__name__
            _current().warnings.append({"kind": kind, "what": message.what, "hint": remedy})
            report(f"warning: {message.what}" + (f"\n  hint:  {remedy}" if remedy else ""))
        else:
            usual(message, *where, **more)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.simplefilter("always", ReleaseWarning)
        warnings.showwarning = show
        yield


def can_show_progress() -> bool:
    """Whether a progress bar can be shown."""
    shown = not _current().quiet and sys.stderr is not None and sys.stderr.isatty()
    return shown and find_spec("tqdm") is not None


# --- Results of commands, at most one screen by default


_MOST = 30  # maximum number of lines
_MOST_NAMED = 6  # maximum number of names in a line


class _EscapingStream:
    """A stream that escapes control characters, so that names in a file cannot control the terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(escape_controls(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Escape control characters and what cannot be encoded in the output of the block, and flush it."""
    if sys.stdout is None:
        yield
        return
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    escaped: Any = _EscapingStream(sys.stdout)
    try:
        with redirect_stdout(escaped):
            yield
    finally:
        try:
            sys.stdout.flush()
        except OSError as error:  # exit code 0 would mislead
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards the rest of the buffer
            raise OSError(error.errno, error.strerror, "standard output") from None


def streamed_lines(result: Streamed) -> Lines:
    """Return the lines about the risk, the unmodified columns and the loss of a release of files."""
    yield from risk_lines(result.guarantee, result.risk)
    yield from unmodified_lines(result.unmodified, result.rows)
    yield from loss_lines(result.mapping, result.loss)
    yield from level_lines(result.levels)


def print_release(result: Anonymized | Streamed, measured: pd.DataFrame | None = None) -> None:
    """Print the algorithms that were tried, the release, and its alternatives if they were measured."""
    tried = result.tried
    if tried is not None:  # with one line for each reason not to try others
        completed = tried["seconds"].notna()
        _print(tried[completed].dropna(axis=1, how="all"))
        for reason, others in tried[~completed].groupby("reason", sort=False):
            print(f"not tried ({reason}): {'; '.join(others['algorithm'])}")
        print()
    if isinstance(result, Anonymized):
        print(result)
        if measured is not None:
            print_alternatives(measured)
        return
    print(f"Anonymized: {result.rows} rows, {result.parameters['algorithm']}")
    if result.sample is not None:
        print(f"  chosen     on a sample of {result.sample:,} of {result.rows:,} rows")
    print(f"  guarantee  {result.guarantee!r}, audited")
    for name, text, *_ in streamed_lines(result):
        print(f"  {name:<10} {text}")


def print_alternatives(measured: pd.DataFrame) -> None:
    """Print other releases, what their counts are off by, and their calls."""
    print("Instead, measured: errors of the counts of an item, a pair, a combination of quasi-identifiers.")
    print("The calls are in Python, and the table is called frame.")
    for line in measured.iloc[1:].to_dict("records"):
        errors = [line[name] for name in ("singles", "pairs", "values") if name in line]
        errors = [percent(each) for each in errors if not pd.isna(each)]
        found = line["reason"] if not errors else ", ".join(errors)
        print(f"  {line['change']}: {found}\n    -> {line['call']}")


def plan(reads: Iterable[Path | str], writes: Iterable[Path | str]) -> Outcome:
    """Return the files that a command would read and write, with links resolved."""
    reads = [mask_credentials(str(path)) for path in reads]
    written = []
    for path in writes:
        target = os.path.realpath(path) if isinstance(path, Path) and path.is_symlink() else None
        replaces = is_taken(path) if target is None else os.path.lexists(target)
        written.append({"path": str(path), "target": target, "replaces": replaces})

    def show() -> None:
        print("Dry run: nothing is written")
        for path in reads:
            print(f"  reads      {path}")
        for each in written:
            link = "" if each["target"] is None else f" -> {each['target']}"
            print(f"  {'replaces' if each['replaces'] else 'writes':<10} {each['path']}{link}")

    return Outcome({"reads": reads, "writes": written}, show, planned=True)


def print_risk(table: pd.DataFrame, *, whole: bool, path: Path | None) -> None:
    """Print the whole table of risks, or the risk of all rows for a few numbers of known items."""
    excerpt = table if whole or len(table) <= _MOST else of_few_known(table).reset_index()
    _print(excerpt.assign(items=excerpt["items"].astype("string").fillna("all")))
    if path is not None:
        print(f"written    {path}")
    elif len(excerpt) < len(table):
        print(f"{len(table) - len(excerpt):,} more lines, also by length of a row: --all, or --out FILE")


def print_comparison(table: pd.DataFrame, *, whole: bool) -> None:
    """Print the first configurations of a comparison, or all."""
    filled = table.dropna(axis=1, how="all")
    _print(filled if whole else filled.head(_MOST))
    if not whole and len(filled) > _MOST:
        print(f'{len(filled) - _MOST:,} more lines: --all, or comparison = "comparison.csv" in [outputs]')


def print_profile(profile: Profile) -> None:
    """Print a profile, at most one screen."""
    lines = repr(profile).splitlines()
    print("\n".join(lines[:_MOST]))
    if len(lines) > _MOST:
        print(f"{len(lines) - _MOST:,} more lines: --report FILE has all")


def print_tradeoff(trials: pd.DataFrame) -> None:
    """Print the loss and the risk for each k and m, and the reasons for missing releases."""
    completed = trials[trials["seconds"].notna()]
    if len(completed):
        _print(completed.drop(columns="reason").head(_MOST))
        print("below_k: the share of rows with fewer than k matches when m + 1 items are known")
    failed = trials[trials["seconds"].isna()]
    for reason, group in failed.groupby(failed["reason"].str.replace(";.*", "", regex=True), sort=False):
        pairs = [f"k={k} m={m}" for k, m in group[["k", "m"]].itertuples(index=False)]
        print(f"no release for {list_first(pairs, _MOST_NAMED)}: {reason}")
    if len(completed) > _MOST:
        print(f"{len(completed) - _MOST:,} more lines: --out FILE")


def _print(table: pd.DataFrame) -> None:
    print(table.to_string(index=False, na_rep="", float_format="{:.4g}".format))


# --- The JSON document that every command prints with --json; `output.schema.json` describes it. It holds
# counts, labels of columns, paths and published labels, but never the text of an item of the original


SCHEMA_VERSION = 1

# Fields of results that are tables of the release, are confidential, or may name items of the original.
_WITHHELD = ("frame", "mapping", "classes", "groups", "parameters", "trace", "frequent", "risk_table")


def document(
    command: str | None, outcome: Outcome | None, error: Exception | None, code: int, messages: Messages
) -> str:
    """Return the JSON document of a command, on one line; an outcome, or the error that ended it."""
    facts = None if outcome is None else outcome.facts
    if outcome is not None and outcome.files is not None:
        files = [{"name": name, "path": path} for name, path in outcome.files.items() if path is not None]
        facts = outcome.facts | {"files": files}
    content = {
        "schema_version": SCHEMA_VERSION,
        "pdanon": version("pdanon"),
        "command": command,
        "exit_code": code,
        "dry_run": outcome is not None and outcome.planned,
        "result": facts,
        "error": None if error is None else _parts(error),
        "warnings": messages.warnings,
        "notes": messages.notes,
    }
    return json.dumps(plain(content), allow_nan=False)


def _parts(error: Exception) -> dict[str, str | None]:
    """Return the parts of an error. Errors of other packages may hold items, so only their kind is known."""
    parts: dict[str, str | None] = dict.fromkeys(("what", "where", "got", "hint"))
    if isinstance(error, PdanonError):
        parts |= error.parts
    elif isinstance(error, OSError):
        parts |= {"what": cause_of(error), "where": error.filename and str(error.filename)}
    elif isinstance(error, MemoryError):
        parts["what"] = "not enough memory"
    else:
        parts |= {"what": "unexpected error", "hint": "the traceback is on standard error"}
    return {"kind": type(error).__name__, **parts}


def plain(value: Any) -> Any:
    """Return a value as plain data for JSON: tables as lists of rows, numbers that are not finite as None."""
    if value is None or isinstance(value, (bool, str)):
        return escape_controls(mask_credentials(value)) if isinstance(value, str) else value
    if isinstance(value, pd.DataFrame):
        return plain(value.to_dict("records"))
    if isinstance(value, pd.Series):
        return plain(value.to_dict())
    if isinstance(value, Guarantee):
        return _guarantee(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    # A number, a path or a label of a column.
    if pd.isna(value):
        return None
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else None
    return plain(str(value))


def _guarantee(guarantee: Guarantee) -> Facts:
    """Return the name of a guarantee, its text, and its parameters that name no items."""
    parameters = {each.name: getattr(guarantee, each.name) for each in fields(guarantee)}  # type: ignore[arg-type]
    shown = {
        name: value
        for name, value in parameters.items()
        if name in ("quasi", "columns", "m") or isinstance(value, (bool, Integral, Real))
    }
    return {"name": type(guarantee).__name__, "text": repr(guarantee), **plain(shown)}


def facts_of_release(result: Anonymized | Streamed) -> Facts:
    """Return the facts of a release: its algorithm, and all fields that may be shown."""
    refined = isinstance(result, Anonymized) and is_refined(result)
    facts = {"algorithm": result.parameters.get("algorithm"), "refined": refined, **shown_fields(result)}
    lines = headline(result) if isinstance(result, Anonymized) else streamed_lines(result)
    if isinstance(result, Anonymized):
        records = int(class_sizes(result.classes).sum()) if in_chunks(result) else None
        facts |= {"rows": len(result.frame), "records": records, "risk": result.risk}
    return {**facts, "summary": {name: text for name, text, *_ in lines}}


def facts_of_profile(profile: Profile) -> Facts:
    """Return a profile without the frequent items. Counts that could not be made are None."""
    facts = shown_fields(profile)
    facts["counts"] = {str(name).replace(" ", "_"): _counted(n) for name, n in profile.counts.items()}
    facts["lengths"] = profile.lengths.rename({"90 %": "percentile_90"})
    highest = [None if high >= MOST_ROWS else high for high in profile.supports["at_most"]]
    facts["supports"] = profile.supports.assign(at_most=pd.array(highest, "Int64"))
    at_risk = {name: map(_counted, profile.columns[name]) for name in ("values", "unique", "below_k")}
    counts = {name: pd.array([*each], "Int64") for name, each in at_risk.items()}
    facts["columns"] = profile.columns.assign(**counts)
    facts["alerts"] = [{"what": alert.what, "hint": alert.hint} for alert in profile.alerts]
    return facts


def shown_fields(value: Any) -> Facts:
    """Return the fields that may be shown."""
    return {each.name: getattr(value, each.name) for each in fields(value) if each.name not in _WITHHELD}


def _counted(count: int) -> int | None:
    return None if count < 0 else count
