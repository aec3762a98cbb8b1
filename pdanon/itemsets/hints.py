"""Hints for tables that hold no lists: what they look like, and the call that makes lists of them.

A hint names columns, and separators out of a fixed choice; of a one-hot table not even columns, as these are
the items. It goes by the first rows: pandas makes accessors, and drops their errors, at each tab completion.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import pandas as pd
import pyarrow as pa

from pdanon.itemsets.dtype import is_list_type

__all__ = [
    "LISTS_HINT",
    "column_hint",
    "describe_columns",
    "frame_hint",
    "is_named_for_persons",
    "lists_hint",
    "row_hint",
    "split_words",
]

_WORDS = {"card", "pid", "mrn", "dupersid"}
_BEGINNINGS = (
    *("person", "patient", "customer", "client", "user", "member", "subject", "household", "account"),
    *("employee", "student", "kunde", "mitglied", "versicherte"),
)


def is_named_for_persons(label: Hashable) -> bool:
    """Whether the name of a column speaks of persons, or of what stands for one, such as a card."""
    return any(word in _WORDS or word.startswith(_BEGINNINGS) for word in map(str.lower, split_words(label)))


def split_words(label: Hashable) -> list[str]:
    """The words that the name of a column is made of, also where capitals or underscores part them."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+", str(label))


# --- Hints for tables that hold no lists: what they look like, and the call that makes lists of them


LISTS_HINT = (
    "a row is a list, tuple, set or array of items; text is never parsed: pdanon.from_text(frame['items'], "
    "sep=',') splits it, and pdanon.from_long(frame, by='person', item='item') joins the rows of a person"
)
_DICTS = "a row is a list, tuple, set or array of items: of a dict .map(list) makes a list of its keys"
_SEPARATORS = "|;,\t"
_ITEMS = ("item", "product", "icd", "diagnos", "concept", "article", "stock", "code")
_PLACES = ("post", "zip")  # whose codes are no items
_LOOKED_AT = 1000  # rows
_MOST_SHOWN = 20  # columns
_FEW = 3  # of which a list can be read at a glance


def lists_hint(frame: pd.DataFrame) -> str:
    """How a frame without lists becomes one with lists."""
    columns = [frame.iloc[:, position] for position in range(frame.shape[1])]
    if not columns:
        return "the frame is empty: it has no columns"
    if not len(frame):
        return "the frame is empty: it has no rows"
    columns = [column.head(_LOOKED_AT) for column in columns]
    untold = [column for column in columns if column.dtype == object and not column.notna().any()]
    if untold:
        return f"no row shows what it holds: name the column, as in column={untold[0].name!r}"
    if len(_marks(columns)) > 1:
        return _one_hot(columns)
    hints = [_column_hint(column) for column in columns if _first(column) is not None]
    known = [hint for hint in hints if hint is not None]
    return known[0] if known else _one_row_an_item(columns)


def describe_columns(frame: pd.DataFrame, *, types: bool = False) -> str:
    """The labels of columns, with their types or without, as far as they are not items themselves."""
    columns = [frame.iloc[:, position] for position in range(frame.shape[1])]
    marks = {id(column) for column in _marks(columns)}
    named = [column for column in columns if id(column) not in marks] if len(marks) > 1 else columns
    labels = [column.name for column in named[:_MOST_SHOWN]]
    kinds = {column.name: column.dtype.name for column in named[:_MOST_SHOWN]}
    more = f" and {len(named) - len(labels)} more" if len(named) > len(labels) else ""
    hidden = f" and {len(columns) - len(named)} of 0 and 1 only" if len(named) < len(columns) else ""
    return f"columns {kinds if types else labels}{more}{hidden}"


def row_hint(row: Any) -> str:
    """What to do about a row that is no list."""
    if isinstance(row, dict):
        return _DICTS
    return _text_hint("items", [row]) or LISTS_HINT if isinstance(row, str) else LISTS_HINT


def column_hint(column: pd.Series[Any]) -> str:
    """What to do about a column that was named, or was meant, and holds no lists."""
    return _column_hint(column) or (_one_hot([column]) if _marks([column]) else LISTS_HINT)


