"""The command line as a process: who reads what it writes, and who interrupts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from conftest import frame_of

import pdanon
from examples import some
from pdanon.cli import checks, signals

pytestmark = pytest.mark.skipif(os.name != "posix", reason="what closes and signals processes is of POSIX")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with data and a policy."""
    monkeypatch.chdir(tmp_path)
    pdanon.to_parquet(frame_of([{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}]), "in.parquet")
    Path("policy.toml").write_text(POLICY)


# --- Who reads


POLICY = """
input = "in.parquet"
algorithm = "pcta"
parameters = { k = 2 }
[outputs]
release = "out.parquet"
[compare.algorithms.pcta]
k = 2
"""

COMMANDS = {
    "help": ("--help",),
    "demo": ("demo",),
    "algorithms": ("algorithms",),
    "risk": ("risk", "in.parquet", "-k", "2"),
    "audit": ("audit", "in.parquet", "-k", "2"),  # does not hold: exit code 1
    "anonymize": ("anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta", "-k", "2"),
    "run": ("run", "policy.toml"),
    "compare": ("compare", "policy.toml"),
}


def with_output(name, output, before=()):
    """Run a command, with buffered output as users have it."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    command = [*before, sys.executable, "-m", "pdanon", *COMMANDS[name]]
    return subprocess.run(
        command, stdout=output, stderr=subprocess.PIPE, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.slow
def test_nobody_reads_the_output(name):
    reader, writer = os.pipe()
    os.close(reader)
    done = with_output(name, writer)
    os.close(writer)
    assert done.returncode == 141
    assert "rror" not in done.stderr  # only what is going on, where it takes long


@pytest.mark.parametrize("name", some([*COMMANDS], 2))
@pytest.mark.slow
def test_output_cannot_be_written(name):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no such device")
    with open("/dev/full", "w") as full:
        done = with_output(name, full)
    assert done.returncode == 2
    assert done.stderr.endswith("pdanon: error: No space left on device\n  where: standard output\n")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "audit")) for name in some([*COMMANDS], 2)],
)
def test_output_is_closed(name):
    done = with_output(name, None, before=("sh", "-c", 'exec "$@" >&-', "sh"))
    if name == "help":
        assert done.returncode == 0
        return
    assert done.returncode == 2
    assert "pdanon: error: the standard output is closed\n" in done.stderr
    assert not Path("out.parquet").exists()


def test_a_defect_is_no_verdict(run, monkeypatch):
    for error, said in [
        (MemoryError(), "pdanon: error: there is not enough memory\n"),
        (
            RuntimeError("can't start new thread"),
            "pdanon: error: there is not enough memory to start a thread",
        ),
        (RuntimeError(), "Traceback"),
        (IndexError(), "Traceback"),
    ]:
        monkeypatch.setattr(checks, "read", Mock(side_effect=error))
        code, out, err = run("audit", "in.parquet", "-k", "2")
        assert (code, out) == (2, "")
        assert err.startswith(said)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        SystemError("error return without exception set"),
        ImportError("x.so: failed to map segment from shared object"),
    ],
)
def test_an_import_without_memory_is_no_verdict(error, monkeypatch, capfd):
    codes = []
    monkeypatch.setattr(os, "_exit", codes.append)
    signals._report_memory(type(error), error, None)
    assert codes == [2]
    assert capfd.readouterr().err.startswith(
        "pdanon: error: there is not enough memory to load the program\n"
    )


# --- Who interrupts


# SIGINT is not ignored, as it is in what a shell has put into the background.
LISTENING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


def ended_at_the_start(*command, number=signal.SIGINT, module="pandas"):
    """A signal while a module that takes long is imported: it is held back until the signal was sent."""
    Path("hold").mkdir()
    # Short sleeps: a signal that comes just before one is handled after it.
    held = "import time\nprint('importing', flush=True)\nfor _ in range(6000):\n    time.sleep(0.01)\n"
    Path(f"hold/{module}.py").write_text(held)
    paths = os.pathsep.join(["hold", os.path.dirname(os.path.dirname(pdanon.__file__))])
    environment = os.environ | {"PYTHONPATH": paths}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen([sys.executable, "-c", LISTENING, *command], env=environment, **both)
    assert running.stdout.readline() == "importing\n"
    running.send_signal(number)
    _, err = running.communicate(timeout=600)
    return running.returncode, err


@pytest.mark.slow
@pytest.mark.parametrize("command", [("-m", "pdanon"), ("pdanon",)])
def test_interrupt_at_the_start(command):
    Path("pdanon").write_text("import pdanon.cli")  # as the script that pip installs
    module = "pandas" if command == ("-m", "pdanon") else "email"  # which importlib.metadata needs
    ended = ended_at_the_start(*command, "algorithms", module=module)
    assert ended == (130, "pdanon: interrupted\n")


@pytest.mark.parametrize(
    ("name", "code"), [("SIGTERM", 143), pytest.param("SIGHUP", 129, marks=pytest.mark.slow)]
)
def test_other_signals_at_the_start(name, code):
    ended = ended_at_the_start("-m", "pdanon", "algorithms", number=getattr(signal, name))
    assert ended == (code, f"pdanon: interrupted by {name}\n")


def test_interrupts_of_other_programs_are_their_own():
    Path("program.py").write_text("import pdanon")
    code, err = ended_at_the_start("program.py")
    assert code == -signal.SIGINT
    assert "KeyboardInterrupt" in err
