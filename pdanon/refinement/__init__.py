"""Refinement: how much of the loss of a release is not necessary.

The published algorithms stop at the first release that is safe. Here the search goes on from there: one file
for each kind of recoding that can be refined.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.original import recoded_column
from pdanon.parameters import check_known, check_seconds
from pdanon.refinement.clusters import KINDS, LOSSES, Refinement, check_refinable, refined_sets
from pdanon.result import Anonymized

__all__ = ["Refinement", "check_refinable", "refine"]


def refine(
    original: pd.DataFrame,
    result: Anonymized,
    *,
    loss: str = "ncp",
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Anonymized:
    """Move items between the sets of a release as long as it loses less and keeps its guarantee.

    Parameters
    ----------
    original : pandas.DataFrame
        What the release was made from. It is not modified.
    result : Anonymized
        A result of `pcta`, `coat` or `upcta` with the guarantee ``KmAnonymity``.
    loss : {"ncp", "lm"}
        What is to fall: each occurrence costs the size of its set, over the number of items; or the size
        less one, over the number of items less one. A single item costs 0, a suppressed one 1.
    time_limit : float, optional
        Seconds, above 0. When no move is left, sets are merged at random and items move again, until the
        time is over; the best is kept. Without a limit this is not done.
    random_state : int, Generator or None
        Seed, or source of randomness, of these merges.

    Returns
    -------
    Anonymized
        A global recoding with the same guarantee and never more of this loss. ``trace`` has the loss over
        time: columns ``seconds`` and ``loss``.

    Raises
    ------
    ParameterError
        If the result is of another kind, of another frame, or without its guarantee, or a parameter is out
        of range.

    Notes
    -----
    Guarantee: that of the result. With m up to 2, each move leaves every set and every pair of sets with a
    support of 0 or at least k. With a larger m, the sets that hold a rare larger itemset are merged in the
    end, as `pcta` does, and what came in is returned if that loses more. The release is audited.

    A move takes an item to another set, or to one of its own; a suppressed item may come back. Sets stay
    within the blocks of ``utility``. Items take turns, the most frequent first (then: the last in item order
    first), each to where it gains most (then: the set with the lowest number, the new one last): first
    the 8 most frequent until a round gains no more than 1/10,000 of the loss, then half
    as many more, and so on; all items until none moves. In the end no single move is both
    safe and a gain. That is a local optimum, not the least loss.

    With a time limit the outcome depends on the speed of the machine. The limit is looked at between rounds
    over the items.

    Cost: items squared times 4 bytes of memory; each round takes time linear in the sum of the squared
    lengths of the distinct rows, and in the items times the sets.

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
    check_known(loss, LOSSES, "loss", where="loss")
    limit = None if time_limit is None else check_seconds(time_limit, "time_limit")
    position = _recoded_column(original, result)
    asked = {"refine": True, "loss": loss, "time_limit": time_limit, "random_state": random_state}
    return refined_sets(original, position, result, asked, limit, started)


def _recoded_column(original: pd.DataFrame, result: Any) -> int:
    """The position of the column that was recoded, in a result that can be refined."""
    if not isinstance(result, Anonymized):
        hint = "give what pcta, coat or upcta returned"
        raise ParameterError("there is no result", where="result", got=type(result).__name__, hint=hint)
    if result.groups is not None or result.classes is not None:
        raise ParameterError("a local recoding cannot be refined", where="result", hint=KINDS)
    if "hierarchy" in result.parameters:
        raise ParameterError("a hierarchical recoding cannot be refined", where="result", hint=KINDS)
    check_refinable(result.guarantee)
    if not result.holds:
        hint = "it is the partial result of an algorithm that found no release"
        raise ParameterError("the result does not have its guarantee", where="result", hint=hint)
    return recoded_column(original, result)
