"""Algorithms of (k,k^m)-anonymity: what each of them promises, whatever rows and columns it is given."""

from __future__ import annotations

import inspect
import io
import itertools
import pickle
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, rows_of
from families import FORMATIONS, RT, TRANSACTION_ALGORITHMS, gathered
from hypothesis import given, settings, strategies as st
from naive import rt as naive

import pdanon
from examples import ALL, examples
from pdanon import InfeasibleError, KKm, KLm

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")  # of the other columns

WORLD = {"all": {"P": {"Q": ["a", "b"], "R": ["c"]}, "S": ["d", "e", "f"]}}
ITEMS = {"any": {"U": {"V": ["u", "v"], "W": ["w", "x"]}, "Y": ["y", "z"]}}
ABOVE = {
    "u": "V U any",
    "v": "V U any",
    "w": "W U any",
    "x": "W U any",
    "y": "Y any",
    "z": "Y any",
}
QUASI = ["age", "city", "region"]
OWN = {  # beyond k, m and the quasi-identifiers
    "rum_bound": {"delta": 1.0, "random_state": 0},
    "tum_bound": {"delta": 1.0, "random_state": 0},
    "rfirst": {"random_state": 0},
    "tfirst": {"parts": 2},
}
CUTTING = {"apriori", "direct", "optimal", "vpa", "lra", "hghs", "mhghs"}
algorithms = pytest.mark.parametrize("name", RT)


def run(name, frame, **asked):
    arguments = {"k": 2, "m": 2, "quasi": {**dict.fromkeys(QUASI), "region": WORLD}} | OWN[name]
    return RT[name](frame, **gathered(arguments | asked))


def datasets(least=3, most=9, items="uvwxyz"):
    """Rows: an age or none, a city, a region, and a set of items."""
    row = st.tuples(
        st.none() | st.integers(0, 12),
        st.sampled_from("kl"),
        st.sampled_from("abcdef"),
        st.frozensets(st.sampled_from(list(items)), max_size=4),
    )
    return st.lists(row, min_size=least, max_size=most)


def frame_with(rows):
    frame = frame_of([row[3] for row in rows])
    frame["age"] = pd.array([row[0] for row in rows], dtype="Int64")
    frame["city"] = pd.Series([row[1] for row in rows], dtype="str")
    frame["region"] = pd.Series([row[2] for row in rows], dtype="str")
    frame["other"] = [number % 3 for number in range(len(rows))]
    frame.attrs["source"] = {"ward": [3]}
    return frame.set_axis([7 * number % 5 for number in range(len(rows))])


def many_rows(n=60, seed=3):
    rng = np.random.default_rng(seed)
    return frame_with(
        [
            (int(age), str(city), str(region), frozenset(rng.choice(list("uvwxyz"), size, replace=False)))
            for age, city, region, size in zip(
                rng.integers(18, 90, n),
                rng.choice(list("kl"), n),
                rng.choice(list("abcdef"), n),
                rng.integers(0, 5, n),
                strict=True,
            )
        ]
    )


def plain(value):
    if isinstance(value, pd.Interval):
        return value.left, value.right
    return None if pd.isna(value) else value


def published(frame, quasi=QUASI, column="items"):
    """Rows as pairs of quasi-identifiers and items, all hashable."""
    cells = zip(*([plain(value) for value in frame[label]] for label in quasi), strict=True)
    return [*zip(cells, rows_of(frame, column), strict=True)]


# --- what is promised of every result


def assert_contract(frame, result, k, m):
    out = result.frame
    pd.testing.assert_index_equal(out.index, frame.index, exact=True)
    pd.testing.assert_index_equal(out.columns, frame.columns, exact=True)
    pd.testing.assert_series_equal(out["other"], frame["other"])
    assert out.attrs == frame.attrs
    assert out["items"].dtype == pd.ArrowDtype(pa.list_(pa.string()))
    rows = published(out)
    if isinstance(result.guarantee, KKm):
        assert result.guarantee == KKm(k=k, m=m, quasi=QUASI)
        assert not any(naive.kkm_broken(rows, k, m))
    else:
        sensitive = frozenset(result.guarantee.sensitive)
        assert not any(naive.klm_broken(rows, k, result.guarantee.l, m, sensitive))
    assert out.txanon.audit(result.guarantee).holds
    assert pdanon.audit(out, result.guarantee, independent=True).holds
    assert_truthful(frame, result)
    assert_classes(result)


