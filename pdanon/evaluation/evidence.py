"""Evidence: the facts of a release and its guarantee as plain data, as JSON and back, and as a page."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import partial
from hashlib import sha256
from importlib.resources import files
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon import guarantees
from pdanon.errors import FormatError, GuaranteeError, ParameterError, cause_of
from pdanon.evaluation.fingerprint import (
    check_release,
    describe_table,
    own_columns,
    recount_unmodified,
)
from pdanon.evaluation.html import (
    Cell,
    check_head,
    count,
    document,
    library_versions,
    paragraph,
    report_time,
    section,
    share,
    table,
    text_table,
    write_draft,
)
from pdanon.evaluation.matches import Facts, compare_thresholds, count_risks, describe_attacker
from pdanon.evaluation.report import (
    attacks_section,
    describe_attacks,
    known_losses,
    list_limits,
    loss_table,
    parameter_texts,
    unmodified_section,
)
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import format_share
from pdanon.guarantees.promises import promise
from pdanon.guarantees.ps import AllRules, Rules
from pdanon.guarantees.verdict import Guarantee
from pdanon.hierarchy.sources import Range, RangeSearch, range_text
from pdanon.io.parquet import read_parquet
from pdanon.io.tables import Writers, write_whole
from pdanon.itemsets.codes import Itemsets, item_texts
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.validation import FilePath, check_flag, check_known, check_path
from pdanon.recoding.result import Anonymized, alerts, made_by

FORMAT, VERSION = "pdanon evidence", 1
REDACTIONS = ("unpublished", "all", "none")


@dataclass(frozen=True)
class Evidence:
    """The facts of a release; ``schema.json`` beside this file describes each of them."""

    head: dict[str, str]
    made: Facts
    redact: str
    request: Facts
    promise: str
    guarantee: Facts
    verdict: Facts
    risk: Facts
    thresholds: list[Facts]
    not_protected: list[str]
    unmodified: list[Facts]
    loss: dict[str, float | None]
    tables: dict[str, Facts]

    @property
    def seal(self) -> str:
        """A hash of all facts, which shows accidental changes; it is no signature."""
        text = json.dumps(self._content(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return sha256(text.encode()).hexdigest()

    def to_json(self) -> str:
        """Return the facts and their seal as JSON, in ASCII."""
        return json.dumps(self._content() | {"seal": self.seal}, indent=1, allow_nan=False) + "\n"

    def _content(self) -> Facts:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


# --- Facts of a result


def collect(
    result: Anonymized,
    original: pd.DataFrame | None = None,
    *,
    head: Mapping[str, str | None],
    population: pd.DataFrame | FilePath | None = None,
    redact: str = "unpublished",
    independent: bool = False,
    assessment: pd.DataFrame | None = None,
) -> Evidence:
    """Collect the facts of a result: see `Anonymized.evidence`."""
    check_known(redact, REDACTIONS, "redaction", where="redact")
    given = check_head(head)
    if not result.holds:
        hint = "look at this attempt of an algorithm, but do not release it"
        raise GuaranteeError("the guarantee does not hold, so there is no evidence", hint=hint)
    lists = check_release(result, original)
    frame, guarantee, column = result.frame, result.guarantee, lists[0] if lists else None
    audit = guarantee.audit(frame, column)
    if not audit.holds:
        hint = "the frame was changed after the release; make the release again"
        got = f"{audit.rows_at_risk} rows at risk"
        raise GuaranteeError("the guarantee does not hold any more", where="result.frame", got=got, hint=hint)
    confirmed = {}
    if check_flag(independent, "independent"):
        other = guarantees.audit(frame, guarantee, column, independent=True)
        if not other.holds:
            hint = "do not release it, and report the difference of the two audits"
            got = f"{other.rows_at_risk} rows at risk"
            raise GuaranteeError("the independent audit disagrees", where="result.frame", got=got, hint=hint)
        confirmed["independent"] = repr(other.guarantee)
    risk = count_risks(frame, guarantee, column, original, _read_population(population))
    risk |= describe_attacks(assessment)
    tables = _tables(result, original, redact)
    judged = result.unmodified.judged
    facts = count_facts(frame, tables["release"], guarantee, column, judged, alerts(result))
    facts["verdict"] |= confirmed
    return Evidence(
        head=given,
        made={"time": report_time(), "versions": library_versions()},
        redact=redact,
        request={"algorithm": made_by(result, "unknown"), "parameters": parameter_texts(result)},
        guarantee=describe_guarantee(guarantee, column, _may_name(result, redact)),
        risk=risk,
        thresholds=compare_thresholds(risk),
        **facts,
        loss={name: value if math.isfinite(value) else None for name, value in known_losses(result).items()},
        tables=tables,
    )


def _read_population(population: Any) -> pd.DataFrame | None:
    if population is None or isinstance(population, pd.DataFrame):
        return population
    return read_parquet(check_path(population, "population"))


def _may_name(result: Anonymized, redact: str) -> MayName:
    """Return a function that says whether an item may be named."""
    if redact != "unpublished":
        return lambda text: redact == "none"
    frame, published = result.frame, set[str]()
    for _, column in frame.items():
        if is_list_column(column):
            published.update(Itemsets.from_series(column).texts())
    if isinstance(result.guarantee, SensitiveGroups) and result.classes is not None:
        published.update(result.classes["item"].dropna().astype("str"))
    return lambda each: (
        any(map(RangeSearch([each]), published)) if isinstance(each, tuple) else each in published
    )


def _tables(result: Anonymized, original: pd.DataFrame | None, redact: str) -> dict[str, Facts]:
    """Return rows and fingerprints of the tables."""
    # Hashes of single columns and of small mappings can be guessed, so only published tables have them.
    published = {"release" if name == "frame" else name: each for name, each in result.published.items()}
    confidential = {} if redact == "all" else {"mapping": result.mapping}
    confidential |= {} if original is None else {"original": original}
    described = {name: describe_table(each) for name, each in (published | confidential).items()}
    for name in confidential:
        for column in described[name]["columns"]:
            del column["fingerprint"]
    return described


def count_facts(
    frame: pd.DataFrame,
    described: Facts,
    guarantee: Guarantee,
    column: Hashable | None,
    judged: Collection[Hashable],
    found: list[str],
) -> Facts:
    """Return the facts that follow from a guarantee that holds, given the rows as described, and alerts."""
    counted = recount_unmodified(frame, guarantee, column, judged)
    own, settled = {*chain(*own_columns(frame, guarantee, column))}, {str(label) for label in judged}
    unmodified = [
        {"column": each["name"], "type": each["type"], "judged": each["name"] in settled}
        for place, each in enumerate(described["columns"])
        if place not in own
    ]
    found = [*found, *counted.sentences()]
    return {
        "promise": promise(guarantee, column),
        "verdict": {"holds": True, "rows_at_risk": 0, "rows": len(frame), "alerts": found},
        "not_protected": list_limits(guarantee, [each["column"] for each in unmodified], counted.published),
        "unmodified": unmodified,
    }


# --- JSON


def read_json(path: FilePath) -> tuple[Evidence, str]:
    """Read evidence, and its seal as stored."""
    where, hint = os.fspath(path), "pass the .json file that result.evidence(path) wrote"
    problem = content = None
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        problem, hint = cause_of(error), "check the path"
    except (ValueError, RecursionError):
        problem = "no JSON"
    # Raised outside the handler: the error of the parser holds a part of the file.
    if problem is not None:
        raise FormatError("the evidence cannot be read", where=where, got=problem, hint=hint)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError("this is no evidence of a release", where=where, hint=hint)
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        got = f"version {version}, this pdanon reads up to {VERSION}"
        raise FormatError("a later pdanon made this", where=where, got=got, hint="install a later pdanon")
    schema = json.loads(files("pdanon.evaluation").joinpath("schema.json").read_text("utf-8"))
    if place := first_violation(content, schema):
        hint = "it was damaged or edited; get the file again"
        raise FormatError("the evidence does not follow its schema", where=where, got=place, hint=hint)
    del content["format"], content["version"]
    seal = content.pop("seal")
    return Evidence(**content), seal


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinities, which Python reads, but JSON lacks."""
    raise ValueError(name)


