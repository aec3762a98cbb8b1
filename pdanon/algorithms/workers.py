"""Worker processes, and work that they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal
from threading import Thread
from typing import Any, TypeAlias

from pdanon.itemsets.threads import config
from pdanon.itemsets.timing import Report, report_nothing

_MOST_PROCESSES = 1000  # more than any machine can use

# Applies a function to the arguments of each part, and returns the results in order.
Share: TypeAlias = Callable[..., list[Any]]


@contextmanager
def processes(number: int, *prepare: Any) -> Iterator[ProcessPoolExecutor]:
    """Start processes, and end them with the block; work that has not started is then canceled."""
    # Each process first calls the function ``prepare[0]`` with the other values.
    most, others = min(number, _MOST_PROCESSES), {*active_children()}
    pool = ProcessPoolExecutor(most, get_context("spawn"), _begin, prepare)
    try:
        yield pool
    except KeyboardInterrupt:  # otherwise the block waits for running work
        for process in {*active_children()} - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(prepare: Callable[..., object] | None = None, *given: Any) -> None:
    """Prepare a process that ends with its parent, even if the parent is killed."""
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, SIG_DFL)  # Ctrl-C reaches all processes of a terminal; only the parent reports it
    Thread(target=_end_with_parent, daemon=True).start()
    config(progress=False, threads=1, processes=1)  # the processes already share the cores
    if prepare is not None:
        prepare(*given)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def sharing(jobs: int | Executor, report: Report) -> Iterator[Share]:
    """Return a function that applies another to each of several parts, here or in other processes."""
    # One job is this process. It reports each step, by the last argument of each call; for other processes,
    # each part is reported. Results do not depend on the order in which parts finish. If a part fails, its
    # error is raised, and parts that have not started are canceled.
    if isinstance(jobs, Executor):
        yield lambda function, *given: _shared(jobs, report, function, *given)
    elif jobs == 1:
        yield lambda function, *given: [function(*each, report) for each in zip(*given, strict=True)]
    else:
        with processes(jobs) as pool:
            yield lambda function, *given: _shared(pool, report, function, *given)


def _shared(pool: Executor, report: Report, function: Callable[..., Any], *given: Iterable[Any]) -> list[Any]:
    futures = [pool.submit(function, *each, report_nothing) for each in zip(*given, strict=True)]
    results = []
    try:
        for future in futures:
            results.append(future.result())
            report(1)
    finally:
        for future in futures:
            future.cancel()
    return results
