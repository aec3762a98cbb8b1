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
from pdanon.guarantees.emptied import Suppression, few_without
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, named_items, refuse_overlaps, refuse_within_labels
from pdanon.guarantees.parameters import check_k, check_m
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Codes, Itemsets, join_columns
from pdanon.itemsets.columns import find_column, find_quasi, quasi_labels
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.validation import check_count

__all__ = ["Crowds", "KKm", "KLm", "QuasiClasses"]


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
    mapping : DataFrame, optional
        The mapping table of the release. With it, rows are counted that suppression emptied: in each class
        there are none or at least k, unless no row of it has a label; of several list columns, in each.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or no column is named, or one twice.

    Notes
    -----
    It implies k-anonymity of the quasi-identifiers and k^m-anonymity of the items, and is more than both:
    the items count within each class of equal quasi-identifiers.

    An attacker who knows that a row holds data leaves out the rows of its class that are missing. Of several
    list columns he knows for each whether the row holds data in it, beside the m items: he leaves out the
    rows that are missing in any column in which the row is not.

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
    mapping: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        columns = "" if self.columns is None else f", columns={self.columns}"
        return f"KKm(k={self.k}, m={self.m}, quasi={self.quasi}{columns})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "quasi", quasi_labels(self.quasi))
        if self.columns is not None:
            object.__setattr__(self, "columns", quasi_labels(self.columns, "columns"))
        object.__setattr__(self, "mapping", Suppression.of(self.mapping))

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
            ``rare``; with ``m=None`` the rare rows. A class has the empty itemset, and ``class`` as ``why``,
            if fewer than k of its rows are left to an attacker who knows where a row holds data, and with
            ``emptied`` if suppression may have emptied fewer than k. With several list columns, the number of
            its column is before each label.

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
        index, small = classes.crowds.index, classes.crowds.small(self.k)
        emptied = classes.emptied(self.k, self.mapping)
        exposed = emptied | classes.crowds.at_risk(small, index.at_risk(self.k, self.m))

        def list_threats() -> pd.DataFrame:
            return classes.table(small, index.rare(self.k, self.m), self.k, emptied)

        return Audit(self, int(np.count_nonzero(exposed)), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> KKm:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)


