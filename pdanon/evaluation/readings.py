"""Readings of raw tables: the forms that fit a table without lists, and the call that reads each."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from pdanon.errors import PdanonError, ReleaseWarning
from pdanon.io.forms import number_persons
from pdanon.io.lines import NOUNS, type_of
from pdanon.io.tables import Form
from pdanon.io.text import parse_list, split_objects
from pdanon.itemsets.cards import Lines, card, listing
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.table_hints import (
    is_named_for_persons,
    is_numbered,
    split_words,
    usual_items,
    wide_places,
)

_SAMPLE = 1000  # distinct values of a column, or rows
_FEW = 100  # texts that are parsed
_MOST_SHOWN = 20  # columns
_FEW_ITEMS = 20  # distinct items; fewer need no hierarchy
_MOST_TRIED = 2  # columns of items of the same persons
_WIDEST = 40  # letters of an example
_BOX = "boxes to tick"
_COMMAS = "numbers with decimal commas"
SHAPES = {  # of dates and codes; the first that fits is named
    "dates": r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}([ T].*)?",
    "times": r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}.*)?( ?[AaPp][Mm])?",
    "ATC codes": r"[A-DGHJLMNPRSV][0-9]{2}[A-Z]{2}([0-9]{2})?",
    "NDC codes": r"[0-9]{4,5}-[0-9]{3,4}-[0-9]{1,2}",
    "LOINC codes": r"[0-9]{3,6}-[0-9]",
    "ISBN codes": r"97[89](-?[0-9]){10}|[0-9]{9}[0-9X]",
    "ICD-10 codes": r"[A-Z][0-9][0-9AB]\.?[0-9A-Z]{0,4}",
    "ICD-9 codes": r"([0-9]{3}|V[0-9]{2}|E[0-9]{3})\.?[0-9]{0,2}",
    _COMMAS: r"[+-]?[0-9.]+(,[0-9]+)?",
}
_BOOKS = {"ISBN codes": r"97[89][0-9]{10}"}
_NAMED = {  # names of columns whose digits are codes; numbers of products look like these
    ("cpt", "hcpcs"): ("CPT codes", r"[0-9]{4}[0-9FTU]|[A-V][0-9]{4}", "prefixes({}, (1, 3))"),
    ("icd", "diag", "dx"): ("ICD-9 codes", SHAPES["ICD-9 codes"], "icd9({})"),
}
_TREES = {  # of items, by their shape
    SHAPES["ATC codes"]: "atc({})",
    SHAPES["ICD-10 codes"]: "icd10({})",
    SHAPES["NDC codes"]: "paths({}, '-')",
    SHAPES["LOINC codes"]: "from_frame(pd.read_csv('Loinc.csv')[['LOINC_NUM', 'CLASS']])",
    r"97[89](-[0-9]+){4}": "paths({}, '-')",
    r"97[89][0-9]{10}": "prefixes({}, (4, 7))",  # the language, and the first digits of publishers
    r"[0-9]+": "",  # numbers of products look like those of diagnoses
    SHAPES["ICD-9 codes"]: "icd9({})",
    r"[0-9]{9}[0-9X]": "prefixes({}, (1, 4))",
    r".*[^ ] > [^ ].*": "paths({}, ' > ')",
    r"[^0-9/ ]([^/]*[^/ ])?/[^/ ].*": "paths({}, '/')",
}
_MEASURED = {"numbers", _COMMAS, "dates", "times", "timestamps"}  # no items, no persons
_FLAGS = {"0", "1", "true", "false"}
_NO = {"0", "no", "n", "false", "nein", "non", "2", "-"}
_TICKS = {"x", "1", "yes", "y", "true", "ja", "j", "oui"}
_SEPARATORS = "|;,\t/"
_NUMBERS = {"id", "uuid", "guid", "nbr", "key"}
_UNKNOWN = ("?", "NA", "N/A", "nan", "NaN", "null", "NULL")
# Soft hyphens, marks without width and of direction, byte order marks.
_UNSEEN = r"[\u00ad\u200b-\u200f\u2060\ufeff]"


class Alert(NamedTuple):
    """A problem to solve before a release, with a hint in Python and on the command line."""

    what: str
    hint: str
    command: str


class Reading(NamedTuple):
    """A form that fits a table, the call that reads it, and the fields of its `Form`."""

    what: str
    call: str
    form: Mapping[str, Any]


Convert: TypeAlias = Callable[[Mapping[str, Any]], pd.DataFrame]


@holds_tables
@dataclass(frozen=True, eq=False, slots=True)
class RawProfile:
    """The profile of a table that has no lists yet, without the text of a rare value. Returned by `profile`.

    Parameters
    ----------
    rows : int
        Number of rows.
    columns : pandas.DataFrame
        The columns: ``column, kind, values, missing, example``. The example is the most frequent value if at
        least k persons have it, or else its shape: ``A99.9``.
    readings : tuple of Reading
        The forms that fit, the best first: ``what``, ``call`` in Python, ``form`` as the fields of a policy.
    alerts : tuple of Alert
        Problems, each with ``what``, ``hint`` (in Python) and ``command`` (on the command line).
    """

    rows: int
    columns: pd.DataFrame
    readings: tuple[Reading, ...]
    alerts: tuple[Alert, ...]

    def __repr__(self) -> str:
        shown = self.columns[self.columns["kind"] != _BOX].head(_MOST_SHOWN)
        table = shown.to_string(index=False) if len(shown) else ""
        return listing(f"{self._title()}\n{table}", self._facts())

    def _repr_html_(self) -> str:
        return card(self._title(), self._facts())

    def _title(self) -> str:
        return f"Raw table: {self.rows:,} rows, without lists"

    def _facts(self) -> Lines:
        if boxes := int((self.columns["kind"] == _BOX).sum()):  # their names may be items
            yield "and", f"{boxes:,} {_BOX}, such as 0 and 1"
        for reading in self.readings:
            yield "reads as", f"{reading.what}\n             -> {reading.call}"
        if not self.readings:
            yield "reads as", "no form of lists: the page docs/forms.md shows each form, and its call"
        for alert in self.alerts:
            yield "look at", f"{alert.what}\n             -> {alert.hint}"


def describe_raw(
    frame: pd.DataFrame,
    *,
    k: int,
    known: Mapping[str, Any] | None = None,
    convert: Convert | None = None,
) -> RawProfile:
    """Describe a table without lists, and the forms that fit, with the ``known`` fields of each."""
    split = split_objects(frame)
    columns = [split.iloc[:, place] for place in range(split.shape[1])]
    kinds = [_kind_of(column, alone=len(columns) == 1) for column in columns]
    readings, alerts, spelling = list[Reading](), dict[str, Alert](), list[Alert]()
    owners: Any = np.arange(len(frame))
    candidates = [*_candidates(columns, kinds)]
    for what, fields in candidates:
        form = {**fields, **(known or {})}
        asked = Form(**form)
        try:
            with warnings.catch_warnings(action="ignore", category=ReleaseWarning):
                made = convert(form) if convert else asked.convert(frame).frame
                itemsets = Itemsets.from_series(made[asked.lists])
        except PdanonError as error:
            parts = {"got": "", "hint": "look at its columns"} | error.parts
            alert = Alert(f"{what}? {parts['what']}: {parts['got']}", parts["hint"], parts["hint"])
            alerts.setdefault(alert.hint, alert)
            if "field" in fields and "missing" not in fields:
                candidates.append((f"{what}, without missing items", {**fields, "missing": "drop"}))
            continue
        n_items = len(itemsets.codes)
        n_sets = np.count_nonzero(itemsets.lengths > 1)
        if not n_sets or ("wide" in form and 10 * n_sets < itemsets.n_rows) or itemsets.n_items == n_items:
            continue  # no sets, an answer and its other text, or items that never come again
        if not readings:
            spelling = [*spelling_alerts(itemsets), *tree_alerts(itemsets, asked.lists)]
            owners = number_persons([split[label] for label in form["by"]])[0] if "by" in form else owners
        mean = n_items / itemsets.n_rows
        what = f"{what}: {itemsets.n_rows:,} rows, {itemsets.n_items:,} items, {mean:.3g} in a row"
        repeats = "by" in form and bool(split.duplicated(form["by"]).any())
        readings.append(Reading(what, _call_of(form, [*frame.columns], repeats=repeats), form))
    if all(_is_guess(reading.form) for reading in readings):
        alerts.setdefault("", _no_items_alert(columns, kinds, k))
    named = {label for reading in readings for label in reading.form.get("by", ())}
    described = [
        _describe(
            column, kind, owners, 0 if column.name in named or is_named_for_a_number(column.name) else k
        )
        for column, kind in zip(columns, kinds, strict=True)
    ]
    table = pd.DataFrame(described, columns=["column", "kind", "values", "missing", "example"])
    return RawProfile(len(frame), table, tuple(readings), (*alerts.values(), *spelling))


def _is_guess(form: Mapping[str, Any]) -> bool:
    """Return whether no name of a column suggests persons, or items."""
    names = [*form.get("by", ()), form.get("item")]
    return "item" in form and not (
        is_named_for_a_number(names[0]) or usual_items([pd.Series(name=names[-1], dtype=object)])
    )


def _no_items_alert(columns: Sequence[pd.Series[Any]], kinds: Sequence[str], k: int) -> Alert:
    """Return the alert for a table that may have a row per person, and no items."""
    pairs = zip(columns, kinds, strict=True)
    quasi = [c.name for c, kind in pairs if kind[:5] not in ("lists", "empty") and not c.is_unique]
    call = f"pdanon.anonymize(frame, pdanon.KAnonymity({k}, quasi={quasi!r}))"
    hint = f"{call}; if another tool released it, audit in place of anonymize"
    what = "a row may be a person without items, whose columns are quasi-identifiers"
    return Alert(what, hint, f"in Python, {hint}")


# --- Columns: their kind by shape, and an example that shows no rare value


def _texts_of(column: pd.Series[Any]) -> list[str]:
    """Return a sample of the distinct texts of a column, without blanks around them."""
    if not pd.api.types.is_string_dtype(column.dtype):
        return []
    return [text for text in map(str.strip, map(str, column.dropna().unique()[:_SAMPLE])) if text]


def _kind_of(column: pd.Series[Any], *, alone: bool) -> str:
    """Return the kind of the values of a column."""
    values = column.dropna()
    kind = str(pd.api.types.infer_dtype(values[:1]))
    if values.empty or is_list_column(column) or isinstance(values.iloc[0], dict):
        objects = [each for row in values[:_FEW] for each in objects_in(row)]
        return "lists of objects" if objects else "lists" if len(values) else "empty"
    if _tick_of(column) is not None and not is_named_for_persons(column.name):
        return _BOX
    texts = _texts_of(column)
    parsed = [parse_list(text) for text in texts[:_FEW] if text[0] in "[{"]
    if any(isinstance(each, (list, dict)) for each in parsed):
        return "lists of objects in text" if any(map(objects_in, parsed)) else "lists in text"
    number = type_of(column) if texts else {"integer": "integer", "floating": "number"}.get(kind)
    if number == "number" and all(float(each).is_integer() for each in texts or values.unique()[:_SAMPLE]):
        number = "integer"  # 17850.0 beside missing values
    shapes = _BOOKS | {name: shape for name, shape, _ in _named_codes(column.name)}
    for name, shape in (shapes | (SHAPES if number is None else {})).items():
        found = [
            each for each in texts if re.fullmatch(shape, each) and (name != "ISBN codes" or _is_book(each))
        ]
        is_found = found and 10 * len(found) >= 9 * len(texts) and (name != _COMMAS or "," in "".join(found))
        if is_found and not (name.endswith("codes") and values.is_unique):  # R101 of a respondent
            return name
    if number is not None:
        return NOUNS[number]
    separator = _separator_of(texts, _SEPARATORS + " " * alone)
    if separator is not None:
        return f"text with {separator!r}"
    return {"string": "text"}.get(kind, kind)


def _named_codes(label: Hashable) -> list[tuple[str, str, str]]:  # kind, shape and hierarchy
    words = [*map(str.lower, split_words(label))]
    if len(words) > 4 or is_named_for_a_number(label) or any(word.startswith("proc") for word in words):
        return []
    return [codes for heads, codes in _NAMED.items() if any(word.startswith(heads) for word in words)]


def _is_book(text: str) -> bool:
    # The last digit of ten checks the others; numbers of telephones have ten, too.
    return len(text) > 10 or sum(n * (10 if d == "X" else int(d)) for n, d in enumerate(text, 1)) % 11 == 0


def _describe(column: pd.Series[Any], kind: str, owners: Any, k: int) -> tuple[Hashable, str, int, int, str]:
    """Describe a column; with a value as example if at least k persons have it, or else with its shape."""
    present = column.notna().to_numpy(bool)
    owned = pd.DataFrame({"text": [*map(str, column[present])], "owner": owners[present]}).drop_duplicates()
    counts = owned["text"].value_counts()
    example = str(counts.index[0]) if len(counts) else ""
    if not k or counts.max() < k:
        example = re.sub(r"[^\W\d_]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "9", example)))
    return column.name, kind, len(counts), int(np.sum(~present)), example[:_WIDEST]


def _tick_of(column: pd.Series[Any]) -> str | None:
    """Return the value of a ticked box: empty for 0 and 1, or true and false; None if it holds others."""
    values = column.dropna().unique()[:_FEW]  # 1.0 in files of SPSS
    found = {str(value).strip().casefold().removesuffix(".0") for value in values}
    ticks = found - _NO
    if found and found <= _FLAGS:
        return ""
    return next(iter(ticks)) if len(ticks) == 1 and ticks <= _TICKS else None


def objects_in(row: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a row."""
    rows = [row] if isinstance(row, dict) else row
    return [each for each in rows if isinstance(each, dict)]


