"""Configurations to be compared: algorithms with their parameters, checked before any of them runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from pdanon.algorithms.registry import algorithm, parameters_of
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.errors import ParameterError
from pdanon.itemsets.values import check_kind, check_known

__all__ = ["Task", "check_combinations", "list_tasks"]

_MOST = 100_000  # combinations of parameters


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """One configuration: an algorithm with its parameters, and what is shown of them."""

    label: str
    algorithm: str
    parameters: dict[str, Any]
    shown: dict[str, Any]


def list_tasks(
    configurations: Mapping[str, Mapping[str, Any]], vary: Mapping[str, Iterable[Any] | Mapping[str, Any]]
) -> list[Task]:
    """List every configuration, with every combination of the varied parameters.

    Parameters
    ----------
    configurations : mapping
        Parameters by the name of an algorithm, or by a label if they name the algorithm.
    vary : mapping
        Values by parameter; a mapping from names to values where a table could not show the values.

    Returns
    -------
    list of Task
        In the order given; the parameter that was named last varies fastest.

    Raises
    ------
    ParameterError
        If an algorithm or a parameter is not known, or a required one is lacking.
    """
    if not isinstance(configurations, Mapping) or not configurations:
        hint = 'such as {"pcta": {"k": 5}, "apriori": {"k": 5, "hierarchy": 5}}'
        got = type(configurations).__name__ if not isinstance(configurations, Mapping) else "no algorithm"
        raise ParameterError("give the parameters by algorithm", where="configurations", got=got, hint=hint)
    check_kind(vary, Mapping, "vary", "a dict of values by parameter")  # type: ignore[type-abstract]
    varied = {name: _choices(name, values) for name, values in vary.items()}
    check_combinations(len(configurations) * prod(map(len, varied.values())), "vary")
    tasks = []
    for label, given in configurations.items():
        if not isinstance(label, str) or not isinstance(given, Mapping):
            got = f"{type(label).__name__}: {type(given).__name__}"
            raise ParameterError("a configuration is a label and a dict", where="configurations", got=got)
        fixed = {name: value for name, value in given.items() if name != "algorithm"}
        name = given.get("algorithm", label)
        _check_names(name, label, fixed, vary)
        fixed = {key: list(value) if isinstance(value, Iterator) else value for key, value in fixed.items()}
        shown = {key: _shown(name, key, value) for key, value in fixed.items()}
        for combination in product(*(_named(name, key, choices) for key, choices in varied.items())):
            texts, values = zip(*combination, strict=True) if combination else ((), ())
            parameters = fixed | dict(zip(vary, values, strict=True))
            tasks.append(Task(label, name, parameters, shown | dict(zip(vary, texts, strict=True))))
    return tasks


def check_combinations(number: int, where: str) -> None:
    """Check that no more releases are requested than anybody waits for."""
    if number > _MOST:
        hint = f"vary fewer values at a time: up to {_MOST:,} combinations"
        raise ParameterError("there are too many combinations", where=where, got=f"{number:,}", hint=hint)


def _choices(key: str, values: Any) -> list[tuple[Any, Any]]:
    """The values of a varied parameter, each with its name; None if it has none."""
    if isinstance(values, Mapping):
        choices = list(values.items())
    elif isinstance(values, Iterable) and not isinstance(values, str):
        choices = [(None, value) for value in islice(values, _MOST + 1)]
    else:
        choices = []
    if not choices:
        raise ParameterError("a varied parameter needs a list of values", where=f"vary, {key}")
    return choices


def _named(name: str, key: str, choices: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The same, with what is shown of each in the place of its name."""
    if any(text is None and _is_hidden(name, key, value) for text, value in choices):
        hint = 'name each: {"fine": Hierarchy.of(...), "coarse": Hierarchy.of(...)}'
        raise ParameterError("these values cannot be told apart in a table", where=f"vary, {key}", hint=hint)
    return [(_shown(name, key, value) if text is None else str(text), value) for text, value in choices]


def _check_names(name: Any, label: str, fixed: Mapping[str, Any], vary: Mapping[str, Any]) -> None:
    accepted = {key: each for key, each in parameters_of(algorithm(name)).items() if key != "progress"}
    for key in (*fixed, *vary):
        check_known(key, accepted, f"parameter of {name}", where=f"configuration {label!r}")
    if fixed.keys() & vary.keys():
        got = ", ".join(sorted(fixed.keys() & vary.keys()))
        raise ParameterError(
            "a parameter is both fixed and varied", where=f"configuration {label!r}", got=got
        )
    lacking = [key for key, each in accepted.items() if each.default is each.empty]
    lacking = [key for key in lacking if key not in fixed and key not in vary]
    if lacking:
        got = f"no {', '.join(lacking)}"
        raise ParameterError(f"{name} lacks a parameter", where=f"configuration {label!r}", got=got)
    if isinstance(fixed.get("random_state"), (np.random.Generator, np.random.RandomState)):
        hint = "give an int: then each configuration can be run again"
        raise ParameterError(
            "a generator cannot be shared by configurations", where="random_state", hint=hint
        )


def _shown(name: str, key: str, value: Any) -> Any:
    """A number, or a word where the algorithm takes words; else only the type, for it may hold items."""
    if isinstance(value, Transaction):  # which shows no item
        return repr(value)
    if _is_hidden(name, key, value):
        return type(value).__name__
    return value.item() if isinstance(value, np.generic) else value


def _is_hidden(name: str, key: str, value: Any) -> bool:
    if isinstance(value, str):
        return not isinstance(parameters_of(algorithm(name))[key].default, str)
    return not (value is None or isinstance(value, (bool, int, float, np.number, np.bool_)))
