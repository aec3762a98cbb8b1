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
        prepared = frame.txanon.keep("id").start_from(results[-1] if results else None)
        results.append(getattr(prepared, algorithm.__name__)("items", **options))
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
    mapping = frame_of(rows).txanon.start_from(before).pcta(k=2, m=1).mapping
    # (a,b) would lose 18 + 3, (c,d) loses 4 + 3; the item e is gone.
    assert sets_of(mapping) == {frozenset("ab"), frozenset({"c", "d", "new"}), frozenset("f")}


def test_a_start_of_many_rows():
    """Supports of all pairs are then counted row by row."""
    baskets = pdanon.read_parquet("examples/baskets.parquet")[["items"]]
    for name in ("pcta", "coat"):
        first = getattr(pdanon, name)(baskets[:1500], k=5, m=2, refine=True)
        for frame in (baskets, baskets[200:].reset_index(drop=True)):
            second = getattr(frame.txanon.start_from(first), name)(k=5, m=2)
            grown = {item: each for each in sets_of(second.mapping) for item in each}
            assert all(one <= grown[min(one)] for one in sets_of(first.mapping))
        later = pdanon.start_from(baskets, first).pcta(k=5, m=2)
        key = [baskets.index[:1500], baskets.index]
        series = later.frame.txanon.after(first, key=key, mapping=later.mapping)
        assert series.audit(KmAnonymity(5, 2)).holds


def test_new_items_stay_in_their_block():
    before = pd.DataFrame({"group": 0, "item": [*"abcd"], "generalized": [*["(a,b)"] * 2, *["(c,d)"] * 2]})
    rows = [{"a"}, {"b"}, {"c"}, {"c"}, {"c"}, {"d"}, {"x"}, {"x"}]
    blocks = [["a", "b"], ["c", "d", "x"]]
    prepared = frame_of(rows).txanon.start_from(before)
    mapping = prepared.coat(k=2, m=1, utility=blocks).mapping
    assert sets_of(mapping) == {frozenset("ab"), frozenset("cdx")}
    with pytest.raises(ParameterError, match="in several blocks"):
        prepared.coat(k=2, m=1, utility=[["a", "c"], ["b", "d", "x"]])


def test_a_start_has_items_of_the_column():
    frame = pd.DataFrame({"items": [[1, 2], [2, 3], [1, 3], [4], [4]]})
    first = frame.txanon.pcta(k=2, m=1)
    second = frame[:3].txanon.start_from(first.mapping).pcta(k=2, m=1)
    assert second.mapping["item"].tolist() == [1, 2, 3]
    texts = pd.DataFrame({"group": 0, "item": ["x", "y"], "generalized": ["(x,y)", "(x,y)"]})
    with pytest.raises(ParameterError, match="none of the items"):
        frame.txanon.start_from(texts).pcta(k=2, m=1)


FRAME = frame_of([{"a", "b"}, {"a", "b"}, {"c"}, {"c"}, {"a"}] * 2)
EARLIER = FRAME.txanon.pcta(k=3, m=2)


def test_refine_does_not_split_sets_of_a_series():
    result = FRAME.txanon.start_from(EARLIER).pcta(k=3, m=2)
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
    options = {"k": 3, "m": 2, **options}
    prepared = FRAME.txanon.start_from(options.pop("start", EARLIER))
    if "constraints" in options:
        del options["m"]
    with pytest.raises(pdanon.PdanonError) as caught:
        prepared.pcta(**promised(**options))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", seeds(10))
def test_anonymize_keeps_to_the_sets_of_a_series(seed):
    january, february = months(random.Random(seed), 2)
    first = january.txanon.keep("id").anonymize(k=3, m=2)
    prepared = february.txanon.keep("id").start_from(first)
    result = prepared.anonymize(k=3, m=2)
    name, refined = result.parameters["algorithm"], result.parameters["refine"]
    assert name in ("pcta", "coat")
    assert f"{name}, refined" in result.tried["algorithm"].tolist()
    again = getattr(prepared, name)(k=3, m=2, refine=refined)
    pd.testing.assert_frame_equal(result.mapping, again.mapping)
    series = result.frame.txanon.after(first, key="id", mapping=result.mapping)
    assert series.audit(KmAnonymity(3, 2)).holds
    label = result.mapping.set_index("item")["generalized"]
    for _, together in first.mapping.groupby("generalized")["item"]:
        assert label[together].nunique() == 1


def test_other_choices_do_not_start_from_a_release():
    frame = frame_of([["a", "b"], ["a"], ["b"]] * 3).assign(age=range(9))
    first = frame[["items"]].txanon.anonymize(k=3, m=2)
    prepared = frame[["items"]].txanon.start_from(first)
    with pytest.raises(ParameterError, match="no algorithm for KKm uses start"):
        frame.txanon.start_from(first).anonymize(pdanon.KKm(k=3, m=2, quasi=["age"]))
    with pytest.raises(ParameterError, match="a bound on named excludes start"):
        prepared.anonymize(k=3, m=2, max_loss={"named": 0.5})
    tried = prepared.anonymize(k=3, m=2, hierarchy=2).tried
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
    prepared = january.txanon.start_from(january.txanon.pcta(**promised(k=2, **first)))
    with pytest.raises(ParameterError, match="weaker than that of the earlier release"):
        prepared.pcta(**promised(k=2, **later))
    assert prepared.pcta(k=2, m=3).holds


