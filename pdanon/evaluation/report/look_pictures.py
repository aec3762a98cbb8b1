"""Pictures of a raw table: who can be found, and how many rows and items there are of which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pdanon.evaluation.canvas import horizontal, label_ends, plain, room, whole_numbers
from pdanon.evaluation.fitting import key_above, say, size_across

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_bars", "draw_found", "draw_lengths"]

_LINES = ("-", "--", "-.", ":")


def draw_bars(bands: pd.Series[int], ax: Axes, *, of: str, what: str) -> None:
    """Draw how many there are of each kind, with the names of the kinds at the left."""
    names = list(bands.index)
    horizontal(ax, names, bands.to_numpy(), [f"{number:,}" for number in bands])
    whole_numbers(ax.xaxis)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    say(ax, x=f"{what} (number)", y=of, beside=names)


def draw_found(found: pd.DataFrame, k: int, ax: Axes) -> None:
    """Draw how many rows are found alone, and among fewer than k, by how many items are known."""
    known = np.arange(len(found))
    kinds = {"singled_out": ("alone", -0.2, ""), "below_k": (f"fewer than {k}", 0.2, "///")}
    texts: list[str] = []
    size = size_across(ax, ["99.9"], 2 * len(known) + 1)
    for name, (label, shift, hatch) in kinds.items():
        percents = 100 * found[name].to_numpy(np.float64)
        fill = "none" if hatch else "C0"
        bars = ax.bar(known + shift, percents, 0.4, facecolor=fill, edgecolor="C0", hatch=hatch, label=label)
        texts = [f"{value:.3g}" for value in percents]
        ax.bar_label(bars, texts, padding=2, fontsize=size)
    ax.set_xticks(known, [str(each) for each in found.index])
    say(ax, x="items that are known (up to)", y="rows (%)")
    plain(ax)
    ax.set_ylim(0, room(100 * found["below_k"].to_numpy(np.float64)) * key_above(ax, size))


def draw_lengths(shares: pd.DataFrame, k: int, ax: Axes) -> None:
    """Draw the share of rows that are found among fewer than k: a line for each number of known items."""
    places = np.arange(len(shares))
    ends: list[tuple[float, float, str]] = []
    for number, (known, line) in enumerate((100 * shares).items()):
        style: Any = _LINES[number % len(_LINES)]
        ax.plot(places, line, linestyle=style, marker="o", markersize=4)
        ends.append((float(places[-1]), float(line.iloc[-1]), f"{known} known"))
    starts = [name.partition("–")[0] for name in shares.index]
    ax.set_xticks(places, starts, fontsize=size_across(ax, starts, len(places)))
    ax.set_ylim(0, 105)
    say(ax, x="items in the row (from)", y=f"rows among fewer than {k} (%)")
    plain(ax)
    label_ends(ax, ends)
