"""The tables of a result belong together: what does not is refused, and the true tables never are."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of
from contract import ARGUMENTS, run as run_of_lists
from families import IN_CHUNKS, RELATIONAL, RT
from frames import FRAMES
from test_evidence import RELEASES, people

import pdanon
from pdanon import GuaranteeError, ParameterError
from pdanon.evaluation.evidence import collect
from pdanon.evaluation.fingerprint import check_original, check_release
from pdanon.evaluation.report import render


def facts(result, **given):
    return json.loads(collect(result, head={}, **given).to_json())


# --- What was changed after the release


def test_evidence_counts_the_columns_of_the_table_that_it_fingerprints():
    result = people()[["codes"]].assign(ward="n").txanon.pcta(k=3, m=2)
    assert facts(result)["verdict"]["alerts"] == []
    result.frame["ward"] = range(24)
    found = facts(result)
    assert "24 of 24 rows (100 %) are unique in ward, which is published" in found["verdict"]["alerts"][0]
    assert found["unmodified"] == [{"column": "ward", "type": "int64", "judged": False}]
    result.frame["ward"] = 1
    result.frame["person"] = [f"person {i}" for i in range(24)]
    found = facts(result)
    assert "unique in person" in found["verdict"]["alerts"][0]
    assert [each["column"] for each in found["unmodified"]] == ["ward", "person"]
    assert any("ward, person" in each for each in found["not_protected"])
    assert "unique in person" in render(result)
    assert found["tables"]["release"]["fingerprint"] == pdanon.fingerprint(result.frame)
    result.frame.index = [f"customer {i}" for i in range(24)]
    assert [each["column"] for each in facts(result)["unmodified"]][2:] == ["index"]


def with_row(frame, label, value):
    frame[label] = pd.Series([value, *frame[label].tolist()[1:]], frame.index)


CHANGED = {
    "a label": ("pcta", lambda result: with_row(result.frame, "codes", ["x"])),
    "a row without its labels": ("pcta", lambda result: with_row(result.frame, "codes", [])),
    "another list column": ("pcta", lambda result: result.frame.insert(0, "more", result.frame["codes"])),
    "a list column of classes": (
        "quasi",
        lambda result: result.frame.insert(0, "more", result.frame["codes"]),
    ),
    "a support": ("pcta", lambda result: result.mapping.isetitem(3, 24)),
    "a line of the mapping": ("pcta", lambda result: replace(result, mapping=result.mapping.iloc[1:])),
    "a row less": ("both", lambda result: replace(result, frame=result.frame.iloc[1:])),
    "a quasi-identifier": ("both", lambda result: result.frame.__setitem__("sex", "x")),
    "classes": ("quasi", lambda result: result.classes.__setitem__("age", 5)),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_release_that_was_changed_is_refused(name, tmp_path):
    family, change = CHANGED[name]
    result = RELEASES[family](people())
    result = change(result) or result
    for write in (result.evidence, result.report):
        with pytest.raises(GuaranteeError, match="not those that were released"):
            write(tmp_path / "e.html")
    assert not [*tmp_path.iterdir()]


def test_rows_and_labels_that_no_support_of_others_shows_are_missed():
    rows = [["a", "b"], ["a", "b"], []]
    result = frame_of(rows).txanon.lra(k=2, m=1, hierarchy=2, parts=1)
    check_release(result)
    with pytest.raises(GuaranteeError, match="2 rows, 3 were released"):
        check_release(replace(result, frame=result.frame.iloc[:2]))
    result = frame_of([["a", "c"], ["b", "c"]]).txanon.pcta(k=2, m=1)  # (a,b) and c, in two rows
    check_release(result)
    with pytest.raises(GuaranteeError, match="labels of the mapping are missing"):
        check_release(replace(result, frame=frame_of([["c"], ["c"]])))


# --- Another original


def shuffled(column):
    return np.random.default_rng(1).permutation(np.array(column, dtype=object)).tolist()


ORIGINALS = {
    "fewer rows": lambda frame, result: frame.iloc[:-1],
    "shuffled rows": lambda frame, result: frame.sample(frac=1, random_state=1).reset_index(drop=True),
    "shuffled items": lambda frame, result: frame.assign(codes=shuffled(frame["codes"])),
    "shuffled ages": lambda frame, result: frame.assign(age=[*frame["age"].tolist()[2:], 50, 51]),
    "another ward": lambda frame, result: frame.assign(ward=[*frame["ward"].tolist()[1:], "x"]),
    "without a column": lambda frame, result: frame.drop(columns="ward"),
    "without its items": lambda frame, result: frame.drop(columns="codes"),
    "other items": lambda frame, result: frame.assign(codes=[["x"]] * 24),
    "an item more": lambda frame, result: frame.assign(codes=[[*row, "x"] for row in frame["codes"]]),
    "the release": lambda frame, result: result.frame,
    "no frame": lambda frame, result: 5,
}


@pytest.mark.parametrize("name", ORIGINALS)
def test_another_original_is_refused(name, tmp_path):
    frame = people()
    result = RELEASES["both"](frame)
    other = ORIGINALS[name](frame, result)
    for write in (result.evidence, result.report):
        with pytest.raises(ParameterError, match=r"not of this frame|original must be"):
            write(tmp_path / "e.html", original=other)
    assert not [*tmp_path.iterdir()]


@pytest.mark.filterwarnings("ignore::pdanon.errors.IdentifierWarning")
def test_an_index_of_the_release_is_that_of_the_original():
    frame = people()[["codes"]].set_axis([f"customer {i}" for i in range(24)])
    result = frame.txanon.pcta(k=3, m=2)
    assert facts(result, original=frame)
    with pytest.raises(ParameterError, match="another index"):
        facts(result, original=frame.reset_index(drop=True))
    result.frame.index = range(24)  # not published, not compared
    assert facts(result, original=frame)


# --- The true original


@pytest.mark.slow
@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_is_its_original_and_verified_from_a_file(kind, tmp_path):
    frame, path = FRAMES[kind](), tmp_path / "e.json"
    try:
        result = frame.txanon.pcta(column="items" if "items" in frame else 5, k=2, m=2)
    except pdanon.InfeasibleError:
        pytest.skip("no release")
    result.evidence(path, original=frame)
    assert pdanon.verify(path, result.frame, original=frame, mapping=result.mapping).matches
    try:
        pdanon.to_parquet(result.frame, tmp_path / "release.parquet")
    except pdanon.FormatError:
        return
    pdanon.to_parquet(result.mapping, tmp_path / "mapping.parquet")
    read = {name: pdanon.read_parquet(tmp_path / f"{name}.parquet") for name in ("release", "mapping")}
    found = pdanon.verify(path, **read)
    assert found.matches, found


def drawn(rng):
    """Items of texts or numbers with missing and empty rows, quasi-identifiers, and an index or none."""
    items = [*"abcdefgh"[: rng.integers(3, 9)]]
    items = [*range(len(items))] if rng.random() < 0.2 else items
    rows = [[each for each in items if rng.random() < 0.4] for _ in range(rng.integers(6, 40))]
    rows[0] = None if rng.random() < 0.3 else rows[0]
    frame = pd.DataFrame(
        {"items": rows, "age": rng.integers(20, 60, len(rows)), "sex": rng.choice([*"fm"], len(rows))}
    )
    frame["ward"] = rng.choice([*"nso"], len(rows))
    return frame.set_axis([f"p{i}" for i in range(len(rows))]) if rng.random() < 0.3 else frame


def released(name, frame, rng):
    """The original and a release by an algorithm."""
    if name in ARGUMENTS:
        return frame[["items", "ward"]], run_of_lists(name, frame[["items", "ward"]])
    if name in IN_CHUNKS:
        return frame[["items"]], pdanon.disassociate(frame[["items"]], k=2, m=2)
    given = {"k": 2, "quasi": ["age", "sex"]}
    if name in RELATIONAL:
        return frame, getattr(pdanon, name)(frame, **given, max_suppressed=rng.choice([0, 0.2]))
    given |= {"tfirst": {"parts": 2}, "rfirst": {}}.get(name, {"delta": rng.choice([0.3, 1])})
    return frame, getattr(pdanon, name)(frame, **given, m=int(rng.integers(1, 3)))


@pytest.mark.one_in(40)
@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")
@pytest.mark.parametrize("name", [*ARGUMENTS, *IN_CHUNKS, *RELATIONAL, *RT])
def test_the_true_original_is_never_refused(name):
    rng, made = np.random.default_rng(1), 0
    for _ in range(20):
        try:
            original, result = released(name, drawn(rng), rng)
        except pdanon.InfeasibleError:
            continue
        check_original(result, original, check_release(result))
        made += 1
    assert made > 3
