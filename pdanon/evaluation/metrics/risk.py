"""Risks of a table: rows that a few known items single out, and the inference of private items."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import secret_totals
from pdanon.guarantees.coherence import PublicAndPrivate, private_items
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.kkm import Crowds
from pdanon.guarantees.named import NamedItems, named_items
from pdanon.guarantees.parameters import check_finite_m, check_k
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Measures
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets, Numbers, read_visible
from pdanon.itemsets.columns import find_columns, find_quasi, list_column
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.lists import Floats
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import check_frame
from pdanon.recoding.counts import of_all_rows
from pdanon.recoding.result import Anonymized, other_frame, recoded_lists
from pdanon.recoding.risk import hidden_items, is_hidden_item

_SHOWN = (0, 1, 2, 3, 5)  # numbers of known items; from 10 on: 10, 20, 50, 100, ...


@called_by_name
def risk(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int,
    m: int = 2,
    quasi: Sequence[Hashable] | None = None,
    sensitive: Sequence[Any] | None = None,
) -> pd.DataFrame:
    """Measure the share of rows that an attacker with knowledge of a few items can single out.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        Original or released rows, and their list column, by default the only one.
    k : int
        The threshold of ``below_k``: a row is at risk if fewer than k rows match; at least 2.
    m : int
        Maximum number of known items; at least 1. The table ends at the length of the longest row.
    quasi : sequence of hashable, optional
        Labels of columns whose values the attacker knows as well.
    sensitive : sequence, optional
        Items that the attacker does not know, such as diagnoses. They count in no row. Items that do not
        occur are ignored, as a release may have suppressed them.

    Returns
    -------
    pandas.DataFrame
        One row per number of known items, first for the whole table, then by the number of items in the
        row. Columns:

        ``known``
            Maximum number of known items. It starts with 1; with ``quasi`` it starts with 0, for an
            attacker with knowledge of the columns only.
        ``singled_out``
            Share of rows that are the only match for some background knowledge.
        ``below_k``
            Share of rows for which fewer than k rows match some background knowledge.
        ``items``
            Number of items in the row (labels, if the frame is a release); NA for all rows.
        ``rows``
            Number of rows.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid, or the rows are parts of records, as in a release by
        `disassociate`.

    Notes
    -----
    The result is exact: the worst case over all background knowledge, not an average.

    With ``quasi``, rows match if their published values are equal: numbers, intervals, nodes or sets, as in
    :class:`pdanon.KAnonymity`. The counts agree with the audit of :class:`pdanon.KKm`, which finds the same
    number of rows at risk: a repeated label counts as another label, and a missing row matches missing rows
    only.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice", "salt"]]})
    >>> df.txanon.risk(k=3, m=2)
       known  singled_out  below_k  items  rows
    0      1     0.333333      1.0   <NA>     3
    1      2     0.333333      1.0   <NA>     3
    2      1     0.333333      1.0      2     3
    3      2     0.333333      1.0      2     3
    """
    refuse_chunks(check_frame(frame))
    with show_activity("risk"):
        read = Itemsets.from_series if quasi is None else read_visible
        itemsets = remove_items(read(list_column(frame, column)), sensitive)
        classes = None if quasi is None else equal_rows(frame, find_quasi(frame, quasi))
        return risk_of(itemsets, k=k, m=m, classes=classes)


def of_few_known(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of `risk` for the whole table, for few numbers of known items and the largest."""
    whole = of_all_rows(table)
    known = whole.index.to_series()
    round_ = known.isin([base * 10**power for base in (1, 2, 5) for power in range(1, 10)])
    return whole[(known.isin(_SHOWN) | round_ | (known == known.max())).to_numpy()]


def risk_of(itemsets: Itemsets, *, k: int, m: int, classes: Numbers | None = None) -> pd.DataFrame:
    """Measure the risk of an encoded column, as in `risk`, if the attacker knows the class of each row."""
    k, m = check_k(k), check_finite_m(m)
    crowds = None if classes is None else Crowds.of([itemsets], classes)
    index = SupportIndex.of(itemsets) if crowds is None else crowds.index
    known = range(1 if crowds is None else 0, max(min(m, index.longest), 1) + 1)
    thresholds = (k,) if k == 2 else (k, 2)
    # By row, the sizes of the smallest itemsets with support below k, and 1; known.stop if there is none.
    sizes = [np.where(found > 0, found, known.stop) for found in index.exposures(thresholds, known[-1])]
    below_k, alone, weights = sizes[0], sizes[-1], index.weights
    if crowds is not None:  # size 0 marks rows whose quasi-identifiers alone have too few candidate rows
        below_k, alone = (
            np.where(crowds.small(least)[crowds.members], 0, found)[crowds.own]
            for least, found in ((k, below_k), (2, alone))
        )
        weights = np.ones(len(alone), np.int64)
    return _table(itemsets.lengths, weights, known, alone, below_k)


