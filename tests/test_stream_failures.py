"""Streaming onto a disk that is full: no release, nothing left behind, and an error that says what to do."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
