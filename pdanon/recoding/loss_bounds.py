"""Upper bounds on the loss of a release, which is refused if it loses more."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import pandas as pd

from pdanon.errors import InfeasibleError, ParameterError
from pdanon.itemsets.validation import describe, find_name, is_number
from pdanon.recoding.loss import LOSSES

_HINT = "pass a dict of measures and their largest values, such as max_loss={'pairs': 0.5}"


def check_max_loss(max_loss: Any) -> dict[str, float]:
    """Check upper bounds on losses, and return them by the names of the measures."""
    if max_loss is None:
        return {}
    if not isinstance(max_loss, Mapping) or not max_loss:
        problem = "max_loss must be a mapping with at least one measure"
        raise ParameterError(problem, where="max_loss", got=describe(max_loss), hint=_HINT)
    found = {}
    for name, value in max_loss.items():
        measure = find_name(name, LOSSES, "measure of loss", where="max_loss")
        if not is_number(value) or not isfinite(value):
            problem = f"the bound of {measure} must be a finite number"
            raise ParameterError(problem, where="max_loss", got=describe(value), hint=_HINT)
        found[measure] = float(value)
    return found


def excess(loss: Mapping[str, float] | pd.Series[float], most: Mapping[str, float]) -> list[str]:
    """Return the measures whose bound a release exceeds; it must have these measures."""
    for name in most:
        if name not in loss:
            hint = f"this release has {', '.join(map(str, loss.keys()))}"
            raise ParameterError("the release has no such measure", where="max_loss", got=name, hint=hint)
    return [name for name, bound in most.items() if not float(loss[name]) <= bound]


def refuse_loss(
    loss: Mapping[str, float] | pd.Series[float],
    useless: str,
    most: Mapping[str, float],
    least: Mapping[str, float] | None = None,
) -> None:
    """Refuse a release that exceeds a bound, or is almost empty, if there are bounds.

    ``useless`` describes what is almost empty. ``least`` has the least values that were reached, if several
    releases were tried.
    """
    exceeded = excess(loss, most)
    hint = "call anonymize without an algorithm, which tries several"
    if least is not None:
        hint = "pass a smaller k or m"
    if exceeded:
        name = exceeded[0]
        got = f"{name}={float(loss[name]):.4g}"
        if least is not None:
            got += f"; the least that was reached is {least[name]:.4g}"
        problem = f"the release loses more than max_loss allows: {name} is above {most[name]:g}"
        raise InfeasibleError(problem, where="max_loss", got=got, hint=hint)
    if most and useless:
        problem = "the release keeps almost no information, which max_loss does not allow"
        raise InfeasibleError(problem, where="max_loss", got=useless, hint=hint)
