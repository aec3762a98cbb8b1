"""Transactions whose items are public, what an attacker may know, or private, what to protect.

Private items are some of the list column's own, or all items of a second list column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.bags import first_copies
from pdanon.itemsets.codes import Codes, Itemsets, Offsets, as_itemsets
from pdanon.itemsets.columns import names_column
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.values import listed

__all__ = ["PublicAndPrivate", "known_items", "listed_items", "private_items"]


def listed_items(items: Any, name: str) -> pa.Array:
    """Read a list of items, or a Series of booleans by item, as the distinct items that are meant.

    Parameters
    ----------
    items : iterable or Series of bool
        The items; or whether an item is meant, by item.
    name : str
        The parameter, for messages.

    Returns
    -------
    pyarrow.Array

    Raises
    ------
    ParameterError
        If it is neither, or a Series of booleans says both of an item.
    ItemsetDtypeError
        If the items are of several types, or one is missing.
    """
    if isinstance(items, (str, Mapping, pd.DataFrame)) or not isinstance(items, Iterable):
        hint = f"give a list of items, even for one: {name}=[...]; or a Series of booleans by item"
        raise ParameterError(f"{name} must be items", where=name, got=type(items).__name__, hint=hint)
    if not (isinstance(items, pd.Series) and pd.api.types.is_bool_dtype(items.dtype)):
        return _distinct(items)
    if items.isna().any():
        raise ParameterError(f"{name} is missing for an item", where=name, got=f"{items.isna().sum()} items")
    mask = items.to_numpy(dtype=np.bool_)
    meant, others = _distinct(items.index[mask]), _distinct(items.index[~mask])
    both = int(np.sum(pa.compute.is_in(others, value_set=meant).to_numpy(zero_copy_only=False)))
    if both:
        hint = "each item has one place: say it once"
        got = f"{both} items that are {name} and not {name}"
        raise ParameterError("an item is both public and private", where=name, got=got, hint=hint)
    return meant


def private_items(private: Any) -> Any:
    """Read ``private=``, in whatever form, once: a column's name is kept, items become an Arrow array."""
    return private if names_column(private) else listed_items(private, "private")


def known_items(items: pa.Array, itemsets: Itemsets, name: str) -> NDArray[np.bool_]:
    """Which items of a column are listed; refuse listed items that do not occur."""
    codes = itemsets.lookup(items)
    unknown = int((codes < 0).sum())
    if unknown:
        raise ParameterError(
            f"{name} lists items that do not occur in the data",
            where=name,
            got=f"{unknown} of {len(items)} items",
            hint="check spelling and type of the items",
        )
    known = np.zeros(itemsets.n_items, np.bool_)
    known[codes] = True
    return known[first_copies(itemsets.vocabulary)]


def _distinct(items: Iterable[Any]) -> pa.Array:
    if isinstance(items, (pa.Array, pa.ChunkedArray)):
        flat = pa.chunked_array(items).combine_chunks()
        return Itemsets.from_arrow(pa.LargeListArray.from_arrays([0, len(flat)], flat)).vocabulary
    return Itemsets.from_series(as_itemsets([listed(items, "the items")])).vocabulary


@dataclass(frozen=True, eq=False, slots=True)
class PublicAndPrivate:
    """Rows of public and private items, by common numbers.

    Parameters
    ----------
    columns : ListColumns
        The list column that is recoded, whose items have the first numbers; and the private column, if there
        is one, all of whose items are private and have the numbers that follow.
    codes, offsets : ndarray
        Items of each row, of both columns; ascending within a row.
    is_private : ndarray of bool
        By item number.
    """

    columns: ListColumns
    codes: Codes
    offsets: Offsets
    is_private: NDArray[np.bool_]

    @classmethod
    def of(cls, columns: ListColumns, private: Any) -> PublicAndPrivate:
        """Divide the items of a table.

        Parameters
        ----------
        columns : ListColumns
            The list column, and the private column if one is named.
        private : pyarrow.Array or label
            What `private_items` returned.

        Raises
        ------
        ParameterError
            If private items do not occur, an item is both public and private, or the private column is not
            there.
        """
        itemsets, hidden = columns.itemsets, columns.private
        if isinstance(private, pa.Array):
            return cls.within(columns, known_items(private, itemsets, "private"))
        if hidden is None:
            hint = "collapse both columns together"
            raise ParameterError("the private column was not collapsed", where="private", hint=hint)
        both = int((itemsets.lookup(hidden.vocabulary) >= 0).sum())
        if both:
            hint = "name them differently if they are different things; else take them out of one column"
            got = f"{both} items are in both columns"
            raise ParameterError("an item is both public and private", where="private", got=got, hint=hint)
        order = np.argsort(np.concatenate((itemsets.rows, hidden.rows)), kind="stable")
        codes = np.concatenate((itemsets.codes, hidden.codes + np.int32(itemsets.n_items)))[order]
        offsets = itemsets.offsets + hidden.offsets
        is_private = np.arange(itemsets.n_items + hidden.n_items) >= itemsets.n_items
        return cls(columns, codes, offsets, is_private)

    @classmethod
    def within(cls, columns: ListColumns, is_private: NDArray[np.bool_]) -> PublicAndPrivate:
        """Divide the items of one column."""
        return cls(columns, columns.itemsets.codes, columns.itemsets.offsets, is_private)

    @property
    def itemsets(self) -> Itemsets:
        """The list column that is recoded."""
        return self.columns.itemsets

    def present(self) -> PublicAndPrivate:
        """Only the rows whose list column is not missing."""
        nulls = self.itemsets.nulls
        if not nulls.any():
            return self
        lengths = np.diff(self.offsets)
        kept = np.repeat(~nulls, lengths)
        offsets = offsets_of(lengths[~nulls])
        columns = ListColumns(*(each.take(np.flatnonzero(~nulls)) for each in self.columns.columns))
        return replace(self, columns=columns, codes=self.codes[kept], offsets=offsets)

    @property
    def index(self) -> SupportIndex:
        """All rows, each as often as it counts."""
        return SupportIndex(self.codes, self.offsets, len(self.is_private), self.itemsets.weights)

    @property
    def n_rows(self) -> int:
        """Number of transactions."""
        return self.index.n_rows

    @property
    def supports(self) -> NDArray[np.int64]:
        """Number of rows that hold each item."""
        return self.index.singles

    def rows(self, numbers: NDArray[Any], n_items: int) -> SupportIndex:
        """The rows with other item numbers; -1 leaves an item out."""
        return self.index.recoded(numbers, n_items)

    def part(self, wanted: NDArray[np.bool_]) -> SupportIndex:
        """The rows with some of their items only, numbered from 0 in their order."""
        return self.rows(np.where(wanted, np.cumsum(wanted) - 1, -1), int(wanted.sum()))