def assert_truthful(frame, result):
    """Published values cover the row's own, and each label an item that the row had."""
    for before, after in zip(rows_of_frame(frame), rows_of_frame(result.frame), strict=True):
        assert covers(after, before)
    became, supports = {}, Counter()
    for _, group, item, label, support in result.mapping.itertuples():
        became.setdefault((group, item), []).append(None if pd.isna(label) else label)
        supports[group, item] += support
    groups = result.groups.tolist()
    for group, held, shown in zip(groups, rows_of(frame), rows_of(result.frame), strict=True):
        options = [became[group, item] for item in held]
        assert all(shown & {*labels} or None in labels for labels in options)
        assert all(any(label in labels for labels in options) for label in shown)
        assert all(any(stands_for(label, item) for item in held) for label in shown)
        assert result.parameters["transaction"].algorithm == "lra" or all(
            len(labels) == 1 for labels in options
        )
    held = Counter((group, item) for group, row in zip(groups, rows_of(frame), strict=True) for item in row)
    assert supports == held


def rows_of_frame(frame):
    return [*zip(*([plain(value) for value in frame[label]] for label in QUASI), strict=True)]


def covers(after, before):
    age, city, region = after
    own_age, own_city, own_region = before
    paths = {leaf: ["all", "P", "Q", leaf] for leaf in "ab"} | {leaf: ["all", "S", leaf] for leaf in "def"}
    paths["c"] = ["all", "P", "R", "c"]
    if isinstance(age, str):  # one number and missing values are published as a set
        numbers = ("<NA>" if own_age is None else str(own_age)) in age.strip("()").split(",")
    else:
        numbers = own_age is None or (age is not None and age[0] <= own_age <= age[1])
    cities = city == own_city or own_city in city.strip("()").split(",")
    return numbers and cities and region in paths[own_region]


def stands_for(label, item):
    members = label.strip("()").split(",") if label.startswith("(") else [label]
    return item in members or label in ABOVE[item].split()


def assert_classes(result):
    classes, groups = result.classes, result.groups
    assert [*classes.columns] == ["group", "size", *QUASI]
    assert classes["size"].tolist() == groups.value_counts().sort_index().tolist()
    listed = [tuple(map(plain, row)) for row in classes[QUASI].itertuples(index=False)]
    assert [listed[group] for group in groups] == rows_of_frame(result.frame)


# --- for any rows


@pytest.mark.one_in(2)
@algorithms
@settings(max_examples=examples(30))
@given(
    datasets(),
    st.integers(2, 3),
    st.none() | st.integers(1, 3),
    st.sampled_from(["pcta", "apriori", "local_suppression"]),
)
def test_any_rows(name, rows, k, m, transaction):
    frame = frame_with(rows)
    before = pickle.loads(pickle.dumps(frame))
    hierarchy = ITEMS if transaction == "apriori" else None
    result = run(name, frame, k=k, m=m, transaction=transaction, hierarchy=hierarchy)
    assert_contract(frame, result, k, m)
    pd.testing.assert_frame_equal(frame, before)
    assert frame.attrs == before.attrs
    again = run(name, frame, k=k, m=m, transaction=transaction, hierarchy=hierarchy)
    assert again.frame.equals(result.frame)
    pd.testing.assert_frame_equal(again.mapping, result.mapping)


OPTIONS = {
    "coat": {"utility": [["u", "v", "w"], ["x", "y"], ["z"]], "max_suppressed": 1.0},
    "upcta": {"utility": [["u", "v", "w"], ["x", "y"], ["z"]], "max_suppressed": 1.0},
    "vpa": {"parts": 3},
    "lra": {"parts": 3},
}
COMBINED = ["pcta", "coat", "apriori", "direct", "vpa", "mhghs"]
REST = [name for name in TRANSACTION_ALGORITHMS if name not in COMBINED]


