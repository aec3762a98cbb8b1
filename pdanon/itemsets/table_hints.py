"""Hints for tables without lists: the call that makes lists from the form of the table."""

# A hint names columns, and separators from a fixed set. It names no columns of a one-hot table, as these are
# the items. Only the first rows decide: pandas makes accessors at each tab completion, so hints must be fast.

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping
from contextlib import suppress
from itertools import chain
from string import digits
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.itemsets.dtype import is_list_type

# Names of columns that identify persons, in English, German and of medical records.
_WORDS = {"card", "pid", "mrn", "dupersid"}
_BEGINNINGS = (
    *("person", "patient", "customer", "client", "user", "member", "subject", "household", "account"),
    *("employee", "student", "kunde", "mitglied", "versicherte"),
)


def is_named_for_persons(label: Hashable) -> bool:
    """Return whether the name of a column denotes persons, or their cards or accounts."""
    words = [*map(str.lower, split_words(label))]  # more are the text of a question
    return len(words) < 5 and any(word in _WORDS or word.startswith(_BEGINNINGS) for word in words)


def split_words(label: Hashable) -> list[str]:
    """Split the name of a column into words, at capitals and at all characters but letters."""
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+", str(label))


LISTS_HINT = (
    "a row is a list, tuple, set or array of items; text is never parsed: pdanon.from_text(frame['items'], "
    "separator=',') splits it; pdanon.from_long(frame, by='person', item='item') joins the rows of a person"
)
_DICTS = "a row is a list, tuple, set or array of items: .map(list) makes lists of the keys of dicts"
_ARRAYS = (pd.api.extensions.ExtensionArray, pd.Index, pd.Series)
_SEPARATORS = "|;,\t"
_EMPTY_LISTS = ("[]", "{}", "()", "set()")
_ITEMS = (
    *("item", "product", "icd", "diag", "dx", "concept", "article", "stock", "drug", "medic", "treatment"),
    *("procedure", "condition", "cpt", "code"),
)
_NO_ITEMS = ("post", "zip", "idx")  # postal codes and numbers of rows
_SAMPLE = 1000  # rows
_MOST_SHOWN = 20  # columns
_FEW = 3  # labels, as many as are easily read in a hint


def text_hint(column: pd.Series[Any]) -> str:
    """Return how to make text of the values of a column of any type. Missing values stay missing."""
    name = f"frame[{column.name!r}]"
    texts = f"{name}.map(str, na_action='ignore')"
    if not _is_known(column.dtype):
        texts = f"[None if value is pd.NA else str(value) for value in {name}]"
    return f"make them text: {name} = {texts}"


def _is_known(dtype: Any) -> bool:
    """Return whether pandas knows the kind of a dtype, as it does not for some Arrow types."""
    try:
        return dtype.type is not None
    except NotImplementedError:
        return False


def lists_hint(frame: pd.DataFrame) -> str:
    """Return how to make lists of a frame that has none."""
    columns = [frame.iloc[:_SAMPLE, position] for position in range(frame.shape[1])]
    if not columns:
        return "the frame is empty: it has no columns"
    if not len(frame):
        return "the frame is empty: it has no rows"
    untyped = [column for column in columns if column.dtype == object and not column.notna().any()]
    if untyped:
        return f"no row shows what it holds: name the column, as in column={untyped[0].name!r}"
    if is_onehot(columns):
        return _onehot_hint(columns)
    known = filter(None, map(_column_hint, columns))
    return next(known, None) or _wide_hint(columns) or _long_hint(columns)


def describe_columns(frame: pd.DataFrame, *, types: bool = False) -> str:
    """List the labels of columns, optionally with types, except the labels of a one-hot table."""
    columns = [frame.iloc[:, position] for position in range(frame.shape[1])]
    flags = _flag_places(columns) if is_onehot(columns) else set[int]()
    named = [each for place, each in enumerate(columns) if place not in flags]
    labels = [_label(column) for column in named[:_MOST_SHOWN]]
    kinds = {_label(column): column.dtype.name for column in named[:_MOST_SHOWN]}
    more = f" and {len(named) - len(labels)} more" if len(named) > len(labels) else ""
    hidden = f" and {len(columns) - len(named)} with only 0 and 1" if len(named) < len(columns) else ""
    return f"columns {kinds if types else labels}{more}{hidden}"


def row_hint(row: Any) -> str:
    """Return how to make a list of a row that is none."""
    if isinstance(row, dict):
        return _DICTS
    if isinstance(row, _ARRAYS):
        return (
            f"a row is a list, tuple, set or array of items: .map(list) makes one of a {type(row).__name__}"
        )
    return _text_hint("items", [row]) or LISTS_HINT if isinstance(row, str) else LISTS_HINT


def column_hint(column: pd.Series[Any]) -> str:
    """Return how to make lists of a column that holds none."""
    return _column_hint(column) or (_onehot_hint([column]) if _flag_places([column]) else LISTS_HINT)


