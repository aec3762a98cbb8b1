"""Tables of a first look, for its page and for notebooks: counts and shares, and no item of few rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pdanon.evaluation.report.pieces import Cell, count, percent, table
from pdanon.itemsets.support import MOST_ROWS

__all__ = [
    "bands_of",
    "columns_table",
    "counts_table",
    "found_table",
    "frequent_table",
    "lengths_table",
    "sizes_table",
    "supports_table",
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
