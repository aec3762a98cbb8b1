"""An upper bound on the share of persons that an attacker with a sample names."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import IdentifierWarning, ParameterError
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.parameters import DEFAULT_M, check_share
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.identification import SampleAttack
from pdanon.recoding.result import Anonymized
from pdanon.recoding.risk import risk_of_lists
from pdanon.recoding.unmodified_columns import count_unmodified

_PERSONS, _SPLITS = 2000, 4


@dataclass(frozen=True, eq=False, slots=True)
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
