"""The public functions of the algorithms by name, one dict a family; and what RT calls of them."""

from __future__ import annotations

from dataclasses import fields

from pdanon import Transaction
from pdanon.algorithms import registry
from pdanon.algorithms.registry import OF_LISTS

ALGORITHMS = registry.functions(*OF_LISTS)
IN_CHUNKS = registry.functions("chunks")  # whose releases have no row for a row
OF_ROWS = {name: function for name, function in ALGORITHMS.items() if name not in IN_CHUNKS}
RELATIONAL = registry.functions("values")
RT = registry.functions("both")
FORMATIONS = {name: each.form for name, each in registry.ALGORITHMS.items() if each.form}
TRANSACTION_ALGORITHMS = [name for name, each in registry.ALGORITHMS.items() if each.nodes or each.sets]
PARTS = {each.name for each in fields(Transaction)} - {"algorithm"}


def gathered(asked):
    """What is asked of an algorithm for both, with all that is said of the items as one value."""
    rest = {key: value for key, value in asked.items() if key not in PARTS}
    if len(rest) < len(asked):
        parts = {key: value for key, value in asked.items() if key in PARTS}
        rest["transaction"] = Transaction(rest.get("transaction", "pcta"), **parts)
    return rest
