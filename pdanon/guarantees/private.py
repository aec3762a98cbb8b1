"""Transactions of public items, which may be known, and private items, which must not be inferred.

Private items are some items of the list column, or all items of a second list column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees.named import NamedItems, named_items
from pdanon.itemsets.codes import Codes, Itemsets, Offsets
from pdanon.itemsets.columns import names_column
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex


def private_items(private: Any) -> Any:
    """Read ``private=``: return the label of a column unchanged, and items as `NamedItems`."""
    return private if names_column(private) else NamedItems.of(private, "private")


@dataclass(frozen=True, eq=False, slots=True)
class PublicAndPrivate:
    """Rows of public and private items with common codes.

    Parameters
    ----------
    columns : ListColumns
        The recoded list column, whose items have the first codes, and the private column, if there is one.
        The items of the private column are all private, and have the next codes.
    codes, offsets : ndarray
        Items of each row, of both columns; ascending within a row.
    is_private : ndarray of bool
        Whether an item is private, by code.
    """

    columns: ListColumns
    codes: Codes
    offsets: Offsets
    is_private: NDArray[np.bool_]

    @classmethod
    def of(cls, columns: ListColumns, private: Any) -> PublicAndPrivate:
        """Split the items of a table.

        Parameters
        ----------
        columns : ListColumns
            The list column, and the private column, if there is one.
        private : NamedItems or label
            The value of `private_items`.

        Raises
        ------
        ParameterError
            If private items do not occur, an item is both public and private, or the private column does not
            exist.
        """
        itemsets, hidden = columns.itemsets, columns.private
        if isinstance(private, NamedItems):
            return cls.within(columns, named_items(itemsets, private, "private"))
        if hidden is None:
            hint = "pass both columns to collapse"
            raise ParameterError("the private column was not collapsed", where="private", hint=hint)
        both = int((itemsets.lookup(hidden.vocabulary) >= 0).sum())
        if both:
            hint = "rename them if they differ; otherwise remove them from one column"
            got = f"{both} items in both columns"
            raise ParameterError("an item is both public and private", where="private", got=got, hint=hint)
        # A stable sort by row keeps the codes of a row ascending: private codes follow public codes.
        order = np.argsort(np.concatenate((itemsets.rows, hidden.rows)), kind="stable")
        codes = np.concatenate((itemsets.codes, hidden.codes + np.int32(itemsets.n_items)))[order]
        offsets = itemsets.offsets + hidden.offsets
        is_private = np.arange(itemsets.n_items + hidden.n_items) >= itemsets.n_items
        return cls(columns, codes, offsets, is_private)

    @classmethod
    def within(cls, columns: ListColumns, is_private: NDArray[np.bool_]) -> PublicAndPrivate:
        """Split the items of one column."""
        return cls(columns, columns.itemsets.codes, columns.itemsets.offsets, is_private)

    @property
    def itemsets(self) -> Itemsets:
        """The list column that is recoded."""
        return self.columns.itemsets

    def crowds(self) -> list[PublicAndPrivate]:
        """Return all rows, and the candidate rows if an attacker knows in which columns a row is missing."""
        masks = [~each.nulls for each in self.columns.columns]
        found = [self]
        for mask in [*masks, *([masks[0] & masks[1]] if len(masks) > 1 else [])]:
            found += [] if mask.all() else [self.within_rows(mask)]
        return found

    def within_rows(self, chosen: NDArray[np.bool_]) -> PublicAndPrivate:
        """Select rows by mask."""
        lengths = np.diff(self.offsets)
        columns = ListColumns(*(each.take(np.flatnonzero(chosen)) for each in self.columns.columns))
        codes, offsets = self.codes[np.repeat(chosen, lengths)], offsets_of(lengths[chosen])
        return replace(self, columns=columns, codes=codes, offsets=offsets)

    @property
    def public(self) -> Itemsets:
        """The list column that is recoded without its private items, by the same numbers."""
        is_public = ~self.is_private[self.itemsets.codes]
        offsets = offsets_of(is_public)[self.itemsets.offsets]
        return replace(self.itemsets, codes=self.itemsets.codes[is_public], offsets=offsets)

    @property
    def private_vocabulary(self) -> pa.Array:
        """The private items, in the order of their codes."""
        hidden = self.columns.private
        if hidden is not None:
            return hidden.vocabulary
        return self.itemsets.vocabulary.take(pa.array(np.flatnonzero(self.is_private)))

    @property
    def index(self) -> SupportIndex:
        """All rows with their weights."""
        return SupportIndex(self.codes, self.offsets, len(self.is_private), self.itemsets.weights)

    @property
    def n_rows(self) -> int:
        """Number of transactions."""
        return self.index.n_rows

    @property
    def supports(self) -> NDArray[np.int64]:
        """Support of each item."""
        return self.index.singles

    def rows(self, numbers: NDArray[Any], n_items: int) -> SupportIndex:
        """Return the rows with other item codes; -1 removes an item."""
        return self.index.recode(numbers, n_items)

    def part(self, wanted: NDArray[np.bool_]) -> SupportIndex:
        """Return the rows with the wanted items only, recoded from 0 in the same order."""
        return self.rows(np.where(wanted, np.cumsum(wanted) - 1, -1), int(wanted.sum()))
