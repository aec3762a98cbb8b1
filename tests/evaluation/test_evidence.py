"""Evidence: what it states, what it must not name, and that a replay finds every change."""

from __future__ import annotations

import inspect
import json
import stat
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from time import process_time

import jsonschema
import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, UNCHECKED, frame_of
from contract import ARGUMENTS, run
from hypothesis import HealthCheck, given, settings, strategies as st
from naive import itemsets as naive
from pages import Page, rows_below

import pdanon
from examples import examples
from pdanon import FormatError, GuaranteeError, ParameterError, guarantees
from pdanon.evaluation import verification
from pdanon.evaluation.evidence import collect, first_violation, read_json, render
from pdanon.evaluation.matches import Knowledge, Matches
from pdanon.guarantees.promises import promise

ROWS = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"], ["rice", "salt"], ["tea", "rice"]] * 4
SCHEMA = json.loads((files("pdanon.evaluation") / "schema.json").read_text(encoding="utf-8"))
WHO = [(30, "f"), (31, "f"), (40, "m"), (41, "m")] * 6


def people():
    """Items, two quasi-identifiers and another column."""
    rows = [[*row, "flu"] if place % 5 == 0 else row for place, row in enumerate(ROWS)]
    frame = frame_of(rows).assign(age=[age for age, _ in WHO], sex=[sex for _, sex in WHO])
    return frame.rename(columns={"items": "codes"}).assign(ward=["n", "s"] * 12)


RELEASES = {
    "pcta": lambda frame: frame[["codes"]].txanon.pcta(k=3, m=2),
    "whole rows": lambda frame: frame[["codes"]].txanon.pcta(k=3, m=None),
    "listed": lambda frame: frame[["codes"]].txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["rice", "salt"], ["flu"]], k=3)
    ),
    "diverse": lambda frame: frame[["codes"]].txanon.apriori(
        guarantee=pdanon.LmDiversity(l=2, m=1, k=3, sensitive=["flu"]), hierarchy=2
    ),
    "chunks": lambda frame: frame[["codes"]].txanon.disassociate(k=3, m=2),
    "groups": lambda frame: frame[["codes"]].txanon.cahd(p=3, sensitive=["flu"], k=3, m=2),
    "quasi": lambda frame: pdanon.keep(frame, "codes", "ward").mondrian(k=3, quasi=["age", "sex"]),
    "both": lambda frame: pdanon.keep(frame, "ward").rfirst(k=3, m=1, quasi=["age", "sex"]),
    "sensitive": lambda frame: pdanon.keep(frame, "ward").rfirst(
        k=3,
        m=1,
        quasi=["age", "sex"],
        transaction=pdanon.Transaction(l=2, sensitive=["flu"]),
    ),
}


def tables_of(result):
    return {"mapping": result.mapping} | (
        {"classes": result.classes} if "classes" in result.published else {}
    )


def released(name, tmp_path, **given):
    """The original, a release, and its evidence."""
    frame = people()
    result = RELEASES[name](frame)
    path = tmp_path / "evidence.json"
    original = frame[[label for label in frame if label in result.frame]]
    result.evidence(path, original=original, **given)
    return original, result, path


# --- What it states


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", RELEASES)
def test_evidence_follows_its_schema_and_matches_its_release(name, tmp_path):
    original, result, path = released(name, tmp_path, title="May", redact="none")
    content = json.loads(path.read_text())
    jsonschema.validate(content, SCHEMA)
    found = pdanon.verify(path, result.frame, original=original, **tables_of(result))
    assert found.matches, found
    assert {check.part for check in found.checks if check.matches is None} == {"stated"}
    assert content["verdict"] == content["verdict"] | {"holds": True, "rows_at_risk": 0}
    assert content["promise"].count(". ") == 0
    page = Page((tmp_path / "evidence.html").read_text(encoding="utf-8"))
    assert page.texts("h1") == ["May"]
    assert content["promise"] in page.texts("p")
    assert any("It is not legal advice" in text for text in page.texts("p"))


