"""Conversion of lists from and to long, wide and one-hot tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ColumnError, ItemsetDtypeError, NumbersWarning, ParameterError, PersonsWarning, warn
from pdanon.io.text import without_blanks
from pdanon.itemsets import row_loops
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Itemsets, Numbers, read_in_order
from pdanon.itemsets.columns import (
    check_new,
    column_labels,
    find_column,
    is_list_column,
    label_position,
    label_positions,
    quasi_labels,
    same_label,
)
from pdanon.itemsets.dtype import arrow_values, type_name
from pdanon.itemsets.equality import pair_numbers, value_numbers
from pdanon.itemsets.lists import ITEM_HINT, item_type, object_items, offsets_of
from pdanon.itemsets.table_hints import is_named_for_persons, text_hint
from pdanon.itemsets.validation import check_frame, check_known, check_text, describe, list_first, quote_word

# --- Long and wide tables: invoice lines, diagnoses, clicks


_FEW = 20  # lines or rows: among fewer, patterns of persons may occur by chance

_HIDE = "hide each other, and no guarantee protects the person, as guarantees count rows"


@called_by_name
def from_long(
    frame: pd.DataFrame,
    *,
    by: Hashable | Sequence[Hashable],
    item: Hashable,
    keep: Sequence[Hashable] = (),
    conflicts: str = "refuse",
) -> pd.DataFrame:
    """Convert a table with one line per item into a table with one row per person.

    Parameters
    ----------
    frame : pandas.DataFrame
        The lines, in any order. It is not modified.
    by : hashable or list of hashable
        The column that identifies the person of a line, or several columns that do so together.
    item : hashable
        The column of items, one per line. A line with a missing value adds no item. Blanks around a text are
        removed.
    keep : sequence of hashable
        Columns with one value per person, such as age, which become columns of the result. Columns of ``by``
        are always dropped, as they identify people.
    conflicts : {"refuse", "first"}
        If a person has several values in a kept column, refuse the table or take the first value. A missing
        value is no conflict: the first value that is not missing is taken.

    Returns
    -------
    DataFrame
        One row per person, in order of first appearance: the columns ``keep``, and in ``item`` the list of
        the distinct items of the person.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column does not exist, exists twice, cannot be compared, or is kept and has conflicting values.
        If the item column holds lists, or values that cannot be items. If a line has no person, 20 or more
        lines all have different persons, or a column of ``by`` is kept. If persons are Python objects of
        several types, or times of several zones.

    Warns
    -----
    PersonsWarning
        If a column named for persons shows that some have several rows of the result, as customers have
        several invoices. Not for fewer than 20 rows, nor if a column of ``by`` is named for persons.

    Notes
    -----
    Integers that pandas stores as floats, since some are missing, become integers again. Cost: time and
    memory are linear in the number of lines. The page of forms compares the functions.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> lines = pd.DataFrame({"patient": [7, 7, 8, 7], "sex": ["f", "f", "m", "f"]})
    >>> lines["code"] = ["I10", "E11", "J45", "I10"]
    >>> pdanon.from_long(lines, by="patient", item="code", keep=["sex"])
      sex           code
    0   f  ['E11' 'I10']
    1   m        ['J45']
    """
    check_known(conflicts, ("refuse", "first"), "treatment of conflicts", where="conflicts")
    labels = quasi_labels(by, "by") if isinstance(by, list) else (by,)
    ids = [frame.iloc[:, place] for place in label_positions(check_frame(frame), labels)]
    items = frame.iloc[:, label_position(frame, item)]
    kept = [frame.iloc[:, position] for position in label_positions(frame, column_labels(keep, "keep"))]
    refuse_published_persons(labels, [column.name for column in kept])
    if any(same_label(column.name, item) for column in kept):
        hint = "leave it out of keep: the lists hold all items of a person"
        raise ParameterError("the item column has several values per person", where="keep", hint=hint)
    persons, n_persons = number_persons(ids)
    refuse_single_lines(len(frame), n_persons)
    warn_of_shared_persons(frame, [column.name for column in ids], item, persons, n_persons)
    columns = {column.name: _first_values(column, persons, n_persons, conflicts) for column in kept}
    sets = pd.Series(_collect_sets(items, persons, n_persons).to_pandas(), name=item)
    return pd.concat([*(pd.Series(values, name=label) for label, values in columns.items()), sets], axis=1)


@called_by_name
def to_long(frame: pd.DataFrame, column: Hashable | None = None, *, by: str = "row") -> pd.DataFrame:
    """Convert a table with lists into a table with one line per item of each row.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame with a list column, such as a release. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    by : str
        The label of the column of row numbers.

    Returns
    -------
    DataFrame
        The number of the row, from 0 on, the other columns, and the item. A repeated item has a line for each
        repetition. An empty or missing row has one line, with a missing item.

    Raises
    ------
    ColumnError, ItemsetDtypeError
        If there is not exactly one list column of items, or a column has the label ``by``.

    Notes
    -----
    The numbers follow the order of the rows, so they add no information to the frame. `from_long`, with
    ``by=`` this column and ``keep=`` the others, is the inverse.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"sex": ["f", "m"], "codes": [["E11", "I10"], []]})
    >>> pdanon.to_long(df)
       row sex codes
    0    0   f   E11
    1    0   f   I10
    2    1   m  <NA>
    """
    position = find_column(frame, column)
    if check_text(by, "by") in frame.columns:
        hint = f"pass another label for the column of row numbers: by={by + '_2'!r}"
        raise ColumnError(f"there is a column {by!r} already", where="by", hint=hint)
    bags = read_in_order(frame.iloc[:, position])
    lengths = bags.lengths
    lines = np.repeat(np.arange(len(frame)), np.maximum(lengths, 1))
    codes = np.full(len(lines), -1)
    codes[(lengths > 0)[lines]] = bags.codes
    items = bags.vocabulary.take(pa.array(codes, mask=codes < 0))
    long = frame.take(lines).reset_index(drop=True)
    long.isetitem(position, pd.arrays.ArrowExtensionArray(items))
    is_item = np.arange(frame.shape[1]) == position
    return pd.concat([pd.Series(lines, name=by), long.loc[:, ~is_item], long.loc[:, is_item]], axis=1)


@called_by_name
def from_wide(
    frame: pd.DataFrame, *, columns: Sequence[Hashable] | None = None, name: str = "items"
) -> pd.DataFrame:
    """Convert wide baskets, with one column per place of an item, into a table with a list column.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. A missing value, or text of blanks, is no item. It is not modified.
    columns : sequence of hashable, optional
        The columns of the places, such as ``["dx1", "dx2", "dx3"]``. By default all.
    name : str
        The label of the list column.

    Returns
    -------
    DataFrame
        The other columns, and the lists of the distinct items of each row, with the index and attrs of the
        frame. Blanks around a text are removed.

    Raises
    ------
    ColumnError, ItemsetDtypeError
        If a column does not exist or exists twice, or another column has the label of the list column; or if
        the columns hold lists, or values of several types.

    Warns
    -----
    NumbersWarning
        If ``columns`` is not passed, and a column with values in most rows shares none with another column:
        probably ages, dates or sexes. Not for fewer than 20 rows.

    Notes
    -----
    Cost: time and memory are linear in rows times columns.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> wide = pd.DataFrame({"age": [31, 44], "dx1": ["I10", "E11"], "dx2": ["E11", None]})
    >>> pdanon.from_wide(wide, columns=["dx1", "dx2"], name="codes")
       age          codes
    0   31  ['E11' 'I10']
    1   44        ['E11']
    """
    labels = None if columns is None else quasi_labels(columns, "columns")
    places = [*range(check_frame(frame).shape[1])] if labels is None else label_positions(frame, labels)
    others = frame.iloc[:, [place for place in range(frame.shape[1]) if place not in set(places)]]
    check_new(others, name)
    parts = [frame.iloc[:, place].dropna() for place in places]
    parts = [part for part in parts if len(part)] or [pd.Series([], dtype="string")]
    rows = [np.flatnonzero(frame.iloc[:, place].notna()) for place in places]
    items = pd.concat(parts).rename(parts[0].name)
    result = others.copy()
    result[name] = _collect_sets(items, np.concatenate([[], *rows]).astype(np.int32), len(frame)).to_pandas()
    alone = _columns_alone(parts, len(frame)) if labels is None else []
    if alone:
        what = f"columns that share no value with another one are read as items: {list_first(alone)}"
        hint = "ages, dates and sexes are no items: pass the columns that are, columns=[...] (--wide dx1 dx2)"
        warn(NumbersWarning(what, hint=hint))
    return result


def _columns_alone(parts: list[pd.Series[Any]], n_rows: int) -> list[str]:
    """Return the names of the columns of places that have values in most rows, but none of another column."""
    if n_rows < _FEW:
        return []
    values = [{text.strip() if isinstance(text, str) else text for text in part.unique()} for part in parts]
    columns_of = Counter(chain.from_iterable(values))
    return [
        repr(part.name)
        for part, own in zip(parts, values, strict=True)
        if 2 * len(part) > n_rows and not any(columns_of[value] > 1 for value in own - {""})
    ]


def number_persons(ids: list[pd.Series[Any]], where: str = "by") -> tuple[NDArray[np.int32], int]:
    """Number the person of each line, in order of first appearance, and count the persons."""
    # Several columns identify a person together. ``where`` is the parameter that names them, for messages.
    ids = [*map(without_signs, ids)]
    missing = np.logical_or.reduce([column.isna().to_numpy(bool) for column in ids])
    refuse_unknown_persons(int(missing.sum()), len(missing), [column.name for column in ids], where)
    for column in ids:
        refuse_types(person_types(column), column.name, where)
    first, *others = [_number_values(column, where) for column in ids]
    for each in others:
        first = pair_numbers(first, each)
    # Usually the numbers are in order of first appearance, as those of a single column are.
    highest = np.maximum.accumulate(first)
    if len(first) and (np.diff(highest, prepend=first[0] - 1) <= 1).all() and first.min() == first[0]:
        return (first - first[0]).astype(np.int32), int(highest[-1] - first[0]) + 1
    numbers, found = pd.factorize(first)
    return numbers.astype(np.int32), len(found)


def person_types(column: pd.Series[Any]) -> frozenset[str]:
    """Return the types of persons that are Python objects, none missing, and the zones of their times."""
    values: Any = column
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = column.cat.remove_unused_categories().cat.categories
    if values.dtype != object:
        return frozenset()
    kinds = {*map(type, values)}
    if any(issubclass(kind, datetime) for kind in kinds):
        zones = ((type(one).__name__, getattr(one, "tzinfo", None)) for one in values)
        return frozenset(name if zone is None else f"{name} of zone {zone}" for name, zone in zones)
    return frozenset(kind.__name__ for kind in kinds)


def refuse_types(kinds: frozenset[str], name: Hashable, where: str) -> None:
    """Refuse persons of several types: 7, 7.0 and "7" may be one, whose lines would hide each other."""
    if len(kinds) < 2:
        return
    column = f"frame[{name!r}]"
    call = f"{column}.astype(str)" if "str" in kinds else f"{column}.map(int)"
    if any("date" in kind or "Timestamp" in kind for kind in kinds):
        call = f"pd.to_datetime({column}, utc=True)"
    raise ParameterError(
        "the persons are of several types",
        where=where,
        got=f"{', '.join(sorted(kinds))} in {name!r}",
        hint=f"convert them to one type, such as {call}",
    )


def without_signs(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return persons without negative zeros, as these are equal to zero, and with NaN as missing."""
    if column.dtype == object and {*map(type, column)} == {float}:
        column = column.astype(float)
    if column.dtype.kind != "f":
        return column
    if isinstance(column.dtype, np.dtype):
        return column + 0.0
    return pd.Series(column.to_numpy(np.float64, na_value=np.nan) + 0.0, column.index, name=column.name)


