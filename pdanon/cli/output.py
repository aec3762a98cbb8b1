"""Output of commands: results on stdout; errors, warnings and long stages on stderr."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from threading import Timer
from typing import Any

import pandas as pd

from pdanon.errors import IdentifierWarning, PersonsWarning, ReleaseWarning, escape_controls, mask_credentials
from pdanon.evaluation.metrics.risk import of_few_known
from pdanon.evaluation.profile import Profile
from pdanon.io.files import is_taken
from pdanon.itemsets.settings import SETTINGS
from pdanon.recoding.counts import loss_lines
from pdanon.recoding.result import Anonymized, unmodified_lines
from pdanon.recoding.risk import risk_lines
from pdanon.recoding.warnings import REMEDY
from pdanon.stream import Streamed

PATIENCE = 2.0  # seconds after which a running stage is named on stderr

_IF_USELESS = (
    "name no algorithm, so that all are tried, or choose a smaller k or m; for items also try sets instead "
    "of a hierarchy (pcta), or a hierarchy with more levels; for other columns name fewer of them as quasi"
)

_IF_PARTS = "name that column in --by, or leave it out of the file if rows need not be persons"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a command."""

    facts: dict[str, Any]  # for JSON: values that `plain` converts
    show: Callable[[], object]  # prints them as text
    code: int = 0
    planned: bool = False  # the plan of a dry run


@dataclass(slots=True)
class Messages:
    """Warnings and notes of a running command."""

    quiet: bool = False  # show neither notes nor progress
    warnings: list[dict[str, str | None]] = field(default_factory=list)  # kind, what and hint
    notes: list[str] = field(default_factory=list)


_messages: ContextVar[Messages] = ContextVar("messages")


@contextmanager
def collect_messages(*, quiet: bool) -> Iterator[Messages]:
    """Collect the warnings and notes of a block."""
    messages = Messages(quiet)
    token = _messages.set(messages)
    try:
        yield messages
    finally:
        _messages.reset(token)


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
    """Name the running stage on stderr, if it takes long and shows no bar."""
    timer = Timer(PATIENCE, report, [f"{what} ..."])
    timer.daemon = True
    if not (has_bar and SETTINGS["progress"]) and not _current().quiet:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def show_warnings(hint: str = "") -> Iterator[None]:
    """Print warnings of a release on stderr in the form of errors, with hints for the command line."""

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, ReleaseWarning):
            default = _IF_USELESS if message.hint == REMEDY else message.hint
            remedy = {IdentifierWarning: hint, PersonsWarning: _IF_PARTS}.get(type(message), default)
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
    """Escape control characters and text that cannot be encoded in the output of the block."""
    if sys.stdout is None:
        yield
        return
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    escaped: Any = _EscapingStream(sys.stdout)
    with redirect_stdout(escaped):
        yield


def print_result(result: Anonymized) -> None:
    """Print the algorithms that were tried, and the result."""
    print_tried(result.tried)
    print(result)


def streamed_lines(result: Streamed) -> Iterator[tuple[str, str]]:
    """Return the lines about the risk, the unmodified columns and the loss of a release of files."""
    yield from risk_lines(result.guarantee, result.risk)
    yield from unmodified_lines(result.unmodified, result.rows)
    yield from loss_lines(result.mapping, result.loss)


def print_streamed(result: Streamed) -> None:
    """Print a release of files."""
    print_tried(result.tried)
    print(f"Anonymized: {result.rows} rows, {result.parameters['algorithm']}")
    if result.sample is not None:
        print(f"  chosen     on a sample of {result.sample:,} of {result.rows:,} rows")
    print(f"  guarantee  {result.guarantee!r}, audited")
    for name, text in streamed_lines(result):
        print(f"  {name:<10} {text}")


def print_tried(tried: pd.DataFrame | None) -> None:
    """Print the algorithms that were tried, if any, and one line for each reason not to try others."""
    if tried is None:
        return
    completed = tried["seconds"].notna()
    _print(tried[completed].dropna(axis=1, how="all"))
    for reason, others in tried[~completed].groupby("reason", sort=False):
        print(f"not tried ({reason}): {'; '.join(others['algorithm'])}")
    print()


def plan(reads: Iterable[Path | str], writes: Iterable[Path | str]) -> Outcome:
    """Return the files that a command would read and write, with links resolved."""
    reads = [mask_credentials(str(path)) for path in reads]
    written = [_planned(path) for path in writes]

    def show() -> None:
        print("Dry run: nothing is written")
        for path in reads:
            print(f"  reads      {path}")
        for each in written:
            link = "" if each["target"] is None else f" -> {each['target']}"
            print(f"  {'replaces' if each['replaces'] else 'writes':<10} {each['path']}{link}")

    return Outcome({"reads": reads, "writes": written}, show, planned=True)


def _planned(path: Path | str) -> dict[str, Any]:
    if isinstance(path, str):
        return {"path": path, "target": None, "replaces": is_taken(path)}
    real = os.path.realpath(path)
    target = real if os.path.islink(path) else None
    return {"path": str(path), "target": target, "replaces": os.path.lexists(real)}


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
        pairs = [f"k={k} m={m}" for k, m in group[["k", "m"]].head(_MOST_NAMED).itertuples(index=False)]
        more = f" and {len(group) - _MOST_NAMED:,} more" if len(group) > _MOST_NAMED else ""
        print(f"no release for {', '.join(pairs)}{more}: {reason}")
    if len(completed) > _MOST:
        print(f"{len(completed) - _MOST:,} more lines: --out FILE")


def _print(table: pd.DataFrame) -> None:
    print(table.to_string(index=False, na_rep="", float_format="{:.4g}".format))
