"""The promise of each guarantee in one sentence, with its numbers and columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import singledispatch
from typing import Any

from pdanon.guarantees.coherence import Coherence
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.k_anonymity import KAnonymity, PublicK, TransactionalK
from pdanon.guarantees.kkm import KKm, KLm
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.lm import LmDiversity
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import format_share
from pdanon.guarantees.ps import AllRules, PSRules
from pdanon.guarantees.rho import RhoUncertainty
from pdanon.guarantees.sensitive_groups import SensitiveGroups


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
