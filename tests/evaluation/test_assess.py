"""Attacks of WP216: worked examples, naive attacks in loops, releases of each kind, and wrong calls."""

from __future__ import annotations

import math
import runpy
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of
from contract import run
from hypothesis import given, settings, strategies as st
from naive import assess as naive

import pdanon
from examples import ALL, examples
from pdanon import PdanonError
from pdanon.evaluation.metrics.assess import NO_CONTROL, Game, risk_interval
from pdanon.io.datasets import make_baskets
from pdanon.itemsets.codes import Itemsets
from pdanon.recoding.counts import wilson_interval
from pdanon.recoding.recoding import Cover

BASKETS = make_baskets(300, 20, random_state=3)[["items"]]
ORIGINAL, CONTROL = BASKETS[:200], BASKETS[200:]
COLUMNS = ["attack", "n_attacks", "success", "control", "baseline", "risk", "low", "high"]
KINDS = [
    "pcta",
    "lra",
    "partition",
    "local_suppression",
    "disassociate",
    "clump",
    "cahd",
    "mhghs",
    "coherence",
]
LINES = ["singling out, 1 label", "singling out, 2 labels", "linkability", "inference", "membership"]


def line(table, name):
    return table[table["attack"].str.startswith(name)].iloc[-1]


# --- Worked examples


def test_a_label_of_one_row_is_singled_out():
    # a is in one row; without it, all labels are tried.
    df = frame_of(["a", "b", "bc", "c", "c"])
    found = df.txanon.assess(df, attacks=["singling out"], m=1)
    assert [*found.columns] == COLUMNS
    assert found["n_attacks"].tolist() == [1]
    assert found["success"].item() == found["risk"].item() == 1
    assert math.isnan(found["control"].item())
    assert found.attrs["control"] == NO_CONTROL
    assert NO_CONTROL in repr(found)
    assert NO_CONTROL in found._repr_html_()
    found = df.txanon.assess(frame_of(["a", "a", "b", "b", "c", "c"]), attacks=["singling out"], m=1)
    assert found["n_attacks"].tolist() == [3]
    assert found["success"].item() == 1 / 3


def test_a_pair_of_a_set_counts_the_rows_with_an_item_of_each_label():
    # The only pair of labels is ((a,b), c). Rows ac and bc have both; without the second, only one has.
    released, mapping = df_with_sets(["ac", "bc", "c"])
    assert line(released_assess(["ac", "bc", "c"], released, mapping), "singling out")["success"] == 0
    released, mapping = df_with_sets(["ac", "b", "c"])
    assert line(released_assess(["ac", "b", "c"], released, mapping), "singling out")["success"] == 1


def df_with_sets(rows):
    label = {"a": "(a,b)", "b": "(a,b)", "c": "c"}
    frame = frame_of([{label[item] for item in row} for row in rows])
    mapping = pd.DataFrame({"group": 0, "item": [*label], "generalized": [*label.values()], "support": 1})
    return frame, mapping


def released_assess(rows, released, mapping):
    return frame_of(rows).txanon.assess(released, mapping=mapping, attacks=["singling out"])


def test_control_with_fewer_rows_counts_as_many_matches_as_it_would_have():
    # x is in one original row of three. One of two control rows is 1.5 of three, which is not one.
    df = frame_of(["x", "y", "y"])
    for rows, success in (("xz", 0), ("xzz", 1), ("xxz", 0)):
        control = frame_of(rows).set_index(pd.Index(["i", "j", "k"][: len(rows)]))
        found = df.txanon.assess(df, control, attacks=["singling out"], m=1)
        assert found["control"].item() == success, rows


def test_inference_of_a_secret_by_hand():
    # All with a have s, nobody with b does; s is not usual. All guesses are right, and the baseline is never.
    df = frame_of(["as"] * 4 + ["b"] * 6)
    found = df.txanon.assess(df, secret="s", attacks=["inference"])
    assert found["attack"].tolist() == ["inference", "inference, recall"]
    assert found["n_attacks"].tolist() == [10, 4]
    assert found["success"].tolist() == [1, 1]
    assert found["baseline"].tolist() == [0.6, 0]


def test_inference_of_any_item_by_hand():
    # Two known of each row: the third is certain, whichever it is. The most frequent other item is right
    # for 5 of 9 rows at most.
    df = frame_of(["abc"] * 5 + ["xyz"] * 4)
    found = df.txanon.assess(df, attacks=["inference"])
    assert found["success"].item() == 1
    assert found["baseline"].item() < 0.6


