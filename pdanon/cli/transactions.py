"""What is done to the items beside quasi-identifiers: a table of a policy, one value for the algorithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pdanon.algorithms.rt.transaction import Transaction, as_transaction
from pdanon.itemsets.values import check_known

__all__ = ["check_transaction", "list_columns_of", "table_of", "transaction_of"]


def transaction_of(said: Any) -> Transaction:
    """What a name or a table says."""
    known = [each.name for each in fields(Transaction)]
    for key in table_of(said):
        check_known(key, known, "key of what is done to the items", where="transaction")
    return Transaction(**said) if isinstance(said, Mapping) else as_transaction(said)


def check_transaction(given: Mapping[str, Any]) -> None:
    """Check what is done to the items, if that is said, as far as no file needs to be read."""
    if "transaction" in given:
        transaction_of(given["transaction"])


def list_columns_of(given: Mapping[str, Any]) -> list[str]:
    """Return the list columns that parameters name, beside the one that every algorithm takes."""
    columns = table_of(given.get("transaction")).get("columns")
    named = [given.get("private"), *(columns if isinstance(columns, list) else [])]
    return [name for name in named if isinstance(name, str)]


def table_of(said: Any) -> Mapping[str, Any]:
    """The table of what is done to the items; an empty one of a name."""
    return said if isinstance(said, Mapping) else {}
