"""RT-datasets: quasi-identifiers and transactions of the same rows, anonymized together."""

from __future__ import annotations

# Algorithms for items and for quasi-identifiers are registered before the algorithms that combine them.
from pdanon.algorithms import (
    items as _items,  # noqa: F401
    relational as _relational,  # noqa: F401
)
from pdanon.algorithms.registry import register
from pdanon.algorithms.rt import rfirst, rum_bound

__all__: list[str] = []

# The order of registration is the order in every list of algorithms.
register(rum_bound.RUM_BOUND, rum_bound.TUM_BOUND, rfirst.RFIRST, rfirst.TFIRST)
