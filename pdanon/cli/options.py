"""Options of the command line, their types, and the options that each algorithm takes.

The signature of an algorithm specifies its options. If the parameters of a new algorithm are among
``PARAMETERS``, it needs no code here.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from pdanon.algorithms.registry import ALGORITHMS, OF_LISTS, algorithm, functions, parameters_of
from pdanon.algorithms.request import LEAST, check_asked
from pdanon.errors import ParameterError, did_you_mean, escape_controls, mask_credentials
from pdanon.io.tables import suffix_hint
from pdanon.itemsets.validation import is_uri
from pdanon.recoding.labels import LABELS
from pdanon.recoding.result import Anonymized

_HINT = "\n  hint:  "
_OF_COMMAND = ("keep", "progress")  # parameters that the command itself handles

# Hints for options that do not exist here, because another option or a policy has their task.
_ELSEWHERE = {
    "--drop": "pass --keep for the columns to publish with --by, or write a policy, which has drop",
    "--quasi": "write a policy with the columns as quasi in [columns]: see 'pdanon run --help'",
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


def is_table(text: str | Path) -> bool:
    """Whether the suffix of a file is that of a single table."""
    return Path(text).suffix.lower() in (".parquet", ".csv")


def table_file(text: str) -> Path:
    """Parse the path of a table to read or write."""
    if is_uri(text):
        masked = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{masked!r} is a URI{_HINT}copy the file to this machine first")
    if not is_table(text):
        hint = suffix_hint(text)
        more = f"{_HINT}{hint}" if hint else ""
        raise argparse.ArgumentTypeError(f"{text!r} must end in .parquet or .csv{more}")
    return Path(text)


def rules_file(text: str) -> Path:
    """Parse the path of a file of rules to read."""
    return Path(text) if Path(text).suffix.lower() == ".toml" and not is_uri(text) else table_file(text)


def new(text: str) -> Path:
    """Parse the path of a file to write."""
    path = release(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a directory{_HINT}name a file in it")
    return path


def release(text: str) -> Path:
    """Parse the path of a release: a file or, with --stream, a directory.

    Whether it exists already is checked later, by `check_files`.
    """
    if is_uri(text):
        hint = "name a file on this machine, and copy it when it is complete"
        masked = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{masked!r} is a URI, and nothing is written there{_HINT}{hint}")
    path = Path(text)
    if not path.absolute().parent.is_dir():
        hint = f"make {str(path.parent)!r} first"
        raise argparse.ArgumentTypeError(f"{text!r} is in a directory that does not exist{_HINT}{hint}")
    return path


def new_table(text: str) -> Path:
    """Parse the path of a table to write."""
    if not is_uri(text):  # `new` reports a URI as a target that cannot be written
        table_file(text)
    return new(text)


def new_page(text: str) -> Path:
    """Parse the path of a page to write."""
    if Path(text).suffix.lower() != ".html":
        raise argparse.ArgumentTypeError(f"{text!r} must end in .html")
    return new(text)


def new_picture(text: str) -> Path:
    """Parse the path of a picture to write."""
    if Path(text).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .png, .svg or .pdf")
    return new(text)


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
    "criterion": {"choices": ("mm/il", "mm", "1/il"), "help": "criterion for the next item to suppress"},
    "loss": {
        "metavar": "NAME",
        "help": "without --algorithm: the loss to minimize, such as ncp, occurrences, singles or pairs "
        "(default: NCP); with coherence: the cost of suppressing an item, support or unit",
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
UNMODIFIED: dict[str, dict[str, Any]] = {  # all algorithms take these
    "keep": {
        "nargs": "+",
        "action": "extend",
        "metavar": "COLUMN",
        "help": "columns to publish as they are, without a warning",
    },
}
PARAMETERS = DEMANDS | WAYS | UNMODIFIED
_OF_GUARANTEES = (  # options that need no --algorithm
    *("k", "m", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("hierarchy", "loss", "time_limit", "labels", "keep"),
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
    if not LEAST & options.keys():
        hint = "such as -k 5 -m 2, or --rho or -p with --sensitive; or name an --algorithm"
        raise ParameterError("-k is needed", hint=hint)
    check_asked(options, spelled=flag)
    return options


def algorithm_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the passed options, and refuse those that the algorithm does not take or that are missing."""
    name, options = arguments.algorithm, _options(arguments)
    accepted, required = parameters_of(algorithm(name)), _required(algorithm(name))
    for option in [option for option in options if option not in accepted]:
        raise ParameterError(f"{name} does not take {flag(option)}", hint=_suggest_algorithms(option))
    if required - PARAMETERS.keys():
        only = ", ".join(sorted(required - PARAMETERS.keys()))
        hint = f"write a policy, or call pdanon.{name} from Python"
        raise ParameterError(f"{name} needs {only}, which is no option of the command line", hint=hint)
    if required - options.keys():
        flags = ", ".join(flag(option) for option in PARAMETERS if option in required - options.keys())
        raise ParameterError(f"{name} needs {flags}", hint=f"'pdanon algorithms {name}' lists its options")
    return options


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    return {option: value for option, value in vars(arguments).items() if option in PARAMETERS}


