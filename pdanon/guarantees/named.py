"""Items that a guarantee names: they are published as themselves or not at all.

An audit counts the rows with a sensitive item by its label. One that is a member of a published set would be
counted nowhere, and the set as something that is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees.emptied import Suppression
from pdanon.itemsets.codes import Itemsets, find_items, item_array, item_texts
from pdanon.itemsets.compatibility import number_texts
from pdanon.itemsets.lists import distinct, to_numpy
from pdanon.itemsets.mapping import mapping_labels, mapping_values
from pdanon.itemsets.multisets import first_copies
from pdanon.itemsets.set_labels import label_members
from pdanon.itemsets.validation import format_positions

__all__ = ["NamedItems", "Told", "named_items", "refuse_overlaps", "refuse_within_labels"]


_HINT = "if labels that look like sets are none, a mapping table says so: guarantee.with_mapping(mapping)"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class NamedItems:
    """The distinct items that a parameter names, and where.

    Parameters
    ----------
    values : pyarrow.Array
        The items, ascending.
    positions : ndarray of int64
        The position of each in the list that was given, counted from 0.
    place : str
        What is at such a position.
    """

    values: pa.Array
    positions: NDArray[np.int64]
    place: str = "position"

    @classmethod
    def of(cls, items: Any, name: str) -> NamedItems:
        """Read a list of items, or a Series of booleans by item: the items that are meant.

        Parameters
        ----------
        items : iterable, Series of bool or NamedItems
            The items; or whether an item is meant, by item.
        name : str
            The parameter, for messages.

        Raises
        ------
        ParameterError
            If it is neither, or a Series of booleans says both of an item.
        ItemsetDtypeError
            If the items are of several types, or one is missing.
        """
        if isinstance(items, cls):
            return items
        if isinstance(items, pd.DataFrame):
            items = None
        if not (isinstance(items, pd.Series) and pd.api.types.is_bool_dtype(items.dtype)):
            return cls._of_array(item_array(items, name))
        if items.isna().any():
            got = f"{items.isna().sum()} items"
            raise ParameterError(f"{name} is missing for an item", where=name, got=got)
        mask = items.to_numpy(dtype=np.bool_)
        meant, others = (item_array(items.index[each], name) for each in (mask, ~mask))
        both = int((find_items(others, meant) >= 0).sum())
        if both:
            hint = "each item has one place: say it once"
            got = f"{both} items that are {name} and not {name}"
            raise ParameterError("an item is both public and private", where=name, got=got, hint=hint)
        found = cls._of_array(meant)
        return replace(found, positions=np.flatnonzero(mask)[found.positions])

    @classmethod
    def some(cls, items: Any, name: str) -> NamedItems:
        """Read items as `of` does, and refuse an empty list."""
        found = cls.of(items, name)
        if not len(found):
            hint = f"give a list of items, even for one: {name}=[...]"
            raise ParameterError(f"there is no {name} item", where=name, got="0 items", hint=hint)
        return found

    @classmethod
    def _of_array(cls, items: pa.Array) -> NamedItems:
        distinct = items.unique()
        values = distinct.take(pc.sort_indices(distinct))
        return cls(values, to_numpy(pc.index_in(values, value_set=items)).astype(np.int64))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.to_pylist())

    def __eq__(self, other: object) -> bool:
        return self.values.equals(other.values) if isinstance(other, NamedItems) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{len(self)} items"

    def find(self, items: pa.Array) -> NDArray[np.int32]:
        """The number of the named item that each of some items is, -1 for others."""
        return find_items(items, self.values)

    def refuse_unknown(
        self,
        known: Set[int],
        where: str,
        problem: str = "does not occur in the data",
        hint: str = "if a release left it out, pass its mapping: guarantee.with_mapping(mapping), --mapping",
    ) -> None:
        """Refuse named items that are not known, given the numbers of those that are."""
        unknown = np.sort(np.delete(self.positions, [*known - {-1}]))
        if len(unknown):
            raise ParameterError(
                f"a {where} item {problem}",
                where=f"{where}, {self.place} {format_positions(unknown)}",
                got=f"{len(unknown)} of {len(self)} items",
                hint=f"check spelling and type of the items; {hint}",
            )


@dataclass(frozen=True, slots=True)
class Told:
    """What the mapping of a release tells about named items.

    Parameters
    ----------
    left_out : frozenset of int
        Numbers of the named items that were suppressed wherever they were.
    others : frozenset of str
        Labels that read as sets of which one is a member, and are none.
    suppression : Suppression
        What it tells of rows without labels.
    """

    left_out: frozenset[int]
    others: frozenset[str]
    suppression: Suppression

    @classmethod
    def of(cls, mapping: Any, named: NamedItems, where: str) -> Told | None:
        """Read a mapping table; None tells nothing.

        Parameters
        ----------
        mapping : DataFrame, Told or None
            The mapping table of a release.
        named : NamedItems
            The items that are named.
        where : str
            What they are: ``sensitive``, ``private`` or ``public``.

        Raises
        ------
        ParameterError
            If it is no mapping table, or says that a named item has become something else, or another item a
            named one.
        """
        if mapping is None or isinstance(mapping, cls):
            return mapping
        suppression = Suppression.of(mapping)
        assert suppression is not None  # there is a mapping
        items = mapping_values(mapping, "item")
        labels = mapping_labels(mapping, items.type)
        label_of = number_texts(labels)
        item, label = named.find(items), np.append(named.find(labels.dictionary), -1)[label_of]
        published = label_of >= 0
        changed = published & (item != label)
        _refuse_changes(changed & (item >= 0), f"a {where} item has become something else")
        _refuse_changes(changed & (label >= 0), f"an item has become a {where} one")
        left_out = {*item[~published].tolist()} - {*item[published].tolist()}
        return cls(frozenset(left_out), frozenset(_sets_with(labels.dictionary, named)), suppression)


def _refuse_changes(changed: NDArray[np.bool_], problem: str) -> None:
    """Refuse a mapping, given the lines that have another label than their item."""
    if changed.any():
        hint = "such items are published as they are or not at all, and no other is called like them"
        raise ParameterError(problem, where="mapping", got=f"{changed.sum()} lines", hint=hint)


def named_items(
    itemsets: Itemsets, named: NamedItems, where: str, told: Told | None = None
) -> NDArray[np.bool_]:
    """Find the items of a column that are named.

    Parameters
    ----------
    itemsets : Itemsets
        The column.
    named : NamedItems
        The items that are named.
    where : str
        What they are.
    told : Told, optional
        What is known about them.

    Raises
    ------
    ParameterError
        If one neither occurs nor was left out: that it has support 0 would prove nothing.
    """
    found = named.find(itemsets.vocabulary)
    named.refuse_unknown({*found.tolist()} | (told.left_out if told else frozenset()), where)
    return found >= 0


def refuse_within_labels(
    itemsets: Itemsets,
    named: NamedItems,
    where: str,
    told: Told | None,
    hint: str = f"publish such items as they are or not at all; {_HINT}",
) -> None:
    """Refuse a column in which a named item is a member of a set; parameters are those of `named_items`."""
    known = told.others if told else frozenset()
    found = _sets_with(itemsets.vocabulary, named)
    hidden = [members for label, members in found.items() if label not in known]
    if hidden:
        raise ParameterError(
            f"a {where} item is a member of a published set, and cannot be counted",
            where=where,
            got=f"{len(frozenset().union(*hidden))} of {len(named)} items, in {len(hidden)} labels",
            hint=hint,
        )


def refuse_overlaps(itemsets: Itemsets) -> None:
    """Refuse a column in which two labels of a row share an item, whose rows are then those of neither."""
    if not _looking_like_sets(itemsets.vocabulary):
        return
    first = first_copies(itemsets.vocabulary).tolist()
    labels = [
        (label_members(label) or [label]) if first[code] == code else []
        for code, label in enumerate(itemsets.texts())
    ]
    members = Itemsets.from_arrow(pa.array(labels, pa.list_(pa.large_string())))
    shared = np.bincount(members.codes, minlength=members.n_items) > 1
    members = members.recode(np.where(shared, np.arange(members.n_items), -1), members.vocabulary)
    rows = np.repeat(itemsets.rows, members.lengths[itemsets.codes])
    cells = rows * members.n_items + members.codes[members.places(itemsets.codes.astype(np.int64))]
    repeated = len(cells) - len(distinct(cells))
    if repeated:
        raise ParameterError(
            "labels of a row share an item, whose rows cannot be counted",
            got=f"{repeated} times",
            hint=f"publish an item as one thing in each row; {_HINT}",
        )


def _sets_with(labels: pa.Array, named: NamedItems) -> dict[str, set[int]]:
    """The labels that read as sets with named members, and the numbers of these."""
    sets = _looking_like_sets(labels)
    members = [label_members(label) for label in sets]
    found = iter(named.find(pa.array([*chain(*members)], pa.large_string())).tolist())
    numbers = [{*islice(found, len(own))} - {-1} for own in members]
    return {label: own for label, own in zip(sets, numbers, strict=True) if own}


def _looking_like_sets(labels: pa.Array) -> list[str]:
    texts = item_texts(labels)
    enclosed = pc.and_(pc.starts_with(texts, "("), pc.ends_with(texts, ")"))
    found: list[str] = texts.filter(enclosed).to_pylist()
    return found