# The types of a JSON Schema by those of Python.
_TYPES: dict[type, set[str]] = {
    dict: {"object"},
    list: {"array"},
    str: {"string"},
    bool: {"boolean"},
    int: {"integer", "number"},
    float: {"number"},
    type(None): {"null"},
}


def first_violation(value: Any, schema: Facts, place: str = "") -> str:
    """Return the place of the first value that violates a JSON Schema; empty if there is none."""
    kinds = schema.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else {*kinds}
    if kinds and not kinds & _TYPES[type(value)]:
        return place or "the whole"
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        return place
    if isinstance(value, list):
        parts = [(each, schema.get("items", {}), f"{place}[{i}]") for i, each in enumerate(value)]
    elif isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        if missing := [name for name in schema.get("required", []) if name not in value]:
            return f"{place}.{missing[0]}".lstrip(".")
        if others is False and value.keys() - known.keys():
            return f"an unknown entry of {place}" if place else "an unknown entry"
        parts = [
            (each, known.get(name, others), f"{place}.{name}".lstrip(".") if name in known else f"{place}.*")
            for name, each in value.items()
        ]
    else:
        return ""
    return next(filter(None, (first_violation(*part) for part in parts)), "")


# --- The guarantee as plain data; items are named only where that is allowed


_OF_FILES = ("mapping", "classes")  # fields that are tables of the release
_SHARES = ("h", "c", "rho")