def refuse_published_persons(by: Sequence[Hashable], kept: Sequence[Hashable]) -> None:
    """Refuse to publish a column that identifies the person of a line."""
    if shown := [label for label in kept if any(same_label(label, each) for each in by)]:
        hint = "leave it out of keep (--keep) and quasi (--quasi): it tells whose row it is"
        got = ", ".join(map(repr, shown))
        raise ParameterError("the column of persons is never published", where="keep", got=got, hint=hint)


def refuse_unknown_persons(n_missing: int, n_lines: int, by: list[Hashable] | None, where: str) -> None:
    """Refuse lines that have no person: those of a frame with columns ``by``, or of a file."""
    if n_missing:
        raise ParameterError(
            "some lines have no person",
            where=where,
            got=f"{n_missing:,} of {n_lines:,} lines in which a value is missing",
            hint=f"leave them out{f', as by frame.dropna(subset={by})' if by else ' of the file'}",
        )


def refuse_list_units(unit: Hashable, *, is_list: bool) -> None:
    """Refuse a column of persons that holds lists."""
    if is_list:
        hint = "pass the column that is the same in all rows of a person, such as a customer number"
        raise ColumnError("the column of units holds lists", where="unit", got=f"{unit!r}", hint=hint)


def refuse_single_lines(n_lines: int, n_persons: int, where: str = "by") -> None:
    """Refuse 20 or more lines that all have different persons."""
    if n_persons == n_lines >= _FEW:
        raise ParameterError(
            "each line has another person, so each person would have one item",
            where=where,
            got=f"{n_lines:,} lines with as many different values",
            hint="pass the column that is the same in all lines of a person, such as a customer number",
        )