def test_membership_by_hand():
    # Each row of the release overlaps fully with itself, and by a third with the control rows.
    df, control = frame_of(["ab", "cd"]), frame_of(["ac", "bd", ""])
    found = df.txanon.assess(df, control, attacks=["membership"])
    assert found[["attack", "n_attacks"]].values.tolist() == [["membership", 2]]
    assert found[["success", "control", "baseline", "risk"]].values.tolist() == [[1, 0.5, 0.5, 1]]
    # b overlaps with more rows than a, but by half at most.
    df, control = frame_of(["a"] * 9 + ["bc", "bd", "be", "bf"]), frame_of(["b"] * 13)
    assert df.txanon.assess(df, control, attacks=["membership"])["success"].item() == 1


def test_of_two_rows_that_are_published_the_longer_one_is_likelier_of_the_original():
    df, control, released = frame_of(["abc"] * 30), frame_of(["a"] * 30), frame_of(["abc", "a"])
    assert df.txanon.assess(released, control, attacks=["membership"])["success"].item() == 1
    assert (
        control.txanon.assess(frame_of(["a"]), df[["items"]], attacks=["membership"])["success"].item() == 1
    )


def test_an_item_that_the_original_lacks_proves_that_a_person_is_not_in_it():
    # Without x, the control rows would be those of the original, or none that can be attacked.
    df, control = frame_of(["ab"] * 30 + ["c"] * 10), frame_of(["abx"] * 30 + ["x"] * 10)
    found = df.txanon.assess(df, control, attacks=["membership"])
    assert found[["n_attacks", "success"]].values.tolist() == [[40, 1]]


# --- Tables on which each attack must succeed, and must not


def test_rows_without_a_common_item_are_all_attacked():
    df = frame_of([[f"{row}{item}" for item in "abcd"] for row in range(60)])
    control = frame_of(
        [[f"{row}{item}" for row, item in enumerate(np.roll([*"abcd"], shift))] for shift in (1, 2)] * 40
    )
    found = df.txanon.assess(df, control, m=3)
    assert (found["success"] == 1).all()
    assert (found["risk"] > 0.9).all()


def test_equal_rows_give_no_attack_away():
    df, control = (frame_of(["abcd"] * n) for n in (400, 500))
    found = df.txanon.assess(df, control, n_attacks=400)
    assert (found["low"].dropna() <= 0.01).all()
    assert line(found, "singling out")["success"] == 0
    linked = line(found, "linkability")
    assert linked["success"] < 0.4  # of 400 rows at the same distance, 10 are drawn twice
    assert abs(linked["success"] - (1 - comb(390, 10) / comb(400, 10))) < 0.08


def test_people_of_the_same_few_kinds_are_not_told_apart():
    rng = np.random.default_rng(4)
    df, control = (frame_of(rng.choice(["a", "ab", "bcd", "abde", "e"], n)) for n in (600, 500))
    found = df.txanon.assess(df, control, attacks=["membership"]).iloc[0]
    assert found["n_attacks"] == 500
    assert found["low"] < 0 < found["high"]


def test_a_release_with_all_items_suppressed_gives_nothing_away():
    df = frame_of(["ab", "bc", "cd", "ad"])
    mapping = pd.DataFrame({"group": 0, "item": [*"abcd"], "generalized": pd.Series([None] * 4, dtype="str")})
    found = df.txanon.assess(frame_of([""] * 4).astype(df.dtypes), mapping=mapping.assign(support=1))
    assert found["n_attacks"].tolist() == [0, 0, 4, 4]
    assert (found["success"].dropna() == 0).all()


# --- Naive attacks


@st.composite
def games(draw):
    """Return an original, a release by sets, the labels of each item, and the items of each label."""
    rows = draw(st.lists(st.sets(st.integers(0, 7), max_size=5), min_size=1, max_size=9))
    label_of = draw(st.lists(st.integers(0, 4), min_size=8, max_size=8))
    second = draw(st.lists(st.none() | st.integers(0, 4), min_size=8, max_size=8))  # in some rows
    cover = {
        item: {one} | ({two} if two is not None else set())
        for item, (one, two) in enumerate(zip(label_of, second, strict=True))
    }
    released = [{draw(st.sampled_from(sorted(cover[item]))) for item in row} for row in rows]
    used = sorted(set().union(*released))
    cover = {item: {used.index(label) for label in labels if label in used} for item, labels in cover.items()}
    released = [{used.index(label) for label in row} for row in released]
    members = {label: {item for item in cover if label in cover[item]} for label in range(len(used))}
    return rows, released, cover, members


