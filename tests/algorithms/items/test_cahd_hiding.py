"""CAHD with k and m: public items hide rows, groups hide sensitive ones, and an attacker tries both."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from contract import tree_over
from hypothesis import given, strategies as st
from naive import cahd as naive, emptied as naive_emptied, itemsets as naive_itemsets
from test_cahd import ORDERS, association, counts_of, expected, grouped

import pdanon
from examples import ALL, some
from pdanon import SensitiveGroups
from pdanon.algorithms.items.cahd import RECORD
from pdanon.evaluation.metrics.group_reconstruction import reconstruction_error
from pdanon.itemsets.encoded_columns import ListColumns

ITEMS = "abcdefgh"


def feasible(rows, sensitive, p, k):
    """The sensitive items that can be hidden, if there are some, and k rows with others or none."""
    held = Counter(item for row in rows for item in row)
    found = frozenset(item for item in sensitive if 0 < held[item] * p <= len(rows))
    others = sum(bool(row - found) for row in rows)
    return found if found and {*held} - found and others >= k else None


def assert_hides_both(rows, sensitive, asked):
    """All that is promised, recounted from the published tables and the rows as they were."""
    frame, p, k, m = frame_of(rows), asked["p"], asked["k"], asked["m"]
    result = frame.txanon.cahd(sensitive=sensitive, **asked)
    shown = rows_of(result.frame)
    labels = result.mapping["generalized"].tolist()
    became = dict(
        zip(result.mapping["item"], [None if each is pd.NA else each for each in labels], strict=True)
    )
    assert {item for item, label in became.items() if label is None} >= sensitive
    assert shown == [frozenset(became[item] for item in row - sensitive) - {None} for row in rows]
    assert not naive_emptied.singled_out(rows, shown, k)
    assert not naive_itemsets.km_audit(shown, k, m)
    members = grouped(result.frame["group"].tolist())
    assert counts_of(result) == {
        (number, item): held
        for number, group in enumerate(members)
        for item in sensitive
        if (held := sum(item in rows[row] for row in group))
    }
    assert association(result, sensitive) <= Fraction(1, p)
    assert sorted(members) == groups_of_the_published(frame, rows, sensitive, became, asked)
    assert result.guarantee.audit(result.frame).holds
    assert repr(result.guarantee) == f"SensitiveGroups(p={p}, sensitive={len(sensitive)} items, k={k}, m={m})"
    return frame, result, became, members


def groups_of_the_published(frame, rows, sensitive, became, asked):
    """What the naive version makes of the rows as they are published, labels in the order of the decision."""
    asked = {"order": "nn", "alpha": 3, "hierarchy": None, "refine": True, **asked}
    recoding = RECORD.decision(ListColumns.of(frame, [0]), {**asked, "sensitive": sensitive}).rows.recoding
    number = {label: f"{place:03}" for place, label in enumerate(recoding.labels.to_pylist())}
    public = {item for item, label in became.items() if label is not None}
    shown = [frozenset(number[became[item]] for item in row & public) | (row & sensitive) for row in rows]
    return expected(shown, sensitive, asked["p"], asked["alpha"], asked["order"])


def assert_losses(frame, result, became, rows, members, sensitive):
    """Both tables together: single items, pairs and a query, by exact fractions."""
    labels = Counter(label for label in became.values() if label is not None)
    stands_for = {
        item: frozenset(each for each in became if became[each] == label)
        for item, label in became.items()
        if labels[label] > 1
    }
    held = Counter(item for row in rows for item in row)
    public = [item for item in held if item not in sensitive]
    gone = {item for item in public if became[item] is None}  # so that none or k rows are emptied
    off = sum(held[item] for item in gone)
    for item in {*public} - gone:
        off += abs(held[item] - sum(naive.odds(row, item, stands_for) for row in rows))
    assert result.loss["singles"] == pytest.approx(float(Fraction(off, held.total())))
    pairs = Counter(pair for row in rows for pair in combinations(sorted(row), 2))
    if 0 < pairs.total() <= 200:
        off = sum(
            times
            if gone & {*pair}
            else abs(times - naive.pair_estimate(rows, members, *pair, sensitive, stands_for))
            for pair, times in pairs.items()
        )
        assert result.loss["pairs"] == pytest.approx(float(Fraction(off, pairs.total())))
    secret, asked = min(sensitive), sorted({*public} - gone)[:3]
    found = reconstruction_error(frame, result, queries=[(secret, asked)])["KL"].item()
    assert found == pytest.approx(naive.kl(rows, members, secret, asked, stands_for), abs=1e-12)


def assert_attacked(rows, result, became, sensitive, p, k, m):
    """Whoever knows public items of a person finds k rows, and each sensitive item in 1/p of them at most."""
    shown, told, sizes = (
        rows_of(result.frame),
        counts_of(result),
        result.frame["group"].value_counts(),
    )
    groups = result.frame["group"].tolist()
    for row in rows:
        public = sorted(row - sensitive)
        for size in range(1, min(len(public), len(public) if m is None else m) + 1):
            for known in combinations(public, size):
                found = [
                    i for i, each in enumerate(shown) if {became[item] for item in known} - {None} <= each
                ]
                assert len(found) >= k
                for item in sensitive:
                    chances = [Fraction(told.get((groups[i], item), 0), int(sizes[groups[i]])) for i in found]
                    assert sum(chances) * p <= len(found)


@given(
    rows=row_lists(items=ITEMS, longest=4, least=4, most=20),
    sensitive=st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=2),
    p=st.integers(2, 4),
    k=st.integers(2, 4),
    m=st.sampled_from([1, 2, 3, None]),
    order=st.sampled_from(ORDERS),
    nodes=st.booleans(),
    refine=st.booleans(),
)
def test_rows_and_sensitive_items_are_hidden(rows, sensitive, p, k, m, order, nodes, refine):
    if (hidden := feasible(rows, sensitive, p, k)) is None:
        return
    asked = {"p": p, "k": k, "m": m, "order": order, "refine": refine}
    if nodes:
        asked["hierarchy"] = tree_over(sorted({*ITEMS} - hidden))
    frame, result, became, members = assert_hides_both(rows, hidden, asked)
    assert_attacked(rows, result, became, hidden, p, k, m)
    if not nodes:
        assert_losses(frame, result, became, rows, members, hidden)


@pytest.mark.slow
@pytest.mark.parametrize("part", some(range(10)))  # of up to 500 tables; workers share them
def test_thousands_of_tables_are_those_of_the_naive_version(part):
    done, seed = 0, part * 1_000_000
    while done < (500 if ALL else 100):
        random, seed = Random(seed), seed + 1
        rows = [
            frozenset(random.sample(ITEMS, min(random.choice([0, 1, 1, 2, 2, 3, 4, 5]), 5)))
            for _ in range(random.randint(4, 24))
        ]
        p, k, m = random.choice([2, 2, 3, 4]), random.choice([2, 3, 4]), random.choice([1, 2, 2, 3, None])
        sensitive = feasible(rows, random.sample(ITEMS, random.choice([1, 2])), p, k)
        if sensitive is None:
            continue
        asked = {"p": p, "k": k, "m": m, "order": random.choice(ORDERS), "alpha": random.choice([1, 3])}
        asked["refine"] = random.random() < 0.5
        if random.random() < 0.4:
            asked["hierarchy"] = tree_over(sorted({*ITEMS} - sensitive))
        try:
            frame, result, became, members = assert_hides_both(rows, sensitive, asked)
            assert_attacked(rows, result, became, sensitive, p, k, m)
            if "hierarchy" not in asked:
                assert_losses(frame, result, became, rows, members, sensitive)
        except Exception as error:
            raise AssertionError(f"seed {seed - 1}: {rows}, {sorted(sensitive)}, {asked}") from error
        done += 1


# --- the audit


@given(
    rows=row_lists(items="abcs", longest=3, least=1, most=10),
    groups=st.lists(st.integers(0, 2), min_size=10, max_size=10),
    counts=st.dictionaries(st.integers(0, 2), st.integers(0, 5)),
    p=st.integers(2, 3),
    k=st.integers(2, 4),
    m=st.sampled_from([1, 2, None]),
)
def test_audit_counts_rows_that_break_either_promise(rows, groups, counts, p, k, m):
    groups = groups[: len(rows)]
    sizes = Counter(groups)
    counts = {group: counts.get(group, 0) for group in sizes}
    if not any(counts.values()) and not any("s" in row for row in rows):
        return
    table = pd.DataFrame(
        {
            "group": [*counts],
            "size": [sizes[group] for group in counts],
            "item": ["s"] * len(counts),
            "count": [*counts.values()],
        }
    )
    frame = frame_of(rows).assign(group=groups)
    audit = frame.txanon.audit(SensitiveGroups(p=p, sensitive=["s"], classes=table, k=k, m=m))
    public = [row - {"s"} for row in rows]
    few = naive_itemsets.km_audit(public, k, m)
    risky = [
        "s" in row or counts[group] * p > sizes[group] or any(each <= row - {"s"} for each in few)
        for row, group in zip(rows, groups, strict=True)
    ]
    if m is None and frozenset() not in few:
        risky = [
            at_risk or (0 < naive_itemsets.support(public, row) < k and bool(row))
            for at_risk, row in zip(risky, public, strict=True)
        ]
    assert (audit.holds, audit.rows_at_risk) == (not any(risky), sum(risky))
    rare = audit.threats[audit.threats["why"] == "rare"]
    found = {frozenset(each): n for each, n in zip(rare["itemset"], rare["support"], strict=True)}
    assert found == few
    assert rare[["group", "size"]].isna().all(axis=None)
    assert sum(audit.threats["why"] == "frequent") == sum(
        number * p > sizes[group] for group, number in counts.items()
    )


@pytest.mark.parametrize("shown", [[], [9]])
def test_threats_are_text_whatever_items_are(shown):
    frame = pd.DataFrame({"items": [[1, *shown], [1], [2]], "group": [0, 0, 0]})
    table = pd.DataFrame({"group": [0], "size": [3], "item": [9], "count": [1]})
    threats = frame.txanon.audit(SensitiveGroups(p=4, sensitive=[9], classes=table, k=2)).threats
    assert threats["itemset"].dtype == pd.ArrowDtype(pa.list_(pa.string()))
    assert [*map(list, threats["itemset"])] == [*[["9"]] * len(shown), ["9"], ["2"]]
    assert threats["why"].tolist() == [*["shown"] * len(shown), "frequent", "rare"]


def test_a_row_that_is_found_alone_breaks_it_whatever_its_group():
    rows = [["x", "s"], ["x"], ["y"], ["y"]]
    result = frame_of(rows).txanon.cahd(p=2, sensitive=["s"], k=2, m=2)
    assert result.guarantee.audit(result.frame).holds
    altered = result.frame.copy()
    altered["items"] = frame_of([["x", "y"], ["x"], ["y"], ["y"]])["items"]
    audit = result.guarantee.audit(altered)
    assert audit.rows_at_risk == 1
    assert audit.threats.to_dict("records")[0] | {"group": 0, "size": 0} == {
        **{"itemset": ["x", "y"], "support": 1, "why": "rare", "group": 0, "size": 0}
    }


def test_k_counts_rows_of_the_whole_table_and_a_known_sensitive_item_leaves_fewer():
    """What the page says is not promised: who knows the sensitive item, too, leaves the other groups out."""
    rows = [["x", "s"], ["y"], ["x"], ["x"], ["x"], ["y"], ["y"], ["y"]]
    result = frame_of(rows).txanon.cahd(p=2, sensitive=["s"], k=4, m=1)
    shown = rows_of(result.frame)
    found = [place for place, row in enumerate(shown) if "x" in row]
    assert len(found) == 4
    (group,) = result.classes.dropna(subset="item")["group"]
    assert sum(result.frame["group"].iloc[place] == group for place in found) == 2


# --- what is published


def test_nothing_in_the_frame_tells_a_sensitive_item_or_what_was_merged():
    rows = [["a", SECRET], ["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"], ["b", "d"], None, []]
    result = frame_of(rows).txanon.cahd(p=4, sensitive=[SECRET], k=2, m=2).relabel("short")
    assert {label for row in rows_of(result.frame) for label in row} <= {"a", "b", "c", "d", "G1", "G2"}
    assert SECRET not in repr(result) + str(result.frame.to_dict())
    assert not result.frame["items"].isna().any()
    assert result.legend is not None


def test_no_set_or_node_is_called_as_a_sensitive_item():
    rows = [["a"], ["b"], ["a"], ["b", "c"], ["c"], ["(b,c)", "c"], ["(b,c)", "a"], *[["a"]] * 4]
    result = frame_of(rows).txanon.cahd(p=5, sensitive=["(b,c)"], k=3, m=2)
    assert result.guarantee.audit(result.frame).holds
    assert not {"(b,c)"} & {label for row in rows_of(result.frame) for label in row}
    tree = {"all": {"n": ["a"], "(b,c)": ["b", "c"]}}
    result = frame_of(rows).txanon.cahd(p=5, sensitive=["(b,c)"], k=4, m=1, hierarchy=tree)
    assert {label for row in rows_of(result.frame) for label in row} == {"a", "(b,c) (category)"}


def test_items_of_any_type_become_text_and_counts_keep_the_type():
    frame = pd.DataFrame({"items": [[1, 7], [1, 2], [2, 3], [3, 1], [2], [3]]})
    result = frame.txanon.cahd(p=3, sensitive=[7], k=2, m=2)
    assert all(isinstance(label, str) for row in result.frame["items"] for label in row)
    assert result.classes["item"].dropna().tolist() == [7]


def test_refined_sets_lose_no_more():
    rows = [[f"i{n % 7}", f"j{n % 11}", *(["s"] if n % 12 == 0 else [])] for n in range(120)]
    frame = frame_of(rows)
    plain, refined = (
        frame.txanon.cahd(p=4, sensitive=["s"], k=6, m=2, refine=refine) for refine in (False, True)
    )
    assert refined.loss["NCP"] < plain.loss["NCP"]


def test_anonymize_tries_each_order():
    rows = [[f"i{n % 5}", f"j{n % 7}", *(["s"] if n % 12 == 0 else [])] for n in range(90)]
    guarantee = SensitiveGroups(p=4, sensitive=["s"], k=3, m=2)
    result = frame_of(rows).txanon.anonymize(guarantee)
    assert result.tried["loss"].notna().sum() == len(ORDERS)
    assert (result.guarantee.k, result.guarantee.m) == (3, 2)


def test_the_risk_is_that_of_who_knows_no_sensitive_item():
    rows = [["x", "s"], *[["x"]] * 5, *[["y"]] * 6]
    frame = frame_of(rows)
    result = frame.txanon.cahd(p=4, sensitive=["s"], k=3, m=2)
    axes = result.plot.risk(frame)
    assert "sensitive" in axes.get_xlabel() + axes.get_title()
    assert pdanon.attack(frame, result, m=2, n=200, random_state=0).fewest >= 3


@pytest.mark.slow
def test_clicks_are_hidden_and_attacked(data):
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    supports = frame["items"].itemset.supports()
    items = np.random.default_rng(0).choice(supports.index[supports * 10 <= len(frame)], 10, replace=False)
    result = frame.txanon.cahd(p=10, sensitive=items.tolist(), k=5, m=2)
    assert pdanon.attack(frame, result, m=2, n=20_000, random_state=0).fewest >= 5
    assert (result.classes["count"] * 10 <= result.classes["size"]).all()
    assert result.frame.drop(columns="group").txanon.audit(pdanon.KmAnonymity(5, 2)).holds


# --- refusals


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"m": 2}, "m is given without k"),
        ({"m": None}, "m is given without k"),
        ({"hierarchy": 2}, "hierarchy is passed without k"),
        ({"k": 1}, "k must be an integer of at least 2"),
        ({"k": 2, "m": 0}, "m must be an integer of at least 1"),
        ({"k": 2, "refine": "yes"}, "refine must be True or False"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, message):
    with pytest.raises(pdanon.ParameterError, match=message):
        frame_of([["a", "s"], ["a"], ["b"], ["b"]]).txanon.cahd(p=2, sensitive=["s"], **asked)


def test_too_few_rows_with_public_items_cannot_hide_in_each_other():
    rows = [["a", "s"], ["a"], [], [], ["s"], []]
    with pytest.raises(pdanon.InfeasibleError, match="k is larger"):
        frame_of(rows).txanon.cahd(p=2, sensitive=["s"], k=3)
    assert frame_of(rows).txanon.cahd(p=2, sensitive=["s"], k=2).guarantee.m == 2
