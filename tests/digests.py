"""Digests of what is drawn, decided and printed, call by call: the same in every process.

``python tests/digests.py THREADS [FILE]`` prints them as JSON, for a small table or a Parquet file with one
list column. It writes into the current directory.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from contract import ARGUMENTS, items_of, last_sensitive, run
from families import IN_CHUNKS, RELATIONAL, RT

import pdanon
from pdanon import KAnonymity, KKm, KLm, KmAnonymity, Workload, stream
from pdanon.cli import main, output
from pdanon.evaluation.metrics.group_reconstruction import reconstruction_error
from pdanon.io.datasets import draw_private, make_baskets
from pdanon.itemsets import threads
from pdanon.itemsets.columns import is_list_column

Calls = dict[str, Callable[[], Any]]
LONG = {"anonymize, klm", "anonymize, max_named", "command", "compare", "tradeoff"}
LONG |= {"dask, attack", "dask, pcta", "dask, rum_bound", "evidence", "report"}  # only for files
OF_THE_MACHINE = ["seconds", "memory"]
OF_RESULTS = ("frame", "mapping", "classes", "groups", "loss", "trace", "tried", "risk")


def small() -> pd.DataFrame:
    """Few persons with items, and three columns in which few of them are alike."""
    frame, rng = make_baskets(120, 20, mean_length=3, random_state=1)[["items"]], np.random.default_rng(1)
    return frame.assign(
        age=rng.integers(18, 60, 120), sex=rng.choice(["f", "m"], 120), town=rng.choice([*"abcdef"], 120)
    )


def of_algorithms(frame: pd.DataFrame, quasi: list[str], k: int) -> Calls:
    """A release by each algorithm, and those of `anonymize`."""
    lists, items = frame[["items"]], items_of(frame)
    both = {"k": k, "m": 2, "quasi": quasi}
    calls: Calls = {name: lambda name=name: run(name, lists, k=k) for name in [*ARGUMENTS, *IN_CHUNKS]}
    calls["ps_rules, sample"] = lambda: pdanon.ps_rules(
        lists, k=2, c=0.9, rules={"m": 1, "sensitive": items[-1:]}, how="sample", sample=0.5, suppress=True
    )
    calls["refine"] = lambda: pdanon.refine(lists, pdanon.pcta(lists, k=k, m=2))
    for name in RELATIONAL:
        calls[name] = lambda name=name: getattr(pdanon, name)(frame, k=k, quasi=quasi)
    own = {"tfirst": {"parts": 3}, "rum_bound": {"delta": 0.4}, "tum_bound": {"delta": 0.4}}
    for name in RT:
        calls[name] = lambda name=name: getattr(pdanon, name)(frame, **both, **own.get(name, {}))
    for merge in ("R", "T"):
        calls[f"rum_bound, {merge}"] = lambda merge=merge: pdanon.rum_bound(
            frame, **both, delta=0.3, merge=merge, cluster="k_member", block_rows=max(len(frame) // 2, 2 * k)
        )
    asked = {
        "km": (KmAnonymity(k, 2), {}),
        "max_named": (KmAnonymity(k, 2), {"max_loss": {"named": 0.9}}),
        "kkm": (KKm(**both), {}),
        "klm": (KLm(k=2, l=2, m=1, quasi=quasi[:1], sensitive=items[-1:]), {}),
        "k": (KAnonymity(k, quasi=quasi), {}),
        "rho": (pdanon.RhoUncertainty(**last_sensitive(items), m=1), {}),
    }
    for name, (guarantee, more) in asked.items():
        calls[f"anonymize, {name}"] = lambda guarantee=guarantee, more=more: pdanon.anonymize(
            frame, guarantee, time_limit=3600, **more
        )
    return calls


def of_draws(frame: pd.DataFrame, quasi: list[str], k: int) -> Calls:
    """What samples: measures, attacks, queries and constraints."""
    lists = frame[["items"]]
    result = pdanon.pcta(lists, k=k, m=2)
    parts = pdanon.disassociate(lists, k=k, m=2)
    groups = run("cahd", lists)
    configurations = {"pcta": {}, "rfirst": {"m": 1, "quasi": quasi[:1]}}
    pairs = Workload.itemsets(lists, n=20, size=2)
    return {
        "profile": lambda: pdanon.profile(frame, k=k),
        "risk": lambda: pdanon.risk(frame, k=k, quasi=quasi),
        "tradeoff": lambda: pdanon.tradeoff(lists, k=[2, k], m=[1, 2], sample="split"),
        "attack": lambda: pdanon.attack(lists, result, n=50),
        "attack, split": lambda: pdanon.attack(lists, result, sample="split", n=50),
        "attack, sample": lambda: pdanon.attack(lists, result, sample=lists.iloc[::2], n=50),
        "compare": lambda: pdanon.compare(frame, configurations, k=k, workload=pairs, sample="split"),
        "itemsets": lambda: pairs.are(lists, result),
        "frequent": lambda: Workload.frequent(lists, min_support=0.05, n=20).queries,
        "rt": lambda: Workload.rt(frame, quasi, n=20).queries,
        "reconstruct": lambda: pdanon.reconstruct(parts, 2),
        "reconstruction_error": lambda: reconstruction_error(lists, groups, n=20),
        "pairs": lambda: pdanon.constraints.pairs(lists, 0.5),
        "random": lambda: pdanon.constraints.random(lists, 5, {1: 0.5, 2: 0.5}),
        "baskets": lambda: make_baskets(30, 12),
        "private": lambda: draw_private(lists, delta=0.4)[0],
    }


def of_files(frame: pd.DataFrame, quasi: list[str], k: int) -> Calls:
    """Files written by streams, the command line and policies."""
    Path("rows").mkdir()
    half = len(frame) // 2
    pdanon.to_parquet(frame.iloc[:half], "rows/1.parquet")
    pdanon.to_parquet(frame.iloc[half:], "rows/2.parquet")
    pdanon.to_parquet(frame, "in.parquet")
    Path("policy.toml").write_text(
        f'input = "in.parquet"\nparameters = {{ k = {k}, m = 2 }}\n'
        f'columns = {{ items = "items", quasi = {json.dumps(quasi)}, keep = [], drop = [] }}\n'
        'outputs = { release = "policy.parquet", loss = "loss.csv", mapping = "policy.csv" }\n'
    )
    lists = ["--column", "items", "-k", str(k), "-m", "2", "--quasi", *quasi]
    asked = {"k": k, "quasi": quasi, "block_rows": half}
    lines = pdanon.to_long(frame[["items"]])
    return {
        "lines": lambda: pdanon.from_long(lines, by="row", item="items"),
        "unit": lambda: pdanon.by(lines, "row", item="items").pcta(k=k, m=2),
        "dask, attack": lambda: _parts(frame).txanon.attack(_parts(frame).txanon.pcta(k=k, m=2), n=50),
        "dask, pcta": lambda: _computed(_parts(frame).txanon.pcta(k=k, m=2)),
        "dask, rum_bound": lambda: _computed(_parts(frame).txanon.rum_bound(delta=0.4, m=2, **asked)),
        "evidence": lambda: _written(frame, quasi, k, "evidence", "evidence.json"),
        "report": lambda: _written(frame, quasi, k, "report", "report.html"),
        "stream, pcta": lambda: _streamed("pcta", keep=quasi, k=k),
        "stream, cluster": lambda: _streamed("cluster", keep=["items"], **asked),
        "stream, rum_bound": lambda: _streamed("rum_bound", delta=0.4, m=2, **asked),
        "command": lambda: _command("anonymize", "in.parquet", "command.parquet", *lists),
        "command, risk": lambda: _command("risk", "in.parquet", *lists),
        "policy": lambda: _command("run", "policy.toml"),
    }


def _streamed(name: str, **asked: Any) -> list[Any]:
    result = getattr(stream, name)("rows", name, **asked)
    return [result, *(path.read_bytes() for path in sorted(Path(name).glob("*.parquet")))]


def _parts(frame: pd.DataFrame) -> Any:
    import dask.dataframe as dd

    import pdanon.dask  # noqa: F401 - the accessor

    return dd.from_pandas(frame, npartitions=3)


def _computed(release: Any) -> list[Any]:
    return [release.loss, release.mapping, release.frame.compute(scheduler="threads")]


def _written(frame: pd.DataFrame, quasi: list[str], k: int, how: str, path: str) -> bytes:
    result = pdanon.anonymize(frame, KKm(k=k, m=2, quasi=quasi), time_limit=3600)
    getattr(result, how)(path, original=frame)
    return Path(path).read_bytes()


def _command(*arguments: str) -> list[Any]:
    before, printed = {*Path().iterdir()}, io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        main.main(arguments)
    told = printed.getvalue().rpartition("Anonymized")[2]  # before it, a table with seconds
    written = sorted({*Path().iterdir()} - before)
    return [told, *(path.read_bytes() for path in written)]


def parts_of(value: Any) -> Iterator[bytes]:
    """The bytes of what a call returned, and of what it prints, without seconds and memory."""
    if isinstance(value, pd.Series):
        value = value.to_frame("values")
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from parts_of(each)
    elif isinstance(value, pd.DataFrame):
        table = pa.Table.from_pandas(value.drop(columns=OF_THE_MACHINE, errors="ignore"))
        written = io.BytesIO()
        with pa.ipc.new_file(written, table.schema) as writer:
            writer.write_table(table)
        yield written.getvalue()
    else:
        yield repr(value).encode()
        for name in OF_RESULTS:
            if getattr(value, name, None) is not None:
                yield from parts_of(getattr(value, name))
        if hasattr(value, "_repr_html_"):
            yield value._repr_html_().encode()


def digests(frame: pd.DataFrame, k: int, leave_out: set[str]) -> dict[str, str]:
    """The digest of each call; the message of an error is what it returns."""
    quasi = [name for name in frame.columns if name != "items"]
    calls = of_algorithms(frame, quasi, k) | of_draws(frame, quasi, k) | of_files(frame, quasi, k)
    found = {}
    for name, call in calls.items():
        if name in leave_out:
            continue
        digest = hashlib.sha256()
        try:
            made = call()
        except pdanon.PdanonError as error:
            made, name = str(error), f"{name} ({type(error).__name__})"
        for part in parts_of(made):
            digest.update(part)
        found[name] = digest.hexdigest()[:12]
    return found


if __name__ == "__main__":
    os.environ["SOURCE_DATE_EPOCH"], output.PATIENCE = "1767225600", 3600
    warnings.simplefilter("ignore")
    n_threads, *files = sys.argv[1:]
    pdanon.config(threads=int(n_threads))
    if files:
        table = pdanon.read_parquet(files[0])
        lists = next(name for place, name in enumerate(table.columns) if is_list_column(table.iloc[:, place]))
        table, k = table.rename(columns={lists: "items"}), 5
    else:
        table, k, threads._WORTH, threads._PART = small(), 3, 50, 50
    print(json.dumps(digests(table, k, leave_out=set() if files else LONG)))
