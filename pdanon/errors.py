"""Errors and warnings: what is wrong, where, what was got, and a hint."""

# Messages hold counts, positions, column names and parameter values. They never hold the text of an item: a
# log file must not hold data that is about to be anonymized.

from __future__ import annotations

import errno
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from shlex import quote
from types import FrameType
from typing import Any, TypeVar

__all__ = [
    "ColumnError",
    "EmptiedWarning",
    "FormatError",
    "GuaranteeError",
    "HierarchyError",
    "IdentifierWarning",
    "InfeasibleError",
    "ItemsetDtypeError",
    "NumbersWarning",
    "ParameterError",
    "PdanonError",
    "PersonsWarning",
    "ReleaseWarning",
    "UselessWarning",
]

_Content = TypeVar("_Content")

_SCHEME = r"\b[A-Za-z][A-Za-z0-9+.-]+:/{1,2}"  # `Path` leaves one slash of two
# A secret may hold an unescaped "/" or "@": after a colon, everything up to the last "@" is masked.
_USER = re.compile(rf"({_SCHEME})(?:[^\s/?#@:]*:\S*|[^\s/?#]*)@")
_QUERY = re.compile(rf"({_SCHEME}[^\s?]*\?)(\S+)")
_VALUE = re.compile(r"([^&;=]+=)([^&;]*?)(?=[)\]}'\",.:]*(?:[&;]|$))")
# Parameters of a query that are shown. Any other value can be a secret, whatever its name.
_HARMLESS = ("region=", "scheme=", "endpoint_override=", "allow_bucket_creation=", "allow_bucket_deletion=")

# Control characters except tab and newline, and marks that reorder text in a terminal or browser.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def mask_credentials(text: str) -> str:
    """Replace user information and secrets in the query of each URI by ``***``.

    >>> mask_credentials("s3://KEY:SECRET@bucket/a.parquet?region=eu&session_token=SECRET")
    's3://***@bucket/a.parquet?region=eu&session_token=***'
    """
    text = _USER.sub(r"\1***@", text)
    return _QUERY.sub(lambda found: found[1] + _VALUE.sub(_mask_value, found[2]), text)


def _mask_value(found: re.Match[str]) -> str:
    is_harmless = found[1].lower() in _HARMLESS and "%40" not in found[2]
    return found[0] if is_harmless else f"{found[1]}***"


def escape_controls(text: str) -> str:
    r"""Escape characters that control a terminal or reorder text, and lone surrogates.

    >>> print(escape_controls("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    text = _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return text.encode("utf-8", "backslashreplace").decode()


def _sanitize(text: str) -> str:
    return escape_controls(mask_credentials(text))


class PdanonError(Exception):
    """Base class of all errors that pdanon raises deliberately.

    Parameters
    ----------
    what : str
        The problem, in one sentence.
    where : str, optional
        The parameter, column, row or file that has it.
    got : object, optional
        The value found there. Never the text of an item.
    hint : str, optional
        The call or the step that solves it.

    Attributes
    ----------
    parts : dict of str
        The text of each part that is known, by its name: ``what, where, got, hint``.
    """

    def __init__(
        self, what: str, *, where: str | None = None, got: object = None, hint: str | None = None
    ) -> None:
        parts = {"what": what, "where": where, "got": got, "hint": hint}
        self.parts = {name: _sanitize(str(part)) for name, part in parts.items() if part is not None}
        lines = [f"  {name + ':':<6} {text}" for name, text in self.parts.items() if name != "what"]
        super().__init__("\n".join([self.parts["what"], *lines]))


class ColumnError(PdanonError, AttributeError):
    """A column does not exist, is ambiguous, or is of the wrong kind."""


class ItemsetDtypeError(PdanonError, TypeError):
    """The column does not hold sets of items."""


class ParameterError(PdanonError, ValueError):
    """A parameter is outside its range."""


class HierarchyError(PdanonError, ValueError):
    """The hierarchy is not a tree, or does not cover the items."""


class FormatError(PdanonError, ValueError):
    """A file cannot be read or written in its format."""


class InfeasibleError(PdanonError):
    """No release can have the guarantee, or none was found within the limits.

    Attributes
    ----------
    partial : Anonymized or None
        The best attempt, if the algorithm has one. Its guarantee does *not* hold.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        got: object = None,
        hint: str | None = None,
        partial: Any = None,
    ) -> None:
        super().__init__(what, where=where, got=got, hint=hint)
        self.partial = partial


