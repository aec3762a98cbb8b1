"""Streaming onto a full disk, or killed at any moment: a whole release or none, and what the error says."""

from __future__ import annotations

import errno
import functools
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pdanon.datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_stream import partitions, table_of, written

import pdanon
from examples import ALL
from pdanon import stream
from pdanon.errors import FormatError, ParameterError
from pdanon.io import trees

# A column passes through here that tells rows apart.
pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")

# The first run, elsewhere, writes what Python caches, which is not what is to fail.
LIMITED = """
import json, os, pathlib, resource, sys
import pdanon.stream
source, elsewhere, target, limit = sys.argv[1:]
pdanon.stream.pcta(source, elsewhere, k=5)
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    pdanon.stream.pcta(source, target, k=5)
except Exception as error:
    print(json.dumps([type(error).__name__, str(error), os.listdir(pathlib.Path(target).parent)]))
"""


@functools.cache
def many_baskets():
    return pdanon.datasets.make_baskets(30_000, 100, random_state=0)


@pytest.fixture(params=["file", "directory"])
def source(request, tmp_path):
    """Baskets whose release takes more than 100 kB, in one file or several."""
    baskets = many_baskets()
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
    assert "free some space, or write to another disk; nothing is left of the release" in message
    assert left == []


@pytest.mark.slow
def test_a_quota_that_is_used_up(source, tmp_path):
    (tmp_path / "small").mkdir()
    target = tmp_path / "small" / "out"
    command = [sys.executable, "-c", LIMITED, source, tmp_path / "other", target, "20000"]
    assert_refused(refusal(command), target, errno.EFBIG)
    assert list((tmp_path / "small").iterdir()) == []


@pytest.mark.slow  # the quota above is the same error, by another number
def test_a_disk_that_is_full(source, tmp_path):
    (tmp_path / "small").mkdir()
    mount = 'mount -t tmpfs -o size=100k tmpfs "$0" && exec "$@"'
    inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, tmp_path / "small"]
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("no small disk can be made here")
    target = tmp_path / "small" / "out"
    command = [*inside, sys.executable, "-c", LIMITED, source, tmp_path / "other", target, "0"]
    assert_refused(refusal(command), target, errno.ENOSPC)


@pytest.mark.parametrize("where", ["write_table", "fsync", "replace"])
def test_whenever_writing_fails_nothing_is_left(where, source, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EIO, "SECRET")

    places = {
        "write_table": (pq.ParquetWriter, "write_table"),
        "fsync": (os, "fsync"),
        "replace": (type(tmp_path), "replace"),
    }
    monkeypatch.setattr(*places[where], fail)
    with pytest.raises(FormatError, match="the release cannot be written") as caught:
        stream.pcta(source, tmp_path / "out", k=5)
    assert "SECRET" not in str(caught.value)
    assert "check its directory" in str(caught.value)
    assert list(tmp_path.iterdir()) == [source]


def test_a_directory_that_cannot_be_written(tmp_path):
    pq.write_table(pa.table({"items": [["a"], ["a"]]}), tmp_path / "in.parquet")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.access(closed, os.W_OK):
        pytest.skip("everything can be written by who runs this")
    with pytest.raises(FormatError, match=os.strerror(errno.EACCES)):
        stream.pcta(tmp_path / "in.parquet", closed / "out", k=2)


# It kills itself at the n-th call of a Python function, and else prints how many there were.
KILLED = """
import os, signal, sys, pdanon.stream
last, calls = int(sys.argv[3]), 0
def count(frame, event, _):
    global calls
    calls += event == "call"
    if calls == last:
        os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(count)
pdanon.stream.pcta(sys.argv[1], sys.argv[2], k=5)
sys.setprofile(None)
print(calls)
"""


