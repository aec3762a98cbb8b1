"""Rows on disk, added part by part, and read bucket by bucket."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from pdanon.io.grouping import _TOGETHER, Buckets


def _numbered(first: int, buckets: list[int]) -> pa.Table:
    """Rows with a number of their own, and a list that tells it too."""
    numbers = range(first, first + len(buckets))
    items = pa.array([[str(each)] * 2 for each in numbers], pa.list_(pa.string()))
    return pa.table({"row": pa.array(numbers, pa.int64()), "items": items})


@given(
    data=st.data(),
    n_buckets=st.sampled_from([1, 2, 63, 64, 65, 500]),
    n_parts=st.sampled_from([1, 2, _TOGETHER, _TOGETHER + 1, 2 * _TOGETHER]),
)
@pytest.mark.slow
def test_a_bucket_has_its_rows_in_the_order_of_the_parts(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, n_buckets: int, n_parts: int
) -> None:
    directory = tmp_path_factory.mktemp("rows")
    buckets, expected, n_rows = Buckets(directory, "some", n_buckets), dict[int, list[int]](), 0
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
    assert len([*directory.iterdir()]) == -(-n_parts // _TOGETHER)  # a read opens no more files
    buckets.remove()
    assert not [*directory.iterdir()]


def test_parts_may_follow_after_a_read(tmp_path: Path) -> None:
    buckets = Buckets(tmp_path, "some", 2)
    buckets.add(_numbered(0, [1, 0]), np.array([1, 0]))
    assert buckets.read(1).column("row").to_pylist() == [0]
    for row in range(2, 2 * _TOGETHER + 3):  # which become two files, and a third one for the last part
        buckets.add(_numbered(row, [1]), np.array([1]))
    assert buckets.read(1).column("row").to_pylist() == [0, *range(2, 2 * _TOGETHER + 3)]
    assert len([*tmp_path.iterdir()]) == 1 + 3