class OutOfMemoryError(PdanonError, MemoryError):
    """There is less memory than a call needs."""


class GuaranteeError(PdanonError):
    """A release failed its own audit and is withheld: a defect of pdanon."""


class ReleaseWarning(UserWarning):
    """Base class of the warnings about releases, for their publishers.

    Parameters
    ----------
    what : str
        The finding, in counts. Never the text of an item.
    hint : str, optional
        The call or the step that solves it.
    """

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        self.what = _sanitize(what)
        self.hint = hint if hint is None else _sanitize(hint)
        super().__init__(self.what if hint is None else f"{self.what}\n  hint:  {self.hint}")


class IdentifierWarning(ReleaseWarning):
    """Unmodified columns distinguish rows, and can be background knowledge that singles out persons."""


class PersonsWarning(ReleaseWarning):
    """Persons have several rows: guarantees count rows, so the rows of one person hide each other."""


class UselessWarning(ReleaseWarning):
    """A release keeps almost no information: almost all items have one label, or a column is empty."""


class EmptiedWarning(ReleaseWarning):
    """Rows of sensitive items only are published as empty, which reveals that they held such items."""


class NumbersWarning(ReleaseWarning):
    """A column of ages, dates or other values of every row was read as an item, or its values as items."""


def refuse(*rules: tuple[object, str, str | None], where: str | None = None) -> None:
    """Raise the error of the first rule that applies: whether it does, the problem, and a hint."""
    for applies, problem, hint in rules:
        if applies:
            raise ParameterError(problem, where=where, hint=hint)


def warn(warning: ReleaseWarning) -> None:
    """Issue a warning with the location of the code that called pdanon."""
    caller: FrameType | None = sys._getframe(1)
    levels = 2
    while caller is not None and caller.f_globals.get("__name__", "").startswith("pdanon."):
        caller, levels = caller.f_back, levels + 1
    warnings.warn(warning, stacklevel=levels)


UNEVEN = "a line has not as many fields as the header"
_OUT_OF_MEMORY = "there is not enough memory"
_CUT_OFF = "it is cut off: its end is missing"
_UNREACHABLE = "it cannot be reached"
_DENIED = "access is denied"
_NO_GZIP = "it is not compressed by gzip, as its name says"
_BAD_CONTENT = "its compressed content is damaged"
_DAMAGED = "it is damaged, or of another format"

# Causes by the class of the error. The error's own message may show a line of the file.
_CAUSES = {
    "MemoryError": _OUT_OF_MEMORY,
    "EOFError": _CUT_OFF,
    "BadGzipFile": _NO_GZIP,
    "error": _BAD_CONTENT,  # of zlib
    "UnicodeDecodeError": "it is not UTF-8 text",
    "TOMLDecodeError": "its syntax is wrong",
    "NotImplementedError": "it uses an unsupported feature",
}

# Causes by phrases of Arrow's messages, where the class is too general. The phrases hold no data.
_PHRASES = {
    "Failed to launch worker thread": _OUT_OF_MEMORY,
    "Empty CSV file": "it is empty",
    **dict.fromkeys((" columns, got ", "CSV parser got out of sync"), UNEVEN),
    "Truncated compressed stream": _CUT_OFF,
    "incorrect header check": _NO_GZIP,
    "zlib inflate failed": _BAD_CONTENT,
    "Unrecognized filesystem type in URI": "its kind of storage is unknown",
    "Cannot parse URI": "the URI is not well-formed",
    "Empty path component": "a part of the path is empty",
    **dict.fromkeys(("NETWORK_CONNECTION", "curlCode", "UNAVAILABLE"), _UNREACHABLE),
    **dict.fromkeys(("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH"), _DENIED),
    **dict.fromkeys(("PERMISSION_DENIED", "UNAUTHENTICATED"), _DENIED),
    "NO_SUCH_BUCKET": "the bucket does not exist",
    "Unable to load lib": "the library of this kind of storage is not installed",
}

