"""The quasi-identifiers of a table, and the classes of rows that are published alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.algorithms.relational.attributes import Attribute, Numbers
from pdanon.algorithms.relational.cells import Cells, common_unit
from pdanon.algorithms.relational.encoding import attribute_maker
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.codes import Codes
from pdanon.itemsets.columns import find_quasi

__all__ = ["Classes", "Formation", "QuasiTable", "group_rows", "sums"]


@dataclass(frozen=True, eq=False, slots=True)
class QuasiTable:
    """The quasi-identifiers of a frame, encoded.

    Parameters
    ----------
    positions : list of int
        Where the columns are in the frame.
    attributes : tuple of Attribute
        The columns, in the order asked for.
    codes : ndarray of int32, shape (rows, columns)
        The values of each row, side by side.
    """

    positions: list[int]
    attributes: tuple[Attribute, ...]
    codes: Codes

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        quasi: Sequence[Hashable],
        hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    ) -> QuasiTable:
        """Encode columns of a frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            The frame.
        quasi : sequence of hashable
            Labels of its quasi-identifiers.
        hierarchies : mapping, optional
            By label, what `Hierarchy.of` accepts.

        Raises
        ------
        ColumnError, ParameterError, ItemsetDtypeError, HierarchyError
            If a column cannot be a quasi-identifier, or a hierarchy does not fit.
        """
        positions = find_quasi(frame, quasi)
        if hierarchies is not None and not isinstance(hierarchies, Mapping):
            hint = "give a dict of hierarchies by column: hierarchies={'age': ...}"
            got = type(hierarchies).__name__
            raise ParameterError("hierarchies must be a mapping", where="hierarchies", got=got, hint=hint)
        trees = dict(hierarchies or {})
        labels = [frame.columns[position] for position in positions]
        unused = [label for label in trees if label not in labels]
        if unused:
            hint = "a hierarchy is for a column that quasi= names"
            raise ParameterError(
                "a hierarchy belongs to no quasi-identifier", where="hierarchies", got=unused, hint=hint
            )
        makers = [
            attribute_maker(frame.iloc[:, position], trees.get(label))
            for position, label in zip(positions, labels, strict=True)
        ]
        unit = common_unit([whole for wholes, _ in makers for whole in wholes], len(frame) * len(makers))
        attributes = tuple(make(unit) for _, make in makers)
        codes = np.empty((len(frame), len(attributes)), np.int32)
        for number, attribute in enumerate(attributes):
            codes[:, number] = attribute.codes
        return cls(positions, attributes, codes)

    @property
    def unit(self) -> int:
        """What is lost by a value of which nothing is known."""
        return self.attributes[0].unit

    def take(self, rows: Numbers) -> QuasiTable:
        """Some of the rows; what a value loses is still a share of all values of the table."""
        attributes = tuple(replace(each, codes=each.codes[rows]) for each in self.attributes)
        return QuasiTable(self.positions, attributes, self.codes[rows])

    def check_feasible(self, k: int) -> None:
        """Check that the rows can hide in each other: there are 0 or at least k."""
        if 0 < self.n_rows < k:
            raise InfeasibleError(
                "k is larger than the number of rows",
                got=f"k={k}, {self.n_rows} rows",
                hint="choose a smaller k, or more rows",
            )

    def widened(self, members: Numbers, rows: Numbers) -> Numbers:
        """What is lost by what covers some rows and one more, for each of other rows."""
        from pdanon._kernels import quasi

        tables = [each.widened(each.codes[members]) for each in self.attributes]
        starts = np.cumsum([0, *map(len, tables[:-1])])
        return quasi.look_up(np.concatenate(tables), starts, self.codes, rows)

    def distinct(self) -> tuple[list[Codes], Numbers]:
        """The combinations of values that occur, attribute by attribute, and the rows that have each."""
        groups = group_rows([each.codes for each in self.attributes], self.n_rows)
        _, first, counts = np.unique(groups, return_index=True, return_counts=True)
        return [each.codes[first] for each in self.attributes], counts

    def by_height(self) -> QuasiTable:
        """The same, where a node of a hierarchy loses its height, not the number of its leaves."""
        return replace(self, attributes=tuple(each.by_height() for each in self.attributes))


@dataclass(frozen=True, eq=False, slots=True)
class Classes:
    """Rows that are published alike.

    Parameters
    ----------
    of_row : ndarray of int64, shape (rows,)
        Class of each row, numbered in the order of their first rows.
    cells : tuple of Cells
        What each class is published as, attribute by attribute.
    unit : int
        What is lost by a value of which nothing is known.
    suppressed : int
        How many rows nothing is published of; they are all in one class.
    """

    of_row: Numbers
    cells: tuple[Cells, ...]
    unit: int
    suppressed: int

    @classmethod
    def of_members(cls, table: QuasiTable, groups: Numbers) -> Classes:
        """Publish groups of rows as what covers their members; those that become equal are one class.

        Parameters
        ----------
        table : QuasiTable
            The rows.
        groups : ndarray of int64, shape (rows,)
            Group of each row, -1 for those that are suppressed.
        """
        gone = int((groups < 0).sum())
        names, groups = np.unique(groups, return_inverse=True)
        first = 0 if gone else None
        cells = [each.generalize(groups, each.codes, len(names), first) for each in table.attributes]
        return cls._merged(groups, cells, len(names), table.unit, gone)

    @classmethod
    def of_values(
        cls, table: QuasiTable, groups: Sequence[Numbers], suppressed: NDArray[np.bool_]
    ) -> Classes:
        """Publish equal values alike, throughout the table.

        Parameters
        ----------
        table : QuasiTable
            The rows.
        groups : sequence of ndarray of int64, one an attribute
            The node of each of its values or, without a hierarchy, any number, from 0 on, shared by a group.
        suppressed : ndarray of bool, shape (rows,)
            The rows of which nothing is published.
        """
        cells = []
        for attribute, of_value in zip(table.attributes, groups, strict=True):
            present = np.bincount(attribute.codes[~suppressed], minlength=attribute.n_values) > 0
            by_value = attribute.recode(np.where(present, of_value, -1))
            value = np.where(suppressed, attribute.n_values, attribute.codes)
            cells.append(replace(by_value, numbers=by_value.numbers[value]))
        rows = np.arange(table.n_rows)
        return cls._merged(rows, cells, table.n_rows, table.unit, int(suppressed.sum()))

    @classmethod
    def _merged(
        cls, groups: Numbers, cells: Sequence[Cells], n_groups: int, unit: int, suppressed: int
    ) -> Classes:
        alike = group_rows([each.numbers for each in cells], n_groups)
        of_row = alike[groups]
        names, first = np.unique(of_row, return_index=True)
        rank = np.empty(len(names), np.int64)
        rank[np.argsort(first)] = np.arange(len(names))
        chosen = groups[np.sort(first)]  # a group of each class
        published = tuple(replace(each, numbers=each.numbers[chosen]) for each in cells)
        return cls(rank[of_row], published, unit, suppressed)

    @property
    def sizes(self) -> Numbers:
        """Number of rows of each class."""
        return np.bincount(self.of_row, minlength=len(self))

    @property
    def penalties(self) -> Numbers:
        """What each row of a class loses, summed over the attributes."""
        return np.sum([each.penalties[each.numbers] for each in self.cells], axis=0)

    @property
    def lost(self) -> int:
        """What all rows lose, summed over the attributes."""
        return int(self.sizes @ self.penalties)

    @property
    def ncp(self) -> float:
        """Normalized certainty penalty, averaged over rows and attributes."""
        everything = self.unit * len(self.cells) * len(self.of_row)
        return self.lost / everything if everything else 0.0

    def __len__(self) -> int:
        return len(self.cells[0].numbers)


class Formation(Protocol):
    """How classes are decided."""

    def __call__(
        self,
        table: QuasiTable,
        k: int,
        rng: np.random.Generator,
        report: Callable[[int], Any],
        most: int = 0,
        /,
    ) -> Classes:
        """Decide, given k, where chance comes from, whom to tell, and how many rows may be suppressed."""
        ...


def group_rows(keys: Sequence[NDArray[Any]], n_rows: int) -> Numbers:
    """Number of the combination of keys that each row has, in their order."""
    packed, space = np.zeros(n_rows, np.int64), 1
    for key in keys:
        base = int(key.max(initial=0)) + 1
        if space * base >= 2**62:
            packed = np.unique(packed, return_inverse=True)[1]
            space = int(packed.max(initial=0)) + 1
        packed, space = packed * base + key, space * base
    return np.unique(packed, return_inverse=True)[1]


def sums(groups: Numbers, values: Numbers) -> Numbers:
    """Sum of the values of each group, exactly."""
    totals = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
    np.add.at(totals, groups, values)
    return totals
