"""What the refinement of a release begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pdanon.errors import InfeasibleError
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.timing import is_over
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.decision import Decision, ListRows, decide_lists, relabel
from pdanon.recoding.labels import Labels
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

__all__ = ["Search", "Task", "reached"]

_BASES = {"NCP": 0, "LM": 1}  # what is taken off a number of items


class Search(Protocol):
    """A search that goes on from a safe release."""

    def descend(self, limit: float | None) -> None:
        """Change what gains, until nothing does, or the limit in seconds is reached."""

    def restart(self, limit: float, rng: np.random.Generator) -> None:
        """Change something at random and descend again, until the limit in seconds is reached."""


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """A release that is to lose less: the parameters of `pdanon.refine`, checked.

    Parameters
    ----------
    original : pandas.DataFrame
        What the release was made from.
    position : int
        Which of its columns was recoded.
    result : Anonymized
        A safe release.
    asked : mapping
        ``loss``, ``time_limit`` and ``random_state``, as they were given.
    limit : float or None
        Seconds.
    started : float
        Since when they are counted; a value of ``time.perf_counter()``.
    """

    original: pd.DataFrame
    position: int
    result: Anonymized
    asked: Mapping[str, Any]
    limit: float | None
    started: float

    @property
    def itemsets(self) -> Itemsets:
        """The column that was recoded, encoded anew."""
        return Itemsets.from_series(self.original.iloc[:, self.position])

    @property
    def parameters(self) -> dict[str, Any]:
        """What is recorded of the refined release: what the first one was asked, and what this one."""
        own = {f"refine_{name}": value for name, value in self.asked.items()}
        return {**self.result.parameters, "refine": True, **own}

    @property
    def labels(self) -> Labels:
        """What sets are called."""
        return self.result.parameters.get("labels", "set")

    @property
    def cut_short(self) -> str:
        """That the time limit ended the descent, read when that has ended; empty if it was completed."""
        if not is_over(self.started, self.limit):
            return ""
        seconds = "" if self.limit is None else f" of {self.limit:g} s"
        return f"stopped at the time limit{seconds}; more time may lose less"

    def released(
        self, itemsets: Itemsets, recoding: Recoding, trace: pd.DataFrame, cut_short: str, before: Recoding
    ) -> Anonymized:
        """Publish what the search has found, or what it began with if that loses no more.

        A search knows nothing of emptied rows: to hide few of them may cost more than it has gained.
        """
        columns = ListColumns(itemsets, label=self.original.columns[self.position])

        def decide() -> Decision[ListRows]:
            found = self._hidden(columns, recoding, trace, before)
            if found is None:
                told = self.result.guarantee, self.parameters
                found = decide_lists(columns, before, *told, trace=trace.head(1))
            return relabel(found, self.labels)

        result = release(FrameWriter(self.original, [self.position]), decide, self.result.passing.judged)
        return replace(result, cut_short=cut_short)

    def _hidden(
        self, columns: ListColumns, recoding: Recoding, trace: pd.DataFrame, before: Recoding
    ) -> Decision[ListRows] | None:
        """What was found with none or at least k emptied rows, if that still loses less than the result."""
        try:
            found = decide_lists(columns, recoding, self.result.guarantee, self.parameters, trace=trace)
        except InfeasibleError:
            return None
        if found.rows.recoding is recoding:
            return found
        hidden, loss = found.rows.recoding, self.asked["loss"]
        if not isinstance(loss, str) or loss not in _BASES:  # it has no sum over occurrences to compare
            return None
        if not before.hierarchical and (hidden.targets < 0).sum() > (before.targets < 0).sum():
            return None  # of sets, no more is suppressed than before
        now, then = (_summed(each, columns.itemsets, _BASES[loss]) for each in (hidden, before))
        return replace(found, trace=reached(trace, now, then)) if now < then else None

    def run(self, search: Search) -> str:
        """Search until nothing gains; with a limit go on at random until it is reached.

        Returns
        -------
        str
            Whether the descent was cut short, as `cut_short`; what is done at random is never complete.
        """
        search.descend(self.limit)
        cut_short = self.cut_short
        if self.limit is not None:
            search.restart(self.limit, random_generator(self.asked["random_state"]))
        return cut_short


def reached(trace: pd.DataFrame, now: int, then: int) -> pd.DataFrame:
    """A trace that ends with the loss of the release, which is ``now`` where it was ``then`` at first."""
    loss = trace["loss"].to_numpy()
    least = loss[0] * now / max(then, 1) if len(loss) else 0.0
    if not len(loss) or loss[-1] * (1 + 1e-9) >= least:  # either may be rounded
        return trace
    above = trace[loss > least * (1 + 1e-9)]
    return pd.concat([above, trace.tail(1).assign(loss=least)], ignore_index=True)


def _summed(recoding: Recoding, itemsets: Itemsets, base: int) -> int:
    """The loss of all occurrences as an integer: NCP, or LM if one is taken off each number of items."""
    became = recoding.targets[itemsets.codes] if recoding.groups is None else recoding.targets
    stands_for = np.append(recoding.covered, max(recoding.domain, 2))[became]
    return int(np.where(stands_for > 1, stands_for - base, 0).sum())
