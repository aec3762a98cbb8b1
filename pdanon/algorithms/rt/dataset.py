"""RT-datasets: the encoded frame, its blocks of rows, and the release of its clusters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.algorithms.registry import ALGORITHMS, BYTES_OF_SUPPORTS, Algorithm
from pdanon.algorithms.relational.groups import cut_evenly
from pdanon.algorithms.relational.publishing import ClassRows
from pdanon.algorithms.relational.quasi import (
    Classes,
    Formation,
    QuasiLike,
    QuasiTable,
    split_groups,
)
from pdanon.algorithms.rt.transaction import Transaction, TransactionSide, anonymize_by, as_transaction
from pdanon.algorithms.states.cuts import by_first_row
from pdanon.errors import ParameterError
from pdanon.guarantees import KKm, KLm
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.kkm import Crowds
from pdanon.guarantees.parameters import ItemLimit, materialize
from pdanon.guarantees.verdict import EMPTY_ROWS, mark_emptied
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Codes, Itemsets, Numbers
from pdanon.itemsets.columns import find_column, quasi_names
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import mask_at, offsets_of
from pdanon.itemsets.support import check_rows
from pdanon.itemsets.threads import Share, sharing
from pdanon.itemsets.timing import SETTINGS, count_steps, progress_bar
from pdanon.itemsets.validation import check_count, check_known, random_generator
from pdanon.recoding.decision import Decision, labels_to_suppress
from pdanon.recoding.loss import joint_loss, with_measure
from pdanon.recoding.recoding import Recoding, mapping_table, number_changes
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized
from pdanon.recoding.risk import risk_of_classes

# --- Blocks: quasi-identifiers and items that an algorithm anonymizes together


@frozen
class Block:
    """Rows as integer codes, which can be sent to another process."""

    k: int  # minimum number of rows of a cluster
    table: QuasiTable  # losses are relative to all values of the whole table
    transactions: TransactionSide

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def open(self) -> Block:
        """Return the block itself: its rows are in memory."""
        return self

    def close(self, block: Block, groups: Numbers, numbers: Codes) -> tuple[Numbers, Codes]:
        """Return the clusters and the new numbers of the occurrences."""
        return groups, numbers

    def keep(self, *decided: NDArray[Any]) -> Sequence[NDArray[Any]]:
        """Return the arrays themselves, as they have room beside the rows."""
        return decided

    def kept(self, known: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
        """Return the arrays of `keep`."""
        return known

    def take(self, rows: Numbers) -> Block:
        """Select rows."""
        itemsets = self.transactions.itemsets.take(rows)
        return Block(self.k, self.table.take(rows), replace(self.transactions, itemsets=itemsets))

    def cut(self, block_rows: Any) -> list[Numbers]:
        """Return the rows of blocks of a maximum size, if none lacks rows; one block without a maximum."""
        if block_rows is None:
            return [np.arange(self.table.n_rows)]
        hint = "a block is cut in two, and each half needs k rows"
        return cut_evenly(self.table, check_count(block_rows, "block_rows", least=2 * self.k, hint=hint))

    def groups(self, cluster: str, rng: np.random.Generator) -> Numbers:
        """Form small clusters of rows with similar quasi-identifiers, by the algorithm ``cluster``."""
        return _formations()[cluster](self.table, self.k, rng, 0).of_row

    def protect(self, groups: Numbers) -> Codes:
        """Anonymize the items of each cluster; return the new number of each occurrence."""
        decided = []
        for rows in split_groups(groups):
            decided.append(self.transactions.protect(rows))
            count_steps()
        return self.transactions.join(decided)

    def hide_emptied(self, groups: Numbers, numbers: Codes) -> Codes:
        """Suppress further occurrences until no row, or at least k rows, of each class are emptied."""
        # Parameters are the cluster of each row and the new number of each occurrence. Clusters with equal
        # published values are one class. The rule holds in each list column.
        if (numbers >= 0).all():
            return numbers
        class_of = Classes.of_members(self.table, groups).of_row
        joined, numbers = self.transactions.itemsets, numbers.copy()
        units = by_first_row(groups)[joined.rows] * (int(numbers.max()) + np.int64(1)) + numbers
        units[numbers < 0] = -1
        column_of = self.transactions.column_of[joined.codes]
        for place in range(len(self.transactions.domains)):
            own = column_of == place
            column = replace(joined, codes=joined.codes[own], offsets=offsets_of(own)[joined.offsets])
            gone = labels_to_suppress(units[own], column, self.k, class_of)
            numbers[own & np.isin(units, gone)] = -1
        return numbers

    def join_blocks(
        self, blocks: Sequence[Numbers], parts: Sequence[tuple[Numbers, Codes]]
    ) -> tuple[Numbers, Codes]:
        """Return the clusters and the new numbers of all rows, given those of their blocks."""
        groups = np.empty(self.table.n_rows, np.int64)
        numbers = np.empty(len(self.transactions.itemsets.codes), np.int32)
        first = 0
        for rows, (own, became) in zip(blocks, parts, strict=True):
            groups[rows] = own + first
            numbers[self.transactions.itemsets.places(rows)] = became
            first += int(own.max(initial=-1)) + 1
        return groups, numbers


class Part(Protocol):
    """A block, or a region whose rows only the process that works on them reads."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def open(self) -> Block:
        """Return the rows."""

    def keep(self, *decided: NDArray[Any]) -> Any:
        """Keep arrays for a later step; return what `kept` needs to find them."""

    def kept(self, known: Any) -> Sequence[NDArray[Any]]:
        """Return the arrays that `keep` kept."""

    def close(self, block: Block, groups: Numbers, numbers: Codes) -> Any:
        """Return what remains of a decided block: its clusters, and the new number of each occurrence."""


