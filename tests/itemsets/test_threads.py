"""Threads: how many there may be, how work is divided, and what comes back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pdanon
from pdanon.itemsets import Itemsets, SupportIndex, deadline, threads


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch):
    monkeypatch.delenv("PDANON_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    yield
    pdanon.set_threads(None)


def test_the_cores_of_the_process_by_default():
    assert threads.count_threads() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("text", ["0", "x", "", "-1", "1.5", "99999999999999999999", "٣"])
def test_a_variable_that_is_no_number_is_refused(monkeypatch, text):
    monkeypatch.setenv("PDANON_THREADS", text)
    with pytest.raises(pdanon.ParameterError, match="PDANON_THREADS must be an integer"):
        threads.count_threads()


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True, 10**9])
def test_a_number_that_is_none_is_refused(n):
    with pytest.raises(pdanon.ParameterError, match="n must be an integer of at least 1"):
        pdanon.set_threads(n)


def test_what_is_set_last_in_the_program_wins(monkeypatch):
    monkeypatch.setenv("PDANON_THREADS", "3")
    assert threads.count_threads() == 3
    pdanon.set_threads(5)
    assert threads.count_threads() == 5
    pdanon.set_threads(None)
    assert threads.count_threads() == 3


def test_threads_of_others_work_alone_unless_a_number_is_set():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads.count_threads).result() == 1
        pdanon.set_threads(2)
        assert pool.submit(threads.count_threads).result() == 2


def test_workers_that_are_told_to_use_one_core_do(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads.count_threads() == 1


def test_no_thread_starts_threads():
    pdanon.set_threads(3)
    assert threads.share(threads.count_threads, [()] * 3) == [1, 1, 1]
    assert threads.count_threads() == 3


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("steps", [0, 1, 100_000, 1_000_000])
def test_parts_are_all_things_in_order_and_about_as_large(n, steps):
    pdanon.set_threads(n)
    work = np.random.default_rng(0).multinomial(steps, np.ones(1000) / 1000)
    parts = threads.even_parts(np.append(0, np.cumsum(work)))
    assert [number for begin, end in parts for number in range(begin, end)] == list(range(1000))
    assert len(parts) == max(min(n, steps // 100_000), 1)
    sizes = [work[begin:end].sum() for begin, end in parts]
    assert max(sizes) - min(sizes) <= 2 * work.max()


def test_a_part_for_nothing():
    assert threads.even_parts(np.zeros(1, np.int64)) == [(0, 0)]


def test_results_are_in_order_and_parts_run_at_a_time():
    pdanon.set_threads(2)
    both = threading.Barrier(2, timeout=10)

    def wait_for_the_other(number):
        both.wait()
        time.sleep(0.02 * (1 - number))
        return number

    assert threads.share(wait_for_the_other, [(0,), (1,)]) == [0, 1]


def test_the_error_of_a_part_is_raised_and_the_rest_given_up():
    pdanon.set_threads(2)
    begun = []

    def fail_at_first(number):
        begun.append(number)
        if number == 0:
            raise ValueError(number)
        time.sleep(0.05)

    with pytest.raises(ValueError, match="0"):
        threads.share(fail_at_first, [(number,) for number in range(100)])
    assert len(begun) < 10


def test_a_time_limit_holds_in_threads():
    pdanon.set_threads(2)
    with deadline.limited(0), pytest.raises(deadline.TimeLimitError):
        threads.share(deadline.check_time, [()] * 2)


def test_the_variable_is_refused_where_a_release_is_asked_for():
    code = "import pandas as pd, pdanon; pd.DataFrame({'items': [['a'], ['a']]}).txanon.pcta(k=2)"
    environment = os.environ | {"PDANON_THREADS": "none"}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "ParameterError: PDANON_THREADS must be" in ended.stderr


@pytest.fixture(scope="module")
def baskets():
    return pdanon.datasets.make_baskets(60_000, 200, random_state=0)[["items"]]


def counts(frame):
    """What threads share, in numbers."""
    itemsets = Itemsets.from_series(frame["items"])
    index = SupportIndex.of(itemsets)
    rare = index.rare(40, 3)
    found = index.supports(rare.codes, rare.offsets)
    assert (found == rare.supports).all()
    tables = [index.pairs_where(lambda supports: supports > 0), (rare.codes, rare.offsets, rare.supports)]
    return [
        *(itemsets.codes, itemsets.offsets, *tables[0], *tables[1]),
        *(index.holding(rare), index.exposure(40, 3)),
    ]


def test_every_number_is_the_same_for_any_number_of_threads(baskets):
    pdanon.set_threads(1)
    alone = counts(baskets)
    for n in (2, 3, 8):
        pdanon.set_threads(n)
        for expected, found in zip(alone, counts(baskets), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_release_is_the_same_for_any_number_of_threads(baskets):
    released = []
    for n in (1, 2, 8):
        pdanon.set_threads(n)
        result = baskets.txanon.pcta(k=25, m=3)
        released.append((result.frame, result.mapping, result.loss))
    for other in released[1:]:
        for expected, found in zip(released[0], other, strict=True):
            assert found.equals(expected)
