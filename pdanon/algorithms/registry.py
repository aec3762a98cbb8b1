"""All algorithms by name, whatever their family, and what each of them takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pdanon.algorithms.items import ALGORITHMS
from pdanon.algorithms.relational import RELATIONAL
from pdanon.algorithms.rt import RT
from pdanon.itemsets.values import check_known
from pdanon.recoding.result import Anonymized

__all__ = ["FAMILIES", "algorithm", "of_lists", "parameters_of"]

FAMILIES: tuple[dict[str, Callable[..., Anonymized]], ...] = (ALGORITHMS, RELATIONAL, RT)


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
    known = {known: function for family in FAMILIES for known, function in family.items()}
    return known[check_known(name, known, "algorithm")]


def parameters_of(function: Callable[..., Anonymized]) -> dict[str, inspect.Parameter]:
    """The parameters of an algorithm by name, without the frame and the column."""
    parameters = inspect.signature(function).parameters
    return {name: each for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}


def of_lists(function: Callable[..., Anonymized]) -> bool:
    """Tell whether an algorithm works on a list column, which it then takes as ``column``."""
    return "column" in inspect.signature(function).parameters
