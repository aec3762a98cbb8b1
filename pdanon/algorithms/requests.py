"""Requests: releases of `anonymize` for parameters that name no guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from pdanon.guarantees.promises import requested_guarantee

# Parameters of a request, besides the roles of columns.
REQUEST_PARAMETERS = (
    *("k", "m", "l", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("utility", "loss", "max_loss", "max_named", "time_limit", "random_state", "labels"),
)


def split_request(request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the parameters of a request into those of `requested_guarantee`, and all others."""
    own = signature(requested_guarantee).parameters
    guarantee = {name: value for name, value in request.items() if name in own}
    return guarantee, {name: value for name, value in request.items() if name not in own}
