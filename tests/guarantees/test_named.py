"""Items that a guarantee names: published as themselves or not at all, whatever a label looks like."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest
from conftest import SECRET, frame_of
from families import RT
from test_kkm import left_out

import pdanon
from pdanon import Coherence, KKm, KLm, KmAnonymity, LmDiversity, ParameterError, PublicK

NAMED = {
    "KLm": lambda items: KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=items),
    "LmDiversity": lambda items: LmDiversity(l=2, m=1, sensitive=items, k=2),
    "Coherence": lambda items: Coherence(h=0.5, k=2, p=1, private=items),
    "PublicK": lambda items: PublicK(k=2, public=items),
}
OWN = {"rum_bound": {"delta": 1.0}, "tum_bound": {"delta": 1.0}, "rfirst": {}, "tfirst": {"parts": 1}}
guarantees = pytest.mark.parametrize("make", NAMED.values(), ids=NAMED)


def people(*rows):
    return frame_of(rows).assign(sex="f")


def mapping_of(became):
    return pd.DataFrame({"group": 0, "item": [*became], "generalized": [*became.values()]}, dtype="str")


# --- audits


@guarantees
@pytest.mark.parametrize(
    "label",
    ["(flu,gout)", "((flu,gout))", "(a\\,b,flu,z\\))", "(,flu)"],
    ids=["set", "twice", "escaped", "empty"],
)
def test_a_member_of_a_set_is_refused(make, label):
    """Also where the item is in other rows as itself: its rows would be too few."""
    rows = [[label], [label], ["flu"], ["flu"], *[["t"]] * 4]
    with pytest.raises(ParameterError, match="member of a published set") as caught:
        people(*rows).txanon.audit(make(["flu"]))
    assert "1 of 1 items, in 1 labels" in str(caught.value)
    assert "flu" not in str(caught.value)


@guarantees
def test_other_sets_are_not_refused(make):
    rows = [["(a,b)"], ["(a,b)"], ["flu"], ["flu"], ["(a,flu\\,b)"], ["(a,flu\\,b)"], *[["flu gout"]] * 2]
    assert people(*rows).txanon.audit(make(["flu"])).holds


@guarantees
def test_an_item_that_looks_like_a_set_is_none_if_the_mapping_says_so(make):
    label = "(flu,gout)"
    frame = people(["flu"], ["flu"], *[[label]] * 4)
    guarantee = make(["flu"]).with_mapping(mapping_of({"flu": "flu", label: label}))
    assert frame.txanon.audit(guarantee).holds
    with pytest.raises(ParameterError, match="member of a published set"):
        people(["(flu,t)"], *frame["items"]).txanon.audit(guarantee)


@guarantees
def test_a_mapping_in_which_such_an_item_became_another_is_refused(make):
    for label in ("(flu,gout)", "illness"):
        with pytest.raises(ParameterError, match=r"a \w+ item is generalized") as caught:
            make([SECRET]).with_mapping(mapping_of({SECRET: label, "gout": label}))
        assert SECRET not in str(caught.value)


@guarantees
def test_a_mapping_in_which_another_became_such_an_item_is_refused(make):
    with pytest.raises(ParameterError, match=r"another item has the label of a \w+ item") as caught:
        make([SECRET]).with_mapping(mapping_of({SECRET: SECRET, "gout": SECRET}))
    assert SECRET not in str(caught.value)


def test_an_item_that_the_mapping_shows_somewhere_is_not_left_out():
    partly = pd.DataFrame(
        {"group": [0, 1], "item": ["flu", "flu"], "generalized": [None, "flu"]}, dtype="str"
    )
    frame, guarantee = people(["t"], ["t"]), NAMED["KLm"](["flu"])
    with pytest.raises(ParameterError, match="does not occur"):
        frame.txanon.audit(guarantee.with_mapping(partly))
    assert frame.txanon.audit(guarantee.with_mapping(partly.head(1))).holds


@guarantees
def test_what_is_no_mapping_is_refused(make):
    for wrong in ("mapping", mapping_of({}).drop(columns="item")):
        with pytest.raises(ParameterError, match="mapping"):
            make(["flu"]).with_mapping(wrong)


def test_items_of_a_misspelt_name_prove_nothing():
    frame = people(["flu"], ["t"], ["t"], ["t"])
    for make in (NAMED["KLm"], NAMED["LmDiversity"], NAMED["Coherence"]):
        with pytest.raises(ParameterError, match="not occur"):
            frame.txanon.audit(make(["Flu"]))


# --- diversity of labels is diversity of items


def test_labels_of_a_row_that_share_an_item_are_refused():
    """Who knows `a` finds the rows with either label: two of three have `s`."""
    frame = frame_of([["(a,b)", "s"], ["(a,b)", "(a,c)"], ["(a,c)", "s"], ["t"]])
    with pytest.raises(ParameterError, match="labels of a row share an item"):
        frame.txanon.audit(LmDiversity(l=2, m=1, sensitive=["s"]))
    apart = frame_of([["(a,b)", "s"], ["(a,b)", "c"], ["(a,c)", "s"], ["(a,c)"], ["t"]])
    assert apart.txanon.audit(LmDiversity(l=2, m=1, sensitive=["s"])).holds
    with pytest.raises(ParameterError, match="share an item"):
        frame_of([["(a,b)", "a"], ["s"], ["t"]]).txanon.audit(LmDiversity(l=2, m=1, sensitive=["s"]))


def test_a_label_that_a_row_repeats_shares_nothing_with_itself():
    frame = pd.DataFrame({"items": [["(a,b)", "(a,b)"]] * 2 + [["s"]]})
    assert frame.txanon.audit(LmDiversity(l=2, m=1, sensitive=["s"])).holds


# --- releases


@pytest.mark.parametrize("name", RT)
def test_a_release_knows_what_it_left_out(name):
    """All rows of one class have the first item, so it cannot be shown; the second is in one of four."""
    frame = people(*[[SECRET, "t"]] * 3, [SECRET, "t", "gout"])
    hidden = pdanon.Transaction("apriori", hierarchy={"*": ["t", "u"]}, sensitive=[SECRET, "gout"], l=2)
    result = RT[name](frame, k=2, m=1, quasi=["sex"], transaction=hidden, **OWN[name])
    assert [*map(set, result.frame["items"])] == [{"t"}] * 3 + [{"t", "gout"}]
    assert SECRET not in repr(result.guarantee)
    assert result.guarantee == KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=[SECRET, "gout"])
    for guarantee in (result.guarantee, pickle.loads(pickle.dumps(result.guarantee))):
        assert result.frame.txanon.audit(guarantee).holds
    with pytest.raises(ParameterError, match="does not occur"):
        result.frame.txanon.audit(KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=[SECRET, "gout"]))


def test_hierarchies_may_have_nodes_that_look_like_sets():
    frame = frame_of([["a"], ["b"], ["a", "s"], ["b"], ["c"], ["c"], ["c", "s"]])
    result = frame.txanon.apriori(
        guarantee=pdanon.LmDiversity(l=2, m=1, k=3, sensitive=["s"]),
        hierarchy={"*": {"(s,c)": ["a", "b"], "(c,s)": ["c"]}},
    )
    assert result.frame.txanon.audit(result.guarantee).holds


# --- what a row repeats is seen


@pytest.mark.parametrize(
    "guarantee",
    [
        KmAnonymity(2, 2),
        KmAnonymity(2, None),
        KKm(k=2, m=2, quasi=["sex"]),
        KLm(k=2, l=2, m=2, quasi=["sex"], sensitive=["s"], mapping=left_out("s")),
        LmDiversity(l=2, m=2, sensitive=["s"], k=2, mapping=left_out("s")),
        Coherence(h=1, k=2, p=2, private=[]),
        PublicK(k=2, public=["F"]),
    ],
)
def test_an_item_twice_is_not_an_item_once(guarantee):
    frame = pd.DataFrame({"sex": "f", "items": [["F", "F"], ["F"], ["F"], ["G"], ["G"]]})
    audit = frame.txanon.audit(guarantee)
    assert (audit.holds, audit.rows_at_risk) == (False, 1)
    assert [*map(list, audit.threats["itemset"])] == [["F", "F"]]
    assert audit.threats["support"].tolist() == [1]
    twice = pd.concat([frame, frame], ignore_index=True)
    assert twice.txanon.audit(guarantee).holds


def test_repeated_items_in_a_private_column():
    frame = pd.DataFrame({"items": [["F", "F"], ["F"], ["F"]], "codes": [["s", "s"], [], []]})
    assert frame.txanon.audit(Coherence(h=0.5, k=2, p=2, private="codes"), "items").rows_at_risk == 1
    assert (
        frame.assign(items=[["F"]] * 3)
        .txanon.audit(Coherence(h=0.5, k=2, p=2, private="codes"), "items")
        .holds
    )


def test_questions_about_a_column_are_of_sets():
    items = pd.Series([["F", "F"], ["F"]])
    assert items.itemset.is_km_anonymous(2)
    assert len(items.itemset.rare(2)) == 0
    assert (pdanon.risk(items.to_frame("items"), k=2)["below_k"] == 0).all()
