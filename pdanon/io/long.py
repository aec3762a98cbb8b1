"""Long tables, with a line for each item of a person: invoice lines, claims with a diagnosis each, clicks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError, PersonsWarning, warn
from pdanon.io.text import without_blanks
from pdanon.itemsets import parallel
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import (
    column_labels,
    find_column,
    is_list_column,
    label_position,
    label_positions,
    quasi_labels,
    same_label,
)
from pdanon.itemsets.compatibility import arrow_values
from pdanon.itemsets.equality import Numbers, pair_numbers, value_numbers
from pdanon.itemsets.hints import is_named_for_persons
from pdanon.itemsets.lists import object_items
from pdanon.itemsets.multisets import Multisets
from pdanon.itemsets.validation import check_frame, check_known, check_text

__all__ = ["from_long", "to_long"]

_FEW = 20  # lines or rows; in fewer, each may be of another person, or two of one, by chance

_HIDE = "hide each other, and no guarantee, as it counts rows, hides the person"


def from_long(
    frame: pd.DataFrame,
    *,
    by: Hashable | Sequence[Hashable],
    item: Hashable,
    keep: Sequence[Hashable] = (),
    conflicts: str = "refuse",
) -> pd.DataFrame:
    """Make a row a person of a table that has a line for each item.

    Parameters
    ----------
    frame : pandas.DataFrame
        The lines, in any order. It is not modified.
    by : hashable or list of hashable
        The column that says whose line it is, or several that say it together.
    item : hashable
        The column of items: one value a line. In a line where it is missing, the person has no item.
        Blanks around a text are not part of the item.
    keep : sequence of hashable
        Columns with one value a person, such as age, which become columns of the result. Those of ``by`` may
        be among them; else nothing of them is left, as they are most often what identifies a person.
    conflicts : {"refuse", "first"}
        What to do if the lines of a person have several values in a column that is kept: refuse, or take the
        first. A missing value is no conflict: the first that is not missing is taken.

    Returns
    -------
    DataFrame
        A row a person, in the order in which they first come, with the columns ``keep`` and then ``item``:
        the distinct items of the person, as a list.

    Raises
    ------
    ColumnError
        If a column does not exist, is there twice, cannot be compared, or a kept one has conflicting values.
    ItemsetDtypeError
        If the item column holds lists, or values that cannot be items.
    ParameterError
        If lines have no person; or if each of 20 lines or more is of another one.

    Warns
    -----
    PersonsWarning
        If another column whose name is that of a number of persons says that some have several of these rows,
        as customers have several invoices. Not in fewer than 20 rows, nor if ``by`` has such a name itself.

    See Also
    --------
    to_long : The inverse.
    from_onehot, from_text : Other forms.

    Notes
    -----
    Whole numbers that are held as fractions, as pandas holds them where some are missing, become whole
    numbers again.

    Cost: time and memory grow with the lines.

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
    check_known(conflicts, ("refuse", "first"), "way to treat conflicts", where="conflicts")
    ids = [frame.iloc[:, place] for place in _places(check_frame(frame), by)]
    items = frame.iloc[:, label_position(frame, item)]
    kept = [frame.iloc[:, position] for position in label_positions(frame, column_labels(keep, "keep"))]
    if any(same_label(column.name, item) for column in kept):
        hint = "each item of a person is in the result already"
        raise ParameterError("the item column has several values a person", where="keep", hint=hint)
    persons, n_persons = _persons(ids)
    if n_persons == len(frame) >= _FEW:
        raise ParameterError(
            "each line is of another person, who would have one item",
            where="by",
            got=f"{len(frame)} lines with as many different values",
            hint="name the column that is the same in all lines of a person, such as a customer number",
        )
    _warn_of_parts(frame, [column.name for column in ids], item, persons, n_persons)
    columns = {column.name: _one_value_each(column, persons, n_persons, conflicts) for column in kept}
    sets = pd.Series(_sets(items, persons, n_persons).to_pandas(), name=item)
    return pd.concat([*(pd.Series(values, name=label) for label, values in columns.items()), sets], axis=1)


