"""A first look: every figure counted again in plain Python, and what it says to do."""

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of
from hypothesis import given, strategies as st

import pdanon
from pdanon.errors import ColumnError, ParameterError

rows = st.lists(
    st.one_of(st.none(), st.lists(st.sampled_from("abcdeF"), max_size=4)), min_size=1, max_size=30
)


@pytest.mark.slow
@given(rows, st.lists(st.sampled_from("xyz"), min_size=30, max_size=30), st.integers(2, 4))
def test_figures_are_those_of_a_count_in_plain_python(rows, other, k):
    frame = pd.DataFrame({"other": other[: len(rows)], "items": pdanon.as_itemsets(rows)})
    found = pdanon.profile(frame, k=k, m=2)
    present = [set(row) for row in rows if row is not None]
    supports = {item: sum(item in row for row in present) for item in set().union(*present)}
    occurrences = sum(map(len, present))
    assert found.counts.to_dict() == {
        "rows": len(rows),
        "missing rows": len(rows) - len(present),
        "empty rows": sum(not row for row in present),
        "items": len(supports),
        "occurrences": occurrences,
        "distinct rows": len({frozenset(row or ()) for row in rows}),
        "repeated rows": len(rows)
        - len({(row if row is None else frozenset(row), x) for row, x in zip(rows, other, strict=False)}),
    }
    assert found.lengths["longest"] == max(map(len, present), default=0)
    for band in found.supports.itertuples():
        within = [support for support in supports.values() if band.at_least <= support <= band.at_most]
        assert (band.items, band.occurrences) == (len(within), pytest.approx(sum(within) / occurrences))
    assert found.supports["items"].sum() == len(supports)
    assert dict(zip(found.frequent["item"], found.frequent["rows"], strict=True)) == {
        item: support for item, support in supports.items() if support >= k
    }
    pd.testing.assert_frame_equal(found.risk, frame.txanon.risk(k=k, m=2))
    alike = frame["other"].map(frame["other"].value_counts())
    column = found.columns.iloc[0]
    assert (column["unique"], column["below_k"]) == ((alike == 1).sum(), (alike < k).sum())
    assert column["values"] == frame["other"].nunique()


def test_no_rare_item_is_named_anywhere():
    items = [["common", f"secret{number}"] for number in range(30)] + [["common", "Secret0 "]]
    frame = pd.DataFrame({"items": items})
    found = pdanon.profile(frame, k=5)
    shown = repr(found) + found._repr_html_() + found.frequent.to_string() + found.supports.to_string()
    assert "common" in shown
    assert "secret" not in shown.lower()


def alerts(frame, **asked):
    return {alert.what: alert.hint for alert in pdanon.profile(frame, **asked).alerts}


def test_identifiers_come_first_and_hide_nothing():
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(40)], "zip": [*range(20), *range(20)]})
    frame["sex"], frame["items"] = ["f", "m"] * 20, [["a"]] * 40
    said = alerts(frame)
    assert "drop the column 'name'" in said["column 'name' differs in almost every row"]
    assert any("40 of 40 rows" in what and "zip" in what and "name" not in what for what in said)


def test_several_rows_of_a_person_are_suspected():
    frame = pd.DataFrame({"card": [*range(30), *range(10)], "items": [["a"]] * 40})
    said = alerts(frame)
    assert "merge their rows" in said["column 'card' has 30 values in 40 rows"]
    counts = [pdanon.profile(frame, k=k).columns.loc[0, ["unique", "below_k"]].tolist() for k in (2, 3)]
    assert counts == [[20, 20], [20, 40]]  # 20 cards have one row, 10 have two
    assert not any("values in" in what for what in alerts(frame.assign(card=frame["card"] + 0.5)))


def test_a_name_of_persons_lets_few_values_be_suspected():
    names = ["Kundennr", "customerid", "DUPERSID", "loyalty_card", "store_id"]
    rows = pd.DataFrame({name: [*range(10)] * 20 for name in [*names, "storey", "cardinality"]})
    said = alerts(rows.assign(items=[["a"]] * 200))
    assert {what.split("'")[1] for what in said if "values in" in what} == {*names}


def test_items_that_are_written_in_two_ways_are_counted():
    said = alerts(pd.DataFrame({"items": [["tea", "Tea", "tea "]]}))
    assert ".str.strip().str.lower()" in said["3 items differ only in capitals and blanks from another item"]
    alike = pd.Series(["tea", "Tea", "tea "]).str.strip().str.lower()
    assert not any("differ only" in what for what in alerts(pd.DataFrame({"items": [[*alike]]})))
    assert alerts(pd.DataFrame({"items": [[1], [2], [1], [2]]}), k=2) == {}


