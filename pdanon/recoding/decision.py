"""Decisions of algorithms, before their rows are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import InfeasibleError
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.columns import added_label, with_column
from pdanon.itemsets.encoded_columns import ListColumns, write_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats
from pdanon.recoding.bounds import Bound
from pdanon.recoding.emptied import hide_emptied
from pdanon.recoding.loss import information_loss, with_measure
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.risk import risk_of_lists

Rows = TypeVar("Rows")
Rows_co = TypeVar("Rows_co", covariant=True)


def no_risk() -> None:
    """Return None: there is no attacker beyond the guarantee, or nothing to count."""


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
    # counts the risk beyond the guarantee as `Attacker.count`; it holds the rows
    risk: Callable[[], pd.DataFrame | None] = no_risk
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
    groups: NDArray[Any] | None = None  # of each row of the original, if groups are recoded separately
    classes: pd.DataFrame | None = None  # the table of the groups, or one that is published with the frame
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
