"""Decisions for lines outside memory in which a person has several."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pandas.api.types import is_hashable

from pdanon.algorithms.engines import Plan, Recoder
from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees import check_recountable
from pdanon.guarantees.unit_audit import refuse_counts
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.units import UnitRows
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import same_label
from pdanon.itemsets.encoded_columns import ListColumns, collapse_columns
from pdanon.itemsets.mapping import relabel
from pdanon.itemsets.multisets import encode_visible
from pdanon.itemsets.validation import check_flag
from pdanon.recoding.decision import Decision
from pdanon.recoding.unit_release import (
    UnitLines,
    check_countable,
    exposure_error,
    lines_of,
    local_error,
)


@dataclass(frozen=True, slots=True)
class Units:
    """The columns of lines that name persons and their items, and whether repeated lines count."""

    # ``counts``: whether each line with an item is published or counted, instead of the distinct ones.

    unit: Hashable
    item: Hashable
    counts: bool = False

    @classmethod
    def of(cls, unit: Hashable, item: Hashable, counts: Any) -> Units:
        """Check the parameters that name the columns of lines."""
        if item is None:
            hint = "name the column of items, one per line: item='product' (--item product)"
            what = "files and partitions are gathered from lines with one item each, not from lists"
            raise ParameterError(what, where="item", hint=hint)
        for name, label in {"unit": unit, "item": item}.items():
            if not is_hashable(label):
                got = type(label).__name__
                raise ColumnError("a column is named by its label", where=name, got=got)
        if same_label(unit, item):
            hint = "unit names the persons, and item= what they have"
            raise ParameterError("units and items are one column", where="unit", got=f"{unit!r}", hint=hint)
        return cls(unit, item, check_flag(counts, "counts"))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters for a result."""
        return {"unit": self.unit, "item": self.item, "counts": self.counts}

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """Refuse parameters that need all lines at once, or another column."""
        if parameters.get("keep"):
            hint = "leave it out, or read the lines into memory: their labels and values are audited together"
            raise ParameterError("kept columns need all lines at once", where="keep", hint=hint)
        if parameters.get("private") is not None:
            hint = "gather the lines first: pdanon.from_long(frame, by='person', item='product')"
            raise ParameterError("private and unit do not go together", where="private", hint=hint)

    def check_audit(self, guarantee: Guarantee, columns: list[Hashable]) -> None:
        """Check that the sets or bags of persons suffice for an audit of a table with some columns."""
        refuse_counts(guarantee, self.counts)
        if others := [name for name in columns if name not in (self.unit, self.item)]:
            hint = "leave out these columns, or read the lines into memory: all columns are audited together"
            what = "other columns of lines need all lines at once"
            raise ParameterError(what, where="unit", got=f"columns {others}", hint=hint)


def encode_units(rows: UnitRows, *, repeats: bool) -> Itemsets:
    """Return the sets of persons, or their bags, for the rows of a part of a table with whole persons."""
    found = rows.gather(repeats=repeats)
    return encode_visible(found.to_arrow()) if repeats else found


def decide_lines(found: ListColumns, decide: Plan, units: Units) -> Decision[UnitLines]:
    """Decide for the sets of persons, and make the lines."""
    # ``found``: the distinct sets of persons or, if lines count, their bags, with weights. ``decide``: what
    # decides for distinct transactions. ``units``: the columns of the lines.
    decision = decide.by_rows(_as_sets(found) if units.counts else found)
    weights = found.itemsets.weights
    assert weights is not None  # of distinct sets
    if units.counts:
        check_countable(decision.guarantee)
        rows = _label_lines(found.itemsets, decision.rows, decision.parameters.get("algorithm"))
        shown = replace(encode_units(rows, repeats=True), weights=weights)
        audit = check_recountable(decision.guarantee).recount(collapse_columns([[shown]], 1))
        if not audit.holds:
            exposures = [f"how often: {audit.rows_at_risk:,}"]
            raise exposure_error(int(weights.sum()), exposures, counts=True)
    else:
        published = decision.rows.publish(found.itemsets)
        assert published is not None  # all items were counted
        rows, _ = lines_of(Itemsets.from_arrow(published.to_arrow(), repeats=True))
    parameters = {**decision.parameters, **units.parameters}
    return replace(decision.with_rows(UnitLines.of(rows, weights)), parameters=parameters)


def _as_sets(units: ListColumns) -> ListColumns:
    """Return the distinct sets of persons for their bags."""
    bags = units.itemsets
    values = bags.vocabulary.dictionary_encode()
    sets = bags.recode(values.indices.to_numpy(), values.dictionary)
    return collapse_columns([[sets]], 1)


def _label_lines(bags: Itemsets, recoder: Recoder, algorithm: object) -> UnitRows:
    """Return a line for each item of each person that has a label. A person without labels has one line."""
    if recoder.parts is not None:
        raise local_error(algorithm, "leave out counts= (--counts), or ")
    n_items = len(bags.codes)
    items = Itemsets(bags.codes, np.arange(n_items + 1), bags.vocabulary, np.zeros(n_items, np.bool_))
    labels = relabel(items, *recoder.labels, missing_as_empty=True)
    offsets = labels.offsets[bags.offsets]
    lists = pa.LargeListArray.from_arrays(offsets, labels.vocabulary.take(pa.array(labels.codes)))
    return lines_of(Itemsets.from_arrow(lists, repeats=True))[0]