def warn_of_shared_persons(
    frame: pd.DataFrame,
    by: Sequence[Hashable],
    item: Hashable,
    rows: NDArray[np.int32],
    n_rows: int,
    where: str = "by",
) -> None:
    """Warn if a column named for persons repeats a value over rows, unless ``by`` is such a column."""
    if n_rows < _FEW or any(map(is_named_for_persons, by)):
        return
    for _, column in frame.items():
        if not is_named_for_persons(column.name) or same_label(column.name, item):
            continue
        lines = np.flatnonzero(column.notna().to_numpy(bool))
        numbers = value_numbers(column.iloc[lines])
        if numbers is None:
            continue
        together = pair_numbers(numbers, rows[lines].astype(numbers.dtype))
        owners, owned, pairs = (len(pd.unique(each)) for each in (numbers, rows[lines], together))
        if n_rows // 100 < owners < owned == pairs:  # no row has several values
            each_of = f", one per {(by[0] if len(by) == 1 else by)!r}," if by else ""
            what = f"{owned:,} rows{each_of} share {owners:,} values of {column.name!r}"
            hint = f"pass {where}={column.name!r}, or drop that column if a row need not be a person"
            warn(PersonsWarning(f"{what}: if these are persons, their rows {_HIDE}", hint=hint))