@pytest.mark.slow
def test_a_killed_run_leaves_no_release_and_the_next_one_completes(tmp_path):
    (tmp_path / "in").mkdir()
    for seed in range(3):
        baskets = pdanon.datasets.make_baskets(5_000, 100, random_state=seed)
        pq.write_table(pa.Table.from_pandas(baskets), tmp_path / "in" / f"{seed}.parquet", row_group_size=500)
    expected = stream.pcta(tmp_path / "in", tmp_path / "expected", k=5)
    run = functools.partial(subprocess.run, capture_output=True, text=True)
    command = [sys.executable, "-W", "ignore", "-c", KILLED, tmp_path / "in"]
    calls = int(run([*command, tmp_path / "all", "0"], check=True).stdout)
    for number, share in enumerate(np.random.default_rng(0).random(10)[:: 1 if ALL else 2]):
        target = tmp_path / f"out{number}"
        done = run([*command, target, str(1 + int(calls * share))], check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        if target.exists():  # all but the last calls are done
            assert written(target).equals(written(tmp_path / "expected"))
        else:
            again = stream.pcta(tmp_path / "in", target, k=5)
            assert [path.name for path in again.paths] == [path.name for path in expected.paths]
            assert written(target).equals(written(tmp_path / "expected"))


KILLED_AFTER = """
import os, signal, sys, pdanon.stream, {module}
original = {module}.{name}
def last(*args, **options):
    result = original(*args, **options)
    os.kill(os.getpid(), signal.SIGKILL)
{module}.{name} = last
pdanon.stream.pcta(sys.argv[1], sys.argv[2], mapping=sys.argv[3], k=3)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("pdanon.stream.list_files", "recode_files"),
        ("pdanon.recoding.release", "warn_if_short"),  # audited
        ("os", "fsync"),
        ("pdanon.algorithms.engines", "relabel"),
        ("pdanon.stream.streamed", "write_mapping"),
    ],
)
def test_killed_while_files_are_written(module, name, tmp_path):
    source, target, mapping = partitions(table_of(), tmp_path), tmp_path / "out", tmp_path / "map.parquet"
    command = [sys.executable, "-c", KILLED_AFTER.format(module=module, name=name), source, target, mapping]
    done = subprocess.run(command, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not target.exists()
    assert mapping.exists() == (name == "write_mapping")
    left = [path.name for path in tmp_path.iterdir() if path not in (source, mapping)]
    assert {name[0] for name in left} == {"."}
    assert sorted(name.rpartition(".")[2] for name in left) == ["lock", "tmp"]
    result = stream.pcta(source, target, k=3, mapping=mapping)
    assert written(target).num_rows == 150
    assert pdanon.read_parquet(mapping).to_dict("list") == result.mapping.to_dict("list")
    assert not list(tmp_path.glob(".*.lock"))


# --- The release and its mapping

STEPS = {
    (pq.ParquetWriter, "write_table"),
    (os, "fsync"),
    (pathlib.Path, "replace"),  # of the mapping, and then of the release
}


@pytest.fixture
def files(tmp_path):
    """A small source; and the release and the mapping to make of it, in directories of their own."""
    (tmp_path / "public").mkdir()
    (tmp_path / "private").mkdir()
    return partitions(table_of(), tmp_path), tmp_path / "public" / "out", tmp_path / "private" / "map.csv"


def watch(monkeypatch, act):
    """Do something before each step of writing, with its name and first argument."""
    originals = {name: getattr(owner, name) for owner, name in STEPS}
    for owner, name in STEPS:

        def step(first, *rest, name=name, **options):
            act(name, first)
            return originals[name](first, *rest, **options)

        monkeypatch.setattr(owner, name, step)


def test_when_a_name_appears_all_that_precedes_it_is_safe_on_the_disk(files, monkeypatch):
    source, target, mapping = files
    safe, named = set(), []

    def look(name, first):
        if name == "fsync":
            safe.add(os.fstat(first).st_ino)
        elif name != "write_table":
            named.append(first)
            (draft,) = (path for path in target.parent.iterdir() if path.suffix != ".lock")
            parts = [draft, *draft.rglob("*"), *mapping.parent.iterdir()]
            last = first.parent == target.parent
            parts += [mapping.parent] if last else []
            assert safe >= {path.stat().st_ino for path in parts}
            assert [path.name for path in parts if path == mapping] == ["map.csv"] * last

    watch(monkeypatch, look)
    result = stream.pcta(source, target, k=3, mapping=mapping)
    assert [path.parent for path in named] == [mapping.parent, target.parent]
    assert target.parent.stat().st_ino in safe
    assert pd.read_csv(mapping)["item"].tolist() == result.mapping["item"].tolist()
    assert [*target.parent.iterdir(), *mapping.parent.iterdir()] == [target, mapping]


@pytest.mark.slow
def test_whichever_step_fails_there_is_no_release_without_its_mapping(files, monkeypatch):
    source, target, mapping = files
    for failing in itertools.count():
        number = itertools.count()

        def fail(name, first, number=number, failing=failing):
            if next(number) == failing:
                raise OSError(errno.EIO, "SECRET")

        with monkeypatch.context() as patch:
            watch(patch, fail)
            # In the end only the name of the release is not on the disk for good.
            with pytest.raises((FormatError, OSError)) as caught:
                stream.pcta(source, target, k=3, mapping=mapping)
        found = [*target.parent.iterdir(), *mapping.parent.iterdir()]
        if target.exists():
            break
        assert found in ([], [mapping])
        assert caught.type is FormatError
        assert "cannot be written" in str(caught.value)
        assert "nothing is left of the release" in str(caught.value)
        assert "SECRET" not in str(caught.value)
        mapping.unlink(missing_ok=True)
    assert found == [target, mapping]
    assert failing > 10


def test_a_directory_of_the_mapping_that_cannot_be_written(files, monkeypatch):
    source, target, mapping = files

    def fail(name, first):
        if mapping.parent in getattr(first, "parents", ()):
            raise OSError(errno.EACCES, "SECRET")

    watch(monkeypatch, fail)
    with pytest.raises(FormatError, match="the mapping cannot be written") as caught:
        stream.pcta(source, target, k=3, mapping=mapping)
    assert f"where: {mapping}" in str(caught.value)
    assert "check its directory" in str(caught.value)
    assert [*target.parent.iterdir(), *mapping.parent.iterdir()] == []


def test_a_mapping_that_exists_is_replaced(files):
    source, target, mapping = files
    mapping.write_text("of an earlier run")
    stream.pcta(source, target, k=3, mapping=mapping)
    assert pd.read_csv(mapping).columns.tolist() == ["group", "item", "generalized", "support"]


def test_a_mapping_that_would_be_read_or_released_is_refused(files):
    source, target, mapping = files
    (mapping.parent / "link").symlink_to(source)
    (source / "store=c").mkdir()
    one, pattern = source / "store=a" / "x.parquet", source / "*" / "x.parquet"
    asked = [
        (source, source / "map.parquet", "within the source"),
        (source, mapping.parent / "link" / "map.parquet", "within the source"),
        (one, one, "within the source"),
        (one, mapping.parent / "link" / "store=a" / "x.parquet", "within the source"),
        (pattern, one, "within the source"),
        (mapping.parent / "link" / "*" / "x.parquet", source / "store=c" / "x.parquet", "within the source"),
        (pattern, source / "store=c" / "x.parquet", "within the source"),
        (source, target / "map.parquet", "within the target"),
        (one, target.with_suffix(".parquet"), "within the target"),
        (source, mapping.with_suffix(".txt"), "must end in .parquet or .csv"),
        (source, mapping.parent / "no" / "map.csv", "in a directory that does not exist"),
    ]
    (mapping.parent / "directory.csv").mkdir()
    asked.append((source, mapping.parent / "directory.csv", "is a directory"))
    for read, path, problem in asked:
        released = target.with_suffix(".parquet") if read == one else target
        with pytest.raises(ParameterError, match=problem):
            stream.pcta(read, released, k=3, mapping=path)
        assert not released.exists()
    stream.pcta(pattern, target, k=3, mapping=source / "map.parquet")  # not what the pattern names


# --- Two runs to one target


def test_of_two_runs_to_one_target_the_second_is_refused(files, monkeypatch):
    source, target, mapping = files
    refused = []

    def again(name, first):
        if name == "replace" and first.parent == target.parent and not refused:
            with pytest.raises(ParameterError, match="another run writes to the target") as caught:
                stream.pcta(source, target, k=9, mapping=mapping)
            refused.append(caught)

    watch(monkeypatch, again)
    result = stream.pcta(source, target, k=3, mapping=mapping)
    assert len(refused) == 1
    assert pd.read_csv(mapping)["generalized"].tolist() == result.mapping["generalized"].tolist()
    assert [*target.parent.iterdir(), *mapping.parent.iterdir()] == [target, mapping]


HELD = """
import sys, pdanon.stream
recode = pdanon.stream.list_files.recode_files
def waiting(*args):
    print("recoding", flush=True)
    sys.stdin.readline()
    return recode(*args)
pdanon.stream.list_files.recode_files = waiting
pdanon.stream.pcta(sys.argv[1], sys.argv[2], mapping=sys.argv[3], k=3)
"""


@pytest.mark.slow
@pytest.mark.parametrize("killed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_target_is_claimed_until_the_process_ends(killed, files):
    source, target, mapping = files
    command = [sys.executable, "-c", HELD, source, target, mapping]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"recoding\n"
        with pytest.raises(ParameterError, match="another run writes to the target"):
            stream.pcta(source, target, k=9, mapping=mapping)
        assert not mapping.exists()
        stream.pcta(source, target.with_name("other"), k=9)
        if killed:
            process.kill()
        else:
            process.communicate(b"\n")
    assert target.exists() == (not killed)
    if killed:
        stream.pcta(source, target, k=3, mapping=mapping)
    parts = sorted(path for path in source.rglob("*.parquet") if path.name[0] != "_")
    frame = pd.concat([pdanon.read_parquet(path) for path in parts], ignore_index=True)
    assert pd.read_csv(mapping)["support"].tolist() == pdanon.pcta(frame, k=3).mapping["support"].tolist()
    assert not list(target.parent.glob("*.lock"))


def test_a_claim_that_was_let_go_meanwhile_is_taken_anew(tmp_path, monkeypatch):
    target, open_file = tmp_path / "out", os.open

    def replaced(path, *rest):
        number = open_file(path, *rest)
        if pathlib.Path(path).suffix == ".lock" and len(opened) == 0:
            pathlib.Path(path).unlink()  # by the run that had the claim
        opened.append(path)
        return number

    opened = []
    monkeypatch.setattr(os, "open", replaced)
    with trees.lock_target(target):
        assert len(opened) == 2
        with pytest.raises(ParameterError, match="another run"), trees.lock_target(target):
            pass
    assert list(tmp_path.iterdir()) == []