@pytest.mark.slow
@pytest.mark.parametrize("cluster", FORMATIONS)
@pytest.mark.parametrize("transaction", [*COMBINED, *REST])
def test_all_combinations(cluster, transaction):
    frame = many_rows()
    asked = {"k": 4, "cluster": cluster, "transaction": transaction, "options": OPTIONS.get(transaction)}
    asked["hierarchy"] = ITEMS if transaction in CUTTING else None
    if transaction in REST:
        assert_contract(frame, run("rfirst", frame, **asked), 4, 2)
        return
    first = run("rfirst", frame, **asked)
    ways = [*itertools.product(["rum_bound", "tum_bound"], ["R", "T", "RT"])]
    turn = [*FORMATIONS].index(cluster) + COMBINED.index(transaction)
    for bound, merge in ways if ALL else ways[turn % 3 :: 3]:  # one merge in turn, with both bounds
        measure = "NCP_relational" if bound == "rum_bound" else "NCP"
        share = 0.5 + 0.5 * first.loss[measure] if bound == "rum_bound" else 0.6
        result = run(bound, frame, merge=merge, **(asked | {"delta": share}))
        assert_contract(frame, result, 4, 2)
        assert result.loss[measure] <= share
        assert bound == "tum_bound" or result.loss[measure] >= first.loss[measure]


@pytest.mark.parametrize("bound", ["rum_bound", "tum_bound"])
@pytest.mark.parametrize("tum", ["NCP", "UL"])
def test_order_by_what_is_lost(bound, tum):
    frame = many_rows(24)
    assert_contract(frame, run(bound, frame, order="tum", tum=tum, delta=0.9, merge="T"), 2, 2)


@algorithms
def test_progress_goes_to_stderr_alone(name, capsys):
    frame = many_rows(12)
    quiet = run(name, frame)
    assert capsys.readouterr() == ("", "")
    with pdanon.config(progress=True):
        shown = run(name, frame)
    out, err = capsys.readouterr()
    assert out == ""
    assert name in err
    assert shown.frame.equals(quiet.frame)


@algorithms
def test_no_rows(name):
    frame = frame_with([])
    result = run(name, frame)
    assert len(result.frame) == len(result.mapping) == len(result.classes) == 0


# --- sensitive items


@pytest.mark.one_in(3)
@algorithms
@pytest.mark.parametrize("transaction", ["apriori", "pcta"])
@settings(max_examples=examples(30))
@given(datasets(least=4, items="uvwxst"), st.integers(2, 3), st.none() | st.integers(1, 3))
def test_sensitive_items(name, transaction, rows, diversity, m):
    frame = frame_with(rows)
    present = sorted(set("st") & frozenset().union(*rows_of(frame)))
    if not present:
        return
    asked = {"sensitive": present, "l": diversity, "transaction": transaction}
    result = run(name, frame, m=m, **asked, hierarchy=ITEMS if transaction == "apriori" else None)
    assert result.guarantee == KLm(k=2, l=diversity, m=m, quasi=QUASI, sensitive=present)
    out, secret = result.frame, frozenset(present)
    assert not any(naive.klm_broken(published(out), 2, diversity, m, secret))
    assert out.txanon.audit(result.guarantee).holds
    assert_hidden_where_it_must(rows_of(frame), rows_of(out), result.groups, secret, diversity)
    assert_nobody_is_surer(rows_of(frame), rows_of(out), result, secret, 2, diversity, m)


BLOCKS = [["s", "u", "v"], ["t"], ["w", "x"]]


@pytest.mark.slow
@algorithms
@pytest.mark.parametrize("transaction", ["coat", "upcta"])
@settings(max_examples=examples(15))
@given(datasets(least=4, items="uvwxst"), st.integers(2, 3), st.none() | st.integers(1, 3))
def test_sensitive_items_beside_sets_that_keep_to_blocks(name, transaction, rows, diversity, m):
    frame = frame_with(rows)
    present = sorted(set("st") & frozenset().union(*rows_of(frame)))
    if not present:
        return
    items = pdanon.Transaction(
        transaction, options={"utility": BLOCKS, "max_suppressed": 1}, sensitive=present, l=diversity
    )
    result = RT[name](frame, k=2, m=m, quasi=QUASI, transaction=items, **OWN[name])
    out, secret = result.frame, frozenset(present)
    assert not any(naive.klm_broken(published(out), 2, diversity, m, secret))
    assert_hidden_where_it_must(rows_of(frame), rows_of(out), result.groups, secret, diversity)
    assert_nobody_is_surer(rows_of(frame), rows_of(out), result, secret, 2, diversity, m)
    for _, members in result.mapping.dropna(subset="generalized").groupby(["group", "generalized"])["item"]:
        assert any(set(members) <= set(block) for block in BLOCKS)


