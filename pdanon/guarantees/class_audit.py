"""Audits of tables that are read in parts, each of whole classes of equal quasi-identifiers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.guarantees import check_recountable
from pdanon.guarantees.emptied import Suppression
from pdanon.guarantees.k_anonymity import KAnonymity
from pdanon.guarantees.kkm import KKm, KLm, QuasiClasses, list_labels
from pdanon.guarantees.named import MappedItems, refuse_overlaps
from pdanon.guarantees.verdict import Audit, Recountable
from pdanon.io.buckets import number_buckets
from pdanon.io.parquet import to_frame
from pdanon.itemsets.columns import find_column, find_quasi
from pdanon.itemsets.lists import Mask

ByClasses: TypeAlias = KAnonymity | KKm | KLm


def check_countable(guarantee: Any) -> Recountable | ByClasses:
    """Check that a guarantee can be audited on list columns alone, or class by class."""
    if isinstance(guarantee, ByClasses):
        return guarantee
    return check_recountable(guarantee, [kind.__name__ for kind in get_args(ByClasses)])


class ClassColumns(NamedTuple):
    """The columns that an audit by class reads: quasi-identifiers, then list columns."""

    labels: list[Any]
    n_quasi: int

    @classmethod
    def of(cls, guarantee: ByClasses, frame: pd.DataFrame, column: Hashable | None) -> ClassColumns:
        """Find the columns of a frame, whose rows are not read."""
        lists = list_labels(guarantee, column)
        quasi, found = find_quasi(frame, guarantee.quasi), [find_column(frame, each) for each in lists]
        return cls([frame.columns[place] for place in [*quasi, *found]], len(quasi))

    @property
    def column(self) -> Hashable | None:
        """The list column, if it is one."""
        return self.labels[-1] if len(self.labels) == self.n_quasi + 1 else None


class ClassPart(NamedTuple):
    """All rows of some classes, as released."""

    frame: pd.DataFrame
    had_none: Mask | None = None  # whether a row had no item in the original; None: unknown


class PartAudit(NamedTuple):
    """Counts of all rows of some classes."""

    rows_at_risk: int  # if no row was emptied
    with_emptied: int  # if the rows that look emptied were emptied; not counted if all of them had no item
    n_emptied: int = 0  # rows that look emptied
    n_empty: int | None = None  # of them, those without an item in the original; None: unknown
    occurring: frozenset[int] = frozenset()  # numbers of the sensitive items that occur


def audit_part(guarantee: ByClasses, column: Hashable | None, part: ClassPart) -> PartAudit:
    """Recount all rows of some classes."""
    at_risk = _of_part(guarantee).audit(part.frame, column).rows_at_risk
    if isinstance(guarantee, KAnonymity):
        return PartAudit(at_risk, at_risk)
    classes = QuasiClasses.of(part.frame, list_labels(guarantee, column), guarantee.quasi)
    occurring: frozenset[int] = frozenset()
    if isinstance(guarantee, KLm):
        if guarantee.mapping is None:
            refuse_overlaps(classes.crowds.itemsets)
        occurring = frozenset(guarantee.sensitive.find(classes.crowds.itemsets.vocabulary).tolist())
    suppresses = guarantee.mapping is not None and guarantee.mapping.suppresses
    few = classes.find_emptied(guarantee.k) if suppresses else []
    n_emptied, n_empty = int(np.sum(few)), None
    if part.had_none is not None:
        n_empty = sum(int(np.count_nonzero(each & part.had_none)) for each in few)
    with_emptied = at_risk
    if n_emptied > (n_empty or 0):
        with_emptied = _of_part(guarantee, emptied=True).audit(part.frame, column).rows_at_risk
    return PartAudit(at_risk, with_emptied, n_emptied, n_empty, occurring)


def list_threats(
    guarantee: ByClasses, column: Hashable | None, part: ClassPart, *, emptied: bool
) -> pd.DataFrame:
    """List the threats of some classes; ``emptied`` if the rows that look emptied were emptied."""
    return _of_part(guarantee, emptied=emptied).audit(part.frame, column).threats


def join_audits(
    guarantee: ByClasses, parts: Sequence[PartAudit], list_parts: Callable[[bool], Iterable[pd.DataFrame]]
) -> Audit:
    """Return the audit of a table, given those of its classes."""
    # ``list_parts`` lists the threats of each part, given whether rows that look emptied were emptied.
    if isinstance(guarantee, KLm):
        occurring = frozenset().union(*(each.occurring for each in parts))
        left_out = frozenset() if guarantee.mapping is None else guarantee.mapping.left_out
        guarantee.sensitive.refuse_unknown({*occurring, *left_out})
    emptied = False
    if isinstance(guarantee, KKm | KLm) and guarantee.mapping is not None:
        known = [each.n_empty for each in parts if each.n_empty is not None]
        if known:
            guarantee = replace(guarantee, mapping=replace(guarantee.mapping, empty_rows=sum(known)))
        emptied = sum(each.n_emptied for each in parts) > guarantee.mapping.empty_rows

    def list_all() -> pd.DataFrame:
        found = [*list_parts(emptied)]
        return pd.concat([each for each in found if len(each)] or found[:1], ignore_index=True)

    at_risk = sum(each.with_emptied if emptied else each.rows_at_risk for each in parts)
    return Audit(guarantee, at_risk, list_all)


def audit_parts(guarantee: ByClasses, parts: Iterable[ClassPart], column: Hashable | None) -> Audit:
    """Recount a table part by part."""
    # Rows with equal quasi-identifiers are in the same part. Parts are read again for the table of threats.

    def list_parts(emptied: bool) -> Iterable[pd.DataFrame]:
        return (list_threats(guarantee, column, part, emptied=emptied) for part in parts)

    return join_audits(guarantee, [audit_part(guarantee, column, part) for part in parts], list_parts)


def _of_part(guarantee: ByClasses, *, emptied: bool = False) -> ByClasses:
    """Return the guarantee for a part, in which a sensitive item need not occur."""
    if isinstance(guarantee, KLm):
        plain = frozenset() if guarantee.mapping is None else guarantee.mapping.plain_labels
        everything = frozenset(range(len(guarantee.sensitive)))
        return replace(guarantee, mapping=MappedItems(emptied, 0, 0, everything, plain))
    return replace(guarantee, mapping=Suppression(emptied, 0, 0)) if isinstance(guarantee, KKm) else guarantee


# --- Rows by class

HAD_NONE = "__had_none__"  # whether the original row had no item
AUDITED = 5_000  # rows that are audited at once; more if the last class has more


def read_classes(rows: pa.Table, n_quasi: int) -> Iterator[ClassPart]:
    """Yield the rows of a bucket of whole classes, some classes at a time; at least one part."""
    # The first columns are the quasi-identifiers. A column `HAD_NONE` is no part of the frames.
    hashes = number_buckets(rows.columns[:n_quasi], 2**62)
    _, class_of, sizes = np.unique(hashes, return_inverse=True, return_counts=True)
    part_of = ((np.cumsum(sizes) - sizes) // AUDITED)[class_of]
    for number in range(int(part_of.max(initial=0)) + 1):
        yield _read_part(rows.take(pa.array(np.flatnonzero(part_of == number))))


def _read_part(table: pa.Table) -> ClassPart:
    had_none = None
    if HAD_NONE in table.column_names:
        had_none = table.column(HAD_NONE).to_numpy()
        table = table.drop_columns([HAD_NONE])
    return ClassPart(to_frame(table), had_none)
