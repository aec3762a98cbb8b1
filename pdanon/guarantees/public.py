"""k-anonymity of the public items: who knows all of a row's public items finds k rows with just these.

The baseline of Xu, Wang, Fu, Yu, "Anonymizing Transaction Databases for Publication", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, refuse_within_labels
from pdanon.guarantees.parameters import check_k
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.bags import visible
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable, concatenated, empty_itemset

__all__ = ["PublicK"]


@dataclass(frozen=True, eq=False, repr=False)
class PublicK:
    """Every row has the same public items as at least k - 1 other rows.

    Parameters
    ----------
    k : int
        Least number of rows; at least 2.
    public : list of items, or Series of bool
        The public items, or whether an item is public, by item. Those that do not occur are in no row.
    mapping : DataFrame, optional
        The mapping table of the release, which says what labels stand for. Without it, labels are read.

    Raises
    ------
    ParameterError
        If k is out of range, a Series of booleans says both of an item, or a public item has become something
        else.
    ItemsetDtypeError
        If the public items are of several types.

    Notes
    -----
    The attacker knows all public items of a person, and which ones the person does not have. Nothing is said
    about the other items of the matching rows. Missing rows are not alike to rows without public items: if
    there are some, there are k.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "tea"], ["rice"]]})
    >>> df.txanon.audit(pdanon.PublicK(k=2, public=["rice", "tea"])).threats
        itemset  support    why
    0  ['rice']        1  class
    """

    k: int
    public: Any
    mapping: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "public", NamedItems.of(self.public, "public"))
        object.__setattr__(self, "mapping", Told.of(self.mapping, self.public, "public"))

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
            ``threats`` are the public parts that fewer than k rows have; ``support`` is the number of rows
            that have exactly these public items. Missing rows come last, as one that is missing.

        Raises
        ------
        ParameterError
            If a public item is a member of a published set.
        """
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=visible))

    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are; `audit` reads them from a frame and does this."""
        itemsets = columns.itemsets
        refuse_within_labels(itemsets, self.public, "public", self.mapping)
        public = self.public.find(itemsets.vocabulary) >= 0
        present = itemsets.take(np.flatnonzero(~itemsets.nulls))
        classes = SupportIndex.of(present).holding_only(public).distinct()
        small = ItemsetTable(classes.codes, classes.offsets, classes.weights).take(classes.weights < self.k)
        missing = SupportIndex.of(itemsets).n_rows - itemsets.n_present
        few = missing if missing < self.k else 0

        def list_threats() -> pd.DataFrame:
            listed = [small.ordered(), *[empty_itemset(few)] * bool(few)]
            return threat_table(itemsets, concatenated(listed), "class", missing=bool(few))

        return Audit(self, int(small.supports.sum()) + few, list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> PublicK:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        return f"PublicK(k={self.k}, public={len(self.public)} items)"
