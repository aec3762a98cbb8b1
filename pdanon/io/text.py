"""Lists as text: joined, ``rice;tea``, in columns of frames and of CSV files; in JSON; and as objects."""

from __future__ import annotations

import ast
import csv
import json
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import (
    ColumnError,
    FormatError,
    ItemsetDtypeError,
    ParameterError,
    ReleaseWarning,
    check_names,
    did_you_mean,
    warn,
)
from pdanon.io.files import check_encoding, replace_file
from pdanon.io.lines import TextLines, check_fields, check_types
from pdanon.io.parquet import to_frame
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import MISSING, Itemsets
from pdanon.itemsets.columns import find_column, is_list_column, is_missing, quasi_labels
from pdanon.itemsets.dtype import arrow_values, is_text_type, text_column
from pdanon.itemsets.lists import Mask, item_type, object_lists, to_numpy
from pdanon.itemsets.table_hints import parse_hint
from pdanon.itemsets.validation import (
    FilePath,
    check_flag,
    check_kind,
    check_known,
    check_path,
    check_text,
    is_encodable,
    quote_word,
)

_READ = 100  # texts that a hint reads
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
    ItemsetDtypeError, ParameterError
        If the column holds lists, or anything but text. If the separator is empty, or occurs in no text. If
        at least half of the texts are lists in the notation of Python or JSON, which it would break.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> pdanon.from_text(pd.Series(["tea; rice", "rice", None], name="items"), separator=";")
    0    ['rice' 'tea']
    1          ['rice']
    2              <NA>
    Name: items, dtype: list<item: string>[pyarrow]
    """
    _check_series(series)
    check_separator(separator)
    texts = _read_texts(series)
    refuse_list_texts(texts, separator, "items" if series.name is None else series.name)
    filled = pc.any(pc.greater(pc.utf8_length(texts), 0), min_count=0).as_py()
    if filled and not _count_texts(texts, separator):
        usual = [name for mark, name in _USUAL.items() if _count_texts(texts, mark)]
        hint = f"usual separators in the texts: {', '.join(usual)}"
        if not usual:
            hint = "if a text is one item: frame['items'].map(lambda item: [item])"
        got = quote_word(separator)
        raise ParameterError("the separator is in no text", where="separator", got=got, hint=hint)
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
    ItemsetDtypeError, ParameterError
        If the column does not hold lists of items. If the separator is empty, or an item could not be read
        back: it is empty, begins or ends with a blank, contains the separator, or ends with the beginning of
        it.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.to_text(pdanon.as_itemsets([["tea", "rice"], []]), separator="; ").tolist()
    ['rice; tea', '']
    """
    _check_series(series)
    check_separator(separator)
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
    return pd.Series(text_column(_join(itemsets, texts, separator)), index=series.index, name=series.name)


def _check_series(series: Any) -> None:
    check_kind(series, pd.Series, "the first argument", "a pandas Series", "one column: frame['items']")


def _join(itemsets: Itemsets, texts: Sequence[str], separator: str) -> pa.Array:
    """Join the items of each row, as these texts."""
    as_text = itemsets.recode(np.arange(len(texts)), pa.array(texts, pa.string()))
    return pc.binary_join(as_text.to_arrow(), separator)


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


def check_separator(separator: Any) -> None:
    """Check the separator of items: text without carriage returns and null characters."""
    unfit = not isinstance(separator, str) or any(mark in separator for mark in "\r\0")
    if unfit or not separator or not is_encodable(separator):
        hint = "pass text such as '|' or '; ', without a carriage return or a null character"
        raise ParameterError(
            "separator must be text", where="separator", got=quote_word(separator), hint=hint
        )


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
        hint = parse_hint(label, lists.slice(0, _READ).to_pylist())
        if path is not None:
            hint += (
                "; on the command line, --field reads them; here read the file by frame = pd.read_csv(path)"
            )
        raise ParameterError(
            "many texts are lists in the notation of Python or JSON, which a separator would break",
            where="separator" if path is None else f"separator, {path}, column {label!r}",
            got=f"{len(lists):,} of {filled:,} texts in brackets",
            hint=hint,
        )


