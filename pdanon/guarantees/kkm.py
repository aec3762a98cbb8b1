"""(k,k^m)-anonymity and (k,l,m)-diversity: guarantees against knowledge of quasi-identifiers and items."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.guarantees.breaches import Breaches
from pdanon.guarantees.k_anonymity import KAnonymity, equal_rows
from pdanon.guarantees.models import Model
from pdanon.guarantees.named import named_labels
from pdanon.guarantees.verdict import Audit, Reasons, mark_emptied, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, join_columns, read_visible
from pdanon.itemsets.columns import find_column, find_quasi
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import number_distinct, offsets_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, empty_itemsets


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class KKm(Model):
    """Every combination of quasi-identifiers and up to m items that occurs in a row is in at least k rows.

    Parameters
    ----------
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    m : int or None
        Maximum number of items that the attacker knows; at least 1. None: all items of a row.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.
    columns : sequence of hashable, optional
        Labels of several list columns. The attacker knows up to m items in total.
    mapping : DataFrame, optional
        The mapping of the release. With it, the guarantee also requires that suppression emptied no row or at
        least k rows of each class, unless all rows of the class are empty; with several list columns, in each
        column.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or ``quasi`` or ``columns`` is empty or has a label twice.

    Notes
    -----
    The guarantee is k^m-anonymity within each class of equal quasi-identifiers. An attacker excludes the
    missing rows of the class, and with several list columns knows for each whether the row is missing in it.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [30, 30, 41, 41], "items": [["flu"], ["flu"], ["flu"], ["cold"]]})
    >>> df.txanon.audit(pdanon.KKm(k=2, m=1, quasi=["age"])).threats
       age   itemset  support   why
    0   41  ['cold']        1  rare
    1   41   ['flu']        1  rare
    """

    k: int
    m: int | None
    quasi: Sequence[Hashable]
    columns: Sequence[Hashable] | None = None
    mapping: Any = field(default=None, compare=False)

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with a list column and these quasi-identifiers, released or not.
        column : hashable, optional
            The list column, if the guarantee has no ``columns``. By default the only one.

        Returns
        -------
        Audit
            ``threats`` has the quasi-identifiers of a class, a minimal ``itemset`` of at most m labels with a
            support below k in the class, its ``support``, and ``rare`` as ``why``. With ``m=None``, it has
            rows instead of minimal itemsets. If fewer than k rows of a class are not missing, it has the
            empty itemset, and ``class`` as ``why``. If suppression may have emptied fewer than k rows of a
            class, it has the empty itemset, and ``emptied`` as ``why``. With several list columns, each label
            starts with the number of its column, and itemsets are minimal among the rows that are not missing
            in certain columns.

        Raises
        ------
        ColumnError
            If a column does not exist or exists twice, a quasi-identifier holds lists, or the list column
            does not.

        Notes
        -----
        Exact. An item has another code in each class, so that no itemset spans two classes.
        """
        return QuasiClasses.of(frame, self, column).audit()

    def _expose(self, crowds: Crowds, *, is_part: bool = False) -> CrowdThreats:
        """Find the threats in crowds."""
        index, known = crowds.index, (self.k, self.m)
        return CrowdThreats(crowds.small(self.k), partial(index.at_risk, *known), partial(index.rare, *known))


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class KLm(Model):
    """At least k rows match known quasi-identifiers and m items, at most 1/l of them with a sensitive item.

    The guarantee is :class:`KKm` for all other items, which may be known. In addition, each sensitive item is
    in at most 1/l of the rows of a class that match up to m known items, or that are not missing.

    Parameters
    ----------
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    l : int
        A sensitive item is in at most 1/l of the matching rows; at least 2.
    m : int or None
        Maximum number of known items; at least 1. None: all known items of a row.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.
    sensitive : iterable
        The sensitive items, with the type that they have in the frame.
    mapping : DataFrame, optional
        The mapping of the release, which lists suppressed items. Without it, each sensitive item must occur.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If a parameter is out of range, there is no quasi-identifier or no sensitive item, the mapping
        generalizes a sensitive item, or they are of several types.

    Notes
    -----
    The guarantee covers published sensitive items, each alone. A suppression may itself reveal something.

    References
    ----------
    .. [1] G. Poulis, G. Loukides, A. Gkoulalas-Divanis, S. Skiadopoulos, "Anonymizing Data with Relational
       and Transaction Attributes", ECML PKDD 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [30, 30, 41, 41], "items": [["tea"], ["flu"], ["flu"], ["flu"]]})
    >>> df.txanon.audit(pdanon.KLm(k=2, l=2, m=1, quasi=["age"], sensitive=["flu"])).threats
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

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame, column : pandas.DataFrame, hashable
            As in :class:`KKm`.

        Returns
        -------
        Audit
            ``threats`` as in :class:`KKm`. ``why`` is ``class``, ``rare``, ``emptied``, or ``diversity`` if a
            sensitive item is in more than 1/l of the rows. Only minimal itemsets of a class are listed.

        Raises
        ------
        ColumnError, ParameterError
            As in :class:`KKm`. If a sensitive item neither occurs nor is suppressed, or is a member of a
            published set; or two published sets in a row share a member.

        Notes
        -----
        Exact. An item has another code in each class, so that no itemset spans two classes.
        """
        return QuasiClasses.of(frame, self, column).audit()

    def _expose(self, crowds: Crowds, *, is_part: bool = False) -> CrowdThreats:
        """Find the threats in crowds; if they are a part of a table, a sensitive item need not occur."""
        hidden = named_labels(crowds.itemsets, self.sensitive, self.mapping, all_occur=not is_part)
        hidden = hidden[crowds.item_of]
        known, secrets = crowds.index.keep_items(~hidden), crowds.index.keep_items(hidden)
        # Every l above the number of rows allows no sensitive item at all; a larger one would overflow.
        diversity = min(self.l, len(crowds.own) + 1)
        breaches = Breaches(known, secrets, Fraction(1, diversity), self.m, self.k)
        lost = crowds.small(self.k)
        lost[crowds.crowd_of[secrets.singles * diversity > crowds.sizes[crowds.crowd_of]]] = True
        return CrowdThreats(lost, breaches.rows_at_risk, breaches.threats)


