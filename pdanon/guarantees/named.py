"""Named items: the sensitive, private or public items of a guarantee, published as is or suppressed."""
# As a member of a published set, a sensitive item would not be counted, and the set would be a known label.

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import asdict, replace
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import FormatError, ParameterError, read_safely
from pdanon.guarantees.verdict import Suppression
from pdanon.hierarchy.sources import Range, RangeSearch
from pdanon.itemsets.codes import (
    Codes,
    Itemsets,
    Mask,
    Numbers,
    canonical_rows,
    find_items,
    first_copies,
    item_array,
    item_texts,
)
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import append_rows, distinct, offsets_of, to_numpy
from pdanon.itemsets.mapping import global_mapping, is_kept, label_members, mapping_labels, mapping_values
from pdanon.itemsets.support import ItemsetTable
from pdanon.itemsets.validation import check_path, is_code_file, list_first

_CODE = re.compile(r"\w*\d[\w.]*")
_PREFIX, _RANGE = re.compile(r"([\w.]+)\*"), re.compile(rf"({_CODE.pattern}) ?[-\u2013] ?({_CODE.pattern})")
_FILE_HINT = (
    "write one code a line, without a header: F10 for one, F10* for all that begin with F10, F10-F19 for a "
    "range between codes of equal length; in a .csv file, codes are the first of fields separated by commas"
)
_HINT = "if labels only look like sets, pass the mapping: guarantee.with_mapping(mapping)"


