"""Forms: what the leaves of a hierarchy are compared as, where the values of a column are not text.

A file has text only, and a value has many: true and TRUE, 1 and 1.0, a date and its midnight. So leaves and
values are both read as what the column holds. What cannot be read, such as infinity, is compared by its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import HierarchyError
from pdanon.hierarchy.arrays import Nodes

__all__ = ["TEXT", "Form", "refuse_torn"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?", re.ASCII
)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Form:
    """How values are compared.

    Parameters
    ----------
    looks : str
        What they look like, with an example: for messages.
    read : callable
        From a text without surrounding blanks to the value, or to None if it is no such text.
    """

    looks: str
    read: Callable[[str], Hashable]

    @classmethod
    def of(cls, kind: pa.DataType) -> Form:
        """The form of the values of an Arrow type."""
        types = pa.types
        if types.is_boolean(kind):
            return cls("true or false", lambda text: _BOOLEANS.get(text.lower()))
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            return cls("numbers, such as 12 or 12.0", _number)
        if types.is_timestamp(kind) or types.is_date(kind):
            zone = kind.tz if types.is_timestamp(kind) else None
            return cls("dates, such as 2020-01-31 or 2020-01-31 09:30", partial(_moment, zone=zone))
        if types.is_time(kind) or types.is_duration(kind):
            example = pa.array([0]).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
            return cls(f"text such as {example.cast(pa.string())[0]}", TEXT.read)
        return TEXT

    def key(self, text: str) -> Hashable:
        """What is equal for texts of one value: the value or, if it is none of this form, the text."""
        value = self.read(text.strip())
        return text if value is None else value

    def leaves(self, names: Sequence[str], parent: Nodes, is_leaf: NDArray[np.bool_]) -> dict[Hashable, int]:
        """Find the leaves of a tree by their values; of those of one value and one parent, the first.

        Parameters
        ----------
        names, parent, is_leaf
            Those of the tree, by node.

        Raises
        ------
        HierarchyError
            If two leaves are one value, and have different parents.
        """
        found: dict[Hashable, int] = {}
        leaves = np.flatnonzero(is_leaf).tolist()
        first = [found.setdefault(self.key(names[leaf]), leaf) for leaf in leaves]
        refuse_torn(parent[first] != parent[leaves], self.looks)
        return found


def refuse_torn(torn: NDArray[np.bool_], looks: str) -> None:
    """Refuse leaves of one value, given which have another parent than the first of them."""
    if torn.any():
        raise HierarchyError(
            "two leaves are one value and have different parents",
            got=f"{np.count_nonzero(torn)} such leaves, read as {looks}",
            hint="name each value once",
        )


TEXT = Form("text, letter for letter", lambda text: None)


def _number(text: str) -> Decimal | None:
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _moment(text: str, zone: str | None) -> pd.Timestamp | None:
    """A point in time; where a column has a time zone, a text without one is of the column's."""
    if not _MOMENT.fullmatch(text):
        return None
    try:
        moment = pd.Timestamp(text)
    except ValueError:  # such as the 30th of February
        return None
    if zone is None or moment.tzinfo is not None:
        return moment
    localized = moment.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")
    return localized if isinstance(localized, pd.Timestamp) else None
