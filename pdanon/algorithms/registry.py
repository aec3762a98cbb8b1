"""All algorithms by name, whatever their family, and what each of them takes.

A family registers its records when it is imported. Whatever lists algorithms asks here when it needs them,
or watches: one that is registered later is found as well.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from pdanon import guarantees
from pdanon.errors import ParameterError
from pdanon.guarantees.parameters import DefaultNumber, materialize
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.columns import check_free, find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import check_known
from pdanon.recoding.decision import Decision, ListRows, relabel
from pdanon.recoding.labels import Labels, check_labels
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

__all__ = [
    "ALGORITHMS",
    "OF_LISTS",
    "Algorithm",
    "Recodes",
    "Way",
    "algorithm",
    "functions",
    "of_lists",
    "parameters_of",
    "register",
    "watch",
]

Recodes: TypeAlias = Literal["items", "rows", "groups", "chunks", "values", "both"]
OF_LISTS: tuple[Recodes, ...] = (
    "items",
    "rows",
    "groups",
    "chunks",
)  # what recodes a list column, and nothing else


@dataclass(frozen=True, slots=True)
class Way:
    """How `pdanon.anonymize` tries an algorithm, which it tells what the guarantee says and some more.

    Parameters
    ----------
    guarantee : type
        The guarantee for which it is tried.
    order : int
        Ways with a lower one are tried before: the cheapest first.
    options : mapping
        Parameters and their values.
    needs : str
        The parameter of `anonymize` that it cannot do without, if there is one.
    most : float
        For an algorithm with a time limit: the most seconds that it is given.
    """

    guarantee: type
    order: int
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    most: float = np.inf


@dataclass(frozen=True, eq=False, slots=True)
class Algorithm:
    """What is known of an algorithm.

    Parameters
    ----------
    function : callable
        The public function, by whose name the algorithm is known.
    guarantees : tuple of type
        What its releases may have: classes of `pdanon.guarantees`.
    recodes : {"items", "rows", "groups", "chunks", "values", "both"}
        What becomes of a list column: an item is recoded alike in the whole table; or equal rows are; or not
        even these; or rows are published in chunks, so that none is left. Or what is recoded instead:
        values of quasi-identifiers, or both.
    decide : callable, optional
        How it decides, if it recodes a list column and nothing else: ``decide(columns, report, k=...)``,
        with all parameters of the function but the frame, the column, ``labels``, ``keep`` and ``progress``.
    unit : str
        What ``decide`` reports: the name of a step.
    keeps_type : bool
        Whether items are released as they were or not at all, and not as text.
    repeats : bool
        Whether a row is published as a bag, in which a label may be several times.
    nodes : callable, optional
        How it generalizes the items of a cluster of rows: ``nodes(index, tree, leaves, k, m, report,
        **options)``, the node of each occurrence, -1 where it is suppressed. With it, or with ``sets``, it
        can be the ``transaction=`` of algorithms that recode both.
    sets : callable, optional
        How it merges the items of a cluster of rows: ``sets(index, blocks, spare, k, m, report)``, the set of
        each occurrence, -1 where it is suppressed.
    options : mapping
        What ``transaction=`` may be asked beyond k, m and the hierarchy, with what it is asked by default.
    form : callable, optional
        How it forms classes of rows. With it, it can be the ``cluster=`` of algorithms that recode both.
    ways : tuple of Way
        How `pdanon.anonymize` tries it. None for what never loses least.
    adds : tuple of str
        Columns that its releases have beyond those of the frame, which must not have them.
    """

    function: Callable[..., Anonymized]
    guarantees: tuple[type, ...]
    recodes: Recodes
    decide: Callable[..., Decision[ListRows]] | None = None
    unit: str = "steps"
    keeps_type: bool = False
    repeats: bool = False
    nodes: Callable[..., Codes] | None = None
    sets: Callable[..., Codes] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    form: Callable[..., Any] | None = None
    ways: tuple[Way, ...] = ()
    adds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    def release(
        self,
        frame: pd.DataFrame,
        column: Hashable | None,
        decide: partial[Decision[ListRows]],
        *,
        labels: Labels = "set",
        keep: Sequence[Hashable] = (),
        progress: bool = False,
    ) -> Anonymized:
        """Release a frame whose list column is recoded.

        Parameters
        ----------
        frame, column, labels, keep, progress
            Those of the function.
        decide : partial
            The decision with all other parameters of the function, which are recorded.
        """
        position, *private = find_columns(frame, column, decide.keywords.get("private"))
        check_free(frame, self.adds)
        columns = ListColumns.of(frame, [position, *private])
        writer = FrameWriter(frame, [position], private)
        return release(writer, partial(self.decision, columns, decide, labels, progress), keep)

    def decision(
        self,
        columns: ListColumns,
        decide: partial[Decision[ListRows]],
        labels: Labels = "set",
        progress: bool = False,
    ) -> Decision[ListRows]:
        """Decide for list columns, wherever their rows are; parameters as those of `release`."""
        given = {name: materialize(value) for name, value in decide.keywords.items()}
        names = check_labels(labels)
        with progress_bar(progress, self.name, self.unit) as report:
            decided = decide.func(*decide.args, columns, report, **given)
        if "labels" in parameters_of(self.function):
            given["labels"] = names
        decision = relabel(decided, names)
        return replace(decision, parameters={"algorithm": self.name, **_recorded(given, decision)})


def _recorded(given: Mapping[str, Any], decision: Decision[ListRows]) -> dict[str, Any]:
    """Return the parameters to record: numbers as the guarantee read them, none that was left out."""
    named = [name for name in ("k", "m", "p") if given.get(name) is not None]  # None: any number
    numbers = {name: getattr(decision.guarantee, name, given[name]) for name in named}
    known = {**given, **numbers, **decision.parameters}
    return {name: value for name, value in known.items() if not isinstance(value, DefaultNumber)}


# --- All algorithms by name, whatever their family, and what each of them takes


ALGORITHMS: dict[str, Algorithm] = {}

_Watcher = Callable[[Algorithm], object]
_WATCHERS: list[_Watcher] = []
_MODELS = {each for each in map(vars(guarantees).get, guarantees.__all__) if isinstance(each, type)}


# --- What is registered


def register(*records: Algorithm) -> None:
    """Make algorithms known: to accessors, the command line, policies, streams, Dask and one another.

    Parameters
    ----------
    *records : Algorithm
        What is known of each.

    Raises
    ------
    ParameterError
        If the name is taken, a guarantee is not one of `pdanon.guarantees`, what recodes a list column has
        no ``decide``, or the docstring does not describe a parameter.
    """
    for record in records:
        _check(record)
        ALGORITHMS[record.name] = record
        for watcher in _WATCHERS:
            watcher(record)


def watch(watcher: _Watcher) -> _Watcher:
    """Call a function, which this decorates, with each record: now, or when it is registered."""
    _WATCHERS.append(watcher)
    for record in ALGORITHMS.values():
        watcher(record)
    return watcher


def _check(record: Algorithm) -> None:
    if record.name in ALGORITHMS:
        raise ParameterError("there is an algorithm of that name", where="function", got=record.name)
    unknown = {*record.guarantees} - _MODELS or {way.guarantee for way in record.ways} - {*record.guarantees}
    if unknown:
        names = ", ".join(sorted(getattr(each, "__name__", repr(each)) for each in unknown))
        hint = "one of pdanon.guarantees; a way is to one of those of the algorithm"
        problem = f"{record.name} has an unknown guarantee"
        raise ParameterError(problem, where="guarantees", got=names, hint=hint)
    if record.recodes in OF_LISTS and record.decide is None:
        hint = "give the part of it that decides, which rows that are elsewhere need, too"
        raise ParameterError(f"{record.name} does not say how it decides", where="decide", hint=hint)
    described = _described(record)
    lacking = [name for name in inspect.signature(record.function).parameters if name not in described]
    if lacking and sys.flags.optimize < 2:  # 2 leaves no docstrings
        hint = "the section Parameters of the docstring has each, and what it is"
        problem = f"{record.name} does not describe its parameters"
        raise ParameterError(problem, where="function", got=", ".join(lacking), hint=hint)


def _described(record: Algorithm) -> set[str]:
    """The parameters that the docstring describes: a line with their names, then indented text."""
    text = inspect.getdoc(record.function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^(\w[\w, ]*?)(?: :.*)?\n +\S", section[1] if section else "", re.MULTILINE)
    return {name for entry in entries for name in entry.split(", ")}


# --- What is asked


def algorithm(name: Any) -> Callable[..., Anonymized]:
    """Look an algorithm up by its name.

    Parameters
    ----------
    name : str
        Its name, in any family.

    Returns
    -------
    callable

    Raises
    ------
    ParameterError
        If there is none of that name. The hint has the nearest one.
    """
    return ALGORITHMS[check_known(name, ALGORITHMS, "algorithm")].function


def functions(*recodes: str) -> dict[str, Callable[..., Anonymized]]:
    """The algorithms that recode in one of some ways, by name."""
    return {name: each.function for name, each in ALGORITHMS.items() if each.recodes in recodes}


def parameters_of(function: Callable[..., Anonymized]) -> dict[str, inspect.Parameter]:
    """The parameters of an algorithm by name, without the frame and the column."""
    parameters = inspect.signature(function).parameters
    return {name: each for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}


def of_lists(function: Callable[..., Anonymized]) -> bool:
    """Tell whether an algorithm works on a list column, which it then takes as ``column``."""
    return "column" in inspect.signature(function).parameters
