"""A naive attacker with a sample: exact fractions, one row and one item at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

Row = frozenset[Any]


def persons_at_risk(rows: Sequence[Row], k: int, m: int) -> dict[int, list[tuple[Row, int]]]:
    """Return the rare itemsets of m items of each row at risk, with supports; all items if it has fewer."""
    found: dict[int, list[tuple[Row, int]]] = {}
    for number, row in enumerate(rows):
        known = [frozenset(each) for each in combinations(sorted(row), min(m, len(row)))] if row else []
        rare = [(each, support) for each in known if (support := sum(each <= other for other in rows)) < k]
        if rare:
            found[number] = rare
    return found


class NaiveAttacker:
    """Estimates for each released row the probability that its labels stand for known items.

    Parameters
    ----------
    published : sequence of frozenset
        The labels of each released row.
    members : mapping
        The items of each label.
    samples : sequence of sequences of frozenset
        The rows of the attacker.
    learned_from : sequence of int
        The number of the sample by which each released row is weighed.
    """

    def __init__(
        self,
        published: Sequence[Row],
        members: Mapping[Any, Collection[Any]],
        samples: Sequence[Sequence[Row]],
        learned_from: Sequence[int],
    ) -> None:
        self.published, self.members, self.learned_from = published, members, learned_from
        self.known = frozenset(item for items in members.values() for item in items)
        self.samples = [[row & self.known for row in sample] for sample in samples]
        self.rows = samples

    def labels(self, row: Row) -> Row:
        """Return all labels that may stand for the items of a row."""
        return frozenset(label for label, items in self.members.items() if row & frozenset(items))

    def probability(self, item: Any, label: Any, number: int, person: int, row: Row) -> Fraction:
        """Return the probability that a label of a released row stands for a known item of a person's row."""
        weights = {each: self._weight(each, label, number) for each in self.members[label]}
        if len(self.samples) > 1 and self.learned_from[number] != self.learned_from[person]:
            weights[item] = self._weight(item, label, number, row)
        return weights[item] / sum(weights.values())

    def _weight(self, item: Any, label: Any, number: int, without: Row | None = None) -> Fraction:
        sample = self.samples[self.learned_from[number]]
        having = [row for row in sample if item in row]
        if without is not None:
            having.remove(without & self.known)
        weight = len(having) + Fraction(1, 2)
        for other in self.published[number] - {label}:
            in_all = sum(other in self.labels(row) for row in sample)
            share = max(Fraction(in_all), Fraction(1, 2)) / len(sample)
            weight *= (sum(other in self.labels(row) for row in having) + share) / (len(having) + 1)
        return weight

    def guess(self, became: Mapping[Any, Any], person: int, row: Row) -> dict[int, Fraction]:
        """Return the probability of each candidate row of a person, given the label of each known item."""
        wanted = {label for label in became.values() if label is not None}
        weights = {}
        for number, labels in enumerate(self.published):
            if wanted <= labels:
                weights[number] = Fraction(1)
                for item, label in became.items():
                    if label is not None:
                        weights[number] *= self.probability(item, label, number, person, row)
        total = sum(weights.values())
        return {number: weight / total for number, weight in weights.items()}

    def infer(
        self, label_of: Mapping[Any, Any], lost: Mapping[Any, int], person: int, row: Row
    ) -> dict[int, Fraction]:
        """Return the probability of each row that may have held all known items of a person.

        ``label_of`` has the label of each known item, ``lost`` the number of rows that lost it.
        """
        weights = dict.fromkeys(range(len(self.published)), Fraction(1))
        for item, label in label_of.items():
            without = [number for number, labels in enumerate(self.published) if label not in labels]
            ratios = {each: self._ratio(item, each, person, row, label_of.values()) for each in without}
            total = sum(ratios.values())
            for number in weights:
                if number in ratios:
                    weights[number] *= min(lost.get(item, 0) * ratios[number] / total, Fraction(1))
                else:
                    weights[number] *= self.probability(item, label, number, person, row)
        total = sum(weights.values())
        return {number: weight / total for number, weight in weights.items() if weight}

    def _ratio(self, item: Any, number: int, person: int, row: Row, labels: Collection[Any]) -> Fraction:
        """Return how many times as probable the other labels of a row are beside an item as in all rows."""
        sample = self.rows[self.learned_from[number]]
        having = [each for each in sample if item in each]
        if len(self.samples) > 1 and self.learned_from[number] != self.learned_from[person]:
            having.remove(row)
        ratio = Fraction(1)
        for other in self.published[number] - set(labels):
            in_all = sum(other in self.labels(each) for each in sample)
            share = max(Fraction(in_all), Fraction(1, 2)) / len(sample)
            ratio *= (sum(other in self.labels(each) for each in having) + share) / share / (len(having) + 1)
        return ratio
