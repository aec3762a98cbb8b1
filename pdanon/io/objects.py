"""Lists in the notation of JSON or Python, and lists of objects: codings, exports of services."""

from __future__ import annotations

import ast
import json
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import ItemsetDtypeError
from pdanon.io.text import without_blanks
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import MISSING, Itemsets
from pdanon.itemsets.columns import is_missing, quasi_labels
from pdanon.itemsets.dtype import arrow_values
from pdanon.itemsets.lists import object_lists
from pdanon.itemsets.validation import check_kind, check_known


@called_by_name
def from_json(
    series: pd.Series[Any], *, field: str | Sequence[str] | None = None, missing: str = "refuse"
) -> pd.Series[Any]:
    """Read lists in the notation of JSON or Python, or items from lists of objects.

    Parameters
    ----------
    series : pandas.Series
        Text such as ``["tea", "rice"]`` or ``[{"code": "E11"}]``, or lists of dicts or Arrow structs. A
        single object is a list of one. It is not modified.
    field : str or list of str, optional
        The field of an object that is the item. Several fields are joined as in ``system|code``.
    missing : {"refuse", "drop"}
        Whether to refuse or to leave out items that are missing, and objects without a field.

    Returns
    -------
    Series
        The distinct items of each row, as lists, with the name and index of the series. Blanks around a text
        are removed. An empty text becomes an empty row; a missing text, or ``null``, a missing row.

    Raises
    ------
    ItemsetDtypeError
        If a text is no list, an item is missing or an object without a field, or the items have several
        types.

    Notes
    -----
    Text is parsed by `json.loads` or `ast.literal_eval`, which run no code. Cost: time is linear in the
    number of objects, a microsecond or two for each; memory holds all of them.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = ['[{"system": "icd10", "code": "E11"}, {"system": "icd10", "code": "I10"}]', "[]"]
    >>> pdanon.from_json(pd.Series(rows), field="code").tolist()
    [['E11', 'I10'], []]
    >>> pdanon.from_json(pd.Series(rows), field=["system", "code"]).tolist()
    [['icd10|E11', 'icd10|I10'], []]
    """
    check_kind(series, pd.Series, "the first argument", "a pandas Series", "one column: frame['items']")
    check_known(missing, MISSING, "treatment of missing items", where="missing")
    fields = () if field is None else quasi_labels([field] if isinstance(field, str) else field, "field")
    where = "" if series.name is None else f"column {series.name!r}, "
    values = arrow_values(series).to_pylist() if isinstance(series.dtype, pd.ArrowDtype) else series
    rows = [_items_of(value, fields, f"{where}row {row}") for row, value in enumerate(values)]
    lacking = [row for row, items in enumerate(rows) if items and None in items]
    if lacking and missing == "refuse":
        raise ItemsetDtypeError(
            "an object lacks the field" if fields else "an item is missing",
            where=f"{where}row {lacking[0]}",
            got=f"{len(lacking):,} rows with such items",
            hint="check the field; missing='drop' (--missing drop) leaves out such items",
        )
    kept = [None if items is None else [each for each in items if each is not None] for items in rows]
    itemsets = without_blanks(Itemsets.from_arrow(object_lists(kept, where.rstrip(", ") or None)))
    return pd.Series(itemsets.to_pandas(), index=series.index, name=series.name)


def split_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Split columns of Arrow structs into columns of their fields: ``subject.reference``."""
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    if not any(map(_is_struct, columns)):
        return frame
    parts = [
        split_objects(each.struct.explode().add_prefix(f"{each.name}.")) if _is_struct(each) else each
        for each in columns
    ]
    return pd.concat(parts, axis=1)


def _is_struct(column: pd.Series[Any]) -> bool:
    return isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_struct(column.dtype.pyarrow_dtype)


def parse_list(text: str) -> Any:
    """Parse text in the notation of JSON or Python; return the text itself if it has neither."""
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return parse(text)
    return text


def _items_of(value: Any, fields: Sequence[Hashable], where: str) -> list[Any] | None:
    """Return the items of a row, or None; None also stands for missing items."""
    if isinstance(value, str):
        value = parse_list(value) if value.strip() else []
    if is_missing(value):
        return None
    entries = [value] if isinstance(value, dict) else value
    is_list, what = isinstance(entries, (list, tuple, set, np.ndarray)), "a row is no list"
    hint = "for joined text: pdanon.from_text (--separator)"
    if is_list and not fields and any(isinstance(each, dict) for each in entries):
        is_list, what = False, "items are objects"
        hint = "pass the field of the item: field='code' (--field code)"
    if not is_list:  # raised outside of parsing, whose errors show the text
        raise ItemsetDtypeError(what, where=where, got=type(value).__name__, hint=hint)
    return [_item(each, fields) for each in entries]


def _item(entry: Any, fields: Sequence[Hashable]) -> Any:
    """Return an item, or that of an object; None if it is missing."""
    parts = [entry.get(field) if isinstance(entry, dict) else None for field in fields] or [entry]
    if any(map(is_missing, parts)):
        return None
    return parts[0] if len(parts) == 1 else "|".join(map(str, parts))  # as in FHIR: system|code
