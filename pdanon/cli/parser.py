"""Commands, their arguments and help, and the options that each algorithm takes.

The signature of an algorithm specifies its options. If the parameters of a new algorithm are among
``PARAMETERS``, it needs no code here.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pdanon.algorithms.registry import (
    ALGORITHMS,
    OF_LISTS,
    algorithm,
    functions,
    of_lists,
    parameters_of,
    region_parameters,
)
from pdanon.algorithms.rt.rum import MEASURES
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.cli.completion import SHELLS, PrintCompletion
from pdanon.cli.output import Outcome
from pdanon.cli.paths import (
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
from pdanon.guarantees.requested import REQUIRED, check_sensitive
from pdanon.recoding.labels import LABELS
from pdanon.recoding.result import Anonymized

_HINT = "\n  hint:  "
_OF_COMMAND = ("keep", "progress")  # parameters that the command itself handles

# Hints for options that do not exist here, because another option or a policy has their task.
_ELSEWHERE = {
    "--drop": "pass --keep for the columns to publish with --by, or write a policy, which has drop",
    "--quasi": "pass it to anonymize, audit or risk; or write a policy with the columns as quasi",
    "--unit": "pass --by, which gathers lines to one row per person; anonymize, audit and risk take --unit",
}

# --- Types of options


def items_known(text: str) -> int | None:
    """Parse a number of known items, or ``all``."""
    if text != "all" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'all'")
    return None if text == "all" else int(text)


def fanout_or_file(text: str) -> int | Path:
    """Parse a hierarchy: the fan-out of a balanced one, or a file."""
    return int(text) if text.isdecimal() else Path(text)


def column_hierarchy(text: str) -> tuple[str, int | Path]:
    """Read a column and its hierarchy."""
    name, mark, value = text.partition("=")
    if not mark or not value:
        hint = f"{_HINT}write a column and a file or a fan-out: --hierarchies city=cities.csv age=5"
        raise argparse.ArgumentTypeError(f"{text!r} is not a column with a hierarchy{hint}")
    return name, fanout_or_file(value)


def column_weight(text: str) -> tuple[str, float]:
    """Read a column and its weight."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        hint = f"{_HINT}write a column and a number: --quasi-weights age=1 sex=0.5"
        raise argparse.ArgumentTypeError(f"{text!r} is not a column with a number{hint}") from None


# --- Parameters of algorithms as options, with the names that they have in the library

KNOWN_HELP = "maximum number of items that the attacker knows; 'all': every item of a row"
CONSTRAINTS_HELP = (
    "protect only these itemsets: .csv without a header, one itemset per line and one item per field, or "
    ".parquet with one list column"
)

RULES_HELP = (
    "rules from known to sensitive items: .csv with columns known,sensitive and items joined by ';', "
    ".parquet with these list columns; or .toml with m and sensitive, for all rules up to a size"
)
SHARE_HELP = "maximum share of the matching rows that contain the sensitive items of a rule, 0 to 1"

