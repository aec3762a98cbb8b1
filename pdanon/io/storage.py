"""File systems of URIs: object storage and other machines.

pyarrow opens ``s3``, ``gs``, ``abfs``, ``hdfs`` and ``file``. fsspec opens other schemes, if it is installed.
Credentials come from the environment, as in the other programs of the storage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from pdanon.errors import FormatError, ParameterError, cause_of, mask_credentials, read_safely, remedy_of
from pdanon.itemsets.validation import is_uri

# A directory on object storage cannot be renamed. Its release is complete when the first file is gone and the
# second is there. Readers skip files that begin with "_".
INCOMPLETE, _COMPLETE = "_INCOMPLETE", "_SUCCESS"

_UNKNOWN = "Unrecognized filesystem type in URI"  # of Arrow


def is_local(filesystem: fs.FileSystem) -> bool:
    """Return whether a file system is that of this machine."""
    return isinstance(filesystem, fs.LocalFileSystem)


def is_utf8(name: str) -> bool:
    """Return whether a name is UTF-8, as Arrow requires."""
    return name == name.encode(errors="replace").decode()


def display_path(path: str | os.PathLike[str], filesystem: fs.FileSystem | None) -> str:
    """Return a path for messages: on another machine a URI, without credentials and options."""
    if filesystem is None or is_local(filesystem):
        return os.fspath(path)
    return f"{filesystem.type_name.removeprefix('py::fsspec+')}://{os.fspath(path).lstrip('/')}"


def resolve(source: str | os.PathLike[str]) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path or URI, and the path in it."""
    text = os.fsdecode(source)
    if not is_uri(text):
        # ".." after a link leads to the parent of the link's target, which `abspath` ignores.
        path = os.path.realpath(text) if ".." in text.split("/") else os.path.abspath(text)
        if not is_utf8(path):
            raise FormatError("the path is not UTF-8", where=path, hint="rename the file or its directory")
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
    return _open_by_fsspec(text, problem)


def _open_by_fsspec(text: str, problem: pa.ArrowInvalid) -> tuple[fs.FileSystem, str]:
    """Open a URI with a scheme that Arrow does not know."""
    scheme = text.partition("://")[0].lower()
    try:
        import fsspec
        from fsspec.registry import known_implementations
    except ImportError:
        raise problem from None
    if scheme not in fsspec.available_protocols():
        raise problem
    try:
        filesystem, path = fsspec.url_to_fs(text)
    except ImportError:
        filesystem = None
    if filesystem is None:
        hint = known_implementations[scheme].get("err", "install the package of fsspec for it")
        raise FormatError(f"no package for {scheme}:// is installed", where=text, hint=hint)
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), path


def locate(source: str | os.PathLike[str]) -> Path | str:
    """Return a path, also for a URI of this machine, or the URI of another machine."""
    text = os.fspath(source)
    if text.lower().startswith("file:"):
        return Path(resolve(text)[1])
    return text if is_uri(text) else Path(text)


def locate_target(target: str | os.PathLike[str], name: str = "target") -> Path | str:
    """Return a path or URI to write, as `locate`.

    A URI with credentials is refused, as results, reports and logs show the path of a release.
    """
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


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a path or URI in lower case.

    >>> from pdanon.io.storage import suffix_of
    >>> suffix_of("s3://bucket/out.CSV?region=eu"), suffix_of("a.parquet?")
    ('.csv', '.parquet?')
    """
    return Path(str(path).partition("?")[0] if is_uri(path) else path).suffix.lower()


def join_name(directory: Path | str, name: str | None) -> Path | str:
    """Return the path or URI of a file in a directory; without a name, that of the directory.

    >>> from pdanon.io.storage import join_name
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
    with _write_errors(filesystem, path):
        return filesystem.get_file_info(path).type


def upload_file(file: Path, uri: str) -> None:
    """Write a file to a URI, whole or not at all. If it fails, a file that was there before stays."""
    filesystem, path = resolve(uri)
    _send(file, filesystem, path)


def upload_directory(directory: Path, uri: str) -> None:
    """Write the files of a directory to a URI where nothing exists.

    If one fails, those before it are removed. ``_INCOMPLETE`` is written first, and removed after the last
    file, ``_SUCCESS``. pdanon reads no directory that has the first. If the process is killed or the
    connection does not return, it stays.
    """
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
    """Mark a URI where nothing exists as incomplete, while other machines write files to it.

    The marks are those of `upload_directory`. If the block fails, the files are removed, and ``_INCOMPLETE``
    stays: another machine may still write a file.
    """
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
    with _write_errors(filesystem, root):
        filesystem.delete_file(f"{root}/{INCOMPLETE}")


def _send(file: Path, filesystem: fs.FileSystem, path: str) -> None:
    with _write_errors(filesystem, path):
        # One call of Arrow: an interrupt between two would close an unfinished file, which then seems whole.
        fs.copy_files(str(file), path, fs.LocalFileSystem(), filesystem)
        found = filesystem.get_file_info(path)
    if found.size != file.stat().st_size:
        got = f"{found.size} of {file.stat().st_size} bytes"
        raise FormatError("the file is not whole", where=display_path(path, filesystem), got=got)


def _mark(filesystem: fs.FileSystem, path: str) -> None:
    with _write_errors(filesystem, path), filesystem.open_output_stream(path):
        pass


def _remove(filesystem: fs.FileSystem, root: str, names: Sequence[str]) -> None:
    found = filesystem.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    files = {info.path for info in found if info.is_file}
    if files <= {f"{root}/{name}" for name in names}:
        filesystem.delete_dir(root)  # with empty objects that stand for directories
        return
    for path in [f"{root}/{name}" for name in names]:
        if path in files:
            filesystem.delete_file(path)


@contextmanager
def _write_errors(filesystem: fs.FileSystem, path: str) -> Iterator[None]:
    """Raise errors of a file system without its message, which may show credentials."""
    try:
        yield
    except Exception as error:
        problem = cause_of(error)
    else:
        return
    where, hint = display_path(path, filesystem), remedy_of(problem)
    raise FormatError("the file cannot be written", where=where, got=problem, hint=hint)
