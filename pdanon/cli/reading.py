"""What a command reads: the table of its file, in whatever form, and the files among its options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon.cli.checks import form_of
from pdanon.cli.saying import print_aside, stage, warned
from pdanon.guarantees.parameters import constraint_list
from pdanon.io.tables import read_weights

__all__ = ["read", "read_options"]


def read(path: Path | str, arguments: argparse.Namespace) -> pd.DataFrame:
    """Read the table of a command, with a row a person."""
    with stage(f"reading {path}"), warned():
        table = form_of(arguments).read(path, getattr(arguments, "keep", None) or ())
    for note in table.notes:
        print_aside(f"{path}: {note}")
    return table.frame


def read_options(options: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Read the files among the options of an algorithm."""
    if "constraints" in options:
        options["constraints"] = constraint_list(arguments.constraints, arguments.column)
    if "weights" in options:
        options["weights"] = read_weights(arguments.weights)
