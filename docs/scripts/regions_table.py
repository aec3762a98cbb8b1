"""Print the cost and loss of Rum-bound on files and Dask, beside a frame, for tables/speed/growth.md.

Run from the root of the checkout: ``python docs/scripts/regions_table.py 100000 10000``, the number of rows
and of those of a block. Each line of the table is measured in processes of its own. The frame is left out
beyond a million rows. Client, scheduler and workers of Dask are processes on this machine.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
import pdanon.stream  # noqa: E402
from pdanon.io.parquet import to_frame  # noqa: E402

ASKED = {"k": 10, "m": 2, "quasi": ["age", "city", "income", "sex"], "delta": 0.3}
ASKED |= {"random_state": 0, "transaction": pdanon.Transaction(refine=False)}
GROUP = 50_000  # rows of a row group, and of a partition
WORKERS = 2
LIMIT = "1GB"  # of a worker, which writes what it keeps to disk before it reaches it
# Arrow and the C library return freed memory at once. A worker whose memory they keep can stay paused.
MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_MMAP_THRESHOLD_": "1000000"}
MOST_IN_MEMORY = 1_000_000


def write(rows: int, path: Path) -> None:
    """Write made-up rows: four quasi-identifiers, and about six items of 1,000."""
    rng = np.random.default_rng(0)
    frame = pdanon.datasets.make_baskets(rows, 1000, mean_length=6.0, random_state=0)
    people = {
        "age": rng.integers(18, 95, rows),
        "city": rng.choice([f"city {number}" for number in range(50)], rows),
        "income": rng.exponential(30_000, rows).round(-2),
        "sex": rng.choice(["f", "m"], rows),
    }
    whole = path.with_name("whole.parquet")
    pdanon.to_parquet(pd.DataFrame(people).assign(items=frame["items"]), whole)
    pq.write_table(pq.read_table(whole), path, row_group_size=GROUP)
    whole.unlink()


def measured(source: str, block_rows: int, engine: str) -> dict[str, Any]:
    """Release the rows: in a frame, from the file, or from partitions."""
    warnings.simplefilter("ignore")
    small = pdanon.datasets.make_baskets(200, 20, random_state=0).assign(age=np.arange(200))
    pdanon.rum_bound(small, **ASKED | {"quasi": ["age"], "delta": 1.0})  # the first call loads compiled code
    given = ASKED | {"block_rows": block_rows}
    start, before = usages()[0].ru_maxrss, processor_seconds()
    others: tuple[float, ...] = ()
    if engine == "a frame":
        loss = pdanon.rum_bound(pdanon.read_parquet(source), **given).loss
    elif engine.startswith("Dask"):
        loss, others = on_dask(source, given)
    else:
        with tempfile.TemporaryDirectory(dir=Path(source).parent) as name:
            target, mapping = Path(name, "released.parquet"), Path(name, "mapping.parquet")
            with pdanon.config(processes=WORKERS):
                loss = pdanon.stream.rum_bound(source, target, mapping=mapping, **given).loss
        others = (usages()[1].ru_maxrss / 1e6,)
    peaks = [(usages()[0].ru_maxrss - start) / 1e6, *others]
    figures = {"seconds": processor_seconds() - before, "peaks": peaks}
    return figures | {key: float(loss[key]) for key in ("NCP", "NCP_relational", "pairs")}


def on_dask(source: str, given: dict[str, Any]) -> tuple[pd.Series, tuple[float, float]]:
    """Release partitions of the row groups, and write the release; return the peaks of the cluster, too."""
    import dask.dataframe as dd

    import pdanon.dask  # noqa: F401  (registers ddf.txanon)

    with tempfile.TemporaryDirectory(dir=Path(source).parent) as name, cluster(name) as client:
        frame = dd.from_map(read_group, range(pq.ParquetFile(source).num_row_groups), source=source)
        result = frame.txanon.rum_bound(**given)
        result.to_parquet(Path(name, "released"))
        return result.loss, (max(client.run(peak).values()), client.run_on_scheduler(peak))


@contextmanager
def cluster(directory: str) -> Iterator[Any]:
    """Start a scheduler and workers, and connect this process to them."""
    from distributed import Client

    place = ["--scheduler-file", str(Path(directory, "scheduler.json"))]
    run = [sys.executable, "-m", "dask"]
    scheduler = [*run, "scheduler", "--port", "0", "--dashboard-address", ":0"]
    worker = [*run, "worker", "--nworkers", str(WORKERS), "--nthreads", "1", "--dashboard-address", ":0"]
    worker += ["--local-directory", directory, "--memory-limit", LIMIT]
    environment = os.environ | MEMORY
    started = [
        subprocess.Popen([*each, *place], stderr=subprocess.DEVNULL, env=environment)
        for each in (scheduler, worker)
    ]
    with Client(scheduler_file=place[1]) as client:
        client.wait_for_workers(WORKERS)
        yield client
        client.shutdown()
    for each in started:
        each.wait()


def peak() -> float:
    """Return the most memory that this process had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def read_group(number: int, source: str) -> pd.DataFrame:
    """Return a row group as a partition."""
    table = pq.ParquetFile(source).read_row_group(number)
    return to_frame(table)


def usages() -> list[resource.struct_rusage]:
    """What this process took, and what those took that it has ended."""
    return [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def processor_seconds() -> float:
    """Of both: what others do on the machine at the same time does not count."""
    return sum(usage.ru_utime + usage.ru_stime for usage in usages())


def main(rows: int, block_rows: int) -> None:
    names = ["rows", "a block", "from", "quasi", "items", "pairs", "CPU s"]
    names += ["GB above its start", "GB of a worker", "GB of the scheduler"]
    print(f"| {' | '.join(names)} |")
    print(f"|---:|---:|---|{'---:|' * 7}")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "rows.parquet")
        subprocess.run([sys.executable, __file__, "write", str(rows), str(path)], check=True)
        engines = ["a frame"] if rows <= MOST_IN_MEMORY else []
        for engine in (*engines, "files, two workers", "Dask, two workers"):
            run = [sys.executable, __file__, "run", json.dumps([str(path), block_rows, engine])]
            own = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
            cells = [f"{rows:,}", f"{block_rows:,}", engine]
            cells += [f"{own['NCP_relational']:.3f}", f"{own['NCP']:.4f}", f"{own['pairs']:.3f}"]
            cells += [f"{own['seconds']:.0f}", *(f"{each:.2f}" for each in own["peaks"])]
            cells += [""] * (len(names) - len(cells))
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(int(sys.argv[2]), Path(sys.argv[3]))
    elif sys.argv[1] == "run":
        print(json.dumps(measured(*json.loads(sys.argv[2]))))
    else:
        main(int(sys.argv[1]), int(sys.argv[2]))
