"""l^m-diversity: whoever knows up to m items of a row is no surer than one in l of a sensitive one.

Terrovitis, Mamoulis, Kalnis, "Local and Global Recoding Methods for Anonymizing Set-valued Data", The VLDB
Journal 20(1), 2011.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.breaches import divided, rows_at_risk, threats
from pdanon.guarantees.emptied import counts_emptied
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, named_items, refuse_overlaps, refuse_within_labels
from pdanon.guarantees.parameters import check_k, check_m
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.table import empty_itemset
from pdanon.itemsets.validation import check_count

__all__ = ["LmDiversity"]


@dataclass(frozen=True, repr=False)
class LmDiversity:
    """Of the rows that hold up to m known items, no sensitive item is in more than one in l.

    Known items are all that are not sensitive: sensitive items are what is to be protected, and no part of an
    attacker's knowledge. The empty itemset counts too: it is in all rows that are not missing.

    Parameters
    ----------
    l : int
        At least 2: a sensitive item is in at most 1/l of the matching rows.
    m : int or None
        Most known items that the attacker knows; at least 1. None: all of a row.
    sensitive : iterable
        The sensitive items, as the frame has them.
    k : int, optional
        Also demand ``KmAnonymity(k, m)`` of the known items: at least k rows match.
    mapping : DataFrame, optional
        The mapping table of the release, which says what labels stand for. Without it, labels are read.

    Raises
    ------
    ParameterError
        If a parameter is out of range, no sensitive item is given, or one has become something else.
    ItemsetDtypeError
        If the sensitive items are of several types.

    Notes
    -----
    Diversity alone does not hide a row: one row that matches and holds no sensitive item is diverse. So k is
    a part of this guarantee, and algorithms set it: a release has one guarantee, which is all that was
    asked for.

    A set of sensitive items is in no more rows than each of them, and needs no test of its own. That a person
    has some sensitive item, whichever it is, may be certain.

    Missing rows hold no item, sensitive or not, and hide none: an attacker who knows that a row holds data
    leaves them out.

    Rows are counted by label. Diversity over labels is diversity over items only if no item has two labels in
    a row, so that who knows the item finds the rows of its label.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and Global Recoding Methods for Anonymizing
       Set-valued Data", The VLDB Journal 20(1), 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "flu"], ["rice", "tea"], ["tea", "flu"], ["tea"], ["tea"]]})
    >>> audit = df.txanon.audit(pdanon.LmDiversity(l=2, m=1, sensitive=["flu"]))
    >>> audit.holds
    True
    >>> audit = df.txanon.audit(pdanon.LmDiversity(l=2, m=2, sensitive=["flu"], k=2))
    >>> audit
    Audit(holds=False, rows_at_risk=1, guarantee=LmDiversity(l=2, m=2, sensitive=1 items, k=2))
    >>> audit.threats
               itemset  support   why
    0  ['rice' 'tea']        1  rare
    """

    l: int  # noqa: E741  (its name in the literature)
    m: int | None
    sensitive: Any
    k: int | None = None
    mapping: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", check_count(self.l, "l", least=2))
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "k", None if self.k is None else check_k(self.k))
        object.__setattr__(self, "mapping", Told.of(self.mapping, self.sensitive, "sensitive"))

    def is_sensitive(self, itemsets: Itemsets) -> NDArray[np.bool_]:
        """Which items of a column are sensitive.

        Raises
        ------
        ParameterError
            If a sensitive item does not occur: that it has support 0 would prove nothing.
        """
        return named_items(itemsets, self.sensitive, "sensitive", self.mapping)

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with a list column that holds the sensitive items, released or not.
        column : hashable, optional
            That column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` are the itemsets of at most m known items that match too few rows (``why`` is
            ``rare``) or give a sensitive item away (``diversity``), and no subset of which does. All rows
            that are not missing are at risk if the empty itemset is one.

        Raises
        ------
        ParameterError
            If a sensitive item does not occur, or is a member of a published set; or two published sets in a
            row share a member.

        Notes
        -----
        Exact. Time grows with the itemsets of fewer than m known items that more than k/l rows with the same
        sensitive item hold, and with the items that follow each in its rows.
        """
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=read_visible))

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are; `audit` reads them from a frame and does this."""
        itemsets = columns.itemsets
        refuse_within_labels(itemsets, self.sensitive, "sensitive", self.mapping)
        if self.mapping is None:  # it has one label for an item
            refuse_overlaps(itemsets)
        known, secrets = divided(itemsets, self.is_sensitive(itemsets))
        n_rows = itemsets.n_present
        rare, frequent = 0 < n_rows < (self.k or 1), int(secrets.singles.max(initial=0)) * self.l > n_rows
        if rare or frequent:
            why = "rare" if rare else "diversity"
            return Audit(self, n_rows, lambda: threat_table(itemsets, empty_itemset(n_rows), why))
        asked: Any = {"share": Fraction(1, self.l), "m": self.m, "k": self.k or 1}

        def list_threats() -> pd.DataFrame:
            found = threats(known, secrets, **asked)
            rare = found.supports < (self.k or 1)
            return threat_table(itemsets, found, np.where(rare, "rare", "diversity"))

        at_risk = rows_at_risk(known, secrets, **asked)
        return Audit(self, int(known.weights[at_risk].sum()), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> LmDiversity:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        k = "" if self.k is None else f", k={self.k}"
        return f"LmDiversity(l={self.l}, m={self.m}, sensitive={len(self.sensitive)} items{k})"
