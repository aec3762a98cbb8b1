"""Measures of equivalence classes, the rows that are equal on the quasi-identifiers."""

# DM: Bayardo, Agrawal, "Data Privacy through Optimal k-Anonymization", ICDE 2005. C_avg: LeFevre, DeWitt,
# Ramakrishnan, "Mondrian Multidimensional k-Anonymity", ICDE 2006. CM: Iyengar, "Transforming Data to Satisfy
# Privacy Constraints", KDD 2002.

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.parameters import check_k
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_quasi, is_list_column, label_positions, quasi_labels
from pdanon.itemsets.equality import pair_numbers, row_numbers
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.lists import Numbers


@takes_tables
def class_sizes(frame: pd.DataFrame, quasi: Sequence[Hashable]) -> pd.Series[int]:
    """Count the rows of each class.

    Parameters
    ----------
    frame : pandas.DataFrame
        A released frame, or any other.
    quasi : sequence of hashable
        Labels of the quasi-identifiers. Rows with equal values in all of them are a class; missing values
        are equal to each other. Lists are equal if they have the same items equally often.

    Returns
    -------
    pandas.Series
        Number of rows per class. Classes are numbered from 0, in the order of their first rows.

    Raises
    ------
    ParameterError, ColumnError
        If ``quasi`` is empty, or has a label twice; or if a column does not exist, or exists twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.evaluation.metrics import classes
    >>> ages = pd.DataFrame({"age": pd.IntervalIndex.from_tuples([(1, 5), (6, 9), (1, 5)], closed="both")})
    >>> classes.class_sizes(ages, ["age"]).tolist()
    [2, 1]
    """
    _, first, sizes = np.unique(_classes(frame, quasi), return_index=True, return_counts=True)
    # Numbers of classes depend on the values: order them by their first rows.
    return pd.Series(sizes[np.argsort(first)], name="size", dtype="int64")


def _classes(frame: pd.DataFrame, quasi: Sequence[Hashable]) -> Numbers:
    positions = label_positions(frame, quasi_labels(quasi))
    lists = [position for position in positions if is_list_column(frame.iloc[:, position])]
    classes = equal_rows(frame, [position for position in positions if position not in lists])
    for position in lists:
        rows = Itemsets.from_series(frame.iloc[:, position], repeats=True)
        classes = pair_numbers(classes, row_numbers(rows) + 1)
    return classes


@takes_tables
def class_measures(
    frame: pd.DataFrame, quasi: Sequence[Hashable], *, k: int, target: Hashable | None = None
) -> pd.Series[float]:
    """Measure the classes of a release.

    Parameters
    ----------
    frame : pandas.DataFrame
        A released frame.
    quasi : sequence of hashable
        Labels of its quasi-identifiers. A list column has the groups of `partition` and `clump`.
    k : int
        The k of the release, the minimum number of rows of a class; at least 2.
    target : hashable, optional
        Label of a column that a classifier predicts, for CM.

    Returns
    -------
    pandas.Series
        ``DM``, the discernibility: the sum over the rows of the size of their class. ``C_avg``: the average
        size of a class divided by k, at best 1. ``classes``: the number of classes. ``smallest`` and
        ``largest``: their sizes. With ``target`` also ``CM``, the classification metric: the share of the
        rows without the most frequent target of their class. All are 0 if there are no rows.

    Raises
    ------
    ParameterError, ColumnError
        If k is out of range, or as in `class_sizes`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.evaluation.metrics import classes
    >>> frame = pd.DataFrame({"city": ["x", "x", "y", "y", "y"], "sex": ["f", "f", "*", "*", "*"]})
    >>> classes.class_measures(frame, ["city", "sex"], k=2)
    DM          13.00
    C_avg        1.25
    classes      2.00
    smallest     2.00
    largest      3.00
    dtype: float64
    """
    k = check_k(k)
    classes = _classes(frame, quasi)
    sizes = np.unique(classes, return_counts=True)[1]
    measures = {
        "DM": int(sizes @ sizes),
        "C_avg": len(frame) / max(len(sizes), 1) / k,
        "classes": len(sizes),
        "smallest": int(sizes.min()) if len(sizes) else 0,
        "largest": int(sizes.max(initial=0)),
    }
    if target is not None:
        targets = equal_rows(frame, find_quasi(frame, [target]))
        pairs, counts = np.unique(np.stack((classes, targets)), axis=1, return_counts=True)
        most = np.zeros(int(classes.max(initial=-1)) + 1, np.int64)
        np.maximum.at(most, pairs[0], counts)
        measures["CM"] = 1 - float(most.sum()) / len(classes) if len(classes) else 0.0
    return pd.Series(measures, dtype="float64")
