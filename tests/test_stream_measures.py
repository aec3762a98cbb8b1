"""Measures of files: those of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of, rows_of
from hypothesis import given, strategies as st

import pdanon
from pdanon import ColumnError, FormatError, ParameterError, stream

ROWS = [{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}, set(), {"a", "b", "c", "d"}] * 4
PARTS = st.lists(st.lists(st.none() | st.sets(st.sampled_from("abcdef"), max_size=4), max_size=8), min_size=1)


def write_parts(directory, parts):
    """Files with a column of numbers and a column of lists; return all rows as one frame."""
    frames = [frame_of(rows).assign(age=np.arange(len(rows)) % 3) for rows in parts]
    directory.mkdir()
    for number, frame in enumerate(frames):
        pdanon.to_parquet(frame, directory / f"{number}.parquet")
    return pd.concat(frames, ignore_index=True)


@pytest.mark.slow
@given(parts=PARTS, k=st.integers(2, 5), m=st.integers(1, 3))
def test_risk_and_profile_are_those_of_one_table(tmp_path_factory, parts, k, m):
    directory = tmp_path_factory.mktemp("parts") / "in"
    frame = write_parts(directory, [*parts, [{"a"}]])
    pd.testing.assert_frame_equal(stream.risk(directory, k=k, m=m), pdanon.risk(frame, k=k, m=m))
    streamed, whole = stream.profile(directory, k=k, m=m), pdanon.profile(frame, k=k, m=m)
    compared = [name for name in whole.counts.index if name != "repeated rows"]
    assert streamed.counts[compared].tolist() == whole.counts[compared].tolist()
    np.testing.assert_allclose(streamed.lengths, whole.lengths)
    for name in ("supports", "risk"):
        pd.testing.assert_frame_equal(getattr(streamed, name), getattr(whole, name))
    # Of equally frequent items, the order follows the numbers of the items.
    counts = [sorted(each.frequent["rows"], reverse=True) for each in (streamed, whole)]
    assert counts[0] == counts[1]


def test_other_columns_are_counted_in_the_first_rows(tmp_path, monkeypatch):
    frame = write_parts(tmp_path / "in", [ROWS, ROWS])
    monkeypatch.setattr("pdanon.stream.streamed.SAMPLE", 21)
    found = stream.profile(tmp_path / "in", k=9)
    first = pdanon.profile(frame.head(21), k=9)
    pd.testing.assert_frame_equal(found.columns, first.columns)
    assert found.unmodified == first.unmodified
    assert int(found.counts["rows"]) == 2 * len(ROWS)
    assert "columns    age (counted in the first 21 rows)" in repr(found)
    assert "In all 48 rows, the shares may be lower" in repr(found)


@pytest.mark.parametrize("algorithm", ["pcta", "hghs"])
def test_attacks_find_what_a_naive_search_finds(tmp_path, algorithm):
    frame = write_parts(tmp_path / "in", [ROWS, ROWS[:7]])
    more = {"hierarchy": 2} if algorithm == "hghs" else {}
    made = getattr(stream, algorithm)(tmp_path / "in", tmp_path / "out", k=3, m=2, **more)
    released = pd.concat(map(pdanon.read_parquet, made.paths), ignore_index=True)
    found = stream.attack(tmp_path / "in", tmp_path / "out", made.mapping, m=None, n=60, random_state=1)
    rows, published = rows_of(frame), rows_of(released)
    became = dict(zip(made.mapping["item"], made.mapping["generalized"], strict=True))
    distinct = list(dict.fromkeys(map(frozenset, rows)))
    for case in found.cases.itertuples():
        known = distinct[case.row]
        labels = {became[item] for item in known if not pd.isna(became[item])}
        assert case.known == len(known)
        assert case.before == sum(known <= set(row) for row in rows)
        assert case.after == sum(labels <= set(row) for row in published)
    assert found.fewest >= 1
    assert found.cases["row"].nunique() > 1


def test_the_guarantee_bounds_the_matches(tmp_path):
    write_parts(tmp_path / "in", [ROWS, ROWS])
    made = stream.pcta(tmp_path / "in", tmp_path / "out", k=5, m=2)
    asked = {"m": 2, "n": 300, "random_state": 3}
    found = stream.attack(tmp_path / "in", tmp_path / "out", made.mapping, **asked)
    assert found.fewest >= 5 > 0
    again = stream.attack(tmp_path / "in", tmp_path / "out", made.mapping, **asked)
    pd.testing.assert_frame_equal(found.cases, again.cases)


def test_what_does_not_belong_together_is_refused(tmp_path):
    write_parts(tmp_path / "in", [ROWS])
    write_parts(tmp_path / "others", [ROWS[:9]])
    made = stream.pcta(tmp_path / "in", tmp_path / "out", k=3)
    attack = stream.attack
    with pytest.raises(ParameterError, match="the release has other rows"):
        attack(tmp_path / "in", tmp_path / "others", made.mapping)
    with pytest.raises(ParameterError, match="not over the items of the original"):
        attack(tmp_path / "in", tmp_path / "out", made.mapping.head(1))
    with pytest.raises(ParameterError, match="local recoding"):
        attack(tmp_path / "in", tmp_path / "out", made.mapping.assign(group=1))
    with pytest.raises(ParameterError, match="must be a pandas DataFrame"):
        attack(tmp_path / "in", tmp_path / "out", "mapping.parquet")
    with pytest.raises(ParameterError, match="k must be an integer of at least 2"):
        stream.risk(tmp_path / "in", k=1)
    with pytest.raises(ColumnError, match="column 'item' does not exist"):
        stream.profile(tmp_path / "in", "item")
    with pytest.raises(FormatError):
        stream.profile(tmp_path / "nowhere")


def test_rows_in_chunks_are_refused(tmp_path):
    result = pdanon.disassociate(frame_of([{"a", "b"}, {"a"}, {"b", "c"}] * 4), k=2, m=2)
    result.save(tmp_path / "out")
    for measure in (stream.risk, stream.profile):
        with pytest.raises(ParameterError, match="no records"):
            measure(tmp_path / "out" / "frame.parquet", k=2)


def test_progress_counts_rows_per_second(tmp_path, capsys):
    write_parts(tmp_path / "in", [ROWS, ROWS[:5]])
    with pdanon.config(progress=True):
        made = stream.anonymize(tmp_path / "in", tmp_path / "out", k=3, m=1)
    shown = capsys.readouterr().err
    for task in ("read", "write", "audit"):
        assert f"{task}: 100%" in shown
    assert shown.count("29.0/29.0") == 3
    assert "rows/s]" in shown
    pieces = (tmp_path / "in", tmp_path / "out", made.mapping)
    for measure in (
        lambda: stream.risk(tmp_path / "in", k=3),
        lambda: stream.profile(tmp_path / "in", k=3),
        lambda: stream.audit(tmp_path / "in", pdanon.KmAnonymity(k=3, m=1)),
        lambda: stream.attack(*pieces, n=5, random_state=1),
    ):
        measure()
        assert capsys.readouterr().err == ""
        with pdanon.config(progress=True):
            measure()
        assert "rows/s]" in capsys.readouterr().err
