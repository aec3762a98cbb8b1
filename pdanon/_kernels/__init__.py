"""Compiled loops on arrays: arrays in, arrays out."""

# The kernels are Python with Cython's types. ``build_kernels.py`` compiles them when pdanon is built, and
# sets the directives. The import of this package checks that the compiled kernels match their sources. A
# kernel never runs as plain Python. The rest of pdanon imports kernels at the top of its modules.
#
# A module is a family: kernels that share a state, or a data structure. Each module adds about a second of
# compilation for memoryviews and classes alone. So a new kernel goes to an existing family. ``tests/kernels``
# calls kernels directly and compares them with naive versions.
#
# How to write a kernel:
#
# - A function for Python is a ``def`` with typed arguments. It allocates, then runs its loop, or a function
#   with the loop, ``with cython.nogil``. So no Python object can enter a loop by mistake, and threads can
#   share work.
# - A function for kernels is a ``cfunc`` with ``nogil``, and with ``exceptval(check=False)`` if it cannot
#   fail. If it can fail, because an array grows, it returns a number and has ``exceptval(-1)``.
# - ``counting.pxd`` names the arrays, which are contiguous. Arrays that are only read are ``Codes`` (int32),
#   ``Numbers`` (int64), ``Flags`` (bool) or ``Reals`` (float64), and may be read-only. Arrays that are
#   written are ``int32s``, ``int64s``, ``uint8s`` or ``float64s``. With more dimensions, the name of the
#   element comes before ``[:, ::1]``. Another dtype is an error: the caller converts.
# - Cython's types are imported under NumPy's names. The import has no effect when the kernel runs, as long as
#   Cython knows each name; it does not know ``const``.
# - A local variable has the type of what is assigned to it. Declare it only if that type is too narrow: a sum
#   or product of two ``int32`` is an ``int32``, and a number in the code a C ``long``: 32 bits on Windows.
#   Then indices, positions and sizes are ``Py_ssize_t``; supports and weights are ``int64``.
# - No index is negative. Division and remainder of negative numbers are those of C. Words of bits are
#   ``uint64``. Pass a part of an array as the array, its start, and its end.
# - A state is a final ``cclass`` with a typed attribute for each array. The ``.pxd`` of the family declares
#   its attributes, and the functions that other families call. These functions have no decorators in the
#   module. Small, hot functions are ``inline`` in the ``.pxd``.

from pathlib import Path

from pdanon._kernels._compiled import check

__all__: list[str] = []

check(Path(__file__).parent)
