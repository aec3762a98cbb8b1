"""Checks of what is asked of files, before any of them is read."""

from __future__ import annotations

import argparse
from pathlib import Path

from pdanon.cli.options import is_table
from pdanon.errors import ParameterError
from pdanon.io.lines import is_lines
from pdanon.io.tables import check_distinct, is_csv, suffix_hint

__all__ = ["check_files", "check_lines", "check_stream", "check_tables"]


def check_files(arguments: argparse.Namespace) -> None:
    """Check what can be checked of files before any is read."""
    files = {name: value for name, value in vars(arguments).items() if isinstance(value, Path)}
    check_distinct(files.values(), "arguments")
    lines = bool(getattr(arguments, "by", None))  # in which items are not joined
    listed = [name for name in ("source", "target", "threats")[lines:] if name in files]
    csv = [files[name] for name in listed if is_csv(files[name])]
    if csv and arguments.separator is None:
        hint = "say what stands between two items, such as --separator ' '; it is never guessed"
        raise ParameterError("a CSV file needs --separator", where=str(csv[0]), hint=hint)
    named = [path for path in csv if path not in (files.get("target"), files.get("threats"))]
    if named and arguments.column is None:
        hint = "say which column has the items, such as --column items"
        raise ParameterError("a CSV file needs --column", where=str(named[0]), hint=hint)


def check_tables(arguments: argparse.Namespace) -> None:
    """Check that what is read and written are single tables, as it is without --stream."""
    asked = {"IN": arguments.source} | ({"OUT": arguments.target} if hasattr(arguments, "target") else {})
    for name, path in asked.items():
        if not (is_lines(path) if arguments.by and name == "IN" else is_table(path)):
            hint = suffix_hint(path) or "with --stream, Parquet files in directories are read and written"
            raise ParameterError(f"'{path}' must end in .parquet or .csv", where=name, hint=hint)
    arguments.source = Path(arguments.source)


def check_lines(arguments: argparse.Namespace) -> None:
    """Check that lines are said to be some, and by what their persons and items are known."""
    if (arguments.by is None) != (arguments.item is None):
        hint = "such as --by customer --item product, for a table with a line for each item"
        raise ParameterError("--by and --item go together", hint=hint)
    if arguments.by:
        if arguments.column not in (None, arguments.item):
            hint = "the lists are called as the items: leave --column out"
            raise ParameterError("--column is not used with --item", hint=hint)
        arguments.column = arguments.item


def check_stream(arguments: argparse.Namespace) -> None:
    """Check that nothing is asked for that needs all rows at once."""
    if arguments.by or arguments.item:
        hint = "pdanon.from_long makes lists of lines that fit into memory"
        raise ParameterError("--stream takes lists, not --by and --item", hint=hint)
    if arguments.algorithm is None:
        hint = "try them on a sample of the rows, and name the one that loses least"
        raise ParameterError("--stream needs --algorithm", hint=hint)
    csv = [path for path in (arguments.source, arguments.target) if is_csv(Path(path))]
    if csv:
        hint = "only Parquet can be read in parts; pdanon.read_csv and pdanon.to_parquet convert a file"
        raise ParameterError("--stream takes no CSV", where=str(csv[0]), hint=hint)
    if arguments.report:
        hint = "a table that fits into memory has one without --stream"
        raise ParameterError("--stream writes no report, which needs all rows at once", hint=hint)
    if arguments.source and "://" not in arguments.source:
        arguments.source = Path(arguments.source)
