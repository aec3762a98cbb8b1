"""Threads: how many there may be, how work is divided, and what comes back."""

from __future__ import annotations

import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given, strategies as st

import pdanon
from pdanon.itemsets import Itemsets, SupportIndex, row_loops, threads, timing


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch):
    monkeypatch.delenv("PDANON_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with pdanon.config(threads=None):
        yield


def test_the_cores_of_the_process_by_default():
    assert threads.count_threads() == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("text", ["0", "x", "", "-1", "1.5", "99999999999999999999", "٣"])
def test_a_variable_that_is_no_number_is_refused(monkeypatch, text):
    monkeypatch.setenv("PDANON_THREADS", text)
    with pytest.raises(pdanon.ParameterError, match="PDANON_THREADS must be an integer"):
        threads.count_threads()


@pytest.mark.parametrize("n", [0, -1, 1.5, "2", True, 10**9])
def test_a_number_that_is_none_is_refused(n):
    with pytest.raises(pdanon.ParameterError, match="threads must be an integer of at least 1"):
        pdanon.config(threads=n)


def test_what_is_set_last_in_the_program_wins(monkeypatch):
    monkeypatch.setenv("PDANON_THREADS", "3")
    assert threads.count_threads() == 3
    pdanon.config(threads=5)
    assert threads.count_threads() == 5
    pdanon.config(threads=None)
    assert threads.count_threads() == 3


def test_threads_of_others_work_alone_unless_a_number_is_set():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(threads.count_threads).result() == 1
        pdanon.config(threads=2)
        assert pool.submit(threads.count_threads).result() == 2


def test_workers_that_are_told_to_use_one_core_do(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads.count_threads() == 1


def test_no_thread_starts_threads():
    pdanon.config(threads=3)
    assert threads.share(threads.count_threads, [()] * 3) == [1, 1, 1]
    assert threads.count_threads() == 3


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("steps", [0, 1, 100_000, 1_000_000])
def test_parts_are_all_things_in_order_and_about_as_large(n, steps):
    pdanon.config(threads=n)
    work = np.random.default_rng(0).multinomial(steps, np.ones(1000) / 1000)
    parts = threads.even_parts(np.append(0, np.cumsum(work)))
    assert [number for begin, end in parts for number in range(begin, end)] == list(range(1000))
    assert len(parts) == max(min(n, steps // 100_000), 1)
    sizes = [work[begin:end].sum() for begin, end in parts]
    assert max(sizes) - min(sizes) <= 2 * work.max()


def test_a_part_for_nothing():
    assert threads.even_parts(np.zeros(1, np.int64)) == [(0, 0)]


def test_results_are_in_order_and_parts_run_at_a_time():
    pdanon.config(threads=2)
    both, second_ends = threading.Barrier(2, timeout=60), threading.Event()

    def wait_for_the_other(number):
        both.wait()
        if number == 1:
            second_ends.set()
        assert second_ends.wait(60)
        return number

    assert threads.share(wait_for_the_other, [(0,), (1,)]) == [0, 1]


def test_the_error_of_a_part_is_raised_and_the_rest_given_up(monkeypatch):
    pdanon.config(threads=2)
    begun, given_up = [], threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait=True, *, cancel_futures=False):
            super().shutdown(wait=False, cancel_futures=cancel_futures)
            given_up.set()
            super().shutdown(wait)

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Pool)

    def fail_at_first(number):
        begun.append(number)
        if number == 0:
            raise ValueError(number)
        given_up.wait(60)

    with pytest.raises(ValueError, match="0"):
        threads.share(fail_at_first, [(number,) for number in range(1000)])
    assert len(begun) <= 3  # both threads begin one, and who fails may begin another until all are given up


def test_a_time_limit_holds_in_threads():
    pdanon.config(threads=2)
    with timing.limit_time(0), pytest.raises(timing.TimeLimitError):
        threads.share(timing.check_time, [()] * 2)


def test_a_timeout_of_a_part_is_its_own_error():
    pdanon.config(threads=2)
    mine = TimeoutError("mine")

    def fail():
        raise mine

    with timing.limit_time(60), pytest.raises(TimeoutError) as caught:
        threads.search(fail, [()] * 2, 0, limited=True)
    assert caught.value is mine


@pytest.mark.parametrize(
    "call",
    [
        lambda frame: frame.txanon.pcta(k=2),
        lambda frame: pdanon.disassociate(frame, k=2, m=2),
        lambda frame: pdanon.mondrian(frame.assign(age=1), k=2, quasi=["age"]),
        lambda frame: pdanon.risk(frame, k=2),
        lambda frame: pdanon.profile(frame),
        lambda frame: pdanon.KmAnonymity(2, 2).audit(frame),
        lambda frame: pdanon.from_long(frame.explode("items").assign(by=1), by="by", item="items"),
    ],
)
def test_the_variable_is_refused_by_each_call(call, monkeypatch):
    monkeypatch.setenv("PDANON_THREADS", "none")
    with pytest.raises(pdanon.ParameterError, match="PDANON_THREADS must be"):
        call(pd.DataFrame({"items": [["a"], ["a"]]}))


@pytest.mark.parametrize("steps", [0, 1, 2**14, 2**16, 2**20])
@pytest.mark.parametrize("most", [1, 4, 51])
def test_many_parts_are_all_things_in_order_whatever_the_threads(steps, most):
    before = np.linspace(0, steps, 1001).astype(np.int64)
    parts = []
    for n in (1, 2, 8):
        pdanon.config(threads=n)
        parts.append(threads.many_parts(before, most))
    assert parts[0] == parts[1] == parts[2]
    assert [number for begin, end in parts[0] for number in range(begin, end)] == list(range(1000))
    assert len(parts[0]) == min(most, steps // 2**14 + 1)


def test_no_part_is_empty():
    assert threads.many_parts(np.array([0, 2**20]), 16) == [(0, 1)]
    assert threads.many_parts(np.array([0, 1, 2, 2**20, 2**20 + 1]), 16) == [(0, 3), (3, 4)]
    assert threads.many_parts(np.zeros(1, np.int64), 16) == [(0, 0)]


def test_things_are_made_ahead_in_their_order(monkeypatch):
    monkeypatch.setattr(threads, "_WORTH", 3)
    makers = []

    def made():
        for number in range(6):
            makers.append(threading.current_thread())
            yield number

    for n in (1, 2, 8):
        pdanon.config(threads=n)
        makers.clear()
        assert list(threads.prefetch(made(), lambda number: number)) == list(range(6))
        assert [maker is threading.main_thread() for maker in makers] == [True] * 4 + [n == 1] * 2


def test_the_next_thing_is_made_while_one_is_in_use():
    pdanon.config(threads=2)
    both = threading.Barrier(2, timeout=60)

    def made():
        yield 0
        both.wait()
        yield 1

    things = threads.prefetch(made(), lambda _: 10**6)
    assert next(things) == 0
    both.wait()
    assert list(things) == [1]


def test_an_error_of_making_is_raised_in_its_place():
    pdanon.config(threads=2)

    def made():
        yield from (0, 1)
        raise ValueError("two")

    things = threads.prefetch(made(), lambda _: 10**6)
    assert [next(things), next(things)] == [0, 1]
    with pytest.raises(ValueError, match="two"):
        next(things)


def test_nothing_goes_on_when_what_is_made_is_let_go():
    pdanon.config(threads=2)
    before = {*threading.enumerate()}
    things = threads.prefetch(iter(range(100)), lambda _: 10**6)
    assert [next(things), next(things)] == [0, 1]
    assert len({*threading.enumerate()} - before) == 1
    things.close()
    assert {*threading.enumerate()} <= before


@pytest.fixture(scope="module")
def baskets():
    """Enough work for eight threads wherever work is divided."""
    return pdanon.datasets.make_baskets(60_000, 40, random_state=0)[["items"]]


def counts(frame):
    """What threads share, in numbers."""
    itemsets = Itemsets.from_series(frame["items"])
    index = SupportIndex.of(itemsets)
    rare = index.rare(40, 3)
    found = index.supports(rare.codes, rare.offsets)
    assert (found == rare.supports).all()
    tables = [index.sorted_pairs(), (rare.codes, rare.offsets, rare.supports)]
    return [
        *(itemsets.codes, itemsets.offsets, *tables[0], *tables[1]),
        *(index.contains_any(rare), index.exposure(40, 3)),
    ]


@pytest.mark.slow
def test_every_number_is_the_same_for_any_number_of_threads(baskets):
    pdanon.config(threads=1)
    alone = counts(baskets)
    for n in (2, 8):
        pdanon.config(threads=n)
        for expected, found in zip(alone, counts(baskets), strict=True):
            np.testing.assert_array_equal(found, expected)


def counts_of_rows(rows, weights, targets):
    """What threads share of rows of codes from 0 to 7, in numbers."""
    codes = np.array([code for row in rows for code in sorted(row)], np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    index = SupportIndex(codes, offsets, 8, np.array(weights[: len(rows)], np.int64))
    found = [*index.transpose, index.singles, *index.sorted_pairs()]
    found += [*row_loops.pair_supports(index.rows), index.recode(np.array(targets), 8).offsets]
    for repeats in (False, True):
        found += row_loops.recode_rows(codes[::-1].copy(), offsets, np.array(targets), 8, repeats=repeats)
    numbers, distinct = index.number_rows()
    found += [numbers, distinct.codes, distinct.offsets, distinct.weights]
    for m in (1, 2, 3, 4, None):
        rare = index.rare(3, m or 8)
        found += [index.exposure(3, m), rare.codes, rare.offsets, rare.supports, index.contains_any(rare)]
    return found


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_distinct_rows_are_numbered_as_they_come(n, monkeypatch):
    monkeypatch.setattr(threads, "_WORTH", 1)
    pdanon.config(threads=n)
    rows = [(1, 2), (), (0,), (1, 2), (), (0,), (2,), (1, 2)]
    codes, offsets = (
        np.array([code for row in rows for code in row], np.int32),
        np.cumsum([0, *map(len, rows)]),
    )
    numbers, distinct = SupportIndex(codes, offsets, 3, np.arange(8) + 1).number_rows()
    assert numbers.tolist() == [0, 1, 2, 0, 1, 2, 3, 0]
    assert distinct.codes.tolist() == [1, 2, 0, 2]
    assert distinct.offsets.tolist() == [0, 2, 2, 3, 4]
    assert distinct.weights.tolist() == [1 + 4 + 8, 2 + 5, 3 + 6, 7]


@pytest.mark.slow
@given(
    st.lists(st.sets(st.integers(0, 7)), max_size=80),
    st.lists(st.integers(1, 3), min_size=80, max_size=80),
    st.lists(st.integers(-1, 7), min_size=8, max_size=8),
)
def test_every_number_of_few_rows_is_the_same_for_any_number_of_threads(rows, weights, targets):
    pdanon.config(threads=1)
    alone = counts_of_rows(rows, weights, targets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "_WORTH", 1)
        patch.setattr(threads, "_PART", 1)
        for n in (1, 2, 3, 8):
            pdanon.config(threads=n)
            for expected, found in zip(alone, counts_of_rows(rows, weights, targets), strict=True):
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype


def test_the_transpose_is_that_of_a_naive_loop(monkeypatch):
    monkeypatch.setattr(threads, "_WORTH", 10)
    rng = np.random.default_rng(0)
    rows = [sorted(rng.choice(12, size=rng.integers(0, 9), replace=False)) for _ in range(300)]
    codes, offsets = (
        np.array([code for row in rows for code in row], np.int32),
        np.cumsum([0, *map(len, rows)]),
    )
    places = [(code, number) for number, row in enumerate(rows) for code in row]
    order = sorted(range(len(places)), key=lambda place: places[place])
    for n in (1, 2, 3, 8):
        pdanon.config(threads=n)
        starts, tids, positions = row_loops.transpose(codes, offsets, 12)
        assert starts.tolist() == [0, *np.cumsum(np.bincount(codes, minlength=12)).tolist()]
        assert tids.tolist() == [places[place][1] for place in order]
        assert positions.tolist() == order


def test_small_tables_start_no_thread(monkeypatch):
    def started(*_):
        raise AssertionError("a thread was started")

    monkeypatch.setattr(threads, "ThreadPoolExecutor", started)
    pdanon.config(threads=8)
    frame = pdanon.datasets.make_baskets(1500, 100, random_state=0)[["items"]]
    counts(frame)
    assert not pdanon.LmDiversity(l=2, m=3, sensitive=frame["items"].iloc[0][:1], k=4).audit(frame).holds


@pytest.mark.slow
def test_a_release_is_the_same_for_any_number_of_threads(baskets):
    released = []
    for n in (1, 2, 8):
        pdanon.config(threads=n)
        result = baskets.txanon.pcta(k=25, m=3)
        released.append((result.frame, result.mapping, result.loss))
    for other in released[1:]:
        for expected, found in zip(released[0], other, strict=True):
            assert found.equals(expected)


def long_table(frame):
    """The lines of a table in any order."""
    lines = pdanon.to_long(frame).sample(frac=1, random_state=0)
    return pdanon.from_long(lines, by="row", item="items")


def ordinary(frame):
    """Items of middling support: sensitive ones for groups of rows."""
    return list(frame["items"].explode().value_counts().index[20:23])


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        lambda frame: frame.txanon.pcta(k=5, m=2),
        lambda frame: frame.txanon.coat(k=5, m=3),
        lambda frame: frame.txanon.cahd(p=5, sensitive=ordinary(frame)),
        lambda frame: frame.txanon.disassociate(k=5, m=2),
        long_table,
        lambda frame: frame.txanon.apriori(k=5, m=2, hierarchy=3),
        lambda frame: frame.txanon.cahd(p=5, sensitive=ordinary(frame), k=5, order="nn"),
        lambda frame: frame.txanon.partition(k=5, hierarchy=3),
        lambda frame: pdanon.refine(frame, frame.txanon.pcta(k=5, m=2)),
    ],
    ids=["pcta", "coat", "cahd", "disassociate", "from_long", "apriori", "cahd nn", "partition", "refine"],
)
def test_every_byte_of_a_release_is_the_same_for_any_number_of_threads(call, monkeypatch):
    monkeypatch.setattr(threads, "_WORTH", 50)
    monkeypatch.setattr(threads, "_PART", 50)
    table = pdanon.datasets.make_baskets(300, 40, random_state=0)[["items"]]
    made = []
    for n in (1, 2, 3, 8):
        pdanon.config(threads=n)
        made.append(call(table))
    for other in made[1:]:
        for expected, found in zip(parts_of(made[0]), parts_of(other), strict=True):
            assert found == expected


def parts_of(made):
    """The bytes of a table, or of the tables of a release."""
    tables = [made] if isinstance(made, pd.DataFrame) else [made.frame, made.mapping, made.loss.to_frame()]
    for table in tables:
        written = io.BytesIO()
        pa.feather.write_feather(pa.Table.from_pandas(table), written, compression="uncompressed")
        yield written.getvalue()