def to_long(frame: pd.DataFrame, column: Hashable | None = None, *, by: str = "row") -> pd.DataFrame:
    """Write a line for each item of each row.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame with a list column, such as a release. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    by : str
        What the column that numbers the rows is called.

    Returns
    -------
    DataFrame
        The number of the row, from 0 on, the other columns, and the item. An item that a row repeats has as
        many lines; a row without items, or one that is missing, has one line, in which the item is missing.

    Raises
    ------
    ColumnError
        If there is not exactly one list column, or there is a column called as ``by`` already.
    ItemsetDtypeError
        If the column does not hold lists of items.

    See Also
    --------
    from_long : The inverse, with ``by=`` this column and ``keep=`` the others.

    Notes
    -----
    The numbers follow the order of the rows, so they say no more than the frame does.

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
        hint = "give the column of row numbers another name: by=..."
        raise ColumnError(f"there is a column {by!r} already", where="by", hint=hint)
    bags = Multisets.from_series_in_order(frame.iloc[:, position])
    lengths = np.diff(bags.offsets)
    lines = np.repeat(np.arange(len(frame)), np.maximum(lengths, 1))
    codes = np.full(len(lines), -1)
    codes[(lengths > 0)[lines]] = bags.codes
    items = bags.vocabulary.take(pa.array(codes, mask=codes < 0))
    long = frame.take(lines).reset_index(drop=True)
    long.isetitem(position, pd.array(items, dtype=pd.ArrowDtype(items.type)))
    order = [place for place in range(frame.shape[1]) if place != position]
    return pd.concat([pd.Series(lines, name=by), long.iloc[:, [*order, position]]], axis=1)


def _places(frame: pd.DataFrame, by: Any) -> list[int]:
    """Where the columns are that say whose a line is: one label, or a list of them."""
    labels = quasi_labels(by, "by") if isinstance(by, list) else (by,)
    return label_positions(frame, labels)


def _persons(ids: list[pd.Series[Any]]) -> tuple[NDArray[np.int32], int]:
    """Number the persons in the order in which they first come: the number of each line, and how many."""
    missing = np.logical_or.reduce([column.isna().to_numpy(bool) for column in ids])
    if missing.any():
        raise ParameterError(
            "some lines say of no person that they are theirs",
            where="by",
            got=f"{int(missing.sum())} of {len(missing)} lines in which a value is missing",
            hint=f"leave them out of the file, or: frame.dropna(subset={[column.name for column in ids]})",
        )
    first, *others = [_compared(column, "by") for column in ids]
    for each in others:
        first = pair_numbers(first, each)
    numbers, found = pd.factorize(first)
    return numbers.astype(np.int32), len(found)


def _warn_of_parts(
    frame: pd.DataFrame, by: list[Hashable], item: Hashable, rows: NDArray[np.int32], n_rows: int
) -> None:
    """Warn if another column says that persons have several rows, unless ``by`` is named for persons."""
    if n_rows < _FEW or any(map(is_named_for_persons, by)):
        return
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if not is_named_for_persons(column.name) or same_label(column.name, item):
            continue
        owned, owners = _owners(column, rows)
        if n_rows // 100 < owners < owned:
            one = by[0] if len(by) == 1 else by
            what = f"{owned:,} rows, one a {one!r}, share {owners:,} values of {column.name!r}"
            hint = (
                f"by={column.name!r}, or, if a row need not be a person, leave that column out of the frame"
            )
            warn(PersonsWarning(f"{what}: if these are persons, their rows {_HIDE}", hint=hint))


def _owners(column: pd.Series[Any], rows: NDArray[np.int32]) -> tuple[int, int]:
    """How many rows have a value in this column, and how many values; 0 and 0 if a row has several."""
    lines = np.flatnonzero(column.notna().to_numpy(bool))
    numbers = value_numbers(column.iloc[lines])
    if numbers is None:
        return 0, 0
    values, owned = pd.unique(numbers), pd.unique(rows[lines])
    together = pair_numbers(numbers, rows[lines].astype(numbers.dtype))
    return (len(owned), len(values)) if len(pd.unique(together)) == len(owned) else (0, 0)


def _compared(column: pd.Series[Any], where: str) -> Numbers:
    """Numbers of the values of a column, the same for values that are alike."""
    numbers = value_numbers(column)
    if numbers is None:
        hint = "values must be numbers, text, dates or others that can be compared"
        raise ColumnError(f"the values of {column.name!r} cannot be compared", where=where, hint=hint)
    return numbers


def _one_value_each(
    column: pd.Series[Any], persons: NDArray[np.int32], n_persons: int, conflicts: str
) -> Any:
    """The first value of each person, one that is not missing if there is one."""
    numbers = _compared(column, "keep")
    present = np.flatnonzero(~column.isna().to_numpy(bool))
    first = np.zeros(n_persons, np.int64)
    for lines in (np.arange(len(persons)), present):  # of one person, the line that is written last stays
        first[persons[lines[::-1]]] = lines[::-1]
    others = numbers[present] != numbers[first[persons[present]]]
    if conflicts == "refuse" and others.any():
        many = len(np.unique(persons[present[others]]))
        raise ColumnError(
            "the lines of a person have several values in a column that is kept",
            where=f"column {column.name!r}",
            got=f"{many} of {n_persons} persons",
            hint="write alike what means the same, such as m and M; leave it out of keep; or take the first "
            "value: conflicts='first' (--conflicts first)",
        )
    return column.array.take(first)


def _sets(column: pd.Series[Any], persons: NDArray[np.int32], n_persons: int) -> Itemsets:
    """The items of each person."""
    if is_list_column(column):
        hint = "such a table has a row a person already, or one a visit: merge the lists of a person first"
        raise ItemsetDtypeError("the item column holds lists", where=f"column {column.name!r}", hint=hint)
    lines = np.flatnonzero(column.notna().to_numpy(bool))
    items, own = _items(column.iloc[lines]), persons[lines]
    starts, order, _ = parallel.transpose(own, np.arange(len(own) + 1), n_persons)
    lists = pa.LargeListArray.from_arrays(starts, items.take(pa.array(order)))
    return without_blanks(Itemsets.from_arrow(lists))


def _items(column: pd.Series[Any]) -> pa.Array:
    """The values of a column as items, each text once; none is missing."""
    if pd.api.types.is_object_dtype(column.dtype):
        return object_items(list(column.array))
    if pd.api.types.is_float_dtype(column.dtype):
        numbers = column.to_numpy(np.float64)
        whole = (np.abs(numbers) < 2**53) & (numbers == np.floor(numbers))
        return pa.array(numbers.astype(np.int64) if whole.all() else numbers)
    values = arrow_values(column)
    if pa.types.is_large_string(values.type):
        values = values.cast(pa.string()) if values.nbytes < 2**31 else values
    return values.dictionary_encode().unify_dictionaries().combine_chunks()
