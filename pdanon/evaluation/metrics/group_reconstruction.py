"""Reconstruction error of sensitive items that are published as counts of groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.items.cahd import GroupedRows
from pdanon.errors import ParameterError
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.sensitive_groups import group_numbers
from pdanon.itemsets.codes import Itemsets, Numbers, as_itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.validation import MOST_DRAWN, Seed, check_count, check_kind, random_generator, read_list
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized, labels_of, other_frame

_MOST = 16  # public items of a query, which has 2**16 cells


@takes_tables
def reconstruction_error(
    original: pd.DataFrame,
    result: Anonymized,
    column: Hashable | None = None,
    *,
    queries: Iterable[tuple[Any, Iterable[Any]]] | None = None,
    n: int = 100,
    size: int = 4,
    random_state: Seed = None,
) -> pd.DataFrame:
    """Measure the divergence of the expected from the true distribution of sensitive items.

    Parameters
    ----------
    original : pandas.DataFrame
        The frame that was anonymized.
    result : Anonymized
        The result of `cahd`.
    column : hashable, optional
        The list column. By default the only one.
    queries : iterable of pairs, optional
        Each query is a sensitive item, and a list of public items. By default queries are drawn.
    n : int
        Number of queries to draw, at least 1.
    size : int
        Number of public items per query, 1 to 16. If there are fewer public items, all of them.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    pandas.DataFrame
        ``sensitive, items, KL``: one row per query. KL is in nats, at best 0.

    Raises
    ------
    ParameterError, ColumnError, ItemsetDtypeError
        If the result is not of this frame or not of `cahd`, a query has another form, a number is out of
        range, or there is not exactly one list column of sets of items.

    Notes
    -----
    The public items of a query split the rows with its sensitive item into cells: each subset of the public
    items is a cell, with the rows that contain exactly this subset. ``Act`` is the share of a cell. ``Est``
    is its expected share, if each row of a group has the item with the probability of the group. KL is the
    sum of ``Act * log(Act / Est)``. The paper draws items uniformly, and reports averages of 100 queries.

    References
    ----------
    .. [1] G. Ghinita, Y. Tao, P. Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> from pdanon.metrics.reconstruction import reconstruction_error
    >>> rows = [["cream", "tea", "flu"], ["tea", "wine"], ["wine"], ["wine", "milk"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.cahd(p=2, sensitive=["flu"])
    >>> reconstruction_error(df, result, queries=[("flu", ["cream"]), ("flu", ["tea"])]).round(3)
      sensitive      items     KL
    0       flu  ['cream']  0.693
    1       flu    ['tea']  0.000
    """
    check_kind(result, Anonymized, "result", "the result of pdanon.cahd")
    if not isinstance(result.guarantee, SensitiveGroups):
        got, hint = repr(result.guarantee), "pass the result of pdanon.cahd"
        raise ParameterError("the result has no counts of groups", where="result", got=got, hint=hint)
    itemsets = Itemsets.from_series(list_column(original, column))
    if not original.index.equals(result.frame.index):
        raise other_frame(f"{len(original)} rows, the result has {len(result.frame)}, or another index")
    rows = GroupedRows(
        itemsets,
        _recoding(result, itemsets),
        group_numbers(result.frame),
        result.guarantee.is_sensitive(itemsets),
    )
    if queries is None:
        check_count(n, "n", least=1, most=MOST_DRAWN)
        check_count(size, "size", least=1, most=_MOST)
        pairs = rows.draw_queries(n, size, random_generator(random_state))
    else:
        pairs = [_read_query(query, rows) for query in read_list(queries, "queries", what="a list of pairs")]
    texts = itemsets.texts()
    return pd.DataFrame(
        {
            "sensitive": pd.array([texts[secret] for secret, _ in pairs], dtype="string"),
            "items": as_itemsets([[texts[item] for item in items] for _, items in pairs]),
            "KL": np.array([rows.kl(*pair) for pair in pairs], np.float64),
        }
    )


def _recoding(result: Anonymized, itemsets: Itemsets) -> Recoding:
    """Return the recoding of the original, read from the mapping of the result."""
    labels = labels_of(result, itemsets).dictionary_encode()
    targets = to_numpy(labels.indices.fill_null(-1)).astype(np.int32)
    covered = np.bincount(targets[targets >= 0], minlength=len(labels.dictionary))
    return Recoding(targets, labels.dictionary, covered, itemsets.n_items, False)


def _read_query(query: Any, rows: GroupedRows) -> tuple[int, Numbers]:
    hint = "such as ('flu', ['rice', 'tea'])"
    parts = read_list(query, "queries", hint, "a list of pairs")
    if len(parts) != 2:
        got = f"{len(parts)} parts"
        problem = "a query is a pair of a sensitive item and a list of public items"
        raise ParameterError(problem, where="queries", got=got, hint=hint)
    secret = rows.itemsets.lookup([parts[0]])
    items = np.unique(rows.itemsets.lookup(read_list(parts[1], "queries", hint)))
    if (secret < 0).any() or not rows.is_sensitive[secret].all():
        raise ParameterError("the first item of a query is not sensitive", where="queries", hint=hint)
    if (items < 0).any() or not rows.is_shown[items].all() or len(items) > _MOST:
        problem = f"the list of a query is not up to {_MOST} public items that the release shows"
        raise ParameterError(problem, where="queries", hint=hint)
    return int(secret[0]), items.astype(np.int64)