def _number_values(column: pd.Series[Any], where: str) -> Numbers:
    """Number the values of a column as `value_numbers`, and refuse values that cannot be compared."""
    numbers = value_numbers(column)
    if numbers is None:
        what, got = f"the values of {column.name!r} cannot be compared", f"dtype {type_name(column.dtype)}"
        raise ColumnError(what, where=where, got=got, hint=text_hint(column))
    return numbers


def _first_values(column: pd.Series[Any], persons: NDArray[np.int32], n_persons: int, conflicts: str) -> Any:
    """Return the first value of each person that is not missing, or a missing one if all are."""
    numbers = _number_values(column, "keep")
    present = np.flatnonzero(~column.isna().to_numpy(bool))
    first = np.zeros(n_persons, np.int64)
    # In reverse order the first line of a person is assigned last, and stays; present values come second.
    for lines in (np.arange(len(persons)), present):
        first[persons[lines[::-1]]] = lines[::-1]
    others = numbers[present] != numbers[first[persons[present]]]
    if conflicts == "refuse" and others.any():
        many = len(np.unique(persons[present[others]]))
        raise ColumnError(
            "the lines of a person have several values in a column that is kept",
            where=f"column {column.name!r}",
            got=f"{many} of {n_persons} persons",
            hint="unify spellings such as m and M; leave it out of keep; or take the first value: "
            "conflicts='first' (--conflicts first)",
        )
    return column.array.take(first)


