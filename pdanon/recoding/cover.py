"""Cover: the original items that published labels stand for, and the labels of original items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Codes, Itemsets, Offsets, item_texts
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.lists import offsets_of, to_numpy
from pdanon.itemsets.mapping import check_mapping, mapping_labels, mapping_values

_MISMATCH = "pass the mapping of this release, and its original"


@dataclass(frozen=True, eq=False, slots=True)
class Cover:
    """The published labels of each original item.

    Parameters
    ----------
    labels : ndarray of int32
        Codes of published labels, item after item, from the most to the least specific label of an item.
        A suppressed item has none.
    offsets : ndarray of int64, shape (items + 1,)
        The labels of item ``i`` are ``labels[offsets[i]:offsets[i + 1]]``.
    members : ndarray of int64, shape (labels,)
        Number of items that each published label stands for.

    Notes
    -----
    In a local recoding, an item has several labels. A label stands for the same items in all groups, because
    the release shows labels but no groups.
    """

    labels: Codes
    offsets: Offsets
    members: NDArray[np.int64]

    @classmethod
    def of_pairs(
        cls, items: NDArray[Any], labels: NDArray[Any], members: NDArray[np.int64], n_items: int
    ) -> Cover:
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
    def of_mapping(cls, original: Itemsets, published: Itemsets, mapping: pd.DataFrame) -> Cover:
        """Return the cover of a mapping: a label stands for the items that became it in any group."""
        items, labels, texts = read_mapping(mapping, original)
        published_as = codes_of(texts, published.texts())
        if len(np.unique(published_as[published_as >= 0])) < published.n_items:
            problem = "the release holds labels that the mapping lacks"
            raise ParameterError(problem, where="mapping", hint=_MISMATCH)
        kept = labels >= 0
        # A label of the mapping that no row contains has no code.
        kept[kept] = published_as[labels[kept]] >= 0
        pairs = np.unique(np.stack((items[kept], published_as[labels[kept]])), axis=1)
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


def read_mapping(
    mapping: pd.DataFrame, original: Itemsets
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Read a mapping table against the original column.

    Parameters
    ----------
    mapping : pandas.DataFrame
        Columns ``group, item, generalized``.
    original : Itemsets
        The column whose items it maps.

    Returns
    -------
    items : ndarray of int64
        Item of each row of the table.
    labels : ndarray of int64
        Position of its label in ``texts``; -1 if suppressed.
    texts : list of str
        The distinct labels.

    Raises
    ------
    ParameterError
        If the table is not a mapping, or not over the same items.
    """
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


def codes_of(texts: Sequence[str], among: Sequence[str]) -> NDArray[np.int64]:
    """Return the position of each text among others, or -1."""
    wanted, known = (pa.array(each, pa.large_string()) for each in (texts, among))
    return to_numpy(pc.index_in(wanted, value_set=known).fill_null(-1)).astype(np.int64)


def became_of(
    items: Itemsets, published: Itemsets, mapping: pd.DataFrame, groups: NDArray[np.int64], codes: Codes
) -> NDArray[np.int64]:
    """Return the label of each given item in its group; -1 if it is suppressed.

    Parameters
    ----------
    items, published : Itemsets
        The list column of the original, and of the release.
    mapping : pandas.DataFrame
        The mapping of the release; without rows if items are published as they are.
    groups : ndarray of int64
        The group of each given item.
    codes : ndarray of int32
        The items.
    """
    if len(mapping) == 0:
        return published.lookup(items.vocabulary)[codes].astype(np.int64)
    return _labels_in_group(items, published, mapping, groups, codes)


def _labels_in_group(
    items: Itemsets, published: Itemsets, mapping: pd.DataFrame, groups: NDArray[np.int64], codes: Codes
) -> NDArray[np.int64]:
    """Return the label of each item in its group; -1 if suppressed."""
    mapped, labels, texts = read_mapping(mapping, items)
    entries = mapping["group"].to_numpy(np.int64) * items.n_items + mapped
    order = np.argsort(entries)
    if repeated := int((np.diff(entries[order]) == 0).sum()):
        problem = "an item has several labels in one group, and the rows with each label are unknown"
        got = f"{repeated} of {len(entries)} rows of the mapping"
        raise ParameterError(problem, where="result", got=got)
    # Items and groups are combined into one number, and searched among those of the mapping.
    wanted = groups * items.n_items + codes
    place = np.minimum(np.searchsorted(entries, wanted, sorter=order), len(order) - 1)
    found = order[place]
    if (entries[found] != wanted).any():
        raise ParameterError("the mapping of the result lacks items of the original", where="original")
    published_as = np.append(codes_of(texts, published.texts()), -1)
    return published_as[labels[found]]
