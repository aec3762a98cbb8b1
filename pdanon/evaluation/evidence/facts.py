"""The facts of a release and its guarantee as plain data, as JSON with a schema, and back."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from hashlib import sha256
from importlib.resources import files
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon import guarantees
from pdanon.errors import FormatError, GuaranteeError, ParameterError, cause_of
from pdanon.evaluation.consistency import Own, check_original, check_release, recount_unmodified
from pdanon.evaluation.evidence.risks import count_risks
from pdanon.evaluation.fingerprint import column_contents
from pdanon.evaluation.report.html import check_head, library_versions, report_time
from pdanon.evaluation.report.release_report import known_losses, list_limits, parameter_texts
from pdanon.evaluation.thresholds import thresholds
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import format_share
from pdanon.guarantees.promises import promise
from pdanon.guarantees.ps import AllRules, Rules
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.parquet import read_parquet
from pdanon.itemsets.codes import Itemsets, item_texts
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.validation import check_frame, check_known
from pdanon.recoding.result import Anonymized, made_by
from pdanon.recoding.warnings import shortfall

FORMAT, VERSION = "pdanon evidence", 1
REDACTIONS = ("unpublished", "all", "none")


@dataclass(frozen=True)
class Evidence:
    """The facts of a release; ``schema.json`` beside this file describes each of them."""

    head: dict[str, str]
    made: dict[str, Any]
    redact: str
    request: dict[str, Any]
    promise: str
    guarantee: dict[str, Any]
    verdict: dict[str, Any]
    risk: dict[str, Any]
    thresholds: list[dict[str, Any]]
    not_protected: list[str]
    unmodified: list[dict[str, Any]]
    loss: dict[str, float | None]
    tables: dict[str, dict[str, Any]]

    @property
    def seal(self) -> str:
        """A hash of all facts, which shows accidental changes; it is no signature."""
        text = json.dumps(self._content(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return sha256(text.encode()).hexdigest()

    def to_json(self) -> str:
        """Return the facts and their seal as JSON, in ASCII."""
        return json.dumps(self._content() | {"seal": self.seal}, indent=1, allow_nan=False) + "\n"

    def _content(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **asdict(self)}


# --- Facts of a result


def collect(
    result: Anonymized,
    original: pd.DataFrame | None = None,
    *,
    head: Mapping[str, str | None],
    population: pd.DataFrame | str | os.PathLike[str] | None = None,
    redact: str = "unpublished",
) -> Evidence:
    """Collect the facts of a result: see `Anonymized.evidence`."""
    check_known(redact, REDACTIONS, "redaction", where="redact")
    given = check_head(head)
    if not result.holds:
        hint = "look at this attempt of an algorithm, but do not release it"
        raise GuaranteeError("the guarantee does not hold, so there is no evidence", hint=hint)
    lists = check_release(result)
    if original is not None:
        check_original(result, check_frame(original, "original"), lists)
    frame, guarantee, column = result.frame, result.guarantee, lists[0] if lists else None
    audit = guarantee.audit(frame, column)
    if not audit.holds:
        hint = "the frame was changed after the release; make the release again"
        got = f"{audit.rows_at_risk} rows at risk"
        raise GuaranteeError("the guarantee does not hold any more", where="result.frame", got=got, hint=hint)
    risk = count_risks(frame, guarantee, column, original, _read_population(population))
    tables = _tables(result, original, redact)
    alerts = [*filter(None, [shortfall(result.parameters, guarantee), result.useless])]
    return Evidence(
        head=given,
        made={"time": report_time(), "versions": library_versions()},
        redact=redact,
        request={"algorithm": made_by(result, "unknown"), "parameters": parameter_texts(result)},
        guarantee=describe_guarantee(guarantee, column, _may_name(result, redact)),
        risk=risk,
        thresholds=compare_thresholds(risk),
        **count_facts(frame, tables["release"], guarantee, column, result.unmodified.judged, alerts),
        loss={name: value if math.isfinite(value) else None for name, value in known_losses(result).items()},
        tables=tables,
    )


def _read_population(population: Any) -> pd.DataFrame | None:
    if population is None or isinstance(population, pd.DataFrame):
        return population
    if not isinstance(population, str | os.PathLike) or not os.fspath(population).endswith(".parquet"):
        got, hint = type(population).__name__, "pass a frame, or the path of a .parquet file"
        raise ParameterError("the population is not a table", where="population", got=got, hint=hint)
    return read_parquet(population)


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
    return published.__contains__


def _tables(result: Anonymized, original: pd.DataFrame | None, redact: str) -> dict[str, dict[str, Any]]:
    """Return rows and fingerprints of the tables.

    Hashes of single columns can be guessed, so only published tables have them. A mapping of few items can
    be guessed, too.
    """
    tables = {
        "release" if name == "frame" else name: describe_table(frame)
        for name, frame in result.published.items()
    }
    confidential = {} if redact == "all" else {"mapping": result.mapping}
    if original is not None:
        confidential["original"] = original
    return tables | {name: describe_table(frame, columns=False) for name, frame in confidential.items()}


def describe_table(frame: pd.DataFrame, *, columns: bool = True) -> dict[str, Any]:
    """Return the rows and the fingerprint of a table, and those of its ``columns``."""
    whole, parts = column_contents(frame)
    described = [
        {"name": each.name, "type": each.type, "index": each.is_index}
        | ({"fingerprint": each.fingerprint} if columns else {})
        for each in parts
    ]
    return {"rows": len(frame), "columns": described, "fingerprint": whole}


def compare_thresholds(risk: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all thresholds, and whether the released rows meet them."""
    fewest = None if risk["not_counted"] else risk["after"]["fewest"]
    return [
        {
            "name": each.name,
            "authority": each.authority,
            "least": each.least,
            "met": None if fewest is None else each.is_met(fewest),
            "rule": each.rule,
            "source": each.source,
            "year": each.year,
            "url": each.url,
        }
        for each in thresholds.values()
    ]


