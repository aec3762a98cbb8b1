"""Numba kernels: pure functions on arrays, compiled at their first call and cached on disk.

Importing a module of this package imports numba; the rest of pdanon imports them inside the functions
that need them, so that ``import pdanon`` stays quick.

To compile is most of what a first call costs, so nothing is compiled that nobody calls: neither a second time
for C, nor for Python what only other kernels call, an `inner` function. A counter that is handed on begins as
``np.int64(0)``: for a literal 0 the function that receives it would be compiled once more.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["inner", "kernel"]

_FOR_PYTHON: dict[str, Any] = {"cache": True, "no_cfunc_wrapper": True}
_FOR_KERNELS: dict[str, Any] = _FOR_PYTHON | {"no_cpython_wrapper": True}

kernel: Callable[[Callable[..., Any]], Any] = njit(**_FOR_PYTHON)
inner: Callable[[Callable[..., Any]], Any] = njit(**_FOR_KERNELS)