def list_labels(guarantee: Any, column: Hashable | None) -> Sequence[Hashable | None]:
    """Return the labels of the list columns of a guarantee; ``column`` if it does not name its own."""
    return () if isinstance(guarantee, KAnonymity) else getattr(guarantee, "columns", None) or (column,)


@frozen
class Crowds:
    """The candidate rows of each row, given its class and the list columns in which it is not missing."""

    # The candidate rows of a row, its crowd, are the rows of its class that are not missing in any column in
    # which the row is not missing. Only the items of such columns count. An item has another code in each
    # crowd, so that no itemset spans two crowds.

    itemsets: Itemsets  # the items of all list columns, row by row
    of_class: Numbers  # the class of each crowd
    sizes: Numbers  # number of rows of each crowd
    members: Numbers  # the crowd of each row of `index`
    # for each row of the table, the row of `index` that represents it in its own crowd
    own: Numbers
    index: SupportIndex  # the rows of all crowds, with a code for each pair of a crowd and an item
    crowd_of: Numbers  # the crowd of each code
    item_of: Codes  # the item of each code

    @classmethod
    def of(cls, columns: Sequence[Itemsets], of_row: NDArray[Any]) -> Crowds:
        """Find the crowds of rows, given their list columns and the class of each row."""
        itemsets, column_of = join_columns(columns)
        present = np.column_stack([~column.nulls for column in columns])
        kind = np.zeros(len(of_row), np.int64)  # number of the combination of present columns, by row
        for column in present.T:
            kind = number_distinct(kind * 2 + column, 2 * int(kind.max(initial=0)) + 2)[1]
        kinds = present[np.unique(kind, return_index=True)[1]]
        chosen = [np.flatnonzero(present[:, columns_of_kind].all(axis=1)) for columns_of_kind in kinds]
        rows = np.concatenate([np.zeros(0, np.int64), *chosen])
        kind_of = np.repeat(np.arange(len(kinds)), [len(each) for each in chosen])
        n_classes = int(of_row.max(initial=-1)) + 1
        members = kind_of * n_classes + of_row[rows]
        has_own = np.zeros(len(kinds) * n_classes, np.bool_)  # others are the crowd of no row
        has_own[members[kind[rows] == kind_of]] = True
        rows, kind_of, members = (each[has_own[members]] for each in (rows, kind_of, members))
        taken = itemsets.take(rows)
        kept = kinds[kind_of[taken.rows], column_of[taken.codes]]
        n_items = max(itemsets.n_items, 1)
        # One code per pair of a crowd and an item: then all crowds are searched at once.
        pairs = members[taken.rows[kept]] * n_items + taken.codes[kept]
        pairs, codes = number_distinct(pairs, len(kinds) * n_classes * n_items)
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

    def small(self, k: int) -> Mask:
        """Return whether each crowd has fewer than k rows."""
        return (self.sizes > 0) & (self.sizes < k)

    def at_risk(self, lost: Mask, exposed: Mask) -> Mask:
        """Return whether each row of the table has a lost crowd, or contains a threat in its crowd."""
        # The empty itemset is a threat of a ``lost`` crowd. An ``exposed`` row of ``index`` contains another
        # threat.
        return (lost[self.members] | exposed)[self.own]


class CrowdThreats(NamedTuple):
    """Threats in crowds. Those that take time are counted when they are called."""

    lost: Mask  # the crowds with the empty itemset as a threat
    mark_rows: Callable[[], Mask]  # the rows of the index that contain another one
    list_threats: Callable[[], ItemsetTable]  # the others


