"""Sections, tables and plots of the profile of a raw table, for its page and for notebooks.

They show counts and shares, and name no item in few rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pdanon.evaluation.metrics.risk import of_few_known
from pdanon.evaluation.plotting import (
    hide_frame,
    horizontal_bars,
    key_above,
    label_axes,
    label_ends,
    room,
    size_across,
    whole_numbers,
)
from pdanon.evaluation.report.html import (
    Cell,
    count,
    figure,
    paragraph,
    percent,
    section,
    steps,
    svg,
    table,
    versions,
)
from pdanon.itemsets.support import MOST_ROWS

__all__ = [
    "NOTE",
    "bands_of",
    "by_length",
    "columns_section",
    "columns_table",
    "counts_table",
    "draw_bars",
    "draw_found",
    "draw_lengths",
    "first_section",
    "found_table",
    "frequent_table",
    "items_section",
    "lengths_table",
    "risk_section",
    "rows_section",
    "sizes_table",
    "supports_table",
    "versions_section",
    "warning",
]


def found_table(found: pd.DataFrame, k: int) -> str:
    """Tabulate the shares of rows at risk by the number of known items."""
    shares = zip(found.index, found["singled_out"], found["below_k"], strict=True)
    rows = [(count(int(known)), percent(alone), percent(few)) for known, alone, few in shares]
    header = ["known items (up to)", "singled out", f"fewer than {k} matches"]
    return table("Rows at risk", header, rows)


def lengths_table(lengths: pd.DataFrame, k: int) -> str:
    """Tabulate the share of rows with fewer than k matches by row length and number of known items."""
    header = ["items in the row", "rows", *(f"{known} known" for known in lengths.columns[1:])]
    rows = [
        (Cell(str(name)), count(int(number)), *map(percent, shares))
        for name, number, *shares in lengths.itertuples()
    ]
    return table(f"Rows with fewer than {k} matches, by length", header, rows)


def counts_table(counts: pd.Series[int]) -> str:
    """Tabulate the counts of rows and items; a count that could not be made (-1) is omitted."""
    rows = [(Cell(str(name)), count(int(number))) for name, number in counts.items() if number >= 0]
    return table("Counts", ["", "number"], rows)


def sizes_table(lengths: pd.Series[float]) -> str:
    """Tabulate the statistics of the row lengths."""
    rows = [(Cell(str(name)), Cell(f"{number:.3g}", number)) for name, number in lengths.items()]
    return table("Items per row", ["items per row", "number"], rows)


def bands_of(supports: pd.DataFrame) -> list[str]:
    """Return the names of the bands of supports."""
    return [
        f"{low:,} and more" if high >= MOST_ROWS else f"{low:,}" if low == high else f"{low:,}–{high:,}"
        for low, high in zip(supports["at_least"].tolist(), supports["at_most"].tolist(), strict=True)
    ]


def supports_table(supports: pd.DataFrame) -> str:
    """Tabulate the number of items by support."""
    bands = zip(bands_of(supports), supports["items"], supports["occurrences"], strict=True)
    rows = [(Cell(name), count(int(items)), percent(share)) for name, items, share in bands]
    header = ["rows with the item", "items", "share of all occurrences"]
    return table("Items by support", header, rows)


def frequent_table(frequent: pd.DataFrame) -> str:
    """Tabulate the most frequent items; return an empty text if there are none."""
    shares = zip(frequent["item"], frequent["rows"], frequent["share"], strict=True)
    rows = [(Cell(text), count(int(number)), percent(share)) for text, number, share in shares]
    header = ["most frequent items", "rows", "share of rows"]
    return table("Most frequent items", header, rows) if rows else ""


def columns_table(columns: pd.DataFrame, k: int, n_rows: int) -> str:
    """Tabulate the shares of rows at risk for each column alone."""
    header = ["column", "unique value", f"value in fewer than {k} rows", "values", "missing", "type"]
    rows = [_column(each, max(n_rows, 1)) for each in columns.itertuples(index=False)]
    return table("Rows that a single column identifies", header, rows)


def _column(column: Any, n_rows: int) -> list[Cell]:
    name, missing, kind = Cell(str(column.column)), count(column.missing), Cell(column.dtype)
    if column.values < 0:
        return [name, Cell("", -1), Cell("", -1), Cell("not comparable", -1), missing, kind]
    shares = [percent(each / n_rows) for each in (column.unique, column.below_k)]
    return [name, *shares, count(column.values), missing, kind]


# --- Plots


if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LINES = ("-", "--", "-.", ":")


def draw_bars(bands: pd.Series[int], ax: Axes, *, of: str, what: str) -> None:
    """Draw the number of rows or items in each band."""
    names = list(bands.index)
    horizontal_bars(ax, names, bands.to_numpy(), [f"{number:,}" for number in bands])
    whole_numbers(ax.xaxis)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    label_axes(ax, x=f"{what} (number)", y=of, beside=names)


def draw_found(found: pd.DataFrame, k: int, ax: Axes) -> None:
    """Draw the shares of rows singled out, and with fewer than k matches, by the number of known items."""
    known = np.arange(len(found))
    few = f"fewer than {k} matches"
    kinds = {"singled_out": ("singled out", -0.2, ""), "below_k": (few, 0.2, "///")}
    texts: list[str] = []
    size = size_across(ax, ["99.9"], 2 * len(known) + 1)
    for name, (label, shift, hatch) in kinds.items():
        percents = 100 * found[name].to_numpy(np.float64)
        fill = "none" if hatch else "C0"
        bars = ax.bar(known + shift, percents, 0.4, facecolor=fill, edgecolor="C0", hatch=hatch, label=label)
        texts = [f"{value:.3g}" for value in percents]
        ax.bar_label(bars, texts, padding=2, fontsize=size)
    ax.set_xticks(known, [str(each) for each in found.index])
    label_axes(ax, x="known items (up to)", y="rows (%)")
    hide_frame(ax)
    ax.set_ylim(0, room(100 * found["below_k"].to_numpy(np.float64)) * key_above(ax, size))


def draw_lengths(shares: pd.DataFrame, k: int, ax: Axes) -> None:
    """Draw the share of rows with fewer than k matches by row length: a line per number of known items."""
    places = np.arange(len(shares))
    ends: list[tuple[float, float, str]] = []
    for number, (known, line) in enumerate((100 * shares).items()):
        style: Any = _LINES[number % len(_LINES)]
        ax.plot(places, line, linestyle=style, marker="o", markersize=4)
        ends.append((float(places[-1]), float(line.iloc[-1]), f"{known} known"))
    starts = [name.partition("–")[0] for name in shares.index]
    ax.set_xticks(places, starts, fontsize=size_across(ax, starts, len(places)))
    ax.set_ylim(0, 105)
    label_axes(ax, x="items in the row (from)", y=f"rows with fewer than {k} matches (%)")
    hide_frame(ax)
    label_ends(ax, ends)


# --- Sections


NOTE = (
    "This page contains counts of the original, the names of its columns, and frequent items. It contains no "
    "row of the data, and no rare item."
)
_MOST_LENGTHS = 12  # more lengths are put into bands


def warning() -> str:
    """Return the warning at the top of the page."""
    text = "⚠ This page describes the original. Keep it with the original, and do not publish it."
    return paragraph(text, "verdict warned")


def first_section(alerts: Sequence[tuple[str, str]]) -> str:
    """List the alerts, each with its hint."""
    if not alerts:
        return section("What to do first", paragraph("No problem was found."))
    return section("What to do first", steps(alerts))


def risk_section(risk: pd.DataFrame, k: int, n_missing: int) -> str:
    """Show the shares of rows at risk, of all rows and by row length."""
    found = of_few_known(risk)
    lengths = by_length(risk, n_missing)[["rows", *found.index]]
    text = (
        "Suppose that an attacker knows some items of a person, in the worst case those that reveal most. A "
        "row is singled out if it is the only row that matches them. The tables show the share of rows that "
        f"are singled out, and of rows for which fewer than {k} rows match. Longer rows are at higher risk."
    )
    caption = f"Rows that are singled out, or have fewer than {k} matches, by the number of known items."
    beside = f"Rows with fewer than {k} matches, by the number of items in the row and of known items."
    parts = [
        paragraph(text),
        figure(svg(partial(draw_found, found, k), caption), caption),
        found_table(found, k),
    ]
    if len(lengths):
        shares = lengths.drop(columns="rows")
        parts += [figure(svg(partial(draw_lengths, shares, k), beside), beside), lengths_table(lengths, k)]
    return section("Who can be singled out", *parts)


def by_length(risk: pd.DataFrame, n_missing: int) -> pd.DataFrame:
    """Compute the share of rows below k by the number of items in the row.

    Parameters
    ----------
    risk : pandas.DataFrame
        The table of `pdanon.risk`.
    n_missing : int
        Number of missing rows. `pdanon.risk` counts them as rows of length 0; here they are subtracted.

    Returns
    -------
    pandas.DataFrame
        ``rows``, and one column of shares per number of known items. One row per length; if there are many
        lengths, one row per band 1, 2, 3-4, 5-8, ...
    """
    lengths = risk[risk["items"].notna()].astype({"items": "int64"})
    n_items = lengths["items"]
    few = n_items.nunique() <= _MOST_LENGTHS
    # Bands double: band b > 1 has the lengths from 2**(b - 2) + 1 to 2**(b - 1).
    band = (
        n_items if few else np.where(n_items > 0, np.ceil(np.log2(n_items.clip(lower=1))) + 1, 0).astype(int)
    )
    # Shares must be weighted by their rows before they are added up.
    parts = lengths.assign(below_k=lengths["below_k"] * lengths["rows"], band=band)
    sums = parts.groupby(["band", "known"])[["rows", "below_k"]].sum()
    shares = (sums["below_k"] / sums["rows"]).unstack("known")
    rows = sums["rows"].groupby("band").first() - n_missing * (shares.index == 0)
    shares.insert(0, "rows", rows)
    names = [str(place) if few else _doubling(place) for place in shares.index]
    return shares.set_axis(pd.Index(names, dtype=object))[(rows > 0).to_numpy()]


def _doubling(place: int) -> str:
    """Return the name of a band of lengths: 0, 1, 2, 3-4, 5-8, ..."""
    low, high = 2**place // 4 + 1, 2**place // 2
    return f"{high}" if place < 3 else f"{low:,}–{high:,}"


def rows_section(counts: pd.Series[int], lengths: pd.Series[float], bands: pd.Series[int]) -> str:
    """Show the number of rows and their lengths."""
    caption = "Number of rows by the number of their items."
    picture = _bars(bands, "items in the row", "rows", caption)
    return section("Rows", counts_table(counts), picture, sizes_table(lengths))


def items_section(supports: pd.DataFrame, frequent: pd.DataFrame, k: int) -> str:
    """Show the number of items by support, and the most frequent items."""
    caption = "Number of items by the number of rows with the item."
    bands = pd.Series(supports["items"].to_numpy(), bands_of(supports))
    text = f"Items in fewer than {k} rows are counted but not named, because they single out their rows."
    picture = _bars(bands, "rows with the item", "items", caption)
    tables = [supports_table(supports), frequent_table(frequent)]
    return section("Items", paragraph(text), picture, *tables)


def _bars(bands: pd.Series[int], of: str, what: str, caption: str) -> str:
    if bands.empty:
        return ""
    return figure(svg(partial(draw_bars, bands, of=of, what=what), caption), caption)


def columns_section(columns: pd.DataFrame, k: int, n_rows: int) -> str:
    """Show the shares of rows that each of the other columns puts at risk."""
    if columns.empty:
        return section("Other columns", paragraph("There is no other column."))
    text = f"For each column alone: the share of rows with a unique value, or a value in fewer than {k} rows."
    return section("Other columns", paragraph(text), columns_table(columns, k, n_rows))


def versions_section() -> str:
    """Show the time and the versions."""
    return section("Date and versions", versions())
