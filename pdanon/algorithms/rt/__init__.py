"""RT-datasets: quasi-identifiers and transactions of the same rows, anonymized together."""

from __future__ import annotations

# What these combine is registered, and so listed, before them: items, then quasi-identifiers.
from pdanon.algorithms import items as _items  # noqa: F401
from pdanon.algorithms import relational as _relational  # noqa: F401
from pdanon.algorithms.registry import register
from pdanon.algorithms.rt import rfirst, rum_bound, tfirst, tum_bound

__all__: list[str] = []

# In the order in which they are listed.
_FILES = (rum_bound, tum_bound, rfirst, tfirst)
register(*(each.RECORD for each in _FILES))
