"""Items that a guarantee names: they are published as themselves or not at all.

An audit counts the rows with a sensitive item by its label. One that is a member of a published set would be
counted nowhere, and the set as something that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.bags import first_copies
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.lists import distinct, to_numpy
from pdanon.itemsets.mapping import check_mapping, mapping_values
from pdanon.itemsets.notation import label_members

__all__ = ["Told", "named_items", "refuse_overlaps", "refuse_within_labels"]

_HINT = "if labels that look like sets are none, a mapping table says so: guarantee.with_mapping(mapping)"


@dataclass(frozen=True, slots=True)
class Told:
    """What the mapping of a release tells about named items.

    Parameters
    ----------
    left_out : frozenset of str
        Those that were suppressed wherever they were.
    others : frozenset of str
        Labels that read as sets of which one is a member, and are none.
    """

    left_out: frozenset[str]
    others: frozenset[str]

    @classmethod
    def of(cls, mapping: Any, named: Any, where: str) -> Told | None:
        """Read a mapping table; None tells nothing.

        Parameters
        ----------
        mapping : DataFrame, Told or None
            The mapping table of a release.
        named : sequence of str or pyarrow.Array
            The items that are named.
        where : str
            What they are: ``sensitive``, ``private`` or ``public``.

        Raises
        ------
        ParameterError
            If it is no mapping table, or says that a named item has become something else, or another item a
            named one.
        """
        if mapping is None or isinstance(mapping, cls):
            return mapping
        check_mapping(mapping)
        items, labels = (mapping_values(mapping, name, pa.large_string()) for name in ("item", "generalized"))
        own = pc.is_in(items, value_set=_texts(named))
        named_so = pc.is_in(labels, value_set=_texts(named))
        _refuse_changes(own, items, labels, f"a {where} item has become something else")
        _refuse_changes(named_so, items, labels, f"an item has become a {where} one")
        wanted, sets = _distinct(named), _looking_like_sets(labels.unique())
        others = (label for label in sets if not wanted.isdisjoint(label_members(label)))
        return cls(
            _distinct(items.filter(own)) - _distinct(items.filter(pc.and_(own, labels.is_valid()))),
            frozenset(others),
        )


def _refuse_changes(lines: Any, items: Any, labels: Any, problem: str) -> None:
    """Refuse a mapping some lines of which have another label than their item."""
    changed = pc.sum(pc.and_(lines, pc.not_equal(items, labels))).as_py()
    if changed:
        hint = "such items are published as they are or not at all, and no other is called like them"
        raise ParameterError(problem, where="mapping", got=f"{changed} lines", hint=hint)


def named_items(itemsets: Itemsets, named: Any, where: str, told: Told | None = None) -> NDArray[np.bool_]:
    """Which items of a column are named, by their text.

    Parameters
    ----------
    itemsets : Itemsets
        The column.
    named : sequence of str or pyarrow.Array
        The items that are named.
    where : str
        What they are.
    told : Told, optional
        What is known about them.

    Raises
    ------
    ParameterError
        If one neither occurs nor was left out: that it has support 0 would prove nothing.
    """
    texts = _texts(itemsets.vocabulary)
    lacking = _distinct(named) - _distinct(pc.unique(texts.filter(pc.is_in(texts, value_set=_texts(named)))))
    unknown = len(lacking - told.left_out if told else lacking)
    if unknown:
        raise ParameterError(
            f"a {where} item does not occur in the data",
            where=where,
            got=f"{unknown} of {len(named)} items",
            hint="check spelling and type of the items; if a release left them out, give its mapping: "
            "guarantee.with_mapping(mapping), or --mapping",
        )
    return to_numpy(pc.is_in(texts, value_set=_texts(named)))


def refuse_within_labels(
    itemsets: Itemsets,
    named: Any,
    where: str,
    told: Told | None,
    hint: str = f"publish such items as they are or not at all; {_HINT}",
) -> None:
    """Refuse a column in which a named item is a member of a set; parameters are those of `named_items`."""
    wanted, known = _distinct(named), told.others if told else frozenset()
    labels = [label for label in _looking_like_sets(_texts(itemsets.vocabulary)) if label not in known]
    hidden = [members for label in labels if (members := wanted.intersection(label_members(label)))]
    if hidden:
        raise ParameterError(
            f"a {where} item is a member of a published set, and cannot be counted",
            where=where,
            got=f"{len(frozenset().union(*hidden))} of {len(wanted)} items, in {len(hidden)} labels",
            hint=hint,
        )


def refuse_overlaps(itemsets: Itemsets) -> None:
    """Refuse a column in which two labels of a row share an item, whose rows are then those of neither."""
    if not _looking_like_sets(_texts(itemsets.vocabulary)):
        return
    first = first_copies(itemsets.vocabulary).tolist()
    labels = [
        (label_members(label) or [label]) if first[code] == code else []
        for code, label in enumerate(itemsets.texts())
    ]
    members = Itemsets.from_arrow(pa.array(labels, pa.list_(pa.large_string())))
    shared = np.bincount(members.codes, minlength=members.n_items) > 1
    members = members.recode(np.where(shared, np.arange(members.n_items), -1), members.vocabulary)
    rows = np.repeat(itemsets.rows, members.lengths[itemsets.codes])
    cells = rows * members.n_items + members.codes[members.places(itemsets.codes.astype(np.int64))]
    repeated = len(cells) - len(distinct(cells))
    if repeated:
        raise ParameterError(
            "labels of a row share an item, whose rows cannot be counted",
            got=f"{repeated} times",
            hint=f"publish an item as one thing in each row; {_HINT}",
        )


def _texts(items: Any) -> Any:
    """Items as Arrow text: NumPy's own drops NULs at the end, and gives each the space of the longest."""
    text = pa.large_string()
    return items.cast(text) if isinstance(items, pa.Array) else pa.array(items, text)


def _distinct(items: Any) -> frozenset[str]:
    return frozenset(_texts(items).to_pylist())


def _looking_like_sets(labels: Any) -> Sequence[str]:
    enclosed = pc.and_(pc.starts_with(labels, "("), pc.ends_with(labels, ")"))
    found: list[str] = labels.filter(enclosed).to_pylist()
    return found
