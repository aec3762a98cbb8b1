"""Disclosure by name: SUDA scores of rows and items, and the diversity of sensitive items."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import factorial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.breaches import likeliest_secrets
from pdanon.guarantees.named import NamedItems, named_labels
from pdanon.guarantees.parameters import check_finite_m
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Measures
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets, Numbers, read_visible
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.equality import pair_numbers
from pdanon.itemsets.lists import offsets_of, ranges, sums
from pdanon.itemsets.support import MOST_ITEMSETS, SupportIndex, csr
from pdanon.itemsets.timing import check_time, show_activity
from pdanon.itemsets.validation import check_count, check_frame

__all__ = ["SudaScores", "diversity", "suda"]

_MOST_KNOWN = 12  # items: sums of the weights of 50 million itemsets stay below 2**63


class SudaScores(NamedTuple):
    """The scores of `suda`.

    Attributes
    ----------
    rows : pandas.Series
        The score of each row.
    items : pandas.DataFrame
        ``item``, the number of minimal unique itemsets that contain it as ``uniques``, and their ``score``.
        By descending score, then by item.
    """

    rows: pd.Series[int]
    items: pd.DataFrame


@called_by_name
def suda(frame: pd.DataFrame, column: Hashable | None = None, *, m: int = 3) -> SudaScores:
    """Score rows and items by the minimal unique itemsets that they contain.

    Parameters
    ----------
    frame : pandas.DataFrame
        Original or released rows.
    column : hashable, optional
        The list column. By default the only one.
    m : int
        Maximum number of known items, 1 to 12.

    Returns
    -------
    SudaScores
        ``rows`` and ``items``. Scores are integers.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid, or the rows are parts of records.

    See Also
    --------
    pdanon.risk : The share of rows that are singled out.

    Notes
    -----
    An itemset is unique if one row contains it, and minimal if each of its proper subsets is in several rows.
    A minimal unique itemset of s items weighs ``(m + 1 - s)!``: fewer items that single out a person are
    worth more. This is the weight of SUDA for m + 1 attributes. The score of a row or an item is the sum of
    the weights. A row scores 0 if and only if no m items single it out.

    Exact. The minimal unique itemsets are listed, so the cost is that of the threats of an audit with k=2.

    References
    ----------
    .. [1] M. J. Elliot, A. Manning, R. W. Ford, "A Computational Algorithm for Handling the Special Uniques
       Problem", Int. J. of Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 2002.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.metrics import disclosure
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice", "salt"], ["tea", "wine"]]})
    >>> scores = disclosure.suda(df, m=2)
    >>> scores.rows.tolist()
    [0, 0, 2, 2]
    >>> scores.items
       item  uniques  score
    0  salt        1      2
    1  wine        1      2
    2  rice        0      0
    3   tea        0      0
    """
    refuse_chunks(check_frame(frame))
    m = check_count(m, "m", least=1, most=_MOST_KNOWN)
    with show_activity("suda"):
        itemsets = Itemsets.from_series(list_column(frame, column))
        index = SupportIndex.of(itemsets)
        unique = index.rare(2, m)
        # Each row has an item of its own: in the rows with a unique itemset, only one occurs.
        numbers = np.arange(len(frame) + 1)
        rows = likeliest_secrets(
            index, SupportIndex(numbers[:-1].astype(np.int32), numbers, len(frame)), unique
        )[0]
        weights = np.array([0, *(factorial(m + 1 - size) for size in range(1, m + 1))])[unique.lengths]
    items = pd.DataFrame(
        {
            "item": pd.array(itemsets.vocabulary, dtype=pd.ArrowDtype(itemsets.vocabulary.type)),
            "uniques": np.bincount(unique.codes, minlength=itemsets.n_items),
            "score": sums(unique.codes, np.repeat(weights, unique.lengths), itemsets.n_items),
        }
    )
    items = items.sort_values("score", ascending=False, kind="stable", ignore_index=True)
    return SudaScores(pd.Series(sums(rows, weights, len(frame)), index=frame.index, name="score"), items)


@called_by_name
def diversity(
    frame: pd.DataFrame, column: Hashable | None = None, *, sensitive: Sequence[Any], m: int = 2
) -> pd.DataFrame:
    """Measure how much up to m known items tell about sensitive items, in the worst case.

    Parameters
    ----------
    frame : pandas.DataFrame
        Original or released rows.
    column : hashable, optional
        The list column. By default the only one.
    sensitive : sequence
        The sensitive items. All others may be known.
    m : int
        Maximum number of known items; at least 1. The table ends at the length of the longest row.

    Returns
    -------
    pandas.DataFrame
        One row per maximum number of ``known`` items, beginning with 0. The worst of all classes, which are
        the rows that contain the known items:

        ``probability``
            Highest share of a sensitive item in a class.
        ``entropy_l``
            Entropy l-diversity: lowest exponential of the entropy of the sensitive values of a class.
        ``recursive_c``
            Recursive (c, 2)-diversity: highest quotient of the rows with a sensitive item and without it.
        ``t``
            t-closeness: highest distance of the sensitive values of a class from those of all rows.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is invalid, a sensitive item does not occur or is a member of a published
        set, or there are more than 50 million itemsets.

    See Also
    --------
    pdanon.LmDiversity : The guarantee that bounds ``probability`` by 1/l.
    pdanon.breach : The probabilities for given known items.

    Notes
    -----
    The sensitive value of a row is the set of its sensitive items, which may be empty. The entropy leaves out
    classes without a sensitive item. A class in which few rows have one is hardly diverse: its rows are known
    to have none. The distance is half the sum of the differences of shares, that of equally distant values.
    ``recursive_c`` is infinite if all rows of a class have the item.

    Missing rows do not count. Counts are exact integers. Time and memory grow with the itemsets of up to m
    items in all distinct rows.

    References
    ----------
    .. [1] A. Machanavajjhala, J. Gehrke, D. Kifer, M. Venkitasubramaniam, "l-Diversity: Privacy Beyond
       k-Anonymity", ICDE 2006.
    .. [2] N. Li, T. Li, S. Venkatasubramanian, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity",
       ICDE 2007.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.metrics import disclosure
    >>> df = pd.DataFrame({"items": [["rice", "flu"], ["rice", "gout"], ["tea", "flu"], ["tea"]]})
    >>> disclosure.diversity(df, sensitive=["flu", "gout"], m=1)
       known  probability  entropy_l  recursive_c     t
    0      0          0.5   2.828427          1.0  0.00
    1      1          0.5   2.000000          1.0  0.25
    """
    refuse_chunks(check_frame(frame))
    m = check_finite_m(m)
    with show_activity("diversity"):
        itemsets = read_visible(list_column(frame, column))
        is_sensitive = named_labels(itemsets, NamedItems.some(sensitive, "sensitive"), None)
        rows = SupportIndex.of(itemsets).within(~itemsets.nulls).distinct()
        known, secrets = rows.keep_items(~is_sensitive), rows.keep_items(is_sensitive)
        each = csr(secrets.codes, secrets.offsets, secrets.n_items, np.int64(1))
        values, distinct = secrets.number_rows()
        value = csr(values, np.arange(len(values) + 1), len(distinct.weights), np.int64(1))
        worst = pd.DataFrame(
            [_worst(classes, each, value, distinct.weights) for classes in _classes(known, m)],
            columns=["probability", "entropy_l", "recursive_c", "t"],
        ).cummax()
    worst["entropy_l"] *= -1
    worst.insert(0, "known", np.arange(len(worst)))
    return Measures(worst)


def _classes(known: SupportIndex, m: int) -> Iterator[Any]:
    """Yield for 0 to m known items the rows of each itemset, as a sparse matrix of weights."""
    rows, places = np.arange(len(known.weights)), known.offsets[:-1]
    itemsets = np.zeros(len(rows), np.int64)
    for size in range(min(m, known.longest) + 1):
        if size:  # each item of a row after the last one of the itemset
            left = known.offsets[rows + 1] - places
            if left.sum() > MOST_ITEMSETS:
                got = f"more than {MOST_ITEMSETS:,}"
                raise ParameterError(
                    "there are too many itemsets", where="m", got=got, hint="choose a smaller m"
                )
            begun, places = ranges(places, left)
            itemsets = pair_numbers(itemsets[begun], known.codes[places].astype(np.int64))
            rows, places = rows[begun], places + 1
        check_time()
        order = np.argsort(itemsets, kind="stable")
        offsets = offsets_of(np.bincount(itemsets))
        yield csr(rows[order], offsets, len(known.weights), known.weights[rows[order]])


def _worst(classes: Any, each: Any, value: Any, totals: Numbers) -> tuple[float, float, float, float]:
    """Return the four measures of some classes at worst, the entropy with a minus."""
    # ``each`` has the sensitive items of the rows, ``value`` their sensitive values, and ``totals`` the
    # number of rows with each value.
    sizes, n = classes.sum(axis=1), int(totals.sum())
    most = (classes @ each).max(axis=1).toarray().ravel()
    counts = (classes @ value).tocoo()
    of_class, found = counts.row, counts.data
    surprise = np.bincount(of_class, found * np.log(found), len(sizes)) / sizes
    above = np.maximum(found * n - totals[counts.col] * sizes[of_class], 0)
    distance = np.bincount(of_class, above, len(sizes)) / (sizes * n)
    others = sizes - most
    odds = np.divide(most, others, out=np.full(len(sizes), np.inf), where=others > 0)
    entropy = (sizes * np.exp(-surprise))[most > 0].min(initial=np.inf)
    return (most / sizes).max(), -entropy, odds.max(), distance.max()
