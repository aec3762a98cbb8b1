"""Sensitive groups: sensitive items are published as counts of groups of rows, not in the rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees.km import expose_itemsets
from pdanon.guarantees.models import Checks, Model
from pdanon.guarantees.named import named_items, refuse_members
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, check_columns
from pdanon.guarantees.verdict import Audit, Exposure, count_emptied, list_emptied, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets, Mask, Numbers, as_itemsets, item_texts, read_visible
from pdanon.itemsets.columns import added_label, find_column, label_position
from pdanon.itemsets.dtype import arrow_values
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import mask_at, to_numpy
from pdanon.itemsets.support import MOST_ROWS, SupportIndex
from pdanon.itemsets.validation import check_count, describe

GROUP = "group"  # label of the column with the group of each row
COUNTS = (GROUP, "size", "item", "count")  # columns of a table of counts
_P_HINT = "pass p such that a sensitive item is in at most 1/p of the rows of a group, such as p=4"
_HINT = (
    "pass the table of this release: guarantee.with_classes(result.classes), or --classes on the command line"
)


@frozen
class GroupCounts:
    """A table of counts: the number of rows of each group with each sensitive item."""

    groups: Numbers  # ascending
    sizes: Numbers  # number of rows of each group
    group: Numbers  # for each line with an item, the position of its group in `groups`
    items: pa.Array  # the item of each line, as text
    counts: Numbers  # rows of the group with the item, by line

    @classmethod
    def of(cls, classes: Any) -> GroupCounts | None:
        """Read a table of counts, which must not contradict itself; return None if there is none."""
        if classes is None or isinstance(classes, cls):
            return classes
        if not isinstance(classes, pd.DataFrame):
            got = type(classes).__name__
            raise ParameterError("classes must be a pandas DataFrame", where="classes", got=got, hint=_HINT)
        check_columns(classes, COUNTS, "counts", "classes", _HINT)
        number, size, counts = (_integers(classes[name], name) for name in (GROUP, "size", "count"))
        items = _item_texts(classes["item"])
        groups, first, group = np.unique(number, return_index=True, return_inverse=True)
        sizes, named = size[first], to_numpy(items.is_valid())
        items = items.filter(pa.array(named))
        pairs = pd.DataFrame({"group": group[named], "item": items.to_pylist()})
        problems = {
            "a group has several sizes": size != sizes[group],
            "an item has several lines in a group": pairs.duplicated().to_numpy(),
            "a size or a count is negative": (size < 0) | (counts < 0),
            "a line without an item has a count": counts[~named] != 0,
        }
        for problem, lines in problems.items():
            if lines.any():
                what = f"the table of counts contradicts itself: {problem}"
                raise ParameterError(what, where="classes", got=f"{int(lines.sum())} lines", hint=_HINT)
        return cls(groups, sizes, group[named], items, counts[named])

    def places(self, numbers: Numbers) -> Numbers:
        """Return the position of the group of each row."""
        # Other groups or sizes than those of the table are an error.
        problem = "the table of counts has other rows"
        found = pd.Index(self.groups).get_indexer(pd.Index(numbers))
        if unknown := int((found < 0).sum()):
            got = f"{unknown} rows of other groups"
            raise ParameterError(problem, where="classes", got=got, hint=_HINT)
        if wrong := int((np.bincount(found, minlength=len(self.groups)) != self.sizes).sum()):
            got = f"{wrong} of {len(self.groups)} groups with another size than in the table"
            raise ParameterError(problem, where="classes", got=got, hint=_HINT)
        return found


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SensitiveGroups(Model):
    """Each sensitive item is in at most 1/p of the rows of each group, and no row contains sensitive items.

    Missing rows do not count as rows of their group. Public items, all others, are published in the rows,
    with the group of each row. A second table counts the rows of each group with each sensitive item. With k,
    every itemset of at most m published public items that occurs in a row occurs in at least k rows.

    Parameters
    ----------
    p : int
        A sensitive item is in at most 1/p of the rows of a group; at least 2.
    sensitive : iterable
        The sensitive items, with the type that they have in the original.
    classes : DataFrame, optional
        The table of counts of a release: ``group, size, item, count``, one line for each group and sensitive
        item in the group. A group without sensitive items has one line with a missing item.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label.
    k : int, optional
        Also require ``KmAnonymity(k, m)`` of the public items: at least k rows match.
    m : int or None
        With k: maximum number of public items that the attacker knows, by default 2; None: all of a row.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If a number is out of range, m is given without k, no sensitive item is given, the mapping generalizes
        one, they are of several types, or ``classes`` is not a table of counts.

    Notes
    -----
    Without k, public items may identify a row, and the attacker learns its group. With k, matching rows are
    counted in the whole table, for an attacker without a known sensitive item: else, groups without it can
    be excluded.

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
    mapping: Any = None
    k: int | None = None
    m: int | None = DEFAULT_M

    _checks: ClassVar[Checks] = {
        "p": partial(check_count, name="p", least=2, hint=_P_HINT),
        "classes": GroupCounts.of,
    }

    def __post_init__(self) -> None:
        m = self.m
        super().__post_init__()
        if self.k is None:
            object.__setattr__(self, "m", m)
            if not isinstance(m, DefaultNumber):
                hint = "pass k, the minimum number of matching rows, such as k=5, m=2; or omit both"
                raise ParameterError("m is given without k", where="m", got=f"m={describe(m)}", hint=hint)

    def is_sensitive(self, itemsets: Itemsets) -> Mask:
        """Return whether each item of an original column is sensitive; all must occur."""
        return named_items(itemsets, self.sensitive)

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            A released frame, if ``classes`` is given; otherwise an original frame.
        column : hashable, optional
            The list column. By default the only one.

        Returns
        -------
        Audit
            ``threats`` has the columns ``itemset, support, why, group, size``. ``why`` is ``shown`` for a
            sensitive item in a row, ``frequent`` for a sensitive item in too many rows of a group, and, with
            k, ``rare`` or ``emptied`` for the threats of `KmAnonymity`.

        Raises
        ------
        ColumnError, ParameterError
            If the column ``group`` does not exist, or has other values than integers; if the table has other
            groups; if a sensitive item is neither in the table nor in the rows, which would prove nothing; or
            if it is a member of a published set.

        Notes
        -----
        Exact, in one pass over rows and table. With k, the cost of `KmAnonymity` is added.
        """
        itemsets = read_visible(frame.iloc[:, find_column(frame, column)])
        refuse_members(itemsets, self.sensitive, self.mapping)
        shown = self.sensitive.find(itemsets.vocabulary) >= 0  # labels that are sensitive items
        at_risk, rare, emptied = np.zeros(itemsets.n_rows, np.bool_), None, 0
        if self.k is not None:  # the threats of `KmAnonymity` for the public items
            public = SupportIndex.of(itemsets).keep_items(~shown)
            rare = expose_itemsets(public, itemsets.n_present, self.k, self.m)
            if itemsets.n_present >= self.k:
                emptied = count_emptied(itemsets, self.k, self.mapping)
            at_risk = (rare.mark_rows() | ((itemsets.lengths == 0) & (emptied > 0))) & ~itemsets.nulls
        at_risk[itemsets.rows[shown[itemsets.codes]]] = True
        self._refuse_unknown(itemsets)
        list_threats = partial(self._list_threats, itemsets, shown, rare, emptied)
        if self.classes is None:
            return Audit(self, int(at_risk.sum()), list_threats)
        counts = self.classes
        group_of = counts.places(group_numbers(frame))
        # On integers: count > rows // p if and only if count * p > rows. The minimum avoids overflow.
        present = np.bincount(group_of[~itemsets.nulls], minlength=len(counts.groups))
        frequent = counts.counts > present[counts.group] // min(self.p, MOST_ROWS)
        risky = mask_at(len(counts.groups), counts.group[frequent])
        at_risk |= risky[group_of] & ~itemsets.nulls
        return Audit(self, int(at_risk.sum()), partial(list_threats, frequent))

    def _refuse_unknown(self, itemsets: Itemsets) -> None:
        """Raise an error if a sensitive item is neither in the table of counts nor in the rows."""
        found = {*self.sensitive.find(itemsets.vocabulary).tolist()}
        what, table = "does not occur in the data", f"of a release, {_HINT}"
        if self.classes is not None:
            what, table = "is in no group", "check that the table is that of this release"
            counted = self.classes.items.filter(pa.array(self.classes.counts > 0))
            found |= {*self.sensitive.find(counted).tolist()}
        self.sensitive.refuse_unknown(found, what, table)

    def _list_threats(
        self,
        itemsets: Itemsets,
        shown: Mask,
        rare: Exposure | None,
        emptied: int,
        frequent: Mask | None = None,
    ) -> pd.DataFrame:
        """List the threats: items in rows, items too frequent in a group, rare itemsets."""
        codes = np.flatnonzero(shown)
        items = item_texts(itemsets.vocabulary.take(pa.array(codes)))
        supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)[codes]
        found = [_threats(items, supports, "shown")]
        if frequent is not None:
            counts, place = self.classes, self.classes.group[frequent]
            each = _threats(counts.items.filter(pa.array(frequent)), counts.counts[frequent], "frequent")
            found.append(each.assign(group=counts.groups[place], size=counts.sizes[place]))
        if rare is not None:  # itemsets are not about a group: their group and size are missing
            texts = replace(itemsets, vocabulary=item_texts(itemsets.vocabulary).cast(pa.string()))
            found += [list_emptied(texts, emptied)] * bool(emptied)
            found.append(threat_table(texts, *rare.list_threats()))
        listed = pd.concat(found, ignore_index=True)
        listed = listed.reindex(columns=["itemset", "support", "why", "group", "size"])
        return listed.astype({"group": "Int64", "size": "Int64"})

    def with_classes(self, classes: pd.DataFrame) -> SensitiveGroups:
        """Return the guarantee for a release with this table of counts, ``result.classes``."""
        return replace(self, classes=classes)


def _threats(items: pa.Array, supports: Numbers, why: str) -> pd.DataFrame:
    """Return single items as threats."""
    itemsets = as_itemsets([[text] for text in items.to_pylist()])
    return pd.DataFrame({"itemset": itemsets, "support": supports, "why": why})


def _integers(column: pd.Series[Any], name: str) -> Numbers:
    """Return a column of integers, and raise an error for other values."""
    if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
        raise ParameterError(f"{name} must be integers", where=f"classes, column {name}", hint=_HINT)
    return column.to_numpy(np.int64)


def _item_texts(column: pd.Series[Any]) -> pa.Array:
    """Return the items of a table as text; null if missing."""
    try:
        return item_texts(arrow_values(column).combine_chunks())
    except (pa.ArrowException, TypeError, ValueError):
        pass
    # Raise outside of the handler: the message of Arrow, as its context, may contain an item.
    raise ParameterError("the items of the table are of several types", where="classes, column item")


def group_numbers(frame: pd.DataFrame) -> Numbers:
    """Return the group of each row of a released frame."""
    column = frame.iloc[:, label_position(frame, added_label(frame, GROUP))]
    if not pd.api.types.is_integer_dtype(column.dtype) or column.isna().any():
        raise ColumnError("the groups must be integers", where=f"column {GROUP!r}", got=column.dtype.name)
    return column.to_numpy(np.int64)
