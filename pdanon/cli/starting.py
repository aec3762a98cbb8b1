"""Ctrl-C while the command line is still being loaded, which takes a second: it ends as it does later."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

__all__ = ["INTERRUPTED", "end_at_interrupts", "raise_interrupts"]

INTERRUPTED = 130  # the exit code


def end_at_interrupts() -> None:
    """Let Ctrl-C end this process with a word and a code, if it is the command and was just started."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_interrupts() -> None:
    """Let Ctrl-C be an exception again, for whoever catches it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    """Whether this process is ``pdanon`` or ``python -m pdanon``, not a program that imports the package."""
    started = sys.argv[0] if sys.argv else ""
    if started == "-m":  # so it is until the module is found
        return sys.orig_argv[len(sys.orig_argv) - len(sys.argv)].removeprefix("-m") == "pdanon"
    return os.path.basename(started).removesuffix(".exe") == "pdanon" and "multiprocessing" not in sys.modules


def _end(number: int, frame: FrameType | None) -> None:
    if sys.stderr is not None:
        os.write(sys.stderr.fileno(), b"pdanon: interrupted\n")  # at once, whatever is being written
    os._exit(INTERRUPTED)
