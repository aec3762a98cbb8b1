"""What the algorithms that only suppress public items have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import InfeasibleError
from pdanon.guarantees import Coherence
from pdanon.guarantees.private import Division
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.collapsed import Collapsed
from pdanon.itemsets.columns import with_column
from pdanon.itemsets.support import check_rows
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.release import release
from pdanon.recoding.result import Anonymized

__all__ = ["check_coherent_without_public", "release_suppressed"]


def check_coherent_without_public(parts: Division, guarantee: Coherence) -> None:
    """Check that the empty itemset, which no suppression removes, is not a mole."""
    check_rows(parts.n_rows, guarantee.k)
    supports = parts.supports[parts.is_private]
    above, below = guarantee.h.numerator, guarantee.h.denominator
    frequent = int(np.sum(supports * below > above * parts.n_rows))
    if frequent:
        most = int(supports.max())
        digits = -(-most * 10**4 // parts.n_rows) / 10**4  # rounded up, so that it does work
        share = f"more than h={float(guarantee.h):g} of the rows"
        raise InfeasibleError(
            "private items are so frequent that who knows nothing finds them with a share above h",
            where="h",
            got=f"{frequent} of {len(supports)} private items are in {share}",
            hint=f"the least h that works is {most}/{parts.n_rows}, about {digits:g}; "
            "or leave the most frequent private items out of the table",
        )


def release_suppressed(
    frame: pd.DataFrame,
    parts: Division,
    suppressed: NDArray[np.bool_],
    guarantee: Guarantee,
    parameters: Mapping[str, Any],
) -> Anonymized:
    """Build the release without the suppressed items; the private column, if any, is built anew as well.

    If nothing is suppressed, missing rows become empty only if the guarantee would not hold otherwise.
    """
    itemsets = parts.itemsets
    recoding = Recoding.of_suppressed(suppressed[: itemsets.n_items], itemsets)
    if itemsets.nulls.any() and not suppressed.any():
        original: Any = Collapsed(itemsets, parts.private)
        told = guarantee.with_mapping(mapping_table(itemsets, recoding))  # items may look like labels
        if not told.audit(original).holds:
            itemsets = itemsets.missing_as_empty()
    if parts.private is not None and isinstance(frame, pd.DataFrame):
        frame = with_column(frame, parts.private_position, parts.private.to_pandas())
    result = release(frame, parts.position, itemsets, recoding, guarantee, parameters)
    supports = parts.supports
    lost = int(supports[suppressed].sum())
    share = lost / int(supports.sum()) if lost else 0.0
    return replace(result, loss=pd.concat([result.loss, pd.Series({"S/N": share})]).rename("loss"))
