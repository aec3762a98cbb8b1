"""Refinement: lower the loss of a release, and keep its guarantee."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pandas as pd

from pdanon.algorithms.refinement.deletions import refine_deletions
from pdanon.algorithms.refinement.nodes import refine_classes, refine_cuts, refine_groups
from pdanon.algorithms.refinement.sets import check_loss, refine_sets
from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.registry import ALGORITHMS
from pdanon.algorithms.weights import WeightsLike
from pdanon.errors import ParameterError
from pdanon.guarantees import KKm, KmAnonymity, PrivacyConstraints, PSRules, TransactionalK
from pdanon.guarantees.parameters import check_seconds
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.timing import Clock, show_activity
from pdanon.itemsets.validation import Seed
from pdanon.recoding.result import Anonymized, recoded_column

__all__ = ["refine"]


@called_by_name
def refine(
    original: pd.DataFrame,
    result: Anonymized,
    *,
    loss: str | WeightsLike | None = None,
    hierarchy: HierarchyLike | None = None,
    time_limit: float | None = None,
    random_state: Seed = None,
) -> Anonymized:
    """Lower the loss of a release step by step, and keep its guarantee.

    The kind of release determines the steps:

    - sets of items (`pcta`, `coat`, `upcta`, `ps_rules`): items move between sets;
    - a cut of a hierarchy (`apriori`, `direct`, `vpa`, `optimal`, `hghs`, `mhghs`), or one per block of rows
      (`lra`): nodes are replaced by their children, and suppressed items are published;
    - deletions (`local_suppression`): occurrences are put back, others are deleted; sets of a mixture stay;
    - groups of rows with equal lists (`partition`, `clump`): rows move between groups, or swap groups;
    - classes of equal quasi-identifiers (`rum_bound`, `tum_bound`, `rfirst`, `tfirst`): the sets or the cut
      of each class change as above; the quasi-identifiers stay.

    Parameters
    ----------
    original : pandas.DataFrame
        The original table. It is not modified.
    result : Anonymized
        A result of an algorithm above, with one list column. Its guarantee is ``KmAnonymity``,
        ``TransactionalK`` or ``KKm``; for sets and deletions also ``PrivacyConstraints``, for sets
        ``PSRules``, and for deletions ``LmDiversity``.
    loss : {"balanced", "NCP", "LM", "UL"}, mapping or Series, optional
        The loss to lower. By default ``"balanced"`` for sets with ``KmAnonymity``, ``KKm`` or
        ``PrivacyConstraints``, the only releases that have it, and ``"NCP"`` for others. ``"balanced"``: NCP,
        changed occurrences and errors of counts together, see the notes. ``"NCP"``: each occurrence costs the
        number of items, or leaves, of its published label, divided by that of all items. ``"LM"``: the same,
        with 1 subtracted from both numbers. For sets also ``"UL"``, the utility loss in ``result.loss``, or
        weights of items in [0, 1], 1 for items not listed: the mean NCP of all occurrences, weighted by item,
        in steps of 1/65535. For deletions NCP, LM, or weights, which are the price of a deletion; by default
        the weights of the result, if it has any.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        Prefer sets of items that are near in this hierarchy: the loss to lower, which is the balanced one, is
        then added to the loss ``"meaning"`` of `anonymize`. Only for sets.
    time_limit : float, optional
        Time limit in seconds, above 0. When no move is left, sets are annealed or merged again, or nodes are
        raised at random, and the search continues until the limit. The best release is kept. Without a
        limit, equal calls give equal releases. For groups of rows, the limit only ends the search.
    random_state : int, Generator or None
        Seed or generator of the random steps; None is the seed 0. For sets also that of a secret order of the
        items, by which ties are broken, as in `pcta`. By default they are broken by the order of the items.

    Returns
    -------
    Anonymized
        A release of the same kind with the same guarantee, whose loss is never higher. ``trace`` has the loss
        over time in the columns ``seconds`` and ``loss``; it never rises. If the result has ``loss["gap"]``,
        the bound of `optimal`, the release has it as well, for the loss that `optimal` minimized.

    Raises
    ------
    ParameterError
        If the result cannot be refined, comes from another frame, or lacks its guarantee; or if a parameter
        is out of range.

    Notes
    -----
    Guarantee: that of the result. The release is audited. It is a local optimum, not always the least loss. A
    cut that `optimal` has proven optimal cannot be improved.

    Sets: after each step, no set, pair of sets or, if m is 3, triple of sets has a support in (0, k). With
    constraints, the same holds for the published constraints. With a larger m, or with m = 3 and more than
    640 sets, a step also needs a search of the larger itemsets that it changes. Their supports are exact.
    With all items of a row, the rows that are part of a changed row are counted.

    With m of 2 or 3 or constraints, and any loss but UL, sets are annealed first, twice, each time in a
    thread. In each of 40 sweeps (for NCP and LM, 80), each item may move to any set, with odds that fall with
    the loss of the move. Supports in (0, k) are allowed at a price for each lacking row that rises until
    nothing is rare. Sets that are still rare in the end are merged, unless there are constraints. The safe
    sets with the lowest loss are kept, at worst the first ones. If half of the time limit is too short, there
    are fewer sweeps. Until the time limit, further annealings take twice as many sweeps each. The moves below
    follow. There are only these moves with another m, with UL, and with more than 4,096 sets (m = 3: 640).

    The balanced loss of a set of s > 1 items is ``(s + r) * h + r * sqrt(s * q - h**2)``. Here r is the root
    of the number n of items, h the sum of the supports in the set, and q the sum of their squares. A
    suppressed occurrence costs n + r. ``trace`` and ``tried`` show the sum divided by n + r and by the number
    of occurrences. The page of `refine` explains it.

    A move takes an item to another set or to a set of its own. A suppressed item may be restored. Sets stay
    within the blocks of ``utility``. Items take turns in order of their cost (then: the last in item order
    first). Each moves to the set with the largest gain (then: the lowest set number, a new set last). The
    first stage moves the 8 most expensive items, and each further one half as many more. A stage ends when a
    round gains at most 1/4,000 of the loss. An item without a move is skipped until its set changes.

    With ``PSRules``, sets are split, the most expensive first. Then items move in order of cost, each to the
    first of the 8 sets with the largest gain that keeps all rules protected, by exact counts. Sensitive items
    stay as they are, or suppressed. The search ends when a round gains at most 1/1,000 of the loss.

    Cuts and blocks: a node is replaced by its children in one block of rows, or in all blocks that publish
    it. Each itemset of up to m labels with a child must be in no row or in at least k rows, counted over all
    blocks. If the result has suppressed items, nodes may replace them, and rare children are suppressed. The
    largest gain is first (then: the first node in the hierarchy, the first block). In a single cut, obstacles
    of a replacement may be raised to their parents, or suppressed where allowed, if the loss falls in total.

    Deletions: the annealing of `local_suppression` begins again with the release, three times, with at least
    twice as many sweeps. Every second one begins hotter. Each release that deletes less is kept. Until the
    time limit, further ones take longer. With m = 1, all deletions are necessary.

    Groups: rows take turns. Of the groups whose rows all contain the rarest nodes of a row, 1,000 are
    compared. The 8 with the most nodes in common are tried: the best move, or the best swap with one of their
    two least similar rows. Groups keep at least k rows. Rounds end when one gains less than 1/1,000 of the
    loss. Rows published without items remain empty. Rows of groups of more than 200 and 2k rows stay.

    With a time limit, the result depends on the speed of the machine. The limit is checked every 8 items,
    after each set, between nodes, or every 1,000 rows. The audit takes additional time. If the limit is
    reached before the first supports are counted, the result is returned, and ``trace`` is empty.

    Cost of sets: 4 bytes per pair of sets, with room for 2,048 sets or twice those at the start (17 MB),
    and more as needed: for all items, or 20,000 sets (1.6 GB). Two annealings take up to 550 MB. If m is 3,
    up to 174 MB more, and for two annealings 350 MB. Each round takes time linear in the sum of the squared
    lengths (if m is 3: cubed) of the distinct rows, and in the items times the sets. With a larger m, each
    move takes time for the itemsets of up to m - 1 sets in the changed rows, and 16 m bytes per occurrence.
    With constraints: one bit per item and distinct row, and time for the rows of the constraints.

    Cost of cuts: 4 bytes per item and block, and 8m bytes per row and node. Each node that is tried takes
    time linear in its rows; if m > 2, times their itemsets of up to m - 1 labels; with ``m=None``, squared.
    Cost of groups: per row, time for 40 groups of up to 200 rows.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"], ["salt"], ["milk"], ["milk"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> result = df.txanon.pcta(k=2, m=2)
    >>> refined = df.txanon.refine(result)
    >>> bool(refined.loss["occurrences"] <= result.loss["occurrences"])
    True
    """
    return refine_release(original, result, loss, random_state, hierarchy, limit=time_limit)


def refine_release(
    original: pd.DataFrame,
    result: Anonymized,
    loss: Any,
    random_state: Any,
    hierarchy: HierarchyLike | None = None,
    *,
    limit: Any = None,
    quick: bool = False,
) -> Anonymized:
    """Refine as `refine`; ``quick`` anneals many items only once, and very many in fewer sweeps."""
    started = time.perf_counter()
    clock = Clock(started, None if limit is None else check_seconds(limit))
    refined = _select_refinement(result)
    loss = _default_loss(refined, result) if loss is None else check_loss(loss)
    position = recoded_column(original, result)
    options = {"loss": loss, "time_limit": limit, "random_state": random_state}
    if hierarchy is not None:
        if refined is not refine_sets or loss != "balanced":
            hint = "leave hierarchy= out, or refine a release by sets with the balanced loss"
            raise ParameterError(
                "a hierarchy is for sets with the balanced loss", where="hierarchy", hint=hint
            )
        options["hierarchy"] = hierarchy
    with show_activity("refine"):
        return refined(Task(original, position, result, options, clock, quick))


def _default_loss(refined: Callable[[Task], Anonymized], result: Anonymized) -> Any:
    """Return the loss to lower if none is named."""
    if refined is refine_deletions:
        weights = result.parameters["weights"]
        return "NCP" if weights is None else weights
    if refined is refine_classes:
        becomes_sets = ALGORITHMS[result.parameters["transaction"].algorithm].sets is not None
    else:
        becomes_sets = refined is refine_sets and not isinstance(result.guarantee, PSRules)
    return "balanced" if becomes_sets else "NCP"


def _select_refinement(result: Any) -> Callable[[Task], Anonymized]:
    """Return the refinement for the kind of a result, or raise an error that names the reason."""
    if not isinstance(result, Anonymized):
        hint = "pass the result of an algorithm"
        raise ParameterError("result is not a release", where="result", got=type(result).__name__, hint=hint)
    if not result.holds:
        hint = "pass a complete result; this is the partial result of an InfeasibleError"
        raise ParameterError("the result does not have its guarantee", where="result", hint=hint)
    if "labels" in result.parameters:
        hint = "refine the result first: df.txanon.refine(result).relabel('short')"
        raise ParameterError("the sets of the release have other names", where="result", hint=hint)
    if result.parameters.get("algorithm") == "local_suppression":
        if result.parameters["hierarchy"] is not None:
            hint = "pass a release without a hierarchy, or with nodes that are the same in all rows"
            problem = "rows that are generalized one by one cannot be refined"
            raise ParameterError(problem, where="result", hint=hint)
        return refine_deletions
    if result.parameters.get("start") is not None:
        hint = "pass refine=True to the algorithm: it moves sets of the earlier release as a whole"
        problem = "the release starts from an earlier one, whose sets must not be split"
        raise ParameterError(problem, where="result", hint=hint)
    if isinstance(result.guarantee, KKm):
        several = result.guarantee.columns is not None
        transaction = result.parameters["transaction"].algorithm
        if several or ALGORITHMS[transaction].recodes != "items":
            what = "several list columns" if several else f"items recoded by {transaction}"
            hint = "refine works on one list column, with items recoded in the whole class"
            raise ParameterError(f"classes with {what} cannot be refined", where="result", hint=hint)
        return refine_classes
    if isinstance(result.guarantee, TransactionalK):
        return refine_groups
    if result.parameters.get("hierarchy") is not None:
        if isinstance(result.guarantee, KmAnonymity):
            return refine_cuts
    elif isinstance(result.guarantee, (KmAnonymity, PrivacyConstraints, PSRules)) and result.groups is None:
        return refine_sets
    problem, got = "a release with this guarantee cannot be refined", type(result.guarantee).__name__
    hint = "pass a release with KmAnonymity, PrivacyConstraints, PSRules, TransactionalK or KKm"
    raise ParameterError(problem, where="result", got=got, hint=hint)
