"""Count what twelve monthly releases expose together, and write tables/series.md and its picture.

Run from the root of the checkout: ``python docs/scripts/series_table.py``. What stands around the figures
stays. Month 1 has half of the rows. In each later month, rows join: 9 % of half of the table. With changes,
5 % of the persons leave, and 5 % replace an item by one that is drawn from all occurrences.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import pdanon
from pdanon import Anonymized, KmAnonymity
from pdanon.guarantees.series import Series, Span, read_releases

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
DATA = Path(os.environ.get("PDANON_DATA", ROOT.parent / "shared" / "data"))
# The title of each data set, and its number of seeds.
DATA_SETS = {
    "groceries": ("Groceries", 3),
    "bms_webview1": ("BMS-WebView-1", 3),
    "bms_webview2": ("BMS-WebView-2", 3),
    "fimi_retail": ("Retail", 1),
}
MONTHS, K, M, RESERVE = 12, 5, 2, 15
METHODS = {
    "fresh": {"fresh": True},
    "`start_from`": {},
    f"`start_from`, `k={RESERVE}`": {"k": RESERVE},
}


def draw_months(table: pd.DataFrame, seed: int, *, changes: bool) -> list[pd.DataFrame]:
    """Draw the tables of the months, with the columns ``id`` and ``items``."""
    rng = np.random.default_rng(seed)
    rows = [list(row) for row in table["items"]]
    occurrences = np.concatenate(rows)
    waiting = rng.permutation(len(rows)).tolist()
    half = len(rows) // 2
    there, waiting = waiting[:half], waiting[half:]
    frames = []
    for month in range(MONTHS):
        if month:
            if changes:
                kept = rng.permutation(len(there))[len(there) // 20 :]
                there = [there[i] for i in sorted(kept)]
            joining = int(0.09 * half)
            there, waiting = there + waiting[:joining], waiting[joining:]
            for i in rng.permutation(len(there))[: len(there) // 20 if changes else 0]:
                row, new = rows[there[i]], occurrences[rng.integers(len(occurrences))].item()
                if new not in row:
                    place = rng.integers(len(row))
                    rows[there[i]] = [*row[:place], new, *row[place + 1 :]]
        items = pdanon.as_itemsets([rows[person] for person in there])
        frames.append(pd.DataFrame({"id": there, "items": items}))
    return frames


def release_months(
    frames: Sequence[pd.DataFrame], *, refine: bool, fresh: bool = False, k: int = K
) -> list[Anonymized]:
    """Release each month, afresh or from the sets of the month before."""
    results: list[Anonymized] = []
    for frame in frames:
        start = None if fresh or not results else results[-1]
        prepared = frame.txanon.keep("id").start_from(start)
        results.append(prepared.pcta(k=k, m=M, refine=refine and start is None))
    return results


def read_series(releases: Sequence[tuple[pd.DataFrame, pd.DataFrame]]) -> Series:
    return Series.of(read_releases(releases[-1][0], releases[:-1], releases[-1][1]), "items", "id")


def original_series(frames: Sequence[pd.DataFrame]) -> Series:
    """Return the series of the raw tables."""
    pairs = []
    for frame in frames:
        items = frame["items"].itemset.items.to_numpy()
        mapping = pd.DataFrame({"group": 0, "item": items, "generalized": items.astype(str)})
        pairs.append((frame.assign(items=frame["items"].itemset.generalize({})), mapping))
    return read_series(pairs)


def known_pairs(span: Span) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the two items of each pair that a person has in the whole span."""
    starts, partners, _ = span.index.pairs
    item_of = np.empty(span.n_labels, np.int64)
    shown = span.of_item >= 0
    item_of[span.of_item[shown]] = np.flatnonzero(shown)
    first = np.repeat(np.arange(span.n_labels), np.diff(starts))
    return item_of[first], item_of[partners]


