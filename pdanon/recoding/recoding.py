"""Recoding: the generalized item of each item, and the released column."""

# Only this module writes items of a release: codes with a new vocabulary of labels. The mapping table lists
# the label of each item. A cover is read from it: the labels of original items, and the items of labels.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees.verdict import EMPTY_ROWS
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import (
    Codes,
    Itemsets,
    Offsets,
    compact,
    find_items,
    item_texts,
    text_exceeds,
)
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Mask, Numbers, distinct, find_numbers, offsets_of
from pdanon.itemsets.mapping import check_mapping, mapping_labels, mapping_values, set_labels
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.support import SupportIndex, ranks_of

_HASHED = 64  # bytes of a number while pandas finds distinct ones
_MOST_TEXT = 2**28  # bytes of the labels of a mapping table, repeated in each line


@frozen
class Recoding:
    """The generalized item of each item, in the whole table or in each group of rows."""

    targets: Codes  # generalized item of each item, or of each occurrence in a local recoding; -1: suppressed
    labels: pa.Array  # published label of each: text, or the items themselves if none is generalized
    covered: Numbers  # number of items of the domain that each stands for
    domain: int  # its size: items that occur, or leaves of the hierarchy
    hierarchical: bool  # whether generalized items are nodes of a hierarchy, as opposed to sets
    groups: Codes | None = None  # of each row in a local recoding
    repeats: bool = False  # whether rows are published as bags, with a label for each occurrence

    @classmethod
    def of_clusters(cls, clusters: Codes, itemsets: Itemsets, groups: Codes | None = None) -> Recoding:
        """Create a recoding that publishes each cluster of items as a set."""
        # ``clusters`` has any number shared by the items of a cluster, or by the occurrences if groups of
        # rows have their own clusters; -1 if they are suppressed.
        items = itemsets.codes if groups is not None else np.arange(itemsets.n_items)
        kept = clusters >= 0
        members = distinct(clusters[kept] * np.int64(itemsets.n_items) + items[kept])
        owners, members = np.divmod(members, max(itemsets.n_items, 1))
        owners, starts = np.unique(owners, return_index=True)
        sizes = np.diff(starts, append=len(members))
        # Equal sets of different groups have the same label.
        labels = set_labels(itemsets.vocabulary, members, sizes).dictionary_encode()
        number = labels.indices.to_numpy()
        targets = np.full(len(clusters), -1, np.int32)
        targets[kept] = number[np.searchsorted(owners, clusters[kept])]
        covered = sizes[np.unique(number, return_index=True)[1]]
        return cls(targets, labels.dictionary, covered, itemsets.n_items, False, groups)

    @classmethod
    def of_cut(
        cls,
        nodes: Codes,
        hierarchy: Hierarchy,
        groups: Codes | None = None,
        *,
        repeats: bool = False,
        n_leaves: int | None = None,
    ) -> Recoding:
        """Create a recoding that publishes each item as a node of a hierarchy."""
        # ``nodes`` has the node of each item, or of each occurrence if groups of rows have their own nodes;
        # -1 if it is suppressed. ``repeats`` publishes rows as bags, and requires groups. ``n_leaves`` is the
        # number of leaves that nodes may stand for, by default all. Further leaves below the root belong to
        # items that are only published as they are or suppressed.
        domain = hierarchy.n_leaves if n_leaves is None else n_leaves
        used = np.unique(nodes[nodes >= 0])
        targets = np.where(nodes >= 0, np.searchsorted(used, nodes), -1).astype(np.int32)
        labels = pa.array([hierarchy.labels[node] for node in used], pa.string())
        covered = np.minimum(hierarchy.leaves[used], domain).astype(np.int64)
        return cls(targets, labels, covered, domain, True, groups, repeats)

    @classmethod
    def of_suppressed(cls, suppressed: Mask, itemsets: Itemsets, groups: Codes | None = None) -> Recoding:
        """Create a recoding that publishes items as they are, in their own type, or suppresses them."""
        # ``suppressed`` masks items, or occurrences: in each group, an item in all rows or in none.
        items = itemsets.codes if groups is not None else np.arange(itemsets.n_items)
        targets = np.where(suppressed, -1, items).astype(np.int32)
        covered = np.ones(itemsets.n_items, np.int64)
        return cls(targets, itemsets.vocabulary, covered, itemsets.n_items, False, groups)

    def apply(self, itemsets: Itemsets) -> Itemsets:
        """Replace items by their labels, without duplicates unless rows are bags."""
        itemsets = self.hide_missing(itemsets)
        if self.groups is None and not self.repeats:
            return itemsets.recode(self.targets, self.labels)
        return itemsets.relabel(self.targets, self.labels, repeats=self.repeats)

    def hide_missing(self, itemsets: Itemsets) -> Itemsets:
        """Return the rows to recode: if anything is suppressed, missing rows become empty."""
        # Otherwise, knowledge of a suppressed item would rule out the missing rows.
        if not itemsets.nulls.any():
            return itemsets
        targets = self.targets[itemsets.codes] if self.groups is None else self.targets
        return itemsets.missing_as_empty() if (targets < 0).any() else itemsets

    def changes(self, itemsets: Itemsets) -> Changes:
        """Return the generalized item and the support of each item, group by group."""
        if self.groups is None:
            supports = SupportIndex.of(itemsets).singles
            items = np.arange(itemsets.n_items, dtype=np.int32)
            return Changes(np.zeros_like(supports), items, self.targets, supports, itemsets.codes)
        # In two steps, so that no key exceeds 64 bits; with hashes, in linear time.
        require_memory(_HASHED * len(itemsets.codes), "the groups")  # pandas would crash without it
        edits = itemsets.codes * np.int64(len(self.labels) + 1) + self.targets + 1
        edit, edits = pd.factorize(edits, sort=True)
        cells = self.groups.astype(np.int64)[itemsets.rows] * len(edits) + edit
        cell, cells = pd.factorize(cells, sort=True)
        supports = np.bincount(cell, itemsets.occurrence_weights, minlength=len(cells)).astype(np.int64)
        groups, edit = np.divmod(cells, max(len(edits), 1))
        items, targets = np.divmod(edits[edit], len(self.labels) + 1)
        return Changes(groups, items.astype(np.int32), (targets - 1).astype(np.int32), supports, cell)


