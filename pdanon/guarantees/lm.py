"""l^m-diversity: with up to m known items, no sensitive item is inferred with a confidence above 1/l.

Terrovitis, Mamoulis, Kalnis, "Local and Global Recoding Methods for Anonymizing Set-valued Data", The VLDB
Journal 20(1), 2011.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.breaches import rows_at_risk, split_rows, threats
from pdanon.guarantees.emptied import counts_emptied
from pdanon.guarantees.named import MappedItems, NamedItems, named_items, refuse_ambiguous
from pdanon.guarantees.parameters import ItemLimit, check_k, check_m
from pdanon.guarantees.verdict import Audit, read_lists, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import empty_itemset
from pdanon.itemsets.validation import check_count


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class LmDiversity:
    """No sensitive item is in more than 1/l of the rows that match up to m known items.

    All items that are not sensitive may be known; the attacker knows no sensitive item. An attacker without
    any knowledge is covered, too: no sensitive item is in more than 1/l of the rows that are not missing.

    Parameters
    ----------
    l : int
        A sensitive item is in at most 1/l of the matching rows; at least 2.
    m : int or None
        Maximum number of known items; at least 1. None: all known items of a row.
    sensitive : iterable
        The sensitive items, with the type that they have in the frame.
    k : int, optional
        Also require ``KmAnonymity(k, m)`` of the known items: at least k rows match.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label.

    Raises
    ------
    ParameterError
        If a parameter is out of range, no sensitive item is given, or the mapping generalizes one.
    ItemsetDtypeError
        If the sensitive items are of several types.

    Notes
    -----
    Diversity does not prevent singling out: a single matching row without a sensitive item is diverse.
    Therefore k is a parameter of this guarantee, and algorithms set it: a release has one guarantee, which
    covers all that was requested.

    A set of sensitive items is in no more rows than each of its items, so it needs no test. It may be certain
    that a person has some sensitive item, without knowing which.

    An attacker may know that a row is not missing, and exclude missing rows, so they count nowhere.

    Rows are counted by label. Diversity over labels implies diversity over items only if no item has two
    labels in a row: then the rows with an item are the rows with its label.

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

    if TYPE_CHECKING:  # "all" is stored as None

        def __init__(
            self,
            *,
            l: int,  # noqa: E741
            m: ItemLimit,
            sensitive: Any,
            k: int | None = None,
            mapping: Any = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", check_count(self.l, "l", least=2))
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "k", None if self.k is None else check_k(self.k))
        object.__setattr__(self, "mapping", MappedItems.of(self.mapping, self.sensitive, "sensitive"))

    def is_sensitive(self, itemsets: Itemsets) -> NDArray[np.bool_]:
        """Return whether each item is sensitive; all must occur, as a support of 0 would prove nothing."""
        return named_items(itemsets, self.sensitive, "sensitive", self.mapping)

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with a list column that contains the sensitive items, released or not.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` are the minimal itemsets of at most m known items with fewer than k matching rows
            (``why`` is ``rare``), or with a sensitive item in more than 1/l of them (``diversity``). If the
            empty itemset is a threat, all rows that are not missing are at risk.

        Raises
        ------
        ParameterError
            If a sensitive item does not occur, or is a member of a published set; or two published sets in a
            row share a member.

        Notes
        -----
        Exact. Time grows with the number of itemsets of fewer than m known items that more than k/l rows with
        the same sensitive item contain, and with the number of items that extend each itemset.
        """
        return self.recount(read_lists(frame, column))

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        itemsets = columns.itemsets
        refuse_ambiguous(itemsets, self.sensitive, "sensitive", self.mapping)
        known, secrets = split_rows(itemsets, self.is_sensitive(itemsets))
        n_rows = itemsets.n_present
        rare, frequent = 0 < n_rows < (self.k or 1), int(secrets.singles.max(initial=0)) * self.l > n_rows
        if rare or frequent:  # the empty itemset is the only minimal threat
            why = "rare" if rare else "diversity"
            return Audit(self, n_rows, lambda: threat_table(itemsets, empty_itemset(n_rows), why))
        bounds: Any = {"share": Fraction(1, self.l), "m": self.m, "k": self.k or 1}

        def list_threats() -> pd.DataFrame:
            found = threats(known, secrets, **bounds)
            rare = found.supports < (self.k or 1)
            return threat_table(itemsets, found, np.where(rare, "rare", "diversity"))

        at_risk = rows_at_risk(known, secrets, **bounds)
        return Audit(self, int(known.weights[at_risk].sum()), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> LmDiversity:
        """Return the guarantee for a release with this mapping."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        k = "" if self.k is None else f", k={self.k}"
        return f"LmDiversity(l={self.l}, m={self.m}, sensitive={len(self.sensitive)} items{k})"
