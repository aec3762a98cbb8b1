"""k^m-anonymity: whoever knows up to m items of a row finds at least k rows that hold them.

Terrovitis, Mamoulis, Kalnis, "Privacy-preserving Anonymization of Set-valued Data", PVLDB 1(1), 2008.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.parameters import check_k, check_m
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.bags import visible, with_first_copies
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable, empty_itemset

__all__ = ["KmAnonymity", "threat_table"]


@dataclass(frozen=True)
class KmAnonymity:
    """Every itemset of at most m items that occurs in a row occurs in at least k rows.

    The empty itemset is one of them: there are at least k rows that are not missing, or none.

    Parameters
    ----------
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; at least 1. None: all items of a row.

    Raises
    ------
    ParameterError
        If k or m is out of range.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Privacy-preserving Anonymization of Set-valued Data",
       PVLDB 1(1), 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice", "salt"]]})
    >>> audit = df.txanon.audit(pdanon.KmAnonymity(k=2, m=2))
    >>> audit.holds, audit.rows_at_risk
    (False, 1)
    >>> audit.threats
        itemset  support   why
    0  ['salt']        1  rare
    """

    k: int
    m: int | None = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "m", check_m(self.m))

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
            ``threats`` are the itemsets of at most m labels with fewer than k rows all of whose proper
            subsets have k; with ``m=None`` the rows that fewer than k rows contain, each once. Only the empty
            itemset is listed if that is one.

        Notes
        -----
        Exact. Time grows with the number of itemsets of size at most m whose subsets are all frequent;
        with ``m=None`` with the rows times the support of the rarest item of each.
        """
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=visible))

    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are; `audit` reads them from a frame and does this."""
        itemsets = columns.itemsets
        if 0 < (few := itemsets.n_present) < self.k:
            return Audit(self, few, lambda: threat_table(itemsets, empty_itemset(few), "rare"))
        index = SupportIndex.of(itemsets)
        at_risk = index.at_risk(self.k, self.m)

        def list_threats() -> pd.DataFrame:
            return threat_table(itemsets, index.rare(self.k, self.m), "rare")

        return Audit(self, int(index.weights[at_risk].sum()), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> KmAnonymity:
        """Return the guarantee itself: it speaks of published labels only."""
        return self


def threat_table(
    itemsets: Itemsets, threats: ItemsetTable, why: str | NDArray[np.str_], *, missing: bool = False
) -> pd.DataFrame:
    """Threats as a DataFrame: ``itemset, support, why``; one reason for all, or one for each.

    With ``missing`` the last one stands for the rows that are missing.
    """
    nulls = np.zeros(len(threats), np.bool_)
    nulls[len(nulls) - missing :] = True
    codes, offsets = with_first_copies(threats.codes, threats.offsets, itemsets.vocabulary)
    sets = Itemsets(codes, offsets, itemsets.vocabulary, nulls)
    return pd.DataFrame({"itemset": sets.to_pandas(), "support": threats.supports, "why": why})
