"""Top-down specialization: all values are one at first, and are told apart where that pays most.

Fung, Wang, Yu, "Top-Down Specialization for Information and Privacy Preservation", ICDE 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Attribute, Numbers, Ranges
from pdanon.algorithms.relational.cells import bounds
from pdanon.algorithms.relational.publishing import release_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows, sums
from pdanon.algorithms.relational.suppression import published
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "specialize", "top_down"]


@called_by_name
def top_down(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    suppress: float = 0,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Begin with one class, and tell values apart where that gains most for the anonymity it costs.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    quasi : sequence of hashable
        Labels of the columns that an attacker may know.
    hierarchies : mapping, optional
        By quasi-identifier, a hierarchy or what ``Hierarchy.of`` makes one of.
    suppress : float
        Share of the rows, in [0, 1], of which nothing need be published, if that loses less. They are one
        class, of at least k rows.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding: each value is published alike throughout the table.

    Raises
    ------
    InfeasibleError
        If there are fewer than k, but more than 0, rows.
    HierarchyError
        If a hierarchy is not a tree or lacks values of its column.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. A specialization replaces a node by its children, one range of
    numbers or times by two, or the set of all other values by the values. It is done only if all classes
    keep k rows; one that is not possible never becomes so. The next one is that of the highest score
    (ties: the first column, the lowest values): the NCP that it gains, over the number of rows by which the
    smallest class shrinks, if it does. A range is cut where that gains most NCP among the
    possible cuts (ties: the lowest). The paper measures the gain by what a class label tells; here there is
    none. With ``suppress``, rows may also be left in classes of fewer than k, which are suppressed, as long
    as they are no more than allowed; what they lose is taken from the gain. Of this release and the one
    without suppressed rows, the one of less NCP is returned.

    Cost: time of the distinct combinations of values, for each column and specialization. Memory of a few
    numbers for each row and column.


    References
    ----------
    .. [1] B. C. M. Fung, K. Wang, P. S. Yu, "Top-Down Specialization for Information and Privacy
       Preservation", ICDE 2005.


    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.top_down(df, k=2, quasi=["age", "origin"]).frame
            age                 origin
    0  [19, 22]  (France,Greece,Spain)
    1  [19, 22]  (France,Greece,Spain)
    2  [28, 39]  (France,Greece,Spain)
    3  [28, 39]  (France,Greece,Spain)
    """
    return release_classes(
        frame,
        "top_down",
        specialize,
        k=k,
        quasi=quasi,
        hierarchies=hierarchies,
        suppress=suppress,
        keep=keep,
        progress=progress,
    )


def specialize(
    table: QuasiTable, k: int, rng: np.random.Generator, report: Callable[[int], Any], most: int = 0
) -> Classes:
    """Decide which values are told apart, as `top_down` says; nothing is left to chance."""
    found = [published(table, _groups(table, k, allowed, report), k, most) for allowed in sorted({0, most})]
    return min((each for each in found if each is not None), key=lambda each: each.lost)


@dataclass(frozen=True, eq=False, slots=True)
class _Rows:
    """Combinations of values that are not suppressed.

    Parameters
    ----------
    tuples : list of ndarray of int32, shape (combinations,)
        Their values, column by column.
    weights : ndarray of int64, shape (combinations,)
        How many rows have each.
    classes : ndarray of int64, shape (combinations,)
        The class of each.
    """

    tuples: list[Codes]
    weights: Numbers
    classes: Numbers

    def take(self, chosen: NDArray[np.bool_]) -> _Rows:
        """Some of them."""
        return _Rows([codes[chosen] for codes in self.tuples], self.weights[chosen], self.classes[chosen])


@dataclass(frozen=True, eq=False, slots=True)
class _Step:
    """A specialization: what it gains, its least class, the group of each value, and what is suppressed."""

    gain: int
    smallest: int
    parts: Numbers
    gone: NDArray[np.bool_]


def _groups(table: QuasiTable, k: int, left: int, report: Callable[[int], Any]) -> list[Numbers]:
    """The group of each value, where so many rows may be suppressed."""
    tuples, weights = table.distinct()
    rows = _Rows(tuples, weights, np.zeros(len(weights), np.int64))
    groups = [np.zeros(each.n_values, np.int64) for each in table.attributes]  # all are at the root
    done: set[tuple[int, int]] = set()  # groups that can no more be told apart
    while len(rows.weights):
        sizes = sums(rows.classes, rows.weights)
        spare = _spare(table, groups, rows) if left else np.zeros(len(rows.weights), np.int64)
        best: tuple[Fraction, int, int, _Step] | None = None
        for place, (attribute, codes) in enumerate(zip(table.attributes, rows.tuples, strict=True)):
            of_tuple = groups[place][codes]
            for group in np.unique(of_tuple).tolist():
                if (place, group) in done:
                    continue
                members = of_tuple == group
                step = _step(attribute, place, group, rows.take(members), spare[members], k, left)
                if step is None:
                    done.add((place, group))
                    continue
                shrinks = int(sizes.min()) - step.smallest  # not positive: the smallest class stays as it is
                score = Fraction(step.gain, max(shrinks, 1))
                if best is None or score > best[0]:
                    best = score, place, group, step
        if best is None or best[0] < 0:
            break
        _, place, group, step = best
        kept = np.ones(len(rows.weights), np.bool_)
        kept[np.flatnonzero(groups[place][rows.tuples[place]] == group)[step.gone]] = False
        left -= int(rows.weights[~kept].sum())
        groups[place] = np.where(groups[place] == group, step.parts, groups[place])
        rows = rows.take(kept)
        classes = group_rows([rows.classes, groups[place][rows.tuples[place]]], len(rows.weights))
        rows = replace(rows, classes=classes)
        report(1)
    return groups


