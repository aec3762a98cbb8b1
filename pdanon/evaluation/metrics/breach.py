"""Inference of private items from known items: the probabilities that coherence bounds.

Xu, Wang, Fu, Yu, "Anonymizing Transaction Databases for Publication", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import secret_totals
from pdanon.guarantees.coherence import PublicAndPrivate, private_items
from pdanon.guarantees.named import NamedItems, named_items
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.columns import find_columns
from pdanon.itemsets.encoded_columns import ListColumns


@called_by_name
def breach(
    frame: pd.DataFrame, column: Hashable | None = None, *, known: Iterable[Any], private: Any
) -> pd.DataFrame:
    """Measure the probability of each private item, given known public items.

    Parameters
    ----------
    frame : pandas.DataFrame
        Original or released rows.
    column : hashable, optional
        The list column. By default, the only one besides the private column.
    known : iterable
        Public items that the attacker knows; in a release, its labels. Without any, the shares of all rows.
    private : list of items, Series of bool, or str
        The private items, as in :func:`pdanon.coherence`.

    Returns
    -------
    pandas.DataFrame
        ``private``, the item; ``matches``, the number of rows with all known items; ``support``, the number
        of matches with the private item; and ``probability``, their share of all matches; NaN without a
        match. By descending probability, then by item. With a private column, rows that are missing in it do
        not count.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid; if a known or a private item does not occur; or if a known item
        is private.

    Notes
    -----
    ``Coherence(h, k, p, private)`` limits each probability to h, and ``matches`` to 0 or at least k, if at
    most p items are known.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt", "flu"], ["rice", "salt", "gout"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> df.txanon.breach(known=["rice", "tea"], private=["flu", "gout"])
      private  matches  support  probability
    0     flu        2        1          0.5
    1    gout        2        0          0.0
    """
    named = private_items(private)
    columns = ListColumns.of(frame, find_columns(frame, column, named))
    parts = PublicAndPrivate.of(columns, named)
    if columns.private is not None:
        parts = parts.within_rows(~columns.private.nulls)
    wanted = named_items(columns.itemsets, NamedItems.of(known, "known"), "known")
    both = int((wanted & parts.is_private[: len(wanted)]).sum())
    if both:
        hint = "a known item is public: leave it out of known or private"
        raise ParameterError("a known item is private", where="known", got=f"{both} items", hint=hint)
    held = parts.part(np.append(wanted, np.zeros(len(parts.is_private) - len(wanted), np.bool_)))
    matching = parts.secrets.within(np.diff(held.offsets) == wanted.sum())
    supports = secret_totals(matching, parts.copies)
    items = parts.private_vocabulary
    table = pd.DataFrame(
        {
            "private": pd.array(items, dtype=pd.ArrowDtype(items.type)),
            "matches": matching.n_rows,
            "support": supports,
            "probability": supports / np.float64(matching.n_rows or np.nan),
        }
    )
    return table.sort_values("support", ascending=False, kind="stable", ignore_index=True)
