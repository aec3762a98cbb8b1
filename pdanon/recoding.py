"""Recoding: what becomes of each item, and the one door by which anything is released.

The released column is built from codes and a fresh vocabulary of labels; the mapping table says which
item became which label. Nothing else writes output.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.bags import Bags
from pdanon.collapsed import Collapsed
from pdanon.columns import is_list_column, with_column
from pdanon.errors import GuaranteeError, IdentifierWarning
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets import Codes, Itemsets
from pdanon.result import Anonymized
from pdanon.support import SupportIndex
from pdanon.verdict import Audit, Guarantee

__all__ = [
    "Changes",
    "Recoding",
    "attempt",
    "demand",
    "mapping_table",
    "pass_through",
    "release",
    "set_labels",
]


_NEARLY_ALL = 0.95
_FEW = 20  # rows; in fewer, any column may differ in each


@dataclass(frozen=True, eq=False, slots=True)
class Recoding:
    """What becomes of each item, in the whole table or group of rows by group of rows.

    Parameters
    ----------
    targets : ndarray of int32, shape (items,) or (occurrences,)
        Generalized item of each item, or in a local recoding of each occurrence; -1 if it is suppressed.
    labels : pyarrow.Array
        Published label of each generalized item: text, or items of the column's own type if none is changed.
    covered : ndarray of int64
        How many items of the domain each generalized item stands for.
    domain : int
        Size of the domain: items that occur, or leaves of the hierarchy.
    hierarchical : bool
        Whether generalized items are nodes of a hierarchy, as opposed to sets.
    groups : ndarray of int32, shape (rows,), optional
        Group of each row in a local recoding.
    repeats : bool
        Whether a row is published as a bag: with a label for each occurrence, although it may be there.
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
        """Publish each cluster of items as a set.

        Parameters
        ----------
        clusters : ndarray of int, shape (items,), or (occurrences,) with groups
            Any number shared by the items, or occurrences, of a cluster; -1 where they are suppressed.
        itemsets : Itemsets
            The data that the items come from.
        groups : ndarray of int32, shape (rows,), optional
            Group of each row, if each group has clusters of its own.
        """
        items = itemsets.codes if groups is not None else np.arange(itemsets.n_items)
        kept = clusters >= 0
        members = np.unique(clusters[kept] * np.int64(itemsets.n_items) + items[kept])
        owners, members = np.divmod(members, max(itemsets.n_items, 1))
        owners, starts = np.unique(owners, return_index=True)
        sizes = np.diff(starts, append=len(members))
        labels = set_labels(
            itemsets.vocabulary, members, sizes
        ).dictionary_encode()  # alike in groups: the same
        number = labels.indices.to_numpy()
        targets = np.full(len(clusters), -1, np.int32)
        targets[kept] = number[np.searchsorted(owners, clusters[kept])]
        covered = sizes[np.unique(number, return_index=True)[1]]
        return cls(targets, labels.dictionary, covered, itemsets.n_items, False, groups)

    @classmethod
    def of_cut(
        cls, nodes: Codes, hierarchy: Hierarchy, groups: Codes | None = None, *, repeats: bool = False
    ) -> Recoding:
        """Publish each item as a node of a hierarchy.

        Parameters
        ----------
        nodes : ndarray of int32, shape (items,), or (occurrences,) with groups
            The node of each item, or of each occurrence; -1 where it is suppressed.
        hierarchy : Hierarchy
            Whose nodes they are.
        groups : ndarray of int32, shape (rows,), optional
            Group of each row, if each group has nodes of its own.
        repeats : bool
            Whether rows are published as bags; only with groups.
        """
        used = np.unique(nodes[nodes >= 0])
        targets = np.where(nodes >= 0, np.searchsorted(used, nodes), -1).astype(np.int32)
        labels = pa.array([hierarchy.labels[node] for node in used], pa.string())
        covered = hierarchy.leaves[used].astype(np.int64)
        return cls(targets, labels, covered, hierarchy.n_leaves, True, groups, repeats)

    @classmethod
    def of_suppressed(cls, suppressed: NDArray[np.bool_], itemsets: Itemsets) -> Recoding:
        """Publish items as they are, in their own type, or not at all.

        Parameters
        ----------
        suppressed : ndarray of bool, shape (items,)
            Which items are removed.
        itemsets : Itemsets
            The data that the items come from.
        """
        targets = np.where(suppressed, -1, np.arange(itemsets.n_items)).astype(np.int32)
        covered = np.ones(itemsets.n_items, np.int64)
        return cls(targets, itemsets.vocabulary, covered, itemsets.n_items, False)

    def apply(self, itemsets: Itemsets) -> Itemsets | Bags:
        """The released column: each item replaced by its label, duplicates collapsed unless rows are bags."""
        itemsets = self.prepared(itemsets)
        if self.repeats:
            return Bags.relabelled(itemsets, self.targets, self.labels)
        if self.groups is None:
            return itemsets.recode(self.targets, self.labels)
        return itemsets.relabel(self.targets, self.labels)

    def prepared(self, itemsets: Itemsets) -> Itemsets:
        """The rows to be recoded: where anything is suppressed, missing ones become empty ones.

        Who knows an item that was suppressed would otherwise leave them out, and find fewer rows.
        """
        if not itemsets.nulls.any():
            return itemsets
        targets = self.targets[itemsets.codes] if self.groups is None else self.targets
        return itemsets.missing_as_empty() if (targets < 0).any() else itemsets

    def changes(self, itemsets: Itemsets) -> Changes:
        """What each item of a column becomes, group by group, and in how many rows."""
        if self.groups is None:
            supports = SupportIndex.of(itemsets).singles
            items = np.arange(itemsets.n_items, dtype=np.int32)
            return Changes(np.zeros_like(supports), items, self.targets, supports, itemsets.codes)
        # In two steps, so that no key exceeds 64 bits; by hashing, in linear time.
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
    """What each item became, group by group; one entry for each group, item and generalized item.

    Parameters
    ----------
    groups : ndarray of int64
        Ascending; 0 throughout for a global recoding.
    items : ndarray of int32
        Item codes; ascending within a group.
    targets : ndarray of int32
        Generalized item; -1 where suppressed.
    supports : ndarray of int64
        Number of rows of the group in which the item became that.
    of_occurrence : ndarray, shape (occurrences,)
        The entry of each occurrence of the column.
    """

    groups: NDArray[np.int64]
    items: Codes
    targets: Codes
    supports: NDArray[np.int64]
    of_occurrence: NDArray[Any]


