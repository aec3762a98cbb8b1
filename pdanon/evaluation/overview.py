"""An overview of a table in a few lines: where its lists are, who can be found, and what can be called."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from pdanon.errors import PdanonError, one_line
from pdanon.evaluation.metrics.risk import risk_of
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column
from pdanon.recoding.counts import of_all_rows, percent

__all__ = ["overview"]

_K = 5  # rows that are enough, as in a first look
_MOST_PAIRS = 10**7  # of items in rows, which are counted in about a second
_NEXT = {
    "look": "profile(), risk(k=5), tradeoff()",
    "release": "anonymize(k=5, m=2) tries what can do it; or one algorithm, such as pcta(k=5, m=2)",
    "check": "audit(pdanon.KmAnonymity(k=5, m=2)), attack(release)",
}


def overview(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """The lines of an overview: names and texts, and no item.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table. What is wrong with its lists is said in a line.

    Notes
    -----
    Cost: that of reading the lists, and of `risk` for two known items; for one, where rows are so many or so
    long that this would take more than about a second.
    """
    try:
        refuse_chunks(frame)
        position = find_column(frame)
        itemsets = Itemsets.from_series(frame.iloc[:, position])
    except PdanonError as error:
        yield "rows", f"{len(frame):,}"
        yield "lists", one_line(error)
        return
    yield "rows", f"{len(frame):,}, lists in {frame.columns[position]!r}"
    longest = itemsets.lengths.max(initial=0)
    mean = len(itemsets.codes) / max(itemsets.n_present, 1)
    yield "items", f"{itemsets.n_items:,} distinct; {mean:.3g} in a row on average, {longest:,} at most"
    yield from _risk(itemsets)
    yield from _NEXT.items()


def _risk(itemsets: Itemsets) -> Iterator[tuple[str, str]]:
    lengths = itemsets.lengths.astype(np.int64)
    few = int((lengths * (lengths - 1) // 2).sum()) <= _MOST_PAIRS
    risks = of_all_rows(risk_of(itemsets, k=_K, m=2 if few else 1)).reset_index()
    for known, alone, below_k in risks[["known", "singled_out", "below_k"]].iloc[-1:].itertuples(index=False):
        items = f"{known} item{'s' if known > 1 else ''}"
        found = f"{percent(alone)} of the rows alone, {percent(below_k)} among fewer than {_K}"
        yield "risk", f"who knows {items} finds {found}"