def _collect_sets(column: pd.Series[Any], persons: NDArray[np.int32], n_persons: int) -> Itemsets:
    """Collect the items of each person."""
    if is_list_column(column):
        hint = (
            "use the frame as it is if it has one row per person; otherwise merge the lists of a person first"
        )
        raise ItemsetDtypeError("the item column holds lists", where=f"column {column.name!r}", hint=hint)
    items, own = read_items(column), persons[column.notna().to_numpy(bool)]
    starts, order, _ = row_loops.transpose(own, np.arange(len(own) + 1), n_persons)
    lists = pa.LargeListArray.from_arrays(starts, items.take(pa.array(order)))
    return without_blanks(Itemsets.from_arrow(lists))


def read_items(column: pd.Series[Any]) -> pa.Array:
    """Return the values of a column that are not missing as items, texts in a dictionary."""
    present = column.notna().to_numpy(bool)
    is_object = column.dtype == object
    what, got = "the values of a column cannot be items", f"dtype {type_name(column.dtype)}"
    try:
        values = object_items(list(column.array[present])) if is_object else arrow_values(column)
        kind = item_type(values.type)
    except ItemsetDtypeError as error:
        values = None
        if is_object:
            what, got = error.parts["what"], error.parts["got"]
    except (pa.ArrowException, TypeError, ValueError):  # such as categories of several types
        values = None
    if values is None:  # raised outside the handler: the chained error of Arrow shows an item
        where, hint = f"column {column.name!r}", f"{ITEM_HINT}; {text_hint(column)}"
        raise ItemsetDtypeError(what, where=where, got=got, hint=hint)
    if is_object:
        return values
    values = values if pa.types.is_dictionary(values.type) else values.cast(kind)
    values = values.filter(pa.array(present))
    if not len(values):  # Arrow joins no chunks of codes of some types
        return pa.array([], kind)
    if pa.types.is_floating(values.type):
        numbers = values.to_numpy().astype(np.float64)
        whole = (np.abs(numbers) < 2**53) & (numbers == np.floor(numbers))  # floats are exact below 2**53
        return pa.array(numbers.astype(np.int64) if whole.all() else numbers)
    if pa.types.is_large_string(values.type):  # Arrow's string, the usual type of items, holds up to 2 GiB
        values = values.cast(pa.string()) if values.nbytes < 2**31 else values
    return values.dictionary_encode().unify_dictionaries().combine_chunks()


# --- One-hot tables


_TEXTS = {"true": 1.0, "false": 0.0, "": np.nan}
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")


_Value = TypeVar("_Value", float, bool)
Tick: TypeAlias = str | bool | float | Decimal


