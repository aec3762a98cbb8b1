"""Releases that start from an earlier one: sets only grow, and rows that are only added expose nobody."""

from __future__ import annotations

import random
from itertools import pairwise

import pandas as pd
import pytest
from conftest import frame_of, promised

import pdanon
from examples import ALL, seeds
from pdanon import KmAnonymity, ParameterError, PrivacyConstraints

ALGORITHMS = (pdanon.pcta, pdanon.coat, pdanon.upcta)


def sets_of(mapping):
    """The items of each label, suppressed ones left out."""
    return {frozenset(items) for _, items in mapping.groupby("generalized")["item"]}


def months(draw, number, *, changes=False):
    """Months of the same persons, with new persons and new items each month."""
    rows, frames = {}, []
    for month in range(number):
        items = "abcdefghij"[: 5 + 2 * month]
        for _ in range(draw.randint(6, 20)):
            rows[len(rows)] = {item for item in items if draw.random() < 0.3} or {"a"}
        if changes:
            for one in draw.sample([*rows], len(rows) // 5):
                rows[one] = rows[one] ^ {draw.choice(items)} or {"a"}
            rows = {one: row for one, row in rows.items() if draw.random() < 0.9}
        frames.append(frame_of([*rows.values()]).assign(id=[*rows]))
    return frames


def release_all(frames, algorithm, **options):
    results = []
    for frame in frames:
        start = {"start": results[-1]} if results else {}
        kept = frame.txanon.keep("id")
        results.append(getattr(kept, algorithm.__name__)("items", **options, **start))
    return results


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", seeds(50))
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_added_rows_expose_nobody(algorithm, seed):
    """Each span of each series of inserts has no row at risk."""
    draw = random.Random(seed)
    for _ in range(5 if ALL else 2):
        k, m = draw.randint(2, 4), draw.randint(1, 2)
        options = {"random_state": 0} if algorithm is not pdanon.upcta and draw.randrange(2) else {}
        results = release_all(months(draw, 3), algorithm, k=k, m=m, **options)
        for earlier, later in pairwise(results):
            assert all(
                any(one <= other for other in sets_of(later.mapping)) for one in sets_of(earlier.mapping)
            )
        last = results[-1]
        series = pdanon.after(last.frame, results[:-1], key="id", mapping=last.mapping)
        audit = series.audit(KmAnonymity(k, m), "items")
        assert audit.holds
        assert (audit.spans["rows_at_risk"] == 0).all()


@pytest.mark.parametrize("seed", seeds(20, 50))
def test_sets_grow_and_keep_their_guarantee_while_rows_change(seed):
    draw = random.Random(seed)
    frames = months(draw, 4, changes=True)
    results = release_all(frames, pdanon.pcta, k=2, m=2)
    for earlier, later in pairwise(results):
        assert pdanon.audit(later.frame, KmAnonymity(2, 2), "items").holds
        known, now = {*earlier.mapping["item"]}, {*later.mapping["item"]}
        left = [one & now for one in sets_of(earlier.mapping) if one & now]  # some items may have gone
        grown = {item: each for each in sets_of(later.mapping) for item in each}
        assert all(one <= grown[min(one)] for one in left)
        if any(len(each) > 1 for each in left):
            assert all(grown[item] & known for item in now - known)


def test_a_new_item_joins_the_set_that_loses_least():
    before = pd.DataFrame(
        {"group": 0, "item": [*"abcdef"], "generalized": [*["(a,b)"] * 2, *["(c,d,e)"] * 3, "f"]}
    )
    rows = [{"a"}] * 9 + [{"b"}] * 9 + [{"c"}] * 2 + [{"d"}] * 2 + [{"f"}] * 5 + [{"new"}]
    mapping = frame_of(rows).txanon.pcta(k=2, m=1, start=before).mapping
    # (a,b) would lose 18 + 3, (c,d) loses 4 + 3; the item e is gone.
    assert sets_of(mapping) == {frozenset("ab"), frozenset({"c", "d", "new"}), frozenset("f")}


def test_a_start_of_many_rows():
    """Supports of all pairs are then counted row by row."""
    baskets = pdanon.read_parquet("examples/baskets.parquet")[["items"]]
    for algorithm in (pdanon.pcta, pdanon.coat):
        first = algorithm(baskets[:1500], k=5, m=2, refine=True)
        for frame in (baskets, baskets[200:].reset_index(drop=True)):
            second = algorithm(frame, k=5, m=2, start=first)
            grown = {item: each for each in sets_of(second.mapping) for item in each}
            assert all(one <= grown[min(one)] for one in sets_of(first.mapping))
        later = pdanon.pcta(baskets, k=5, m=2, start=first)
        key = [baskets.index[:1500], baskets.index]
        series = later.frame.txanon.after(first, key=key, mapping=later.mapping)
        assert series.audit(KmAnonymity(5, 2)).holds


def test_new_items_stay_in_their_block():
    before = pd.DataFrame({"group": 0, "item": [*"abcd"], "generalized": [*["(a,b)"] * 2, *["(c,d)"] * 2]})
    rows = [{"a"}, {"b"}, {"c"}, {"c"}, {"c"}, {"d"}, {"x"}, {"x"}]
    blocks = [["a", "b"], ["c", "d", "x"]]
    mapping = frame_of(rows).txanon.coat(k=2, m=1, start=before, utility=blocks).mapping
    assert sets_of(mapping) == {frozenset("ab"), frozenset("cdx")}
    with pytest.raises(ParameterError, match="in several blocks"):
        frame_of(rows).txanon.coat(k=2, m=1, start=before, utility=[["a", "c"], ["b", "d", "x"]])


def test_a_start_has_items_of_the_column():
    frame = pd.DataFrame({"items": [[1, 2], [2, 3], [1, 3], [4], [4]]})
    first = frame.txanon.pcta(k=2, m=1)
    second = frame[:3].txanon.pcta(k=2, m=1, start=first.mapping)
    assert second.mapping["item"].tolist() == [1, 2, 3]
    texts = pd.DataFrame({"group": 0, "item": ["x", "y"], "generalized": ["(x,y)", "(x,y)"]})
    with pytest.raises(ParameterError, match="none of the items"):
        frame.txanon.pcta(k=2, m=1, start=texts)


FRAME = frame_of([{"a", "b"}, {"a", "b"}, {"c"}, {"c"}, {"a"}] * 2)
EARLIER = FRAME.txanon.pcta(k=3, m=2)


def test_refine_does_not_split_sets_of_a_series():
    result = FRAME.txanon.pcta(k=3, m=2, start=EARLIER)
    with pytest.raises(ParameterError, match="starts from an earlier one"):
        FRAME.txanon.refine(result)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 2}, ["weaker", "KmAnonymity(k=2, m=2) after KmAnonymity(k=3, m=2)"]),
        ({"m": 1}, ["weaker", "raise k and m"]),
        ({"m": None, "constraints": [["a", "b"]]}, ["weaker"]),
        ({"start": 5}, ["the mapping must be a pandas DataFrame", "int"]),
        ({"start": EARLIER.mapping.assign(generalized=None)}, ["suppresses items", "3 suppressed"]),
        ({"start": EARLIER.mapping.assign(group=[0, 1, 1])}, ["not global"]),
        ({"reserve": 4}, ["reserve", "pass the larger k itself"]),
    ],
)
def test_bad_input_is_explained(options, words):
    options = {"k": 3, "m": 2, "start": EARLIER, **options}
    if "constraints" in options:
        del options["m"]
    with pytest.raises(pdanon.PdanonError) as caught:
        FRAME.txanon.pcta(**promised(**options))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", seeds(10))
