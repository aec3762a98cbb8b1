"""Requests: releases of `anonymize` for parameters that name no guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import pandas as pd

from pdanon.algorithms.choice import anonymize
from pdanon.guarantees.requested import requested_guarantee
from pdanon.itemsets.columns import is_list_column
from pdanon.recoding.result import Anonymized

# Parameters of a request, besides the roles of columns.
REQUEST_PARAMETERS = (
    *("k", "m", "l", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("utility", "loss", "max_loss", "max_named", "time_limit", "random_state", "labels"),
)


def least_lossy(frame: pd.DataFrame, column: str | None = None, **request: Any) -> Anonymized:
    """Return the release of `pdanon.anonymize` for the parameters of `requested_guarantee`, and its own."""
    lists = column is not None or request.get("item") is not None
    lists = lists or any(is_list_column(frame.iloc[:, i]) for i in range(frame.shape[1]))
    guarantee, options = split_request(request)
    return anonymize(frame, requested_guarantee(**guarantee, lists=lists), column, **options)


def split_request(request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the parameters of a request into those of `requested_guarantee`, and all others."""
    own = signature(requested_guarantee).parameters
    guarantee = {name: value for name, value in request.items() if name in own}
    return guarantee, {name: value for name, value in request.items() if name not in own}