def test_items_that_everybody_has_are_counted():
    rows = [["a", "secret"], ["b", "secret"]] * 12
    said = alerts(pd.DataFrame({"items": [*rows, None]}))
    assert "years or ages" in said["1 item is in every row"]
    assert not any("every row" in what for what in alerts(pd.DataFrame({"items": [*rows, []]})))


def test_columns_of_a_small_table_are_not_passed_over_in_silence():
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(20)], "items": [["a"], ["b"]] * 10})
    assert "columns    name (not judged: fewer than 20 rows)" in repr(pdanon.profile(frame[:19]))
    assert "columns    name\n" in repr(pdanon.profile(frame))


def test_what_to_do_against_the_risk():
    frame = pd.DataFrame({"items": [["a", "b"]] * 9 + [["a", "c"]]})
    said = alerts(frame, k=2)
    assert said == {
        "for 10 % of the rows, fewer than 2 rows match if 2 items are known": (
            "frame.txanon.anonymize(k=2, m=2)"
        )
    }


def test_missing_ages_are_counted():
    ages = pd.Series([30.0, 41.0, None, 30.0] * 10)
    frame = pd.DataFrame({"age": ages, "town": ["A", None] * 20, "items": [["a"]] * 40})
    said = alerts(frame)
    assert "drop or fill" in said["10 of 40 rows have no value in 'age'"]
    assert not any("'town'" in what and "no value" in what for what in said)
    assert not any("no value" in what for what in alerts(frame.assign(age=ages.fillna(0))))


def proposed(said, frame):
    """The hierarchies that a hint proposes."""
    [hint] = [hint for what, hint in said.items() if "looks like codes" in what]
    return eval(hint.partition("quasi=")[2], {"pdanon": pdanon, "frame": frame})


@pytest.mark.parametrize(
    "codes",
    [
        [f"{number:05}" for number in range(1_000, 90_000, 3_561)],
        [f"SW{number} 4AA" for number in range(1, 26)],
        [f"E{number}.1" for number in range(10, 35)],
    ],
    ids=["US", "UK", "ICD-10"],
)
def test_prefixes_of_codes_are_proposed_and_can_be_used(codes):
    frame = pd.DataFrame({"code": codes * 4, "items": [["a"]] * (4 * len(codes))})
    tree = proposed(alerts(frame), frame)["code"]
    assert tree.n_leaves == len(codes)
    assert frame.txanon.rfirst(k=8, m=1, quasi={"code": tree}).holds


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("{}", None),  # numbers of products
        ("i{}", None),  # names, and no diagnoses in lower case
        ("{}/2/2020", None),
        ("a/{}", "paths(frame['c'].itemset.items, '/')"),
        ("fresh food > no. {} > red", "paths(frame['c'].itemset.items, ' > ')"),
        ("E{}.9", "icd10(frame['c'].itemset.items)"),
        ("{}.1", "icd9(frame['c'].itemset.items)"),
        ("N{}AB02", "atc(frame['c'].itemset.items)"),
    ],
)
def test_hierarchies_of_codes_and_paths_are_proposed_and_can_be_used(form, expected):
    numbers = range(200, 240) if form in ("{}", "{}.1") else range(10, 50)
    items = [form.format(number) for number in numbers]
    frame = pd.DataFrame({"c": [[item] for item in [*items, "SECRET thing"] * 4]})
    [alert] = [a for a in pdanon.profile(frame).alerts if "look like codes" in a.what] or [None]
    if expected is None:
        assert alert is None
        return
    assert f"hierarchy=pdanon.Hierarchy.{expected} to local_suppression" in alert.hint
    assert expected in alert.command
    assert not any(item in part for part in alert for item in [*items, "SECRET"])
    tree = eval(f"pdanon.Hierarchy.{expected}", {"pdanon": pdanon, "frame": frame})
    assert frame.txanon.local_suppression(k=4, m=1, hierarchy=tree).holds
    mixed = pd.DataFrame({"c": [[item] for item in [*items, *"abc"]]})  # 3 of 43 are others
    assert not any("look like codes" in a.what for a in pdanon.profile(mixed).alerts)
    assert not any("look like codes" in a.what for a in pdanon.profile(frame[:19]).alerts)


def test_postcodes_may_be_numbers():
    frame = pd.DataFrame({"zip": [*range(10_001, 99_000, 4_000)] * 4})
    frame["items"] = [["a"]] * len(frame)
    assert proposed(alerts(frame), frame)["zip"].n_leaves == frame["zip"].nunique()
    assert not any("codes" in what for what in alerts(frame.rename(columns={"zip": "income"})))


@pytest.mark.parametrize("form", ["2020-01-{:02}", "town {}", "{}-{}"])
def test_other_texts_are_no_codes(form):
    texts = [form.format(number, number) for number in range(1, 29)]
    frame = pd.DataFrame({"text": texts * 4, "items": [["a"]] * (4 * len(texts))})
    assert not any("codes" in what for what in alerts(frame))


