"""Refinement: how much of the loss of a release is not necessary.

The published algorithms stop at the first release that is safe. Here the search goes on from there: one file
for each kind of recoding that can be refined.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.refinement.cuts import refined_cuts
from pdanon.algorithms.refinement.groups import refined_groups
from pdanon.algorithms.refinement.sets import check_loss, refined_sets
from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.errors import ParameterError
from pdanon.guarantees import KKm, KmAnonymity, PrivacyConstraints, PSRules, TransactionalK
from pdanon.guarantees.parameters import check_seconds
from pdanon.itemsets.timing import show_activity
from pdanon.recoding.result import Anonymized, recoded_column

__all__ = ["refine"]


def refine(
    original: pd.DataFrame,
    result: Anonymized,
    *,
    loss: str | Mapping[Any, float] | pd.Series[float] = "NCP",
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
) -> Anonymized:
    """Change what a release publishes, step by step, as long as it loses less and keeps its guarantee.

    What is changed depends on what the release is made of:

    - sets of items (`pcta`, `coat`, `upcta`, `ps_rules`): items move between the sets, and sets are parted;
    - a cut of a hierarchy (`apriori`, `direct`, `vpa`, `optimal`, `hghs`, `mhghs`), or one for each block
      of rows (`lra`): nodes are replaced by their children, and suppressed items are published;
    - groups of rows that are published alike (`partition`, `clump`): rows move between groups, or swap;
    - classes of equal quasi-identifiers (`rum_bound`, `tum_bound`, `rfirst`, `tfirst`): the sets or the cut
      of each class, as above; the quasi-identifiers stay.

    Parameters
    ----------
    original : pandas.DataFrame
        What the release was made from. It is not modified.
    result : Anonymized
        A result of one of these algorithms with the guarantee ``KmAnonymity``, ``TransactionalK`` or
        ``KKm``, or of sets with ``PrivacyConstraints`` or ``PSRules``; of one list column.
    loss : {"NCP", "LM", "UL"}, mapping or Series
        What is to fall. ``"NCP"``: each occurrence costs the number of items, or leaves, that it is published
        as, over that of all; ``"LM"``: both less one; in both a single item costs 0, a suppressed one 1.
        Of sets also ``"UL"``: the utility loss as in ``result.loss``; or weights in [0, 1] by item, 1 where
        not given: the sum of the NCP of all occurrences, each times the weight of its item, over the sum of
        these weights. A weight is rounded to steps of 1/65535.
    time_limit : float, optional
        Seconds, above 0. When no move is left, sets are merged, or nodes raised, at random and the search
        goes on, until the time is over; the best is kept. Without a limit this is not done. Groups of rows
        are not disturbed: there the limit only ends the search.
    random_state : int, Generator or None
        Seed, or source of randomness, of what is done at random.
    progress : bool
        Show that it goes on: the parts of the search that are done, which are as many as it takes.

    Returns
    -------
    Anonymized
        A release of the same kind with the same guarantee and never more of this loss. ``trace`` has the
        loss over time, which never rises: columns ``seconds`` and ``loss``. Where the result has
        ``loss["gap"]``, the bound of `optimal`, this has it too: of the loss that `optimal` was asked for.

    Raises
    ------
    ParameterError
        If the result is of another kind, of another frame, or without its guarantee, or a parameter is out
        of range.

    Notes
    -----
    Guarantee: that of the result. The release is audited. What comes out is a local optimum, not the least
    loss, except that no cut that `optimal` has proven to lose least loses less.

    Sets: with m up to 3, no step leaves a set, a pair of sets, or with m=3 three sets, with a support in
    (0, k); with constraints, none of their images. With a larger m, the sets that hold a rare larger itemset
    are merged in the end, as `pcta` does, and what came in is returned if that loses more; so it is with m=3
    and more than 640 sets.

    A move takes an item to another set, or to one of its own; a suppressed item may come back. Sets stay
    within the blocks of ``utility``. Items take turns, the dearest first (then: the last in item order
    first), each to where it gains most (then: the set with the lowest number, the new one last): first
    the 8 dearest until a round gains no more than 1/4,000 of the loss, then half as many more, and so on. An
    item without a move is passed over until its set changes. After each of these stages it is tried to part
    sets in two: half of what a set holds leaves at once, and items change sides until both halves are safe.
    When no set was parted, and a round in which no item is passed over gains no more than 1/4,000, items
    change places: each, the dearest first, with the first item of another set, by number, the cheapest
    first, with which that is safe and a gain. When that gains no more than 1/1,000, sets are parted whose
    halves have to share rows, and the end comes when there are none. So no move
    was left before that gained more than 1/4,000, and no exchanges are that together gain more than 1/1,000.

    With ``PSRules`` a set is parted, the dearest first, into what is worth most and the rest, or every second
    item and the others; then items move, the dearest first, each to the first of the 8 sets where it gains
    most, its own included, that leaves all rules protected: those with an item of a set that changes are
    counted again, exactly. Sensitive items stay as they are, or suppressed. What has no move is passed over
    until its set changes. The end is a round in which nothing is passed over and that gains no more than
    1/1,000 of the loss.

    Cuts and blocks: a node is replaced by its children, in one block of rows or in all that publish it, if
    each itemset of up to m labels with one of the children is in no row or in k, counted over all blocks.
    If something is suppressed in what came in, nodes are published in place of suppressed ones, and children
    that would be rare are suppressed; else nothing is. Most gain goes first (then: the first node in the
    hierarchy, the first block). In a single cut, a node is also replaced if what is in the way can be raised
    to its parents, or suppressed where that is done, and the loss is lower after all that follows. In the
    end no single replacement is both safe and a gain.

    Classes are refined one by one, as tables of their own.

    Groups: rows take turns. Of the groups that hold the rarest of a row's nodes in all their rows, 1,000 are
    looked at; in the 8 that have most in common with it the best move is sought, or the best swap with one
    of the two of their rows that are least like it. Groups keep k rows, and are published as their algorithm
    would publish them. Rounds end when one gains less than 1/1,000 of the loss. Rows that are published
    without items stay so, and those of groups of more than 200 rows, and of 2k, stay where they are.

    With a time limit the outcome depends on the speed of the machine. The limit is looked at after every 8
    items, 16 that change places, and each set, between nodes, or every 1,000 rows; the audit, and the merging
    at the end that a larger m needs, come on top. If there is not even the time to count the supports that
    the search begins with, what came in is returned, and ``trace`` is empty.

    Cost: of sets, items squared times 4 bytes of memory, up to 1.6 GB (more if there are more than 20,000
    sets), with m=3 up to 174 MB more; each round takes time linear in the sum of the squared (m=3: cubed)
    lengths of the distinct rows, and in the items times the sets. With constraints, a bit of memory for
    each item and distinct row, and time for each item of the rows of the constraints that hold it or an
    item of its set, times the sets. With rules, for each item and round up to 8 counts of the rows of two
    sets. Of cuts, memory of 4 bytes for each item and block, and of 8m bytes
    for each row and each node; time for each node that is tried of the rows that hold it, with m > 2
    times their itemsets of up to m - 1 labels, with ``m=None`` squared. Of groups, time for each row of
    40 groups of up to 200 rows.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"], ["salt"], ["milk"], ["milk"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.pcta(k=2, m=2)
    >>> refined = df.txanon.refine(result)
    >>> bool(refined.loss["NCP"] <= result.loss["NCP"])
    True
    """
    started = time.perf_counter()
    loss = check_loss(loss)
    limit = None if time_limit is None else check_seconds(time_limit, "time_limit")
    refined = _room_of(result)
    position = recoded_column(original, result)
    asked = {"loss": loss, "time_limit": time_limit, "random_state": random_state}
    with show_activity(progress, "refine"):
        return refined(Task(original, position, result, asked, limit, started))


def _room_of(result: Any) -> Callable[[Task], Anonymized]:
    """What refines a result of this kind."""
    if not isinstance(result, Anonymized):
        hint = "give what an algorithm returned"
        raise ParameterError("there is no result", where="result", got=type(result).__name__, hint=hint)
    if not result.holds:
        hint = "it is the partial result of an algorithm that found no release"
        raise ParameterError("the result does not have its guarantee", where="result", hint=hint)
    if isinstance(result.guarantee, KKm):
        several = result.guarantee.columns is not None
        transaction = result.parameters["transaction"].algorithm
        if several or ALGORITHMS[transaction].recodes != "items":
            what = "several list columns" if several else f"items recoded by {transaction}"
            hint = "one list column, and any other algorithm for the transactions"
            raise ParameterError(f"classes with {what} cannot be refined", where="result", hint=hint)
        # Imported late: algorithms refine what they made, and classes are made by algorithms.
        from pdanon.algorithms.refinement.classes import refined_classes

        return refined_classes
    if isinstance(result.guarantee, TransactionalK):
        return refined_groups
    if result.parameters.get("hierarchy") is not None:
        if isinstance(result.guarantee, KmAnonymity):
            return refined_cuts
    elif isinstance(result.guarantee, (KmAnonymity, PrivacyConstraints, PSRules)) and result.groups is None:
        return refined_sets
    problem, got = "a release with this guarantee cannot be refined", type(result.guarantee).__name__
    hint = "those with KmAnonymity, PrivacyConstraints, PSRules, TransactionalK or KKm can be"
    raise ParameterError(problem, where="result", got=got, hint=hint)
