"""What is said on standard error: errors, warnings of a release, and what is going on if it takes long."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from threading import Timer
from typing import Any

import pandas as pd

from pdanon.errors import IdentifierWarning, PersonsWarning, ReleaseWarning, escape_controls, mask_credentials
from pdanon.evaluation.metrics.risk import of_few_known
from pdanon.evaluation.profile import Profile
from pdanon.recoding.result import Anonymized
from pdanon.recoding.warnings import REMEDY

__all__ = [
    "PATIENCE",
    "bar",
    "escaped_output",
    "print_aside",
    "print_compared",
    "print_plan",
    "print_profile",
    "print_result",
    "print_risk",
    "print_tradeoff",
    "say",
    "stage",
    "warned",
]

PATIENCE = 2.0  # seconds until a stage that is not done is named on stderr

_IF_USELESS = (
    "name no algorithm, so that all are tried, or choose a smaller k or m; for items also sets instead of a "
    "hierarchy (pcta), or a hierarchy with more levels; for other columns fewer of them as quasi"
)

_IF_PARTS = "name that column in --by, or leave it out of the file if a row need not be a person"


def say(message: str, code: int = 0) -> int:
    """Print a message on stderr, and return the exit code that goes with it."""
    print_aside(f"pdanon: {message}")
    return code


def print_aside(text: str) -> None:
    """Print a line on stderr."""
    if sys.stderr is not None:  # else it would be printed as a result
        with suppress(OSError):  # of a terminal that is closed
            print(escape_controls(mask_credentials(text)), file=sys.stderr)


@contextmanager
def stage(what: str, *, announced: bool = True) -> Iterator[None]:
    """Say on stderr what is going on, if it takes long."""
    timer = Timer(PATIENCE, say, [f"{what} ..."])
    timer.daemon = True
    if announced:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def warned(hint: str = "") -> Iterator[None]:
    """Say on stderr what warns of a release, as errors are said, with what can be done about it here."""

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if isinstance(message, ReleaseWarning):
            said = _IF_USELESS if message.hint == REMEDY else message.hint
            remedy = {IdentifierWarning: hint, PersonsWarning: _IF_PARTS}.get(type(message), said)
            say(f"warning: {message.what}\n  hint:  {remedy}")
        else:
            usual(message, *where, **more)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.simplefilter("always", ReleaseWarning)
        warnings.showwarning = show
        yield


def bar() -> bool:
    """Whether a progress bar can be shown."""
    return sys.stderr is not None and sys.stderr.isatty() and find_spec("tqdm") is not None


# --- What a command prints: no more than a screen, unless more is asked for


_MOST = 30  # rows of a table, or lines
_MOST_NAMED = 6  # in a line


class _Escaped:
    """A stream in which names from a file cannot control the terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(escape_controls(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def escaped_output() -> Iterator[None]:
    """Escape what is printed within, as far as it would control a terminal or cannot be encoded."""
    if sys.stdout is None:
        yield
        return
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    escaped: Any = _Escaped(sys.stdout)
    with redirect_stdout(escaped):
        yield


def print_result(result: Anonymized) -> None:
    """Print a result, after what was tried, and in a line for each reason what was not."""
    if result.tried is not None:
        ran = result.tried["seconds"].notna()
        _print(result.tried[ran].dropna(axis=1, how="all"))
        for reason, left in result.tried[~ran].groupby("reason", sort=False):
            print(f"not tried ({reason}): {'; '.join(left['algorithm'])}")
        print()
    print(result)


def print_plan(reads: Iterable[Path | str], writes: Iterable[Path]) -> int:
    """Print what a command would read and write, with what links lead to; return its exit code."""
    print("Dry run: nothing is written")
    for path in reads:
        print(f"  reads      {mask_credentials(str(path))}")
    for path in writes:
        does = "replaces" if os.path.lexists(os.path.realpath(path)) else "writes"
        real = os.path.realpath(path)
        print(f"  {does:<10} {path}{f' -> {real}' if os.path.islink(path) else ''}")
    return 0


def print_risk(table: pd.DataFrame, *, whole: bool, path: Path | None) -> None:
    """Print the risk of all rows, for a few numbers of known items; or all that was counted."""
    shown = table if whole or len(table) <= _MOST else of_few_known(table).reset_index()
    _print(shown.assign(items=shown["items"].astype("string").fillna("all")))
    if path is not None:
        print(f"written    {path}")
    elif len(shown) < len(table):
        print(f"{len(table) - len(shown):,} lines more, also by length of a row: --all, or --out FILE")


def print_compared(table: pd.DataFrame, *, whole: bool) -> None:
    """Print what was compared: the first configurations, or all."""
    shown = table.dropna(axis=1, how="all")
    _print(shown if whole else shown.head(_MOST))
    if not whole and len(shown) > _MOST:
        print(f'{len(shown) - _MOST:,} lines more: --all, or comparison = "comparison.csv" in [outputs]')


def print_profile(profile: Profile) -> None:
    """Print a first look, up to as many lines as a screen has."""
    lines = repr(profile).splitlines()
    print("\n".join(lines[:_MOST]))
    if len(lines) > _MOST:
        print(f"{len(lines) - _MOST:,} lines more: --report FILE has all")


def print_tradeoff(trials: pd.DataFrame) -> None:
    """Print what each k and m costs, and why there is no release for some."""
    made = trials[trials["seconds"].notna()]
    if len(made):
        _print(made.drop(columns="reason").head(_MOST))
        print("below_k: the share of rows that who knows one item more than m finds among fewer than k")
    failed = trials[trials["seconds"].isna()]
    for reason, left in failed.groupby(failed["reason"].str.replace(";.*", "", regex=True), sort=False):
        asked = [f"k={k} m={m}" for k, m in left[["k", "m"]].head(_MOST_NAMED).itertuples(index=False)]
        more = f" and {len(left) - _MOST_NAMED:,} more" if len(left) > _MOST_NAMED else ""
        print(f"no release for {', '.join(asked)}{more}: {reason}")
    if len(made) > _MOST:
        print(f"{len(made) - _MOST:,} lines more: --out FILE")


def _print(table: pd.DataFrame) -> None:
    print(table.to_string(index=False, na_rep="", float_format="{:.4g}".format))
