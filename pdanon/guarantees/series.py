"""Releases over time: rows of the same persons, linked, their joint labels, and their audits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import partial, singledispatch
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_hashable, is_numeric_dtype

from pdanon._kernels.counting import join_rows
from pdanon.errors import ParameterError, PdanonError, ReleaseWarning, warn
from pdanon.guarantees.k_anonymity import KAnonymity, equal_rows
from pdanon.guarantees.kkm import KKm
from pdanon.guarantees.km import (
    KmAnonymity,
    LmDiversity,
    PrivacyConstraints,
    expose_constraints,
    expose_itemsets,
    expose_secrets,
)
from pdanon.guarantees.named import SUPPRESSED, UNKNOWN, label_codes, refuse_members
from pdanon.guarantees.verdict import Audit, Exposure, Guarantee, Reasons
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import (
    Codes,
    Itemsets,
    Mask,
    Numbers,
    find_items,
    first_copies,
    item_texts,
    read_visible,
)
from pdanon.itemsets.columns import counts_rows, find_column, find_quasi, label_position
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import append_rows, mask_at, number_distinct, offsets_of, to_numpy
from pdanon.itemsets.mapping import (
    check_mapping,
    global_mapping,
    label_members,
    set_labels,
    without_deletions,
)
from pdanon.itemsets.support import ItemsetTable, SupportIndex, empty_itemsets
from pdanon.itemsets.timing import part_done
from pdanon.itemsets.validation import check_frame

PRESENT, JOINED, ANY = KNOWLEDGE = ("present", "joined", "any")


@frozen
class Released:
    """A release of a series, as its recipients read it."""

    # ``mapping``: the label of each item. Without it, the label ``(a,b)`` names a and b, and any other label
    # is an item. ``where``: the parameter that it was passed as, for messages.

    frame: pd.DataFrame
    mapping: pd.DataFrame | None
    where: str


def read_releases(frame: pd.DataFrame, previous: Any, mapping: pd.DataFrame | None) -> list[Released]:
    """Return the releases of a series, the oldest first; parameters as in `pdanon.after`."""
    check_frame(frame)
    earlier = previous if isinstance(previous, list) else [previous]
    if not earlier:
        hint = "pass the earlier release, or a list, the oldest first: after([january, february])"
        raise ParameterError("there is no earlier release", where="previous", hint=hint)
    names = ["previous"] if earlier is not previous else [f"previous[{i}]" for i in range(len(earlier))]
    return [*map(_read_release, earlier, names), Released(frame, mapping, "the newest release")]


def _read_release(release: Any, where: str) -> Released:
    if isinstance(release, pd.DataFrame):
        return Released(release, None, where)
    parts = release
    if not isinstance(release, tuple):
        parts = getattr(release, "frame", None), getattr(release, "mapping", None)
    if len(parts) == 2 and all(isinstance(each, pd.DataFrame) for each in parts):
        return Released(parts[0], parts[1], where)
    hint = "pass a released frame, a result, or a pair of a frame and its mapping; several are a list"
    raise ParameterError("not a release", where=where, got=type(release).__name__, hint=hint)


@contextmanager
def _named(release: Released) -> Iterator[None]:
    """Name the release in errors about its frame or its mapping."""
    try:
        yield
    except PdanonError as error:
        parts = dict(error.parts)
        where = ", ".join(filter(None, (release.where, parts.pop("where", None))))
        raise type(error)(parts.pop("what"), where=where, **parts) from None


# --- Rows of the same person


@frozen
class Persons:
    """The rows of each person in each release."""

    # ``row_of`` (releases, persons): the row of each person; -1 if the person is not in the release.
    # ``linked``: the key of the persons, as text.

    row_of: Numbers
    linked: str

    @classmethod
    def of(cls, releases: Sequence[Released], key: Any) -> Persons:
        """Link the rows of several releases by a column, by lists of persons, or by the index."""
        keys = [_read_keys(*each) for each in zip(releases, _keys_of(releases, key), strict=True)]
        kinds = set[str]()  # keys of two kinds are never equal
        for each in filter(len, keys):
            kinds |= {"numbers"} if is_numeric_dtype(each.dtype) else {*map(_kind_of, each)}
        if len(kinds) > 1:
            hint = "convert the keys to one type, such as .astype(str)"
            got = " and ".join(sorted(kinds))
            raise ParameterError("keys of several types link no rows", where="key", got=got, hint=hint)
        numbers, _ = pd.factorize(np.concatenate([each.to_numpy(object) for each in keys]))
        row_of = np.full((len(keys), int(numbers.max(initial=-1)) + 1), -1)
        bounds = offsets_of(np.array([len(each) for each in keys]))
        for release, (begin, end) in enumerate(pairwise(bounds)):
            row_of[release, numbers[begin:end]] = np.arange(end - begin)
        linked = "index" if key is None else "key" if isinstance(key, list) else repr(key)
        several = (row_of >= 0).sum(axis=0) > 1
        return cls(row_of, linked if several.any() else f"{linked} (nobody in two releases)")

    def without(self, missing: Sequence[Mask]) -> Persons:
        """Leave out missing rows, whose persons are not in the release."""
        row_of = self.row_of.copy()
        for rows, gone in zip(row_of, missing, strict=True):
            rows[(rows >= 0) & gone[np.maximum(rows, 0)]] = -1
        return Persons(row_of, self.linked)


def _keys_of(releases: Sequence[Released], key: Any) -> list[Any]:
    """Return the key of each release: a column, the persons of its rows, or None for the index."""
    if is_hashable(key):
        return [key] * len(releases)
    got = type(key).__name__
    if isinstance(key, list):
        if len(key) == len(releases) and not any(map(is_hashable, key)):
            return key
        got = f"a list of {len(key)} for {len(releases)} releases"
    hint = "list the persons of each release, the oldest first: key=[january['id'], february['id']]"
    problem = "key must be one column, or a list of the persons of each release"
    raise ParameterError(problem, where="key", got=got, hint=hint)


def _read_keys(release: Released, key: Any) -> pd.Index[Any]:
    """Return the key of each row, each of them once."""
    with _named(release):
        frame = check_frame(release.frame)
        where = "index" if key is None else f"key {key!r}" if is_hashable(key) else "key"
        if key is None:
            keys = _index_of(frame)
        elif is_hashable(key):
            column = frame.iloc[:, label_position(frame, key)]
            keys = pd.Index(column, dtype=column.dtype)  # as older pandas infers another one
        else:
            keys = pd.Index(key)
            if len(keys) != len(frame):
                got, hint = f"{len(keys)} persons for {len(frame)} rows", "list one person for each row"
                raise ParameterError("the persons are not those of the rows", where=where, got=got, hint=hint)
        values = keys.to_frame() if isinstance(keys, pd.MultiIndex) else keys.to_series()
        missing = int(np.count_nonzero(np.asarray(values.isna()).reshape(len(keys), -1).any(axis=1)))
        if missing:
            hint = "remove these rows, or give each of them a key"
            got = f"{missing} of {len(keys)} rows without a key"
            raise ParameterError("a key is missing", where=where, got=got, hint=hint)
        if not all(map(is_hashable, keys)):
            hint = "name a column of numbers or texts"
            raise ParameterError("a key is a list, or another value that changes", where=where, hint=hint)
        if keys.has_duplicates:
            hint = "a release has one row for each person; gather the rows of a person first"
            got = f"{int(keys.duplicated().sum())} of {len(keys)} rows with the key of an earlier one"
            raise ParameterError("a key repeats", where=where, got=got, hint=hint)
    return keys


def _index_of(frame: pd.DataFrame) -> pd.Index[Any]:
    """Return the index, unless it only counts the rows: order alone links nobody."""
    if len(frame) and counts_rows(frame.index):
        hint = (
            "name the column that identifies a person: key='id' (--key id); or pass the persons of each "
            "release: key=[january['id'], february['id']] (--links, the files of anonymize --links)"
        )
        what = "nothing links the rows of a person: the index only counts rows, and their order links nobody"
        raise ParameterError(what, where="index", hint=hint)
    return frame.index


def _kind_of(value: Any) -> str:
    if isinstance(value, tuple):  # of an index with several levels
        return f"({', '.join(map(_kind_of, value))})"
    if isinstance(value, datetime):
        return "times" if value.tzinfo is None else "times with a zone"
    if isinstance(value, (int, float, Decimal, np.number)):
        return "numbers"
    return "texts" if isinstance(value, str) else type(value).__name__


# --- Labels of items


@frozen
class Series:
    """The releases of a series, with the label of each item in each release."""

    persons: Persons
    frames: list[pd.DataFrame]
    columns: list[Itemsets]
    items: pa.Array
    labels: list[Codes]  # of items by release; `SUPPRESSED`, or `UNKNOWN` if no row can have it

    @classmethod
    def of(cls, releases: Sequence[Released], column: Hashable | None, key: Any) -> Series:
        """Link the releases of a series, and resolve their labels."""
        columns, named, newest = [], [], releases[-1].frame
        for release in releases:
            with _named(release):
                refuse_chunks(check_frame(release.frame))
                position = find_column(release.frame, column)
                found = release.frame.columns[position]
                if column is None and found != (label := newest.columns[find_column(newest)]):
                    got, hint = repr(found), "name the list column: column='items'"
                    problem = f"the list column is not {label!r}, as in the newest release"
                    raise ParameterError(problem, got=got, hint=hint)
                columns.append(read_visible(release.frame.iloc[:, position]))
        persons = Persons.of(releases, key).without([each.nulls for each in columns])
        are_new = bool(((persons.row_of >= 0).sum(axis=0) < 2).all())
        for release, rows in zip(releases, columns, strict=True):
            with _named(release):
                named.append(_items_of(rows, release.mapping, are_new=are_new))
        texts = [items.cast(pa.large_string()) for items, _ in named]
        encoded = pa.chunked_array(texts).combine_chunks().dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False)
        labels, begin = [], 0
        for release, rows, (items, codes) in zip(releases, columns, named, strict=True):
            # Of a frame alone nobody can tell whether an item that it does not name is suppressed.
            absent = SUPPRESSED if release.mapping is None else UNKNOWN
            of_item = np.full(len(encoded.dictionary), absent, np.int32)
            of_item[numbers[begin : begin + len(items)]] = np.where(codes < rows.n_items, codes, UNKNOWN)
            if release.mapping is None and (unnamed := int((of_item == absent).sum())):
                _warn_of_unnamed(release, unnamed, len(of_item))
            labels.append(of_item)
            begin += len(items)
        return cls(persons, [release.frame for release in releases], columns, encoded.dictionary, labels)

    @classmethod
    def without_lists(cls, releases: Sequence[Released], key: Any) -> Series:
        """Link the releases of a series, in which no row has an item."""
        frames = [release.frame for release in releases]
        no_items, no_labels = pa.array([], pa.large_string()), np.zeros(0, np.int32)
        columns = [empty_itemsets(np.zeros(len(each), np.int64)).to_rows(no_items) for each in frames]
        return cls(Persons.of(releases, key), frames, columns, no_items, [no_labels] * len(frames))

    def spans(self, knowledge: str = PRESENT) -> Iterator[Span]:
        """Return the spans of an attacker, by first and last release."""
        # ``knowledge``: what the attacker knows of a person: that the person is in all releases of a span;
        # also in which release the person joined; or exactly in which releases the person is.
        if knowledge == ANY:
            yield from self._patterns()
            return
        joined = np.argmax(self.persons.row_of >= 0, axis=0)
        for first in range(len(self.columns)):
            span = self._start(first)
            for last in range(first, len(self.columns)):
                if last > first:
                    span = self._extend(span, last)
                yield span if knowledge == PRESENT else span.within(joined[span.persons] == first)
                part_done()

    def _patterns(self) -> Iterator[Span]:
        """Return a span for each set of releases that a person is in, with these persons alone."""
        patterns, of_person = np.unique((self.persons.row_of >= 0).T, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            first, *others = np.flatnonzero(pattern).tolist() or [-1]
            if first >= 0:
                start = self._start(first)
                span = start.within(of_person.reshape(-1)[start.persons] == number)
                for release in others:
                    span = self._extend(span, release)
                yield span

    def _start(self, release: int) -> Span:
        """Return the span of one release."""
        persons = np.flatnonzero(self.persons.row_of[release] >= 0)
        rows = self.columns[release].take(self.persons.row_of[release, persons])
        return Span(self, (release,), persons, SupportIndex.of(rows), self.labels[release])

    def _extend(self, span: Span, release: int) -> Span:
        """Add a release to a span: its persons are in both, its joint labels have one more part."""
        row_of, labels = self.persons.row_of[release], self.labels[release]
        span = span.within(row_of[span.persons] >= 0)
        rows = self.columns[release].take(row_of[span.persons])
        # A pair of a joint label and a label, each plus one: 0 is no part so far, or none in this release.
        known = (span.of_item >= SUPPRESSED) & (labels >= SUPPRESSED)
        width = rows.n_items + 1
        pairs = (span.of_item[known] + np.int64(1)) * width + labels[known] + 1
        pairs, codes = np.unique(np.append(pairs, 0), return_inverse=True)  # 0: still no part
        of_item = np.full(len(labels), UNKNOWN, np.int32)
        of_item[known] = codes.reshape(-1)[:-1] - 1
        before, now = np.divmod(pairs[1:], width)
        alone = int(np.searchsorted(before, 1))  # the labels of items without a part so far come first
        first_known = np.full(rows.n_items, -1, np.int32)
        first_known[now[:alone] - 1] = np.arange(alone)
        starts = np.searchsorted(before, np.arange(span.n_labels + 1) + 1)
        joined = join_rows(
            *(span.index.codes, span.index.offsets, rows.codes, rows.offsets),
            *(starts, (now - 1).astype(np.int32), first_known),
        )
        index = SupportIndex(*joined, len(before))
        return Span(self, (*span.releases, release), span.persons, index, of_item)


@frozen
class Span:
    """Releases of a series, and the persons that an attacker knows to be in all of them."""

    series: Series
    releases: tuple[int, ...]
    persons: Numbers
    index: SupportIndex  # the joint labels of the persons
    of_item: Codes  # the joint label of each item

    @property
    def place(self) -> tuple[int, int]:
        """The first and the last release."""
        return self.releases[0], self.releases[-1]

    @property
    def n_labels(self) -> int:
        """Number of joint labels."""
        return self.index.n_items

    def within(self, chosen: Mask) -> Span:
        """Take some persons."""
        if chosen.all():
            return self
        return replace(self, persons=self.persons[chosen], index=self.index.within(chosen))

    def rows(self, release: int) -> Numbers:
        """Return the row of each person in one of the releases."""
        return self.series.persons.row_of[release, self.persons]

    def vocabulary(self) -> pa.Array:
        """Return the set of the items of each joint label, as a label."""
        known = np.flatnonzero(self.of_item >= 0)
        order = known[np.argsort(self.of_item[known], kind="stable")]
        sizes = np.bincount(self.of_item[known], minlength=self.n_labels)
        if not self.n_labels:
            return pa.array([], pa.string())
        texts = self.series.items
        ranked = np.lexsort((to_numpy(pc.rank(texts))[order], self.of_item[order]))
        return set_labels(texts, order[ranked], sizes)


def _warn_of_unnamed(release: Released, unnamed: int, n_items: int) -> None:
    """Warn if a frame alone may hide under another name what other releases show."""
    what = f"no label of {release.where} names {unnamed:,} of the {n_items:,} items of all releases: "
    what += (
        "they count as suppressed there. If a label stands for them, the releases tell more than is counted"
    )
    hint = "pass the result instead of its frame, or the frame with its mapping (--mapping for each release)"
    warn(ReleaseWarning(what, hint=hint))


def _items_of(rows: Itemsets, mapping: pd.DataFrame | None, *, are_new: bool) -> tuple[pa.Array, Codes]:
    """Return the items of a release, as texts, and the code of the label of each item."""
    # If all persons are new, no two releases show different items of anybody, so rows may lose some.
    if (first_copies(rows.vocabulary) < np.arange(rows.n_items)).any():
        hint = "audit each release alone"
        raise ParameterError("a row repeats a label, so an item has no joint label", hint=hint)
    if mapping is not None:
        check_mapping(mapping)
        if are_new:
            mapping, _ = without_deletions(mapping)
        if (mapping["group"] != 0).any():
            hint = (
                "audit each release alone, or publish only new people; what a person shows may differ: one "
            )
            hint += "known item in one release, and another one in the next"
            raise ParameterError("a local recoding has no joint labels", where="mapping", hint=hint)
        items, _ = global_mapping(mapping)
        items = items.take(pa.compute.sort_indices(items))
        return item_texts(items), label_codes(items, rows, mapping)
    members = [label_members(text) or [text] for text in rows.texts()]
    items = pa.array([item for each in members for item in each], pa.large_string())
    repeated = len(items) - len(items.unique())
    if repeated:
        hint = "a local recoding, or one by rows, has no joint labels: audit each release alone"
        got = f"{repeated} items in several labels"
        raise ParameterError("an item has several labels in one release", got=got, hint=hint)
    return items, np.repeat(np.arange(len(members), dtype=np.int32), [len(each) for each in members])


# --- Audits: what each guarantee requires of the joint labels of a span


def audit_series(
    guarantee: Guarantee, releases: Sequence[Released], column: Hashable | None, *, key: Any, spans: str
) -> Audit:
    """Audit the newest of several releases alone, and with the earlier ones of the same persons."""
    # The parameters are those of `pdanon.after` and its ``audit``.
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
    table = pd.DataFrame(lines, columns=["knows", "first", "last", "releases", "rows", "rows_at_risk"])

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
    "KMap": "its rows are counted in a population",
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
    """Return threats as a frame: ``itemset``, in sets of items with equal labels, ``support`` and ``why``."""
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
    sensitive = guarantee.sensitive.within(span.series.items)
    labels = span.of_item[sensitive.find(span.series.items) < 0]
    is_known = mask_at(span.n_labels, labels[labels >= 0])
    shown, n_secrets = [], len(sensitive) * len(span.releases)
    for number, release in enumerate(span.releases):
        rows = span.series.columns[release].take(span.rows(release))
        found = sensitive.find(rows.vocabulary)
        codes = np.where(found < 0, -1, found + number * len(sensitive))
        shown.append(SupportIndex.of(rows).recode(codes, n_secrets))
    secrets = SupportIndex(*append_rows([(each.codes, each.offsets) for each in shown]), n_secrets)
    known = span.index.keep_items(is_known)
    return _Joint.of(span, expose_secrets(guarantee, known, secrets, len(span.persons)))


# --- Quasi-identifiers


@_expose.register
def _(guarantee: KAnonymity, span: Span) -> _Joint:
    classes, first, sizes = _classes(span, guarantee.quasi)
    few = sizes < guarantee.k

    def list_threats() -> pd.DataFrame:
        return pd.DataFrame({"size": sizes[few]}).join(_values(span, guarantee.quasi, first[few]))

    return _Joint(lambda: few[classes], list_threats)


@_expose.register
def _(guarantee: KKm, span: Span) -> _Joint:
    """Expose the joint labels within each class of `KAnonymity`."""
    classes, first, sizes = _classes(span, guarantee.quasi)
    few, n = sizes < guarantee.k, max(span.n_labels, 1)
    cells = np.repeat(classes, span.index.lengths) * n + span.index.codes
    pairs, codes = number_distinct(cells, len(sizes) * n)
    index = SupportIndex(
        codes.astype(np.int32), span.index.offsets, len(pairs)
    )  # a label has a code in each class

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


def _classes(span: Span, quasi: Sequence[Hashable]) -> tuple[Numbers, Numbers, Numbers]:
    """Number the tuples of published values of a span; also return the first person and the size of each."""
    classes = []
    for release in span.releases:
        frame = span.series.frames[release]
        classes.append(equal_rows(frame, find_quasi(frame, quasi))[span.rows(release)])
    found = np.unique(
        np.column_stack(classes), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    _, first, of_person, sizes = found
    return of_person.reshape(-1), first, sizes


def _values(span: Span, quasi: Sequence[Hashable], people: Numbers) -> pd.DataFrame:
    """Return the values of some persons of a span in its releases, each with the number of the release."""
    columns = {}
    for release in span.releases:
        frame, rows = span.series.frames[release], span.rows(release)[people]
        for label, position in zip(quasi, find_quasi(frame, quasi), strict=True):
            columns[f"{label} {release}"] = frame.iloc[rows, position].array
    return pd.DataFrame(columns, index=range(len(people)))
