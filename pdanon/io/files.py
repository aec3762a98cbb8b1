"""Files that are written whole or not at all, and errors that hold nothing of what was read.

A file is a *draft* until it is complete: hidden, beside its target, and readable by its owner alone.
"""

from __future__ import annotations

import codecs
import errno
import os
import platform
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from pdanon.errors import FormatError, ParameterError, cause_of
from pdanon.itemsets.validation import check_path, is_uri, quote_word

__all__ = [
    "Draft",
    "WriteError",
    "check_encoding",
    "check_name",
    "check_replaceable",
    "hidden_path",
    "is_at",
    "line_not_in",
    "name_in_errors",
    "new_directory",
    "remove_drafts",
    "replace_file",
    "replace_files",
]

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there, and drafts of other processes stay
    fcntl = None  # type: ignore[assignment]


_OWNER = 0o600
_SLOTS = 8  # names of drafts of one target that are looked at

# Drafts of this process, each with its open and locked file; none yet, if it is just being made.
_OWN: dict[Path, list[int]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OWN.clear)


class WriteError(FormatError, OSError):
    """A file cannot be written."""

    def __init__(self, path: str | os.PathLike[str], error: OSError) -> None:
        where = os.fspath(path)
        absent = not os.path.isdir(os.path.dirname(os.path.abspath(where)))
        hint = "make the directory first" if absent else None
        hint = "it is a directory: name a file in it" if os.path.isdir(where) else hint
        hint = "choose a shorter name" if error.errno == errno.ENAMETOOLONG else hint
        FormatError.__init__(self, "the file cannot be written", where=where, got=cause_of(error), hint=hint)
        self.errno = error.errno


class Draft:
    """A file or directory that is being written, hidden beside its target, until it gets that name.

    Parameters
    ----------
    target : pathlib.Path
        What it is to become, links resolved. A draft of a draft is that draft itself.
    directory : bool
        Make a directory, else a file.

    Notes
    -----
    A draft is named after its target and the host. Its process holds a lock on it. A draft of this host that
    nobody has locked is left over from a process that was killed: it is removed when a draft of the same
    target is made. Drafts of other hosts stay, since not every file system shows their locks.
    """

    def __init__(self, target: Path, *, directory: bool = False, confidential: bool = False) -> None:
        self.target = self.path = target
        self._mode = _OWNER if confidential else 0o666  # that a new target gets, less the umask
        if target in _OWN:
            return
        names = [hidden_path(target, f"{number}.tmp{target.suffix}") for number in range(_SLOTS)]
        for path in names:
            _remove_abandoned(path)
        names.append(hidden_path(target, f"{uuid4().hex}.tmp{target.suffix}"))  # if all others are taken
        next(path for path in names if self._make(path, directory))

    def appear(self) -> None:
        """Replace the target in one step, and keep its permissions."""
        if self.path == self.target:
            return
        with suppress(FileNotFoundError):
            self._mode = stat.S_IMODE(self.target.stat().st_mode)
        self.path.chmod(self._mode)
        self.path.replace(self.target)

    def remove(self) -> None:
        """Remove what has not appeared."""
        if self.path != self.target:
            _remove_own(self.path)
            _close(_OWN.pop(self.path, []))

    def _make(self, path: Path, directory: bool) -> bool:
        """Make a file or directory and lock it, unless its name is taken."""
        numbers: list[int] = []
        made = False
        if _OWN.setdefault(path, numbers) is not numbers:
            return False  # by another thread
        try:
            if directory:
                path.mkdir(0o700)
            else:
                numbers.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, self._mode))
                self._mode = stat.S_IMODE(os.fstat(numbers[0]).st_mode)
            made = True
            path.chmod(0o700 if directory else _OWNER)
            if fcntl is None:  # where what is open cannot be renamed
                _close(numbers)
            else:
                numbers[:] = numbers or [os.open(path, os.O_RDONLY)]
                if not _lock(numbers[0]) or not is_at(path, numbers[0]):
                    raise FileNotFoundError
            if directory:
                probe = path / "probe"
                probe.mkdir()
                self._mode = stat.S_IMODE(probe.stat().st_mode)
                probe.rmdir()
        except (FileExistsError, FileNotFoundError) as error:
            _close(_OWN.pop(path))
            if made or isinstance(error, FileExistsError):
                return False  # another process has it, or has removed it before it was locked
            raise
        except BaseException:
            self.path = path
            self.remove()
            raise
        self.path = path
        return True


def hidden_path(target: Path, end: str) -> Path:
    """Return the path of a hidden file beside a target, by the target's name and the host."""
    of, host = (sha256(os.fsencode(name)).hexdigest() for name in (target.name, platform.node()))
    return target.with_name(f".{of[:16]}.{host[:8]}.{end}")


def is_at(path: Path, number: int) -> bool:
    """Tell whether an open file is what a path leads to."""
    try:
        return os.path.samestat(os.fstat(number), path.lstat())
    except FileNotFoundError:
        return False


def remove_drafts() -> None:
    """Remove all drafts of this process, before it ends at once."""
    for path in list(_OWN):
        with suppress(OSError):
            _remove_own(path)


def _remove_own(path: Path) -> None:
    if fcntl is None or any(is_at(path, number) for number in _OWN.get(path, [])):
        _delete(path)
    else:  # another process may have taken the name
        _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    """Remove a draft whose process has ended: its lock can be had."""
    if fcntl is None:
        return
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR
    try:
        number = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # there is none, or it is somebody else's
        return
    try:
        if _lock(number, unknown=False) and is_at(path, number):
            _delete(path)
    finally:
        os.close(number)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _close(numbers: list[int]) -> None:
    while numbers:
        os.close(numbers.pop())


