"""Guarantees that are requested by their parameters only, as on the command line and in policies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from pdanon.errors import ParameterError
from pdanon.guarantees.k_anonymity import KAnonymity
from pdanon.guarantees.kkm import KKm, KLm
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.lm import LmDiversity
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, ItemLimit, check_k, check_m_omitted
from pdanon.guarantees.ps import PSRules
from pdanon.guarantees.rho import RhoUncertainty
from pdanon.guarantees.sensitive_groups import SensitiveGroups
from pdanon.guarantees.verdict import Guarantee

REQUIRED = {"k", "rho", "p"}  # one of them is required


def check_sensitive(
    given: Collection[str], where: str | None = None, spelled: Callable[[str], str] = str
) -> None:
    """Check that parameters for sensitive items belong to one guarantee.

    ``given`` are their names, ``where`` their place, and ``spelled`` returns the spelling of one there.
    """
    rho, p, l, sensitive = map(spelled, ("rho", "p", "l", "sensitive"))  # noqa: E741
    kinds = [name for name in ("rho", "p", "l") if name in given]
    if not kinds and "sensitive" not in given:
        return
    if len(kinds) != 1:
        hint = f"{rho} bounds the confidence of an inference, {l} the share of matching rows with an item, "
        hint += f"{p} that of the rows of a group"
        raise ParameterError(f"{sensitive} needs {rho}, {p} or {l}, or an algorithm", where=where, hint=hint)
    kind = spelled(kinds[0])
    if "sensitive" not in given:
        hint = f"list the items that must not be inferred in {sensitive}"
        raise ParameterError(f"{kind} and {sensitive} go together", where=where, hint=hint)
    if kinds == ["l"] and "k" not in given:
        hint = f"pass {spelled('k')} as well, as diversity alone does not hide a row"
        raise ParameterError(f"{kind} and {spelled('k')} go together", where=where, hint=hint)
    others = [name for name in ("constraints", "rules", "c", "k") if name in given]
    if others and (others != ["k"] or kinds == ["rho"]):
        hint = "request one or the other"
        raise ParameterError(f"{kind} excludes {spelled(others[0])}", where=where, hint=hint)


def requested_guarantee(
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    constraints: Iterable[Any] | None = None,
    rules: Any = None,
    c: float | None = None,
    rho: float | None = None,
    p: int | None = None,
    l: int | None = None,  # noqa: E741
    sensitive: Sequence[Any] | None = None,
    quasi: Sequence[str] = (),
    lists: bool = True,
) -> Guarantee:
    """Return the guarantee for some parameters of guarantees; ``lists`` if there is a list column."""
    if rho is not None or p is not None:
        return _of_sensitive(rho, p, sensitive, k, m, quasi)
    k = check_k(k)
    if l is not None:
        return _of_diversity(k, l, m, quasi, sensitive)
    if quasi and constraints is not None:
        hint = "leave constraints out, or give the columns of quasi another role"
        raise ParameterError("no algorithm protects quasi-identifiers by constraints", hint=hint)
    if rules is not None or c is not None:
        return _of_rules(rules, k, c, m, alone=not quasi and constraints is None)
    if constraints is not None:
        check_m_omitted(m)
        return PrivacyConstraints(constraints=constraints, k=k)
    if quasi and not lists:
        if not isinstance(m, DefaultNumber):
            problem = "m counts items, but there is no list column"
            raise ParameterError(problem, where="m", hint="leave it out")
        return KAnonymity(k, quasi=quasi)
    return KKm(k=k, m=m, quasi=quasi) if quasi else KmAnonymity(k, m)


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


def _of_diversity(
    k: int,
    l: int,  # noqa: E741
    m: ItemLimit,
    quasi: Sequence[str],
    sensitive: Any,
) -> KLm | LmDiversity:
    """Return the guarantee for sensitive items that few of the matching rows have."""
    if quasi:
        return KLm(k=k, l=l, m=m, quasi=quasi, sensitive=sensitive)
    return LmDiversity(l=l, m=m, sensitive=sensitive, k=k)


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
