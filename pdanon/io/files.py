"""Files of this machine and of URIs, written whole or not at all."""

# A file is a *draft* until it is complete: hidden, in the directory of its target, and readable only by its
# owner. The draft of a file on another machine is in the temporary directory of this one.

from __future__ import annotations

import codecs
import errno
import os
import platform
import shutil
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from pdanon.errors import FormatError, ParameterError, cause_of, mask_credentials, read_safely, remedy_of
from pdanon.itemsets.validation import FilePath, check_path, is_uri, quote_word

try:
    import fcntl
except ImportError:  # on Windows there are no locks, and drafts of other processes stay
    fcntl = None  # type: ignore[assignment]

# A directory on object storage cannot be renamed. Its release is complete when the first file is gone and the
# second is there. Readers skip files that begin with "_".
INCOMPLETE, _COMPLETE = "_INCOMPLETE", "_SUCCESS"

_Result = TypeVar("_Result")
_UNKNOWN = "Unrecognized filesystem type in URI"  # of Arrow


def is_local(filesystem: fs.FileSystem) -> bool:
    """Return whether a file system is that of this machine."""
    return isinstance(filesystem, fs.LocalFileSystem)


def is_utf8(name: str) -> bool:
    """Return whether a name is UTF-8, as Arrow requires."""
    return name == name.encode(errors="replace").decode()


def display_path(path: FilePath, filesystem: fs.FileSystem | None) -> str:
    """Return a path for messages: on another machine a URI, without credentials and options."""
    if filesystem is None or is_local(filesystem):
        return os.fspath(path)
    return f"{filesystem.type_name.removeprefix('py::fsspec+')}://{os.fspath(path).lstrip('/')}"


