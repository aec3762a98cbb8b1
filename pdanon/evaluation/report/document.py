"""A page as one file: its style and script are in it, and nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from pdanon.errors import FormatError, cause_of
from pdanon.io.files import replacing
from pdanon.itemsets.values import escape_html

__all__ = ["document", "write_document", "write_draft"]


def document(title: str, sections: Iterable[str], note: str) -> str:
    """A page as text.

    Parameters
    ----------
    title : str
        What the page is.
    sections : iterable of str
        Its HTML.
    note : str
        What is in it and what is not, for its foot.
    """
    script, style = _resource("report.js"), _resource("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_resource("report.html")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        title=escape_html(title),
        style=style,
        script=script,
        version=version("pdanon"),
        note=escape_html(note),
        content="\n".join(sections),
    )


def _resource(name: str) -> str:
    return files("pdanon.evaluation.report").joinpath(name).read_text(encoding="utf-8")


def write_document(page: str, path: str | os.PathLike[str], *, confidential: bool = False) -> None:
    """Write a page, whole or not at all; a new one that is confidential can be read by its owner alone."""
    try:
        with replacing(path, confidential=confidential) as draft:
            write_draft(page, draft)
    except OSError as error:
        problem = cause_of(error)
        raise FormatError("the report cannot be written", where=os.fspath(path), got=problem) from None


def write_draft(page: str, path: Path) -> None:
    """Write a page to a file that is nobody's yet."""
    path.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))
