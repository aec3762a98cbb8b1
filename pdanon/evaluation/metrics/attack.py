"""Simulated attacks: the number of candidate rows given some known items of a person."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import ALGORITHMS
from pdanon.errors import ParameterError, ReleaseWarning, warn
from pdanon.evaluation.fingerprint import rows_fingerprint
from pdanon.evaluation.metrics.estimates import Release
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit, check_k, check_m
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Lines, Share, card, listing
from pdanon.itemsets.codes import Itemsets, Numbers, Offsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.mapping import check_mapping
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import (
    MOST_DRAWN,
    Seed,
    check_count,
    check_frame,
    check_known,
    random_generator,
)
from pdanon.recoding.counts import percent, wilson_interval
from pdanon.recoding.identification import SampleAttack, count_candidates, draw_subsets
from pdanon.recoding.recoding import became_of
from pdanon.recoding.result import Anonymized, refuse_units

_ABOVE = "have a candidate row more probable than"
_ROUNDED = 1e-9  # k equal probabilities may be a little above 1/k


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
    k : int or None
        With a sample: fewer than k rows of the original match the known items of a person at risk.
    sample : str
        With a sample: its description. The cases are then persons at risk, and have two more columns:
        ``named`` (whether the guess with the sample is right) and ``largest`` (the largest probability of a
        candidate row, by the attacker's estimate).
    at_risk : float or None
        With a sample: the share of rows at risk among the rows that could be attacked.
    """

    cases: pd.DataFrame
    m: int | None
    k: int | None = None
    sample: str = ""
    at_risk: float | None = None

    @property
    def named(self) -> float:
        """Share of persons at risk whose row the attacker guesses with the sample."""
        return self._share("named")

    @property
    def shares(self) -> pd.DataFrame:
        """All shares with Wilson's 95 % intervals: ``share, low, high``."""
        # ``original`` and ``release``: right guesses among the candidate rows, all equally probable; these
        # are `rate_before` and `rate`. With a sample also ``named``, and ``above 1/k`` and ``above 1/2``:
        # persons with a candidate row whose probability, by the attacker's estimate, is above.
        rows = {"original": self.rate_before, "release": self.rate}
        if self.sample:
            rows |= {name: self._share(name) for name in ("named", "above 1/k", "above 1/2")}
        n = len(self.cases)  # 0 if nobody is at risk
        lines = [(share, *wilson_interval(share, n)) if n else (math.nan,) * 3 for share in rows.values()]
        return pd.DataFrame(lines, index=[*rows], columns=["share", "low", "high"])

    def _share(self, name: str) -> float:
        if not self.sample:
            hint = "pass one: pdanon.attack(original, result, sample=other_rows), or sample='split'"
            raise ParameterError("this attack was made without a sample", where=name, hint=hint)
        if name == "named":
            return float(self.cases["named"].mean())
        bound = 1 / 2 if self.k is None or name == "above 1/2" else 1 / self.k
        return float((self.cases["largest"] > bound * (1 + _ROUNDED)).mean())

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
        return self._fewest("after")

    @property
    def fewest_before(self) -> int:
        """Lowest number of candidate rows of the original, over all cases."""
        return self._fewest("before")

    def _fewest(self, rows: str) -> int:
        if not len(self.cases):
            hint = "pass a larger k: more persons are at risk"
            raise ParameterError("nobody is at risk, so there are no cases", where="Attack.fewest", hint=hint)
        return int(self.cases[rows].min())

    def __repr__(self) -> str:
        return listing(self._title(), self._facts())

    def _repr_html_(self) -> str:
        return card(self._title(), self._facts())

    def _title(self) -> str:
        known = "all items" if self.m is None else f"up to {self.m} items"
        cases = "persons at risk" if self.sample else "cases"
        return f"Attack: {len(self.cases)} {cases}, {known} known"

    def _facts(self) -> Lines:
        if self.sample:
            yield "sample", self.sample
            items = "all their items" if self.m is None else f"{self.m} of their items"
            yield (
                "at risk",
                f"{percent(self.at_risk or 0.0)} of the rows: fewer than {self.k} rows hold {items}",
            )
        if not len(self.cases):
            return
        shares = self.shares
        rates = {"original": Share(self.rate_before), "release": Share(self.rate, self.rate_before)}
        for (name, rate), fewest in zip(rates.items(), (self.fewest_before, self.fewest), strict=True):
            share, low, high = map(percent, shares.loc[name])
            match = f"{fewest} row{' matches' if fewest == 1 else 's match'}"
            yield name, f"{share} of the guesses are right ({low} to {high}); in the worst case {match}", rate
        if self.sample:
            for name, of in (("named", "are named"), ("above 1/k", _ABOVE), ("above 1/2", _ABOVE)):
                share, low, high = map(percent, shares.loc[name])
                bound = f" {name.removeprefix('above ').replace('k', str(self.k))}" if of is _ABOVE else ""
                yield name, f"{share} {of}{bound} ({low} to {high})"


