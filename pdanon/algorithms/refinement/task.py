"""The task and the common steps of all refinements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.states.cuts import BASES
from pdanon.algorithms.states.sets_search import balanced_loss
from pdanon.errors import InfeasibleError
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns, encode_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.timing import Clock, TimedSearch, is_over
from pdanon.itemsets.validation import check_known, random_generator
from pdanon.recoding.bounds import BOUNDED, bound_changes
from pdanon.recoding.decision import ListDecision, decide_lists
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

HURRIED = "annealed in fewer sweeps"  # first words of a note


@frozen
class Task:
    """A release to refine, with the checked parameters of `pdanon.refine`."""

    original: pd.DataFrame
    position: int  # of the recoded column
    result: Anonymized
    options: Mapping[str, Any]  # ``loss``, ``time_limit`` and ``random_state``, as passed
    clock: Clock
    quick: bool = False  # whether many items are annealed once, and very many in fewer sweeps

    @property
    def itemsets(self) -> Itemsets:
        """The recoded column of the original."""
        return encode_column(self.original, self.position)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the refined release: those of the result, and those of the refinement."""
        own = {f"refine_{name}": value for name, value in self.options.items()}
        kept = {name: value for name, value in self.result.parameters.items() if name != "decided_k"}
        return {**kept, "refine": True, **own}

    @property
    def base(self) -> int:
        """Number to subtract from the numbers of leaves to get the loss: 0 for NCP, 1 for LM."""
        return BASES[check_known(self.options["loss"], BASES, "loss of a recoding to nodes", where="loss")]

    @property
    def cut_short(self) -> str:
        """A note if the time limit ended the descent, read right after it; else empty."""
        note = f"stopped at the time limit{self._seconds}; more time may lose less"
        return note if is_over(*self.clock) else ""

    @property
    def hurry_note(self) -> str:
        """A note that the annealing had fewer sweeps, although the search ended before the time limit."""
        return f"{HURRIED}, for the time limit{self._seconds}; more time may lose less"

    @property
    def _seconds(self) -> str:
        return "" if self.clock.limit is None else f" of {self.clock.limit:g} s"

    def publish(
        self, itemsets: Itemsets, recoding: Recoding, trace: pd.DataFrame, cut_short: str, before: Recoding
    ) -> Anonymized:
        """Publish the recoding that was found, or the first one if that loses no more."""
        # A search ignores emptied rows: hiding few of them may cost more than the search has gained.
        columns = ListColumns(itemsets, label=self.original.columns[self.position])

        def decide() -> ListDecision:
            found = self._hide_emptied(columns, recoding, trace, before)
            if found is None:
                audited = self.result.guarantee, self.parameters
                found = decide_lists(columns, before, *audited, trace=trace.head(1))
            return found

        result = release(FrameWriter(self.original, [self.position]), decide, self.result.unmodified.judged)
        bound = self.result.bound
        if bound is None and isinstance(result.guarantee, BOUNDED) and result.groups is None:
            return_unused()  # of the rows: the pairs of items take as much
            bound = bound_changes(itemsets, result.guarantee)
        bound = None if bound is None else bound.beside(result.loss["occurrences"])
        return replace(result, cut_short=cut_short, bound=bound)

    def _hide_emptied(
        self, columns: ListColumns, recoding: Recoding, trace: pd.DataFrame, before: Recoding
    ) -> ListDecision | None:
        """Return the decision with none or at least k emptied rows, or None if it does not lose less."""
        try:
            found = decide_lists(columns, recoding, self.result.guarantee, self.parameters, trace=trace)
        except InfeasibleError:
            return None
        if found.rows.recoding is recoding:
            return found
        recoded, loss = found.rows.recoding, self.options["loss"]
        if not isinstance(loss, str) or loss == "UL":  # neither UL nor weights are compared here
            return None
        if not before.hierarchical and (recoded.targets < 0).sum() > (before.targets < 0).sum():
            return None  # sets must not suppress more than before
        measure = _balanced_loss if loss == "balanced" else partial(_sum_loss, base=BASES[loss])
        now, then = (measure(each, columns.itemsets) for each in (recoded, before))
        return replace(found, trace=extend_trace(trace, now, then)) if now < then else None

    def run(self, search: TimedSearch) -> str:
        """Run the search until nothing gains, with a limit at random up to it; return whether it was cut."""
        search.descend()
        cut_short = self.cut_short
        if self.clock.limit is not None:
            search.restart(random_generator(self.options["random_state"]))
        return cut_short


def extend_trace(trace: pd.DataFrame, now: float, then: float) -> pd.DataFrame:
    """Return a trace that ends with the loss of the release, in proportion ``now / then`` to the first."""
    loss = trace["loss"].to_numpy()
    least = loss[0] * now / then if len(loss) and then else 0.0
    if not len(loss) or loss[-1] * (1 + 1e-9) >= least:  # a tolerance for rounding
        return trace
    above = trace[loss > least * (1 + 1e-9)]
    return pd.concat([above, trace.tail(1).assign(loss=least)], ignore_index=True)


def _balanced_loss(recoding: Recoding, itemsets: Itemsets) -> float:
    """Return the balanced loss of a recoding to sets."""
    supports, labels = np.bincount(itemsets.codes, minlength=itemsets.n_items), recoding.targets
    changed = np.append(recoding.covered, 0)[labels] > 1
    return balanced_loss(labels.astype(np.int64), supports, changed, itemsets.n_items)


def _sum_loss(recoding: Recoding, itemsets: Itemsets, base: int) -> int:
    """Return the loss of all occurrences as an integer: NCP, or LM if 1 is subtracted (``base``)."""
    became = recoding.targets[itemsets.codes] if recoding.groups is None else recoding.targets
    stands_for = np.append(recoding.covered, max(recoding.domain, 2))[became]
    return int(np.where(stands_for > 1, stands_for - base, 0).sum())
