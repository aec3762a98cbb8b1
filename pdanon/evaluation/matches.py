"""Risks of a release under the knowledge that its guarantee assumes, and thresholds for its matching rows."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees import Coherence, DisassociatedKm, KAnonymity, PublicK, TransactionalK
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.kkm import Crowds, list_labels
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.codes import Itemsets, Mask, Numbers, read_visible
from pdanon.itemsets.columns import find_column, find_quasi, label_positions
from pdanon.itemsets.equality import pair_numbers, row_numbers
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import find_name
from pdanon.recoding.result import Anonymized, recoded_lists
from pdanon.recoding.risk import hidden_items, is_hidden_item, known_items
from pdanon.recoding.views import ThresholdCheck

Facts: TypeAlias = dict[str, Any]  # as plain data for JSON

_IN_CHUNKS = "Rows of this release are parts of records, so no row is a person."
_NO_ROWS = "The table has no rows."


def count_risks(
    release: pd.DataFrame,
    guarantee: Guarantee,
    column: Hashable | None,
    original: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
) -> Facts:
    """Count the rows at risk, before and after, as ``risk`` in the schema of the evidence."""
    # Numbers are exact, except that ``marketer`` is an upper bound if items are known.
    if reason := _why_not_counted(release, guarantee):
        return {"not_counted": reason}
    knowledge, k = Knowledge.of(guarantee, column), getattr(guarantee, "k", None)
    more = knowledge.one_more()
    found: Facts = {
        "not_counted": "",
        "k": k,
        "quasi": [str(label) for label in knowledge.quasi],
        "columns": [str(label) for label in knowledge.columns],
        "items": knowledge.m,
        "kind": knowledge.kind,
        "beyond": None if more is None or k is None else {"items": more.m},
        "journalist": None,
    }
    for name, frame in {"after": release, "before": original}.items():
        found[name] = None
        if frame is not None:
            matches = Matches.of(frame, knowledge)
            found[name] = _risks_of(matches, k)
            if found["beyond"] is not None:
                found["beyond"][name] = matches.count_below(k, more.m)  # type: ignore[union-attr, arg-type]
    if population is not None:
        fewest = Matches.in_population(release, population, knowledge).fewest()
        found["journalist"] = {"rows": len(population), "fewest": fewest, "risk": 1 / fewest}
    return found


def _why_not_counted(release: pd.DataFrame, guarantee: Guarantee) -> str:
    return _IN_CHUNKS if isinstance(guarantee, DisassociatedKm) else "" if len(release) else _NO_ROWS


def _risks_of(matches: Matches, k: int | None) -> Facts:
    below = None if k is None else matches.count_below(k)
    fewest = matches.fewest_from(k)
    return {
        "rows": matches.n_rows,
        "fewest": fewest,
        "prosecutor": 1 / fewest,
        "marketer": matches.average_risk(fewest),
        "singled_out": matches.count_below(2) if fewest < 2 else 0,
        "below_k": below,
    }


def describe_attacker(risk: Facts) -> str:
    """Describe what the attacker of `count_risks` knows."""
    number = {None: "all", 1: "1"}.get(risk["items"], f"up to {risk['items']}")
    item = "item" if risk["items"] == 1 else "items"
    kind = {"any": item, "public": f"public {item}", "not sensitive": f"not sensitive {item}"}[risk["kind"]]
    columns = [f"{number} {kind} in {', '.join(risk['columns'])}"] if risk["columns"] else []
    text = f"The attacker knows of a person: {'; '.join([*risk['quasi'], *columns])}. "
    return f"{text}Of all such knowledge, the one with the fewest matching rows counts."


# --- Matches: the rows that match what an attacker knows


_DEFAULT_M = 2  # known items, where a guarantee lists what is known, or limits no number
_DOUBLINGS = 3  # the average risk is bounded by the rows below 2, 4 and 8 times the fewest matches


@frozen
class Knowledge:
    """The knowledge of an attacker about a person, by the model of a guarantee."""

    quasi: tuple[Hashable, ...]
    columns: tuple[Hashable, ...]  # list columns with known items
    m: int | None  # most known items, in all list columns together; None: all of a row
    hidden: NamedItems | None = None  # never known
    public: NamedItems | None = None  # if given, only these may be known
    is_public: bool = False  # the guarantee calls the items that may be known public

    @classmethod
    def of(cls, guarantee: Guarantee, column: Hashable | None) -> Knowledge:
        """Return the knowledge that a guarantee of rows assumes."""
        quasi = tuple(getattr(guarantee, "quasi", ()))
        if isinstance(guarantee, KAnonymity):
            return cls(quasi, (), 0)
        columns = tuple(list_labels(guarantee, column))
        if isinstance(guarantee, TransactionalK):
            return cls(quasi, columns, None)
        if isinstance(guarantee, PublicK):
            return cls(quasi, columns, None, public=guarantee.public, is_public=True)
        hidden = hidden_items(guarantee)
        if isinstance(guarantee, Coherence):
            return cls(quasi, columns, max(guarantee.covered, 1), hidden, is_public=True)
        promises_k = getattr(guarantee, "k", None) is not None and hasattr(guarantee, "m")
        m = guarantee.m if promises_k else int(known_items(guarantee) or _DEFAULT_M)  # type: ignore[attr-defined]
        return cls(quasi, columns, m, hidden)

    @property
    def kind(self) -> str:
        """The items that may be known: ``any``, ``not sensitive`` or ``public``."""
        return "public" if self.is_public else "any" if self.hidden is None else "not sensitive"

    def one_more(self) -> Knowledge | None:
        """Return the knowledge of one item more, or None if all or none are known."""
        return replace(self, m=self.m + 1) if self.m and self.columns else None

    def read(self, frame: pd.DataFrame) -> tuple[Numbers | None, list[Itemsets]]:
        """Return the class of each row by its quasi-identifiers, and the items that may be known."""
        classes = equal_rows(frame, find_quasi(frame, self.quasi)) if self.quasi else None
        return classes, [self._items(frame, label) for label in self.columns]

    def _items(self, frame: pd.DataFrame, label: Hashable) -> Itemsets:
        itemsets = read_visible(frame.iloc[:, find_column(frame, label)])
        known = ~is_hidden_item(itemsets, self.hidden)
        if self.public is not None:
            known &= is_hidden_item(itemsets, self.public)
        return itemsets if known.all() else itemsets.keep_items(known)


@frozen
class Matches:
    """The rows that match an attacker's knowledge of each row, at worst."""

    n_rows: int
    is_below: Callable[[int, int | None], Mask]  # by k and m: fewer than k match
    m: int | None  # most known items
    sought: Mask  # the rows whose matches count
    counts: dict[tuple[int, int | None], int] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pd.DataFrame, knowledge: Knowledge) -> Matches:
        """Index the rows of a table, original or released."""
        return cls(len(frame), _index(*knowledge.read(frame)), knowledge.m, np.ones(len(frame), np.bool_))

    @classmethod
    def in_population(cls, frame: pd.DataFrame, population: pd.DataFrame, knowledge: Knowledge) -> Matches:
        """Index a population in the form of the release, and seek the matches of the rows of the table."""
        n, hint = len(population), "pass all people, also those of the table, with the released values"
        if n < len(frame):
            got = f"{n} rows, the table has {len(frame)}"
            problem = "the population is smaller than the table"
            raise ParameterError(problem, where="population", got=got, hint=hint)
        labels = [*knowledge.quasi, *knowledge.columns]
        tables = [each.iloc[:, label_positions(each, labels)] for each in (population, frame)]
        classes, columns = knowledge.read(pd.concat(tables, ignore_index=True))
        rows = np.zeros(n + len(frame), np.int64) if classes is None else classes
        for column in columns:
            rows = pair_numbers(rows, row_numbers(column) + 1)
        drawn, there = (np.bincount(each, minlength=rows.max() + 1) for each in (rows[n:], rows[:n]))
        lacking = int(np.maximum(drawn - there, 0).sum())
        if lacking:
            got = f"{lacking} of {len(frame)} rows of the release are not in it"
            problem = "this is not the population of the table"
            raise ParameterError(problem, where="population", got=got, hint=hint)
        people = np.arange(n)
        index = _index(None if classes is None else classes[:n], [each.take(people) for each in columns])
        return cls(n, index, knowledge.m, drawn[rows[:n]] > 0)

    def count_below(self, k: int, m: int | None = None) -> int:
        """Count the rows with fewer than k matches, with m known items or those of the knowledge."""
        if (k, m) not in self.counts:
            self.counts[k, m] = int(self.is_below(k, self.m if m is None else m)[self.sought].sum())
        return self.counts[k, m]

    def fewest(self, least: int = 1) -> int:
        """Return the lowest number of matches of a row, given a number that no row is below."""
        low, high = least, 2 * least
        while high <= self.n_rows and not self.count_below(high):
            low, high = high, 2 * high
        tried = range(low + 1, min(high, self.n_rows + 1))
        return low + bisect(tried, False, key=lambda number: self.count_below(number) > 0)

    def fewest_from(self, k: int | None) -> int:
        """Return the `fewest`, beginning at k if no row has fewer matches."""
        return self.fewest(1 if k is None or self.count_below(k) else k)

    def average_risk(self, fewest: int) -> float:
        """Return an upper bound on the average of 1 / matches, given the fewest matches of a row."""
        steps = [fewest * 2**power for power in range(_DOUBLINGS + 1)]
        counts = [self.count_below(step) for step in steps[1:]]
        total = int(self.sought.sum())
        in_band = np.diff([0, *counts, total])
        return float(sum(rows / step for rows, step in zip(in_band, steps, strict=True)) / max(total, 1))


