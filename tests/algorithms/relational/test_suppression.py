"""Suppressed rows say nothing, are k or none, and no more than allowed; the release loses less with them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from families import RELATIONAL
from hypothesis import given, settings, strategies as st
from naive import relational as naive
from test_formations import RANDOM, frame_of, hierarchies_of, released, tables

import pdanon
from examples import examples

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")  # of the other columns

algorithms = pytest.mark.parametrize("name", RELATIONAL)
FAST = ("mondrian", "incognito")  # of which properties are always tried


def names(left_out=()):
    """The algorithms, of which some are slow where many tables are tried."""
    slow = [pytest.mark.slow]
    chosen = [name for name in RELATIONAL if name not in left_out]
    return [pytest.param(name, marks=[] if name in FAST else slow) for name in chosen]


def run(name, frame, **asked):
    arguments = {"k": 2, "quasi": [*frame]} | ({"random_state": 0} if name in RANDOM else {}) | asked
    return RELATIONAL[name](frame, **arguments)


@pytest.mark.parametrize("name", names())
@settings(max_examples=examples(40))
@given(table=tables(), k=st.integers(2, 4), share=st.sampled_from([0.2, 0.5, 1.0]))
def test_any_table(name, table, k, share):
    kinds, rows = table
    k = min(k, len(rows))
    frame = frame_of(kinds, rows)
    quasi = dict.fromkeys(frame) | hierarchies_of(kinds)
    result = run(name, frame, k=k, quasi=quasi, max_suppressed=share)
    without = run(name, frame, k=k, quasi=quasi)
    # The guarantee, recounted; what is suppressed is a class of its own, or of k rows and more.
    published = released(result.frame)
    assert naive.smallest(published) >= k
    assert result.frame.pipe(pdanon.audit, result.guarantee).holds
    count = round(result.loss["suppressed_rows"] * len(rows))
    assert count == 0 or k <= count <= Fraction(str(share)) * len(rows)
    # What nothing is published of looks like all of each column.
    oracle = naive.Table(rows, kinds)
    nothing = tuple(column.whole_text for column in oracle.columns)
    assert published.count(nothing) >= count
    # The loss never grows, and is that of what is published.
    assert result.loss["NCP_relational"] <= without.loss["NCP_relational"]
    if count == 0:
        assert result.loss["NCP_relational"] == without.loss["NCP_relational"]
    if name in ("cluster", "k_member", "mondrian"):
        groups = [np.flatnonzero(result.groups == group).tolist() for group in result.classes["group"]]
        others = [each for each in groups if published[each[0]] != nothing]
        whole = sum(column.whole for column in oracle.columns)
        lost = sum(oracle.penalty(each) * len(each) for each in others) + published.count(nothing) * whole
        assert result.loss["NCP_relational"] == pytest.approx(float(lost) / len(rows) / len(kinds))


@pytest.mark.parametrize("name", names(RANDOM))
@settings(max_examples=examples(20))
@given(table=tables(), seed=st.integers(0, 5))
def test_the_order_of_rows_does_not_matter(name, table, seed):
    kinds, rows = table
    frame = frame_of(kinds, rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    asked = {"quasi": dict.fromkeys(frame) | hierarchies_of(kinds), "max_suppressed": 0.4}
    whole = run(name, frame, **asked).frame
    pd.testing.assert_frame_equal(run(name, frame.iloc[order], **asked).frame, whole.iloc[order])


@settings(max_examples=examples(40))
@given(table=tables(), k=st.integers(2, 4), share=st.sampled_from([0, 0.3, 1]))
def test_full_subtree_loses_no_more_than_incognito(table, k, share):
    """The levels of all columns are among its recodings."""
    kinds, rows = table
    frame = frame_of(kinds, rows)
    quasi = dict.fromkeys(frame) | hierarchies_of(kinds)
    asked = {"k": min(k, len(rows)), "quasi": quasi, "max_suppressed": share}
    losses = [run(name, frame, **asked).loss.iloc[0] for name in ("full_subtree", "incognito")]
    assert losses[0] <= losses[1]


def test_full_subtree_hides_the_last_row_that_may_not_be_suppressed():
    """All towns become A, and u and v become U: 8 of 10 values lose half. To hide all streets loses 1/2."""
    frame = pd.DataFrame({"town": [*"abbab"], "street": [*"uxvvx"]})
    trees = {
        "town": {"*": {"A": ["a", "b"], "B": ["c", "d"]}},
        "street": {"*": {"U": ["u", "v"], "W": ["w", "x"]}},
    }
    result = run("full_subtree", frame, quasi=trees)
    assert [*result.frame.agg("".join, axis=1)] == ["AU", "Ax", "AU", "AU", "Ax"]
    assert result.loss["NCP_relational"] == pytest.approx(0.4)


@pytest.mark.parametrize("name", ["top_down", "incognito", "full_subtree"])
def test_outliers_are_suppressed(name):
    """Ten towns of ten rows each, and six of one, for which all towns would become one set."""
    frame = pd.DataFrame({"town": [f"town {i // 10}" for i in range(100)] + [*"abcdef"]})
    for k in (5, 6):
        result = run(name, frame, k=k, max_suppressed=6 / 106)
        everything = f"({','.join(sorted(set(frame['town'])))})"
        assert result.frame["town"].tolist() == [*frame["town"][:100], *[everything] * 6]
        assert result.loss.to_dict() == {"NCP_relational": 6 / 106, "suppressed_rows": 6 / 106}
        assert result.classes["size"].tolist() == [10] * 10 + [6]
    # The six, and a whole town with them where they are fewer than k.
    result = run(name, frame, k=7, max_suppressed=16 / 106)
    assert result.classes["size"].tolist() == [16] + [10] * 9
    # All that are in small classes, or none; and none if k are more than allowed.
    for k, fewer in [(5, 5 / 106), (6, 5 / 106), (7, 15 / 106), (11, 10 / 106), (5, 0)]:
        kept = run(name, frame, k=k, max_suppressed=fewer)
        assert kept.loss.get("suppressed_rows", 0) == 0
        assert kept.loss["NCP_relational"] == 1


def test_rows_that_widen_their_class_are_suppressed():
    """Two boxes of twelve rows that age and sex part; in each, two rows from elsewhere."""
    frame = pd.DataFrame(
        {
            "age": [20] * 12 + [80] * 12,
            "sex": ["f"] * 12 + ["m"] * 12,
            "town": [*["a"] * 10, "x", "y", *["b"] * 10, "v", "w"],
        }
    )
    asked = {"k": 4, "quasi": dict.fromkeys(frame) | {"town": {"*": [*"abvwxy"]}}}
    assert run("mondrian", frame, **asked).loss["NCP_relational"] == pytest.approx(1 / 3)
    result = run("mondrian", frame, max_suppressed=4 / 24, **asked)
    assert result.groups.tolist() == [*[0] * 10, 1, 1, *[2] * 10, 1, 1]
    assert result.frame.loc[[10, 11, 22, 23], "town"].tolist() == ["*"] * 4
    assert result.loss.to_dict() == {"NCP_relational": 4 / 24, "suppressed_rows": 4 / 24}
    assert run("mondrian", frame, max_suppressed=3 / 24, **asked).loss["suppressed_rows"] == 0  # fewer than k


def test_suppressed_values_look_like_all_of_a_column():
    frame = pd.DataFrame(
        {
            "age": [1, 1, 1, 9, 8],
            "stage": pd.Categorical(["i", "i", "i", "ii", "iv"], ["i", "ii", "iii", "iv", "v"], ordered=True),
            "origin": ["Spain", "Spain", "Spain", "France", "Greece"],
            "sex": ["m", "m", "m", "f", "x"],
        }
    )
    tree = {"*": {"Europe": ["Spain", "France", "Greece"], "Africa": ["Mali"]}}
    result = pdanon.incognito(frame, k=2, quasi={**dict.fromkeys(frame), "origin": tree}, max_suppressed=0.4)
    nothing = pd.Interval(1, 9, closed="both"), "i .. v", "*", "(f,m,x)"
    assert [*result.frame.itertuples(index=False, name=None)] == [
        *[(pd.Interval(1, 1, closed="both"), "i", "Spain", "m")] * 3,
        *[nothing] * 2,
    ]
    assert result.loss.to_dict() == {"NCP_relational": 0.4, "suppressed_rows": 0.4}
    assert result.parameters["max_suppressed"] == 0.4


@algorithms
@pytest.mark.parametrize("share", [-0.1, 1.1, "0.1", None, True, np.nan])
def test_a_share_is_between_0_and_1(name, share):
    with pytest.raises(pdanon.errors.ParameterError, match=r"max_suppressed must be a number in \[0, 1\]"):
        run(name, pd.DataFrame({"q": [1, 2, 3]}), max_suppressed=share)


def test_a_table_without_rows():
    for name in RELATIONAL:
        result = run(name, pd.DataFrame({"q": np.array([], np.int64)}), max_suppressed=0.5)
        assert result.loss.tolist() == [0, 0]


def test_policies_and_comparisons_take_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    towns = [f"town {i // 10}" for i in range(100)] + [*"abcdef"]
    frame = pd.DataFrame({"town": towns, "items": [["x"]] * 106})
    frame.to_parquet("towns.parquet")
    Path("policy.toml").write_text(
        'input = "towns.parquet"\nalgorithm = "top_down"\n'
        "[parameters]\nk = 5\nmax_suppressed = 0.06\n"
        '[columns]\nquasi = ["town"]\nkeep = ["items"]\n'
        '[outputs]\nrelease = "out.parquet"\n'
    )
    result = pdanon.Policy.from_toml("policy.toml").run()
    assert result.loss.to_dict() == {"NCP_relational": 6 / 106, "suppressed_rows": 6 / 106}
    table = pdanon.compare(
        frame, {"incognito": {"quasi": ["town"], "max_suppressed": 0.06}}, vary={"k": [5]}, column="items"
    )
    assert table["suppressed_rows"].tolist() == [6 / 106]


@pytest.mark.slow
@pytest.mark.parametrize("name", RELATIONAL)
def test_adult(name, data):
    path = data / "adult_arx_relational.parquet"
    if not path.is_file():
        pytest.skip("no adult_arx_relational")
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    frame = pq.read_table(path, columns=quasi).to_pandas()
    trees = {column: data / "hierarchies" / f"adult_hierarchy_{column}.csv" for column in quasi}
    rows = frame if name not in RANDOM else frame.iloc[:5000]
    asked = {"k": 10, "quasi": {**dict.fromkeys(quasi), **trees}}
    without = run(name, rows, **asked).loss["NCP_relational"]
    result = run(name, rows, max_suppressed=0.05, **asked)
    sizes = result.frame[quasi].astype(str).value_counts()
    assert sizes.min() >= 10
    assert result.loss["suppressed_rows"] <= 0.05
    if name in RANDOM:  # their clusters have no row to spare
        assert result.loss["NCP_relational"] <= without
    else:
        assert result.loss["NCP_relational"] < without * (0.9 if name == "mondrian" else 0.5)
