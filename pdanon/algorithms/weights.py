"""Weights and losses of items, as integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, item_array
from pdanon.itemsets.lists import Floats
from pdanon.itemsets.validation import describe, is_number, list_first

WeightsLike: TypeAlias = "Mapping[Any, float] | pd.Series[float]"  # by item

WEIGHT_STEPS = 2**16 - 1  # weights are compared as integers: the number of steps from 0 to 1
MOST_LOSS = 10**9


def item_weights(weights: Any, itemsets: Itemsets) -> Numbers | None:
    """Encode the importance of items as ``round(weight * 65535)``; None without weights."""
    # Items that are not listed have weight 1.
    if weights is None:
        return None
    if not isinstance(weights, (Mapping, pd.Series)):
        hint = "pass a dict or a Series: item -> importance in [0, 1]"
        raise ParameterError("weights must map items to numbers", got=type(weights).__name__, hint=hint)
    values = np.array([_weight(value) for _, value in weights.items()])
    codes = _item_codes(weights.keys(), itemsets, "weights")
    steps = np.full(itemsets.n_items, WEIGHT_STEPS, np.int64)
    steps[codes] = np.round(values * WEIGHT_STEPS).astype(np.int64)
    return steps


def importance(weights: Any, itemsets: Itemsets) -> Floats | None:
    """Return the importance of each item in [0, 1], in the steps of `item_weights`; None without weights."""
    steps = item_weights(weights, itemsets)
    return None if steps is None else steps / WEIGHT_STEPS


def check_price(price: Any, above: int = 0) -> float:
    """Check the price of a deletion: a number above 0, or above another one."""
    if not is_number(price) or not above < price < MOST_LOSS:
        what = f"deletion_price must be a number above {above} and below {MOST_LOSS:,}"
        hint = "pass deletion_price=5, or None"
        raise ParameterError(what, where="deletion_price", got=describe(price), hint=hint)
    return float(price)


def _weight(value: Any) -> float:
    if not is_number(value) or not 0 <= value <= 1:
        raise ParameterError("weights must be numbers in [0, 1]", where="weights", got=describe(value))
    return float(value)


def _item_codes(items: Iterable[Any], itemsets: Itemsets, name: str) -> Codes:
    codes = itemsets.lookup(item_array(items, name))
    unknown, where = np.flatnonzero(codes < 0), name
    problem = f"{len(codes) - len(np.unique(codes))} of {len(codes)} {name} repeat an item"
    if len(unknown):
        problem = f"{len(unknown)} of {len(codes)} {name} name items that do not occur in the data"
        where = f"{name}, position {list_first(unknown)}"
    elif len(np.unique(codes)) == len(codes):
        return codes
    raise ParameterError(problem, where=where, hint="check spelling and type of the items")


def item_losses(loss: Any, itemsets: Itemsets, supports: Numbers, public: Mask) -> tuple[Numbers, int]:
    """Encode the losses of suppressing items as integers, in a unit; also return the units in a loss of 1."""
    # The loss is "support", the number of rows with the item; "unit", 1; or a number from 0 by item. The
    # items of the data have the first numbers. ``public`` masks the items that can be suppressed.
    if isinstance(loss, str) and loss in ("support", "unit"):
        return (supports if loss == "support" else np.ones_like(supports)), 1
    if not isinstance(loss, (Mapping, pd.Series)):
        hint = "pass 'support', 'unit', or a dict or a Series: item -> loss"
        raise ParameterError("loss has an unknown form", where="loss", got=type(loss).__name__, hint=hint)
    given = [_loss(value) for _, value in loss.items()]
    unit = 1 if all(value.denominator == 1 for value in given) else 10**6
    codes = _item_codes(loss.keys(), itemsets, "losses")
    losses = np.zeros(len(supports), np.int64)
    losses[codes] = [round(value * unit) for value in given]  # fractions: no rounding before this
    missing = int(public.sum() - public[codes].sum())
    if missing:
        hint = "pass the loss of suppressing each public item"
        raise ParameterError("loss lacks public items", where="loss", got=f"{missing} items", hint=hint)
    return losses, unit


def _loss(value: Any) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)) or not 0 <= value < MOST_LOSS:
        what = f"a loss must be a number from 0 to below {MOST_LOSS:,}"
        raise ParameterError(what, where="loss", got=describe(value))
    return Fraction(value)