@called_by_name
def attack(
    original: pd.DataFrame,
    result: Anonymized | pd.DataFrame,
    column: Hashable | None = None,
    *,
    mapping: pd.DataFrame | None = None,
    sample: pd.DataFrame | str | None = None,
    k: int | None = None,
    m: ItemLimit = 2,
    n: int = 1000,
    random_state: Seed = None,
) -> Attack:
    """Simulate attacks on a release, by an attacker who guesses at random or learns from a sample.

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
    sample : pandas.DataFrame or "split", optional
        Other rows of the same kind, from which the attacker learns which items occur together: the same list
        column, and rows that are not in the original. Hold some rows back before you anonymize. ``"split"``:
        the original is split into random halves, and the rows of each are weighed by what the attacker
        learns from the other half. By default, the attacker has no sample.
    k : int, optional
        With a sample: a person is at risk if fewer than k rows of the original match the known items. By
        default the k of the guarantee.
    m : int or None
        Number of items that the attacker knows of a person; at least 1. None: all items. If a person has
        fewer items, the attacker knows all of them.
    n : int
        Number of cases. With a sample, they are fewer if no row is at risk, or if the rare itemsets of some
        rows are too few to be found.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    Attack
        ``rate``, its ``interval``, ``fewest``, the same figures for the original, and the ``cases``; numbers
        only. With a sample also ``named``, and ``shares`` lists all shares with their intervals.

    Raises
    ------
    ParameterError, ColumnError
        If a number is out of range, the parts do not belong together, no row has an item, or an item has
        several labels in one group. If a frame has no mapping, or one of a local recoding. If the sample
        lacks the list column, or has no item of the original, or the guarantee has no k and none is passed.

    Warns
    -----
    ReleaseWarning
        If the sample is the original itself: the attacker then knows every row.

    Notes
    -----
    Each case is drawn in two steps: a row with an item, then a subset of its items, both uniformly. The
    attacker has the mapping, and in a local recoding also the group of the row. The attacker translates the
    known items to labels, drops suppressed ones, and counts the candidate rows: the released rows with all
    the labels. If no label is left, all rows that are not missing are candidates. The attacked row is
    one of them, and the attacker guesses.

    The attacker knows items only: neither values of other columns, nor that a person lacks an item. The
    simulation illustrates a guarantee, and the audit proves it: k^m-anonymity guarantees that ``fewest`` is
    at least k.

    Wilson's interval has the rate of all possible cases in 95 of 100 simulations or more [1]_.

    **With a sample**, each case is a person at risk: a row that holds m items which fewer than k rows hold
    together, and m such items, both drawn uniformly. The attacker estimates by naive Bayes how
    probably the labels of each candidate row stand for the known items: an item is as probable as it is
    frequent among the items of its label, times the share of its rows in the sample with each other label of
    the row. The attacker guesses the most probable row. A person is *named* if the guess is right. ``rate``
    is the share without a sample, for the same persons.

    In a release with deletions, as of `local_suppression`, this attacker knows what the row of the person
    lost. A second one only knows how many rows lost each item: a candidate row has the label of each known
    item, or may have lost it. ``named`` and ``largest`` are those of the attacker who names more persons;
    ``sample`` states which. The second one is often too sure: ``largest`` is then far above ``named``.

    A real attacker may learn better: the figures are no upper bound. Held-out rows are the fairest sample.
    With a split, the attacker has half as many rows as the release. Where they include the attacked row,
    a known item is weighed without it.

    Cost: the rows of the rarest label of each case. With a sample also one count of the rows at risk, and for
    each known label its rows in the sample, times the items of the label. With deletions, the occurrences of
    the release for each known item.

    References
    ----------
    .. [1] R. G. Newcombe, "Two-sided confidence intervals for the single proportion: comparison of seven
       methods", Statistics in Medicine 17(8), 1998.

    Examples
    --------
    >>> import pdanon
    >>> from pdanon.io.datasets import make_baskets
    >>> df = make_baskets(500, 50, random_state=1)[["items"]]
    >>> result = df.txanon.pcta(k=5, m=2)
    >>> pdanon.attack(df, result, m=2, n=200, random_state=1).fewest >= 5
    True

    >>> attack = pdanon.attack(df, result, sample=make_baskets(500, 50, random_state=2), random_state=1)
    >>> bool(attack.named > attack.rate)
    True
    """
    most, n = check_m(m), check_count(n, "n", least=1, most=MOST_DRAWN)
    mapping, groups = _read_release(result, mapping)
    release = Release.of(original, result, mapping, None, column)
    release.check_rows()
    rng = random_generator(random_state)
    if sample is not None:
        if k is None and isinstance(result, Anonymized):
            k = getattr(result.guarantee, "k", None)
        if k is None:
            problem = "a release without k needs one for an attack with a sample"
            hint = "pass k=: persons are at risk if fewer than k rows of the original match what is known"
            raise ParameterError(problem, where="k", hint=hint)
        with show_activity("attack"):
            return _attack_with_sample(release, mapping, groups, sample, check_k(k), most, n, rng)
    able = np.flatnonzero(release.items.lengths > 0)
    if not len(able):
        raise ParameterError("no row has an item", where="original", got=f"{len(original)} rows")
    rows = rng.choice(able, n)
    items, published = release.items, release.published
    with show_activity("attack"):
        return _attack_at_random(items, published, mapping, groups, rows, most, rng)


