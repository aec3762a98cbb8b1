"""Columns that are named for the number of a person: customer_id, patientNo, Kundennr, DUPERSID."""

from __future__ import annotations

import re
from collections.abc import Hashable

__all__ = ["is_named_for_persons", "words_of"]

_WORDS = {"card", "pid", "mrn", "dupersid"}
_BEGINNINGS = (
    *("person", "patient", "customer", "client", "user", "member", "subject", "household", "account"),
    *("employee", "student", "kunde", "mitglied", "versicherte"),
)


def is_named_for_persons(label: Hashable) -> bool:
    """Whether the name of a column speaks of persons, or of what stands for one, such as a card."""
    return any(word in _WORDS or word.startswith(_BEGINNINGS) for word in map(str.lower, words_of(label)))


def words_of(label: Hashable) -> list[str]:
    """The words that the name of a column is made of, also where capitals or underscores part them."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+", str(label))
