"""Named items in a file: codes, prefixes and ranges, one a line, with the same meaning everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
import pytest
from conftest import SECRET, frame_of
from hypothesis import given, strategies as st

import pdanon
import pdanon.dask
import pdanon.stream
from pdanon import (
    Coherence,
    FormatError,
    Hierarchy,
    HierarchyError,
    KLm,
    LmDiversity,
    ParameterError,
    PublicK,
    RhoUncertainty,
    SensitiveGroups,
    Transaction,
)
from pdanon.__main__ import main
from pdanon.guarantees.named import NamedItems
from pdanon.itemsets.codes import item_array

ROWS = [
    ["F10.1", "I10"],
    ["F11.2", "I10"],
    ["I10", "E11"],
    ["I10", "E11"],
    ["I10", "E11", "b20.1"],
    ["I10"],
    ["I10", "Z99"],
    ["I10"],
    ["E11"],
] * 4
NAMED = ["F10.1", "F11.2", "b20.1", "Z99"]


@pytest.fixture
def codes(tmp_path):
    path = tmp_path / "codes.txt"
    path.write_text("F10\u2013F19\n\n B20*\nF11.2\nF11*\nZ99\n", encoding="utf-8-sig")
    return path


# --- what an entry stands for

CODES = st.from_regex(r"[EF][12][0-2]?(\.[0-2])?", fullmatch=True)
ENTRIES = st.one_of(
    CODES,
    CODES.map("{}*".format),
    st.tuples(CODES, CODES).map(sorted).filter(lambda pair: len(pair[0]) == len(pair[1])).map("-".join),
)


def stands_for(entry, code):
    """Whether an entry names a code, in plain words."""
    if entry.endswith("*"):
        return code.startswith(entry[:-1])
    low, _, high = entry.partition("-")
    if not high:
        return code == entry
    same_dots = [a == "." for a in low] == [a == "." for a in code[: len(low)]]
    return len(code) >= len(low) and low <= code[: len(low)] <= high and same_dots


@given(st.lists(ENTRIES, min_size=1, max_size=4, unique=True), st.lists(CODES, min_size=1, unique=True))
def test_entries_name_the_codes_that_their_text_says(entries, codes):
    try:
        named = NamedItems.of_entries("sensitive", {entry: line for line, entry in enumerate(entries, 1)})
    except HierarchyError:  # two ranges overlap
        return
    found = named.find(item_array(codes, "items")) >= 0
    # A range in lower and upper case, and one between bounds with dots at several places, is none of these.
    assert found.tolist() == [any(stands_for(entry, code) for entry in entries) for code in codes]


def test_a_range_is_the_node_of_a_hierarchy(codes):
    tree = Hierarchy.icd10(["F09", "F10", "F10.1", "f192", "F20.0"])
    below = {tree.names[node] for node in range(tree.n_nodes) if tree.is_leaf[node]}
    node = tree.names.index("F10-F19")
    within = {tree.names[each] for each in range(node, node + tree.size[node]) if tree.is_leaf[each]}
    named = NamedItems.of(codes, "sensitive")
    leaves = sorted(below)
    assert {
        leaf for leaf, number in zip(leaves, named.find(item_array(leaves, "x")), strict=True) if number >= 0
    } == within


# --- every way to pass it gives what the list of items gives

GUARANTEES = {
    "LmDiversity": lambda items: LmDiversity(l=2, m=1, sensitive=items, k=2),
    "KLm": lambda items: KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=items),
    "Coherence": lambda items: Coherence(h=0.5, k=2, p=1, private=items),
    "RhoUncertainty": lambda items: RhoUncertainty(rho=0.5, sensitive=items),
    "PublicK": lambda items: PublicK(k=2, public=items),
    "SensitiveGroups": lambda items: SensitiveGroups(p=2, sensitive=items),
}


@pytest.mark.parametrize("make", GUARANTEES.values(), ids=GUARANTEES)
def test_audits_count_the_codes_of_a_file(make, codes):
    frame = frame_of(ROWS).assign(sex="f")
    if make is GUARANTEES["SensitiveGroups"]:
        frame["group"] = 0
    found, expected = (frame.txanon.audit(make(items)) for items in (codes, NAMED))
    assert (found.holds, found.rows_at_risk) == (expected.holds, expected.rows_at_risk)
    assert found.threats.equals(expected.threats)
    assert "3 codes or ranges" in repr(found.guarantee)
    again = frame.txanon.audit(make(str(codes)), independent=True)
    assert again.rows_at_risk == found.rows_at_risk


RELEASES = {
    "suppress_control": lambda items: {"rho": 0.4, "sensitive": items},
    "cahd": lambda items: {"p": 2, "sensitive": items},
    "coherence": lambda items: {"h": 0.2, "k": 2, "p": 2, "private": items},
    "suppress_to_k": lambda items: {"k": 2, "public": items},
    "apriori": lambda items: {"guarantee": LmDiversity(l=3, m=2, k=4, sensitive=items), "hierarchy": 2},
    "rfirst": lambda items: {
        "k": 2,
        "m": 1,
        "quasi": ["age"],
        "transaction": Transaction("pcta", sensitive=items, l=2),
    },
}


@pytest.mark.parametrize("name", RELEASES)
def test_releases_are_those_of_the_list(name, codes):
    frame = frame_of(ROWS).assign(age=0)
    release = getattr(frame.txanon, name)
    found, expected = (release(**RELEASES[name](items)) for items in (codes, NAMED))
    pd.testing.assert_frame_equal(found.frame, expected.frame)
    assert found.frame.txanon.audit(found.guarantee).holds


def test_streams_and_dask_read_the_file(tmp_path, codes):
    frame = frame_of(ROWS)
    frame.to_parquet(tmp_path / "in.parquet")
    expected = frame.txanon.suppress_control(rho=0.4, sensitive=NAMED).frame["items"]
    pdanon.stream.suppress_control(
        tmp_path / "in.parquet", tmp_path / "out.parquet", rho=0.4, sensitive=codes
    )
    released = pdanon.read_parquet(tmp_path / "out.parquet")["items"]
    lazy = dd.from_pandas(frame, npartitions=2).txanon.suppress_control(rho=0.4, sensitive=codes)
    for each in (released, lazy.frame.compute()["items"]):
        assert [sorted(row) for row in each] == [sorted(row) for row in expected]


def test_the_command_and_a_policy_read_the_file(tmp_path, codes, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame_of(ROWS).to_parquet("in.parquet")
    asked = ("--rho", "0.4", "--sensitive")
    assert main(["anonymize", "in.parquet", "one.parquet", *asked, "codes.txt"]) == 0
    assert main(["anonymize", "in.parquet", "two.parquet", *asked, *NAMED]) == 0
    assert main(["audit", "one.parquet", *asked, "codes.txt", "--json"]) in (0, 1, 2)
    policies = tmp_path / "policies"
    policies.mkdir()
    codes.rename(policies / "codes.csv")
    policy = 'input = "../in.parquet"\n[parameters]\nrho = 0.4\nsensitive = "codes.csv"\n'
    (policies / "policy.toml").write_text(policy + '[outputs]\nrelease = "../three.parquet"\n')
    assert main(["run", "policies/policy.toml", "--allow-outside"]) == 0
    one, two, three = (pd.read_parquet(f"{name}.parquet") for name in ("one", "two", "three"))
    pd.testing.assert_frame_equal(one, two)
    pd.testing.assert_frame_equal(one, three)


def test_all_rules_of_a_frame_take_a_file_and_others_do_not(codes):
    frame = frame_of(ROWS)
    found, expected = (pdanon.constraints.ps_rules(frame, None, items, 1) for items in (codes, NAMED))
    assert found.to_frame().equals(expected.to_frame())
    with pytest.raises(ParameterError, match="depends on the data") as caught:
        pdanon.constraints.AllRules(2, codes)
    assert "ps_rules(frame" in str(caught.value)


# --- evidence


@pytest.mark.parametrize("redact", ["none", "unpublished"])
def test_evidence_tells_the_ranges_and_verify_counts_them(tmp_path, codes, redact):
    path = tmp_path / "evidence.json"
    guarantee = LmDiversity(l=3, m=2, k=4, sensitive=codes)
    result = frame_of(ROWS).txanon.apriori(guarantee=guarantee, hierarchy=2)
    result.evidence(path, redact=redact)
    told = json.loads(path.read_text())["guarantee"]["parameters"]["sensitive"]
    assert told == {"number": 3, "named": ["Z99", "F10-F19", "B20*"], "ranges": 2}
    assert pdanon.verify(path, result.frame, mapping=result.mapping).matches
    broken = result.frame.copy()
    broken["items"] = frame_of([[*row, "F10.1"] if "I10" in row else row for row in ROWS])["items"]
    assert not broken.txanon.audit(guarantee).holds


def test_evidence_names_no_range_without_a_published_code(tmp_path):
    """Otherwise a prefix as long as a suppressed code would name it."""
    path, file = tmp_path / "evidence.json", tmp_path / "codes.txt"
    file.write_text(f"{SECRET[:5]}*\nb*\n")
    rows = [["a", SECRET], ["a"], ["b1"], ["b1"], [], [], [], []]
    result = frame_of(rows).txanon.suppress_control(rho=0.4, sensitive=file)
    assert SECRET not in {item for row in result.frame["items"] for item in row}
    result.evidence(path)
    assert SECRET[:5] not in path.read_text()
    assert pdanon.verify(path, result.frame, mapping=result.mapping).matches


# --- errors

BAD = {
    "unknown": ("F10*\nF9*\n", ParameterError, "does not occur", "sensitive, line 2"),
    "header": ("code\nF10*\n", ParameterError, "does not occur", "sensitive, line 1"),
    "empty": ("\n \n", FormatError, "is empty", "codes.txt"),
    "beginning": ("F10\nF11*\n", ParameterError, "also the beginning", "write F10*"),
    "overlap": ("F10-F12\nF11-F13\n", HierarchyError, "overlap", "split one"),
    "lengths": ("F1-F19\n", ParameterError, "does not occur", "of equal length"),
    "no text": (b"\xe9\n", FormatError, "cannot be read", "UTF-8"),
}


@pytest.mark.parametrize("kind", BAD)
def test_files_that_say_nothing_or_too_little_are_refused(kind, tmp_path):
    content, error, problem, detail = BAD[kind]
    path = tmp_path / "codes.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    frame = frame_of([["F10", SECRET], ["F10.1"], ["F11"], ["F12", "F13"]])
    with pytest.raises(error, match=problem) as caught:
        frame.txanon.audit(RhoUncertainty(rho=0.5, sensitive=path))
    assert detail in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    for wrong in ("lost.txt", tmp_path, Path("lost.csv")):
        with pytest.raises(FormatError, match="cannot be read"):
            RhoUncertainty(rho=0.5, sensitive=wrong)
    with pytest.raises(ParameterError, match="sensitive"):
        RhoUncertainty(rho=0.5, sensitive="F10")


def test_a_sensitive_code_that_becomes_another_of_its_range_is_generalized(codes):
    mapping = pd.DataFrame(
        {"group": 0, "item": ["F10.1", "F11.2"], "generalized": ["F11.2", "F11.2"]}, dtype="str"
    )
    with pytest.raises(ParameterError, match="is generalized"):
        RhoUncertainty(rho=0.5, sensitive=codes, mapping=mapping)
    with pytest.raises(ParameterError, match="member of a published set"):
        frame_of([["(F10.1,I10)"], ["F10.1"], ["b20"], ["Z99"]]).txanon.audit(
            RhoUncertainty(rho=0.5, sensitive=codes)
        )


def test_a_list_of_items_is_read_as_before():
    """Texts in a list are items: a range needs a file."""
    frame = frame_of([["10-20", "15"], ["10-20"], ["15"], ["15"]])
    named = frame.txanon.audit(RhoUncertainty(rho=0.9, sensitive=["10-20"]))
    assert repr(named.guarantee) == "RhoUncertainty(rho=0.9, sensitive=1 items)"
    assert not named.holds or named.rows_at_risk == 0


def test_a_range_in_a_list_is_answered_with_the_file(tmp_path):
    with pytest.raises(pdanon.ParameterError) as caught:
        frame_of(ROWS).txanon.audit(RhoUncertainty(rho=0.9, sensitive=["F10-F19"]))
    assert "read from a file: sensitive='codes.txt'" in caught.value.parts["hint"]
