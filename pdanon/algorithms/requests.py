"""Requests: releases of `anonymize` for parameters that name no guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from pdanon.guarantees.promises import requested_guarantee
from pdanon.guarantees.verdict import Guarantee

# Parameters of a request, besides the roles of columns.
REQUEST_PARAMETERS = (
    *("k", "m", "l", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("utility", "loss", "max_loss", "max_named", "time_limit", "random_state", "labels"),
)


def read_request(request: Mapping[str, Any], *, lists: bool = True) -> tuple[Guarantee, dict[str, Any]]:
    """Return the guarantee that a request describes, and its other parameters.

    ``lists`` tells whether there is a list column.
    """
    own = signature(requested_guarantee).parameters
    asked = {name: value for name, value in request.items() if name in own}
    others = {name: value for name, value in request.items() if name not in own}
    return requested_guarantee(**asked, lists=lists), others