def test_columns_that_cannot_be_compared_say_so():
    frame = pd.DataFrame({"odd": [{}] * 25, "items": [["a"]] * 25})
    found = pdanon.profile(frame)
    assert found.columns["values"].tolist() == [-1]
    assert any("cannot be compared" in alert.what for alert in found.alerts)


def test_an_empty_table_can_be_looked_at():
    found = pdanon.profile(pd.DataFrame({"items": pdanon.as_itemsets([])}))
    assert found.counts.sum() == 0
    assert found.alerts == ()
    assert re.search("0 distinct", repr(found))


def test_what_cannot_be_looked_at():
    with pytest.raises(ColumnError):
        pdanon.profile(pd.DataFrame({"a": [1]}))
    with pytest.raises(ParameterError, match="k must be"):
        pdanon.profile(pd.DataFrame({"items": [["a"]]}), k=1)
    with pytest.raises(ParameterError, match="m must be"):
        pdanon.profile(pd.DataFrame({"items": [["a"]]}), m=0)


def test_the_view_of_a_notebook_escapes_labels():
    frame = pd.DataFrame({"<b>x</b>": np.arange(30), "items": [["<script>"]] * 30})
    shown = pdanon.profile(frame)._repr_html_()
    assert "<script>" not in shown
    assert "<b>x" not in shown


@given(
    st.lists(st.none() | st.sets(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=30),
    st.integers(2, 4),
)
def test_tails_are_counted_as_they_are_defined(rows, k):
    """By all pairs: the rare ones in long rows alone, and those with one of the rarest items."""
    found = frame_of(rows).txanon.profile(k=k, m=1).tails.set_index("part")
    sets = [row or set() for row in rows]
    supports = Counter(
        frozenset(each) for row in sets for n in (1, 2) for each in combinations(sorted(row), n)
    )
    rare = [each for each in supports if supports[each] < k]
    rare = [each for each in rare if not any(other < each for other in rare)]
    if not rare:
        assert found.empty
        return
    lengths = sorted(map(len, sets))
    limit = next(n for n in lengths if 10 * sum(each <= n for each in lengths) >= 9 * len(rows))
    long = [row for row in sets if len(row) > limit]
    alone = [each for each in rare if not any(each <= row for row in sets if len(row) <= limit)]
    total = sum(lengths)
    if long:
        share = sum(map(len, long)) / total
        assert found.loc["rows"].tolist() == [limit, len(long), pytest.approx(share), len(alone), len(rare)]
    singles, few = sorted((supports[frozenset(item)], item) for item in set().union(*sets)), []
    while singles and sum(number for number, _ in [*few, singles[0]]) <= total // 10:
        few.append(singles.pop(0))
    named = {item for _, item in few}
    assert ("items" in found.index) == bool(few)
    if few:
        expected = [few[-1][0], len(few), pytest.approx(sum(n for n, _ in few) / total)]
        assert found.loc["items"].tolist() == [*expected, sum(bool(each & named) for each in rare), len(rare)]


def test_long_tails_are_shown_without_a_name():
    rows = [["a", "b"], ["a"], ["b", "c"]] * 20 + [
        ["a", "b", "c", *(f"{SECRET}{i}{j}" for j in range(5))] for i in range(5)
    ]
    found = frame_of(rows).txanon.profile(k=5, m=2)
    shown = repr(found) + found._repr_html_()
    assert (
        "long rows  100 % of the 25 combinations of up to 2 items in fewer than 5 rows are only in the 5 rows"
        in shown
    )
    assert SECRET not in shown


def test_with_quasi_identifiers_the_risk_is_that_of_both():
    frame = frame_of([["a", "b"], ["a"], ["b"], ["a", "b"]] * 6).assign(
        age=[30, 40, 50] * 8, sex=["f", "m"] * 12
    )
    found = frame.txanon.profile(k=5, m=2, quasi=["age", "sex"])
    expected = frame.txanon.risk(k=5, m=2, quasi=["age", "sex"])
    pd.testing.assert_frame_equal(pd.DataFrame(found.risk), pd.DataFrame(expected))
    assert any("together with age, sex" in alert.what for alert in found.alerts)
    assert any("quasi=['age', 'sex']" in alert.hint for alert in found.alerts)
    assert any("--quasi age sex" in alert.command for alert in found.alerts)
    many = pd.concat(
        [frame[["items"]], *(frame[["age"]].set_axis([f"q{n}"], axis=1) for n in range(70))], axis=1
    )
    found = many.txanon.profile(k=5, m=2, quasi=[f"q{n}" for n in range(70)])
    (text,) = (alert.what for alert in found.alerts if "together with" in alert.what)
    assert text.endswith("together with q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, 60 more")
    with pytest.raises(ColumnError, match="ages"):
        frame.txanon.profile(quasi=["ages"])
