"""Lower bounds on loss: how little a release by sets or by deletions can lose under a guarantee."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import pandas as pd

from pdanon.errors import ParameterError
from pdanon.evaluation.fingerprint import check_original
from pdanon.guarantees import read_guarantee
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, ItemLimit, check_seconds
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.mapping import only_deletes
from pdanon.itemsets.timing import limit_time
from pdanon.itemsets.validation import find_name
from pdanon.recoding.bounds import BOUNDED, LOSSES, Bound, bound_changes, bound_deletions
from pdanon.recoding.result import Anonymized, recoded_column


@called_by_name
def bound(
    frame: pd.DataFrame,
    guarantee: Guarantee | Anonymized | None = None,
    column: Hashable | None = None,
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    kind: str = "sets",
    loss: str = "occurrences",
    time_limit: float = 10,
) -> Bound:
    """Prove a lower bound on the loss of all releases by sets, or by deletions.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original table. It is not modified.
    guarantee : Guarantee or Anonymized
        The guarantee: ``KmAnonymity`` or ``PrivacyConstraints``. Or a result of this frame, to compare its
        loss with the bound for its guarantee.
    column : hashable, optional
        The list column. By default the only one.
    k, m
        Short for the guarantee ``KmAnonymity(k, m)``.
    kind : {"sets", "deletions"}
        The releases: those that recode an item equally in all rows; or those of `local_suppression`. A result
        that recodes rows separately, also a mixture or one of `lra`, is compared with the latter, whatever
        the kind is.
    loss : {"occurrences", "NCP"}
        The loss, as in ``result.loss``.
    time_limit : float
        Seconds to count and to raise the bound, above 0. A shorter limit gives a lower bound, which is 0 if
        nothing is counted.

    Returns
    -------
    Bound
        ``least``, the bound as a share, and ``changed``, the number of occurrences that change in any
        release. ``reached`` is the loss of the result, if there is one.

    Raises
    ------
    ParameterError, ColumnError, ItemsetDtypeError
        If the guarantee has no bound, the result is of another frame, its NCP has no bound, or a parameter or
        the column is invalid.

    Notes
    -----
    The bound holds for every release that recodes an item equally in all rows: the item is published as it
    is, merged with others, replaced by a node of a hierarchy, or suppressed. It holds whatever the blocks of
    ``utility`` are, and whatever is suppressed to hide emptied rows. It does not hold if rows are recoded
    separately, nor for disassociation.

    The bound for deletions holds for every release whose rows are subsets of the original ones, and for all
    others without their sets and nodes. An item in fewer than k rows must disappear from them. Of a clique of
    rare pairs in a row, the row keeps one item at most. Only listed items and pairs count for
    ``PrivacyConstraints``. The cliques of a row are disjoint, and their losses are summed over all rows.

    Proof for sets. If all items of an itemset are published as they are, the release has the itemset in the
    same rows as the original. So of a rare itemset, with a support in (0, k), at least one item must change.
    Listed are rare itemsets of up to 3 items for ``KmAnonymity``, or of 2 if too many rows have many
    items. A larger m also forbids these, so that the bound is valid. For ``PrivacyConstraints`` they are the
    rare constraints. The least support of items that meet all these conditions is bounded in two steps:

    - Prices of cliques of rare pairs: at most one item of a clique stays unchanged. The prices with an item
      sum to at most its support. They are searched greedily, in passes.
    - Linear programs with violated conditions, until none is left. Their prices are rounded to fractions and
      summed in integers, so that an error of the solver cannot make the bound invalid.

    A changed item costs at least 2 of ``n`` items in NCP if it is merged, and 1 if it is suppressed. So the
    bound of NCP is ``2 / n`` of that of occurrences. It is far below the NCP that is possible. The bound of
    NCP holds for sets of the items that occur, not for nodes that cover further items.

    The result depends on the speed of the machine only if the limit is reached.

    Cost: listing the rare itemsets, up to 0.5 seconds of passes, and the linear programs. With m above 2
    there are many more conditions. Memory: 16 bytes per rare pair, and 12 per item of a larger rare itemset.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> df.txanon.bound(k=2)
    Bound: no release by sets changes less than 14.28 %
      guarantee  KmAnonymity(k=2, m=2)
      proven     1 of 7 occurrences change in any release by sets
    >>> df.txanon.bound(df.txanon.pcta(k=2, m=2)).least
    0.14285714285714285
    """
    loss = find_name(loss, LOSSES, "loss with a lower bound", where="loss")
    kind = find_name(kind, ("sets", "deletions"), "kind of releases with a lower bound", where="kind")
    seconds = check_seconds(time_limit)
    result = guarantee if isinstance(guarantee, Anonymized) else None
    if result is not None:
        if k is not None or column is not None or not isinstance(m, DefaultNumber):
            hint = "leave out k, m and column, which are those of the result"
            raise ParameterError("the guarantee is given twice", where="guarantee, k and m", hint=hint)
        guarantee = result.guarantee
        kind = kind if result.groups is None else "deletions"
    else:
        guarantee, column = read_guarantee(guarantee, column, k, m)
    if not isinstance(guarantee, BOUNDED):
        raise ParameterError(
            "no lower bound is known for this guarantee",
            where="guarantee",
            got=type(guarantee).__name__,
            hint=f"pass {' or '.join(each.__name__ for each in BOUNDED)}, or a release with one of them",
        )
    if result is None:
        itemsets = Itemsets.from_series(list_column(frame, column))
    else:
        itemsets = _read_original(frame, result, loss, kind)
    with limit_time(seconds):
        if kind == "sets":
            found = bound_changes(itemsets, guarantee, exhaustive=True)
        else:
            found = bound_deletions(itemsets, guarantee)
    found = replace(found, loss=loss)
    return found if result is None else found.beside(result.loss[loss])


def _read_original(frame: pd.DataFrame, result: Anonymized, loss: str, kind: str) -> Itemsets:
    """Encode the original of a result, if a bound can be compared with it."""
    position, problem = recoded_column(frame, result), ""
    check_original(result, frame, [frame.columns[position]])
    if kind == "sets" and "LM" in result.loss:
        problem = "NCP counts the leaves of the hierarchy, which has no bound"
    elif kind == "deletions" and not only_deletes(result.mapping):
        problem = "labels of several items have no bound of NCP"
    if problem and loss == "NCP":
        raise ParameterError(problem, where="loss", got=loss, hint="pass loss='occurrences'")
    return Itemsets.from_series(frame.iloc[:, position])