# --- CSV files


_LARGE = partial(pa.scalar, type=pa.large_string())
_LINES = 2**16  # that are written together
_FEW = 20  # texts: among fewer, each may have one item by chance
_MOST_USUAL = 4  # of the usual separators
_FORMULA = r"[=+\-@\t\r]"  # spreadsheets run texts with these beginnings as formulas
_NUMBER = r"[+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?$"


@called_by_name
def read_csv(
    path: FilePath,
    *,
    column: str,
    separator: str,
    types: Mapping[str, str] | None = None,
    delimiter: str = ",",
    encoding: str = "utf-8",
    header: bool = True,
) -> pd.DataFrame:
    r"""Read a CSV file with a column of items joined by a separator.

    Parameters
    ----------
    path : path
        A CSV file; compressed, if it ends in ``.gz``.
    column : str
        The column of joined items.
    separator : str
        The separator of items. It is never guessed, and blanks around it are not stripped.
    types : dict, optional
        Types of other columns: ``integer``, ``number``, ``date``, ``timestamp`` or ``boolean``. Without a
        type, a column is text: ``02139`` stays a postcode.
    delimiter : str
        The delimiter of fields.
    encoding : str
        The encoding of the text.
    header : bool
        Whether the first line names the columns. Otherwise they are ``"1"``, ``"2"`` and so on.

    Returns
    -------
    DataFrame
        The column has dtype ``ArrowDtype(list<string>)``, with sorted rows without duplicates. The other
        columns are text, unless they have a type. An empty field is an empty row, in other columns a missing
        value, or empty text if it is quoted. No text stands for a missing value: ``NA`` is text. In a file of
        one column an empty line is an empty row.

    Raises
    ------
    FormatError, ColumnError, ParameterError
        If the file is missing or cannot be read, or has another encoding. If a line has not as many fields as
        the header, a quote is not closed, a value is not of the requested type, or an item is empty (two
        separators in a row). If there is no such column, or two columns have the same name. If the separator
        is empty or holds a carriage return or null character, ``delimiter`` is not one ASCII character other
        than a quote or an end of line, or the encoding is unknown. If the separator is in none of at least 20
        texts, and another usual one is in most of them.

    Examples
    --------
    >>> import pdanon, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "baskets.csv"
    ...     _ = path.write_text("store,items\nnorth,tea|rice\nsouth,\n")
    ...     pdanon.read_csv(path, column="items", separator="|")
       store           items
    0  north  ['rice' 'tea']
    1  south              []
    """
    types, path = check_types(types, "types"), check_path(path)
    _check_separators(separator, delimiter)
    check_text(column, "column")
    if column in types:
        hint = "leave it out of the types: items in one text are text"
        raise ParameterError("the column of items has a type", where=f"column {column!r}", hint=hint)
    check_flag(header, "header")
    table = TextLines(Path(path), delimiter, check_encoding(encoding), header=header).read(types)
    names = table.column_names
    if column not in names:  # the first line may be data: show only a similar label
        check_fields([name.replace(separator, "") for name in names], delimiter, Path(path))
        got = "1 column" if len(names) == 1 else f"{len(names)} columns"
        hint = did_you_mean(column, names) or "the first line of the file must name its columns"
        raise ColumnError(f"column {column!r} does not exist", where=path, got=got, hint=hint)
    joined = table.column(column).cast(pa.large_string()).combine_chunks()
    _check_occurs(joined, separator, column, path)
    split = pc.split_pattern(pc.if_else(pc.equal(joined, ""), None, joined), separator)
    itemsets = Itemsets.from_arrow(split)
    empty = itemsets.rows[itemsets.codes == itemsets.lookup([""])[0]]
    if len(empty):
        raise FormatError(
            "an item is empty",
            where=f"{os.fspath(path)}, row {empty[0]}",
            got=f"{len(empty)} rows with empty items",
            hint="remove separators at the ends and repeated ones",
        )
    frame = to_frame(table)
    vocabulary, nulls = itemsets.vocabulary.cast(pa.string()), np.zeros(len(frame), np.bool_)
    frame[column] = replace(itemsets, vocabulary=vocabulary, nulls=nulls).to_pandas()
    return frame


