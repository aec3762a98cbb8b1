"""Targets of streams: files or directories that appear whole or not at all, for one run at a time."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import NAMESPACE_URL, uuid4, uuid5

from pdanon.errors import FormatError, ParameterError, cause_of
from pdanon.io.files import create_draft, directory_of_others, is_at, is_taken, name_in_errors
from pdanon.io.trees import ParquetTree


def check_target(target: Path | str, *sources: ParquetTree) -> None:
    """Check that a release can be written to a path or URI, which must not exist or be in a source."""
    check_absent(target)
    if isinstance(target, Path) and not target.absolute().parent.is_dir():
        raise ParameterError("the directory of the target does not exist", where="target", got=str(target))
    if any(source.holds(target) for source in sources):
        hint = "the release would become part of the source"
        raise ParameterError("the target is within the source", where="target", got=str(target), hint=hint)


def check_absent(target: Path | str) -> None:
    """Check that a target does not exist, as a directory cannot be replaced in one step."""
    if isinstance(target, Path):
        _check_length(target)
    if is_taken(target):
        hint = "remove it, or pass another target; nothing was read or written"
        raise ParameterError("the target exists", where="target", got=str(target), hint=hint)


def check_mapping_file(path: Path, target: Path | str, tree: ParquetTree) -> Path:
    """Return the path of the mapping if it can be written there: neither in the source nor in the target."""
    _check_length(path)
    problem = hint = None
    if path.suffix.lower() not in (".parquet", ".csv"):
        problem = "must end in .parquet or .csv"
    elif path.is_dir():
        problem = "is a directory"
    elif tree.reads(path):
        problem, hint = "is within the source", "it would become part of the source"
    elif Path(os.path.realpath(target)) in (real := Path(os.path.realpath(path)), *real.parents):
        problem, hint = "is within the target", "it would become part of the release"
    elif not path.absolute().parent.is_dir():
        problem = "is in a directory that does not exist"
    if problem:
        raise ParameterError(f"the mapping {problem}", where="mapping", got=str(path), hint=hint)
    return path


def _check_length(path: Path) -> None:
    """Check that the file system accepts the length of a path."""
    with name_in_errors(path), suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


@contextmanager
def lock_target(target: Path | str) -> Iterator[None]:
    """Keep other runs from writing to a target until the block, or the process, ends."""
    # Object storage has no locks: there, another run is noticed when both have written.
    if isinstance(target, str):
        yield
        return
    # Otherwise a second run could replace the mapping of the first, whose release is at the target.
    lock = target.with_name(f".{uuid5(NAMESPACE_URL, target.name).hex}.lock")
    number = None
    with report_write_errors(target), suppress(BlockingIOError):
        number = _lock(lock)
    if number is None:
        hint = "wait for its end, or pass another target; nothing was read or written"
        raise ParameterError("another run writes to the target", where="target", got=str(target), hint=hint)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # before unlocking, so that no other run can hold the removed file
        os.close(number)


def _lock(path: Path) -> int:
    """Open and lock the file of a path."""
    import fcntl  # not available on all systems

    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(path, number):
                return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)  # another run, which held the lock, removed the file in the meantime


@contextmanager
def draft_target(target: Path | str, before: Callable[[], object], *, directory: bool) -> Iterator[Path]:
    """Create a temporary file or directory that becomes the target if the block ends without an error."""
    # ``before`` is called when everything is written, before the target gets its name.
    with report_write_errors(target):
        draft = create_draft(target, directory=directory)
        try:
            yield draft.path
            if is_taken(target):
                what = "the target was created by another process"
                raise ParameterError(what, where="target", got=str(target))
            for each in (path for path in (draft.path, *draft.path.rglob("*")) if path.is_dir()):
                _sync(each)
            before()
            draft.publish()
        finally:
            draft.remove()
    if isinstance(target, Path):
        _sync(target.absolute().parent)  # the new name is then on the disk, too


@contextmanager
def shared_target(target: Path | str) -> Iterator[Path | str]:
    """Create a directory for the files of other processes, which become the target if the block succeeds."""
    # Only this run knows its name: processes that outlive an earlier run cannot write to it, and no process
    # can when the block has ended. A URI is marked as incomplete instead.
    if isinstance(target, str):
        with directory_of_others(target):
            yield target
        return
    with draft_target(target, lambda: None, directory=True) as draft:
        shared = draft / uuid4().hex
        shared.mkdir()
        try:
            yield shared
            for path in shared.glob("[!.]*"):
                path.rename(draft / path.name)
        finally:
            shutil.rmtree(shared.rename(draft / f".{shared.name}"))


def write_mapping(write: Callable[[Path], object], path: Path | None) -> None:
    """Write the mapping by a function, if a path is given, and flush its name to the disk."""
    if path is None:
        return
    with report_write_errors(path, "mapping"):
        write(path)
        _sync(Path(os.path.realpath(path)).parent)


@contextmanager
def report_write_errors(path: Path | str, what: str = "release") -> Iterator[None]:
    """Raise errors of the system, from writing, as those of a release: reading raises others."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        hint = "free some space, or write to another disk" if full else "check its directory"
        hint, got = f"{hint}; nothing is left of the release", cause_of(error)
        problem = f"the {what} cannot be written"
        raise FormatError(problem, where=str(path), got=got, hint=hint) from error


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
