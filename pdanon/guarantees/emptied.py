"""Emptied rows: those that lost all their items, and that fewer than k would single out.

A row without labels in a release that suppresses had no item, or lost all of its items. Whoever knows that no
row of the original was empty knows that each of these rows had suppressed items and no others. So there are
none or at least k of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.mapping import check_mapping

__all__ = [
    "EMPTY_ROWS",
    "ROWS_WITHOUT_PUBLIC",
    "Suppression",
    "counts_emptied",
    "emptied_row",
    "few_emptied",
    "few_without",
    "with_emptied",
]

EMPTY_ROWS, ROWS_WITHOUT_PUBLIC = "empty_rows", "rows_without_public"  # attributes of a mapping table
_Guarantee = TypeVar("_Guarantee")


@dataclass(frozen=True, slots=True)
class Suppression:
    """What the mapping of a release tells of its rows without labels.

    Parameters
    ----------
    suppresses : bool
        Whether an item that some row has was suppressed in a row.
    empty_rows : int
        How many rows had no item before. Where rows form classes: how many of those that `few_without` finds.
    rows_without_public : int
        How many rows had no public item before, where items are public or private.
    """

    suppresses: bool
    empty_rows: int
    rows_without_public: int

    @classmethod
    def of(cls, mapping: Any) -> Suppression | None:
        """Read a mapping table, or what was kept of one; None tells nothing.

        Raises
        ------
        ParameterError
            If it is no mapping table, or an attribute of it is no number of rows.
        """
        if mapping is None or isinstance(mapping, cls):
            return mapping
        known: Suppression | None = getattr(mapping, "suppression", None)
        if known is not None:
            return known
        check_mapping(mapping)
        gone = mapping["generalized"].isna().to_numpy(bool)
        if "support" in mapping:
            gone = gone & ~mapping["support"].isin([0]).to_numpy(bool)
        return cls(bool(gone.any()), *(_rows_of(mapping, name) for name in (EMPTY_ROWS, ROWS_WITHOUT_PUBLIC)))


def _rows_of(mapping: pd.DataFrame, name: str) -> int:
    """A number of rows among the attributes of a mapping table; 0 if it is not there."""
    n_rows = mapping.attrs.get(name, 0)
    if isinstance(n_rows, bool) or not isinstance(n_rows, int) or n_rows < 0:
        problem = "a mapping table has an attribute that is no number of rows"
        raise ParameterError(problem, where=f"mapping.attrs[{name!r}]", got=type(n_rows).__name__)
    return n_rows


def few_without(
    is_empty: NDArray[np.bool_], is_shown: NDArray[np.bool_], class_of: NDArray[np.int64], k: int
) -> NDArray[np.bool_]:
    """Which rows have no label, while fewer than k of their class have none, and others have some.

    Parameters
    ----------
    is_empty : ndarray of bool, shape (rows,)
        Which rows of a released column have no label. Missing ones have neither.
    is_shown : ndarray of bool, shape (rows,)
        Which rows have one.
    class_of : ndarray of int64, shape (rows,)
        The class of each row.
    k : int
        How many are to look alike.
    """
    empty = np.bincount(class_of[is_empty], minlength=int(class_of.max(initial=0)) + 1)
    shown = np.bincount(class_of[is_shown], minlength=len(empty))
    return is_empty & ((shown > 0) & (empty < k))[class_of]


def few_emptied(itemsets: Itemsets, k: int | None, told: Suppression | None) -> int:
    """How many rows of a release were emptied, if these are too few: fewer than k, and others have labels.

    Parameters
    ----------
    itemsets : Itemsets
        The released column.
    k : int or None
        How many are to look alike; None: that is not demanded.
    told : Suppression, optional
        What the mapping tells. Without it nothing is known to be suppressed.
    """
    if k is None or told is None or not told.suppresses:
        return 0
    is_empty = (itemsets.lengths == 0) & ~itemsets.nulls
    if not itemsets.lengths.any():
        return 0
    empty = int(is_empty.sum() if itemsets.weights is None else itemsets.weights[is_empty].sum())
    emptied = max(empty - told.empty_rows, 0)
    return emptied if emptied < k else 0


def with_emptied(
    audit: Audit, emptied: int, n_present: int, list_emptied: Callable[[], pd.DataFrame]
) -> Audit:
    """The verdict of an audit that has not looked at emptied rows, and of these.

    Parameters
    ----------
    audit : Audit
        The verdict.
    emptied : int
        How many rows are at risk because they were emptied.
    n_present : int
        How many rows are not missing: all of them may be at risk already.
    list_emptied : callable
        Lists them as threats.
    """
    if not emptied:
        return audit

    def list_threats() -> pd.DataFrame:
        parts = [part for part in (list_emptied(), audit.threats) if len(part)]
        return pd.concat(parts, ignore_index=True)

    at_risk = max(audit.rows_at_risk, min(audit.rows_at_risk + emptied, n_present))
    return Audit(audit.guarantee, at_risk, list_threats)


def counts_emptied(
    recount: Callable[[_Guarantee, ListColumns], Audit],
) -> Callable[[_Guarantee, ListColumns], Audit]:
    """Have the recount of a guarantee with ``k`` and ``mapping`` count emptied rows, too."""

    @wraps(recount)
    def counted(self: Any, columns: ListColumns) -> Audit:
        audit, itemsets = recount(self, columns), columns.itemsets
        emptied = few_emptied(itemsets, self.k, Suppression.of(self.mapping))
        return with_emptied(audit, emptied, itemsets.n_present, partial(emptied_row, itemsets, emptied))

    return counted


def emptied_row(itemsets: Itemsets, emptied: int) -> pd.DataFrame:
    """Rows without labels, as a threat."""
    none = Itemsets(np.empty(0, np.int32), np.zeros(2, np.int64), itemsets.vocabulary, np.zeros(1, np.bool_))
    return pd.DataFrame({"itemset": none.to_pandas(), "support": [emptied], "why": "emptied"})
