"""Commands that are killed: what is there is old or new, and no draft is left that others could read."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pytest
from conftest import frame_of

from examples import ALL
from pdanon.cli import demo, signals
from pdanon.io import trees
from pdanon.io.parquet import read_parquet, to_parquet

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

POLICY = """
input = "in.parquet"
algorithm = "pcta"
parameters = { k = 2 }
[outputs]
release = "new/out.parquet"
mapping = "new/map.csv"
loss = "new/loss.csv"
report = "new/out.html"
comparison = "new/compared.csv"
[compare]
resume = "new/rows.parquet"
[compare.algorithms.pcta]
k = 2
[compare.algorithms.coat]
k = 2
"""
KM = ("-k", "2", "-m", "2", "--algorithm", "pcta", "--mapping", "new/map.csv")
COMMANDS = {
    "anonymize": ("anonymize", "in.parquet", "new/out.parquet", *KM, "--report", "new/out.html"),
    "csv": ("anonymize", "in.parquet", "new/out.csv", *KM, "--separator", "|"),
    "stream": ("anonymize", "--stream", "in.parquet", "new/out.parquet", *KM),
    "stream a directory": ("anonymize", "--stream", "parts", "new/out", *KM),
    "run": ("run", "policy.toml"),
    "compare": ("compare", "policy.toml"),
    "audit": ("audit", "in.parquet", "-k", "3", "--threats", "new/threats.parquet"),
    "risk": ("risk", "in.parquet", "-k", "2", "--out", "new/risk.csv"),
    "profile": ("profile", "in.parquet", "-k", "2", "--report", "new/look.html"),
    "tradeoff": (
        *("tradeoff", "in.parquet", "-k", "2", "-m", "1", "--algorithm", "pcta"),
        *("--out", "new/costs.csv", "--report", "new/costs.html"),
    ),
}
CATCHABLE = ("SIGTERM", "SIGHUP", "SIGINT")
OLD = b"of an earlier run"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with data, and one for what is made of it."""
    monkeypatch.chdir(tmp_path)
    frame = frame_of([{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}] * 5)
    to_parquet(frame, "in.parquet")
    Path("new").mkdir()
    Path("parts").mkdir()
    for number in range(3):
        to_parquet(frame, f"parts/{number}.parquet")
    Path("policy.toml").write_text(POLICY)
    for name in CATCHABLE:  # whoever runs the tests may ignore them, as nohup does
        by_default = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
        signal.signal(getattr(signal, name), by_default)


def hidden():
    return [path for path in Path("new").iterdir() if path.name.startswith(".")]


def drafts():
    return [path for path in hidden() if path.suffix != ".lock"]


def is_whole(path):
    """Whether what is at a path can be read to its end."""
    if path.is_dir():
        return sorted(each.name for each in path.iterdir()) == ["0.parquet", "1.parquet", "2.parquet"]
    if path.suffix == ".parquet":
        return len(read_parquet(path)) >= 0
    if path.suffix == ".csv":
        return path.read_bytes().endswith(b"\n") and len(pd.read_csv(path)) > 0
    return path.read_text(encoding="utf-8").rstrip().endswith("</html>")


# --- At each step of writing, in this process


@pytest.fixture
def command(run, monkeypatch):
    """Run a command as the process that signals are sent to."""
    before = {number: signal.getsignal(number) for number in signals._SIGNALS}
    monkeypatch.setattr(signals, "_is_command", lambda: True)
    monkeypatch.setattr(signals, "_received", [])
    monkeypatch.setattr(signals, "_PATIENCE", 600)  # a busy machine may take long to clean up
    signals.end_at_signals()
    yield run
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("step", ["chmod", "fsync", "replace"])
@pytest.mark.parametrize("name", ["anonymize", "stream a directory", "run", "risk"])
def test_whenever_a_signal_comes_no_draft_is_left(name, step, command, monkeypatch):
    original, sent = getattr(os, step), []

    def interrupted(*arguments, **options):
        if not sent:
            sent.append(drafts())
            signal.raise_signal(signal.SIGTERM)
        return original(*arguments, **options)

    monkeypatch.setattr(os, step, interrupted)
    code, out, err = command(*COMMANDS[name])
    assert sent[0], "a draft was there"
    assert (code, out) == (143, "")
    assert err.endswith("pdanon: interrupted by SIGTERM\n")
    assert hidden() == []
    assert all(is_whole(path) for path in Path("new").iterdir())


@pytest.mark.parametrize("name", CATCHABLE)
def test_further_signals_do_not_keep_drafts_from_being_removed(name, command, monkeypatch):
    number, unlink, sent = getattr(signal, name), Path.unlink, []

    def interrupted(path, *arguments, **options):
        sent.append(path)
        for each in signals._SIGNALS:  # as a terminal and its shell send them, one after the other
            signal.raise_signal(each)
        return unlink(path, *arguments, **options)

    def fail(*_):
        signal.raise_signal(number)

    monkeypatch.setattr(os, "fsync", fail)
    monkeypatch.setattr(Path, "unlink", interrupted)
    assert command(*COMMANDS["anonymize"])[0] == 128 + number
    assert len(sent) >= 3
    assert hidden() == []


