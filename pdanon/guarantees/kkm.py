"""(k,k^m)-anonymity: whoever knows the quasi-identifiers and up to m items finds at least k rows.

Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos, "Anonymizing Data with Relational and Transaction
Attributes", ECML PKDD 2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.km import threat_table
from pdanon.guarantees.relational import equal_rows
from pdanon.itemsets import Itemsets, find_column
from pdanon.parameters import check_k, check_m, find_quasi, quasi_labels
from pdanon.result import Audit
from pdanon.support import ItemsetTable, SupportIndex

__all__ = ["KKm"]


@dataclass(frozen=True)
class KKm:
    """Rows of equal quasi-identifiers are k or more, and k^m-anonymous among themselves.

    Parameters
    ----------
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows, besides the quasi-identifiers; at least 1. None: all items of a
        row.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.

    Raises
    ------
    ParameterError
        If k or m is out of range, or no column is named, or one twice.

    Notes
    -----
    It implies ``KAnonymity(k, quasi)`` and ``KmAnonymity(k, m)``; the two together do not imply it.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"sex": list("ffmm"), "items": [["tea"], ["tea"], ["tea"], ["tea", "rice"]]})
    >>> audit = df.txanon.audit(pdanon.KKm(k=2, m=2, quasi=["sex"]))
    >>> audit.holds, audit.rows_at_risk
    (False, 1)
    >>> audit.threats
      sex   itemset  support   why
    0   m  ['rice']        1  rare
    """

    k: int
    m: int | None
    quasi: Sequence[Hashable]

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "quasi", quasi_labels(self.quasi))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with these columns and a list column, released or not.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` has the quasi-identifiers of a class, ``itemset, support`` and ``why``: first, with
            the empty itemset, the classes of fewer than k rows, then the minimal rare itemsets of the
            others; with ``m=None`` their rare rows.

        Raises
        ------
        ColumnError, ItemsetDtypeError
            If a column does not exist, is there twice, or is not what it should be.

        Notes
        -----
        Exact. Items are counted class by class, in one pass: the same item in two classes is two items.
        Cost as for ``KmAnonymity``.
        """
        positions = find_quasi(frame, self.quasi)
        itemsets = Itemsets.from_series(frame.iloc[:, find_column(frame, column)])
        classes = equal_rows(frame, positions)
        small = (np.bincount(classes) < self.k)[classes]
        index, pairs = _index_by_class(itemsets, classes, ~small)
        exposed = small | (index.exposure(self.k, self.m) > 0)

        def list_threats() -> pd.DataFrame:
            rare = index.rare_rows(self.k) if self.m is None else index.rare(self.k, self.m).ordered()
            owners, codes = np.divmod(pairs[rare.codes], max(itemsets.n_items, 1))
            few, sizes = np.unique(classes[small], return_counts=True)
            rare = ItemsetTable(
                codes.astype(np.int32),
                np.concatenate((np.zeros(len(few), np.int64), rare.offsets)),  # first the empty itemsets
                np.concatenate((sizes, rare.supports)),
            )
            of_threat = np.concatenate((few, owners[rare.offsets[len(few) : -1]]))
            names, first = np.unique(classes, return_index=True)
            table = frame.iloc[first[np.searchsorted(names, of_threat)], positions].reset_index(drop=True)
            parts = threat_table(itemsets, rare, "rare")
            parts.loc[: len(few) - 1, "why"] = "class"
            for name in parts:
                table.insert(table.shape[1], name, parts[name], allow_duplicates=True)
            return table

        return Audit(self, int(np.count_nonzero(exposed)), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> KKm:
        """Return the guarantee itself: it speaks of published values and labels only."""
        return self


def _index_by_class(
    itemsets: Itemsets, classes: NDArray[np.int64], counted: NDArray[np.bool_]
) -> tuple[SupportIndex, NDArray[np.int64]]:
    """Index the counted rows by pairs of class and item, so that no itemset is in two classes.

    Returns the index, and ``class * items + item`` of each pair.
    """
    kept = counted[itemsets.rows]
    keys = classes[itemsets.rows[kept]] * max(itemsets.n_items, 1) + itemsets.codes[kept]
    pairs, codes = np.unique(keys, return_inverse=True)
    lengths = np.where(counted, itemsets.lengths, 0)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return SupportIndex(codes.astype(np.int32), offsets, len(pairs)), pairs
