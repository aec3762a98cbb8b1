"""The public functions of the algorithms by name, one dict a family; and what RT calls of them."""

from __future__ import annotations

from pdanon.algorithms import registry
from pdanon.algorithms.record import OF_LISTS

ALGORITHMS = registry.functions(*OF_LISTS)
RELATIONAL = registry.functions("values")
RT = registry.functions("both")
FORMATIONS = {name: each.form for name, each in registry.ALGORITHMS.items() if each.form}
TRANSACTION_ALGORITHMS = [name for name, each in registry.ALGORITHMS.items() if each.nodes or each.sets]
