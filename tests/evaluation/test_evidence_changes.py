"""Changes of evidence with a new seal, and of the tables: each is found, or listed as not checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from test_evidence import RELEASES, SCHEMA, people, released, tables_of

import pdanon
from examples import ALL, some
from pdanon import FormatError
from pdanon.evaluation.evidence import Evidence

ENUMS = {
    "redact": SCHEMA["properties"]["redact"]["enum"],
    "guarantee.name": SCHEMA["properties"]["guarantee"]["properties"]["name"]["enum"],
}


# --- Each leaf of the evidence


def leaves(content, path=()) -> Iterator[tuple]:
    """The paths of all values that are no object and no list, and of all entries of lists."""
    entries = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in entries:
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
            if isinstance(content, list):
                yield (*path, key), None
        else:
            yield (*path, key), value


def others(path, value) -> Iterator:
    """Other values of a leaf."""
    if name_of(path) in ENUMS:
        yield from (each for each in ENUMS[name_of(path)] if each != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield value / 2 + 0.001
    elif isinstance(value, str):
        yield from (f"{value}x", "")


def name_of(path) -> str:
    """A path without the places in lists."""
    return ".".join(each for each in path if isinstance(each, str) and each != "parameters")


def changes(content) -> Iterator[tuple[str, dict]]:
    """Contents with one leaf changed, or without one entry of a list."""
    for path, value in leaves(content):
        if name_of(path) in ("format", "version", "seal"):
            continue
        for other in others(path, value):
            if other != value:
                yield name_of(path), changed(content, path, other)
        if isinstance(path[-1], int):
            yield name_of(path), changed(content, path)


def changed(content, path, *value) -> dict:
    """A copy with another value of one entry, or without it."""
    copy = entry = deepcopy(content)
    for key in path[:-1]:
        entry = entry[key]
    if value:
        entry[path[-1]] = value[0]
    else:
        del entry[path[-1]]
    return copy


def sealed(content) -> str:
    """Evidence with a new seal."""
    facts = {name: value for name, value in content.items() if name not in ("format", "version", "seal")}
    return Evidence(**facts).to_json()


def is_listed(name, found) -> bool:
    """Whether a part of evidence is among those that were not checked."""
    entries = {"versions": "made.versions"} | {
        each: f"tables.{each}" for each in ("mapping", "original", "classes")
    }
    listed = [entries.get(check.part, "") for check in found.checks if check.matches is None]
    listed += found.checks[-1].found.split(", ")
    return any(name == each or name.startswith(f"{each}.") for each in listed if each)


def unnoticed(path, tables, *, once=False) -> tuple[int, set[str]]:
    """The number of changes of evidence, once for each name or some, and those neither found nor listed."""
    every, missed = [*changes(json.loads(path.read_text()))], set()
    tried = [*dict(reversed(every)).items()] if once else some(every, 3)
    again = path.with_name("changed.json")
    for name, other in tried:
        again.write_text(sealed(other))
        try:
            found = pdanon.verify(again, **tables)
        except FormatError:
            continue
        if found.matches and not is_listed(name, found):
            missed.add(name)
    return len(tried), missed


def test_a_change_of_an_entry_with_a_new_seal_is_found_or_listed(tmp_path):
    original, result, path = released("pcta", tmp_path, title="May")
    tables = {"release": result.frame, "original": original, **tables_of(result)}
    number, missed = unnoticed(path, tables, once=True)
    assert not missed
    assert number > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_each_change_of_evidence_with_a_new_seal_is_found_or_listed(name, tmp_path):
    frame = people()
    result = RELEASES[name](frame)
    original = frame[[label for label in frame if label in result.frame]]
    path, twice = tmp_path / "evidence.json", pd.concat([result.frame] * 2, ignore_index=True)
    given = {"original": original, "title": "May", "population": None if name == "chunks" else twice}
    tables = {"release": result.frame, "original": original, **tables_of(result)}
    result.evidence(path, redact="none", **given)
    number, missed = unnoticed(path, tables)
    assert not missed
    assert number > (200 if ALL else 66)
    for redact in ("unpublished", "all") if ALL else ("all",):
        result.evidence(path, redact=redact, **given)
        for passed in (tables, {"release": result.frame}):
            assert not unnoticed(path, passed, once=True)[1]


MALFORMED = [
    "x",
    "",
    "1/0",
    "-1",
    "9e999999999",
    "nan",
    "inf",
    "0.5 ",
    5,
    True,
    None,
    [],
    ["a"],
    {},
    {"number": 1},
]


def by_share(share):
    """A release whose guarantee has a share."""
    frame = people()[["codes"]]
    if share == "h":
        return frame.txanon.coherence(h=0.6, k=2, p=1, private=["flu"])
    if share == "c":
        return frame.txanon.ps_rules(k=2, c=0.8, rules={"m": 1, "sensitive": ["flu"]}, suppress=True)
    return frame.txanon.suppress_control(rho=0.6, sensitive=["flu"])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("share", ["h", "c", "rho"])
def test_a_malformed_parameter_is_named_and_no_traceback(share, tmp_path):
    result, path = by_share(share), tmp_path / "evidence.json"
    result.evidence(path, redact="none")
    content = json.loads(path.read_text())
    tables = {"release": result.frame, **tables_of(result)}
    assert pdanon.verify(path, **tables).matches
    for name, value in content["guarantee"]["parameters"].items():
        for other in MALFORMED:
            if other == value:
                continue
            path.write_text(sealed(changed(content, ("guarantee", "parameters", name), other)))
            found = {check.part: check for check in pdanon.verify(path, **tables).checks}
            if name == share:
                assert found["guarantee"].matches is False
                assert share in found["guarantee"].found, (other, found["guarantee"])


# --- Each change of a table


DAYS = pd.date_range("2026-01-01", periods=24)


def mixed():
    """Items with an empty and a missing row, a quasi-identifier, and columns of several types."""
    frame = people()[["codes", "age", "ward"]].assign(
        year=np.arange(24) % 3, day=DAYS, fit=[True, False] * 12
    )
    rows = frame["codes"].tolist()
    rows[1], rows[2] = [], None
    ward = [None, "", *frame["ward"].tolist()[2:]]
    return frame.assign(codes=rows, ward=ward)


OTHERS = ["ward", "year", "day", "fit"]
FAMILIES = {
    "items": lambda frame: frame.txanon.keep("age", *OTHERS).pcta(k=2, m=1, column="codes"),
    "relational": lambda frame: pdanon.keep(frame, "codes", *OTHERS).mondrian(k=2, quasi=["age"]),
    "both": lambda frame: pdanon.keep(frame, *OTHERS).rfirst(k=2, m=1, quasi=["age"], random_state=1),
}


def is_list(row):
    return isinstance(row, list | np.ndarray)


def with_first(frame, label, value):
    """The frame with another first value of a column."""
    return frame.assign(**{label: pd.Series([value, *frame[label].tolist()[1:]], frame.index)})


def with_attrs(frame, **attrs):
    copy = frame.copy()
    copy.attrs = attrs
    return copy


ROWS = {
    "a text": lambda frame: with_first(frame, "ward", "x"),
    "an empty text for a missing one": lambda frame: with_first(frame, "ward", ""),
    "a missing text for an empty one": lambda frame: frame.assign(ward=frame["ward"].replace("", None)),
    "a number": lambda frame: with_first(frame, "year", 9),
    "a missing number": lambda frame: with_first(frame, "year", None),
    "a day": lambda frame: with_first(frame, "day", DAYS[5]),
    "a bool": lambda frame: with_first(frame, "fit", False),
    "a quasi-identifier": lambda frame: frame.assign(age=frame["age"].iloc[::-1].tolist()),
    "int8": lambda frame: frame.astype({"year": "int8"}),
    "uint64": lambda frame: frame.astype({"year": "uint64"}),
    "floats": lambda frame: frame.astype({"year": "float64"}),
    "numbers as text": lambda frame: frame.astype({"year": "str"}),
    "bools as numbers": lambda frame: frame.astype({"fit": "int64"}),
    "days as text": lambda frame: frame.astype({"day": "str"}),
    "days with a zone": lambda frame: frame.assign(day=frame["day"].dt.tz_localize("UTC")),
    "a row without its items": lambda frame: with_first(frame, "codes", []),
    "a row with another item": lambda frame: with_first(frame, "codes", ["x"]),
    "a repeated item": lambda frame: with_first(frame, "codes", [*frame["codes"].iloc[0]] * 2),
    "a missing row for an empty one": lambda frame: frame.assign(
        codes=[row if is_list(row) and len(row) else None for row in frame["codes"]]
    ),
    "an empty row for a missing one": lambda frame: frame.assign(
        codes=[row if is_list(row) else [] for row in frame["codes"]]
    ),
    "a row less": lambda frame: frame.iloc[:-1],
    "a row more": lambda frame: pd.concat([frame, frame.iloc[:1]], ignore_index=True),
    "another row order": lambda frame: frame.iloc[[1, 0, *range(2, 24)]].reset_index(drop=True),
    "another order of index and rows": lambda frame: frame.iloc[[1, 0, *range(2, 24)]],
    "another column order": lambda frame: frame[frame.columns[::-1]],
    "another name of a column": lambda frame: frame.rename(columns={"ward": "room"}),
    "a number as name of a column": lambda frame: frame.rename(columns={"ward": 1}),
    "a column less": lambda frame: frame.drop(columns="ward"),
    "a column less, of the guarantee": lambda frame: frame.drop(columns="age"),
    "no items": lambda frame: frame.drop(columns="codes"),
    "a column more": lambda frame: frame.assign(more=1),
    "a column twice": lambda frame: pd.concat([frame, frame[["ward"]]], axis=1),
    "an index without a name": lambda frame: frame.set_axis([f"customer {i}" for i in range(24)]),
    "another index without a name": lambda frame: frame.set_axis(range(1, 25)),
    "a named index": lambda frame: frame.rename_axis("id"),
    "levels of an index": lambda frame: frame.set_axis(pd.MultiIndex.from_arrays([range(24), range(24)])),
    "attributes": lambda frame: with_attrs(frame, source="a person"),
}
LINES = {
    "a label": lambda table: table.assign(generalized=["x", *table["generalized"].tolist()[1:]]),
    "a suppressed item": lambda table: table.assign(generalized=[None, *table["generalized"].tolist()[1:]]),
    "an item": lambda table: table.assign(item=["x", *table["item"].tolist()[1:]]),
    "a support": lambda table: table.assign(support=table["support"] + 1),
    "supports of another type": lambda table: table.astype({"support": "int8"}),
    "a group": lambda table: table.assign(group=table["group"] + 1),
    "a line less": lambda table: table.iloc[1:],
    "another order": lambda table: table.iloc[::-1],
    "no supports": lambda table: table.drop(columns="support"),
    "empty rows": lambda table: with_attrs(table, **{**table.attrs, "empty_rows": 7}),
    "rows without public items": lambda table: with_attrs(table, rows_without_public=7),
    "an index": lambda table: table.set_axis([f"line {i}" for i in range(len(table))]),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.slow if name != "both" else ()) for name in FAMILIES],
)
def family(request, tmp_path_factory):
    frame, path = mixed(), tmp_path_factory.mktemp("changes") / "evidence.json"
    result = FAMILIES[request.param](frame)
    result.evidence(path, original=frame)
    tables = {"release": result.frame, "original": frame, "mapping": result.mapping}
    assert pdanon.verify(path, **tables).matches
    return path, tables


@pytest.mark.slow
@pytest.mark.parametrize("which", ["release", "mapping", "original"])
def test_each_change_of_a_table_is_found(which, family):
    path, tables = family
    missed = []
    for name, change in (LINES if which == "mapping" else ROWS).items():
        if which == "mapping" and not len(tables[which]) and name not in ("empty rows", "no supports"):
            continue
        other = change(tables[which])
        found = pdanon.verify(path, **tables | {which: other})
        if which not in [check.part for check in found.checks if check.matches is False]:
            missed.append((which, name))
    assert not missed
    assert len(ROWS) >= 30
