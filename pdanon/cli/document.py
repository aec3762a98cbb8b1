"""The JSON document that every command prints with ``--json``. `output.schema.json` describes it.

A document holds counts, labels of columns, paths and published labels. It never holds the text of an item of
the original.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from math import isfinite
from numbers import Integral, Real
from os import PathLike
from typing import Any

import pandas as pd

from pdanon.cli.output import Messages, Outcome, streamed_lines
from pdanon.errors import PdanonError, cause_of, escape_controls, mask_credentials
from pdanon.evaluation.profile import Profile
from pdanon.guarantees.verdict import Guarantee
from pdanon.itemsets.support import MOST_ROWS
from pdanon.recoding.counts import class_sizes
from pdanon.recoding.result import Anonymized, headline, in_chunks, is_refined
from pdanon.stream import Streamed

SCHEMA_VERSION = 1

# Fields of results that are tables of the release, are confidential, or may name items of the original.
_WITHHELD = ("frame", "mapping", "classes", "groups", "parameters", "trace", "frequent")


def document(
    command: str | None, outcome: Outcome | None, error: Exception | None, code: int, messages: Messages
) -> str:
    """Return the JSON document of a command, on one line; an outcome, or the error that ended it."""
    content = {
        "schema_version": SCHEMA_VERSION,
        "pdanon": version("pdanon"),
        "command": command,
        "exit_code": code,
        "dry_run": outcome is not None and outcome.planned,
        "result": None if outcome is None else outcome.facts,
        "error": None if error is None else _parts(error),
        "warnings": messages.warnings,
        "notes": messages.notes,
    }
    return json.dumps(plain(content), allow_nan=False)


def _parts(error: Exception) -> dict[str, str | None]:
    """Return the parts of an error. Errors of other packages may hold items, so only their kind is known."""
    parts: dict[str, str | None] = dict.fromkeys(("what", "where", "got", "hint"))
    if isinstance(error, PdanonError):
        parts |= error.parts
    elif isinstance(error, OSError):
        parts |= {"what": cause_of(error), "where": error.filename and str(error.filename)}
    elif isinstance(error, MemoryError):
        parts["what"] = "not enough memory"
    else:
        parts |= {"what": "unexpected error", "hint": "the traceback is on standard error"}
    return {"kind": type(error).__name__, **parts}


def plain(value: Any) -> Any:
    """Return a value as plain data for JSON: tables as lists of rows, numbers that are not finite as None."""
    if value is None or isinstance(value, (bool, str)):
        return escape_controls(mask_credentials(value)) if isinstance(value, str) else value
    if isinstance(value, pd.DataFrame):
        return [plain(dict(zip(map(str, value), row, strict=True))) for row in _rows(value)]
    if isinstance(value, pd.Series):
        return plain(dict(zip(map(str, value.index), value.tolist(), strict=True)))
    if isinstance(value, Guarantee):
        return _guarantee(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    return _scalar(value)


def _rows(table: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    return zip(*(table.iloc[:, place].tolist() for place in range(table.shape[1])), strict=True)


def _scalar(value: Any) -> Any:
    """Return a number, a path or a label of a column."""
    if pd.isna(value):
        return None
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if isfinite(value) else None
    return plain(str(value))


def _guarantee(guarantee: Guarantee) -> dict[str, Any]:
    """Return the name of a guarantee, its text, and its parameters that name no items."""
    parameters = {each.name: getattr(guarantee, each.name) for each in fields(guarantee)}  # type: ignore[arg-type]
    shown = {
        name: value
        for name, value in parameters.items()
        if name in ("quasi", "columns", "m") or isinstance(value, (bool, Integral, Real))
    }
    return {"name": type(guarantee).__name__, "text": repr(guarantee), **plain(shown)}


def facts_of_release(
    result: Anonymized | Streamed, files: Mapping[str, str | PathLike[str] | None]
) -> dict[str, Any]:
    """Return the facts of a release: algorithm, all fields that may be shown, and written files."""
    shown = {each.name: getattr(result, each.name) for each in fields(result) if each.name not in _WITHHELD}
    refined = isinstance(result, Anonymized) and is_refined(result)
    facts = {"algorithm": result.parameters.get("algorithm"), "refined": refined, **shown}
    if isinstance(result, Anonymized):
        records = int(class_sizes(result.classes).sum()) if in_chunks(result) else None
        facts |= {"rows": len(result.frame), "records": records, "summary": dict(headline(result))}
    else:
        facts["summary"] = dict(streamed_lines(result))
    return facts | {"files": written(files)}


def facts_of_profile(profile: Profile) -> dict[str, Any]:
    """Return a profile without the frequent items. Counts that could not be made are None."""
    facts = {each.name: getattr(profile, each.name) for each in fields(profile) if each.name not in _WITHHELD}
    facts["counts"] = {str(name).replace(" ", "_"): _counted(n) for name, n in profile.counts.items()}
    facts["lengths"] = profile.lengths.rename({"90 %": "percentile_90"})
    highest = [None if high >= MOST_ROWS else high for high in profile.supports["at_most"]]
    facts["supports"] = profile.supports.assign(at_most=pd.array(highest, "Int64"))
    at_risk = {name: map(_counted, profile.columns[name]) for name in ("values", "unique", "below_k")}
    counts = {name: pd.array([*each], "Int64") for name, each in at_risk.items()}
    facts["columns"] = profile.columns.assign(**counts)
    facts["alerts"] = [{"what": alert.what, "hint": alert.hint} for alert in profile.alerts]
    return facts


def _counted(count: int) -> int | None:
    return None if count < 0 else count


def written(files: Mapping[str, str | PathLike[str] | None]) -> list[dict[str, str]]:
    """Return the written files: their names and paths."""
    return [{"name": name, "path": os.fspath(path)} for name, path in files.items() if path is not None]
