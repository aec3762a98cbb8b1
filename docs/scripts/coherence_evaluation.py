"""Repeat the evaluation of coherence of KDD 2008: tables/papers/coherence.md and its pictures.

Run from the root of the checkout, with the extra ``plot``: ``python docs/scripts/coherence_evaluation.py``.
"""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import pdanon
from pdanon.algorithms.items.coherence import Moles
from pdanon.itemsets.codes import Itemsets

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.coherence import divided, division, without_rare  # noqa: E402
from tests.benchmarks.measure import machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
FIGURES = ROOT / "docs" / "figures"
CHOICES = 5
CRITERIA = {"mm/il": "MM/IL", "mm": "MM", "1/il": "1/IL"}
METHODS = {**CRITERIA, "RmAll": "RmAll", "k-anonymity": "k-anonymity"}
TIMES = {"finding": "ms to find the moles", "total": "ms with MM/IL in all"}  # figures 11 to 13


@dataclass(frozen=True)
class Setting:
    """What is asked of a data set. Private items above ``frequent`` are left out of the choice."""

    delta: float
    k: int
    p: int
    h: float
    frequent: float


@dataclass(frozen=True)
class DataSet:
    file: str
    name: str
    delta: float
    k: int
    p: int
    sweeps: dict[str, tuple[float, ...]]


DATA_SETS = (
    DataSet(
        "fimi_connect_head10000",
        "Connect",
        0.40,
        100,
        5,
        {"k": (15, 50, 100, 150, 200), "p": (1, 2, 3, 4, 5, 6), "delta": (0.1, 0.2, 0.3, 0.4, 0.5)},
    ),
    DataSet(
        "fimi_retail",
        "Retail",
        0.20,
        20,
        4,
        {"k": (5, 10, 20, 50, 100), "p": (1, 2, 3, 4, 5, 6), "delta": (0.1, 0.2, 0.3, 0.4, 0.5)},
    ),
    DataSet(
        "quest_t40i10d100k_head10000",
        "T40I10D100K",
        0.15,
        30,
        4,
        {"k": (3, 10, 20, 30, 50), "p": (1, 2, 3, 4, 5, 6), "delta": (0.05, 0.1, 0.15, 0.2, 0.25)},
    ),
)
# The paper's rule with h = 100 %, and its h = 40 % with private items that leave it feasible.
VARIANTS = {"any": (1.0, 1.0), "rarer": (0.4, 0.2)}
SECONDS = 10  # of the 0-1 program
H_SWEEP = (0.2, 0.3, 0.4, 0.6, 1.0)


def read(file: str) -> Itemsets:
    return without_rare(
        Itemsets.from_arrow(pq.read_table(DATA / f"{file}.parquet", columns=["items"])["items"])
    )


def distortions(itemsets: Itemsets, setting: Setting, seed: int) -> dict[str, float]:
    """Suppressed occurrences by all occurrences, of items that are neither public nor private included.

    Also the processor seconds of MM/IL.
    """
    public, private = divided(itemsets, setting.delta, seed=seed, frequent=setting.frequent)
    parts, hidden = division(itemsets, public, private)
    began = time.process_time()
    moles = Moles(parts, pdanon.Coherence(h=setting.h, k=setting.k, p=setting.p, private=hidden))
    finding = time.process_time() - began
    lost = {"mm/il": moles.eliminate(parts.supports, "mm/il")}
    times = {"finding": finding, "total": time.process_time() - began}
    lost |= {method: moles.eliminate(parts.supports, method) for method in CRITERIA if method != "mm/il"}
    lost["RmAll"] = ~parts.is_private
    shares = {name: parts.supports[gone].sum() / len(itemsets.codes) for name, gone in lost.items()}
    frame = pd.DataFrame({"items": parts.itemsets.to_pandas()})
    known = parts.itemsets.vocabulary.filter(pa.array(~parts.is_private))
    result = pdanon.suppress_to_k(frame, k=setting.k, public=known)
    shares["k-anonymity"] = result.loss["S/N"] * len(parts.codes) / len(itemsets.codes)
    return {**shares, **times, "private items": int(private.sum()), "moles": len(moles.larger)}