def resolve(source: FilePath) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path or URI, and the path in it."""
    text = os.fsdecode(source)
    if not is_uri(text):
        # ".." after a link leads to the parent of the link's target, which `abspath` ignores.
        path = os.path.realpath(text) if ".." in text.split("/") else os.path.abspath(text)
        _check_utf8(path)
        return fs.LocalFileSystem(), path
    if "#" in text or (text.startswith("file:") and "?" in text):
        hint = "in a URI, write '#' as %23 and '?' as %3F"
        raise FormatError("the end of the URI does not belong to the path", where=text, hint=hint)
    return read_safely(lambda: _open_uri(text), text, "Parquet")


def _open_uri(text: str) -> tuple[fs.FileSystem, str]:
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(text)
        return found
    except pa.ArrowInvalid as error:
        if _UNKNOWN not in str(error):
            raise
        problem = error
    scheme = text.partition("://")[0].lower()  # which Arrow does not know
    try:
        import fsspec
    except ImportError:
        raise problem from None
    if scheme not in fsspec.available_protocols():
        raise problem
    try:
        filesystem, path = fsspec.url_to_fs(text)
        return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path
    except ImportError as error:
        hint = str(error)  # the package to install
    raise FormatError(f"no package for {scheme}:// is installed", where=text, hint=hint)


def locate(source: FilePath) -> Path | str:
    """Return a path, also for a URI of this machine, or the URI of another machine."""
    text = os.fspath(source)
    if text.lower().startswith("file:"):
        return Path(resolve(text)[1])
    return text if is_uri(text) else Path(text)


def locate_target(target: FilePath, name: str = "target") -> Path | str:
    """Return a path or URI to write, as `locate`."""
    # A URI with credentials is refused, as results, reports and logs show the path of a release.
    place = locate(target)
    if isinstance(place, str):
        refuse_credentials(place, name)
    return place


def refuse_credentials(uri: str, where: str) -> None:
    """Check that a URI holds no credentials."""
    if mask_credentials(uri) != uri:
        hint = "set them in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise ParameterError("the URI holds credentials", where=where, got=uri, hint=hint)


def is_same(first: Path | str, second: Path | str) -> bool:
    """Return whether two paths or URIs lead to the same file, links followed."""
    if isinstance(first, Path) and isinstance(second, Path):
        exist = first.exists() and second.exists()
        return first.samefile(second) if exist else os.path.realpath(first) == os.path.realpath(second)
    # Other options of a URI, such as another name of the endpoint, may lead to the same place.
    (one, path), (other, place) = resolve(first), resolve(second)
    return bool(one.type_name == other.type_name and path == place)


def suffix_of(path: FilePath) -> str:
    """Return the suffix of a path or URI in lower case.

    >>> suffix_of("s3://bucket/out.CSV?region=eu"), suffix_of("a.parquet?")
    ('.csv', '.parquet?')
    """
    return Path(str(path).partition("?")[0] if is_uri(path) else path).suffix.lower()


def join_name(directory: Path | str, name: str | None) -> Path | str:
    """Return the path or URI of a file in a directory; without a name, that of the directory.

    >>> join_name("s3://bucket/out?region=eu", "part.parquet")
    's3://bucket/out/part.parquet?region=eu'
    """
    if name is None:
        return directory
    if isinstance(directory, Path):
        return directory / name
    path, mark, query = directory.partition("?")
    return f"{path.rstrip('/')}/{name}{mark}{query}"


def kind_of(uri: str) -> fs.FileType:
    """Return the kind of a target: a file, a directory, or nothing."""
    filesystem, path = resolve(uri)
    return _write_safely(lambda: filesystem.get_file_info(path), filesystem, path).type


def upload_file(file: Path, uri: str) -> None:
    """Write a file to a URI, whole or not at all. If it fails, a file that was there before stays."""
    filesystem, path = resolve(uri)
    _send(file, filesystem, path)


def upload_directory(directory: Path, uri: str) -> None:
    """Write the files of a directory to a URI where nothing exists."""
    # If one fails, those before it are removed. ``_INCOMPLETE`` is written first, and removed after the last
    # file, ``_SUCCESS``. pdanon reads no directory that has the first. If the process is killed or the
    # connection does not return, it stays.
    filesystem, root = resolve(uri)
    names = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    try:
        _mark(filesystem, f"{root}/{INCOMPLETE}")
        for name in names:
            _send(directory / name, filesystem, f"{root}/{name}")
        _complete(filesystem, root)
    except BaseException:
        with suppress(Exception):  # there may be no connection
            _remove(filesystem, root, [_COMPLETE, *names, INCOMPLETE])
        raise


@contextmanager
def directory_of_others(uri: str) -> Iterator[None]:
    """Mark a URI where nothing exists as incomplete, while other machines write files to it."""
    # The marks are those of `upload_directory`. If the block fails, the files are removed, and
    # ``_INCOMPLETE`` stays: another machine may still write a file.
    filesystem, root = resolve(uri)
    _mark(filesystem, f"{root}/{INCOMPLETE}")
    try:
        yield
        _complete(filesystem, root)
    except BaseException:
        with suppress(Exception):  # there may be no connection
            found = filesystem.get_file_info(fs.FileSelector(root, recursive=True))
            for path in [info.path for info in found if info.is_file and info.base_name != INCOMPLETE]:
                filesystem.delete_file(path)
        raise


def _complete(filesystem: fs.FileSystem, root: str) -> None:
    """Mark a directory as complete, and as incomplete no longer."""
    _mark(filesystem, f"{root}/{_COMPLETE}")
    _write_safely(lambda: filesystem.delete_file(f"{root}/{INCOMPLETE}"), filesystem, root)


def _send(file: Path, filesystem: fs.FileSystem, path: str) -> None:
    def send() -> fs.FileInfo:
        # One call of Arrow: an interrupt between two would close an unfinished file, which then seems whole.
        fs.copy_files(str(file), path, fs.LocalFileSystem(), filesystem)
        return filesystem.get_file_info(path)

    found = _write_safely(send, filesystem, path)
    if found.size != file.stat().st_size:
        got = f"{found.size} of {file.stat().st_size} bytes"
        raise FormatError("the file is not whole", where=display_path(path, filesystem), got=got)


def _mark(filesystem: fs.FileSystem, path: str) -> None:
    _write_safely(lambda: filesystem.open_output_stream(path).close(), filesystem, path)


def _remove(filesystem: fs.FileSystem, root: str, names: Sequence[str]) -> None:
    found = filesystem.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    files = {info.path for info in found if info.is_file}
    if files <= {f"{root}/{name}" for name in names}:
        filesystem.delete_dir(root)  # with empty objects that stand for directories
        return
    for path in [f"{root}/{name}" for name in names]:
        if path in files:
            filesystem.delete_file(path)


def _write_safely(write: Callable[[], _Result], filesystem: fs.FileSystem, path: str) -> _Result:
    """Call a file system, and raise its errors without their message, which may show credentials."""
    try:
        return write()
    except Exception as error:
        problem = cause_of(error)
    where, hint = display_path(path, filesystem), remedy_of(problem)
    raise FormatError("the file cannot be written", where=where, got=problem, hint=hint)


# --- Drafts


_OWNER = 0o600
_SLOTS = 8  # names for drafts of one target, which are searched for abandoned ones

# Drafts of this process with the descriptors of their locked files; empty while a draft is created.
_OWN: dict[Path, list[int]] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OWN.clear)


class WriteError(FormatError, OSError):
    """A file cannot be written."""

    def __init__(self, path: FilePath, error: OSError) -> None:
        where = os.fspath(path)
        absent = not os.path.isdir(os.path.dirname(os.path.abspath(where)))
        hint = "make the directory first" if absent else None
        hint = "it is a directory: pass a file in it" if os.path.isdir(where) else hint
        hint = "choose a shorter name" if error.errno == errno.ENAMETOOLONG else hint
        got = cause_of(error)
        hint = remedy_of(got) or hint
        FormatError.__init__(self, "the file cannot be written", where=where, got=got, hint=hint)
        self.errno = error.errno


class Draft:
    """A temporary file or directory that will replace its target: beside a path, or to be sent to a URI."""

    # Its process holds a lock. The next draft of the target removes one that a killed process left without a
    # lock, but only of this host: not every file system shows locks of others.

    def __init__(self, target: Path | str, *, directory: bool = False, confidential: bool = False) -> None:
        self.target = target
        if isinstance(target, str):
            name = sha256(target.encode()).hexdigest()[:16]
            target = Path(tempfile.gettempdir(), f"pdanon-{name}")
        self.path = target
        self._mode = _OWNER if confidential else 0o666  # of a new target, before the umask
        if target in _OWN:
            return
        names = [hidden_path(target, f"{number}.tmp{target.suffix}") for number in range(_SLOTS)]
        for path in names:
            _remove_abandoned(path)
        names.append(hidden_path(target, f"{uuid4().hex}.tmp{target.suffix}"))  # if all others are taken
        next(path for path in names if self._create(path, directory))

    def publish(self) -> None:
        """Replace a path atomically, and keep its permissions; or write the draft to its URI."""
        if isinstance(self.target, str):
            upload = upload_directory if self.path.is_dir() else upload_file
            return upload(self.path, self.target)
        if self.path == self.target:
            return
        with suppress(FileNotFoundError):
            self._mode = stat.S_IMODE(self.target.stat().st_mode)
        self.path.chmod(self._mode)
        self.path.replace(self.target)

    def remove(self) -> None:
        """Remove a draft that was not published."""
        if self.path != self.target:
            _remove_own(self.path)
            _close(_OWN.pop(self.path, []))

    def _create(self, path: Path, directory: bool) -> bool:
        """Create and lock a file or directory; return False if its name is taken."""
        numbers: list[int] = []
        created = False
        if _OWN.setdefault(path, numbers) is not numbers:
            return False  # by another thread
        try:
            if directory:
                path.mkdir(0o700)
            else:
                numbers.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, self._mode))
                self._mode = stat.S_IMODE(os.fstat(numbers[0]).st_mode)  # without the umask
            created = True
            path.chmod(0o700 if directory else _OWNER)
            if fcntl is None:  # Windows cannot rename open files
                _close(numbers)
            else:
                numbers[:] = numbers or [os.open(path, os.O_RDONLY)]
                if not _lock(numbers[0]) or not is_at(path, numbers[0]):
                    raise FileNotFoundError
            if directory:  # a new directory inside shows the mode without the umask
                probe = path / "probe"
                probe.mkdir()
                self._mode = stat.S_IMODE(probe.stat().st_mode)
                probe.rmdir()
        except (FileExistsError, FileNotFoundError) as error:
            _close(_OWN.pop(path))
            if created or isinstance(error, FileExistsError):
                return False  # another process owns it, or has removed it before it was locked
            raise
        except BaseException:
            self.path = path
            self.remove()
            raise
        self.path = path
        return True


def hidden_path(target: Path, end: str) -> Path:
    """Return a hidden path in the directory of a target, from the target's name and the host."""
    of, host = (sha256(os.fsencode(name)).hexdigest() for name in (target.name, platform.node()))
    return target.with_name(f".{of[:16]}.{host[:8]}.{end}")