def play(rows, released, cover, members, seed=0):
    """Return the attacks on a table."""
    pairs = [(item, label) for item in range(8) for label in sorted(cover[item])]
    items, labels = (
        (np.array(each, np.int64) for each in zip(*pairs, strict=True))
        if pairs
        else np.empty((2, 0), np.int64)
    )
    sizes = np.array([len(members[label]) for label in members], np.int64)
    own = Cover.of_pairs(items, labels, sizes, 8)
    return Game(encoded(released, len(members)), own, [encoded(rows, 8)], 2, 50, np.random.default_rng(seed))


def encoded(rows, n_items):
    codes = np.array([code for row in rows for code in sorted(row)], np.int32)
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    return Itemsets(codes, offsets, pa.array(np.arange(n_items)), np.zeros(len(rows), np.bool_))


def flat(sets):
    rows = encoded(sets, 8)
    return rows.codes, rows.offsets


@settings(max_examples=examples(200))
@given(games(), st.data())
def test_predicates_count_the_rows_with_an_item_of_each_label(game, data):
    rows, _, _, members = game
    predicates = (
        data.draw(st.lists(st.sets(st.sampled_from([*members]), min_size=1, max_size=3), max_size=5))
        if members
        else []
    )
    found = play(*game)._count_rows(encoded(rows, 8), *flat(predicates))
    assert found.tolist() == [naive.rows_with(rows, predicate, members) for predicate in predicates]


@settings(max_examples=examples(200))
@given(games(), st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=3), max_size=5))
def test_a_guess_is_an_item_of_most_matching_rows(game, known):
    _, released, cover, members = game
    sizes = {label: len(items) for label, items in members.items()}
    guesses, _ = play(*game)._guess_items(*flat(known))
    for guess, items in zip(guesses.tolist(), known, strict=True):
        best = naive.best_items(released, items, cover, members, sizes)
        if naive.matching_rows(released, items, cover):
            assert guess in best if best else guess == -1


@settings(max_examples=examples(200))
@given(games(), st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=3), max_size=5))
def test_a_secret_is_guessed_if_most_matching_rows_have_it(game, known):
    _, released, cover, members = game
    sizes = {label: len(items) for label, items in members.items()}
    guesses, usual = play(*game)._guess_secret(*flat(known), 7)
    assert usual == (2 * naive.expected_counts(released, members, sizes)[7] > len(released))
    for guess, items in zip(guesses.tolist(), known, strict=True):
        matching = naive.matching_rows(released, items, cover) or released
        expected = 2 * naive.expected_counts(matching, members, sizes)[7]
        assert expected == len(matching) or guess == (expected > len(matching))


@settings(max_examples=examples(200))
@given(games(), st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=3), max_size=5), st.integers(1, 4))
def test_the_nearest_rows_share_most_labels(game, known, n):
    _, released, cover, _ = game
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pdanon.evaluation.metrics.assess._NEAREST", n)
        found = [{*near.tolist()} for near in play(*game)._find_near(*flat(known))]
    for near, items in zip(found, known, strict=True):
        surely, maybe = naive.nearest(released, items, cover, n)
        assert surely <= near <= maybe
        assert len(near) == min(n, len(maybe))


@settings(max_examples=examples(200))
@given(games(), st.lists(st.sets(st.integers(0, 9), max_size=5), max_size=9), st.integers(0, 9))
def test_the_member_of_a_pair_is_nearer_or_has_more_items(game, others, seed):
    rows, released, cover, _ = game
    played = play(*game, seed=seed)
    played.tables = [*played.tables, encoded([row & cover.keys() for row in others], 8)]
    (found,) = played.recognize(np.array([len(row - cover.keys()) for row in others], np.int64))
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation([i for i, row in enumerate(table) if row]).tolist() for table in (rows, others)]
    pairs = [(rows[one], others[other]) for one, other in zip(*drawn, strict=False)]
    assert len(found.success) == len(pairs)
    for success, pair in zip(found.success.tolist(), pairs, strict=True):
        likelier = naive.likelier_member(released, *pair, cover)
        assert not likelier or success == (likelier > 0)
    assert (found.control, found.baseline) == (0.5, 0.5)


