"""Frequent itemsets of a table, mined by a library that does nothing else."""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.parameters import check_share
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.deadline import halt_flag
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.progress import watching
from pdanon.itemsets.support import SupportIndex, csr
from pdanon.itemsets.table import ItemsetTable
from pdanon.itemsets.threads import search
from pdanon.itemsets.values import check_count

__all__ = ["frequent_itemsets"]


MOST_ITEMSETS = 1_000_000  # as many are listed, in about a gigabyte; dense rows can have any number


_FEWER = "choose a larger min_support, or a smaller max_size where there is one"


def frequent_itemsets(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    min_support: float,
    max_size: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """List the itemsets that a share of the rows holds.

    Parameters
    ----------
    frame : pandas.DataFrame
        Original or released rows.
    column : hashable, optional
        The list column. By default the only one.
    min_support : float
        Least share of the rows, in (0, 1].
    max_size : int, optional
        Largest size. By default any.
    progress : bool
        Show that it goes on: the parts that are done, which are as many as it takes.

    Returns
    -------
    pandas.DataFrame
        ``itemset`` and ``support`` (rows), by size, then by items.

    Raises
    ------
    ParameterError
        If a number is out of range, there are more than 1,000,000 frequent itemsets, or mlxtend is missing:
        ``pip install 'pdanon[patterns]'``.

    Notes
    -----
    Mined by FP-growth, after it was counted how many there are: up to as many as are listed, so that too many
    are refused at once. Memory: one byte for each row and frequent item, and about 1,000 an itemset found.
    """
    with watching(progress, "frequent itemsets"):
        itemsets = Itemsets.from_series(list_column(frame, column))
        found = _mine(itemsets, _least(min_support, itemsets.n_rows), _size(max_size)).ordered()
    sets = Itemsets(found.codes, found.offsets, itemsets.vocabulary, np.zeros(len(found), np.bool_))
    return pd.DataFrame({"itemset": sets.to_pandas(), "support": found.supports})


def _least(min_support: Any, n_rows: int) -> int:
    """Least number of rows of a frequent itemset."""
    share = check_share(min_support, "min_support")
    if share == 0:
        raise ParameterError("min_support must be above 0", got=min_support)
    return max(-(-share.numerator * n_rows // share.denominator), 1)


def _size(max_size: Any) -> int | None:
    return None if max_size is None else check_count(max_size, "max_size", least=1)


def _mine(
    itemsets: Itemsets, least: int, max_size: int | None, where: str = "min_support", hint: str = _FEWER
) -> ItemsetTable:
    """Itemsets that at least so many rows hold, in no order."""
    try:
        from mlxtend.frequent_patterns import fpgrowth
    except ImportError:
        raise ParameterError(
            "frequent itemsets need the package mlxtend", hint="pip install 'pdanon[patterns]'"
        ) from None
    index = SupportIndex.of(itemsets)
    items = np.flatnonzero(index.singles >= least)
    if _count(index, least, max_size, MOST_ITEMSETS) > MOST_ITEMSETS:
        raise ParameterError(
            "there are too many frequent itemsets to list",
            where=where,
            got=f"more than {MOST_ITEMSETS:,} that {least} of {itemsets.n_rows} rows hold",
            hint=hint,
        )
    held = np.ones(len(itemsets.codes), np.int8)
    rows = csr((held, itemsets.codes, itemsets.offsets), itemsets.n_rows, itemsets.n_items)
    found: list[frozenset[int]] = []
    supports = np.empty(0)
    longest = None if max_size is None else min(max_size, int(itemsets.lengths.max(initial=1)))
    if len(items):
        table = pd.DataFrame.sparse.from_spmatrix(rows[:, items])  # type: ignore[attr-defined]
        table = table.astype(pd.SparseDtype(np.bool_, fill_value=False))
        share = (least - 0.5) / itemsets.n_rows  # it is compared with shares of the rows, as floats
        mined = fpgrowth(table, min_support=share, max_len=longest)
        found, supports = mined["itemsets"].tolist(), mined["support"].to_numpy() * itemsets.n_rows
    offsets = offsets_of(np.array([len(each) for each in found], np.int64))
    places = [place for each in found for place in sorted(each)]
    codes = items[np.array(places, np.int64)].astype(np.int32)
    return ItemsetTable(codes, offsets, np.rint(supports).astype(np.int64))


def _count(index: SupportIndex, least: int, max_size: int | None, most: int) -> int:
    """How many itemsets so many rows hold; any number above ``most`` if there are more than that."""
    from pdanon._kernels import frequent

    items = np.flatnonzero(index.singles >= least)
    rarest_first = items[np.argsort(index.singles[items], kind="stable")]
    largest = index.longest if max_size is None else min(max_size, index.longest)

    def count() -> int:
        return frequent.count_frequent(index.rows, rarest_first, least, largest, most, halt_flag())

    return search(count, [()], inf)[0]
