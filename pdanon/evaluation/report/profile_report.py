"""Tables of a first look, for its page and for notebooks: counts and shares, and no item of few rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pdanon.evaluation.metrics.risk import of_few_known
from pdanon.evaluation.plotting import (
    horizontal,
    key_above,
    label_ends,
    plain,
    room,
    say,
    size_across,
    whole_numbers,
)
from pdanon.evaluation.report.html import (
    Cell,
    count,
    figure,
    made,
    paragraph,
    percent,
    section,
    steps,
    svg,
    table,
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
    "made_section",
    "risk_section",
    "rows_section",
    "sizes_table",
    "supports_table",
    "warning",
]


def found_table(found: pd.DataFrame, k: int) -> str:
    """How many rows are found, by the number of known items."""
    shares = zip(found.index, found["singled_out"], found["below_k"], strict=True)
    rows = [(count(int(known)), percent(alone), percent(few)) for known, alone, few in shares]
    return table("Rows that can be found", ["items known (up to)", "alone", f"fewer than {k}"], rows)


def lengths_table(lengths: pd.DataFrame, k: int) -> str:
    """How many rows are found among fewer than k, by their length and the number of known items."""
    header = ["items in the row", "rows", *(f"{known} known" for known in lengths.columns[1:])]
    rows = [
        (Cell(str(name)), count(int(number)), *map(percent, shares))
        for name, number, *shares in lengths.itertuples()
    ]
    return table(f"Rows among fewer than {k}, by length", header, rows)


def counts_table(counts: pd.Series[int]) -> str:
    """How many rows and items there are; what could not be counted is left out."""
    rows = [(Cell(str(name)), count(int(number))) for name, number in counts.items() if number >= 0]
    return table("Counts", ["", "number"], rows)


def sizes_table(lengths: pd.Series[float]) -> str:
    """How long the rows are."""
    rows = [(Cell(str(name)), Cell(f"{number:.3g}", number)) for name, number in lengths.items()]
    return table("Items of a row", ["items of a row", "number"], rows)


def bands_of(supports: pd.DataFrame) -> list[str]:
    """The names of the bands: in how many rows an item is."""
    return [
        f"{low:,} and more" if high >= MOST_ROWS else f"{low:,}" if low == high else f"{low:,}–{high:,}"
        for low, high in zip(supports["at_least"].tolist(), supports["at_most"].tolist(), strict=True)
    ]


def supports_table(supports: pd.DataFrame) -> str:
    """How many items are in how many rows."""
    bands = zip(bands_of(supports), supports["items"], supports["occurrences"], strict=True)
    rows = [(Cell(name), count(int(items)), percent(share)) for name, items, share in bands]
    return table("How rare the items are", ["in so many rows", "items", "share of all occurrences"], rows)


def frequent_table(frequent: pd.DataFrame) -> str:
    """The items in most rows; nothing if none is in enough of them."""
    shares = zip(frequent["item"], frequent["rows"], frequent["share"], strict=True)
    rows = [(Cell(text), count(int(number)), percent(share)) for text, number, share in shares]
    return (
        table("The items in most rows", ["most frequent items", "rows", "share of rows"], rows)
        if rows
        else ""
    )


def columns_table(columns: pd.DataFrame, k: int, n_rows: int) -> str:
    """How many rows each column tells apart by itself."""
    header = ["column", "alone", f"fewer than {k}", "values", "missing", "type"]
    rows = [_column(each, max(n_rows, 1)) for each in columns.itertuples(index=False)]
    return table("Rows that a column tells apart", header, rows)


def _column(column: Any, n_rows: int) -> list[Cell]:
    name, missing, kind = Cell(str(column.column)), count(column.missing), Cell(column.dtype)
    if column.values < 0:
        return [name, Cell("", -1), Cell("", -1), Cell("not comparable", -1), missing, kind]
    shares = [percent(each / n_rows) for each in (column.unique, column.below_k)]
    return [name, *shares, count(column.values), missing, kind]


# --- Pictures of a raw table: who can be found, and how many rows and items there are of which kind


if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


# --- A first look as a page: the sections of what is in a raw table, who can be found in it, and what to do


NOTE = (
    "This page holds counts of the original, the names of its columns, and items that many rows hold: no row "
    "of the data, and no item that is in few rows."
)
_MOST_LENGTHS = 12  # that are shown one by one


def warning() -> str:
    """What the page is about, before all else."""
    text = "⚠ This page is about the original. Keep it where the original is kept, and do not publish it."
    return paragraph(text, "verdict warned")


def first_section(alerts: Sequence[tuple[str, str]]) -> str:
    """What was found, and what to do about it."""
    if not alerts:
        return section("What to do first", paragraph("Nothing was found that has to be looked at."))
    return section("What to do first", steps(alerts))


def risk_section(risk: pd.DataFrame, k: int, n_missing: int) -> str:
    """Who can be found: of all rows, and by the length of the row."""
    found = of_few_known(risk)
    lengths = by_length(risk, n_missing)[["rows", *found.index]]
    text = (
        "Somebody knows some items of one row, whichever serve him best. For this share of the rows, what he "
        f"knows matches no other row (alone), or fewer than {k} in all. Longer rows are easier to find."
    )
    caption = f"Rows that are found alone, or among fewer than {k}, by the number of known items."
    beside = f"Rows among fewer than {k}, by the number of items in the row, for each number of known items."
    parts = [
        paragraph(text),
        figure(svg(partial(draw_found, found, k), caption), caption),
        found_table(found, k),
    ]
    if len(lengths):
        shares = lengths.drop(columns="rows")
        parts += [figure(svg(partial(draw_lengths, shares, k), beside), beside), lengths_table(lengths, k)]
    return section("Who can be found", *parts)


def by_length(risk: pd.DataFrame, n_missing: int) -> pd.DataFrame:
    """The share of rows below k by the number of items in the row.

    Parameters
    ----------
    risk : pandas.DataFrame
        As `pdanon.risk` has it.
    n_missing : int
        How many of the rows without an item are missing, and no rows of length 0.

    Returns
    -------
    pandas.DataFrame
        ``rows``, and the share by the number of known items; a row for each length, or for 1, 2, 3-4, 5-8
        and so on, if there are many.
    """
    lengths = risk[risk["items"].notna()].astype({"items": "int64"})
    n_items = lengths["items"]
    few = n_items.nunique() <= _MOST_LENGTHS
    band = (
        n_items if few else np.where(n_items > 0, np.ceil(np.log2(n_items.clip(lower=1))) + 1, 0).astype(int)
    )
    parts = lengths.assign(below_k=lengths["below_k"] * lengths["rows"], band=band)
    sums = parts.groupby(["band", "known"])[["rows", "below_k"]].sum()
    shares = (sums["below_k"] / sums["rows"]).unstack("known")
    rows = sums["rows"].groupby("band").first() - n_missing * (shares.index == 0)
    shares.insert(0, "rows", rows)
    names = [str(place) if few else _doubling(place) for place in shares.index]
    return shares.set_axis(pd.Index(names, dtype=object))[(rows > 0).to_numpy()]


def _doubling(place: int) -> str:
    """The lengths of a band: 0, 1, 2, 3-4, 5-8, ..."""
    low, high = 2**place // 4 + 1, 2**place // 2
    return f"{high}" if place < 3 else f"{low:,}–{high:,}"


def rows_section(counts: pd.Series[int], lengths: pd.Series[float], bands: pd.Series[int]) -> str:
    """How many rows there are, and how long they are."""
    caption = "How many rows have how many items."
    picture = _bars(bands, "items in the row", "rows", caption)
    return section("Rows", counts_table(counts), picture, sizes_table(lengths))


def items_section(supports: pd.DataFrame, frequent: pd.DataFrame, k: int) -> str:
    """How many items are in how many rows, and the most frequent of them."""
    caption = "How many items are in how many rows."
    bands = pd.Series(supports["items"].to_numpy(), bands_of(supports))
    text = f"Items in fewer than {k} rows are counted, and not named: who holds one of them is soon found."
    picture = _bars(bands, "rows that hold the item", "items", caption)
    tables = [supports_table(supports), frequent_table(frequent)]
    return section("Items", paragraph(text), picture, *tables)


def _bars(bands: pd.Series[int], of: str, what: str, caption: str) -> str:
    if bands.empty:
        return ""
    return figure(svg(partial(draw_bars, bands, of=of, what=what), caption), caption)


def columns_section(columns: pd.DataFrame, k: int, n_rows: int) -> str:
    """What each of the other columns tells by itself."""
    if columns.empty:
        return section("Other columns", paragraph("There is no other column."))
    text = "What each tells by itself: rows that are the only ones with their value, or share it with few."
    return section("Other columns", paragraph(text), columns_table(columns, k, n_rows))


def made_section() -> str:
    """When the page was made, and with what."""
    return section("When, and with what", made())
