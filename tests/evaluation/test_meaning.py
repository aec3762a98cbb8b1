"""Levels of a hierarchy on which labels stay: by definition, on releases of every kind."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import frame_of, row_lists
from hypothesis import given, settings, strategies as st

import pdanon
from examples import examples

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
    assert found["level"].tolist() == [0, 1, 2, 3]
    for name, total in totals.items():
        if total:
            assert found[name].tolist() == pytest.approx([count / total for count in counts[name]])
        else:
            assert found[name].isna().all() or name == "occurrences"


def test_real_diagnoses_stay_near(data):
    """Sets mix chapters; by a hierarchy, most changed codes stay in their section."""
    path = data / "rt_diabetes130_patients_icd9.parquet"
    if not path.exists():
        pytest.skip("no rt_diabetes130_patients_icd9")
    frame = pdanon.read_parquet(path)[["items"]]
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