def _required(function: Callable[..., Anonymized]) -> set[str]:
    accepted = parameters_of(function)
    return {option for option, parameter in accepted.items() if parameter.default is parameter.empty}


def _suggest_algorithms(option: str) -> str:
    names = [name for name, function in functions(*OF_LISTS).items() if option in parameters_of(function)]
    return f"algorithms that take it: {', '.join(names) or 'none'}"


def describe(name: str, function: Callable[..., Anonymized]) -> str:
    """Describe an algorithm in a few lines: its task, its guarantee (from the docstring) and its options."""
    text = inspect.getdoc(function) or ""
    guarantee = " ".join(text.partition("Guarantee: ")[2].partition(".")[0].replace("`", "").split())
    accepted, required = parameters_of(function), _required(function)
    options = [option for option in accepted if option in DEMANDS | WAYS and is_run_by_command(name)]
    others = [option for option in accepted if option not in (*options, *_OF_COMMAND)]
    flags = [flag(option) if option in required else f"[{flag(option)}]" for option in options]
    does, _, _ = text.partition("\n")
    lines = [
        name,
        f"  does       {does}",
        f"  guarantee  {guarantee}",
        f"  options    {' '.join(flags) or 'none'}",
    ]
    if others:
        names = ", ".join(each if each in required else f"[{each}]" for each in others)
        lines.append(f"  elsewhere  {names}: in a policy or Python")
    return "\n".join(lines)


def is_run_by_command(name: str) -> bool:
    """Whether options alone can call an algorithm. A policy and Python can call any."""
    record = ALGORITHMS[name]
    return record.recodes in OF_LISTS and _required(record.function) <= PARAMETERS.keys()


def summarize(name: str, function: Callable[..., Anonymized]) -> str:
    """Describe an algorithm in one line."""
    does, _, _ = (inspect.getdoc(function) or "").partition("\n")
    return f"{name:<16} {does}"


class Parser(argparse.ArgumentParser):
    """A parser that reports wrong usage in the form of a `ParameterError`."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown arguments in the parser of the command, which knows similar options."""
        self._words = list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the error and a hint instead of the usage."""
        if "arguments are required" in message and (unknown := self._unknown()):
            message = f"unrecognized arguments: {unknown}"
        hint = "" if _HINT in message else f"{_HINT}{self._suggest(message) or f'{self.prog} --help'}"
        self.exit(2, escape_controls(mask_credentials(f"pdanon: error: {message}{hint}\n")))

    def _unknown(self) -> str | None:
        """Return an unknown option: the missing argument may be its value."""
        options = [word.partition("=")[0] for word in self._words if word.startswith("--") and word != "--"]
        return next((each for each in options if each not in self._option_string_actions), None)

    def _suggest(self, message: str) -> str | None:
        """Return a hint for an unknown option or name, such as the most similar one."""
        _, choice, name = message.partition("invalid choice: '")
        if choice:
            if (wrong := name.partition("'")[0]) in ALGORITHMS:
                return f"{wrong} protects other columns too: name it in a policy, see 'pdanon run --help'"
            choices = [list(action.choices) for action in self._actions if action.choices is not None]
            return did_you_mean(wrong, [str(each) for each in chain.from_iterable(choices)])
        _, _, unknown = message.partition("unrecognized arguments: ")
        options = [word for word in unknown.split() if word.startswith("--")]
        if options and options[0] in _ELSEWHERE:
            return _ELSEWHERE[options[0]]
        return did_you_mean(options[0].partition("=")[0], self._option_string_actions) if options else None