def check(itemsets: Itemsets, setting: Setting, found: dict[str, float]) -> None:
    """The audited release of the library loses what was computed."""
    public, private = divided(itemsets, setting.delta, seed=0, frequent=setting.frequent)
    parts, hidden = division(itemsets, public, private)
    frame = pd.DataFrame({"items": parts.itemsets.to_pandas()})
    asked = {"h": setting.h, "k": setting.k, "p": setting.p, "private": hidden}
    for criterion in CRITERIA:
        result = pdanon.coherence(frame, **asked, criterion=criterion)
        share = result.loss["S/N"] * len(parts.codes) / len(itemsets.codes)
        assert abs(share - found[criterion]) < 1e-12, (criterion, share, found)


def settings(data_set: DataSet, variant: str) -> Iterator[tuple[str, float, Setting]]:
    """The parameter that is varied, its value, and the setting."""
    h, frequent = VARIANTS[variant]
    default = Setting(data_set.delta, data_set.k, data_set.p, h, frequent)
    sweeps = data_set.sweeps | ({"h": H_SWEEP} if variant == "rarer" else {})
    for name, values in sweeps.items():
        for value in values:
            yield name, value, replace(default, **{name: value})


def measured() -> pd.DataFrame:
    rows = []
    for data_set in DATA_SETS:
        itemsets = read(data_set.file)
        for variant in VARIANTS:
            done: dict[tuple[Setting, int], dict[str, float]] = {}
            for name, value, setting in settings(data_set, variant):
                for seed in range(CHOICES):
                    if (setting, seed) not in done:
                        start = time.perf_counter()
                        done[setting, seed] = distortions(itemsets, setting, seed)
                        taken = time.perf_counter() - start
                        if taken > 2:
                            print(data_set.name, setting, f"{taken:.1f} s", file=sys.stderr)
                    where = {"data": data_set.name, "variant": variant, "parameter": name, "value": value}
                    rows.append({**where, "seed": seed, **done[setting, seed]})
            h, frequent = VARIANTS[variant]
            default = Setting(data_set.delta, data_set.k, data_set.p, h, frequent)
            check(itemsets, default, done[default, 0])
            print(data_set.name, variant, file=sys.stderr, flush=True)
    return pd.DataFrame(rows)


# --- The greedy choice beside the least one


def optimum() -> list[str]:
    """S/N of MM/IL and of the 0-1 program, with the defaults; the least S/N is not below the bound."""
    lines = ["| data, h, draw | moles | MM/IL | optimal | lower bound |", "|---|---|---|---|---|"]
    for data_set in DATA_SETS:
        itemsets = read(data_set.file)
        for h, frequent in VARIANTS.values():
            for seed in range(2):
                public, private = divided(itemsets, data_set.delta, seed=seed, frequent=frequent)
                parts, hidden = division(itemsets, public, private)
                asked = pdanon.Coherence(h=h, k=data_set.k, p=data_set.p, private=hidden)
                moles, losses = Moles(parts, asked), parts.supports
                greedy = losses[moles.eliminate(losses, "mm/il")].sum()
                chosen, bound = moles.least(losses, SECONDS)
                shares = (greedy, losses[chosen].sum(), bound)
                cells = " | ".join(f"{100 * each / len(itemsets.codes):.2f}" for each in shares)
                name = f"{data_set.name}, {100 * h:.0f} %, {seed + 1}"
                lines.append(f"| {name} | {len(moles.larger):,} | {cells} |")
    return [*lines, "", f"S/N in %. The time limit of the 0-1 program is {SECONDS} s."]


# --- Figures and page


def written(name: str, value: float) -> str:
    return f"{100 * value:.0f} %" if name in ("delta", "h") else f"{value:.0f}"


def table(figures: pd.DataFrame, name: str) -> list[str]:
    """Means in percent and ms, one line a method or time, one column a value."""
    means = figures[figures["parameter"] == name].groupby("value")[[*METHODS, *TIMES]].mean()
    head = " | ".join(f"{name}={written(name, value)}" for value in means.index)
    lines = [f"| S/N in % | {head} |", "|---" * (len(means) + 1) + "|"]
    for method, title in METHODS.items():
        lines.append(f"| {title} | " + " | ".join(f"{100 * value:.2f}" for value in means[method]) + " |")
    for each, title in TIMES.items():
        lines.append(f"| {title} | " + " | ".join(f"{1000 * value:.0f}" for value in means[each]) + " |")
    return [*lines, ""]


