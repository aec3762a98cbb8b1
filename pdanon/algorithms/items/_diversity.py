"""Common steps of the algorithms that keep sensitive items diverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import LmDiversity
from pdanon.guarantees.parameters import ItemLimit
from pdanon.itemsets.support import SupportIndex


def diversity_model(k: int, m: ItemLimit, sensitive: Any, diversity: int | None) -> LmDiversity | None:
    """Return the guarantee for sensitive items; None without any."""
    if (sensitive is None) != (diversity is None):
        hint = "pass both: sensitive lists the items, and l bounds how often they occur"
        raise ParameterError("sensitive and l go together", hint=hint)
    return None if diversity is None else LmDiversity(l=diversity, m=m, sensitive=sensitive, k=k)


def check_diverse(known: SupportIndex, secrets: SupportIndex, diversity: int, n_present: int) -> None:
    """Check that l can hold for all rows that are not missing, and for the rows with known items."""
    if not len(known.codes):
        hint = "leave out of sensitive the items that an attacker may know"
        raise ParameterError("all items are sensitive", where="sensitive", hint=hint)
    beside = secrets.within(np.diff(known.offsets) > 0)
    most_in = (int(rows.singles.max(initial=0)) for rows in (secrets, beside))
    shares = [*zip(most_in, (n_present, beside.n_rows), strict=True)]
    # The largest l that holds for both sets of rows.
    largest = min(n_rows // most for most, n_rows in shares if most)
    for (most, n_rows), what in zip(
        shares, ("rows that are not missing", "rows that contain other items"), strict=True
    ):
        if most * diversity > n_rows:
            raise InfeasibleError(
                "a sensitive item is in more than 1/l of the rows",
                where="sensitive",
                got=f"l={diversity}, an item in {most} of {n_rows} {what}",
                hint=f"the largest l that works is {largest}" if largest > 1 else "leave it out of the table",
            )
