"""Options of the command line: which there are, what each may be, and which an algorithm takes.

What an algorithm takes is read from its signature: a new one appears here without a line of code, as
long as its parameters are among ``PARAMETERS``.
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

__all__ = [
    "CONSTRAINTS_HELP",
    "DEMANDS",
    "KNOWN_HELP",
    "PARAMETERS",
    "PASSING",
    "RULES_HELP",
    "SHARE_HELP",
    "WAYS",
    "Parser",
    "described",
    "flag",
    "in_a_line",
    "is_run_by_command",
    "is_table",
    "new",
    "new_page",
    "new_picture",
    "new_table",
    "of_algorithm",
    "of_guarantee",
    "release",
    "table_file",
]


_HINT = "\n  hint:  "
_OF_COMMAND = ("keep", "progress")  # parameters that are the command's own

# What is asked for under a name that is another's, or in another way.
_ELSEWHERE = {
    "--drop": "with --by, only columns that --keep names are published; a policy has drop",
    "--quasi": "a policy protects columns beside the items, as quasi in [columns]: see 'pdanon run --help'",
}

# --- What each may be


def items_known(text: str) -> int | None:
    """A number of known items, or all of them."""
    if text != "all" and not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'all'")
    return None if text == "all" else int(text)


def fanout_or_file(text: str) -> int | Path:
    """A hierarchy: the fan-out of a balanced one, or its file."""
    return int(text) if text.isdecimal() else Path(text)


def is_table(text: str | Path) -> bool:
    """Tell whether a file can be a single table, by its suffix."""
    return Path(text).suffix.lower() in (".parquet", ".csv")


def table_file(text: str) -> Path:
    """A table to read or write."""
    if is_uri(text):
        shown = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{shown!r} is a URI{_HINT}copy the file to this machine first")
    if not is_table(text):
        hint = suffix_hint(text)
        more = f"{_HINT}{hint}" if hint else ""
        raise argparse.ArgumentTypeError(f"{text!r} must end in .parquet or .csv{more}")
    return Path(text)


def rules_file(text: str) -> Path:
    """A file of rules to read."""
    return Path(text) if Path(text).suffix.lower() == ".toml" and not is_uri(text) else table_file(text)


def new(text: str) -> Path:
    """A file to write."""
    path = release(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a directory{_HINT}name a file in it")
    return path


def release(text: str) -> Path:
    """A file or, with --stream, a directory to write: whether there is one already is asked later."""
    if is_uri(text):
        hint = "name a file on this machine, and copy it when it is complete"
        shown = mask_credentials(text)
        raise argparse.ArgumentTypeError(f"{shown!r} is a URI, and nothing is written there{_HINT}{hint}")
    path = Path(text)
    if not path.absolute().parent.is_dir():
        hint = f"make {str(path.parent)!r} first"
        raise argparse.ArgumentTypeError(f"{text!r} is in a directory that does not exist{_HINT}{hint}")
    return path


def new_table(text: str) -> Path:
    """A table to write."""
    if not is_uri(text):  # which is told as what cannot be written
        table_file(text)
    return new(text)


def new_page(text: str) -> Path:
    """A page to write."""
    if Path(text).suffix.lower() != ".html":
        raise argparse.ArgumentTypeError(f"{text!r} must end in .html")
    return new(text)


def new_picture(text: str) -> Path:
    """A picture to write."""
    if Path(text).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise argparse.ArgumentTypeError(f"{text!r} must end in .png, .svg or .pdf")
    return new(text)


# --- The parameters of algorithms that are options, spelled as in the library

KNOWN_HELP = "most items that the attacker knows; 'all': every item of a row"
CONSTRAINTS_HELP = (
    "protect these itemsets only: .csv without a header, an itemset a line and an item a field, or .parquet "
    "with one list column"
)

RULES_HELP = (
    "rules from what may be known to what must not be inferred: .csv with columns known,sensitive and items "
    "joined by ';', .parquet with such list columns, or .toml with m and sensitive, for all of a size"
)
SHARE_HELP = "largest share of matching rows that may hold what must not be inferred, between 0 and 1"

DEMANDS: dict[str, dict[str, Any]] = {
    "k": {"type": int, "help": "least number of rows that an attacker's knowledge must match"},
    "m": {"type": items_known, "help": f"{KNOWN_HELP} (default: 2; of hghs, mhghs and with --rho: all)"},
    "constraints": {"type": table_file, "metavar": "FILE", "help": CONSTRAINTS_HELP},
    "sensitive": {
        "nargs": "+",
        "metavar": "ITEM",
        "help": "items that nobody is to learn: published as they are with -l, as they are or not at all "
        "with --rho, as counts of groups with -p",
    },
    "rho": {
        "type": float,
        "help": "largest share of the rows with some items that may hold a sensitive one besides, above "
        "0 and below 1",
    },
    "l": {"type": int, "help": "of the rows that match, a sensitive item is in at most 1/l"},
    "private": {"metavar": "NAME", "help": "a second list column, whose items are private"},
    "h": {"type": float, "help": "largest share of matching rows in which a private item may be, 0 to 1"},
    "rules": {"type": rules_file, "metavar": "FILE", "help": RULES_HELP},
    "c": {"type": float, "help": SHARE_HELP},
    "p": {
        "type": int,
        "help": "most public items that the attacker knows; of cahd: a sensitive item is in at most 1/p of "
        "the rows of a group",
    },
}
WAYS: dict[str, dict[str, Any]] = {
    "hierarchy": {
        "type": fanout_or_file,
        "metavar": "FILE|FANOUT",
        "help": "taxonomy of the items, a CSV file of rows leaf;parent;...;root, or the fan-out of a "
        "balanced one over the items in order",
    },
    "weights": {
        "type": table_file,
        "metavar": "FILE",
        "help": "importance of items, 0 to 1: .csv or .parquet with columns item,weight",
    },
    "labels": {
        "choices": LABELS,
        "help": "what sets are called: (a,b), G017 or a +1 (default: set)",
    },
    "refine": {
        "action": argparse.BooleanOptionalAction,
        "help": "move items between the sets afterwards, to lose less; let clusters share chunks",
    },
    "max_cluster": {
        "type": int,
        "metavar": "ROWS",
        "help": "clusters of more rows are split (default: 2 k)",
    },
    "safe": {
        "action": "store_true",
        "help": "see to it that no two items of different chunks must be in the same record",
    },
    "suppress": {
        "action": "store_true",
        "help": "suppress nodes of the hierarchy where that loses less; of ps_rules: sensitive items that "
        "are too frequent to be protected",
    },
    "how": {"choices": ("tree", "sample"), "help": "part sets on all rows, or on a sample of them"},
    "sample": {"type": float, "metavar": "SHARE", "help": "share of the rows in a sample (default: 0.1)"},
    "random_state": {"type": int, "metavar": "SEED", "help": "seed of what is drawn at random"},
    "time_limit": {
        "type": float,
        "metavar": "SECONDS",
        "help": "when to end the search (default: 60)",
    },
    "parts": {"type": int, "metavar": "N", "help": "in how many parts the work is done"},
    "criterion": {"choices": ("mm/il", "mm", "1/il"), "help": "which item to suppress next"},
    "loss": {
        "metavar": "NAME",
        "help": "without --algorithm: what is to be least, such as ncp, occurrences, singles or pairs "
        "(default: NCP); of coherence: what suppressing an item costs, support or unit",
    },
    "scope": {"choices": ["all", "sensitive"], "help": "with --rho: which items may be suppressed"},
    "r": {"type": int, "help": "how many groups are examined for each row"},
    "score": {"choices": ["increase", "total"], "help": "which distortion of a group is to be least"},
    "lookahead": {
        "type": int,
        "metavar": "N",
        "help": "how many of the following rows are compared for a place in a group",
    },
    "order": {"choices": ["nn", "gray", "rcm"], "help": "among which rows those of a group are searched"},
    "alpha": {"type": int, "metavar": "N", "help": "a row looks at N * p neighbours on each side"},
}
PASSING: dict[str, dict[str, Any]] = {  # which all algorithms take
    "keep": {
        "nargs": "+",
        "action": "extend",
        "metavar": "COLUMN",
        "help": "columns that may be published as they are: no warning is about them",
    },
}
PARAMETERS = DEMANDS | WAYS | PASSING
_OF_GUARANTEES = (  # what may be said without an algorithm
    *("k", "m", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("hierarchy", "loss", "time_limit", "labels", "keep"),
)


def flag(parameter: str) -> str:
    """How a parameter is spelled as an option."""
    # -h asks for help.
    if len(parameter) == 1 and parameter != "h":
        return f"-{parameter}"
    return f"--{parameter.replace('_', '-')}"


# --- What was given


def of_guarantee(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, if they say what must hold and not how."""
    given = _given(arguments)
    for option in given:
        if option not in _OF_GUARANTEES:
            raise ParameterError(f"{flag(option)} needs --algorithm", hint=_having(option))
    if not LEAST & given.keys():
        hint = "such as -k 5 -m 2, or --rho or -p with --sensitive; or name an --algorithm"
        raise ParameterError("-k is needed", hint=hint)
    check_asked(given, spelled=flag)
    return given