# --- Every kind of release


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_release(name):
    result = run(name, ORIGINAL)
    found = ORIGINAL.txanon.assess(result, CONTROL, n_attacks=100, random_state=1)
    assert found["attack"].tolist() == LINES
    known = found.dropna()
    assert len(known) >= 4  # some algorithms leave no rows with two labels
    assert ((known["low"] <= known["risk"]) & (known["risk"] <= known["high"])).all()
    again = ORIGINAL.txanon.assess(result, CONTROL, n_attacks=100, random_state=1)
    pd.testing.assert_frame_equal(found, again)


def test_counts_of_groups_are_drawn_as_rows():
    df = frame_of(["as"] * 2 + ["bs"] * 2 + ["a", "b"] * 6)
    result = df.txanon.cahd(p=4, sensitive=["s"])
    found = df.txanon.assess(result, secret="s", attacks=["inference"])
    assert found["n_attacks"].tolist() == [16, 4]
    assert found["success"].tolist() == [0.75, 0]  # at most a quarter of each group has it


def test_quasi_identifiers_are_not_known():
    df = ORIGINAL.assign(age=np.arange(len(ORIGINAL)) % 7)
    result = pdanon.rfirst(df, quasi=["age"], transaction=pdanon.Transaction("pcta"), k=3, m=2)
    assert df.txanon.assess(result, CONTROL, n_attacks=20)["attack"].tolist() == LINES


def test_persons_with_several_rows():
    lines, others = (each.explode("items").reset_index(names="person") for each in (ORIGINAL, CONTROL))
    by = lines.txanon.by("person", item="items")
    result = by.pcta(k=3, m=2)
    found = by.assess(result, others, random_state=2)
    sets = pdanon.from_long(lines, by="person", item="items")
    alone = sets.txanon.assess(sets.txanon.pcta(k=3, m=2), CONTROL, random_state=2)
    assert found["attack"].tolist() == LINES
    # Counts of rows, whatever the order of the persons.
    assert found["success"].iloc[0] == alone["success"].iloc[0]
    with pytest.raises(PdanonError, match="several rows"):
        sets.txanon.assess(result)


# --- Intervals


def test_without_successes_the_interval_is_that_of_wilson():
    value, low, high = risk_interval(0.0, 100, 0.0, 100)
    assert value == 0
    assert high == pytest.approx(wilson_interval(0.0, 100)[1])
    assert low == pytest.approx(1 - 1 / (1 - high))
    assert all(map(math.isnan, risk_interval(1.0, 10, 1.0, 10)))
    assert risk_interval(1.0, 10, 0.0, 10)[::2] == (1.0, 1.0)


@given(st.integers(0, 60), st.integers(60, 5000))
def test_the_interval_beside_a_known_share_is_that_of_wilson(one, n):
    ends = [2 * share - 1 for share in (one / n, *wilson_interval(one / n, n))]
    assert risk_interval(one / n, n, 0.5, math.inf) == pytest.approx(ends, abs=1e-7)


@settings(max_examples=examples(200))
@given(*[st.integers(0, 40)] * 2, *[st.integers(41, 60)] * 2)
def test_the_interval_solves_the_equations_of_mover(one, other, n, n_control):
    success, control = one / n, other / n_control
    value, low, high = risk_interval(success, n, control, n_control)
    assert value == pytest.approx((success - control) / (1 - control))
    ends, others = wilson_interval(success, n), wilson_interval(control, n_control)
    # At each end, the difference of failures has its bound at 0.
    for ratio, end, away, sign in ((1 - high, ends[1], others[0], 1), (1 - low, ends[0], others[1], -1)):
        gap = (1 - success) - ratio * (1 - control)
        assert gap == pytest.approx(sign * math.hypot(end - success, ratio * (away - control)), abs=1e-7)


@pytest.mark.slow
def test_intervals_hold_the_risk_in_95_of_100_simulations():
    rng = np.random.default_rng(5)
    for success, control in ((0.3, 0.1), (0.05, 0.02), (0.6, 0.55), (0.2, 0.2), (0.9, 0.3)):
        risk, n = (success - control) / (1 - control), 1000
        draws = zip(rng.binomial(n, success, 2000), rng.binomial(n, control, 2000), strict=True)
        ends = [risk_interval(one / n, n, other / n, n) for one, other in draws]
        held = np.mean([low <= risk <= high for _, low, high in ends])
        assert 0.93 <= held <= 0.97, (success, control, held)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["half redrawn", "sets"])
