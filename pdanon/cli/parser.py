"""Commands, their arguments and help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pdanon.algorithms.registry import ALGORITHMS, OF_LISTS, functions
from pdanon.cli.completion import SHELLS, PrintCompletion
from pdanon.cli.options import (
    COLUMNS,
    CONSTRAINTS_HELP,
    DEMANDS,
    HINT,
    KNOWN_HELP,
    QUASI_HELP,
    RULES_HELP,
    SHARE_HELP,
    UNMODIFIED,
    WAYS,
    bound,
    column_type,
    flag,
    head_text,
    is_run_by_command,
)
from pdanon.cli.output import Outcome
from pdanon.cli.paths import (
    new,
    new_evidence,
    new_page,
    new_picture,
    new_table,
    release,
    rules_file,
    table_file,
)
from pdanon.errors import ParameterError, did_you_mean
from pdanon.evaluation.report.html import HEAD
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.io.column_types import TYPES

# Hints for options that do not exist here, because another option or a policy has their task.
_ELSEWHERE = {
    "--drop": "pass --keep for the columns to publish with --by, or write a policy, which has drop",
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
    """Return the parser of the command line, which stores the function of a command as ``run``.

    Parameters
    ----------
    commands : mapping
        The function of each command, in the order of the help.
    """
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
    shells = f"print a script that completes commands, options and files in a shell: {', '.join(SHELLS)}"
    option = "--print-completion"
    parser.add_argument(option, action=PrintCompletion, choices=SHELLS, metavar="SHELL", help=shells)
    added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run in commands.items():
        text, example, _ = _COMMANDS[name]
        description, epilog = f"{text.capitalize()}.", f"example:\n  pdanon {name} {example}".rstrip()
        command = added.add_parser(name, help=text, description=description, epilog=epilog, **options)
        command.fill = partial(_fill, command, name, run)
    return parser


def _fill(command: argparse.ArgumentParser, name: str, run: Command) -> None:
    """Add the arguments of a command."""
    fill = _COMMANDS[name][2]
    fill(command)
    written = [action.dest for action in command._actions if action.type in _WRITTEN]
    command.set_defaults(command=name, run=run, written=written)
    if written or fill in (_fill_run, _fill_compare):
        _add_writing(command)
    _add_output(command)


def _fill_anonymize(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    command.add_argument("target", metavar="OUT", type=release, help="the release: .parquet or .csv")
    stream = (
        "read and write Parquet in parts, for tables larger than memory: IN is a file, a directory, a path "
        "with wildcards or a URI, and OUT does not exist yet"
    )
    _add_switch(command, "--stream", stream)
    default = "try several, and write the release with the lowest loss"
    _add_algorithm(command, default, ALGORITHMS)
    groups = {"guarantee": DEMANDS, "quasi-identifiers": COLUMNS, "algorithm": WAYS}
    _add_parameters(command, groups | {"unmodified columns": UNMODIFIED})
    most = "refuse a release that loses more, such as pairs=0.5 (can be repeated)"
    command.add_argument(
        "--max-loss", metavar="MEASURE=VALUE", type=bound, action="append", default=[], help=most
    )
    risk = "refuse a release if unmodified columns leave fewer than k rows for a larger share of rows"
    command.add_argument("--max-risk", metavar="SHARE", type=float, help=risk)
    counts = "with --unit: publish every line, and cover how often a person has a label"
    _add_unit(_add_form(command), counts)
    join = "the separator of items in a release in CSV (default: that of --separator)"
    command.add_argument("--join", metavar="TEXT", help=join)
    formulas = "in CSV, put ' before text that a spreadsheet would run as a formula; this changes the text"
    _add_switch(command, "--escape-formulas", formulas)
    _add_file(command, "--mapping", new_table, "write the mapping of the items: .parquet or .csv")
    legend = "write the items of each label, for publication if you like: .parquet or .csv"
    _add_file(command, "--legend", new_table, legend)
    links = (
        "with --by: write the links, which tell an audit of later releases who is in which row; not part of "
        "the release: .parquet or .csv"
    )
    _add_file(command, "--links", new_table, links)
    secret = (
        "with --links: the file with the secret key of all releases of a series; the first one writes it. "
        "Keep it apart from the links"
    )
    _add_file(command, "--secret", new, secret)
    classes = "write the second table of a release by cahd, the counts of its groups: .parquet or .csv"
    _add_file(command, "--classes", new_table, classes)
    _add_file(command, "--report", new_page, "write a page about the release, for publication: .html")
    evidence = "write the facts of the release for those who approve it: .json, and .html beside it"
    _add_file(command, "--evidence", new_evidence, evidence)
    texts = f"a text for the head of the report and of the evidence ({', '.join(HEAD)}; can be repeated)"
    command.add_argument(
        "--head", metavar="NAME=TEXT", type=head_text, action="append", default=[], help=texts
    )


def _fill_verify(command: argparse.ArgumentParser) -> None:
    evidence = "the JSON file of --evidence, or of result.evidence in Python"
    command.add_argument("evidence", metavar="EVIDENCE", type=Path, help=evidence)
    released = "the release: .parquet, also as a URI, .csv, .tsv or .jsonl"
    command.add_argument("--release", metavar="FILE", required=True, help=released)
    command.add_argument("--original", metavar="FILE", help="the original, to compare it and its risk")
    mapping = "the mapping of the release; guarantees by constraints or rules need it"
    _add_file(command, "--mapping", table_file, mapping)
    _add_file(command, "--classes", table_file, "the second table of a release by cahd or disassociate")
    _add_form(command)


def _fill_profile(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    _add_switch(command, "--stream", f"{_STREAM_HELP}; other columns are counted in the first rows")
    command.add_argument("-k", default=5, type=int, help="minimum number of matching rows (default: 5)")
    command.add_argument("-m", default=3, type=int, help=f"{_MOST_KNOWN_HELP} (default: 3)")
    keep = "other columns to describe (default: all columns of a table with lists)"
    _add_form(command).add_argument("--keep", **{**UNMODIFIED["keep"], "help": keep})
    _add_file(command, "--report", new_page, "write the profile as a page, not for publication: .html")


def _fill_tradeoff(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    for name, values in {"k": (3, 5, 11), "m": (1, 2, 3)}.items():
        default = " ".join(map(str, values))
        text = f"{DEMANDS[name]['help'].partition(';')[0]} (default: {default})"
        command.add_argument(f"-{name}", nargs="+", type=int, default=list(values), help=text)
    default = "the one with the lowest loss among those with the guarantee"
    _add_algorithm(command, default, functions(*OF_LISTS))
    _add_parameters(command, {"algorithm": WAYS, "unmodified columns": UNMODIFIED})
    _add_form(command)
    _add_file(command, "--out", new_table, "write the table: .parquet or .csv")
    _add_file(command, "--picture", new_picture, "draw the table: .png, .svg or .pdf")
    page = "write the table and a profile as a page, not for publication: .html"
    _add_file(command, "--report", new_page, page)


def _fill_audit(command: argparse.ArgumentParser) -> None:
    released = "the release: .parquet, also as a URI, .csv, .tsv or .jsonl"
    command.add_argument("source", metavar="RELEASED", help=released)
    stream = (
        "read Parquet in parts: RELEASED is a file, a directory, a path with wildcards or a URI, and rows of "
        "all files are counted together"
    )
    _add_switch(command, "--stream", stream)
    command.add_argument("-k", **DEMANDS["k"])
    command.add_argument("-m", default=DEFAULT_M, **{**DEMANDS["m"], "help": f"{KNOWN_HELP} (default: 2)"})
    _add_unit(_add_form(command), "with --unit: the attacker also knows how often a person has a label")
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=QUASI_HELP)
    sensitive = "the sensitive items; goes with -l, -p or --rho"
    command.add_argument("--sensitive", nargs="+", metavar="ITEM", help=sensitive)
    command.add_argument("-l", **DEMANDS["l"])
    rho = (
        "maximum share of the rows with any known items that also contain a sensitive item; without -m, the "
        "attacker knows any number of items"
    )
    command.add_argument("--rho", type=float, help=rho)
    _add_file(command, "--constraints", table_file, f"{CONSTRAINTS_HELP} (not with -m)")
    _add_file(command, "--rules", rules_file, f"{RULES_HELP} (with -c, not with -m)")
    command.add_argument("-c", type=float, help=SHARE_HELP)
    mapping = (
        "the mapping of the release: for constraints, rules and suppressed sensitive items, and to count "
        "rows that suppression emptied; with --previous, repeated for each release, the newest last"
    )
    command.add_argument("--mapping", metavar="FILE", type=table_file, action="append", help=mapping)
    earlier = "the earlier releases of the same persons, the oldest first: an attacker may keep all of them"
    command.add_argument("--previous", nargs="+", metavar="RELEASED", help=earlier)
    links = "with --previous: the links of each release, the newest last, as anonymize --links wrote them"
    command.add_argument("--links", nargs="+", metavar="FILE", type=table_file, help=links)
    key = "with --previous, instead of --links: the column of the releases that identifies a person"
    command.add_argument("--key", metavar="COLUMN", help=key)
    _add_file(command, "--classes", table_file, "the counts of groups in a release by cahd")
    command.add_argument("-p", type=int, help="a sensitive item is in at most 1/p of the rows of a group")
    _add_switch(command, "--chunks", "RELEASED is a release by disassociate, of records in chunks")
    safe = "with --chunks: also check that no two items of different chunks must be in the same record"
    _add_switch(command, "--safe", safe)
    _add_file(command, "--threats", new_table, "write the minimal itemsets that break the guarantee")


def _fill_risk(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="IN", help=_DATA)
    _add_switch(command, "--stream", _STREAM_HELP)
    command.add_argument("-k", required=True, **DEMANDS["k"])
    command.add_argument("-m", default=2, type=int, help=f"{_MOST_KNOWN_HELP} (default: 2)")
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=QUASI_HELP)
    _add_unit(_add_form(command))
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
    text = "the algorithm to describe (default: one line for each)"
    command.add_argument("name", metavar="NAME", nargs="?", choices=list(ALGORITHMS), help=text)


def _add_switch(command: argparse._ActionsContainer, option: str, text: str) -> None:
    command.add_argument(option, action="store_true", help=text)


def _add_file(
    command: argparse._ActionsContainer, option: str, kind: Callable[[str], Path], text: str
) -> None:
    command.add_argument(option, metavar="FILE", type=kind, help=text)


def _add_algorithm(command: argparse.ArgumentParser, default: str, names: Iterable[str]) -> None:
    text = f"the algorithm; 'pdanon algorithms' lists them (default: {default})"
    known = [name for name in names if is_run_by_command(name)]
    command.add_argument("--algorithm", choices=known, metavar="NAME", help=text)


def _add_parameters(command: argparse.ArgumentParser, groups: dict[str, dict[str, dict[str, Any]]]) -> None:
    for title, parameters in groups.items():
        group = command.add_argument_group(title)
        for parameter, known in parameters.items():
            group.add_argument(flag(parameter), dest=parameter, default=argparse.SUPPRESS, **known)


def _add_writing(command: argparse.ArgumentParser) -> None:
    """Add the options of commands that write files, whether options or a policy name them."""
    group = command.add_argument_group("written files")
    overwrite = "replace existing files (default: refuse); a release by --stream is never replaced"
    _add_switch(group, "--overwrite", overwrite)
    _add_switch(group, "--dry-run", "show the files that would be read and written, and do neither")


def _add_output(command: argparse.ArgumentParser) -> None:
    """Add the options of what a command prints."""
    group = command.add_argument_group("printed output")
    _add_switch(group, "--json", "print the result, or the error, as one line of JSON on standard output")
    _add_switch(group, "--quiet", "print only warnings and errors: no result, progress or notes")


def _add_form(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options of the form of a table; return the group for tables without lists."""
    command.add_argument("--column", metavar="NAME", help="the list column (default: the only one)")
    command.add_argument("--separator", metavar="TEXT", help="the separator of items in CSV files")
    delimiter = "the delimiter of fields in CSV (default: the most frequent candidate)"
    command.add_argument("--delimiter", metavar="CHAR", help=delimiter)
    command.add_argument("--encoding", metavar="NAME", help="the encoding of CSV (default: utf-8)")
    types = f"types of columns of CSV and JSON lines, which are text otherwise: {', '.join(TYPES)}"
    pairs: dict[str, Any] = {"metavar": "COLUMN=TYPE", "type": column_type, "help": types}
    command.add_argument("--types", nargs="+", action="extend", **pairs)
    title = "tables without lists: a person in several rows, or one column per item"
    group = command.add_argument_group(title)
    by = (
        "the columns that identify the person of a row, such as a customer number; not published, like all "
        "other columns unless listed in --keep"
    )
    group.add_argument("--by", nargs="+", metavar="COLUMN", help=by)
    group.add_argument("--item", metavar="COLUMN", help="the column of the item of a row")
    conflicts = "the action if rows of a person differ in a column of --keep (default: refuse)"
    group.add_argument("--conflicts", choices=("refuse", "first"), help=conflicts)
    onehot = (
        "columns of 0 and 1, true and false, or counts; each column is an item (default: all but those of "
        "--by and --keep)"
    )
    group.add_argument("--onehot", nargs="*", metavar="COLUMN", help=onehot)
    prefix = "prefix of the column names, which is not part of the item"
    group.add_argument("--prefix", metavar="TEXT", help=prefix)
    tick = "the value of a ticked cell, such as x, yes or 1 (default: 1, true, or a count)"
    group.add_argument("--tick", metavar="TEXT", help=tick)
    return group


