"""Simulated attacks: the number of candidate rows given some known items of a person."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.cards import Share, card
from pdanon.errors import ParameterError
from pdanon.evaluation.metrics.attacker_candidates import Release, codes_of, read_mapping
from pdanon.evaluation.metrics.sampling import draw_subsets
from pdanon.guarantees.parameters import ItemLimit, check_m
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Offsets, canonical_rows
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.mapping import check_mapping
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import MOST_DRAWN, check_count, random_generator
from pdanon.recoding.counts import percent
from pdanon.recoding.result import Anonymized

_Z = NormalDist().inv_cdf(0.975)


@holds_tables
@dataclass(frozen=True, eq=False, slots=True)
class Attack:
    """The outcome of simulated attacks with background knowledge of items.

    Parameters
    ----------
    cases : pandas.DataFrame
        One row per case: ``row`` (number of the attacked row), ``known`` (number of its known items),
        ``before`` and ``after`` (candidate rows in the original and in the release).
    m : int or None
        Maximum number of known items.
    """

    cases: pd.DataFrame
    m: int | None

    @property
    def rate(self) -> float:
        """Expected share of correct guesses among the candidate rows of the release."""
        return float((1 / self.cases["after"]).mean())

    @property
    def rate_before(self) -> float:
        """Expected share of correct guesses among the candidate rows of the original."""
        return float((1 / self.cases["before"]).mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of `rate`, for all cases that could have been drawn."""
        return wilson_interval(self.rate, len(self.cases))

    @property
    def interval_before(self) -> tuple[float, float]:
        """Wilson's 95 % interval of `rate_before`."""
        return wilson_interval(self.rate_before, len(self.cases))

    @property
    def fewest(self) -> int:
        """Lowest number of candidate rows of the release, over all cases."""
        return int(self.cases["after"].min())

    @property
    def fewest_before(self) -> int:
        """Lowest number of candidate rows of the original, over all cases."""
        return int(self.cases["before"].min())

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {name:<10} {text}" for name, text in self._facts())])

    def _repr_html_(self) -> str:
        shares = {"original": [Share(self.rate_before)], "release": [Share(self.rate, self.rate_before)]}
        return card(self._title(), self._facts(), shares=shares)

    def _title(self) -> str:
        known = "all items" if self.m is None else f"up to {self.m} items"
        return f"Attack: {len(self.cases)} cases, {known} known"

    def _facts(self) -> Iterator[tuple[str, str]]:
        before = self.rate_before, self.interval_before, self.fewest_before
        figures = {"original": before, "release": (self.rate, self.interval, self.fewest)}
        for name, (rate, interval, fewest) in figures.items():
            match = f"{fewest} row{' matches' if fewest == 1 else 's match'}"
            between = " to ".join(map(percent, interval))
            yield name, f"{percent(rate)} of the guesses are right ({between}); in the worst case {match}"


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Return the interval of E. B. Wilson (1927) for a share of n independent cases, at 95 %.

    The share is that of right guesses, or the mean of the chances of the guesses. The chances spread no
    more than the guesses, so the interval of their mean is not too narrow.
    """
    middle, spread = share + _Z**2 / (2 * n), _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    low, high = (end / (1 + _Z**2 / n) for end in (middle - spread, middle + spread))
    return max(low, 0.0), min(high, 1.0)


@called_by_name
def attack(
    original: pd.DataFrame,
    result: Anonymized | pd.DataFrame,
    column: Hashable | None = None,
    *,
    mapping: pd.DataFrame | None = None,
    m: ItemLimit = 2,
    n: int = 1000,
    random_state: int | np.random.Generator | None = None,
    progress: bool = False,
) -> Attack:
    """Simulate attacks on a release.

    Parameters
    ----------
    original : pandas.DataFrame
        The frame that was anonymized.
    result : Anonymized or pandas.DataFrame
        The release; or its frame, from pdanon or any other tool, with the rows of the original.
    column : hashable, optional
        The list column. By default the only one.
    mapping : pandas.DataFrame, optional
        The mapping of a frame, of a global recoding: ``group`` (0), ``item`` and ``generalized``. A result
        has its own.
    m : int or None
        Number of items that the attacker knows of a person; at least 1. None: all items. If a person has
        fewer items, the attacker knows all of them.
    n : int
        Number of cases.
    random_state : int, Generator or None
        Seed, or source of randomness.
    progress : bool
        Show the finished parts of the count.

    Returns
    -------
    Attack
        ``rate``, its ``interval``, ``fewest``, the same figures for the original, and the ``cases``; numbers
        only.

    Raises
    ------
    ParameterError
        If a number is out of range, the parts do not belong together, no row has an item, or an item has
        several labels in one group. If a frame has no mapping, or one of a local recoding.

    Notes
    -----
    Each case is drawn in two steps: a row with an item, then a subset of its items, both uniformly. The
    attacker has the mapping, and in a local recoding also the group of the row. The attacker translates the
    known items to labels, drops suppressed ones, and counts the candidate rows: the released rows with all
    the labels. If no label is left, all rows that are not missing are candidates. The attacked row is
    one of them, and the attacker guesses.

    The attacker knows items only: neither values of other columns, nor that a person lacks an item.

    The simulation illustrates a guarantee, but does not prove it: the cases are a sample, and other attacks
    are possible. The audit of a release checks every itemset. k^m-anonymity guarantees that ``fewest`` is at
    least k; other models have other guarantees.

    Wilson's interval has the rate of all possible cases in 95 of 100 simulations or more [1]_. It says
    nothing about other attackers.

    Cost: the rows of the rarest label of each case.

    References
    ----------
    .. [1] R. G. Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven
       methods", Statistics in Medicine 17(8), 1998.

    Examples
    --------
    >>> import pdanon
    >>> from pdanon.io.datasets import make_baskets
    >>> df = make_baskets(500, 50, random_state=1)
    >>> result = df.txanon.pcta(k=5, m=2)
    >>> pdanon.attack(df, result, m=2, n=200, random_state=1).fewest >= 5
    True
    >>> pdanon.attack(df, result.frame, mapping=result.mapping, m=2, n=200, random_state=1).fewest >= 5
    True
    """
    most, n = check_m(m), check_count(n, "n", least=1, most=MOST_DRAWN)
    mapping, groups = _read_release(result, mapping)
    release = Release.of(original, result, mapping, None, column)
    release.check_rows()
    groups = np.zeros(len(original), np.int64) if groups is None else groups
    able = np.flatnonzero(release.items.lengths > 0)
    if not len(able):
        raise ParameterError("no row has an item", where="original", got=f"{len(original)} rows")
    rng = random_generator(random_state)
    rows = rng.choice(able, n)
    codes, offsets = draw_subsets(release.items, rows, most, rng)
    known = np.diff(offsets)
    with show_activity(progress, "attack"):
        groups = groups[np.repeat(rows, known)]
        labels, label_offsets = _translate(release, mapping, groups, codes, offsets)
        # Distinct rows with weights: releases have many equal rows.
        before = SupportIndex.of(release.items).distinct().supports(codes, offsets)
        after = SupportIndex.of(release.published).distinct().supports(labels, label_offsets)
        after[np.diff(label_offsets) == 0] = release.published.n_present  # all known items were suppressed
    return Attack(pd.DataFrame({"row": rows, "known": known, "before": before, "after": after}), most)


def _read_release(result: Any, mapping: pd.DataFrame | None) -> tuple[pd.DataFrame, NDArray[np.int64] | None]:
    """Return the mapping of a release, and the group of each row in a local recoding."""
    if isinstance(result, Anonymized):
        if mapping is not None:
            hint = "leave mapping= out: a result has its own"
            raise ParameterError("the mapping is given twice", where="mapping", hint=hint)
        return result.mapping, None if result.groups is None else np.asarray(result.groups, np.int64)
    if not isinstance(result, pd.DataFrame):
        hint = "pass the result itself: result = pdanon.pcta(frame, k=5, m=2); pdanon.attack(frame, result)"
        raise ParameterError("not a result", where="result", got=type(result).__name__, hint=hint)
    if mapping is None:
        hint = "pass the result itself, pdanon.attack(frame, result), or the labels, mapping=mapping"
        raise ParameterError("a frame needs its mapping", where="mapping", hint=hint)
    check_mapping(mapping)
    if not (mapping["group"] == 0).fillna(False).all():
        hint = "pass the result itself, which has the group of each row"
        raise ParameterError("the mapping is that of a local recoding", where="mapping", hint=hint)
    return mapping, None


def _translate(
    release: Release, mapping: pd.DataFrame, groups: NDArray[np.int64], codes: Codes, offsets: Offsets
) -> tuple[Codes, Offsets]:
    """Return the labels of the known items in their groups, ascending and distinct in each case."""
    published = release.published
    if len(mapping) == 0:
        became: NDArray[Any] = published.lookup(release.items.vocabulary)[codes]
    else:
        became = _labels_in_group(release.items, published, mapping, groups, codes)
    kept = became >= 0
    cases = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[kept]
    lengths = np.bincount(cases, minlength=len(offsets) - 1)
    return canonical_rows(became[kept].astype(np.int32), offsets_of(lengths), published.n_items)


def _labels_in_group(
    items: Itemsets, published: Itemsets, mapping: pd.DataFrame, groups: NDArray[np.int64], codes: Codes
) -> NDArray[np.int64]:
    """Return the label of each item in its group; -1 if suppressed."""
    mapped, labels, texts = read_mapping(mapping, items)
    entries = mapping["group"].to_numpy(np.int64) * items.n_items + mapped
    order = np.argsort(entries)
    if repeated := int((np.diff(entries[order]) == 0).sum()):
        problem = "an item has several labels in one group, and the rows with each label are unknown"
        got = f"{repeated} of {len(entries)} rows of the mapping"
        raise ParameterError(problem, where="result", got=got)
    # Items and groups are combined into one number, and searched among those of the mapping.
    wanted = groups * items.n_items + codes
    place = np.minimum(np.searchsorted(entries, wanted, sorter=order), len(order) - 1)
    found = order[place]
    if (entries[found] != wanted).any():
        raise ParameterError("the mapping of the result lacks items of the original", where="original")
    published_as = np.append(codes_of(texts, published.texts()), -1)
    return published_as[labels[found]]


def attack_itemsets(
    items: Itemsets,
    published: Itemsets,
    mapping: pd.DataFrame,
    *,
    m: ItemLimit,
    n: int,
    random_state: int | np.random.Generator | None,
) -> Attack:
    """Simulate attacks as `attack`, on encoded columns with weights and a global mapping.

    Parameters
    ----------
    items, published : Itemsets
        The distinct rows of the original and of the release.
    mapping : pandas.DataFrame
        The mapping of the release.
    m, n, random_state
        As in `attack`.
    """
    most, n = check_m(m), check_count(n, "n", least=1, most=MOST_DRAWN)
    before, after = SupportIndex.of(items), SupportIndex.of(published)
    if before.n_rows != after.n_rows:
        got = f"{before.n_rows:,} rows, and {after.n_rows:,} in the release"
        raise ParameterError("the release has other rows", where="released", got=got)
    if not before.n_non_empty:
        raise ParameterError("no row has an item", where="source", got=f"{before.n_rows} rows")
    if not (mapping["group"] == 0).all():
        hint = "name an algorithm that recodes an item equally in the whole table, such as pcta"
        raise ParameterError("the mapping is that of a local recoding", where="mapping", hint=hint)
    rng = random_generator(random_state)
    weights = np.where(items.lengths > 0, before.weights, 0)
    rows = rng.choice(len(weights), n, p=weights / weights.sum())
    codes, offsets = draw_subsets(items, rows, most, rng)
    known = np.diff(offsets)
    mapped, labels, texts = read_mapping(mapping, items)
    became = np.full(items.n_items, -1, np.int64)
    became[mapped] = np.append(codes_of(texts, published.texts()), -1)[labels]
    kept = became[codes] >= 0
    cases = np.repeat(np.arange(n), known)[kept]
    guesses = became[codes][kept].astype(np.int32), offsets_of(np.bincount(cases, minlength=n))
    known_labels, label_offsets = canonical_rows(*guesses, published.n_items)
    matches = after.supports(known_labels, label_offsets)
    matches[np.diff(label_offsets) == 0] = published.n_present  # all known items were suppressed
    table = {"row": rows, "known": known, "before": before.supports(codes, offsets), "after": matches}
    return Attack(pd.DataFrame(table), most)