def test_anonymize_keeps_to_the_sets_of_a_series(seed):
    january, february = months(random.Random(seed), 2)
    first = january.txanon.keep("id").anonymize(k=3, m=2)
    result = february.txanon.keep("id").anonymize(k=3, m=2, start=first)
    name, refined = result.parameters["algorithm"], result.parameters["refine"]
    assert name in ("pcta", "coat")
    assert f"{name}, refined" in result.tried["algorithm"].tolist()
    again = getattr(february.txanon.keep("id"), name)(k=3, m=2, start=first, refine=refined)
    pd.testing.assert_frame_equal(result.mapping, again.mapping)
    series = result.frame.txanon.after(first, key="id", mapping=result.mapping)
    assert series.audit(KmAnonymity(3, 2)).holds
    label = result.mapping.set_index("item")["generalized"]
    for _, together in first.mapping.groupby("generalized")["item"]:
        assert label[together].nunique() == 1


def test_other_choices_do_not_start_from_a_release():
    frame = frame_of([["a", "b"], ["a"], ["b"]] * 3).assign(age=range(9))
    first = frame[["items"]].txanon.anonymize(k=3, m=2)
    with pytest.raises(ParameterError, match="no algorithm for KKm uses start"):
        frame.txanon.anonymize(pdanon.KKm(k=3, m=2, quasi=["age"]), start=first)
    with pytest.raises(ParameterError, match="a bound on named excludes start"):
        frame[["items"]].txanon.anonymize(k=3, m=2, max_loss={"named": 0.5}, start=first)
    tried = frame[["items"]].txanon.anonymize(k=3, m=2, start=first, hierarchy=2).tried
    assert "does not keep to start" in tried["reason"].tolist()


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ({"constraints": [["a"], ["b"], ["a", "b"]]}, {"constraints": [["a"]]}),
        ({"constraints": [["a", "b", "c"]]}, {"m": 2}),
        ({"constraints": [["a"]]}, {"constraints": [["b"]]}),
    ],
)
def test_fewer_constraints_promise_less(first, later):
    january = frame_of([["a", "b"], ["b", "c"], ["a", "c"]] * 2)
    start = january.txanon.pcta(**promised(k=2, **first))
    with pytest.raises(ParameterError, match="weaker than that of the earlier release"):
        january.txanon.pcta(start=start, **promised(k=2, **later))
    assert january.txanon.pcta(k=2, m=3, start=start).holds


@pytest.mark.parametrize("start", [5, "x", frame_of([["a"]])])
def test_a_start_is_a_result_or_a_mapping(start):
    with pytest.raises(ParameterError, match="where: start"):
        frame_of([["a"], ["a"]]).txanon.pcta(k=2, start=start)


def test_constraints_may_become_more():
    first = FRAME.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=[["a", "b"]], k=3))
    assert isinstance(first.guarantee, PrivacyConstraints)
    assert FRAME.txanon.pcta(k=3, m=2, start=first).holds
    assert FRAME.txanon.pcta(
        guarantee=pdanon.PrivacyConstraints(constraints=[["a", "b"], ["c"]], k=3), start=first
    ).holds
