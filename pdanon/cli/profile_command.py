"""Commands before a release: the profile of a table, and the loss and risk for each k and m."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

import pandas as pd

from pdanon.cli.checks import (
    check_files,
    check_form,
    form_of,
    form_options,
    inputs_of,
    outputs_of,
    read,
    read_options,
)
from pdanon.cli.options import algorithm_options, guarantee_options
from pdanon.cli.output import can_show_progress, print_plan, print_profile, print_tradeoff, stage
from pdanon.errors import ParameterError, mask_credentials
from pdanon.evaluation.plotting import tradeoff as draw_tradeoff
from pdanon.evaluation.profile import Profile, profile
from pdanon.evaluation.tradeoff import tradeoff
from pdanon.io.tables import write_plain, write_whole
from pdanon.itemsets.columns import find_column, label_positions

__all__ = ["run_profile", "run_tradeoff"]

_PANELS = ("below_k", "occurrences")  # panels of the picture: the remaining risk, and the loss
_PANEL = (5.0, 4.0)  # inches


def run_profile(arguments: argparse.Namespace) -> int:
    """Print a profile, and write its page if requested."""
    check_form(arguments)
    check_files(arguments)
    if arguments.dry_run:
        return print_plan(inputs_of(arguments), outputs_of(arguments).values())
    frame = read(arguments.source, arguments)
    if arguments.keep and not form_of(arguments).drops_columns:
        frame = _select_columns(frame, arguments.keep, arguments.column)
    with stage("counting"):
        look = _profile(frame, arguments, arguments.k, arguments.m)
    if arguments.report:
        with stage("writing"):
            look.report(arguments.report)
    print_profile(look)
    _print_written(arguments)
    return 0


def run_tradeoff(arguments: argparse.Namespace) -> int:
    """Make a release for each k and m, print the loss and the risk, and write the requested files."""
    check_form(arguments)
    options = guarantee_options(arguments) if arguments.algorithm is None else algorithm_options(arguments)
    check_files(arguments)
    if arguments.dry_run:
        return print_plan(inputs_of(arguments), outputs_of(arguments).values())
    if arguments.picture and find_spec("matplotlib") is None:  # fail before the work, not after it
        raise ParameterError("pictures need the package matplotlib", hint="pip install 'pdanon[plot]'")
    read_options(options, arguments)
    frame = read(arguments.source, arguments)
    has_bar = can_show_progress()
    with stage("making releases", announced=not has_bar):
        trials = tradeoff(frame, arguments.column, algorithm=arguments.algorithm, progress=has_bar, **options)
    with stage("writing"):
        _write_trials(trials, frame, arguments)
    print_tradeoff(trials)
    _print_written(arguments)
    return 0


def _write_trials(trials: pd.DataFrame, frame: pd.DataFrame, arguments: argparse.Namespace) -> None:
    """Write the requested table, picture and page: all or none."""
    files: dict[Path, Callable[[Path], object]] = {}
    if arguments.out:
        files[arguments.out] = partial(write_plain, trials)
    if arguments.picture:
        files[arguments.picture] = partial(_draw, trials)
    if arguments.report:
        look = _profile(frame, arguments, min(arguments.k), max(arguments.m))
        files[arguments.report] = partial(look.report, tradeoff=trials)
    write_whole(files, confidential=files, overwrite=arguments.overwrite)


def _profile(frame: pd.DataFrame, arguments: argparse.Namespace, k: int, m: int) -> Profile:
    """Return a profile whose hints are commands for a shell."""
    look = profile(frame, arguments.column, k=k, m=m)
    source = mask_credentials(str(arguments.source))
    source = " ".join(map(quote, [source, "OUT", *form_options(arguments)]))
    commands = [alert.command.replace("IN OUT", source, 1) for alert in look.alerts]
    alerts = [alert._replace(hint=command) for alert, command in zip(look.alerts, commands, strict=True)]
    return replace(look, alerts=tuple(alerts))


def _select_columns(frame: pd.DataFrame, keep: Sequence[str], column: str | None) -> pd.DataFrame:
    """Select the list column and the columns to describe."""
    places = {find_column(frame, column), *label_positions(frame, keep)}
    return frame.iloc[:, sorted(places)]


def _draw(trials: pd.DataFrame, path: Path) -> None:
    from matplotlib.figure import Figure

    width, height = _PANEL
    picture = Figure(figsize=(len(_PANELS) * width, height), layout="constrained")
    for ax, measure in zip(picture.subplots(1, len(_PANELS)), _PANELS, strict=True):
        draw_tradeoff(trials, measure=measure, ax=ax)
    picture.savefig(path)


def _print_written(arguments: argparse.Namespace) -> None:
    for name in ("out", "picture", "report"):
        if path := getattr(arguments, name, None):
            print(f"  {'written' if name == 'out' else name:<10} {path}")
