"""What pictures share: axes, bars and the ends of lines, and checks of what is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.evaluation.fitting import size_across, size_down
from pdanon.itemsets.values import check_frame, check_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = [
    "axes",
    "check_columns",
    "check_tradeoff",
    "horizontal",
    "label_ends",
    "plain",
    "room",
    "upright",
    "whole_numbers",
]


def axes(ax: Axes | None) -> Axes:
    """The axes that are given, or those of a new figure."""
    if ax is not None:
        if not callable(getattr(ax, "get_xaxis", None)):
            raise ParameterError("these are no axes of matplotlib", where="ax", got=type(ax).__name__)
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        hint = "pip install 'pdanon[plot]'"
        raise ParameterError("pictures need the package matplotlib", hint=hint) from None
    return pyplot.subplots(layout="constrained")[1]


def horizontal(ax: Axes, names: Sequence[str], values: NDArray[Any], texts: Iterable[str]) -> None:
    """Horizontal bars with the names at their left and the values at their right, the first at the top."""
    places = np.arange(len(names))
    size = size_down(ax, max(len(names), 3))
    bars = ax.barh(places, values, 0.6, color="C0")
    ax.bar_label(bars, list(texts), padding=3, fontsize=size)
    ax.set_yticks(places, names, parse_math=False, fontsize=size)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(names), 3) - 0.5, -0.5)
    ax.set_xlim(0, room(values))
    plain(ax)


def upright(ax: Axes, names: Sequence[str], counts: NDArray[Any]) -> None:
    """Upright bars with their names below and their counts above, which are whole numbers."""
    places, texts = np.arange(len(names)), [f"{count:,}" for count in counts]
    size = size_across(ax, [*names, *texts], len(names))
    bars = ax.bar(places, counts, color="C0")
    ax.bar_label(bars, texts, padding=2, fontsize=size)
    ax.set_xticks(places, names, fontsize=size)
    ax.set_ylim(0, room(counts))
    whole_numbers(ax.yaxis)
    plain(ax)


def room(values: NDArray[Any]) -> float:
    """End of an axis that leaves room for the numbers at the bars."""
    return 1.18 * float(values.max(initial=0)) or 1.0


def plain(ax: Axes) -> None:
    """Take away the frame where nothing is read off it."""
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(axis: Axis) -> None:
    """Mark an axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True))


def label_ends(ax: Axes, ends: Sequence[tuple[float, float, str]]) -> None:
    """Write the name of each line beside its end; names that would cover each other are moved apart."""
    low, high = ax.get_ylim()
    least = -np.inf
    for x, y, name in sorted(ends, key=lambda end: (end[1], end[2])):
        least = max(y, least + (high - low) / 20)
        ax.annotate(
            name,
            (x, y),
            xytext=(1.03, least),
            textcoords=ax.get_yaxis_transform(),
            va="center",
            fontsize=9,
            parse_math=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "0.6"},
        )


def check_columns(table: pd.DataFrame, columns: Sequence[str], numbers: Sequence[str]) -> None:
    """Check that a table has some columns, each once, and numbers in some of them."""
    check_frame(table, "the table")
    labels = list(table.columns)
    for name in columns:
        check_text(name, "the name of a column")
    missing = [name for name in columns if labels.count(name) != 1]
    if missing:
        raise ParameterError(
            "the table lacks columns, or has them twice", got=missing, hint=f"it has {labels}"
        )
    texts = [name for name in numbers if not pd.api.types.is_numeric_dtype(table[name])]
    if texts:
        raise ParameterError("what is drawn must be numbers", where="table", got=texts)


def check_tradeoff(table: pd.DataFrame, measure: str) -> None:
    """Check that a table has a measure for each k and m, and no two for the same."""
    check_columns(table, ["k", "m", measure], numbers=["k", "m", measure])
    if missing := int(table[["k", "m"]].isna().any(axis=1).sum()):
        raise ParameterError("rows have no k or no m", where="table", got=f"{missing} rows")
    if repeated := int(table.duplicated(["k", "m"]).sum()):
        raise ParameterError("several rows have the same k and m", where="table", got=f"{repeated} more")
