"""Files that are written whole or not at all, and errors that hold nothing of what was read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from pdanon.errors import FormatError, ParameterError, cause_of
from pdanon.itemsets.values import check_path, is_uri

__all__ = ["WriteError", "check_name", "named_as", "replacing", "replacing_all"]


class WriteError(FormatError, OSError):
    """A file cannot be written."""

    def __init__(self, path: str | os.PathLike[str], error: OSError) -> None:
        where = os.fspath(path)
        absent = not os.path.isdir(os.path.dirname(os.path.abspath(where)))
        hint = "make the directory first" if absent else None
        hint = "it is a directory: name a file in it" if os.path.isdir(where) else hint
        FormatError.__init__(self, "the file cannot be written", where=where, got=cause_of(error), hint=hint)
        self.errno = error.errno


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : path
        The file to write. If it exists, its permissions are kept.

    Yields
    ------
    pathlib.Path
        A new empty file in the same directory, to be written instead. When the block ends it replaces
        ``path`` in one step; when the block fails, for whatever reason, it is removed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pdanon.io.files import replacing
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "report.txt"
    ...     with replacing(path) as temporary:
    ...         _ = temporary.write_text("done")
    ...     print(path.read_text(), len(list(path.parent.iterdir())))
    done 1
    """
    with replacing_all([path]) as (temporary,), named_as(path):
        yield temporary


@contextmanager
def named_as(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system name the file that was asked for, not the hidden one that is to become it."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from None


@contextmanager
def replacing_all(paths: Iterable[str | os.PathLike[str]]) -> Iterator[list[Path]]:
    """Write several files whole, and all of them or none.

    Parameters
    ----------
    paths : iterable of path
        The files to write.

    Yields
    ------
    list of pathlib.Path
        A new empty file for each, as by `replacing`. When the block ends and all are safe on the disk, they
        replace the files one after the other, in the order given.
    """
    targets = [Path(os.path.realpath(_local(check_path(path)))) for path in paths]
    drafts = [target.with_name(f".{uuid4().hex}.tmp{target.suffix}") for target in targets]
    try:
        for draft, target in zip(drafts, targets, strict=True):
            _create(draft, target)
        yield drafts
        for draft, target in zip(drafts, targets, strict=True):
            with named_as(target), draft.open("rb+") as file:
                os.fsync(file.fileno())
        for draft, target in zip(drafts, targets, strict=True):
            with named_as(target):
                draft.replace(target)
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)


def _local(path: str) -> str:
    """A path on this machine: elsewhere nothing could be replaced in one step."""
    if is_uri(path):
        hint = "write it to this machine and copy it, or use the frame's own to_parquet"
        raise ParameterError("the path is a URI", where="path", got=path, hint=hint)
    return path


def _create(draft: Path, target: Path) -> None:
    """Make the empty file that is to replace another; an error names that other, not a hidden name."""
    with named_as(target):
        draft.touch(exist_ok=False)
    if target.exists():
        shutil.copymode(target, draft)


def check_name(path: str | os.PathLike[str]) -> None:
    """Check that a path, links followed, is UTF-8: Arrow takes no others."""
    real = os.path.realpath(check_path(path))
    if real != real.encode(errors="replace").decode():
        raise FormatError("the path is not UTF-8", where=real, hint="rename the file or its directory")
