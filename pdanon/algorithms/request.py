"""Requests without an algorithm: the guarantee of some parameters, and the release that loses least."""

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
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, ItemLimit, check_k, check_m_omitted
from pdanon.guarantees.verdict import Guarantee
from pdanon.recoding.result import Anonymized

# Parameters of a request, besides the roles of columns.
ASKED = (
    *("k", "m", "constraints", "rules", "c", "rho", "p", "sensitive"),
    *("utility", "loss", "time_limit", "random_state", "labels"),
)
LEAST = {"k", "rho", "p"}  # one of them is required


def check_asked(
    given: Collection[str], where: str | None = None, spelled: Callable[[str], str] = str
) -> None:
    """Check that parameters for sensitive items belong to one guarantee.

    Parameters
    ----------
    given : collection of str
        The names of parameters.
    where : str, optional
        The place of the parameters, for messages.
    spelled : callable
        Returns the spelling of a parameter there.
    """
    rho, p, sensitive = map(spelled, ("rho", "p", "sensitive"))
    kinds = [name for name in ("rho", "p") if name in given]
    if not kinds and "sensitive" not in given:
        return
    if len(kinds) != 1:
        hint = f"{rho} bounds the confidence of an inference, {p} the share of rows of a group with an item"
        raise ParameterError(f"{sensitive} needs {rho} or {p}, or an algorithm", where=where, hint=hint)
    kind = spelled(kinds[0])
    if "sensitive" not in given:
        hint = f"list the items that must not be inferred in {sensitive}"
        raise ParameterError(f"{kind} and {sensitive} go together", where=where, hint=hint)
    others = [name for name in ("constraints", "rules", "c", "k") if name in given]
    if others and (others != ["k"] or kinds == ["rho"]):
        hint = "request one or the other"
        raise ParameterError(f"{kind} excludes {spelled(others[0])}", where=where, hint=hint)


def least_lossy(
    frame: pd.DataFrame,
    column: str | None = None,
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
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
    """Return the release of `pdanon.anonymize` for some parameters.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person.
    column : str, optional
        The list column. By default, the only one.
    k, m, constraints, rules, c, rho, p, sensitive
        Parameters of guarantees.
    quasi : sequence of str
        Columns that an attacker may know, besides the items.
    lists : bool
        Whether there is a list column.
    **options
        Further parameters of `pdanon.anonymize`.
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
            problem = "m counts items, but there is no list column"
            raise ParameterError(problem, where="m", hint="leave it out")
        guarantee = KAnonymity(k, quasi=quasi)
    else:
        guarantee = KKm(k=k, m=m, quasi=quasi) if quasi else KmAnonymity(k, m)
    return choice.anonymize(frame, guarantee, place, **options)


def _of_sensitive(
    rho: float | None, p: int | None, sensitive: Any, k: int | None, m: ItemLimit, quasi: Sequence[str]
) -> RhoUncertainty | SensitiveGroups:
    """Return the guarantee for sensitive items; it covers no other columns."""
    if quasi:
        hint = "give the columns of quasi another role, or pass an algorithm for both, such as rum_bound"
        raise ParameterError("rho and p do not protect quasi-identifiers", hint=hint)
    if rho is not None:
        return RhoUncertainty(rho=rho, sensitive=sensitive, m=None if isinstance(m, DefaultNumber) else m)
    assert p is not None
    return SensitiveGroups(p=p, sensitive=sensitive, k=k, m=m)


def _of_rules(rules: Any, k: int, c: float | None, m: ItemLimit, *, alone: bool) -> PSRules:
    """Return the guarantee for rules; it covers no other columns or constraints."""
    if rules is None or c is None:
        hint = "pass what must not be inferred as rules=, and the maximum confidence as c=, such as c=0.5"
        raise ParameterError("rules and c go together", where="rules", hint=hint)
    if not alone:
        hint = "leave constraints out, and give the columns of quasi another role"
        raise ParameterError("rules exclude constraints and quasi-identifiers", where="rules", hint=hint)
    check_m_omitted(m, "rules")
    return PSRules(rules=rules, k=k, c=c)
