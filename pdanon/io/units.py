"""Units: persons with several rows, as lines with one item each or as rows with lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError
from pdanon.io.forms import (
    number_persons,
    read_items,
    refuse_list_units,
    refuse_single_lines,
    warn_of_shared_persons,
)
from pdanon.io.text import without_blanks
from pdanon.itemsets import row_loops
from pdanon.itemsets.codes import Itemsets, Mask, Numbers
from pdanon.itemsets.columns import (
    find_column,
    is_list_column,
    label_position,
    label_positions,
)
from pdanon.itemsets.equality import pair_numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.validation import check_frame

_Level: TypeAlias = tuple[Mask, bool, tuple[int, ...]]  # entries, whether its label, columns


@frozen
class UnitRows:
    """Rows of labels, and the unit of each row."""

    numbers: NDArray[np.int32]  # the unit of each row, from 0 on
    n_units: int
    bags: Itemsets  # the labels of each row; missing rows have none

    @property
    def of_occurrence(self) -> NDArray[np.int32]:
        """The unit of each occurrence."""
        return np.repeat(self.numbers, self.bags.lengths)

    def gather(self, *, repeats: bool = False) -> Itemsets:
        """Return the distinct labels of each unit, or with ``repeats`` each as often as its rows have it."""
        codes, offsets = _by_unit(self.bags.codes, self.of_occurrence, self.n_units)
        n_items = len(self.bags.vocabulary)
        codes, offsets, _ = row_loops.recode_rows(
            codes, offsets, np.arange(n_items), n_items, repeats=repeats
        )
        return Itemsets(codes, offsets, self.bags.vocabulary, np.zeros(self.n_units, np.bool_))


def _by_unit(items: NDArray[Any], units: NDArray[np.int32], n_units: int) -> tuple[NDArray[Any], Numbers]:
    """Sort items by their units, and return the offsets of units."""
    offsets, order, _ = row_loops.transpose(units, np.arange(len(units) + 1), n_units)
    return items[order], offsets


@frozen
class UnitTable:
    """A table in which a unit may have several rows."""

    frame: pd.DataFrame
    unit: int  # a position, as `column`, that of the items
    column: int
    is_long: bool  # a row is a line with at most one item, instead of a list
    rows: UnitRows

    @classmethod
    def of(
        cls, frame: pd.DataFrame, unit: Hashable, item: Hashable, column: Hashable, *, as_shown: bool = False
    ) -> UnitTable:
        """Read lines with an ``item`` each, or rows with a ``column`` of lists, by default the only one."""
        # Audits read items ``as_shown``, exactly as they are written. Otherwise blanks around a text of a
        # line are removed, as by `from_long`.
        place, position = unit_positions(frame, unit, item, column)
        numbers, n_units = number_persons([frame.iloc[:, place]], "unit")
        items, is_long = frame.iloc[:, position], item is not None
        if is_long and not as_shown:
            refuse_single_lines(len(frame), n_units, "unit")
            warn_of_shared_persons(frame, [unit], item, numbers, n_units, "unit")
        bags = read_line_items(items, as_shown) if is_long else Itemsets.from_series(items, repeats=True)
        return cls(frame, place, position, is_long, UnitRows(numbers, n_units, bags))

    @property
    def others(self) -> list[int]:
        """Positions of all columns but those of units and items."""
        return [place for place in range(self.frame.shape[1]) if place not in (self.unit, self.column)]

    def gather(self, *, repeats: bool = False) -> pd.DataFrame:
        """Return a frame with one row per unit, in order of first appearance: the items of its rows."""
        lists = pd.DataFrame({0: self.rows.gather(repeats=repeats).to_pandas()})
        lists.columns = self.frame.columns[[self.column]]
        return lists


def unit_positions(frame: pd.DataFrame, unit: Hashable, item: Hashable, column: Hashable) -> tuple[int, int]:
    """Return the positions of the column of units and of that of items; parameters as in `UnitTable.of`."""
    place = label_position(check_frame(frame), unit)
    refuse_list_units(unit, is_list=is_list_column(frame.iloc[:, place]))
    position = _item_position(frame, item, column)
    if place == position:
        hint = "unit names the persons, and item= or column= what they have"
        raise ParameterError("units and items are one column", where="unit", got=f"{unit!r}", hint=hint)
    return place, position


def _item_position(frame: pd.DataFrame, item: Hashable, column: Hashable) -> int:
    """Return the position of the items of lines, or that of the list column."""
    if item is not None and column is not None:
        hint = "pass item= for lines with an item each, or column= for rows with lists"
        raise ParameterError("the items are named twice", where="item and column", hint=hint)
    if item is not None:
        (position,) = label_positions(frame, [item])
        if is_list_column(frame.iloc[:, position]):
            hint = f"pass column={item!r} (--column) instead: the lists of a unit are merged"
            raise ItemsetDtypeError("the item column holds lists", where="item", hint=hint)
        return position
    if column is None and not any(is_list_column(each) for _, each in frame.items()):
        hint = "name the column of items, one per line: item='product' (--item product)"
        raise ColumnError("the frame has no list-valued column", where="item", hint=hint)
    position = find_column(frame, column)
    if not is_list_column(frame.iloc[:, position]) and frame.iloc[:, position].notna().any():
        hint = f"for lines with one item each, pass item={column!r} (--item) instead"
        raise ItemsetDtypeError("the column does not hold lists", where="column", hint=hint)
    return position


def read_line_items(column: pd.Series[Any], as_shown: bool) -> Itemsets:
    """Read the item of each line as a row of at most one item."""
    present = column.notna().to_numpy(bool)
    rows = Itemsets.from_arrow(pa.LargeListArray.from_arrays(offsets_of(present), read_items(column)))
    return rows if as_shown else without_blanks(rows)


# --- What an attacker may know of the rows of a unit


class KnownRows:
    """All that an attacker may know of a row, as items of its unit: its label, values of it, or both."""

    # A part of a row matches at least as many units as the row, so an item is a whole row. With counts, "the
    # label twice" may be two different rows, so each part of a row is an item of its own, with its number.

    def __init__(self, rows: UnitRows, values: Sequence[Numbers], names: Sequence[str], counts: bool) -> None:
        self._rows, self._names, self._counts = rows, names, counts
        lengths = rows.bags.lengths
        entries = np.maximum(lengths, 1)  # a row without labels still shows its values
        self._row = np.repeat(np.arange(len(lengths)), entries)
        self._label = np.full(len(self._row), -1, np.int64)
        self._label[np.repeat(lengths > 0, entries)] = rows.bags.codes
        self._values = [each[self._row] for each in values]
        # A row of a unit without labels has no values: it shows that the unit exists, and nothing else.
        shows = np.any([self._label >= 0, *(each > 0 for each in self._values)], axis=0)
        self._first = shows & (np.diff(self._row, prepend=-1) > 0)

    def to_frame(self, column: Hashable) -> pd.DataFrame:
        """Return one row per unit with the numbers of what may be known, for an audit."""
        units, items = [], []
        for entries, numbers, _ in self._parts():
            units.append(self._rows.numbers[self._row[entries]])
            items.append(numbers)
        known, offsets = _by_unit(np.concatenate(items), np.concatenate(units), self._rows.n_units)
        lists = pa.LargeListArray.from_arrays(offsets, pa.array(known))
        bags = Itemsets.from_arrow(lists, repeats=self._counts)
        frame = pd.DataFrame({0: bags.to_pandas()})
        frame.columns = pd.Index([column], dtype=object)
        return frame

    def describe(self, numbers: Sequence[int], columns: Sequence[pd.Series[Any]]) -> dict[int, str]:
        """Return a text for each number of `to_frame`, with the values of the columns."""
        texts = {}
        labels = self._rows.bags.texts()
        for entries, own, (shown, has_label, places) in self._parts():
            distinct, first = np.unique(own, return_index=True)
            for number in np.intersect1d(numbers, distinct).tolist():
                entry = entries[first[np.searchsorted(distinct, number)]]
                some = ["some label"] * (shown is not self._first)
                parts = [labels[self._label[entry]]] if has_label else some
                parts += [f"{self._names[i]}={columns[i].iloc[self._row[entry]]}" for i in places]
                texts[number] = ", ".join(parts)
        return texts

    def _parts(self) -> Iterator[tuple[Numbers, Numbers, _Level]]:
        """Yield the entries that have each part of a row, and their numbers, which no other part has."""
        before = 0
        for level in self._levels():
            shown, has_label, places = level
            entries = np.flatnonzero(shown)
            parts = [self._label[entries] + 1] if has_label else []
            numbers = reduce(pair_numbers, [*parts, *(self._values[i][entries] for i in places)])
            yield entries, numbers + before, level
            before += int(numbers.max(initial=-1)) + 1

    def _levels(self) -> Iterator[_Level]:
        """Yield the parts of a row that are items."""
        columns, labelled = range(len(self._values)), self._label >= 0
        every = bool(labelled.all())
        if not self._counts:
            yield labelled, True, tuple(columns)
            if self._values and not every:
                yield self._first, False, tuple(columns)
            return
        for size in range(len(columns) + 1):
            for places in combinations(columns, size):
                yield labelled, True, places
                if places:
                    yield self._first, False, places
                    if not every:  # "twice in the north" may be two rows with whatever labels
                        yield self._first & labelled, False, places
