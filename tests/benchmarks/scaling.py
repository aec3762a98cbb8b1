"""Measure how time, memory and output of each family grow with rows, items, row length, k and m.

Run from the root: ``python -m tests.benchmarks.scaling --keep DIR [--write] [family ...]``. The figures stay
in DIR, so that a run continues where another one ended. ``--write`` writes the families in
tables/speed/scaling.md and their pictures from the figures that are there; other families stay.
The pictures need matplotlib, the extra ``plot``.
"""

import argparse
import json
import math
import re
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pdanon.datasets

import pdanon
from tests.benchmarks.measure import fresh_process, machine
from tests.benchmarks.pages import section, write_section

SECONDS, GIB = 40, 8  # limits of a call, of processor time and of memory
FEW = 2000  # rows of the call before, so that imports are not measured
MOST = 1_000_000  # rows of the table whose first rows are those of a call with sizes between


@dataclass(frozen=True)
class Size:
    """One point of a sweep."""

    rows: int = 100_000
    items: int = 1000
    length: int = 5
    quasi: int = 3
    k: int = 5
    m: int = 2


Parameter = Literal["rows", "items", "length", "quasi", "k", "m"]
LONG = Size(rows=10_000, items=10_000)
SWEEPS: dict[Parameter, tuple[Size, Sequence[int]]] = {
    "rows": (Size(), ()),  # those of the call
    "items": (Size(), (1000, 10_000, 100_000)),
    "length": (LONG, (5, 50, 500)),
    "quasi": (Size(), (2, 3, 8)),
    "k": (Size(), (2, 5, 100)),
    "m": (Size(), (1, 2, 3, 5)),
}
ITEMS: tuple[Parameter, ...] = ("rows", "items", "length", "k", "m")
TITLES = {"length": "row length", "quasi": "quasi-identifiers"}


@dataclass(frozen=True)
class Call:
    """An algorithm, an audit or a risk, the parameters that it has, and where its sweeps begin.

    That of the rows has powers of ten, and ``between``. Then all are the first rows of one table: tables that
    are drawn apart have other patterns, and more or fewer rows with the sensitive items.
    """

    run: Callable[[pd.DataFrame, Size], Any]
    sweeps: tuple[Parameter, ...] = ITEMS
    rows: int = 100_000
    between: tuple[int, ...] = ()


def sensitive(frame: pd.DataFrame, most: float, number: int) -> list[Any]:
    """Items that at most a share of the rows contain, evenly spaced."""
    supports = frame["items"].itemset.supports()
    rare = sorted(supports.index[supports <= most * len(frame)])
    chosen = np.linspace(0, len(rare) - 1, min(number, len(rare))).astype(int)
    return [rare[place] for place in chosen]


def quasi(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if name != "items"]


