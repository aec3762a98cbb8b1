"""Signals that end the command line. This file imports little: until it has run, they end Python itself."""

from __future__ import annotations

import os
import signal
import sys
from time import monotonic

__all__ = ["Ended", "end_at_signals", "ended", "ignore_signals", "raise_at_signals"]

_PATIENCE = 5.0  # seconds in which a further signal leaves a process that cleans up alone

# What ends a process from outside: Ctrl-C; `timeout`, schedulers and containers; a terminal that is closed.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_received: list[tuple[int, float]] = []  # the first signal, and when


class Ended(KeyboardInterrupt):
    """A signal has ended the command."""


def end_at_signals() -> None:
    """Let signals end this process with a word and a code, if it is the command and was just started."""
    if _is_command():
        for number in _SIGNALS:
            # One that is ignored stays so, as under nohup.
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, _end)


def raise_at_signals() -> None:
    """Let the first signal be an exception, so that what is being written is removed."""
    _replace(_end, _raise)


def ignore_signals() -> None:
    """Let nothing interrupt the end of a process that has done its work."""
    _replace(_raise, signal.SIG_IGN)


def ended(code: int) -> int:
    """Return the exit code: 128 and the number of the signal, if one was received, or else this one."""
    return 128 + _received[0][0] if _received else code


def _is_command() -> bool:
    """Whether this process is ``pdanon`` or ``python -m pdanon``, not a program that imports the package."""
    started = sys.argv[0] if sys.argv else ""
    if started == "-m":  # so it is until the module is found
        return sys.orig_argv[len(sys.orig_argv) - len(sys.argv)].removeprefix("-m") == "pdanon"
    return os.path.basename(started).removesuffix(".exe") == "pdanon" and "multiprocessing" not in sys.modules


def _replace(handler: object, other: object) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is handler:
            signal.signal(number, other)  # type: ignore[arg-type]


def _end(number: int, frame: object) -> None:
    """End at once, whatever is being imported."""
    try:
        if sys.stderr is not None:
            os.write(sys.stderr.fileno(), f"pdanon: {_word(number)}\n".encode())
    finally:  # also if the terminal is closed
        os._exit(128 + number)


def _raise(number: int, frame: object) -> None:
    """Raise at the first signal; a later one finds a process that cleans up, unless that lasts."""
    if not _received:
        _received.append((number, monotonic()))
        raise Ended(_word(number))
    if monotonic() - _received[0][1] > _PATIENCE:
        from pdanon.io.files import remove_drafts

        remove_drafts()
        _end(_received[0][0], frame)


def _word(number: int) -> str:
    return "interrupted" if number == signal.SIGINT else f"interrupted by {signal.Signals(number).name}"