DEMANDS: dict[str, dict[str, Any]] = {
    "k": {"type": int, "help": "minimum number of rows that match the attacker's knowledge"},
    "m": {"type": items_known, "help": f"{KNOWN_HELP} (default: 2; of hghs, mhghs and with --rho: all)"},
    "constraints": {"type": table_file, "metavar": "FILE", "help": CONSTRAINTS_HELP},
    "sensitive": {
        "nargs": "+",
        "metavar": "ITEM",
        "help": "sensitive items: published as is with -l, published as is or suppressed with --rho, "
        "published as counts of groups with -p",
    },
    "rho": {
        "type": float,
        "help": "maximum share of the rows with the known items that also contain a sensitive item, above "
        "0 and below 1",
    },
    "l": {"type": int, "help": "a sensitive item is in at most 1/l of the matching rows"},
    "private": {"metavar": "NAME", "help": "a second list column with the private items"},
    "h": {"type": float, "help": "maximum share of the matching rows that contain a private item, 0 to 1"},
    "rules": {"type": rules_file, "metavar": "FILE", "help": RULES_HELP},
    "c": {"type": float, "help": SHARE_HELP},
    "p": {
        "type": int,
        "help": "maximum number of public items that the attacker knows; with cahd: a sensitive item is in "
        "at most 1/p of the rows of a group",
    },
}
WAYS: dict[str, dict[str, Any]] = {
    "hierarchy": {
        "type": fanout_or_file,
        "metavar": "FILE|FANOUT",
        "help": "generalization hierarchy of the items: a CSV file with rows leaf;parent;...;root, or the "
        "fan-out of a balanced hierarchy over the sorted items",
    },
    "weights": {
        "type": table_file,
        "metavar": "FILE",
        "help": "weights of items, 0 to 1: .csv or .parquet with columns item,weight",
    },
    "labels": {"choices": LABELS, "help": "labels of merged items: (a,b), G017 or a +1 (default: set)"},
    "refine": {
        "action": argparse.BooleanOptionalAction,
        "help": "move items between merged sets afterwards, to lower the loss; with disassociate: let "
        "clusters share chunks",
    },
    "start": {
        "type": table_file,
        "metavar": "FILE",
        "help": "mapping of an earlier release of the same persons, .csv or .parquet: its sets only grow",
    },
    "reserve": {"type": int, "metavar": "K", "help": "merge items for a larger k than is promised"},
    "max_cluster": {"type": int, "metavar": "ROWS", "help": "split clusters with more rows (default: 2 k)"},
    "safe": {
        "action": "store_true",
        "help": "ensure that no two items of different chunks must be in the same record",
    },
    "suppress": {
        "action": "store_true",
        "help": "suppress nodes of the hierarchy where that lowers the loss; with ps_rules: suppress "
        "sensitive items that are too frequent to be protected",
    },
    "how": {"choices": ("tree", "sample"), "help": "split sets on all rows, or on a sample of them"},
    "sample": {"type": float, "metavar": "SHARE", "help": "share of the rows in a sample (default: 0.1)"},
    "random_state": {"type": int, "metavar": "SEED", "help": "seed of random draws"},
    "time_limit": {"type": float, "metavar": "SECONDS", "help": "time limit of the search (default: 60)"},
    "parts": {"type": int, "metavar": "N", "help": "number of parts of the work"},
    "criterion": {
        "choices": ("mm/il", "mm", "1/il", "optimal"),
        "help": "criterion for the next item to suppress",
    },
    "loss": {
        "metavar": "NAME",
        "help": "without --algorithm: the loss to minimize, such as ncp, occurrences, singles or pairs "
        "(default: balanced for k and m, else NCP or counts); with hghs and mhghs: LM or NCP; with "
        "coherence: the cost of suppressing an item, support or unit",
    },
    "max_named": {
        "type": float,
        "metavar": "SHARE",
        "help": "without --algorithm: maximum share of persons at risk, 0 to 1, whom an attacker names "
        "who has learned from similar rows; k is raised as needed",
    },
    "scope": {"choices": ["all", "sensitive"], "help": "with --rho: the items that may be suppressed"},
    "r": {"type": int, "help": "number of groups that are examined for each row"},
    "score": {"choices": ["increase", "total"], "help": "distortion of a group to minimize"},
    "lookahead": {
        "type": int,
        "metavar": "N",
        "help": "number of following rows that are compared for a place in a group",
    },
    "order": {"choices": ["nn", "gray", "rcm"], "help": "order of the rows in which a group is searched"},
    "alpha": {"type": int, "metavar": "N", "help": "compare a row with N * p neighbors on each side"},
}
_QUASI_HELP = "quasi-identifiers: other columns that the attacker knows"
COLUMNS: dict[str, dict[str, Any]] = {  # of algorithms for quasi-identifiers
    "quasi": {
        "nargs": "+",
        "action": "extend",
        "metavar": "COLUMN",
        "help": f"{_QUASI_HELP}; without --algorithm, they are generalized as well",
    },
    "hierarchies": {
        "nargs": "+",
        "action": "extend",
        "type": column_hierarchy,
        "metavar": "COLUMN=TREE",
        "help": "hierarchies of quasi-identifiers, files or fan-outs; --hierarchy is that of the items",
    },
    "delta": {"type": float, "metavar": "SHARE", "help": "maximum loss of the quasi-identifiers, 0 to 1"},
    "transaction": {
        "choices": [name for name, record in ALGORITHMS.items() if record.nodes or record.sets],
        "metavar": "NAME",
        "help": "the algorithm for the items of a class (default: pcta); --hierarchy, --sensitive, -l and "
        "--labels are of the items, too",
    },
    "cluster": {
        "choices": [name for name, record in ALGORITHMS.items() if record.form],
        "metavar": "NAME",
        "help": "the algorithm that forms the first classes (default: cluster)",
    },
    "merge": {"choices": ("R", "T", "RT"), "help": "similarity of the classes to merge (default: RT)"},
    "rum": {
        "choices": MEASURES,
        "help": "the loss that --delta bounds (default: NCP)",
    },
    "quasi_weights": {
        "nargs": "+",
        "action": "extend",
        "type": column_weight,
        "metavar": "COLUMN=WEIGHT",
        "help": "weights of quasi-identifiers in the loss, 0 to 1",
    },
    "max_suppressed": {
        "type": float,
        "metavar": "SHARE",
        "help": "maximum share of suppressed rows, or with coat and upcta of suppressed items, 0 to 1 "
        "(default: 0)",
    },
    "block_rows": {
        "type": int,
        "metavar": "ROWS",
        "help": "maximum number of rows that are anonymized together (default with --stream: 10,000)",
    },
    "n_jobs": {"type": int, "metavar": "N", "help": "number of processes (default: 1)"},
}
UNMODIFIED: dict[str, dict[str, Any]] = {  # all algorithms take these
    "keep": {
        "nargs": "+",
        "action": "extend",
        "metavar": "COLUMN",
        "help": "columns to publish as they are, without a warning",
    },
}
PARAMETERS = DEMANDS | WAYS | COLUMNS | UNMODIFIED
_PAIRS = ("hierarchies", "quasi_weights")  # parameters with a value for each column
_OF_TRANSACTION = ["hierarchy", "sensitive", "l", "labels"]  # parameters of `Transaction` that are options
_OF_GUARANTEES = (  # options that need no --algorithm
    *("k", "m", "l", "constraints", "rules", "c", "rho", "p", "sensitive", "quasi"),
    *("hierarchy", "hierarchies", "loss", "max_named", "time_limit", "labels", "random_state", "keep"),
)


