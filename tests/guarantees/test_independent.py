"""The independent audit: it agrees with the audit, and shares no code that counts."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from conftest import frame_of
from random_audits import difference, lists, some_rows

import pdanon
from examples import seeds, some
from pdanon import KKm, KmAnonymity, LmDiversity, PrivacyConstraints, RhoUncertainty, TransactionalK
from pdanon.errors import GuaranteeError, ItemsetDtypeError, ParameterError, PdanonError, ReleaseWarning
from pdanon.guarantees import independent
from pdanon.itemsets.timing import TimeLimitError

BOTH = ({}, {"independent": True})
ROWS = [["rice", "tea"], ["rice", "tea"], ["rice", "salt"]]


@pytest.mark.parametrize("seed", seeds(600))
def test_random_tables(seed):
    assert difference(seed) is None


@pytest.mark.slow
@pytest.mark.parametrize("part", some(range(20)))
def test_20_000_random_tables(part):
    for seed in range(3_000 + 1_000 * part, 4_000 + 1_000 * part):
        assert difference(seed) is None, f"seed {seed}"


def test_it_imports_nothing_that_counts():
    tree = ast.parse(Path(independent.__file__).read_text(encoding="utf-8"))
    names = {
        (node.module, each.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pdanon.itemsets")
        for each in node.names
    }
    counting = {"codes", "support", "lists", "equality", "encoded_columns", "row_loops"}
    assert not counting & {module.removeprefix("pdanon.itemsets.") for module, _ in names}
    assert "_kernels" not in Path(independent.__file__).read_text(encoding="utf-8")


# --- Without the audit: verdicts that follow from the definitions


@pytest.mark.parametrize(
    ("rows", "guarantee", "at_risk"),
    [
        (ROWS, KmAnonymity(2, 1), 1),
        (ROWS, KmAnonymity(4, 1), 3),
        ([["a", "b"], ["a", "b"], ["b", "c"], ["a", "c"], ["a", "c"], ["b", "c"]], KmAnonymity(2, 2), 0),
        (
            [["a", "b"], ["a"], ["a", "b"], ["b", "c"], ["a", "c"], ["a", "c"], ["b", "c"]],
            KmAnonymity(3, 2),
            6,
        ),
        ([["a", "a"], ["a"], ["a"]], KmAnonymity(2, 2), 1),
        ([["a"], ["a"], None], TransactionalK(k=2), 1),
        ([["t", "s"], ["t", "s"], ["t"], ["u"]], LmDiversity(l=2, m=1, sensitive=["s"]), 3),
        ([["t", "s"], ["t"], ["u", "s"], ["u"]], RhoUncertainty(rho=0.5, sensitive=["s"]), 0),
        ([["t", "s"], ["t"], ["u", "s"]], RhoUncertainty(rho=0.7, sensitive=["s"]), 1),
        ([["a", "b"], ["a"], ["b"]], PrivacyConstraints(constraints=[["a", "b"]], k=2), 1),
        ([["a"], ["b"], None], PrivacyConstraints(constraints=[["a", "b"]], k=3), 2),  # 2 rows hide nobody
        ([["a"], ["b"], []], PrivacyConstraints(constraints=[["a", "b"]], k=3), 0),
    ],
)
def test_worked_examples(rows, guarantee, at_risk):
    for asked in BOTH:
        assert pdanon.audit(frame_of(rows), guarantee, **asked).rows_at_risk == at_risk


def test_classes_are_those_of_displayed_values():
    frame = pd.DataFrame(
        {"items": [["a"]] * 6, "age": pd.Series([1, 1.0, True, None, 1, None], dtype=object)}
    )
    audit = pdanon.audit(frame, KKm(k=2, m=1, quasi=["age"]), independent=True)
    assert audit.rows_at_risk == 2  # 1.0 and True


def test_coherence_counts_all_rows_at_risk_if_some_are_missing():
    """The only row with private data is alone; another row is the only one with its public item."""
    frame = pd.DataFrame({"items": [["a"], ["a"], ["z"], ["a"]], "more": [["s"], None, None, None]})
    guarantee = pdanon.Coherence(h=1, k=2, p=1, private="more")
    for asked in ({}, {"independent": True}):
        assert pdanon.audit(frame, guarantee, "items", **asked).rows_at_risk == 2


@pytest.mark.parametrize("guarantee", [pdanon.KAnonymity(2, quasi=["age"]), KKm(k=2, m=1, quasi=["age"])])
def test_equal_texts_of_unequal_values_are_no_class(guarantee):
    class Age:
        def __repr__(self):
            return "30"

    frame = pd.DataFrame({"items": [["a"], ["a"]], "age": pd.Series([Age(), Age()], dtype=object)})
    for asked in ({}, {"independent": True}):
        assert pdanon.audit(frame, guarantee, **asked).rows_at_risk == 2
    frame["age"] = pd.Series([{"a": 1}, {"a": 1}], dtype=object)
    for asked in ({}, {"independent": True}):
        with pytest.raises(PdanonError, match="the values of a quasi-identifier cannot be compared"):
            pdanon.audit(frame, guarantee, **asked)


# --- The time limit


def test_time_ends_the_search_at_a_size():
    """All itemsets of eight labels are in 2 rows. Time is up before those of all sizes are judged."""
    rows = [[f"{n:02}{each}" for each in range(40)] for n in range(9)] * 2 + [["s"]]
    asked = {"l": 2, "m": None, "sensitive": ["s"]}
    frame = frame_of([*rows, *([*row, "s"] for row in rows[:9]), *rows])
    audit = pdanon.audit(frame, LmDiversity(**asked), independent=True, time_limit=0.05)
    assert audit.holds
    assert 1 <= audit.guarantee.m < 40
    with pytest.raises(ParameterError, match=r"(?s)1e-09 seconds ended.*single items were.*time_limit=1e-08"):
        pdanon.audit(frame, LmDiversity(**asked), independent=True, time_limit=1e-9)


def test_rows_at_risk_at_the_end_of_the_time_are_a_lower_bound(monkeypatch):
    """Time is up after the single items; pairs expose a second row."""
    frame = frame_of([["a"], ["b", "c"], ["b"], ["c"]])
    steps = iter([True, False])

    def check_time():
        if not next(steps, False):
            raise TimeLimitError

    monkeypatch.setattr(independent, "check_time", check_time)
    with pytest.warns(ReleaseWarning, match=r"(?s)60 seconds ended the audit: more than 1 rows may.*=600"):
        assert pdanon.audit(frame, k=2, m=2, independent=True).rows_at_risk == 1
    monkeypatch.undo()
    assert pdanon.audit(frame, k=2, m=2, independent=True).rows_at_risk == 2


def test_a_time_limit_needs_the_independent_audit():
    with pytest.raises(ParameterError, match="only the independent audit has a time limit"):
        pdanon.audit(frame_of(ROWS), k=2, time_limit=5)
    with pytest.raises(ParameterError, match="must be a number of seconds above 0"):
        pdanon.audit(frame_of(ROWS), k=2, independent=True, time_limit=0)


def test_groceries_take_seconds(data):
    frame = pdanon.read_parquet(data / "groceries.parquet")
    released = pdanon.pcta(frame, k=5, m=2).frame
    started = time.process_time()  # whatever else the machine does
    assert pdanon.audit(released, k=5, m=2, independent=True).holds
    assert time.process_time() - started < 60
    three = pdanon.audit(released, k=5, m=3, independent=True)
    assert three.rows_at_risk == pdanon.audit(released, k=5, m=3).rows_at_risk > 0


# --- What cannot be judged is refused


class Own:
    def audit(self, frame, column=None): ...

    def with_mapping(self, mapping): ...


def test_other_guarantees_are_refused():
    with pytest.raises(ParameterError, match=r"(?s)does not know Own.*KmAnonymity"):
        pdanon.audit(frame_of(ROWS), Own(), independent=True)
    people = pdanon.KMap(k=2, m=1, population=frame_of(ROWS))
    with pytest.raises(ParameterError, match=r"(?s)does not know KMap.*or omit independent"):
        pdanon.audit(frame_of(ROWS), people, independent=True)


# --- Persons with several rows


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("seed", seeds(100))
def test_persons_are_judged_by_all_of_their_rows(seed, counts):
    random = Random(seed)
    rows = [row and random.choices(row, k=len(row)) for row in some_rows(random)]
    frame = pd.DataFrame({"items": lists([*rows, ["a"]])})
    frame["who"] = random.choices(random.choice([["x", "y", "z"], [1.0, 2.0, -0.0, 0.0]]), k=len(frame))
    wanted = random.choice([KmAnonymity(2, random.choice([1, 2, None])), TransactionalK(k=2)])
    one, other = (frame.txanon.by("who", counts=counts).audit(wanted, **asked) for asked in BOTH)
    assert one.rows_at_risk == other.rows_at_risk
    lines = frame.explode("items", ignore_index=True)
    lines["items"] = (
        lines["items"].map({"a": 1, "b": 2, "c": 3}).astype(random.choice([float, object, "Int64"]))
    )
    persons = pdanon.by(lines, "who", item="items", counts=counts)
    wanted = random.choice([KmAnonymity(2, 2), RhoUncertainty(rho=0.5, sensitive=[1], m=2)])
    one, other = (persons.audit(wanted, **asked) for asked in BOTH)
    assert one.rows_at_risk == other.rows_at_risk


def test_rows_of_persons_hide_nobody():
    """Three rows with tea are those of two persons."""
    frame = frame_of([["tea"], ["tea"], ["tea"]]).assign(who=[1, 1, 2])
    persons = frame.txanon.by("who", counts=True)
    assert persons.audit(k=2, m=1, independent=True).rows_at_risk == 1
    assert persons.audit(k=2, m=1, independent=True).threats["support"].tolist() == [1]
    assert frame.txanon.by("who").audit(k=2, m=1, independent=True).holds


def test_the_order_of_the_rows_of_a_person_does_not_matter():
    frame = frame_of([["rice"], ["tea"], ["tea"], ["rice"]]).assign(who=[1, 1, 2, 2])
    assert frame.txanon.by("who").audit(TransactionalK(k=2), independent=True).holds


def test_other_columns_of_persons_are_refused():
    persons = frame_of(ROWS).assign(who=[1, 1, 2], age=30).txanon.by("who")
    with pytest.raises(ParameterError, match=r"(?s)covers no other columns.*1 columns.*leave out all"):
        persons.audit(k=2, independent=True)
    with pytest.raises(ParameterError, match="the persons are of several types"):
        frame_of(ROWS).assign(who=[1, "1", 2]).txanon.by("who").audit(k=2, independent=True)
    with pytest.raises(ParameterError, match="only the independent audit has a time limit"):
        persons.audit(k=2, time_limit=1)


@pytest.mark.parametrize(
    "rows",
    [
        *([["a", 1]], [[None]], [["a"], "text"], [[float("nan")]], [[1], [1.5], [True]]),
        *([[["a"]], [["a"]]], [[{"a": 1}]], [[b"a"], [b"a"]], [[("a",)], [("a",)]]),
    ],
)
def test_rows_that_are_no_sets_of_items(rows):
    frame = pd.DataFrame({"items": pd.Series(rows, dtype=object)})
    for asked in BOTH:
        with pytest.raises(ItemsetDtypeError):
            pdanon.audit(frame, k=2, **asked)


UNKNOWN = [
    LmDiversity(l=2, m=1, sensitive=["flu"]),
    LmDiversity(l=2, m=1, sensitive=["x"]),  # a member of a set
    RhoUncertainty(rho=0.5, sensitive=["flu"]),
    pdanon.Coherence(h=0.5, k=2, p=1, private=["flu"]),
    pdanon.PSRules(rules=[(["rice"], ["flu"])], k=2, c=0.5),
    pdanon.PSRules(rules=[(["flu"], ["rice"])], k=2, c=0.5),
    pdanon.KLm(k=2, l=2, m=1, quasi=["age"], sensitive=["flu"]),
    pdanon.SensitiveGroups(p=2, sensitive=["flu"]),
    PrivacyConstraints(constraints=[["flu"]], k=2),
]


@pytest.mark.parametrize("guarantee", UNKNOWN)
def test_items_that_cannot_be_counted_are_refused(guarantee):
    frame = frame_of([["rice"], ["rice"], ["(x,y)"]]).assign(age=3, group=0)
    for asked in BOTH:
        with pytest.raises(ParameterError):
            pdanon.audit(frame, guarantee, **asked)


MEMBERS = [
    PrivacyConstraints(constraints=[["rice", "tea"]], k=2),  # the last row is the only one that may have both
    pdanon.PSRules(rules=[(["rice", "tea"], ["flu"])], k=2, c=0.5),
    pdanon.Coherence(h=0.5, k=2, p=1, private="more"),  # any of the last rows may have the private item
    pdanon.PublicK(k=2, public=["rice"]),
]


@pytest.mark.parametrize("guarantee", MEMBERS)
def test_listed_items_that_are_members_of_labels_are_refused(guarantee):
    """Also if they occur as items of their own; a mapping says that labels only look like sets."""
    rows = [["rice"], ["rice"], ["tea"], ["tea"], ["flu"], ["flu"], ["(rice,tea)"]]
    frame = frame_of(rows).assign(more=lists([*[[]] * 5, ["rice"], []]))
    for asked in BOTH:
        with pytest.raises(ParameterError, match="is a member of a published set"):
            pdanon.audit(frame, guarantee, "items", **asked)
    items = ["(rice,tea)", "flu", "rice", "tea"]
    mapping = pd.DataFrame({"group": 0, "item": items, "generalized": items, "support": [1, 2, 2, 2]})
    frame["more"] = lists([["x"], *[[]] * 6])
    for asked in BOTH:
        assert pdanon.audit(frame, guarantee.with_mapping(mapping), "items", **asked)


BROKEN = {  # premises that a frame can break, and how many rows the definition finds at risk
    "repeated": [["a", "a"], ["a"], ["a"]],
    "missing": [["a"], None, None],
    "overlapping": [["(a,b)", "(b,c)"], ["(a,b)"], ["(b,c)"]],
}


@pytest.mark.parametrize("premise", BROKEN)
def test_frames_that_break_a_premise_are_judged_by_the_definition(premise):
    """A repetition is another label, a missing row is in no crowd, and labels that overlap are counted."""
    frame = frame_of(BROKEN[premise]).assign(age=3)
    people = pdanon.KMap(k=2, m=2, population=frame)
    assert pdanon.audit(frame, people, "items").rows_at_risk == 1
    for guarantee in (KmAnonymity(2, 2), KKm(k=2, m=2, quasi=["age"])):
        found = [pdanon.audit(frame, guarantee, **asked).rows_at_risk for asked in BOTH]
        assert found == [1, 1]


def test_labels_that_share_an_item_are_refused_where_items_are_counted():
    frame = frame_of([["(a,b)", "(b,c)"], ["flu"], ["rice"], ["rice"]])
    for asked in BOTH:
        with pytest.raises(ParameterError, match="labels of a row share an item"):
            pdanon.audit(frame, LmDiversity(l=2, m=1, sensitive=["flu"]), **asked)
        assert pdanon.audit(frame, k=2, m=1, **asked).rows_at_risk == 2  # labels are counted


def test_frames_of_results_and_no_other_objects():
    result = pdanon.pcta(frame_of(ROWS * 3), k=2, m=2)
    assert pdanon.audit(result.frame, result.guarantee, independent=True).holds
    for other in (result, [result.frame], "release.parquet"):
        with pytest.raises(ParameterError, match=r"(?s)must be a pandas DataFrame.*hint"):
            pdanon.audit(other, k=2, independent=True)


def test_a_placeholder_keeps_the_mapping_of_the_guarantee():
    """An emptied row is at risk, whether the constraints are listed or a placeholder."""
    frame = frame_of([["a"], ["a"], []])
    mapping = pd.DataFrame({"group": 0, "item": ["a", "b"], "generalized": ["a", None], "support": [2, 1]})
    every = pdanon.constraints.all_itemsets(frame, 1)
    guarantee = PrivacyConstraints(constraints=every, k=2, mapping=mapping)
    for asked in ({}, {"independent": True}):
        assert pdanon.audit(frame, guarantee, **asked).rows_at_risk == 1


# --- In the evidence, and on the command line


def test_evidence_states_what_was_confirmed(tmp_path, monkeypatch):
    result = pdanon.pcta(frame_of(ROWS * 3), k=2, m=2)
    result.evidence(tmp_path / "e.json", independent=True)
    facts = json.loads((tmp_path / "e.json").read_text())
    assert facts["verdict"]["independent"] == "KmAnonymity(k=2, m=2)"
    assert "confirmed KmAnonymity(k=2, m=2)" in (tmp_path / "e.html").read_text()
    found = pdanon.verify(tmp_path / "e.json", result.frame, independent=True)
    assert {each.part: each.matches for each in found.checks}["recount"] is True
    monkeypatch.setitem(independent._JUDGES, KmAnonymity, lambda guarantee, table: (1, None))
    found = pdanon.verify(tmp_path / "e.json", result.frame, independent=True)
    assert not found.matches
    with pytest.raises(GuaranteeError, match="the independent audit disagrees"):
        result.evidence(tmp_path / "f.json", independent=True)
    assert not (tmp_path / "f.json").exists()


def test_on_the_command_line(run, tmp_path):
    path = tmp_path / "in.parquet"
    pdanon.to_parquet(frame_of(ROWS), path)
    code, out, _ = run("audit", str(path), "-k", "2", "-m", "1", "--independent")
    assert (code, "at risk    1 rows" in out) == (1, True)
    for other in (["--stream"], ["--previous", str(path)]):
        code, _, err = run("audit", str(path), "-k", "2", "--independent", *other)
        assert (code, "--independent goes with neither" in err) == (2, True)
    code, _, err = run("audit", str(tmp_path), "-k", "2", "--independent")
    assert (code, "it is a directory: pass a file" in err) == (2, True)
    result = pdanon.pcta(frame_of(ROWS * 3), k=2, m=2)
    result.evidence(tmp_path / "e.json", independent=True)
    pdanon.to_parquet(result.frame, tmp_path / "out.parquet")
    asked = ["--release", str(tmp_path / "out.parquet"), "--independent"]
    code, out, _ = run("verify", str(tmp_path / "e.json"), *asked)
    assert (code, "recount    matches: KmAnonymity(k=2, m=2)" in out) == (0, True)
    code, out, _ = run("verify", str(tmp_path / "e.json"), "--release", str(path), "--independent")
    assert (code, "recount" in out) == (1, True)
    pdanon.to_parquet(frame_of(ROWS).assign(who=[1, 1, 2]), tmp_path / "persons.parquet")
    code, out, _ = run(
        "audit", str(tmp_path / "persons.parquet"), "-k", "2", "--unit", "who", "--independent"
    )
    assert (code, "at risk    2 persons" in out) == (1, True)