# What the first bytes of a file say that it is.
_BEGINNINGS = {
    b"\x1f\x8b": "it is compressed by gzip",
    b"BZh": "it is compressed by bzip2",
    b"\xfd7zXZ": "it is compressed by xz",
    b"\x28\xb5\x2f\xfd": "it is compressed by zstd",
    b"PK\x03\x04": "it is a spreadsheet or a ZIP archive",
    b"PAR1": "it is Parquet",
    b"$FL2": "it is a file of SPSS",
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "it is UTF-16 text"),
}

_QUOTES = "put quotes around a field that holds the delimiter, a quote or an end of line"
_REMEDIES = {
    "it is compressed by gzip": "rename it to end in .csv.gz if it is CSV, or decompress it with gunzip",
    "it is compressed by bzip2": "decompress it first, with bunzip2",
    "it is compressed by xz": "decompress it first, with unxz",
    "it is compressed by zstd": "decompress it first, with unzstd",
    "it is a spreadsheet or a ZIP archive": "save the sheet as 'CSV UTF-8', or decompress it with unzip",
    "it is Parquet": "pdanon.read_parquet(path) reads it; the command line, if its name ends in .parquet",
    "it is a file of SPSS": "pd.read_spss(path) reads it",
    "it is UTF-16 text": "pass encoding='utf-16' (--encoding utf-16); or save it as 'CSV UTF-8'",
    "it is empty": "write a line of column names, and a line for each row",
    "a line has more fields than the header": _QUOTES,
    "a line has more fields than the header, or a quote has no end": _QUOTES,
    _OUT_OF_MEMORY: "read fewer columns; pdanon.stream (--stream) holds one row group of Parquet at a time",
    _CUT_OFF: "copy or download it again",
    _BAD_CONTENT: "copy or download it again",
    _NO_GZIP: "rename it without .gz",
    "the URI is not well-formed": "in user information, write '/' as %2F, '@' as %40 and ':' as %3A",
    "a part of the path is empty": "Arrow reads no key with '//': copy the file to another key, or here",
    _UNREACHABLE: "check the address, its endpoint and the network",
    _DENIED: "check the credentials and their permission to read it",
    **dict.fromkeys(
        map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)),
        "free some space, or write to another disk",
    ),
}

_KINDS = {".parquet": "Parquet", ".csv": "CSV", ".tsv": "CSV", ".xlsx": "a spreadsheet", ".toml": "TOML"}
_READERS = {
    "Parquet": "pdanon.read_parquet(path) reads it",
    "CSV": "pdanon.read_csv(path, column='items', separator='|') reads it",
    "a spreadsheet": "pd.read_excel(path) reads it, or save it as 'CSV UTF-8'",
}


def cause_of(error: Exception) -> str:
    """Return why a file failed: the system's message, or the cause of errors of this class."""
    number = error.errno if isinstance(error, OSError) else None
    if number:
        return os.strerror(number)
    known = (_CAUSES[each.__name__] for each in type(error).__mro__ if each.__name__ in _CAUSES)
    # Arrow raises these two, and its own class for what it calls unknown.
    is_written = isinstance(error, (OSError, ValueError)) or type(error).__name__ == "ArrowException"
    message = str(error) if is_written else ""
    written = (cause for phrase, cause in _PHRASES.items() if phrase in message)
    return next(known, next(written, _DAMAGED))


def read_safely(
    read: Callable[[], _Content], path: str | os.PathLike[str], kind: str, part: str = "", form: str = ""
) -> _Content:
    """Read a file, or a ``part`` such as ``", row group 3"``, and show nothing of its content in errors."""
    try:
        return read()
    except PdanonError:
        raise
    except Exception as error:  # parsers raise errors of any class on damaged files
        problem = cause_of(error)
    # Raised outside the handler: the parser's own message may show a line of the file.
    problem = content_of(path, kind) or problem
    hint = (remedy_of(problem) if part else file_hint(path, kind, problem)) or form or None
    raise FormatError(
        f"the file cannot be read as {kind}", where=f"{os.fspath(path)}{part}", got=problem, hint=hint
    )


