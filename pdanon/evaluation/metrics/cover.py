"""Cover: which labels of a release stand for which items, by its mapping table or by a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ColumnError, ParameterError
from pdanon.evaluation.metrics.chances import Chances
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Codes, Itemsets, Offsets
from pdanon.itemsets.columns import find_column, list_column
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.mapping import check_mapping, mapping_labels, mapping_values
from pdanon.itemsets.matching import item_texts
from pdanon.itemsets.versions import arrow_values, numbers_of
from pdanon.recoding.result import Anonymized

__all__ = ["Cover", "Release", "codes_of", "encode_release", "read_mapping"]

_MISMATCH = "give the mapping that belongs to this release, and the original that it was made from"


@dataclass(frozen=True, eq=False, slots=True)
class Cover:
    """Which published labels stand for each original item.

    Parameters
    ----------
    labels : ndarray of int32
        Codes of published labels, item after item; those of an item from the most to the least specific.
        A suppressed item has none.
    offsets : ndarray of int64, shape (items + 1,)
        The labels of item ``i`` are ``labels[offsets[i]:offsets[i + 1]]``.
    members : ndarray of int64, shape (labels,)
        How many items each published label stands for.

    Notes
    -----
    In a local recoding an item has several labels, and a label means the same in all groups: whoever reads
    the release sees the labels and not the groups.
    """

    labels: Codes
    offsets: Offsets
    members: NDArray[np.int64]

    @classmethod
    def of_pairs(
        cls, items: NDArray[Any], labels: NDArray[Any], members: NDArray[np.int64], n_items: int
    ) -> Cover:
        """Collect pairs of an item and a label that stands for it; each pair once."""
        order = np.lexsort((labels, members[labels], items))
        offsets = offsets_of(np.bincount(items, minlength=n_items))
        return cls(labels[order].astype(np.int32), offsets, members)

    @classmethod
    def of_itself(cls, original: Itemsets, published: Itemsets) -> Cover:
        """Items that were published as they are, or not at all."""
        item_of = original.lookup(published.vocabulary)
        if (item_of < 0).any():
            raise ParameterError(
                "the release holds labels that the original lacks",
                got=f"{int((item_of < 0).sum())} of {published.n_items} labels",
                hint="say what they stand for: give the Anonymized, mapping= or hierarchy=",
            )
        labels = np.arange(published.n_items)
        return cls.of_pairs(item_of, labels, np.ones(published.n_items, np.int64), original.n_items)

    @classmethod
    def of_mapping(cls, original: Itemsets, published: Itemsets, mapping: pd.DataFrame) -> Cover:
        """Labels stand for the items that became them, in whatever group."""
        items, labels, texts = read_mapping(mapping, original)
        published_as = codes_of(texts, published.texts())
        if len(np.unique(published_as[published_as >= 0])) < published.n_items:
            raise ParameterError(
                "the release holds labels that the mapping lacks", where="mapping", hint=_MISMATCH
            )
        kept = labels >= 0
        kept[kept] = published_as[labels[kept]] >= 0
        pairs = np.unique(np.stack((items[kept], published_as[labels[kept]])), axis=1)
        members = np.bincount(pairs[1], minlength=published.n_items)
        return cls.of_pairs(pairs[0], pairs[1], members, original.n_items)

    @classmethod
    def of_hierarchy(cls, original: Itemsets, published: Itemsets, source: HierarchyLike) -> Cover:
        """Labels are nodes of a hierarchy and stand for all of their leaves."""
        tree, node_of = Hierarchy.over(source, original.vocabulary)
        nodes = codes_of(published.texts(), tree.labels)
        if (nodes < 0).any():
            raise ParameterError(
                "the release holds labels that are not nodes of the hierarchy",
                where="hierarchy",
                got=f"{int((nodes < 0).sum())} of {published.n_items} labels",
                hint="give the hierarchy that the release was made with",
            )
        label_of = np.full(tree.n_nodes, -1)
        label_of[nodes] = np.arange(published.n_items)
        items, labels = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        climbing, above = np.arange(original.n_items), node_of
        while len(climbing):
            named = label_of[above] >= 0
            items.append(climbing[named])
            labels.append(label_of[above][named])
            climbing, above = climbing[above > 0], tree.parent[above[above > 0]]
        members = tree.leaves[nodes].astype(np.int64)
        return cls.of_pairs(np.concatenate(items), np.concatenate(labels), members, original.n_items)


@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """A release next to its original: both columns encoded, and what the labels stand for.

    Parameters
    ----------
    original, frame : pandas.DataFrame
        The two frames.
    items, published : Itemsets
        Their list columns.
    cover : Cover
        Which labels stand for which items.
    chances : Chances or None
        What is said of items that are counted by groups of rows, if any are.
    """

    original: pd.DataFrame
    frame: pd.DataFrame
    items: Itemsets
    published: Itemsets
    cover: Cover
    chances: Chances | None = None

    @classmethod
    def of(
        cls,
        original: pd.DataFrame,
        released: Anonymized | pd.DataFrame,
        mapping: pd.DataFrame | None,
        hierarchy: HierarchyLike | None,
        column: Any = None,
    ) -> Release:
        """Put a release next to its original.

        Parameters
        ----------
        original : pandas.DataFrame
            The frame that was anonymized.
        released : Anonymized or DataFrame
            A result, or only its frame.
        mapping : pandas.DataFrame or None
            What the items became. By default that of the result.
        hierarchy : Hierarchy or what describes one, or None
            The labels are its nodes, and stand for all of their leaves. It comes before a mapping.
        column : hashable, optional
            The list column of both.

        Raises
        ------
        ColumnError, ParameterError
            If the parts do not belong to each other.
        """
        guarantee = None
        if isinstance(released, Anonymized):
            mapping = released.mapping if mapping is None else mapping
            released, guarantee = released.frame, released.guarantee
        elif not isinstance(released, pd.DataFrame):
            hint = "give the result of an algorithm, or its frame and mapping"
            raise ParameterError(
                "there is no release", where="released", got=type(released).__name__, hint=hint
            )
        if mapping is not None:
            check_mapping(mapping)
        refuse_chunks(released)
        position = find_column(original, column)
        label = original.columns[position]
        items = Itemsets.from_series(original.iloc[:, position])
        published = encode_release(released, label)
        if len(original) != len(released):
            raise ParameterError(
                "original and release differ in the number of rows",
                got=f"{len(original)} and {len(released)} rows",
                hint="compare a release with the frame that it was made from, and what pdanon.reconstruct "
                "makes with those of its rows that hold an item",
            )
        if hierarchy is not None:
            cover = Cover.of_hierarchy(items, published, hierarchy)
        elif mapping is None or len(mapping) == 0:
            cover = Cover.of_itself(items, published)
        else:
            cover = Cover.of_mapping(items, published, mapping)
        return cls(original, released, items, published, cover, Chances.of(released, guarantee, items))

    def check_rows(self) -> None:
        """Check that the rows of both are the same, in the same order, as far as the index tells."""
        if not self.original.index.equals(self.frame.index):
            raise ParameterError(
                "original and release differ in their index, and rows must be compared one by one",
                where="index",
                hint="give both in the same order, with the same index",
            )


def encode_release(frame: pd.DataFrame, label: Any) -> Itemsets:
    """Encode a column of a release, which must hold sets: in a bag, how often a label is there counts."""
    if label not in frame.columns:
        raise ColumnError(
            "the release lacks the list column of the original",
            got=f"column {label!r} of {list(frame.columns)}",
        )
    column = list_column(frame, label)
    published = Itemsets.from_series(column)
    repeated = _length(column) - len(published.codes)
    if repeated:
        raise ParameterError(
            "the release holds bags, which have no estimate here: a row has a label more than once",
            where=f"column {label!r}",
            got=f"{repeated} repeated labels",
            hint="pdanon.as_itemsets makes sets of them, if how often a label is there says nothing",
        )
    return published


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
        Which of the texts it became; -1 where suppressed.
    texts : list of str
        The distinct labels.

    Raises
    ------
    ParameterError
        If it is no mapping table, or not over the same items.
    """
    check_mapping(mapping)
    items = original.lookup(mapping_values(mapping, "item"))
    lacking = original.n_items - len(np.unique(items[items >= 0]))
    if lacking or (items < 0).any():
        raise ParameterError(
            "the mapping is not over the items of the original",
            where="mapping",
            got=f"{lacking} items are not in it, {int((items < 0).sum())} of its rows are about others",
            hint=_MISMATCH,
        )
    became = mapping_labels(mapping, original.vocabulary.type)
    texts: list[str] = item_texts(became.dictionary).to_pylist()
    return items.astype(np.int64), numbers_of(became), texts


def codes_of(texts: Sequence[str], among: Sequence[str]) -> NDArray[np.int64]:
    """Place of each text among others; -1 if it is not there."""
    large = pa.large_string()
    found = pc.index_in(pa.array(texts, large), value_set=pa.array(among, large))
    return np.asarray(found.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)


def _length(column: pd.Series[Any]) -> int:
    """Number of entries of all lists, repeated ones included."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return int(pc.sum(pc.list_value_length(arrow_values(column))).as_py() or 0)
    return sum(len(row) for row in column if pd.api.types.is_list_like(row))
