"""Replay of evidence: each fact is counted again from the tables of a release, and compared."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from pdanon.cards import card
from pdanon.errors import PdanonError, escape_controls
from pdanon.evaluation.evidence.facts import (
    Evidence,
    compare_thresholds,
    describe_table,
    list_limits,
    read_json,
)
from pdanon.evaluation.evidence.models import RecountError, named_items, read_guarantee
from pdanon.evaluation.evidence.risks import count_risks
from pdanon.evaluation.report.html import library_versions
from pdanon.guarantees.promises import promise
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.validation import check_frame, check_path


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
        because its table was not passed, or the versions of the libraries differ.
    """

    checks: tuple[Check, ...]

    @property
    def matches(self) -> bool:
        """Whether everything that was checked matches."""
        return all(each.matches is not False for each in self.checks)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the parts, and what was found."""
        words = {True: "matches", False: "DOES NOT MATCH", None: "not checked"}
        for part, matches, found in self.checks:
            yield part, f"{words[matches]}: {found}"
        wrong = [part for part, matches, _ in self.checks if matches is False]
        found = f"{len(wrong)} of {len(self.checks)} do not match: {', '.join(wrong)}"
        yield "verdict", found if wrong else "everything that was checked matches"

    def __repr__(self) -> str:
        lines = (f"  {part:<10} {text}" for part, text in self.lines())
        return escape_controls("\n".join(["Verification of the evidence", *lines]))

    def _repr_html_(self) -> str:
        *lines, (_, text) = self.lines()
        return card("Verification", lines, verdict=("holds" if self.matches else "broken", f"{text}."))


@called_by_name
def verify(
    evidence: str | os.PathLike[str],
    release: pd.DataFrame,
    *,
    original: pd.DataFrame | None = None,
    mapping: pd.DataFrame | None = None,
    classes: pd.DataFrame | None = None,
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

    Returns
    -------
    Verification
        Whether everything ``matches``, and each part in words.

    Raises
    ------
    FormatError
        If the file cannot be read, is no evidence, violates the schema, or was made by a later version.
    ParameterError
        If a table is not a DataFrame.

    Notes
    -----
    A change of a row, a column or a cell shows in the fingerprints, of a fact that can be counted in the
    recount, and of any fact in the seal. The seal protects against accidents: whoever edits the file can
    compute it again. Sign the file to protect it against that.

    Versions of libraries that differ from those in the evidence are named, and are no mismatch: the facts are
    counted again with the versions here.

    Cost: as `Anonymized.evidence`.

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
    for name, table in tables.items():
        if table is not None or name == "release":
            check_frame(table, name)
    checks = [_check_seal(stored, seal), _check_versions(stored)]
    checks += [
        _check_table(name, stored.tables[name], tables[name]) for name in tables if name in stored.tables
    ]
    checks += [
        Check(name, False, "the evidence describes no such table")
        for name, table in tables.items()
        if table is not None and name not in stored.tables and name != "mapping"
    ]
    return Verification((*checks, *_check_guarantee(stored, release, mapping, classes, original)))


def _check_seal(stored: Evidence, seal: str) -> Check:
    if seal == stored.seal:
        return Check("seal", True, "the evidence is as it was written")
    return Check("seal", False, "the evidence was edited or damaged after it was written")


def _check_versions(stored: Evidence) -> Check:
    then, now = stored.made["versions"], library_versions()
    names = [*dict.fromkeys([*then, *now])]
    others = [
        f"{name} {now.get(name, 'none')} here, {then.get(name, 'none')} in the evidence"
        for name in names
        if then.get(name) != now.get(name)
    ]
    if others:
        return Check("versions", None, f"{'; '.join(others)}; everything is counted with those here")
    return Check("versions", True, ", ".join(f"{name} {now[name]}" for name in names))


def _check_table(name: str, stored: dict[str, Any], table: pd.DataFrame | None) -> Check:
    """Compare the rows, the columns and the cells of a table."""
    if table is None:
        option = f"--{name}"
        return Check(name, None, f"pass {name}= ({option}) to compare it")
    now = describe_table(table, columns="fingerprint" in (stored["columns"] or [{}])[0])
    found = []
    if now["rows"] != stored["rows"]:
        found.append(f"{now['rows']:,} rows, {stored['rows']:,} in the evidence")
    then_columns, columns = ([each["name"] for each in some["columns"]] for some in (stored, now))
    lacks, adds = (
        [each for each in one if each not in other]
        for one, other in ((then_columns, columns), (columns, then_columns))
    )
    found += [f"column {', '.join(lacks)} is missing"] if lacks else []
    found += [f"column {', '.join(adds)} is new"] if adds else []
    if not lacks and not adds and columns != then_columns:
        found.append("the columns have another order")
    hashes = {each["name"]: each.get("fingerprint") for each in stored["columns"]}
    others = [
        each["name"]
        for each in now["columns"]
        if each["name"] in hashes and each.get("fingerprint") != hashes[each["name"]]
    ]
    found += [f"cells or the order of the rows differ in {', '.join(others)}"] if others else []
    if not found and now["fingerprint"] != stored["fingerprint"]:
        found.append("cells or the order of the rows differ")
    some = "1 column" if len(columns) == 1 else f"{len(columns)} columns"
    whole = f"{now['rows']:,} rows, {some}, all cells as in the evidence"
    return Check(name, not found, "; ".join(found) or whole)


def _check_guarantee(
    stored: Evidence,
    release: pd.DataFrame,
    mapping: pd.DataFrame | None,
    classes: pd.DataFrame | None,
    original: pd.DataFrame | None,
) -> Iterator[Check]:
    """Count the guarantee and the risk again, and compare what follows from them."""
    yield _check_parameters(stored)
    try:
        guarantee, column = read_guarantee(stored.guarantee, release, stored.redact, mapping, classes)
        audit = guarantee.audit(release, column)
    except RecountError as reason:
        yield Check("guarantee", False, f"not counted again: {reason}")
        return
    except (PdanonError, TypeError) as error:
        yield Check("guarantee", False, f"not counted again: {_first_line(error)}")
        return
    holds = f"{guarantee!r}, {audit.rows_at_risk:,} of {len(release):,} rows at risk"
    same = audit.rows_at_risk == stored.verdict["rows_at_risk"] and len(release) == stored.verdict["rows"]
    yield Check("guarantee", audit.holds and stored.verdict["holds"] and same, holds)
    yield _check_texts(stored, guarantee, column)
    yield from _check_risk(stored, release, guarantee, column, original)


def _check_parameters(stored: Evidence) -> Check:
    """Compare the parameters of the request with those of the guarantee."""
    asked, promised = stored.request["parameters"], stored.guarantee["parameters"]
    others = [
        name
        for name, value in promised.items()
        if isinstance(value, int) and not isinstance(value, bool) and asked.get(name, str(value)).isdecimal()
        if asked.get(name, str(value)) != str(value)
    ]
    found = f"{', '.join(others)}: other values than those of the guarantee"
    return Check(
        "parameters", not others, found if others else "those of the request and of the guarantee agree"
    )


def _check_texts(stored: Evidence, guarantee: Guarantee, column: Hashable | None) -> Check:
    """Compare the sentences that follow from the guarantee."""
    others = []
    if _names_all(stored) and promise(guarantee, column) != stored.promise:
        others.append("the promise is not that of the guarantee")
    if list_limits(guarantee, [each["column"] for each in stored.unmodified]) != stored.not_protected:
        others.append("what is not protected is not that of the guarantee")
    return Check("promise", not others, "; ".join(others) or stored.promise)


def _check_risk(
    stored: Evidence,
    release: pd.DataFrame,
    guarantee: Guarantee,
    column: Hashable | None,
    original: pd.DataFrame | None,
) -> Iterator[Check]:
    """Count the risk and the thresholds again."""
    before = original if stored.risk.get("before") is not None and _names_all(stored) else None
    try:
        now = count_risks(release, guarantee, column, before)
    except PdanonError as error:
        yield Check("risk", False, f"not counted again: {_first_line(error)}")
        return
    then = _comparable(stored.risk, before is not None)
    others = [name for name, value in _comparable(now, before is not None).items() if then.get(name) != value]
    found = "before and after counted again" if before is not None else "after counted again"
    yield Check("risk", not others, f"other values: {', '.join(others)}" if others else found)
    met = compare_thresholds(now)
    others = [each["name"] for each in stored.thresholds if each not in met]
    others += [
        each["name"] for each in met if each["name"] not in {each["name"] for each in stored.thresholds}
    ]
    found = f"other values: {', '.join(others)}"
    yield Check(
        "thresholds", not others, found if others else f"{sum(bool(each['met']) for each in met)} met"
    )


def _comparable(risk: dict[str, Any], with_before: bool) -> dict[str, Any]:
    """Return the risks that can be counted again: not those in a population, nor before without a table."""
    parts = {name: value for name, value in risk.items() if name != "journalist"}
    if not with_before:
        parts.pop("before", None)
        if parts.get("beyond"):
            parts["beyond"] = {name: value for name, value in parts["beyond"].items() if name != "before"}
    return parts


def _names_all(stored: Evidence) -> bool:
    """Return whether all items of the guarantee are named, so that the original can be counted again."""
    return all(items["number"] == len(items["named"]) for _, items in named_items(stored.guarantee))


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] if isinstance(error, PdanonError) else "a parameter is missing"