@pytest.mark.parametrize(
    ("module", "step"), [(os, "mkdir"), (os, "chdir"), (os, "fsync"), (demo, "print"), (shutil, "rmtree")]
)
def test_whenever_a_signal_comes_a_demo_leaves_nothing(module, step, command, monkeypatch):
    Path("temporary").mkdir()
    before, original, sent = Path.cwd(), getattr(module, step, print), []
    monkeypatch.setattr(tempfile, "tempdir", str(before / "temporary"))

    def interrupted(*arguments, **options):
        if not sent:
            sent.append(step)
            signal.raise_signal(signal.SIGHUP)
        return original(*arguments, **options)

    monkeypatch.setattr(module, step, interrupted, raising=False)
    code, _, err = command("demo")
    assert sent
    assert (code, err) == (129, "pdanon: interrupted by SIGHUP\n")
    assert Path.cwd() == before
    assert list(Path("temporary").iterdir()) == []
    assert hidden() == []


def test_a_signal_whose_exception_is_discarded_is_reported(command, monkeypatch):
    original = os.fsync

    def discarding(number):
        with contextlib.suppress(KeyboardInterrupt):  # as C code does that asks for an attribute
            signal.raise_signal(signal.SIGTERM)
        return original(number)

    monkeypatch.setattr(os, "fsync", discarding)
    code, _, err = command(*COMMANDS["risk"])
    assert (code, err.splitlines()[-1]) == (143, "pdanon: interrupted by SIGTERM")
    assert is_whole(Path("new/risk.csv"))


def test_a_signal_while_a_target_is_claimed_leaves_no_lock(command, monkeypatch):
    original = trees._lock

    def interrupted(*given):
        original(*given)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(trees, "_lock", interrupted)
    assert command(*COMMANDS["stream"])[0] == 143
    assert hidden() == []


def test_signals_that_are_ignored_stay_so(command, monkeypatch):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as by nohup
    original = os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (signal.raise_signal(signal.SIGHUP), original(number)))
    assert command(*COMMANDS["risk"])[0] == 0
    assert is_whole(Path("new/risk.csv"))


# --- At any moment, in processes of their own

# A process that has imported all forks one for each command, so that a run takes as long as it works.
FORKING = """
import os, sys
from pdanon.cli import main, signals
for line in sys.stdin:
    waits, listens = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        signals._is_command = lambda: True
        signals.end_at_signals()
        os.close(listens)
        try:
            code = main.main(line.rstrip("\\n").split("\\t"))
        except BaseException:
            code = 99
        os._exit(code)
    os.close(listens)
    os.read(waits, 1)  # until the child has closed its end, too: earlier signals would end Python itself
    os.close(waits)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture
def started():
    command = [sys.executable, "-W", "ignore", "-c", FORKING]
    both = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **both) as process:

        def start(name):
            process.stdin.write("\t".join([*COMMANDS[name], "--overwrite"]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline()), lambda: int(process.stdout.readline())

        yield start
        process.stdin.close()


def until_a_draft(seconds):
    """Wait until something is being written, or so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not drafts():
        time.sleep(0.0002)


def clear(*paths):
    for path in paths or list(Path("new").iterdir()):
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_any_moment(name, started):
    rng = random.Random(name)
    for _ in range(2):  # the first run waits for imports
        clear()
        start = time.monotonic()
        _, ended = started(name)
        usual = ended()
        took = time.monotonic() - start
    assert usual in (0, 1)
    outputs = {path for path in Path("new").iterdir() if "stream" not in name or path.suffix == ".csv"}
    caught = dict.fromkeys((*CATCHABLE, "SIGKILL"), 0)
    for number in range(20 if ALL else 6):
        clear()
        for path in outputs:
            if path.name != "rows.parquet":  # of a comparison, which goes on from it
                path.write_bytes(OLD)
        way = number + 6 * (len(name) % 2)  # half of the commands in one half of the ways, others in another
        signal_name = (*CATCHABLE, "SIGKILL")[way % 4]
        sent = getattr(signal, signal_name)
        child, ended = started(name)
        if way % 3:
            until_a_draft(2 * took)
            time.sleep(rng.uniform(0, 0.004))
        else:
            time.sleep(rng.uniform(0, took) * (number > 0))  # the first signal comes at once
        with contextlib.suppress(ProcessLookupError):  # it is done already
            os.kill(child, sent)
        code = ended()
        expected = -sent if signal_name == "SIGKILL" else 128 + sent
        assert code in (expected, usual), (signal_name, code)
        caught[signal_name] += code == expected
        for path in Path("new").iterdir():
            if not path.name.startswith("."):
                assert (path.is_file() and path.read_bytes() == OLD) or is_whole(path), path
        if signal_name != "SIGKILL" or code == usual:
            assert hidden() == []
            continue
        for path in hidden():  # nothing that others can read, but for a file that is empty yet
            assert not path.stat().st_mode & 0o077 or (path.is_file() and not path.stat().st_size)
        if "stream" in name:  # which writes what does not exist
            clear(Path("new/out"), Path("new/out.parquet"))
        _, ended = started(name)
        assert ended() == usual
        assert hidden() == []
    assert sum(caught.values()) > 0
