"""Completion of commands, options and files in a shell."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

from pdanon.errors import ParameterError

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
