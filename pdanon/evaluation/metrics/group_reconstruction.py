"""Reconstruction: how far what is expected of sensitive items, by counts of groups, is from the truth.

Ghinita, Tao, Kalnis, "On the Anonymization of Sparse High-Dimensional Data", ICDE 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.sensitive_groups import group_numbers
from pdanon.itemsets.codes import Itemsets, as_itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.validation import MOST_DRAWN, check_count, check_kind, random_generator, read_list
from pdanon.recoding.grouped import GroupedRows
from pdanon.recoding.original import labels_of, other_frame
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["reconstruction_error"]

_MOST = 16  # items of a query, whose cells are counted one by one


def reconstruction_error(
    original: pd.DataFrame,
    result: Anonymized,
    column: Hashable | None = None,
    *,
    queries: Iterable[tuple[Any, Iterable[Any]]] | None = None,
    n: int = 100,
    size: int = 4,
    random_state: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Measure how far the expected shares of rows with a sensitive item are from the true ones.

    Parameters
    ----------
    original : pandas.DataFrame
        The frame that was anonymized.
    result : Anonymized
        What `cahd` made of it.
    column : hashable, optional
        The list column. By default the only one.
    queries : iterable of pairs, optional
        Of each query the sensitive item, and the list of public items by which rows with it are divided. By
        default they are drawn.
    n : int
        How many queries to draw, at least 1.
    size : int
        How many public items each has, 1 to 16, or all there are if they are fewer.
    random_state : int, Generator or None
        A seed, for the same queries again.

    Returns
    -------
    pandas.DataFrame
        ``sensitive, items, KL``: one row a query. KL is in nats, 0 at best.

    Raises
    ------
    ParameterError
        If the result is not of this frame, or not one of `cahd`; an item of a query is not what it should
        be; or a number is out of range.
    ColumnError, ItemsetDtypeError
        If the column is not what it should be.

    Notes
    -----
    The public items of a query divide the rows that have its sensitive item into cells, by which of them a
    row holds. ``Act`` is the share of a cell; ``Est`` what is expected of it if each row of a group has the
    item with the chance of the group. KL is the sum of ``Act * log(Act / Est)``. The paper draws items, all
    alike likely, and reports averages of 100 queries.

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
    check_kind(result, Anonymized, "result", "what pdanon.cahd returned")
    if not isinstance(result.guarantee, SensitiveGroups):
        got, hint = repr(result.guarantee), "give what pdanon.cahd returned"
        raise ParameterError("the result has no counts of groups", where="result", got=got, hint=hint)
    itemsets = Itemsets.from_series(list_column(original, column))
    if not original.index.equals(result.frame.index):
        raise other_frame(f"{len(original)} rows, the result has {len(result.frame)}, or another index")
    rows = GroupedRows(itemsets, _recoding(result, itemsets), group_numbers(result.frame))
    if queries is None:
        check_count(n, "n", least=1, most=MOST_DRAWN)
        check_count(size, "size", least=1, most=_MOST)
        asked = rows.drawn(n, size, random_generator(random_state))
    else:
        asked = [_read(query, rows) for query in read_list(queries, "queries", what="a list of pairs")]
    texts = itemsets.texts()
    return pd.DataFrame(
        {
            "sensitive": pd.array([texts[secret] for secret, _ in asked], dtype="string"),
            "items": as_itemsets([[texts[item] for item in items] for _, items in asked]),
            "KL": np.array([rows.kl(*query) for query in asked], np.float64),
        }
    )


def _recoding(result: Anonymized, itemsets: Itemsets) -> Recoding:
    """What became of the items of the original, by the mapping of the result."""
    labels = labels_of(result, itemsets).dictionary_encode()
    targets = to_numpy(labels.indices.fill_null(-1)).astype(np.int32)
    covered = np.bincount(targets[targets >= 0], minlength=len(labels.dictionary))
    return Recoding(targets, labels.dictionary, covered, itemsets.n_items, False)


def _read(query: Any, rows: GroupedRows) -> tuple[int, NDArray[np.int64]]:
    """The codes of the items of a query."""
    hint = "such as ('flu', ['rice', 'tea'])"
    parts = read_list(query, "queries", hint, "a list of pairs")
    if len(parts) != 2:
        got = f"{len(parts)} parts"
        raise ParameterError(
            "a query is a sensitive item and public ones", where="queries", got=got, hint=hint
        )
    secret = rows.itemsets.lookup([parts[0]])
    items = np.unique(rows.itemsets.lookup(read_list(parts[1], "queries", hint)))
    if (secret < 0).any() or not rows.is_sensitive[secret].all():
        raise ParameterError("the first item of a query is not sensitive", where="queries", hint=hint)
    if (items < 0).any() or rows.is_sensitive[items].any() or len(items) > _MOST:
        problem = f"the others of a query are up to {_MOST} public items of the data"
        raise ParameterError(problem, where="queries", hint=hint)
    return int(secret[0]), items.astype(np.int64)
