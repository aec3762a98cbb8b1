"""All guarantees: the promise of each in one sentence, and those that are requested by parameters alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any

from pdanon.errors import ParameterError
from pdanon.guarantees.coherence import Coherence
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.k_anonymity import KAnonymity, PublicK, TransactionalK
from pdanon.guarantees.kkm import KKm, KLm
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.lm import LmDiversity
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


@singledispatch
def promise(guarantee: Any, column: Hashable | None = None) -> str:
    """Return the promise of a guarantee as one sentence, with numbers and columns, and no text of an item.

    A guarantee that is not of pdanon is described by its repr.
    """
    return f"The guarantee {guarantee!r} holds."


@promise.register
def _(guarantee: KmAnonymity, column: Hashable | None = None) -> str:
    return _matches([_items(guarantee.m, "", [column])], guarantee.k) + "."


@promise.register
def _(guarantee: PrivacyConstraints, column: Hashable | None = None) -> str:
    known = f"all items of {_one_of(guarantee.constraints, 'listed itemset')} in {column}"
    return f"{_matches([known], guarantee.k)}, or none."


@promise.register
def _(guarantee: LmDiversity, column: Hashable | None = None) -> str:
    known = [_items(guarantee.m, "that are not sensitive", [column])]
    return f"{_matches(known, guarantee.k)}, and {_each(guarantee.sensitive, Fraction(1, guarantee.l))}."


@promise.register
def _(guarantee: Coherence, column: Hashable | None = None) -> str:
    known, private = [_items(guarantee.p, "that are public", [column])], guarantee.private
    if guarantee.effort is not None:
        known = [f"items that are public in {column}, with a total effort of up to {guarantee.p},"]
    if isinstance(private, NamedItems):
        share = _each(private, guarantee.h, "private item")
    else:
        share = f"each item in {private} is in at most {_share(guarantee.h)} of them"
    return f"{_matches(known, guarantee.k)}, and {share}."


@promise.register
def _(guarantee: PublicK, column: Hashable | None = None) -> str:
    known = f"for each of the {_number(guarantee.public, 'public item')} whether it is in {column}"
    return _matches([known], guarantee.k) + "."


@promise.register
def _(guarantee: TransactionalK, column: Hashable | None = None) -> str:
    return f"{_matches([_items(None, '', [column])], guarantee.k)}, which all have the same items."


@promise.register
def _(guarantee: PSRules, column: Hashable | None = None) -> str:
    rules = guarantee.rules
    share = f"at most {_share(guarantee.c)} of them contain its sensitive items"
    if isinstance(rules, AllRules):
        known = _items(rules.m, "that are not sensitive", [column])
        share = _each(rules.sensitive, guarantee.c)
    else:
        known = f"the known items of {_one_of(rules, 'rule')} for {column}"
    return f"{_matches([known], guarantee.k)}, or none, and {share}."


@promise.register
def _(guarantee: RhoUncertainty, column: Hashable | None = None) -> str:
    known, number = _items(guarantee.m, "", [column]), len(guarantee.sensitive)
    item = "the sensitive item" if number == 1 else f"any other of the {number:,} sensitive items"
    share = _share(guarantee.rho)
    return f"Attackers who know {known} of a person infer {item} with a confidence of at most {share}."


@promise.register
def _(guarantee: SensitiveGroups, column: Hashable | None = None) -> str:
    sensitive = _number(guarantee.sensitive, "sensitive item")
    text = f"No row shows any of the {sensitive} in {column}, and each of them belongs to at most "
    text += f"{_share(Fraction(1, guarantee.p))} of the rows of any group"
    if guarantee.k is None:
        return text + "."
    known = _items(guarantee.m, "that are not sensitive", [column])
    return f"{text}; {_lower(_matches([known], guarantee.k))}."


@promise.register
def _(guarantee: DisassociatedKm, column: Hashable | None = None) -> str:
    known = _items(guarantee.m, "", [column])
    least = f"at least {guarantee.k:,} records"
    return f"For attackers who know {known} of a person, it remains possible that {least} match."


@promise.register
def _(guarantee: KAnonymity, column: Hashable | None = None) -> str:
    return _matches(guarantee.quasi, guarantee.k) + "."


@promise.register
def _(guarantee: KKm, column: Hashable | None = None) -> str:
    items = _items(guarantee.m, "", guarantee.columns or [column])
    return _matches([*guarantee.quasi, items], guarantee.k) + "."


@promise.register
def _(guarantee: KLm, column: Hashable | None = None) -> str:
    known = [*guarantee.quasi, _items(guarantee.m, "that are not sensitive", [column])]
    return f"{_matches(known, guarantee.k)}, and {_each(guarantee.sensitive, Fraction(1, guarantee.l))}."


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
    if len(items) == 1:
        return f"the {noun} is in at most {_share(share)} of them"
    return f"each of the {len(items):,} {noun}s is in at most {_share(share)} of them"


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


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


# --- Guarantees that are requested by their parameters alone, as on the command line and in policies


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
        if quasi:
            return KLm(k=k, l=l, m=m, quasi=quasi, sensitive=sensitive)
        return LmDiversity(l=l, m=m, sensitive=sensitive, k=k)
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
