"""Checks of what is asked of files, before any of them is read."""

from __future__ import annotations

import argparse
from pathlib import Path

from pdanon.cli.options import flag, is_table
from pdanon.errors import ParameterError
from pdanon.io.forms import Form
from pdanon.io.lines import is_lines, is_text
from pdanon.io.tables import check_distinct, is_csv, suffix_hint

__all__ = ["check_files", "check_form", "check_stream", "check_table", "form_of"]


def form_of(arguments: argparse.Namespace) -> Form:
    """What is said of the form of a table."""
    names = ("by", "item", "conflicts", "onehot", "prefix", "column", "separator", "delimiter", "encoding")
    return Form(**{name: getattr(arguments, name) for name in names} | {"by": arguments.by or ()})


def check_form(arguments: argparse.Namespace) -> None:
    """Check what is said of the form of a table, and note what its list column is called."""
    check_table(arguments)
    form = form_of(arguments)
    form.check(arguments.source, flag)
    arguments.column = form.lists


def check_table(arguments: argparse.Namespace) -> None:
    """Check that what is read and written are single tables, as it is without --stream."""
    path = arguments.source
    if not is_lines(path):
        hint = suffix_hint(path) or "with --stream, Parquet files in directories are read and written"
        raise ParameterError(f"'{path}' must end in .parquet, .csv, .tsv or .jsonl", where="IN", hint=hint)
    path = getattr(arguments, "target", None)
    if path is not None and not is_table(path):
        hint = suffix_hint(path) or "with --stream, Parquet files in directories are read and written"
        raise ParameterError(f"'{path}' must end in .parquet or .csv", where="OUT", hint=hint)
    arguments.source = Path(arguments.source)


def check_files(arguments: argparse.Namespace) -> None:
    """Check what can be checked of files before any is read."""
    files = {name: value for name, value in vars(arguments).items() if isinstance(value, Path)}
    check_distinct(files.values(), "arguments")
    joined = [files[name] for name in ("target", "threats") if name in files and is_csv(files[name])]
    if is_text(arguments.source) and not form_of(arguments).raw:
        joined = [arguments.source, *joined]
        if arguments.column is None and arguments.separator is not None:
            hint = "say which column has the items, such as --column items; or see --by and --onehot"
            raise ParameterError("a CSV file needs --column", where=str(arguments.source), hint=hint)
    if joined and arguments.separator is None:
        hint = "say what stands between two items, such as --separator ' '; it is never guessed"
        if joined[0] == arguments.source:
            hint += ". If items have a line each: --by and --item; if they have a column each: --onehot"
        raise ParameterError("a CSV file needs --separator", where=str(joined[0]), hint=hint)


def check_stream(arguments: argparse.Namespace) -> None:
    """Check that nothing is asked for that needs all rows at once."""
    for name in ("by", "item", "conflicts", "onehot", "prefix", "delimiter", "encoding"):
        if getattr(arguments, name) is not None:
            hint = "without it any table that fits into memory is read; pdanon.to_parquet writes lists"
            raise ParameterError(f"--stream takes lists, in Parquet, and no {flag(name)}", hint=hint)
    if arguments.algorithm is None:
        hint = "try them on a sample of the rows, and name the one that loses least"
        raise ParameterError("--stream needs --algorithm", hint=hint)
    csv = [path for path in (arguments.source, arguments.target) if is_text(path)]
    if csv:
        hint = "only Parquet can be read in parts; pdanon.read_csv and pdanon.to_parquet convert a file"
        raise ParameterError("--stream takes no CSV", where=str(csv[0]), hint=hint)
    if arguments.report:
        hint = "a table that fits into memory has one without --stream"
        raise ParameterError("--stream writes no report, which needs all rows at once", hint=hint)
    if arguments.legend:
        hint = "--mapping FILE says what each item became; its lines that differ are the legend"
        raise ParameterError("--stream writes no legend", hint=hint)
    if arguments.source and "://" not in arguments.source:
        arguments.source = Path(arguments.source)
