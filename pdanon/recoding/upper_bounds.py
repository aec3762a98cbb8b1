"""Upper bounds that the caller sets: on the loss of a release, and on the share of persons that it names."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import IdentifierWarning, InfeasibleError, ParameterError
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.parameters import DEFAULT_M, check_share
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import describe, find_name, is_number, random_generator
from pdanon.recoding.identification import SampleAttack
from pdanon.recoding.loss import LOSSES
from pdanon.recoding.result import Anonymized
from pdanon.recoding.risk import risk_of_lists
from pdanon.recoding.unmodified_columns import count_unmodified

_HINT = "pass a dict of measures and their largest values, such as max_loss={'pairs': 0.5}"


def check_max_loss(max_loss: Any) -> dict[str, float]:
    """Check upper bounds on losses, and return them by the names of the measures."""
    if max_loss is None:
        return {}
    if not isinstance(max_loss, Mapping) or not max_loss:
        problem = "max_loss must be a mapping with at least one measure"
        raise ParameterError(problem, where="max_loss", got=describe(max_loss), hint=_HINT)
    found = {}
    for name, value in max_loss.items():
        measure = find_name(name, LOSSES, "measure of loss", where="max_loss")
        if not is_number(value) or not isfinite(value):
            problem = f"the bound of {measure} must be a finite number"
            raise ParameterError(problem, where="max_loss", got=describe(value), hint=_HINT)
        found[measure] = float(value)
    return found


def excess(loss: Mapping[str, float] | pd.Series[float], most: Mapping[str, float]) -> list[str]:
    """Return the measures whose bound a release exceeds; it must have these measures."""
    for name in most:
        if name not in loss:
            hint = f"this release has {', '.join(map(str, loss.keys()))}"
            raise ParameterError("the release has no such measure", where="max_loss", got=name, hint=hint)
    return [name for name, bound in most.items() if not float(loss[name]) <= bound]


def refuse_loss(
    loss: Mapping[str, float] | pd.Series[float],
    useless: str,
    most: Mapping[str, float],
    least: Mapping[str, float] | None = None,
) -> None:
    """Refuse a release that exceeds a bound, or is almost empty, if there are bounds."""
    # ``useless`` describes what is almost empty. ``least`` has the least values that were reached, if several
    # releases were tried.
    exceeded = excess(loss, most)
    hint = "pass a smaller k or m"
    if least is None:
        hint = "call anonymize without an algorithm, which tries several"
    if exceeded:
        name = exceeded[0]
        got = f"{name}={float(loss[name]):.4g}"
        if least is not None:
            got += f"; the least that was reached is {least[name]:.4g}"
        problem = f"the release loses more than max_loss allows: {name} is above {most[name]:g}"
        raise InfeasibleError(problem, where="max_loss", got=got, hint=hint)
    if most and useless:
        problem = "the release keeps almost no information, which max_loss does not allow"
        raise InfeasibleError(problem, where="max_loss", got=useless, hint=hint)


# --- Persons that an attacker with a sample names

_PERSONS, _SPLITS = 2000, 4


@frozen
class NamedBound:
    """An upper bound on the persons that an attacker with a sample names."""

    most: float
    k: int  # as promised
    label: Hashable  # of the list column
    attacks: list[SampleAttack]  # one for each split of the rows

    @classmethod
    def of(cls, frame: pd.DataFrame, column: Hashable | None, guarantee: Guarantee, most: Any) -> NamedBound:
        """Check the bound, and draw the persons."""
        most = check_share(most, "max_named")
        if not isinstance(guarantee, KmAnonymity | PrivacyConstraints):
            hint = "leave it out, and measure the release: frame.txanon.attack(result, sample='split', k=5)"
            got = type(guarantee).__name__
            raise ParameterError(
                "max_named needs k and m, or constraints", where="max_named", got=got, hint=hint
            )
        position = find_column(frame, column)
        m = guarantee.m if isinstance(guarantee, KmAnonymity) else int(DEFAULT_M)
        items = Itemsets.from_series(frame.iloc[:, position])
        attacks = [
            SampleAttack(items, None, guarantee.k, m, _PERSONS // _SPLITS, random_generator(seed))
            for seed in range(_SPLITS)
        ]
        return cls(float(most), guarantee.k, frame.columns[position], attacks)

    def share(self, result: Anonymized) -> float:
        """Return the share of persons that are named in a release."""
        published = Itemsets.from_series(result.frame[self.label])
        groups = None if result.groups is None else np.asarray(result.groups, np.int64)
        guesses = [each.guess(published, result.mapping, groups).chances for each in self.attacks]
        chances = np.concatenate(guesses)
        return float(chances.mean()) if len(chances) else 0.0

    def promise(self, result: Anonymized) -> Anonymized:
        """Add the share, and audit a release with the promised k, if it was decided with a larger one."""
        decided, result = result.guarantee.k, replace(result, named=self.share(result))  # type: ignore[attr-defined]
        if decided == self.k:
            return result
        audit = replace(result.guarantee, k=self.k).audit(result.frame, self.label)  # type: ignore[type-var]
        assert audit.holds, "a support is in (0, k) only if it is in (0, larger k)"
        items, published = self.attacks[0].itemsets, Itemsets.from_series(result.frame[self.label])
        targets = np.zeros(items.n_items, np.int64)  # they matter only for items that attackers do not know
        risk = risk_of_lists(audit.guarantee, items, targets, SupportIndex.of(published))
        lists = [find_column(result.frame, self.label)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifierWarning)  # the release of the promised k had warned
            unmodified = count_unmodified(result.frame, lists, audit.guarantee, result.unmodified.judged)
        return replace(
            result,
            guarantee=audit.guarantee,
            parameters={**result.parameters, "k": self.k, "decided_k": decided},
            unmodified=unmodified,
            risk=risk,
            bound=None,  # one for the larger k is none for the promised one: more releases are possible
        )
