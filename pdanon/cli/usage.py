"""Usage: the commands, their arguments, and the help that is shown of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

from pdanon.algorithms.record import OF_LISTS
from pdanon.algorithms.registry import functions
from pdanon.cli.options import (
    CONSTRAINTS_HELP,
    DEMANDS,
    KNOWN_HELP,
    PASSING,
    WAYS,
    Parser,
    flag,
    new,
    new_page,
    new_table,
    table_file,
)
from pdanon.guarantees.parameters import DEFAULT_M

__all__ = ["Command", "parser_of"]

Command: TypeAlias = Callable[[argparse.Namespace], int]


def parser_of(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of the command line, which says as ``run`` what is to be called.

    Parameters
    ----------
    commands : mapping
        What each command runs, in the order to list them.
    """
    options: dict[str, Any] = {
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
    }
    parser = Parser(
        prog="pdanon",
        description="Anonymize tables with a column of item lists, audit releases and measure risk.",
        epilog="example:\n  pdanon anonymize baskets.parquet release.parquet -k 5 -m 2",
        **options,
    )
    parser.add_argument("--version", action="version", version=f"pdanon {version('pdanon')}")
    added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run in commands.items():
        text, example, fill = _COMMANDS[name]
        description, epilog = f"{text.capitalize()}.", f"example:\n  pdanon {name} {example}".rstrip()
        command = added.add_parser(name, help=text, description=description, epilog=epilog, **options)
        command.set_defaults(run=run)
        fill(command)
    return parser


def _fill_anonymize(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help="the data: .parquet or .csv")
    command.add_argument("target", metavar="OUT", type=new, help="the release: .parquet or .csv")
    command.add_argument(
        "--stream",
        action="store_true",
        help="read and write Parquet in parts, as it does not fit into memory: IN is a file, a directory, "
        "a path with wildcards or a URI, and OUT does not exist yet",
    )
    command.add_argument(
        "--algorithm",
        choices=functions(*OF_LISTS),
        metavar="NAME",
        help="see 'pdanon algorithms' for what each does (default: several are tried, and the release that "
        "loses least is written)",
    )
    groups = {"what must hold": DEMANDS, "how it is reached": WAYS, "what passes through": PASSING}
    for title, parameters in groups.items():
        group = command.add_argument_group(title)
        for parameter, known in parameters.items():
            group.add_argument(flag(parameter), dest=parameter, default=argparse.SUPPRESS, **known)
    _add_lines(command.add_argument_group("if IN has a line for each item"))
    _add_format(command)
    command.add_argument(
        "--mapping", metavar="FILE", type=new_table, help="write what each item became: .parquet or .csv"
    )
    command.add_argument(
        "--report", metavar="FILE", type=new_page, help="write a page that shows the release to others: .html"
    )


def _fill_profile(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help="the data: .parquet or .csv")
    command.add_argument("-k", default=5, **{**DEMANDS["k"], "help": "how many rows are enough (default: 5)"})
    command.add_argument("-m", default=3, type=int, help="most items that the attacker knows (default: 3)")
    lines = command.add_argument_group("if IN has a line for each item")
    _add_lines(lines)
    lines.add_argument("--keep", nargs="+", metavar="COLUMN", default=[], help="other columns to look at")
    _add_format(command)


def _fill_audit(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="RELEASED", type=table_file, help="the release: .parquet or .csv")
    command.add_argument("-k", required=True, **DEMANDS["k"])
    command.add_argument("-m", default=DEFAULT_M, **{**DEMANDS["m"], "help": f"{KNOWN_HELP} (default: 2)"})
    _add_format(command)
    command.add_argument(
        "--constraints", metavar="FILE", type=table_file, help=f"{CONSTRAINTS_HELP} (not with -m)"
    )
    command.add_argument(
        "--mapping", metavar="FILE", type=table_file, help="the mapping of the release, to audit constraints"
    )
    command.add_argument(
        "--threats", metavar="FILE", type=new_table, help="write the minimal itemsets that break it"
    )


def _fill_risk(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", type=table_file, help="a table: .parquet or .csv")
    command.add_argument("-k", required=True, **DEMANDS["k"])
    command.add_argument("-m", default=2, type=int, help="most items that the attacker knows (default: 2)")
    command.add_argument(
        "--quasi", nargs="+", metavar="COLUMN", help="columns that the attacker knows beside the items"
    )
    _add_format(command)


def _fill_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file")


def _fill_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file with a table [compare]")


def _fill_algorithms(command: argparse.ArgumentParser) -> None:
    """There is nothing to be said."""


def _add_lines(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--by", nargs="+", metavar="COLUMN", help="whose line it is, such as a customer number; not published"
    )
    group.add_argument(
        "--item",
        metavar="COLUMN",
        help="the item of the line; of the other columns those of --keep are taken, one value a person",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="what stands between two fields of CSV (default: what does most often)",
    )
    group.add_argument("--encoding", metavar="NAME", default="utf-8", help="of CSV (default: utf-8)")


def _add_format(command: argparse.ArgumentParser) -> None:
    command.add_argument("--column", metavar="NAME", help="the list column (default: the only one)")
    command.add_argument("--separator", metavar="TEXT", help="what stands between two items in CSV files")


# Of each command: what it does, the arguments of an example, and what adds its arguments.
_COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "profile": (
        "look at a raw table: what is in it, what identifies, and what to do before it is released",
        "invoices.csv --by customer --item product",
        _fill_profile,
    ),
    "anonymize": (
        "write a release of a table, audited, with the guarantee that is asked for",
        "baskets.parquet release.parquet -k 5 -m 2 --mapping mapping.parquet",
        _fill_anonymize,
    ),
    "audit": (
        "recount whether a release has a guarantee; exit code 1 if it has not",
        "release.parquet -k 5 -m 2 --threats threats.parquet",
        _fill_audit,
    ),
    "risk": (
        "show the share of rows that a few known items single out",
        "baskets.parquet -k 5 -m 2",
        _fill_risk,
    ),
    "run": (
        "write what a policy file asks for: release, mapping and losses, or none",
        "policy.toml",
        _fill_run,
    ),
    "compare": ("run the algorithms of a policy file, and show what is lost", "policy.toml", _fill_compare),
    "algorithms": ("list the algorithms: guarantee, what it does, parameters", "", _fill_algorithms),
}
