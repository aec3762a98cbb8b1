"""k-map: rows of a sample, counted in its population, against a naive count."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st
from naive import itemsets as naive

import pdanon
from examples import examples
from pdanon import ColumnError, KmAnonymity, KMap, ParameterError
from pdanon.io.datasets import make_baskets

PEOPLE = frame_of([["a", "b"], ["a", "b"], ["a"], ["c"], ["c", "d"], None, []])


def threats_naive(sample, people, k, m):
    """Support in the population of each minimal itemset of the sample that is rare there."""
    sample, people = ([row for row in rows if row is not None] for rows in (sample, people))
    if sample and naive.is_too_few(people, k):
        return {frozenset(): len(people)}
    rare = {each for each in naive.supports(sample, m) if naive.support(people, each) < k}
    return {each: naive.support(people, each) for each in naive.minimal(rare)}


def threats_of(audit):
    return {frozenset(each): count for each, count in audit.threats[["itemset", "support"]].to_numpy()}


@settings(max_examples=examples(80))
@given(
    st.lists(st.frozensets(st.sampled_from("abcd"), max_size=4) | st.none(), min_size=1, max_size=12),
    st.sets(st.integers(0, 11)),
    st.integers(2, 4),
    st.integers(1, 4),
)
def test_the_audit_is_the_naive_count(people, chosen, k, m):
    sample = [row for place, row in enumerate(people) if place in chosen]
    audit = frame_of(sample).txanon.audit(KMap(k, m, population=frame_of(people)))
    threats = threats_naive(sample, people, k, m)
    assert threats_of(audit) == threats
    at_risk = sum(any(each <= row for each in threats) for row in sample if row is not None)
    assert (audit.rows_at_risk, audit.holds) == (at_risk, not at_risk)


@settings(max_examples=examples(40))
@given(row_lists(least=1), row_lists(), st.integers(2, 3), st.integers(1, 3))
def test_the_guarantee_of_the_sample_is_stronger(sample, others, k, m):
    frame, people = frame_of(sample), frame_of([*sample, *others])
    risks = [
        frame.txanon.audit(each).rows_at_risk for each in (KMap(k, m, population=people), KmAnonymity(k, m))
    ]
    assert risks[0] <= risks[1]
    alone = frame.txanon.audit(KMap(k, m, population=frame))
    assert threats_of(alone) == threats_of(frame.txanon.audit(KmAnonymity(k, m)))


@pytest.mark.parametrize("algorithm", ["pcta", "suppress_to_k", "optimal"])
def test_a_decision_on_the_population_recodes_the_sample(algorithm):
    people = make_baskets(400, 30, random_state=2)[["items"]]
    items = people["items"].itemset.items.tolist()
    asked = {
        "pcta": {"k": 5, "m": 2},
        "suppress_to_k": {"k": 5, "public": items[:4]},
        "optimal": {"k": 5, "m": 2, "hierarchy": {"*": {"x": items[:15], "y": items[15:]}}},
    }[algorithm]
    sample = people.sample(frac=0.2, random_state=1)
    result = getattr(people.txanon, algorithm)(**asked)
    released = pdanon.apply_mapping(sample, result.mapping)
    given = KMap(5, 2, population=people, mapping=result.mapping)
    public = KMap(5, 2, population=result.frame)
    wanted = threats_naive(rows_of(released), rows_of(result.frame), 5, 2)
    for model in (given, public):
        assert threats_of(released.txanon.audit(model)) == wanted
    assert released.txanon.audit(given).holds == (algorithm != "suppress_to_k")
    assert released.txanon.audit(KmAnonymity(5, 2)).holds == (algorithm == "optimal")


def test_few_people_that_suppression_emptied_stand_out():
    people = frame_of([["a", "b"], ["a"], ["a"], ["b", "c"], ["c"], ["c"], []])
    mapping = pd.DataFrame({"group": 0, "item": ["a", "b", "c"], "generalized": ["a", None, None]})
    model = KMap(4, 1, population=people, mapping=mapping)
    audit = frame_of([["a"], [], []]).txanon.audit(model)
    assert (audit.rows_at_risk, audit.threats["why"].tolist()) == (3, ["emptied", "rare"])
    assert frame_of([]).txanon.audit(model).holds
    enough = KMap(3, 1, population=people, mapping=mapping)
    assert frame_of([["a"], [], []]).txanon.audit(enough).holds
    nothing = mapping.assign(generalized=pd.array([None] * 3, "string"))  # then all look the same
    assert frame_of([[], []]).txanon.audit(KMap(7, 1, population=people, mapping=nothing)).holds
    assert not frame_of([[], []]).txanon.audit(KMap(8, 1, population=people, mapping=nothing)).holds


def test_other_types_other_columns_and_repeated_labels():
    numbers = pd.DataFrame({"x": [1, 2, 3], "basket": [[1, 2], [1, 2], [2]], "other": [["z"]] * 3})
    model = KMap(2, 2, population=numbers)
    assert numbers.iloc[:1].txanon.audit(model, "basket").holds
    texts = pd.DataFrame({"basket": [["1", "2"]]})
    assert texts.txanon.audit(model, "basket").holds
    assert not numbers.iloc[2:].txanon.audit(KMap(4, 1, population=numbers), "basket").holds
    twice = pd.DataFrame({"items": [["a", "a"], ["a", "a"], ["a"]]})
    assert twice.iloc[:1].txanon.audit(KMap(2, 2, population=twice)).holds
    threats = twice.iloc[:1].txanon.audit(KMap(3, 2, population=twice)).threats
    assert [*map(list, threats["itemset"])] == [["a", "a"]]


def test_files_are_counted_in_a_population(tmp_path):
    pdanon.to_parquet(PEOPLE.iloc[[0, 3]], tmp_path / "sample.parquet")
    audit = pdanon.stream.audit(tmp_path / "sample.parquet", KMap(2, 2, population=PEOPLE))
    assert audit.holds
    assert pdanon.stream.audit(tmp_path / "sample.parquet", KMap(3, 1, population=PEOPLE)).rows_at_risk == 2


def test_it_shows_how_many_people_there_are():
    assert repr(KMap(5, 2, population=PEOPLE)) == "KMap(k=5, m=2, population=7 rows)"


@pytest.mark.parametrize(
    ("call", "kind", "problem"),
    [
        (lambda: KMap(1, 2, population=PEOPLE), ParameterError, "k must be"),
        (lambda: KMap(2, None, population=PEOPLE), ParameterError, "m must be"),
        (lambda: KMap(2, 2), ParameterError, "population"),
        (lambda: KMap(2, 2, population=[["a"]]), pdanon.PdanonError, "DataFrame"),
        (lambda: KMap(2, 2, population=PEOPLE, mapping=PEOPLE), ParameterError, "lacks columns"),
        (
            lambda: frame_of([["a"], ["a"]]).txanon.audit(KMap(2, 2, population=PEOPLE)),
            ParameterError,
            "1 of 2 rows of the table are not in it",
        ),
        (
            lambda: frame_of([[SECRET]]).txanon.audit(KMap(2, 2, population=PEOPLE)),
            ParameterError,
            "not the population of the table",
        ),
        (
            lambda: PEOPLE.rename(columns={"items": "x"}).txanon.audit(KMap(2, 2, population=PEOPLE)),
            ColumnError,
            "no list column|column",
        ),
        (
            lambda: PEOPLE.txanon.anonymize(KMap(2, 2, population=PEOPLE)),
            ParameterError,
            "recode the sample by",
        ),
        (
            lambda: PEOPLE.txanon.after(PEOPLE, key=[[*range(7)]] * 2).audit(KMap(2, 2, population=PEOPLE)),
            ParameterError,
            "counted in a population",
        ),
    ],
)
def test_bad_input_is_explained(call, kind, problem):
    with pytest.raises(kind, match=problem) as caught:
        call()
    assert SECRET not in str(caught.value)
