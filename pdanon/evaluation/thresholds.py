"""Thresholds of authorities: the least number of people that may share what is published about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import pandas as pd

from pdanon.itemsets.validation import find_name


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold that an authority has published.

    Parameters
    ----------
    name : str
        Short name.
    authority : str
        The authority, and what the threshold applies to.
    number : int or fractions.Fraction
        As published: the least number of people, at least 1; or the largest risk of identification, below 1.
    rule : str
        What the source demands.
    source : str
        The document.
    year : int
        Year of this version of the document.
    url : str
        Address of the document.
    """

    name: str
    authority: str
    number: int | Fraction
    rule: str
    source: str
    year: int
    url: str

    @property
    def least(self) -> int:
        """The least number of matching rows that meets the threshold."""
        return ceil(1 / self.number) if self.number < 1 else int(self.number)

    def is_met(self, matching: int) -> bool:
        """Return whether a number of matching rows meets the threshold.

        Parameters
        ----------
        matching : int
            The least number of rows that match what an attacker knows.

        Notes
        -----
        A risk is compared exactly. For 0.09, 12 rows are needed: 1/11 is 0.0909.

        Examples
        --------
        >>> import pdanon
        >>> [pdanon.thresholds[name].is_met(11) for name in ("CMS", "EMA")]
        [True, False]
        """
        return matching >= self.least


class Thresholds:
    """Thresholds by name, displayed as a table.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.thresholds
             name  number  least  year
              CMS   11.00     11  2024
          PCORnet   11.00     11  2017
      NHS Digital    8.00      8  2018
              EMA    0.09     12  2017
    Health Canada    0.09     12  2019
    >>> pdanon.thresholds["NHS Digital"].rule
    'Counts of 1 to 7 are not shown. Other counts are rounded to the nearest 5.'
    """

    def __init__(self, known: tuple[Threshold, ...]) -> None:
        self._known = {each.name: each for each in known}

    def __getitem__(self, name: str) -> Threshold:
        return self._known[find_name(name, self._known, "threshold", where="thresholds[...]")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def values(self) -> tuple[Threshold, ...]:
        """Return all thresholds."""
        return tuple(self._known.values())

    def to_frame(self) -> pd.DataFrame:
        """Return a table: ``name, number, least, authority, rule, source, year, url``."""
        names = ["name", "number", "least", "authority", "rule", "source", "year", "url"]
        table = pd.DataFrame([{name: getattr(each, name) for name in names} for each in self.values()])
        return table.astype({"number": float})

    def __repr__(self) -> str:
        return str(self.to_frame()[["name", "number", "least", "year"]].to_string(index=False))


thresholds = Thresholds(
    (
        Threshold(
            "CMS",
            "Centers for Medicare & Medicaid Services (USA), cells of tables from its data",
            11,
            "No cell with a value of 1 to 10 may be reported, or be derived from other cells.",
            "CMS Cell Size Suppression Policy, ResDAC",
            2024,
            "https://resdac.org/articles/cms-cell-size-suppression-policy",
        ),
        Threshold(
            "PCORnet",
            "National Patient-Centered Clinical Research Network (USA), results of queries",
            11,
            "The cells of aggregate results count 11 or more patients, as at CMS.",
            "PCORnet Data Committee, policy for the minimum cell size of aggregate results",
            2017,
            "https://github.com/PCORnet/DataCommittee/issues/8",
        ),
        Threshold(
            "NHS Digital",
            "NHS Digital (England), tables below national level from hospital data",
            8,
            "Counts of 1 to 7 are not shown. Other counts are rounded to the nearest 5.",
            "Disclosure control methodology for Hospital Episode Statistics and Emergency Care Data Set",
            2018,
            "https://digital.nhs.uk/data-and-information/data-tools-and-services/data-services/"
            "hospital-episode-statistics/"
            "change-to-disclosure-control-methodology-for-hes-and-ecds-from-september-2018",
        ),
        Threshold(
            "EMA",
            "European Medicines Agency, clinical reports published under policy 0070",
            Fraction(9, 100),
            "The risk of identification is at most 0.09.",
            "External guidance on the implementation of policy 0070, EMA/90915/2016, version 1.3",
            2017,
            "https://www.ema.europa.eu/en/human-regulatory-overview/marketing-authorisation/"
            "clinical-data-publication",
        ),
        Threshold(
            "Health Canada",
            "Health Canada, public release of clinical information",
            Fraction(9, 100),
            "The risk of identification is at most 0.09.",
            "Public Release of Clinical Information: guidance document, version 1.0",
            2019,
            "https://www.canada.ca/en/health-canada/services/drug-health-product-review-approval/"
            "profile-public-release-clinical-information-guidance/document.html",
        ),
    )
)