class Parts(NamedTuple):
    """All rows of a table in parts, which are anonymized apart, and what they share."""

    parts: Sequence[Part]  # each with at least k rows
    table: QuasiTable  # of the whole table, for its losses; need not have its rows
    share: Share

    @property
    def n_rows(self) -> list[int]:
        """Number of rows of each part."""
        return [part.n_rows for part in self.parts]

    def generators(self, random_state: Any) -> list[np.random.Generator]:
        """Return a generator for each part."""
        rng = random_generator(random_state)
        return rng.spawn(len(self.parts)) if len(self.parts) > 1 else [rng]


class Decided(NamedTuple):
    """The decision for parts."""

    # ``steps`` has, at the start and after each merge, the number of ``clusters``, and the losses ``Rum`` and
    # ``Tum`` of quasi-identifiers and transactions, as shares of their maximum; NaN if not measured.

    parts: list[Any]  # as returned by `Part.close`
    steps: pd.DataFrame | None = None  # None if the algorithm merges no clusters
    measure: str = "NCP"  # of the quasi-identifiers

    def with_rum(self, loss: pd.Series[float]) -> pd.Series[float]:
        """Return the losses of the release with that of the quasi-identifiers, if it is not NCP."""
        if self.steps is None or self.measure == "NCP":
            return loss
        return with_measure(loss, "Rum", float(self.steps["Rum"].iloc[-1]))


def check_options(cluster: Any, merge: Any = "RT") -> None:
    """Check the algorithm that forms the first clusters, and how they are merged."""
    check_known(merge, ("R", "T", "RT"), "way to merge", where="merge")
    check_known(cluster, _formations(), "algorithm for quasi-identifiers", where="cluster")


def _formations() -> dict[str, Formation]:
    """Return the function that forms classes, by the name of its algorithm."""
    return {name: each.form for name, each in ALGORITHMS.items() if each.form is not None}


def trace_steps(steps: pd.DataFrame | None, tum: float) -> pd.DataFrame | None:
    """Return the steps; the loss of the transactions after the last is that of the release."""
    if steps is None:
        return None
    losses = steps["Tum"].to_numpy(copy=True)
    losses[-1] = tum
    return steps.assign(Tum=losses)


# --- The table


