"""Frames of every kind that people have: types of items and of lists, empty rows, indexes, columns."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
from conftest import frame_of

from pdanon.itemsets.encoded_columns import collapse_columns

BASE = [["ab", "cd"], ["ab", "ef"], ["cd"], ["cd", "gh"], [], ["ef"], ["ab", "cd", "ef"]]


def arrow(rows, kind):
    lists = pa.array(rows, kind)
    return pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})


def chunked(rows):
    lists = pa.chunked_array([rows[:2], rows[2:2], rows[2:]], pa.list_(pa.string()))
    return pd.DataFrame({"items": pd.Series(pd.arrays.ArrowExtensionArray(lists))})


def objects(rows, into):
    column = pd.Series([None] * len(rows), dtype=object)
    for number, row in enumerate(rows):
        column.array[number] = row if row is None else into(row)
    return pd.DataFrame({"items": column})


def mapped(rows, items):
    """The same rows with other items."""
    return pd.DataFrame({"items": [[items[item] for item in row] for row in rows]})


def many_columns():
    frame = objects(BASE, list).rename(columns={"items": 5})
    frame.insert(0, "age", pd.array([30, None, 41, 2, 9, 8, 7], dtype="Int64"))
    frame["ward"] = pd.Categorical(list("xyxyxyx"), categories=["x", "y", "unused"])
    frame[("a", 1)] = pd.date_range("2020-01-01", periods=7, tz="Europe/Athens")
    frame["text"] = ["v", None, *"vwxyz"]
    frame["anything"] = [object, 1, "x", None, {}, 2.5, ()]
    frame["more"] = pd.interval_range(0, 7)
    frame.attrs.update({"source": "ward 3", "nested": {"a": [1]}})
    return frame


def repeated_columns():
    frame = pd.DataFrame([[1, 2]] * 7, columns=["x", "x"])
    frame["items"] = BASE
    return frame


def many_items():
    """Few of the pairs are rare: what algorithms look at must not grow with all pairs of items."""
    fours = [[f"i{4 * row + place}" for place in range(4)] for row in range(375)]
    return frame_of([*fours, *fours, *([f"i{100 * n}", f"i{100 * n + 50}"] for n in range(15))])


ITEMS = ["ab", "cd", "ef", "gh"]
NULLS = [*BASE[:3], None, *BASE[3:], None]
FRAMES = {
    "no rows": lambda: frame_of([]),
    "one empty row": lambda: frame_of([[]]),
    "empty rows": lambda: frame_of([[], [], []]),
    "missing rows": lambda: frame_of([None, None]),
    "equal rows": lambda: frame_of([["a", "b"]] * 4),
    "some missing rows": lambda: frame_of(NULLS),
    "one item": lambda: frame_of([["a"], ["a"], []]),
    "repeated items": lambda: objects([["a", "a", "b"], ["b", "b"], ["a"], ["b", "a"]], list),
    "lists": lambda: objects(NULLS, list),
    "tuples": lambda: objects(NULLS, tuple),
    "sets": lambda: objects(NULLS, set),
    "frozen sets": lambda: objects(NULLS, frozenset),
    "arrays": lambda: objects(NULLS, lambda row: np.array(row, dtype=object)),
    "chunks": lambda: chunked(BASE),
    "large lists": lambda: arrow(NULLS, pa.large_list(pa.large_string())),
    "list views": lambda: arrow(NULLS, pa.list_view(pa.string())),
    "lists of one size": lambda: arrow([["a", "b"], ["b", "c"], None, ["a", "c"]], pa.list_(pa.string(), 2)),
    "dictionary": lambda: arrow(NULLS, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "slice": lambda: frame_of([["zz"], *BASE, ["zz"]]).iloc[1:-1],
    "integers": lambda: mapped(BASE, dict(zip(ITEMS, [7, 100, -3, 20], strict=True))),
    "floats": lambda: mapped(BASE, dict(zip(ITEMS, [0.5, 1e300, -2.25, 20.0], strict=True))),
    "dates": lambda: mapped(BASE, {item: dt.date(2020, 1, day) for day, item in enumerate(ITEMS, 1)}),
    "times": lambda: mapped(BASE, {item: dt.datetime(2020, 1, day) for day, item in enumerate(ITEMS, 1)}),
    "booleans": lambda: objects([[True], [False], [True, False], [True]], list),
    "unicode": lambda: mapped(
        BASE, dict(zip(ITEMS, ["ä", "a\u0308", "日本 語", "\U0001f9ea\n\t"], strict=True))
    ),
    "long items": lambda: mapped(BASE, {item: item * 20_000 for item in ITEMS}),
    "items like labels": lambda: mapped(BASE, dict(zip(ITEMS, ["(a,b)", "a", "b", "((a,b))"], strict=True))),
    "items with NULs": lambda: mapped(BASE, dict(zip(ITEMS, ["a", "a\0", "\0", "a\0b"], strict=True))),
    "items of separators": lambda: mapped(BASE, dict(zip(ITEMS, [",", "\\", "(", ")"], strict=True))),
    "many items": lambda: frame_of(
        [[f"i{(7 * row + 401 * place) % 1500}" for place in range(4)] for row in range(700)]
    ),
    "repeated index": lambda: objects(BASE, list).set_axis([1, 1, 2, 2, 2, 0, 1]),
    "text index": lambda: objects(BASE, list).set_axis(pd.Index(list("gfedcba"), name="person")),
    "several levels": lambda: objects(BASE, list).set_axis(
        pd.MultiIndex.from_arrays([list("xxyyzzz"), [1, 1, 2, 3, 4, 4, 4]], names=["ward", None])
    ),
    "many columns": many_columns,
    "repeated columns": repeated_columns,
}


def collapse(batches):
    """Collect the distinct rows of a list column that comes in batches."""
    return collapse_columns(([batch] for batch in batches), 1)
