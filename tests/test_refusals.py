"""What is too much is refused before it takes the memory, and what takes long ends at an interrupt."""

from __future__ import annotations

import signal
import time

import numpy as np
import pandas as pd
import pytest
from benchmarks.pages import tables_of
from conftest import frame_of

import pdanon
from pdanon.algorithms.engines import plan, rows_held
from pdanon.algorithms.items import coherence as moles
from pdanon.algorithms.registry import ALGORITHMS, parameters_of
from pdanon.algorithms.relational import publishing
from pdanon.guarantees import parameters
from pdanon.itemsets import Itemsets, as_itemsets, row_loops, support, threads
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import TimeLimitError, limit_time

ROWS = [["a", "b", "c", "d"], ["a", "b", "c"], ["b", "c", "d"], ["a", "d"]]


def dense(rows=3000, n_items=60, share=0.6):
    """Rows of which the sets of eight items are billions."""
    held = np.random.default_rng(0).random((rows, n_items)) < share
    return pd.DataFrame({"items": as_itemsets([np.flatnonzero(row) for row in held])})


def long_rows(n_items=100_000):
    return pd.DataFrame({"items": as_itemsets([np.arange(n_items)] * 2)})


def test_pairs_of_very_long_rows_are_refused_with_an_estimate():
    with pytest.raises(pdanon.ParameterError, match=r"100,000 items, about 5e\+09 pairs, 140 GB"):
        pdanon.audit(long_rows(), pdanon.KmAnonymity(2, 2))
    assert pdanon.audit(long_rows(), pdanon.KmAnonymity(2, 1)).holds


@pytest.mark.parametrize("most", [44, 45])
def test_pairs_are_refused_from_the_first_that_is_too_many(monkeypatch, most):
    monkeypatch.setattr(row_loops, "MOST_PAIRS", most)
    frame = pd.DataFrame({"items": as_itemsets([np.arange(10)] * 2)})  # 45 pairs
    rows = SupportIndex.of(Itemsets.from_series(frame["items"])).rows
    if most < 45:
        with pytest.raises(pdanon.ParameterError, match="10 items, about 45 pairs"):
            row_loops.pair_supports(rows)
    else:
        assert row_loops.pair_supports(rows)[2].tolist() == [2] * 45


@pytest.mark.parametrize("most", [23, 24])
def test_a_list_of_threats_is_refused_from_the_first_that_is_too_many(monkeypatch, most):
    rows = [["a", "b", "c", "d"], *(list(each) for each in ("abc", "abd", "acd", "bcd"))]
    monkeypatch.setattr(support, "MOST_ITEMSETS", most)
    monkeypatch.setattr("pdanon.itemsets.support.MOST_ITEMSETS", most)
    frames = [[f"{item}{number}" for item in row] for number in range(6) for row in rows]
    audit = pdanon.audit(frame_of(frames), pdanon.KmAnonymity(3, 3))  # of each six tables four triples
    assert not audit.holds
    if most < 24:
        with pytest.raises(pdanon.ParameterError, match="too many itemsets to list"):
            _ = audit.threats
    else:
        assert len(audit.threats) == 24


def test_moles_are_refused_when_there_are_too_many(monkeypatch):
    asked = {"h": 1, "k": 3, "p": 3, "private": []}
    expected = frame_of(ROWS).txanon.coherence(**asked)
    monkeypatch.setattr(moles, "MOST_ITEMSETS", 0)
    with pytest.raises(pdanon.ParameterError, match="minimal moles"):
        frame_of(ROWS).txanon.coherence(**asked)
    monkeypatch.setattr(moles, "MOST_ITEMSETS", 10)
    assert frame_of(ROWS).txanon.coherence(**asked).mapping.equals(expected.mapping)


def test_lists_of_constraints_are_refused_with_an_estimate(monkeypatch):
    with pytest.raises(pdanon.ParameterError, match=r"100,000 items: about 5e\+09 itemsets, 500 GB"):
        pdanon.constraints.pairs(long_rows(), 1.0)
    monkeypatch.setattr(parameters, "_MOST_CONSTRAINTS", 6)
    with pytest.raises(pdanon.ParameterError, match="1 constraints: about 7 itemsets"):
        pdanon.constraints.with_subsets([["a", "b", "c"]])
    assert len(pdanon.constraints.pairs(frame_of(ROWS), 1.0)) == 6


def test_more_queries_than_there_is_room_for_are_refused():
    with pytest.raises(pdanon.ParameterError, match="100,000,000 queries of 3 items: about 15 GB"):
        pdanon.Workload.itemsets(frame_of(ROWS), n=10**8, size=3)


def test_sets_of_values_that_are_too_long_are_refused(monkeypatch):
    frame = pd.DataFrame({"town": list("abcdefgh")})
    released = pdanon.incognito
    texts = released(frame, k=8, quasi=["town"]).frame["town"]
    if texts.dtype == object:
        pytest.skip("rows share a text with pandas 2")
    monkeypatch.setattr(publishing, "_MOST_TEXT", int(texts.str.len().sum()))
    released(frame, k=8, quasi=["town"])
    monkeypatch.setattr(publishing, "_MOST_TEXT", int(texts.str.len().sum()) - 1)
    with pytest.raises(pdanon.ParameterError, match="pass a hierarchy"):
        released(frame, k=8, quasi=["town"])


