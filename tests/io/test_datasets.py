"""Made-up baskets have the shape they promise; the example files are what their script makes."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import given, settings, strategies as st

from examples import examples
from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.hierarchy import Hierarchy
from pdanon.io.datasets import draw_private, make_baskets
from pdanon.io.forms import from_long
from pdanon.io.parquet import read_parquet
from pdanon.itemsets.codes import Itemsets

EXAMPLES = Path(__file__).parents[2] / "examples"


def lengths_of(frame):
    return frame["items"].list.len().to_numpy(np.int64)


def test_seed_decides_the_frame():
    frame = make_baskets(300, 40, random_state=7)
    pd.testing.assert_frame_equal(frame, make_baskets(300, 40, random_state=7))
    pd.testing.assert_frame_equal(frame, make_baskets(300, 40, random_state=np.random.default_rng(7)))
    assert not frame.equals(make_baskets(300, 40, random_state=8))
    assert make_baskets(300, 40).equals(make_baskets(300, 40, random_state=0))


def test_frame_has_a_list_column_and_an_ordinary_one():
    frame = make_baskets(500, 40, random_state=0)
    assert frame.dtypes.to_dict() == {
        "store": pd.Series(["text"]).dtype,
        "items": pd.ArrowDtype(pa.list_(pa.string())),
    }
    assert frame.index.equals(pd.RangeIndex(500))
    assert frame["store"].value_counts().between(60, 140).all()  # 100 expected, deviation 9
    assert frame["store"].nunique() == 5


@settings(max_examples=examples(40))
@given(
    rows=st.integers(0, 40),
    n_items=st.integers(1, 30),
    share=st.floats(0, 1),
    patterns=st.integers(1, 20),
    seed=st.integers(0, 2**32),
)
def test_rows_are_sorted_sets_of_known_items(rows, n_items, share, patterns, seed):
    mean_length = 1 + share * ((n_items + 1) // 2 - 1)
    frame = make_baskets(rows, n_items, mean_length=mean_length, patterns=patterns, random_state=seed)
    names = {f"p{number:04d}" for number in range(1, n_items + 1)}
    assert len(frame) == rows
    for row in frame["items"]:
        assert row
        assert row == sorted(set(row))
        assert set(row) <= names


@pytest.mark.parametrize("mean_length", [1, 2.5, 6, 20])
def test_lengths_are_poisson_above_one(mean_length):
    lengths = lengths_of(make_baskets(20_000, 500, mean_length=mean_length, random_state=3))
    variance = mean_length - 1  # of 1 + Poisson(mean_length - 1)
    assert abs(lengths.mean() - mean_length) <= 5 * np.sqrt(variance / len(lengths))
    # The variance of a sample variance, for a Poisson distribution and many rows.
    assert abs(lengths.var() - variance) <= 5 * np.sqrt((variance + 2 * variance**2) / len(lengths))


def test_long_rows_are_cut_at_all_items():
    frame = make_baskets(2000, 3, mean_length=2, random_state=0)
    assert set(lengths_of(frame)) == {1, 2, 3}


def test_few_items_are_popular_and_all_occur():
    itemsets = Itemsets.from_series(make_baskets(20_000, 200, patterns=200, random_state=5)["items"])
    supports = np.sort(np.bincount(itemsets.codes))[::-1]
    assert itemsets.n_items == 200
    assert supports[:20].sum() > 0.35 * supports.sum()  # evenly popular items would give a tenth
    assert supports[100] < 0.2 * supports[10]


def test_some_items_go_together():
    # Against the same rows with the items dealt out anew, which keeps popularity and lengths.
    itemsets = Itemsets.from_series(make_baskets(20_000, 100, patterns=50, random_state=2)["items"])
    shuffled = np.random.default_rng(0).permutation(itemsets.codes)

    def largest_lift(codes):
        held = np.zeros((itemsets.n_rows, itemsets.n_items), np.float32)
        held[itemsets.rows, codes] = 1
        pairs, singles = held.T @ held, held.sum(axis=0)
        lift = pairs * itemsets.n_rows / np.outer(singles, singles)
        return lift[np.triu(pairs >= 200, 1)].max()

    assert largest_lift(itemsets.codes) > 3
    assert largest_lift(shuffled) < 2


def test_items_may_have_names():
    names = ["tea", "rice", "Äpfel", "p1"]
    frame = make_baskets(400, names, mean_length=2, random_state=0)
    assert set(frame["items"].explode()) == set(names)
    turned = make_baskets(400, names[::-1], mean_length=2, random_state=0)
    pd.testing.assert_frame_equal(frame, turned)


def test_numbers_of_many_items_have_equal_width():
    names = make_baskets(100, 20_000, random_state=0)["items"].explode()
    assert names.str.fullmatch("p[0-9]{5}").all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": -1}, "rows"),
        ({"rows": 2.0}, "rows"),
        ({"rows": True}, "rows"),
        ({"items": 0}, "items"),
        ({"items": []}, "items"),
        ({"items": [SECRET, SECRET, "b", "c"]}, "4 names, 3 distinct"),
        ({"patterns": 0}, "patterns"),
        ({"mean_length": 0.5}, "mean_length"),
        ({"mean_length": 51}, "at most 50"),
        ({"mean_length": float("nan")}, "mean_length"),
        ({"mean_length": "6"}, "mean_length"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message) as caught:
        make_baskets(**{"rows": 10, "items": 100, **arguments})
    assert SECRET not in str(caught.value)


def test_names_must_be_of_one_type():
    with pytest.raises(ItemsetDtypeError):
        make_baskets(10, ["a", 1, "b"], mean_length=1)


def test_script_makes_the_example_files(tmp_path):
    script = runpy.run_path(str(EXAMPLES / "make_examples.py"))
    committed = read_parquet(EXAMPLES / "baskets.parquet")
    pd.testing.assert_frame_equal(script["baskets"](), committed)
    pd.testing.assert_frame_equal(script["invoices"](), pd.read_csv(EXAMPLES / "invoices.csv"))
    pd.testing.assert_frame_equal(script["patients"](), read_parquet(EXAMPLES / "patients.parquet"))
    survey = pd.read_csv(EXAMPLES / "survey.csv", sep=";", encoding="latin-1")
    pd.testing.assert_frame_equal(script["survey"](), survey)
    script["hierarchy"]().to_csv(tmp_path / "hierarchy.csv")
    assert (tmp_path / "hierarchy.csv").read_bytes() == (EXAMPLES / "baskets_hierarchy.csv").read_bytes()


def test_invoices_are_lines_of_the_baskets():
    lines = pd.read_csv(EXAMPLES / "invoices.csv")
    of_lines = from_long(lines, by="customer", item="product", keep=["store"])
    of_lists = read_parquet(EXAMPLES / "baskets.parquet")

    def rows(frame):
        return sorted((store, *items) for store, items in frame.itertuples(index=False))

    assert rows(of_lines) == rows(of_lists)
    assert len(lines) > len(lines.drop_duplicates(["customer", "product"]))  # some were bought twice
    assert lines["date"].is_monotonic_increasing


def test_example_files_fit_each_other():
    items = Itemsets.from_series(read_parquet(EXAMPLES / "baskets.parquet")["items"]).texts()
    levels = pd.read_csv(EXAMPLES / "baskets_hierarchy.csv", sep=";", header=None)
    assert levels.shape == (60, 4)
    assert set(levels[0]) == set(items)
    assert levels[3].eq("*").all()
    # A name stands for one thing: no category is called like a product or a department.
    assert len({*levels[0], *levels[1], *levels[2]}) == 60 + levels[1].nunique() + levels[2].nunique()
    assert Hierarchy.of(EXAMPLES / "baskets_hierarchy.csv").n_leaves == 60
    assert (EXAMPLES / "baskets.parquet").stat().st_size < 100_000
    assert sum(file.stat().st_size for file in EXAMPLES.iterdir()) < 1_500_000


# --- public and private items


@settings(max_examples=examples(200))
@given(row_lists(least=1), st.sampled_from([0.2, 0.5, 0.8]), st.integers(0, 5))
def test_private_items_lead_a_row_among_those_that_are_not_public(rows, delta, seed):
    frame = frame_of(rows)
    before, items = frame.copy(), sorted(frozenset().union(*rows))
    drawn, private = draw_private(frame, delta=delta, random_state=seed)
    public = np.random.default_rng(seed).permutation(len(items))[: round(delta * len(items))]
    public = {items[place] for place in public}
    support = {item: sum(item in row for row in rows) for item in items}
    leading = {min(row - public, key=lambda item: (-support[item], item)) for row in rows if row - public}
    assert private == sorted(leading)
    assert rows_of(drawn) == [row & (public | leading) for row in rows]
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, "0.5", None, float("nan")])
def test_a_share_of_public_items_that_is_none(delta):
    with pytest.raises(ParameterError, match="delta must be above 0 and below 1") as caught:
        draw_private(frame_of([{SECRET}]), delta=delta)
    assert SECRET not in str(caught.value)