@frozen
class QuasiClasses:
    """Equivalence classes of the quasi-identifiers, and the threats of a guarantee in their crowds."""

    guarantee: KKm | KLm
    quasi: pd.DataFrame
    of_row: Numbers  # the class of each row
    columns: list[Itemsets]
    crowds: Crowds
    threats: CrowdThreats

    @classmethod
    def of(
        cls, frame: pd.DataFrame, guarantee: KKm | KLm, column: Hashable | None, *, is_part: bool = False
    ) -> QuasiClasses:
        """Find the classes of a frame, which may be whole classes of a larger table."""
        places = [find_column(frame, label) for label in list_labels(guarantee, column)]
        sets = [read_visible(frame.iloc[:, place]) for place in places]
        positions = find_quasi(frame, guarantee.quasi)
        of_row = equal_rows(frame, positions)
        crowds = Crowds.of(sets, of_row)
        threats = guarantee._expose(crowds, is_part=is_part)
        return cls(guarantee, frame.iloc[:, positions], of_row, sets, crowds, threats)

    def audit(self) -> Audit:
        """Return the verdict for a whole table."""
        # If the original had as many empty rows, suppression emptied none.
        emptied, mapping = self.emptied, self.guarantee.mapping
        shown = [] if mapping is None or np.sum(emptied) <= mapping.empty_rows else emptied
        at_risk = np.logical_or.reduce([self.exposed, *shown])
        return Audit(self.guarantee, int(np.count_nonzero(at_risk)), partial(self.table, *shown))

    @property
    def emptied(self) -> list[Mask]:
        """For each list column, whether a row is one of fewer than k empty rows of a class with labels."""
        suppresses = self.guarantee.mapping is not None and self.guarantee.mapping.suppresses
        return [
            mark_emptied((each.lengths == 0) & ~each.nulls, each.lengths > 0, self.of_row, self.guarantee.k)
            for each in (self.columns if suppresses else [])
        ]

    @property
    def exposed(self) -> Mask:
        """Whether each row contains a threat."""
        return self.crowds.at_risk(self.threats.lost, self.threats.mark_rows())

    def table(self, *emptied: Mask) -> pd.DataFrame:
        """List the empty itemset for classes with emptied rows, then the table of `_lost_and_threats`."""
        listed = self._lost_and_threats()
        if not np.any(emptied):
            return listed
        owners, counts = np.unique(self.of_row[np.logical_or.reduce(emptied)], return_counts=True)
        found = self._add_quasi(owners, empty_itemsets(counts), "emptied")
        return pd.concat([found, listed], ignore_index=True) if len(listed) else found

    def _lost_and_threats(self) -> pd.DataFrame:
        """List the empty itemset for classes with lost crowds, and the threats of other classes."""
        # Threats are ordered by class, size and items. If an itemset is a threat in several crowds of a
        # class, its lowest support is listed.
        lost, threats = self.threats.lost, self.threats.list_threats()
        crowds, n_items = self.crowds, max(self.crowds.itemsets.n_items, 1)
        fewest = np.full(int(self.of_row.max(initial=-1)) + 1, len(self.of_row) + 1)
        np.minimum.at(fewest, crowds.of_class[lost], crowds.sizes[lost])
        few = np.flatnonzero(fewest <= len(self.of_row))
        pairs = crowds.of_class[crowds.crowd_of] * n_items + crowds.item_of
        pairs, codes = np.unique(pairs, return_inverse=True)
        found = replace(threats, codes=codes[threats.codes].astype(np.int32))
        class_of, item_of = np.divmod(pairs, n_items)
        # If the empty itemset is a threat of a class, it is the only minimal one.
        found = found.take(~np.isin(class_of[found.codes[found.offsets[:-1]]], few)).distinct().ordered()
        owners = np.concatenate((few, class_of[found.codes[found.offsets[:-1]]]))
        order = np.argsort(owners, kind="stable")
        found = replace(found, codes=item_of[found.codes].astype(np.int32))
        listed = concatenate([empty_itemsets(fewest[few]), found]).take(order)
        few_rows = np.where(listed.lengths > 0, "rare", "class")
        why = np.where(listed.supports < self.guarantee.k, few_rows, "diversity")
        return self._add_quasi(owners[order], listed, why)

    def _add_quasi(self, owners: Numbers, threats: ItemsetTable, why: Reasons) -> pd.DataFrame:
        """Tabulate threats beside the quasi-identifiers of their classes."""
        _, first = np.unique(self.of_row, return_index=True)
        quasi = self.quasi.iloc[first[owners]].reset_index(drop=True)
        return pd.concat([quasi, threat_table(self.crowds.itemsets, threats, why)], axis=1)
