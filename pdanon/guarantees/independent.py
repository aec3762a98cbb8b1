"""A second audit that counts each guarantee from its definition, in plain Python.

It reads the released values as Python lists, and shares no encoding, count or search with the audit. Only
the parameters of a guarantee, the columns of a frame and the labels of sets are read in the same way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import chain, count
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pandas.api.types import is_hashable, is_object_dtype

from pdanon.errors import ItemsetDtypeError, ParameterError, ReleaseWarning, warn
from pdanon.guarantees.coherence import Coherence
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.k_anonymity import KAnonymity, PublicK, TransactionalK
from pdanon.guarantees.kkm import KKm, KLm
from pdanon.guarantees.km import KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.named import MappedItems, NamedItems
from pdanon.guarantees.ps import AllRules, PSRules
from pdanon.guarantees.rho import RhoUncertainty
from pdanon.guarantees.sensitive_groups import GROUP, SensitiveGroups
from pdanon.guarantees.verdict import Audit, Guarantee, Suppression
from pdanon.itemsets.chunks import NAMES, ChunkTable
from pdanon.itemsets.columns import (
    ROW_TYPES,
    added_label,
    find_columns,
    find_quasi,
    is_missing,
    label_position,
    list_column,
)
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.mapping import global_mapping, label_members, without_deletions
from pdanon.itemsets.timing import TimeLimitError, check_time, limit_time

SECONDS = 60.0  # the default time limit
Items = frozenset[Any]  # labels as text; a repetition of a label in its row is a pair of label and number
Rows = Sequence[Items | None]  # None: a missing row
_NOTHING = Items()
_ALL = Fraction(1)
_SPELLING = "check the spelling and type of the items; of a release, pass the mapping"
_CLASSES = "pass the table of this release: guarantee.with_classes(result.classes)"


@takes_tables
def count_again(frame: pd.DataFrame, guarantee: Guarantee, column: Hashable | None, seconds: float) -> Audit:
    """Audit a frame from the definition of a guarantee: see `pdanon.audit`."""
    kind = type(guarantee)
    hint = f"pass one of {', '.join(each.__name__ for each in _JUDGES)}; or omit independent=True"
    _require(kind in _JUDGES, f"the independent audit does not know {kind.__name__}", "guarantee", hint)
    with limit_time(seconds):
        at_risk, judged = _JUDGES[kind](guarantee, _Table(frame, column))
    if judged is not None:
        ended = f"{seconds:g} seconds ended the audit"
        hint = f"pass more in Python, such as time_limit={10 * seconds:g}"
        if at_risk:
            warn(ReleaseWarning(f"{ended}: more than {at_risk:,} rows may be at risk", hint=hint))
        else:
            _require(judged, f"{ended} before all single items were judged", "time_limit", hint)
            guarantee = _limit(guarantee, judged)
    return _Recount(guarantee, at_risk, lambda: guarantee.audit(frame, column).threats)


class _Recount(Audit):
    """A verdict that owes nothing to the other one."""

    @property
    def holds(self) -> bool:
        """Whether the guarantee holds."""
        return not self.rows_at_risk


def join_persons(units: Iterable[Any], rows: Iterable[Any], *, counts: bool) -> pd.DataFrame:
    """Return a row per person with the items of all of its rows, each once, or with ``counts`` as often."""
    known = defaultdict[Any, Counter[Any]](Counter)
    for person, row in zip(units, rows, strict=True):
        known[person].update([] if is_missing(row) else row if isinstance(row, ROW_TYPES) else [row])
    joined = [sorted(own.elements() if counts else own, key=repr) for own in known.values()]
    return pd.DataFrame({0: pd.Series(joined, dtype=object)})


def _limit(guarantee: Any, m: int) -> Guarantee:
    """Return a guarantee against knowledge of up to m items."""
    if isinstance(guarantee, PSRules):
        return replace(guarantee, rules=_limit(guarantee.rules, m))
    return replace(guarantee, **{"p" if isinstance(guarantee, Coherence) else "m": m})


def _require(holds: Any, problem: str, where: str, hint: str = _SPELLING) -> None:
    if not holds:
        raise ParameterError(problem, where=where, hint=hint)


# --- Rows as a reader sees them


class _Table(NamedTuple):
    """A frame and the label of its list column."""

    frame: pd.DataFrame
    column: Hashable | None

    def read(self) -> Rows:
        """Return the labels of each row of the list column."""
        return _read_rows(list_column(*self))

    def values(self, label: Hashable) -> list[Any]:
        """Return the values of another column."""
        return self.frame.iloc[:, label_position(self.frame, label)].tolist()


def _text(item: Any) -> str:
    """Return an item as it is published."""
    if isinstance(item, (str, datetime, timedelta)):
        return str(item)
    found: str | None = None
    with suppress(pa.ArrowException, ArithmeticError, TypeError, ValueError):
        found = pa.scalar(item).cast(pa.string()).as_py()
    if found is None or item != item or isinstance(item, bytes):
        raise ItemsetDtypeError("an item is missing, or has no text", hint="convert the items to text")
    return found


def _texts(items: Iterable[Any]) -> set[str]:
    return {*map(_text, items)}


def _read_lists(column: pd.Series[Any]) -> list[list[str] | None]:
    """Return the labels of each row, in the order of a list, or sorted; None for a missing row."""
    kinds, rows = set[Any](), list[list[str] | None]()
    for number, row in enumerate(column):
        if is_missing(row):
            rows.append(None)
            continue
        if not isinstance(row, ROW_TYPES):
            raise ItemsetDtypeError("a row is not a list", where=f"row {number}", got=type(row).__name__)
        items = sorted(row) if isinstance(row, (set, frozenset)) else row
        kinds.update((type(item), getattr(item, "tzinfo", None)) for item in items)
        rows.append([*map(_text, items)])
    if len(kinds) > 1:
        raise ItemsetDtypeError("the items have several types", hint="convert them to text")
    return rows


def _read_rows(column: pd.Series[Any]) -> Rows:
    """Return the labels of each row; a repetition of a label is another label."""
    return [
        row
        if row is None
        else frozenset(
            (label, n) if n else label for label, times in Counter(row).items() for n in range(times)
        )
        for row in _read_lists(column)
    ]


def _name(label: Any) -> Any:
    """Return the text of a label or of a repetition."""
    return label if isinstance(label, str) else label[0]


def _named(row: Items | None, names: Collection[Any]) -> Items:
    """Return the named labels of a row, with their repetitions."""
    return frozenset(each for each in row or () if _name(each) in names)


def _present(rows: Rows) -> list[Items]:
    return [row for row in rows if row is not None]


def _labels(rows: Rows) -> set[str]:
    return {*map(_name, chain(*_present(rows)))}


def _check_named(
    rows: Rows, named: NamedItems, mapping: MappedItems | None, *, occur: bool = True, once: bool = True
) -> set[str]:
    """Return the texts of named items, and refuse those that cannot be counted by their labels."""
    # They are members of sets or, with ``occur``, in no row and not suppressed. With ``once`` and without a
    # mapping, refuse rows with two labels of an item.
    labels, names = _labels(rows), _texts(named)
    members = {label: found for label in labels if (found := label_members(label))}
    plain, left_out = (mapping.plain_labels, mapping.left_out) if mapping else ((), ())
    hidden = {*chain(*(found for label, found in members.items() if label not in plain))}
    for number, bounds in enumerate(named.ranges, len(named.values)):
        within = {label for label in labels | hidden if _is_within(label, *bounds)}
        _require(not occur or within or number in left_out, "no item is in a named range", named.name)
        names |= within
    _require(not names & hidden, "a named item is a member of a published set", named.name)
    there = all(number in left_out or _text(item) in labels for number, item in enumerate(named))
    _require(not occur or there, "a named item does not occur", named.name)
    for row in {*_present(rows)} if once and mapping is None and members else ():
        items = [*chain(*(members.get(label, [label]) for label in row & labels))]
        _require(len(items) == len({*items}), "labels of a row share an item", named.name)
    return names


def _is_within(label: str, low: str, high: str) -> bool:
    """Return whether a label begins with a code from one bound to the other, with the same dots."""
    begins = label.upper()[: len(low)]
    return len(begins) == len(low) and low <= begins <= high and begins.find(".") == low.find(".")


def _count_emptied(rows: Rows, k: int | None, suppression: Suppression | None) -> int:
    """Count the rows that suppression emptied, if they are fewer than k, and other rows have labels."""
    if not suppression or not suppression.suppresses or not any(rows):
        return 0
    number = rows.count(_NOTHING) - suppression.empty_rows
    return number if k and 0 < number < k else 0


# --- The search: all itemsets that rows contain, size by size


class _Row(NamedTuple):
    """The labels that an attacker may know, those to be inferred, and those of other rows that are public."""

    known: Items
    secrets: Items = _NOTHING
    shown: Items = _NOTHING


class _Search:
    """Find the rows that contain an itemset in fewer than k rows, or in too many with the same secret."""

    def __init__(
        self, rows: Iterable[_Row], k: int, m: int | None, share: Fraction, efforts: Mapping[str, int]
    ) -> None:
        self.weights = Counter(rows)
        self.rows, holders = [*self.weights], defaultdict[Any, set[int]](set)
        for number, row in enumerate(self.rows):
            for label in row.known:
                holders[label].add(number)
        self.labels = sorted(holders, key=lambda label: len(holders[label]))  # the rarest first
        rank = {label: number for number, label in enumerate(self.labels)}
        self.items = [sorted(rank[label] for label in row.known) for row in self.rows]
        self.efforts = [efforts.get(_name(label), 1) for label in self.labels]
        self.k, self.share, self.budget = k, share, sum(self.efforts) if m is None else m
        # No itemset of a row is rare if k rows contain the whole row.
        self.unsafe = {
            number
            for number, row in enumerate(self.rows)
            if row.known and self._count(set.intersection(*map(holders.__getitem__, row.known))) < k
        }
        self.exposed = set[int]()
        if m is None:
            self.exposed, self.unsafe = self.unsafe, self.exposed

    def judge(self, size: int) -> bool:
        """Judge all itemsets of a size, after all smaller ones; return whether there is one."""
        self.found = False
        self._visit([], range(len(self.rows)), size, self.budget)
        return self.found

    def _visit(self, itemset: list[int], rows: Iterable[int], left: int, budget: int) -> None:
        """Extend an itemset by items that are more frequent than its own."""
        check_time()
        holders = defaultdict[int, list[int]](list)
        for number in rows:
            items = self.items[number]
            for item in items[bisect_right(items, itemset[-1]) if itemset else 0 :]:
                holders[item].append(number)
        for item, held in holders.items():
            rest, larger = budget - self.efforts[item], [*itemset, item]
            if rest < 0 or self.exposed.issuperset(held):
                continue
            secret = 0
            if self.share < 1:
                known = {self.labels[each] for each in larger}
                secret = _count_secret({self.rows[n]: self.weights[self.rows[n]] for n in held}, known)
            if self.unsafe.isdisjoint(held) and secret <= self.share * self.k:
                continue
            if left > 1:
                self._visit(larger, held, left - 1, rest)
                continue
            self.found, n_rows = True, self._count(held)
            if n_rows < self.k or secret > self.share * n_rows:
                self.exposed.update(held)
                self.unsafe.difference_update(held)

    def _count(self, rows: Iterable[int]) -> int:
        return sum(self.weights[self.rows[number]] for number in rows)


def _count_secret(weights: Mapping[_Row, int], known: Collection[Any] = ()) -> int:
    """Count the rows with the most frequent secret that is not known, also those in which it is public."""
    hidden, shown = Counter[Any](), Counter[Any]()
    for row, weight in weights.items():
        for label in row.secrets:
            hidden[label] += weight
        for label in row.shown:
            shown[label] += weight
    return max((n + shown[label] for label, n in hidden.items() if label not in known), default=0)


def _judge_crowds(
    crowds: Iterable[Mapping[Any, _Row]],
    k: int,
    m: int | None,
    share: Fraction = _ALL,
    efforts: Mapping[str, int] = {},
    *,
    empty: bool = True,
) -> tuple[set[Any], int | None]:
    """Return the names of the rows at risk, and the size up to which itemsets were judged (None: all)."""
    # ``crowds``: rows by any name that an attacker cannot tell apart but by their items. With ``empty``, the
    # empty itemset, which all of them contain, is judged as well.
    at_risk, judged, searches = set[Any](), None, []
    for rows in crowds:
        secret = _count_secret(Counter(rows.values()))
        if empty and (len(rows) < k or secret > share * len(rows)):
            at_risk.update(rows)
        else:
            searches.append((_Search(rows.values(), k, m, share, efforts), rows))
    try:
        for size in count(1) if m is None else range(1, m + 1):
            if not sum(search.judge(size) for search, _ in searches):  # any() would stop at the first
                break
    except TimeLimitError:
        judged = size - 1
    for search, rows in searches:
        threatened = {search.rows[number] for number in search.exposed}
        at_risk.update(name for name, row in rows.items() if row in threatened)
    return at_risk, judged


# --- Guarantees, each by its definition: the number of rows at risk, and the size up to which they are judged

_Found = tuple[int, int | None]


def _judge_km(guarantee: Any, table: _Table) -> _Found:
    rows = table.read()
    found = _judge_crowds([dict(enumerate(map(_Row, _present(rows))))], guarantee.k, guarantee.m)
    return _with_emptied(rows, guarantee, *found)


def _with_emptied(rows: Rows, guarantee: Any, at_risk: Collection[Any], judged: int | None = None) -> _Found:
    """Count the rows at risk, and add those that suppression emptied."""
    emptied = _count_emptied(rows, getattr(guarantee, "k", None), Suppression.of(guarantee.mapping))
    return min(len(at_risk) + emptied, len(_present(rows))), judged


def _judge_inference(guarantee: Any, table: _Table) -> _Found:
    rows, is_rho = table.read(), isinstance(guarantee, RhoUncertainty)
    names = _check_named(rows, guarantee.sensitive, guarantee.mapping)
    split = dict[int, _Row]()
    for number, row in enumerate(_present(rows)):
        secrets = _named(row, names)
        split[number] = _Row(row if is_rho else row - secrets, secrets)  # rho: secrets may be known as well
    share, k = (guarantee.rho, 0) if is_rho else (Fraction(1, guarantee.l), guarantee.k)
    at_risk, judged = _judge_crowds([split], k or 1, guarantee.m, share)
    return _with_emptied(rows, guarantee, at_risk, judged)


def _judge_constraints(guarantee: Any, table: _Table) -> _Found:
    rows = table.read()
    mapping, lost = guarantee.mapping, set()
    if mapping is not None:
        mapping, gone = without_deletions(mapping)
        lost = _texts(gone.to_pylist())
    became, present = _read_mapping(rows, mapping, chain(*guarantee.constraints)), _present(rows)
    listed = {_NOTHING}
    for names in map(_texts, guarantee.constraints):
        shown = {frozenset(names)}
        for item in names & lost:
            shown |= {each - {item} for each in shown}
        listed |= {_publish(each, became) for each in shown}
    rare = (each for each in listed if 0 < len(_holding(present, each)) < guarantee.k)
    return _with_emptied(rows, guarantee, _holding(present, *rare))


def _read_mapping(rows: Rows, mapping: pd.DataFrame | None, listed: Iterable[Any]) -> dict[str, str | None]:
    """Return the label of each original item, None if it is suppressed."""
    labels = _labels(rows)
    if mapping is None:
        _check_named(rows, NamedItems.of(listed, "listed"), None, occur=False, once=False)
        return {label: label for label in labels}
    items, published = (each.to_pylist() for each in global_mapping(mapping))
    became = {
        _text(item): label if label is None else _text(label)
        for item, label in zip(items, published, strict=True)
    }
    hint = "pass the mapping of the release"
    _require(labels <= {*became.values()}, "the mapping has other labels than the rows", "mapping", hint)
    return became


def _publish(items: Iterable[Any], became: Mapping[str, str | None]) -> Items:
    """Return the published form of an itemset."""
    texts = _texts(items)
    _require(texts <= became.keys(), "a listed item does not occur in the data", "guarantee")
    return frozenset(became[each] for each in texts) - {None}


def _holding(rows: Iterable[Items], *itemsets: Items) -> list[Items]:
    """Return the rows that contain one of some itemsets."""
    return [row for row in rows if any(each <= row for each in itemsets)]


def _judge_rules(guarantee: Any, table: _Table) -> _Found:
    rows, rules, k, c = table.read(), guarantee.rules, guarantee.k, guarantee.c
    mapping = MappedItems.of_named(guarantee.mapping, guarantee.sensitive)
    names = _check_named(rows, guarantee.sensitive, mapping)
    became, present = _read_mapping(rows, guarantee.mapping, rules.known_items), _present(rows)
    if isinstance(rules, AllRules):
        public = became.keys() - names if rules.public is None else rules.public
        published = [_publish([each], became) for each in public]
        known = {*chain(*published)}
        split = {n: _Row(_named(row, known), _named(row, names)) for n, row in enumerate(present)}
        found = _judge_crowds([split], k, rules.m, c, empty=_NOTHING in published)
        return _with_emptied(rows, guarantee, *found)
    threats, listed = list[Items](), rules.to_frame()
    for items, sensitive in zip(listed["known"], listed["sensitive"], strict=True):
        image = _publish(items, became)
        matching = _holding(present, image)
        inferred = len(_holding(matching, frozenset(_texts(sensitive))))
        if 0 < len(matching) < k or inferred > c * len(matching):
            threats.append(image)
    return _with_emptied(rows, guarantee, _holding(present, *threats))


def _judge_coherence(guarantee: Any, table: _Table) -> _Found:
    private, p, mapping, effort = guarantee.private, guarantee.p, guarantee.mapping, guarantee.effort
    lists = [_read_rows(table.frame.iloc[:, place]) for place in find_columns(*table, private)]
    rows, of_items = lists[0], isinstance(private, NamedItems)
    hidden = [] if of_items or mapping is not None else [*_labels(lists[1])]
    named = private if of_items else NamedItems.of(hidden, "private")
    names = _check_named(rows, named, mapping, occur=False)
    _require(not of_items or names <= _labels(rows), "a private item does not occur", "private")
    efforts = dict[str, int]()
    if effort is not None:
        efforts = dict(zip(map(_text, effort.items.to_pylist()), effort.values.tolist(), strict=True))
    secrets = [_named(row, names) for row in rows] if of_items else [row or _NOTHING for row in lists[1]]
    every, split = {*chain(*secrets)}, dict[int, _Row]()
    for number, own in enumerate(secrets):
        row = rows[number] or _NOTHING
        problem = "an item is both public and private in a row"
        _require(of_items or not row & own, problem, "private", "remove one of the two")
        known = frozenset(each for each in row - own if efforts.get(_name(each), 1) <= p)
        split[number] = _Row(known, own, (row - own) & every)
    # An attacker may know in which columns a row is missing.
    kinds = [[], *([each] for each in lists), lists]
    chosen = {tuple(n for n in split if all(each[n] is not None for each in kind)) for kind in kinds}
    crowds = [{n: split[n] for n in own} for own in chosen]
    at_risk, judged = _judge_crowds(crowds, guarantee.k, p, guarantee.h, efforts)
    bare = [n for n, row in enumerate(rows) if row is not None and not split[n].known]
    had = mapping.rows_without_public if mapping is not None and mapping.suppresses else len(bare)
    shown = any(row.known for row in split.values()) and not at_risk & {*bare}
    emptied = len(bare) - had if shown and had < len(bare) < guarantee.k else 0
    return len(at_risk) + emptied, judged


def _judge_public(guarantee: Any, table: _Table) -> _Found:
    rows = table.read()
    names = _check_named(rows, guarantee.public, guarantee.mapping, occur=False, once=False)
    return _in_small_classes([row if row is None else _named(row, names) for row in rows], guarantee.k)


def _judge_transactional(guarantee: Any, table: _Table) -> _Found:
    return _in_small_classes(map(repr, _read_lists(list_column(*table))), guarantee.k)


def _judge_classes(guarantee: Any, table: _Table) -> _Found:
    return _in_small_classes(_read_classes(table.frame, guarantee.quasi), guarantee.k)


def _in_small_classes(classes: Iterable[Hashable], k: int) -> _Found:
    return sum(number for number in Counter(classes).values() if number < k), None


def _read_classes(frame: pd.DataFrame, quasi: Sequence[Hashable]) -> list[tuple[Any, ...]]:
    """Return the quasi-identifiers of each row, as displayed; missing values of a typed column are equal."""
    columns = []
    for place in find_quasi(frame, quasi):
        is_typed = not is_object_dtype(frame.dtypes.iloc[place])
        cells = [(value, is_missing(value)) for value in frame.iloc[:, place]]
        columns.append([("" if is_typed and gone else repr(value), gone or value) for value, gone in cells])
    comparable = all(map(is_hashable, chain(*columns)))
    _require(comparable, "the values of a quasi-identifier cannot be compared", "quasi", "convert to text")
    return [*zip(*columns, strict=True)]


def _judge_quasi(guarantee: Any, table: _Table) -> _Found:
    frame, k, mapping = table.frame, guarantee.k, guarantee.mapping
    lists = [_Table(frame, each).read() for each in getattr(guarantee, "columns", None) or [table.column]]
    names, share = set[str](), _ALL
    if isinstance(guarantee, KLm):
        names = _check_named(lists[0], guarantee.sensitive, mapping)
        share = Fraction(1, guarantee.l)
    classes, crowds, emptied = defaultdict[Any, list[int]](list), list[dict[int, _Row]](), list[int]()
    for number, value in enumerate(_read_classes(frame, guarantee.quasi)):
        classes[value].append(number)
    # An attacker may know in which columns a row is missing.
    kinds = [
        frozenset(n for n, row in enumerate(rows) if row is not None) for rows in zip(*lists, strict=True)
    ]
    for own in classes.values():
        for kind in {kinds[number] for number in own}:
            split = {}
            for number in own:
                if kind <= kinds[number]:
                    cells = frozenset((place, each) for place in kind for each in lists[place][number] or ())
                    secrets = frozenset(cell for cell in cells if _name(cell[1]) in names)
                    split[number] = _Row(cells - secrets, secrets)
            crowds.append(split)
        for rows in lists:
            empty = [number for number in own if rows[number] == _NOTHING]
            if len(empty) < k and any(rows[number] for number in own):
                emptied += empty
    at_risk, judged = _judge_crowds(crowds, k, guarantee.m, share)
    if mapping is not None and mapping.suppresses and len(emptied) > mapping.empty_rows:
        at_risk.update(emptied)
    return len(at_risk), judged


def _judge_groups(guarantee: Any, table: _Table) -> _Found:
    rows, counts, k, judged = table.read(), guarantee.classes, guarantee.k, None
    names = _check_named(rows, guarantee.sensitive, guarantee.mapping, occur=False, once=False)
    present, found = {n: row for n, row in enumerate(rows) if row is not None}, _labels(rows)
    at_risk = {n for n, row in present.items() if _named(row, names)}
    if counts is not None:
        groups, group_of = counts.groups.tolist(), table.values(added_label(table.frame, GROUP))
        fits = Counter(group_of) == Counter(dict(zip(groups, counts.sizes.tolist(), strict=True)))
        _require(fits, "the table of counts has other rows", "classes", _CLASSES)
        sizes = Counter(group_of[n] for n in present)
        lines = zip(counts.group.tolist(), counts.items.to_pylist(), counts.counts.tolist(), strict=True)
        for place, item, number in lines:
            if number:
                found.add(item)
            if number * guarantee.p > sizes[groups[place]]:
                at_risk.update(n for n in present if group_of[n] == groups[place])
    _require(names <= found, "a sensitive item is in no group", "sensitive", _CLASSES)
    if k is not None:
        public = {n: _Row(row - _named(row, names)) for n, row in present.items()}
        rare, judged = _judge_crowds([public], k, guarantee.m)
        at_risk |= rare
        if _count_emptied(rows, k, guarantee.mapping):
            at_risk.update(n for n, row in present.items() if not row)
    return len(at_risk), judged


def _judge_chunks(guarantee: Any, table: _Table) -> _Found:
    """Count the records of clusters that violate one of the conditions that suffice for the guarantee."""
    ChunkTable.of(*table)  # refuses other frames
    k, m = guarantee.k, guarantee.m
    joints, sizes, crowds = dict[int, int](), dict[int, int](), list[dict[Any, _Row]]()
    chunks = defaultdict[int, defaultdict[int, list[Items]]](lambda: defaultdict(list))
    for name, joint, size, chunk, row in zip(*map(table.values, NAMES), table.read(), strict=True):
        joints[name], sizes[name] = joint, size
        chunks[name][chunk].append(row or _NOTHING)
    times = {name: Counter(chain(*chain(*own.values()))) for name, own in chunks.items()}
    parts = defaultdict[int, list[int]](list)
    failed = set[int]()
    for name, above in joints.items():
        while above:
            parts[above].append(name)
            above = joints[above]
    for name, size in sizes.items():
        below = sum((times[part] for part in parts[name]), Counter[Any]())
        found = [{*chain(*rows)} for rows in chunks[name].values()]
        # A term is in one of the chunks that can have parts of the same record.
        is_bad = sum(map(len, found)) > len({*chain(*found)} - below.keys())
        terms, records = chunks[name].pop(0, []), [*chunks[name].values()]
        for rows in records:
            crowds.append({(name, number): _Row(row) for number, row in enumerate(rows)})
        if not parts[name]:
            several = min(len(records), m or len(records))
            needed = 0 if any(terms) else size + k * max(several - 1, 0)
            is_bad |= size < k or sum(map(len, records)) < needed
        # By the pigeonhole principle, two terms that occur more often than there are records share a record.
        tops = sorted(max(Counter(chain(*rows)).values()) for rows in records)
        rival = max([*tops[-2:-1], *below.values(), any(terms)])
        if is_bad or (guarantee.safe and tops and rival and tops[-1] + rival > size):
            failed.add(name)
    rare, judged = _judge_crowds(crowds, k, m)
    failed.update(name for name, _ in rare)
    within = failed.union(*(parts[name] for name in failed))
    return sum(sizes[name] for name in within if not parts[name]), judged


_JUDGES: dict[type, Callable[[Any, _Table], _Found]] = {
    KmAnonymity: _judge_km,
    PrivacyConstraints: _judge_constraints,
    LmDiversity: _judge_inference,
    RhoUncertainty: _judge_inference,
    Coherence: _judge_coherence,
    PSRules: _judge_rules,
    PublicK: _judge_public,
    TransactionalK: _judge_transactional,
    KAnonymity: _judge_classes,
    KKm: _judge_quasi,
    KLm: _judge_quasi,
    SensitiveGroups: _judge_groups,
    DisassociatedKm: _judge_chunks,
}