def draw(figures: pd.DataFrame, variant: str) -> str:
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "pdanon", "font.size": 9})
    part = figures[figures["variant"] == variant]
    names = list(dict.fromkeys(part["parameter"]))
    fig, axes = plt.subplots(len(DATA_SETS), len(names), figsize=(3 * len(names), 7.5), squeeze=False)
    for line, data_set in zip(axes, DATA_SETS, strict=True):
        for axis, name in zip(line, names, strict=True):
            chosen = part[(part["data"] == data_set.name) & (part["parameter"] == name)]
            means = chosen.groupby("value")[list(METHODS)].mean() * 100
            scale = 100 if name in ("delta", "h") else 1
            for (method, title), mark in zip(METHODS.items(), "os^xd", strict=True):
                axis.plot(means.index * scale, means[method], marker=mark, markersize=4, label=title)
            axis.set_ylim(0, 1.1 * means.to_numpy().max())
            axis.set_xlabel(f"{name} in %" if scale == 100 else name)
        line[0].set_ylabel(f"{data_set.name}\nS/N in %")
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center", ncol=len(METHODS))
    fig.tight_layout(rect=(0, 0, 1, 0.96))
    FIGURES.mkdir(exist_ok=True)
    path = FIGURES / f"coherence_{variant}.svg"
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)
    path.write_text("\n".join(text.rstrip() for text in path.read_text().splitlines()) + "\n")
    return path.name


def default_means(figures: pd.DataFrame, data_set: DataSet, variant: str) -> pd.Series:
    part = figures[(figures["data"] == data_set.name) & (figures["variant"] == variant)]
    return part[(part["parameter"] == "k") & (part["value"] == data_set.k)].mean(numeric_only=True)


def by_choice(figures: pd.DataFrame, data_set: DataSet) -> pd.DataFrame:
    """Percentages of each choice with the defaults and the rule of the paper."""
    part = figures[(figures["data"] == data_set.name) & (figures["variant"] == "any")]
    part = part[(part["parameter"] == "k") & (part["value"] == data_set.k)]
    return part.set_index("seed")[list(METHODS)] * 100


def with_range(values: pd.Series, unit: str) -> str:
    return f"{values.mean():.2f} {unit}; by choice {values.min():.2f} to {values.max():.2f}"


def published(figures: pd.DataFrame) -> list[str]:
    connect, retail = (by_choice(figures, data_set) for data_set in DATA_SETS[:2])
    lines = [
        "| figure | printed | here |",
        "|---|---|---|",
        f"| RmAll, Connect, delta = 40 % | 41.94 % | {with_range(connect['RmAll'], '%')} |",
    ]
    for method in ("mm/il", "1/il"):
        below = retail["RmAll"] - retail[method]
        share = 100 * below / retail["RmAll"]
        title = f"{METHODS[method]} below RmAll, Retail"
        lines.append(f"| {title}, in points | about 8 % | {with_range(below, 'points')} |")
        lines.append(f"| {title}, in % of RmAll | about 8 % | {with_range(share, '%')} |")
    return [*lines, ""]


def text(figures: pd.DataFrame, seconds: float) -> list[str]:
    lines = ["### Figures printed in the paper", "", *published(figures)]
    for variant, title in TITLES.items():
        lines += [f"### {title}", "", f"![{title}](../../../../docs/figures/{draw(figures, variant)})", ""]
        for data_set in DATA_SETS:
            part = figures[(figures["data"] == data_set.name) & (figures["variant"] == variant)]
            means = default_means(figures, data_set, variant)
            lines += [
                f"#### {data_set.name}, {'h = 100 %' if variant == 'any' else 'h = 40 %'}",
                "",
                f"Unless varied: delta = {100 * data_set.delta:.0f} %, k = {data_set.k}, p = {data_set.p}. "
                f"Private items: {means['private items']:.0f}; minimal moles of two and more items: "
                f"{means['moles']:,.0f}, on average.",
                "",
            ]
            for name in dict.fromkeys(part["parameter"]):
                lines += table(part, name)
    used = f"{machine()}, matplotlib {version('matplotlib')}"
    lines += [f"Written in {seconds:.0f} s by `docs/scripts/coherence_evaluation.py` on {used}."]
    return lines


TITLES = {"any": "Private items by the rule of the paper", "rarer": "Private items of at most 20 % support"}


def main() -> None:
    start = time.perf_counter()
    figures = measured()
    lines = text(figures, time.perf_counter() - start)
    write_section("papers/coherence.md", "coherence", lines)
    write_section("papers/coherence.md", "optimum", optimum())


if __name__ == "__main__":
    main()
