"""What a source names: each file once, and nothing is left out but what is hidden.

Rows that are reached in two ways would count twice, and rows that are passed over would be missed by nobody:
both are refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from pdanon.errors import FormatError, readable
from pdanon.io.rowgroups import shown_path
from pdanon.itemsets.values import is_uri

__all__ = ["Entry", "Listing", "check_current", "entry_of", "is_local", "levels", "located", "resolve"]

_SUFFIX = ".parquet"
_MAGIC = "*?["
_LOST = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # the ways in which a link leads nowhere
_TWICE = "files or directories that another path leads to"
_EMPTY = f"directories that end in {_SUFFIX} and hold no such file"
_VERSIONS = "logs of a table with versions"
# Beside files that are no part of the table any more: logs of Delta, Hudi and Iceberg.
_LOGS = ("_delta_log", ".hoodie", "metadata")
_REPLACED = "files that were replaced would be read, too"
_REPLACED_HINT = "read the table with what wrote it, and write its rows to files of their own"
_NAME = "names that are not UTF-8"
_UNREAD = {
    fs.FileType.File: f"files that do not end in {_SUFFIX}",
    fs.FileType.Directory: "directories where the pattern ends",
    fs.FileType.NotFound: "links that lead nowhere",
    fs.FileType.Unknown: "things that are neither files nor directories",
}


class Entry(NamedTuple):
    """What a path leads to.

    Parameters
    ----------
    name : str
        The last part of the path.
    kind : pyarrow.fs.FileType
        What is there, links followed; ``NotFound`` if nothing is.
    identity : hashable
        The same for all paths that lead there: device and inode, or else the path.
    """

    name: str
    kind: fs.FileType
    identity: Hashable


@dataclass(eq=False, slots=True)
class Listing:
    """The files of a directory and of those below it, or those that match patterns.

    Parameters
    ----------
    filesystem : pyarrow.fs.FileSystem
        Where they are.
    root : str
        The directory.
    patterns : tuple of str
        What their names match, level by level. With none, all files are meant.

    Attributes
    ----------
    names : list of str
        The paths of the files, relative to the root, in order.
    directories : set of str
        The real paths of the local directories in which another file would be one of them.

    Raises
    ------
    FormatError
        If there are none, a directory cannot be read, or something is reached in two ways or would be left
        out: the message tells what, and how many of each kind.
    """

    filesystem: fs.FileSystem
    root: str
    patterns: tuple[str, ...] = ()
    names: list[str] = field(default_factory=list, init=False)
    directories: set[str] = field(default_factory=set, init=False)
    _known: set[Hashable] = field(default_factory=set, init=False)
    _refused: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list), init=False)

    def __post_init__(self) -> None:
        if is_local(self.filesystem):  # so that a link that leads back up is known as soon as it is met
            above = os.path.realpath(self.root)
            while above not in self._known:
                self._known |= {above, _local_entry(above).identity}
                above = os.path.dirname(above)
        waiting = looked_into = [""]
        while waiting:
            waiting = [name for below in waiting for name in self._look_into(below)]
            looked_into = looked_into + waiting
        self.names.sort()
        within = {str(above) for name in self.names for above in PurePosixPath(name).parents}
        for name in looked_into:
            if _is_parquet(name) and name not in within and not self.patterns:
                self._refused[_EMPTY].append(name)
        self._refused[_VERSIONS] = sorted({*self._refused[_VERSIONS], *self._logs_above()})
        self._check()

    def _logs_above(self) -> list[str]:
        """Logs above the root, and above what links lead to."""
        paths = [f"{self.root}/"]
        if is_local(self.filesystem):
            files = [f"{self.root}/{name}" for name in self.names]
            paths += [f"{directory}/" for directory in self.directories]
            paths += [os.path.realpath(file) for file in files if os.path.islink(file)]
        return _logs_above(self.filesystem, paths)

    def _look_into(self, below: str) -> Iterator[str]:
        """Take the files of a directory; what comes are the directories to look into next."""
        directory = f"{self.root}/{below}".rstrip("/")
        depth = len(PurePosixPath(below).parts)
        last = not self.patterns or depth + 1 == len(self.patterns)
        if last and is_local(self.filesystem):
            self.directories.add(os.path.realpath(directory or "/"))

        def is_meant(name: str) -> bool:
            matches = not self.patterns or fnmatchcase(name, self.patterns[depth])
            if name in _LOGS and _is_log(self.filesystem, f"{directory}/{name}"):
                self._refused[_VERSIONS].append(f"{directory}/{name}")
            return matches and not name.startswith((".", "_"))

        where = shown_path(directory, self.filesystem)
        for found in readable(lambda: self._entries(directory, is_meant), where, "Parquet"):
            name = f"{below}/{found.name}".lstrip("/")
            deeper = found.kind == fs.FileType.Directory and not (self.patterns and last)
            if not last and found.kind in (fs.FileType.File, fs.FileType.Unknown):
                continue  # the pattern goes on
            if problem := self._problem(found, deeper=deeper):
                self._refused[problem].append(name)
            elif deeper:
                yield name
            else:
                self.names.append(name)

    def _entries(self, directory: str, is_meant: Callable[[str], bool]) -> list[Entry]:
        """What is in a directory, as far as it is meant."""
        if is_local(self.filesystem):
            names = sorted(filter(is_meant, os.listdir(directory or "/")))
            return [_local_entry(f"{directory}/{name}") for name in names]
        infos = self.filesystem.get_file_info(fs.FileSelector(directory))
        return [_remote_entry(info) for info in infos if is_meant(info.base_name)]

    def _problem(self, found: Entry, *, deeper: bool) -> str | None:
        """Why something cannot be taken, or looked into."""
        if not _is_utf8(found.name):
            return _NAME
        if not deeper and (found.kind != fs.FileType.File or not _is_parquet(found.name)):
            return _UNREAD[found.kind]
        if found.identity in self._known:
            return _TWICE
        self._known.add(found.identity)
        return None

    def _check(self) -> None:
        """Refuse what would be counted twice or left out."""
        refused = {kind: names for kind, names in self._refused.items() if names}
        counts = [f"{len(names)} {kind}, such as {min(names)}" for kind, names in refused.items()]
        if _TWICE in refused:
            problem = "the same rows would be read twice"
            hint = "remove links, so that one path leads to each file"
        elif _VERSIONS in refused:
            problem, hint = _REPLACED, _REPLACED_HINT
        elif not self.names:
            problem = "there is no Parquet file"
            hint = f"files end in {_SUFFIX}; those that begin with '.' or '_' are left out"
        else:
            problem = "not everything in the source can be read"
            hint = f"name the files by a pattern that fits nothing else, such as 'baskets/*{_SUFFIX}'"
        if counts or not self.names:
            where = shown_path("/".join((self.root, *self.patterns)), self.filesystem)
            raise FormatError(problem, where=where, got="; ".join(counts) or "no files", hint=hint)


def is_local(filesystem: fs.FileSystem) -> bool:
    """Tell whether files are those of this machine."""
    return isinstance(filesystem, fs.LocalFileSystem)


def entry_of(filesystem: fs.FileSystem, path: str) -> Entry:
    """What a path leads to."""
    return _local_entry(path) if is_local(filesystem) else _remote_entry(filesystem.get_file_info(path))


def check_current(filesystem: fs.FileSystem, path: str) -> None:
    """Check that a file is no part of a table with versions, in which it may have been replaced.

    Raises
    ------
    FormatError
        If a directory above it, links followed, holds the log of Delta, Hudi or Iceberg, as far as it can be
        listed.
    """
    links = [os.path.abspath(path), os.path.realpath(path)]
    logs = _logs_above(filesystem, links if is_local(filesystem) else [path])
    if logs:
        got = f"{len(logs)} {_VERSIONS}, such as {min(logs)}"
        raise FormatError(_REPLACED, where=shown_path(path, filesystem), got=got, hint=_REPLACED_HINT)


def _logs_above(filesystem: fs.FileSystem, paths: Iterable[str]) -> list[str]:
    """Logs of tables with versions in the directories above some paths."""
    above = {path[:place] for path in paths for place, mark in enumerate(path) if mark == "/"}
    logs = (f"{directory}/{name}" for directory in sorted(above) for name in _LOGS)
    return [log for log in logs if _is_log(filesystem, log)]


def _is_log(filesystem: fs.FileSystem, path: str) -> bool:
    """Tell whether there is the log of a table with versions, as far as it can be listed."""
    path = path if is_local(filesystem) else path.lstrip("/")
    try:
        if not path.endswith("/metadata"):
            return entry_of(filesystem, path).kind != fs.FileType.NotFound
        found = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
    except (OSError, pa.ArrowException):
        return False
    return any(info.base_name.endswith(".metadata.json") for info in found)


def _local_entry(path: str) -> Entry:
    name = os.path.basename(path)
    try:
        found = os.stat(path)
    except OSError as error:
        if error.errno not in _LOST:
            raise
        return Entry(name, fs.FileType.NotFound, path)
    kinds = {stat.S_IFREG: fs.FileType.File, stat.S_IFDIR: fs.FileType.Directory}
    kind = kinds.get(stat.S_IFMT(found.st_mode), fs.FileType.Unknown)
    return Entry(name, kind, (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(path))


def _remote_entry(info: Any) -> Entry:
    return Entry(info.base_name, info.type, info.path)


def resolve(source: str | os.PathLike[str]) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path there.

    Raises
    ------
    FormatError
        If there is no such file system, or the path cannot be told to one.
    """
    text = os.fsdecode(source)
    if not is_uri(text):
        # The way up from a link does not lead to the directory that holds the link.
        path = os.path.realpath(text) if ".." in text.split("/") else os.path.abspath(text)
        if not _is_utf8(path):
            raise FormatError("the path is not UTF-8", where=path, hint="rename the file or its directory")
        return fs.LocalFileSystem(), path
    if "#" in text or (text.startswith("file:") and "?" in text):
        hint = "in a URI '#' is written %23 and '?' is written %3F"
        raise FormatError("the end of the URI is no part of the path", where=text, hint=hint)
    found: tuple[fs.FileSystem, str] = readable(lambda: fs.FileSystem.from_uri(text), text, "Parquet")
    return found


def located(source: str | os.PathLike[str]) -> Path | str:
    """A path, also that of a URI that leads to this machine, which is the same file; or else the URI."""
    text = os.fspath(source)
    if text.lower().startswith("file:"):
        return Path(resolve(text)[1])
    return text if is_uri(text) else Path(text)


def levels(path: str) -> tuple[str, tuple[str, ...]]:
    """A path with wildcards as the directory before them, and what they match below it, level by level.

    Raises
    ------
    FormatError
        If there are none, so that the path leads nowhere, or one of them is for any number of levels.
    """
    marks = [path.find(mark) for mark in _MAGIC if mark in path]
    if not marks:
        raise FormatError("there is no such file or directory", where=path)
    if "**" in path:
        hint = "write one * for each level; or name the directory, which is read with all that is below it"
        raise FormatError("** does not stand for any number of directories", where=path, hint=hint)
    root = path[: min(marks)].rpartition("/")[0]
    return root, tuple(path[len(root) :].lstrip("/").split("/"))


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(_SUFFIX)


def _is_utf8(name: str) -> bool:
    return name == name.encode(errors="replace").decode()