def stopped_by(alarm, call, monkeypatch):
    """Seconds of the processor that a call takes to end when an alarm raises while it waits for a search."""
    rung = []

    def ring(number, frame):
        rung.append(time.process_time())
        raise alarm

    def wait(*given):
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        return original(*given)

    original, before = threads.wait, signal.signal(signal.SIGALRM, ring)
    monkeypatch.setattr(threads, "wait", wait)
    try:
        with pytest.raises(type(alarm)) as caught:
            call()
        taken = time.process_time() - rung[-1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert caught.value is alarm
    return taken


LONG = {
    "audit": lambda frame: pdanon.audit(frame, pdanon.KmAnonymity(5, 8)),
    "threats": lambda frame: pdanon.audit(frame, pdanon.KmAnonymity(5, 8)).threats,
    "risk": lambda frame: pdanon.risk(frame, k=5, m=8),
    "coherence": lambda frame: pdanon.coherence(frame, h=0.9, k=5, p=9, private=[0, 1]),
    "hghs": lambda frame: pdanon.hghs(frame, k=5, m=9, hierarchy=pdanon.Hierarchy.balanced(range(60), 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("call", LONG)
def test_long_searches_end_at_an_interrupt(call, n_threads, monkeypatch):
    frame = dense()
    pdanon.config(threads=n_threads)
    try:
        taken = stopped_by(KeyboardInterrupt(), lambda: LONG[call](frame), monkeypatch)
        assert taken < 2  # it takes a tenth of a second
        monkeypatch.undo()
        small = frame_of(ROWS)
        assert not pdanon.audit(small, pdanon.KmAnonymity(3, 3)).holds  # who was told to stop is another
    finally:
        pdanon.config(threads=None)


@pytest.mark.usefixtures("clock")  # which stands still
def test_a_search_ends_with_the_time_limit(monkeypatch):
    """All itemsets would take far longer than anyone waits."""
    index = SupportIndex.of(Itemsets.from_series(dense()["items"]))
    original, waited = threads.wait, []

    def wait(futures, seconds):
        waited.append(seconds)
        return original(futures, 0.05)

    monkeypatch.setattr(threads, "wait", wait)
    pdanon.config(threads=1)
    try:
        with limit_time(7), pytest.raises(TimeLimitError):
            index.rare(5, 8)
        assert waited == [7]
    finally:
        pdanon.config(threads=None)


ALARMED = {
    "pcta": lambda frame: pdanon.pcta(frame, k=5, m=9),
    "anonymize": lambda frame: pdanon.anonymize(frame, k=5, m=9),
    "compare": lambda frame: pdanon.compare(frame, {"pcta": {"k": 5, "m": 9}}),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("call", ALARMED)
def test_an_alarm_of_the_caller_ends_a_call_with_the_exception_of_the_caller(call, monkeypatch):
    stopped_by(TimeoutError("mine"), lambda: ALARMED[call](dense()), monkeypatch)


# --- Algorithms that need all rows at once

GROUPING = [name for name, record in ALGORITHMS.items() if record.recodes in ("groups", "chunks")]


@pytest.mark.parametrize("name", GROUPING)
def test_files_that_need_one_machine_are_refused_with_their_memory(name, tmp_path):
    for part in range(2):
        pdanon.to_parquet(frame_of(ROWS * (part + 1)), tmp_path / f"{part}.parquet")
    asked = {"k": 2, "hierarchy": 2, "p": 2, "sensitive": ["a"]}
    own = {key: value for key, value in asked.items() if key in parameters_of(ALGORITHMS[name].function)}
    with pytest.raises(pdanon.ParameterError, match="needs all rows at once") as caught:
        getattr(pdanon.stream, name)(tmp_path, tmp_path.with_name("released"), **own)
    held = f"16 GB hold about {rows_held(name):,} rows of six items; or pass one of apriori"
    assert f"its 12 rows take about 0.1 GB; {held}" in str(caught.value)
    with pytest.raises(pdanon.ParameterError, match=f"into memory: {held}"):
        plan(name, own)
    with pytest.raises(pdanon.ParameterError) as caught:
        plan(name, own, lambda: 10**9)
    assert f"its 1,000,000,000 rows take about {ALGORITHMS[name].bytes_per_row:,.1f} GB" in str(caught.value)


def test_the_memory_that_messages_state_is_the_measured_one():
    (table,) = tables_of("speed/growth.md", "groups").values()
    measured = table.set_index("algorithm")["bytes a row"].astype(int)
    assert {*measured.index} == {*GROUPING}
    for name in GROUPING:
        assert measured[name] <= ALGORITHMS[name].bytes_per_row <= 1.02 * measured[name]