def of_algorithm(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, if they are the algorithm's and none is lacking."""
    name, given = arguments.algorithm, _given(arguments)
    accepted, required = parameters_of(algorithm(name)), _required(algorithm(name))
    for option in [option for option in given if option not in accepted]:
        raise ParameterError(f"{name} does not take {flag(option)}", hint=_having(option))
    if required - PARAMETERS.keys():
        only = ", ".join(sorted(required - PARAMETERS.keys()))
        hint = f"write a policy, or call pdanon.{name} from Python"
        raise ParameterError(f"{name} needs {only}, which is no option of the command line", hint=hint)
    if required - given.keys():
        flags = ", ".join(flag(option) for option in PARAMETERS if option in required - given.keys())
        raise ParameterError(f"{name} needs {flags}", hint=f"'pdanon algorithms {name}' tells what it takes")
    return given


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    return {option: value for option, value in vars(arguments).items() if option in PARAMETERS}


def _required(function: Callable[..., Anonymized]) -> set[str]:
    accepted = parameters_of(function)
    return {option for option, parameter in accepted.items() if parameter.default is parameter.empty}


def _having(option: str) -> str:
    having = [name for name, function in functions(*OF_LISTS).items() if option in parameters_of(function)]
    return f"algorithms that do: {', '.join(having) or 'none'}"


def described(name: str, function: Callable[..., Anonymized]) -> str:
    """An algorithm in a few lines: what it does, its guarantee (as its docstring has it) and its options."""
    text = inspect.getdoc(function) or ""
    guarantee = " ".join(text.partition("Guarantee: ")[2].partition(".")[0].replace("`", "").split())
    accepted, required = parameters_of(function), _required(function)
    options = [option for option in accepted if option in DEMANDS | WAYS and is_run_by_command(name)]
    others = [option for option in accepted if option not in (*options, *_OF_COMMAND)]
    shown = [flag(option) if option in required else f"[{flag(option)}]" for option in options]
    does, _, _ = text.partition("\n")
    lines = [
        name,
        f"  does       {does}",
        f"  guarantee  {guarantee}",
        f"  options    {' '.join(shown) or 'none'}",
    ]
    if others:
        named = ", ".join(each if each in required else f"[{each}]" for each in others)
        lines.append(f"  elsewhere  {named}: in a policy or Python")
    return "\n".join(lines)


def is_run_by_command(name: str) -> bool:
    """Tell whether an algorithm can be called by options alone; a policy, and Python, can call any."""
    record = ALGORITHMS[name]
    return record.recodes in OF_LISTS and _required(record.function) <= PARAMETERS.keys()


def in_a_line(name: str, function: Callable[..., Anonymized]) -> str:
    """An algorithm in a line: what it does."""
    does, _, _ = (inspect.getdoc(function) or "").partition("\n")
    return f"{name:<16} {does}"


class Parser(argparse.ArgumentParser):
    """A parser that reports wrong usage as the library reports wrong parameters."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse here what nobody knows, where the options are known that it may have meant."""
        self._words = list(sys.argv[1:] if args is None else args)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, in place of a page of usage."""
        if "arguments are required" in message and (unknown := self._unknown()):
            message = f"unrecognized arguments: {unknown}"
        hint = "" if _HINT in message else f"{_HINT}{self._meant(message) or f'{self.prog} --help'}"
        self.exit(2, escape_controls(mask_credentials(f"pdanon: error: {message}{hint}\n")))

    def _unknown(self) -> str | None:
        """An option that nobody knows: what lacks may be a value of it."""
        options = [word.partition("=")[0] for word in self._words if word.startswith("--") and word != "--"]
        return next((each for each in options if each not in self._option_string_actions), None)

    def _meant(self, message: str) -> str | None:
        """The nearest of what is known, for an option or a name that is not."""
        _, choice, name = message.partition("invalid choice: '")
        if choice:
            if (asked := name.partition("'")[0]) in ALGORITHMS:
                return (
                    f"{asked} protects columns beside the items: a policy names it, see 'pdanon run --help'"
                )
            chosen = [list(action.choices) for action in self._actions if action.choices is not None]
            return did_you_mean(asked, [str(each) for each in chain.from_iterable(chosen)])
        _, _, unknown = message.partition("unrecognized arguments: ")
        options = [word for word in unknown.split() if word.startswith("--")]
        if options and options[0] in _ELSEWHERE:
            return _ELSEWHERE[options[0]]
        return did_you_mean(options[0].partition("=")[0], self._option_string_actions) if options else None
