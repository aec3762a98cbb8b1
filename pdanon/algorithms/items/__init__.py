"""The algorithms for a list column: one file each, with one public function and its record."""

from __future__ import annotations

from pdanon.algorithms.items import (
    apriori,
    clump,
    coat,
    coherence,
    direct,
    hghs,
    lra,
    mhghs,
    optimal,
    partition,
    pcta,
    suppress_public,
    suppress_to_k,
    upcta,
    vpa,
)
from pdanon.algorithms.registry import register

__all__: list[str] = []

# In the order in which they are listed.
_FILES = (
    *(apriori, direct, lra, vpa, optimal, hghs, mhghs),
    *(pcta, coat, upcta),
    *(coherence, suppress_public, suppress_to_k),
    *(partition, clump),
)
register(*(each.RECORD for each in _FILES))
