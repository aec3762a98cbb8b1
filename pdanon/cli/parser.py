"""Commands, their arguments and help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pdanon.algorithms.registry import ALGORITHMS, OF_LISTS, functions
from pdanon.cli.options import (
    COLUMNS,
    DEMANDS,
    HINT,
    KNOWN_HELP,
    OWN,
    PARAMETERS,
    QUASI_HELP,
    UNMODIFIED,
    WAYS,
    bound,
    column_type,
    flag,
    head_text,
    is_run_by_command,
    new,
    new_evidence,
    new_page,
    new_picture,
    new_table,
    release,
    table_file,
)
from pdanon.cli.output import Outcome
from pdanon.errors import ParameterError, did_you_mean
from pdanon.evaluation.report.html import HEAD
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.io.lines import TYPES

# Hints for options that do not exist here, because another option or a policy has their task.
_ELSEWHERE = {
    "--drop": "pass --keep for the columns to publish with --by, or write a policy, which has drop",
    "--reserve": "pass the larger k as -k, and audit the series for the smaller one",
    "--quasi": "pass it to anonymize, audit or risk; or write a policy with the columns as quasi",
    "--unit": "pass --by, which gathers lines to one row per person; anonymize, audit and risk take --unit",
}


class Parser(argparse.ArgumentParser):
    """A parser that gets its arguments when it is used, and reports wrong usage as a `ParameterError`."""

    fill: Callable[[], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments in the parser of the command, which knows similar options."""
        self.add_own()
        self._words = list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def add_own(self) -> None:
        """Add the arguments, unless they have been added."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill()

    def error(self, message: str) -> NoReturn:
        """Raise the error with a hint, instead of printing the usage."""
        if "arguments are required" in message and (unknown := self._unknown()):
            message = f"unrecognized arguments: {unknown}"
        what, _, hint = message.partition(HINT)
        raise ParameterError(what, hint=hint or self._suggest(message) or f"{self.prog} --help")

    def _unknown(self) -> str | None:
        """Return an unknown option: the missing argument may be its value."""
        options = [word.partition("=")[0] for word in self._words if word.startswith("--") and word != "--"]
        return next((each for each in options if each not in self._option_string_actions), None)

    def _suggest(self, message: str) -> str | None:
        """Return a hint for an unknown option or name, such as the most similar one."""
        _, choice, name = message.partition("invalid choice: '")
        if choice:
            wrong = name.partition("'")[0]
            if wrong in ALGORITHMS and "--algorithm" in message:
                if not is_run_by_command(wrong):
                    return f"{wrong} takes what no option can give: write a policy, or call pdanon.{wrong}"
                return f"{wrong} protects other columns too: compare its losses, see 'pdanon compare --help'"
            option = message.removeprefix("argument ").partition(":")[0]
            named = self._option_string_actions.get(option)
            actions = self._actions if named is None else [named]
            choices = [list(action.choices) for action in actions if action.choices is not None]
            return did_you_mean(wrong, [str(each) for each in chain.from_iterable(choices)])
        _, _, unknown = message.partition("unrecognized arguments: ")
        options = [word for word in unknown.split() if word.startswith("--")]
        if options and options[0] in _ELSEWHERE:
            return _ELSEWHERE[options[0]]
        return did_you_mean(options[0].partition("=")[0], self._option_string_actions) if options else None


# --- Commands, their arguments and their help


class PrintVersion(argparse.Action):
    """An option that prints the version and exits; only then is it looked up, which takes a millisecond."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        """Print the version and exit."""
        print(f"pdanon {version('pdanon')}")
        parser.exit()


Command: TypeAlias = Callable[[argparse.Namespace], Outcome]


def parser_of(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """Return the parser of the commands, in the order of the help; it stores their function as ``run``."""
    formatter = argparse.RawDescriptionHelpFormatter  # keeps the lines of the examples
    options: dict[str, Any] = {"formatter_class": formatter, "allow_abbrev": False}
    parser = Parser(
        prog="pdanon",
        description="Anonymize tables with a column of item lists, audit releases and measure risk.",
        epilog="example:\n  pdanon anonymize baskets.parquet release.parquet -k 5 -m 2",
        **options,
    )
    text = "show program's version number and exit"
    parser.add_argument("--version", action=PrintVersion, nargs=0, default=argparse.SUPPRESS, help=text)
    parser.add_argument(
        "--print-completion",
        action=PrintCompletion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print a script that completes commands, options and files in a shell: {', '.join(SHELLS)}",
    )
    added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run in commands.items():
        text, words, example, _ = _COMMANDS[name]
        description, epilog = f"{text.capitalize()}.", f"example:\n  pdanon {name} {example}".rstrip()
        options["usage"] = f"%(prog)s {words} [options]"
        command = added.add_parser(name, help=text, description=description, epilog=epilog, **options)
        command.fill = partial(_fill, command, name, run)
    return parser


_GROUPS: dict[str, Iterable[str]] = {  # of options, in the order of the help
    "guarantee": (*DEMANDS, "chunks", "safe"),
    "input and output": (),  # and all others
    "loss and search": ("algorithm", *WAYS, "max_loss", "max_risk"),
    "tables without lists: a person in several rows, or one column per item": [
        *("by", "item", "conflicts", "onehot", "prefix", "tick", "unit", "counts")
    ],
    "quasi-identifiers": COLUMNS,
    "single algorithms; 'pdanon algorithms NAME' lists the options of each": OWN,
    "printed output": ("json", "quiet", "all", "help"),
}


def _fill(command: argparse.ArgumentParser, name: str, run: Command) -> None:
    fill = _COMMANDS[name][3]
    fill(command)
    written = [action.dest for action in command._actions if action.type in _WRITTEN]
    command.set_defaults(command=name, run=run, written=written)
    if written or fill in (_fill_run, _fill_compare):
        _add_switch(
            command,
            "--overwrite",
            "replace existing files (default: refuse); a release by --stream is never replaced",
        )
        _add_switch(command, "--dry-run", "show the files that would be read and written, and do neither")
    _add_switch(command, "--json", "print the result, or the error, as one line of JSON on standard output")
    _add_switch(command, "--quiet", "print only warnings and errors: no result, progress or notes")
    groups = {title: command.add_argument_group(title) for title in _GROUPS}
    options, command._optionals._group_actions = command._optionals._group_actions, []
    for option in options:
        named = (title for title, names in _GROUPS.items() if option.dest in names)
        groups[next(named, "input and output")]._group_actions.append(option)


def _fill_anonymize(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    command.add_argument("target", metavar="OUT", type=release, help="the release: .parquet or .csv")
    _add_switch(
        command,
        "--stream",
        "read and write Parquet in parts, for tables larger than memory: IN is a file, a directory, a path "
        "with wildcards or a URI, and OUT does not exist yet",
    )
    _add_form(command)
    command.add_argument(
        "--join",
        metavar="TEXT",
        help="the separator of items in a release in CSV (default: that of --separator)",
    )
    _add_switch(
        command,
        "--escape-formulas",
        "in CSV, put ' before text that a spreadsheet would run as a formula; this changes the text",
    )
    _add_file(command, "--mapping", new_table, "write the mapping of the items: .parquet or .csv")
    _add_file(
        command,
        "--legend",
        new_table,
        "write the items of each label, for publication if you like: .parquet or .csv",
    )
    _add_file(
        command,
        "--links",
        new_table,
        "with --by: write the links, which tell an audit of later releases who is in which row; not part of "
        "the release: .parquet or .csv",
    )
    _add_file(
        command,
        "--secret",
        new,
        "with --links: the file with the secret key of all releases of a series; the first one writes it. "
        "Keep it apart from the links",
    )
    _add_file(
        command,
        "--classes",
        new_table,
        "write the second table of a release by cahd, the counts of its groups: .parquet or .csv",
    )
    _add_file(command, "--report", new_page, "write a page about the release, for publication: .html")
    _add_file(
        command,
        "--evidence",
        new_evidence,
        "write the facts of the release for those who approve it: .json, and .html beside it",
    )
    command.add_argument(
        "--head",
        metavar="NAME=TEXT",
        type=head_text,
        action="append",
        default=[],
        help=f"a text for the head of the report and of the evidence ({', '.join(HEAD)}; can be repeated)",
    )
    _add_algorithm(command, "try several, and write the release with the lowest loss", ALGORITHMS)
    _add_parameters(command, PARAMETERS)
    command.add_argument(
        "--max-loss",
        metavar="MEASURE=VALUE",
        type=bound,
        action="append",
        default=[],
        help="refuse a release that loses more, such as pairs=0.5 (can be repeated)",
    )
    command.add_argument(
        "--max-risk",
        metavar="SHARE",
        type=float,
        help="refuse a release if unmodified columns leave fewer than k rows for a larger share of rows",
    )
    _add_unit(command, "with --unit: publish every line, and cover how often a person has a label")


def _fill_verify(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "evidence",
        metavar="EVIDENCE",
        type=Path,
        help="the JSON file of --evidence, or of result.evidence in Python",
    )
    command.add_argument(
        "--release",
        metavar="FILE",
        required=True,
        help="the release: .parquet, also as a URI, .csv, .tsv or .jsonl",
    )
    command.add_argument("--original", metavar="FILE", help="the original, to compare it and its risk")
    _add_file(
        command,
        "--mapping",
        table_file,
        "the mapping of the release; guarantees by constraints or rules need it",
    )
    _add_file(command, "--classes", table_file, "the second table of a release by cahd or disassociate")
    _add_form(command)


def _fill_profile(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    _add_switch(command, "--stream", f"{_STREAM_HELP}; other columns are counted in the first rows")
    command.add_argument("-k", default=5, type=int, help="minimum number of matching rows (default: 5)")
    command.add_argument("-m", default=3, type=int, help=f"{KNOWN_HELP} (default: 3)")
    keep = "other columns to describe (default: all columns of a table with lists)"
    _add_form(command)
    command.add_argument("--keep", **{**UNMODIFIED["keep"], "help": keep})
    _add_file(command, "--report", new_page, "write the profile as a page, not for publication: .html")


def _fill_tradeoff(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    for name, values in {"k": (3, 5, 11), "m": (1, 2, 3)}.items():
        default = " ".join(map(str, values))
        text = f"{DEMANDS[name]['help'].partition(';')[0]} (default: {default})"
        command.add_argument(f"-{name}", nargs="+", type=int, default=list(values), help=text)
    _add_algorithm(
        command, "the one with the lowest loss among those with the guarantee", functions(*OF_LISTS)
    )
    _add_parameters(command, WAYS | OWN | UNMODIFIED)
    _add_form(command)
    _add_file(command, "--out", new_table, "write the table: .parquet or .csv")
    _add_file(command, "--picture", new_picture, "draw the table: .png, .svg or .pdf")
    _add_file(
        command, "--report", new_page, "write the table and a profile as a page, not for publication: .html"
    )


def _fill_audit(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "source", metavar="RELEASED", help="the release: .parquet, also as a URI, .csv, .tsv or .jsonl"
    )
    _add_switch(
        command,
        "--stream",
        "read Parquet in parts: RELEASED is a file, a directory, a path with wildcards or a URI, and rows of "
        "all files are counted together",
    )
    command.add_argument("-k", **DEMANDS["k"])
    command.add_argument("-m", default=DEFAULT_M, **DEMANDS["m"])
    _add_form(command)
    _add_unit(command, "with --unit: the attacker also knows how often a person has a label")
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=QUASI_HELP)
    command.add_argument(
        "--sensitive", nargs="+", metavar="ITEM", help="the sensitive items; goes with -l, -p or --rho"
    )
    for name in ("l", "rho", "constraints", "rules", "c"):
        command.add_argument(flag(name), **DEMANDS[name])
    command.add_argument(
        "--mapping",
        metavar="FILE",
        type=table_file,
        action="append",
        help="the mapping of the release: for constraints, rules and suppressed sensitive items, and to "
        "count rows that suppression emptied; with --previous, repeated for each release, the newest last",
    )
    command.add_argument(
        "--previous",
        nargs="+",
        metavar="RELEASED",
        help="the earlier releases of the same persons, the oldest first: an attacker may keep all of them",
    )
    command.add_argument(
        "--links",
        nargs="+",
        metavar="FILE",
        type=table_file,
        help="with --previous: the links of each release, the newest last, as anonymize --links wrote them",
    )
    command.add_argument(
        "--key",
        metavar="COLUMN",
        help="with --previous, instead of --links: the column of the releases that identifies a person",
    )
    _add_file(command, "--classes", table_file, "the counts of groups in a release by cahd")
    command.add_argument("-p", type=int, help="a sensitive item is in at most 1/p of the rows of a group")
    _add_switch(command, "--chunks", "RELEASED is a release by disassociate, of records in chunks")
    _add_switch(
        command,
        "--safe",
        "with --chunks: also check that no two items of different chunks must be in the same record",
    )
    _add_file(command, "--threats", new_table, "write the minimal itemsets that break the guarantee")


def _fill_risk(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    _add_switch(command, "--stream", _STREAM_HELP)
    command.add_argument("-k", required=True, **DEMANDS["k"])
    command.add_argument("-m", default=2, type=int, help=f"{KNOWN_HELP} (default: 2)")
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=QUASI_HELP)
    _add_form(command)
    _add_unit(command)
    _add_file(command, "--out", new_table, "write the table: .parquet or .csv")
    _add_switch(command, "--all", "print the whole table, not a summary")


def _fill_run(command: argparse.ArgumentParser) -> None:
    command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file")
    _add_switch(command, "--allow-outside", _OUTSIDE_HELP)


def _fill_compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file with a table [compare]")
    _add_switch(command, "--all", "print all configurations, however many")
    _add_switch(command, "--allow-outside", _OUTSIDE_HELP)


def _fill_algorithms(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        choices=list(ALGORITHMS),
        help="the algorithm to describe (default: one line for each)",
    )


def _add_switch(command: argparse.ArgumentParser, option: str, text: str) -> None:
    command.add_argument(option, action="store_true", help=text)


def _add_file(command: argparse.ArgumentParser, option: str, kind: Callable[[str], Path], text: str) -> None:
    command.add_argument(option, metavar="FILE", type=kind, help=text)


def _add_algorithm(command: argparse.ArgumentParser, default: str, names: Iterable[str]) -> None:
    command.add_argument(
        "--algorithm",
        choices=[name for name in names if is_run_by_command(name)],
        metavar="NAME",
        help=f"the algorithm; 'pdanon algorithms' lists them (default: {default})",
    )


def _add_parameters(command: argparse.ArgumentParser, parameters: dict[str, dict[str, Any]]) -> None:
    for parameter, known in parameters.items():
        command.add_argument(flag(parameter), dest=parameter, default=argparse.SUPPRESS, **known)


def _add_form(command: argparse.ArgumentParser) -> None:
    command.add_argument("--column", metavar="NAME", help="the list column (default: the only one)")
    command.add_argument("--separator", metavar="TEXT", help="the separator of items in CSV files")
    command.add_argument(
        "--delimiter",
        metavar="CHAR",
        help="the delimiter of fields in CSV (default: the most frequent candidate)",
    )
    command.add_argument("--encoding", metavar="NAME", help="the encoding of CSV (default: utf-8)")
    command.add_argument(
        "--types",
        nargs="+",
        action="extend",
        metavar="COLUMN=TYPE",
        type=column_type,
        help=f"types of columns of CSV and JSON lines, which are text otherwise: {', '.join(TYPES)}",
    )
    command.add_argument(
        "--by",
        nargs="+",
        metavar="COLUMN",
        help="the columns that identify the person of a row, such as a customer number; not published, "
        "like all other columns unless listed in --keep",
    )
    command.add_argument("--item", metavar="COLUMN", help="the column of the item of a row")
    command.add_argument(
        "--conflicts",
        choices=("refuse", "first"),
        help="the action if rows of a person differ in a column of --keep (default: refuse)",
    )
    command.add_argument(
        "--onehot",
        nargs="*",
        metavar="COLUMN",
        help="columns of 0 and 1, true and false, or counts; each column is an item (default: all but "
        "those of --by and --keep)",
    )
    command.add_argument(
        "--prefix", metavar="TEXT", help="prefix of the column names, which is not part of the item"
    )
    command.add_argument(
        "--tick",
        metavar="TEXT",
        help="the value of a ticked cell, such as x, yes or 1 (default: 1, true, or a count)",
    )


def _add_unit(command: argparse.ArgumentParser, counts: str | None = None) -> None:
    """Add the options of tables in which a person has several rows, which stay rows."""
    command.add_argument(
        "--unit",
        metavar="COLUMN",
        help="the column that identifies the person of a row, instead of --by: lines are published as lines, "
        "and persons as numbers",
    )
    if counts is not None:
        _add_switch(command, "--counts", counts)


_WRITTEN = (
    release,
    new_table,
    new_page,
    new_evidence,
    new_picture,
)  # types of arguments that name files to write
_OUTSIDE_HELP = "let the policy write outside its own directory (default: refuse)"
_STREAM_HELP = (
    "read Parquet in parts, for tables larger than memory: IN is a file, a directory, a path with wildcards "
    "or a URI"
)
_DATA = "the table: .parquet, also as a URI, .csv, .tsv (these also with .gz) or .jsonl"

_POLICY = """such a policy.toml:
  input = "patients.parquet"
  parameters = { k = 5, m = 2 }

  columns = { items = "diagnoses", quasi = ["age", "sex"], keep = ["district"], drop = [] }
  outputs = { release = "released.parquet", mapping = "mapping.parquet", report = "report.html" }"""

# By command: its help, its most important arguments, an example, and the function that adds its arguments.
_COMMANDS: dict[str, tuple[str, str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "profile": (
        "describe a raw table: its columns, what singles out its rows, and the steps before a release",
        "IN [-k K] [-m M]",
        "invoices.csv --by customer --item product",
        _fill_profile,
    ),
    "tradeoff": (
        "show the loss and the remaining risk for each k and m, before a release",
        "IN [-k K ...] [-m M ...]",
        "baskets.parquet -k 3 5 11 -m 1 2 3 --report tradeoff.html",
        _fill_tradeoff,
    ),
    "anonymize": (
        "write an audited release of a table with the requested guarantee",
        "IN OUT -k K [-m M]",
        "baskets.parquet release.parquet -k 5 -m 2 --mapping mapping.parquet",
        _fill_anonymize,
    ),
    "audit": (
        "check whether a release has a guarantee; exit code 1 if not",
        "RELEASED -k K [-m M]",
        "release.parquet -k 5 -m 2 --threats threats.parquet",
        _fill_audit,
    ),
    "verify": (
        "compare evidence with the files of a release; exit code 1 if a fact differs",
        "EVIDENCE --release FILE",
        "evidence.json --release release.parquet",
        _fill_verify,
    ),
    "risk": (
        "show the share of rows that a few known items single out",
        "IN -k K [-m M]",
        "baskets.parquet -k 5 -m 2",
        _fill_risk,
    ),
    "run": (
        "write the outputs of a policy file: release, mapping and losses, all or none",
        "POLICY",
        f"policy.toml\n\n{_POLICY}",
        _fill_run,
    ),
    "compare": (
        "run the algorithms of a policy file, and compare their loss",
        "POLICY",
        "policy.toml",
        _fill_compare,
    ),
    "algorithms": (
        "list the algorithms, or show the guarantee and the options of one",
        "[NAME]",
        "pcta",
        _fill_algorithms,
    ),
}


# --- Completion of commands, options and files in a shell


SHELLS = ("bash", "zsh", "fish")

_READ = ("parquet", "csv", "tsv", "gz", "jsonl")
_TABLE = ("parquet", "csv")
# Suffixes of files, by the argument that names the file.
_SUFFIXES = {
    "source": _READ,
    **dict.fromkeys(("target", "out", "classes", "mapping", "legend", "threats", "links"), _TABLE),
    **dict.fromkeys(("constraints", "start", "weights"), _TABLE),
    "rules": (*_TABLE, "toml"),
    "hierarchy": ("csv",),
    "report": ("html",),
    "evidence": ("json",),
    "secret": ("key",),
    **dict.fromkeys(("release", "original", "previous"), _READ),
    "picture": ("png", "svg", "pdf"),
    "policy": ("toml",),
}


class PrintCompletion(argparse.Action):
    """An option that prints the completion script of a shell and exits."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        """Print the script and exit."""
        if find_spec("shtab") is None:
            raise ParameterError(
                "completion needs the package shtab",
                where="--print-completion",
                hint="pip install shtab",
            )
        from shtab import complete

        _complete_files(parser)
        preamble = _bash() if values == "bash" else ""
        print(complete(parser, values, root_prefix="pdanon", preamble=preamble))
        parser.exit(0)


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Set the files that complete each argument of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                command.add_own()
                _complete_files(command)
        elif action.dest in _SUFFIXES:
            suffixes = _SUFFIXES[action.dest]
            action.complete = {  # type: ignore[attr-defined]
                "bash": _function(suffixes),
                "zsh": f"_files -g '*.({'|'.join(suffixes)}|)'",  # without the bar zsh reads a glob qualifier
                "fish": f"(__fish_complete_suffix .{suffixes[0]})",  # fish lists these first, then all others
            }


def _function(suffixes: tuple[str, ...]) -> str:
    return f"_pdanon_files_{'_'.join(suffixes)}"


def _bash() -> str:
    """Return shell functions that list directories and the files with some suffixes."""
    return "\n".join(
        f'{_function(suffixes)}() {{ compgen -d -- "$1"; '
        f'compgen -f -- "$1" | grep -E "\\.({"|".join(suffixes)})$"; }}'
        for suffixes in dict.fromkeys(_SUFFIXES.values())
    )