@frozen
class Dataset:
    """A frame with quasi-identifiers and transactions, encoded."""

    frame: pd.DataFrame  # not modified
    positions: list[int]  # of the list columns; the items of all of them form one transaction
    columns: list[Itemsets]  # the list columns
    guarantee: KKm | KLm
    table: QuasiTable
    transactions: TransactionSide
    # Hierarchies of the items, column by column, with the number of leaves that nodes may cover; None if sets
    # are published.
    trees: list[tuple[Hierarchy, int]] | None
    parameters: Mapping[str, Any]  # of `of`, for the record

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        column: Hashable | None,
        *,
        k: int,
        m: ItemLimit,
        quasi: QuasiLike,
        transaction: str | Transaction,
        n_rows: int | None = None,
    ) -> Dataset:
        """Encode a frame; the parameters are those of the algorithms."""
        # If the frame only holds the values of a table, ``n_rows`` is the number of rows of the table.
        transaction, quasi = as_transaction(transaction), materialize(quasi)
        names = quasi_names(quasi)
        guarantee: KKm | KLm
        if transaction.l is None:
            guarantee = KKm(k=k, m=m, quasi=names, columns=transaction.columns)
        else:
            guarantee = KLm(k=k, l=transaction.l, m=m, quasi=names, sensitive=transaction.sensitive)
        positions = [find_column(frame, label) for label in _labels(column, transaction.columns)]
        columns = [Itemsets.from_series(frame.iloc[:, position]) for position in positions]
        table = QuasiTable.of(frame, quasi, n_rows)
        check_rows(len(frame) if n_rows is None else n_rows, guarantee.k)
        side, trees = anonymize_by(transaction, columns, guarantee)
        parameters = {"k": k, "m": m, "quasi": quasi, "transaction": transaction}
        return cls(frame, positions, columns, guarantee, table, side, trees, parameters)

    @property
    def whole(self) -> Block:
        """Block of all rows."""
        return Block(self.guarantee.k, self.table, self.transactions)

    def decide_blocks(
        self, decide: Callable[[Parts], Decided], block_rows: int | None
    ) -> tuple[Decided, tuple[Numbers, Codes]]:
        """Decide block by block; also return the cluster of each row, and the number of each occurrence."""
        whole = self.whole
        blocks = whole.cut(block_rows)
        parts = [whole.take(rows) for rows in blocks] if len(blocks) > 1 else [whole]
        with sharing(SETTINGS["processes"] if len(blocks) > 1 else 1) as share:
            found = decide(Parts(parts, whole.table, share))
        return found, whole.join_blocks(blocks, found.parts)

    @property
    def writer(self) -> FrameWriter:
        """Writer of the release."""
        return FrameWriter(self.frame, self.positions, quasi=self.table.positions)

    def decision(
        self,
        groups: Numbers,
        numbers: Codes,
        parameters: Mapping[str, Any],
        steps: pd.DataFrame | None = None,
    ) -> Decision[ClassRows]:
        """Return the decision to publish clusters of rows, for the recorded parameters."""
        # ``numbers`` has the new number of each occurrence, as in `TransactionSide`. Clusters with equal
        # published values still have separate recodings.
        numbers = self.whole.hide_emptied(groups, numbers)
        classes = Classes.of_members(self.table, groups)
        cluster_of = by_first_row(groups)
        of_row = cluster_of
        if self.transactions.deletes:  # rows of a cluster that lose the same are recoded equally
            losses = number_changes(self.transactions.itemsets, numbers < 0)
            of_row = by_first_row(cluster_of * (losses.max(initial=0) + np.int64(1)) + losses)
        recodings = [*self._recodings(groups, numbers, of_row)]
        recoded = [*zip(self._empty_revealing_rows(recodings, cluster_of), recodings, strict=True)]
        lost = [(column, recoding, recoding.changes(column)) for column, recoding in recoded]
        mappings = [mapping_table(*column) for column in lost]
        mapping = _one_mapping(mappings, [self.frame.columns[position] for position in self.positions])
        mapping.attrs = self._attributes(recoded, classes)
        loss = with_measure(joint_loss(lost), "NCP_relational", classes.ncp)
        tum = self._tum(groups, numbers, float(loss["NCP"]))
        if name := self.transactions.measured_as:
            loss = with_measure(loss, name, tum)
        released = [column.relabel(recoding.targets, recoding.labels) for column, recoding in recoded]
        before = self.columns, equal_rows(self.frame, self.table.positions)  # the frame may change later
        return Decision(
            ClassRows(self.table, classes, of_row, recoded),
            self.guarantee.with_mapping(mapping),
            mapping,
            loss,
            parameters,
            trace_steps(steps, tum),
            risk=partial(risk_of_classes, self.guarantee, before, (released, classes.of_row)),
        )

    def _tum(self, groups: Numbers, numbers: Codes, ncp: float) -> float:
        """Return the loss of the transactions as a share of its maximum, given their NCP."""
        side = self.transactions
        if side.measured_as is None:
            return ncp
        places = (side.itemsets.places(rows) for rows in split_groups(groups))
        return float(sum(side.loss(each, numbers[each]) for each in places) / max(side.most, 1))

    def _attributes(
        self, recoded: Sequence[tuple[Itemsets, Recoding]], classes: Classes
    ) -> dict[Hashable | None, int]:
        """Count the rows that look emptied but had no item, as an attribute of the mapping."""
        if all((recoding.targets >= 0).all() for _, recoding in recoded):
            return {}
        n_empty = 0
        for column, recoding in recoded:
            shown = mask_at(column.n_rows, column.rows[recoding.targets >= 0])
            few = mark_emptied(~shown & ~column.nulls, shown, classes.of_row, self.guarantee.k)
            n_empty += int(np.count_nonzero(few))
        return {EMPTY_ROWS: n_empty} if n_empty else {}

    def _empty_revealing_rows(self, recodings: Sequence[Recoding], of_row: Codes) -> list[Itemsets]:
        """Return the list columns to recode; missing rows become empty where they reveal too many others."""
        # The items of each cluster are protected already. With one list column, the sizes suffice.
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
        column_of = self.transactions.column_of[joined.codes]
        parts = [numbers[column_of == place] for place in range(len(self.columns))]
        if self.trees is None:
            for own, itemsets in zip(parts, self.columns, strict=True):
                if self.transactions.deletes:
                    yield Recoding.of_suppressed(own < 0, itemsets, of_row)
                else:
                    yield Recoding.of_clusters(own, itemsets, of_row)
            return
        first_node = int(len(parts) > 1)  # after the joint root
        for own, (tree, n_leaves) in zip(parts, self.trees, strict=True):
            nodes = np.where(own >= 0, own - first_node, -1)
            first_node += tree.n_nodes
            yield Recoding.of_cut(nodes, tree, of_row, n_leaves=n_leaves)


