"""Commands, their arguments and help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

from pdanon.algorithms.registry import ALGORITHMS, OF_LISTS, functions
from pdanon.cli.completion import SHELLS, PrintCompletion
from pdanon.cli.options import (
    COLUMNS,
    DEMANDS,
    HINT,
    KNOWN_HELP,
    OWN,
    QUASI_HELP,
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
        text, words, example, _ = _COMMANDS[name]
        description, epilog = f"{text.capitalize()}.", f"example:\n  pdanon {name} {example}".rstrip()
        options |= {"usage": f"%(prog)s {words} [options]", "add_help": False}
        command = added.add_parser(name, help=text, description=description, epilog=epilog, **options)
        command.fill = partial(_fill, command, name, run)
    return parser


Group: TypeAlias = argparse._ArgumentGroup


class Groups(NamedTuple):
    """A command and the groups of its options, in the order of its help."""

    command: argparse.ArgumentParser
    guarantee: Group
    files: Group
    search: Group
    persons: Group
    columns: Group
    own: Group
    others: Group


_TITLES = (
    "guarantee",
    "input and output",
    "loss and search",
    "tables without lists: a person in several rows, or one column per item",
    "quasi-identifiers",
    "single algorithms; 'pdanon algorithms NAME' lists the options of each",
    "printed output",
)


def _fill(command: argparse.ArgumentParser, name: str, run: Command) -> None:
    """Add the arguments of a command."""
    fill = _COMMANDS[name][3]
    to = Groups(command, *map(command.add_argument_group, _TITLES))
    fill(to)
    written = [action.dest for action in command._actions if action.type in _WRITTEN]
    command.set_defaults(command=name, run=run, written=written)
    if written or fill in (_fill_run, _fill_compare):
        overwrite = "replace existing files (default: refuse); a release by --stream is never replaced"
        _add_switch(to.files, "--overwrite", overwrite)
        _add_switch(to.files, "--dry-run", "show the files that would be read and written, and do neither")
    _add_switch(to.others, "--json", "print the result, or the error, as one line of JSON on standard output")
    _add_switch(to.others, "--quiet", "print only warnings and errors: no result, progress or notes")
    to.others.add_argument("-h", "--help", action="help", help="show this help message and exit")


def _fill_anonymize(to: Groups) -> None:
    to.command.add_argument("source", metavar="IN", help=_DATA)
    to.command.add_argument("target", metavar="OUT", type=release, help="the release: .parquet or .csv")
    _add_parameters(to.guarantee, DEMANDS)
    stream = (
        "read and write Parquet in parts, for tables larger than memory: IN is a file, a directory, a path "
        "with wildcards or a URI, and OUT does not exist yet"
    )
    _add_switch(to.files, "--stream", stream)
    _add_form(to)
    _add_parameters(to.files, UNMODIFIED)
    join = "the separator of items in a release in CSV (default: that of --separator)"
    to.files.add_argument("--join", metavar="TEXT", help=join)
    formulas = "in CSV, put ' before text that a spreadsheet would run as a formula; this changes the text"
    _add_switch(to.files, "--escape-formulas", formulas)
    _add_file(to, "--mapping", new_table, "write the mapping of the items: .parquet or .csv")
    legend = "write the items of each label, for publication if you like: .parquet or .csv"
    _add_file(to, "--legend", new_table, legend)
    links = (
        "with --by: write the links, which tell an audit of later releases who is in which row; not part of "
        "the release: .parquet or .csv"
    )
    _add_file(to, "--links", new_table, links)
    secret = (
        "with --links: the file with the secret key of all releases of a series; the first one writes it. "
        "Keep it apart from the links"
    )
    _add_file(to, "--secret", new, secret)
    classes = "write the second table of a release by cahd, the counts of its groups: .parquet or .csv"
    _add_file(to, "--classes", new_table, classes)
    _add_file(to, "--report", new_page, "write a page about the release, for publication: .html")
    evidence = "write the facts of the release for those who approve it: .json, and .html beside it"
    _add_file(to, "--evidence", new_evidence, evidence)
    texts = f"a text for the head of the report and of the evidence ({', '.join(HEAD)}; can be repeated)"
    to.files.add_argument(
        "--head", metavar="NAME=TEXT", type=head_text, action="append", default=[], help=texts
    )
    default = "try several, and write the release with the lowest loss"
    _add_algorithm(to.search, default, ALGORITHMS)
    most = "refuse a release that loses more, such as pairs=0.5 (can be repeated)"
    to.search.add_argument(
        "--max-loss", metavar="MEASURE=VALUE", type=bound, action="append", default=[], help=most
    )
    risk = "refuse a release if unmodified columns leave fewer than k rows for a larger share of rows"
    to.search.add_argument("--max-risk", metavar="SHARE", type=float, help=risk)
    _add_parameters(to.search, WAYS)
    counts = "with --unit: publish every line, and cover how often a person has a label"
    _add_unit(to, counts)
    _add_parameters(to.columns, COLUMNS)
    _add_parameters(to.own, OWN)


def _fill_verify(to: Groups) -> None:
    evidence = "the JSON file of --evidence, or of result.evidence in Python"
    to.command.add_argument("evidence", metavar="EVIDENCE", type=Path, help=evidence)
    released = "the release: .parquet, also as a URI, .csv, .tsv or .jsonl"
    to.files.add_argument("--release", metavar="FILE", required=True, help=released)
    to.files.add_argument("--original", metavar="FILE", help="the original, to compare it and its risk")
    mapping = "the mapping of the release; guarantees by constraints or rules need it"
    _add_file(to, "--mapping", table_file, mapping)
    _add_file(to, "--classes", table_file, "the second table of a release by cahd or disassociate")
    _add_form(to)


def _fill_profile(to: Groups) -> None:
    to.command.add_argument("source", metavar="IN", help=_DATA)
    _add_switch(to.files, "--stream", f"{_STREAM_HELP}; other columns are counted in the first rows")
    to.guarantee.add_argument("-k", default=5, type=int, help="minimum number of matching rows (default: 5)")
    to.guarantee.add_argument("-m", default=3, type=int, help=f"{_MOST_KNOWN_HELP} (default: 3)")
    keep = "other columns to describe (default: all columns of a table with lists)"
    _add_form(to)
    to.files.add_argument("--keep", **{**UNMODIFIED["keep"], "help": keep})
    _add_file(to, "--report", new_page, "write the profile as a page, not for publication: .html")


def _fill_tradeoff(to: Groups) -> None:
    to.command.add_argument("source", metavar="IN", help=_DATA)
    for name, values in {"k": (3, 5, 11), "m": (1, 2, 3)}.items():
        default = " ".join(map(str, values))
        text = f"{DEMANDS[name]['help'].partition(';')[0]} (default: {default})"
        to.guarantee.add_argument(f"-{name}", nargs="+", type=int, default=list(values), help=text)
    default = "the one with the lowest loss among those with the guarantee"
    _add_algorithm(to.search, default, functions(*OF_LISTS))
    _add_parameters(to.search, WAYS)
    _add_parameters(to.own, OWN)
    _add_form(to)
    _add_parameters(to.files, UNMODIFIED)
    _add_file(to, "--out", new_table, "write the table: .parquet or .csv")
    _add_file(to, "--picture", new_picture, "draw the table: .png, .svg or .pdf")
    page = "write the table and a profile as a page, not for publication: .html"
    _add_file(to, "--report", new_page, page)


def _fill_audit(to: Groups) -> None:
    released = "the release: .parquet, also as a URI, .csv, .tsv or .jsonl"
    to.command.add_argument("source", metavar="RELEASED", help=released)
    stream = (
        "read Parquet in parts: RELEASED is a file, a directory, a path with wildcards or a URI, and rows of "
        "all files are counted together"
    )
    _add_switch(to.files, "--stream", stream)
    to.guarantee.add_argument("-k", **DEMANDS["k"])
    to.guarantee.add_argument(
        "-m", default=DEFAULT_M, **{**DEMANDS["m"], "help": f"{KNOWN_HELP} (default: 2)"}
    )
    _add_form(to)
    _add_unit(to, "with --unit: the attacker also knows how often a person has a label")
    to.guarantee.add_argument("--quasi", nargs="+", metavar="COLUMN", help=QUASI_HELP)
    sensitive = "the sensitive items; goes with -l, -p or --rho"
    to.guarantee.add_argument("--sensitive", nargs="+", metavar="ITEM", help=sensitive)
    to.guarantee.add_argument("-l", **DEMANDS["l"])
    rho = (
        "maximum share of the rows with any known items that also contain a sensitive item; without -m, the "
        "attacker knows any number of items"
    )
    to.guarantee.add_argument("--rho", type=float, help=rho)
    to.guarantee.add_argument("--constraints", **DEMANDS["constraints"])
    to.guarantee.add_argument("--rules", **DEMANDS["rules"])
    to.guarantee.add_argument("-c", **DEMANDS["c"])
    mapping = (
        "the mapping of the release: for constraints, rules and suppressed sensitive items, and to count "
        "rows that suppression emptied; with --previous, repeated for each release, the newest last"
    )
    to.files.add_argument("--mapping", metavar="FILE", type=table_file, action="append", help=mapping)
    earlier = "the earlier releases of the same persons, the oldest first: an attacker may keep all of them"
    to.files.add_argument("--previous", nargs="+", metavar="RELEASED", help=earlier)
    links = "with --previous: the links of each release, the newest last, as anonymize --links wrote them"
    to.files.add_argument("--links", nargs="+", metavar="FILE", type=table_file, help=links)
    key = "with --previous, instead of --links: the column of the releases that identifies a person"
    to.files.add_argument("--key", metavar="COLUMN", help=key)
    _add_file(to, "--classes", table_file, "the counts of groups in a release by cahd")
    to.guarantee.add_argument(
        "-p", type=int, help="a sensitive item is in at most 1/p of the rows of a group"
    )
    _add_switch(to.guarantee, "--chunks", "RELEASED is a release by disassociate, of records in chunks")
    safe = "with --chunks: also check that no two items of different chunks must be in the same record"
    _add_switch(to.guarantee, "--safe", safe)
    _add_file(to, "--threats", new_table, "write the minimal itemsets that break the guarantee")


def _fill_risk(to: Groups) -> None:
    to.command.add_argument("source", metavar="IN", help=_DATA)
    _add_switch(to.files, "--stream", _STREAM_HELP)
    to.guarantee.add_argument("-k", required=True, **DEMANDS["k"])
    to.guarantee.add_argument("-m", default=2, type=int, help=f"{_MOST_KNOWN_HELP} (default: 2)")
    to.guarantee.add_argument("--quasi", nargs="+", metavar="COLUMN", help=QUASI_HELP)
    _add_form(to)
    _add_unit(to)
    _add_file(to, "--out", new_table, "write the table: .parquet or .csv")
    _add_switch(to.others, "--all", "print the whole table, not a summary")


def _fill_run(to: Groups) -> None:
    to.command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file")
    _add_switch(to.files, "--allow-outside", _OUTSIDE_HELP)


def _fill_compare(to: Groups) -> None:
    to.command.add_argument("policy", metavar="POLICY", type=Path, help="a TOML file with a table [compare]")
    _add_switch(to.others, "--all", "print all configurations, however many")
    _add_switch(to.files, "--allow-outside", _OUTSIDE_HELP)


def _fill_algorithms(to: Groups) -> None:
    text = "the algorithm to describe (default: one line for each)"
    to.command.add_argument("name", metavar="NAME", nargs="?", choices=list(ALGORITHMS), help=text)


def _add_switch(group: Group, option: str, text: str) -> None:
    group.add_argument(option, action="store_true", help=text)


def _add_file(to: Groups, option: str, kind: Callable[[str], Path], text: str) -> None:
    to.files.add_argument(option, metavar="FILE", type=kind, help=text)


def _add_algorithm(group: Group, default: str, names: Iterable[str]) -> None:
    text = f"the algorithm; 'pdanon algorithms' lists them (default: {default})"
    known = [name for name in names if is_run_by_command(name)]
    group.add_argument("--algorithm", choices=known, metavar="NAME", help=text)


def _add_parameters(group: Group, parameters: dict[str, dict[str, Any]]) -> None:
    for parameter, known in parameters.items():
        group.add_argument(flag(parameter), dest=parameter, default=argparse.SUPPRESS, **known)


def _add_form(to: Groups) -> None:
    """Add the options of the form of a table."""
    to.files.add_argument("--column", metavar="NAME", help="the list column (default: the only one)")
    to.files.add_argument("--separator", metavar="TEXT", help="the separator of items in CSV files")
    delimiter = "the delimiter of fields in CSV (default: the most frequent candidate)"
    to.files.add_argument("--delimiter", metavar="CHAR", help=delimiter)
    to.files.add_argument("--encoding", metavar="NAME", help="the encoding of CSV (default: utf-8)")
    types = f"types of columns of CSV and JSON lines, which are text otherwise: {', '.join(TYPES)}"
    pairs: dict[str, Any] = {"metavar": "COLUMN=TYPE", "type": column_type, "help": types}
    to.files.add_argument("--types", nargs="+", action="extend", **pairs)
    by = (
        "the columns that identify the person of a row, such as a customer number; not published, like all "
        "other columns unless listed in --keep"
    )
    to.persons.add_argument("--by", nargs="+", metavar="COLUMN", help=by)
    to.persons.add_argument("--item", metavar="COLUMN", help="the column of the item of a row")
    conflicts = "the action if rows of a person differ in a column of --keep (default: refuse)"
    to.persons.add_argument("--conflicts", choices=("refuse", "first"), help=conflicts)
    onehot = (
        "columns of 0 and 1, true and false, or counts; each column is an item (default: all but those of "
        "--by and --keep)"
    )
    to.persons.add_argument("--onehot", nargs="*", metavar="COLUMN", help=onehot)
    prefix = "prefix of the column names, which is not part of the item"
    to.persons.add_argument("--prefix", metavar="TEXT", help=prefix)
    tick = "the value of a ticked cell, such as x, yes or 1 (default: 1, true, or a count)"
    to.persons.add_argument("--tick", metavar="TEXT", help=tick)


def _add_unit(to: Groups, counts: str | None = None) -> None:
    """Add the options of tables in which a person has several rows, which stay rows."""
    unit = (
        "the column that identifies the person of a row, instead of --by: lines are published as lines, and "
        "persons as numbers"
    )
    to.persons.add_argument("--unit", metavar="COLUMN", help=unit)
    if counts is not None:
        _add_switch(to.persons, "--counts", counts)


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

# By command: its help, its most important arguments, an example, and the function that adds its arguments.
_COMMANDS: dict[str, tuple[str, str, str, Callable[[Groups], None]]] = {
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
