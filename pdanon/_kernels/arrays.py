"""Arrays that grow inside a kernel, where it is not known before how much is found."""

import cython
import numpy as np


@cython.cfunc
@cython.with_gil
def grown(array: Growing[::1], size: cython.Py_ssize_t, capacity: cython.Py_ssize_t) -> Growing[::1]:
    """An array of this capacity that begins with the first entries of another, as many as its size."""
    larger: Growing[::1] = np.empty(capacity, np.int32 if Growing is cython.int else np.int64)
    larger[:size] = array[:size]
    return larger
