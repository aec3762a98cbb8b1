"""Explanations: what they say of an item is what a naive count of the original and of other releases says."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from frames import FRAMES
from hypothesis import assume, given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon import (
    Coherence,
    Explanation,
    KKm,
    KLm,
    KmAnonymity,
    ParameterError,
    PrivacyConstraints,
    PSRules,
    RhoUncertainty,
)

TREE = {"*": {"A": {"A1": ["a", "b"], "A2": ["c"]}, "D": ["d", "e", "f"]}}
PATHS = {
    "a": ["*", "A", "A1", "a"],
    "b": ["*", "A", "A1", "b"],
    "c": ["*", "A", "A2", "c"],
    "d": ["*", "D", "d"],
    "e": ["*", "D", "e"],
    "f": ["*", "D", "f"],
}
ROWS = [{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}, {"c"}, {"d"}, {"d", "a"}, {"d", "a"}]
RUNS = {
    "pcta": {},
    "coat": {"max_suppressed": 1.0, "utility": [["a", "b", "c"], ["d", "e", "f"]]},
    "apriori": {"hierarchy": TREE},
    "optimal": {"hierarchy": TREE},
    "hghs": {"hierarchy": TREE},
}


def told(table):
    """A table of threats as supports by itemset."""
    assert [*table] == ["itemset", "support"]
    sets = rows_of(table, "itemset")
    assert len(set(sets)) == len(sets)
    return dict(zip(sets, table["support"].tolist(), strict=True))


def holding(item, itemsets):
    return {itemset: support for itemset, support in itemsets.items() if item in itemset}


def least_support(rows, m, item):
    """Of an itemset of up to m items that occurs and holds the item; with None of a row."""
    if m is None:
        return min(naive.support(rows, row) for row in rows if item in row)
    parts = {
        frozenset(chosen)
        for row in rows
        if item in row
        for size in range(1, m + 1)
        for chosen in combinations(sorted(row), size)
        if item in chosen
    }
    return min(naive.support(rows, part) for part in parts)


def became(result):
    labels = zip(result.mapping["item"], result.mapping["generalized"], strict=True)
    return {item: None if pd.isna(label) else label for item, label in labels}


def set_label(items):
    return sorted(items)[0] if len(items) == 1 else f"({','.join(sorted(items))})"


def split(labels, item, nodes):
    """What the items become if less is done to one of them."""
    changed, label = dict(labels), labels[item]
    alike = [other for other in labels if labels[other] == label]
    if label is None:
        return changed | {item: item}
    if nodes:
        return changed | {other: PATHS[other][PATHS[other].index(label) + 1] for other in alike}
    rest = [other for other in alike if other != item]
    return changed | {item: item} | {other: set_label(rest) for other in rest}


def published(rows, labels):
    return [frozenset(labels[item] for item in row if labels[item] is not None) for row in rows]


@st.composite
def results(draw):
    """Rows, and a release of them."""
    rows = draw(row_lists(least=2, most=14, longest=4))
    k, m, name = (
        draw(st.integers(2, 4)),
        draw(st.sampled_from([1, 2, 3, None])),
        draw(st.sampled_from([*RUNS])),
    )
    assume(sum(map(bool, rows)) >= k)
    arguments = dict(RUNS[name])
    if "utility" in arguments:
        items = frozenset().union(*rows)
        blocks = [[item for item in block if item in items] for block in arguments["utility"]]
        arguments["utility"] = [block for block in blocks if block]
    return rows, k, m, name, arguments


# --- What is said


@given(results(), st.data())
@settings(max_examples=examples(60))
def test_what_is_said_is_so(problem, data):
    rows, k, m, name, arguments = problem
    frame = frame_of(rows)
    result = getattr(pdanon, name)(frame, k=k, m=m, **arguments)
    labels = became(result)
    item = data.draw(st.sampled_from(sorted(labels)))
    why = result.explain(item, frame)
    assert (why.item, why.became, why.kept, why.k) == (item, labels[item], labels[item] == item, k)
    assert told(why.threats) == holding(item, naive.km_threats(rows, k, m))
    if why.kept:
        assert not len(why.exposed)
    else:
        changed = split(labels, item, "hierarchy" in arguments)
        released = published(rows, changed)
        exposed = naive.km_threats(released, k, m)
        emptied = sum(bool(row) and not left for row, left in zip(rows, released, strict=True))
        if 0 < emptied < k:  # too few to hide a row that is known to hold data
            exposed[frozenset()] = emptied
        assert told(why.exposed) == exposed
    largest = min(least_support(rows, m, item), k)
    assert why.k_alone == (largest if largest >= 2 else None)
    pd.testing.assert_series_equal(why.loss, result.loss)
    if 2 <= largest < k:
        then = getattr(pdanon, name)(frame, k=largest, m=m, **arguments)
        pd.testing.assert_series_equal(why.loss_then, then.loss)
    else:
        assert why.loss_then is None


@given(row_lists(least=2, most=12), st.integers(2, 4), st.data())
@settings(max_examples=examples(60))
def test_constraints(rows, k, data):
    assume(sum(map(bool, rows)) >= k)
    items = sorted(frozenset().union(*rows))
    constraint = st.frozensets(st.sampled_from(items), min_size=1, max_size=3)
    constraints = data.draw(st.lists(constraint, min_size=1, max_size=4))
    frame = frame_of(rows)
    result = frame.txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[sorted(each) for each in constraints], k=k)
    )
    labels, item = became(result), data.draw(st.sampled_from(items))
    why = result.explain(item, frame)
    supports = {each: naive.support(rows, each) for each in constraints if item in each}
    assert told(why.threats) == {each: support for each, support in supports.items() if 0 < support < k}
    largest = min([k, *(support for support in supports.values() if support)])
    assert why.k_alone == (largest if largest >= 2 else None)
    if not why.kept:
        changed = split(labels, item, nodes=False)
        images = {frozenset(changed[each] for each in named) for named in constraints}
        counted = {image: naive.support(published(rows, changed), image) for image in images}
        assert told(why.exposed) == {image: support for image, support in counted.items() if 0 < support < k}


def test_a_worked_case():
    """ce is in one row and c in two, b in three: by hand."""
    rows = [{"a", "b"}, {"a", "b"}, {"a", "b"}, {"c", "e"}, {"c"}, {"c"}, {"e"}, {"e"}]
    frame = frame_of(rows)
    result = frame.txanon.pcta(k=3, m=2)
    why = result.explain("c", frame)
    assert told(why.threats) == {frozenset("ce"): 1}
    assert why.became == "(c,e)"
    assert told(why.exposed) == {frozenset("ce"): 1}
    assert why.k_alone is None
    listed = frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=[["c"], ["c", "e"]], k=3))
    assert told(listed.explain("c", frame).threats) == {frozenset("ce"): 1}
    kept = result.explain("a", frame)
    assert kept.kept
    assert (kept.k_alone, kept.loss_then, len(kept.threats)) == (3, None, 0)


def test_refined_releases():
    frame = frame_of([*ROWS, {"e"}, {"e"}, {"e", "d"}, {"e", "d"}, {"f", "e"}, {"f", "e"}])
    for name in ("pcta", "coat"):
        made = getattr(frame.txanon, name)(k=3, m=2)
        result = frame.txanon.refine(made, loss="LM")
        why = result.explain("f", frame)
        assert why.k_alone == 2
        then = frame.txanon.refine(getattr(frame.txanon, name)(k=2, m=2), loss="LM")
        pd.testing.assert_series_equal(why.loss_then, then.loss)
    whole = frame.txanon.pcta(k=3, m=2, refine=True).explain("f", frame)
    pd.testing.assert_series_equal(whole.loss_then, frame.txanon.pcta(k=2, m=2, refine=True).loss)


def test_chosen_releases():
    frame = frame_of(ROWS)
    why = frame.txanon.anonymize(KmAnonymity(3, 2), hierarchy=TREE).explain("c", frame)
    assert told(why.threats) == {frozenset("c"): 2}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted({*FRAMES} - {"one empty row"}))
def test_every_kind_of_frame(name):
    frame = FRAMES[name]()
    if name == "many columns":
        frame = frame.drop(columns="anything")
    column = 5 if 5 in frame else "items"
    result = frame.txanon.pcta(column, k=2, m=2)
    before = frame.copy(deep=True)
    for item in result.mapping["item"].tolist()[:3]:
        why = result.explain(item, frame)
        assert why.became == result.mapping.set_index("item")["generalized"].get(item)
    if name != "list views":  # which pandas does not compare
        pd.testing.assert_frame_equal(frame, before)


# --- How it is shown


def test_no_item_is_shown():
    frame = frame_of([{SECRET, "d"}, {"d"}, {"b", "c"}, {"b", "c"}])
    result = frame.txanon.pcta(k=2, m=2)
    why = result.explain(SECRET, frame)
    assert isinstance(why, Explanation)
    assert SECRET not in repr(why) + why._repr_html_()
    assert repr(why).splitlines() == [
        "Explanation",
        "  item       generalized",
        "  threats    1 itemset with the item at risk, lowest support 1; k=2",
        "  exposed    1 itemset would be at risk if it were restored, lowest support 1",
        "  alone      itemsets with the item are at risk at every k",
    ]
    assert "generalized</td>" in why._repr_html_()
    assert repr(result.explain("b", frame)).splitlines()[1:] == [
        "  item       kept",
        "  threats    0 itemsets with the item at risk; k=2",
        "  alone      no itemset with the item is at risk at k=2",
    ]


def test_the_loss_is_shown():
    frame = frame_of([*ROWS, {"f", "a"}, {"f", "a"}])
    result = frame.txanon.pcta(k=3, m=1)
    why = result.explain("f", frame)
    then, now = (f"{100 * loss['occurrences']:.3g} %" for loss in (why.loss_then, result.loss))
    line = (
        f"  alone      no itemset with the item is at risk up to k=2; occurrences changed: {then}, now {now}"
    )
    assert repr(why).endswith(line)


# --- What is refused


FRAME = frame_of(ROWS)
MADE = FRAME.txanon.pcta(k=2, m=2)


@pytest.mark.parametrize("item", [SECRET, 7, None, [SECRET], {SECRET: 1}, float("nan"), b"\xff"])
def test_an_item_that_does_not_occur(item):
    with pytest.raises(ParameterError, match="the item does not occur") as caught:
        MADE.explain(item, FRAME)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)


@pytest.mark.parametrize(
    "original",
    [
        frame_of(ROWS[1:]),
        frame_of([*ROWS[1:], {"a", "c"}]),
        frame_of([*ROWS[1:], {"x", "y"}]),
        frame_of([*ROWS[1:], {"a", "b", "x"}]),
        frame_of(ROWS).rename(columns={"items": "other"}),
        frame_of(ROWS).assign(more=1),
        rows_of(FRAME),
        None,
    ],
    ids=["rows", "supports", "items", "more items", "name", "columns", "list", "none"],
)
def test_another_frame(original):
    with pytest.raises(ParameterError, match="the result is not of this frame"):
        MADE.explain("a", original)


def test_other_results():
    others = [
        FRAME.txanon.partition(k=2, hierarchy=TREE),
        FRAME.txanon.cahd(p=2, sensitive=["d"]),
        FRAME.txanon.disassociate(k=2),
    ]
    for result in others:
        with pytest.raises(ParameterError, match="this release cannot be explained"):
            result.explain("a", FRAME)


@pytest.mark.parametrize("text", ["a;X\nb;X\nc;X\nd;X\n", "a;D\nb;A\nc;D\nd;A\n"], ids=["names", "places"])
def test_a_hierarchy_that_has_changed(tmp_path, text):
    path = tmp_path / "tree.csv"
    pdanon.Hierarchy.of(TREE).to_csv(path)
    result = FRAME.txanon.apriori(k=3, m=1, hierarchy=path)
    assert not result.explain("c", FRAME).kept
    path.write_text(text.replace("\n", ";*\n"), encoding="utf-8")
    with pytest.raises(ParameterError, match="not the hierarchy of the release"):
        result.explain("c", FRAME)


def test_guarantees_that_can_be_explained_are_named():
    for each in (KmAnonymity, PrivacyConstraints, KKm, KLm, Coherence, RhoUncertainty, PSRules):
        assert f"`{each.__name__}`" in pdanon.Anonymized.explain.__doc__


def test_real_baskets(data):
    frame = pdanon.read_parquet(data / "groceries.parquet")
    result = frame.txanon.pcta(k=5, m=2)
    item = result.mapping.loc[result.mapping["generalized"].str.startswith("("), "item"].iloc[0]
    why = result.explain(item, frame)
    threats = KmAnonymity(5, 2).audit(frame).threats
    held = [item in itemset for itemset in threats["itemset"]]
    assert told(why.threats) == told(threats.loc[held, ["itemset", "support"]])
