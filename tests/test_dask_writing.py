"""Releases of Dask frames as directories: whole or not at all, and audited as they were written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from object_storage import baskets
from test_dask import changing
from test_dask_tables import divided, run
from test_stream_tables import read, table
from test_stream_units import LONG, random_lines

import pdanon
import pdanon.dask
from examples import ALL
from pdanon import stream
from pdanon.errors import FormatError, GuaranteeError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning", "ignore::pdanon.UselessWarning")


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def lines():
    items = pd.ArrowDtype(pa.string())  # older pandas makes a text of None for "str"
    return random_lines(np.random.default_rng(3)).astype({"who": "int64", "what": items})


RELEASES = {
    "pcta": lambda n: divided(baskets(), n).txanon.pcta(k=5, m=2),
    "lra": lambda n: divided(baskets(), n).txanon.lra(k=5, m=2, hierarchy=3, parts=4),
    "rum_bound": lambda n: run(divided(table(1), n), "rum_bound"),
    "rfirst, sensitive": lambda n: run(divided(table(1), n), "rfirst, sensitive", block_rows=12),
    "mondrian": lambda n: run(divided(table(1), n), "mondrian"),
    "full_subtree": lambda n: run(divided(table(1), n), "full_subtree"),
    "lines": lambda n: divided(lines(), n).txanon.by(**LONG).pcta(k=2, m=1),
    "counted lines": lambda n: divided(lines(), n).txanon.by(**LONG, counts=True).pcta(k=2, m=1),
}


def left(directory):
    """The names in a directory, also hidden ones."""
    return sorted(os.listdir(directory))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", RELEASES)
@pytest.mark.parametrize("partitions", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_the_files_are_the_release(name, partitions, tmp_path):
    result = RELEASES[name](partitions)
    paths = result.to_parquet(tmp_path / "out")
    assert left(tmp_path) == ["out"]
    assert left(tmp_path / "out") == [f"part-0000{number}.parquet" for number in range(partitions)]
    assert paths == tuple(sorted((tmp_path / "out").iterdir()))
    found = pd.concat([pdanon.read_parquet(path) for path in paths])
    expected = result.frame.compute()
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_column_type=False)
    if "lines" in name:
        persons = stream.by(tmp_path / "out", **LONG, counts=name == "counted lines")
        assert persons.audit(result.guarantee).holds
    else:
        assert stream.audit(tmp_path / "out", result.guarantee).holds
    assert all(path.stat().st_mode & 0o077 for path in [*paths, tmp_path / "out"])  # the umask allows others


def test_targets_that_are_refused(tmp_path):
    (tmp_path / "in").mkdir()
    pdanon.to_parquet(baskets().assign(store=["n", "s"] * 200), tmp_path / "in" / "part.parquet")
    (tmp_path / "there").mkdir()
    frames = [
        dd.read_parquet(tmp_path / "in", dtype_backend="pyarrow"),
        dd.from_map(lambda path: pdanon.read_parquet(path / "part.parquet"), [tmp_path / "in"]),
    ]
    before = left(tmp_path)
    for ddf in frames:
        asked = {"quasi": ["store"]}
        for result in (ddf.txanon.pcta(k=5, m=2, keep=["store"]), ddf.txanon.mondrian(k=5, **asked)):
            with pytest.raises(ParameterError, match="the target is within the source"):
                result.to_parquet(tmp_path / "in" / "out")
            with pytest.raises(ParameterError, match="the target exists"):
                result.to_parquet(tmp_path / "there")
            with pytest.raises(ParameterError, match="directory of the target does not exist"):
                result.to_parquet(tmp_path / "none" / "out")
    assert left(tmp_path) == before
    assert left(tmp_path / "in") == ["part.parquet"]


def test_files_that_fail_the_audit_are_withheld(tmp_path):
    """Rows that change after the release may have labels that are known, but too rare."""
    first = [["a", "b"]] * 4
    with pytest.raises(GuaranteeError, match=r"(?s)are withheld.*2 rows at risk.*persist the frame"):
        changing(first, first, [["a", "b"], ["a"], ["a"], ["b"]]).txanon.pcta(k=3, m=2).to_parquet(
            tmp_path / "out"
        )
    with pytest.raises(ParameterError, match=r"(?s)the rows have changed.*3 rows instead of 4"):
        changing(first, first, first[:3]).txanon.pcta(k=2, m=1).to_parquet(tmp_path / "out")
    with pytest.raises(ParameterError, match="the rows have changed"):
        changing(first, first, [["new"]] * 4).txanon.pcta(k=2, m=1).to_parquet(tmp_path / "out")
    assert left(tmp_path) == []


def test_partitions_of_different_types_are_refused(tmp_path):
    frame = baskets().assign(day=pd.Series([None] * 400, dtype=object))
    other = frame.assign(day=pd.Timestamp("2025-01-01").date())
    message = r"(?s)different columns.*partition 1.*'day' of type date32.*null"
    with dask.config.set({"dataframe.convert-string": False}):
        ddf = dd.from_map(lambda part: part, [frame, other], meta=frame.iloc[:0])
        with pytest.raises(FormatError, match=message):
            ddf.txanon.pcta(k=5, m=2).to_parquet(tmp_path / "out")
    assert left(tmp_path) == []


def test_a_worker_without_the_directory_says_so(tmp_path, monkeypatch):
    # A worker gets text. From Python 3.14 on, paths ask the same function.
    monkeypatch.setattr(pdanon.dask.lazy.os.path, "isdir", lambda path: not isinstance(path, str))
    result = divided(baskets(), 2).txanon.pcta(k=5, m=2)
    with pytest.raises(FormatError, match=r"(?s)a worker does not see.*share, or to object storage"):
        result.to_parquet(tmp_path / "out")


# --- Clients that are killed

WRITING = """
import sys, dask, dask.dataframe as dd, pdanon, pdanon.dask, pdanon.datasets
frame = pdanon.datasets.make_baskets(20_000, 30, random_state=0)
with dask.config.set(scheduler=sys.argv[2]):
    result = dd.from_pandas(frame, npartitions=30).txanon.pcta(k=5, m=2)
    print("decided", flush=True)
    print(len(result.to_parquet(sys.argv[1])), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6 if ALL else 3))
