"""Numba kernels: pure functions on arrays, compiled at their first call and cached on disk.

Importing a module of this package imports numba; the rest of pdanon imports them inside the functions
that need them, so that ``import pdanon`` stays quick.
"""
