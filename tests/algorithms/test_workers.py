"""Work that processes share: what comes back is in order, and what fails is told as in one process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from executors import LastFirst

from pdanon import config
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.itemsets.threads import count_threads, sharing
from pdanon.itemsets.timing import COUNTER, assigned, count_steps


def divided(number, by):
    if not by:
        raise InfeasibleError("nothing is left", where="by", got=number)
    count_steps(3)
    return number // by


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(1, id="1"),
        pytest.param(2, id="2", marks=pytest.mark.slow),
        pytest.param(LastFirst(), id="late"),
        pytest.param(ThreadPoolExecutor(2), id="threads"),
    ],
)
def test_results_are_in_order(jobs):
    told = []
    with assigned(COUNTER, told.append), sharing(jobs) as share:
        assert share(divided, [10, 21, 30, 41], [5, 3, 5, 2]) == [2, 7, 6, 20]
        assert share(divided, [], []) == []
    assert told == ([3] * 4 if jobs == 1 else [1] * 4)


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(1, id="1"),
        pytest.param(2, id="2", marks=pytest.mark.slow),
        pytest.param(ThreadPoolExecutor(1), id="threads"),
    ],
)
def test_the_first_error_is_that_of_one_process(jobs):
    with pytest.raises(InfeasibleError) as caught, sharing(jobs) as share:
        share(divided, [1, 2, 3], [1, 0, 0])
    assert str(caught.value) == "nothing is left\n  where: by\n  got:   2"
    assert caught.value.partial is None


def test_what_has_not_begun_when_one_fails_is_given_up():
    begun, told = [], Event()

    def work(number):
        begun.append(number)
        if number:
            told.wait(60)
        raise InfeasibleError("nothing is left")

    with ThreadPoolExecutor(1) as pool:
        begun_by_others = pool.submit(sum, [1, 2])
        with pytest.raises(InfeasibleError), sharing(pool) as share:
            share(work, range(1000))
        told.set()
        assert begun_by_others.result() == 3
        assert pool.submit(sum, [3, 4]).result() == 7  # whose executor it is decides when it ends
        assert len(begun) <= 2  # the thread may begin another until all are given up


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, None, "2", ThreadPoolExecutor])
def test_refusals(jobs):
    with pytest.raises(ParameterError, match="processes must be an integer of at least 1") as caught:
        config(processes=jobs)
    assert "hint:  pass a number of processes" in str(caught.value)


# SIGINT is not ignored, as it is in what a shell has put into the background.
AT_WORK = """
import os, signal, sys, time
from pathlib import Path
from pdanon import config
from pdanon.itemsets.threads import sharing

def work(number):
    Path(f"{number}.pid").write_text(str(os.getpid()))
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with sharing(2) as share:
        share(work, [1, 2])
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked for there")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_processes_end_with_the_one_that_started_them(tmp_path, number):
    (tmp_path / "script.py").write_text(AT_WORK)
    paths = os.pathsep.join(sys.path)
    running = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}
    )
    files = [tmp_path / "1.pid", tmp_path / "2.pid"]
    assert soon(lambda: all(file.exists() and file.read_text() for file in files))
    running.send_signal(number)
    assert running.wait(600) == -number
    assert soon(lambda: not any(Path(f"/proc/{file.read_text()}").exists() for file in files))


def soon(happens):
    """Whether something happens within ten minutes, as processes start slowly on a busy machine."""
    for _ in range(6000):
        if happens():
            return True
        time.sleep(0.1)
    return False


def threads_of(number):
    return count_threads()


@pytest.mark.slow
def test_processes_that_share_the_cores_start_no_threads():
    with config(threads=3), sharing(2) as share:
        assert share(threads_of, [0, 1, 2]) == [1, 1, 1]
        assert share(divided, [10, 21, 30, 41], [5, 3, 5, 2]) == [2, 7, 6, 20]
