"""Thresholds of authorities: the least number of people that may share what is published about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    least : int
        The least number of people.
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
    least: int
    rule: str
    source: str
    year: int
    url: str

    def is_met(self, matching: int) -> bool:
        """Return whether a number of matching rows meets the threshold.

        Parameters
        ----------
        matching : int
            The least number of rows that match what an attacker knows.

        Examples
        --------
        >>> import pdanon
        >>> [pdanon.thresholds[name].is_met(10) for name in ("CMS", "NHS Digital")]
        [False, True]
        """
        return matching >= self.least


class Thresholds:
    """Thresholds by name, displayed as a table.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.thresholds
           name  least  year
            CMS     11  2024
        PCORnet     11  2017
    NHS Digital      8  2018
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
        """Return a table: ``name, least, authority, rule, source, year, url``."""
        names = ["name", "least", "authority", "rule", "source", "year", "url"]
        return pd.DataFrame([*self.values()])[names]

    def __repr__(self) -> str:
        return str(self.to_frame()[["name", "least", "year"]].to_string(index=False))


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
    )
)
