"""The algorithms for a list column: a module for each family, with public functions and their records."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from pdanon.algorithms.registry import Algorithm, register

__all__: list[str] = []

_FILES = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
_RECORDS = [each for file in _FILES for each in vars(file).values() if isinstance(each, Algorithm)]
register(*sorted(_RECORDS, key=lambda record: record.name))
