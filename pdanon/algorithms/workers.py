"""Work that several processes share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from signal import SIG_DFL, SIGINT, default_int_handler, getsignal, signal
from threading import Thread
from typing import Any, TypeAlias

from pdanon.itemsets.threads import set_threads
from pdanon.itemsets.timing import Report, report_nothing
from pdanon.itemsets.validation import check_count

__all__ = ["Share", "check_jobs", "processes", "sharing"]

_MOST_PROCESSES = 1000  # more than any machine has use for

# What each of several parts becomes, in their order: a function, and what it is given, part by part.
Share: TypeAlias = Callable[..., list[Any]]


@contextmanager
def processes(n_jobs: int, *prepare: Any) -> Iterator[ProcessPoolExecutor]:
    """Start processes, and end them, whatever happens; what they have not begun is given up then.

    Parameters
    ----------
    n_jobs : int
        How many.
    *prepare : callable, object
        What each does first, and what it is given.
    """
    most, others = min(n_jobs, _MOST_PROCESSES), {*active_children()}
    pool = ProcessPoolExecutor(most, get_context("spawn"), _begin, prepare)
    try:
        yield pool
    except KeyboardInterrupt:  # else what they have begun would be waited for
        for process in {*active_children()} - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(prepare: Callable[..., object] | None = None, *given: Any) -> None:
    """Prepare a process that ends with the one that started it, even if that one is killed."""
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, SIG_DFL)  # Ctrl-C goes to all processes of a terminal, and the first one tells of it
    Thread(target=_end_with_parent, daemon=True).start()
    set_threads(1)  # the processes share the cores already
    if prepare is not None:
        prepare(*given)


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def check_jobs(n_jobs: Any) -> int | Executor:
    """Check who works: a number of processes, at least 1, or an executor that somebody else has started."""
    if isinstance(n_jobs, Executor):
        return n_jobs
    return check_count(n_jobs, "n_jobs", least=1, hint="how many processes work at a time, or an Executor")


@contextmanager
def sharing(n_jobs: int | Executor, report: Report) -> Iterator[Share]:
    """Give a function that does the same with each of several parts, here or in other processes.

    Parameters
    ----------
    n_jobs : int or Executor
        As `check_jobs` returns it; 1 is this process.
    report : callable
        What is done is told to it: step by step here, as the last argument of each call, and part by part
        of other processes.

    Notes
    -----
    What comes back does not depend on which part is done first. If a part fails, its error is raised, and
    parts that have not begun are given up.
    """
    if isinstance(n_jobs, Executor):
        yield lambda function, *given: _shared(n_jobs, report, function, *given)
    elif n_jobs == 1:
        yield lambda function, *given: [function(*each, report) for each in zip(*given, strict=True)]
    else:
        with processes(n_jobs) as pool:
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