# Whether an item may be named, by its text, or a range of codes.
MayName = Callable[[str | Range], bool]


def describe_guarantee(guarantee: Guarantee, column: Hashable | None, may_name: MayName) -> Facts:
    """Return the name, the list column and the parameters of a guarantee as plain data."""
    parameters = {
        each.name: _describe(getattr(guarantee, each.name), may_name)
        for each in fields(guarantee)  # type: ignore[arg-type]
        if each.name not in _OF_FILES
    }
    name = type(guarantee).__name__
    return {"name": name, "column": None if column is None else str(column), "parameters": parameters}


def _describe(value: Any, may_name: MayName) -> Any:
    if value is None or isinstance(value, int | str):  # text: the label of a private column
        return value
    if isinstance(value, Fraction):
        return format_share(value)
    if isinstance(value, AllRules):
        return {each: _describe(getattr(value, each), may_name) for each in ("m", "sensitive", "public")}
    every: list[Any]
    ranges: list[str] = []
    if isinstance(value, NamedItems):
        every = item_texts(value.values).to_pylist()
        ranges = [range_text(each) for each in value.ranges if may_name(each)]
    elif isinstance(value, Rules):
        every = [[*rule] for rule in zip(_texts(value.known), _texts(value.sensitive), strict=True)]
    elif isinstance(value, pd.Series):
        every = _texts(Itemsets.from_series(value))
    else:
        return [str(label) for label in value]
    named = [each for each in every if _all_named(each, may_name)] + ranges
    found = {"number": len(value), "named": named}
    return found | {"ranges": len(ranges)} if getattr(value, "ranges", ()) else found


def _texts(itemsets: Itemsets) -> list[list[str]]:
    texts = itemsets.texts()
    bounds = pairwise(itemsets.offsets.tolist())
    return [[texts[code] for code in itemsets.codes[start:end]] for start, end in bounds]