@called_by_name
def to_csv(
    frame: pd.DataFrame,
    path: FilePath,
    *,
    separator: str,
    column: Hashable | None = None,
    delimiter: str = ",",
    escape_formulas: bool = False,
) -> None:
    """Write a frame with one list column to a CSV file, whole or not at all.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame. Its index is not written.
    path : path
        The file. An existing file is replaced when the new one is complete.
    separator : str
        The separator of items. No item may contain it, or end with a beginning of it: ``a:`` before ``::``.
    column : hashable, optional
        Label of the list column. By default the only list-valued column.
    delimiter : str
        The delimiter of fields, one character.
    escape_formulas : bool
        Put an apostrophe before each text that a spreadsheet would run as a formula: an item, another cell or
        a header that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return, and is no number.
        This changes the text for all readers of the file.

    Warns
    -----
    ReleaseWarning
        If there are such texts, and they are not escaped.

    Raises
    ------
    ParameterError, ColumnError, ItemsetDtypeError, FormatError
        If an item could not be read back: it is empty, holds a carriage return or a null character, contains
        the separator, or ends with the beginning of it. If `read_csv` refuses a separator. If there is not
        exactly one list column of sets of items, its label could not be read back, or two columns have the
        same name. If the file cannot be written.

    Notes
    -----
    CSV cannot distinguish missing rows from empty ones: both become empty fields. It keeps no types, so
    `read_csv` reads items as text; `to_parquet` keeps both. Fields are quoted where necessary. In other
    columns, missing values are empty fields, and empty text is quoted.

    Examples
    --------
    >>> import pandas as pd, pdanon, pathlib, tempfile
    >>> frame = pd.DataFrame({"store": ["north", "south"], "items": [{"tea", "rice"}, set()]})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "baskets.csv"
    ...     pdanon.to_csv(frame, path, separator="|")
    ...     print(path.read_text())
    store,items
    north,rice|tea
    south,
    """
    _check_separators(separator, delimiter)
    check_flag(escape_formulas, "escape_formulas")
    position = find_column(frame, column)
    others = frame.iloc[:, np.arange(frame.shape[1]) != position]
    lists = [label for label, column in others.items() if is_list_column(column)]
    if lists:
        raise ColumnError("a CSV file holds one list column", got=f"more: {lists}", hint="write Parquet")
    check_names(map(str, frame.columns), path)
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    items = pd.DataFrame({"item": itemsets.texts() if is_text_type(itemsets.vocabulary.type) else []})
    texts = escape_frame(items)["item"].tolist() if escape_formulas and len(items) else itemsets.texts()
    if len(set(texts)) < len(texts):
        hint = "rename the items, or write Parquet"
        raise ParameterError("an escaped item is the text of another", where="escape_formulas", hint=hint)
    controls = sum(any(mark in text for mark in "\r\0") for text in texts)
    if controls:
        raise ParameterError(
            "an item contains a carriage return or a null character, which could not be read back",
            where="items",
            got=f"{controls} of {len(texts)} items",
            hint="write Parquet, which keeps them: pdanon.to_parquet(frame, path)",
        )
    lost = sum(unreadable(text, separator) for text in texts)
    if lost:
        raise ParameterError(
            "an item that is empty or contains the separator, or ends with its beginning, could not be read "
            "back",
            where="separator",
            got=f"{lost} of {itemsets.n_items} items",
            hint=separator_hint(texts),
        )
    joined = _join(itemsets, texts, separator)
    # An empty row is written as a missing one; in a file of one column, readers would skip its line.
    is_alone = frame.shape[1] == 1
    joined = joined.fill_null("") if is_alone else pc.if_else(pc.equal(joined, ""), None, joined)
    written = frame.copy(deep=False)
    written.isetitem(position, np.zeros(len(frame), np.int8))  # formulas among its items are handled above
    if escape_formulas:
        written = escape_frame(written)
    else:
        warn_of_formulas(items, written)
    written.isetitem(position, text_column(joined))
    problem: FormatError | None = None
    with replace_file(path) as temporary:
        try:
            _write_csv(written, temporary, delimiter)
        except UnicodeEncodeError:
            problem = FormatError("a text holds half of a surrogate pair", where="another column")
        except NotImplementedError:
            hint = "make text of its values, or write Parquet"
            problem = FormatError("CSV cannot store the type of a column", where=os.fspath(path), hint=hint)
        if problem is not None:  # raised outside the handler: the chained error of Python shows the text
            raise problem
        header = pd.read_csv(temporary, sep=delimiter, index_col=False, nrows=0).columns
        if header[position] != str(written.columns[position]):
            hint = "rename it: a text that no other column has"
            raise ColumnError("the label of the list column could not be read back", hint=hint)