@dataclass(frozen=True, repr=False)
class KLm:
    """Who knows a row's quasi-identifiers and m items finds k rows, and a sensitive item in one of l at most.

    Known items are all that are not sensitive; it is :class:`KKm` of these. Of the rows of a class that hold
    up to m known items, and of those that are not missing, each sensitive item is in at most one in l.

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
            is given away, or ``emptied``. No itemset is listed that has a listed subset in its class.

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
        crowds = classes.crowds
        refuse_within_labels(crowds.itemsets, self.sensitive, "sensitive", self.mapping)
        if self.mapping is None:  # in a row it has one label for an item
            refuse_overlaps(crowds.itemsets)
        named = named_items(crowds.itemsets, self.sensitive, "sensitive", self.mapping)
        hidden = named[crowds.item_of]
        known, secrets = crowds.index.keep_items(~hidden), crowds.index.keep_items(hidden)
        diversity = min(self.l, len(frame) + 1)  # beyond the rows all are alike, but products would overflow
        asked: Any = {"share": Fraction(1, diversity), "m": self.m, "k": self.k}
        lost = crowds.small(self.k)
        lost[crowds.crowd_of[secrets.singles * diversity > crowds.sizes[crowds.crowd_of]]] = True
        emptied = classes.emptied(self.k, None if self.mapping is None else self.mapping.suppression)
        exposed = emptied | crowds.at_risk(lost, rows_at_risk(known, secrets, **asked))

        def list_threats() -> pd.DataFrame:
            return classes.table(lost, threats(known, secrets, **asked), self.k, emptied)

        return Audit(self, int(np.count_nonzero(exposed)), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> KLm:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        asked = f"k={self.k}, l={self.l}, m={self.m}, quasi={self.quasi}"
        return f"KLm({asked}, sensitive={len(self.sensitive)} items)"


@dataclass(frozen=True, eq=False, slots=True)
class Crowds:
    """The rows that an attacker is left with who knows the class of a row and where it holds data.

    The crowd of a row are the rows of its class that are not missing in any list column in which the row is
    not. An item counts as another one in each crowd, so that no itemset spans two of them. The rows of a
    crowd have the items of these columns only: the row has no others.

    Parameters
    ----------
    itemsets : Itemsets
        The items of all list columns, row by row.
    of_class : ndarray of int64, shape (crowds,)
        Class of each crowd.
    sizes : ndarray of int64, shape (crowds,)
        Number of its rows.
    members : ndarray of int64
        The crowd of each row of ``index``.
    own : ndarray of int64, shape (rows,)
        The row of ``index`` by which each row of the table is in its own crowd.
    index : SupportIndex
        The rows of each crowd, with one code for each pair of a crowd and an item.
    crowd_of, item_of : ndarray
        The crowd and the item of each of these codes.
    """

    itemsets: Itemsets
    of_class: NDArray[np.int64]
    sizes: NDArray[np.int64]
    members: NDArray[np.int64]
    own: NDArray[np.int64]
    index: SupportIndex
    crowd_of: NDArray[np.int64]
    item_of: Codes

    @classmethod
    def of(cls, columns: Sequence[Itemsets], of_row: NDArray[Any]) -> Crowds:
        """Find the crowds of rows, given their list columns and the class of each row."""
        itemsets, column_of = join_columns(columns)
        there = np.column_stack([~column.nulls for column in columns])
        kind = np.zeros(len(of_row), np.int64)  # of row: in which columns it is not missing
        for column in there.T:
            kind = np.unique(kind * 2 + column, return_inverse=True)[1]
        kinds = there[np.unique(kind, return_index=True)[1]]
        chosen = [np.flatnonzero(there[:, columns_of_kind].all(axis=1)) for columns_of_kind in kinds]
        rows = np.concatenate([np.zeros(0, np.int64), *chosen])
        kind_of = np.repeat(np.arange(len(kinds)), [len(each) for each in chosen])
        n_classes = int(of_row.max(initial=-1)) + 1
        members = kind_of * n_classes + of_row[rows]
        taken = itemsets.take(rows)
        kept = kinds[kind_of[taken.rows], column_of[taken.codes]]
        n_items = max(itemsets.n_items, 1)
        pairs = members[taken.rows[kept]] * n_items + taken.codes[kept]
        pairs, codes = np.unique(pairs, return_inverse=True)
        crowd_of, item_of = np.divmod(pairs, n_items)
        own = np.flatnonzero(kind[rows] == kind_of)
        return cls(
            itemsets,
            np.tile(np.arange(n_classes), len(kinds)),
            np.bincount(members, minlength=len(kinds) * n_classes),
            members,
            own[np.argsort(rows[own])],
            SupportIndex(codes.astype(np.int32), offsets_of(kept)[taken.offsets], len(pairs)),
            crowd_of,
            item_of.astype(np.int32),
        )

    def small(self, k: int) -> NDArray[np.bool_]:
        """Which crowds have fewer than k rows."""
        return (self.sizes > 0) & (self.sizes < k)

    def at_risk(self, lost: NDArray[np.bool_], held: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rows of the table are in a lost crowd of their own, or hold a threat in it.

        Parameters
        ----------
        lost : ndarray of bool, shape (crowds,)
            Crowds of which the empty itemset is a threat.
        held : ndarray of bool
            Which rows of ``index`` hold another threat.
        """
        return (lost[self.members] | held)[self.own]