def test_intervals_hold_the_true_risk_of_simulated_releases(kind):
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "scripts" / "assess_intervals.py"))
    tables = pd.concat(script["simulated"](kind, range(100 if ALL else 40), (30,)))
    for found, true in (("success", "one"), ("control", "other")):
        gap = (tables[found] - tables[true]).groupby(level=0)
        assert (gap.mean().abs() <= 4 * gap.sem() + 1e-12).all(), gap.mean()
    # All labels of one row are played, if they are few.
    alone = tables.loc["singling out, 1 label"].query("n_attacks < 30")
    assert alone["success"].tolist() == pytest.approx(alone["one"].tolist())
    held = script["coverage"](tables)[["release", "all"]]
    assert (held >= 0.9).all(axis=None), held
    widths = (tables["high"] - tables["low"]).groupby(level=0).mean()
    assert widths["singling out, 2 labels"] < 0.6
    assert widths["inference"] < 0.6


# --- Wrong calls


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"attacks": ["linkabilty"]}, "did you mean 'linkability'"),
        ({"attacks": "inference"}, "attacks must be a list"),
        ({"attacks": ["membership"]}, "membership needs control rows"),
        ({"n_attacks": 0}, "n_attacks must be an integer of at least 1"),
        ({"m": None}, "m must be an integer"),
        ({"secret": "nothing"}, "the secret is in no row"),
        ({"control": ORIGINAL[50:150]}, "the control rows are in the original"),
        ({"control": frame_of(["?"])}, "no control row has an item of the original"),
        ({"control": [["a"]]}, "control must be"),
        ({"mapping": pd.DataFrame({"item": ["a"]})}, "mapping lacks columns"),
        ({"random_state": -1}, "no seed"),
    ],
)
def test_wrong_calls_are_explained(given, message):
    with pytest.raises(PdanonError, match=message):
        ORIGINAL.txanon.assess(ORIGINAL, **given)


def test_a_secret_of_all_rows_and_a_release_without_its_labels_are_refused():
    df = frame_of(["ab", "ac"])
    with pytest.raises(PdanonError, match="the secret is in every row"):
        df.txanon.assess(df, secret="a")
    with pytest.raises(PdanonError, match="labels that the original lacks"):
        ORIGINAL.txanon.assess(run("lra", ORIGINAL).frame)
    with pytest.raises(PdanonError, match="result must be"):
        ORIGINAL.txanon.assess("release.parquet")


def test_rows_need_no_common_index_and_each_is_attacked_once():
    result = ORIGINAL.txanon.pcta(k=3, m=2)
    moved = result.frame.set_index(result.frame.index + 1000)
    found = ORIGINAL.txanon.assess(moved, mapping=result.mapping, n_attacks=10**5)
    lengths = ORIGINAL["items"].itemset.lengths
    assert found.set_index("attack")["n_attacks"]["linkability"] == (lengths >= 2).sum()
    pd.testing.assert_frame_equal(found, ORIGINAL.txanon.assess(result, n_attacks=10**5))


@pytest.mark.slow
def test_each_risk_lies_in_the_interval_of_anonymeter_and_the_reverse():
    pytest.importorskip("anonymeter")
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "scripts" / "anonymeter_table.py"))
    found = [found["agree"] for _, _, found in script["all_tables"](1, 2)]
    assert pd.concat(found).mean() >= 0.9  # the attacks of Anonymeter have no seed


# --- Views


def test_the_report_and_the_picture_show_each_attack(tmp_path):
    result = ORIGINAL.txanon.pcta(k=3, m=2)
    found = ORIGINAL.txanon.assess(result, CONTROL, n_attacks=50)
    result.report(tmp_path / "page.html", assessment=found)
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(name in page for name in LINES[2:])
    assert page.count("singling") == 2
    assert f"{100 * found['high'].iloc[2]:.3g} %" in page
    with pytest.raises(PdanonError, match="no table of assess"):
        result.report(tmp_path / "page.html", assessment=ORIGINAL)
    ax = pdanon.plotting.assessment(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == LINES[::-1]
    low, high = found[["low", "high"]].iloc[2] * 100
    ends = ax.collections[0].get_segments()[2][:, 0]
    assert ends.tolist() == pytest.approx([low, high])
