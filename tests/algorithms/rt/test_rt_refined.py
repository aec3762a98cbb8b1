"""Refinement within the algorithms for both: less is lost, and all that is promised stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of
from hypothesis import given, settings, strategies as st
from naive import rt as naive
from test_rt import DRUGS, OWN, datasets, frame_with, many_rows, published, run, two_columns
from test_rt_merging import ASKED, ITEMS, QUASI, protected

import pdanon
from examples import examples
from pdanon.algorithms.rt.dataset import Dataset

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")  # of the other columns

TREE = {"any": {"U": {"V": ["u", "v"], "W": ["w", "x"]}, "Y": ["y", "z"]}}
WAYS = {
    "pcta": {},
    "coat": {"options": {"max_suppressed": 0.4}},
    "upcta": {"options": {"utility": [list("uvw"), list("xyz")], "max_suppressed": 1.0}},
    "apriori": {"hierarchy": TREE},
    "mhghs": {"hierarchy": TREE},
    "lra": {"hierarchy": TREE},
}


def transaction(name):
    return pdanon.Transaction(name, **WAYS[name])


def both(name, frame, **asked):
    items = asked.pop("transaction", pdanon.Transaction())
    return [run(name, frame, transaction=replace(items, refine=refine), **asked) for refine in (False, True)]


@settings(max_examples=examples(60))
@given(
    datasets(),
    st.sampled_from(["rum_bound", "rfirst", "tfirst"]),
    st.sampled_from(sorted(WAYS)),
    st.none() | st.integers(1, 3),
    st.integers(2, 3),
)
def test_less_is_lost_by_the_same_classes(rows, name, items, m, k):
    frame = frame_with(rows)
    first, refined = both(name, frame, transaction=transaction(items), m=m, k=k)
    assert not any(naive.kkm_broken(published(refined.frame), k, m))
    assert refined.loss["NCP"] <= first.loss["NCP"]
    pd.testing.assert_series_equal(refined.groups, first.groups)
    pd.testing.assert_frame_equal(
        refined.frame[["age", "city", "region"]], first.frame[["age", "city", "region"]]
    )
    assert [each.parameters["transaction"].refine for each in (first, refined)] == [False, True]
    if items == "lra":  # whose items may become several things in a class
        pd.testing.assert_frame_equal(refined.frame, first.frame)


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(datasets(), st.sampled_from(["pcta", "upcta"]), st.integers(1, 3))
def test_sets_are_those_that_the_second_call_finds(rows, items, m):
    frame = frame_with(rows)
    first, refined = both("rfirst", frame, transaction=transaction(items), m=m)
    pd.testing.assert_frame_equal(refined.frame, pdanon.refine(frame, first).frame)


@settings(max_examples=examples(60))
@given(
    datasets(least=4), st.integers(0, 100), st.sampled_from(["pcta", "mhghs"]), st.sampled_from(["NCP", "UL"])
)
def test_bounds_are_kept(rows, percent, items, tum):
    frame, delta = frame_with(rows), percent / 100
    found = []
    for refine in (False, True):
        try:
            parts = pdanon.Transaction(items, tum=tum, refine=refine, **WAYS[items])
            found.append(run("tum_bound", frame, transaction=parts, delta=delta))
        except pdanon.InfeasibleError:
            found.append(None)
    first, refined = found
    if refined is None:
        assert first is None  # what was possible still is
        return
    assert not any(naive.kkm_broken(published(refined.frame), 2, 2))
    if tum == "NCP":
        assert refined.loss["NCP"] <= delta + 1e-12
    if first is not None:
        assert len(refined.classes) >= len(first.classes)  # the bound is met earlier, if anything
        assert refined.loss["NCP_relational"] <= first.loss["NCP_relational"] + 1e-12


def test_a_bound_of_items_that_only_refined_ones_keep():
    """Rows BCE, FD of the paper's example: of five items in one set, two sets are made."""
    df = frame_of(["bce", "fd"]).assign(age=[28, 39])
    asked = {"k": 2, "quasi": ["age"], "delta": 0.52, "random_state": 0}
    with pytest.raises(pdanon.InfeasibleError):
        pdanon.tum_bound(df, **asked, transaction=pdanon.Transaction(refine=False))
    assert pdanon.tum_bound(df, **asked).loss["NCP"] == pytest.approx((3 * 3 + 2 * 2) / (5 * 5))