def _add_unit(group: argparse._ArgumentGroup, counts: str | None = None) -> None:
    """Add the options of tables in which a person has several rows, which stay rows."""
    unit = (
        "the column that identifies the person of a row, instead of --by: lines are published as lines, and "
        "persons as numbers"
    )
    group.add_argument("--unit", metavar="COLUMN", help=unit)
    if counts is not None:
        _add_switch(group, "--counts", counts)


_WRITTEN = (
    release,
    new_table,
    new_page,
    new_evidence,
    new_picture,
)  # types of arguments that name files to write
_OUTSIDE_HELP = "let the policy write outside its own directory (default: refuse)"
_MOST_KNOWN_HELP = KNOWN_HELP.partition(";")[0]
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

# By command: its help, the arguments of an example, and the function that adds its arguments.
_COMMANDS: dict[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "profile": (
        "describe a raw table: its columns, what singles out its rows, and the steps before a release",
        "invoices.csv --by customer --item product",
        _fill_profile,
    ),
    "tradeoff": (
        "show the loss and the remaining risk for each k and m, before a release",
        "baskets.parquet -k 3 5 11 -m 1 2 3 --report tradeoff.html",
        _fill_tradeoff,
    ),
    "anonymize": (
        "write an audited release of a table with the requested guarantee",
        "baskets.parquet release.parquet -k 5 -m 2 --mapping mapping.parquet",
        _fill_anonymize,
    ),
    "audit": (
        "check whether a release has a guarantee; exit code 1 if not",
        "release.parquet -k 5 -m 2 --threats threats.parquet",
        _fill_audit,
    ),
    "verify": (
        "compare evidence with the files of a release; exit code 1 if a fact differs",
        "evidence.json --release release.parquet",
        _fill_verify,
    ),
    "risk": (
        "show the share of rows that a few known items single out",
        "baskets.parquet -k 5 -m 2",
        _fill_risk,
    ),
    "run": (
        "write the outputs of a policy file: release, mapping and losses, all or none",
        f"policy.toml\n\n{_POLICY}",
        _fill_run,
    ),
    "compare": ("run the algorithms of a policy file, and compare their loss", "policy.toml", _fill_compare),
    "algorithms": (
        "list the algorithms, or show the guarantee and the options of one",
        "pcta",
        _fill_algorithms,
    ),
}
