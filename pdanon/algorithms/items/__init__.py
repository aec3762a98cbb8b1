"""The algorithms for a list column: one module each, with one public function and its record."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from pdanon.algorithms.registry import register

__all__: list[str] = []

# Every module of this package is an algorithm, except those with a leading _, which several share.
_NAMES = [each.name for each in iter_modules(__path__) if not each.name.startswith("_")]
_FILES = [import_module(f"{__name__}.{name}") for name in _NAMES]
register(*(file.RECORD for file in _FILES if hasattr(file, "RECORD")))