def _all_named(entry: Any, may_name: MayName) -> bool:
    """Return whether an item, or each item of a set or a rule, may be named."""
    return may_name(entry) if isinstance(entry, str) else all(_all_named(each, may_name) for each in entry)


# --- The guarantee of plain data


def read_guarantee(
    evidence: Evidence,
    frame: pd.DataFrame,
    mapping: pd.DataFrame | None,
    classes: pd.DataFrame | None,
) -> tuple[Guarantee, Hashable | None]:
    """Return the guarantee and the list column that `describe_guarantee` described."""
    labels: dict[str, Hashable] = {str(label): label for label in frame.columns}
    described = evidence.guarantee
    try:
        kind, parameters = getattr(guarantees, described["name"]), dict(described["parameters"])
        if mapping is None and {"constraints", "rules"} & parameters.keys():
            raise ParameterError("it names items of the original: pass the mapping of the release")
        if kind is guarantees.SensitiveGroups:
            if classes is None:
                raise ParameterError("it needs the table of counts: pass the classes of the release")
            parameters["classes"] = classes
            if parameters["k"] is None:
                del parameters["m"]
        may_lack = evidence.redact == "unpublished"
        read = {name: _read_parameter(name, value, labels, may_lack) for name, value in parameters.items()}
        column = None if described["column"] is None else _label(described["column"], labels)
        guarantee: Guarantee = kind(**read)
        return (guarantee if mapping is None else guarantee.with_mapping(mapping)), column
    except (TypeError, KeyError, AttributeError):  # of another type than `describe_guarantee` writes
        problem = f"a parameter of {described['name']} is missing, unknown or of another type"
    # Raised outside the handler: the chained error may show an item.
    raise ParameterError(f"{problem}; the evidence was edited, get the file again")


def _read_parameter(name: str, value: Any, labels: dict[str, Hashable], may_lack: bool) -> Any:
    if name in ("quasi", "columns") and value is not None:
        return [_label(text, labels) for text in value]
    if name in _SHARES:
        return _read_share(value, name)
    if isinstance(value, str):  # the label of a private column
        return _label(value, labels)
    return _read_items(value, may_lack=may_lack)


def _read_share(text: Any, name: str) -> Fraction:
    """Return a share that `format_share` wrote; other texts can stand for numbers of any length."""
    if isinstance(text, str) and re.fullmatch(r"\d{1,30}/\d{1,30}|\d(\.\d{1,30})?(e-\d{1,2})?", text):
        with suppress(ZeroDivisionError):
            return Fraction(text)
    raise ParameterError(f"{name} is no number, such as 0.5; the evidence was edited, get the file again")


def _read_items(described: Any, *, may_lack: bool) -> Any:
    """Return items, itemsets or rules; with ``may_lack``, items that are not named are not in the release."""
    if not isinstance(described, dict):
        return described
    if "number" not in described:
        return AllRules(**{name: _read_items(each, may_lack=may_lack) for name, each in described.items()})
    named = described["named"]
    if len(named) < described["number"] and not (may_lack and named and isinstance(named[0], str)):
        raise ParameterError("its items are not named: use evidence that names them, by redact='none'")
    return NamedItems.of_entries("items", dict.fromkeys(named, 0)) if described.get("ranges") else named


def _label(text: str, labels: dict[str, Hashable]) -> Hashable:
    if text not in labels:
        hint = "pass the release that the evidence is about"
        problem = "the release lacks a column of the guarantee"
        raise ParameterError(problem, where="release", got=text, hint=hint)
    return labels[text]


def named_items(described: Facts) -> Iterator[tuple[str, Facts]]:
    """Return the parameters of a description that list items, itemsets or rules, with their descriptions."""
    for name, value in described["parameters"].items():
        if isinstance(value, dict):
            parts = {name: value} if "number" in value else value
            yield from ((part, items) for part, items in parts.items() if isinstance(items, dict))


# --- The page, made from the facts alone, and the two files


