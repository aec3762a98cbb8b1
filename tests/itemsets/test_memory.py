"""Limits of the memory: errors that state what is needed, and exit codes that are no verdict."""

from __future__ import annotations

import subprocess
import sys
import traceback
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pdanon
from pdanon.errors import FormatError, OutOfMemoryError, PdanonError, read_safely
from pdanon.itemsets import memory
from pdanon.itemsets.memory import out_of_memory, require_memory

resource = pytest.importorskip("resource", reason="Windows has no limits of this kind")

SECRET = "salmonella"
FRAME = pd.DataFrame({"items": [["a"], ["a"], ["b"], ["b"]]})


def test_memory_that_is_there_is_not_refused():
    require_memory(0, "nothing")
    require_memory(2**20, "little")


def test_memory_is_required_before_the_work():
    with pytest.raises(PdanonError, match="there is not enough memory for the work") as caught:
        require_memory(2**60, "the work")
    assert "1,152,921,504,607 MB or more are needed in addition" in str(caught.value)
    assert "hint:  pass fewer rows" in str(caught.value)


def test_an_alarm_of_the_caller_is_no_lack_of_memory(monkeypatch):
    def alarmed(*_, **__):
        raise TimeoutError("mine")

    monkeypatch.setattr("pdanon.itemsets.memory.mmap", alarmed)
    with pytest.raises(TimeoutError, match="mine"):
        require_memory(1, "the work")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError(), "there is not enough memory"),
        (MemoryError(SECRET), "there is not enough memory"),
        (pa.ArrowMemoryError("malloc of size 64000000 failed"), "64 MB or more are needed"),
        (pa.ArrowMemoryError("realloc of size 64000000 failed"), "64 MB or more are needed"),
        (ImportError("x.so: failed to map segment from shared object"), "to load a library"),
        (RuntimeError("can't start new thread"), "to start a thread"),
    ],
)
def test_errors_of_libraries_are_explained(error, told):
    explained = out_of_memory(error)
    assert isinstance(explained, PdanonError)
    assert isinstance(explained, MemoryError)
    assert told in str(explained)
    assert SECRET not in str(explained)


def test_numpy_tells_what_it_needs():
    with pytest.raises(MemoryError) as caught:
        np.empty(2**50, np.uint8)
    assert "1,125,899,907 MB or more" in str(out_of_memory(caught.value))


@pytest.mark.parametrize("error", [ImportError("no module"), RuntimeError("other"), ValueError("memory")])
def test_other_errors_stay(error):
    assert out_of_memory(error) is error


@pytest.mark.parametrize(
    "call",
    [
        lambda: pdanon.pcta(FRAME, k=2),
        lambda: FRAME.txanon.pcta(k=2),
        lambda: FRAME.txanon.risk(k=2),
        lambda: pdanon.anonymize(FRAME, pdanon.KmAnonymity(2, 2)),
        lambda: pdanon.KmAnonymity(2, 2).audit(FRAME),
        lambda: pdanon.RhoUncertainty(rho=0.5, sensitive=["a"]).audit(FRAME),
        lambda: pdanon.profile(FRAME),
    ],
)
def test_calls_explain_that_there_is_no_memory(call, monkeypatch):
    def exhausted(*_, **__):
        raise MemoryError(SECRET)

    monkeypatch.setattr("pdanon.itemsets.support.SupportIndex.__init__", exhausted)
    with pytest.raises(OutOfMemoryError, match="there is not enough memory") as caught:
        call()
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown
    assert caught.value.__context__ is None  # its frames would hold the arrays that fill the memory


# --- Processes with little memory


PROGRAM = """
import resource, sys, numpy as np, pdanon
pdanon.config(threads=int(sys.argv[1]))
frame = pdanon.datasets.make_baskets(100_000, 2000, random_state=0)[["items"]]
pdanon.pcta(frame.head(100), k=2, m=2)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]) * 2**20, resource.RLIM_INFINITY))
for call in (
    lambda: pdanon.pcta(frame, k=5, m=2),
    lambda: pdanon.coat(frame, k=5, m=3),
    lambda: pdanon.apriori(frame, k=5, m=2, hierarchy=5),
    lambda: pdanon.partition(frame, k=5, hierarchy=5),
    lambda: pdanon.disassociate(frame, k=5, m=2),
    lambda: pdanon.KmAnonymity(5, 3).audit(frame),
    lambda: pdanon.risk(frame, k=5, m=2),
):
    try:
        call()
        print("done")
    except pdanon.PdanonError as error:
        print(type(error).__name__)
        assert "memory" in str(error) and "ulimit -v" in str(error), str(error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as of Linux")
@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [1, 10, 40])
@pytest.mark.parametrize("threads", [1, 2])
def test_calls_end_with_an_error_in_little_memory(threads, megabytes):
    words = [sys.executable, "-W", "ignore", "-c", PROGRAM, str(threads), str(megabytes)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert {*done.stdout.split()} <= {"done", "OutOfMemoryError"}
    assert megabytes > 1 or "OutOfMemoryError" in done.stdout


QUASI = """
import resource, time, numpy as np, pandas as pd, pdanon
from pdanon.algorithms.relational.quasi import QuasiTable
from pdanon.datasets import make_baskets

def limited(require_memory):  # the first step after a frame was encoded
    def limit(*given):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + spare * 2**20, resource.RLIM_INFINITY))
        return require_memory(*given)
    return limit

