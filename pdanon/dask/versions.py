"""Computations on the workers of a cluster, all with this version of pdanon, and for the rows counted."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any
from warnings import catch_warnings, filterwarnings

import dask
from distributed import get_client

from pdanon.errors import ParameterError


def compute(task: Any) -> Any:
    """Compute a task of Dask.

    Refuse workers with another version of pdanon, or none: they may count or recode in another way.
    """
    check_workers()
    return task.compute()


def persist(tasks: Sequence[Any]) -> list[Any]:
    """Start tasks, and keep their results on the workers; those of one process are computed at once."""
    check_workers()
    with catch_warnings():
        filterwarnings("ignore", "Sending large graph")  # the decisions of regions, which Dask can repeat
        return list(dask.persist(*tasks))


def check_workers() -> None:
    """Check that the workers of the current client have this version of pdanon."""
    try:
        client = get_client()
    except ValueError:  # the threads of this process
        return
    here = version("pdanon")
    # A function of the standard library: workers without pdanon can call it.
    found = client.run(version, "pdanon", on_error="return")
    gone = OSError  # from the connection to a worker that was killed, which computes nothing
    others = {
        worker: known for worker, known in found.items() if known != here and not isinstance(known, gone)
    }
    if others:
        worker = min(others)
        known = others[worker] if isinstance(others[worker], str) else "no pdanon"
        hint = f"install pdanon=={here} on all workers, and start them again"
        got = f"{known} instead of {here}, on {len(others)} of {len(found)} workers"
        raise ParameterError("workers have another version of pdanon", where=worker, got=got, hint=hint)


def change_error(got: str) -> ParameterError:
    """Return the error for rows that differ from those that were counted."""
    hint = "persist the frame first, or write it to files"
    return ParameterError("the rows have changed since they were counted", where="frame", got=got, hint=hint)
