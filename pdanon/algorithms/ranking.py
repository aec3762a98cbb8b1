"""Ranking: what is counted as loss where releases of a guarantee are compared, by the name of a loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

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
from pdanon.recoding.counts import is_kept
from pdanon.recoding.result import Anonymized

__all__ = ["LOSSES", "READABLE"]


def _of_items(result: Anonymized, *, base: int) -> float:
    """NCP (base 0) or LM (base 1) over the items that occur, for sets and nodes alike."""
    mapping = result.mapping
    n_items = len(mapping)
    sizes = mapping.groupby("generalized")["item"].transform("size").fillna(n_items).to_numpy(np.int64)
    costs = np.where(is_kept(mapping), 0, sizes - base)
    supports = mapping["support"].to_numpy()
    most = max(n_items - base, 1) * int(supports.sum())
    return float(int(costs @ supports) / most) if most else 0.0


def _mean(*names: str) -> Callable[[Anonymized], float]:
    """The mean of some losses that a result has."""
    return lambda result: float(sum(result.loss[name] for name in names) / len(names))


def _named(*names: str) -> dict[str, Callable[[Anonymized], float]]:
    """Losses that a result has, by their names in lower case."""
    return {name.lower(): _mean(name) for name in names}


READABLE = ("occurrences", "stands_for", "singles", "pairs", "suppressed")  # of items, and shown of each try
_OF_ITEMS = {"ncp": partial(_of_items, base=0), "lm": partial(_of_items, base=1)} | _named(*READABLE, "UL")
_SUPPRESSED = {"ncp": _mean("S/N"), "lm": _mean("S/N")}  # every suppressed occurrence costs 1 by both
_SUPPRESSED |= _named(*READABLE, "UL", "S/N")
_OF_BOTH = {"ncp": _mean("NCP", "NCP_relational")} | _named(*READABLE, "NCP_relational")

LOSSES: dict[type, Mapping[str, Callable[[Anonymized], float]]] = {
    KmAnonymity: _OF_ITEMS,
    PrivacyConstraints: _OF_ITEMS,
    PSRules: _OF_ITEMS,
    LmDiversity: _OF_ITEMS,
    Coherence: _SUPPRESSED,
    PublicK: _SUPPRESSED,
    RhoUncertainty: _OF_ITEMS,
    SensitiveGroups: {"ncp": _mean("KL")} | _named("KL", "pairs"),
    TransactionalK: _named(*READABLE, "NCP", "LM", "GGD", "UL"),
    DisassociatedKm: {"ncp": _mean("term_chunks")} | _named("term_chunks", "tlost", "re"),
    KAnonymity: {"ncp": _mean("NCP_relational")} | _named("NCP_relational"),
    KKm: _OF_BOTH,
    KLm: _OF_BOTH,
}
