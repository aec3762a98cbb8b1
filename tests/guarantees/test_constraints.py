"""Privacy constraints as data: what is listed, how it is drawn, and what satisfying it gives."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists, rows_of
from hypothesis import assume, given, settings, strategies as st
from naive import coat as naive_coat, itemsets as naive

import pdanon
from examples import examples
from pdanon.guarantees import constraints
from pdanon.guarantees.constraints import _distinct_places

ROWS = [frozenset(row) for row in ("abc", "ab", "bcd", "bcd", "d", "", "abcde")]


def sets_of(series):
    """The itemsets of a list of constraints, as tuples."""
    assert isinstance(series.dtype, pd.ArrowDtype)
    assert isinstance(series.index, pd.RangeIndex)
    return [tuple(each) for each in pa.array(series).to_pylist()]


# --- all itemsets


@pytest.mark.parametrize("algorithm", ["pcta", "coat", "upcta"])
@pytest.mark.parametrize("m", [1, 2, 3, None])
def test_all_itemsets_are_what_m_protects(algorithm, m):
    frame = frame_of(ROWS)
    every = constraints.all_itemsets(frame, m)
    run = getattr(frame.txanon, algorithm)
    result, expected = run(guarantee=pdanon.PrivacyConstraints(constraints=every, k=3)), run(k=3, m=m)
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    assert result.guarantee == expected.guarantee == pdanon.KmAnonymity(3, m)


@settings(max_examples=examples(40))
@given(row_lists(least=2), st.integers(2, 4), st.sampled_from([1, 2, 3]))
def test_all_itemsets_written_down_protect_the_same(rows, k, m):
    """Itemsets in no row included: a release that satisfies the written list is k^m-anonymous."""
    assume(sum(map(bool, rows)) >= k)
    items = sorted(frozenset().union(*rows))
    written = [each for size in range(1, m + 1) for each in combinations(items, size)]
    result = frame_of(rows).txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=written, k=k))
    assert naive.km_threats(rows_of(result.frame), k, m) == {}


def test_all_itemsets_list_nothing():
    frame = pd.DataFrame({"items": pdanon.as_itemsets([list(range(5000))] * 2)})
    every = constraints.all_itemsets(frame, 100)
    assert repr(every) == "AllItemsets(m=100, items=5000)"
    assert SECRET not in repr(constraints.all_itemsets(frame_of([{SECRET}]), 2))


def test_all_itemsets_are_a_guarantee_like_others(tmp_path):
    frame = frame_of(ROWS)
    asked = pdanon.PrivacyConstraints(constraints=constraints.all_itemsets(frame, 2), k=3)
    assert repr(asked) == "PrivacyConstraints(constraints=AllItemsets(m=2, items=5), k=3)"
    result = frame.txanon.anonymize(asked)
    assert result.guarantee == pdanon.KmAnonymity(3, 2)
    pdanon.to_parquet(result.frame, tmp_path / "released.parquet")
    named = result.frame.assign(id=range(len(ROWS)))
    for audit in (
        result.frame.txanon.audit(asked),
        asked.audit(result.frame),
        pdanon.stream.audit(tmp_path / "released.parquet", asked),
        named.txanon.after(named, key="id").audit(asked),
    ):
        assert audit.holds
    assert not asked.audit(frame).holds
    bounds = [frame.txanon.bound(each) for each in (asked, pdanon.KmAnonymity(3, 2))]
    assert repr(bounds[0]) == repr(bounds[1])


def test_all_itemsets_keep_their_mapping():
    """Suppression emptied one row, so an attacker who finds an empty row has found it."""
    frame = frame_of([{"a"}, {"a"}, {"a"}, set()])
    lines = {"group": 0, "item": ["a", "b"], "generalized": ["a", None], "support": [3, 1]}
    every = pdanon.PrivacyConstraints(constraints=constraints.all_itemsets(frame, 2), k=2)
    asked = every.with_mapping(pd.DataFrame(lines))
    for audit in (asked.audit(frame), frame.txanon.audit(asked)):
        assert (audit.holds, audit.rows_at_risk) == (False, 1)
    assert frame.txanon.audit(every).holds


@pytest.mark.parametrize("m", [0, -1, "2", True, 1.5])
def test_all_itemsets_of_no_size(m):
    with pytest.raises(pdanon.ParameterError, match="m must be an integer"):
        constraints.all_itemsets(frame_of(ROWS), m)


# --- complete k-anonymity


@settings(max_examples=examples(60))
@given(row_lists(longest=6, most=12), st.integers(2, 5))
def test_pgen_lists_the_largest_rare_rows(rows, k):
    listed = sets_of(constraints.pgen(frame_of(rows), k))
    assert {frozenset(each) for each in listed} == naive_coat.maximal_rare_rows(rows, k)
    assert listed == sorted(set(listed), key=lambda each: (-len(each), each))


@pytest.mark.parametrize("algorithm", ["pcta", "coat", "upcta"])
@settings(max_examples=examples(30))
@given(rows=row_lists(least=2, longest=6, most=12), k=st.integers(2, 4))
def test_pgen_gives_complete_k_anonymity(algorithm, rows, k):
    """Whatever is merged or suppressed for them: every row that is published is in k rows."""
    assume(sum(map(bool, rows)) >= k)
    frame = frame_of(rows)
    listed = constraints.pgen(frame, k)
    assume(len(listed))
    blocks = [list(block) for block in ("ab", "cd", "ef")]
    asked = {} if algorithm == "pcta" else {"utility": blocks, "max_suppressed": 1.0}
    result = getattr(frame.txanon, algorithm)(
        guarantee=pdanon.PrivacyConstraints(constraints=listed, k=k), **asked
    )
    assert naive.km_threats(rows_of(result.frame), k, None) == {}
    assert result.frame.txanon.audit(pdanon.KmAnonymity(k, m=None)).holds


@pytest.mark.slow
def test_pgen_of_real_rows(data):
    frame = pdanon.read_parquet(data / "bms_webview1.parquet")
    listed = constraints.pgen(frame, 5)
    result = frame.txanon.coat(guarantee=pdanon.PrivacyConstraints(constraints=listed, k=5))
    assert result.frame.txanon.audit(pdanon.KmAnonymity(5, m=None)).holds
    copies = Counter(
        map(tuple, map(sorted, rows_of(frame, frame.columns[pdanon.itemsets.columns.find_column(frame)])))
    )
    assert all(copies[each] < 5 for each in sets_of(listed))


def test_pgen_of_rows_of_which_none_is_rare():
    assert len(constraints.pgen(frame_of([{"a"}, {"a"}, set(), None]), 2)) == 0
    assert len(constraints.pgen(frame_of([]), 2)) == 0


def test_pgen_keeps_the_type_of_the_items():
    frame = pd.DataFrame({"items": pdanon.as_itemsets([[1, 10], [1, 9]])})
    listed = constraints.pgen(frame, 2)
    assert sets_of(listed) == [(1, 9), (1, 10)]
    assert frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=listed, k=2)).guarantee.k == 2


@pytest.mark.parametrize("k", [1, True, "3", None])
def test_pgen_of_no_k(k):
    with pytest.raises(pdanon.ParameterError, match="k must be an integer"):
        constraints.pgen(frame_of(ROWS), k)


# --- pairs


@pytest.mark.parametrize(
    ("share", "n_items"), [(0.02, 2), (0.05, 5), (0.1, 10), (0.5, 50), (1, 100), (0.024, 2)]
)
def test_pairs_are_all_pairs_of_a_share_of_the_items(share, n_items):
    frame = pd.DataFrame({"items": pdanon.as_itemsets([[item] for item in range(100)])})
    listed = sets_of(constraints.pairs(frame, share, random_state=0))
    items = sorted({item for pair in listed for item in pair})
    assert len(items) == n_items
    assert listed == list(combinations(items, 2))


def test_pairs_are_drawn_evenly_and_again():
    frame = frame_of([set("abcdefgh")])
    drawn = [sets_of(constraints.pairs(frame, 0.25, random_state=seed))[0] for seed in range(300)]
    assert drawn[:3] == [sets_of(constraints.pairs(frame, 0.25, random_state=seed))[0] for seed in range(3)]
    counts = Counter(drawn)
    assert len(counts) == 28  # all pairs of eight items, about 11 times each
    assert max(counts.values()) < 30


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "half", None, True])
def test_pairs_of_no_share(share):
    with pytest.raises(pdanon.ParameterError, match=r"share must be a number in \[0, 1\]"):
        constraints.pairs(frame_of(ROWS), share)


def test_pairs_of_too_few_items():
    with pytest.raises(pdanon.ParameterError, match="1 of 5 items"):
        constraints.pairs(frame_of(ROWS), 0.2)


# --- random itemsets


@settings(max_examples=examples(40))
@given(row_lists(least=1, longest=6), st.integers(1, 4), st.integers(0, 2**32), st.data())
def test_random_itemsets_are_distinct_and_occur(rows, size, seed, data):
    occurring = {chosen for row in rows if len(row) >= size for chosen in combinations(sorted(row), size)}
    assume(occurring)
    count = data.draw(st.integers(1, len(occurring)))
    listed = sets_of(constraints.random(frame_of(rows), count, size, random_state=seed))
    assert len(listed) == len(set(listed)) == count
    assert set(listed) <= occurring
    assert listed == sets_of(constraints.random(frame_of(rows), count, size, random_state=seed))
    with pytest.raises(pdanon.ParameterError, match=f"{len(occurring)} of {len(occurring) + 1} itemsets"):
        constraints.random(frame_of(rows), len(occurring) + 1, size, random_state=seed)


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        ({1: 33, 2: 33, 3: 33, 4: 1}, [330, 330, 330, 10]),  # PR6 to PR9 of the PCTA paper
        ({1: 30, 2: 30, 3: 30, 4: 10}, [300, 300, 300, 100]),
        ({1: 25, 2: 25, 3: 25, 4: 25}, [250, 250, 250, 250]),
        ({4: 50, 3: 16.7, 2: 16.7, 1: 16.7}, [167, 167, 167, 499]),
        ({1: 0, 3: 0.1, 2: 0}, [0, 0, 1000]),
        (3, [0, 0, 1000]),
    ],
)
def test_proportions_of_sizes(sizes, counts):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"items": pdanon.as_itemsets([rng.integers(0, 1000, 8) for _ in range(2000)])})
    lengths = [len(each) for each in sets_of(constraints.random(frame, 1000, sizes, random_state=1))]
    assert lengths == sorted(lengths)
    assert [lengths.count(size) for size in range(1, len(counts) + 1)] == counts


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_itemsets_of_a_row_are_equally_likely(size):
    places = _distinct_places(np.full(60_000, 5), size, np.random.default_rng(0))
    drawn = Counter(map(tuple, np.sort(places, axis=1).tolist()))
    expected = 60_000 / comb(5, size)
    assert set(drawn) == set(combinations(range(5), size))
    assert all(abs(count - expected) < 5 * expected**0.5 for count in drawn.values())


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"count": 0}, "count must be an integer of at least 1"),
        ({"count": "5"}, "count must be an integer of at least 1"),
        ({"count": 5, "sizes": 0}, "sizes must be an integer of at least 1"),
        ({"count": 5, "sizes": {1.5: 1}}, "sizes must be an integer of at least 1"),
        ({"count": 5, "sizes": {1: -1, 2: 2}}, "proportions must be finite numbers of at least 0"),
        ({"count": 5, "sizes": {1: float("nan")}}, "proportions must be finite numbers of at least 0"),
        ({"count": 5, "sizes": {1: float("inf")}}, "proportions must be finite numbers of at least 0"),
        ({"count": 5, "sizes": {1: 0.0}}, "no proportion is above 0"),
        ({"count": 5, "sizes": {}}, "no proportion is above 0"),
        ({"count": 1, "sizes": 6}, "0 of 1 itemsets of 6 items"),
    ],
)
def test_random_itemsets_that_cannot_be(asked, told):
    with pytest.raises(pdanon.ParameterError, match=told):
        constraints.random(frame_of(ROWS), **asked)


# --- subsets


@settings(max_examples=examples(60))
@given(st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), min_size=1, max_size=6))
def test_subsets_are_added_once(listed):
    expected = {
        frozenset(chosen)
        for each in listed
        for size in range(1, len(each) + 1)
        for chosen in combinations(sorted(each), size)
    }
    closed = constraints.with_subsets([sorted(each) for each in listed])
    assert sets_of(closed) == naive.by_size(expected)
    assert sets_of(constraints.with_subsets(closed)) == sets_of(closed)


def test_subsets_of_large_itemsets_are_refused():
    assert len(constraints.with_subsets([list(range(16))])) == 2**16 - 1
    with pytest.raises(pdanon.ParameterError, match="2 such constraints, of up to 40 items"):
        constraints.with_subsets([[1], list(range(17)), list(range(40))])


# --- forms, files


def test_a_path_is_that_of_a_parquet_file_with_one_list_column(tmp_path):
    frame = frame_of(ROWS)
    listed = constraints.pgen(frame, 2)
    pdanon.to_parquet(
        pd.DataFrame({"note": range(len(listed)), "itemset": listed}), tmp_path / "rules.parquet"
    )
    expected = frame.txanon.coat(guarantee=pdanon.PrivacyConstraints(constraints=listed, k=2))
    for path in (tmp_path / "rules.parquet", str(tmp_path / "rules.parquet")):
        result = frame.txanon.coat(guarantee=pdanon.PrivacyConstraints(constraints=path, k=2))
        pd.testing.assert_frame_equal(result.mapping, expected.mapping)
        assert repr(result.guarantee) == f"PrivacyConstraints(constraints={len(listed)}, k=2)"


def test_constraints_of_a_csv_file(tmp_path):
    """An itemset a line, an item a field; after a byte order mark, and whatever the case of the suffix."""
    frame = frame_of(ROWS)
    listed = constraints.pgen(frame, 2)
    expected = frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=listed, k=2))
    with open(tmp_path / "lines.csv", "w", newline="") as file:
        csv.writer(file).writerows([[*row] for row in listed] + [[]])
    by_line = frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "lines.csv", k=2))
    pd.testing.assert_frame_equal(by_line.mapping, expected.mapping)
    assert repr(by_line.guarantee) == f"PrivacyConstraints(constraints={len(listed)}, k=2)"
    marked = b"\xef\xbb\xbf" + (tmp_path / "lines.csv").read_bytes()
    (tmp_path / "marked.CSV").write_bytes(marked)
    by_line = frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "marked.CSV", k=2))
    pd.testing.assert_frame_equal(by_line.mapping, expected.mapping)


@pytest.mark.parametrize("algorithm", ["pcta", "coat"])
def test_a_csv_file_written_like_the_data_is_refused(tmp_path, algorithm):
    frame = frame_of([{SECRET, "a"}, {SECRET}, {"a"}])
    path = tmp_path / "rules.csv"
    pdanon.to_csv(frame, path, separator="|")
    for column in (None, "items"):
        with pytest.raises(pdanon.ParameterError, match=r"does not occur(.|\n)*no header") as caught:
            getattr(frame.txanon, algorithm)(
                column, guarantee=pdanon.PrivacyConstraints(constraints=path, k=2)
            )
        assert "one itemset per line, one item per field" in str(caught.value)
        assert SECRET not in str(caught.value)
    read = pdanon.read_csv(path, column="items", separator="|")["items"]
    assert (
        getattr(frame.txanon, algorithm)(
            guarantee=pdanon.PrivacyConstraints(constraints=read, k=2)
        ).guarantee.k
        == 2
    )


def test_fields_with_commas_and_numbers_are_items(tmp_path):
    (tmp_path / "rules.csv").write_text('"a,b",c\n')
    frame = frame_of([{"a,b", "c"}, {"a,b"}, {"a,b"}, {"c"}, {"c"}])
    assert (
        frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "rules.csv", k=2)).loss[
            "NCP"
        ]
        > 0
    )
    (tmp_path / "rules.csv").write_text("1,2\n")
    frame = pd.DataFrame({"items": [[1, 2], [1], [1], [2], [2]]})
    assert (
        frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "rules.csv", k=2)).loss[
            "NCP"
        ]
        > 0
    )


@pytest.mark.parametrize("written", [None, b"\xff\xfe,\n", b'"secret,\n'])
def test_csv_files_that_cannot_be_read(tmp_path, written):
    if written is not None:
        (tmp_path / "rules.csv").write_bytes(written)
    with pytest.raises(pdanon.FormatError, match="cannot be read as CSV") as caught:
        frame_of(ROWS).txanon.pcta(
            guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "rules.csv", k=2)
        )
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_files_that_hold_no_constraints(tmp_path):
    frame = frame_of(ROWS)
    with pytest.raises(pdanon.FormatError, match="cannot be read as Parquet"):
        frame.txanon.coat(guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "missing.parquet", k=2))
    (tmp_path / "text.parquet").write_text(SECRET)
    with pytest.raises(pdanon.FormatError) as caught:
        frame.txanon.coat(guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "text.parquet", k=2))
    assert SECRET not in str(caught.value)
    pdanon.to_parquet(pd.DataFrame({"x": [1]}), tmp_path / "flat.parquet")
    with pytest.raises(pdanon.ColumnError):
        frame.txanon.coat(guarantee=pdanon.PrivacyConstraints(constraints=tmp_path / "flat.parquet", k=2))


@pytest.mark.parametrize("algorithm", ["pcta", "coat", "upcta"])
def test_constraints_are_read_once(algorithm):
    frame = frame_of(ROWS)
    run = getattr(frame.txanon, algorithm)
    expected = run(guarantee=pdanon.PrivacyConstraints(constraints=[["a"], ["d", "e"]], k=3))
    result = run(guarantee=pdanon.PrivacyConstraints(constraints=iter([{"a"}, ("e", "d")]), k=3))
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    assert sets_of(result.parameters["constraints"]) == [("a",), ("d", "e")]


@pytest.mark.parametrize(
    "make", [constraints.all_itemsets, constraints.pgen, constraints.pairs, constraints.random]
)
def test_the_column_may_be_named(make):
    frame = frame_of(ROWS).assign(more=pdanon.as_itemsets([["x", "y"]] * len(ROWS)))
    number = {"pairs": 1.0, "random": 1}.get(make.__name__, 2)
    with pytest.raises(pdanon.ColumnError, match="several list-valued columns"):
        make(frame, number)
    made = make(frame, number, column="more")
    assert made.items.to_pylist() == ["x", "y"] if make is constraints.all_itemsets else len(made) <= 1
