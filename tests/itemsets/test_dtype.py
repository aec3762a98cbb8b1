"""The dtype of lists: Arrow's in all but its name, which pandas reads again, and so without pdanon."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pytest

import pdanon
from pdanon.itemsets.dtype import ListArray, ListDtype

ROWS = [["rice", "tea"], ["tea"], [], None]
PLAIN = pd.ArrowDtype(pa.list_(pa.string()))


def released():
    frame = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"], []]})
    return pdanon.pcta(frame.assign(age=range(5)), k=2).frame


def written(frame):
    sink = io.BytesIO()
    frame.to_parquet(sink)
    return io.BytesIO(sink.getvalue())


def test_pandas_cannot_read_the_name_of_its_own_dtype():
    """If this fails, ListDtype may go."""
    with pytest.raises(TypeError, match="not understood"):
        pd.read_parquet(written(pd.DataFrame({"items": pd.Series(ROWS, dtype=PLAIN)})))


def files_of_lists(directory):
    pdanon.to_csv(released(), directory / "a.csv", separator="|")
    pdanon.to_parquet(released(), directory / "a.parquet")
    yield released()
    yield pdanon.read_csv(directory / "a.csv", column="items", separator="|")
    yield pdanon.read_parquet(directory / "a.parquet")
    yield released().assign(items=pdanon.as_itemsets(released()["items"]))
    plain = released().astype(object).astype({"items": PLAIN, "age": int})
    yield pdanon.cluster(plain, k=2, quasi=["age"], random_state=0).frame.drop(columns="age")
    yield pdanon.pcta(plain.assign(other=plain["items"]), "other", k=2).frame


def test_what_comes_back_is_written_and_read_by_pandas_alone(tmp_path):
    expected = [["(rice,salt)", "tea"], ["(rice,salt)"], ["(rice,salt)", "tea"], ["tea"], []]
    for frame in files_of_lists(tmp_path):
        back = pd.read_parquet(written(frame))
        assert [list(row) for row in back["items"]] == expected
        assert back["items"].dtype == object
        lists = pd.read_parquet(written(frame), dtype_backend="pyarrow")["items"]
        assert lists.list.len().tolist() == [2, 1, 2, 1, 0]
        assert pdanon.read_parquet(written_to(tmp_path, frame)).equals(frame)


def written_to(directory, frame):
    frame.to_parquet(directory / "plain.parquet")
    return directory / "plain.parquet"


@pytest.mark.slow
def test_who_reads_it_needs_no_pdanon(tmp_path):
    path = written_to(tmp_path, released())
    program = (
        "import sys; sys.modules['pdanon'] = None\n"
        f"import pandas as pd; print([list(row) for row in pd.read_parquet({str(path)!r})['items']][3:])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[['tea'], []]"


def test_rows_that_pandas_takes_or_adds_are_written_too():
    frame = released()
    for each in (
        frame.iloc[[3, 0]],
        frame[frame["age"] > 2],
        frame.reindex([0, 9]),
        frame.merge(frame[["age"]], on="age"),
        pd.concat([frame, frame]),
        pd.concat([frame, pd.DataFrame({"age": [7]})]),
        frame.sort_values("age", ascending=False),
        pickle.loads(pickle.dumps(frame)),
        frame.iloc[:0],
    ):
        assert len(pd.read_parquet(written(each))) == len(each)


def test_dtype_is_equal_to_that_of_arrow():
    ours, other = ListDtype(pa.list_(pa.string())), ListDtype(pa.list_(pa.int8()))
    assert ours == PLAIN
    assert PLAIN == ours  # noqa: SIM300 (the other way round is another method)
    assert ours == ListDtype(pa.list_(pa.string()))
    assert len({ours, PLAIN, other}) == 2
    assert ours != other
    assert other != PLAIN
    assert ours != "object"
    assert ours.name == repr(ours) == PLAIN.name
    assert pickle.loads(pickle.dumps(ours)) == ours
    pd.testing.assert_series_equal(pdanon.as_itemsets(ROWS), pd.Series(ROWS, dtype=PLAIN))


def test_what_pandas_makes_of_lists_has_its_own_dtype():
    column = pdanon.as_itemsets(ROWS)
    assert str(column.explode().dtype) == "string[pyarrow]"
    assert str(column.list.len().dtype) == "int32[pyarrow]"
    assert type(ListArray(pa.array([1])).dtype) is pd.ArrowDtype
    assert column.astype(object).dtype == object
