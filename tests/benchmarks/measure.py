"""Time a piece of work beside a reference in the same process, and tell the machine."""

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import scipy.sparse as sp

from pdanon.itemsets.codes import Itemsets

DATA = Path(os.environ.get("PDANON_DATA", Path(__file__).parents[3] / "shared" / "data"))

# Largest memory of a process in GiB, for the code of a new one. What `resource` tells begins with that of the
# process it was started from.
PEAK = "int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 2**20"


def processor_time() -> float:
    """Seconds of processor time of this process, all threads together, and of the processes it has run."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass(frozen=True)
class Figure:
    """One line of the benchmark table."""

    work: str
    reference: str
    reference_seconds: float | None
    measured: str
    bar: str
    met: bool | None


def ratio(
    work: str,
    reference: str,
    run: Callable[[], object],
    against: Callable[[], object],
    bar: float,
    repeats: int = 7,
) -> Figure:
    """Run both in turn, and compare the medians of their times."""
    run()
    against()
    mine, theirs = [], []
    for _ in range(repeats):
        theirs.append(seconds(against))
        mine.append(seconds(run))
    found = statistics.median(mine) / statistics.median(theirs)
    measured = f"{found:.2f}x ({statistics.median(mine):.3f} s)"
    return Figure(work, reference, statistics.median(theirs), measured, f"<= {bar:g}x", found <= bar)


def seconds(run: Callable[[], object], clock: Callable[[], float] = processor_time) -> float:
    start = clock()
    run()
    return clock() - start


def fresh_process(code: str) -> str:
    """What a Python program prints when it is run in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def first_calls(calls: Mapping[str, str]) -> Iterator[Figure]:
    """Time statements about a small frame, one after the other in a new process."""
    timed = "t = time.process_time(); {}; print(time.process_time() - t)"
    code = (
        "import time, numpy as np, pandas as pd, pdanon; rng = np.random.default_rng(0);"
        "df = pd.DataFrame({'items': [rng.integers(0, 9, 5).tolist() for _ in range(200)]});"
    ) + ";".join(timed.format(call) for call in calls.values())
    for call, taken in zip(calls, fresh_process(code).split(), strict=True):
        yield Figure(f"first call: {call}", "", None, f"{float(taken):.2f} s", "", None)


def frame(name: str) -> pd.DataFrame:
    import pdanon

    return pdanon.read_parquet(DATA / f"{name}.parquet")


def itemsets(name: str) -> Itemsets:
    return Itemsets.from_arrow(pq.read_table(DATA / f"{name}.parquet")["items"])


def matrix(sets: Itemsets) -> sp.csr_array:
    """The rows as a sparse 0-1 matrix."""
    ones = np.ones(len(sets.codes), np.int32)
    return sp.csr_array((ones, sets.codes, sets.offsets), shape=(sets.n_rows, sets.n_items))


def machine() -> str:
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = models[0] if models else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    used = ("pandas", "pyarrow", "numpy", "scipy")
    packages = ", ".join(f"{name} {version(name)}" for name in used)
    return f"{os.cpu_count()} cores {model}, {memory:.0f} GiB; Python {platform.python_version()}, {packages}"