@pytest.mark.parametrize("start", [5, "x", frame_of([["a"]])])
def test_a_start_is_a_result_or_a_mapping(start):
    with pytest.raises(ParameterError, match="where: start"):
        frame_of([["a"], ["a"]]).txanon.start_from(start).pcta(k=2)


def test_constraints_may_become_more():
    first = FRAME.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=[["a", "b"]], k=3))
    assert isinstance(first.guarantee, PrivacyConstraints)
    prepared = FRAME.txanon.start_from(first)
    assert prepared.pcta(k=3, m=2).holds
    assert prepared.pcta(guarantee=pdanon.PrivacyConstraints(constraints=[["a", "b"], ["c"]], k=3)).holds


MERGED = pd.DataFrame({"group": 0, "item": [*"abc"], "generalized": ["(a,b)", "(a,b)", "c"]})


def test_a_start_is_a_step_beside_others():
    frame = FRAME.assign(id=range(len(FRAME)))
    table = frame.txanon
    expected = table.keep("id").start_from(MERGED).pcta(k=3, m=2)
    assert expected.parameters["start"] == "2 labels of an earlier release"
    assert expected.parameters["keep"] == ["id"]
    for prepared in (
        table.start_from(MERGED).keep("id"),
        table.prepare({}).start_from(MERGED).keep("id"),
    ):
        assert prepared.pcta(k=3, m=2).frame.equals(expected.frame)
        assert ".keep('id').start_from(...)" in repr(prepared)
    first = table.start_from(None).keep("id").pcta(k=3, m=2)
    assert "start" not in first.parameters
    assert first.frame.equals(table.keep("id").pcta(k=3, m=2).frame)


def test_a_start_ends_with_its_release():
    with pytest.raises(ParameterError, match="weaker"):
        FRAME.txanon.start_from(EARLIER).pcta(k=2, m=2)
    assert "start" not in FRAME.txanon.pcta(k=2, m=2).parameters


@pytest.mark.parametrize(
    ("name", "options"), [("lra", {"hierarchy": 2, "parts": 2}), ("mondrian", {"quasi": ["id"]})]
)
def test_other_algorithms_keep_no_labels(name, options):
    """Also those of quasi-identifiers, which recode no items at all."""
    prepared = FRAME.assign(id=range(len(FRAME))).txanon.start_from(MERGED)
    with pytest.raises(
        ParameterError, match=f"{name} cannot keep the labels (.|\n)*anonymize, or one of (.|\n)*pcta"
    ):
        getattr(prepared, name)(k=2, **options)


def test_persons_start_from_a_release_of_persons():
    """A set of the earlier release stays, though the later one does not need it."""
    lines = FRAME.assign(who=range(len(FRAME))).explode("items", ignore_index=True)
    persons = lines.txanon.by("who", item="items")
    started = persons.start_from(MERGED)
    assert ".start_from(...): 10 persons" in repr(started)
    for result in (started.pcta(k=3, m=2), started.anonymize(k=3, m=2)):
        assert sets_of(result.mapping) == {frozenset("ab"), frozenset("c")}
    assert len(sets_of(persons.pcta(k=3, m=2).mapping)) == 3
    with pytest.raises(ParameterError, match="lra cannot keep the labels"):
        started.lra(k=3, hierarchy=2, parts=2)


def test_files_and_comparisons_start_from_a_mapping(tmp_path):
    later = pd.concat([FRAME] * 3, ignore_index=True)
    expected = later.txanon.start_from(MERGED).pcta(k=3, m=2)
    pdanon.to_parquet(later, tmp_path / "later.parquet")
    options = {"k": 3, "m": 2, "start": MERGED}
    result = pdanon.stream.pcta(tmp_path / "later.parquet", tmp_path / "out.parquet", **options)
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    assert result.parameters["start"] == expected.parameters["start"]
    with pytest.raises(ParameterError, match="no parameter 'start'"):
        pdanon.stream.lra(tmp_path / "later.parquet", tmp_path / "no", hierarchy=2, parts=2, **options)
    with pytest.raises(ParameterError, match=r"name the algorithm: pdanon\.stream\.pcta"):
        pdanon.stream.anonymize(tmp_path / "later.parquet", tmp_path / "no", **options)
    compared = later.txanon.compare({"fresh": {"algorithm": "pcta"}, "pcta": {"start": MERGED}}, k=3)
    assert compared.loc[1, "NCP"] == expected.loss["NCP"] > compared.loc[0, "NCP"]
    with pytest.raises(ParameterError, match="parameter of lra"):
        later.txanon.compare({"lra": {"start": EARLIER, "parts": 2, "hierarchy": 2}}, k=3)