@frozen
class NamedItems:
    """The distinct items of a parameter, with their positions."""

    name: str  # of the parameter, for messages
    values: pa.Array  # ascending
    positions: Numbers  # of each item in the parameter, from 0
    place: str = "position"  # noun for a position in messages
    ranges: tuple[Range, ...] = ()  # of codes; disjoint, and numbered after the values

    @classmethod
    def of(cls, items: Any, name: str) -> NamedItems:
        """Read a list of items, a Series of booleans by item, or a file; ``name`` is the parameter."""
        if isinstance(items, cls):
            return replace(items, name=name)
        if is_code_file(items):
            return cls.of_entries(name, _read_entries(check_path(items, name), name))
        if isinstance(items, pd.DataFrame):
            items = None
        if not (isinstance(items, pd.Series) and pd.api.types.is_bool_dtype(items.dtype)):
            return cls._of_array(name, item_array(items, name))
        if items.isna().any():
            got = f"{items.isna().sum()} items"
            raise ParameterError(f"{name} is missing for an item", where=name, got=got)
        mask = items.to_numpy(dtype=np.bool_)
        selected, others = (item_array(items.index[each], name) for each in (mask, ~mask))
        both = int((find_items(others, selected) >= 0).sum())
        if both:
            hint = "list each item once in the index of the Series"
            got = f"{both} items that are {name} and not {name}"
            raise ParameterError("an item is both public and private", where=name, got=got, hint=hint)
        found = cls._of_array(name, selected)
        return replace(found, positions=np.flatnonzero(mask)[found.positions])

    @classmethod
    def some(cls, items: Any, name: str) -> NamedItems:
        """Read items as `of` does, and refuse an empty list."""
        found = cls.of(items, name)
        if not len(found):
            hint = f"pass a list of items, such as {name}=['flu']"
            raise ParameterError(f"there is no {name} item", where=name, got="0 items", hint=hint)
        return found

    @classmethod
    def _of_array(cls, name: str, items: pa.Array) -> NamedItems:
        distinct = items.unique()
        values = distinct.take(pc.sort_indices(distinct))
        return cls(name, values, to_numpy(pc.index_in(values, value_set=items)).astype(np.int64))

    @classmethod
    def of_entries(cls, name: str, entries: Mapping[str, int]) -> NamedItems:
        """Read codes, prefixes and ranges, each with its line in a file."""
        bounds = {entry: _bounds(entry) for entry in entries}
        search = RangeSearch(each for each in bounds.values() if each)
        # Entries within a wider range say nothing more.
        ranges = {each: entries[entry] for entry, each in bounds.items() if each and search(each[0]) == each}
        items = [entry for entry, each in bounds.items() if not each and not search(entry)]
        single = cls._of_array(name, pa.array(items, pa.large_string()))
        order = np.argsort(single.positions)
        lines = [*(entries[items[place]] for place in order), *ranges.values()]
        return cls(name, single.values, np.array(lines, np.int64), "line", tuple(ranges))

    def __len__(self) -> int:
        return len(self.values) + len(self.ranges)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.to_pylist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedItems):
            return NotImplemented
        return self.values.equals(other.values) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return hash((*self, *self.ranges))

    def __repr__(self) -> str:
        return f"{len(self)} {'codes or ranges' if self.ranges else 'items'}"

    def find(self, items: pa.Array) -> Codes:
        """Return the number of each item among the named items and ranges, or -1."""
        found = find_items(items, self.values)
        if not self.ranges:
            return found
        number = {each: len(self.values) + place for place, each in enumerate(self.ranges)}
        search = RangeSearch(self.ranges)
        inside = [number.get(search(text) or ("", ""), -1) for text in item_texts(items).to_pylist()]
        return np.maximum(found, np.array(inside, np.int32))

    def within(self, items: pa.Array) -> NamedItems:
        """Return those of some items that are named."""
        return self._of_array(self.name, items.filter(pa.array(self.find(items) >= 0)))

    def refuse_beginnings(self, items: pa.Array) -> None:
        """Raise an error if a code in a file is the beginning of others that the file does not list."""
        if self.place != "line":
            return
        codes = {*filter(_CODE.fullmatch, item_texts(self.values).to_pylist())}
        others = item_texts(items.filter(pa.array(self.find(items) < 0))).to_pylist()
        sizes = {*map(len, codes)}
        begun = [
            text[:size]
            for text in others
            for size in sizes
            if text[:size] in codes and (text[:1].isalpha() or text[size : size + 1] == ".")
        ]
        if begun:
            problem = f"a {self.name} code is also the beginning of codes that the file does not list"
            got = f"{len({*begun})} such codes; {len(begun)} others begin with them"
            hint = "write F10* for all codes that begin with F10; for F10 alone, pass a list: ['F10']"
            raise ParameterError(problem, where=self.name, got=got, hint=hint)

    def refuse_unknown(
        self,
        known: Set[int],
        problem: str = "does not occur in the data",
        hint: str = "if it is suppressed, pass the mapping: guarantee.with_mapping(mapping), --mapping",
    ) -> None:
        """Raise an error if the numbers of the known items lack a named item."""
        unknown = np.sort(np.delete(self.positions, [*known - {-1}]))
        if len(unknown):
            place = f"{self.name}, {self.place} {list_first(unknown)}"
            got = f"{len(unknown)} of {len(self)} items"
            if any(map(_bounds, item_texts(self.values).to_pylist())):
                hint = f"prefixes and ranges are read from a file: {self.name}='codes.txt'"
            hint = f"check spelling and type of the items; {_FILE_HINT if self.place == 'line' else hint}"
            raise ParameterError(f"a {self.name} item {problem}", where=place, got=got, hint=hint)


def _bounds(entry: str) -> Range | None:
    """Return the bounds of a prefix, such as ``F10*``, or of a range, such as ``F10-F19``."""
    match = _PREFIX.fullmatch(entry) or _RANGE.fullmatch(entry)
    if not match:
        return None
    low, high = match[1].upper(), match[match.lastindex or 1].upper()
    return (low, high) if len(low) == len(high) and low <= high else None


def _read_entries(path: str, name: str) -> dict[str, int]:
    """Return the entries of a file with their lines; of a .csv file, those in the first field."""
    lines = [(row[0].strip(), number) for number, row in enumerate(read_fields(path), 1) if row]
    if entries := {text: number for text, number in lines[::-1] if text}:
        return dict(sorted(entries.items(), key=itemgetter(1)))
    raise FormatError(f"the file of {name} items is empty", where=path, hint=_FILE_HINT)


def read_fields(path: str) -> list[list[str]]:
    """Return the fields of each line of a .csv file, or each line of another text as one field."""

    def read() -> list[list[str]]:
        with open(path, newline="", encoding="utf-8-sig") as file:
            is_csv = path.lower().endswith(".csv")
            return [*csv.reader(file, strict=True)] if is_csv else [[line] for line in file]

    return read_safely(read, path, "CSV")


