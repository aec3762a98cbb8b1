"""k-map: at least k persons of a population match what an attacker knows of a person of a sample."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.emptied import add_emptied
from pdanon.guarantees.parameters import check_finite_m, check_k
from pdanon.guarantees.verdict import Audit, Exposure, ListModel, Threats
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets, canonical_rows, item_texts
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.encoded_columns import ListColumns, number_items
from pdanon.itemsets.equality import DistinctRows
from pdanon.itemsets.lists import sums
from pdanon.itemsets.mapping import check_mapping, global_mapping, relabel
from pdanon.itemsets.multisets import read_visible
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import check_frame


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False)
class KMap(ListModel):
    """Every itemset of at most m items that occurs in a row occurs in at least k rows of the population.

    This includes the empty itemset: at least k rows of the population are not missing.

    Parameters
    ----------
    k : int
        Minimum number of persons of the population that match what an attacker knows; at least 2.
    m : int
        Maximum number of items that the attacker knows; at least 1.
    population : pandas.DataFrame
        One row for each person of the population from which the released rows are a sample, these included:
        in the form of the release or, with ``mapping``, with original items.
    mapping : pandas.DataFrame, optional
        The mapping of the release. The population is recoded by it, without the items that it lacks. Then
        suppression must also empty no row or at least k rows of the population, if a released row is empty.

    Raises
    ------
    ParameterError
        If k or m is out of range, or the population is no frame.

    Notes
    -----
    The attacker does not know who is in the sample. Against one who does, use `KmAnonymity`, which implies
    this guarantee. The population itself must be right: an audit only counts it.

    References
    ----------
    .. [1] L. Sweeney, "k-Anonymity: A Model for Protecting Privacy", Int. J. Uncertainty, Fuzziness and
       Knowledge-Based Systems 10(5), 2002.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> people = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice"], ["salt"]]})
    >>> sample = people.iloc[[0, 2]]
    >>> sample.txanon.audit(pdanon.KmAnonymity(k=2, m=2)).holds
    False
    >>> sample.txanon.audit(pdanon.KMap(k=2, m=2, population=people)).holds
    True
    """

    k: int
    m: int = 2
    _: KW_ONLY
    population: pd.DataFrame
    mapping: Any = None

    def __post_init__(self) -> None:
        self._store(k=check_k(self.k), m=check_finite_m(self.m))
        check_frame(self.population, "population")
        if self.mapping is not None:
            check_mapping(self.mapping)

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` are the minimal itemsets of at most m labels that occur in a row, and in fewer than k
        # rows of the population, which is their ``support``. ParameterError, ColumnError If the population
        # lacks a row, or the list column. Exact. The cost is that of auditing the population by
        # `KmAnonymity`.
        itemsets = columns.itemsets
        people, emptied = self._read_population(columns.label)
        population, drawn = _draw(itemsets, people)

        def list_threats() -> Threats:
            rare = population.rare(self.k, self.m)
            return rare.take(drawn.supports(rare.codes, rare.offsets) > 0), "rare"

        found = Exposure(partial(population.at_risk, self.k, self.m), list_threats)
        if itemsets.n_present and people.n_present < self.k:
            found = Exposure.of_all(drawn, people.n_present, "rare")
        emptied = emptied if emptied < self.k and population.longest else 0
        emptied = min(emptied, drawn.n_rows - drawn.n_non_empty)
        return add_emptied(found.audit(self, itemsets, drawn), emptied, itemsets.n_present, itemsets)

    def _read_population(self, label: Hashable) -> tuple[Itemsets, int]:
        """Return the population in the form of the release, and the number of its rows that were emptied."""
        lists = list_column(self.population, label)
        if self.mapping is None:
            return read_visible(lists), 0
        items, labels = global_mapping(self.mapping)
        original = Itemsets.from_series(lists)
        recoded = relabel(original, items, labels, missing_as_empty=labels.null_count > 0)
        return recoded, int(np.count_nonzero((recoded.lengths == 0) & (original.lengths > 0)))

    def __repr__(self) -> str:
        return f"KMap(k={self.k}, m={self.m}, population={len(self.population)} rows)"


def _draw(sample: Itemsets, people: Itemsets) -> tuple[SupportIndex, SupportIndex]:
    """Return the distinct rows of a population by the codes of a sample: those of all, and of the sample."""
    vocabulary, numbers = number_items(item_texts(people.vocabulary), item_texts(sample.vocabulary))
    present, own = (SupportIndex.of(each).within(~each.nulls) for each in (people, sample))
    rows, n_items = DistinctRows(), len(vocabulary)
    rows.add(*canonical_rows(numbers[present.codes], present.offsets, n_items), present.weights)
    found = rows.add(own.codes, own.offsets, np.zeros_like(own.weights))
    drawn = sums(found, own.weights, len(rows.weights))
    lacking = int(np.maximum(drawn - rows.weights, 0).sum())
    if lacking:
        problem = "this is not the population of the table"
        got = f"{lacking} of {own.n_rows} rows of the table are not in it"
        hint = "pass all people, also those of the table: with released values, or original items "
        hint += "and a mapping"
        raise ParameterError(problem, where="population", got=got, hint=hint)
    everyone = SupportIndex(rows.codes, rows.offsets, n_items, rows.weights)
    return everyone, SupportIndex(rows.codes, rows.offsets, n_items, drawn)
