"""Algorithms for relational quasi-identifiers: encoding, equivalence classes, release."""

from __future__ import annotations

from pdanon.algorithms.registry import register
from pdanon.algorithms.relational import global_recoding, groups

__all__: list[str] = []

# The order of registration is the order in every list of algorithms.
register(groups.CLUSTER, groups.K_MEMBER, groups.MONDRIAN)
register(global_recoding.TOP_DOWN, global_recoding.INCOGNITO, global_recoding.FULL_SUBTREE)