class Changes(NamedTuple):
    """The generalized item of each item: one entry for each group, item and generalized item."""

    groups: Numbers  # ascending; 0 throughout for a global recoding
    items: Codes  # codes; ascending within a group
    targets: Codes  # generalized item; -1 if the item is suppressed
    supports: Numbers  # rows of the group with this change
    of_occurrence: NDArray[Any]  # the entry of each occurrence of the column


def number_changes(itemsets: Itemsets, changed: Mask, targets: Numbers | None = None) -> Codes:
    """Number the sets of changes of rows, and return that of each row; 0 is the empty set."""
    # ``targets`` is what each occurrence becomes; None if all that change are deleted.
    offsets, codes = offsets_of(changed)[itemsets.offsets], itemsets.codes[changed]
    if targets is not None:
        edits = codes * (targets.max(initial=0) + 1) + targets[changed]
        codes = np.unique(edits, return_inverse=True)[1].astype(np.int32)
    ranks = ranks_of(codes, offsets, int(codes.max(initial=-1)) + 1)
    loses = np.diff(offsets) > 0
    numbers = np.zeros(itemsets.n_rows, np.int32)
    numbers[loses] = np.unique(ranks[loses], return_inverse=True)[1] + 1
    return numbers


def mapping_table(itemsets: Itemsets, recoding: Recoding, changes: Changes | None = None) -> pd.DataFrame:
    """Return the table ``group, item, generalized, support`` of the label of each item."""
    # It is ordered by group, then by item. ``group`` is 0 in a global recoding. ``generalized`` is missing
    # for a suppressed item, else of the type of the released column. ``support`` counts the rows of the group
    # with this change. The attribute ``empty_rows`` counts the rows without an item, if there are any and
    # something is suppressed.
    changes = recoding.changes(itemsets) if changes is None else changes
    mapping = pd.DataFrame(
        {
            "group": changes.groups,
            "item": _arrow_column(itemsets.vocabulary.take(pa.array(changes.items))),
            "generalized": label_column(recoding.labels, changes.targets),
            "support": changes.supports,
        }
    )
    index = SupportIndex.of(itemsets)
    if (changes.targets < 0).any() and (empty := index.n_rows - index.n_non_empty):
        mapping.attrs[EMPTY_ROWS] = empty
    return mapping