def test_a_killed_client_leaves_nothing_under_the_name(seed, tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", WRITING, str(tmp_path / "out"), "threads"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout.readline() == "decided\n"
        time.sleep(float(np.random.default_rng(seed).uniform(0, 0.6)))
        client.send_signal(signal.SIGKILL)
    names = [name for name in left(tmp_path) if not name.startswith(".")]
    assert names in ([], ["out"])
    if not names:
        assert subprocess.run(command, capture_output=True, text=True).stdout.split() == ["decided", "30"]
        assert left(tmp_path) == ["out"]
    frame = pdanon.datasets.make_baskets(20_000, 30, random_state=0)
    expected = frame.txanon.pcta(k=5, m=2).frame["items"].tolist()
    assert len(left(tmp_path / "out")) == 30
    assert read(tmp_path / "out")["items"].tolist() == expected


# --- Object storage


@pytest.mark.slow
def test_workers_write_to_object_storage(bucket):
    result = run(divided(table(1), 3), "rum_bound")
    paths = result.to_parquet(bucket.uri("out"))
    assert bucket.content() == ["out/_SUCCESS", *(f"out/part-0000{number}.parquet" for number in range(3))]
    assert paths == tuple(bucket.uri(f"out/part-0000{number}.parquet") for number in range(3))
    assert stream.audit(bucket.uri("out"), result.guarantee).holds
    with pytest.raises(ParameterError, match="the target exists"):
        result.to_parquet(bucket.uri("out"))


@pytest.mark.slow
def test_a_failed_release_on_object_storage_stays_incomplete(bucket):
    first = [["a", "b"]] * 4
    result = changing(first, first, first[:3]).txanon.pcta(k=2, m=1)
    with pytest.raises(ParameterError, match="3 rows instead of 4"):
        result.to_parquet(bucket.uri("out"))
    assert bucket.content() == ["out/_INCOMPLETE"]
    with pytest.raises(FormatError, match="a release is incomplete"):
        stream.audit(bucket.uri("out"), pdanon.KmAnonymity(2, 1))


@pytest.mark.slow
def test_a_target_in_the_input_on_object_storage_is_refused(bucket):
    pdanon.to_parquet(baskets(), bucket.uri("in/part.parquet"))
    ddf = dd.from_map(pdanon.read_parquet, [bucket.uri("in/part.parquet")])
    assert ddf.txanon.pcta(k=5, m=2).to_parquet(bucket.uri("in-out"))
    ddf = dd.from_map(
        lambda uri: pdanon.read_parquet(uri.replace("in?", "in/part.parquet?")), [bucket.uri("in")]
    )
    with pytest.raises(ParameterError, match="the target is within the source"):
        ddf.txanon.pcta(k=5, m=2).to_parquet(bucket.uri("in/out"))
