"""Top-down specialization: start from one class, and separate values where this gains most."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Attribute, Ranges, bounds
from pdanon.algorithms.relational.publishing import publish_values, release_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, group_rows
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Mask, Numbers
from pdanon.itemsets.lists import mask_at, sums
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized


@called_by_name
def top_down(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    max_suppressed: float = 0,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Start from one class, and separate values where the gain is largest for the anonymity it costs.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi, hierarchies, max_suppressed : int, sequence of hashable, mapping, float
        As in `cluster`.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

    Returns
    -------
    Anonymized
        A global recoding: all rows publish a value in the same way.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. A specialization replaces a node by its children, a range of numbers
    or times by two, or the set of all other values by the single values. It is applied only if all classes
    keep k rows. An impossible one never becomes possible. The one with the highest score comes next (ties:
    the first column, the lowest values). The score is the gain in NCP, divided by the number of rows that
    the smallest class loses, if it loses any. A range is cut where that gains most NCP (ties: the lowest
    cut). The paper measures the gain by a class label, which does not exist here.

    With ``max_suppressed``, a specialization may leave up to the allowed number of rows in classes of fewer
    than k. They are suppressed, and their loss is subtracted from the gain. Of this release and the one
    without suppressed rows, the one with less NCP is returned.

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
    return release_classes(RECORD, locals())


def specialize(table: QuasiTable, k: int, rng: np.random.Generator, report: Report, most: int) -> Classes:
    """Choose the values to separate as `top_down` does; nothing is random."""
    found = [
        publish_values(table, _groups(table, k, allowed, report), k, most) for allowed in sorted({0, most})
    ]
    return min((each for each in found if each is not None), key=lambda each: each.loss)


class _Rows(NamedTuple):
    """Combinations of values, without suppressed rows."""

    tuples: list[Codes]  # the values, column by column
    weights: Numbers  # number of rows with each combination
    classes: Numbers  # class of each combination

    def take(self, chosen: Mask) -> _Rows:
        """Select combinations."""
        return _Rows([codes[chosen] for codes in self.tuples], self.weights[chosen], self.classes[chosen])


class _Step(NamedTuple):
    """A specialization: its gain, its smallest class, the group of each value, the suppressed rows."""

    gain: int
    smallest: int
    parts: Numbers
    gone: Mask


def _groups(table: QuasiTable, k: int, left: int, report: Report) -> list[Numbers]:
    """Return the group of each value, for this many suppressed rows."""
    tuples, weights = table.combinations()
    rows = _Rows(tuples, weights, np.zeros(len(weights), np.int64))
    groups = [np.zeros(each.n_values, np.int64) for each in table.attributes]  # all are at the root
    done: set[tuple[int, int]] = set()  # groups that cannot be split: later steps only shrink classes
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
                # Not positive if the smallest class is unchanged.
                shrinks = int(sizes.min()) - step.smallest
                score = Fraction(step.gain, max(shrinks, 1))
                if best is None or score > best[0]:
                    best = score, place, group, step
        if best is None or best[0] < 0:  # a negative gain: suppression would lose more than it saves
            break
        _, place, group, step = best
        kept = ~mask_at(
            len(rows.weights), np.flatnonzero(groups[place][rows.tuples[place]] == group)[step.gone]
        )
        left -= int(rows.weights[~kept].sum())
        groups[place] = np.where(groups[place] == group, step.parts, groups[place])
        rows = rows.take(kept)
        classes = group_rows([rows.classes, groups[place][rows.tuples[place]]], len(rows.weights))
        rows = rows._replace(classes=classes)
        report(1)
    return groups


def _spare(table: QuasiTable, groups: Sequence[Numbers], rows: _Rows) -> Numbers:
    """Return the additional loss of each combination if it were suppressed."""
    columns = zip(table.attributes, groups, rows.tuples, strict=True)
    return np.sum([each.whole - _lost(each, of, codes) for each, of, codes in columns], axis=0)


def _lost(attribute: Attribute, groups: Numbers, codes: Codes) -> Numbers:
    """Return the loss of each value as a member of its group."""
    if not isinstance(attribute, Ranges):
        return attribute.taxonomy.penalties[groups[codes]]
    names, of_code = np.unique(groups[codes], return_inverse=True)
    return attribute.between(*bounds(of_code, codes, len(names)))[of_code]


def _step(
    attribute: Attribute, place: int, group: int, rows: _Rows, spare: Numbers, k: int, left: int
) -> _Step | None:
    """Return the specialization of a group in one column, or None."""
    # A group is identified by its node or, for a range, by its lowest value.
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
    """Return the new group of each value: a child of the node, or one of two ranges."""
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
    """Return the last value below the best cut of a range that suppresses at most ``left`` rows."""
    # On either side of a cut, a class has at least k rows, or none, or its rows are suppressed.
    order = np.lexsort((codes, classes))
    ordered, owner, rows = codes[order], classes[order], weights[order]
    below = np.cumsum(rows)
    starts = np.searchsorted(owner, owner)
    below -= below[starts] - rows[starts]  # rows of the class up to each value
    above = sums(owner, rows)[owner] - below
    few = np.where(below < k, below, 0) + np.where(above < k, above, 0)
    # A cut between two values of a class splits it into the rows up to the lower value and the rest.
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


RECORD = Algorithm(top_down, (KAnonymity,), recodes="values", form=specialize, by_value=True)
