"""All guarantees: the promise of each in one sentence, and those that are requested by parameters alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from pdanon.errors import ParameterError
from pdanon.guarantees.coherence import Coherence
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.k_anonymity import KAnonymity, KMap, PublicK, TransactionalK
from pdanon.guarantees.kkm import KKm, KLm
from pdanon.guarantees.km import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import (
    DEFAULT_M,
    DefaultNumber,
    ItemLimit,
    check_k,
    check_m_omitted,
    format_share,
)
from pdanon.guarantees.ps import AllRules, PSRules
from pdanon.guarantees.rho import RhoUncertainty
from pdanon.guarantees.sensitive_groups import SensitiveGroups
from pdanon.guarantees.verdict import Guarantee


def promise(guarantee: Any, column: Hashable | None = None) -> str:
    """Return the promise of a guarantee as one sentence, with numbers and columns, and no text of an item."""
    # A guarantee that is not of pdanon is described by its repr.
    quasi, columns = getattr(guarantee, "quasi", ()), getattr(guarantee, "columns", None) or [column]
    match guarantee:
        case KmAnonymity(k=k, m=m) | KKm(k=k, m=m):
            return _matches([*quasi, _items(m, "", columns)], k) + "."
        case KMap(k=k, m=m, population=population):
            known = _items(m, "", [column])
            people = f"at least {k:,} matching people in a population of {len(population):,}"
            return f"Attackers who know {known} of a person find {people}."
        case PrivacyConstraints(k=k, constraints=listed):
            known = f"all items of {_one_of(listed, 'listed itemset')} in {column}"
            return f"{_matches([known], k)}, or none."
        case LmDiversity(k=k, m=m, l=l, sensitive=items) | KLm(k=k, m=m, l=l, sensitive=items):
            known = _items(m, "that are not sensitive", columns)
            return f"{_matches([*quasi, known], k)}, and {_each(items, Fraction(1, l))}."
        case Coherence(k=k, p=p, h=h, private=private):
            known = _items(p, "that are public", [column])
            if guarantee.effort is not None:
                known = f"items that are public in {column}, with a total effort of up to {p},"
            share = f"each item in {private} is in at most {_share(h)} of them"
            if isinstance(private, NamedItems):
                share = _each(private, h, "private item")
            return f"{_matches([known], k)}, and {share}."
        case PublicK(k=k, public=public):
            known = f"for each of the {_named(public, 'public item')} whether it is in {column}"
            return _matches([known], k) + "."
        case TransactionalK(k=k):
            return f"{_matches([_items(None, '', [column])], k)}, which all have the same items."
        case PSRules(k=k, c=c, rules=AllRules(m=m, sensitive=sensitive)):
            known = _items(m, "that are not sensitive", [column])
            return f"{_matches([known], k)}, or none, and {_each(sensitive, c)}."
        case PSRules(k=k, c=c, rules=rules):
            known = f"the known items of {_one_of(rules, 'rule')} for {column}"
            share = f"at most {_share(c)} of them contain its sensitive items"
            return f"{_matches([known], k)}, or none, and {share}."
        case RhoUncertainty(rho=rho, m=m, sensitive=sensitive):
            known = f"Attackers who know {_items(m, '', [column])} of a person"
            others = f"any other of the {_named(sensitive, 'sensitive item')}"
            item = "the sensitive item" if len(sensitive) == 1 and not sensitive.ranges else others
            return f"{known} infer {item} with a confidence of at most {_share(rho)}."
        case SensitiveGroups(p=p, k=k, m=m):
            sensitive = _named(guarantee.sensitive, "sensitive item")
            text = f"No row shows any of the {sensitive} in {column}, and each of them belongs to at most "
            text += f"{_share(Fraction(1, p))} of the rows of any group"
            if k is None:
                return text + "."
            matches = _matches([_items(m, "that are not sensitive", [column])], k)
            return f"{text}; {matches[0].lower()}{matches[1:]}."
        case DisassociatedKm(k=k, m=m):
            known, least = _items(m, "", [column]), f"at least {k:,} records"
            return f"For attackers who know {known} of a person, it remains possible that {least} match."
        case KAnonymity(k=k):
            return _matches(quasi, k) + "."
    return f"The guarantee {guarantee!r} holds."


# --- Parts of sentences


def _matches(known: Iterable[Hashable], k: int | None) -> str:
    rows = "the matching rows" if k is None else f"at least {k:,} matching rows"
    return f"Attackers who know {_join(known)} of a person find {rows}"


def _items(m: int | None, kind: str, columns: Iterable[Hashable]) -> str:
    number = "any number of items" if m is None else "1 item" if m == 1 else f"up to {m:,} items"
    if m == 1:
        kind = kind.replace("that are", "that is")
    return " ".join(filter(None, [number, kind, f"in {_join(columns)}"]))


def _each(items: NamedItems, share: Fraction, noun: str = "sensitive item") -> str:
    if len(items) == 1 and not items.ranges:
        return f"the {noun} is in at most {_share(share)} of them"
    return f"each of the {_named(items, noun)} is in at most {_share(share)} of them"


def _named(items: NamedItems, noun: str) -> str:
    return f"{noun}s of {len(items):,} codes or ranges" if items.ranges else _number(items, noun)


def _number(things: Any, noun: str) -> str:
    return f"{len(things):,} {noun}{'' if len(things) == 1 else 's'}"


def _one_of(things: Any, noun: str) -> str:
    return f"the {noun}" if len(things) == 1 else f"one of the {_number(things, noun)}"


def _share(share: Fraction) -> str:
    """Return a share as "1 in 4" if it is one, otherwise in percent or as a fraction."""
    if share.numerator == 1 and share.denominator > 1:
        return f"1 in {share.denominator:,}"
    percent = 100 * share
    return f"{format_share(percent)} %" if percent.denominator in (1, 2, 5, 10) else f"a share of {share}"


def _join(names: Iterable[Hashable]) -> str:
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


# --- Guarantees that are requested by their parameters alone, as on the command line and in policies


REQUIRED = {"k", "rho", "p"}  # one of them is required


def check_sensitive(
    given: Collection[str],
    where: str | None = None,
    spelled: Callable[[str], str] = str,
    known: Collection[str] = ("rho", "p", "l"),
) -> None:
    """Check that parameters for sensitive items belong to one guarantee."""
    # ``given`` are their names, ``where`` their place, and ``spelled`` returns the spelling of one there.
    # ``known`` are those that bound an inference.
    rho, p, l, sensitive = map(spelled, ("rho", "p", "l", "sensitive"))  # noqa: E741
    kinds = [name for name in known if name in given]
    if not kinds and "sensitive" not in given:
        return
    if not kinds and len(known) == 1:
        hint = f"pass both: {sensitive} lists the items, and {l} bounds how often they occur"
        raise ParameterError(f"{sensitive} and {l} go together", where=where, hint=hint)
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
    if quasi and (rho is not None or p is not None):
        hint = "give the columns of quasi another role, or pass an algorithm for both, such as rum_bound"
        raise ParameterError("rho and p do not protect quasi-identifiers", hint=hint)
    if rho is not None:
        return RhoUncertainty(rho=rho, sensitive=sensitive, m=None if isinstance(m, DefaultNumber) else m)
    if p is not None:
        return SensitiveGroups(p=p, sensitive=sensitive, k=k, m=m)
    k = check_k(k)
    if l is not None:
        if quasi:
            return KLm(k=k, l=l, m=m, quasi=quasi, sensitive=sensitive)
        return LmDiversity(l=l, m=m, sensitive=sensitive, k=k)
    if quasi and constraints is not None:
        hint = "leave constraints out, or give the columns of quasi another role"
        raise ParameterError("no algorithm protects quasi-identifiers by constraints", hint=hint)
    if rules is not None or c is not None:
        if rules is None or c is None:
            hint = "pass what must not be inferred as rules=, and the maximum confidence as c=, such as c=0.5"
            raise ParameterError("rules and c go together", where="rules", hint=hint)
        if quasi or constraints is not None:
            hint = "leave constraints out, and give the columns of quasi another role"
            raise ParameterError("rules exclude constraints and quasi-identifiers", where="rules", hint=hint)
        check_m_omitted(m, "rules")
        return PSRules(rules=rules, k=k, c=c)
    if constraints is not None:
        check_m_omitted(m)
        return PrivacyConstraints(constraints=constraints, k=k)
    if quasi and not lists:
        if not isinstance(m, DefaultNumber):
            problem = "m counts items, but there is no list column"
            raise ParameterError(problem, where="m", hint="leave it out")
        return KAnonymity(k, quasi=quasi)
    return KKm(k=k, m=m, quasi=quasi) if quasi else KmAnonymity(k, m)