def _table(
    lengths: Numbers,
    weights: Numbers,
    known: range,
    unique: Numbers,
    exposed: Numbers,
) -> pd.DataFrame:
    """Tabulate the shares of all rows, then of the rows of each length."""
    own, group = np.unique(lengths, return_inverse=True)

    def count(sizes: Numbers) -> Numbers:
        # Rows by the size of the smallest itemset: at risk if at least as many items are known. Those of all
        # lengths come first, if there are rows.
        counts = np.zeros((len(own), known.stop + 1), np.int64)
        np.add.at(counts, (group, sizes), weights)
        return np.cumsum(np.vstack((counts.sum(axis=0, keepdims=True)[: len(own)], counts)), axis=1)

    rows = count(unique)[:, -1:]

    def share(sizes: Numbers) -> Floats:
        return (count(sizes)[:, known.start : known.stop] / rows).ravel()

    items = pd.array([pd.NA, *own.tolist()], dtype="Int64")[: len(rows)]
    table = {
        "known": np.tile(np.array(known), len(rows)),
        "singled_out": share(unique),
        "below_k": share(exposed),
        "items": items.repeat(len(known)),
        "rows": rows.repeat(len(known)),
    }
    return Measures(pd.DataFrame(table))


def exposure(
    result: Anonymized,
    original: pd.DataFrame | None = None,
    column: Hashable | None = None,
    *,
    k: int | None = None,
    m: int | None = None,
) -> dict[str, pd.DataFrame]:
    """Measure the risk of all rows ``after`` anonymization and, with the original, ``before``, as `risk`."""
    k = k if k is not None else getattr(result.guarantee, "k", None)
    m = m if m is not None else getattr(result.guarantee, "m", None) or 2
    refuse_chunks(result.frame)
    if k is None:
        hint = "pass the number of rows that counts as safe, such as k=5"
        raise ParameterError("the guarantee has no k", got=repr(result.guarantee), hint=hint)
    if column is None:
        lists = recoded_lists(result)
        column = lists[0] if len(lists) == 1 else None
    frames = {"after": result.frame}
    if original is not None:
        check_frame(original, "original")
        if not original.index.equals(result.frame.index):
            raise other_frame(
                f"{len(original)} rows, and {len(result.frame)} in the release, or another index"
            )
        frames = {"before": original, **frames}
    quasi = getattr(result.guarantee, "quasi", None)
    known: dict[str, Any] = {"k": k, "m": m, "quasi": quasi, "sensitive": hidden_items(result.guarantee)}
    tables = {name: of_all_rows(risk(frame, column, **known)) for name, frame in frames.items()}
    # The tables end at their longest rows; more known items than that change nothing.
    numbers = max((table.index for table in tables.values()), key=len)
    return {name: table.reindex(numbers, method="ffill").reset_index() for name, table in tables.items()}


def remove_items(itemsets: Itemsets, sensitive: Any) -> Itemsets:
    """Remove sensitive items, if they are given, from the rows; a row without other items becomes empty."""
    if sensitive is None:
        return itemsets
    return itemsets.keep_items(~is_hidden_item(itemsets, NamedItems.some(sensitive, "sensitive")))


# --- Inference of private items: the probabilities that coherence bounds


@called_by_name
def breach(
    frame: pd.DataFrame, column: Hashable | None = None, *, known: Iterable[Any], private: Any
) -> pd.DataFrame:
    """Measure the probability of each private item, given known public items.

    Parameters
    ----------
    frame, column : pandas.DataFrame, hashable
        Original or released rows, and their list column, by default the only one besides the private column.
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
    wanted = named_items(columns.itemsets, NamedItems.of(known, "known"))
    both = int((wanted & parts.is_private[: len(wanted)]).sum())
    if both:
        hint = "a known item is public: leave it out of known or private"
        raise ParameterError("a known item is private", where="known", got=f"{both} items", hint=hint)
    held = parts.index.select(np.append(wanted, np.zeros(len(parts.is_private) - len(wanted), np.bool_)))
    matching = parts.secrets.within(held.lengths == wanted.sum())
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
