"""Commands, their arguments and help."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
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
    WAYS,
    Arguments,
    Option,
    choice,
    column_step,
    file,
    flag,
    is_run_by_command,
    named,
    new,
    new_evidence,
    new_page,
    new_picture,
    new_table,
    one,
    release,
    several,
    switch,
    table_file,
)
from pdanon.cli.output import Outcome
from pdanon.errors import ParameterError, did_you_mean
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.io.lines import TYPES
from pdanon.itemsets.cards import HEAD

# Hints for options that do not exist here, because another option or a policy has their task.
_ELSEWHERE = {
    "--n-jobs": "--processes 4",
    "--drop": "pass --keep for the columns to publish with --by, or write a policy, which has drop",
    "--reserve": "pass the larger k as -k, and audit the series for the smaller one",
    "--keep": "leave it out: only anonymize, tradeoff and profile take it",
    "--quasi": "pass it to anonymize, tradeoff, audit or risk; or write a policy with the columns as quasi",
    "--unit": "pass --by, which gathers lines to one row per person; anonymize, audit and risk take --unit",
}

_OPTION = re.compile("--[^=]+|-[a-zA-Z]")


class Parser(argparse.ArgumentParser):
    """A parser that reports wrong usage as a `ParameterError`."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments in the parser of the command, which knows similar options."""
        self._words = list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._describe_unknown(unknown))
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the error with a hint, instead of printing the usage."""
        if "arguments are required" in message and (unknown := self._unknown()):
            message = self._describe_unknown([unknown])
        what, _, hint = message.partition(HINT)
        raise ParameterError(what, hint=hint or f"{self.prog} --help")

    def _unknown(self) -> str | None:
        """Return an unknown option: the missing argument may be its value."""
        options = [word.partition("=")[0] for word in self._words if word.startswith("--") and word != "--"]
        return next((each for each in options if each not in self._option_string_actions), None)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Add a hint to the error for a wrong choice, such as the most similar one."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = did_you_mean(value, map(str, action.choices or ()))
            if action.dest == "algorithm" and value in ALGORITHMS:
                hint = f"{value} protects other columns too: compare its losses, see 'pdanon compare --help'"
                if not is_run_by_command(value):
                    hint = f"{value} takes what no option can give: write a policy, or call pdanon.{value}"
            message = error.message if hint is None else f"{error.message}{HINT}{hint}"
            raise argparse.ArgumentError(action, message) from None

    def _describe_unknown(self, unknown: list[str]) -> str:
        """Return the error for unknown options, with a hint; of other words, which may be items, a count."""
        options = [found[0] for word in unknown if (found := _OPTION.match(word))]
        if not options:
            before = self._words[: self._words.index(unknown[0])]
            known = (word for word in reversed(before) if word in self._option_string_actions)
            return f"unrecognized arguments: {len(unknown)} after {next(known, self.prog)}"
        hint = _ELSEWHERE.get(options[0]) or did_you_mean(options[0], self._option_string_actions)
        return f"unrecognized arguments: {' '.join(options)}{HINT}{hint or ''}"


# --- Commands, their arguments and their help


Command: TypeAlias = Callable[[Arguments], Outcome]


def parser_of(commands: Mapping[str, Command], words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the commands, in the order of the help; it stores their function as ``run``."""
    formatter = argparse.RawDescriptionHelpFormatter  # keeps the lines of the examples
    options: dict[str, Any] = {"formatter_class": formatter, "allow_abbrev": False}
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
        help=f"print a script that completes commands, options and files in a shell: {', '.join(SHELLS)}",
    )
    added = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    asked = commands.keys() & words[:1] or commands
    for name, run in commands.items():
        text, usage, example, arguments = _COMMANDS[name]
        if name not in asked:
            added.add_parser(name, help=text)
            continue
        description, epilog = f"{text.capitalize()}.", f"example:\n  pdanon {name} {example}".rstrip()
        options["usage"] = f"%(prog)s {usage} [options]" if arguments else None
        command = added.add_parser(name, help=text, description=description, epilog=epilog, **options)
        _add_arguments(command, arguments)
        # A secret key may exist; then it is read.
        kinds = {action.dest: action.type for action in command._actions if action.dest != "secret"}
        written = [each for each, kind in kinds.items() if getattr(kind, "written", kind is release)]
        command.set_defaults(command=name, run=run, written=written)
        if arguments:
            _add_arguments(command, (_OF_WRITERS if written or "policy" in arguments else {}) | _OF_ALL)
        groups = {title: command.add_argument_group(title) for title in _GROUPS}
        actions, command._optionals._group_actions = command._optionals._group_actions, []
        for action in actions:
            named = (title for title, names in _GROUPS.items() if action.dest in names)
            groups[next(named, "input and output")]._group_actions.append(action)
    return parser