def _spare(table: QuasiTable, groups: Sequence[Numbers], rows: _Rows) -> Numbers:
    """What more each combination would lose if it were suppressed."""
    columns = zip(table.attributes, groups, rows.tuples, strict=True)
    spare: Numbers = np.sum([each.whole - _lost(each, of, codes) for each, of, codes in columns], axis=0)
    return spare


def _lost(attribute: Attribute, groups: Numbers, codes: Codes) -> Numbers:
    """What some values lose by their groups."""
    if not isinstance(attribute, Ranges):
        return attribute.taxonomy.penalties[groups[codes]]
    names, of_code = np.unique(groups[codes], return_inverse=True)
    return attribute.between(*bounds(of_code, codes, len(names)))[of_code]


def _step(
    attribute: Attribute, place: int, group: int, rows: _Rows, spare: Numbers, k: int, left: int
) -> _Step | None:
    """The specialization of a group in one column, if there is one.

    A group is known by its node or, if it is a range, by its lowest value.
    """
    codes = rows.tuples[place]
    parts = _parts(attribute, group, codes, rows, k, left)
    if parts is None:
        return None
    after = group_rows([rows.classes, parts[codes]], len(codes))
    sizes = sums(after, rows.weights)
    gone = sizes[after] < k
    if gone.all() or rows.weights[gone].sum() > left:
        return None
    before = _lost(attribute, np.zeros(attribute.n_values, np.int64) + group, codes)[~gone]
    saved = before - _lost(attribute, parts, codes[~gone])
    gain = int(rows.weights[~gone] @ saved) - int(rows.weights[gone] @ spare[gone])
    return _Step(gain, int(sizes[sizes >= k].min()), parts, gone)


def _parts(attribute: Attribute, group: int, codes: Codes, rows: _Rows, k: int, left: int) -> Numbers | None:
    """The new group of each value: a child of the node, or one of two ranges."""
    if isinstance(attribute, Ranges):
        last = _best_cut(attribute, codes, rows.classes, rows.weights, k, left)
        return None if last is None else np.where(np.arange(attribute.n_values) > last, last + 1, group)
    taxonomy = attribute.taxonomy
    children = taxonomy.hierarchy.children(group).astype(np.int64)
    if len(children) == 0:
        return None
    return children[np.searchsorted(children, taxonomy.leaves, side="right") - 1]


def _best_cut(
    attribute: Ranges, codes: Codes, classes: Numbers, weights: Numbers, k: int, left: int
) -> int | None:
    """The last value below the cut of a range that gains most, and suppresses no more rows than are left.

    On either side of a cut, the rows of a class are k at least, or none, or suppressed.
    """
    order = np.lexsort((codes, classes))
    ordered, owner, rows = codes[order], classes[order], weights[order]
    below = np.cumsum(rows)
    starts = np.searchsorted(owner, owner)
    below -= below[starts] - rows[starts]  # rows of the class up to each value
    above = sums(owner, rows)[owner] - below
    few = np.where(below < k, below, 0) + np.where(above < k, above, 0)
    # Between two values of a class, a cut leaves the rows below on one side and the rest on the other.
    bad = np.flatnonzero((owner[1:] == owner[:-1]) & (few[:-1] > 0))
    low, high = int(codes.min()), int(codes.max())
    change = np.zeros(high - low + 1, np.int64)
    np.add.at(change, ordered[bad] - low, few[bad])
    np.add.at(change, ordered[bad + 1] - low, -few[bad])
    gone = np.cumsum(change)[:-1]
    cuts = np.flatnonzero(gone <= left)
    if len(cuts) == 0:
        return None
    lower = np.cumsum(sums((codes - low).astype(np.int64), weights))[cuts]
    first, last = np.full(len(cuts), low), np.full(len(cuts), high)
    kept = lower * attribute.between(first, cuts + low)
    kept += (int(weights.sum()) - lower) * attribute.between(cuts + low + 1, last)
    return int(cuts[np.argmin(kept + gone[cuts] * attribute.unit)]) + low


RECORD = Algorithm(
    top_down,
    (KAnonymity,),
    recodes="values",
    form=specialize,
)