@called_by_name
def from_onehot(
    frame: pd.DataFrame,
    *,
    columns: Sequence[Hashable] | None = None,
    prefix: str | None = None,
    tick: Tick | None = None,
    name: str = "items",
) -> pd.DataFrame:
    """Convert a table with one column per item into a table with a list column.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. A person has the item of a column if the value is true, 1 or a larger count.
        Otherwise the value is false, 0 or missing. Values are numbers, booleans or text, dense or sparse.
        The frame is not modified.
    columns : sequence of hashable, optional
        The columns of items. By default those with the prefix, or all. Blanks around a label are removed.
    prefix : str, optional
        The beginning of all labels of items, which is removed.
    tick : str, bool or number, optional
        The value of a ticked box, such as ``"x"``, ``"yes"`` or 1; case and surrounding blanks are ignored.
        Numbers have this value however they are stored or written: 1, 1.0, True and ``"1"`` are equal. A
        person then has the items of boxes with this value, and of no others.
    name : str
        The label of the list column.

    Returns
    -------
    DataFrame
        The other columns, and the lists, with the index and attrs of the frame.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column does not exist or exists twice, or no label has the prefix. If another column has the
        label of the list column, or a column of items has other values. If the labels of the columns have
        several types. If both ``columns`` and ``prefix`` are passed, an item has no name, or ``tick`` is in
        no column. If all columns hold only 1 and 2 without a ``tick``: 2 may be a count, or the code of *no*.

    Warns
    -----
    NumbersWarning
        If a column has a number in every row, most of them above 1: probably years or ages, not counts. Also
        if these are only 1 and 2, probably codes.

    Notes
    -----
    Cost: time linear in rows times columns; memory for one column, and for the items.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> ticked = pd.DataFrame({"sex": ["f", "m"], "has_tea": [1, 0], "has_rice": [True, True]})
    >>> pdanon.from_onehot(ticked, prefix="has_")
      sex           items
    0   f  ['rice' 'tea']
    1   m        ['rice']
    """
    result, numbers, _ = lists_and_numbers(frame, columns, prefix, name, tick)
    if numbers:
        hint = "years and ages are no items: pass the columns that are, columns=[...] or prefix='...'; "
        hint += "if one code means yes, pass it: tick=1"
        warn(NumbersWarning(describe_numbers(numbers), hint=hint))
    return result


def lists_and_numbers(
    frame: pd.DataFrame, columns: Sequence[Hashable] | None, prefix: str | None, name: str, tick: Tick | None
) -> tuple[pd.DataFrame, list[Hashable], list[Hashable]]:
    """Return the result of `from_onehot`, the columns that probably hold no counts, and those above 1."""
    positions = _item_positions(check_frame(frame), columns, prefix)
    labels = [frame.columns[position] for position in positions]
    if prefix is not None:
        labels = [label[len(prefix) :] for label in labels]
    if any(isinstance(label, str) and not label.strip() for label in labels):
        where, hint = "columns", "rename the column, or leave it out of columns=[...]"
        if prefix is not None:
            where, hint = "prefix", "choose a shorter prefix"
        raise ParameterError("an item has no name", where=where, hint=hint)
    others = [position for position in range(frame.shape[1]) if position not in set(positions)]
    result = frame.iloc[:, others].copy()
    check_new(result, name)
    marks = _read_columns(frame, positions, tick)
    result[name] = _build_lists([each.rows for each in marks], len(frame), labels).to_pandas()
    read = [(frame.columns[place], each) for place, each in zip(positions, marks, strict=True)]
    numbers: list[Hashable] = [label for label, each in read if each.numbers]
    counts: list[Hashable] = [label for label, each in read if max(each.counts, default=0) > 1]
    return result, numbers, counts


def describe_numbers(numbers: Sequence[Hashable]) -> str:
    """Return the text of a warning about columns that were read as items, but may hold years or ages."""
    named = list_first([*map(repr, numbers)])
    return f"columns with a number in every row are read as items that every row has: {named}"