# An option, or a function that returns it when the parser is made, after all algorithms are registered.
_Arguments: TypeAlias = Mapping[str, Option | Callable[[], Option]]


def _add_arguments(command: argparse.ArgumentParser, arguments: _Arguments) -> None:
    for name, known in arguments.items():
        command.add_argument(name, **(known() if callable(known) else known))


_GROUPS: dict[str, Iterable[str]] = {  # of options, in the order of the help
    "guarantee": (*DEMANDS, "chunks", "safe"),
    "input and output": (),  # and all others
    "loss and search": ("algorithm", *WAYS, "max_loss", "max_risk"),
    "tables without lists: a person in several rows, or one column per item": [
        *("by", "item", "conflicts", "onehot", "prefix", "tick", "wide", "unit", "counts")
    ],
    "quasi-identifiers": (*COLUMNS, "processes"),
    "single algorithms; 'pdanon algorithms NAME' lists the options of each": OWN,
    "printed output": ("json", "quiet", "all", "help"),
}


# --- Arguments by command; those of several commands first

_OF_WRITERS = {
    "--overwrite": switch(
        "replace existing files (default: refuse); a release by --stream is never replaced"
    ),
    "--dry-run": switch("show the files that would be read and written, and do neither"),
}
_OF_ALL = {
    "--json": switch("print the result, or the error, as one line of JSON on standard output"),
    "--quiet": switch("print only warnings and errors: no result, progress or notes"),
}
_OUTSIDE = switch("let the policy write outside its own directory (default: refuse)")
_STRICT = switch("exit code 1 if no count of the release answers a question, or almost nothing is left")
_PATHS = "a file, a directory, a path with wildcards or a URI"
_STREAM_HELP = f"read Parquet in parts, for tables larger than memory: IN is {_PATHS}"
_IN = one("the table: .parquet, also as a URI, .csv, .tsv (these also with .gz) or .jsonl", "IN")
_RELEASE_HELP = "the release: .parquet, also as a URI, .csv, .tsv or .jsonl"
_QUASI = one(QUASI_HELP, "COLUMN", nargs="+")
_OUT = file("write the table: .parquet or .csv", new_table)
_INDEPENDENT = switch("count by a second program, which shares no count or search with the algorithms")
_UNIT = {  # of tables in which a person has several rows, which stay rows
    "--unit": one(
        "the column that identifies the person of a row, instead of --by: lines are published as lines, "
        "and persons as numbers",
        "COLUMN",
    )
}
_GENERALIZED = {"quasi": DEMANDS["quasi"], "hierarchies": COLUMNS["hierarchies"]}
_PREPARE = {
    "--prepare": several(
        "steps before a release, recorded with it: length=3 (of codes), band=10 (of numbers), period=month "
        "(of dates), max_items=20 (the most frequent ones of a row, or by weights=FILE)",
        "COLUMN.STEP=VALUE",
        column_step,
    )
}
_FORM = {
    "--column": one("the list column (default: the only one)", "NAME"),
    "--separator": one("the separator of items in CSV files", "TEXT"),
    "--field": one(
        "the column holds lists of objects: the field of the item, such as code, or several, joined as "
        "system|code; without a name: lists in JSON",
        "NAME",
        nargs="*",
    ),
    "--missing": choice("the action for missing items inside lists (default: refuse)", ("refuse", "drop")),
    "--delimiter": one("the delimiter of fields in CSV (default: the most frequent candidate)", "CHAR"),
    "--encoding": one("the encoding of CSV (default: utf-8)", "NAME"),
    "--no-header": one(
        "the first line of CSV is a row: columns are 1, 2, ...", action="store_const", const=True
    ),
    "--types": several(
        f"types of columns of CSV and JSON lines, which are text otherwise: {', '.join(TYPES)}",
        "COLUMN=TYPE",
        named(
            "a column with a type",
            f"a column and one of {', '.join(TYPES)}: --types age=integer visited=date",
            {kind: kind for kind in TYPES}.__getitem__,
            str.rpartition,
        ),
    ),
    "--by": one(
        "the columns that identify the person of a row, such as a customer number; not published",
        "COLUMN",
        nargs="+",
    ),
    "--item": one("the column of the item of a row", "COLUMN"),
    "--conflicts": choice(
        "the action if rows of a person differ in another column that is read (default: refuse)",
        ("refuse", "first"),
    ),
    "--onehot": one(
        "columns of 0 and 1, true and false, or counts; each column is an item (default: all columns that "
        "no other option names)",
        "COLUMN",
        nargs="*",
    ),
    "--prefix": one("prefix of the column names, which is not part of the item", "TEXT"),
    "--wide": one(
        "columns of places of items: the first item of a row, the second, ...; lines of CSV may end early "
        "(default: all columns that no other option names)",
        "COLUMN",
        nargs="*",
    ),
    "--tick": one("the value of a ticked cell, such as x, yes or 1 (default: 1, true, or a count)", "TEXT"),
}


