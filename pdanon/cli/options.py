"""The parameters of algorithms as options, their texts, and the options that a command was called with."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from pdanon.accessors import ByPerson
from pdanon.algorithms.preparation import STEPS
from pdanon.algorithms.registry import (
    ALGORITHMS,
    REQUEST_PARAMETERS,
    Parameters,
    algorithm,
    functions,
    of_lists,
    parameters_of,
    region_parameters,
    takes_guarantee,
    text_parameters,
)
from pdanon.algorithms.rt.rum_bound import MEASURES
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.errors import ParameterError, mask_credentials
from pdanon.evaluation.matches import Facts
from pdanon.guarantees.promises import REQUIRED, check_sensitive
from pdanon.io.files import suffix_of
from pdanon.io.tables import suffix_hint
from pdanon.itemsets.arguments import moved
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.validation import is_code_file, is_uri
from pdanon.recoding.labels import LABELS

HINT = "\n  hint:  "


class Arguments(argparse.Namespace):
    """The arguments of a command. Those that it does not have are None."""

    def __getattr__(self, name: str) -> Any:
        return None


# --- Paths: files that a command reads or writes, and the place of a release

TABLES = (".parquet", ".csv")


@frozen
class File:
    """A type of options: the path of a file to read or write, with one of the suffixes if there are any."""

    suffixes: Sequence[str] = ()
    written: bool = False
    hint: str | None = None  # for another suffix; that of a table is how to convert it

    def __call__(self, text: str) -> Path:
        """Parse the path."""
        if is_uri(text):
            hint = "copy the file to this machine first"
            if self.written:
                hint = "name a file on this machine; only the release is written to a URI"
            raise argparse.ArgumentTypeError(f"{mask_credentials(text)!r} is a URI{HINT}{hint}")
        if self.suffixes and suffix_of(text) not in self.suffixes:
            *others, last = self.suffixes
            known = f"{', '.join(others)} or {last}" if others else last
            remedy = suffix_hint(text, written=self.written) if ".csv" in self.suffixes else self.hint
            remedy = f"{HINT}{remedy}" if remedy else ""
            raise argparse.ArgumentTypeError(f"{text!r} must end in {known}{remedy}")
        path = _in_a_directory(text) if self.written else Path(text)
        if self.written and path.is_dir():
            raise argparse.ArgumentTypeError(f"{text!r} is a directory{HINT}name a file in it")
        return path


table_file, rules_file = File(TABLES), File((*TABLES, ".toml"))
new, new_table = File(written=True), File(TABLES, written=True)
new_page, new_picture = File((".html",), written=True), File((".png", ".svg", ".pdf"), written=True)
new_evidence = File(
    (".json", ".html"), written=True, hint="such as evidence.json; evidence.html is written beside it"
)


def release(text: str) -> Path | str:
    """Parse the path or URI of a release; `check_files` checks later whether it exists already."""
    return _in_a_directory(text) if not is_uri(text) else text


def _in_a_directory(text: str) -> Path:
    path = Path(text)
    if not path.absolute().parent.is_dir():
        hint = f"make {str(path.parent)!r} first"
        raise argparse.ArgumentTypeError(f"{text!r} is in a directory that does not exist{HINT}{hint}")
    return path


# --- Types of options


def items_known(text: str) -> int | None:
    """Parse a number of known items, or ``all``."""
    if text != "all" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'all'")
    return None if text == "all" else int(text)


def column_or_codes(text: str) -> str | Path:
    """Parse the name of a column, or a file of codes."""
    return Path(text) if is_code_file(text) else text


class ItemsAction(argparse.Action):
    """Store a list of items, or a file of codes."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        """Store the values."""
        setattr(namespace, self.dest, Path(*values) if [*map(is_code_file, values)] == [True] else values)


def fanout_or_file(text: str) -> int | Path:
    """Parse a hierarchy: the fan-out of a balanced one, or a file."""
    return int(text) if text.isdecimal() else Path(text)


def named(
    what: str,
    hint: str,
    read: Callable[[str], Any],
    split: Callable[[str, str], tuple[str, str, str]] = str.partition,
    known: Collection[str] = (),
) -> Callable[[str], tuple[str, Any]]:
    """Return a type of options: a name, a known one if any are, and a value that can be read."""

    def parse(text: str) -> tuple[str, Any]:
        name, mark, value = split(text, "=")
        with suppress(KeyError, ValueError):
            if mark and value and (name in known or not known):
                return name, read(value)
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}{HINT}write {hint}")

    return parse


def column_step(text: str) -> tuple[str, str, Any]:
    """Read a column, a step of its preparation, and the value of the step."""
    place, mark, value = text.partition("=")
    name, dot, step = place.rpartition(".")
    if not (mark and dot and value) or step not in STEPS:
        hint = f"{HINT}write a column, a step ({', '.join(STEPS)}) and its value: --prepare age.band=10"
        raise argparse.ArgumentTypeError(f"{text!r} is no step{hint}")
    if step == "weights":
        return name, step, table_file(value)
    with suppress(ValueError):
        return name, step, int(value) if value.isdecimal() else float(value)
    return name, step, value


# --- Declarations of options: the arguments of `add_argument`

Option: TypeAlias = dict[str, Any]


def one(
    text: str, metavar: str | None = None, kind: Callable[[str], Any] | None = None, **more: Any
) -> Option:
    """Return an option with one value, and its help."""
    known = {"metavar": metavar, "type": kind, **more, "help": text}
    return {name: value for name, value in known.items() if value is not None}


def several(text: str, metavar: str, kind: Callable[[str], Any] | None = None) -> Option:
    """Return an option with several values, which can be repeated."""
    return one(text, metavar, kind, nargs="+", action="extend")


def choice(text: str, names: Iterable[str], metavar: str | None = None) -> Option:
    """Return an option with one of several values."""
    return one(text, metavar, choices=[*names])


def file(text: str, kind: Callable[[str], Path]) -> Option:
    """Return an option that names a file to read or write."""
    return one(text, "FILE", kind)


def switch(text: str) -> Option:
    """Return an option without a value."""
    return one(text, action="store_true")


# --- Parameters, with the names that they have in the library

KNOWN_HELP = "maximum number of items that the attacker knows"
QUASI_HELP = "quasi-identifiers: other columns that the attacker knows"

CODES_HELP = "a .txt or .csv file with a code, prefix (F10*) or range (F10-F19) a line"
DEMANDS = {
    "k": one("minimum number of rows that match the attacker's knowledge", kind=int),
    "m": one(
        f"{KNOWN_HELP}; 'all': every item of a row (default: 2; of hghs, mhghs and with --rho: all)",
        kind=items_known,
    ),
    "constraints": file(
        "protect only these itemsets: .csv without a header, one itemset per line and one item per "
        "field, or .parquet with one list column (not with -m)",
        table_file,
    ),
    "sensitive": one(
        "sensitive items: published as is with -l, published as is or suppressed with --rho, "
        f"published as counts of groups with -p; or {CODES_HELP}",
        "ITEM",
        nargs="+",
        action=ItemsAction,
    ),
    "rho": one(
        "maximum share of the rows with the known items that also contain a sensitive item, above "
        "0 and below 1",
        kind=float,
    ),
    "l": one("a sensitive item is in at most 1/l of the matching rows", kind=int),
    "private": one(
        "a second list column with the private items, or a file of them, as for --sensitive",
        "NAME",
        column_or_codes,
    ),
    "h": one("maximum share of the matching rows that contain a private item, 0 to 1", kind=float),
    "rules": file(
        "rules from known to sensitive items: .csv with columns known,sensitive and items joined by "
        "';', .parquet with these list columns; or .toml with m and sensitive, for all rules up to a size "
        "(with -c, not with -m)",
        rules_file,
    ),
    "c": one(
        "maximum share of the matching rows that contain the sensitive items of a rule, 0 to 1", kind=float
    ),
    "p": one(
        "maximum number of public items that the attacker knows; with cahd: a sensitive item is in "
        "at most 1/p of the rows of a group",
        kind=int,
    ),
    "quasi": several(f"{QUASI_HELP}; without --algorithm, they are generalized as well", "COLUMN"),
}
WAYS = {
    "loss": one(
        "without --algorithm: the loss to minimize, such as ncp, occurrences, singles or pairs "
        "(default: balanced for k and m, else NCP or counts); with hghs and mhghs: LM or NCP; with "
        "coherence: the cost of suppressing an item, support or unit",
        "NAME",
    ),
    "max_named": one(
        "without --algorithm: maximum share of persons at risk, 0 to 1, whom an attacker names "
        "who has learned from similar rows; k is raised as needed",
        "SHARE",
        float,
    ),
    "hierarchy": one(
        "generalization hierarchy of the items: a CSV file with rows leaf;parent;...;root, or the "
        "fan-out of a balanced hierarchy over the sorted items",
        "FILE|FANOUT",
        fanout_or_file,
    ),
    "weights": file("weights of items, 0 to 1: .csv or .parquet with columns item,weight", table_file),
    "labels": choice("labels of merged items: (a,b), G017 or a +1 (default: set)", LABELS),
    "refine": one(
        "move items between merged sets afterwards, to lower the loss", action=argparse.BooleanOptionalAction
    ),
    "suppress": switch(
        "suppress nodes of the hierarchy where that lowers the loss; with ps_rules: suppress "
        "sensitive items that are too frequent to be protected"
    ),
    "time_limit": one("time limit of the search (default: 60)", "SECONDS", float),
    "random_state": one("seed of random draws (default: fixed)", "SEED", int),
}
OWN = {  # of single algorithms
    "start": file(
        "mapping of an earlier release of the same persons, .csv or .parquet: its sets only grow", table_file
    ),
    "max_cluster": one("split clusters with more rows (default: 2 k)", "ROWS", int),
    "joint": one("let clusters share chunks (default: yes)", action=argparse.BooleanOptionalAction),
    "safe": switch("ensure that no two items of different chunks must be in the same record"),
    "how": choice("split sets on all rows, or on a sample of them", ("tree", "sample")),
    "sample": one("share of the rows in a sample (default: 0.1)", "SHARE", float),
    "parts": one("number of parts of the work", "N", int),
    "criterion": choice("criterion for the next item to suppress", ("mm/il", "mm", "1/il", "optimal")),
    "scope": choice("with --rho: the items that may be suppressed", ("all", "sensitive")),
    "r": one("number of groups that are examined for each row", kind=int),
    "score": choice("distortion of a group to minimize", ("increase", "total")),
    "lookahead": one("number of following rows that are compared for a place in a group", "N", int),
    "order": choice("order of the rows in which a group is searched", ("nn", "gray", "rcm")),
    "alpha": one("compare a row with N * p neighbors on each side", "N", int),
}
COLUMNS = {  # of algorithms for quasi-identifiers
    "hierarchies": several(
        "hierarchies of quasi-identifiers, files or fan-outs; --hierarchy is that of the items",
        "COLUMN=TREE",
        named(
            "a column with a hierarchy",
            "a column and a file or a fan-out: --hierarchies city=cities.csv age=5",
            fanout_or_file,
        ),
    ),
    "delta": one("maximum loss of the quasi-identifiers, 0 to 1", "SHARE", float),
    "transaction": choice(
        "the algorithm for the items of a class (default: pcta); --hierarchy, --sensitive, -l and "
        "--refine are of the items, too",
        (name for name, record in ALGORITHMS.items() if record.nodes or record.sets),
        "NAME",
    ),
    "cluster": choice(
        "the algorithm that forms the first classes (default: cluster)",
        (name for name, record in ALGORITHMS.items() if record.form),
        "NAME",
    ),
    "merge": choice("similarity of the classes to merge (default: RT)", ("R", "T", "RT")),
    "rum": choice("the loss that --delta bounds (default: NCP)", MEASURES),
    "quasi_weights": several(
        "weights of quasi-identifiers in the loss, 0 to 1",
        "COLUMN=WEIGHT",
        named("a column with a number", "a column and a number: --quasi-weights age=1 sex=0.5", float),
    ),
    "max_suppressed": one(
        "maximum share of suppressed rows, or with coat and upcta of suppressed items, 0 to 1 (default: 0)",
        "SHARE",
        float,
    ),
    "block_rows": one(
        "maximum number of rows that are anonymized together (default with --stream: 10,000)", "ROWS", int
    ),
}
PARAMETERS = DEMANDS | WAYS | OWN | COLUMNS
_PAIRS = ("hierarchies", "quasi_weights")  # parameters with a value for each column
_OF_TRANSACTION = ["hierarchy", "sensitive", "l", "refine"]  # parameters of `Transaction` that are options
# Options that need no --algorithm.
_OF_GUARANTEES = (*REQUEST_PARAMETERS, "quasi", "hierarchy", "hierarchies")


def flag(parameter: str) -> str:
    """Return the option of a parameter."""
    # -h asks for help.
    if len(parameter) == 1 and parameter != "h":
        return f"-{parameter}"
    return f"--{parameter.replace('_', '-')}"


# --- Passed options


def passed_options(arguments: Arguments) -> Parameters:
    """Return the passed options of the algorithm, or of the guarantee if none is named, and check them."""
    return (_guarantee_options if arguments.algorithm is None else _algorithm_options)(arguments)


def _guarantee_options(arguments: Arguments) -> Parameters:
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


def _algorithm_options(arguments: Arguments) -> Parameters:
    """Return the passed options, and refuse those that the algorithm does not take or that are missing."""
    name, options = arguments.algorithm, _options(arguments)
    accepted = _accepted(name)
    if arguments.stream:
        accepted |= dict.fromkeys(region_parameters(name), False)
    if arguments.unit is not None and not hasattr(ByPerson, name):
        hint = "it publishes groups or parts of rows: choose another algorithm, such as pcta"
        raise ParameterError(f"{name} does not take --unit", hint=hint)
    for option in [option for option in options if option not in accepted]:
        renamed = moved(option, parameters_of(algorithm(name))) if option == "refine" else None
        hint = renamed or _suggest_algorithms(option)
        raise ParameterError(f"{name} does not take {flag(option)}", hint=hint)
    if missing := [each for each in PARAMETERS if accepted.get(each) and each not in options]:
        what = f"{name} needs {', '.join(map(flag, missing))}"
        raise ParameterError(what, hint=f"'pdanon algorithms {name}' lists its options")
    if takes_guarantee(algorithm(name)):
        check_sensitive(options, spelled=flag, known=("l",))
    lists = ("item", "onehot", "prefix", "wide", "column")
    given = next((each for each in lists if getattr(arguments, each) is not None), None)
    if given and not of_lists(algorithm(name)):
        hint = f"leave out {flag(given)}, or choose an algorithm for both: {', '.join(functions('both'))}"
        raise ParameterError(f"{name} recodes no list column", where=flag(given), hint=hint)
    if "transaction" in accepted:  # one value for the parameters of the items
        items = {option: options.pop(option) for option in _OF_TRANSACTION if option in options}
        if items or "transaction" in options:
            options["transaction"] = Transaction(options.get("transaction", "pcta"), **items)
    return options


def _options(arguments: Arguments) -> Parameters:
    options = {option: value for option, value in vars(arguments).items() if option in PARAMETERS}
    return options | {option: dict(options[option]) for option in _PAIRS if option in options}


def _accepted(name: str) -> dict[str, bool]:
    """Return the parameters of an algorithm, also of its items, each with whether it is required."""
    own = text_parameters(name)
    more = ["labels"] * ALGORITHMS[name].publishes_sets + _OF_TRANSACTION * ("transaction" in own)
    return own | dict.fromkeys(more, False)


def _suggest_algorithms(option: str) -> str:
    names = [name for name in ALGORITHMS if is_run_by_command(name) and option in _accepted(name)]
    others = [name for name in ALGORITHMS if option in region_parameters(name) and name not in names]
    more = f"; with --stream also {', '.join(others)}" if others else ""
    return f"algorithms that take it: {', '.join(names) or 'none'}{more}"


def facts_of_algorithm(name: str) -> Facts:
    """Return the task of an algorithm, its guarantee (both from the docstring) and its parameters."""
    function = ALGORITHMS[name].function
    text = inspect.getdoc(function) or ""
    guarantee = " ".join(text.partition("Guarantee: ")[2].partition(".")[0].replace("`", "").split())
    by_command = is_run_by_command(name)
    options = [
        {
            "parameter": each,
            "option": flag(each) if each in PARAMETERS and by_command else None,
            "required": required,
        }
        for each, required in _accepted(name).items()
    ]
    does, _, _ = text.partition("\n")
    return {"name": name, "does": does, "guarantee": guarantee, "by_command": by_command, "options": options}


def describe(facts: Facts) -> str:
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


def summarize(facts: Facts) -> str:
    """Describe an algorithm in one line, from the facts of `facts_of_algorithm`."""
    return f"{facts['name']:<16} {facts['does']}"


def is_run_by_command(name: str) -> bool:
    """Whether options alone can call an algorithm. A policy and Python can call any."""
    return all(each in PARAMETERS for each, required in text_parameters(name).items() if required)
