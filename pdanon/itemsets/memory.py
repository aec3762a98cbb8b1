"""Errors about memory that state what is needed, as early as possible."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from typing import ParamSpec, TypeVar

import pyarrow as pa

from pdanon.errors import OutOfMemoryError

try:
    import resource
except ImportError:  # Windows has no limits of this kind
    resource = None  # type: ignore[assignment]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_MB = 10**6
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50, "EiB": 2**60}
_NUMPY = re.compile(r"Unable to allocate ([\d.]+) (\w+)")
_ARROW = re.compile(r"alloc of size (\d+) failed")
# Phrases of messages of other errors.
_PHRASES = {
    "failed to map segment": "there is not enough memory to load a library",
    **dict.fromkeys(
        ("can't start new thread", "Failed to launch worker thread"),
        "there is not enough memory to start a thread",
    ),
}
_HINT = (
    "pass fewer rows, set PDANON_THREADS=1, or use pdanon.stream (--stream), which holds one row "
    "group of Parquet at a time"
)


def require_memory(n_bytes: int, purpose: str) -> None:
    """Check before the work that the process can allocate this much more memory at once."""
    try:
        # Reserves addresses, and touches no page. A large array would change how NumPy's memory is kept.
        mmap(-1, max(n_bytes, 1), access=ACCESS_COPY).close()
        return
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is None:  # not of the system, but of a signal's handler
            raise
    raise _error(f"there is not enough memory for {purpose}", n_bytes)


_SYSTEM = Path("/")
_AVAILABLE = re.compile(r"^MemAvailable: +(\d+)", re.MULTILINE)
_GROUPS = re.compile(r"^\d+:(|memory):/(.*)", re.MULTILINE)  # of Linux, in both versions


def fits(n_bytes: int) -> bool:
    """Whether this is at most half of what is left, as far as the system tells: half of a group's limit."""
    try:
        require_memory(2 * n_bytes, "the table")
        left = [int(each) * 1024 for each in _AVAILABLE.findall(_read("proc/meminfo"))]
        for kind, name in _GROUPS.findall(_read("proc/self/cgroup")):
            limit = "memory.limit_in_bytes" if kind else "memory.max"
            for group in (_SYSTEM / "sys/fs/cgroup" / kind / name / limit).parents:
                if (group / limit).exists() and (most := _read(group / limit).strip()).isdecimal():
                    left.append(int(most) // 2)
    except (OSError, OutOfMemoryError):
        return False
    return 2 * n_bytes <= min(left, default=0)


def _read(path: Path | str) -> str:
    return (_SYSTEM / path).read_text("utf-8", "replace")


def return_unused() -> None:
    """Return memory that was freed to the system: Arrow and the C library keep it, as much as a table."""
    pa.default_memory_pool().release_unused()
    _call_library("malloc_trim", 0)


def returning_unused(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a task of a worker: at its end, memory that was freed goes back to the system."""

    @wraps(function)
    def returning(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        finally:
            return_unused()

    return returning


_LARGE, _LARGEST = 2**20, 2**25  # bytes; the C library raises its own limit up to the second one
_MMAP_THRESHOLD = -3  # of mallopt


@contextmanager
def large_arrays_apart() -> Iterator[None]:
    """Let the C library map arrays of 1 MB or more apart, so that all their memory is returned when freed."""
    # By default it keeps arrays of up to 32 MB in heaps. If many are made and freed, the gaps of the heaps
    # take as much memory as the arrays. Afterwards, the limit is 32 MB for the rest of the process.
    _call_library("mallopt", _MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:
        _call_library("mallopt", _MMAP_THRESHOLD, _LARGEST)


def _call_library(name: str, *numbers: int) -> None:
    """Call a function of the C library of Linux; others do not have it."""
    if sys.platform == "linux" and (function := getattr(ctypes.CDLL(None), name, None)) is not None:
        function(*numbers)


def explain_memory(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a function: if memory is exhausted, it raises an `OutOfMemoryError`."""

    @wraps(function)
    def explained(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except (MemoryError, ImportError, RuntimeError) as error:
            refused = out_of_memory(error)
        # Raised outside the handler: the frames of the error hold the arrays that fill the memory.
        raise refused

    return explained


def out_of_memory(error: Exception) -> Exception:
    """Return the `OutOfMemoryError` for an error of Python, NumPy or Arrow; other errors as they are."""
    message = str(error)
    if isinstance(error, OutOfMemoryError):
        return error
    if not isinstance(error, MemoryError):
        problems = (_error(problem) for phrase, problem in _PHRASES.items() if phrase in message)
        return next(problems, error)
    numpy, arrow = _NUMPY.search(message), _ARROW.search(message)
    n_bytes = 0
    if numpy is not None:
        n_bytes = int(float(numpy[1]) * _UNITS.get(numpy[2], 0))
    elif arrow is not None:
        n_bytes = int(arrow[1])
    return _error("there is not enough memory", n_bytes)


def _error(problem: str, n_bytes: int = 0) -> OutOfMemoryError:
    got = f"{n_bytes / _MB:,.0f} MB or more are needed in addition" if n_bytes else None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if resource is not None else -1
    if resource is None or limit == resource.RLIM_INFINITY:
        return OutOfMemoryError(problem, got=got, hint=_HINT)
    hint = f"raise the limit, now ulimit -v {limit // 1024}; or {_HINT}"
    return OutOfMemoryError(problem, where="limit of the process", got=got, hint=hint)
