"""Mondrian: cut the table in two, and each part again, while every part keeps k rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm, Way
from pdanon.algorithms.relational.attributes import cover_loss
from pdanon.algorithms.relational.publishing import release_classes, trim_groups
from pdanon.algorithms.relational.quasi import Classes, QuasiTable, split_groups
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized


@called_by_name
def mondrian(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    max_suppressed: float = 0,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Cut the rows into ever smaller boxes of at least k, and generalize each box.

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
        A local recoding: boxes of a multidimensional cut.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. A part is cut only if each resulting part has k rows. The cut is
    along the column with the largest NCP in the part (ties: the first in ``quasi``), or along the next where
    no cut is possible. Numbers, times and values without a hierarchy are cut in two, in order, where the
    parts differ least in size: at the median or beside it (ties: the lower). Values with a hierarchy are
    split into the children of their lowest common ancestor. Parts with equal published values are one class.
    With ``max_suppressed``, rows that differ from most of their part are then suppressed if that loses less.
    Rows that gain the most for each suppressed row come first.
    Cost: time of rows times the logarithm of rows, for each column, and memory of a few numbers a row.

    References
    ----------
    .. [1] K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.mondrian(df, k=2, quasi=["age", "origin"]).frame
            age           origin
    0  [19, 22]  (France,Greece)
    1  [19, 22]  (France,Greece)
    2  [28, 39]            Spain
    3  [28, 39]            Spain
    """
    return release_classes(RECORD, locals())


def cut_boxes(table: QuasiTable, k: int, rng: np.random.Generator, report: Report, most: int) -> Classes:
    """Cut the boxes as `mondrian` does; nothing is random."""
    groups = np.zeros(table.n_rows, np.int64)
    waiting, n_groups = [np.arange(table.n_rows)], 0
    while waiting:
        rows = waiting.pop()
        parts = _cut(table, rows, k) if len(rows) >= 2 * k else []
        waiting += parts
        if not parts:
            groups[rows] = n_groups
            n_groups += 1
            report(1)
    return trim_groups(table, groups, k, most)


def cut_evenly(table: QuasiTable, most: int) -> list[Numbers]:
    """Cut the rows into the fewest blocks of a maximum size, which differ little in size."""
    # A cut may separate rows of equal values, so each block has ``(most + 1) // 2`` rows or more.
    waiting, blocks = [(np.arange(table.n_rows), -(-table.n_rows // most))], []
    while waiting:
        rows, parts = waiting.pop()
        if parts <= 1:
            blocks.append(np.sort(rows))
            continue
        rows = rows[np.argsort(table.codes[rows, _widest(table, rows)[0]], kind="stable")]
        place = len(rows) * (parts // 2) // parts  # proportional, so that blocks differ by one row at most
        waiting += [(rows[place:], parts - parts // 2), (rows[:place], parts // 2)]
    return blocks


def _widest(table: QuasiTable, rows: Numbers) -> list[int]:
    """Return the columns, the one whose range is widest first."""
    widths = [cover_loss(each, codes) for each, codes in table.columns(rows)]
    return sorted(range(len(widths)), key=lambda place: -widths[place])  # stable: ties in order of `quasi`


def _cut(table: QuasiTable, rows: Numbers, k: int) -> list[Numbers]:
    """Return the parts of the first allowed cut, widest column first; none if no cut is allowed."""
    for place in _widest(table, rows):
        parts = table.attributes[place].split(table.codes[rows, place])
        if parts is not None and np.bincount(parts).min() >= k:
            return [rows[places] for places in split_groups(parts)]  # in the order of the table
    return []


RECORD = Algorithm(mondrian, (KAnonymity,), recodes="values", form=cut_boxes, ways=(Way(KAnonymity, 10),))