def test_what_cannot_hide_in_its_block_is_left_out_where_that_is_allowed():
    """In the class u alone is rare in its block, though w and x are not: it may only be left out."""
    rows = [["u", "w"], ["w", "x"], ["w", "x"], ["w", "x"], ["s", "w"], ["w"]]
    frame = pd.DataFrame({"age": [30] * 6, "items": rows})
    asked = {"k": 2, "m": 1, "quasi": ["age"], "random_state": 0}
    options = {"utility": [["u"], ["w", "x"], ["s"]]}
    strict = pdanon.Transaction("coat", options=options, sensitive=["s"], l=2)
    message = "max_suppressed=0, .*\n  hint:  pass max_suppressed=1"
    with pytest.raises(InfeasibleError, match=message):
        pdanon.rfirst(frame, transaction=strict, **asked)
    free = pdanon.Transaction("coat", options=options | {"max_suppressed": 1 / 3}, sensitive=["s"], l=2)
    assert rows_of(pdanon.rfirst(frame, transaction=free, **asked).frame) == [
        frozenset(row) - {"u"} for row in rows
    ]


def assert_nobody_is_surer(before, after, result, secret, k, diversity, m):
    """Who knows the class, what became of its items, and up to m of a row's own, finds k rows that fit.

    Where the whole class lost an item, any of its rows fits what is known of that. Of those that fit, each
    secret that is shown is in one of so many.
    """
    became = result.mapping.set_index(["group", "item"])["generalized"]
    groups = result.groups.tolist()
    for row, group in enumerate(groups):
        members = [after[other] for other, own in enumerate(groups) if own == group]
        for known in naive.parts(before[row] - secret, m):
            labels = {became[group, item] for item in known}
            shown = {label for label in labels if pd.notna(label)}
            fit = [own for own in members if shown <= own]
            assert len(fit) >= k
            assert all(sum(item in own for own in fit) * diversity <= len(fit) for item in secret)


def assert_hidden_where_it_must(before, after, groups, secret, diversity):
    """A sensitive item is shown in all rows of a class, or in none: where the class could not hide it."""
    for group in set(groups):
        members = [row for row, own in enumerate(groups) if own == group]
        filled = [row for row in members if before[row] - secret]
        for item in secret:
            held = [row for row in members if item in before[row]]
            shown = [row for row in members if item in after[row]]
            assert shown in ([], held)
            beside = [row for row in filled if item in before[row]]
            could = len(held) * diversity <= len(members) and len(beside) * diversity <= len(filled)
            assert could or not shown


# --- several list columns

DRUGS = {"any": {"heart": ["1", "2"], "skin": ["3", "4", "5"]}}


def two_columns(n=40):
    frame = many_rows(n)
    rng = np.random.default_rng(1)
    frame["drugs"] = [sorted({*rng.integers(1, 6, size).tolist()}) for size in rng.integers(0, 4, n)]
    return frame


@pytest.mark.one_in(5)
@algorithms
@pytest.mark.parametrize(
    "transaction", ["pcta", "coat", "apriori", "vpa", "mhghs", "lra", "local_suppression"]
)
def test_several_list_columns(name, transaction):
    frame = two_columns()
    labels = ["items", "drugs"]
    trees = {"items": ITEMS, "drugs": DRUGS} if transaction in CUTTING else None
    result = run(name, frame, k=3, columns=labels, transaction=transaction, hierarchy=trees)
    assert result.guarantee == KKm(k=3, m=2, quasi=QUASI, columns=labels)
    out = result.frame
    rows = [
        (quasi, {("items", item) for item in items} | {("drugs", item) for item in drugs})
        for (quasi, items), drugs in zip(published(out), rows_of(out, "drugs"), strict=True)
    ]
    assert not any(naive.kkm_broken(rows, 3, 2))
    assert result.guarantee.audit(out).holds
    assert [*result.mapping["column"].unique()] == labels
    assert set(result.mapping.loc[result.mapping["column"] == "drugs", "item"]) == set("12345")
    names = {"any", "heart", "skin", *"12345"}
    for labels_shown, held in zip(rows_of(out, "drugs"), frame["drugs"], strict=True):
        for label in map(str, labels_shown):  # what is only deleted keeps its type
            below = {"any": "12345", "heart": "12", "skin": "345"}.get(label, label.strip("()").split(","))
            assert label in names or label.startswith("(")
            assert any(str(drug) in below for drug in held)


