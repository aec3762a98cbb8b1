"""Coherence with the defaults of KDD 2008: minimal moles, greedy elimination, the whole call."""

import statistics
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

import pdanon
from pdanon.algorithms.items.coherence import Moles
from pdanon.guarantees.coherence import PublicAndPrivate
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from tests.benchmarks.measure import Figure, frame, itemsets, seconds

# Name, rows (the first ones, repeated to the number of the whole data set), public share, k, p, bar in s.
SETS = {
    "fimi_retail": ("Retail", 88_162, 0.20, 20, 4, 1),
    "fimi_connect_head10000": ("Connect", 67_557, 0.40, 100, 5, 2),
    "quest_t40i10d100k_head10000": ("T40I10D100K", 100_000, 0.15, 30, 4, 2),
}


def figures() -> Iterator[Figure]:
    for file, setting in SETS.items():
        yield from of_data_set(file, *setting)
    for file, bar in (("bms_webview1", 5), ("bms_webview2", 30)):
        yield ps_rules(file, bar)


def ps_rules(file: str, bar: float) -> Figure:
    """All rules from up to two public items to one of 20 sensitive ones."""
    original = frame(file)
    items = sorted(original["items"].itemset.items)
    sensitive = np.random.default_rng(0).choice(items, 20, replace=False).tolist()
    rules = pdanon.constraints.ps_rules(original, None, sensitive, 2)

    def run() -> object:
        return pdanon.ps_rules(original, rules=rules, k=5, c=0.5)

    run()
    taken = median(run, 3)
    work = f"ps_rules(k=5, c=0.5), {len(rules):,} rules, {file}, DataFrame to audited result"
    return Figure(work, "", None, f"{taken:.2f} s", f"< {bar} s", taken < bar)


def of_data_set(
    file: str, name: str, n_rows: int, delta: float, k: int, p: int, bar: float
) -> Iterator[Figure]:
    sets = without_rare(repeated(itemsets(file), n_rows))
    parts, private = division(sets, *divided(sets, delta, seed=0))
    guarantee = pdanon.Coherence(h=1, k=k, p=p, private=private)
    moles = Moles(parts, guarantee)
    taken = median(lambda: Moles(parts, guarantee))
    work = f"minimal moles, {name}, {n_rows:,} rows: delta={delta:.0%}, k={k}, p={p}, h=100%"
    text = f"{taken:.2f} s, {len(moles.larger):,} moles of two and more items"
    yield Figure(work, "", None, text, f"< {bar} s", taken < bar)
    moles.eliminate(parts.supports, "mm/il")
    taken = median(lambda: moles.eliminate(parts.supports, "mm/il"))
    bounded = len(moles.larger) >= 100_000
    bar_text, met = ("< 0.5 s for 100,000", taken < 0.5) if bounded else ("", None)
    yield Figure("greedy elimination of these", "", None, f"{taken:.3f} s", bar_text, met)
    yield whole_call(parts, private, k, p)


def whole_call(parts: PublicAndPrivate, private: pa.Array, k: int, p: int) -> Figure:
    frame = pd.DataFrame({"items": parts.itemsets.to_pandas()})
    h = float(parts.supports[parts.is_private].max() / parts.n_rows)

    def run() -> object:
        return pdanon.coherence(frame, h=h, k=k, p=p, private=private)

    run()
    text = f"{median(run, 3):.2f} s"
    return Figure(
        f"coherence(h={h:.3f}), the least h that works, DataFrame to audited result", "", None, text, "", None
    )


def median(run: Callable[[], object], repeats: int = 5) -> float:
    return statistics.median(seconds(run) for _ in range(repeats))


# --- The data as the paper prepares it; also for docs/scripts/coherence_evaluation.py


def repeated(sets: Itemsets, n_rows: int) -> Itemsets:
    return Itemsets.from_arrow(sets.to_arrow().take(pa.array(np.resize(np.arange(sets.n_rows), n_rows))))


def without_rare(sets: Itemsets) -> Itemsets:
    """Without the items that fewer than 0.1 % of the rows hold."""
    return only(sets, 1000 * supports(sets) >= sets.n_rows)


def supports(sets: Itemsets) -> np.ndarray:
    return np.bincount(sets.codes, minlength=sets.n_items)


def only(sets: Itemsets, kept: np.ndarray) -> Itemsets:
    return sets.recode(np.where(kept, np.arange(sets.n_items), -1).astype(np.int32), sets.vocabulary)


def divided(
    sets: Itemsets, delta: float, *, seed: int, frequent: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Public and private items: a random share, and those of the rest that lead a row by their support.

    Items in more than a share ``frequent`` of the rows are no private ones.
    """
    public = np.zeros(sets.n_items, np.bool_)
    chosen = np.random.default_rng(seed).permutation(sets.n_items)
    public[chosen[: round(delta * sets.n_items)]] = True
    support = supports(sets)
    order = np.lexsort((-np.arange(sets.n_items), support))  # among equals the first item leads
    rank = np.empty(sets.n_items, np.int64)
    rank[order] = np.arange(sets.n_items)
    rank[public | (support > frequent * sets.n_rows)] = -1
    leading = np.maximum.reduceat(rank[sets.codes], sets.offsets[:-1][sets.lengths > 0])
    private = np.zeros(sets.n_items, np.bool_)
    private[order[np.unique(leading[leading >= 0])]] = True
    return public, private


def division(sets: Itemsets, public: np.ndarray, private: np.ndarray) -> tuple[PublicAndPrivate, pa.Array]:
    """The rows without the items that are neither, and the private items."""
    part = only(sets, public | private)
    hidden = sets.vocabulary.filter(pa.array(private))
    is_private = np.zeros(part.n_items, np.bool_)
    is_private[part.lookup(hidden)] = True
    return PublicAndPrivate.within(ListColumns(part), is_private), hidden
