"""Audits of a series of releases: what each guarantee requires of the joint labels of a span."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial, singledispatch
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees import breaches
from pdanon.guarantees.generalized_itemsets import UNKNOWN
from pdanon.guarantees.k_anonymity import KAnonymity, equal_rows
from pdanon.guarantees.kkm import KKm
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.lm import LmDiversity
from pdanon.guarantees.named import refuse_members
from pdanon.guarantees.series import PRESENT, Persons, Released, Series, Span
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.codes import Itemsets, find_items, item_texts
from pdanon.itemsets.columns import find_quasi
from pdanon.itemsets.lists import number_distinct, offsets_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex, empty_itemset


def audit_series(
    guarantee: Guarantee, releases: Sequence[Released], column: Hashable | None, *, key: Any, spans: str
) -> Audit:
    """Audit the newest of several releases alone, and with the earlier ones of the same persons.

    The parameters are those of `pdanon.after` and its ``audit``.
    """
    model = _model(guarantee)
    series = model.read(releases, column, key)
    alone = guarantee.audit(releases[-1].frame, column)
    at_risk = np.zeros(series.persons.row_of.shape[1], np.bool_)
    lines = []
    for knowledge in dict.fromkeys((PRESENT, spans)):
        for span in series.spans(knowledge):
            exposed = model.exposed(span)
            if knowledge == PRESENT:
                at_risk[span.persons[exposed]] = True
            lines.append((knowledge, *span.place, len(span.releases), len(span.persons), int(exposed.sum())))
    names = ["knows", "first", "last", "releases", "rows", "rows_at_risk"]
    table = pd.DataFrame(lines, columns=names)

    def list_threats() -> pd.DataFrame:
        found = [model.threats(span).assign(**_place(span)) for span in series.spans()]
        listed = pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)
        return listed[["first", "last", *listed.columns.drop(["first", "last"])]]

    number = max(int(at_risk.sum()), alone.rows_at_risk)
    cascade = partial(_drop_exposed, model, series)
    return Audit(alone.guarantee, number, list_threats, table, series.persons.linked, cascade)


def _drop_exposed(model: Model, series: Series) -> pd.DataFrame:
    """Drop the persons at risk from the newest release, round by round, until its spans hold."""
    row_of = series.persons.row_of.copy()
    lines: list[tuple[int, int, int, int]] = []
    while True:
        at_risk = np.zeros(row_of.shape[1], np.bool_)
        for span in replace(series, persons=Persons(row_of, series.persons.linked)).newest_spans():
            at_risk[span.persons[model.exposed(span)]] = True
        if not at_risk.any():
            return pd.DataFrame(lines, columns=["round", "rows", "dropped", "left"], dtype=np.int64)
        rows = int(np.count_nonzero(row_of[-1] >= 0))
        row_of[-1, at_risk] = -1
        dropped = int(at_risk.sum())
        lines.append((len(lines) + 1, rows, dropped, rows - dropped))


def _place(span: Span) -> dict[str, int]:
    return dict(zip(("first", "last"), span.place, strict=True))


class Model(Protocol):
    """A guarantee of joint labels."""

    def read(self, releases: Any, column: Hashable | None, key: Any) -> Series:
        """Link the releases."""

    def exposed(self, span: Span) -> NDArray[np.bool_]:
        """Return whether each person of a span is at risk."""

    def threats(self, span: Span) -> pd.DataFrame:
        """List the threats of a span."""


@singledispatch
def _model(guarantee: Any) -> Model:
    """Return the guarantee of joint labels that a guarantee of one release becomes."""
    hint = "pass KmAnonymity, PrivacyConstraints, KAnonymity, KKm or LmDiversity, which imply parts of others"
    problem = "this guarantee has no form for several releases"
    got = f"{type(guarantee).__name__}: {_REASONS.get(type(guarantee).__name__, 'its rows are no persons')}"
    raise ParameterError(problem, where="guarantee and previous", got=got, hint=hint)


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


def threat_lines(
    span: Span, threats: ItemsetTable, why: str | NDArray[np.str_], numbers: NDArray[np.int64] | None = None
) -> pd.DataFrame:
    """Return threats as a frame: ``itemset``, in sets of items with the same labels, ``support`` and ``why``.

    ``numbers`` are the joint labels of the codes of the threats, if these differ.
    """
    codes = threats.codes if numbers is None else numbers[threats.codes].astype(np.int32)
    nulls = np.zeros(len(threats), np.bool_)
    vocabulary = span.vocabulary()
    sets = Itemsets(codes, threats.offsets, vocabulary, nulls).recode(np.arange(span.n_labels), vocabulary)
    return pd.DataFrame({"itemset": sets.to_pandas(), "support": threats.supports, "why": why})


def _few(span: Span, k: int) -> bool:
    """Return whether presence alone leaves fewer than k candidates."""
    return 0 < len(span.persons) < k


@dataclass(frozen=True, eq=False)
class _Lists:
    """A guarantee about list columns."""

    guarantee: Any

    def read(self, releases: Any, column: Hashable | None, key: Any) -> Series:
        return Series.of(releases, column, key)


# --- k^m-anonymity


@dataclass(frozen=True, eq=False)
class _JointKm(_Lists):
    """Every joint itemset of at most m labels is held by no person or at least k."""

    guarantee: KmAnonymity

    def exposed(self, span: Span) -> NDArray[np.bool_]:
        if _few(span, self.guarantee.k):
            return np.ones(len(span.persons), np.bool_)
        return span.index.at_risk(self.guarantee.k, self.guarantee.m)

    def threats(self, span: Span) -> pd.DataFrame:
        few = len(span.persons) if _few(span, self.guarantee.k) else 0
        found = empty_itemset(few) if few else span.index.rare(self.guarantee.k, self.guarantee.m)
        return threat_lines(span, found, "rare")


@_model.register
def _(guarantee: KmAnonymity) -> Model:
    return _JointKm(guarantee)


# --- Privacy constraints


@dataclass(frozen=True, eq=False)
class _JointConstraints(_Lists):
    """Each listed itemset, by its joint labels, is held by no person or at least k."""

    guarantee: PrivacyConstraints

    @cached_property
    def wanted(self) -> Itemsets:
        """The constraints."""
        return Itemsets.from_series(self.guarantee.constraints)

    def exposed(self, span: Span) -> NDArray[np.bool_]:
        if _few(span, self.guarantee.k):
            return np.ones(len(span.persons), np.bool_)
        return span.index.contains_any(self._rare(span))

    def threats(self, span: Span) -> pd.DataFrame:
        few = len(span.persons) if _few(span, self.guarantee.k) else 0
        found = empty_itemset(few) if few else self._rare(span).ordered()
        return threat_lines(span, found, "constraint")

    def _rare(self, span: Span) -> ItemsetTable:
        """Return the violated constraints."""
        places = find_items(item_texts(self.wanted.vocabulary), span.series.items)
        labels = np.append(span.of_item, UNKNOWN)[places]  # -1, an unknown item, selects the last
        held = np.ones(self.wanted.n_rows, np.bool_)
        held[self.wanted.rows[labels[self.wanted.codes] == UNKNOWN]] = False
        joint = SupportIndex(self.wanted.codes, self.wanted.offsets, self.wanted.n_items)
        each = joint.recode(labels, max(span.n_labels, 1)).within(held).distinct()
        supports = span.index.supports(each.codes, each.offsets)
        rare = (supports > 0) & (supports < self.guarantee.k) & (np.diff(each.offsets) > 0)
        return ItemsetTable(each.codes, each.offsets, supports).take(rare)


@_model.register
def _(guarantee: PrivacyConstraints) -> Model:
    return _JointConstraints(guarantee)


# --- l^m-diversity


@dataclass(frozen=True, eq=False)
class _JointLm(_Lists):
    """No sensitive item of a release is held by more than 1/l of the candidates of up to m known items."""

    guarantee: LmDiversity

    def read(self, releases: Any, column: Hashable | None, key: Any) -> Series:
        series = Series.of(releases, column, key)
        for rows in series.columns:
            refuse_members(rows, self.guarantee.sensitive, "sensitive", self.guarantee.mapping)
        return series

    def exposed(self, span: Span) -> NDArray[np.bool_]:
        known, secrets = self._split(span)
        if self._without_items(span, secrets):
            return np.ones(len(span.persons), np.bool_)
        return breaches.rows_at_risk(known, secrets, **self._bounds())

    def threats(self, span: Span) -> pd.DataFrame:
        known, secrets = self._split(span)
        why = self._without_items(span, secrets)
        if why:
            return threat_lines(span, empty_itemset(len(span.persons)), why)
        found = breaches.threats(known, secrets, **self._bounds())
        rare = found.supports < (self.guarantee.k or 1)
        return threat_lines(span, found, np.where(rare, "rare", "diversity"))

    def _bounds(self) -> dict[str, Any]:
        return {"share": Fraction(1, self.guarantee.l), "m": self.guarantee.m, "k": self.guarantee.k or 1}

    def _without_items(self, span: Span, secrets: SupportIndex) -> str:
        """Return the reason why an attacker without known items is a threat, if it is."""
        n = len(span.persons)
        if 0 < n < (self.guarantee.k or 1):
            return "rare"
        return "diversity" if int(secrets.singles.max(initial=0)) * self.guarantee.l > n else ""

    def _split(self, span: Span) -> tuple[SupportIndex, SupportIndex]:
        """Return the known joint labels of the persons, and the sensitive items of each release."""
        sensitive = self.guarantee.sensitive
        labels = span.of_item[sensitive.find(span.series.items) < 0]
        is_known = np.zeros(span.n_labels, np.bool_)
        is_known[labels[labels >= 0]] = True
        known = span.index.keep_items(is_known)
        persons, codes = [], []
        for number, release in enumerate(span.releases):
            rows = span.series.columns[release].take(span.rows(release))
            found = sensitive.find(rows.vocabulary)[rows.codes]
            persons.append(rows.rows[found >= 0])
            codes.append(found[found >= 0] + number * len(sensitive))
        person, code = np.concatenate(persons), np.concatenate(codes)
        order = np.lexsort((code, person))
        offsets = offsets_of(np.bincount(person, minlength=len(span.persons)))
        n_secrets = len(sensitive) * len(span.releases)
        return known, SupportIndex(code[order].astype(np.int32), offsets, n_secrets)


@_model.register
def _(guarantee: LmDiversity) -> Model:
    return _JointLm(guarantee)


# --- Quasi-identifiers


@dataclass(frozen=True, eq=False)
class _JointK:
    """Every tuple of the values of the quasi-identifiers in the releases is that of at least k persons."""

    guarantee: KAnonymity

    def read(self, releases: Any, column: Hashable | None, key: Any) -> Series:
        frames = [release.frame for release in releases]
        no_items, no_labels = pa.array([], pa.large_string()), np.zeros(0, np.int32)
        columns = [
            Itemsets(no_labels, np.zeros(len(each) + 1, np.int64), no_items, np.zeros(len(each), np.bool_))
            for each in frames
        ]
        return Series(Persons.of(releases, key), frames, columns, no_items, [no_labels] * len(frames))

    def exposed(self, span: Span) -> NDArray[np.bool_]:
        classes = _classes(span, self.guarantee.quasi)
        return np.bincount(classes)[classes] < self.guarantee.k

    def threats(self, span: Span) -> pd.DataFrame:
        classes = _classes(span, self.guarantee.quasi)
        _, first, sizes = np.unique(classes, return_index=True, return_counts=True)
        return pd.DataFrame({"size": sizes[sizes < self.guarantee.k]}).join(
            _values(span, self.guarantee.quasi, first[sizes < self.guarantee.k])
        )


@_model.register
def _(guarantee: KAnonymity) -> Model:
    return _JointK(guarantee)


@dataclass(frozen=True, eq=False)
class _JointKKm(_Lists):
    """k^m-anonymity of the joint labels within each class of `_JointK`."""

    guarantee: KKm

    def read(self, releases: Any, column: Hashable | None, key: Any) -> Series:
        if self.guarantee.columns is not None:
            hint = "audit one list column at a time"
            problem = "several list columns have no joint labels"
            raise ParameterError(problem, where="columns", got=len(self.guarantee.columns), hint=hint)
        return super().read(releases, column, key)

    def exposed(self, span: Span) -> NDArray[np.bool_]:
        classes, index, _ = self._within_classes(span)
        few = np.bincount(classes)[classes] < self.guarantee.k
        return few | index.at_risk(self.guarantee.k, self.guarantee.m)

    def threats(self, span: Span) -> pd.DataFrame:
        classes, index, pairs = self._within_classes(span)
        sizes = np.bincount(classes)
        class_of = pairs // max(span.n_labels, 1)
        found = index.rare(self.guarantee.k, self.guarantee.m)
        owners = class_of[found.codes[found.offsets[:-1]]]
        large = sizes[owners] >= self.guarantee.k
        small = np.flatnonzero(sizes < self.guarantee.k)
        first = np.unique(classes, return_index=True)[1]
        lines = threat_lines(span, found.take(large), "rare", pairs % max(span.n_labels, 1))
        none = ItemsetTable(np.zeros(0, np.int32), np.zeros(len(small) + 1, np.int64), sizes[small])
        listed = pd.concat([threat_lines(span, none, "class"), lines], ignore_index=True)
        people = first[np.concatenate((small, owners[large]))]
        return listed.join(_values(span, self.guarantee.quasi, people))

    def _within_classes(self, span: Span) -> tuple[NDArray[np.int64], SupportIndex, NDArray[np.int64]]:
        """Return the class of each person, and the joint labels with another code in each class."""
        classes, n = _classes(span, self.guarantee.quasi), max(span.n_labels, 1)
        cells = np.repeat(classes, np.diff(span.offsets)) * n + span.codes
        pairs, codes = number_distinct(cells, (int(classes.max(initial=-1)) + 1) * n)
        return classes, SupportIndex(codes.astype(np.int32), span.offsets, len(pairs)), pairs


@_model.register
def _(guarantee: KKm) -> Model:
    return _JointKKm(guarantee)


def _classes(span: Span, quasi: Sequence[Hashable]) -> NDArray[np.int64]:
    """Number the tuples of published values of the persons of a span."""
    frames = span.series.frames
    return span.number_classes(
        lambda release: equal_rows(frames[release], find_quasi(frames[release], quasi))
    )


def _values(span: Span, quasi: Sequence[Hashable], people: NDArray[np.int64]) -> pd.DataFrame:
    """Return the values of some persons of a span in its releases, each with the number of the release."""
    columns = {}
    for release in span.releases:
        frame, rows = span.series.frames[release], span.rows(release)[people]
        for label, position in zip(quasi, find_quasi(frame, quasi), strict=True):
            columns[f"{label} {release}"] = frame.iloc[rows, position].array
    return pd.DataFrame(columns, index=range(len(people)))
