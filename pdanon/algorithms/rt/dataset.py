"""RT-datasets: the encoded frame, and the release of its clusters, for all RT algorithms."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.items.apriori import find_leaves
from pdanon.algorithms.relational.attributes import Numbers
from pdanon.algorithms.relational.publishing import class_table, with_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiTable
from pdanon.algorithms.rt.blocks import Block
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.algorithms.rt.transaction_side import (
    TransactionSide,
    by_cuts,
    by_diverse_cuts,
    by_diverse_sets,
    by_sets,
)
from pdanon.algorithms.states.cuts import by_first_row
from pdanon.errors import ParameterError
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.emptied import EMPTY_ROWS, few_without
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.kkm import Crowds
from pdanon.guarantees.named import named_items
from pdanon.guarantees.parameters import ItemLimit, materialize
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.codes import Codes, Itemsets, join_columns
from pdanon.itemsets.columns import find_column, with_column
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import check_flag
from pdanon.recoding.decision import Decision, WrittenRows
from pdanon.recoding.emptied import labels_to_suppress
from pdanon.recoding.labels import relabelled_sets
from pdanon.recoding.loss import joint_loss, with_measure
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

__all__ = ["Dataset", "DatasetRows", "at_least"]


@dataclass(frozen=True, eq=False, slots=True)
class Dataset:
    """A frame with quasi-identifiers and transactions, encoded.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original. It is not modified.
    positions : list of int
        Positions of the list columns. The items of all of them form one transaction.
    columns : list of Itemsets
        The list columns.
    guarantee : KKm or KLm
        Guarantee of the release.
    table : QuasiTable
        The quasi-identifiers.
    transactions : TransactionSide
        The transactions, and how they are anonymized.
    trees : list of (Hierarchy, int) or None
        Hierarchies of the items, column by column, with the number of leaves that nodes may cover; None if
        sets are published.
    transaction : Transaction
        Parameters for the transactions.
    parameters : mapping
        Parameters of `of`, for the record.
    """

    frame: pd.DataFrame
    positions: list[int]
    columns: list[Itemsets]
    guarantee: KKm | KLm
    table: QuasiTable
    transactions: TransactionSide
    trees: list[tuple[Hierarchy, int]] | None
    transaction: Transaction
    parameters: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        column: Hashable | None,
        *,
        k: int,
        m: ItemLimit,
        quasi: Sequence[Hashable],
        hierarchies: Mapping[Hashable, HierarchyLike] | None,
        transaction: Transaction,
        refine: bool,
    ) -> Dataset:
        """Encode a frame; the parameters are those of the algorithms."""
        quasi = materialize(quasi)
        guarantee: KKm | KLm
        if transaction.l is None:
            guarantee = KKm(k=k, m=m, quasi=quasi, columns=transaction.columns)
        else:
            guarantee = KLm(k=k, l=transaction.l, m=m, quasi=quasi, sensitive=transaction.sensitive)
        positions = [find_column(frame, label) for label in _labels(column, transaction.columns)]
        columns = [Itemsets.from_series(frame.iloc[:, position]) for position in positions]
        table = QuasiTable.of(frame, guarantee.quasi, hierarchies)
        table.check_feasible(guarantee.k)
        side, trees = _side(columns, guarantee, transaction, refine=check_flag(refine, "refine"))
        parameters: dict[str, Any] = {"k": k, "m": m, "quasi": quasi, "hierarchies": hierarchies}
        parameters |= {"transaction": transaction, "refine": refine}
        return cls(frame, positions, columns, guarantee, table, side, trees, transaction, parameters)

    @property
    def whole(self) -> Block:
        """Block of all rows."""
        return Block(self.guarantee.k, self.table, self.transactions)

    @property
    def writer(self) -> FrameWriter:
        """Writer of the release."""
        return FrameWriter(self.frame, self.positions, quasi=self.table.positions)

    def release(
        self,
        name: str,
        decide: partial[tuple[Numbers, Codes]],
        *,
        keep: Sequence[Hashable],
        progress: bool,
    ) -> Anonymized:
        """Release the frame.

        Parameters
        ----------
        name : str
            Name of the algorithm.
        decide : partial
            Returns the cluster of each row and the new number of each occurrence, given the dataset and a
            progress callback. Its keyword arguments are recorded as parameters.
        keep, progress
            Parameters of the algorithms.
        """
        # The number of processes does not change the release, so it is not recorded.
        own = {key: value for key, value in decide.keywords.items() if key != "n_jobs"}

        def decide_clusters() -> Decision[DatasetRows]:
            with progress_bar(progress, name, "steps") as report:
                groups, numbers = decide(self, report)
            return self.decision(groups, numbers, {"algorithm": name, **self.parameters, **own})

        return release(self.writer, decide_clusters, keep)

    def decision(
        self, groups: Numbers, numbers: Codes, parameters: Mapping[str, Any]
    ) -> Decision[DatasetRows]:
        """Return the decision to publish clusters of rows, with each occurrence recoded.

        Parameters
        ----------
        groups : ndarray of int64, shape (rows,)
            The cluster of each row. Clusters with equal published values still have separate recodings.
        numbers : ndarray of int32, shape (occurrences,)
            The new number of each occurrence, see :class:`TransactionSide`.
        parameters : mapping
            Parameters of the call, for the record.
        """
        numbers = self.hide_emptied(groups, numbers)
        classes = Classes.of_members(self.table, groups)
        of_row = by_first_row(groups)
        recodings: list[Recoding] = []
        taken = [column.vocabulary for column in self.columns]  # labels of sets must differ from all of them
        for column, recoding in zip(self.columns, self._recodings(groups, numbers, of_row), strict=True):
            recodings.append(relabelled_sets(recoding, column, self.transaction.labels, taken))
            taken.append(recodings[-1].labels)
        recoded = [*zip(self._empty_revealing_rows(recodings, of_row), recodings, strict=True)]
        lost = [(column, recoding, recoding.changes(column)) for column, recoding in recoded]
        mappings = [mapping_table(*column) for column in lost]
        mapping = _one_mapping(mappings, [self.frame.columns[position] for position in self.positions])
        mapping.attrs = self._attributes(recoded, classes)
        return Decision(
            DatasetRows(self.table, classes, recoded, of_row),
            self.guarantee.with_mapping(mapping),
            mapping,
            with_measure(joint_loss(lost), "NCP_relational", classes.ncp),
            parameters,
        )

    def hide_emptied(self, groups: Numbers, numbers: Codes) -> Codes:
        """Suppress further occurrences until no row, or at least k rows, of each class are emptied.

        Parameters are those of `decision`. Clusters with equal published values are one class. The rule holds
        in each list column.
        """
        if (numbers >= 0).all():
            return numbers
        class_of = self._class_of(Classes.of_members(self.table, groups))
        joined, numbers = self.transactions.itemsets, numbers.copy()
        units = by_first_row(groups)[joined.rows] * (int(numbers.max()) + np.int64(1)) + numbers
        units[numbers < 0] = -1
        for own, itemsets in zip(self._occurrences(), self.columns, strict=True):
            gone = labels_to_suppress(units[own], itemsets, self.guarantee.k, class_of)
            numbers[own & np.isin(units, gone)] = -1
        return numbers

    def _class_of(self, classes: Classes) -> Numbers:
        """Return the class of each row; clusters with equal published values are one class."""
        return equal_rows(with_classes(self.frame, self.table, classes), self.table.positions)

    def _attributes(
        self, recoded: Sequence[tuple[Itemsets, Recoding]], classes: Classes
    ) -> dict[Hashable | None, int]:
        """Count the rows that look emptied but had no item, as an attribute of the mapping."""
        if all((recoding.targets >= 0).all() for _, recoding in recoded):
            return {}
        class_of, n_empty = self._class_of(classes), 0
        for column, recoding in recoded:
            shown = np.zeros(column.n_rows, np.bool_)
            shown[column.rows[recoding.targets >= 0]] = True
            few = few_without(~shown & ~column.nulls, shown, class_of, self.guarantee.k)
            n_empty += int(np.count_nonzero(few))
        return {EMPTY_ROWS: n_empty} if n_empty else {}

    def _occurrences(self) -> Iterable[NDArray[np.bool_]]:
        """Return, for each list column, the mask of its occurrences among all."""
        first_item, codes = 0, self.transactions.itemsets.codes
        for itemsets in self.columns:
            yield (codes >= first_item) & (codes < first_item + itemsets.n_items)
            first_item += itemsets.n_items

    def _empty_revealing_rows(self, recodings: Sequence[Recoding], of_row: Codes) -> list[Itemsets]:
        """Return the list columns to recode; missing rows become empty where they reveal too many others.

        The items of each cluster are protected already. With one list column, the sizes suffice.
        """
        k, m = self.guarantee.k, self.guarantee.m
        columns = [each.hide_missing(column) for each, column in zip(recodings, self.columns, strict=True)]
        if not any(column.nulls.any() for column in columns):
            return columns
        shown = zip(columns, recodings, strict=True)
        crowds = Crowds.of(
            [each.relabel(recoding.targets, recoding.labels) for each, recoding in shown], of_row
        )
        held = np.zeros(len(crowds.members), np.bool_) if len(columns) == 1 else crowds.index.at_risk(k, m)
        if crowds.at_risk(crowds.small(k), held).any():
            return [column.missing_as_empty() for column in columns]
        return columns

    def _recodings(self, groups: Numbers, numbers: Codes, of_row: Codes) -> Iterable[Recoding]:
        """Return the recoding of each list column."""
        joined = self.transactions.itemsets
        if self.trees is None:  # sets of different clusters have different numbers
            numbers = np.where(numbers >= 0, groups[joined.rows] * joined.n_items + numbers, -1)
        first_node = int(len(self.columns) > 1)
        for place, (own, itemsets) in enumerate(zip(self._occurrences(), self.columns, strict=True)):
            if self.trees is None:
                yield Recoding.of_clusters(numbers[own], itemsets, of_row)
                continue
            nodes = np.where(numbers[own] >= 0, numbers[own] - first_node, -1) if first_node else numbers[own]
            tree, n_leaves = self.trees[place]
            first_node += tree.n_nodes
            yield Recoding.of_cut(nodes, tree, of_row, n_leaves=n_leaves)


@dataclass(frozen=True, eq=False, slots=True)
class DatasetRows:
    """Clusters of rows with equal generalized quasi-identifiers, and their recoded list columns.

    Parameters
    ----------
    table : QuasiTable
        The quasi-identifiers.
    classes : Classes
        The equivalence class of each row, and its published cells.
    lists : list of (Itemsets, Recoding)
        The list columns and their recodings.
    of_row : ndarray of int32, shape (rows,)
        The cluster of each row, numbered by first rows.
    """

    table: QuasiTable
    classes: Classes
    lists: Sequence[tuple[Itemsets, Recoding]]
    of_row: Codes

    def write(self, frame: pd.DataFrame, positions: Sequence[int]) -> WrittenRows:
        """Recode the quasi-identifiers and the list columns of a frame."""
        released = with_classes(frame, self.table, self.classes)
        for position, (column, recoding) in zip(positions, self.lists, strict=True):
            released = with_column(released, position, recoding.apply(column).to_pandas())
        return WrittenRows(released, self.of_row, class_table(released, self.table, self.of_row))


def at_least(share: float) -> str:
    """Return a share as text, rounded up: passing the text as the bound is enough."""
    return f"{np.ceil(share * 1e6) / 1e6:.6f}"


def _labels(column: Hashable | None, columns: Sequence[Hashable] | None) -> Sequence[Hashable | None]:
    """Return the labels of the list columns; None stands for the only one."""
    if columns is None:
        return [column]
    if column is not None:
        hint = "pass column= for one list column, columns= for several"
        raise ParameterError("column and columns are both given", where="columns", hint=hint)
    return columns


def _side(
    columns: Sequence[Itemsets], guarantee: KKm | KLm, transaction: Transaction, *, refine: bool
) -> tuple[TransactionSide, list[tuple[Hierarchy, int]] | None]:
    """Return the transactions of list columns, how to anonymize them, and the hierarchies of their items."""
    itemsets, column_of = join_columns(columns)
    common = transaction, itemsets, guarantee.k, guarantee.m
    source: Any = transaction.hierarchy
    if isinstance(guarantee, KLm):
        hidden = named_items(itemsets, guarantee.sensitive, "sensitive")
        # Bounded as in the audit: products with the number of rows must not overflow.
        diversity = min(guarantee.l, itemsets.n_rows + 1)
        if source is None:
            return by_diverse_sets(*common, hidden, diversity, refine=refine), None
        tree, leaves, n_leaves = find_leaves(source, itemsets.vocabulary, hidden)
        return by_diverse_cuts(*common, tree, leaves, n_leaves, hidden, diversity), [(tree, n_leaves)]
    if source is None:
        domains = np.array([max(each.n_items, 1) for each in columns])
        return by_sets(*common, domains, column_of, refine=refine), None
    sources = [source] if transaction.columns is None else [source[each] for each in transaction.columns]
    items = [each.vocabulary for each in columns]
    found = [Hierarchy.over(each, own) for each, own in zip(sources, items, strict=True)]
    trees = [tree for tree, _ in found]
    tree, leaves = _joint(trees, [leaves for _, leaves in found])
    domains = np.array([each.n_leaves for each in trees])
    side = by_cuts(*common, tree, leaves, domains, column_of, refine=refine)
    return side, [(each, each.n_leaves) for each in trees]


def _joint(trees: Sequence[Hierarchy], leaves: Sequence[Codes]) -> tuple[Hierarchy, Codes]:
    """Join trees below one root, and move their leaves; return a single tree unchanged."""
    if len(trees) == 1:
        return trees[0], leaves[0]
    starts = np.cumsum([1, *(tree.n_nodes for tree in trees)])  # node 0 is the new root
    parents = [
        np.where(tree.parent < 0, 0, tree.parent + start) for tree, start in zip(trees, starts, strict=False)
    ]
    names = ("*", *(name for tree in trees for name in tree.names))
    joint = Hierarchy(names, np.concatenate(([-1], *parents)).astype(np.int32))
    moved = [nodes + start for nodes, start in zip(leaves, starts, strict=False)]
    return joint, np.concatenate(moved).astype(np.int32)


def _one_mapping(mappings: Sequence[pd.DataFrame], labels: Sequence[Hashable]) -> pd.DataFrame:
    """Concatenate the mappings of several columns, with a column that names them."""
    if len(mappings) == 1:
        return mappings[0]
    kinds = {mapping["item"].dtype for mapping in mappings}
    parts = []
    for mapping, label in zip(mappings, labels, strict=True):
        part = mapping.assign(column=pd.Series([label] * len(mapping), dtype=object))
        if len(kinds) > 1:
            part["item"] = part["item"].astype(pd.ArrowDtype(pa.string()))
        parts.append(part)
    joint = pd.concat(parts, ignore_index=True)
    if any(part["generalized"].dtype == "category" for part in parts):  # concat turned them into objects
        texts: pd.Index[Any] = pd.Index(sorted(joint["generalized"].dropna().unique())).astype(object)
        joint["generalized"] = pd.Categorical(joint["generalized"], texts)
    return joint
