"""Completion: the script by which a shell completes commands, options, names of algorithms and files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from pdanon.algorithms.registry import ALGORITHMS, OF_LISTS, functions
from pdanon.cli.options import (
    CONSTRAINTS_HELP,
    DEMANDS,
    KNOWN_HELP,
    PASSING,
    RULES_HELP,
    SHARE_HELP,
    WAYS,
    Parser,
    flag,
    new_page,
    new_picture,
    new_table,
    release,
    rules_file,
    table_file,
)
from pdanon.errors import ParameterError
from pdanon.guarantees.parameters import DEFAULT_M

__all__ = ["SHELLS", "Command", "PrintCompletion", "parser_of"]

SHELLS = ("bash", "zsh", "fish")

_READ = ("parquet", "csv", "tsv", "gz", "jsonl")
_TABLE = ("parquet", "csv")
# What a file that an argument names ends in.
_SUFFIXES = {
    "source": _READ,
    "target": _TABLE,
    "out": _TABLE,
    "classes": _TABLE,
    "mapping": _TABLE,
    "legend": _TABLE,
    "threats": _TABLE,
    "constraints": _TABLE,
    "rules": (*_TABLE, "toml"),
    "weights": _TABLE,
    "hierarchy": ("csv",),
    "report": ("html",),
    "picture": ("png", "svg", "pdf"),
    "policy": ("toml",),
}


class PrintCompletion(argparse.Action):
    """Print the script for a shell, and end."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        """Do so."""
        print(_script(parser, values))
        parser.exit(0)


def _script(parser: argparse.ArgumentParser, shell: str) -> str:
    """What the shell is to read."""
    if find_spec("shtab") is None:
        hint = "pip install 'pdanon[completion]'"
        raise ParameterError("completion needs the package shtab", where="--print-completion", hint=hint)
    from shtab import complete

    _complete_files(parser)
    return str(complete(parser, shell, root_prefix="pdanon", preamble=_bash() if shell == "bash" else ""))


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Say of each argument, of a command too, which files complete it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command)
        elif action.dest in _SUFFIXES:
            suffixes = _SUFFIXES[action.dest]
            action.complete = {  # type: ignore[attr-defined]
                "bash": _function(suffixes),
                "zsh": f"_files -g '*.({'|'.join(suffixes)}|)'",  # with the bar it is no qualifier
                "fish": f"(__fish_complete_suffix .{suffixes[0]})",  # comes first; all others after it
            }


def _function(suffixes: tuple[str, ...]) -> str:
    return f"_pdanon_files_{'_'.join(suffixes)}"


def _bash() -> str:
    """Functions that list the files with some suffixes, and directories."""
    return "\n".join(
        f'{_function(suffixes)}() {{ compgen -d -- "$1"; '
        f'compgen -f -- "$1" | grep -E "\\.({"|".join(suffixes)})$"; }}'
        for suffixes in dict.fromkeys(_SUFFIXES.values())
    )


# --- Usage: the commands, their arguments, and the help that is shown of them


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
    parser.add_argument(
        "--print-completion",
        action=PrintCompletion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print what lets a shell complete commands, options and files: {', '.join(SHELLS)}",
    )
    added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run in commands.items():
        text, example, fill = _COMMANDS[name]
        description, epilog = f"{text.capitalize()}.", f"example:\n  pdanon {name} {example}".rstrip()
        command = added.add_parser(name, help=text, description=description, epilog=epilog, **options)
        fill(command)
        written = [action.dest for action in command._actions if action.type in _WRITTEN]
        command.set_defaults(run=run, written=written)
        if written or fill in (_fill_run, _fill_compare):
            _add_writing(command)
    return parser


def _fill_anonymize(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    command.add_argument("target", metavar="OUT", type=release, help="the release: .parquet or .csv")
    command.add_argument(
        "--stream",
        action="store_true",
        help="read and write Parquet in parts, as it does not fit into memory: IN is a file, a directory, "
        "a path with wildcards or a URI, and OUT does not exist yet",
    )
    _add_algorithm(command, "several are tried, and the release that loses least is written")
    groups = {"what must hold": DEMANDS, "how it is reached": WAYS, "what passes through": PASSING}
    _add_parameters(command, groups)
    _add_form(command)
    command.add_argument(
        "--join",
        metavar="TEXT",
        help="what stands between two items in a release that is CSV (default: that of --separator)",
    )
    command.add_argument(
        "--escape-formulas",
        action="store_true",
        help="in CSV, put ' before texts that a spreadsheet would run as formulas; this changes the text",
    )
    command.add_argument(
        "--mapping", metavar="FILE", type=new_table, help="write what each item became: .parquet or .csv"
    )
    command.add_argument(
        "--legend",
        metavar="FILE",
        type=new_table,
        help="write which items each label stands for, to be published or not: .parquet or .csv",
    )
    command.add_argument(
        "--classes",
        metavar="FILE",
        type=new_table,
        help="write the second table of a release by cahd, the counts of its groups: .parquet or .csv",
    )
    command.add_argument(
        "--report", metavar="FILE", type=new_page, help="write a page that shows the release to others: .html"
    )


def _fill_profile(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    command.add_argument("-k", default=5, **{**DEMANDS["k"], "help": "how many rows are enough (default: 5)"})
    command.add_argument("-m", default=3, type=int, help="most items that the attacker knows (default: 3)")
    _add_form(command).add_argument(
        "--keep",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="other columns to look at (default: all of a table with lists)",
    )
    command.add_argument(
        "--report",
        metavar="FILE",
        type=new_page,
        help="write it as a page, which is not to be published: .html",
    )


def _fill_tradeoff(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    for name, values in {"k": (3, 5, 11), "m": (1, 2, 3)}.items():
        shown = " ".join(map(str, values))
        text = f"{DEMANDS[name]['help'].partition(';')[0]} (default: {shown})"
        command.add_argument(f"-{name}", nargs="+", type=int, default=list(values), help=text)
    _add_algorithm(command, "the best of those that can have the guarantee")
    _add_parameters(command, {"how it is reached": WAYS, "what passes through": PASSING})
    _add_form(command)
    command.add_argument("--out", metavar="FILE", type=new_table, help="write the table: .parquet or .csv")
    command.add_argument("--picture", metavar="FILE", type=new_picture, help="draw it: .png, .svg or .pdf")
    command.add_argument(
        "--report",
        metavar="FILE",
        type=new_page,
        help="write it as a page, with a first look at the table: .html; not to be published",
    )


def _add_algorithm(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--algorithm",
        choices=list(functions(*OF_LISTS)),
        metavar="NAME",
        help=f"see 'pdanon algorithms' for what each does (default: {default})",
    )


def _add_parameters(command: argparse.ArgumentParser, groups: dict[str, dict[str, dict[str, Any]]]) -> None:
    for title, parameters in groups.items():
        group = command.add_argument_group(title)
        for parameter, known in parameters.items():
            group.add_argument(flag(parameter), dest=parameter, default=argparse.SUPPRESS, **known)


def _fill_audit(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "source", metavar="RELEASED", help="the release: .parquet, also as a URI, .csv, .tsv or .jsonl"
    )
    command.add_argument(
        "--stream",
        action="store_true",
        help="read Parquet in parts: RELEASED is a file, a directory, a path with wildcards or a URI, and "
        "the rows of all files count together",
    )
    command.add_argument("-k", **DEMANDS["k"])
    command.add_argument("-m", default=DEFAULT_M, **{**DEMANDS["m"], "help": f"{KNOWN_HELP} (default: 2)"})
    _add_form(command)
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=_QUASI_HELP)
    sensitive = "items that nobody is to learn; goes with -l, -p or --rho"
    command.add_argument("--sensitive", nargs="+", metavar="ITEM", help=sensitive)
    command.add_argument("-l", **DEMANDS["l"])
    command.add_argument(
        "--rho",
        type=float,
        help="of the rows that match any known items, also sensitive ones, a sensitive item is in at most "
        "this share; -m then has no default, and any number is known",
    )
    command.add_argument(
        "--constraints", metavar="FILE", type=table_file, help=f"{CONSTRAINTS_HELP} (not with -m)"
    )
    command.add_argument(
        "--rules", metavar="FILE", type=rules_file, help=f"{RULES_HELP} (with -c, not with -m)"
    )
    command.add_argument("-c", type=float, help=SHARE_HELP)
    command.add_argument(
        "--mapping",
        metavar="FILE",
        type=table_file,
        help="the mapping of the release: for constraints, rules, sensitive items that it left out, and to "
        "count rows that suppression emptied",
    )
    command.add_argument(
        "--classes", metavar="FILE", type=table_file, help="the counts of groups, to audit a release by cahd"
    )
    command.add_argument("-p", type=int, help="a sensitive item is in at most 1/p of the rows of a group")
    command.add_argument(
        "--chunks", action="store_true", help="RELEASED is a release by disassociate, of records in chunks"
    )
    safe = "with --chunks: nor must two items of different chunks be in the same record"
    command.add_argument("--safe", action="store_true", help=safe)
    command.add_argument(
        "--threats", metavar="FILE", type=new_table, help="write the minimal itemsets that break it"
    )


def _fill_risk(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    command.add_argument("-k", required=True, **DEMANDS["k"])
    command.add_argument("-m", default=2, type=int, help="most items that the attacker knows (default: 2)")
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=_QUASI_HELP)
    _add_form(command)
    command.add_argument("--out", metavar="FILE", type=new_table, help="write the table: .parquet or .csv")
    command.add_argument("--all", action="store_true", help="print all that was counted, not a summary")


def _fill_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file")
    _add_outside(command)


def _fill_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file with a table [compare]")
    command.add_argument("--all", action="store_true", help="print all configurations, if they are many")
    _add_outside(command)


def _add_outside(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--allow-outside",
        action="store_true",
        help="let the policy write outside of its own directory (default: refuse)",
    )


def _add_writing(command: argparse.ArgumentParser) -> None:
    """Add what the caller says of files that are written, whoever names them."""
    group = command.add_argument_group("what is written")
    group.add_argument(
        "--overwrite",
        action="store_true",
        help="replace files that exist (default: refuse); a release by --stream is never replaced",
    )
    group.add_argument(
        "--dry-run", action="store_true", help="show what would be read and written, and do neither"
    )


def _fill_algorithms(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        choices=list(ALGORITHMS),
        help="which (default: a line of each)",
    )


def _add_form(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add what says of what form a table is; return the group of those without lists."""
    command.add_argument("--column", metavar="NAME", help="the list column (default: the only one)")
    command.add_argument("--separator", metavar="TEXT", help="what stands between two items in CSV files")
    command.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="what stands between two fields of CSV (default: what does most often)",
    )
    command.add_argument("--encoding", metavar="NAME", help="of CSV (default: utf-8)")
    group = command.add_argument_group("if a person has several rows, or items have a line or a column each")
    group.add_argument(
        "--by",
        nargs="+",
        metavar="COLUMN",
        help="whose line or row it is, such as a customer number; not published, nor is any other column "
        "that --keep does not name",
    )
    group.add_argument("--item", metavar="COLUMN", help="the item of the line")
    group.add_argument(
        "--conflicts",
        choices=("refuse", "first"),
        help="what to do if lines of a person differ in a column of --keep (default: refuse)",
    )
    group.add_argument(
        "--onehot",
        nargs="*",
        metavar="COLUMN",
        help="columns of 0 and 1, true and false, or counts, each of which is an item (default: all but "
        "those of --by and --keep)",
    )
    group.add_argument(
        "--prefix",
        metavar="TEXT",
        help="what the names of these columns begin with, which is no part of the item",
    )
    group.add_argument(
        "--tick",
        metavar="TEXT",
        help="what is in a box that is ticked, such as x or yes (default: 1, true, or a count)",
    )
    return group


