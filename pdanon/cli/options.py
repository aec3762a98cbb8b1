"""The parameters of algorithms as options, their texts, and the options that a command was called with.

The signature of an algorithm specifies its options. If the parameters of a new algorithm are among
``PARAMETERS``, it needs no code here.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pdanon.accessors import ByPerson
from pdanon.algorithms.registry import (
    ALGORITHMS,
    algorithm,
    functions,
    of_lists,
    parameters_of,
    region_parameters,
)
from pdanon.algorithms.rt.merging import MEASURES
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.errors import ParameterError, mask_credentials
from pdanon.evaluation.report.html import HEAD
from pdanon.guarantees.promises import REQUIRED, check_sensitive
from pdanon.io.files import suffix_of
from pdanon.io.lines import TYPES
from pdanon.io.tables import suffix_hint
from pdanon.itemsets.validation import is_uri
from pdanon.recoding.labels import LABELS
from pdanon.recoding.result import Anonymized

HINT = "\n  hint:  "


# --- Paths: files that a command reads or writes, and the place of a release


def is_table(path: str | Path) -> bool:
    """Whether the suffix of a file is that of a single table."""
    return suffix_of(path) in (".parquet", ".csv")


def table_file(text: str, *, written: bool = False) -> Path:
    """Parse the path of a table to read or write."""
    if is_uri(text):
        masked = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{masked!r} is a URI{HINT}copy the file to this machine first")
    if not is_table(text):
        hint = suffix_hint(text, written=written)
        more = f"{HINT}{hint}" if hint else ""
        raise argparse.ArgumentTypeError(f"{text!r} must end in .parquet or .csv{more}")
    return Path(text)


def rules_file(text: str) -> Path:
    """Parse the path of a file of rules to read."""
    return Path(text) if Path(text).suffix.lower() == ".toml" and not is_uri(text) else table_file(text)


def new(text: str) -> Path:
    """Parse the path of a file to write."""
    if is_uri(text):
        hint = "name a file on this machine; only the release is written to a URI"
        masked = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{masked!r} is a URI{HINT}{hint}")
    path = _in_a_directory(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a directory{HINT}name a file in it")
    return path


def release(text: str) -> Path | str:
    """Parse the path or URI of a release; `check_files` checks later whether it exists already."""
    return _in_a_directory(text) if not is_uri(text) else text


def _in_a_directory(text: str) -> Path:
    path = Path(text)
    if not path.absolute().parent.is_dir():
        hint = f"make {str(path.parent)!r} first"
        raise argparse.ArgumentTypeError(f"{text!r} is in a directory that does not exist{HINT}{hint}")
    return path


def new_table(text: str) -> Path:
    """Parse the path of a table to write."""
    if not is_uri(text):  # `new` reports a URI as a target that cannot be written
        table_file(text, written=True)
    return new(text)


def new_page(text: str) -> Path:
    """Parse the path of a page to write."""
    if Path(text).suffix.lower() != ".html":
        raise argparse.ArgumentTypeError(f"{text!r} must end in .html")
    return new(text)


def new_evidence(text: str) -> Path:
    """Parse the path of evidence to write: its JSON, beside which there is a page."""
    if Path(text).suffix not in (".json", ".html"):
        hint = "such as evidence.json; evidence.html is written beside it"
        raise argparse.ArgumentTypeError(f"{text!r} must end in .json or .html{HINT}{hint}")
    return new(text).with_suffix(".json")


def new_picture(text: str) -> Path:
    """Parse the path of a picture to write."""
    if Path(text).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .png, .svg or .pdf")
    return new(text)


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
        hint = f"{HINT}write a column and a file or a fan-out: --hierarchies city=cities.csv age=5"
        raise argparse.ArgumentTypeError(f"{text!r} is not a column with a hierarchy{hint}")
    return name, fanout_or_file(value)


def column_weight(text: str) -> tuple[str, float]:
    """Read a column and its weight."""
    return _named_number(text, "a column", "--quasi-weights age=1 sex=0.5")


def _named_number(text: str, what: str, example: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        hint = f"{HINT}write {what} and a number: {example}"
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} with a number{hint}") from None


def column_type(text: str) -> tuple[str, str]:
    """Read a column and its type."""
    name, mark, value = text.rpartition("=")
    if not mark or value not in TYPES:
        hint = f"{HINT}write a column and one of {', '.join(TYPES)}: --types age=integer visited=date"
        raise argparse.ArgumentTypeError(f"{text!r} is not a column with a type{hint}")
    return name, value


def bound(text: str) -> tuple[str, float]:
    """Read a measure and the largest value that it may have."""
    name, value = _named_number(text, "a measure", "--max-loss pairs=0.5")
    return name.strip(), value


def head_text(text: str) -> tuple[str, str]:
    """Read the name of a text of a head, and the text."""
    name, mark, value = text.partition("=")
    if not mark or name not in HEAD:
        hint = f"{HINT}write one of {', '.join(HEAD)}, and its text: --head title='Baskets of May'"
        raise argparse.ArgumentTypeError(f"{text!r} is not a text of a head{hint}")
    return name, value


# --- Parameters, with the names that they have in the library

KNOWN_HELP = "maximum number of items that the attacker knows"
QUASI_HELP = "quasi-identifiers: other columns that the attacker knows"

DEMANDS: dict[str, dict[str, Any]] = {
    "k": {"type": int, "help": "minimum number of rows that match the attacker's knowledge"},
    "m": {
        "type": items_known,
        "help": f"{KNOWN_HELP}; 'all': every item of a row (default: 2; of hghs, mhghs and with --rho: all)",
    },
    "constraints": {
        "type": table_file,
        "metavar": "FILE",
        "help": "protect only these itemsets: .csv without a header, one itemset per line and one item per "
        "field, or .parquet with one list column (not with -m)",
    },
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
    "rules": {
        "type": rules_file,
        "metavar": "FILE",
        "help": "rules from known to sensitive items: .csv with columns known,sensitive and items joined by "
        "';', .parquet with these list columns; or .toml with m and sensitive, for all rules up to a size "
        "(with -c, not with -m)",
    },
    "c": {
        "type": float,
        "help": "maximum share of the matching rows that contain the sensitive items of a rule, 0 to 1",
    },
    "p": {
        "type": int,
        "help": "maximum number of public items that the attacker knows; with cahd: a sensitive item is in "
        "at most 1/p of the rows of a group",
    },
    "quasi": {
        "nargs": "+",
        "action": "extend",
        "metavar": "COLUMN",
        "help": f"{QUASI_HELP}; without --algorithm, they are generalized as well",
    },
}
WAYS: dict[str, dict[str, Any]] = {
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
    "suppress": {
        "action": "store_true",
        "help": "suppress nodes of the hierarchy where that lowers the loss; with ps_rules: suppress "
        "sensitive items that are too frequent to be protected",
    },
    "time_limit": {"type": float, "metavar": "SECONDS", "help": "time limit of the search (default: 60)"},
    "random_state": {
        "type": int,
        "metavar": "SEED",
        "help": "seed of random draws (default: fixed)",
    },
}
OWN: dict[str, dict[str, Any]] = {  # of single algorithms
    "start": {
        "type": table_file,
        "metavar": "FILE",
        "help": "mapping of an earlier release of the same persons, .csv or .parquet: its sets only grow",
    },
    "max_cluster": {"type": int, "metavar": "ROWS", "help": "split clusters with more rows (default: 2 k)"},
    "safe": {
        "action": "store_true",
        "help": "ensure that no two items of different chunks must be in the same record",
    },
    "how": {"choices": ("tree", "sample"), "help": "split sets on all rows, or on a sample of them"},
    "sample": {"type": float, "metavar": "SHARE", "help": "share of the rows in a sample (default: 0.1)"},
    "parts": {"type": int, "metavar": "N", "help": "number of parts of the work"},
    "criterion": {
        "choices": ("mm/il", "mm", "1/il", "optimal"),
        "help": "criterion for the next item to suppress",
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
COLUMNS: dict[str, dict[str, Any]] = {  # of algorithms for quasi-identifiers
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
PARAMETERS = DEMANDS | WAYS | OWN | COLUMNS | UNMODIFIED
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
    if getattr(arguments, "unit", None) is not None and not hasattr(ByPerson, name):
        hint = "it publishes groups or parts of rows: choose another algorithm, such as pcta"
        raise ParameterError(f"{name} does not take --unit", hint=hint)
    for option in [option for option in options if option not in accepted]:
        raise ParameterError(f"{name} does not take {flag(option)}", hint=_suggest_algorithms(option))
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
        if each != "keep"  # which the command itself handles
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
