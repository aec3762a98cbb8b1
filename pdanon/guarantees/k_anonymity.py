"""Transactional k-anonymity: every row is published exactly as at least k - 1 others are.

He, Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization", PVLDB 2(1), 2009.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ColumnError
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, refuse_within_labels
from pdanon.guarantees.parameters import check_k
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.columns import find_column, find_columns, find_quasi, quasi_labels
from pdanon.itemsets.equality import pair_numbers, row_numbers, value_numbers
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.multisets import Multisets, read_visible
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable, concatenate, empty_itemset

__all__ = ["KAnonymity", "PublicK", "TransactionalK", "equal_rows"]


@dataclass(frozen=True)
class TransactionalK:
    """Every row occurs, as a list of labels, at least k times.

    Parameters
    ----------
    k : int
        Least number of rows that are published alike; at least 2.

    Raises
    ------
    ParameterError
        If k is out of range.

    Notes
    -----
    A label that is in a row twice counts twice, and rows that list the same labels in another order are not
    alike, but for Python's sets, which have none. Releases list labels in ascending order. A row without
    labels is a row like any other: if there are some, there must be k; and if there are missing rows, k of
    these. It implies ``KmAnonymity(k, None)``.

    References
    ----------
    .. [1] Y. He, J. F. Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization",
       PVLDB 2(1), 2009.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice"]]})
    >>> audit = df.txanon.audit(pdanon.TransactionalK(k=2))
    >>> audit.holds, audit.rows_at_risk
    (False, 1)
    >>> audit.threats
        itemset  support   why
    0  ['rice']        1  rare
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_k(self.k))

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
            ``threats`` are the distinct rows that occur fewer than k times, with repeated labels
            repeated; ``support`` is how often. Missing rows come last, as one that is missing.
        """
        position = find_column(frame, column)
        bags = Multisets.from_series_in_order(frame.iloc[:, position])
        first, sizes = _distinct(bags)
        rare = np.flatnonzero(sizes < self.k)

        def list_threats() -> pd.DataFrame:
            column = bags.take(first[rare]).to_pandas()
            return pd.DataFrame({"itemset": column, "support": sizes[rare], "why": "rare"})

        return Audit(self, int(sizes[rare].sum()), list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> TransactionalK:
        """Return the guarantee itself: it speaks of published labels only."""
        return self


def _distinct(bags: Multisets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each kind, and how many there are; missing rows, which are one kind, come last."""
    numbers = row_numbers(bags)
    numbers[bags.nulls] = len(numbers)
    _, first, sizes = np.unique(numbers, return_index=True, return_counts=True)
    return first, sizes


# --- k-anonymity of the public items: who knows all of a row's public items finds k rows with just these


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
        return self.recount(ListColumns.of(frame, find_columns(frame, column), read=read_visible))

    def recount(self, columns: ListColumns) -> Audit:
        """Count list columns, wherever their rows are; `audit` reads them from a frame and does this."""
        itemsets = columns.itemsets
        refuse_within_labels(itemsets, self.public, "public", self.mapping)
        public = self.public.find(itemsets.vocabulary) >= 0
        present = itemsets.take(np.flatnonzero(~itemsets.nulls))
        classes = SupportIndex.of(present).keep_items(public).distinct()
        small = ItemsetTable(classes.codes, classes.offsets, classes.weights).take(classes.weights < self.k)
        missing = SupportIndex.of(itemsets).n_rows - itemsets.n_present
        few = missing if missing < self.k else 0

        def list_threats() -> pd.DataFrame:
            listed = [small.ordered(), *[empty_itemset(few)] * bool(few)]
            return threat_table(itemsets, concatenate(listed), "class", missing=bool(few))

        return Audit(self, int(small.supports.sum()) + few, list_threats)

    def with_mapping(self, mapping: pd.DataFrame) -> PublicK:
        """The same guarantee of a frame whose items became what the mapping says."""
        return replace(self, mapping=mapping)

    def __repr__(self) -> str:
        return f"PublicK(k={self.k}, public={len(self.public)} items)"


# --- k-anonymity: whoever knows the quasi-identifiers of a person finds at least k rows that have them


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
        classes = pair_numbers(classes, numbers)
    return classes
