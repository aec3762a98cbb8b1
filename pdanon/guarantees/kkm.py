"""(k,k^m)-anonymity: whoever knows the quasi-identifiers and up to m items of a row finds k rows.

Poulis, Loukides, Gkoulalas-Divanis, Skiadopoulos, "Anonymizing Data with Relational and Transaction
Attributes", ECML PKDD 2013.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.breaches import rows_at_risk, threats
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, named_items, refuse_overlaps, refuse_within_labels
from pdanon.guarantees.parameters import check_k, check_m
from pdanon.guarantees.relational import equal_rows
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.bags import visible
from pdanon.itemsets.codes import Codes, Itemsets, beside
from pdanon.itemsets.columns import find_column, find_quasi, quasi_labels
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.values import check_count

__all__ = ["KKm", "KLm", "QuasiClasses"]


@dataclass(frozen=True, repr=False)
class KKm:
    """Every combination of quasi-identifiers and up to m items that is in a row is in at least k rows.

    Parameters
    ----------
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    m : int or None
        Most items that the attacker knows; at least 1. None: all items of a row.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.
    columns : sequence of hashable, optional
        Labels of several list columns, of which the attacker knows up to m items in all.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or no column is named, or one twice.

    Notes
    -----
    It implies k-anonymity of the quasi-identifiers and k^m-anonymity of the items, and is more than both:
    the items count within each class of equal quasi-identifiers.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [30, 30, 41, 41], "items": [["flu"], ["flu"], ["flu"], ["cold"]]})
    >>> audit = df.txanon.audit(pdanon.KKm(k=2, m=1, quasi=["age"]))
    >>> audit.holds, audit.rows_at_risk
    (False, 2)
    >>> audit.threats
       age   itemset  support   why
    0   41  ['cold']        1  rare
    1   41   ['flu']        1  rare
    """

    k: int
    m: int | None
    quasi: Sequence[Hashable]
    columns: Sequence[Hashable] | None = None

    def __repr__(self) -> str:
        columns = "" if self.columns is None else f", columns={self.columns}"
        return f"KKm(k={self.k}, m={self.m}, quasi={self.quasi}{columns})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "quasi", quasi_labels(self.quasi))
        if self.columns is not None:
            object.__setattr__(self, "columns", quasi_labels(self.columns, "columns"))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with a list column and these quasi-identifiers, released or not.
        column : hashable, optional
            The list column, if the guarantee names none. By default the only one.

        Returns
        -------
        Audit
            ``threats`` has the quasi-identifiers of a class, an ``itemset`` of at most m labels that too few
            of its rows hold, all of whose proper subsets have k, its ``support`` in the class, and ``why``:
            ``rare``; with ``m=None`` the rare rows. A class of fewer than k rows has the empty itemset, and
            ``class`` as ``why``. With several list columns, the number of its column is before each label.

        Raises
        ------
        ColumnError
            If a column does not exist, is there twice, or holds lists where it should not, or not where it
            should.

        Notes
        -----
        Exact. An item counts as another one in each class, so that no itemset spans two of them.
        """
        classes = QuasiClasses.of(frame, [column] if self.columns is None else self.columns, self.quasi)
        small = classes.present < self.k
        exposed = small[classes.of_row] | classes.index.at_risk(self.k, self.m)

        def list_threats() -> pd.DataFrame:
            return classes.table(small, classes.index.rare(self.k, self.m), self.k)

        return Audit(self, int(np.count_nonzero(exposed)), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> KKm:
        """Return the guarantee itself: it speaks of published values only."""
        return self


@dataclass(frozen=True, repr=False)
class KLm:
    """Who knows a row's quasi-identifiers and m items finds k rows, and a sensitive item in one of l at most.

    Known items are all that are not sensitive; it is :class:`KKm` of these. Of the rows of a class that hold
    up to m known items, or none, each sensitive item is in at most one in l.

    Parameters
    ----------
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    l : int
        At least 2: a sensitive item is in at most 1/l of the matching rows.
    m : int or None
        Most known items that the attacker knows; at least 1. None: all of a row.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.
    sensitive : iterable
        The sensitive items, as the frame has them.
    mapping : DataFrame, optional
        The mapping table of the release, which says which sensitive items it left out. Without it each must
        occur.

    Raises
    ------
    ParameterError
        If a parameter is out of range, no column or no sensitive item is named, or a sensitive item has
        become something else.
    ItemsetDtypeError
        If the sensitive items are of several types.

    Notes
    -----
    It speaks of sensitive items that are published. One that was left out is given away nowhere, but that it
    was left out can tell: in a class in which every row has it, there was no other way. And it speaks of each
    by itself: that a person has some sensitive item may be certain.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [30, 30, 41, 41], "items": [["tea"], ["flu"], ["flu"], ["flu"]]})
    >>> audit = df.txanon.audit(pdanon.KLm(k=2, l=2, m=1, quasi=["age"], sensitive=["flu"]))
    >>> audit
    Audit(holds=False, rows_at_risk=3, guarantee=KLm(k=2, l=2, m=1, quasi=('age',), sensitive=1 items))
    >>> audit.threats
       age  itemset  support        why
    0   30  ['tea']        1       rare
    1   41       []        2  diversity
    """

    k: int
    l: int  # noqa: E741  (its name in the literature)
    m: int | None
    quasi: Sequence[Hashable]
    sensitive: Any
    mapping: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "l", check_count(self.l, "l", least=2))
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "quasi", quasi_labels(self.quasi))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "mapping", Told.of(self.mapping, self.sensitive, "sensitive"))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with a list column and these quasi-identifiers, released or not.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            As that of :class:`KKm`; ``why`` is ``class`` or ``rare``, or ``diversity`` where a sensitive item
            is given away. No itemset is listed that has a listed subset in its class.

        Raises
        ------
        ColumnError
            If a column does not exist, is there twice, or holds lists where it should not, or not where it
            should.
        ParameterError
            If a sensitive item neither occurs nor was left out, or is a member of a published set; or two
            published sets in a row share a member.

        Notes
        -----
        Exact. An item counts as another one in each class, so that no itemset spans two of them.
        """
        classes = QuasiClasses.of(frame, [column], self.quasi)
        sizes, class_of = classes.sizes, classes.class_of
        refuse_within_labels(classes.itemsets, self.sensitive, "sensitive", self.mapping)
        if self.mapping is None:  # in a row it has one label for an item
            refuse_overlaps(classes.itemsets)
        named = named_items(classes.itemsets, self.sensitive, "sensitive", self.mapping)
        hidden = named[classes.item_of]
        known, secrets = classes.index.holding_only(~hidden), classes.index.holding_only(hidden)
        diversity = min(self.l, len(frame) + 1)  # beyond the rows all are alike, but products would overflow
        asked: Any = {"share": Fraction(1, diversity), "m": self.m, "k": self.k}
        lost = classes.present < self.k
        lost[class_of[secrets.singles * diversity > sizes[class_of]]] = True
        exposed = lost[classes.of_row] | rows_at_risk(known, secrets, **asked)

        def list_threats() -> pd.DataFrame:
            return classes.table(lost, threats(known, secrets, **asked), self.k)

        return Audit(self, int(np.count_nonzero(exposed)), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> KLm:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        asked = f"k={self.k}, l={self.l}, m={self.m}, quasi={self.quasi}"
        return f"KLm({asked}, sensitive={len(self.sensitive)} items)"


@dataclass(frozen=True, eq=False, slots=True)
class QuasiClasses:
    """Rows of equal quasi-identifiers, and their items: an item is another one in each class.

    Parameters
    ----------
    quasi : pandas.DataFrame
        The quasi-identifiers.
    of_row : ndarray of int64, shape (rows,)
        Class of each row.
    sizes : ndarray of int64, shape (classes,)
        Number of rows of each class.
    present : ndarray of int64, shape (classes,)
        How many of them are not missing, unless all are; of several list columns the least.
    itemsets : Itemsets
        The items.
    index : SupportIndex
        The rows, with one code for each pair of a class and an item.
    class_of, item_of : ndarray
        The class and the item of each of these codes.
    """

    quasi: pd.DataFrame
    of_row: NDArray[np.int64]
    sizes: NDArray[np.int64]
    present: NDArray[np.int64]
    itemsets: Itemsets
    index: SupportIndex
    class_of: NDArray[np.int64]
    item_of: Codes

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Sequence[Hashable | None], quasi: Any) -> QuasiClasses:
        """Find the classes of a frame, by its list columns and its quasi-identifiers."""
        places = [find_column(frame, label) for label in columns]
        sets = [visible(frame.iloc[:, place]) for place in places]
        itemsets, _ = beside(sets)
        positions = find_quasi(frame, quasi)
        of_row = equal_rows(frame, positions)
        n_items = max(itemsets.n_items, 1)
        pairs, codes = np.unique(of_row[itemsets.rows] * n_items + itemsets.codes, return_inverse=True)
        class_of, item_of = np.divmod(pairs, n_items)
        index = SupportIndex(codes.astype(np.int32), itemsets.offsets, len(pairs))
        sizes = present = np.bincount(of_row)
        for own in (np.bincount(of_row[~column.nulls], minlength=len(sizes)) for column in sets):
            present = np.where(own > 0, np.minimum(own, present), present)
        quasi = frame.iloc[:, positions]
        return cls(quasi, of_row, sizes, present, itemsets, index, class_of, item_of.astype(np.int32))

    def table(self, lost: NDArray[np.bool_], threats: ItemsetTable, k: int) -> pd.DataFrame:
        """List the empty itemset of lost classes, and the threats of others, by class, size and items."""
        owners = self.class_of[threats.codes[threats.offsets[:-1]]]
        threats, owners = threats.take(~lost[owners]), owners[~lost[owners]]
        few = np.flatnonzero(lost)
        listed = ItemsetTable(
            self.item_of[threats.codes],
            np.concatenate((np.zeros(len(few), np.int64), threats.offsets)),
            np.concatenate((np.where(self.present < k, self.present, self.sizes)[few], threats.supports)),
        )
        owners = np.concatenate((few, owners))
        order = np.argsort(owners, kind="stable")
        listed = listed.take(order)
        few_rows = np.where(np.diff(listed.offsets) > 0, "rare", "class")
        why = np.where(listed.supports < k, few_rows, "diversity")
        _, first = np.unique(self.of_row, return_index=True)
        quasi = self.quasi.iloc[first[owners[order]]].reset_index(drop=True)
        return pd.concat([quasi, threat_table(self.itemsets, listed, why)], axis=1)