def frame_hint(value: Any) -> str | None:
    """How a value that is no frame of pandas becomes one."""
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, pd.Series):
        return "a column alone: give the frame, or column.to_frame('items')"
    if module == "dask":
        return "a Dask frame: import pdanon.dask, and then ddf.txanon"
    if hasattr(value, "to_pandas"):
        return "a table of another library: give table.to_pandas()"
    if isinstance(value, str):
        return "read the file first: pdanon.read_parquet(path), or pdanon.read_csv(path, ...)"
    if isinstance(value, (list, tuple, dict)):
        return "make a frame of it: pd.DataFrame({'items': rows})"
    return None


def _column_hint(column: pd.Series[Any]) -> str | None:
    first = _first(column)
    if isinstance(first, dict):
        return _DICTS
    if not isinstance(first, str):
        return None
    label = "items" if column.name is None else column.name
    return _text_hint(label, [text for text in _values(column) if isinstance(text, str)])


def _text_hint(label: Hashable, texts: list[str]) -> str | None:
    """What to do about text, by what most values look like."""
    name = f"frame[{label!r}]"
    if texts[0][:1] in ("[", "{", "("):
        if "' '" in texts[0]:
            return "pandas writes lists to CSV as text that nothing reads back: write them by pdanon.to_csv"
        wrote = f"{name} = {name}.map(ast.literal_eval) where Python wrote it, .map(json.loads) where JSON"
        return f"text is never parsed: {wrote}"
    found = [(sum(mark in text for text in texts), -place) for place, mark in enumerate(_SEPARATORS)]
    often, place = max(found)
    if 2 * often < len(texts):
        return None
    split = f"pdanon.from_text({name}, sep={_SEPARATORS[-place]!r})"
    return f"text is never parsed: split it first, {name} = {split}"


def _one_row_an_item(columns: list[pd.Series[Any]]) -> str:
    """Of a long table: persons repeat, and both are in columns that are called so if there are some."""
    items = _items(columns)
    others = [column for column in columns if column.name != items]
    persons = [column.name for column in others if len({*map(str, column)}) < len(column)]
    if not persons:
        return LISTS_HINT
    called = [name for name in persons if is_named_for_persons(name)]
    by = (called or persons)[0]
    lists = f"pdanon.from_long(frame, by={by!r}, item={items!r}) has one row a person"
    unsure = "" if called else f", if {by!r} says whose line it is"
    none = "No items, but columns such as age? pdanon.mondrian(frame, k=5, quasi=['age']), not df.txanon"
    told = "text is never parsed, nor are rows put together"
    return f"{told}. One row an item? {lists}{unsure}. {none}"


def _items(columns: list[pd.Series[Any]]) -> Hashable:
    """The column that is called like one of items; else the last one of text."""
    names = [column.name for column in columns]
    called = [
        name
        for word in _ITEMS
        for name in names
        if word in str(name).lower() and not any(place in str(name).lower() for place in _PLACES)
    ]
    texts = [column.name for column in columns if isinstance(_first(column), str)]
    return [*called[:1], *texts[-1:], names[-1]][0]


def _one_hot(columns: list[pd.Series[Any]]) -> str:
    marks = {id(column) for column in _marks(columns)}
    others = [column.name for column in columns if id(column) not in marks]
    places = [place for place, column in enumerate(columns) if id(column) in marks]
    items = f", columns=frame.columns.drop({others})" if others else ""
    if len(others) > _FEW and places[-1] - places[0] < len(places):  # side by side
        items = f", columns=frame.columns[{places[0]}:{places[-1] + 1}]"
    return f"one column an item (one-hot)? pdanon.from_onehot(frame{items}) lists the items of each row"


def _marks(columns: list[pd.Series[Any]]) -> list[pd.Series[Any]]:
    """The columns of nothing but 0 and 1, or False and True, as far as can be seen."""
    numbers = [column for column in columns if pd.api.types.is_numeric_dtype(column.dtype) and len(column)]
    return [column for column in numbers if column.head(_LOOKED_AT).isin([0, 1]).all()]


def _first(column: pd.Series[Any]) -> Any:
    return next(iter(_values(column)), None)


def _values(column: pd.Series[Any]) -> list[Any]:
    if isinstance(column.dtype, pd.ArrowDtype):
        kind = column.dtype.pyarrow_dtype
        if is_list_type(kind) or pa.types.is_dictionary(kind):
            return []
    return column.dropna().head(_LOOKED_AT).tolist()
