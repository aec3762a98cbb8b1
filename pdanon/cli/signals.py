"""Signals that end the command line."""

from __future__ import annotations

import os
import signal
import sys
from time import monotonic
from types import TracebackType

_PATIENCE = 5.0  # seconds for cleaning up, during which further signals are ignored

# Ctrl-C; `timeout`, schedulers and containers; a closed terminal.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_NO_MEMORY = (
    "pdanon: error: there is not enough memory to load the program\n"
    "  hint:  raise the limit of the process, such as ulimit -v 2000000\n"
)

_received: list[tuple[int, float]] = []  # the first signal, and when


class Interruption(KeyboardInterrupt):
    """The end of a command by a signal."""


def end_at_signals() -> None:
    """Let signals, and imports without memory, end the command with a message and an exit code."""
    if _is_command():
        for number in _SIGNALS:
            # A signal that is ignored stays ignored, as under nohup.
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, _end)
        sys.excepthook = _report_memory


def raise_at_signals() -> None:
    """Let the first signal raise an exception, so that drafts are removed."""
    _replace(_end, _raise)


def ignore_signals() -> None:
    """Ignore signals at the end of a process that has done its work, and raise one that was lost.

    C code that asks whether an object has an attribute discards any exception, also that of a signal.
    """
    _replace(_raise, signal.SIG_IGN)
    if _received:
        raise Interruption(_message(_received[0][0]))


def exit_code(code: int) -> int:
    """Return 128 plus the number of the signal if one was received, else ``code``."""
    return 128 + _received[0][0] if _received else code


def _is_command() -> bool:
    """Whether this process is ``pdanon`` or ``python -m pdanon``, not a program that imports the package."""
    program = sys.argv[0] if sys.argv else ""
    if program == "-m":  # argv[0] until Python has found the module
        return sys.orig_argv[len(sys.orig_argv) - len(sys.argv)].removeprefix("-m") == "pdanon"
    return os.path.basename(program).removesuffix(".exe") == "pdanon" and "multiprocessing" not in sys.modules


def _replace(handler: object, other: object) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is handler:
            signal.signal(number, other)  # type: ignore[arg-type]


def _end(number: int, frame: object) -> None:
    """End the process at once, also during imports."""
    _exit(f"pdanon: {_message(number)}\n", 128 + number)


def _exit(text: str, code: int) -> None:
    """End the process with a message and a code, also if the terminal is closed."""
    try:
        if sys.stderr is not None:
            os.write(sys.stderr.fileno(), text.encode())
    finally:
        os._exit(code)


def _report_memory(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End the process if the memory does not suffice for imports: Python's exit code 1 is a verdict."""
    # Python that cannot even make the exception fails by a SystemError.
    if isinstance(error, (MemoryError, SystemError)) or "failed to map segment" in str(error):
        _exit(_NO_MEMORY, 2)
    sys.__excepthook__(kind, error, trace)


def _raise(number: int, frame: object) -> None:
    """Raise at the first signal; end at a later one if cleaning up takes long."""
    if not _received:
        _received.append((number, monotonic()))
        raise Interruption(_message(number))
    if monotonic() - _received[0][1] > _PATIENCE:
        from pdanon.io.files import remove_drafts

        remove_drafts()
        _end(_received[0][0], frame)


def _message(number: int) -> str:
    return "interrupted" if number == signal.SIGINT else f"interrupted by {signal.Signals(number).name}"