def _algorithm(default: str, names: Iterable[str]) -> Option:
    text = f"the algorithm; 'pdanon algorithms' lists them (default: {default})"
    return choice(text, filter(is_run_by_command, names), "NAME")


def _parameters(parameters: Mapping[str, Option]) -> dict[str, Option]:
    """Return the options of parameters, which are absent if they are not passed."""
    return {flag(name): known | {"default": argparse.SUPPRESS} for name, known in parameters.items()}


def _numbers(name: str, *values: int) -> Option:
    """Return an option with several values of a parameter."""
    text = f"{DEMANDS[name]['help'].partition(';')[0]} (default: {' '.join(map(str, values))})"
    return one(text, kind=int, nargs="+", default=list(values))


_PROFILE = {
    "source": _IN,
    "--stream": switch(f"{_STREAM_HELP}; other columns are counted in the first rows"),
    "-k": one("minimum number of matching rows (default: 5)", kind=int, default=5),
    "-m": one(f"{KNOWN_HELP} (default: 3)", kind=int, default=3),
    **_FORM,
    **_PREPARE,
    "--quasi": _QUASI,
    "--keep": several("other columns to describe (default: all columns of a table with lists)", "COLUMN"),
    "--report": file("write the profile as a page, not for publication: .html", new_page),
}
_KEEP = several(
    "columns to publish as they are, without a warning; of a table without lists, no others are published",
    "COLUMN",
)
_TRADEOFF: _Arguments = {
    "source": _IN,
    "-k": _numbers("k", 3, 5, 11),
    "-m": _numbers("m", 1, 2, 3),
    "--algorithm": lambda: _algorithm(
        "the one with the lowest loss among those with the guarantee", functions(*OF_LISTS)
    ),
    **_parameters(WAYS | OWN | _GENERALIZED),
    "--keep": _KEEP,
    **_FORM,
    **_PREPARE,
    "--out": _OUT,
    "--picture": file("draw the table: .png, .svg or .pdf", new_picture),
    "--report": file("write the table and a profile as a page, not for publication: .html", new_page),
}
_ANONYMIZE: _Arguments = {
    "source": _IN,
    "target": one("the release: .parquet or .csv", "OUT", release),
    "--stream": switch(
        f"read and write Parquet in parts, for tables larger than memory: IN is {_PATHS}, and OUT does not "
        "exist yet"
    ),
    **_FORM,
    **_PREPARE,
    "--join": one("the separator of items in a release in CSV (default: that of --separator)", "TEXT"),
    "--escape-formulas": switch(
        "in CSV, put ' before text that a spreadsheet would run as a formula; this changes the text"
    ),
    "--mapping": file("write the mapping of the items: .parquet or .csv", new_table),
    "--legend": file(
        "write the items of each label, for publication if you like: .parquet or .csv", new_table
    ),
    "--links": file(
        "with --by: write the links, which tell an audit of later releases who is in which row; not part of "
        "the release: .parquet or .csv",
        new_table,
    ),
    "--secret": file(
        "with --links: the file with the secret key of all releases of a series; the first one writes it. "
        "Keep it apart from the links",
        new,
    ),
    "--classes": file(
        "write the second table of a release by cahd, the counts of its groups: .parquet or .csv", new_table
    ),
    "--report": file("write a page about the release, for publication: .html", new_page),
    "--evidence": file(
        "write the facts of the release for those who approve it: .json, and .html beside it", new_evidence
    ),
    "--control": one(
        "rows of other people, held back before: attack them and the release, for report and evidence", "FILE"
    ),
    "--head": one(
        f"a text for the head of the report and of the evidence ({', '.join(HEAD)}; can be repeated)",
        "NAME=TEXT",
        named(
            "a text of a head",
            f"one of {', '.join(HEAD)}, and its text: --head title='Baskets of May'",
            str,
            known=HEAD,
        ),
        action="append",
        default=[],
    ),
    "--algorithm": lambda: _algorithm("try several, and write the release with the lowest loss", ALGORITHMS),
    **_parameters(PARAMETERS),
    "--keep": _KEEP,
    "--processes": one("number of processes that share blocks of rows (default: 1)", "N", int, default=1),
    "--max-loss": one(
        "refuse a release that loses more, such as pairs=0.5 (can be repeated)",
        "MEASURE=VALUE",
        named("a measure with a number", "a measure and a number: --max-loss pairs=0.5", float),
        action="append",
        default=[],
    ),
    "--max-risk": one(
        "refuse a release if unmodified columns leave fewer than k rows for a larger share of rows",
        "SHARE",
        float,
    ),
    "--strict": _STRICT,
    **_UNIT,
    "--counts": switch("with --unit: publish every line, and cover how often a person has a label"),
}
_AUDIT = {
    "source": one(_RELEASE_HELP, "RELEASED"),
    "--stream": switch(
        f"read Parquet in parts: RELEASED is {_PATHS}, and rows of all files are counted together"
    ),
    "-k": DEMANDS["k"],
    "-m": DEMANDS["m"] | {"default": DEFAULT_M},
    **_FORM,
    **_UNIT,
    "--counts": switch("with --unit: the attacker also knows how often a person has a label"),
    "--quasi": _QUASI,
    "--sensitive": DEMANDS["sensitive"],
    **{flag(name): DEMANDS[name] for name in ("l", "rho", "constraints", "rules", "c")},
    "--mapping": one(
        "the mapping of the release: for constraints, rules and suppressed sensitive items, and to "
        "count rows that suppression emptied; with --previous, repeated for each release, the newest last",
        "FILE",
        table_file,
        action="append",
    ),
    "--suppressed": one(
        "what the release of another tool writes for suppressed items, such as '*': it counts as absent",
        "ITEM",
        nargs="+",
    ),
    "--previous": one(
        "the earlier releases of the same persons, the oldest first: an attacker may keep all of them",
        "RELEASED",
        nargs="+",
    ),
    "--links": one(
        "with --previous: the links of each release, the newest last, as anonymize --links wrote them",
        "FILE",
        table_file,
        nargs="+",
    ),
    "--key": one(
        "with --previous, instead of --links: the column of the releases that identifies a person", "COLUMN"
    ),
    "--classes": file("the counts of groups in a release by cahd", table_file),
    "-p": one("a sensitive item is in at most 1/p of the rows of a group", kind=int),
    "--chunks": switch("RELEASED is a release by disassociate, of records in chunks"),
    "--safe": switch(
        "with --chunks: also check that no two items of different chunks must be in the same record"
    ),
    "--threats": file("write the minimal itemsets that break the guarantee", new_table),
    "--independent": _INDEPENDENT,
}
_VERIFY = {
    "evidence": one("the JSON file of --evidence, or of result.evidence in Python", "EVIDENCE", Path),
    "--release": one(_RELEASE_HELP, "FILE", required=True),
    "--original": one("the original, to compare it and its risk", "FILE"),
    "--mapping": file("the mapping of the release; guarantees by constraints or rules need it", table_file),
    "--classes": file("the second table of a release by cahd or disassociate", table_file),
    "--independent": _INDEPENDENT,
    **_FORM,
    **_PREPARE,
}
_RISK = {
    "source": _IN,
    "--stream": switch(_STREAM_HELP),
    "-k": DEMANDS["k"] | {"required": True},
    "-m": one(f"{KNOWN_HELP} (default: 2)", kind=int, default=2),
    "--quasi": _QUASI,
    **_FORM,
    **_PREPARE,
    **_UNIT,
    "--out": _OUT,
    "--all": switch("print the whole table, not a summary"),
}
_ASSESS = {
    "source": one("the original: .parquet, also as a URI, .csv, .tsv or .jsonl", "ORIGINAL"),
    "--release": one(_RELEASE_HELP, "FILE", required=True),
    "--mapping": file("the mapping of the release (default: its labels are items)", table_file),
    "--control": one("rows of other people, held back before the release was made", "FILE"),
    "--infer": one("the item to infer (default: any item of a person)", "ITEM"),
    "--attacks": one("the attacks (default: all)", "ATTACK", nargs="+"),
    "-m": one(f"{KNOWN_HELP}, and most labels of a predicate", kind=int, default=DEFAULT_M),
    "--n-attacks": one("number of attacks of each kind (default: 2000)", "N", int, default=2000),
    "--random-state": one("seed of random draws (default: fixed)", "SEED", int),
    "--max-risk": one("exit code 1 if the interval of a risk ends above this share", "SHARE", float),
    **_FORM,
    "--out": _OUT,
}
_RUN = {"policy": one("a TOML file", "POLICY", Path), "--allow-outside": _OUTSIDE, "--strict": _STRICT}
_COMPARE = {
    "policy": one("a TOML file with a table [compare]", "POLICY", Path),
    "--all": switch("print all configurations, however many"),
    "--allow-outside": _OUTSIDE,
}
_ONE_ALGORITHM: _Arguments = {
    "name": lambda: one(
        "the algorithm to describe (default: one line for each)", "NAME", nargs="?", choices=[*ALGORITHMS]
    )
}
_POLICY = """such a policy.toml:
  input = "patients.parquet"
  parameters = { k = 5, m = 2 }

  columns = { items = "diagnoses", quasi = ["age", "sex"], keep = ["district"], drop = [] }
  outputs = { release = "released.parquet", mapping = "mapping.parquet", report = "report.html" }"""