def escape_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before texts and headers that a spreadsheet would run as formulas."""
    copy = frame.copy(deep=False)
    for position, (_, column) in enumerate(frame.items()):
        found = _find_formulas(column)
        if found.any():
            texts = column.astype(object).to_numpy(copy=True)
            texts[found] = [f"'{text}" for text in texts[found]]
            copy.isetitem(position, text_column(texts))
    headers = frame.columns.to_series()
    found = _find_formulas(headers)
    if found.any():
        copy.columns = [f"'{label}" if each else label for label, each in zip(headers, found, strict=True)]
    return copy


def warn_of_formulas(*frames: pd.DataFrame) -> None:
    """Warn of texts and headers that a spreadsheet would run as formulas."""
    columns = [column for frame in frames for _, column in frame.items()]
    columns += [frame.columns.to_series() for frame in frames]
    found = sum(int(_find_formulas(column).sum()) for column in columns)
    if found:
        texts = "texts that begin with =, +, -, @, a tab or a carriage return"
        hint = "pass escape_formulas=True (--escape-formulas) for an apostrophe before them; or write Parquet"
        warn(ReleaseWarning(f"Spreadsheets run {texts} as formulas: {found:,} in a CSV file", hint=hint))


def _find_formulas(column: pd.Series[Any]) -> Mask:
    """Return whether each value is text that a spreadsheet would run. Signed numbers are no formulas."""
    try:
        texts = column.str
        formula = texts.match(_FORMULA, na=False).to_numpy(bool)
    except AttributeError:
        return np.zeros(len(column), np.bool_)
    except (NotImplementedError, TypeError):  # bytes, or an Arrow type that pandas does not know
        return _find_formulas(pd.Series([*map(str, column)]))
    return formula & ~texts.match(_NUMBER, na=False).to_numpy(bool) if formula.any() else formula


def _write_csv(frame: pd.DataFrame, path: Path, delimiter: str) -> None:
    """Write a CSV file. Missing values are blank and empty texts quoted, so that both can be read back."""
    options: dict[str, Any] = {"sep": delimiter, "index": False, "lineterminator": "\n"}
    empty = frame.iloc[:0]
    header = empty.to_csv(**options)
    if "\r" in header:  # readers end a line at a carriage return, but pandas does not quote it
        header = empty.to_csv(quoting=csv.QUOTE_NONNUMERIC, **options)
    fields = [_fields(column, delimiter) for _, column in frame.items()]
    lines = pc.binary_join_element_wise(*fields, _LARGE(delimiter))
    with path.open("wb") as file:
        file.write(header.encode())
        for start in range(0, len(lines), _LINES):
            file.write("\n".join([*lines.slice(start, _LINES).to_pylist(), ""]).encode())


def _fields(column: pd.Series[Any], delimiter: str) -> pa.Array:
    """Return the fields of a column, with quotes where necessary."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype if column.cat.categories.size else object)
    missing = column.isna().to_numpy(bool)
    if pd.api.types.is_object_dtype(column.dtype):
        column = pd.Series(
            [None if lacks else str(each) for each, lacks in zip(column, missing, strict=True)]
        )
    if not pd.api.types.is_string_dtype(column.dtype):
        written = column.to_csv(sep=delimiter, index=False, header=False, lineterminator="\n")
        fields = pa.array(written.split("\n")[:-1], pa.large_string())
    else:
        texts = pa.chunked_array([pa.array(column, pa.large_string())]).combine_chunks()
        doubled = pc.replace_substring(texts, '"', '""')
        quoted = pc.binary_join_element_wise(*map(_LARGE, '"'), doubled, *map(_LARGE, ('"', "")))
        special = [pc.match_substring(texts, mark) for mark in (delimiter, '"', "\n", "\r")]
        fields = pc.if_else(reduce(pc.or_, special, pc.equal(texts, "")), quoted, texts)
    return pc.if_else(pa.array(missing), _LARGE(""), fields)


