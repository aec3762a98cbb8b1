"""Items of classes by local suppression: each row keeps some of its items, and none is rare in a class."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from conftest import rows_of
from hypothesis import given, settings, strategies as st
from naive import rt as naive
from test_rt import OWN, QUASI, datasets, frame_with, many_rows, published, run, two_columns

import pdanon
import pdanon.dask
from examples import examples
from pdanon import ParameterError
from pdanon.recoding.counts import class_sizes

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")  # of the other columns

PATIENTS = {"k": 5, "m": 2, "quasi": ["age", "sex", "district"], "delta": 0.5, "random_state": 0}


def deleting(name="rum_bound", frame=None, **asked):
    return run(name, many_rows() if frame is None else frame, transaction="local_suppression", **asked)


@pytest.fixture(scope="module")
def patients(request):
    return pdanon.read_parquet(request.config.rootpath / "examples" / "patients.parquet")


@pytest.mark.parametrize("name", sorted(OWN))
@settings(max_examples=examples(60))
@given(datasets(), st.integers(2, 3), st.none() | st.integers(1, 3))
def test_each_row_keeps_a_part_and_no_class_has_a_rare_itemset(name, rows, k, m):
    frame = frame_with(rows)
    result = deleting(name, frame, k=k, m=m)
    shown = rows_of(result.frame)
    assert all(after <= before for before, after in zip(rows_of(frame), shown, strict=True))
    assert not any(naive.kkm_broken(published(result.frame), k, m))
    lost = [before - after for before, after in zip(rows_of(frame), shown, strict=True)]
    # Rows of a group are of one class, and lose the same.
    cells = [cell for cell, _ in published(result.frame)]
    for _, members in pd.Series(range(len(frame))).groupby(result.groups.to_numpy()):
        assert len({(cells[row], lost[row]) for row in members}) == 1


@pytest.mark.parametrize("name", sorted(OWN))
@settings(max_examples=examples(60))
@given(datasets(least=4, items="uvwxst"), st.integers(2, 3), st.none() | st.integers(1, 3))
def test_sensitive_items_are_kept_where_a_class_can_hide_them(name, rows, diversity, m):
    frame = frame_with(rows)
    secret = frozenset("st") & frozenset().union(*rows_of(frame))
    if not secret:
        return
    result = deleting(name, frame, m=m, sensitive=sorted(secret), l=diversity)
    assert result.guarantee == pdanon.KLm(k=2, l=diversity, m=m, quasi=QUASI, sensitive=sorted(secret))
    before, after = rows_of(frame), rows_of(result.frame)
    assert all(now <= row for row, now in zip(before, after, strict=True))
    assert not any(naive.klm_broken(published(result.frame), 2, diversity, m, secret))
    cells = [cell for cell, _ in published(result.frame)]
    for item in secret:
        for cell in {cell for cell, row in zip(cells, after, strict=True) if item in row}:
            assert sum(
                item in row for own, row in zip(cells, after, strict=True) if own == cell
            ) * diversity <= (cells.count(cell))
    for group in {*result.groups}:
        members = [row for row, own in enumerate(result.groups) if own == group]
        for item in secret:
            shown = [row for row in members if item in after[row]]
            assert shown in ([], [row for row in members if item in before[row]])


def test_deletions_break_up_what_tells_a_sensitive_item():
    """Of seven rows with a, four have s. These lose a, and keep s."""
    frame = pd.DataFrame({"age": [30] * 15, "items": [["a", "s"]] * 4 + [["a"]] * 3 + [["b"]] * 8})
    items = pdanon.Transaction("local_suppression", sensitive=["s"], l=2)
    result = pdanon.rfirst(frame, k=3, m=2, quasi=["age"], transaction=items)
    assert rows_of(result.frame) == [{"s"}] * 4 + [{"a"}] * 3 + [{"b"}] * 8


def test_items_keep_their_type_and_names():
    frame = pd.DataFrame({"age": [1, 1, 2, 2], "items": [[1, 2], [1, 3], [1, 2], [2]]})
    result = pdanon.rfirst(frame, k=2, m=2, quasi=["age"], transaction="local_suppression")
    assert [*map(list, result.frame["items"])] == [[1], [1], [2], [2]]
    assert result.mapping["generalized"].dtype == result.mapping["item"].dtype
    assert class_sizes(result.classes).tolist() == [2, 2]  # though each row is a group of its own
    assert result.classes["size"].tolist() == [1, 1, 1, 1]


def test_items_of_two_columns_form_one_transaction():
    frame = two_columns()
    items = pdanon.Transaction("local_suppression", columns=["items", "drugs"])
    result = pdanon.rfirst(frame, k=3, m=2, quasi=QUASI, transaction=items, random_state=0)
    rows = [
        (quasi, {("items", item) for item in items} | {("drugs", item) for item in drugs})
        for (quasi, items), drugs in zip(published(result.frame), rows_of(result.frame, "drugs"), strict=True)
    ]
    assert not any(naive.kkm_broken(rows, 3, 2))
    for column in ("items", "drugs"):
        pairs = zip(rows_of(frame, column), rows_of(result.frame, column), strict=True)
        assert all(after <= before for before, after in pairs)


@pytest.mark.parametrize(("cheap", "dear"), ["ab", "ba"])
def test_the_cheaper_item_of_a_rare_pair_is_deleted(cheap, dear):
    frame = pd.DataFrame({"age": [30] * 12, "items": [["a", "b"]] * 2 + [["a"]] * 5 + [["b"]] * 5})
    items = pdanon.Transaction("local_suppression", options={"weights": {cheap: 0.5}})
    result = pdanon.rfirst(frame, k=5, m=2, quasi=["age"], transaction=items)
    assert rows_of(result.frame) == [{dear}] * 2 + [{"a"}] * 5 + [{"b"}] * 5


def test_files_and_partitions_release_what_frames_release(tmp_path):
    frame = many_rows().reset_index(drop=True).drop(columns="other").dropna()
    frame.attrs = {}
    source = tmp_path / "source.parquet"
    asked = {"k": 4, "m": 2, "quasi": QUASI, "delta": 0.7, "random_state": 0}
    frame.to_parquet(source)
    whole = pdanon.rum_bound(frame, transaction="local_suppression", **asked)
    assert whole.mapping["generalized"].isna().any()
    target, mapping = tmp_path / "target.parquet", tmp_path / "mapping.parquet"
    pdanon.stream.rum_bound(source, target, mapping=mapping, transaction="local_suppression", **asked)
    assert rows_of(pdanon.read_parquet(target)) == rows_of(whole.frame)
    pd.testing.assert_frame_equal(pd.read_parquet(mapping), whole.mapping, check_dtype=False)
    partitions = dd.from_pandas(frame, npartitions=3)
    lazy = partitions.txanon.rum_bound(transaction="local_suppression", **asked)
    assert rows_of(lazy.frame.compute()) == rows_of(whole.frame)


def test_it_is_explained_and_attacked_row_by_row():
    frame = many_rows()
    result = deleting(frame=frame, k=4, delta=0.7)
    assert result.loss["suppressed"] > 0
    shown = rows_of(result.frame)
    for item in "uvwxyz":
        held = np.array([item in row for row in rows_of(frame)])
        kept = np.array([item in row for row in shown])
        kinds = ([item] if kept.any() else []) + ([None] if (held & ~kept).any() else [])
        became = result.explain(item, original=frame).became
        assert {*became} == {*kinds} if isinstance(became, tuple) else [became] == kinds
    assert pdanon.attack(frame, result, m=2, n=300).fewest >= 4


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ParameterError, match=r'cannot hide sensitive items(?s:.)*hint:  use "pcta"'):
        pdanon.Transaction("lra", hierarchy=2, sensitive=["u"], l=2)
    with pytest.raises(ParameterError, match="takes no hierarchy"):
        pdanon.Transaction("local_suppression", hierarchy={"any": list("uvwxyz")})
    frame = many_rows()
    with pytest.raises(ParameterError, match="recoded by local_suppression cannot be refined"):
        pdanon.refine(frame, deleting(frame=frame))


@pytest.mark.parametrize("seed", range(2))
def test_patients_lose_at_most_36_percent_where_sets_change_half(patients, seed):
    """In the same classes."""
    asked = PATIENTS | {"random_state": seed}
    sets, deletions = (
        patients.txanon.rum_bound(**asked, transaction=each) for each in ("pcta", "local_suppression")
    )
    quasi = [*PATIENTS["quasi"]]
    pd.testing.assert_frame_equal(deletions.frame[quasi], sets.frame[quasi])
    assert deletions.loss["occurrences"] <= 0.36 < 0.5 < sets.loss["occurrences"]


@pytest.mark.slow
def test_anonymize_tries_it_where_occurrences_count(patients):
    asked = {"k": 5, "m": 2, "quasi": PATIENTS["quasi"], "time_limit": 600}
    result = patients.txanon.anonymize(**asked, loss="occurrences")
    assert result.parameters["transaction"].algorithm == "local_suppression"
    assert result.loss["occurrences"] <= 0.36
    default = patients.txanon.anonymize(**asked)
    assert default.parameters["transaction"].algorithm == "pcta"