def frame_hint(value: Any) -> str | None:
    """Return how to make a pandas DataFrame of another value."""
    module = type(value).__module__.partition(".")[0]
    if isinstance(value, pd.Series):
        return "a column alone: pass the frame, or column.to_frame('items')"
    if module == "dask":
        return "a Dask frame: import pdanon.dask, and then ddf.txanon"
    if hasattr(value, "to_pandas"):
        return "a table of another library: pass table.to_pandas()"
    if isinstance(getattr(value, "frame", None), pd.DataFrame):
        return "a result: pass result.frame, the released frame"
    if isinstance(value, str):
        return "read the file first: pdanon.read_parquet(path), or pdanon.read_csv(path, ...)"
    if isinstance(value, (list, tuple, dict)):
        return "make a frame of it: pd.DataFrame({'items': rows})"
    return None


def _column_hint(column: pd.Series[Any]) -> str | None:
    """Return the hint for a column of dicts or text."""
    first = _first_value(column)
    if isinstance(first, (dict, *_ARRAYS)):
        return row_hint(first)
    if not isinstance(first, str):
        return None
    label = "items" if column.name is None else column.name
    return _text_hint(label, [text for text in _sample_values(column) if isinstance(text, str)])


def _text_hint(label: Hashable, texts: list[str]) -> str | None:
    """Return the hint for text with brackets, or with a separator in at least half of the values."""
    if texts[0][:1] in ("[", "{", "("):
        return parse_hint(label, texts)
    name = f"frame[{label!r}]"
    # Of equally frequent separators the first one wins.
    counts = [(sum(mark in text for text in texts), -place) for place, mark in enumerate(_SEPARATORS)]
    count, place = max(counts)
    if 2 * count < len(texts):
        return None
    split = f"pdanon.from_text({name}, separator={_SEPARATORS[-place]!r})"
    return f"text is never parsed: split it first, {name} = {split}"


def parse_hint(label: Hashable, texts: list[str]) -> str:
    """Return how to make lists of texts in the notation of a list, from the first one that is not empty."""
    name = f"frame[{label!r}]"
    text = next((each.strip() for each in texts if each.strip() not in _EMPTY_LISTS), "")
    if "' '" in text:  # the text of a NumPy array, in which no commas are
        return "pandas writes lists to CSV as text that nothing reads back: write them by pdanon.to_csv"
    if not text:
        return f"an empty row is an empty text: {name} = {name}.replace({texts[0]!r}, '')"
    field = ", field='code'" * text[1:].lstrip().startswith("{")
    parse = f"pdanon.from_json({name}{field})"
    if text.startswith("{") and ":" in text:
        parse = f"{name}.map(lambda row: list(json.loads(row)), na_action='ignore')"
    elif text[1:].lstrip()[:1].isalpha():
        parse = f"pdanon.from_text({name}.str.strip('[]'), separator=',')"
    return f"text is never parsed: {name} = {parse} makes lists"


def wide_places(columns: list[pd.Series[Any]]) -> list[int]:
    """Return the columns of wide baskets, one per place of a row's items, which share values; or none."""
    texts = {place: own for place, column in enumerate(columns) if (own := _texts(column))}
    columns_of = Counter(chain.from_iterable(map(set, texts.values())))
    shares = {place: sum(columns_of[text] > 1 for text in own if text) for place, own in texts.items()}
    sizes = {place: sum(map(bool, own)) for place, own in texts.items()}
    numbered = _numbered_places({place: columns[place].name for place in texts})
    if 2 * sum(map(shares.__getitem__, numbered)) < sum(map(sizes.__getitem__, numbered)):
        numbered = []
    persons = [column for column in columns if is_named_for_persons(column.name)]
    if not numbered and not all(column.is_unique for column in persons):
        return []
    wide = numbered or [place for place in texts if 2 * shares[place] >= sizes[place]]
    filled = np.array([[*map(bool, texts[place])] for place in numbered or texts])
    # Rows that end in blanks, and have none between their texts.
    is_ragged = any(shares.values()) and (filled[:-1] >= filled[1:]).all() and not filled.all()
    if is_ragged and not numbered:
        wide = [place for place, own in texts.items() if shares[place] or not all(own)]
    rows = [[*filter(None, row)] for row in zip(*map(texts.get, wide), strict=True)]
    # Items do not repeat in a row, but the answers of a survey do. So do codes that were shortened.
    are_coarse = numbered and (is_ragged or usual_items([columns[place] for place in numbered]))
    repeats = 0 if are_coarse else sum(len({*row}) < len(row) for row in rows)
    return wide if any(len(row) > 1 for row in rows) and 10 * repeats <= len(rows) else []


def is_numbered(label: Hashable) -> bool:
    """Return whether the name of a column is a stem and a number, such as dx1."""
    return re.fullmatch(r".*[^\W\d].*\d", str(label)) is not None


def _numbered_places(labels: Mapping[int, Hashable]) -> list[int]:
    """Return the places of the most columns whose names have one stem, such as dx1 to dx9; or none."""
    stems: dict[str, list[int]] = {}
    for place, label in labels.items():
        if is_numbered(label):
            stems.setdefault(str(label).rstrip(digits), []).append(place)
    most = max(stems.values(), key=len, default=[])
    return most if len(most) > 1 else []