def count_facts(
    frame: pd.DataFrame,
    described: dict[str, Any],
    guarantee: Guarantee,
    column: Hashable | None,
    judged: Collection[Hashable],
    alerts: list[str],
) -> dict[str, Any]:
    """Return the facts that follow from a guarantee that holds, given the description of the rows.

    ``alerts`` about other facts come first.
    """
    counted = recount_unmodified(frame, guarantee, column, judged)
    own, settled = {*chain(*Own.of(frame, guarantee, column))}, {str(label) for label in judged}
    unmodified = [
        {"column": each["name"], "type": each["type"], "judged": each["name"] in settled}
        for place, each in enumerate(described["columns"])
        if place not in own
    ]
    alerts = [*alerts, *counted.sentences()]
    return {
        "promise": promise(guarantee, column),
        "verdict": {"holds": True, "rows_at_risk": 0, "rows": len(frame), "alerts": alerts},
        "not_protected": list_limits(guarantee, [each["column"] for each in unmodified], counted.published),
        "unmodified": unmodified,
    }


# --- JSON


def read_json(path: str | os.PathLike[str]) -> tuple[Evidence, str]:
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
    schema = json.loads(files("pdanon.evaluation.evidence").joinpath("schema.json").read_text("utf-8"))
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


def first_violation(value: Any, schema: dict[str, Any], place: str = "") -> str:
    """Return the place of the first value that violates a JSON Schema; empty if there is none.

    Only the keywords of ``schema.json`` are known.
    """
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

# Whether an item may be named, by its text.
MayName = Callable[[str], bool]


class RecountError(Exception):
    """The evidence lacks what is needed to count a guarantee again."""


def describe_guarantee(guarantee: Guarantee, column: Hashable | None, may_name: MayName) -> dict[str, Any]:
    """Return the name, the list column and the parameters of a guarantee as plain data.

    Items are ``{"number": 2, "named": ["flu"]}``: of two items, one may be named.
    """
    values = {each.name: getattr(guarantee, each.name) for each in fields(guarantee)}  # type: ignore[arg-type]
    parameters = {name: _describe(value, may_name) for name, value in values.items() if name not in _OF_FILES}
    name = type(guarantee).__name__
    return {"name": name, "column": None if column is None else str(column), "parameters": parameters}


def _describe(value: Any, may_name: MayName) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Fraction):
        return format_share(value)
    if isinstance(value, NamedItems):
        texts = item_texts(value.values).to_pylist()
        return {"number": len(texts), "named": [text for text in texts if may_name(text)]}
    if isinstance(value, AllRules):
        return {each: _describe(getattr(value, each), may_name) for each in ("m", "sensitive", "public")}
    if isinstance(value, Rules):
        rules = zip(_texts(value.known), _texts(value.sensitive), strict=True)
        named = [[*rule] for rule in rules if _all_named([*rule[0], *rule[1]], may_name)]
        return {"number": len(value), "named": named}
    if isinstance(value, pd.Series):
        sets = _texts(Itemsets.from_series(value))
        return {"number": len(sets), "named": [each for each in sets if _all_named(each, may_name)]}
    if isinstance(value, str):  # the label of a private column
        return value
    return [str(label) for label in value]


