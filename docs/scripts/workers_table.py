"""Measure releases of files and by worker processes of Dask, and write them to tables/speed/growth.md.

Run from the root of the checkout: ``python docs/scripts/workers_table.py --keep DIR [--millions 1 10]``.
Files and figures stay in DIR, as those of ``growth.py``: a run goes on where another one ended. The table of
``regions_table.py`` has the algorithms for quasi-identifiers.
"""

import argparse
import json
import sys
import tempfile
import warnings
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import pdanon.datasets  # noqa: E402
import regions_table  # noqa: E402
from growth import PRIVATE  # noqa: E402

import pdanon  # noqa: E402
import pdanon.stream  # noqa: E402
from pdanon.evaluation.fingerprint import content_hash  # noqa: E402
from tests.benchmarks.measure import fresh_process, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402
from tests.benchmarks.stream import write  # noqa: E402

BASKETS = {"k": 5, "m": 2}
CALLS: dict[str, dict[str, Any]] = {
    "pcta": BASKETS,
    "apriori": BASKETS | {"hierarchy": 10},
    "coherence": {"h": 0.8, "k": 5, "p": 2, "private": PRIVATE},
}
ENGINES = {"files": 0, "Dask, one worker": 1, "Dask, two workers": 2}
Figures = dict[str, Any]


def measured(source: str, name: str, workers: int) -> Figures:
    """Release the rows of a file, by that many workers of Dask or by none, and write the release."""
    warnings.simplefilter("ignore")
    small = pdanon.datasets.make_baskets(2000, 2000, random_state=0)
    pdanon.pcta(small, k=5, m=2)  # the first call loads compiled code
    usages, seconds = regions_table.usages, regions_table.processor_seconds
    start, before = usages()[0].ru_maxrss, seconds()
    with tempfile.TemporaryDirectory(dir=Path(source).parent) as directory:
        release = partial(by_workers, workers=workers) if workers else from_files
        result = release(source, Path(directory), name)
    found: Figures = {"seconds": seconds() - before}
    found["client"], found["worker"] = (usages()[0].ru_maxrss - start) / 2**20, usages()[1].ru_maxrss / 2**20
    found |= {"loss": {key: float(each) for key, each in result.loss.items()}}
    found["mapping"] = content_hash(result.mapping)
    if result.rounds is not None:
        found |= {"rounds": len(result.rounds), "MB": float(result.rounds["bytes"].sum()) / 1e6}
    return found


def from_files(source: str, directory: Path, name: str) -> Any:
    """Release a file by one process."""
    return getattr(pdanon.stream, name)(source, directory / "released.parquet", **CALLS[name])


def by_workers(source: str, directory: Path, name: str, workers: int) -> Any:
    """Release row groups as partitions."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import pdanon.dask  # noqa: F401  (registers ddf.txanon)

    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(workers, **options, local_directory=str(directory)) as cluster, Client(cluster):
        groups = range(pq.ParquetFile(source).num_row_groups)
        frame = dd.from_map(regions_table.read_group, groups, source=source)
        result = getattr(frame.txanon, name)(**CALLS[name])
        result.to_parquet(directory / "released")
        return result


def table(figures: dict[str, Figures]) -> list[str]:
    head = ("algorithm", "million rows", "by", "CPU s", "GB above its start", "GB of a worker")
    lines = ["| " + " | ".join([*head, "rounds", "MB"]) + " |", "|---|---:|---|" + "---:|" * 5]
    for name in CALLS:
        for key, own in figures.items():
            algorithm, millions, engine = key.split("; ")
            if algorithm != name:
                continue
            cells = [f"`{name}`", millions, engine, f"{own['seconds']:.0f}"]
            cells += [f"{own['client']:.2f}", "" if engine == "files" else f"{own['worker']:.2f}"]
            cells += [str(own.get("rounds", "")), f"{own['MB']:.0f}" if "MB" in own else ""]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def check_same(figures: dict[str, Figures]) -> None:
    """All engines must release the same."""
    for key, own in figures.items():
        first = figures[key.rpartition("; ")[0] + "; files"]
        assert own["loss"] == first["loss"], key
        assert own["mapping"] == first["mapping"], key


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="for files and figures")
    parser.add_argument("--millions", type=int, nargs="+", default=[1], help="of rows")
    parser.add_argument("--algorithms", nargs="+", default=list(CALLS), choices=list(CALLS))
    asked = parser.parse_args()
    directory = asked.keep.absolute()
    known = directory / "workers.json"
    figures = json.loads(known.read_text()) if known.exists() else {}
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import workers_table, json;"
    for millions in asked.millions:
        for name in asked.algorithms:
            source = directory / f"{millions}.parquet"
            if not source.exists():
                write(source, millions)
            for engine, workers in ENGINES.items():
                key = f"{name}; {millions}; {engine}"
                if key not in figures:
                    call = f"workers_table.measured({str(source)!r}, {name!r}, {workers})"
                    figures[key] = json.loads(fresh_process(f"{here} print(json.dumps({call}))"))
                    known.write_text(json.dumps(figures))
                    print(key, figures[key], flush=True)
    check_same(figures)
    text = [
        f"Measured {date.today()} by `docs/scripts/workers_table.py` on {machine()}.",
        "",
        *table(figures),
    ]
    write_section("speed/growth.md", "workers", text)


if __name__ == "__main__":
    main()
