"""Building blocks of HTML reports: tables, figures, sections, documents. Every text is escaped here."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from math import inf
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import pandas as pd

from pdanon.errors import ParameterError, escape_controls
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.evaluation.plotting import check_tradeoff, tradeoff as draw_tradeoff
from pdanon.io.files import replace_file
from pdanon.itemsets.cards import HEAD, escape_html
from pdanon.itemsets.validation import FilePath
from pdanon.recoding.result import Anonymized

_NUMBER = ' class="number"'


class Cell(NamedTuple):
    """The text of a table cell, its number, if it has one, for sorting, and a short form of a long text."""

    text: str
    value: float | None = None
    short: str = ""


def count(number: Any) -> Cell:
    """Return a cell with a count."""
    return Cell(f"{int(number):,}", int(number))


def share(value: float) -> Cell:
    """Return a cell with a share, in percent."""
    return Cell(f"{100 * value:.3g} %", value)


def frame_table(
    caption: str,
    header: Sequence[str],
    frame: pd.DataFrame,
    cells: Sequence[Callable[[Any], Cell]],
    *,
    sortable: bool = False,
) -> str:
    """Return a `table` of the index and the columns of a frame; ``cells`` has a function for each of them."""
    rows = [[cell(value) for cell, value in zip(cells, line, strict=True)] for line in frame.itertuples()]
    return table(caption, header, rows, sortable=sortable)


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell]], *, sortable: bool = False
) -> str:
    """Return a table, which scrolls if it is too wide, and is sorted by a script if it is ``sortable``."""
    rows = list(rows)
    numeric = [cell.value is not None for cell in rows[0]] if rows else [False] * len(header)
    heads = "".join(
        f'<th scope="col"{_NUMBER if number else ""}>{escape_html(name)}</th>'
        for name, number in zip(header, numeric, strict=True)
    )
    body = "\n".join(f"<tr>{_row_html(cells)}</tr>" for cells in rows)
    return (
        f'<div class="scroll" role="region" aria-label="{escape_html(caption)}" tabindex="0">'
        f'<table class="{"sortable" if sortable else "plain"}"><caption>{escape_html(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def text_table(caption: str, texts: Mapping[str, str], header: Sequence[str] = ("", "")) -> str:
    """Return a table of names and texts."""
    return table(caption, header, [(Cell(name), Cell(text)) for name, text in texts.items()])


def _row_html(cells: Sequence[Cell]) -> str:
    first, *others = cells
    return f'<th scope="row"{_attributes(first)}>{_cell_html(first)}</th>' + "".join(
        f"<td{_attributes(cell)}>{_cell_html(cell)}</td>" for cell in others
    )


def _cell_html(cell: Cell) -> str:
    """Escape a text, and allow line breaks after commas, because the label of a set can be long."""
    text = escape_html(cell.text).replace(",", ",<wbr>" if cell.value is None else ",")
    return f"<details><summary>{escape_html(cell.short)}</summary>{text}</details>" if cell.short else text


def _attributes(cell: Cell) -> str:
    return "" if cell.value is None else f'{_NUMBER} data-value="{cell.value!r}"'


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph, with a CSS class if ``kind`` is given."""
    return f'<p class="{kind}">{escape_html(text)}</p>' if kind else f"<p>{escape_html(text)}</p>"


def points(texts: Iterable[str]) -> str:
    """Return a list."""
    return f"<ul>{''.join(f'<li>{escape_html(text)}</li>' for text in texts)}</ul>"


def steps(todo: Iterable[tuple[str, str]]) -> str:
    """Return a numbered list of problems, each with its hint."""
    entries = (
        f"<li>{escape_html(problem)}<p><strong>Do:</strong> {escape_html(hint)}</p></li>"
        for problem, hint in todo
    )
    return f"<ol>{''.join(entries)}</ol>"


def figure(draw: Callable[..., object], caption: str) -> str:
    """Return a plot with a caption, which is also its description; an empty text without matplotlib."""
    if find_spec("matplotlib") is None:
        return ""
    from matplotlib import style
    from matplotlib.figure import Figure

    text = StringIO()
    with style.context(["default", _style(caption)]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the browser has its own fonts
        picture = Figure(figsize=_SIZE, layout="constrained")
        ax = picture.subplots()
        draw(ax=ax)
        ax.set_title("")  # the heading of the section is the title
        picture.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    inline = _inline(escape_controls(text.getvalue()), caption)
    return f"<figure>{inline}<figcaption>{escape_html(caption)}</figcaption></figure>"


def section(title: str, *parts: str) -> str:
    """Return a section with a heading; empty parts are omitted."""
    return f"<section>\n<h2>{escape_html(title)}</h2>\n" + "\n".join(filter(None, parts)) + "\n</section>"


# --- Plots as inline SVG, in the colors of the page


# matplotlib accepts no CSS variables: plots are drawn in these colors, which the page then replaces.
_COLORS = {"#0b0c0e": "currentColor", "#0d7377": "var(--bar)"}
_SIZE = (4.3, 2.9)  # inches; small enough that the text is legible on a phone


def _style(salt: str) -> dict[str, object]:
    from cycler import cycler

    ink, bar = _COLORS
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inked, ink),
        "axes.prop_cycle": cycler(color=[bar]),
        "font.size": 10.5,
        "svg.fonttype": "none",  # keep text as text, not as paths
        "svg.hashsalt": salt,  # reproducible ids, different in each plot of a page
    }


