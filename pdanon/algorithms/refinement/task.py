"""What the refinement of a release begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.list_columns import ListColumns
from pdanon.itemsets.timing import is_over
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.decision import Decision, ListRows, decide_lists, relabel
from pdanon.recoding.labels import Labels
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.release import FrameWriter, release
from pdanon.recoding.result import Anonymized

__all__ = ["Search", "Task"]


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
        self, itemsets: Itemsets, recoding: Recoding, trace: pd.DataFrame, cut_short: str
    ) -> Anonymized:
        """Publish what the search has found."""
        columns = ListColumns(itemsets, label=self.original.columns[self.position])

        def decide() -> Decision[ListRows]:
            found = decide_lists(columns, recoding, self.result.guarantee, self.parameters, trace=trace)
            return relabel(found, self.labels)

        result = release(FrameWriter(self.original, [self.position]), decide, self.result.passing.judged)
        return replace(result, cut_short=cut_short)

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
