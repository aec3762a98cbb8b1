"""Losses by which the releases for a guarantee are compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import hypot, isfinite
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.states.sets_search import balanced_loss
from pdanon.errors import ParameterError
from pdanon.guarantees import (
    Coherence,
    DisassociatedKm,
    KAnonymity,
    KKm,
    KLm,
    KmAnonymity,
    LmDiversity,
    PrivacyConstraints,
    PSRules,
    PublicK,
    RhoUncertainty,
    SensitiveGroups,
    TransactionalK,
)
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.mapping import is_kept
from pdanon.itemsets.validation import describe, find_name, is_number
from pdanon.recoding.loss import count_pairs, sampling_error
from pdanon.recoding.result import Anonymized, recoded_lists

Measure: TypeAlias = Callable[[Anonymized], float]  # returns a loss


def _labels_of_items(result: Anonymized) -> tuple[pd.DataFrame, int]:
    """Return the mapping with one line per item and label, in any group of rows, and the number of items."""
    mapping = result.mapping
    if (mapping["group"] == 0).all():
        return mapping, len(mapping)
    lines = mapping.groupby(["item", "generalized"], sort=False, dropna=False, observed=True)
    mapping = lines["support"].sum().reset_index()
    return mapping, mapping["item"].nunique()


def _of_items(result: Anonymized, *, base: int) -> float:
    """Return NCP (base 0) or LM (base 1) over the items that occur, the same for sets and nodes."""
    mapping, n_items = _labels_of_items(result)
    sizes = mapping.groupby("generalized")["item"].transform("size").fillna(n_items).to_numpy(np.int64)
    # In integers up to the division, so that releases of equal loss compare equal.
    costs = np.where(is_kept(mapping), 0, sizes - base)
    supports = mapping["support"].to_numpy()
    most = max(n_items - base, 1) * int(supports.sum())
    return float(int(costs @ supports) / most) if most else 0.0


def _balanced(result: Anonymized) -> float:
    """Return the balanced loss over the items that occur, the same for sets and nodes."""
    mapping, n_items = _labels_of_items(result)
    labels, supports = pd.factorize(mapping["generalized"])[0], mapping["support"].to_numpy(np.int64)
    return balanced_loss(labels, supports, ~is_kept(mapping).to_numpy(np.bool_), n_items)


def _mean(*names: str) -> Measure:
    """Return the mean of losses of a result."""
    return lambda result: float(sum(result.loss[name] for name in names) / len(names))


def _by_name(*names: str) -> dict[str, Measure]:
    """Return losses of a result by their names."""
    return {name: _mean(name) for name in names}


def counts_error(frame: pd.DataFrame, result: Anonymized) -> float:
    """Return the standard error of the loss "counts" of a result, whose two errors are estimated."""
    # That of pairs is as large as if all were drawn from the list column with the most pairs.
    lists = (Itemsets.from_series(frame[label]) for label in recoded_lists(result))
    n_pairs = max(int(count_pairs(each).sum()) for each in lists)
    populations = {"pairs": n_pairs, "values": len(frame)}
    return hypot(*(sampling_error(result.loss[name], n) for name, n in populations.items())) / 2


def _loss_of_caller(loss: Any, frame: pd.DataFrame) -> Measure:
    """Return the loss of a result by a function of the frame and the result, or by a workload."""
    measure = getattr(loss, "are", loss)
    if not callable(measure):
        hint = "pass a name, a pdanon.Workload, or a function of the frame and the result"
        problem = "there is no such loss of this guarantee"
        raise ParameterError(problem, where="loss", got=type(loss).__name__, hint=hint)

    def lost(result: Anonymized) -> float:
        value = measure(frame, result)
        value = getattr(value, "are", value)
        if not is_number(value) or not isfinite(value):
            hint = "return a finite number, which is lower for a better release"
            got = describe(value) if is_number(value) else type(value).__name__
            raise ParameterError("the loss of a release is no number", where="loss", got=got, hint=hint)
        return float(value)

    return lost


READABLE = ("occurrences", "stands_for", "singles", "pairs", "suppressed")  # losses of items, by try
_OF_ITEMS = {"NCP": partial(_of_items, base=0), "LM": partial(_of_items, base=1)} | _by_name(*READABLE, "UL")
_OF_SETS = _OF_ITEMS | {"balanced": _balanced}
_SUPPRESSED = {"NCP": _mean("S/N"), "LM": _mean("S/N")}  # a suppressed occurrence costs 1 in both
_SUPPRESSED |= _by_name(*READABLE, "UL", "S/N")
# Two kinds of loss: by default the mean error of counts, of pairs of items and of combinations of values.
_OF_BOTH = {"counts": _mean("pairs", "values"), "NCP": _mean("NCP", "NCP_relational")}
_OF_BOTH |= _by_name(*READABLE, "values", "NCP_relational")

# Losses of items that need a hierarchy, which covers all items under these guarantees.
MEANING = _by_name("meaning")
WITH_MEANING = (KmAnonymity, TransactionalK)


def check_meaning(loss: str | None, hierarchy: Any) -> None:
    """Refuse the loss of meaning without a hierarchy."""
    if loss in MEANING and hierarchy is None:
        hint = (
            "pass hierarchy= (--hierarchy), such as pdanon.Hierarchy.prefixes(codes, lengths=(1, 3)), "
            "or name another loss"
        )
        raise ParameterError("this loss needs a hierarchy", where="loss", got=loss, hint=hint)


LOSSES: dict[type, Mapping[str, Measure]] = {
    KmAnonymity: _OF_SETS,
    PrivacyConstraints: _OF_SETS,
    PSRules: _OF_ITEMS,
    LmDiversity: _OF_ITEMS,
    Coherence: _SUPPRESSED,
    PublicK: _SUPPRESSED,
    RhoUncertainty: _OF_ITEMS,
    SensitiveGroups: {"NCP": _mean("KL")} | _by_name("KL", "pairs"),
    TransactionalK: _by_name(*READABLE, "NCP", "LM", "GGD", "UL"),
    DisassociatedKm: {"NCP": _mean("term_chunks")} | _by_name("term_chunks", "tlost", "re"),
    KAnonymity: {"NCP": _mean("NCP_relational")} | _by_name("NCP_relational"),
    KKm: _OF_BOTH,
    KLm: _OF_BOTH,
}


def default_loss(losses: Collection[str]) -> str:
    """Return the loss that is minimized if none is named."""
    return next(name for name in ("counts", "balanced", "NCP") if name in losses)


OWN = "the loss of the caller"


def read_loss(
    loss: Any, guarantee: Guarantee, hierarchy: Any, frame: pd.DataFrame
) -> tuple[str, Mapping[str, Measure]]:
    """Return the name of the loss to minimize, by default that of the guarantee, and all its losses."""
    losses = LOSSES[type(guarantee)]
    if loss is None:
        return default_loss(losses), losses
    if not isinstance(loss, str):
        return OWN, {**losses, OWN: _loss_of_caller(loss, frame)}
    if isinstance(guarantee, WITH_MEANING):
        losses = {**losses, **MEANING}
    name = find_name(loss, losses, "loss of this guarantee", where="loss")
    check_meaning(name, hierarchy)
    return name, losses