def _check_occurs(joined: pa.Array, separator: str, column: str, path: str) -> None:
    """Refuse a separator of lists, or one that is in no text if another usual one is in most texts."""
    # In a release, also refuse one that is only within labels of sets, ``(a,b)|c``, if another one is
    # outside.
    refuse_list_texts(joined, separator, column, path)
    filled = joined.filter(pc.greater(pc.utf8_length(joined), 0))
    texts = pc.replace_substring_regex(filled, r"\([^()]*\)", "()")  # without the labels of sets
    if len(texts) < _FEW or _count_texts(texts, separator):
        return
    splits_sets = _count_texts(filled, separator) > 0
    enough = 0 if splits_sets else len(texts) // 2
    usual = [mark for mark in [*_USUAL][:_MOST_USUAL] if _count_texts(texts, mark) > enough]
    if usual:
        place = "outside parentheses" if splits_sets else "of the column"
        result = "it would split sets of items" if splits_sets else "each text would be one item"
        found = "some" if splits_sets else "most"
        raise ParameterError(
            f"the separator is in no text {place}, so {result}",
            where=f"separator, {os.fspath(path)}, column {column!r}",
            got=quote_word(separator),
            hint=f"{usual[0]!r} is in {found} texts; if each text is one item, write lists to Parquet",
        )


def _count_texts(texts: pa.Array | pa.ChunkedArray, mark: str) -> int:
    """Count the texts that contain a mark."""
    return int(pc.sum(pc.match_substring(texts, mark)).as_py() or 0)


def _check_separators(separator: str, delimiter: str) -> None:
    check_separator(separator)
    # Quotes and ends of lines have another meaning in CSV, and pandas' parser takes only ASCII.
    one = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not one or delimiter in '"\r\n\0':
        hint = "pass ',', ';' or a tab, but no quote and no end of line"
        got = quote_word(delimiter)
        what = "delimiter must be one ASCII character"
        raise ParameterError(what, where="delimiter", got=got, hint=hint)


# --- Lists in the notation of JSON or Python, and lists of objects


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
    _check_series(series)
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
    columns = [column for _, column in frame.items()]
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
    items = []
    for entry in entries:
        parts = [entry.get(field) if isinstance(entry, dict) else None for field in fields] or [entry]
        item = parts[0] if len(parts) == 1 else "|".join(map(str, parts))  # as in FHIR: system|code
        items.append(None if any(map(is_missing, parts)) else item)
    return items
