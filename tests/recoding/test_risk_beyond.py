"""Risk beyond the guarantee: that of the exact count of all rows, before and after."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, promised, row_lists
from hypothesis import given, settings, strategies as st

import pdanon
import pdanon.stream
from examples import examples
from pdanon.io.datasets import make_baskets
from pdanon.recoding import counts, release, risk as module
from pdanon.recoding.risk import Attacker, hidden_items

SHARES = ["singled_out", "below_k"]


def exact(frame, **known):
    """Return the exact shares of all rows, by the number of known items."""
    table = pdanon.risk(frame, **known)
    return table[table["items"].isna()].set_index("known")[SHARES]


def check(result, original, **known):
    """Compare the table of a result with exact counts. The shares are constant beyond the longest row."""
    risk = result.risk.set_index("known")
    assert (risk["counted"] == len(original)).all()
    longest = original["items"].itemset.lengths.max()
    shown = range(risk.index[0], min(known["m"], longest + 1) + 1)
    after, before = (
        exact(frame, **known).reindex(shown, method="ffill") for frame in (result.frame, original)
    )
    assert risk.index.tolist() == after.index.tolist()
    np.testing.assert_allclose(risk[SHARES], after)
    np.testing.assert_allclose(risk[[f"{name}_before" for name in SHARES]], before)


@settings(max_examples=examples(40))
@given(
    row_lists(longest=6, least=5),
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from(["pcta", "apriori", "anonymize"]),
)
def test_items(rows, k, m, algorithm):
    frame = frame_of([*rows, *rows])
    options = {"hierarchy": 2} if algorithm == "apriori" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = getattr(frame.txanon, algorithm)(k=k, m=m, **options)
    except pdanon.InfeasibleError:
        return
    check(result, frame, k=k, m=m + 1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_of_releases_with_a_larger_k_the_promised_one_counts(visits):
    frame, *_ = visits
    result = frame.txanon.anonymize(k=3, m=2, max_loss={"named": 0.1})
    assert result.parameters["decided_k"] > 3
    check(result, frame, k=3, m=3)


QUASI = st.lists(st.tuples(st.integers(20, 24), st.sampled_from("fm")), min_size=10, max_size=10)


@settings(max_examples=examples(25))
@given(row_lists(items="abcde", longest=4, least=6), QUASI, st.integers(2, 3), st.integers(1, 2))
def test_quasi_identifiers_and_items(rows, quasi, k, m):
    frame = frame_of(rows)
    frame["age"], frame["sex"] = zip(*quasi[: len(rows)], strict=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = pdanon.rfirst(frame, k=k, m=m, quasi=["age", "sex"], random_state=0)
    except pdanon.InfeasibleError:
        return
    check(result, frame, k=k, m=m + 1, quasi=["age", "sex"])


@pytest.fixture
def visits():
    frame, column = make_baskets(300, 30, random_state=0)[["items"]], "items"
    items = frame[column].itemset.supports().sort_values(ascending=False, kind="stable").index.tolist()
    return frame, column, items


def without(frame, column, items):
    """Remove items from the rows."""
    rows = [None if row is None else [each for each in row if each not in items] for row in frame[column]]
    return pd.DataFrame({column: pdanon.as_itemsets(rows)}, index=frame.index)


def release_of(frame, items, name):
    """Return a release of an algorithm for sensitive items."""
    secret = items[8:10]
    calls = {
        "coherence": {"h": 0.6, "k": 4, "p": 1, "private": secret},
        "cahd": {"p": 3, "sensitive": secret, "k": 4, "m": 1},
        "apriori": promised(k=4, m=1, hierarchy=4, sensitive=secret, l=2),
    }
    return getattr(frame.txanon, name)(**calls[name]), secret


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["coherence", "cahd", "apriori"])
def test_sensitive_items_are_not_known(visits, name):
    frame, column, items = visits
    result, secret = release_of(frame, items, name)
    released = without(result.frame[[column]], column, secret)
    risk = result.risk.iloc[-1]
    assert risk["known"] == 2
    found = exact(released, k=4, m=2).iloc[-1]
    assert risk[SHARES].tolist() == pytest.approx(found.tolist())
    before = exact(without(frame, column, secret), k=4, m=2).iloc[-1]
    assert risk["below_k_before"] == pytest.approx(before["below_k"])
    assert "2 known public items" in repr(result)


@pytest.mark.filterwarnings("ignore")
def test_without_k_only_singled_out_rows_are_counted(visits):
    frame, _, items = visits
    result = frame.txanon.suppress_control(rho=0.5, sensitive=items[8:10], m=1)
    assert result.risk["below_k"].isna().all()
    assert result.risk["singled_out_before"].iloc[-1] > 0
    assert "of the rows" in repr(result)
    assert "rows match" not in repr(result)


@pytest.mark.parametrize(
    "guarantee",
    [
        pdanon.KmAnonymity(k=5, m=None),
        pdanon.KKm(k=5, m=None, quasi=["age"]),
        pdanon.TransactionalK(k=5),
        pdanon.KAnonymity(k=5, quasi=["age"]),
        pdanon.DisassociatedKm(k=5, m=2),
    ],
    ids=lambda each: type(each).__name__,
)
def test_no_attacker_is_beyond_all_items(guarantee):
    assert Attacker.beyond(guarantee) is None


def test_any_two_items_are_beyond_listed_ones():
    attacker = Attacker.beyond(pdanon.PrivacyConstraints(constraints=[["a", "b"]], k=5))
    assert (attacker.known, attacker.covered, attacker.k) == (2, 0, 5)
    rules = pdanon.PSRules(rules={"m": 3, "sensitive": ["flu"]}, k=5, c=0.5)
    assert Attacker.beyond(rules).known == 4
    assert hidden_items(rules) is not None


def test_a_whole_row_has_no_line(visits):
    frame, _, _ = visits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = frame.txanon.pcta(k=3, m=None)
    assert result.risk is None
    assert "beyond" not in repr(result)


def test_some_thousand_rows_are_counted_whole():
    frame = make_baskets(4000, 60, random_state=1)[["items"]]
    result = frame.txanon.pcta(k=5, m=2)
    assert result.risk["counted"].tolist() == [4000] * 3
    assert "sampled" not in repr(result)
    check(result, frame, k=5, m=3)


def test_it_is_counted_once_when_somebody_reads_it():
    frame = make_baskets(300, 30, random_state=0)[["items"]]
    first, second = (frame.txanon.pcta(k=3, m=2) for _ in range(2))
    expected = second.risk
    assert callable(first.risk_table)
    first.frame["items"] = frame["items"] = pdanon.as_itemsets([["other"]] * 300)
    assert first.risk is first.risk_table is first.risk
    pd.testing.assert_frame_equal(first.risk, expected)


def test_pickles_and_copies_hold_the_table_and_no_rows():
    frame = frame_of([{"a", SECRET}, {"a", "b"}, {"a", "b"}, {"b"}] * 2 + [{"a", "c"}])
    result = frame.txanon.local_suppression(k=3, m=2)
    assert SECRET not in {*result.frame["items"].explode()}
    copies = [replace(result, mapping=result.mapping[:0]), copy.copy(result), copy.deepcopy(result)]
    assert SECRET.encode() not in pickle.dumps(copies[0])
    for each in (*copies[1:], pickle.loads(pickle.dumps(result))):
        assert each.risk_table.equals(result.risk)


def test_a_large_table_is_counted_at_once(monkeypatch):
    monkeypatch.setattr(release, "MOST_ROWS", 299)
    frame = make_baskets(300, 30, random_state=0)[["items"]]
    assert isinstance(frame.txanon.pcta(k=3, m=2).risk_table, pd.DataFrame)


@pytest.mark.slow
def test_some_hundred_dense_rows_are_counted_whole():
    """They take most of a second: one of two nearly always equal answers to each of 30 questions."""
    usual = np.random.default_rng(0).random((300, 30)) < 0.98
    frame = pd.DataFrame({"items": pdanon.as_itemsets((2 * np.arange(30) + usual).tolist())})
    result = frame.txanon.coat(k=5, m=3)
    assert "sampled" not in repr(result)
    check(result, frame, k=5, m=4)


def test_a_sample_is_named_and_near(monkeypatch):
    frame = make_baskets(4000, 60, random_state=1)[["items"]]
    full = frame.txanon.pcta(k=5, m=2)
    monkeypatch.setattr(module, "_STEPS_OF_ALL", 400_000)
    part = frame.txanon.pcta(k=5, m=2)
    counted = int(part.risk["counted"].iloc[0])
    assert 100 < counted < 4000
    assert f"of {counted:,} sampled rows" in repr(part)
    shares = [f"{name}{suffix}" for name in SHARES for suffix in ("", "_before")]
    off = (part.risk[shares] - full.risk[shares]).abs().to_numpy().max()
    assert off < 4 * 0.5 / np.sqrt(counted)  # four standard errors
    assert frame.txanon.pcta(k=5, m=2).risk.equals(part.risk)


@pytest.mark.filterwarnings("ignore")
def test_more_known_items_than_the_longest_row_has_are_no_other_case(visits):
    frame, _, items = visits
    longest = int(frame["items"].itemset.lengths.max())
    for m in (longest + 5, 2**70):
        result = frame.txanon.suppress_control(rho=0.5, sensitive=items[:1], m=m)
        assert result.risk["known"].tolist() == [*range(1, longest + 2)]
        assert frame.txanon.pcta(k=3, m=m).risk["known"].iloc[-1] == longest + 1


def test_a_small_sample_gives_intervals(monkeypatch):
    monkeypatch.setattr(module, "_STEPS_OF_ALL", 100_000)
    monkeypatch.setattr(module, "_STEPS", 1)
    result = make_baskets(2000, 60, random_state=1)[["items"]].txanon.pcta(k=5, m=2)
    counted, share = (result.risk.iloc[-1][name] for name in ("counted", "below_k"))
    assert 1 <= counted < 400
    low, high = (f"{100 * end:.3g} %" for end in counts.wilson_interval(share, int(counted)))
    assert f"fewer than 5 rows match for {low} to {high} of the rows (" in repr(result)
    assert f"; of {counted:.0f} sampled rows" in repr(result)


def test_a_table_without_rows_has_no_risk():
    frame = pd.DataFrame({"items": pdanon.as_itemsets([])})
    assert frame.txanon.pcta(k=2, m=2).risk is None


def test_files_have_the_risk_of_a_frame(tmp_path):
    frame = make_baskets(500, 30, random_state=2)[["items"]]
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    result = pdanon.stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", k=5, m=2)
    expected = frame.txanon.pcta(k=5, m=2).risk
    pd.testing.assert_frame_equal(result.risk, expected)