def set_labels(texts: pa.Array, members: NDArray[np.int64], sizes: NDArray[np.int64]) -> pa.Array:
    """Label of each set of items: its only item's text, or ``(a,b)`` with members in item order.

    Separators inside members are escaped, and a label that some item has as its own text gets one more
    pair of parentheses, so that no two labels are alike and an item's text means that item. A missing member
    is ``<NA>``; one with this text is escaped.

    Parameters
    ----------
    texts : pyarrow.Array, length (items,)
        The text of each item, null for a missing one.
    members : ndarray of int64
        Item codes, set after set.
    sizes : ndarray of int64, shape (sets,)
        How many members each set has, at least 1.
    """
    texts = texts.cast(pa.large_string())
    opening, comma, closing, nothing = (pa.scalar(mark, pa.large_string()) for mark in ("(", ",", ")", ""))
    escaped = pc.replace_substring_regex(texts, r"([\\,()]|^<NA>$)", r"\\\1").fill_null("<NA>")
    offsets = np.append(0, np.cumsum(sizes))
    lists = pa.LargeListArray.from_arrays(offsets, escaped.take(pa.array(members)))
    labels = pc.binary_join_element_wise(opening, pc.binary_join(lists, comma), closing, nothing)
    while (taken := pc.is_in(labels, value_set=texts)).true_count:
        enclosed = pc.binary_join_element_wise(opening, labels, closing, nothing)
        labels = pc.if_else(taken, enclosed, labels)
    alone = pa.array(np.where(sizes == 1, members[offsets[:-1]], -1), mask=sizes > 1)
    return pc.coalesce(texts.take(alone), labels).cast(pa.string())


def mapping_table(itemsets: Itemsets, recoding: Recoding) -> pd.DataFrame:
    """The table that says what each item became.

    Parameters
    ----------
    itemsets : Itemsets
        The original column.
    recoding : Recoding
        What became of its items.

    Returns
    -------
    pandas.DataFrame
        Columns ``group`` (0 in a global recoding), ``item``, ``generalized`` (NA where suppressed) and
        ``support``, the rows of the group in which the item became that; by group, then by item.
    """
    changes = recoding.changes(itemsets)
    labels = recoding.labels.cast(pa.string())
    labels = labels.take(pa.array(changes.targets, mask=changes.targets < 0))
    return pd.DataFrame(
        {
            "group": changes.groups,
            "item": _arrow_column(itemsets.vocabulary.take(pa.array(changes.items))),
            "generalized": _arrow_column(labels),
            "support": changes.supports,
        }
    )


def _arrow_column(values: pa.Array) -> pd.api.extensions.ExtensionArray:
    column: pd.api.extensions.ExtensionArray = pd.array(values, dtype=pd.ArrowDtype(values.type))
    return column


