"""Without an algorithm: what is asked for as a guarantee, and the release that loses least."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pdanon.algorithms import choice
from pdanon.errors import ParameterError
from pdanon.guarantees import KAnonymity, KKm, KmAnonymity, PrivacyConstraints, PSRules
from pdanon.guarantees.parameters import DEFAULT_M, Unsaid, check_unsaid
from pdanon.guarantees.verdict import Guarantee
from pdanon.recoding.result import Anonymized

__all__ = ["ASKED", "least_lossy"]

# What may be asked for, beside what roles of columns say.
ASKED = ("k", "m", "constraints", "rules", "c", "utility", "loss", "time_limit", "random_state", "labels")


def least_lossy(
    frame: pd.DataFrame,
    column: str | None = None,
    *,
    k: int,
    m: int | None = DEFAULT_M,
    constraints: Iterable[Any] | None = None,
    rules: Any = None,
    c: float | None = None,
    quasi: Sequence[str] = (),
    lists: bool = True,
    **options: Any,
) -> Anonymized:
    """What `pdanon.anonymize` finds for what is asked.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person.
    column : str, optional
        The list column. By default the only one.
    k, m, constraints, rules, c
        As of an algorithm that takes them.
    quasi : sequence of str
        Columns that an attacker may know, beside the items.
    lists : bool
        Whether there is a list column.
    **options
        As of `pdanon.anonymize`.
    """
    guarantee: Guarantee
    if quasi and constraints is not None:
        hint = "leave constraints out, or give the columns of quasi another role"
        raise ParameterError("no algorithm protects quasi-identifiers by constraints", hint=hint)
    if rules is not None or c is not None:
        guarantee = _of_rules(rules, k, c, m, alone=not quasi and constraints is None)
    elif constraints is not None:
        check_unsaid(m)
        guarantee = PrivacyConstraints(constraints, k)
    elif quasi and not lists:
        if not isinstance(m, Unsaid):
            raise ParameterError("m is of items, and there is no list column", where="m", hint="leave it out")
        guarantee = KAnonymity(k, quasi)
    else:
        guarantee = KKm(k, m, quasi) if quasi else KmAnonymity(k, m)
    return choice.anonymize(frame, guarantee, column if lists else None, **options)


def _of_rules(rules: Any, k: int, c: float | None, m: int | None, *, alone: bool) -> PSRules:
    """The guarantee of rules, which say what is known; of nothing else beside them."""
    if rules is None or c is None:
        hint = "rules say what must not be inferred, and c=0.5 allows it in half of the rows that match"
        raise ParameterError("rules and c go together", where="rules", hint=hint)
    if not alone:
        hint = "leave constraints out, and give the columns of quasi another role"
        raise ParameterError(
            "rules go with neither constraints nor quasi-identifiers", where="rules", hint=hint
        )
    check_unsaid(m, "rules")
    return PSRules(rules, k, c)
