"""The demo: its figures are those of its files, which it removes however it ends."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest

import pdanon
from pdanon.cli import demo, main
from pdanon.cli.demo import draw_lines, play
from pdanon.cli.output import Outcome

# Signals are not ignored, as SIGINT is in what a shell has put into the background.
LISTENING = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
OTHERS = [("SIGTERM", 143), ("SIGHUP", 129)]
LONGEST = 73  # lines
SECONDS = 30


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty current directory, and one for temporary files."""
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield
    assert Path.cwd() == tmp_path / "here"
    assert [*Path().iterdir(), *(tmp_path / "temporary").iterdir()] == []


def baskets():
    """The products of each customer, counted without pdanon."""
    found = {}
    for customer, product in draw_lines().itertuples(index=False):
        found.setdefault(customer, set()).add(product)
    return list(found.values())


def pairs_of(rows):
    return Counter(pair for row in rows for pair in combinations(sorted(row), 2))


def share_below(rows, k):
    """The share of customers with a pair of products that fewer than k customers have, in percent."""
    pairs = pairs_of(rows)
    return (
        100 * sum(any(pairs[pair] < k for pair in combinations(sorted(row), 2)) for row in rows) / len(rows)
    )


def test_the_figures_are_those_of_the_files(tmp_path, capsys):
    before, commands, printed = baskets(), [], []

    def run(words):
        printed.append(capsys.readouterr().out)
        shown = printed[-1].rpartition("\n$ pdanon ")[2]
        assert shlex.split(shown.replace("\\\n", "")) == words, "a command is printed before it runs"
        commands.append(words[0])
        code = main._print_outcome(words)
        shutil.copytree(Path.cwd(), tmp_path / "files", dirs_exist_ok=True)
        return code

    assert play(run) == 0
    assert commands == ["profile", "anonymize", "audit"]
    out = "".join([*printed, capsys.readouterr().out])
    assert len(out.splitlines()) <= LONGEST
    assert (tmp_path / "files" / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")

    written = pd.read_csv(tmp_path / "files" / "invoices.csv")
    pd.testing.assert_frame_equal(written, draw_lines().reset_index(drop=True), check_dtype=False)
    assert f"{len(before):,} customers bought {len(set().union(*before))} products" in out
    singled_out, below = map(float, re.search(r"2 known +(\S+) % of.*?, (\S+) % with fewer", out).groups())
    assert singled_out == pytest.approx(share_below(before, 2), abs=0.051)
    assert below == pytest.approx(share_below(before, 5), abs=0.051)
    assert below > 10, "the risk is real"

    after = [set(row) for row in pdanon.read_parquet(tmp_path / "files" / "released.parquet")["product"]]
    assert share_below(after, 5) == 0
    assert "verdict    holds" in out
    mapping = pdanon.read_parquet(tmp_path / "files" / "mapping.parquet")
    label = dict(zip(mapping["item"], mapping["generalized"], strict=True))
    known = ast.literal_eval(re.search(r"known = (.*)", out)[1])
    sought = {*known}, {label[each] for each in known}
    counts = [sum(pair <= row for row in rows) for pair, rows in zip(sought, (before, after), strict=True)]
    assert [int(each) for each in re.findall(r"^(\d+)$", out, re.MULTILINE)] == counts
    assert counts[0] == 1 < 5 <= counts[1]
    assert f"a customer bought {' and '.join(known)}." in out
    worst = [int(each) for each in re.findall(r"worst case (\d+) rows? match", out)]
    assert worst[0] == min(pairs_of(before).values())
    assert worst[1] >= min(pairs_of(after).values()) >= 5


def test_the_same_lines_are_drawn_again():
    assert draw_lines().equals(draw_lines())


@pytest.mark.parametrize("failing", ["profile", "anonymize", "audit"])
def test_a_step_that_fails_is_the_last(failing, run, monkeypatch):
    monkeypatch.setitem(main._COMMANDS, failing, lambda _: Outcome({}, lambda: None, 7))
    code, out, _ = run("demo")
    assert code == 7
    assert out.rpartition("$ pdanon ")[2].startswith(failing)


def test_an_error_in_the_attack_is_reported(run, monkeypatch):
    monkeypatch.setattr(demo, "_CODE", "sum([])\nopen('none.parquet')")
    code, out, err = run("demo")
    assert code == 2
    assert out.endswith(">>> sum([])\n0\n>>> open('none.parquet')\n")
    assert err == "pdanon: error: No such file or directory\n  where: none.parquet\n"


@pytest.mark.parametrize("problem", ["a file", "nothing", "unusable", "full"])
def test_files_that_cannot_be_written(problem, tmp_path, run, monkeypatch):
    absent = tmp_path / "absent"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary" if problem == "full" else absent))
    where, got = "TMPDIR", "No such file or directory"
    if problem == "a file":
        absent.touch()
        where, got = str(absent), "Not a directory"
    elif problem == "nothing":
        where = str(absent)
    elif problem == "unusable":
        monkeypatch.setattr(demo, "gettempdir", Mock(side_effect=FileNotFoundError(errno.ENOENT, got)))
    else:
        got = "No space left on device"
        monkeypatch.setattr(pd.DataFrame, "to_csv", Mock(side_effect=OSError(errno.ENOSPC, got)))
    code, out, err = run("demo")
    assert (code, out) == (2, "")
    what, place, cause, hint = err.splitlines()
    assert what == "pdanon: error: the demo cannot write its files"
    assert place.startswith(f"  where: {where}")
    assert cause == f"  got:   {got}"
    assert hint == "  hint:  set TMPDIR to a directory with space that you can write to"


@pytest.mark.parametrize("option", ["extra", "--quiet", "--json", "--overwrite"])
def test_it_has_no_options(option, run):
    code, out, err = run("demo", option)
    assert code == 2
    document = json.loads(out) if option == "--json" else {"command": "demo", "exit_code": 2}
    assert (document["command"], document["exit_code"], option == "--json") == ("demo", 2, out != "")
    shown = "1 after pdanon demo" if option == "extra" else option
    assert f"unrecognized arguments: {shown}\n  hint:  pdanon demo --help\n" in err


@pytest.mark.slow
def test_it_takes_seconds(tmp_path):
    start = os.times()
    command, environment = [sys.executable, "-m", "pdanon", "demo"], os.environ | {"TMPDIR": tempfile.tempdir}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    end = os.times()  # of the processor, whatever else the machine does
    assert end.children_user + end.children_system - start.children_user - start.children_system < SECONDS
    for line in done.stderr.splitlines():  # stages of a loaded machine, and their parts
        assert re.fullmatch(r"pdanon: .*( \.\.\.|[0-9.]+ s)", line)
    assert done.stdout.count("\n$ ") == 4


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    ("name", "code"),
    [("SIGINT", 130), *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS)],
)
def test_a_process_that_is_interrupted_leaves_nothing(name, code):
    environment = os.environ | {"TMPDIR": tempfile.tempdir}
    listening = [sys.executable, "-c", LISTENING, "-m", "pdanon", "demo"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(listening, env=environment, **streams) as running:
        while running.poll() is None and not [*Path(tempfile.tempdir).glob("*/*")]:
            time.sleep(0.001)
        running.send_signal(getattr(signal, name))
        _, err = running.communicate(timeout=600)
    assert running.returncode == code
    assert err.splitlines()[-1].startswith("pdanon: interrupted")  # after the stages of a loaded machine