def _wide_hint(columns: list[pd.Series[Any]]) -> str | None:
    """Return the hint for wide baskets."""
    wide = wide_places(columns)
    if not wide:
        return None
    names = f"{[_label(columns[place]) for place in wide]}"
    if len(wide) > _FEW and wide[-1] - wide[0] < len(wide):  # side by side
        names = f"frame.columns[{wide[0]}:{wide[-1] + 1}]"
    made = f"pdanon.from_wide(frame, columns={names})"
    hint = f"One column per place of an item (wide baskets)? {made} lists the items of each row"
    return f"{hint}. {_no_items_hint(columns)}"


def _no_items_hint(columns: list[pd.Series[Any]]) -> str:
    labels = [_label(column) for column in columns[:2]]
    return f"No items? pdanon.anonymize(frame, pdanon.KAnonymity(5, quasi={labels}))"


def _texts(column: pd.Series[Any]) -> list[str]:
    """Return the texts of a column without blanks around them; none if a value is no text."""
    values = ["" if is_missing else value for value, is_missing in zip(column, column.isna(), strict=True)]
    return [value.strip() for value in values] if all(isinstance(value, str) for value in values) else []


def _label(column: pd.Series[Any]) -> Hashable:
    """Return the label of a column for a call: numbers of NumPy as those of Python."""
    return column.name.item() if isinstance(column.name, np.generic) else column.name


def _long_hint(columns: list[pd.Series[Any]]) -> str:
    """Return the hint for a long table, whose column of persons repeats values, or for one without items."""
    none, usual = _no_items_hint(columns), usual_items(columns)
    texts = [_label(column) for column in columns if isinstance(_first_value(column), str)]
    if not texts and not usual:
        return none
    item = usual[0] if usual else texts[-1]
    others = [column for column in columns if _label(column) != item]
    repeating = [_label(column) for column in others if len({*map(str, column)}) < len(column)]
    if not repeating:
        return f"{LISTS_HINT}. {none}"
    persons = [name for name in repeating if is_named_for_persons(name)]
    by = (persons or repeating)[0]
    lists = f"pdanon.from_long(frame, by={by!r}, item={item!r}) makes one row per person"
    unsure = "" if persons else f", if {by!r} identifies the person of a line"
    long = f"One row per item? {lists}{unsure}"
    both = [long, none] if persons or usual else [none, long]
    return f"{'. '.join(both)}. Text is never parsed, and rows are never merged"


def usual_items(columns: list[pd.Series[Any]]) -> list[Hashable]:
    """Return the columns with a usual name of items, the most usual name first."""
    names = [_label(column) for column in columns]
    others = [name for name in names if not any(word in str(name).lower() for word in _NO_ITEMS)]
    others.sort(key=lambda name: len(str(name)))  # drug before drug_type
    return [name for word in _ITEMS for name in others if word in str(name).lower()]


def _onehot_hint(columns: list[pd.Series[Any]]) -> str:
    """Return the hint for a one-hot table, with the shorter description of its item columns."""
    flags = _flag_places(columns)
    others = [_label(column) for place, column in enumerate(columns) if place not in flags]
    items = f", columns=frame.columns.drop({others})" if others else ""
    if len(others) > _FEW and max(flags) - min(flags) < len(flags):  # side by side
        items = f", columns=frame.columns[{min(flags)}:{max(flags) + 1}]"
    return f"one column per item (one-hot)? pdanon.from_onehot(frame{items}) lists the items of each row"


def is_onehot(columns: list[pd.Series[Any]]) -> bool:
    """Return whether several columns look as in a one-hot table: then their names may be items."""
    return len(_flag_places(columns)) > 1


def _flag_places(columns: list[pd.Series[Any]]) -> set[int]:
    """Return the places of columns whose first rows hold only 0 and 1, or False and True."""
    return {place for place, column in enumerate(columns) if len(column) and _is_flag(column)}


def _is_flag(column: pd.Series[Any]) -> bool:
    with suppress(NotImplementedError):  # of Arrow types that pandas does not know or compare
        is_number = pd.api.types.is_numeric_dtype(column.dtype)
        return bool(is_number and column.head(_SAMPLE).isin([0, 1]).all())
    return False


def _first_value(column: pd.Series[Any]) -> Any:
    return next(iter(_sample_values(column)), None)


def _sample_values(column: pd.Series[Any]) -> list[Any]:
    """Return the first values that are not missing, and none for lists and Arrow dictionaries."""
    if isinstance(column.dtype, pd.ArrowDtype):
        kind = column.dtype.pyarrow_dtype
        if is_list_type(kind) or pa.types.is_dictionary(kind) or not _is_known(column.dtype):
            return []
    with suppress(pa.ArrowNotImplementedError):  # older Arrow selects no small decimals
        return column.dropna().head(_SAMPLE).tolist()
    return []
