"""What is said on standard error: errors, warnings of a release, and what is going on if it takes long."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from threading import Timer
from typing import Any

from pdanon.errors import (
    IdentifierWarning,
    PersonsWarning,
    ReleaseWarning,
    escape_controls,
    mask_credentials,
)
from pdanon.recoding.useless import REMEDY

__all__ = ["PATIENCE", "bar", "print_aside", "say", "stage", "warned"]

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
