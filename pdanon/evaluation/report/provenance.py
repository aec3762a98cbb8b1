"""Which tables a report is about, when it was made, and with what."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

import pandas as pd

from pdanon.errors import ParameterError
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.evaluation.report.pieces import Cell, paragraph, section, table
from pdanon.recoding.result import Anonymized

__all__ = ["made", "provenance"]

_LIBRARIES = ("pdanon", "pandas", "numpy", "pyarrow")


def provenance(result: Anonymized, original: pd.DataFrame | None) -> str:
    """The section that says so."""
    prints = [paragraph("Fingerprint of the release (SHA-256):"), _print(result.frame)]
    if original is not None:
        prints += [paragraph("Fingerprint of the original (SHA-256):"), _print(original)]
    how = (
        "A table has this fingerprint if it has the same columns and rows, in the same order, whatever file "
        "it is in. Of a release, pdanon audit prints it; of any table in Python, frame.txanon.fingerprint()."
    )
    return section("Which tables, and when", made(), *prints, paragraph(how))


def made() -> str:
    """A table that says when a page was made, and with what."""
    rows = [(Cell("report made"), Cell(f"{_today():%Y-%m-%d %H:%M} UTC"))]
    rows += [(Cell(name), Cell(version(name))) for name in _LIBRARIES]
    rows += [(Cell("Python"), Cell(platform.python_version()))]
    return table("Made", ["", ""], rows)


def _print(frame: pd.DataFrame) -> str:
    return paragraph(fingerprint(frame), "model")


def _today() -> datetime:
    """Now, or the time that ``SOURCE_DATE_EPOCH`` says, so that a report can be made again, byte for byte."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if not said:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(said), UTC)
    except (ValueError, OverflowError, OSError):
        hint = "seconds since 1970, such as 1767225600; unset it to have the time of day"
        problem = "this is no time"
        raise ParameterError(problem, where="environment variable SOURCE_DATE_EPOCH", hint=hint) from None