def coherence(frame: pd.DataFrame, size: Size) -> Any:
    private = sensitive(frame, 0.2, size.items // 20)
    return pdanon.coherence(frame, h=0.8, k=size.k, p=size.m, private=private)


def rule(frame: pd.DataFrame, size: Size) -> dict[str, Any]:
    return {"rho": 0.5, "sensitive": sensitive(frame, 0.2, size.items // 20), "m": size.m}


def with_classes(frame: pd.DataFrame, size: Size) -> Any:
    parameters = {"k": size.k, "m": size.m, "merge": "RT", "delta": 0.65, "random_state": 0}
    return pdanon.rum_bound(frame, quasi=quasi(frame), **parameters)


FAMILIES: dict[str, dict[str, Call]] = {
    "Sets of items": {
        "pcta": Call(lambda frame, size: pdanon.pcta(frame, k=size.k, m=size.m)),
        "coat": Call(lambda frame, size: pdanon.coat(frame, k=size.k, m=size.m)),
    },
    "Nodes of a hierarchy": {
        "apriori": Call(lambda frame, size: pdanon.apriori(frame, k=size.k, m=size.m, hierarchy=5)),
    },
    "Suppression": {
        "hghs": Call(lambda frame, size: pdanon.hghs(frame, k=size.k, m=size.m, hierarchy=5)),
        "coherence": Call(coherence),
    },
    "Rules": {
        "suppress_control": Call(
            lambda frame, size: pdanon.suppress_control(frame, **rule(frame, size)),
            ("rows", "items", "length", "m"),
        ),
        "td_control": Call(
            lambda frame, size: pdanon.td_control(frame, **rule(frame, size), hierarchy=5),
            ("rows", "items", "length", "m"),
        ),
    },
    "Groups of rows": {
        "partition": Call(
            lambda frame, size: pdanon.partition(frame, k=size.k, hierarchy=10),
            ("rows", "items", "length", "k"),
        ),
        "clump": Call(
            lambda frame, size: pdanon.clump(frame, k=size.k, hierarchy=10), ("rows", "items", "length", "k")
        ),
        "cahd": Call(
            lambda frame, size: pdanon.cahd(frame, p=size.k, sensitive=sensitive(frame, 1 / size.k, 10)),
            ("rows", "items", "length", "k"),
            between=(200_000, 400_000, 800_000),
        ),
        "disassociate": Call(lambda frame, size: pdanon.disassociate(frame, k=size.k, m=size.m)),
    },
    "Quasi-identifiers": {
        "mondrian": Call(
            lambda frame, size: pdanon.mondrian(frame, k=size.k, quasi=quasi(frame)),
            ("rows", "quasi", "k"),
            rows=10_000,
        ),
        "cluster": Call(
            lambda frame, size: pdanon.cluster(frame, k=size.k, quasi=quasi(frame), random_state=0),
            ("rows", "quasi", "k"),
            rows=10_000,
        ),
    },
    "Items and quasi-identifiers": {
        "rum_bound": Call(with_classes, ("rows", "items", "length", "quasi", "k", "m"), rows=1000),
    },
    "Audit and risk": {
        "audit": Call(lambda frame, size: pdanon.KmAnonymity(size.k, size.m).audit(frame)),
        "risk": Call(lambda frame, size: frame.txanon.risk(k=size.k, m=size.m)),
    },
}


Figures = dict[str, Any]


# --- One point, in a process of its own


def table(size: Size, call: Call) -> pd.DataFrame:
    """The table of a size: baskets, quasi-identifiers, or both, as far as the call uses them."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(index=pd.RangeIndex(size.rows))
    if "quasi" in call.sweeps:
        for number in range(size.quasi):
            values = draw.integers(0, 100 if number % 2 == 0 else 20, size.rows)
            frame[f"q{number}"] = values if number % 2 == 0 else [f"v{value:02d}" for value in values]
    if "items" in call.sweeps:
        drawn = max(size.rows, MOST) if call.between and size == Size(size.rows) else size.rows
        baskets = pdanon.datasets.make_baskets(
            drawn, size.items, mean_length=size.length, patterns=size.items, random_state=0
        )
        frame["items"] = baskets["items"].head(size.rows)
    return frame


def memory() -> float:
    """Peak memory of this process in GiB."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**20


def measured(family: str, name: str, **size: int) -> Figures:
    """Seconds of a call under the limits, peak memory of its process, and the size of its output."""
    call, asked = FAMILIES[family][name], Size(**size)
    call.run(table(replace(asked, rows=FEW, items=100, length=5), call), replace(asked, m=1))
    frame = table(asked, call)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used + SECONDS), resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (GIB * 2**30, resource.RLIM_INFINITY))
    pdanon.config(threads=1)
    start = time.process_time()
    result = call.run(frame, asked)
    seconds = time.process_time() - start
    peak = memory()
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    figures = {"seconds": seconds, "GiB": peak}
    if isinstance(result, pdanon.Anonymized):
        released = result.frame
        lists = [released[each] for each in released.columns if each == "items"]
        figures["output"] = sum(int(each.list.len().sum()) for each in lists) or released.size
    return figures


def run(family: str, name: str, size: Size) -> Figures:
    """Measure a point in a new process, or name the limit that ended it."""
    code = (
        "import json; from tests.benchmarks.scaling import measured; "
        f"print(json.dumps(measured({family!r}, {name!r}, **{asdict(size)})))"
    )
    try:
        found: Figures = json.loads(fresh_process(code))
    except subprocess.CalledProcessError as ended:
        last = ended.stderr.strip().rpartition("\n")[2]
        if ended.returncode == -signal.SIGXCPU:
            return {"ended": f"> {SECONDS} s"}
        if "emory" in ended.stderr:
            return {"ended": f"> {GIB} GiB", "message": last}
        if "InfeasibleError" in ended.stderr:
            return {"ended": "infeasible", "message": last}
        raise
    return found


class Results:
    """Figures by call and size, in a file of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, Figures] = json.loads(path.read_text()) if path.exists() else {}

    def find(self, name: str, size: Size) -> Figures:
        return self.known.get(f"{name} {json.dumps(asdict(size))}", {})

    def add(self, name: str, size: Size, found: Figures) -> None:
        self.known[f"{name} {json.dumps(asdict(size))}"] = found
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(self.known, indent=1))
        draft.replace(self.path)


def points(call: Call) -> Iterator[tuple[Parameter, list[Size]]]:
    """The sizes of each sweep, in ascending order."""
    for parameter in call.sweeps:
        base, values = SWEEPS[parameter]
        base = replace(base, rows=min(base.rows, call.rows))
        if parameter == "rows":
            values = sorted([*(call.rows * 10**power for power in range(3)), *call.between])
        yield parameter, [replace(base, **{parameter: value}) for value in values]


def measure(family: str, results: Results) -> None:
    """Measure what is not known. A sweep ends where the next point is sure to take too long."""
    for name, call in FAMILIES[family].items():
        for parameter, sizes in points(call):
            before: Figures = {}
            for last, size in zip([sizes[0], *sizes], sizes, strict=False):
                more = getattr(size, parameter) / getattr(last, parameter)
                if "ended" in before and parameter != "k":
                    break
                if parameter in ("rows", "length") and before.get("seconds", 0) * more > SECONDS:
                    break
                if not results.find(name, size):
                    results.add(name, size, run(family, name, size))
                    print(name, parameter, size, results.find(name, size), flush=True)
                before = results.find(name, size)


# --- The page


def lines(family: str, results: Results) -> list[str]:
    """Seconds and memory of each point."""
    calls = FAMILIES[family]
    names = [name for name in SWEEPS if any(name in each.sweeps for each in calls.values())]
    head = [TITLES.get(name, name) for name in names] + [f"`{name}`: s | GiB" for name in calls]
    text = ["| " + " | ".join(head) + " |", "|" + "---:|" * (len(names) + 2 * len(calls))]
    sizes = dict.fromkeys(size for call in calls.values() for _, each in points(call) for size in each)
    for size in sizes:
        cells = [f"{getattr(size, name):,}" for name in names]
        for name in calls:
            found = results.find(name, size)
            if "seconds" in found:
                cells += [f"{found['seconds']:.2f}", f"{found['GiB']:.2f}"]
            else:
                cells += [found.get("ended", ""), ""]
        text.append("| " + " | ".join(cells) + " |")
    return text


def ended(results: Results, name: str, parameter: Parameter, sizes: list[Size]) -> list[tuple[int, Figures]]:
    """The points of a sweep that ended."""
    found = [(getattr(size, parameter), results.find(name, size)) for size in sizes]
    return [(value, figures) for value, figures in found if "seconds" in figures]


def slope(found: list[tuple[int, Figures]], what: str) -> float | None:
    """Exponent of growth between the last two points that ended."""
    shown = [(value, figures[what]) for value, figures in found if figures.get(what)]
    if len(shown) < 2:
        return None
    (less, before), (more, after) = shown[-2:]
    return math.log(after / before) / math.log(more / less)


def exponents(family: str, results: Results) -> list[str]:
    text = [
        "| size | call | between | exponent of time | of memory | of the output |",
        "|---|---|---|---:|---:|---:|",
    ]
    for parameter in SWEEPS:
        for name, call in FAMILIES[family].items():
            found = dict(points(call)).get(parameter)
            shown = ended(results, name, parameter, found) if found else []
            if len(shown) > 1:
                cells = [slope(shown, what) for what in ("seconds", "GiB", "output")]
                span = f"{shown[-2][0]:,} and {shown[-1][0]:,}"
                text.append(
                    f"| {TITLES.get(parameter, parameter)} | `{name}` | {span} | "
                    + " | ".join("" if each is None else f"{each:.2f}" for each in cells)
                    + " |"
                )
    return text


def draw(family: str, results: Results) -> str:
    """Draw seconds over each size, and return the name of the picture."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "pdanon", "svg.fonttype": "none", "font.size": 8})
    import matplotlib.pyplot as plt

    calls = FAMILIES[family]
    sweeps = [each for each in SWEEPS if any(each in call.sweeps for call in calls.values())]
    picture, axes = plt.subplots(1, len(sweeps), figsize=(9, 2.4), sharey=True)
    for axis, parameter in zip(axes, sweeps, strict=True):
        for name, call in calls.items():
            sizes = dict(points(call)).get(parameter)
            shown = ended(results, name, parameter, sizes) if sizes else []
            axis.plot([x for x, _ in shown], [each["seconds"] for _, each in shown], marker=".", label=name)
        axis.set(xscale="log", yscale="log", title=TITLES.get(parameter, parameter))
        axis.minorticks_off()
        values = SWEEPS[parameter][1]
        if values and max(values) < 1000:
            axis.set_xticks(values, [str(value) for value in values])
        axis.grid(alpha=0.3)
        axis.axhline(SECONDS, color="gray", linestyle=":")
    axes[0].set_ylabel("seconds of the processor")
    axes[-1].legend()
    picture.tight_layout()
    name = f"scaling_{family.split()[0].lower()}.svg"
    path = Path(__file__).parents[2] / "docs" / "figures" / name
    picture.savefig(path, metadata={"Date": None})
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
    plt.close(picture)
    return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; all if none is named")
    parser.add_argument("--keep", type=Path, required=True, metavar="DIR", help="for figures")
    parser.add_argument("--write", action="store_true", help="write them to the page, measure nothing")
    asked = parser.parse_args()
    results = Results(asked.keep / "scaling.json")
    _, *parts = re.split(r"^### (.+)\n", section("speed/scaling.md", "scaling"), flags=re.MULTILINE)
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    for family in asked.families or FAMILIES:
        if not asked.write:
            measure(family, results)
            continue
        picture = f"![Seconds by size, {family.lower()}](../../../../docs/figures/{draw(family, results)})"
        text = [f"Measured {date.today()} on {machine()}.", "", picture, ""]
        text += ["Seconds and memory", "", *lines(family, results), ""]
        texts[family] = "\n".join([*text, "Exponents", "", *exponents(family, results)])
    if asked.write:
        text = [f"### {family}\n\n{texts[family].strip()}\n" for family in FAMILIES]
        write_section("speed/scaling.md", "scaling", text)


if __name__ == "__main__":
    main()