def is_at(path: Path, number: int) -> bool:
    """Return whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(number), path.lstat())
    except FileNotFoundError:
        return False


def remove_drafts() -> None:
    """Remove all drafts of this process, before it exits immediately."""
    for path in list(_OWN):
        with suppress(OSError):
            _remove_own(path)


def own(path: Path, numbers: list[int]) -> bool:
    """Let `remove_drafts` remove a path whose open files are in a list; False if a thread owns it."""
    return _OWN.setdefault(path, numbers) is numbers


def remove_owned(path: Path, numbers: list[int]) -> None:
    """Remove a path that is owned with this list, and close its files."""
    if _OWN.get(path) is numbers:
        _remove_own(path)
        _close(_OWN.pop(path))


def _remove_own(path: Path) -> None:
    if fcntl is None or any(is_at(path, number) for number in _OWN.get(path, [])):
        _delete(path)
    else:  # another process may have reused the name
        _remove_abandoned(path)


def _remove_abandoned(path: Path) -> None:
    """Remove a draft that no process has locked, so that its own process has ended."""
    if fcntl is None:
        return
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR
    try:
        number = os.open(path, access | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # it does not exist, or belongs to another user
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
    """Lock an open file and return whether that succeeded; ``unknown`` if files cannot be locked here."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return unknown
    return True


