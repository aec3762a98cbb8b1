"""Tasks for the workers of a cluster, all with this version of pdanon, and for the rows counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from math import isqrt
from typing import Any
from warnings import catch_warnings, filterwarnings

import dask
import dask.dataframe as dd
from distributed import get_client

from pdanon.errors import ParameterError
from pdanon.itemsets.memory import returning_unused

_FAN_IN = 8  # parts that are merged in one task


def compute(tasks: Any) -> Any:
    """Compute a task of Dask, or each of a list."""
    # Refuse workers with another version of pdanon, or none: they may count or recode in another way.
    check_workers()
    return dask.compute(tasks)[0]


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


def once(value: Any) -> Any:
    """Return a node of the graph, instead of a copy in each task."""
    return dask.delayed(value, traverse=False)


def each_part(function: Callable[..., Any], frame: dd.DataFrame, *given: Any) -> list[Any]:
    """Return the results of a function of each partition and its number, not computed yet."""
    call = dask.delayed(function)
    return [call(part, number, *given) for number, part in enumerate(frame.to_delayed())]


def merge_parts(parts: list[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Merge adjacent parts, some at a time, until there is one."""
    while len(parts) > 1:
        groups = range(0, len(parts), _FAN_IN)
        parts = [dask.delayed(join)(parts[first : first + _FAN_IN]) for first in groups]
    return parts[0]


def exchange(parts: Sequence[Any], n: int) -> list[list[Any]]:
    """Return the first pieces of all parts, the second ones, and so on; some parts together."""
    # Tasks that collect adjacent pieces of adjacent parts are fewer than the pieces.
    size = isqrt(max(n, len(parts)))
    collect = dask.delayed(_collect)
    collected = [
        [
            collect([part[start : start + size] for part in parts[first : first + size]])
            for start in range(0, n, size)
        ]
        for first in range(0, len(parts), size)
    ]
    return [[own[number // size][number % size] for own in collected] for number in range(n)]


@returning_unused
def _collect(parts: list[list[Any]]) -> list[tuple[Any, ...]]:
    return [*zip(*parts, strict=True)]
