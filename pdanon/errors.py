"""Errors: what is wrong, where, what was got, and a hint.

The tree::

    PdanonError
    ├── ColumnError        (AttributeError)  which column holds the itemsets?
    ├── ItemsetDtypeError  (TypeError)       the column does not hold sets of items
    ├── ParameterError     (ValueError)      a parameter has no meaning here
    ├── HierarchyError     (ValueError)      the hierarchy is not a tree over the items
    ├── FormatError        (ValueError)      a file is not what it should be
    ├── InfeasibleError                      no release can have the guarantee, or none was found
    └── GuaranteeError                       a release failed its own audit and is withheld

and five kinds of `ReleaseWarning`: `IdentifierWarning`, what passes through unchanged may tell who it is,
`UselessWarning`, next to nothing is left in a release, `PersonsWarning`, persons have several rows,
`NumbersWarning`, a year or an age may have been taken for an item, and `EmptiedWarning`, a row may tell by
what it lacks. That a guarantee is proven for fewer known items than were asked for is said by a
`ReleaseWarning` itself.

Messages hold counts, positions, column names and parameter values. They never hold the text of an
item: a log file is not a place for data that is about to be anonymized. Nor do they hold the credentials of a
URI, or a character that controls a terminal: `mask_credentials` and `escape_controls` remove these from every
text that is shown.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
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
    "cause_of",
    "check_names",
    "did_you_mean",
    "escape_controls",
    "file_hint",
    "mask_credentials",
    "one_line",
    "read_safely",
    "remedy_of",
    "require_extra",
    "warn",
]

_Content = TypeVar("_Content")

_SCHEME = r"\b[A-Za-z][A-Za-z0-9+.-]+:/{1,2}"  # `Path` leaves one slash of two
# A secret may hold "/" and "@" as they are: after a colon, everything to the last "@" is masked.
_USER = re.compile(rf"({_SCHEME})(?:[^\s/?#@:]*:\S*|[^\s/?#]*)@")
_QUERY = re.compile(rf"({_SCHEME}[^\s?]*\?)(\S+)")
_VALUE = re.compile(r"([^&;=]+=)([^&;]*?)(?=[)\]}'\",.:]*(?:[&;]|$))")
# What a query may show: any other value can be a secret, whatever it is called.
_HARMLESS = ("region=", "scheme=", "endpoint_override=", "allow_bucket_creation=", "allow_bucket_deletion=")

# Characters that a terminal or a browser obeys: controls but tab and newline, and marks that reorder text.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def mask_credentials(text: str) -> str:
    """Replace user information and secrets in the query of each URI by ``***``.

    Examples
    --------
    >>> from pdanon.errors import mask_credentials
    >>> mask_credentials("s3://KEY:SECRET@bucket/a.parquet?region=eu&session_token=SECRET")
    's3://***@bucket/a.parquet?region=eu&session_token=***'
    """
    text = _USER.sub(r"\1***@", text)
    return _QUERY.sub(lambda found: found[1] + _VALUE.sub(_mask_value, found[2]), text)


def _mask_value(found: re.Match[str]) -> str:
    is_harmless = found[1].lower() in _HARMLESS and "%40" not in found[2]
    return found[0] if is_harmless else f"{found[1]}***"


def escape_controls(text: str) -> str:
    r"""Write characters that control a terminal or reorder text as escapes, and halves of surrogate pairs.

    Examples
    --------
    >>> from pdanon.errors import escape_controls
    >>> print(escape_controls("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    text = _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
    return text.encode("utf-8", "backslashreplace").decode()


def _shown(text: str) -> str:
    return escape_controls(mask_credentials(text))


class PdanonError(Exception):
    """Base of all errors that pdanon raises on purpose.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence.
    where : str, optional
        The parameter, column, row or file it was found in.
    got : object, optional
        What was found there. Never item text.
    hint : str, optional
        What to do about it.
    """

    def __init__(
        self, what: str, *, where: str | None = None, got: object = None, hint: str | None = None
    ) -> None:
        parts = [what]
        if where is not None:
            parts.append(f"  where: {where}")
        if got is not None:
            parts.append(f"  got:   {got}")
        if hint is not None:
            parts.append(f"  hint:  {hint}")
        super().__init__(_shown("\n".join(parts)))


class ColumnError(PdanonError, AttributeError):
    """The frame has no list column, or several and none was named."""


class ItemsetDtypeError(PdanonError, TypeError):
    """The column does not hold sets of items."""


class ParameterError(PdanonError, ValueError):
    """A parameter is outside what it can mean."""


class HierarchyError(PdanonError, ValueError):
    """The hierarchy is not a tree, or does not cover the items."""


class FormatError(PdanonError, ValueError):
    """A file does not have the format that was asked for."""


class InfeasibleError(PdanonError):
    """No release of this data can have the guarantee, or none was found within the limits that were set.

    Attributes
    ----------
    partial : Anonymized or None
        The best attempt, where the algorithm has one. Its guarantee does *not* hold.
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


class GuaranteeError(PdanonError):
    """A release failed its own audit. It is withheld; this is a defect of pdanon."""


class ReleaseWarning(UserWarning):
    """What whoever publishes a release has to know of it: base of the warnings about releases.

    Parameters
    ----------
    what : str
        What was found, in counts. Never item text.
    hint : str, optional
        What to do about it.

    Attributes
    ----------
    what : str
        The message without the hint.
    hint : str or None
        What to do about it.
    """

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        self.what = _shown(what)
        self.hint = hint if hint is None else _shown(hint)
        super().__init__(self.what if hint is None else f"{self.what}\n  hint:  {self.hint}")


class IdentifierWarning(ReleaseWarning):
    """Columns that pass through unchanged tell rows apart: who knows them may find out whose row it is."""


class PersonsWarning(ReleaseWarning):
    """Persons have several rows, which hide each other: a guarantee counts rows, it does not hide persons."""


class UselessWarning(ReleaseWarning):
    """Next to nothing is left in a release: nearly all items became one label, or a column was emptied."""


class EmptiedWarning(ReleaseWarning):
    """Rows of sensitive items alone are published as empty: who knows that nobody has no item knows them."""


class NumbersWarning(ReleaseWarning):
    """A column with a number in every row was taken for an item: it may hold years or ages, not counts."""


def warn(warning: ReleaseWarning) -> None:
    """Issue a warning that points to the code that called pdanon."""
    caller: FrameType | None = sys._getframe(1)
    levels = 2
    while caller is not None and caller.f_globals.get("__name__", "").startswith("pdanon."):
        caller, levels = caller.f_back, levels + 1
    warnings.warn(warning, stacklevel=levels)


_OUT_OF_MEMORY = "there is not enough memory"
_CUT_OFF = "it is cut off: its end is missing"
_UNREACHABLE = "it cannot be reached"

# Why a file failed, by the class of the error: its own message may show a line of the file.
_CAUSES = {
    "MemoryError": _OUT_OF_MEMORY,
    "EOFError": _CUT_OFF,
    "BadGzipFile": "it is not compressed by gzip, as its name says",
    "error": "its compressed content is damaged",  # of zlib
    "EmptyDataError": "it is empty",
    "ParserWarning": "a line has more fields than the header",
    "ParserError": "a line has more fields than the header, or a quote has no end",
    "UnicodeDecodeError": "it is not UTF-8 text",
    "TOMLDecodeError": "its syntax is wrong",
    "NotImplementedError": "it uses what is not supported",
}

# The same by what Arrow writes, where the class says nothing. What is matched holds no data.
_PHRASES = {
    "Truncated compressed stream": _CUT_OFF,
    "incorrect header check": "it is not compressed by gzip, as its name says",
    "zlib inflate failed": "its compressed content is damaged",
    "Unrecognized filesystem type in URI": "there is no storage of such a kind",
    "Cannot parse URI": "the URI is not well-formed",
    "Empty path component": "a part of the path is empty",
    "NETWORK_CONNECTION": _UNREACHABLE,
    "curlCode": _UNREACHABLE,
    "UNAVAILABLE": _UNREACHABLE,
    "ACCESS_DENIED": "access is denied",
    "INVALID_ACCESS_KEY_ID": "access is denied",
    "SIGNATURE_DOES_NOT_MATCH": "access is denied",
    "PERMISSION_DENIED": "access is denied",
    "UNAUTHENTICATED": "access is denied",
    "NO_SUCH_BUCKET": "there is no such bucket",
    "Unable to load lib": "the library of this kind of storage is not installed",
}
_DAMAGED = "it is damaged, or of another format"

_REMEDIES = {
    _OUT_OF_MEMORY: "read fewer columns; pdanon.stream (--stream) holds one row group of Parquet at a time",
    _CUT_OFF: "copy or download it again",
    "its compressed content is damaged": "copy or download it again",
    "it is not compressed by gzip, as its name says": "rename it without .gz",
    "the URI is not well-formed": "in user information '/' is written %2F, '@' %40 and ':' %3A",
    "a part of the path is empty": "Arrow reads no key with '//': copy the file to another key, or here",
    _UNREACHABLE: "are the address and its endpoint right, and is there a network?",
    "access is denied": "are the credentials right, and may they read it?",
}


_KINDS = {".parquet": "Parquet", ".csv": "CSV", ".tsv": "CSV", ".xlsx": "a spreadsheet", ".toml": "TOML"}
_READERS = {
    "Parquet": "pdanon.read_parquet(path) reads it",
    "CSV": "pdanon.read_csv(path, column='items', separator='|') reads it",
    "a spreadsheet": "pd.read_excel(path) reads it, or save it as 'CSV UTF-8'",
}


def cause_of(error: Exception) -> str:
    """Why a file failed: what the system says, or else what errors of this class mean."""
    number = error.errno if isinstance(error, OSError) else None
    if number:
        return os.strerror(number)
    known = (_CAUSES[each.__name__] for each in type(error).__mro__ if each.__name__ in _CAUSES)
    message = str(error) if isinstance(error, (OSError, ValueError)) else ""  # of Arrow
    written = (cause for phrase, cause in _PHRASES.items() if phrase in message)
    return next(known, next(written, _DAMAGED))


def read_safely(
    read: Callable[[], _Content], path: str | os.PathLike[str], kind: str, part: str = ""
) -> _Content:
    """What a function reads from a file, or a part of it; or an error that holds nothing of the file."""
    try:
        return read()
    except PdanonError:
        raise
    except Exception as error:  # a parser may raise anything on a damaged file
        problem = cause_of(error)
    # Raised outside the handler: the parser's own message may show a line of the file.
    if problem == _DAMAGED and kind == "Parquet" and _is_cut_off(path):
        problem = _CUT_OFF
    hint = remedy_of(problem) if part else file_hint(path, kind, problem)
    raise FormatError(
        f"the file cannot be read as {kind}", where=f"{os.fspath(path)}{part}", got=problem, hint=hint
    )


def _is_cut_off(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file of this machine begins as Parquet and does not end so."""
    try:
        with open(path, "rb") as file:
            begin = file.read(4)
            file.seek(-4, os.SEEK_END)
            return begin == b"PAR1" != file.read()
    except (OSError, ValueError):
        return False


def remedy_of(cause: str | None) -> str | None:
    """What to do about a cause, whatever file it is."""
    return None if cause is None else _REMEDIES.get(cause)


def file_hint(path: str | os.PathLike[str], kind: str, cause: str | None = None) -> str | None:
    """What to do about a file that cannot be read, as far as the cause, its name and the directory tell."""
    text = os.fspath(path)
    if remedy := remedy_of(cause):
        return remedy
    if re.match(_SCHEME, text):
        if kind == "Parquet":
            return "are the address, its endpoint and the credentials right?"
        return "only Parquet is read from a URI: copy the file to this machine"
    if os.path.isdir(text):
        return "it is a directory: name a file; pdanon.stream.anonymize reads directories of Parquet files"
    if not os.path.exists(text):
        return _nearest_file(text)
    suffix = os.path.splitext(text)[1].lower()
    known = _KINDS.get(suffix)
    if known is None or known == kind:
        return "save it as UTF-8, as spreadsheets offer: 'CSV UTF-8'" if kind == "CSV" else None
    return f"by its name it is {known}: {_READERS[known]}" if known in _READERS else None


def check_names(names: Iterable[str], where: str | os.PathLike[str]) -> None:
    """Check that the columns of a file have different names; several may have none."""
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name and first.setdefault(name, place) != place:
            got = f"columns {first[name]} and {place}"  # and not the name: a first line may be data
            hint = "give each column a name of its own: a name must say which column is meant"
            raise ColumnError("two columns have the same name", where=os.fspath(where), got=got, hint=hint)


def did_you_mean(name: object, known: Iterable[str]) -> str | None:
    """A hint that has the nearest of the names that are known, if one is near; capitals do not matter."""
    folded = {each.casefold(): each for each in known}
    nearest = get_close_matches(name.casefold(), folded, 1) if isinstance(name, str) else []
    return f"did you mean {folded[nearest[0]]!r}?" if nearest else None


def _nearest_file(path: str) -> str | None:
    """The file beside it that may be meant."""
    directory, name = os.path.split(path)
    try:
        beside = sorted(os.listdir(directory or "."))
    except (OSError, ValueError):
        return f"there is no directory {directory!r} here"
    beside = [each for each in beside if each != name]  # it may be there by now
    alike = get_close_matches(_stem(name), map(_stem, beside), len(beside) or 1)  # whatever they end in
    nearest = get_close_matches(name, [each for each in beside if _stem(each) in alike], 1, 0)
    if nearest:
        return f"did you mean {nearest[0]!r}?"
    return None if os.path.isabs(path) else f"a relative path begins at {os.getcwd()!r}"


def _stem(name: str) -> str:
    return name.partition(".")[0]


@contextmanager
def require_extra(package: str) -> Iterator[None]:
    """Import what a part of pdanon needs that is installed as an extra, or say how."""
    try:
        yield
        return
    except ModuleNotFoundError as error:
        lacking = error.name
    hint = f"pip install 'pdanon[{package}]'"
    raise ImportError(f"pdanon.{package} needs the package {lacking}\n  hint:  {hint}")


def one_line(error: PdanonError) -> str:
    """The message of an error, for tables."""
    return "; ".join(" ".join(line.split()) for line in str(error).splitlines())
