"""Pieces of HTML: tables, facts, sections. Every text is escaped here, and nowhere else."""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from pdanon.errors import FormatError, ParameterError, cause_of, escape_controls
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.evaluation.plotting import check_tradeoff
from pdanon.evaluation.plotting import tradeoff as draw_tradeoff
from pdanon.io.files import replace_file
from pdanon.itemsets.validation import escape_html
from pdanon.recoding.result import Anonymized

__all__ = [
    "Cell",
    "count",
    "document",
    "figure",
    "made",
    "paragraph",
    "percent",
    "provenance",
    "section",
    "steps",
    "svg",
    "table",
    "tradeoff_section",
    "write_document",
    "write_draft",
]

_NUMBER = ' class="number"'


class Cell(NamedTuple):
    """What a cell of a table shows, and the number it is sorted by if it is one."""

    text: str
    value: float | None = None


def count(number: int) -> Cell:
    """A cell with a count."""
    return Cell(f"{number:,}", number)


def percent(share: float) -> Cell:
    """A cell with a share, in percent."""
    return Cell(f"{100 * share:.3g} %", share)


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell]], *, sortable: bool = False
) -> str:
    """A table that scrolls if it is too wide, and can be sorted by a script if it says so."""
    rows = list(rows)
    numeric = [cell.value is not None for cell in rows[0]] if rows else [False] * len(header)
    heads = "".join(
        f'<th scope="col"{_NUMBER if number else ""}>{escape_html(name)}</th>'
        for name, number in zip(header, numeric, strict=True)
    )
    body = "\n".join(f"<tr>{_row(cells)}</tr>" for cells in rows)
    return (
        f'<div class="scroll" role="region" aria-label="{escape_html(caption)}" tabindex="0">'
        f'<table class="{"sortable" if sortable else "plain"}"><caption>{escape_html(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[Cell]) -> str:
    first, *others = cells
    return f'<th scope="row"{_value(first)}>{_text(first)}</th>' + "".join(
        f"<td{_value(cell)}>{_text(cell)}</td>" for cell in others
    )


def _text(cell: Cell) -> str:
    """The text, which may go on in a new line after a comma: the label of a set can be long."""
    return escape_html(cell.text).replace(",", ",<wbr>" if cell.value is None else ",")


def _value(cell: Cell) -> str:
    return "" if cell.value is None else f'{_NUMBER} data-value="{cell.value!r}"'


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of text."""
    return f'<p class="{kind}">{escape_html(text)}</p>' if kind else f"<p>{escape_html(text)}</p>"


def steps(todo: Iterable[tuple[str, str]]) -> str:
    """A numbered list of what was found, and what to do about it."""
    entries = (
        f"<li>{escape_html(found)}<p><strong>Do:</strong> {escape_html(done)}</p></li>"
        for found, done in todo
    )
    return f"<ol>{''.join(entries)}</ol>"


def figure(svg: str, caption: str) -> str:
    """A picture, if there is one."""
    return f"<figure>{svg}<figcaption>{escape_html(caption)}</figcaption></figure>" if svg else ""


def section(title: str, *parts: str) -> str:
    """A section with a heading."""
    return f"<section>\n<h2>{escape_html(title)}</h2>\n" + "\n".join(filter(None, parts)) + "\n</section>"


# --- Pictures as inline SVG, in the colours of the page that they are in


if TYPE_CHECKING:
    from matplotlib.axes import Axes


# matplotlib wants colours; the page has its own for light and dark.
_COLOURS = {"#0b0c0e": "currentColor", "#0d7377": "var(--bar)"}
_SIZE = (4.3, 2.9)  # inches; small, so that the text can be read on a phone


def svg(draw: Callable[[Axes], object], description: str) -> str:
    """Draw a picture.

    Parameters
    ----------
    draw : callable
        Draws on the axes it is given.
    description : str
        What the picture shows, for those who do not see it.

    Returns
    -------
    str
        An ``svg`` element; nothing if matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        return ""
    from matplotlib import style
    from matplotlib.figure import Figure

    text = StringIO()
    with style.context(["default", _look(description)]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the browser has its own fonts
        picture = Figure(figsize=_SIZE, layout="constrained")
        ax = picture.subplots()
        draw(ax)
        ax.set_title("")  # the heading above it says the same
        picture.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inlined(escape_controls(text.getvalue()), description)


def _look(salt: str) -> dict[str, object]:
    from cycler import cycler

    ink, bar = _COLOURS
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inked, ink),
        "axes.prop_cycle": cycler(color=[bar]),
        "font.size": 10.5,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": salt,  # same picture, same bytes; other picture, other ids
    }


