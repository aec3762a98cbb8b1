"""Options of the process: what is set stays or returns, and holds wherever the work is done."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import frame_of

import pdanon
from pdanon.itemsets import threads, timing

FRAME = frame_of([["a", "b"], ["a", "b"], ["a", "c"], ["b"], ["b"]])


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch):
    monkeypatch.delenv("PDANON_THREADS", raising=False)
    with pdanon.config(progress=False, threads=None):
        yield


def test_what_is_set_stays_for_the_rest_of_the_process():
    pdanon.config(threads=3)
    assert threads.count_threads() == 3
    pdanon.config(progress=True)
    assert repr(pdanon.config()) == "pdanon.config(progress=True, threads=3, processes=1)"
    pdanon.config(progress=False)
    assert repr(pdanon.config()) == "pdanon.config(progress=False, threads=3, processes=1)"


def test_a_block_restores_what_it_set_and_nothing_else():
    with pdanon.config(threads=2):
        with pdanon.config(progress=True, threads=3) as inner:
            assert threads.count_threads() == 3
        assert repr(inner) == "pdanon.config(progress=False, threads=2, processes=1)"
        pdanon.config(progress=True)
        with pytest.raises(ZeroDivisionError), pdanon.config(threads=4):
            _ = 1 / 0
        assert threads.count_threads() == 2
    assert repr(pdanon.config()) == "pdanon.config(progress=True, threads=None, processes=1)"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"threads": 4, "progress": "yes"}, "progress must be True or False"),
        ({"progress": None}, "progress must be True or False"),
        ({"progress": True, "threads": 0}, "threads must be an integer of at least 1"),
        ({"progress": True, "bars": 2}, "config has no parameter 'bars'"),
    ],
)
def test_a_call_with_a_mistake_sets_nothing(given, message):
    with pytest.raises(pdanon.ParameterError, match=message) as caught:
        pdanon.config(**given)
    assert isinstance(caught.value, TypeError) == ("bars" in given)
    assert repr(pdanon.config()) == "pdanon.config(progress=False, threads=None, processes=1)"


def test_progress_without_tqdm_is_refused_when_it_is_set(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(pdanon.ParameterError, match=r"needs the package tqdm(.|\n)*pip install"):
        pdanon.config(progress=True)
    assert pdanon.pcta(FRAME, k=2).guarantee.k == 2


def test_old_spellings_are_answered_with_the_new_one(tmp_path):
    pdanon.to_parquet(FRAME, tmp_path / "in.parquet")
    files = tmp_path / "in.parquet", tmp_path / "out.parquet"
    for call in (
        lambda: pdanon.pcta(FRAME, k=2, progress=True),
        lambda: FRAME.txanon.anonymize(k=2, m=1, progress=True),
        lambda: pdanon.tradeoff(FRAME, progress=True),
        lambda: pdanon.stream.pcta(*files, k=2, m=1, progress=True),
        lambda: pdanon.stream.pcta(*files, k=2, progress=True),
        lambda: pdanon.stream.risk(files[0], k=2, progress=True),
    ):
        with pytest.raises(pdanon.ParameterError, match=r"hint:  pdanon.config\(progress=True\)$"):
            call()
    with pytest.raises(AttributeError, match=r"pdanon.config\(threads=n\)"):
        pdanon.set_threads(2)


def test_settings_hold_in_threads(capsys):
    pytest.importorskip("tqdm")

    def work():
        with timing.show_activity("inside"):
            timing.part_done()
        return threads.count_threads()

    with pdanon.config(threads=2, progress=True), ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == 2
        assert threads.share(work, [()] * 2) == [1, 1]
    assert capsys.readouterr().err.count("inside: 1 parts") == 3


def test_a_bar_hides_those_of_parts_of_its_work(capsys):
    pytest.importorskip("tqdm")
    with pdanon.config(progress=True):
        pdanon.anonymize(FRAME, k=2, m=1)
        pdanon.tradeoff(FRAME, k=[2], m=[1])
        pdanon.pcta(FRAME, k=2)
    labels = {line.partition(":")[0] for line in capsys.readouterr().err.replace("\n", "\r").split("\r")}
    assert labels - {""} == {"anonymize", "tradeoff", "pcta"}


WORKERS = """
import pdanon
pdanon.config(progress=True)  # also in the processes, which import this script
if __name__ == "__main__":
    frame = pdanon.datasets.make_baskets(50, 20, random_state=0)
    with pdanon.config(processes=2):
        pdanon.compare(frame, {"pcta": {"k": 2}, "coat": {"k": 2}})
"""


@pytest.mark.slow
def test_processes_show_no_bars(tmp_path):
    pytest.importorskip("tqdm")
    script = tmp_path / "script.py"
    script.write_text(WORKERS)
    shown = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stderr
    assert "compare" in shown
    assert "pcta" not in shown