@settings(max_examples=examples(60))
@given(datasets(least=6, most=12))
def test_utility_loss_that_is_bounded_does_not_rise(rows):
    """NCP is what falls: a class whose bounded loss would rise by that stays as it was."""
    frame = frame_with(rows)
    asked = {"k": 2, "m": 2, "quasi": ["age"]}
    kinds = [pdanon.Transaction(tum="UL", refine=refine) for refine in (False, True)]
    sides = [Dataset.of(frame, None, **asked, transaction=items).transactions for items in kinds]
    members = np.arange(len(rows))
    losses = [side.loss(*side.protect(members)) for side in sides]
    assert losses[1] <= losses[0]


# --- the running example of the paper

FIGURES = {  # clusters, as they come of delta and merge; the items as they are printed
    "2a": (0.36, "R", [({0, 1}, "E F BD"), ({2, 3}, "BCF DE"), ({4, 5}, "AEF")], 0.3095),
    "2c": (0.65, "R", [({0, 1, 2, 3}, "E F BCD"), ({4, 5}, "AEF")], 0.2857),
    "2d": (0.8, "T", [({0, 1, 4, 5}, "E F ABD"), ({2, 3}, "BCF DE")], 0.2619),
}


def printed_loss(clusters):
    """NCP of sets as they are printed: an occurrence costs the size of its set, of six items; or 0."""
    rows = [set(items) - set("GH") for items in ITEMS]
    sizes = {
        (row, item): len(own)
        for members, sets in clusters
        for row in members
        for own in sets.split()
        for item in own
    }
    costs = [sizes[row, item] for row, items in enumerate(rows) for item in items]
    return sum(cost for cost in costs if cost > 1) / (6 * len(costs))


@pytest.mark.parametrize("figure", FIGURES)
def test_published_items_are_reached(figure):
    delta, merge, clusters, loss = FIGURES[figure]
    assert printed_loss(clusters) == pytest.approx(loss, abs=5e-5)
    result = pdanon.rum_bound(protected(), **ASKED, delta=delta, merge=merge, random_state=0)
    members = [set(np.flatnonzero(result.groups == group)) for group in range(len(result.classes))]
    assert members == [own for own, _ in sorted(clusters, key=lambda each: min(each[0]))]
    assert result.loss["NCP"] <= loss + 5e-5
    assert not any(naive.kkm_broken(published(result.frame, QUASI), 2, 2))


# --- several columns, and blocks


@pytest.mark.parametrize("items", ["pcta", "apriori", "mhghs"])
def test_several_columns_lose_less(items):
    """What they promise is tested with all that is promised; no label spans two of them."""
    trees = None if items == "pcta" else {"items": TREE, "drugs": DRUGS}
    parts = pdanon.Transaction(items, hierarchy=trees, columns=["items", "drugs"])
    first, refined = both("rfirst", two_columns(), transaction=parts)
    assert refined.loss["NCP"] < first.loss["NCP"] + (items == "mhghs")  # which leaves nothing to gain here
    assert refined.guarantee.audit(refined.frame).holds


def test_blocks_lose_less():
    asked = {"block_rows": 40, "k": 3, "delta": 0.8}
    first, refined = both("rum_bound", many_rows(120), **asked)
    assert refined.loss["NCP"] < first.loss["NCP"]
    pd.testing.assert_series_equal(refined.groups, first.groups)


def test_refine_is_a_switch_of_the_items():
    with pytest.raises(pdanon.ParameterError, match="refine must be True or False"):
        pdanon.Transaction(refine="yes")


@pytest.mark.parametrize("name", OWN)
def test_the_items_are_told_whether_they_are_refined(name):
    with pytest.raises(TypeError, match="has no parameter 'refine'") as caught:
        getattr(pdanon, name)(many_rows(12), k=2, quasi=["age"], refine=False)
    assert "transaction=pdanon.Transaction(refine=...)" in str(caught.value)


@pytest.mark.parametrize("quasi", [["sex"], ["district"], ["district", "sex"]], ids="-".join)
def test_a_class_loses_as_little_as_a_table_of_its_own(pytestconfig, quasi):
    """Within 1 %, as `anonymize` begins with other sets."""
    patients = pdanon.read_parquet(pytestconfig.rootpath / "examples" / "patients.parquet")
    table = patients[[*quasi, "diagnoses"]]
    together = table.txanon.rfirst(k=5, m=2, quasi=quasi, cluster="mondrian")
    classes = patients.groupby(together.groups.to_numpy())["diagnoses"]
    changed = sum(
        pdanon.anonymize(rows.to_frame(), k=5, m=2).loss["occurrences"] * rows.map(len).sum()
        for _, rows in classes
    )
    assert together.loss["occurrences"] * patients["diagnoses"].map(len).sum() <= 1.01 * changed
