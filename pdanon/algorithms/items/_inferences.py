"""What the algorithms against inferences of sensitive items have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pdanon.algorithms.states.sensitive_rules import Demand
from pdanon.guarantees import RhoUncertainty
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.values import check_known

__all__ = ["Scope", "demand_of", "guaranteed"]

Scope: TypeAlias = Literal["all", "sensitive"]


def demand_of(
    guarantee: RhoUncertainty, itemsets: Itemsets, hidden: NDArray[np.bool_], scope: Scope
) -> Demand:
    """What must hold of rows of labels, of which some are sensitive; missing rows may stay missing."""
    check_known(scope, ("all", "sensitive"), "scope", where="scope")
    may_go = hidden if scope == "sensitive" else np.ones_like(hidden)
    return Demand(hidden, guarantee.rho, guarantee.m, itemsets.n_present, may_go)


def guaranteed(guarantee: RhoUncertainty, m: int | None) -> RhoUncertainty:
    """The guarantee, for as many known items as it is proven for."""
    return guarantee if guarantee.m == m else replace(guarantee, m=m)