def _separator_of(texts: Sequence[str], marks: str) -> str | None:
    """Return the separator in at least half of the texts, whose parts repeat."""
    for mark in marks:
        parts = [text.split(mark) for text in texts]
        flat = Counter(part.strip() for row in parts for part in row)
        if 0 < len(parts) <= 2 * sum(len(row) > 1 for row in parts) and 2 * len(flat) <= flat.total():
            blanks = mark != " " and all(part.startswith(" ") for row in parts for part in row[1:])
            return mark + " " * blanks
    return None


def is_named_for_a_number(label: Hashable) -> bool:
    """Return whether the name of a column suggests an identifier: customer_id, DUPERSID, key."""
    suggests = (word.lower() in _NUMBERS or word.endswith(("ID", "No")) for word in split_words(label))
    return is_named_for_persons(label) or any(suggests)


# --- Forms that may fit, the most likely one first


def _candidates(columns: list[pd.Series[Any]], kinds: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the description and the fields of each form that may fit."""
    pairs = [*zip(columns, kinds, strict=True)]
    single = [(column, kind) for column, kind in pairs if not kind.startswith(("lists", "empty", _BOX))]
    keys = [
        c.name
        for c, kind in single
        if is_named_for_persons(c.name) or (kind == "whole numbers" and c.is_unique)
    ]
    keys.sort(key=is_named_for_persons, reverse=True)  # a patient before an encounter
    by: dict[str, Any] = {"by": keys[:1]} if keys else {}
    labels = [column.name for column in columns if column.name not in keys[:1]]
    lists = [column for column, kind in pairs if kind.startswith("lists ")]
    lists.sort(key=lambda column: -len({*map(str, column[:_SAMPLE])}))  # a status has few values
    rows = [c.name for c, _ in single if c.is_unique and c.notna().all()]
    for column in lists:
        form = _drop_others(by, rows, column) | {"column": column.name, "field": _fields_of(column)}
        yield f"lists in {column.name!r}", form
    for run in _runs_of_answers(pairs):
        yield f"a column for each of {len(run):,} answers", by | {"wide": run}
    ticks = {column.name: _tick_of(column) for column, kind in pairs if kind == _BOX}
    tick = Counter(ticks.values()).most_common(1)[0][0] if ticks else None
    boxes = [label for label, each in ticks.items() if each == tick]
    joined = [column for column, kind in single if kind.startswith("text with")]
    named = [(column, kind) for column, kind in single if kind not in _MEASURED]
    values = {column.name: column.nunique() for column, _ in named if not column.is_unique}
    usual = [label for label in usual_items([column for column, _ in named]) if label in values]
    most = max((values[label] for label in usual), default=0)
    items = sorted(usual, key=lambda label: 10 * values[label] < most)  # types, numbers of lines
    repeating = sorted(values, key=values.__getitem__, reverse=True)
    persons, numbers = (
        [
            label
            for label in values
            if is_named_for_persons(label) == each and is_named_for_a_number(label) and label not in items
        ]
        for each in (True, False)
    )
    apart = [pair for pair in single if pair[0].name in labels and not lists]
    words = [pair for pair in apart if pair[1] not in {"whole numbers", *_MEASURED}]  # nor a number of items
    sample = [column.iloc[:_SAMPLE] for column, _ in (words if len(words) > 1 else apart)]
    wide = [sample[place].name for place in wide_places(sample)]
    is_known = bool(wide) and all(map(is_numbered, wide))  # dx1 to dx9
    if len(words) < 2 and not all(str(label)[-1:].isdigit() for label in wide):
        wide = []  # coordinates share numbers, too
    spread = []
    if len(wide) > 1 and (is_known or len(boxes) < 2):
        form = by | {"wide": wide if len(wide) < len(labels) else []}
        spread.append((f"a column for each of {len(wide):,} places of an item", form))
    if is_known:
        yield from spread
    questions = 2 if joined or (persons and usual) else 1  # so many boxes may stand beside the items
    if len(boxes) > questions:
        form = by | {"onehot": boxes if len(boxes) < len(labels) else []} | ({"tick": tick} if tick else {})
        yield f"a column for each of {len(boxes):,} items", form
    items += [column.name for column, kind in single if kind.endswith("codes")]
    items += [column.name for column, kind in single[::-1] if kind.startswith("text")]
    items = [label for label in items if not is_known or label not in wide]
    yield from _lines(persons, items)
    for column in joined:
        separator = _separator_of(_texts_of(column), _SEPARATORS + " ")
        form = _drop_others(by, rows, column) | {"column": column.name, "separator": separator}
        yield f"items in {column.name!r}, joined by {separator!r}", form
    if not is_known:
        yield from spread
    others = bool(lists or joined or len(boxes) > 1 or spread or persons)
    others |= any(map(is_named_for_a_number, keys))  # a row has a number of its own
    rest = [label for label in repeating if label not in items[:1] and len(split_words(label)) < 5]
    rest = [label for label in rest if 50 * values[label] >= len(columns[0])]  # sex and age are no persons
    yield from _lines(numbers or ([] if others else rest[:1]), items)


def _drop_others(by: dict[str, Any], rows: list[Hashable], column: pd.Series[Any]) -> dict[str, Any]:
    """Return the persons of the rows; if unknown, a column that differs in all, so that no other is kept."""
    other = [label for label in rows if label != column.name][:1]
    return by or ({"by": other} if other else {})


def _runs_of_answers(pairs: Sequence[tuple[pd.Series[Any], str]]) -> Iterator[list[Hashable]]:
    """Yield the labels of columns side by side that hold the text of one answer, or nothing."""
    answers = [kind == "text" and c.isna().any() and c.nunique() == 1 for c, kind in pairs]
    for is_run, places in groupby(range(len(pairs)), key=answers.__getitem__):
        run = [pairs[place][0].name for place in places]
        if is_run and len(run) > 1:
            yield run


def _lines(persons: list[Any], items: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield forms with a line for each item of a person."""
    for person in persons:
        for item in [label for label in dict.fromkeys(items) if label != person][:_MOST_TRIED]:
            yield f"lines, with an item {item!r} of {person!r} each", {"by": [person], "item": item}


def _fields_of(column: pd.Series[Any]) -> list[str]:
    """Return the field of objects that is most likely the item, or none for lists of items."""
    rows = [parse_list(row) if isinstance(row, str) else row for row in column.dropna()[:_FEW]]
    names = Counter(str(name) for row in rows for each in objects_in(row) for name in each)
    return ["code"] if "code" in names else [name for name, _ in names.most_common(1)]


def _call_of(form: Mapping[str, Any], labels: Sequence[Hashable], *, repeats: bool) -> str:
    """Return the call that converts a frame with these labels in a form, in which persons may repeat."""
    column = f"frame[{(name := form.get('column'))!r}]"
    if "item" in form:
        return f"pdanon.from_long(frame, by={form['by'][0]!r}, item={form['item']!r})"
    if "separator" in form:
        return f"{column} = pdanon.from_text({column}, separator={form['separator']!r})"
    if "field" in form:
        label, *fields = [name] if name in labels else str(name).split(".")
        values = f"frame[{label!r}]" + f".struct.field({fields!r})" * bool(fields)
        missing = ", missing='drop'" if "missing" in form else ""
        return f"{column} = pdanon.from_json({values}, field={(form['field'] or None)!r}{missing})"
    name, by = "wide" if "wide" in form else "onehot", form.get("by", [])
    columns: Any = form[name] or None
    if columns is None and repeats:
        columns = [label for label in labels if label not in by]
    asked = {"columns": columns, "tick": form.get("tick")}
    options = "".join(f", {key}={value!r}" for key, value in asked.items() if value is not None)
    if repeats:
        lists = f"pdanon.from_{name}(frame{options})"
        return f"pdanon.from_long(pdanon.to_long({lists}), by={by[0]!r}, item='items')"
    return f"pdanon.from_{name}(frame{f'.drop(columns={by!r})' * bool(by)}{options})"


# --- Spelling of items


def spelling_alerts(itemsets: Itemsets) -> Iterator[Alert]:
    """Yield an alert for items that differ only in capitals, blanks, normal forms or unseen characters."""
    texts = itemsets.vocabulary.cast("large_string")
    hint = "if they mean the same"
    if plain := _count_equal(texts):
        strip = "apply .str.strip().str.lower() to the items before you make lists"
        blank = f"in Python {strip}; if a blank follows each separator, pass --separator ', '"
        what = f"{plain:,} items differ only in capitals and blanks from another item"
        yield Alert(what, f"{hint}, {strip}", f"{hint}, {blank}")
    if not is_text_type(itemsets.vocabulary.type):
        return
    pattern = _UNSEEN.encode().decode("unicode_escape")
    seen = pc.replace_substring_regex(pc.utf8_normalize(texts, form="NFKC"), pattern, "")
    if unseen := _count_equal(seen) - plain:
        mend = f".str.normalize('NFKC').str.replace(r'{_UNSEEN}', '', regex=True).str.strip()"
        hint = f"{hint}, apply {mend} to the items before you make lists"
        what = (
            f"{unseen:,} items differ from another only in normal forms, special blanks and invisible marks"
        )
        yield Alert(what, hint, hint.replace("apply", "in Python apply"))
    if unknown := [mark for mark in _UNKNOWN if pc.any(pc.equal(texts, mark)).as_py()]:
        read = f"pd.read_csv(path, dtype=str, na_values={unknown}).to_csv('in.csv', index=False)"
        hint = f"if no item is called {unknown[0]}, read the file by {read}"
        yield Alert(f"{len(unknown):,} items look like missing values: {', '.join(unknown)}", hint, hint)
    if garbled := pc.sum(pc.match_substring_regex(texts, "[ÂÃ][^A-Za-z ]")).as_py():
        hint = "read it with encoding='utf-8' (--encoding utf-8); if it has two encodings, write it in one"
        yield Alert(f"{garbled:,} items look like UTF-8 that was read in another encoding", hint, hint)


# --- Hierarchies of items


def tree_alerts(itemsets: Itemsets, label: Hashable) -> Iterator[Alert]:
    """Yield an alert if almost all items look like codes or paths of categories, with their hierarchy."""
    texts = itemsets.vocabulary.cast("large_string")
    trees = {shape: call for _, shape, call in _named_codes(label)}
    for shape, call in (trees | _TREES).items() if len(texts) >= _FEW_ITEMS else ():
        found = pc.match_substring_regex(texts, f"^({shape})$")
        if 20 * pc.sum(found).as_py() >= 19 * len(texts):
            if call:
                tree = f"pdanon.Hierarchy.{call.format(f'frame[{label!r}].itemset.items')}"
                hint = f"to publish rare ones as their category, pass hierarchy={tree} to local_suppression"
                levels = ", without levels: classes are in the table of LOINC" * ("Loinc" in call)
                yield Alert(
                    f"the items look like codes or paths of categories{levels}",
                    hint,
                    f"in Python, write {tree}.to_csv('tree.csv'), and pass --hierarchy tree.csv",
                )
            return


def _count_equal(texts: Any) -> int:
    """Count the texts that equal another one but for capitals and blanks around them."""
    sizes = pc.value_counts(pc.utf8_lower(pc.utf8_trim_whitespace(texts))).field("counts").to_numpy()
    return int(sizes[sizes > 1].sum())