def content_of(path: str | os.PathLike[str], kind: str) -> str | None:
    """Return what a local file is by its first and last bytes, if that is not a whole file of its kind."""
    begin = end = None
    with suppress(OSError, ValueError), open(path, "rb") as file:
        begin = file.read(8)
        file.seek(-4, os.SEEK_END)
        end = file.read()
    if not begin:
        return "it is empty" if begin is not None and kind == "CSV" else None
    if kind == "Parquet" and begin.startswith(b"PAR1") and end != b"PAR1":  # its mark at both ends
        return _CUT_OFF
    found = next((name for mark, name in _BEGINNINGS.items() if begin.startswith(mark)), None)
    known = os.fspath(path).lower().endswith(".gz") and begin.startswith(b"\x1f\x8b")
    return None if known or found == f"it is {kind}" else found


def remedy_of(cause: str | None) -> str | None:
    """Return the hint for a cause of `cause_of`, if it has one for all files."""
    return _REMEDIES.get(cause or "")


def file_hint(path: str | os.PathLike[str], kind: str, cause: str | None = None) -> str | None:
    """Return a hint for a file that cannot be read, from the cause, its name and its directory."""
    text = os.fspath(path)
    if remedy := remedy_of(cause):
        return remedy
    if re.match(_SCHEME, text):
        if kind == "Parquet":
            return "check the address, its endpoint and the credentials"
        return "only Parquet is read from a URI: copy the file to this machine"
    if os.path.isdir(text):
        return "it is a directory: pass a file; pdanon.stream reads directories of Parquet files"
    if not os.path.exists(text):
        return _nearest_file(text)
    suffix = os.path.splitext(text)[1].lower()
    known = _KINDS.get(suffix)
    if known is None or known == kind:
        return "save it as UTF-8: spreadsheets offer 'CSV UTF-8'" if kind == "CSV" else None
    return f"by its name it is {known}: {_READERS[known]}" if known in _READERS else None


def check_names(names: Iterable[str], where: str | os.PathLike[str]) -> None:
    """Check that the columns of a file have distinct names. Several columns may have no name."""
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name and first.setdefault(name, place) != place:
            got = f"columns {first[name]} and {place}"  # not the name: a first line may be data
            hint = f"give each column a name of its own, or number them: {csv_command('read_csv', where)}"
            raise ColumnError("two columns have the same name", where=os.fspath(where), got=got, hint=hint)


def csv_command(reader: str, path: str | os.PathLike[str]) -> str:
    """Return the command that writes a file as CSV after a function of pandas has read it."""
    name = json.dumps(mask_credentials(os.fspath(path)), ensure_ascii=False)
    encoding = "infer" if "7bdat" in name.lower() else "latin-1"  # transport files do not name theirs
    options = f', encoding="{encoding}"' * (reader == "read_sas")
    call = f'import pandas as pd; pd.{reader}({name}{options}).to_csv("in.csv", index=False)'
    return f"python -c {quote(call)}"


def did_you_mean(name: object, known: Iterable[str]) -> str | None:
    """Return a hint with the most similar of the known names, if one is similar; ignore case."""
    folded = {each.casefold(): each for each in known}
    nearest = get_close_matches(name.casefold(), folded, 1) if isinstance(name, str) else []
    return f"did you mean {folded[nearest[0]]!r}?" if nearest else None


def _nearest_file(path: str) -> str | None:
    """Return a hint with the file of the same directory that has the most similar name."""
    directory, name = os.path.split(path)
    try:
        stems = {each: each.partition(".")[0] for each in sorted(os.listdir(directory or "."))}
    except (OSError, ValueError):
        return f"there is no directory {directory!r} here"
    stems.pop(name, None)  # another process may have made the file by now
    similar = get_close_matches(name.partition(".")[0], stems.values(), len(stems) or 1)  # without suffixes
    nearest = get_close_matches(name, [each for each, stem in stems.items() if stem in similar], 1, 0)
    if nearest:
        return f"did you mean {nearest[0]!r}?"
    return None if os.path.isabs(path) else f"a relative path begins at {os.getcwd()!r}"


@contextmanager
def require_extra(package: str) -> Iterator[None]:
    """Import the packages of a module, and explain how to install them if one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = f"pip install '{package}[dataframe,distributed]'"
        raise ImportError(f"pdanon.{package} needs the package {error.name}\n  hint:  {hint}") from None


def one_line(error: PdanonError) -> str:
    """Return the message of an error on one line, for tables."""
    return "; ".join(" ".join(line.split()) for line in str(error).splitlines())
