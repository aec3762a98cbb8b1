"""Sensitive groups: which row of a group has a sensitive item is not published, only how many rows have it.

With k and m, the other items that rows show are k^m-anonymous as well.

Ghinita, Tao, Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees.emptied import emptied_row, few_emptied
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.named import NamedItems, Told, named_items, refuse_within_labels
from pdanon.guarantees.parameters import DEFAULT_M, Unsaid, check_k, check_m
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.codes import Itemsets, as_itemsets, item_texts
from pdanon.itemsets.columns import added_label, find_column, label_position
from pdanon.itemsets.compatibility import arrow_values, text_column
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import MOST_ROWS, SupportIndex
from pdanon.itemsets.table import empty_itemset
from pdanon.itemsets.validation import check_count, describe

__all__ = ["COUNTS", "GROUP", "GroupCounts", "SensitiveGroups", "group_numbers"]

GROUP = "group"  # the column that says of a row which group it is in
COUNTS = (GROUP, "size", "item", "count")  # the columns of a table of counts
_HINT = (
    "give the table that belongs to this release: guarantee.with_classes(result.classes), or --classes on "
    "the command line"
)


@dataclass(frozen=True, eq=False, slots=True)
class GroupCounts:
    """A table of counts, read: how often each sensitive item is in each group of rows.

    Parameters
    ----------
    groups : ndarray of int64
        The groups, ascending.
    sizes : ndarray of int64
        How many rows each has.
    group : ndarray of int64
        Of each line with an item, the place of its group in ``groups``.
    items : pyarrow.LargeStringArray
        Its item, as text.
    counts : ndarray of int64
        In how many rows of the group the item is.
    """

    groups: NDArray[np.int64]
    sizes: NDArray[np.int64]
    group: NDArray[np.int64]
    items: pa.Array
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, classes: Any) -> GroupCounts | None:
        """Read a table; None is none.

        Raises
        ------
        ParameterError
            If it is no such table, or contradicts itself.
        """
        if classes is None or isinstance(classes, cls):
            return classes
        _check_table(classes)
        number, size, counts = (_whole(classes[name], name) for name in (GROUP, "size", "count"))
        items = _texts(classes["item"])
        groups, first, group = np.unique(number, return_index=True, return_inverse=True)
        sizes, named = size[first], to_numpy(items.is_valid())
        items = items.filter(pa.array(named))
        pairs = pd.DataFrame({"group": group[named], "item": items.to_pylist()})
        _refuse_contradictions(
            {
                "a group has several sizes": size != sizes[group],
                "an item has several lines in a group": pairs.duplicated().to_numpy(),
                "a size or a count is negative": (size < 0) | (counts < 0),
                "a count is of no item": counts[~named] != 0,
            }
        )
        return cls(groups, sizes, group[named], items, counts[named])

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the group of each row, given its number.

        Raises
        ------
        ParameterError
            If these are not the groups of the table, with its sizes.
        """
        found = np.searchsorted(self.groups, numbers)
        known = found < len(self.groups)
        known[known] = self.groups[found[known]] == numbers[known]
        if not known.all():
            got = f"{int((~known).sum())} rows of other groups"
            raise ParameterError("the table of counts is of other rows", where="classes", got=got, hint=_HINT)
        wrong = int((np.bincount(found, minlength=len(self.groups)) != self.sizes).sum())
        if wrong:
            got = f"{wrong} of {len(self.groups)} groups have another size than the table says"
            raise ParameterError("the table of counts is of other rows", where="classes", got=got, hint=_HINT)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveGroups:
    """Each sensitive item is in at most one in p rows of each group, and no row says whether it has one.

    Rows that are missing are no rows of their group: they hold no item.

    The other items, which are public, are published row by row, with the group of each row; a table says how
    many rows of each group have each sensitive item. With k, every itemset of at most m public items that
    occurs in a row, as these are published, occurs in at least k rows of the table.

    Parameters
    ----------
    p : int
        At least 2: of a group, a sensitive item is in at most 1/p of the rows.
    sensitive : iterable
        The sensitive items, as the frame had them.
    classes : DataFrame, optional
        The table of counts of a release: ``group, size, item, count``, one line for each group and sensitive
        item in it; a group without any has one line, whose item is missing.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label.
    k : int, optional
        Also require ``KmAnonymity(k, m)`` of the public items: at least k rows match.
    m : int or None
        With k: most public items that the attacker knows, 2 if nothing is said; None: all of a row.

    Raises
    ------
    ParameterError
        If a number is out of range, m is given without k, no sensitive item is given, one has become
        something else, or the table is none.
    ItemsetDtypeError
        If the sensitive items are of several types.

    Notes
    -----
    Without k identity is not protected: whoever knows enough public items finds the row of a person. He
    learns the group, and that a sensitive item is in at most one in p rows of it.

    With k the rows that match are counted in the whole table, whatever their groups: who knows public items
    knows of no group. A sensitive item is no part of what he knows. Who knows one too can leave out the rows
    whose group does not have it, and fewer than k can be left.

    A set of sensitive items is in no more rows than each of its items, so it needs no test.

    References
    ----------
    .. [1] G. Ghinita, Y. Tao, P. Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> frame = pd.DataFrame({"items": [["wine"], ["wine"], ["beer"]], "group": [0, 0, 0]})
    >>> classes = pd.DataFrame({"group": [0], "size": [3], "item": ["flu"], "count": [1]})
    >>> frame.txanon.audit(pdanon.SensitiveGroups(p=3, sensitive=["flu"], classes=classes)).holds
    True
    >>> frame.txanon.audit(pdanon.SensitiveGroups(p=4, sensitive=["flu"], classes=classes)).threats
       itemset  support       why  group  size
    0  ['flu']        1  frequent      0     3
    """

    p: int
    sensitive: Any
    classes: Any = None
    mapping: Any = field(default=None)
    k: int | None = None
    m: int | None = DEFAULT_M

    def __post_init__(self) -> None:
        hint = "of a group, a sensitive item is in at most 1/p of the rows, such as p=4"
        object.__setattr__(self, "p", check_count(self.p, "p", least=2, hint=hint))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "classes", GroupCounts.of(self.classes))
        object.__setattr__(self, "mapping", Told.of(self.mapping, self.sensitive, "sensitive"))
        if self.k is not None:
            object.__setattr__(self, "k", check_k(self.k))
            object.__setattr__(self, "m", check_m(self.m))
        elif not isinstance(self.m, Unsaid):
            hint = "k says how many rows are to match, such as k=5, m=2; leave both out to protect no row"
            raise ParameterError("m is given without k", where="m", got=f"m={describe(self.m)}", hint=hint)

    def is_sensitive(self, itemsets: Itemsets) -> NDArray[np.bool_]:
        """Which items of an original column are sensitive.

        Raises
        ------
        ParameterError
            If a sensitive item does not occur.
        """
        return named_items(itemsets, self.sensitive, "sensitive")

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            A released frame, with ``classes`` given; or an original one, whose rows show what they have.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` has a line for each sensitive item that rows show (``why`` is ``shown``), for each
            that is in too many rows of a group (``frequent``), and with k for the itemsets of public labels
            that `KmAnonymity` lists (``rare``, ``emptied``): ``itemset, support, why, group, size``.

        Raises
        ------
        ColumnError
            If the column ``group`` is not there, or not of whole numbers.
        ParameterError
            If the table is of other groups, or a sensitive item is neither in it nor in the rows, which would
            prove nothing; or is a member of a published set.

        Notes
        -----
        Exact, in one pass over rows and table; with k it takes what `KmAnonymity` takes besides.
        """
        position = find_column(frame, column)
        itemsets = read_visible(frame.iloc[:, position])
        refuse_within_labels(itemsets, self.sensitive, "sensitive", self.mapping)
        shown = self._shown(itemsets)
        at_risk = self._match_few(itemsets, shown)
        at_risk[itemsets.rows[shown[itemsets.codes]]] = True
        self._refuse_unknown(itemsets)
        if self.classes is None:
            return Audit(self, int(at_risk.sum()), lambda: self._threats(itemsets, shown))
        counts = self.classes
        group_of = counts.places(group_numbers(frame))
        # Exactly: count * p > rows. No group has more rows than can be numbered. A missing one has no item.
        present = np.bincount(group_of[~itemsets.nulls], minlength=len(counts.groups))
        frequent = counts.counts > present[counts.group] // min(self.p, MOST_ROWS)
        risky = np.zeros(len(counts.groups), np.bool_)
        risky[counts.group[frequent]] = True
        at_risk |= risky[group_of] & ~itemsets.nulls
        return Audit(self, int(at_risk.sum()), lambda: self._threats(itemsets, shown, frequent))

    def _shown(self, itemsets: Itemsets) -> NDArray[np.bool_]:
        """Which labels of a column are sensitive items."""
        return self.sensitive.find(itemsets.vocabulary) >= 0

    def _match_few(self, itemsets: Itemsets, shown: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which rows are found among fewer than k by who knows m of their public items."""
        if self.k is None:
            return np.zeros(itemsets.n_rows, np.bool_)
        if 0 < itemsets.n_present < self.k:
            return ~itemsets.nulls
        found = SupportIndex.of(itemsets).keep_items(~shown).at_risk(self.k, self.m)
        if self._emptied(itemsets):
            found |= (itemsets.lengths == 0) & ~itemsets.nulls
        return found

    def _emptied(self, itemsets: Itemsets) -> int:
        """How many rows were emptied, if these are too few."""
        return few_emptied(itemsets, self.k, None if self.mapping is None else self.mapping.suppression)

    def _rare(self, itemsets: Itemsets, shown: NDArray[np.bool_]) -> pd.DataFrame:
        """The public items by which they are found, as text."""
        assert self.k is not None
        itemsets = replace(itemsets, vocabulary=item_texts(itemsets.vocabulary).cast(pa.string()))
        if 0 < (few := itemsets.n_present) < self.k:
            return threat_table(itemsets, empty_itemset(few), "rare")
        public = SupportIndex.of(itemsets).keep_items(~shown)
        rare = threat_table(itemsets, public.rare(self.k, self.m), "rare")
        emptied = self._emptied(itemsets)
        return pd.concat([emptied_row(itemsets, emptied), rare], ignore_index=True) if emptied else rare

    def _refuse_unknown(self, itemsets: Itemsets) -> None:
        """Refuse sensitive items that are neither counted nor shown."""
        found = {*self.sensitive.find(itemsets.vocabulary).tolist()}
        what, table = "does not occur in the data", f"of a release, {_HINT}"
        if self.classes is not None:
            what, table = "is in no group", "check that the table is the one of this release"
            counted = self.classes.items.filter(pa.array(self.classes.counts > 0))
            found |= {*self.sensitive.find(counted).tolist()}
        self.sensitive.refuse_unknown(found, "sensitive", what, table)

    def _threats(
        self, itemsets: Itemsets, shown: NDArray[np.bool_], frequent: NDArray[np.bool_] | None = None
    ) -> pd.DataFrame:
        """What breaks the guarantee: items that rows show, items too frequent in a group, rare itemsets."""
        codes, counts = np.flatnonzero(shown), self.classes
        texts = item_texts(itemsets.vocabulary.take(pa.array(codes))).to_pylist()
        support = np.bincount(itemsets.codes, minlength=itemsets.n_items)[codes].tolist()
        groups, sizes = ([pd.NA] * len(codes) for _ in range(2))
        if frequent is not None:
            place = counts.group[frequent]
            texts += counts.items.filter(pa.array(frequent)).to_pylist()
            support += counts.counts[frequent].tolist()
            groups += counts.groups[place].tolist()
            sizes += counts.sizes[place].tolist()
        found = pd.DataFrame(
            {
                "itemset": as_itemsets([[text] for text in texts]),
                "support": np.array(support, np.int64),
                "why": text_column(["shown"] * len(codes) + ["frequent"] * (len(texts) - len(codes))),
                "group": pd.array(groups, "Int64"),
                "size": pd.array(sizes, "Int64"),
            }
        )
        if self.k is None:
            return found
        rare = self._rare(itemsets, shown).reindex(columns=[*found.columns])
        rare = rare.astype({"group": "Int64", "size": "Int64", "why": found["why"].dtype})
        return pd.concat([found, rare], ignore_index=True)

    def with_mapping(self, mapping: pd.DataFrame) -> SensitiveGroups:
        """Return the guarantee for a release with this mapping."""
        return replace(self, mapping=mapping)

    def with_classes(self, classes: pd.DataFrame) -> SensitiveGroups:
        """The same guarantee of a frame whose sensitive items are counted in a table: ``result.classes``."""
        return replace(self, classes=classes)

    def __repr__(self) -> str:
        hidden = "" if self.k is None else f", k={self.k}, m={self.m}"
        return f"SensitiveGroups(p={self.p}, sensitive={len(self.sensitive)} items{hidden})"


def _check_table(classes: Any) -> None:
    """Check that a table of counts is a frame with its columns."""
    if not isinstance(classes, pd.DataFrame):
        got = type(classes).__name__
        raise ParameterError("classes must be a pandas DataFrame", where="classes", got=got, hint=_HINT)
    lacking = [name for name in COUNTS if list(classes.columns).count(name) != 1]
    if lacking:
        problem = "the table of counts lacks a column, or has it twice"
        raise ParameterError(problem, where="classes", got=lacking, hint=_HINT)


def _refuse_contradictions(problems: Mapping[str, NDArray[np.bool_]]) -> None:
    """Refuse a table, given which lines have a problem."""
    for problem, lines in problems.items():
        if lines.any():
            got = f"{int(lines.sum())} lines"
            what = f"the table of counts contradicts itself: {problem}"
            raise ParameterError(what, where="classes", got=got, hint=_HINT)


def _whole(column: pd.Series[Any], name: str) -> NDArray[np.int64]:
    """A column of whole numbers."""
    if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
        raise ParameterError(f"{name} must be whole numbers", where=f"classes, column {name}", hint=_HINT)
    return column.to_numpy(np.int64)


def _texts(column: pd.Series[Any]) -> pa.Array:
    """The items of a table as text; null where there is none."""
    try:
        values = arrow_values(column)
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        return item_texts(values)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    # Raise outside of the handler: Arrow's own message would carry an item along as the context.
    raise ParameterError("the items of the table are of several types", where="classes, column item")


def group_numbers(frame: pd.DataFrame) -> NDArray[np.int64]:
    """The group of each row of a released frame."""
    column = frame.iloc[:, label_position(frame, added_label(frame, GROUP))]
    if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
        raise ColumnError("the groups are no whole numbers", where=f"column {GROUP!r}", got=column.dtype.name)
    return column.to_numpy(np.int64)