# By command: its help, its most important arguments, an example, and all arguments.
_COMMANDS: dict[str, tuple[str, str, str, _Arguments]] = {
    "demo": (
        "anonymize and attack a synthetic shop, to show other commands; leaves no file behind",
        "",
        "",
        {},
    ),
    "profile": (
        "describe a raw table: its columns, what singles out its rows, and the steps before a release",
        "IN [-k K] [-m M]",
        "invoices.csv --by customer --item product",
        _PROFILE,
    ),
    "tradeoff": (
        "show the loss and the remaining risk for each k and m, before a release",
        "IN [-k K ...] [-m M ...]",
        "baskets.parquet -k 3 5 11 -m 1 2 3 --report tradeoff.html",
        _TRADEOFF,
    ),
    "anonymize": (
        "write an audited release of a table with the requested guarantee",
        "IN OUT -k K [-m M]",
        "baskets.parquet release.parquet -k 5 -m 2 --mapping mapping.parquet",
        _ANONYMIZE,
    ),
    "audit": (
        "check whether a release has a guarantee; exit code 1 if not",
        "RELEASED -k K [-m M]",
        "release.parquet -k 5 -m 2 --threats threats.parquet",
        _AUDIT,
    ),
    "verify": (
        "compare evidence with the files of a release; exit code 1 if a fact differs",
        "EVIDENCE --release FILE",
        "evidence.json --release release.parquet",
        _VERIFY,
    ),
    "risk": (
        "show the share of rows that a few known items single out",
        "IN -k K [-m M]",
        "baskets.parquet -k 5 -m 2",
        _RISK,
    ),
    "assess": (
        "attack a release and control rows: singling out, linkability, inference, membership",
        "ORIGINAL --release FILE [--control FILE]",
        "baskets.parquet --release release.parquet --mapping mapping.csv --control others.parquet",
        _ASSESS,
    ),
    "run": (
        "write the outputs of a policy file: release, mapping and losses, all or none",
        "POLICY",
        f"policy.toml\n\n{_POLICY}",
        _RUN,
    ),
    "compare": (
        "run the algorithms of a policy file, and compare their loss",
        "POLICY",
        "policy.toml",
        _COMPARE,
    ),
    "algorithms": (
        "list the algorithms, or show the guarantee and the options of one",
        "[NAME]",
        "pcta",
        _ONE_ALGORITHM,
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
    **dict.fromkeys(("release", "original", "previous", "control"), _READ),
    "picture": ("png", "svg", "pdf"),
    "policy": ("toml",),
}


class PrintCompletion(argparse.Action):
    """An option that prints the completion script of a shell and exits."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        """Print the script and exit."""
        try:
            from shtab import complete
        except ImportError:
            what, where = "completion needs the package shtab", "--print-completion"
            raise ParameterError(what, where=where, hint="pip install shtab") from None
        _complete_files(parser)
        # Functions that list directories and the files with some suffixes.
        bash = (
            f'_pdanon_files_{"_".join(suffixes)}() {{ compgen -d -- "$1"; '
            f'compgen -f -- "$1" | grep -E "\\.({"|".join(suffixes)})$"; }}'
            for suffixes in dict.fromkeys(_SUFFIXES.values())
        )
        preamble = "\n".join(bash) if values == "bash" else ""
        print(complete(parser, values, root_prefix="pdanon", preamble=preamble))
        parser.exit(0)


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Set the files that complete each argument of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command)
        elif action.dest in _SUFFIXES:
            suffixes = _SUFFIXES[action.dest]
            action.complete = {  # type: ignore[attr-defined]
                "bash": f"_pdanon_files_{'_'.join(suffixes)}",
                "zsh": f"_files -g '*.({'|'.join(suffixes)}|)'",  # without the bar zsh reads a glob qualifier
                "fish": f"(__fish_complete_suffix .{suffixes[0]})",  # fish lists these first, then all others
            }
