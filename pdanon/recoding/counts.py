"""Counts that describe a release without showing it, for reprs, plots and reports."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.sensitive_groups import COUNTS
from pdanon.itemsets.cards import Lines, Share
from pdanon.itemsets.lists import Numbers, sums

FEW = 20  # rows; in fewer, any column may be unique in each, and little can be left
_NEARLY_ALL = 95  # percent
_Z = NormalDist().inv_cdf(0.975)
NEAR = "near the lowest loss"  # a reason that excludes no release
_OWN_LINES = (
    "occurrences",
    "stands_for",
    "singles",
    "pairs",
    "suppressed",
    "dropped",
    "values",
)  # have other lines


def loss_lines(mapping: pd.DataFrame, loss: pd.Series[float]) -> Lines:
    """Return the lines that describe the loss of a release of items."""
    if "occurrences" in loss:
        # The mapping of a table with quasi-identifiers may be in a file only.
        apart = not len(mapping) and "NCP_relational" in loss
        dropped = loss.get("dropped", 0.0)
        total = "the" if apart else f"{round(int(mapping['support'].sum()) / (1 - dropped)):,}"
        gone = percent(loss["suppressed"])
        changed = f"{percent(loss['occurrences'])} of {total} occurrences, {gone} suppressed"
        yield "changed", changed, Share(loss["occurrences"])
        if not apart:
            yield "labels", _labels(mapping, loss)
        errors = f"{percent(loss['singles'])} in an item's count, {percent(loss['pairs'])} in a pair's"
        if "values" in loss:
            errors += f", {percent(loss['values'])} in that of a combination of quasi-identifiers"
        shares = Share(loss["singles"], name="item"), Share(loss["pairs"], name="pair")
        yield "error", f"{errors} (expected from the labels, on average)", *shares
    if text := describe_dropped(loss):
        yield "dropped", text
    yield "details", losses(loss[[name for name in loss.index if name not in _OWN_LINES]])


def describe_dropped(loss: pd.Series[float]) -> str:
    """Describe what a guarantee leaves open if items were dropped before the release; empty if none were."""
    share = loss.get("dropped", 0.0)
    known = "the guarantee does not cover attackers who know a dropped item of a person"
    return f"{percent(share)} of the occurrences, from long rows; {known}" if share else ""


def level_lines(levels: pd.DataFrame | None) -> Lines:
    """Describe on which levels of a hierarchy, below the root, the changed labels stay."""
    if levels is not None and levels["changed"].notna().all() and len(levels) > 2:
        shares = [f"{percent(share)} on level {level}" for level, share in levels["changed"].items()]
        yield "meaning", f"changed labels stay within a node: {', '.join(shares[1:-1])} (0: root)"


def choice_lines(tried: pd.DataFrame | None, chosen: pd.Series[float]) -> Lines:
    """Describe the best tried releases of each kind."""
    # With quasi-identifiers those with the lowest loss of one of two kinds, and how to get them.
    if tried is None or not {"suppressed", "values"} & {*tried}:
        return
    if "values" not in tried:
        # The best releases that suppress nothing, only suppress, or do both, if there are several.
        known = tried[tried["reason"].isna() & (tried["occurrences"] > 0)].sort_values("loss", kind="stable")
        only, none = known["suppressed"] >= known["occurrences"], known["suppressed"] == 0
        kinds = np.select([none, only], ["nothing missing", "what is left is exact"], "some missing")
        best = known.assign(kind=kinds).drop_duplicates("kind")
        if len(best) > 1:
            texts = [f"{row.algorithm} {row.loss:.4g}, {row.kind}" for row in best.itertuples()]
            yield "kinds", "; ".join(texts)
        return
    errors = {"pairs": "a pair's count", "values": "a combination's count"}
    known = tried[(tried["reason"].isna() | tried["reason"].str.startswith(NEAR)) & tried["values"].notna()]
    for low, high in (("pairs", "values"), ("values", "pairs")):
        least = known.sort_values([low, high], kind="stable").head(1)
        if len(least) and float(least[low].iloc[0]) < float(chosen[low]):
            gain, cost = f"{percent(least[low].iloc[0])} in {errors[low]}", percent(least[high].iloc[0])
            call = _call(least["algorithm"].iloc[0])
            yield "instead", f"{gain}, but {cost} in {errors[high]}: call {call}"


def _call(step: str) -> str:
    """Write a configuration of `pdanon.anonymize` as a call."""
    name, *options = step.split(", ")
    pairs = (option.split("=") for option in options)
    texts = [f"{key}={value if value[0].isdigit() else repr(value)}" for key, value in pairs]
    return f"{name}({', '.join([*texts, '...'])})"


def _labels(mapping: pd.DataFrame, loss: pd.Series[float]) -> str:
    """Describe the number of labels before and after, and the size of a typical changed one."""
    columns = mapping.groupby("column", sort=False) if "column" in mapping else [(None, mapping)]
    counts = [(part["item"].nunique(), part["generalized"].nunique()) for _, part in columns]
    before, after = (sum(each) for each in zip(*counts, strict=True))
    text = f"{before:,} before, {after:,} after"
    if loss["occurrences"] > loss["suppressed"]:
        size = int(loss["stands_for"])
        text += f"; a changed one stands for {size:,} item{'' if size == 1 else 's'} (median)"
    return text


def percent(share: float) -> str:
    """Return a share as text. Only a full share is "100 %", and only an empty one "0 %"."""
    return f"{100 * share if share >= 1 else min(100 * share, 99.9):.3g} %"


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Return the interval of E. B. Wilson (1927) for a share of n independent cases, at 95 %."""
    # The share may also be the mean of chances. These spread no more than the cases, so the interval of their
    # mean is not too narrow.
    middle, spread = share + _Z**2 / (2 * n), _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    low, high = (end / (1 + _Z**2 / n) for end in (middle - spread, middle + spread))
    # Rounding would leave 1e-18 at the end that equals a share of 0 or 1.
    return low if share > 0 else 0.0, high if share < 1 else 1.0


def is_nearly_all(part: Any, whole: Any) -> Any:
    """Return whether integers are at least 95 % of others."""
    return 100 * part >= _NEARLY_ALL * whole


def losses(loss: pd.Series[float]) -> str:
    """Return all losses, by name."""
    return ", ".join(f"{name} {value:.4g}" for name, value in loss.items())


def class_sizes(classes: pd.DataFrame | None) -> Numbers:
    """Return the sizes of classes, which may have several lines, or of clusters that are not joint."""
    if classes is None:
        return np.zeros(0, np.int64)
    if classes.columns[0] == "cluster":
        return classes.loc[~classes["cluster"].isin(classes["joint"]), "size"].to_numpy(np.int64)
    sizes = classes.iloc[:, 1].to_numpy(np.int64)  # by position: a quasi-identifier may have this name
    if [*classes.columns] == [*COUNTS]:
        return sizes[~classes.iloc[:, 0].duplicated().to_numpy()]
    # Rows that are recoded separately are in one class if their quasi-identifiers are equal.
    total = sums(equal_rows(classes, range(2, classes.shape[1])), sizes)
    return total[total > 0]


def of_all_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of `risk` for the whole table, by the number of known items."""
    return table[table["items"].isna()].set_index("known")