def count_candidates(span: Span, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Count the candidates of pairs of items in a span of releases."""
    n = max(span.n_labels, 1)
    starts, partners, supports = span.index.pairs
    first = np.repeat(np.arange(span.n_labels), np.diff(starts))
    keys = np.concatenate((first * n + partners, np.arange(n) * (n + 1)))
    counts = np.concatenate((supports, span.index.singles if span.n_labels else [0]))
    order = np.argsort(keys)
    a, b = span.of_item[one].astype(np.int64), span.of_item[other].astype(np.int64)
    wanted = np.minimum(a, b) * n + np.maximum(a, b)
    return counts[order[np.searchsorted(keys, wanted, sorter=order)]]


def count_exposed(frames: Sequence[pd.DataFrame], results: Sequence[Anonymized]) -> dict[str, float]:
    """Count the known pairs, the exposed ones, and the persons at risk, in all spans."""
    originals = original_series(frames)
    releases = read_series([(result.frame, result.mapping) for result in results])
    place = pd.Index(releases.items.to_pylist()).get_indexer(originals.items.to_pylist())
    at_risk = np.zeros(releases.persons.row_of.shape[1], np.bool_)
    known = exposed = two = known_two = 0
    for raw, span in zip(originals.spans(), releases.spans(), strict=True):
        risky = span.index.at_risk(K, M)
        at_risk[span.persons[risky]] = True
        pairs = known_pairs(raw)
        few = 0
        is_last = span.releases == (MONTHS - 2, MONTHS - 1)
        if risky.any():
            few = int((count_candidates(span, *(place[each] for each in pairs)) < K).sum())
        known, exposed = known + len(pairs[0]), exposed + few
        if is_last:
            known_two, two = len(pairs[0]), few
    return {
        "known": known,
        "exposed": exposed,
        "two": two / known_two,
        "persons": float(at_risk.mean()),
    }


def kept_ncp(first: pd.DataFrame, frame: pd.DataFrame) -> float:
    """Return the NCP of a table for the sets of an earlier release, with each new item alone.

    No release whose sets contain those of the earlier one has a lower NCP.
    """
    supports = frame["items"].explode().value_counts()
    sets = first.set_index("item")["generalized"].reindex(supports.index)
    sizes = sets.map(sets.value_counts()).fillna(1).to_numpy()
    shares = np.where(sizes > 1, sizes / len(supports), 0)
    return float(np.average(shares, weights=supports.to_numpy()))


def measure(table: pd.DataFrame, seed: int) -> list[dict[str, object]]:
    """Measure each method on the months of one seed."""
    lines = []
    for changes in (False, True):
        frames = draw_months(table, seed, changes=changes)
        for refine in (False, True):
            fresh_ncp = np.nan
            for name, options in METHODS.items():
                began = time.process_time()
                if refine and name == "fresh":  # twelve refinements take long, and expose as much
                    fresh_ncp = float(release_months(frames[-1:], refine=True)[0].loss["NCP"])
                    line = {
                        "changes": changes,
                        "refine": True,
                        "method": name,
                        "NCP": fresh_ncp,
                        "ratio": 1.0,
                    }
                    lines.append(line)
                    continue
                results = release_months(frames, refine=refine, **options)
                made = time.process_time()
                counts = count_exposed(frames, results)
                ncp = float(results[-1].loss["NCP"])
                fresh_ncp = ncp if name == "fresh" else fresh_ncp
                line = {"changes": changes, "refine": refine, "method": name, "NCP": ncp, **counts}
                line |= {"ratio": ncp / fresh_ncp, "seconds": made - began}
                if name != "fresh":
                    line["least"] = kept_ncp(results[0].mapping, frames[-1]) / fresh_ncp
                lines.append(line | {"counting": time.process_time() - made})
                print(seed, lines[-1], flush=True)
    return lines


def delta_losses(table: pd.DataFrame, seed: int) -> dict[str, float]:
    """Return the NCP of the rows that join, released every month, every third one, and at once."""
    frames = draw_months(table, seed, changes=False)
    size = len(frames[1]) - len(frames[0])
    new = frames[-1].iloc[len(frames[0]) :]
    losses = {}
    for name, months in {"month": 1, "quarter": 3, "year": MONTHS - 1}.items():
        parts = [new.iloc[begin : begin + months * size] for begin in range(0, len(new), months * size)]
        results = [part.txanon.keep("id").pcta(k=K, m=M, refine=True) for part in parts]
        weights = [int(part["items"].itemset.lengths.sum()) for part in parts]
        losses[name] = float(np.average([result.loss["NCP"] for result in results], weights=weights))
    return losses


def audit_time(table: pd.DataFrame) -> tuple[float, float, int]:
    """Return the CPU seconds of an audit of twelve releases and of one, and the months in all spans."""
    frames = draw_months(table, 0, changes=True)
    results = release_months(frames, refine=False, fresh=True)
    last, guarantee = results[-1], KmAnonymity(K, M)
    took: dict[str, list[float]] = {"all": [], "one": []}
    series = pdanon.after(last.frame, results[:-1], key="id", mapping=last.mapping)
    for _ in range(3):
        for name, audit in {"all": series.audit, "one": last.frame.txanon.audit}.items():
            began = time.process_time()
            audit(guarantee)
            took[name].append(time.process_time() - began)
    months = sum(last - first + 1 for last in range(MONTHS) for first in range(last + 1))
    return min(took["all"]), min(took["one"]), months


def table_of(figures: pd.DataFrame, *, changes: bool) -> list[str]:
    """Return a Markdown table: one line a data set, first release and method; the mean of the seeds."""
    names = "data, first release, method, exposed pairs, of, persons at risk %, exposed pairs of two months %"
    names = f"{names}, NCP %, / fresh, first sets kept / fresh".split(", ")
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    part = figures[figures["changes"] == changes]
    for (data, refine, method), seeds in part.groupby(["data", "refine", "method"], sort=False):
        mean = seeds.mean(numeric_only=True)
        cells = [
            *(data, "refined" if refine else "not refined", method),
            *(as_text(seeds[each].sum(skipna=False)) for each in ("exposed", "known")),
            *(as_text(100 * mean[each], 2) for each in ("persons", "two")),
            *(as_text(100 * mean["NCP"], 3), as_text(mean["ratio"], 2)),
            as_text(mean["least"], 2),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def as_text(number: float, digits: int = 0) -> str:
    """Return a number as text; nothing for one that was not counted."""
    return "" if np.isnan(number) else f"{number:,.{digits}f}"


def draw_picture(figures: pd.DataFrame) -> None:
    """Draw the share of persons at risk by data set and method."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "pdanon"  # the same bytes each time
    part = figures[figures["changes"] & ~figures["refine"]]
    wide = 100 * part.groupby(["data", "method"], sort=False)["persons"].mean().unstack("method")
    wide = wide[list(METHODS)].rename(columns=lambda name: name.replace("`", ""))
    axes = wide.plot.bar(figsize=(7, 3.2), rot=0, width=0.8, color=["#c44e52", "#4c72b0", "#55a868"])
    axes.set(xlabel="", ylabel="persons at risk, %")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    for bars in axes.containers:
        axes.bar_label(bars, fmt="%.1f", fontsize=8)
    plt.tight_layout()
    plt.savefig(ROOT / "docs" / "figures" / "series.svg", metadata={"Date": None})
    plt.close()


def measure_all(name: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Measure all seeds of a data set: its months, and releases of new persons only."""
    title, seeds = DATA_SETS[name]
    table = pdanon.read_parquet(DATA / f"{name}.parquet")
    lines = [{"data": title, **line} for seed in range(seeds) for line in measure(table, seed)]
    return lines, [{"data": title, **delta_losses(table, seed)} for seed in range(seeds)]


def main() -> None:
    lines, losses = [], []
    for name in DATA_SETS:
        measured, released = measure_all(name)
        lines, losses = lines + measured, losses + released
    write(pd.DataFrame(lines), pd.DataFrame(losses))


def write(figures: pd.DataFrame, deltas: pd.DataFrame) -> None:
    """Write the tables and the picture."""
    from tests.benchmarks.measure import machine
    from tests.benchmarks.pages import write_section

    times = audit_time(pdanon.read_parquet(DATA / "bms_webview2.parquet"))
    text = [f"Measured by `docs/scripts/series_table.py` on {machine()}; `pcta`, k = {K}, m = {M}."]
    text += ["", "### Rows join, 5 % of the persons leave and 5 % change an item each month", ""]
    text += [
        *table_of(figures, changes=True),
        "",
        "### Rows only join",
        "",
        *table_of(figures, changes=False),
    ]
    text += ["", "### New persons only", "", "NCP in percent of the rows that join, released every:", ""]
    text += ["| data | month | quarter | year |", "|---|---|---|---|"]
    for data, seeds in deltas.groupby("data", sort=False):
        text.append(
            "| " + " | ".join([data, *(f"{100 * x:.2f}" for x in seeds.mean(numeric_only=True))]) + " |"
        )
    text += ["", "### Time of an audit", ""]
    share = times[0] / times[1] / times[2]
    text.append(
        f"BMS-WebView-2, 12 fresh releases, 78 spans, {times[2]} months in all: {times[0]:.2f} CPU s. "
        f"One release alone: {times[1]:.3f} s. A month of a span takes {share:.2f} times as long."
    )
    write_section("series.md", "series", text)
    draw_picture(figures)


if __name__ == "__main__":
    main()
