"""Coherence by suppression: remove public items until no known itemset is rare or gives a private item away.

Xu, Wang, Fu, Yu, "Anonymizing Transaction Databases for Publication", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from pdanon.algorithms.items._suppression import check_coherent_without_public, decide_suppressed
from pdanon.algorithms.record import Algorithm, Way
from pdanon.algorithms.states.moles import Moles
from pdanon.algorithms.weights import item_losses
from pdanon.guarantees import Coherence
from pdanon.guarantees.private import PublicAndPrivate
from pdanon.itemsets.calling import called_by_name
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.progress import Report
from pdanon.itemsets.values import check_known
from pdanon.recoding.decided import Decided
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "coherence"]

CRITERIA = ("mm/il", "mm", "1/il")


@called_by_name
def coherence(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    h: float,
    k: int,
    p: int,
    private: Any,
    criterion: str = "mm/il",
    loss: str | Mapping[Any, float] | pd.Series[float] = "support",
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Suppress public items, so that known ones lead neither to few rows nor to a private item.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one, apart from the private column.
    h : float
        Largest share, in [0, 1], of the rows that match the known items in which a private item may be.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    p : int
        Most public items that the attacker knows; at least 1.
    private : list of items, Series of bool, or str
        The private items, which are not suppressed; or whether an item is private, by item; or the name of a
        second list column, all of whose items are private. All other items are public. A name is always that
        of a column: a single private item is given as a list.
    criterion : {"mm/il", "mm", "1/il"}
        Which item to suppress next: the one with the most minimal moles left per loss, with the most minimal
        moles left, or with the least loss.
    loss : {"support", "unit"}, mapping or Series
        What suppressing an item costs: the rows that hold it, 1, or a number from 0 for each public item.
        Numbers that are not whole are read to six decimals.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding that keeps an item or suppresses it; items keep their type. ``loss`` has ``S/N``,
        the share of all occurrences, public and private, that are suppressed. With a private column, both
        columns are released, and ``mapping`` is that of the list column.

    Raises
    ------
    InfeasibleError
        If there are fewer than k rows, or a private item is in more than a share h of all rows: then even
        who knows nothing finds it. The message says for how many private items that is so, and the least
        ``h`` that works.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is not what it should be; an item is both public and private, or private
        items do not occur.

    See Also
    --------
    suppress_public, suppress_to_k : The baselines that the paper compares with.

    Notes
    -----
    Guarantee: ``Coherence(h, k, p, private)``. A mole is an itemset of at most p public items that is in
    fewer than k rows, or that shares a private item with more than a share h of its rows. The support of an
    itemset that survives never changes, so no mole appears, and a mole disappears with any of its items. So
    it suffices to list the minimal moles once and to suppress an item of each.

    Items that are moles by themselves go first. Then the item of the highest score goes, again and again,
    until no mole is left; ties: more moles, less loss, item order. Scores are compared as integers.

    Cost: memory of about 30 bytes for each occurrence, 20 for each itemset of fewer than p items that
    contains no mole, and 4 for each item of each minimal mole; time of visiting, for each row, its itemsets
    of up to p public items that add one to those. Rows that agree count once. Below h = 1, private items
    are counted in the rows of itemsets whose share of them is not known to be low enough.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt", "flu"], ["rice", "salt", "flu"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.coherence(h=0.8, k=2, p=2, private=["flu"])
    >>> result.frame
                      items
    0  ['flu' 'rice' 'tea']
    1        ['rice' 'tea']
    2        ['flu' 'rice']
    3        ['flu' 'rice']
    >>> float(result.loss["S/N"])
    0.18181818181818182
    """
    return RECORD.released(
        frame, column, progress, keep=keep, h=h, k=k, p=p, private=private, criterion=criterion, loss=loss
    )


def decide(
    columns: ListColumns, report: Report, *, h: float, k: int, p: int, private: Any, criterion: str, loss: Any
) -> Decided:
    """Which items are suppressed: those that meet all moles."""
    check_known(criterion, CRITERIA, "criterion", where="criterion")
    guarantee = Coherence(h, k, p, private)
    parts = PublicAndPrivate.of(columns, guarantee.private)
    losses = item_losses(loss, parts.itemsets, parts.supports, ~parts.is_private)
    check_coherent_without_public(parts, guarantee)
    moles = Moles(parts, guarantee)
    report(len(moles.larger))
    return decide_suppressed(parts, moles.eliminate(losses, criterion), guarantee)


RECORD = Algorithm(
    coherence,
    (Coherence,),
    recodes="items",
    decide=decide,
    unit="moles",
    keeps_type=True,
    ways=(
        Way(Coherence, 10, {"criterion": "mm/il"}),
        Way(Coherence, 20, {"criterion": "mm"}),
        Way(Coherence, 30, {"criterion": "1/il"}),
    ),
)