def _index(classes: Numbers | None, columns: Sequence[Itemsets]) -> Callable[[int, int | None], Mask]:
    """Return a function that marks the rows with fewer than k matches when m items are known."""
    if not columns:
        assert classes is not None
        sizes = np.bincount(classes)[classes]
        return lambda k, m: sizes < k
    if classes is None and len(columns) == 1:
        return SupportIndex.of(columns[0]).at_risk
    of_row = np.zeros(columns[0].n_rows, np.int64) if classes is None else classes
    crowds = Crowds.of(columns, of_row)
    return lambda k, m: crowds.at_risk(crowds.small(k), crowds.index.at_risk(k, m))


# --- Thresholds of authorities: the least number of people that may share what is published about them


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold that an authority has published.

    Parameters
    ----------
    name, least, authority, rule : str, int, str, str
        Short name; least number of people; the authority, and to what it applies; what the source demands.
    source, year, url : str, int, str
        The document, the year of this version of it, and its address.
    """

    name: str
    least: int
    authority: str
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


class Thresholds(dict[str, Threshold]):
    """Thresholds by name, displayed as a table.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.thresholds
           name  least  year
            CMS     11  2024
        PCORnet     11  2017
    NHS Digital      8  2018
     OpenSAFELY      8  2025
    >>> pdanon.thresholds["NHS Digital"].rule
    'Counts of 1 to 7 are not shown. Other counts are rounded to the nearest 5.'
    """

    def __getitem__(self, name: str) -> Threshold:
        return super().__getitem__(find_name(name, self, "threshold", where="thresholds[...]"))

    def to_frame(self) -> pd.DataFrame:
        """Return a table: ``name, least, authority, rule, source, year, url``."""
        return pd.DataFrame([*self.values()])

    def __repr__(self) -> str:
        return str(self.to_frame()[["name", "least", "year"]].to_string(index=False))


thresholds = Thresholds(
    (each.name, each)
    for each in (
        Threshold(
            "CMS",
            11,
            "Centers for Medicare & Medicaid Services (USA), cells of tables from its data",
            "No cell with a value of 1 to 10 may be reported, or be derived from other cells.",
            "CMS Cell Size Suppression Policy, ResDAC",
            2024,
            "https://resdac.org/articles/cms-cell-size-suppression-policy",
        ),
        Threshold(
            "PCORnet",
            11,
            "National Patient-Centered Clinical Research Network (USA), results of queries",
            "The cells of aggregate results count 11 or more patients, as at CMS.",
            "PCORnet Data Committee, policy for the minimum cell size of aggregate results",
            2017,
            "https://github.com/PCORnet/DataCommittee/issues/8",
        ),
        Threshold(
            "NHS Digital",
            8,
            "NHS Digital (England), tables below national level from hospital data",
            "Counts of 1 to 7 are not shown. Other counts are rounded to the nearest 5.",
            "Disclosure control methodology for Hospital Episode Statistics and Emergency Care Data Set",
            2018,
            "https://digital.nhs.uk/data-and-information/data-tools-and-services/data-services/"
            "hospital-episode-statistics/"
            "change-to-disclosure-control-methodology-for-hes-and-ecds-from-september-2018",
        ),
        Threshold(
            "OpenSAFELY",
            8,
            "OpenSAFELY, outputs from its secure server",
            "Outputs based on counts of 7 or fewer are redacted before they are released.",
            "OpenSAFELY documentation, Applying statistical disclosure control",
            2025,
            "https://docs.opensafely.org/sdc/",
        ),
    )
)


def compare_thresholds(risk: Facts) -> list[Facts]:
    """Return all thresholds, and whether the released rows meet them, given the result of `count_risks`."""
    fewest = None if risk["not_counted"] else risk["after"]["fewest"]
    return [
        asdict(each) | {"met": None if fewest is None else each.is_met(fewest)}
        for each in thresholds.values()
    ]


def meets(result: Anonymized, name: str) -> ThresholdCheck:
    """Compare a result with a threshold: see `Anonymized.meets`."""
    threshold, frame, guarantee = thresholds[name], result.frame, result.guarantee
    if reason := _why_not_counted(frame, guarantee):
        hint = "audit the release: pdanon.audit(result.frame, result.guarantee)"
        raise ParameterError("the matching rows cannot be counted", where="result", got=reason, hint=hint)
    matches = Matches.of(frame, Knowledge.of(guarantee, next(iter(recoded_lists(result)), None)))
    return ThresholdCheck(threshold.name, threshold.least, matches.fewest_from(getattr(guarantee, "k", None)))