@frozen
class MappedItems(Suppression):
    """The named items in the mapping of a release, and what it suppresses."""

    left_out: frozenset[int]  # numbers of the named items that are suppressed in all rows
    plain_labels: frozenset[str]  # look like sets with a named member, but are single items in the mapping

    @classmethod
    def of_named(cls, mapping: Any, named: NamedItems) -> MappedItems | None:
        """Read a mapping; return None if there is none."""
        # A mapping that generalizes a named item, or gives its label to another item, is an error.
        if mapping is None or isinstance(mapping, cls):
            return mapping
        suppression = Suppression.of(mapping)
        assert suppression is not None  # there is a mapping
        where, items = named.name, mapping_values(mapping, "item")
        labels = mapping_labels(mapping, items.type)
        label_of = number_texts(labels)
        item, label = named.find(items), np.append(named.find(labels.dictionary), -1)[label_of]
        published = label_of >= 0
        changed = published & ~is_kept(mapping).to_numpy()
        problems = {
            f"a {where} item is generalized": changed & (item >= 0),
            f"another item has the label of a {where} item": changed & (label >= 0),
        }
        for problem, lines in problems.items():
            if lines.any():
                hint = f"publish {where} items as is or suppress them; give their labels to no other item"
                raise ParameterError(problem, where="mapping", got=f"{lines.sum()} lines", hint=hint)
        # A local recoding may suppress an item in some groups only.
        left_out = {*item[~published].tolist()} - {*item[published].tolist()}
        plain = frozenset(_sets_with(labels.dictionary, named))
        return cls(**asdict(suppression), left_out=frozenset(left_out), plain_labels=plain)


def named_items(
    itemsets: Itemsets, named: NamedItems, mapping: MappedItems | None = None, *, all_occur: bool = True
) -> Mask:
    """Return whether each item of a column is a named item."""
    # A named item that neither occurs nor is suppressed is an error: a support of 0 would prove nothing.
    found = named.find(itemsets.vocabulary)
    named.refuse_beginnings(itemsets.vocabulary)
    if all_occur:
        named.refuse_unknown({*found.tolist()} | (mapping.left_out if mapping else frozenset()))
    return found >= 0


def named_labels(
    itemsets: Itemsets, named: NamedItems, mapping: MappedItems | None, *, all_occur: bool = True
) -> Mask:
    """Return whether each published label is a named item, as `named_items`, with all of its rows."""
    # Named items in sets are refused and, as only a mapping gives an item one label in a row, shared items.
    refuse_members(itemsets, named, mapping)
    if mapping is None:
        refuse_overlaps(itemsets)
    return named_items(itemsets, named, mapping, all_occur=all_occur)


def refuse_members(
    itemsets: Itemsets,
    named: NamedItems,
    mapping: MappedItems | None,
    hint: str = f"publish such items as is, or suppress them; {_HINT}",
) -> None:
    """Raise an error if a named item is a member of a set; the parameters are those of `named_items`."""
    plain = mapping.plain_labels if mapping else frozenset()
    found = _sets_with(itemsets.vocabulary, named)
    hidden = [members for label, members in found.items() if label not in plain]
    if hidden:
        problem = f"a {named.name} item is a member of a published set, so its rows cannot be counted"
        got = f"{len(frozenset().union(*hidden))} of {len(named)} items, in {len(hidden)} labels"
        raise ParameterError(problem, where=named.name, got=got, hint=hint)


def refuse_overlaps(itemsets: Itemsets) -> None:
    """Raise an error if two labels of a row share an item: no single label has all rows of the item."""
    if not _set_labels(itemsets.vocabulary):
        return
    first = first_copies(itemsets.vocabulary).tolist()
    labels = [
        (label_members(label) or [label]) if first[code] == code else []
        for code, label in enumerate(itemsets.texts())
    ]
    # Copies of a label are one label here: only the first copy gets members.
    members = Itemsets.from_arrow(pa.array(labels, pa.list_(pa.large_string())))
    members = members.keep_items(np.bincount(members.codes, minlength=members.n_items) > 1)
    rows = np.repeat(itemsets.rows, members.lengths[itemsets.codes])
    cells = rows * members.n_items + members.codes[members.places(itemsets.codes.astype(np.int64))]
    repeated = len(cells) - len(distinct(cells))
    if repeated:
        problem = "labels of a row share an item, so its rows cannot be counted"
        got = f"{repeated} times"
        raise ParameterError(problem, got=got, hint=f"publish one label for an item in each row; {_HINT}")