@called_by_name
def to_onehot(frame: pd.DataFrame, column: Hashable | None = None, *, prefix: str = "") -> pd.DataFrame:
    """Convert a table with lists into a table with one boolean column per item.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame with a list column, such as a release. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    prefix : str
        Text before the item in the label of its column.

    Returns
    -------
    DataFrame
        The other columns, and a sparse boolean column per item, in the order of the items. The index is that
        of the frame.

    Raises
    ------
    ColumnError, ItemsetDtypeError
        If there is not exactly one list column of items, or another column has the label of an item.

    Notes
    -----
    Missing rows become empty, and repeated items become one. Memory: 5 bytes per occurrence, and the overhead
    of pandas per column.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"sex": ["f", "m"], "items": [["rice", "tea"], ["rice"]]})
    >>> pdanon.to_onehot(df, prefix="has_")
      sex  has_rice  has_tea
    0   f      True     True
    1   m      True    False
    """
    from scipy.sparse import csc_array

    check_text(prefix, "prefix")
    position = find_column(frame, column)
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    labels = [prefix + text for text in itemsets.texts()]
    others = [place for place in range(frame.shape[1]) if place != position]
    if taken := set(labels).intersection(frame.columns[others]):
        hint, got = "pass a prefix, such as prefix='has_'", f"{len(taken)} columns"
        raise ColumnError("other columns have the labels of items", where="prefix", got=got, hint=hint)
    starts, rows, _ = row_loops.transpose(itemsets.codes, itemsets.offsets, itemsets.n_items)
    matrix = csc_array((np.ones(len(rows), np.int8), rows, starts), shape=(len(frame), itemsets.n_items))
    make: Any = pd.DataFrame.sparse  # not in pandas-stubs
    onehot = make.from_spmatrix(matrix, index=frame.index, columns=labels)
    onehot = onehot.astype(pd.SparseDtype(np.bool_, fill_value=False))
    return pd.concat([frame.iloc[:, others], onehot], axis=1)


def _item_positions(frame: pd.DataFrame, columns: Any, prefix: str | None) -> list[int]:
    """Return the positions of the columns of items."""
    if columns is not None and prefix is not None:
        hint = "pass one of them"
        raise ParameterError("columns and prefix exclude each other", where="columns, prefix", hint=hint)
    if columns is not None:
        return label_positions(frame, quasi_labels(columns, "columns"))
    if prefix is None:
        return list(range(frame.shape[1]))
    check_text(prefix, "prefix")
    texts = {place: label for place, label in enumerate(frame.columns) if isinstance(label, str)}
    found = [place for place, label in texts.items() if label.startswith(prefix)]
    if not found:
        raise ColumnError("no column begins with the prefix", where="prefix", got=f"{frame.shape[1]} columns")
    return found


class _Marks(NamedTuple):
    """The contents of the column of an item."""

    rows: Numbers  # the rows that have the item
    numbers: bool = False  # whether all rows have it, as for years, ages and codes
    counts: frozenset[float] = frozenset()  # the values


def _read_columns(frame: pd.DataFrame, positions: list[int], tick: Tick | None) -> list[_Marks]:
    """Read the columns of items."""
    columns = [frame.iloc[:, position] for position in positions]
    if tick is not None:
        return _read_ticks(columns, tick)
    marks = [_read_counts(column) for column in columns]
    unknown = [column.name for column, each in zip(columns, marks, strict=True) if each is None]
    if unknown:
        named = "pass the columns of items: columns=[...] (--onehot) or prefix='...' (--prefix)"
        raise ColumnError(
            "columns hold other values than 0, 1, true, false and counts",
            where=list_first([*map(repr, unknown)]),
            got=f"{len(unknown)} of {len(positions)} columns",
            hint=f"{named}; or the value of a ticked box: tick='x' (--tick x)",
        )
    found = [each for each in marks if each is not None]
    if frozenset[float]().union(*(each.counts for each in found)) in ({2.0}, {1.0, 2.0}):
        raise ParameterError(
            "the columns hold only 1 and 2, which may be yes and no, or counts",
            where="tick",
            got=f"{len(found)} columns without a 0",
            hint="if 1 means yes, pass tick=1 (--tick 1); if they are counts, write 0 where there is none: "
            "frame.fillna(0)",
        )
    return found


