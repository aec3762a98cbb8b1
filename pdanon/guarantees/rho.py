"""rho-uncertainty: whatever items of a row are known, no sensitive one can be inferred with more than rho.

Cao, Karras, Raïssi, Tan, "rho-uncertainty: Inference-Proof Transaction Anonymization", PVLDB 3(1), 2010.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.guarantees.inferences import Owners
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, named_items, refuse_overlaps, refuse_within_labels
from pdanon.guarantees.parameters import check_m, check_open_share, shown_share
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.bags import visible
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.support import SupportIndex

__all__ = ["RhoUncertainty"]

_REMEDY = (
    "cahd keeps all of them, as counts of groups of rows; where only a few items of a row can be known, m=1 "
    "or a larger rho may keep some"
)


@dataclass(frozen=True, repr=False)
class RhoUncertainty:
    """Of the rows that hold some items, no more than a share rho hold any one sensitive item besides.

    Precisely: for each sensitive item, and each set of other items that is in a row with it, the item is in
    at most a share rho of the rows that hold the set. The items of the set may be sensitive themselves. The
    empty set is one of them: the item is in at most that share of the rows that are not missing.

    Parameters
    ----------
    rho : float
        Largest share, above 0 and below 1.
    sensitive : iterable
        The sensitive items, as the frame has them.
    m : int, optional
        Most items that the attacker knows; at least 1. By default any number.
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
    Without m, a set of any size is meant, and the audit searches for one: over closed sets of the rows that
    hold the sensitive item, and with a limit. If that is reached, the guarantee of the audit, and of a
    release, has an m: the size up to which it is proven.

    A set of sensitive items is in no more rows than each of them, and needs no test of its own. That a person
    has some sensitive item, whichever it is, may be certain. Identity is not protected.

    Rows are counted by label: it is the same for items only if no item has two labels in a row, so that who
    knows the item finds the rows of its label.

    References
    ----------
    .. [1] J. Cao, P. Karras, C. Raïssi, K.-L. Tan, "rho-uncertainty: Inference-Proof Transaction
       Anonymization", PVLDB 3(1), 2010.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "flu"], ["rice", "tea"], ["tea"]]})
    >>> audit = df.txanon.audit(pdanon.RhoUncertainty(rho=0.5, sensitive=["flu"]))
    >>> audit
    Audit(holds=False, rows_at_risk=3, guarantee=RhoUncertainty(rho=0.5, sensitive=1 items))
    >>> audit.threats
        itemset  support        why sensitive  confidence
    0  ['rice']        3  inference       flu    0.666667
    """

    rho: Any
    sensitive: Any
    m: int | None = None
    mapping: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        hint = "1 would allow certainty, and with 0 no sensitive item could be in a row: rho=0.5"
        object.__setattr__(self, "rho", check_open_share(self.rho, "rho", hint))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "m", check_m(self.m))
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
            ``threats`` has a line for each inference: ``itemset``, what is known; ``support``, how many rows
            hold it; ``why`` (``inference``); ``sensitive``, the item; ``confidence``, the share of the rows
            that hold it, too. No subset of an itemset leads to the same item. All rows that are not missing
            are at risk if the empty itemset is one.

            Without m, and if something is found, at least as many rows are at risk as are counted, and
            threats of more items than could be listed need not be minimal.

            ``guarantee`` has the m up to which it was proven, if that is not any.

        Raises
        ------
        ParameterError
            If a sensitive item does not occur, or is a member of a published set; or two published sets in a
            row share a member.

        Notes
        -----
        Exact for an m that is given: time grows with the itemsets of fewer than m items that so many of the
        rows with a sensitive item hold that it may be a breach, and with the rows that hold each. Before that
        each row with a sensitive item is compared with those that hold the rarest of its other items. Without
        m it ends after some hundred million steps of each part of the search.
        """
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=visible))

    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are; `audit` reads them from a frame and does this."""
        itemsets = columns.itemsets
        refuse_within_labels(itemsets, self.sensitive, "sensitive", self.mapping)
        if self.mapping is None:  # it has one label for an item
            refuse_overlaps(itemsets)
        sensitive = self.is_sensitive(itemsets)
        owners = Owners.of(SupportIndex.of(itemsets), sensitive, self.rho, itemsets.n_present)
        if len(owners.frequent):
            return Audit(self, itemsets.n_present, lambda: self._threats(itemsets, owners))
        at_risk, m = owners.at_risk(self.m)
        return Audit(
            self if at_risk else replace(self, m=m), at_risk, lambda: self._threats(itemsets, owners)
        )

    def _threats(self, itemsets: Itemsets, owners: Owners) -> pd.DataFrame:
        """The inferences as a DataFrame."""
        told = owners.told(self.m)
        table = threat_table(itemsets, told.antecedents, "inference")
        items = itemsets.vocabulary.take(pa.array(told.sensitive))
        table["sensitive"] = pd.array(items, dtype=pd.ArrowDtype(items.type))
        table["confidence"] = told.together / told.antecedents.supports
        return table

    def with_mapping(self, mapping: pd.DataFrame) -> RhoUncertainty:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def gone(self) -> tuple[str, str]:
        """That all sensitive items are suppressed, and what to do; two empty texts if one is left."""
        if self.mapping is None or len(self.mapping.left_out) < len(self.sensitive):
            return "", ""
        return f"All sensitive items ({len(self.sensitive):,}) are suppressed", _REMEDY

    def __repr__(self) -> str:
        m = "" if self.m is None else f", m={self.m}"
        return f"RhoUncertainty(rho={shown_share(self.rho)}, sensitive={len(self.sensitive)} items{m})"
