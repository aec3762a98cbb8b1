"""k^m-anonymity and l^m-diversity: guarantees against knowledge of up to m items, and of listed itemsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.guarantees.breaches import Breaches, split_rows
from pdanon.guarantees.models import Checks, ListModel
from pdanon.guarantees.named import NamedItems, named_items, named_labels, refuse_members
from pdanon.guarantees.parameters import constraint_list, constraint_table
from pdanon.guarantees.verdict import Audit, Exposure, Threats, counts_emptied
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Mask
from pdanon.itemsets.mapping import check_mapping
from pdanon.itemsets.support import SupportIndex


@constructed_by_name
@dataclass(frozen=True, repr=False)
class KmAnonymity(ListModel):
    """Every itemset of at most m items that occurs in a row occurs in at least k rows.

    This includes the empty itemset: either at least k rows are not missing, or all are missing.

    Parameters
    ----------
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    m : int or None
        Maximum number of items that the attacker knows; at least 1. None: all items of a row.
    mapping : DataFrame, optional
        The mapping of the release. With it, the guarantee also requires that suppression emptied no row or at
        least k rows, unless all rows are empty.

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
    >>> df.txanon.audit(pdanon.KmAnonymity(k=2, m=2)).threats
        itemset  support   why
    0  ['salt']        1  rare
    """

    k: int
    m: int | None = 2
    mapping: Any = field(default=None, compare=False)

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` are the minimal itemsets of at most m labels with a support below k. With ``m=None``
        # they are the distinct rows that fewer than k rows contain. If the empty itemset is a threat, it is
        # the only one. Exact. Time grows with the number of itemsets of at most m labels whose subsets all
        # have support k. With ``m=None`` it grows with the sum, over the rows, of the support of the rarest
        # item.
        rows = SupportIndex.of(columns.itemsets)
        found = expose_itemsets(rows, columns.itemsets.n_present, self.k, self.m)
        return found.audit(self, columns.itemsets, rows)


def expose_itemsets(rows: SupportIndex, n_present: int, k: int, m: int | None) -> Exposure:
    """Expose rows to an attacker with knowledge of up to m items; ``n_present`` rows are not missing."""
    if 0 < n_present < k:
        return Exposure.of_all(rows, n_present, "rare")
    return Exposure(partial(rows.at_risk, k, m), lambda: (rows.rare(k, m), "rare"))


# --- Privacy constraints: k-anonymity of listed itemsets


@frozen
class AllItemsets:
    """A placeholder for all itemsets of 1 to m items; m=None: of any size."""

    m: int | None
    items: pa.Array

    def __repr__(self) -> str:
        return f"AllItemsets(m={self.m}, items={len(self.items)})"


def read_constraints(constraints: Any) -> Any:
    """Read listed itemsets; return a placeholder for all unchanged."""
    return constraints if isinstance(constraints, AllItemsets) else constraint_list(constraints)


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PrivacyConstraints(ListModel):
    """Each listed itemset, in its published form, occurs in no row or in at least k rows.

    The empty itemset always counts as listed: either at least k rows are not missing, or all are missing. It
    is the published form of a listed itemset if all its items are suppressed.

    Parameters
    ----------
    constraints : Series, iterable of list-likes, path or AllItemsets
        Itemsets of original items. A path names a ``.parquet`` file with one list column, or a ``.csv`` file
        with one itemset per line and one item per field. `pdanon.constraints` builds such lists.
    k : int
        Minimum number of rows; at least 2.
    mapping : pandas.DataFrame, optional
        The mapping of the release. Without it, the audited frame must contain the original items.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If k is out of range, there is no constraint, one is missing, empty or not list-like, or the items are
        of several types.

    Notes
    -----
    A constraint protects neither its subsets nor any other itemset.

    References
    ----------
    .. [1] A. Gkoulalas-Divanis, G. Loukides, "Utility-guided Clustering-based Transaction Data
       Anonymization", Transactions on Data Privacy 5, 2012.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice", "salt"]]})
    >>> df.txanon.audit(pdanon.PrivacyConstraints(constraints=[["rice", "tea"]], k=2)).holds
    True
    >>> df.txanon.audit(pdanon.PrivacyConstraints(constraints=[["rice", "salt"]], k=2)).threats
                itemset  support         why
    0  ['rice' 'salt']        1  constraint
    """

    constraints: Any
    k: int
    mapping: pd.DataFrame | None = None

    _checks: ClassVar[Checks] = {"constraints": read_constraints, "mapping": check_mapping}
    _read = staticmethod(Itemsets.from_series)  # a repeated label is one label

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # They are those of a release, if ``mapping`` is given; otherwise those of an original. ``threats``
        # are the distinct published forms of the violated constraints. If the empty itemset is a threat, it
        # is the only one. `ParameterError`: if an item of a constraint is not in the mapping or, without a
        # mapping, not in the frame, as a support of 0 would prove nothing, or is a member of a published set.
        if isinstance(self.constraints, AllItemsets):
            return KmAnonymity(self.k, self.constraints.m).recount(columns)
        published = columns.itemsets
        if self.mapping is None:
            listed = Itemsets.from_series(self.constraints).vocabulary
            refuse_members(published, NamedItems.of(listed, "constraint"), None)
        # The additional last item is in no row: it stands for labels of the mapping that no row contains.
        rows = SupportIndex(published.codes, published.offsets, published.n_items + 1, published.weights)
        wanted = constraint_table(self.constraints, published, self.mapping)
        each = SupportIndex(wanted.codes, wanted.offsets, rows.n_items)
        return expose_constraints(rows, published.n_present, self.k, each).audit(self, published, rows)


def expose_constraints(rows: SupportIndex, n_present: int, k: int, constraints: SupportIndex) -> Exposure:
    """Expose rows to an attacker with knowledge of a constraint; ``n_present`` rows are not missing."""
    if 0 < n_present < k:
        return Exposure.of_all(rows, n_present, "constraint")
    each = constraints.distinct()
    supports = rows.supports(each.codes, each.offsets)
    rare = (supports > 0) & (supports < k) & (each.lengths > 0)
    threats = each.table(supports).take(rare)
    return Exposure(partial(rows.contains_any, threats), lambda: (threats.ordered(), "constraint"))


# --- Diversity: no sensitive item is inferred with a confidence above 1/l


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class LmDiversity(ListModel):
    """No sensitive item is in more than 1/l of the rows that match up to m known items.

    All other items may be known, also none: then the rows count that are not missing.

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
    ParameterError, ItemsetDtypeError
        If a parameter is out of range, no sensitive item is given, the mapping generalizes one, or they are
        of several types.

    Notes
    -----
    Diversity alone does not prevent singling out, so k is a parameter, and algorithms set it. It may be
    certain that a person has some sensitive item, without knowing which. Missing rows count nowhere. Rows are
    counted by label, so no item may have two labels in a row.

    References
    ----------
    .. [1] M. Terrovitis, N. Mamoulis, P. Kalnis, "Local and Global Recoding Methods for Anonymizing
       Set-valued Data", The VLDB Journal 20(1), 2011.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "flu"], ["rice", "tea"], ["tea", "flu"], ["tea"], ["tea"]]})
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

    def is_sensitive(self, itemsets: Itemsets) -> Mask:
        """Return whether each item is sensitive; all must occur, as a support of 0 would prove nothing."""
        return named_items(itemsets, self.sensitive, self.mapping)

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` are the minimal itemsets of at most m known items with fewer than k matching rows
        # (``why`` is ``rare``), or with a sensitive item in more than 1/l of them (``diversity``). If the
        # empty itemset is a threat, all rows that are not missing are at risk. `ParameterError`: if a
        # sensitive item does not occur, or is a member of a published set; or two published sets in a row
        # share a member. Exact. Time grows with the number of itemsets of fewer than m known items that more
        # than k/l rows with the same sensitive item contain, and with the number of items that extend each
        # itemset.
        itemsets = columns.itemsets
        known, secrets = split_rows(itemsets, named_labels(itemsets, self.sensitive, self.mapping))
        return expose_secrets(self, known, secrets, itemsets.n_present).audit(self, itemsets, known)


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
