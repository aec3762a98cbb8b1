"""Audits of a series of releases: what each guarantee requires of the joint labels of a span."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.generalized_itemsets import UNKNOWN
from pdanon.guarantees.k_anonymity import KAnonymity, equal_rows
from pdanon.guarantees.kkm import KKm
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints, expose_constraints, expose_itemsets
from pdanon.guarantees.lm import LmDiversity, expose_secrets
from pdanon.guarantees.named import refuse_members
from pdanon.guarantees.series import PRESENT, Persons, Released, Series, Span
from pdanon.guarantees.verdict import Audit, Exposure, Guarantee, Reasons
from pdanon.itemsets.codes import Itemsets, find_items, item_texts
from pdanon.itemsets.columns import find_quasi
from pdanon.itemsets.lists import Mask, Numbers, mask_at, number_distinct, offsets_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex, empty_itemsets


def audit_series(
    guarantee: Guarantee, releases: Sequence[Released], column: Hashable | None, *, key: Any, spans: str
) -> Audit:
    """Audit the newest of several releases alone, and with the earlier ones of the same persons.

    The parameters are those of `pdanon.after` and its ``audit``.
    """
    series = _read(guarantee, releases, column, key)
    alone = guarantee.audit(releases[-1].frame, column)
    at_risk = np.zeros(series.persons.row_of.shape[1], np.bool_)
    lines = []
    for knowledge in dict.fromkeys((PRESENT, spans)):
        for span in series.spans(knowledge):
            exposed = _expose(guarantee, span).mark_rows()
            if knowledge == PRESENT:
                at_risk[span.persons[exposed]] = True
            lines.append((knowledge, *span.place, len(span.releases), len(span.persons), int(exposed.sum())))
    names = ["knows", "first", "last", "releases", "rows", "rows_at_risk"]
    table = pd.DataFrame(lines, columns=names)

    def list_threats() -> pd.DataFrame:
        found = []
        for span in series.spans():
            first, last = span.place
            found.append(_expose(guarantee, span).list_threats().assign(first=first, last=last))
        listed = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
        return listed[["first", "last", *listed.columns.drop(["first", "last"])]]

    number = max(int(at_risk.sum()), alone.rows_at_risk)
    cascade = partial(_drop_exposed, guarantee, series)
    return Audit(alone.guarantee, number, list_threats, table, series.persons.linked, cascade)


def _drop_exposed(guarantee: Guarantee, series: Series) -> pd.DataFrame:
    """Drop the persons at risk from the newest release, round by round, until its spans hold."""
    row_of, newest = series.persons.row_of.copy(), len(series.frames) - 1
    lines: list[tuple[int, int, int, int]] = []
    while True:
        at_risk = np.zeros(row_of.shape[1], np.bool_)
        for span in replace(series, persons=Persons(row_of, series.persons.linked)).spans():
            if span.place[1] == newest:
                at_risk[span.persons[_expose(guarantee, span).mark_rows()]] = True
        if not at_risk.any():
            return pd.DataFrame(lines, columns=["round", "rows", "dropped", "left"], dtype=np.int64)
        rows = int(np.count_nonzero(row_of[-1] >= 0))
        row_of[-1, at_risk] = -1
        dropped = int(at_risk.sum())
        lines.append((len(lines) + 1, rows, dropped, rows - dropped))


def _read(guarantee: Guarantee, releases: Sequence[Released], column: Hashable | None, key: Any) -> Series:
    """Link the releases, as far as the guarantee needs their lists."""
    if not isinstance(guarantee, (KmAnonymity, PrivacyConstraints, KAnonymity, KKm, LmDiversity)):
        hint = "pass KmAnonymity, PrivacyConstraints, KAnonymity, KKm or LmDiversity"
        hint += ", which imply parts of others"
        problem, name = "this guarantee has no form for several releases", type(guarantee).__name__
        got = f"{name}: {_REASONS.get(name, 'its rows are no persons')}"
        raise ParameterError(problem, where="guarantee and previous", got=got, hint=hint)
    if isinstance(guarantee, KAnonymity):
        return Series.without_lists(releases, key)
    if isinstance(guarantee, KKm) and guarantee.columns is not None:
        hint = "audit one list column at a time"
        problem = "several list columns have no joint labels"
        raise ParameterError(problem, where="columns", got=len(guarantee.columns), hint=hint)
    series = Series.of(releases, column, key)
    if isinstance(guarantee, LmDiversity):
        for rows in series.columns:
            refuse_members(rows, guarantee.sensitive, guarantee.mapping)
    return series


_REASONS = {
    "TransactionalK": "its recoding is local, so an item has no joint label",
    "PublicK": "it compares whole rows, not known items",
    "KLm": "its releases are local recodings, so an item has no joint label",
    "Coherence": "what an item says of others changes between releases",
    "PSRules": "what an item says of others changes between releases",
    "RhoUncertainty": "what an item says of others changes between releases",
    "SensitiveGroups": "groups of two releases have no common rows",
    "DisassociatedKm": "its rows are parts of records",
}


class _Joint(NamedTuple):
    """Persons of a span at risk, and the threats: both are counted when they are called."""

    mark_rows: Callable[[], Mask]
    list_threats: Callable[[], pd.DataFrame]

    @classmethod
    def of(cls, span: Span, exposure: Exposure) -> _Joint:
        """Return an exposure of the joint labels, with these labels."""
        return cls(exposure.mark_rows, lambda: threat_lines(span, *exposure.list_threats()))


def threat_lines(
    span: Span, threats: ItemsetTable, why: Reasons, numbers: Numbers | None = None
) -> pd.DataFrame:
    """Return threats as a frame: ``itemset``, in sets of items with the same labels, ``support`` and ``why``.

    ``numbers`` are the joint labels of the codes of the threats, if these differ.
    """
    numbers = np.arange(span.n_labels) if numbers is None else numbers
    vocabulary = span.vocabulary()
    sets = threats.to_rows(vocabulary).recode(numbers, vocabulary)
    return pd.DataFrame({"itemset": sets.to_pandas(), "support": threats.supports, "why": why})


@singledispatch
def _expose(guarantee: Any, span: Span) -> _Joint:
    """Expose the persons of a span: the guarantee must hold for their joint labels and values."""
    raise NotImplementedError


@_expose.register
def _(guarantee: KmAnonymity, span: Span) -> _Joint:
    return _Joint.of(span, expose_itemsets(span.index, len(span.persons), guarantee.k, guarantee.m))


@_expose.register
def _(guarantee: PrivacyConstraints, span: Span) -> _Joint:
    wanted = Itemsets.from_series(guarantee.constraints)
    places = find_items(item_texts(wanted.vocabulary), span.series.items)
    labels = np.append(span.of_item, UNKNOWN)[places]  # -1, an unknown item, selects the last
    held = ~mask_at(wanted.n_rows, wanted.rows[labels[wanted.codes] == UNKNOWN])
    joint = SupportIndex.of(wanted).recode(labels, max(span.n_labels, 1)).within(held)
    return _Joint.of(span, expose_constraints(span.index, len(span.persons), guarantee.k, joint))


@_expose.register
def _(guarantee: LmDiversity, span: Span) -> _Joint:
    """Expose known joint labels together with the sensitive items of each release."""
    sensitive = guarantee.sensitive
    labels = span.of_item[sensitive.find(span.series.items) < 0]
    is_known = mask_at(span.n_labels, labels[labels >= 0])
    persons, codes = [], []
    for number, release in enumerate(span.releases):
        rows = span.series.columns[release].take(span.rows(release))
        found = sensitive.find(rows.vocabulary)[rows.codes]
        persons.append(rows.rows[found >= 0])
        codes.append(found[found >= 0] + number * len(sensitive))
    person, code = np.concatenate(persons), np.concatenate(codes)
    order = np.lexsort((code, person))
    offsets = offsets_of(np.bincount(person, minlength=len(span.persons)))
    secrets = SupportIndex(code[order].astype(np.int32), offsets, len(sensitive) * len(span.releases))
    known = span.index.keep_items(is_known)
    return _Joint.of(span, expose_secrets(guarantee, known, secrets, len(span.persons)))


# --- Quasi-identifiers


@_expose.register
def _(guarantee: KAnonymity, span: Span) -> _Joint:
    classes = _classes(span, guarantee.quasi)
    _, first, sizes = np.unique(classes, return_index=True, return_counts=True)
    few = sizes < guarantee.k

    def list_threats() -> pd.DataFrame:
        return pd.DataFrame({"size": sizes[few]}).join(_values(span, guarantee.quasi, first[few]))

    return _Joint(lambda: few[classes], list_threats)


@_expose.register
def _(guarantee: KKm, span: Span) -> _Joint:
    """Expose the joint labels within each class of `KAnonymity`."""
    classes, n = _classes(span, guarantee.quasi), max(span.n_labels, 1)
    _, first, sizes = np.unique(classes, return_index=True, return_counts=True)
    few = sizes < guarantee.k
    cells = np.repeat(classes, np.diff(span.offsets)) * n + span.codes
    pairs, codes = number_distinct(cells, len(sizes) * n)
    index = SupportIndex(codes.astype(np.int32), span.offsets, len(pairs))  # a label has a code in each class

    def list_threats() -> pd.DataFrame:
        found = index.rare(guarantee.k, guarantee.m)
        owners = (pairs // n)[found.codes[found.offsets[:-1]]]
        large, small = ~few[owners], np.flatnonzero(few)
        lines = threat_lines(span, found.take(large), "rare", pairs % n)
        listed = pd.concat(
            [threat_lines(span, empty_itemsets(sizes[small]), "class"), lines], ignore_index=True
        )
        return listed.join(_values(span, guarantee.quasi, first[np.concatenate((small, owners[large]))]))

    return _Joint(lambda: few[classes] | index.at_risk(guarantee.k, guarantee.m), list_threats)


def _classes(span: Span, quasi: Sequence[Hashable]) -> Numbers:
    """Number the tuples of published values of the persons of a span."""
    classes = []
    for release in span.releases:
        frame = span.series.frames[release]
        classes.append(equal_rows(frame, find_quasi(frame, quasi))[span.rows(release)])
    return np.unique(np.column_stack(classes), axis=0, return_inverse=True)[1].reshape(-1)


def _values(span: Span, quasi: Sequence[Hashable], people: Numbers) -> pd.DataFrame:
    """Return the values of some persons of a span in its releases, each with the number of the release."""
    columns = {}
    for release in span.releases:
        frame, rows = span.series.frames[release], span.rows(release)[people]
        for label, position in zip(quasi, find_quasi(frame, quasi), strict=True):
            columns[f"{label} {release}"] = frame.iloc[rows, position].array
    return pd.DataFrame(columns, index=range(len(people)))
