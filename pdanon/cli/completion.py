"""Completion: the script by which a shell completes commands, options, names of algorithms and files."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

from pdanon.errors import ParameterError

__all__ = ["SHELLS", "PrintCompletion"]

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