def release(
    frame: pd.DataFrame,
    position: int,
    itemsets: Itemsets,
    recoding: Recoding,
    guarantee: Guarantee,
    parameters: Mapping[str, Any],
) -> Anonymized:
    """Build the release, and audit it from scratch before anyone sees it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original; it is not modified.
    position : int
        Which of its columns is recoded.
    itemsets : Itemsets
        That column, encoded.
    recoding : Recoding
        What becomes of its items.
    guarantee : Guarantee
        What the release must fulfil.
    parameters : mapping
        What was asked, for the record.

    Returns
    -------
    Anonymized

    Raises
    ------
    GuaranteeError
        If the release fails its audit. It is withheld.
    """
    if isinstance(frame, Collapsed):
        return _decided(frame, itemsets, recoding, guarantee, parameters)
    result, audit = attempt(frame, position, itemsets, recoding, guarantee, parameters)
    demand(audit)
    return result


def _decided(
    transactions: Any,
    itemsets: Itemsets,
    recoding: Recoding,
    guarantee: Guarantee,
    parameters: Mapping[str, Any],
) -> Anonymized:
    """What is known before rows are written; who writes them audits them."""
    from pdanon.metrics.loss import information_loss

    mapping = mapping_table(itemsets, recoding)
    loss = information_loss(itemsets, recoding)
    audited = guarantee.with_mapping(mapping)
    groups = None if recoding.groups is None else pd.Series(recoding.groups, name="group")
    transactions = replace(transactions, itemsets=recoding.prepared(itemsets))
    return Anonymized(transactions, mapping, None, groups, audited, loss, dict(parameters), holds=False)


def demand(audit: Audit) -> None:
    """Withhold a release that fails its audit."""
    if not audit.holds:
        raise GuaranteeError(
            "the release does not have its guarantee and is withheld",
            got=f"{audit.rows_at_risk} rows at risk under {audit.guarantee!r}",
            hint="this is a defect of pdanon; please report it with the parameters that were used",
        )


def attempt(
    frame: pd.DataFrame,
    position: int,
    itemsets: Itemsets,
    recoding: Recoding,
    guarantee: Guarantee,
    parameters: Mapping[str, Any],
) -> tuple[Anonymized, Audit]:
    """As `release`, but with the audit's verdict, whatever it is: for `InfeasibleError.partial`."""
    from pdanon.metrics.loss import information_loss

    released = with_column(frame, position, recoding.apply(itemsets))
    mapping = mapping_table(itemsets, recoding)
    audited = guarantee.with_mapping(mapping)
    audit = audited.audit(released, frame.columns[position])
    loss = information_loss(itemsets, recoding)
    groups = None
    if recoding.groups is not None:
        groups = pd.Series(recoding.groups, index=frame.index, name="group")
    unchanged = pass_through(frame, [position])
    result = Anonymized(
        released, mapping, None, groups, audited, loss, dict(parameters), unchanged, audit.holds
    )
    return result, audit


def pass_through(frame: pd.DataFrame, recoded: Collection[int]) -> tuple[Hashable, ...]:
    """Labels of the columns that are released as they are, with a warning about those that may identify.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original.
    recoded : collection of int
        Positions of the columns that are not.

    Warns
    -----
    IdentifierWarning
        If a column, or a level of the index that has a name, has nearly as many values as there are rows.
    """
    others = [position for position in range(frame.shape[1]) if position not in recoded]
    columns = {f"column {frame.columns[position]!r}": frame.iloc[:, position] for position in others}
    for level, name in enumerate(frame.index.names):
        if name is not None:
            columns[f"index {name!r}"] = frame.index.get_level_values(level).to_series()
    for name, column in columns.items():
        if len(frame) >= _FEW and _count_values(column) >= _NEARLY_ALL * len(frame):
            message = f"{name} differs in nearly every row and passes through unchanged: it may identify"
            warnings.warn(message, IdentifierWarning, stacklevel=_levels_within())
    return tuple(frame.columns[position] for position in others)


def _levels_within() -> int:
    """How many calls the caller is away from code that is not of this package, which warnings point to."""
    caller: FrameType | None = sys._getframe(1)
    levels = 1
    while caller is not None and caller.f_globals.get("__name__", "").startswith("pdanon."):
        caller, levels = caller.f_back, levels + 1
    return levels


def _count_values(column: pd.Series[Any]) -> int:
    if is_list_column(column):
        return len(SupportIndex.of(Itemsets.from_series(column)).distinct().weights)
    try:
        return column.nunique()
    except (TypeError, pa.ArrowNotImplementedError):  # values without equality are not looked at
        return 0