def ncp_of(mapping, trees):
    """NCP of a release: the share of its own column's domain that the label of each occurrence covers."""
    lost, total = Fraction(0), 0
    for label, lines in mapping.groupby("column"):
        held = lines.groupby(["group", "generalized"])["item"].nunique()
        for group, item, became, support in zip(
            *(lines[name] for name in ("group", "item", "generalized", "support")), strict=True
        ):
            total += support
            if became is pd.NA:
                lost += support
            elif trees is None and became != item:
                lost += Fraction(support * int(held[group, became]), lines["item"].nunique())
            elif trees is not None:
                below = next(each for each in leaves_by_node(trees[label]) if each[0] == became)[1]
                lost += Fraction(
                    support * len(below) * (len(below) > 1), len(leaves_by_node(trees[label])[0][1])
                )
    return lost / max(total, 1)


def leaves_by_node(tree):
    """Each node with the leaves below it, the root first."""
    if isinstance(tree, list):
        return [(name, [name]) for name in tree]
    found = []
    for name, child in tree.items():
        below = leaves_by_node(child)
        leaves = [own for node, held in below for own in held if node == own]
        found += [(name, leaves), *below]
    return found


@settings(max_examples=examples(40))
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.sets(st.sampled_from("uvwxyz"), max_size=3),
            st.none() | st.sets(st.sampled_from("12345"), max_size=2),
            st.integers(1, 9),
        ),
        min_size=4,
        max_size=12,
    ),
    items=st.sampled_from(["pcta", "upcta", "apriori"]),
    delta=st.sampled_from([0.2, 0.35, 0.5, 0.7, 0.9]),
    m=st.integers(1, 2),
    refine=st.booleans(),
)
def test_several_columns_keep_the_bound_of_what_is_reported(rows, items, delta, m, refine):
    columns = [pd.Series([*each], dtype=object) for each in zip(*(row[:2] for row in rows), strict=True)]
    frame = pd.DataFrame({"one": columns[0], "two": columns[1], "age": [age for *_, age in rows]})
    trees = {"one": ITEMS, "two": DRUGS} if items == "apriori" else None
    parts = pdanon.Transaction(items, hierarchy=trees, columns=["one", "two"], refine=refine)
    asked = {"k": 3, "m": m, "quasi": ["age"], "transaction": parts, "random_state": 0}
    try:
        result = frame.txanon.tum_bound(delta=delta, **asked)
    except InfeasibleError as error:
        reached = float(str(error).split("the lowest loss reached is ")[1].splitlines()[0])
        assert reached > delta
        result = frame.txanon.tum_bound(delta=reached, **asked)
        delta = reached
    expected = ncp_of(result.mapping, trees)
    assert result.loss["NCP"] == pytest.approx(float(expected), abs=1e-12)
    assert expected <= Fraction(str(delta))