def label_column(labels: pa.Array, targets: Codes) -> pd.api.extensions.ExtensionArray:
    """Return the column ``generalized`` of a mapping table; a target of -1 is a suppressed item."""
    # Values are Arrow's, of the type of the labels. Texts of more than 256 MiB in total are a
    # ``pandas.Categorical``, which stores each once: the label of a set of n items is in n lines.
    if not text_exceeds(labels, targets[targets >= 0], _MOST_TEXT):
        return _arrow_column(labels.take(pa.array(targets, mask=targets < 0)))
    codes, used = compact(targets[targets >= 0], labels)
    lines = np.full(len(targets), -1, np.int32)
    lines[targets >= 0] = codes
    # Objects: taking from Arrow texts would copy each line.
    return pd.Categorical.from_codes(lines, pd.Index(used.to_pylist(), dtype=object))


def _arrow_column(values: pa.Array) -> pd.api.extensions.ExtensionArray:
    column: pd.api.extensions.ExtensionArray = pd.array(values, dtype=pd.ArrowDtype(values.type))
    return column


# --- Reading a mapping

_MISMATCH = "pass the mapping of this release, and its original"


@frozen
class Cover:
    """The published labels of each original item, from the most to the least specific; none if suppressed."""

    # In a local recoding, an item has several labels. A label stands for the same items in all groups,
    # because the release shows labels but no groups.

    labels: Codes  # codes of published labels, item after item
    offsets: Offsets  # the labels of item i are labels[offsets[i]:offsets[i + 1]]
    members: Numbers  # number of items that each published label stands for

    @classmethod
    def of_pairs(cls, items: NDArray[Any], labels: NDArray[Any], members: Numbers, n_items: int) -> Cover:
        """Collect distinct pairs of an item and one of its labels."""
        order = np.lexsort((labels, members[labels], items))  # the fewest members first: most specific
        offsets = offsets_of(np.bincount(items, minlength=n_items))
        return cls(labels[order].astype(np.int32), offsets, members)

    @classmethod
    def of_itself(cls, original: Itemsets, published: Itemsets) -> Cover:
        """Return the cover of a release in which items are published as is, or suppressed."""
        item_of = original.lookup(published.vocabulary)
        if (item_of < 0).any():
            got = f"{int((item_of < 0).sum())} of {published.n_items} labels"
            hint = "pass the Anonymized, mapping= or hierarchy=, which define the labels"
            raise ParameterError("the release holds labels that the original lacks", got=got, hint=hint)
        labels = np.arange(published.n_items)
        return cls.of_pairs(item_of, labels, np.ones(published.n_items, np.int64), original.n_items)

    @classmethod
    def of_mapping(cls, original: Itemsets, published: Itemsets, mapping: pd.DataFrame | None) -> Cover:
        """Return the cover of a mapping: a label stands for the items that became it in any group."""
        # Without a mapping, or with one without rows, items are published as they are.
        if mapping is None or len(mapping) == 0:
            return cls.of_itself(original, published)
        items, labels = mapped_codes(mapping, original, published)
        pairs = np.unique(np.stack((items, labels))[:, labels >= 0], axis=1)
        if len(np.unique(pairs[1])) < published.n_items:
            problem = "the release holds labels that the mapping lacks"
            raise ParameterError(problem, where="mapping", hint=_MISMATCH)
        members = np.bincount(pairs[1], minlength=published.n_items)
        return cls.of_pairs(pairs[0], pairs[1], members, original.n_items)

    @classmethod
    def of_hierarchy(cls, original: Itemsets, published: Itemsets, source: HierarchyLike) -> Cover:
        """Return the cover of a hierarchy: labels are nodes, and stand for all of their leaves."""
        tree, node_of = Hierarchy.over(source, original.vocabulary)
        nodes = codes_of(published.texts(), tree.labels)
        if (nodes < 0).any():
            problem = "the release holds labels that are not nodes of the hierarchy"
            got = f"{int((nodes < 0).sum())} of {published.n_items} labels"
            hint = "pass the hierarchy of the release"
            raise ParameterError(problem, where="hierarchy", got=got, hint=hint)
        label_of = np.full(tree.n_nodes, -1)
        label_of[nodes] = np.arange(published.n_items)
        items, labels = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        climbing, above = np.arange(original.n_items), node_of
        while len(climbing):  # all items climb to the root at the same time, one level per pass
            named = label_of[above] >= 0
            items.append(climbing[named])
            labels.append(label_of[above][named])
            climbing, above = climbing[above > 0], tree.parent[above[above > 0]]
        members = tree.leaves[nodes].astype(np.int64)
        return cls.of_pairs(np.concatenate(items), np.concatenate(labels), members, original.n_items)