_SUFFIXES = (".json", ".html")
_MOST_NAMED = 100  # items, itemsets or rules on the page; the JSON has all

_NOTE = (
    "This page states what was counted. It is not legal advice, and does not decide whether the release is "
    "anonymous in the sense of a law."
)
_REDACTED = {
    "unpublished": "Items that the release does not publish are not named.",
    "all": "No item is named.",
    "none": "⚠ Items that the release does not publish are named. Keep this page confidential.",
}


def paths_of(path: FilePath) -> list[Path]:
    """Return the paths of the JSON and of the page, given one of them."""
    given = Path(check_path(path))
    if given.suffix not in _SUFFIXES:
        problem, hint = "evidence is a .json and a .html file", "pass a path such as evidence.json"
        raise ParameterError(problem, where="path", got=given.suffix or "no suffix", hint=hint)
    return [given.with_suffix(suffix) for suffix in _SUFFIXES]


def evidence_files(evidence: Evidence, path: FilePath) -> tuple[Writers, list[Path | str]]:
    """Return the functions that write JSON and page by file, and the files that only their owner may read."""
    facts, page = paths_of(path)
    writers: Writers = {
        facts: partial(write_draft, evidence.to_json()),
        page: partial(write_draft, render(evidence)),
    }
    describes_original = "original" in evidence.tables or evidence.redact != "all"
    return writers, [*writers] if describes_original else []


def write_evidence(
    result: Anonymized,
    path: FilePath,
    original: pd.DataFrame | None = None,
    **given: Any,
) -> None:
    """Write the evidence of a release, whole or not at all: see `Anonymized.evidence`."""
    paths_of(path)  # checked before the work
    write_whole(*evidence_files(collect(result, original, **given), path))


def render(evidence: Evidence) -> str:
    """Return the page as text."""
    return document("Evidence of a release", _sections(evidence), _NOTE, evidence.head)


def _sections(evidence: Evidence) -> Iterator[str]:
    verdict, found = evidence.verdict, evidence.verdict["alerts"]
    mark, kind = ("⚠", "warned") if found else ("✓", "holds")
    yield paragraph(f"{mark} The release has its guarantee.", f"verdict {kind}")
    yield "\n".join(paragraph(f"{text}.", "alert warned") for text in found)
    recount = (
        f"All {verdict['rows']:,} released rows were counted again for this page, without the algorithm. "
        f"{verdict['rows_at_risk']:,} of them are at risk."
    )
    if "independent" in verdict:
        recount += f" A second, independent program confirmed {verdict['independent']}."
    yield section(
        "The promise",
        paragraph(evidence.promise),
        paragraph(recount),
        paragraph(_guarantee_text(evidence.guarantee), "model"),
    )
    asked = {"algorithm": evidence.request["algorithm"]} | evidence.request["parameters"]
    yield section("Request", text_table("Parameters", asked, ["parameter", "value"]))
    if items := _items(evidence):
        yield items
    yield _risk(evidence.risk)
    yield attacks_section(evidence.risk)
    yield _thresholds(evidence)
    yield section("What is not promised", *map(paragraph, evidence.not_protected))
    yield unmodified_section(evidence.unmodified)
    loss = {name: value for name, value in evidence.loss.items() if value is not None}
    yield section("Information loss", paragraph("Measured when the release was made."), loss_table(loss))
    yield _tables_section(evidence)


def _guarantee_text(guarantee: Facts) -> str:
    """Return a guarantee as in its repr: items by their number."""
    texts = []
    for name, value in guarantee["parameters"].items():
        if isinstance(value, dict):
            value = f"{value['number']:,} given" if "number" in value else "all rules"
        if value is not None or name == "m":
            texts.append(f"{name}={value}")
    return f"{guarantee['name']}({', '.join(texts)})"


