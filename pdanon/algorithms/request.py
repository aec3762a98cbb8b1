"""Without an algorithm: what is asked for as a guarantee, and the release that loses least."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pandas as pd

from pdanon.algorithms import choice
from pdanon.errors import ParameterError
from pdanon.guarantees import (
    KAnonymity,
    KKm,
    KmAnonymity,
    PrivacyConstraints,
    PSRules,
    RhoUncertainty,
    SensitiveGroups,
)
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, check_k, check_m_omitted
from pdanon.guarantees.verdict import Guarantee
from pdanon.recoding.result import Anonymized

__all__ = ["ASKED", "LEAST", "check_asked", "least_lossy"]

# What may be asked for, beside what roles of columns say.
ASKED = (
    *("k", "m", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("utility", "loss", "time_limit", "random_state", "labels"),
)
LEAST = {"k", "rho", "p"}  # one of these has to be said


def check_asked(
    given: Collection[str], where: str | None = None, spelled: Callable[[str], str] = str
) -> None:
    """Check that what is given is of one guarantee, as far as items are sensitive.

    Parameters
    ----------
    given : collection of str
        The names of parameters.
    where : str, optional
        Where they are said.
    spelled : callable
        How a parameter is spelled there.
    """
    rho, p, sensitive = map(spelled, ("rho", "p", "sensitive"))
    kinds = [name for name in ("rho", "p") if name in given]
    if not kinds and "sensitive" not in given:
        return
    if len(kinds) != 1:
        hint = f"{rho} says how surely one may be inferred, {p} in which share of a group of rows one may be"
        raise ParameterError(f"{sensitive} needs {rho} or {p}, or an algorithm", where=where, hint=hint)
    kind = spelled(kinds[0])
    if "sensitive" not in given:
        hint = f"{sensitive} names the items that nobody is to learn"
        raise ParameterError(f"{kind} and {sensitive} go together", where=where, hint=hint)
    others = [name for name in ("constraints", "rules", "c", "k") if name in given]
    if others and (others != ["k"] or kinds == ["rho"]):
        hint = "ask for the one or for the other"
        raise ParameterError(f"{kind} goes without {spelled(others[0])}", where=where, hint=hint)


def least_lossy(
    frame: pd.DataFrame,
    column: str | None = None,
    *,
    k: int | None = None,
    m: int | None = DEFAULT_M,
    constraints: Iterable[Any] | None = None,
    rules: Any = None,
    c: float | None = None,
    rho: float | None = None,
    p: int | None = None,
    sensitive: Sequence[Any] | None = None,
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
    k, m, constraints, rules, c, rho, p, sensitive
        As of an algorithm that takes them.
    quasi : sequence of str
        Columns that an attacker may know, beside the items.
    lists : bool
        Whether there is a list column.
    **options
        As of `pdanon.anonymize`.
    """
    place = column if lists else None
    if rho is not None or p is not None:
        return choice.anonymize(frame, _of_sensitive(rho, p, sensitive, k, m, quasi), place, **options)
    k = check_k(k)
    guarantee: Guarantee
    if quasi and constraints is not None:
        hint = "leave constraints out, or give the columns of quasi another role"
        raise ParameterError("no algorithm protects quasi-identifiers by constraints", hint=hint)
    if rules is not None or c is not None:
        guarantee = _of_rules(rules, k, c, m, alone=not quasi and constraints is None)
    elif constraints is not None:
        check_m_omitted(m)
        guarantee = PrivacyConstraints(constraints=constraints, k=k)
    elif quasi and not lists:
        if not isinstance(m, DefaultNumber):
            raise ParameterError("m is of items, and there is no list column", where="m", hint="leave it out")
        guarantee = KAnonymity(k, quasi=quasi)
    else:
        guarantee = KKm(k=k, m=m, quasi=quasi) if quasi else KmAnonymity(k, m)
    return choice.anonymize(frame, guarantee, place, **options)


def _of_sensitive(
    rho: float | None, p: int | None, sensitive: Any, k: int | None, m: int | None, quasi: Sequence[str]
) -> RhoUncertainty | SensitiveGroups:
    """The guarantee of items that nobody is to learn; of nothing else beside them."""
    if quasi:
        hint = "give the columns of quasi another role, or name an algorithm for both, such as rum_bound"
        raise ParameterError("rho and p protect no quasi-identifiers", hint=hint)
    if rho is not None:
        return RhoUncertainty(rho=rho, sensitive=sensitive, m=None if isinstance(m, DefaultNumber) else m)
    assert p is not None
    return SensitiveGroups(p=p, sensitive=sensitive, k=k, m=m)


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
    check_m_omitted(m, "rules")
    return PSRules(rules=rules, k=k, c=c)
