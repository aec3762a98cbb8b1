"""k-anonymity: whoever knows the quasi-identifiers of a person finds at least k rows that have them.

Samarati, "Protecting Respondents' Identities in Microdata Release", IEEE TKDE 13(6), 2001.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ColumnError
from pdanon.guarantees.parameters import check_k
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.alike import joined, value_numbers
from pdanon.itemsets.columns import find_quasi, quasi_labels

__all__ = ["KAnonymity", "equal_rows"]


@dataclass(frozen=True)
class KAnonymity:
    """Every combination of quasi-identifiers that occurs is in at least k rows.

    Parameters
    ----------
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.

    Raises
    ------
    ParameterError
        If k is out of range, or no column is named, or one twice.

    Notes
    -----
    A missing value is a value: rows that lack it are alike. Values are alike if they are equal and look
    alike: 1, True and 1.0 are equal, but do not, as 0.0 and -0.0, or None and NaN among Python's objects.

    References
    ----------
    .. [1] P. Samarati, "Protecting Respondents' Identities in Microdata Release", IEEE Transactions on
       Knowledge and Data Engineering 13(6), 2001.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [30, 30, 41], "sex": ["f", "f", "f"]})
    >>> audit = pdanon.audit(df, pdanon.KAnonymity(k=2, quasi=["age", "sex"]))
    >>> audit.holds, audit.rows_at_risk
    (False, 1)
    >>> audit.threats
       age sex  size
    0   41   f     1
    """

    k: int
    quasi: Sequence[Hashable]

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "quasi", quasi_labels(self.quasi))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with these columns, released or not.
        column : hashable, optional
            Not used: lists of items play no part.

        Returns
        -------
        Audit
            ``threats`` has one row for each combination that is in fewer than k rows: the
            quasi-identifiers, and its ``size``.

        Raises
        ------
        ColumnError
            If a quasi-identifier does not exist, is there twice, or holds lists.
        """
        positions = find_quasi(frame, self.quasi)
        classes = equal_rows(frame, positions)
        sizes = np.bincount(classes)

        def list_threats() -> pd.DataFrame:
            _, first = np.unique(classes, return_index=True)
            rows = np.sort(first[sizes < self.k])
            threats = frame.iloc[rows, positions].reset_index(drop=True)
            threats.insert(len(positions), "size", sizes[classes[rows]], allow_duplicates=True)
            return threats

        return Audit(self, int(sizes[sizes < self.k].sum()), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> KAnonymity:
        """Return the guarantee itself: it speaks of published values only."""
        return self


def equal_rows(frame: pd.DataFrame, positions: Sequence[int]) -> NDArray[np.int64]:
    """Number of the combination of values that each row has in some columns; missing ones are alike."""
    classes = np.zeros(len(frame), np.int64)
    for position in positions:
        numbers = value_numbers(frame.iloc[:, position])
        if numbers is None:
            problem, hint = "the values of a quasi-identifier cannot be compared", "make them text"
            raise ColumnError(problem, where="quasi", got=frame.columns[position], hint=hint)
        classes = joined(classes, numbers)
    return classes
