"""A first look as a page: the sections of what is in a raw table, who can be found in it, and what to do.

The page is about the original: it holds counts, and no item that is in few rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from pdanon.evaluation.metrics.risk import of_few_known
from pdanon.evaluation.report.drawing import svg
from pdanon.evaluation.report.look_pictures import draw_bars, draw_found, draw_lengths
from pdanon.evaluation.report.look_tables import (
    bands_of,
    columns_table,
    counts_table,
    found_table,
    frequent_table,
    lengths_table,
    sizes_table,
    supports_table,
)
from pdanon.evaluation.report.pieces import figure, paragraph, section, steps
from pdanon.evaluation.report.provenance import made

__all__ = [
    "NOTE",
    "by_length",
    "columns_section",
    "first_section",
    "items_section",
    "made_section",
    "risk_section",
    "rows_section",
    "warning",
]

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
