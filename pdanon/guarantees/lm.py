"""l^m-diversity: with up to m known items, no sensitive item is inferred with a confidence above 1/l.

Terrovitis, Mamoulis, Kalnis, "Local and Global Recoding Methods for Anonymizing Set-valued Data", The VLDB
Journal 20(1), 2011.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pdanon.guarantees.breaches import Breaches, split_rows
from pdanon.guarantees.emptied import counts_emptied
from pdanon.guarantees.named import MappedItems, NamedItems, named_items, named_labels
from pdanon.guarantees.parameters import ItemLimit, check_k, check_m
from pdanon.guarantees.verdict import Audit, Exposure, ListModel, Threats
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import Mask
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import check_count


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class LmDiversity(ListModel):
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
        self._store(
            l=check_count(self.l, "l", least=2),
            m=check_m(self.m),
            sensitive=NamedItems.some(self.sensitive, "sensitive"),
            k=None if self.k is None else check_k(self.k),
        )
        self._store(mapping=MappedItems.of_named(self.mapping, self.sensitive))

    def is_sensitive(self, itemsets: Itemsets) -> Mask:
        """Return whether each item is sensitive; all must occur, as a support of 0 would prove nothing."""
        return named_items(itemsets, self.sensitive, self.mapping)

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this.

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
        itemsets = columns.itemsets
        known, secrets = split_rows(itemsets, named_labels(itemsets, self.sensitive, self.mapping))
        return expose_secrets(self, known, secrets, itemsets.n_present).audit(self, itemsets, known)

    def __repr__(self) -> str:
        k = "" if self.k is None else f", k={self.k}"
        return f"LmDiversity(l={self.l}, m={self.m}, sensitive={len(self.sensitive)} items{k})"


def expose_secrets(
    guarantee: LmDiversity, known: SupportIndex, secrets: SupportIndex, n_present: int
) -> Exposure:
    """Expose rows, given their known and sensitive items; ``n_present`` of the rows are not missing."""
    l, k = guarantee.l, guarantee.k or 1  # noqa: E741
    if 0 < n_present < k:
        return Exposure.of_all(known, n_present, "rare")
    if int(secrets.singles.max(initial=0)) * l > n_present:
        return Exposure.of_all(known, n_present, "diversity")
    breaches = Breaches(known, secrets, Fraction(1, l), guarantee.m, k)

    def list_threats() -> Threats:
        found = breaches.threats()
        return found, np.where(found.supports < k, "rare", "diversity")

    return Exposure(breaches.rows_at_risk, list_threats)