# --- Writing


@contextmanager
def replace_file(path: FilePath, *, confidential: bool = False) -> Iterator[Path]:
    """Write a file whole or not at all: yield a new empty file to write instead, in the same directory."""
    # Only the owner can read it. It replaces ``path`` atomically when the block ends, with the permissions of
    # the old file, and is removed if the block fails. If confidential, only the owner may read a new file.
    with replace_files([path], [path] if confidential else []) as (temporary,), name_in_errors(path):
        yield temporary


@contextmanager
def name_in_errors(path: FilePath) -> Iterator[None]:
    """Raise errors of the system with the path of a target in place of that of its draft."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from None


@contextmanager
def replace_files(
    paths: Iterable[FilePath],
    confidential: Collection[FilePath] = (),
    *,
    overwrite: bool = True,
) -> Iterator[list[Path]]:
    """Write several files, all of them or none: yield a new empty file for each, as `replace_file` does."""
    # When the block ends and all are synced to disk, they replace the files one after the other, in the order
    # given. Only their owner may read new files that are confidential.
    paths = list(paths)
    targets = [_real_path(check_path(path), confidential=path in confidential) for path in paths]
    drafts: list[Draft] = []
    try:
        for path, target in zip(paths, targets, strict=True):
            check_replaceable(target, overwrite=overwrite)
            with name_in_errors(target):
                drafts.append(Draft(target, confidential=path in confidential))
        yield [draft.path for draft in drafts]
        for draft in drafts:
            with name_in_errors(draft.target):
                sync_file(draft.path)
        for target in targets:
            check_replaceable(target, overwrite=overwrite)
        for draft in drafts:
            with name_in_errors(draft.target):
                draft.publish()
    finally:
        for draft in drafts:
            draft.remove()


@contextmanager
def new_directory(path: FilePath) -> Iterator[Path]:
    """Write a directory whole or not at all: yield a new one, which gets the name when the block ends."""
    place = locate_target(check_path(path), "path")
    target = place if isinstance(place, str) else Path(os.path.abspath(place))
    if is_taken(target):
        hint = "choose another name; nothing was written"
        raise ParameterError("the directory exists", where=str(target), hint=hint)
    with name_in_errors(target):
        draft = Draft(target, directory=True)
    try:
        yield draft.path
        with name_in_errors(target):
            draft.publish()
    finally:
        draft.remove()


def is_taken(target: Path | str) -> bool:
    """Return whether something exists at a path, links not followed, or at a URI."""
    if isinstance(target, str):
        return bool(kind_of(target) != fs.FileType.NotFound)
    return os.path.lexists(target)


def check_replaceable(target: FilePath, *, overwrite: bool) -> None:
    """Check that a path, links followed, does not exist, or is a file that may be replaced."""
    if is_uri(target):
        kind = kind_of(str(target))
        exists = kind == fs.FileType.File
        if not exists and kind != fs.FileType.NotFound:
            raise FormatError("it is a directory", where=str(target), hint="name a file in it")
    else:
        path = Path(os.path.realpath(target))
        exists = path not in _OWN and os.path.lexists(path)
        if exists and not path.is_file() and not path.is_dir():  # for a directory, the system's error follows
            hint = "pass a file; a pipe or a device is never replaced"
            raise FormatError("this is no regular file", where=os.fspath(target), hint=hint)
    if exists and not overwrite:
        hint = "pass --overwrite (overwrite=True) to replace it, or choose another name"
        raise ParameterError("the file exists", where=os.fspath(target), hint=hint)


def _real_path(path: str, *, confidential: bool) -> Path | str:
    """Return a path of this machine with links resolved, or the URI of another one."""
    # A confidential file has no URI, as its permissions would be unknown.
    place = locate_target(path, "path")
    if isinstance(place, Path):
        return Path(os.path.realpath(place))
    if confidential:
        hint = "name a file on this machine, and copy it to where only its owner can read it"
        raise ParameterError("a confidential file is not written to a URI", where="path", got=path, hint=hint)
    return place


def check_name(path: FilePath) -> None:
    """Check that a path, links followed, is UTF-8, as Arrow requires."""
    _check_utf8(os.path.realpath(check_path(path)))


def _check_utf8(path: str) -> None:
    if not is_utf8(path):
        raise FormatError("the path is not UTF-8", where=path, hint="rename the file or its directory")


def sync_file(path: Path) -> None:
    """Flush a written file to the disk."""
    with path.open("rb+") as written:
        os.fsync(written.fileno())


# --- Encodings of text files


_CHUNK = 2**20  # bytes


def check_encoding(encoding: str) -> str:
    """Check that Python has a text encoding, and return its usual name."""
    with suppress(LookupError, TypeError, ValueError):
        known = codecs.lookup(encoding)
        if known._is_text_encoding:
            return known.name
    hint = "pass one such as utf-8, latin-1 or cp1252"
    raise ParameterError("there is no such encoding", where="encoding", got=quote_word(encoding), hint=hint)


def line_not_in(path: Path | str, encoding: str) -> int | None:
    """Return the number of the first line, from 1 on, that is not in an encoding, or None."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with pa.input_stream(str(path)) as file:  # decompresses .gz
        while True:
            chunk = file.read(_CHUNK)
            try:
                line += decoder.decode(chunk, final=not chunk).count("\n")
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].decode(encoding, "replace").count("\n")
            if not chunk:
                return None
