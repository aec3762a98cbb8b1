"""The page of the evidence, made from its facts alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon.errors import ParameterError
from pdanon.evaluation.evidence.facts import Evidence, collect, named_items
from pdanon.evaluation.report.html import (
    Cell,
    count,
    document,
    paragraph,
    section,
    share,
    table,
    text_table,
    write_draft,
)
from pdanon.evaluation.report.release_report import loss_table, unmodified_section
from pdanon.io.tables import write_whole
from pdanon.itemsets.validation import check_path
from pdanon.recoding.result import Anonymized

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


def paths_of(path: str | os.PathLike[str]) -> list[Path]:
    """Return the paths of the JSON and of the page, given one of them."""
    given = Path(check_path(path))
    if given.suffix not in _SUFFIXES:
        problem, hint = "evidence is a .json and a .html file", "pass a path such as evidence.json"
        raise ParameterError(problem, where="path", got=given.suffix or "no suffix", hint=hint)
    return [given.with_suffix(suffix) for suffix in _SUFFIXES]


def evidence_files(
    evidence: Evidence, path: str | os.PathLike[str]
) -> tuple[dict[Path | str, Callable[[Path], object]], list[Path | str]]:
    """Return the functions that write JSON and page by file, and the files that only their owner may read.

    ``path`` is that of either file. Both are private if they describe the original.
    """
    facts, page = paths_of(path)
    writers: dict[Path | str, Callable[[Path], object]] = {
        facts: partial(write_draft, evidence.to_json()),
        page: partial(write_draft, render(evidence)),
    }
    describes_original = "original" in evidence.tables or evidence.redact != "all"
    return writers, [*writers] if describes_original else []


def write_evidence(
    result: Anonymized,
    path: str | os.PathLike[str],
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
    verdict, alerts = evidence.verdict, evidence.verdict["alerts"]
    mark, kind = ("⚠", "warned") if alerts else ("✓", "holds")
    yield paragraph(f"{mark} The release has its guarantee.", f"verdict {kind}")
    yield "\n".join(paragraph(f"{alert}.", "alert warned") for alert in alerts)
    recount = (
        f"All {verdict['rows']:,} released rows were counted again for this page, without the algorithm. "
        f"{verdict['rows_at_risk']:,} of them are at risk."
    )
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
    yield _thresholds(evidence)
    yield section("What is not protected", *map(paragraph, evidence.not_protected))
    unmodified = [(each["column"], each["type"], each["judged"]) for each in evidence.unmodified]
    yield unmodified_section(unmodified, with_judged=True)
    loss = {name: value for name, value in evidence.loss.items() if value is not None}
    measured = paragraph("Measured when the release was made.")
    yield section("Information loss", measured, loss_table(loss))
    yield _tables(evidence)


def _guarantee_text(guarantee: dict[str, Any]) -> str:
    """Return a guarantee as in its repr: items by their number."""
    texts = []
    for name, value in guarantee["parameters"].items():
        number = value.get("number") if isinstance(value, dict) else None
        if isinstance(value, dict) and number is None:
            texts.append(f"{name}=all rules")
        elif value is not None or name == "m":
            texts.append(f"{name}={value if number is None else f'{number:,} given'}")
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


def _risk(risk: dict[str, Any]) -> str:
    title = "Risk of identification"
    if risk["not_counted"]:
        return section(title, paragraph(f"Not counted. {risk['not_counted']}"))
    tables = {name: risk[name] for name in ("before", "after") if risk[name] is not None}
    rows = [
        [Cell(text), *(_risk_cell(key, each) for each in tables.values())]
        for key, text in _risk_texts(risk).items()
    ]
    parts = [paragraph(_attacker(risk)), table("Risk", ["", *tables], rows)]
    if beyond := risk["beyond"]:
        parts.append(paragraph(_beyond_text(risk, beyond)))
    if found := risk["journalist"]:
        parts.append(
            paragraph(
                f"In the population of {found['rows']:,} people, at least {found['fewest']:,} match what is "
                f"known of a person in the table. The journalist risk is 1/{found['fewest']:,}, "
                f"{share(found['risk']).text}."
            )
        )
    return section(title, *parts)


def _attacker(risk: dict[str, Any]) -> str:
    number = {None: "all", 1: "1"}.get(risk["items"], f"up to {risk['items']}")
    item = "item" if risk["items"] == 1 else "items"
    kind = {"any": item, "public": f"public {item}", "not sensitive": f"not sensitive {item}"}[risk["kind"]]
    columns = [f"{number} {kind} in {', '.join(risk['columns'])}"] if risk["columns"] else []
    text = f"The attacker knows of a person: {'; '.join([*risk['quasi'], *columns])}. "
    return f"{text}Of all such knowledge, the one with the fewest matching rows counts."


def _risk_texts(risk: dict[str, Any]) -> dict[str, str]:
    exact = "" if not risk["columns"] else ", at most"
    texts = {
        "fewest": "fewest matching rows",
        "prosecutor": "prosecutor risk: 1 / fewest matching rows",
        "marketer": f"marketer risk: average of 1 / matching rows{exact}",
        "singled_out": "rows that are the only match",
    }
    return texts if risk["k"] is None else texts | {"below_k": f"rows with fewer than {risk['k']:,} matches"}


def _risk_cell(key: str, risks: dict[str, Any]) -> Cell:
    if key == "fewest":
        return count(risks[key])
    if key in ("prosecutor", "marketer"):
        return share(risks[key])
    return share(risks[key] / max(risks["rows"], 1))


def _beyond_text(risk: dict[str, Any], beyond: dict[str, Any]) -> str:
    """Describe the risk with one item more than the guarantee assumes."""
    rows = risk["after"]["rows"]
    text = f"Beyond the guarantee, with {beyond['items']:,} known items, fewer than {risk['k']:,} rows match "
    text += f"for {share(beyond['after'] / rows).text} of the rows"
    before = beyond.get("before")
    return f"{text}." if before is None else f"{text} ({share(before / rows).text} before)."


# --- Thresholds, columns, tables


def _thresholds(evidence: Evidence) -> str:
    words = {True: "met", False: "not met", None: "not counted"}
    rows, sources = [], []
    for each in evidence.thresholds:
        name, rule = Cell(each["name"]), Cell(f"{each['rule']} For: {each['authority']}.")
        rows.append([name, count(each["least"]), Cell(words[each["met"]]), rule])
        sources.append([name, Cell(f"{each['source']} ({each['year']})"), Cell(each["url"])])
    text = (
        "The fewest matching rows are compared with numbers that authorities publish for their own data, "
        "most of them for tables of counts. Whether one applies here is not decided."
    )
    return section(
        "Thresholds of authorities",
        paragraph(text),
        table("Thresholds", ["name", "rows needed", "here", "rule"], rows),
        table("Sources", ["name", "document", "address"], sources),
    )


def _tables(evidence: Evidence) -> str:
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
