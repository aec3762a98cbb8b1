"""Workers that are killed at any moment of a release: it is the same, and nothing half is there."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from time import perf_counter

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pdanon.datasets
import pytest
from test_dask import client  # noqa: F401 - a fixture
from test_dask_tables import run
from test_stream_tables import table
from test_stream_units import LONG

import pdanon
import pdanon.dask
from examples import ALL, some

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning", "ignore::pdanon.UselessWarning"),
]

RULES = {"rules": {"m": 2, "sensitive": ["p0010"]}, "suppress": True}
LINES = pd.DataFrame({"who": np.arange(9000) // 3, "what": np.arange(9000) % 7}).astype({"what": "string"})
FAMILIES = {
    "apriori": lambda: divided(wide()).txanon.apriori(k=5, m=2, hierarchy=3),
    "pcta, by rows": lambda: divided(wide()).txanon.pcta(k=5, m=3),
    "pcta, by pairs": lambda: divided(narrow()).txanon.pcta(k=5, m=2),
    "lra": lambda: divided(wide()).txanon.lra(k=5, m=2, hierarchy=3, parts=4),
    "ps_rules": lambda: divided(narrow()).txanon.ps_rules(**RULES, k=5, c=0.5),
    "rum_bound": lambda: run(divided(table(3, 400)), "rum_bound", block_rows=50),
    "mondrian": lambda: run(divided(table(3, 400)), "mondrian", block_rows=50),
    "full_subtree": lambda: run(divided(table(3, 400)), "full_subtree"),
    "lines": lambda: divided(LINES).txanon.by(**LONG).pcta(k=5, m=1),
}
# Moments for each family; each starts a process again.
KILLS = int(os.environ.get("PDANON_KILLS", "2" if ALL else "1"))


def narrow():
    """Many rows of few items: pairs are fewer."""
    return pdanon.datasets.make_baskets(6000, 20, random_state=1)


def wide():
    return pdanon.datasets.make_baskets(900, 60, random_state=1)


def divided(frame):
    return dd.from_map(rows_of, range(8), frame=frame, meta=frame.iloc[:0])


def rows_of(number, frame):
    bounds = np.linspace(0, len(frame), 9).astype(int)
    return frame.iloc[bounds[number] : bounds[number + 1]]


def released(name, directory):
    """The written rows of a release, and its mapping."""
    result = FAMILIES[name]()
    paths = result.to_parquet(directory)
    mapping = result.mapping if getattr(result, "local_mapping", None) is None else result.local_mapping
    frame = pd.concat([pdanon.read_parquet(path) for path in paths])
    return frame.astype("object").astype("str").to_csv(), pd.DataFrame(dask.compute(mapping)[0]).to_csv()


def kill(cluster, after, rng, ended):
    """Kill a worker in some seconds, unless the release has ended."""
    nanny = rng.choice(list(cluster.workers.values()))
    # The process is asked of its nanny: a worker that was killed before may still be starting.
    if not ended.wait(after) and nanny.pid is not None:
        with suppress(ProcessLookupError):
            os.kill(nanny.pid, signal.SIGKILL)


@pytest.mark.parametrize("name", some([*FAMILIES], 2))
def test_the_release_is_the_same_if_a_worker_is_killed(name, client, tmp_path):  # noqa: F811
    rng = np.random.default_rng(len(name))
    with dask.config.set(scheduler=None), ThreadPoolExecutor(1) as thread:
        released(name, tmp_path / "first")
        start = perf_counter()
        expected = released(name, tmp_path / "whole")
        seconds = perf_counter() - start
        for number in range(KILLS):
            client.wait_for_workers(2, timeout=600)
            ended = Event()
            killed = thread.submit(kill, client.cluster, rng.uniform(0, seconds), rng, ended)
            found = released(name, tmp_path / f"killed-{number}")
            ended.set()
            killed.result()
            assert found == expected
    assert len(os.listdir(tmp_path)) == KILLS + 2
