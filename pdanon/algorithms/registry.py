"""All algorithms by name, whatever their family, and what each of them takes.

A family registers its records when it is imported. Whatever lists algorithms asks here when it needs them,
or watches: one that is registered later is found as well.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

from pdanon import guarantees
from pdanon.algorithms.record import OF_LISTS, Algorithm
from pdanon.errors import ParameterError
from pdanon.itemsets.values import check_known
from pdanon.recoding.result import Anonymized

__all__ = ["ALGORITHMS", "algorithm", "functions", "of_lists", "parameters_of", "register", "watch"]

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
