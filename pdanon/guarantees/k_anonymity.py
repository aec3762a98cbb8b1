"""k-anonymity of whole rows, of public items, and of quasi-identifiers, and k-map for samples."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pdanon.errors import ColumnError, ParameterError
from pdanon.guarantees.models import Checks, ListModel, Model
from pdanon.guarantees.named import refuse_members
from pdanon.guarantees.parameters import check_finite_m
from pdanon.guarantees.verdict import Audit, Exposure, Threats, add_emptied, threat_table
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets, canonical_rows, item_texts, read_in_order, read_visible
from pdanon.itemsets.columns import find_column, find_quasi, list_column
from pdanon.itemsets.encoded_columns import ListColumns, number_items
from pdanon.itemsets.equality import DistinctRows, pair_numbers, row_numbers, value_numbers
from pdanon.itemsets.lists import Numbers, sums
from pdanon.itemsets.mapping import check_mapping, global_mapping, relabel
from pdanon.itemsets.support import SupportIndex, concatenate, empty_itemset
from pdanon.itemsets.validation import check_frame


@constructed_by_name
@dataclass(frozen=True, repr=False, kw_only=True)
class TransactionalK(Model):
    """Every row occurs, as a list of labels, at least k times.

    Parameters
    ----------
    k : int
        Minimum number of identical rows; at least 2.

    Raises
    ------
    ParameterError
        If k is out of range.

    Notes
    -----
    Rows are identical if they have the same labels, equally often and in the same order; Python's sets have
    no order. Releases list labels in ascending order. If there are empty rows, at least k are empty; if there
    are missing rows, at least k are missing. The guarantee implies ``KmAnonymity(k, None)``.

    References
    ----------
    .. [1] Y. He, J. F. Naughton, "Anonymization of Set-Valued Data via Top-Down, Local Generalization",
       PVLDB 2(1), 2009.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice"]]})
    >>> df.txanon.audit(pdanon.TransactionalK(k=2)).threats
        itemset  support   why
    0  ['rice']        1  rare
    """

    k: int

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame, column : pandas.DataFrame, hashable
            Any frame, released or not, and its list column, by default the only one.

        Returns
        -------
        Audit
            ``threats`` are the distinct rows that occur fewer than k times, with their repeated labels;
            ``support`` is their number. Missing rows come last, as one missing row.
        """
        bags = read_in_order(frame.iloc[:, find_column(frame, column)])
        numbers = row_numbers(bags)
        numbers[bags.nulls] = len(numbers)  # all missing rows are one class, the last
        _, first, sizes = np.unique(numbers, return_index=True, return_counts=True)
        rare = np.flatnonzero(sizes < self.k)

        def list_threats() -> pd.DataFrame:
            column = bags.take(first[rare]).to_pandas()
            return pd.DataFrame({"itemset": column, "support": sizes[rare], "why": "rare"})

        return Audit(self, int(sizes[rare].sum()), list_threats)