def _lock(number: int, *, unknown: bool = True) -> bool:
    """Lock an open file, unless another process has; return ``unknown`` where files cannot be locked."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unknown
    return True


# --- Writing


@contextmanager
def replace_file(path: str | os.PathLike[str], *, confidential: bool = False) -> Iterator[Path]:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : path
        The file to write. If it exists, its permissions are kept.
    confidential : bool
        Let only the owner read a new file.

    Yields
    ------
    pathlib.Path
        A new empty file in the same directory, which only the owner can read, to be written instead. When
        the block ends it replaces ``path`` in one step; when the block fails, it is removed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pdanon.io.files import replace_file
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "report.txt"
    ...     with replace_file(path) as temporary:
    ...         _ = temporary.write_text("done")
    ...     print(path.read_text(), len(list(path.parent.iterdir())))
    done 1
    """
    with replace_files([path], [path] if confidential else []) as (temporary,), name_in_errors(path):
        yield temporary


@contextmanager
def name_in_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system name the file that was asked for, not the hidden one that is to become it."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from None


@contextmanager
def replace_files(
    paths: Iterable[str | os.PathLike[str]],
    confidential: Collection[str | os.PathLike[str]] = (),
    *,
    overwrite: bool = True,
) -> Iterator[list[Path]]:
    """Write several files whole, and all of them or none.

    Parameters
    ----------
    paths : iterable of path
        The files to write.
    confidential : collection of path
        Those of them that only their owner may read if they are new.
    overwrite : bool
        Replace files that exist.

    Yields
    ------
    list of pathlib.Path
        A new empty file for each, as by `replace_file`. When the block ends and all are safe on the disk,
        they replace the files one after the other, in the order given.
    """
    paths = list(paths)
    targets = [Path(os.path.realpath(_local(check_path(path)))) for path in paths]
    drafts: list[Draft] = []
    try:
        for path, target in zip(paths, targets, strict=True):
            check_replaceable(target, overwrite=overwrite)
            with name_in_errors(target):
                drafts.append(Draft(target, confidential=path in confidential))
        yield [draft.path for draft in drafts]
        for draft in drafts:
            with name_in_errors(draft.target), draft.path.open("rb+") as file:
                os.fsync(file.fileno())
        for target in targets:
            check_replaceable(target, overwrite=overwrite)
        for draft in drafts:
            with name_in_errors(draft.target):
                draft.appear()
    finally:
        for draft in drafts:
            draft.remove()


@contextmanager
def new_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a directory whole or not at all.

    Parameters
    ----------
    path : path
        The directory to write, which must not exist.

    Yields
    ------
    pathlib.Path
        A new empty directory, which gets this name when the block ends. When the block fails, it is removed.
    """
    target = Path(os.path.abspath(_local(check_path(path))))
    if os.path.lexists(target):
        hint = "choose a name that nothing has yet; nothing was written"
        raise ParameterError("the directory exists", where=str(target), hint=hint)
    with name_in_errors(target):
        draft = Draft(target, directory=True)
    try:
        yield draft.path
        with name_in_errors(target):
            draft.appear()
    finally:
        draft.remove()


def check_replaceable(target: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Check that a file can be written: nothing is there, links followed, or a file that may be replaced.

    Parameters
    ----------
    target : path
        The file.
    overwrite : bool
        Whether it may be replaced.
    """
    path = Path(os.path.realpath(target))
    if path in _OWN or not os.path.lexists(path):
        return
    if not path.is_file() and not path.is_dir():  # of a directory, the system says it
        hint = "name a file; a pipe or a device is never replaced"
        raise FormatError("this is no regular file", where=os.fspath(target), hint=hint)
    if not overwrite:
        hint = "pass --overwrite (overwrite=True) to replace it, or choose another name"
        raise ParameterError("the file exists", where=os.fspath(target), hint=hint)


def _local(path: str) -> str:
    """A path on this machine: elsewhere nothing could be replaced in one step."""
    if is_uri(path):
        hint = "write it to this machine and copy it, or use the frame's own to_parquet"
        raise ParameterError("the path is a URI", where="path", got=path, hint=hint)
    return path


def check_name(path: str | os.PathLike[str]) -> None:
    """Check that a path, links followed, is UTF-8: Arrow takes no others."""
    real = os.path.realpath(check_path(path))
    if real != real.encode(errors="replace").decode():
        raise FormatError("the path is not UTF-8", where=real, hint="rename the file or its directory")


# --- Encodings of text files: which there are, and where a file is in another one


_CHUNK = 2**20  # bytes


def check_encoding(encoding: str) -> str:
    """Check that there is an encoding, of text."""
    try:
        known = codecs.lookup(encoding)
        if known._is_text_encoding:
            return known.name
    except (LookupError, TypeError, ValueError):
        pass
    hint = "such as utf-8, latin-1 or cp1252"
    raise ParameterError("there is no such encoding", where="encoding", got=quote_word(encoding), hint=hint)


def line_not_in(path: Path | str, encoding: str) -> int | None:
    """The first line of a file, from 1 on, that is not in an encoding, if there is one."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with pa.input_stream(str(path)) as file:  # which unpacks what ends in .gz
        while True:
            chunk = file.read(_CHUNK)
            try:
                line += decoder.decode(chunk, final=not chunk).count("\n")
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].decode(encoding, "replace").count("\n")
            if not chunk:
                return None
