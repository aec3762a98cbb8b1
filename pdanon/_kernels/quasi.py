"""What rows lose of their quasi-identifiers, summed over the columns."""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.arrays import Code, Number
from numpy.typing import NDArray

__all__ = ["look_up"]


def look_up(
    tables: Number[::1], starts: Number[::1], codes: Code[:, ::1], rows: Number[::1]
) -> NDArray[np.int64]:
    """Sum, for each of some rows, what the tables of all columns have for its values."""
    losses = np.empty(len(rows), np.int64)
    found: cython.longlong[::1] = losses
    place: cython.Py_ssize_t
    column: cython.Py_ssize_t
    loss: cython.longlong
    with cython.nogil:
        for place in range(rows.shape[0]):
            loss = 0
            for column in range(starts.shape[0]):
                loss += tables[starts[column] + codes[rows[place], column]]
            found[place] = loss
    return losses