QuasiTable.require_memory = limited(QuasiTable.require_memory)
rng, rows, spare = np.random.default_rng(0), 150_000, 4
frame = pd.DataFrame({"age": rng.integers(0, 1000, rows), "zip": rng.integers(0, 1000, rows)})
both = frame.head(40_000).assign(items=make_baskets(40_000, 100, random_state=0)["items"])
asked = {"k": 5, "quasi": ["age", "zip"]}
for name in ("cluster", "k_member", "mondrian", "incognito", "top_down", "full_subtree"):
    RUN(lambda: getattr(pdanon, name)(frame, **asked), name)
bound, own = {"delta": 0.5}, {"rfirst": {}, "tfirst": {"parts": 2}}
for name, more in {"rum_bound": bound, "tum_bound": bound, **own}.items():
    RUN(lambda: getattr(pdanon, name)(both, **asked, **more), name)
tree, spare = pdanon.Hierarchy.of(4, [f"{number:05d}" for number in range(20_000)]), 8
leaves = [name for name, is_leaf in zip(tree.names, tree.is_leaf) if is_leaf]
frame = pd.DataFrame({f"q{number}": leaves for number in range(5)})
asked = {"k": 2, "quasi": dict.fromkeys(frame, tree)}
RUN(lambda: pdanon.incognito(frame, **asked), "the combinations of levels")
"""
RUN = """
def RUN(call, name):
    start = time.process_time()
    try:
        call()
    except pdanon.PdanonError as error:
        told = str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert f"there is not enough memory for {name}" in told, told
    assert "MB or more are needed in addition" in told and "ulimit -v" in told, told
    print(name.split()[-1], time.process_time() - start)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as of Linux")
def test_algorithms_for_quasi_identifiers_say_what_they_need_before_the_work():
    done = subprocess.run([sys.executable, "-c", RUN + QUASI], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seconds = dict(line.split() for line in done.stdout.splitlines())
    assert len(seconds) == 11
    # None takes a second, whereas k_member alone would take minutes.
    assert all(float(each) < 5 for each in seconds.values()), seconds


@pytest.mark.parametrize("name", ["cluster", "k_member", "mondrian", "incognito", "top_down", "full_subtree"])
def test_no_more_memory_is_required_than_needed(monkeypatch, name):
    required = []

    def require(n_bytes, purpose):
        required.append(n_bytes)

    monkeypatch.setattr("pdanon.algorithms.relational.quasi.require_memory", require)
    monkeypatch.setattr("pdanon.algorithms.relational.global_recoding.require_memory", require)
    rng, rows = np.random.default_rng(0), 1000
    columns = {f"q{number}": rng.choice([*"abcdefgh"], rows) for number in range(3)}
    tracemalloc.start()
    getattr(pdanon, name)(pd.DataFrame(columns), k=20, quasi=[*columns])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0 < max(required) < peak


def test_a_file_is_not_damaged_where_arrow_starts_no_thread(tmp_path):
    error = pa.ArrowException("Unknown error: Failed to launch worker thread: it is unavailable")

    def read():
        raise error

    with pytest.raises(FormatError, match=r"got:   there is not enough memory\n  hint:  read fewer columns"):
        read_safely(read, tmp_path / "in.parquet", "Parquet")
    assert str(out_of_memory(error)).startswith("there is not enough memory to start a thread")


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as of Linux")
@pytest.mark.parametrize("megabytes", [270, 330, 450, 550, 650])
def test_a_command_in_little_memory_is_no_verdict(megabytes, tmp_path):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    if megabytes > 270:
        pdanon.to_parquet(pdanon.datasets.make_baskets(100_000, 2000, random_state=0)[["items"]], source)
    words = [sys.executable, "-m", "pdanon", "anonymize", source, target, "--algorithm", "pcta", "-k", "5"]
    limit = megabytes * 2**20
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    if "thread-local data" in done.stderr:  # the C library has ended the process
        assert [*tmp_path.glob("out*")] == []
        return
    if done.returncode == 0:  # enough after all, as the size of the libraries differs
        assert megabytes > 270
        assert target.exists()
        return
    assert done.returncode == 2, done.stderr
    assert "pdanon: error: " in done.stderr
    assert "there is not enough memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert [*tmp_path.glob("out*")] == []


GROUPS = {
    "none": ({}, 1_024_000),
    "second version": ({"0::/a/b": {"a/memory.max": "max", "a/b/memory.max": 600_000}}, 300_000),
    "a group above": ({"0::/a/b": {"a/memory.max": 400_000, "a/b/memory.max": 600_000}}, 200_000),
    "a container": ({"0::/elsewhere/on/the/host": {"memory.max": 600_000}}, 300_000),
    "first version": ({"4:memory:/a": {"memory/a/memory.limit_in_bytes": 600_000}}, 300_000),
    "unlimited": ({"4:memory:/a": {"memory/a/memory.limit_in_bytes": 2**63 - 4096}}, 1_024_000),
    "another controller": ({"4:cpu:/a": {"cpu/a/memory.limit_in_bytes": 600_000}}, 1_024_000),
}


@pytest.mark.parametrize(("groups", "left"), GROUPS.values(), ids=GROUPS)
def test_what_fits_leaves_half_of_the_memory(groups, left, tmp_path, monkeypatch):
    """Of the system, and of half of the limit of each group."""
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path)
    assert not memory.fits(0)  # a system that does not tell
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   1000 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("1:name=systemd:/\n" + "\n".join(groups) + "\n")
    for path, limit in (each for files in groups.values() for each in files.items()):
        file = tmp_path / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{limit}\n")
    assert memory.fits(left // 2)
    assert not memory.fits(left // 2 + 1)
    monkeypatch.setattr(memory, "mmap", refuse)
    assert not memory.fits(1)  # beyond the limit of the process


def refuse(*_, **__):
    raise OSError(12, "Cannot allocate memory")
