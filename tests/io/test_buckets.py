"""Rows on disk, added part by part, and read bucket by bucket."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pdanon.io import grouping
from pdanon.io.grouping import Buckets


def _numbered(first: int, buckets: list[int]) -> pa.Table:
    """Rows with a number of their own, and a list that tells it too."""
    numbers = range(first, first + len(buckets))
    items = pa.array([[str(each)] * 2 for each in numbers], pa.list_(pa.string()))
    return pa.table({"row": pa.array(numbers, pa.int64()), "items": items})


@given(
    data=st.data(),
    n_buckets=st.sampled_from([1, 2, 63, 64, 65, 500]),
    n_parts=st.sampled_from([1, 2, 33]),
    waiting=st.sampled_from([1, 200, 2**25]),
)
@pytest.mark.slow
def test_a_bucket_has_its_rows_in_the_order_of_the_parts(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n_buckets: int, n_parts: int, waiting: int
) -> None:
    directory = tmp_path_factory.mktemp("rows")
    buckets, expected, n_rows = Buckets(directory, "some", n_buckets), dict[int, list[int]](), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "_WAITING", waiting)
        for _ in range(n_parts):
            chosen = data.draw(st.lists(st.integers(0, n_buckets - 1), max_size=4))
            buckets.add(_numbered(n_rows, chosen), np.array(chosen, np.int64))
            for row, bucket in enumerate(chosen, n_rows):
                expected.setdefault(bucket, []).append(row)
            n_rows += len(chosen)
    for number in {0, n_buckets - 1, *expected}:
        found = buckets.read(number)
        assert found.column("row").to_pylist() == expected.get(number, [])
        assert found.column("items").to_pylist() == [[str(row)] * 2 for row in expected.get(number, [])]
    assert {*buckets.files()} == {*directory.iterdir()}


def test_parts_together_are_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _numbered(0, [1, 0])
    monkeypatch.setattr(grouping, "_WAITING", 3 * rows.nbytes)
    buckets = Buckets(tmp_path, "some", 2)
    for n_files in (0, 0, 1, 1, 1, 2, 2):  # the last part waits until the first read
        buckets.add(rows, np.array([1, 0]))
        assert len([*tmp_path.iterdir()]) == n_files
    assert buckets.read(0).column("row").to_pylist() == [1] * 7
    assert len([*tmp_path.iterdir()]) == 3
    buckets.add(rows, np.array([1, 1]))
    assert buckets.read(1).column("row").to_pylist() == [0] * 7 + [0, 1]
