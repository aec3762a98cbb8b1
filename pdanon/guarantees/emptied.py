"""Emptied rows: rows that lost all of their items by suppression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.verdict import Audit, threat_table
from pdanon.itemsets.codes import Itemsets, Mask, Numbers
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.mapping import check_mapping
from pdanon.itemsets.support import empty_itemsets

EMPTY_ROWS, ROWS_WITHOUT_PUBLIC = "empty_rows", "rows_without_public"  # attributes of a mapping table
_Guarantee = TypeVar("_Guarantee")


@dataclass(frozen=True, slots=True)
class Suppression:
    """Suppressed items and empty rows, read from the mapping of a release."""

    suppresses: bool  # whether an occurring item is suppressed in some row
    empty_rows: int  # rows without items in the original; of rows in classes, only those of `few_without`
    rows_without_public: int  # the same for public items, if items are public or private

    @classmethod
    def of(cls, mapping: Any) -> Suppression | None:
        """Read a mapping, or return the value that was read before; return None if there is none."""
        if mapping is None or isinstance(mapping, cls):
            return mapping
        check_mapping(mapping)
        gone = mapping["generalized"].isna().to_numpy(bool)
        if "support" in mapping and gone.any():
            gone = gone & ~mapping["support"].isin([0]).to_numpy(bool)
        return cls(bool(gone.any()), *(_rows_of(mapping, name) for name in (EMPTY_ROWS, ROWS_WITHOUT_PUBLIC)))


def _rows_of(mapping: pd.DataFrame, name: str) -> int:
    """Return a number of rows from the attributes of a mapping, or 0 if it is missing."""
    n_rows = mapping.attrs.get(name, 0)
    if isinstance(n_rows, bool) or not isinstance(n_rows, int) or n_rows < 0:
        problem = "an attribute of the mapping is not a number of rows"
        raise ParameterError(problem, where=f"mapping.attrs[{name!r}]", got=type(n_rows).__name__)
    return n_rows


def mark_emptied(is_empty: Mask, is_shown: Mask, class_of: Numbers, k: int) -> Mask:
    """Return whether each row is one of fewer than k empty rows of a class with labels."""
    # A missing row is neither empty nor shown.
    empty = np.bincount(class_of[is_empty], minlength=int(class_of.max(initial=0)) + 1)
    shown = np.bincount(class_of[is_shown], minlength=len(empty))
    return is_empty & ((shown > 0) & (empty < k))[class_of]


def count_emptied(itemsets: Itemsets, k: int | None, suppression: Suppression | None) -> int:
    """Count the emptied rows of a release, if they are fewer than k and other rows have labels; else 0."""
    if k is None or suppression is None or not suppression.suppresses:
        return 0
    if not itemsets.lengths.any():
        return 0
    is_empty = (itemsets.lengths == 0) & ~itemsets.nulls
    empty = int(is_empty.sum() if itemsets.weights is None else itemsets.weights[is_empty].sum())
    emptied = max(empty - suppression.empty_rows, 0)
    return emptied if emptied < k else 0


def add_emptied(audit: Audit, emptied: int, n_present: int, itemsets: Itemsets) -> Audit:
    """Add emptied rows to the verdict of an audit; no more rows than are not missing are at risk."""
    if not emptied:
        return audit

    def list_threats() -> pd.DataFrame:
        both = pd.concat([list_emptied(itemsets, emptied), audit.threats], ignore_index=True)
        return both[audit.threats.columns]

    at_risk = max(audit.rows_at_risk, min(audit.rows_at_risk + emptied, n_present))
    return Audit(audit.guarantee, at_risk, list_threats)


def counts_emptied(
    recount: Callable[[_Guarantee, ListColumns], Audit],
) -> Callable[[_Guarantee, ListColumns], Audit]:
    """Decorate the recount of a guarantee with ``k`` and ``mapping``, so that it counts emptied rows, too."""

    @wraps(recount)
    def recount_with_emptied(self: Any, columns: ListColumns) -> Audit:
        audit, itemsets = recount(self, columns), columns.itemsets
        emptied = count_emptied(itemsets, self.k, Suppression.of(self.mapping))
        return add_emptied(audit, emptied, itemsets.n_present, itemsets)

    return recount_with_emptied


def list_emptied(itemsets: Itemsets, emptied: int) -> pd.DataFrame:
    """Return a threat table with the empty itemset, for the emptied rows."""
    return threat_table(itemsets, empty_itemsets(np.array([emptied])), "emptied")
