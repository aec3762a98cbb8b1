"""Errors: what is wrong, where, what was got, and a hint.

The tree::

    PdanonError
    ├── ColumnError        (AttributeError)  which column holds the itemsets?
    ├── ItemsetDtypeError  (TypeError)       the column does not hold sets of items
    ├── ParameterError     (ValueError)      a parameter has no meaning here
    ├── HierarchyError     (ValueError)      the hierarchy is not a tree over the items
    ├── FormatError        (ValueError)      a file is not what it should be
    ├── InfeasibleError                      no release of this data can have the guarantee
    └── GuaranteeError                       a release failed its own audit and is withheld

and one warning, `IdentifierWarning`: what passes through unchanged may tell who a person is.

Messages hold counts, positions, column names and parameter values. They never hold the text of an
item: a log file is not a place for data that is about to be anonymized.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "ColumnError",
    "FormatError",
    "GuaranteeError",
    "HierarchyError",
    "IdentifierWarning",
    "InfeasibleError",
    "ItemsetDtypeError",
    "ParameterError",
    "PdanonError",
    "cause_of",
    "one_line",
    "readable",
]

_Content = TypeVar("_Content")


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
        # A file name may hold what cannot be encoded, and so not be printed or logged.
        super().__init__("\n".join(parts).encode("utf-8", "backslashreplace").decode())


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
    """No release of this data can have the guarantee.

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


class IdentifierWarning(UserWarning):
    """Columns that pass through unchanged tell rows apart: who knows them may find out whose row it is.

    Parameters
    ----------
    what : str
        Which columns, and how many rows share their values with too few others.
    hint : str, optional
        What to do about it.

    Attributes
    ----------
    what : str
        The message without the hint.
    """

    def __init__(self, what: str, *, hint: str | None = None) -> None:
        self.what = what.encode("utf-8", "backslashreplace").decode()
        message = what if hint is None else f"{what}\n  hint:  {hint}"
        super().__init__(message.encode("utf-8", "backslashreplace").decode())


# Why a file failed, by the class of the error: its own message may show a line of the file.
_CAUSES = {
    "EmptyDataError": "it is empty",
    "ParserWarning": "a line has more fields than the header",
    "ParserError": "a line has more fields than the header, or a quote has no end",
    "UnicodeDecodeError": "it is not UTF-8 text",
    "TOMLDecodeError": "its syntax is wrong",
    "NotImplementedError": "it uses what is not supported",
}


def cause_of(error: Exception) -> str:
    """Why a file failed: what the system says, or else what errors of this class mean."""
    number = error.errno if isinstance(error, OSError) else None
    if number:
        return os.strerror(number)
    known = (_CAUSES[each.__name__] for each in type(error).__mro__ if each.__name__ in _CAUSES)
    return next(known, "it is damaged, or of another format")


def readable(read: Callable[[], _Content], path: str | os.PathLike[str], kind: str) -> _Content:
    """What a function reads from a file, or an error that names the file and holds nothing of it."""
    try:
        return read()
    except PdanonError:
        raise
    except Exception as error:  # a parser may raise anything on a damaged file
        problem = cause_of(error)
    # Raised outside the handler: the parser's own message may show a line of the file.
    raise FormatError(f"the file cannot be read as {kind}", where=os.fspath(path), got=problem)


def one_line(error: PdanonError) -> str:
    """The message of an error, for tables."""
    return "; ".join(" ".join(line.split()) for line in str(error).splitlines())