def _items(evidence: Evidence) -> str:
    """Return the section with the items that the guarantee names; empty if it names none."""
    parts = []
    for name, items in named_items(evidence.guarantee):
        number, named = items["number"], items["named"]
        parts.append(paragraph(f"{name}: {number:,} given, {len(named):,} named."))
        if named:
            rows = [[Cell(_item_text(each))] for each in named[:_MOST_NAMED]]
            parts.append(table(f"{name} ({len(rows):,} of {number:,})", [name], rows))
    return section("Items of the guarantee", paragraph(_REDACTED[evidence.redact]), *parts) if parts else ""


def _item_text(item: Any) -> str:
    """Return an item, the items of a set, or the two sides of a rule."""
    if isinstance(item, str):
        return item
    return " → ".join(map(_item_text, item)) if isinstance(item[0], list) else ", ".join(item)


# --- Risk


def _risk(risk: Facts) -> str:
    title = "Risk of identification"
    if risk["not_counted"]:
        return section(title, paragraph(f"Not counted. {risk['not_counted']}"))
    lines: dict[str, Callable[[Facts], Cell]] = {
        "fewest matching rows": lambda each: count(each["fewest"]),
        "prosecutor risk: 1 / fewest matching rows": lambda each: share(each["prosecutor"]),
        f"marketer risk: average of 1 / matching rows{', at most' if risk['columns'] else ''}": (
            lambda each: share(each["marketer"])
        ),
        "rows that are the only match": lambda each: share(each["singled_out"] / max(each["rows"], 1)),
    }
    if risk["k"] is not None:
        text = f"rows with fewer than {risk['k']:,} matches"
        lines[text] = lambda each: share(each["below_k"] / max(each["rows"], 1))
    tables = {name: risk[name] for name in ("before", "after") if risk[name] is not None}
    rows = [[Cell(text), *map(cell, tables.values())] for text, cell in lines.items()]
    parts = [paragraph(describe_attacker(risk)), table("Risk", ["", *tables], rows)]
    if found := risk["journalist"]:
        parts.append(
            paragraph(
                f"In the population of {found['rows']:,} people, at least {found['fewest']:,} match what is "
                f"known of a person in the table. The journalist risk is 1/{found['fewest']:,}, "
                f"{share(found['risk']).text}."
            )
        )
    return section(title, *parts)


# --- Thresholds, columns, tables


def _thresholds(evidence: Evidence) -> str:
    words = {True: "met", False: "not met", None: "not counted"}
    rows = []
    for each in evidence.thresholds:
        rule = (
            f"{each['rule']} For: {each['authority']}. From: {each['source']} ({each['year']}), {each['url']}"
        )
        rows.append([Cell(each["name"]), count(each["least"]), Cell(words[each["met"]]), Cell(rule)])
    text = (
        "The fewest matching rows are compared with numbers that authorities publish for their own data, "
        "most of them for tables of counts. Whether one applies here is not decided."
    )
    return section(
        "Thresholds of authorities",
        paragraph(text),
        table("Thresholds", ["name", "rows needed", "here", "rule"], rows),
    )


def _tables_section(evidence: Evidence) -> str:
    header = ["table", "rows", "columns", "fingerprint (SHA-256)"]
    rows = [
        [
            Cell(name),
            count(each["rows"]),
            Cell(", ".join(column["name"] for column in each["columns"])),
            Cell(each["fingerprint"]),
        ]
        for name, each in evidence.tables.items()
    ]
    made = {"made": evidence.made["time"]} | evidence.made["versions"]
    how = (
        "pdanon verify EVIDENCE --release FILE reads the JSON file beside this page, counts the released "
        "rows again, compares what follows from them, and lists what does not. The seal is the hash of that "
        "file's content: it shows accidental changes, and is no signature."
    )
    return section(
        "Tables, date and versions",
        table("Tables", header, rows),
        text_table("Date and versions", made),
        paragraph(how),
        paragraph(f"Seal: {evidence.seal}", "model"),
    )
