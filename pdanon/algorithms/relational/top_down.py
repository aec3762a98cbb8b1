"""Top-down specialization: all values are one at first, and are told apart where that pays most.

Fung, Wang, Yu, "Top-Down Specialization for Information and Privacy Preservation", ICDE 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.record import Algorithm
from pdanon.algorithms.relational.attributes import Attribute, Numbers, Ranges
from pdanon.algorithms.relational.publishing import form
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows, sums
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.codes import Codes
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "specialize", "top_down"]


def top_down(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
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
    none.

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
    asked = {"algorithm": "top_down"}
    return form(frame, specialize, k, quasi, hierarchies, keep, progress, asked)


def specialize(table: QuasiTable, k: int, rng: np.random.Generator, report: Callable[[int], Any]) -> Classes:
    """Decide which values are told apart, as `top_down` says; nothing is left to chance."""
    tuples, weights = table.distinct()
    groups = [np.zeros(each.n_values, np.int64) for each in table.attributes]  # all are at the root
    classes = np.zeros(len(weights), np.int64)
    done: set[tuple[int, int]] = set()  # groups that can no more be told apart
    while len(weights):
        sizes = sums(classes, weights)
        best: tuple[Fraction, int, int, Numbers] | None = None
        for place, (attribute, codes) in enumerate(zip(table.attributes, tuples, strict=True)):
            of_tuple = groups[place][codes]
            for group in np.unique(of_tuple).tolist():
                if (place, group) in done:
                    continue
                members = of_tuple == group
                found = _parts(attribute, group, codes[members], classes[members], weights[members], k)
                if found is None:
                    done.add((place, group))
                    continue
                gain, smallest, parts = found
                shrinks = int(sizes.min()) - smallest  # not positive: the smallest class stays as it is
                score = Fraction(gain, max(shrinks, 1))
                if best is None or score > best[0]:
                    best = score, place, group, parts
        if best is None:
            break
        _, place, group, parts = best
        groups[place] = np.where(groups[place] == group, parts, groups[place])
        classes = group_rows([classes, groups[place][tuples[place]]], len(weights))
        report(1)
    return Classes.of_values(table, groups)


def _parts(
    attribute: Attribute, group: int, codes: Codes, classes: Numbers, weights: Numbers, k: int
) -> tuple[int, int, Numbers] | None:
    """What a specialization gains, its smallest class, and the new group of each value, if there is one.

    A group is known by its node or, if it is a range, by its lowest value.
    """
    if isinstance(attribute, Ranges):
        cut = _best_cut(attribute, codes, classes, weights, k)
        if cut is None:
            return None
        gain, value = cut
        parts = np.where(np.arange(attribute.n_values) > value, value + 1, group)
    else:
        taxonomy = attribute.taxonomy
        children = taxonomy.hierarchy.children(group).astype(np.int64)
        if len(children) == 0:
            return None
        below = np.searchsorted(children, taxonomy.leaves, side="right") - 1
        parts = children[below]
        lost = taxonomy.penalties[group] - taxonomy.penalties[parts[codes]]
        gain = int(weights @ lost)
    smallest = int(sums(group_rows([classes, parts[codes]], len(codes)), weights).min())
    return (gain, smallest, parts) if smallest >= k else None


def _best_cut(
    attribute: Ranges, codes: Codes, classes: Numbers, weights: Numbers, k: int
) -> tuple[int, int] | None:
    """The cut of a range that gains most and leaves k rows, or none, of each class on both sides.

    Returns what it gains, and the last value of the lower part.
    """
    order = np.lexsort((codes, classes))
    ordered, owner, rows = codes[order], classes[order], weights[order]
    below = np.cumsum(rows)
    starts = np.searchsorted(owner, owner)
    below -= below[starts] - rows[starts]  # rows of the class up to each value
    whole = sums(owner, rows)[owner]
    # Between two values of a class, a cut leaves the rows below on one side and the rest on the other.
    bad = np.flatnonzero((owner[1:] == owner[:-1]) & ((below[:-1] < k) | (whole[:-1] - below[:-1] < k)))
    low, high = int(codes.min()), int(codes.max())
    change = np.zeros(high - low + 1, np.int64)
    np.add.at(change, ordered[bad] - low, 1)
    np.add.at(change, ordered[bad + 1] - low, -1)
    cuts = np.flatnonzero(np.cumsum(change)[:-1] == 0) + low
    if len(cuts) == 0:
        return None
    total = int(weights.sum())
    lower = np.cumsum(sums((codes - low).astype(np.int64), weights))[cuts - low]
    first, last = np.full(len(cuts), low), np.full(len(cuts), high)
    kept = lower * attribute.between(first, cuts) + (total - lower) * attribute.between(cuts + 1, last)
    best = int(np.argmin(kept))
    return total * int(attribute.between(first[:1], last[:1])[0]) - int(kept[best]), int(cuts[best])


RECORD = Algorithm(
    top_down,
    (KAnonymity,),
    recodes="values",
    form=specialize,
)
