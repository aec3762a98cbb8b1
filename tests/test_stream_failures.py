"""Streaming onto a full disk, or killed at any moment: a whole release or none, and what the error says."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_stream import partitions, table_of, written

import pdanon
import pdanon.datasets
from pdanon import stream
from pdanon.errors import FormatError

# The first run, elsewhere, compiles kernels, whose cache is not what is to fail.
LIMITED = """
import json, os, pathlib, resource, sys
import pdanon.stream
source, elsewhere, target, limit = sys.argv[1:]
pdanon.stream.anonymize(source, elsewhere, k=5)
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    pdanon.stream.anonymize(source, target, k=5)
except Exception as error:
    print(json.dumps([type(error).__name__, str(error), os.listdir(pathlib.Path(target).parent)]))
"""


@pytest.fixture(params=["file", "directory"])
def source(request, tmp_path):
    """Baskets whose release takes more than 100 kB, in one file or several."""
    baskets = pdanon.datasets.make_baskets(30_000, 100, random_state=0)
    path = tmp_path / ("in.parquet" if request.param == "file" else "in")
    if request.param == "file":
        pdanon.to_parquet(baskets, path)
    else:
        path.mkdir()
        for number in range(3):
            part = baskets[10_000 * number :][:10_000].reset_index(drop=True)
            pdanon.to_parquet(part, path / f"{number}.parquet")
    return path


def refusal(command):
    """Type and message of the error of a run, and what is left in the target's directory."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_refused(found, target, reason):
    name, message, left = found
    assert name == "FormatError"
    assert "the release cannot be written" in message
    assert str(target) in message
    assert os.strerror(reason) in message
    assert "free some space, or choose a target on another disk; nothing is left" in message
    assert left == []


def test_a_quota_that_is_used_up(source, tmp_path):
    (tmp_path / "small").mkdir()
    target = tmp_path / "small" / "out"
    command = [sys.executable, "-c", LIMITED, source, tmp_path / "other", target, "20000"]
    assert_refused(refusal(command), target, errno.EFBIG)
    assert list((tmp_path / "small").iterdir()) == []


def test_a_disk_that_is_full(source, tmp_path):
    (tmp_path / "small").mkdir()
    mount = 'mount -t tmpfs -o size=100k tmpfs "$0" && exec "$@"'
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, tmp_path / "small"]
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("no small disk can be made here")
    target = tmp_path / "small" / "out"
    command = [*inside, sys.executable, "-c", LIMITED, source, tmp_path / "other", target, "0"]
    assert_refused(refusal(command), target, errno.ENOSPC)


@pytest.mark.parametrize("where", ["write_table", "fsync", "rename"])
def test_whenever_writing_fails_nothing_is_left(where, source, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EIO, "SECRET")

    places = {
        "write_table": (pq.ParquetWriter, "write_table"),
        "fsync": (os, "fsync"),
        "rename": (type(tmp_path), "rename"),
    }
    monkeypatch.setattr(*places[where], fail)
    with pytest.raises(FormatError, match="the release cannot be written") as caught:
        stream.anonymize(source, tmp_path / "out", k=5)
    assert "SECRET" not in str(caught.value)
    assert "check the directory of the target" in str(caught.value)
    assert list(tmp_path.iterdir()) == [source]


def test_a_directory_that_cannot_be_written(tmp_path):
    pq.write_table(pa.table({"items": [["a"], ["a"]]}), tmp_path / "in.parquet")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        pytest.skip("everything can be written by who runs this")
    with pytest.raises(FormatError, match=os.strerror(errno.EACCES)):
        stream.anonymize(tmp_path / "in.parquet", closed / "out", k=2)


KILLED = """
import sys, pdanon.stream
print("ready", flush=True)
pdanon.stream.anonymize(sys.argv[1], sys.argv[2], k=5)
print("done", flush=True)
"""


@pytest.mark.slow
def test_a_killed_run_leaves_no_release_and_the_next_one_completes(tmp_path):
    (tmp_path / "in").mkdir()
    for seed in range(3):
        baskets = pdanon.datasets.make_baskets(20_000, 100, random_state=seed)
        pq.write_table(pa.Table.from_pandas(baskets), tmp_path / "in" / f"{seed}.parquet", row_group_size=500)
    start = time.monotonic()
    expected = stream.anonymize(tmp_path / "in", tmp_path / "expected", k=5)
    longest = 1.5 * (time.monotonic() - start)
    finished = 0
    for number, share in enumerate(np.random.default_rng(0).random(10)):
        target = tmp_path / f"out{number}"
        command = [sys.executable, "-c", KILLED, tmp_path / "in", target]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            time.sleep(longest * share)
            process.send_signal(signal.SIGKILL)
        if target.exists():
            finished += 1
            assert written(target).equals(written(tmp_path / "expected"))
        else:
            again = stream.anonymize(tmp_path / "in", target, k=5)
            assert [path.name for path in again.paths] == [path.name for path in expected.paths]
            assert written(target).equals(written(tmp_path / "expected"))
    assert finished < 10


@pytest.mark.parametrize("moment", range(4))
def test_killed_while_files_are_written(moment, tmp_path):
    source = partitions(table_of(), tmp_path)
    moments = ["pdanon.stream._recode", "pdanon.stream._audit", "os.fsync", "pdanon.stream.relabelled"]
    where, _, name = moments[moment].rpartition(".")
    code = f"""
import os, signal, sys, {where}, pdanon.stream
original = {where}.{name}
def last(*args, **options):
    result = original(*args, **options)
    os.kill(os.getpid(), signal.SIGKILL)
{where}.{name} = last
pdanon.stream.anonymize(sys.argv[1], sys.argv[2], k=3)
"""
    done = subprocess.run([sys.executable, "-c", code, source, tmp_path / "out"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    left = [path for path in tmp_path.iterdir() if path != source]
    assert all(path.name.startswith(".") and path.name.endswith(".tmp") for path in left)
    assert len(left) == 1
    stream.anonymize(source, tmp_path / "out", k=3)
    assert written(tmp_path / "out").num_rows == 150