# --- k-anonymity of the public items


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PublicK(ListModel):
    """Every row has the same public items as at least k - 1 other rows.

    Parameters
    ----------
    k : int
        Minimum number of rows; at least 2.
    public : list of items, or Series of bool
        The public items, or whether an item is public, by item. They need not occur.
    mapping : DataFrame, optional
        The mapping of the release. Without it, the members of a set are read from its label.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If k is out of range, a Series of booleans has an item twice with different values, the mapping
        generalizes a public item, or the public items are of several types.

    Notes
    -----
    The attacker knows for each public item whether a person has it. The guarantee does not cover the other
    items of the matching rows. Missing rows are a class of their own, of no row or of at least k rows.

    References
    ----------
    .. [1] Y. Xu, K. Wang, A. W.-C. Fu, P. S. Yu, "Anonymizing Transaction Databases for Publication",
       KDD 2008.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "tea"], ["rice"]]})
    >>> df.txanon.audit(pdanon.PublicK(k=2, public=["rice", "tea"])).threats
        itemset  support    why
    0  ['rice']        1  class
    """

    k: int
    public: Any
    mapping: Any = None

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` are the sets of public items that fewer than k rows have; ``support`` is the number of
        # rows with exactly these public items. Missing rows come last, as one missing row. `ParameterError`:
        # if a public item is a member of a published set.
        itemsets = columns.itemsets
        refuse_members(itemsets, self.public, self.mapping)
        public = self.public.find(itemsets.vocabulary) >= 0
        rows = SupportIndex.of(itemsets)
        classes = rows.within(~itemsets.nulls).keep_items(public).distinct()
        small = classes.table(classes.weights).take(classes.weights < self.k)
        missing = rows.n_rows - itemsets.n_present
        few = missing if missing < self.k else 0

        def list_threats() -> pd.DataFrame:
            listed = [small.ordered(), *[empty_itemset(few)] * bool(few)]
            return threat_table(itemsets, concatenate(listed), "class", missing=bool(few))

        return Audit(self, int(small.supports.sum()) + few, list_threats)


# --- k-anonymity of the quasi-identifiers


@constructed_by_name
@dataclass(frozen=True, repr=False)
class KAnonymity(Model):
    """Every combination of values of the quasi-identifiers that occurs is in at least k rows.

    Parameters
    ----------
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    quasi : sequence of hashable
        Labels of the quasi-identifiers.

    Raises
    ------
    ParameterError
        If k is out of range, or ``quasi`` is empty or has a label twice.

    Notes
    -----
    Missing values are equal to each other. Other values are equal if they are displayed equally: 1, True and
    1.0 are three values, as are 0.0 and -0.0 two, and None and NaN two among Python's objects.

    References
    ----------
    .. [1] P. Samarati, "Protecting Respondents' Identities in Microdata Release", IEEE Transactions on
       Knowledge and Data Engineering 13(6), 2001.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [30, 30, 41], "sex": ["f", "f", "f"]})
    >>> pdanon.audit(df, pdanon.KAnonymity(k=2, quasi=["age", "sex"])).threats
       age sex  size
    0   41   f     1
    """

    k: int
    _: KW_ONLY
    quasi: Sequence[Hashable]

    def audit(self, frame: pd.DataFrame, column: Hashable | None = None) -> Audit:
        """Recount a frame from scratch.

        Parameters
        ----------
        frame : pandas.DataFrame
            Any frame with these columns, released or not.
        column : hashable, optional
            Not used: the guarantee is not about lists of items.

        Returns
        -------
        Audit
            ``threats`` has one row for each combination that is in fewer than k rows: the
            quasi-identifiers, and the number of rows as ``size``.

        Raises
        ------
        ColumnError
            If a quasi-identifier does not exist, exists twice, or holds lists.
        """
        positions = find_quasi(frame, self.quasi)
        classes = equal_rows(frame, positions)
        sizes = np.bincount(classes)

        def list_threats() -> pd.DataFrame:
            _, first = np.unique(classes, return_index=True)
            rows = np.sort(first[sizes < self.k])
            threats = frame.iloc[rows, positions].reset_index(drop=True)
            threats.insert(len(positions), "size", sizes[classes[rows]], allow_duplicates=True)
            return threats

        return Audit(self, int(sizes[sizes < self.k].sum()), list_threats)


def equal_rows(frame: pd.DataFrame, positions: Sequence[int]) -> Numbers:
    """Number the combinations of values in some columns, and return the number of each row."""
    classes = np.zeros(len(frame), np.int64)
    for position in positions:
        numbers = value_numbers(frame.iloc[:, position])
        if numbers is None:
            problem = "the values of a quasi-identifier cannot be compared"
            hint = "convert them to text with .astype(str)"
            raise ColumnError(problem, where="quasi", got=frame.columns[position], hint=hint)
        classes = pair_numbers(classes, numbers)  # one column after the other, without concatenated keys
    return classes


# --- k-map


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

    _checks: ClassVar[Checks] = {
        "m": check_finite_m,
        "population": partial(check_frame, name="population"),
        "mapping": check_mapping,
    }

    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # ``threats`` are the minimal itemsets of at most m labels that occur in a row, and in fewer than k
        # rows of the population, which is their ``support``. ParameterError, ColumnError If the population
        # lacks a row, or the list column. Exact. The cost is that of auditing the population by
        # `KmAnonymity`.
        itemsets = columns.itemsets
        lists, emptied = list_column(self.population, columns.label), 0
        if self.mapping is None:
            people = read_visible(lists)
        else:
            items, labels = global_mapping(self.mapping)
            original = Itemsets.from_series(lists)
            people = relabel(original, items, labels, missing_as_empty=labels.null_count > 0)
            emptied = int(np.count_nonzero((people.lengths == 0) & (original.lengths > 0)))
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
