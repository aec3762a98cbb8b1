"""Decisions without all distinct rows in one place: by the supports of pairs, and the rows that merges need.

`docs/proofs/lemmas.md` has the proof that the last decision equals that for all rows. It holds for algorithms
whose steps depend only on the supports of one and two sets. Interim decisions only choose the rows to fetch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.registry import ALGORITHMS, with_defaults
from pdanon.errors import InfeasibleError
from pdanon.guarantees.km import KmAnonymity
from pdanon.itemsets import row_loops
from pdanon.itemsets.codes import Codes, Itemsets, find_items
from pdanon.itemsets.encoded_columns import ListColumns, PairCounts
from pdanon.itemsets.equality import DistinctRows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.memory import large_arrays_apart, return_unused
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.decision import Decision

Rows = TypeVar("Rows")

_LEAST = 3  # items of a row that the supports of pairs do not describe
# If an interim decision fails, one in so many rows is fetched, the longest ones; then twice as many.
_FIRST_SHARE = 64


def suffices(algorithm: str, parameters: Mapping[str, Any]) -> bool:
    """Return whether a decision for a skeleton equals that for all rows."""
    # ``parameters`` have the guarantee. Suppressed items and listed constraints need other rows, sensitive
    # items and refined sets need supports of more items, and a generator would draw another order in each
    # round.
    record = ALGORITHMS[algorithm]
    if not record.by_pairs:
        return False
    given = with_defaults(record.function, parameters)
    guarantee, seed, share = given["guarantee"], given.get("random_state"), given.get("max_suppressed", 0)
    return (
        isinstance(guarantee, KmAnonymity)
        and guarantee.m in (1, 2)
        and given["refine"] is False
        and isinstance(share, Real)
        and share == 0
        and not isinstance(seed, np.random.Generator)
    )


@frozen
class Request:
    """Which rows a decision lacks: those with at least three items that its labels shorten."""

    items: pa.Array  # by code
    labels: tuple[Codes, ...]  # set of each item in this and all earlier interim decisions, the latest last
    longest: tuple[int, ...]  # for each of them, the number of items above which all rows are requested

    def find(self, rows: Itemsets) -> SupportIndex | None:
        """Return the distinct rows that only this decision requests; None if an item is new."""
        n, lengths = len(self.items), rows.lengths
        code = find_items(rows.vocabulary, self.items)
        if (unknown := code < 0).any() and unknown[rows.codes].any():
            return None
        latest = np.where(unknown, 0, self.labels[-1][code]).astype(np.int32)
        shortened = row_loops.mark_shortened(rows.codes, rows.offsets, latest, n)  # or with duplicate items
        some = rows.take(np.flatnonzero((lengths >= _LEAST) & (shortened | (lengths > self.longest[-1]))))
        found = SupportIndex(some.codes, some.offsets, rows.n_items, some.weights).recode(code, n)
        lengths = found.lengths
        *earlier, now = (
            row_loops.mark_shortened(found.codes, found.offsets, labels, n) | (lengths > longest)
            for labels, longest in zip(self.labels, self.longest, strict=True)
        )
        for before in earlier:
            now &= ~before
        return found.within(now & (lengths >= _LEAST)).distinct()


Fetch: TypeAlias = Callable[[Request], Iterable[SupportIndex]]


def merge_found(parts: Iterable[SupportIndex]) -> SupportIndex:
    """Merge the rows that several holders found for a request."""
    rows, n_items = DistinctRows(), 0
    for each in parts:
        n_items = each.n_items
        rows.add(each.codes, each.offsets, each.weights)
    return SupportIndex(rows.codes, rows.offsets, n_items, rows.weights)


@large_arrays_apart()
def decide_in_rounds(
    counts: PairCounts, fetch: Fetch, decide: Callable[[ListColumns], tuple[Decision[Rows], Codes]]
) -> tuple[Decision[Rows], pd.DataFrame]:
    """Decide for the supports of pairs, fetching rows until no further one is needed."""
    # ``decide`` returns a decision without rows, as further ones need their memory.
    counts, known = counts.sort(), DistinctRows()
    n, facts = len(counts.items), []
    same = np.arange(n, dtype=np.int32)
    request, longest, share = Request(counts.items, (), ()), len(counts.lengths), _FIRST_SHARE
    while True:
        return_unused()  # of the rows that were read
        n_known = len(known.weights)
        decision, sets, problem = _attempt(decide, counts, known)
        labels = same if sets is None else sets
        return_unused()  # of the decision
        if problem is not None and longest >= _LEAST:
            # Its labels may merge everything, so they would request all rows.
            labels, longest, share = same, min(longest - 1, _longest(counts, share)), max(share // 2, 1)
        request = replace(request, labels=(*request.labels, labels), longest=(*request.longest, longest))
        n_bytes = 0
        for each in fetch(request):
            known.add(each.codes, each.offsets, each.weights)
            n_bytes += each.codes.nbytes + each.offsets.nbytes + each.weights.nbytes
        n_found = len(known.weights) - n_known
        facts.append((len(np.unique(labels)), n_found, n_bytes))
        if not n_found and problem is not None and longest < _LEAST:
            raise problem
        if not n_found and problem is None and decision is not None:
            return decision, pd.DataFrame(facts, columns=["labels", "rows", "bytes"])


def _attempt(
    decide: Callable[[ListColumns], tuple[Decision[Rows], Codes]], counts: PairCounts, known: DistinctRows
) -> tuple[Decision[Rows] | None, Codes | None, InfeasibleError | None]:
    """Return a decision, and why it is none: the reason may be the skeleton, or the rows themselves."""
    columns = counts.columns(SupportIndex(known.codes, known.offsets, len(counts.items), known.weights))
    try:
        with np.errstate(all="ignore"):  # interim supports may be negative, and so have no logarithm
            decision, labels = decide(columns)
    except InfeasibleError as error:
        return None, None, error.with_traceback(None)  # its frames hold the rows
    problem = decision.problem
    return decision, labels, None if problem is None else problem.with_traceback(None)


def _longest(counts: PairCounts, share: int) -> int:
    """Return the largest number of items that at least one in so many rows exceed."""
    longer = np.cumsum(counts.lengths[::-1])[::-1]
    return int(np.flatnonzero(longer * share >= counts.n_rows)[-1]) - 1
