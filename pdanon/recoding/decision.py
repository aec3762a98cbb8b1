"""Decisions of algorithms, before their rows are written, and rows that suppression would empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import InfeasibleError
from pdanon.guarantees import Coherence, PrivacyConstraints, PSRules, PublicK, TransactionalK
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.codes import Itemsets, Numbers
from pdanon.itemsets.columns import added_label, with_column
from pdanon.itemsets.encoded_columns import ListColumns, write_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats, mask_at, offsets_of, sums
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.bounds import Bound
from pdanon.recoding.loss import information_loss, with_measure
from pdanon.recoding.recoding import Recoding, codes_of, mapping_table
from pdanon.recoding.risk import Counted, risk_of_lists

Rows = TypeVar("Rows")
Rows_co = TypeVar("Rows_co", covariant=True)


@frozen
class Decision(Generic[Rows_co]):
    """The outcome of an algorithm. Nothing is audited until its rows are written."""

    # in the form that their writer needs: `ListRows` for a frame, a `Recoder` for files and partitions
    rows: Rows_co
    guarantee: Guarantee  # that the release must have, with the mapping
    mapping: pd.DataFrame  # group, item, generalized, support
    loss: pd.Series[float]
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the call, for the record
    # steps or merges of the algorithm, or the loss over time if the release was refined
    trace: pd.DataFrame | None = None
    problem: InfeasibleError | None = None  # why the decision is an attempt, which is not released
    risk: Counted = None  # beyond the guarantee, as by `Attacker.count`
    tried: pd.DataFrame | None = None  # without a named algorithm, those tried on a sample
    sample: int | None = None  # number of rows of this sample
    levels: pd.DataFrame | None = None  # with a hierarchy then, how near the labels stay
    rounds: pd.DataFrame | None = None  # interim decisions if the rows are not in one place
    bound: Bound | None = None  # on the loss of any release with the guarantee

    def with_rows(self, rows: Rows) -> Decision[Rows]:
        """Return the same decision for rows in another place."""
        return cast(Decision[Rows], replace(cast(Any, self), rows=rows))

    def with_loss(self, name: str, value: float) -> Decision[Rows_co]:
        """Return the same decision with one more measure of loss."""
        return replace(self, loss=with_measure(self.loss, name, value))


class WrittenRows(NamedTuple):
    """The rows of a release in memory, before they are audited."""

    frame: pd.DataFrame
    groups: NDArray[Any] | None  # of each row of the original, if groups are recoded separately
    classes: pd.DataFrame | None  # the table of the groups, or one that is published with the frame
    # whether the rows are those of the original, so that its other columns are released with them
    has_rows: bool = True


@frozen
class ListRows:
    """The recoding of a list column and of the private columns of the same rows."""

    columns: ListColumns  # missing rows are empty if they are published so
    recoding: Recoding  # of the items of the list column
    chunks: ChunkTable | None = None  # published instead of rows
    classes: pd.DataFrame | None = None  # a table that is published beside the rows
    # the values of columns that the release adds, by label
    added: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def write(self, frame: pd.DataFrame, positions: Sequence[int]) -> WrittenRows:
        """Recode the list columns of a frame at some positions."""
        position, *hidden = positions
        groups = self.recoding.groups
        if self.chunks is not None:
            published = self.chunks.to_frame(frame.columns[position])
            return WrittenRows(published, groups, self.chunks.classes(), has_rows=False)
        released = with_column(frame, position, write_column(self.recoding.apply(self.columns.itemsets)))
        for place, private in zip(hidden, self.columns.columns[1:], strict=True):
            released = with_column(released, place, private.to_pandas())
        for label, values in self.added.items():
            released.insert(released.shape[1], added_label(frame, label), values)
        return WrittenRows(released, groups, self.classes)


ListDecision: TypeAlias = Decision[ListRows]


def decide_lists(
    columns: ListColumns,
    recoding: Recoding,
    guarantee: Guarantee,
    parameters: Mapping[str, Any] | None = None,
    *,
    trace: pd.DataFrame | None = None,
    problem: InfeasibleError | None = None,
    attributes: Mapping[str, int] | None = None,
    weights: Floats | None = None,
) -> ListDecision:
    """Return the decision for a recoding, with its loss and its mapping."""
    # ``parameters`` holds those that are recorded in another form than they were passed, and ``attributes``
    # those of the mapping. ``weights`` is the importance of the items, for UL. If fewer than k rows would
    # lose all their items, further items are suppressed first.
    if problem is None:
        recoding = hide_emptied(columns, recoding, guarantee)
    changes = recoding.changes(columns.itemsets)
    mapping = mapping_table(columns.itemsets, recoding, changes)
    mapping.attrs.update(attributes or {})
    loss, remaining = information_loss(columns.itemsets, recoding, changes, weights)
    rows = ListRows(replace(columns, itemsets=recoding.hide_missing(columns.itemsets)), recoding)
    known = guarantee.with_mapping(mapping)
    risk = partial(risk_of_lists, guarantee, columns.itemsets, recoding.targets, remaining.index)
    return Decision(rows, known, mapping, loss, parameters or {}, trace, problem, risk)


# --- Emptied rows: if suppression would empty fewer than k rows, it empties k

# A row without labels reveals that all of its items were suppressed, to an attacker who knew of any. It must
# therefore look like k - 1 others.


# Two of them count rows without (public) labels like all others; for the third, see `decide_suppressed`.
_OTHERWISE = (Coherence, PublicK, TransactionalK)


def hide_emptied(columns: ListColumns, recoding: Recoding, guarantee: Guarantee) -> Recoding:
    """Suppress further items of a table until no row, or at least k rows, are emptied."""
    # Without a k, nothing is changed. Suppressing a label changes the support of no itemset of other labels,
    # so guarantees about published itemsets still hold. A guarantee about itemsets of original items covers
    # their remaining labels, which may be rare. A label of each rare itemset is then suppressed as well. If
    # that breaks a rule of `PSRules`, the release is infeasible.
    k = getattr(guarantee, "k", None)
    if k is None or isinstance(guarantee, _OTHERWISE):
        return recoding
    itemsets, safe = columns.itemsets, recoding
    while True:
        found = with_enough_emptied(recoding, itemsets, k)
        if found is safe or not isinstance(guarantee, (PrivacyConstraints, PSRules)):
            return found
        known, published = guarantee.with_mapping(mapping_table(itemsets, found)), found.apply(itemsets)
        assert isinstance(published, Itemsets)  # a global recoding has no bags
        audit = known.recount(replace(columns, itemsets=published))
        if audit.holds:
            return found
        recoding = _without_threats(found, itemsets, Itemsets.from_series(audit.threats["itemset"]))


def with_enough_emptied(recoding: Recoding, itemsets: Itemsets, k: int) -> Recoding:
    """Suppress further labels of a table with emptied rows, but fewer than k."""
    # The same object is returned if nothing changes.
    if (recoding.targets >= 0).all():
        return recoding
    became = recoding.targets[itemsets.codes] if recoding.groups is None else recoding.targets
    units = became.astype(np.int64)
    if recoding.groups is not None:  # each group has its own labels
        units += recoding.groups[itemsets.rows] * np.int64(len(recoding.labels))
        units[became < 0] = -1
    gone = labels_to_suppress(units, itemsets, k)
    return _without(recoding, itemsets, units, gone) if len(gone) else recoding


def labels_to_suppress(
    units: Numbers,
    itemsets: Itemsets,
    k: int,
    class_of: Numbers | None = None,
) -> Numbers:
    """Return the numbers of the labels that `with_enough_emptied` suppresses."""
    # ``units`` has the number of the label of each occurrence; -1 if it is suppressed. Each group of a local
    # recoding has its own numbers. ``class_of`` is the class of each row, one or several groups of a local
    # recoding; by default all rows are one class.
    weights = SupportIndex.of(itemsets).weights
    labelled = mask_at(itemsets.n_rows, itemsets.rows[units >= 0])
    emptied = (itemsets.lengths > 0) & ~labelled
    if class_of is None:
        class_of = np.zeros(itemsets.n_rows, np.int64)
    counts = sums(class_of[emptied], weights[emptied], int(class_of.max(initial=0)) + 1)
    few = (counts > 0) & (counts < k)
    rows, gone = np.flatnonzero(labelled & few[class_of]), [np.zeros(0, np.int64)]
    by_class: Any = pd.Series(rows).groupby(class_of[rows])
    for number, own in by_class:
        need = k - int(counts[number])
        gone.append(_cheapest_of(itemsets, own.to_numpy(), units, weights, need))
    return np.concatenate(gone)


def _without(recoding: Recoding, itemsets: Itemsets, units: Numbers, gone: Numbers) -> Recoding:
    """Suppress labels, given the number of the label of each occurrence."""
    lost = np.isin(units, gone) & (units >= 0)
    targets = recoding.targets.copy()
    targets[itemsets.codes[lost] if recoding.groups is None else lost] = -1
    return replace(recoding, targets=targets)


def _cheapest_of(
    itemsets: Itemsets,
    rows: Numbers,
    units: Numbers,
    weights: Numbers,
    need: int,
) -> Numbers:
    """Return labels to suppress so that at least ``need`` of the rows are empty."""
    places = itemsets.places(rows)
    shown = units[places] >= 0
    offsets, places = offsets_of(shown)[offsets_of(itemsets.lengths[rows])], places[shown]
    labels = pd.Index(units[places])
    names = labels[np.lexsort((labels, itemsets.codes[places]))].unique()  # by their first items
    codes = names.get_indexer(labels)
    occurrences = sums(codes, np.repeat(weights[rows], np.diff(offsets)), len(names))
    index = SupportIndex(codes.astype(np.int32), offsets, len(names), weights[rows])
    index = index.recode(np.arange(len(names)), len(names)).distinct()  # each label once in a row
    return names.to_numpy()[_cheapest(index, occurrences, need)]


def _cheapest(index: SupportIndex, occurrences: Numbers, need: int) -> NDArray[np.intp]:
    """Return labels with few occurrences that empty at least ``need`` rows; all labels if there are fewer."""
    # A step suppresses all labels of a distinct row: the row with the fewest occurrences for each row that it
    # empties (ties: fewer labels, then label order). In the end, unnecessary labels are restored, those with
    # the most occurrences first (ties: label order).
    gone = np.zeros(index.n_items, np.bool_)
    while True:
        left = index.keep_items(~gone).distinct()
        filled = left.lengths > 0
        lacking = need - int(left.weights[~filled].sum())
        if lacking <= 0 or not filled.any():
            break
        rows = left.table(left.weights).take(filled).ordered()
        prices = np.add.reduceat(occurrences[rows.codes], rows.offsets[:-1])
        gains = np.minimum(rows.supports, lacking)
        order = np.lexsort((prices, gains))
        cheapest = order[np.flatnonzero(np.diff(gains[order], prepend=-1))].tolist()  # one of each gain
        best = min(cheapest, key=lambda row: (Fraction(int(prices[row]), int(gains[row])), row))
        gone[rows.codes[rows.offsets[best] : rows.offsets[best + 1]]] = True
    spare = -lacking
    emptied = index.within(index.keep_items(~gone).lengths == 0)
    starts, holders, _ = emptied.transpose
    is_empty = np.ones(len(emptied.weights), np.bool_)
    for label in sorted(np.flatnonzero(gone).tolist(), key=lambda each: (-occurrences[each], each)):
        own = holders[starts[label] : starts[label + 1]]
        own = own[is_empty[own]]
        if (back := int(emptied.weights[own].sum())) <= spare:
            gone[label], spare = False, spare - back
            is_empty[own] = False
    return np.flatnonzero(gone)


def _without_threats(recoding: Recoding, itemsets: Itemsets, threats: Itemsets) -> Recoding:
    """Suppress the label with the fewest occurrences of each threat (ties: label order)."""
    if not len(threats.lengths) or not threats.lengths.all():
        raise InfeasibleError(
            "fewer than k rows would lose all their items, and hiding them breaks the guarantee",
            where="k",
            hint="choose a smaller k",
        )
    became = recoding.targets[itemsets.codes]
    kept = became >= 0
    weights = SupportIndex.of(itemsets).weights[itemsets.rows[kept]]
    occurrences = sums(became[kept], weights, len(recoding.labels))
    label_of = codes_of(threats.texts(), recoding.labels.cast(pa.string()).to_pylist())
    gone = [
        min(label_of[threats.codes[start:end]].tolist(), key=lambda each: (occurrences[each], each))
        for start, end in pairwise(threats.offsets.tolist())
    ]
    return _without(recoding, itemsets, became.astype(np.int64), np.array(gone, np.int64))
