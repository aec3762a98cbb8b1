"""Replay of evidence: each fact is counted again from the tables of a release, and compared."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from pdanon.errors import PdanonError
from pdanon.evaluation.evidence import (
    Evidence,
    count_facts,
    named_items,
    read_guarantee,
    read_json,
)
from pdanon.evaluation.fingerprint import describe_table, index_levels
from pdanon.evaluation.html import library_versions
from pdanon.evaluation.matches import Facts, compare_thresholds, count_risks
from pdanon.evaluation.report import ALL_ITEMS
from pdanon.guarantees import audit as count_independently
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Lines, card, listing
from pdanon.itemsets.validation import FilePath, check_frame, check_path
from pdanon.recoding.warnings import shortfall


class Check(NamedTuple):
    """One part of evidence: whether it matches (None: not checked), and what was found, in words."""

    part: str
    matches: bool | None
    found: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Verification:
    """The outcome of `verify`, displayed as a table.

    Parameters
    ----------
    checks : tuple of Check
        Each part of the evidence: ``part, matches, found``. ``matches`` is None for what was not checked,
        because its table was not passed, or the versions of the libraries differ. The last part, ``stated``,
        lists the entries that no table can confirm, such as ``head`` and ``loss``.
    """

    checks: tuple[Check, ...]

    @property
    def matches(self) -> bool:
        """Whether what was checked matches."""
        return all(each.matches is not False for each in self.checks)

    def lines(self) -> Lines:
        """Yield the parts, and what was found."""
        words = {True: "matches", False: "DOES NOT MATCH", None: "not checked"}
        for part, matches, found in self.checks:
            yield part, f"{words[matches]}: {found}"
        wrong, others = ([part for part, each, _ in self.checks if each is kind] for kind in (False, None))
        found = f"{len(wrong)} of {len(self.checks)} do not match: {', '.join(wrong)}"
        yield "verdict", found if wrong else f"what was checked matches; not checked: {', '.join(others)}"

    def __repr__(self) -> str:
        return listing("Verification of the evidence", self.lines())

    def _repr_html_(self) -> str:
        *lines, (_, text, *_) = self.lines()
        return card("Verification", lines, verdict=("holds" if self.matches else "broken", f"{text}."))


@called_by_name
def verify(
    evidence: FilePath,
    release: pd.DataFrame,
    *,
    original: pd.DataFrame | None = None,
    mapping: pd.DataFrame | None = None,
    classes: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
    independent: bool = False,
) -> Verification:
    """Count the facts of evidence again from the tables of a release, and compare them.

    Parameters
    ----------
    evidence : path
        The JSON file of `Anonymized.evidence`.
    release : pandas.DataFrame
        The released rows.
    original : pandas.DataFrame, optional
        The rows before, to compare their fingerprint and the risk before.
    mapping : pandas.DataFrame, optional
        The mapping of the release, to compare its fingerprint, and to count rows that suppression emptied.
        Guarantees by constraints or rules need it.
    classes : pandas.DataFrame, optional
        The second table of a release by `cahd` or `disassociate`.
    population : pandas.DataFrame, optional
        The population of the evidence, in the form of the release, to compare the journalist risk. Beside
        `KmAnonymity`, its ``fewest`` is the largest k for which the release has `KMap`.
    independent : bool
        Also count the guarantee by the independent audit of `pdanon.audit`.

    Returns
    -------
    Verification
        Whether what was checked ``matches``, and each part in words.

    Raises
    ------
    FormatError, ParameterError
        If the file cannot be read, is no evidence, violates the schema, or was made by a later version; or if
        a table is not a DataFrame.

    Notes
    -----
    A change of a row, a column, a cell, the index or ``attrs`` shows in the fingerprints, of a fact that can
    be counted in the recount, and of any fact in the seal. The seal protects against accidents: whoever edits
    the file can compute it again. Sign the file to protect it against that.

    Some entries follow from no table: the head, the time, the algorithm, the loss. They are listed as
    ``stated``, and are not checked. Versions of libraries that differ from those in the evidence are named,
    and are no mismatch: the facts are counted again with the versions here. Cost: as `Anonymized.evidence`.

    Examples
    --------
    >>> import pathlib, tempfile, pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> result = df.txanon.pcta(k=2, m=2)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "evidence.json"
    ...     result.evidence(path)
    ...     same = pdanon.verify(path, result.frame)
    ...     other = pdanon.verify(path, result.frame.iloc[:3])
    >>> same.matches, other.matches
    (True, False)
    >>> [check.part for check in other.checks if check.matches is False]
    ['release', 'guarantee', 'risk']
    """
    stored, seal = read_json(check_path(evidence, "evidence"))
    tables = {"release": release, "classes": classes, "mapping": mapping, "original": original}
    given = tables | {"population": population}
    for name, table in given.items():
        if table is not None or name == "release":
            check_frame(table, name)
    is_written = seal == stored.seal
    found = "the evidence is as it was written" if is_written else "the evidence was edited or damaged"
    checks = [Check("seal", is_written, found), _check_versions(stored)]
    described = {name: describe_table(table) for name, table in tables.items() if table is not None}
    for name in tables:
        if name in stored.tables or name in described:
            checks.append(_check_table(name, stored.tables.get(name), described.get(name)))
    return Verification((*checks, *_check_facts(stored, given, described["release"], independent)))


def _check_versions(stored: Evidence) -> Check:
    then, now = stored.made["versions"], library_versions()
    if then == now:
        return Check("versions", True, ", ".join(f"{name} {each}" for name, each in now.items()))
    others = [
        f"{name} {now.get(name, 'none')} here, {then.get(name, 'none')} in the evidence"
        for name in then | now
        if then.get(name) != now.get(name)
    ]
    return Check("versions", None, f"{'; '.join(others)}; everything is counted with those here")


def _check_table(name: str, stored: Facts | None, now: Facts | None) -> Check:
    """Compare the rows, the columns, the index, the cells and the attributes of a described table."""
    if stored is None:
        if name == "mapping":  # evidence for the public
            what = "the evidence has no fingerprint of it; emptied rows are counted by this one"
            return Check(name, None, what)
        return Check(name, False, "the evidence describes no such table")
    if now is None:
        why = ", and to count emptied rows" if name == "mapping" else ""
        return Check(name, None, f"pass {name}= (--{name}) to compare it{why}")
    then, here = (
        {f"{'index' if each['index'] else 'column'} {each['name']}": each for each in some["columns"]}
        for some in (stored, now)
    )
    lacks, adds = [name for name in then if name not in here], [name for name in here if name not in then]
    pairs = [] if lacks or adds else [(name, each, here[name]) for name, each in then.items()]
    others = [
        name for name, old, new in pairs if old.get("fingerprint", new["fingerprint"]) != new["fingerprint"]
    ]
    differences = {
        f"{now['rows']:,} rows, {stored['rows']:,} in the evidence": now["rows"] != stored["rows"],
        f"{', '.join(lacks)} is missing": lacks,
        f"{', '.join(adds)} is new": adds,
        **{
            f"{name} has the type {new['type']}, {old['type']} in the evidence": new["type"] != old["type"]
            for name, old, new in pairs
        },
        f"cells or the order of the rows differ in {', '.join(others)}": others,
        "the columns have another order": pairs and [*then] != [*here],
    }
    found = [text for text, differs in differences.items() if differs]
    if not found and now["fingerprint"] != stored["fingerprint"]:
        found = ["cells, the order of the rows or attrs differ"]
    whole = f"{now['rows']:,} rows, {_count(len(here), 'column')}, all cells as in the evidence"
    return Check(name, not found, "; ".join(found) or whole)


def _check_facts(
    stored: Evidence, tables: dict[str, Any], described: Facts, independent: bool
) -> Iterator[Check]:
    """Count the guarantee and what follows from it again, and list what cannot be counted."""
    release, promised = tables["release"], stored.guarantee["parameters"]
    asked = {
        name: _is_same(promised[name], text) if name in promised else None
        for name, text in stored.request["parameters"].items()
    }
    others = [name for name, same in asked.items() if same is False]
    yield _compare("parameters", others, "those of the request and of the guarantee agree")
    unchecked = {"head", "loss", "made.time", "redact", "request.algorithm", "unmodified.judged"}
    unchecked |= {f"request.{name}" for name, same in asked.items() if same is None}
    # No table says which items were requested.
    unchecked |= {f"guarantee.{name}" for name, value in promised.items() if isinstance(value, dict)}
    try:
        guarantee, column = read_guarantee(stored, release, tables["mapping"], tables["classes"])
        audits = [guarantee.audit(release, column)]
        if independent:
            audits.append(count_independently(release, guarantee, column, independent=True))
    except PdanonError as reason:
        yield Check("guarantee", False, f"not counted again: {reason.parts['what']}")
        unchecked |= {"promise", "not_protected", "unmodified", "risk", "thresholds", "verdict"}
    else:
        yield from _check_audits(stored, audits, len(release))
        requested = {"m": None} if stored.request["parameters"].get("m") == ALL_ITEMS else {}
        alerts = [*filter(None, [shortfall(requested, guarantee)])]
        names = {each["column"] for each in stored.unmodified if each["judged"]}
        levels = [name for name, *_ in index_levels(release)]
        labels = (*release.columns, *release.index.names, *levels)
        judged = [label for label in labels if str(label) in names]
        now = count_facts(release, described, guarantee, column, judged, alerts)
        # Without the names of all items, neither the promise nor the risk of the original can be recounted.
        lists = [items for _, items in named_items(stored.guarantee)]
        names_all = all(items["number"] == len(items["named"]) for items in lists)
        same = not names_all or now["promise"] == stored.promise
        yield Check("promise", same, stored.promise if same else "it is not that of the guarantee")
        yield _check_unmodified(stored, now, len(now["verdict"]["alerts"]) - len(alerts))
        before = tables["original"] if names_all and stored.risk.get("before") is not None else None
        passed = {"before": before, "journalist": tables["population"]}
        yield from _check_risk(stored, release, guarantee, column, passed)
        unchecked |= {"verdict.alerts", *([] if names_all else ["promise"])}
        unchecked |= {
            f"verdict.{name}" for name in ["independent"] if name in stored.verdict and not independent
        }
        unknown = [
            name for name in ("attacks", *passed) if passed.get(name) is None and stored.risk.get(name)
        ]
        unchecked |= {f"risk.{name}" for name in unknown}
        unchecked |= {"risk.beyond.before"} if "before" in unknown else set()
    yield Check("stated", None, ", ".join(sorted(unchecked)))


def _check_audits(stored: Evidence, audits: list[Audit], rows: int) -> Iterator[Check]:
    """Compare the recounts of the released rows: by the audit, and by the independent one if it was run."""
    found = [f"{each.guarantee!r}, {each.rows_at_risk:,} of {rows:,} rows at risk" for each in audits]
    audit, other, verdict = audits[0], audits[-1], stored.verdict
    same = (audit.rows_at_risk, rows) == (verdict["rows_at_risk"], verdict["rows"])
    yield Check("guarantee", audit.holds and verdict["holds"] and same, found[0])
    if len(audits) > 1:
        is_whole = repr(other.guarantee) == repr(audit.guarantee)
        same = other.rows_at_risk == audit.rows_at_risk
        yield Check("recount", (True if is_whole else None) if same else False, found[1])


def _is_same(value: Any, text: str) -> bool | None:
    """Return whether a parameter of a guarantee has a text in the request; None if that is unknown."""
    known = ALL_ITEMS if value is None else ", ".join(value) if isinstance(value, list) else str(value)
    if isinstance(value, int) and text not in (known, ALL_ITEMS):
        return False
    return text == known or None


def _check_unmodified(stored: Evidence, now: Facts, n_alerts: int) -> Check:
    """Compare the unmodified columns, what they identify, and what is not protected."""
    known, columns = (
        [(each["column"], each["type"]) for each in some] for some in (stored.unmodified, now["unmodified"])
    )
    same = {
        "the columns": known == columns,
        "the alerts": {*now["verdict"]["alerts"]} <= {*stored.verdict["alerts"]},
        "what is not protected": now["not_protected"] == stored.not_protected,
    }
    others = [name for name, is_same in same.items() if not is_same]
    return _compare("unmodified", others, f"{_count(len(columns), 'column')}, {_count(n_alerts, 'alert')}")


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _check_risk(
    stored: Evidence,
    release: pd.DataFrame,
    guarantee: Guarantee,
    column: Hashable | None,
    passed: dict[str, pd.DataFrame | None],
) -> Iterator[Check]:
    """Count the risk and the thresholds again, with the original and the population that were passed."""
    try:
        now = count_risks(release, guarantee, column, *passed.values())
    except PdanonError as error:
        yield Check("risk", False, f"not counted again: {error.parts['what']}")
        return
    unknown = {name for name, table in passed.items() if table is None}
    then, again = (_comparable(each, unknown) for each in (stored.risk, now))
    others = [name for name, value in again.items() if then.get(name) != value]
    found = "after counted again" if "before" in unknown else "before and after counted again"
    yield _compare("risk", others, found)
    known, met = stored.thresholds, compare_thresholds(now)
    others = [each["name"] for each in known if each not in met]
    others += [each["name"] for each in met if each["name"] not in {each["name"] for each in known}]
    yield _compare("thresholds", others, f"{sum(bool(each['met']) for each in met)} met")


def _compare(part: str, others: list[str], found: str) -> Check:
    """Return the outcome for a part, given the names of its values that are others."""
    return Check(part, not others, f"other values: {', '.join(others)}" if others else found)


def _comparable(risk: Facts, unknown: set[str]) -> Facts:
    """Return the risks that can be counted again: not those of tables that were not passed."""
    return {
        name: _comparable(value, unknown) if isinstance(value, dict) else value
        for name, value in risk.items()
        if name not in unknown
    }