def _inlined(document: str, description: str) -> str:
    element = document[document.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    element = re.sub(r"<style.*?</style>", "", element, flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*"', "<g", element)  # the next picture on the page has the same
    element = re.sub(r' (?:width|height)="[\d.]+pt"', "", element)
    for colour, themed in _COLOURS.items():
        element = element.replace(colour, themed)
    return element.replace("<svg", f'<svg role="img" aria-label="{escape_html(description)}"', 1).strip()


# --- A page as one file: its style and script are in it, and nothing is fetched


def document(title: str, sections: Iterable[str], note: str) -> str:
    """A page as text.

    Parameters
    ----------
    title : str
        What the page is.
    sections : iterable of str
        Its HTML.
    note : str
        What is in it and what is not, for its foot.
    """
    script, style = _resource("report.js"), _resource("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_resource("report.html")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        title=escape_html(title),
        style=style,
        script=script,
        version=version("pdanon"),
        note=escape_html(note),
        content="\n".join(sections),
    )


def _resource(name: str) -> str:
    return files("pdanon.evaluation.report").joinpath(name).read_text(encoding="utf-8")


def write_document(page: str, path: str | os.PathLike[str], *, confidential: bool = False) -> None:
    """Write a page, whole or not at all; a new one that is confidential can be read by its owner alone."""
    try:
        with replace_file(path, confidential=confidential) as draft:
            write_draft(page, draft)
    except OSError as error:
        problem = cause_of(error)
        raise FormatError("the report cannot be written", where=os.fspath(path), got=problem) from None


def write_draft(page: str, path: Path) -> None:
    """Write a page to a file that is nobody's yet."""
    path.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))


# --- Which tables a report is about, when it was made, and with what


_LIBRARIES = ("pdanon", "pandas", "numpy", "pyarrow")


def provenance(result: Anonymized, original: pd.DataFrame | None) -> str:
    """The section that says so."""
    prints = [paragraph("Fingerprint of the release (SHA-256):"), _print(result.frame)]
    if original is not None:
        prints += [paragraph("Fingerprint of the original (SHA-256):"), _print(original)]
    how = (
        "A table has this fingerprint if it has the same columns and rows, in the same order, whatever file "
        "it is in. Of a release, pdanon audit prints it; of any table in Python, frame.txanon.fingerprint()."
    )
    return section("Which tables, and when", made(), *prints, paragraph(how))


def made() -> str:
    """A table that says when a page was made, and with what."""
    rows = [(Cell("report made"), Cell(f"{_today():%Y-%m-%d %H:%M} UTC"))]
    rows += [(Cell(name), Cell(version(name))) for name in _LIBRARIES]
    rows += [(Cell("Python"), Cell(platform.python_version()))]
    return table("Made", ["", ""], rows)


def _print(frame: pd.DataFrame) -> str:
    return paragraph(fingerprint(frame), "model")


def _today() -> datetime:
    """Now, or the time that ``SOURCE_DATE_EPOCH`` says, so that a report can be made again, byte for byte."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if not said:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(said), UTC)
    except (ValueError, OverflowError, OSError):
        hint = "seconds since 1970, such as 1767225600; unset it to have the time of day"
        problem = "this is no time"
        raise ParameterError(problem, where="environment variable SOURCE_DATE_EPOCH", hint=hint) from None


# --- What k and m cost, as a section of a page: pictures of the table, and the table


_SHARES = {
    "below_k": "at risk with one item more",
    "occurrences": "occurrences changed",
    "suppressed": "occurrences suppressed",
    "singles": "error in an item's count",
    "pairs": "error in a pair's count",
}
_PICTURES = {
    "below_k": "What is left open: the share of the rows that who knows one item more than m finds among "
    "fewer than k.",
    "occurrences": "What it costs: the share of the occurrences of items that are not published as "
    "themselves.",
}


def tradeoff_section(trials: pd.DataFrame, chosen: tuple[Any, Any] | None = None) -> str:
    """The section of a table that `pdanon.tradeoff` made.

    Parameters
    ----------
    trials : pandas.DataFrame
        The table: ``k, m`` and shares; ``reason`` where there is no release.
    chosen : (k, m), optional
        Those of the release that the page is about.
    """
    for name in _PICTURES:
        check_tradeoff(trials, name)
    shown = [name for name in _SHARES if name in trials and trials[name].notna().any()]
    pictures = [_picture(trials, name) for name in _PICTURES if name in shown]
    text = (
        "One release was made for each k and m, and none of them kept. The guarantee holds in each up to m "
        "known items: the risk is that from who knows one more."
    )
    header = ["k", "m", *(_SHARES[name] for name in shown), ""]
    rows = [[*_cells(trial, shown), Cell(_remark(trial, chosen))] for _, trial in trials.iterrows()]
    return section(
        "What each k and m costs", paragraph(text), *pictures, table("Releases tried", header, rows)
    )


def _picture(trials: pd.DataFrame, name: str) -> str:
    caption = _PICTURES[name]
    return figure(svg(lambda ax: draw_tradeoff(trials, measure=name, ax=ax), caption), caption)


def _cells(trial: pd.Series[Any], shown: list[str]) -> Iterator[Cell]:
    yield from (count(int(trial[name])) for name in ("k", "m"))
    for name in shown:
        yield Cell("none", float("inf")) if pd.isna(trial[name]) else percent(float(trial[name]))


def _remark(trial: pd.Series[Any], chosen: tuple[Any, Any] | None) -> str:
    if (trial["k"], trial["m"]) == chosen:
        return "k and m of this release"
    reason = trial.get("reason")
    return "" if pd.isna(reason) else str(reason)
