"""(k,k^m)-anonymity and (k,l^m)-diversity: audits find what counting every itemset of every row finds."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists
from hypothesis import example, given, settings, strategies as st
from naive import rt as naive

import pdanon
from examples import examples
from pdanon import KAnonymity, KKm, KLm, KmAnonymity

QUASI = st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from("xy")), min_size=9, max_size=9)


def frame_with(lists, quasi, missing=()):
    """Rows as pairs of quasi-identifiers and items, and as a frame, where some empty rows are missing."""
    lists = [None if i in missing and not row else row for i, row in enumerate(lists)]
    rows, frame = [*zip(quasi, lists, strict=False)], frame_of(lists)
    frame["age"] = pd.array([age for (age, _), _ in rows], dtype="Int64")
    frame["sex"] = pd.Series([sex for (_, sex), _ in rows], dtype="str")
    return rows, frame


def left_out(*items):
    """The mapping of a release that lacks some items, which no row had: so no row lost its items."""
    columns = {"group": 0, "item": items, "generalized": None, "support": 0}
    return pd.DataFrame(columns, index=range(len(items))).astype(
        {"item": "string[pyarrow]", "generalized": "string[pyarrow]"}
    )


def listed(threats):
    """Support and reason by quasi-identifiers and itemset; each is listed once."""
    ages = [None if pd.isna(age) else age for age in threats["age"]]
    itemsets = map(frozenset, pa.array(threats["itemset"]).to_pylist())
    keys = [*zip(zip(ages, threats["sex"], strict=True), itemsets, strict=True)]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, zip(threats["support"], threats["why"], strict=True), strict=True))


@settings(max_examples=examples(90))
@given(
    row_lists(items="abcd", longest=4, most=9),
    QUASI,
    st.integers(2, 3),
    st.none() | st.integers(1, 3),
    st.sets(st.integers(0, 8)),
)
def test_the_same_as_counting_every_itemset(lists, quasi, k, m, missing):
    rows, frame = frame_with(lists, quasi, missing)
    audit = frame.txanon.audit(KKm(k=k, m=m, quasi=["age", "sex"]))
    broken = naive.kkm_broken(rows, k, m)
    assert audit.rows_at_risk == sum(map(bool, broken))
    if m is not None:
        assert listed(audit.threats) == naive.minimal(broken)
    else:  # classes below k rows, and the rare rows of the others
        whole = {
            (own, items): (naive.matches(rows, own, items), "rare")
            for own, items in rows
            if items and naive.matches(rows, own, frozenset()) >= k > naive.matches(rows, own, items)
        }
        small = {key: value for key, value in naive.minimal(broken).items() if not key[1]}
        assert listed(audit.threats) == whole | small
    if audit.holds:
        assert frame.txanon.audit(KAnonymity(k, quasi=["age", "sex"])).holds
        assert frame.txanon.audit(KmAnonymity(k, m)).holds


@settings(max_examples=examples(90))
@given(
    row_lists(items="abst", longest=4, most=9),
    QUASI,
    st.integers(2, 3),
    st.integers(2, 3),
    st.none() | st.integers(1, 2),
    st.sets(st.integers(0, 8), max_size=5),
)
@example([{"s"}, {"s"}, set(), set()], [(1, "f")] * 9, 2, 2, 1, {2, 3})
@example([{"a"}, {"a"}, {"s"}, set()], [(1, "f")] * 9, 3, 2, 1, set())
def test_the_same_with_sensitive_items(lists, quasi, k, diversity, m, missing):
    rows, frame = frame_with(lists, quasi, missing)
    guarantee = KLm(k=k, l=diversity, m=m, quasi=["age", "sex"], sensitive=["s", "t"])
    lacking = sorted(set("st").difference(*(items for _, items in rows if items)))
    if lacking:
        with pytest.raises(pdanon.ParameterError, match="does not occur"):
            frame.txanon.audit(guarantee)
    audit = frame.txanon.audit(guarantee.with_mapping(left_out(*lacking)))
    broken = naive.klm_broken(rows, k, diversity, m, frozenset("st"))
    assert audit.rows_at_risk == sum(map(bool, broken))
    assert listed(audit.threats) == naive.minimal(broken)


@pytest.mark.parametrize("diversity", [10, 2**62, 2**63 - 1, 10**30])
def test_one_in_more_rows_than_there_are_is_none(diversity):
    """However often the sensitive item occurs: twice a quarter of all integers is none of them."""
    rows = [["s", "a"], ["s", "a"], ["a"], ["a"], ["a"]]
    frame = pd.DataFrame({"age": 1, "items": pd.Series(rows, dtype=object)})
    guarantee = KLm(k=2, l=diversity, m=2, quasi=["age"], sensitive=["s"])
    assert frame.txanon.audit(guarantee).rows_at_risk == 5
    hidden = pdanon.Transaction("apriori", hierarchy={"*": ["a"]}, sensitive=["s"], l=diversity)
    released = frame.txanon.rfirst(k=2, quasi=["age"], random_state=0, transaction=hidden)
    assert not any("s" in row for row in released.frame["items"])
    assert released.frame.txanon.audit(released.guarantee).holds
    assert released.frame.txanon.audit(guarantee.with_mapping(released.mapping)).holds
    with pytest.raises(pdanon.ParameterError, match="does not occur"):
        released.frame.txanon.audit(guarantee)


@settings(max_examples=examples(40))
@given(row_lists(items="abcdef", longest=5, most=9), QUASI, st.none() | st.integers(1, 3))
def test_several_list_columns_are_one_transaction(lists, quasi, m):
    rows, frame = frame_with(lists, quasi)
    whole = frame.txanon.audit(KKm(k=2, m=m, quasi=["age", "sex"]))
    letters = [pd.Series([[*row & set(part)] for row in lists], dtype=object) for part in ("abc", "def")]
    numbers = letters[1].map(lambda row: [ord(item) for item in row])
    two = frame.drop(columns="items").assign(left=letters[0], right=numbers)
    audit = pdanon.audit(two, KKm(k=2, m=m, quasi=["age", "sex"], columns=["left", "right"]))
    assert audit.rows_at_risk == whole.rows_at_risk == sum(map(bool, naive.kkm_broken(rows, 2, m)))
    assert [*audit.threats["support"]] == [*whole.threats["support"]]
    renamed = {letter: f"0: {letter}" if letter in "abc" else f"1: {ord(letter)}" for letter in "abcdef"}
    itemsets = pa.array(whole.threats["itemset"]).to_pylist()
    expected = [{renamed[item] for item in itemset} for itemset in itemsets]
    assert [*map(set, audit.threats["itemset"])] == expected


# Figures of the RT paper: classes, and the items of each row; G and H are not protected.
ORIGINAL = ["EFBG", "EFDH", "BCEG", "FDH", "EG", "AFH"]
FIGURES = {
    "1b": ([0, 0, 1, 1, 2, 2], {0: ["ABCD"], 1: ["ABCD"], 2: ["ABCD"]}, 4),
    "2a": ([0, 0, 1, 1, 2, 2], {0: ["BD"], 1: ["BCF", "DE"], 2: ["AEF"]}, 0),
    "2b": ([0] * 6, {0: ["ABCD"]}, 0),
    "2c": ([0, 0, 0, 0, 1, 1], {0: ["BCD"], 1: ["AEF"]}, 0),
    "2d": ([0, 0, 1, 1, 0, 0], {0: ["ABD"], 1: ["BCF", "DE"]}, 0),
}


def published(classes, merged, unprotected):
    rows = []
    for items, group in zip(ORIGINAL, classes, strict=True):
        of_item = {item: label for label in merged[group] for item in label}
        rows.append({of_item.get(item, item) for item in items if unprotected or item not in "GH"})
    return frame_of(rows).assign(cluster=classes)


@pytest.mark.parametrize("figure", FIGURES)
def test_published_figures(figure):
    classes, merged, at_risk = FIGURES[figure]
    guarantee = KKm(k=2, m=2, quasi=["cluster"])
    assert published(classes, merged, False).txanon.audit(guarantee).rows_at_risk == at_risk
    assert not published(classes, merged, True).txanon.audit(guarantee).holds


def test_neither_of_the_two_alone():
    frame = frame_of([{"a"}, {"b"}, {"a"}, {"b"}]).assign(sex=list("ffmm"))
    assert frame.txanon.audit(KAnonymity(2, quasi=["sex"])).holds
    assert frame.txanon.audit(KmAnonymity(2, 2)).holds
    assert frame.txanon.audit(KKm(k=2, m=2, quasi=["sex"])).rows_at_risk == 4


@pytest.mark.parametrize(
    "guarantee",
    [KKm(k=2, m=2, quasi=["sex"]), KLm(k=2, l=2, m=2, quasi=["sex"], sensitive=["x"], mapping=left_out("x"))],
)
def test_no_rows(guarantee):
    audit = frame_of([]).assign(sex=pd.Series([], dtype="str")).txanon.audit(guarantee)
    assert audit.holds
    assert [*audit.threats.columns] == ["sex", "itemset", "support", "why"]
    assert len(audit.threats) == 0


def test_columns_may_be_named_like_those_of_the_threats():
    frame = frame_of([{"a"}, {"b"}, {"b"}]).assign(why=["u", "v", "v"], support=1, group=["p", "q", "q"])
    threats = frame.txanon.audit(KKm(k=2, m=1, quasi=["why", "support", "group"])).threats
    assert [*threats.columns] == ["why", "support", "group", "itemset", "support", "why"]
    assert threats.iloc[0, [0, 4, 5]].tolist() == ["u", 1, "class"]


def test_a_sensitive_item_that_does_not_occur_proves_nothing_unless_it_was_left_out():
    frame = frame_of([{"a"}, {"a"}]).assign(sex="f")
    guarantee = KLm(k=2, l=2, m=2, quasi=["sex"], sensitive=[SECRET, "b"])
    for told in (guarantee, guarantee.with_mapping(left_out("b"))):
        with pytest.raises(pdanon.ParameterError, match="does not occur") as caught:
            frame.txanon.audit(told)
        assert SECRET not in str(caught.value) + repr(told)
    assert frame.txanon.audit(guarantee.with_mapping(left_out(SECRET, "b"))).holds


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((1, 2, ["sex"]), pdanon.ParameterError),
        ((2, 0, ["sex"]), pdanon.ParameterError),
        ((2, 2, "sex"), pdanon.ParameterError),
        ((2, 2, []), pdanon.ParameterError),
        ((2, 2, ["nowhere"]), pdanon.ColumnError),
        ((2, 2, ["items"]), pdanon.ColumnError),
        ((2, 2, ["sex"], "items"), pdanon.ParameterError),
        ((2, 2, ["sex"], []), pdanon.ParameterError),
        ((2, 2, ["sex"], ["items", "items"]), pdanon.ParameterError),
        ((2, 2, ["sex"], ["items", "nowhere"]), pdanon.ColumnError),
        ((2, 2, ["sex"], ["items", "sex"]), pdanon.ItemsetDtypeError),
    ],
)
def test_refusals(arguments, error):
    frame = frame_of([{"a"}]).assign(sex="f")
    with pytest.raises(error):
        frame.txanon.audit(KKm(**dict(zip(("k", "m", "quasi", "columns"), arguments, strict=False))))


@pytest.mark.parametrize(
    "arguments",
    [
        (2, 1, 2, ["sex"], ["x"]),
        (2, 2, 0, ["sex"], ["x"]),
        (1, 2, 2, ["sex"], ["x"]),
        (2, 2, 2, [], ["x"]),
        (2, 2, 2, ["sex"], []),
        (2, 2, 2, ["sex"], "x"),
    ],
)
def test_refusals_with_sensitive_items(arguments):
    with pytest.raises(pdanon.ParameterError):
        KLm(**dict(zip(("k", "l", "m", "quasi", "sensitive"), arguments, strict=True)))


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(*[st.none() | st.sets(st.sampled_from("ab"))] * 2), min_size=1, max_size=8),
    st.lists(st.sampled_from("xy"), min_size=8, max_size=8),
    st.integers(2, 3),
    st.none() | st.integers(1, 3),
)
@example([({"a"}, None), ({"a"}, {"b"}), (None, {"b"}), (None, None)], "xxxxxxxx", 2, 1)
@example([({"a"}, set()), ({"a", "b"}, None), ({"a", "b"}, set()), ({"b"}, set())], "xxxxxxxx", 3, 2)
def test_rows_missing_in_one_of_several_columns(rows, quasi, k, m):
    """An attacker who knows in which columns a row holds data leaves out what is missing in one of them."""
    quasi = [*quasi][: len(rows)]
    columns = {
        label: pd.Series([*lists], dtype=object)
        for label, lists in zip("ij", zip(*rows, strict=True), strict=True)
    }
    audit = pdanon.audit(
        pd.DataFrame({"q": quasi, **columns}), KKm(k=k, m=m, quasi=["q"], columns=["i", "j"])
    )
    held = [[(c, item) for c, items in enumerate(row) for item in items or ()] for row in rows]
    exposed, fewest, minimal = set(), {}, {}
    for person, (own, row) in enumerate(zip(quasi, rows, strict=True)):
        crowd = [
            {*held[other]}
            for other, columns in enumerate(rows)
            if quasi[other] == own
            and all(b is not None for a, b in zip(row, columns, strict=True) if a is not None)
        ]
        for known in naive.parts(held[person], m):
            count = sum(known <= labels for labels in crowd)
            if count < k:
                exposed.add(person)
                key = own, frozenset(f"{c}: {item}" for c, item in known)
                fewest[key] = min(count, fewest.get(key, count))
                if all(sum(known - {item} <= labels for labels in crowd) >= k for item in known):
                    minimal[key] = min(count, minimal.get(key, count))
    assert audit.rows_at_risk == len(exposed)
    listed = zip(
        audit.threats["q"], map(frozenset, pa.array(audit.threats["itemset"]).to_pylist()), strict=True
    )
    found = dict(zip(listed, audit.threats["support"], strict=True))
    assert len(found) == len(audit.threats)
    # For m=None whole rows are listed, with the rows that hold them; a part of a larger row may be in fewer.
    assert all(
        fewest[key] <= count < k if m is None else minimal[key] == count for key, count in found.items()
    )
    for own, known in fewest:  # nothing is left out that no listed part of it explains
        assert m is None or any(other == own and part <= known for other, part in found)