def test_attacks_are_stated_without_the_secret(tmp_path):
    frame = frame_of([["a", "b", SECRET], ["b", "c"], ["a", "b", "c"], ["d"], ["d", "a"], ["a", "b"]] * 3)
    result, path = frame.txanon.local_suppression(k=4, m=2), tmp_path / "evidence.json"
    control = frame_of([["a", SECRET], ["b", "d"], ["c"]] * 4)
    for others, names in ((None, ["inference"]), (control, ["inference", "membership"])):
        played = frame.txanon.assess(result, others, SECRET, attacks=names, n_attacks=10)
        result.evidence(path, assessment=played, redact="all")
        content, page = json.loads(path.read_text()), path.with_suffix(".html").read_text(encoding="utf-8")
        jsonschema.validate(content, SCHEMA)
        assert SECRET not in f"{content}{page}"
        attacks = content["risk"]["attacks"]
        assert attacks["control"] == played.attrs["control"]
        assert attacks["control"] in page
        pd.testing.assert_frame_equal(
            pd.DataFrame(attacks["lines"], dtype="float64", columns=played.columns[1:]),
            played.iloc[:, 1:],
            check_dtype=False,
        )
        assert attacks["lines"][-1 if others is None else -2]["attack"] == "inference, recall"
        cells, _ = rows_below(Page(page), "Attacks")
        for text, n, success in zip(cells[5::4], played["n_attacks"], played["control"], strict=False):
            assert f"in {n} tries" in text
            assert f"on control rows: {'not tried' if pd.isna(success) else f'{100 * success:.3g} %'}" in text
        found = pdanon.verify(path, result.frame)
        assert found.matches
        assert "risk.attacks" in found.checks[-1].found.split(", ")
    content["risk"]["attacks"]["lines"][-1]["risk"] = 0
    path.write_text(json.dumps(content))
    assert [check.part for check in pdanon.verify(path, result.frame).checks if check.matches is False] == [
        "seal"
    ]
    with pytest.raises(ParameterError, match="no table of assess"):
        result.evidence(path, assessment=control)


def test_the_page_is_marked_by_what_was_found():
    result = RELEASES["pcta"](people())
    for mark, kind in (("✓", "holds"), ("⚠", "warned")):
        page = Page(render(collect(result, head={})))
        assert page.texts("p")[0] == f"{mark} The release has its guarantee."
        assert page.attributes("p")[0] == {"class": f"verdict {kind}"}
        result.frame["person"] = range(24)  # which tells all rows apart


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_releases_of_all_algorithms_have_evidence(name):
    frame = frame_of([["a", "b"], ["b", "c"], ["a", "b", "c"], ["d"], ["d", "a"], ["a", "b"]] * 3)
    result = run(name, frame)
    for redact in ("unpublished", "all", "none"):
        evidence = collect(result, frame, head={}, redact=redact)
        jsonschema.validate(json.loads(evidence.to_json()), SCHEMA)
        assert render(evidence)
        if (k := getattr(result.guarantee, "k", None)) and name not in ("ps_rules",):
            assert evidence.risk["after"]["fewest"] >= k
            assert evidence.risk["after"]["below_k"] == 0


def test_every_guarantee_has_its_promise():
    kinds = [getattr(guarantees, name) for name in guarantees.__all__]
    kinds = [kind for kind in kinds if inspect.isclass(kind) and hasattr(kind, "with_mapping")]
    assert len(kinds) == 14
    assert {type(each) for each in PROMISES.values()} == {*kinds}
    known = SCHEMA["properties"]["guarantee"]["properties"]["name"]["enum"]
    assert {*known} == {each.__name__ for each in kinds} - {"KMap"}  # of no result
    assert promise("Mine(k=5)") == "The guarantee 'Mine(k=5)' holds."


