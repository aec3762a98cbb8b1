"""Recoding: the generalized item of each item, and the released column.

Only this module writes items of a release: codes with a new vocabulary of labels. The mapping table lists
the label of each item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.guarantees.emptied import EMPTY_ROWS
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, compact, take_items, text_exceeds
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.mapping import set_labels
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.multisets import Multisets
from pdanon.itemsets.support import SupportIndex

_HASHED = 64  # bytes of a number while pandas finds distinct ones
_MOST_TEXT = 2**28  # bytes of the labels of a mapping table, repeated in each line


@dataclass(frozen=True, eq=False, slots=True)
class Recoding:
    """The generalized item of each item, in the whole table or in each group of rows.

    Parameters
    ----------
    targets : ndarray of int32, shape (items,) or (occurrences,)
        Generalized item of each item, or of each occurrence in a local recoding; -1 if it is suppressed.
    labels : pyarrow.Array
        Published label of each generalized item: text, or the items themselves if none is generalized.
    covered : ndarray of int64
        Number of items of the domain that each generalized item stands for.
    domain : int
        Size of the domain: items that occur, or leaves of the hierarchy.
    hierarchical : bool
        Whether generalized items are nodes of a hierarchy, as opposed to sets.
    groups : ndarray of int32, shape (rows,), optional
        Group of each row in a local recoding.
    repeats : bool
        Whether rows are published as bags, with a label for each occurrence.
    """

    targets: Codes
    labels: pa.Array
    covered: NDArray[np.int64]
    domain: int
    hierarchical: bool
    groups: Codes | None = None
    repeats: bool = False

    @classmethod
    def of_clusters(cls, clusters: Codes, itemsets: Itemsets, groups: Codes | None = None) -> Recoding:
        """Create a recoding that publishes each cluster of items as a set.

        Parameters
        ----------
        clusters : ndarray of int, shape (items,), or (occurrences,) with groups
            Any number shared by the items, or occurrences, of a cluster; -1 if they are suppressed.
        itemsets : Itemsets
            The original column.
        groups : ndarray of int32, shape (rows,), optional
            Group of each row, if each group has its own clusters.
        """
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
        """Create a recoding that publishes each item as a node of a hierarchy.

        Parameters
        ----------
        nodes : ndarray of int32, shape (items,), or (occurrences,) with groups
            The node of each item, or of each occurrence; -1 if it is suppressed.
        hierarchy : Hierarchy
            The hierarchy of the nodes.
        groups : ndarray of int32, shape (rows,), optional
            Group of each row, if each group has its own nodes.
        repeats : bool
            Whether rows are published as bags; requires groups.
        n_leaves : int, optional
            Number of leaves that nodes may stand for. Further leaves below the root belong to items that are
            only published as they are or suppressed. By default, all leaves.
        """
        domain = hierarchy.n_leaves if n_leaves is None else n_leaves
        used = np.unique(nodes[nodes >= 0])
        targets = np.where(nodes >= 0, np.searchsorted(used, nodes), -1).astype(np.int32)
        labels = pa.array([hierarchy.labels[node] for node in used], pa.string())
        covered = np.minimum(hierarchy.leaves[used], domain).astype(np.int64)
        return cls(targets, labels, covered, domain, True, groups, repeats)

    @classmethod
    def of_suppressed(cls, suppressed: NDArray[np.bool_], itemsets: Itemsets) -> Recoding:
        """Create a recoding that publishes items as they are, in their own type, or suppresses them.

        Parameters
        ----------
        suppressed : ndarray of bool, shape (items,)
            Mask of the items to suppress.
        itemsets : Itemsets
            The original column.
        """
        targets = np.where(suppressed, -1, np.arange(itemsets.n_items)).astype(np.int32)
        covered = np.ones(itemsets.n_items, np.int64)
        return cls(targets, itemsets.vocabulary, covered, itemsets.n_items, False)

    def apply(self, itemsets: Itemsets) -> Itemsets | Multisets:
        """Replace items by their labels, without duplicates unless rows are bags."""
        itemsets = self.hide_missing(itemsets)
        if self.repeats:
            return Multisets.relabel(itemsets, self.targets, self.labels)
        if self.groups is None:
            return itemsets.recode(self.targets, self.labels)
        return itemsets.relabel(self.targets, self.labels)

    def hide_missing(self, itemsets: Itemsets) -> Itemsets:
        """Return the rows to recode: if anything is suppressed, missing rows become empty.

        Otherwise, knowledge of a suppressed item would rule out the missing rows.
        """
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


@dataclass(frozen=True, eq=False, slots=True)
class Changes:
    """The generalized item of each item: one entry for each group, item and generalized item.

    Parameters
    ----------
    groups : ndarray of int64
        Ascending; 0 throughout for a global recoding.
    items : ndarray of int32
        Item codes; ascending within a group.
    targets : ndarray of int32
        Generalized item; -1 if the item is suppressed.
    supports : ndarray of int64
        Number of rows of the group with this change.
    of_occurrence : ndarray, shape (occurrences,)
        The entry of each occurrence of the column.
    """

    groups: NDArray[np.int64]
    items: Codes
    targets: Codes
    supports: NDArray[np.int64]
    of_occurrence: NDArray[Any]


def mapping_table(itemsets: Itemsets, recoding: Recoding, changes: Changes | None = None) -> pd.DataFrame:
    """Return the table with the label of each item.

    Parameters
    ----------
    itemsets : Itemsets
        The original column.
    recoding : Recoding
        The recoding of its items.
    changes : Changes, optional
        The recoding by group and item, if it is known.

    Returns
    -------
    pandas.DataFrame
        Columns ``group`` (0 in a global recoding), ``item``, ``generalized`` and ``support``; by group, then
        by item. ``generalized`` is missing for a suppressed item, else of the type of the released column.
        ``support`` counts the rows of the group with this change.
        The attribute ``empty_rows`` counts the rows without an item, if there are any and something is
        suppressed.
    """
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
    """Return the column ``generalized`` of a mapping table.

    Parameters
    ----------
    labels : pyarrow.Array
        The labels, of text or of the type of the items.
    targets : ndarray of int32
        The label of each line; -1 if the item is suppressed.

    Returns
    -------
    ExtensionArray
        Arrow values of the type of the labels. Texts of more than 256 MiB in total are a
        ``pandas.Categorical``, which stores each once: the label of a set of n items is in n lines.
    """
    if not text_exceeds(labels, targets[targets >= 0], _MOST_TEXT):
        return _arrow_column(take_items(labels, targets))
    codes, used = compact(targets[targets >= 0], labels)
    lines = np.full(len(targets), -1, np.int32)
    lines[targets >= 0] = codes
    # Objects: taking from Arrow texts would copy each line.
    return pd.Categorical.from_codes(lines, pd.Index(used.to_pylist(), dtype=object))


def _arrow_column(values: pa.Array) -> pd.api.extensions.ExtensionArray:
    column: pd.api.extensions.ExtensionArray = pd.array(values, dtype=pd.ArrowDtype(values.type))
    return column
