"""Paths on the command line: files that a command reads or writes, and the place of a release."""

from __future__ import annotations

import argparse
from pathlib import Path

from pdanon.errors import mask_credentials
from pdanon.io.storage import suffix_of
from pdanon.io.tables import suffix_hint
from pdanon.itemsets.validation import is_uri

_HINT = "\n  hint:  "


def is_table(path: str | Path) -> bool:
    """Whether the suffix of a file is that of a single table."""
    return suffix_of(path) in (".parquet", ".csv")


def table_file(text: str, *, written: bool = False) -> Path:
    """Parse the path of a table to read or write."""
    if is_uri(text):
        masked = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{masked!r} is a URI{_HINT}copy the file to this machine first")
    if not is_table(text):
        hint = suffix_hint(text, written=written)
        more = f"{_HINT}{hint}" if hint else ""
        raise argparse.ArgumentTypeError(f"{text!r} must end in .parquet or .csv{more}")
    return Path(text)


def rules_file(text: str) -> Path:
    """Parse the path of a file of rules to read."""
    return Path(text) if Path(text).suffix.lower() == ".toml" and not is_uri(text) else table_file(text)


def new(text: str) -> Path:
    """Parse the path of a file to write."""
    if is_uri(text):
        hint = "name a file on this machine; only the release is written to a URI"
        masked = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{masked!r} is a URI{_HINT}{hint}")
    path = _in_a_directory(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a directory{_HINT}name a file in it")
    return path


def release(text: str) -> Path | str:
    """Parse the path or URI of a release; `check_files` checks later whether it exists already."""
    return _in_a_directory(text) if not is_uri(text) else text


def _in_a_directory(text: str) -> Path:
    """Parse a path in a directory that exists."""
    path = Path(text)
    if not path.absolute().parent.is_dir():
        hint = f"make {str(path.parent)!r} first"
        raise argparse.ArgumentTypeError(f"{text!r} is in a directory that does not exist{_HINT}{hint}")
    return path


def new_table(text: str) -> Path:
    """Parse the path of a table to write."""
    if not is_uri(text):  # `new` reports a URI as a target that cannot be written
        table_file(text, written=True)
    return new(text)


def new_page(text: str) -> Path:
    """Parse the path of a page to write."""
    if Path(text).suffix.lower() != ".html":
        raise argparse.ArgumentTypeError(f"{text!r} must end in .html")
    return new(text)


def new_evidence(text: str) -> Path:
    """Parse the path of evidence to write: its JSON, beside which there is a page."""
    if Path(text).suffix not in (".json", ".html"):
        hint = "such as evidence.json; evidence.html is written beside it"
        raise argparse.ArgumentTypeError(f"{text!r} must end in .json or .html{_HINT}{hint}")
    return new(text).with_suffix(".json")


def new_picture(text: str) -> Path:
    """Parse the path of a picture to write."""
    if Path(text).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .png, .svg or .pdf")
    return new(text)
