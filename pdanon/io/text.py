"""Conversion of lists from and to joined text: ``rice;tea``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.compatibility import arrow_values, text_column
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.lists import item_type, to_numpy
from pdanon.itemsets.table_hints import parse_hint
from pdanon.itemsets.validation import check_kind, is_encodable, quote_word

_FEW = 100  # texts that a hint reads
_INVISIBLE = {"\t": "a tab", "\n": "an end of line", " ": "a blank"}
# Texts in the notation of Python or JSON: lists, tuples, sets and objects with quotes, or a list without.
_QUOTED = r"""(?s)^\s*(\[\s*['"].*['"]\s*\]|\(\s*['"].*['"],?\s*\)|\[?\s*\{\s*['"].*\}\s*\]?)\s*$"""
_EMPTY = r"^\s*(\[\s*\]|\{\s*\})\s*$"
_BRACKET = r"^\s*[\[({]"
_PLAIN = r"(?s)^\s*\[[^\[\]]*\]\s*$"
_USUAL = {mark: _INVISIBLE.get(mark, repr(mark)) for mark in (";", ",", "|", "\t", "/", "\n", " ")}


@called_by_name
def from_text(series: pd.Series[Any], *, separator: str) -> pd.Series[Any]:
    """Split text into items.

    Parameters
    ----------
    series : pandas.Series
        Text, in which the items of a row are joined. It is not modified.
    separator : str
        The separator of items. Blanks around an item are removed.

    Returns
    -------
    Series
        The distinct items of each row, as lists, with the name and index of the series. An empty text becomes
        an empty row, a missing one a missing row. Two separators in a row have no item between them.

    Raises
    ------
    ItemsetDtypeError
        If the column holds lists, or anything but text.
    ParameterError
        If the separator is empty, or occurs in no text. If at least half of the texts are lists in the
        notation of Python or JSON, which it would break.

    See Also
    --------
    to_text : The inverse.
    read_csv : The same for a column of a file.
    from_long, from_onehot : Other forms.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> pdanon.from_text(pd.Series(["tea; rice", "rice", None], name="items"), separator=";")
    0    ['rice' 'tea']
    1          ['rice']
    2              <NA>
    Name: items, dtype: list<item: string>[pyarrow]
    """
    check_kind(series, pd.Series, "the first argument", "a pandas Series", "one column: frame['items']")
    check_separator(separator, "separator")
    texts = _read_texts(series)
    refuse_list_texts(texts, separator, "items" if series.name is None else series.name)
    if not pc.any(pc.match_substring(texts, separator), min_count=0).as_py():
        _refuse_absent(texts, separator)
    itemsets = without_blanks(Itemsets.from_arrow_unsorted(pc.split_pattern(texts, separator)))
    return pd.Series(itemsets.to_pandas(), index=series.index, name=series.name)


@called_by_name
def to_text(series: pd.Series[Any], *, separator: str) -> pd.Series[Any]:
    """Join the items of each row into a text.

    Parameters
    ----------
    series : pandas.Series
        Lists of items. It is not modified.
    separator : str
        The separator of items. No item may contain it.

    Returns
    -------
    Series
        Text, with the name and index of the series. A missing row becomes a missing text.

    Raises
    ------
    ItemsetDtypeError
        If the column does not hold lists of items.
    ParameterError
        If the separator is empty, or an item could not be read back: it is empty, begins or ends with a
        blank, contains the separator, or ends with the beginning of it.

    See Also
    --------
    from_text : The inverse.
    to_csv : Writes a file.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.to_text(pdanon.as_itemsets([["tea", "rice"], []]), separator="; ").tolist()
    ['rice; tea', '']
    """
    check_kind(series, pd.Series, "the first argument", "a pandas Series", "one column: frame['items']")
    check_separator(separator, "separator")
    itemsets = Itemsets.from_series(series)
    texts = itemsets.texts()
    lost = [text for text in texts if unreadable(text, separator) or text != text.strip()]
    if lost:
        raise ParameterError(
            "an item that is empty, has blanks at its ends, or contains the separator could not be read back",
            where="separator",
            got=f"{len(lost)} of {itemsets.n_items} items",
            hint=separator_hint(texts),
        )
    published = itemsets.recode(np.arange(len(texts)), pa.array(texts, pa.string()))
    joined = pc.binary_join(published.to_arrow(), separator)
    return pd.Series(text_column(joined), index=series.index, name=series.name)


def without_blanks(itemsets: Itemsets) -> Itemsets:
    """Remove blanks around items of text, and items of blanks only."""
    if not is_text_type(itemsets.vocabulary.type):
        return itemsets
    names = pc.utf8_trim_whitespace(itemsets.vocabulary)
    targets = np.where(to_numpy(pc.equal(names, "")), -1, np.arange(len(names)))
    return itemsets.recode(targets, names.cast(pa.string()))


def unreadable(text: str, separator: str) -> bool:
    """Return whether an item could not be read back, as splitting stops at the first separator."""
    return not text or (text + separator).find(separator) < len(text)


def separator_hint(texts: Iterable[str]) -> str:
    """Return a hint with a usual separator that no item contains, if there is one."""
    texts = [*filter(None, texts)]
    fitting = [name for mark, name in _USUAL.items() if not any(unreadable(text, mark) for text in texts)]
    example = f", such as {fitting[0]}" if fitting else " or ends with the beginning of"
    return f"choose a separator that no item contains{example} (--join on the command line), or write Parquet"


def check_separator(separator: Any, name: str) -> str:
    """Check the separator of items: text without carriage returns and null characters."""
    unfit = not isinstance(separator, str) or any(mark in separator for mark in "\r\0")
    if unfit or not separator or not is_encodable(separator):
        hint = "pass text such as '|' or '; ', without a carriage return or a null character"
        raise ParameterError(f"{name} must be text", where=name, got=quote_word(separator), hint=hint)
    return str(separator)


def _read_texts(series: pd.Series[Any]) -> pa.ChunkedArray:
    """Return a column of text as Arrow text. Refuse other columns."""
    if is_list_column(series):
        raise ItemsetDtypeError("the column holds lists already", hint="leave out this call")
    try:
        values = arrow_values(series)
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError):  # objects of several types
        values = None
    if values is None or item_type(values.type) not in (pa.string(), pa.large_string()):
        hint = "numbers are one item each; objects must all be text"
        raise ItemsetDtypeError("the column does not hold text", got=f"dtype {series.dtype}", hint=hint)
    return values.cast(pa.large_string())


def refuse_list_texts(
    texts: pa.Array | pa.ChunkedArray, separator: str, label: Hashable, path: str | None = None
) -> None:
    """Refuse a separator if at least half of the texts are lists in the notation of Python or JSON."""
    begun = texts.filter(pc.match_substring_regex(texts, _BRACKET))
    known = pc.or_(pc.match_substring_regex(begun, _QUOTED), pc.match_substring_regex(begun, _EMPTY))
    split = pc.and_(pc.match_substring_regex(begun, _PLAIN), pc.match_substring(begun, separator))
    lists = begun.filter(pc.or_(known, split))
    filled = pc.sum(pc.greater(pc.binary_length(texts), 0)).as_py() or 0
    if len(lists) and 2 * len(lists) >= filled:
        hint = parse_hint(label, lists.slice(0, _FEW).to_pylist())
        if path is not None:
            hint += "; read the file by frame = pd.read_csv(path), and write it by pdanon.to_parquet"
        raise ParameterError(
            "many texts are lists in the notation of Python or JSON, which a separator would break",
            where="separator" if path is None else f"separator, {path}, column {label!r}",
            got=f"{len(lists):,} of {filled:,} texts in brackets",
            hint=hint,
        )


def _refuse_absent(texts: pa.ChunkedArray, separator: str) -> None:
    """Refuse a separator that occurs in no text, and suggest usual ones that occur."""
    if not pc.any(pc.greater(pc.utf8_length(texts), 0), min_count=0).as_py():
        return
    found = [name for mark, name in _USUAL.items() if pc.any(pc.match_substring(texts, mark)).as_py()]
    hint = f"usual separators in the texts: {', '.join(found)}"
    if not found:
        hint = "if a text is one item: frame['items'].map(lambda item: [item])"
    got = quote_word(separator)
    raise ParameterError("the separator is in no text", where="separator", got=got, hint=hint)