def _sets_with(labels: pa.Array, named: NamedItems) -> dict[str, set[int]]:
    """Return the labels that look like sets with named members, with the numbers of the members."""
    sets = _set_labels(labels)
    members = [label_members(label) for label in sets]
    found = iter(named.find(pa.array([*chain(*members)], pa.large_string())).tolist())
    numbers = [{*islice(found, len(own))} - {-1} for own in members]
    return {label: own for label, own in zip(sets, numbers, strict=True) if own}


def _set_labels(labels: pa.Array) -> list[str]:
    texts = item_texts(labels)
    enclosed = pc.and_(pc.starts_with(texts, "("), pc.ends_with(texts, ")"))
    found: list[str] = texts.filter(enclosed).to_pylist()
    return found


# --- Itemsets of original items in their published form

SUPPRESSED, UNKNOWN = -1, -2


def label_codes(items: pa.Array, published: Itemsets, mapping: pd.DataFrame | None) -> Codes:
    """Return the code of the label of each original item; without a mapping, items are published as is."""
    # Codes are those of ``published``, or ``published.n_items`` for a label that no row contains,
    # ``SUPPRESSED``, or ``UNKNOWN`` for an item that is neither in the mapping nor, without a mapping, in the
    # column.
    if mapping is None:
        found = published.lookup(items)
        return np.where(found < 0, UNKNOWN, found).astype(np.int32)
    mapped, labels = global_mapping(mapping)
    codes = np.append(published.lookup(labels.dictionary), -1)[number_texts(labels)]
    if len(np.unique(codes[codes >= 0])) < pc.count_distinct(published.vocabulary).as_py():
        hint = "pass the mapping of this release"
        raise ParameterError("the frame holds labels that the mapping lacks", where="mapping", hint=hint)
    targets = np.where(codes < 0, published.n_items, codes)
    targets[labels.is_null().to_numpy(zero_copy_only=False)] = SUPPRESSED
    return np.append(targets, UNKNOWN)[find_items(items, mapped)].astype(np.int32)


def generalize_itemsets(
    wanted: Itemsets, published: Itemsets, mapping: pd.DataFrame | None, what: str
) -> ItemsetTable:
    """Replace the items of itemsets by the codes of their labels, without suppressed items."""
    # An unknown item is an error, because a support of 0 would prove nothing. ``what`` is the noun for an
    # itemset in messages. The order is kept; supports are 0.
    targets = label_codes(wanted.vocabulary, published, mapping)
    unknown = targets == UNKNOWN
    if unknown.any():
        lines = np.unique(wanted.rows[unknown[wanted.codes]])
        problem = f"a {what} has an item that does not occur in the data"
        got = f"{len(lines)} of {wanted.n_rows} {what}s with {int(unknown.sum())} unknown items"
        hint = "check the spelling and type of the items; items that do not occur need no protection"
        if what == "constraint":
            hint += "; a .csv file of constraints has one itemset per line, one item per field, and no header"
        raise ParameterError(problem, where=f"{what} {lines[0]}", got=got, hint=hint)
    codes = targets[wanted.codes]
    kept = codes >= 0
    offsets = offsets_of(kept)[wanted.offsets]
    return ItemsetTable.listed(*canonical_rows(codes[kept], offsets, published.n_items + 1))


def unite_itemsets(first: ItemsetTable, second: ItemsetTable, n_items: int) -> ItemsetTable:
    """Unite the itemsets at the same position of two tables."""
    rows = append_rows([(each.codes, each.offsets) for each in (first, second)])
    return ItemsetTable(*canonical_rows(*rows, n_items), first.supports)