def flag(parameter: str) -> str:
    """Return the option of a parameter."""
    # -h asks for help.
    if len(parameter) == 1 and parameter != "h":
        return f"-{parameter}"
    return f"--{parameter.replace('_', '-')}"


# --- Passed options


def bound(text: str) -> tuple[str, float]:
    """Read a measure and the largest value that it may have."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        hint = f"{_HINT}write a measure and a number: --max-loss pairs=0.5"
        raise argparse.ArgumentTypeError(f"{text!r} is not a measure with a number{hint}") from None


def head_text(text: str) -> tuple[str, str]:
    """Read the name of a text of a head, and the text."""
    name, mark, value = text.partition("=")
    if not mark or name not in HEAD:
        hint = f"{_HINT}write one of {', '.join(HEAD)}, and its text: --head title='Baskets of May'"
        raise argparse.ArgumentTypeError(f"{text!r} is not a text of a head{hint}")
    return name, value


def guarantee_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the passed options, and refuse those that need an algorithm."""
    options = _options(arguments)
    for option in options:
        if option not in _OF_GUARANTEES:
            raise ParameterError(f"{flag(option)} needs --algorithm", hint=_suggest_algorithms(option))
    if not REQUIRED & options.keys():
        hint = "such as -k 5 -m 2, or --rho or -p with --sensitive; or name an --algorithm"
        raise ParameterError("-k is needed", hint=hint)
    check_sensitive(options, spelled=flag)
    return options


