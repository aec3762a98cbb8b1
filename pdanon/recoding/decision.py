"""Decided: what is known of a release before its rows are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import InfeasibleError
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.chunks import ChunkTable
from pdanon.itemsets.compatibility import number_texts
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.mapping import mapping_labels
from pdanon.recoding.labels import Labels, relabelled_sets
from pdanon.recoding.loss import information_loss, with_measure
from pdanon.recoding.recoding import Recoding, label_column, mapping_table

__all__ = ["Decided"]


@dataclass(frozen=True, eq=False, slots=True)
class Decided:
    """What an algorithm has decided; nothing is audited until rows are written.

    Parameters
    ----------
    columns : ListColumns
        What it was decided for, with missing rows as empty ones where they are to be published so.
    recoding : Recoding
        What becomes of the items of the list column.
    guarantee : Guarantee
        What the release must fulfil; it knows the mapping.
    mapping : pandas.DataFrame
        What each item becomes: ``group, item, generalized, support``.
    loss : pandas.Series
        Information loss by measure.
    parameters : mapping
        What was asked, for the record.
    trace : pandas.DataFrame, optional
        The loss over time, if what was found first was refined.
    problem : InfeasibleError, optional
        Why this is no more than an attempt, which is not to be released.
    chunks : ChunkTable, optional
        What is published instead of rows, if these are published in parts.
    classes : pandas.DataFrame, optional
        A table that is published beside the rows.
    added : mapping
        By label, the values of columns that the released frame has beyond those of the original.
    """

    columns: ListColumns
    recoding: Recoding
    guarantee: Guarantee
    mapping: pd.DataFrame
    loss: pd.Series[float]
    parameters: Mapping[str, Any]
    trace: pd.DataFrame | None = None
    problem: InfeasibleError | None = None
    chunks: ChunkTable | None = None
    classes: pd.DataFrame | None = None
    added: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        columns: ListColumns,
        recoding: Recoding,
        guarantee: Guarantee,
        parameters: Mapping[str, Any] | None = None,
        *,
        trace: pd.DataFrame | None = None,
        problem: InfeasibleError | None = None,
    ) -> Decided:
        """Measure a recoding, and tell the guarantee of it; parameters as those of the class.

        Of ``parameters`` an algorithm gives those that are not recorded as they were asked.
        """
        changes = recoding.changes(columns.itemsets)
        mapping = mapping_table(columns.itemsets, recoding, changes)
        loss = information_loss(columns.itemsets, recoding, changes)
        prepared = replace(columns, itemsets=recoding.prepared(columns.itemsets))
        known = guarantee.with_mapping(mapping)
        return cls(prepared, recoding, known, mapping, loss, parameters or {}, trace, problem)

    def with_labels(self, labels: Labels) -> Decided:
        """The same with sets that are called otherwise."""
        recoding = relabelled_sets(self.recoding, self.columns.itemsets, labels)
        if recoding is self.recoding:
            return self
        before = mapping_labels(self.mapping, pa.string())
        target = pc.index_in(before.dictionary, value_set=self.recoding.labels).to_numpy()
        targets = np.append(target, -1)[number_texts(before)].astype(np.int32)
        mapping = self.mapping.assign(generalized=label_column(recoding.labels, targets))
        known = self.guarantee.with_mapping(mapping)
        return replace(self, recoding=recoding, guarantee=known, mapping=mapping)

    def with_loss(self, name: str, value: float) -> Decided:
        """The same with one measure more."""
        return replace(self, loss=with_measure(self.loss, name, value))