@dataclass(frozen=True, eq=False, slots=True)
class QuasiClasses:
    """Rows of equal quasi-identifiers, and their crowds.

    Parameters
    ----------
    quasi : pandas.DataFrame
        The quasi-identifiers.
    of_row : ndarray of int64, shape (rows,)
        Class of each row.
    columns : list of Itemsets
        The list columns.
    crowds : Crowds
        The rows that an attacker is left with, and their items.
    """

    quasi: pd.DataFrame
    of_row: NDArray[np.int64]
    columns: list[Itemsets]
    crowds: Crowds

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Sequence[Hashable | None], quasi: Any) -> QuasiClasses:
        """Find the classes of a frame, by its list columns and its quasi-identifiers."""
        places = [find_column(frame, label) for label in columns]
        sets = [read_visible(frame.iloc[:, place]) for place in places]
        positions = find_quasi(frame, quasi)
        of_row = equal_rows(frame, positions)
        return cls(frame.iloc[:, positions], of_row, sets, Crowds.of(sets, of_row))

    def emptied(self, k: int, told: Suppression | None) -> NDArray[np.bool_]:
        """Which rows may have been emptied, where these are fewer than k of a class that has labels."""
        few = np.zeros(len(self.of_row), np.bool_)
        if told is None or not told.suppresses:
            return few
        found = [
            few_without((column.lengths == 0) & ~column.nulls, column.lengths > 0, self.of_row, k)
            for column in self.columns
        ]
        if sum(int(np.count_nonzero(each)) for each in found) <= told.empty_rows:
            return few
        return np.logical_or.reduce(found)

    def table(
        self, lost: NDArray[np.bool_], threats: ItemsetTable, k: int, emptied: NDArray[np.bool_]
    ) -> pd.DataFrame:
        """List the empty itemset of classes with emptied rows, then what `_lost_and_threats` lists."""
        listed = self._lost_and_threats(lost, threats, k)
        if not emptied.any():
            return listed
        counts = np.bincount(self.of_row[emptied])
        owners = np.flatnonzero(counts)
        none = ItemsetTable(np.empty(0, np.int32), np.zeros(len(owners) + 1, np.int64), counts[owners])
        _, first = np.unique(self.of_row, return_index=True)
        quasi = self.quasi.iloc[first[owners]].reset_index(drop=True)
        found = pd.concat([quasi, threat_table(self.crowds.itemsets, none, "emptied")], axis=1)
        return pd.concat([found, listed], ignore_index=True) if len(listed) else found

    def _lost_and_threats(self, lost: NDArray[np.bool_], threats: ItemsetTable, k: int) -> pd.DataFrame:
        """List the empty itemset of classes with lost crowds, and the threats of others.

        By class, size and items; an itemset that is a threat in several crowds of a class has the lowest of
        its supports.
        """
        crowds, n_items = self.crowds, max(self.crowds.itemsets.n_items, 1)
        fewest = np.full(int(self.of_row.max(initial=-1)) + 1, len(self.of_row) + 1)
        np.minimum.at(fewest, crowds.of_class[lost], crowds.sizes[lost])
        few = np.flatnonzero(fewest <= len(self.of_row))
        pairs = crowds.of_class[crowds.crowd_of] * n_items + crowds.item_of
        pairs, codes = np.unique(pairs, return_inverse=True)
        found = ItemsetTable(codes[threats.codes].astype(np.int32), threats.offsets, threats.supports)
        class_of, item_of = np.divmod(pairs, n_items)
        found = found.take(~np.isin(class_of[found.codes[found.offsets[:-1]]], few)).distinct().ordered()
        owners = np.concatenate((few, class_of[found.codes[found.offsets[:-1]]]))
        order = np.argsort(owners, kind="stable")
        listed = ItemsetTable(
            item_of[found.codes].astype(np.int32),
            np.concatenate((np.zeros(len(few), np.int64), found.offsets)),
            np.concatenate((fewest[few], found.supports)),
        ).take(order)
        few_rows = np.where(np.diff(listed.offsets) > 0, "rare", "class")
        why = np.where(listed.supports < k, few_rows, "diversity")
        _, first = np.unique(self.of_row, return_index=True)
        quasi = self.quasi.iloc[first[owners[order]]].reset_index(drop=True)
        return pd.concat([quasi, threat_table(crowds.itemsets, listed, why)], axis=1)
