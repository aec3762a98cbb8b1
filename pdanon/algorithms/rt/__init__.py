"""RT-datasets: quasi-identifiers and transactions of the same rows, anonymized together."""

from __future__ import annotations

from pdanon.algorithms.registry import register
from pdanon.algorithms.rt import rfirst, rum_bound, tfirst, tum_bound

__all__: list[str] = []

# In the order in which they are listed.
_FILES = (rum_bound, tum_bound, rfirst, tfirst)
register(*(each.RECORD for each in _FILES))
