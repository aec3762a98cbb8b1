"""Results: which of their tables are published, and how these are written."""

from __future__ import annotations

import warnings

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of

import pdanon
from pdanon import GuaranteeError, ParameterError
from pdanon.errors import ReleaseWarning
from pdanon.io.parquet import read_parquet

ROWS = [{"tea", SECRET}, {"tea"}, {"rice", "tea"}, {"rice"}, {"rice", "tea"}, {"tea"}]
AGES = frame_of(ROWS).assign(age=[30, 31, 32, 33, 34, 35])
ONE = {
    "pcta": lambda: frame_of(ROWS).txanon.pcta(k=2, m=2),
    "partition": lambda: frame_of(ROWS).txanon.partition(k=2, hierarchy=2),
    "mondrian": lambda: pdanon.keep(AGES, "items").mondrian(k=2, quasi=["age"]),
    "rfirst": lambda: pdanon.rfirst(AGES, k=2, m=1, quasi=["age"], random_state=0),
}
TWO = {
    "cahd": lambda: frame_of(ROWS).txanon.cahd(p=2, sensitive=[SECRET]),
    "disassociate": lambda: frame_of(ROWS).txanon.disassociate(k=2, m=2),
}


@pytest.mark.parametrize("algorithm", [*ONE, *TWO])
def test_what_is_published_is_written_and_nothing_else(algorithm, tmp_path):
    result = (ONE | TWO)[algorithm]()
    expected = {"frame": result.frame} | ({"classes": result.classes} if algorithm in TWO else {})
    assert [*result.published] == [*expected]
    assert all(result.published[name] is table for name, table in expected.items())
    result.save(tmp_path / "release")
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    written = {path.name for path in (tmp_path / "release").iterdir()}
    assert written == {f"{name}.parquet" for name in expected}
    for name, table in expected.items():
        again = read_parquet(tmp_path / "release" / f"{name}.parquet")
        assert values_of(again) == values_of(table)


def values_of(table):
    return {label: pa.array(column).to_pylist() for label, column in table.items()}


@pytest.mark.parametrize("algorithm", [*ONE, *TWO])
def test_unpacking_warns_where_it_leaves_out_what_is_published(algorithm):
    result = (ONE | TWO)[algorithm]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame, mapping = result
    assert (frame is result.frame, mapping is result.mapping) == (True, True)
    assert [each.category for each in caught] == ([ReleaseWarning] if algorithm in TWO else [])
    assert all("leaves out classes" in str(each.message) for each in caught)
    assert all(each.filename == __file__ for each in caught)


def test_a_release_of_groups_is_audited_as_it_was_saved(tmp_path):
    TWO["cahd"]().save(tmp_path / "release")
    frame, classes = (read_parquet(tmp_path / "release" / f"{name}.parquet") for name in ("frame", "classes"))
    guarantee = pdanon.SensitiveGroups(p=2, sensitive=[SECRET], classes=classes)
    assert frame.txanon.audit(guarantee).holds


def test_nothing_is_written_over_or_left_behind(tmp_path, monkeypatch):
    result = TWO["cahd"]()
    result.save(tmp_path / "release")
    with pytest.raises(ParameterError, match="the directory exists"):
        result.save(tmp_path / "release")
    result.save("memory://bucket/release")
    with pytest.raises(ParameterError, match="the directory exists"):
        result.save("memory://bucket/release")
    with pytest.raises(pdanon.FormatError, match="make the directory first"):
        result.save(tmp_path / "nowhere" / "release")

    def full(table, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pdanon.recoding.result.to_parquet", full)
    with pytest.raises(OSError, match="No space"):
        result.save(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


def test_an_attempt_without_its_guarantee_is_not_published(tmp_path):
    frame = pd.DataFrame({"items": [["a", "b"], ["a", "c"], ["a"], ["d"]]})
    blocks = [["a", "b", "c"], ["d"]]
    with pytest.raises(pdanon.InfeasibleError) as caught:
        frame.txanon.coat(k=3, m=1, utility=blocks, max_suppressed=0)
    partial = caught.value.partial
    assert partial.frame is not None
    with pytest.raises(GuaranteeError, match="does not hold, so nothing is published"):
        partial.save(tmp_path / "release")
    assert not [*tmp_path.iterdir()]