def _inline(document: str, description: str) -> str:
    """Reduce an SVG document to an element in the colors of the page."""
    element = document[document.index("<svg") :]
    for unwanted in (r"<metadata>.*?</metadata>", r"<style.*?</style>", r' (?:width|height)="[\d.]+pt"'):
        element = re.sub(unwanted, "", element, flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*"', "<g", element)  # all plots of a page would have the same ids
    for color, themed in _COLORS.items():
        element = element.replace(color, themed)
    return element.replace("<svg", f'<svg role="img" aria-label="{escape_html(description)}"', 1).strip()


# --- The head of a page, by its publisher


def check_head(head: Mapping[str, Any]) -> dict[str, str]:
    """Check the texts of a head, and return those that are given."""
    for name, text in head.items():
        if text is not None and not isinstance(text, str):
            hint = f"such as {name}='Baskets of May'"
            raise ParameterError(f"{name} must be text", where=name, got=type(text).__name__, hint=hint)
    return {name: text for name, text in head.items() if text is not None}


# --- A page as one file, with its style and script; the browser fetches nothing


def document(title: str, sections: Iterable[str], note: str, head: Mapping[str, Any]) -> str:
    """Return a page as text; the title, unless the head has one, and a note for the footer."""
    texts, content = check_head(head), [*sections]
    title = texts.get("title", title)
    if shown := {name: texts[key] for key, name in HEAD.items() if key != "title" and key in texts}:
        content.insert(0, text_table("Head", shown))
    script, style = _resource("report.js"), _resource("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_resource("report.html")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        title=escape_html(title),
        style=style,
        script=script,
        version=version("pdanon"),
        note=escape_html(note),
        content="\n".join(content),
    )


def _resource(name: str) -> str:
    return files("pdanon.evaluation").joinpath(name).read_text(encoding="utf-8")


def write_document(page: str, path: FilePath, *, confidential: bool = False) -> None:
    """Write a page, whole or not at all; only the owner of a new confidential file can read it."""
    with replace_file(path, confidential=confidential) as draft:
        write_draft(page, draft)


def write_draft(page: str, path: Path) -> None:
    """Write a page to a temporary file."""
    path.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))


# --- Provenance: tables, date and versions


_LIBRARIES = ("pdanon", "pandas", "numpy", "pyarrow")


def provenance(result: Anonymized, original: pd.DataFrame | None) -> str:
    """Return the section with the date, the versions, and the fingerprints of the tables."""
    tables = {"release": result.frame} | ({} if original is None else {"original": original})
    prints = []
    for name, frame in tables.items():
        prints += [paragraph(f"Fingerprint of the {name} (SHA-256):"), paragraph(fingerprint(frame), "model")]
    how = (
        "Two tables have the same fingerprint if they have the same columns, rows, index and attributes in "
        "the same order, in any file format that keeps them. To compute it, run pdanon audit on the release, "
        "or frame.txanon.fingerprint() in Python on any table."
    )
    return section("Tables, date and versions", versions(), *prints, paragraph(how))


def versions() -> str:
    """Return a table with the time of the report and the versions of the libraries."""
    return text_table("Date and versions", {"report made": report_time()} | library_versions())


def library_versions() -> dict[str, str]:
    """Return the versions of pdanon, of the libraries that decide about its results, and of Python."""
    return {name: version(name) for name in _LIBRARIES} | {"Python": platform.python_version()}


def report_time() -> str:
    """Return the time in ``SOURCE_DATE_EPOCH``, for reproducible reports, or the current time, as text."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        made = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        where = "environment variable SOURCE_DATE_EPOCH"
        hint = "set it to seconds since 1970, such as 1767225600, or unset it to use the current time"
        raise ParameterError("not a time", where=where, hint=hint) from None
    return f"{made:%Y-%m-%d %H:%M} UTC"


# --- The tradeoff of k and m, as plots and as a table


_SHARES = {
    "below_k": "at risk with m + 1 known items",
    "occurrences": "occurrences changed",
    "suppressed": "occurrences suppressed",
    "singles": "error in an item's count",
    "pairs": "error in a pair's count",
}
_PLOTS = {
    "below_k": "Remaining risk: the share of rows with fewer than k matching rows if an attacker knows m + 1 "
    "items, one more than the guarantee covers.",
    "occurrences": "Information loss: the share of the occurrences of items that are generalized or "
    "suppressed.",
}


def tradeoff_section(trials: pd.DataFrame, chosen: tuple[Any, Any] | None = None) -> str:
    """Return the section with a table of `pdanon.tradeoff`; k and m of the reported release are chosen."""
    for name in _PLOTS:
        check_tradeoff(trials, name)
    shown = [name for name in _SHARES if name in trials and trials[name].notna().any()]
    plots = [
        figure(partial(draw_tradeoff, trials, measure=name), caption)
        for name, caption in _PLOTS.items()
        if name in shown
    ]
    text = (
        "For comparison, one release was made for each k and m. None of them was kept. Each release protects "
        "against attackers who know up to m items. The risk shown is for attackers who know m + 1 items."
    )
    header = ["k", "m", *(_SHARES[name] for name in shown), ""]
    rows = [
        [
            *(count(trial[name]) for name in ("k", "m")),
            *(Cell("none", inf) if pd.isna(trial[name]) else share(float(trial[name])) for name in shown),
            Cell("k and m of this release" if (trial["k"], trial["m"]) == chosen else _reason(trial)),
        ]
        for _, trial in trials.iterrows()
    ]
    return section("What each k and m costs", paragraph(text), *plots, table("Releases tried", header, rows))


def _reason(trial: pd.Series[Any]) -> str:
    """Return the reason why there is no release."""
    return "" if pd.isna(reason := trial.get("reason")) else str(reason)
