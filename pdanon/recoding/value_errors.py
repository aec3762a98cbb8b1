"""Expected error of counts of combinations of quasi-identifiers, estimated from a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ColumnError
from pdanon.itemsets.equality import value_numbers
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.loss import SAMPLE_SIZE


def combination_error(original: pd.DataFrame, released: pd.DataFrame, positions: Sequence[int]) -> float:
    """Return the average relative error of the count of a combination of values of the quasi-identifiers.

    The average is over up to 200 rows, the same in each call. A published value stands for all values that
    became it, each equally often, whatever the other columns say.
    """
    before, after = ([_numbers(each.iloc[:, at]) for at in positions] for each in (original, released))
    n_rows = len(original)
    if not n_rows or not positions:
        return 0.0
    rows = random_generator(None).choice(n_rows, min(n_rows, SAMPLE_SIZE), replace=False)
    _, combination, counts = np.unique(
        np.column_stack(before), axis=0, return_inverse=True, return_counts=True
    )
    actual = counts[combination.ravel()[rows]]
    classes, sizes = np.unique(np.column_stack(after), axis=0, return_counts=True)
    share = np.repeat(sizes[:, None], len(rows), axis=1).astype(np.float64)
    for values, labels, of_class in zip(before, after, classes.T, strict=True):
        share *= _shares(values, labels, values[rows])[of_class]
    return float(np.mean(np.abs(actual - share.sum(axis=0)) / actual))


def _shares(
    values: NDArray[np.int64], labels: NDArray[np.int64], some: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the share of some values in the rows of each label: 0, or 1 over the values of the label."""
    n_values = int(values.max()) + 1
    label, value = np.divmod(distinct(labels * n_values + values), n_values)
    sizes = np.bincount(label, minlength=int(labels.max()) + 1)
    places, number = np.unique(some, return_inverse=True)
    found = np.zeros((len(sizes), len(places)))
    kept = np.isin(value, places)
    found[label[kept], np.searchsorted(places, value[kept])] = 1 / sizes[label[kept]]
    return found[:, number.ravel()]


def _numbers(column: pd.Series[Any]) -> NDArray[np.int64]:
    """Return the numbers of the values of a column."""
    numbers = value_numbers(column)
    if numbers is None:
        hint = "convert them to text with .astype(str)"
        raise ColumnError("the values of a quasi-identifier cannot be compared", got=column.name, hint=hint)
    return numbers