_WRITTEN = (release, new_table, new_page, new_picture)  # types of arguments that name files to write
_QUASI_HELP = "columns that the attacker knows beside the items"
_DATA = "the data: .parquet, also as a URI, .csv, .tsv (these also with .gz) or .jsonl"

_POLICY = """such a policy.toml:
  input = "patients.parquet"
  parameters = { k = 5, m = 2, random_state = 1 }
  columns = { items = "diagnoses", quasi = ["age", "sex"], keep = ["district"], drop = [] }
  outputs = { release = "released.parquet", mapping = "mapping.parquet", report = "report.html" }"""

# Of each command: what it does, the arguments of an example, and what adds its arguments.
_COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "profile": (
        "look at a raw table: what is in it, what identifies, and what to do before it is released",
        "invoices.csv --by customer --item product",
        _fill_profile,
    ),
    "tradeoff": (
        "show what each k and m would cost, and what risk it leaves, before a release is made",
        "baskets.parquet -k 3 5 11 -m 1 2 3 --report tradeoff.html",
        _fill_tradeoff,
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
        f"policy.toml\n\n{_POLICY}",
        _fill_run,
    ),
    "compare": ("run the algorithms of a policy file, and show what is lost", "policy.toml", _fill_compare),
    "algorithms": (
        "list the algorithms, or tell the guarantee and the options of one",
        "pcta",
        _fill_algorithms,
    ),
}