PROMISES = {
    "Attackers who know up to 2 items in codes of a person find at least 11 matching rows.": (
        pdanon.KmAnonymity(11, 2)
    ),
    "Attackers who know up to 2 items in codes of a person find at least 11 matching people in a population "
    "of 3.": pdanon.KMap(11, 2, population=pd.DataFrame({"codes": [["a"]] * 3})),
    "Attackers who know year, sex and up to 2 items in codes of a person find at least 11 matching rows.": (
        pdanon.KKm(k=11, m=2, quasi=["year", "sex"])
    ),
    "Attackers who know year and 1 item that is not sensitive in codes of a person find at least 11 matching "
    "rows, and each of the 2 sensitive items is in at most 1 in 2 of them.": (
        pdanon.KLm(k=11, m=1, l=2, quasi=["year"], sensitive=["flu", "gout"])
    ),
    "Attackers who know any number of items in codes of a person infer the sensitive item with a confidence "
    "of at most 30 %.": pdanon.RhoUncertainty(rho=0.3, sensitive=["flu"]),
    "Attackers who know year and sex of a person find at least 5 matching rows.": (
        pdanon.KAnonymity(5, quasi=["year", "sex"])
    ),
    "Attackers who know the known items of the rule for codes of a person find at least 5 matching rows, or "
    "none, and at most 1 in 3 of them contain its sensitive items.": (
        pdanon.PSRules(rules=[(["rice"], ["flu"])], k=5, c=1 / 3)
    ),
    "Attackers who know all items of one of the 2 listed itemsets in codes of a person find at least 5 "
    "matching rows, or none.": pdanon.PrivacyConstraints(constraints=[["rice"], ["tea"]], k=5),
    "Attackers who know up to 2 items that are not sensitive in codes of a person find at least 5 matching "
    "rows, and each of the 2 sensitive items is in at most 1 in 4 of them.": (
        pdanon.LmDiversity(l=4, m=2, sensitive=["flu", "gout"], k=5)
    ),
    "Attackers who know up to 2 items that are public in codes of a person find at least 5 matching rows, "
    "and the private item is in at most 1 in 2 of them.": pdanon.Coherence(h=0.5, k=5, p=2, private=["flu"]),
    "Attackers who know for each of the 2 public items whether it is in codes of a person find at least 5 "
    "matching rows.": pdanon.PublicK(k=5, public=["rice", "tea"]),
    "Attackers who know any number of items in codes of a person find at least 5 matching rows, which all "
    "have the same items.": pdanon.TransactionalK(k=5),
    "No row shows any of the 1 sensitive item in codes, and each of them belongs to at most 1 in 4 of the "
    "rows of any group; attackers who know 1 item that is not sensitive in codes of a person find at least 5 "
    "matching rows.": pdanon.SensitiveGroups(p=4, sensitive=["flu"], k=5, m=1),
    "For attackers who know up to 2 items in codes of a person, it remains possible that at least 5 records "
    "match.": pdanon.DisassociatedKm(k=5, m=2),
}


@pytest.mark.parametrize("sentence", PROMISES)
def test_the_promise_is_one_sentence_with_numbers_and_columns(sentence):
    assert promise(PROMISES[sentence], "codes") == sentence


# --- Risk, against slow answers


def naive_matches(rows, classes, m):
    """The fewest rows that match each row when its class and up to m of its items are known."""
    sets = [frozenset(row) for row in rows]
    return [
        min(
            sum(known <= other and own == whose for other, whose in zip(sets, classes, strict=True))
            for size in range(min(m, len(row)) + 1)
            for known in map(frozenset, combinations(sorted(row), size))
        )
        for row, own in zip(sets, classes, strict=True)
    ]


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("quasi", [(), ("age",), ("age", "sex")])
def test_the_fewest_matches_are_those_of_a_slow_count(m, quasi):
    frame = people()
    knowledge = Knowledge(quasi, ("codes",), m)
    matches = Matches.of(frame, knowledge)
    slow = naive_matches(
        frame["codes"], [*zip(*(frame[label] for label in quasi), strict=True)] or [()] * 24, m
    )
    assert matches.fewest() == min(slow)
    for k in (2, 3, 5, 9):
        assert matches.is_below(k, m).tolist() == [count < k for count in slow]
    average = float(np.mean([1 / count for count in slow]))
    assert average <= matches.average_risk(min(slow)) <= 2 * average


def test_the_fewest_matches_are_the_lowest_support():
    rows = [frozenset(row) for row in ROWS]
    for m in (1, 2):
        fewest = min(naive.supports(rows, m).values())
        assert Matches.of(frame_of(ROWS), Knowledge((), ("items",), m)).fewest() == fewest


def test_classes_alone_are_counted_exactly():
    frame = people()
    matches = Matches.of(frame, Knowledge(("age", "sex"), (), 0))
    assert (matches.fewest(), matches.average_risk(6)) == (6, 4 / 24)


def test_a_population_has_more_matches(tmp_path):
    frame = people()[["codes"]]
    result = frame.txanon.pcta(k=3, m=2)
    more = pd.concat([result.frame] * 2 + [result.frame.iloc[:5]], ignore_index=True)
    result.evidence(tmp_path / "e.json", population=more)
    population = json.loads((tmp_path / "e.json").read_text())["risk"]["journalist"]
    both = naive_matches(more["codes"], [()] * len(more), 2)
    assert population["fewest"] == min(both)
    assert population["risk"] == 1 / min(both)
    pdanon.to_parquet(more, tmp_path / "more.parquet")
    result.evidence(tmp_path / "again.json", population=tmp_path / "more.parquet")
    again = json.loads((tmp_path / "again.json").read_text())["risk"]["journalist"]
    assert again == population


