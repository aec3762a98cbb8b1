"""k-anonymity of whole rows, of public items, and of quasi-identifiers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ColumnError
from pdanon.guarantees.named import MappedItems, NamedItems, refuse_members
from pdanon.guarantees.parameters import check_k, format_labels
from pdanon.guarantees.verdict import Audit, ListModel, Model, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.columns import find_column, find_quasi, quasi_labels
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.equality import pair_numbers, row_numbers, value_numbers
from pdanon.itemsets.lists import Numbers
from pdanon.itemsets.multisets import read_in_order
from pdanon.itemsets.support import SupportIndex, concatenate, empty_itemset


@constructed_by_name
@dataclass(frozen=True, kw_only=True)
class TransactionalK(Model):
    """Every row occurs, as a list of labels, at least k times.

    Parameters
    ----------
    k : int
        Minimum number of identical rows; at least 2.

    Raises
    ------
    ParameterError
        If k is out of range.

    Notes
    -----
    Rows are identical if they have the same labels, equally often and in the same order; Python's sets have
    no order. Releases list labels in ascending order. If there are empty rows, at least k are empty; if there
    are missing rows, at least k are missing. The guarantee implies ``KmAnonymity(k, None)``.

    References
    ----------
    .. [1] Y. He, J. F. Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization",
       PVLDB 2(1), 2009.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice"]]})
    >>> df.txanon.audit(pdanon.TransactionalK(k=2)).threats
        itemset  support   why
    0  ['rice']        1  rare
    """

    k: int

    def __post_init__(self) -> None:
        self._store(k=check_k(self.k))

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame, column : pandas.DataFrame, hashable
            Any frame, released or not, and its list column, by default the only one.

        Returns
        -------
        Audit
            ``threats`` are the distinct rows that occur fewer than k times, with their repeated labels;
            ``support`` is their number. Missing rows come last, as one missing row.
        """
        position = find_column(frame, column)
        bags = read_in_order(frame.iloc[:, position])
        numbers = row_numbers(bags)
        numbers[bags.nulls] = len(numbers)  # all missing rows are one class, the last
        _, first, sizes = np.unique(numbers, return_index=True, return_counts=True)
        rare = np.flatnonzero(sizes < self.k)

        def list_threats() -> pd.DataFrame:
            column = bags.take(first[rare]).to_pandas()
            return pd.DataFrame({"itemset": column, "support": sizes[rare], "why": "rare"})

        return Audit(self, int(sizes[rare].sum()), list_threats)


# --- k-anonymity of the public items


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PublicK(ListModel):
    """Every row has the same public items as at least k - 1 other rows.

    Parameters
    ----------
    k : int
        Minimum number of rows; at least 2.
    public : list of items, or Series of bool
        The public items, or whether an item is public, by item. They need not occur.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If k is out of range, a Series of booleans has an item twice with different values, the mapping
        generalizes a public item, or the public items are of several types.

    Notes
    -----
    The attacker knows for each public item whether a person has it. The guarantee does not cover the other
    items of the matching rows. Missing rows are a class of their own, of no row or of at least k rows.

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
        self._store(k=check_k(self.k), public=NamedItems.of(self.public, "public"))
        self._store(mapping=MappedItems.of_named(self.mapping, self.public))

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` are the sets of public items that fewer than k rows have; ``support`` is the number of
        # rows with exactly these public items. Missing rows come last, as one missing row. `ParameterError`:
        # if a public item is a member of a published set.
        itemsets = columns.itemsets
        refuse_members(itemsets, self.public, self.mapping)
        public = self.public.find(itemsets.vocabulary) >= 0
        rows = SupportIndex.of(itemsets)
        classes = rows.within(~itemsets.nulls).keep_items(public).distinct()
        small = classes.table(classes.weights).take(classes.weights < self.k)
        missing = rows.n_rows - itemsets.n_present
        few = missing if missing < self.k else 0

        def list_threats() -> pd.DataFrame:
            listed = [small.ordered(), *[empty_itemset(few)] * bool(few)]
            return threat_table(itemsets, concatenate(listed), "class", missing=bool(few))

        return Audit(self, int(small.supports.sum()) + few, list_threats)

    def __repr__(self) -> str:
        return f"PublicK(k={self.k}, public={self.public!r})"


# --- k-anonymity of the quasi-identifiers


@constructed_by_name
@dataclass(frozen=True)
class KAnonymity(Model):
    """Every combination of values of the quasi-identifiers that occurs is in at least k rows.

    Parameters
    ----------
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.

    Raises
    ------
    ParameterError
        If k is out of range, or ``quasi`` is empty or has a label twice.

    Notes
    -----
    Missing values are equal to each other. Other values are equal if they are displayed equally: 1, True and
    1.0 are three values, as are 0.0 and -0.0 two, and None and NaN two among Python's objects.

    References
    ----------
    .. [1] P. Samarati, "Protecting Respondents' Identities in Microdata Release", IEEE Transactions on
       Knowledge and Data Engineering 13(6), 2001.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [30, 30, 41], "sex": ["f", "f", "f"]})
    >>> pdanon.audit(df, pdanon.KAnonymity(k=2, quasi=["age", "sex"])).threats
       age sex  size
    0   41   f     1
    """

    k: int
    _: KW_ONLY
    quasi: Sequence[Hashable]

    def __post_init__(self) -> None:
        self._store(k=check_k(self.k), quasi=quasi_labels(self.quasi))

    def __repr__(self) -> str:
        return f"KAnonymity(k={self.k}, quasi={format_labels(self.quasi)})"

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with these columns, released or not.
        column : hashable, optional
            Not used: the guarantee is not about lists of items.

        Returns
        -------
        Audit
            ``threats`` has one row for each combination that is in fewer than k rows: the
            quasi-identifiers, and the number of rows as ``size``.

        Raises
        ------
        ColumnError
            If a quasi-identifier does not exist, exists twice, or holds lists.
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


def equal_rows(frame: pd.DataFrame, positions: Sequence[int]) -> Numbers:
    """Number the combinations of values in some columns, and return the number of each row."""
    classes = np.zeros(len(frame), np.int64)
    for position in positions:
        numbers = value_numbers(frame.iloc[:, position])
        if numbers is None:
            problem = "the values of a quasi-identifier cannot be compared"
            hint = "convert them to text with .astype(str)"
            raise ColumnError(problem, where="quasi", got=frame.columns[position], hint=hint)
        classes = pair_numbers(classes, numbers)  # one column after the other, without concatenated keys
    return classes
