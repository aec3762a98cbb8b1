"""Transactions of public items, which may be known, and private items, which must not be inferred.

Private items are some items of the list column, or all items of a second list column. With a second
column, an item can be public in some rows and private in others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import secret_totals
from pdanon.guarantees.named import NamedItems, named_items
from pdanon.itemsets.codes import Codes, Itemsets, Offsets
from pdanon.itemsets.columns import names_column
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import format_positions


def private_items(private: Any) -> Any:
    """Read ``private=``: return the label of a column unchanged, and items as `NamedItems`."""
    return private if names_column(private) else NamedItems.of(private, "private")


@dataclass(frozen=True, eq=False, slots=True)
class PublicAndPrivate:
    """Rows of public and private items with common codes.

    The items of the list column have the first codes, and those of a private column, which are all private,
    the next ones.
    """

    columns: ListColumns  # the recoded list column, and the private column, if there is one
    codes: Codes  # of the items of each row, in both columns; ascending within a row
    offsets: Offsets
    is_private: NDArray[np.bool_]  # by code
    # number among the private items of each public item that is private in other rows, else -1; None: there
    # is no such item
    twins: Codes | None = None

    @classmethod
    def of(cls, columns: ListColumns, private: Any) -> PublicAndPrivate:
        """Split the items of a table; ``private`` is the value of `private_items`.

        An item that is both in a row, or a private item that does not occur, is an error.
        """
        itemsets, hidden = columns.itemsets, columns.private
        if isinstance(private, NamedItems):
            return cls.within(columns, named_items(itemsets, private, "private"))
        if hidden is None:
            hint = "pass both columns to collapse"
            raise ParameterError("the private column was not collapsed", where="private", hint=hint)
        codes, offsets = _joined(
            (itemsets.codes, itemsets.offsets), (hidden.codes + np.int32(itemsets.n_items), hidden.offsets)
        )
        n_items = itemsets.n_items + hidden.n_items
        public_codes = itemsets.lookup(hidden.vocabulary)
        shared = np.flatnonzero(public_codes >= 0).astype(np.int32)
        twins = np.full(n_items, -1, np.int32)
        twins[public_codes[shared]] = shared
        found = cls(columns, codes, offsets, np.arange(n_items) >= itemsets.n_items, twins)
        if not len(shared):
            return replace(found, twins=None)
        found._refuse_contradictions()
        return found

    def _refuse_contradictions(self) -> None:
        """Raise an error if an item is public and private in the same row."""
        own, n_hidden = self.secrets, int(self.is_private.sum())
        items = own.recode(np.tile(np.arange(n_hidden), 2), n_hidden)
        rows = np.flatnonzero(np.diff(items.offsets) < np.diff(own.offsets))
        if len(rows):
            place = f"private, rows {format_positions(rows)}" if self.itemsets.weights is None else "private"
            raise ParameterError(
                "an item is both public and private in a row",
                where=place,
                got=f"{len(rows)} rows with an item in both columns",
                hint="remove it from one of the columns of the row",
            )

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

    def itemsets_of(self, chosen: NDArray[np.bool_]) -> Itemsets:
        """Return the list column that is recoded with some of its items only, by the same numbers."""
        is_chosen = chosen[self.itemsets.codes]
        offsets = offsets_of(is_chosen)[self.itemsets.offsets]
        return replace(self.itemsets, codes=self.itemsets.codes[is_chosen], offsets=offsets)

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

    @property
    def copies(self) -> bool:
        """Whether an item is public in some rows and private in others."""
        return self.twins is not None

    @property
    def secrets(self) -> SupportIndex:
        """The private items of each row; with `copies`, code ``n + s`` is item ``s`` where it is public."""
        if self.twins is None:
            return self.part(self.is_private)
        n_hidden = int(self.is_private.sum())
        public = np.where(self.twins >= 0, self.twins + n_hidden, -1)
        return self.rows(np.where(self.is_private, np.cumsum(self.is_private) - 1, public), 2 * n_hidden)

    @property
    def totals(self) -> NDArray[np.int64]:
        """The rows with each private item, also those in which it is public."""
        return secret_totals(self.secrets, self.copies)

    def with_copies(self) -> SupportIndex:
        """Return the rows; further codes, in the same order, mark private items where they are public."""
        n_items = len(self.is_private)
        if self.twins is None:
            return self.index
        n_hidden = int(self.is_private.sum())
        copies = self.rows(np.where(self.twins >= 0, self.twins + np.int32(n_items), -1), n_items + n_hidden)
        rows = _joined((self.codes, self.offsets), (copies.codes, copies.offsets))
        return SupportIndex(*rows, n_items + n_hidden, self.itemsets.weights)

    def without(self, dropped: NDArray[np.bool_]) -> PublicAndPrivate:
        """Drop items, by code, from the counted rows; the columns stay."""
        rows = self.rows(np.where(dropped, -1, np.arange(len(dropped))), len(dropped))
        return replace(self, codes=rows.codes, offsets=rows.offsets)

    def rows(self, numbers: NDArray[Any], n_items: int) -> SupportIndex:
        """Return the rows with other item codes; -1 removes an item."""
        return self.index.recode(numbers, n_items)

    def part(self, wanted: NDArray[np.bool_]) -> SupportIndex:
        """Return the rows with the wanted items only, recoded from 0 in the same order."""
        return self.rows(np.where(wanted, np.cumsum(wanted) - 1, -1), int(wanted.sum()))


def _joined(first: tuple[Codes, Offsets], second: tuple[Codes, Offsets]) -> tuple[Codes, Offsets]:
    """Append the codes of each row of the second table, which are higher, to those of the first."""
    rows = [np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) for _, offsets in (first, second)]
    order = np.argsort(np.concatenate(rows), kind="stable")  # the codes of a row stay ascending
    return np.concatenate((first[0], second[0]))[order], first[1] + second[1]