def _attack_at_random(
    items: Itemsets,
    published: Itemsets,
    mapping: pd.DataFrame,
    groups: Numbers | None,
    rows: Numbers,
    m: int | None,
    rng: np.random.Generator,
) -> Attack:
    """Attack some rows by an attacker who guesses at random, given the group of each row, if any."""
    codes, offsets = draw_subsets(items, rows, m, rng)
    became = became_of(items, published, mapping, groups, np.repeat(rows, np.diff(offsets)), codes)
    # Distinct rows with weights: releases have many equal rows.
    before = SupportIndex.of(items).distinct().supports(codes, offsets)
    _, _, after = count_candidates(became, offsets, published, SupportIndex.of(published).distinct())
    return Attack(_cases(rows, offsets, before, after), m)


def _attack_with_sample(
    release: Release,
    mapping: pd.DataFrame,
    groups: Numbers | None,
    given: pd.DataFrame | str,
    k: int,
    m: int | None,
    n: int,
    rng: np.random.Generator,
) -> Attack:
    items = release.items
    sample, unknown = _read_sample(items, release.label, given)
    if sample is None:
        told = "each half of the original, drawn at random, for the rows of the other"
    else:
        told = f"{sample.n_rows:,} other rows"
        if unknown:
            told += f"; {percent(unknown)} of their items are not in the original"
    attack = SampleAttack(items, sample, k, m, n, rng)
    guesses, persons = attack.guess(release.published, mapping, groups), attack.persons
    if guesses.deletions:
        told += f"; what a row lost is {guesses.deletions}"
    table = _cases(persons.rows, persons.offsets, persons.supports, guesses.candidates)
    named = rng.random(len(table)) < guesses.chances
    return Attack(table.assign(named=named, largest=guesses.largest), m, k, told, attack.at_risk)


def _read_sample(items: Itemsets, label: Hashable, given: Any) -> tuple[Itemsets | None, float]:
    """Return the rows of a sample by known items, None for a split, and the share of unknown occurrences."""
    if isinstance(given, str):
        check_known(given, ("split",), "sample", where="sample")
        return None, 0.0
    given = check_frame(given, "sample")
    sample = Itemsets.from_series(list_column(given, label))
    known = sample.in_codes_of(items)
    if not len(known.codes):
        got = f"{sample.n_rows:,} rows with {sample.n_items:,} items of type {sample.vocabulary.type}, and "
        got += f"{items.n_items:,} items of type {items.vocabulary.type}"
        hint = "pass other rows of the same kind, with the same items"
        raise ParameterError("the sample has no item of the original", where="sample", got=got, hint=hint)
    if rows_fingerprint([sample]) == rows_fingerprint([items]):
        hint = "hold rows back before you anonymize, and pass these; or pass sample='split'"
        warn(ReleaseWarning("the sample is the original: its attacker knows every row", hint=hint))
    return known, 1 - len(known.codes) / len(sample.codes)


