"""The parameters of guarantees: checks, representation, and audits of list columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import pandas as pd

from pdanon.guarantees.named import MappedItems, NamedItems
from pdanon.guarantees.parameters import (
    DefaultNumber,
    check_k,
    check_m,
    check_open_share,
    check_share,
    format_share,
)
from pdanon.guarantees.verdict import Audit, Suppression
from pdanon.itemsets.codes import read_visible
from pdanon.itemsets.columns import find_columns, quasi_labels
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.memory import explain_memory
from pdanon.itemsets.validation import check_count, check_flag

Checks: TypeAlias = Mapping[str, Callable[[Any], Any]]

# A parameter has the same meaning in all guarantees, except for those that list their own checks.
_CHECKS: Checks = {
    "k": check_k,
    "m": check_m,
    "l": partial(check_count, name="l", least=2),
    "h": partial(check_share, name="h"),
    "c": partial(
        check_open_share,
        name="c",
        hint="pass the maximum share of the sensitive items in the matching rows, such as c=0.5",
    ),
    "rho": partial(
        check_open_share, name="rho", hint="pass the maximum confidence of an inference, such as rho=0.5"
    ),
    "quasi": quasi_labels,
    "columns": partial(quasi_labels, name="columns"),
    "sensitive": partial(NamedItems.some, name="sensitive"),
    "public": partial(NamedItems.of, name="public"),
    "safe": partial(check_flag, name="safe"),
}
_TABLES = ("mapping", "classes")  # of a release; not shown
_MOST_SHOWN = 8  # labels


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A guarantee with parameters that are checked once, and for all but a few a mapping."""

    _checks: ClassVar[Checks] = {}  # of parameters that have another meaning elsewhere, or occur only here

    def __post_init__(self) -> None:
        checks, named = {**_CHECKS, "mapping": Suppression.of, **self._checks}, None
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None and each.default is None:
                continue
            if named is not None and each.name == "mapping":
                value = MappedItems.of_named(value, named)
            else:
                value = checks[each.name](value)
            named = value if isinstance(value, NamedItems) else named
            object.__setattr__(self, each.name, value)

    def __repr__(self) -> str:
        parts = []
        for each in fields(self):
            value = getattr(self, each.name)
            is_omitted = (value is None and each.default is None) or isinstance(value, DefaultNumber)
            if not is_omitted and each.name not in _TABLES:
                parts.append(f"{each.name}={_format(each.name, value)}")
        return f"{type(self).__name__}({', '.join(parts)})"

    @takes_tables
    def with_mapping(self, mapping: pd.DataFrame) -> Self:
        """Return the guarantee for a release with this mapping; unchanged if it is about published labels."""
        return replace(self, mapping=mapping) if hasattr(self, "mapping") else self  # type: ignore[call-arg]


def _format(name: str, value: Any) -> str:
    """Return the text of a parameter, without that of an item."""
    match value:
        case Fraction():
            return format_share(value)
        case pd.DataFrame():
            return f"{len(value)} rows"
        case pd.Series():
            return f"{len(value)}"
        case str() | int() if name == "private":  # the label of a column
            return "a column"
        case [*labels] if len(labels) > _MOST_SHOWN:
            shown = ", ".join(map(repr, labels[:_MOST_SHOWN]))
            return f"({shown}, and {len(labels) - _MOST_SHOWN} more)"
    return repr(value)


class ListModel(Model):
    """A guarantee that depends on list columns only, not on other columns nor on the order of labels."""

    _read = staticmethod(read_visible)  # as an attacker sees them: a repeated label is another label

    @explain_memory
    @takes_tables
    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with the list column and, if the guarantee names one, the private column; released or
            not.
        column : hashable, optional
            The list column. By default the only one, apart from the private column.

        Returns
        -------
        Audit
            The verdict of `recount`, which describes the threats, errors and cost.
        """
        positions = find_columns(frame, column, getattr(self, "private", None))
        return self.recount(ListColumns.of(frame, positions, read=self._read))

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        raise NotImplementedError
