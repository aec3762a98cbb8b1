"""Requests: releases by the parameters of a guarantee, as in texts of the command line and of policies."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any, TypeAlias

from pdanon.algorithms.registry import (
    ALGORITHMS,
    algorithm,
    parameters_of,
    parameters_of_guarantee,
    takes_guarantee,
)
from pdanon.errors import ParameterError
from pdanon.guarantees import read_guarantee
from pdanon.guarantees.parameters import DEFAULT_M
from pdanon.guarantees.promises import requested_guarantee
from pdanon.guarantees.verdict import Guarantee

Parameters: TypeAlias = dict[str, Any]  # arguments by name

# Parameters of a request, besides the roles of columns.
REQUEST_PARAMETERS = (
    *("k", "m", "l", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("utility", "loss", "max_loss", "max_named", "time_limit", "random_state", "labels"),
)


def read_request(request: Mapping[str, Any], *, lists: bool = True) -> tuple[Guarantee, Parameters]:
    """Return the guarantee that a request has or describes, and its other parameters."""
    # ``lists`` tells whether there is a list column.
    own = signature(requested_guarantee).parameters
    asked = {name: value for name, value in request.items() if name in own}
    others = {name: value for name, value in request.items() if name not in own}
    if "guarantee" not in others:
        return requested_guarantee(**asked, lists=lists), others
    if asked:
        hint = f"leave out guarantee, or {', '.join(asked)}"
        raise ParameterError("the guarantee is given twice", where="guarantee", hint=hint)
    return read_guarantee(others.pop("guarantee"), None, None, DEFAULT_M)[0], others


def text_parameters(name: str) -> dict[str, bool]:
    """Return the parameters of an algorithm in texts, each with whether it is required."""
    # The parameters of its guarantees replace ``guarantee``.
    own = {each: known.default is known.empty for each, known in parameters_of(algorithm(name)).items()}
    if not takes_guarantee(algorithm(name)):
        return own
    promised = sorted(
        {each for kind in ALGORITHMS[name].guarantees for each in parameters_of_guarantee(kind)}
    )
    known = dict.fromkeys(["k", "m", *promised], False) | own | {"k": True}
    del known["guarantee"]
    return known


def read_named_request(name: str, request: Mapping[str, Any]) -> Parameters:
    """Return the arguments of an algorithm for its parameters in texts."""
    if not takes_guarantee(algorithm(name)) or "guarantee" in request:
        return dict(request)
    guarantee, others = read_request(request)
    return {"guarantee": guarantee, **others}