def check_sample(frame: pd.DataFrame, column: Hashable | None, sample: Any) -> None:
    """Check the parameter ``sample`` of `attack` before any release is made."""
    lists = list_column(frame, column)
    _read_sample(Itemsets.from_series(lists), lists.name, sample)


def share_named(
    original: pd.DataFrame, result: Anonymized, column: Hashable | None, sample: pd.DataFrame | str
) -> float:
    """Return the share of persons at risk whom an attacker with a sample names, with a fixed seed."""
    record = ALGORITHMS.get(str(result.parameters.get("algorithm")))
    in_rows = record is None or not (record.repeats or record.recodes == "chunks")
    if getattr(result.guarantee, "k", None) is None or not in_rows:
        return math.nan
    m = getattr(result.guarantee, "m", DEFAULT_M)
    named = attack(original, result, column, sample=sample, m=m, random_state=0)
    return named.named if len(named.cases) else math.nan


def _read_release(result: Any, mapping: pd.DataFrame | None) -> tuple[pd.DataFrame, Numbers | None]:
    """Return the mapping of a release, and the group of each row in a local recoding."""
    if isinstance(result, Anonymized):
        refuse_units(result)
        if mapping is not None:
            hint = "leave mapping= out: a result has its own"
            raise ParameterError("the mapping is given twice", where="mapping", hint=hint)
        return result.mapping, None if result.groups is None else np.asarray(result.groups, np.int64)
    if mapping is None:
        hint = "pass the result itself, pdanon.attack(frame, result), or a frame with mapping=mapping"
        problem, got = "not a result, and a frame needs its mapping", type(result).__name__
        raise ParameterError(problem, where="result", got=got, hint=hint)
    check_mapping(mapping)
    if not (mapping["group"] == 0).fillna(False).all():
        hint = "pass the result itself, which has the group of each row"
        raise ParameterError("the mapping is that of a local recoding", where="mapping", hint=hint)
    return mapping, None


def _cases(rows: Numbers, offsets: Offsets, before: Numbers, after: Numbers) -> pd.DataFrame:
    return pd.DataFrame({"row": rows, "known": np.diff(offsets), "before": before, "after": after})


def check_attacked(mapping: Any) -> None:
    """Check that a mapping has one label for each item, as attacks on rows outside of one frame need."""
    check_mapping(mapping)
    if len(mapping) and (mapping["group"] == 0).all():
        return
    raise ParameterError(
        "the mapping has not one label for each item",
        where="mapping",
        got="the mapping of a local recoding" if len(mapping) else "an empty mapping",
        hint="with quasi-identifiers, audit counts all rows at risk; to simulate attacks, release a sample "
        "in memory: sample.txanon.attack(sample.txanon.rfirst(...))",
    )


def attack_itemsets(
    items: Itemsets,
    published: Itemsets,
    mapping: pd.DataFrame,
    *,
    m: ItemLimit,
    n: int,
    random_state: Seed,
) -> Attack:
    """Simulate attacks as `attack`, on columns of distinct rows with weights, and a global mapping."""
    most, n = check_m(m), check_count(n, "n", least=1, most=MOST_DRAWN)
    before, after = SupportIndex.of(items), SupportIndex.of(published)
    if before.n_rows != after.n_rows:
        got = f"{before.n_rows:,} rows, and {after.n_rows:,} in the release"
        raise ParameterError("the release has other rows", where="released", got=got)
    if not before.n_non_empty:
        raise ParameterError("no row has an item", where="source", got=f"{before.n_rows} rows")
    rng = random_generator(random_state)
    weights = np.where(items.lengths > 0, before.weights, 0)
    rows = rng.choice(len(weights), n, p=weights / weights.sum())
    return _attack_at_random(items, published, mapping, None, rows, most, rng)