@pytest.mark.parametrize("delta", [0.1, 0.2, 0.3])
def test_the_bound_beside_sensitive_items_is_that_of_the_loss(delta):
    """Sensitive items that the hierarchy lacks are leaves of it for neither."""
    tree = {"*": {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"], "C": ["c1"]}}
    items, secrets = ["a1", "a2", "a3", "b1", "b2", "c1"], ["flu", "hiv", "gout"]
    private = pdanon.Transaction("apriori", hierarchy=tree, sensitive=secrets, l=2)
    found = 0
    for seed in range(6):
        draw = Random(seed)
        rows = [
            {*draw.sample(items, 2)} | ({secrets[n // 3 % 3]} if n % 3 == 0 else set()) for n in range(24)
        ]
        frame = frame_of(rows).assign(age=[draw.randrange(8) for _ in rows])
        asked = {"k": 2, "m": 1, "quasi": ["age"], "transaction": private, "random_state": 0}
        with suppress(InfeasibleError):
            result = frame.txanon.tum_bound(delta=delta, **asked)
            assert result.loss["NCP"] <= delta
            found += 1
    assert found


def test_the_bound_of_two_columns_is_that_of_the_loss():
    """Each label stands for all items of its column, and for half of those of both."""
    frame = pd.DataFrame({"i": [*"abab"], "j": [*"PQPQ"], "age": 1})
    frame[["i", "j"]] = frame[["i", "j"]].map(lambda item: [item])
    parts = pdanon.Transaction(columns=["i", "j"])
    asked = {"k": 3, "m": 1, "quasi": ["age"], "transaction": parts, "random_state": 1}
    assert frame.txanon.tum_bound(delta=1, **asked).loss["NCP"] == 1
    with pytest.raises(InfeasibleError, match="the lowest loss reached is 1"):
        frame.txanon.tum_bound(delta=0.5, **asked)


def test_a_seed_fixes_the_release():
    frame = many_rows(200)
    first, again, other = (run("rfirst", frame, k=3, random_state=seed).frame for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


# --- nothing is left behind


def parquet_bytes(frame):
    sink = io.BytesIO()
    frame.astype(dict.fromkeys(QUASI, str)).to_parquet(sink, compression=None)
    return sink.getvalue()


@algorithms
@pytest.mark.parametrize("write", [pickle.dumps, parquet_bytes, lambda frame: frame.to_csv().encode()])
def test_what_is_not_published_is_not_released(name, write):
    """An item in too few rows is suppressed, and a city and items in a tree are generalized."""
    frame = many_rows(20)
    cities = pd.Categorical([f"{SECRET}-{number % 2}" for number in range(20)], categories=None)
    items = frame_of([[f"{SECRET}-a", "u"], [f"{SECRET}-b", "u"]] * 10)["items"].set_axis(frame.index)
    frame = frame.assign(city=cities.add_categories([f"{SECRET}-none"]), items=items)
    tree = {"any": {"rare": [f"{SECRET}-a", f"{SECRET}-b"], "often": ["u"]}}
    asked = {"delta": 1.0} if "bound" in name else {}
    asked |= {"quasi": {"city": {"everywhere": [f"{SECRET}-0", f"{SECRET}-1"]}}}
    asked |= {"parts": 1} if name == "tfirst" else {}
    result = run(name, frame, k=11, transaction="apriori", hierarchy=tree, **asked)
    assert set(result.frame["city"]) == {"everywhere"}
    assert frozenset().union(*rows_of(result.frame)) == {"rare", "u"}
    assert SECRET.encode() not in write(result.frame)
    assert SECRET not in repr(result)


def test_items_in_fewer_than_k_rows_of_a_class_are_suppressed():
    frame = frame_of([["u"], ["u"], [], [], [SECRET], []]).assign(age=[1, 1, 1, 9, 9, 9])
    result = pdanon.rfirst(frame, k=2, quasi=["age"], cluster="mondrian")
    assert rows_of(result.frame) == [{"u"}, {"u"}, set(), set(), set(), set()]
    assert SECRET.encode() not in pickle.dumps(result.frame)
    assert result.loss["suppressed"] == pytest.approx(1 / 3)
    assert result.classes["size"].tolist() == [3, 3]


def test_the_mapping_counts_the_rows_that_had_no_item():
    """b is suppressed, which empties no row: the one empty row was empty before."""
    frame = frame_of([["a", "b"], ["a"], ["a"], []]).assign(age=1)
    blocks = pdanon.Transaction("coat", options={"utility": [["a"], ["b"]], "max_suppressed": 1})
    result = pdanon.rfirst(frame, k=3, m=1, quasi=["age"], cluster="mondrian", transaction=blocks)
    assert rows_of(result.frame) == [{"a"}, {"a"}, {"a"}, set()]
    assert result.mapping.attrs["empty_rows"] == 1


def test_items_in_k_rows_of_a_class_stay_beside_a_sensitive_one():
    frame = frame_of([["u"], ["u"], ["s"], []]).assign(age=1)
    hidden = pdanon.Transaction("apriori", hierarchy={"all": ["u", "v"]}, sensitive=["s"], l=2)
    result = pdanon.rfirst(frame, k=2, quasi=["age"], cluster="mondrian", transaction=hidden)
    assert rows_of(result.frame) == [{"u"}, {"u"}, {"s"}, set()]


@pytest.mark.parametrize("algorithm", ["pcta", "coat", "local_suppression", "apriori", "hghs"])
def test_sensitive_items_stay_where_no_item_is_known(algorithm):
    frame = frame_of([["s"], [], [], ["u"], ["u"]]).assign(age=[1, 1, 1, 2, 2])
    tree = {"all": ["u", "v"]} if algorithm in ("apriori", "hghs") else None
    hidden = pdanon.Transaction(algorithm, hierarchy=tree, sensitive=["s"], l=2)
    result = pdanon.rfirst(frame, k=2, quasi=["age"], cluster="mondrian", transaction=hidden)
    assert rows_of(result.frame) == [{"s"}, set(), set(), {"u"}, {"u"}]


# --- the surface


@algorithms
def test_function_and_method_are_one(name):
    function = RT[name]
    frame = many_rows(12)
    method = getattr(frame.txanon, name)
    assert method.__doc__ == function.__doc__
    parameters = [*inspect.signature(function).parameters.values()]
    assert [*inspect.signature(method).parameters.values()] == parameters[1:]
    assert [parameter.name for parameter in parameters[:2]] == ["frame", "column"]
    assert {parameter.kind for parameter in parameters[2:]} == {inspect.Parameter.KEYWORD_ONLY}
    result = run(name, frame)
    asked = {"k": 2, "quasi": {**dict.fromkeys(QUASI), "region": WORLD}} | OWN[name]
    pd.testing.assert_frame_equal(method("items", **asked).frame, result.frame)
    assert set(result.parameters) == {"algorithm", *(each.name for each in parameters[2:])}
    assert [result.parameters[key] for key in ("algorithm", "k", "m")] == [name, 2, 2]
    assert list(result.passed_through) == ["other"]


@algorithms
def test_docstring_has_all_its_parts(name):
    doc = inspect.getdoc(RT[name])
    parts = ["Parameters", "Returns", "Raises", "Notes", "References", "Examples", "Guarantee:", "Cost:"]
    assert [part for part in parts if part not in doc] == []
    lines = doc[doc.index("Parameters") : doc.index("Returns")].splitlines()
    described = [name for line in lines if " : " in line for name in line.split(" : ")[0].split(", ")]
    assert described == [*inspect.signature(RT[name]).parameters]


# --- real data


@pytest.mark.slow
@pytest.mark.parametrize("merge", ["R", "T", "RT"] if ALL else ["RT"])
def test_informs(merge, data):
    """Every class and, in each, every published item and pair, counted with a dictionary."""
    path = data / "rt_informs2005.parquet"
    if not path.is_file():
        pytest.skip("no rt_informs2005")
    frame = pdanon.read_parquet(path).drop(columns="DUPERSID")
    quasi = ["DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "income"]
    trees = {"DOBYY": data / "hierarchies" / "informs2005_DOBYY_hierarchy.csv"}
    asked = {"k": 25, "quasi": {**dict.fromkeys(quasi), **trees}, "random_state": 0}
    result = pdanon.rum_bound(frame, **asked, delta=0.65, merge=merge)
    assert 0 < result.loss["NCP_relational"] <= 0.65
    counts = Counter()
    classes = result.frame[quasi].astype(str).agg("|".join, axis=1)
    for own, items in zip(classes, rows_of(result.frame), strict=True):
        counts.update((own, part) for part in naive.parts(items, 2))
    assert min(counts.values()) >= 25


@pytest.mark.slow
def test_patients_whose_sensitive_codes_hide(data):
    """Each class, its published codes and pairs of them, and the secrets beside them, counted."""
    path = data / "rt_diabetes130_patients_icd9.parquet"
    if not path.is_file():
        pytest.skip("no rt_diabetes130_patients_icd9")
    quasi = ["race", "gender", "age"]
    frame = pdanon.read_parquet(path)[[*quasi, "items"]]
    often = Counter(code for codes in rows_of(frame) for code in codes)
    secret = {"250", *(code for code, _ in often.most_common(18)[12:])}  # 250: in 23 of 100 rows
    items = pdanon.Transaction("pcta", sensitive=sorted(secret), l=3)
    asked = {"quasi": quasi, "delta": 0.4, "random_state": 0, "transaction": items}
    result = pdanon.rum_bound(frame, k=10, **asked)
    assert len(secret) == 7
    assert result.loss["NCP"] < 0.05  # with categories .98
    together, alone = Counter(), Counter()
    classes = result.frame[quasi].astype(str).agg("|".join, axis=1)
    for own, shown in zip(classes, rows_of(result.frame), strict=True):
        for part in naive.parts(shown - secret, 2):
            alone[own, part] += 1
            together.update((own, part, code) for code in shown & secret)
    assert min(alone.values()) >= 10
    assert all(count * 3 <= alone[own, part] for (own, part, _), count in together.items())
