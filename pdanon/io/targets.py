"""Targets: a release of files gets its name when it is whole, and one run at a time writes it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pandas as pd

from pdanon.errors import FormatError, ParameterError, cause_of
from pdanon.io.files import Draft, is_at, named_as
from pdanon.io.tables import write_confidential
from pdanon.io.trees import ParquetTree

__all__ = ["appearing", "check_absent", "check_mapping_file", "check_target", "claimed", "write_mapping"]


def check_target(target: Path, tree: ParquetTree) -> None:
    """Check that a release can be written to a path, which nothing has yet, and that none of it is read."""
    check_absent(target)
    if not target.absolute().parent.is_dir():
        raise ParameterError("the directory of the target does not exist", where="target", got=str(target))
    if tree.holds(target):
        hint = "the release would become part of what is read"
        raise ParameterError("the target is within the source", where="target", got=str(target), hint=hint)


def check_absent(target: Path) -> None:
    """Check that nothing has the name of a target: a directory cannot be replaced in one step."""
    _check_length(target)
    if os.path.lexists(target):
        hint = "remove it, or choose another name; nothing was read or written"
        raise ParameterError("the target exists", where="target", got=str(target), hint=hint)


def check_mapping_file(path: Path, target: Path, tree: ParquetTree) -> Path:
    """The path of the mapping, if a file can be written there that is neither read nor released."""
    _check_length(path)
    problem = hint = None
    if path.suffix.lower() not in (".parquet", ".csv"):
        problem = "must end in .parquet or .csv"
    elif path.is_dir():
        problem = "is a directory"
    elif tree.reads(path):
        problem, hint = "is within the source", "it would become part of what is read"
    elif Path(os.path.realpath(target)) in (real := Path(os.path.realpath(path)), *real.parents):
        problem, hint = "is within the target", "it would become part of the release"
    elif not path.absolute().parent.is_dir():
        problem = "is in a directory that does not exist"
    if problem:
        raise ParameterError(f"the mapping {problem}", where="mapping", got=str(path), hint=hint)
    return path


def _check_length(path: Path) -> None:
    """Check that the system can be asked for a file of this name, which may be too long."""
    with named_as(path), suppress(FileNotFoundError, NotADirectoryError):
        path.lstat()


@contextmanager
def claimed(target: Path) -> Iterator[None]:
    """Keep other runs from a target until the block, or the process, ends in whatever way."""
    # Of two runs the one that ends last would else replace the mapping of the other, whose target stays.
    lock = target.with_name(f".{uuid5(NAMESPACE_URL, target.name).hex}.lock")
    try:
        number = _locked(lock)
    except BlockingIOError:
        number = None
    except OSError as error:
        raise _unwritten("release", target, error) from error
    if number is None:
        hint = "wait until it has ended, or choose another name; nothing was read or written"
        raise ParameterError("another run writes to the target", where="target", got=str(target), hint=hint)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)  # first, so that nobody else can have locked what is removed
        os.close(number)


def _locked(path: Path) -> int:
    """Open and lock a file of this path."""
    import fcntl  # which not all systems have

    while True:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(path, number):
                return number
        except BaseException:
            os.close(number)
            raise
        os.close(number)  # removed in the meantime, by the run that had locked it


@contextmanager
def appearing(target: Path, before: Callable[[], object], *, directory: bool) -> Iterator[Path]:
    """Make a draft, a file or a directory, which becomes the target when the block ends well.

    ``before`` is called when all is ready but for the name.
    """
    draft = None
    try:
        draft = Draft(target, directory=directory)
        yield draft.path
        if os.path.lexists(target):
            raise ParameterError("the target has appeared in the meantime", where="target", got=str(target))
        for each in (path for path in (draft.path, *draft.path.rglob("*")) if path.is_dir()):
            _sync(each)
        before()
        draft.appear()
    except OSError as error:  # of writing: whatever cannot be read is a FormatError already
        raise _unwritten("release", target, error) from error
    finally:
        if draft is not None:
            draft.remove()
    _sync(target.absolute().parent)


def write_mapping(mapping: pd.DataFrame, path: Path | None) -> None:
    """Write the mapping, if it is asked for, so that it is there for good before what follows is."""
    if path is None:
        return
    try:
        write_confidential(mapping, path)
        _sync(Path(os.path.realpath(path)).parent)
    except OSError as error:
        raise _unwritten("mapping", path, error) from error


def _unwritten(what: str, path: Path, error: OSError) -> FormatError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    hint = "free some space, or write to another disk" if full else "check its directory"
    hint = f"{hint}; nothing is left of the release"
    return FormatError(f"the {what} cannot be written", where=str(path), got=cause_of(error), hint=hint)


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