def algorithm_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the passed options, and refuse those that the algorithm does not take or that are missing."""
    name, options = arguments.algorithm, _options(arguments)
    accepted, required = _accepted(name), _required(algorithm(name))
    if getattr(arguments, "stream", False):
        accepted += region_parameters(name)
    if (
        getattr(arguments, "unit", None) is not None
        and "unit" not in inspect.signature(algorithm(name)).parameters
    ):
        hint = "it publishes groups or parts of rows: choose another algorithm, such as pcta"
        raise ParameterError(f"{name} does not take --unit", hint=hint)
    for option in [option for option in options if option not in accepted]:
        raise ParameterError(f"{name} does not take {flag(option)}", hint=_suggest_algorithms(option))
    if required - PARAMETERS.keys():
        only = ", ".join(sorted(required - PARAMETERS.keys()))
        hint = f"write a policy, or call pdanon.{name} from Python"
        raise ParameterError(f"{name} needs {only}, which is no option of the command line", hint=hint)
    if required - options.keys():
        flags = ", ".join(flag(option) for option in PARAMETERS if option in required - options.keys())
        raise ParameterError(f"{name} needs {flags}", hint=f"'pdanon algorithms {name}' lists its options")
    if not of_lists(algorithm(name)):
        _check_no_lists(arguments)
    return _with_transaction(options) if "transaction" in accepted else options


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    options = {option: value for option, value in vars(arguments).items() if option in PARAMETERS}
    return options | {option: dict(options[option]) for option in _PAIRS if option in options}


def _accepted(name: str) -> list[str]:
    """Return the parameters of an algorithm, and those of the items that it takes as one value."""
    own = [*parameters_of(algorithm(name))]
    return own + _OF_TRANSACTION if "transaction" in own else own


def _required(function: Callable[..., Anonymized]) -> set[str]:
    accepted = parameters_of(function)
    return {option for option, parameter in accepted.items() if parameter.default is parameter.empty}


def _check_no_lists(arguments: argparse.Namespace) -> None:
    """Check that no option specifies a list column, for an algorithm that recodes none."""
    options = ("item", "onehot", "prefix", "column")
    if given := next((each for each in options if getattr(arguments, each, None) is not None), None):
        hint = f"leave out {flag(given)}, or choose an algorithm for both: {', '.join(functions('both'))}"
        raise ParameterError(f"{arguments.algorithm} recodes no list column", where=flag(given), hint=hint)


def _with_transaction(options: dict[str, Any]) -> dict[str, Any]:
    """Replace the parameters of the items by one value."""
    items = {option: options.pop(option) for option in _OF_TRANSACTION if option in options}
    if not items and "transaction" not in options:
        return options
    return options | {"transaction": Transaction(options.get("transaction", "pcta"), **items)}


def _suggest_algorithms(option: str) -> str:
    names = [name for name in ALGORITHMS if is_run_by_command(name) and option in _accepted(name)]
    others = [name for name in ALGORITHMS if option in region_parameters(name) and name not in names]
    more = f"; with --stream also {', '.join(others)}" if others else ""
    return f"algorithms that take it: {', '.join(names) or 'none'}{more}"


def facts_of_algorithm(name: str) -> dict[str, Any]:
    """Return the task of an algorithm, its guarantee (both from the docstring) and its parameters."""
    function = ALGORITHMS[name].function
    text = inspect.getdoc(function) or ""
    guarantee = " ".join(text.partition("Guarantee: ")[2].partition(".")[0].replace("`", "").split())
    required, by_command = _required(function), is_run_by_command(name)
    options = [
        {"parameter": each, "option": flag(each), "required": each in required}
        if each in PARAMETERS and by_command
        else {"parameter": each, "option": None, "required": each in required}
        for each in _accepted(name)
        if each not in _OF_COMMAND
    ]
    does, _, _ = text.partition("\n")
    return {"name": name, "does": does, "guarantee": guarantee, "by_command": by_command, "options": options}


def describe(facts: Mapping[str, Any]) -> str:
    """Describe an algorithm in a few lines, from the facts of `facts_of_algorithm`."""
    options: list[str] = []
    others: list[str] = []
    for each in facts["options"]:
        name = each["option"] or each["parameter"]
        (others if each["option"] is None else options).append(name if each["required"] else f"[{name}]")
    lines = [
        facts["name"],
        f"  does       {facts['does']}",
        f"  guarantee  {facts['guarantee']}",
        f"  options    {' '.join(options) or 'none'}",
    ]
    if others:
        lines.append(f"  elsewhere  {', '.join(others)}: in a policy or Python")
    return "\n".join(lines)


def summarize(facts: Mapping[str, Any]) -> str:
    """Describe an algorithm in one line, from the facts of `facts_of_algorithm`."""
    return f"{facts['name']:<16} {facts['does']}"


def is_run_by_command(name: str) -> bool:
    """Whether options alone can call an algorithm. A policy and Python can call any."""
    return _required(algorithm(name)) <= PARAMETERS.keys()


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
        what, _, hint = message.partition(_HINT)
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
    parser.add_argument("--version", action="version", version=f"pdanon {version('pdanon')}")
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
    counts = "with --unit: publish every line, and cover how often a person has a label"
    _add_unit(_add_form(command), counts)
    join = "the separator of items in a release in CSV (default: that of --separator)"
    command.add_argument("--join", metavar="TEXT", help=join)
    formulas = "in CSV, put ' before text that a spreadsheet would run as a formula; this changes the text"
    _add_switch(command, "--escape-formulas", formulas)
    _add_file(command, "--mapping", new_table, "write the mapping of the items: .parquet or .csv")
    legend = "write the items of each label, for publication if you like: .parquet or .csv"
    _add_file(command, "--legend", new_table, legend)
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
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=_QUASI_HELP)
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
        "rows that suppression emptied"
    )
    _add_file(command, "--mapping", table_file, mapping)
    earlier = "the earlier releases of the same persons, the oldest first: an attacker may keep all of them"
    command.add_argument("--previous", nargs="+", metavar="RELEASED", help=earlier)
    key = "with --previous: the column that identifies a person (default: the order of the rows)"
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
    command.add_argument("--quasi", nargs="+", metavar="COLUMN", help=_QUASI_HELP)
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
    command.add_argument("--algorithm", choices=list(names), metavar="NAME", help=text)


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
    tick = "the text of a ticked cell, such as x or yes (default: 1, true, or a count)"
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
  parameters = { k = 5, m = 2, random_state = 1 }

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