def read_mapping(mapping: pd.DataFrame, original: Itemsets) -> tuple[Numbers, Numbers, list[str]]:
    """Read a mapping table against the original column; it must be over the same items."""
    # Return the item of each row, the position of its label, -1 if it is suppressed, and the distinct labels.
    check_mapping(mapping)
    items = original.lookup(mapping_values(mapping, "item"))
    lacking = original.n_items - len(np.unique(items[items >= 0]))
    if lacking or (items < 0).any():
        problem = "the mapping is not over the items of the original"
        got = f"{lacking} items without a row, {int((items < 0).sum())} rows of unknown items"
        raise ParameterError(problem, where="mapping", got=got, hint=_MISMATCH)
    became = mapping_labels(mapping, original.vocabulary.type)
    texts: list[str] = item_texts(became.dictionary).to_pylist()
    return items.astype(np.int64), number_texts(became), texts


def mapped_codes(mapping: pd.DataFrame, original: Itemsets, published: Itemsets) -> tuple[Numbers, Numbers]:
    """Return the item of each row of a mapping, and the code of its label; -1 if no row contains it."""
    items, labels, texts = read_mapping(mapping, original)
    return items, np.append(codes_of(texts, published.texts()), -1)[labels]


def codes_of(texts: Sequence[str], among: Sequence[str]) -> Numbers:
    """Return the position of each text among others, or -1."""
    wanted, known = (pa.array(each, pa.large_string()) for each in (texts, among))
    return find_items(wanted, known).astype(np.int64)


def became_of(
    items: Itemsets,
    published: Itemsets,
    mapping: pd.DataFrame,
    groups: pd.Series[int] | Numbers | None,
    rows: Numbers,
    codes: Codes,
) -> Numbers:
    """Return the label of each given item in its row; -1 if it is suppressed."""
    # A mapping without rows publishes items as they are. ``groups`` has the group of each row of the table in
    # a local recoding; ``rows`` and ``codes`` are about the given items.
    if len(mapping) == 0:
        return published.lookup(items.vocabulary)[codes].astype(np.int64)
    mapped, published_as = mapped_codes(mapping, items, published)
    entries = mapping["group"].to_numpy(np.int64) * items.n_items + mapped
    entries, published_as = np.unique((entries, published_as), axis=1)  # equal lines are one
    if repeated := len(entries) - len(np.unique(entries)):
        problem = "an item has several labels in one group, and the rows with each label are unknown"
        raise ParameterError(problem, where="result", got=f"{repeated} of {len(mapping)} rows of the mapping")
    # Items and groups are combined into one number, and searched among those of the mapping.
    of_item = np.int64(0) if groups is None else np.asarray(groups, np.int64)[rows]
    found = find_numbers(entries, of_item * items.n_items + codes)
    if (found < 0).any():
        raise ParameterError("the mapping of the result lacks items of the original", where="original")
    return published_as[found]
