"""The form of plain data: frozen classes of fields, without equality."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_Class = TypeVar("_Class")


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[_Class]) -> type[_Class]:
    """Decorate a class of plain data: its fields are set once, and arrays among them are never compared."""
    return dataclass(frozen=True, eq=False, slots=True)(kind)
