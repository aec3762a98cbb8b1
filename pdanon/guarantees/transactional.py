"""Transactional k-anonymity: every row is published exactly as at least k - 1 others are.

He, Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization", PVLDB 2(1), 2009.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.parameters import check_k
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.alike import row_numbers
from pdanon.itemsets.bags import Bags
from pdanon.itemsets.columns import find_column

__all__ = ["TransactionalK"]


@dataclass(frozen=True)
class TransactionalK:
    """Every row occurs, as a list of labels, at least k times.

    Parameters
    ----------
    k : int
        Least number of rows that are published alike; at least 2.

    Raises
    ------
    ParameterError
        If k is out of range.

    Notes
    -----
    A label that is in a row twice counts twice, and rows that list the same labels in another order are not
    alike, but for Python's sets, which have none. Releases list labels in ascending order. A row without
    labels is a row like any other: if there are some, there must be k; and if there are missing rows, k of
    these. It implies ``KmAnonymity(k, None)``.

    References
    ----------
    .. [1] Y. He, J. F. Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization",
       PVLDB 2(1), 2009.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice"]]})
    >>> audit = df.txanon.audit(pdanon.TransactionalK(k=2))
    >>> audit.holds, audit.rows_at_risk
    (False, 1)
    >>> audit.threats
        itemset  support   why
    0  ['rice']        1  rare
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with a list column, released or not.
        column : hashable, optional
            That column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` are the distinct rows that occur fewer than k times, with repeated labels
            repeated; ``support`` is how often. Missing rows come last, as one that is missing.
        """
        position = find_column(frame, column)
        bags = Bags.as_seen(frame.iloc[:, position])
        first, sizes = _distinct(bags)
        rare = np.flatnonzero(sizes < self.k)

        def list_threats() -> pd.DataFrame:
            column = bags.take(first[rare]).to_pandas()
            return pd.DataFrame({"itemset": column, "support": sizes[rare], "why": "rare"})

        return Audit(self, int(sizes[rare].sum()), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> TransactionalK:
        """Return the guarantee itself: it speaks of published labels only."""
        return self


def _distinct(bags: Bags) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each kind, and how many there are; missing rows, which are one kind, come last."""
    numbers = row_numbers(bags)
    numbers[bags.nulls] = len(numbers)
    _, first, sizes = np.unique(numbers, return_index=True, return_counts=True)
    return first, sizes
