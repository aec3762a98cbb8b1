"""Columns of text in which the items of a row are joined: ``rice;tea``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.compatibility import arrow_values, text_column
from pdanon.itemsets.dtype import is_text_type
from pdanon.itemsets.lists import item_type, to_numpy
from pdanon.itemsets.validation import check_kind, is_encodable, quote_word

__all__ = ["check_separator", "from_text", "separator_hint", "to_text", "unreadable", "without_blanks"]

_USUAL = {
    ";": "';'",
    ",": "','",
    "|": "'|'",
    "\t": "a tab",
    "/": "'/'",
    "\n": "an end of line",
    " ": "a blank",
}


def from_text(series: pd.Series[Any], *, sep: str) -> pd.Series[Any]:
    """Split text into items.

    Parameters
    ----------
    series : pandas.Series
        Text, in which the items of a row are joined. It is not modified.
    sep : str
        What stands between two items. Blanks around an item are no part of it.

    Returns
    -------
    Series
        The distinct items of each row, as lists; name and index as they were. An empty text is an empty row,
        a missing one a missing row. Nothing between two separators is no item.

    Raises
    ------
    ItemsetDtypeError
        If the column holds lists already, or something else than text.
    ParameterError
        If the separator is empty, or is in no text.

    See Also
    --------
    to_text : The inverse.
    read_csv : The same for a column of a file.
    from_long, from_onehot : Other forms.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> pdanon.from_text(pd.Series(["tea; rice", "rice", None], name="items"), sep=";")
    0    ['rice' 'tea']
    1          ['rice']
    2              <NA>
    Name: items, dtype: list<item: string>[pyarrow]
    """
    check_kind(series, pd.Series, "the first argument", "a pandas Series", "one column: frame['items']")
    check_separator(sep, "sep")
    texts = _texts(series)
    if not pc.any(pc.match_substring(texts, sep), min_count=0).as_py():
        _refuse_absent(texts, sep)
    itemsets = without_blanks(Itemsets.from_arrow_unsorted(pc.split_pattern(texts, sep)))
    return pd.Series(itemsets.to_pandas(), index=series.index, name=series.name)


def to_text(series: pd.Series[Any], *, sep: str) -> pd.Series[Any]:
    """Join the items of each row to a text.

    Parameters
    ----------
    series : pandas.Series
        Lists of items. It is not modified.
    sep : str
        What to put between two items. No item may contain it.

    Returns
    -------
    Series
        Text; name and index as they were. A missing row is a missing text.

    Raises
    ------
    ItemsetDtypeError
        If the column does not hold lists of items.
    ParameterError
        If an item could not be read back, since it is the empty text, begins or ends with a blank, or has the
        separator in it or across its end; or the separator is empty.

    See Also
    --------
    from_text : The inverse.
    to_csv : Writes a file.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.to_text(pdanon.as_itemsets([["tea", "rice"], []]), sep="; ").tolist()
    ['rice; tea', '']
    """
    check_kind(series, pd.Series, "the first argument", "a pandas Series", "one column: frame['items']")
    check_separator(sep, "sep")
    itemsets = Itemsets.from_series(series)
    texts = itemsets.texts()
    lost = [text for text in texts if unreadable(text, sep) or text != text.strip()]
    if lost:
        raise ParameterError(
            "an item that is empty, has blanks at its ends, or contains the separator could not be read back",
            where="sep",
            got=f"{len(lost)} of {itemsets.n_items} items",
            hint=separator_hint(texts),
        )
    joined = pc.binary_join(
        itemsets.recode(np.arange(len(texts)), pa.array(texts, pa.string())).to_arrow(), sep
    )
    return pd.Series(text_column(joined), index=series.index, name=series.name)


def without_blanks(itemsets: Itemsets) -> Itemsets:
    """Remove the blanks around items that are text, and the items that consist of blanks."""
    if not is_text_type(itemsets.vocabulary.type):
        return itemsets
    names = pc.utf8_trim_whitespace(itemsets.vocabulary)
    becoming = np.where(to_numpy(pc.equal(names, "")), -1, np.arange(len(names)))
    return itemsets.recode(becoming, names.cast(pa.string()))


def unreadable(text: str, separator: str) -> bool:
    """Whether an item could not be read back: splitting finds the first separator that there is."""
    return not text or (text + separator).find(separator) < len(text)


def separator_hint(texts: Iterable[str]) -> str:
    """What to do about items that hold a separator: another one, a usual one if there is one that fits."""
    texts = [*filter(None, texts)]
    fitting = [name for mark, name in _USUAL.items() if not any(unreadable(text, mark) for text in texts)]
    such = f", such as {fitting[0]}" if fitting else " or ends with the beginning of"
    return f"choose a separator that no item contains{such} (--join on the command line), or write Parquet"


def check_separator(separator: Any, name: str) -> str:
    """Check what stands between two items: text without what ends a line or a field."""
    unfit = not isinstance(separator, str) or any(mark in separator for mark in "\r\0")
    if unfit or not separator or not is_encodable(separator):
        hint = "such as '|' or '; ', without a carriage return or a null character"
        raise ParameterError("some text is needed", where=name, got=quote_word(separator), hint=hint)
    return str(separator)


def _texts(series: pd.Series[Any]) -> pa.ChunkedArray:
    """The texts of a column."""
    if is_list_column(series):
        raise ItemsetDtypeError("the column holds lists already", hint="there is nothing to split")
    try:
        values = arrow_values(series)
    except pa.ArrowException:  # objects of several types
        values = None
    if values is None or item_type(values.type) not in (pa.string(), pa.large_string()):
        hint = "numbers are one item each; objects must all be text"
        raise ItemsetDtypeError(
            "the column holds something else than text", got=f"dtype {series.dtype}", hint=hint
        )
    return values.cast(pa.large_string())


def _refuse_absent(texts: pa.ChunkedArray, sep: str) -> None:
    """Say that a separator is in no text, and which usual one is."""
    if not pc.any(pc.greater(pc.utf8_length(texts), 0), min_count=0).as_py():
        return
    found = [name for mark, name in _USUAL.items() if pc.any(pc.match_substring(texts, mark)).as_py()]
    hint = (
        f"these are: {', '.join(found)}"
        if found
        else "if a text is one item: frame['items'].map(lambda item: [item])"
    )
    raise ParameterError("the separator is in no text", where="sep", got=quote_word(sep), hint=hint)