def release_clusters(record: Algorithm, arguments: Mapping[str, Any]) -> Anonymized:
    """Release a frame in the clusters that an algorithm forms, given all arguments of its function."""
    given = dict(arguments)
    data = Dataset.of(**{name: given.pop(name) for name in signature(Dataset.of).parameters if name in given})
    options = {name: value for name, value in given.items() if name != "block_rows"}
    data.table.require_memory(record.name, BYTES_OF_SUPPORTS * len(data.transactions.itemsets.codes))
    assert record.parts is not None  # required of all algorithms for both
    decide_parts = partial(record.parts, **options)

    def decide() -> Decision[ClassRows]:
        with progress_bar(record.name, "steps"):
            found, clusters = data.decide_blocks(decide_parts, given.get("block_rows"))
        made = data.decision(*clusters, {"algorithm": record.name, **data.parameters, **given}, found.steps)
        return replace(made, loss=found.with_rum(made.loss))

    return release(data.writer, decide)


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


def _one_mapping(mappings: Sequence[pd.DataFrame], labels: Sequence[Hashable]) -> pd.DataFrame:
    """Concatenate the mappings of several columns, with a column that names them."""
    if len(mappings) == 1:
        return mappings[0]
    parts = [
        mapping.assign(column=pd.Series([label] * len(mapping), dtype=object))
        for mapping, label in zip(mappings, labels, strict=True)
    ]
    for name in ("item", "generalized"):
        kinds = {part[name].dtype for part in parts}
        if len(kinds) > 1 and "category" not in kinds:
            parts = [part.assign(**{name: part[name].astype(pd.ArrowDtype(pa.string()))}) for part in parts]
    joint = pd.concat(parts, ignore_index=True)
    if any(part["generalized"].dtype == "category" for part in parts):  # concat turned them into objects
        texts: pd.Index[Any] = pd.Index(sorted(joint["generalized"].dropna().unique())).astype(object)
        joint["generalized"] = pd.Categorical(joint["generalized"], texts)
    return joint
