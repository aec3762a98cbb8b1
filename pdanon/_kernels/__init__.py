"""Compiled loops on arrays: arrays in, arrays out.

The kernels are Python with Cython's types, compiled when pdanon is built; ``build_kernels.py`` does it, and
knows the directives. Importing this package checks that what is compiled is what is written here, and never
runs a kernel as plain Python. The rest of pdanon imports kernels at the top of its modules.

A module is a family: kernels that share a state, or a data structure. Each module costs about a second of
compilation before its first line, for memoryviews and classes. So a new kernel goes to an existing family.
``tests/kernels`` calls kernels directly and compares them with naive versions.

How a kernel is written:

- What Python calls is a ``def`` with typed arguments. It allocates, then runs its loop, or a function that
  has it, ``with cython.nogil``; so nothing in a loop can be a Python object by mistake, and threads can share
  work.
- What only kernels call is a ``cfunc`` that is ``nogil``, and ``exceptval(check=False)`` if it cannot fail.
  Where it can, because an array grows, it returns a number and has ``exceptval(-1)``.
- Arrays that are read have elements ``Code`` (int32), ``Number`` (int64), ``Flag`` (bool) or ``Real``
  (float64), of ``counting.pxd``, and may be read-only; those that are written ``cython.int``,
  ``cython.longlong``, ``cython.uchar``, ``cython.double``. All are contiguous, ``[::1]``. Another dtype is an
  error: the caller converts.
- Indices, positions and how many there are of anything are ``cython.Py_ssize_t``, supports and weights
  ``cython.longlong``. What appears in a sum has to be declared, so that its width is chosen: a product or a
  sum of ``cython.int`` is one itself.
- No index is negative; division and remainder of negative numbers are those of C; words of bits are
  ``cython.ulonglong``. A part of an array is handed on as the array, where it begins, and where it ends.
- A state is a final ``cclass`` with a typed attribute for each array. Its attributes, and the functions that
  other families call, are declared in the ``.pxd`` of the family, and have no decorators in the module;
  small, hot functions are written in the ``.pxd``, ``inline``.
"""

from pathlib import Path

from pdanon._kernels._compiled import check

__all__: list[str] = []

check(Path(__file__).parent)