def _build_lists(rows: list[Numbers], n_rows: int, labels: list[Any]) -> Itemsets:
    """Build the items of each row from the rows of each item."""
    columns = np.concatenate([np.empty(0, np.int64), *rows]).astype(np.int32)
    offsets = offsets_of(np.array([len(each) for each in rows]))
    starts, items, _ = row_loops.transpose(columns, offsets, n_rows)
    itemsets = Itemsets(items, starts, object_items(labels), np.zeros(n_rows, np.bool_))
    return without_blanks(itemsets.recode(np.arange(len(labels)), itemsets.vocabulary))


def _read_counts(column: pd.Series[Any]) -> _Marks | None:
    """Read the column of an item; return None if it holds other values than counts and booleans."""
    counts = _map_values(column, _parse_count, np.nan)
    if counts is None or (counts < 0).any():
        return None
    has = counts > 0
    codes = counts.max(initial=0) == 2
    often = 2 * int(np.count_nonzero(counts > 1)) > len(counts)
    known = frozenset(np.unique(counts[~np.isnan(counts)]).tolist())
    return _Marks(np.flatnonzero(has), bool(has.all() and (often or codes)), known)


def _read_ticks(columns: Sequence[pd.Series[Any]], tick: Tick) -> list[_Marks]:
    """Find the rows with the tick, column by column."""
    is_number = isinstance(tick, (np.bool_, Real, Decimal)) and not isinstance(tick, np.timedelta64)
    if isinstance(tick, str):
        check_text(tick, "tick")
    elif not is_number or "nan" in str(tick).lower():
        hint = "pass the value of a ticked box, such as tick='x' or tick=1"
        what = "tick must be text, a boolean or a number"
        raise ParameterError(what, where="tick", got=describe(tick), hint=hint)
    text, number = _text_and_number(tick)

    def is_ticked(value: Any) -> bool:
        same = _text_and_number(value)
        return same[0] == text or (number is not None and same[1] == number)

    found = [_map_values(column, is_ticked, False) for column in columns]
    unknown = [column for column, each in zip(columns, found, strict=True) if each is None]
    if unknown:
        where = list_first([repr(column.name) for column in unknown])
        what, got = "the values of columns cannot be compared", f"{len(unknown)} of {len(columns)} columns"
        raise ColumnError(what, where=where, got=got, hint=text_hint(unknown[0]))
    marks = [_Marks(np.flatnonzero(each)) for each in found if each is not None]
    if not text or not any(len(each.rows) for each in marks):
        hint = "pass the value of a ticked box, as it is in the table"
        raise ParameterError("no box is ticked", where="tick", got=quote_word(tick), hint=hint)
    return marks


def _text_and_number(value: Any) -> tuple[str, Any]:
    """Return the text of a value, and its exact number if it is one or writes one."""
    value = value.item() if isinstance(value, np.generic) else value
    text = str(value).strip().casefold()
    if isinstance(value, str):
        return text, Decimal(text) if _NUMBER.fullmatch(text) else None
    return text, value if isinstance(value, (Real, Decimal)) else None


def _map_values(
    column: pd.Series[Any], function: Callable[[Any], _Value], missing: _Value
) -> NDArray[Any] | None:
    """Map each distinct value of a column; return None if its values cannot be compared."""
    numbers = value_numbers(column)
    if numbers is None:
        return None
    distinct, first = np.unique(numbers, return_index=True)
    values = column.iloc[first]
    mapped = [
        missing if lacking else function(value) for value, lacking in zip(values, values.isna(), strict=True)
    ]
    return np.array(mapped, type(missing))[np.searchsorted(distinct, numbers)]


def _parse_count(value: Any) -> float:
    """Parse a count, true or false; return NaN for a blank, and -1 for other values."""
    text = str(value).strip().lower()
    try:
        count = _TEXTS[text] if text in _TEXTS else float(text)
    except ValueError:
        return -1.0
    return count if text == "" or (count >= 0 and count.is_integer()) else -1.0