@settings(max_examples=examples(100), suppress_health_check=[*UNCHECKED, HealthCheck.function_scoped_fixture])
@given(st.lists(st.sets(st.sampled_from("abc"), max_size=3), min_size=2, max_size=6), st.data())
def test_the_fewest_people_of_a_population_are_k_of_k_map(tmp_path, rows, data):
    frame, m = frame_of([*rows, *rows]), data.draw(st.integers(1, 2))
    others = data.draw(st.lists(st.sampled_from(rows), max_size=4))
    result = frame.txanon.pcta(k=2, m=m)
    more = pd.concat([result.frame, frame_of([*rows, *others])], ignore_index=True)
    result.evidence(tmp_path / "e.json", population=more)
    fewest = json.loads((tmp_path / "e.json").read_text())["risk"]["journalist"]["fewest"]
    for k, holds in ((fewest, True), (fewest + 1, False)):
        assert k < 2 or result.frame.txanon.audit(pdanon.KMap(k=k, m=m, population=more)).holds == holds
    found = pdanon.verify(tmp_path / "e.json", result.frame, population=more)
    assert found.matches, found
    assert "journalist" not in found.checks[-1].found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda people: people, None),
        (lambda people: people.iloc[24:], "this is not the population"),
        (lambda people: people.iloc[:5], "the population is smaller than the table"),
        (lambda people: people.iloc[:24], "other values: journalist"),
    ],
)
def test_another_population_is_found(change, message, tmp_path):
    result = RELEASES["pcta"](people())
    more = pd.concat([result.frame, pd.concat([result.frame.iloc[:1]] * 30)], ignore_index=True)
    result.evidence(tmp_path / "e.json", population=more)
    outcome = pdanon.verify(tmp_path / "e.json", result.frame, population=change(more))
    found = {each.part: each for each in outcome.checks}
    assert found["risk"].matches == (message is None)
    assert message is None or message in found["risk"].found
    result.evidence(tmp_path / "e.json")
    assert not pdanon.verify(tmp_path / "e.json", result.frame, population=more).matches
    with pytest.raises(ParameterError, match="population must be"):
        pdanon.verify(tmp_path / "e.json", result.frame, population="people.parquet")


@pytest.mark.parametrize("name", ["quasi", "both"])
def test_a_population_in_which_only_others_are_rare_has_no_higher_risk(name):
    result = RELEASES[name](people())
    lone = result.frame.iloc[:1].copy()
    lone["sex"] = "x"
    more = pd.concat([result.frame, result.frame, lone], ignore_index=True)
    alone = collect(result, head={}).risk["after"]["fewest"]
    found = collect(result, head={}, population=more).risk["journalist"]
    assert found == {"rows": 49, "fewest": 2 * alone, "risk": 1 / (2 * alone)}


# --- Thresholds


def test_thresholds_have_a_source():
    assert {name: pdanon.thresholds[name].least for name in pdanon.thresholds} == {
        "CMS": 11,
        "PCORnet": 11,
        "NHS Digital": 8,
        "OpenSAFELY": 8,
    }
    for each in pdanon.thresholds.values():
        assert each.url.startswith("https://")
        assert 2010 < each.year < 2027
        assert each.is_met(each.least)
        assert not each.is_met(each.least - 1)
    assert pdanon.thresholds["cms"].least == 11
    assert pdanon.thresholds.to_frame().shape == (4, 7)
    assert "CMS" in pdanon.thresholds
    assert "FDA" not in pdanon.thresholds


def test_no_other_threshold_is_known():
    with pytest.raises(ParameterError, match="there is no such threshold") as caught:
        pdanon.thresholds["NHS Digitl"]
    assert "did you mean" in str(caught.value)


# --- What is not named


