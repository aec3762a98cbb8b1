"""Arrays that grow inside a kernel, where it is not known before how much is found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner

__all__ = ["grown"]

Array = NDArray[Any]


@inner
def grown(array: Array, size: int, capacity: int) -> Array:
    """An array of this capacity that begins with the first entries of another, as many as its size."""
    larger = np.empty(capacity, array.dtype)
    for i in range(size):  # assigning a slice takes seconds to compile
        larger[i] = array[i]
    return larger
