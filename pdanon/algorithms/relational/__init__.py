"""Algorithms for relational quasi-identifiers: encoding, equivalence classes, release."""

from __future__ import annotations

from pdanon.algorithms.registry import register
from pdanon.algorithms.relational import cluster, full_subtree, incognito, mondrian, top_down

__all__: list[str] = []

# The order of registration is the order in every list of algorithms.
register(cluster.CLUSTER, cluster.K_MEMBER)
register(*(each.RECORD for each in (mondrian, top_down, incognito, full_subtree)))