SECRETS = {
    "rho": lambda frame: frame.txanon.suppress_control(rho=0.3, sensitive=[SECRET]),
    "coherence": lambda frame: frame.txanon.coherence(h=0.5, k=2, p=1, private=[SECRET, "flu"]),
    "rules": lambda frame: frame.txanon.ps_rules(rules=[(["rice"], [SECRET])], k=2, c=0.5, suppress=True),
    "constraints": lambda frame: frame.txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["rice", SECRET]], k=3)
    ),
    "diverse": lambda frame: frame.txanon.apriori(
        k=2, m=1, hierarchy={"all": {"n1": ["rice", SECRET, "tea", "flu"]}}
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("redact", ["unpublished", "all"])
@pytest.mark.parametrize("name", SECRETS)
def test_items_that_are_not_published_are_not_named(name, redact, tmp_path):
    rows = [["rice", "tea"], ["rice", "tea"], ["rice", SECRET], ["tea", "flu"], ["tea"], ["rice", "flu"]]
    frame = frame_of(rows * 2)
    result = SECRETS[name](frame)
    published = {label for row in result.frame["items"] for label in row}
    path = tmp_path / "evidence.json"
    result.evidence(path, original=frame, redact=redact)
    texts = [path.read_text(), path.with_suffix(".html").read_text()]
    found = pdanon.verify(path, result.frame, original=frame)
    texts += [repr(found), found._repr_html_()]
    if redact == "all" or SECRET not in published:
        assert not any(SECRET in text for text in texts)
    result.evidence(path, redact="none")
    if name not in ("diverse",):
        assert all(SECRET in path.with_suffix(suffix).read_text() for suffix in (".json", ".html"))


def test_sensitive_items_that_are_published_are_named_unless_redacted(tmp_path):
    for redact, named in {"unpublished": True, "none": True, "all": False}.items():
        _, _, path = released("sensitive", tmp_path, redact=redact)
        assert ("flu" in path.read_text()) == named
        assert ("flu" in path.with_suffix(".html").read_text()) == named


def test_evidence_without_items_can_be_counted_again_only_with_the_other_evidence(tmp_path):
    _, result, path = released("sensitive", tmp_path, redact="all")
    found = pdanon.verify(path, result.frame)
    assert [check.part for check in found.checks if check.matches is False] == ["guarantee"]
    assert "redact='none'" in repr(found)


def test_only_its_owner_reads_what_describes_the_original(tmp_path):
    frame = people()[["codes"]]
    result = frame.txanon.pcta(k=3, m=2)
    private = [{"original": frame}, {}, {"redact": "none"}, {"redact": "all", "original": frame}]
    for number, options in enumerate([*private, {"redact": "all"}]):
        path = tmp_path / f"{number}.json"
        result.evidence(path, **options)
        mode = {stat.S_IMODE(path.with_suffix(suffix).stat().st_mode) for suffix in (".json", ".html")}
        assert (mode == {0o600}) == (number < len(private))
    assert "mapping" not in json.loads(path.read_text())["tables"]


# --- Replay


def edited(*places, value):
    """A change of one entry of the JSON, and of nothing else."""

    def edit(content):
        *path, last = places
        for place in path:
            content = content[place]
        assert content[last] != value
        content[last] = value

    return edit


EDITS = {
    "k": (edited("guarantee", "parameters", "k", value=2), {"parameters", "promise", "risk"}),
    "m": (edited("guarantee", "parameters", "m", value=2), {"parameters"}),
    "quasi-identifiers": (edited("guarantee", "parameters", "quasi", value=["age"]), {"promise", "risk"}),
    "the kind": (edited("guarantee", "name", value="KmAnonymity"), {"guarantee"}),
    "a parameter of the request": (edited("request", "parameters", "k", value="9"), {"parameters"}),
    "the promise": (edited("promise", value="Nobody finds anyone."), {"promise"}),
    "a version": (edited("made", "versions", "pandas", value="0.1"), set()),
    "a library": (edited("made", "versions", "numpy", value="0.1"), set()),
    "the number of rows": (edited("verdict", "rows", value=25), {"guarantee"}),
    "the verdict": (edited("verdict", "holds", value=False), {"guarantee"}),
    "the fewest matches": (edited("risk", "after", "fewest", value=99), {"risk"}),
    "the risk before": (edited("risk", "before", "singled_out", value=0), {"risk"}),
    "the risk beyond": (edited("risk", "beyond", "after", value=0), {"risk"}),
    "a threshold": (edited("thresholds", 0, "met", value=True), {"thresholds"}),
    "the source of a threshold": (edited("thresholds", 0, "year", value=1999), {"thresholds"}),
    "what is not protected": (edited("not_protected", value=[]), {"unmodified"}),
    "the fingerprint": (edited("tables", "release", "fingerprint", value="0" * 64), {"release"}),
    "the recipient": (edited("head", "recipient", value="all"), set()),
    "a loss": (edited("loss", "occurrences", value=0.0), set()),
    "the algorithm": (edited("request", "algorithm", value="pcta"), set()),
    "the redaction": (edited("redact", value="all"), set()),
}


@pytest.fixture(scope="module")
def proven(tmp_path_factory):
    original, result, path = released("both", tmp_path_factory.mktemp("proven"), recipient="a university")
    return path, {"release": result.frame, "original": original, "mapping": result.mapping}


@pytest.mark.parametrize("name", EDITS)
def test_the_replay_finds_a_change_of_a_fact(name, proven, tmp_path):
    path, tables = proven
    edit, parts = EDITS[name]
    content = json.loads(path.read_text())
    edit(content)
    again = tmp_path / "edited.json"
    again.write_text(json.dumps(content))
    tables = dict(tables)
    found = pdanon.verify(again, tables.pop("release"), **tables)
    wrong = {check.part for check in found.checks if check.matches is False}
    assert wrong >= parts | {"seal"}


def test_tables_that_are_not_passed_are_not_checked(proven):
    path, tables = proven
    found = pdanon.verify(path, tables["release"])
    assert found.matches
    assert repr(found).endswith("what was checked matches; not checked: mapping, original, stated")
    assert "not checked: pass original= (--original)" in repr(found)


def test_other_versions_are_named_and_are_no_mismatch(proven, monkeypatch):
    path, tables = proven
    monkeypatch.setattr(verification, "library_versions", lambda: {"pdanon": "99", "Python": "3.99.1"})
    found = pdanon.verify(path, tables["release"])
    assert found.matches
    assert "versions   not checked: pdanon 99 here, " in repr(found)
    assert "Python 3.99.1 here, " in repr(found)


@pytest.mark.parametrize(("name", "table"), [("release", None), ("original", 5), ("mapping", "m.parquet")])
def test_only_frames_are_verified(name, table, proven):
    path, tables = proven
    tables = {"release": tables["release"]} | {name: table}
    with pytest.raises(ParameterError, match="must be a pandas DataFrame"):
        pdanon.verify(path, tables.pop("release"), **tables)


def test_a_table_that_the_evidence_does_not_describe_is_not_confirmed(tmp_path):
    frame = people()[["codes"]]
    result = frame.txanon.pcta(k=3, m=2)
    result.evidence(tmp_path / "e.json")
    found = pdanon.verify(tmp_path / "e.json", result.frame, original=frame)
    assert [check.part for check in found.checks if check.matches is False] == ["original"]


def test_a_release_is_verified_from_its_file(tmp_path):
    original, result, path = released("both", tmp_path)
    pdanon.to_parquet(result.frame, tmp_path / "r.parquet")
    pdanon.to_parquet(result.mapping, tmp_path / "m.parquet")
    again, mapping = (pdanon.read_parquet(tmp_path / f"{name}.parquet") for name in "rm")
    assert pdanon.verify(path, again, original=original, mapping=mapping).matches


def test_the_same_release_gives_the_same_evidence(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    _, _, path = released("both", tmp_path)
    first = [path.with_suffix(suffix).read_bytes() for suffix in (".json", ".html")]
    released("both", tmp_path)
    assert [path.with_suffix(suffix).read_bytes() for suffix in (".json", ".html")] == first
    assert all(each.isascii() for each in first[:1])


# --- Bad input


@pytest.mark.parametrize("cut", [0, 1, 100, 2000, -3])
def test_damaged_evidence_is_refused(cut, proven, tmp_path):
    path, tables = proven
    (tmp_path / "cut.json").write_text(path.read_text()[:cut])
    with pytest.raises(FormatError, match="cannot be read") as caught:
        pdanon.verify(tmp_path / "cut.json", tables["release"])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_are_refused(number, proven, tmp_path):
    path, tables = proven
    (tmp_path / "e.json").write_text(path.read_text().replace('"loss": {', f'"loss": {{"x": {number}, '))
    with pytest.raises(FormatError, match="cannot be read"):
        pdanon.verify(tmp_path / "e.json", tables["release"])


STRUCTURES = {
    "a list": lambda content: [],
    "another file": lambda content: {"a": 1},
    "a later version": lambda content: content | {"version": 2},
    "no version": lambda content: content | {"version": None},
    "a missing entry": lambda content: {name: content[name] for name in content if name != "risk"},
    "an unknown entry": lambda content: content | {SECRET: 1},
    "a wrong type": lambda content: content | {"promise": 5},
    "a flag as a number": lambda content: content | {"verdict": content["verdict"] | {"rows": True}},
    "an unknown guarantee": lambda content: content | {"guarantee": content["guarantee"] | {"name": "audit"}},
    "a wrong part": lambda content: content | {"tables": {"release": {"rows": 1}}},
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_what_is_no_evidence_is_refused(name, proven, tmp_path):
    path, tables = proven
    content = STRUCTURES[name](json.loads(path.read_text()))
    (tmp_path / "wrong.json").write_text(json.dumps(content))
    with pytest.raises(FormatError) as caught:
        pdanon.verify(tmp_path / "wrong.json", tables["release"])
    assert SECRET not in str(caught.value)
    assert ("later pdanon" in str(caught.value)) == (name == "a later version")
    if isinstance(content, dict) and content.get("format"):
        assert bool(first_violation(content, SCHEMA)) or name == "a later version"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(content, SCHEMA)


@pytest.mark.parametrize("number", [0, -1, 10**30])
def test_parameters_that_no_guarantee_has_are_not_confirmed(number, proven, tmp_path):
    path, tables = proven
    content = json.loads(path.read_text())
    content["guarantee"]["parameters"]["k"] = number
    (tmp_path / "wrong.json").write_text(json.dumps(content))
    found = pdanon.verify(tmp_path / "wrong.json", tables["release"])
    assert "not counted again: k must be" in repr(found)
    assert not found.matches


WRONG = {
    "another original": (lambda result, frame: {"original": frame.iloc[:5]}, "not of this frame"),
    "no frame": (lambda result, frame: {"original": 5}, "original"),
    "a small population": (
        lambda result, frame: {"population": result.frame.iloc[:5]},
        "the population is smaller than the table",
    ),
    "another population": (
        lambda result, frame: {"population": frame},
        "this is not the population of the table",
    ),
    "no population": (lambda result, frame: {"population": 5}, "population must be a path"),
    "a population in CSV": (lambda result, frame: {"population": "people.csv"}, "cannot be read as Parquet"),
    "a redaction": (lambda result, frame: {"redact": "some"}, "there is no such redaction"),
    "a title": (lambda result, frame: {"title": 5}, "title must be text"),
    "a parameter": (lambda result, frame: {"titel": "May"}, "did you mean"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_before_anything_is_written(name, tmp_path):
    frame = people()[["codes"]]
    result = frame.txanon.pcta(k=3, m=2)
    given, message = WRONG[name]
    with pytest.raises(pdanon.PdanonError, match=message):
        result.evidence(tmp_path / "e.json", **given(result, frame))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("path", ["e.txt", "e", "nowhere/e.json", "s3://bucket/e.json", 5])
def test_paths_that_cannot_be_written_are_refused(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pdanon.PdanonError):
        people()[["codes"]].txanon.pcta(k=3, m=2).evidence(path)
    assert not [*tmp_path.iterdir()]


def test_a_release_that_was_changed_has_no_evidence(tmp_path):
    result = people()[["codes"]].txanon.pcta(k=3, m=2)
    result.frame["codes"] = [["x"], *result.frame["codes"].tolist()[1:]]
    with pytest.raises(GuaranteeError, match="not those that were released"):
        result.evidence(tmp_path / "e.json")
    with pytest.raises(GuaranteeError, match="so there is no evidence"):
        replace(result, holds=False).evidence(tmp_path / "e.json")
    assert not [*tmp_path.iterdir()]


def test_a_read_of_evidence_is_what_was_collected(proven):
    path, _ = proven
    evidence, seal = read_json(path)
    assert seal == evidence.seal
    assert evidence.to_json() == path.read_text()


# --- A million rows


@pytest.mark.slow
def test_a_million_rows_have_evidence_within_a_minute(tmp_path):
    frame = pdanon.datasets.make_baskets(1_000_000, items=500, random_state=1)[["items"]]
    result = frame.txanon.pcta(k=11, m=2)
    start = process_time()
    result.evidence(tmp_path / "e.json", original=frame)
    assert process_time() - start < 60  # it takes 4
    assert (tmp_path / "e.html").stat().st_size < 2_000_000
    assert pdanon.verify(tmp_path / "e.json", result.frame, mapping=result.mapping).matches
