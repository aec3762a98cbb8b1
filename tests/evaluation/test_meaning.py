"""Levels of a hierarchy on which labels stay: by definition, on releases of every kind."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples
from pdanon.recoding.counts import percent
from pdanon.recoding.meaning import lost_levels

TREE = {"*": {"AC": {"AB": ["a", "b"], "C": ["c"]}, "DF": ["d", "e", "f"]}}
ABOVE = {"a": ["*", "AC", "AB", "a"], "b": ["*", "AC", "AB", "b"], "c": ["*", "AC", "C", "c"]}
ABOVE |= {item: ["*", "DF", item] for item in "def"}
KINDS = {
    "pcta": {},
    "apriori": {"hierarchy": TREE},
    "lra": {"hierarchy": TREE, "parts": 2},
    "local_suppression": {},
    "local_suppression, tree": {"hierarchy": TREE},
    "local_suppression, sets": {"deletion_price": 2},
}


def lowest(members):
    """The lowest level on which one node is above all members."""
    paths = [ABOVE[item] for item in members]
    return max(
        level
        for level in range(4)
        if len({str(path[level : level + 1]) for path in paths}) == 1
        and all(level < len(path) for path in paths)
    )


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(100))
@given(rows=row_lists("abcdef", longest=4, most=12), k=st.integers(2, 3))
def test_each_label_is_as_low_as_its_items_allow(kind, rows, k):
    if sum(map(bool, rows)) < k:
        return
    result = getattr(frame_of(rows).txanon, kind.split(",")[0])(k=k, m=2, **KINDS[kind])
    found = pdanon.metrics.meaning.levels(result, TREE)
    mapping = result.mapping
    members = {label: {*items} for label, items in mapping.groupby("generalized")["item"]}
    counts = {name: [0] * 4 for name in ("occurrences", "changed")}
    totals = dict.fromkeys(counts, 0)
    for item, label, support in zip(mapping["item"], mapping["generalized"], mapping["support"], strict=True):
        is_kept = not pd.isna(label) and label == item
        level = 3 if is_kept else -1 if pd.isna(label) else lowest(members[label])
        for name in ["occurrences"] if is_kept else counts:
            totals[name] += support
            for each in range(level + 1):
                counts[name][each] += support
    lost = 4 * totals["occurrences"] - sum(counts["occurrences"])
    assert lost_levels(mapping, TREE) == float(Fraction(lost, 4 * max(totals["occurrences"], 1)))
    assert found["level"].tolist() == [0, 1, 2, 3]
    for name, total in totals.items():
        if total:
            assert found[name].tolist() == pytest.approx([count / total for count in counts[name]])
        else:
            assert found[name].isna().all() or name == "occurrences"


def test_a_fan_out_orders_items_as_the_release_does():
    """The lines of a local recoding do not begin with all items in order."""
    frame = frame_of(["d", "d", "a", "b", "cd", "d"])
    result = frame.txanon.local_suppression(k=2, m=1, hierarchy=2)
    assert result.mapping["item"].drop_duplicates().tolist() != [*"abcd"]
    found = pdanon.metrics.meaning.levels(result, 2)
    assert found["changed"][1] == 2 / 3  # a and b; c is deleted
    same = pdanon.metrics.meaning.levels(result, {"*": {"ab": ["a", "b"], "cd": ["c", "d"]}})
    assert found.equals(same)


ROWS = [*["ac"] * 3, *["bc"] * 3, "ad", "bd", "d", "d", "ef"]
SETS = {"*": {"AB": ["a", "b"], "rest": ["c", "d", "e", "f"]}}


def test_the_release_that_leaves_fewest_levels_is_chosen():
    """By AB, 2 of 20 occurrences leave one of three levels; e and f are in one row only."""
    frame = frame_of(ROWS)
    result = frame.txanon.anonymize(k=2, m=2, hierarchy=SETS, loss="Meaning")
    tried = result.tried.dropna(subset="loss")
    assert (tried["loss"] == tried["meaning"]).all()
    assert result.loss["meaning"] == tried["loss"].min() == lost_levels(result.mapping, SETS)
    assert result.parameters["hierarchy"] is SETS
    pd.testing.assert_frame_equal(result.levels, pd.DataFrame(pdanon.metrics.meaning.levels(result, SETS)))
    shares = 1 - result.levels["occurrences"].mean()
    assert shares == pytest.approx(result.loss["meaning"])
    line = next(line for line in repr(result).splitlines() if line.startswith("  meaning"))
    assert f"{percent(result.levels['changed'][1])} on level 1 (0: root)" in line
    assert frame.txanon.anonymize(k=2, m=2).levels is None


def test_tables_of_releases_show_how_much_meaning_is_lost(tmp_path):
    frame, algorithms = frame_of(ROWS), {"pcta": {}, "local_suppression": {"hierarchy": SETS}}
    table = pdanon.compare(
        frame, algorithms, k=2, hierarchy=SETS, loss="meaning", resume=tmp_path / "rows.parquet"
    )
    expected = [
        lost_levels(getattr(pdanon, name)(frame, k=2, **asked).mapping, SETS)
        for name, asked in algorithms.items()
    ]
    assert table["meaning"].tolist() == sorted(expected)
    assert table["algorithm"].tolist() == ["local_suppression", "pcta"]
    other = {"*": {"ac": ["a", "c"], "rest": ["b", "d", "e", "f"]}}  # rows of before were measured by SETS
    again = pdanon.compare(
        frame, algorithms, k=2, hierarchy=other, measures=["NCP"], resume=tmp_path / "rows.parquet"
    )
    assert again["meaning"].tolist() != table["meaning"].tolist()
    assert "meaning" not in pdanon.compare(frame, algorithms, k=2)
    table = frame.txanon.tradeoff(k=[2], m=[1, 2], hierarchy=SETS, loss="meaning")
    assert (table["meaning"].diff().dropna() >= 0).all()
    assert "meaning" not in frame.txanon.tradeoff(k=[2], m=[1])


@pytest.mark.parametrize("call", ["anonymize", "compare"])
def test_meaning_without_a_hierarchy_or_with_half_of_one_is_refused(call):
    frame, given = (
        frame_of(ROWS),
        {"k": 2, "m": 2} | ({"configurations": {"pcta": {}}} if call == "compare" else {}),
    )
    with pytest.raises(pdanon.ParameterError, match="this loss needs a hierarchy") as caught:
        getattr(frame.txanon, call)(**given, loss="meaning")
    assert "pass hierarchy=" in str(caught.value)
    with pytest.raises(pdanon.HierarchyError, match="does not cover the items") as caught:
        getattr(frame.txanon, call)(**given, hierarchy={"*": ["a", "b", "c"]})
    assert "3 of 6 items are not leaves" in str(caught.value)


@pytest.mark.slow
def test_real_diagnoses_stay_near(data):
    """Sets mix chapters; by a hierarchy, most changed codes stay in their section."""
    path = data / "rt_diabetes130_patients_icd9.parquet"
    if not path.exists():
        pytest.skip("no rt_diabetes130_patients_icd9")
    frame = pdanon.read_parquet(path)[["items"]].head(20_000)  # all take a minute
    tree = data / "hierarchies" / "diabetes130_icd9_hierarchy.csv"
    sets, nodes = frame.txanon.pcta(k=5, m=2), frame.txanon.local_suppression(k=5, m=2, hierarchy=tree)
    of_sets, of_nodes = (pdanon.metrics.meaning.levels(each, tree) for each in (sets, nodes))
    assert of_sets["changed"][2] < 0.05
    assert of_nodes["changed"][2] > 0.6
    assert nodes.loss["pairs"] < 1.3 * sets.loss["pairs"]


@pytest.mark.parametrize("result", ["classes", 3])
def test_other_results_have_no_labels_of_items(result):
    if result == "classes":
        frame = pd.DataFrame({"age": [1, 1, 2, 2]})
        result = frame.txanon.mondrian(k=2, quasi=["age"])
    with pytest.raises(pdanon.ParameterError, match="no labels of items"):
        pdanon.metrics.meaning.levels(result, TREE)