def _texts(itemsets: Itemsets) -> list[list[str]]:
    texts = itemsets.texts()
    bounds = pairwise(itemsets.offsets.tolist())
    return [[texts[code] for code in itemsets.codes[start:end]] for start, end in bounds]


def _all_named(texts: Sequence[str], may_name: MayName) -> bool:
    return all(map(may_name, texts))


# --- The guarantee of plain data


def read_guarantee(
    described: dict[str, Any],
    frame: pd.DataFrame,
    redact: str,
    mapping: pd.DataFrame | None,
    classes: pd.DataFrame | None,
) -> tuple[Guarantee, Hashable | None]:
    """Return the guarantee and the list column that `describe_guarantee` described.

    Raise `RecountError` if items are not named or a table is missing, and `PdanonError` if the release lacks
    a column.
    """
    labels: dict[str, Hashable] = {str(label): label for label in frame.columns}
    try:
        kind, parameters = getattr(guarantees, described["name"]), dict(described["parameters"])
        if mapping is None and {"constraints", "rules"} & parameters.keys():
            raise RecountError("it names items of the original: pass the mapping of the release")
        if kind is guarantees.SensitiveGroups:
            if classes is None:
                raise RecountError("it needs the table of counts: pass the classes of the release")
            parameters["classes"] = classes
            if parameters["k"] is None:
                del parameters["m"]
        may_lack = redact == "unpublished"
        read = {name: _read_parameter(name, value, labels, may_lack) for name, value in parameters.items()}
        column = None if described["column"] is None else _label(described["column"], labels)
        guarantee: Guarantee = kind(**read)
        return (guarantee if mapping is None else guarantee.with_mapping(mapping)), column
    except (TypeError, KeyError, AttributeError):  # of another type than `describe_guarantee` writes
        problem = f"a parameter of {described['name']} is missing, unknown or of another type"
    # Raised outside the handler: the chained error may show an item.
    raise RecountError(f"{problem}; the evidence was edited, get the file again")


def _read_parameter(name: str, value: Any, labels: dict[str, Hashable], may_lack: bool) -> Any:
    if name in ("quasi", "columns") and value is not None:
        return [_label(text, labels) for text in value]
    if name in _SHARES:
        return _read_share(value, name)
    if isinstance(value, str):  # the label of a private column
        return _label(value, labels)
    return _read_items(value, may_lack=may_lack) if isinstance(value, dict) else value


def _read_share(text: Any, name: str) -> Fraction:
    """Return a share that `format_share` wrote; other texts can stand for numbers of any length."""
    if isinstance(text, str) and re.fullmatch(r"\d{1,30}/\d{1,30}|\d(\.\d{1,30})?(e-\d{1,2})?", text):
        with suppress(ZeroDivisionError):
            return Fraction(text)
    raise RecountError(f"{name} is no number, such as 0.5; the evidence was edited, get the file again")


def _read_items(described: dict[str, Any], *, may_lack: bool) -> Any:
    """Return items, itemsets or rules; with ``may_lack``, items that are not named are not in the release."""
    if "number" not in described:
        parts = {
            name: _read_items(value, may_lack=may_lack) if isinstance(value, dict) else value
            for name, value in described.items()
        }
        return AllRules(**parts)
    named = described["named"]
    if len(named) < described["number"] and not (may_lack and named and isinstance(named[0], str)):
        raise RecountError("its items are not named: use evidence that names them, by redact='none'")
    return named


def _label(text: str, labels: dict[str, Hashable]) -> Hashable:
    if text not in labels:
        hint = "pass the release that the evidence is about"
        problem = "the release lacks a column of the guarantee"
        raise ParameterError(problem, where="release", got=text, hint=hint)
    return labels[text]


def named_items(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the parameters of a description that list items, itemsets or rules, with their descriptions."""
    for name, value in described["parameters"].items():
        if isinstance(value, dict):
            parts = {name: value} if "number" in value else value
            yield from ((part, items) for part, items in parts.items() if isinstance(items, dict))
