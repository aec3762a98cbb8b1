"""Progress bars: shown to who asks for them, and quiet about what a notebook lacks."""

from __future__ import annotations

import re
import sys
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from conftest import frame_of

import pdanon
from pdanon.itemsets import timing

pytest.importorskip("tqdm")


def test_notebook_without_widgets_has_plain_bars_and_no_warning(monkeypatch, capsys):
    def get_ipython():
        """An object of a class that tqdm takes for a notebook's."""
        return object()

    shell = types.ModuleType("IPython")
    shell.get_ipython = get_ipython
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", types.ModuleType("ipykernel.zmqshell"))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    for name in ("tqdm.auto", "tqdm.autonotebook", "tqdm.notebook"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pdanon.config(progress=True):
            pdanon.pcta(frame_of([["a"], ["a"], ["b"]]), k=2)
    assert [str(each.message) for each in caught] == []
    assert "pcta" in capsys.readouterr().err


def bars(capsys):
    """What the last call showed: by label, how many parts."""
    shown = re.findall(r"(\w+): (\d+) parts", capsys.readouterr().err)
    return {label: int(parts) for label, parts in shown}


def test_what_counts_shows_its_parts(capsys):
    frame = frame_of([["a", "b"], ["a", "b"], ["a", "c"], ["b"], ["b"]])
    result = pdanon.pcta(frame, k=2, m=2)
    calls = {
        "risk": lambda: pdanon.risk(frame, k=2, m=3),
        "audit": lambda: pdanon.audit(frame, pdanon.KmAnonymity(2, 3)),
        "refine": lambda: pdanon.refine(frame, result),
        "attack": lambda: pdanon.attack(frame, result, n=5, random_state=0),
        "profile": lambda: pdanon.profile(frame, k=2),
    }
    for label, call in calls.items():
        with pdanon.config(progress=True):
            call()
        assert bars(capsys)[label] > 0


def test_nothing_is_shown_to_who_does_not_ask(capsys):
    frame = frame_of([["a", "b"], ["a", "b"], ["a", "c"], ["b"], ["b"]])
    pdanon.risk(frame, k=2)
    pdanon.refine(frame, pdanon.pcta(frame, k=2, m=2))
    assert capsys.readouterr().err == ""


def test_numbers_are_the_same_with_a_bar():
    frame = frame_of([["a", "b"], ["a", "b"], ["a", "c"], ["b"], ["b"]] * 30)
    with pdanon.config(progress=True):
        shown = pdanon.risk(frame, k=3, m=3)
    pd.testing.assert_frame_equal(shown, pdanon.risk(frame, k=3, m=3))


def test_a_step_that_takes_long_is_logged_by_its_parts(monkeypatch, caplog):
    monkeypatch.setattr(timing, "_LOGGED", 0)
    caplog.set_level("INFO", "pdanon.progress")
    with timing.progress_bar("long", "steps", 3):
        timing.part_done()
        timing.count_steps(2)
        with timing.show_activity("hidden"):
            timing.count_steps()
    texts = [record.getMessage().partition(" steps")[0] for record in caplog.records]
    assert texts == ["long: 0 of 3", "long: 2 of 3", "long: 2 of 3"]


def test_steps_count_in_the_bar_around_them(caplog):
    caplog.set_level("INFO", "pdanon.progress")
    with timing.progress_bar("outer", "steps"):
        with timing.progress_bar("inner", "steps"):
            timing.count_steps(8)
        timing.count_steps()
        with timing.limit_time(0):
            assert timing.call_uncounted(lambda each: timing.count_steps(each) or each, 4) == 4
            with pytest.raises(timing.TimeLimitError):
                timing.count_steps()
        with ThreadPoolExecutor() as pool:  # of other work, which may have another context
            pool.submit(timing.count_steps, 16).result()
    assert [record.getMessage().partition(",")[0] for record in caplog.records] == ["outer: 2 steps"]


def test_a_limit_that_passes_at_the_end_is_no_error(clock, caplog):
    caplog.set_level("INFO", "pdanon.progress")
    with timing.limit_time(1), timing.progress_bar("short", "steps"):
        clock.pass_by(2)
    with (
        pytest.raises(timing.TimeLimitError),
        timing.limit_time(0),
        timing.progress_bar("none", "steps"),
    ):
        timing.count_steps()
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["short"]
